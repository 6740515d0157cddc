//! Days as dates.

/// The date of the proleptic Gregorian calendar that lies so many days after 1970-01-01: years begin in March, so that a leap
/// day is the last of one, and 400 of them have the same number of days.
pub(crate) fn calendar(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468; // from 0000-03-01
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153; // from March
    let year = year + 400 * era + i64::from(month >= 10);
    (year, if month < 10 { month + 3 } else { month - 9 }, day - (153 * month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against counting, day by day.
    #[test]
    fn the_calendar_is_that_of_counting() {
        let (mut year, mut month, mut day) = (1899, 12, 31);
        for days in -25_568..100_000 {
            assert_eq!(calendar(days), (year, month, day), "{days}");
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }
}
