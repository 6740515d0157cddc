//! Arrow files and streams: values of every type, what a dictionary or a buffer may be, and every claim that is held against the bytes.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Float16Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, Date32Array, Date64Array, Decimal32Array, Decimal64Array,
    Decimal128Array, DictionaryArray, DurationMicrosecondArray, DurationMillisecondArray,
    DurationNanosecondArray, DurationSecondArray, FixedSizeBinaryArray, Float16Array, Int8Array, Int16Array,
    Int32Array, Int64Array, LargeBinaryArray, NullArray, RecordBatch, StringArray, Time32MillisecondArray,
    Time32SecondArray, Time64MicrosecondArray, Time64NanosecondArray, TimestampMillisecondArray,
    TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_ipc::{
    BodyCompressionBuilder, BodyCompressionMethod, CompressionType, FieldNode, MessageBuilder, MessageHeader,
    MetadataVersion, RecordBatchBuilder,
};
use flatbuffers::FlatBufferBuilder;

use crate::common::{documents, folder, refusal, with_columns};
use countgrid_io::{Limits, ReadOptions};

/// What ends a stream.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn texts(texts: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

/// A stream with its end.
fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

fn file(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

fn texts_of(bytes: &[u8]) -> Vec<String> {
    let folder = folder(&[("a", bytes)]);
    let (found, _) = documents(&folder.path().join("a"));
    found.into_iter().map(|document| document.text).collect()
}

fn says_within(bytes: &[u8], limits: Limits) -> String {
    refusal(folder(&[("a", bytes)]).path(), "a", &ReadOptions { limits, ..ReadOptions::default() })
}

fn says(bytes: &[u8]) -> String {
    says_within(bytes, Limits::default())
}

fn keys<T: ArrowDictionaryKeyType>() -> ArrayRef {
    Arc::new(["red", "blue"].into_iter().collect::<DictionaryArray<T>>())
}

/// Two rows of each type, by the name of its column, and their cells.
fn values() -> Vec<(&'static str, ArrayRef, [&'static str; 2])> {
    let half = <Float16Type as ArrowPrimitiveType>::Native::from_f32;
    let bytes: Vec<&[u8]> = vec![b"ab", b"\xff\xfe"];
    let fixed = FixedSizeBinaryArray::try_from_iter([*b"ab", *b"\xff\xfe"].into_iter()).unwrap();
    let dictionary = ["red", "blue"];
    vec![
        ("null", Arc::new(NullArray::new(2)), ["", ""]),
        ("i8", Arc::new(Int8Array::from(vec![-128, 127])), ["-128", "127"]),
        ("i16", Arc::new(Int16Array::from(vec![-300, 300])), ["-300", "300"]),
        ("i32", Arc::new(Int32Array::from(vec![-70_000, 70_000])), ["-70000", "70000"]),
        ("i64", Arc::new(Int64Array::from(vec![-5_000_000_000, 1])), ["-5000000000", "1"]),
        ("u8", Arc::new(UInt8Array::from(vec![0, 255])), ["0", "255"]),
        ("u16", Arc::new(UInt16Array::from(vec![0, 65_535])), ["0", "65535"]),
        ("u32", Arc::new(UInt32Array::from(vec![0, u32::MAX])), ["0", "4294967295"]),
        ("u64", Arc::new(UInt64Array::from(vec![0, u64::MAX])), ["0", "18446744073709551615"]),
        ("f16", Arc::new(Float16Array::from(vec![half(1.5), half(-0.25)])), ["1.5", "-0.25"]),
        (
            "d32",
            Arc::new(Decimal32Array::from(vec![-5, 1250]).with_precision_and_scale(9, 2).unwrap()),
            ["-0.05", "12.50"],
        ),
        (
            "d64",
            Arc::new(Decimal64Array::from(vec![-5, 1250]).with_precision_and_scale(18, 3).unwrap()),
            ["-0.005", "1.250"],
        ),
        (
            "d128",
            Arc::new(Decimal128Array::from(vec![-5, 1250]).with_precision_and_scale(38, 1).unwrap()),
            ["-0.5", "125.0"],
        ),
        ("date32", Arc::new(Date32Array::from(vec![0, -1])), ["1970-01-01", "1969-12-31"]),
        ("date64", Arc::new(Date64Array::from(vec![0, 86_400_000])), ["1970-01-01", "1970-01-02"]),
        ("seconds", Arc::new(Time32SecondArray::from(vec![1, 3723])), ["00:00:01", "01:02:03"]),
        (
            "milliseconds",
            Arc::new(Time32MillisecondArray::from(vec![1, 3_723_500])),
            ["00:00:00.001", "01:02:03.5"],
        ),
        (
            "microseconds",
            Arc::new(Time64MicrosecondArray::from(vec![1, 1_000_000])),
            ["00:00:00.000001", "00:00:01"],
        ),
        (
            "nanoseconds",
            Arc::new(Time64NanosecondArray::from(vec![1, 1_000_000_000])),
            ["00:00:00.000000001", "00:00:01"],
        ),
        (
            "at second",
            Arc::new(TimestampSecondArray::from(vec![1, 86_400])),
            ["1970-01-01T00:00:01", "1970-01-02"],
        ),
        (
            "at millisecond",
            Arc::new(TimestampMillisecondArray::from(vec![1, 1000]).with_timezone("UTC")),
            ["1970-01-01T00:00:00.001Z", "1970-01-01T00:00:01Z"],
        ),
        ("for s", Arc::new(DurationSecondArray::from(vec![-1, 2])), ["-1", "2"]),
        ("for ms", Arc::new(DurationMillisecondArray::from(vec![-3, 4])), ["-3", "4"]),
        ("for us", Arc::new(DurationMicrosecondArray::from(vec![-5, 6])), ["-5", "6"]),
        ("for ns", Arc::new(DurationNanosecondArray::from(vec![-7, 8])), ["-7", "8"]),
        // Bytes are text where they are UTF-8.
        ("binary", Arc::new(BinaryArray::from(bytes.clone())), ["ab", ""]),
        ("large binary", Arc::new(LargeBinaryArray::from(bytes.clone())), ["ab", ""]),
        ("binary view", Arc::new(BinaryViewArray::from(bytes)), ["ab", ""]),
        ("fixed binary", Arc::new(fixed), ["ab", ""]),
        ("by i8", keys::<Int8Type>(), dictionary),
        ("by i16", keys::<Int16Type>(), dictionary),
        ("by i32", keys::<Int32Type>(), dictionary),
        ("by i64", keys::<Int64Type>(), dictionary),
        ("by u8", keys::<UInt8Type>(), dictionary),
        ("by u16", keys::<UInt16Type>(), dictionary),
        ("by u32", keys::<UInt32Type>(), dictionary),
        ("by u64", keys::<UInt64Type>(), dictionary),
    ]
}

#[test]
fn values_of_every_type_are_text() {
    let values = values();
    let mut columns = vec![("text", texts(&["Red ants walk.", "Black ants run."]))];
    columns.extend(values.iter().map(|(name, array, _)| (*name, Arc::clone(array))));
    let rows = batch(columns);
    for bytes in [stream(std::slice::from_ref(&rows)), file(std::slice::from_ref(&rows))] {
        let folder = folder(&[("a", &bytes)]);
        let (found, fields) = with_columns(&folder.path().join("a"));
        assert_eq!(found[1].text, "Black ants run.");
        let names: Vec<_> = values.iter().map(|(name, ..)| *name).collect();
        assert_eq!(fields[0], names);
        for (column, (name, _, cells)) in values.iter().enumerate() {
            assert_eq!([&fields[1][column], &fields[2][column]], *cells, "{name}");
        }
    }
}

#[test]
fn a_dictionary_of_lists_is_a_column_that_is_not_read() {
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a"), Some("b")]);
    lists.append_value([Some("c")]);
    let lists: ArrayRef =
        Arc::new(DictionaryArray::new(Int8Array::from(vec![1, 0]), Arc::new(lists.finish())));
    let bytes = stream(&[batch(vec![("tokens", lists), ("text", texts(&["Red ants.", "Black ants."]))])]);
    let folder = folder(&[("a", &bytes)]);
    let (found, summary) = documents(&folder.path().join("a"));
    assert_eq!(found[1].text, "Black ants.");
    assert_eq!(summary.left_out.len(), 1);
    assert!(summary.left_out[0].path.ends_with("a/tokens") && !summary.left_out[0].lost);
}

/// Two batches, of which the second has another dictionary in a column that is no text, and where that begins and how long it is.
fn with_another_dictionary() -> (Vec<u8>, usize, usize) {
    let colours = |names: &[&str]| -> ArrayRef {
        Arc::new(names.iter().copied().collect::<DictionaryArray<Int8Type>>())
    };
    let bytes = stream(&[
        batch(vec![("text", texts(&["Red ants walk."])), ("colour", colours(&["red"]))]),
        batch(vec![("text", texts(&["Black ants run."])), ("colour", colours(&["black"]))]),
    ]);
    // The messages, each behind its mark.
    let (mut at, mut messages) = (0, Vec::new());
    while bytes[at..] != END {
        let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        let message = arrow_ipc::root_as_message(&bytes[at + 8..at + 8 + length]).unwrap();
        let body = message.bodyLength() as usize;
        messages.push((message.header_type(), at + 8 + length, body));
        at += 8 + length + body;
    }
    let mut dictionaries = messages.iter().filter(|message| message.0 == MessageHeader::DictionaryBatch);
    let (_, body, length) = *dictionaries.nth(1).unwrap();
    (bytes, body, length)
}

#[test]
fn a_dictionary_that_no_column_in_use_has_is_passed_over() {
    let (mut bytes, body, length) = with_another_dictionary();
    assert_eq!(texts_of(&bytes), ["Red ants walk.", "Black ants run."]);
    // It may be damaged: its texts end anywhere.
    bytes[body..body + length].fill(0x7f);
    assert_eq!(texts_of(&bytes), ["Red ants walk.", "Black ants run."]);
    let folder = folder(&[("a", &bytes)]);
    let options = ReadOptions { other_columns: true, ..ReadOptions::default() };
    let said = refusal(folder.path(), "a", &options);
    assert!(said.contains("damaged Arrow"), "{said}");
    // But not cut.
    let said = says(&bytes[..body + length - 1]);
    assert!(said.contains("damaged Arrow: it ends too early"), "{said}");
}

#[test]
fn a_message_that_is_cut_says_so_wherever_it_is() {
    let bytes = stream(&[batch(vec![("text", texts(&["Red ants walk."]))])]);
    let schema = 8 + u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    // Inside of the mark, the metadata and the body of the rows.
    for end in [schema + 5, schema + 20, bytes.len() - END.len() - 1] {
        let said = says(&bytes[..end]);
        assert!(said.contains("damaged Arrow: it ends too early"), "{end}: {said}");
    }
    // Without its end a stream is whole; with another schema it is none.
    let open = &bytes[..bytes.len() - END.len()];
    assert_eq!(texts_of(open), ["Red ants walk."]);
    let said = says(&[open, &bytes].concat());
    assert!(said.contains("damaged Arrow: a second schema"), "{said}");
}

#[test]
fn batches_without_rows_are_passed_over() {
    let whole = batch(vec![("text", texts(&["Red ants walk.", "Black ants run."]))]);
    let batches = [whole.slice(0, 0), whole.slice(0, 1), whole.slice(1, 0), whole.slice(1, 1)];
    for bytes in [stream(&batches), file(&batches)] {
        assert_eq!(texts_of(&bytes), ["Red ants walk.", "Black ants run."]);
    }
}

/// Of a file of one message the numbers are changed: where it is, and how long.
#[test]
fn what_a_footer_says_is_held_against_the_file() {
    // By the name of a column the footer is longer than the metadata of a message.
    let long = "name ".repeat(100);
    let columns = vec![("text", texts(&["Red ants walk."])), (&long, Arc::new(NullArray::new(1)))];
    let bytes = file(&[batch(columns)]);
    let end = bytes.len() - 10; // the length of the footer, and the mark
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
    let footer = arrow_ipc::root_as_footer(&bytes[end - length..end]).unwrap();
    let block = *footer.recordBatches().unwrap().get(0);
    let place = end - length
        + bytes[end - length..end].windows(8).position(|at| at == block.offset().to_le_bytes()).unwrap();
    let with = |offset: i64, body: i64| {
        let mut changed = bytes.clone();
        changed[place..place + 8].copy_from_slice(&offset.to_le_bytes());
        changed[place + 16..place + 24].copy_from_slice(&body.to_le_bytes());
        changed
    };
    assert_eq!(with(block.offset(), block.bodyLength()), bytes);
    let said = says(&with(end as i64, block.bodyLength()));
    assert!(said.contains("damaged Arrow: a message lies beyond its end"), "{said}");
    // With its metadata a message is as long as the file at most.
    let most = bytes.len() as i64 - i64::from(block.metaDataLength());
    assert_eq!(texts_of(&with(block.offset(), most)), ["Red ants walk."]);
    let said = says(&with(block.offset(), most + 1));
    assert!(said.contains("damaged Arrow: its messages are longer than it"), "{said}");

    let limits = |record_bytes| Limits { record_bytes, ..Limits::default() };
    let folder = folder(&[("a", &bytes)]);
    let options = |limit| ReadOptions { limits: limits(limit), ..ReadOptions::default() };
    assert!(countgrid_io::read(folder.path().join("a"), &options(length)).is_ok());
    let said = says_within(&bytes, limits(length - 1));
    assert!(said.contains("damaged Arrow: its footer is longer than the limit for a record"), "{said}");
}

/// A stream of one batch of texts, written by hand: `rows` that the batch claims, those that its column does, and buffers as they are
/// stored.
fn by_hand(rows: [i64; 2], compression: Option<CompressionType>, buffers: &[Vec<u8>]) -> Vec<u8> {
    let schema = stream(&[batch(vec![("text", texts(&[]))]).slice(0, 0)]);
    let length = 8 + u32::from_le_bytes(schema[4..8].try_into().unwrap()) as usize;
    let (mut body, mut places) = (Vec::new(), Vec::new());
    for buffer in buffers {
        places.push(arrow_ipc::Buffer::new(body.len() as i64, buffer.len() as i64));
        body.extend_from_slice(buffer);
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let mut builder = FlatBufferBuilder::new();
    let nodes = builder.create_vector(&[FieldNode::new(rows[1], 0)]);
    let places = builder.create_vector(&places);
    let compression = compression.map(|codec| {
        let mut built = BodyCompressionBuilder::new(&mut builder);
        built.add_codec(codec);
        built.add_method(BodyCompressionMethod::BUFFER);
        built.finish()
    });
    let mut written = RecordBatchBuilder::new(&mut builder);
    written.add_length(rows[0]);
    written.add_nodes(nodes);
    written.add_buffers(places);
    if let Some(compression) = compression {
        written.add_compression(compression);
    }
    let written = written.finish();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_header(written.as_union_value());
    message.add_bodyLength(body.len() as i64);
    let message = message.finish();
    builder.finish(message, None);
    let mut metadata = builder.finished_data().to_vec();
    metadata.resize(metadata.len().next_multiple_of(8), 0);
    let mark = [[0xff; 4], (metadata.len() as u32).to_le_bytes()].concat();
    [&schema[..length], &mark, &metadata, &body, &END].concat()
}

/// The validity, of which there is none, the ends and the letters of one text.
fn one_text(text: &str) -> Vec<Vec<u8>> {
    let ends = [0i32.to_le_bytes(), (text.len() as i32).to_le_bytes()].concat();
    vec![Vec::new(), ends, text.as_bytes().to_vec()]
}

#[test]
fn no_more_rows_are_claimed_than_there_are_bits() {
    let buffers = one_text("ant");
    assert_eq!(texts_of(&by_hand([1, 1], None, &buffers)), ["ant"]);
    let bits = 8 * 16; // eight bytes of ends, and the letters with zeros behind them
    for rows in [[bits + 1, 1], [1, bits + 1], [-1, 1], [1, -1]] {
        let said = says(&by_hand(rows, None, &buffers));
        assert!(
            said.contains("damaged Arrow: a message claims more rows than it has bits"),
            "{rows:?}: {said}"
        );
    }
}

/// A frame of Zstandard (RFC 8878) with a window of 8 MiB, as the highest levels have it, and one block of bytes as they are.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let block = 1 | (bytes.len() as u32) << 3; // the last, raw
    [&[0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3][..], &block.to_le_bytes()[..3], bytes].concat()
}

#[test]
fn buffers_are_compressed_or_as_they_were() {
    let plain = one_text("Red ants walk.");
    let marked = |length: i64, bytes: &[u8]| [&length.to_le_bytes()[..], bytes].concat();
    let none = || plain.iter().map(|bytes| if bytes.is_empty() { Vec::new() } else { marked(-1, bytes) });
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let buffers: Vec<_> = none().collect();
        assert_eq!(texts_of(&by_hand([1, 1], Some(codec), &buffers)), ["Red ants walk."]);
    }
    let mut buffers: Vec<_> = none().collect();
    buffers[2] = marked(plain[2].len() as i64, &zstd(&plain[2]));
    assert_eq!(texts_of(&by_hand([1, 1], Some(CompressionType::ZSTD), &buffers)), ["Red ants walk."]);
    // As long as it says, no shorter and no longer.
    for length in [plain[2].len() as i64 - 1, plain[2].len() as i64 + 1] {
        buffers[2] = marked(length, &zstd(&plain[2]));
        let said = says(&by_hand([1, 1], Some(CompressionType::ZSTD), &buffers));
        assert!(said.contains("compressed bytes that do not become the"), "{said}");
    }
}

#[test]
fn texts_that_are_no_utf8_are_refused_and_other_columns_are_empty() {
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![b"Red ants.".as_slice(), b"\xff\xfe"]));
    let said = says(&stream(&[batch(vec![("text", Arc::clone(&bytes))])]));
    assert!(
        said.starts_with("~/a, line 2: a string is expected under `text`, found bytes that are not UTF-8"),
        "{said}"
    );
    // So in the first row, too, which is read before it is known what its columns are.
    let said = says(&stream(&[batch(vec![("text", bytes.slice(1, 1))])]));
    assert!(said.starts_with("~/a, line 1: a string is expected under `text`"), "{said}");
    let other = stream(&[batch(vec![("text", texts(&["Red ants.", "Black ants."])), ("raw", bytes)])]);
    assert_eq!(texts_of(&other), ["Red ants.", "Black ants."]);
}

/// Rows of nothing take a few bits of the file, and count as lines of separators would.
#[test]
fn empty_rows_count_against_the_limit() {
    let rows = 1000;
    let missing = || -> ArrayRef { Arc::new(StringArray::from(vec![None::<&str>; rows])) };
    let names = ["text", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let bytes = stream(&[batch(names.into_iter().map(|name| (name, missing())).collect())]);
    let head = bytes.len().min(8192) as u64; // by which it is told what it is
    let limits = |total_bytes| Limits { total_bytes, ..Limits::default() };
    let most = head + (rows * names.len()) as u64;
    let folder = folder(&[("a", &bytes)]);
    let options = ReadOptions { limits: limits(most), ..ReadOptions::default() };
    let (_, summary) = countgrid_io::read(folder.path().join("a"), &options).unwrap();
    assert_eq!((summary.documents, summary.bytes), (rows, most));
    let said = says_within(&bytes, limits(most - 1));
    assert!(said.contains(&format!("more than {} bytes", most - 1)), "{said}");
}
