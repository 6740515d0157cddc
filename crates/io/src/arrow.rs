//! Arrow files (IPC, which is Feather of version 2 as well) and streams, as tables: the columns that hold a value in a row, not those of
//! lists and structures.
//!
//! A stream is read message by message; of a file the footer says where the messages are. The library makes arrays of them; before,
//! the numbers in them are held against the bytes that are there, and buffers that are compressed are decompressed within the limits.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type,
    Decimal128Type, Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{CompressionType, Message, MessageHeader};
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};
use flatbuffers::FlatBufferBuilder;

use crate::codec::{Codec, decompress, room};
use crate::columnar::{Cells, Columnar, Unit, date, decimal, decimal_of, float, time, timestamp, write};
use crate::contained::contained;
use crate::error::Problem;
use crate::source::problem_of;

const KIND: &str = "Arrow";

/// What an Arrow file begins and ends with; a stream begins with its first message.
const HEAD: &[u8] = b"ARROW1";

/// Bytes that a message begins with: four that are all ones, and the length of its metadata.
const MARK: usize = 8;

/// Bytes to which buffers are aligned.
const ALIGNED: usize = 64;

fn damaged(what: &dyn std::fmt::Display) -> Problem {
    Problem::Damaged { kind: KIND, what: what.to_string() }
}

fn problem(error: ArrowError) -> Problem {
    damaged(&error)
}

/// The rows of an Arrow file or stream.
pub(crate) struct Reader<R> {
    source: R,
    /// Where the messages of a file are; of a stream one follows the other.
    places: Option<std::vec::IntoIter<u64>>,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    names: Vec<String>,
    nested: Vec<String>,
    /// The field of each column that is read, and the dictionaries that it has.
    fields: Vec<usize>,
    ids: Vec<Vec<i64>>,
    in_use: Vec<bool>,
    /// The array of each column.
    arrays: Vec<Option<ArrayRef>>,
    rows: usize,
    row: usize,
    limit: usize,
    left: u64, // bytes that parts may become
    most: u64,
}

/// A message with its body.
struct Part {
    metadata: Vec<u8>,
    body: Vec<u8>,
}

impl Part {
    fn message(&self) -> Result<Message<'_>, Problem> {
        arrow_ipc::root_as_message(&self.metadata).map_err(|error| damaged(&error))
    }
}

impl<R: Read + Seek> Reader<R> {
    /// `limit` is that of a record, `most` that of all that is decompressed.
    pub(crate) fn new(source: R, limit: usize, most: u64) -> Result<Self, Problem> {
        let mut reader = Self {
            source,
            places: None,
            schema: Arc::new(arrow_schema::Schema::empty()),
            dictionaries: HashMap::new(),
            names: Vec::new(),
            nested: Vec::new(),
            fields: Vec::new(),
            ids: Vec::new(),
            in_use: Vec::new(),
            arrays: Vec::new(),
            rows: 0,
            row: 0,
            limit,
            left: most,
            most,
        };
        let head = reader.bytes(MARK as u64)?;
        if head.starts_with(HEAD) {
            reader.take_footer()?;
            return Ok(reader);
        }
        let Some(part) = reader.part(head)? else { return Err(damaged(&"it has no schema")) };
        let schema = part.message()?.header_as_schema();
        reader.take_schema(schema.ok_or_else(|| damaged(&"it does not begin with its schema"))?)?;
        Ok(reader)
    }

    /// Takes the schema of a file, and where its messages are: those of dictionaries, then those of rows.
    fn take_footer(&mut self) -> Result<(), Problem> {
        let length = self.source.seek(SeekFrom::End(0)).map_err(problem_of)?;
        let cut = || damaged(&"it does not end as such a file does; perhaps it is cut");
        // The footer, its length, the mark.
        let end = length.checked_sub(4 + HEAD.len() as u64).ok_or_else(cut)?;
        self.source.seek(SeekFrom::Start(end)).map_err(problem_of)?;
        let tail = self.bytes(length - end)?;
        let claimed = tail.first_chunk().filter(|_| tail.ends_with(HEAD)).ok_or_else(cut)?;
        let claimed = u64::try_from(i32::from_le_bytes(*claimed)).ok().filter(|&claimed| claimed <= end);
        let claimed = claimed.ok_or_else(|| damaged(&"its footer is longer than it"))?;
        if claimed > self.limit as u64 {
            return Err(damaged(&"its footer is longer than the limit for a record"));
        }
        self.source.seek(SeekFrom::Start(end - claimed)).map_err(problem_of)?;
        let bytes = self.bytes(claimed)?;
        let footer = arrow_ipc::root_as_footer(&bytes).map_err(|error| damaged(&error))?;
        self.take_schema(footer.schema().ok_or_else(|| damaged(&"it has no schema"))?)?;
        let blocks = [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten();
        let (mut places, mut bytes) = (Vec::new(), 0u64);
        for block in blocks {
            let place = u64::try_from(block.offset()).ok().filter(|&place| place < end);
            places.push(place.ok_or_else(|| damaged(&"a message lies beyond its end"))?);
            let own = [i64::from(block.metaDataLength()), block.bodyLength()];
            bytes = own
                .iter()
                .fold(bytes, |bytes, &own| bytes.saturating_add(u64::try_from(own).unwrap_or(u64::MAX)));
        }
        // Each of them once, so that a short file does not become a long one.
        if bytes > length {
            return Err(damaged(&"its messages are longer than it"));
        }
        self.places = Some(places.into_iter());
        Ok(())
    }

    /// So many bytes, or those that are there.
    fn bytes(&mut self, bytes: u64) -> Result<Vec<u8>, Problem> {
        let mut read = Vec::new();
        self.source.by_ref().take(bytes).read_to_end(&mut read).map_err(problem_of)?;
        Ok(read)
    }

    /// The next message; none at the end.
    fn next_part(&mut self) -> Result<Option<Part>, Problem> {
        if let Some(places) = &mut self.places {
            let Some(place) = places.next() else { return Ok(None) };
            self.source.seek(SeekFrom::Start(place)).map_err(problem_of)?;
        }
        let head = self.bytes(MARK as u64)?;
        // A stream may end with its last message.
        if head.is_empty() && self.places.is_none() { Ok(None) } else { self.part(head) }
    }

    /// The message that begins with these eight bytes; none if they say that a stream ends.
    fn part(&mut self, head: Vec<u8>) -> Result<Option<Part>, Problem> {
        let cut = || damaged(&"it ends too early");
        let head: [u8; MARK] = head.try_into().map_err(|_| cut())?;
        let [0xff, 0xff, 0xff, 0xff, length @ ..] = head else {
            return Err(damaged(
                &"no message begins where one should; those of Arrow before version 0.15 are not read",
            ));
        };
        let length = i32::from_le_bytes(length);
        if length == 0 {
            return Ok(None);
        }
        let length = usize::try_from(length).ok().filter(|&length| length <= self.limit);
        let length = length
            .ok_or_else(|| damaged(&"the metadata of a message is longer than the limit for a record"))?;
        let metadata = self.bytes(length as u64)?;
        if metadata.len() < length {
            return Err(cut());
        }
        let mut part = Part { metadata, body: Vec::new() };
        let message = part.message()?;
        let length =
            u64::try_from(message.bodyLength()).map_err(|_| damaged(&"a message claims no length"))?;
        let is_needed = match message.header_as_dictionary_batch() {
            Some(dictionary) => self.needs(dictionary.id()),
            None => true,
        };
        if is_needed {
            part.body = self.bytes(length)?;
            if (part.body.len() as u64) < length {
                return Err(cut());
            }
        } else {
            let passed = io::copy(&mut self.source.by_ref().take(length), &mut io::sink());
            if passed.map_err(problem_of)? < length {
                return Err(cut());
            }
        }
        Ok(Some(part))
    }

    /// Whether a column that is read has this dictionary.
    fn needs(&self, id: i64) -> bool {
        self.ids.iter().zip(&self.in_use).any(|(ids, in_use)| *in_use && ids.contains(&id))
    }

    fn take_schema(&mut self, found: arrow_ipc::Schema<'_>) -> Result<(), Problem> {
        self.schema = Arc::new(contained(KIND, || try_fb_to_schema(found).map_err(problem))?);
        for (place, field) in self.schema.fields().iter().enumerate() {
            if !has_text(field.data_type()) {
                self.nested.push(field.name().clone());
                continue;
            }
            let dictionary = found.fields().and_then(|fields| fields.get(place).dictionary());
            self.ids.push(dictionary.map(|dictionary| dictionary.id()).into_iter().collect());
            self.names.push(field.name().clone());
            self.fields.push(place);
        }
        self.in_use = vec![true; self.fields.len()];
        self.arrays = vec![None; self.fields.len()];
        Ok(())
    }

    /// Takes parts up to the next one of rows; false at the end.
    fn next_rows(&mut self) -> Result<bool, Problem> {
        loop {
            let Some(mut part) = self.next_part()? else { return Ok(false) };
            let body = std::mem::take(&mut part.body);
            let message = part.message()?;
            match message.header_type() {
                MessageHeader::DictionaryBatch => {
                    let batch = message.header_as_dictionary_batch();
                    let batch = batch.ok_or_else(|| damaged(&"a dictionary without its metadata"))?;
                    if !self.needs(batch.id()) {
                        continue;
                    }
                    let data = batch.data().ok_or_else(|| damaged(&"a dictionary without values"))?;
                    let (again, body) = self.unpacked(data, body)?;
                    let (dictionaries, schema) = (&mut self.dictionaries, &self.schema);
                    // Its metadata once more, with the numbers of the bytes that it became.
                    let mut builder = FlatBufferBuilder::new();
                    let data = copied(&mut builder, data, again.as_deref());
                    let mut written = arrow_ipc::DictionaryBatchBuilder::new(&mut builder);
                    written.add_id(batch.id());
                    written.add_data(data);
                    written.add_isDelta(batch.isDelta());
                    let written = written.finish();
                    builder.finish(written, None);
                    let written = flatbuffers::root::<arrow_ipc::DictionaryBatch>(builder.finished_data());
                    let written = written.map_err(|error| damaged(&error))?;
                    contained(KIND, || {
                        let body = Buffer::from_vec(body);
                        read_dictionary(&body, written, schema, dictionaries, &message.version())
                            .map_err(problem)
                    })?;
                }
                MessageHeader::RecordBatch => {
                    let batch = message.header_as_record_batch();
                    let batch = batch.ok_or_else(|| damaged(&"rows without their metadata"))?;
                    let (again, body) = self.unpacked(batch, body)?;
                    let mut builder = FlatBufferBuilder::new();
                    let written = copied(&mut builder, batch, again.as_deref());
                    builder.finish(written, None);
                    let written = flatbuffers::root::<arrow_ipc::RecordBatch>(builder.finished_data());
                    let written = written.map_err(|error| damaged(&error))?;
                    let mut wanted: Vec<usize> = self.fields.clone();
                    let mut in_use = self.in_use.iter();
                    wanted.retain(|_| in_use.next() == Some(&true));
                    let (dictionaries, schema) = (&self.dictionaries, Arc::clone(&self.schema));
                    let read: RecordBatch = contained(KIND, || {
                        let body = Buffer::from_vec(body);
                        let version = message.version();
                        read_record_batch(&body, written, schema, dictionaries, Some(&wanted), &version)
                            .map_err(problem)
                    })?;
                    let mut columns = read.columns().iter();
                    for (array, in_use) in self.arrays.iter_mut().zip(&self.in_use) {
                        *array = if *in_use { columns.next().cloned() } else { None };
                    }
                    (self.rows, self.row) = (read.num_rows(), 0);
                    if self.rows > 0 {
                        return Ok(true);
                    }
                }
                MessageHeader::Schema => return Err(damaged(&"a second schema")),
                _ => return Err(Problem::Unsupported { kind: "Arrow with tensors" }),
            }
        }
    }

    /// The bytes of buffers, decompressed, and where each of them is then; none if they are not compressed. All numbers of
    /// the metadata are within the bytes.
    fn unpacked(
        &mut self,
        batch: arrow_ipc::RecordBatch<'_>,
        body: Vec<u8>,
    ) -> Result<(Option<Vec<arrow_ipc::Buffer>>, Vec<u8>), Problem> {
        let buffers = || batch.buffers().into_iter().flatten();
        for buffer in buffers() {
            let (offset, length) = (u64::try_from(buffer.offset()).ok(), u64::try_from(buffer.length()).ok());
            let end = offset.zip(length).and_then(|(offset, length)| offset.checked_add(length));
            if end.is_none_or(|end| end > body.len() as u64) {
                return Err(damaged(&"a buffer lies beyond its message"));
            }
        }
        let (again, body) = match batch.compression() {
            None => (None, body),
            Some(compression) => {
                let codec = match compression.codec() {
                    CompressionType::LZ4_FRAME => Codec::Lz4Frame,
                    CompressionType::ZSTD => Codec::Zstd,
                    _ => {
                        return Err(Problem::Unsupported {
                            kind: "Arrow that is compressed in an unknown way",
                        });
                    }
                };
                let mut left = room(body.len(), self.limit);
                let (mut again, mut out) = (Vec::new(), Vec::new());
                for buffer in buffers() {
                    let start = buffer.offset() as usize;
                    let bytes = &body[start..start + buffer.length() as usize];
                    let place = out.len();
                    if !bytes.is_empty() {
                        let (length, bytes) = bytes
                            .split_first_chunk()
                            .ok_or_else(|| damaged(&"a compressed buffer has no length"))?;
                        let length = i64::from_le_bytes(*length);
                        // A buffer that would not become shorter is as it was.
                        let claimed =
                            if length == -1 { Some(bytes.len()) } else { usize::try_from(length).ok() };
                        let rest = claimed.and_then(|length| left.checked_sub(length));
                        left = rest.ok_or_else(|| damaged(&"a message becomes far longer than it is"))?;
                        self.left = self
                            .left
                            .checked_sub(claimed.unwrap_or(0) as u64)
                            .ok_or(Problem::TooMuch { limit: self.most })?;
                        match claimed {
                            Some(_) if length == -1 => out.extend_from_slice(bytes),
                            Some(length) => out.extend(decompress(codec, bytes, length, KIND)?),
                            None => {}
                        }
                    }
                    again.push(arrow_ipc::Buffer::new(place as i64, (out.len() - place) as i64));
                    out.resize(out.len().next_multiple_of(ALIGNED), 0);
                }
                (Some(again), out)
            }
        };
        // A value takes a bit at least.
        let most = (body.len() as u64).saturating_mul(8);
        let lengths = batch.nodes().into_iter().flatten().flat_map(|node| [node.length(), node.null_count()]);
        let fits = |number: i64| u64::try_from(number).is_ok_and(|number| number <= most);
        if !fits(batch.length()) || !lengths.into_iter().all(fits) {
            return Err(damaged(&"a message claims more rows than it has bits"));
        }
        Ok((again, body))
    }
}

/// The metadata of rows once more, uncompressed, with the buffers where they are now.
fn copied<'a>(
    builder: &mut FlatBufferBuilder<'a>,
    batch: arrow_ipc::RecordBatch<'_>,
    buffers: Option<&[arrow_ipc::Buffer]>,
) -> flatbuffers::WIPOffset<arrow_ipc::RecordBatch<'a>> {
    let nodes: Vec<arrow_ipc::FieldNode> = batch.nodes().into_iter().flatten().copied().collect();
    let own: Vec<arrow_ipc::Buffer> = match buffers {
        Some(buffers) => buffers.to_vec(),
        None => batch.buffers().into_iter().flatten().copied().collect(),
    };
    let variadic: Option<Vec<i64>> = batch.variadicBufferCounts().map(|counts| counts.iter().collect());
    let (nodes, own) = (builder.create_vector(&nodes), builder.create_vector(&own));
    let variadic = variadic.map(|counts| builder.create_vector(&counts));
    let mut written = arrow_ipc::RecordBatchBuilder::new(builder);
    written.add_length(batch.length());
    written.add_nodes(nodes);
    written.add_buffers(own);
    if let Some(variadic) = variadic {
        written.add_variadicBufferCounts(variadic);
    }
    written.finish()
}

impl<R: Read + Seek> Columnar for Reader<R> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn nested(&self) -> &[String] {
        &self.nested
    }

    fn next_row(&mut self, cells: &mut Cells) -> Result<bool, Problem> {
        if self.row == self.rows && !self.next_rows()? {
            return Ok(false);
        }
        for array in &self.arrays {
            if let Some(array) = array {
                put(array.as_ref(), self.row, cells)?;
            }
            cells.end()?;
        }
        self.row += 1;
        Ok(true)
    }

    fn only(&mut self, columns: &[usize]) {
        for (place, in_use) in self.in_use.iter_mut().enumerate() {
            *in_use = columns.contains(&place);
            if !*in_use {
                self.arrays[place] = None;
            }
        }
    }
}

/// Whether values of a type are written as text.
fn has_text(kind: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Boolean, Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256,
        Dictionary, Duration, FixedSizeBinary, Float16, Float32, Float64, Int8, Int16, Int32, Int64,
        LargeBinary, LargeUtf8, Null, Time32, Time64, Timestamp, UInt8, UInt16, UInt32, UInt64, Utf8,
        Utf8View,
    };
    match kind {
        Null | Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => true,
        Float16 | Float32 | Float64 | Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => true,
        Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) | Duration(_) => true,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => true,
        Dictionary(_, values) => !matches!(**values, Dictionary(..)) && has_text(values),
        _ => false,
    }
}

/// Writes the text of a value; nothing where it is missing.
fn put(array: &dyn Array, row: usize, cells: &mut Cells) -> Result<(), Problem> {
    if row >= array.len() {
        return Err(damaged(&"a column has fewer values than rows"));
    }
    if array.is_null(row) {
        return Ok(());
    }
    macro_rules! integer {
        ($($kind:ident),*) => {
            match array.data_type() {
                $(DataType::$kind => {
                    let value = of::<paste!($kind)>(array, row);
                    write(cells.text(), format_args!("{value}"));
                    return Ok(());
                })*
                _ => {}
            }
        };
    }
    macro_rules! paste {
        (Int8) => {
            Int8Type
        };
        (Int16) => {
            Int16Type
        };
        (Int32) => {
            Int32Type
        };
        (Int64) => {
            Int64Type
        };
        (UInt8) => {
            UInt8Type
        };
        (UInt16) => {
            UInt16Type
        };
        (UInt32) => {
            UInt32Type
        };
        (UInt64) => {
            UInt64Type
        };
    }
    integer!(Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64);
    match array.data_type() {
        DataType::Boolean => {
            cells.text().push_str(if array.as_boolean().value(row) { "true" } else { "false" })
        }
        DataType::Float16 => float(cells.text(), of::<Float16Type>(array, row).to_f32()),
        DataType::Float32 => float(cells.text(), of::<Float32Type>(array, row)),
        DataType::Float64 => float(cells.text(), of::<Float64Type>(array, row)),
        DataType::Decimal32(_, scale) => {
            decimal(cells.text(), of::<Decimal32Type>(array, row).into(), *scale)
        }
        DataType::Decimal64(_, scale) => {
            decimal(cells.text(), of::<Decimal64Type>(array, row).into(), *scale)
        }
        DataType::Decimal128(_, scale) => decimal(cells.text(), of::<Decimal128Type>(array, row), *scale),
        DataType::Decimal256(_, scale) => {
            // Of 256 bits, which it takes.
            _ = decimal_of(cells.text(), &of::<Decimal256Type>(array, row).to_be_bytes(), *scale);
        }
        DataType::Date32 => date(cells.text(), of::<Date32Type>(array, row).into()),
        DataType::Date64 => timestamp(cells.text(), of::<Date64Type>(array, row), Unit::Milli, false),
        DataType::Time32(TimeUnit::Second) => {
            time(cells.text(), of::<Time32SecondType>(array, row).into(), Unit::Second)
        }
        DataType::Time32(_) => {
            time(cells.text(), of::<Time32MillisecondType>(array, row).into(), Unit::Milli)
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            time(cells.text(), of::<Time64MicrosecondType>(array, row), Unit::Micro)
        }
        DataType::Time64(_) => time(cells.text(), of::<Time64NanosecondType>(array, row), Unit::Nano),
        DataType::Timestamp(unit, zone) => {
            let (value, unit) = match unit {
                TimeUnit::Second => (of::<TimestampSecondType>(array, row), Unit::Second),
                TimeUnit::Millisecond => (of::<TimestampMillisecondType>(array, row), Unit::Milli),
                TimeUnit::Microsecond => (of::<TimestampMicrosecondType>(array, row), Unit::Micro),
                TimeUnit::Nanosecond => (of::<TimestampNanosecondType>(array, row), Unit::Nano),
            };
            timestamp(cells.text(), value, unit, zone.is_some());
        }
        DataType::Duration(unit) => {
            let value = match unit {
                TimeUnit::Second => of::<DurationSecondType>(array, row),
                TimeUnit::Millisecond => of::<DurationMillisecondType>(array, row),
                TimeUnit::Microsecond => of::<DurationMicrosecondType>(array, row),
                TimeUnit::Nanosecond => of::<DurationNanosecondType>(array, row),
            };
            write(cells.text(), format_args!("{value}"));
        }
        DataType::Utf8 => cells.bytes(array.as_string::<i32>().value(row).as_bytes())?,
        DataType::LargeUtf8 => cells.bytes(array.as_string::<i64>().value(row).as_bytes())?,
        DataType::Utf8View => cells.bytes(array.as_string_view().value(row).as_bytes())?,
        DataType::Binary => cells.bytes(array.as_binary::<i32>().value(row))?,
        DataType::LargeBinary => cells.bytes(array.as_binary::<i64>().value(row))?,
        DataType::BinaryView => cells.bytes(array.as_binary_view().value(row))?,
        DataType::FixedSizeBinary(_) => cells.bytes(array.as_fixed_size_binary().value(row))?,
        DataType::Dictionary(key, _) => match **key {
            DataType::Int8 => of_dictionary::<Int8Type>(array, row, cells)?,
            DataType::Int16 => of_dictionary::<Int16Type>(array, row, cells)?,
            DataType::Int32 => of_dictionary::<Int32Type>(array, row, cells)?,
            DataType::Int64 => of_dictionary::<Int64Type>(array, row, cells)?,
            DataType::UInt8 => of_dictionary::<UInt8Type>(array, row, cells)?,
            DataType::UInt16 => of_dictionary::<UInt16Type>(array, row, cells)?,
            DataType::UInt32 => of_dictionary::<UInt32Type>(array, row, cells)?,
            DataType::UInt64 => of_dictionary::<UInt64Type>(array, row, cells)?,
            _ => {}
        },
        _ => {}
    }
    Ok(())
}

fn of<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn of_dictionary<T: ArrowDictionaryKeyType>(
    array: &dyn Array,
    row: usize,
    cells: &mut Cells,
) -> Result<(), Problem> {
    let array = array.as_dictionary::<T>();
    match array.key(row) {
        Some(key) => put(array.values().as_ref(), key, cells),
        None => Ok(()),
    }
}
