//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod browser;
mod files;
mod maps;
mod merging;
mod page;
mod regions;
mod words;
