use countgrid_corpus::{Blocks, Storable};
use countgrid_grid::{Posterior, Shape};
use countgrid_math::{Kernel, Level, Real, dispatch};
use countgrid_torus::Torus;

use super::slots::{Slots, TilePosterior};
use crate::{AXES, BagInference, EstimatorError, FittedGrid, GridLabels, GridLayout, blocks::zeros};

/// The position of a bag on a grid.
///
/// Example: [`CellFrame`](crate::CellFrame).
#[derive(Clone, Debug, PartialEq)]
pub struct GridPlacement {
    /// Tokens of the features that the grid has.
    pub tokens: f64,
    /// Its position; `None` for a bag without tokens.
    pub position: Option<GridPosition>,
}

/// A position on a grid.
///
/// Example: [`CellFrame`](crate::CellFrame).
#[derive(Clone, Debug, PartialEq)]
pub struct GridPosition {
    /// Coordinates of the most probable window's first cell; of equals the first.
    pub window: Vec<usize>,
    /// How probable that window is.
    pub probability: f64,
    /// The circular mean of the posterior along every axis, in cells; none where its directions cancel.
    pub mean: Vec<Option<f64>>,
    /// Log evidence of the bag in nats, without the multinomial coefficient.
    pub log_evidence: f64,
    /// Index and share of the expected label, of equals the first, if the grid has labels.
    pub label: Option<(usize, f64)>,
}

impl<T: Real> FittedGrid<T> {
    /// The position of every bag.
    ///
    /// # Errors
    /// Those of [`FittedGrid::for_each_posterior`].
    pub fn place<C: Storable>(&self, bags: &Blocks<C>) -> Result<Vec<GridPlacement>, EstimatorError> {
        let reader = PositionReader::new(self.layout(), self.shape(), self.labels())?;
        let mut placements = Vec::with_capacity(bags.len());
        let read = |_, tokens: f64, posterior: &Posterior<'_, T, AXES>| {
            let mut best = [(0, T::zero())];
            posterior.best(&mut best);
            reader.place(tokens, posterior, best[0])
        };
        self.map_posteriors(bags, read, |_, placement| placements.push(placement))?;
        Ok(placements)
    }
}

/// Reads positions off posteriors over windows.
pub(crate) struct PositionReader<'a, T> {
    layout: &'a GridLayout,
    torus: Torus<AXES>,
    slots: Slots,
    labels: usize,
    shares: Vec<T>,       // [tile][label][lane]
    directions: Vec<f64>, // [tile][axis][2][lane], of the axes that the grid has
}

impl<'a, T: Real> PositionReader<'a, T> {
    pub(crate) fn new(
        layout: &'a GridLayout,
        shape: &Shape<AXES>,
        labels: Option<&'a GridLabels<T>>,
    ) -> Result<Self, EstimatorError> {
        let (torus, axes) = (*shape.windows().torus(), layout.extents().len());
        let (cells, names) = (shape.cells(), labels.map_or(0, |labels| labels.names().len()));
        let slots = Slots::new::<T>(shape)?;
        // Where row `row` of so many has a cell.
        let place = |slot: usize, rows: usize, row: usize| {
            (slot / T::LANES * rows + row) * T::LANES + slot % T::LANES
        };
        let mut shares = zeros(names.saturating_mul(slots.len()))?;
        for (label, of) in labels.iter().flat_map(|labels| labels.table().chunks_exact(cells)).enumerate() {
            for (slot, &share) in slots.by_cell().zip(of) {
                shares[place(slot, names, label)] = share;
            }
        }
        let mut directions = zeros(slots.len().saturating_mul(2 * axes))?;
        let by_axis =
            torus.extents().map(|extent| (0..extent).map(|x| direction(x, extent)).collect::<Vec<_>>());
        for (cell, slot) in slots.by_cell().enumerate() {
            let of_axes = torus.coords_of(cell).into_iter().zip(&by_axis).skip(AXES - axes);
            for (row, part) in of_axes.flat_map(|(x, of)| of[x]).enumerate() {
                directions[place(slot, 2 * axes, row)] = part;
            }
        }
        Ok(Self { layout, torus, slots, labels: names, shares, directions })
    }

    /// The places of windows.
    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The placement of a document, whose most probable window is `best`.
    pub(crate) fn place(
        &self,
        tokens: f64,
        posterior: &Posterior<'_, T, AXES>,
        best: (usize, T),
    ) -> GridPlacement {
        let log_evidence = Real::to_f64(posterior.log_evidence());
        let position = (tokens > 0.0).then(|| self.read(posterior, best, log_evidence));
        GridPlacement { tokens, position }
    }

    /// The placement of a document by what is inferred of it; `row` is a row of slots, whose padding is zero.
    pub(crate) fn infer(&self, tokens: f64, found: &BagInference<'_, T>, row: &mut [T]) -> GridPlacement {
        let position = (tokens > 0.0).then(|| {
            let larger = |best: (usize, T), (cell, &share): (usize, &T)| {
                if share > best.1 { (cell, share) } else { best }
            };
            let best = found.shares.iter().enumerate().fold((0, T::zero()), larger);
            self.read(&self.slots.pack(found.shares, row), best, found.bound)
        });
        GridPlacement { tokens, position }
    }

    /// The position of a document whose most probable window, of equals the first, is `best`.
    pub(crate) fn read(
        &self,
        posterior: &impl TilePosterior<T>,
        (window, probability): (usize, T),
        log_evidence: f64,
    ) -> GridPosition {
        const { assert!(T::LANES <= MOST_LANES) };
        let extents = self.layout.extents();
        let rows = 2 * extents.len();
        let mut directions = [0.0; 2 * AXES * MOST_LANES];
        let mut shares = vec![T::zero(); self.labels * T::LANES];
        dispatch(Means {
            posterior,
            tables: (&self.directions, &self.shares),
            sums: (&mut directions[..rows * T::LANES], &mut shares),
        });
        let mut mean = CircularMean::default();
        let of_axes = directions[..rows * T::LANES].chunks_exact(2 * T::LANES);
        for (sums, lanes) in mean.sums.iter_mut().skip(AXES - extents.len()).zip(of_axes) {
            let (cos, sin) = lanes.split_at(T::LANES);
            *sums = [cos.iter().sum(), sin.iter().sum()];
        }
        let shares = shares.chunks_exact(T::LANES);
        let shares = shares.map(|lanes| lanes.iter().fold(T::zero(), |sum, &share| sum + share));
        let axes = (AXES - extents.len()..).zip(extents);
        GridPosition {
            window: self.layout.coordinates(&self.torus, window),
            probability: probability.to_f64(),
            mean: axes.map(|(axis, &extent)| mean.coordinate(axis, extent)).collect(),
            log_evidence,
            label: largest(shares),
        }
    }
}

/// Lanes of a tile at most.
const MOST_LANES: usize = 16;

/// Sums over windows of their probabilities times each row of two tables `[tile][row][lane]`, in each lane for itself.
struct Means<'a, P, T> {
    posterior: &'a P,
    tables: (&'a [f64], &'a [T]),
    sums: (&'a mut [f64], &'a mut [T]), // [row][lane]
}

impl<P: TilePosterior<T>, T: Real> Kernel for Means<'_, P, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Self { posterior, tables: (directions, shares), sums: (towards, of_labels) } = self;
        posterior.for_each_tile(|slot, q| {
            let mut wide = [0.0; MOST_LANES];
            wide.iter_mut().zip(q).for_each(|(wide, &q)| *wide = Real::to_f64(q));
            let tile = slot / T::LANES;
            let rows = directions.get(tile * towards.len()..).unwrap_or_default();
            for (sums, row) in towards.chunks_exact_mut(T::LANES).zip(rows.chunks_exact(T::LANES)) {
                for ((sum, &x), &q) in sums.iter_mut().zip(row).zip(&wide) {
                    *sum += q * x;
                }
            }
            let rows = shares.get(tile * of_labels.len()..).unwrap_or_default();
            for (sums, row) in of_labels.chunks_exact_mut(T::LANES).zip(rows.chunks_exact(T::LANES)) {
                for ((sum, &x), &q) in sums.iter_mut().zip(row).zip(q) {
                    *sum += q * x;
                }
            }
        });
    }
}

/// Cosine and sine of the angle of a coordinate.
fn direction(x: usize, extent: usize) -> [f64; 2] {
    let angle = core::f64::consts::TAU * x as f64 / extent as f64;
    [libm::cos(angle), libm::sin(angle)]
}

/// The largest and its index, of equals the first.
fn largest<T: Real>(shares: impl Iterator<Item = T>) -> Option<(usize, f64)> {
    let larger = |best: Option<(usize, f64)>, (index, share): (usize, f64)| match best {
        Some(best) if best.1 >= share => Some(best),
        _ => Some((index, share)),
    };
    shares.map(Real::to_f64).enumerate().fold(None, larger)
}

/// The circular mean of a posterior along every axis; none where its directions cancel.
///
/// ```
/// use countgrid_estimators::{AXES, CircularMean};
/// use countgrid_torus::Torus;
/// let mut extents = [1; AXES];
/// extents[AXES - 1] = 10;
/// let torus = Torus::new(extents)?;
/// let mut mean = CircularMean::default();
/// mean.add(&torus, 9, 0.5);
/// mean.add(&torus, 1, 0.5);
/// assert_eq!(mean.coordinate(AXES - 1, 10), Some(0.0)); // 9 and 1 meet at 0, not at 5
/// # Ok::<(), countgrid_torus::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CircularMean {
    sums: [[f64; 2]; AXES], // Σ q cos, Σ q sin of the angle 2π x / E
}

impl CircularMean {
    /// Adds a window with its probability.
    pub fn add(&mut self, torus: &Torus<AXES>, cell: usize, q: f64) {
        let coordinates = torus.coords_of(cell).into_iter().zip(torus.extents());
        for (sums, (x, extent)) in self.sums.iter_mut().zip(coordinates) {
            let [cos, sin] = direction(x, extent);
            sums[0] += q * cos;
            sums[1] += q * sin;
        }
    }

    /// The mean along one of [`AXES`] axes, which has so many cells: in `[0, extent)`, to a thousandth of a cell.
    #[must_use]
    pub fn coordinate(&self, axis: usize, extent: usize) -> Option<f64> {
        let [x, y] = *self.sums.get(axis)?;
        if x * x + y * y < 1e-12 {
            return None;
        }
        let turns = libm::atan2(y, x) / core::f64::consts::TAU;
        let mean = ((turns - turns.floor()) * extent as f64 * 1000.0).round() / 1000.0;
        // A mean that rounds up to the extent is 0.
        Some(if mean < extent as f64 { mean } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_goes_around_the_torus() {
        let mut extents = [1; AXES];
        extents[AXES - 1] = 10;
        let torus = Torus::new(extents).unwrap();
        let mean = |entries: &[(usize, f64)]| {
            let mut mean = CircularMean::default();
            entries.iter().for_each(|&(cell, q)| mean.add(&torus, cell, q));
            mean.coordinate(AXES - 1, 10)
        };
        assert_eq!(mean(&[(3, 1.0)]), Some(3.0));
        // The mean of 9 and 1 is 0, not 5, nor just below 10.
        assert_eq!(mean(&[(9, 0.5), (1, 0.5)]), Some(0.0));
        assert_eq!(mean(&[(9, 0.500_01), (1, 0.5)]), Some(0.0));
        assert_eq!(mean(&[(0, 0.5), (5, 0.5)]), None);
    }

    /// Places that several threads look up with tables of directions have the bits of those worked out cell by cell.
    #[test]
    fn places_do_not_depend_on_threads() {
        use countgrid_corpus::{Corpus, CorpusOptions};

        use crate::{GridOptions, GridTraining, Train};

        let words = ["ant", "bee", "cat", "dog", "emu", "fox", "gnu"];
        let text = |n: usize| format!("{} {} {}", words[n % 7], words[n / 7 % 7], words[n * n % 7]);
        let texts: Vec<String> = (0..300).map(|n| if n == 5 { String::new() } else { text(n) }).collect();
        let mut corpus = Corpus::<f32>::from_texts(&texts, &CorpusOptions::default()).unwrap();
        let options = GridOptions { extents: Some(vec![12, 9]), iterations: 3, ..GridOptions::default() };
        let plan = options.plan(&mut corpus).unwrap();
        let grid = GridTraining::new(plan, &corpus.bags).unwrap().finish().unwrap();

        let mut expected = Vec::new();
        grid.for_each_posterior(&corpus.bags, |_, tokens, posterior| {
            let (torus, mut mean) = (grid.shape().windows().torus(), CircularMean::default());
            posterior.for_each(|cell, q| mean.add(torus, cell, q.into()));
            let means = [(AXES - 2, 12), (AXES - 1, 9)].map(|(axis, extent)| mean.coordinate(axis, extent));
            expected.push((tokens, grid.layout().coordinates(torus, posterior.mode()), means.to_vec()));
        })
        .unwrap();
        let check = || {
            let places = grid.place(&corpus.bags).unwrap();
            assert_eq!(places.len(), expected.len());
            for (place, (tokens, window, means)) in places.iter().zip(&expected) {
                assert_eq!((place.tokens, place.position.is_some()), (*tokens, *tokens > 0.0));
                let Some(position) = &place.position else { continue };
                assert_eq!((&position.window, &position.mean), (window, means));
            }
        };
        check();
        #[cfg(feature = "rayon")]
        for threads in 1..4 {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(check);
        }
    }
}
