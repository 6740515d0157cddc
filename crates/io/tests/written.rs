//! Files of columns that the libraries write: any table is read as it was written, whatever its encodings, pages and batches; one that
//! was made to become far more than it is ends at a limit.

use crate::common;

use common::{folder, refusal, with_columns};
use countgrid_io::{Limits, ReadOptions};
use proptest::prelude::*;

/// The cells of a column; none where one is missing.
#[derive(Clone, Debug)]
enum Column {
    Text(Vec<Option<String>>),
    Whole(Vec<Option<i64>>),
    Short(Vec<Option<i32>>),
    Real(Vec<Option<f64>>),
    Single(Vec<Option<f32>>),
    Truth(Vec<Option<bool>>),
}

impl Column {
    fn cells<T>(values: &[Option<T>], text: impl Fn(&T) -> String) -> Vec<String> {
        values.iter().map(|value| value.as_ref().map_or_else(String::new, &text)).collect()
    }

    /// Whether a reader's cells are these: numbers by their value, to the bit.
    fn is(&self, found: &[&str]) -> bool {
        let cells = match self {
            Self::Text(values) => Self::cells(values, Clone::clone),
            Self::Whole(values) => Self::cells(values, i64::to_string),
            Self::Short(values) => Self::cells(values, i32::to_string),
            Self::Truth(values) => Self::cells(values, bool::to_string),
            Self::Real(values) => {
                let parsed = found.iter().map(|cell| cell.parse::<f64>().ok().map(f64::to_bits));
                return parsed.eq(values.iter().map(|value| value.map(f64::to_bits)));
            }
            Self::Single(values) => {
                let parsed = found.iter().map(|cell| cell.parse::<f32>().ok().map(f32::to_bits));
                return parsed.eq(values.iter().map(|value| value.map(f32::to_bits)));
            }
        };
        cells == found
    }
}

/// Words that are text of a document: marks of tables and lines inside, letters of one to four bytes.
fn text() -> impl Strategy<Value = String> {
    "[a-zß猫🐜][a-zß猫🐜 ,;\"\n\t]{0,40}[a-zß猫🐜]"
}

fn column(rows: usize) -> impl Strategy<Value = Column> {
    // Few values, as a dictionary has them, or any.
    let few = prop_oneof![Just("red"), Just("green"), Just("猫")].prop_map(str::to_owned);
    let real = any::<f64>().prop_filter("a number", |value| value.is_finite());
    let single = any::<f32>().prop_filter("a number", |value| value.is_finite());
    // None is missing, some are, all are.
    let missing = |rows| (0..3u8, prop::collection::vec(0..10u8, rows));
    fn with<T>((values, (kind, draws)): (Vec<T>, (u8, Vec<u8>))) -> Vec<Option<T>> {
        let draws = draws.into_iter().map(|draw| kind == 0 || kind == 1 && draw > 2);
        values.into_iter().zip(draws).map(|(value, there)| there.then_some(value)).collect()
    }
    prop_oneof![
        (prop::collection::vec(few, rows), missing(rows)).prop_map(|cells| Column::Text(with(cells))),
        (prop::collection::vec(text(), rows), missing(rows)).prop_map(|cells| Column::Text(with(cells))),
        (prop::collection::vec(any::<i64>(), rows), missing(rows))
            .prop_map(|cells| Column::Whole(with(cells))),
        (prop::collection::vec(-2i64..3, rows), missing(rows)).prop_map(|cells| Column::Whole(with(cells))),
        (prop::collection::vec(any::<i32>(), rows), missing(rows))
            .prop_map(|cells| Column::Short(with(cells))),
        (prop::collection::vec(real, rows), missing(rows)).prop_map(|cells| Column::Real(with(cells))),
        (prop::collection::vec(single, rows), missing(rows)).prop_map(|cells| Column::Single(with(cells))),
        (prop::collection::vec(any::<bool>(), rows), missing(rows))
            .prop_map(|cells| Column::Truth(with(cells))),
    ]
}

/// Texts of documents, and the other columns.
fn table() -> impl Strategy<Value = (Vec<String>, Vec<Column>)> {
    (1usize..40).prop_flat_map(|rows| {
        (prop::collection::vec(text(), rows), prop::collection::vec(column(rows), 0..4))
    })
}

/// Fails if the file is not this table.
fn same(file: &[u8], texts: &[String], columns: &[Column]) -> Result<(), TestCaseError> {
    let folder = folder(&[("table", file)]);
    let (found, fields) = with_columns(&folder.path().join("table"));
    let read: Vec<_> = found.iter().map(|document| &document.text).collect();
    prop_assert_eq!(read, texts.iter().collect::<Vec<_>>());
    // The names stand in the first row, if there are any.
    prop_assert_eq!(fields.len(), if columns.is_empty() { 0 } else { texts.len() + 1 });
    for (at, column) in columns.iter().enumerate() {
        let cells: Vec<_> = fields[1..].iter().map(|row| row[at].as_str()).collect();
        prop_assert!(column.is(&cells), "column {at}: {cells:?} of {column:?}");
    }
    Ok(())
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use super::*;

    use std::io::{Seek, SeekFrom, Write};
    use std::sync::Arc;

    use parquet::basic::{Compression, Encoding, GzipLevel};
    use parquet::column::page::{CompressedPage, Page, PageWriter};
    use parquet::column::writer::ColumnCloseResult;
    use parquet::data_type::{
        BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
    };
    use parquet::file::metadata::ColumnChunkMetaData;
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use parquet::file::writer::{
        SerializedColumnWriter, SerializedFileWriter, SerializedPageWriter, TrackedWrite,
    };
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::ColumnPath;

    fn put<T: DataType>(mut writer: SerializedColumnWriter<'_>, cells: impl Iterator<Item = Option<T::T>>) {
        let cells: Vec<_> = cells.collect();
        let levels: Vec<_> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<_> = cells.into_iter().flatten().collect();
        writer.typed::<T>().write_batch(&values, Some(&levels), None).unwrap();
        writer.close().unwrap();
    }

    fn bytes(text: &str) -> ByteArray {
        ByteArray::from(text.as_bytes().to_vec())
    }

    /// How a file is written.
    #[derive(Clone, Debug)]
    struct Layout {
        second_version: bool,
        dictionary: bool,
        delta: bool,
        rows_of_a_page: usize,
        rows_of_a_group: usize,
    }

    fn layout() -> impl Strategy<Value = Layout> {
        (any::<bool>(), any::<bool>(), any::<bool>(), 1usize..50, 1usize..50).prop_map(
            |(second_version, dictionary, delta, rows_of_a_page, rows_of_a_group)| Layout {
                second_version,
                dictionary,
                delta,
                rows_of_a_page,
                rows_of_a_group,
            },
        )
    }

    fn parquet(texts: &[String], columns: &[Column], layout: &Layout) -> Vec<u8> {
        let kinds = columns.iter().enumerate().map(|(at, column)| match column {
            Column::Text(_) => format!("optional binary x{at} (UTF8);"),
            Column::Whole(_) => format!("optional int64 x{at};"),
            Column::Short(_) => format!("optional int32 x{at};"),
            Column::Real(_) => format!("optional double x{at};"),
            Column::Single(_) => format!("optional float x{at};"),
            Column::Truth(_) => format!("optional boolean x{at};"),
        });
        let kinds: String = kinds.collect();
        let schema = parse_message_type(&format!("message rows {{ required binary text (UTF8); {kinds} }}"));
        let version =
            if layout.second_version { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
        let mut properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_dictionary_enabled(layout.dictionary)
            .set_data_page_row_count_limit(layout.rows_of_a_page)
            .set_write_batch_size(layout.rows_of_a_page);
        for (at, column) in columns.iter().enumerate().filter(|_| layout.delta) {
            let encoding = match column {
                Column::Text(_) if at % 2 == 0 => Encoding::DELTA_BYTE_ARRAY,
                Column::Text(_) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
                Column::Whole(_) | Column::Short(_) => Encoding::DELTA_BINARY_PACKED,
                Column::Real(_) | Column::Single(_) => Encoding::BYTE_STREAM_SPLIT,
                Column::Truth(_) => Encoding::RLE,
            };
            properties = properties.set_column_encoding(ColumnPath::from(format!("x{at}")), encoding);
        }
        let mut writer =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema.unwrap()), Arc::new(properties.build()))
                .unwrap();
        for start in (0..texts.len()).step_by(layout.rows_of_a_group) {
            let rows = start..(start + layout.rows_of_a_group).min(texts.len());
            let mut group = writer.next_row_group().unwrap();
            let mut text = group.next_column().unwrap().unwrap();
            let values: Vec<_> = texts[rows.clone()].iter().map(|text| bytes(text)).collect();
            text.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
            text.close().unwrap();
            for column in columns {
                let writer = group.next_column().unwrap().unwrap();
                let rows = rows.clone();
                match column {
                    Column::Text(cells) => {
                        put::<ByteArrayType>(
                            writer,
                            cells[rows].iter().map(|cell| cell.as_deref().map(bytes)),
                        );
                    }
                    Column::Whole(cells) => put::<Int64Type>(writer, cells[rows].iter().copied()),
                    Column::Short(cells) => put::<Int32Type>(writer, cells[rows].iter().copied()),
                    Column::Real(cells) => put::<DoubleType>(writer, cells[rows].iter().copied()),
                    Column::Single(cells) => put::<FloatType>(writer, cells[rows].iter().copied()),
                    Column::Truth(cells) => put::<BoolType>(writer, cells[rows].iter().copied()),
                }
            }
            group.close().unwrap();
        }
        writer.into_inner().unwrap()
    }

    proptest! {
        #[test]
        fn any_table_is_read_as_it_was_written((texts, columns) in table(), layout in layout()) {
            same(&parquet(&texts, &columns, &layout), &texts, &columns)?;
        }
    }

    /// A file with one column of texts, in one page of these bytes, that says what it becomes.
    fn with_page(stored: Vec<u8>, claimed: usize, values: u32) -> Vec<u8> {
        let schema = Arc::new(parse_message_type("message rows { required binary text (UTF8); }").unwrap());
        let mut sink = TrackedWrite::new(Vec::new());
        let page = Page::DataPage {
            buf: stored.into(),
            num_values: values,
            encoding: Encoding::PLAIN,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        SerializedPageWriter::new(&mut sink).write_page(CompressedPage::new(page, claimed)).unwrap();
        let chunk = sink.into_inner().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&chunk).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();

        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
        let metadata = ColumnChunkMetaData::builder(writer.schema_descr().column(0))
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_encodings(vec![Encoding::PLAIN])
            .set_num_values(i64::from(values))
            .set_total_compressed_size(chunk.len() as i64)
            .set_total_uncompressed_size(claimed as i64)
            .set_data_page_offset(0)
            .build()
            .unwrap();
        let mut group = writer.next_row_group().unwrap();
        let closed = ColumnCloseResult {
            bytes_written: chunk.len() as u64,
            rows_written: u64::from(values),
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&file, closed).unwrap();
        group.close().unwrap();
        writer.into_inner().unwrap()
    }

    /// Values as a page has them: the length of each before it.
    fn plain(texts: &[&[u8]]) -> Vec<u8> {
        texts.iter().flat_map(|text| [&(text.len() as u32).to_le_bytes()[..], text].concat()).collect()
    }

    fn says(file: &[u8], limits: Limits) -> String {
        refusal(folder(&[("a", file)]).path(), "a", &ReadOptions { limits, ..ReadOptions::default() })
    }

    #[test]
    fn a_page_becomes_no_more_than_it_may() {
        let whole = plain(&[b"Red ants walk.", b"Black ants run."]);
        let file = with_page(common::gzip(&whole), whole.len(), 2);
        let honest = folder(&[("a", &file)]);
        assert_eq!(common::documents(&honest.path().join("a")).0[1].text, "Black ants run.");

        // A text of 64 million blanks in 64 kB: as long as it says, shorter, longer.
        let long = vec![b' '; 64 << 20];
        let whole = plain(&[&long]);
        let stored = common::gzip(&whole);
        assert!(stored.len() < 1 << 19);
        let limits = Limits { record_bytes: 1 << 20, ..Limits::default() };
        let said = says(&with_page(stored.clone(), whole.len(), 1), limits);
        assert!(said.contains("a page becomes far longer than it is"), "{said}");
        let said = says(&with_page(stored.clone(), 1000, 1), limits);
        assert!(said.contains("damaged Parquet"), "{said}");
        let said = says(&with_page(stored.clone(), i32::MAX as usize, 1), limits);
        assert!(said.contains("a page becomes far longer than it is"), "{said}");
        let said =
            says(&with_page(stored, whole.len(), 1), Limits { total_bytes: 1 << 20, ..Limits::default() });
        assert!(said.contains("more than 1048576 bytes"), "{said}");
        // Two texts are claimed to be four billion.
        let said =
            says(&with_page(common::gzip(&plain(&[b"a b", b"c d"])), 14, u32::MAX >> 1), Limits::default());
        assert!(said.contains("damaged Parquet"), "{said}");
    }

    /// A dictionary has a long text once, and a million rows are it, in a file of little more.
    #[test]
    fn a_value_of_many_rows_counts_in_each() {
        let long = "red ants ".repeat(10_000);
        let texts = vec![long.clone(); 100];
        let repeats = Column::Text(vec![Some(long); 100]);
        let layout = Layout {
            second_version: false,
            dictionary: true,
            delta: false,
            rows_of_a_page: 100,
            rows_of_a_group: 100,
        };
        let file = parquet(&texts, &[repeats], &layout);
        assert!(file.len() < 400_000, "{}", file.len());
        let said = says(&file, Limits { total_bytes: 1 << 21, ..Limits::default() });
        assert!(said.contains("more than 2097152 bytes"), "{said}");
    }
}

#[cfg(feature = "arrow")]
mod arrow_files {
    use super::*;

    use std::sync::Arc;

    use arrow_array::types::Int16Type;
    use arrow_array::{
        ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int32Array, Int64Array,
        LargeStringArray, RecordBatch, StringArray, StringViewArray,
    };
    use arrow_ipc::writer::{FileWriter, StreamWriter};

    /// How a file is written.
    #[derive(Clone, Debug)]
    struct Layout {
        stream: bool,
        /// The type of texts.
        kind: u8,
        rows_of_a_batch: usize,
    }

    fn layout() -> impl Strategy<Value = Layout> {
        (any::<bool>(), 0..4u8, 1usize..50).prop_map(|(stream, kind, rows_of_a_batch)| Layout {
            stream,
            kind,
            rows_of_a_batch,
        })
    }

    fn array(column: &Column, kind: u8) -> ArrayRef {
        match column {
            Column::Text(cells) => {
                let texts = cells.iter().map(Option::as_deref);
                match kind {
                    0 => Arc::new(texts.collect::<StringArray>()),
                    1 => Arc::new(texts.collect::<LargeStringArray>()),
                    2 => Arc::new(texts.collect::<StringViewArray>()),
                    _ => Arc::new(texts.collect::<DictionaryArray<Int16Type>>()),
                }
            }
            Column::Whole(cells) => Arc::new(Int64Array::from(cells.clone())),
            Column::Short(cells) => Arc::new(Int32Array::from(cells.clone())),
            Column::Real(cells) => Arc::new(Float64Array::from(cells.clone())),
            Column::Single(cells) => Arc::new(Float32Array::from(cells.clone())),
            Column::Truth(cells) => Arc::new(BooleanArray::from(cells.clone())),
        }
    }

    fn arrow(texts: &[String], columns: &[Column], layout: &Layout) -> Vec<u8> {
        let texts = Column::Text(texts.iter().cloned().map(Some).collect());
        let mut arrays = vec![("text".to_owned(), array(&texts, layout.kind))];
        let others = columns.iter().enumerate();
        arrays.extend(others.map(|(at, column)| (format!("x{at}"), array(column, layout.kind))));
        let arrays = arrays.into_iter().map(|(name, array)| (name, array, true));
        let whole = RecordBatch::try_from_iter_with_nullable(arrays).unwrap();
        let starts = (0..whole.num_rows()).step_by(layout.rows_of_a_batch);
        let batches =
            starts.map(|start| whole.slice(start, layout.rows_of_a_batch.min(whole.num_rows() - start)));
        if layout.stream {
            let mut writer = StreamWriter::try_new(Vec::new(), &whole.schema()).unwrap();
            batches.for_each(|batch| writer.write(&batch).unwrap());
            writer.into_inner().unwrap()
        } else {
            let mut writer = FileWriter::try_new(Vec::new(), &whole.schema()).unwrap();
            batches.for_each(|batch| writer.write(&batch).unwrap());
            writer.into_inner().unwrap()
        }
    }

    proptest! {
        #[test]
        fn any_table_is_read_as_it_was_written((texts, columns) in table(), layout in layout()) {
            same(&arrow(&texts, &columns, &layout), &texts, &columns)?;
        }
    }

    #[test]
    fn a_value_of_many_rows_counts_in_each() {
        let texts = vec!["red ants ".repeat(10_000); 100];
        let file = arrow(&texts, &[], &Layout { stream: false, kind: 3, rows_of_a_batch: 100 });
        assert!(file.len() < 200_000, "{}", file.len());
        let limits = Limits { total_bytes: 1 << 21, ..Limits::default() };
        let options = ReadOptions { limits, ..ReadOptions::default() };
        let folder = folder(&[("a", &file)]);
        let said = refusal(folder.path(), "a", &options);
        assert!(said.contains("more than 2097152 bytes"), "{said}");
    }
}
