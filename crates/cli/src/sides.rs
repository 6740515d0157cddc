//! What `--grid`, `--window` and the like take: `32x32`, `40`, `12x12x12`.

use std::{fmt, str::FromStr};

use countgrid_estimators::{AXES, format_sides};

/// One to eight sides, each at least 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sides(pub(crate) Vec<usize>);

impl FromStr for Sides {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |part: &str| match part.trim().parse::<usize>() {
            Ok(side) if side > 0 => Ok(side),
            Ok(_) => Err("each side is at least 1".to_owned()),
            Err(_) => Err("sides are whole numbers joined by `x`, such as 32x32, 40 or 12x12x12".to_owned()),
        };
        let sides = text.split(['x', 'X', '×']).map(side).collect::<Result<Vec<_>, _>>()?;
        if sides.len() > AXES {
            return Err(format!("{} axes, at most {AXES} are possible", sides.len()));
        }
        Ok(Self(sides))
    }
}

/// What `--grid` takes: sides, or `auto`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GridSize {
    /// These sides.
    Given(Sides),
    /// Those under which documents that are held out are most probable.
    Auto,
}

impl GridSize {
    pub(crate) fn given(&self) -> Option<&Sides> {
        match self {
            Self::Given(sides) => Some(sides),
            Self::Auto => None,
        }
    }
}

impl FromStr for GridSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            sides => {
                sides.parse().map(Self::Given).map_err(|error: String| format!("{error}; or take `auto`"))
            }
        }
    }
}

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_sides(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_numbers_joined_by_x() {
        let sides = |text: &str| text.parse::<Sides>().unwrap();
        assert_eq!(sides("32x16"), Sides(vec![32, 16]));
        assert_eq!(sides("40"), Sides(vec![40]));
        assert_eq!(sides("12X12×12").to_string(), "12x12x12");
        for garbage in ["", "x", "0", "3x0", "-1", "3.5", "axb", "1x1x1x1x1x1x1x1x1", "99999999999999999999"]
        {
            assert!(garbage.parse::<Sides>().is_err(), "{garbage}");
            assert!(garbage.parse::<GridSize>().is_err(), "{garbage}");
        }
        assert_eq!("auto".parse(), Ok(GridSize::Auto));
        assert_eq!("8x8".parse(), Ok(GridSize::Given(sides("8x8"))));
    }
}
