//! Where the operators of a PDF page put its text: words, blanks and lines.

use crate::pdf::{CATALOG, document, read, stream};

/// All characters of Courier are 0.6 wide; the other fonts have a blank, accents and letters of the widths given.
fn with_fonts(contents: &str, further: &[Vec<u8>]) -> Vec<u8> {
    let pages = "<</Type/Pages/Kids[3 0 R]/Count 1>>";
    let page = "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R/K 6 0 R/Z 7 0 R/T 8 0 R>>/XObject<</X 9 0 R>>>>>>";
    let courier = "<</Type/Font/Subtype/Type1/BaseFont/Courier>>";
    let with_blank = |width: u32| {
        let widths = format!("{width} {}", "500 ".repeat(94));
        format!(
            "<</Type/Font/Subtype/Type1/BaseFont/A/FirstChar 32/Widths[{widths}]\
             /FontDescriptor<</MissingWidth 500>>/Encoding<</BaseEncoding/StandardEncoding/Differences[65/ffi]>>>>"
        )
    };
    let (narrow, none, tenth) = (with_blank(50), with_blank(0), with_blank(100));
    let objects = [CATALOG, pages, page].map(|text| text.as_bytes().to_vec());
    let fonts = [courier, &narrow, &none, &tenth].map(|text| text.as_bytes().to_vec());
    document(&[&objects[..], &[stream("", contents.as_bytes())], &fonts, further].concat(), "")
}

fn shown(contents: &str) -> String {
    read(&with_fonts(contents, &[])).unwrap()
}

/// Text of 10 units that is shown from left to right ends at this point: what begins within 0.17 of the size behind it goes on
/// there, what begins further off is a word of its own, and half the size above or below is another line.
fn ends_at(contents: &str, text: &str, (x, y): (f64, f64)) {
    for (dx, dy, between) in [
        (1.6, 0.0, ""),
        (1.8, 0.0, " "),
        (0.0, 4.9, ""),
        (0.0, -4.9, ""),
        (0.0, 5.1, "\n"),
        (0.0, -5.1, "\n"),
    ] {
        let last = format!("ET 0 Tc 0 Tw 100 Tz 0 Ts BT /F 10 Tf 1 0 0 1 {} {} Tm (z) Tj ET", x + dx, y + dy);
        assert_eq!(
            shown(&format!("BT /F 10 Tf {contents} {last}")),
            format!("{text}{between}z"),
            "{contents} {dx} {dy}"
        );
    }
}

#[test]
fn operators_place_text_as_the_standard_says() {
    ends_at("100 700 Td (abc) Tj", "abc", (118.0, 700.0));
    ends_at("100 700 Td 5 -20 Td (abc) Tj", "abc", (123.0, 680.0));
    // TD also sets what T* moves by.
    ends_at("100 700 Td (a) Tj 5 -20 TD (b) Tj T* (c) Tj", "a\nb\nc", (111.0, 660.0));
    ends_at("15 TL 100 700 Td (a) Tj T* (b) Tj", "a\nb", (106.0, 685.0));
    ends_at("15 TL 100 700 Td (a) Tj (bc) '", "a\nbc", (112.0, 685.0));
    ends_at("1 Tc 100 700 Td (abc) Tj", "abc", (121.0, 700.0));
    ends_at("3 Tw 100 700 Td (a b) Tj", "a b", (121.0, 700.0));
    ends_at("50 Tz 100 700 Td (abcd) Tj", "abcd", (112.0, 700.0));
    ends_at("50 Tz 2 Tc 100 700 Td (abcd) Tj", "abcd", (116.0, 700.0));
    ends_at("5 Ts 100 700 Td (abc) Tj", "abc", (118.0, 705.0));
    // A blank's space and a letter's space, then a string on the next line: each is kept.
    ends_at("10 TL 100 700 Td 3 1 (a b) \"", "a b", (124.0, 690.0));
    ends_at("100 700 Td [(a) -100 (b) 1000 (c)] TJ", "abc", (109.0, 700.0));
    ends_at("50 Tz 100 700 Td [(a) -1000 (b)] TJ", "a b", (111.0, 700.0));
    // BT begins anew where the page does.
    ends_at("100 700 Td (a) Tj ET BT 106 700 Td (b) Tj", "ab", (112.0, 700.0));
    // Q takes back what was set since q.
    ends_at("q 2 0 0 2 50 60 cm 3 Tc 50 TL Q 100 700 Td (ab) Tj", "ab", (112.0, 700.0));
    ends_at("q 1 0 0 1 30 -40 cm 100 700 Td (ab) Tj Q", "ab", (142.0, 660.0));
}

/// First `a`, then `b`: the product of two matrices of three rows, of which the last column is 0, 0, 1.
fn product(a: [f64; 6], b: [f64; 6]) -> [f64; 6] {
    let rows = |m: [f64; 6]| [[m[0], m[1], 0.0], [m[2], m[3], 0.0], [m[4], m[5], 1.0]];
    let (a, b) = (rows(a), rows(b));
    let entry = |row: usize, column: usize| (0..3).map(|n| a[row][n] * b[n][column]).sum::<f64>();
    [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1), entry(2, 0), entry(2, 1)]
}

fn written(matrix: [f64; 6]) -> String {
    matrix.map(|number| format!("{number:.9}")).join(" ")
}

#[test]
fn turned_and_stretched_text_goes_on_where_its_matrices_say() {
    let turned = |degrees: f64, scale: f64| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        [scale * cos, scale * sin, -scale * sin, scale * cos, 30.0, 40.0]
    };
    for (page, text) in [
        ([1.2, 0.5, -0.7, 0.9, 30.0, 40.0], [0.8, -0.6, 0.3, 1.1, 15.0, 25.0]),
        ([0.5, 2.5, 1.5, -0.4, -30.0, 40.0], [2.0, 0.7, -0.9, 1.3, 35.0, -25.0]),
        (turned(120.0, 2.0), [1.0, 0.0, 0.0, 1.0, 5.0, 6.0]),
        (turned(180.0, 0.7), [3.0, 0.0, 0.0, 1.0, 50.0, 6.0]),
    ] {
        let both = product(text, page);
        let unit = both[0].hypot(both[1]);
        let (along, size) = ((both[0] / unit, both[1] / unit), 10.0 * both[2].hypot(both[3]));
        let letter = 6.0 * unit;
        let end = (both[4] + 2.0 * letter * along.0, both[5] + 2.0 * letter * along.1);
        // How far the next letter is off: along the line in sizes and letters, and across it.
        for (sizes, letters, across, between) in [
            (0.0, 0.0, 0.0, ""),
            (0.169, 0.0, 0.0, ""),
            (0.171, 0.0, 0.0, " "),
            (0.0, 0.0, 0.499, ""),
            (0.0, 0.0, -0.499, ""),
            (0.0, 0.0, 0.501, "\n"),
            (0.0, 0.0, -0.501, "\n"),
            (-0.999, -1.0, 0.0, ""),
            (-1.001, -1.0, 0.0, "\n"),
        ] {
            let (forward, aside) = (sizes * size + letters * letter, across * size);
            let next = [
                both[0],
                both[1],
                both[2],
                both[3],
                end.0 + forward * along.0 - aside * along.1,
                end.1 + forward * along.1 + aside * along.0,
            ];
            let contents = format!(
                "q {} cm BT /F 10 Tf {} Tm (ab) Tj ET Q BT /F 10 Tf {} Tm (c) Tj ET",
                written(page),
                written(text),
                written(next)
            );
            assert_eq!(shown(&contents), format!("ab{between}c"), "{contents}");
        }
    }
}

#[test]
fn text_that_runs_another_way_is_another_line() {
    let turned = |degrees: f64| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        written([cos, sin, -sin, cos, 112.0, 700.0])
    };
    for (degrees, between) in
        [(0.0, ""), (20.0, ""), (-20.0, ""), (30.0, "\n"), (60.0, "\n"), (-60.0, "\n"), (180.0, "\n")]
    {
        let contents = format!("BT /F 10 Tf 100 700 Td (ab) Tj {} Tm (c) Tj ET", turned(degrees));
        assert_eq!(shown(&contents), format!("ab{between}c"), "{degrees}");
    }
    // Letters that have no width on the page run as the page does.
    assert_eq!(shown("BT /F 10 Tf 0 0 0 1 100 700 Tm (a) Tj (b) Tj ET"), "ab");
}

#[test]
fn what_is_just_at_a_limit_is_not_beyond_it() {
    let next = |size: u32, x: u32, y: u32| {
        shown(&format!("BT /F {size} Tf 500 700 Td (a) Tj 1 0 0 1 {x} {y} Tm (b) Tj ET"))
    };
    // 17 is 0.17 of the size, 5 half of it, and 16 a size and a letter.
    assert_eq!([next(100, 577, 700), next(100, 578, 700)], ["ab", "a b"]);
    assert_eq!([next(10, 506, 704), next(10, 506, 705)], ["ab", "a\nb"]);
    assert_eq!([next(10, 491, 700), next(10, 490, 700)], ["ab", "a\nb"]);
}

#[test]
fn an_accent_is_that_of_a_letter_printed_over_it() {
    // The acute of the standard encoding is 5 wide; the letter begins as far back from its end as given.
    let back = |back: f64| shown(&format!("BT /K 10 Tf 100 700 Td (\\302) Tj {} 0 Td (e) Tj ET", 5.0 - back));
    assert_eq!([back(0.0), back(1.4), back(1.5)], ["\u{b4}e", "\u{b4}e", "\u{b4}e"]);
    assert_eq!([back(1.6), back(5.0)], ["\u{e9}", "\u{e9}"]);
    assert_eq!(shown("BT /K 10 Tf 100 700 Td (\\302) Tj 0 -20 Td (e) Tj ET"), "\u{b4}\ne");
}

/// Spaced letters from 100 on, then an `x` that far from where the last letter ends.
fn heading(set: &str, size: f64, end: f64, off: f64) -> String {
    shown(&format!(
        "BT /F {size} Tf {set} Tm (HEAD) Tj ET 0 Tc 100 Tz BT /F {size} Tf {} 700 Td (x) Tj ET",
        end + off
    ))
}

#[test]
fn spaced_letters_are_words_if_the_next_string_begins_at_the_last_letter() {
    let (spaced, close) = ("H E A Dx", "HEADx");
    let unit = "1 0 0 1 100 700";
    // Space of 4: nearer to the letter than to the end of its space, and within 0.17 of the size.
    let four = |off: f64| heading(&format!("4 Tc {unit}"), 10.0, 136.0, off);
    assert_eq!([four(0.0), four(1.6), four(1.8), four(4.0)], [spaced, spaced, close, close]);
    let large = |off: f64| heading(&format!("40 Tc {unit}"), 100.0, 460.0, off);
    assert_eq!([large(16.0), large(17.0)], [spaced, close]);
    let two = |off: f64| heading(&format!("2 Tc {unit}"), 10.0, 130.0, off);
    assert_eq!([two(0.9), two(1.0)], [spaced, close]);
    assert_eq!(heading(&format!("3 Tc {unit}"), 10.0, 133.0, 1.6), close);
    // Space that is no wider than 0.17 of the size, on the page, is none.
    assert_eq!(heading(&format!("1 Tc {unit}"), 10.0, 127.0, 0.0), close);
    assert_eq!(heading(&format!("17 Tc {unit}"), 100.0, 391.0, 0.0), close);
    assert_eq!(heading(&format!("18 Tc {unit}"), 100.0, 394.0, 0.0), spaced);
    assert_eq!(heading(&format!("50 Tz 3 Tc {unit}"), 10.0, 116.5, 0.0), close);
    assert_eq!(heading(&format!("50 Tz 4 Tc {unit}"), 10.0, 118.0, 0.0), spaced);
    assert_eq!(heading(&format!("200 Tz 1 Tc {unit}"), 10.0, 154.0, 0.0), spaced);
    assert_eq!(heading("1 Tc 2 0 0 1 100 700", 10.0, 154.0, 0.0), spaced);
    assert_eq!(heading("3 Tc 0.5 0 0 1 100 700", 10.0, 116.5, 0.0), close);
}

#[test]
fn a_few_letters_that_go_on_at_a_word_are_single_words() {
    let after = |size: f64, spacing: f64, off: f64| {
        shown(&format!(
            "BT /F {size} Tf 100 700 Td (leave) Tj {spacing} Tc {} 0 Td (sas) Tj ET",
            3.0 * size + off
        ))
    };
    assert_eq!([after(10.0, 2.5, 0.0), after(10.0, 2.5, 1.6)], ["leaves a s", "leaves a s"]);
    assert_eq!(after(10.0, 2.5, 1.8), "leave sas");
    assert_eq!([after(100.0, 25.0, 16.0), after(100.0, 25.0, 17.0)], ["leaves a s", "leavesas"]);
    assert_eq!(after(5.0, 1.25, 0.0), "leaves a s");
}

#[test]
fn blanks_of_hardly_any_width_are_kerning() {
    // Blanks of 0.05, 0 and 0.1 of the size.
    let words = |set: &str| shown(&format!("BT {set} 100 700 Td (a b) Tj ET"));
    assert_eq!(words("/K 10 Tf"), "ab");
    assert_eq!(words("/K 10 Tf 2 Tw"), "a b");
    assert_eq!([words("/K 10 Tf 50 Tz 1 Tw"), words("/K 10 Tf 50 Tz 2 Tw")], ["ab", "a b"]);
    assert_eq!([words("/Z 10 Tf"), words("/T 10 Tf")], ["a b", "a b"]);
}

#[test]
fn lines_without_letters_are_left_out() {
    assert_eq!(shown("BT /F 10 Tf 20 TL 100 700 Td (a) Tj ( ) ' ( ) ' (b) ' ET"), "a\nb");
}

#[test]
fn pictures_within_a_page_end_at_their_last_word() {
    let picture = "BI /W 1 /H 1 /BPC 8 ID x yz (no) Tj EIx (no) Tj xEI (no) Tj\nEI\n";
    let show = |word: &str| format!("BT /F 10 Tf 100 700 Td ({word}) Tj ET ");
    assert_eq!(shown(&format!("{}{picture}{}", show("before "), show("after"))), "before\nafter");
    let unsupported = "a PDF without text (its pages are pictures), which is not read";
    assert_eq!(read(&with_fonts(picture, &[])).unwrap_err(), unsupported);
    let image = stream("/Subtype/Image/Filter/DCTDecode", b"\xff\xd8");
    assert_eq!(read(&with_fonts("/X Do", &[image])).unwrap_err(), unsupported);
}

#[test]
fn what_goes_too_deep_ends_or_is_refused() {
    // Eight forms in each other.
    let form = stream("/Subtype/Form", b"BT /F 10 Tf 100 700 Td (f) Tj ET /X Do");
    assert_eq!(read(&with_fonts("/X Do", &[form])).unwrap(), "ffffffff");
    // 1024 saved states; what is set after that is not saved.
    let show = "BT /F 10 Tf 100 700 Td (a) Tj T* (b) Tj ET";
    let states = |saved: usize| shown(&format!("{}20 TL q 30 TL Q {show}", "q ".repeat(saved)));
    assert_eq!([states(1023), states(1024)], ["a\nb", "ab"]);
    // 64 operands; those before the last of more are passed over.
    let operands = |zeros: usize| shown(&format!("BT /F 10 Tf (a) Tj {}(b) Tj ET", "0 ".repeat(zeros)));
    assert_eq!([operands(63), operands(64)], ["a", "ab"]);
    let deep = format!("BT /F 10 Tf (a) Tj {}{} (b) Tj ET", "[".repeat(100), "]".repeat(100));
    let refused = read(&with_fonts(&deep, &[])).unwrap_err();
    assert_eq!(refused, "damaged PDF: an object on a page is too deep, or has too many parts");
}

#[test]
fn a_few_codes_without_characters_are_blanks_but_most_must_have_some() {
    assert_eq!(shown("BT /F 10 Tf 100 700 Td (ab\\200cd) Tj ET"), "ab cd");
    assert_eq!(shown("BT /F 10 Tf 100 700 Td (ab\\200\\201) Tj ET"), "ab");
    let most = with_fonts("BT /F 10 Tf 100 700 Td (ab\\200\\201\\202) Tj ET", &[]);
    let unknown = "a PDF whose fonts do not say which characters they show, which is not read";
    assert_eq!(read(&most).unwrap_err(), unknown);
}

#[test]
fn text_of_many_letters_to_a_code_is_read_up_to_the_limit() {
    let codes = 950_000;
    let text = shown(&format!("BT /K 10 Tf ({}) Tj ET", "A".repeat(codes)));
    assert!(text == "ffi".repeat(codes), "{} bytes", text.len());
}
