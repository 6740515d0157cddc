use std::fmt;

use countgrid_em::EmOptions;
use countgrid_gtm::{EmissionModel, Inflation};

use crate::EstimatorError;

/// How the latent points of a map are arranged.
///
/// Example: [`TopographicOptions`](crate::TopographicOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum LatentKind {
    /// On a regular grid.
    #[default]
    Grid,
    /// Drawn from a Gaussian, by the seed.
    Random,
    /// On a regular grid on a torus.
    Torus,
}

impl LatentKind {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Grid, Self::Random, Self::Torus];

    /// What model files and options call it: `grid`, `random`, `torus`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Random => "random",
            Self::Torus => "torus",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The kind of basis functions of a map.
///
/// Example: [`TopographicOptions`](crate::TopographicOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum BasisKind {
    /// Gaussian radial basis functions.
    #[default]
    Rbf,
    /// Hyperbolic sines.
    Sinh,
}

impl BasisKind {
    /// All of them, the default first.
    pub const ALL: [Self; 2] = [Self::Rbf, Self::Sinh];

    /// What model files and options call it: `rbf`, `sinh`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rbf => "rbf",
            Self::Sinh => "sinh",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The exposure of documents, which the rates of a map are proportional to.
///
/// Example: [`TopographicOptions`](crate::TopographicOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Exposure {
    /// None: rates are those of a whole document, whatever its length.
    #[default]
    None,
    /// The length of the document, in mean lengths of the documents fitted to.
    Length,
}

impl Exposure {
    /// All of them, the default first.
    pub const ALL: [Self; 2] = [Self::None, Self::Length];

    /// What model files and options call it: `none`, `length`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Length => "length",
        }
    }

    /// The exposure of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|exposure| exposure.name() == name)
    }
}

/// Why options of a map were refused. Sizes and widths are refused by the map itself ([`countgrid_gtm::GtmError`]).
///
/// Example: [`TopographicOptions`](crate::TopographicOptions).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum TopographicOptionError {
    /// Hyperbolic sines on a torus: they are not periodic.
    SinhOnTorus,
    /// A width for hyperbolic sines, which have none.
    WidthOfSinh,
    /// An exposure for an emission model without rates.
    ExposureWithoutRates { emission_model: EmissionModel },
}

impl fmt::Display for TopographicOptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SinhOnTorus => f.write_str(
                "sinh functions do not go around a torus: they have another value at each side of the seam",
            ),
            Self::WidthOfSinh => f.write_str("a width is of RBFs, and sinh functions have none"),
            Self::ExposureWithoutRates { emission_model } => write!(
                f,
                "exposure by length scales rates, and a {} emission model has none",
                emission_model.name()
            ),
        }
    }
}

impl std::error::Error for TopographicOptionError {}

/// Options of a topographic map.
///
/// ```
/// use countgrid_estimators::{BasisKind, LatentKind, TopographicOptionError, TopographicOptions, EstimatorError};
/// let options = TopographicOptions { latent: LatentKind::Torus, ..TopographicOptions::default() };
/// options.validate()?;
/// let refused = TopographicOptions { basis: BasisKind::Sinh, ..options }.validate();
/// assert!(matches!(refused, Err(EstimatorError::Topographic(TopographicOptionError::SinhOnTorus))));
/// # Ok::<(), EstimatorError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct TopographicOptions {
    /// The distribution of a count given its latent point.
    pub emission_model: EmissionModel,
    /// Latent points along each axis, at least 1; of random points there are as many as their product, and a picture has this
    /// many cells along each axis.
    pub points: [usize; 2],
    /// How latent points are arranged.
    pub latent: LatentKind,
    /// The kind of basis functions.
    pub basis: BasisKind,
    /// Basis functions besides the constant: RBFs along each axis, or directions and radii of sinh functions.
    pub basis_functions: [usize; 2],
    /// Width of RBFs, where the plane reaches from -1 to 1. By default two spacings of their centres.
    pub width: Option<f64>,
    /// The exposure, for Poisson and zero-inflated counts; with an exposure zero-inflated maps take several times as long.
    pub exposure: Exposure,
    /// Standard deviation of the initial responsibilities around the principal components of a document, in latent units,
    /// above 0.
    pub initial_spread: f64,
    /// Damped Newton steps of an iteration for each feature, at least 1.
    pub newton_steps: usize,
    /// The most iterations.
    pub iterations: usize,
    /// The fit ends once two iterations in a row change the objective by no more than this share of it, the second by no
    /// more than the first. Finite, not negative.
    pub tolerance: f64,
    /// Seed of the random points.
    pub seed: u64,
}

impl Default for TopographicOptions {
    /// Zero-inflated Poisson counts at 18 x 15 points of a grid under 5 x 5 RBFs; at most 60 iterations, a tolerance of
    /// 1e-5, the seed 1. The spread 0.3 and 3 Newton steps are those of the measurements in `docs/topographic.md`.
    fn default() -> Self {
        Self {
            emission_model: EmissionModel::Zip(Inflation::Document),
            points: [18, 15],
            latent: LatentKind::default(),
            basis: BasisKind::default(),
            basis_functions: [5, 5],
            width: None,
            exposure: Exposure::default(),
            initial_spread: 0.3,
            newton_steps: 3,
            iterations: 60,
            tolerance: 1e-5,
            seed: 1,
        }
    }
}

impl TopographicOptions {
    /// Checks the settings that do not depend on the data, before anything is read. A width and the numbers
    /// of points and functions are checked when they are used ([`crate::LatentSpace::new`]).
    ///
    /// # Errors
    /// [`EstimatorError::Topographic`]; [`EstimatorError::Option`] for the tolerance.
    pub fn validate(&self) -> Result<(), EstimatorError> {
        EmOptions { iterations: self.iterations, tolerance: self.tolerance }.check()?;
        if self.basis == BasisKind::Sinh && self.latent == LatentKind::Torus {
            return Err(TopographicOptionError::SinhOnTorus.into());
        }
        if self.basis == BasisKind::Sinh && self.width.is_some() {
            return Err(TopographicOptionError::WidthOfSinh.into());
        }
        let emission_model = self.emission_model;
        let rates = matches!(emission_model, EmissionModel::Poisson | EmissionModel::Zip(_));
        if self.exposure == Exposure::Length && !rates {
            return Err(TopographicOptionError::ExposureWithoutRates { emission_model }.into());
        }
        Ok(())
    }
}
