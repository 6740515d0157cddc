// The long work, in a thread of its own. Follows what wasm-bindgen writes, in one file.

"use strict";

const { Texts, Fit, initSync } = wasm_bindgen;

let stopping = false;
let ready = false;

// Lets a message through, such as the one to stop.
const breathe = () => new Promise((resume) => setTimeout(resume));

const map = async ({ documents, text, options, title }) => {
  stopping = false;
  const texts = new Texts(documents, text);
  const corpus = texts.corpus();
  const fit = new Fit(corpus, options);
  let shown = 0;
  while (!fit.done && !stopping) {
    const extents = [...fit.extents]; // of this step: it may end a coarser grid
    const bound = fit.step();
    postMessage({ type: "step", bound, share: fit.share, iteration: fit.iteration, extents });
    if (performance.now() - shown > 20) {
      await breathe();
      shown = performance.now();
    }
  }
  const { converged, iteration } = fit;
  const grid = fit.finish();
  const page = texts.page(title, grid);
  const facts = { documents: corpus.length, words: texts.vocabulary.length, tokens: corpus.tokens, extents: [...grid.extents] };
  postMessage({ type: "map", page, converged, iteration, stopped: stopping, ...facts });
  grid.free();
  corpus.free();
  texts.free();
};

addEventListener("message", async ({ data }) => {
  if (data.type === "stop") {
    stopping = true;
    return;
  }
  try {
    if (!ready) {
      initSync({ module: data.library });
      ready = true;
    }
    await map(data);
  } catch (error) {
    postMessage({ type: "error", message: error instanceof Error ? error.message : String(error), fatal: error instanceof WebAssembly.RuntimeError });
  }
});
