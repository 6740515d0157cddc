//! CSV and TSV: round trips with the csv crate, and what files in the wild look like.

use crate::common;

use common::{documents, documents_with, folder, gzip};
use countgrid_io::{
    Columns, DataSet, Format, Item, Problem, ReadError, ReadOptions, Table, read, read_table, visit,
};
use proptest::prelude::*;

fn texts(bytes: &[u8], table: Table) -> Vec<String> {
    let documents = read_table(bytes, "a", table, &Columns::default()).unwrap();
    documents.into_iter().map(|document| document.text).collect()
}

#[test]
fn quotes_line_ends_and_blank_lines_of_csv() {
    let csv = "text,label\r\n\"a, \"\"b\"\"\r\nc\",x\r\n\r\n5\" disk,y\r\nlast,z";
    let found = read_table(csv.as_bytes(), "a.csv", Table::Comma, &Columns::default()).unwrap();
    let texts: Vec<_> = found.iter().map(|document| document.text.as_str()).collect();
    assert_eq!(texts, ["a, \"b\"\nc", "5\" disk", "last"]);
    let lines: Vec<_> = found.iter().map(|document| document.line).collect();
    assert_eq!(lines, [2, 5, 6]);
    let labels: Vec<_> = found.iter().map(|document| document.label.as_deref().unwrap()).collect();
    assert_eq!(labels, ["x", "y", "z"]);
}

#[test]
fn a_quote_is_a_character_in_tsv() {
    assert_eq!(texts(b"id\ttext\n1\t\"open\n2\t\"closed\"\n", Table::Tab), ["\"open", "\"closed\""]);
}

#[test]
fn semicolons_of_spreadsheets() {
    let folder = folder(&[("a.csv", b"\xef\xbb\xbftext;class\na, b;x\n")]);
    let (documents, summary) = documents(&folder.path().join("a.csv"));
    assert_eq!((documents[0].text.as_str(), documents[0].label.as_deref()), ("a, b", Some("x")));
    assert_eq!(summary.format, Format::Table(Table::Semicolon));
}

#[test]
fn what_is_missing_is_made_up() {
    let long = "word ".repeat(40);
    let csv = format!("text,title,label,id\n{long},,,\nb, A title ,x,7\n");
    let found = read_table(csv.as_bytes(), "a.csv", Table::Comma, &Columns::default()).unwrap();
    assert_eq!(found[0].title, "word ".repeat(15) + "word…");
    assert_eq!((found[0].id.as_str(), &found[0].label), ("1", &None));
    assert_eq!((found[1].id.as_str(), found[1].title.as_str()), ("7", "A title"));
}

#[test]
fn columns_are_found_by_usual_names_in_any_case() {
    for (header, expected) in [
        ("ID,Subject,Class,Body", "text `Body`, title `Subject`, label `Class`, id `ID`"),
        ("word,definition,link", "text `definition`, title `word`, id `link`"),
        ("name,title,abstract", "text `abstract`, title `title`, id `name`"),
        ("name,text", "text `text`, title `name`"),
        ("publish date,headline text", "text `headline text`"),
        ("description,content,category", "text `content`, label `category`"),
        ("Review-Text,target", "text `Review-Text`, label `target`"),
    ] {
        let row = vec!["x"; header.split(',').count()].join(",");
        let folder = folder(&[("a.csv", format!("{header}\n{row}\n").as_bytes())]);
        let (_, summary) = documents(&folder.path().join("a.csv"));
        let columns: Vec<_> = summary.columns.iter().map(|(role, name)| format!("{role} `{name}`")).collect();
        assert_eq!(columns.join(", "), expected);
        assert!(summary.to_string().ends_with(&format!("columns: {expected}")), "{summary}");
    }
}

#[test]
fn named_columns_come_before_usual_names() {
    let folder = folder(&[("a.csv", b"text,sequence,class\na,b,c\n")]);
    let name = |name: &str| Some(name.to_owned());
    let columns = Columns { text: name("Sequence"), title: name("class"), id: name("class"), label: None };
    let (found, _) =
        documents_with(&folder.path().join("a.csv"), &ReadOptions { columns, ..ReadOptions::default() });
    assert_eq!((found[0].text.as_str(), found[0].title.as_str(), found[0].id.as_str()), ("b", "c", "c"));
    assert_eq!(found[0].label, None); // `class` has a role already
}

#[test]
fn a_table_is_told_by_its_first_line_where_the_name_does_not_tell() {
    for (name, bytes, format) in [
        ("a.txt", b"id\ttext\n1\tone, two\n".as_slice(), Format::Table(Table::Tab)),
        ("dump", b"id,text\n1,one\n", Format::Table(Table::Comma)),
        ("dump.gz", &gzip(b"\"id\";\"text\"\n1;one\n"), Format::Table(Table::Semicolon)),
        ("a.json", b"\n{\"text\": \"one\"}\n", Format::JsonLines),
    ] {
        let folder = folder(&[(name, bytes)]);
        let (documents, summary) = documents(&folder.path().join(name));
        assert_eq!((documents.len(), summary.format), (1, format), "{name}");
    }
}

#[test]
fn gzip_is_told_by_content() {
    // Several members one after the other, as `cat a.gz b.gz` makes them; and a name without `.gz`.
    let parts = [gzip(b"text\none\n"), gzip(b"two\n")].concat();
    let folder = folder(&[("a.csv", &parts), ("plain.csv.gz", b"text\none\ntwo\n")]);
    for name in ["a.csv", "plain.csv.gz"] {
        let (documents, summary) = documents(&folder.path().join(name));
        assert_eq!(documents.len(), 2);
        assert_eq!((summary.gzip, summary.bytes), (name == "a.csv", 13));
    }
}

/// Fields as they occur and as they should not: separators, quotes and line ends included.
fn field() -> impl Strategy<Value = String> {
    "[ -~äß€\u{1F600}\n\"',;\t]{0,12}"
}

proptest! {
    #[test]
    fn what_the_csv_crate_writes_is_read_back(
        rows in prop::collection::vec((field(), field()), 1..20),
        semicolon in any::<bool>(),
        crlf in any::<bool>(),
    ) {
        let terminator = if crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let mut writer = csv::WriterBuilder::new()
            .delimiter(if semicolon { b';' } else { b',' })
            .terminator(terminator)
            .quote_style(csv::QuoteStyle::NonNumeric) // else a lone blank field is a blank line
            .from_writer(Vec::new());
        writer.write_record(["text", "label"]).unwrap();
        for (text, label) in &rows {
            writer.write_record([text, label]).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let table = if semicolon { Table::Semicolon } else { Table::Comma };
        let found = read_table(bytes.as_slice(), "a.csv", table, &Columns::default()).unwrap();
        let found: Vec<_> = found.into_iter().map(|document| (document.text, document.label)).collect();
        let label = |label: &str| Some(label.trim().to_owned()).filter(|label| !label.is_empty());
        let rows: Vec<_> = rows.iter().map(|(text, other)| (text.clone(), label(other))).collect();
        prop_assert_eq!(found, rows);
    }

    #[test]
    fn fields_without_tab_and_line_end_come_back_from_tsv(
        rows in prop::collection::vec(("[^\t\n\r]{0,12}", "[^\t\n\r]{0,12}"), 1..20),
    ) {
        let mut tsv = "text\tlabel\n".to_owned();
        rows.iter().for_each(|(text, label)| tsv += &format!("{text}\t{label}\n"));
        // A line of white space is no record; without any record the table is refused.
        let blank = |text: &str| text.trim().is_empty();
        let rows: Vec<_> = rows.into_iter().filter(|(text, label)| !(blank(text) && blank(label))).collect();
        prop_assume!(!rows.is_empty());
        let rows: Vec<_> = rows.into_iter().map(|(text, _)| text).collect();
        prop_assert_eq!(texts(tsv.as_bytes(), Table::Tab), rows);
    }

    #[test]
    fn json_strings_come_back(rows in prop::collection::vec((".{0,12}", any::<i64>()), 1..20)) {
        let lines: Vec<_> = rows
            .iter()
            .map(|(text, id)| serde_json::json!({ "text": text, "id": id }).to_string())
            .collect();
        let found =
            countgrid_io::read_json_lines(lines.join("\n").as_bytes(), "a", &Columns::default()).unwrap();
        let found: Vec<_> = found.into_iter().map(|document| (document.text, document.id)).collect();
        let rows: Vec<_> = rows.into_iter().map(|(text, id)| (text, id.to_string())).collect();
        prop_assert_eq!(found, rows);
    }
}

#[test]
fn json_values_of_every_kind() {
    let lines = "{\"text\":\"a\\u00e9\\n\",\"label\":true,\"id\":1.50,\"title\":null,\"name\":\"n\",\"tags\":[1]}\n\
                 {\"text\":\"b\",\"label\":\"x\"}\n";
    let found = countgrid_io::read_json_lines(lines.as_bytes(), "a", &Columns::default()).unwrap();
    assert_eq!((found[0].text.as_str(), found[0].id.as_str()), ("aé\n", "1.50"));
    assert_eq!((found[0].label.as_deref(), found[0].title.as_str()), (Some("true"), "aé"));
    assert_eq!((found[1].label.as_deref(), found[1].id.as_str(), found[1].line), (Some("x"), "2", 2));
}

#[test]
fn a_table_of_numbers_is_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("genes.csv");
    std::fs::write(&path, "class,id,g1,note,g2,g3\ntumor,a,1.5,x,0,2\nnormal,b,0,7,1e3,4\n").unwrap();
    let (data, summary) = read(&path, &ReadOptions::default()).unwrap();
    let DataSet::Counts(counts) = data else { panic!("counts") };
    assert_eq!(counts.vocabulary, ["g1", "g2", "g3"]); // `note` does not begin with a number
    assert_eq!(counts.bags.offsets(), [0, 2, 4]);
    assert_eq!(counts.bags.indices(), [0, 2, 1, 2]);
    assert_eq!(counts.bags.counts(), [1.5, 2.0, 1000.0, 4.0]);
    assert_eq!(counts.names, ["a", "b"]);
    assert_eq!(counts.labels, [Some("tumor".to_owned()), Some("normal".to_owned())]);
    assert_eq!((summary.documents, summary.labels), (2, 2));
    assert!(
        summary.to_string().ends_with("columns: label `class`, id `id`, counts `3 of numbers`"),
        "{summary}"
    );
    // Negative numbers are no counts; they are handed over to who knows what to do with them.
    std::fs::write(&path, "g1,g2\n1.5,0\n0,-2\n").unwrap();
    let refused = read(&path, &ReadOptions::default()).unwrap_err();
    assert!(matches!(refused.problem(), Problem::Count { found } if found == "-2"), "{refused}");
    let mut bags = Vec::new();
    let visited = visit(&path, &ReadOptions::default(), |item| {
        if let Item::Bag(bag) = item {
            bags.push(bag.to_vec());
        }
        Ok::<_, ReadError>(())
    });
    assert_eq!((visited.unwrap().documents, bags), (2, vec![vec![(0, 1.5)], vec![(1, -2.0)]]));
}

#[test]
fn a_field_that_is_no_number_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("genes.csv");
    for field in ["NA", "", "nan", "inf", "1,5"] {
        std::fs::write(
            &path,
            format!("id\tg1\tg2\n1\t1\t2\n2\t3\t{field}\n")
                .replace(',', ".")
                .replace('\t', ",")
                .replace("1.5", "1 5"),
        )
        .unwrap();
        let refused = read(&path, &ReadOptions::default()).unwrap_err();
        assert_eq!(refused.line(), Some(3), "{field}");
        assert!(refused.to_string().contains("a number is expected under `g2`"), "{refused}");
    }
    // One column of numbers is no bag.
    std::fs::write(&path, "id,n\nx,1\n").unwrap();
    let refused = read(&path, &ReadOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("no column is known to hold text"), "{refused}");
}

#[test]
fn a_column_of_texts_is_one_by_its_first_record() {
    let texts = |csv: &[u8]| texts(csv, Table::Comma);
    // A later text may be a number.
    assert_eq!(texts(b"text,n\nRed ants.,1\n7,2\n"), ["Red ants.", "7"]);
    // One that was named is one even so; of a table of numbers alone no column is, and none is found.
    let named = Columns { text: Some("body".to_owned()), ..Columns::default() };
    let found = read_table(&b"body,n\n7,1\n8,2\n"[..], "a.csv", Table::Comma, &named).unwrap();
    assert_eq!(found.iter().map(|document| document.text.as_str()).collect::<Vec<_>>(), ["7", "8"]);
    for header in ["ant,bee", "text,ant"] {
        let csv = format!("{header}\n7,1\nRed ants.,2\n");
        let refused = read_table(csv.as_bytes(), "a.csv", Table::Comma, &Columns::default()).unwrap_err();
        let Problem::NoTextColumn { columns } = refused.problem() else { panic!("{refused}") };
        assert_eq!(columns.join(","), header);
    }
    let other = Columns { text: Some("note".to_owned()), ..Columns::default() };
    let found = read_table(&b"text,note\nRed ants.,Bees.\n"[..], "a.csv", Table::Comma, &other).unwrap();
    assert_eq!(found[0].text, "Bees.");
}

#[test]
fn fields_may_be_empty() {
    let csv = b"text,a,b,c,d\nx,,,,\n,,,,y\n";
    let folder = folder(&[("a.csv", csv)]);
    let (_, fields) = crate::common::with_columns(&folder.path().join("a.csv"));
    assert_eq!(fields, [["a", "b", "c", "d"], ["", "", "", ""], ["", "", "", "y"]]);
}

/// A word that does not come is none of the bag's.
#[test]
fn counts_of_zero_are_left_out_of_bags() {
    let folder = folder(&[("a.svm", b"1 1:0 2:3\n"), ("vocab.a.txt", b"ant\nbee\n")]);
    let mut bags = Vec::new();
    let visited = visit(folder.path().join("a.svm"), &ReadOptions::default(), |item| {
        if let Item::Bag(bag) = item {
            bags.push(bag.to_vec());
        }
        Ok::<_, ReadError>(())
    });
    visited.unwrap();
    assert_eq!(bags, [[(1, 3.0)]]);
}
