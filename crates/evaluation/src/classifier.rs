use countgrid_classify::{SupportVectors, SvmOptions, kullback_leibler, lowest, nearest, vote};
use countgrid_counts::Bags;
use countgrid_estimators::FeatureRows;
use countgrid_scores::{Similarity, Standardizer, gaussian};

use crate::{
    ClassPrior, Classifier, EvaluationError, EvaluationOptions, Features, Fold, Metric, OptionError, Part,
    Scalar, Stop,
    models::{FittedModel, fit_grid},
    pieces::{self, ask, cross_rows, for_each_piece, gram},
    zeros,
};

/// The label of each test document, below [`Fold::classes`]. One without a known word gets the most frequent label of
/// the training documents, of equals the first.
///
/// Example: [the crate's](crate).
///
/// # Errors
/// Options that do not go together; errors of fitting a model; [`EvaluationError::Stopped`] if `stop` was requested before the end.
pub fn predict<T: Scalar>(
    fold: &Fold<T>,
    options: &EvaluationOptions,
    stop: &Stop,
) -> Result<Vec<usize>, EvaluationError> {
    T::predict(fold, options, stop)
}

pub(crate) fn predict_labels<T: Scalar>(
    fold: &Fold<T>,
    options: &EvaluationOptions,
    stop: &Stop,
) -> Result<Vec<usize>, EvaluationError> {
    options.check()?;
    let run = Run { fold, options, stop };
    let features = options.features.or(options.classifier.default_features());
    let mut found = match (options.classifier, features) {
        (Classifier::Generative, _) => run.generative()?,
        (Classifier::Labels, _) => run.labels_around()?,
        (Classifier::Nearest, None) => run.nearest_on_the_torus()?,
        (Classifier::Nearest, Some(kind)) => run.nearest_by_features(kind)?,
        (machine, kind) => {
            let kernel = match machine {
                Classifier::SvmRbf => Similarity::Rbf { gamma: options.gamma },
                Classifier::SvmLinear => Similarity::Linear,
                _ => Similarity::Intersection,
            };
            run.support_vectors(kind.unwrap_or(Features::Spread), kernel)?
        }
    };
    let mut frequency = vec![0usize; fold.classes];
    fold.labels.iter().for_each(|&label| frequency[label] += 1);
    let most_frequent = (0..fold.classes).rev().max_by_key(|&class| frequency[class]).unwrap_or(0);
    fold.test.bags.for_each_block(false, |first, block| {
        for bag in 0..block.len() {
            if !(block.total(bag) > 0.0) {
                found[first + bag] = most_frequent;
            }
        }
        Ok::<_, EvaluationError>(())
    })?;
    Ok(found)
}

/// A fold with the options of a candidate.
struct Run<'a, T> {
    fold: &'a Fold<T>,
    options: &'a EvaluationOptions,
    stop: &'a Stop,
}

impl<T: Scalar> Run<'_, T> {
    fn fit(&self, part: &Part<T>) -> Result<FittedModel<T>, EvaluationError> {
        FittedModel::fit(part, self.options, self.stop)
    }

    /// A model for each class; the class with the largest joint probability with the document, by the bound: the lowest free
    /// energy, `-log p(c)`, less the log prior of the class.
    fn generative(&self) -> Result<Vec<usize>, EvaluationError> {
        let Fold { test, classes, .. } = self.fold;
        let mut all = Vec::with_capacity(*classes); // [class][document]
        for class in 0..*classes {
            let own = self.fold.class_part(class)?;
            // A class may have none: its only documents are held out.
            all.push(match own.len() {
                0 => vec![f64::INFINITY; test.len()],
                _ => pieces::free_energies(&self.fit(&own)?, test, self.stop)?,
            });
        }
        let log_prior = self.log_prior();
        let of = |bag: usize| all.iter().map(|all| all[bag]).collect::<Vec<_>>();
        Ok((0..test.len()).map(|bag| lowest(&of(bag), &log_prior).unwrap_or(0)).collect())
    }

    /// The log prior of each class, by the shares of training documents; empty for a uniform one.
    fn log_prior(&self) -> Vec<f64> {
        let (labels, classes) = (&self.fold.labels, self.fold.classes);
        match self.options.class_prior {
            ClassPrior::Data => {
                let members = |class| labels.iter().filter(|&&label| label == class).count();
                // A class without training documents has no model, and is impossible.
                let share = |class| members(class).max(1) as f64 / labels.len().max(1) as f64;
                (0..classes).map(|class| countgrid_math::ln(share(class))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// One grid without labels; the label with the largest expected share at the position of a document.
    fn labels_around(&self) -> Result<Vec<usize>, EvaluationError> {
        let Fold { training, test, labels, classes, .. } = self.fold;
        let grid = fit_grid(&training.bags, self.options, self.stop)?;
        let label_of = |document: usize| labels.get(document).copied();
        let Some(labels) = grid.label_shares(&training.bags, *classes, label_of)? else {
            return Ok(vec![0; test.len()]);
        };
        let (mut found, mut shares) = (zeros(test.len())?, zeros::<f64>(*classes)?);
        let mut refused = None;
        for_each_piece(test, self.stop, |first, piece| {
            Ok(grid.for_each_posterior(&piece.bags, |bag, _, posterior| {
                refused = refused.or(labels.read(posterior, &mut shares).err());
                // The largest share is the lowest negative one.
                shares.iter_mut().for_each(|share| *share = -*share);
                found[first + bag] = lowest(&shares, &[]).unwrap_or(0);
            })?)
        })?;
        refused.map_or(Ok(found), |error| Err(EvaluationError::Estimator(error.into())))
    }

    /// One grid without labels; the label of the training documents whose windows start nearest on the torus.
    fn nearest_on_the_torus(&self) -> Result<Vec<usize>, EvaluationError> {
        let Fold { training, test, labels, classes, .. } = self.fold;
        let grid = fit_grid(&training.bags, self.options, self.stop)?;
        let torus = *grid.shape().windows().torus();
        let modes = |part: &Part<T>| -> Result<Vec<Option<usize>>, EvaluationError> {
            let mut modes = vec![None; part.len()];
            for_each_piece(part, self.stop, |first, piece| {
                Ok(grid.for_each_posterior(&piece.bags, |bag, tokens, posterior| {
                    modes[first + bag] = (tokens > 0.0).then(|| posterior.mode());
                })?)
            })?;
            Ok(modes)
        };
        let training = modes(training)?;
        let mut near = zeros(self.options.neighbours.min(training.len()))?;
        let mut votes = zeros(*classes)?;
        let mut label = |mode: Option<usize>| {
            let mode = mode?;
            let distance = |(item, other): (usize, &Option<usize>)| {
                Some((item, torus.distance_squared(mode, (*other)?)))
            };
            let found = nearest(training.iter().enumerate().filter_map(distance), &mut near);
            vote(found.iter().filter_map(|&(item, _)| labels.get(item).copied()), &mut votes)
        };
        let found = modes(test)?.into_iter().map(|mode| {
            ask(self.stop)?;
            Ok(label(mode).unwrap_or(0))
        });
        found.collect()
    }

    /// Features of training and test documents, computed once for all candidates of the same models.
    fn features(&self, kind: Features) -> Result<(FeatureRows, FeatureRows), EvaluationError> {
        let known = self.fold.features.borrow().iter().find(|(known, _)| *known == kind).cloned();
        if let Some((_, tables)) = known {
            return Ok(tables);
        }
        let tables = self.compute_features(kind)?;
        if self.fold.shared {
            self.fold.features.borrow_mut().push((kind, tables.clone()));
        }
        Ok(tables)
    }

    /// Features of training and test documents: of one model without labels, or of one for each class side by side
    /// where they are terms of a free energy (Perina et al. 2009, Eq. 7).
    fn compute_features(&self, kind: Features) -> Result<(FeatureRows, FeatureRows), EvaluationError> {
        let Fold { training, test, classes, .. } = self.fold;
        if !kind.per_class() || self.options.one_model {
            let model = self.fit(training)?;
            let of = |part| pieces::features(&model, kind, part, self.stop);
            return Ok((of(training)?, of(test)?));
        }
        let mut models = Vec::with_capacity(*classes);
        for class in 0..*classes {
            let own = self.fold.class_part(class)?;
            if !own.is_empty() {
                models.push((own.len() as f64, self.fit(&own)?));
            }
        }
        if kind == Features::Top {
            let [(minus, first), (plus, second)] = models.as_slice() else {
                return Err(OptionError::TopOfTwo { labels: models.len() }.into());
            };
            let log_odds = countgrid_math::ln(plus / minus);
            let of = |part| pieces::tangents([second, first], log_odds, part, self.stop);
            return Ok((of(training)?, of(test)?));
        }
        let side_by_side = |part: &Part<T>| {
            let tables = models.iter().map(|(_, model)| pieces::features(model, kind, part, self.stop));
            let tables = tables.collect::<Result<Vec<_>, EvaluationError>>()?;
            Ok::<_, EvaluationError>(FeatureRows::concatenate_columns(&tables, part.len())?)
        };
        Ok((side_by_side(training)?, side_by_side(test)?))
    }

    /// The label of the training documents with the nearest features: by Euclidean distance of standardised terms; for
    /// posteriors by the chosen metric, by default Kullback-Leibler divergence for proportions, Euclidean distance for
    /// others.
    fn nearest_by_features(&self, kind: Features) -> Result<Vec<usize>, EvaluationError> {
        let (mut training, mut test) = self.features(kind)?;
        let linear = self.options.model.is_linear();
        let default = if linear { Metric::Euclidean } else { Metric::Divergence };
        let metric =
            if kind.per_class() { Metric::Euclidean } else { self.options.metric.unwrap_or(default) };
        if kind.per_class() {
            standardise(&mut training, &mut test)?;
        } else if metric == Metric::Divergence {
            // A divergence from a posterior that is zero somewhere would be infinite: a hundredth is spread evenly.
            for table in [&mut training, &mut test] {
                let even = 0.01 / table.columns.max(1) as f64;
                table.values.iter_mut().for_each(|x| *x = 0.99 * *x + even);
            }
        }
        let columns = training.columns.max(1);
        let mut near = zeros(self.options.neighbours.min(row_count(&training)))?;
        let mut votes = zeros(self.fold.classes)?;
        let mut predicted = Vec::with_capacity(self.fold.test.len());
        for row in test.values.chunks_exact(columns) {
            ask(self.stop)?;
            let mut refused = None;
            let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            let mut distance = |other: &[f64]| match metric {
                Metric::Euclidean => row.iter().zip(other).map(|(x, y)| (x - y) * (x - y)).sum(),
                Metric::Cosine => {
                    let lengths = (dot(row, row) * dot(other, other)).sqrt();
                    if lengths > 0.0 { 1.0 - dot(row, other) / lengths } else { 1.0 }
                }
                Metric::Divergence => kullback_leibler(row, other).unwrap_or_else(|error| {
                    refused = Some(error);
                    f64::INFINITY
                }),
            };
            let others = training.values.chunks_exact(columns).enumerate();
            let distances: Vec<_> = others.map(|(item, other)| (item, distance(other))).collect();
            if let Some(error) = refused {
                return Err(error.into());
            }
            let found = nearest(distances, &mut near);
            let labels = found.iter().filter_map(|&(item, _)| self.fold.labels.get(item).copied());
            predicted.push(vote(labels, &mut votes).unwrap_or(0));
        }
        Ok(predicted)
    }

    /// A support vector machine on the similarities of features.
    fn support_vectors(
        &self,
        kind: Features,
        similarity: Similarity<f64>,
    ) -> Result<Vec<usize>, EvaluationError> {
        let kernels = self.kernels(kind, similarity)?;
        let items = self.fold.training.len();
        // A class of which all documents are held out cannot be predicted.
        let mut known: Vec<usize> = self.fold.labels.clone();
        known.sort_unstable();
        known.dedup();
        let labels: Vec<usize> =
            self.fold.labels.iter().filter_map(|label| known.binary_search(label).ok()).collect();
        let length = SupportVectors::<f64, Vec<f64>>::len(known.len(), items).unwrap_or(usize::MAX);
        let options = SvmOptions { penalty: self.options.penalty, ..SvmOptions::default() };
        ask(self.stop)?;
        let machine = SupportVectors::train(
            &kernels.training,
            &labels,
            known.len(),
            &options,
            zeros(length)?,
            &mut zeros(items)?,
        )?;
        let mut votes = zeros(known.len())?;
        let rows = kernels.test.chunks_exact(items.max(1));
        rows.map(|similar| {
            ask(self.stop)?;
            let class = machine.predict(similar, &mut votes)?;
            Ok(known.get(class).copied().unwrap_or(0))
        })
        .collect()
    }

    /// The similarities of documents. The part that does not depend on a kernel's width is kept for the next candidate, if
    /// there are several.
    fn kernels(
        &self,
        kind: Features,
        similarity: Similarity<f64>,
    ) -> Result<KernelMatrices, EvaluationError> {
        let (similarity, gamma) = match similarity {
            Similarity::Rbf { gamma } => (Similarity::SquaredDistance, Some(gamma)),
            other => (other, None),
        };
        let known = self.fold.kernels.borrow_mut().take();
        let known = known.filter(|known| (known.kind, known.similarity) == (kind, similarity));
        let mut kernels = match known {
            Some(known) => known,
            None => KernelMatrices::new(kind, similarity, self.features(kind)?, self.stop)?,
        };
        if self.fold.shared {
            *self.fold.kernels.borrow_mut() = Some(kernels.clone());
        }
        if let Some(gamma) = gamma {
            // The mean over columns, so that one gamma suits any number of features.
            let gamma = gamma / kernels.columns.max(1) as f64;
            for matrix in [&mut kernels.training, &mut kernels.test] {
                gaussian(gamma, matrix)?;
            }
        }
        Ok(kernels)
    }
}

/// Number of documents.
fn row_count(rows: &FeatureRows) -> usize {
    rows.values.len() / rows.columns.max(1)
}

/// Standardises both by the means and deviations of the training rows alone.
fn standardise(training: &mut FeatureRows, test: &mut FeatureRows) -> Result<(), EvaluationError> {
    if training.columns == 0 {
        return Ok(());
    }
    let standard = Standardizer::fit(&training.values, zeros(training.columns.saturating_mul(2))?)?;
    standard.apply(&mut training.values)?;
    Ok(standard.apply(&mut test.values)?)
}

/// The similarities of the features of documents.
#[derive(Clone, Debug)]
pub(crate) struct KernelMatrices {
    kind: Features,
    similarity: Similarity<f64>,
    columns: usize,     // of the features
    training: Vec<f64>, // [training document][training document]
    test: Vec<f64>,     // [test document][training document]
}

impl KernelMatrices {
    fn new(
        kind: Features,
        similarity: Similarity<f64>,
        (mut training, mut test): (FeatureRows, FeatureRows),
        stop: &Stop,
    ) -> Result<Self, EvaluationError> {
        if similarity != Similarity::Intersection {
            standardise(&mut training, &mut test)?;
        }
        let columns = training.columns;
        let [items, others] = [row_count(&training), row_count(&test)];
        let mut matrices =
            [zeros::<f64>(items.saturating_mul(items))?, zeros::<f64>(others.saturating_mul(items))?];
        let [square, other] = &mut matrices;
        gram(similarity, columns, &training.values, square, stop)?;
        cross_rows(similarity, columns, &test.values, &training.values, other, stop)?;
        let [training, test] = matrices;
        Ok(Self { kind, similarity, columns, training, test })
    }
}

#[cfg(test)]
mod tests {
    use countgrid_corpus::{BlockLimits, BlocksBuilder};

    use super::*;
    use crate::ModelKind;

    /// Documents of three labels, of which each has a word more often than the others.
    fn part(documents: usize, noise: usize) -> Part<f64> {
        let mut builder = BlocksBuilder::new(6, BlockLimits::in_memory()).unwrap();
        for n in 0..documents {
            let other = n * (n + noise) % 5;
            builder.push([(n % 3, 3.0), (3 + n % 3, 1.0), (other, 1.0 + (n * noise % 4) as f64)]).unwrap();
        }
        Part { bags: builder.finish().unwrap(), sequences: None }
    }

    fn fold() -> Fold<f64> {
        Fold {
            training: part(30, 7),
            labels: (0..30).map(|n| n % 3).collect(),
            test: part(24, 3),
            classes: 3,
            shared: false,
            features: Default::default(),
            kernels: Default::default(),
        }
    }

    /// What is kept for the next candidate is that of its features and its similarity, and is computed once.
    #[test]
    fn what_candidates_share_is_what_each_computes_alone() {
        let never = Stop::new();
        let shared = fold().shared();
        for (n, (classifier, kind, gamma, kept)) in [
            (Classifier::SvmRbf, Features::Fess, 0.5, 1),
            (Classifier::SvmRbf, Features::Fess, 9.0, 1),
            (Classifier::SvmLinear, Features::Fess, 0.5, 1),
            (Classifier::Svm, Features::Posterior, 0.5, 2),
            (Classifier::Svm, Features::Spread, 0.5, 3),
            (Classifier::Nearest, Features::Posterior, 0.5, 3),
            (Classifier::SvmLinear, Features::Spread, 0.5, 3),
            (Classifier::SvmLinear, Features::FessWords, 0.5, 4),
        ]
        .into_iter()
        .enumerate()
        {
            let mut options =
                EvaluationOptions { classifier, features: Some(kind), gamma, ..EvaluationOptions::default() };
            options.model = ModelKind::Grid;
            (options.grid.extents, options.grid.window) = (Some(vec![3, 3]), Some(vec![2, 2]));
            options.grid.iterations = 5;
            let alone = fold();
            let [one, other] = [&alone, &shared].map(|fold| {
                let run = Run { fold, options: &options, stop: &never };
                let similarity = match classifier {
                    Classifier::SvmRbf => Similarity::Rbf { gamma },
                    Classifier::SvmLinear => Similarity::Linear,
                    _ => Similarity::Intersection,
                };
                let found = predict_labels(fold, &options, &never).unwrap();
                let kernels =
                    (classifier != Classifier::Nearest).then(|| run.kernels(kind, similarity).unwrap());
                (found, run.features(kind).unwrap(), kernels.map(|own| [own.training, own.test]))
            });
            assert!(one == other, "{n}: {classifier} {kind}");
            assert!(alone.features.borrow().is_empty() && alone.kernels.borrow().is_none());
            assert_eq!(shared.features.borrow().len(), kept, "{n}: {classifier} {kind}");
            assert!(shared.kernels.borrow().is_some());
        }
    }

    #[test]
    fn rows_without_columns_are_not_standardised() {
        let [mut training, mut test] = [FeatureRows::default(), FeatureRows::default()];
        standardise(&mut training, &mut test).unwrap();
        assert_eq!((training, test), (FeatureRows::default(), FeatureRows::default()));
    }
}
