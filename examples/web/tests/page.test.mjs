// The page in a real browser, where there is one.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { browser, open } from "./chromium.mjs";
import { needed } from "./module.mjs";

const address = String(pathToFileURL(join(needed("MODULE"), "countgrid.html")));
const sample = readFileSync(new URL("../sample.txt", import.meta.url), "utf8").trim();
const skip = browser() ? false : "no Chromium (set CHROMIUM to its path)";

/** Opens the page, and in the end looks for what it should not have done. With `SCREENSHOTS` a folder for pictures. */
const visit = async (window, act) => {
  const page = await open(address, window);
  const picture = async (name) => {
    if (!process.env.SCREENSHOTS) return;
    mkdirSync(process.env.SCREENSHOTS, { recursive: true });
    await new Promise((resume) => setTimeout(resume, 500)); // what moves comes to rest
    writeFileSync(join(process.env.SCREENSHOTS, `${name}.png`), await page.screenshot());
  };
  const fitted = async () => {
    await page.until(`!document.getElementById("map").hidden && !document.getElementById("fit").disabled`);
    await page.until(`document.readyState === "complete" && document.getElementById("list") !== null`, { inFrame: true });
  };
  try {
    await act({ ...page, picture, fitted, part: (id, property) => page.evaluate(`document.getElementById(${JSON.stringify(id)}).${property}`) });
    assert.deepEqual(page.complaints, [], "nothing in the console");
    const abroad = page.requests.filter((url) => !/^(file|blob|data|about):/.test(url));
    assert.deepEqual(abroad, [], "no request leaves the page");
  } finally {
    await page.close();
  }
};

test("pasted text becomes a map", { skip }, () => visit({ width: 1280, height: 860 }, async ({ evaluate, until, paste, key, click, picture, fitted, part }) => {
  await part("text", "focus()");
  await paste(sample);
  assert.equal(await part("count", "textContent"), "48 documents");
  // What the worker tells, as the page hears it.
  await evaluate(`window.heard = []; window.Worker = class extends Worker {
    constructor(...address) {
      super(...address);
      this.addEventListener("message", ({ data }) => data.type === "step" && heard.push(data));
    }
  }; 0`);
  await part("fit", "click()");
  await fitted();
  const heard = await evaluate("heard");
  assert.ok(heard.length >= 10, `${heard.length} iterations`);
  for (const [n, { bound, share }] of heard.entries()) {
    assert.ok(Number.isFinite(bound) && bound < 0 && share >= 0 && share <= 1);
    if (n > 0) assert.ok(share >= heard[n - 1].share && bound > heard[n - 1].bound - 1e-6, `${heard[n - 1].bound} to ${bound}`);
  }
  assert.ok(heard.at(-1).bound > heard[0].bound + 0.5, "and by a lot");
  assert.match(await part("bound", "textContent"), /^48 documents, \d+ different words, \d+ in all, on 4×4 cells\. \d+ iterations \((converged|all iterations used)\): −\d\.\d{4} nats per word$/);
  assert.equal(await evaluate(`document.querySelectorAll("#curve polyline").length`), 1);

  // The map inside: words, drawn; documents, listed; a click lists those near a place.
  const inFrame = { inFrame: true };
  const data = JSON.parse(await evaluate(`document.getElementById("data").textContent`, inFrame));
  for (const word of ["soil", "dough", "telescope", "harbour"]) assert.ok(data.words.includes(word), word);
  assert.equal(data.titles.length, 48);
  const colours = await evaluate(`(() => { const map = document.getElementById("map"); return new Set(new Uint32Array(map.getContext("2d").getImageData(0, 0, map.width, map.height).data.buffer)).size; })()`, inFrame);
  assert.ok(colours > 50, `something is drawn in ${colours} colours`);
  await picture("map");
  const before = await evaluate(`document.getElementById("heading").textContent`, inFrame);
  const [left, top, width, height] = await evaluate(`(({ left, top }) => { const inner = document.getElementById("map"); return [left, top, inner.clientWidth, inner.clientHeight]; })(document.getElementById("map").getBoundingClientRect())`);
  await click(left + width / 3, top + height / 2);
  await until(`document.getElementById("heading").textContent !== ${JSON.stringify(before)}`, inFrame);
  assert.ok((await evaluate(`document.getElementById("list").children.length`, inFrame)) > 0, "documents near the click");
  await picture("place");
  assert.match(await part("download", "href"), /^blob:/);

  // The same again gives the same map; another seed another one.
  const first = await part("map", "srcdoc");
  await part("fit", "click()");
  await until(`document.getElementById("fit").disabled === false && heard.length === ${2 * heard.length}`);
  assert.equal(await part("map", "srcdoc"), first);
  await evaluate(`document.getElementById("seed").value = "2"; document.getElementById("fit").click()`);
  await until(`document.getElementById("fit").disabled === false && document.getElementById("map").srcdoc !== ${JSON.stringify(first)}`);
}));

test("what is wrong is said, where it can be put right", { skip }, () => visit({ width: 1280, height: 860 }, async ({ evaluate, until, picture, fitted, part }) => {
  const refused = async (values, message, field) => {
    await evaluate(`for (const [id, value] of Object.entries(${JSON.stringify(values)})) document.getElementById(id).value = value;
      document.getElementById("text").dispatchEvent(new Event("input")); document.getElementById("fit").click()`);
    await until(`!document.getElementById("problem").hidden && !document.getElementById("fit").disabled`);
    assert.match(await part("problem", "textContent"), message);
    if (field) assert.deepEqual(await evaluate("[document.activeElement.id, document.activeElement.getAttribute('aria-invalid')]"), [field, "true"]);
    assert.equal(await part("map", "hidden"), true);
  };
  await refused({}, /There is no text yet: paste at least 5 documents, one to a line/, "text");
  await refused({ text: "  \n\t\n " }, /There is no text yet/, "text");
  await refused({ text: "only this" }, /One document has no neighbours/, "text");
  await refused({ text: "one\ntwo\nthree" }, /3 documents are too few/, "text");
  await picture("problem");
  await refused({ text: "the\nand\nof\na\nto" }, /no word is left of 5 documents/);
  await refused({ text: sample, side: "0" }, /“Cells along a side” is 0, needs to be a whole number from 1 to 128/, "side");
  await refused({ side: "3.5" }, /is 3.5/, "side");
  await refused({ side: "4", window: "5" }, /A window of 5 cells does not fit into a grid of 4/, "window");
  await refused({ side: "", window: "9" }, /the window 9x9 is larger than the grid 4x4/); // by the library
  await refused({ window: "", seed: "-1" }, /“Seed” is -1/, "seed");
  await refused({ seed: "1", least: "1000" }, /no word is left of 48 documents/);
  // After all of this it works.
  await evaluate(`document.getElementById("least").value = ""; document.getElementById("fit").click()`);
  await fitted();
  assert.equal(await part("problem", "hidden"), true);
}));

test("a fit can be stopped, and the page answers meanwhile", { skip }, () => visit({ width: 1280, height: 860 }, async ({ evaluate, until, fitted, part }) => {
  await evaluate(`document.getElementById("sample").click(); document.getElementById("side").value = "64"; document.getElementById("iterations").value = "1000"`);
  assert.equal(await part("count", "textContent"), "48 documents");
  await evaluate(`window.gaps = []; let last = performance.now(); const tick = () => { const now = performance.now(); gaps.push(now - last); last = now; requestAnimationFrame(tick); }; tick()`);
  await part("fit", "click()");
  await until(`!document.getElementById("progress").hidden`);
  assert.equal(await part("stop-fit", "hidden"), false);
  await part("stop-fit", "click()");
  await fitted();
  assert.match(await part("bound", "textContent"), /on 64×64 cells\. \d+ iterations \(stopped\)/);
  assert.ok((await evaluate("gaps.length")) > 3, "frames were drawn meanwhile");
}));

test("on a telephone, by keyboard, in the dark", { skip }, () => visit({ width: 360, height: 740, dark: true }, async ({ evaluate, paste, key, picture, fitted, part }) => {
  const fits = "document.documentElement.scrollWidth <= window.innerWidth";
  assert.ok(await evaluate(fits), "no sideways scrolling");
  await evaluate(`document.querySelector("details").open = true`);
  assert.ok(await evaluate(fits), "nor with options");
  await picture("telephone-options");
  assert.ok(await evaluate(`[...document.querySelectorAll("input, textarea, button, iframe, progress")].every((field) => field.labels?.length > 0 || field.textContent.trim() !== "" || field.title || field.getAttribute("aria-label"))`), "everything has a name");
  await evaluate(`document.querySelector("details").open = false; document.getElementById("text").focus()`);
  await paste(sample.replaceAll("\n", "\n\n"));
  await key("Tab"); // to the choice of units
  assert.equal(await evaluate("document.activeElement.name"), "unit");
  await key("ArrowDown");
  assert.equal(await evaluate("document.querySelector('input[name=unit]:checked').value"), "paragraph");
  assert.equal(await part("count", "textContent"), "48 documents");
  for (const id of ["", "fit"]) await key("Tab"); // over the options
  assert.equal(await evaluate("document.activeElement.id"), "fit");
  await key("Enter", "\r");
  await fitted();
  assert.ok(await evaluate(fits), "nor with a map");
  await picture("telephone");
}));
