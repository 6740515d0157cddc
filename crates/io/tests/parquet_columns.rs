//! Columns of Parquet files: what the types of their values are written as, and where in the file they lie.

use crate::common;

use std::sync::Arc;

use common::{documents, folder, refusal, with_columns};
use countgrid_io::ReadOptions;
use parquet::basic::Type;
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
    Int96, Int96Type,
};
use parquet::file::metadata::{ColumnChunkMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

/// Values of a column of any type.
#[derive(Clone)]
enum Values {
    Text(Vec<&'static str>),
    Fixed(Vec<Vec<u8>>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<Int96>),
}

fn put<T: DataType>(mut writer: SerializedColumnWriter<'_>, values: &[T::T]) {
    writer.typed::<T>().write_batch(values, None, None).unwrap();
    writer.close().unwrap();
}

/// A file of these columns, as the schema describes them, in these row groups.
fn file(schema: &str, groups: &[&[Values]]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message rows {{ {schema} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_dictionary_enabled(false).build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    for columns in groups {
        let mut group = file.next_row_group().unwrap();
        for values in *columns {
            let writer = group.next_column().unwrap().unwrap();
            match values {
                Values::Text(texts) => {
                    let texts: Vec<_> = texts.iter().map(|&text| ByteArray::from(text)).collect();
                    put::<ByteArrayType>(writer, &texts);
                }
                Values::Fixed(values) => {
                    let values: Vec<FixedLenByteArray> =
                        values.iter().map(|value| ByteArray::from(value.clone()).into()).collect();
                    put::<FixedLenByteArrayType>(writer, &values);
                }
                Values::Int32(values) => put::<Int32Type>(writer, values),
                Values::Int64(values) => put::<Int64Type>(writer, values),
                Values::Int96(values) => put::<Int96Type>(writer, values),
            }
        }
        group.close().unwrap();
    }
    file.into_inner().unwrap()
}

/// The text of one value in a column of this type; none if the column is not read.
fn written(kind: &str, value: Values) -> Option<String> {
    let file = file(
        &format!("required binary text (UTF8); required {};", kind.replace('#', "x")),
        &[&[Values::Text(vec!["Red ants."]), value]],
    );
    let folder = folder(&[("a", &file)]);
    let (_, fields) = with_columns(&folder.path().join("a"));
    fields.get(1).map(|row| row[0].clone())
}

#[test]
fn values_are_written_as_their_type() {
    let text = |kind: &str, value| written(kind, value).unwrap();
    let fixed = |bytes: &[u8]| Values::Fixed(vec![bytes.to_vec()]);
    assert_eq!(text("fixed_len_byte_array(2) # (FLOAT16)", fixed(&[0x00, 0x3e])), "1.5");
    let uuid: Vec<u8> = (0..16).collect();
    assert_eq!(
        text("fixed_len_byte_array(16) # (UUID)", fixed(&uuid)),
        "00010203-0405-0607-0809-0a0b0c0d0e0f"
    );
    assert_eq!(text("fixed_len_byte_array(3) #", fixed(b"ant")), "ant");
    assert_eq!(text("fixed_len_byte_array(1) #", fixed(b"a")), "a");
    assert_eq!(written("fixed_len_byte_array(0) #", fixed(b"")), None);
    // Without a sign, by the types of now and of old.
    for kind in ["INTEGER(32,false)", "UINT_32"] {
        assert_eq!(text(&format!("int32 # ({kind})"), Values::Int32(vec![-1])), u32::MAX.to_string());
    }
    for kind in ["INTEGER(64,false)", "UINT_64"] {
        assert_eq!(text(&format!("int64 # ({kind})"), Values::Int64(vec![-1])), u64::MAX.to_string());
    }
    for kind in ["INTEGER(32,true)", "INT_32"] {
        assert_eq!(text(&format!("int32 # ({kind})"), Values::Int32(vec![-1])), "-1");
    }
    // An hour of a day 200,000 days after that from which nanoseconds count, which is further than those reach.
    let mut hour = Int96::new();
    let nanoseconds = 3_600_000_000_000_u64;
    hour.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, 2_440_588 + 200_000);
    assert_eq!(text("int96 #", Values::Int96(vec![hour])), "2517-08-01T01:00:00");
}

const COLUMNS: &str = "required binary text (UTF8); required int32 x;";

/// Two rows of a text and a number.
fn two() -> Vec<u8> {
    file(COLUMNS, &[&[Values::Text(vec!["Red ants.", "Bees."]), Values::Int32(vec![7, 8])]])
}

/// The file with other metadata of its columns; `change` has their row group.
fn changed(
    file: &[u8],
    change: impl Fn(usize, ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
) -> Vec<u8> {
    let end = file.len() - 8;
    let start = end - u32::from_le_bytes(file[end..end + 4].try_into().unwrap()) as usize;
    let mut about = ParquetMetaDataReader::decode_metadata(&file[start..end]).unwrap().into_builder();
    let groups = about.take_row_groups().into_iter().enumerate().map(|(place, group)| {
        let columns = group.columns().iter().map(|column| match column.column_type() {
            Type::INT32 => change(place, column.clone().into_builder()).build().unwrap(),
            _ => column.clone(),
        });
        let columns = columns.collect();
        group.into_builder().set_column_metadata(columns).build().unwrap()
    });
    let groups = groups.collect();
    let mut file = file[..start].to_vec();
    ParquetMetaDataWriter::new(&mut file, &about.set_row_groups(groups).build()).finish().unwrap();
    file
}

/// The number in each row.
fn numbers(file: &[u8]) -> Vec<String> {
    let folder = folder(&[("a", file)]);
    let (_, fields) = with_columns(&folder.path().join("a"));
    fields[1..].iter().map(|row| row[0].clone()).collect()
}

fn says(file: &[u8]) -> String {
    let options = ReadOptions { other_columns: true, ..ReadOptions::default() };
    refusal(folder(&[("a", file)]).path(), "a", &options)
}

#[test]
fn a_column_lies_in_the_file() {
    assert_eq!(numbers(&two()), ["7", "8"]);
    assert_eq!(numbers(&changed(&two(), |_, column| column)), ["7", "8"]);
    // Old writers put 0 where there is no dictionary; another file that has no name is this one.
    let old = changed(&two(), |_, column| column.set_dictionary_page_offset(Some(0)));
    assert_eq!(numbers(&old), ["7", "8"]);
    assert_eq!(numbers(&changed(&two(), |_, column| column.set_file_path(String::new()))), ["7", "8"]);
    let other = changed(&two(), |_, column| column.set_file_path("other.parquet".to_owned()));
    assert!(says(&other).contains("Parquet whose columns lie in other files, which is not read"));
    for bytes in [1 << 20, i64::MAX, -1] {
        let beyond = changed(&two(), |_, column| column.set_total_compressed_size(bytes));
        assert!(says(&beyond).contains("a column lies beyond its end"), "{bytes}");
    }
}

/// A column that has a role must be text from its first row on; another one need not.
#[test]
fn a_text_is_one_in_the_first_row() {
    let with = |text: &[u8], other: &[u8]| {
        let [text, other] = [text, other].map(|bytes| Values::Fixed(vec![bytes.to_vec()]));
        file("required fixed_len_byte_array(4) text; required fixed_len_byte_array(2) x;", &[&[text, other]])
    };
    let folder = folder(&[("a", &with(b"ants", b"\xff\xfe"))]);
    assert_eq!(documents(&folder.path().join("a")).0[0].text, "ants");
    let said = says(&with(b"ant\xff", b"ab"));
    assert!(said.contains("bytes that are not UTF-8"), "{said}");
}

/// What is damaged in a column that nobody asks for is not looked at; of the first row all columns are.
#[test]
fn columns_that_are_not_asked_for_are_not_read() {
    // More rows than are decoded at once.
    let many = [Values::Text(vec!["Red ants."; 2500]), Values::Int32((0..2500).collect())];
    let one = [Values::Text(vec!["Bees."]), Values::Int32(vec![7])];
    let whole = file(COLUMNS, &[&many, &one]);
    let damaged = changed(&whole, |group, column| match group {
        0 => column,
        _ => column.set_total_compressed_size(1 << 20),
    });
    let folder = folder(&[("a", &damaged)]);
    let (found, summary) = documents(&folder.path().join("a"));
    assert_eq!((found.len(), found[2500].text.as_str(), summary.documents), (2501, "Bees.", 2501));
    assert!(says(&damaged).contains("a column lies beyond its end"));
    assert_eq!(numbers(&whole).len(), 2501);
}
