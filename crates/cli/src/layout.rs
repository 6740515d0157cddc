//! The extents of a grid and the sides of its window, with any number of axes up to eight.

use std::{fmt, str::FromStr};

use countgrid_grid::{GridError, Shape, default_extent, default_side};
use countgrid_torus::{Torus, Windows};

use crate::failure::Failure;

/// Axes of the one grid that is compiled. A grid of fewer has leading axes of one cell: those can be dropped
/// without changing a result.
pub(crate) const AXES: usize = 8;

/// What `--grid` and `--window` take: `32x32`, `40`, `12x12x12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sides(pub(crate) Vec<usize>); // one to eight, each at least 1

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

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides: Vec<_> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&sides.join("x"))
    }
}

/// A grid and its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) grid: Sides,
    pub(crate) window: Sides, // as many axes, no side longer than the grid's
}

impl Layout {
    /// A layout as asked for, and where nothing is said one that suits so many documents.
    pub(crate) fn choose(
        grid: Option<&Sides>,
        window: Option<&Sides>,
        documents: usize,
    ) -> Result<Self, Failure> {
        let grid = grid.cloned().unwrap_or_else(|| Sides(vec![default_extent(documents); 2]));
        let window = match window {
            None => Sides(grid.0.iter().copied().map(default_side).collect()),
            Some(Sides(one)) if one.len() == 1 => Sides(vec![one[0]; grid.0.len()]),
            Some(window) => window.clone(),
        };
        Self { grid, window }.check()
    }

    /// A layout whose window fits into the grid.
    pub(crate) fn check(self) -> Result<Self, Failure> {
        let (grid, window) = (&self.grid, &self.window);
        if grid.0.len() != window.0.len() {
            return Err(Failure::new(
                format_args!(
                    "the window {window} has {} axes, the grid {grid} has {}",
                    window.0.len(),
                    grid.0.len()
                ),
                "give --grid and --window as many sides, or --window a single one for all axes",
            ));
        }
        for (axis, (side, extent)) in window.0.iter().zip(&grid.0).enumerate() {
            if side > extent {
                return Err(Failure::new(
                    format_args!(
                        "the window {window} is larger than the grid {grid}: {side} cells on axis {axis}, where \
                         the grid has {extent}"
                    ),
                    "take a smaller --window or a larger --grid",
                ));
            }
        }
        Ok(self)
    }

    /// Cells of the grid, however many.
    pub(crate) fn cells(&self) -> u128 {
        self.grid.0.iter().fold(1, |cells: u128, &extent| cells.saturating_mul(extent as u128))
    }

    /// The shape of a grid of so many features.
    pub(crate) fn shape(&self, features: usize) -> Result<Shape<AXES>, GridError> {
        Shape::new(Windows::from_slices(&self.grid.0, &self.window.0)?, features)
    }

    /// A cell's coordinates on the axes that the layout has.
    pub(crate) fn coordinates(&self, torus: &Torus<AXES>, cell: usize) -> Vec<usize> {
        torus.coords_of(cell).into_iter().skip(AXES - self.grid.0.len()).collect()
    }

    /// The cell at coordinates on the axes that the layout has; they wrap.
    pub(crate) fn cell_at(&self, torus: &Torus<AXES>, at: &[isize]) -> usize {
        let mut coordinates = [0; AXES];
        coordinates[AXES - at.len()..].copy_from_slice(at);
        torus.cell_at(coordinates)
    }

    /// The planes that pages show.
    pub(crate) fn planes(&self) -> Option<Planes> {
        Planes::from_sides(&self.grid, Some(&self.window))
    }
}

/// A grid as pages show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    /// How many there are, one after the other.
    pub(crate) layers: usize,
    /// Rows and columns of each: a ring is one row.
    pub(crate) extents: [usize; 2],
    /// Rows and columns of a window.
    pub(crate) window: [usize; 2],
}

impl Planes {
    /// A grid of one or two axes is one plane; one of three is layers if windows have one cell along the first axis, so that
    /// each document is in one of them. None otherwise. Without a window that of a page is a guess.
    pub(crate) fn from_sides(grid: &Sides, window: Option<&Sides>) -> Option<Self> {
        let sides = window.map_or(&[][..], |window| &window.0);
        let side = |axis: usize| sides.get(axis).or(sides.last()).copied().unwrap_or(1);
        match *grid.0.as_slice() {
            [columns] => Some(Self { layers: 1, extents: [1, columns], window: [1, side(0)] }),
            [rows, columns] => Some(Self { layers: 1, extents: [rows, columns], window: [side(0), side(1)] }),
            [layers, rows, columns] if matches!(sides, [1, _, _] | [1]) => {
                Some(Self { layers, extents: [rows, columns], window: [side(1), side(2)] })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(text: &str) -> Sides {
        text.parse().unwrap()
    }

    #[test]
    fn sides_are_numbers_joined_by_x() {
        assert_eq!(sides("32x16"), Sides(vec![32, 16]));
        assert_eq!(sides("40"), Sides(vec![40]));
        assert_eq!(sides("12X12×12").to_string(), "12x12x12");
        for garbage in ["", "x", "0", "3x0", "-1", "3.5", "axb", "1x1x1x1x1x1x1x1x1", "99999999999999999999"]
        {
            assert!(garbage.parse::<Sides>().is_err(), "{garbage}");
        }
    }

    #[test]
    fn the_defaults_follow_from_the_number_of_documents() {
        let of = |documents| Layout::choose(None, None, documents).unwrap();
        for (documents, grid, window) in
            [(0, "8x8", "2x2"), (1, "8x8", "2x2"), (2_016, "32x32", "5x5"), (1 << 20, "64x64", "8x8")]
        {
            assert_eq!(
                (of(documents).grid, of(documents).window),
                (sides(grid), sides(window)),
                "{documents}"
            );
        }
        let ring = Layout::choose(Some(&sides("40")), None, 10).unwrap();
        assert_eq!(ring.window, sides("7"));
        let narrow = Layout::choose(Some(&sides("1x40")), None, 10).unwrap();
        assert_eq!(narrow.window, sides("1x7"));
        let one_side = Layout::choose(Some(&sides("9x9x9")), Some(&sides("3")), 10).unwrap();
        assert_eq!(one_side.window, sides("3x3x3"));
    }

    #[test]
    fn a_window_fits_into_its_grid() {
        for (grid, window) in [("4x4", "5x2"), ("4x4", "2x2x2"), ("3", "4")] {
            assert!(Layout::choose(Some(&sides(grid)), Some(&sides(window)), 10).is_err(), "{grid} {window}");
        }
    }

    #[test]
    fn pages_show_planes_and_layers() {
        let of = |grid, window: Option<&str>| Planes::from_sides(&sides(grid), window.map(sides).as_ref());
        let planes = |layers, extents, window| Some(Planes { layers, extents, window });
        assert_eq!(of("40", Some("5")), planes(1, [1, 40], [1, 5]));
        assert_eq!(of("8x9", Some("3x2")), planes(1, [8, 9], [3, 2]));
        assert_eq!(of("8x9", Some("3")), planes(1, [8, 9], [3, 3]));
        assert_eq!(of("4x8x9", Some("1x3x2")), planes(4, [8, 9], [3, 2]));
        for (grid, window) in [("4x8x9", Some("2x3x2")), ("4x8x9", None), ("2x2x2x2", Some("1x1x1x1"))] {
            assert_eq!(of(grid, window), None, "{grid} {window:?}");
        }
    }

    #[test]
    fn coordinates_are_those_of_the_axes_given() {
        let layout = Layout { grid: sides("4x6"), window: sides("2x2") };
        let shape = layout.shape(1).unwrap();
        let torus = shape.windows().torus();
        assert_eq!(layout.coordinates(torus, 13), [2, 1]);
        assert_eq!(layout.cell_at(torus, &[2, 1]), 13);
        assert_eq!(layout.cell_at(torus, &[-2, 7]), 13);
    }
}
