//! Trainings of topics and of hidden Markov models: the loops of their parts, and checkpoints.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_counts::SequencesBuf;
use countgrid_em::{EmOptions, Restarts, Tables, no_observer};
use countgrid_estimators::{
    AnyModel, BagTotals, EstimatorError, FeatureKind, FittedHmm, FittedLda, HmmOptions, HmmTraining,
    LdaOptions, LdaTraining, ModelFileError, ModelInfo, Train,
};
use countgrid_hmm::Hmm;
use countgrid_lda::{Concentration, Lda, Options};
use countgrid_math::AlignedVec;
use proptest::prelude::*;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Bags of four topics over twenty features, one of them empty, in blocks of so many.
fn bags(of_block: usize) -> Blocks<f32> {
    let limits = BlockLimits { bags: of_block, ..BlockLimits::in_memory() };
    let mut builder = BlocksBuilder::new(20, limits).unwrap();
    for t in 0..60usize {
        let entries =
            (0..(t * 7) % 6).map(|n| ((t % 4 * 5 + n * (t + 1)) % 20, (1 + (t + n) % 4) as f32 + 0.5));
        builder.push(entries).unwrap();
    }
    builder.finish().unwrap()
}

fn sequences() -> SequencesBuf<u16> {
    let mut sequences = SequencesBuf::new(3);
    for t in 0..12u32 {
        sequences.push((0..10).map(|n| ((n * (t + 2) / 3 + n % 2 * t) % 3) as u16)).unwrap();
    }
    sequences
}

fn lda_options() -> LdaOptions {
    LdaOptions { topics: 4, iterations: 6, restarts: 3, tolerance: 0.0, seed: 5, ..LdaOptions::default() }
}

fn hmm_options() -> HmmOptions {
    HmmOptions { states: 3, iterations: 6, restarts: 3, tolerance: 0.0, seed: 5, ..HmmOptions::default() }
}

fn lda<'a>(options: &LdaOptions, bags: &'a Blocks<f32>) -> LdaTraining<f32, &'a Blocks<f32>> {
    LdaTraining::new(options.check(BagTotals::from_blocks(bags).unwrap()).unwrap(), bags).unwrap()
}

fn end<M: Train>(mut training: M) -> M::Fitted {
    training.run(|_| ControlFlow::Continue(())).unwrap();
    assert!(training.is_done());
    training.finish().unwrap()
}

#[test]
fn topics_are_fitted_as_by_the_loop_of_its_parts() {
    let (options, blocks) = (lda_options(), bags(1000));
    let fitted = end(lda(&options, &blocks));
    let bags = blocks.gather(f64::from).unwrap();
    let shape = countgrid_lda::Shape::new(4, 20).unwrap();
    let plan = EmOptions { iterations: 6, tolerance: 0.0 }.check().unwrap();
    let mut statistics = countgrid_lda::Statistics::allocate(shape, 8).unwrap();
    let mut restarts = Restarts::new(3, 5).unwrap();
    let mut best: Option<Lda<f64, AlignedVec<f64>>> = None;
    while let Some(restart) = restarts.next_restart() {
        let mut model = Lda::uniform(shape, 0.25).unwrap();
        model.seed(&bags, 3, &mut ChaCha8Rng::seed_from_u64(restart.seed)).unwrap();
        let model_options =
            Options { smoothing: 0.01, concentration: Concentration::Symmetric, ..Options::default() };
        let mut learner = countgrid_lda::Learner::new(model, model_options).unwrap();
        let outcome = plan.fit(&mut learner, &bags, &mut statistics, no_observer).unwrap();
        if restarts.keep(&outcome) {
            best = Some(learner.into_lda());
        }
    }
    let best = best.unwrap();
    assert_eq!(fitted.lda().tables(), best.tables());
    let outcome = restarts.best().unwrap().outcome;
    assert_eq!(fitted.summary().unwrap().free_energy, Some(outcome.free_energy));
    let score: f64 = fitted.score(&blocks).unwrap().iter().sum();
    assert!((score - outcome.free_energy).abs() < 1e-9 * score.abs());
    // Rows of proportions, and terms that sum to the free energy.
    let proportions = fitted.transform(&blocks).unwrap();
    assert!((0..60).all(|bag| (proportions.row(bag).iter().sum::<f64>() - 1.0).abs() < 1e-9));
    let terms = fitted.features(FeatureKind::Fess, &blocks).unwrap();
    assert!((terms.values.iter().sum::<f64>() - score).abs() < 1e-9 * score.abs());
    assert!(matches!(
        fitted.features(FeatureKind::Spread, &blocks),
        Err(EstimatorError::NoFeatures { kind: FeatureKind::Spread })
    ));
}

#[test]
fn hidden_markov_models_are_fitted_as_by_the_loop_of_its_parts() {
    let (options, sequences) = (hmm_options(), sequences());
    let fitted = end(HmmTraining::new(options.check(&sequences).unwrap(), &sequences).unwrap());
    let shape = countgrid_hmm::Shape::new(3, 3).unwrap();
    let view = sequences.as_view();
    let plan = EmOptions { iterations: 6, tolerance: 0.0 }.check().unwrap();
    let mut statistics = countgrid_hmm::Statistics::allocate(shape, view.longest()).unwrap();
    let hmm = Hmm::<f64, AlignedVec<f64>>::uniform(shape).unwrap();
    let mut learner = countgrid_hmm::Learner::new(hmm, 0.1).unwrap();
    let mut best = vec![0.0; shape.hmm_len()];
    let best = Restarts::new(3, 5)
        .unwrap()
        .run(&mut learner, &mut best, |learner, restart| {
            learner.model_mut().randomize(&mut ChaCha8Rng::seed_from_u64(restart.seed));
            plan.fit(learner, &view, &mut statistics, no_observer)
        })
        .unwrap();
    assert_eq!(fitted.hmm().tables(), learner.model().tables());
    assert_eq!(fitted.summary().unwrap().restart, best.restart.index);
    let score: f64 = fitted.score(&sequences).unwrap().iter().sum();
    assert!((score - best.outcome.free_energy).abs() < 1e-9 * score.abs());
}

#[test]
fn models_come_back_from_their_files() {
    let blocks = bags(20);
    let mut topics = end(lda(&lda_options(), &blocks));
    topics.info.vocabulary = (0..20).map(|word| format!("word{word}")).collect();
    let AnyModel::Lda(read) = AnyModel::from_file(topics.to_file()).unwrap() else { panic!("another kind") };
    assert_eq!(read.to_file(), topics.to_file());
    assert_eq!(read.score(&blocks).unwrap(), topics.score(&blocks).unwrap());
    assert_eq!(read.top_words(1, 5), topics.top_words(1, 5));

    let sequences = sequences();
    let options = hmm_options();
    let mut paths = end(HmmTraining::new(options.check(&sequences).unwrap(), &sequences).unwrap());
    paths.info.vocabulary = ["a", "b", "c"].map(str::to_owned).to_vec();
    let AnyModel::Hmm(read) = AnyModel::from_file(paths.to_file()).unwrap() else { panic!("another kind") };
    assert_eq!(read.to_file(), paths.to_file());
    assert_eq!(read.score(&sequences).unwrap(), paths.score(&sequences).unwrap());
    for kind in [FeatureKind::Fess, FeatureKind::Nfess, FeatureKind::Fisher] {
        assert_eq!(read.features(kind, &sequences).unwrap(), paths.features(kind, &sequences).unwrap());
    }
    // A table or a text that is missing, or is that of another model, is refused.
    for table in 0..3 {
        let mut file = paths.to_file();
        file.tables.remove(table);
        assert!(matches!(AnyModel::from_file(file), Err(EstimatorError::Model(_))));
    }
    for key in ["kind", "vocabulary"] {
        let mut file = paths.to_file();
        file.metadata.remove(key);
        assert!(matches!(AnyModel::from_file(file), Err(EstimatorError::Model(_))), "{key}");
    }
    // The other texts have defaults in a file that this library did not write.
    let mut file = paths.to_file();
    file.metadata.remove("title");
    assert!(matches!(AnyModel::from_file(file), Err(EstimatorError::Model(_))));
    let mut file = paths.to_file();
    file.metadata.retain(|key, _| !["version", "title", "text", "numbers", "fit"].contains(&key.as_str()));
    let AnyModel::Hmm(read) = AnyModel::from_file(file).unwrap() else { panic!("another kind") };
    assert_eq!(read.info, ModelInfo::for_vocabulary(paths.info.vocabulary.clone()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trainings_go_on_from_a_checkpoint_to_the_same_bits(steps in 0..24usize, of_block in 7..30usize) {
        let (options, blocks) = (lda_options(), bags(of_block));
        let mut training = lda(&options, &blocks);
        (0..steps).for_each(|_| drop(training.step().unwrap()));
        let plan = options.check(BagTotals::from_blocks(&blocks).unwrap()).unwrap();
        let resumed = LdaTraining::resume(plan, &blocks, training.checkpoint().unwrap()).unwrap();
        prop_assert!(end(resumed).to_file() == end(lda(&options, &blocks)).to_file());

        let (options, sequences) = (hmm_options(), sequences());
        let training = || HmmTraining::new(options.check(&sequences).unwrap(), &sequences).unwrap();
        let mut first = training();
        (0..steps).for_each(|_| drop(first.step().unwrap()));
        let plan = options.check(&sequences).unwrap();
        let resumed = HmmTraining::resume(plan, &sequences, first.checkpoint().unwrap()).unwrap();
        prop_assert!(end(resumed).to_file() == end(training()).to_file());
    }
}

#[test]
fn options_are_refused_one_by_one() {
    use countgrid_em::OptionError;
    let totals = BagTotals::from_blocks(&bags(10)).unwrap();
    let refused = |options: LdaOptions| options.check::<f32>(totals).unwrap_err();
    assert!(matches!(refused(LdaOptions { topics: 0, ..lda_options() }), EstimatorError::Lda(_)));
    assert!(matches!(refused(LdaOptions { smoothing: f64::NAN, ..lda_options() }), EstimatorError::Lda(_)));
    assert!(matches!(
        refused(LdaOptions { tolerance: -1.0, ..lda_options() }),
        EstimatorError::Option(OptionError::Tolerance)
    ));
    assert!(matches!(
        refused(LdaOptions { restarts: 0, ..lda_options() }),
        EstimatorError::Option(OptionError::Restarts)
    ));
    let none = BagTotals { tokens: 0.0, ..totals };
    assert!(matches!(lda_options().check::<f32>(none), Err(EstimatorError::Tokens { .. })));

    let sequences = sequences();
    let refused = |options: HmmOptions| options.check(&sequences).unwrap_err();
    assert!(matches!(refused(HmmOptions { states: 0, ..hmm_options() }), EstimatorError::Hmm(_)));
    assert!(matches!(refused(HmmOptions { pseudocount: -0.1, ..hmm_options() }), EstimatorError::Hmm(_)));
    assert!(matches!(
        refused(HmmOptions { tolerance: f64::NAN, ..hmm_options() }),
        EstimatorError::Option(OptionError::Tolerance)
    ));
    assert!(matches!(
        refused(HmmOptions { restarts: 0, ..hmm_options() }),
        EstimatorError::Option(OptionError::Restarts)
    ));
    assert!(matches!(hmm_options().check(&SequencesBuf::new(3)), Err(EstimatorError::Tokens { .. })));
}

/// What `countgrid-lda` and `countgrid-hmm` have fitted is a model with a file, in the same numbers.
#[test]
fn models_from_elsewhere_have_files() {
    let vocabulary =
        |names: &[&str]| ModelInfo::for_vocabulary(names.iter().map(|&name| name.into()).collect());
    let tables = [0.5, 0.1, 0.25, 0.1, 0.25, 0.8, 1.0, 2.0];
    let lda = Lda::new(countgrid_lda::Shape::new(2, 3).unwrap(), tables).unwrap();
    let file = FittedLda::from_lda(vocabulary(&["a", "b", "c"]), &lda).unwrap().to_file();
    let AnyModel::Lda(read) = AnyModel::from_file(file).unwrap() else { panic!("no topics") };
    assert_eq!((read.lda().buffer(), read.info.title.as_str()), (&tables[..], "untitled"));

    let tables = [0.5, 0.5, 0.9, 0.1, 0.2, 0.8, 0.3, 0.6, 0.7, 0.4];
    let hmm = Hmm::new(countgrid_hmm::Shape::new(2, 2).unwrap(), tables).unwrap();
    let file = FittedHmm::from_hmm(vocabulary(&["A", "C"]), &hmm).unwrap().to_file();
    let AnyModel::Hmm(read) = AnyModel::from_file(file).unwrap() else { panic!("no hidden Markov model") };
    assert_eq!(read.hmm().buffer(), tables);

    let expected = ModelFileError::Vocabulary { words: 1, features: 2 };
    let refused = FittedHmm::from_hmm(vocabulary(&["A"]), &hmm);
    assert!(matches!(refused, Err(EstimatorError::Model(error)) if error == expected));
}
