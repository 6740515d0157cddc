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

/// Which columns without a role are kept.
///
/// Example: [`ColumnValues`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeepColumns {
    /// None.
    #[default]
    None,
    /// All, as far as there is room for them: see [`MAX_COLUMN_BYTES`].
    All,
    /// Those of these names, each of which must be there.
    Named(Vec<String>),
}

/// Bytes of columns that are kept at most, all together. Beyond, the column that takes most of them loses its texts, and is left out if
/// it has not numbers or dates alone.
pub const MAX_COLUMN_BYTES: usize = 1 << 27;

/// Different values that a column of categories has at most; with more it is one of texts.
pub const MAX_CATEGORIES: usize = 1000;

/// The values of a [`Column`], one for each document, of the first kind that all of them are of; `None` where its field is empty.
///
/// ```
/// use countgrid_corpus::{ColumnValues, Corpus, CorpusOptions, KeepColumns};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("ants.csv");
/// std::fs::write(&path, "year,on,by,see,text\n1999,5 Mar 2001,me,a,red ants\n,2004-01-31,me,b,blue ants\n7,,,,a red sky\n")?;
/// let options = CorpusOptions { keep_columns: KeepColumns::All, ..CorpusOptions::default() };
/// let corpus = Corpus::<f32>::read(&path, &options)?;
/// let [year, on, by, see] = &corpus.columns[..] else { panic!() };
/// assert_eq!(year.values, ColumnValues::Numbers(vec![Some(1999.0), None, Some(7.0)]));
/// assert_eq!(on.values, ColumnValues::Dates(vec!["2001-03-05".parse().ok(), "2004-01-31".parse().ok(), None]));
/// assert_eq!(by.values, ColumnValues::Categories { names: vec!["me".into()], of: vec![Some(0), Some(0), None] });
/// assert_eq!(see.values, ColumnValues::Texts(["a", "b", ""].map(String::from).to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnValues {
    /// Finite numbers.
    Numbers(Vec<Option<f64>>),
    /// Days, as ISO 8601 has them, alone, before a time, or as a month alone; or written `2004/01/31`, `31.1.2004`, `31 Jan 2004` or
    /// `Jan 31, 2004`, also as in the head of a mail.
    Dates(Vec<Option<Date>>),
    /// Texts of which there are few, at most [`MAX_CATEGORIES`] and one for two documents, and short.
    Categories {
        /// They, in the order of their first documents.
        names: Vec<String>,
        /// Which of them each document has.
        of: Vec<Option<u32>>,
    },
    /// Other texts; empty where the field is.
    Texts(Vec<String>),
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
            Self::Categories { of, .. } => of.len(),
            Self::Texts(values) => values.len(),
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

/// The day that a field names in one of several ways; months come by name where their place could be that of the day.
pub(crate) fn read_date(field: &str) -> Option<Date> {
    let (day, time) = field.split_at_checked(10).unwrap_or((field, ""));
    if let Ok(date) = day.replace('/', "-").parse() {
        return (time.is_empty() || time.starts_with(['T', ' '])).then_some(date);
    }
    let number = |text: &str, most: usize| -> Option<u16> {
        let digits = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok())?
    };
    let year = |text: &str| number(text, 4).filter(|_| text.len() == 4);
    let date =
        |year, month: u16, day: u16| Date::new(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    if let Some((years, month)) = field.split_once('-').filter(|_| field.len() == 7) {
        return date(year(years)?, number(month, 2)?, 1);
    }
    if let [day, month, years] = field.split('.').collect::<Vec<_>>()[..] {
        return date(year(years)?, number(month, 2)?, number(day, 2)?);
    }
    let mut words: Vec<&str> = field.split([' ', ',']).filter(|word| !word.is_empty()).take(4).collect();
    let begins = |names: &[&str], word: &str| {
        let start = word.get(..3).map(str::to_ascii_lowercase);
        names.iter().position(|name| {
            start.as_deref() == Some(*name) && word.bytes().all(|byte| byte.is_ascii_alphabetic())
        })
    };
    if words
        .first()
        .is_some_and(|word| begins(&["mon", "tue", "wed", "thu", "fri", "sat", "sun"], word).is_some())
    {
        words.remove(0);
    }
    let [first, second, years, ..] = words[..] else { return None };
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (month, day) = match begins(&months, first) {
        Some(month) => (month, second),
        None => (begins(&months, second)?, first),
    };
    date(year(years)?, month as u16 + 1, number(day, 2)?)
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Keeps the elements that were drawn.
pub(crate) fn retain_drawn<V>(values: &mut Vec<V>, drawn: &[bool]) {
    let mut drawn = drawn.iter();
    values.retain(|_| drawn.next() == Some(&true));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_read_as_people_write_them() {
        for text in [
            "2001-03-05",
            "2001/03/05",
            "2001-03-05T10:11:12Z",
            "2001-03-05 10:11",
            "5.3.2001",
            "05.03.2001",
            "5 Mar 2001",
            "05 March 2001 10:11:12 +0200",
            "Mon, 5 Mar 2001 10:11:12 GMT",
            "March 5, 2001",
            "Mar 5 2001",
        ] {
            assert_eq!(read_date(text).map(|date| date.to_string()).as_deref(), Some("2001-03-05"), "{text}");
        }
        assert_eq!(read_date("2001-03").unwrap().to_string(), "2001-03-01");
        for text in [
            "",
            "2001",
            "03/05/2001",
            "5.13.2001",
            "31.2.2001",
            "2001-03-05x",
            "5 Xyz 2001",
            "Mon",
            "Mar",
            "5 Mar 01",
            "1.2.3.4",
            "Mar 5",
            "é Mar 2001",
            "+5 Mar 2001",
            "mar-5-2001",
            "٥.3.2001",
        ] {
            assert_eq!(read_date(text), None, "{text}");
        }
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
        fn any_text_is_a_date_or_refused(text in "[0-9]{0,5}-[0-9]{0,3}-[0-9]{0,3}|.{0,12}|[0-9]{1,2}[ .][0-9JanM]{1,3}[ .,][0-9 ]{2,5}") {
            read_date(&text);
            if let Ok(date) = text.parse::<Date>() {
                prop_assert_eq!(date.to_string(), text);
            }
        }
    }

    #[test]
    fn a_date_has_the_parts_it_was_made_of() {
        let day = Date::new(2024, 12, 31).unwrap();
        assert_eq!((day.year(), day.month(), day.day()), (2024, 12, 31));
        let refused = "2024-12-32".parse::<Date>().unwrap_err();
        assert_eq!(refused.to_string(), "no day of the calendar, written YYYY-MM-DD");
    }

    #[test]
    fn columns_of_every_kind_have_a_length() {
        let columns = |n: usize| {
            let texts = ColumnValues::Texts(vec![String::new(); n]);
            let categories = ColumnValues::Categories { names: Vec::new(), of: vec![None; n] };
            [ColumnValues::Numbers(vec![None; n]), ColumnValues::Dates(vec![None; n]), categories, texts]
        };
        for n in 0..3 {
            assert!(columns(n).iter().all(|values| values.len() == n && values.is_empty() == (n == 0)));
        }
    }
}
