//! Files of columns (Parquet, Arrow), as tables. Memory holds a run of rows of the columns that are in use, and the text of one row.

use std::path::Path;

use crate::calendar::calendar;
use crate::error::{Problem, ReadError};
use crate::name::LeftOut;
use crate::source::Budget;
use crate::table::Rows;

/// Why a column is not read.
pub(crate) const NESTED: &str =
    "a column of lists, of structures or of a kind that has no text, which is not read";

/// Digits of the longest decimal number: of 256 bits it has 77.
const DECIMAL_BYTES: usize = 32;

/// The text of the cells of a row, one after the other.
pub(crate) struct Cells {
    text: String,
    ends: Vec<usize>,
    /// Columns whose cell is no text.
    binary: Vec<usize>,
    limit: usize,
}

impl Cells {
    fn new(limit: usize) -> Self {
        Self { text: String::new(), ends: Vec::new(), binary: Vec::new(), limit }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.binary.clear();
    }

    /// Ends a cell, of which the text was written.
    pub(crate) fn end(&mut self) -> Result<(), Problem> {
        self.ends.push(self.text.len());
        if self.text.len() > self.limit { Err(Problem::TooLong { limit: self.limit }) } else { Ok(()) }
    }

    /// Writes the text of a cell.
    pub(crate) fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// Writes a cell of any bytes; what is no UTF-8 is noted.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        if bytes.len() > self.limit {
            return Err(Problem::TooLong { limit: self.limit });
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text.push_str(text),
            Err(_) => self.binary.push(self.ends.len()),
        }
        Ok(())
    }

    fn cell(&self, column: usize) -> &str {
        let start = column.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(column).and_then(|&end| self.text.get(start..end)).unwrap_or("")
    }
}

/// A reader of rows.
pub(crate) trait Columnar {
    /// What the columns are called that are read.
    fn names(&self) -> &[String];
    /// The columns that are not read.
    fn nested(&self) -> &[String];
    /// Writes the cells of the next row, a cell for each column; false if there is none.
    fn next_row(&mut self, cells: &mut Cells) -> Result<bool, Problem>;
    /// Reads of these columns alone from now on; the cells of the others are empty.
    fn only(&mut self, columns: &[usize]);
}

/// The rows as records of a table; the first has the names of the columns.
struct Records<'a> {
    columns: &'a mut dyn Columnar,
    cells: Cells,
    names: Vec<String>,
    begun: bool,
    row: u64,
    /// Columns whose cells must be text.
    roles: Vec<usize>,
    file: &'a Path,
    budget: &'a Budget,
}

impl Records<'_> {
    fn check(&self) -> Result<(), ReadError> {
        match self.cells.binary.iter().find(|column| self.roles.contains(column)) {
            None => Ok(()),
            Some(&column) => {
                let column = self.names.get(column).cloned().unwrap_or_default();
                Err(self.error(Problem::NoText { column, found: "bytes that are not UTF-8" }))
            }
        }
    }
}

impl Rows for Records<'_> {
    fn next(&mut self) -> Result<bool, ReadError> {
        self.cells.clear();
        if !self.begun {
            self.begun = true;
            for name in &self.names {
                self.cells.text.push_str(name);
                self.cells.ends.push(self.cells.text.len());
            }
            return Ok(true);
        }
        self.row += 1;
        match self.columns.next_row(&mut self.cells) {
            Ok(false) => return Ok(false),
            Ok(true) => {}
            Err(problem) => return Err(self.error(problem)),
        }
        // As a line of a table would count. A value may be that of many rows, and a row may take no bytes of the file.
        let bytes = self.cells.text.len() + self.names.len();
        self.budget.add(bytes as u64).map_err(|problem| self.error(problem))?;
        self.check()?;
        Ok(true)
    }

    fn len(&self) -> usize {
        self.names.len()
    }

    fn field(&self, i: usize) -> &str {
        self.cells.cell(i)
    }

    fn line(&self) -> u64 {
        self.row.max(1)
    }

    fn of_another_length(&self, expected: usize) -> Problem {
        Problem::Cells { expected, found: self.len() } // which never happens
    }

    fn error(&self, problem: Problem) -> ReadError {
        ReadError::new(self.file, Some(self.line()), problem)
    }

    fn only(&mut self, columns: &[usize], roles: &[usize]) -> Result<(), ReadError> {
        self.columns.only(columns);
        self.roles = roles.to_vec();
        self.check()
    }
}

/// Hands the rows to `table`, and returns the columns that are not read, as what was left out.
pub(crate) fn read<T, E: From<ReadError>>(
    columns: &mut dyn Columnar,
    file: &Path,
    limit: usize,
    budget: &Budget,
    table: impl FnOnce(&mut dyn Rows) -> Result<T, E>,
) -> Result<(T, Vec<LeftOut>), E> {
    let names = columns.names().to_vec();
    let left_out = columns.nested().iter();
    let left_out =
        left_out.map(|name| LeftOut { path: file.join(name), why: NESTED.to_owned(), lost: false }).collect();
    let (cells, roles) = (Cells::new(limit), Vec::new());
    let mut records = Records { columns, cells, names, begun: false, row: 0, roles, file, budget };
    Ok((table(&mut records)?, left_out))
}

/// A number of the shortest digits that are read as it; very large and very small ones with an exponent.
pub(crate) fn float(
    text: &mut String,
    value: impl std::fmt::Display + std::fmt::LowerExp + Copy + Into<f64>,
) {
    let size = value.into().abs();
    let plain = size == 0.0 || !size.is_finite() || (1e-5..1e17).contains(&size);
    if plain {
        write(text, format_args!("{value}"));
    } else {
        write(text, format_args!("{value:e}"));
    }
}

pub(crate) fn write(text: &mut String, what: std::fmt::Arguments<'_>) {
    _ = std::fmt::Write::write_fmt(text, what); // a string takes all
}

/// Parts of a second that a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Second,
    Milli,
    Micro,
    Nano,
}

impl Unit {
    /// How many make a second, and the digits of that.
    fn per_second(self) -> (i64, usize) {
        match self {
            Self::Second => (1, 0),
            Self::Milli => (1_000, 3),
            Self::Micro => (1_000_000, 6),
            Self::Nano => (1_000_000_000, 9),
        }
    }
}

/// A number of days since 1970 as a date of ISO 8601.
pub(crate) fn date(text: &mut String, days: i64) {
    let (year, month, day) = calendar(days);
    write(text, format_args!("{year:04}-{month:02}-{day:02}"));
}

/// A time since midnight as one of ISO 8601.
pub(crate) fn time(text: &mut String, value: i64, unit: Unit) {
    let (per_second, digits) = unit.per_second();
    let (second, part) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    write(text, format_args!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60));
    if part != 0 {
        let part = format!("{part:0digits$}");
        write(text, format_args!(".{}", part.trim_end_matches('0')));
    }
}

/// A time since 1970 as one of ISO 8601; midnight as a date alone, as a sheet of days is one of dates.
pub(crate) fn timestamp(text: &mut String, value: i64, unit: Unit, is_utc: bool) {
    let day = 86_400 * unit.per_second().0;
    date(text, value.div_euclid(day));
    let of_day = value.rem_euclid(day);
    if of_day != 0 {
        text.push('T');
        time(text, of_day, unit);
        if is_utc {
            text.push('Z');
        }
    }
}

/// A decimal number: `scale` of its digits stand behind the point, or so many zeros before it.
pub(crate) fn decimal(text: &mut String, value: i128, scale: i8) {
    digits(text, &value.unsigned_abs().to_string(), value < 0, scale);
}

/// The same of bytes, the most significant first, that are the two's complement; false if they are too many.
#[must_use]
pub(crate) fn decimal_of(text: &mut String, bytes: &[u8], scale: i8) -> bool {
    if bytes.len() > DECIMAL_BYTES {
        return false;
    }
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut rest: Vec<u8> = bytes.to_vec();
    if is_negative {
        let mut carry = true;
        for byte in rest.iter_mut().rev() {
            let (sum, more) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (sum, more);
        }
    }
    // Long division by ten.
    let mut reversed = String::new();
    while rest.iter().any(|&byte| byte != 0) {
        let mut remainder = 0u32;
        for byte in &mut rest {
            let value = remainder * 256 + u32::from(*byte);
            (*byte, remainder) = ((value / 10) as u8, value % 10);
        }
        reversed.push(char::from(b'0' + remainder as u8));
    }
    let number: String = if reversed.is_empty() { "0".to_owned() } else { reversed.chars().rev().collect() };
    digits(text, &number, is_negative, scale);
    true
}

fn digits(text: &mut String, number: &str, is_negative: bool, scale: i8) {
    if is_negative {
        text.push('-');
    }
    match usize::try_from(scale) {
        Ok(0) => text.push_str(number),
        Ok(scale) => {
            let number = format!("{number:0>length$}", length = scale + 1);
            let (whole, part) = number.split_at(number.len() - scale);
            write(text, format_args!("{whole}.{part}"));
        }
        Err(_) => {
            text.push_str(number);
            text.extend(std::iter::repeat_n(
                '0',
                if number == "0" { 0 } else { usize::from(scale.unsigned_abs()) },
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut String)) -> String {
        let mut text = String::new();
        write(&mut text);
        text
    }

    #[test]
    fn times_are_those_of_iso_8601() {
        for (value, unit, is_utc, expected) in [
            (0, Unit::Second, false, "1970-01-01"),
            (86_399, Unit::Second, true, "1970-01-01T23:59:59Z"),
            (-1, Unit::Milli, false, "1969-12-31T23:59:59.999"),
            (1_709_166_600_500_000, Unit::Micro, false, "2024-02-29T00:30:00.5"),
            (1, Unit::Nano, true, "1970-01-01T00:00:00.000000001Z"),
            (i64::MIN, Unit::Nano, false, "1677-09-21T00:12:43.145224192"),
        ] {
            assert_eq!(written(|text| timestamp(text, value, unit, is_utc)), expected);
        }
        // The widest claims are text, too.
        for unit in [Unit::Second, Unit::Milli, Unit::Micro, Unit::Nano] {
            for value in [i64::MIN, i64::MAX] {
                assert!(written(|text| timestamp(text, value, unit, true)).len() < 64);
                assert!(written(|text| time(text, value, unit)).len() < 64);
            }
        }
        assert_eq!(written(|text| date(text, i64::from(i32::MAX))), "5881580-07-11");
    }

    #[test]
    fn decimals_have_their_point() {
        for (value, scale, expected) in [
            (1250, 2, "12.50"),
            (-5, 3, "-0.005"),
            (0, 2, "0.00"),
            (12, -2, "1200"),
            (0, -2, "0"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        ] {
            assert_eq!(written(|text| decimal(text, value, scale)), expected);
            assert_eq!(written(|text| assert!(decimal_of(text, &value.to_be_bytes(), scale))), expected);
        }
        // Two to the power of 255, with a minus.
        let mut lowest = [0; 32];
        lowest[0] = 0x80;
        let expected = "-57896044618658097711785492504343953926634992332820282019728792003956564819968";
        assert_eq!(written(|text| assert!(decimal_of(text, &lowest, 0))), expected);
        assert_eq!(written(|text| assert!(decimal_of(text, &[], 1))), "0.0");
        assert!(!decimal_of(&mut String::new(), &[0; 33], 0));
    }

    #[test]
    fn floats_are_short() {
        let of = |value: f64| written(|text| float(text, value));
        assert_eq!([1.0, 0.1, -1e-7, 1e300, 0.0].map(of), ["1", "0.1", "-1e-7", "1e300", "0"]);
        assert_eq!(written(|text| float(text, 0.1f32)), "0.1");
    }

    #[test]
    fn a_row_may_be_as_long_as_the_limit() {
        let mut cells = Cells::new(4);
        assert!(cells.bytes(b"ants").is_ok() && cells.end().is_ok());
        assert!(cells.end().is_ok()); // an empty cell
        assert_eq!([cells.cell(0), cells.cell(1), cells.cell(2)], ["ants", "", ""]);
        // One cell more is longer, and so is one that is too long itself, which is not taken.
        cells.text().push('s');
        assert!(matches!(cells.end(), Err(Problem::TooLong { limit: 4 })));
        cells.clear();
        for long in [b"ants ".as_slice(), b"ants walk"] {
            assert!(matches!(cells.bytes(long), Err(Problem::TooLong { limit: 4 })));
            cells.text().push_str("long enough");
            assert!(matches!(cells.end(), Err(Problem::TooLong { limit: 4 })));
            cells.clear();
        }
    }
}
