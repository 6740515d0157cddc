//! Componential grids: the loop of their parts, checkpoints, files, and what is inferred against its definition.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder, LabelColumn};
use countgrid_counts::Bags;
use countgrid_em::{EmOptions, Tables, no_observer};
use countgrid_estimators::{
    AnyModel, BagTotals, ComponentialOptions, ComponentialParameters, ComponentialTraining, EstimatorError,
    FeatureKind, FittedComponential, FittedLda, GridLayout, GridOptions, GridParameters, GridSchedule,
    GridStart, ModelInfo, Stored, Train,
};
use countgrid_grid::{GridError, componential};
use countgrid_lda::Lda;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

const WORDS: usize = 12;

/// Bags of four topics, some of two of them, one empty, in blocks of so many.
fn bags<T: Stored>(of_block: usize) -> Blocks<T> {
    let limits = BlockLimits { bags: of_block, ..BlockLimits::in_memory() };
    let mut builder = BlocksBuilder::new(WORDS, limits).unwrap();
    for t in 0..50usize {
        let entries = (0..(t * 7) % 6)
            .map(|n| ((t % 4 * 3 + n * (t + 1)) % WORDS, T::from_f64((1 + (t + n) % 4) as f64)));
        builder.push(entries).unwrap();
    }
    builder.finish().unwrap()
}

fn options() -> ComponentialOptions {
    let grid = GridOptions {
        extents: Some(vec![6, 4]),
        window: Some(vec![2, 2]),
        schedule: GridSchedule::Single,
        start: Some(GridStart::Annealed { beta: 0.3, iterations: 2 }),
        iterations: 3,
        tolerance: 0.0,
        seed: 7,
        ..GridOptions::default()
    };
    ComponentialOptions { grid, iterations: 4, ..ComponentialOptions::default() }
}

fn training<'a, T: Stored>(
    options: &ComponentialOptions,
    bags: &'a Blocks<T>,
) -> ComponentialTraining<T, &'a Blocks<T>> {
    let plan = options.check(BagTotals::from_blocks(bags).unwrap()).unwrap();
    ComponentialTraining::new(plan, bags).unwrap()
}

fn end<M: Train>(mut training: M) -> M::Fitted {
    training.run(|_| ControlFlow::Continue(())).unwrap();
    assert!(training.is_done());
    training.finish().unwrap()
}

fn words() -> ModelInfo {
    ModelInfo::for_vocabulary((0..WORDS).map(|word| format!("word{word}")).collect())
}

#[test]
fn it_is_the_loop_of_its_parts() {
    let (options, blocks) = (options(), bags::<f64>(1000));
    let fitted = end(training(&options, &blocks));
    let (bags, totals) = (blocks.gather(|count| count).unwrap(), BagTotals::from_blocks(&blocks).unwrap());
    let shape = fitted.layout().shape(WORDS).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(7);

    // A counting grid that is annealed,
    let grid = GridParameters::<f64>::initial(shape, None, &mut rng).unwrap();
    let grid_options = countgrid_grid::Options::for_corpus(&shape, totals.tokens, totals.bags);
    let mut learner = countgrid_grid::Learner::from_grid(grid, grid_options).unwrap();
    let mut statistics = countgrid_grid::Statistics::allocate(shape, 8).unwrap();
    let annealing = countgrid_em::Annealing::geometric(0.3, 2).unwrap();
    let plan = EmOptions { iterations: 3, tolerance: 0.0 }.check().unwrap();
    plan.fit_annealed(&mut learner, &bags, &mut statistics, &annealing, no_observer).unwrap();
    // and with a tenth of a random one the start of the componential.
    let mut grid = ComponentialParameters::<f64>::uniform(shape, 5.0).unwrap();
    grid.randomize(&mut rng);
    grid.mix(learner.grid(), 0.9).unwrap();
    let own =
        componential::Options { pseudocount: grid_options.pseudocount, ..componential::Options::default() };
    let mut learner = componential::Learner::from_grid(grid, own).unwrap();
    let mut statistics = componential::Statistics::allocate(shape, 8).unwrap();
    let plan = EmOptions { iterations: 4, tolerance: 0.0 }.check().unwrap();
    let outcome = plan.fit(&mut learner, &bags, &mut statistics, no_observer).unwrap();

    assert!(fitted.grid().buffer() == learner.grid().buffer());
    let summary = fitted.summary().unwrap();
    assert_eq!((summary.iterations, summary.free_energy), (4, Some(outcome.free_energy)));
    let score: f64 = fitted.score(&blocks).unwrap().iter().sum();
    assert!((score - outcome.free_energy).abs() < 1e-9 * score.abs());
    for name in ["concentration", "sweeps", "pseudocount", "documents"] {
        assert!(fitted.info.fit[name].is_number(), "{name}");
    }
}

#[test]
fn every_checkpoint_leads_to_the_same_bits() {
    let mut options = options();
    (options.grid.schedule, options.grid.restarts) = (GridSchedule::CoarseToFine, 2);
    options.grid.extents = Some(vec![12, 12]);
    options.learn_concentration = true;
    let one = bags::<f32>(1000);
    let whole = end(training(&options, &one)).to_file();
    let mut cut = training(&options, &one);
    let mut steps = 0;
    while !cut.is_done() {
        let plan = options.check(BagTotals::from_blocks(&one).unwrap()).unwrap();
        let resumed = ComponentialTraining::resume(plan, &one, cut.checkpoint().unwrap()).unwrap();
        assert_eq!(end(resumed).to_file(), whole, "after {steps} steps");
        cut.step().unwrap();
        steps += 1;
    }
    assert!(steps > 20, "{steps}");
    let mut changed = options.clone();
    changed.concentration = 6.0;
    let plan = changed.check(BagTotals::from_blocks(&one).unwrap()).unwrap();
    let refused = ComponentialTraining::resume(plan, &one, training(&options, &one).checkpoint().unwrap());
    assert!(refused.unwrap_err().to_string().contains("concentration 5.0, not 6.0"));
}

/// An iteration of the componential grid is ten times the work of one of the counting grid, which is that of its cells.
#[test]
fn the_share_of_the_work_is_that_of_iterations_and_cells() {
    let options = ComponentialOptions {
        grid: GridOptions { start: Some(GridStart::Plain), ..options().grid },
        ..options()
    };
    let blocks = bags::<f32>(1000);
    let mut training = training(&options, &blocks);
    let mut shares = Vec::new();
    training
        .run(|progress| {
            shares.push((progress.stage, progress.iteration, progress.share_done));
            ControlFlow::Continue(())
        })
        .unwrap();
    let last = shares.iter().map(|&(stage, ..)| stage).max().unwrap();
    assert_eq!(last, 1);
    for &(stage, iteration, share) in &shares {
        let work = if stage == 0 { iteration as f64 } else { 3.0 + 10.0 * iteration as f64 };
        assert!((share - work / 43.0).abs() < 1e-12, "{stage} {iteration}: {share}");
    }
    assert_eq!(shares.last().unwrap().2, 1.0);
}

#[test]
fn a_training_that_is_stopped_on_the_grid_is_a_componential_grid() {
    let blocks = bags::<f32>(1000);
    let mut training = training(&options(), &blocks);
    training.step().unwrap();
    training.stop();
    let fitted = training.finish().unwrap();
    assert_eq!(fitted.summary().unwrap().iterations, 0);
    assert!(fitted.place(&blocks).unwrap().iter().any(|place| place.position.is_some()));
}

#[test]
fn it_comes_back_from_its_file() {
    let blocks = bags::<f32>(20);
    let mut fitted = end(training(&options(), &blocks));
    fitted.info.vocabulary = words().vocabulary;
    let labels = LabelColumn {
        names: vec!["even".into(), "odd".into()],
        by_document: (0..50).map(|t| (t != 3).then_some(t % 2)).collect(),
    };
    fitted.embed_labels(&labels, &blocks).unwrap();
    let AnyModel::ComponentialF32(read) = AnyModel::from_file(fitted.to_file()).unwrap() else {
        panic!("another kind")
    };
    assert_eq!(read.to_file(), fitted.to_file());
    assert_eq!(read.score(&blocks).unwrap(), fitted.score(&blocks).unwrap());
    let places = fitted.place(&blocks).unwrap();
    assert_eq!(read.place(&blocks).unwrap(), places);
    // The bags of one topic are of one parity.
    let right = (1..50).filter(|&t| {
        let label = places[t].position.as_ref().and_then(|at| at.label);
        label.is_some_and(|(label, _)| label == t % 2)
    });
    assert!(right.count() > 25);
    assert!(places[0].position.is_none());
    // Its windows have the words of the counting grid with the same cells.
    let grid = fitted.to_grid().unwrap();
    let (mut h, uses) = (vec![0.0; 24], grid.word_uses(&[5]).unwrap().remove(0));
    for (word, word_use) in uses.iter().enumerate() {
        fitted.means().unwrap().window_means(word, &mut h).unwrap();
        // Means of four cells, added up in another order, of probabilities below 1.
        assert!((f64::from(h[5]) - word_use.probability).abs() < 8.0 * f64::from(f32::EPSILON));
    }
}

/// Windows of single cells are topics: bounds, proportions and terms are those of latent Dirichlet allocation.
#[test]
fn single_cells_are_topics() {
    let blocks = bags::<f64>(7);
    let (cells, alpha) = (5, 0.3);
    let mut beta: Vec<f64> = (0..WORDS * cells).map(|n| 1.0 + ((n * n * 7) % 23) as f64).collect();
    for cell in 0..cells {
        let total: f64 = beta.iter().skip(cell).step_by(cells).sum();
        beta.iter_mut().skip(cell).step_by(cells).for_each(|p| *p /= total);
    }
    let tables: Vec<f64> = beta.iter().copied().chain(vec![alpha; cells]).collect();
    let layout = GridLayout::new(vec![cells], vec![1]).unwrap();
    let grid = FittedComponential::<f64>::new(words(), layout, &tables, None).unwrap();
    let shape = countgrid_lda::Shape::new(cells, WORDS).unwrap();
    let topics = FittedLda::from_lda(words(), &Lda::new(shape, tables).unwrap()).unwrap();
    let bags = blocks.gather(|count| count).unwrap();
    let mut scratch = vec![0.0; componential::posterior_scratch_len::<f64, 8>(grid.shape())];
    let mut topic_scratch = vec![0.0; shape.posterior_scratch_len()];
    let converged = countgrid_lda::Inference { sweeps: 10_000, tolerance: 1e-14 };
    let (mut ours, mut theirs) = ([0.0; 5], [0.0; 5]);
    for bag in 0..bags.len() {
        let means = grid.means().unwrap();
        let own = means.posterior(&bags, bag, componential::Inference::CONVERGED, &mut scratch).unwrap();
        let topic = topics.lda().posterior(&bags, bag, converged, &mut topic_scratch).unwrap();
        own.proportions(&mut ours).unwrap();
        topic.proportions(&mut theirs).unwrap();
        // A sweep that moves 1e-14 of the tokens is that far from the end times the inverse of one less the rate, well
        // below 1e4 with this prior.
        let apart = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).sum::<f64>();
        assert!(apart < 1e-10, "bag {bag}: {apart}");
        assert!((own.bound() - topic.bound()).abs() < 1e-10 * topic.bound().abs().max(1.0), "bag {bag}");
    }
    let terms = grid.features(FeatureKind::FessWords, &blocks).unwrap();
    let total: f64 = grid.score(&blocks).unwrap().iter().sum();
    assert!((terms.values.iter().sum::<f64>() - total).abs() < 1e-9 * total.abs());
    assert!(matches!(
        grid.features(FeatureKind::Fisher, &blocks),
        Err(EstimatorError::NoFeatures { kind: FeatureKind::Fisher })
    ));
}

#[test]
fn inference_is_that_of_one_bag_on_any_number_of_threads() {
    let blocks = bags::<f32>(9);
    let fitted = end(training(&options(), &blocks));
    let means = fitted.means().unwrap();
    let mut scratch = vec![0.0; componential::posterior_scratch_len::<f32, 8>(fitted.shape())];
    let (mut shares, mut proportions, mut expected) = (vec![0.0; 24], vec![0.0; 24], Vec::new());
    let gathered = blocks.gather(|count| count).unwrap();
    for bag in 0..blocks.len() {
        let posterior =
            means.posterior(&gathered, bag, componential::Inference::default(), &mut scratch).unwrap();
        posterior.expected_tokens(&mut shares).unwrap();
        posterior.proportions(&mut proportions).unwrap();
        expected.push((posterior.bound(), shares.clone(), proportions.clone()));
    }
    let check = || {
        let mut bag = 0;
        fitted
            .for_each_inference(&blocks, |n, tokens, found| {
                let (bound, shares, proportions) = &expected[n];
                assert_eq!((n, found.bound), (bag, *bound));
                assert!(found.proportions == proportions);
                for (found, tokens_of_window) in found.shares.iter().zip(shares) {
                    let total = tokens as f32;
                    assert!(*found == tokens_of_window / total || tokens == 0.0, "bag {n}");
                }
                assert!(tokens > 0.0 || found.shares.iter().all(|&share| share == 0.0));
                bag += 1;
            })
            .unwrap();
        assert_eq!(bag, 50);
    };
    #[cfg(feature = "rayon")]
    for threads in 1..4 {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(check);
    }
    #[cfg(not(feature = "rayon"))]
    check();
}

#[test]
fn what_is_wrong_is_said() {
    let totals = BagTotals { features: 30, bags: 10, non_empty: 10, tokens: 100.0 };
    let refused = |change: &dyn Fn(&mut ComponentialOptions)| {
        let mut options = options();
        change(&mut options);
        options.check::<f32>(totals).unwrap_err()
    };
    for concentration in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = refused(&|options| options.concentration = concentration);
        assert!(matches!(error, EstimatorError::Grid(GridError::Alpha { .. })), "{error}");
    }
    let error = refused(&|options| options.sweeps = 0);
    assert!(matches!(error, EstimatorError::Grid(GridError::NoSweeps)), "{error}");
    let error = refused(&|options| options.sweep_tolerance = f64::NAN);
    assert!(matches!(error, EstimatorError::Grid(GridError::Tolerance)), "{error}");
    // It takes no less memory than the counting grid that it begins as, and says how much.
    let fits = |memory: u128| {
        let mut options = options();
        options.grid.memory = Some(memory);
        let grid = options.grid.check::<f32>(totals).is_ok();
        match options.check::<f32>(totals) {
            Ok(_) => (grid, true),
            Err(EstimatorError::GridMemory { needed, .. }) => {
                assert!(needed > memory);
                (grid, false)
            }
            Err(error) => panic!("{error}"),
        }
    };
    let found: Vec<_> = (0..1000).map(|kilobytes| fits(1000 * kilobytes)).collect();
    assert!([(false, false), (true, false), (true, true)].iter().all(|kind| found.contains(kind)));
    assert!(!found.contains(&(false, true)));
    let error = refused(&|options| options.grid.restarts = 0);
    assert!(matches!(error, EstimatorError::Option(_)), "{error}");
    // Tables of a model by hand: another length, no distribution, no Dirichlet distribution.
    let new = |tables: &[f64]| {
        let layout = GridLayout::new(vec![2], vec![1]).unwrap();
        let info = ModelInfo::for_vocabulary(vec!["ant".into(), "bee".into()]);
        FittedComponential::<f64>::new(info, layout, tables, None)
    };
    assert!(new(&[0.9, 0.1, 0.1, 0.9, 1.0, 1.0]).is_ok());
    for tables in
        [&[0.9, 0.1, 0.1, 0.9, 1.0][..], &[0.9, 0.9, 0.9, 0.9, 1.0, 1.0], &[0.9, 0.1, 0.1, 0.9, 0.0, 1.0]]
    {
        assert!(matches!(new(tables), Err(EstimatorError::Grid(_))), "{tables:?}");
    }
    // A word that no window has.
    let none = new(&[1.0, 1.0, 0.0, 0.0, 1.0, 1.0]).unwrap();
    let mut builder = BlocksBuilder::new(2, BlockLimits::in_memory()).unwrap();
    builder.push([(1, 2.0_f64)]).unwrap();
    let error = none.score(&builder.finish().unwrap()).unwrap_err();
    assert!(matches!(error, EstimatorError::Grid(GridError::Impossible { .. })), "{error}");
}
