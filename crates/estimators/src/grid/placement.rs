use countgrid_corpus::{Blocks, Storable};
use countgrid_grid::{Posterior, Shape, WindowPosterior};
use countgrid_math::Real;
use countgrid_torus::Torus;

use crate::{AXES, EstimatorError, FittedGrid, GridLabels, GridLayout, blocks::zeros};

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
        let read = |tokens: f64, posterior: &Posterior<'_, T, AXES>| {
            let position =
                (tokens > 0.0).then(|| reader.read(posterior, Real::to_f64(posterior.log_evidence())));
            GridPlacement { tokens, position }
        };
        self.map_posteriors(
            bags,
            |_, tokens, posterior| read(tokens, posterior),
            |_, placement| {
                placements.push(placement);
            },
        )?;
        Ok(placements)
    }
}

/// Reads positions off posteriors over windows, which visit every window that counts: what belongs to a window lies side by side.
pub(crate) struct PositionReader<'a, T> {
    layout: &'a GridLayout,
    torus: Torus<AXES>,
    labels: usize,
    shares: Vec<T>,       // [cell][label]
    directions: Vec<f64>, // [cell][axis][2], of the axes that the grid has
}

impl<'a, T: Real> PositionReader<'a, T> {
    pub(crate) fn new(
        layout: &'a GridLayout,
        shape: &Shape<AXES>,
        labels: Option<&'a GridLabels<T>>,
    ) -> Result<Self, EstimatorError> {
        let (torus, axes) = (*shape.windows().torus(), layout.extents().len());
        let (cells, names) = (shape.cells(), labels.map_or(0, |labels| labels.names().len()));
        let mut shares = zeros(names.saturating_mul(cells))?;
        for (label, of) in labels.iter().flat_map(|labels| labels.table().chunks_exact(cells)).enumerate() {
            shares.iter_mut().skip(label).step_by(names).zip(of).for_each(|(share, &of)| *share = of);
        }
        let mut directions = zeros(cells.saturating_mul(2 * axes))?;
        let by_axis =
            torus.extents().map(|extent| (0..extent).map(|x| direction(x, extent)).collect::<Vec<_>>());
        for (cell, directions) in directions.chunks_exact_mut(2 * axes.max(1)).enumerate() {
            let of_axes = torus.coords_of(cell).into_iter().zip(&by_axis).skip(AXES - axes);
            let (directions, _) = directions.as_chunks_mut();
            directions.iter_mut().zip(of_axes).for_each(|(direction, (x, of))| *direction = of[x]);
        }
        Ok(Self { layout, torus, labels: names, shares, directions })
    }

    pub(crate) fn read(
        &self,
        posterior: &(impl WindowPosterior<T> + ?Sized),
        log_evidence: f64,
    ) -> GridPosition {
        let (torus, extents) = (&self.torus, self.layout.extents());
        let (mut best, mut mean, mut read) =
            ((0, 0.0), CircularMean::default(), vec![T::zero(); self.labels]);
        posterior.for_each(|cell, share| {
            let q = share.to_f64();
            let directions = self.directions.get(2 * cell * extents.len()..).unwrap_or_default();
            mean.add_towards(directions.as_chunks().0, extents.len(), q);
            let labels = self.shares.get(cell * self.labels..).unwrap_or_default();
            read.iter_mut().zip(labels).for_each(|(read, &of)| *read += share * of);
            if q > best.1 {
                best = (cell, q);
            }
        });
        let axes = (AXES - extents.len()..).zip(extents);
        GridPosition {
            window: self.layout.coordinates(torus, best.0),
            probability: best.1,
            mean: axes.map(|(axis, &extent)| mean.coordinate(axis, extent)).collect(),
            log_evidence,
            label: largest(&read),
        }
    }
}

/// Cosine and sine of the angle of a coordinate.
fn direction(x: usize, extent: usize) -> [f64; 2] {
    let angle = core::f64::consts::TAU * x as f64 / extent as f64;
    [libm::cos(angle), libm::sin(angle)]
}

/// The largest and its index, of equals the first.
fn largest<T: Real>(shares: &[T]) -> Option<(usize, f64)> {
    let larger = |best: Option<(usize, f64)>, (index, share): (usize, f64)| match best {
        Some(best) if best.1 >= share => Some(best),
        _ => Some((index, share)),
    };
    shares.iter().map(|&share| Real::to_f64(share)).enumerate().fold(None, larger)
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
        let (coordinates, extents) = (torus.coords_of(cell), torus.extents());
        let directions: [_; AXES] = core::array::from_fn(|axis| direction(coordinates[axis], extents[axis]));
        self.add_towards(&directions, AXES, q);
    }

    /// The same of a window whose directions are known, along the last so many axes: along the others there is one cell.
    fn add_towards(&mut self, directions: &[[f64; 2]], axes: usize, q: f64) {
        let sums = self.sums.iter_mut().skip(AXES - axes.min(AXES));
        for (sum, [cos, sin]) in sums.zip(directions) {
            sum[0] += q * cos;
            sum[1] += q * sin;
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
