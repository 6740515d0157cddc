//! What a run writes is none of what it reads, whatever a file is called.

use crate::common;

use std::fs;
use std::path::PathBuf;

use common::folder;
use countgrid_io::{OutputError, check_outputs, write_atomically};

const NONE: [PathBuf; 0] = [];

#[test]
fn files_are_others_by_their_place() {
    let folder = folder(&[("a.csv", b"text\nRed ants.\n"), ("b.csv", b"text\nBees.\n")]);
    let [a, b, c, d] = ["a.csv", "b.csv", "c.csv", "d/e.csv"].map(|name| folder.path().join(name));
    // Both there, one of them, none of them.
    for (one, other) in [(&a, &b), (&a, &c), (&c, &d)] {
        assert_eq!(check_outputs([one], [other]), Ok(()));
        assert_eq!(check_outputs(NONE, [one, other]), Ok(()));
    }
    for path in [&a, &c, &d] {
        let same = path.parent().unwrap().join(".").join(path.file_name().unwrap());
        let found = check_outputs([path], [&same]).unwrap_err();
        assert_eq!(found, OutputError::Input { output: same.clone(), input: path.clone() });
        let said = format!("{}: would be written over {}, which is read", same.display(), path.display());
        assert_eq!(found.to_string(), said);
        let found = check_outputs(NONE, [path, &same]).unwrap_err();
        assert_eq!(found, OutputError::Twice { output: same.clone(), other: path.clone() });
        let said =
            format!("{}: would be written over {}, which is written too", same.display(), path.display());
        assert_eq!(found.to_string(), said);
    }
}

#[cfg(unix)]
#[test]
fn a_file_of_two_names_is_one() {
    let folder = folder(&[("a.csv", b"text\nRed ants.\n"), ("c/x.csv", b"")]);
    let [a, b, c, d] = ["a.csv", "b.csv", "c", "d"].map(|name| folder.path().join(name));
    fs::hard_link(&a, &b).unwrap();
    std::os::unix::fs::symlink(&c, &d).unwrap();
    assert_eq!(check_outputs([&a], [&b]), Err(OutputError::Input { output: b.clone(), input: a.clone() }));
    // In a folder by another name, there or not.
    for name in ["x.csv", "y.csv"] {
        let (one, other) = (c.join(name), d.join(name));
        assert_eq!(
            check_outputs(NONE, [&one, &other]),
            Err(OutputError::Twice { output: other, other: one })
        );
    }
}

#[test]
fn what_is_no_file_is_not_written_over() {
    let folder = folder(&[("a/x.csv", b"text\nRed ants.\n")]);
    let a = folder.path().join("a");
    assert_eq!(check_outputs([&a], [&a, &a]), Ok(()));
    #[cfg(unix)]
    assert_eq!(check_outputs(NONE, ["/dev/null", "/dev/null"]), Ok(()));
}

#[test]
fn what_cannot_be_written_says_why() {
    use std::error::Error;
    let folder = folder(&[]);
    let path = folder.path().join("missing/a.csv");
    let failed = write_atomically(&path, |_| Ok(())).unwrap_err();
    assert_eq!(failed.file(), path);
    let cause = failed.source().unwrap().downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(cause.kind(), std::io::ErrorKind::NotFound);
}
