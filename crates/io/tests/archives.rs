//! ZIP and TAR files, written by Python (`fixtures/make.py`).

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{documents, documents_with, folder, gzip};
use countgrid_io::{Format, Limits, ReadOptions, read};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(fixture(name)).unwrap()
}

#[test]
fn an_archive_is_read_like_the_folder_in_it() {
    let long = format!("texts/{}name.txt", "long-".repeat(30));
    let mails: Vec<(String, Vec<u8>)> =
        (0..6).map(|number| (format!("mails/{number}.eml"), bytes(&format!("{number}.eml")))).collect();
    let mut files: Vec<(&str, &[u8])> = mails.iter().map(|(name, mail)| (name.as_str(), &mail[..])).collect();
    files.extend([("texts/a.txt", &b"Red ants walk.\n"[..]), ("texts/.hidden", b"no\n")]);
    files.extend([("texts/b.csv", &b"id,text\n1,no\n"[..]), (&long, "Größe\n".as_bytes())]);
    let plain = folder(&files);
    let (expected, about) = documents(plain.path());
    let packed = folder(&[
        ("all.zip", &bytes("all.zip")),
        ("gnu.tar", &bytes("gnu.tar")),
        ("pax.tar", &bytes("pax.tar")),
        ("gnu.tar.gz", &gzip(&bytes("gnu.tar"))),
        ("no-name", &gzip(&bytes("pax.tar"))),
    ]);
    for name in ["all.zip", "gnu.tar", "pax.tar", "gnu.tar.gz", "no-name"] {
        let (found, summary) = documents(&packed.path().join(name));
        let of = |documents: &[countgrid_io::Document]| -> Vec<_> {
            documents
                .iter()
                .map(|d| (d.id.clone(), d.title.clone(), d.label.clone(), d.text.clone()))
                .collect()
        };
        assert_eq!(of(&found), of(&expected), "{name}");
        assert_eq!(
            (summary.format, summary.skipped, summary.labels),
            (Format::Archive, about.skipped, 2),
            "{name}"
        );
    }
    let (found, summary) = documents(packed.path());
    assert_eq!((found.len(), summary.files, summary.labels), (5 * expected.len(), 5, 5));
    assert_eq!(found[0].label.as_deref(), Some("all.zip"));
}

#[test]
fn one_archive_in_another_is_read() {
    let (found, summary) = documents(&fixture("nested.zip"));
    let ids: Vec<_> = found.iter().map(|document| document.id.as_str()).collect();
    assert_eq!(ids, ["a.zip/one.txt", "d.tar/e.txt"]);
    assert_eq!(summary.left_out.len(), 1);
    assert!(summary.left_out[0].path.ends_with("nested.zip/b.zip/c.zip"));
    assert!(summary.left_out[0].why.starts_with("an archive in an archive in an archive"));
}

#[test]
fn what_grows_too_much_is_passed_over() {
    let tar = gzip(&bytes("gnu.tar"));
    let folder = folder(&[("bomb.zip", &bytes("bomb.zip")), ("z.tar.gz", &tar)]);
    let limits = Limits { record_bytes: 1 << 20, ..Limits::default() };
    let (found, summary) = documents_with(folder.path(), &ReadOptions { limits, ..ReadOptions::default() });
    assert!(found.iter().all(|document| document.id.starts_with("z.tar.gz/")));
    assert!(summary.left_out.iter().filter(|left| left.why.starts_with("longer than")).count() == 4);
    // Members that are short enough, of an archive that grows a thousandfold.
    let limits = Limits { record_bytes: 5 << 20, ..Limits::default() };
    let (found, summary) = documents_with(folder.path(), &ReadOptions { limits, ..ReadOptions::default() });
    assert!(found.iter().filter(|document| document.id.starts_with("bomb.zip/")).count() < 3);
    let why = |left: &countgrid_io::LeftOut| left.why.contains("more than 100 times as long");
    assert!(summary.left_out.iter().any(why), "{:?}", summary.left_out);
}

#[test]
fn what_a_header_claims_takes_no_memory() {
    let mut huge = bytes("gnu.tar")[..1024].to_vec();
    huge[124..136].copy_from_slice(b"\x80\0\0\0\0\x7f\xff\xff\xff\xff\xff\xff");
    let sum: u32 = huge[..512]
        .iter()
        .enumerate()
        .map(|(i, &b)| if (148..156).contains(&i) { 32 } else { u32::from(b) })
        .sum();
    huge[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let folder = folder(&[("a.tar", &huge), ("b.txt", b"Text.")]);
    let (found, summary) = documents(folder.path());
    assert_eq!(found.len(), 1);
    assert!(
        summary
            .left_out
            .iter()
            .any(|left| left.why.contains("damaged TAR") || left.why.contains("longer than")),
        "{:?}",
        summary.left_out
    );
}

#[test]
fn archives_cut_anywhere_do_no_harm() {
    for name in ["all.zip", "gnu.tar", "pax.tar", "nested.zip"] {
        let whole = bytes(name);
        for end in (300..whole.len()).step_by(211) {
            let folder = folder(&[("a", &whole[..end]), ("z.txt", b"Text.")]);
            let (_, summary) = documents(folder.path());
            assert!(name.ends_with(".zip") <= summary.left_out.iter().any(|left| left.lost), "{name} {end}");
        }
    }
    let cut = folder(&[("a.zip", &bytes("all.zip")[..500])]);
    let refused = read(cut.path().join("a.zip"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("no documents: damaged ZIP"), "{refused}");
}

#[test]
fn the_checksum_behind_a_compressed_archive_is_checked() {
    let whole = gzip(&bytes("gnu.tar"));
    let (mut wrong, mut cut) = (whole.clone(), whole);
    let sum = wrong.len() - 8; // the checksum and the length are the last eight bytes
    wrong[sum] ^= 1;
    cut.pop();
    let folder = folder(&[("a.tar.gz", &wrong), ("b.tar.gz", &cut), ("c.txt", b"A text.")]);
    let (_, summary) = documents(folder.path());
    let lost = summary.left_out.iter().filter(|left| left.lost);
    let told: Vec<_> =
        lost.map(|left| (left.path.strip_prefix(folder.path()).unwrap(), left.why.as_str())).collect();
    let expected = [
        ("a.tar.gz", "the gzip stream is damaged: corrupt gzip stream does not have a matching checksum"),
        ("b.tar.gz", "the gzip stream ends too early"),
    ];
    assert_eq!(told, expected.map(|(name, why)| (Path::new(name), why)));
}
