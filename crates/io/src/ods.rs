//! Workbooks as LibreOffice writes them: Open Document 1.3, part 3, section 9.

use std::collections::HashSet;
use std::io::Read;
use std::mem;

use html5gum::{StartTag, Token};

use crate::error::Problem;
use crate::workbook::{COLUMNS, Cells, ROWS, Sheet, Tokens, attribute, damaged};

/// The tables of a workbook, one after the other, and the rows of the one that it has come to.
pub(crate) struct Tables<R: Read> {
    tokens: Tokens<R>,
    limit: usize,
    row: u64,
    /// How often the row that was read last comes again.
    again: u64,
    in_table: bool,
    /// The style that is being described, and those of tables that are not shown.
    style: String,
    hidden: HashSet<String>,
    value: String,
}

impl<R: Read> Tables<R> {
    pub(crate) fn new(tokens: Tokens<R>, limit: usize) -> Self {
        Self {
            tokens,
            limit,
            row: 0,
            again: 0,
            in_table: false,
            style: String::new(),
            hidden: HashSet::new(),
            value: String::new(),
        }
    }

    /// Goes on to the next table, and returns its name and whether it is hidden.
    pub(crate) fn next_table(&mut self) -> Result<Option<(String, bool)>, Problem> {
        (self.row, self.again) = (0, 0);
        while let Some(token) = self.tokens.next()? {
            let Token::StartTag(tag) = token else { continue };
            match &tag.name[..] {
                b"style:style" => self.style = attribute(&tag, "style:name").unwrap_or_default().into_owned(),
                b"style:table-properties"
                    if attribute(&tag, "table:display").is_some_and(|is| is == "false") =>
                {
                    self.hidden.insert(mem::take(&mut self.style));
                }
                b"table:table" if !tag.self_closing => {
                    self.in_table = true;
                    let name = attribute(&tag, "table:name").unwrap_or_default().into_owned();
                    let style = attribute(&tag, "table:style-name").unwrap_or_default();
                    return Ok(Some((name, self.hidden.contains(&*style))));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The text of a cell, up to its end: a value, or else paragraphs.
    fn cell(&mut self, tag: &StartTag<()>) -> Result<(), Problem> {
        self.value.clear();
        let kind = attribute(tag, "office:value-type").unwrap_or_default();
        let value = match &kind[..] {
            "float" | "currency" | "percentage" => attribute(tag, "office:value"),
            "date" => attribute(tag, "office:date-value"),
            "boolean" => attribute(tag, "office:boolean-value"),
            _ => None,
        };
        let (mut paragraphs, mut in_paragraph, mut left_out) = (0usize, 0usize, 0usize);
        if !tag.self_closing {
            loop {
                let Some(token) = self.tokens.next()? else { return Err(damaged(&"a cell has no end")) };
                match token {
                    Token::StartTag(tag) if is_beside(&tag.name) => {
                        left_out += usize::from(!tag.self_closing)
                    }
                    Token::EndTag(tag) if is_beside(&tag.name) => left_out = left_out.saturating_sub(1),
                    Token::EndTag(tag) if left_out == 0 && is_cell(&tag.name) => break,
                    _ if left_out > 0 => {}
                    Token::StartTag(tag) => match &tag.name[..] {
                        b"text:p" | b"text:h" => {
                            if paragraphs > 0 {
                                self.value.push('\n');
                            }
                            paragraphs += 1;
                            in_paragraph += usize::from(!tag.self_closing);
                        }
                        b"text:s" => {
                            let blanks = attribute(&tag, "text:c").and_then(|blanks| blanks.parse().ok());
                            let most = self.limit.saturating_sub(self.value.len()).saturating_add(1);
                            self.value.extend(std::iter::repeat_n(' ', blanks.unwrap_or(1).min(most)));
                        }
                        b"text:tab" => self.value.push('\t'),
                        b"text:line-break" => self.value.push('\n'),
                        _ => {}
                    },
                    Token::EndTag(tag) => match &tag.name[..] {
                        b"text:p" | b"text:h" => in_paragraph = in_paragraph.saturating_sub(1),
                        _ => {}
                    },
                    Token::String(text) if in_paragraph > 0 => {
                        self.value.push_str(&String::from_utf8_lossy(&text));
                    }
                    _ => {}
                }
                if self.value.len() > self.limit {
                    return Err(Problem::TooLong { limit: self.limit });
                }
            }
        }
        if let Some(value) = value {
            self.value.clear();
            self.value.push_str(value.trim().strip_suffix("T00:00:00").unwrap_or(value.trim()));
        }
        Ok(())
    }
}

fn is_cell(name: &[u8]) -> bool {
    matches!(name, b"table:table-cell" | b"table:covered-table-cell")
}

/// What is in a cell or beside cells, and no content: notes, pictures and shapes, and changes that were tracked.
fn is_beside(name: &[u8]) -> bool {
    name.starts_with(b"draw:")
        || matches!(name, b"office:annotation" | b"table:shapes" | b"table:tracked-changes")
}

/// How often what this tag begins comes, at most `most` times.
fn times(tag: &StartTag<()>, name: &str, most: u64) -> u64 {
    attribute(tag, name).and_then(|times| times.trim().parse().ok()).unwrap_or(1).clamp(1, most)
}

impl<R: Read> Sheet for Tables<R> {
    fn next_row(&mut self, cells: &mut Cells) -> Result<Option<u64>, Problem> {
        if self.again > 0 {
            self.again -= 1;
            self.row += 1;
            return Ok(Some(self.row));
        }
        let (mut in_row, mut column, mut repeats, mut left_out) = (false, 0usize, 1, 0usize);
        while self.in_table {
            let Some(token) = self.tokens.next()? else { return Err(damaged(&"a table has no end")) };
            match token {
                Token::StartTag(tag) if is_beside(&tag.name) => left_out += usize::from(!tag.self_closing),
                Token::EndTag(tag) if is_beside(&tag.name) => left_out = left_out.saturating_sub(1),
                _ if left_out > 0 => {}
                Token::StartTag(tag) => match &tag.name[..] {
                    b"table:table-row" => {
                        (in_row, column) = (!tag.self_closing, 0);
                        repeats = times(&tag, "table:number-rows-repeated", ROWS);
                        cells.clear();
                        if tag.self_closing {
                            self.row += repeats;
                        }
                    }
                    name if in_row && is_cell(name) => {
                        let times = times(&tag, "table:number-columns-repeated", COLUMNS as u64) as usize;
                        self.cell(&tag)?;
                        if !self.value.is_empty() {
                            for column in column..column.saturating_add(times) {
                                cells.put(column, &self.value).map_err(|what| damaged(&what))?;
                                if cells.bytes() > self.limit {
                                    return Err(Problem::TooLong { limit: self.limit });
                                }
                            }
                        }
                        column = column.saturating_add(times);
                    }
                    _ => {}
                },
                Token::EndTag(tag) => match &tag.name[..] {
                    b"table:table-row" if in_row && cells.is_empty() => {
                        (in_row, self.row) = (false, self.row.saturating_add(repeats));
                    }
                    b"table:table-row" if in_row => {
                        self.row += 1;
                        if self.row.saturating_add(repeats - 1) > ROWS {
                            return Err(damaged(&format_args!("more than {ROWS} rows")));
                        }
                        self.again = repeats - 1;
                        return Ok(Some(self.row));
                    }
                    b"table:table" => self.in_table = false,
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(None)
    }
}
