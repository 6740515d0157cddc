use std::{fmt, str::FromStr};

/// A column of a table that is neither text, title, label, id nor counts, as values of one kind.
///
/// Example: [`ColumnValues`](crate::ColumnValues).
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name in the table.
    pub name: String,
    /// One value for each document.
    pub values: ColumnValues,
}

/// The values of a [`Column`], one for each document; `None` where its field is empty.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnValues {
    /// Finite numbers.
    Numbers(Vec<Option<f64>>),
    /// Days.
    Dates(Vec<Option<Date>>),
}

impl ColumnValues {
    /// Number of documents.
    ///
    /// ```
    /// use countgrid_corpus::ColumnValues;
    /// assert_eq!(ColumnValues::Numbers(vec![Some(1.0), None]).len(), 2);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Dates(values) => values.len(),
        }
    }

    /// Whether there is no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A day of the Gregorian calendar, written `YYYY-MM-DD` (ISO 8601). Days are ordered in time.
///
/// ```
/// use countgrid_corpus::Date;
/// let day: Date = "2024-02-29".parse()?;
/// assert_eq!((day.year(), day.month(), day.day(), day.days_since_1970()), (2024, 2, 29, 19_782));
/// assert!("2023-02-29".parse::<Date>().is_err());
/// # Ok::<(), countgrid_corpus::DateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8, // 1..=12
    day: u8,   // 1..=31
}

/// The error for a text that is not a [`Date`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateError;

impl fmt::Display for DateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no day of the calendar, written YYYY-MM-DD")
    }
}

impl std::error::Error for DateError {}

impl Date {
    /// The day of these numbers, counted from 1, of the years 0 to 9999; `None` if there is none.
    ///
    /// ```
    /// assert!(countgrid_corpus::Date::new(1900, 2, 29).is_none());
    /// ```
    #[must_use]
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 => 28 + u8::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        (year <= 9999 && (1..=days).contains(&day)).then_some(Self { year, month, day })
    }

    /// The year, 0 to 9999.
    #[must_use]
    pub fn year(self) -> u16 {
        self.year
    }

    /// The month, 1 to 12.
    #[must_use]
    pub fn month(self) -> u8 {
        self.month
    }

    /// The day of the month, from 1.
    #[must_use]
    pub fn day(self) -> u8 {
        self.day
    }

    /// Days since 1970-01-01, negative before it.
    #[must_use]
    pub fn days_since_1970(self) -> i32 {
        // Years begin in March, so that the day that may be missing is the last.
        let (month, day) = (i32::from(self.month), i32::from(self.day));
        let year = i32::from(self.year) - i32::from(month <= 2);
        let since_march = (month + 9) % 12;
        let day_of_year = (153 * since_march + 2) / 5 + day - 1;
        let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        365 * year + leap_days + day_of_year - 719_468
    }
}

impl FromStr for Date {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let bytes = text.as_bytes();
        let digits = |from: usize, to: usize| -> Option<u16> {
            let digits = bytes.get(from..to)?;
            let value =
                |sum: u16, digit: &u8| digit.is_ascii_digit().then(|| sum * 10 + u16::from(digit - b'0'));
            digits.iter().try_fold(0, value)
        };
        let dashes = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
        let parts = || Some((digits(0, 4)?, digits(5, 7)? as u8, digits(8, 10)? as u8)); // two digits fit
        let (year, month, day) = dashes.then(parts).flatten().ok_or(DateError)?;
        Self::new(year, month, day).ok_or(DateError)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Takes fields document by document, and keeps the columns that are numbers or dates throughout.
#[derive(Debug, Default)]
pub(crate) struct ColumnsBuilder {
    columns: Vec<Option<Candidate>>, // none: of no kind
}

/// A column whose fields were of one kind so far.
#[derive(Debug)]
struct Candidate {
    name: String,
    values: Option<ColumnValues>,
    empty: usize, // documents before the first that has a value
}

impl ColumnsBuilder {
    pub(crate) fn new(names: Vec<String>) -> Self {
        let candidate = |name| Some(Candidate { name, values: None, empty: 0 });
        Self { columns: names.into_iter().map(candidate).collect() }
    }

    /// Adds a document; its columns come in the order of their names.
    pub(crate) fn push(&mut self, fields: &[String]) {
        for (place, field) in self.columns.iter_mut().zip(fields) {
            if place.as_mut().is_some_and(|column| !column.push(field)) {
                *place = None; // frees its values at once
            }
        }
    }

    /// The columns of the documents that `drawn` has marked. A column without any value is left out.
    pub(crate) fn finish(self, drawn: Option<&[bool]>) -> Vec<Column> {
        let columns = self.columns.into_iter().flatten();
        let mut columns: Vec<Column> = columns
            .filter_map(|Candidate { name, values, .. }| Some(Column { name, values: values? }))
            .collect();
        if let Some(drawn) = drawn {
            for column in &mut columns {
                match &mut column.values {
                    ColumnValues::Numbers(values) => retain_drawn(values, drawn),
                    ColumnValues::Dates(values) => retain_drawn(values, drawn),
                }
            }
        }
        columns
    }
}

/// Keeps the elements that were drawn.
pub(crate) fn retain_drawn<V>(values: &mut Vec<V>, drawn: &[bool]) {
    let mut drawn = drawn.iter();
    values.retain(|_| drawn.next() == Some(&true));
}

impl Candidate {
    /// Whether the column still is of one kind.
    fn push(&mut self, field: &str) -> bool {
        let number = || field.parse().ok().filter(|value: &f64| value.is_finite());
        match (&mut self.values, field) {
            (None, "") => self.empty += 1,
            (Some(ColumnValues::Numbers(values)), "") => values.push(None),
            (Some(ColumnValues::Dates(values)), "") => values.push(None),
            (Some(ColumnValues::Numbers(values)), _) => match number() {
                Some(value) => values.push(Some(value)),
                None => return false,
            },
            (Some(ColumnValues::Dates(values)), _) => match field.parse() {
                Ok(date) => values.push(Some(date)),
                Err(DateError) => return false,
            },
            (None, _) => {
                let values = match (number(), field.parse()) {
                    (Some(value), _) => ColumnValues::Numbers(preceded(self.empty, value)),
                    (None, Ok(date)) => ColumnValues::Dates(preceded(self.empty, date)),
                    (None, Err(DateError)) => return false,
                };
                self.values = Some(values);
            }
        }
        true
    }
}

/// So many empty fields, then a value.
fn preceded<V: Copy>(empty: usize, value: V) -> Vec<Option<V>> {
    let mut values = vec![None; empty];
    values.push(Some(value));
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_of_one_kind_are_kept() {
        let names = ["year", "day", "place", "none", "mixed", "late"].map(str::to_owned).to_vec();
        let mut builder = ColumnsBuilder::new(names);
        for row in [
            ["2004", "2004-05-06", "here", "", "1", ""],
            ["", "", "there", "", "2004-01-01", ""],
            ["-1e3", "1999-12-31", "", "", "", "0001-01-01"],
        ] {
            builder.push(&row.map(str::to_owned));
        }
        let day = |text: &str| text.parse::<Date>().ok();
        let expected = [
            ("year", ColumnValues::Numbers(vec![Some(2004.0), None, Some(-1000.0)])),
            ("day", ColumnValues::Dates(vec![day("2004-05-06"), None, day("1999-12-31")])),
            ("late", ColumnValues::Dates(vec![None, None, day("0001-01-01")])),
        ];
        let expected: Vec<_> = expected.map(|(name, values)| Column { name: name.to_owned(), values }).into();
        assert_eq!(builder.finish(None), expected);
    }

    #[test]
    fn only_days_of_the_calendar_are_dates() {
        for text in ["2000-02-29", "0000-01-01", "9999-12-31", "1970-01-01"] {
            assert_eq!(text.parse::<Date>().unwrap().to_string(), text);
        }
        for text in ["", "2000-2-29", "2000-00-01", "2000-13-01", "2000-01-00", "2000-04-31", "1900-02-29"] {
            assert_eq!(text.parse::<Date>(), Err(DateError), "{text}");
        }
        for text in ["2000/01/01", "2000-01-01 ", "+200-01-01", "2000-01-é", "2000-0१-01"] {
            assert_eq!(text.parse::<Date>(), Err(DateError), "{text}");
        }
    }

    #[test]
    fn days_are_counted_without_gaps() {
        let mut expected = Date::new(0, 1, 1).unwrap().days_since_1970();
        assert_eq!(Date::new(1970, 1, 1).unwrap().days_since_1970(), 0);
        for year in 0..=9999 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(date) = Date::new(year, month, day) {
                        assert_eq!(date.days_since_1970(), expected, "{date}");
                        expected += 1;
                    }
                }
            }
        }
        assert_eq!(expected, 2_932_897); // 10000-01-01
    }

    proptest! {
        #[test]
        fn any_text_is_a_date_or_refused(text in "[0-9]{0,5}-[0-9]{0,3}-[0-9]{0,3}|.{0,12}") {
            if let Ok(date) = text.parse::<Date>() {
                prop_assert_eq!(date.to_string(), text);
            }
        }
    }
}
