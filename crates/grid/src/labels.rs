//! Labels on the grid: embedding of known targets, and prediction for other bags.

use core::marker::PhantomData;

use countgrid_em::{Table, Tables, TablesMut};
use countgrid_math::Real;
use countgrid_prefix::Direction;

use crate::{
    GridError, Posterior, Shape,
    error::{long_enough, same_length},
    mstep::sum_windows,
};

/// Probabilities of windows: a [`Posterior`], or a row `q` `[cell]`.
///
/// Example: [`LogHistograms`](crate::LogHistograms).
pub trait WindowPosterior<T> {
    /// Calls `visit(cell, q)` for every window of positive probability, in the order of cells.
    fn for_each(&self, visit: impl FnMut(usize, T));
}

impl<T: Real, const D: usize> WindowPosterior<T> for Posterior<'_, T, D> {
    fn for_each(&self, visit: impl FnMut(usize, T)) {
        Posterior::for_each(self, visit);
    }
}

impl<T: Real> WindowPosterior<T> for [T] {
    fn for_each(&self, mut visit: impl FnMut(usize, T)) {
        self.iter().enumerate().filter(|&(_, &q)| q > T::zero()).for_each(|(cell, &q)| visit(cell, q));
    }
}

/// Where on the grid a bag reads its targets.
///
/// Example: [`Embedding`](crate::Embedding).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readout {
    /// From all cells of its window, as it draws its tokens: the model's own prediction.
    #[default]
    Window,
    /// From the cell that its window starts at.
    Point,
}

/// Elements of the buffer of [`LabelSums`] and [`Embedding`] for so many targets: `(targets + 1)(P + 1)`. `None` if
/// they cannot be counted.
#[must_use]
pub const fn label_sums_len<const D: usize>(shape: &Shape<D>, targets: usize) -> Option<usize> {
    match targets.checked_add(1) {
        Some(rows) => rows.checked_mul(shape.cells() + 1),
        None => None,
    }
}

/// Elements of the scratch that [`Embedding`] asks for.
#[must_use]
pub const fn label_scratch_len<const D: usize>(shape: &Shape<D>) -> usize {
    2 * shape.cells() + countgrid_prefix::scratch_len(shape.windows())
}

/// Sums over bags with targets `y_tl`: one-hot rows for classes, or real numbers.
///
/// Tables, additive over bags: `mass` `[1][cell]`, `Σ_t q_tk`; `targets` `[target][cell]`, `Σ_t q_tk y_tl`; and
/// `totals` `[1][1 + target]`, the number of bags and `Σ_t y_tl`.
///
/// Example: [`Embedding`](crate::Embedding).
#[derive(Clone, Copy, Debug)]
pub struct LabelSums<T, S, const D: usize> {
    shape: Shape<D>,
    layout: [Table; 3],
    storage: S, // of length `label_sums_len(shape, targets)`
    scalar: PhantomData<T>,
}

/// The three tables of a buffer.
fn split<T>(buffer: &[T], cells: usize) -> (&[T], &[T], &[T]) {
    let targets = (buffer.len() / (cells + 1)).saturating_sub(1);
    let (planes, totals) = buffer.split_at(buffer.len() - targets - 1);
    let (mass, planes) = planes.split_at(cells);
    (mass, planes, totals)
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> LabelSums<T, S, D> {
    /// No bags yet. `storage` has [`label_sums_len`] elements, which are overwritten.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::NoTargets`] for no targets at all.
    pub fn new(shape: Shape<D>, targets: usize, storage: S) -> Result<Self, GridError> {
        if targets == 0 {
            return Err(GridError::NoTargets);
        }
        let expected = label_sums_len(&shape, targets);
        same_length("label sums", expected.unwrap_or(usize::MAX), storage.as_ref().len())?;
        let layout = [
            Table { name: "mass", rows: 1, columns: shape.cells() },
            Table { name: "targets", rows: targets, columns: shape.cells() },
            Table { name: "totals", rows: 1, columns: 1 + targets },
        ];
        let mut sums = Self { shape, layout, storage, scalar: PhantomData };
        sums.storage.as_mut().fill(T::zero());
        Ok(sums)
    }

    /// Number of targets.
    pub fn targets(&self) -> usize {
        self.layout[1].rows
    }

    /// Adds a bag with its targets `y` `[target]`. `q` may be of another float type than the sums.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Target`] for a target that is not finite. Nothing is then added.
    pub fn add<Q: Real>(&mut self, q: &(impl WindowPosterior<Q> + ?Sized), y: &[T]) -> Result<(), GridError> {
        same_length("y", self.targets(), y.len())?;
        if let Some(target) = y.iter().position(|y| !y.is_finite()) {
            return Err(GridError::Target { target });
        }
        self.add_rows(q, || y.iter().copied().enumerate());
        Ok(())
    }

    /// Adds a bag of one class: its target is 1, all others are 0.
    ///
    /// # Errors
    /// [`GridError::NoSuchClass`].
    pub fn add_class<Q: Real>(
        &mut self,
        q: &(impl WindowPosterior<Q> + ?Sized),
        class: usize,
    ) -> Result<(), GridError> {
        if class >= self.targets() {
            return Err(GridError::NoSuchClass { class, classes: self.targets() });
        }
        self.add_rows(q, || core::iter::once((class, T::one())));
        Ok(())
    }

    fn add_rows<Q: Real, Y: Iterator<Item = (usize, T)>>(
        &mut self,
        q: &(impl WindowPosterior<Q> + ?Sized),
        y: impl Fn() -> Y,
    ) {
        let (cells, planes) = (self.shape.cells(), (1 + self.targets()) * self.shape.cells());
        let (planes, totals) = self.storage.as_mut().split_at_mut(planes);
        let rows = || core::iter::once((0, T::one())).chain(y().map(|(target, y)| (1 + target, y)));
        for (row, y) in rows() {
            if let Some(total) = totals.get_mut(row) {
                *total += y;
            }
        }
        q.for_each(|cell, q| {
            let q = T::from_f64(q.to_f64());
            for (row, y) in rows() {
                if let Some(sum) = planes.get_mut(row * cells..).and_then(|plane| plane.get_mut(cell)) {
                    *sum += q * y;
                }
            }
        });
    }
}

/// Targets embedded in a grid, from all bags that [`LabelSums`] has met.
///
/// Spread over the cells of its windows, a bag covers cell `i` by `g_ti = (S' q_t)_i`. The embedding
///
/// ```text
/// gamma_il = Σ_t g_ti y_tl / Σ_t g_ti
/// ```
///
/// is the mean target of the bags at a cell, and where no bag lies the mean target of all.
///
/// Tables as in [`LabelSums`], spread: `mass` is the coverage `Σ_t g_ti`, `targets` `Σ_t g_ti y_tl`.
///
/// ```
/// use countgrid_grid::{Embedding, LabelSums, Readout, Shape, label_scratch_len, label_sums_len};
/// use countgrid_torus::{Torus, Windows};
///
/// // Six cells in a circle, windows of two. A bag of class 0 at window 0, one of class 1 at window 3.
/// let shape = Shape::new(Windows::new(Torus::new([6])?, [2])?, 1)?;
/// let mut sums = LabelSums::new(shape, 2, vec![0.0f64; label_sums_len(&shape, 2).unwrap()])?;
/// sums.add_class([1.0, 0.0, 0.0, 0.0, 0.0, 0.0].as_slice(), 0)?;
/// sums.add_class([0.0, 0.0, 0.0, 1.0, 0.0, 0.0].as_slice(), 1)?;
///
/// let mut scratch = vec![0.0; label_scratch_len(&shape)];
/// let embedding = Embedding::new(sums, &mut scratch)?;
/// let mut gamma = [0.0; 6];
/// embedding.gamma(0, &mut gamma)?;
/// assert_eq!(gamma, [1.0, 1.0, 0.5, 0.0, 0.0, 0.5]); // cells 2 and 5 know of no bag
///
/// let labels = embedding.labels(Readout::Window, vec![0.0; 12], &mut scratch)?;
/// let mut read = [0.0; 2];
/// labels.read([0.0, 1.0, 0.0, 0.0, 0.0, 0.0].as_slice(), &mut read)?; // at window 1, cells 1 and 2
/// assert_eq!(read, [0.75, 0.25]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Source
/// Jojic & Perina 2011, Eqs. 9 and 10.
#[derive(Clone, Copy, Debug)]
pub struct Embedding<T, S, const D: usize>(LabelSums<T, S, D>);

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> Embedding<T, S, D> {
    /// Spreads the sums over the cells. `scratch`: [`label_scratch_len`] elements.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::NoTargets`] if no bag was added.
    pub fn new(mut sums: LabelSums<T, S, D>, scratch: &mut [T]) -> Result<Self, GridError> {
        let shape = sums.shape;
        long_enough("scratch", label_scratch_len(&shape), scratch.len())?;
        let planes = (1 + sums.targets()) * shape.cells();
        let (planes, totals) = sums.storage.as_mut().split_at_mut(planes);
        if totals.first().is_none_or(|&bags| !(bags > T::zero())) {
            return Err(GridError::NoTargets);
        }
        let (own, scratch) = scratch.split_at_mut(shape.cells());
        for plane in planes.chunks_exact_mut(shape.cells()) {
            own.copy_from_slice(plane);
            sum_windows(shape.windows(), Direction::Adjoint, own, plane, scratch);
        }
        Ok(Self(sums))
    }
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Embedding<T, S, D> {
    /// Number of targets.
    pub fn targets(&self) -> usize {
        self.0.layout[1].rows
    }

    /// Coverage, sums of all targets, totals.
    fn parts(&self) -> (&[T], &[T], &[T]) {
        split(self.0.storage.as_ref(), self.0.shape.cells())
    }

    /// The embedding `gamma` `[cell]` of one target.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::NoSuchClass`].
    pub fn gamma(&self, target: usize, gamma: &mut [T]) -> Result<(), GridError> {
        same_length("gamma", self.0.shape.cells(), gamma.len())?;
        if target >= self.targets() {
            return Err(GridError::NoSuchClass { class: target, classes: self.targets() });
        }
        let (coverage, sums, totals) = self.parts();
        let mean = totals.get(1 + target).map_or(T::zero(), |&total| total / totals[0]);
        let plane = sums.chunks_exact(gamma.len()).nth(target).unwrap_or_default();
        for ((gamma, &sum), &coverage) in gamma.iter_mut().zip(plane).zip(coverage) {
            *gamma = if coverage > T::zero() { sum / coverage } else { mean };
        }
        Ok(())
    }

    /// What a bag at each window reads, as a table; `storage`: `targets · P` elements, `scratch`:
    /// [`label_scratch_len`].
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn labels<R: AsRef<[T]> + AsMut<[T]>>(
        &self,
        reading: Readout,
        mut storage: R,
        scratch: &mut [T],
    ) -> Result<Labels<T, R, D>, GridError> {
        let shape = &self.0.shape;
        same_length("labels", self.targets() * shape.cells(), storage.as_ref().len())?;
        long_enough("scratch", label_scratch_len(shape), scratch.len())?;
        let volume = T::from_f64(shape.windows().volume() as f64);
        let (gamma, scratch) = scratch.split_at_mut(shape.cells());
        for (target, plane) in storage.as_mut().chunks_exact_mut(shape.cells()).enumerate() {
            self.gamma(target, gamma)?;
            match reading {
                Readout::Point => plane.copy_from_slice(gamma),
                Readout::Window => {
                    sum_windows(shape.windows(), Direction::Forward, gamma, plane, scratch);
                    plane.iter_mut().for_each(|mean| *mean /= volume);
                }
            }
        }
        Labels::new(*shape, self.targets(), storage)
    }

    /// What a bag reads from all others: `y` are the targets with which the bag was added, `q` where it lies.
    ///
    /// By subtraction, in `O(P)` for each target and no fit: the grid itself has seen the bag, its label has no part
    /// in that. A cell counts as covered by this bag alone once the others are a share of its coverage that rounding
    /// explains.
    ///
    /// `read` `[target]` is written; `scratch`: [`label_scratch_len`] elements.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::NoTargets`] if there is no other bag.
    pub fn leave_one_out<Q: Real>(
        &self,
        q: &(impl WindowPosterior<Q> + ?Sized),
        y: &[T],
        reading: Readout,
        read: &mut [T],
        scratch: &mut [T],
    ) -> Result<(), GridError> {
        let shape = &self.0.shape;
        same_length("y", self.targets(), y.len())?;
        same_length("read", self.targets(), read.len())?;
        long_enough("scratch", label_scratch_len(shape), scratch.len())?;
        let (coverage, sums, totals) = self.parts();
        let others = totals[0] - T::one();
        if !(others > T::zero()) {
            return Err(GridError::NoTargets);
        }
        let (own, rest) = scratch.split_at_mut(shape.cells());
        let (spread, rest) = rest.split_at_mut(shape.cells());
        own.fill(T::zero());
        q.for_each(|cell, q| {
            if let Some(own) = own.get_mut(cell) {
                *own = T::from_f64(q.to_f64());
            }
        });
        sum_windows(shape.windows(), Direction::Adjoint, own, spread, rest);
        let volume = T::from_f64(shape.windows().volume() as f64);
        let alone = T::UNIT_ROUNDOFF * T::from_f64(8192.0); // 1e-12 in f64
        for (((read, &y), plane), &total) in
            read.iter_mut().zip(y).zip(sums.chunks_exact(own.len())).zip(totals.iter().skip(1))
        {
            let mean = (total - y) / others;
            let mut sum = T::zero();
            for (((&q, &g), &coverage), &with) in own.iter().zip(&*spread).zip(coverage).zip(plane) {
                let weight = if reading == Readout::Window { g / volume } else { q };
                let rest = coverage - g;
                let gamma = if rest > alone * coverage { (with - g * y) / rest } else { mean };
                sum += if weight > T::zero() { weight * gamma } else { T::zero() };
            }
            *read = sum;
        }
        Ok(())
    }
}

/// What a bag at each window reads: table `labels` `[target][cell]`, probabilities of classes or means of real
/// targets. Constant, and small enough for flash.
///
/// Example: [`Embedding`](crate::Embedding).
#[derive(Clone, Copy, Debug)]
pub struct Labels<T, S, const D: usize> {
    layout: [Table; 1],
    storage: S, // of `targets · cells` elements, all finite
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Labels<T, S, D> {
    /// Takes a table as [`Embedding::labels`] wrote it.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::NoTargets`]; [`GridError::Target`] for an entry that is not finite.
    pub fn new(shape: Shape<D>, targets: usize, storage: S) -> Result<Self, GridError> {
        if targets == 0 {
            return Err(GridError::NoTargets);
        }
        let expected = targets.saturating_mul(shape.cells());
        same_length("labels", expected, storage.as_ref().len())?;
        if let Some(entry) = storage.as_ref().iter().position(|x| !x.is_finite()) {
            return Err(GridError::Target { target: entry / shape.cells() });
        }
        let layout = [Table { name: "labels", rows: targets, columns: shape.cells() }];
        Ok(Self { layout, storage, scalar: PhantomData })
    }

    /// Number of targets.
    pub fn targets(&self) -> usize {
        self.layout[0].rows
    }

    /// The expected targets of a bag that lies at `q`: `read_l = Σ_k q_k labels_lk`. The class is the largest.
    ///
    /// # Errors
    /// [`GridError::Length`] if `read` is not `[target]`.
    pub fn read<Q: Real>(
        &self,
        q: &(impl WindowPosterior<Q> + ?Sized),
        read: &mut [T],
    ) -> Result<(), GridError> {
        same_length("read", self.targets(), read.len())?;
        read.fill(T::zero());
        let cells = self.layout[0].columns;
        q.for_each(|cell, q| {
            let q = T::from_f64(q.to_f64());
            for (read, labels) in read.iter_mut().zip(self.storage.as_ref().chunks_exact(cells)) {
                if let Some(&label) = labels.get(cell) {
                    *read += q * label;
                }
            }
        });
        Ok(())
    }
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Tables for LabelSums<T, S, D> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> TablesMut for LabelSums<T, S, D> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Tables for Labels<T, S, D> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}
