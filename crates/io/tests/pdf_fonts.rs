//! What the codes of a PDF's fonts stand for.

use crate::pdf::{CATALOG, document, read, stream};

/// Text shown in a font, which is object 5.
fn in_font(font: &str, shown: &str, further: &[Vec<u8>]) -> Result<String, String> {
    let pages = "<</Type/Pages/Kids[3 0 R]/Count 1>>";
    let page = "<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>";
    let contents = stream("", format!("BT /F 10 Tf 1 0 0 1 100 700 Tm {shown} ET").as_bytes());
    let objects = [CATALOG, pages, page].map(|text| text.as_bytes().to_vec());
    read(&document(&[&objects[..], &[contents, font.as_bytes().to_vec()], further].concat(), ""))
}

#[test]
fn fonts_of_two_bytes_are_in_the_encoding_that_they_name() {
    let cases = [
        ("UniGB-UCS2-H", "00410416", "A\u{416}"),
        ("UniJIS-UTF16-V", "6f225b57", "漢字"),
        ("90ms-RKSJ-H", "8abf418e9a", "漢A字"),
        ("90ms-RKSJ-V", "b18abfdf8e9a", "ｱ漢ﾟ字"),
        ("90ms-RKSJ-V", "e0418abf", "漓漢"),
        ("GBK-EUC-H", "babad7d6", "汉字"),
        ("GBK-EUC-H", "80baba41d7d6", "€汉A字"),
        ("GB-EUC-H", "babad7d6", "汉字"),
        ("ETen-B5-H", "a4a4a4e5", "中文"),
        ("KSC-EUC-H", "c7d1b1db", "한글"),
        ("EUC-H", "b4c1bbfa", "漢字"),
    ];
    for (encoding, codes, text) in cases {
        let font = format!("<</Subtype/Type0/Encoding/{encoding}/DescendantFonts[<</DW 1000>>]>>");
        let found = in_font(&font, &format!("<{codes}> Tj"), &[]).unwrap();
        assert_eq!(found, text, "{encoding}");
    }
}

#[test]
fn how_long_codes_are_is_said_by_the_encoding() {
    let font = "<</Subtype/Type0/Encoding 6 0 R/ToUnicode 7 0 R/DescendantFonts[<</DW 1000>>]>>";
    let lengths = stream("", b"1 begincodespacerange <00> <ff> endcodespacerange");
    let characters = stream("", b"2 beginbfchar <41> <0416> <42> <0417> endbfchar");
    assert_eq!(in_font(font, "<414241> Tj", &[lengths, characters]).unwrap(), "ЖЗЖ");
}

#[test]
fn widths_of_ranges_of_codes_say_where_the_next_word_begins() {
    // 65 and 66 are 500 wide, 67 and 68 are 300 and 700, others 1000.
    let font =
        "<</Subtype/Type0/Encoding/UniGB-UCS2-H/DescendantFonts[<</DW 1000/W[65 66 500 67[300 700]]>>]>>";
    for (codes, width, text) in [("00410042", 10.0, "AB"), ("00430044", 10.0, "CD"), ("00400045", 20.0, "@E")]
    {
        for (off, between) in [(1.6, ""), (1.8, " "), (-11.0, "")] {
            let shown = format!("<{codes}> Tj {} 0 Td <005a> Tj", width + off);
            assert_eq!(in_font(font, &shown, &[]).unwrap(), format!("{text}{between}Z"), "{codes} {off}");
        }
    }
}

#[test]
fn simple_fonts_have_the_encoding_of_their_kind_unless_they_name_another() {
    let of = |about: &str| in_font(&format!("<</Subtype{about}/BaseFont/A>>"), "(A\\256\\212) Tj", &[]);
    assert_eq!(of("/TrueType").unwrap(), "A®Š");
    assert_eq!(of("/Type1/Encoding/WinAnsiEncoding").unwrap(), "A®Š");
    assert_eq!(of("/Type1/Encoding/MacRomanEncoding").unwrap(), "AÆä");
    assert_eq!(of("/TrueType/Encoding/MacRomanEncoding").unwrap(), "AÆä");
    assert_eq!(of("/TrueType/Encoding/StandardEncoding").unwrap(), "Afi");
    assert_eq!(of("/Type1").unwrap(), "Afi");
    // One whose letters are drawn says nothing.
    let unknown = "a PDF whose fonts do not say which characters they show, which is not read";
    assert_eq!(of("/Type3").unwrap_err(), unknown);
    assert_eq!(of("/Type3/Encoding<</Differences[65/a65 138/X]>>").unwrap(), "A X");
    let drawn = "<</Subtype/Type3/FontMatrix[0.1 0 0 0.1 0 0]/Encoding<</Differences[11/a11 65/a65]>>>>";
    assert_eq!(in_font(drawn, "(A\\013) Tj", &[]).unwrap(), "Aff");
}
