// The module under Node.js: results, the same bits as elsewhere, and what is refused.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { bags, digests } from "./digests.mjs";
import { load, needed } from "./module.mjs";

const module = await load(needed("MODULE"));
const { Corpus, CountingGrid, Fit, Texts, fit } = module;
const sample = readFileSync(new URL("../sample.txt", import.meta.url), "utf8");
const documents = sample.trim().split("\n");
const u32 = (...numbers) => new Uint32Array(numbers);
const f32 = (...numbers) => new Float32Array(numbers);

test("a fit raises the bound and ends", () => {
  const corpus = bags(module, 200, 50);
  assert.deepEqual([corpus.length, corpus.features], [200, 50]);
  const fit = new Fit(corpus, { extents: [24, 20], window: [5, 4], tolerance: 0, iterations: 25 });
  const seen = [];
  let share = -1;
  while (!fit.done) {
    const extents = fit.extents.join("x"), bound = fit.step();
    assert.ok(Number.isFinite(bound) && bound < 0);
    assert.ok(fit.share >= share && fit.share <= 1);
    share = fit.share;
    seen.push({ extents, bound });
  }
  assert.deepEqual([...new Set(seen.map(({ extents }) => extents))], ["12x10", "24x20"]);
  assert.deepEqual(seen.map(({ extents }) => extents === "24x20").filter(Boolean).length, 26); // before the first update, too
  // Within a level the objective never falls by more than rounding; the bound is all of it but for the pseudocounts.
  for (const [n, { extents, bound }] of seen.entries()) {
    if (n > 0 && seen[n - 1].extents === extents) assert.ok(bound > seen[n - 1].bound - 1e-3, `${seen[n - 1].bound} to ${bound}`);
  }
  assert.equal(share, 1);
  assert.equal(fit.iteration, 25);
  assert.equal(fit.converged, false);
  assert.equal(fit.step(), seen.at(-1).bound); // only told again
  const grid = fit.finish();
  assert.deepEqual([[...grid.extents], [...grid.window], grid.cells, grid.features], [[24, 20], [5, 4], 480, 50]);
  const evidence = seen.at(-1).bound * corpus.tokens;
  const places = grid.embed(corpus);
  assert.ok(places.length === 200 && places.every((cell) => cell < 480));
  assert.ok(new Set(places).size > 4, "bags lie in more than one place");
  assert.ok(evidence < 0);
});

test("a fit that is stopped has the size that was asked for", () => {
  for (const steps of [0, 1, 15]) {
    const fit = new Fit(bags(module, 40, 20), { extents: [32, 32], window: 4 });
    for (let n = 0; n < steps; n++) fit.step();
    assert.deepEqual([...fit.finish().extents], [32, 32]);
    assert.throws(() => fit.step(), Error); // used up
  }
});

test("tables are distributions, histograms their means, posteriors too", () => {
  const corpus = bags(module, 60, 30);
  const grid = fit(corpus, { extents: [10, 12], window: [3, 4], learnPrior: true });
  const [pi, prior, histograms] = [grid.pi(), grid.prior(), grid.histograms()];
  assert.ok(pi instanceof Float32Array && pi.length === 30 * 120 && prior.length === 120);
  // 30 terms, each with a rounding of its own; the bound on the sum of a prior is the same with 120.
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  for (let cell = 0; cell < 120; cell++) assert.ok(Math.abs(sum(pi.filter((_, n) => n % 120 === cell)) - 1) < 30 * 2 ** -23);
  assert.ok(Math.abs(sum(prior) - 1) < 120 * 2 ** -23);
  for (let feature = 0; feature < 30; feature += 7) {
    for (let cell = 0; cell < 120; cell += 11) {
      let mean = 0;
      for (let a = 0; a < 3; a++) for (let b = 0; b < 4; b++) {
        mean += pi[feature * 120 + ((Math.floor(cell / 12) + a) % 10) * 12 + (cell % 12 + b) % 12] / 12;
      }
      assert.ok(Math.abs(histograms[feature * 120 + cell] - mean) <= 14 * 2 ** -24 * mean); // 11 additions, a division
    }
  }
  const bag = [u32(4, 0, 8), u32(3, 5, 2)], posterior = grid.posterior(...bag);
  assert.ok(Math.abs(sum(posterior) - 1) < 120 * 2 ** -23);
  // By the definition, in double precision. In f32 a score is a sum of four terms, each a rounded logarithm and a rounded
  // product: at most twelve roundings of a number no larger than the score, which matters within 25 nats of the best.
  const scores = Array.from(prior, (p, k) => Math.log(p) + 3 * Math.log(histograms[480 + k]) + 5 * Math.log(histograms[k]) + 2 * Math.log(histograms[960 + k]));
  const best = Math.max(...scores), mass = sum(scores.map((score) => Math.exp(score - best)));
  const rounding = 12 * (Math.abs(best) + 25) * 2 ** -24;
  scores.forEach((score, k) => assert.ok(Math.abs(posterior[k] - Math.exp(score - best) / mass) < 2 * rounding));
  assert.ok(Math.abs(grid.logEvidence(...bag) - best - Math.log(mass)) < rounding);
  const [cell] = grid.embed(new Corpus(u32(0, 3), u32(0, 4, 8), u32(5, 3, 2), 30));
  assert.equal(posterior[cell], Math.max(...posterior));
  // Without evidence it is the prior, by way of its rounded logarithm, an exponential and a division.
  grid.posterior(u32(), u32()).forEach((q, k) => assert.ok(Math.abs(q - prior[k]) <= (8 - Math.log(prior[k])) * 2 ** -24 * prior[k]));
});

test("a grid from its tables is the same grid", () => {
  const corpus = bags(module, 60, 30);
  const grid = fit(corpus, { extents: [10, 12], window: [3, 4], learnPrior: true });
  const copy = new CountingGrid(grid.pi(), { extents: [10, 12], window: [3, 4], prior: grid.prior() });
  assert.deepEqual(copy.embed(corpus), grid.embed(corpus));
  assert.deepEqual(copy.posterior(u32(1), u32(3)), grid.posterior(u32(1), u32(3)));
  const flat = new CountingGrid(f32(0.25, 0.75, 0.75, 0.25), { extents: 2, window: 1 });
  assert.deepEqual(flat.prior(), f32(0.5, 0.5));
  assert.ok(Math.abs(flat.posterior(u32(0), u32(1))[0] - 0.25) < 1e-6);
});

test("the same input and seed give the same bits, another seed others", () => {
  const pi = (seed) => fit(bags(module, 60, 30), { extents: [20, 12], window: 3, iterations: 5, seed }).pi();
  assert.deepEqual(pi(3), pi(3));
  assert.notDeepEqual(pi(3), pi(4));
});

const expected = () => readFileSync(needed("DIGESTS"), "utf8").trim().split("\n");

test("the same bits as the library has on this machine", () => {
  assert.equal(expected().length, 32);
  assert.deepEqual(digests(module, sample), expected());
});

test("and the same without vector instructions", async (t) => {
  const other = process.env.MODULE_WITHOUT_SIMD;
  if (!other) return t.skip("MODULE_WITHOUT_SIMD does not name the other module");
  const scalar = await load(other);
  const [with_, without] = [needed("MODULE"), other].map((folder) => readFileSync(join(folder, "countgrid_wasm_bg.wasm")));
  assert.ok(!with_.equals(without), "these are two modules");
  assert.deepEqual(digests(scalar, sample), expected());
});

/** Calls `act` with an empty folder. */
const inFolder = (act) => {
  const folder = mkdtempSync(join(tmpdir(), "countgrid-"));
  try {
    act(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

// The library names a corpus after its file, and so do these texts.
const written = (folder) => {
  const input = join(folder, "documents.jsonl");
  writeFileSync(input, documents.map((text) => `${JSON.stringify({ text })}\n`).join(""));
  return { input, title: "documents" };
};

test("the model file and the page are byte for byte those of the program", (t) => {
  const program = process.env.COUNTGRID;
  if (!program) return t.skip("COUNTGRID does not name the program");
  inFolder((folder) => {
    const { input, title } = written(folder);
    const same = (flags, textOptions, options) => {
      const [model, map] = [join(folder, "model.safetensors"), join(folder, "map")];
      execFileSync(program, ["fit", input, "--keep-duplicates", ...flags, "--output", model, "--quiet"]);
      const texts = new Texts(documents, { title, ...textOptions });
      const grid = fit(texts.corpus(), options);
      assert.ok(readFileSync(model).equals(grid.model()), `model of ${flags}`);
      execFileSync(program, ["map", input, "--keep-duplicates", ...flags, "--title", "A map", "--output", map, "--quiet"]);
      assert.equal(texts.page("A map", grid), readFileSync(join(map, "map.html"), "utf8"), `page of ${flags}`);
    };
    same([], {}, undefined);
    same(["--grid", "20x24", "--window", "4x5", "--seed", "9"], {}, { extents: [20, 24], window: [4, 5], seed: 9 });
    same(
      ["--stem", "--stop-words", "none", "--min-count", "2", "--max-share", "0.25", "--max-words", "50", "--learn-prior", "--iterations", "3"],
      { stem: true, stopWords: "none", minCount: 2, maxShare: 0.25, maxWords: 50 },
      { learnPrior: true, iterations: 3 },
    );
    // The program opens what the module has written.
    const model = join(folder, "module.safetensors");
    const texts = new Texts(documents, { title });
    writeFileSync(model, fit(texts.corpus()).model("from the module"));
    assert.match(execFileSync(program, ["info", model], { encoding: "utf8" }), /from the module/);
  });
});

test("the model file is byte for byte that of the library's example", (t) => {
  const example = process.env.ESTIMATORS_FIT;
  if (!example) return t.skip("ESTIMATORS_FIT does not name the example");
  inFolder((folder) => {
    const { input, title } = written(folder);
    const output = join(folder, "model.safetensors");
    execFileSync(example, [input, output]);
    assert.ok(readFileSync(output).equals(fit(new Texts(documents, { title }).corpus()).model()));
  });
});

test("a fit goes on from a checkpoint", () => {
  const [corpus, options] = [bags(module, 60, 30), { extents: [20, 12], window: 3 }];
  const first = new Fit(corpus, options);
  for (let n = 0; n < 13; n++) first.step();
  const checkpoint = first.checkpoint();
  const second = Fit.resume(corpus, options, checkpoint);
  while (!first.done) assert.equal(second.step(), first.step());
  assert.deepEqual(second.finish().pi(), first.finish().pi());
  assert.throws(() => Fit.resume(corpus, { ...options, seed: 2 }, checkpoint), /a training with seed 1, not 2/);
  assert.throws(() => Fit.resume(bags(module, 61, 30), options, checkpoint), /a checkpoint of a training with start/);
  assert.throws(() => Fit.resume(corpus, options, checkpoint.subarray(1)), /no model file/);
  assert.throws(() => Fit.resume(corpus, options, "checkpoint"), /`checkpoint` needs to be a Uint8Array/);
  assert.throws(() => fit(corpus, options).model(), /a model has words/);
});

test("text becomes bags, and a map", () => {
  const texts = new Texts(["The cat sat on the mat.", "A cat, a dog!", "Dogs don't sit."]);
  assert.deepEqual(texts.vocabulary, ["cat", "dog", "dogs", "mat", "sat", "sit"]);
  assert.deepEqual(new Texts(["The cat sat.", "Cats sit."], { stem: true, maxShare: 1 }).vocabulary, ["cat", "sat", "sit"]);
  assert.deepEqual(new Texts(["The cat"], { stopWords: "none" }).vocabulary, ["cat", "the"]);
  assert.deepEqual(new Texts(["The cat sat"], { stopWords: ["sat"] }).vocabulary, ["cat", "the"]);
  const grid = fit(texts.corpus(), { extents: [6, 6], window: 2 });
  const page = texts.page("</title><script>alert(1)</script>", grid);
  assert.ok(page.startsWith("<!doctype html>") && !page.includes("alert(1)</script>"));
  assert.deepEqual(grid.embed(texts.count(["a dog and a cat", "a dog"])).length, 2);
  assert.equal(texts.count(["horses"]).tokens, 0);
  const ring = fit(texts.corpus(), { extents: 12, window: 3 });
  assert.ok(texts.page("a ring", ring).includes("a ring"));
});

test("what is wrong is said, and nothing traps", () => {
  const corpus = bags(module, 20, 10);
  const refused = (act, message) => assert.throws(act, (error) => {
    assert.ok(error instanceof Error && !(error instanceof WebAssembly.RuntimeError), String(error));
    assert.match(error.message, message);
    return true;
  });
  const csr = (offsets, indices, counts, features, message) => refused(() => new Corpus(offsets, indices, counts, features), message);
  csr(u32(), u32(), u32(), 3, /no offsets/);
  csr(u32(1, 1), u32(0), u32(1), 3, /first offset is 1/);
  csr(u32(0, 2, 1, 3), u32(0, 1, 2), u32(1, 1, 1), 3, /bag 1 ends before it starts/);
  csr(u32(0, 2), u32(0, 1, 2), u32(1, 1, 1), 3, /last offset is 2, needs to be the number of indices, 3/);
  csr(u32(0, 2), u32(0, 1), u32(1), 3, /`counts` has 1 elements, needs 2/);
  csr(u32(0, 2), u32(0, 3), u32(1, 1), 3, /bag 0 has feature 3, needs to be below 3/);
  csr(u32(0, 2), u32(1, 1), u32(1, 1), 3, /feature 1 out of order/);
  csr(u32(0, 1), u32(1), u32(0), 3, /feature 1 in bag 0 is zero/);
  csr(u32(0, 1), u32(1), f32(NaN), 3, /negative or not finite/);
  csr(u32(0, 1), u32(1), f32(-1), 3, /negative or not finite/);
  csr(u32(0, 1), u32(0xffffffff), u32(1), 3, /feature 4294967295/);
  csr(u32(0, 4294967295), u32(1), u32(1), 3, /last offset/);
  for (const features of [-1, 1.5, NaN, Infinity, 2 ** 40, undefined, "many"]) csr(u32(0), u32(), u32(), features, /`features` is .*, needs to be a whole number/);
  csr([0, 1], u32(0), u32(1), 3, /`offsets` needs to be a Uint32Array/);
  csr(u32(0, 1), null, u32(1), 3, /`indices` needs to be a Uint32Array/);
  csr(u32(0, 1), u32(0), "1", 3, /`counts` needs to be a Uint32Array or a Float32Array/);

  const options = (options, message) => refused(() => new Fit(corpus, options), message);
  options({ extends: [3] }, /`extends` is no option; there are extents, window/);
  options({ extents: [0, 4] }, /`extents` is 0, needs to be a whole number from 1/);
  options({ extents: [] }, /`extents` needs to be a number or an array of 1 to 8 numbers/);
  options({ extents: [2, 2, 2, 2, 2, 2, 2, 2, 2] }, /1 to 8 numbers/);
  options({ extents: "8x8" }, /`extents` needs to be a number/);
  options({ extents: [4, NaN] }, /`extents` is NaN/);
  options({ extents: [4, "4"] }, /`extents` needs to be/);
  options({ extents: [4, 4], window: [5, 1] }, /the window 5x1 is larger than the grid 4x4/);
  options({ extents: [4, 4], window: [1, 1, 1] }, /the window 1x1x1 has 3 axes, the grid 4x4 has 2/);
  options({ extents: [1048576, 1048576] }, /needs .* of memory, and 1.1 GB are free/);
  refused(() => new Fit(bags(module, 2, 300), { extents: [1024, 1024], window: 2 }), /needs .* of memory, and 1.1 GB are free/);
  options({ extents: Array(8).fill(1048576), window: 1 }, /needs .* of memory/);
  options({ iterations: -1 }, /`iterations` is -1/);
  options({ iterations: 2.5 }, /`iterations` is 2.5/);
  options({ iterations: 1e300 }, /`iterations`/);
  options({ tolerance: NaN }, /tolerance/);
  options({ tolerance: -1 }, /tolerance/);
  options({ seed: 2 ** 53 }, /`seed` is 9007199254740992/);
  options({ pseudocount: -1 }, /pseudocount is a finite number/);
  options({ pseudocount: NaN }, /pseudocount is a finite number/);
  refused(() => new Fit(corpus, { pseudocount: 1e300 }).step(), /pseudocount is a finite number/); // too large for the grid
  options({ innerPasses: 0 }, /`innerPasses` is 0/);
  options({ learnPrior: 1 }, /`learnPrior` needs to be true or false/);
  options("fast", /`options` needs to be an object/);
  options({ get seed() { throw new Error("no"); } }, /`seed` cannot be read/);
  refused(() => new Fit({}, {}), /expected instance of Corpus/);
  refused(() => new Fit(new Corpus(u32(0, 0), u32(), u32(), 3)), /add up to 0/);
  refused(() => new Fit(new Corpus(u32(0), u32(), u32(), 0)), /add up to 0/);
  refused(() => new Fit(new Corpus(u32(0, 1), u32(0), u32(1), 4294967295)), /needs .* of memory/);
  const large = new Corpus(u32(0, 1, 2), u32(0, 1), f32(3e38, 3e38), 2);
  const overflow = new Fit(large, { extents: 4, window: 2, pseudocount: 0 });
  refused(() => overflow.step(), /too large/);
  refused(() => overflow.step(), /too large/); // and again
  refused(() => overflow.finish(), /too large/);

  const grid = fit(corpus, { extents: 12, window: 3, iterations: 2 });
  refused(() => grid.posterior(u32(10), u32(1)), /feature 10, needs to be below 10/);
  refused(() => grid.posterior(u32(1, 2), u32(1)), /`counts` has 1 elements, needs 2/);
  refused(() => grid.posterior(u32(1), f32(NaN)), /negative or not finite/);
  refused(() => grid.logEvidence(u32(1, 1), f32(3e38, 3e38)), /add up to more|too large/);
  refused(() => grid.embed(bags(module, 3, 9)), /the bags have 9 features, the grid has 10/);
  refused(() => new CountingGrid(f32(1, 1), { extents: 2 }), /`window` is missing/);
  refused(() => new CountingGrid(f32(1, 1), { window: 1 }), /`extents` is missing/);
  refused(() => new CountingGrid(f32(1, 1, 1), { extents: 2, window: 1 }), /`pi` has 3 elements, needs 2/);
  refused(() => new CountingGrid(f32(), { extents: 2, window: 1 }), /`pi` has 0 elements, needs 2/);
  refused(() => new CountingGrid(f32(0.5, NaN, 0.5, 1), { extents: 2, window: 1 }), /`pi` is negative or not finite at feature 0, cell 1/);
  refused(() => new CountingGrid(f32(0.5, 0.5, 0.5, 0.75), { extents: 2, window: 1 }), /`pi` does not sum to one at cell 1/);
  refused(() => new CountingGrid(f32(1, 1), { extents: 2, window: 1, prior: f32(1) }), /`prior` has 1 elements, needs 2/);
  refused(() => new CountingGrid(f32(1, 1), { extents: 2, window: 1, prior: [0.5, 0.5] }), /`prior` needs to be a Float32Array/);

  refused(() => new Texts([]), /no document/);
  refused(() => new Texts(["the"]), /no word is left of 1 documents/);
  refused(() => new Texts("the cat"), /`documents` needs to be an array of strings/);
  refused(() => new Texts(["cat", 3]), /element 1 of `documents` is no string/);
  refused(() => new Texts(documents, { maxShare: 0 }), /share/);
  refused(() => new Texts(documents, { maxShare: NaN }), /share/);
  refused(() => new Texts(documents, { maxWords: 0 }), /no word is left/);
  refused(() => new Texts(documents, { stopWords: "german" }), /`stopWords` is "german"/);
  refused(() => new Texts(["\ud800"]), /no word is left/);
  const texts = new Texts(documents);
  refused(() => texts.page("solid", fit(texts.corpus(), { extents: [3, 3, 3], window: 2, iterations: 0 })), /one or two axes, .* this one has 3/);
  refused(() => texts.page("layers", fit(texts.corpus(), { extents: [2, 4, 4], window: [1, 2, 2], iterations: 0 })), /this one has layers/);
  refused(() => new Texts(documents, { title: 3 }), /`title` needs to be a string/);
  refused(() => texts.page("other words", grid), /features/);

  // After all of this the module works as before.
  assert.deepEqual(digests(module, sample), readFileSync(needed("DIGESTS"), "utf8").trim().split("\n"));
});

test("arrays of any content are taken or refused", () => {
  let state = 7;
  const random = (below) => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 8) % below;
  let taken = 0;
  for (let round = 0; round < 3000; round++) {
    const features = random(5), length = random(6);
    const offsets = Uint32Array.from({ length: 1 + random(4) }, () => random(length + 2)).sort();
    if (random(8) > 0) offsets[0] = 0, offsets[offsets.length - 1] = length;
    const indices = Uint32Array.from({ length }, (_, n) => random(8) > 0 ? n % Math.max(1, features) : random(7));
    const counts = Float32Array.from({ length: random(10) > 0 ? length : random(6) }, () => [1, 2, 7, 0.5, 3e38, 0, -1, NaN, Infinity][random(random(2) ? 5 : 9)]);
    const extents = Array.from({ length: 1 + random(3) }, () => 1 + random(6));
    const window = extents.map((extent) => 1 + random(extent + (random(8) === 0)));
    try {
      const corpus = new Corpus(offsets, indices, counts, features);
      const grid = fit(corpus, { extents, window, iterations: random(4), seed: round, learnPrior: random(2) === 0, pseudocount: [undefined, 0, 0.5][random(3)] });
      assert.ok(grid.pi().every((p) => p >= 0 && p <= 1.0001), "probabilities");
      assert.ok(grid.embed(corpus).every((cell) => cell < grid.cells));
      taken += 1;
    } catch (error) {
      assert.ok(error instanceof Error && !(error instanceof WebAssembly.RuntimeError) && !(error instanceof assert.AssertionError), `round ${round}: ${error.stack}`);
    }
  }
  assert.ok(taken > 100 && taken < 2900, `${taken} of 3000 were taken`);
});
