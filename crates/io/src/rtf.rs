//! The text of an RTF document (Microsoft's specification, version 1.9.1).

use std::collections::HashMap;

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GB18030, GBK, IBM866, KOI8_R, KOI8_U, MACINTOSH, SHIFT_JIS, WINDOWS_874,
    WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256,
    WINDOWS_1257, WINDOWS_1258,
};

use crate::error::Problem;

/// What a file begins with.
pub(crate) const HEAD: &[u8] = b"{\\rtf";

/// Groups within groups: more is no document, and would take memory.
const DEEPEST: usize = 1000;

/// Destinations with nothing to read in them, besides those marked by `\*`, which whoever does not know them leaves out.
const LEFT_OUT: [&[u8]; 19] = [
    b"colortbl",
    b"stylesheet",
    b"pict",
    b"object",
    b"objdata",
    b"header",
    b"headerl",
    b"headerr",
    b"headerf",
    b"footer",
    b"footerl",
    b"footerr",
    b"footerf",
    b"fldinst",
    b"listtable",
    b"xe",
    b"tc",
    b"bkmkstart",
    b"bkmkend",
];

/// A document's title, if it says one, and its text. One with characters of a code page that is not known is refused.
///
/// Paragraphs, lines and rows of tables end a line. Pictures, headers and footers, fields' instructions and hidden text are left out.
pub(crate) fn rtf(bytes: &[u8]) -> Result<(Option<String>, String), Problem> {
    let damaged = |what: &str| Problem::Damaged { kind: "RTF", what: what.to_owned() };
    let mut reader = Reader::default();
    let (mut at, mut groups) = (0, Vec::new());
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' => {
                if groups.len() == DEEPEST {
                    return Err(damaged("a thousand groups in each other"));
                }
                reader.flush();
                reader.passed_over = 0;
                groups.push(reader.group);
            }
            b'}' => {
                reader.flush();
                reader.passed_over = 0;
                reader.group = groups.pop().ok_or_else(|| damaged("a group ends that did not begin"))?;
                if groups.is_empty() {
                    break; // what is behind the document is none of it
                }
            }
            b'\\' => at += reader.control(&bytes[at..]),
            b'\r' | b'\n' => {}
            byte => reader.byte(byte),
        }
    }
    if !groups.is_empty() {
        return Err(damaged("it ends within a group"));
    }
    if let Some((what, number)) = reader.unknown {
        return Err(Problem::UnknownCodePage { what, number });
    }
    let title = reader.title.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok((Some(title).filter(|title| !title.is_empty()), reader.text.trim().to_owned()))
}

/// Where characters go.
#[derive(Clone, Copy, Default, PartialEq)]
enum Destination {
    #[default]
    Text,
    Title,
    /// The numbers and character sets of fonts.
    Fonts,
    /// What there is to say about the document.
    About,
    Nowhere,
}

/// What ends with a group.
#[derive(Clone, Copy)]
struct Group {
    destination: Destination,
    is_hidden: bool,
    font: i32,
    /// Bytes that stand for a character of Unicode where that is not known.
    substitutes: usize,
}

impl Default for Group {
    fn default() -> Self {
        Self { destination: Destination::Text, is_hidden: false, font: 0, substitutes: 1 }
    }
}

#[derive(Default)]
struct Reader {
    group: Group,
    /// The group has only just begun with `\*`.
    is_optional: bool,
    code_page: Option<CodePage>,
    fonts: HashMap<i32, CodePage>,
    /// That of the first character which cannot be decoded.
    unknown: Option<(&'static str, i32)>,
    default_font: i32,
    /// Of a text in the present code page.
    bytes: Vec<u8>,
    high_surrogate: Option<u16>,
    /// Substitutes still to be passed over.
    passed_over: usize,
    text: String,
    title: String,
}

impl Reader {
    fn byte(&mut self, byte: u8) {
        if self.passed_over > 0 {
            self.passed_over -= 1;
        } else if self.is_read() {
            self.high_surrogate = None;
            self.bytes.push(byte);
        }
    }

    fn is_read(&self) -> bool {
        !self.group.is_hidden && matches!(self.group.destination, Destination::Text | Destination::Title)
    }

    fn push(&mut self, text: &str) {
        let text = text.chars().filter(|&c| !c.is_control() || matches!(c, '\n' | '\t'));
        match self.group.destination {
            Destination::Text if !self.group.is_hidden => self.text.extend(text),
            Destination::Title => self.title.extend(text),
            _ => {}
        }
    }

    /// Bytes so far become text, before what they mean changes.
    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            let encoding = match self.fonts.get(&self.group.font).copied().or(self.code_page) {
                None => WINDOWS_1252,
                Some(CodePage::Known(encoding)) => encoding,
                // All have those of ASCII.
                Some(CodePage::Unknown(what, number)) => {
                    if !bytes.is_ascii() {
                        self.unknown.get_or_insert((what, number));
                    }
                    WINDOWS_1252
                }
            };
            self.push(&encoding.decode_without_bom_handling(&bytes).0);
        }
        self.is_optional = false;
    }

    /// What follows a backslash; returns how many bytes of it.
    fn control(&mut self, rest: &[u8]) -> usize {
        let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if letters == 0 {
            return self.symbol(rest);
        }
        let mut length = letters;
        let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let sign = usize::from(rest.get(length) == Some(&b'-') && digits(length + 1) > 0);
        let end = length + sign + digits(length + sign);
        let number =
            std::str::from_utf8(&rest[length..end]).ok().and_then(|number| number.parse::<i32>().ok());
        length = end + usize::from(rest.get(end) == Some(&b' '));
        let word = &rest[..letters];
        if word == b"bin" {
            // So many bytes that are no text.
            return length.saturating_add(number.unwrap_or(0).max(0) as usize).min(rest.len());
        }
        self.word(word, number);
        length
    }

    /// A backslash and one character.
    fn symbol(&mut self, rest: &[u8]) -> usize {
        let digit = |at: usize| rest.get(at).and_then(|&byte| char::from(byte).to_digit(16));
        match rest.first() {
            Some(b'\'') => match (digit(1), digit(2)) {
                (Some(high), Some(low)) => {
                    self.byte((16 * high + low) as u8);
                    return 3;
                }
                _ => return 1,
            },
            Some(b'*') => {
                self.flush();
                self.is_optional = true;
            }
            Some(&byte @ (b'\\' | b'{' | b'}')) => self.byte(byte),
            Some(b'~') => self.character("\u{a0}"),
            Some(b'_') => self.character("-"),
            Some(b'\r' | b'\n') => self.character("\n"),
            _ => {} // a place for a hyphen, marks of an index
        }
        usize::from(!rest.is_empty())
    }

    fn character(&mut self, text: &str) {
        self.flush();
        if self.passed_over > 0 {
            self.passed_over -= 1;
        } else {
            self.high_surrogate = None;
            self.push(text);
        }
    }

    fn word(&mut self, word: &[u8], number: Option<i32>) {
        let is_optional = std::mem::take(&mut self.is_optional);
        self.flush();
        let is_off = number == Some(0);
        match word {
            b"par" | b"line" | b"row" | b"sect" | b"page" | b"nestrow" => self.character("\n"),
            b"tab" | b"cell" | b"nestcell" => self.character("\t"),
            b"emdash" => self.character("\u{2014}"),
            b"endash" => self.character("\u{2013}"),
            b"lquote" => self.character("\u{2018}"),
            b"rquote" => self.character("\u{2019}"),
            b"ldblquote" => self.character("\u{201c}"),
            b"rdblquote" => self.character("\u{201d}"),
            b"bullet" => self.character("\u{2022}"),
            b"emspace" | b"enspace" | b"qmspace" => self.character(" "),
            b"u" => self.unicode(number.unwrap_or(0)),
            b"uc" => self.group.substitutes = number.unwrap_or(1).max(0) as usize,
            b"v" => self.group.is_hidden = !is_off,
            b"deleted" => self.group.is_hidden |= !is_off,
            b"plain" => (self.group.is_hidden, self.group.font) = (false, self.default_font),
            b"f" => self.group.font = number.unwrap_or(0),
            b"deff" => (self.default_font, self.group.font) = (number.unwrap_or(0), number.unwrap_or(0)),
            b"ansicpg" => self.code_page = number.map(code_page),
            b"mac" => self.code_page = Some(CodePage::Known(MACINTOSH)),
            b"pc" => self.code_page = Some(code_page(437)),
            b"pca" => self.code_page = Some(code_page(850)),
            b"fcharset" | b"cpg" if self.group.destination == Destination::Fonts => {
                let of =
                    |number| if word == b"cpg" { Some(code_page(number)) } else { character_set(number) };
                if let Some(encoding) = number.and_then(of) {
                    self.fonts.insert(self.group.font, encoding);
                }
            }
            b"fonttbl" => self.enter(Destination::Fonts),
            b"info" => self.enter(Destination::About),
            b"title" if self.group.destination == Destination::About => {
                self.group.destination = Destination::Title
            }
            _ if LEFT_OUT.contains(&word) => self.enter(Destination::Nowhere),
            // Read are notes, texts in boxes, and Unicode forms of what a group has otherwise.
            _ if is_optional && !matches!(word, b"footnote" | b"shptxt" | b"shpinst" | b"ud") => {
                self.enter(Destination::Nowhere)
            }
            _ => {}
        }
    }

    /// From here to the end of the group; nothing is read again within what is not.
    fn enter(&mut self, destination: Destination) {
        if self.group.destination == Destination::Text {
            self.group.destination = destination;
        } else {
            self.group.destination = Destination::Nowhere;
        }
    }

    /// A unit of UTF-16, as a signed number, and then its substitutes.
    fn unicode(&mut self, number: i32) {
        let unit = number as u16; // -3913 is U+F0B7
        let text = match (self.high_surrogate.take(), unit) {
            (_, 0xd800..=0xdbff) => {
                self.high_surrogate = Some(unit);
                String::new()
            }
            (Some(high), _) => String::from_utf16_lossy(&[high, unit]),
            (None, _) => String::from_utf16_lossy(&[unit]),
        };
        self.push(&text);
        self.passed_over = self.group.substitutes;
    }
}

/// What bytes mean.
#[derive(Clone, Copy)]
enum CodePage {
    Known(&'static Encoding),
    /// What its number is one of, and the number.
    Unknown(&'static str, i32),
}

/// Of Windows, by number. Those of DOS, such as 437 and 850, are no encodings of the web.
fn code_page(number: i32) -> CodePage {
    // Above 32767 some write it as a negative number.
    let number = if number < 0 { number.wrapping_add(1 << 16) } else { number };
    CodePage::Known(match number {
        0 | 1252 => WINDOWS_1252,
        866 => IBM866,
        874 => WINDOWS_874,
        932 => SHIFT_JIS,
        936 => GBK,
        949 => EUC_KR,
        950 => BIG5,
        1250 => WINDOWS_1250,
        1251 => WINDOWS_1251,
        1253 => WINDOWS_1253,
        1254 => WINDOWS_1254,
        1255 => WINDOWS_1255,
        1256 => WINDOWS_1256,
        1257 => WINDOWS_1257,
        1258 => WINDOWS_1258,
        10000 => MACINTOSH,
        20866 => KOI8_R,
        21866 => KOI8_U,
        54936 => GB18030,
        65001 => encoding_rs::UTF_8,
        number => return CodePage::Unknown("code page", number),
    })
}

/// Of a font, by number: that of the document for 0 and 1, and for 2, whose characters are pictures.
fn character_set(number: i32) -> Option<CodePage> {
    Some(code_page(match number {
        0..=2 => return None,
        77 => 10000,
        128 => 932,
        129 => 949,
        130 => 1361,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        254 => 437,
        number => return Some(CodePage::Unknown("character set", number)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(document: &[u8]) -> String {
        rtf(document).unwrap().1
    }

    #[test]
    fn what_a_word_processor_writes() {
        let document = br"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fcharset204 Arial;}}
{\colortbl;\red0\green0\blue0;}{\stylesheet{\s0 Normal;}}{\*\generator Writer;}{\info{\title On {\b red} ants}{\author Nobody}}
\pard\f0 Red ants \{walk\} caf\'e9 \u8364\'80 and {\b work}.\par
{\header top}{\pict\pngblip 89504e47}{\f1 \'cc\'e8\'f0} {\*\unknown gone}\v hidden\v0 seen\line
\uc2\u-10179\'3d\'3f\u-8704\'3f\'3f\uc1 \endash\cell last{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}\par}trailing";
        let (title, text) = rtf(document).unwrap();
        assert_eq!(title.unwrap(), "On red ants");
        assert_eq!(
            text,
            "Red ants {walk} caf\u{e9} \u{20ac} and work.\n\u{41c}\u{438}\u{440} seen\n\u{1f600}\u{2013}\tlastlink"
        );
    }

    #[test]
    fn characters_of_two_bytes() {
        assert_eq!(text(br"{\rtf1\ansi\ansicpg932 \'93\'fa\'96\{\par}"), "\u{65e5}\u{672c}");
        assert_eq!(
            text(br"{\rtf1{\fonttbl{\f3\fcharset134 SimSun;}}\f3\'c4\'e3\'ba\'c3}"),
            "\u{4f60}\u{597d}"
        );
    }

    #[test]
    fn characters_of_an_unknown_code_page_are_refused() {
        for (begin, said) in [
            (r"{\rtf1\ansi\ansicpg437 ", "code page 437"),
            (r"{\rtf1\pca ", "code page 850"),
            (r"{\rtf1\ansi\ansicpg1361", "code page 1361"),
            (r"{\rtf1{\fonttbl{\f0\fcharset254 Terminal;}}\f0 ", "code page 437"),
            (r"{\rtf1{\fonttbl{\f0\fcharset80 Osaka;}}\f0 ", "character set 80"),
            (r"{\rtf1{\fonttbl{\f0\cpg852 Arial;}}\f0 ", "code page 852"),
        ] {
            let document = |rest: &str| rtf(format!("{begin}{rest}}}").as_bytes());
            let refused = document(r"a\'81").unwrap_err().to_string();
            assert_eq!(refused, format!("its text is in {said}, which is not known"));
            // What all have in common is read, and so is Unicode.
            assert_eq!(document(r" red \u252\'3f").unwrap().1, "red \u{fc}");
            assert!(document(r" red {\pict\'81}").is_ok());
        }
        assert_eq!(text(br"{\rtf1\ansicpg-535 \'c3\'bc}"), "\u{fc}");
        assert_eq!(text(br"{\rtf1\ansicpg20866 \'d2\'c1\'da}"), "\u{440}\u{430}\u{437}");
        assert_eq!(text(br"{\rtf1\ansicpg437{\fonttbl{\f0\cpg1251 Arial;}}\f0\'cc}"), "\u{41c}");
    }

    #[test]
    fn bytes_of_pictures_are_no_text() {
        assert_eq!(text(b"{\\rtf1 a{\\pict\\bin3 }{\\}b\\bin2 {{c}"), "abc");
        assert!(rtf(b"{\\rtf1 a\\bin99999 b}").is_err());
    }

    #[test]
    fn what_is_no_whole_document_is_refused() {
        let said = |bytes: &[u8]| rtf(bytes).unwrap_err().to_string();
        assert_eq!(said(br"{\rtf1 a{\b b}"), "damaged RTF: it ends within a group");
        assert_eq!(said(b"}"), "damaged RTF: a group ends that did not begin");
        assert_eq!(said(&[b'{'; 2000]), "damaged RTF: a thousand groups in each other");
    }

    #[test]
    fn words_and_symbols_stand_for_characters() {
        let words = [
            ("par", "\n"),
            ("nestrow", "\n"),
            ("tab", "\t"),
            ("emdash", "\u{2014}"),
            ("endash", "\u{2013}"),
            ("lquote", "\u{2018}"),
            ("rquote", "\u{2019}"),
            ("ldblquote", "\u{201c}"),
            ("rdblquote", "\u{201d}"),
            ("bullet", "\u{2022}"),
            ("emspace", " "),
            ("enspace", " "),
            ("qmspace", " "),
            ("_", "-"),
            ("\r", "\n"),
            ("\n", "\n"),
            ("-", ""),
            ("b-", "-"), // no number
            ("b-1", ""),
        ];
        for (word, character) in words {
            let expected = format!("a{character}c");
            assert_eq!(text(format!("{{\\rtf1 a\\{word}{{}}c}}").as_bytes()), expected, "{word}");
        }
        // A word is a substitute, as a byte is, and so many of them.
        assert_eq!(text(br"{\rtf1 \u8212\emdash a\uc2\u8212\endash\'96b\uc0\u8212\endash c}"), "—a—b—–c");
    }

    #[test]
    fn text_is_hidden_until_something_shows_it() {
        assert_eq!(text(br"{\rtf1 a\deleted b\plain c{\deleted d}e\deleted0 f}"), "acef");
        assert_eq!(text(br"{\rtf1 a\v\deleted0 b\endash\par\u8212?d\v0 c}"), "ac");
    }

    #[test]
    fn fonts_and_character_sets_are_those_that_the_document_names() {
        let fonts = r"{\fonttbl{\f0\fcharset238 A;}{\f1\fcharset204 B;}}";
        let with = |rest: &str| text(format!("{{\\rtf1{rest}}}").as_bytes());
        assert_eq!(with(&format!(r"{fonts}\'e8\f1\'e8\plain\'e8")), "čиč");
        assert_eq!(with(&format!(r"\deff1{fonts}\'e8\f0\'e8\plain\'e8")), "иčи");
        assert_eq!(with(r"\mac\'8e"), "é");
        assert_eq!(with(r"\ansicpg0\'e9"), "é");
        let refused = rtf(br"{\rtf1\pc\'82}").unwrap_err().to_string();
        assert_eq!(refused, "its text is in code page 437, which is not known");
        // Outside of their table, these say nothing of a font.
        assert_eq!(with(r"\ansicpg1252\fcharset204\'e8"), "è");
        assert_eq!(with(r"\ansicpg1252\cpg1251\'e8"), "è");
        // And a title outside of what is about the document is text.
        assert_eq!(rtf(br"{\rtf1 a{\title b}}").unwrap(), (None, "ab".to_owned()));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(rest in proptest::collection::vec(proptest::sample::select(b"\\{}'*u-d83f9 \n\x80binpa".to_vec()), 0..60)) {
            if let Ok((title, text)) = rtf(&[HEAD, &rest].concat()) {
                assert!(title.is_none_or(|title| !title.is_empty()) && text.len() <= 3 * (rest.len() + HEAD.len()));
            }
        }
    }
}
