//! Arrays of NumPy: a header, and elements one after the other, of which none but the next is in memory.

use std::fmt;
use std::io::{self, Read};

use crate::error::{Problem, excerpt};
use crate::source::problem_of;

/// What an array begins with.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes that a header has at most. NumPy itself reads no more than 10,000 of one that it does not trust.
const HEADER: usize = 64 << 10;

/// An array that is being read.
pub(crate) struct Array<R> {
    name: String,
    reader: R,
    kind: Kind,
    /// Its extents, the outermost first.
    pub(crate) shape: Vec<u64>,
    /// Whether the first index is the fastest.
    pub(crate) is_fortran: bool,
    elements: u64,
    next: u64,
}

/// An element.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(number) => number.fmt(f),
            Self::Unsigned(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

impl Number {
    /// As a count: finite, zero or above.
    fn count(self) -> Option<f64> {
        let count = match self {
            Self::Signed(number) => number as f64,
            Self::Unsigned(number) => number as f64,
            Self::Float(number) => number,
        };
        Some(count).filter(|count| *count >= 0.0 && count.is_finite())
    }

    fn index(self) -> Option<u64> {
        match self {
            Self::Signed(number) => u64::try_from(number).ok(),
            Self::Unsigned(number) => Some(number),
            Self::Float(_) => None,
        }
    }
}

/// How elements are written.
#[derive(Clone, Copy)]
struct Kind {
    letter: u8, // as in NumPy: `b`, `i`, `u`, `f`
    bytes: usize,
    is_big_endian: bool,
}

impl Kind {
    /// That of a description such as `<f8`; none of what is no number.
    fn from_description(description: &str) -> Option<Self> {
        let (order, rest) = description.split_at_checked(1)?;
        let (letter, bytes) = rest.split_at_checked(1)?;
        let (letter, bytes) = (letter.bytes().next()?, bytes.parse().ok()?);
        let is_known = match letter {
            b'b' => bytes == 1,
            b'i' | b'u' => matches!(bytes, 1 | 2 | 4 | 8),
            b'f' => matches!(bytes, 4 | 8),
            _ => false,
        };
        let known = Self { letter, bytes, is_big_endian: order == ">" };
        Some(known).filter(|_| is_known && matches!(order, "<" | ">" | "|"))
    }

    /// The number that these bytes are, as many as an element has.
    fn number(self, bytes: &[u8]) -> Number {
        let mut wide = [0; 8]; // the least first
        wide.iter_mut().zip(bytes).for_each(|(wide, byte)| *wide = *byte);
        if self.is_big_endian {
            wide[..bytes.len().min(8)].reverse();
        }
        let bits = u64::from_le_bytes(wide);
        match (self.letter, self.bytes) {
            (b'f', 4) => Number::Float(f64::from(f32::from_bits(bits as u32))),
            (b'f', _) => Number::Float(f64::from_bits(bits)),
            (b'i', 1) => Number::Signed(i64::from(bits as i8)),
            (b'i', 2) => Number::Signed(i64::from(bits as i16)),
            (b'i', 4) => Number::Signed(i64::from(bits as i32)),
            (b'i', _) => Number::Signed(bits as i64),
            (b'b', _) => Number::Unsigned(u64::from(bits != 0)),
            _ => Number::Unsigned(bits),
        }
    }
}

impl<R: Read> Array<R> {
    /// Reads the header of an array of numbers that is called `name`.
    pub(crate) fn new(name: &str, mut reader: R) -> Result<Self, Problem> {
        let header = header(name, &mut reader)?;
        let (description, is_fortran, shape) =
            fields(&header).ok_or_else(|| damaged(name, &"the header is no dictionary of NumPy"))?;
        let kind = Kind::from_description(&description).ok_or_else(|| Problem::Matrix {
            found: format!("elements of type `{}` in `{}`", excerpt(&description), excerpt(name)),
        })?;
        let elements = shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent));
        let elements = elements.filter(|elements| elements.checked_mul(8).is_some());
        let elements =
            elements.ok_or_else(|| damaged(name, &"the header claims more than can be addressed"))?;
        Ok(Self { name: name.to_owned(), reader, kind, shape, is_fortran, elements, next: 0 })
    }

    /// Of an array of one dimension its length.
    pub(crate) fn length(&self) -> Result<u64, Problem> {
        match self.shape[..] {
            [length] => Ok(length),
            _ => Err(Problem::Matrix { found: self.dimensions() }),
        }
    }

    /// How many dimensions it has, in words.
    pub(crate) fn dimensions(&self) -> String {
        format!("{} dimensions of `{}`", self.shape.len(), excerpt(&self.name))
    }

    fn next(&mut self) -> Result<Number, Problem> {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..self.kind.bytes];
        if self.next == self.elements {
            return Err(damaged(&self.name, &"it has fewer elements than others say"));
        }
        self.reader.read_exact(bytes).map_err(|error| problem(&self.name, error))?;
        self.next += 1;
        Ok(self.kind.number(bytes))
    }

    /// The next element, a count.
    pub(crate) fn next_count(&mut self) -> Result<f64, Problem> {
        let found = self.next()?;
        found.count().ok_or_else(|| self.wrong(found, "a finite number, zero or above,"))
    }

    /// The next element, an integer from `least` to `most`.
    pub(crate) fn next_index(&mut self, least: u64, most: u64) -> Result<u64, Problem> {
        let found = self.next()?;
        let index = found.index().filter(|index| (least..=most).contains(index));
        index.ok_or_else(|| self.wrong(found, &format!("an integer in {least}..={most}")))
    }

    /// About the element read last.
    fn wrong(&self, found: Number, expected: &str) -> Problem {
        let mut place = self.next.saturating_sub(1);
        let mut indices = vec![0; self.shape.len()];
        let fastest_last = indices.iter_mut().zip(&self.shape).rev();
        let mut set = |(index, extent): (&mut u64, &u64)| {
            *index = place % (*extent).max(1);
            place /= (*extent).max(1);
        };
        if self.is_fortran {
            fastest_last.rev().for_each(&mut set)
        } else {
            fastest_last.for_each(&mut set)
        }
        let indices: Vec<String> = indices.iter().map(u64::to_string).collect();
        let element = format!("{}[{}]", excerpt(&self.name), indices.join(", "));
        Problem::Element { element, found: found.to_string(), expected: expected.to_owned() }
    }

    /// Reads to the end, where it is found whether all was whole.
    pub(crate) fn finish(mut self) -> Result<(), Problem> {
        let left = (self.elements - self.next) * self.kind.bytes as u64;
        let passed = io::copy(&mut self.reader.by_ref().take(left), &mut io::sink());
        let passed = passed.map_err(|error| problem(&self.name, error))?;
        let more = self.reader.read(&mut [0]).map_err(|error| problem(&self.name, error))?;
        match (passed == left, more) {
            (true, 0) => Ok(()),
            (true, _) => Err(damaged(&self.name, &"it is longer than its header says")),
            (false, _) => Err(damaged(&self.name, &"it ends too early")),
        }
    }
}

/// The characters of an array of one text.
pub(crate) fn text(name: &str, mut reader: impl Read) -> Result<String, Problem> {
    const BYTES: u64 = 64;
    header(name, &mut reader)?;
    let mut bytes = Vec::new();
    reader.take(BYTES).read_to_end(&mut bytes).map_err(|error| problem(name, error))?;
    // ASCII in one byte, or with zeros in four.
    bytes.retain(|byte| *byte != 0);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The dictionary before the elements.
fn header(name: &str, reader: &mut impl Read) -> Result<String, Problem> {
    let mut read = |bytes: &mut [u8]| reader.read_exact(bytes).map_err(|error| problem(name, error));
    let mut start = [0; 8];
    read(&mut start)?;
    let mut length = [0; 4];
    match start {
        [rest @ .., 1, _] if rest == MAGIC => read(&mut length[..2])?,
        [rest @ .., 2 | 3, _] if rest == MAGIC => read(&mut length)?,
        _ => return Err(damaged(name, &"it does not begin as an array of NumPy does")),
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > HEADER {
        return Err(damaged(name, &format_args!("a header of {length} bytes")));
    }
    let mut header = vec![0; length];
    read(&mut header)?;
    Ok(String::from_utf8_lossy(&header).into_owned())
}

/// What a header says: `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
fn fields(header: &str) -> Option<(String, bool, Vec<u64>)> {
    let (mut description, mut is_fortran, mut shape) = (None, None, None);
    let mut rest = header.trim().strip_prefix('{')?;
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return if after.is_empty() { Some((description?, is_fortran?, shape?)) } else { None };
        }
        let (key, after) = quoted(rest)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        rest = match key {
            "descr" => {
                if value.starts_with('[') {
                    return Some((value.to_owned(), false, Vec::new())); // fields of a record, which are refused
                }
                let (found, after) = quoted(value)?;
                description = Some(found.to_owned());
                after
            }
            "fortran_order" => {
                let (found, after) = value.split_at_checked(value.find([',', '}'])?)?;
                is_fortran = Some(match found.trim() {
                    "True" => true,
                    "False" => false,
                    _ => return None,
                });
                after
            }
            "shape" => {
                let (found, after) = value.strip_prefix('(')?.split_once(')')?;
                let extents = found.split(',').map(str::trim).filter(|extent| !extent.is_empty());
                let extents = extents.map(|extent| extent.trim_end_matches('L').parse().ok()); // `3L` of Python 2
                shape = Some(extents.collect::<Option<Vec<u64>>>()?);
                after
            }
            _ => return None,
        };
    }
}

/// A text in quotes, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    text.get(1..)?.split_once(quote)
}

fn damaged(name: &str, what: &dyn fmt::Display) -> Problem {
    Problem::Damaged { kind: "NPZ", what: format!("`{}`: {what}", excerpt(name)) }
}

/// What is wrong with the file rather than with its place.
fn problem(name: &str, error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged(name, &"it ends too early"),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => damaged(name, &error),
        _ => problem_of(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them() {
        let read = |header: &str| fields(header);
        let plain = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }      \n";
        assert_eq!(read(plain), Some(("<f8".to_owned(), false, vec![3, 4])));
        let other = "{\"shape\": (3L,), \"fortran_order\": True , \"descr\": \">i2\"}";
        assert_eq!(read(other), Some((">i2".to_owned(), true, vec![3])));
        assert!(read("{'descr': '|S3', 'fortran_order': False, 'shape': ()}").unwrap().2.is_empty());
        assert!(
            read("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}")
                .unwrap()
                .0
                .starts_with('[')
        );
        for header in [
            "",
            "{}",
            "{'descr': '<f8'",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': 3}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} x",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'é': '<f8'}",
        ] {
            assert_eq!(read(header), None, "{header}");
        }
    }

    #[test]
    fn numbers_of_every_type_in_both_orders() {
        let number = |description: &str, bytes: &[u8]| {
            Kind::from_description(description).map(|kind| kind.number(bytes).to_string())
        };
        let told = |description: &str, bytes: &[u8], expected: &str| {
            assert_eq!(number(&format!("<{description}"), bytes).as_deref(), Some(expected), "{description}");
            let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
            assert_eq!(
                number(&format!(">{description}"), &reversed).as_deref(),
                Some(expected),
                "{description}"
            );
        };
        told("i1", &(-7i8).to_le_bytes(), "-7");
        told("i2", &(-700i16).to_le_bytes(), "-700");
        told("i4", &(-70_000i32).to_le_bytes(), "-70000");
        told("i8", &(i64::MIN).to_le_bytes(), "-9223372036854775808");
        told("u1", &200u8.to_le_bytes(), "200");
        told("u2", &60_000u16.to_le_bytes(), "60000");
        told("u4", &4_000_000_000u32.to_le_bytes(), "4000000000");
        told("u8", &u64::MAX.to_le_bytes(), "18446744073709551615");
        told("f4", &0.5f32.to_le_bytes(), "0.5");
        told("f8", &(-2.25f64).to_le_bytes(), "-2.25");
        told("b1", &[3], "1");
        for description in ["", "<", "<f", "<f2", "<f16", "|O", "|S3", "<U3", "<c8", "<i3", "f8", "é8", "<é"]
        {
            assert!(Kind::from_description(description).is_none(), "{description}");
        }
    }
}
