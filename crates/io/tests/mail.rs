//! Messages and mailboxes, written by Python (`fixtures/make.py`).

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{documents, documents_with, folder};
use countgrid_io::{Document, Format, Item, Limits, ReadError, ReadOptions, visit};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(fixture(name)).unwrap()
}

fn words(documents: &[Document]) -> Vec<String> {
    documents.iter().map(|document| document.text.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn twins() -> Vec<String> {
    fs::read_to_string(fixture("twins.txt")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn messages_have_the_words_of_their_twins() {
    let mails: Vec<(String, Vec<u8>)> =
        (0..6).map(|number| (format!("mail-{number}"), bytes(&format!("{number}.eml")))).collect();
    let mails: Vec<(&str, &[u8])> =
        mails.iter().map(|(name, mail)| (name.as_str(), mail.as_slice())).collect();
    let folder = folder(&mails);
    let (found, _) = documents(folder.path());
    assert_eq!(words(&found), twins());
    let titles: Vec<_> = found.iter().map(|document| document.title.as_str()).collect();
    assert_eq!(titles[..3], ["Die Größe der Fläche", "Red ants", "Широкая дорога"]);
}

#[test]
fn a_mailbox_is_a_folder_of_messages() {
    let (found, summary) = documents(&fixture("all.mbox"));
    assert_eq!(words(&found), twins());
    assert_eq!((summary.format, summary.documents, summary.labels), (Format::Mailbox, 6, 0));
    assert_eq!(
        found.iter().map(|document| document.id.as_str()).collect::<Vec<_>>(),
        ["1", "2", "3", "4", "5", "6"]
    );
    let text = fs::read_to_string(fixture("all.mbox")).unwrap();
    for document in &found {
        assert!(
            text.lines().nth(document.line as usize - 1).unwrap().starts_with("From "),
            "{}",
            document.line
        );
    }
    // Several are labels.
    let folder = folder(&[("a.mbox", &bytes("all.mbox")), ("b", &bytes("all.mbox"))]);
    let (found, summary) = documents(folder.path());
    assert_eq!((found.len(), summary.labels, summary.files), (12, 2, 2));
    assert_eq!((found[6].id.as_str(), found[6].label.as_deref()), ("b/1", Some("b")));
}

#[test]
fn who_wrote_it_and_when_are_columns() {
    let folder = folder(&[("a.txt", b"No mail."), ("b.mbox", &bytes("all.mbox")), ("c.txt", b"None.")]);
    let (mut names, mut fields, mut before) = (Vec::new(), Vec::new(), 0);
    let options = ReadOptions { other_columns: true, ..ReadOptions::default() };
    visit(folder.path(), &options, |item| {
        match item {
            Item::OtherColumns(found) => names.push((found, before)),
            Item::OtherFields(found) => fields.push(found.join("|")),
            Item::Document(_) => before += 1,
            _ => {}
        }
        Ok::<_, ReadError>(())
    })
    .unwrap();
    assert_eq!(names, [(vec!["from".to_owned(), "date".to_owned()], 1)]);
    assert_eq!(fields[0], "Änne Müller|2026-01-05 10:00:00");
    assert_eq!(fields[2], "Иван|2026-01-07 10:02:00");
    assert_eq!((fields.len(), fields[6].as_str()), (7, "|"));
}

#[test]
fn what_is_no_message_stays_text() {
    for text in [
        "Subject: ants\n\nText",
        "From: here\nto there it is far\n\nText",
        "From the start\nof: it",
        "Note: a\nTo: b\n",
    ] {
        let folder = folder(&[("a.txt", text.as_bytes())]);
        assert_eq!(documents(folder.path()).0[0].text, text);
    }
}

#[test]
fn what_is_encrypted_empty_or_too_long_is_passed_over() {
    let secret =
        b"From: a@b.org\nSubject: x\nContent-Type: multipart/encrypted; boundary=x\n\n--x\n\nabc\n--x--\n";
    let empty = b"From: a@b.org\nSubject: x\n\n";
    let long =
        [b"From a\nFrom: a@b.org\nSubject: x\n\n".as_slice(), &b"word ".repeat(1000), b"\n\n"].concat();
    let mailbox = [&bytes("all.mbox")[..], &long, &bytes("all.mbox")].concat();
    let folder = folder(&[("a", secret), ("b", empty), ("c", &mailbox)]);
    let limits = Limits { record_bytes: 3000, ..Limits::default() };
    let (found, summary) = documents_with(folder.path(), &ReadOptions { limits, ..ReadOptions::default() });
    assert_eq!(found.len(), 12);
    let why: Vec<_> = summary.left_out.iter().map(|left| left.why.as_str()).collect();
    assert_eq!(
        why,
        ["an encrypted mail, which is not read", "empty", "longer than 3000 bytes, the limit for one record"]
    );
    assert!(summary.left_out[2].path.ends_with("c/7"));
}

/// A line longer than the limit comes in parts, of which none but the first begins a message, and is one line.
#[test]
fn messages_begin_where_lines_begin() {
    let long = b"From a\nFrom: a@b.org\nSubject: x\n\n".iter().copied();
    let long = long
        .chain([b' '; 3001])
        .chain(*b"From b\nFrom: a@b.org\nSubject: y\n\nred ants\n\n")
        .collect::<Vec<u8>>();
    let mailbox = [&bytes("all.mbox")[..], &long, &bytes("all.mbox")].concat();
    let folder = folder(&[("a", &mailbox)]);
    let limits = Limits { record_bytes: 3000, ..Limits::default() };
    let (found, summary) = documents_with(folder.path(), &ReadOptions { limits, ..ReadOptions::default() });
    assert_eq!(words(&found), [twins(), twins()].concat());
    assert_eq!(summary.left_out.len(), 1);
    let text = String::from_utf8(mailbox).unwrap();
    for document in &found {
        assert!(text.lines().nth(document.line as usize - 1).unwrap().starts_with("From "));
    }
}

#[test]
fn messages_cut_anywhere_do_no_harm() {
    for name in ["0.eml", "4.eml", "5.eml", "all.mbox"] {
        let whole = bytes(name);
        for end in (1..whole.len()).step_by(17) {
            let folder = folder(&[("a", &whole[..end]), ("z.txt", b"Text.")]);
            assert!(!documents(folder.path()).0.is_empty());
        }
    }
}

/// Headers are known ones, `From` and another, and may go on on further lines.
#[test]
fn a_message_begins_with_headers_alone() {
    let text = "Red ants walk.";
    for head in [
        "From: a@b.org\nSubject: On ants\n",
        "\u{feff}From: a@b.org\nSubject: On ants\n",
        "From: a@b.org\nX-Note: a\n and more\nSubject: On ants\n",
        "From: a@b.org\nX-Note: a\n\tand more\nSubject: On ants\n",
        ">From a@b.org Mon Jan 5 2026\nFrom: a@b.org\nSubject: On ants\n",
    ] {
        let folder = folder(&[("a", format!("{head}\n{text}").as_bytes())]);
        let found = &documents(folder.path()).0[0];
        let alone = found.text.trim().trim_start_matches("On ants").trim();
        assert_eq!((found.title.as_str(), alone), ("On ants", text), "{head}");
    }
    for head in [
        "Subject: On ants\nTo: b@c.org\n", // from nobody
        "From: a@b.org\nNote: a\n",        // nothing else is known
        "From: a@b.org\n",
        "From: a@b.org\n: x\nSubject: On ants\n",
    ] {
        let whole = format!("{head}\n{text}");
        let folder = folder(&[("a", whole.as_bytes())]);
        assert_eq!(documents(folder.path()).0[0].text, whole);
    }
}

/// `From ` begins a message behind an empty line alone; a `>` before it, and no other, stands for nothing.
#[test]
fn lines_of_a_mailbox_are_told_from_those_that_begin_a_message() {
    let mailbox = b"From a Mon Jan 5\nFrom: a@b.org\nSubject: One\n\nRed ants\nFrom here they walk.\n\n>From there, too.\n>>From\n> red\n\n\
                    From b Tue Jan 6\nFrom: a@b.org\nSubject: Two\n\nBlack ants\n\n";
    let folder = folder(&[("a", mailbox)]);
    let (found, _) = documents(&folder.path().join("a"));
    let words = words(&found);
    assert_eq!(words, ["One Red ants From here they walk. From there, too. >>From > red", "Two Black ants"]);
    assert_eq!(found.iter().map(|document| document.line).collect::<Vec<_>>(), [1, 12]);
}

#[test]
fn a_date_that_is_none_is_left_empty() {
    let date = |date: &str| {
        let mail = format!("From: a@b.org\nSubject: x\nDate: {date}\n\nRed ants walk.\n");
        common::with_columns(&folder(&[("a", mail.as_bytes())]).path().join("a")).1[1][1].clone()
    };
    assert_eq!(date("Mon, 5 Jan 2026 10:20:30 +0000"), "2026-01-05 10:20:30");
    for wrong in ["Mon, 45 Jan 2026 10:20:30 +0000", "Mon, 5 Jan 2026 30:20:30 +0000", "some day", ""] {
        assert_eq!(date(wrong), "", "{wrong}");
    }
}

/// Of the kinds of S/MIME one is signed and not encrypted.
#[test]
fn a_signed_message_is_not_an_encrypted_one() {
    let mail = |kind: &str| format!("From: a@b.org\nSubject: x\nContent-Type: {kind}\n\nRed ants walk.\n");
    for (kind, is_encrypted) in [
        ("application/pkcs7-mime; smime-type=enveloped-data", true),
        ("application/x-pkcs7-mime", true),
        ("application/pkcs7-mime; smime-type=signed-data", false),
        ("application/x-pkcs7-mime; smime-type=Signed-Data", false),
        ("text/plain; smime-type=enveloped-data", false),
    ] {
        let folder = folder(&[("a", mail(kind).as_bytes()), ("b.txt", b"Black ants run.")]);
        let summary = documents(folder.path()).1;
        assert_eq!(summary.skipped.unsupported, usize::from(is_encrypted), "{kind}");
    }
}
