//! The scaled forward and backward recursions.
//!
//! Rows of states are padded with zeros to whole rows of [`Real::LANES`]; every loop over states runs along them, and
//! every sum over states has one fixed order at every vector width.
//!
//! Nothing overflows and nothing is divided by zero, in single precision neither. A joint probability below the
//! smallest normal number `m` becomes zero, and with it what belongs to it in the backward pass; so every `alpha`,
//! `pred` (the forward probability before the emission) and scale that is left is at least `m`, and
//! `beta_i ≤ 1 / alpha_i`, `w_j ≤ 1 / pred_j` are finite.

use countgrid_counts::Symbol;
use countgrid_math::{Kernel, Real, ln, sum_lanes};

use crate::{Shape, hmm::Parts};

/// Positions whose pairs of states are summed before they are multiplied by the transition probability. With
/// probabilities of at least [`Real::FLOOR`], 32 of them stay below the largest number, `32 / 1e-37 < 3.4e38`.
pub(crate) const BLOCK: usize = 32;

/// The transition table packed both ways: an even number of padded rows.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a, T> {
    pub(crate) width: usize,
    pub(crate) rows: &'a [T],    // [from][to]
    pub(crate) columns: &'a [T], // [to][from]
}

impl<'a, T: Real> Packed<'a, T> {
    /// Packs the transition table into the first of scratch, which then no longer has it.
    pub(crate) fn new(shape: &Shape, trans: &[T], scratch: &mut &'a mut [T]) -> Self {
        let (rows, columns) = pack(shape, trans, scratch);
        Self { width: shape.width::<T>(), rows, columns }
    }
}

/// The rows and the columns of [`Packed`], still to be written.
pub(crate) fn pack<'a, T: Real>(
    shape: &Shape,
    trans: &[T],
    scratch: &mut &'a mut [T],
) -> (&'a mut [T], &'a mut [T]) {
    let (states, width) = (shape.states(), shape.width::<T>());
    let mut take = || take_prefix(scratch, shape.packed_len::<T>());
    let (rows, columns) = (take(), take());
    columns.fill(T::zero());
    pack_rows(states, trans, rows, width);
    for (from, row) in trans.chunks_exact(states.max(1)).enumerate() {
        for (&p, column) in row.iter().zip(columns.chunks_exact_mut(width.max(1))) {
            column.iter_mut().skip(from).take(1).for_each(|entry| *entry = floored(p));
        }
    }
    (rows, columns)
}

/// The first `len` elements, which the buffer then no longer has. (None of a shorter one: lengths are checked before.)
pub(crate) fn take_prefix<'a, T>(buffer: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (first, rest) = core::mem::take(buffer).split_at_mut_checked(len).unwrap_or_default();
    *buffer = rest;
    first
}

/// What the recursions work in, cut from scratch.
pub(crate) struct Work<'a, T> {
    pub(crate) packed: Packed<'a, T>,
    pub(crate) beta: &'a mut [T],   // [state]
    pub(crate) gamma: &'a mut [T],  // [state]
    pub(crate) ring: &'a mut [T],   // [BLOCK][state]: `w` of the positions `n` at `n % BLOCK`
    pub(crate) alpha: &'a mut [T],  // [position][state]
    pub(crate) scales: &'a mut [T], // [position]
}

impl<'a, T: Real> Work<'a, T> {
    /// Cuts scratch of at least [`Shape::work_len`] of the sequence's length.
    pub(crate) fn new(packed: Packed<'a, T>, scratch: &'a mut [T], positions: usize) -> Self {
        let (width, mut rest) = (packed.width, scratch);
        let mut take = |len| take_prefix(&mut rest, len);
        Self {
            packed,
            beta: take(width),
            gamma: take(width),
            ring: take(BLOCK * width),
            alpha: take(positions * width),
            scales: take(positions),
        }
    }

    /// Clears the padding of what is written only in part.
    pub(crate) fn clear(&mut self) {
        self.ring.fill(T::zero());
        self.beta.fill(T::zero());
        self.gamma.fill(T::zero());
    }
}

/// Packs the rows of a transition table.
pub(crate) fn pack_rows<T: Real>(states: usize, trans: &[T], rows: &mut [T], width: usize) {
    rows.fill(T::zero());
    for (packed, row) in rows.chunks_exact_mut(width.max(1)).zip(trans.chunks_exact(states.max(1))) {
        packed.iter_mut().zip(row).for_each(|(packed, &p)| *packed = floored(p));
    }
}

#[inline(always)]
fn floored<T: Real>(p: T) -> T {
    if p < T::FLOOR { T::zero() } else { p }
}

/// The smallest joint probability that is distinguished from zero.
#[inline(always)]
fn least<T: Real>() -> T {
    T::min_positive_value()
}

/// `out_j = Σ_i x_i rows_ij` over as many `i` as there are rows: those of even and of odd `i` apart, so that additions need
/// not wait for one another.
#[inline(always)]
pub(crate) fn product<T: Real>(x: &[T], rows: &[T], out: &mut [T]) {
    let width = out.len();
    for (chunk, out) in out.chunks_exact_mut(T::LANES).enumerate() {
        let at = chunk * T::LANES..(chunk + 1) * T::LANES;
        let (mut even, mut odd) = (T::lanes(), T::lanes());
        for (x, rows) in x.chunks_exact(2).zip(rows.chunks_exact((2 * width).max(1))) {
            let Some((first, second)) = rows.split_at_checked(width) else { continue };
            if let ([x, y], Some(first), Some(second)) = (x, first.get(at.clone()), second.get(at.clone())) {
                add_scaled(even.as_mut(), *x, first);
                add_scaled(odd.as_mut(), *y, second);
            }
        }
        for ((out, &even), &odd) in out.iter_mut().zip(even.as_ref()).zip(odd.as_ref()) {
            *out = even + odd;
        }
    }
}

#[inline(always)]
fn add_scaled<T: Real>(sum: &mut [T], factor: T, row: &[T]) {
    for (sum, &x) in sum.iter_mut().zip(row) {
        *sum += factor * x;
    }
}

#[inline(always)]
pub(crate) fn scale_row<T: Real>(row: &mut [T], factor: T) {
    for x in row {
        *x *= factor;
    }
}

/// `Σ ln c_n`, with one logarithm for many factors, in f64.
pub(crate) struct LogProduct {
    sum: f64,
    product: f64, // at least 2^-500
}

impl LogProduct {
    pub(crate) fn new() -> Self {
        Self { sum: 0.0, product: 1.0 }
    }

    #[inline(always)]
    pub(crate) fn multiply(&mut self, c: f64) {
        const SMALL: f64 = 3.054936363499605e-151; // 2^-500
        if c < SMALL {
            self.sum += ln(c);
            return;
        }
        self.product *= c;
        if self.product < SMALL {
            self.sum += ln(self.product);
            self.product = 1.0;
        }
    }

    pub(crate) fn ln(self) -> f64 {
        self.sum + ln(self.product)
    }
}

/// Multiplies `pred` by the emission and returns the scale `c`, by which it is divided, unless that is zero.
#[inline(always)]
fn emit_and_scale<T: Real>(row: &mut [T], emission: &[T]) -> Option<T> {
    for (alpha, &b) in row.iter_mut().zip(emission) {
        let joint = *alpha * b;
        *alpha = if joint < least() { T::zero() } else { joint };
    }
    let c = sum_lanes(row);
    if !(c >= least()) {
        return None;
    }
    scale_row(row, T::one() / c);
    Some(c)
}

/// The row of emission probabilities of a symbol, by state.
#[inline(always)]
pub(crate) fn emission<T, X: Symbol>(emit: &[T], states: usize, x: X) -> &[T] {
    let first = x.index() * states;
    emit.get(first..first + states).unwrap_or_default()
}

/// `alpha` and scales of every position. Returns the log-likelihood, or the position at which the sequence becomes
/// impossible.
#[inline(always)]
pub(crate) fn forward<T: Real, X: Symbol>(
    (start, _, emit): Parts<'_, T>,
    x: &[X],
    work: &mut Work<'_, T>,
) -> Result<f64, usize> {
    let (states, width) = (start.len(), work.packed.width);
    let mut log = LogProduct::new();
    let mut done: &mut [T] = &mut [];
    for (n, ((&x, scale), row)) in
        x.iter().zip(work.scales.iter_mut()).zip(work.alpha.chunks_exact_mut(width.max(1))).enumerate()
    {
        if n == 0 {
            row.fill(T::zero());
            row.iter_mut().zip(start).for_each(|(alpha, &p)| *alpha = p);
        } else {
            product(done, work.packed.rows, row);
        }
        let c = emit_and_scale(row, emission(emit, states, x)).ok_or(n)?;
        *scale = c;
        log.multiply(c.to_f64());
        done = row;
    }
    Ok(log.ln())
}

/// Forward and backward, compiled for the machine's vectors.
pub(crate) struct Smooth<'a, 'w, T, X, V> {
    pub(crate) parts: Parts<'a, T>,
    pub(crate) x: &'a [X],
    pub(crate) work: &'a mut Work<'w, T>,
    pub(crate) visitor: &'a mut V,
}

impl<T: Real, X: Symbol, V: Visit<T>> Kernel for Smooth<'_, '_, T, X, V> {
    type Output = Result<f64, usize>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let log_likelihood = forward(self.parts, self.x, self.work)?;
        backward(self.parts, self.x, self.work, self.visitor);
        Ok(log_likelihood)
    }
}

/// The log-likelihood alone, compiled for the machine's vectors.
pub(crate) struct Likelihood<'a, T, X> {
    pub(crate) parts: Parts<'a, T>,
    pub(crate) x: &'a [X],
    pub(crate) rows: &'a [T],
    pub(crate) row: &'a mut [T],
    pub(crate) next: &'a mut [T],
}

impl<T: Real, X: Symbol> Kernel for Likelihood<'_, T, X> {
    type Output = Result<f64, usize>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        likelihood(self.parts, self.x, self.rows, self.row, self.next)
    }
}

/// The log-likelihood alone, in two rows.
#[inline(always)]
pub(crate) fn likelihood<'a, T: Real, X: Symbol>(
    (start, _, emit): Parts<'_, T>,
    x: &[X],
    rows: &[T],
    mut row: &'a mut [T],
    mut next: &'a mut [T],
) -> Result<f64, usize> {
    let states = start.len();
    let mut log = LogProduct::new();
    for (n, &x) in x.iter().enumerate() {
        if n == 0 {
            next.fill(T::zero());
            next.iter_mut().zip(start).for_each(|(alpha, &p)| *alpha = p);
        } else {
            product(row, rows, next);
        }
        log.multiply(emit_and_scale(next, emission(emit, states, x)).ok_or(n)?.to_f64());
        core::mem::swap(&mut row, &mut next);
    }
    Ok(log.ln())
}

/// One position of the backward pass. Rows are padded with zeros.
pub(crate) struct Step<'a, T> {
    /// The position `n`.
    pub(crate) n: usize,
    /// `p(s_n | x_1..x_n)`.
    pub(crate) alpha: &'a [T],
    /// `p(s_n | x)`, sums to one.
    pub(crate) gamma: &'a [T],
    /// `Σ_j A_ij w_j`, zero where `alpha` is.
    pub(crate) beta: &'a [T],
    /// `w_j = B_j,x_{n+1} beta_{n+1}(j) / c_{n+1}`, so that `xi_n(i, j) = alpha_i A_ij w_j`; of the last position
    /// nothing.
    pub(crate) next: &'a [T],
    /// The packed transition table.
    pub(crate) rows: &'a [T],
}

/// Two states in a row.
pub(crate) struct Pair<T> {
    pub(crate) i: usize,
    pub(crate) j: usize,
    /// `A_ij`.
    pub(crate) p: T,
    /// `w_j A_ij`.
    pub(crate) weight: T,
    /// `xi_n(i, j)`.
    pub(crate) xi: T,
    /// Of `i`.
    pub(crate) beta: T,
}

impl<T: Real> Step<'_, T> {
    /// Every pair of states that is possible at `n` and `n + 1`.
    #[inline(always)]
    pub(crate) fn pairs(&self, mut take: impl FnMut(Pair<T>)) {
        let width = self.next.len();
        let rows = self.rows.chunks_exact(width.max(1)).zip(self.alpha).zip(self.beta);
        for (i, ((row, &alpha), &beta)) in rows.enumerate() {
            if alpha > T::zero() {
                for (j, (&p, &w)) in row.iter().zip(self.next).enumerate() {
                    if p > T::zero() && w > T::zero() {
                        take(Pair { i, j, p, weight: p * w, xi: alpha * (p * w), beta });
                    }
                }
            }
        }
    }
}

/// What is done at each position of the backward pass. (Not a closure: this must be inlined into the kernel.)
pub(crate) trait Visit<T> {
    fn visit(&mut self, step: Step<'_, T>, blocks: Blocks<'_, T>);
}

/// Goes from the last position to the first, after [`forward`], and shows each step.
#[inline(always)]
pub(crate) fn backward<T: Real, X: Symbol>(
    (start, _, emit): Parts<'_, T>,
    x: &[X],
    work: &mut Work<'_, T>,
    visitor: &mut impl Visit<T>,
) {
    let (states, width) = (start.len(), work.packed.width);
    let (alphas, scales): (&[T], &[T]) = (work.alpha, work.scales);
    let last = x.len().saturating_sub(1);
    for (n, alpha) in alphas.chunks_exact(width.max(1)).enumerate().rev() {
        let slot = n % BLOCK * width;
        let next = match (x.get(n + 1), scales.get(n + 1)) {
            (Some(&following), Some(&scale)) => {
                let inverse = T::one() / scale;
                let w = work.ring.get_mut(slot..slot + width).unwrap_or_default();
                let emission = emission(emit, states, following);
                for ((w, &b), &beta) in w.iter_mut().zip(emission).zip(&*work.beta) {
                    *w = b * inverse * beta; // zero where `alpha` is, since `beta` is
                }
                product(w, work.packed.columns, work.beta);
                for (beta, &alpha) in work.beta.iter_mut().zip(alpha) {
                    *beta = if alpha > T::zero() { *beta } else { T::zero() };
                }
                slot..slot + width
            }
            _ => {
                for (beta, &alpha) in work.beta.iter_mut().zip(alpha) {
                    *beta = if alpha > T::zero() { T::one() } else { T::zero() };
                }
                0..0
            }
        };
        for ((gamma, &alpha), &beta) in work.gamma.iter_mut().zip(alpha).zip(&*work.beta) {
            *gamma = alpha * beta;
        }
        // One but for rounding, which must not add up over a long sequence.
        let inverse = T::one() / sum_lanes(work.gamma);
        scale_row(work.gamma, inverse);
        scale_row(work.beta, inverse);
        scale_row(work.ring.get_mut(next.clone()).unwrap_or_default(), inverse);
        let step = Step {
            n,
            alpha,
            gamma: work.gamma,
            beta: work.beta,
            next: work.ring.get(next).unwrap_or_default(),
            rows: work.packed.rows,
        };
        visitor.visit(step, Blocks { alpha: alphas, ring: work.ring, rows: work.packed.rows, width, last });
    }
}

/// What is known of the positions of the present block, to sum their pairs of states.
pub(crate) struct Blocks<'a, T> {
    alpha: &'a [T],
    ring: &'a [T],
    rows: &'a [T],
    width: usize,
    last: usize,
}

impl<T: Real> Blocks<'_, T> {
    /// At the first position of a block adds `Σ_n xi_n` of its positions to `sums` `[from][to]`.
    ///
    /// Four rows at a time, whose sums stay in registers.
    #[inline(always)]
    pub(crate) fn add_pairs(&self, n: usize, sums: &mut [T], states: usize) {
        let end = self.last.min(n + BLOCK); // pairs end with the last position but one
        if !n.is_multiple_of(BLOCK) || n == end {
            return;
        }
        let width = self.width.max(1);
        let alpha = self.alpha.get(n * width..end * width).unwrap_or_default();
        let next = self.ring.get(..(end - n) * width).unwrap_or_default();
        let states = states.max(1);
        for (tile, sums) in sums.chunks_mut(4 * states).enumerate() {
            for chunk in 0..width / T::LANES {
                let at = chunk * T::LANES;
                let mut pairs = [T::lanes(), T::lanes(), T::lanes(), T::lanes()];
                for (alpha, next) in alpha.chunks_exact(width).zip(next.chunks_exact(width)) {
                    if let (Some(alpha), Some(next)) =
                        (alpha.get(4 * tile..4 * tile + 4), next.get(at..at + T::LANES))
                    {
                        for (pairs, &alpha) in pairs.iter_mut().zip(alpha) {
                            add_scaled(pairs.as_mut(), alpha, next);
                        }
                    }
                }
                for (i, (pairs, sums)) in pairs.iter().zip(sums.chunks_exact_mut(states)).enumerate() {
                    let first = (4 * tile + i) * width + at;
                    if let (Some(row), Some(sums)) =
                        (self.rows.get(first..first + T::LANES), sums.get_mut(at..))
                    {
                        for ((sum, &pairs), &p) in sums.iter_mut().zip(pairs.as_ref()).zip(row) {
                            *sum += if p > T::zero() { p * pairs } else { T::zero() };
                        }
                    }
                }
            }
        }
    }
}
