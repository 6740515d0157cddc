//! Errors say what is wrong, and what caused it.

use std::error::Error;
use std::io;
use std::path::Path;

use countgrid_io::{Alphabet, AlphabetError, ModelProblem, ReadOptions, load, read, save, write_atomically};

fn kind_of(source: Option<&(dyn Error + 'static)>) -> Option<io::ErrorKind> {
    source?.downcast_ref::<io::Error>().map(io::Error::kind)
}

#[test]
fn what_cannot_be_opened_has_the_error_of_the_system_as_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let missing = read(folder.path().join("none"), &ReadOptions::default()).unwrap_err();
    assert_eq!(kind_of(missing.source()), Some(io::ErrorKind::NotFound));
    assert!(missing.to_string().ends_with("\nremedy: check the spelling of the path"), "{missing}");
    // A file is no folder.
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "ants").unwrap();
    let below = read(file.join("b.txt"), &ReadOptions::default()).unwrap_err();
    assert_eq!(kind_of(below.source()), Some(io::ErrorKind::NotADirectory));
    assert!(below.to_string().ends_with("\nremedy: check that it is a readable file or folder"), "{below}");
    // What was read and is wrong has no other cause.
    let unknown = read(&file, &ReadOptions::default()).unwrap_err();
    assert!(unknown.source().is_none(), "{unknown}");
}

#[test]
fn so_has_a_model_file() {
    let folder = tempfile::tempdir().unwrap();
    let missing = load(folder.path().join("none")).unwrap_err();
    assert_eq!(kind_of(missing.source()), Some(io::ErrorKind::NotFound));
    assert_eq!(kind_of(missing.problem().source()), Some(io::ErrorKind::NotFound));
    // What cannot be written is said as of any other file.
    let place = folder.path().join("none/model.safetensors");
    let unwritten = write_atomically(&place, |_| Ok(())).unwrap_err().to_string();
    let refused = save(&place, &Default::default()).unwrap_err();
    assert!(matches!(refused.problem(), ModelProblem::Unwritable(_)));
    assert_eq!((refused.file(), refused.to_string()), (place.as_path(), unwritten.clone()));
    assert_eq!(refused.source().unwrap().to_string(), unwritten);
    assert_eq!(refused.problem().source().unwrap().to_string(), unwritten);
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    assert!(load(Path::new(&empty)).unwrap_err().source().is_none());
}

#[test]
fn what_is_no_alphabet_says_why() {
    for (symbols, error, said) in [
        ("", AlphabetError::Empty, "an alphabet needs at least one symbol"),
        ("acga", AlphabetError::Repeated('a'), "the alphabet has `a` twice"),
        ("a\u{1}\u{1}", AlphabetError::Repeated('\u{1}'), "the alphabet has `\\u{1}` twice"),
        ("ac gt", AlphabetError::Blank, "a blank is no symbol: blanks are passed over"),
    ] {
        let refused = Alphabet::new(symbols).unwrap_err();
        assert_eq!((refused, refused.to_string().as_str()), (error, said));
    }
    assert_eq!(AlphabetError::TooMany.to_string(), "an alphabet has at most 65536 symbols");
}
