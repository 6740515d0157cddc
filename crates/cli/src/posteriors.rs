//! Where documents lie on a fitted grid.

use countgrid_counts::Bags;
use countgrid_grid::Posterior;
use countgrid_math::{AlignedVec, Real};
use countgrid_torus::Torus;

use crate::{
    failure::Failure,
    fit::{Inference, Parameters},
    layout::AXES,
    store::{Storable, Store},
};

/// Documents that are placed together.
const CHUNK: usize = 256;

/// The table for placing documents.
pub(crate) fn inference<T: Real>(grid: &Parameters<T>) -> Result<Inference<T>, Failure> {
    let shape = grid.shape();
    let mut scratch = zeros(shape.plane_scratch_len())?;
    Ok(Inference::pack(grid, zeros(shape.histograms_len::<T>())?, &mut scratch)?)
}

/// Calls `visit` with the tokens and the posterior of every bag, in order.
pub(crate) fn for_each_posterior<T: Real + Storable>(
    histograms: &Inference<T>,
    bags: &Store<T>,
    mut visit: impl FnMut(usize, f64, &Posterior<'_, T, AXES>),
) -> Result<(), Failure> {
    let shape = histograms.shape();
    let scratch = zeros(shape.posterior_scratch_len::<T>(CHUNK));
    let mut scratch = scratch.or_else(|_| zeros(shape.posterior_scratch_len::<T>(1)))?;
    bags.each(false, |first, block| {
        Ok(histograms.posteriors(&block, &mut scratch, |bag, posterior| {
            visit(first + bag, block.total(bag), posterior);
        })?)
    })
}

/// The circular mean of a posterior along every axis; `None` where its directions cancel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    sums: [[f64; 2]; AXES], // Σ q cos, Σ q sin of the angle 2π x / E
}

impl Mean {
    /// Adds a window with its probability.
    pub(crate) fn add(&mut self, torus: &Torus<AXES>, cell: usize, q: f64) {
        let coordinates = torus.coords_of(cell).into_iter().zip(torus.extents());
        for (sum, (x, extent)) in self.sums.iter_mut().zip(coordinates) {
            let angle = core::f64::consts::TAU * x as f64 / extent as f64;
            sum[0] += q * libm::cos(angle);
            sum[1] += q * libm::sin(angle);
        }
    }

    /// The mean in thousandths of a cell, in `[0, extent)`.
    pub(crate) fn coordinate(&self, axis: usize, extent: usize) -> Option<f64> {
        let [x, y] = *self.sums.get(axis)?;
        if x * x + y * y < 1e-12 {
            return None;
        }
        let turns = libm::atan2(y, x) / core::f64::consts::TAU;
        let mean = ((turns - turns.floor()) * extent as f64 * 1000.0).round() / 1000.0;
        // What rounds up to the end is at the beginning.
        Some(if mean < extent as f64 { mean } else { 0.0 })
    }
}

fn zeros<T: Real>(elements: usize) -> Result<AlignedVec<T>, Failure> {
    AlignedVec::zeroed(elements)
        .map_err(|error| Failure::new(error, "use a larger machine, or a smaller grid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_goes_around_the_torus() {
        let mut extents = [1; AXES];
        extents[AXES - 1] = 10;
        let torus = Torus::new(extents).unwrap();
        let mean = |entries: &[(usize, f64)]| {
            let mut mean = Mean::default();
            entries.iter().for_each(|&(cell, q)| mean.add(&torus, cell, q));
            mean.coordinate(AXES - 1, 10)
        };
        assert_eq!(mean(&[(3, 1.0)]), Some(3.0));
        // 9 and 1 meet at 0, not at 5, nor a hair below 10.
        assert_eq!(mean(&[(9, 0.5), (1, 0.5)]), Some(0.0));
        assert_eq!(mean(&[(9, 0.500_01), (1, 0.5)]), Some(0.0));
        assert_eq!(mean(&[(0, 0.5), (5, 0.5)]), None);
    }
}
