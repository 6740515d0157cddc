use core::marker::PhantomData;

use countgrid_counts::{Bags, Zip};
use countgrid_em::{Table, Tables, TablesExt, TablesMut, TablesMutExt};
use countgrid_math::{Kernel, Real, axpy, dispatch, dot, exp, ln, scale, softmax, softplus};

use crate::{
    Documents, EmissionModel, Gtm, GtmError, Inflation, Shape, Source, Space,
    basis::wrapped,
    emission_model::{base, highest_ln_rate},
    error::{long_enough, same_length},
    general::{Cells, add_zeros},
};

/// All that inference needs of a map, `[feature][point]`: also a constant table in flash. No linear algebra.
///
/// A document's score at point `k` is `ln α_k + Σ_j zero_kj + Σ_{j: t > 0} (step_kj + t slope_kj)`
/// ([`Line`](countgrid_counts::Line)), so it costs its entries times the points, without an exponential.
///
/// | table | | |
/// |---|---|---|
/// | `points` | `[axis][point]` | latent points |
/// | `log_mixing` | `[point]` | `ln α` |
/// | `zeros` | `[point]` | `Σ_j zero_kj` |
/// | `precision`, `reference` | one each | as in the map |
/// | `slope` | `[feature][point]` | not of Bernoulli maps |
/// | `step` | `[feature][point]` | of zero-inflated and Bernoulli maps; on the general path the rate |
/// | `inflation` | `[feature][covariate or point]` | on the general path: `Γ`, or `η` |
/// | `profiles` | `[covariate][profile]` | on the general path |
///
/// Rates above the square root of what the float type holds are taken to be that.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_gtm::{Emissions, EmissionModel, Shape};
///
/// let shape = Shape::new(EmissionModel::Poisson, 2, 1, 1, 2)?;
/// // points, ln α, -Σ λ, β, reference, ln λ of the first feature, of the second.
/// static FLASH: [f32; 12] = [-1., 1., -0.7, -0.7, -2., -2., 1., 0., 0.64, -0.7, -2.3, 0.4];
/// let map = Emissions::new(shape, FLASH.as_slice())?;
/// let (mut q, mut x) = ([0.0; 2], [0.0]);
/// map.posterior(&Bag::new(2, &[0], &[3_u8])?, 0, &mut q, &mut [])?;
/// map.mean(&q, &mut x)?;
/// assert!(q[0] > 0.97 && x[0] < -0.94 && map.mode(&q) == 0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Emissions<T, S> {
    shape: Shape,
    layout: [Table; 9],
    storage: S, // of length `shape.emissions_len()`, no NaN
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>> Emissions<T, S> {
    /// Tables as [`Emissions::from_map`] made them.
    ///
    /// # Errors
    /// [`GtmError::Length`]; [`GtmError::NotFinite`].
    pub fn new(shape: Shape, storage: S) -> Result<Self, GtmError> {
        let emissions = Self::unchecked(shape, storage)?;
        for (table, elements) in emissions.tables() {
            if let Some(at) = elements.iter().position(|x| !x.is_finite()) {
                let (row, column) = (at / table.columns.max(1), at % table.columns.max(1));
                return Err(GtmError::NotFinite { table: table.name, row, column });
            }
        }
        Ok(emissions)
    }

    fn unchecked(shape: Shape, storage: S) -> Result<Self, GtmError> {
        same_length("emissions", shape.emissions_len(), storage.as_ref().len())?;
        Ok(Self { shape, layout: shape.emissions_layout(), storage, scalar: PhantomData })
    }

    /// The sizes and the emission model.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// The same tables, borrowed.
    pub(crate) fn view(&self) -> Emissions<T, &[T]> {
        let Self { shape, layout, storage, .. } = self;
        Emissions { shape: *shape, layout: *layout, storage: storage.as_ref(), scalar: PhantomData }
    }
    pub(crate) fn part(&self, name: &str) -> &[T] {
        self.table(name).unwrap_or_default()
    }
    fn one(&self, name: &str) -> T {
        self.part(name).first().copied().unwrap_or_default()
    }

    /// The exposure of a document: what is known, or its length over the reference, or 1.
    pub(crate) fn exposure<D: Source<T>>(&self, documents: &D, n: usize) -> Result<T, GtmError> {
        if let Some(exposure) = documents.known_exposure(n) {
            return match self.shape.emission_model() {
                EmissionModel::Poisson => Ok(exposure),
                EmissionModel::Zip(_) if self.shape.is_general() => Ok(exposure),
                EmissionModel::Zip(_) => Err(GtmError::NeedsGeneral),
                _ => Err(GtmError::EmissionModel { what: "exposure" }),
            };
        }
        let reference = self.one("reference");
        if !(reference > T::zero()) {
            return Ok(T::one());
        }
        let tokens = documents.values(n).fold(0.0, |sum, (_, t)| sum + t.to_f64());
        let exposure = T::from_f64(tokens.max(1.0) / reference.to_f64());
        if exposure > T::zero() && exposure.is_finite() {
            Ok(exposure)
        } else {
            Err(GtmError::Overflow { document: n })
        }
    }

    /// The row of covariates of a document.
    pub(crate) fn profile<D: Source<T>>(&self, documents: &D, n: usize) -> Result<usize, GtmError> {
        let (known, profiles) = (documents.known_profile(n), self.shape.profiles());
        match known {
            Some(profile) if profile < profiles => Ok(profile),
            None if profiles == 1 => Ok(0),
            // The profile of a document is required when there are several.
            _ => Err(GtmError::NoSuchProfile { document: n, profile: known.unwrap_or(profiles), profiles }),
        }
    }

    /// `ln α_k + ln p(t_n | k)` but for what no point changes, written to `scores` `[point]`; returns what was left out.
    pub(crate) fn scores<D: Source<T>>(
        &self,
        documents: &D,
        n: usize,
        scores: &mut [T],
        scratch: &mut [T],
    ) -> Result<f64, GtmError> {
        let (shape, values) = (&self.shape, documents.values(n));
        let exposure = self.exposure(documents, n)?;
        let profile = self.profile(documents, n)?;
        scores.iter_mut().zip(self.part("log_mixing")).for_each(|(score, &log)| *score = log);
        if shape.is_general() {
            let cells = Cells::new(self, exposure, profile, scratch);
            add_zeros(&cells, values.clone(), scores);
        } else {
            let _ = axpy(exposure, self.part("zeros"), scores);
            let rows = |name| self.part(name).chunks_exact(shape.points());
            let (slope, step) = (rows("slope"), rows("step"));
            for (j, t) in values.clone() {
                if let Some(slope) = slope.clone().nth(j) {
                    let _ = axpy(t, slope, scores);
                }
                if let Some(step) = step.clone().nth(j) {
                    let _ = axpy(T::one(), step, scores);
                }
            }
        }
        Ok(base(shape.emission_model(), shape.features(), self.one("precision"), exposure, values))
    }

    pub(crate) fn check_width<D: Source<T>>(&self, documents: &D) -> Result<(), GtmError> {
        let (expected, found) = (self.shape.features(), documents.width());
        if expected != found {
            return Err(GtmError::Features { expected, found });
        }
        if D::SIGNED && self.shape.emission_model() != EmissionModel::Gaussian {
            return Err(GtmError::EmissionModel { what: "values below 0" });
        }
        Ok(())
    }

    fn infer<D: Source<T>>(
        &self,
        documents: &D,
        n: usize,
        q: &mut [T],
        scratch: &mut [T],
    ) -> Result<f64, GtmError> {
        self.check_width(documents)?;
        if n >= documents.documents() {
            return Err(GtmError::NoSuchDocument { document: n, documents: documents.documents() });
        }
        same_length("q", self.shape.points(), q.len())?;
        long_enough("scratch", self.shape.posterior_scratch_len(), scratch.len())?;
        let base = self.scores(documents, n, q, scratch)?;
        if base.is_finite() && q.iter().all(|q| *q < T::infinity()) && q.iter().any(|q| q.is_finite()) {
            Ok(base)
        } else {
            Err(GtmError::Overflow { document: n })
        }
    }

    /// `ln α_k + ln p(t_n | k)` of bag `n` at every point, written to `joint` `[point]`, in nats.
    ///
    /// `scratch`: at least [`Shape::posterior_scratch_len`] elements.
    ///
    /// # Errors
    /// Those of [`Emissions::posterior_of`].
    pub fn log_joint<D: Source<T>>(
        &self,
        documents: &D,
        n: usize,
        joint: &mut [T],
        scratch: &mut [T],
    ) -> Result<(), GtmError> {
        let base = T::from_f64(self.infer(documents, n, joint, scratch)?);
        joint.iter_mut().for_each(|joint| *joint += base);
        Ok(())
    }

    /// Where bag `n` is: responsibilities `r_nk`, written to `q` `[point]`. Returns `ln p(t_n)` in nats.
    ///
    /// `scratch`: at least [`Shape::posterior_scratch_len`] elements, none on the fast path.
    ///
    /// # Errors
    /// Those of [`Emissions::posterior_of`].
    pub fn posterior<B: Bags>(
        &self,
        bags: &B,
        n: usize,
        q: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, GtmError> {
        self.posterior_of(&Documents::new(bags), n, q, scratch)
    }

    /// [`Emissions::posterior`] of bags with exposures or covariates, or of rows of numbers.
    ///
    /// # Errors
    /// [`GtmError::Features`], [`GtmError::NoSuchDocument`], [`GtmError::Length`], [`GtmError::NoSuchProfile`],
    /// [`GtmError::NeedsGeneral`], [`GtmError::EmissionModel`], [`GtmError::Overflow`].
    pub fn posterior_of<D: Source<T>>(
        &self,
        documents: &D,
        n: usize,
        q: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, GtmError> {
        let base = self.infer(documents, n, q, scratch)?;
        Ok(T::from_f64(softmax(q).to_f64() + base))
    }

    /// Posterior mean `Σ_k q_k x_k`, written to `x` `[axis]`. On a torus that of the differences from the mode, each
    /// the short way round.
    ///
    /// # Errors
    /// [`GtmError::Length`].
    pub fn mean(&self, q: &[T], x: &mut [T]) -> Result<(), GtmError> {
        same_length("q", self.shape.points(), q.len())?;
        same_length("x", self.shape.axes(), x.len())?;
        let mode = self.mode(q);
        for (x, plane) in x.iter_mut().zip(self.part("points").chunks_exact(self.shape.points())) {
            *x = match self.shape.space() {
                Space::Plane => dot(q, plane).unwrap_or_default(),
                Space::Torus => {
                    let origin = plane.get(mode).copied().unwrap_or_default();
                    let offsets = q.iter().zip(plane).map(|(&q, &x)| q * wrapped(x - origin));
                    wrapped(origin + offsets.fold(T::zero(), |sum, term| sum + term))
                }
            };
        }
        Ok(())
    }

    /// The most probable point, the first of equals.
    pub fn mode(&self, q: &[T]) -> usize {
        let mut best = (0, T::neg_infinity());
        for (k, &q) in q.iter().enumerate() {
            if q > best.1 {
                best = (k, q);
            }
        }
        best.0
    }

    /// A latent point, written to `x` `[axis]`.
    ///
    /// # Errors
    /// [`GtmError::Length`], also for a point that there is not.
    pub fn point(&self, k: usize, x: &mut [T]) -> Result<(), GtmError> {
        same_length("x", self.shape.axes(), x.len())?;
        for (x, plane) in x.iter_mut().zip(self.part("points").chunks_exact(self.shape.points())) {
            let found = self.shape.points();
            let expected = k.saturating_add(1);
            *x = *plane.get(k).ok_or(GtmError::Length { table: "points", expected, found })?;
        }
        Ok(())
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Emissions<T, S> {
    /// The tables of a map, written to `storage`.
    ///
    /// # Errors
    /// [`GtmError::Length`] unless `storage` has [`Shape::emissions_len`] elements.
    pub fn from_map<R: AsRef<[T]>>(map: &Gtm<T, R>, storage: S) -> Result<Self, GtmError> {
        let mut emissions = Self::unchecked(*map.shape(), storage)?;
        emissions.refresh(map);
        Ok(emissions)
    }

    pub(crate) fn part_mut(&mut self, name: &str) -> &mut [T] {
        self.table_mut(name).unwrap_or_default()
    }

    /// Brings the tables up to date with a map of the same shape.
    pub(crate) fn refresh<R: AsRef<[T]>>(&mut self, map: &Gtm<T, R>) {
        let (shape, points) = (self.shape, self.shape.points());
        for name in ["points", "precision", "reference"] {
            self.part_mut(name).copy_from_slice(map.part(name));
        }
        if shape.emission_model() == EmissionModel::Zip(Inflation::Document) && shape.is_general() {
            self.part_mut("profiles").copy_from_slice(map.part("profiles"));
        }
        let mut buffers = self.storage.as_mut();
        let mut take = |name: &str| {
            let length = self.layout.iter().find(|table| table.name == name).and_then(Table::elements);
            let (part, rest) = core::mem::take(&mut buffers).split_at_mut(length.unwrap_or(0));
            buffers = rest;
            part
        };
        let [_, log_mixing, zeros, _, _, slope, step, inflation, _] = [
            "points",
            "log_mixing",
            "zeros",
            "precision",
            "reference",
            "slope",
            "step",
            "inflation",
            "profiles",
        ]
        .map(&mut take);
        let precision = map.precision();
        zeros.fill(T::zero());
        log_mixing.fill(T::zero()); // what the sums over features have lost in rounding, until the end
        for j in 0..shape.features() {
            let own = |table: &[T]| table.len() / shape.features();
            let (width, gamma_width) = (points, own(map.part("inflation")));
            let weights = map.part("weights").chunks_exact(shape.columns()).nth(j).unwrap_or_default();
            let gamma = map.part("inflation").chunks_exact(gamma_width.max(1)).nth(j).unwrap_or_default();
            let slope = slope.chunks_exact_mut(width).nth(j).unwrap_or_default();
            let step = step.chunks_exact_mut(width).nth(j).unwrap_or_default();
            let (eta_width, latent) = (
                inflation.len() / shape.features(),
                shape.emission_model() == EmissionModel::Zip(Inflation::Latent),
            );
            let eta = inflation.chunks_exact_mut(eta_width.max(1)).nth(j).unwrap_or_default();
            let f = if shape.emission_model() == EmissionModel::Bernoulli { &mut *step } else { &mut *slope };
            combine(weights, map.part("basis"), f);
            if shape.is_general() {
                if latent {
                    combine(gamma, map.part("basis"), eta);
                } else {
                    eta.copy_from_slice(gamma);
                }
                let highest = highest_ln_rate();
                for (f, rate) in slope.iter_mut().zip(step) {
                    *f = f.min(highest);
                    *rate = exp(*f);
                }
                continue;
            }
            if latent {
                combine(gamma, map.part("basis"), step);
            } else if shape.emission_model().is_zip() {
                step.fill(gamma.first().copied().unwrap_or_default());
                let intercept = map.part("profiles").first().copied().unwrap_or(T::one());
                scale(intercept, step);
            }
            dispatch(Lines {
                emission_model: shape.emission_model(),
                precision,
                slope,
                step,
                zeros,
                lost: log_mixing,
            });
        }
        zeros.iter_mut().zip(&*log_mixing).for_each(|(sum, &lost)| *sum += lost);
        if shape.emission_model() == EmissionModel::Multinomial {
            normalise(slope, zeros, log_mixing);
        }
        for (log, &mixing) in log_mixing.iter_mut().zip(map.mixing()) {
            *log = ln(mixing.max(T::FLOOR));
        }
    }
}

/// `row = Σ_m w_m φ_m`.
pub(crate) fn combine<T: Real>(weights: &[T], basis: &[T], row: &mut [T]) {
    row.fill(T::zero());
    for (&w, phi) in weights.iter().zip(basis.chunks_exact(row.len().max(1))) {
        let _ = axpy(w, phi, row);
    }
}

/// One feature's [`Line`](countgrid_counts::Line)s at all points, as the distributions of `countgrid-counts` have
/// them: `f` in `slope` (of Bernoulli maps in `step`) and `η` in `step` become slope and step, and each zero is added
/// up.
struct Lines<'a, T> {
    emission_model: EmissionModel,
    precision: T,
    slope: &'a mut [T],
    step: &'a mut [T],
    zeros: &'a mut [T],
    lost: &'a mut [T],
}

impl<T: Real> Kernel for Lines<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { emission_model, precision, slope, step, zeros, lost } = self;
        let sums = zeros.iter_mut().zip(lost);
        let highest = highest_ln_rate::<T>();
        match emission_model {
            EmissionModel::Zip(_) => {
                for (((sum, lost), slope), step) in sums.zip(slope).zip(step) {
                    let (f, eta) = (slope.min(highest), *step);
                    let rate = exp(f);
                    let zero = Zip::ln_zero_of(eta, rate);
                    (*slope, *step) = (f, -softplus(eta) - rate - zero);
                    add_exactly(zero, sum, lost);
                }
            }
            EmissionModel::Poisson => {
                for ((sum, lost), slope) in sums.zip(slope) {
                    *slope = slope.min(highest);
                    add_exactly(-exp(*slope), sum, lost);
                }
            }
            EmissionModel::Bernoulli => {
                for ((sum, lost), step) in sums.zip(step) {
                    add_exactly(-softplus(*step), sum, lost);
                }
            }
            EmissionModel::Gaussian => {
                let (half, ln_precision) = (T::from_f64(0.5), ln(precision));
                for ((sum, lost), slope) in sums.zip(slope) {
                    let f = *slope;
                    *slope = precision * f;
                    add_exactly(half * (ln_precision - *slope * f), sum, lost);
                }
            }
            EmissionModel::Multinomial => {}
        }
    }
}

/// `sum + lost += x`, where `lost` keeps the rounding error (Knuth's two-sum): thousands of features add up to a
/// number whose differences between points decide.
#[inline(always)]
fn add_exactly<T: Real>(x: T, sum: &mut T, lost: &mut T) {
    let total = *sum + x;
    let of_x = total - *sum;
    let error = (*sum - (total - of_x)) + (x - of_x);
    *lost += if error.is_finite() { error } else { T::zero() };
    *sum = total;
}

/// `f_kj ← f_kj - ln Σ_i exp f_ki`. `highest` and `totals` `[point]` are scratch; `highest` is left zero.
fn normalise<T: Real>(f: &mut [T], highest: &mut [T], totals: &mut [T]) {
    let points = highest.len();
    highest.fill(T::neg_infinity());
    totals.fill(T::zero());
    for row in f.chunks_exact(points) {
        highest.iter_mut().zip(row).for_each(|(highest, &f)| *highest = highest.max(f));
    }
    for row in f.chunks_exact(points) {
        for ((total, &highest), &f) in totals.iter_mut().zip(&*highest).zip(row) {
            *total += exp(f - highest);
        }
    }
    highest.iter_mut().zip(&*totals).for_each(|(log, &total)| *log += ln(total));
    for row in f.chunks_exact_mut(points) {
        row.iter_mut().zip(&*highest).for_each(|(f, &log)| *f -= log);
    }
    highest.fill(T::zero());
}

#[cfg(feature = "alloc")]
impl<T: Real> Emissions<T, countgrid_math::AlignedVec<T>> {
    /// [`Emissions::from_map`] in memory that it allocates.
    ///
    /// # Errors
    /// [`GtmError::TooLarge`] if the allocator refuses.
    pub fn allocate<R: AsRef<[T]>>(map: &Gtm<T, R>) -> Result<Self, GtmError> {
        Self::from_map(map, crate::map::allocate(map.shape(), map.shape().emissions_len())?)
    }
}

impl<T: Real, S: AsRef<[T]>> Tables for Emissions<T, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }
    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Emissions<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_a_sum_loses_is_kept(terms in prop::collection::vec(-1e6..1e6f32, 1..300), small in 1e-6..1.0f32) {
            // Large and small ones in turn, so that a sum of 24 bits loses much.
            let terms: Vec<f32> = terms.iter().flat_map(|&x| [x, x.fract() * small]).collect();
            let (mut sum, mut lost) = (0.0, 0.0);
            terms.iter().for_each(|&x| add_exactly(x, &mut sum, &mut lost));
            let exact: f64 = terms.iter().map(|&x| f64::from(x)).sum();
            // Each error is exact. Of n of them, at most half an ulp of a partial sum, every addition rounds once.
            let (n, magnitude) = (terms.len() as f64, terms.iter().map(|x| f64::from(x.abs())).sum::<f64>());
            let roundoff = f64::from(f32::EPSILON) / 2.0;
            let found = f64::from(sum) + f64::from(lost);
            prop_assert!((found - exact).abs() <= n * n * roundoff * roundoff * magnitude + 1e-12, "{found} {exact}");
        }
    }

    #[test]
    fn nothing_is_lost_of_what_is_not_finite() {
        for x in [f64::INFINITY, f64::NEG_INFINITY] {
            let (mut sum, mut lost) = (1.0, 0.0);
            add_exactly(x, &mut sum, &mut lost);
            assert_eq!((sum, lost), (x, 0.0));
        }
    }
}
