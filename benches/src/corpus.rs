use countgrid_counts::CsrBuf;
use countgrid_math::index_below;
use countgrid_torus::Windows;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A corpus drawn from a counting grid: each bag sits at a window, and each of its tokens comes from a cell of
/// that window or, with probability `background`, from one Zipf distribution that all bags share.
///
/// Only additions, products and quotients of floats are used, so a seed gives the same corpus everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Corpus<const D: usize> {
    /// Number of bags `T`.
    pub bags: usize,
    /// Number of features `Z`.
    pub features: usize,
    /// The grid that the bags are drawn from.
    pub windows: Windows<D>,
    /// Features that a cell of it can emit.
    pub features_per_cell: usize,
    /// Tokens of a bag on average; bags have between half and one and a half times as many.
    pub tokens: usize,
    /// Share of tokens from the background.
    pub background: f64,
}

impl Corpus<2> {
    /// The standard problem: 10,000 bags of about 104 tokens, 85 of them distinct, over 5,000 features, from
    /// 40 × 40 cells and windows of 5 × 5, 30 % background.
    ///
    /// # Panics
    /// Never.
    pub fn standard() -> Self {
        let windows = countgrid_torus::Torus::new([40, 40]).and_then(|torus| Windows::new(torus, [5, 5]));
        let windows = windows.expect("the window is smaller than the torus");
        Self { bags: 10_000, features: 5_000, windows, features_per_cell: 12, tokens: 104, background: 0.3 }
    }
}

impl<const D: usize> Corpus<D> {
    /// Draws the corpus.
    ///
    /// # Panics
    /// If there is no feature, or more than 2³².
    pub fn draw(&self, seed: u64) -> CsrBuf<u32> {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let background = Discrete::new((0..self.features).map(|rank| 1.0 / (rank + 1) as f64));
        let cells: Vec<Cell> = (0..self.windows.torus().cells()).map(|_| self.cell(rng)).collect();
        let mut corpus = CsrBuf::new(self.features).expect("at most 2^32 features");
        for _ in 0..self.bags {
            let start = below(rng, cells.len());
            let window: Vec<usize> = self.windows.cells_of(start).collect();
            let tokens = self.tokens / 2 + below(rng, self.tokens + 1);
            let bag = (0..tokens).map(|_| {
                let feature = if unit(rng) < self.background {
                    background.draw(rng)
                } else {
                    let cell = &cells[window[below(rng, window.len())]];
                    cell.features[cell.weights.draw(rng)]
                };
                (feature, 1)
            });
            corpus.push_bag(bag).expect("features are in range");
        }
        corpus
    }

    fn cell(&self, rng: &mut ChaCha8Rng) -> Cell {
        let features = (0..self.features_per_cell).map(|_| below(rng, self.features)).collect();
        Cell { features, weights: Discrete::new((0..self.features_per_cell).map(|_| unit(rng))) }
    }
}

/// The features of a cell and how often it emits each.
struct Cell {
    features: Vec<usize>,
    weights: Discrete,
}

/// A distribution over `0..n`, as running sums of weights.
struct Discrete(Vec<f64>);

impl Discrete {
    fn new(weights: impl Iterator<Item = f64>) -> Self {
        let running = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self(running.collect())
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> usize {
        let last = self.0.len() - 1;
        let at = unit(rng) * self.0[last];
        self.0.partition_point(|&sum| sum <= at).min(last)
    }
}

/// Uniform in `0..n`.
fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    index_below(rng.next_u64(), n)
}

/// Uniform in `[0, 1)`.
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}
