//! Counts in arrays of NumPy and SciPy.

use crate::common;

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use std::process::Command;

use common::{counts, folder, gzip, refusal};
use countgrid_counts::Bags;
use countgrid_io::{Format, Limits, Problem, ReadOptions, read};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

const WORDS: &[u8] = b"ant\nbee\ncow\n";

/// An array as NumPy writes it.
pub(crate) fn array(description: &str, is_fortran: bool, shape: &[usize], elements: &[u8]) -> Vec<u8> {
    let order = if is_fortran { "True" } else { "False" };
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let header = format!(
        "{{'descr': '{description}', 'fortran_order': {order}, 'shape': ({}), }}\n",
        extents.trim_end()
    );
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(elements);
    bytes
}

pub(crate) fn integers(values: &[usize]) -> Vec<u8> {
    let elements: Vec<u8> = values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect();
    array("<i4", false, &[values.len()], &elements)
}

pub(crate) fn floats(values: &[f64]) -> Vec<u8> {
    let elements: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    array("<f8", false, &[values.len()], &elements)
}

/// What says how a sparse matrix is written: `csr`, `csc`, `coo`.
pub(crate) fn format_of(name: &str) -> Vec<u8> {
    array(&format!("|S{}", name.len()), false, &[], name.as_bytes())
}

/// A file of these arrays.
pub(crate) fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    packed(arrays, CompressionMethod::Stored)
}

fn packed(arrays: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Four documents of three words, the second without a count.
fn csr() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("indices", integers(&[2, 0, 0, 1])),
        ("indptr", integers(&[0, 2, 2, 3, 4])),
        ("format", format_of("csr")),
        ("shape", integers(&[4, 3])),
        ("data", floats(&[1.0, 4.0, 2.0, 0.5])),
    ]
}

/// What is said to this file, with a vocabulary of three words beside it.
fn says(arrays: &[(&str, Vec<u8>)]) -> String {
    says_to(&npz(arrays))
}

fn says_to(bytes: &[u8]) -> String {
    let folder = folder(&[("a.npz", bytes), ("vocab.txt", WORDS)]);
    refusal(folder.path(), "a.npz", &ReadOptions::default())
}

#[test]
fn a_matrix_is_read_wherever_it_comes_from() {
    let plain = npz(&csr());
    let deflated = packed(&csr(), CompressionMethod::Deflated);
    let gzipped = gzip(&deflated);
    for (name, bytes, vocabulary) in [
        ("a.npz", &plain, "vocab.a.txt"),
        ("a.npz", &deflated, "vocab.txt"),
        ("a.npz.gz", &gzipped, "vocab.a.txt"),
        ("counts", &plain, "vocab.txt"), // told by what is in it, and by no means an archive of texts
        ("counts.zip", &deflated, "vocab.txt"),
    ] {
        let folder = folder(&[(name, bytes.as_slice()), (vocabulary, WORDS)]);
        let (found, summary) = counts(&folder.path().join(name));
        assert_eq!(found.vocabulary, ["ant", "bee", "cow"]);
        assert_eq!(found.names, ["1", "2", "3", "4"]);
        assert_eq!(found.bags.offsets(), [0, 2, 2, 3, 4], "{name}");
        assert_eq!(
            (found.bags.indices(), found.bags.counts()),
            (&[0, 2, 0, 1][..], &[4.0, 1.0, 2.0, 0.5][..])
        );
        assert_eq!((summary.format, summary.files, summary.documents), (Format::Npz, 2, 4));
        assert_eq!(summary.gzip, name.ends_with(".gz"));
    }
    let folder =
        folder(&[("d/a.npz", &plain), ("d/vocab.a.txt", WORDS), ("b.npz", &plain), ("vocab.b.txt", WORDS)]);
    let (found, _) = counts(&folder.path().join("d")); // the one data file
    assert_eq!(found.bags.len(), 4);
    // Of two paths, too.
    let paths = ["d/a.npz", "b.npz"].map(|name| folder.path().join(name));
    let (_, summary) = countgrid_io::read_all(&paths, &ReadOptions::default()).unwrap();
    assert_eq!((summary.format, summary.documents), (Format::Several, 8));
}

/// By the definition of SciPy.
#[test]
fn entries_of_the_same_place_are_added_up() {
    let coordinates = npz(&[
        ("row", integers(&[1, 0, 1, 0, 1, 1])),
        ("col", integers(&[2, 0, 2, 1, 0, 2])),
        ("format", format_of("coo")),
        ("shape", integers(&[2, 3])),
        ("data", floats(&[0.0, 0.0, 1.0, 0.5, 4.0, 2.0])),
    ]);
    let folder = folder(&[("a.npz", coordinates.as_slice()), ("vocab.txt", WORDS)]);
    let (found, _) = counts(&folder.path().join("a.npz"));
    assert_eq!(found.bags.offsets(), [0, 1, 3]);
    assert_eq!((found.bags.indices(), found.bags.counts()), (&[1, 0, 2][..], &[0.5, 4.0, 3.0][..]));
}

#[test]
fn a_vocabulary_is_needed() {
    let folder = folder(&[("a.npz", npz(&csr()).as_slice()), ("words", WORDS)]);
    assert_eq!(
        refusal(folder.path(), "a.npz", &ReadOptions::default()),
        "~/a.npz: no vocabulary; `vocab.a.txt` is expected beside the counts\n\
         remedy: put it there, or name the file; one word per line"
    );
    let named = ReadOptions { vocabulary: Some(folder.path().join("words")), ..ReadOptions::default() };
    assert!(read(folder.path().join("a.npz"), &named).is_ok());
    fs::write(folder.path().join("words"), "ant\n").unwrap();
    let said = refusal(folder.path(), "a.npz", &named);
    assert!(said.starts_with("~/words: 1 words, but the header of ~/a.npz says 3\n"), "{said}");
}

#[test]
fn arrays_that_are_no_counts() {
    let with = |name: &str, bytes: Vec<u8>| {
        let mut arrays = csr();
        arrays.iter_mut().find(|(there, _)| *there == name).unwrap().1 = bytes;
        says(&arrays)
    };
    let repeated = |count: f64| {
        let mut arrays = csr();
        arrays[0].1 = integers(&[2, 2, 0, 1]);
        arrays[4].1 = floats(&[count, count, 2.0, 0.5]);
        says(&arrays)
    };
    let without =
        |name: &str| says(&csr().into_iter().filter(|(there, _)| *there != name).collect::<Vec<_>>());
    let dense = |description, shape: &[usize], elements: &[u8]| {
        says(&[("x", array(description, false, shape, elements))])
    };
    for (said, expected) in [
        (
            with("format", format_of("bsr")),
            ": a sparse matrix (`csr`, `csc` or `coo`) or one array of two dimensions is expected, of integers or floating-point numbers, found format `bsr`",
        ),
        (
            without("indptr"),
            ": a sparse matrix (`csr`, `csc` or `coo`) or one array of two dimensions is expected, of integers or floating-point numbers, found no `indptr`",
        ),
        (
            without("format"),
            ": a sparse matrix (`csr`, `csc` or `coo`) or one array of two dimensions is expected, of integers or floating-point numbers, found arrays `indices`, `indptr`, `shape`, `data`",
        ),
        (
            with("shape", integers(&[4, 3, 1])),
            ": a sparse matrix (`csr`, `csc` or `coo`) or one array of two dimensions is expected, of integers or floating-point numbers, found 3 dimensions",
        ),
        (
            with("indices", integers(&[2, 0, 3, 1])),
            ": an integer in 0..=2 is expected in `indices[2]`, found 3",
        ),
        (
            with("indices", floats(&[2.0, 0.0, 0.0, 1.0])),
            ": an integer in 0..=2 is expected in `indices[0]`, found 2",
        ),
        (
            with("indptr", integers(&[0, 2, 1, 3, 4])),
            ": an integer in 2..=4 is expected in `indptr[2]`, found 1",
        ),
        (
            with("indptr", integers(&[0, 2, 2, 3, 9])),
            ": an integer in 3..=4 is expected in `indptr[4]`, found 9",
        ),
        (
            with("data", floats(&[1.0, -4.0, 2.0, 0.5])),
            ": a finite number, zero or above, is expected in `data[1]`, found -4",
        ),
        (
            with("data", floats(&[1.0, f64::NAN, 2.0, 0.5])),
            ": a finite number, zero or above, is expected in `data[1]`, found NaN",
        ),
        (
            repeated(f64::MAX),
            ": a finite count is expected in `data[1]`, found inf as the sum of those in row 0 and column 2",
        ),
        (
            dense("<f8", &[2, 3, 1], &[0; 48]),
            ": a sparse matrix (`csr`, `csc` or `coo`) or one array of two dimensions is expected, of integers or floating-point numbers, found 3 dimensions of `x`",
        ),
        (
            dense("<i1", &[2, 3], &[0, 1, 2, 0, 255, 0]),
            ": a finite number, zero or above, is expected in `x[1, 1]`, found -1",
        ),
        (
            dense("|O", &[2, 3], &[0; 48]),
            ": a sparse matrix (`csr`, `csc` or `coo`) or one array of two dimensions is expected, of integers or floating-point numbers, found elements of type `|O` in `x`",
        ),
        (
            says(&[]),
            ": a sparse matrix (`csr`, `csc` or `coo`) or one array of two dimensions is expected, of integers or floating-point numbers, found no array",
        ),
        (dense("<f4", &[0, 3], &[]), ": no documents"),
    ] {
        assert!(
            said.strip_prefix("~/a.npz").is_some_and(|said| said.starts_with(expected)),
            "{said}\n{expected}"
        );
        assert!(said.contains("\nremedy: "), "{said}");
    }
    // What is damaged says which array.
    for (said, expected) in [
        (with("indptr", integers(&[0, 4])), "`indptr` has 2 elements, where 5 are expected"),
        (with("data", floats(&[1.0])), "`data` has 1 elements, where 4 are expected"),
        (with("shape", b"text".to_vec()), "shape"),
        (dense("<f8", &[2, 3], &[0; 47]), "it ends too early"),
        (dense("<f8", &[2, 3], &[0; 49]), "it is longer than its header says"),
        (dense("<f8", &[usize::MAX, usize::MAX], &[]), "claims more than can be addressed"),
        (says_to(b"PK\x03\x04"), "NPZ"),
    ] {
        assert!(
            said.starts_with("~/a.npz") && said.contains(expected) && said.contains("\nremedy: "),
            "{said}"
        );
    }
}

/// A header costs nothing but what there is.
#[test]
fn claims_are_not_believed() {
    let huge = array("|b1", false, &[1 << 40, 3], &[1; 30]);
    assert!(says(&[("x", huge)]).contains("it ends too early"));
    let coordinates = |documents: usize| {
        let extents: Vec<u8> =
            [documents, 3].iter().flat_map(|&extent| (extent as i64).to_le_bytes()).collect();
        npz(&[
            ("row", integers(&[1])),
            ("col", integers(&[1])),
            ("format", format_of("coo")),
            ("shape", array("<i8", false, &[2], &extents)),
            ("data", floats(&[1.0])),
        ])
    };
    let said = says_to(&coordinates(1 << 40));
    assert!(said.contains("1099511627776"), "{said}");
    let limits = Limits { total_bytes: 1 << 16, ..Limits::default() };
    let zeros =
        packed(&[("x", array("|b1", false, &[1 << 20, 3], &vec![0; 3 << 20]))], CompressionMethod::Deflated);
    let folder = folder(&[("a.npz", zeros.as_slice()), ("vocab.txt", WORDS)]);
    let said = refusal(folder.path(), "a.npz", &ReadOptions { limits, ..ReadOptions::default() });
    assert!(said.contains("more than 65536 bytes"), "{said}");
}

#[test]
fn an_array_goes_by_rows_or_by_columns() {
    // Rows (0, 1, 2) and (3, 0, 5).
    for (is_fortran, values) in [(false, [0, 1, 2, 3, 0, 5]), (true, [0, 3, 1, 0, 2, 5])] {
        let dense = npz(&[("x", array("|u1", is_fortran, &[2, 3], &values))]);
        let folder = folder(&[("a.npz", dense.as_slice()), ("vocab.txt", WORDS)]);
        let (found, _) = counts(&folder.path().join("a.npz"));
        assert_eq!(found.bags.offsets(), [0, 2, 4]);
        assert_eq!(
            (found.bags.indices(), found.bags.counts()),
            (&[1, 2, 0, 2][..], &[1.0, 2.0, 3.0, 5.0][..])
        );
    }
}

#[test]
fn what_an_archive_has_is_listed_up_to_six_arrays() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let with =
        |number: usize| says(&names[..number].iter().map(|name| (*name, integers(&[1]))).collect::<Vec<_>>());
    assert!(with(6).contains("found arrays `a`, `b`, `c`, `d`, `e`, `f`\n"), "{}", with(6));
    assert!(with(7).contains("found arrays `a`, `b`, `c`, `d`, `e`, `f`, ...\n"), "{}", with(7));
}

#[test]
fn a_header_may_be_of_64_kib() {
    let array = |length: u32| {
        let fields = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3), }";
        let space = vec![b' '; length as usize - fields.len()];
        [&b"\x93NUMPY\x02\x00"[..], &length.to_le_bytes(), fields, &space, &[1, 0, 2]].concat()
    };
    let folder = folder(&[("a.npz", npz(&[("x", array(1 << 16))]).as_slice()), ("vocab.txt", WORDS)]);
    let (found, _) = counts(&folder.path().join("a.npz"));
    assert_eq!((found.bags.indices(), found.bags.counts()), (&[0, 2][..], &[1.0, 2.0][..]));
    assert!(says(&[("x", array((1 << 16) + 1))]).contains("a header of 65537 bytes"));
}

#[test]
fn an_array_whose_checksum_is_wrong_is_damaged() {
    let mut bytes = npz(&[("x", array("|u1", false, &[1, 3], &[77, 78, 79]))]);
    let at = bytes.windows(3).position(|part| part == [77, 78, 79]).unwrap();
    bytes[at] = 76;
    let said = says_to(&bytes);
    assert!(said.contains("damaged NPZ: `x`: "), "{said}");
}

#[test]
fn the_last_document_of_too_many_is_named() {
    let extents: Vec<u8> = [1_i64 << 40, 3].iter().flat_map(|extent| extent.to_le_bytes()).collect();
    let bytes = npz(&[
        ("row", integers(&[6, 4])),
        ("col", integers(&[1, 1])),
        ("format", format_of("coo")),
        ("shape", array("<i8", false, &[2], &extents)),
        ("data", floats(&[1.0, 1.0])),
    ]);
    let folder = folder(&[("a.npz", bytes.as_slice()), ("vocab.txt", WORDS)]);
    let refused = read(folder.path().join("a.npz"), &ReadOptions::default()).unwrap_err();
    assert!(
        matches!(refused.problem(), Problem::TooManyDocuments { claimed: 0x100_0000_0000, last: 7 }),
        "{refused}"
    );
}

const SCRIPT: &str = "
import sys, os
import numpy as np, scipy.sparse as sparse
rows = np.array([[4, 0, 1], [0, 0, 0], [2, 0, 0], [0, 7, 0]])
os.chdir(sys.argv[1])
for kind in ['csr', 'csc', 'coo']:
    for type in [np.int64, np.uint8, np.float32, np.float64]:
        for compressed in [False, True]:
            name = f'{kind}-{np.dtype(type).name}-{compressed}.npz'
            sparse.save_npz(name, sparse.csr_matrix(rows.astype(type)).asformat(kind), compressed=compressed)
sparse.save_npz('array.npz', sparse.csr_array(rows))
np.savez('dense.npz', rows)
np.savez('named.npz', counts=np.asfortranarray(rows.astype('>f4')))
np.savez('two.npz', rows, other=np.zeros(3))
np.savez_compressed('compressed.npz', rows.astype(np.uint16))
";

/// Files of SciPy and NumPy themselves. Says so and passes where these are not installed; the variable PYTHON names an
/// interpreter that has them.
#[test]
fn what_scipy_writes_is_read() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let folder = folder(&[("vocab.txt", WORDS)]);
    let known = Command::new(&python).args(["-c", "import scipy.sparse"]).output();
    if !known.is_ok_and(|known| known.status.success()) {
        _ = writeln!(std::io::stderr(), "SKIPPED: {python} has no SciPy");
        return;
    }
    let ran = Command::new(&python).args(["-c", SCRIPT]).arg(folder.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let is_npz = |path: &Path| path.extension().is_some_and(|extension| extension == "npz");
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| is_npz(path)).collect();
    assert_eq!(files.len(), 3 * 4 * 2 + 5);
    for file in files {
        let (found, _) = counts(&file);
        assert_eq!(found.bags.offsets(), [0, 2, 2, 3, 4], "{}", file.display());
        assert_eq!(
            (found.bags.indices(), found.bags.counts()),
            (&[0, 2, 0, 1][..], &[4.0, 1.0, 2.0, 7.0][..])
        );
    }
}
