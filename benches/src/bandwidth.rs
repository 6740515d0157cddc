//! How fast this machine reads a table from its second-level cache: the limit of an E-step that scores every window,
//! because the step reads each entry of the table once for every count and does two operations with it.

use std::hint::black_box;

use countgrid_counts::CsrBuf;
use countgrid_math::{AlignedVec, AllocationError, Kernel, dispatch};

use crate::{Seconds, timed};

/// Elements of a row: 64 bytes.
const LANES: usize = 16;

/// Bytes that were read, and how long it took.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Bytes of the table, each as often as it was read; indices are not counted.
    pub bytes: f64,
    /// For all of them.
    pub seconds: Seconds,
}

/// Reads a table of `features` rows of 64 bytes from its beginning to its end, again and again: 320 KB for 5,000
/// features.
///
/// # Errors
/// [`AllocationError`].
pub fn in_sequence(features: usize, rounds: usize) -> Result<Reading, AllocationError> {
    let table = table(features)?;
    let ((), seconds) = timed(|| {
        for _ in 0..rounds {
            black_box(dispatch(Whole(black_box(&table))));
        }
    });
    Ok(Reading { bytes: (rounds * table.len() * size_of::<f32>()) as f64, seconds })
}

/// Reads rows of such tables in the order in which an E-step needs them, one row for every nonzero count of every
/// bag, for as many tables as hold `cells` cells. Nothing is done with the counts and nothing is kept: no exact
/// E-step of this layout that scores every window can be faster.
///
/// # Errors
/// [`AllocationError`].
pub fn in_order_of_rows(
    bags: &CsrBuf<f32>,
    features: usize,
    cells: usize,
) -> Result<Reading, AllocationError> {
    let tiles = cells.div_ceil(LANES);
    let (table, features) = (table(tiles * features)?, features * LANES);
    let ((), seconds) = timed(|| {
        for tile in table.chunks_exact(features) {
            black_box(dispatch(Gather { table: tile, indices: bags.indices() }));
        }
    });
    Ok(Reading { bytes: (tiles * bags.indices().len() * LANES * size_of::<f32>()) as f64, seconds })
}

fn table(rows: usize) -> Result<AlignedVec<f32>, AllocationError> {
    let mut table = AlignedVec::zeroed(rows * LANES)?;
    table.iter_mut().enumerate().for_each(|(i, x)| *x = (i % 97) as f32);
    Ok(table)
}

/// All rows of a table, folded together by exclusive or: an operation of one cycle, so that loads are what counts.
struct Whole<'a>(&'a [f32]);

impl Kernel for Whole<'_> {
    type Output = [u32; LANES];

    #[inline(always)]
    fn run(self) -> Self::Output {
        let mut folded = [0; LANES];
        for row in self.0.as_chunks::<LANES>().0 {
            fold(&mut folded, row);
        }
        folded
    }
}

/// The rows of all bags, one bag after the other.
struct Gather<'a> {
    table: &'a [f32],
    indices: &'a [u32],
}

impl Kernel for Gather<'_> {
    type Output = [u32; LANES];

    #[inline(always)]
    fn run(self) -> Self::Output {
        let mut folded = [0; LANES];
        let rows = self.table.as_chunks::<LANES>().0;
        for &feature in self.indices {
            if let Some(row) = rows.get(feature as usize) {
                fold(&mut folded, row);
            }
        }
        folded
    }
}

#[inline(always)]
fn fold(folded: &mut [u32; LANES], row: &[f32; LANES]) {
    for (folded, x) in folded.iter_mut().zip(row) {
        *folded ^= x.to_bits();
    }
}
