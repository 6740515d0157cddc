//! Collections of several leaves: what every model is fitted to is the sum in the tree of leaves, wherever bags are and however
//! many threads there are.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, MiniBatches};
use countgrid_counts::{Bags, Csr, CsrBuf, Sequences, SequencesBuf};
use countgrid_em::{
    Anneal, Annealing, BLOCK_BAGS, EmOptions, Fit, Learn, StepwiseOptions, Tables, TablesMut, no_observer,
};
use countgrid_estimators::{
    BagTotals, ComponentialOptions, ComponentialParameters, ComponentialTraining, EstimatorError,
    GridOptions, GridParameters, GridSchedule, GridStart, GridTraining, HmmOptions, HmmTraining, LdaOptions,
    LdaTraining, TopographicOptions, TopographicTraining, Train,
};
use countgrid_grid::componential;
use countgrid_gtm::{Basis, EmissionModel, Gtm, Priors, grid_points};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::data::{FEATURES, blocks, three_topics};

/// Four leaves, the fewest whose tree is not their sum in order.
const BAGS: usize = 3 * BLOCK_BAGS + 2000;

/// In blocks of at most so many entries, some to a leaf.
fn bags(memory: u128) -> Blocks<f32> {
    let limits = BlockLimits { memory, entries: 9000, ..BlockLimits::in_memory() };
    blocks(FEATURES, limits, 0..BAGS, |t| three_topics(t, 0.3))
}

/// A learner whose E-step is the definition: the batches of each leaf in order, then leaves below and above the largest power of
/// two under their number.
struct ByTree<L>(L);

impl<L: Learn<Error: Into<EstimatorError>>> Learn for ByTree<L> {
    type Statistics = L::Statistics;
    type Error = EstimatorError;

    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), EstimatorError> {
        self.0.maximization(statistics).map_err(Into::into)
    }
    fn penalty(&self) -> f64 {
        self.0.penalty()
    }
}

impl<L: Anneal<Error: Into<EstimatorError>>> Anneal for ByTree<L> {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.0.set_inverse_temperature(beta);
    }
}

impl<B, L> Fit<[Vec<B>]> for ByTree<L>
where
    L: Fit<B, Error: Into<EstimatorError>>,
{
    fn expectation(
        &self,
        leaves: &[Vec<B>],
        statistics: &mut Self::Statistics,
    ) -> Result<f64, EstimatorError> {
        let mut sums = Vec::new();
        for (leaf, batches) in leaves.iter().enumerate() {
            if leaf > 0 {
                statistics.buffer_mut().fill(Default::default()); // what was there before belongs to the first
            }
            let mut free_energy = 0.0;
            for batch in batches {
                free_energy += self.0.expectation(batch, statistics).map_err(Into::into)?;
            }
            sums.push((statistics.buffer().to_vec(), free_energy));
        }
        let (total, free_energy) = tree(&sums);
        statistics.buffer_mut().copy_from_slice(&total);
        Ok(free_energy)
    }
}

impl<L> Fit<CsrBuf<f32>> for ByTree<L>
where
    L: for<'b> Fit<Csr<'b, f32>, Error: Into<EstimatorError>>,
{
    fn expectation(
        &self,
        bags: &CsrBuf<f32>,
        statistics: &mut Self::Statistics,
    ) -> Result<f64, EstimatorError> {
        self.expectation(&leaves(bags.len(), |leaf| bags.as_view().slice(leaf))[..], statistics)
    }
}

fn tree<T: countgrid_math::Real>(leaves: &[(Vec<T>, f64)]) -> (Vec<T>, f64) {
    if let [leaf] = leaves {
        return leaf.clone();
    }
    let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
    let ((mut left, f), (right, g)) = (tree(left), tree(right));
    left.iter_mut().zip(right).for_each(|(sum, x)| *sum += x);
    (left, f + g)
}

/// Leaves of one batch each.
fn leaves<B>(items: usize, slice: impl Fn(std::ops::Range<usize>) -> Option<B>) -> Vec<Vec<B>> {
    let first = (0..items).step_by(BLOCK_BAGS);
    first.map(|first| vec![slice(first..items.min(first + BLOCK_BAGS)).unwrap()]).collect()
}

/// Blocks as copies, those of each leaf together.
fn blocks_by_leaf(bags: &Blocks<f32>) -> Vec<Vec<CsrBuf<f32>>> {
    let mut leaves: Vec<Vec<CsrBuf<f32>>> = Vec::new();
    bags.for_each_block(false, |first, block| {
        leaves.resize(first / BLOCK_BAGS + 1, Vec::new());
        leaves[first / BLOCK_BAGS].push(CsrBuf::from_bags(&block).unwrap());
        Ok::<_, EstimatorError>(())
    })
    .unwrap();
    assert!(leaves.len() == 4 && leaves[0].len() > 2, "leaves of several blocks");
    leaves
}

fn views(leaves: &[Vec<CsrBuf<f32>>]) -> Vec<Vec<Csr<'_, f32>>> {
    leaves.iter().map(|leaf| leaf.iter().map(CsrBuf::as_view).collect()).collect()
}

fn end<M: Train>(training: Result<M, EstimatorError>) -> M::Fitted {
    let mut training = training.unwrap();
    training.run(|_| ControlFlow::Continue(())).unwrap();
    training.finish().unwrap()
}

/// Does it in pools of one, two and three threads.
fn on_threads(work: impl Fn() + Sync) {
    #[cfg(feature = "rayon")]
    for threads in 1..4 {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            assert_eq!(countgrid_em::parallel::threads(), threads);
            work();
        });
    }
    #[cfg(not(feature = "rayon"))]
    work();
}

fn bits(free_energy: f64, model: &impl Tables) -> Vec<u64> {
    use countgrid_math::Real;
    model.buffer().iter().map(|&x| Real::to_f64(x).to_bits()).chain([free_energy.to_bits()]).collect()
}

fn grid_options(start: GridStart) -> GridOptions {
    GridOptions {
        extents: Some(vec![4, 3]),
        window: Some(vec![2, 2]),
        schedule: GridSchedule::Single,
        iterations: 2,
        tolerance: 0.0,
        seed: 7,
        start: Some(start),
        ..GridOptions::default()
    }
}

#[test]
fn grids_are_fitted_to_the_sum_in_the_tree() {
    let (memory, file) = (bags(u128::MAX), bags(0));
    assert!(file.file_bytes().is_some() && memory.file_bytes().is_none());
    assert_eq!(memory.blocks(), file.blocks());
    let totals = BagTotals::from_blocks(&memory).unwrap();
    let by_leaf = blocks_by_leaf(&memory);
    for start in [
        GridStart::Plain,
        GridStart::Annealed { beta: 0.3, iterations: 1 },
        GridStart::MiniBatches { size: 20_000, passes: 1 }, // of two leaves each
    ] {
        let options = grid_options(start);
        let plan = options.check::<f32>(totals).unwrap();
        let shape = plan.layout().shape(FEATURES).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let grid = GridParameters::<f32>::initial(shape, None, &mut rng).unwrap();
        let posterior_threshold = start.posterior_threshold();
        let model_options = countgrid_grid::Options {
            posterior_threshold,
            ..countgrid_grid::Options::for_corpus(&shape, totals.tokens, BAGS)
        };
        let mut model = ByTree(countgrid_grid::Learner::from_grid(grid, model_options).unwrap());
        let mut statistics = countgrid_grid::Statistics::allocate(shape, 64).unwrap();
        let em = EmOptions { iterations: 2, tolerance: 0.0 }.check().unwrap();
        let views = views(&by_leaf);
        let outcome = match start {
            GridStart::Annealed { beta, iterations } => {
                let annealing = Annealing::geometric(beta, iterations).unwrap();
                em.fit_annealed(&mut model, &views[..], &mut statistics, &annealing, no_observer)
            }
            _ => {
                if let GridStart::MiniBatches { size, passes } = start {
                    let plan = StepwiseOptions { step_size: GridStart::STEP_SIZE, passes, tolerance: 0.0 };
                    let batches = |_| {
                        let all = MiniBatches::new(&memory, size, rng.next_u64()).map(|batch| batch.unwrap());
                        all.map(|batch| (batch.bags, batch.share)).collect::<Vec<_>>()
                    };
                    plan.check().unwrap().fit(&mut model, batches, &mut statistics, no_observer).unwrap();
                }
                em.fit(&mut model, &views[..], &mut statistics, no_observer)
            }
        }
        .unwrap();
        let expected = bits(outcome.free_energy, model.0.grid());
        on_threads(|| {
            for blocks in [&memory, &file] {
                let fitted = end(GridTraining::new(options.check(totals).unwrap(), blocks));
                let found = bits(fitted.summary().unwrap().free_energy.unwrap(), fitted.grid());
                assert!(found == expected, "{start:?}, in a file: {}", blocks.file_bytes().is_some());
            }
        });

        // Cut off and resumed in between.
        let mut training = GridTraining::new(options.check(totals).unwrap(), &memory).unwrap();
        (0..2).for_each(|_| drop(training.step().unwrap()));
        let checkpoint = training.checkpoint().unwrap();
        let resumed = end(GridTraining::resume(options.check(totals).unwrap(), &file, checkpoint));
        assert!(
            bits(resumed.summary().unwrap().free_energy.unwrap(), resumed.grid()) == expected,
            "{start:?}"
        );
    }
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn componential_grids_are_fitted_to_the_sum_in_the_tree() {
    let (memory, file) = (bags(u128::MAX), bags(0));
    let totals = BagTotals::from_blocks(&memory).unwrap();
    let grid = GridOptions { iterations: 1, ..grid_options(GridStart::Plain) };
    let options = ComponentialOptions { grid, iterations: 1, sweeps: 3, ..ComponentialOptions::default() };
    let plan = options.check::<f32>(totals).unwrap();
    let shape = plan.layout().shape(FEATURES).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let model_options = countgrid_grid::Options::for_corpus(&shape, totals.tokens, BAGS);
    let grid = GridParameters::<f32>::initial(shape, None, &mut rng).unwrap();
    let mut model = ByTree(countgrid_grid::Learner::from_grid(grid, model_options).unwrap());
    let mut statistics = countgrid_grid::Statistics::allocate(shape, 64).unwrap();
    let em = EmOptions { iterations: 1, tolerance: 0.0 }.check().unwrap();
    let by_leaf = blocks_by_leaf(&memory);
    em.fit(&mut model, &views(&by_leaf)[..], &mut statistics, no_observer).unwrap();
    let mut grid = ComponentialParameters::<f32>::uniform(shape, 5.0).unwrap();
    grid.randomize(&mut rng);
    grid.mix(model.0.grid(), 0.9).unwrap();
    let inference = componential::Inference { sweeps: 3, ..componential::Inference::default() };
    let pseudocount = model_options.pseudocount;
    let own = componential::Options { pseudocount, inference, ..componential::Options::default() };
    let mut model = ByTree(componential::Learner::from_grid(grid, own).unwrap());
    let mut statistics = componential::Statistics::allocate(shape, 8).unwrap();
    let outcome = em.fit(&mut model, &views(&by_leaf)[..], &mut statistics, no_observer).unwrap();
    let expected = bits(outcome.free_energy, model.0.grid());
    on_threads(|| {
        for blocks in [&memory, &file] {
            let fitted = end(ComponentialTraining::new(options.check(totals).unwrap(), blocks));
            assert!(bits(fitted.summary().unwrap().free_energy.unwrap(), fitted.grid()) == expected);
        }
    });
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn topics_are_fitted_to_the_sum_in_the_tree() {
    let (memory, file) = (bags(u128::MAX), bags(0));
    let totals = BagTotals::from_blocks(&memory).unwrap();
    let options = LdaOptions { topics: 3, iterations: 1, tolerance: 0.0, seed: 5, ..LdaOptions::default() };
    let shape = countgrid_lda::Shape::new(3, FEATURES).unwrap();
    let mut lda = countgrid_estimators::LdaParameters::uniform(shape, 1.0 / 3.0).unwrap();
    lda.seed(&memory.gather(f64::from).unwrap(), 3, &mut ChaCha8Rng::seed_from_u64(5)).unwrap();
    let model_options = countgrid_lda::Options {
        smoothing: 0.01,
        concentration: countgrid_lda::Concentration::Symmetric,
        ..countgrid_lda::Options::default()
    };
    let mut model = ByTree(countgrid_lda::Learner::new(lda, model_options).unwrap());
    let mut statistics = countgrid_lda::Statistics::allocate(shape, 8).unwrap();
    let em = EmOptions { iterations: 1, tolerance: 0.0 }.check().unwrap();
    let by_leaf = blocks_by_leaf(&memory);
    let outcome = em.fit(&mut model, &views(&by_leaf)[..], &mut statistics, no_observer).unwrap();
    let expected = bits(outcome.free_energy, model.0.lda());
    on_threads(|| {
        for blocks in [&memory, &file] {
            let fitted = end(LdaTraining::new(options.check(totals).unwrap(), blocks));
            assert!(bits(fitted.summary().unwrap().free_energy.unwrap(), fitted.lda()) == expected);
        }
    });
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn hidden_markov_models_are_fitted_to_the_sum_in_the_tree() {
    let mut sequences = SequencesBuf::new(3);
    for t in 0..BAGS {
        sequences.push((0..2 + t % 3).map(|n| ((n * (t % 11) + t / 5) % 3) as u16)).unwrap();
    }
    let options = HmmOptions { states: 2, iterations: 2, tolerance: 0.0, seed: 5, ..HmmOptions::default() };
    let view: Sequences<'_, u16> = sequences.as_view();
    let shape = countgrid_hmm::Shape::new(2, 3).unwrap();
    let mut hmm = countgrid_estimators::HmmParameters::uniform(shape).unwrap();
    hmm.randomize(&mut ChaCha8Rng::seed_from_u64(5));
    let mut model = ByTree(countgrid_hmm::Learner::new(hmm, 0.1).unwrap());
    let mut statistics = countgrid_hmm::Statistics::allocate(shape, view.longest()).unwrap();
    let em = EmOptions { iterations: 2, tolerance: 0.0 }.check().unwrap();
    let leaves = leaves(BAGS, |leaf| view.slice(leaf));
    let outcome = em.fit(&mut model, &leaves[..], &mut statistics, no_observer).unwrap();
    let expected = bits(outcome.free_energy, model.0.model());
    on_threads(|| {
        let fitted = end(HmmTraining::new(options.check(&sequences).unwrap(), &sequences));
        assert!(bits(fitted.summary().unwrap().free_energy.unwrap(), fitted.hmm()) == expected);
    });
}

#[test]
fn topographic_maps_are_fitted_to_the_sum_in_the_tree() {
    let blocks = bags(u128::MAX);
    let (totals, bags) = (BagTotals::from_blocks(&blocks).unwrap(), blocks.gather(|count| count).unwrap());
    let options = TopographicOptions {
        emission_model: EmissionModel::Poisson,
        points: [3, 3],
        basis_functions: [2, 2],
        iterations: 2,
        tolerance: 0.0,
        ..TopographicOptions::default()
    };
    let (mut points, mut centres) = (vec![0.0_f32; 18], vec![0.0; 8]);
    grid_points(3, 3, &mut points).unwrap();
    grid_points(2, 2, &mut centres).unwrap();
    let basis = Basis::rbf(&centres, 2, 4.0).unwrap(); // two spacings of two centres from -1 to 1
    let mut phi = vec![0.0; 9 * basis.columns()];
    basis.table(&points, &mut phi).unwrap();
    let shape = countgrid_gtm::Shape::new(EmissionModel::Poisson, 9, 2, basis.columns(), FEATURES).unwrap();
    let mut map = Gtm::allocate(shape, &points, &phi, Priors::default()).unwrap();
    map.initialise(&bags, options.initial_spread).unwrap();
    let model_options =
        countgrid_gtm::Options { newton_steps: options.newton_steps, ..countgrid_gtm::Options::default() };
    let mut model = ByTree(countgrid_gtm::Learner::allocate(map, model_options).unwrap());
    let mut statistics = countgrid_gtm::Statistics::allocate(shape).unwrap();
    let em = EmOptions { iterations: 2, tolerance: 0.0 }.check().unwrap();
    let leaves = leaves(BAGS, |leaf| bags.as_view().slice(leaf));
    let outcome = em.fit(&mut model, &leaves[..], &mut statistics, no_observer).unwrap();
    let expected = bits(outcome.free_energy, model.0.map());
    on_threads(|| {
        let fitted = end(TopographicTraining::new(options.check(totals).unwrap(), &bags));
        assert!(bits(fitted.summary().unwrap().free_energy.unwrap(), fitted.map()) == expected);
    });
}

#[test]
fn errors_name_bags_by_their_places_in_the_collection() {
    use countgrid_grid::GridError;
    let bags = blocks(FEATURES, BlockLimits::in_memory(), 0..BLOCK_BAGS + 10, |t| {
        [(t % FEATURES, if t == BLOCK_BAGS + 3 { 3e38 } else { 1.0 })]
    });
    let totals = BagTotals { tokens: 2e4, ..BagTotals::from_blocks(&bags).unwrap() };
    let plan = grid_options(GridStart::Plain).check::<f32>(totals).unwrap();
    let error = GridTraining::new(plan, &bags).unwrap().step().unwrap_err();
    let EstimatorError::Grid(GridError::Overflow { bag }) = error else { panic!("{error}") };
    // Those of a chunk are looked at one after the other.
    assert_eq!(bag, BLOCK_BAGS + 3);

    // No leaf has too many tokens, but all of them together.
    let many = BagTotals { tokens: 1e38, ..totals };
    let error = grid_options(GridStart::Plain).check::<f32>(many).unwrap_err();
    assert!(matches!(error, EstimatorError::TooManyTokens { tokens: 1e38, .. }));
    assert!(grid_options(GridStart::Plain).check::<f64>(many).is_ok());
}
