//! The variational free energy of a bag, term by term.

use countgrid_counts::{Bag, Bags, Count};
use countgrid_em::{Distributions, ExpectedCounts, FreeEnergy, Table, Tables};
use countgrid_math::{Real, ln};
use countgrid_prefix::Direction;

use crate::{
    Grid, GridError, LogHistograms,
    error::{long_enough, same_length},
    grid::window_means,
    mstep::sum_windows,
};

/// How the terms of a bag's free energy are summed into groups. Every grouping sums to `-log p(c)`.
///
/// Blocks, in order, with the exact posterior `q`, and `0 log 0 = 0`:
///
/// | | entropy | prior | counts |
/// |---|---|---|---|
/// | `Location` | `q_k log q_k` `[P]` | `-q_k log p_k` `[P]` | `-q_k Σ_z c_z log h_kz` `[P]` |
/// | `Feature` | `Σ_k q_k log q_k` `[1]` | `-Σ_k q_k log p_k` `[1]` | `-c_z Σ_k q_k log h_kz` `[Z]` |
/// | `Each` | as `Location` | as `Location` | `-q_k c_z log h_kz` `[P][Z]` |
///
/// [`Sources`] is one more. With windows of one cell a grid is a mixture, `Location` its terms by component and `Each`
/// by component and word.
///
/// # Source
/// A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 2009, Eqs. 2 to 5, for
/// the free energy of Jojic & Perina 2011, Eq. 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Grouping {
    /// By window.
    #[default]
    Location,
    /// By feature.
    Feature,
    /// By window and feature.
    Each,
}

/// The free energy of a bag in groups of terms, from the table that inference needs anyway. By location the table
/// itself is enough: [`LogHistograms`] is [`FreeEnergy`] too.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_em::FreeEnergy;
/// use countgrid_grid::{Grid, Grouping, LogHistograms, Shape, Terms};
///
/// let shape = Shape::from_sides([3], [2], 2)?;
/// let grid = Grid::new(shape, [0.9f64, 0.5, 0.1, 0.1, 0.5, 0.9, 0.4, 0.3, 0.3])?;
/// let mut scratch = vec![0.0; shape.plane_scratch_len()];
/// let histograms = LogHistograms::pack(&grid, vec![0.0; shape.histograms_len::<f64>()], &mut scratch)?;
///
/// let model = Terms::new(&histograms, Grouping::Feature);
/// let bag = Bag::new(2, &[0, 1], &[3u32, 1])?;
/// let mut terms = vec![0.0; model.term_count(&bag)];
/// let mut scratch = vec![0.0; model.scratch_len(&bag)];
/// let free_energy = model.free_energy_terms(&bag, &mut terms, &mut scratch)?;
/// let mut q = [0.0; 3];
/// let mut scratch = vec![0.0; shape.posterior_scratch_len::<f64>(1)];
/// let log_evidence = histograms.posterior(&bag, 0, &mut q, &mut scratch)?;
/// assert!((free_energy + log_evidence).abs() < 1e-14); // exact posterior: F = -log p(c)
/// assert_eq!(terms.len(), 1 + 1 + 2);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a, T, L, const D: usize> {
    histograms: &'a LogHistograms<T, L, D>,
    grouping: Grouping,
}

impl<'a, T: Real, L: AsRef<[T]>, const D: usize> Terms<'a, T, L, D> {
    /// Terms in this grouping.
    pub fn new(histograms: &'a LogHistograms<T, L, D>, grouping: Grouping) -> Self {
        Self { histograms, grouping }
    }
}

impl<T: Real, L: AsRef<[T]>, C: Count, const D: usize> FreeEnergy<Bag<'_, C>> for Terms<'_, T, L, D> {
    type Scalar = T;
    type Error = GridError;

    fn term_count(&self, _: &Bag<'_, C>) -> usize {
        let shape = self.histograms.shape();
        match self.grouping {
            Grouping::Location => 3 * shape.cells(),
            Grouping::Feature => 2 + shape.features(),
            Grouping::Each => (2 + shape.features()) * shape.cells(), // a plane more than the grid has
        }
    }

    fn scratch_len(&self, _: &Bag<'_, C>) -> usize {
        let shape = self.histograms.shape();
        let (posterior, plane) = (shape.posterior_scratch_len::<T>(1), shape.cells());
        shape.cells() + if posterior > plane { posterior } else { plane }
    }

    /// The free energy is `-log p(c)`: the posterior is exact.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Features`], [`GridError::Overflow`].
    fn free_energy_terms(
        &self,
        bag: &Bag<'_, C>,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, GridError> {
        same_length("terms", self.term_count(bag), terms.len())?;
        long_enough("scratch", self.scratch_len(bag), scratch.len())?;
        let cells = self.histograms.shape().cells();
        let (q, scratch) = scratch.split_at_mut(cells);
        let log_evidence = self.histograms.posterior(bag, 0, q, scratch)?;
        terms.fill(T::zero());
        let logs = scratch.get_mut(..cells).unwrap_or_default();
        let shared = if self.grouping == Grouping::Feature { 1 } else { cells };
        let Some((entropy, rest)) = terms.split_at_mut_checked(shared) else { return Ok(-log_evidence) };
        let Some((prior, counts)) = rest.split_at_mut_checked(shared) else { return Ok(-log_evidence) };
        location_terms(self.histograms, q, logs, entropy, prior);
        let features = self.histograms.shape().features();
        for (z, c) in bag.entries(0) {
            let c = c.to_real::<T>();
            let reference = self.histograms.unpack(z + 1, logs);
            for (k, (&q, &log)) in q.iter().zip(&*logs).enumerate() {
                if q > T::zero() {
                    let group = match self.grouping {
                        Grouping::Location => k,
                        Grouping::Feature => z,
                        Grouping::Each => k * features + z,
                    };
                    add(counts, group, -(q * c * (log + reference)));
                }
            }
        }
        Ok(-log_evidence)
    }
}

/// Writes `q_k log q_k` and `-q_k log p_k` of every window, or of all together where there is room for one.
fn location_terms<T: Real, L: AsRef<[T]>, const D: usize>(
    histograms: &LogHistograms<T, L, D>,
    q: &[T],
    logs: &mut [T],
    entropy: &mut [T],
    prior: &mut [T],
) {
    histograms.unpack(0, logs);
    for (k, (&q, &log)) in q.iter().zip(&*logs).enumerate() {
        if q > T::zero() {
            add(entropy, k.min(entropy.len() - 1), q * ln(q));
            add(prior, k.min(prior.len() - 1), -(q * log));
        }
    }
}

/// The free energy of a bag by the cell that each token comes from: blocks, in order, as far as they are not those of
/// [`Grouping::Location`],
///
/// ```text
/// q_k log q_k [P],  -q_k log p_k [P],  Σ_kz q_k c_z r_ikz log r_ikz [P],  -Σ_z n_iz log pi_iz [P],  N log V [1]
/// ```
///
/// A token of window `k` comes from cell `i` with responsibility `r_ikz = pi_iz / (V h_kz)`; `n_iz = Σ_k q_k c_z r_ikz`.
/// A feature that a window does not know has no source there: what the floor of its histogram costs is added to the
/// last term.
///
/// # Source
/// A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 2009, Eqs. 2 to 5, for
/// the free energy of Jojic & Perina 2011, Eq. 2.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a, T, G, L, const D: usize> {
    grid: &'a Grid<T, G, D>,
    histograms: &'a LogHistograms<T, L, D>, // of the same shape
}

impl<'a, T: Real, G: AsRef<[T]>, L: AsRef<[T]>, const D: usize> Sources<'a, T, G, L, D> {
    /// Terms under a grid of which `histograms` is the table.
    ///
    /// # Errors
    /// [`GridError::ShapeMismatch`].
    pub fn new(grid: &'a Grid<T, G, D>, histograms: &'a LogHistograms<T, L, D>) -> Result<Self, GridError> {
        if grid.shape() != histograms.shape() {
            return Err(GridError::ShapeMismatch);
        }
        Ok(Self { grid, histograms })
    }

    /// Elements of scratch that terms and expected counts of a bag need.
    fn needed(&self) -> usize {
        let shape = self.grid.shape();
        let (posterior, planes) =
            (shape.posterior_scratch_len::<T>(1), 3 * shape.cells() + shape.plane_scratch_len());
        shape.cells() + if posterior > planes { posterior } else { planes }
    }

    /// Expected tokens of one feature from every cell, `n_iz = pi_iz / V · S'(q c / h)_i`.
    ///
    /// `scratch`: at least three planes, of which one is [`Shape::plane_scratch_len`](crate::Shape::plane_scratch_len).
    fn tokens(&self, z: usize, c: T, q: &[T], tokens: &mut [T], scratch: &mut [T]) {
        let (shape, pi) = (self.grid.shape(), self.grid.plane(z));
        let (shares, rest) = scratch.split_at_mut(q.len());
        window_means(shape, pi, shares, rest);
        for (share, &q) in shares.iter_mut().zip(q) {
            *share = if *share >= T::FLOOR { q * c / *share } else { T::zero() };
        }
        sum_windows(shape.windows(), Direction::Adjoint, shares, tokens, rest);
        let volume = T::from_f64(shape.windows().volume() as f64);
        for (n, &pi) in tokens.iter_mut().zip(pi) {
            *n = if pi > T::zero() { pi / volume * *n } else { T::zero() };
        }
    }

    /// Adds one feature's `Σ_k q_k c_z r_ikz log r_ikz` and `-n_iz log pi_iz` of every cell, and its `c_z log V`.
    ///
    /// `Σ_k q_k c r_ik log r_ik = n_i log pi_i - pi_i / V · S'(q c / h · log(V h))_i` with `n_i = pi_i / V · S'(q c / h)_i`.
    fn feature(&self, z: usize, c: T, q: &[T], counts: &mut [T], scratch: &mut [T]) {
        let (shape, cells) = (self.grid.shape(), q.len());
        let (shares, rest) = scratch.split_at_mut(cells);
        let (logs, rest) = rest.split_at_mut(cells);
        let (spread, rest) = rest.split_at_mut(cells);
        let pi = self.grid.plane(z);
        window_means(shape, pi, shares, rest);
        let volume = T::from_f64(shape.windows().volume() as f64);
        let (mut constant, mut unknown) = (T::zero(), T::zero());
        for ((share, log), &q) in shares.iter_mut().zip(logs.iter_mut()).zip(q) {
            let h = *share;
            (*share, *log) = (T::zero(), T::zero());
            if h >= T::FLOOR && q > T::zero() {
                *share = q * c / h;
                *log = *share * ln(volume * h);
                constant += q * c;
            } else if q > T::zero() {
                unknown += -(q * c * ln(T::FLOOR));
            }
        }
        let mut planes = counts.chunks_exact_mut(cells);
        let (Some(responsibilities), Some(tokens)) = (planes.next(), planes.next()) else { return };
        // First the logarithms: their adjoint goes in, the tokens' after.
        sum_windows(shape.windows(), Direction::Adjoint, logs, spread, rest);
        for ((term, &pi), &spread) in responsibilities.iter_mut().zip(pi).zip(&*spread) {
            *term += if pi > T::zero() { -(pi / volume * spread) } else { T::zero() };
        }
        sum_windows(shape.windows(), Direction::Adjoint, shares, spread, rest);
        for (((term, of_tokens), &pi), &spread) in
            responsibilities.iter_mut().zip(tokens).zip(pi).zip(&*spread)
        {
            let cost = if pi > T::zero() { pi / volume * spread * ln(pi) } else { T::zero() };
            *term += cost;
            *of_tokens += -cost;
        }
        add(counts, 2 * cells, constant * ln(volume) + unknown);
    }
}

impl<T: Real, G: AsRef<[T]>, L: AsRef<[T]>, C: Count, const D: usize> FreeEnergy<Bag<'_, C>>
    for Sources<'_, T, G, L, D>
{
    type Scalar = T;
    type Error = GridError;

    fn term_count(&self, _: &Bag<'_, C>) -> usize {
        4 * self.grid.shape().cells() + 1
    }

    fn scratch_len(&self, _: &Bag<'_, C>) -> usize {
        self.needed()
    }

    /// The free energy is `-log p(c)`: the posterior is exact.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Features`], [`GridError::Overflow`].
    fn free_energy_terms(
        &self,
        bag: &Bag<'_, C>,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, GridError> {
        same_length("terms", self.term_count(bag), terms.len())?;
        long_enough("scratch", self.needed(), scratch.len())?;
        let cells = self.grid.shape().cells();
        let (q, scratch) = scratch.split_at_mut(cells);
        let log_evidence = self.histograms.posterior(bag, 0, q, scratch)?;
        terms.fill(T::zero());
        let (entropy, rest) = terms.split_at_mut(cells);
        let (prior, counts) = rest.split_at_mut(cells);
        location_terms(self.histograms, q, scratch.get_mut(..cells).unwrap_or_default(), entropy, prior);
        for (z, c) in bag.entries(0) {
            self.feature(z, c.to_real(), q, counts, scratch);
        }
        Ok(-log_evidence)
    }
}

/// The tables are the grid's.
impl<T: Real, G: AsRef<[T]>, L: AsRef<[T]>, const D: usize> Tables for Sources<'_, T, G, L, D> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        self.grid.layout()
    }

    fn buffer(&self) -> &[T] {
        self.grid.buffer()
    }
}

/// `n_iz` for `pi`, and `q` for the prior: by these the derivative of `log p(c)` is `n_iz / pi_iz` and `q_k / p_k`.
///
/// # Source
/// Jojic & Perina 2011, Eq. 7: the sums of its M-step, of one bag.
impl<T: Real, G: AsRef<[T]>, L: AsRef<[T]>, C: Count, const D: usize> ExpectedCounts<Bag<'_, C>>
    for Sources<'_, T, G, L, D>
{
    type Error = GridError;
    const DISTRIBUTIONS: &'static [Distributions] = &[Distributions::Columns, Distributions::Rows];

    fn counts_scratch_len(&self, _: &Bag<'_, C>) -> usize {
        self.needed()
    }

    fn expected_counts(&self, bag: &Bag<'_, C>, counts: &mut [T], scratch: &mut [T]) -> Result<T, GridError> {
        let (cells, prior) = (self.grid.shape().cells(), self.grid.prior());
        same_length("counts", self.grid.shape().grid_len(), counts.len())?;
        long_enough("scratch", self.needed(), scratch.len())?;
        let (q, scratch) = scratch.split_at_mut(cells);
        let log_evidence = self.histograms.posterior(bag, 0, q, scratch)?;
        counts.fill(T::zero());
        for (z, c) in bag.entries(0) {
            if let Some(tokens) = counts.chunks_exact_mut(cells).nth(z) {
                self.tokens(z, c.to_real(), q, tokens, scratch);
            }
        }
        let of_prior = counts.iter_mut().rev().zip(q.iter().zip(prior).rev());
        of_prior.for_each(|(count, (&q, &p))| *count = if p > T::zero() { q } else { T::zero() });
        Ok(log_evidence)
    }
}

fn add<T: Real>(terms: &mut [T], index: usize, term: T) {
    if let Some(sum) = terms.get_mut(index) {
        *sum += term;
    }
}

/// By location: [`Grouping::Location`].
impl<T: Real, L: AsRef<[T]>, C: Count, const D: usize> FreeEnergy<Bag<'_, C>> for LogHistograms<T, L, D> {
    type Scalar = T;
    type Error = GridError;

    fn term_count(&self, bag: &Bag<'_, C>) -> usize {
        Terms::new(self, Grouping::Location).term_count(bag)
    }

    fn scratch_len(&self, bag: &Bag<'_, C>) -> usize {
        Terms::new(self, Grouping::Location).scratch_len(bag)
    }

    fn free_energy_terms(
        &self,
        bag: &Bag<'_, C>,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, GridError> {
        Terms::new(self, Grouping::Location).free_energy_terms(bag, terms, scratch)
    }
}
