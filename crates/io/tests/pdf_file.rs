//! Where the objects of a PDF file are: its tables, object streams and streams, whole and damaged.

use crate::pdf::{CATALOG, deflated, document, page, read, stream};

const RIGHT: &[u8] = b"BT /F 10 Tf 100 700 Td (right) Tj ET";

/// Another object 4 behind the end of the file: no table has it, but whoever searches the file finds it, as the last of its number.
fn with_another(file: &[u8]) -> Vec<u8> {
    let contents = stream("", b"BT /F 10 Tf 100 700 Td (wrong) Tj ET");
    [file, b"\n4 0 obj\n", &contents, b"\nendobj\n"].concat()
}

fn replaced(file: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = file.windows(from.len()).rposition(|part| part == from.as_bytes()).unwrap();
    let mut file = file.to_vec();
    file[at..at + to.len()].copy_from_slice(to.as_bytes());
    file
}

#[test]
fn objects_are_where_the_table_has_them() {
    let file = page(&stream("", RIGHT), &[]);
    assert_eq!(read(&with_another(&file)).unwrap(), "right");
    // The table before is this one.
    let text = String::from_utf8(file.clone()).unwrap();
    let start = text.rfind("xref\n0 ").unwrap();
    let circle = text.replace("/Root 1 0 R", &format!("/Root 1 0 R/Prev {start}"));
    assert_eq!(read(&with_another(circle.as_bytes())).unwrap(), "right");
    // The file is searched if there is no table where there should be one.
    let lost = replaced(&file, &format!("startxref\n{start}"), &format!("startxref\n{}", start + 1));
    assert_eq!(read(&with_another(&lost)).unwrap(), "wrong");
}

#[test]
fn a_file_is_searched_for_an_object_that_is_not_where_the_table_has_it() {
    let file = page(&stream("", RIGHT), &[]);
    let offset = |number: usize| {
        let header = format!("\n{number} 0 obj");
        file.windows(header.len()).position(|part| part == header.as_bytes()).unwrap() + 1
    };
    let entry = |number: usize| format!("{:010} 00000 n", offset(number));
    let moved =
        |number: usize| replaced(&file, &entry(number), &format!("{:010} 00000 n", offset(number) + 3));
    for number in 1..=4 {
        assert_eq!(read(&moved(number)).unwrap(), "right", "{number}");
        assert_eq!(read(&with_another(&moved(number))).unwrap(), "wrong", "{number}");
    }
    // Pages that the table says are free.
    let free = replaced(&file, &entry(2), &entry(2).replace('n', "f"));
    assert_eq!(read(&free).unwrap(), "right");
    // Words that are like the header of an object are none.
    let like = [&moved(4)[..], b"\n% see 4 obj\n"].concat();
    assert_eq!(read(&like).unwrap(), "right");
}

#[test]
fn a_search_finds_the_catalog_by_the_trailer() {
    let pages = "<</Type/Pages/Kids[3 0 R]/Count 1>>";
    let page = "<</Type/Page/Contents 4 0 R/Resources<</Font<</F<</Subtype/Type1/BaseFont/Courier>>>>>>>>";
    let objects = ["<</Pages 2 0 R>>", pages, page].map(|text| text.as_bytes().to_vec());
    let file = document(&[&objects[..], &[stream("", RIGHT)]].concat(), "");
    assert_eq!(read(&with_another(&file)).unwrap(), "right");
    let further = "% further bytes\n";
    let moved = [&file[..9], further.as_bytes(), &file[9..]].concat();
    assert_eq!(read(&moved).unwrap(), "right");
}

/// A file whose table is a stream of numbers of these widths; some objects are in object streams.
fn streamed(objects: &[(usize, Vec<u8>)], inside: &[(usize, usize)], widths: [usize; 3]) -> Vec<u8> {
    let size = 2 + objects
        .iter()
        .map(|(number, _)| *number)
        .chain(inside.iter().map(|(number, _)| *number))
        .max()
        .unwrap();
    let mut places = vec![(0, 0); size];
    let mut file = b"%PDF-1.5\n".to_vec();
    for (number, object) in objects {
        places[*number] = (1, file.len());
        file.extend([format!("{number} 0 obj\n").as_bytes(), object, b"\nendobj\n"].concat());
    }
    for &(number, stream) in inside {
        places[number] = (2, stream);
    }
    let table = file.len();
    places[size - 1] = (1, table);
    let number = |value: usize, width: usize| -> Vec<u8> {
        let bytes = (value as u128).to_be_bytes();
        bytes[16 - width..].to_vec()
    };
    let entries: Vec<u8> = places
        .iter()
        .flat_map(|&(kind, value)| {
            [number(kind, widths[0]), number(value, widths[1]), number(0, widths[2])].concat()
        })
        .collect();
    let [kind, second, third] = widths;
    let about = format!("/Type/XRef/Size {size}/W[{kind} {second} {third}]/Root 1 0 R");
    file.extend(
        [format!("{} 0 obj\n", size - 1).as_bytes(), &stream(&about, &entries), b"\nendobj\n"].concat(),
    );
    file.extend(format!("startxref\n{table}\n%%EOF").bytes());
    file
}

const PAGES: &str = "<</Type/Pages/Kids[3 0 R]/Count 1>>";
const PAGE: &str =
    "<</Type/Page/Contents 4 0 R/Resources<</Font<</F<</Subtype/Type1/BaseFont/Courier>>>>>>>>";

fn object_stream(about: &str, inside: &[(usize, &str)]) -> Vec<u8> {
    let (mut table, mut body) = (String::new(), String::new());
    for (number, object) in inside {
        table += &format!("{number} {} ", body.len());
        body += &format!("{object} ");
    }
    let about = format!("/Type/ObjStm/N {}/First {}{about}", inside.len(), table.len());
    stream(&about, (table + &body).as_bytes())
}

#[test]
fn objects_are_where_a_table_of_bytes_has_them() {
    let objects = [(1, CATALOG.into()), (2, PAGES.into()), (3, PAGE.into()), (4, stream("", RIGHT))];
    for widths in [[1, 2, 1], [1, 4, 0], [8, 8, 8], [2, 3, 2]] {
        assert_eq!(read(&with_another(&streamed(&objects, &[], widths))).unwrap(), "right", "{widths:?}");
    }
    // Without kinds all are objects of the file; with no bytes at all, or with numbers too large, it is no table.
    assert_eq!(read(&streamed(&objects, &[], [0, 4, 1])).unwrap(), "right");
    for widths in [[0, 0, 0], [9, 2, 1], [1, 9, 1], [1, 2, 9]] {
        assert_eq!(read(&with_another(&streamed(&objects, &[], widths))).unwrap(), "wrong", "{widths:?}");
    }
}

#[test]
fn objects_are_in_object_streams() {
    // Six of them, of one object each but the last.
    let objects = [
        (4, stream("", RIGHT)),
        (11, object_stream("", &[(1, CATALOG)])),
        (12, object_stream("", &[(2, PAGES)])),
        (13, object_stream("", &[(3, "<</Type/Page/Contents 4 0 R/Resources 5 0 R>>")])),
        (14, object_stream("", &[(5, "<</Font 6 0 R>>")])),
        (15, object_stream("", &[(6, "<</F 7 0 R>>")])),
        (16, object_stream("", &[(9, "null"), (7, "<</Subtype/Type1/BaseFont/Courier>>")])),
    ];
    let inside = [(1, 11), (2, 12), (3, 13), (5, 14), (6, 15), (7, 16), (9, 16)];
    assert_eq!(read(&with_another(&streamed(&objects, &inside, [1, 2, 1]))).unwrap(), "right");
    // How one is compressed is said in another.
    let objects = [
        (4, stream("", RIGHT)),
        (11, object_stream("/Filter 5 0 R", &[(1, CATALOG), (2, PAGES), (3, PAGE)])),
        (12, object_stream("", &[(5, "null")])),
    ];
    let inside = [(1, 11), (2, 11), (3, 11), (5, 12)];
    assert_eq!(read(&with_another(&streamed(&objects, &inside, [1, 2, 1]))).unwrap(), "right");
}

#[test]
fn streams_begin_behind_the_end_of_a_line_and_are_as_long_as_they_say() {
    let contents = b"BT /F 10 Tf 100 700 Td (before endstream after) Tj ET";
    let length = contents.len();
    let of = |head: &str, contents: &[u8], further: &[Vec<u8>]| {
        read(&page(&[head.as_bytes(), contents, b"\nendstream"].concat(), further)).unwrap()
    };
    let whole = "before endstream after";
    assert_eq!(of(&format!("<</Length {length}>>stream\n"), contents, &[]), whole);
    // A length elsewhere: object 6.
    assert_eq!(of("<</Length 6 0 R>>stream\n", contents, &[length.to_string().into_bytes()]), whole);
    // Without the right one the stream ends at the first word that may be its end.
    for wrong in ["", "/Length 1", "/Length 1000000", "/Length 6 0 R"] {
        assert_eq!(of(&format!("<<{wrong}>>stream\n"), RIGHT, &[]), "right", "{wrong}");
        let cut = b"BT /F 10 Tf 100 700 Td (right) Tj endstream (after) Tj ET";
        assert_eq!(of(&format!("<<{wrong}>>stream\n"), cut, &[]), "right", "{wrong}");
    }
    let packed = deflated(RIGHT);
    for end in ["\r\n", "\n", "\r"] {
        let head = format!("<</Filter/FlateDecode/Length {}>>stream{end}", packed.len());
        assert_eq!(of(&head, &packed, &[]), "right", "{end:?}");
    }
}

/// LZW that has a code for each byte, as in ISO 32000-1, 7.4.4: codes become longer as the table would grow.
fn lzw_of_bytes(data: &[u8], early: usize) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    let mut put = |code: usize, width: usize| bits.extend((0..width).rev().map(|bit| code >> bit & 1 == 1));
    put(256, 9);
    let width = |codes: usize| if 258 + codes.saturating_sub(1) + early < 512 { 9 } else { 10 };
    for (codes, &byte) in data.iter().enumerate() {
        put(usize::from(byte), width(codes));
    }
    put(257, width(data.len()));
    bits.chunks(8)
        .map(|bits| bits.iter().rev().fold(0, |byte, &bit| byte >> 1 | u8::from(bit) << 7))
        .collect()
}

#[test]
fn codes_become_longer_early_unless_the_stream_says_otherwise() {
    let contents = [&b" ".repeat(400)[..], RIGHT].concat();
    for (about, early) in
        [("", 1), ("/DecodeParms<</EarlyChange 1>>", 1), ("/DecodeParms<</EarlyChange 0>>", 0)]
    {
        let stream = stream(&format!("/Filter/LZWDecode{about}"), &lzw_of_bytes(&contents, early));
        assert_eq!(read(&page(&stream, &[])).unwrap(), "right", "{about}");
    }
}
