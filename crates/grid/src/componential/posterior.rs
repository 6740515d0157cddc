use countgrid_counts::Bags;
use countgrid_math::{Real, ln};

use super::{
    Inference, WindowMeans,
    grid::parameters_out_of_range,
    infer::{Document, Entry, Inferred, Source, Weights, by_logarithms, mass},
    posterior_scratch_len,
};
use crate::{
    GridError, WindowPosterior,
    error::{long_enough, same_length},
    tiles::Tiles,
};

/// What has been inferred of one bag: `q(theta) = Dirichlet(gamma)`, and from which windows its tokens come.
///
/// As a [`WindowPosterior`] it is the share of the bag's tokens that each window is expected to have drawn, `n_l / N`, so
/// that labels are embedded and read as with a counting grid. An empty bag is nowhere. Borrows the scratch in which it
/// was found.
///
/// Example: [`componential::WindowMeans`](crate::componential::WindowMeans).
#[derive(Debug)]
pub struct Posterior<'a, T, B, const D: usize> {
    tiles: Tiles<D>,
    source: Source<'a, T, B>,
    weights: Weights<'a, T>,
    tokens: &'a [T], // [active tile][lane]
    found: Inferred,
}

impl<T: Real, S: AsRef<[T]>, const D: usize> WindowMeans<T, S, D> {
    /// Infers bag `bag` of a data set. `scratch`: at least [`posterior_scratch_len`] elements.
    ///
    /// ```
    /// use countgrid_counts::Bag;
    /// use countgrid_grid::Shape;
    /// use countgrid_grid::componential::{
    ///     ComponentialGrid, Inference, WindowMeans, means_len, posterior_scratch_len,
    /// };
    ///
    /// let shape = Shape::from_sides([3], [1], 3)?;
    /// let pi = [0.8, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.8];
    /// let tables: Vec<f64> = pi.into_iter().chain([0.1; 3]).collect();
    /// let grid = ComponentialGrid::new(shape, tables)?;
    /// let packed = vec![0.0; means_len::<f64, 1>(&shape)];
    /// let means = WindowMeans::pack(&grid, packed, &mut vec![0.0; shape.plane_scratch_len()])?;
    ///
    /// let bag = Bag::new(3, &[0, 2], &[30u32, 10])?;
    /// let mut scratch = vec![0.0; posterior_scratch_len::<f64, 1>(&shape)];
    /// let posterior = means.posterior(&bag, 0, Inference::default(), &mut scratch)?;
    /// let mut gamma = [0.0; 3];
    /// posterior.gamma(&mut gamma)?;
    /// assert!((gamma.iter().sum::<f64>() - 40.3).abs() < 1e-12); // the prior's tokens and the bag's
    /// assert!(gamma[0] > gamma[2] && gamma[2] > gamma[1]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Features`], [`GridError::NoSuchBag`], [`GridError::Impossible`],
    /// [`GridError::Overflow`], [`GridError::NoSweeps`], [`GridError::Tolerance`].
    pub fn posterior<'a, B: Bags>(
        &'a self,
        bags: &'a B,
        bag: usize,
        inference: Inference,
        scratch: &'a mut [T],
    ) -> Result<Posterior<'a, T, B, D>, GridError> {
        self.posterior_from(bags, bag, inference, None, scratch)
    }

    /// The same from a `gamma` `[window]` of the caller's, such as that of an earlier inference.
    ///
    /// # Errors
    /// Those of [`WindowMeans::posterior`]; [`GridError::Gamma`].
    pub fn posterior_from<'a, B: Bags>(
        &'a self,
        bags: &'a B,
        bag: usize,
        inference: Inference,
        start: Option<&[T]>,
        scratch: &'a mut [T],
    ) -> Result<Posterior<'a, T, B, D>, GridError> {
        let (shape, inference) = (self.shape(), inference.check()?);
        let size = posterior_scratch_len::<T, D>(shape);
        long_enough("scratch", size, scratch.len())?;
        self.same_features(bags)?;
        if bag >= bags.len() {
            return Err(GridError::NoSuchBag { bag, bags: bags.len() });
        }
        let (source, tiles) = (self.source(bags, bag), shape.tiles::<T>());
        let scratch = scratch.get_mut(..size).unwrap_or_default();
        let mut document = Document::new(tiles.count(), scratch);
        match start {
            None => source.start(document.gamma),
            Some(start) => {
                same_length("gamma", shape.cells(), start.len())?;
                if let Some(window) = parameters_out_of_range(start) {
                    return Err(GridError::Gamma { window });
                }
                tiles.pack(start, document.gamma);
            }
        }
        let found = source.infer(inference, &source.prior(), &mut document);
        if let Some(feature) = found.impossible {
            return Err(GridError::Impossible { bag, feature });
        }
        if !found.bound.is_finite() {
            return Err(GridError::Overflow { bag });
        }
        source.tokens(&found, &mut document);
        found.write(document.results);
        let scratch = &*scratch;
        let (weights, _) = Weights::read(tiles.count(), scratch);
        let slots = tiles.slots();
        let tokens = scratch.get(3 * slots..3 * slots + weights.shares.len()).unwrap_or_default();
        Ok(Posterior { tiles, source, weights, tokens, found })
    }
}

impl<T: Real, B: Bags, const D: usize> Posterior<'_, T, B, D> {
    /// Writes `gamma` `[window]`.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn gamma(&self, gamma: &mut [T]) -> Result<(), GridError> {
        same_length("gamma", self.source.windows, gamma.len())?;
        self.tiles.unpack(self.weights.gamma, 0, 1, gamma);
        Ok(())
    }

    /// Proportions of windows `E[theta_l] = gamma_l / Σ gamma` `[window]`.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn proportions(&self, proportions: &mut [T]) -> Result<(), GridError> {
        same_length("proportions", self.source.windows, proportions.len())?;
        self.tiles.unpack(self.weights.gamma, 0, 1, proportions);
        let total = T::from_f64(proportions.iter().fold(0.0, |sum, &gamma| sum + gamma.to_f64()));
        proportions.iter_mut().for_each(|p| *p /= total);
        Ok(())
    }

    /// The tokens that each window is expected to have drawn, `n_l = Σ_z c_z q_zl` `[window]`: what the next sweep would
    /// add to `alpha`.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn expected_tokens(&self, tokens: &mut [T]) -> Result<(), GridError> {
        same_length("tokens", self.source.windows, tokens.len())?;
        tokens.fill(T::zero());
        self.visit_tokens(|window, n| {
            if let Some(to) = tokens.get_mut(window) {
                *to = n;
            }
        });
        Ok(())
    }

    /// The evidence lower bound of the tokens, in nats (no multinomial coefficient), at this `gamma` and the `q` it
    /// follows from: never above `ln p(c)`.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.found.bound
    }

    /// Sweeps made.
    #[must_use]
    pub fn sweeps(&self) -> usize {
        self.found.sweeps
    }

    /// Whether the last sweep moved no more than the tolerance.
    #[must_use]
    pub fn has_converged(&self) -> bool {
        self.found.converged
    }

    fn visit_tokens(&self, mut visit: impl FnMut(usize, T)) {
        self.tiles.runs(|cell, tile, lane, length| {
            let Ok(place) = self.weights.active.binary_search(&(tile as u32)) else { return };
            let tokens = self.tokens.iter().skip(place * T::LANES + lane).take(length);
            for (offset, &n) in tokens.enumerate().filter(|&(_, &n)| n > T::zero()) {
                visit(cell + offset, n);
            }
        });
    }

    pub(crate) fn source(&self) -> Source<'_, T, B> {
        self.source
    }

    /// `ln d_z` less the best weight's logarithm, and `q_zl` `[window]` if `slots` `[slot]` and `q` are given.
    pub(crate) fn weigh_feature(&self, entry: &Entry<'_, T>, room: Option<(&mut [T], &mut [T])>) -> T {
        let Weights { logs, shares, active, left, .. } = self.weights;
        let mass = mass(entry, active, shares, left);
        let Some((slots, q)) = room else {
            return mass.map_or_else(|| by_logarithms(entry.h, logs, |_, _| {}), ln);
        };
        slots.fill(T::zero());
        let ln_mass = match mass {
            Some(mass) => {
                for (&tile, shares) in active.iter().zip(shares.chunks_exact(T::LANES)) {
                    let first = tile as usize * T::LANES;
                    let rows = slots.iter_mut().zip(entry.h).skip(first).zip(shares);
                    rows.for_each(|((q, &h), &share)| *q = h * share / mass);
                }
                ln(mass)
            }
            None => by_logarithms(entry.h, logs, |slot, x| {
                if let Some(q) = slots.get_mut(slot) {
                    *q = x;
                }
            }),
        };
        self.tiles.unpack(slots, 0, 1, q);
        ln_mass
    }
}

impl<T: Real, B: Bags, const D: usize> WindowPosterior<T> for Posterior<'_, T, B, D> {
    fn for_each(&self, mut visit: impl FnMut(usize, T)) {
        let total = T::from_f64(self.source.bags.total(self.source.bag));
        self.visit_tokens(|window, n| visit(window, n / total));
    }
}
