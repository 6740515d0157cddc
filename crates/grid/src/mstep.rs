//! The M-step: window counts become expected tokens of cells, one feature's plane at a time.
//!
//! `pi / V · S'(F / h)` with `h = S pi / V` is `pi · S'(F / S pi)`: the volume cancels. Column sums are
//! collected on the way and divided out in a second sweep.

use countgrid_math::{Kernel, Real, dispatch};
use countgrid_prefix::{Axis, Way, axes, sums_along};
use countgrid_torus::Windows;

use crate::{Rule, Shape, tiles::Tiles};

/// Column sums are collected in blocks of so many features, so that an entry of a sum over `Z` features meets
/// at most `BLOCK + Z / BLOCK` roundings and not `Z`.
const BLOCK: usize = 64;

/// Planes of scratch, `[cell]` each.
pub(crate) const PLANES: usize = 5;

/// Scratch of the M-step, cut from the caller's.
pub(crate) struct Planes<'a, T> {
    pub(crate) counts: &'a mut [T], // F of one feature; its expected tokens
    sums: &'a mut [T],              // S pi; an adjoint
    spread: &'a mut [T],            // the factored rule's second adjoint
    partial: &'a mut [T],           // column sums of up to BLOCK features
    column: &'a mut [T],            // column sums
    window: &'a mut [T],            // what window sums need
}

impl<'a, T: Real> Planes<'a, T> {
    /// Scratch of at least [`Shape::plane_scratch_len`] elements.
    pub(crate) fn new<const D: usize>(shape: &Shape<D>, scratch: &'a mut [T]) -> Self {
        let cells = shape.cells();
        let (counts, rest) = scratch.split_at_mut(cells);
        let (sums, rest) = rest.split_at_mut(cells);
        let (spread, rest) = rest.split_at_mut(cells);
        let (partial, rest) = rest.split_at_mut(cells);
        let (column, window) = rest.split_at_mut(cells);
        Self { counts, sums, spread, partial, column, window }
    }

    /// Expected tokens of one feature, from `F` in `counts` to `n` in `counts`.
    ///
    /// Exact: `n_i = pi_i / V · S'(F / h)_i` (Jojic & Perina 2011, Eq. 7; the journal paper's Eq. 8 and
    /// Algorithm 1). Factored: `n_i = pi_i / V · S'(F)_i S'(1 / h)_i / V`, its Eq. 9 and Algorithm 2 with the
    /// scale that makes it count tokens too.
    pub(crate) fn expected_tokens<const D: usize>(&mut self, shape: &Shape<D>, rule: Rule, pi: &[T]) {
        let windows = shape.windows();
        let volume = T::from_f64(windows.volume() as f64);
        // The quotient by S pi must stay finite when V of them are summed. Where S pi is too small for that
        // (1e-37 times F, in f32), so is its share of F.
        let least = (volume + volume) / T::max_value();
        sum_windows(windows, Way::Window, pi, self.sums, self.window);
        match rule {
            Rule::Exact => {
                dispatch(Quotient { counts: self.counts, sums: self.sums, least });
                sum_windows(windows, Way::Spread, self.counts, self.sums, self.window);
                dispatch(Product { n: self.counts, spread: self.sums, pi });
            }
            Rule::Factored => {
                for s in self.sums.iter_mut() {
                    *s = T::one() / larger(*s, larger(least, T::min_positive_value()));
                }
                sum_windows(windows, Way::Spread, self.sums, self.spread, self.window);
                sum_windows(windows, Way::Spread, self.counts, self.sums, self.window);
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
    way: Way,
    plane: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) {
    dispatch(SumWindows { axes: &axes(windows), way, plane, sums, scratch });
}

struct SumWindows<'a, T> {
    axes: &'a [Axis],
    way: Way,
    plane: &'a [T],
    sums: &'a mut [T],
    scratch: &'a mut [T],
}

impl<T: Real> Kernel for SumWindows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Refused only for lengths, and the callers' are right.
        let _ = sums_along(self.axes, self.way, self.plane, self.sums, self.scratch);
    }
}

/// `F <- F / S pi`, bounded.
struct Quotient<'a, T> {
    counts: &'a mut [T],
    sums: &'a [T],
    least: T,
}

impl<T: Real> Kernel for Quotient<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (f, &s) in self.counts.iter_mut().zip(self.sums) {
            *f /= larger(s, larger(*f * self.least, T::min_positive_value()));
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

    #[inline(always)]
    fn run(self) {
        for ((n, &spread), &pi) in self.n.iter_mut().zip(self.spread).zip(self.pi) {
            *n = pi * spread;
        }
    }
}

/// One pass: `pi_iz <- (n_iz + a) / Σ_z (n_iz + a)`; a cell without mass keeps its distribution.
///
/// `counts` is the packed `F`, `pi` is `[feature][cell]`.
pub(crate) fn pass<T: Real, const D: usize>(
    shape: &Shape<D>,
    tiles: &Tiles<D>,
    rule: Rule,
    pseudocount: T,
    counts: &[T],
    pi: &mut [T],
    planes: &mut Planes<'_, T>,
) {
    planes.column.fill(T::zero());
    planes.partial.fill(T::zero());
    for (feature, pi) in pi.chunks_exact_mut(shape.cells()).enumerate() {
        tiles.unpack(counts, feature + 1, shape.features() + 1, planes.counts);
        planes.expected_tokens(shape, rule, pi);
        dispatch(Collect { n: planes.counts, pseudocount, pi, partial: planes.partial });
        if (feature + 1) % BLOCK == 0 || feature + 1 == shape.features() {
            planes.column.iter_mut().zip(&mut *planes.partial).for_each(|(sum, partial)| {
                *sum += *partial;
                *partial = T::zero();
            });
        }
    }
    for pi in pi.chunks_exact_mut(shape.cells()) {
        dispatch(Divide { pi, column: &*planes.column });
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

    #[inline(always)]
    fn run(self) {
        for (pi, &column) in self.pi.iter_mut().zip(self.column) {
            let new = if *pi > T::zero() { *pi } else { T::zero() };
            *pi = if column > T::zero() { new / column } else { -*pi };
        }
    }
}

#[inline(always)]
fn larger<T: Real>(a: T, b: T) -> T {
    if a > b { a } else { b }
}
