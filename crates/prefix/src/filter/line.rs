//! The last axis: sums along lines, by sums of four, of four of those, and so on.

use core::ops::Range;

use super::border::{Axis, Border};
use super::element::Accumulator;
use super::output::{Finish, Output};
use super::plan::{DIRECT, Place, Plan, Source};
use super::rows::{self, Convert, Same, TERMS};

/// Powers of four up to the side: the tables that are kept of a line. The first is the line itself.
const fn tables(side: usize) -> usize {
    if side <= DIRECT { 1 } else { side.ilog2() as usize / 2 + 1 }
}

/// The largest number of additions that a term of a sum of `side` cells takes part in.
pub(super) const fn additions(side: usize) -> usize {
    if side <= DIRECT {
        return side - 1;
    }
    let (mut digits, mut rest) = (0, side);
    while rest > 0 {
        digits += rest % 4;
        rest /= 4;
    }
    3 * (tables(side) - 1) + digits - 1
}

/// Elements of scratch for a line whose cells have `channels` elements.
pub(super) const fn scratch_len(axis: Axis, channels: usize) -> usize {
    let line = axis.seen().saturating_mul(channels);
    line.saturating_mul(tables(axis.side)).saturating_add(axis.extent.saturating_mul(channels))
}

pub(super) fn filter<C, T, A, O, F>(
    plan: &Plan<'_, F>,
    source: Source<'_, T>,
    out: &mut Output<'_, O>,
    place: Place,
    scratch: &mut [A],
) where
    C: Convert<T, A>,
    T: Copy,
    A: Accumulator,
    F: Finish<A, O>,
{
    let (Some(&axis), Some(&stride)) = (plan.axes.last(), source.strides.last()) else { return };
    lay_out::<C, T, A>(axis, plan.channels, stride, source.data, scratch);
    filter_laid_out(plan, out, place, scratch);
}

/// Where in the scratch [`filter_laid_out`] wants the line, if windows see all of it.
pub(super) fn place_inside<F>(plan: &Plan<'_, F>) -> Option<Range<usize>> {
    let axis = plan.axes.last()?;
    let (from, to) = axis.inside();
    (to - from == axis.extent).then_some(from * plan.channels..to * plan.channels)
}

/// The same of a line that is in its place already.
pub(super) fn filter_laid_out<A, O, F>(
    plan: &Plan<'_, F>,
    out: &mut Output<'_, O>,
    place: Place,
    scratch: &mut [A],
) where
    A: Accumulator,
    F: Finish<A, O>,
{
    let Some(&axis) = plan.axes.last() else { return };
    let channels = plan.channels;
    let Some((line, rest)) = scratch.split_at_mut_checked(axis.seen() * channels) else { return };
    lay_out_ends(axis, channels, line);
    if channels == 1 && out.row_of_neighbours(axis, place, line, &plan.finish) {
        return;
    }
    let Some((sums, powers)) = rest.split_at_mut_checked(axis.extent * channels) else { return };
    along(axis.side, channels, line, sums, powers);
    out.row(axis, channels, place, sums, &plan.finish);
}

/// What windows see of the table, in its place; if that is not all of it, also what they see beyond.
fn lay_out<C: Convert<T, A>, T: Copy, A: Accumulator>(
    axis: Axis,
    channels: usize,
    stride: usize,
    data: &[T],
    line: &mut [A],
) {
    let (from, to) = axis.inside();
    let is_whole = to - from == axis.extent;
    if stride == channels && is_whole {
        if let Some(inside) = line.get_mut(from * channels..to * channels) {
            rows::sum::<C, T, A>(&[data.get(..inside.len()).unwrap_or_default()], inside, false);
        }
        return;
    }
    for at in if is_whole { from..to } else { 0..axis.seen() } {
        let Some(cell) = line.get_mut(at * channels..(at + 1) * channels) else { return };
        match axis.source(at).and_then(|cell| data.get(cell * stride..cell * stride + channels)) {
            Some(from) => cell.iter_mut().zip(from).for_each(|(to, &from)| *to = C::convert(from)),
            None => cell.fill(A::ZERO),
        }
    }
}

/// What windows see beyond the table, from all of it, which is in its place.
fn lay_out_ends<A: Accumulator>(axis: Axis, channels: usize, line: &mut [A]) {
    let (from, to) = axis.inside();
    if to - from < axis.extent {
        return; // then it is there already
    }
    if channels == 1 && axis.has_near_ends() {
        return near_ends(axis.border, line, from, to);
    }
    for at in (0..from).chain(to..axis.seen()) {
        let to = at * channels..(at + 1) * channels;
        match axis.source(at) {
            Some(cell) => {
                let cell = (from + cell) * channels;
                line.copy_within(cell..cell + channels, to.start);
            }
            None => line.get_mut(to).unwrap_or_default().fill(A::ZERO),
        }
    }
}

/// The positions before `from` and from `to` on, from those between, which are more.
fn near_ends<A: Accumulator>(border: Border, line: &mut [A], from: usize, to: usize) {
    let extent = to - from;
    let Some((left, rest)) = line.split_at_mut_checked(from) else { return };
    let Some((inside, right)) = rest.split_at_mut_checked(extent) else { return };
    let (Some(&first), Some(&last)) = (inside.first(), inside.last()) else { return };
    match border {
        Border::Zero | Border::Clip => {
            left.fill(A::ZERO);
            right.fill(A::ZERO);
        }
        Border::Replicate => {
            left.fill(first);
            right.fill(last);
        }
        Border::Wrap => {
            left.copy_from_slice(&inside[extent - left.len()..]);
            right.copy_from_slice(&inside[..right.len()]);
        }
        Border::Reflect | Border::Mirror => {
            let skipped = usize::from(border == Border::Mirror);
            left.iter_mut().rev().zip(&inside[skipped..]).for_each(|(to, &from)| *to = from);
            right.iter_mut().zip(inside[..extent - skipped].iter().rev()).for_each(|(to, &from)| *to = from);
        }
    }
}

/// `sums[i] = line[i] + line[i + channels] + ... `, `side` terms. The tables of sums of four and so on in `powers`.
pub(super) fn along<A: Accumulator>(
    side: usize,
    channels: usize,
    line: &[A],
    sums: &mut [A],
    powers: &mut [A],
) {
    let mut terms = Joined { terms: [&[]; TERMS], known: 0, is_added: false, sums };
    if side <= DIRECT {
        (0..side).for_each(|n| terms.push(line, n * channels));
        return terms.flush();
    }
    let (mut table, mut rest, mut covered, mut power) = (line, powers, 0, 1);
    loop {
        for _ in 0..side / power % 4 {
            terms.push(table, covered * channels);
            covered += power;
        }
        if covered == side {
            return terms.flush();
        }
        let length = table.len() - 3 * power * channels;
        let Some((next, later)) = rest.split_at_mut_checked(length) else { return };
        let mut four: [&[A]; 4] = [&[]; 4];
        for (n, term) in four.iter_mut().enumerate() {
            *term = table.get(n * power * channels..).unwrap_or_default();
        }
        rows::sum::<Same, A, A>(&four, next, false);
        (table, rest, power) = (next, later, 4 * power);
    }
}

/// Terms that wait to be added up, as many in a pass as can be.
struct Joined<'a, 'b, A> {
    terms: [&'a [A]; TERMS],
    known: usize,
    is_added: bool,
    sums: &'b mut [A],
}

impl<'a, A: Accumulator> Joined<'a, '_, A> {
    fn push(&mut self, table: &'a [A], from: usize) {
        if self.known == TERMS {
            self.flush();
        }
        self.terms[self.known] = table.get(from..).unwrap_or_default();
        self.known += 1;
    }

    fn flush(&mut self) {
        rows::sum::<Same, A, A>(&self.terms[..self.known], self.sums, self.is_added);
        (self.known, self.is_added) = (0, true);
    }
}
