//! Text to bags of words.
//!
//! A document becomes a *bag*: how often it uses each word of a vocabulary, the order forgotten.
//! [`Tokenizer`] defines words, [`bags`] reads a whole collection and selects the vocabulary, [`Counter`]
//! does so one document at a time, and [`Vocabulary`] counts a new document against a vocabulary that exists already.
//!
//! ```
//! use countgrid_text::{TextOptions, bags};
//!
//! let documents = ["The cat sat on the mat.", "A cat, a dog!", "Dogs don't sit."];
//! let bags = bags(documents, &TextOptions::default())?;
//! assert_eq!(bags.vocabulary, ["cat", "dog", "dogs", "mat", "sat", "sit"]);
//! assert_eq!(bags.bag(1).collect::<Vec<_>>(), [(0, 1), (1, 1)]); // one cat, one dog
//! # Ok::<(), countgrid_text::TextError>(())
//! ```
//!
//! [`TextOptions::ngrams`] takes a text for a sequence instead, of nucleotides or amino acids, and its runs of so many
//! letters for words. [`Levels`] ranks features by their information about labels.
//!
//! The result depends on the documents and the options alone, never on hashing: the same vocabulary in the
//! same order on every run and machine, and permuting documents permutes bags. Memory grows with the
//! distinct words of the collection and of each document, not with its length.
#![doc(html_root_url = "https://docs.rs/countgrid-text/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod bags;
mod counter;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod options;
mod relevance;
mod select;
mod tokenizer;
mod vocabulary;

pub use crate::{
    bags::{WordBags, bags},
    counter::{Counter, Selected, Summary},
    error::TextError,
    options::{StopWords, TextOptions},
    relevance::{Levels, variances},
    select::Selection,
    tokenizer::Tokenizer,
    vocabulary::Vocabulary,
};
