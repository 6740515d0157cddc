//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod common;

#[cfg(feature = "archives")]
mod archives;
#[cfg(feature = "arrow")]
mod arrow;
mod atomic;
mod bad_input;
mod blocks;
#[cfg(feature = "files")]
mod causes;
#[cfg(feature = "files")]
mod code;
#[cfg(feature = "files")]
mod columnar;
mod counts;
#[cfg(feature = "files")]
mod detect;
mod docword;
mod folder;
#[cfg(all(feature = "archives", feature = "mail", feature = "npz", feature = "office", feature = "pdf"))]
mod formats;
mod fuzzing;
mod json;
#[cfg(feature = "mail")]
mod mail;
mod model;
#[cfg(feature = "npz")]
mod npy;
#[cfg(feature = "npz")]
mod npz;
#[cfg(feature = "office")]
mod office;
#[cfg(feature = "files")]
mod outputs;
#[cfg(feature = "parquet")]
mod parquet_columns;
#[cfg(feature = "files")]
mod passed_over;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(feature = "pdf")]
mod pdf_file;
#[cfg(feature = "pdf")]
mod pdf_fonts;
#[cfg(feature = "pdf")]
mod pdf_text;
mod python;
mod real_data;
#[cfg(feature = "files")]
mod rtf;
mod sequences;
mod several;
#[cfg(feature = "office")]
mod sheets;
#[cfg(feature = "files")]
mod source;
#[cfg(feature = "files")]
mod summary;
mod table;
mod visit;
#[cfg(feature = "office")]
mod workbook;
#[cfg(any(feature = "parquet", feature = "arrow"))]
mod written;
