//! A training of a grid: what the loop of its parts gives, whatever happens between its steps.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, MiniBatches};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::{Annealing, EmOptions, End, Fit, Learn, Restarts, StepwiseOptions, no_observer};
use countgrid_estimators::{
    AXES, BagTotals, CheckpointError, Estimator, EstimatorError, FittedGrid, GridOptions, GridPlan,
    GridSchedule, GridStart, GridTraining, Phase, Progress, Stored, Train,
};
use countgrid_grid::{COARSE_ITERATIONS, Grid, Learner, Options, PosteriorThreshold, Statistics};
use countgrid_io::ModelFile;
use countgrid_math::AlignedVec;
use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::data::{blocks, four_topics, small_grid};

fn some<T: Stored>() -> Blocks<T> {
    four_topics(90, 40)
}

/// Six iterations of the full grid.
fn small() -> GridOptions {
    GridOptions { iterations: 6, ..small_grid() }
}

/// These, and the start that a grid has by itself.
fn phases() -> [GridOptions; 6] {
    let [plain, annealed, batches, restarts, single] = crate::data::phases();
    [plain, GridOptions { start: None, ..small() }, annealed, batches, restarts, single]
}

fn training<'a, T: Stored>(options: &GridOptions, bags: &'a Blocks<T>) -> GridTraining<T, &'a Blocks<T>> {
    GridTraining::new(plan(options, bags), bags).unwrap()
}

fn plan<T: Stored>(options: &GridOptions, bags: &Blocks<T>) -> GridPlan<T> {
    options.check(BagTotals::from_blocks(bags).unwrap()).unwrap()
}

fn file<T: Stored>(grid: &FittedGrid<T>) -> ModelFile {
    grid.to_file()
}

/// The fit by hand, from what the crates below give.
fn reference<T: Stored>(options: &GridOptions, bags: &Blocks<T>) -> (Vec<T>, usize, End) {
    struct ByBlock<T>(Learner<T, AlignedVec<T>, AXES>);
    impl<T: Stored> Learn for ByBlock<T> {
        type Statistics = Statistics<T, AlignedVec<T>, AXES>;
        type Error = EstimatorError;
        fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), EstimatorError> {
            Ok(self.0.maximization(statistics)?)
        }
        fn penalty(&self) -> f64 {
            self.0.penalty()
        }
    }
    impl<T: Stored> countgrid_em::Anneal for ByBlock<T> {
        fn set_inverse_temperature(&mut self, beta: f64) {
            self.0.set_inverse_temperature(beta);
        }
    }
    impl<T: Stored> Fit<Blocks<T>> for ByBlock<T> {
        fn expectation(
            &self,
            bags: &Blocks<T>,
            statistics: &mut Self::Statistics,
        ) -> Result<f64, EstimatorError> {
            let mut sum = 0.0;
            bags.for_each_block(false, |_, block| {
                sum += self.0.expectation(&block, statistics)?;
                Ok::<_, EstimatorError>(())
            })?;
            Ok(sum)
        }
    }
    impl<T: Stored> Fit<CsrBuf<T>> for ByBlock<T> {
        fn expectation(
            &self,
            bags: &CsrBuf<T>,
            statistics: &mut Self::Statistics,
        ) -> Result<f64, EstimatorError> {
            Ok(self.0.expectation(bags, statistics)?)
        }
    }
    let totals = BagTotals::from_blocks(bags).unwrap();
    let full = plan(options, bags).layout().shape(bags.features()).unwrap();
    let shapes: Vec<_> = match options.schedule {
        GridSchedule::CoarseToFine => full.schedule().collect(),
        GridSchedule::Single => vec![full],
    };
    let mut restarts = Restarts::new(options.restarts, options.seed).unwrap();
    let mut best = Vec::new();
    while let Some(restart) = restarts.next_restart() {
        let mut rng = ChaCha8Rng::seed_from_u64(restart.seed);
        let mut coarse: Option<Grid<T, AlignedVec<T>, AXES>> = None;
        let mut ended = None;
        for (stage, &shape) in shapes.iter().enumerate() {
            let last = stage + 1 == shapes.len();
            let grid = Grid::initial(shape, coarse.as_ref(), &mut rng).unwrap();
            let start = options.start.unwrap_or_else(|| GridStart::for_bags(&totals, 9, options.iterations));
            let model_options = Options {
                inner_passes: options.inner_passes,
                learn_prior: options.learn_prior,
                posterior_threshold: match start {
                    GridStart::MiniBatches { .. } => PosteriorThreshold::Nats(10.0),
                    _ => PosteriorThreshold::Rounding,
                },
                ..Options::for_corpus(&shape, totals.tokens, bags.len())
            };
            let mut model = ByBlock(Learner::from_grid(grid, model_options).unwrap());
            let mut statistics = Statistics::allocate(shape, 64).unwrap();
            let iterations = match (last, options.start, start) {
                (false, _, GridStart::MiniBatches { .. }) => 0,
                (false, ..) => COARSE_ITERATIONS,
                (true, None, GridStart::Annealed { iterations, .. }) => options.iterations - iterations,
                (true, ..) => options.iterations,
            };
            let em = EmOptions { iterations, tolerance: options.tolerance }.check().unwrap();
            let mut before = 0;
            let outcome = match start {
                GridStart::Annealed { beta, iterations } if last => {
                    let annealing = Annealing::geometric(beta, iterations).unwrap();
                    em.fit_annealed(&mut model, bags, &mut statistics, &annealing, no_observer)
                }
                GridStart::MiniBatches { size, passes } => {
                    let stepwise = StepwiseOptions {
                        passes: if last {
                            passes
                        } else {
                            COARSE_ITERATIONS.div_ceil(bags.len().div_ceil(size))
                        },
                        tolerance: options.tolerance,
                        step_size: GridStart::STEP_SIZE,
                    };
                    let pass = |_| {
                        MiniBatches::new(bags, size, rng.next_u64())
                            .map(Result::unwrap)
                            .map(|batch| (batch.bags, batch.share))
                    };
                    let stepwise = stepwise.check().unwrap();
                    before = stepwise.fit(&mut model, pass, &mut statistics, no_observer).unwrap().iterations;
                    em.fit(&mut model, bags, &mut statistics, no_observer)
                }
                _ => em.fit(&mut model, bags, &mut statistics, no_observer),
            };
            let mut outcome = outcome.unwrap();
            outcome.iterations += before;
            ended = Some(outcome);
            coarse = Some(model.0.into_parts().0);
        }
        if restarts.keep(&ended.unwrap()) {
            let (pi, prior) = coarse.as_ref().unwrap().tables();
            best = [pi, prior].concat();
        }
    }
    let outcome = restarts.best().unwrap().outcome;
    (best, outcome.iterations, outcome.end)
}

fn tables<T: Stored>(grid: &FittedGrid<T>) -> Vec<T> {
    let (pi, prior) = grid.grid().tables();
    [pi, prior].concat()
}

#[test]
fn a_training_is_the_loop_of_its_parts() {
    fn compare<T: Stored>() {
        let bags = some::<T>();
        for options in phases() {
            let mut training = training(&options, &bags);
            let mut steps = 0;
            training
                .run(|progress| {
                    steps += 1;
                    assert!(progress.done <= progress.planned, "{progress:?}");
                    ControlFlow::Continue(())
                })
                .unwrap();
            let grid = training.finish().unwrap();
            let summary = *grid.summary().unwrap();
            let (expected, iterations, end) = reference(&options, &bags);
            assert!(tables(&grid) == expected, "{options:?}");
            assert_eq!((summary.iterations, summary.end), (iterations, end));
            assert!(steps > summary.iterations);
        }
    }
    compare::<f32>();
    compare::<f64>();
}

#[test]
fn an_observer_is_told_stage_by_stage() {
    let bags = some::<f32>();
    let options = GridOptions {
        restarts: 2,
        start: Some(GridStart::MiniBatches { size: 25, passes: 2 }),
        iterations: 3,
        ..small()
    };
    let mut seen: Vec<Progress> = Vec::new();
    training(&options, &bags)
        .run(|progress| {
            seen.push(progress.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(
        seen.iter().is_sorted_by(|a, b| (a.restart, a.stage) <= (b.restart, b.stage) && a.done <= b.done)
    );
    assert!(seen.iter().is_sorted_by(|a, b| a.share_done <= b.share_done));
    let of = |restart, stage| {
        seen.iter().filter(move |progress| (progress.restart, progress.stage) == (restart, stage))
    };
    for restart in [0, 1] {
        // Three passes of four mini-batches, which are ten updates at least, and a look at the whole.
        let coarse: Vec<_> = of(restart, 0).map(|progress| (progress.phase, progress.iteration)).collect();
        let stepwise = (1..=12).map(|iteration| (Phase::Stepwise, iteration));
        assert_eq!(coarse, stepwise.chain([(Phase::Plain, 12)]).collect::<Vec<_>>());
        assert!(of(restart, 0).all(|progress| progress.extents == [8, 6]));
        // Two passes of four mini-batches, then a look at the whole and three iterations.
        let fine: Vec<_> = of(restart, 1).map(|progress| (progress.phase, progress.iteration)).collect();
        let stepwise = (1..=8).map(|iteration| (Phase::Stepwise, iteration));
        assert_eq!(
            fine,
            stepwise.chain((8..=11).map(|iteration| (Phase::Plain, iteration))).collect::<Vec<_>>()
        );
        assert!(of(restart, 1).all(|progress| progress.extents == [16, 12]));
    }
    let last = seen.last().unwrap();
    assert_eq!((last.done, last.share_done, last.last), (last.planned, 1.0, true));
}

#[test]
fn a_training_that_is_stopped_has_the_full_size() {
    let bags = some::<f32>();
    for options in phases() {
        let whole = {
            let mut steps = 0;
            let mut training = training(&options, &bags);
            training
                .run(|_| {
                    steps += 1;
                    ControlFlow::Continue(())
                })
                .unwrap();
            steps
        };
        for after in 0..whole {
            let mut training = training(&options, &bags);
            let (mut steps, mut told, mut iteration) = (0, 0, 0);
            training
                .run(|progress| {
                    told += 1;
                    iteration = progress.iteration;
                    if steps == after {
                        return ControlFlow::Break(());
                    }
                    steps += 1;
                    ControlFlow::Continue(())
                })
                .unwrap();
            // At most one more: a look at the grid of the full size.
            assert!(told <= after + 2, "{after}: {told}");
            assert!(training.is_done());
            let grid = training.finish().unwrap();
            assert_eq!(grid.shape().cells(), 192);
            let summary = grid.summary().unwrap();
            assert!(
                summary.end == End::Stopped
                    || after + 1 == whole
                    || summary.restart > 0
                    || options.restarts > 1
            );
            if options.restarts == 1 {
                assert_eq!(summary.iterations, iteration, "{after} of {options:?}");
            }
            // The bound is that of the grid.
            if matches!(options.start, Some(GridStart::Plain | GridStart::MiniBatches { .. })) {
                let free_energy: f64 = grid.score(&bags).unwrap().iter().sum();
                assert!(
                    (free_energy - summary.free_energy.unwrap()).abs() <= 1e-4 * free_energy.abs(),
                    "{after}"
                );
            }
        }
        // Without a step at all.
        assert_eq!(training(&options, &bags).finish().unwrap().shape().cells(), 192);
    }
}

/// A training written down after so many steps, and taken up again.
fn resumed<T: Stored>(options: &GridOptions, bags: &Blocks<T>, steps: &[usize]) -> ModelFile {
    let mut present = training(options, bags);
    for &steps in steps {
        for _ in 0..steps {
            if !present.is_done() {
                present.step().unwrap();
            }
        }
        let checkpoint = present.checkpoint().unwrap();
        let last = present.last().cloned();
        // Through the bytes of a file.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint.safetensors");
        countgrid_io::save(&path, &checkpoint).unwrap();
        let read = countgrid_io::load(&path).unwrap();
        present = GridTraining::resume(plan(options, bags), bags, read).unwrap();
        assert_eq!(present.last().cloned(), last);
        assert!(present.checkpoint().unwrap().metadata == checkpoint.metadata);
    }
    present.run(|_| ControlFlow::Continue(())).unwrap();
    file(&present.finish().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_training_goes_on_from_a_checkpoint_to_the_same_bits(
        phase in 0..5usize,
        steps in proptest::collection::vec(0..25usize, 1..4),
        double in any::<bool>(),
    ) {
        fn compare<T: Stored>(options: &GridOptions, steps: &[usize]) -> bool {
            let bags = some::<T>();
            resumed(options, &bags, steps) == resumed(options, &bags, &[])
        }
        let options = &phases()[phase];
        let same = if double { compare::<f64>(options, &steps) } else { compare::<f32>(options, &steps) };
        prop_assert!(same);
    }

    #[test]
    fn a_learner_follows_from_its_parameters_to_the_bit(seed in any::<u64>(), passes in 0..5usize) {
        let bags = some::<f32>();
        let shape = plan(&small(), &bags).layout().shape(bags.features()).unwrap();
        let grid = Grid::initial(shape, None, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
        let options = Options::for_corpus(&shape, 500.0, 90);
        let mut learner = Learner::from_grid(grid, options).unwrap();
        let mut statistics = Statistics::allocate(shape, 16).unwrap();
        let bags = bags.gather(|count| count).unwrap();
        for _ in 0..passes {
            statistics.clear();
            Fit::<CsrBuf<f32>>::expectation(&learner, &bags, &mut statistics).unwrap();
            learner.maximization(&mut statistics).unwrap();
        }
        let (grid, histograms) = learner.into_parts();
        let again = Learner::from_grid(grid, options).unwrap();
        let bits = |table: &[f32]| table.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        use countgrid_em::Tables;
        prop_assert_eq!(bits(again.histograms().buffer()), bits(histograms.buffer()));
    }
}

#[test]
fn every_step_can_be_the_last_before_a_checkpoint() {
    let bags = some::<f32>();
    for options in phases() {
        let whole = resumed(&options, &bags, &[]);
        for steps in 0..40 {
            assert!(resumed(&options, &bags, &[steps]) == whole, "{steps} steps of {options:?}");
        }
    }
}

#[test]
fn a_checkpoint_of_another_training_is_refused() {
    let bags = some::<f32>();
    let mut first = training(&small(), &bags);
    (0..4).for_each(|_| drop(first.step().unwrap()));
    let checkpoint = first.checkpoint().unwrap();
    let refused =
        |options: &GridOptions| match GridTraining::resume(plan(options, &bags), &bags, checkpoint.clone())
            .unwrap_err()
        {
            EstimatorError::Checkpoint(CheckpointError::Option { name, .. }) => name,
            error => panic!("{error}"),
        };
    assert_eq!(refused(&GridOptions { seed: 8, ..small() }), "seed");
    assert_eq!(refused(&GridOptions { iterations: 7, ..small() }), "iterations");
    assert_eq!(refused(&GridOptions { pseudocount: Some(0.5), ..small() }), "pseudocount");
    assert_eq!(refused(&GridOptions { window: Some(vec![3, 4]), ..small() }), "window");
    let other = bags_with_another_count();
    let refused = GridTraining::resume(plan(&small(), &other), &other, checkpoint.clone()).unwrap_err();
    assert!(
        matches!(refused, EstimatorError::Checkpoint(CheckpointError::Data { name: "digest", .. })),
        "{refused}"
    );
    let wide = some::<f64>();
    let refused = GridTraining::resume(plan(&small(), &wide), &wide, checkpoint.clone()).unwrap_err();
    assert!(matches!(refused, EstimatorError::Checkpoint(CheckpointError::Option { name: "scalar", .. })));

    let changed = |key: &str, text: &str| {
        let mut file = checkpoint.clone();
        file.metadata.insert(key.to_owned(), text.to_owned());
        GridTraining::resume(plan(&small(), &bags), &bags, file).unwrap_err()
    };
    assert!(matches!(
        changed("kind", "counting grid"),
        EstimatorError::Checkpoint(CheckpointError::NotACheckpoint)
    ));
    assert!(matches!(changed("model", "x"), EstimatorError::Checkpoint(CheckpointError::Model { .. })));
    assert!(matches!(
        changed("version", "0.0.9"),
        EstimatorError::Checkpoint(CheckpointError::Version { .. })
    ));
    assert!(matches!(
        changed("state.run.stage", "9"),
        EstimatorError::Checkpoint(CheckpointError::Text { .. })
    ));
    // Whatever is left out is missed, and nothing panics.
    for key in checkpoint.metadata.keys() {
        let mut file = checkpoint.clone();
        file.metadata.remove(key);
        let _ = GridTraining::resume(plan(&small(), &bags), &bags, file);
    }
    for table in 0..checkpoint.tables.len() {
        let mut file = checkpoint.clone();
        file.tables.remove(table);
        assert!(GridTraining::resume(plan(&small(), &bags), &bags, file).is_err());
    }
}

/// As many tokens as the others have, elsewhere.
fn bags_with_another_count() -> Blocks<f32> {
    let all = some::<f32>().gather(|count| count).unwrap();
    blocks(20, BlockLimits { bags: 40, ..BlockLimits::in_memory() }, 0..all.len(), |bag| {
        let shift = usize::from(bag == 7);
        all.entries(bag).map(move |(feature, count)| ((feature + shift) % 20, count))
    })
}

#[test]
fn options_are_refused_one_by_one() {
    use countgrid_em::OptionError;
    use countgrid_grid::GridError;
    let totals = BagTotals::from_blocks(&some::<f32>()).unwrap();
    let refused = |options: GridOptions| options.check::<f32>(totals).unwrap_err();
    assert!(small().check::<f32>(totals).is_ok());
    for tolerance in [-1.0, f64::NAN, f64::INFINITY] {
        let error = refused(GridOptions { tolerance, ..small() });
        assert!(matches!(error, EstimatorError::Option(OptionError::Tolerance)));
    }
    let error = refused(GridOptions { restarts: 0, ..small() });
    assert!(matches!(error, EstimatorError::Option(OptionError::Restarts)));
    for beta in [0.0, -0.1, 1.1, f64::NAN] {
        let start = GridStart::Annealed { beta, iterations: 5 };
        let error = refused(GridOptions { start: Some(start), ..small() });
        assert!(matches!(error, EstimatorError::Option(OptionError::Temperature)));
    }
    let error =
        refused(GridOptions { start: Some(GridStart::MiniBatches { size: 0, passes: 1 }), ..small() });
    assert!(matches!(error, EstimatorError::EmptyMiniBatch));
    let error =
        refused(GridOptions { start: Some(GridStart::MiniBatches { size: 5, passes: 0 }), ..small() });
    assert!(matches!(error, EstimatorError::Option(OptionError::Passes)));
    for pseudocount in [-1.0, f64::NAN, f64::INFINITY] {
        let error = refused(GridOptions { pseudocount: Some(pseudocount), ..small() });
        assert!(matches!(error, EstimatorError::Grid(GridError::Pseudocount)));
    }
    let error = refused(GridOptions { inner_passes: 0, ..small() });
    assert!(matches!(error, EstimatorError::Grid(GridError::NoPasses)));
    let error = refused(GridOptions { window: Some(vec![17, 3]), ..small() });
    assert!(matches!(error, EstimatorError::WindowTooLarge { axis: 0, .. }));
    let error = refused(GridOptions { window: Some(vec![3; 3]), ..small() });
    assert!(matches!(error, EstimatorError::WindowAxes { .. }));
    let error = refused(GridOptions { extents: Some(vec![1; 9]), window: None, ..small() });
    assert!(matches!(error, EstimatorError::Axes { found: 9 }));
    let error = refused(GridOptions { memory: Some(10_000), ..small() });
    assert!(matches!(error, EstimatorError::GridMemory { available: Some(10_000), .. }));
    for tokens in [0.0, f64::NAN, f64::INFINITY] {
        let error = small().check::<f32>(BagTotals { tokens, ..totals }).unwrap_err();
        assert!(matches!(error, EstimatorError::Tokens { .. }));
    }
}

#[test]
fn a_training_that_has_failed_says_so() {
    // Counts beyond the range of the type, as bags that were announced as smaller.
    let bags = blocks(3, BlockLimits::in_memory(), 0..3, |_| [(0, 3e38_f32), (2, 1.0)]);
    let totals = BagTotals { features: 3, bags: 3, non_empty: 3, tokens: 10.0 };
    let options = GridOptions { extents: Some(vec![6]), window: Some(vec![2]), ..small() };
    let mut training = GridTraining::new(options.check(totals).unwrap(), &bags).unwrap();
    assert!(matches!(training.step(), Err(EstimatorError::Grid(_))));
    assert!(matches!(training.step(), Err(EstimatorError::Failed)));
    assert!(matches!(training.checkpoint(), Err(EstimatorError::Failed)));
    assert!(training.finish().is_err());
}

#[test]
fn a_mixture_is_a_grid_of_single_cells_with_weights() {
    let bags = some::<f64>();
    let options = GridOptions { seed: 3, memory: Some(1 << 30), ..GridOptions::default() }.mixture(4);
    let plan = plan(&options, &bags);
    assert_eq!((plan.layout().extents(), plan.layout().window()), (&[4][..], &[1][..]));
    assert_eq!(plan.schedule().stages.len(), 1);
    let grid = GridTraining::new(plan, &bags).unwrap().finish().unwrap();
    assert_eq!(grid.shape().cells(), 4);
}

#[test]
fn models_come_back_from_their_files() {
    let bags = some::<f32>();
    let mut grid = training(&small(), &bags).finish().unwrap();
    grid.info.vocabulary = (0..20).map(|word| format!("word{word}")).collect();
    let labels = (0..90).map(|t| (t % 3 != 0).then(|| ["a", "b"][t % 2].to_owned()));
    grid.embed_labels(&countgrid_corpus::LabelColumn::from_labels(labels), &bags).unwrap();
    assert_eq!(grid.labels().unwrap().names(), ["a", "b"]);
    let written = grid.to_file();
    let read = FittedGrid::<f32>::from_file(written.clone()).unwrap();
    assert_eq!(read.to_file(), written);
    assert_eq!(read.place(&bags).unwrap(), grid.place(&bags).unwrap());
    assert!(FittedGrid::<f64>::from_file(written).is_err());
}

#[test]
fn a_model_of_a_corpus_says_what_it_was_made_from() {
    use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
    let texts = ["red ants follow trails", "ants and red trails", "blue sky", "a sky of blue dust", "dust"];
    let reading = CorpusOptions {
        words: WordOptions { min_count: Some(1), stem: true, ..WordOptions::default() },
        ..CorpusOptions::default()
    };
    let mut corpus = Corpus::<f32>::from_texts(&texts, &reading).unwrap();
    let options = GridOptions { extents: Some(vec![8]), window: Some(vec![2]), ..small() };
    let plan = options.plan(&mut corpus).unwrap();
    let mut grid = GridTraining::new(plan, &corpus.bags).unwrap().finish().unwrap();
    grid.describe("insects", &corpus, &reading.words).unwrap();
    assert!(grid.labels().is_none() && grid.info.text.stem && grid.info.title == "insects");
    assert_eq!(grid.info.vocabulary, corpus.vocabulary);
    let fit = grid.info.fit.as_object().unwrap();
    assert_eq!((fit["documents"].as_u64(), fit["min_count"].as_u64()), (Some(5), Some(1)));
    assert!(fit["max_share"].is_null() && fit["anneal"].is_null());
    assert_eq!(fit["end"], "stopped");
    assert_eq!(grid.word_uses(&[7]).unwrap()[0].len(), corpus.vocabulary.len());
    let firmware = grid.firmware(countgrid_estimators::TableKind::Bits8, true).unwrap();
    assert!(firmware.module.contains("pub static VOCABULARY") && !firmware.blob.is_empty());

    // What leaves no room for the grid goes to a file, and if that is not enough, there is none.
    let narrow = GridOptions { memory: Some(100), ..options };
    assert!(matches!(narrow.plan(&mut corpus), Err(EstimatorError::GridMemory { .. })));
    assert!(corpus.bags.file_bytes().is_some());
}
