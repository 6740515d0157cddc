use core::marker::PhantomData;

use countgrid_em::{Table, Tables, TablesExt, TablesMut, TablesMutExt};
use countgrid_math::Real;

use crate::{EmissionModel, GtmError, Inflation, Shape, error::same_length};

/// Ridge: independent Gaussian priors of the weights. Precisions are at least 0.
///
/// Example: [`Learner`](crate::Learner).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Priors {
    /// Precision of the weights of basis functions, `b_w` (default 0.1).
    pub weights: f64,
    /// That of the constant column, the last: a log rate of -4 is usual (default 1e-3).
    pub constant: f64,
    /// Precision of the inflation weights, `b_γ` (default 0.1).
    pub inflation: f64,
    /// Mean of the inflation intercept; of other inflation weights it is 0 (default -1, a probability of 0.27).
    pub inflation_mean: f64,
}

impl Default for Priors {
    fn default() -> Self {
        Self { weights: 0.1, constant: 1e-3, inflation: 0.1, inflation_mean: -1.0 }
    }
}

/// A topographic map: latent points, what the basis functions are there, and the parameters. One buffer.
///
/// | table | | |
/// |---|---|---|
/// | `points` | `[axis][point]` | `X`, latent points |
/// | `basis` | `[column][point]` | `Φ`, the constant column last |
/// | `profiles` | `[covariate][profile]` | `G`, rows of inflation covariates, the first of which is 1 |
/// | `weight_precision` | `[column]` | `b_w` |
/// | `inflation_prior` | `[2][covariate or column]` | `b_γ` and the mean `g` |
/// | `mixing` | `[point]` | `α`, sums to 1 |
/// | `precision` | one | `β`, of Gaussian maps |
/// | `reference` | one | tokens of a document of exposure 1, or 0: exposure is always 1 |
/// | `weights` | `[feature][column]` | `W` |
/// | `inflation` | `[feature][covariate or column]` | `Γ` |
///
/// `f = Φ W` is `ln λ`, the logit, the log-probability up to a constant of the point, or the mean.
///
/// ```
/// use countgrid_em::TablesExt;
/// use countgrid_gtm::{Basis, Gtm, Inflation, EmissionModel, Priors, Shape, grid_points};
///
/// let shape = Shape::new(EmissionModel::Zip(Inflation::Document), 9, 2, 5, 3)?;
/// let (mut points, mut centres, mut phi) = ([0.0; 18], [0.0; 8], [0.0; 45]);
/// grid_points(3, 3, &mut points)?;
/// grid_points(2, 2, &mut centres)?;
/// Basis::rbf(&centres, 2, 1.0)?.table(&points, &mut phi)?;
/// let map = Gtm::new_in(shape, &points, &phi, Priors::default(), vec![0.0; shape.map_len()])?;
/// assert_eq!(map.row("basis", 4), Some(&[1.0; 9][..])); // the constant column
/// # Ok::<(), countgrid_gtm::GtmError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gtm<T, S> {
    shape: Shape,
    layout: [Table; 10],
    storage: S, // of length `shape.map_len()`, finite
    scalar: PhantomData<T>,
}

/// Names of the tables that hold what is fitted; the others are given.
const FITTED: [&str; 4] = ["mixing", "precision", "weights", "inflation"];

impl<T: Real, S: AsRef<[T]>> Gtm<T, S> {
    /// A map from its tables.
    ///
    /// # Errors
    /// [`GtmError::Length`]; [`GtmError::NotFinite`]; [`GtmError::Range`] for a negative precision, mixing weight
    /// or reference, and for mixing weights that do not sum to 1 within 1e-3.
    pub fn new(shape: Shape, storage: S) -> Result<Self, GtmError> {
        let map = Self::unchecked(shape, storage)?;
        map.check()?;
        Ok(map)
    }

    fn unchecked(shape: Shape, storage: S) -> Result<Self, GtmError> {
        same_length("map", shape.map_len(), storage.as_ref().len())?;
        Ok(Self { shape, layout: shape.map_layout(), storage, scalar: PhantomData })
    }

    /// Whether the tables are what [`Gtm::new`] asks for.
    pub(crate) fn check(&self) -> Result<(), GtmError> {
        for (table, elements) in self.tables() {
            let name = table.name;
            let wrong = |at: usize| (at / table.columns.max(1), at % table.columns.max(1));
            if let Some(at) = elements.iter().position(|x| !x.is_finite()) {
                let (row, column) = wrong(at);
                return Err(GtmError::NotFinite { table: name, row, column });
            }
            let signed = match name {
                "weight_precision" | "mixing" | "reference" => elements,
                "inflation_prior" => elements.get(..table.columns).unwrap_or_default(),
                _ => &[],
            };
            let negative = signed.iter().position(|&x| x < T::zero());
            let none =
                (name == "precision").then(|| elements.iter().position(|&x| !(x > T::zero()))).flatten();
            if let Some(at) = negative.or(none) {
                let (row, column) = wrong(at);
                return Err(GtmError::Range { table: name, row, column });
            }
        }
        let total: f64 = self.mixing().iter().map(|&x| x.to_f64()).sum();
        if (total - 1.0).abs() <= 1e-3 {
            Ok(())
        } else {
            Err(GtmError::Range { table: "mixing", row: 0, column: 0 })
        }
    }

    /// The sizes and the emission model.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    pub(crate) fn part(&self, name: &str) -> &[T] {
        self.table(name).unwrap_or_default()
    }
    /// `α` `[point]`.
    pub fn mixing(&self) -> &[T] {
        self.part("mixing")
    }
    /// `β` of a Gaussian map.
    pub fn precision(&self) -> T {
        self.part("precision").first().copied().unwrap_or(T::one())
    }
    /// Tokens of a document of exposure 1; 0 if exposures do not follow from lengths.
    pub fn reference(&self) -> T {
        self.part("reference").first().copied().unwrap_or(T::zero())
    }
    /// `½ Σ b_w W² + ½ Σ b_γ (Γ - g)²`, in f64.
    pub(crate) fn penalty(&self) -> f64 {
        let mut penalty = 0.0;
        let rows = |table: &'static str, width: usize| self.part(table).chunks_exact(width.max(1));
        for row in rows("weights", self.shape.columns()) {
            for (&w, &b) in row.iter().zip(self.part("weight_precision")) {
                penalty += 0.5 * b.to_f64() * w.to_f64() * w.to_f64();
            }
        }
        let width = self.shape.inflation_columns();
        let (precision, mean) = self.inflation_prior();
        for row in rows("inflation", width) {
            for ((&g, &b), &m) in row.iter().zip(precision).zip(mean) {
                let distance = g.to_f64() - m.to_f64();
                penalty += 0.5 * b.to_f64() * distance * distance;
            }
        }
        penalty
    }
    pub(crate) fn inflation_prior(&self) -> (&[T], &[T]) {
        self.part("inflation_prior").split_at(self.shape.inflation_columns())
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Gtm<T, S> {
    /// A map in the given storage, which is overwritten: weights 0, inflation at its prior mean, equal mixing
    /// weights. `points` `[axis][point]`, `basis` `[column][point]`. A start for `Gtm::initialise`: being symmetric,
    /// it is a fixed point of the fit.
    ///
    /// # Errors
    /// [`GtmError::Length`]; [`GtmError::NotFinite`]; [`GtmError::Range`] for a negative precision.
    pub fn new_in(
        shape: Shape,
        points: &[T],
        basis: &[T],
        priors: Priors,
        storage: S,
    ) -> Result<Self, GtmError> {
        let mut map = Self::unchecked(shape, storage)?;
        same_length("points", shape.points() * shape.axes(), points.len())?;
        same_length("basis", shape.points() * shape.columns(), basis.len())?;
        map.storage.as_mut().fill(T::zero());
        map.part_mut("points").copy_from_slice(points);
        map.part_mut("basis").copy_from_slice(basis);
        map.part_mut("profiles").fill(T::one());
        let weights = map.part_mut("weight_precision");
        weights.fill(T::from_f64(priors.weights));
        if let Some(constant) = weights.last_mut() {
            *constant = T::from_f64(priors.constant);
        }
        let width = shape.inflation_columns();
        // The intercept comes first among covariates and last among basis functions.
        let intercept = if shape.emission_model() == EmissionModel::Zip(Inflation::Latent) {
            width.saturating_sub(1)
        } else {
            0
        };
        let (precision, mean) = map.part_mut("inflation_prior").split_at_mut(width);
        precision.fill(T::from_f64(priors.inflation));
        if let Some(mean) = mean.get_mut(intercept) {
            *mean = T::from_f64(priors.inflation_mean);
        }
        if let Some(g) = map.part_mut("inflation").chunks_exact_mut(width.max(1)).next() {
            g.get_mut(intercept).into_iter().for_each(|g| *g = T::from_f64(priors.inflation_mean));
        }
        let (first, rest) = map.part_mut("inflation").split_at_mut(width);
        rest.chunks_exact_mut(width.max(1)).for_each(|g| g.copy_from_slice(first));
        map.part_mut("mixing").fill(T::one() / T::from_f64(shape.points() as f64));
        map.part_mut("precision").fill(T::one());
        map.check()?;
        Ok(map)
    }

    /// Sets the rows of inflation covariates, `[covariate][profile]`.
    ///
    /// # Errors
    /// [`GtmError::EmissionModel`], [`GtmError::Length`], [`GtmError::NotFinite`].
    pub fn set_profiles(&mut self, profiles: &[T]) -> Result<(), GtmError> {
        if self.shape.emission_model() != EmissionModel::Zip(Inflation::Document) {
            return Err(GtmError::EmissionModel { what: "covariates of documents" });
        }
        same_length("profiles", self.part("profiles").len(), profiles.len())?;
        if let Some(at) = profiles.iter().position(|x| !x.is_finite()) {
            let (row, column) = (at / self.shape.profiles(), at % self.shape.profiles());
            return Err(GtmError::NotFinite { table: "profiles", row, column });
        }
        self.part_mut("profiles").copy_from_slice(profiles);
        Ok(())
    }

    /// From now on the exposure of a document is its length divided by `reference` tokens, such as the mean length.
    /// A document of less than one token counts as one of one. 0 turns it off.
    ///
    /// # Errors
    /// [`GtmError::EmissionModel`] if the emission model has no rate, [`GtmError::NeedsGeneral`],
    /// [`GtmError::Setting`].
    pub fn set_reference(&mut self, reference: T) -> Result<(), GtmError> {
        match self.shape.emission_model() {
            _ if !(reference >= T::zero() && reference.is_finite()) => {
                return Err(GtmError::Setting { name: "reference" });
            }
            EmissionModel::Zip(_) if reference > T::zero() && !self.shape.is_general() => {
                return Err(GtmError::NeedsGeneral);
            }
            EmissionModel::Zip(_) | EmissionModel::Poisson => {}
            _ => return Err(GtmError::EmissionModel { what: "exposure" }),
        }
        self.part_mut("reference").fill(reference);
        Ok(())
    }

    /// Sets a table that is fitted, `mixing`, `precision`, `weights` or `inflation`, or a prior,
    /// `weight_precision` or `inflation_prior`.
    ///
    /// # Errors
    /// [`GtmError::Length`], also for another name; as [`Gtm::new`], and the map is then as it was.
    pub fn set(&mut self, table: &'static str, elements: &[T]) -> Result<(), GtmError> {
        let known = FITTED.contains(&table) || ["weight_precision", "inflation_prior"].contains(&table);
        let expected = if known { self.part(table).len() } else { 0 };
        same_length(table, expected, elements.len())?;
        self.swap(table, elements)
    }

    fn swap(&mut self, table: &'static str, elements: &[T]) -> Result<(), GtmError> {
        let in_range = |x: &T| {
            x.is_finite()
                && match table {
                    "mixing" | "weight_precision" => *x >= T::zero(),
                    "precision" => *x > T::zero(),
                    _ => true,
                }
        };
        let width =
            self.layout.iter().find(|found| found.name == table).map_or(1, |found| found.columns.max(1));
        if let Some(at) = elements.iter().position(|x| !in_range(x)) {
            return Err(GtmError::Range { table, row: at / width, column: at % width });
        }
        let total: f64 = elements.iter().map(|&x| x.to_f64()).sum();
        let negative = elements.iter().take(width).position(|&b| b < T::zero());
        if table == "mixing" && !((total - 1.0).abs() <= 1e-3) {
            return Err(GtmError::Range { table, row: 0, column: 0 });
        }
        if let (Some(column), "inflation_prior") = (negative, table) {
            return Err(GtmError::Range { table, row: 0, column });
        }
        self.part_mut(table).copy_from_slice(elements);
        Ok(())
    }

    pub(crate) fn part_mut(&mut self, name: &str) -> &mut [T] {
        self.table_mut(name).unwrap_or_default()
    }
}

#[cfg(feature = "alloc")]
impl<T: Real> Gtm<T, countgrid_math::AlignedVec<T>> {
    /// [`Gtm::new_in`] in memory that it allocates.
    ///
    /// # Errors
    /// [`GtmError::TooLarge`] if the allocator refuses; as [`Gtm::new_in`].
    pub fn allocate(shape: Shape, points: &[T], basis: &[T], priors: Priors) -> Result<Self, GtmError> {
        Self::new_in(shape, points, basis, priors, allocate(&shape, shape.map_len())?)
    }
}

/// Zeros, or the shape that does not fit into memory.
#[cfg(feature = "alloc")]
pub(crate) fn allocate<T: Real>(
    shape: &Shape,
    len: usize,
) -> Result<countgrid_math::AlignedVec<T>, GtmError> {
    let (points, features) = (shape.points(), shape.features());
    countgrid_math::AlignedVec::zeroed(len).map_err(|_| GtmError::TooLarge { points, features })
}

impl<T: Real, S: AsRef<[T]>> Tables for Gtm<T, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }
    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Gtm<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}
