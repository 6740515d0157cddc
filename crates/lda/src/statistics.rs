use core::marker::PhantomData;

use countgrid_em::{Table, Tables, TablesMut};
use countgrid_math::Real;

use crate::{
    LdaError, Shape,
    error::{long_enough, same_length},
};

/// Elements of the table `totals`: `Σ_dk E[ln theta_dk]`, documents and tokens.
pub(crate) const TOTALS: usize = 3;

/// What the M-step needs of the documents, with the scratch of both steps.
///
/// Tables: `counts` `[feature][topic]`, the expected tokens `Σ_d c_dw phi_dwk`; and `totals`: `Σ_dk E[ln theta_dk]`, the
/// number of documents and the number of tokens. All of them are sums over documents, so statistics of two batches add
/// up.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug)]
pub struct Statistics<T, S> {
    shape: Shape,
    layout: [Table; 2],
    sums: S,    // of length `shape.sums_len()`
    scratch: S, // at least `shape.scratch_len(1)`
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Statistics<T, S> {
    /// Empty statistics in the caller's storage: `sums` of [`Shape::sums_len`] elements, `scratch` of at least
    /// [`Shape::scratch_len`]`(1)`. Longer scratch lets threads share out more documents; no result depends on it.
    ///
    /// # Errors
    /// [`LdaError::Length`].
    pub fn new(shape: Shape, sums: S, scratch: S) -> Result<Self, LdaError> {
        same_length("sums", shape.sums_len(), sums.as_ref().len())?;
        long_enough("scratch", shape.scratch_len(1), scratch.as_ref().len())?;
        let layout =
            [Table::new("counts", shape.features(), shape.topics()), Table::new("totals", 1, TOTALS)];
        let mut statistics = Self { shape, layout, sums, scratch, scalar: PhantomData };
        statistics.sums.as_mut().fill(T::zero());
        Ok(statistics)
    }

    /// The shape of the model that these statistics serve.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Expected tokens of every feature in every topic, `[feature][topic]`.
    pub fn counts(&self) -> &[T] {
        self.sums.as_ref().get(..self.shape.beta_len()).unwrap_or_default()
    }

    /// `Σ_dk E[ln theta_dk]` over documents and topics: what a symmetric `alpha` is learned from.
    pub fn log_theta(&self) -> T {
        self.totals()[0]
    }

    /// Number of documents, as a sum of ones.
    pub fn documents(&self) -> T {
        self.totals()[1]
    }

    /// Number of tokens: the sum of all counts.
    pub fn tokens(&self) -> T {
        self.totals()[2]
    }

    fn totals(&self) -> [T; TOTALS] {
        let totals = self.sums.as_ref().get(self.shape.beta_len()..).unwrap_or_default();
        totals.try_into().unwrap_or([T::zero(); TOTALS])
    }

    /// Counts, totals and scratch.
    pub(crate) fn parts_mut(&mut self) -> (&mut [T], &mut [T], &mut [T]) {
        let (sums, counts) = (self.sums.as_mut(), self.shape.beta_len());
        let (counts, totals) = sums.split_at_mut(counts.min(sums.len()));
        (counts, totals, self.scratch.as_mut())
    }
}

#[cfg(feature = "alloc")]
impl<T: Real> Statistics<T, countgrid_math::AlignedVec<T>> {
    /// Empty statistics in memory that is allocated, with scratch for `chunk` documents together (a hundred for each
    /// thread serve well).
    ///
    /// # Errors
    /// [`LdaError::TooLarge`] if the allocator refuses.
    pub fn allocate(shape: Shape, chunk: usize) -> Result<Self, LdaError> {
        let sums = allocate(&shape, shape.sums_len())?;
        let scratch = allocate(&shape, shape.scratch_len(chunk))?;
        Self::new(shape, sums, scratch)
    }
}

/// Zeros, or the shape that does not fit into memory.
#[cfg(feature = "alloc")]
pub(crate) fn allocate<T: Real>(
    shape: &Shape,
    len: usize,
) -> Result<countgrid_math::AlignedVec<T>, LdaError> {
    let (topics, features) = (shape.topics(), shape.features());
    countgrid_math::AlignedVec::zeroed(len).map_err(|_| LdaError::TooLarge { topics, features })
}

impl<T: Real, S: AsRef<[T]>> Tables for Statistics<T, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.sums.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Statistics<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.sums.as_mut()
    }
}
