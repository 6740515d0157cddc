//! Sequences of symbols: FASTA, a column of a table, or lines of plain text.

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use countgrid_counts::SequencesBuf;

use crate::alphabet::{Alphabet, fold};
use crate::columns::{Columns, Roles, SEQUENCE, look_like_names};
use crate::document::Document;
use crate::error::{Problem, ReadError};
use crate::format::Table;
use crate::name::Name;
use crate::options::ReadOptions;
use crate::source::{Budget, Limits, Lines, Source};
use crate::table;

/// What a file of sequences looks like.
///
/// Example: [`read_sequences`](crate::read_sequences).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SequenceFormat {
    /// FASTA: a line `>id description`, then the symbols, on any number of lines. A line that begins with `;` is a
    /// comment.
    Fasta,
    /// A table with a header: a sequence and its label are fields of a record.
    Table(Table),
    /// Plain text: a line is a sequence.
    Lines,
}

impl fmt::Display for SequenceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fasta => f.write_str("FASTA"),
            Self::Table(Table::Comma) => f.write_str("CSV"),
            Self::Table(Table::Semicolon) => f.write_str("CSV with semicolons"),
            Self::Table(Table::Tab) => f.write_str("TSV"),
            Self::Lines => f.write_str("a sequence on each line"),
        }
    }
}

/// How [`read_sequences`] is to go about it; the default finds everything out by itself.
#[derive(Clone, Debug, Default)]
pub struct SequenceOptions {
    /// What the file looks like, where it is not to be guessed.
    pub format: Option<SequenceFormat>,
    /// The symbols, where they are not those that occur. Any other is an error then.
    pub alphabet: Option<Alphabet>,
    /// Whether upper and lower case are different symbols, where the alphabet is that of the symbols that occur.
    pub distinguish_case: bool,
    /// The columns of a table; the sequence's is [`Columns::text`], else `sequence`, `seq`, ...
    pub columns: Columns,
    /// When to give up.
    pub limits: Limits,
}

/// Sequences as they were read.
///
/// Example: [`read_sequences`](crate::read_sequences).
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceSet {
    /// The symbols: those stated, or those that occur, in the order of their code points and in lower case.
    pub alphabet: Alphabet,
    /// Numbers of symbols.
    pub sequences: SequencesBuf<u16>,
    /// What the data calls each sequence: the id column, the first word of a FASTA header, or its number from 1.
    pub ids: Vec<String>,
    /// The class of each, if the data has classes.
    pub labels: Vec<Option<String>>,
    /// The line on which each starts, from 1.
    pub lines: Vec<u64>,
}

/// Reads sequences from a file, which may be compressed by gzip. By name or first line it is a table (`.csv`, `.tsv`, or
/// a header with a column for sequences), FASTA (`>`), or plain text with a sequence on each line.
///
/// A character is a symbol; blanks between symbols are passed over.
///
/// # Errors
/// [`ReadError`] names the file, the line, what is wrong and the remedy: a symbol that the stated alphabet does not have,
/// a sequence without symbols, a FASTA file that does not begin with `>`, and what a table may be refused for.
///
/// ```
/// use countgrid_io::{Alphabet, SequenceOptions, read_sequences};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("genes.fasta");
/// std::fs::write(&path, ">lac operator\nAATTGT\nGAGC\n>trp\ngaacta\n")?;
/// let dna = SequenceOptions { alphabet: Some(Alphabet::new("ACGT")?), ..SequenceOptions::default() };
/// let set = read_sequences(&path, &dna)?;
/// let lac = set.sequences.as_view().get(0).map(|sequence| sequence.entries()[..4].to_vec());
/// assert_eq!((set.ids[0].as_str(), lac), ("lac", Some(vec![0, 0, 3, 3])));
/// let refused = read_sequences(&path, &SequenceOptions { alphabet: Some(Alphabet::new("AGT")?), ..dna }).unwrap_err();
/// assert!(refused.to_string().contains("line 3: `C` at position 10 of the sequence is not in the alphabet `AGT`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_sequences(path: impl AsRef<Path>, options: &SequenceOptions) -> Result<SequenceSet, ReadError> {
    read_from(path.as_ref(), options)
}

fn read_from(path: &Path, options: &SequenceOptions) -> Result<SequenceSet, ReadError> {
    let source = Source::open_text(path, &Budget::new(options.limits.total_bytes))?;
    if source.head.is_empty() {
        return Err(ReadError::new(path, None, Problem::Empty));
    }
    let format = options.format.unwrap_or_else(|| detect(path, &source.head, &options.columns));
    collect(source.reader(), path, format, options)
}

/// [`read_sequences`] from any reader; `file` is its name in messages.
///
/// # Errors
/// As [`read_sequences`].
pub fn read_sequences_from(
    reader: impl BufRead,
    file: impl AsRef<Path>,
    format: SequenceFormat,
    options: &SequenceOptions,
) -> Result<SequenceSet, ReadError> {
    collect(reader, file.as_ref(), format, options)
}

pub(crate) fn collect(
    reader: impl BufRead,
    path: &Path,
    format: SequenceFormat,
    options: &SequenceOptions,
) -> Result<SequenceSet, ReadError> {
    let mut set = Builder::new(path, options);
    match format {
        SequenceFormat::Fasta => fasta(Lines::new(reader, path, options.limits.record_bytes), &mut set)?,
        SequenceFormat::Lines => lines(Lines::new(reader, path, options.limits.record_bytes), &mut set)?,
        SequenceFormat::Table(kind) => {
            let file = Arc::from(path);
            let mut add = |document: Document| {
                set.begin(document.id, document.label, document.line);
                set.extend(&document.text, document.line)?;
                set.end()
            };
            let SequenceOptions { columns, limits, .. } = options;
            let options = ReadOptions { columns: columns.clone(), limits: *limits, ..ReadOptions::default() };
            table::documents(reader, &file, kind, SEQUENCE, &options, &mut add)?;
        }
    }
    set.finish()
}

fn fasta<R: BufRead>(mut lines: Lines<'_, R>, set: &mut Builder<'_>) -> Result<(), ReadError> {
    let mut has_record = false;
    loop {
        let number = lines.line() + 1;
        let Some(line) = lines.next()? else { break };
        if let Some(header) = line.strip_prefix('>') {
            if has_record {
                set.end()?;
            }
            let id = header.split_whitespace().next().map(str::to_owned);
            let id = id.unwrap_or_else(|| (set.ids.len() + 1).to_string());
            set.begin(id, None, number);
            has_record = true;
        } else if !line.starts_with(';') && !line.trim().is_empty() {
            if !has_record {
                return Err(ReadError::new(set.file, Some(number), Problem::NoFastaHeader));
            }
            set.extend(line, number)?;
        }
    }
    if has_record { set.end() } else { Ok(()) }
}

fn lines<R: BufRead>(mut lines: Lines<'_, R>, set: &mut Builder<'_>) -> Result<(), ReadError> {
    loop {
        let number = lines.line() + 1;
        let Some(line) = lines.next()? else { return Ok(()) };
        if !line.trim().is_empty() {
            set.begin((set.ids.len() + 1).to_string(), None, number);
            set.extend(line, number)?;
            set.end()?;
        }
    }
}

/// What a file is: by its name, or else by its first bytes.
fn detect(path: &Path, head: &[u8], columns: &Columns) -> SequenceFormat {
    // A head may end inside a character.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or(""),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    match Name::from_path(path) {
        Name::Csv => return SequenceFormat::Table(Table::from_first_line(first)),
        Name::Tsv => return SequenceFormat::Table(Table::Tab),
        _ => {}
    }
    if first.starts_with(['>', ';']) {
        return SequenceFormat::Fasta;
    }
    for (separator, table) in [('\t', Table::Tab), (',', Table::Comma), (';', Table::Semicolon)] {
        let names: Vec<String> =
            first.split(separator).map(|name| name.trim_matches('"').to_owned()).collect();
        if names.len() > 1 && look_like_names(&names) && Roles::find(&names, columns, SEQUENCE).is_ok() {
            return SequenceFormat::Table(table);
        }
    }
    SequenceFormat::Lines
}

/// Sequences as they come in.
struct Builder<'a> {
    file: &'a Path,
    stated: Option<&'a Alphabet>,
    folded: bool,
    found: HashMap<char, u16>, // numbers in the order in which symbols are met
    met: Vec<char>,
    offsets: Vec<usize>,
    entries: Vec<u16>,
    ids: Vec<String>,
    labels: Vec<Option<String>>,
    lines: Vec<u64>,
}

impl<'a> Builder<'a> {
    fn new(file: &'a Path, options: &'a SequenceOptions) -> Self {
        Self {
            file,
            stated: options.alphabet.as_ref(),
            folded: !options.distinguish_case,
            found: HashMap::new(),
            met: Vec::new(),
            offsets: vec![0],
            entries: Vec::new(),
            ids: Vec::new(),
            labels: Vec::new(),
            lines: Vec::new(),
        }
    }

    fn error(&self, line: u64, problem: Problem) -> ReadError {
        ReadError::new(self.file, Some(line), problem)
    }

    fn begin(&mut self, id: String, label: Option<String>, line: u64) {
        self.ids.push(id);
        self.labels.push(label);
        self.lines.push(line);
    }

    /// Adds symbols to the sequence begun last.
    fn extend(&mut self, symbols: &str, line: u64) -> Result<(), ReadError> {
        let start = self.offsets.last().copied().unwrap_or(0);
        for symbol in symbols.chars().filter(|symbol| !symbol.is_whitespace()) {
            let number = match self.stated {
                Some(alphabet) => alphabet.index(symbol).ok_or_else(|| {
                    let position = (self.entries.len() - start + 1) as u64;
                    let problem = Problem::UnknownSymbol { symbol, position, alphabet: alphabet.to_string() };
                    self.error(line, problem)
                })?,
                None => self
                    .number(fold(symbol, self.folded))
                    .ok_or_else(|| self.error(line, Problem::TooManySymbols))?,
            };
            self.entries.push(number);
        }
        Ok(())
    }

    /// The number of a symbol, new or not.
    fn number(&mut self, symbol: char) -> Option<u16> {
        if let Some(&number) = self.found.get(&symbol) {
            return Some(number);
        }
        let number = u16::try_from(self.met.len()).ok()?;
        self.found.insert(symbol, number);
        self.met.push(symbol);
        Some(number)
    }

    fn end(&mut self) -> Result<(), ReadError> {
        if self.offsets.last() == Some(&self.entries.len()) {
            let line = self.lines.last().copied().unwrap_or(1);
            return Err(self.error(line, Problem::NoSymbols));
        }
        self.offsets.push(self.entries.len());
        Ok(())
    }

    fn finish(self) -> Result<SequenceSet, ReadError> {
        let Self { file, stated, folded, met, offsets, mut entries, ids, labels, lines, .. } = self;
        if ids.is_empty() {
            return Err(ReadError::new(file, None, Problem::Empty));
        }
        let alphabet = match stated {
            Some(alphabet) => alphabet.clone(),
            None => {
                // In the order of code points, whatever comes first in the file.
                let mut symbols = met.clone();
                symbols.sort_unstable();
                let alphabet = Alphabet::from_symbols(symbols, folded)
                    .map_err(|_| ReadError::new(file, None, Problem::TooManySymbols))?;
                let numbers: Vec<u16> =
                    met.iter().map(|&symbol| alphabet.index(symbol).unwrap_or(0)).collect();
                for entry in &mut entries {
                    *entry = numbers.get(usize::from(*entry)).copied().unwrap_or(0);
                }
                alphabet
            }
        };
        // No sequence is empty, and symbols are those of the alphabet.
        let sequences = SequencesBuf::from_parts(alphabet.len(), offsets, entries);
        let sequences = sequences.map_err(|_| ReadError::new(file, None, Problem::NoSymbols))?;
        Ok(SequenceSet { alphabet, sequences, ids, labels, lines })
    }
}
