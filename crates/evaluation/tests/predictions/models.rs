//! Models and features are those of the estimators, with the options of an evaluation.

use countgrid_estimators::{
    BagTotals, EstimatorError, FeatureKind, FeatureRows, FittedGrid, FittedHarmonium, FittedHmm, FittedLda,
    HarmoniumData, HarmoniumKind, HarmoniumMethod, HarmoniumOptions, LdaOptions, Train, Training,
};
use countgrid_evaluation::{
    EvaluationError, EvaluationOptions, Features, FittedModel, Fold, ModelKind, Part, Stop,
};

use crate::made::{drawn, fold, labelled, options};

fn run<M: Train>(mut training: M) -> M::Fitted {
    while !training.is_done() {
        training.step().unwrap();
    }
    training.finish().unwrap()
}

fn grid(part: &Part<f64>, options: &EvaluationOptions) -> FittedGrid<f64> {
    let own = match options.model {
        ModelKind::Mixture => options.grid.clone().mixture(options.topics),
        _ => options.grid.clone(),
    };
    let plan = own.check::<f64>(BagTotals::from_blocks(&part.bags).unwrap()).unwrap();
    run(plan.train(&part.bags, None).unwrap())
}

fn lda(part: &Part<f64>, options: &EvaluationOptions) -> FittedLda {
    let own = LdaOptions { topics: options.topics, ..options.lda.clone() };
    let plan = own.check::<f64>(BagTotals::from_blocks(&part.bags).unwrap()).unwrap();
    run(plan.train(&part.bags, None).unwrap())
}

fn hmm(part: &Part<f64>, options: &EvaluationOptions) -> FittedHmm {
    let sequences = part.sequences.as_ref().unwrap();
    run(Training::new(options.hmm.check(sequences).unwrap(), sequences).unwrap())
}

fn harmonium(part: &Part<f64>, options: &EvaluationOptions) -> FittedHarmonium<f64> {
    let kind = match options.model {
        ModelKind::Rap => HarmoniumKind::RateAdapting,
        _ => HarmoniumKind::Single,
    };
    let own = HarmoniumOptions { kind, topics: options.topics, ..options.harmonium.clone() };
    let plan = own.check(BagTotals::from_blocks(&part.bags).unwrap()).unwrap();
    let data = HarmoniumData::new(&plan, &part.bags, None).unwrap();
    run(plan.train(&data, None).unwrap())
}

/// Documents of one length, as features of sequences need them.
fn parts(options: &EvaluationOptions) -> Fold<f64> {
    fold(&labelled(&drawn(&[("ants", 14), ("bees", 20)], 6, 3)), 20, options)
}

#[test]
fn models_are_those_of_the_estimators() {
    for &model in ModelKind::ALL {
        let mut options = EvaluationOptions { topics: 3, ..options(model) };
        options.harmonium.method = HarmoniumMethod::Langevin;
        options.harmonium.draws = 8;
        let fold = parts(&options);
        let fitted = FittedModel::fit(&fold.training, &options, &Stop::new()).unwrap();
        let (test, energies) = (&fold.test, fitted.free_energies(&fold.test));
        let not_generative = |kind: ModelKind| match &energies {
            Err(EvaluationError::NotGenerative { model }) => *model == kind,
            _ => false,
        };
        let features = |kind| fitted.features(kind, test);
        match model {
            ModelKind::Grid | ModelKind::Mixture => {
                let own = grid(&fold.training, &options);
                assert_eq!(energies.unwrap(), own.score(&test.bags).unwrap(), "{model}");
                let columns = if model == ModelKind::Grid { 12 } else { 3 };
                for (kind, of) in [
                    (Features::Spread, FeatureKind::Spread),
                    (Features::Posterior, FeatureKind::Posterior),
                    (Features::Fess, FeatureKind::Fess),
                    (Features::Nfess, FeatureKind::Nfess),
                    (Features::FessWords, FeatureKind::FessWords),
                    (Features::FessSources, FeatureKind::FessSources),
                    (Features::Fisher, FeatureKind::Fisher),
                ] {
                    let found = features(kind).unwrap();
                    assert!(found == own.features(of, &test.bags).unwrap(), "{model} {kind}");
                    assert!(found.columns >= columns.min(6), "{model} {kind}");
                }
                assert_eq!(features(Features::Posterior).unwrap().columns, columns);
            }
            ModelKind::Lda => {
                let own = lda(&fold.training, &options);
                assert_eq!(energies.unwrap(), own.score(&test.bags).unwrap());
                assert!(
                    features(Features::Fess).unwrap() == own.features(FeatureKind::Fess, &test.bags).unwrap()
                );
                assert_eq!(features(Features::Posterior).unwrap().columns, 3);
                let none = features(Features::Spread);
                assert!(matches!(none, Err(EvaluationError::Estimator(EstimatorError::NoFeatures { .. }))));
            }
            ModelKind::Hmm => {
                let (own, sequences) = (hmm(&fold.training, &options), test.sequences.as_ref().unwrap());
                assert_eq!(energies.unwrap(), own.score(sequences).unwrap());
                for (kind, of) in [(Features::Fess, FeatureKind::Fess), (Features::Nfess, FeatureKind::Nfess)]
                {
                    assert!(features(kind).unwrap() == own.features(of, sequences).unwrap(), "{kind}");
                }
            }
            ModelKind::Harmonium | ModelKind::Rap => {
                assert!(not_generative(ModelKind::Harmonium), "{energies:?}");
                let own = harmonium(&fold.training, &options);
                assert!(features(Features::Posterior).unwrap() == own.transform(&test.bags, None).unwrap());
                let samples = features(Features::Samples).unwrap();
                assert!(samples == own.transform_samples(&test.bags).unwrap(), "{model}");
                assert_eq!((features(Features::Posterior).unwrap().columns, samples.columns), (3, 12));
            }
            _ => {
                assert!(not_generative(ModelKind::Lsi), "{energies:?}");
                assert_eq!(features(Features::Posterior).unwrap().columns, 3);
            }
        }
    }
}

#[test]
fn tangents_are_of_two_models_of_one_kind() {
    let of = |model: ModelKind, swapped: bool| -> Result<FeatureRows, EvaluationError> {
        let options = options(model);
        let fold = parts(&options);
        let fitted = [0, 1].map(|class| {
            let own = fold.training.filter(|place| fold.labels[place] == class).unwrap();
            FittedModel::fit(&own, &options, &Stop::new()).unwrap()
        });
        let [plus, minus] = if swapped { [&fitted[1], &fitted[0]] } else { [&fitted[0], &fitted[1]] };
        FittedModel::tangents([plus, minus], 0.25, &fold.test)
    };
    for model in [ModelKind::Grid, ModelKind::Mixture, ModelKind::Lda, ModelKind::Hmm] {
        let options = options(model);
        let fold = parts(&options);
        let own = |class| fold.training.filter(|place| fold.labels[place] == class).unwrap();
        let [plus, minus] = [own(0), own(1)];
        let expected = match model {
            ModelKind::Lda => {
                let models = [&lda(&plus, &options), &lda(&minus, &options)];
                FittedLda::tangents(models, 0.25, &fold.test.bags)
            }
            ModelKind::Hmm => {
                let models = [&hmm(&plus, &options), &hmm(&minus, &options)];
                FittedHmm::tangents(models, 0.25, fold.test.sequences.as_ref().unwrap())
            }
            _ => {
                let models = [&grid(&plus, &options), &grid(&minus, &options)];
                FittedGrid::tangents(models, 0.25, &fold.test.bags)
            }
        };
        assert!(of(model, false).unwrap() == expected.unwrap(), "{model}");
        assert!(of(model, true).unwrap() != of(model, false).unwrap(), "{model}");
    }
    for (model, named) in [
        (ModelKind::Harmonium, ModelKind::Harmonium),
        (ModelKind::Rap, ModelKind::Harmonium),
        (ModelKind::Lsi, ModelKind::Lsi),
    ] {
        let refused = of(model, false).unwrap_err();
        let found = match refused {
            EvaluationError::NotGenerative { model } => model,
            error => panic!("{error}"),
        };
        assert_eq!(found, named);
    }
}

#[test]
fn a_fit_ends_when_it_is_asked_to() {
    for &model in ModelKind::ALL {
        let options = options(model);
        let (fold, stop) = (parts(&options), Stop::new());
        stop.request();
        let stopped = FittedModel::fit(&fold.training, &options, &stop);
        assert!(matches!(stopped, Err(EvaluationError::Stopped)), "{model}");
    }
    let options = options(ModelKind::Hmm);
    let mut fold = parts(&options);
    fold.training.sequences = None;
    let without = FittedModel::fit(&fold.training, &options, &Stop::new()).unwrap_err();
    assert_eq!(without.to_string(), "an hmm takes sequences, and the data have none");
}
