use countgrid_counts::Bags;
use countgrid_em::{
    Fit, Learn, Table, Tables, coinciding,
    parallel::{Rows, for_each, in_pool, threads},
};
use countgrid_math::{Real, dispatch, sum_ln_floored, symmetric_dirichlet};

use super::{
    ComponentialGrid, Options, Statistics, WindowMeans,
    grid::parameters_out_of_range,
    infer::{AddCounts, Document, Source, Weights},
};
use crate::{
    GridError, Shape,
    error::{long_enough, same_length},
    mstep::{Deferred, pass},
};

/// A componential counting grid that is being fitted: parameters, the window means that follow from them, and what the
/// two steps do.
///
/// Fitting goes through [`Fit`], for any [`Bags`]: an E-step adds a batch to [`Statistics`] and returns minus its bound;
/// an M-step moves the cells' distributions as that of a counting grid does, and `alpha` if it is learned. Every bag's
/// inference starts afresh, so that nothing is kept of a bag. Free energy plus [`Learn::penalty`] then falls as a rule,
/// but a bag may come to another optimum of its own bound than in the iteration before.
/// [`Learner::expectation_from`] starts where the last E-step ended: with that and the exact rule, no iteration raises it
/// by more than rounding.
///
/// Example: [`componential`](crate::componential).
#[derive(Clone, Copy, Debug)]
pub struct Learner<T, S, const D: usize> {
    grid: ComponentialGrid<T, S, D>,
    means: WindowMeans<T, S, D>,
    options: Options,
}

/// Where inference starts.
enum Start<'a, T> {
    Even,
    At(&'a mut [T]), // [bag][window], replaced by where it ended
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> Learner<T, S, D> {
    /// Starts from a grid. `means`: [`means_len`](super::means_len) elements; `scratch`: at least
    /// [`Shape::plane_scratch_len`], used only here.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Pseudocount`], [`GridError::NoPasses`], [`GridError::NoSweeps`],
    /// [`GridError::Tolerance`].
    pub fn new(
        grid: ComponentialGrid<T, S, D>,
        means: S,
        scratch: &mut [T],
        options: Options,
    ) -> Result<Self, GridError> {
        let options = options.check()?;
        // A column's pseudo-tokens must stay far from overflow in this float type too.
        if options.pseudocount * grid.shape().features() as f64 > T::max_value().to_f64() / 8.0 {
            return Err(GridError::Pseudocount);
        }
        let means = WindowMeans::pack(&grid, means, scratch)?;
        Ok(Self { grid, means, options })
    }

    /// The parameters.
    pub fn grid(&self) -> &ComponentialGrid<T, S, D> {
        &self.grid
    }

    /// The inference table of the present parameters.
    pub fn means(&self) -> &WindowMeans<T, S, D> {
        &self.means
    }

    /// What the two steps do.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Ends the fit.
    pub fn into_parts(self) -> (ComponentialGrid<T, S, D>, WindowMeans<T, S, D>) {
        (self.grid, self.means)
    }

    /// Changes the parameters by hand, such as for a restart, and brings the inference table up to date.
    ///
    /// `change` may leave anything in the grid; invalid tables are refused as by [`ComponentialGrid::new`], and the
    /// learner should then not be used before another `update` succeeds.
    ///
    /// # Errors
    /// As [`ComponentialGrid::new`]; [`GridError::Length`] for scratch of less than [`Shape::plane_scratch_len`].
    pub fn update(
        &mut self,
        scratch: &mut [T],
        change: impl FnOnce(&mut ComponentialGrid<T, S, D>),
    ) -> Result<(), GridError> {
        long_enough("scratch", self.shape().plane_scratch_len(), scratch.len())?;
        change(&mut self.grid);
        self.grid.check()?;
        self.means.refresh(&self.grid, scratch);
        Ok(())
    }

    /// An E-step that starts each bag from `gammas` `[bag][window]` and leaves there what it found: the one that never
    /// loses what an earlier one gained. A first `gamma` may be anything positive;
    /// [`Posterior::gamma`](super::Posterior::gamma) gives a good one.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Gamma`]; those of [`Fit::expectation`].
    pub fn expectation_from<B: Bags>(
        &self,
        bags: &B,
        gammas: &mut [T],
        statistics: &mut Statistics<T, S, D>,
    ) -> Result<f64, GridError> {
        let windows = self.shape().cells();
        same_length("gammas", bags.len().saturating_mul(windows), gammas.len())?;
        if let Some(window) = gammas.chunks_exact(windows).find_map(parameters_out_of_range) {
            return Err(GridError::Gamma { window });
        }
        self.add(bags, Start::At(gammas), statistics)
    }

    fn shape(&self) -> &Shape<D> {
        self.grid.shape()
    }

    fn same_shape(&self, shape: &Shape<D>) -> Result<(), GridError> {
        if self.shape() == shape { Ok(()) } else { Err(GridError::ShapeMismatch) }
    }

    fn add<B: Bags>(
        &self,
        bags: &B,
        mut start: Start<'_, T>,
        statistics: &mut Statistics<T, S, D>,
    ) -> Result<f64, GridError> {
        self.same_shape(statistics.shape())?;
        self.means.same_features(bags)?;
        let shape = *self.shape();
        let (windows, tiles, size) =
            (shape.cells(), shape.tiles::<T>(), super::posterior_scratch_len::<T, D>(&shape));
        let base = self.means.source(bags, 0);
        let (inference, prior) = (self.options.inference, base.prior());
        let source = |bag| Source { bag, ..base };
        let (counts, totals, scratch) = statistics.parts_mut();
        let capacity = (scratch.len() / size).max(1);
        let most_tokens =
            T::max_value().to_f64() / 8.0 - totals.last().map_or(0.0, |&tokens| tokens.to_f64());
        let parts = if threads() > 1 { 4 * threads() } else { 1 }; // of the counts
        // In f64 and bag by bag, so that no sum depends on how they are divided into chunks.
        let [mut free_energy, mut log_theta, mut tokens] = [0.0; 3];
        let (mut first, mut outcome) = (0, Ok(()));
        while first < bags.len() {
            let chunk = capacity.min(bags.len() - first);
            let places = scratch.get_mut(..chunk * size).unwrap_or_default();
            if let Start::At(gammas) = &start {
                let gammas = gammas.chunks_exact(windows).skip(first);
                for (place, from) in places.chunks_exact_mut(size).zip(gammas) {
                    tiles.pack(from, Document::new(tiles.count(), place).gamma);
                }
            }
            let even = matches!(start, Start::Even);
            for_each(chunk, Rows::new(&mut *places, size), |place, scratch| {
                let (source, mut document) =
                    (source(first + place), Document::new(tiles.count(), scratch.elements));
                if even {
                    source.start(document.gamma);
                }
                let found = source.infer(inference, &prior, &mut document);
                found.write(document.results);
            });
            let mut sums = [free_energy, log_theta, tokens];
            for (place, scratch) in places.chunks_exact(size).enumerate() {
                let (bag, (_, found)) = (first + place, Weights::read(tiles.count(), scratch));
                sums = [sums[0] - found.bound, sums[1] + found.log_theta, sums[2] + bags.total(bag)];
                if let Some(feature) = found.impossible {
                    outcome = Err(GridError::Impossible { bag, feature });
                } else if !(found.bound.is_finite() && found.log_theta.is_finite() && sums[2] <= most_tokens)
                {
                    // No expected count exceeds the tokens, so none overflows in the M-step.
                    outcome = Err(GridError::Overflow { bag });
                }
                if outcome.is_err() {
                    break;
                }
            }
            if outcome.is_err() {
                break;
            }
            [free_energy, log_theta, tokens] = sums;
            if let Start::At(gammas) = &mut start {
                let gammas = gammas.chunks_exact_mut(windows).skip(first);
                for (place, gamma) in places.chunks_exact(size).zip(gammas) {
                    let (weights, _) = Weights::read(tiles.count(), place);
                    tiles.unpack(weights.gamma, 0, 1, gamma);
                }
            }
            // Each part costs a look at all bags of the chunk.
            let features = shape.features().div_ceil(parts);
            let places = &*places;
            let rows = Rows::new(&mut *counts, features * tiles.slots());
            for_each(shape.features().div_ceil(features), rows, |part, sums| {
                let table = sums.elements;
                for (place, scratch) in places.chunks_exact(size).enumerate() {
                    let (weights, _) = Weights::read(tiles.count(), scratch);
                    let (source, first) = (source(first + place), part * features);
                    dispatch(AddCounts { source, weights, first, table: &mut *table });
                }
            });
            first += chunk;
        }
        for (total, sum) in totals.iter_mut().zip([log_theta, first as f64, tokens]) {
            *total += T::from_f64(sum);
        }
        outcome?;
        Ok(free_energy)
    }
}

#[cfg(feature = "alloc")]
impl<T: Real, const D: usize> Learner<T, countgrid_math::AlignedVec<T>, D> {
    /// Starts from a grid, with an inference table that it allocates.
    ///
    /// # Errors
    /// [`GridError::TooLarge`] if the allocator refuses; as [`Learner::new`].
    pub fn from_grid(
        grid: ComponentialGrid<T, countgrid_math::AlignedVec<T>, D>,
        options: Options,
    ) -> Result<Self, GridError> {
        let shape = *grid.shape();
        let means = crate::statistics::allocate(&shape, super::means_len::<T, D>(&shape))?;
        let mut scratch = crate::statistics::allocate(&shape, crate::histograms::best_scratch_len(&shape))?;
        Self::new(grid, means, scratch.as_mut(), options)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, B: Bags, const D: usize> Fit<B> for Learner<T, S, D> {
    /// Infers every bag from the even start. Minus the sum of the bounds, in nats.
    ///
    /// # Errors
    /// [`GridError::Features`], [`GridError::ShapeMismatch`], [`GridError::Impossible`], [`GridError::Overflow`]; the
    /// sums are then those of the bags before the chunk that holds the bag in question.
    fn expectation(&self, bags: &B, statistics: &mut Self::Statistics) -> Result<f64, GridError> {
        self.add(bags, Start::Even, statistics)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> Learn for Learner<T, S, D> {
    type Statistics = Statistics<T, S, D>;
    type Error = GridError;

    /// [`Options::inner_passes`] passes of [`Options::update_rule`] on `pi`, those of [`crate::Learner`] with `F_lz` in
    /// the place of `F_kz`, and `alpha` if it is learned. A cell that no bag's tokens reach with more than a rounding of
    /// them counts as a cell without mass and keeps its distribution.
    ///
    /// # Errors
    /// [`GridError::ShapeMismatch`].
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), GridError> {
        self.same_shape(statistics.shape())?;
        let (shape, options, tiles) = (*self.shape(), self.options, self.shape().tiles::<T>());
        let (bags, log_theta) = (statistics.bags().to_f64(), statistics.log_theta().to_f64());
        if options.learn_alpha && bags > 0.0 {
            let (windows, (_, alpha)) = (shape.cells() as f64, self.grid.tables_mut());
            let start = alpha.iter().fold(0.0, |sum, &x| sum + x.to_f64()) / windows;
            alpha.fill(T::from_f64(symmetric_dirichlet(shape.cells(), log_theta / bags / windows, start)));
        }
        let pseudocount = T::from_f64(options.pseudocount);
        let (counts, _, scratch) = statistics.parts_mut();
        let (cells, slots, counts) = (shape.cells(), tiles.slots(), &*counts);
        for left in (0..options.inner_passes).rev() {
            let (pi, _) = self.grid.tables_mut();
            let read = |first: usize, planes: &mut [T]| {
                let rows = counts.chunks_exact(slots).skip(first);
                for (plane, row) in planes.chunks_exact_mut(cells).zip(rows) {
                    tiles.unpack(row, 0, 1, plane);
                }
            };
            in_pool(|| pass(&shape, options.update_rule, pseudocount, read, pi, scratch));
            if left > 0 {
                let (column, _) = scratch.split_at(cells);
                Deferred { pi: Rows::new(pi, column.len()), column }.divide();
            }
        }
        self.means.finish_pass(&mut self.grid, scratch);
        Ok(())
    }

    /// `-a Σ log pi_iz` with the pseudocount `a`.
    fn penalty(&self) -> f64 {
        let pseudocount = self.options.pseudocount;
        if pseudocount > 0.0 { -pseudocount * sum_ln_floored(self.grid.tables().0) } else { 0.0 }
    }

    /// Of windows of one cell each, which are topics, those whose distributions coincide; otherwise `None`, as of
    /// [`crate::Learner`].
    fn coinciding_components(&self) -> Option<usize> {
        let (cells, (pi, _)) = (self.shape().cells(), self.grid.tables());
        let cell = |i: usize| pi.get(i..).unwrap_or_default().iter().step_by(cells).copied();
        (self.shape().windows().volume() == 1).then(|| coinciding(cells, cell))
    }
}

/// Parameters as tables, so that `Restarts::run` of `countgrid-em` keeps the best. After writing them
/// [`Learner::update`] brings the inference table up to date.
impl<T: Real, S: AsRef<[T]>, const D: usize> Tables for Learner<T, S, D> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        self.grid.layout()
    }

    fn buffer(&self) -> &[T] {
        self.grid.buffer()
    }
}
