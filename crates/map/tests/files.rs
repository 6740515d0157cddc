//! Pages that are read back, that grow, and errors of both.

use std::error::Error as _;

use countgrid_map::{
    Document, MAX_DOCUMENTS, Page, PageError, PageReadError, WriteError, read_html, write_html,
};

fn page(documents: Vec<Document>) -> Page {
    Page { extents: [1, 2], window: [1, 1], documents, ..Page::default() }
}

fn html(page: &Page) -> String {
    let mut html = Vec::new();
    write_html(page, &mut html).unwrap();
    String::from_utf8(html).unwrap()
}

fn text(text: &str) -> Document {
    Document { text: text.to_owned(), ..Document::default() }
}

/// Texts of all lengths, so that the last group of base 64 has one, two and three bytes, and bytes of every value.
#[test]
fn whole_texts_are_read_back() {
    let mut state = 1_u64;
    for number in 0..40 {
        let documents: Vec<Document> = (0..=number % 5)
            .map(|_| {
                let letters = (0..number * 7).map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    char::from_u32(32 + (state >> 40) as u32 % 4000).unwrap_or('é')
                });
                text(&letters.collect::<String>())
            })
            .collect();
        let page = page(documents);
        assert_eq!(read_html(&html(&page)).unwrap(), page);
    }
}

#[test]
fn damaged_data_says_what_is_wrong() {
    let whole = html(&page(vec![text("some words"), text("and others")]));
    let packed = whole.split_once("\"texts\":[\"").unwrap().1.split_once('"').unwrap().0.to_owned();
    let with = |other: &str| read_html(&whole.replace(&packed, other));
    assert!(with(&packed).is_ok());
    let damaged = PageReadError::Texts { chunk: 0 };
    assert_eq!(damaged.to_string(), "piece 0 of the whole texts is damaged or too long");
    // No multiple of four digits; a digit that is none; one digit alone; the end before the end; no end.
    for other in [
        packed[..packed.len() - 1].to_owned(),
        packed.replace('H', "*"),
        format!("{packed}A==="),
        format!("H4=I{}", &packed[4..]),
        packed[..packed.len() - 8].to_owned(),
    ] {
        assert_eq!(with(&other), Err(damaged.clone()), "{other}");
    }
    let one = html(&page(vec![text("some words")]));
    let short = one.split_once("\"texts\":[\"").unwrap().1.split_once('"').unwrap().0;
    let error = with(short).unwrap_err();
    assert_eq!(error, PageReadError::Length { table: "texts", expected: 2, found: 1 });
    assert_eq!(error.to_string(), "the data of the map is damaged: `texts` has 1 elements, needs 2");
    assert!(error.source().is_none());
    // The second piece.
    let both = whole.replace(&packed, &format!("{packed}\",\"{}", packed.replace('H', "*")));
    assert_eq!(read_html(&both), Err(PageReadError::Texts { chunk: 1 }));

    let error = read_html("<html></html>").unwrap_err();
    assert_eq!(error.to_string(), "there is no data of a map in it; a page that countgrid has drawn has it");
    let error = read_html(&whole.replace("\"extents\":[1,2]", "\"extents\":[0,2]")).unwrap_err();
    assert_eq!(error, PageReadError::Page(PageError::EmptyAxis { axis: 0 }));
    assert_eq!(error.source().unwrap().to_string(), error.to_string());
    let error = read_html(&whole.replace("\"extents\":[1,2]", "\"extents\":[1]")).unwrap_err();
    assert!(error.to_string().starts_with("the data of the map is damaged: invalid length 1"), "{error}");
}

/// Each table of a level of regions has one element for each of them.
#[test]
fn regions_have_names_cells_and_parents() {
    use countgrid_map::{Region, RegionLevel};
    let region = |cell| Region { words: vec!["sun".to_owned()], cell, parent: None };
    let level = RegionLevel { regions: vec![region(0), region(1)], of_cell: vec![0, 1] };
    let page = Page { regions: vec![level], ..page(Vec::new()) };
    let whole = html(&page);
    assert_eq!(read_html(&whole).unwrap(), page);
    let refused = |found| Err(PageReadError::Length { table: "regions", expected: 2, found });
    for (right, wrong, found) in [
        ("\"cells\":[0,1]", "\"cells\":[0]", 1),
        ("\"parents\":[-1,-1]", "\"parents\":[-1]", 1),
        ("\"parents\":[-1,-1]", "\"parents\":[-1,-1,-1]", 2),
    ] {
        assert!(whole.contains(right));
        assert_eq!(read_html(&whole.replace(right, wrong)), refused(found), "{wrong}");
    }
}

#[test]
fn an_error_of_a_page_or_of_a_writer_is_the_source() {
    let error = PageError::EmptyAxis { axis: 1 };
    let text = error.to_string();
    assert!(text.contains("axis 1"), "{text}");
    let write = WriteError::from(error);
    assert_eq!((write.to_string(), write.source().unwrap().to_string()), (text.clone(), text));
    let full = WriteError::from(std::io::Error::other("the disk is full"));
    assert_eq!(full.to_string(), "the disk is full");
    assert_eq!(full.source().unwrap().to_string(), "the disk is full");
}

/// As many documents as a page lists are added whole, and of more every so many; the page then says of how many it shows some.
#[test]
fn added_documents_beyond_the_most_are_left_out_evenly() {
    let numbered = |number: usize| -> Vec<Document> {
        (0..number).map(|n| Document { title: n.to_string(), ..Document::default() }).collect()
    };
    for (number, sampled) in [(3, None), (MAX_DOCUMENTS, None), (MAX_DOCUMENTS + 2, Some(MAX_DOCUMENTS + 7))]
    {
        let mut page = page(numbered(5));
        page.add("new", numbered(number), &[], &[]).unwrap();
        assert_eq!(page.documents.len(), 5 + number.min(MAX_DOCUMENTS));
        assert_eq!((page.added, page.sampled_from), (Some(5), sampled));
        assert_eq!(
            page.facts.last().unwrap().1,
            format!("{} documents: new", countgrid_map::group_digits(number))
        );
        assert_eq!(page.documents.last().unwrap().title, (number - 1).to_string());
    }
    // Some were left out before: those that are added count too.
    let mut page = Page { sampled_from: Some(70), ..page(numbered(5)) };
    page.add("new", numbered(3), &[], &[]).unwrap();
    assert_eq!((page.documents.len(), page.sampled_from), (8, Some(73)));
}

/// The content security policy names the page's style and script by their hashes, and the title is text.
#[test]
fn a_page_names_its_style_and_script_by_their_hashes() {
    use sha2::{Digest, Sha256};
    let whole = html(&Page { title: "a & b > c <d>".into(), ..page(Vec::new()) });
    let between = |start: &str, end: &str| whole.split_once(start).unwrap().1.split_once(end).unwrap().0;
    assert_eq!(between("<title>", "</title>"), "a &amp; b &gt; c &lt;d&gt;");
    let policy = between("http-equiv=\"Content-Security-Policy\"", ">");
    let digits: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    for (kind, source) in
        [("style-src", between("<style>", "</style>")), ("script-src", between("<script>", "</script>"))]
    {
        assert!(source.len() > 5000, "{kind}");
        // Of 32 bytes, with two bits of nothing: 43 digits.
        let bits: Vec<u8> =
            Sha256::digest(source).iter().flat_map(|byte| (0..8).rev().map(move |n| byte >> n & 1)).collect();
        let of = |six: &[u8]| {
            (0..6).fold(0, |value, n| value << 1 | usize::from(six.get(n).copied().unwrap_or(0)))
        };
        let hash: String = bits.chunks(6).map(|six| digits[of(six)]).collect();
        assert!(policy.contains(&format!("{kind} 'sha256-{hash}='")), "{kind} {hash}: {policy}");
    }
}

/// Whole numbers below 10^15 have no point, probabilities of less than half a thousandth are left out, and weights are shares of the
/// largest, if there is one.
#[test]
fn numbers_are_as_short_as_they_can_be() {
    use countgrid_map::{Field, FieldKind, PageColumn, Word};
    let document = |number: f64, q: f32| Document {
        fields: vec![Field::Number(number)],
        posterior: vec![(1, q)],
        ..Document::default()
    };
    let mut page =
        page(vec![document(999_999_999_999_999.0, 0.0006), document(-1e15, 0.0004), document(1e15, 0.0)]);
    page.columns = vec![PageColumn { name: "n".into(), kind: FieldKind::Numbers }];
    let word = |weight| Word { text: "sun".into(), cell: 0, weight };
    for (weights, expected) in [([3.0, 1.5], "[1.0,0.5]"), ([0.0, 0.0], "[1.0,1.0]")] {
        page.words = weights.map(word).to_vec();
        let whole = html(&page);
        assert!(whole.contains(&format!("\"weights\":{expected}")), "{expected}");
        assert!(whole.contains("\"values\":[999999999999999,-1000000000000000.0,1000000000000000.0]"));
        assert!(whole.contains("\"posteriors\":[[1,1],[],[]]"));
    }
}

/// A piece of texts ends with the first that makes it 2^18 bytes, of each text one more than it has; U+0000 takes three.
#[test]
fn texts_are_in_pieces() {
    const PIECE: usize = 1 << 18;
    let pieces = |texts: &[String]| {
        let whole = html(&page(texts.iter().map(|own| text(own)).collect()));
        whole.split_once("\"texts\":[").unwrap().1.split_once(']').unwrap().0.matches("\",\"").count() + 1
    };
    let letters = |length: usize| "x".repeat(length);
    for (lengths, expected) in [
        (vec![PIECE - 1], 1),
        (vec![PIECE - 1, 1], 2),
        (vec![PIECE - 2, 1], 1),
        (vec![PIECE - 1, 10, PIECE - 12, 5], 3),
        (vec![PIECE - 1, 10, PIECE - 13, 5], 2),
        (vec![PIECE, PIECE, PIECE], 3),
        (vec![0; 9], 0),
    ] {
        let texts: Vec<String> = lengths.iter().map(|&length| letters(length)).collect();
        if expected > 0 {
            assert_eq!(pieces(&texts), expected, "{lengths:?}");
        } else {
            assert!(!html(&page(texts.iter().map(|own| text(own)).collect())).contains("\"texts\":["));
        }
    }
    let zeros = |number: usize| "\0".repeat(number);
    assert_eq!(pieces(&[zeros((PIECE - 1) / 3), letters(1)]), 2);
    assert_eq!(pieces(&[zeros((PIECE - 1) / 3 - 1), letters(1)]), 1);
}
