//! The numeric features of a dual wing: read, matched with documents, standardised.

use std::{cell::Cell, collections::HashMap, error::Error, fmt, io, path::Path, rc::Rc};

use countgrid_io::Limits;

use super::HarmoniumKind;

/// Why features were refused.
///
/// Example: [`Standardizer`](crate::Standardizer).
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum FeatureError {
    /// A table that cannot be read.
    Table { source: String, error: csv::Error },
    /// A column that the table does not have; it has those of `header`.
    NoColumn { source: String, name: String, header: Vec<String> },
    /// A table without a column but that of ids.
    NoFeatures { source: String },
    /// A field that is no finite number.
    NotANumber { source: String, line: u64, column: String, field: String },
    /// Two rows of one document.
    DuplicateId { source: String, line: u64, id: String },
    /// A table without ids that has fewer or more rows than there are documents.
    RowsWithoutIds { source: String, rows: usize, documents: usize },
    /// A document without a row.
    NoRow { source: String, id: String },
    /// A feature that is constant, or whose standard deviation is not from 1e-30 to 1e30.
    Deviation { name: String, deviation: f64 },
    /// A mean that is no number, or more than 1e18 standard deviations from zero.
    Mean { name: String, mean: f64, deviation: f64 },
    /// A value so far from its mean, in standard deviations, that topics are not finite; documents from 0.
    OutOfRange { name: String, document: usize, value: f64 },
    /// A dual wing without features.
    Missing,
    /// Features for a model that has none.
    NoFeatureWing { kind: HarmoniumKind },
    /// Features other than those of the model.
    Names { expected: Vec<String>, found: Vec<String> },
    /// Fewer or more rows of features than documents.
    Rows { rows: usize, documents: usize },
}

impl fmt::Display for FeatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table { source, error } => write!(f, "{source}: {error}"),
            Self::NoColumn { source, name, .. } => write!(f, "{source}: no column `{}`", excerpt(name)),
            Self::NoFeatures { source } => write!(f, "{source}: no column is a feature"),
            Self::NotANumber { source, line, column, field } => {
                let (column, field) = (excerpt(column), excerpt(field));
                write!(f, "{source}, line {line}, column `{column}`: `{field}` is no number")
            }
            Self::DuplicateId { source, line, id } => {
                write!(f, "{source}, line {line}: the id `{}` is there twice", excerpt(id))
            }
            Self::RowsWithoutIds { source, rows, documents } => {
                write!(f, "{source}: {rows} rows for {documents} documents, and no column of ids")
            }
            Self::NoRow { source, id } => write!(f, "{source}: no row for the document `{}`", excerpt(id)),
            Self::Deviation { name, deviation } => {
                write!(f, "the feature `{}` has the standard deviation {deviation}", excerpt(name))
            }
            Self::Mean { name, mean, deviation } => {
                write!(
                    f,
                    "the feature `{}` has the mean {mean:e} with the standard deviation {deviation:e}",
                    excerpt(name)
                )
            }
            Self::OutOfRange { name, document, value } => {
                let name = excerpt(name);
                write!(f, "the feature `{name}` of document {document} is {value:e}, too far from its mean")
            }
            Self::Missing => f.write_str("a dual wing has words and features, and no features were given"),
            Self::NoFeatureWing { kind } => {
                write!(f, "features are for dual wings, and the model `{}` has one wing", kind.name())
            }
            Self::Names { expected, found } => {
                write!(f, "the features are {}, those of the model {}", listed(found), listed(expected))
            }
            Self::Rows { rows, documents } => write!(f, "{rows} rows of features for {documents} documents"),
        }
    }
}

/// Without a source: `Display` shows the error of the table itself, and [`csv::Error`] has none.
impl Error for FeatureError {}

/// Numbers of documents: features by name, `[document][feature]`.
///
/// ```
/// use countgrid_estimators::FeatureValues;
/// let values = FeatureValues { names: vec!["size".into(), "hue".into()], values: vec![1.0, 0.5, 2.0, 0.25] };
/// assert_eq!(values.rows(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureValues {
    /// The features.
    pub names: Vec<String>,
    /// Their values, `[document][feature]`.
    pub values: Vec<f64>,
}

impl FeatureValues {
    /// Number of documents.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len() / self.names.len().max(1)
    }
}

/// Bytes of a table of features, after decompression.
const TABLE_BYTES: u64 = 4 << 30;
/// Bytes of one record, within a factor of two.
const RECORD_BYTES: u64 = 32 << 20;

/// Ends in an error once more was read than is allowed: the last record and one more, which then has no end.
struct Limited<R> {
    reader: R,
    read: u64,
    allowed: Rc<Cell<u64>>,
}

impl<R: io::Read> io::Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.read = self.read.saturating_add(n as u64);
        if self.read > self.allowed.get() {
            return Err(io::Error::other(format!("a record of more than {RECORD_BYTES} bytes")));
        }
        Ok(n)
    }
}

/// The first characters of a field, for a message.
fn excerpt(field: &str) -> String {
    const CHARACTERS: usize = 40;
    let mut short: String = field.chars().take(CHARACTERS).collect();
    if field.chars().nth(CHARACTERS).is_some() {
        short.push('…');
    }
    short
}

/// The first names, for a message.
fn listed(names: &[String]) -> String {
    const NAMES: usize = 12;
    let mut text = names.iter().take(NAMES).map(|name| excerpt(name)).collect::<Vec<_>>().join(", ");
    if names.len() > NAMES {
        text.push_str(&format!(" and {} more", names.len() - NAMES));
    }
    text
}

/// A table of features: a row for each document, found by its id if the table has a column of ids.
///
/// ```
/// use countgrid_estimators::FeatureTable;
/// let table = "size,id,remark\n1.5,b,none\n2.5,a,some\n".as_bytes();
/// let table = FeatureTable::from_reader(table, "sizes.csv", b',', &["size".to_owned()], None)?;
/// assert_eq!(table.for_documents(["a", "b"])?.values, [2.5, 1.5]);
/// # Ok::<(), countgrid_estimators::FeatureError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FeatureTable {
    source: String,
    names: Vec<String>,
    rows: Vec<Vec<f64>>,                    // as many numbers as names
    row_of: Option<HashMap<String, usize>>, // if there is a column of ids
}

impl FeatureTable {
    /// Reads the columns that are named, or if none is all but that of ids, of a CSV or (`.tsv`) TSV file with a header.
    /// Ids are in the column `id`, if there is one, unless another is named.
    ///
    /// # Errors
    /// [`FeatureError`] for a file that cannot be read, a column that is not there, a field that is no finite number, an
    /// id that is there twice.
    pub fn read(
        path: impl AsRef<Path>,
        columns: &[String],
        id_column: Option<&str>,
    ) -> Result<Self, FeatureError> {
        let path = path.as_ref();
        let tabs = path.extension().is_some_and(|extension| extension == "tsv");
        let name = path.display().to_string();
        let limits = Limits { total_bytes: TABLE_BYTES, ..Limits::default() };
        let file = countgrid_io::open(path, &limits).map_err(|error| FeatureError::Table {
            source: name.clone(),
            error: io::Error::other(error.problem().to_string()).into(),
        })?;
        Self::from_reader(file, &name, if tabs { b'\t' } else { b',' }, columns, id_column)
    }

    /// As [`FeatureTable::read`], from any reader; `source` is what errors call it.
    ///
    /// # Errors
    /// Those of [`FeatureTable::read`].
    pub fn from_reader(
        reader: impl io::Read,
        source: &str,
        delimiter: u8,
        columns: &[String],
        id_column: Option<&str>,
    ) -> Result<Self, FeatureError> {
        let source = source.to_owned();
        let broken = |error| FeatureError::Table { source: source.clone(), error };
        let allowed = Rc::new(Cell::new(RECORD_BYTES));
        let reader = Limited { reader, read: 0, allowed: Rc::clone(&allowed) };
        let mut table = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(reader);
        let header: Vec<String> = table.headers().map_err(broken)?.iter().map(str::to_owned).collect();
        let find = |name: &str| header.iter().position(|column| column == name);
        let missing = |name: &str| FeatureError::NoColumn {
            source: source.clone(),
            name: name.to_owned(),
            header: header.clone(),
        };
        let id = match id_column {
            Some(name) => Some(find(name).ok_or_else(|| missing(name))?),
            None => find("id"),
        };
        let chosen: Vec<usize> = match columns.is_empty() {
            true => (0..header.len()).filter(|&column| Some(column) != id).collect(),
            false => {
                let found = columns.iter().map(|name| find(name).ok_or_else(|| missing(name)));
                found.collect::<Result<_, _>>()?
            }
        };
        if chosen.is_empty() {
            return Err(FeatureError::NoFeatures { source });
        }
        let name = |column: usize| header.get(column).cloned().unwrap_or_default();
        let mut rows: Vec<Vec<f64>> = Vec::new();
        let mut row_of: HashMap<String, usize> = HashMap::new();
        for record in table.records() {
            let record = record.map_err(broken)?;
            let line = record.position().map_or(0, csv::Position::line);
            allowed.set(record.position().map_or(0, csv::Position::byte).saturating_add(2 * RECORD_BYTES));
            let number = |&column: &usize| {
                let field = record.get(column).unwrap_or_default();
                field.trim().parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| {
                    FeatureError::NotANumber {
                        source: source.clone(),
                        line,
                        column: excerpt(&name(column)),
                        field: excerpt(field),
                    }
                })
            };
            rows.push(chosen.iter().map(number).collect::<Result<_, _>>()?);
            if let Some(key) = id.and_then(|id| record.get(id))
                && row_of.insert(key.to_owned(), rows.len() - 1).is_some()
            {
                return Err(FeatureError::DuplicateId { source, line, id: excerpt(key) });
            }
        }
        let names = chosen.iter().map(|&column| name(column)).collect();
        Ok(Self { source, names, rows, row_of: id.map(|_| row_of) })
    }

    /// The features.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values of documents with these ids, in their order; of a table without ids its rows, as many as documents.
    ///
    /// # Errors
    /// [`FeatureError::RowsWithoutIds`], [`FeatureError::NoRow`].
    pub fn for_documents<I: AsRef<str>>(
        &self,
        ids: impl IntoIterator<Item = I, IntoIter: ExactSizeIterator>,
    ) -> Result<FeatureValues, FeatureError> {
        let ids = ids.into_iter();
        let (documents, source) = (ids.len(), || self.source.clone());
        if self.row_of.is_none() && self.rows.len() != documents {
            return Err(FeatureError::RowsWithoutIds { source: source(), rows: self.rows.len(), documents });
        }
        let mut values = Vec::with_capacity(documents.saturating_mul(self.names.len()));
        for (place, id) in ids.enumerate() {
            let id = id.as_ref();
            let row = match &self.row_of {
                Some(row_of) => row_of.get(id).copied(),
                None => Some(place),
            };
            let row = row.and_then(|row| self.rows.get(row));
            values.extend(row.ok_or_else(|| FeatureError::NoRow { source: source(), id: id.to_owned() })?);
        }
        Ok(FeatureValues { names: self.names.clone(), values })
    }
}

/// Mean and standard deviation of each feature.
///
/// ```
/// use countgrid_estimators::{FeatureValues, Standardizer};
/// let values = FeatureValues { names: vec!["size".into()], values: vec![1.0, 3.0] };
/// let standardizer = Standardizer::fit(&values)?;
/// assert_eq!(standardizer.apply(&values)?.values, [-1.0, 1.0]);
/// # Ok::<(), countgrid_estimators::FeatureError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Standardizer {
    names: Vec<String>,
    means: Vec<f64>,      // at most 1e18 deviations
    deviations: Vec<f64>, // from 1e-30 to 1e30
}

impl Standardizer {
    /// From means and deviations that were computed before.
    ///
    /// # Errors
    /// [`FeatureError::Deviation`] for one that is not from 1e-30 to 1e30, [`FeatureError::Mean`] for a mean more than 1e18
    /// of them from zero; [`FeatureError::Rows`] unless there is one of each for each name.
    pub fn new(names: Vec<String>, means: Vec<f64>, deviations: Vec<f64>) -> Result<Self, FeatureError> {
        for found in [means.len(), deviations.len()] {
            if found != names.len() {
                return Err(FeatureError::Rows { rows: found, documents: names.len() });
            }
        }
        for ((name, &mean), &deviation) in names.iter().zip(&means).zip(&deviations) {
            // What is less, or more, is rounding, or leaves the range of single precision once it is divided by.
            if !((1e-30..=1e30).contains(&deviation)) {
                return Err(FeatureError::Deviation { name: name.clone(), deviation });
            }
            // In double precision numbers around such a mean would all be the same.
            if !(mean.abs() <= 1e18 * deviation) {
                return Err(FeatureError::Mean { name: name.clone(), mean, deviation });
            }
        }
        Ok(Self { names, means, deviations })
    }

    /// The means and deviations of values.
    ///
    /// # Errors
    /// [`FeatureError::Deviation`] for a constant feature.
    pub fn fit(features: &FeatureValues) -> Result<Self, FeatureError> {
        let FeatureValues { names, values } = features;
        let (columns, rows) = (names.len(), features.rows() as f64);
        let column = |c: usize| values.iter().skip(c).step_by(columns.max(1));
        let means: Vec<_> = (0..columns).map(|c| column(c).sum::<f64>() / rows).collect();
        let spread = |(c, mean): (usize, &f64)| {
            (column(c).map(|x| (x - mean) * (x - mean)).sum::<f64>() / rows).sqrt()
        };
        let deviations: Vec<_> = means.iter().enumerate().map(spread).collect();
        Self::new(names.clone(), means, deviations)
    }

    /// Values less their mean, in standard deviations.
    ///
    /// # Errors
    /// [`FeatureError::Names`] for other features.
    pub fn apply(&self, features: &FeatureValues) -> Result<FeatureValues, FeatureError> {
        if features.names != self.names {
            let (expected, found) = (self.names.clone(), features.names.clone());
            return Err(FeatureError::Names { expected, found });
        }
        let mut features = features.clone();
        for row in features.values.chunks_exact_mut(self.names.len().max(1)) {
            for ((x, mean), deviation) in row.iter_mut().zip(&self.means).zip(&self.deviations) {
                *x = (*x - mean) / deviation;
            }
        }
        Ok(features)
    }

    /// The features.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Their means.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Their standard deviations, finite and above 0.
    #[must_use]
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn standard_features_have_mean_0_and_variance_1() {
        let names = vec!["a".into(), "b".into()];
        let values = FeatureValues { names, values: vec![1.0, -2.0, 3.0, 4.0, 5.0, 10.0] };
        let values = Standardizer::fit(&values).unwrap().apply(&values).unwrap().values;
        for c in 0..2 {
            let own: Vec<f64> = values.iter().skip(c).step_by(2).copied().collect();
            // Sums of three numbers up to 2: rounding stays below 1e-14.
            assert!(own.iter().sum::<f64>().abs() < 1e-14);
            assert!((own.iter().map(|x| x * x).sum::<f64>() - 3.0).abs() < 1e-14);
        }
        let same = FeatureValues { names: vec!["same".into()], values: vec![2.0, 2.0] };
        assert!(matches!(Standardizer::fit(&same), Err(FeatureError::Deviation { deviation: 0.0, .. })));
    }

    fn table(text: &str, columns: &[&str], id: Option<&str>) -> Result<FeatureTable, FeatureError> {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        FeatureTable::from_reader(text.as_bytes(), "t", b',', &columns, id)
    }

    #[test]
    fn as_many_bytes_as_are_allowed_are_read() {
        let read = |bytes: usize| {
            let reader = io::repeat(b'x').take(bytes as u64);
            let allowed = Rc::new(Cell::new(10));
            let mut limited = Limited { reader, read: 0, allowed };
            // Four bytes at a time, so that 10 is not met on the way to 12.
            let mut buffer = [0; 4];
            let mut all = 0;
            loop {
                match limited.read(&mut buffer)? {
                    0 => return io::Result::Ok(all),
                    n => all += n,
                }
            }
        };
        assert_eq!(read(9).unwrap(), 9);
        assert_eq!(read(10).unwrap(), 10);
        for bytes in [11, 12, 100] {
            let refused = read(bytes).unwrap_err().to_string();
            assert!(refused.contains("a record of more than"), "{refused}");
        }
    }

    #[test]
    fn tables_that_do_not_go_with_the_documents_are_refused() {
        let refused = |text, columns: &[&str], id| table(text, columns, id).unwrap_err().to_string();
        let text = "id,a,b\nx,1,none\ny,2,some\n";
        assert_eq!(refused(text, &[], None), "t, line 2, column `b`: `none` is no number");
        assert_eq!(refused(text, &["c"], None), "t: no column `c`");
        assert_eq!(refused(text, &["a"], Some("key")), "t: no column `key`");
        assert_eq!(refused("id,a\nx,1\nx,2\n", &[], None), "t, line 3: the id `x` is there twice");
        assert_eq!(refused("id\nx\n", &[], None), "t: no column is a feature");
        let by_id = table(text, &["a"], None).unwrap();
        assert_eq!(by_id.for_documents(["y"]).unwrap().values, [2.0]);
        assert_eq!(by_id.for_documents(["z"]).unwrap_err().to_string(), "t: no row for the document `z`");
        let rows = table("a\n1\n2\n", &[], None).unwrap();
        assert_eq!(rows.for_documents(["p", "q"]).unwrap().values, [1.0, 2.0]);
        let refused = rows.for_documents(["p"]).unwrap_err().to_string();
        assert_eq!(refused, "t: 2 rows for 1 documents, and no column of ids");
    }
}
