//! The plane of a map: its latent points, its basis functions, and the cells that a page draws it in.

use countgrid_gtm::{Basis, GtmError, Space, gaussian_points, grid_points, half_plane_centres, torus_points};
use countgrid_map::MAX_CELLS;
use countgrid_math::Real;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde_json::{Value, json};

use crate::{
    args::{BasisKind, LatentKind, TopographicArgs},
    failure::Failure,
    layout::Sides,
    report::thousands,
};

/// Spread of random points, and beyond how many deviations one is drawn again.
const SPREAD: f64 = 0.55;
const CLIP: f64 = 2.5;
/// The largest radius of the centres of sinh functions.
const RADIUS: f64 = 0.625;

/// A latent space.
#[derive(Clone, Debug)]
pub(crate) struct Latent<T> {
    pub(crate) kind: LatentKind,
    /// Points along each axis; of random points the cells that they are shown in.
    pub(crate) sides: [usize; 2],
    pub(crate) basis: BasisKind,
    /// Of RBFs.
    pub(crate) width: f64,
    pub(crate) centres: Vec<T>, // [axis][centre]
    pub(crate) points: Vec<T>,  // [axis][point]
}

impl<T: Real> Latent<T> {
    /// What was asked for.
    pub(crate) fn new(args: &TopographicArgs, seed: u64) -> Result<Self, Failure> {
        let sides = pair("--points", args.points.as_ref(), [18, 15])?;
        let functions = pair("--basis-functions", args.basis_functions.as_ref(), [5, 5])?;
        let (kind, basis) = (args.latent.unwrap_or_default(), args.basis.unwrap_or_default());
        if kind == LatentKind::Torus && basis == BasisKind::Sinh {
            return Err(Failure::new(
                "--basis sinh does not go around a torus: it has another value at each side of the seam",
                "take --basis rbf, or --latent grid or random",
            ));
        }
        if basis == BasisKind::Sinh && args.width.is_some() {
            return Err(Failure::new("--width is of RBFs, and --basis sinh has none", "leave --width out"));
        }
        let mut points = vec![T::zero(); 2 * sides[0] * sides[1]];
        match kind {
            LatentKind::Grid => grid_points(sides[0], sides[1], &mut points)?,
            LatentKind::Torus => torus_points(sides[0], sides[1], &mut points)?,
            LatentKind::Random => {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(1); // the first draws samples
                gaussian_points(SPREAD, CLIP, &mut rng, &mut points)?;
            }
        }
        let mut centres = vec![T::zero(); 2 * functions[0] * functions[1]];
        let most = functions[0].max(functions[1]) as f64;
        let spacing = match (basis, kind) {
            (BasisKind::Sinh, _) => {
                let radii: Vec<f64> =
                    (1..=functions[1]).map(|i| RADIUS * i as f64 / functions[1] as f64).collect();
                half_plane_centres(functions[0], &radii, &mut centres)?;
                0.5
            }
            (BasisKind::Rbf, LatentKind::Torus) => {
                torus_points(functions[0], functions[1], &mut centres)?;
                (2.0 / most).min(0.5)
            }
            (BasisKind::Rbf, _) => {
                grid_points(functions[0], functions[1], &mut centres)?;
                if most > 1.0 { 2.0 / (most - 1.0) } else { 0.5 }
            }
        };
        let width = args.width.unwrap_or(2.0 * spacing);
        let latent = Self { kind, sides, basis, width, centres, points };
        latent.functions()?;
        Ok(latent)
    }

    /// The basis functions.
    pub(crate) fn functions(&self) -> Result<Basis<'_, T>, GtmError> {
        let width = T::from_f64(self.width);
        match (self.basis, self.kind) {
            (BasisKind::Sinh, _) => Basis::sinh(&self.centres, 2),
            (BasisKind::Rbf, LatentKind::Torus) => Basis::rbf_on_torus(&self.centres, 2, width),
            (BasisKind::Rbf, _) => Basis::rbf(&self.centres, 2, width),
        }
    }

    /// How distances are measured.
    pub(crate) fn space(&self) -> Space {
        if self.kind == LatentKind::Torus { Space::Torus } else { Space::Plane }
    }

    /// For people: `18x15 points on a regular grid`.
    pub(crate) fn text(&self) -> String {
        let [nx, ny] = self.sides;
        match self.kind {
            LatentKind::Grid => format!("{nx}x{ny} points on a regular grid"),
            LatentKind::Random => format!("{} random points", nx * ny),
            LatentKind::Torus => format!("{nx}x{ny} points on a torus"),
        }
    }

    /// For people: `25 RBFs of width 1`.
    pub(crate) fn basis_text(&self) -> String {
        let count = self.centres.len() / 2;
        match self.basis {
            BasisKind::Rbf => format!("{count} RBFs of width {:.3}", self.width),
            BasisKind::Sinh => format!("{count} sinh functions"),
        }
    }

    /// All but the tables.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "latent": self.kind.name(), "sides": self.sides, "basis": self.basis.name(), "width": self.width,
        })
    }

    /// From what a file says.
    pub(crate) fn from_json(about: &Value, points: Vec<T>, centres: Vec<T>) -> Option<Self> {
        let side = |axis: usize| usize::try_from(about.get("sides")?.get(axis)?.as_u64()?).ok();
        let text = |key: &str| about.get(key)?.as_str();
        let latent = Self {
            kind: LatentKind::from_name(text("latent")?)?,
            sides: [side(0)?, side(1)?],
            basis: BasisKind::from_name(text("basis")?)?,
            width: about.get("width")?.as_f64()?,
            centres,
            points,
        };
        let cells = latent.sides[0].checked_mul(latent.sides[1])?;
        (cells > 0 && latent.points.len() == cells.checked_mul(2)?).then_some(latent)
    }

    /// The cells of a page.
    pub(crate) fn frame(&self) -> Frame {
        let [nx, ny] = self.sides;
        let half = match self.kind {
            LatentKind::Random => {
                let reach = |axis: &[T]| axis.iter().fold(0.0, |most: f64, &x| most.max(x.to_f64().abs()));
                let (x, y) = self.points.split_at(nx * ny);
                [reach(x), reach(y)]
            }
            _ => [1.0; 2],
        };
        Frame { columns: nx, rows: ny, half, torus: self.kind == LatentKind::Torus }
    }
}

/// Two sides, or what is usual.
fn pair(option: &str, sides: Option<&Sides>, defaults: [usize; 2]) -> Result<[usize; 2], Failure> {
    let Some(sides) = sides else { return Ok(defaults) };
    let &[x, y] = sides.0.as_slice() else {
        return Err(Failure::new(
            format_args!("{option} {sides} has {} sides, a plane has two", sides.0.len()),
            format_args!("take two sides, such as {option} {}x{}", defaults[0], defaults[1]),
        ));
    };
    match x.checked_mul(y) {
        Some(points) if points <= MAX_CELLS => Ok([x, y]),
        _ => Err(Failure::new(
            format_args!("{option} {sides} are more than {}", thousands(MAX_CELLS)),
            "take fewer",
        )),
    }
}

/// Rows and columns of cells over a latent space: the points of a regular grid are their centres. The first row is the
/// top, where the second coordinate is largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) half: [f64; 2], // the outermost centres are at so much
    pub(crate) torus: bool,
}

impl Frame {
    /// Row and column of a place, in cells.
    pub(crate) fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let along = |x: f64, half: f64, n: usize| {
            let n = n as f64;
            if self.torus {
                // Cells of a period; `n - 1` and -1 are the same.
                let cells = (x + 1.0) / 2.0 * n + 0.5;
                cells - (cells / n).floor() * n
            } else if n > 1.0 && half > 0.0 {
                ((x / half + 1.0) / 2.0 * (n - 1.0) + 0.5).clamp(0.0, n)
            } else {
                n / 2.0
            }
        };
        let up = along(y, self.half[1], self.rows);
        [self.rows as f64 - up, along(x, self.half[0], self.columns)]
    }

    /// The cell of a place, row-major.
    pub(crate) fn cell(&self, place: [f64; 2]) -> usize {
        let [row, column] = self.place(place);
        let last = |x: f64, n: usize| (x as usize).min(n - 1);
        last(row, self.rows) * self.columns + last(column, self.columns)
    }

    /// The place at the centre of a cell.
    pub(crate) fn centre(&self, cell: usize) -> [f64; 2] {
        let along = |i: usize, half: f64, n: usize| {
            if self.torus {
                -1.0 + 2.0 * i as f64 / n as f64
            } else if n > 1 {
                half * (-1.0 + 2.0 * i as f64 / (n - 1) as f64)
            } else {
                0.0
            }
        };
        let (row, column) = (cell / self.columns, cell % self.columns);
        [along(column, self.half[0], self.columns), along(self.rows - 1 - row, self.half[1], self.rows)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_of_a_cell_is_in_it() {
        for torus in [false, true] {
            for (columns, rows) in [(18, 15), (1, 4), (1, 1), (7, 2)] {
                let frame = Frame { columns, rows, half: [1.0; 2], torus };
                for cell in 0..columns * rows {
                    assert_eq!(frame.cell(frame.centre(cell)), cell, "{frame:?}");
                }
            }
        }
    }

    #[test]
    fn up_is_up_and_edges_hold() {
        let frame = Frame { columns: 3, rows: 5, half: [1.0; 2], torus: false };
        assert_eq!((frame.place([-1.0, 1.0]), frame.place([1.0, -1.0])), ([0.5, 0.5], [4.5, 2.5]));
        assert_eq!(frame.place([9.0, 9.0]), [0.0, 3.0]);
        let around = Frame { torus: true, ..frame };
        // Halfway between the last and the first of three columns at -1, -1/3 and 1/3: exact up to a few roundings.
        assert!(
            (around.place([2.0 / 3.0, -1.0])[1] - 3.0).abs() < 1e-12
                || around.place([2.0 / 3.0, -1.0])[1] < 1e-12
        );
    }
}
