//! Leaving out what a bound shows to be below the threshold, cutting bags into chunks, adding counts up by bag or by
//! feature, and sharing work among threads: none of them changes a bit.

use countgrid_counts::{Bags, BagsWithColumns, CsrBuf};
use countgrid_em::{Anneal, Fit, Learn, Tables, TablesExt};
use countgrid_grid::{Grid, Learner, Options, PosteriorThreshold, Shape, Statistics};
use countgrid_math::Real;
use countgrid_torus::{Torus, Windows};
use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// A grid large enough to have several tiles, as sharp as `contrast` says, and bags from its windows.
#[derive(Clone, Debug)]
struct Problem<const D: usize> {
    shape: Shape<D>,
    tables: Vec<f64>,
    bags: CsrBuf<u32>,
}

impl<const D: usize> Problem<D> {
    fn new(extents: [usize; D], sides: [usize; D], contrast: f64, seed: u64) -> Self {
        Self::of_bags(30, extents, sides, contrast, seed)
    }

    fn of_bags(count: usize, extents: [usize; D], sides: [usize; D], contrast: f64, seed: u64) -> Self {
        const FEATURES: usize = 40;
        let windows = Windows::new(Torus::new(extents).unwrap(), sides).unwrap();
        let shape = Shape::new(windows, FEATURES).unwrap();
        let cells = shape.cells();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut unit = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut tables: Vec<f64> = (0..cells * FEATURES).map(|_| (contrast * unit()).exp()).collect();
        for cell in 0..cells {
            let sum: f64 = tables.iter().skip(cell).step_by(cells).sum();
            tables.iter_mut().skip(cell).step_by(cells).for_each(|x| *x /= sum);
        }
        let mut bags = CsrBuf::new(FEATURES).unwrap();
        for bag in 0..count {
            let cell = (unit() * cells as f64) as usize;
            let column: Vec<f64> = tables.iter().skip(cell).step_by(cells).copied().take(FEATURES).collect();
            // The fourth bag is empty, the others have up to 40 tokens of one cell.
            let tokens = if bag == 3 { 0 } else { 1 + (unit() * 40.0) as usize };
            let drawn = (0..tokens).map(|_| {
                let mut at = unit();
                let found = column.iter().position(|&p| {
                    at -= p;
                    at < 0.0
                });
                (found.unwrap_or(FEATURES - 1), 1)
            });
            bags.push_bag(drawn.collect::<Vec<_>>()).unwrap();
        }
        let prior: Vec<f64> = (0..cells).map(|_| 0.1 + unit()).collect();
        let sum: f64 = prior.iter().sum();
        tables.extend(prior.iter().map(|p| p / sum));
        Self { shape, tables, bags }
    }

    /// Free energies, statistics and parameters of two iterations, as bits.
    fn bits<T: Real, B: Bags>(&self, bags: &B, options: Options, beta: f64, chunk: usize) -> Vec<u64> {
        let tables: Vec<T> = self.tables.iter().map(|&x| T::from_f64(x)).collect();
        let (shape, zeros) = (self.shape, |len| vec![T::zero(); len]);
        let grid = Grid::new(shape, tables).unwrap();
        let mut scratch = zeros(shape.plane_scratch_len());
        let packed = zeros(shape.histograms_len::<T>());
        let mut learner = Learner::new(grid, packed, &mut scratch, options).unwrap();
        learner.set_inverse_temperature(beta);
        let scratch = zeros(shape.scratch_len::<T>(chunk));
        let mut statistics = Statistics::new(shape, zeros(shape.sums_len::<T>()), scratch).unwrap();
        let mut bits = Vec::new();
        for _ in 0..2 {
            statistics.clear();
            bits.push(learner.expectation(bags, &mut statistics).unwrap().to_bits());
            bits.extend(statistics.buffer().iter().map(|&x| x.to_f64().to_bits()));
            learner.maximization(&mut statistics).unwrap();
            bits.extend(learner.grid().buffer().iter().map(|&x| x.to_f64().to_bits()));
            assert_eq!(learner.histograms().check_layout(), Ok(())); // bounds are a table too
            bits.extend(learner.histograms().buffer().iter().map(|&x| x.to_f64().to_bits()));
        }
        bits
    }

    fn nothing_changes_a_bit<T: Real>(&self, options: Options, beta: f64) -> Result<(), TestCaseError> {
        let plain = self.bits::<T, _>(&self.bags, Options { prune: false, ..options }, beta, 1);
        let both = BagsWithColumns::new(self.bags.clone()).unwrap();
        for chunk in [1, 2, 7, 200] {
            for prune in [false, true] {
                let options = Options { prune, ..options };
                prop_assert!(
                    self.bits::<T, _>(&self.bags, options, beta, chunk) == plain,
                    "chunk {chunk} {prune}"
                );
                prop_assert!(
                    self.bits::<T, _>(&both, options, beta, chunk) == plain,
                    "columns {chunk} {prune}"
                );
            }
        }
        #[cfg(feature = "rayon")]
        for threads in [1, 2, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for (chunk, prune) in [(1, true), (200, true), (200, false)] {
                let options = Options { prune, ..options };
                let found = pool.install(|| self.bits::<T, _>(&both, options, beta, chunk));
                prop_assert!(found == plain, "{threads} threads, chunk {chunk} {prune}");
            }
        }
        Ok(())
    }

    fn check(&self, posterior_threshold: usize, cold: bool, rest: Options) -> Result<(), TestCaseError> {
        let posterior_threshold = posterior_threshold_of(posterior_threshold);
        let (options, beta) = (Options { posterior_threshold, ..rest }, if cold { 1.0 } else { 0.3 });
        self.nothing_changes_a_bit::<f32>(options, beta)?;
        self.nothing_changes_a_bit::<f64>(options, beta)
    }
}

fn posterior_threshold_of(number: usize) -> PosteriorThreshold {
    [PosteriorThreshold::Rounding, PosteriorThreshold::Nats(2.0), PosteriorThreshold::Off][number]
}

fn contrast() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..3.0, 5.0..20.0]
}

/// Circle, plane and space, so many cases of each.
macro_rules! nothing_changes_a_bit {
    ($module:ident, $cases:literal $(, $slow:meta)?) => {
        mod $module {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases($cases))]

                $(#[$slow])?
                #[test]
                fn on_a_circle(cells in 50usize..200, side in 1usize..9, contrast in contrast(), posterior_threshold in 0usize..3, cold: bool, seed: u64) {
                    let options = Options { pseudocount: 0.1, ..Options::default() };
                    Problem::new([cells], [side], contrast, seed).check(posterior_threshold, cold, options)?;
                }

                $(#[$slow])?
                #[test]
                fn in_the_plane(extents in [5usize..16, 9usize..17], side in 1usize..5, contrast in contrast(), posterior_threshold in 0usize..3, cold: bool, seed: u64) {
                    let options = Options { learn_prior: true, inner_passes: 2, ..Options::default() };
                    Problem::new(extents, [side, side + 1], contrast, seed).check(posterior_threshold, cold, options)?;
                }

                $(#[$slow])?
                #[test]
                fn in_space(extents in [2usize..6, 3usize..6, 5usize..9], side in 1usize..3, contrast in contrast(), posterior_threshold in 0usize..3, cold: bool, seed: u64) {
                    let options = Options { prior_pseudocount: 0.5, learn_prior: true, ..Options::default() };
                    Problem::new(extents, [side; 3], contrast, seed).check(posterior_threshold, cold, options)?;
                }
            }
        }
    };
}

nothing_changes_a_bit!(few, 5);
nothing_changes_a_bit!(many, 48, ignore = "slow: `cargo test --workspace -- --include-ignored`");

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Of so many bags, few of whose tiles are left out, counts are added up by feature where there are columns.
    #[test]
    fn counts_by_feature_of_many_bags_change_no_bit(
        extents in [3usize..6, 9usize..17], count in 130usize..200, contrast in 0.0..0.5, beta in 0.3..1.0, seed: u64,
    ) {
        fn check<T: Real>(problem: &Problem<2>, beta: f64) -> Result<(), TestCaseError> {
            let options = Options { learn_prior: true, posterior_threshold: PosteriorThreshold::Off, ..Options::default() };
            let plain = problem.bits::<T, _>(&problem.bags, Options { prune: false, ..options }, beta, 1);
            let both = BagsWithColumns::new(problem.bags.clone()).unwrap();
            for chunk in [40, 70, 130, 400] {
                prop_assert!(problem.bits::<T, _>(&both, options, beta, chunk) == plain, "chunks of {chunk}");
            }
            Ok(())
        }
        let problem = Problem::of_bags(count, extents, [2, 3], contrast, seed);
        check::<f32>(&problem, beta)?;
        check::<f64>(&problem, beta)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// More bags than bounds are compared of, or posteriors added up of, at a time.
    #[test]
    fn hundreds_of_bags_at_a_time_change_no_bit(
        extents in [9usize..13, 9usize..17], count in 520usize..600, contrast in 0.0..9.0, posterior_threshold in 0usize..3, seed: u64,
    ) {
        fn check<T: Real>(problem: &Problem<2>, posterior_threshold: PosteriorThreshold) -> Result<(), TestCaseError> {
            let options = Options { posterior_threshold, ..Options::default() };
            let plain = problem.bits::<T, _>(&problem.bags, Options { prune: false, ..options }, 1.0, 1);
            for (prune, chunk) in [(true, 300), (true, 1000), (false, 1000)] {
                let options = Options { prune, ..options };
                prop_assert!(problem.bits::<T, _>(&problem.bags, options, 1.0, chunk) == plain, "{prune}, chunks of {chunk}");
            }
            Ok(())
        }
        let problem = Problem::of_bags(count, extents, [2, 3], contrast, seed);
        check::<f32>(&problem, posterior_threshold_of(posterior_threshold))?;
        check::<f64>(&problem, posterior_threshold_of(posterior_threshold))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// One bag at a time, in the scratch of one, and all together give the same posteriors.
    #[test]
    fn posteriors_do_not_depend_on_company(extents in [5usize..16, 9usize..17], contrast in contrast(), seed: u64) {
        let problem = Problem::new(extents, [2, 3], contrast, seed);
        let (shape, bags) = (problem.shape, &problem.bags);
        let grid = Grid::new(shape, problem.tables.clone()).unwrap();
        let mut scratch = vec![0.0; shape.scratch_len::<f64>(200)];
        let packed = vec![0.0; shape.histograms_len::<f64>()];
        let histograms = countgrid_grid::LogHistograms::pack(&grid, packed, &mut scratch).unwrap();
        let mut together = Vec::new();
        histograms.posteriors(bags, &mut scratch, |_, posterior| {
            let mut q = vec![0.0; shape.cells()];
            posterior.write(&mut q);
            together.push((posterior.log_evidence(), q));
        }).unwrap();
        let one = &mut scratch[..shape.posterior_scratch_len::<f64>(1)];
        for (t, (evidence, q)) in together.iter().enumerate() {
            let mut alone = vec![0.0; shape.cells()];
            prop_assert_eq!(histograms.posterior(bags, t, &mut alone, one).unwrap(), *evidence);
            prop_assert_eq!(&alone, q);
            // By definition: the scores of all windows, normalised. The error of a score is a few roundings of the
            // sum of its terms' sizes, and that of a probability the same, relative to it.
            let mut h = vec![0.0; shape.cells()];
            let mut scores: Vec<f64> = grid.prior().iter().map(|p| p.ln()).collect();
            let mut size = 0.0f64;
            for (feature, count) in bags.entries(t) {
                grid.histogram(feature, &mut h, &mut vec![0.0; shape.plane_scratch_len()]).unwrap();
                for (score, h) in scores.iter_mut().zip(&h) {
                    *score += f64::from(count) * h.ln();
                }
                size += f64::from(count) * h.iter().fold(0.0f64, |most, h| most.max(-h.ln()));
            }
            let best = scores.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let mass: f64 = scores.iter().map(|s| (s - best).exp()).sum();
            let close = 64.0 * f64::EPSILON * (size + 10.0);
            prop_assert!((best + mass.ln() - evidence).abs() <= close);
            for (q, s) in q.iter().zip(&scores) {
                let expected = (s - best).exp() / mass;
                prop_assert!((q - expected).abs() <= close * expected + 1e-16, "{q} {expected}");
            }
        }
    }
}

/// So many features that a thread has several runs of sums of columns, which are joined in the order of one thread.
#[cfg(feature = "rayon")]
#[test]
fn an_m_step_of_thousands_of_features_is_the_same_on_any_threads() {
    const FEATURES: usize = 4500;
    let shape = Shape::from_sides([3], [2], FEATURES).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut bags = CsrBuf::new(FEATURES).unwrap();
    for bag in 0..40 {
        bags.push_bag((0..FEATURES).skip(bag).step_by(11).map(|z| (z, 1 + rng.next_u32() % 5))).unwrap();
    }
    let fit = |threads: usize, chunk: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut grid = Grid::<f32, _, 1>::uniform_in(shape, vec![0.0; shape.grid_len()]).unwrap();
            grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
            let packed = vec![0.0; shape.histograms_len::<f32>()];
            let mut plane = vec![0.0; shape.plane_scratch_len()];
            let mut learner = Learner::new(grid, packed, &mut plane, Options::default()).unwrap();
            let scratch = vec![0.0; shape.scratch_len::<f32>(chunk)];
            let sums = vec![0.0; shape.sums_len::<f32>()];
            let mut statistics = Statistics::new(shape, sums, scratch).unwrap();
            learner.expectation(&bags, &mut statistics).unwrap();
            learner.maximization(&mut statistics).unwrap();
            learner.grid().buffer().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        })
    };
    let one = fit(1, 1);
    for threads in [2, 3] {
        assert!(fit(threads, 4000) == one, "{threads} threads");
    }
}
