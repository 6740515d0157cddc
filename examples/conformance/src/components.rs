//! Componential counting grids: fits, posteriors from constant tables, and the terms of free energies.

use countgrid_em::{EmOptions, FreeEnergy, Tables, no_observer};
use countgrid_grid::{
    Grouping, Shape, UpdateRule,
    componential::{
        ComponentialGrid, Inference, Learner, Options, Statistics, Terms, WindowMeans, means_len,
        scratch_len, sums_len,
    },
};
use countgrid_math::Real;
use countgrid_torus::{Torus, Windows};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    bags::{BAGS, Data, FEATURES},
    report::{Digest, Failure, Report, first, name},
};

const TABLE: usize = 4096;
const SCRATCH: usize = 8192;
const CELLS: usize = 63;
const TERMS: usize = (4 + FEATURES) * CELLS + 2;

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    cases::<f32>(report)?;
    cases::<f64>(report)
}

fn cases<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let smooth = Options { pseudocount: 0.1, learn_alpha: true, ..Options::default() };
    fitted::<T, 2>(report, "alpha learned", [7, 9], [3, 2], smooth)?;
    let factored = Options { update_rule: UpdateRule::Factored, inner_passes: 2, ..Options::default() };
    fitted::<T, 1>(report, "factored", [60], [7], factored)
}

fn fitted<T: Real, const D: usize>(
    report: &mut Report<'_>,
    what: &str,
    extents: [usize; D],
    sides: [usize; D],
    options: Options,
) -> Result<(), Failure> {
    let shape = Shape::new(Windows::new(Torus::new(extents)?, sides)?, FEATURES)?;
    let (mut table, mut packed, mut sums) = ([T::zero(); TABLE], [T::zero(); TABLE], [T::zero(); TABLE]);
    let (mut scratch, data) = ([T::zero(); SCRATCH], Data::new());
    let mut grid = ComponentialGrid::uniform_in(shape, first(&mut table, shape.grid_len())?, 2.0)?;
    grid.randomize(&mut ChaCha8Rng::seed_from_u64(10));
    let means = first(&mut packed, means_len::<T, D>(&shape))?;
    let mut learner = Learner::new(grid, means, &mut scratch, options)?;
    let sums = first(&mut sums, sums_len::<T, D>(&shape))?;
    let mut statistics = Statistics::new(shape, sums, first(&mut scratch, scratch_len::<T, D>(&shape, 3))?)?;
    let plan = EmOptions { iterations: 3, ..EmOptions::default() }.check()?;
    let outcome = plan.fit(&mut learner, &data.bags()?, &mut statistics, no_observer)?;
    report.tables(format_args!("componential, {what} {}", name::<T>()), &learner);
    report.tables(format_args!("sums of componential, {what} {}", name::<T>()), &statistics);

    let constant = WindowMeans::<T, _, D>::new(shape, learner.means().buffer())?; // as flash holds it
    let (mut digest, mut room, mut gamma) = (Digest::new(), [T::zero(); SCRATCH], [T::zero(); CELLS]);
    digest.add(&[outcome.objective]);
    for bag in 0..BAGS {
        let bags = data.bags()?;
        let posterior = constant.posterior(&bags, bag, Inference::default(), &mut room)?;
        let gamma = first(&mut gamma, shape.cells())?;
        posterior.gamma(gamma)?;
        digest.add(gamma);
        digest.add(&[posterior.bound()]);
    }
    report.digest(format_args!("posteriors of componential, {what} {}", name::<T>()), digest);

    let (mut digest, mut terms) = (Digest::new(), [T::zero(); TERMS]);
    for grouping in [Grouping::Location, Grouping::Feature, Grouping::Each] {
        let model = Terms::new(&constant, Inference::default(), grouping);
        for bag in 0..3 {
            let bag = data.bag(bag)?;
            let terms = first(&mut terms, model.term_count(&bag))?;
            digest.add(&[model.free_energy_terms(&bag, terms, &mut room)?]);
            digest.add(terms);
        }
    }
    report.digest(format_args!("free energies of componential, {what} {}", name::<T>()), digest);
    Ok(())
}
