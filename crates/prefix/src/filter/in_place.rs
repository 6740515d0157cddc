//! A table that becomes its own window sums: one axis after the other, a few lines at a time.

use super::border::Axis;
use super::element::Accumulator;
use super::line;

/// Elements side by side that are filtered together along an axis before the last.
const STRIP: usize = 32;

/// Elements of scratch for rings of `axis.extent` runs of `run` elements.
pub(super) const fn scratch_len(axis: Axis, run: usize) -> usize {
    if axis.is_identity() { 0 } else { line::scratch_len(axis, if run < STRIP { run } else { STRIP }) }
}

/// Replaces every ring of a packed table by its window sums.
pub(super) fn filter<A: Accumulator>(axis: Axis, run: usize, table: &mut [A], scratch: &mut [A]) {
    if axis.is_identity() {
        return;
    }
    for ring in table.chunks_exact_mut(axis.extent * run) {
        let mut from = 0;
        while from < run {
            let strip = STRIP.min(run - from);
            filter_strip(axis, run, from, strip, ring, scratch);
            from += strip;
        }
    }
}

fn filter_strip<A: Accumulator>(
    axis: Axis,
    run: usize,
    from: usize,
    strip: usize,
    ring: &mut [A],
    scratch: &mut [A],
) {
    let Some((line, rest)) = scratch.split_at_mut_checked(axis.seen() * strip) else { return };
    let Some((sums, powers)) = rest.split_at_mut_checked(axis.extent * strip) else { return };
    for (at, to) in line.chunks_exact_mut(strip).enumerate() {
        match axis.source(at).and_then(|cell| ring.get(cell * run + from..cell * run + from + strip)) {
            Some(cell) => to.copy_from_slice(cell),
            None => to.fill(A::ZERO),
        }
    }
    line::along(axis.side, strip, line, sums, powers);
    for (cells, sums) in ring.chunks_exact_mut(run).zip(sums.chunks_exact(strip)) {
        cells.iter_mut().skip(from).zip(sums).for_each(|(to, &sum)| *to = sum);
    }
}
