//! Arrays of NumPy that are not what they say, and where in them an element is.

use crate::common;
use crate::npz::{array, floats, format_of, integers, npz};

use common::{counts, folder, refusal};
use countgrid_io::ReadOptions;

const WORDS: &[u8] = b"ant\nbee\ncow\n";

fn says(arrays: &[(&str, Vec<u8>)]) -> String {
    let folder = folder(&[("a.npz", npz(arrays).as_slice()), ("vocab.txt", WORDS)]);
    refusal(folder.path(), "a.npz", &ReadOptions::default())
}

/// Whichever index is the fastest.
#[test]
fn an_element_is_named_by_its_indices() {
    for (wrong, by_row, by_column) in
        [(0, "[0, 0]", "[0, 0]"), (5, "[1, 2]", "[1, 1]"), (7, "[2, 1]", "[3, 1]")]
    {
        let mut elements = [1.0f64; 12];
        elements[wrong] = -0.5;
        let elements: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        for (is_fortran, place) in [(false, by_row), (true, by_column)] {
            let said = says(&[("arr_0", array("<f8", is_fortran, &[4, 3], &elements))]);
            assert!(said.contains(&format!("in `arr_0{place}`, found -0.5")), "{place}: {said}");
        }
    }
}

/// There may be room for more entries than there are, whose bytes must be there, and no more.
#[test]
fn arrays_may_have_room_for_more_entries() {
    let arrays = |data: Vec<u8>| {
        vec![
            ("indices", integers(&[2, 0, 1, 1, 1])),
            ("indptr", integers(&[0, 1, 2])),
            ("format", format_of("csr")),
            ("shape", integers(&[2, 3])),
            ("data", data),
        ]
    };
    let data = floats(&[4.0, 2.0, 9.0, 9.0, 9.0]);
    let folder = folder(&[("a.npz", npz(&arrays(data.clone())).as_slice()), ("vocab.txt", WORDS)]);
    let (found, _) = counts(&folder.path().join("a.npz"));
    assert_eq!((found.bags.indices(), found.bags.counts()), (&[2, 0][..], &[4.0, 2.0][..]));
    let said = says(&arrays(data[..data.len() - 1].to_vec()));
    assert!(said.contains("`data`: it ends too early"), "{said}");
    let said = says(&arrays([&data[..], &[0]].concat()));
    assert!(said.contains("`data`: it is longer than its header says"), "{said}");
}

#[test]
fn an_array_begins_with_its_mark_and_a_header_of_some_length() {
    let whole = array("<f8", false, &[1, 3], &[0; 24]);
    let with = |version: u8, length: &[u8], header: &[u8]| {
        [&b"\x93NUMPY"[..], &[version, 0], length, header, &[0; 24]].concat()
    };
    let header = &whole[10..whole.len() - 24];
    let read = |bytes: Vec<u8>| {
        let folder = folder(&[("a.npz", npz(&[("arr_0", bytes)]).as_slice()), ("vocab.txt", WORDS)]);
        let read = countgrid_io::read(folder.path().join("a.npz"), &ReadOptions::default());
        read.err().map(|error| error.to_string())
    };
    let short = (header.len() as u16).to_le_bytes();
    let long = (header.len() as u32).to_le_bytes();
    for (version, length) in [(1, &short[..]), (2, &long), (3, &long)] {
        assert_eq!(read(with(version, length, header)), None, "{version}");
        // By another mark, or of another version, it is none.
        let mut other = with(version, length, header);
        other[1] = b'M';
        assert!(read(other).unwrap().contains("does not begin as an array of NumPy does"));
    }
    assert!(read(with(4, &long, header)).unwrap().contains("does not begin as an array of NumPy does"));
    // Blanks fill a header, up to a length.
    let padded = |length: usize| [header, &b" ".repeat(length - header.len())].concat();
    let of = |length: usize| with(2, &(length as u32).to_le_bytes(), &padded(length));
    assert_eq!(read(of(64 << 10)), None);
    for length in [(64 << 10) + 1, 1 << 20] {
        assert!(read(of(length)).unwrap().contains(&format!("a header of {length} bytes")));
    }
}
