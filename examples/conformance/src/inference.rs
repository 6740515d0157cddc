//! What is read out of a fitted grid: posteriors, histograms, and the terms of free energies.

use countgrid_em::{Fit, Learn, Tables};
use countgrid_grid::{LogHistograms, Options, Shape};
use countgrid_math::Real;
use countgrid_torus::{Torus, Windows};

use crate::{
    bags::{BAGS, Data, FEATURES},
    fits::{Memory, SCRATCH, random},
    readout::terms,
    report::{Digest, Failure, Report, first, name},
};

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    cases::<f32>(report)?;
    cases::<f64>(report)
}

fn cases<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    grid::<T, 1>(report, [60], [7])?;
    grid::<T, 2>(report, [12, 12], [3, 4])?;
    grid::<T, 3>(report, [4, 3, 5], [2, 2, 3])
}

const CELLS: usize = 144;

fn grid<T: Real, const D: usize>(
    report: &mut Report<'_>,
    extents: [usize; D],
    sides: [usize; D],
) -> Result<(), Failure> {
    let shape = Shape::new(Windows::new(Torus::new(extents)?, sides)?, FEATURES)?;
    let (data, mut memory) = (Data::new(), Memory::<T>::new());
    let bags = data.bags()?;
    let options = Options { learn_prior: true, pseudocount: 0.05, ..Options::default() };
    let (mut learner, mut statistics) = memory.learner(shape, options, random(6))?;
    for _ in 0..4 {
        statistics.clear();
        learner.expectation(&bags, &mut statistics)?;
        learner.maximization(&mut statistics)?;
    }
    let (grid, histograms) = learner.into_parts();
    let (mut q, mut scratch) = ([T::zero(); CELLS], [T::zero(); SCRATCH]);
    let q = first(&mut q, shape.cells())?;

    let (mut posteriors, mut modes) = (Digest::new(), Digest::new());
    histograms.posteriors(&bags, &mut scratch, |bag, posterior| {
        posterior.write(q);
        posteriors.add(q);
        posteriors.add(&[posterior.log_evidence(), posterior.entropy()]);
        modes.add_integers(&[bag as u64, posterior.mode() as u64]);
    })?;
    let mut line = |what: &str, digest| report.digest(format_args!("{what}, {D}d {}", name::<T>()), digest);
    line("posteriors", posteriors);
    line("places", modes);

    let mut digest = Digest::new();
    for bag in 0..BAGS {
        digest.add(&[histograms.posterior(&bags, bag, q, &mut scratch)?]);
        digest.add(q);
    }
    line("posteriors one by one", digest);

    let mut digest = Digest::new();
    for feature in 0..FEATURES {
        grid.histogram(feature, q, &mut scratch)?;
        digest.add(q);
    }
    line("histograms", digest);

    // The same table as a constant, as flash holds it.
    let constant = LogHistograms::<T, _, D>::new(shape, Tables::buffer(&histograms))?;
    line("free energies", terms(&constant, &data)?);
    Ok(())
}
