use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a data set was refused: the file, the line where there is one, what is wrong, and the remedy.
///
/// [`Display`](fmt::Display) writes all four, on two lines:
///
/// ```
/// use countgrid_io::{Columns, Table, read_table};
/// let refused = read_table("id,text\n1,fine\n2\n".as_bytes(), "a.csv", Table::Comma, &Columns::default());
/// assert_eq!(
///     refused.unwrap_err().to_string(),
///     "a.csv, line 3: 1 field, but the header names 2\n\
///      remedy: mend the line; a field that holds the separator, a quote or a line end must be in double quotes"
/// );
/// ```
#[derive(Debug)]
pub struct ReadError {
    file: PathBuf,
    line: Option<u64>,
    problem: Box<Problem>,
}

impl ReadError {
    pub(crate) fn new(file: &Path, line: Option<u64>, problem: Problem) -> Self {
        Self { file: file.to_path_buf(), line, problem: Box::new(problem) }
    }
    /// The file or folder that was being read.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
    /// The line, counted from 1, where the problem belongs to one.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }
    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}\nremedy: ", self.problem)?;
        self.problem.remedy(&self.file, f)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.problem() {
            Problem::Unreadable(error) | Problem::Spool(error) => Some(error),
            _ => None,
        }
    }
}

/// What can be wrong with a data set.
///
/// Example: [`ReadError`](crate::ReadError).
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum Problem {
    /// The file system refused.
    Unreadable(io::Error),
    /// A device, a socket or a named pipe, which may have no end or never begin.
    NotAFile,
    /// The temporary file in which entries wait to be put in order.
    Spool(io::Error),
    /// The file has no bytes, or blank lines only.
    Empty,
    /// A format for folders was asked for, and this is none.
    NotAFolder,
    /// A folder without texts, or a table with nothing after its header.
    NoDocuments { skipped: usize, first: Option<(String, String)> },
    /// A sequence that is not UTF-8 starts at this byte, counted from 0 after any decompression.
    NotUtf8 { byte: u64 },
    /// Text that is in no encoding: its bytes have control characters.
    Binary,
    /// Text that is not in the encoding that its first bytes, or most of them, are in.
    Undecodable { encoding: &'static str },
    /// An RTF document with characters of a code page, or of a font's character set, that is not known.
    UnknownCodePage { what: &'static str, number: i32 },
    /// A document of a kind that is known, and read by no reader of this build.
    Unsupported { kind: &'static str },
    /// A document that is not what it begins as.
    Damaged { kind: &'static str, what: String },
    /// A gzip stream that ends too early.
    TruncatedGzip,
    /// A gzip stream that cannot be decompressed.
    DamagedGzip { what: String },
    /// A line, record or text longer than [`Limits::record_bytes`](crate::Limits::record_bytes).
    TooLong { limit: usize },
    /// More bytes, after decompression, than [`Limits::total_bytes`](crate::Limits::total_bytes).
    TooMuch { limit: u64 },
    /// Memory for a table of this many elements is not to be had.
    Memory { elements: usize },
    /// Neither the name nor the first lines tell what the file is.
    UnknownFormat,
    /// A folder with several data files and no text.
    SeveralTables { names: Vec<String> },
    /// No column name is known to stand for text.
    NoTextColumn { columns: Vec<String> },
    /// A column was named that is not there.
    NoSuchColumn { role: &'static str, name: String, columns: Vec<String> },
    /// A field of a column of numbers that is none.
    NotANumber { column: String, found: String },
    /// A record with too few or too many fields.
    Fields { expected: usize, found: usize, quoting: bool },
    /// A row of a sheet with cells beyond those of the first.
    Cells { expected: usize, found: usize },
    /// A double quote is never closed; the line is that of its record.
    OpenQuote,
    /// A line that is not JSON.
    Json { what: String },
    /// JSON that is not an object.
    NotAnObject { found: String },
    /// A JSON object without its text, or with a value of another kind.
    NoText { column: String, found: &'static str },
    /// One of the three header lines of a docword file.
    Header { what: &'static str, found: String },
    /// The first line of a Matrix Market file that is not of a kind that is read.
    Banner { found: String },
    /// The first line of a Matrix Market file that is no comment is not its size.
    Size { found: String },
    /// A line of counts, or a field of it, that is not as expected.
    Entry { expected: &'static str, found: String },
    /// An index outside `1..=words`, of a format that does not say how many there are.
    BeyondVocabulary { index: u64, words: u64 },
    /// A number of a document, word, row or column outside `1..=limit`.
    OutOfRange { what: &'static str, found: u64, limit: u64 },
    /// A count that is negative, not finite or not a number.
    Count { found: String },
    /// Fewer entries than the header says.
    TooFewEntries { expected: u64, found: u64 },
    /// More entries than the header says.
    TooManyEntries { expected: u64 },
    /// A header that claims more documents than the file has bytes, and more than 1024.
    TooManyDocuments { claimed: u64, last: u64 },
    /// The same document and word a second time.
    Repeated { document: u64, word: u64, first: u64 },
    /// Arrays of NumPy that are no matrix of a kind that is read.
    Matrix { found: String },
    /// An element of an array that is not as expected: `data[7]`, counted from 0.
    Element { element: String, found: String, expected: String },
    /// No vocabulary beside a file of counts.
    NoVocabulary { expected: String },
    /// A vocabulary of another length than the header of the counts says.
    VocabularyLength { expected: u64, found: u64, header: PathBuf },
    /// Names of documents, of which the header of the counts says another number.
    NumberOfNames { expected: u64, found: u64, header: PathBuf },
    /// An empty line in a vocabulary.
    NoWord,
    /// A sequence without a symbol.
    NoSymbols,
    /// A symbol that the stated alphabet does not have; positions from 1.
    UnknownSymbol { symbol: char, position: u64, alphabet: String },
    /// More different symbols than can be numbered.
    TooManySymbols,
    /// Symbols before the first header of a FASTA file.
    NoFastaHeader,
    /// No path was named.
    NoPath,
    /// A path that was named before.
    PathTwice,
    /// Counts after a path that holds texts, or texts after one that holds counts.
    NotTogether { first: PathBuf, counts: bool },
    /// Counts of other words than those of the first path: one is missing or too many.
    OtherWords { first: PathBuf, word: String, missing: bool },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::NotAFile => f.write_str("no regular file, but a device, a socket or a named pipe"),
            Self::Spool(error) => {
                write!(f, "entries cannot be put in order in {}: {error}", std::env::temp_dir().display())
            }
            Self::Empty => f.write_str("empty, there is nothing to read"),
            Self::NotAFolder => f.write_str("not a folder"),
            // Of one file that holds none it is the file itself.
            Self::NoDocuments { first: Some((file, why)), .. } if file.is_empty() => {
                write!(f, "no documents: {why}")
            }
            Self::NoDocuments { skipped, first } => {
                f.write_str("no documents")?;
                if *skipped > 0 {
                    write!(f, "; {skipped} {} skipped", plural(*skipped, "file"))?;
                }
                match first {
                    Some((file, why)) => write!(f, ", such as {}: {why}", excerpt(file)),
                    None => Ok(()),
                }
            }
            Self::NotUtf8 { byte } => write!(f, "not UTF-8 at byte {byte}"),
            Self::Binary => f.write_str("no text: it has control characters"),
            Self::Undecodable { encoding } => write!(f, "damaged {encoding}: bytes that are no character"),
            Self::UnknownCodePage { what, number } => {
                write!(f, "its text is in {what} {number}, which is not known")
            }
            Self::Unsupported { kind } => write!(f, "{kind}, which is not read"),
            Self::Damaged { kind, what } => write!(f, "damaged {kind}: {what}"),
            Self::TruncatedGzip => f.write_str("the gzip stream ends too early"),
            Self::DamagedGzip { what } => write!(f, "the gzip stream is damaged: {what}"),
            Self::TooLong { limit } => write!(f, "longer than {limit} bytes, the limit for one record"),
            Self::TooMuch { limit } => {
                write!(f, "more than {limit} bytes after decompression, the limit for a data set")
            }
            Self::Memory { elements } => write!(f, "no memory for a table of {elements} elements"),
            Self::UnknownFormat => f.write_str("not recognised as a table, as JSON or as counts"),
            Self::SeveralTables { names } => {
                write!(f, "{} data files and no text files: {}", names.len(), listed(names))
            }
            Self::NoTextColumn { columns } => {
                write!(
                    f,
                    "no column is known to hold text, and no two others hold numbers; the columns are {}",
                    listed(columns)
                )
            }
            Self::NoSuchColumn { role, name, columns } => {
                write!(
                    f,
                    "no {role} column `{}`; the columns are {}",
                    excerpt(name),
                    listed_near(columns, name)
                )
            }
            Self::NotANumber { column, found } => {
                write!(f, "a number is expected under `{}`, found `{found}`", excerpt(column))
            }
            Self::Fields { expected, found, .. } => {
                write!(f, "{found} {}, but the header names {expected}", plural(*found, "field"))
            }
            Self::Cells { expected, found } => {
                write!(f, "{found} {}, but the first row names {expected}", plural(*found, "cell"))
            }
            Self::OpenQuote => f.write_str("a double quote opens in this record and is never closed"),
            Self::Json { what } => write!(f, "not JSON: {what}"),
            Self::NotAnObject { found } => write!(f, "a JSON object is expected, found `{found}`"),
            Self::NoText { column, found } => {
                write!(f, "a string is expected under `{}`, found {found}", excerpt(column))
            }
            Self::Header { what, found } => {
                write!(f, "{what} is expected alone on this line, found `{found}`")
            }
            Self::Banner { found } => write!(
                f,
                "`%%MatrixMarket matrix coordinate integer general` is expected, or `real` or `pattern`, found `{found}`"
            ),
            Self::Size { found } => write!(f, "`rows columns entries` is expected, found `{found}`"),
            Self::Entry { expected, found } => write!(f, "`{expected}` is expected, found `{found}`"),
            Self::BeyondVocabulary { index, words } => {
                write!(f, "index {index} is not in 1..={words}, the words of the vocabulary")
            }
            Self::OutOfRange { what, found, limit } => {
                write!(f, "{what} {found} is not in 1..={limit}, the range the header gives")
            }
            Self::Count { found } => write!(f, "count `{found}` is not a finite number, zero or above"),
            Self::TooFewEntries { expected, found } => {
                write!(f, "the header says {expected} entries, the file ends after {found}")
            }
            Self::TooManyEntries { expected } => {
                write!(f, "the header says {expected} entries, here is one more")
            }
            Self::TooManyDocuments { claimed, last } => {
                write!(
                    f,
                    "the header claims {claimed} documents, more than the file has bytes; the entries end at document {last}"
                )
            }
            Self::Repeated { document, word, first } => {
                write!(f, "document {document} has word {word} a second time, first on line {first}")
            }
            Self::Matrix { found } => write!(
                f,
                "a sparse matrix (`csr`, `csc` or `coo`) or one array of two dimensions is expected, of integers or floating-point numbers, found {found}"
            ),
            Self::Element { element, found, expected } => {
                write!(f, "{expected} is expected in `{element}`, found {found}")
            }
            Self::NoVocabulary { expected } => {
                write!(f, "no vocabulary; `{expected}` is expected beside the counts")
            }
            Self::VocabularyLength { expected, found, header } => {
                write!(f, "{found} words, but the header of {} says {expected}", header.display())
            }
            Self::NumberOfNames { expected, found, header } => {
                write!(f, "{found} names, but the header of {} says {expected}", header.display())
            }
            Self::NoWord => f.write_str("an empty line where a word is expected"),
            Self::NoSymbols => f.write_str("a sequence without a symbol"),
            Self::UnknownSymbol { symbol, position, alphabet } => write!(
                f,
                "`{}` at position {position} of the sequence is not in the alphabet `{}`",
                excerpt(symbol.encode_utf8(&mut [0; 4])),
                excerpt(alphabet)
            ),
            Self::TooManySymbols => f.write_str("more than 65536 different symbols"),
            Self::NoFastaHeader => {
                f.write_str("a line that begins with `>` is expected before the first sequence")
            }
            Self::NoPath => f.write_str("no file and no folder was named"),
            Self::PathTwice => f.write_str("named twice"),
            Self::NotTogether { first, counts } => {
                let (own, other) = if *counts { ("counts", "texts") } else { ("texts", "counts") };
                write!(f, "holds {own}, and {} {other}, which do not go together", first.display())
            }
            Self::OtherWords { first, word, missing } => {
                let has = if *missing { "has not" } else { "has, besides," };
                write!(f, "not the words of {}: it {has} `{}`", first.display(), excerpt(word))
            }
        }
    }
}

impl Problem {
    /// What to do about it.
    fn remedy(&self, file: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => {
                f.write_str("check the spelling of the path")
            }
            Self::Unreadable(_) => f.write_str("check that it is a readable file or folder"),
            Self::NotAFile => f.write_str("name a file, or give a pipe as standard input: /dev/stdin"),
            Self::Spool(_) => f.write_str("make room there, or set TMPDIR to a folder on another disk"),
            Self::Empty => f.write_str("check how the file was made, or name another"),
            Self::NotAFolder => f.write_str("name a folder, or the format that the file has"),
            Self::NoDocuments { .. } => {
                f.write_str("name a folder with text files, or a CSV, TSV or JSONL file with a text column")
            }
            Self::NotUtf8 { .. } | Self::Undecodable { .. } => {
                f.write_str("mend the text there: most of it is in this encoding")
            }
            Self::Binary => f.write_str("name a file of text, or a folder, in which such files are passed over"),
            Self::UnknownCodePage { .. } => f.write_str("save it as text in UTF-8, or as DOCX"),
            Self::Unsupported { .. } => f.write_str("convert it to text, HTML or DOCX, a table to CSV"),
            Self::Damaged { .. } => f.write_str("fetch or write the file again"),
            Self::TruncatedGzip | Self::DamagedGzip { .. } => {
                write!(f, "fetch the file again; `gzip -t '{}'` tells whether it is whole", file.display())
            }
            Self::TooLong { .. } => f.write_str("split the text into several documents, or raise the limit"),
            Self::TooMuch { .. } => f.write_str("check that this is the file you mean; if it is, raise the limit"),
            Self::Memory { .. } => f.write_str("check that this is the file you mean, or use a larger machine"),
            Self::UnknownFormat => f.write_str(
                "give a table a header line and the ending .csv, .tsv or .jsonl; put text files into a folder and name the folder",
            ),
            Self::SeveralTables { .. } => f.write_str("name one of them"),
            Self::NoTextColumn { .. } => f.write_str(
                "name the column that holds the text; if the first line is data already, put a header line such as `title,text` above it",
            ),
            Self::NoSuchColumn { role, .. } => write!(f, "name one of these as the {role} column"),
            Self::NotANumber { .. } => f.write_str(
                "mend the field; a column counts as one of numbers if its first field is a number, and values are decimal, without blanks",
            ),
            Self::Fields { quoting: true, .. } => f.write_str(
                "mend the line; a field that holds the separator, a quote or a line end must be in double quotes",
            ),
            Self::Fields { quoting: false, .. } => {
                f.write_str("mend the line; fields are separated by one tab and hold no tab or line end")
            }
            Self::Cells { .. } => f.write_str(
                "empty the cells beyond the last column that has a name, or name that; what stands above the names is to be removed",
            ),
            Self::OpenQuote => {
                f.write_str("close the quote; a quote inside a quoted field is written twice")
            }
            Self::Json { .. } | Self::NotAnObject { .. } => {
                f.write_str("mend the line; each line, or each element of an array, must be one whole JSON object")
            }
            Self::NoText { .. } => f.write_str("mend or remove the line, or name another text column"),
            Self::Header { .. } => f.write_str(
                "a docword file begins with three lines: the numbers of documents, of words and of entries",
            ),
            Self::Banner { .. } => f.write_str(
                "write the counts so, with every entry: of SciPy `mmwrite(file, counts, symmetry='general')`",
            ),
            Self::Size { .. } => f.write_str("fetch the file again, or mend the line: three numbers, separated by blanks"),
            Self::Entry { .. } => f.write_str("mend the line: indices are numbered from 1, and blanks separate the fields"),
            Self::BeyondVocabulary { .. } => f.write_str(
                "number from 1 (of scikit-learn `zero_based=False`), or name the vocabulary that belongs to the counts",
            ),
            Self::OutOfRange { .. } => f.write_str("numbers begin with 1; mend the line or the header"),
            Self::Count { .. } => f.write_str("mend the line; a count is how often the word occurs in the document"),
            Self::TooFewEntries { .. } | Self::TooManyEntries { .. } => {
                f.write_str("the file is cut short or its header is wrong: fetch it again, or mend the header")
            }
            Self::TooManyDocuments { .. } => f.write_str("mend the line: the number of documents"),
            Self::Repeated { .. } => f.write_str("add the counts up on one line"),
            Self::Matrix { .. } => f.write_str(
                "write the counts, a row for each document, with `scipy.sparse.save_npz(file, counts)` or `numpy.savez(file, counts)`",
            ),
            Self::Element { .. } => f.write_str(
                "mend the array: a count is how often the word occurs in the document, and indices are numbered from 0",
            ),
            Self::NoVocabulary { .. } => f.write_str("put it there, or name the file; one word per line"),
            Self::VocabularyLength { .. } => {
                f.write_str("name the vocabulary that belongs to the counts; one word per line")
            }
            Self::NumberOfNames { .. } => f.write_str("take the names that belong to the counts; one per line"),
            Self::NoWord => f.write_str("one word per line, in the order of the word numbers"),
            Self::NoSymbols => f.write_str("remove the record, or mend it"),
            Self::UnknownSymbol { .. } => {
                f.write_str("mend the sequence, or name an alphabet that has this symbol")
            }
            Self::TooManySymbols => f.write_str("check that this is the file you mean: a character is a symbol"),
            Self::NoPath => f.write_str("name one"),
            Self::PathTwice => f.write_str("name each path once"),
            Self::NotTogether { .. } => f.write_str("read texts and counts in two runs"),
            Self::OtherWords { .. } => f.write_str("give all counts one vocabulary, with zeros where a word does not occur"),
            Self::NoFastaHeader => f.write_str("put one there, such as `>name`; or, if each line is a sequence, say so"),
        }
    }
}

/// The beginning of a text from a file, fit for a message: one line, no control characters.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARACTERS: usize = 40;
    let mut short: String =
        text.chars().take(CHARACTERS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(CHARACTERS).is_some() {
        short.push('…');
    }
    short
}

/// Names that a message lists.
const NAMES: usize = 12;

/// `` `a`, `b` and 3 more ``: at most a dozen names.
fn listed(names: &[String]) -> String {
    let mut text =
        names.iter().take(NAMES).map(|n| format!("`{}`", excerpt(n))).collect::<Vec<_>>().join(", ");
    if names.len() > NAMES {
        text.push_str(&format!(" and {} more", names.len() - NAMES));
    }
    text
}

/// As [`listed`]; of more than a dozen names those that are most like `name`.
fn listed_near(names: &[String], name: &str) -> String {
    if names.len() <= NAMES {
        return listed(names);
    }
    let key = |name: &str| name.trim().to_lowercase().chars().take(NAME).collect::<Vec<_>>();
    let wanted = key(name);
    let mut nearest: Vec<_> = names.iter().map(|name| (edits(&wanted, &key(name)), name)).collect();
    nearest.sort_by_key(|(edits, _)| *edits); // of equals the first stays first
    let near: Vec<String> = nearest.into_iter().take(NAMES).map(|(_, name)| name.clone()).collect();
    format!("{} and {} more", listed(&near), names.len() - NAMES)
}

/// Characters by which names are compared.
const NAME: usize = 64;

/// How many characters must be put in, taken out or changed to make one name of the other (Levenshtein 1966).
fn edits(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect(); // of nothing and each beginning of the other
    for (i, a) in one.iter().enumerate() {
        let (mut left, mut diagonal) = (i + 1, i);
        for (b, above) in other.iter().zip(row.iter_mut().skip(1)) {
            left = (left + 1).min(*above + 1).min(diagonal + usize::from(a != b));
            diagonal = std::mem::replace(above, left);
        }
        row[0] = i + 1;
    }
    row.last().copied().unwrap_or(0)
}

pub(crate) fn plural(n: usize, word: &str) -> String {
    if n == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_between_names() {
        let of = |a: &str, b: &str| edits(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("é", "e", 1),
            ("a", "a", 0),
        ] {
            assert_eq!((of(a, b), of(b, a)), (expected, expected), "{a} {b}");
        }
    }

    #[test]
    fn of_many_columns_the_nearest_are_named() {
        let names: Vec<String> =
            (0..30).map(|n| format!("column_{n}")).chain(["Bdy".into(), "story".into()]).collect();
        let told = listed_near(&names, "body");
        assert!(told.starts_with("`Bdy`, `story`, `column_0`, ") && told.ends_with(" and 20 more"), "{told}");
        assert_eq!(listed_near(&names[..2], "body"), "`column_0`, `column_1`");
    }

    #[test]
    fn a_dozen_names_are_all_of_them() {
        let names: Vec<String> = (1..=NAMES + 1).map(|n| n.to_string()).collect();
        let dozen = "`1`, `2`, `3`, `4`, `5`, `6`, `7`, `8`, `9`, `10`, `11`, `12`";
        assert_eq!(listed(&names[..NAMES]), dozen);
        assert_eq!(listed(&names), format!("{dozen} and 1 more"));
        assert_eq!(listed(&[]), "");
    }
}
