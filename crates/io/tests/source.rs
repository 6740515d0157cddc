//! What is opened, and how far it is read.

use crate::common;

use std::io::Read;
#[cfg(unix)]
use std::io::Write;
use std::path::Path;

use common::folder;
use countgrid_io::{Limits, Problem, ReadError, open, read_text_file};

fn read(path: &Path, limits: &Limits) -> Result<String, ReadError> {
    let mut text = String::new();
    open(path, limits)?.read_to_string(&mut text).unwrap();
    Ok(text)
}

#[test]
fn a_file_is_read_up_to_the_limit() {
    // More than is looked at when it is opened.
    let text = "Red ants.\n".repeat(2000);
    let folder = folder(&[("a", text.as_bytes())]);
    let path = folder.path().join("a");
    let limits = |total_bytes| Limits { total_bytes, ..Limits::default() };
    assert_eq!(read(&path, &limits(20_000)).unwrap(), text);
    assert_eq!(read_text_file(&path, &limits(20_000)).unwrap(), text);
    let mut opened = open(&path, &limits(19_999)).unwrap();
    let stopped = opened.read_to_end(&mut Vec::new()).unwrap_err().to_string();
    assert!(stopped.contains("more than 19999 bytes"), "{stopped}");
    let refused = read_text_file(&path, &limits(19_999)).unwrap_err();
    assert!(matches!(refused.problem(), Problem::TooMuch { limit: 19_999 }));
}

/// A pipe that this process was given is read; what somebody else may never end is not even opened.
#[cfg(unix)]
#[test]
fn pipes_are_read_and_devices_and_named_pipes_refused() {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::process::Command;

    let of = |file: &dyn AsRawFd| format!("/dev/fd/{}", file.as_raw_fd());
    let limits = Limits { total_bytes: 50, ..Limits::default() };
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"Red ants.").unwrap();
    drop(writer);
    assert_eq!(read(Path::new(&of(&reader)), &limits).unwrap(), "Red ants.");

    let refused = |path: &Path| open(path, &limits).err().unwrap();
    let device = File::open("/dev/null").unwrap();
    for path in ["/dev/null", &of(&device)] {
        assert!(matches!(refused(Path::new(path)).problem(), Problem::NotAFile), "{path}");
    }
    let folder = folder(&[]);
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Open at both ends and with more in it than the limit, so that to read it would end.
    let mut both = File::options().read(true).write(true).open(&path).unwrap();
    both.write_all(&[b'a'; 100]).unwrap();
    assert!(matches!(refused(&path).problem(), Problem::NotAFile));
}

/// As many documents are believed as a file has bytes.
#[test]
fn a_header_may_claim_a_document_for_each_byte() {
    let entries: String = (1..=400).map(|document| format!("{document} 1 2\n")).collect();
    let docword = |documents: usize| format!("{documents}\n1\n400\n{entries}");
    let bytes = docword(1000).len();
    assert!(bytes > 1500);
    for (documents, is_read) in [(1500, true), (bytes, true), (bytes + 1, false)] {
        let folder = folder(&[("docword.txt", docword(documents).as_bytes()), ("vocab.txt", b"ant\n")]);
        let found = countgrid_io::read(folder.path().join("docword.txt"), &Default::default());
        assert_eq!(found.is_ok(), is_read, "{documents}");
        let about = found.map(|(_, summary)| summary.documents);
        assert_eq!(about.ok(), is_read.then_some(documents));
    }
}

#[cfg(feature = "archives")]
mod archives {
    use super::*;

    use std::io::{Cursor, Write};

    use common::{documents_with, gzip};
    use countgrid_io::ReadOptions;

    /// A TAR file of these files.
    fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, content) in files {
            let mut head = [0; 512];
            head[..name.len()].copy_from_slice(name.as_bytes());
            head[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
            head[148..156].fill(b' ');
            head[156] = b'0';
            head[257..265].copy_from_slice(b"ustar\x0000");
            let sum: u32 = head.iter().map(|&byte| u32::from(byte)).sum();
            head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
            bytes.extend([&head[..], content].concat());
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        bytes.resize(bytes.len() + 1024, 0);
        bytes
    }

    /// An archive may become a hundred times as long as it is where it is stored, and a record longer.
    #[test]
    fn archives_become_long_by_what_they_take() {
        let text = "Red ants. ".repeat(300);
        let names: Vec<String> = (0..10).map(|number| format!("{number}.txt")).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (&name[..], text.as_bytes())).collect();
        let inner = gzip(&tar(&files));
        let mut outer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        outer.start_file("inner.tar.gz", zip::write::SimpleFileOptions::default()).unwrap();
        outer.write_all(&inner).unwrap();
        let outer = outer.finish().unwrap().into_inner();
        let folder = folder(&[("a.tar.gz", &inner), ("b.zip", &outer)]);
        assert!(inner.len() < 4096 && 100 * inner.len() > 10 * text.len());
        let limits = Limits { record_bytes: 4096, ..Limits::default() };
        let options = ReadOptions { limits, ..ReadOptions::default() };
        for name in ["a.tar.gz", "b.zip"] {
            let (found, summary) = documents_with(&folder.path().join(name), &options);
            assert_eq!((found.len(), summary.left_out.len()), (10, 0), "{name}: {:?}", summary.left_out);
        }
    }
}
