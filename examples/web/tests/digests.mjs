// What crates/wasm/examples/digests.rs computes, call by call.

class Digest {
  value = 0x811c9dc5;
  words(words) {
    for (const word of words) this.value = Math.imul(this.value ^ word, 0x01000193);
    return this;
  }
  toString() {
    return (this.value >>> 0).toString(16).padStart(8, "0");
  }
}

const words = (array) => new Uint32Array(array.buffer, array.byteOffset, array.length * array.BYTES_PER_ELEMENT / 4);
const bits = (number) => words(new Float64Array([number]));

export const bags = (module, count, features) => {
  const offsets = [0], indices = [], counts = [];
  let state = 1;
  for (let bag = 0; bag < count; bag++) {
    for (let feature = 0; feature < features; feature++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      if (state >>> 28 < (feature % 4 === bag % 4 ? 9 : 1)) {
        indices.push(feature);
        counts.push(1 + (state >>> 20) % 5);
      }
    }
    offsets.push(indices.length);
  }
  return new module.Corpus(new Uint32Array(offsets), new Uint32Array(indices), new Uint32Array(counts), features);
};

export const digests = (module, text) => {
  const lines = [];
  const show = (name, what, digest) => lines.push(`${name} ${what} ${digest}`);
  const of = (array) => new Digest().words(words(array));
  const fitted = (name, corpus, options) => {
    const fit = new module.Fit(corpus, options);
    const bounds = new Digest();
    while (!fit.done) bounds.words(bits(fit.step()));
    const grid = fit.finish();
    show(name, "bounds", bounds);
    show(name, "pi", of(grid.pi()));
    show(name, "prior", of(grid.prior()));
    show(name, "histograms", of(grid.histograms()));
    const bag = [new Uint32Array([2, 0]), new Float32Array([3, 1])];
    show(name, "posterior", of(grid.posterior(...bag)));
    show(name, "evidence", new Digest().words(bits(grid.logEvidence(...bag))));
    show(name, "embedding", of(grid.embed(corpus)));
    return grid;
  };
  fitted("ring", bags(module, 60, 30), { extents: 40, window: 5 });
  fitted("plane", bags(module, 200, 50), { extents: [24, 20], window: [5, 4], seed: 7 });
  fitted("solid", bags(module, 50, 20), {
    extents: [6, 5, 4], window: [2], iterations: 12, tolerance: 0, pseudocount: 0.25, learnPrior: true, innerPasses: 2, coarseToFine: false,
  });
  const texts = new module.Texts(text.split("\n").filter((line) => line.trim() !== ""), { title: "sample" });
  const bytes = (string) => new Digest().words(new TextEncoder().encode(string));
  show("text", "vocabulary", bytes(texts.vocabulary.join(" ")));
  const grid = fitted("text", texts.corpus());
  show("text", "page", bytes(texts.page("A map", grid)));
  show("text", "model", new Digest().words(grid.model()));
  show("text", "new", of(grid.embed(texts.count(["salt and butter", "moon"]))));
  return lines;
};
