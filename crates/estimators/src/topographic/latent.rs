//! The latent space of a map: its points and its basis functions.

use countgrid_gtm::{Basis, GtmError, Space, gaussian_points, grid_points, half_plane_centres, torus_points};
use countgrid_math::Real;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde_json::{Value, json};

use super::{BasisKind, CellFrame, LatentKind, TopographicOptions};
use crate::{EstimatorError, Stored, blocks::zeros};

/// Standard deviation of random points, and beyond how many deviations one is drawn again.
const SPREAD: f64 = 0.55;
const CLIP: f64 = 2.5;
/// The largest radius of the centres of sinh functions.
const RADIUS: f64 = 0.625;
/// The stream of random numbers for random points; the first is that of samples of a corpus.
const STREAM: u64 = 1;

/// The latent space of a map: points on a plane or a torus of two axes from -1 to 1, with the basis functions.
///
/// ```
/// use countgrid_estimators::{LatentSpace, TopographicOptions};
/// let latent = LatentSpace::<f32>::new(&TopographicOptions::default())?;
/// assert_eq!(latent.points().len(), 2 * 18 * 15);
/// assert_eq!(latent.describe_points(), "18x15 points on a regular grid");
/// assert_eq!(latent.describe_basis(), "25 RBFs of width 1.000");
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LatentSpace<T> {
    kind: LatentKind,
    sides: [usize; 2], // each at least 1
    basis: BasisKind,
    width: f64,      // of RBFs
    centres: Vec<T>, // [axis][centre]
    points: Vec<T>,  // [axis][point], 2 × the product of the sides
}

impl<T: Stored> LatentSpace<T> {
    /// The space that options ask for.
    ///
    /// # Errors
    /// Those of [`TopographicOptions::validate`]; [`EstimatorError::Gtm`] for no points or functions and for a width out of
    /// its range; [`EstimatorError::Memory`].
    pub fn new(options: &TopographicOptions) -> Result<Self, EstimatorError> {
        options.validate()?;
        let (sides, functions) = (options.points, options.basis_functions);
        let (kind, basis) = (options.latent, options.basis);
        let mut points = zero_coordinates(sides, "latent points")?;
        match kind {
            LatentKind::Grid => grid_points(sides[0], sides[1], &mut points)?,
            LatentKind::Torus => torus_points(sides[0], sides[1], &mut points)?,
            LatentKind::Random => {
                let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
                rng.set_stream(STREAM);
                gaussian_points(SPREAD, CLIP, &mut rng, &mut points)?;
            }
        }
        let mut centres = zero_coordinates(functions, "basis functions")?;
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
        let width = options.width.unwrap_or(2.0 * spacing);
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

    /// How points are arranged.
    #[must_use]
    pub fn kind(&self) -> LatentKind {
        self.kind
    }

    /// Points along each axis; for random points the cells of pictures along each axis.
    #[must_use]
    pub fn sides(&self) -> [usize; 2] {
        self.sides
    }

    /// The kind of basis functions.
    #[must_use]
    pub fn basis(&self) -> BasisKind {
        self.basis
    }

    /// Width of RBFs.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Centres of the basis functions, `[axis][centre]`.
    #[must_use]
    pub fn centres(&self) -> &[T] {
        &self.centres
    }

    /// The points, `[axis][point]`.
    #[must_use]
    pub fn points(&self) -> &[T] {
        &self.points
    }

    /// How distances are measured.
    #[must_use]
    pub fn space(&self) -> Space {
        if self.kind == LatentKind::Torus { Space::Torus } else { Space::Plane }
    }

    /// As text: `18x15 points on a regular grid`.
    #[must_use]
    pub fn describe_points(&self) -> String {
        let [nx, ny] = self.sides;
        match self.kind {
            LatentKind::Grid => format!("{nx}x{ny} points on a regular grid"),
            LatentKind::Random => format!("{} random points", nx * ny),
            LatentKind::Torus => format!("{nx}x{ny} points on a torus"),
        }
    }

    /// As text: `25 RBFs of width 1.000`.
    #[must_use]
    pub fn describe_basis(&self) -> String {
        let count = self.centres.len() / 2;
        match self.basis {
            BasisKind::Rbf => format!("{count} RBFs of width {:.3}", self.width),
            BasisKind::Sinh => format!("{count} sinh functions"),
        }
    }

    /// All but the tables, as model files have it: `latent`, `sides`, `basis`, `width`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "latent": self.kind.name(), "sides": self.sides, "basis": self.basis.name(), "width": self.width,
        })
    }

    /// From the description in a file.
    pub(crate) fn from_json(value: &Value, points: Vec<T>, centres: Vec<T>) -> Option<Self> {
        let side = |axis: usize| usize::try_from(value.get("sides")?.get(axis)?.as_u64()?).ok();
        let text = |key: &str| value.get(key)?.as_str();
        let latent = Self {
            kind: LatentKind::from_name(text("latent")?)?,
            sides: [side(0)?, side(1)?],
            basis: BasisKind::from_name(text("basis")?)?,
            width: value.get("width")?.as_f64()?,
            centres,
            points,
        };
        let cells = latent.sides[0].checked_mul(latent.sides[1])?;
        (cells > 0 && latent.points.len() == cells.checked_mul(2)?).then_some(latent)
    }

    /// Rows and columns of cells over the space.
    #[must_use]
    pub fn frame(&self) -> CellFrame {
        let [nx, ny] = self.sides;
        let half = match self.kind {
            LatentKind::Random => {
                let reach =
                    |axis: &[T]| axis.iter().fold(0.0, |most: f64, x| most.max(Real::to_f64(*x).abs()));
                let (x, y) = self.points.split_at(nx * ny);
                [reach(x), reach(y)]
            }
            _ => [1.0; 2],
        };
        CellFrame { columns: nx, rows: ny, half, torus: self.kind == LatentKind::Torus }
    }
}

/// Two coordinates of so many points.
fn zero_coordinates<T: Stored>([x, y]: [usize; 2], size: &'static str) -> Result<Vec<T>, EstimatorError> {
    let coordinates = x.checked_mul(y).and_then(|points| points.checked_mul(2)).unwrap_or(usize::MAX);
    if coordinates == 0 {
        return Err(GtmError::Empty { size }.into());
    }
    zeros(coordinates)
}
