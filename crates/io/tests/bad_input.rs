//! Every refusal by name, with its whole message: file, line, what is wrong, remedy.

use crate::common;

use common::{folder, gzip, refusal};
use countgrid_io::{Columns, Format, Limits, ReadOptions};

/// What is said to one file of this name.
fn says(name: &str, bytes: &[u8]) -> String {
    let folder = folder(&[(name, bytes)]);
    refusal(folder.path(), name, &ReadOptions::default())
}

const LINE: &str =
    "remedy: mend the line; each line, or each element of an array, must be one whole JSON object";
const CSV: &str =
    "remedy: mend the line; a field that holds the separator, a quote or a line end must be in double quotes";
const TSV: &str = "remedy: mend the line; fields are separated by one tab and hold no tab or line end";
const GZIP: &str = "remedy: fetch the file again; `gzip -t '~/a.csv.gz'` tells whether it is whole";

#[test]
fn a_path_that_is_not_there() {
    let folder = folder(&[]);
    assert_eq!(
        refusal(folder.path(), "a.csv", &ReadOptions::default()),
        "~/a.csv: cannot be read: No such file or directory (os error 2)\nremedy: check the spelling of the path"
    );
}

#[test]
fn a_folder_without_documents() {
    let remedy = "remedy: name a folder with text files, or a CSV, TSV or JSONL file with a text column";
    let empty = folder(&[]);
    assert_eq!(refusal(empty.path(), "", &ReadOptions::default()), format!("~/: no documents\n{remedy}"));
    let useless = folder(&[(".hidden", b"text"), ("blank.txt", b" \n"), ("image.png", b"\x89PNG\0\0")]);
    assert_eq!(
        refusal(useless.path(), "", &ReadOptions::default()),
        format!("~/: no documents; 3 files skipped\n{remedy}")
    );
}

#[test]
fn a_folder_with_several_tables() {
    let folder = folder(&[("a.csv", b"text\n"), ("b/c.jsonl", b"{}"), ("README", b"Two.")]);
    assert_eq!(
        refusal(folder.path(), "", &ReadOptions::default()),
        "~/: 2 data files and no text files: `a.csv`, `b/c.jsonl`\nremedy: name one of them"
    );
}

#[test]
fn an_empty_file() {
    let remedy = "remedy: check how the file was made, or name another";
    for bytes in [b"".as_slice(), b"\n\r\n  \n"] {
        for name in ["a.csv", "a.tsv", "a.jsonl"] {
            let expected = format!("~/{name}: empty, there is nothing to read\n{remedy}");
            assert_eq!(says(name, bytes), expected, "{bytes:?}");
        }
    }
    assert_eq!(
        says("a.csv.gz", &gzip(b"")),
        format!("~/a.csv.gz: empty, there is nothing to read\n{remedy}")
    );
}

#[test]
fn a_table_with_a_header_alone() {
    assert_eq!(
        says("a.csv", b"id,text\n\n"),
        "~/a.csv: no documents\nremedy: name a folder with text files, or a CSV, TSV or JSONL file with a text column"
    );
}

#[test]
fn a_record_of_another_length_than_the_header() {
    assert_eq!(
        says("a.csv", b"id,text\n1,\"two\nlines\"\n\n2,a,b\n"),
        format!("~/a.csv, line 5: 3 fields, but the header names 2\n{CSV}")
    );
    assert_eq!(
        says("a.csv", b"id,text\r\n1,one\r\n2\r\n"),
        format!("~/a.csv, line 3: 1 field, but the header names 2\n{CSV}")
    );
    assert_eq!(
        says("a.tsv", b"id\ttext\n1\tone\n2\ta\tb\n"),
        format!("~/a.tsv, line 3: 3 fields, but the header names 2\n{TSV}")
    );
}

#[test]
fn a_quote_that_is_never_closed() {
    let remedy = "remedy: close the quote; a quote inside a quoted field is written twice";
    for end in ["", "\n", "\n3,three\n"] {
        assert_eq!(
            says("a.csv", format!("id,text\n1,one\n2,\"two{end}").as_bytes()),
            format!("~/a.csv, line 3: a double quote opens in this record and is never closed\n{remedy}")
        );
    }
}

#[test]
fn damaged_utf_8() {
    let remedy = "remedy: mend the text there: most of it is in this encoding";
    // A byte order mark counts, and so do line ends.
    for (name, bytes, line, byte) in [
        ("a.csv", b"\xef\xbb\xbfid,text\r\n1,na\xefve\r\n".as_slice(), 2, 16),
        ("a.tsv", b"id\ttext\n1\tna\xc3\xafve caf\xc3\xa9 \xef\n", 2, 23),
        ("a.jsonl", b"{\"text\":\"\xc3\xa4\xc3\xa4\"}\n{\"text\":\"na\xefve\"}", 2, 27),
    ] {
        assert_eq!(says(name, bytes), format!("~/{name}, line {line}: not UTF-8 at byte {byte}\n{remedy}"));
    }
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    for name in ["a.txt", "b/37913", "c.xyz"] {
        let folder = folder(&[(name, b"\xc3\xa4\xc3\xb6\nna\xefve\n"), ("d.txt", b"Fine.")]);
        let path = folder.path().join(name);
        let message = countgrid_io::read(folder.path(), &strict).unwrap_err().to_string();
        assert_eq!(message, format!("{}, line 2: not UTF-8 at byte 7\n{remedy}", path.display()));
        let (_, summary) = countgrid_io::read(folder.path(), &ReadOptions::default()).unwrap();
        assert_eq!((summary.skipped.unreadable, summary.left_out.len()), (1, 1));
        assert_eq!((summary.left_out[0].path.as_path(), summary.left_out[0].lost), (path.as_path(), true));
    }
}

#[test]
fn a_gzip_stream_cut_short_or_damaged() {
    let noise: String = (0..20_000u32).map(|i| i.wrapping_mul(2_654_435_761).to_string() + "\n").collect();
    let whole = gzip(format!("text\n{noise}").as_bytes());
    for length in [2, 9, 20, whole.len() / 2, whole.len() - 1] {
        let message = says("a.csv.gz", &whole[..length]);
        assert!(message.starts_with("~/a.csv.gz"), "{message}");
        assert!(
            message.ends_with(&format!(": the gzip stream ends too early\n{GZIP}")),
            "{length}: {message}"
        );
    }
    let mut damaged = whole.clone();
    damaged[whole.len() - 6] ^= 1; // the checksum
    let message = says("a.csv.gz", &damaged);
    assert!(message.contains(", line ") && message.contains(": the gzip stream is damaged: "), "{message}");
    let trailing = [whole.as_slice(), b"not another gzip stream"].concat();
    let message = says("a.csv.gz", &trailing);
    assert!(message.contains(": the gzip stream is damaged: "), "{message}");
}

#[test]
fn a_column_that_is_not_there() {
    let folder =
        folder(&[("a.csv", b"id,text\n1,one\n"), ("a.jsonl", b"{\"id\":1,\"text\":\"one\",\"tags\":[]}")]);
    let named = |columns| ReadOptions { columns, ..ReadOptions::default() };
    let wrong = Some("Body".to_owned());
    for (role, columns) in [
        ("text", Columns { text: wrong.clone(), ..Columns::default() }),
        ("title", Columns { title: wrong.clone(), ..Columns::default() }),
        ("label", Columns { label: wrong.clone(), ..Columns::default() }),
        ("id", Columns { id: wrong.clone(), ..Columns::default() }),
    ] {
        for file in ["a.csv", "a.jsonl"] {
            assert_eq!(
                refusal(folder.path(), file, &named(columns.clone())),
                format!(
                    "~/{file}, line 1: no {role} column `Body`; the columns are `id`, `text`\n\
                     remedy: name one of these as the {role} column"
                )
            );
        }
    }
}

#[test]
fn no_column_that_is_known_to_hold_text() {
    assert_eq!(
        says("a.csv", b"the,first,line is data\nthe,second,too\n"),
        "~/a.csv, line 1: no column is known to hold text, and no two others hold numbers; the \
         columns are `the`, `first`, `line is data`\n\
         remedy: name the column that holds the text; if the first line is data already, put a \
         header line such as `title,text` above it"
    );
    let wide = (0..100).map(|i| format!("w{i}")).collect::<Vec<_>>().join(",");
    assert!(says("a.csv", wide.as_bytes()).contains("`w11` and 88 more\n"));
}

#[test]
fn a_line_that_is_not_a_json_object() {
    let second = |line: &str| says("a.jsonl", format!("{{\"text\":\"one\"}}\n{line}\n").as_bytes());
    for (line, wrong) in [
        ("{\"text\":\"two\"", "not JSON: EOF while parsing an object at column 13"),
        ("{\"text\":\"two\"} {}", "not JSON: trailing characters at column 16"),
        ("two", "not JSON: expected ident at column 2"),
        ("[1]", "a JSON object is expected, found `[1]`"),
        ("\"two\"", "a JSON object is expected, found `\"two\"`"),
    ] {
        assert_eq!(second(line), format!("~/a.jsonl, line 2: {wrong}\n{LINE}"));
    }
    // Values that nobody asks for are passed over, however deep, without recursion.
    let deep =
        |open: &str| format!("{{\"text\":\"two\",\"a\":{}{}}}", "[".repeat(100_000), open.repeat(100_000));
    assert!(second(&deep("")).contains("line 2: not JSON: expected value at column 100019\n"));
    let folder = folder(&[("a.jsonl", deep("]").as_bytes())]);
    assert!(countgrid_io::read(folder.path().join("a.jsonl"), &ReadOptions::default()).is_ok());
}

#[test]
fn a_json_object_without_its_text() {
    let remedy = "remedy: mend or remove the line, or name another text column";
    for (line, found) in [
        ("{\"id\":2}", "no such key"),
        ("{\"text\":null}", "null"),
        ("{\"text\":5}", "a number"),
        ("{\"text\":[\"two\"]}", "an array"),
    ] {
        assert_eq!(
            says("a.jsonl", format!("{{\"text\":\"one\"}}\n{line}\n").as_bytes()),
            format!("~/a.jsonl, line 2: a string is expected under `text`, found {found}\n{remedy}")
        );
    }
}

#[test]
fn a_file_of_no_known_kind() {
    assert_eq!(
        says("a.txt", b"Once upon a time, there was a text.\n"),
        "~/a.txt: not recognised as a table, as JSON or as counts\n\
         remedy: give a table a header line and the ending .csv, .tsv or .jsonl; put text files into a folder and \
         name the folder"
    );
    assert!(says("a.txt", b"Once, a text, and no more of it than that\n").contains("not recognised"));
    let folder = folder(&[("a.csv", b"text\none\n")]);
    let options = ReadOptions { format: Some(Format::Folder), ..ReadOptions::default() };
    assert_eq!(
        refusal(folder.path(), "a.csv", &options),
        "~/a.csv: not a folder\nremedy: name a folder, or the format that the file has"
    );
}

#[test]
fn more_than_the_limits() {
    let limits = |record_bytes, total_bytes| ReadOptions {
        limits: Limits { record_bytes, total_bytes },
        ..ReadOptions::default()
    };
    let long = "x".repeat(100);
    let bomb = gzip("text\n".repeat(1 << 20).as_bytes());
    let folder = folder(&[
        ("a.csv", format!("text\n{long}\n").as_bytes()),
        ("quoted.csv", format!("text\n\"{}\"\n", "x\n".repeat(50)).as_bytes()),
        ("a.tsv", format!("text\n{long}\n").as_bytes()),
        ("a.jsonl", format!("\n{{\"text\":\"{long}\"}}\n").as_bytes()),
        ("bomb.csv.gz", &bomb),
        ("texts/a.txt", long.as_bytes()),
    ]);
    let long = |file: &str| refusal(folder.path(), file, &limits(99, 1000));
    let remedy = "remedy: split the text into several documents, or raise the limit";
    let nothing = "remedy: name a folder with text files, or a CSV, TSV or JSONL file with a text column";
    let wrong = "longer than 99 bytes, the limit for one record";
    for file in ["a.csv", "quoted.csv", "a.tsv", "a.jsonl"] {
        assert_eq!(long(file), format!("~/{file}, line 2: {wrong}\n{remedy}"));
    }
    let skipped = format!("~/texts: no documents; 1 file skipped, such as a.txt: {wrong}\n{nothing}");
    assert_eq!(long("texts"), skipped);
    // At the limit all is well.
    for file in ["a.csv", "quoted.csv", "a.tsv", "texts"] {
        countgrid_io::read(folder.path().join(file), &limits(100, 1000)).unwrap();
    }
    let message = refusal(folder.path(), "bomb.csv.gz", &limits(1 << 20, 1 << 20));
    assert!(
        message.ends_with(
            ": more than 1048576 bytes after decompression, the limit for a data set\n\
             remedy: check that this is the file you mean; if it is, raise the limit"
        ),
        "{message}"
    );
    let message = refusal(folder.path(), "texts", &limits(1000, 99));
    assert!(message.starts_with("~/texts/a.txt: more than 99 bytes"), "{message}");
}

#[test]
fn messages_are_one_line_of_plain_characters() {
    let message = says("a.csv", b"a\x1b[31mb,\"c\nd\"\nx,y\n");
    assert_eq!(message.lines().count(), 2, "{message}");
    assert!(!message.contains('\x1b'), "{message}");
}
