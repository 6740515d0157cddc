//! From measured numbers, such as those of genes, to counts.

use std::{borrow::Cow, error::Error, fmt, str::FromStr};

/// A transform of the numbers of a bag, column by column.
///
/// It is written and read as `none`, `floor=X`, `log=X` or `shift`.
///
/// ```
/// use countgrid_corpus::Scale;
/// assert_eq!("log=20".parse(), Ok(Scale::Log(20.0)));
/// assert_eq!(Scale::Floor(0.5).to_string(), "floor=0.5");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub enum Scale {
    /// They are counts already.
    #[default]
    None,
    /// `max(x, floor)`.
    Floor(f64),
    /// `ln(max(x, floor) / floor)`.
    Log(f64),
    /// `x` less the lowest of the bag.
    Shift,
}

#[cfg(feature = "serde")]
impl TryFrom<String> for Scale {
    type Error = ScaleError;

    fn try_from(text: String) -> Result<Self, ScaleError> {
        text.parse()
    }
}

#[cfg(feature = "serde")]
impl From<Scale> for String {
    fn from(scale: Scale) -> Self {
        scale.to_string()
    }
}

/// Why a text is not a [`Scale`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScaleError {
    /// The number after `floor=` or `log=`: finite, and above zero, or for `floor` zero.
    Floor {
        /// The text found.
        found: String,
    },
    /// A name that no transform has.
    Unknown {
        /// The text found.
        found: String,
    },
}

impl fmt::Display for ScaleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor { found } => write!(f, "`{found}` is no floor: take a number above 0, such as 20"),
            Self::Unknown { found } => {
                write!(f, "`{found}` is no scale: take none, floor=X, log=X or shift")
            }
        }
    }
}

impl Error for ScaleError {}

impl FromStr for Scale {
    type Err = ScaleError;

    fn from_str(text: &str) -> Result<Self, ScaleError> {
        let floor = |text: &str, least_is_zero| {
            let floor = text.parse().ok().filter(|&floor: &f64| floor.is_finite());
            let floor = floor.filter(|&floor| floor > 0.0 || (least_is_zero && floor == 0.0));
            floor.ok_or_else(|| ScaleError::Floor { found: text.to_owned() })
        };
        match text.split_once('=').unwrap_or((text, "")) {
            ("none", "") => Ok(Self::None),
            ("shift", "") => Ok(Self::Shift),
            ("floor", value) => Ok(Self::Floor(floor(value, true)?)),
            ("log", value) => Ok(Self::Log(floor(value, false)?)),
            _ => Err(ScaleError::Unknown { found: text.to_owned() }),
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Floor(floor) => write!(f, "floor={floor}"),
            Self::Log(floor) => write!(f, "log={floor}"),
            Self::Shift => f.write_str("shift"),
        }
    }
}

/// How bags of numbers are read as bags of counts.
///
/// ```
/// use countgrid_corpus::{Scale, Scaling};
/// let scaling = Scaling { scale: Scale::Shift, tokens: None };
/// assert_eq!(scaling.apply(&[(0, 40.0), (2, -3.0)], 3).as_deref(), Ok(&[(0, 43.0), (1, 3.0)][..]));
/// assert_eq!(Scaling::default().apply(&[(0, 40.0), (2, -3.0)], 3), Err(2)); // feature 2 is negative
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Scaling {
    /// The transform of each number.
    pub scale: Scale,
    /// What the counts of the words that are kept are then scaled to sum to, if they are.
    pub tokens: Option<f64>,
}

/// Scales the counts of a bag so that they sum to `tokens`, if that is asked for and they sum to something finite.
///
/// ```
/// let mut bag = [(0, 40.0), (3, 24.0)];
/// countgrid_corpus::scale_to_total(Some(8.0), &mut bag);
/// assert_eq!(bag, [(0, 5.0), (3, 3.0)]);
/// ```
pub fn scale_to_total(tokens: Option<f64>, bag: &mut [(usize, f64)]) {
    let total: f64 = bag.iter().map(|(_, count)| count).sum();
    if let Some(tokens) = tokens.filter(|_| total > 0.0 && total.is_finite()) {
        bag.iter_mut().for_each(|(_, count)| *count *= tokens / total);
    }
}

impl Scaling {
    /// The bag `(feature, number)` over `features` features, of which absent ones are zero, as counts above zero,
    /// features ascending. A bag of counts is returned as it is.
    ///
    /// # Errors
    /// The first feature whose number is still negative.
    pub fn apply<'a>(&self, bag: &'a [(u32, f64)], features: usize) -> Result<Cow<'a, [(u32, f64)]>, u32> {
        let each = |f: &dyn Fn(f64) -> f64| -> Vec<(u32, f64)> {
            let mut row = vec![0.0; features];
            for &(feature, x) in bag {
                if let Some(place) = row.get_mut(feature as usize) {
                    *place = x;
                }
            }
            (0u32..).zip(row).map(|(feature, x)| (feature, f(x))).collect()
        };
        let mut counts = match self.scale {
            Scale::None if bag.iter().all(|&(_, count)| count > 0.0) => return Ok(Cow::Borrowed(bag)),
            Scale::None => bag.to_vec(),
            Scale::Floor(floor) => each(&|x| x.max(floor)),
            Scale::Log(floor) => each(&|x| countgrid_math::ln(x.max(floor) / floor)),
            Scale::Shift => {
                let none = if bag.len() < features { 0.0 } else { f64::INFINITY };
                let lowest = bag.iter().fold(none, |lowest, &(_, x)| x.min(lowest));
                each(&|x| x - lowest)
            }
        };
        if let Some(&(feature, _)) = counts.iter().find(|(_, count)| *count < 0.0) {
            return Err(feature);
        }
        counts.retain(|&(_, count)| count > 0.0);
        Ok(Cow::Owned(counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_read_and_written() {
        for text in ["none", "floor=20", "log=0.5", "shift", "floor=0"] {
            assert_eq!(text.parse::<Scale>().unwrap().to_string(), text);
        }
        for text in ["", "log", "log=0", "log=-1", "floor=x", "floor=inf", "shift=1", "ln=2"] {
            assert!(text.parse::<Scale>().is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_become_counts() {
        let bag = [(0, 40.0), (2, -3.0)];
        let apply = |scale| Scaling { scale, tokens: None }.apply(&bag, 3).map(Cow::into_owned);
        assert_eq!(apply(Scale::None), Err(2));
        assert_eq!(apply(Scale::Floor(20.0)), Ok(vec![(0, 40.0), (1, 20.0), (2, 20.0)]));
        assert_eq!(apply(Scale::Log(20.0)), Ok(vec![(0, countgrid_math::ln(2.0))]));
        assert_eq!(apply(Scale::Shift), Ok(vec![(0, 43.0), (1, 3.0)]));
        // Without absent features the lowest is that of those there are.
        let all = Scaling { scale: Scale::Shift, tokens: None }.apply(&[(0, 5.0), (1, 7.0)], 2);
        assert_eq!(all.as_deref(), Ok(&[(1, 2.0)][..]));
    }

    #[test]
    fn counts_are_scaled_to_a_sum() {
        let scaled = |tokens, bag: &[(usize, f64)]| {
            let mut bag = bag.to_vec();
            scale_to_total(tokens, &mut bag);
            bag
        };
        assert_eq!(scaled(Some(8.0), &[(0, 40.0), (3, 24.0)]), [(0, 5.0), (3, 3.0)]);
        assert_eq!(scaled(None, &[(0, 40.0), (3, 24.0)]), [(0, 40.0), (3, 24.0)]);
        // A bag whose sum is zero or infinite stays as it is.
        assert_eq!(scaled(Some(8.0), &[(1, 0.0)]), [(1, 0.0)]);
        assert_eq!(scaled(Some(8.0), &[(1, 1e308), (2, 1e308)]), [(1, 1e308), (2, 1e308)]);
    }

    #[test]
    fn counts_are_borrowed_and_only_counts() {
        let apply = |bag| Scaling::default().apply(bag, 3);
        assert!(matches!(apply(&[(0, 4.0), (2, 0.5)]), Ok(Cow::Borrowed([(0, 4.0), (2, 0.5)]))));
        assert!(matches!(apply(&[]), Ok(Cow::Borrowed([]))));
        // Zeros are left out, and what is below zero is refused, whatever else there is.
        assert_eq!(apply(&[(0, 0.0), (2, 0.5)]).as_deref(), Ok(&[(2, 0.5)][..]));
        assert_eq!(apply(&[(1, 0.0)]).as_deref(), Ok(&[][..]));
        assert_eq!(apply(&[(0, -1.0), (1, -2.0)]), Err(0));
    }

    #[test]
    fn a_refusal_says_what_would_be_right() {
        let refusal = |text: &str| text.parse::<Scale>().unwrap_err().to_string();
        assert_eq!(refusal("log=x"), "`x` is no floor: take a number above 0, such as 20");
        assert_eq!(refusal("ln"), "`ln` is no scale: take none, floor=X, log=X or shift");
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_scale_is_stored_as_its_text() {
        for (scale, text) in [(Scale::None, "none"), (Scale::Log(0.5), "log=0.5"), (Scale::Shift, "shift")] {
            assert_eq!(String::from(scale), text);
            assert_eq!(Scale::try_from(text.to_owned()), Ok(scale));
        }
        assert_eq!(Scale::try_from("ln".to_owned()), Err(ScaleError::Unknown { found: "ln".to_owned() }));
    }
}
