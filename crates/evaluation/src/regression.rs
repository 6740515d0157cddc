use std::ops::ControlFlow;

use countgrid_classify::{Summary, correlation, folds};
use countgrid_grid::{Embedding, LabelSums, Readout, label_scratch_len, label_sums_len};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    EvaluationError, EvaluationOptions, Fold, LabelledData, Protocol, Scalar, Stop, models::fit_grid,
    pieces::for_each_piece, zeros,
};

/// The estimated value of a document.
///
/// Example: [`regress`](crate::regress).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Estimate {
    /// Which split, from 0.
    pub repetition: usize,
    /// Which part was held out, from 0.
    pub fold: usize,
    /// Which labelled document.
    pub item: usize,
    /// Its value.
    pub value: f64,
    /// The value that was estimated.
    pub estimated: f64,
}

/// The result of a regression on held-out documents.
///
/// Example: [`regress`](crate::regress).
#[derive(Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Regression {
    /// One for each labelled document and repetition.
    pub estimates: Vec<Estimate>,
    /// Pearson's correlation of values and estimates, over repetitions.
    pub correlations: Summary,
    /// Root of the mean squared difference of estimates and values.
    pub rms_error: f64,
    /// The same for the mean of all values in place of an estimate.
    pub rms_error_of_mean: f64,
    /// Whether it was ended early; estimates of the unfinished repetition are in no correlation.
    pub interrupted: bool,
}

/// Estimates labels that are numbers, each as the mean of those around on one grid, fitted without labels (Jojic & Perina
/// 2011, Eqs. 9 and 10, for a real target). The options say how the grid is fitted; their classifier is not used.
///
/// ```
/// use std::ops::ControlFlow;
/// use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
/// use countgrid_evaluation::{EvaluationOptions, LabelledData, Protocol, Stop, regress};
/// use countgrid_io::{Columns, read_json_lines};
///
/// // Reviews with stars.
/// let lines = "{\"label\": \"1\", \"text\": \"dull slow weak\"}\n{\"label\": \"5\", \"text\": \"bright quick strong\"}\n";
/// let documents = read_json_lines(lines.repeat(9).as_bytes(), "made.jsonl", &Columns::default())?;
/// let words = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
/// let data = LabelledData::new(Corpus::<f32>::from_documents("made", documents, &words)?, None)?;
/// let mut options = EvaluationOptions::default();
/// options.grid.extents = Some(vec![4, 4]);
/// let protocol = Protocol { folds: 3, ..Protocol::default() };
/// let result = regress(&data, &options, &protocol, |_| ControlFlow::Continue(()), &Stop::new())?;
/// assert_eq!(result.estimates.len(), 18);
/// assert!(result.rms_error < result.rms_error_of_mean);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`EvaluationError::NotANumber`] for a label that is not a finite number; those of
/// [`cross_validate`](crate::cross_validate).
pub fn regress<T: Scalar>(
    data: &LabelledData<T>,
    options: &EvaluationOptions,
    protocol: &Protocol,
    mut observer: impl FnMut(&Estimate) -> ControlFlow<()>,
    stop: &Stop,
) -> Result<Regression, EvaluationError> {
    T::regress(data, options, protocol, &mut observer, stop)
}

pub(crate) fn hold_out_all<T: Scalar>(
    data: &LabelledData<T>,
    options: &EvaluationOptions,
    protocol: &Protocol,
    observer: &mut dyn FnMut(&Estimate) -> ControlFlow<()>,
    stop: &Stop,
) -> Result<Regression, EvaluationError> {
    protocol.check()?;
    options.check()?;
    let value_of = values(data)?;
    let truth: Vec<f64> = data.labels().iter().map(|&label| value_of[label]).collect();
    let count = protocol.parts(truth.len());
    let mut result = Regression::default();
    'repetitions: for repetition in 0..protocol.repeats {
        let mut rng = ChaCha8Rng::seed_from_u64(protocol.seed);
        rng.set_stream(repetition as u64 + 1);
        let mut fold_of = zeros(truth.len())?;
        folds(count, &mut rng, &mut fold_of)?;
        let mut found: Vec<f64> = zeros(truth.len())?;
        for held_out in 0..count {
            let (test, training): (Vec<_>, Vec<_>) =
                (0..truth.len()).partition(|&item| fold_of[item] == held_out);
            let fold = data.fold(&training, &test, options)?;
            let estimates = match estimate_values(&fold, &value_of, options, stop) {
                Err(EvaluationError::Stopped) => {
                    result.interrupted = true;
                    break 'repetitions;
                }
                estimates => estimates?,
            };
            for (&item, estimated) in test.iter().zip(estimates) {
                found[item] = estimated;
                let estimate = Estimate { repetition, fold: held_out, item, value: truth[item], estimated };
                result.estimates.push(estimate);
                if observer(&estimate).is_break() {
                    result.interrupted = true;
                    break 'repetitions;
                }
            }
        }
        if let Some(r) = correlation(&truth, &found)? {
            result.correlations.add(r);
        }
    }
    let root_mean_square = |of: &dyn Fn(&Estimate) -> f64| {
        let estimates = &result.estimates;
        (estimates.iter().map(|one| of(one) * of(one)).sum::<f64>() / estimates.len().max(1) as f64).sqrt()
    };
    let mean = truth.iter().sum::<f64>() / truth.len().max(1) as f64;
    let errors =
        [root_mean_square(&|one| one.estimated - one.value), root_mean_square(&|one| one.value - mean)];
    [result.rms_error, result.rms_error_of_mean] = errors;
    Ok(result)
}

/// The labels as numbers.
fn values<T: Scalar>(data: &LabelledData<T>) -> Result<Vec<f64>, EvaluationError> {
    let value = |name: &String| {
        let value = name.trim().parse().ok().filter(|value: &f64| value.is_finite());
        value.ok_or_else(|| EvaluationError::NotANumber { label: name.clone() })
    };
    data.label_names().iter().map(value).collect()
}

/// One grid without labels; for each test document the mean value of the training documents around its position. A document
/// without a known word gets the mean of all.
fn estimate_values<T: Scalar>(
    fold: &Fold<T>,
    value_of: &[f64],
    options: &EvaluationOptions,
    stop: &Stop,
) -> Result<Vec<f64>, EvaluationError> {
    let grid = fit_grid(&fold.training.bags, options, stop)?;
    let shape = *grid.shape();
    let target = |bag: usize| fold.labels.get(bag).map(|&label| value_of[label]);
    let length = label_sums_len(&shape, 1).unwrap_or(usize::MAX);
    let mut sums = LabelSums::new(shape, 1, zeros::<f64>(length)?)?;
    let mut refused = None;
    for_each_piece(&fold.training, stop, |first, piece| {
        Ok(grid.for_each_posterior(&piece.bags, |bag, tokens, posterior| {
            if let Some(value) = target(first + bag).filter(|_| tokens > 0.0) {
                refused = refused.or(sums.add(posterior, &[value]).err());
            }
        })?)
    })?;
    let mut scratch = zeros(label_scratch_len(&shape))?;
    let embedding = Embedding::new(sums, &mut scratch)?;
    let labels = embedding.labels(Readout::Window, zeros(shape.cells())?, &mut scratch)?;
    let sum = fold.labels.iter().map(|&label| value_of[label]).sum::<f64>();
    let mean = sum / fold.labels.len().max(1) as f64;
    let (mut found, mut read) = (vec![mean; fold.test.len()], [0.0]);
    for_each_piece(&fold.test, stop, |first, piece| {
        Ok(grid.for_each_posterior(&piece.bags, |bag, tokens, posterior| {
            if tokens > 0.0 {
                refused = refused.or(labels.read(posterior, &mut read).err());
                found[first + bag] = read[0];
            }
        })?)
    })?;
    refused.map_or(Ok(found), |error| Err(error.into()))
}
