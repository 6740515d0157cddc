//! Tables that are safe to open in a spreadsheet.

use std::{borrow::Cow, io};

/// Writes CSV of which no field is a formula: a text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return has a `'`
/// before it, as OWASP advises against CSV injection. Numbers stay as they are.
pub(crate) struct CsvTable<W: io::Write> {
    csv: csv::Writer<W>,
    raw: bool,
}

impl<W: io::Write> CsvTable<W> {
    /// `raw`: fields as they are.
    pub(crate) fn new(out: W, raw: bool) -> Self {
        Self { csv: csv::Writer::from_writer(out), raw }
    }

    pub(crate) fn write_record<S: AsRef<str>>(
        &mut self,
        fields: impl IntoIterator<Item = S>,
    ) -> io::Result<()> {
        for field in fields {
            let field = field.as_ref();
            let cell = if self.raw { Cow::Borrowed(field) } else { cell(field) };
            self.csv.write_field(cell.as_bytes())?;
        }
        Ok(self.csv.write_record(None::<&[u8]>)?)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

impl CsvTable<Vec<u8>> {
    /// All that was written.
    pub(crate) fn into_inner(self) -> Vec<u8> {
        self.csv.into_inner().unwrap_or_default() // which a vector never refuses
    }
}

/// A field that a spreadsheet takes for text or a number.
fn cell(field: &str) -> Cow<'_, str> {
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
    if formula { Cow::Owned(format!("'{field}")) } else { Cow::Borrowed(field) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text_and_numbers_stay() {
        for formula in ["=1+1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "-"] {
            assert_eq!(cell(formula), format!("'{formula}"));
        }
        for plain in ["", "a=b", "-1.5", "+2", "-1e-5", "'=1", "a-b"] {
            assert_eq!(cell(plain), plain);
        }
    }
}
