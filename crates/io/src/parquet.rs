//! Parquet files, as tables: the columns that hold a value in a row, not those of lists and structures.
//!
//! The library parses the metadata and decodes values. What it takes from the file without a bound is checked before: the metadata by
//! `thrift`, which also reads the headers of pages, and the pages by `pages`, which decompresses them.

mod delta;
mod pages;
mod thrift;

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parquet::basic::{CompressionCodec, ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy,
};
use parquet::schema::types::ColumnDescriptor;

use crate::codec::Codec;
use crate::columnar::{Cells, Columnar, Unit, date, decimal, decimal_of, float, time, timestamp, write};
use crate::contained::contained;
use crate::error::Problem;
use crate::parquet::pages::{Pages, Refused};
use crate::parquet::thrift::{Wrong, check_metadata};
use crate::source::problem_of;

pub(crate) const KIND: &str = "Parquet";

/// What a Parquet file begins with, and ends with; one whose metadata is encrypted ends with the other.
const HEAD: &[u8] = b"PAR1";
const ENCRYPTED: &[u8] = b"PARE";

/// Rows decoded at once.
const BATCH: usize = 1024;

/// What metadata takes in memory is several times what it takes in the file: so many bytes of a record's limit are one of metadata.
const METADATA: usize = 4;

/// Julian day of 1970-01-01, from which old timestamps count.
const JULIAN: i64 = 2_440_588;

pub(crate) fn damaged(what: &dyn std::fmt::Display) -> Problem {
    Problem::Damaged { kind: KIND, what: what.to_string() }
}

/// What the values of a column are written as.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Text {
    Plain,
    Unsigned,
    Decimal(i8),
    Date,
    Time(Unit),
    Timestamp(Unit, bool),
    Half,
    Uuid,
}

impl Text {
    /// None for what has no text.
    fn of(column: &ColumnDescriptor) -> Option<Self> {
        let unit = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => Unit::Milli,
            TimeUnit::MICROS => Unit::Micro,
            TimeUnit::NANOS => Unit::Nano,
        };
        let scale = |scale: i32| i8::try_from(scale).ok().filter(|&scale| scale >= 0);
        let physical = column.physical_type();
        let found = match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Decimal(kind)), _) => Self::Decimal(scale(kind.scale)?),
            (Some(LogicalType::Date), _) => Self::Date,
            (Some(LogicalType::Time(kind)), _) => Self::Time(unit(&kind.unit)),
            (Some(LogicalType::Timestamp(kind)), _) => {
                Self::Timestamp(unit(&kind.unit), kind.is_adjusted_to_u_t_c)
            }
            (Some(LogicalType::Integer(kind)), _) if !kind.is_signed => Self::Unsigned,
            (Some(LogicalType::Uuid), _) => Self::Uuid,
            (Some(LogicalType::Float16), _) => Self::Half,
            (Some(_), _) => Self::Plain,
            (None, ConvertedType::DECIMAL) => Self::Decimal(scale(column.type_scale())?),
            (None, ConvertedType::DATE) => Self::Date,
            (None, ConvertedType::TIME_MILLIS) => Self::Time(Unit::Milli),
            (None, ConvertedType::TIME_MICROS) => Self::Time(Unit::Micro),
            (None, ConvertedType::TIMESTAMP_MILLIS) => Self::Timestamp(Unit::Milli, true),
            (None, ConvertedType::TIMESTAMP_MICROS) => Self::Timestamp(Unit::Micro, true),
            (
                None,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => Self::Unsigned,
            (None, ConvertedType::INTERVAL) => return None,
            (None, _) => Self::Plain,
        };
        let fits = match found {
            Self::Plain => physical != Type::FIXED_LEN_BYTE_ARRAY || column.type_length() > 0,
            Self::Unsigned => matches!(physical, Type::INT32 | Type::INT64),
            Self::Decimal(_) => match physical {
                Type::INT32 | Type::INT64 | Type::BYTE_ARRAY => true,
                Type::FIXED_LEN_BYTE_ARRAY => column.type_length() > 0,
                _ => false,
            },
            Self::Date => physical == Type::INT32,
            Self::Time(_) => matches!(physical, Type::INT32 | Type::INT64),
            Self::Timestamp(..) => physical == Type::INT64,
            Self::Half => physical == Type::FIXED_LEN_BYTE_ARRAY && column.type_length() == 2,
            Self::Uuid => physical == Type::FIXED_LEN_BYTE_ARRAY && column.type_length() == 16,
        };
        fits.then_some(found)
    }
}

/// Values of a run of rows, those that are there.
enum Values {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<Int96>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

struct Column {
    leaf: usize,
    text: Text,
    in_use: bool,
    reader: Option<ColumnReader>,
    /// Of each row of the run whether its value is there, where it may be missing.
    levels: Vec<i16>,
    is_optional: bool,
    values: Values,
    /// Of the next row.
    value: usize,
}

impl Column {
    fn new(leaf: usize, text: Text, column: &ColumnDescriptor) -> Self {
        let values = match column.physical_type() {
            Type::BOOLEAN => Values::Bool(Vec::new()),
            Type::INT32 => Values::Int32(Vec::new()),
            Type::INT64 => Values::Int64(Vec::new()),
            Type::INT96 => Values::Int96(Vec::new()),
            Type::FLOAT => Values::Float(Vec::new()),
            Type::DOUBLE => Values::Double(Vec::new()),
            Type::BYTE_ARRAY => Values::Bytes(Vec::new()),
            Type::FIXED_LEN_BYTE_ARRAY => Values::Fixed(Vec::new()),
        };
        let is_optional = column.max_def_level() > 0;
        Self { leaf, text, in_use: true, reader: None, levels: Vec::new(), is_optional, values, value: 0 }
    }

    /// Decodes the values of the next rows.
    fn decode(&mut self, rows: usize) -> Result<(), Problem> {
        self.levels.clear();
        self.value = 0;
        let levels = Some(&mut self.levels);
        macro_rules! decode {
            ($reader:expr, $values:expr) => {{
                $values.clear();
                $reader.read_records(rows, levels, None, $values)
            }};
        }
        let read = match (&mut self.reader, &mut self.values) {
            (Some(ColumnReader::BoolColumnReader(reader)), Values::Bool(values)) => decode!(reader, values),
            (Some(ColumnReader::Int32ColumnReader(reader)), Values::Int32(values)) => decode!(reader, values),
            (Some(ColumnReader::Int64ColumnReader(reader)), Values::Int64(values)) => decode!(reader, values),
            (Some(ColumnReader::Int96ColumnReader(reader)), Values::Int96(values)) => decode!(reader, values),
            (Some(ColumnReader::FloatColumnReader(reader)), Values::Float(values)) => decode!(reader, values),
            (Some(ColumnReader::DoubleColumnReader(reader)), Values::Double(values)) => {
                decode!(reader, values)
            }
            (Some(ColumnReader::ByteArrayColumnReader(reader)), Values::Bytes(values)) => {
                decode!(reader, values)
            }
            (Some(ColumnReader::FixedLenByteArrayColumnReader(reader)), Values::Fixed(values)) => {
                decode!(reader, values)
            }
            _ => return Err(damaged(&"a column is of another type than the schema says")),
        };
        let (found, ..) = read.map_err(problem)?;
        if found < rows || self.is_optional && self.levels.len() < rows {
            return Err(damaged(&"a column has fewer values than rows"));
        }
        Ok(())
    }

    /// Writes the text of a row of the run.
    fn put(&mut self, row: usize, cells: &mut Cells) -> Result<(), Problem> {
        if self.is_optional && self.levels.get(row).is_none_or(|&level| level == 0) {
            return Ok(());
        }
        let at = self.value;
        self.value += 1;
        let missing = || damaged(&"a column has fewer values than it says");
        match &self.values {
            Values::Bool(values) => {
                cells.text().push_str(if *values.get(at).ok_or_else(missing)? { "true" } else { "false" });
            }
            Values::Int32(values) => {
                let value = *values.get(at).ok_or_else(missing)?;
                match self.text {
                    Text::Unsigned => write(cells.text(), format_args!("{}", value as u32)),
                    _ => self.text.integer(i64::from(value), cells.text()),
                }
            }
            Values::Int64(values) => {
                let value = *values.get(at).ok_or_else(missing)?;
                match self.text {
                    Text::Unsigned => write(cells.text(), format_args!("{}", value as u64)),
                    _ => self.text.integer(value, cells.text()),
                }
            }
            Values::Int96(values) => {
                let [low, high, day] = values.get(at).ok_or_else(missing)?.data() else {
                    return Err(missing());
                };
                let nanoseconds = i64::from(*low) | i64::from(*high) << 32;
                let seconds = (i64::from(*day) - JULIAN) * 86_400;
                let text = cells.text();
                // A day of an old file may lie beyond what nanoseconds since 1970 count.
                match seconds.checked_mul(1_000_000_000).and_then(|day| day.checked_add(nanoseconds)) {
                    Some(value) => timestamp(text, value, Unit::Nano, false),
                    None => {
                        timestamp(text, seconds + nanoseconds.div_euclid(1_000_000_000), Unit::Second, false)
                    }
                }
            }
            Values::Float(values) => float(cells.text(), *values.get(at).ok_or_else(missing)?),
            Values::Double(values) => float(cells.text(), *values.get(at).ok_or_else(missing)?),
            Values::Bytes(values) => self.text.bytes(values.get(at).ok_or_else(missing)?.data(), cells)?,
            Values::Fixed(values) => self.text.bytes(values.get(at).ok_or_else(missing)?.data(), cells)?,
        }
        Ok(())
    }
}

impl Text {
    fn integer(self, value: i64, text: &mut String) {
        match self {
            Self::Decimal(scale) => decimal(text, i128::from(value), scale),
            Self::Date => date(text, value),
            Self::Time(unit) => time(text, value, unit),
            Self::Timestamp(unit, is_utc) => timestamp(text, value, unit, is_utc),
            _ => write(text, format_args!("{value}")),
        }
    }

    fn bytes(self, bytes: &[u8], cells: &mut Cells) -> Result<(), Problem> {
        match (self, bytes) {
            (Self::Decimal(scale), _) => {
                if !decimal_of(cells.text(), bytes, scale) {
                    return Err(damaged(&"a decimal number has more than 256 bits"));
                }
            }
            (Self::Half, &[low, high]) => float(cells.text(), half(u16::from_le_bytes([low, high]))),
            (Self::Uuid, _) => {
                for (place, byte) in bytes.iter().enumerate() {
                    let dash = if matches!(place, 4 | 6 | 8 | 10) { "-" } else { "" };
                    write(cells.text(), format_args!("{dash}{byte:02x}"));
                }
            }
            _ => cells.bytes(bytes)?,
        }
        Ok(())
    }
}

/// A number of 16 bits, IEEE 754, whose exponent has five.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (bits >> 10 & 31, f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction / 16_777_216.0,
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) / 33_554_432.0 * (1u32 << exponent) as f32,
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// What the library says.
fn problem(error: ParquetError) -> Problem {
    match error {
        ParquetError::External(error) => match error.downcast::<Refused>() {
            Ok(refused) => refused.0,
            Err(error) => damaged(&error),
        },
        error => damaged(&error),
    }
}

/// The rows of a Parquet file.
pub(crate) struct Reader<R> {
    source: R,
    length: u64,
    metadata: ParquetMetaData,
    names: Vec<String>,
    nested: Vec<String>,
    columns: Vec<Column>,
    /// The row group to be read next.
    group: usize,
    /// Rows of the present one that are not decoded.
    left: u64,
    /// Rows of the run, and the next of them.
    run: usize,
    row: usize,
    limit: usize,
    most: u64,
    used: Arc<AtomicU64>,
}

impl<R: Read + Seek + Clone + Send + 'static> Reader<R> {
    /// `limit` is that of a record, `most` that of the bytes of all pages.
    pub(crate) fn new(mut source: R, limit: usize, most: u64) -> Result<Self, Problem> {
        let length = source.seek(SeekFrom::End(0)).map_err(problem_of)?;
        let mut read = |at: u64, bytes: u64| -> Result<Vec<u8>, Problem> {
            let mut read = Vec::new();
            source.seek(SeekFrom::Start(at)).map_err(problem_of)?;
            source.by_ref().take(bytes).read_to_end(&mut read).map_err(problem_of)?;
            Ok(read)
        };
        let ends = || damaged(&"it does not begin and end as such a file does; perhaps it is cut");
        let tail = read(length.checked_sub(8).ok_or_else(ends)?, 8)?;
        if tail.ends_with(ENCRYPTED) {
            return Err(Problem::Unsupported { kind: "encrypted Parquet" });
        }
        let (Some(claimed), true, HEAD) = (tail.first_chunk(), tail.ends_with(HEAD), &read(0, 4)?[..]) else {
            return Err(ends());
        };
        let claimed = u64::from(u32::from_le_bytes(*claimed));
        let start =
            length.checked_sub(12 + claimed).ok_or_else(|| damaged(&"its metadata is longer than it"))? + 4;
        if claimed > (limit / METADATA) as u64 {
            return Err(damaged(&format_args!(
                "metadata of {claimed} bytes, more than {}",
                limit / METADATA
            )));
        }
        let bytes = read(start, claimed)?;
        check_metadata(&bytes).map_err(|wrong| match wrong {
            Wrong::Short => damaged(&"its metadata ends too early"),
            Wrong::Damaged(what) => damaged(&what),
        })?;
        let skip = ParquetStatisticsPolicy::SkipAll;
        let options = ParquetMetaDataOptions::new()
            .with_column_stats_policy(skip.clone())
            .with_size_stats_policy(skip.clone())
            .with_encoding_stats_policy(skip);
        let (metadata, names, nested, columns) = contained(KIND, || {
            let metadata = ParquetMetaDataReader::decode_metadata_with_options(&bytes, Some(&options));
            let metadata = metadata.map_err(problem)?;
            let schema = metadata.file_metadata().schema_descr();
            let (mut names, mut nested, mut columns) = (Vec::new(), Vec::<String>::new(), Vec::new());
            for (leaf, column) in schema.columns().iter().enumerate() {
                let name = schema.get_column_root(leaf).name();
                let is_flat = column.path().parts().len() == 1 && column.max_rep_level() == 0;
                match Text::of(column).filter(|_| is_flat) {
                    Some(text) => {
                        names.push(name.to_owned());
                        columns.push(Column::new(leaf, text, column));
                    }
                    None if nested.last().is_some_and(|last| last == name) => {}
                    None => nested.push(name.to_owned()),
                }
            }
            Ok((metadata, names, nested, columns))
        })?;
        let (group, left, run, row) = (0, 0, 0, 0);
        let used = Arc::default();
        Ok(Self {
            source,
            length,
            metadata,
            names,
            nested,
            columns,
            group,
            left,
            run,
            row,
            limit,
            most,
            used,
        })
    }

    /// Goes on to the next row group that has rows; false if there is none.
    fn next_group(&mut self) -> Result<bool, Problem> {
        while let Some(group) = self.metadata.row_groups().get(self.group) {
            self.group += 1;
            let rows = u64::try_from(group.num_rows()).map_err(|_| damaged(&"a row group claims no rows"))?;
            if rows == 0 {
                continue;
            }
            self.left = rows;
            for column in &mut self.columns {
                if !column.in_use {
                    column.reader = None;
                    continue;
                }
                let Some(chunk) = group.columns().get(column.leaf) else {
                    return Err(damaged(&"a row group lacks a column"));
                };
                let (at, end) = range(chunk, self.length)?;
                let pages = Pages {
                    source: self.source.clone(),
                    at,
                    end,
                    codec: codec(chunk)?,
                    limit: self.limit,
                    used: Arc::clone(&self.used),
                    most: self.most,
                    values: rows,
                    has_dictionary: false,
                    is_optional: column.is_optional,
                    physical: chunk.column_type(),
                    width: usize::try_from(chunk.column_descr().type_length()).unwrap_or(0),
                };
                column.reader = Some(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)));
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// Where the pages of a column lie.
fn range(chunk: &ColumnChunkMetaData, length: u64) -> Result<(u64, u64), Problem> {
    let (data, dictionary) = (chunk.data_page_offset(), chunk.dictionary_page_offset());
    // Old writers put 0 where there is no dictionary.
    let start = dictionary.filter(|&start| start > 0).map_or(data, |start| start.min(data));
    let (at, bytes) = (u64::try_from(start).ok(), u64::try_from(chunk.compressed_size()).ok());
    let inside = at.zip(bytes).and_then(|(at, bytes)| Some((at, at.checked_add(bytes)?)));
    let inside = inside.filter(|&(at, end)| at >= 4 && end <= length);
    inside.ok_or_else(|| damaged(&"a column lies beyond its end"))
}

fn codec(chunk: &ColumnChunkMetaData) -> Result<Codec, Problem> {
    if chunk.file_path().is_some_and(|path| !path.is_empty()) {
        return Err(Problem::Unsupported { kind: "Parquet whose columns lie in other files" });
    }
    match chunk.compression_codec() {
        CompressionCodec::UNCOMPRESSED => Ok(Codec::None),
        CompressionCodec::SNAPPY => Ok(Codec::Snappy),
        CompressionCodec::GZIP => Ok(Codec::Gzip),
        CompressionCodec::ZSTD => Ok(Codec::Zstd),
        CompressionCodec::LZ4_RAW => Ok(Codec::Lz4Block),
        CompressionCodec::BROTLI => Err(Problem::Unsupported { kind: "Parquet compressed by Brotli" }),
        CompressionCodec::LZO => Err(Problem::Unsupported { kind: "Parquet compressed by LZO" }),
        CompressionCodec::LZ4 => {
            Err(Problem::Unsupported { kind: "Parquet compressed by LZ4 in the frames of Hadoop" })
        }
    }
}

impl<R: Read + Seek + Clone + Send + 'static> Columnar for Reader<R> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn nested(&self) -> &[String] {
        &self.nested
    }

    fn next_row(&mut self, cells: &mut Cells) -> Result<bool, Problem> {
        if self.row == self.run {
            if self.left == 0 && !self.next_group()? {
                return Ok(false);
            }
            let rows = usize::try_from(self.left).unwrap_or(BATCH).min(BATCH);
            let columns = &mut self.columns;
            contained(KIND, || {
                columns.iter_mut().filter(|column| column.in_use).try_for_each(|column| column.decode(rows))
            })?;
            (self.run, self.row) = (rows, 0);
            self.left -= rows as u64;
        }
        for column in &mut self.columns {
            if column.in_use {
                column.put(self.row, cells)?;
            }
            cells.end()?;
        }
        self.row += 1;
        Ok(true)
    }

    fn only(&mut self, columns: &[usize]) {
        for (place, column) in self.columns.iter_mut().enumerate() {
            column.in_use = columns.contains(&place);
            if !column.in_use {
                column.reader = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn numbers_of_16_bits() {
        for (bits, expected) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65_504.0),
            (0x0400, 6.103_515_6e-5),
            (0x0001, 5.960_464_5e-8),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(half(bits), expected, "{bits:x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
