//! The text that a page shows (ISO 32000-1, 9.4), in the order in which the page shows it.

use std::collections::HashMap;
use std::rc::Rc;

use super::file::File;
use super::font::Font;
use super::glyphs::{accented, is_accent};
use super::object::{Dict, Lexer, Object, Token};
use crate::error::Problem;

/// Forms within forms, and saved states within saved states.
const DEEPEST: usize = 8;
const STATES: usize = 1 << 10;

/// Operands that an operator has, and parts that they have.
const OPERANDS: usize = 64;
const PARTS: usize = 1 << 20;

/// Entries of all fonts that are kept.
const FONTS: usize = 1 << 20;

/// What is wider than this, in the size of the letters, is a blank; TeX's narrowest is 0.22, and kerning is less than 0.1.
const BLANK: f64 = 0.17;

/// Single letters in a row that are words, or the ends of words.
const SINGLE_LETTERS: usize = 4;

type Matrix = [f64; 6];

const UNIT: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// First `a`, then `b`.
fn after(a: &Matrix, b: &Matrix) -> Matrix {
    [
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    ]
}

fn moved(x: f64, y: f64, matrix: &Matrix) -> Matrix {
    after(&[1.0, 0.0, 0.0, 1.0, x, y], matrix)
}

/// What an operator `q` saves.
#[derive(Clone)]
struct State {
    page: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    /// Added to each character and to each blank.
    spacing: f64,
    blank_spacing: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

impl State {
    fn new() -> Self {
        Self {
            page: UNIT,
            font: None,
            size: 1.0,
            spacing: 0.0,
            blank_spacing: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

/// Where the last character ended, which way the text runs, and how large it is; on the page.
#[derive(Clone, Copy)]
struct End {
    x: f64,
    y: f64,
    direction: (f64, f64),
    size: f64,
    /// How wide the last character is.
    width: f64,
}

impl End {
    fn distance(&self, other: &Self) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

/// Collects the text of pages.
pub(super) struct Writer {
    pub(super) text: String,
    limit: usize,
    end: Option<End>,
    /// The same without the space that its string adds to each letter, and where in the text such space of the string may be a blank.
    letter_end: Option<End>,
    gaps: Vec<usize>,
    /// Codes of which the font said what they are, and others.
    pub(super) known: usize,
    pub(super) unknown: usize,
    pub(super) pictures: usize,
    fonts: HashMap<u32, Rc<Font>>,
    kept: usize,
}

impl Writer {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            limit,
            end: None,
            letter_end: None,
            gaps: Vec::new(),
            known: 0,
            unknown: 0,
            pictures: 0,
            fonts: HashMap::new(),
            kept: 0,
        }
    }

    /// Writes the text of a page.
    pub(super) fn page(
        &mut self,
        file: &mut File<'_>,
        contents: &Object,
        resources: &Dict,
    ) -> Result<(), Problem> {
        let mut run = Run::new(resources, UNIT);
        let streams = match contents {
            Object::Array(streams) => Rc::clone(streams),
            stream => Rc::new(vec![stream.clone()]),
        };
        for stream in streams.iter() {
            if let Object::Stream(stream) = file.resolve(stream)? {
                let data = file.decoded(&stream)?;
                run.operators(self, file, &data, 0)?;
            }
        }
        (self.end, self.letter_end) = (None, None);
        self.gaps.clear();
        self.end_line();
        Ok(())
    }

    fn end_line(&mut self) {
        let length = self.text.trim_end_matches(' ').len();
        self.text.truncate(length);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn font(&mut self, file: &mut File<'_>, object: &Object) -> Result<Rc<Font>, Problem> {
        let number = if let Object::Reference(number) = object { Some(*number) } else { None };
        if let Some(font) = number.and_then(|number| self.fonts.get(&number)) {
            return Ok(Rc::clone(font));
        }
        let font = match file.resolve(object)?.dict() {
            Some(dict) => Rc::new(Font::new(file, dict)?),
            None => Rc::new(Font::unknown()),
        };
        if let Some(number) = number {
            self.kept += font.len();
            if self.kept > FONTS {
                (self.fonts, self.kept) = (HashMap::new(), font.len());
            }
            self.fonts.insert(number, Rc::clone(&font));
        }
        Ok(font)
    }

    /// Puts a character where the page has it: behind the last one, after a blank, or on a line of its own.
    fn put(&mut self, text: &str, start: End) -> Result<(), Problem> {
        if text.is_empty() {
            return Ok(());
        }
        if self.text.len() + text.len() >= self.limit {
            return Err(Problem::TooLong { limit: self.limit });
        }
        if let Some(end) = self.end {
            let (dx, dy) = (start.x - end.x, start.y - end.y);
            let (along, across) =
                (dx * end.direction.0 + dy * end.direction.1, dx * end.direction.1 - dy * end.direction.0);
            let turn = end.direction.0 * start.direction.0 + end.direction.1 * start.direction.1;
            let size = end.size.max(start.size);
            let same_line = turn > 0.9 && across.abs() < 0.5 * size && along > -size - end.width;
            let last = self.text.chars().next_back().unwrap_or('\n');
            // An accent that is printed on a letter.
            if same_line
                && along < -0.3 * end.width
                && is_accent(last)
                && let Some(letter) = text.chars().next().and_then(|letter| accented(last, letter))
            {
                self.text.pop();
                self.text.push(letter);
                self.text.push_str(text.get(1..).filter(|_| text.is_ascii()).unwrap_or(""));
                return Ok(());
            }
            if !same_line {
                self.break_line(text);
            } else if along > BLANK * size && !last.is_whitespace() && !text.starts_with(' ') {
                self.text.push(' ');
            }
        }
        if !(text == " " && self.text.ends_with([' ', '\n'])) {
            self.text.push_str(text);
        }
        Ok(())
    }

    /// Whether what is shown here goes on where a letter ended.
    fn goes_on_at(&self, start: &End) -> bool {
        let ends_with_letter = self.text.chars().next_back().is_some_and(|last| !last.is_whitespace());
        ends_with_letter && self.end.is_some_and(|end| end.distance(start) < BLANK * start.size)
    }

    /// Makes space between the letters of the last string blanks, if what comes next goes on at the last letter and not behind its space.
    fn settle_gaps(&mut self, start: &End) {
        let goes_on = |(letter, end): (End, End)| {
            let distance = letter.distance(start);
            distance < BLANK * start.size && distance < end.distance(start)
        };
        if self.letter_end.zip(self.end).is_some_and(goes_on) {
            for &gap in self.gaps.iter().rev() {
                if self.text.is_char_boundary(gap) {
                    self.text.insert(gap, ' ');
                }
            }
        }
        self.gaps.clear();
    }

    /// Ends the line, unless a word goes on in the next one.
    fn break_line(&mut self, next: &str) {
        let line = self.text.trim_end_matches(' ').len();
        let mut before = self.text[..line].chars().rev();
        let (last, letter) = (before.next(), before.next());
        let is_soft = last == Some('\u{ad}');
        let is_hyphen = matches!(last, Some('-' | '\u{2010}'));
        let (in_word, goes_on) =
            (letter.is_some_and(char::is_alphabetic), next.chars().next().is_some_and(char::is_lowercase));
        if is_soft || is_hyphen && in_word && goes_on {
            self.text.truncate(line - last.map_or(0, char::len_utf8));
        } else {
            self.end_line();
        }
    }
}

/// The operators of one stream, or several one after the other.
struct Run<'a> {
    resources: &'a Dict,
    state: State,
    saved: Vec<State>,
    line: Matrix,
    text: Matrix,
    operands: Vec<Object>,
    parts: usize,
    /// Of the string before.
    last_spacing: f64,
    /// By the names that the resources have for them.
    fonts: HashMap<Rc<[u8]>, Rc<Font>>,
}

impl<'a> Run<'a> {
    fn new(resources: &'a Dict, page: Matrix) -> Self {
        Self {
            resources,
            state: State { page, ..State::new() },
            saved: Vec::new(),
            line: UNIT,
            text: UNIT,
            operands: Vec::new(),
            parts: 0,
            last_spacing: 0.0,
            fonts: HashMap::new(),
        }
    }

    fn operators(
        &mut self,
        writer: &mut Writer,
        file: &mut File<'_>,
        data: &[u8],
        depth: usize,
    ) -> Result<(), Problem> {
        let mut lexer = Lexer::of_contents(data);
        loop {
            match lexer.token() {
                None if lexer.at >= data.len() => return Ok(()),
                None => {
                    return Err(super::file::damaged(
                        "an object on a page is too deep, or has too many parts",
                    ));
                }
                Some(Token::Object(object)) => {
                    self.parts += lexer.parts;
                    if self.operands.len() >= OPERANDS || self.parts > PARTS {
                        self.operands.clear();
                        self.parts = lexer.parts;
                    }
                    self.operands.push(object);
                }
                Some(Token::Word(b"ID")) => {
                    skip_picture(&mut lexer);
                    writer.pictures += 1;
                    self.operands.clear();
                }
                Some(Token::Word(operator)) => {
                    self.operator(writer, file, operator, depth)?;
                    self.operands.clear();
                    self.parts = 0;
                }
            }
        }
    }

    /// An operand as a number, counted from 0; 0 if it is none.
    fn number(&self, n: usize) -> f64 {
        self.operands.get(n).and_then(Object::number).unwrap_or(0.0)
    }

    fn matrix(&self) -> Matrix {
        std::array::from_fn(|n| self.number(n))
    }

    fn operator(
        &mut self,
        writer: &mut Writer,
        file: &mut File<'_>,
        operator: &[u8],
        depth: usize,
    ) -> Result<(), Problem> {
        match operator {
            b"q" if self.saved.len() < STATES => self.saved.push(self.state.clone()),
            b"Q" => {
                if let Some(state) = self.saved.pop() {
                    self.state = state;
                }
            }
            b"cm" => self.state.page = after(&self.matrix(), &self.state.page),
            b"BT" => (self.line, self.text) = (UNIT, UNIT),
            b"Tm" => self.start_line(self.matrix()),
            b"Td" => self.start_line(moved(self.number(0), self.number(1), &self.line)),
            b"TD" => {
                self.state.leading = -self.number(1);
                self.start_line(moved(self.number(0), self.number(1), &self.line));
            }
            b"T*" => self.next_line(),
            b"TL" => self.state.leading = self.number(0),
            b"Tc" => self.state.spacing = self.number(0),
            b"Tw" => self.state.blank_spacing = self.number(0),
            b"Tz" => self.state.stretch = self.number(0) / 100.0,
            b"Ts" => self.state.rise = self.number(0),
            b"Tf" => {
                self.state.size = self.number(1);
                let Some(Object::Name(name)) = self.operands.first() else { return Ok(()) };
                let name = Rc::clone(name);
                let font = match self.fonts.get(&name) {
                    Some(font) => Rc::clone(font),
                    None => {
                        let fonts = file.get(self.resources, "Font")?;
                        let object = fonts.dict().and_then(|fonts| fonts.get(&name)).cloned();
                        let font = writer.font(file, &object.unwrap_or(Object::Null))?;
                        if self.fonts.len() > 256 {
                            self.fonts.clear();
                        }
                        self.fonts.insert(name, Rc::clone(&font));
                        font
                    }
                };
                self.state.font = Some(font);
            }
            b"Tj" => self.show_operand(writer, 0)?,
            b"'" => {
                self.next_line();
                self.show_operand(writer, 0)?;
            }
            b"\"" => {
                (self.state.blank_spacing, self.state.spacing) = (self.number(0), self.number(1));
                self.next_line();
                self.show_operand(writer, 2)?;
            }
            b"TJ" => {
                let Some(Object::Array(array)) = self.operands.first() else { return Ok(()) };
                for item in Rc::clone(array).iter() {
                    match item {
                        Object::String(string) => self.show(writer, string)?,
                        Object::Number(number) => {
                            self.text = moved(
                                -number / 1000.0 * self.state.size * self.state.stretch,
                                0.0,
                                &self.text,
                            );
                        }
                        _ => {}
                    }
                }
            }
            b"Do" => {
                let Some(Object::Name(name)) = self.operands.first() else { return Ok(()) };
                let objects = file.get(self.resources, "XObject")?;
                let object =
                    objects.dict().and_then(|objects| objects.get(name)).cloned().unwrap_or(Object::Null);
                let Object::Stream(stream) = file.resolve(&object)? else { return Ok(()) };
                let kind = file.get(&stream.dict, "Subtype")?;
                if kind.is("Image") {
                    writer.pictures += 1;
                } else if kind.is("Form") && depth < DEEPEST {
                    let data = file.decoded(&stream)?;
                    let matrix = file.get(&stream.dict, "Matrix")?;
                    let matrix = matrix
                        .array()
                        .filter(|matrix| matrix.len() == 6)
                        .map_or(UNIT, |matrix| std::array::from_fn(|n| matrix[n].number().unwrap_or(0.0)));
                    let own = file.get(&stream.dict, "Resources")?;
                    let resources = own.dict().map_or(self.resources, |own| &**own);
                    let mut run = Run::new(resources, after(&matrix, &self.state.page));
                    run.operators(writer, file, &data, depth + 1)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn start_line(&mut self, matrix: Matrix) {
        (self.line, self.text) = (matrix, matrix);
    }

    fn next_line(&mut self) {
        self.start_line(moved(0.0, -self.state.leading, &self.line));
    }

    fn show_operand(&mut self, writer: &mut Writer, n: usize) -> Result<(), Problem> {
        match self.operands.get(n) {
            Some(Object::String(string)) => self.show(writer, &Rc::clone(string)),
            _ => Ok(()),
        }
    }

    fn show(&mut self, writer: &mut Writer, string: &[u8]) -> Result<(), Problem> {
        let Some(font) = self.state.font.clone() else { return Ok(()) };
        let State { size, spacing, blank_spacing, stretch, rise, .. } = self.state;
        let mut rest = string;
        let mut apart = false;
        while let Some((shown, length)) = font.next(rest) {
            let is_first = rest.len() == string.len();
            rest = &rest[length..];
            let seen = after(&moved(0.0, rise, &self.text), &self.state.page);
            let [along, size_on_page] = [(seen[0], seen[1]), (seen[2], seen[3])].map(|(x, y)| x.hypot(y));
            let direction = if along > 0.0 { (seen[0] / along, seen[1] / along) } else { (1.0, 0.0) };
            let width = shown.width * size * stretch;
            let start = End {
                x: seen[4],
                y: seen[5],
                direction,
                size: size_on_page * size.abs(),
                width: width.abs() * along,
            };
            if is_first {
                writer.settle_gaps(&start);
                apart = string.len() <= SINGLE_LETTERS
                    && spacing != self.last_spacing
                    && writer.goes_on_at(&start);
            } else if !apart
                && spacing * stretch * along > BLANK * start.size
                && shown.text.as_deref() != Some(" ")
            {
                writer.gaps.push(writer.text.len());
            }
            let more = spacing + if shown.is_blank { blank_spacing } else { 0.0 };
            let text = shown.text.as_deref();
            // Ghostscript writes kerning as a blank that has hardly any width.
            let is_kerning = text == Some(" ") && width + more * stretch < 0.1 * size.abs() && width > 0.0;
            let text = if is_kerning { Some("") } else { text };
            match text {
                Some("" | " ") => {}
                Some(_) => writer.known += 1,
                None => writer.unknown += 1,
            }
            writer.put(text.unwrap_or(" "), start)?;
            self.text = moved(width + more * stretch, 0.0, &self.text);
            // Space between letters is part of them, however wide, but where Ghostscript writes it for blanks that are as wide as each
            // other, as in "leave(s a s)cent": there a letter before it or behind it has none.
            let end = |back: f64| {
                let end = moved(back, 0.0, &UNIT);
                let seen = after(&after(&moved(0.0, rise, &end), &self.text), &self.state.page);
                End { x: seen[4], y: seen[5], ..start }
            };
            let letter_end = end(-more * stretch);
            writer.letter_end = Some(letter_end);
            writer.end = Some(if apart { letter_end } else { end(0.0) });
        }
        self.last_spacing = spacing;
        Ok(())
    }
}

/// Passes the bytes of a picture within a page: up to `EI` between blanks.
fn skip_picture(lexer: &mut Lexer<'_>) {
    let rest = lexer.bytes.get(lexer.at..).unwrap_or_default();
    let end = rest.windows(4).position(|part| {
        let blank = super::object::is_blank;
        blank(part[0]) && &part[1..3] == b"EI" && blank(part[3])
    });
    lexer.at += end.map_or(rest.len(), |end| end + 4);
}
