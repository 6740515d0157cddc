//! What the codes of a font stand for, and how wide they are (ISO 32000-1, 9.5 to 9.10).

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GBK, MACINTOSH, SHIFT_JIS, WINDOWS_1252};

use super::cff;
use super::cmap::CMap;
use super::file::File;
use super::glyphs::{letters, text_of};
use super::object::{Dict, Lexer, Object, Token};
use crate::error::Problem;

/// Adobe's standard encoding from code 161 on; blanks are no characters.
pub(super) const STANDARD: &str =
    "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ –†‡· ¶•‚„”»…‰ ¿ `´ˆ˜¯˘˙¨ ˚¸ ˝˛ˇ—                Æ ª    ŁØŒº     æ   ı  łøœß";

/// Widths of the characters of ASCII from the blank on, in thousandths, of the fonts that need not say theirs: Helvetica.
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 222, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 222, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// The same of Times.
const TIMES: [u16; 95] = [
    250, 333, 408, 500, 500, 833, 778, 333, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500, 500, 500,
    500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611, 556, 722, 722, 333,
    389, 722, 611, 889, 722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469,
    500, 333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500, 500, 500, 333, 389,
    278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541,
];

/// Widths that a font states.
const WIDTHS: usize = 1 << 17;

/// Codes and names by which an encoding differs: there are 256 codes.
const DIFFERENCES: usize = 1 << 10;

/// How bytes are codes.
enum Codes {
    /// One byte each.
    Simple(Vec<Option<Box<str>>>),
    /// Two bytes each, or as many as the table says.
    Identity(CMap),
    /// Units of UTF-16.
    Unicode,
    /// Of an encoding with one or two bytes for a character.
    Legacy(&'static Encoding),
}

pub(super) struct Font {
    codes: Codes,
    to_unicode: CMap,
    /// The first and the last code, and the width of each of them, in thousandths; sorted.
    widths: Vec<(u32, u32, f64)>,
    default_width: f64,
    /// Of the unit of widths, in that of the text.
    scale: f64,
}

/// What a code shows.
pub(super) struct Shown {
    /// None if the font does not say it.
    pub(super) text: Option<String>,
    /// In the unit of the text.
    pub(super) width: f64,
    /// Whether it is a blank whose width the page may change.
    pub(super) is_blank: bool,
}

impl Font {
    /// A font that says nothing.
    pub(super) fn unknown() -> Self {
        Self {
            codes: Codes::Simple(Vec::new()),
            to_unicode: CMap::default(),
            widths: Vec::new(),
            default_width: 500.0,
            scale: 1e-3,
        }
    }

    pub(super) fn new(file: &mut File<'_>, dict: &Dict) -> Result<Self, Problem> {
        let kind = file.get(dict, "Subtype")?;
        let mut font = Self::unknown();
        match file.get(dict, "ToUnicode")? {
            // A table that cannot be read says nothing; the encoding may.
            Object::Stream(stream) => {
                font.to_unicode = CMap::read(&file.decoded(&stream).unwrap_or_default())
            }
            Object::Name(_) if kind.is("Type0") => font.codes = Codes::Unicode,
            _ => {}
        }
        if kind.is("Type0") {
            font.composite(file, dict)?;
        } else {
            font.simple(file, dict, &kind)?;
        }
        font.widths.sort_by_key(|&(first, ..)| first);
        file.charge(16 * font.len())?;
        Ok(font)
    }

    /// How large it is, in entries.
    pub(super) fn len(&self) -> usize {
        256 + self.to_unicode.len() + self.widths.len()
    }

    fn composite(&mut self, file: &mut File<'_>, dict: &Dict) -> Result<(), Problem> {
        let encoding = file.get(dict, "Encoding")?;
        if !matches!(self.codes, Codes::Unicode) {
            let name = String::from_utf8_lossy(encoding.name().unwrap_or_default()).into_owned();
            let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
            self.codes = match &encoding {
                Object::Stream(stream) => {
                    Codes::Identity(CMap::read(&file.decoded(stream).unwrap_or_default()))
                }
                _ if has(&["UCS2", "UTF16"]) => Codes::Unicode,
                _ if has(&["RKSJ"]) => Codes::Legacy(SHIFT_JIS),
                _ if has(&["GBK", "GB-EUC", "GBpc"]) => Codes::Legacy(GBK),
                _ if has(&["B5", "ETen"]) => Codes::Legacy(BIG5),
                _ if has(&["KSC"]) => Codes::Legacy(EUC_KR),
                _ if has(&["EUC"]) => Codes::Legacy(EUC_JP),
                _ => Codes::Identity(CMap::default()),
            };
        }
        let descendant = file.get(dict, "DescendantFonts")?;
        let Some(first) = descendant.array().and_then(|all| all.first().cloned()) else { return Ok(()) };
        let first = file.resolve(&first)?;
        let Some(about) = first.dict() else { return Ok(()) };
        self.default_width = file.get(about, "DW")?.number().unwrap_or(1000.0);
        let widths = file.get(about, "W")?;
        let mut rest = widths.array().map(|array| &array[..]).unwrap_or_default();
        // `first [widths]` or `first last width`.
        while let [first, second, after @ ..] = rest {
            let (first, second) = (file.resolve(first)?.index().unwrap_or(0) as u32, file.resolve(second)?);
            rest = after;
            file.charge(16)?;
            if let Object::Array(each) = &second {
                for (n, width) in each.iter().enumerate().take(WIDTHS.saturating_sub(self.widths.len())) {
                    let code = first.saturating_add(n as u32);
                    self.widths.push((code, code, width.number().unwrap_or(self.default_width)));
                }
            } else if let [width, after @ ..] = after {
                let (last, width) = (second.index().unwrap_or(0) as u32, file.resolve(width)?.number());
                if self.widths.len() < WIDTHS {
                    self.widths.push((first, last, width.unwrap_or(self.default_width)));
                }
                rest = after;
            }
        }
        Ok(())
    }

    fn simple(&mut self, file: &mut File<'_>, dict: &Dict, kind: &Object) -> Result<(), Problem> {
        let about = file.get(dict, "FontDescriptor")?;
        let base_font = file.get(dict, "BaseFont")?;
        let base_font = String::from_utf8_lossy(base_font.name().unwrap_or_default()).into_owned();
        let encoding = file.get(dict, "Encoding")?;
        let base = match encoding.dict() {
            Some(encoding) => file.get(encoding, "BaseEncoding")?,
            None => encoding.clone(),
        };
        let mut codes: Vec<Option<Box<str>>> = match base.name() {
            Some(b"WinAnsiEncoding") => of_encoding(WINDOWS_1252),
            Some(b"MacRomanEncoding") => of_encoding(MACINTOSH),
            Some(b"StandardEncoding") => standard(),
            _ if kind.is("Type3") => vec![None; 256],
            _ if kind.is("TrueType") => of_encoding(WINDOWS_1252),
            _ => self.of_program(file, about.dict().map_or(&Dict::new(), |about| about), &base_font)?,
        };
        if let Some(encoding) = encoding.dict() {
            let differences = file.get(encoding, "Differences")?;
            let mut code = 0;
            for item in differences.array().iter().flat_map(|array| array.iter()).take(DIFFERENCES) {
                match item {
                    Object::Number(number) => code = *number as usize,
                    Object::Name(name) => {
                        if let Some(slot) = codes.get_mut(code) {
                            let name = String::from_utf8_lossy(name);
                            let text =
                                text_of(&name).or_else(|| of_code(&name, code).filter(|_| kind.is("Type3")));
                            *slot = text.map(String::into_boxed_str);
                        }
                        code = code.saturating_add(1);
                    }
                    _ => {}
                }
            }
        }
        if kind.is("Type3") {
            let matrix = file.get(dict, "FontMatrix")?;
            self.scale = matrix.array().and_then(|matrix| matrix.first()?.number()).unwrap_or(1e-3).abs();
        }
        let first = file.get(dict, "FirstChar")?.index().unwrap_or(0).min(255) as u32;
        if let Object::Array(widths) = file.get(dict, "Widths")? {
            for (code, width) in (first..256).zip(widths.iter()) {
                if let Some(width) = file.resolve(width)?.number() {
                    self.widths.push((code, code, width));
                }
            }
            if let Some(about) = about.dict() {
                self.default_width = file.get(about, "MissingWidth")?.number().unwrap_or(0.0);
            }
        } else {
            let fixed = base_font.contains("Courier");
            let table = if base_font.contains("Times") { &TIMES } else { &HELVETICA };
            self.default_width = if fixed { 600.0 } else { 500.0 };
            for (code, text) in (0..).zip(&codes).filter(|_| !fixed) {
                let first = text.as_ref().and_then(|text| text.bytes().next()).unwrap_or(0);
                if let Some(&width) = usize::from(first).checked_sub(32).and_then(|n| table.get(n)) {
                    self.widths.push((code, code, f64::from(width)));
                }
            }
        }
        self.codes = Codes::Simple(codes);
        Ok(())
    }

    /// The encoding of a Type 1 font that has none but that of its program.
    fn of_program(
        &self,
        file: &mut File<'_>,
        about: &Dict,
        name: &str,
    ) -> Result<Vec<Option<Box<str>>>, Problem> {
        if let Object::Stream(program) = file.get(about, "FontFile")? {
            return Ok(built_in(&file.decoded(&program).unwrap_or_default()));
        }
        if let Object::Stream(program) = file.get(about, "FontFile3")?
            && let Some(encoding) = cff::encoding(&file.decoded(&program).unwrap_or_default())
        {
            let mut codes = vec![None; 256];
            for (code, text) in encoding {
                codes[usize::from(code)] = Some(text.into_boxed_str());
            }
            return Ok(codes);
        }
        let is_symbolic = ["Symbol", "Dingbats"].iter().any(|symbols| name.contains(symbols));
        Ok(if is_symbolic { vec![None; 256] } else { standard() })
    }

    /// What the first code of these bytes shows, and how many bytes it has: none of them if there are none.
    pub(super) fn next(&self, bytes: &[u8]) -> Option<(Shown, usize)> {
        let &first = bytes.first()?;
        let length = match &self.codes {
            Codes::Simple(_) => 1,
            Codes::Unicode => 2,
            Codes::Legacy(encoding) if *encoding == SHIFT_JIS && (0xa0..0xe0).contains(&first) => 1,
            Codes::Legacy(_) => 1 + usize::from(first > 0x80),
            Codes::Identity(map) => map.length(first).or_else(|| self.to_unicode.length(first)).unwrap_or(2),
        };
        let length = length.min(bytes.len());
        let code = bytes[..length].iter().fold(0_u32, |code, &byte| code << 8 | u32::from(byte));
        let text = self.to_unicode.text(code).or_else(|| match &self.codes {
            Codes::Simple(codes) => codes.get(code as usize).cloned().flatten().map(String::from),
            Codes::Unicode => char::from_u32(code).map(|c| letters(&String::from(c))),
            Codes::Legacy(encoding) => {
                let (text, _) = encoding.decode_without_bom_handling(&bytes[..length]);
                Some(letters(&text))
            }
            Codes::Identity(_) => None,
        });
        let after = self.widths.partition_point(|&(first, ..)| first <= code);
        let width =
            self.widths[..after].last().filter(|&&(_, last, _)| code <= last).map(|&(.., width)| width);
        let width = width.unwrap_or(self.default_width) * self.scale;
        Some((Shown { text, width, is_blank: length == 1 && code == 32 }, length))
    }
}

fn of_encoding(encoding: &'static Encoding) -> Vec<Option<Box<str>>> {
    let text = |byte: u8| {
        let (text, _) = encoding.decode_without_bom_handling(std::slice::from_ref(&byte));
        Some(letters(&text).into_boxed_str()).filter(|text| !text.is_empty())
    };
    (0..=u8::MAX).map(text).collect()
}

/// The first half of Adobe's standard encoding, from the blank on.
pub(super) fn ascii() -> impl Iterator<Item = char> {
    (32..127_u8).map(|code| match code {
        b'\'' => '’',
        b'`' => '‘',
        code => char::from(code),
    })
}

/// What TeX's fonts of pixels show, whose glyphs are called by a letter and their code.
fn of_code(name: &str, code: usize) -> Option<String> {
    let number = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    if number.is_empty() || number.len() == name.len() || number.parse() != Ok(code) {
        return None;
    }
    let ligatures = ["ff", "fi", "fl", "ffi", "ffl"];
    match code {
        11..16 => Some(ligatures[code - 11].to_owned()),
        33..127 => Some(String::from(char::from(code as u8))),
        _ => None,
    }
}

fn standard() -> Vec<Option<Box<str>>> {
    let mut codes = vec![None; 256];
    for (slot, c) in codes[32..].iter_mut().zip(ascii()) {
        *slot = Some(String::from(c).into_boxed_str());
    }
    for (slot, c) in codes[161..].iter_mut().zip(STANDARD.chars()).filter(|(_, c)| *c != ' ') {
        *slot = Some(letters(&String::from(c)).into_boxed_str());
    }
    codes
}

/// The encoding in a Type 1 font program, before its encrypted part: `dup 12 /fi put`.
fn built_in(program: &[u8]) -> Vec<Option<Box<str>>> {
    let mut codes = vec![None; 256];
    let mut lexer = Lexer::of_contents(program);
    let (mut number, mut name) = (None, None);
    let mut in_encoding = false;
    while let Some(token) = lexer.token() {
        match token {
            Token::Object(Object::Name(found)) if &found[..] == b"Encoding" => in_encoding = true,
            Token::Object(Object::Name(found)) => name = Some(found),
            Token::Object(Object::Number(found)) => number = Some(found),
            Token::Word(b"eexec") => break,
            Token::Word(b"StandardEncoding") if in_encoding => return standard(),
            Token::Word(b"def") if in_encoding => break,
            Token::Word(b"put") if in_encoding => {
                let slot = number.take().and_then(|code: f64| codes.get_mut(code as usize));
                if let (Some(slot), Some(name)) = (slot, name.take()) {
                    *slot = text_of(&String::from_utf8_lossy(&name)).map(String::into_boxed_str);
                }
            }
            _ => {}
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_of_fonts() {
        let standard = standard();
        for (code, text) in
            [(65, "A"), (39, "’"), (174, "fi"), (208, "—"), (225, "Æ"), (251, "ß"), (245, "ı"), (199, "˙")]
        {
            assert_eq!(standard[code].as_deref(), Some(text), "{code}");
        }
        assert_eq!((&standard[176], &standard[252], &standard[10]), (&None, &None, &None));
        assert_eq!(of_encoding(WINDOWS_1252)[0x80].as_deref(), Some("€"));
        let codes = built_in(b"/FontName /CMR10 def /Encoding 256 array 0 1 255 {1 index exch /.notdef put} for dup 12 /fi put dup 65 /A put readonly def /x 7 /B put eexec");
        assert_eq!(
            (codes[12].as_deref(), codes[65].as_deref(), codes[7].as_deref()),
            (Some("fi"), Some("A"), None)
        );
    }

    #[test]
    fn the_encoding_of_a_program_is_what_it_says_between_its_name_and_its_end() {
        let codes = |program: &str| built_in(program.as_bytes());
        let of = |program: &str, code: usize| codes(program)[code].clone().map(String::from);
        assert_eq!(of("/Encoding StandardEncoding def", 174).as_deref(), Some("fi"));
        let named = "StandardEncoding dup 65 /A put /Encoding 256 array dup 66 /C put eexec dup 67 /D put";
        assert_eq!([of(named, 65), of(named, 66), of(named, 67)], [None, Some("C".to_owned()), None]);
    }

    #[test]
    fn glyphs_of_pixels_are_called_by_their_code() {
        for (name, code, text) in [
            ("a11", 11, "ff"),
            ("a12", 12, "fi"),
            ("G15", 15, "ffl"),
            ("a33", 33, "!"),
            ("Aa65", 65, "A"),
            ("a126", 126, "~"),
        ] {
            assert_eq!(of_code(name, code).as_deref(), Some(text), "{name}");
        }
        for (name, code) in [
            ("65", 65),
            ("A", 65),
            ("", 0),
            ("A66", 65),
            ("a10", 10),
            ("a16", 16),
            ("a32", 32),
            ("a127", 127),
        ] {
            assert_eq!(of_code(name, code), None, "{name}");
        }
    }
}
