//! Documents to bags of counts: columns, labels, vocabulary selection, scaling, blocks in memory or on disk.
//!
//! [`Blocks`] hold the bags that a model is fitted to, in memory or, once they are too many for it, in a temporary
//! file; [`MiniBatches`] go over them in a random order. [`Scaling`] makes counts of measured numbers, and a
//! [`LabelColumn`] says which label each document has.
//!
//! # Features
//! `files` (default): temporary files, and a thread that reads ahead in them. Without it blocks stay in memory.
#![forbid(unsafe_code)]

mod blocks;
mod columns;
mod corpus;
mod count;
mod document;
mod error;
mod intake;
mod labels;
pub mod memory;
mod mini_batches;
mod options;
#[cfg(feature = "files")]
mod read;
mod rows;
mod sample;
mod scaling;
mod select;

#[cfg(feature = "files")]
pub use crate::read::SequenceCorpus;
pub use crate::{
    blocks::{BlockLimits, Blocks, BlocksBuilder, Storable},
    columns::{Column, ColumnValues, Date, DateError},
    corpus::{Corpus, CorpusKind},
    document::DocumentInfo,
    error::CorpusError,
    labels::LabelColumn,
    mini_batches::{MiniBatch, MiniBatchCursor, MiniBatches, mini_batch_count},
    options::{CorpusOptions, WordOptions},
    sample::Sample,
    scaling::{Scale, ScaleError, Scaling, scale_to_total},
};
