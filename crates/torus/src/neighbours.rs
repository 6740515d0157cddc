use core::iter::FusedIterator;

use crate::Torus;

/// Iterator over the face neighbours of a cell; see [`Torus::neighbours`].
#[derive(Clone, Debug)]
pub struct Neighbours<const D: usize> {
    torus: Torus<D>,
    cell: usize,
    step: usize, // 2 d: back along axis d; 2 d + 1: ahead
}

impl<const D: usize> Neighbours<D> {
    pub(crate) const fn new(torus: Torus<D>, cell: usize) -> Self {
        Self { torus, cell, step: 0 }
    }
}

impl<const D: usize> Iterator for Neighbours<D> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let (axis, ahead) = (self.step / 2, self.step % 2 == 1);
            let extent = *self.torus.extents().get(axis)?;
            self.step += 1;
            // Of two cells, the one before is also the one after.
            if extent > 2 || (extent == 2 && !ahead) {
                let mut offset = [0; D];
                if let Some(offset) = offset.get_mut(axis) {
                    *offset = if ahead { 1 } else { -1 };
                }
                return Some(self.torus.translate(self.cell, offset));
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let of = |&extent: &usize| if extent > 2 { 2 } else { extent - 1 };
        let extents = self.torus.extents();
        let (axis, ahead) = (self.step / 2, self.step % 2);
        let ahead_of = extents.iter().skip(axis).map(of).sum::<usize>();
        // In the middle of an axis its first neighbour, if it had one, is already out.
        let out = extents.get(axis).map_or(0, |extent| of(extent).min(ahead));
        let left = ahead_of - out;
        (left, Some(left))
    }
}

impl<const D: usize> ExactSizeIterator for Neighbours<D> {}
impl<const D: usize> FusedIterator for Neighbours<D> {}
