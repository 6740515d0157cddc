//! CSV and TSV: one document, or one bag of counts, per record.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use csv_core::ReadRecordResult;

use crate::columns::{Columns, Named, Roles, TEXT};
use crate::document::{Document, TITLE, collected, truncate_text};
use crate::error::{Problem, ReadError, excerpt};
use crate::format::Table;
use crate::item::Item;
use crate::options::ReadOptions;
use crate::source::Lines;

/// Reads a table whose first line names the columns; `file` is its name in messages.
///
/// Lines of white space are passed over. A field of a CSV file that is in quotes may go on over several lines. Where a
/// title is missing the text's first words serve, where an id is missing the number of the document.
///
/// # Errors
/// Each with its line: a column that is not there or not known, a record of another length than the header, a
/// quote that is never closed, text that is not UTF-8, a record beyond the default [`Limits`](crate::Limits); and an empty
/// table.
///
/// ```
/// use countgrid_io::{Columns, Table, read_table};
/// let table = "class\tid\tsubject\ttext\nrec.autos\t7\tBrakes\tA 5\" disk squeals.\n";
/// let documents = read_table(table.as_bytes(), "cars.tsv", Table::Tab, &Columns::default())?;
/// assert_eq!(documents[0].title, "Brakes");
/// assert_eq!(documents[0].label.as_deref(), Some("rec.autos"));
/// assert_eq!(documents[0].text, "A 5\" disk squeals.");
/// assert_eq!(documents[0].line, 2);
/// # Ok::<(), countgrid_io::ReadError>(())
/// ```
pub fn read_table(
    reader: impl BufRead,
    file: impl AsRef<Path>,
    table: Table,
    columns: &Columns,
) -> Result<Vec<Document>, ReadError> {
    let file = Arc::from(file.as_ref());
    let options = ReadOptions { columns: columns.clone(), ..ReadOptions::default() };
    collected(|visit| documents(reader, &file, table, TEXT, &options, visit))
}

/// Hands over one document after the other, of a table that has a column for them.
pub(crate) fn documents<E: From<ReadError>>(
    reader: impl BufRead,
    file: &Arc<Path>,
    table: Table,
    known: &str,
    options: &ReadOptions,
    visit: &mut dyn FnMut(Document) -> Result<(), E>,
) -> Result<Named, E> {
    each(reader, file, table, known, options, &mut |item| match item {
        Item::Document(document) => visit(document),
        Item::Vocabulary(columns) => {
            Err(ReadError::new(file, Some(1), Problem::NoTextColumn { columns }).into())
        }
        _ => Ok(()),
    })
}

/// The documents or bags of the rows of a text.
pub(crate) fn each<E: From<ReadError>>(
    reader: impl BufRead,
    file: &Arc<Path>,
    table: Table,
    known: &str,
    options: &ReadOptions,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<Named, E> {
    each_of(&mut Records::new(reader, file, table, options.limits.record_bytes), file, known, options, visit)
}

/// Hands over one document after the other, or one bag after the other where no column holds text and some hold
/// numbers; returns the columns they were read from. `known` are
/// usual names of the text's column.
pub(crate) fn each_of<E: From<ReadError>>(
    records: &mut (impl Rows + ?Sized),
    file: &Arc<Path>,
    known: &str,
    options: &ReadOptions,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<Named, E> {
    if !records.next()? {
        return Err(ReadError::new(file, None, Problem::Empty).into());
    }
    let names: Vec<String> = (0..records.len()).map(|i| records.field(i).to_owned()).collect();
    let mut roles = Roles::find(&names, &options.columns, known).map_err(|problem| records.error(problem))?;
    let header = records.line();
    let mut numbers: Option<Vec<usize>> = None; // columns, where there is none of text
    let mut others: Option<Vec<usize>> = None; // columns that have no role and are no counts, once that is known
    let (mut documents, mut bag, mut fields) = (0usize, Vec::new(), Vec::new());
    while records.next()? {
        if records.len() != names.len() {
            let problem = records.of_another_length(names.len());
            return Err(records.error(problem).into());
        }
        documents += 1;
        if documents == 1 && options.columns.text.is_none() {
            roles.text = roles.text.filter(|_| !roles.only_numbers(&names, |column| records.field(column)));
        }
        if documents == 1 {
            let own: Vec<usize> =
                [roles.text, roles.title, roles.label, roles.id].into_iter().flatten().collect();
            let mut wanted = own.clone();
            if roles.text.is_none() {
                // Where there are none the error comes below.
                wanted.extend(roles.numbers(&names, |column| records.field(column)).unwrap_or_default());
            }
            if options.other_columns {
                wanted = (0..names.len()).collect();
            }
            records.only(&wanted, &own)?;
        }
        let filled = |role: Option<usize>| {
            role.map(|i| records.field(i).trim()).filter(|field| !field.is_empty()).map(str::to_owned)
        };
        let (id, label) = (filled(roles.id).unwrap_or_else(|| documents.to_string()), filled(roles.label));
        if roles.text.is_none() && numbers.is_none() {
            let found = roles.numbers(&names, |column| records.field(column));
            let found = found.map_err(|problem| ReadError::new(file, Some(header), problem))?;
            visit(Item::Vocabulary(found.iter().map(|&column| names[column].clone()).collect()))?;
            numbers = Some(found);
        }
        if options.other_columns {
            let others = match &mut others {
                Some(others) => &*others,
                None => {
                    let mut found = roles.others(names.len());
                    found.retain(|column| {
                        numbers.as_ref().is_none_or(|numbers| numbers.binary_search(column).is_err())
                    });
                    if !found.is_empty() {
                        visit(Item::OtherColumns(
                            found.iter().map(|&column| names[column].trim().to_owned()).collect(),
                        ))?;
                    }
                    &*others.insert(found)
                }
            };
            if !others.is_empty() {
                fields.clear();
                fields.extend(others.iter().map(|&column| records.field(column).trim().to_owned()));
                visit(Item::OtherFields(&fields))?;
            }
        }
        if let Some(text) = roles.text {
            let text = records.field(text).to_owned();
            let title = filled(roles.title).unwrap_or_else(|| truncate_text(&text, TITLE));
            let (file, line) = (Arc::clone(file), records.line());
            visit(Item::Document(Document { id, title, label, text, file, line }))?;
            continue;
        }
        bag.clear();
        for (&column, feature) in numbers.iter().flatten().zip(0u32..) {
            let field = records.field(column).trim();
            match field.parse::<f64>() {
                Ok(value) if value.is_finite() => bag.extend((value != 0.0).then_some((feature, value))),
                _ => {
                    let (column, found) = (names[column].clone(), excerpt(field));
                    return Err(records.error(Problem::NotANumber { column, found }).into());
                }
            }
        }
        let (file, line) = (Arc::clone(file), records.line());
        visit(Item::About { id, label, file, line })?;
        visit(Item::Bag(&bag))?;
    }
    if documents == 0 {
        roles.text(&names).map_err(|problem| ReadError::new(file, Some(header), problem))?;
        return Err(ReadError::new(file, None, Problem::NoDocuments { skipped: 0, first: None }).into());
    }
    let mut named = roles.listed(&names);
    if let Some(numbers) = numbers {
        named.push(("counts", format!("{} of numbers", numbers.len())));
    }
    Ok(named)
}

/// The records of a table, of which one is there.
pub(crate) trait Rows {
    /// Reads one record; false at the end of the table.
    fn next(&mut self) -> Result<bool, ReadError>;
    /// How many fields it has.
    fn len(&self) -> usize;
    /// The text of a field; empty beyond the last.
    fn field(&self, i: usize) -> &str;
    /// The line on which it starts, or the row, from 1.
    fn line(&self) -> u64;
    /// What is wrong where there should be so many fields.
    fn of_another_length(&self, expected: usize) -> Problem;
    /// An error in the record.
    fn error(&self, problem: Problem) -> ReadError;
    /// From now on only these columns are asked for, this record's included; those of `roles`, which are among them, must be text.
    fn only(&mut self, columns: &[usize], roles: &[usize]) -> Result<(), ReadError> {
        _ = (columns, roles); // to most a field that is not asked for costs nothing
        Ok(())
    }
}

/// The records of a text, each in the same buffers.
struct Records<'a, R> {
    lines: Lines<'a, R>,
    file: &'a Path,
    parser: Option<(csv_core::Reader, u8)>, // with its delimiter; none: fields lie between tabs
    limit: usize,
    fields: Vec<u8>,  // one after the other, UTF-8
    ends: Vec<usize>, // where each ends
    line: u64,        // on which the record starts
}

impl<'a, R: BufRead> Records<'a, R> {
    fn new(reader: R, file: &'a Path, table: Table, limit: usize) -> Self {
        let lines = Lines::new(reader, file, limit);
        let quoted = |delimiter| {
            let mut parser = csv_core::ReaderBuilder::new();
            let parser = parser.delimiter(delimiter).terminator(csv_core::Terminator::Any(b'\n')).build();
            Some((parser, delimiter))
        };
        let parser = match table {
            Table::Comma => quoted(b','),
            Table::Semicolon => quoted(b';'),
            Table::Tab => None,
        };
        Self { lines, file, parser, limit, fields: Vec::new(), ends: Vec::new(), line: 0 }
    }
}

impl<R: BufRead> Rows for Records<'_, R> {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn field(&self, i: usize) -> &str {
        let start = i.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let field = self.ends.get(i).and_then(|&end| self.fields.get(start..end)).unwrap_or(&[]);
        // Lines are UTF-8 and are cut at, or relieved of, ASCII characters only.
        std::str::from_utf8(field).unwrap_or("")
    }

    fn error(&self, problem: Problem) -> ReadError {
        ReadError::new(self.file, Some(self.line), problem)
    }

    fn line(&self) -> u64 {
        self.line
    }

    fn of_another_length(&self, expected: usize) -> Problem {
        Problem::Fields { expected, found: self.len(), quoting: self.parser.is_some() }
    }

    fn next(&mut self) -> Result<bool, ReadError> {
        self.fields.clear();
        self.ends.clear();
        let mut open = false; // inside a quoted field
        loop {
            if !open {
                self.line = self.lines.line() + 1;
            }
            let Some(line) = self.lines.next()? else {
                return if open { Err(self.error(Problem::OpenQuote)) } else { Ok(false) };
            };
            if !open && line.trim().is_empty() {
                continue;
            }
            open = match &mut self.parser {
                None => {
                    for field in line.split('\t') {
                        self.fields.extend_from_slice(field.as_bytes());
                        self.ends.push(self.fields.len());
                    }
                    false
                }
                Some((parser, delimiter)) => {
                    let mut push = |input| push(parser, *delimiter, input, &mut self.fields, &mut self.ends);
                    push(line.as_bytes());
                    !push(b"\n")
                }
            };
            if self.fields.len() > self.limit {
                return Err(self.error(Problem::TooLong { limit: self.limit }));
            }
            if !open {
                return Ok(true);
            }
        }
    }
}

/// Gives the parser a part of a record; true if the record ends with it.
fn push(
    parser: &mut csv_core::Reader,
    delimiter: u8,
    input: &[u8],
    fields: &mut Vec<u8>,
    ends: &mut Vec<usize>,
) -> bool {
    if input.is_empty() {
        return false; // to the parser the end of all input
    }
    let (written, ended) = (fields.len(), ends.len());
    let separators = input.iter().filter(|&&byte| byte == delimiter).count();
    fields.resize(written + input.len() + 1, 0); // unquoting only shortens
    ends.resize(ended + separators + 1, 0);
    let (result, _, bytes, more) = parser.read_record(input, &mut fields[written..], &mut ends[ended..]);
    fields.truncate(written + bytes);
    ends.truncate(ended + more);
    matches!(result, ReadRecordResult::Record)
}
