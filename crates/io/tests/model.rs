//! Model files: round trips, the library as the oracle, and every way in which a file can be wrong.

use std::collections::HashMap;
use std::fs;

use countgrid_io::{ModelFile, ModelProblem, NamedTable, TableData, load, save};
use proptest::prelude::*;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

fn table(name: &str, shape: &[usize], data: TableData) -> NamedTable {
    NamedTable { name: name.to_owned(), shape: shape.to_vec(), data }
}

/// One table of every kind, with the values that are easily lost, and texts.
fn model() -> ModelFile {
    let small = f32::from_bits(1); // subnormal
    let mut model = ModelFile {
        tables: vec![
            table("pi", &[3, 1], TableData::F32(vec![0.5, -0.0, small])),
            table("labels", &[2, 2], TableData::U32(vec![0, 1, u32::MAX, 7])),
            table("capacity", &[], TableData::F64(vec![f64::INFINITY])),
            table("nothing", &[0, 4], TableData::F32(vec![])),
        ],
        ..ModelFile::default()
    };
    model.set_strings("vocabulary", ["ant", "b\"e\\e", "naïve", "\u{1}"]);
    model.metadata.insert("format".to_owned(), "1".to_owned());
    model
}

/// Saves to a fresh folder and gives the bytes.
fn bytes(model: &ModelFile) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    save(&path, model).unwrap();
    fs::read(path).unwrap()
}

/// What `load` says to these bytes, without the name of the file.
fn refusal(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    fs::write(&path, bytes).unwrap();
    let message = load(&path).unwrap_err().to_string();
    message.strip_prefix(&path.display().to_string()).unwrap().to_owned()
}

/// A file with this header and so many bytes of zeros.
fn with_header(header: &str, zeros: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; zeros]].concat()
}

#[test]
fn what_is_saved_is_loaded() {
    let saved = model();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    save(&path, &saved).unwrap();
    let loaded = load(&path).unwrap();
    let names: Vec<_> = loaded.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["capacity", "nothing", "pi", "labels"], "by element type, then by name");
    for table in &saved.tables {
        assert_eq!(loaded.table(&table.name), Some(table));
    }
    assert_eq!(loaded.metadata, saved.metadata);
    assert_eq!(loaded.strings("vocabulary").unwrap()[1], "b\"e\\e");
    assert_eq!(loaded.strings("format"), None);
    assert!(matches!(&loaded.table("pi").unwrap().data, TableData::F32(pi) if pi[1].is_sign_negative()));
}

#[test]
fn the_safetensors_library_reads_it() {
    let bytes = bytes(&model());
    let read = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(read.len(), 4);
    let pi = read.tensor("pi").unwrap();
    assert_eq!((pi.dtype(), pi.shape()), (Dtype::F32, [3, 1].as_slice()));
    assert_eq!(pi.data(), [0, 0, 0, 0x3f, 0, 0, 0, 0x80, 1, 0, 0, 0]);
    // Large elements first and a padded header: every table is aligned.
    assert_eq!(read.tensor("capacity").unwrap().data().as_ptr() as usize % 8, bytes.as_ptr() as usize % 8);
}

#[test]
fn the_bytes_are_those_of_the_safetensors_library() {
    let mut model = model();
    model.metadata.clear();
    let data: Vec<_> = model
        .tables
        .iter()
        .map(|table| {
            let (dtype, bytes): (_, Vec<u8>) = match &table.data {
                TableData::F32(data) => (Dtype::F32, data.iter().flat_map(|x| x.to_le_bytes()).collect()),
                TableData::F64(data) => (Dtype::F64, data.iter().flat_map(|x| x.to_le_bytes()).collect()),
                TableData::U32(data) => (Dtype::U32, data.iter().flat_map(|x| x.to_le_bytes()).collect()),
            };
            (table.name.clone(), dtype, table.shape.clone(), bytes)
        })
        .collect();
    let views = data.iter().map(|(name, dtype, shape, bytes)| {
        (name.clone(), TensorView::new(*dtype, shape.clone(), bytes).unwrap())
    });
    // Two texts of the same length, in whichever order the library's hash map has them.
    let own = bytes(&model);
    let (_, header) = SafeTensors::read_metadata(&own).unwrap();
    let texts: HashMap<_, _> = header.metadata().clone().unwrap();
    assert_eq!(texts.len(), 2);
    let sorted = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes.sort_unstable();
        bytes
    };
    let (theirs, tables) = (safetensors::serialize(views, Some(texts)).unwrap(), own.len() - 36);
    assert_eq!(own[tables..], theirs[tables..]);
    assert_eq!(sorted(&own), sorted(&theirs));
    assert_eq!(
        SafeTensors::deserialize(&own).unwrap().tensors().len(),
        SafeTensors::deserialize(&theirs).unwrap().tensors().len()
    );
}

/// Written out, so that a big-endian host is held to them too.
#[test]
fn the_elements_are_little_endian_on_every_host() {
    let bytes = bytes(&model());
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let capacity = [0, 0, 0, 0, 0, 0, 0xf0, 0x7f];
    let pi = [0, 0, 0, 0x3f, /**/ 0, 0, 0, 0x80, /**/ 1, 0, 0, 0];
    let labels = [0, 0, 0, 0, /**/ 1, 0, 0, 0, /**/ 255, 255, 255, 255, /**/ 7, 0, 0, 0];
    assert_eq!(bytes[8 + header..], [&capacity[..], &pi, &labels].concat());
}

#[test]
fn equal_models_give_equal_bytes() {
    let mut reordered = model();
    reordered.tables.reverse();
    reordered.metadata = model().metadata.into_iter().rev().collect();
    assert_eq!(bytes(&model()), bytes(&reordered));
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let whole = bytes(&model());
    for length in 0..whole.len() {
        let message = refusal(&whole[..length]);
        assert!(message.contains("remedy: fit the model again, or copy"), "{length}: {message}");
        let expected = match length {
            0..8 => format!("no model file: {length} bytes are too few for a header"),
            _ => "cut short".to_owned(),
        };
        assert!(message.contains(&expected), "{length}: {message}");
    }
    let longer = [whole.as_slice(), &[0]].concat();
    assert!(refusal(&longer).contains("the tables need 36 bytes, the file has 37"), "{}", refusal(&longer));
}

#[test]
fn nothing_is_allocated_for_what_a_header_claims() {
    let largest = u64::MAX.to_le_bytes();
    assert!(refusal(&largest).contains("claims a header of 18446744073709551615 bytes and goes on for 0"));
    let huge = 1u64 << 60;
    let cases = [
        (
            format!("{{\"a\":{{\"dtype\":\"U8\",\"shape\":[{huge}],\"data_offsets\":[0,{huge}]}}}}"),
            "cut short",
        ),
        (
            format!("{{\"a\":{{\"dtype\":\"F32\",\"shape\":[{huge},{huge}],\"data_offsets\":[0,8]}}}}"),
            "header is not understood",
        ),
        (
            format!("{{\"a\":{{\"dtype\":\"U8\",\"shape\":[{0}],\"data_offsets\":[0,{0}]}}}}", u64::MAX),
            "header is not understood",
        ),
        ("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}".to_owned(), "invalid offset"),
        ("{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}".to_owned(), "invalid shape"),
        (
            "{\"a\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}".to_owned(),
            "unknown variant `F99`",
        ),
        ("{\"__metadata__\":{\"format\":1}}".to_owned(), "header is not understood"),
        ("[".repeat(100_000), "header is not understood"),
        ("not JSON".to_owned(), "header is not understood"),
        ("{\"a\":\u{0}}".to_owned(), "header is not understood"),
    ];
    for (header, expected) in cases {
        let message = refusal(&with_header(&header, 8));
        assert!(message.contains(expected), "{:.80}: {message}", header);
    }
}

#[test]
fn a_table_of_another_type_is_refused() {
    let header = "{\"a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]}}";
    assert!(
        refusal(&with_header(header, 8)).contains("table `a` has elements of type BF16; F32, F64 and U32")
    );
}

#[test]
fn nan_is_refused_both_ways() {
    let data = vec![1.0, f64::NAN];
    let model = ModelFile { tables: vec![table("pi", &[2], TableData::F64(data))], ..ModelFile::default() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let refused = save(&path, &model).unwrap_err();
    assert!(matches!(refused.problem(), ModelProblem::NotANumber { index: 1, .. }));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let header = "{\"pi\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    let bytes = [with_header(header, 0).as_slice(), &f32::NAN.to_le_bytes()].concat();
    assert!(refusal(&bytes).contains("table `pi` holds a NaN, its element 0"));
}

#[test]
fn tables_that_cannot_be_written_are_refused() {
    let one = || TableData::F32(vec![1.0]);
    let cases = [
        (vec![table("a", &[2], one())], "table `a` has 1 elements for the shape [2]"),
        (vec![table("a", &[usize::MAX, 3], one())], "table `a` has 1 elements for the shape"),
        (vec![table("a", &[1], one()), table("a", &[1], one())], "`a` is reserved or used twice"),
        (vec![table("__metadata__", &[1], one())], "`__metadata__` is reserved"),
    ];
    for (tables, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let message = save(&path, &ModelFile { tables, ..ModelFile::default() }).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_missing_model_and_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let message = load(folder.path().join("none")).unwrap_err().to_string();
    assert!(
        message.contains("cannot be read: ") && message.contains("remedy: check the spelling"),
        "{message}"
    );
    let message = load(folder.path()).unwrap_err().to_string();
    assert!(message.contains("remedy: check that it is a readable file"), "{message}");
}

fn any_table() -> impl Strategy<Value = (Vec<usize>, TableData)> {
    prop::collection::vec(0usize..4, 0..4).prop_flat_map(|shape| {
        let elements = shape.iter().product::<usize>();
        let f32s = any::<u32>().prop_map(f32::from_bits).prop_filter("a number", |x| !x.is_nan());
        let f64s = any::<u64>().prop_map(f64::from_bits).prop_filter("a number", |x| !x.is_nan());
        let data = prop_oneof![
            prop::collection::vec(f32s, elements).prop_map(TableData::F32),
            prop::collection::vec(f64s, elements).prop_map(TableData::F64),
            prop::collection::vec(any::<u32>(), elements).prop_map(TableData::U32),
        ];
        (Just(shape), data)
    })
}

/// Equality of bits, not of numbers: 0 and -0 differ.
fn bits(data: &TableData) -> Vec<u64> {
    match data {
        TableData::F32(data) => data.iter().map(|x| u64::from(x.to_bits())).collect(),
        TableData::F64(data) => data.iter().map(|x| x.to_bits()).collect(),
        TableData::U32(data) => data.iter().map(|&x| u64::from(x)).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))] // each is flushed to disk twice

    #[test]
    fn any_model_comes_back_to_the_bit(
        tables in prop::collection::btree_map(".{0,8}", any_table(), 0..5),
        metadata in prop::collection::btree_map(".{0,8}", ".{0,20}", 0..5),
    ) {
        let tables: Vec<_> = tables
            .into_iter()
            .map(|(name, (shape, data))| NamedTable { name, shape, data })
            .collect();
        let model = ModelFile { tables, metadata };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        save(&path, &model).unwrap();
        let loaded = load(&path).unwrap();
        prop_assert_eq!(&loaded.metadata, &model.metadata);
        prop_assert_eq!(loaded.tables.len(), model.tables.len());
        for table in &model.tables {
            let other = loaded.table(&table.name).unwrap();
            prop_assert_eq!(&other.shape, &table.shape);
            prop_assert_eq!(bits(&other.data), bits(&table.data));
        }
        prop_assert_eq!(bytes(&loaded), fs::read(&path).unwrap());
    }

    #[test]
    fn no_bytes_make_it_panic(header in ".{0,200}", rest in prop::collection::vec(any::<u8>(), 0..40)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        fs::write(&path, [with_header(&header, 0), rest].concat()).unwrap();
        let _ = load(&path);
    }
}

#[test]
fn no_bit_of_a_file_is_wrong_unseen() {
    let whole = bytes(&model());
    for bit in 0..8 * whole.len() {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let read = ModelFile::from_bytes(&damaged);
        assert!(read.is_err(), "bit {} of byte {}", bit % 8, bit / 8);
    }
    assert_eq!(ModelFile::from_bytes(&whole).unwrap().to_bytes().unwrap(), whole);
}

#[test]
fn the_checksum_is_that_of_all_bytes() {
    let text = String::from_utf8_lossy(&bytes(&model())).into_owned();
    let key = "\"checksum\":\"";
    let place = bytes(&model()).windows(key.len()).position(|at| at == key.as_bytes()).unwrap() + key.len();
    assert!(text.contains("\"format_version\":\"1\""));
    let mut zeroed = bytes(&model());
    zeroed[place..place + 8].fill(b'0');
    // CRC-32 bit by bit, as its definition says.
    let sum = !zeroed.iter().fold(!0u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
    });
    assert_eq!(&bytes(&model())[place..place + 8], format!("{sum:08x}").as_bytes());
}

#[test]
fn versions_of_the_format() {
    let with = |texts: &str| refusal(&with_header(&format!("{{\"__metadata__\":{{{texts}}}}}"), 0));
    let later = with("\"format_version\":\"2\",\"checksum\":\"00000000\"");
    assert!(later.starts_with(": its `format_version` is `2`; this program knows version 1"), "{later}");
    assert!(later.contains("install"), "{later}");
    assert!(with("\"format_version\":\"1\"").starts_with(": damaged: it has a `format_version` and no"));
    assert!(with("\"checksum\":\"00000000\"").starts_with(": damaged: it has a `checksum` and no"));
    assert!(
        with("\"format_version\":\"1\",\"checksum\":\"x\"").starts_with(": damaged: its `checksum` is `x`")
    );
    assert!(
        with("\"format_version\":\"1\",\"checksum\":\"00000000\"")
            .starts_with(": damaged: its `checksum` is 00000000, that of its bytes ")
    );
    // A file from before there were versions, or of another program.
    let before = ModelFile::from_bytes(&with_header("{\"__metadata__\":{\"kind\":\"grid\"}}", 0)).unwrap();
    assert_eq!(before.metadata.len(), 1);
    for key in ["format_version", "checksum"] {
        let mut own = model();
        own.metadata.insert(key.to_owned(), String::new());
        assert!(matches!(own.to_bytes(), Err(ModelProblem::Key { key: found }) if found == key));
    }
    // What looks like the checksum in a title is not taken for it.
    let mut titled = model();
    titled.metadata.insert("a".to_owned(), "\"checksum\":\"00000000\"".to_owned());
    assert_eq!(ModelFile::from_bytes(&titled.to_bytes().unwrap()).unwrap().metadata, titled.metadata);
}

#[test]
fn the_checksum_of_a_model_is_that_of_its_file() {
    let whole = bytes(&model());
    let digits = model().checksum().unwrap();
    assert_eq!(digits.len(), 8);
    assert!(String::from_utf8_lossy(&whole).contains(&format!("\"checksum\":\"{digits}\"")));
    // Also where a title looks like one; other contents have another.
    let mut titled = model();
    titled.metadata.insert("a".to_owned(), "\"checksum\":\"00000000\"".to_owned());
    let other = titled.checksum().unwrap();
    assert!(
        String::from_utf8_lossy(&titled.to_bytes().unwrap()).contains(&format!("\"checksum\":\"{other}\""))
    );
    assert_ne!(digits, other);
    assert_eq!(digits, ModelFile::from_bytes(&whole).unwrap().checksum().unwrap());
}

#[test]
fn tables_know_how_many_elements_they_have() {
    for (data, length) in [
        (TableData::F32(vec![]), 0),
        (TableData::F64(vec![]), 0),
        (TableData::U32(vec![]), 0),
        (TableData::F32(vec![1.0]), 1),
        (TableData::F64(vec![1.0, 2.0]), 2),
        (TableData::U32(vec![1, 2, 3]), 3),
    ] {
        assert_eq!((data.len(), data.is_empty()), (length, length == 0));
    }
}
