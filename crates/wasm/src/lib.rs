//! Counting grids in the browser, on typed arrays: fit, posterior, embedding, and text to a map.
//!
//! Built for `wasm32-unknown-unknown` this is a JavaScript module, made with
//! [`wasm-bindgen`](https://wasm-bindgen.github.io/wasm-bindgen/):
//!
//! ```js
//! import init, { Corpus, Fit } from "./countgrid_wasm.js";
//! await init();
//!
//! // Two bags over four features, as compressed rows.
//! const corpus = new Corpus(new Uint32Array([0, 2, 3]), new Uint32Array([0, 2, 3]), new Uint32Array([3, 1, 5]), 4);
//! const fit = new Fit(corpus, { extents: [8, 8], window: [3, 3], seed: 1 });
//! while (!fit.done) console.log(fit.step()); // log evidence per token, in nats
//! const grid = fit.finish();
//! grid.pi();                                                      // Float32Array [feature][cell]
//! grid.posterior(new Uint32Array([3]), new Uint32Array([2]));     // Float32Array [cell]
//! grid.embed(corpus);                                             // Uint32Array, the cell of each bag
//! ```
//!
//! or from text, by the rules of the program `countgrid`:
//!
//! ```js
//! const texts = new Texts(["The first document.", "The second one."], { stem: true });
//! const grid = fit(texts.corpus(), { iterations: 30 });
//! const html = texts.page("Two documents", grid); // the page of `countgrid map`
//! const file = grid.model("Two documents");       // Uint8Array, the file of `countgrid fit`
//! ```
//!
//! An invalid argument gives a JavaScript `Error` whose message says what is wrong, where, and what is expected;
//! sizes are checked before memory is allocated. For the same input, options and seed a result has the same bits as
//! that of the program, with and without the target feature `simd128`.
//!
//! Words, schedule, defaults and page are those of `countgrid-corpus` and `countgrid-estimators`. As a Rust library this
//! crate has the same types, without JavaScript, which the tests use.
#![forbid(unsafe_code)]

mod corpus;
mod error;
mod fit;
mod grid;
pub mod js;
mod texts;

pub use crate::{
    corpus::Corpus,
    error::Error,
    fit::{Fit, MEMORY},
    grid::CountingGrid,
    texts::Texts,
};
