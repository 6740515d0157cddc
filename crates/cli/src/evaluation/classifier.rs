//! Ways to tell the label of a document.

use countgrid_classify::{
    ClassifyError, SupportVectors, SvmOptions, kullback_leibler, lowest, nearest, vote,
};
use countgrid_counts::Bags;
use countgrid_scores::{Similarity, cross, gaussian, gram};

use crate::{
    args::{Classifier, EvaluationArgs, Features, Metric},
    evaluation::{
        data::Fold,
        features::{Rows, fitted},
        models::{Model, Part},
    },
    failure::Failure,
    interrupt::Interrupt,
    labels::embed,
    memory::zeros,
    model::Stored,
    posteriors::for_each_posterior,
    store::Store,
};

/// The label of each test document. One without a known word gets the most frequent label of the training documents,
/// of equals the first.
pub(crate) fn predict<T: Stored>(
    fold: &Fold<T>,
    args: &EvaluationArgs,
    interrupt: &Interrupt,
) -> Result<Vec<usize>, Failure> {
    let mut found = match (args.classifier, args.features) {
        (Classifier::Generative, _) => fold.generative(args, interrupt)?,
        (Classifier::Labels, _) => fold.labels_around(args, interrupt)?,
        (Classifier::Nearest, None) => fold.nearest_on_the_torus(args, interrupt)?,
        (Classifier::Nearest, Some(kind)) => fold.nearest_by_features(kind, args, interrupt)?,
        (Classifier::Svm, kind) => {
            fold.support_vectors(kind.unwrap_or(Features::Spread), Similarity::Intersection, args, interrupt)?
        }
        (Classifier::SvmLinear, kind) => {
            fold.support_vectors(kind.unwrap_or(Features::Fess), Similarity::Linear, args, interrupt)?
        }
        (Classifier::SvmRbf, kind) => {
            let gaussian = Similarity::Rbf { gamma: args.gamma };
            fold.support_vectors(kind.unwrap_or(Features::Fess), gaussian, args, interrupt)?
        }
    };
    let mut frequency = vec![0usize; fold.classes];
    fold.labels.iter().for_each(|&label| frequency[label] += 1);
    let usual = (0..fold.classes).rev().max_by_key(|&class| frequency[class]).unwrap_or(0);
    fold.test.bags.each(false, |first, block| {
        for bag in 0..block.len() {
            if !(block.total(bag) > 0.0) {
                found[first + bag] = usual;
            }
        }
        Ok::<_, Failure>(())
    })?;
    Ok(found)
}

fn internal_error(error: ClassifyError) -> Failure {
    Failure::new(error, "this is a bug worth a report")
}

impl<T: Stored> Fold<T> {
    /// A model for each class; the class whose model has the lowest free energy, `-log p(c)`.
    fn generative(&self, args: &EvaluationArgs, interrupt: &Interrupt) -> Result<Vec<usize>, Failure> {
        let mut all = Vec::with_capacity(self.classes); // [class][document]
        for class in 0..self.classes {
            let own = self.class_part(class)?;
            // A class may have none: its only documents are held out.
            all.push(match own.len() {
                0 => vec![f64::INFINITY; self.test.len()],
                _ => Model::fitted(&own, args, interrupt)?.free_energies(&self.test)?,
            });
        }
        let of = |bag: usize| all.iter().map(|all| all[bag]).collect::<Vec<_>>();
        Ok((0..self.test.len()).map(|bag| lowest(&of(bag), &[]).unwrap_or(0)).collect())
    }

    fn class_part(&self, class: usize) -> Result<Part<T>, Failure> {
        self.training.filter(|place| self.labels.get(place) == Some(&class))
    }

    /// One grid without labels; the label that is most expected where a document lies.
    fn labels_around(&self, args: &EvaluationArgs, interrupt: &Interrupt) -> Result<Vec<usize>, Failure> {
        let histograms = fitted(&self.training.bags, args, interrupt)?.histograms;
        let label_of = |document: usize| self.labels.get(document).copied();
        let Some(labels) = embed(&histograms, &self.training.bags, self.classes, label_of)? else {
            return Ok(vec![0; self.test.len()]);
        };
        let (mut found, mut shares) = (vec![0; self.test.len()], vec![0.0; self.classes]);
        let mut refused = None;
        for_each_posterior(&histograms, &self.test.bags, |bag, _, posterior| {
            refused = refused.or(labels.read(posterior, &mut shares).err());
            // The largest share is the lowest negative one.
            shares.iter_mut().for_each(|share| *share = -*share);
            found[bag] = lowest(&shares, &[]).unwrap_or(0);
        })?;
        refused.map_or(Ok(found), |error| Err(error.into()))
    }

    /// One grid without labels; the label of the training documents whose windows start nearest on the torus.
    fn nearest_on_the_torus(
        &self,
        args: &EvaluationArgs,
        interrupt: &Interrupt,
    ) -> Result<Vec<usize>, Failure> {
        let histograms = fitted(&self.training.bags, args, interrupt)?.histograms;
        let torus = *histograms.shape().windows().torus();
        let modes = |bags: &Store<T>| -> Result<Vec<Option<usize>>, Failure> {
            let mut modes = vec![None; bags.len()];
            for_each_posterior(&histograms, bags, |bag, tokens, posterior| {
                modes[bag] = (tokens > 0.0).then(|| posterior.mode());
            })?;
            Ok(modes)
        };
        let (training, mut near) = (modes(&self.training.bags)?, vec![(0, 0); args.neighbours]);
        let mut votes = vec![0; self.classes];
        let mut label = |mode: Option<usize>| {
            let mode = mode?;
            let distance = |(item, other): (usize, &Option<usize>)| {
                Some((item, torus.distance_squared(mode, (*other)?)))
            };
            let found = nearest(training.iter().enumerate().filter_map(distance), &mut near);
            vote(found.iter().filter_map(|&(item, _)| self.labels.get(item).copied()), &mut votes)
        };
        Ok(modes(&self.test.bags)?.into_iter().map(|mode| label(mode).unwrap_or(0)).collect())
    }

    /// Features of training and test documents, computed once: whoever asks again has the same models.
    fn rows(
        &self,
        kind: Features,
        args: &EvaluationArgs,
        interrupt: &Interrupt,
    ) -> Result<(Rows, Rows), Failure> {
        let known = self.rows.borrow().iter().find(|(known, _)| *known == kind).map(|(_, rows)| rows.clone());
        if let Some(rows) = known {
            return Ok(rows);
        }
        let rows = self.compute_rows(kind, args, interrupt)?;
        self.rows.borrow_mut().push((kind, rows.clone()));
        Ok(rows)
    }

    /// Features of training and test documents: of one model without labels, or of one for each class side by side
    /// where they are terms of a free energy (Perina et al. 2009, Eq. 7).
    fn compute_rows(
        &self,
        kind: Features,
        args: &EvaluationArgs,
        interrupt: &Interrupt,
    ) -> Result<(Rows, Rows), Failure> {
        if !kind.of_each_class() || args.one_model {
            let model = Model::fitted(&self.training, args, interrupt)?;
            return Ok((model.features(kind, &self.training)?, model.features(kind, &self.test)?));
        }
        let mut models = Vec::with_capacity(self.classes);
        for class in 0..self.classes {
            let own = self.class_part(class)?;
            if own.len() > 0 {
                models.push((own.len() as f64, Model::fitted(&own, args, interrupt)?));
            }
        }
        if kind == Features::Top {
            let [(minus, first), (plus, second)] = models.as_slice() else {
                return Err(Failure::new(
                    format_args!("--features top are of two labels, and there are {}", models.len()),
                    "take --features fisher",
                ));
            };
            let of = |part| Model::tangents([second, first], countgrid_math::ln(plus / minus), part);
            return Ok((of(&self.training)?, of(&self.test)?));
        }
        let (mut training, mut test) = (Vec::new(), Vec::new());
        for (_, model) in &models {
            training.push(model.features(kind, &self.training)?);
            test.push(model.features(kind, &self.test)?);
        }
        Ok((
            Rows::concatenate_columns(&training, self.training.len())?,
            Rows::concatenate_columns(&test, self.test.len())?,
        ))
    }

    /// The label of the training documents with the nearest features: by Euclidean distance of standardised terms; of
    /// posteriors by `--metric`, by itself Kullback-Leibler divergence of proportions, Euclidean distance of others.
    fn nearest_by_features(
        &self,
        kind: Features,
        args: &EvaluationArgs,
        interrupt: &Interrupt,
    ) -> Result<Vec<usize>, Failure> {
        let (mut training, mut test) = self.rows(kind, args, interrupt)?;
        let usual = if args.model.is_linear() { Metric::Euclidean } else { Metric::Divergence };
        let metric = if kind.of_each_class() { Metric::Euclidean } else { args.metric.unwrap_or(usual) };
        if kind.of_each_class() {
            Rows::standardise(&mut training, &mut test)?;
        } else if metric == Metric::Divergence {
            // A divergence from a posterior that is zero somewhere would be infinite: a hundredth is spread evenly.
            for rows in [&mut training, &mut test] {
                let even = 0.01 / rows.columns.max(1) as f64;
                rows.values.iter_mut().for_each(|x| *x = 0.99 * *x + even);
            }
        }
        let columns = training.columns.max(1);
        let (mut near, mut votes) = (vec![(0, 0.0); args.neighbours], vec![0; self.classes]);
        let mut predicted = Vec::with_capacity(self.test.len());
        for row in test.values.chunks_exact(columns) {
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
                return Err(internal_error(error));
            }
            let found = nearest(distances, &mut near);
            let labels = found.iter().filter_map(|&(item, _)| self.labels.get(item).copied());
            predicted.push(vote(labels, &mut votes).unwrap_or(0));
        }
        Ok(predicted)
    }

    /// A support vector machine on the similarities of features.
    fn support_vectors(
        &self,
        kind: Features,
        kernel: Similarity<f64>,
        args: &EvaluationArgs,
        interrupt: &Interrupt,
    ) -> Result<Vec<usize>, Failure> {
        let kernels = self.kernels(kind, kernel, args, interrupt)?;
        let items = self.training.len();
        // Classes of which all documents are held out cannot be found.
        let mut known: Vec<usize> = self.labels.clone();
        known.sort_unstable();
        known.dedup();
        let labels: Vec<usize> =
            self.labels.iter().filter_map(|label| known.binary_search(label).ok()).collect();
        let length = SupportVectors::<f64, Vec<f64>>::len(known.len(), items).unwrap_or(usize::MAX);
        let options = SvmOptions { penalty: args.penalty, ..SvmOptions::default() };
        let machine = SupportVectors::train(
            &kernels.training,
            &labels,
            known.len(),
            &options,
            zeros(length)?,
            &mut zeros(items)?,
        )
        .map_err(|error| Failure::new(error, "take a --penalty above 0"))?;
        let mut votes = vec![0; known.len()];
        let rows = kernels.test.chunks_exact(items.max(1));
        rows.map(|similar| {
            let class = machine.predict(similar, &mut votes).map_err(internal_error)?;
            Ok(known.get(class).copied().unwrap_or(0))
        })
        .collect()
    }

    /// How alike documents are. What of it does not depend on a kernel's width is kept for whoever asks next, if there is
    /// something to try.
    fn kernels(
        &self,
        kind: Features,
        kernel: Similarity<f64>,
        args: &EvaluationArgs,
        interrupt: &Interrupt,
    ) -> Result<KernelCache, Failure> {
        let (similarity, gamma) = match kernel {
            Similarity::Rbf { gamma } => (Similarity::SquaredDistance, Some(gamma)),
            other => (other, None),
        };
        let known = self.kernels.borrow_mut().take().filter(|known| known.matches(kind, similarity));
        let mut kernels = match known {
            Some(known) => known,
            None => KernelCache::new(kind, similarity, self.rows(kind, args, interrupt)?)?,
        };
        if !args.tries.is_empty() {
            *self.kernels.borrow_mut() = Some(kernels.clone());
        }
        if let Some(gamma) = gamma {
            // Of the mean over columns, so that one gamma suits features of any number.
            let gamma = gamma / kernels.columns.max(1) as f64;
            for matrix in [&mut kernels.training, &mut kernels.test] {
                gaussian(gamma, matrix).map_err(|error| Failure::new(error, "take a --gamma above 0"))?;
            }
        }
        Ok(kernels)
    }
}

/// How alike the features of documents are.
#[derive(Clone, Debug)]
pub(crate) struct KernelCache {
    kind: Features,
    similarity: Similarity<f64>,
    columns: usize,     // of the features
    training: Vec<f64>, // [training document][training document]
    test: Vec<f64>,     // [test document][training document]
}

impl KernelCache {
    fn matches(&self, kind: Features, similarity: Similarity<f64>) -> bool {
        (self.kind, self.similarity) == (kind, similarity)
    }

    fn new(
        kind: Features,
        similarity: Similarity<f64>,
        (mut training, mut test): (Rows, Rows),
    ) -> Result<Self, Failure> {
        if similarity != Similarity::Intersection {
            Rows::standardise(&mut training, &mut test)?;
        }
        let columns = training.columns;
        let [items, others] = [&training, &test].map(|rows| rows.values.len() / columns.max(1));
        let refused = |error| match similarity {
            Similarity::Intersection => Failure::new(error, "take --features that are not negative"),
            _ => Failure::new(error, "take other --features"),
        };
        let mut matrices =
            [zeros::<f64>(items.saturating_mul(items))?, zeros::<f64>(others.saturating_mul(items))?];
        let [square, other] = &mut matrices;
        gram(similarity, columns, &training.values, square).map_err(refused)?;
        cross(similarity, columns, &test.values, &training.values, other).map_err(refused)?;
        let [training, test] = matrices;
        Ok(Self { kind, similarity, columns, training, test })
    }
}
