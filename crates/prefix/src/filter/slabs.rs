//! The axes before the last one: sums of slabs, one after the other.
//!
//! A slab is everything at one position of an axis. The sum of those in the window of a position is formed once,
//! in scratch, and then filtered along the later axes before the next one is: no table of intermediate sums.

use super::border::{Axis, Border};
use super::element::Accumulator;
use super::line;
use super::output::{Finish, Output};
use super::plan::{DIRECT, Place, Plan, Source};
use super::rows::{self, Convert, Same, TERMS};

/// Sides up to this one are summed directly even if sums could be carried on.
const DIRECT_EXACT: usize = 2;

/// The slab sums of an axis that cannot be carried on: of the window's first part, for every position of a block of
/// windows, and of its second part, which grows.
const fn is_in_blocks<A: Accumulator>(axis: Axis) -> bool {
    !A::EXACT && axis.side > DIRECT
}

/// Elements of scratch for one axis before the last, with slabs of `slab` elements.
pub(super) const fn scratch_len<A: Accumulator>(axis: Axis, slab: usize) -> usize {
    let blocks = match is_in_blocks::<A>(axis) {
        true if axis.side < axis.extent => axis.side + 1,
        true => axis.extent + 1,
        false => 0,
    };
    slab.saturating_mul(blocks + 1)
}

/// Filters along the axes from `place.depth` on.
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
    let (Some(&axis), Some(&slab)) = (plan.axes.get(place.depth), plan.slabs.get(place.depth)) else {
        return;
    };
    if place.depth + 1 == plan.axes.len() {
        return line::filter::<C, T, A, O, F>(plan, source, out, place, scratch);
    }
    let Some((scratch, inner)) = scratch.split_at_mut_checked(scratch_len::<A>(axis, slab)) else { return };
    let Some((sums, blocks)) = scratch.split_at_mut_checked(slab) else { return };
    let slabs = Slabs::new(plan, source, axis, place.depth, slab);
    // Before the last axis a slab is a line, which is summed where its own window sums want it.
    let in_place = line::place_inside(plan).filter(|_| place.depth + 2 == plan.axes.len());
    for cell in 0..axis.extent {
        let target = match &in_place {
            Some(inside) => inner.get_mut(inside.clone()).unwrap_or_default(),
            None => &mut *sums,
        };
        if is_in_blocks::<A>(axis) {
            slabs.in_blocks::<C, A>(cell, target, blocks);
        } else {
            slabs.carried_on::<C, A>(cell, target);
        }
        let place = Place {
            depth: place.depth + 1,
            out: place.out + cell * out.strides.get(place.depth).copied().unwrap_or(0),
            count: place.count * axis.count(cell) as u64,
        };
        if in_place.is_some() {
            line::filter_laid_out(plan, out, place, inner);
        } else {
            let source = Source { data: &*sums, strides: plan.slabs };
            filter::<Same, A, A, O, F>(plan, source, out, place, inner);
        }
    }
}

/// The slabs along one axis, each a number of contiguous runs.
struct Slabs<'a, T> {
    source: Source<'a, T>,
    axis: Axis,
    stride: usize,                    // from a slab to the next
    slab: usize,                      // elements of a slab
    run: usize,                       // elements of a contiguous run
    outer: (&'a [Axis], &'a [usize]), // extents and strides of the axes that runs are counted along
}

impl<'a, T: Copy> Slabs<'a, T> {
    fn new<F>(plan: &Plan<'a, F>, source: Source<'a, T>, axis: Axis, depth: usize, slab: usize) -> Self {
        let axes = plan.axes.get(depth + 1..).unwrap_or_default();
        let strides = source.strides.get(depth + 1..).unwrap_or_default();
        let (mut run, mut left) = (plan.channels, axes.len().min(strides.len()));
        while left > 0 && (strides[left - 1] == run || axes[left - 1].extent == 1) {
            left -= 1;
            run *= axes[left].extent;
        }
        let stride = source.strides.get(depth).copied().unwrap_or(0);
        Self { source, axis, stride, slab, run, outer: (&axes[..left], &strides[..left]) }
    }

    /// Calls `each` with where a run begins in the packed slab and in that of the source.
    #[inline]
    fn for_each_run(&self, mut each: impl FnMut(usize, usize)) {
        let (mut at, mut number) = (0, 0);
        while at < self.slab {
            let (mut rest, mut from) = (number, 0);
            for (axis, stride) in self.outer.0.iter().zip(self.outer.1).rev() {
                from += rest % axis.extent * stride;
                rest /= axis.extent;
            }
            each(at, from);
            at += self.run;
            number += 1;
        }
    }

    #[inline]
    fn run_at(&self, slab: usize, from: usize) -> &'a [T] {
        let at = slab * self.stride + from;
        self.source.data.get(at..at + self.run).unwrap_or_default()
    }

    /// `sums = sum of the slabs`, or `sums + ...`.
    fn sum<C: Convert<T, A>, A: Accumulator>(&self, slabs: &[usize], sums: &mut [A], is_added: bool) {
        self.for_each_run(|at, from| {
            let mut terms: [&[T]; TERMS] = [&[]; TERMS];
            for (term, &slab) in terms.iter_mut().zip(slabs) {
                *term = self.run_at(slab, from);
            }
            let Some(sums) = sums.get_mut(at..at + self.run) else { return };
            rows::sum::<C, T, A>(&terms[..slabs.len().min(TERMS)], sums, is_added);
        });
    }

    /// The sum of the slabs seen at the positions `from .. to`.
    fn sum_of_positions<C: Convert<T, A>, A: Accumulator>(&self, from: usize, to: usize, sums: &mut [A]) {
        let (mut slabs, mut known, mut is_added) = ([0; TERMS], 0, false);
        for slab in self.inside(from, to).filter_map(|at| self.axis.source(at)) {
            slabs[known] = slab;
            known += 1;
            if known == TERMS {
                self.sum::<C, A>(&slabs, sums, is_added);
                (known, is_added) = (0, true);
            }
        }
        if known > 0 || !is_added {
            self.sum::<C, A>(&slabs[..known], sums, is_added);
        }
    }

    /// Those of the positions `from .. to` that can have a slab: there may be many without.
    fn inside(&self, from: usize, to: usize) -> core::ops::Range<usize> {
        let Axis { extent, offset, border, .. } = self.axis;
        if !matches!(border, Border::Zero | Border::Clip) {
            return from..to;
        }
        let first = offset.saturating_neg().max(0) as usize;
        let last = (extent as isize - offset).max(0) as usize;
        from.max(first)..to.min(last)
    }

    /// The sum of the window of `cell`, from that of the cell before.
    fn carried_on<C: Convert<T, A>, A: Accumulator>(&self, cell: usize, sums: &mut [A]) {
        let side = self.axis.side;
        if cell == 0 || side <= DIRECT_EXACT || !A::EXACT {
            return self.sum_of_positions::<C, A>(cell, cell + side, sums);
        }
        let (leaves, enters) = (self.axis.source(cell - 1), self.axis.source(cell + side - 1));
        if leaves == enters {
            return;
        }
        self.for_each_run(|at, from| {
            let Some(sums) = sums.get_mut(at..at + self.run) else { return };
            match (enters, leaves) {
                (Some(enters), Some(leaves)) => {
                    rows::exchange::<C, T, A>(self.run_at(enters, from), self.run_at(leaves, from), sums);
                }
                (Some(enters), None) => rows::sum::<C, T, A>(&[self.run_at(enters, from)], sums, true),
                (None, Some(leaves)) => rows::subtract::<C, T, A>(self.run_at(leaves, from), sums),
                (None, None) => {}
            }
        });
    }

    /// The sum of the window of `cell`, by additions only: positions are cut into blocks as long as the window, which
    /// is then the end of a block and the beginning of the next one (van Herk 1992; Gil & Werman 1993).
    fn in_blocks<C: Convert<T, A>, A: Accumulator>(&self, cell: usize, sums: &mut [A], blocks: &mut [A]) {
        let (side, slab) = (self.axis.side, self.slab);
        let Some((before, after)) = blocks.split_at_mut_checked(slab) else { return };
        let within = cell % side;
        if within == 0 {
            self.ends_of_block::<C, A>(cell, after);
            before.fill(A::ZERO);
        }
        let Some(after) = after.get(within * slab..(within + 1) * slab) else { return };
        match self.axis.source(cell + side - 1) {
            Some(enters) if within > 0 => self.for_each_run(|at, from| {
                let part = at..at + self.run;
                let (Some(before), Some(after)) = (before.get_mut(part.clone()), after.get(part.clone()))
                else {
                    return;
                };
                let Some(sums) = sums.get_mut(part) else { return };
                rows::join::<C, T, A>(self.run_at(enters, from), before, after, sums);
            }),
            None if within > 0 => rows::sum::<Same, A, A>(&[after, &*before], sums, false),
            _ => rows::sum::<Same, A, A>(&[after], sums, false),
        }
    }

    /// In the slab `n` of `after`: the sum from position `n` of the block that begins at `start` to its end.
    fn ends_of_block<C: Convert<T, A>, A: Accumulator>(&self, start: usize, after: &mut [A]) {
        let slabs = after.len() / self.slab;
        let kept = slabs.min(self.axis.extent - start); // later ones are not asked for
        let Some(mut last) = after.get_mut((kept - 1) * self.slab..kept * self.slab) else { return };
        self.sum_of_positions::<C, A>(start + kept - 1, start + self.axis.side, last);
        for n in (0..kept - 1).rev() {
            let Some((earlier, later)) = after.split_at_mut_checked((n + 1) * self.slab) else { return };
            let Some(later) = later.get(..self.slab) else { return };
            last = &mut earlier[n * self.slab..];
            let seen = self.axis.source(start + n);
            self.for_each_run(|at, from| {
                let part = at..at + self.run;
                let (Some(last), Some(later)) = (last.get_mut(part.clone()), later.get(part)) else { return };
                match seen {
                    Some(seen) => rows::add::<C, T, A>(self.run_at(seen, from), later, last),
                    None => rows::sum::<Same, A, A>(&[later], last, false),
                }
            });
        }
    }
}
