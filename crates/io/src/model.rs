//! Model files: named tables and text, in the safetensors format.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use crc32fast::Hasher;
use safetensors::Dtype;
use safetensors::tensor::Metadata;

#[cfg(feature = "files")]
use crate::atomic::StagedFiles;
use crate::model_error::{ModelError, ModelProblem};

/// The elements of a table.
///
/// Example: [`ModelFile::to_bytes`](crate::ModelFile::to_bytes).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TableData {
    F32(Vec<f32>),
    F64(Vec<f64>),
    U32(Vec<u32>),
}

impl TableData {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(data) => data.len(),
            Self::F64(data) => data.len(),
            Self::U32(data) => data.len(),
        }
    }
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Place in the order of a file, name, bytes of an element: large elements first, so that all are aligned.
    fn kind(&self) -> (u8, &'static str, usize) {
        match self {
            Self::F64(_) => (0, "F64", 8),
            Self::F32(_) => (1, "F32", 4),
            Self::U32(_) => (2, "U32", 4),
        }
    }
    /// The first element that is not a number.
    fn not_a_number(&self) -> Option<usize> {
        match self {
            Self::F32(data) => data.iter().position(|x| x.is_nan()),
            Self::F64(data) => data.iter().position(|x| x.is_nan()),
            Self::U32(_) => None,
        }
    }
}

/// A table with its name and shape; row-major, the last axis fastest.
///
/// Example: [`ModelFile::to_bytes`](crate::ModelFile::to_bytes).
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTable {
    /// The documented name, such as `pi`.
    pub name: String,
    /// Its extents; their product is the number of elements, 1 for no axis at all.
    pub shape: Vec<usize>,
    /// Its elements.
    pub data: TableData,
}

impl NamedTable {
    fn check(&self) -> Result<(), ModelProblem> {
        let elements = self.shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
        if elements != Some(self.data.len()) {
            let (name, shape) = (self.name.clone(), self.shape.clone());
            return Err(ModelProblem::Shape { name, shape, found: self.data.len() });
        }
        match self.data.not_a_number() {
            Some(index) => Err(ModelProblem::NotANumber { name: self.name.clone(), index }),
            None => Ok(()),
        }
    }
}

/// What a model file holds: tables, and text by key.
///
/// On disk it is a [safetensors](https://github.com/huggingface/safetensors) file, which Python reads with
/// `safetensors.safe_open(path, framework="numpy")`: `get_tensor("pi")` for a table, `metadata()["vocabulary"]`
/// for a text. Equal contents give equal bytes: tables are written in the order F64, F32, U32, by name within
/// each, texts in the order of their keys. Numbers are little-endian and kept to the bit, infinities and the
/// sign of zero included; NaN is refused on both ways, since no fitted table holds one.
///
/// Two texts are the format's own; they are written with every file, checked when it is read, and not among
/// [`ModelFile::metadata`]: `format_version`, 1, and `checksum`, eight hexadecimal digits. The latter are the CRC-32 of
/// all bytes of the file, lengths, names, shapes, texts and tables, with the eight digits themselves taken as zeros; in
/// Python `zlib.crc32(file.replace(b'"checksum":"%s"' % digits, b'"checksum":"00000000"', 1))`. A file of a later version
/// is refused. A file without either, by this library before it had them or by another program, opens too; then no checksum
/// shows whether it is as it was written. A program that changes a file leaves both out.
///
/// ```
/// use countgrid_io::{ModelFile, NamedTable, TableData, load, save};
/// let pi = NamedTable { name: "pi".into(), shape: vec![2, 1, 2], data: TableData::F32(vec![0.5, 0.25, 0.5, 0.75]) };
/// let mut model = ModelFile { tables: vec![pi], ..ModelFile::default() };
/// model.set_strings("vocabulary", ["ant", "bee"]);
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// save(&path, &model)?;
/// let model = load(&path)?;
/// assert_eq!(model.table("pi").map(|pi| pi.shape.as_slice()), Some([2, 1, 2].as_slice()));
/// assert_eq!(model.strings("vocabulary"), Some(vec!["ant".to_owned(), "bee".to_owned()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFile {
    /// The tables; after [`load`] in the order of the file.
    pub tables: Vec<NamedTable>,
    /// Texts by key.
    pub metadata: BTreeMap<String, String>,
}

impl ModelFile {
    /// The table of that name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&NamedTable> {
        self.tables.iter().find(|table| table.name == name)
    }
    /// Puts a list of strings under a key, as a JSON array.
    pub fn set_strings<S: AsRef<str>>(&mut self, key: &str, strings: impl IntoIterator<Item = S>) {
        let array = strings.into_iter().map(|s| serde_json::Value::from(s.as_ref())).collect();
        self.metadata.insert(key.to_owned(), serde_json::Value::Array(array).to_string());
    }
    /// The list of strings under a key; none if the key is absent or holds anything else.
    #[must_use]
    pub fn strings(&self, key: &str) -> Option<Vec<String>> {
        serde_json::from_str(self.metadata.get(key)?).ok()
    }
    /// The bytes that [`save`] writes, for where there are no files.
    ///
    /// # Errors
    /// Two tables of one name, a shape that is not that of its data, a NaN; a text under a key of the format's own; texts
    /// beyond the 100 MB that the format allows; no memory.
    ///
    /// ```
    /// use countgrid_io::{ModelFile, NamedTable, TableData};
    /// let prior = NamedTable { name: "prior".into(), shape: vec![2], data: TableData::F32(vec![0.25, 0.75]) };
    /// let model = ModelFile { tables: vec![prior], ..ModelFile::default() };
    /// assert_eq!(ModelFile::from_bytes(&model.to_bytes()?)?, model);
    /// # Ok::<(), countgrid_io::ModelProblem>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelProblem> {
        let file = header(self)?;
        let (header, order) = &file;
        // Tables that are in memory, and a header: far from overflow in 64 bits, not in 32.
        let length = order.iter().fold(8 + header.len() as u64, |length, table| {
            length.saturating_add(table.data.len() as u64 * table.data.kind().2 as u64)
        });
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| ModelProblem::Memory { bytes: length })?;
        write(&mut bytes, &file).map_err(ModelProblem::Unreadable)?;
        Ok(bytes)
    }
    /// The checksum that the file has: eight hexadecimal digits, by which what was made from a model is compared with it. Equal
    /// contents have equal checksums; other contents have another, but for one in 2³².
    ///
    /// # Errors
    /// Those of [`ModelFile::to_bytes`].
    ///
    /// ```
    /// use countgrid_io::ModelFile;
    /// let model = ModelFile::default();
    /// let digits = format!("\"checksum\":\"{}\"", model.checksum()?);
    /// assert!(String::from_utf8_lossy(&model.to_bytes()?).contains(&digits));
    /// # Ok::<(), countgrid_io::ModelProblem>(())
    /// ```
    pub fn checksum(&self) -> Result<String, ModelProblem> {
        let (header, _) = header(self)?;
        let start = place_after_key(header.as_bytes()).unwrap_or(0);
        Ok(header.get(start..start + UNKNOWN.len()).unwrap_or_default().to_owned())
    }
    /// The model whose bytes these are, read as [`load`] reads a file.
    ///
    /// # Errors
    /// Those of [`load`], but for what concerns the file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelProblem> {
        read(bytes, bytes.len() as u64)
    }
}

/// Writes a model file, as a whole or not at all ([`write_atomically`](crate::write_atomically)).
///
/// # Errors
/// Two tables of one name, a shape that is not that of its data, a NaN; a text under a key of the format's own; texts
/// beyond the 100 MB that the format allows; and what [`write_atomically`](crate::write_atomically) meets. The previous file is then untouched.
#[cfg(feature = "files")]
pub fn save(path: impl AsRef<Path>, model: &ModelFile) -> Result<(), ModelError> {
    let mut files = StagedFiles::new();
    files.write_model(path, model)?;
    Ok(files.publish()?)
}

#[cfg(feature = "files")]
impl StagedFiles {
    /// Writes a model file that has no name yet.
    ///
    /// # Errors
    /// Those of [`save`].
    pub fn write_model(&mut self, path: impl AsRef<Path>, model: &ModelFile) -> Result<(), ModelError> {
        let path = path.as_ref();
        let file = header(model).map_err(|problem| ModelError::new(path, problem))?;
        Ok(self.write(path, |out| write(out, &file))?)
    }
}

/// Reads a model file.
///
/// The header is believed only as far as the file is long: nothing is allocated beyond that.
///
/// Example: [`ModelFile`](crate::ModelFile).
///
/// # Errors
/// A file that is cut short or has more bytes than its header tells of, a header that is not that of a
/// safetensors file, a later version of the format, another checksum than the bytes have, a table of another element type
/// than F32, F64 and U32, a NaN.
pub fn load(path: impl AsRef<Path>) -> Result<ModelFile, ModelError> {
    load_from(path.as_ref())
}

fn load_from(path: &Path) -> Result<ModelFile, ModelError> {
    let refuse = |problem| ModelError::new(path, problem);
    let file = File::open(path).map_err(|error| refuse(ModelProblem::Unreadable(error)))?;
    let about = file.metadata().map_err(|error| refuse(ModelProblem::Unreadable(error)))?;
    if !about.is_file() {
        return Err(refuse(ModelProblem::Unreadable(io::Error::other("not a file"))));
    }
    read(BufReader::new(file), about.len()).map_err(refuse)
}

/// The longest header that the safetensors library reads.
const HEADER: u64 = 100_000_000;

/// The version of the format that is written.
const VERSION: &str = "1";
/// The format's own texts.
const VERSION_KEY: &str = "format_version";
const CHECKSUM_KEY: &str = "checksum";
/// The checksum while it is not known.
const UNKNOWN: &str = "00000000";

/// The header with its checksum, padded so that the tables begin on a multiple of 8, and the tables in the order of the file.
fn header(model: &ModelFile) -> Result<(String, Vec<&NamedTable>), ModelProblem> {
    let mut names = BTreeSet::new();
    for table in &model.tables {
        table.check()?;
        if table.name == "__metadata__" || !names.insert(&table.name) {
            return Err(ModelProblem::Name { name: table.name.clone() });
        }
    }
    let mut order: Vec<_> = model.tables.iter().collect();
    order.sort_by_key(|table| (table.data.kind().0, table.name.as_str()));

    if let Some(key) = [VERSION_KEY, CHECKSUM_KEY].into_iter().find(|&key| model.metadata.contains_key(key)) {
        return Err(ModelProblem::Key { key });
    }
    // By hand: the library keeps the texts in a hash map, and so in another order every time.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut entries = Vec::new();
    let own = [(VERSION_KEY, VERSION), (CHECKSUM_KEY, UNKNOWN)];
    let mut texts: BTreeMap<&str, &str> = own.into();
    texts.extend(model.metadata.iter().map(|(key, text)| (key.as_str(), text.as_str())));
    let texts: Vec<_> = texts.iter().map(|(key, text)| format!("{}:{}", quoted(key), quoted(text))).collect();
    entries.push(format!("\"__metadata__\":{{{}}}", texts.join(",")));
    let mut start = 0;
    for table in &order {
        let (_, kind, bytes) = table.data.kind();
        let end = start + table.data.len() * bytes;
        let name = quoted(&table.name);
        let shape = table.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        entries.push(format!(
            "{name}:{{\"dtype\":\"{kind}\",\"shape\":[{shape}],\"data_offsets\":[{start},{end}]}}"
        ));
        start = end;
    }
    let mut header = format!("{{{}}}", entries.join(","));
    while header.len() % 8 != 0 {
        header.push(' ');
    }
    if header.len() as u64 > HEADER {
        return Err(ModelProblem::LongHeader { bytes: header.len() as u64 });
    }
    let mut sum = BufWriter::with_capacity(BUFFER, Sum(Hasher::new()));
    let file = (header, order);
    let summed = write(&mut sum, &file).and_then(|()| Ok(sum.into_inner()?.0));
    let (mut header, order) = file;
    let digits = digits_of(summed.map_err(ModelProblem::Unreadable)?.finalize());
    if let Some(place) = place_of_checksum(header.as_bytes(), UNKNOWN) {
        header.replace_range(place..place + UNKNOWN.len(), &digits);
    }
    Ok((header, order))
}

/// Bytes of which the checksum is taken at a time.
const BUFFER: usize = 1 << 16;

/// What is written here is summed up.
struct Sum(Hasher);

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is read through it is summed up.
struct Summed<'a, R> {
    reader: R,
    sum: &'a mut Hasher,
}

impl<R: Read> Read for Summed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.sum.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// A checksum as text.
fn digits_of(sum: u32) -> String {
    format!("{sum:08x}")
}

/// Where any digits begin in a header.
fn place_after_key(header: &[u8]) -> Option<usize> {
    let sought = format!("\"{CHECKSUM_KEY}\":\"");
    Some(header.windows(sought.len()).position(|bytes| bytes == sought.as_bytes())? + sought.len())
}

/// Where the digits begin in a header. Inside of a text there are no quotes without a backslash before them.
fn place_of_checksum(header: &[u8], digits: &str) -> Option<usize> {
    let sought = format!("\"{CHECKSUM_KEY}\":\"{digits}\"");
    let place = header.windows(sought.len()).position(|bytes| bytes == sought.as_bytes())?;
    Some(place + sought.len() - digits.len() - 1)
}

/// The checksum that a file claims, if it is of the version that has one.
fn claimed_checksum(metadata: &mut BTreeMap<String, String>) -> Result<Option<String>, ModelProblem> {
    let (version, checksum) = (metadata.remove(VERSION_KEY), metadata.remove(CHECKSUM_KEY));
    match version {
        Some(version) if version == VERSION => checksum.ok_or(ModelProblem::NoChecksum).map(Some),
        Some(found) => Err(ModelProblem::FormatVersion { found }),
        None if checksum.is_some() => Err(ModelProblem::NoFormatVersion),
        None => Ok(None),
    }
}

fn write(out: &mut dyn Write, (header, order): &(String, Vec<&NamedTable>)) -> io::Result<()> {
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    order.iter().try_for_each(|table| write_table(out, &table.data))
}

fn write_table(out: &mut dyn Write, data: &TableData) -> io::Result<()> {
    match data {
        TableData::F32(data) => data.iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
        TableData::F64(data) => data.iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
        TableData::U32(data) => data.iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
    }
}

/// Reads a model of `length` bytes.
pub(crate) fn read(mut reader: impl Read, length: u64) -> Result<ModelFile, ModelProblem> {
    let mut claimed = [0; 8];
    let rest = length.checked_sub(8).ok_or(ModelProblem::NoHeader { bytes: length })?;
    reader.read_exact(&mut claimed).map_err(ModelProblem::Unreadable)?;
    let claimed = u64::from_le_bytes(claimed);
    if claimed > HEADER.min(rest) {
        return Err(ModelProblem::HeaderLength { claimed, rest });
    }
    let mut header = Vec::new();
    reader.by_ref().take(claimed).read_to_end(&mut header).map_err(ModelProblem::Unreadable)?;
    let bytes = header;
    let header: Metadata =
        serde_json::from_slice(&bytes).map_err(|error| ModelProblem::Header { what: error.to_string() })?;
    // The library has checked that the tables follow each other without gaps and that offsets fit shapes.
    let (tables, found) = (header.data_len() as u64, rest - claimed);
    if tables != found {
        return Err(ModelProblem::Length { expected: tables, found });
    }
    let mut metadata =
        header.metadata().iter().flatten().map(|(key, text)| (key.clone(), text.clone())).collect();
    let checksum = claimed_checksum(&mut metadata)?;
    let mut sum = Hasher::new();
    if let Some(digits) = &checksum {
        let zeros = place_of_checksum(&bytes, digits).filter(|_| digits.len() == UNKNOWN.len());
        let place = zeros.ok_or_else(|| ModelProblem::Checksum { claimed: digits.clone(), found: None })?;
        let after = place + UNKNOWN.len();
        sum.update(&claimed.to_le_bytes());
        sum.update(bytes.get(..place).unwrap_or_default());
        sum.update(UNKNOWN.as_bytes());
        sum.update(bytes.get(after..).unwrap_or_default());
    }
    drop(bytes);
    let mut infos: Vec<_> = header.tensors().into_iter().collect();
    infos.sort_by(|a, b| (a.1.data_offsets, &a.0).cmp(&(b.1.data_offsets, &b.0)));
    let mut tables = Vec::new();
    let mut reader = BufReader::with_capacity(BUFFER, Summed { reader, sum: &mut sum });
    for (name, info) in infos {
        let bytes = info.data_offsets.1 - info.data_offsets.0;
        let data = match info.dtype {
            Dtype::F32 => TableData::F32(elements(&mut reader, bytes, f32::from_le_bytes)?),
            Dtype::F64 => TableData::F64(elements(&mut reader, bytes, f64::from_le_bytes)?),
            Dtype::U32 => TableData::U32(elements(&mut reader, bytes, u32::from_le_bytes)?),
            other => return Err(ModelProblem::ElementType { name, found: format!("{other:?}") }),
        };
        tables.push(NamedTable { name, shape: info.shape.clone(), data });
    }
    drop(reader);
    let found = digits_of(sum.finalize());
    if let Some(claimed) = checksum.filter(|claimed| *claimed != found) {
        return Err(ModelProblem::Checksum { claimed, found: Some(found) });
    }
    tables.iter().try_for_each(NamedTable::check)?;
    Ok(ModelFile { tables, metadata })
}

/// The elements in so many bytes, which the file is known to have.
fn elements<const N: usize, T>(
    reader: &mut impl Read,
    bytes: usize,
    element: fn([u8; N]) -> T,
) -> Result<Vec<T>, ModelProblem> {
    let mut data = Vec::new();
    data.try_reserve_exact(bytes / N).map_err(|_| ModelProblem::Memory { bytes })?;
    let mut buffer = [0; N];
    for _ in 0..bytes / N {
        reader.read_exact(&mut buffer).map_err(ModelProblem::Unreadable)?;
        data.push(element(buffer));
    }
    Ok(data)
}
