use countgrid_em::{Table, elements};

use crate::GtmError;

/// What a count of a document is, given a latent point.
///
/// Example: [`Shape`](crate::Shape).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EmissionModel {
    /// Zero-inflated Poisson: with probability `p` a count is forced to 0, otherwise its rate is `λ`.
    Zip(Inflation),
    /// Poisson.
    Poisson,
    /// Bernoulli: whether a term occurs.
    Bernoulli,
    /// Multinomial: which terms the tokens are.
    Multinomial,
    /// Gaussian with one precision `β` for all.
    Gaussian,
}

/// On what the inflation probability of a zero-inflated map depends.
///
/// Example: [`Shape`](crate::Shape).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Inflation {
    /// On the term, and on covariates of the document if there are any: `η = G Γ`.
    #[default]
    Document,
    /// On the term and the latent point: `η = Φ Γ`.
    Latent,
}

impl EmissionModel {
    /// All of them, the most usual first.
    pub const ALL: [Self; 6] = [
        Self::Zip(Inflation::Document),
        Self::Zip(Inflation::Latent),
        Self::Poisson,
        Self::Bernoulli,
        Self::Multinomial,
        Self::Gaussian,
    ];
    /// A name for files: `zip`, `zip-latent`, `poisson`, `bernoulli`, `multinomial`, `gaussian`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zip(Inflation::Document) => "zip",
            Self::Zip(Inflation::Latent) => "zip-latent",
            Self::Poisson => "poisson",
            Self::Bernoulli => "bernoulli",
            Self::Multinomial => "multinomial",
            Self::Gaussian => "gaussian",
        }
    }
    /// The emission model of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|emission_model| emission_model.name() == name)
    }
    pub(crate) const fn is_zip(self) -> bool {
        matches!(self, Self::Zip(_))
    }
}

/// How distances between latent points are measured.
///
/// Example: [`Shape`](crate::Shape).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Space {
    /// As on a sheet of paper.
    #[default]
    Plane,
    /// On a torus of period 2 along every axis: the edges of `[-1, 1)` are glued together.
    Torus,
}

/// The sizes of a map: `K` latent points in `L` dimensions, `M` basis functions (the constant among them), `D`
/// features; and the emission model of its counts.
///
/// ```
/// use countgrid_gtm::{EmissionModel, Inflation, Shape, constant};
/// let shape = Shape::new(EmissionModel::Zip(Inflation::Document), 18 * 15, 2, 26, 329)?;
/// assert_eq!(shape.points(), 270);
/// const IN_FLASH: Shape = constant!(Shape::new(EmissionModel::Poisson, 25, 2, 10, 329));
/// assert_eq!(IN_FLASH.points(), 25);
/// # Ok::<(), countgrid_gtm::GtmError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::ShapeFields")
)]
pub struct Shape {
    emission_model: EmissionModel,
    space: Space,
    points: usize,
    axes: usize,
    columns: usize,
    features: usize,
    profiles: usize,   // distinct rows of covariates
    covariates: usize, // of a row, the intercept among them
    general: bool,
} // every size at least 1; no table longer than isize::MAX

impl Shape {
    /// Sizes of a map.
    ///
    /// # Errors
    /// [`GtmError::Empty`], [`GtmError::TooLarge`].
    pub const fn new(
        emission_model: EmissionModel,
        points: usize,
        axes: usize,
        columns: usize,
        features: usize,
    ) -> Result<Self, GtmError> {
        let shape = Self {
            emission_model,
            space: Space::Plane,
            points,
            axes,
            columns,
            features,
            profiles: 1,
            covariates: 1,
            general: false,
        };
        shape.check()
    }

    /// On another space.
    #[must_use]
    pub const fn on(self, space: Space) -> Self {
        Self { space, ..self }
    }

    /// Inflation of documents depends on `covariates` known of them, the intercept among them; they have
    /// `profiles` different rows of these. The costs are those of [`Shape::general`].
    ///
    /// # Errors
    /// [`GtmError::EmissionModel`] unless the emission model is [`EmissionModel::Zip`] of [`Inflation::Document`]; as
    /// [`Shape::new`].
    pub const fn with_profiles(self, profiles: usize, covariates: usize) -> Result<Self, GtmError> {
        if !matches!(self.emission_model, EmissionModel::Zip(Inflation::Document)) {
            return Err(GtmError::EmissionModel { what: "covariates of documents" });
        }
        Self { profiles, covariates, general: true, ..self }.check()
    }

    /// The path that takes exposures and covariates of zero-inflated counts, at a cost of `O(N K D)` exponentials
    /// an iteration where the other one has `O(K D)`. Without them both give the same results up to rounding.
    /// Other emission models have one path.
    #[must_use]
    pub const fn general(self) -> Self {
        Self { general: self.emission_model.is_zip(), ..self }
    }

    const fn check(self) -> Result<Self, GtmError> {
        let sizes = [
            ("latent points", self.points),
            ("latent dimensions", self.axes),
            ("basis functions", self.columns),
            ("features", self.features),
            ("profiles", self.profiles),
            ("covariates", self.covariates),
        ];
        let mut i = 0;
        while i < sizes.len() {
            if sizes[i].1 == 0 {
                return Err(GtmError::Empty { size: sizes[i].0 });
            }
            i += 1;
        }
        // The widest table, several times over, so that no sum of lengths overflows.
        let mut wide = self.points;
        if self.columns > wide {
            wide = self.columns;
        }
        if self.profiles > wide {
            wide = self.profiles;
        }
        if self.covariates > wide {
            wide = self.covariates;
        }
        let tall = self.features.saturating_add(wide).saturating_add(self.axes);
        match wide.checked_mul(tall) {
            Some(n) if n < isize::MAX as usize / 64 => Ok(self),
            _ => Err(GtmError::TooLarge { points: self.points, features: self.features }),
        }
    }

    /// The distribution of a count.
    #[must_use]
    pub const fn emission_model(&self) -> EmissionModel {
        self.emission_model
    }
    /// The latent space.
    #[must_use]
    pub const fn space(&self) -> Space {
        self.space
    }
    /// `K`.
    #[must_use]
    pub const fn points(&self) -> usize {
        self.points
    }
    /// `L`.
    #[must_use]
    pub const fn axes(&self) -> usize {
        self.axes
    }
    /// `M`.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }
    /// `D`.
    #[must_use]
    pub const fn features(&self) -> usize {
        self.features
    }
    /// Different rows of covariates.
    #[must_use]
    pub const fn profiles(&self) -> usize {
        self.profiles
    }
    /// `P`.
    #[must_use]
    pub const fn covariates(&self) -> usize {
        self.covariates
    }
    /// Whether [`Shape::general`] was asked for, or is needed.
    #[must_use]
    pub const fn is_general(&self) -> bool {
        self.general
    }

    /// Elements of a feature's row of inflation weights: `P`, `M` or none.
    pub(crate) const fn inflation_columns(&self) -> usize {
        match self.emission_model {
            EmissionModel::Zip(Inflation::Document) => self.covariates,
            EmissionModel::Zip(Inflation::Latent) => self.columns,
            _ => 0,
        }
    }

    const fn some(rows: usize, wanted: bool) -> usize {
        if wanted { rows } else { 0 }
    }

    pub(crate) const fn map_layout(&self) -> [Table; 10] {
        let document = matches!(self.emission_model, EmissionModel::Zip(Inflation::Document));
        [
            Table::new("points", self.axes, self.points),
            Table::new("basis", self.columns, self.points),
            Table::new("profiles", Self::some(self.covariates, document), self.profiles),
            Table::new("weight_precision", 1, self.columns),
            Table::new("inflation_prior", 2, self.inflation_columns()),
            Table::new("mixing", 1, self.points),
            Table::new("precision", 1, 1),
            Table::new("reference", 1, 1),
            Table::new("weights", self.features, self.columns),
            Table::new("inflation", self.features, self.inflation_columns()),
        ]
    }

    pub(crate) const fn emissions_layout(&self) -> [Table; 9] {
        let (zip, document) = (
            self.emission_model.is_zip(),
            matches!(self.emission_model, EmissionModel::Zip(Inflation::Document)),
        );
        let bernoulli = matches!(self.emission_model, EmissionModel::Bernoulli);
        let eta = if document { self.covariates } else { self.points };
        [
            Table::new("points", self.axes, self.points),
            Table::new("log_mixing", 1, self.points),
            Table::new("zeros", 1, self.points),
            Table::new("precision", 1, 1),
            Table::new("reference", 1, 1),
            Table::new("slope", Self::some(self.features, !bernoulli), self.points),
            Table::new("step", Self::some(self.features, zip || bernoulli), self.points),
            Table::new("inflation", Self::some(self.features, self.general), eta),
            Table::new("profiles", Self::some(self.covariates, self.general && document), self.profiles),
        ]
    }

    pub(crate) const fn sums_layout(&self) -> [Table; 7] {
        let (zip, bernoulli) =
            (self.emission_model.is_zip(), matches!(self.emission_model, EmissionModel::Bernoulli));
        let document = matches!(self.emission_model, EmissionModel::Zip(Inflation::Document));
        let trials = self.trials();
        [
            Table::new("counts", Self::some(self.features, !bernoulli), self.points),
            Table::new("present", Self::some(self.features, zip || bernoulli), self.points),
            Table::new("documents", 1, self.points),
            Table::new("exposure", 1, self.points),
            Table::new("inflated", Self::some(self.features, self.general), trials),
            Table::new("profiles", Self::some(1, self.general && document), self.profiles),
            Table::new("totals", 1, 2),
        ]
    }

    /// Elements of a row of the inflated: profiles, or points.
    pub(crate) const fn trials(&self) -> usize {
        let document = matches!(self.emission_model, EmissionModel::Zip(Inflation::Document));
        if document { self.profiles } else { self.points }
    }

    /// Elements of a [`Gtm`](crate::Gtm).
    #[must_use]
    pub const fn map_len(&self) -> usize {
        length(&self.map_layout())
    }
    /// Elements of [`Emissions`](crate::Emissions).
    #[must_use]
    pub const fn emissions_len(&self) -> usize {
        length(&self.emissions_layout())
    }
    /// Elements of the sums of [`Statistics`](crate::Statistics).
    #[must_use]
    pub const fn sums_len(&self) -> usize {
        length(&self.sums_layout())
    }
    /// Elements of scratch that placing one document needs besides its posterior; 0 on the fast path.
    #[must_use]
    pub const fn posterior_scratch_len(&self) -> usize {
        if self.general { self.features } else { 0 }
    }
    /// Elements of scratch of an E-step.
    #[must_use]
    pub const fn scratch_len(&self) -> usize {
        2 * self.points + self.posterior_scratch_len()
    }
    /// Elements of scratch of an E-step that places `chunk` documents together, for threads to share; no result depends
    /// on it. `usize::MAX` if they cannot be counted.
    #[must_use]
    pub const fn chunk_scratch_len(&self, chunk: usize) -> usize {
        if chunk < 2 { self.scratch_len() } else { chunk.saturating_mul(self.scratch_len() + RESULTS) }
    }
    /// `f64`s that an M-step works in.
    #[must_use]
    pub const fn workspace_len(&self) -> usize {
        let (rows, columns) = (self.rows(), self.widest());
        self.columns * self.points
            + self.covariates * self.profiles
            + ROWS * rows
            + columns * columns
            + 3 * columns
    }
    /// The longest row of a column's regression.
    pub(crate) const fn rows(&self) -> usize {
        if self.points > self.profiles { self.points } else { self.profiles }
    }
    /// Its most coefficients.
    pub(crate) const fn widest(&self) -> usize {
        if self.columns > self.covariates { self.columns } else { self.covariates }
    }
}

/// Numbers that are kept of a document which is placed together with others.
pub(crate) const RESULTS: usize = 5;

/// Rows of numbers that an M-step keeps.
pub(crate) const ROWS: usize = 10;

const fn length(layout: &[Table]) -> usize {
    match elements(layout) {
        Some(length) => length,
        None => usize::MAX, // not for a checked shape
    }
}
