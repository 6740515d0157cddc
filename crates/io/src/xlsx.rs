//! Workbooks as Excel writes them: ISO/IEC 29500, part 1, SpreadsheetML.

use std::collections::HashMap;
use std::io::{Read, Seek};

use html5gum::Token;

use crate::calendar::calendar;
use crate::error::Problem;
use crate::workbook::{Cells, Members, ROWS, Sheet, Tokens, attribute, damaged};

/// What all sheets share.
pub(crate) struct Book {
    pub(crate) sheets: Vec<Named>,
    strings: Strings,
    /// Of each style of cells whether its numbers are dates.
    dates: Vec<bool>,
    /// Whether days count from 1904.
    from_1904: bool,
}

/// A sheet, and the file that it is.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) is_hidden: bool,
    pub(crate) member: String,
}

#[derive(Default)]
struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    fn get(&self, index: usize) -> Option<&str> {
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start..*self.ends.get(index)?)
    }
}

/// A name without its prefix: some programs write `x:row`.
fn local(name: &[u8]) -> &[u8] {
    name.rsplit(|byte| *byte == b':').next().unwrap_or(name)
}

impl Book {
    pub(crate) fn read<R: Read + Seek>(members: &mut Members<'_, R>) -> Result<Self, Problem> {
        let (mut listed, mut from_1904) = (Vec::new(), false);
        let mut tokens = members.tokens("xl/workbook.xml")?;
        while let Some(token) = tokens.next()? {
            let Token::StartTag(tag) = token else { continue };
            match local(&tag.name) {
                b"workbookpr" => {
                    from_1904 = attribute(&tag, "date1904").is_some_and(|value| is_true(&value));
                }
                b"sheet" => {
                    let is_hidden = attribute(&tag, "state").is_some_and(|state| state != "visible");
                    let id =
                        tag.attributes.iter().find(|(name, _)| name.contains(&b':') && local(name) == b"id");
                    let id = id.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
                    listed.push((attribute(&tag, "name").unwrap_or_default().into_owned(), is_hidden, id));
                }
                _ => {}
            }
        }
        drop(tokens);
        let mut targets = HashMap::new();
        let (mut strings, mut styles) = (None, None);
        let mut tokens = members.tokens("xl/_rels/workbook.xml.rels")?;
        while let Some(token) = tokens.next()? {
            let Token::StartTag(tag) = token else { continue };
            let target = attribute(&tag, "target").unwrap_or_default();
            // Beside the workbook, unless it begins with a slash.
            let target = target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), str::to_owned);
            let kind = attribute(&tag, "type").unwrap_or_default();
            match kind.rsplit('/').next() {
                Some("sharedStrings") => strings = Some(target),
                Some("styles") => styles = Some(target),
                Some("worksheet") => {
                    _ = targets.insert(attribute(&tag, "id").unwrap_or_default().into_owned(), target);
                }
                _ => {}
            }
        }
        drop(tokens);
        let sheets = listed.into_iter().filter_map(|(name, is_hidden, id)| {
            let member = targets.get(&id?)?.clone(); // a sheet that is a chart has none
            Some(Named { name, is_hidden, member })
        });
        let sheets = sheets.collect();
        let strings = match strings {
            Some(name) => shared_strings(members.tokens(&name)?)?,
            None => Strings::default(),
        };
        let dates = match styles {
            Some(name) => date_styles(members.tokens(&name)?)?,
            None => Vec::new(),
        };
        Ok(Self { sheets, strings, dates, from_1904 })
    }
}

fn is_true(value: &str) -> bool {
    matches!(value, "1" | "true" | "on")
}

fn shared_strings(mut tokens: Tokens<impl Read>) -> Result<Strings, Problem> {
    let mut strings = Strings::default();
    let (mut in_text, mut phonetic) = (false, 0usize);
    while let Some(token) = tokens.next()? {
        match token {
            Token::StartTag(tag) => match local(&tag.name) {
                b"si" if tag.self_closing => strings.ends.push(strings.text.len()),
                b"t" => in_text = !tag.self_closing && phonetic == 0,
                b"rph" if !tag.self_closing => phonetic += 1,
                _ => {}
            },
            Token::EndTag(tag) => match local(&tag.name) {
                b"si" => strings.ends.push(strings.text.len()),
                b"t" => in_text = false,
                b"rph" => phonetic = phonetic.saturating_sub(1),
                _ => {}
            },
            Token::String(text) if in_text => {
                strings.text.push_str(&unescaped(&String::from_utf8_lossy(&text)))
            }
            _ => {}
        }
    }
    Ok(strings)
}

/// Of each style of cells whether it shows numbers as dates.
fn date_styles(mut tokens: Tokens<impl Read>) -> Result<Vec<bool>, Problem> {
    let (mut codes, mut dates, mut in_cells) = (HashMap::new(), Vec::new(), false);
    while let Some(token) = tokens.next()? {
        match token {
            Token::StartTag(tag) => match local(&tag.name) {
                b"numfmt" => {
                    let id = attribute(&tag, "numfmtid").and_then(|id| id.parse::<u32>().ok());
                    let code = attribute(&tag, "formatcode").unwrap_or_default();
                    codes.extend(id.map(|id| (id, is_date(&code))));
                }
                b"cellxfs" => in_cells = !tag.self_closing,
                b"xf" if in_cells => {
                    let id = attribute(&tag, "numfmtid").and_then(|id| id.parse::<u32>().ok()).unwrap_or(0);
                    // Those that all programs have, dates of East Asia with them (18.8.30).
                    let built_in = matches!(id, 14..=17 | 22 | 27..=31 | 36 | 50..=54 | 57 | 58);
                    dates.push(codes.get(&id).copied().unwrap_or(built_in));
                }
                _ => {}
            },
            Token::EndTag(tag) if local(&tag.name) == b"cellxfs" => in_cells = false,
            _ => {}
        }
    }
    Ok(dates)
}

/// Whether a code for showing numbers has a year or a day, outside of quotes and brackets.
fn is_date(code: &str) -> bool {
    let (mut quoted, mut bracketed, mut escaped) = (false, false, false);
    for letter in code.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' | '_' | '*' if !quoted => escaped = true, // the next is a literal, a width or a filling
            '"' if !bracketed => quoted = !quoted,
            '[' if !quoted => bracketed = true,
            ']' if !quoted => bracketed = false,
            'y' | 'Y' | 'd' | 'D' if !quoted && !bracketed => return true,
            _ => {}
        }
    }
    false
}

/// Undoes `_x000D_`, which stands for a character that XML cannot have.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        let code = rest.get(at + 2..at + 6).filter(|_| rest.get(at + 6..at + 7) == Some("_"));
        let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let letter = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        match letter {
            Some(letter) => {
                out.push_str(&rest[..at]);
                out.push(letter);
                rest = &rest[at + 7..];
            }
            None => {
                out.push_str(&rest[..at + 2]);
                rest = &rest[at + 2..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The rows of a sheet.
pub(crate) struct Rows<'a, R: Read> {
    tokens: Tokens<R>,
    book: &'a Book,
    limit: usize,
    row: u64,
    value: String,
}

impl<'a, R: Read> Rows<'a, R> {
    pub(crate) fn new(tokens: Tokens<R>, book: &'a Book, limit: usize) -> Self {
        Self { tokens, book, limit, row: 0, value: String::new() }
    }

    /// Puts the value of a cell of this type and style.
    fn put(&self, column: usize, kind: &str, style: usize, cells: &mut Cells) -> Result<(), Problem> {
        let value = self.value.as_str();
        let text = match kind {
            "s" => {
                let string = value.trim().parse().ok().and_then(|index| self.book.strings.get(index));
                let unknown = || damaged(&format_args!("no shared string {}", crate::error::excerpt(value)));
                return cells.put(column, string.ok_or_else(unknown)?).map_err(|what| damaged(&what));
            }
            "b" => (if is_true(value.trim()) { "true" } else { "false" }).to_owned(),
            "str" | "inlineStr" => unescaped(value),
            "e" | "d" => value.trim().to_owned(),
            _ => match value.trim().parse::<f64>() {
                Ok(number) if self.book.dates.get(style) == Some(&true) => {
                    date(number, self.book.from_1904).unwrap_or_else(|| number.to_string())
                }
                Ok(number) if number.is_finite() => number.to_string(),
                _ => value.trim().to_owned(),
            },
        };
        let text = if value.is_empty() { "" } else { &text };
        cells.put(column, text).map_err(|what| damaged(&what))
    }
}

impl<R: Read> Sheet for Rows<'_, R> {
    fn next_row(&mut self, cells: &mut Cells) -> Result<Option<u64>, Problem> {
        let (mut in_row, mut in_value, mut phonetic) = (false, false, 0usize);
        let (mut column, mut kind, mut style) = (0, String::new(), 0);
        while let Some(token) = self.tokens.next()? {
            match token {
                Token::StartTag(tag) => match local(&tag.name) {
                    b"row" => {
                        let number = attribute(&tag, "r").and_then(|number| number.trim().parse().ok());
                        let number = number.unwrap_or(self.row + 1);
                        if number <= self.row || number > ROWS {
                            return Err(damaged(&format_args!("row {number} after row {}", self.row)));
                        }
                        self.row = number;
                        cells.clear();
                        if tag.self_closing {
                            return Ok(Some(number));
                        }
                        (in_row, column) = (true, 0);
                    }
                    b"c" if in_row => {
                        if let Some(place) = attribute(&tag, "r") {
                            column = column_of(&place).ok_or_else(|| {
                                damaged(&format_args!("a cell called {}", crate::error::excerpt(&place)))
                            })?;
                        }
                        kind = attribute(&tag, "t").unwrap_or_default().into_owned();
                        style = attribute(&tag, "s").and_then(|style| style.parse().ok()).unwrap_or(0);
                        self.value.clear();
                        column += usize::from(tag.self_closing);
                    }
                    b"v" | b"t" if in_row => in_value = !tag.self_closing && phonetic == 0,
                    b"rph" if !tag.self_closing => phonetic += 1,
                    _ => {}
                },
                Token::EndTag(tag) => match local(&tag.name) {
                    b"v" | b"t" => in_value = false,
                    b"rph" => phonetic = phonetic.saturating_sub(1),
                    b"c" if in_row => {
                        self.put(column, &kind, style, cells)?;
                        column += 1;
                    }
                    b"row" if in_row => return Ok(Some(self.row)),
                    b"sheetdata" => break,
                    _ => {}
                },
                Token::String(text) if in_value => self.value.push_str(&String::from_utf8_lossy(&text)),
                _ => {}
            }
            if self.value.len().max(cells.bytes()) > self.limit {
                return Err(Problem::TooLong { limit: self.limit });
            }
        }
        if in_row { Err(damaged(&"a row has no end")) } else { Ok(None) }
    }
}

/// The column of a cell called `AB12`, from 0.
fn column_of(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters
        .take(4)
        .fold(0, |number, letter| number * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    number.checked_sub(1)
}

/// A number of days as a date of ISO 8601, with its time if it has one. Days count from 1900 as if that had been a leap year.
fn date(days: f64, from_1904: bool) -> Option<String> {
    let seconds = (days * 86_400.0).round();
    if !(0.0..2_958_466.0 * 86_400.0).contains(&seconds) {
        return None;
    }
    let (day, second) = (seconds as i64 / 86_400, seconds as i64 % 86_400);
    // Days before 1970-01-01.
    let day = match (from_1904, day) {
        (true, day) => day - 24_107,
        (false, 0..=59) => day - 25_568,
        (false, day) => day - 25_569,
    };
    let (year, month, day) = calendar(day);
    let time = format!("T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    Some(format!("{year:04}-{month:02}-{day:02}{}", if second == 0 { "" } else { &time }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (days, from_1904, expected) in [
            (1.0, false, "1900-01-01"),
            (59.0, false, "1900-02-28"),
            (61.0, false, "1900-03-01"),
            (45_413.0, false, "2024-05-01"),
            (45_413.520_833_333_336, false, "2024-05-01T12:30:00"),
            (43_951.0, true, "2024-05-01"),
            (2_958_465.0, false, "9999-12-31"),
        ] {
            assert_eq!(date(days, from_1904).as_deref(), Some(expected), "{days}");
        }
        for days in [-1.0, f64::NAN, f64::INFINITY, 1e300, 2_958_466.0] {
            assert_eq!(date(days, false), None);
        }
    }

    #[test]
    fn codes_of_dates() {
        for code in [
            "yyyy-mm-dd",
            "d/m/yy h:mm",
            "[$-409]mmm\\-yy;@",
            "m/d",
            "\"on \"dddd",
            "\"\\\"d",   // a backslash in quotes,
            "\"[\"d",    // a bracket in quotes,
            "[\"]d\"\"", // and a quote in brackets
        ] {
            assert!(is_date(code), "{code}");
        }
        for code in ["General", "0.00", "#,##0 \"days\"", "[Red]0", "0_d", "0\\d", "[h]:mm", "h:mm:ss", "@"] {
            assert!(!is_date(code), "{code}");
        }
    }

    #[test]
    fn columns_and_escapes() {
        assert_eq!(
            ["A1", "Z9", "AA1", "XFD1048576", "1", ""].map(column_of),
            [Some(0), Some(25), Some(26), Some(16_383), None, None]
        );
        assert_eq!(unescaped("a_x000D_\nb_x_xD800__x00e9_c_x12"), "a\r\nb_x_xD800_\u{e9}c_x12");
    }
}
