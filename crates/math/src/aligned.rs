use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

use crate::Real;

/// A buffer of fixed length whose first element lies on a 64-byte boundary.
///
/// `Vec<f32>` promises 4 bytes only, and a table row that straddles cache lines costs 1.3 to 1.5 times as
/// much to read as one that does not.
///
/// ```
/// use countgrid_math::AlignedVec;
/// let mut table = AlignedVec::<f32>::zeroed(100)?;
/// table[3] = 1.0;
/// assert_eq!(table.as_ptr() as usize % 64, 0);
/// assert_eq!(table.iter().sum::<f32>(), 1.0);
/// # Ok::<(), countgrid_math::AllocationError>(())
/// ```
pub struct AlignedVec<T> {
    buffer: Vec<T>, // up to 64 bytes longer than asked for; never reallocated, so that `start` stays right
    start: usize,   // start + len <= buffer.len()
    len: usize,
}

/// There is no memory for a buffer.
///
/// Example: [`AlignedVec`](crate::AlignedVec).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AllocationError {
    /// Elements asked for.
    pub elements: usize,
}

impl fmt::Display for AllocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no memory for {} elements", self.elements)
    }
}

impl core::error::Error for AllocationError {}

const ALIGNMENT: usize = 64;

impl<T: Real> AlignedVec<T> {
    /// `len` zeros.
    ///
    /// # Errors
    /// [`AllocationError`] if there is no memory for them.
    pub fn zeroed(len: usize) -> Result<Self, AllocationError> {
        let error = AllocationError { elements: len };
        let padded = len.checked_add(ALIGNMENT / size_of::<T>()).ok_or(error)?;
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(padded).map_err(|_| error)?;
        buffer.resize(padded, T::zero());
        // `align_offset` may decline and say `usize::MAX`; then the buffer is merely not aligned.
        let start = buffer.as_ptr().align_offset(ALIGNMENT);
        let start = if start <= padded - len { start } else { 0 };
        Ok(Self { buffer, start, len })
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// [`AllocationError`] if there is no memory for it.
    pub fn from_slice(x: &[T]) -> Result<Self, AllocationError> {
        let mut copy = Self::zeroed(x.len())?;
        copy.copy_from_slice(x);
        Ok(copy)
    }
}

impl<T> Deref for AlignedVec<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        self.buffer.get(self.start..self.start + self.len).unwrap_or_default()
    }
}

impl<T> DerefMut for AlignedVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.buffer.get_mut(self.start..self.start + self.len).unwrap_or_default()
    }
}

impl<T> AsRef<[T]> for AlignedVec<T> {
    #[inline]
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> AsMut<[T]> for AlignedVec<T> {
    #[inline]
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: Real> Clone for AlignedVec<T> {
    /// Ends the program if there is no memory, as cloning a `Vec` does; [`AlignedVec::from_slice`] does not.
    fn clone(&self) -> Self {
        Self::from_slice(self).unwrap_or_else(|_| {
            let layout =
                alloc::alloc::Layout::array::<T>(self.len).unwrap_or(alloc::alloc::Layout::new::<T>());
            alloc::alloc::handle_alloc_error(layout)
        })
    }
}

impl<T: fmt::Debug> fmt::Debug for AlignedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: PartialEq> PartialEq for AlignedVec<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
