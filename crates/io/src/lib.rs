//! Documents, counts and model files, read and written with care.
//!
//! - [`read`] takes a path and finds out what it holds: a folder of text files, web pages and documents, CSV, TSV, JSON, a workbook, a Parquet or Arrow file, or
//!   counts (UCI docword, Matrix Market, SVMlight, NPZ), any of them compressed by gzip. [`read_table`], [`read_json_lines`] and [`read_docword`] take
//!   any [`BufRead`](std::io::BufRead).
//! - [`visit`] hands over one document or bag after the other; a [`BlockFile`] keeps bags that are too many for the
//!   memory.
//! - [`read_sequences`] reads sequences of symbols: FASTA, a column of a table, or lines.
//! - [`save`] and [`load`] keep tables and texts in a safetensors file, which Python reads as well; a [`ModelFile`]
//!   is also bytes.
//! - [`write_atomically`] writes a file as a whole or not at all, and [`StagedFiles`] several; [`check_writable`] asks beforehand, and [`check_outputs`]
//!   whether a run would write over what it reads.
//!
//! Errors name the file, the line where there is one, what is wrong, and the remedy. Memory grows with what is
//! read, never with what a header claims; [`Limits`] end it.
//!
//! ```
//! use countgrid_io::{ReadOptions, read};
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("cars.jsonl");
//! std::fs::write(&path, "{\"title\": \"Brakes\", \"text\": \"The brakes squeal.\"}\n{\"title\": \"Tyres\"}\n")?;
//! let refused = read(&path, &ReadOptions::default()).unwrap_err();
//! assert_eq!(refused.line(), Some(2));
//! assert!(refused.to_string().contains("line 2: a string is expected under `text`, found no such key"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! `files` (default): folders, temporary files (for docword files and blocks that are too large for the memory) and files
//! that are written as a whole. Without it there is no [`save`], and of paths only files are read.
//! `html`: web pages of a folder, of which the main text is read. Without it they are passed over.
//! `office`: documents of word processors and electronic books (DOCX, ODT, EPUB) of a folder, and workbooks (XLSX, ODS). Without it they
//! are passed over.
//! `pdf`: PDF documents of a folder. Without it they are passed over.
//! `mail`: messages (EML) and mailboxes (MBOX), decoded, with `from` and `date` as further columns. Without it they are read as text.
//! `archives`: ZIP and TAR files, as folders. Without it they are passed over.
//! `parquet`: Parquet files, as tables. Without it they are refused.
//! `arrow`: Arrow files and streams (Feather), as tables. Without it they are refused.
//! `npz`: counts in arrays of NumPy and SciPy (NPZ). Without it they are refused.
//! `fuzzing`: the bodies of the fuzz targets. No part of the interface.
#![doc(html_root_url = "https://docs.rs/countgrid-io/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod alphabet;
#[cfg(feature = "archives")]
mod archive;
#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "files")]
mod atomic;
mod block_code;
mod block_error;
mod blocks;
#[cfg(any(feature = "arrow", feature = "office", feature = "parquet"))]
mod calendar;
#[cfg(feature = "files")]
mod code;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod codec;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod columnar;
mod columns;
#[cfg(any(feature = "arrow", feature = "mail", feature = "parquet"))]
mod contained;
mod detect;
mod document;
mod docword;
mod encoding;
mod error;
#[cfg(feature = "files")]
mod folder;
mod format;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod item;
mod jsonl;
#[cfg(feature = "mail")]
mod mail;
mod matrix_market;
mod model;
mod model_error;
mod name;
#[cfg(feature = "files")]
mod notes;
#[cfg(feature = "npz")]
mod npy;
#[cfg(feature = "npz")]
mod npz;
#[cfg(feature = "files")]
mod objects;
#[cfg(feature = "office")]
mod ods;
#[cfg(feature = "office")]
mod office;
mod options;
#[cfg(feature = "files")]
mod outputs;
#[cfg(all(feature = "files", feature = "html"))]
mod page;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "pdf")]
mod pdf;
mod read;
mod records;
#[cfg(feature = "files")]
mod rtf;
mod runs;
mod sequences;
#[cfg(feature = "files")]
mod several;
#[cfg(any(feature = "arrow", feature = "npz", feature = "office", feature = "parquet"))]
mod shared;
mod source;
mod svmlight;
mod table;
#[cfg(feature = "office")]
mod workbook;
mod write_error;
#[cfg(feature = "office")]
mod xlsx;
#[cfg(any(feature = "archives", feature = "npz", feature = "office"))]
mod zipped;

pub use crate::alphabet::{Alphabet, AlphabetError};
#[cfg(feature = "files")]
pub use crate::atomic::{StagedFiles, check_writable, write_atomically};
pub use crate::block_error::{BlockError, BlockProblem};
pub use crate::blocks::{BLOCK_BAGS, BLOCK_ENTRIES, BlockFile, BlockWriter, Scalar};
pub use crate::columns::Columns;
pub use crate::document::{Document, truncate_text};
pub use crate::docword::{Counts, read_docword};
pub use crate::error::{Problem, ReadError};
#[cfg(feature = "files")]
pub use crate::folder::id_in_folder;
pub use crate::format::{Format, Table};
pub use crate::item::Item;
pub use crate::jsonl::read_json_lines;
#[cfg(feature = "files")]
pub use crate::model::save;
pub use crate::model::{ModelFile, NamedTable, TableData, load};
pub use crate::model_error::{ModelError, ModelProblem};
pub use crate::name::{LeftOut, Skipped};
pub use crate::options::ReadOptions;
#[cfg(feature = "files")]
pub use crate::outputs::{OutputError, check_outputs};
pub use crate::read::{DataSet, Summary, read, visit};
pub use crate::sequences::{
    SequenceFormat, SequenceOptions, SequenceSet, read_sequences, read_sequences_from,
};
#[cfg(feature = "files")]
pub use crate::several::{read_all, visit_all};
#[cfg(feature = "files")]
pub use crate::source::read_text_file;
pub use crate::source::{Limits, open};
pub use crate::table::read_table;
pub use crate::write_error::WriteError;
