//! Where the cells of a table lie in a slice.

use super::FilterError;

/// What every extent, side and offset stays below, so that sums of a few of them do not overflow.
pub(super) const LARGEST: usize = isize::MAX as usize / 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout<const D: usize> {
    pub(super) extents: [usize; D],
    pub(super) strides: [usize; D], // elements from a cell to the next along each axis
    pub(super) channels: usize,     // elements of a cell, side by side
    pub(super) needed: usize,       // elements that the slice must have
}

impl<const D: usize> Layout<D> {
    const fn packed(extents: [usize; D], channels: usize) -> Result<Self, FilterError> {
        const { assert!(D > 0, "a table has at least one axis") };
        let (mut strides, mut axis) = ([0; D], D);
        let (mut elements, mut is_empty) = (channels, channels == 0);
        while axis > 0 {
            axis -= 1;
            strides[axis] = elements;
            if extents[axis] > LARGEST {
                return Err(FilterError::TooLarge);
            }
            is_empty |= extents[axis] == 0;
            // An empty axis does not hide that the others are too large.
            let factor = if extents[axis] == 0 { 1 } else { extents[axis] };
            elements = match elements.checked_mul(factor) {
                Some(product) if product <= isize::MAX as usize => product,
                _ => return Err(FilterError::TooLarge),
            };
        }
        if channels > LARGEST {
            return Err(FilterError::TooLarge);
        }
        Ok(Self { extents, strides, channels, needed: if is_empty { 0 } else { elements } })
    }

    const fn strided(extents: [usize; D], channels: usize, strides: [usize; D]) -> Result<Self, FilterError> {
        let packed = match Self::packed(extents, channels) {
            Ok(packed) => packed,
            Err(error) => return Err(error),
        };
        if packed.needed == 0 {
            return Ok(packed);
        }
        let (mut last, mut axis) = (channels - 1, 0);
        while axis < D {
            last = match (extents[axis] - 1).checked_mul(strides[axis]) {
                Some(along) if along <= isize::MAX as usize - last => last + along,
                _ => return Err(FilterError::TooLarge),
            };
            axis += 1;
        }
        Ok(Self { strides, needed: last + 1, ..packed })
    }

    /// No two cells share an element: each stride steps over all that the smaller ones reach.
    const fn is_injective(&self) -> bool {
        if self.needed == 0 {
            return true;
        }
        let (mut reached, mut left) = (self.channels, 0);
        let mut done = [false; D];
        while left < D {
            let (mut smallest, mut axis) = (D, 0);
            while axis < D {
                if !done[axis] && (smallest == D || self.strides[axis] < self.strides[smallest]) {
                    smallest = axis;
                }
                axis += 1;
            }
            done[smallest] = true;
            left += 1;
            if self.extents[smallest] > 1 {
                if self.strides[smallest] < reached {
                    return false;
                }
                reached += (self.extents[smallest] - 1) * self.strides[smallest];
            }
        }
        true
    }
}

macro_rules! view {
    ($name:ident, [$($reference:tt)*], $injective:literal, $($what:literal)*) => {
        $(#[doc = $what])*
        ///
        /// The cells have `extents[d]` positions along axis `d`, of which the last one is fastest in a packed table,
        /// and each cell has so many channels, side by side. An extent may be 0: then there is nothing to do.
        ///
        /// Example: [`BoxFilter`](crate::BoxFilter).
        #[derive(Debug)]
        pub struct $name<'a, T, const D: usize> {
            pub(super) data: $($reference)* [T],
            pub(super) layout: Layout<D>,
        }

        impl<'a, T, const D: usize> $name<'a, T, D> {
            /// One value per cell, cells row-major without gaps: `data` has exactly one element per cell.
            ///
            /// # Errors
            /// [`FilterError::Length`], [`FilterError::TooLarge`].
            pub const fn new(data: $($reference)* [T], extents: [usize; D]) -> Result<Self, FilterError> {
                Self::interleaved(data, extents, 1)
            }

            /// `channels` values per cell, channels last, as of an RGB image: `[..., column, channel]`.
            ///
            /// # Errors
            /// [`FilterError::Length`] if `data` is not exactly as long, [`FilterError::TooLarge`].
            pub const fn interleaved(
                data: $($reference)* [T],
                extents: [usize; D],
                channels: usize,
            ) -> Result<Self, FilterError> {
                let layout = match Layout::packed(extents, channels) {
                    Ok(layout) => layout,
                    Err(error) => return Err(error),
                };
                if data.len() != layout.needed {
                    return Err(FilterError::Length { needed: layout.needed, found: data.len() });
                }
                Ok(Self { data, layout })
            }

            /// Cells that are `strides[d]` elements apart along axis `d`: a crop, an image with padded rows, every
            /// other column, axes in another order. Channels lie side by side; `data` may go on after the last cell.
            ///
            /// Fast if rows are contiguous, that is if the last stride is the number of channels.
            ///
            /// # Errors
            #[doc = concat!("[`FilterError::Length`] if `data` is too short, [`FilterError::TooLarge`]", $injective)]
            pub const fn strided(
                data: $($reference)* [T],
                extents: [usize; D],
                channels: usize,
                strides: [usize; D],
            ) -> Result<Self, FilterError> {
                let layout = match Layout::strided(extents, channels, strides) {
                    Ok(layout) => layout,
                    Err(error) => return Err(error),
                };
                if data.len() < layout.needed {
                    return Err(FilterError::Length { needed: layout.needed, found: data.len() });
                }
                if $injective.len() > 1 && !layout.is_injective() {
                    return Err(FilterError::Overlap);
                }
                Ok(Self { data, layout })
            }
        }
    };
}

view!(Table, [&'a], ".", "A table that is read: a slice and where the cells lie in it.");
view!(
    TableMut,
    [&'a mut],
    ", [`FilterError::Overlap`].",
    "A table that is written: a slice and where the cells lie in it. What lies between the cells is left as it is."
);

impl<T, const D: usize> Clone for Table<'_, T, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const D: usize> Copy for Table<'_, T, D> {}
