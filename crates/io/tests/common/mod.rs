//! What several tests need.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::io::Write;
use std::path::Path;

use countgrid_io::{Counts, DataSet, Document, Item, ReadError, ReadOptions, Summary, read, visit};
use flate2::Compression;
use flate2::write::GzEncoder;

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn documents(path: &Path) -> (Vec<Document>, Summary) {
    documents_with(path, &ReadOptions::default())
}

pub(crate) fn documents_with(path: &Path, options: &ReadOptions) -> (Vec<Document>, Summary) {
    match read(path, options) {
        Ok((DataSet::Documents(documents), summary)) => (documents, summary),
        Ok((DataSet::Counts(_), _)) => panic!("counts, not documents"),
        Err(error) => panic!("{error}"),
    }
}

/// Documents with all their columns.
pub(crate) fn with_columns(path: &Path) -> (Vec<Document>, Vec<Vec<String>>) {
    let options = ReadOptions { other_columns: true, ..ReadOptions::default() };
    let (mut found, mut fields) = (Vec::new(), Vec::new());
    let visited = visit(path, &options, |item| {
        match item {
            Item::Document(document) => found.push(document),
            Item::OtherColumns(names) => fields.push(names),
            Item::OtherFields(values) => fields.push(values.to_vec()),
            _ => {}
        }
        Ok::<_, ReadError>(())
    });
    visited.unwrap_or_else(|error| panic!("{error}"));
    (found, fields)
}

pub(crate) fn counts(path: &Path) -> (Counts, Summary) {
    match read(path, &ReadOptions::default()) {
        Ok((DataSet::Counts(counts), summary)) => (counts, summary),
        Ok((DataSet::Documents(_), _)) => panic!("documents, not counts"),
        Err(error) => panic!("{error}"),
    }
}

/// What `read` says to a path in a folder, the folder itself written as `~`.
pub(crate) fn refusal(folder: &Path, name: &str, options: &ReadOptions) -> String {
    let message = read(folder.join(name), options).unwrap_err().to_string();
    message.replace(&folder.display().to_string(), "~")
}
