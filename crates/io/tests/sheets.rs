//! What is in the cells of sheets, and what is in their files besides: notes, pictures, marks of pronunciation, styles.

use crate::common;
use crate::workbook;

use std::io::{Cursor, Write};

use common::{documents, documents_with, folder, refusal, with_columns};
use countgrid_io::{Limits, ReadOptions};
use workbook::{cell, ods, xlsx, zip};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// The lines of a sheet's rows, and their cells but the first, which is their text.
fn cells(file: &[u8]) -> (Vec<u64>, Vec<Vec<String>>) {
    let folder = folder(&[("a", file)]);
    let (found, mut fields) = with_columns(&folder.path().join("a"));
    fields.remove(0); // the names
    (found.iter().map(|document| document.line).collect(), fields)
}

const TEXT: &str = "<table:table-cell><text:p>Red ants.</text:p></table:table-cell>";

/// An ODS table with a text and these cells in each row, the first of which has the names.
fn open_table<const N: usize>(rows: &[[&str; N]], between: &str) -> String {
    let row = |text: &str, cells: &[&str]| {
        let cells: String =
            cells.iter().map(|cell| format!("<table:table-cell>{cell}</table:table-cell>")).collect();
        format!("<table:table-row>{text}{cells}</table:table-row>")
    };
    let names = ["<text:p>a</text:p>", "<text:p>b</text:p>", "<text:p>c</text:p>"];
    let head = row(&TEXT.replace("Red ants.", "text"), &names[..rows[0].len()]);
    let rows: String = rows.iter().map(|cells| format!("{between}{}", row(TEXT, cells))).collect();
    format!("<table:table>{between}{head}{rows}</table:table>")
}

#[test]
fn cells_of_ods_have_the_text_of_their_paragraphs() {
    let found = [
        "<office:annotation><text:p>note</text:p></office:annotation><text:p>a<draw:frame/>b</text:p>",
        "<text:p>a<text:tab/>b<text:line-break/>c<text:s text:c=\"2\"/>d<text:s/>e</text:p>",
        "no<text:p>a</text:p>no<text:p/>no<text:h>b</text:h>no",
    ];
    let (_, fields) = cells(&ods(&open_table(&[found], "")));
    assert_eq!(fields, [["ab", "a\tb\nc  d e", "a\n\nb"]]);
}

#[test]
fn what_is_beside_the_cells_of_ods_is_no_row_and_no_cell() {
    let shapes = "<table:shapes/><table:shapes><draw:frame><table:table-row><table:table-cell><text:p>no</text:p>\
        </table:table-cell></table:table-row></draw:frame></table:shapes>";
    let ends = "</table:table-row></table:table-cell><table:tracked-changes/>";
    for between in [shapes, ends] {
        let (lines, fields) = cells(&ods(&open_table(&[["<text:p>x</text:p>"]; 2], between)));
        assert_eq!((&lines[..], fields), (&[2, 3][..], vec![vec!["x".to_owned()]; 2]));
    }
    let table =
        open_table(&[["<text:p>x</text:p>"]], "").replace("<table:table-row>", "<table:table-row><x:y/>");
    assert_eq!(cells(&ods(&table)).1, [["x"]]);
}

#[test]
fn the_last_row_of_all_is_one() {
    let empty = "<table:table-row table:number-rows-repeated=\"1048574\"/>";
    let table = open_table(&[[]], "").replace(
        "</table:table-row><table:table-row>",
        &format!("</table:table-row>{empty}<table:table-row>"),
    );
    let file = folder(&[("a", &ods(&table))]);
    assert_eq!(documents(&file.path().join("a")).0[0].line, 1_048_576);
    let table = table.replace("1048574", "1048575");
    let file = folder(&[("a", &ods(&table))]);
    let said = refusal(file.path(), "a", &ReadOptions::default());
    assert!(said.contains("more than 1048576 rows"), "{said}");
    let rows = format!("<row>{}</row><row r=\"1048576\">{}</row>", cell("text"), cell("Red ants."));
    let file = folder(&[("a", &xlsx(&[&rows], ""))]);
    assert_eq!(documents(&file.path().join("a")).0[0].line, 1_048_576);
}

#[test]
fn a_row_may_be_as_long_as_the_limit() {
    let open = ods(&open_table(&[["<text:p>more</text:p>"]], ""));
    let rows =
        format!("<row>{}{}</row><row>{}{}</row>", cell("text"), cell("a"), cell("Red ants."), cell("more"));
    let alone = format!("<row>{}</row><row>{}</row>", cell("text"), cell("Red ants."));
    for (file, bytes) in
        [(open, 13), (ods(&open_table(&[[]], "")), 9), (xlsx(&[&rows], ""), 13), (xlsx(&[&alone], ""), 9)]
    {
        let folder = folder(&[("a", &file)]);
        let options = |record_bytes| ReadOptions {
            limits: Limits { record_bytes, ..Limits::default() },
            ..ReadOptions::default()
        };
        let (found, _) = documents_with(&folder.path().join("a"), &options(bytes));
        assert_eq!(found[0].text, "Red ants.");
        let said = refusal(folder.path(), "a", &options(bytes - 1));
        assert!(said.contains(&format!("longer than {} bytes", bytes - 1)), "{said}");
    }
}

/// The rows of an XLSX sheet after one of names, `a` and `b` besides the text.
fn sheet(rows: &str) -> Vec<u8> {
    xlsx(&[&format!("<row>{}{}{}</row>{rows}", cell("text"), cell("a"), cell("b"))], "")
}

#[test]
fn strings_in_the_cells_of_xlsx_are_without_their_pronunciation() {
    let marked = "<c t=\"inlineStr\"><is><r><t>a</t></r><rPh><t>no</t></rPh><rPh/><r><t>c</t></r></is></c>";
    let empty = "<c t=\"str\"><v/>no</c>";
    let (_, fields) = cells(&sheet(&format!("<row>{}{marked}{empty}</row>", cell("Red ants."))));
    assert_eq!(fields, [["ac", ""]]);
}

#[test]
fn what_is_beside_the_rows_of_xlsx_is_none_of_them() {
    let head = format!("<row>{}{}{}</row>", cell("a"), cell("b"), cell("text"));
    let row = format!("<row><c>no<v>1</v></c><c><v>2</v></c>{}</row>", cell("Red ants."));
    let rows = format!("{head}<v><c r=\"3\">{row}</c>{row}</sheetData>{row}");
    let (lines, fields) = cells(&xlsx(&[&rows], ""));
    assert_eq!((&lines[..], fields), (&[2, 3][..], vec![vec!["1".to_owned(), "2".to_owned()]; 2]));
}

/// A workbook whose days count from 1904 if `since` says so, with these rows, styles of cells and shared strings.
fn styled(since: &str, rows: &str) -> Vec<u8> {
    let book = format!(
        "<workbook><workbookPr {since}/><sheets><sheet a:b=\"no\" name=\"S\" r:id=\"r\" id=\"no\"/></sheets></workbook>"
    );
    let target = |id: &str, kind: &str, file: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"http://x/{kind}\" Target=\"{file}\"/>")
    };
    let targets = [
        target("r", "worksheet", "s.xml"),
        target("t", "styles", "styles.xml"),
        target("u", "sharedStrings", "strings.xml"),
    ]
    .concat();
    let names = [cell("text"), cell("a"), cell("b")].concat();
    zip(&[
        ("xl/workbook.xml", &book),
        ("xl/_rels/workbook.xml.rels", &targets),
        (
            "xl/styles.xml",
            "<cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs><dxfs><xf numFmtId=\"14\"/></dxfs>",
        ),
        ("xl/strings.xml", "<sst><si/><si><t>a</t>no<rPh/><t>b</t></si></sst>"),
        ("xl/s.xml", &format!("<sheetData><row>{names}</row>{rows}</sheetData>")),
    ])
}

#[test]
fn values_of_xlsx_are_of_their_type_and_style() {
    let one = |since: &str, cells: &str| {
        let (_, mut fields) =
            self::cells(&styled(since, &format!("<row>{}{cells}</row>", cell("Red ants."))));
        fields.remove(0)
    };
    let day = "<c s=\"1\"><v>43951</v></c><c s=\"2\"><v>43951</v></c>";
    assert_eq!(one("", day), ["2020-04-30", "43951"]);
    assert_eq!(one("date1904=\"1\"", day), ["2024-05-01", "43951"]);
    assert_eq!(one("date1904=\"0\"", day), ["2020-04-30", "43951"]);
    // A date and a fault are what they say; a number is one without zeros at its end, unless it is too large for one.
    assert_eq!(one("", "<c t=\"d\" s=\"1\"><v>2024</v></c><c t=\"e\" s=\"1\"><v>7</v></c>"), ["2024", "7"]);
    assert_eq!(one("", "<c><v>2.50</v></c><c><v>1e999</v></c>"), ["2.5", "1e999"]);
    assert_eq!(one("", "<c t=\"s\"><v>1</v></c><c t=\"s\"><v>0</v></c>"), ["ab", ""]);
}

#[test]
fn a_workbook_whose_checksum_is_wrong_is_damaged() {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in [
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet".to_owned()),
        ("content.xml", open_table(&[[]], "")),
    ] {
        archive.start_file(name, stored).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    let mut bytes = archive.finish().unwrap().into_inner();
    let at = bytes.windows(9).position(|text| text == b"Red ants.").unwrap();
    bytes[at] = b'r';
    let folder = folder(&[("a", &bytes)]);
    let said = refusal(folder.path(), "a", &ReadOptions::default());
    assert!(said.contains("damaged workbook: "), "{said}");
}
