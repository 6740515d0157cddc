//! A fitted map as one self-contained interactive page.
//!
//! Input is plain data: a [`Page`] of words, documents and labels on a torus of cells. [`characteristic_words`] chooses
//! which words of a model to show where, [`GridMap`] makes the pages of a counting grid and its layers, and
//! [`write_html`] writes a page. The page shows words where they live, sized by weight, more of them the closer one
//! looks; it pans and zooms around the torus without an edge, lists the documents near a place by their posterior, and
//! colours by label. [`regions`] are parts of the map with names, shown by zoom; a search goes over every word of the documents'
//! whole texts, which are compressed in the page. Documents may also be points of a [`Space::Plane`], each at its own position.
//!
//! ```
//! use countgrid_map::{Document, Page, characteristic_words, write_html};
//!
//! // Two words on four cells in a row: `[word][cell]`, every cell a distribution.
//! let pi = [0.9, 0.8, 0.2, 0.1, /**/ 0.1, 0.2, 0.8, 0.9];
//! let page = Page {
//!     title: "Sun and moon".into(),
//!     extents: [1, 4],
//!     window: [1, 2],
//!     words: characteristic_words(&pi, 4, &["sun", "moon"], None, 1)?,
//!     documents: vec![Document { title: "A day".into(), posterior: vec![(0, 1.0)], ..Document::default() }],
//!     ..Page::default()
//! };
//! let mut html = Vec::new(); // or a file
//! write_html(&page, &mut html)?;
//! # assert!(html.starts_with(b"<!doctype html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Feature `pictures`: charts and maps of points for papers, SVG and PNG.
//!
//! The program that draws is JavaScript in `src/page`, without a library; `cargo run -p countgrid-map --example demo` writes a
//! page to look at.
#![doc(html_root_url = "https://docs.rs/countgrid-map/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod error;
mod grid_map;
mod html;
mod page;
#[cfg(feature = "pictures")]
pub mod pictures;
mod point_map;
mod regions;
mod words;

pub use crate::{
    error::{PageError, WriteError},
    grid_map::{
        DocumentPosterior, GridFacts, GridMap, MAX_DOCUMENTS, MAX_LAYERS, Planes, evenly_spaced, group_digits,
    },
    html::write_html,
    page::{Document, MAX_CELLS, MAX_TEXT_BYTES, Page, Space, Word, coverage, truncate_text},
    point_map::PointMap,
    regions::{Region, RegionLevel, regions},
    words::characteristic_words,
};
