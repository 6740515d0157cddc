//! What a file is, by its name and its first bytes.

use std::path::Path;

use crate::columns::{Columns, Roles, TEXT, look_like_names};
use crate::error::Problem;
use crate::format::{Format, Table};
use crate::matrix_market;
use crate::name::Name;
use crate::source::{HEAD, ZIP};
use crate::svmlight;

/// What a file is that is read as a folder with it alone: an archive, a mailbox, or a document of a kind that no lines of text are.
#[cfg(feature = "files")]
pub(crate) fn as_folder(path: &Path, head: &[u8]) -> Option<Format> {
    #[cfg(feature = "archives")]
    if head.starts_with(ZIP) || crate::archive::is_tar(head) {
        return Some(Format::Archive);
    }
    #[cfg(feature = "office")]
    if head.starts_with(ZIP) {
        return Some(Format::Document);
    }
    #[cfg(feature = "mail")]
    if crate::mail::is_mailbox(head) {
        return Some(Format::Mailbox);
    }
    // What is called a table begins with the names of its columns, whatever they are.
    if Name::from_path(path).is_table() {
        return None;
    }
    #[cfg(feature = "pdf")]
    if head.starts_with(crate::pdf::HEAD) {
        return Some(Format::Document);
    }
    #[cfg(feature = "mail")]
    if crate::mail::is_mail(head) {
        return Some(Format::Document);
    }
    (head.starts_with(crate::rtf::HEAD) || crate::encoding::is_page(head)).then_some(Format::Document)
}

/// What a file of rows or counts is that is no text: arrays of NumPy and workbooks, which are ZIP files, and files of columns.
pub(crate) fn packed(path: &Path, head: &[u8]) -> Option<Format> {
    let first = head.get(26..28).and_then(|length| {
        let length = u16::from_le_bytes([length[0], length[1]]);
        head.get(30..30 + usize::from(length))
    });
    let (is_zip, name) = (head.starts_with(ZIP), Name::from_path(path));
    if name == Name::Npz || is_zip && first.is_some_and(|name| name.ends_with(b".npy")) {
        return Some(Format::Npz);
    }
    if name == Name::Workbook || is_zip && begins_workbook(head) {
        return Some(Format::Workbook);
    }
    let is_parquet = head.starts_with(b"PAR1") || head.starts_with(b"PARE");
    let is_arrow = head.starts_with(b"ARROW1\0\0") || begins_stream(head);
    match name {
        _ if is_parquet => Some(Format::Parquet),
        _ if is_arrow => Some(Format::Arrow),
        Name::Parquet => Some(Format::Parquet),
        Name::Arrow => Some(Format::Arrow),
        _ => None,
    }
}

/// Whether a stream of Arrow begins so: with a mark, and the length of the metadata of its first message, which is padded to eight
/// bytes.
fn begins_stream(head: &[u8]) -> bool {
    let rest = head.strip_prefix(&[0xff; 4]);
    let length = rest.and_then(<[u8]>::first_chunk).map(|length| i32::from_le_bytes(*length));
    length.is_some_and(|length| length > 0 && length % 8 == 0)
}

/// Whether a ZIP file of these first bytes is a workbook, as far as they tell it: by the names of the files in it, or by what
/// its first says.
fn begins_workbook(head: &[u8]) -> bool {
    let mut places = head.windows(ZIP.len()).enumerate().filter(|(_, bytes)| *bytes == ZIP);
    head.windows(ODS.len()).any(|bytes| bytes == ODS)
        || places.any(|(at, _)| head.get(at + 30..).is_some_and(|name| name.starts_with(b"xl/")))
}

const ODS: &[u8] = b"application/vnd.oasis.opendocument.spreadsheet";

/// What a file is: by its name, or else by its first bytes.
pub(crate) fn detect(path: &Path, head: &[u8], columns: &Columns) -> Result<Format, Problem> {
    // A head may end inside a character.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or(""),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or("");
    match Name::from_path(path) {
        Name::Csv => return Ok(Format::Table(Table::from_first_line(first))),
        Name::Tsv => return Ok(Format::Table(Table::Tab)),
        Name::JsonLines => return Ok(Format::JsonLines),
        Name::Docword => return Ok(Format::Docword),
        Name::MatrixMarket => return Ok(Format::MatrixMarket),
        Name::SvmLight => return Ok(Format::SvmLight),
        _ => {}
    }
    if matrix_market::begins(text) {
        return Ok(Format::MatrixMarket);
    }
    let number = |line: &str| line.trim().parse::<u64>().is_ok();
    if number(first) && lines.next().is_some_and(number) && lines.next().is_some_and(number) {
        return Ok(Format::Docword);
    }
    match text.trim_start().chars().next() {
        Some('{') if text.starts_with("{\\rtf") => return Err(Problem::UnknownFormat),
        Some('{' | '[') => return Ok(Format::JsonLines),
        _ => {}
    }
    // Of a longer file the last line may be cut.
    let whole = text.rsplit_once('\n').filter(|_| head.len() == HEAD).map_or(text, |(whole, _)| whole);
    if svmlight::are_lines(whole.lines()) {
        return Ok(Format::SvmLight);
    }
    for (separator, table) in [('\t', Table::Tab), (',', Table::Comma), (';', Table::Semicolon)] {
        let names: Vec<String> =
            first.split(separator).map(|name| name.trim_matches('"').to_owned()).collect();
        if names.len() > 1 && look_like_names(&names) && Roles::find(&names, columns, TEXT).is_ok() {
            return Ok(Format::Table(table));
        }
    }
    Err(Problem::UnknownFormat)
}
