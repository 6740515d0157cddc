//! Documents, counts and model files, read and written with care.
#![forbid(unsafe_code)]

mod atomic;
mod cargo_docs;
mod columns;
mod doc_comments;
mod document;
mod docword;
mod error;
mod folder;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod jsonl;
mod model;
mod model_error;
mod read;
mod source;
mod table;

pub use crate::atomic::{WriteError, check_writable, write_atomically};
pub use crate::cargo_docs::{cargo_docs, cargo_docs_in};
pub use crate::columns::Columns;
pub use crate::document::Document;
pub use crate::docword::{Counts, read_docword};
pub use crate::error::{Problem, ReadError};
pub use crate::folder::Skipped;
pub use crate::jsonl::read_json_lines;
pub use crate::model::{ModelFile, NamedTable, TableData, load, save};
pub use crate::model_error::{ModelError, ModelProblem};
pub use crate::read::{DataSet, Format, ReadOptions, Summary, read};
pub use crate::source::Limits;
pub use crate::table::{Table, read_table};
