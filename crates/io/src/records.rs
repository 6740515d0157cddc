//! JSON values of a file: one a line, or those of an array.

use std::io::BufRead;
use std::path::Path;

use crate::error::{Problem, ReadError};
use crate::source::{Lines, problem_of};

/// The texts of JSON values, one after the other, of which memory holds one.
pub(crate) enum Records<'a, R> {
    Lines(Lines<'a, R>),
    Array(Array<'a, R>),
}

impl<'a, R: BufRead> Records<'a, R> {
    /// An array is told by its bracket. A value has at most `limit` bytes.
    pub(crate) fn new(mut reader: R, file: &'a Path, limit: usize) -> Result<Self, ReadError> {
        let head = reader.fill_buf().map_err(|error| ReadError::new(file, Some(1), problem_of(error)))?;
        let mark = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        if head[mark..].trim_ascii_start().first() != Some(&b'[') {
            return Ok(Self::Lines(Lines::new(reader, file, limit)));
        }
        reader.consume(mark);
        let buffer = Vec::new();
        let mut array = Array {
            reader,
            file,
            limit,
            buffer,
            line: 1,
            is_line_end: false,
            byte: mark as u64,
            before: Before::First,
        };
        array.beyond_space()?;
        array.take()?; // the bracket
        Ok(Self::Array(array))
    }

    /// The next value and the line on which it begins; of a file of lines perhaps a blank one.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &str)>, ReadError> {
        match self {
            Self::Array(array) => array.next(),
            Self::Lines(lines) => {
                let number = lines.line() + 1;
                Ok(lines.next()?.map(|line| (number, line.trim())))
            }
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The elements of an array, cut at the commas and brackets that are in no string and no other bracket. Whether each is JSON is for the
/// parser to say.
pub(crate) struct Array<'a, R> {
    reader: R,
    file: &'a Path,
    limit: usize,
    buffer: Vec<u8>,
    /// Of the byte read last, from 1, and whether it ended it.
    line: u64,
    is_line_end: bool,
    /// Bytes read.
    byte: u64,
    before: Before,
}

/// What is read next.
enum Before {
    /// An element or the end.
    First,
    /// An element.
    Element,
    /// White space only.
    End,
}

impl<R: BufRead> Array<'_, R> {
    fn next(&mut self) -> Result<Option<(u64, &str)>, ReadError> {
        let first = self.beyond_space()?;
        match (&self.before, first) {
            (Before::End, None) => return Ok(None),
            (Before::End, Some(_)) => return Err(self.wrong_next("something after the end of the array")),
            (Before::First, Some(b']')) => {
                self.take()?;
                self.before = Before::End;
                return self.next();
            }
            (Before::Element, Some(b']')) => return Err(self.wrong_next("no element after a comma")),
            (_, Some(b',')) => return Err(self.wrong_next("no element before a comma")),
            (_, Some(_)) => {}
            (_, None) => return Err(self.wrong("the array has no end")),
        }
        let (line, start) = (self.next_line(), self.byte);
        self.element()?;
        let text = self.buffer.trim_ascii_end();
        match std::str::from_utf8(text) {
            Ok(text) => Ok(Some((line, text))),
            Err(error) => {
                let byte = start + error.valid_up_to() as u64;
                Err(ReadError::new(self.file, Some(line), Problem::NotUtf8 { byte }))
            }
        }
    }

    /// Takes an element into the buffer, and the comma or bracket behind it.
    fn element(&mut self) -> Result<(), ReadError> {
        self.buffer.clear();
        let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
        while let Some(byte) = self.take()? {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_string => is_escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'[' | b'{' => depth += 1,
                b',' if depth == 0 => {
                    self.before = Before::Element;
                    return Ok(());
                }
                b']' if depth == 0 => {
                    self.before = Before::End;
                    return Ok(());
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if self.buffer.len() == self.limit {
                return Err(self.error(Problem::TooLong { limit: self.limit }));
            }
            self.buffer.push(byte);
        }
        Err(self.wrong("the array has no end"))
    }

    /// The next byte that is no white space, not taken.
    fn beyond_space(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            match self.peek()? {
                Some(byte) if byte.is_ascii_whitespace() => _ = self.take()?,
                found => return Ok(found),
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        match self.reader.fill_buf() {
            Ok(bytes) => Ok(bytes.first().copied()),
            Err(error) => Err(ReadError::new(self.file, Some(self.line), problem_of(error))),
        }
    }

    fn take(&mut self) -> Result<Option<u8>, ReadError> {
        let found = self.peek()?;
        if let Some(byte) = found {
            self.reader.consume(1);
            self.byte += 1;
            self.line = self.next_line();
            self.is_line_end = byte == b'\n';
        }
        Ok(found)
    }

    /// The line of the byte that is read next, if there is one.
    fn next_line(&self) -> u64 {
        self.line + u64::from(self.is_line_end)
    }

    fn error(&self, problem: Problem) -> ReadError {
        ReadError::new(self.file, Some(self.line), problem)
    }

    fn wrong_next(&self, what: &str) -> ReadError {
        ReadError::new(self.file, Some(self.next_line()), Problem::Json { what: what.to_owned() })
    }

    fn wrong(&self, what: &str) -> ReadError {
        self.error(Problem::Json { what: what.to_owned() })
    }
}
