//! Folders of text files: which files, in which order, under which labels.

use crate::common;

use common::{documents, documents_with, folder, gzip};
use countgrid_io::{Format, ReadOptions, Skipped};

#[test]
fn text_files_in_the_order_of_their_paths() {
    let folder = folder(&[
        ("b.txt", b"# Second\n\nText of b."),
        ("a/2.md", b"Two."),
        ("a/10.txt.gz", &gzip(b"Ten.")),
        ("c", b"No ending."),
        ("d.tex", b"Another ending."),
    ]);
    let (found, summary) = documents(folder.path());
    let ids: Vec<_> = found.iter().map(|document| document.id.as_str()).collect();
    assert_eq!(ids, ["a/10.txt.gz", "a/2.md", "b.txt", "c", "d.tex"]);
    assert_eq!(found[0].text, "Ten.");
    assert_eq!(found[2].title, "Second");
    assert_eq!(found[2].text, "# Second\n\nText of b.");
    assert_eq!((summary.format, summary.files, summary.bytes), (Format::Folder, 5, 53));
}

#[test]
fn what_is_no_text_is_counted() {
    let folder = folder(&[
        ("a.txt", b"Text."),
        (".hidden", b"Text."),
        (".git/config", b"Text."),
        (".git/head", b"Text."),
        ("empty.txt", b" \n"),
        ("picture.png", b"\x89PNG\0\0\0"),
        ("archive.gz", &gzip(b"tar\0\0")),
        ("latin.xyz", b"na\xefve"),
        ("noise.xyz", b"na\xef\x01e"),
        ("paper.pdf", b"%PDF-1.7\nna\xefve"),
        ("archive.zip", b"PK\x03\x04\0"),
        ("cut.txt.gz", &gzip(b"A text that is cut.")[..20]),
        ("table.csv", b"text\none\n"),
    ]);
    let (found, summary) = documents(folder.path());
    assert_eq!(found.iter().map(|document| document.text.as_str()).collect::<Vec<_>>(), ["Text.", "naïve"]);
    // With the feature `office` the archive is one that is damaged, and with `pdf` the PDF is.
    let (zip, pdf) = (cfg!(feature = "office"), cfg!(feature = "pdf"));
    let damaged = usize::from(zip) + usize::from(pdf);
    let (unreadable, unsupported) = (1 + damaged, 2 - damaged);
    let skipped = Skipped { hidden: 2, binary: 3, empty: 1, tables: 1, special: 0, unreadable, unsupported };
    assert_eq!(summary.skipped, skipped);
    let kinds =
        if unsupported > 0 { format!("{unsupported} of kinds that are not read, ") } else { String::new() };
    let told = format!(
        ", 1 of them in windows-1252; skipped {unreadable} unreadable, {kinds}2 hidden, 3 binary, 1 empty, 1 table"
    );
    assert!(summary.to_string().ends_with(&told), "{summary}");
    let left_out: Vec<_> = summary.left_out.iter().map(|left| (left.why.as_str(), left.lost)).collect();
    let binary = ("no text: it has control characters", false);
    let expected = [
        ("hidden", false), // .git
        ("hidden", false),
        binary,
        if zip {
            ("damaged ZIP: invalid Zip archive: Could not find EOCD", true)
        } else {
            (
                "a ZIP archive, for which the feature `archives` is needed, or `office` for a DOCX, ODT or EPUB, which is not read",
                true,
            )
        },
        ("the gzip stream ends too early", true),
        ("empty", false),
        binary,
        if pdf {
            ("damaged PDF: it ends before the table of its objects", true)
        } else {
            ("PDF, for which the feature `pdf` is needed, which is not read", true)
        },
        binary,
        ("a table among texts", false),
    ];
    assert_eq!(left_out, expected);
}

fn labels(files: &[&str]) -> Vec<Option<String>> {
    let files: Vec<_> = files.iter().map(|name| (*name, b"Text.".as_slice())).collect();
    let folder = folder(&files);
    documents(folder.path()).0.into_iter().map(|document| document.label).collect()
}

#[test]
fn the_first_subfolder_is_the_label() {
    let some = |label: &str| Some(label.to_owned());
    assert_eq!(labels(&["a.txt", "b.txt"]), [None, None]);
    assert_eq!(
        labels(&["x/a.txt", "x/deep/b.txt", "y/a.txt", "z.txt"]),
        [some("x"), some("x"), some("y"), None]
    );
    // One label for all would tell nothing: the labels begin where the paths part.
    assert_eq!(labels(&["train/x/a.txt", "train/y/b.txt"]), [some("x"), some("y")]);
    assert_eq!(labels(&["train/a.txt", "train/b.txt"]), [None, None]);
}

#[test]
fn a_title_is_the_first_line_or_the_name() {
    let long = "word ".repeat(40);
    let folder = folder(&[
        ("a.txt", b"\n====\n  A   title  \nText."),
        ("b.txt", long.as_bytes()),
        ("c.txt", b"***\n---\n"),
    ]);
    let titles: Vec<_> = documents(folder.path()).0.into_iter().map(|document| document.title).collect();
    assert_eq!(titles, ["A title", "b.txt", "c.txt"]);
}

#[test]
fn a_folder_that_holds_a_table_is_the_table() {
    let folder = folder(&[
        ("data/a.tsv.gz", &gzip(b"id\ttext\n1\tone\n")),
        ("README.md", b"About."),
        ("LICENSE", b"MIT"),
    ]);
    let (found, summary) = documents(folder.path());
    assert_eq!((found.len(), found[0].text.as_str()), (1, "one"));
    assert_eq!(summary.path, folder.path().join("data/a.tsv.gz"));
    // Unless its texts are what is asked for.
    let options = ReadOptions { format: Some(Format::Folder), ..ReadOptions::default() };
    let (found, summary) = documents_with(folder.path(), &options);
    let ids: Vec<_> = found.iter().map(|document| document.id.as_str()).collect();
    assert_eq!((ids, summary.skipped.tables), (vec!["LICENSE", "README.md"], 1));
}

#[test]
fn what_an_earlier_run_left_is_no_data() {
    let folder = folder(&[("a.csv", b"id,text\n1,one\n"), ("map.html", b"<html>"), ("m.txt", b"A model.")]);
    let ignore = ["map.html", "m.txt", "none"].map(|name| folder.path().join(name)).to_vec();
    let options = ReadOptions { ignore, ..ReadOptions::default() };
    let (found, summary) = documents_with(folder.path(), &options);
    assert_eq!((found.len(), found[0].text.as_str()), (1, "one"));
    assert_eq!(summary.path, folder.path().join("a.csv"));
}

#[cfg(unix)]
#[test]
fn links_to_files_are_read_and_links_to_folders_are_not() {
    use std::os::unix::fs::symlink;
    let outside = folder(&[("a.txt", b"Linked."), ("b/c.txt", b"Far.")]);
    let folder = folder(&[("z.txt", b"Here.")]);
    symlink(outside.path().join("a.txt"), folder.path().join("link.txt")).unwrap();
    symlink(outside.path(), folder.path().join("loop")).unwrap();
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    let (found, summary) = documents(folder.path());
    let texts: Vec<_> = found.iter().map(|document| document.text.as_str()).collect();
    assert_eq!(texts, ["Linked.", "Here."]);
    assert_eq!(summary.skipped.special, 2);
}

#[test]
fn tables_in_any_encoding_are_read_like_utf_8() {
    let text = "Die Größe der Fläche wird über alle Maße hinaus häufig überschätzt";
    let table = format!("id,text\r\nä,{text}\r\nö,\"{text}, noch öfter\"\r\n");
    let lines = format!("{{\"text\": \"{text}\"}}\n");
    let western = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>(); // all below U+0100
    let wide =
        |text: &str| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    for (encoding, table, lines, file) in [
        ("UTF-8", table.as_bytes().to_vec(), lines.as_bytes().to_vec(), text.as_bytes().to_vec()),
        ("windows-1252", western(&table), western(&lines), western(text)),
        ("UTF-16LE", wide(&table), wide(&lines), wide(text)),
    ] {
        let folder = folder(&[
            ("a.csv", &table),
            ("b.csv.gz", &gzip(&table)),
            ("c.jsonl", &lines),
            ("d", &table), // told by its first line
            ("texts/e.txt", &file),
        ]);
        for (name, texts) in [("a.csv", 2), ("b.csv.gz", 2), ("c.jsonl", 1), ("d", 2), ("texts", 1)] {
            let (found, summary) = documents(&folder.path().join(name));
            assert_eq!((found.len(), found[0].text.as_str()), (texts, text), "{encoding} {name}");
            let told: Vec<_> = summary.encodings.into_keys().collect();
            assert_eq!(told, if encoding == "UTF-8" { vec![] } else { vec![encoding] }, "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn what_cannot_be_opened_is_passed_over() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(&[("a.txt", b"Text."), ("closed.txt", b"Text."), ("shut/b.txt", b"Text.")]);
    let close = |name: &str, mode| {
        std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap()
    };
    ["closed.txt", "shut"].iter().for_each(|name| close(name, 0));
    let readable = std::fs::read(folder.path().join("closed.txt")).is_ok();
    let read = (!readable).then(|| documents(folder.path()));
    let options = ReadOptions { strict: true, ..ReadOptions::default() };
    let refused = countgrid_io::read(folder.path(), &options).err();
    close("shut", 0o700); // so that the folder can be removed
    let Some((found, summary)) = read else {
        eprintln!("skipped: this user may open any file");
        return;
    };
    assert_eq!((found.len(), summary.skipped.unreadable), (1, 2));
    assert!(refused.unwrap().to_string().contains("cannot be read: "));
    // A folder that itself cannot be opened is none with nothing in it.
    close("shut", 0);
    let refused = countgrid_io::read(folder.path().join("shut"), &ReadOptions::default()).err();
    close("shut", 0o700);
    assert!(refused.unwrap().to_string().contains("shut: cannot be read: "));
}

#[cfg(feature = "html")]
#[test]
fn pages_are_told_by_their_content() {
    let page = "<!-- saved -->\n<!doctype html><meta charset='iso-8859-5'><title>Мир</title><p>Широкая <b>дорога</b>";
    let cyrillic = |text: &str| -> Vec<u8> {
        text.chars().map(|c| if c.is_ascii() { c as u8 } else { (c as u32 - 0x360) as u8 }).collect()
    };
    let folder = folder(&[
        ("a", b"<HTML><body><p>Red<td>ants<script>var x;</script></body>"),
        ("b.htm", &cyrillic(page)),
        ("c.html", b"No page: 1 < 2 and a <b>tag</b>"),
        ("d.html.gz", &gzip(b"<html><head><title></title></head><body>Bees</body></html>")),
        ("e.html", b"<html><script>only()</script></html>"),
    ]);
    let (found, summary) = documents(folder.path());
    let found: Vec<_> =
        found.iter().map(|document| (document.title.as_str(), document.text.as_str())).collect();
    let plain = "No page: 1 < 2 and a <b>tag</b>";
    assert_eq!(found, [("Red", "Red\nants"), ("Мир", "Широкая дорога"), (plain, plain), ("Bees", "Bees")]);
    assert_eq!((summary.pages, summary.skipped.empty), (3, 1));
    assert_eq!(summary.encodings.into_iter().collect::<Vec<_>>(), [("ISO-8859-5", 1)]);
}

#[test]
fn json_files_that_are_an_object_each() {
    let folder = folder(&[
        ("x/a.json", b"{\"id\": null, \"text\": \"Red ants.\", \"year\": 1999,\n \"more\": []}\n"),
        ("x/b.json", b"\xef\xbb\xbf\n {\"id\": 7, \"text\": \"Blue ants.\", \"year\": 2004}"),
        ("y/c.json.gz", &gzip(b"{\"text\": \"A red sky.\"}")),
        ("y/cut.json", b"{\"text\": \"A red"),
        ("y/lines.json", b"{\"text\": \"One.\"}\n{\"text\": \"Two.\"}\n"),
        ("y/none.json", b"\n{\"title\": \"No text\"}"),
        ("README", b"Three documents."),
    ]);
    let (found, summary) = documents(folder.path());
    let parts = |d: &countgrid_io::Document| (d.id.clone(), d.text.clone(), d.label.clone().unwrap(), d.line);
    let expected = [
        ("x/a.json", "Red ants.", "x", 1),
        ("7", "Blue ants.", "x", 2),
        ("y/c.json.gz", "A red sky.", "y", 1),
    ];
    let expected =
        expected.map(|(id, text, label, line)| (id.to_owned(), text.to_owned(), label.to_owned(), line));
    assert_eq!(found.iter().map(parts).collect::<Vec<_>>(), expected);
    assert_eq!(
        (summary.format, summary.files, summary.documents, summary.labels),
        (countgrid_io::Format::JsonLines, 3, 3, 2)
    );
    let left_out: Vec<_> = summary.left_out.iter().map(|left| left.why.as_str()).collect();
    assert_eq!((left_out.len(), summary.skipped.unreadable), (3, 3), "{left_out:?}");
    assert!(
        left_out[0].contains("not JSON: EOF") && left_out[1].contains("not JSON: trailing"),
        "{left_out:?}"
    );
    assert_eq!(left_out[2], "a string is expected under `text`, found no such key");
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    let refused = countgrid_io::read(folder.path(), &strict).unwrap_err();
    assert_eq!((refused.file(), refused.line()), (folder.path().join("y/cut.json").as_path(), Some(1)));
    // A label of its own counts, and an array is a table.
    let other = common::folder(&[
        ("x/a.json", b"{\"text\": \"Red ants.\", \"label\": \"red\"}"),
        ("x/b.json", b"{\"text\": \"Blue ants.\", \"label\": null}"),
    ]);
    let (found, _) = documents(other.path());
    assert_eq!(found.iter().map(|d| d.label.as_deref()).collect::<Vec<_>>(), [Some("red"), None]);
    std::fs::write(other.path().join("c.json"), "[{\"text\": \"One.\"}]").unwrap();
    let refused = countgrid_io::read(other.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("3 data files and no text files"), "{refused}");
}
