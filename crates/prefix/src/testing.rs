//! Random tables and box filters, and what windows see by the definition: for property tests of image libraries and the like.
//! Window sums by their definition are in the module of this name of `countgrid-torus`.
//!
//! ```
//! use countgrid_prefix::{Table, TableMut, testing::problems};
//! use proptest::prelude::*;
//!
//! proptest!(ProptestConfig::with_cases(16), |(problem in problems::<2>(5))| {
//!     let (filter, table) = (problem.filter(), problem.read(i64::from));
//!     let mut scratch = vec![0; filter.scratch_len::<i64>(problem.extents, problem.channels)];
//!     let mut sums = vec![0; problem.elements(1)];
//!     let [read, written] = problem.strides;
//!     let from = Table::strided(&table, problem.extents, problem.channels, read).unwrap();
//!     let to = TableMut::strided(&mut sums, problem.extents, problem.channels, written).unwrap();
//!     filter.sums(from, to, &mut scratch).unwrap();
//!     for cell in problem.cells() {
//!         let (window, _) = problem.window(&table, cell, 0);
//!         prop_assert_eq!(sums[cell[0] * written[0] + cell[1] * written[1]], window.iter().sum::<i64>());
//!     }
//! });
//! ```
#![allow(clippy::missing_panics_doc, reason = "for tests, which fail by panicking")]

use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use crate::{Border, BoxFilter};

/// All of them.
pub const BORDERS: [Border; 6] =
    [Border::Wrap, Border::Zero, Border::Replicate, Border::Reflect, Border::Mirror, Border::Clip];

/// The cell seen at position `at` of an axis: the axis is written down once more as its border continues it.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn seen(border: Border, extent: usize, at: isize) -> Option<usize> {
    let there = 0..extent;
    let period: Vec<usize> = match border {
        Border::Wrap => there.collect(),
        Border::Reflect => there.clone().chain(there.rev()).collect(),
        Border::Mirror => there.chain((1..extent - 1).rev()).collect(),
        Border::Replicate => return Some(at.max(0).min(extent as isize - 1) as usize),
        _ => return usize::try_from(at).ok().filter(|at| there.contains(at)),
    };
    Some(period[at.rem_euclid(period.len() as isize) as usize])
}

/// A table and a filter of it.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Debug)]
pub struct Problem<const D: usize> {
    /// Of the table, by axis; may be 0.
    pub extents: [usize; D],
    /// Elements of a cell.
    pub channels: usize,
    /// Of windows, by axis; may be longer than the table.
    pub sides: [usize; D],
    /// From a cell to where its window starts, by axis.
    pub offsets: [isize; D],
    /// By axis.
    pub borders: [Border; D],
    /// Of what is read and of what is written, in elements: axes in any order, with gaps.
    pub strides: [[usize; D]; 2],
    /// 97 numbers from -50 to 50, which repeat in the table.
    pub values: Vec<i32>,
}

/// Axes in any order, with gaps.
fn strides<const D: usize>(
    extents: [usize; D],
    channels: usize,
    order: &[usize],
    gaps: [usize; D],
) -> [usize; D] {
    let (mut strides, mut next) = ([0; D], channels);
    for &axis in order {
        strides[axis] = next + gaps[axis];
        next = strides[axis] * extents[axis].max(1);
    }
    strides
}

/// Of extents up to `most`, windows longer than that among them.
///
/// Example: [`testing`](crate::testing).
pub fn problems<const D: usize>(most: usize) -> impl Strategy<Value = Problem<D>> {
    let axes = || Just((0..D).rev().collect::<Vec<_>>());
    let order = prop_oneof![axes(), axes().prop_shuffle()];
    let gaps = || prop_oneof![Just([0; D]), prop::array::uniform(0usize..3)];
    (
        prop::array::uniform(0..=most),
        1usize..4,
        prop::array::uniform(1usize..=most + 15),
        prop::array::uniform(-20isize..20),
        prop::array::uniform(prop::sample::select(&BORDERS[..])),
        (order.clone(), gaps(), order, gaps()),
        prop::collection::vec(-50i32..=50, 97),
    )
        .prop_map(|(extents, channels, sides, offsets, borders, (a, gaps_a, b, gaps_b), values)| {
            Problem {
                extents,
                channels,
                sides,
                offsets,
                borders,
                strides: [strides(extents, channels, &a, gaps_a), strides(extents, channels, &b, gaps_b)],
                values,
            }
        })
}

impl<const D: usize> Problem<D> {
    /// The filter.
    #[must_use]
    pub fn filter(&self) -> BoxFilter<D> {
        BoxFilter::new(self.sides).unwrap().with_offsets(self.offsets).unwrap().with_borders(self.borders)
    }

    /// How many elements what is read (0) or written (1) needs.
    #[must_use]
    pub fn elements(&self, which: usize) -> usize {
        let cells = self.extents.iter().zip(&self.strides[which]);
        cells.map(|(extent, stride)| extent.max(&1) * stride).max().unwrap() + self.channels
    }

    /// What is read, with the gaps.
    #[must_use]
    pub fn read<T: Clone>(&self, from: impl Fn(i32) -> T) -> Vec<T> {
        (0..self.elements(0)).map(|i| from(self.values[i % 97])).collect()
    }

    /// All cells, row-major.
    #[must_use]
    pub fn cells(&self) -> Vec<[usize; D]> {
        let number = self.extents.iter().product();
        let cell = |mut rest: usize| {
            let mut cell = [0; D];
            for axis in (0..D).rev() {
                (cell[axis], rest) = (rest % self.extents[axis], rest / self.extents[axis]);
            }
            cell
        };
        (0..number).map(cell).collect()
    }

    /// The elements of one channel that the window of a cell sees, and how many cells it counts.
    #[must_use]
    pub fn window<T: Copy>(&self, table: &[T], cell: [usize; D], channel: usize) -> (Vec<T>, u64) {
        let (mut places, mut count) = (vec![channel], 1);
        for axis in 0..D {
            let first = cell[axis] as isize + self.offsets[axis];
            let at = first..first + self.sides[axis] as isize;
            let along: Vec<usize> =
                at.filter_map(|at| seen(self.borders[axis], self.extents[axis], at)).collect();
            count *= if self.borders[axis] == Border::Clip { along.len() } else { self.sides[axis] } as u64;
            let stride = self.strides[0][axis];
            places =
                places.iter().flat_map(|place| along.iter().map(move |cell| place + cell * stride)).collect();
        }
        (places.into_iter().map(|place| table[place]).collect(), count)
    }
}
