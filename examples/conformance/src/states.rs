//! Hidden Markov models and Markov chains: fits, posteriors, paths, terms of free energies, Fisher scores.

use countgrid_counts::Sequences;
use countgrid_em::{EmOptions, Fit, FreeEnergy, Learn, Tables, no_observer};
use countgrid_hmm::{Chain, ChainShape, Grouping, Hmm, Learner, Posterior, Shape, Statistics, Terms};
use countgrid_math::Real;
use countgrid_scores::{Form, fisher, nfess, top};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::report::{Digest, Failure, Report, first, name};

/// One more than a row of lanes of f64.
const STATES: usize = 9;
const SYMBOLS: usize = 3;
const OFFSETS: [usize; 4] = [0, 1, 6, 40]; // one symbol; a few; more than a block
const POSITIONS: usize = 40;
const TABLE: usize = STATES * (1 + STATES + SYMBOLS);
const SCRATCH: usize = 2048;

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    cases::<f32>(report)?;
    cases::<f64>(report)
}

fn symbols() -> [u8; POSITIONS] {
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    core::array::from_fn(|_| (rng.next_u64() % SYMBOLS as u64) as u8)
}

fn cases<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    fitted::<T>(report, "ergodic", 0.0, |shape, table| Hmm::uniform_in(shape, table))?;
    fitted::<T>(report, "left to right", 0.5, |shape, table| Hmm::left_to_right_in(shape, table))?;

    let (x, shape) = (symbols(), ChainShape::new(SYMBOLS, 2)?);
    let (mut table, mut sums) = ([T::zero(); 39], [T::zero(); 39]);
    let mut learner = Learner::new(Chain::uniform_in(shape, &mut table[..])?, 0.5)?;
    let mut counts = learner.model().statistics_in(&mut sums[..])?;
    learner.expectation(&Sequences::new(SYMBOLS, &OFFSETS, &x)?, &mut counts)?;
    learner.maximization(&mut counts)?;
    report.tables(format_args!("chain of the second order {}", name::<T>()), &learner);
    Ok(())
}

/// Makes a model in the caller's memory.
type Begin<T> = for<'a> fn(Shape, &'a mut [T]) -> Result<Hmm<T, &'a mut [T]>, countgrid_hmm::HmmError>;

fn fitted<T: Real>(
    report: &mut Report<'_>,
    what: &str,
    pseudocount: f64,
    begin: Begin<T>,
) -> Result<(), Failure> {
    let (shape, x) = (Shape::new(STATES, SYMBOLS)?, symbols());
    let data = Sequences::new(SYMBOLS, &OFFSETS, &x)?;
    let (mut table, mut sums, mut scratch) = ([T::zero(); TABLE], [T::zero(); TABLE], [T::zero(); SCRATCH]);
    let mut hmm = begin(shape, &mut table)?;
    hmm.randomize(&mut ChaCha8Rng::seed_from_u64(11));
    let mut learner = Learner::new(hmm, pseudocount)?;
    let own = first(&mut scratch, shape.scratch_len::<T>(data.longest()))?;
    let mut statistics = Statistics::new(shape, &mut sums[..], own)?;
    let plan = EmOptions { iterations: 6, ..EmOptions::default() }.check()?;
    let outcome = plan.fit(&mut learner, &data, &mut statistics, no_observer)?;
    report.tables(format_args!("states, {what} {}", name::<T>()), &learner);
    report.tables(format_args!("sums of states, {what} {}", name::<T>()), &statistics);

    let hmm = Hmm::new(shape, Tables::buffer(&learner))?; // as flash holds it
    let mut digest = Digest::new();
    digest.add(&[outcome.objective]);
    let (mut room, mut path) = ([T::zero(); SCRATCH], [0; POSITIONS]);
    let mut rows = [T::zero(); POSITIONS * STATES];
    for sequence in data.iter() {
        let gamma = first(&mut rows, sequence.len() * STATES)?;
        digest.add(&[hmm.posterior(&sequence, gamma, &mut room)?, hmm.log_likelihood(&sequence, &mut room)?]);
        digest.add(gamma);
        hmm.mean_field(&sequence, 3, gamma, &mut room)?;
        digest.add(gamma);
        let path = &mut path[..sequence.len()];
        digest.add(&[hmm.viterbi(&sequence, path, &mut room)?]);
        path.iter().for_each(|&state| digest.add_integer(state as u64));
    }
    report.digest(format_args!("posteriors of states, {what} {}", name::<T>()), digest);
    features(report, what, &hmm, &data, &mut room)
}

fn features<T: Real>(
    report: &mut Report<'_>,
    what: &str,
    hmm: &Hmm<T, &[T]>,
    data: &Sequences<'_, u8>,
    room: &mut [T],
) -> Result<(), Failure> {
    let (mut digest, mut row) = (Digest::new(), [T::zero(); 1 + 2 * TABLE]);
    for sequence in data.iter() {
        for posterior in [Posterior::Exact, Posterior::MeanField { sweeps: 3 }] {
            let terms = Terms::new(hmm, posterior, Grouping::Summed);
            let row = first(&mut row, terms.term_count(&sequence))?;
            terms.free_energy_terms(&sequence, row, room)?;
            let free_energy = match posterior {
                Posterior::Exact => -hmm.log_likelihood(&sequence, room)?,
                Posterior::MeanField { .. } => row.iter().fold(0.0, |sum, &term| sum + Real::to_f64(term)),
            };
            digest.add(&[T::from_f64(free_energy / sequence.len() as f64)]);
            nfess(&terms, &sequence, row, room)?;
            digest.add(row);
        }
        let score = first(&mut row, TABLE)?;
        for form in [Form::Raw, Form::Tangent, Form::Logit] {
            digest.add(&[fisher(hmm, &sequence, form, score, room)?]);
            digest.add(score);
        }
        top(hmm, hmm, T::one(), &sequence, Form::Logit, &mut row, room)?;
        digest.add(&row);
    }
    report.digest(format_args!("features of states, {what} {}", name::<T>()), digest);
    Ok(())
}
