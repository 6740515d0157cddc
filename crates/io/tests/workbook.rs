//! Workbooks, as several programs write them (`fixtures/workbooks/make.py`) and as nobody should.

use crate::common;

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use common::{documents, folder, gzip, refusal, with_columns};
use countgrid_io::{Document, Format, Limits, ReadOptions, read};
use proptest::prelude::*;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/workbooks").join(name)
}

pub(crate) fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let method =
            if *name == "mimetype" { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        archive.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A workbook of these sheets and shared strings.
pub(crate) fn xlsx(sheets: &[&str], strings: &str) -> Vec<u8> {
    let number = |n: usize| n + 1;
    let listed: String = (0..sheets.len())
        .map(|n| format!("<sheet name=\"S{}\" sheetId=\"{}\" r:id=\"r{n}\"/>", number(n), number(n)))
        .collect();
    let targets: String = (0..sheets.len())
        .map(|n| {
            format!(
                "<Relationship Id=\"r{n}\" Type=\"http://x/worksheet\" Target=\"worksheets/sheet{}.xml\"/>",
                number(n)
            )
        })
        .collect();
    let book = format!("<workbook><sheets>{listed}</sheets></workbook>");
    let rels = format!(
        "<Relationships>{targets}<Relationship Id=\"s\" Type=\"http://x/sharedStrings\" Target=\"/xl/sharedStrings.xml\"/></Relationships>"
    );
    let strings = format!("<sst>{strings}</sst>");
    let names: Vec<String> =
        (0..sheets.len()).map(|n| format!("xl/worksheets/sheet{}.xml", number(n))).collect();
    let bodies: Vec<String> =
        sheets.iter().map(|rows| format!("<worksheet><sheetData>{rows}</sheetData></worksheet>")).collect();
    let mut files = vec![
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", book.as_str()),
        ("xl/_rels/workbook.xml.rels", rels.as_str()),
        ("xl/sharedStrings.xml", strings.as_str()),
    ];
    files.extend(names.iter().map(String::as_str).zip(bodies.iter().map(String::as_str)));
    zip(&files)
}

pub(crate) fn ods(tables: &str) -> Vec<u8> {
    let content = format!("<office:spreadsheet>{tables}</office:spreadsheet>");
    zip(&[("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", &content)])
}

#[test]
fn workbooks_of_every_program_are_their_twin() {
    let (twin, twin_fields) = with_columns(&fixture("twin.csv"));
    assert_eq!((twin.len(), twin_fields.len()), (4, 5));
    let number = |text: &str| text.parse::<f64>().ok();
    for name in ["openpyxl.xlsx", "xlsxwriter.xlsx", "libreoffice.xlsx", "libreoffice.ods", "odfpy.ods"] {
        let (found, fields) = with_columns(&fixture(name));
        assert_eq!(found.len(), twin.len(), "{name}");
        for (found, twin) in found.iter().zip(&twin) {
            assert_eq!(
                (&found.id, &found.title, &found.label, &found.text),
                (&twin.id, &twin.title, &twin.label, &twin.text),
                "{name}"
            );
        }
        // The row in the sheet; the fifth is empty.
        assert_eq!(found.iter().map(|document| document.line).collect::<Vec<_>>(), [2, 3, 4, 6], "{name}");
        assert_eq!(fields[0], ["date", "price", "sold"]);
        for (found, twin) in fields[1..].iter().zip(&twin_fields[1..]) {
            // LibreOffice makes the truth values of another program formulas, whose values are numbers.
            let twin = match (name, twin[2].as_str()) {
                ("libreoffice.ods", "true") => [&twin[0], &twin[1], "1"].map(str::to_owned).to_vec(),
                ("libreoffice.ods", "false") => [&twin[0], &twin[1], "0"].map(str::to_owned).to_vec(),
                _ => twin.clone(),
            };
            assert_eq!(
                (&found[0], number(&found[1]), &found[2]),
                (&twin[0], number(&twin[1]), &twin[2]),
                "{name}"
            );
        }
        let (_, summary) = documents(&fixture(name));
        assert_eq!(
            (summary.format, summary.files, summary.documents, summary.labels),
            (Format::Workbook, 1, 4, 3)
        );
        let others: Vec<_> = summary
            .left_out
            .iter()
            .map(|left| (left.path.file_name().unwrap().to_str().unwrap(), left.why.as_str()))
            .collect();
        let hidden = [("Notes", "a further sheet, of which the first is read"), ("Hidden", "a hidden sheet")];
        assert_eq!(others, &hidden[..if name == "odfpy.ods" { 1 } else { 2 }], "{name}");
        assert_eq!(summary.skipped.tables, others.len());
    }
}

#[test]
fn a_workbook_is_told_by_its_content() {
    for name in ["openpyxl.xlsx", "xlsxwriter.xlsx", "libreoffice.xlsx", "libreoffice.ods", "odfpy.ods"] {
        let bytes = fs::read(fixture(name)).unwrap();
        let packed = gzip(&bytes);
        let folder =
            folder(&[("a", &bytes), ("b", packed.as_slice()), ("c/d.zip", &bytes), ("e/f.xlsx", &bytes)]);
        for path in ["a", "b", "c/d.zip", "e/f.xlsx", "e"] {
            let (found, summary) = documents(&folder.path().join(path));
            assert_eq!(
                (found.len(), summary.format, summary.gzip),
                (4, Format::Workbook, path == "b"),
                "{name} as {path}"
            );
        }
    }
    // One whose list of files is not among its first bytes.
    let rows: String =
        (0..3000).map(|n| format!("<row>{}</row>", cell(&format!("{:x}", n * 7_654_321)))).collect();
    let long = xlsx(&[&format!("<row>{}</row>{rows}", cell("text"))], "");
    assert!(long.len() > 1 << 14);
    let folder_of_one = folder(&[("long", &long)]);
    assert_eq!(documents(&folder_of_one.path().join("long")).0.len(), 3000);
    // Among texts it is a table, as others are; of several paths its rows are documents.
    let sheet = fs::read(fixture("openpyxl.xlsx")).unwrap();
    let folder =
        folder(&[("d/a.txt", b"Red ants walk.".as_slice()), ("d/b.xlsx", &sheet), ("c.xlsx", &sheet)]);
    let (found, summary) = documents(&folder.path().join("d"));
    assert_eq!((found.len(), summary.skipped.tables), (1, 1));
    let paths = ["d", "c.xlsx"].map(|name| folder.path().join(name));
    let (_, summary) = countgrid_io::read_all(&paths, &ReadOptions::default()).unwrap();
    assert_eq!(summary.documents, 5);
}

#[test]
fn sheets_of_numbers_are_counts() {
    let rows = "<row><c t=\"inlineStr\"><is><t>ant</t></is></c><c t=\"str\"><v>bee</v></c></row>\
        <row r=\"4\"><c r=\"B4\"><v>2.5</v></c><c r=\"A4\"><v>1</v></c></row>";
    assert!(says(&xlsx(&[rows], "")).contains("cells of a row are not in order"));
    let rows = "<row><c t=\"inlineStr\"><is><t>ant</t></is></c><c t=\"str\"><v>bee</v></c></row>\
        <x:row r=\"4\"><x:c r=\"A4\"><x:v>1</x:v></x:c><x:c r=\"B4\"><x:v>2.50</x:v></x:c></x:row>\
        <row><c><v>0</v></c><c><v>3</v></c></row>";
    let folder = folder(&[("a.xlsx", &xlsx(&[rows], ""))]);
    let (found, summary) = common::counts(&folder.path().join("a.xlsx"));
    assert_eq!(found.vocabulary, ["ant", "bee"]);
    assert_eq!((found.bags.offsets(), found.bags.counts()), (&[0, 2, 3][..], &[1.0, 2.5, 3.0][..]));
    assert_eq!(summary.documents, 2);
}

/// What is said to this file.
fn says(bytes: &[u8]) -> String {
    let folder = folder(&[("a.xlsx", bytes)]);
    refusal(folder.path(), "a.xlsx", &ReadOptions::default())
}

pub(crate) fn cell(text: &str) -> String {
    format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>")
}

#[test]
fn what_is_no_table_says_where() {
    let header = format!("<row r=\"2\">{}{}</row>", cell("id"), cell("text"));
    let with = |rows: &str| says(&xlsx(&[&format!("{header}{rows}")], "<si><t>one</t></si>"));
    for (said, expected) in [
        (with(""), ": no documents"),
        (
            with(&format!("<row r=\"7\">{}{}{}</row>", cell("1"), cell("a"), cell("b"))),
            ", line 7: 3 cells, but the first row names 2\nremedy: empty the cells beyond",
        ),
        (
            with("<row r=\"3\"><c t=\"s\"><v>1</v></c></row>"),
            ", line 3: damaged workbook: no shared string 1",
        ),
        (
            with("<row r=\"3\"><c t=\"s\"><v>x</v></c></row>"),
            ", line 3: damaged workbook: no shared string x",
        ),
        (with("<row r=\"2\"/>"), ", line 3: damaged workbook: row 2 after row 2"),
        (with("<row r=\"1048577\"/>"), ", line 3: damaged workbook: row 1048577 after row 2"),
        (
            with("<row><c r=\"XFE3\"><v>1</v></c></row>"),
            ", line 3: damaged workbook: a cell lies beyond the last column, XFD",
        ),
        (with("<row><c r=\"3\"><v>1</v></c></row>"), ", line 3: damaged workbook: a cell called 3"),
        (with("<row><c><v>1</v>"), ", line 3: damaged workbook: a row has no end"),
        (says(&xlsx(&["", "<row/>"], "")), ": empty, there is nothing to read"),
        (says(&xlsx(&[&format!("<row>{}</row>", cell("a"))], "")), ", line 1: "),
        (says(b"PK\x03\x04"), ": damaged workbook: "),
        (says(&zip(&[("a.txt", "text")])), ": a ZIP archive, but no XLSX or ODS"),
        (says(&zip(&[("xl/workbook.xml", "<sheets/>")])), ": damaged workbook: xl/_rels/workbook.xml.rels: "),
        (
            says(&ods("<table:table><table:table-row><table:table-cell><text:p>text")),
            ", line 1: damaged workbook: a cell has no end",
        ),
        (says(&ods("<table:table><table:table-row>")), ", line 1: damaged workbook: a table has no end"),
    ] {
        assert!(
            said.strip_prefix("~/a.xlsx").is_some_and(|said| said.starts_with(expected)),
            "{said}\n{expected}"
        );
        assert!(said.contains("\nremedy: "), "{said}");
    }
}

/// Little that becomes much ends at the limits.
#[test]
fn claims_and_repeats_are_bounded() {
    let limits = Limits { record_bytes: 1 << 12, total_bytes: 1 << 20 };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let refused = |bytes: &[u8]| {
        let folder = folder(&[("a.ods", bytes)]);
        refusal(folder.path(), "a.ods", &options)
    };
    let header =
        "<table:table-row><table:table-cell><text:p>text</text:p></table:table-cell></table:table-row>";
    let long = format!("<table:table-cell><text:p>{}</text:p></table:table-cell>", "a".repeat(1 << 11));
    let table = |rows: &str| ods(&format!("<table:table>{header}{rows}</table:table>"));
    let rows = |times: u64| {
        format!("<table:table-row table:number-rows-repeated=\"{times}\">{long}</table:table-row>")
    };
    assert!(refused(&table(&rows(1 << 19))).contains("more than 1048576 bytes"));
    assert!(refused(&table(&rows(u64::MAX))).contains("more than 1048576 rows"));
    let wide = long.replacen("table-cell", "table-cell table:number-columns-repeated=\"16384\"", 1);
    assert!(refused(&table(&format!("<table:table-row>{wide}</table:table-row>"))).contains("4096 bytes"));
    let blanks = "<table:table-row><table:table-cell><text:p><text:s text:c=\"4000000000\"/></text:p></table:table-cell></table:table-row>";
    assert!(refused(&table(blanks)).contains("4096 bytes"));
    // A string that all cells share counts for each.
    let shared = format!("<si><t>{}</t></si>", "a".repeat(1 << 11));
    let cells = "<row><c t=\"s\"><v>0</v></c></row>".repeat(1 << 10);
    let said = refused(&xlsx(&[&format!("<row>{}</row>{cells}", cell("text"))], &shared));
    assert!(said.contains("more than 1048576 bytes"), "{said}");
    // An empty row may be repeated as often as it likes, up to the last of a sheet and beyond.
    let empty = "<table:table-row table:number-rows-repeated=\"1048576\"><table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row>";
    let folder = folder(&[("a.ods", &table(&format!("{}{empty}{empty}", rows(1))))]);
    let (data, _) = read(folder.path().join("a.ods"), &options).unwrap();
    assert!(matches!(data, countgrid_io::DataSet::Documents(documents) if documents.len() == 1));
}

/// Text of XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

proptest! {
    /// Whatever the cells, a sheet is what a table of the same fields is.
    #[test]
    fn sheets_are_tables(
        rows in prop::collection::vec(prop::collection::vec("[a-z&<>\"' é猫\u{1f41c},;]{0,6}", 3), 0..6),
        shared in any::<bool>(),
    ) {
        thread_local! { static FOLDER: tempfile::TempDir = folder(&[]); }
        let header = ["id", "text", "more"].map(str::to_owned).to_vec();
        let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
        let mut table = csv::WriterBuilder::new().from_writer(Vec::new());
        let (mut strings, mut number) = (String::new(), 0);
        let (mut sheet, mut open) = (String::new(), String::new());
        for row in &rows {
            // A row without text is none, in a sheet; in a table it is one of empty fields.
            if row.iter().any(|field| !field.is_empty()) {
                table.write_record(row).unwrap();
            }
            sheet += "<row>";
            open += "<table:table-row>";
            for field in row {
                let text = escaped(field);
                if shared {
                    sheet += &format!("<c t=\"s\"><v>{number}</v></c>");
                    strings += &format!("<si><r><t>{text}</t></r><rPh><t>no</t></rPh></si>");
                    number += 1;
                } else {
                    sheet += &cell(&text);
                }
                open += &format!("<table:table-cell office:value-type=\"string\"><text:p>{text}</text:p></table:table-cell>");
            }
            sheet += "</row>";
            open += "</table:table-row>";
        }
        FOLDER.with(|folder| {
            let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
            write("a.csv", &table.into_inner().unwrap());
            write("a.xlsx", &xlsx(&[&sheet], &strings));
            write("a.ods", &ods(&format!("<table:table>{open}</table:table>")));
            let read = |name: &str| read(folder.path().join(name), &ReadOptions::default()).map(|(data, _)| match data {
                countgrid_io::DataSet::Documents(documents) => documents
                    .into_iter()
                    .map(|Document { id, title, label, text, .. }| (id, title, label, text))
                    .collect::<Vec<_>>(),
                countgrid_io::DataSet::Counts(_) => panic!("counts"),
            });
            let expected = read("a.csv").ok();
            prop_assert_eq!(&read("a.xlsx").ok(), &expected);
            prop_assert_eq!(&read("a.ods").ok(), &expected);
            Ok(())
        })?;
    }
}
