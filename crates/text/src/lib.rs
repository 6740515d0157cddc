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
//! The [`Language`] of each document is detected, which gives its stop words and stems; a collection may be in several.
//!
//! With [`TextOptions::phrases`] phrases that are found in the collection, such as "hard drive", are words: their words are adjacent
//! significantly more often than independent ones would be, by the log-likelihood ratio G² of Dunning 1993.
//!
//! [`TextOptions::ngrams`] takes a text for a sequence instead, of nucleotides or amino acids, and its runs of so many
//! letters for words. [`Levels`] ranks features by their information about labels.
//!
//! [`PartLanguages`] and [`PartWords`] select the vocabulary of a collection that lies on several machines.
//!
//! The result depends on the documents and the options alone, never on hashing: the same vocabulary in the
//! same order on every run and machine, and permuting documents permutes bags, up to one thing: of thousands of titles in one
//! language not all are compared by their letters, and which ones depends on the order ([`Languages::Auto`]). Memory grows with the
//! distinct words of the collection and of each document, not with its length.
//!
//! # Features
//! `segmenter`: words of Chinese, Japanese, Thai, Khmer, Lao and Burmese, by the dictionaries of ICU, 2 MB.
//! `serde`: options, and what is counted in parts, are read and written.
#![doc(html_root_url = "https://docs.rs/countgrid-text/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod bags;
mod counter;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod language;
mod noise;
mod options;
mod parts;
mod phrases;
mod relevance;
mod segment;
mod select;
mod tokenizer;
mod vocabulary;

pub use crate::{
    bags::{WordBags, bags},
    counter::{Counter, Selected, Summary, WordCounts},
    error::TextError,
    language::Language,
    options::{Languages, StopWords, TextOptions},
    parts::{PartLanguages, PartOptions, PartWords},
    relevance::{Levels, variances},
    select::Selection,
    tokenizer::Tokenizer,
    vocabulary::Vocabulary,
};
