use core::{
    marker::PhantomData,
    sync::atomic::{AtomicBool, Ordering},
};

use countgrid_counts::Bags;
use countgrid_em::{
    Table, Tables,
    parallel::{Rows, SharedRows, Split, for_each, in_pool, threads},
};
use countgrid_math::{Kernel, Level, Real, dispatch, prefetch};
use countgrid_prefix::Direction;

use crate::{
    Grid, GridError, PosteriorThreshold, Shape,
    error::{long_enough, same_length},
    estep::{Chunk, Source, SparsityEstimate, Tempering, peak},
    mstep::{Deferred, gap, sum_windows},
    tiles::{MOST_LANES, Tiles},
};

/// What inference needs of a grid: the logarithm of `h` of every feature at every window and `log p` of every
/// location, packed so that neighbouring windows lie together.
///
/// Histograms and prior are floored at [`Real::FLOOR`] before the logarithm, so that a feature that a window does
/// not know costs every such window the same and a posterior is never undefined. The logarithm is that of the share
/// of the feature's largest histogram entry, `log h_kz - log r_z` with `r_z = max_k h_kz`: `r` cancels in a
/// posterior, and without it the scores of the windows that matter are several times smaller, and so are their
/// roundings. Evidence has it put back in f64. Tables:
///
/// - `log_histograms` `[tile][1 + feature][lane]`: row 0 of a tile is the log prior of its windows, row `1 + z` their
///   logarithms of feature `z`. Padding lanes have prior `-inf`.
/// - `bounds` `[group][1 + feature][lane]`: in each lane the largest entry of every row of one tile. They tell
///   without scoring that tile which bags have no place there. With fewer than four tiles there are none.
/// - `references` `[1][feature]`: `log r_z`.
///
/// Made from a [`Grid`] on a host, then constant: on a microcontroller the storage is `&'static [f32]`.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_grid::{Grid, LogHistograms, Shape, constant};
///
/// // Four cells in a circle, windows of two, three features; the tables are plain arrays.
/// const SHAPE: Shape<1> = constant!(Shape::from_sides([4], [2], 3));
/// let pi = [0.8f32, 0.1, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.25, 0.25, 0.25, 0.25];
/// let grid = Grid::new(SHAPE, pi)?;
/// let mut scratch = [0.0; SHAPE.scratch_len::<f32>(1)];
/// let mut packed = [0.0; SHAPE.histograms_len::<f32>()];
/// LogHistograms::pack(&grid, &mut packed, &mut scratch)?;
///
/// let histograms = LogHistograms::new(SHAPE, packed.as_slice())?; // what flash would hold
/// let bag = Bag::new(3, &[2], &[9u16])?; // nine times the last feature
/// let mut q = [0.0; SHAPE.cells()];
/// let log_evidence = histograms.posterior(&bag, 0, &mut q, &mut scratch)?;
/// assert!(q[2] > 0.9); // the window that starts at cell 2 holds cells 2 and 3
/// assert!(log_evidence < 0.0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LogHistograms<T, S, const D: usize> {
    shape: Shape<D>,
    tiles: Tiles<D>,
    layout: [Table; 3],
    storage: S, // of length `shape.histograms_len()`
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>, const D: usize> LogHistograms<T, S, D> {
    /// Takes a packed table as [`LogHistograms::pack`] wrote it.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Probability`] for a logarithm that is NaN or above zero by more
    /// than rounding; [`GridError::Padding`], [`GridError::Bound`] for a table that is not as packed.
    pub fn new(shape: Shape<D>, storage: S) -> Result<Self, GridError> {
        let packed = storage.as_ref();
        same_length("log_histograms", shape.histograms_len::<T>(), packed.len())?;
        // The mean of V probabilities that sum to one only within rounding, and the logarithm.
        let allowed = T::from_f64(1e-3);
        let rows = shape.features() + 1;
        let (packed, references) = split(packed, shape.references_start::<T>());
        for (row, lanes) in packed.chunks_exact(T::LANES).enumerate() {
            if lanes.iter().any(|&x| !(x <= allowed)) {
                let (tile, feature) = (row / rows.max(1), row % rows.max(1));
                let cell = tile * T::LANES;
                return Err(GridError::Probability { table: "log_histograms", feature, cell });
            }
        }
        if let Some(feature) = references.iter().position(|&x| !(x <= allowed && x.is_finite())) {
            return Err(GridError::Probability { table: "references", feature, cell: 0 });
        }
        let (packed, bounds) = split(packed, shape.counts_len::<T>());
        let tiles = shape.tiles::<T>();
        let mut padded = None;
        tiles.visit(0..tiles.count(), |tile, at| {
            let prior = packed.chunks_exact((rows * T::LANES).max(1)).nth(tile).unwrap_or_default();
            let prior = prior.get(..T::LANES).unwrap_or_default();
            if padded.is_none() && at.padding(prior).any(|&x| x != T::neg_infinity()) {
                padded = Some(GridError::Padding { tile });
            }
        });
        if let Some(error) = padded {
            return Err(error);
        }
        if !bounds.is_empty() {
            for (tile, packed) in packed.chunks_exact((rows * T::LANES).max(1)).enumerate() {
                let bounds = bounds.get((tile / T::LANES) * rows * T::LANES + tile % T::LANES..);
                let bounds = bounds.unwrap_or_default().iter().step_by(T::LANES);
                for (row, (lanes, &bound)) in packed.chunks_exact(T::LANES).zip(bounds).enumerate() {
                    if lanes.iter().any(|&x| x > bound) {
                        return Err(GridError::Bound { tile, row });
                    }
                }
            }
        }
        Ok(Self::unchecked(shape, storage))
    }

    pub(crate) fn unchecked(shape: Shape<D>, storage: S) -> Self {
        let tiles = shape.tiles::<T>();
        let table = |name, tiles| Table { name, rows: tiles * (shape.features() + 1), columns: T::LANES };
        let layout = [
            table("log_histograms", tiles.count()),
            table("bounds", tiles.bounds()),
            Table { name: "references", rows: 1, columns: shape.features() },
        ];
        Self { shape, tiles, layout, storage, scalar: PhantomData }
    }

    /// The shape.
    pub fn shape(&self) -> &Shape<D> {
        &self.shape
    }

    /// The packed tables, and `log r_z`.
    pub(crate) fn packed(&self) -> (&[T], &[T]) {
        split(self.storage.as_ref(), self.shape.references_start::<T>())
    }

    pub(crate) fn tiles(&self) -> &Tiles<D> {
        &self.tiles
    }

    /// Writes the logarithms `[cell]` of one row, 0 for the prior or one more than the feature, and returns what is to
    /// be added to each: `log r_z`.
    pub(crate) fn unpack(&self, row: usize, plane: &mut [T]) -> T {
        let (packed, references) = self.packed();
        self.tiles.unpack(packed, row, self.shape.features() + 1, plane);
        row.checked_sub(1).and_then(|z| references.get(z)).copied().unwrap_or(T::zero())
    }

    /// The posterior of bag `t` of a data set: writes `q` `[cell]` over windows and returns the log
    /// evidence `log p(c)` in nats, without the multinomial coefficient.
    ///
    /// Windows far below the best get exactly zero ([`PosteriorThreshold::Rounding`]). An empty bag has the prior as
    /// its posterior.
    ///
    /// `scratch`: at least [`Shape::posterior_scratch_len`]`(1)` elements.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Features`], [`GridError::NoSuchBag`], [`GridError::Overflow`].
    /// # Source
    /// Jojic & Perina 2011, Eq. 3; with the location prior the journal paper's Eq. 3.
    pub fn posterior<B: Bags>(
        &self,
        bags: &B,
        t: usize,
        q: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, GridError> {
        same_length("q", self.shape.cells(), q.len())?;
        if t >= bags.len() {
            return Err(GridError::NoSuchBag { bag: t, bags: bags.len() });
        }
        let mut evidence = T::zero();
        self.for_each_posterior(bags, t..t + 1, scratch, |_, posterior| {
            posterior.write(q);
            evidence = posterior.log_evidence();
        })?;
        Ok(evidence)
    }

    /// Computes the posterior of every bag, as many together as the scratch allows, and calls `visit(bag, posterior)`
    /// in order.
    ///
    /// `scratch`: at least [`Shape::posterior_scratch_len`]`(1)` elements; with room for some hundred bags
    /// the table is read once for all of them. Results do not depend on it.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Features`], [`GridError::Overflow`].
    pub fn posteriors<B: Bags>(
        &self,
        bags: &B,
        scratch: &mut [T],
        visit: impl FnMut(usize, &Posterior<'_, T, D>),
    ) -> Result<(), GridError> {
        self.for_each_posterior(bags, 0..bags.len(), scratch, visit)
    }

    /// As [`LogHistograms::posteriors`], but for what is worked out of each bag alone: `work(bag, posterior, found)` is called for
    /// several bags at a time, on as many threads as there are, with the element of `found` that is the bag's.
    ///
    /// ```
    /// use countgrid_counts::Dense;
    /// use countgrid_grid::{Grid, LogHistograms, Shape};
    /// let shape = Shape::from_sides([4], [2], 2)?;
    /// let grid = Grid::new(shape, [0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.25, 0.25, 0.25, 0.25])?;
    /// let mut scratch = vec![0.0_f64; shape.posterior_scratch_len::<f64>(16).max(shape.plane_scratch_len())];
    /// let histograms = LogHistograms::pack(&grid, vec![0.0; shape.histograms_len::<f64>()], &mut scratch)?;
    /// let bags = Dense::new(2, &[5_u32, 0, 0, 5])?;
    /// let mut modes = [0; 2];
    /// histograms.posteriors_into(&bags, &mut scratch, &mut modes, |_, posterior, mode| *mode = posterior.mode())?;
    /// assert_eq!(modes, [0, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`LogHistograms::posteriors`]; [`GridError::Length`] unless there is an element for each bag. Elements of
    /// `found` may then be written or not.
    pub fn posteriors_into<B: Bags, R: Send>(
        &self,
        bags: &B,
        scratch: &mut [T],
        found: &mut [R],
        work: impl Fn(usize, &Posterior<'_, T, D>, &mut R) + Sync,
    ) -> Result<(), GridError> {
        same_length("found", bags.len(), found.len())?;
        self.for_each_chunk(bags, 0..bags.len(), scratch, |chunk, source| {
            let first = source.first;
            let rows = Rows::new(found.get_mut(first..first + chunk.bags).unwrap_or_default(), 1);
            // A flag, and then a look for the first: the smallest processors can store atomically, but not compare.
            let (tiles, refused) = (&self.tiles, AtomicBool::new(false));
            in_pool(|| {
                for_each(chunk.bags, rows, |bag, row| match Posterior::new(chunk, tiles, source, bag) {
                    Ok(posterior) => {
                        row.elements.iter_mut().for_each(|found| work(first + bag, &posterior, found));
                    }
                    Err(_) => refused.store(true, Ordering::Relaxed),
                });
            });
            if refused.into_inner() {
                (0..chunk.bags).try_for_each(|bag| Posterior::new(chunk, tiles, source, bag).map(|_| ()))?;
            }
            Ok(())
        })
    }

    fn for_each_posterior<B: Bags>(
        &self,
        bags: &B,
        range: core::ops::Range<usize>,
        scratch: &mut [T],
        mut visit: impl FnMut(usize, &Posterior<'_, T, D>),
    ) -> Result<(), GridError> {
        self.for_each_chunk(bags, range, scratch, |chunk, source| {
            (0..chunk.bags).try_for_each(|bag| {
                visit(source.first + bag, &Posterior::new(chunk, &self.tiles, source, bag)?);
                Ok(())
            })
        })
    }

    /// Calls `visit` with the posteriors of some bags after the other, in order.
    fn for_each_chunk<B: Bags>(
        &self,
        bags: &B,
        range: core::ops::Range<usize>,
        scratch: &mut [T],
        mut visit: impl FnMut(&Chunk<'_, T>, Source<'_, T, B>) -> Result<(), GridError>,
    ) -> Result<(), GridError> {
        let one = self.shape.posterior_scratch_len::<T>(1);
        long_enough("scratch", one, scratch.len())?;
        self.same_features(bags)?;
        let tempering = Tempering::new(T::one(), PosteriorThreshold::Rounding, self.shape.cells());
        let mut sparsity = SparsityEstimate::SHARP;
        let (mut first, end) = (range.start, range.end);
        while first < end {
            let source = self.source(bags, first);
            let mut chunk = Chunk::new(source, end - first, tempering, true, &mut sparsity, scratch);
            chunk.index_by_bag();
            visit(&chunk, source)?;
            first += chunk.bags;
        }
        Ok(())
    }

    /// What an E-step on the bags from `first` on reads.
    pub(crate) fn source<'a, B: Bags>(&'a self, bags: &'a B, first: usize) -> Source<'a, T, B> {
        let ((table, references), rows) = (self.packed(), self.shape.features() + 1);
        Source {
            tiles: self.tiles.count(),
            bounds: self.tiles.bounds(),
            table,
            references,
            rows,
            bags,
            first,
        }
    }

    pub(crate) fn same_features<B: Bags>(&self, bags: &B) -> Result<(), GridError> {
        let (expected, found) = (self.shape.features(), bags.features());
        if expected == found { Ok(()) } else { Err(GridError::Features { expected, found }) }
    }
}

/// [`slice::split_at`] at the end where that is before.
fn split<T>(slice: &[T], middle: usize) -> (&[T], &[T]) {
    slice.split_at(middle.min(slice.len()))
}

/// Where one bag sits.
///
/// Example: [`LogHistograms`](crate::LogHistograms).
#[derive(Debug)]
pub struct Posterior<'a, T, const D: usize> {
    chunk: &'a Chunk<'a, T>,
    tiles: &'a Tiles<D>,
    bag: usize,
    bag_posterior: crate::estep::BagPosterior<T>,
}

impl<'a, T: Real, const D: usize> Posterior<'a, T, D> {
    /// That of a bag of a chunk, which was scored from this source.
    fn new<B: Bags>(
        chunk: &'a Chunk<'a, T>,
        tiles: &'a Tiles<D>,
        source: Source<'_, T, B>,
        bag: usize,
    ) -> Result<Self, GridError> {
        let overflow = GridError::Overflow { bag: source.first + bag };
        let mut bag_posterior = chunk.bag_posterior(bag).ok_or(overflow)?;
        let [_, references] = source.tally(bag);
        bag_posterior.bound += references;
        if T::from_f64(bag_posterior.bound).is_finite() {
            Ok(Self { chunk, tiles, bag, bag_posterior })
        } else {
            Err(overflow)
        }
    }

    /// `log p(c)` in nats, without the multinomial coefficient.
    pub fn log_evidence(&self) -> T {
        T::from_f64(self.bag_posterior.bound)
    }

    /// Entropy of the posterior in nats.
    pub fn entropy(&self) -> T {
        self.bag_posterior.entropy
    }

    /// Calls `visit(cell, q)` for every window of positive probability, in the order of cells.
    #[inline]
    pub fn for_each(&self, mut visit: impl FnMut(usize, T)) {
        let (mut blocks, mass) = (self.chunk.bag_blocks(self.bag), self.bag_posterior.mass);
        self.tiles.runs(|cell, tile, lane, length| {
            if let Some(lanes) = blocks.alive(tile) {
                for (offset, &e) in lanes.iter().skip(lane).take(length).enumerate() {
                    let q = e / mass;
                    if q > T::zero() {
                        visit(cell + offset, q);
                    }
                }
            }
        });
    }

    /// Calls `visit(slot, q)` for every tile with a window of positive probability: the [slot](Shape::for_each_slot) of its first
    /// window, and the probabilities of all its windows, whose slots are one after the other; padding has none. In a fraction of
    /// the time of [`Posterior::for_each`], for what keeps its tables by slot.
    ///
    /// ```
    /// # use countgrid_counts::Dense;
    /// # use countgrid_grid::{Grid, LogHistograms, Shape};
    /// # let shape = Shape::from_sides([4], [2], 2)?;
    /// # let grid = Grid::new(shape, [0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.25, 0.25, 0.25, 0.25])?;
    /// # let mut scratch = vec![0.0_f64; shape.posterior_scratch_len::<f64>(16).max(shape.plane_scratch_len())];
    /// # let histograms = LogHistograms::pack(&grid, vec![0.0; shape.histograms_len::<f64>()], &mut scratch)?;
    /// let mut sums = vec![0.0; shape.slots::<f64>()]; // over bags, of the probability of each window
    /// histograms.posteriors(&Dense::new(2, &[5_u32, 0, 0, 5])?, &mut scratch, |_, posterior| {
    ///     posterior.for_each_tile(|slot, q| sums[slot..].iter_mut().zip(q).for_each(|(sum, q)| *sum += q));
    /// })?;
    /// let mut by_cell = [0.0; 4];
    /// shape.for_each_slot::<f64>(|slot, cell| by_cell[cell] = sums[slot]);
    /// assert!(by_cell[0] > 0.9 && by_cell[2] > 0.9 && by_cell[1] < 0.2);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn for_each_tile(&self, mut visit: impl FnMut(usize, &[T])) {
        let (blocks, mass) = (self.chunk.bag_blocks(self.bag), self.bag_posterior.mass);
        let mut buffer = [T::zero(); MOST_LANES];
        blocks.for_each_alive(self.tiles.count(), |tile, lanes| {
            let (q, _) = buffer.split_at_mut(T::LANES.min(MOST_LANES));
            q.iter_mut().zip(lanes).for_each(|(q, &e)| *q = e / mass);
            visit(tile * T::LANES, q);
        });
    }

    /// The most probable window, of equals the first.
    pub fn mode(&self) -> usize {
        let mut best = [(0, T::zero())];
        self.best(&mut best);
        best[0].0
    }

    /// The most probable windows and their probabilities, the best first, of equals the first in the order of cells.
    /// Returns how many there are: as many as the slice holds, or as have a positive probability.
    pub fn best(&self, best: &mut [(usize, T)]) -> usize {
        let mut found = 0;
        self.for_each_tile(|slot, tile| {
            for (&q, slot) in tile.iter().zip(slot..) {
                let enough = found == best.len() && best.last().is_none_or(|&(_, least)| q < least);
                if enough || !(q > T::zero()) {
                    continue;
                }
                let Some(cell) = self.tiles.cell(slot) else { continue };
                let is_ahead = |&&(other, p): &&(usize, T)| p > q || (p == q && other < cell);
                let ahead = best.iter().take(found).take_while(is_ahead).count();
                let longer = (found + 1).min(best.len());
                if let Some(rest) = best.get_mut(ahead..longer).filter(|rest| !rest.is_empty()) {
                    rest.rotate_right(1);
                    rest[0] = (cell, q);
                    found = longer;
                }
            }
        });
        found
    }

    /// Writes `q` `[cell]`; cells beyond the slice are left out.
    pub fn write(&self, q: &mut [T]) {
        q.fill(T::zero());
        self.for_each(|cell, value| {
            if let Some(q) = q.get_mut(cell) {
                *q = value;
            }
        });
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> LogHistograms<T, S, D> {
    /// Computes the packed table of a grid.
    ///
    /// `scratch`: at least [`Shape::plane_scratch_len`] elements.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn pack<G: AsRef<[T]>>(
        grid: &Grid<T, G, D>,
        storage: S,
        scratch: &mut [T],
    ) -> Result<Self, GridError> {
        let shape = *grid.shape();
        same_length("log_histograms", shape.histograms_len::<T>(), storage.as_ref().len())?;
        long_enough("scratch", shape.plane_scratch_len(), scratch.len())?;
        let mut histograms = Self::unchecked(shape, storage);
        histograms.refresh(grid, scratch);
        Ok(histograms)
    }

    /// Computes the table of a grid of the same shape. Slices have the lengths that the callers checked.
    pub(crate) fn refresh<G: AsRef<[T]>>(&mut self, grid: &Grid<T, G, D>, scratch: &mut [T]) {
        let (pi, prior) = grid.tables();
        self.recompute(prior, SharedRows::new(pi, self.shape.cells()), |plane| plane.elements, scratch);
    }

    /// Finishes a pass of the M-step on `pi` and computes the table of what comes out.
    pub(crate) fn finish_pass<G: AsRef<[T]> + AsMut<[T]>>(
        &mut self,
        grid: &mut Grid<T, G, D>,
        scratch: &mut [T],
    ) {
        let (pi, prior) = grid.tables_mut();
        let (column, scratch) = scratch.split_at_mut(self.shape.cells());
        let pi = Deferred { pi: Rows::new(pi, column.len()), column };
        self.recompute(prior, pi, Deferred::divide, scratch);
    }

    /// `planes` are split into planes of `pi`, each of which `plane` reads.
    ///
    /// A few features at a time: first their planes, feature by feature, then their rows, tile by tile.
    fn recompute<P: Split>(
        &mut self,
        prior: &[T],
        mut planes: P,
        plane: impl Fn(&mut P) -> &[T] + Sync,
        scratch: &mut [T],
    ) {
        let (shape, tiles) = (&self.shape, &self.tiles);
        let (cells, rows) = (shape.cells(), shape.features() + 1);
        let (packed, rest) = self.storage.as_mut().split_at_mut(shape.counts_len::<T>());
        let (bounds, references) = rest.split_at_mut(rest.len() - shape.features());
        let most = GROUP * threads();
        let gap = match window_scratch_len(shape) + 2 * gap::<T>(cells) {
            size if scratch.len() / size >= most => gap::<T>(cells),
            _ => 0,
        };
        let size = window_scratch_len(shape) + 2 * gap;
        let group = (scratch.len() / size).clamp(1, most);
        // The packed rows from `row` on, and the bounds of their tiles.
        let mut pack = |row: usize, count: usize, logs: &[T], stride: usize, padding: T| {
            let parts = (
                Rows::new(&mut *packed, T::LANES * rows * T::LANES),
                Rows::new(&mut *bounds, rows * T::LANES),
            );
            for_each(tiles.count().div_ceil(T::LANES), parts, |part, (packed, bounds)| {
                let first = part * T::LANES;
                tiles.visit(first..tiles.count().min(first + T::LANES), |tile, at| {
                    let start = (tile - first) * rows * T::LANES + row * T::LANES;
                    for next in 0..count {
                        prefetch(packed.elements, start + (rows + next) * T::LANES); // where the next tile's rows go
                    }
                    let packed = packed.elements.get_mut(start..start + count * T::LANES).unwrap_or_default();
                    for (packed, plane) in packed.chunks_exact_mut(T::LANES).zip(logs.chunks(stride)) {
                        if !at.is_full() {
                            packed.fill(padding); // without a cell, and so without anything that overwrites it
                        }
                        at.gather(plane, packed);
                    }
                    if let Some(bounds) = bounds.elements.get_mut(row * T::LANES + tile - first..) {
                        dispatch(Peaks { packed, bounds: bounds.iter_mut().step_by(T::LANES) });
                    }
                });
            });
        };
        if let Some(h) = scratch.get_mut(..cells) {
            h.copy_from_slice(prior);
            dispatch(FlooredLog { h, scale: T::one(), floor: T::FLOOR });
            pack(0, 1, h, cells, T::neg_infinity());
        }
        in_pool(|| {
            for (references, first) in references.chunks_mut(group).zip((0..).step_by(group)) {
                let count = references.len();
                let (these, rest) = planes.split(count);
                planes = rest;
                let rows = (Rows::new(&mut *scratch, size), Rows::new(references, 1));
                for_each(count, (these, rows), |_, (mut pi, (scratch, reference))| {
                    let (h, rest) = scratch.elements.split_at_mut(cells);
                    let window = rest.get_mut(gap..).unwrap_or_default();
                    sum_windows(shape.windows(), Direction::Forward, plane(&mut pi), h, window);
                    let volume = T::from_f64(shape.windows().volume() as f64);
                    reference.elements.fill(dispatch(LogShares { h, volume }));
                });
                pack(1 + first, count, scratch, size, T::zero());
            }
        });
        // Lanes of bounds without a tile.
        let used = tiles.count() % T::LANES;
        if let Some(last) = bounds.len().checked_sub(rows * T::LANES).filter(|_| used > 0) {
            let (prior, others) = bounds[last..].split_at_mut(T::LANES);
            prior[used..].fill(T::neg_infinity());
            others.chunks_exact_mut(T::LANES).for_each(|row| row[used..].fill(T::zero()));
        }
    }
}

/// Features that are packed together, for each thread: few enough for their planes to stay in cache, and many enough to
/// be worth sharing.
const GROUP: usize = 32;

/// Elements of scratch for one feature's windows.
const fn window_scratch_len<const D: usize>(shape: &Shape<D>) -> usize {
    shape.cells() + countgrid_prefix::scratch_len(shape.windows())
}

/// Elements of scratch with which packing is fastest.
#[cfg(feature = "alloc")]
pub(crate) fn best_scratch_len<const D: usize>(shape: &Shape<D>) -> usize {
    let features = (GROUP * threads()).min(shape.features());
    shape.plane_scratch_len().max(window_scratch_len(shape).saturating_mul(features))
}

/// `log max(h / scale, floor)` in place.
struct FlooredLog<'a, T> {
    h: &'a mut [T],
    scale: T,
    floor: T,
}

impl<T: Real> Kernel for FlooredLog<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        for h in self.h {
            let share = *h / self.scale;
            *h = countgrid_math::ln(if share > self.floor { share } else { self.floor });
        }
    }
}

/// `log (max(h / V, floor) / r)` in place of sums `h` over windows, and `log r`, where `r` is the largest
/// `max(h / V, floor)`.
struct LogShares<'a, T> {
    h: &'a mut [T],
    volume: T,
}

impl<T: Real> Kernel for LogShares<'_, T> {
    type Output = T;
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) -> T {
        let Self { h, volume } = self;
        let mut lanes = T::lanes();
        let rows = h.chunks_exact(T::LANES);
        let rest = rows.remainder().iter().fold(T::zero(), |most, &h| if h > most { h } else { most });
        for row in rows {
            for (most, &h) in lanes.as_mut().iter_mut().zip(row) {
                *most = if h > *most { h } else { *most };
            }
        }
        let most = peak::<T>(lanes);
        let most = if most > rest { most } else { rest };
        // Below the floor all are equal: the largest is the floor too, and no share is below 1.
        let floor = T::FLOOR * volume;
        let most = if most > floor { most } else { floor };
        FlooredLog { h, scale: most, floor: floor / most }.run();
        countgrid_math::ln(most / volume)
    }
}

/// The largest entry of each row of a tile.
struct Peaks<'a, T, I> {
    packed: &'a [T],
    bounds: I,
}

impl<'a, T: Real, I: Iterator<Item = &'a mut T>> Kernel for Peaks<'_, T, I> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        for (row, bound) in self.packed.chunks_exact(T::LANES).zip(self.bounds) {
            let mut lanes = T::lanes();
            lanes.as_mut().copy_from_slice(row);
            *bound = peak(lanes);
        }
    }
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Tables for LogHistograms<T, S, D> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}
