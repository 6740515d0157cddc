//! The M-step: window counts become expected tokens of cells, one feature's plane at a time.
//!
//! `pi / V · S'(F / h)` with `h = S pi / V` is `pi · S'(F / S pi)`: the volume cancels. Column sums are
//! collected on the way and divided out in a second sweep, the one that computes the table of the next E-step.

use countgrid_em::parallel::{Rows, Split, for_each, part_count};
use countgrid_math::{Kernel, Level, Real, dispatch, prefetch};
use countgrid_prefix::{Direction, axes, sums_along};
use countgrid_torus::Windows;

use crate::{Shape, UpdateRule, tiles::Tiles};

/// Column sums are collected in blocks of so many features, so that an entry of a sum over `Z` features meets
/// at most `BLOCK + Z / BLOCK` roundings and not `Z`; and runs of blocks are what threads share out.
const BLOCK: usize = 64;
/// Features that are read from the packed counts together, where scratch allows: a page of each tile. With fewer, memory
/// is read in short pieces, which it gives slowly.
const GROUP: usize = 64;

/// The least elements of scratch of an M-step.
pub(crate) const fn scratch_len<const D: usize>(shape: &Shape<D>) -> usize {
    2 * shape.cells() + planes_len(shape, 1)
}

/// What one thread needs for so many features that are read together.
const fn planes_len<const D: usize>(shape: &Shape<D>, group: usize) -> usize {
    (2 + group) * shape.cells() + countgrid_prefix::scratch_len(shape.windows())
}

/// Elements to leave free between planes of a page or more, where there is room: a plane then begins a quarter of a page later
/// in its page than the one before. Planes of 32 x 32 or 64 x 64 cells would otherwise all begin at the same place, and a processor
/// that compares only the lowest twelve bits of addresses takes what it reads of one for what it has just written to another, and waits.
pub(crate) const fn gap<T>(cells: usize) -> usize {
    let page = 4096 / size_of::<T>();
    if cells < page { 0 } else { (page + page / 4 - cells % page) % page }
}

/// Scratch of one thread, cut from the caller's.
pub(crate) struct Planes<'a, T> {
    sums: &'a mut [T],              // S pi; an adjoint
    spread: &'a mut [T],            // the factored rule's second adjoint
    window: &'a mut [T],            // what window sums need
    pub(crate) counts: &'a mut [T], // [feature][cell], F of up to GROUP features; their expected tokens
}

impl<'a, T: Real> Planes<'a, T> {
    /// Scratch of at least [`Shape::plane_scratch_len`] elements.
    pub(crate) fn new<const D: usize>(shape: &Shape<D>, scratch: &'a mut [T]) -> Self {
        Self::apart(shape, 0, scratch)
    }

    /// With so many elements after each of the first three, for which scratch has room.
    fn apart<const D: usize>(shape: &Shape<D>, gap: usize, scratch: &'a mut [T]) -> Self {
        let cells = shape.cells();
        let cut = |scratch: &'a mut [T], elements: usize| {
            let (plane, rest) = scratch.split_at_mut(elements);
            (plane, rest.split_at_mut(gap).1)
        };
        let (sums, rest) = cut(scratch, cells);
        let (spread, rest) = cut(rest, cells);
        let (window, rest) = cut(rest, countgrid_prefix::scratch_len(shape.windows()));
        let counts = rest.len() - rest.len() % cells;
        Self { sums, spread, window, counts: &mut rest[..counts] }
    }
}

/// One feature: `F`, to be replaced by the expected tokens `n`, and room for window sums.
pub(crate) struct Feature<'a, T> {
    pub(crate) counts: &'a mut [T],
    sums: &'a mut [T],
    spread: &'a mut [T],
    window: &'a mut [T],
}

impl<T: Real> Planes<'_, T> {
    /// The feature in one plane of the counts.
    pub(crate) fn feature(&mut self, plane: usize) -> Feature<'_, T> {
        let cells = self.sums.len();
        Feature {
            counts: self.counts.chunks_exact_mut(cells).nth(plane).unwrap_or_default(),
            sums: self.sums,
            spread: self.spread,
            window: self.window,
        }
    }
}

impl<T: Real> Feature<'_, T> {
    /// Expected tokens of one feature, from `F` in `counts` to `n` in `counts`.
    ///
    /// Exact: `n_i = pi_i / V · S'(F / h)_i` (Jojic & Perina 2011, Eq. 7; the journal paper's Eq. 8 and
    /// Algorithm 1). Factored: `n_i = pi_i / V · S'(F)_i S'(1 / h)_i / V`, its Eq. 9 and Algorithm 2 with the
    /// scale that makes it count tokens too.
    pub(crate) fn expected_tokens<const D: usize>(self, shape: &Shape<D>, update_rule: UpdateRule, pi: &[T]) {
        let windows = shape.windows();
        let volume = T::from_f64(windows.volume() as f64);
        // The quotient by S pi must stay finite when V of them are summed. Where S pi is too small for that
        // (1e-37 times F, in f32), so is its share of F.
        let most = T::max_value() / (volume + volume);
        sum_windows(windows, Direction::Forward, pi, self.sums, self.window);
        match update_rule {
            UpdateRule::Exact => {
                dispatch(Quotient { counts: self.counts, sums: self.sums, most });
                sum_windows(windows, Direction::Adjoint, self.counts, self.sums, self.window);
                dispatch(Product { n: self.counts, spread: self.sums, pi });
            }
            UpdateRule::Factored => {
                for s in self.sums.iter_mut() {
                    *s = smaller(T::one() / larger(*s, T::min_positive_value()), most);
                }
                sum_windows(windows, Direction::Adjoint, self.sums, self.spread, self.window);
                sum_windows(windows, Direction::Adjoint, self.counts, self.sums, self.window);
                for (((n, &f), &inverse), &pi) in
                    self.counts.iter_mut().zip(&*self.sums).zip(&*self.spread).zip(pi)
                {
                    *n = (pi * inverse) * f / volume; // the bracket is at most V
                }
            }
        }
    }
}

/// `S` or `S'` of a plane, with the best instruction set.
pub(crate) fn sum_windows<T: Real, const D: usize>(
    windows: &Windows<D>,
    direction: Direction,
    plane: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) {
    // Refused only for lengths, and the callers' are right.
    let _ = sums_along(&axes(windows), direction, plane, sums, scratch);
}

/// `F <- F / S pi`, bounded.
struct Quotient<'a, T> {
    counts: &'a mut [T],
    sums: &'a [T],
    most: T,
}

impl<T: Real> Kernel for Quotient<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        for (f, &s) in self.counts.iter_mut().zip(self.sums) {
            // No bound on the divisor: as a multiple of F it would be subnormal, and a hundred times slower.
            *f = smaller(*f / larger(s, T::min_positive_value()), self.most);
        }
    }
}

/// `n <- pi S'(F / S pi)`.
struct Product<'a, T> {
    n: &'a mut [T],
    spread: &'a [T],
    pi: &'a [T],
}

impl<T: Real> Kernel for Product<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        for ((n, &spread), &pi) in self.n.iter_mut().zip(self.spread).zip(self.pi) {
            *n = pi * spread;
        }
    }
}

/// Reads features of a table `[tile][1 + feature][lane]` for [`pass`].
pub(crate) fn read_packed<'a, T: Real, const D: usize>(
    shape: &Shape<D>,
    tiles: &'a Tiles<D>,
    counts: &'a [T],
) -> impl Fn(usize, &mut [T]) + Sync + 'a {
    let (cells, rows) = (shape.cells(), shape.features() + 1);
    move |first, planes| {
        let features = planes.len() / cells;
        tiles.visit(0..tiles.count(), |tile, at| {
            let first = (tile * rows + 1 + first) * T::LANES;
            let packed = counts.get(first..first + features * T::LANES).unwrap_or_default();
            let next = counts.get(first + rows * T::LANES..).unwrap_or_default();
            let packed = packed.chunks_exact(T::LANES).enumerate();
            for ((feature, row), plane) in packed.zip(planes.chunks_exact_mut(cells)) {
                prefetch(next, feature * T::LANES);
                at.scatter(row, plane);
            }
        });
    }
}

/// One pass up to its last step: `pi_iz <- n_iz + a`, and `Σ_z (n_iz + a)` in the first plane of scratch. What is
/// left to do is [`Deferred`]; a cell without mass then keeps its distribution.
///
/// `read(z, planes)` writes `F` of the features from `z` on, `[feature][cell]`; `pi` is `[feature][cell]` too.
pub(crate) fn pass<T: Real, const D: usize>(
    shape: &Shape<D>,
    update_rule: UpdateRule,
    pseudocount: T,
    read: impl Fn(usize, &mut [T]) + Sync,
    pi: &mut [T],
    scratch: &mut [T],
) {
    let cells = shape.cells();
    let (column, rest) = scratch.split_at_mut(cells);
    column.fill(T::zero());
    // A share of scratch is for a run of blocks: a column sum for each, and planes, which then stay in cache.
    let shares = part_count();
    let share = (rest.len() / shares).saturating_sub(planes_len(shape, 0));
    let gap = if share >= 2 * GROUP * cells + 3 * gap::<T>(cells) { gap::<T>(cells) } else { 0 };
    let planes = (share - 3 * gap) / cells.max(1);
    let run = if shares > 1 { shape.features().div_ceil(BLOCK * shares).min(planes / 2).max(1) } else { 1 };
    let group = planes.saturating_sub(run).clamp(1, GROUP);
    let size = run * cells + planes_len(shape, group) + 3 * gap;
    let workers = (rest.len() / size).clamp(1, shares);
    for (round, pi) in pi.chunks_mut(workers * run * BLOCK * cells).enumerate() {
        let blocks = pi.len().div_ceil(BLOCK * cells);
        let parts = (Rows::new(pi, run * BLOCK * cells), Rows::new(&mut *rest, size));
        for_each(blocks.div_ceil(run), parts, |part, (pi, scratch)| {
            let first = (round * workers + part) * run * BLOCK;
            let (partials, scratch) = scratch.elements.split_at_mut(run * cells);
            let mut planes = Planes::apart(shape, gap, scratch);
            let blocks = pi.elements.chunks_mut(BLOCK * cells).zip(partials.chunks_exact_mut(cells));
            for ((pi, partial), first) in blocks.zip((first..).step_by(BLOCK)) {
                partial.fill(T::zero());
                for (pi, first) in pi.chunks_mut(group * cells).zip((first..).step_by(group)) {
                    read(first, planes.counts.get_mut(..pi.len()).unwrap_or_default());
                    for (plane, pi) in pi.chunks_exact_mut(cells).enumerate() {
                        planes.feature(plane).expected_tokens(shape, update_rule, pi);
                        let n = planes.counts.get(plane * cells..(plane + 1) * cells).unwrap_or_default();
                        dispatch(Collect { n, pseudocount, pi, partial });
                    }
                }
            }
        });
        let partials = rest.chunks_exact(size).flat_map(|scratch| scratch.chunks_exact(cells).take(run));
        for partial in partials.take(blocks) {
            column.iter_mut().zip(partial).for_each(|(sum, &partial)| *sum += partial);
        }
    }
}

/// `pi` between the last step of a pass, the division by column sums, and the one before.
pub(crate) struct Deferred<'a, T> {
    pub(crate) pi: Rows<'a, T>, // planes
    pub(crate) column: &'a [T],
}

impl<T: Real> Split for Deferred<'_, T> {
    fn split(self, features: usize) -> (Self, Self) {
        let (first, rest) = self.pi.split(features);
        (Self { pi: first, column: self.column }, Self { pi: rest, column: self.column })
    }
}

impl<T: Real> Deferred<'_, T> {
    /// Divides.
    pub(crate) fn divide(&mut self) -> &[T] {
        for pi in self.pi.elements.chunks_exact_mut(self.column.len().max(1)) {
            dispatch(Divide { pi, column: self.column });
        }
        self.pi.elements
    }
}

/// Collects one feature: `pi` becomes `n + a`, to be divided by the column's sum once that is known.
///
/// Until then nobody knows whether the cell has any mass. So where `n + a` is zero, the old value stays, negated:
/// [`Divide`] makes it zero, or restores it if the whole column is zero.
struct Collect<'a, T> {
    n: &'a [T],
    pseudocount: T,
    pi: &'a mut [T],
    partial: &'a mut [T],
}

impl<T: Real> Kernel for Collect<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        for ((pi, &n), partial) in self.pi.iter_mut().zip(self.n).zip(self.partial) {
            let mass = n + self.pseudocount;
            *partial += mass;
            *pi = if mass > T::zero() { mass } else { -*pi };
        }
    }
}

/// Divides one feature's plane by the column sums.
struct Divide<'a, T> {
    pi: &'a mut [T],
    column: &'a [T],
}

impl<T: Real> Kernel for Divide<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        for (pi, &column) in self.pi.iter_mut().zip(self.column) {
            let new = if *pi > T::zero() { *pi } else { T::zero() };
            *pi = if column > T::zero() { new / column } else { -*pi };
        }
    }
}

#[inline(always)]
fn smaller<T: Real>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

#[inline(always)]
fn larger<T: Real>(a: T, b: T) -> T {
    if a > b { a } else { b }
}
