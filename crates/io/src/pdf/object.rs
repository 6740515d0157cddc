//! What PDF files and the contents of their pages are written in (ISO 32000-1, 7.2 and 7.3).

use std::collections::HashMap;
use std::rc::Rc;

/// Arrays and dictionaries in each other: more is no document, and would take the stack.
const DEEPEST: usize = 64;

/// Parts of one object: more is no document, and would take memory.
const PARTS: usize = 1 << 20;

pub(super) type Dict = HashMap<Rc<[u8]>, Object>;

/// Copied without copying what it holds.
#[derive(Clone, Debug)]
pub(super) enum Object {
    /// Also `true`, `false` and what is not there.
    Null,
    Number(f64),
    Name(Rc<[u8]>),
    String(Rc<[u8]>),
    Array(Rc<Vec<Object>>),
    Dict(Rc<Dict>),
    Stream(Rc<Stream>),
    /// The object of this number; generations are of no use to who only reads.
    Reference(u32),
}

/// A dictionary, and bytes of the file from `start` to `end`, as they are stored.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) dict: Rc<Dict>,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Object {
    pub(super) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }
    /// A number that counts or tells where something is.
    pub(super) fn index(&self) -> Option<usize> {
        let number = self.number()?;
        (0.0..=1e12).contains(&number).then_some(number as usize)
    }
    pub(super) fn name(&self) -> Option<&[u8]> {
        if let Self::Name(name) = self { Some(name) } else { None }
    }
    pub(super) fn is(&self, name: &str) -> bool {
        self.name() == Some(name.as_bytes())
    }
    pub(super) fn string(&self) -> Option<&[u8]> {
        if let Self::String(string) = self { Some(string) } else { None }
    }
    pub(super) fn array(&self) -> Option<&Rc<Vec<Object>>> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }
    /// That of a stream, too.
    pub(super) fn dict(&self) -> Option<&Rc<Dict>> {
        match self {
            Self::Dict(dict) => Some(dict),
            Self::Stream(stream) => Some(&stream.dict),
            _ => None,
        }
    }
}

/// What stands next.
pub(super) enum Token<'a> {
    Object(Object),
    /// An operator, or a word of the file's structure.
    Word(&'a [u8]),
}

/// Reads object after object.
pub(super) struct Lexer<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// Whether `7 0 R` is a reference, as it is everywhere but in the contents of a page.
    references: bool,
    /// Of the last token.
    pub(super) parts: usize,
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0c | 0)
}

fn is_regular(byte: u8) -> bool {
    !is_blank(byte) && !matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

impl<'a> Lexer<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, references: true, parts: 0 }
    }

    pub(super) fn of_contents(bytes: &'a [u8]) -> Self {
        Self { references: false, ..Self::new(bytes, 0) }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    while self.peek().is_some_and(|byte| !matches!(byte, b'\r' | b'\n')) {
                        self.at += 1;
                    }
                }
                byte if is_blank(byte) => self.at += 1,
                _ => break,
            }
        }
    }

    /// The next object or word; none at the end, and of what is too deep or has too many parts.
    pub(super) fn token(&mut self) -> Option<Token<'a>> {
        self.parts = 0;
        self.token_at(0)
    }

    /// The next object, if one stands there.
    pub(super) fn object(&mut self) -> Option<Object> {
        match self.token()? {
            Token::Object(object) => Some(object),
            Token::Word(_) => None,
        }
    }

    /// Passes a word, if it stands there.
    pub(super) fn word(&mut self, word: &[u8]) -> Option<()> {
        self.skip_blanks();
        self.bytes.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    /// A number without sign.
    pub(super) fn unsigned(&mut self) -> Option<usize> {
        self.skip_blanks();
        let start = self.at;
        while self.at - start < 20 && self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        std::str::from_utf8(&self.bytes[start..self.at]).ok()?.parse().ok()
    }

    fn token_at(&mut self, depth: usize) -> Option<Token<'a>> {
        self.parts += 1;
        if depth > DEEPEST || self.parts > PARTS {
            return None;
        }
        self.skip_blanks();
        let byte = self.peek()?;
        let next = self.bytes.get(self.at + 1).copied();
        Some(Token::Object(match byte {
            b'/' => Object::Name(self.name()),
            b'(' => Object::String(self.literal()),
            b'<' if next == Some(b'<') => {
                self.at += 2;
                Object::Dict(Rc::new(self.dict(depth)?))
            }
            b'<' => Object::String(self.hexadecimal()),
            b'[' => {
                self.at += 1;
                let mut array = Vec::new();
                loop {
                    match self.token_at(depth + 1)? {
                        Token::Object(object) => array.push(object),
                        Token::Word(b"]") => break,
                        Token::Word(_) => array.push(Object::Null),
                    }
                }
                Object::Array(Rc::new(array))
            }
            b'+' | b'-' | b'.' | b'0'..=b'9' => self.number_or_reference(),
            byte if is_regular(byte) => {
                let start = self.at;
                while self.peek().is_some_and(is_regular) {
                    self.at += 1;
                }
                match &self.bytes[start..self.at] {
                    b"true" | b"false" | b"null" => Object::Null,
                    word => return Some(Token::Word(word)),
                }
            }
            b'>' if next == Some(b'>') => {
                self.at += 2;
                return Some(Token::Word(b">>"));
            }
            _ => {
                self.at += 1;
                return Some(Token::Word(&self.bytes[self.at - 1..self.at]));
            }
        }))
    }

    fn dict(&mut self, depth: usize) -> Option<Dict> {
        let mut dict = Dict::new();
        loop {
            match self.token_at(depth + 1)? {
                Token::Object(Object::Name(key)) => match self.token_at(depth + 1)? {
                    Token::Object(value) => _ = dict.insert(key, value),
                    Token::Word(b">>") => break,
                    Token::Word(_) => {}
                },
                Token::Word(b">>") => break,
                Token::Word(b"endobj" | b"stream") => return None, // it has no end
                _ => {}
            }
        }
        Some(dict)
    }

    fn name(&mut self) -> Rc<[u8]> {
        self.at += 1;
        let start = self.at;
        while self.peek().is_some_and(is_regular) {
            self.at += 1;
        }
        let raw = &self.bytes[start..self.at];
        if !raw.contains(&b'#') {
            return raw.into();
        }
        let (mut name, mut rest) = (Vec::new(), raw);
        while let [first, after @ ..] = rest {
            let code = match after {
                [high, low, ..] if *first == b'#' => hex(*high).zip(hex(*low)),
                _ => None,
            };
            name.push(code.map_or(*first, |(high, low)| high << 4 | low));
            rest = if code.is_some() { &after[2..] } else { after };
        }
        name.into()
    }

    fn number_or_reference(&mut self) -> Object {
        let number = self.number();
        if self.references && number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0 {
            let end = self.at;
            if self.unsigned().is_some() && self.word(b"R").is_some() && !self.peek().is_some_and(is_regular)
            {
                return Object::Reference(number as u32);
            }
            self.at = end;
        }
        Object::Number(number)
    }

    /// However it is written: `-.5`, `4.`, `--7`. Finite.
    fn number(&mut self) -> f64 {
        let (mut negative, mut value, mut unit, mut in_fraction) = (false, 0.0, 1.0, false);
        while let Some(byte) = self.peek() {
            match byte {
                b'-' => negative = true,
                b'+' => {}
                b'.' => in_fraction = true,
                b'0'..=b'9' if in_fraction => {
                    unit /= 10.0;
                    value += f64::from(byte - b'0') * unit;
                }
                b'0'..=b'9' => value = f64::min(value * 10.0 + f64::from(byte - b'0'), 1e30),
                byte if is_regular(byte) && !byte.is_ascii_alphabetic() => {}
                _ => break,
            }
            self.at += 1;
        }
        if negative { -value } else { value }
    }

    fn literal(&mut self) -> Rc<[u8]> {
        self.at += 1;
        let (mut string, mut open) = (Vec::new(), 1_usize);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                }
                b'\\' => {
                    let escaped = self.peek();
                    self.at += 1;
                    string.push(match escaped {
                        Some(b'n') => b'\n',
                        Some(b'r') => b'\r',
                        Some(b't') => b'\t',
                        Some(b'b') => 8,
                        Some(b'f') => 12,
                        Some(b'\n') => continue,
                        Some(b'\r') => {
                            self.at += usize::from(self.peek() == Some(b'\n'));
                            continue;
                        }
                        Some(digit @ b'0'..=b'7') => {
                            let mut code = u32::from(digit - b'0');
                            for _ in 0..2 {
                                let Some(digit @ b'0'..=b'7') = self.peek() else { break };
                                code = code * 8 + u32::from(digit - b'0');
                                self.at += 1;
                            }
                            code as u8 // what is above a byte has no meaning
                        }
                        Some(other) => other,
                        None => break,
                    });
                    continue;
                }
                _ => {}
            }
            string.push(byte);
        }
        self.at = self.at.min(self.bytes.len());
        string.into()
    }

    fn hexadecimal(&mut self) -> Rc<[u8]> {
        self.at += 1;
        let (mut string, mut half) = (Vec::new(), None);
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'>' {
                break;
            }
            let Some(digit) = hex(byte) else { continue };
            match half.take() {
                None => half = Some(digit),
                Some(high) => string.push(high << 4 | digit),
            }
        }
        string.extend(half.map(|high| high << 4));
        string.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &[u8]) -> Object {
        Lexer::new(text, 0).object().unwrap()
    }

    #[test]
    fn objects_are_read_as_the_standard_writes_them() {
        // The examples of ISO 32000-1, 7.3.
        for (text, number) in
            [("123", 123.0), ("+17", 17.0), ("-98", -98.0), ("34.5", 34.5), ("-.002", -0.002), ("4.", 4.0)]
        {
            assert!((object(text.as_bytes()).number().unwrap() - number).abs() < 1e-12, "{text}");
        }
        assert_eq!(
            object(
                br"(a\) \(b(c)\
d\n\053\0053\53)"
            )
            .string()
            .unwrap(),
            b"a) (b(c)d\n+\x053+"
        );
        assert_eq!(object(b"<901FA>").string().unwrap(), b"\x90\x1f\xa0");
        assert_eq!(object(b"/A#42/").name().unwrap(), b"AB");
        let dict = object(b"<</A [1 2 0 R(x)] % note\n/B<</C/D>>/E true>>");
        let dict = dict.dict().unwrap();
        let array = dict[&b"A"[..]].array().unwrap();
        assert_eq!(array.len(), 3);
        assert!(matches!(array[1], Object::Reference(2)));
        assert!(dict[&b"B"[..]].dict().unwrap()[&b"C"[..]].is("D"));
    }

    #[test]
    fn what_has_no_end_is_no_object() {
        for text in
            [&b""[..], b"[1 2", b"<</A 1", b"<</A 1 endobj", b"]", &[b'['; 100_000], &b"<</A".repeat(100_000)]
        {
            assert!(Lexer::new(text, 0).object().is_none());
        }
        assert!(Lexer::new(&[b"[".to_vec(), b"0 ".repeat(2 << 20)].concat(), 0).object().is_none());
        assert_eq!(object(b"(never closed\\").string().unwrap(), b"never closed");
        assert_eq!(object(&[b'9'; 1000]).number(), Some(1e30));
    }

    fn tokens(mut lexer: Lexer<'_>) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(token) = lexer.token() {
            found.push(match token {
                Token::Object(Object::Number(number)) => number.to_string(),
                Token::Object(Object::Reference(number)) => format!("reference {number}"),
                Token::Object(_) => "object".to_owned(),
                Token::Word(word) => String::from_utf8_lossy(word).into_owned(),
            });
        }
        found
    }

    #[test]
    fn references_are_whole_numbers_and_never_on_a_page() {
        let of_file = |text: &'static str| tokens(Lexer::new(text.as_bytes(), 0)).join(" ");
        assert_eq!(of_file("7 0 R 8 0 R"), "reference 7 reference 8");
        assert_eq!(of_file("4294967295 0 R"), "reference 4294967295");
        for text in ["-7 0 R", "1.5 0 R", "4294967296 0 R", "7 0 Rx", "7 0"] {
            assert_eq!(of_file(text), text);
        }
        assert_eq!(tokens(Lexer::of_contents(b"7 0 R")), ["7", "0", "R"]);
    }

    #[test]
    fn comments_are_passed_over() {
        assert_eq!(object(b"% 1 (a\r% 2\n 3").number(), Some(3.0));
        assert_eq!(object(b"[1 % 2 3\n 4]").array().unwrap().len(), 2);
    }

    #[test]
    fn numbers_end_at_a_letter_and_pass_over_other_characters() {
        assert_eq!(
            tokens(Lexer::of_contents(b"12endobj 1,234 5--6 --7")),
            ["12", "endobj", "1234", "-56", "-7"]
        );
        // Twenty digits are as many as the largest number has.
        let digits = format!("{}12", "0".repeat(19));
        let mut lexer = Lexer::new(digits.as_bytes(), 0);
        assert_eq!([lexer.unsigned(), lexer.unsigned(), lexer.unsigned()], [Some(1), Some(2), None]);
    }

    #[test]
    fn characters_of_strings_and_names_are_escaped() {
        assert_eq!(object(b"(a\\\r\nb\\\rc\\\nd)").string().unwrap(), b"abcd");
        assert_eq!(object(b"(\\7\\n\\r\\t\\b\\f\\x)").string().unwrap(), b"\x07\n\r\t\x08\x0cx");
        assert_eq!(object(b"/xab#20#zz").name().unwrap(), b"xab #zz");
    }

    #[test]
    fn brackets_that_stand_alone_are_words() {
        assert_eq!(tokens(Lexer::new(b"> 1 >> 2 }3", 0)), [">", "1", ">>", "2", "}", "3"]);
        let dict = object(b"<</A 1 > /B 2>>");
        assert_eq!(dict.dict().unwrap()[&b"B"[..]].number(), Some(2.0));
        for text in [&b"<</A 1 endobj /B 2>>"[..], b"<</A 1 stream /B 2>>"] {
            assert!(Lexer::new(text, 0).object().is_none());
        }
    }

    #[test]
    fn objects_are_as_deep_and_as_large_as_allowed_and_no_more() {
        let is_read = |text: &[u8]| Lexer::new(text, 0).object().is_some();
        let arrays = |deep: usize| is_read(&[b"[".repeat(deep), b"]".repeat(deep)].concat());
        assert_eq!([arrays(DEEPEST), arrays(DEEPEST + 1)], [true, false]);
        let dicts = |deep: usize| {
            is_read(&[b"<</A ".repeat(deep - 1), b"<<>>".to_vec(), b">>".repeat(deep - 1)].concat())
        };
        assert_eq!([dicts(DEEPEST), dicts(DEEPEST + 1)], [true, false]);
        // The array and its end are two parts.
        let parts = |parts: usize| is_read(&[&b"["[..], &b"0 ".repeat(parts - 2), b"]"].concat());
        assert_eq!([parts(PARTS), parts(PARTS + 1)], [true, false]);
    }
}
