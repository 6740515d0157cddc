//! Sums over the windows of posteriors keep their tables by slot: tile by tile, as posteriors are visited quickest.

use countgrid_grid::{Posterior, Shape};
use countgrid_math::Real;

use crate::{AXES, EstimatorError};

/// Probabilities of windows, a tile at a time.
pub(crate) trait TilePosterior<T> {
    /// As [`Posterior::for_each_tile`].
    fn for_each_tile(&self, visit: impl FnMut(usize, &[T]));
}

impl<T: Real> TilePosterior<T> for Posterior<'_, T, AXES> {
    #[inline(always)]
    fn for_each_tile(&self, visit: impl FnMut(usize, &[T])) {
        Posterior::for_each_tile(self, visit);
    }
}

/// A row of probabilities by slot.
pub(crate) struct SlotRow<'a, T>(&'a [T]);

impl<T: Real> TilePosterior<T> for SlotRow<'_, T> {
    #[inline(always)]
    fn for_each_tile(&self, mut visit: impl FnMut(usize, &[T])) {
        for (tile, q) in self.0.chunks_exact(T::LANES).enumerate() {
            if q.iter().any(|&q| q > T::zero()) {
                visit(tile * T::LANES, q);
            }
        }
    }
}

/// Which cell each slot is, for tables of one type.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    slot_of_cell: Vec<usize>,
    slots: usize,
}

impl Slots {
    pub(crate) fn new<T: Real>(shape: &Shape<AXES>) -> Result<Self, EstimatorError> {
        let (mut slot_of_cell, cells) = (Vec::new(), shape.cells());
        slot_of_cell.try_reserve_exact(cells).map_err(|_| EstimatorError::Memory { elements: cells })?;
        slot_of_cell.resize(cells, 0);
        shape.for_each_slot::<T>(|slot, cell| slot_of_cell[cell] = slot);
        Ok(Self { slot_of_cell, slots: shape.slots::<T>() })
    }

    pub(crate) fn len(&self) -> usize {
        self.slots
    }

    /// The slot of each cell, in the order of cells.
    pub(crate) fn by_cell(&self) -> impl Iterator<Item = usize> {
        self.slot_of_cell.iter().copied()
    }

    /// Writes a plane `[cell]` into a row `[slot]`, whose padding is left alone.
    pub(crate) fn pack<'r, T: Copy>(&self, plane: &[T], row: &'r mut [T]) -> SlotRow<'r, T> {
        for (slot, &x) in self.by_cell().zip(plane) {
            row.get_mut(slot).into_iter().for_each(|to| *to = x);
        }
        SlotRow(row)
    }
}
