//! What is refused, and what the file holds: the data whole, and nothing that the data could have added.

use countgrid_map::{
    Document, Field, FieldKind, MAX_CELLS, Page, PageColumn, PageError, Space, Word, WriteError, coverage,
    truncate_text, write_html,
};
use proptest::prelude::*;

fn page() -> Page {
    Page {
        title: "Title".into(),
        extents: [3, 4],
        window: [2, 2],
        words: vec![Word { text: "word".into(), cell: 11, weight: 1.5 }],
        documents: vec![Document {
            title: "A document".into(),
            label: Some(1),
            snippet: "text".into(),
            posterior: vec![(11, 0.75), (0, 0.25)],
            ..Document::default()
        }],
        labels: vec!["one".into(), "two".into()],
        facts: vec![("name".into(), "value".into())],
        ..Page::default()
    }
}

fn html(page: &Page) -> String {
    let mut html = Vec::new();
    write_html(page, &mut html).unwrap();
    String::from_utf8(html).unwrap()
}

/// The JSON between the tags of the data element, as a browser finds its end.
fn embedded(html: &str) -> serde_json::Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    let rest = html.split_once(start).unwrap().1;
    serde_json::from_str(rest.split_once("</script").unwrap().0).unwrap()
}

#[test]
fn what_is_out_of_range_is_refused() {
    type Change = fn(&mut Page);
    let cases: [(Change, PageError); 21] = [
        (|page| page.extents = [0, 4], PageError::EmptyAxis { axis: 0 }),
        (|page| page.extents[1] = 0, PageError::EmptyAxis { axis: 1 }),
        (|page| page.extents = [MAX_CELLS, 2], PageError::TooManyCells { limit: MAX_CELLS }),
        (|page| page.extents = [usize::MAX, 2], PageError::TooManyCells { limit: MAX_CELLS }),
        (|page| page.window = [2, 5], PageError::Window { axis: 1, side: 5, extent: 4 }),
        (|page| page.window = [0, 1], PageError::Window { axis: 0, side: 0, extent: 3 }),
        (|page| page.words[0].cell = 12, PageError::WordCell { word: 0, cell: 12, cells: 12 }),
        (|page| page.words[0].weight = f32::NAN, PageError::WordWeight { word: 0 }),
        (|page| page.words[0].weight = f32::INFINITY, PageError::WordWeight { word: 0 }),
        (|page| page.words[0].weight = -1.0, PageError::WordWeight { word: 0 }),
        (
            |page| page.documents[0].posterior[1].0 = u32::MAX,
            PageError::DocumentCell { document: 0, cell: u32::MAX, cells: 12 },
        ),
        (|page| page.documents[0].posterior[1].1 = f32::NAN, PageError::Posterior { document: 0 }),
        (|page| page.documents[0].posterior[0].1 = 1.5, PageError::Posterior { document: 0 }),
        (|page| page.documents[0].label = Some(2), PageError::Label { document: 0, label: 2, labels: 2 }),
        (|page| page.documents[0].place = Some([3.1, 0.0]), PageError::Place { document: 0 }),
        (|page| page.documents[0].place = Some([0.0, -0.1]), PageError::Place { document: 0 }),
        (|page| page.documents[0].place = Some([0.0, f32::NAN]), PageError::Place { document: 0 }),
        (|page| page.relief = vec![0.0], PageError::Length { table: "relief", expected: 12, found: 1 }),
        (
            |page| page.relief = [[1.0; 11].as_slice(), &[-1.0]].concat(),
            PageError::Value { table: "relief", index: 11 },
        ),
        (|page| page.added = Some(2), PageError::Added { first: 2, documents: 1 }),
        (|page| page.added = Some(usize::MAX), PageError::Added { first: usize::MAX, documents: 1 }),
    ];
    assert_eq!(page().check(), Ok(()));
    // All were added, or none of those that are asked for is left.
    for added in [Some(0), Some(1), None] {
        assert_eq!(Page { added, ..page() }.check(), Ok(()));
    }
    for (change, expected) in cases {
        let mut page = page();
        change(&mut page);
        let mut out = Vec::new();
        let Err(WriteError::Page(found)) = write_html(&page, &mut out) else {
            panic!("{expected:?} was not refused")
        };
        assert_eq!(found, expected);
        assert!(out.is_empty(), "nothing is written of a page that is refused");
        assert!(!found.to_string().is_empty());
    }
}

#[test]
fn fields_are_those_of_their_columns() {
    let kinds = [
        FieldKind::Numbers,
        FieldKind::Days,
        FieldKind::Categories(vec!["a".into(), "b".into()]),
        FieldKind::Texts,
    ];
    let fields = [Field::Number(-0.5), Field::Day(-3), Field::Category(1), Field::Text("</script>".into())];
    let mut page = page();
    page.columns = kinds
        .into_iter()
        .zip(["n", "d", "c", "t"])
        .map(|(kind, name)| PageColumn { name: name.into(), kind })
        .collect();
    page.documents[0].fields = fields.to_vec();
    page.documents.push(Document {
        fields: vec![Field::Number(2e3), Field::Empty, Field::Empty, Field::Empty],
        ..Document::default()
    });
    page.documents.push(Document::default());
    let data = embedded(&html(&page));
    let values: Vec<_> = (0..4).map(|column| data["columns"][column]["values"].clone()).collect();
    assert_eq!(values[0], serde_json::json!([-0.5, 2000, null]));
    assert_eq!(values[1], serde_json::json!([-3, null, null]));
    assert_eq!(
        (&values[2], &data["columns"][2]["names"]),
        (&serde_json::json!([1, null, null]), &serde_json::json!(["a", "b"]))
    );
    assert_eq!(values[3], serde_json::json!(["</script>", null, null]));
    for (place, field) in
        [(0, Field::Number(f64::NAN)), (0, Field::Day(1)), (2, Field::Category(2)), (3, Field::Number(1.0))]
    {
        let mut wrong = page.clone();
        wrong.documents[0].fields[place] = field;
        assert_eq!(wrong.check(), Err(PageError::Field { document: 0, column: place }));
    }
    page.documents[1].fields.pop();
    assert_eq!(page.check(), Err(PageError::Fields { document: 1, expected: 4, found: 3 }));
}

/// What the page itself may weigh, as `docs/guide/map-page.md` says: markup, style and script, before any data.
const PAGE_BYTES: usize = 185_000;

#[test]
fn a_page_without_data_is_small() {
    let whole = html(&Page { extents: [1, 1], window: [1, 1], ..Page::default() });
    let data = embedded(&whole).to_string().len();
    let own = whole.len() - data;
    assert!(own <= PAGE_BYTES, "{own} bytes of markup, style and script");
    assert!(whole.contains("<style>") && whole.contains("const paint"), "all of it is in the file");
}

#[test]
fn a_writer_that_fails_is_reported() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    assert!(matches!(write_html(&page(), Full), Err(WriteError::Io(_))));
}

#[test]
fn the_data_is_what_was_given() {
    let data = embedded(&html(&page()));
    assert_eq!(data["extents"], serde_json::json!([3, 4]));
    assert_eq!(data["window"], serde_json::json!([2, 2]));
    assert_eq!(data["words"], serde_json::json!(["word"]));
    assert_eq!(data["wordCells"], serde_json::json!([11]));
    assert_eq!(data["weights"], serde_json::json!([1.0])); // shares of the largest
    assert_eq!(data["documentLabels"], serde_json::json!([1]));
    assert_eq!(data["posteriors"], serde_json::json!([[11, 750, 0, 250]]));
    assert_eq!(data["facts"], serde_json::json!([["name", "value"]]));
    // What only points have is not there without them.
    assert!(["space", "places", "relief"].iter().all(|name| data.get(name).is_none()));
    let mut page = page();
    (page.space, page.relief) = (Space::Plane, [[1.0; 11].as_slice(), &[2.0]].concat());
    page.documents[0].place = Some([0.500_4, 2.25]);
    page.documents.push(Document::default());
    let data = embedded(&html(&page));
    assert_eq!(data["space"], "plane");
    assert_eq!(data["places"], serde_json::json!([[0.5, 2.25], null])); // in thousandths
    assert_eq!(data["relief"][0], 128);
    assert_eq!(data["relief"][11], 255);
}

/// Whole texts, unpacked as a browser does it.
fn unpacked(data: &serde_json::Value) -> String {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut text = String::new();
    for chunk in data["texts"].as_array().unwrap() {
        let chunk = chunk.as_str().unwrap().trim_end_matches('=').as_bytes();
        let bits: Vec<u8> =
            chunk.iter().flat_map(|&c| (0..6).rev().map(move |bit| digit(c) >> bit & 1)).collect();
        let bytes: Vec<u8> =
            bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |sum, bit| sum << 1 | bit)).collect();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut text).unwrap();
    }
    text
}

proptest! {
    #[test]
    fn whole_texts_come_back(texts in prop::collection::vec(hostile(), 1..20), long in 0..3_usize) {
        let mut page = page();
        page.documents = texts.iter().map(|text| Document { text: text.clone(), ..Document::default() }).collect();
        page.documents[0].text.push_str(&"many words and more ".repeat(long * 10_000)); // more than one piece
        let expected: String = page.documents.iter().map(|d| d.text.replace('\0', "\u{fffd}") + "\0").collect();
        let data = embedded(&html(&page));
        match page.documents.iter().all(|document| document.text.is_empty()) {
            true => prop_assert!(data.get("texts").is_none()),
            false => prop_assert_eq!(unpacked(&data), expected),
        }
    }
}

/// Colours of labels are told apart: in CIELAB (D65) no two of 24 are nearer than 13, several times what can just be seen, and the
/// first eight, which are for colour-blind readers, are left as they are.
#[test]
fn colours_of_labels_are_told_apart() {
    let script = html(&page());
    for theme in ["light: [", "dark: ["] {
        let list = script.split_once(theme).unwrap().1.split_once(']').unwrap().0;
        let colours: Vec<[f64; 3]> =
            list.split('"').filter_map(|text| text.strip_prefix('#')).map(lab).collect();
        assert_eq!(colours.len(), 24);
        for (n, a) in colours.iter().enumerate() {
            for (m, b) in colours[..n].iter().enumerate() {
                let apart = a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
                assert!(apart > 13.0, "{theme} {m} and {n}: {apart}");
            }
        }
    }
}

/// CIELAB of a colour in hexadecimal sRGB.
fn lab(hex: &str) -> [f64; 3] {
    let linear = |at: usize| {
        let c = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    let (r, g, b) = (linear(0), linear(2), linear(4));
    let xyz = [
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
    ];
    let [x, y, z] = xyz.map(|t| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[test]
fn nothing_points_out_of_the_page() {
    let html = html(&page());
    for needle in
        ["http:", "https:", "//cdn", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "eval("]
    {
        assert!(!html.contains(needle), "{needle}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn coverage_sums_to_the_posterior() {
    let documents = page().documents;
    let found = coverage([3, 4], [2, 2], &documents).unwrap();
    // 0.75 over the window that starts in the last corner, 0.25 over that in the first: quarters of each.
    let q = 0.75 / 4.0;
    let p = 0.25 / 4.0;
    assert_eq!(found, [q + p, p, 0.0, q, p, p, 0.0, 0.0, q, 0.0, 0.0, q]);
    let refused = coverage([3, 3], [2, 2], &documents);
    assert_eq!(refused, Err(PageError::DocumentCell { document: 0, cell: 11, cells: 9 }));
}

/// Pieces that break out of elements, strings, comments or attributes where they are not escaped.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = [
        "</script>",
        "</SCRIPT ",
        "<script>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "</title>",
        "</style>",
        "\u{2028}",
        "\u{2029}",
        "\"",
        "'",
        "\\",
        "\\u003c",
        "\0",
        "\n",
        "&lt;",
        "&",
        "{{data}}",
        "{{",
        "}}",
        "`",
        "${1}",
        "plain",
        "\u{202e}",
        "é",
        "𝕏",
        "<img src=x onerror=alert(1)>",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Whatever the texts, the file has the same tags, and the data reads back.
    #[test]
    fn text_stays_text(texts in prop::array::uniform6(hostile())) {
        let [title, word, document, snippet, label, fact] = texts.clone();
        let mut page = page();
        page.title = title;
        page.words[0].text = word;
        page.documents[0].title = document;
        page.documents[0].snippet = snippet;
        page.labels[1] = label;
        page.facts[0] = (fact.clone(), fact);
        let hostile = html(&page);
        let tags = |html: &str| {
            let html = html.to_lowercase();
            ["<", "<script", "</script", "<!--", "</title", "</style", "{{"].map(|tag| html.matches(tag).count())
        };
        let plain = tags(&html(&self::page()));
        // Templates in data stay as they are; in the title they are text too.
        let braces: usize = texts.iter().map(|text| text.matches("{{").count()).sum::<usize>()
            + texts[0].matches("{{").count() + texts[5].matches("{{").count();
        let mut expected = plain;
        expected[6] += braces;
        prop_assert_eq!(tags(&hostile), expected);
        let body = hostile.split_once("</title>").unwrap().1; // the title is text, not script
        let line_ends = body.contains(['\u{2028}', '\u{2029}']);
        prop_assert!(!line_ends);
        let data = embedded(&hostile);
        let found = [
            &data["title"], &data["words"][0], &data["titles"][0], &data["snippets"][0], &data["labels"][1],
            &data["facts"][0][1],
        ];
        for (found, text) in found.iter().zip(&texts) {
            prop_assert_eq!(found.as_str(), Some(text.as_str()));
        }
    }

    #[test]
    fn the_same_page_gives_the_same_bytes(title in ".*", weight in 0.0f32..10.0, cell in 0u32..12) {
        let mut page = page();
        page.title = title;
        page.words.push(Word { text: "other".into(), cell, weight });
        prop_assert_eq!(html(&page), html(&page.clone()));
    }
}

#[test]
fn added_documents_have_the_labels_and_columns_of_the_page() {
    use countgrid_map::{Field, FieldKind, PageColumn};
    let categories =
        |names: &[&str]| FieldKind::Categories(names.iter().map(|&name| name.to_owned()).collect());
    let column = |name: &str, kind: FieldKind| PageColumn { name: name.to_owned(), kind };
    let mut page = Page {
        columns: vec![column("from", categories(&["Ghent"])), column("pages", FieldKind::Numbers)],
        ..page()
    };
    page.documents[0].fields = vec![Field::Category(0), Field::Number(3.0)];
    let before = page.clone();
    let document = |label: u32, fields: Vec<Field>| Document {
        label: Some(label),
        fields,
        posterior: vec![(3, 1.0)],
        ..Document::default()
    };
    let columns = [column("pages", FieldKind::Texts), column("from", categories(&["Rome", "Ghent"]))];
    let labels = ["two".to_owned(), "three".to_owned()];
    let new = vec![
        document(0, vec![Field::Text("x".into()), Field::Category(1)]),
        document(1, vec![Field::Empty, Field::Category(0)]),
    ];
    page.add("new", new, &labels, &columns).unwrap();
    assert_eq!(page.labels, ["one", "two", "three"]);
    let names: Vec<_> = page.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["from", "pages", "pages", "added"]);
    assert_eq!(page.columns[0].kind, categories(&["Ghent", "Rome"]));
    let fields: Vec<_> = page.documents.iter().map(|document| document.fields.clone()).collect();
    let (none, number, category) = (Field::Empty, Field::Number(3.0), Field::Category);
    assert_eq!(
        fields,
        [
            vec![category(0), number, none.clone(), category(0)],
            vec![category(0), none.clone(), Field::Text("x".into()), category(1)],
            vec![category(1), none.clone(), none, category(1)],
        ]
    );
    assert_eq!(
        page.documents.iter().map(|document| document.label).collect::<Vec<_>>(),
        [Some(1), Some(1), Some(2)]
    );
    // What is refused leaves the page as it was.
    let mut page = before.clone();
    for (wrong, error) in [
        (document(2, Vec::new()), PageError::Label { document: 0, label: 2, labels: 2 }),
        (document(0, vec![Field::Empty]), PageError::Fields { document: 0, expected: 2, found: 1 }),
        (document(0, vec![Field::Empty, Field::Category(2)]), PageError::Field { document: 0, column: 0 }),
    ] {
        assert_eq!(page.add("new", vec![wrong], &labels, &columns), Err(error));
        assert_eq!(page, before);
    }
    let mut far = document(0, Vec::new());
    far.posterior = vec![(12, 1.0)];
    assert!(page.add("new", vec![far], &labels, &columns).is_err());
    assert_eq!(page, before);
}

proptest! {
    /// Whole words, no more characters than asked for, and an ellipsis if words are missing. Of a first word that is too long as
    /// many characters.
    #[test]
    fn texts_are_cut_between_words(
        words in prop::collection::vec("[a-zé猫]{1,5}", 1..8),
        blanks in prop::collection::vec("[ \n\t]{1,3}", 8),
        characters in 1_usize..30,
    ) {
        let text: String = blanks.iter().zip(&words).flat_map(|(blank, word)| [&blank[..], word]).collect();
        let found = truncate_text(&text, characters);
        let even = words.join(" ");
        match found.strip_suffix('…') {
            None => prop_assert!(found == even && found.chars().count() <= characters, "{found}"),
            Some(begin) if begin.chars().count() < characters => {
                prop_assert!(even.strip_prefix(begin).is_some_and(|rest| rest.starts_with(' ')), "{found}");
            }
            Some(begin) => {
                prop_assert_eq!(begin.chars().count(), characters);
                prop_assert!(words[0].starts_with(begin), "{found}");
            }
        }
    }
}
