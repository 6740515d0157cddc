//! What is read of a folder and of the archives in it, and what is passed over and why.

use crate::common;

use common::{documents, folder};
use countgrid_io::{Format, ReadOptions, Skipped, read, read_all};

/// What a document of an old Office program begins with.
const OLD: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 text of some kind";

#[test]
fn all_that_was_skipped_is_its_sum() {
    let skipped = Skipped {
        hidden: 1,
        binary: 20,
        empty: 300,
        tables: 4000,
        special: 50_000,
        unreadable: 600_000,
        unsupported: 7_000_000,
    };
    assert_eq!(skipped.total(), 7_654_321);
    assert_eq!(Skipped::default().total(), 0);
}

#[test]
fn what_is_lost_is_what_may_have_held_documents() {
    let folder = folder(&[
        ("a.txt", b"Red ants walk."),
        ("b.txt.gz", &common::gzip(b"A text that is cut.")[..20]),
        ("c.doc", OLD),
        ("d.doc", OLD),
        ("e.txt", b""),
    ]);
    let (found, summary) = documents(folder.path());
    assert_eq!(found.len(), 1);
    let expected = Skipped { unreadable: 1, unsupported: 2, empty: 1, ..Skipped::default() };
    assert_eq!((summary.skipped, summary.skipped.total()), (expected, 4));
    let told: Vec<_> = summary.left_out.iter().map(|left| (left.why.as_str(), left.lost)).collect();
    let old = ("a document of an old Office program, which is not read", true);
    assert_eq!(told, [("the gzip stream ends too early", true), old, old, ("empty", false)]);
    // Where nothing is to be passed over, the first of them is an error.
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    let refused = read(folder.path(), &strict).unwrap_err();
    assert!(refused.file().ends_with("b.txt.gz"), "{refused}");
}

#[cfg(unix)]
#[test]
fn of_several_folders_what_was_skipped_is_added_up() {
    let cut = &common::gzip(b"A text that is cut.")[..20];
    let one: [(&str, &[u8]); 7] = [
        ("a.txt", b"Red ants walk."),
        (".hidden", b"x"),
        ("binary", b"a\0b"),
        ("empty", b" "),
        ("table.csv", b"text\nx\n"),
        ("cut.gz", cut),
        ("old.doc", OLD),
    ];
    let mut two = one.to_vec();
    two.extend([(".more/x", &b"x"[..]), ("binary 2", b"a\0b"), ("empty 2", b""), ("empty 3", b"\n")]);
    two.extend([
        ("b.tsv", &b"text\nx\n"[..]),
        ("cut 2.gz", cut),
        ("cut 3.gz", cut),
        ("cut 4.gz", cut),
        ("2.doc", OLD),
    ]);
    let (one, two) = (folder(&one), folder(&two));
    for (folder, links) in [(&one, 1), (&two, 4)] {
        for link in 0..links {
            std::os::unix::fs::symlink("nowhere", folder.path().join(format!("link {link}"))).unwrap();
        }
    }
    let (_, summary) = read_all(&[one.path(), two.path()], &ReadOptions::default()).unwrap();
    let expected = Skipped {
        hidden: 1 + 2,
        binary: 1 + 2,
        empty: 1 + 3,
        tables: 1 + 2,
        special: 1 + 4,
        unreadable: 1 + 4,
        unsupported: 1 + 2,
    };
    assert_eq!((summary.documents, summary.skipped), (2, expected));
    assert_eq!(summary.left_out.len(), expected.total());
}

/// Folders whose path is longer than the system takes cannot be opened, whoever asks.
#[cfg(target_os = "linux")]
#[test]
fn folders_that_cannot_be_opened_are_passed_over() {
    let folder = folder(&[("a.txt", b"Red ants walk.")]);
    let deep = |name: &str| -> (std::path::PathBuf, std::path::PathBuf) {
        let top = folder.path().join(name);
        let all = (0..12).fold(top.clone(), |path, _| path.join("d".repeat(200)));
        std::fs::create_dir_all(&all).unwrap();
        (top, all)
    };
    let ((_, first), (second, _)) = (deep("first"), deep("second"));
    std::fs::rename(second, first.join("second")).unwrap(); // together longer than 4096 bytes
    let (found, summary) = documents(folder.path());
    assert_eq!((found.len(), found[0].text.as_str()), (1, "Red ants walk."));
    assert_eq!(summary.skipped, Skipped { unreadable: 1, ..Skipped::default() });
    assert!(summary.left_out[0].lost && summary.left_out[0].why.starts_with("cannot be read: "));
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    let refused = read(folder.path(), &strict).unwrap_err();
    assert!(refused.file().starts_with(&first), "{refused}");
}

/// An object in JSON among texts is a table that is passed over, not what the folder holds.
#[test]
fn texts_come_before_objects() {
    let folder = folder(&[("a.txt", b"Red ants walk."), ("b.json", b"{\"text\": \"Black ants run.\"}")]);
    let (found, summary) = documents(folder.path());
    assert_eq!((found.len(), found[0].text.as_str()), (1, "Red ants walk."));
    assert_eq!((summary.format, summary.skipped.tables), (Format::Folder, 1));
}

/// A first line of as many characters as a title has is one, and no blank or mark is put behind it.
#[test]
fn a_first_line_is_a_title_up_to_a_length() {
    for length in 78..=82 {
        let line = format!("{} ants", "a".repeat(length - 5));
        let folder = folder(&[("a.txt", format!("{line}\n\nRed ants walk.").as_bytes())]);
        let title = &documents(folder.path()).0[0].title;
        assert_eq!(title, if length <= 80 { &line } else { "a.txt" }, "{length}");
    }
}

#[cfg(feature = "archives")]
mod archives {
    use super::*;

    use std::io::{Cursor, Write};

    use common::documents_with;
    use countgrid_io::Limits;
    use zip::write::{SimpleFileOptions, ZipWriter};

    /// A ZIP file with these files, uncompressed.
    fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
            archive.start_file(*name, options).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn limited(record_bytes: usize) -> ReadOptions {
        let limits = Limits { record_bytes, ..Limits::default() };
        ReadOptions { limits, ..ReadOptions::default() }
    }

    /// An archive that is longer than a record may be is read where it lies; a file in it may be as long as one.
    #[test]
    fn an_archive_may_be_longer_than_its_files() {
        let texts = [b"Red ants walk.".repeat(20), b"Black ants run.".repeat(20), b"Ants.".repeat(20)];
        let files: Vec<_> = ["a", "b", "c"].into_iter().zip(texts.iter().map(Vec::as_slice)).collect();
        let archive = zip(&files);
        let folder = folder(&[("a.zip", &archive)]);
        let limit = texts[1].len();
        assert!(archive.len() > limit && texts[0].len() < limit);
        let (found, summary) = documents_with(&folder.path().join("a.zip"), &limited(limit));
        assert_eq!((found.len(), summary.left_out.len()), (3, 0));
        let (found, summary) = documents_with(&folder.path().join("a.zip"), &limited(limit - 1));
        assert_eq!(found.iter().map(|document| document.id.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert!(summary.left_out[0].why.starts_with("longer than"), "{:?}", summary.left_out);
        assert!(summary.left_out[0].path.ends_with("a.zip/b"));
    }

    #[test]
    fn links_in_an_archive_are_passed_over() {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        archive.add_symlink("link.txt", "a.txt", SimpleFileOptions::default()).unwrap();
        archive.start_file("a.txt", SimpleFileOptions::default()).unwrap();
        archive.write_all(b"Red ants walk.").unwrap();
        let folder = folder(&[("a.zip", &archive.finish().unwrap().into_inner())]);
        let (found, summary) = documents(&folder.path().join("a.zip"));
        assert_eq!((found.len(), found[0].id.as_str(), summary.left_out.len()), (1, "a.txt", 0));
    }

    #[cfg(feature = "office")]
    #[test]
    fn a_document_that_is_an_archive_is_read_as_one_up_to_the_limit() {
        let docx = crate::office::docx();
        let folder = folder(&[("a.docx", &docx)]);
        let (found, summary) = documents_with(&folder.path().join("a.docx"), &limited(docx.len()));
        assert_eq!((found.len(), found[0].title.as_str()), (1, "On ants"));
        assert_eq!(summary.format, Format::Document);
    }

    /// Its first bytes do not tell that it is a workbook.
    #[cfg(feature = "office")]
    #[test]
    fn a_workbook_among_texts_is_no_archive() {
        let long = [b"<x/>".repeat(5000)].concat();
        let book = zip(&[("docProps/app.xml", &long), ("xl/workbook.xml", b"<workbook/>")]);
        let folder = folder(&[("a.txt", b"Red ants walk."), ("b", &book)]);
        let (found, summary) = documents(folder.path());
        assert_eq!((found.len(), summary.skipped.unsupported), (1, 1));
        assert_eq!(summary.left_out[0].why, "a workbook among texts, which is not read");
    }
}
