//! An array of objects is what its elements are on lines.

use crate::common;

use std::io::{BufReader, Cursor, Read};

use countgrid_io::{Columns, Document, Problem, ReadError, read_json_lines};
use proptest::prelude::*;

/// From a reader that gives so many bytes at a time.
fn read(text: &str, piece: usize) -> Result<Vec<Document>, ReadError> {
    let reader = BufReader::with_capacity(piece, Cursor::new(text.to_owned().into_bytes()));
    read_json_lines(reader, "a.json", &Columns::default())
}

/// Id, label and text of each.
fn parts(documents: &[Document]) -> Vec<(&str, Option<&str>, &str)> {
    documents.iter().map(|d| (d.id.as_str(), d.label.as_deref(), d.text.as_str())).collect()
}

fn space() -> impl Strategy<Value = String> {
    "[ \t\r\n]{0,3}"
}

proptest! {
    #[test]
    fn an_array_is_its_elements_on_lines(
        texts in prop::collection::vec("[a-z\"\\\\,{}\\[\\]é ]{1,12}", 1..8),
        spaces in prop::collection::vec(space(), 24),
        mark: bool,
        piece in 4usize..40,
    ) {
        let objects: Vec<String> = texts.iter().enumerate().map(|(i, text)| {
            serde_json::json!({"text": format!("x{text}"), "label": i % 2, "more": [{"text": "]"}, [","]]}).to_string()
        }).collect();
        let mut spaces = spaces.into_iter().cycle();
        let mut space = || spaces.next().unwrap_or_default();
        let elements: Vec<String> = objects.iter().map(|object| format!("{}{object}{}", space(), space())).collect();
        let array = format!("{}{}[{}]{}", if mark { "\u{feff}" } else { "" }, space().trim_start_matches('\r'), elements.join(","), space());
        let (lines, array) = (read(&objects.join("\n"), 512).unwrap(), read(&array, piece.max(array.find('[').unwrap_or(0) + 1)).unwrap());
        prop_assert_eq!(parts(&lines), parts(&array));
    }

    #[test]
    fn any_bytes_behind_a_bracket_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), piece in 1usize..9) {
        let bytes = [&b"[{\"text\":\"a\"}"[..], &bytes].concat();
        let mut reader = BufReader::with_capacity(piece, Cursor::new(bytes));
        _ = read_json_lines(reader.by_ref(), "a.json", &Columns::default());
    }
}

#[test]
fn what_is_wrong_with_an_array_is_said_with_its_line() {
    let ok = "{\"text\": \"one\"}";
    for (text, said) in [
        ("[]".to_owned(), "a.json: empty"),
        (format!("[{ok}"), "a.json, line 1: not JSON: the array has no end"),
        (format!("[{ok},\n"), "a.json, line 1: not JSON: the array has no end"),
        (format!("[\n{ok},\n]"), "a.json, line 3: not JSON: no element after a comma"),
        (format!("[\n,{ok}]"), "a.json, line 2: not JSON: no element before a comma"),
        (format!("[{ok},,{ok}]"), "a.json, line 1: not JSON: no element before a comma"),
        (format!("[{ok}]\n[{ok}]"), "a.json, line 2: not JSON: something after the end of the array"),
        (format!("[{ok},\n5]"), "a.json, line 2: a JSON object is expected, found `5`"),
        (
            format!("[{ok},\n{{\"id\": 2}}]"),
            "a.json, line 2: a string is expected under `text`, found no such key",
        ),
        (
            format!("[{ok},\n{{\"text\":\n\"two\",\n\"id\" 5}}]"),
            "a.json, line 4: not JSON: expected `:` at column 6",
        ),
        (format!("[{ok}}}]"), "a.json, line 1: not JSON: trailing characters at column 16"),
    ] {
        let found = read(&text, 512).unwrap_err().to_string();
        assert!(found.starts_with(said), "{text}: {found}");
    }
}

#[test]
fn lines_of_documents_are_where_their_elements_begin() {
    let documents = read("\n[\n {\"text\": \"one\"},\n {\n  \"text\": \"two\"\n }\n]\n", 512).unwrap();
    assert_eq!(documents.iter().map(|document| document.line).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn columns_may_be_named() {
    let lines = "{\"text\": \"No.\", \"note\": \"Red ants walk.\"}\n";
    let columns = Columns { text: Some("note".to_owned()), ..Columns::default() };
    let documents = read_json_lines(lines.as_bytes(), "a.jsonl", &columns).unwrap();
    assert_eq!(documents[0].text, "Red ants walk.");
}

/// By the values of the first object columns are found; a text must be one in each.
#[test]
fn values_that_are_no_text_are_named() {
    for (value, kind) in [
        ("{\"a\": 1}", "an object"),
        ("[1]", "an array"),
        ("null", "null"),
        ("true", "true or false"),
        ("false", "true or false"),
        ("-7", "a number"),
    ] {
        let said =
            read(&format!("{{\"text\": \"one\"}}\n{{\"text\": {value}}}\n"), 512).unwrap_err().to_string();
        let expected = format!("a.json, line 2: a string is expected under `text`, found {kind}");
        assert!(said.starts_with(&expected), "{said}");
        // Of the first, lists and objects are no columns.
        let said = read(&format!("{{\"text\": {value}, \"x\": \"y\"}}\n"), 512).unwrap_err().to_string();
        let expected = match kind {
            "an object" | "an array" => "a.json, line 1: no column ",
            _ => "a.json, line 1: a string is expected under `text`, found ",
        };
        assert!(said.starts_with(expected), "{said}");
    }
    // Numbers and truths may be labels, and no label is one.
    let lines = "{\"text\": \"one\", \"label\": true}\n{\"text\": \"two\", \"label\": 7}\n{\"text\": \"three\", \"label\": null}\n";
    let documents = read(lines, 512).unwrap();
    let labels: Vec<_> = documents.iter().map(|document| document.label.as_deref()).collect();
    assert_eq!(labels, [Some("true"), Some("7"), None]);
    let said =
        read("{\"text\": \"one\", \"label\": 1}\n{\"text\": \"two\", \"label\": [2]}\n", 512).unwrap_err();
    assert!(said.to_string().contains("under `label`, found an array"), "{said}");
}

#[test]
fn a_byte_that_is_no_text_is_named_by_its_place() {
    let mut bytes = b"[{\"text\": \"one\"},\n {\"text\": \"two #\"}]".to_vec();
    let place = bytes.iter().position(|&byte| byte == b'#').unwrap();
    bytes[place] = 0xff;
    let refused = read_json_lines(&bytes[..], "a.json", &Columns::default()).unwrap_err();
    assert!(matches!(refused.problem(), Problem::NotUtf8 { byte } if *byte == place as u64), "{refused}");
}

/// In the encoding of each file, however much of it must be read to see how it begins.
#[cfg(feature = "files")]
#[test]
fn files_of_an_object_each_are_a_folder() {
    let utf16 = |text: &str| -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let long = utf16(&format!("{{\"text\": \"Bees. {}\"}}", "word ".repeat(4000)));
    let folder = common::folder(&[
        ("1.json", b"\n\n{\"text\": \"Red ants.\"}\n"),
        ("2.json", &long),
        ("3.json", &long),
        ("4.json", format!("{{\"text\": \"{}\"}}", "word ".repeat(4000)).as_bytes()),
    ]);
    let (found, summary) = common::documents(folder.path());
    assert_eq!(found.iter().map(|document| document.line).collect::<Vec<_>>(), [3, 1, 1, 1]);
    assert_eq!(summary.encodings.iter().collect::<Vec<_>>(), [(&"UTF-16LE", &2)]);
    assert_eq!(summary.skipped.total(), 0);
}
