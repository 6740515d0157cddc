//! A fitted map as one self-contained interactive page.
//!
//! Input is plain data: a [`Page`] of words, documents and labels on a torus of cells. [`characteristic_words`] chooses
//! which words of a model to show where, by their significance, [`GridMap`] makes the pages of a counting grid and its layers, and
//! [`write_html`] writes a page. The page shows words where they live, sized by weight, more of them the closer one
//! looks; it pans and zooms around the torus without an edge, lists the documents near a place by their posterior, and
//! colours by label. [`regions`] are parts of the map with names, shown by zoom; a search goes over every word of the documents'
//! whole texts, which are compressed in the page. By further [columns](PageColumn) of the data documents are filtered and coloured: a
//! slider with a histogram for dates and numbers, a list for categories. Two lists of documents are compared by the words that one has
//! more of, with intervals; lists and views are saved, and with `?embed` in its address a page shows the map alone. Documents may also
//! be points of a [`Space::Plane`], each at its own position.
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
//!     words: characteristic_words(&pi, 4, &["sun", "moon"], &[50.0; 4], 1)?,
//!     documents: vec![Document { title: "A day".into(), posterior: vec![(0, 1.0)], ..Document::default() }],
//!     ..Page::default()
//! };
//! let mut html = Vec::new(); // or a file
//! write_html(&page, &mut html)?;
//! # assert!(html.starts_with(b"<!doctype html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a page does, each with the test that shows it in Chromium and in Firefox (`tests/browser.rs` opens pages that check themselves,
//! by `src/page/selftest.js` and `tests/browser/lists.js`) or without (`tests/page.rs`); and what others have of it, as far as their sources and manuals of mid 2026
//! show: BC is BrowseCloud, WM WizMap, DMP DataMapPlot, EA Embedding Atlas, LS Latent Scope; ✓ yes, ~ in part, – not found, ? not looked at.
//!
//! | | BC | WM | DMP | EA | LS | here, shown by |
//! |---|---|---|---|---|---|---|
//! | one file that needs no server, no other file and no request; strict content security policy | – | – | ✓ | ~ | – | `nothing_points_out_of_the_page`; "no requests" |
//! | hostile titles, words, labels, columns and texts are text; `javascript:` is no link | ? | ? | ? | ? | ? | `text_stays_text`; page "hostile"; "only addresses of the web are links" |
//! | by keyboard; no rule of axe-core is broken, wide, narrow, light and dark | – | – | ~ | ~ | ~ | `pages_are_accessible`; "keys", "wheel" |
//! | by touch, on narrow screens | ? | – | ✓ | – | ~ | "pinch", `pages_are_accessible` |
//! | no GPU is needed | ✓ | – | – | – | ? | all of these tests, which switch it off |
//! | a torus without a seam, planes, rings | ✓ | – | – | – | – | "no seam", "held", "one copy" |
//! | regions with names on three levels, a table of contents | – | ✓ | ✓ | ~ | ? | `quarters_are_found_and_named`; "names apart", "contents" |
//! | search over every word of whole texts: phrases, `OR`, minus, beginnings; other words proposed | ~ | ~ | ~ | ~ | ~ | "search for", against a scan of the texts; "did you mean" |
//! | whole texts to read, hits marked, documents like one | ~ | ~ | ~ | ✓ | ✓ | "the whole text is read", "hits are marked", "documents like it" |
//! | 24 colours of labels | ? | ~ | ✓ | ✓ | ? | `colours_of_labels_are_told_apart` |
//! | days and numbers as histograms with handles that play, categories with "only this" | – | ~ | ✓ | ✓ | ~ | "day", "number", "category", against a scan of the columns |
//! | colours by any column | ✓ | ~ | ✓ | ✓ | ✓ | "colours come back" |
//! | selection by drawing, also across the seam | – | – | ✓ | ✓ | ✓ | "selected at" |
//! | two lists by log-odds with intervals (Monroe, Colaresi and Quinn 2008) | – | ~ | – | ~ | ~ | "log-odds", against a count of the texts |
//! | lists as CSV and JSON | ✓ | – | ~ | ✓ | ~ | "table", "JSON" |
//! | the view as PNG and SVG | – | – | – | ~ | – | "the drawing is whole", "pictures" |
//! | an address brings back view, query, place, region, selection, filters and colours | ? | ~ | – | ✓ | ✓ | "address", "the selection comes back", "colours come back" |
//! | `?embed` | ? | ? | ? | ? | ? | "embedded" |
//! | documents that are added later, and the regions that grow by them | ? | ? | ? | ? | ? | page "added"; "what was added against what was there", "shares of" |
//! | 100,000 documents on one page, drawn in slices of a frame | – | ✓ | ✓ | ✓ | ✓ | "as pictures", "nothing is left to make", "documents while the view moves"; of more a sample, which the page says |
//! | searches in slices of a frame, of which only the last that is typed is seen | ? | ? | ? | ? | ? | "lists in slices", "items between two looks at the clock", "only the last of what is typed" |
//!
//! Feature `pictures`: charts, maps of points and pages as pictures for papers, SVG and PNG.
//! Feature `rayon`: the texts of a page are compressed on all threads; no byte depends on it.
//!
//! The program that draws is JavaScript in `src/page`, without a library; `cargo run -p countgrid-map --example demo` writes a
//! page to look at.
#![doc(html_root_url = "https://docs.rs/countgrid-map/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod add;
mod error;
mod fragments;
mod grid_map;
mod html;
mod page;
#[cfg(feature = "pictures")]
pub mod pictures;
mod point_map;
mod read;
mod regions;
mod significance;
mod words;

pub use crate::{
    error::{PageError, PageReadError, WriteError},
    grid_map::{
        DocumentPosterior, FEW_DOCUMENTS, GridFacts, GridMap, MAX_DOCUMENTS, MAX_LAYERS, Planes,
        evenly_spaced, group_digits,
    },
    html::write_html,
    page::{
        Document, Field, FieldKind, MAX_CELLS, MAX_TEXT_BYTES, Page, PageColumn, Space, Word, coverage,
        truncate_text,
    },
    point_map::PointMap,
    read::read_html,
    regions::{Region, RegionLevel, regions},
    words::characteristic_words,
};
