use countgrid_counts::Bags;
use countgrid_em::{
    Anneal, Distributions, Fit, Learn, coinciding,
    parallel::{Rows, in_pool},
    perturb_tables,
};
use countgrid_math::{Kernel, Level, Real, dispatch, sum, sum_ln_floored};

use crate::{
    Grid, GridError, LogHistograms, Options, Shape, Statistics,
    error::{long_enough, same_length},
    estep::{Chunk, Tempering},
    mstep::{Deferred, Planes, pass, read_packed},
};

/// A counting grid that is being fitted: parameters, the packed logarithms that follow from them, and what an
/// M-step does.
///
/// Fitting goes through [`Fit`], for any [`Bags`]: an E-step adds a batch to [`Statistics`] and returns its
/// free energy; an M-step moves the parameters. With the exact rule the free energy plus
/// [`Learn::penalty`] never rises by more than rounding.
///
/// Example: [`componential`](crate::componential).
#[derive(Clone, Copy, Debug)]
pub struct Learner<T, S, const D: usize> {
    grid: Grid<T, S, D>,
    histograms: LogHistograms<T, S, D>,
    options: Options,
    beta: T, // in (0, 1]
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> Learner<T, S, D> {
    /// Starts from a grid. `histograms`: [`Shape::histograms_len`] elements; `scratch`: at least
    /// [`Shape::plane_scratch_len`], used only here.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Pseudocount`], [`GridError::NoPasses`], [`GridError::PosteriorThreshold`].
    pub fn new(
        grid: Grid<T, S, D>,
        histograms: S,
        scratch: &mut [T],
        options: Options,
    ) -> Result<Self, GridError> {
        let shape = *grid.shape();
        let options = options.check()?;
        // A column's pseudo-tokens must stay far from overflow in this float type too.
        let most = T::max_value().to_f64() / 8.0;
        if options.pseudocount * shape.features() as f64 > most
            || options.prior_pseudocount * shape.cells() as f64 > most
        {
            return Err(GridError::Pseudocount);
        }
        let histograms = LogHistograms::pack(&grid, histograms, scratch)?;
        Ok(Self { grid, histograms, options, beta: T::one() })
    }

    /// The parameters.
    pub fn grid(&self) -> &Grid<T, S, D> {
        &self.grid
    }

    /// The inference table of the present parameters.
    pub fn histograms(&self) -> &LogHistograms<T, S, D> {
        &self.histograms
    }

    /// What an M-step does.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Ends the fit.
    pub fn into_parts(self) -> (Grid<T, S, D>, LogHistograms<T, S, D>) {
        (self.grid, self.histograms)
    }

    /// Changes the parameters by hand, such as for a restart, and brings the inference table up to date.
    ///
    /// `change` may leave anything in the grid; invalid tables are refused as by [`Grid::new`], and the
    /// learner should then not be used before another `update` succeeds.
    ///
    /// # Errors
    /// As [`Grid::new`]; [`GridError::Length`] for scratch of less than [`Shape::plane_scratch_len`].
    pub fn update(
        &mut self,
        scratch: &mut [T],
        change: impl FnOnce(&mut Grid<T, S, D>),
    ) -> Result<(), GridError> {
        long_enough("scratch", self.shape().plane_scratch_len(), scratch.len())?;
        change(&mut self.grid);
        self.grid.check()?;
        self.histograms.refresh(&self.grid, scratch);
        Ok(())
    }

    /// The bound `B` in nats of the present parameters with the posteriors that the statistics hold: after an
    /// E-step the log evidence, after the M-step that follows the value to which it was raised.
    ///
    /// Summed in f64.
    ///
    /// # Errors
    /// [`GridError::ShapeMismatch`].
    /// # Source
    /// The journal paper's Eq. 2, with `log h` for the windows' features.
    pub fn bound(&self, statistics: &Statistics<T, S, D>) -> Result<f64, GridError> {
        self.same_shape(statistics.shape())?;
        let (logs, references) = self.histograms.packed();
        let expected = dispatch(Inner { counts: statistics.packed_counts(), logs, references });
        Ok(expected + statistics.entropy().to_f64())
    }

    /// Expected tokens of one feature at every cell, `n_iz` `[cell]`, under the present parameters.
    ///
    /// # Errors
    /// [`GridError::ShapeMismatch`], [`GridError::Length`]; [`GridError::Features`] for a feature that the
    /// grid does not have.
    /// # Source
    /// Jojic & Perina 2011, Eq. 7, with the `1/V` that makes it count tokens.
    pub fn expected_tokens(
        &self,
        statistics: &mut Statistics<T, S, D>,
        feature: usize,
        tokens: &mut [T],
    ) -> Result<(), GridError> {
        self.same_shape(statistics.shape())?;
        same_length("tokens", self.shape().cells(), tokens.len())?;
        statistics.window_counts(feature, tokens)?;
        let (_, _, scratch) = statistics.parts_mut();
        let mut planes = Planes::new(self.shape(), scratch);
        planes.counts.iter_mut().zip(&*tokens).for_each(|(n, &f)| *n = f);
        planes.feature(0).expected_tokens(self.shape(), self.options.update_rule, self.grid.plane(feature));
        tokens.iter_mut().zip(&*planes.counts).for_each(|(n, &expected)| *n = expected);
        Ok(())
    }

    fn shape(&self) -> &Shape<D> {
        self.grid.shape()
    }

    fn same_shape(&self, shape: &Shape<D>) -> Result<(), GridError> {
        if self.shape() == shape { Ok(()) } else { Err(GridError::ShapeMismatch) }
    }
}

#[cfg(feature = "alloc")]
impl<T: Real, const D: usize> Learner<T, countgrid_math::AlignedVec<T>, D> {
    /// Starts from a grid, with an inference table that it allocates.
    ///
    /// # Errors
    /// [`GridError::TooLarge`] if the allocator refuses; as [`Learner::new`].
    pub fn from_grid(
        grid: Grid<T, countgrid_math::AlignedVec<T>, D>,
        options: Options,
    ) -> Result<Self, GridError> {
        let shape = *grid.shape();
        let histograms = crate::statistics::allocate(&shape, shape.histograms_len::<T>())?;
        let mut scratch = crate::statistics::allocate(&shape, crate::histograms::best_scratch_len(&shape))?;
        Self::new(grid, histograms, scratch.as_mut(), options)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, B: Bags, const D: usize> Fit<B> for Learner<T, S, D> {
    /// The posterior of every bag (Jojic & Perina 2011, Eq. 3; with the location prior the journal paper's Eq. 3).
    ///
    /// # Errors
    /// [`GridError::Features`], [`GridError::ShapeMismatch`], [`GridError::Overflow`]; the sums are then
    /// those of the bags before the chunk that holds the bag in question.
    fn expectation(&self, bags: &B, statistics: &mut Self::Statistics) -> Result<f64, GridError> {
        self.same_shape(statistics.shape())?;
        self.histograms.same_features(bags)?;
        let tempering = Tempering::new(self.beta, self.options.posterior_threshold, self.shape().cells());
        let mut sparsity = *statistics.sparsity();
        let (counts, totals, scratch) = statistics.parts_mut();
        // In f64 and bag by bag, so that no sum depends on how bags are divided into chunks.
        let (mut first, mut free_energy, mut entropy, mut tokens) = (0, 0.0, 0.0, 0.0);
        let most_tokens = T::max_value().to_f64() / 8.0 - totals[2].to_f64();
        let outcome = loop {
            if first >= bags.len() {
                break Ok(());
            }
            let (source, prune) = (self.histograms.source(bags, first), self.options.prune);
            let chunk = Chunk::new(source, bags.len() - first, tempering, prune, &mut sparsity, scratch);
            let size = chunk.bags;
            let mut sums = [free_energy, entropy, tokens];
            let fits = chunk.for_each_bag_posterior(source, |_, bag_posterior, [total, references]| {
                sums[2] += total;
                sums[0] -= bag_posterior.bound + references;
                sums[1] += bag_posterior.entropy.to_f64();
                sums[2] <= most_tokens // no expected count exceeds the tokens, so none overflows in the M-step
            });
            if let Err(bag) = fits {
                break Err(GridError::Overflow { bag: first + bag });
            }
            [free_energy, entropy, tokens] = sums;
            chunk.accumulate(source, counts);
            first += size;
        };
        totals[0] += T::from_f64(entropy);
        totals[1] += T::from_f64(first as f64);
        totals[2] += T::from_f64(tokens);
        *statistics.sparsity() = sparsity;
        outcome?;
        Ok(free_energy)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> Learn for Learner<T, S, D> {
    type Statistics = Statistics<T, S, D>;
    type Error = GridError;

    /// [`Options::inner_passes`] passes of [`Options::update_rule`] on `pi`, and the prior if it is learned.
    ///
    /// # Errors
    /// [`GridError::ShapeMismatch`].
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), GridError> {
        self.same_shape(statistics.shape())?;
        let (shape, options) = (*self.shape(), self.options);
        if options.learn_prior {
            let pseudocount = T::from_f64(options.prior_pseudocount);
            let (_, prior) = self.grid.tables_mut();
            learn_prior(statistics, pseudocount, prior);
        }
        let pseudocount = T::from_f64(options.pseudocount);
        let (counts, _, scratch) = statistics.parts_mut();
        for left in (0..options.inner_passes).rev() {
            let (pi, _) = self.grid.tables_mut();
            let tiles = self.histograms.tiles();
            let read = read_packed(&shape, tiles, counts);
            in_pool(|| pass(&shape, options.update_rule, pseudocount, read, pi, scratch));
            if left > 0 {
                let (column, _) = scratch.split_at(shape.cells());
                Deferred { pi: Rows::new(pi, column.len()), column }.divide();
            }
        }
        self.histograms.finish_pass(&mut self.grid, scratch);
        Ok(())
    }

    /// `-a Σ log pi_iz - b Σ log p_k` with the pseudocounts `a` and `b`.
    fn penalty(&self) -> f64 {
        let (pi, prior) = self.grid.tables();
        let mut penalty = 0.0;
        for (pseudocount, table) in [(self.options.pseudocount, pi), (self.options.prior_pseudocount, prior)]
        {
            if pseudocount > 0.0 {
                penalty -= pseudocount * sum_ln_floored(table);
            }
        }
        penalty
    }

    /// Of windows of one cell each, which are the components of a mixture, those whose distributions coincide. Larger windows
    /// share cells, so that neighbours are alike in a good fit, and cells where no bag lies are alike by the pseudocount: `None`.
    fn coinciding_components(&self) -> Option<usize> {
        let cells = self.shape().cells();
        let (pi, _) = self.grid.tables();
        let cell = |i: usize| pi.get(i..).unwrap_or_default().iter().step_by(cells).copied();
        (self.shape().windows().volume() == 1).then(|| coinciding(cells, cell))
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> Anneal for Learner<T, S, D> {
    /// `q ∝ exp(β s)`; anything but a number in `(0, 1)` means 1.
    fn set_inverse_temperature(&mut self, beta: f64) {
        let beta = T::from_f64(beta);
        self.beta = if beta > T::zero() && beta < T::one() { beta } else { T::one() };
    }

    /// Every entry of `pi` by a share of itself, each cell's distribution normalised; the prior stays. Statistics of another
    /// shape have no scratch for it: nothing is then perturbed, and the E-step refuses them.
    fn perturb(&mut self, statistics: &mut Self::Statistics, size: f64, seed: u64) {
        if self.same_shape(statistics.shape()).is_ok() {
            perturb_tables(&mut self.grid, &[Distributions::Columns], size, seed);
            let (_, _, scratch) = statistics.parts_mut();
            self.histograms.refresh(&self.grid, scratch);
        }
    }
}

/// `p_k <- (m_k + b) / Σ_k (m_k + b)` (the journal paper's Eq. 10); without any mass the prior stays.
fn learn_prior<T: Real, S, const D: usize>(statistics: &Statistics<T, S, D>, pseudocount: T, prior: &mut [T])
where
    S: AsRef<[T]> + AsMut<[T]>,
{
    let mass = statistics.bags() + pseudocount * T::from_f64(prior.len() as f64);
    if !(mass > T::zero()) {
        return;
    }
    // Of the right length, so never refused.
    let _ = statistics.window_mass(prior);
    prior.iter_mut().for_each(|p| *p += pseudocount);
    let mass = sum(prior);
    prior.iter_mut().for_each(|p| *p /= mass);
}

/// `Σ_z,k F_kz log h_kz + Σ_k m_k log p_k` over two packed tables, in f64. Padding has no mass.
struct Inner<'a, T> {
    counts: &'a [T],
    logs: &'a [T],       // less their references
    references: &'a [T], // [feature]
}

impl<T: Real> Kernel for Inner<'_, T> {
    type Output = f64;
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) -> f64 {
        let (mut total, size) = (0.0, (self.references.len() + 1) * T::LANES);
        for (counts, logs) in self.counts.chunks(size).zip(self.logs.chunks(size)) {
            let references = core::iter::once(T::zero()).chain(self.references.iter().copied()); // the prior has none
            for ((counts, logs), reference) in
                counts.chunks(T::LANES).zip(logs.chunks(T::LANES)).zip(references)
            {
                let (mut row, reference) = ([0.0; 32], reference.to_f64());
                for ((sum, &count), &log) in row.iter_mut().zip(counts).zip(logs) {
                    let expected = count.to_f64() * (log.to_f64() + reference);
                    *sum = if count > T::zero() { expected } else { 0.0 };
                }
                total += sum(&row);
            }
        }
        total
    }
}
