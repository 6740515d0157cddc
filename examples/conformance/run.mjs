// Runs the WebAssembly program and prints what it says.
import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const { run, memory } = new WebAssembly.Instance(module, {}).exports;
const place = BigInt.asUintN(64, run());
process.stdout.write(Buffer.from(memory.buffer, Number(place >> 32n), Number(place & 0xffffffffn)));
