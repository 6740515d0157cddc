//! Predicted labels are those of the definitions of classifiers, on features that models compute one by one.

use countgrid_classify::{SupportVectors, SvmOptions};
use countgrid_corpus::{BlockLimits, BlocksBuilder};
use countgrid_counts::Bags;
use countgrid_estimators::FittedGrid;
use countgrid_evaluation::{
    ClassPrior, Classifier, EvaluationError, EvaluationOptions, Features, FittedModel, Fold, Metric,
    ModelKind, OptionError, Part, Stop, predict,
};

use crate::made::{Document, alone, drawn, fold, labelled, options};

/// Three labels, of which the second is the most frequent. Among the training documents, the first 40, and behind them are some
/// without a word that others have.
fn documents(tokens: usize) -> Vec<Document> {
    let mut all = drawn(&[("ants", 12), ("bees", 25), ("cats", 19)], tokens, 5);
    all.insert(3, alone("ants", 0));
    all.insert(20, alone("cats", 1));
    all.insert(45, alone("cats", 2));
    all.push(alone("ants", 3));
    all
}

/// Features of the training and the test documents, `[document][column]`.
fn tables(fold: &Fold<f64>, options: &EvaluationOptions, kind: Features) -> [Vec<Vec<f64>>; 2] {
    let fit = |part: &_| FittedModel::fit(part, options, &Stop::new()).unwrap();
    let (mut models, mut sizes) = (Vec::new(), Vec::new());
    if kind.per_class() && !options.one_model {
        for class in 0..fold.classes {
            let own = fold.training.filter(|place| fold.labels[place] == class).unwrap();
            if !own.is_empty() {
                models.push(fit(&own));
                sizes.push(own.len() as f64);
            }
        }
    } else {
        models.push(fit(&fold.training));
    }
    [&fold.training, &fold.test].map(|part| {
        let tables: Vec<_> = match kind {
            Features::Top => {
                let log_odds = (sizes[1] / sizes[0]).ln();
                vec![FittedModel::tangents([&models[1], &models[0]], log_odds, part).unwrap()]
            }
            _ => models.iter().map(|model| model.features(kind, part).unwrap()).collect(),
        };
        (0..part.len()).map(|row| tables.iter().flat_map(|table| table.row(row).to_vec()).collect()).collect()
    })
}

/// Columns of mean 0 and variance 1 among the training rows; those that are constant there are 0.
fn standardised([mut training, mut test]: [Vec<Vec<f64>>; 2]) -> [Vec<Vec<f64>>; 2] {
    let n = training.len() as f64;
    for column in 0..training[0].len() {
        let mean = training.iter().map(|row| row[column]).sum::<f64>() / n;
        let variance = training.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / n;
        let scale = if variance.sqrt() > 1e-12 * mean.abs() { 1.0 / variance.sqrt() } else { 0.0 };
        training.iter_mut().chain(&mut test).for_each(|row| row[column] = (row[column] - mean) * scale);
    }
    [training, test]
}

fn squares(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The label that most of the nearest have, of equals that of the nearest. Of equally near ones the first is nearer.
fn label_of_nearest(distances: &[f64], labels: &[usize], neighbours: usize) -> usize {
    let mut order: Vec<usize> = (0..distances.len()).filter(|&item| distances[item].is_finite()).collect();
    order.sort_by(|&a, &b| distances[a].total_cmp(&distances[b])); // stable
    let near: Vec<usize> = order.into_iter().take(neighbours).map(|item| labels[item]).collect();
    let votes = |label: usize| near.iter().filter(|&&other| other == label).count();
    let most = near.iter().map(|&label| votes(label)).max().unwrap();
    near.iter().copied().find(|&label| votes(label) == most).unwrap()
}

/// What is predicted, of a document without a known word too: the most frequent label.
fn with_most_frequent(fold: &Fold<f64>, of: impl Fn(usize) -> usize) -> Vec<usize> {
    let members = |class: usize| fold.labels.iter().filter(|&&label| label == class).count();
    let most = (0..fold.classes).map(members).max().unwrap();
    let most_frequent = (0..fold.classes).find(|&class| members(class) == most).unwrap();
    let bags = fold.test.bags.gather(|count| count).unwrap();
    (0..fold.test.len())
        .map(|document| if bags.total(document) > 0.0 { of(document) } else { most_frequent })
        .collect()
}

#[test]
fn neighbours_by_features_are_the_nearest_by_every_metric() {
    let data = labelled(&documents(5));
    let never = Stop::new();
    let mut seen = Vec::new();
    for (model, kind, metrics) in [
        (ModelKind::Grid, Features::Spread, &[None, Some(Metric::Euclidean), Some(Metric::Cosine)][..]),
        (ModelKind::Grid, Features::Posterior, &[None, Some(Metric::Divergence)]),
        (ModelKind::Grid, Features::Fess, &[None]),
        (ModelKind::Lda, Features::Posterior, &[None, Some(Metric::Euclidean)]),
        (ModelKind::Lsi, Features::Posterior, &[None, Some(Metric::Cosine)]),
        (ModelKind::Mixture, Features::FessWords, &[None]),
    ] {
        for &metric in metrics {
            for neighbours in [1, 4, 40, 100] {
                let options = EvaluationOptions {
                    classifier: Classifier::Nearest,
                    features: Some(kind),
                    metric,
                    neighbours,
                    ..options(model)
                };
                let fold = fold(&data, 40, &options);
                let [mut training, mut test] = tables(&fold, &options, kind);
                let default = if model == ModelKind::Lsi { Metric::Euclidean } else { Metric::Divergence };
                let metric = if kind.per_class() { Metric::Euclidean } else { metric.unwrap_or(default) };
                if kind.per_class() {
                    [training, test] = standardised([training, test]);
                }
                let columns = training[0].len() as f64;
                // A hundredth is spread evenly, so that no divergence is infinite.
                let even = |p: f64| 0.99 * p + 0.01 / columns;
                let distance = |x: &[f64], y: &[f64]| match metric {
                    Metric::Euclidean => squares(x, y),
                    Metric::Cosine if dot(x, x) * dot(y, y) == 0.0 => 1.0,
                    Metric::Cosine => 1.0 - dot(x, y) / (dot(x, x) * dot(y, y)).sqrt(),
                    _ => x.iter().zip(y).map(|(&p, &q)| even(p) * (even(p) / even(q)).ln()).sum(),
                };
                let expected = with_most_frequent(&fold, |document| {
                    let distances: Vec<f64> =
                        training.iter().map(|other| distance(&test[document], other)).collect();
                    label_of_nearest(&distances, &fold.labels, neighbours)
                });
                let found = predict(&fold, &options, &never).unwrap();
                assert_eq!(found, expected, "{model} {kind} {metric} {neighbours}");
                seen.push(found);
            }
        }
    }
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert!(4 * seen.len() > all, "{} of {all} predictions differ", seen.len());
}

/// A document without a known word has the distance 1 by the cosine, as one without a common word, and a vote.
#[test]
fn documents_without_a_known_word_are_as_far_as_those_without_a_common_one() {
    let document =
        |label: &str, words: &[usize]| Document { label: Some(label.to_owned()), words: words.to_vec() };
    let data = labelled(&[
        document("ants", &[0, 0, 1]),
        document("ants", &[0, 1, 1]),
        document("bees", &[2, 3, 3]),
        document("bees", &[2, 3]),
        document("cats", &[0, 1]),
        alone("bees", 0),
        document("ants", &[1, 0]),
    ]);
    for (neighbours, expected) in [(2, "ants"), (6, "bees")] {
        let mut options = EvaluationOptions {
            classifier: Classifier::Nearest,
            features: Some(Features::Posterior),
            metric: Some(Metric::Cosine),
            neighbours,
            ..options(ModelKind::Lsi)
        };
        options.words.min_count = Some(2);
        let fold = data.fold(&[0, 1, 2, 5, 3], &[6], &options).unwrap();
        let found = predict(&fold, &options, &Stop::new()).unwrap();
        assert_eq!(data.label_names()[found[0]], expected, "{neighbours}");
    }
}

/// The grid that is fitted to the training documents, and the posteriors of a part over its windows.
fn grid_of(fold: &Fold<f64>, options: &EvaluationOptions) -> Box<FittedGrid<f64>> {
    match FittedModel::fit(&fold.training, options, &Stop::new()).unwrap() {
        FittedModel::Grid(grid) => grid,
        other => panic!("{other:?}"),
    }
}

#[test]
fn neighbours_on_the_torus_are_those_whose_windows_start_nearest() {
    let data = labelled(&documents(5));
    for model in [ModelKind::Grid, ModelKind::Mixture] {
        for neighbours in [1, 3, 100] {
            let mut options =
                EvaluationOptions { classifier: Classifier::Nearest, neighbours, ..options(model) };
            options.topics = 9;
            let fold = fold(&data, 40, &options);
            let grid = grid_of(&fold, &options);
            let sides = grid.layout().extents().to_vec();
            let places = |part: &Part<f64>| -> Vec<Option<Vec<f64>>> {
                let place = |placement: countgrid_estimators::GridPlacement| {
                    Some(placement.position?.window.iter().map(|&x| x as f64).collect())
                };
                grid.place(&part.bags).unwrap().into_iter().map(place).collect()
            };
            let (training, test) = (places(&fold.training), places(&fold.test));
            assert!(training.iter().any(Option::is_none) && test.iter().any(Option::is_none));
            let expected = with_most_frequent(&fold, |document| {
                let own = test[document].as_ref().unwrap();
                let distance = |other: &Option<Vec<f64>>| match other {
                    None => f64::INFINITY,
                    Some(other) => {
                        let apart = own.iter().zip(other).map(|(x, y)| (x - y).abs());
                        apart.zip(&sides).map(|(d, &side)| d.min(side as f64 - d).powi(2)).sum()
                    }
                };
                let distances: Vec<f64> = training.iter().map(distance).collect();
                label_of_nearest(&distances, &fold.labels, neighbours)
            });
            assert_eq!(predict(&fold, &options, &Stop::new()).unwrap(), expected, "{model} {neighbours}");
        }
    }
}

/// Jojic & Perina 2011, Eqs. 9 and 10: shares of labels at the cells of windows. More test documents than are looked at together.
#[test]
fn labels_around_have_the_largest_share_at_the_cells_of_a_window() {
    let mut documents = documents(3);
    documents.extend(drawn(&[("ants", 90), ("bees", 90), ("cats", 90)], 4, 11));
    let data = labelled(&documents);
    let options = EvaluationOptions { classifier: Classifier::Labels, ..options(ModelKind::Grid) };
    let fold = fold(&data, 40, &options);
    let grid = grid_of(&fold, &options);
    let cells: Vec<[usize; 4]> = (0..12)
        .map(|cell| {
            let (x, y) = (cell / 4, cell % 4);
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| (x + a) % 3 * 4 + (y + b) % 4)
        })
        .collect();
    let posteriors = grid.transform(&fold.training.bags).unwrap();
    let known = fold.training.bags.gather(|count| count).unwrap();
    let (mut all, mut by_label) = ([0.0; 12], vec![[0.0; 12]; fold.classes]);
    for (document, &label) in fold.labels.iter().enumerate().filter(|&(bag, _)| known.total(bag) > 0.0) {
        for (window, &q) in posteriors.row(document).iter().enumerate() {
            for &cell in &cells[window] {
                all[cell] += q / 4.0;
                by_label[label][cell] += q / 4.0;
            }
        }
    }
    let posteriors = grid.transform(&fold.test.bags).unwrap();
    let expected = with_most_frequent(&fold, |document| {
        let share = |label: usize| -> f64 {
            let windows = posteriors.row(document).iter().zip(&cells);
            windows
                .map(|(q, cells)| {
                    cells.iter().map(|&cell| q * by_label[label][cell] / all[cell] / 4.0).sum::<f64>()
                })
                .sum()
        };
        let shares: Vec<f64> = (0..fold.classes).map(share).collect();
        (0..fold.classes).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap()
    });
    let found = predict(&fold, &options, &Stop::new()).unwrap();
    assert_eq!(found, expected);
    for class in 0..3 {
        assert!(found.iter().filter(|&&label| label == class).count() > 10, "{found:?}");
    }
}

#[test]
fn machines_are_trained_on_the_similarities_that_are_documented() {
    let data = labelled(&documents(5));
    let never = Stop::new();
    let mut seen = Vec::new();
    for (classifier, kind, gamma, penalty) in [
        (Classifier::Svm, Features::Spread, 0.5, 1.0),
        (Classifier::Svm, Features::Posterior, 0.5, 0.05),
        (Classifier::Svm, Features::Posterior, 0.5, 20.0),
        (Classifier::SvmLinear, Features::Fess, 0.5, 1.0),
        (Classifier::SvmLinear, Features::Nfess, 0.5, 0.003),
        (Classifier::SvmRbf, Features::Fess, 0.5, 1.0),
        (Classifier::SvmRbf, Features::Fess, 40.0, 1.0),
        (Classifier::SvmRbf, Features::Posterior, 0.02, 0.3),
        (Classifier::SvmRbf, Features::Posterior, 3.0, 0.3),
    ] {
        for one_model in [false, true] {
            let options = EvaluationOptions {
                classifier,
                features: Some(kind),
                gamma,
                penalty,
                one_model,
                ..options(ModelKind::Grid)
            };
            let fold = fold(&data, 40, &options);
            let [mut training, mut test] = tables(&fold, &options, kind);
            if classifier != Classifier::Svm {
                [training, test] = standardised([training, test]);
            }
            let columns = training[0].len() as f64;
            let similarity = |x: &[f64], y: &[f64]| match classifier {
                Classifier::Svm => x.iter().zip(y).map(|(x, y)| x.min(*y)).sum(),
                Classifier::SvmLinear => dot(x, y),
                _ => (-gamma * squares(x, y) / columns).exp(),
            };
            let rows = |of: &[Vec<f64>]| -> Vec<f64> {
                of.iter()
                    .flat_map(|x| training.iter().map(|y| similarity(x, y)).collect::<Vec<_>>())
                    .collect()
            };
            let machine = SupportVectors::train(
                &rows(&training),
                &fold.labels,
                3,
                &SvmOptions { penalty, ..SvmOptions::default() },
                vec![0.0; SupportVectors::<f64, Vec<f64>>::len(3, 40).unwrap()],
                &mut [0.0; 40],
            )
            .unwrap();
            let expected = with_most_frequent(&fold, |document| {
                machine.predict(&rows(&test[document..=document]), &mut [0; 3]).unwrap()
            });
            let found = predict(&fold, &options, &never).unwrap();
            assert_eq!(found, expected, "{classifier} {kind} {gamma} {penalty} {one_model}");
            seen.push(found);
        }
    }
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 8, "{} of 18 predictions differ", seen.len());
}

/// The gradient of the log-odds of two labels, of which the second is three times as frequent.
#[test]
fn tangents_of_two_labels_take_their_log_odds() {
    let mut documents = drawn(&[("ants", 12), ("bees", 36)], 5, 2);
    documents.push(Document { label: Some("cats".to_owned()), words: vec![4, 4, 5, 5, 4] });
    let data = labelled(&documents);
    let of = |features| EvaluationOptions {
        classifier: Classifier::Nearest,
        features: Some(features),
        ..options(ModelKind::Lda)
    };
    let options = of(Features::Top);
    let fold = fold(&data, 30, &options);
    let [training, test] = standardised(tables(&fold, &options, Features::Top));
    let expected = with_most_frequent(&fold, |document| {
        let distances: Vec<f64> = training.iter().map(|other| squares(&test[document], other)).collect();
        label_of_nearest(&distances, &fold.labels, 1)
    });
    assert_eq!(predict(&fold, &options, &Stop::new()).unwrap(), expected);

    let items: Vec<usize> = (0..49).collect();
    let three = data.fold(&items, &items[..2], &options).unwrap();
    let refused = predict(&three, &options, &Stop::new()).unwrap_err();
    assert!(matches!(refused, EvaluationError::Option(OptionError::TopOfTwo { labels: 3 })), "{refused}");
    assert!(predict(&three, &of(Features::Fisher), &Stop::new()).is_ok());
}

/// A label of which all documents are held out is never predicted, and others are as they were.
#[test]
fn a_label_without_training_documents_is_impossible() {
    let data = labelled(&documents(5));
    let labels = data.labels();
    let (training, test): (Vec<usize>, Vec<usize>) =
        (0..labels.len()).partition(|&item| labels[item] != 0 && item < 40);
    for (classifier, features) in [
        (Classifier::Generative, None),
        (Classifier::Labels, None),
        (Classifier::Nearest, None),
        (Classifier::Nearest, Some(Features::Fess)),
        (Classifier::Svm, None),
        (Classifier::SvmRbf, None),
        (Classifier::SvmLinear, Some(Features::Top)),
    ] {
        let options = EvaluationOptions { classifier, features, ..options(ModelKind::Grid) };
        let fold = data.fold(&training, &test, &options).unwrap();
        assert_eq!(fold.classes, 3);
        let found = predict(&fold, &options, &Stop::new()).unwrap();
        assert_eq!(found.len(), test.len());
        for class in [1, 2] {
            let of_class = found.iter().filter(|&&label| label == class).count();
            assert!(of_class > 4, "{classifier} {features:?}: {found:?}");
        }
        assert!(!found.contains(&0), "{classifier} {features:?}: {found:?}");
    }
    // All of one label: it is certain, whichever number it has.
    let only: Vec<usize> = training.iter().copied().filter(|&item| labels[item] == 2).collect();
    for class_prior in [ClassPrior::Data, ClassPrior::Uniform] {
        let options = EvaluationOptions { class_prior, ..options(ModelKind::Grid) };
        let fold = data.fold(&only, &test, &options).unwrap();
        assert_eq!(predict(&fold, &options, &Stop::new()).unwrap(), vec![2; test.len()]);
    }
}

/// Documents without a known word in blocks behind the first.
#[test]
fn the_most_frequent_label_goes_to_every_document_without_a_known_word() {
    let data = labelled(&documents(5));
    let options = EvaluationOptions { classifier: Classifier::Nearest, ..options(ModelKind::Grid) };
    let mut fold = fold(&data, 40, &options);
    let whole = predict(&fold, &options, &Stop::new()).unwrap();
    let limits = BlockLimits { bags: 3, ..BlockLimits::in_memory() };
    let mut builder = BlocksBuilder::new(fold.test.bags.features(), limits).unwrap();
    let bags = fold.test.bags.gather(|count| count).unwrap();
    (0..bags.len()).for_each(|bag| builder.push(bags.entries(bag)).unwrap());
    fold.test.bags = builder.finish().unwrap();
    assert_eq!(fold.test.bags.blocks().len(), 7);
    assert_eq!(predict(&fold, &options, &Stop::new()).unwrap(), whole);
    assert_eq!((bags.total(5), bags.total(19)), (0.0, 0.0));
    assert_eq!((whole[5], whole[19]), (1, 1));
}
