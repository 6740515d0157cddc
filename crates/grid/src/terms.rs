//! The variational free energy of a bag, term by term.

use countgrid_counts::{Bag, Bags, Count};
use countgrid_em::FreeEnergy;
use countgrid_math::{Real, ln};
use countgrid_prefix::Way;

use crate::{
    Grid, GridError, LogHistograms, Shape,
    error::{long_enough, same_length},
    grid::window_means,
    mstep::sum_windows,
};

/// How the terms of a bag's free energy are summed into groups. Every grouping sums to `-log p(c)`.
///
/// Blocks, in order, with the exact posterior `q`; `N = Σ_z c_z`, and `0 log 0 = 0`:
///
/// | | entropy | prior | counts |
/// |---|---|---|---|
/// | `Location` | `q_k log q_k` `[P]` | `-q_k log p_k` `[P]` | `-q_k Σ_z c_z log h_kz` `[P]` |
/// | `Feature` | `Σ_k q_k log q_k` `[1]` | `-Σ_k q_k log p_k` `[1]` | `-c_z Σ_k q_k log h_kz` `[Z]` |
/// | `Source` | as `Location` | as `Location` | `Σ_kz q_k c_z r_ikz log r_ikz` `[P]`, `-Σ_z n_iz log pi_iz` `[P]`, `N log V` `[1]` |
/// | `Each` | as `Location` | as `Location` | `-q_k c_z log h_kz` `[P][Z]` |
///
/// In `Source` a token comes from one cell `i` of its window, with responsibility `r_ikz = pi_iz / (V h_kz)`, and
/// `n_iz = Σ_k q_k c_z r_ikz`. A feature that a window does not know has no source there: what the floor of its
/// histogram costs is then added to the last term.
///
/// With windows of one cell a grid is a mixture, `Location` its terms by component and `Each` by component and word.
///
/// # Source
/// Perina et al. 2009, Eqs. 2 to 5, for the free energy of Jojic & Perina 2011, Eq. 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// By window.
    #[default]
    Location,
    /// By feature.
    Feature,
    /// By the cell that a token comes from.
    Source,
    /// By window and feature.
    Each,
}

/// A grid and its packed logarithms, which tell the free energy of a bag in groups of terms.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_em::FreeEnergy;
/// use countgrid_grid::{Grid, Grouping, LogHistograms, Shape, Terms};
/// use countgrid_torus::{Torus, Windows};
///
/// let shape = Shape::new(Windows::new(Torus::new([3])?, [2])?, 2)?;
/// let grid = Grid::new(shape, [0.9, 0.5, 0.1, 0.1, 0.5, 0.9, 0.4, 0.3, 0.3])?;
/// let mut scratch = vec![0.0; shape.plane_scratch_len()];
/// let histograms = LogHistograms::pack(&grid, vec![0.0; shape.histograms_len::<f64>()], &mut scratch)?;
///
/// let model = Terms::new(&grid, &histograms, Grouping::Feature)?;
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
pub struct Terms<'a, T, G, L, const D: usize> {
    grid: &'a Grid<T, G, D>,
    histograms: &'a LogHistograms<T, L, D>, // of the same shape
    grouping: Grouping,
}

impl<'a, T: Real, G: AsRef<[T]>, L: AsRef<[T]>, const D: usize> Terms<'a, T, G, L, D> {
    /// Terms under a grid of which `histograms` is the table.
    ///
    /// # Errors
    /// [`GridError::ShapeMismatch`].
    pub fn new(
        grid: &'a Grid<T, G, D>,
        histograms: &'a LogHistograms<T, L, D>,
        grouping: Grouping,
    ) -> Result<Self, GridError> {
        if grid.shape() != histograms.shape() {
            return Err(GridError::ShapeMismatch);
        }
        Ok(Self { grid, histograms, grouping })
    }

    fn shape(&self) -> &Shape<D> {
        self.grid.shape()
    }

    /// Number of terms of a bag, whatever is in it.
    pub fn terms(&self) -> usize {
        let (cells, features) = (self.shape().cells(), self.shape().features());
        match self.grouping {
            Grouping::Location => 3 * cells,
            Grouping::Feature => 2 + features,
            Grouping::Source => 4 * cells + 1,
            Grouping::Each => (2 + features) * cells, // fewer than the grid has, plus two planes
        }
    }

    /// Elements of scratch that a bag needs.
    pub fn scratch(&self) -> usize {
        let shape = self.shape();
        let (posterior, planes) =
            (shape.posterior_scratch_len::<T>(1), 3 * shape.cells() + shape.plane_scratch_len());
        shape.cells() + if posterior > planes { posterior } else { planes }
    }

    /// Writes the terms of bag `t` and returns their sum, the free energy in nats.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Features`], [`GridError::NoSuchBag`], [`GridError::Overflow`].
    pub fn of<B: Bags>(
        &self,
        bags: &B,
        t: usize,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, GridError> {
        same_length("terms", self.terms(), terms.len())?;
        long_enough("scratch", self.scratch(), scratch.len())?;
        let cells = self.shape().cells();
        let (q, scratch) = scratch.split_at_mut(cells);
        self.histograms.posterior(bags, t, q, scratch)?;
        terms.fill(T::zero());
        let counts = match self.grouping {
            Grouping::Feature => {
                let (shared, counts) = terms.split_at_mut(2);
                let [entropy, prior] = shared else { return Ok(T::zero()) };
                let (mut ones, mut logs) = (T::zero(), T::zero());
                for (k, &q) in q.iter().enumerate() {
                    ones += times_ln(q, q);
                    logs += self.prior_term(k, q);
                }
                (*entropy, *prior) = (ones, logs);
                counts
            }
            _ => {
                let (entropy, rest) = terms.split_at_mut(cells);
                let (prior, counts) = rest.split_at_mut(cells);
                for (k, (&q, (entropy, prior))) in q.iter().zip(entropy.iter_mut().zip(prior)).enumerate() {
                    (*entropy, *prior) = (times_ln(q, q), self.prior_term(k, q));
                }
                counts
            }
        };
        for (z, c) in bags.entries(t) {
            let c = c.to_real::<T>();
            if self.grouping == Grouping::Source {
                self.sources(z, c, q, counts, scratch);
            } else {
                self.windows(z, c, q, counts, scratch);
            }
        }
        Ok(countgrid_math::sum(terms))
    }

    /// `-q_k log p_k`.
    fn prior_term(&self, k: usize, q: T) -> T {
        let p = self.grid.prior().get(k).copied().unwrap_or(T::one());
        -times_ln(q, if p > T::FLOOR { p } else { T::FLOOR })
    }

    /// Adds one feature's `-q_k c_z log h_kz`, to its window, to itself, or to both.
    fn windows(&self, z: usize, c: T, q: &[T], counts: &mut [T], scratch: &mut [T]) {
        let (shape, logs) = (self.shape(), scratch.get_mut(..q.len()).unwrap_or_default());
        let (packed, references) = self.histograms.packed();
        self.histograms.tiles().unpack(packed, z + 1, shape.features() + 1, logs);
        let reference = references.get(z).copied().unwrap_or(T::zero());
        let mut sum = T::zero();
        for (k, (&q, &log)) in q.iter().zip(&*logs).enumerate() {
            if q > T::zero() {
                let term = -(q * c * (log + reference));
                match self.grouping {
                    Grouping::Location => add(counts, k, term),
                    Grouping::Each => add(counts, k * shape.features() + z, term),
                    _ => sum += term,
                }
            }
        }
        if self.grouping == Grouping::Feature {
            add(counts, z, sum);
        }
    }

    /// Adds one feature's `Σ_k q_k c_z r_ikz log r_ikz` and `-n_iz log pi_iz` of every cell, and its `c_z log V`.
    ///
    /// `Σ_k q_k c r_ik log r_ik = n_i log pi_i - pi_i / V · S'(q c / h · log(V h))_i` with `n_i = pi_i / V · S'(q c / h)_i`.
    fn sources(&self, z: usize, c: T, q: &[T], counts: &mut [T], scratch: &mut [T]) {
        let (shape, cells) = (self.shape(), q.len());
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
        sum_windows(shape.windows(), Way::Spread, logs, spread, rest);
        for ((term, &pi), &spread) in responsibilities.iter_mut().zip(pi).zip(&*spread) {
            *term += if pi > T::zero() { -(pi / volume * spread) } else { T::zero() };
        }
        sum_windows(shape.windows(), Way::Spread, shares, spread, rest);
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

fn add<T: Real>(terms: &mut [T], index: usize, term: T) {
    if let Some(sum) = terms.get_mut(index) {
        *sum += term;
    }
}

/// `q log x`, zero for `q = 0`.
fn times_ln<T: Real>(q: T, x: T) -> T {
    if q > T::zero() { q * ln(x) } else { T::zero() }
}

impl<T: Real, G: AsRef<[T]>, L: AsRef<[T]>, C: Count, const D: usize> FreeEnergy<Bag<'_, C>>
    for Terms<'_, T, G, L, D>
{
    type Scalar = T;
    type Error = GridError;

    fn term_count(&self, _: &Bag<'_, C>) -> usize {
        self.terms()
    }

    fn scratch_len(&self, _: &Bag<'_, C>) -> usize {
        self.scratch()
    }

    fn free_energy_terms(
        &self,
        bag: &Bag<'_, C>,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, GridError> {
        self.of(bag, 0, terms, scratch)
    }
}
