use countgrid_torus::Torus;

/// The cells of a torus in boxes of `lanes` neighbours, so that a table can keep together what the E-step
/// reads together.
///
/// A packed table is `[tile][row][lane]`: 128 bytes of every row, then the next tile. One tile of 5,000
/// features is 640 KB and stays in the second-level cache while every bag of a chunk is scored on it,
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
            counts[axis] = extents[axis].div_ceil(1 << shifts[axis]);
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

    /// Writes a plane `[cell]` as row `row` of a packed table of `rows` rows. Padding is left alone.
    #[inline(always)]
    pub(crate) fn pack<T: Copy>(&self, plane: &[T], row: usize, rows: usize, packed: &mut [T]) {
        self.runs(|cell, tile, lane, length| {
            let slot = (tile * rows + row) * self.lanes + lane;
            if let (Some(to), Some(from)) =
                (packed.get_mut(slot..slot + length), plane.get(cell..cell + length))
            {
                to.copy_from_slice(from);
            }
        });
    }

    /// Reads row `row` of a packed table of `rows` rows as a plane `[cell]`.
    #[inline(always)]
    pub(crate) fn unpack<T: Copy>(&self, packed: &[T], row: usize, rows: usize, plane: &mut [T]) {
        self.runs(|cell, tile, lane, length| {
            let slot = (tile * rows + row) * self.lanes + lane;
            if let (Some(to), Some(from)) =
                (plane.get_mut(cell..cell + length), packed.get(slot..slot + length))
            {
                to.copy_from_slice(from);
            }
        });
    }
}

/// Slots of tiles with these sides, saturating.
const fn padded<const D: usize>(extents: &[usize; D], shifts: &[u32; D]) -> u128 {
    let (mut slots, mut axis) = (1u128, 0);
    while axis < D {
        let side = 1u128 << shifts[axis];
        slots = slots.saturating_mul((extents[axis] as u128).div_ceil(side) * side);
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
        assert_eq!(tiles([40, 40], 32).shifts, [2, 3]);
        assert_eq!(tiles([40, 40], 32).slots(), 1600);
        assert_eq!(tiles([7], 16).slots(), 16);
        assert_eq!(tiles([1, 12, 1], 16).shifts, [0, 4, 0].map(|s: u32| s));
        assert_eq!(tiles([2, 2, 2, 2, 2], 32).slots(), 32);
    }

    #[test]
    fn unpack_reads_what_pack_wrote_and_every_cell_has_its_own_slot() {
        fn check<const D: usize>(extents: [usize; D]) {
            for lanes in [16, 32] {
                let tiles = tiles(extents, lanes);
                let cells: usize = extents.iter().product();
                let plane: Vec<u32> = (1..=cells as u32).collect();
                let mut packed = vec![0; tiles.slots() * 3];
                tiles.pack(&plane, 1, 3, &mut packed);
                let mut found: Vec<u32> = packed.iter().copied().filter(|&x| x != 0).collect();
                found.sort_unstable();
                assert_eq!(found, plane);
                let mut back = vec![0; cells];
                tiles.unpack(&packed, 1, 3, &mut back);
                assert_eq!(back, plane);
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
