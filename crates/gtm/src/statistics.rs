use core::marker::PhantomData;

use countgrid_em::{Table, Tables, TablesExt, TablesMut};
use countgrid_math::Real;

use crate::{GtmError, Shape, error::long_enough, error::same_length};

/// What the M-step needs of the documents, with the scratch of both steps. All tables are sums over documents.
///
/// | table | | |
/// |---|---|---|
/// | `counts` | `[feature][point]` | `A_kj = Σ_n r_nk t_nj` |
/// | `present` | `[feature][point]` | `Σ_{n: t_nj > 0} r_nk`; on the general path `B_kj = Σ_n r_nk e_n (1 - Z_nkj)` |
/// | `documents` | `[point]` | `n_k = Σ_n r_nk` |
/// | `exposure` | `[point]` | `Σ_n r_nk e_n` |
/// | `inflated` | `[feature][profile or point]` | on the general path `C`, `Σ r_nk Z_nkj` over documents of a profile |
/// | `profiles` | `[profile]` | documents of each, on the general path |
/// | `totals` | two | documents, and `Σ t²` |
///
/// Example: [`Learner`](crate::Learner).
#[derive(Clone, Copy, Debug)]
pub struct Statistics<T, S, W> {
    shape: Shape,
    layout: [Table; 7],
    sums: S,      // of length `shape.sums_len()`
    scratch: S,   // at least `shape.scratch_len()`
    workspace: W, // at least `shape.workspace_len()`
    scalar: PhantomData<T>,
}

/// The tables, by name, to be written; and the scratch.
pub(crate) struct Sums<'a, T> {
    pub(crate) counts: &'a mut [T],
    pub(crate) present: &'a mut [T],
    pub(crate) documents: &'a mut [T],
    pub(crate) exposure: &'a mut [T],
    pub(crate) inflated: &'a mut [T],
    pub(crate) profiles: &'a mut [T],
    pub(crate) totals: &'a mut [T],
    pub(crate) scratch: &'a mut [T],
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, W: AsMut<[f64]>> Statistics<T, S, W> {
    /// Empty statistics in the caller's storage: `sums` of [`Shape::sums_len`] elements, `scratch` of at least
    /// [`Shape::scratch_len`], and of [`Shape::chunk_scratch_len`] for threads to share documents, `workspace` of at
    /// least [`Shape::workspace_len`]: regressions are solved in `f64`, for maps of either type.
    ///
    /// # Errors
    /// [`GtmError::Length`].
    pub fn new(shape: Shape, mut sums: S, scratch: S, mut workspace: W) -> Result<Self, GtmError> {
        same_length("sums", shape.sums_len(), sums.as_ref().len())?;
        long_enough("scratch", shape.scratch_len(), scratch.as_ref().len())?;
        long_enough("workspace", shape.workspace_len(), workspace.as_mut().len())?;
        sums.as_mut().fill(T::zero());
        Ok(Self { shape, layout: shape.sums_layout(), sums, scratch, workspace, scalar: PhantomData })
    }

    /// The tables, the scratch and the workspace.
    pub(crate) fn parts(&mut self) -> (Sums<'_, T>, &mut [f64]) {
        let mut buffer = self.sums.as_mut();
        let mut tables = self.layout.iter();
        let mut take = || {
            let length = tables.next().and_then(Table::elements).unwrap_or(0);
            let (part, rest) = core::mem::take(&mut buffer).split_at_mut(length);
            buffer = rest;
            part
        };
        let sums = Sums {
            counts: take(),
            present: take(),
            documents: take(),
            exposure: take(),
            inflated: take(),
            profiles: take(),
            totals: take(),
            scratch: self.scratch.as_mut(),
        };
        (sums, self.workspace.as_mut())
    }
}

impl<T: Real, S: AsRef<[T]>, W> Statistics<T, S, W> {
    /// The sizes and the emission model.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// Number of documents, as a sum of ones.
    pub fn documents(&self) -> T {
        self.table("totals").and_then(|totals| totals.first().copied()).unwrap_or_default()
    }
}

#[cfg(feature = "alloc")]
impl<T: Real> Statistics<T, countgrid_math::AlignedVec<T>, countgrid_math::AlignedVec<f64>> {
    /// Empty statistics in memory that is allocated.
    ///
    /// # Errors
    /// [`GtmError::TooLarge`] if the allocator refuses.
    pub fn allocate(shape: Shape) -> Result<Self, GtmError> {
        Self::with_chunk(shape, 1)
    }

    /// Empty statistics in memory of their own, with scratch to place `chunk` documents together (a hundred for each
    /// thread serve well).
    ///
    /// # Errors
    /// [`GtmError::TooLarge`] if the allocator refuses.
    pub fn with_chunk(shape: Shape, chunk: usize) -> Result<Self, GtmError> {
        use crate::map::allocate;
        let sums = allocate(&shape, shape.sums_len())?;
        let scratch = allocate(&shape, shape.chunk_scratch_len(chunk))?;
        Self::new(shape, sums, scratch, allocate(&shape, shape.workspace_len())?)
    }
}

impl<T: Real, S: AsRef<[T]>, W> Tables for Statistics<T, S, W> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }
    fn buffer(&self) -> &[T] {
        self.sums.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, W> TablesMut for Statistics<T, S, W> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.sums.as_mut()
    }
}
