//! A sheet of a workbook (XLSX, ODS), as a table. Memory holds a row of it, and of an XLSX file the strings that its cells share.

use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use html5gum::{DefaultEmitter, IoReader, Token, Tokenizer};
use zip::ZipArchive;

use crate::error::{Problem, ReadError};
use crate::name::LeftOut;
use crate::ods;
use crate::source::{Budget, metered, problem_of};
use crate::table::Rows;
use crate::xlsx;
use crate::zipped::refused;

/// Rows and columns that a sheet has at most, in the programs that write them.
pub(crate) const ROWS: u64 = 1 << 20;
pub(crate) const COLUMNS: usize = 1 << 14;

const WORKBOOK: &str = "xl/workbook.xml";
/// The text of the cells of a row, one after the other.
#[derive(Default)]
pub(crate) struct Cells {
    text: String,
    ends: Vec<usize>,
}

impl Cells {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Sets the cell of this column, from 0, which lies beyond those before.
    pub(crate) fn put(&mut self, column: usize, text: &str) -> Result<(), &'static str> {
        if column >= COLUMNS {
            return Err("a cell lies beyond the last column, XFD");
        }
        if column < self.ends.len() {
            return Err("cells of a row are not in order");
        }
        // What is empty ends where what is before it ends.
        if !text.is_empty() {
            self.ends.resize(column, self.text.len());
            self.text.push_str(text);
            self.ends.push(self.text.len());
        }
        Ok(())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn cell(&self, column: usize) -> &str {
        let start = column.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(column).and_then(|&end| self.text.get(start..end)).unwrap_or("")
    }
}

/// Reads row after row.
pub(crate) trait Sheet {
    /// Fills in the cells of the next row, and returns its number, from 1.
    fn next_row(&mut self, cells: &mut Cells) -> Result<Option<u64>, Problem>;
}

/// The rows of a sheet as records of a table: those with something in them, the first of which names the columns.
struct Records<'a> {
    sheet: &'a mut dyn Sheet,
    cells: Cells,
    /// The row that is in `cells` and not yet taken.
    ahead: Option<u64>,
    /// How many columns have a name.
    named: Option<usize>,
    row: u64,
    file: &'a Path,
    limit: usize,
    budget: &'a Budget,
}

impl<'a> Records<'a> {
    fn new(sheet: &'a mut dyn Sheet, file: &'a Path, limit: usize, budget: &'a Budget) -> Self {
        Self { sheet, cells: Cells::default(), ahead: None, named: None, row: 0, file, limit, budget }
    }

    /// Goes on to the next row that has something in it; false if there is none.
    fn fill(&mut self) -> Result<bool, ReadError> {
        while self.ahead.is_none() {
            let row = self.sheet.next_row(&mut self.cells);
            let Some(row) = row.map_err(|problem| ReadError::new(self.file, Some(self.row + 1), problem))?
            else {
                return Ok(false);
            };
            self.ahead = Some(row).filter(|_| !self.cells.is_empty());
        }
        Ok(true)
    }
}

impl Rows for Records<'_> {
    fn next(&mut self) -> Result<bool, ReadError> {
        if !self.fill()? {
            return Ok(false);
        }
        self.row = self.ahead.take().unwrap_or(self.row);
        if self.cells.bytes() > self.limit {
            return Err(self.error(Problem::TooLong { limit: self.limit }));
        }
        // A string may be that of many cells.
        self.budget.add(self.cells.bytes() as u64).map_err(|problem| self.error(problem))?;
        self.named.get_or_insert(self.cells.ends.len());
        Ok(true)
    }

    fn len(&self) -> usize {
        self.cells.ends.len().max(self.named.unwrap_or(0))
    }

    fn field(&self, i: usize) -> &str {
        self.cells.cell(i)
    }

    fn line(&self) -> u64 {
        self.row
    }

    fn of_another_length(&self, expected: usize) -> Problem {
        Problem::Cells { expected, found: self.len() }
    }

    fn error(&self, problem: Problem) -> ReadError {
        ReadError::new(self.file, Some(self.row.max(1)), problem)
    }
}

/// Hands the rows of the first sheet that has any to `table`, and returns the others that have some, as what was left out.
pub(crate) fn read<R: Read + Seek, T, E: From<ReadError>>(
    reader: R,
    file: &Path,
    limit: usize,
    budget: &Budget,
    table: impl FnOnce(&mut dyn Rows) -> Result<T, E>,
) -> Result<(T, Vec<LeftOut>), E> {
    let refuse = |problem| ReadError::new(file, None, problem);
    let archive = ZipArchive::new(reader).map_err(|error| refuse(damaged(&error)))?;
    let mut members = Members { archive, budget };
    let mut table = Some(table);
    let mut found = None;
    let mut left_out = Vec::new();
    // What is done with each sheet: the first that is shown and has a row is read.
    let mut each = |name: &str, is_hidden: bool, sheet: &mut dyn Sheet| -> Result<(), E> {
        let mut records = Records::new(sheet, file, limit, budget);
        if !records.fill()? {
            return Ok(());
        }
        match table.take_if(|_| !is_hidden) {
            Some(table) => found = Some(table(&mut records)?),
            None => {
                let why =
                    if is_hidden { "a hidden sheet" } else { "a further sheet, of which the first is read" };
                left_out.push(LeftOut { path: file.join(name), why: why.to_owned(), lost: false });
            }
        }
        Ok(())
    };
    if members.archive.index_for_name(WORKBOOK).is_some() {
        let book = xlsx::Book::read(&mut members).map_err(refuse)?;
        for sheet in &book.sheets {
            let tokens = members.tokens(&sheet.member).map_err(refuse)?;
            each(&sheet.name, sheet.is_hidden, &mut xlsx::Rows::new(tokens, &book, limit))?;
        }
    } else if members.archive.index_for_name("content.xml").is_some() {
        let mut tables = ods::Tables::new(members.tokens("content.xml").map_err(refuse)?, limit);
        while let Some((name, is_hidden)) = tables.next_table().map_err(refuse)? {
            each(&name, is_hidden, &mut tables)?;
        }
    } else {
        return Err(refuse(Problem::Unsupported { kind: "a ZIP archive, but no XLSX or ODS" }).into());
    }
    let found = found.ok_or_else(|| refuse(Problem::Empty))?;
    Ok((found, left_out))
}

pub(crate) fn damaged(what: &dyn std::fmt::Display) -> Problem {
    Problem::Damaged { kind: "workbook", what: what.to_string() }
}

/// The files in a workbook.
pub(crate) struct Members<'a, R> {
    pub(crate) archive: ZipArchive<R>,
    budget: &'a Budget,
}

impl<R: Read + Seek> Members<'_, R> {
    /// The tokens of a file of XML, decompressed as they are taken.
    pub(crate) fn tokens(&mut self, name: &str) -> Result<Tokens<impl Read + use<'_, R>>, Problem> {
        let file = self.archive.by_name(name).map_err(|error| {
            let damaged = |error| damaged(&format_args!("{}: {error}", crate::error::excerpt(name)));
            refused(error, "an encrypted document", damaged)
        })?;
        let reader = IoReader::new(BufReader::new(metered(file, self.budget)));
        Ok(Tokens(Tokenizer::new_with_emitter(reader, DefaultEmitter::default())))
    }
}

/// The tokens of XML, taken as HTML, whose tokens are those of XML but for sections of CDATA.
pub(crate) struct Tokens<R: Read>(Tokenizer<IoReader<R>, DefaultEmitter>);

impl<R: Read> Tokens<R> {
    pub(crate) fn next(&mut self) -> Result<Option<Token>, Problem> {
        self.0.next().transpose().map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                damaged(&error)
            }
            _ => problem_of(error),
        })
    }
}

/// The value of an attribute.
pub(crate) fn attribute<'a>(
    tag: &'a html5gum::StartTag<()>,
    name: &str,
) -> Option<std::borrow::Cow<'a, str>> {
    tag.attributes.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value))
}
