//! Checks that a fit has enough memory, before anything is allocated for it.

use countgrid_grid::Shape;
use countgrid_math::Real;

use crate::{AXES, BagTotals, EstimatorError, GridLayout};

/// Bags whose posteriors are computed together if memory allows: so many that they read the rows of a tile about this often on
/// average, since every tile is read through once for all of them.
const READINGS: usize = 32;
/// The least that they are, and the most.
const CHUNKS: [usize; 2] = [1024, 4096];

/// What a fit of a grid needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    pub(crate) shape: Shape<AXES>,
    /// Bags whose posteriors are computed together.
    pub(crate) chunk: usize,
    /// Bytes that are allocated at a time at most, but for checkpoints.
    pub(crate) bytes: u128,
    /// Bytes of a checkpoint.
    pub(crate) checkpoint: u128,
}

/// What a fit needs, within this many bytes of memory if there is a limit: [`GridPlan::memory`](crate::GridPlan::memory) has the
/// formula, in which expected counts also wait for others ([`BagTotals::waiting_tables`]).
pub(crate) fn plan<T: Real>(
    layout: &GridLayout,
    totals: &BagTotals,
    restarts: usize,
    available: Option<u128>,
) -> Result<Needs, EstimatorError> {
    let features = totals.features;
    let (bytes, waiting) = (size_of::<T>() as u128, totals.waiting_tables() as u128);
    let copies = if restarts > 1 { 2 } else { 1 };
    let too_large = |needed: u128| EstimatorError::GridMemory {
        extents: layout.extents().to_vec(),
        features,
        needed,
        available,
    };
    let Ok(shape) = layout.shape(features) else {
        let table = layout.cells().saturating_mul(features as u128 + 1);
        return Err(too_large(table.saturating_mul((1 + 2 * copies + waiting) * bytes)));
    };
    // A shape that was accepted can be counted in `usize`; its tables together perhaps cannot.
    let learner = shape.grid_len() as u128 + shape.histograms_len::<T>() as u128;
    let tables = learner * copies + shape.sums_len::<T>() as u128 * (1 + waiting);
    // Scratch for two bags can be counted in `usize`; from there on each takes as much as the one before.
    let [one, two] = [1, 2].map(|bags| shape.posterior_scratch_len::<T>(bags) as u128);
    let scratch =
        |chunk: usize| (one + (chunk as u128 - 1) * (two - one)).max(shape.plane_scratch_len() as u128);
    let needed = |chunk| (tables + scratch(chunk)).saturating_mul(bytes);
    let checkpoint =
        (shape.grid_len() as u128 * copies + shape.sums_len::<T>() as u128).saturating_mul(bytes);
    let chunk = chunk(totals);
    let fits = |chunk: &usize| available.is_none_or(|available| needed(*chunk) <= available);
    match (1..=chunk).rev().find(fits) {
        Some(chunk) => Ok(Needs { shape, chunk, bytes: needed(chunk), checkpoint }),
        None => Err(too_large(needed(1))),
    }
}

/// Bags of a chunk.
fn chunk(totals: &BagTotals) -> usize {
    let [least, most] = CHUNKS;
    // A bag reads a row for each of its features, at most one for each of its tokens.
    let length = (totals.tokens / totals.non_empty.max(1) as f64).max(1.0);
    ((READINGS as f64 * totals.features as f64 / length) as usize).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use countgrid_em::BLOCK_BAGS;

    use super::*;

    fn layout(extents: &[usize]) -> GridLayout {
        GridLayout::new(extents.to_vec(), vec![1; extents.len()]).unwrap()
    }

    #[test]
    fn more_leaves_need_more_tables() {
        let needed = |bags| {
            let totals = BagTotals { features: 1000, bags, non_empty: bags, tokens: 1e4 };
            match plan::<f32>(&layout(&[32, 32]), &totals, 1, Some(0)) {
                Err(EstimatorError::GridMemory { needed, .. }) => needed,
                other => panic!("{other:?}"),
            }
        };
        let table = 4 * layout(&[32, 32]).shape(1000).unwrap().sums_len::<f32>() as u128;
        let one = BLOCK_BAGS;
        for (bags, tables) in [(one, 0), (one + 1, 1), (3 * one, 1), (3 * one + 1, 2), (8 * one, 3)] {
            assert_eq!(needed(bags), needed(1) + tables * table, "{bags} bags");
        }
    }

    #[test]
    fn the_best_of_several_restarts_is_a_grid_and_its_histograms() {
        let totals = BagTotals { features: 1000, bags: 10, non_empty: 10, tokens: 1e4 };
        let [one, two, three] =
            [1, 2, 3].map(|restarts| plan::<f64>(&layout(&[32, 32]), &totals, restarts, None).unwrap());
        let shape = one.shape;
        let learner = shape.grid_len() + shape.histograms_len::<f64>();
        assert_eq!((two.bytes - one.bytes, three.bytes), (8 * learner as u128, two.bytes));
        // All of it by itself.
        let (sums, scratch) = (shape.sums_len::<f64>(), shape.scratch_len::<f64>(one.chunk));
        assert!(shape.posterior_scratch_len::<f64>(one.chunk) > shape.plane_scratch_len());
        assert_eq!(one.bytes, 8 * (learner + sums + scratch) as u128);
        let checkpoints = [1, 2].map(|copies| 8 * (copies * shape.grid_len() + sums) as u128);
        assert_eq!([one.checkpoint, two.checkpoint], checkpoints);
    }

    #[test]
    fn short_bags_share_a_reading_of_the_table_in_larger_chunks() {
        let of = |tokens, non_empty| chunk(&BagTotals { features: 3000, bags: 9, non_empty, tokens });
        assert_eq!([of(9e9, 9), of(9.0 * 50.0, 9), of(9.0, 9), of(0.0, 0)], [1024, 1920, 4096, 4096]);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_numbers() {
        const CHUNK: usize = CHUNKS[0];
        let totals = BagTotals { features: 1000, bags: 10, non_empty: 10, tokens: 1e4 };
        let cells_by_words = 32 * 32 * 1001 * 4 * 3;
        let Needs { shape, chunk, bytes, .. } =
            plan::<f32>(&layout(&[32, 32]), &totals, 1, Some(1 << 30)).unwrap();
        assert_eq!(chunk, CHUNK);
        assert!((cells_by_words..1 << 30).contains(&bytes));
        for chunk in [1, 2, 3, 100, CHUNK] {
            let [one, two] = [1, 2].map(|bags| shape.posterior_scratch_len::<f32>(bags));
            assert_eq!(one + (chunk - 1) * (two - one), shape.posterior_scratch_len::<f32>(chunk));
        }
        // Between the scratch of one document and that of all.
        let some = 4 * shape.scratch_len::<f32>(CHUNK / 2) as u128;
        let Needs { chunk, bytes, .. } =
            plan::<f32>(&layout(&[32, 32]), &totals, 1, Some(cells_by_words + some)).unwrap();
        assert!((1..CHUNK).contains(&chunk) && bytes <= cells_by_words + some);
        let refused = plan::<f32>(&layout(&[32, 32]), &totals, 1, Some(cells_by_words)).unwrap_err();
        assert!(refused.to_string().contains("12.3 MB"), "{refused}");
        assert!(plan::<f64>(&layout(&[32, 32]), &totals, 1, Some(cells_by_words * 3 / 2)).is_err());
        for huge in [vec![1_000_000; 2], vec![usize::MAX; 8], vec![1 << 31; 2]] {
            assert!(plan::<f32>(&layout(&huge), &totals, 1, Some(1 << 40)).is_err());
        }
        assert!(plan::<f32>(&layout(&[usize::MAX; 8]), &totals, 1, None).is_err());
    }
}
