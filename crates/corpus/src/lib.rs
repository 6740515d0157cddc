//! Documents to bags of counts: columns, labels, vocabulary selection, scaling, blocks in memory or on disk.
//!
//! [`Corpus`] is a data set as models take it: [`Corpus::from_documents`] and, for the browser, [`Corpus::from_texts`] count
//! words and select the vocabulary, [`Corpus::count_documents`] counts new documents against a vocabulary that exists, and
//! `Corpus::read` and `Corpus::count` do so with whatever a path holds, `Corpus::read_all` and `Corpus::count_all` with several paths as one. [`CorpusOptions`] are those of the program, and
//! what a program reports about its input is in the fields of the result. `SequenceCorpus` holds sequences of symbols.
//!
//! ```
//! use countgrid_corpus::{Corpus, CorpusOptions};
//! use countgrid_counts::Bags;
//! let texts = ["Ants follow trails.", "Trails of red ants", "Red sky, red dust"];
//! let corpus = Corpus::<f32>::from_texts(&texts, &CorpusOptions::default())?;
//! let mut tokens = 0.0;
//! corpus.bags.for_each_block(true, |_first, block| {
//!     tokens += block.tokens(); // what a learner's E-step takes
//!     Ok::<_, countgrid_corpus::CorpusError>(())
//! })?;
//! assert_eq!((corpus.vocabulary.len(), tokens), (6, 10.0));
//! # Ok::<(), countgrid_corpus::CorpusError>(())
//! ```
//!
//! # From a document to a bag
//! Where a vocabulary is selected, each bag is stored twice, both times as a row of a
//! [`CsrBuf`](countgrid_counts::CsrBuf): over everything that was read, and, once all documents have been read and a sample
//! and the vocabulary were chosen, over the vocabulary, in the scalar type of the model. The first is given back block by
//! block while the second grows. Documents that are counted against a vocabulary that exists, and sequences, skip the first:
//! step 2.
//!
//! 1. The reader's buffer: of a text the words of [`Counter`](countgrid_text::Counter), of a table the numbers of a record,
//!    of a docword file its sorted entries. [`Scaling`] leaves counts as they are and turns other
//!    numbers into counts.
//! 2. A row of the blocks of everything: `u32` of texts, `f64` of numbers.
//! 3. A buffer of one row: words become features, forms of one word are added up, the sum is scaled, in `f64`.
//! 4. A row of [`Corpus::bags`], each count rounded once. Learners borrow its blocks.
//!
//! [`Blocks`] are in memory or, once they are too many for it, in a temporary file; [`MiniBatches`] go over them in a random
//! order.
//!
//! # Features
//! `files` (default): `Corpus::read`, `Corpus::count` and `SequenceCorpus`; temporary files, and a thread that reads ahead in
//! them. Without it, as in a browser, blocks stay in memory.
//! `cargo-docs`: `cargo_docs` and `Corpus::read_cargo_docs`, a sample of documents that needs no path: the doc comments of the
//! crates that Cargo has unpacked on the machine.
//! `segmenter`: words of Chinese, Japanese, Thai, Khmer, Lao and Burmese, by dictionaries.
//! `serde`: options of words and counts are read and written.
#![doc(html_root_url = "https://docs.rs/countgrid-corpus/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod blocks;
mod boilerplate;
#[cfg(feature = "cargo-docs")]
mod cargo_docs;
mod column_builder;
mod columns;
mod corpus;
mod count;
mod document;
mod error;
mod hash;
mod intake;
mod labels;
pub mod memory;
mod mini_batches;
mod near_duplicates;
mod options;
#[cfg(feature = "files")]
mod read;
mod rows;
mod sample;
mod scaling;
mod select;

#[cfg(feature = "cargo-docs")]
pub use crate::cargo_docs::{cargo_docs, cargo_docs_in};
#[cfg(feature = "files")]
pub use crate::read::{SequenceCorpus, read_all_word_sequences, read_word_sequences};
pub use crate::{
    blocks::{BlockLimits, Blocks, BlocksBuilder, Storable},
    boilerplate::{BOILERPLATE, BoilerplateLine},
    columns::{Column, ColumnValues, Date, DateError, KeepColumns, MAX_CATEGORIES, MAX_COLUMN_BYTES},
    corpus::{Corpus, CorpusKind},
    document::DocumentInfo,
    error::CorpusError,
    labels::LabelColumn,
    mini_batches::{MiniBatch, MiniBatchCursor, MiniBatches, mini_batch_count},
    near_duplicates::{NEAR_DUPLICATE, NearDuplicate},
    options::{CorpusOptions, WordOptions},
    sample::Sample,
    scaling::{Scale, ScaleError, Scaling, scale_to_total},
};
