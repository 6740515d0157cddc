//! PDF documents of a folder.

use crate::common;

use std::fs;
use std::io::Write;
use std::path::Path;

use common::{documents, documents_with, folder};
use countgrid_io::{Limits, ReadOptions};

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pdf").join(name)).unwrap()
}

/// Each made by another program, with the words of its twin.
const MADE: [(&str, &str); 8] = [
    ("latex-ot1", "Of fluffy waffles"),
    ("latex-t1", "Of fluffy waffles"),
    ("ghostscript", "ghostscript.pdf"),
    ("groff", "groff.pdf"),
    ("libreoffice", "О дороге"),
    ("chromium", "О дороге"),
    ("cairo", "Широкая дорога"),
    ("reportlab", "reportlab.pdf"),
];

#[test]
fn documents_of_other_programs_have_the_words_of_their_twins() {
    let files: Vec<(String, Vec<u8>)> =
        MADE.iter().map(|(name, _)| (format!("{name}.pdf"), fixture(&format!("{name}.pdf")))).collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let folder = folder(&files);
    let (found, summary) = documents(folder.path());
    assert_eq!(summary.skipped.total(), 0, "{:?}", summary.left_out);
    let mut wrong = Vec::new();
    for (name, title) in MADE {
        let document = found.iter().find(|document| document.id == format!("{name}.pdf")).unwrap();
        let twin = String::from_utf8(fixture(&format!("{name}.txt"))).unwrap();
        let (words, twin): (Vec<&str>, Vec<&str>) =
            (document.text.split_whitespace().collect(), twin.split_whitespace().collect());
        if words != twin {
            let at = words.iter().zip(&twin).take_while(|(a, b)| a == b).count();
            let near = at.saturating_sub(3);
            wrong.push(format!(
                "{name} word {at}: {:?} for {:?}",
                words.iter().skip(near).take(8).collect::<Vec<_>>(),
                twin.iter().skip(near).take(8).collect::<Vec<_>>()
            ));
        }
        if document.title != title {
            wrong.push(format!("{name}: title {:?}", document.title));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A file of these objects, numbered from 1, the first of which is the catalog.
pub(crate) fn document(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let (mut file, mut table) = (b"%PDF-1.5\n".to_vec(), String::new());
    for (n, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", file.len());
        file.extend([format!("{} 0 obj\n", n + 1).as_bytes(), object, b"\nendobj\n"].concat());
    }
    let (start, size) = (file.len(), objects.len() + 1);
    let end = format!(
        "xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<</Size {size}/Root 1 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n"
    );
    file.extend(end.bytes());
    file
}

pub(crate) fn stream(about: &str, bytes: &[u8]) -> Vec<u8> {
    [format!("<<{about}/Length {}>>stream\n", bytes.len()).as_bytes(), bytes, b"\nendstream"].concat()
}

pub(crate) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

pub(crate) const CATALOG: &str = "<</Type/Catalog/Pages 2 0 R>>";
const PAGE: &str =
    "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>";
const FONT: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";

/// A page of these contents.
pub(crate) fn page(contents: &[u8], further: &[Vec<u8>]) -> Vec<u8> {
    let kept = [CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 1>>", PAGE].map(|text| text.as_bytes().to_vec());
    let objects = [&kept[..], &[contents.to_vec(), FONT.as_bytes().to_vec()], further].concat();
    document(&objects, "")
}

/// The text, or why there is none.
pub(crate) fn read(bytes: &[u8]) -> Result<String, String> {
    let folder = folder(&[("a.pdf", bytes), ("b.txt", b"Another text.")]);
    let options = ReadOptions {
        limits: Limits { record_bytes: 8 << 20, ..Limits::default() },
        ..ReadOptions::default()
    };
    let (found, summary) = documents_with(folder.path(), &options);
    match summary.left_out.first() {
        Some(left) => Err(left.why.clone()),
        None => Ok(found[0].text.clone()),
    }
}

#[test]
fn what_stands_on_a_page_is_read_in_its_order() {
    let contents = b"BT /F 10 Tf 12 TL 1 0 0 1 50 700 Tm (Red an) Tj [(ts)-300(walk) 20 (ing)] TJ T* (under the high-) Tj (way, then well-) ' \
        0 -12 Td (Known) Tj 200 0 Td (far off) Tj 0 Tc 0 -30 Td (caf\\351 \\(\\101\\)) Tj ET q 0.5 0 0 0.5 0 0 cm /X Do Q \
        BI /W 1 /H 1 /BPC 8 ID (\xffTj EI BT 0 -40 Td (end) Tj ET";
    let form = stream(
        "/Type/XObject/Subtype/Form/Resources<</Font<</F 5 0 R>>>>",
        b"BT /F 20 Tf 0 0 Td (In a form.) Tj ET",
    );
    let text = read(&page(&stream("", contents), std::slice::from_ref(&form))).unwrap();
    assert_eq!(
        text.split_whitespace().collect::<Vec<_>>().join(" "),
        "Red ants walking under the highway, then well- Known far off caf\u{d8} (A) In a form. end"
    );
    // The same where the tables are wrong.
    let mut moved = page(&stream("", contents), &[form]);
    moved.splice(9..9, b"% further bytes\n".iter().copied());
    assert_eq!(read(&moved).unwrap(), text);
}

#[test]
fn space_between_letters_is_a_blank_only_where_it_is_none_of_theirs() {
    let shown = |contents: &str| read(&page(&stream("", contents.as_bytes()), &[])).unwrap();
    // As Ghostscript writes "leaves a scent": each string begins where the last letter ended.
    let blanks = "BT /F 10 Tf 0 700 Td (leave) Tj 2.5 Tc 23.9 0 Td (sas) Tj 0 Tc 20.56 0 Td (cent) Tj ET";
    assert_eq!(shown(blanks), "leaves a scent");
    assert_eq!(shown("BT /F 10 Tf 0 700 Td 2.5 Tc (A&B<Ca) Tj 0 Tc 51.13 0 Td (nd) Tj ET"), "A & B < C and");
    assert_eq!(
        shown("BT /F 10 Tf 0 700 Td (i) Tj 2.5 Tc 2.22 0 Td (sa) Tj 0 Tc -2.22 -12 Td (name) Tj ET")
            .replace('\n', " "),
        "is a name"
    );
    // Spaced letters, of one string and of several, and beside others.
    assert_eq!(shown("BT /F 10 Tf 0 700 Td 3 Tc (HEAD) Tj (ING) Tj ET"), "HEADING");
    assert_eq!(shown("BT /F 10 Tf 0 700 Td 3 Tc [(FAQ) 0 (s)] TJ 0 Tc ( and) Tj ET"), "FAQs and");
    // Gaps are as wide or narrow as the letters.
    assert_eq!(shown("BT /F 10 Tf 20 Tz 0 700 Td [(wal) -100 (king)] TJ ET"), "walking");
    assert_eq!(shown("BT /F 10 Tf 200 Tz 0 700 Td [(Red) -200 (ants)] TJ ET"), "Red ants");
    assert_eq!(shown("BT /F 10 Tf 0 700 Td (the ) Tj 3 Tc (FAQ) Tj ET"), "the FAQ");
}

#[test]
fn what_is_not_read_says_why() {
    let said = |name: &str| read(&fixture(name)).unwrap_err();
    assert_eq!(said("encrypted.pdf"), "an encrypted PDF, which is not read");
    assert_eq!(said("scan.pdf"), "a PDF without text (its pages are pictures), which is not read");
    let unknown = [CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 1>>", PAGE].map(|text| text.as_bytes().to_vec());
    let identity = b"<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</DW 500>>]>>".to_vec();
    let unknown =
        document(&[&unknown[..], &[stream("", b"BT /F 1 Tf <00410042> Tj ET"), identity]].concat(), "");
    assert_eq!(
        read(&unknown).unwrap_err(),
        "a PDF whose fonts do not say which characters they show, which is not read"
    );
    assert_eq!(read(&page(&stream("", b"0 0 m 1 1 l S"), &[])).unwrap_err(), "empty");
    assert_eq!(
        read(b"%PDF-1.7\nna\xefve").unwrap_err(),
        "damaged PDF: it ends before the table of its objects"
    );
    let jpeg = page(&stream("/Filter/DCTDecode", b"\xff\xd8"), &[]);
    assert_eq!(read(&jpeg).unwrap_err(), "damaged PDF: a stream of text is compressed like a picture");
}

#[test]
fn a_document_that_is_cut_off_is_refused_wherever_it_is() {
    for (name, _) in MADE {
        let whole = fixture(&format!("{name}.pdf"));
        for part in 1..40 {
            let why = read(&whole[..whole.len() * part / 40]).unwrap_err();
            assert!(why.starts_with("damaged PDF: "), "{name} {part}: {why}");
        }
    }
}

#[test]
fn hostile_documents_are_refused_or_end() {
    let pages = |kids: &str| {
        let objects = [CATALOG, &format!("<</Type/Pages/Kids[{kids}]/Count 1000000>>"), PAGE]
            .map(|text| text.as_bytes().to_vec());
        document(
            &[&objects[..], &[stream("", b"BT /F 1 Tf (once) Tj ET"), FONT.as_bytes().to_vec()]].concat(),
            "",
        )
    };
    // A million pages are claimed, the same one is named a million times, and pages have themselves as pages.
    assert_eq!(read(&pages(&"3 0 R ".repeat(1_000_000))).unwrap(), "once");
    assert_eq!(read(&pages("2 0 R 3 0 R")).unwrap(), "once");
    assert_eq!(read(&pages("2 0 R")).unwrap_err(), "damaged PDF: it has no pages");
    // A stream whose length or filter is itself, a form in itself, objects in themselves, arrays in arrays.
    let contents = stream("", b"BT /F 1 Tf (once ) Tj ET /X Do /X Do");
    let form = stream("/Subtype/Form", b"BT /F 1 Tf (f ) Tj ET /X Do /X Do /X Do");
    assert!(read(&page(&contents, &[form])).unwrap().starts_with("once"));
    let itself = page(b"<</Length 4 0 R/Filter 4 0 R>>stream\nBT /F 1 Tf (a) Tj ET\nendstream", &[]);
    assert!(read(&itself).is_err());
    let deep = [b"[".repeat(1 << 20), b"]".repeat(1 << 20)].concat();
    assert!(read(&page(&stream("", &[b"BT /F 1 Tf ", &deep[..]].concat()), &[])).is_err());
    let object = page(&stream("", b"BT /F 1 Tf (once) Tj ET"), &[deep]);
    assert_eq!(read(&object).unwrap(), "once");
    assert!(read(&packed(|number| format!("/Filter {number} 0 R"), b"")).is_err());
}

/// A document whose catalog is in an object stream, whose dictionary has these entries.
fn packed(about: impl Fn(u32) -> String, body: &[u8]) -> Vec<u8> {
    let mut file = b"%PDF-1.5\n".to_vec();
    let objects = file.len();
    let body = [b"1 0 3 0 <</Type/Catalog/Pages 3 0 R>>", body].concat();
    file.extend(
        [&b"2 0 obj"[..], &stream(&format!("/Type/ObjStm/N 2/First 8{}", about(3)), &body), b"\nendobj\n"]
            .concat(),
    );
    let table = file.len();
    let entry = |kind: u8, value: usize| [&[kind][..], &(value as u32).to_be_bytes(), &[0]].concat();
    let entries = [entry(0, 0), entry(2, 2), entry(1, objects), entry(2, 2), entry(1, table)].concat();
    file.extend(
        [&b"4 0 obj"[..], &stream("/Type/XRef/Size 5/W[1 4 1]/Root 1 0 R", &entries), b"\nendobj\n"].concat(),
    );
    file.extend(format!("startxref\n{table}\n%%EOF").bytes());
    file
}

#[test]
fn what_grows_beyond_the_limit_is_refused() {
    let bomb = deflated(&vec![b' '; 16 << 20]);
    assert!(bomb.len() < 1 << 15);
    let longer = "damaged PDF: a stream becomes longer than";
    let refused = |bytes: &[u8]| read(bytes).unwrap_err();
    assert!(refused(&page(&stream("/Filter/FlateDecode", &bomb), &[])).starts_with(longer));
    let twice = stream("/Filter[/FlateDecode/FlateDecode]", &deflated(&bomb));
    assert!(refused(&page(&twice, &[])).starts_with(longer));
    // Many that are within the limit each: a form that is drawn again and again.
    let form = stream("/Subtype/Form/Filter/FlateDecode", &deflated(&vec![b' '; 1 << 20]));
    assert!(
        refused(&page(&stream("", &b"/X Do ".repeat(1000)), &[form])).contains("there is more in it than")
    );
    // Text that a table of characters makes longer than the limit.
    let cmap = format!(
        "1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <41> <{}> endbfchar",
        "0416".repeat(16)
    );
    let font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>".to_vec();
    let kept = [CATALOG, "<</Type/Pages/Kids[3 0 R]>>", PAGE].map(|text| text.as_bytes().to_vec());
    let contents = [&b"BT /F 1 Tf ("[..], &b"A".repeat(1 << 19), b") Tj"].concat();
    let objects = [
        &kept[..],
        &[
            stream("/Filter/FlateDecode", &deflated(&contents)),
            font,
            b"7".to_vec(),
            stream("", cmap.as_bytes()),
        ],
    ];
    assert!(refused(&document(&objects.concat(), "")).contains("longer than"));
    // Entries of a table of objects.
    let entries = deflated(&vec![1; 8 << 20]);
    let mut file = b"%PDF-1.5\n1 0 obj".to_vec();
    file.extend(
        [&stream("/Type/XRef/W[0 1 0]/Filter/FlateDecode", &entries)[..], b"\nendobj\nstartxref\n9\n%%EOF"]
            .concat(),
    );
    assert!(refused(&file).contains("objects"), "{}", refused(&file));
}

/// Pages that are so deep in each other.
fn nested(depth: usize) -> Vec<u8> {
    let mut objects = vec![CATALOG.as_bytes().to_vec()];
    objects.extend((0..depth).map(|n| format!("<</Type/Pages/Kids[{} 0 R]>>", n + 3).into_bytes()));
    let (contents, font) = (depth + 3, depth + 4);
    let page = format!("<</Type/Page/Contents {contents} 0 R/Resources<</Font<</F {font} 0 R>>>>>>");
    objects.extend([page.into_bytes(), stream("", b"BT /F 1 Tf (deep) Tj ET"), FONT.as_bytes().to_vec()]);
    document(&objects, "")
}

#[test]
fn pages_are_in_each_other_to_a_limit() {
    assert_eq!(read(&nested(64)).unwrap(), "deep");
    assert_eq!(read(&nested(65)).unwrap_err(), "damaged PDF: its pages are too deep in each other");
}

/// An object that an object in the table has in it is none, as long as the table leads to pages.
#[test]
fn what_the_table_does_not_name_is_not_there() {
    let other = [&b"null\nendobj\n4 0 obj\n"[..], &stream("", b"BT /F 1 Tf (other) Tj ET")].concat();
    assert_eq!(read(&page(&stream("", b"BT /F 1 Tf (this) Tj ET"), &[other])).unwrap(), "this");
}
