//! The size of a grid, by how probable documents are that it has not seen.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_counts::Bags;
use countgrid_estimators::{BagTotals, EstimatorError, GridLayout, GridOptions, Stored, Train};
use countgrid_math::Real;

use crate::{EvaluationError, HeldOut, Stop, document_completion, pieces::ask};

/// Every so many documents one is held out.
const FOLDS: usize = 5;
/// The most doublings and halvings of the default number of cells.
const DOUBLINGS: i32 = 2;

/// A grid that was tried.
///
/// Example: [`choose_grid`].
#[derive(Clone, Debug, PartialEq)]
pub struct TriedGrid {
    /// Its size.
    pub layout: GridLayout,
    /// How probable it makes halves of documents that were held out.
    pub held_out: HeldOut,
}

/// The size of a grid, and those that it was chosen from.
///
/// Example: [`choose_grid`].
#[derive(Clone, Debug, PartialEq)]
pub struct GridChoice {
    /// The chosen size.
    pub layout: GridLayout,
    /// What was tried, in that order; nothing if no document could be held out.
    pub tried: Vec<TriedGrid>,
}

/// Chooses the size of a grid by [`document_completion`] on every fifth document, of fits to the others: first the default number of
/// cells for so many documents, then twice and four times as many as long as that is better; if twice is not, half and a quarter. Axes are
/// of equal length: two, or as many as the window has. Sizes without memory count as too large. Of sizes that are equally good
/// the smallest is taken.
///
/// `options` are those of the fits: its `extents` are not looked at, and its window, if there is none, is the default of each size. `each`
/// gets every size when it has been tried. The same documents, options and seed lead to the same size with any number of threads.
///
/// # Errors
/// [`EvaluationError::TokenCount`] for counts that are not whole, which have no halves; errors of the fits; [`EvaluationError::Stopped`].
///
/// ```
/// use countgrid_corpus::{Corpus, CorpusOptions};
/// use countgrid_estimators::GridOptions;
/// use countgrid_evaluation::{Stop, choose_grid};
///
/// let texts: Vec<String> = (0..60).map(|n| format!("ant{} trail{} leaf{}", n % 7, n % 7, n % 3)).collect();
/// let corpus = Corpus::<f32>::from_texts(&texts, &CorpusOptions::default())?;
/// let options = GridOptions { iterations: 5, ..GridOptions::default() };
/// let choice = choose_grid(&options, &corpus.bags, |grid| println!("{:?}", grid.layout), &Stop::new())?;
/// assert_eq!(choice.tried[0].layout.extents(), [6, 6]); // the default for 60 documents
/// assert!(choice.tried.iter().any(|grid| grid.layout == choice.layout));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn choose_grid<T: Stored>(
    options: &GridOptions,
    bags: &Blocks<T>,
    mut each: impl FnMut(&TriedGrid),
    stop: &Stop,
) -> Result<GridChoice, EvaluationError> {
    let (training, held_out) = parts(bags)?;
    let totals = BagTotals::from_blocks(&training)?;
    let documents = totals.non_empty.saturating_add(BagTotals::from_blocks(&held_out)?.non_empty);
    let default = GridLayout::choose(None, None, documents)?.cells();
    let window = options.window.as_deref();
    let axes = window.map_or(2, |window| if window.len() > 1 { window.len() } else { 2 });
    let mut tried: Vec<TriedGrid> = Vec::new();
    let found = climb(DOUBLINGS, |doublings| {
        let extents = vec![side(default, doublings, axes); axes];
        let layout = match GridLayout::choose(Some(&extents), window, documents) {
            Err(EstimatorError::WindowTooLarge { .. }) if doublings != 0 => return Ok(None),
            layout => layout?,
        };
        let own = GridOptions { extents: Some(extents), ..options.clone() };
        let plan = match own.check::<T>(totals) {
            Err(EstimatorError::GridMemory { .. }) if doublings != 0 => return Ok(None),
            plan => plan?,
        };
        let mut fit = plan.train(&training, None)?;
        fit.set_stop(stop);
        fit.run(|_| ControlFlow::Continue(()))?;
        ask(stop)?;
        let Some(held_out) = document_completion(&fit.finish()?, &held_out, options.seed, stop)? else {
            return Ok(None);
        };
        let grid = TriedGrid { layout, held_out };
        each(&grid);
        tried.push(grid);
        Ok::<_, EvaluationError>(Some(held_out.per_token.value))
    });
    // Where no document has halves, the default.
    let doublings = found.map_err(stopped)?.unwrap_or(0);
    let layout = GridLayout::choose(Some(&vec![side(default, doublings, axes); axes]), window, documents)?;
    Ok(GridChoice { layout, tried })
}

/// A fit that was stopped is an evaluation that was.
fn stopped(error: EvaluationError) -> EvaluationError {
    match error {
        EvaluationError::Estimator(EstimatorError::Stopped) => EvaluationError::Stopped,
        error => error,
    }
}

/// The documents to fit to, and those that are held out.
fn parts<T: Stored>(bags: &Blocks<T>) -> Result<(Blocks<T>, Blocks<f64>), EvaluationError> {
    let limits = if bags.file_bytes().is_some() { BlockLimits::streaming() } else { BlockLimits::default() };
    let mut training = BlocksBuilder::new(bags.features(), limits)?;
    let mut held_out = BlocksBuilder::new(bags.features(), limits)?;
    bags.for_each_block(false, |first, block| {
        for bag in 0..block.len() {
            if (first + bag) % FOLDS == 0 {
                held_out.push(block.entries(bag).map(|(word, count)| (word, Real::to_f64(count))))?;
            } else {
                training.push(block.entries(bag))?;
            }
        }
        Ok::<_, EvaluationError>(())
    })?;
    Ok((training.finish()?, held_out.finish()?))
}

/// The step within `-most` and `most` that the way uphill ends at: up from 0 while values become larger, and if the first step does not,
/// down while they become no smaller. `None`, where nothing can be known, is less than any value; the step is `None` if all are.
fn climb<E>(most: i32, mut value: impl FnMut(i32) -> Result<Option<f64>, E>) -> Result<Option<i32>, E> {
    let (mut best, mut known) = (0, value(0)?);
    for way in [1, -1] {
        for step in 1..=most {
            let found = value(way * step)?;
            let better = match (found, known) {
                (Some(found), Some(known)) => found > known || (way < 0 && found == known),
                (found, None) => found.is_some() || way < 0,
                (None, Some(_)) => false,
            };
            if !better {
                break;
            }
            (best, known) = (way * step, found);
        }
        if best > 0 {
            break;
        }
    }
    Ok(known.map(|_| best))
}

/// The side of a grid of this number of cells, doubled so many times, to the nearest whole number.
fn side(cells: u128, doublings: i32, axes: usize) -> usize {
    // The largest s with (s - 1/2)^axes <= cells 2^doublings, both sides times 2^axes 2^DOUBLINGS.
    let most = cells << (DOUBLINGS + doublings).unsigned_abs() << axes;
    let power =
        |side: u128| (0..axes).fold(1_u128 << DOUBLINGS, |power, _| power.saturating_mul(2 * side - 1));
    (1..usize::MAX).take_while(|&side| power(side as u128) <= most).last().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DOUBLINGS, climb, side};

    #[test]
    fn sides_are_the_nearest_to_the_number_of_cells() {
        for (doublings, expected) in [(-2, 14), (-1, 20), (0, 28), (1, 40), (2, 56)] {
            assert_eq!(side(28 * 28, doublings, 2), expected);
        }
        for cells in [16_u128, 64, 144, 1024, 4096] {
            for doublings in -DOUBLINGS..=DOUBLINGS {
                for axes in 1..=8 {
                    let exact = (cells as f64 * 2.0_f64.powi(doublings)).powf(1.0 / axes as f64);
                    let found = side(cells, doublings, axes) as f64;
                    assert!(
                        (found - exact).abs() <= 0.5 + 1e-9,
                        "{cells} {doublings} {axes}: {found} {exact}"
                    );
                }
            }
        }
    }

    proptest! {
        /// Of values with one summit all around, the summit; no step is asked for twice.
        #[test]
        fn the_summit_is_found(summit in -2_i32..=2, known in prop::collection::vec(prop::bool::ANY, 5)) {
            let mut asked = Vec::new();
            let found = climb(2, |step| {
                asked.push(step);
                Ok::<_, ()>(Some(-f64::from((step - summit).abs())))
            });
            prop_assert_eq!(found, Ok(Some(summit)));
            prop_assert!(asked.iter().all(|&step| step >= 0 || summit <= 0), "down after up: {asked:?}");
            let mut once = asked.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), asked.len());
            // Where some are not known: one that is, or none.
            let is_known = |step: i32| known[(step + 2) as usize];
            let found = climb(2, |step| Ok::<_, ()>(is_known(step).then(|| f64::from(-step)))).unwrap();
            prop_assert!(found.map_or(!is_known(0), is_known));
        }
    }

    #[test]
    fn of_equal_sizes_the_smallest_is_taken() {
        assert_eq!(climb(2, |_| Ok::<_, ()>(Some(1.0))), Ok(Some(-2)));
        assert_eq!(climb(2, |_| Err("no")), Err("no"));
        assert_eq!(climb(2, |_| Ok::<_, ()>(None)), Ok(None));
    }

    /// What is not known is less than any value: a step up from it leads to a value, or the way is down, to the first value or its end.
    #[test]
    fn the_first_size_that_is_known_is_found() {
        for (known, expected, asked) in [
            (&[1][..], Some(1), &[0, 1, 2][..]),
            (&[1, 2], Some(2), &[0, 1, 2]),
            (&[2], None, &[0, 1, -1, -2]),
            (&[-1], Some(-1), &[0, 1, -1, -2]),
            (&[-2], Some(-2), &[0, 1, -1, -2]),
            (&[0], Some(0), &[0, 1, -1]),
        ] {
            let mut steps = Vec::new();
            let found = climb(2, |step| {
                steps.push(step);
                Ok::<_, ()>(known.contains(&step).then_some(f64::from(step.abs())))
            });
            assert_eq!((found, &steps[..]), (Ok(expected), asked), "{known:?}");
        }
    }
}
