//! A training of a harmonium: every chain for itself, whatever happens between the steps.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_counts::Bags;
use countgrid_em::Tables;
use countgrid_estimators::{
    AnyModel, BagTotals, CheckpointError, CouplingPrior, EstimatorError, FeatureError, FeatureValues,
    FittedHarmonium, HarmoniumData, HarmoniumKind, HarmoniumMethod, HarmoniumOptions, HarmoniumPlan,
    HarmoniumTraining, ModelFileError, Phase, Progress, Stored, Train,
};
use countgrid_harmonium::HarmoniumError;
use countgrid_io::ModelFile;
use proptest::prelude::*;

/// Bags of three topics over ten words, one of them empty.
fn blocks<T: Stored>() -> Blocks<T> {
    let mut builder = BlocksBuilder::new(10, BlockLimits { bags: 16, ..BlockLimits::in_memory() }).unwrap();
    for t in 0..35 {
        let entries =
            (0..t * 5 % 6).map(|n| ((t % 3 * 3 + n * (t + 1)) % 10, T::from_f64((1 + (t + n) % 3) as f64)));
        builder.push(entries).unwrap();
    }
    builder.finish().unwrap()
}

fn features() -> FeatureValues {
    let values = (0..35).flat_map(|t| [(t % 3) as f64, ((t * 7) % 11) as f64 / 11.0]).collect();
    FeatureValues { names: vec!["topic".into(), "wobble".into()], values }
}

fn small(kind: HarmoniumKind, method: HarmoniumMethod) -> HarmoniumOptions {
    let (topics, epochs, batch, draws) = (2, 4, 10, 24);
    let chains = if method == HarmoniumMethod::Langevin { 2 } else { 1 };
    HarmoniumOptions { kind, method, topics, epochs, batch, draws, chains, ..HarmoniumOptions::default() }
}

/// Documents of six words of 60 each in three topics: with steps that were bounded by the number of words, not by those of
/// a document, couplings stayed where they began.
#[test]
fn topics_of_many_words_are_found_by_default() {
    let mut builder = BlocksBuilder::<f64>::new(180, BlockLimits::in_memory()).unwrap();
    for t in 0..240_usize {
        let words: std::collections::BTreeSet<usize> =
            (0..6).map(|n| t % 3 * 60 + (t * t * 7 + n * (11 + t % 5 * 2) + t) % 60).collect();
        builder.push(words.into_iter().map(|word| (word, 1.0))).unwrap();
    }
    let bags = builder.finish().unwrap();
    let options = HarmoniumOptions { topics: 4, ..HarmoniumOptions::default() };
    let plan = options.check(BagTotals::from_blocks(&bags).unwrap()).unwrap();
    let data = HarmoniumData::new(&plan, &bags, None).unwrap();
    let mut training = HarmoniumTraining::new(plan, &data).unwrap();
    training.run(|_| ControlFlow::Continue(())).unwrap();
    let model = training.finish().unwrap();
    let last = model.traces()[0].last().unwrap();
    assert!(
        last.trace_v > 10.0 * 180.0 * 4.0 * 1e-4,
        "{} began at a standard deviation of 0.01",
        last.trace_v
    );
    let topics = model.transform(&bags, None).unwrap();
    let cosine = |a: &[f64], b: &[f64]| {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let nearest = |t: usize| {
        let others = (0..240).filter(|&other| other != t);
        others.max_by(|&a, &b| {
            let near = |other: usize| cosine(topics.row(t), topics.row(other));
            near(a).total_cmp(&near(b))
        })
    };
    let right = (0..240).filter(|&t| nearest(t).is_some_and(|other| other % 3 == t % 3)).count();
    assert!(right >= 220, "{right} of 240");
    assert!((1.0..=4.0).contains(&model.effective_topics()));
}

/// Every kind by every method, and every prior.
fn cases() -> Vec<HarmoniumOptions> {
    let all = HarmoniumKind::ALL.into_iter();
    let mut cases: Vec<_> =
        all.flat_map(|kind| HarmoniumMethod::ALL.map(|method| small(kind, method))).collect();
    let langevin = || small(HarmoniumKind::Single, HarmoniumMethod::Langevin);
    cases.extend([
        // Long enough for the prior to be learned anew.
        HarmoniumOptions { prior: Some(CouplingPrior::Empirical), draws: 104, ..langevin() },
        HarmoniumOptions {
            prior: Some(CouplingPrior::EmpiricalPooled),
            exact_likelihood: true,
            ..langevin()
        },
        // An odd number of normal numbers a step: every second leaves one of a pair.
        HarmoniumOptions { topics: 3, ..langevin() },
        HarmoniumOptions { trials: 3, gibbs_steps: 2, epochs: 0, step_size: Some(0.05), ..langevin() },
    ]);
    cases
}

fn plan<T: Stored>(options: &HarmoniumOptions) -> HarmoniumPlan {
    options.check(BagTotals::from_blocks(&blocks::<T>()).unwrap()).unwrap()
}

fn data<T: Stored>(options: &HarmoniumOptions) -> HarmoniumData<T> {
    let own = (options.kind == HarmoniumKind::DualWing).then(features);
    HarmoniumData::new(&plan::<T>(options), &blocks(), own.as_ref()).unwrap()
}

fn training<T: Stored>(options: &HarmoniumOptions) -> HarmoniumTraining<T, HarmoniumData<T>> {
    HarmoniumTraining::new(plan::<T>(options), data(options)).unwrap()
}

fn whole<T: Stored>(options: &HarmoniumOptions) -> FittedHarmonium<T> {
    let mut training = training(options);
    training.run(|_| ControlFlow::Continue(())).unwrap();
    training.finish().unwrap()
}

/// All that a training leaves, to be compared bit by bit.
fn left<T: Stored>(model: &FittedHarmonium<T>) -> (ModelFile, Vec<Vec<u64>>, Vec<String>) {
    let bits = |buffer: &[T]| buffer.iter().map(|&x| countgrid_math::Real::to_f64(x).to_bits()).collect();
    let samples = model.samples().iter().map(|sample| bits(sample.buffer())).collect();
    let traces = model.traces().iter().enumerate();
    let traces =
        traces.flat_map(|(chain, trace)| trace.iter().map(move |record| record.fields(chain).join(",")));
    (model.to_file(), samples, traces.collect())
}

fn resumed<T: Stored>(options: &HarmoniumOptions, at: &[usize]) -> FittedHarmonium<T> {
    let mut training = training::<T>(options);
    let mut steps = 0;
    while !training.is_done() {
        if at.contains(&steps) {
            let file = training.checkpoint().unwrap();
            training = HarmoniumTraining::resume(plan::<T>(options), data(options), file).unwrap();
        }
        training.step().unwrap();
        steps += 1;
    }
    let file = training.checkpoint().unwrap();
    HarmoniumTraining::resume(plan::<T>(options), data::<T>(options), file).unwrap().finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn resumed_anywhere_it_gives_the_same_bits(
        case in 0..13_usize, at in prop::collection::vec(0..108_usize, 1..4), double in any::<bool>(),
    ) {
        let options = &cases()[case];
        let planned = options.epochs + if options.method == HarmoniumMethod::Langevin { options.draws } else { 0 };
        let at: Vec<usize> = at.iter().map(|at| at % planned).collect();
        if double {
            prop_assert!(left(&resumed::<f64>(options, &at)) == left(&whole::<f64>(options)));
        } else {
            prop_assert!(left(&resumed::<f32>(options, &at)) == left(&whole::<f32>(options)));
        }
    }
}

#[test]
fn a_chain_is_the_same_beside_others() {
    for prior in [None, Some(CouplingPrior::EmpiricalPooled)] {
        let options = HarmoniumOptions { prior, ..small(HarmoniumKind::Single, HarmoniumMethod::Langevin) };
        let one = whole::<f64>(&HarmoniumOptions { chains: 1, ..options.clone() });
        let three = whole::<f64>(&HarmoniumOptions { chains: 3, ..options });
        assert_eq!(three.traces().len(), 3);
        assert_eq!(three.traces()[0], one.traces()[0]);
        assert_ne!(three.traces()[1], one.traces()[0]);
        // The second half of 24 draws.
        assert_eq!((one.samples().len(), three.samples().len()), (12, 36));
        assert_eq!(one.samples()[11].buffer(), three.samples()[11].buffer());
        assert_eq!(three.mixing().len(), 2);
    }
}

#[test]
fn an_observer_sees_every_epoch_and_every_langevin_step() {
    let options = small(HarmoniumKind::DualWing, HarmoniumMethod::Langevin);
    let mut training = training::<f32>(&options);
    let mut seen: Vec<Progress> = Vec::new();
    training
        .run(|progress| {
            seen.push(progress.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen.len(), 28);
    for (step, progress) in seen.iter().enumerate() {
        assert_eq!((progress.done, progress.planned, progress.stages), (step + 1, 28, 2));
        let (phase, iteration, stage) = match step {
            0..4 => (Phase::ContrastiveDivergence, step + 1, 0),
            _ => (Phase::Langevin, step - 3, 1),
        };
        assert_eq!((progress.phase, progress.iteration, progress.stage), (phase, iteration, stage));
        assert_eq!(progress.last, [3, 27].contains(&step));
    }
    assert_eq!(seen[27].share_done, 1.0);
    assert!(training.traces().all(|trace| trace.len() == 28));
    let model = training.finish().unwrap();
    let summary = *model.summary().unwrap();
    assert_eq!((summary.epochs, summary.draws, summary.chains, summary.samples), (4, 24, 2, 24));
    assert!(summary.prior.is_some_and(|prior| prior.mean == 0.0 && (prior.deviation - 0.1).abs() < 1e-7));
    assert_eq!(model.info.fit["samples"], 24);
}

#[test]
fn a_stopped_training_has_the_model_as_it_is() {
    let options = small(HarmoniumKind::Single, HarmoniumMethod::ContrastiveDivergence);
    let two = whole::<f32>(&HarmoniumOptions { epochs: 2, ..options.clone() });
    for method in HarmoniumMethod::ALL {
        if method == HarmoniumMethod::Persistent {
            continue; // whose epochs are others
        }
        let mut training = training::<f32>(&small(HarmoniumKind::Single, method));
        let stop = |progress: &Progress| match progress.done {
            2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        training.run(stop).unwrap();
        assert!(training.is_done() && training.step().unwrap().done == 2);
        let model = training.finish().unwrap();
        assert_eq!(model.model().buffer(), two.model().buffer());
        assert!(model.summary().unwrap().prior.is_none() && model.samples().is_empty());
    }
}

#[test]
fn files_hold_all_that_topics_take() {
    for options in cases() {
        let model = whole::<f64>(&options);
        let mut file = model.to_file();
        let names: Vec<String> = (0..10).map(|n| format!("w{n}")).collect();
        file.set_strings("vocabulary", &names);
        let AnyModel::HarmoniumF64(loaded) = AnyModel::from_file(file.clone()).unwrap() else {
            panic!("a harmonium in double precision")
        };
        assert!(loaded.to_file() == file, "{options:?}");
        let bags = blocks::<f64>();
        assert_eq!(loaded.transform(&bags, None).unwrap(), model.transform(&bags, None).unwrap());
        let refused = FittedHarmonium::<f32>::from_file(file.clone()).unwrap_err();
        assert!(matches!(refused, EstimatorError::Model(ModelFileError::TableType { .. })), "{refused}");
        for table in 0..file.tables.len() {
            let mut broken = file.clone();
            broken.tables.remove(table);
            assert!(FittedHarmonium::<f64>::from_file(broken).is_err());
        }
        for words in loaded.topic_words(3) {
            assert!(
                words.positive.len() <= 3 && words.positive.iter().all(|word| !words.negative.contains(word))
            );
        }
    }
}

#[test]
fn topics_follow_from_words_and_features() {
    let options = small(HarmoniumKind::DualWing, HarmoniumMethod::ContrastiveDivergence);
    let (model, bags) = (whole::<f64>(&options), blocks::<f64>());
    let (with, without) =
        (model.transform(&bags, Some(&features())).unwrap(), model.transform(&bags, None).unwrap());
    assert!(with.values.len() == 35 * 2 && with != without);
    // Eq. 5: the sum of the couplings of the words that a document has and of its standardised features.
    let gathered = bags.gather(|_| 1.0).unwrap();
    let standardised = model.standardizer().unwrap().apply(&features()).unwrap().values;
    for document in 0..35 {
        for topic in 0..2 {
            let words = gathered.entries(document).map(|(word, x)| x * model.model().w()[word * 2 + topic]);
            let own = (0..2).map(|c| standardised[document * 2 + c] * model.model().u()[c * 2 + topic]);
            let expected = words.chain(own).sum::<f64>();
            assert!((with.row(document)[topic] - expected).abs() < 1e-13, "{document}");
        }
    }
    let sampled = whole::<f64>(&small(HarmoniumKind::Single, HarmoniumMethod::Langevin));
    let rows = sampled.transform_samples(&bags).unwrap();
    assert_eq!((rows.columns, rows.values.len()), (24 * 2, 35 * 48));
}

/// The step is as long as the bound of what is stable allows: for chains that stay at the documents by the squares of their
/// counts, for others by the number of words.
#[test]
fn steps_are_as_long_as_is_stable() {
    // The last of four batches of ten has five of the 35 documents.
    let of_documents = |kind, trials: u32| {
        let count = |x: f64| match kind {
            HarmoniumKind::Single | HarmoniumKind::DualWing => x.min(f64::from(trials)),
            _ => x,
        };
        let bags = blocks::<f64>().gather(|count| count).unwrap();
        let squares =
            (0..35).flat_map(|bag| bags.entries(bag)).map(|(_, x)| count(x) * count(x)).sum::<f64>();
        squares / 35.0
    };
    for (kind, trials) in HarmoniumKind::ALL.into_iter().flat_map(|kind| [(kind, 1), (kind, 3)]) {
        let columns = if kind == HarmoniumKind::DualWing { 2.0 } else { 0.0 };
        let squares = of_documents(kind, trials);
        for method in HarmoniumMethod::ALL {
            let options = HarmoniumOptions { trials, epochs: 1, draws: 8, ..small(kind, method) };
            let (documents, variance) = match method {
                HarmoniumMethod::Langevin => (35.0, 0.1 * 0.1),
                _ => (5.0, 1.0),
            };
            let curvature = match (kind, method) {
                (HarmoniumKind::RateAdapting, _) => f64::from(trials * trials) * squares.max(1.0),
                (_, HarmoniumMethod::ContrastiveDivergence) => squares + columns,
                _ => (10.0 + columns) * f64::from(trials * trials),
            };
            let expected = 2.0 / (documents * curvature + 1.0 / variance).sqrt();
            let found = whole::<f64>(&options).summary().unwrap().step_size;
            // A handful of roundings, and those of the sum of squares.
            assert!((found / expected - 1.0).abs() < 1e-13, "{options:?}: {found} and not {expected}");
            let given = HarmoniumOptions { step_size: Some(0.01), ..options };
            let expected = 0.01 * (35.0 / documents).sqrt();
            let found = whole::<f64>(&given).summary().unwrap().step_size;
            assert!((found / expected - 1.0).abs() < 1e-14, "{given:?}: {found} and not {expected}");
        }
    }
}

#[test]
fn checkpoints_of_other_trainings_are_refused() {
    let options = small(HarmoniumKind::RateAdapting, HarmoniumMethod::Persistent);
    let mut own = training::<f32>(&options);
    own.step().unwrap();
    let file = own.checkpoint().unwrap();
    let refused = |options: &HarmoniumOptions, data: HarmoniumData<f32>, file: ModelFile| {
        match HarmoniumTraining::resume(plan::<f32>(options), data, file) {
            Err(EstimatorError::Checkpoint(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let own = || options.clone();
    let langevin = || small(options.kind, HarmoniumMethod::Langevin);
    for (other, option) in [
        (HarmoniumOptions { kind: HarmoniumKind::Single, ..own() }, "kind"),
        (HarmoniumOptions { topics: 3, ..own() }, "topics"),
        (HarmoniumOptions { method: HarmoniumMethod::ContrastiveDivergence, ..own() }, "method"),
        (HarmoniumOptions { gibbs_steps: 2, ..own() }, "gibbs_steps"),
        (HarmoniumOptions { epochs: 5, ..own() }, "epochs"),
        (HarmoniumOptions { batch: 11, ..own() }, "batch"),
        (HarmoniumOptions { draws: 25, ..own() }, "draws"),
        (HarmoniumOptions { step_size: Some(0.05), ..own() }, "step_size"),
        (HarmoniumOptions { trials: 2, ..own() }, "trials"),
        (HarmoniumOptions { feature_variance: 0.25, ..own() }, "feature_variance"),
        (HarmoniumOptions { exact_likelihood: true, ..own() }, "exact_likelihood"),
        (HarmoniumOptions { seed: 2, ..own() }, "seed"),
    ] {
        match refused(&other, data(&options), file.clone()) {
            CheckpointError::Option { name, .. } => assert_eq!(name, option),
            error => panic!("{option}: {error}"),
        }
    }
    let mut sampled = training::<f32>(&langevin());
    sampled.step().unwrap();
    let sampled = sampled.checkpoint().unwrap();
    for (other, option) in [
        (HarmoniumOptions { chains: 3, ..langevin() }, "chains"),
        (HarmoniumOptions { prior: Some(CouplingPrior::Empirical), ..langevin() }, "prior"),
    ] {
        match refused(&other, data(&langevin()), sampled.clone()) {
            CheckpointError::Option { name, .. } => assert_eq!(name, option),
            error => panic!("{option}: {error}"),
        }
    }
    let double = HarmoniumTraining::resume(plan::<f64>(&options), data::<f64>(&options), file.clone());
    let double = double.map(|_| ()).unwrap_err();
    assert!(matches!(double, EstimatorError::Checkpoint(CheckpointError::Option { name: "scalar", .. })));
    let single = data(&small(HarmoniumKind::Single, HarmoniumMethod::Persistent));
    assert!(matches!(refused(&options, single, file.clone()), CheckpointError::Data { name: "digest", .. }));
    let model = whole::<f32>(&options).to_file();
    assert_eq!(refused(&options, data(&options), model), CheckpointError::NotACheckpoint);
    for table in 0..file.tables.len() {
        let mut broken = file.clone();
        let name = broken.tables.remove(table).name;
        assert_eq!(refused(&options, data(&options), broken), CheckpointError::Table { name });
    }
}

#[test]
fn data_that_make_no_sense_are_refused() {
    let cd = HarmoniumMethod::ContrastiveDivergence;
    let (dual, single) = (small(HarmoniumKind::DualWing, cd), small(HarmoniumKind::Single, cd));
    let refused = |options: &HarmoniumOptions, features: Option<&FeatureValues>| {
        HarmoniumData::<f32>::new(&plan::<f32>(options), &blocks(), features).unwrap_err()
    };
    assert!(matches!(refused(&dual, None), EstimatorError::Features(FeatureError::Missing)));
    assert!(matches!(
        refused(&single, Some(&features())),
        EstimatorError::Features(FeatureError::NoFeatureWing { kind: HarmoniumKind::Single })
    ));
    let mut short = features();
    short.values.truncate(68);
    assert!(matches!(
        refused(&dual, Some(&short)),
        EstimatorError::Features(FeatureError::Rows { rows: 34, documents: 35 })
    ));
    let start = |options: &HarmoniumOptions| {
        HarmoniumTraining::new(plan::<f32>(options), data::<f32>(options)).map(|_| ()).unwrap_err()
    };
    assert!(matches!(
        start(&HarmoniumOptions { topics: 0, ..single.clone() }),
        EstimatorError::Harmonium(HarmoniumError::Empty { .. })
    ));
    assert!(matches!(
        start(&HarmoniumOptions { trials: (1 << 20) + 1, ..single.clone() }),
        EstimatorError::Harmonium(HarmoniumError::Size { .. })
    ));
    assert!(matches!(
        single.check(BagTotals { features: 3, bags: 0, non_empty: 0, tokens: 0.0 }),
        Err(EstimatorError::NoDocuments)
    ));
    // A step that leaves the finite numbers ends the training for good.
    let mut wild = training::<f32>(&HarmoniumOptions { step_size: Some(1e20), ..single });
    let error = loop {
        if let Err(error) = wild.step() {
            break error;
        }
        assert!(!wild.is_done());
    };
    assert!(matches!(error, EstimatorError::Harmonium(HarmoniumError::Diverged { .. })), "{error}");
    assert!(matches!(wild.step(), Err(EstimatorError::Failed)));
    assert!(matches!(wild.checkpoint(), Err(EstimatorError::Failed)));
}
