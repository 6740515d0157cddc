// The module as a page loads it, without a page.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const load = async (folder) => {
  const module = await import(pathToFileURL(join(folder, "countgrid_wasm.js")));
  module.initSync({ module: await readFile(join(folder, "countgrid_wasm_bg.wasm")) });
  return module;
};

export const needed = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run examples/web/tests/run`);
  return value;
};
