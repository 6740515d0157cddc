use countgrid_torus::Torus;

/// The cells of a torus in boxes of `lanes` neighbours, so that a table can keep together what the E-step
/// reads together.
///
/// A packed table is `[tile][row][lane]`: a cache line of every row, then the next tile. One tile of 5,000
/// features is 320 KB and stays in the second-level cache while every bag of a chunk is scored on it,
/// which is what bounds the speed of the E-step. Neighbours share a tile because a bag that fits one
/// window nearly fits the next: once posteriors have concentrated, a bag is alive in a few tiles only.
///
/// Slots beyond the torus, where a side does not divide an extent, are padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tiles<const D: usize> {
    extents: [usize; D],
    shifts: [u32; D], // log2 of the tile's sides; the sides multiply to the number of lanes
    counts: [usize; D],
    count: usize, // product of `counts`
    lanes: usize,
}

impl<const D: usize> Tiles<D> {
    pub(crate) const EMPTY: Self =
        Self { extents: [0; D], shifts: [0; D], counts: [0; D], count: 0, lanes: 1 };

    /// Doubles one side after another until the tile is full: each time the side that pads least, of
    /// equals the shortest, of equals the last. `None` if the slots cannot be addressed.
    pub(crate) const fn new(torus: &Torus<D>, lanes: usize) -> Option<Self> {
        let extents = torus.extents();
        let (mut shifts, mut filled) = ([0u32; D], 1);
        while filled < lanes {
            let (mut best, mut best_slots, mut axis) = (D - 1, u128::MAX, D);
            while axis > 0 {
                axis -= 1;
                shifts[axis] += 1;
                let slots = padded(&extents, &shifts);
                shifts[axis] -= 1;
                if slots < best_slots || slots == best_slots && shifts[axis] < shifts[best] {
                    (best, best_slots) = (axis, slots);
                }
            }
            shifts[best] += 1;
            filled *= 2;
        }
        if padded(&extents, &shifts) > isize::MAX as u128 {
            return None;
        }
        let (mut counts, mut count, mut axis) = ([0; D], 1, 0);
        while axis < D {
            counts[axis] = ((1 << shifts[axis]) - 1 + extents[axis]) >> shifts[axis];
            count *= counts[axis];
            axis += 1;
        }
        Some(Self { extents, shifts, counts, count, lanes })
    }

    /// Number of tiles.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Number of slots: tiles times lanes, at least the number of cells.
    pub(crate) const fn slots(&self) -> usize {
        self.count * self.lanes
    }

    /// The cell of a slot; none for padding.
    pub(crate) const fn cell(&self, slot: usize) -> Option<usize> {
        let (mut tile, mut lane) = (slot / self.lanes, slot % self.lanes);
        let (mut cell, mut stride, mut axis) = (0, 1, D);
        while axis > 0 {
            axis -= 1;
            let (count, shift) = (self.counts[axis], self.shifts[axis]);
            if count == 0 {
                return None;
            }
            let x = ((tile % count) << shift) + (lane & ((1 << shift) - 1));
            if x >= self.extents[axis] {
                return None;
            }
            cell += x * stride;
            stride *= self.extents[axis];
            (tile, lane) = (tile / count, lane >> shift);
        }
        if tile > 0 { None } else { Some(cell) }
    }

    /// Calls `visit(cell, tile, lane, length)` for every run of cells, in order, that lie side by side
    /// both in a plane and in a tile.
    #[inline(always)]
    pub(crate) fn runs(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        let last = D - 1;
        let (extent, side) = (self.extents[last], 1usize << self.shifts[last]);
        let rows: usize = self.extents[..last].iter().product();
        let mut coords = [0usize; D];
        for row in 0..rows {
            let (mut tile, mut lane) = (0, 0);
            for ((&x, &count), &shift) in coords[..last].iter().zip(&self.counts).zip(&self.shifts) {
                tile = tile * count + (x >> shift);
                lane = (lane << shift) + (x & ((1 << shift) - 1));
            }
            (tile, lane) = (tile * self.counts[last], lane << self.shifts[last]);
            let mut x = 0;
            while x < extent {
                visit(row * extent + x, tile, lane, side.min(extent - x));
                (x, tile) = (x + side, tile + 1);
            }
            for d in (0..last).rev() {
                coords[d] += 1;
                if coords[d] < self.extents[d] {
                    break;
                }
                coords[d] = 0;
            }
        }
    }

    /// Number of tiles of bounds: one lane for each tile. None where there are so few tiles that knowing their
    /// bounds saves nothing.
    pub(crate) const fn bounds(&self) -> usize {
        match self.lanes {
            1.. if self.count >= 4 => self.count.div_ceil(self.lanes),
            _ => 0,
        }
    }

    /// Calls `visit(tile, cells)` for every tile of a range.
    #[inline(always)]
    pub(crate) fn visit(&self, range: core::ops::Range<usize>, mut visit: impl FnMut(usize, &TileCells)) {
        let last = D - 1;
        let side = 1usize << self.shifts[last];
        let runs = (self.lanes >> self.shifts[last]).min(MOST_LANES);
        let (mut coords, mut strides) = ([0usize; D], [1usize; D]);
        let mut rest = range.start;
        for d in (0..D).rev() {
            (coords[d], rest) = (rest % self.counts[d].max(1), rest / self.counts[d].max(1));
            if d < last {
                strides[d] = strides[d + 1] * self.extents[d + 1];
            }
        }
        for tile in range {
            let mut cells =
                TileCells { starts: [0; MOST_LANES], lengths: [0; MOST_LANES], runs, side, full: true };
            let corner = |d: usize| coords[d] << self.shifts[d];
            let width = side.min(self.extents[last].saturating_sub(corner(last)));
            for (run, (start, length)) in
                cells.starts.iter_mut().zip(&mut cells.lengths).take(runs).enumerate()
            {
                let (mut digits, mut cell, mut inside) = (run, corner(last), true);
                for d in (0..last).rev() {
                    let x = corner(d) + (digits & ((1 << self.shifts[d]) - 1));
                    digits >>= self.shifts[d];
                    inside &= x < self.extents[d];
                    cell += x * strides[d];
                }
                (*start, *length) = if inside { (cell, width) } else { (0, 0) };
                cells.full &= *length == side;
            }
            visit(tile, &cells);
            for d in (0..D).rev() {
                coords[d] += 1;
                if coords[d] < self.counts[d] {
                    break;
                }
                coords[d] = 0;
            }
        }
    }

    /// Reads row `row` of a packed table of `rows` rows as a plane `[cell]`.
    #[inline(always)]
    pub(crate) fn unpack<T: Copy>(&self, packed: &[T], row: usize, rows: usize, plane: &mut [T]) {
        self.visit(0..self.count, |tile, cells| {
            let slot = (tile * rows + row) * self.lanes;
            cells.scatter(packed.get(slot..slot + self.lanes).unwrap_or_default(), plane);
        });
    }
}

impl<const D: usize> Tiles<D> {
    /// Writes a plane `[cell]` as a row `[slot]`, tile by tile; padding is zero.
    #[inline(always)]
    pub(crate) fn pack<T: Copy + Default>(&self, plane: &[T], row: &mut [T]) {
        row.fill(T::default());
        self.visit(0..self.count, |tile, cells| {
            let slot = tile * self.lanes;
            cells.gather(plane, row.get_mut(slot..slot + self.lanes).unwrap_or_default());
        });
    }
}

/// Lanes of a row at most.
pub(crate) const MOST_LANES: usize = 16;

/// Where the lanes of a tile lie in a plane, as runs of neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileCells {
    starts: [usize; MOST_LANES],
    lengths: [usize; MOST_LANES], // shorter than a side, or none, where the tile sticks out of the torus
    runs: usize,
    side: usize, // lanes from one run to the next
    full: bool,  // whether no run is short
}

impl TileCells {
    /// Whether the tile lies within the torus: has no padding.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// The lanes of a row that are padding.
    pub(crate) fn padding<'a, T>(&'a self, row: &'a [T]) -> impl Iterator<Item = &'a T> {
        self.runs().zip(row.chunks(self.side.max(1))).flat_map(|((_, &length), run)| run.iter().skip(length))
    }

    /// The tile's row of a plane. Padding is left alone.
    #[inline(always)]
    pub(crate) fn gather<T: Copy>(&self, plane: &[T], row: &mut [T]) {
        match self.side {
            4 if self.full => self.gather_runs::<T, 4>(plane, row),
            8 if self.full => self.gather_runs::<T, 8>(plane, row),
            16 if self.full => self.gather_runs::<T, 16>(plane, row),
            _ => {
                for ((&start, &length), row) in self.runs().zip(row.chunks_mut(self.side.max(1))) {
                    let run = plane.get(start..start + length).unwrap_or_default();
                    row.iter_mut().zip(run).for_each(|(row, &x)| *row = x);
                }
            }
        }
    }

    #[inline(always)]
    fn gather_runs<T: Copy, const SIDE: usize>(&self, plane: &[T], row: &mut [T]) {
        for ((&start, _), row) in self.runs().zip(row.as_chunks_mut::<SIDE>().0) {
            if let Some(run) = plane.get(start..).and_then(|run| run.first_chunk()) {
                *row = *run;
            }
        }
    }

    /// Puts the tile's row into a plane.
    #[inline(always)]
    pub(crate) fn scatter<T: Copy>(&self, row: &[T], plane: &mut [T]) {
        match self.side {
            4 if self.full => self.scatter_runs::<T, 4>(row, plane),
            8 if self.full => self.scatter_runs::<T, 8>(row, plane),
            16 if self.full => self.scatter_runs::<T, 16>(row, plane),
            _ => {
                for ((&start, &length), row) in self.runs().zip(row.chunks(self.side.max(1))) {
                    let run = plane.get_mut(start..start + length).unwrap_or_default();
                    run.iter_mut().zip(row).for_each(|(x, &row)| *x = row);
                }
            }
        }
    }

    #[inline(always)]
    fn scatter_runs<T: Copy, const SIDE: usize>(&self, row: &[T], plane: &mut [T]) {
        for ((&start, _), row) in self.runs().zip(row.as_chunks::<SIDE>().0) {
            if let Some(run) = plane.get_mut(start..).and_then(|run| run.first_chunk_mut()) {
                *run = *row;
            }
        }
    }

    #[inline(always)]
    fn runs(&self) -> impl Iterator<Item = (&usize, &usize)> {
        self.starts.iter().zip(&self.lengths).take(self.runs)
    }
}

/// Slots of tiles with these sides, saturating.
const fn padded<const D: usize>(extents: &[usize; D], shifts: &[u32; D]) -> u128 {
    let (mut slots, mut axis) = (1u128, 0);
    while axis < D {
        let side = 1u128 << shifts[axis];
        slots = slots.saturating_mul((extents[axis] as u128 + side - 1) & !(side - 1));
        axis += 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{vec, vec::Vec};

    use super::*;

    fn tiles<const D: usize>(extents: [usize; D], lanes: usize) -> Tiles<D> {
        Tiles::new(&Torus::new(extents).unwrap(), lanes).unwrap()
    }

    #[test]
    fn sides_are_balanced_and_pad_least() {
        assert_eq!(tiles([40, 40], 16).shifts, [2, 2]);
        assert_eq!(tiles([40, 40], 8).shifts, [1, 2]);
        assert_eq!(tiles([40, 40], 16).slots(), 1600);
        assert_eq!(tiles([7], 16).slots(), 16);
        assert_eq!(tiles([1, 12, 1], 16).shifts, [0, 4, 0].map(|s: u32| s));
        assert_eq!(tiles([2, 2, 2, 2, 2], 16).slots(), 32);
    }

    #[test]
    fn every_cell_has_its_own_slot_and_all_ways_of_finding_it_agree() {
        fn check<const D: usize>(extents: [usize; D]) {
            for lanes in [8, 16] {
                let tiles = tiles(extents, lanes);
                let cells: usize = extents.iter().product();
                let plane: Vec<u32> = (1..=cells as u32).collect();
                let mut packed = vec![0; tiles.slots() * 3];
                tiles.visit(0..tiles.count(), |tile, cells| {
                    let row = (tile * 3 + 1) * lanes;
                    cells.gather(&plane, &mut packed[row..row + lanes]);
                });
                let mut found: Vec<u32> = packed.iter().copied().filter(|&x| x != 0).collect();
                found.sort_unstable();
                assert_eq!(found, plane);
                let mut back = vec![0; cells];
                tiles.unpack(&packed, 1, 3, &mut back);
                assert_eq!(back, plane);
                let mut by_runs = vec![0; cells];
                tiles.runs(|cell, tile, lane, length| {
                    let slot = (tile * 3 + 1) * lanes + lane;
                    by_runs[cell..cell + length].copy_from_slice(&packed[slot..slot + length]);
                });
                assert_eq!(by_runs, plane);
                for slot in 0..tiles.slots() + 2 * lanes {
                    let (tile, lane) = (slot / lanes, slot % lanes);
                    let number = packed.get((tile * 3 + 1) * lanes + lane).filter(|&&number| number > 0);
                    assert_eq!(tiles.cell(slot), number.map(|&number| number as usize - 1), "{slot}");
                }
                // From the middle on, tiles are the same.
                let middle = tiles.count() / 2;
                let mut half = packed.clone();
                half.fill(0);
                tiles.visit(middle..tiles.count(), |tile, cells| {
                    let row = (tile * 3 + 1) * lanes;
                    cells.gather(&plane, &mut half[row..row + lanes]);
                });
                assert_eq!(half[middle * 3 * lanes..], packed[middle * 3 * lanes..]);
            }
        }
        check([1]);
        check([33]);
        check([5, 7]);
        check([40, 40]);
        check([3, 5, 9]);
        check([2, 3, 2, 3, 2]);
    }
}
