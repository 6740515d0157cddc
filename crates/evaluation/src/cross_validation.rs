use std::ops::ControlFlow;

use countgrid_classify::{ClassifyError, Confusion, Summary, folds, stratified_folds};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    Candidate, EvaluationError, LabelledData, OptionError, Protocol, Scalar, Stop,
    classifier::predict_labels, pieces::ask, zeros,
};

/// The predicted label of a document.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Prediction {
    /// Which split, from 0.
    pub repetition: usize,
    /// Which part was held out, from 0.
    pub fold: usize,
    /// Which labelled document.
    pub item: usize,
    /// Its label.
    pub label: usize,
    /// The label that was predicted.
    pub predicted: usize,
    /// Which candidate predicted it.
    pub candidate: usize,
}

/// The result of a cross-validation.
///
/// Example: [the crate's](crate).
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct CrossValidation {
    /// Of all repetitions together.
    pub confusion: Confusion<Vec<u64>>,
    /// Over repetitions.
    pub accuracies: Summary,
    /// One for each labelled document and repetition, in the order in which they were made.
    pub predictions: Vec<Prediction>,
    /// Whether it was ended early.
    pub interrupted: bool,
}

/// The unit over which a standard error is taken.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ErrorUnit {
    /// Splits: from the standard deviation of their accuracies.
    Repetitions,
    /// Documents: that of a proportion of independent trials.
    Documents,
}

impl ErrorUnit {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repetitions => "repetitions",
            Self::Documents => "documents",
        }
    }
}

impl CrossValidation {
    /// The standard error of the accuracy, and over what it is taken: over repetitions where there are some, over
    /// documents otherwise.
    #[must_use]
    pub fn standard_error(&self) -> (Option<f64>, ErrorUnit) {
        match self.accuracies.standard_error() {
            Some(error) => (Some(error), ErrorUnit::Repetitions),
            None => (self.confusion.standard_error(), ErrorUnit::Documents),
        }
    }
}

/// What a cross-validation reports to its observer.
///
/// Example: [the crate's](crate).
#[derive(Debug)]
#[non_exhaustive]
pub enum EvaluationEvent<'a> {
    /// A part was predicted, by the candidate that was chosen in inner folds.
    Fold {
        /// Which split, from 0.
        repetition: usize,
        /// Which part, from 0.
        fold: usize,
        /// How many parts there are.
        folds: usize,
        /// Which candidate was chosen.
        candidate: usize,
    },
    /// A split is done.
    Repetition {
        /// Which split, from 0.
        repetition: usize,
        /// The share of labels that were predicted.
        accuracy: f64,
        /// Of this split alone.
        confusion: &'a Confusion<Vec<u64>>,
    },
}

/// Holds out one part after the other, [`Protocol::repeats`] times. Of several candidates each fold takes the one that
/// predicts most labels in [`Protocol::inner_folds`] folds of its training part, of equals the first, so that the choice uses
/// nothing of the documents that are held out.
///
/// The observer is called after every part and repetition and may end the evaluation. `stop` ends it within a part: it is asked
/// before every block of documents of a fit, and every few documents wherever models and classifiers go through them. The
/// predictions of the parts until then are returned, as [`CrossValidation::interrupted`].
///
/// Example: [the crate's](crate).
///
/// # Errors
/// [`OptionError`] of a candidate or of the protocol; a label of fewer documents than folds
/// ([`EvaluationError::FewMembers`]); errors of fitting a model.
pub fn cross_validate<T: Scalar>(
    data: &LabelledData<T>,
    candidates: &[Candidate],
    protocol: &Protocol,
    mut observer: impl FnMut(&EvaluationEvent<'_>) -> ControlFlow<()>,
    stop: &Stop,
) -> Result<CrossValidation, EvaluationError> {
    T::cross_validate(data, candidates, protocol, &mut observer, stop)
}

pub(crate) fn hold_out_all<T: Scalar>(
    data: &LabelledData<T>,
    candidates: &[Candidate],
    protocol: &Protocol,
    observer: &mut dyn FnMut(&EvaluationEvent<'_>) -> ControlFlow<()>,
    stop: &Stop,
) -> Result<CrossValidation, EvaluationError> {
    protocol.check()?;
    if candidates.is_empty() {
        return Err(OptionError::NoCandidate.into());
    }
    for candidate in candidates {
        candidate.options.check()?;
    }
    let (labels, names) = (data.labels(), data.label_names());
    let count = protocol.parts(labels.len());
    let mut result = CrossValidation {
        confusion: confusion(names.len())?,
        accuracies: Summary::default(),
        predictions: Vec::new(),
        interrupted: false,
    };
    for repetition in 0..protocol.repeats {
        let mut rng = ChaCha8Rng::seed_from_u64(protocol.seed);
        rng.set_stream(repetition as u64 + 1);
        let fold_of = split(&labels, protocol, names, &mut rng)?;
        let mut own = confusion(names.len())?;
        for held_out in 0..count {
            let (test, training): (Vec<_>, Vec<_>) =
                (0..labels.len()).partition(|&item| fold_of[item] == held_out);
            let (chosen, found) = match hold_out(data, candidates, protocol, (&training, &test), stop) {
                Err(EvaluationError::Stopped) => {
                    result.interrupted = true;
                    return Ok(result);
                }
                found => found?,
            };
            for (&item, predicted) in test.iter().zip(found) {
                for confusion in [&mut own, &mut result.confusion] {
                    confusion.add(labels[item], predicted)?;
                }
                let (label, candidate) = (labels[item], chosen);
                result.predictions.push(Prediction {
                    repetition,
                    fold: held_out,
                    item,
                    label,
                    predicted,
                    candidate,
                });
            }
            let event = EvaluationEvent::Fold { repetition, fold: held_out, folds: count, candidate: chosen };
            if observer(&event).is_break() {
                result.interrupted = true;
                return Ok(result);
            }
        }
        if let Some(accuracy) = own.accuracy() {
            result.accuracies.add(accuracy);
            let event = EvaluationEvent::Repetition { repetition, accuracy, confusion: &own };
            if observer(&event).is_break() && repetition + 1 < protocol.repeats {
                result.interrupted = true;
                return Ok(result);
            }
        }
    }
    Ok(result)
}

/// The candidate that is chosen by a training part, and what it predicts for the other.
fn hold_out<T: Scalar>(
    data: &LabelledData<T>,
    candidates: &[Candidate],
    protocol: &Protocol,
    (training, test): (&[usize], &[usize]),
    stop: &Stop,
) -> Result<(usize, Vec<usize>), EvaluationError> {
    ask(stop)?;
    let chosen = match candidates.len() {
        1 => 0,
        _ => choose(data, candidates, protocol, training, stop)?,
    };
    let candidate = candidates.get(chosen).ok_or(OptionError::NoCandidate)?;
    let fold = data.fold(training, test, &candidate.options)?;
    Ok((chosen, predict_labels(&fold, &candidate.options, stop)?))
}

/// The candidate that predicts most labels in inner folds of a training part.
fn choose<T: Scalar>(
    data: &LabelledData<T>,
    candidates: &[Candidate],
    protocol: &Protocol,
    training: &[usize],
    stop: &Stop,
) -> Result<usize, EvaluationError> {
    let all = data.labels();
    let labels: Vec<usize> = training.iter().map(|&item| all[item]).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(protocol.seed);
    let (mut fold_of, mut scratch) = (zeros(labels.len())?, zeros(labels.len())?);
    // A class of fewer members than folds is spread as evenly as possible.
    if stratified_folds(&labels, protocol.inner_folds, &mut rng, &mut fold_of, &mut scratch).is_err() {
        folds(protocol.inner_folds, &mut rng, &mut fold_of)?;
    }
    let mut right = vec![0usize; candidates.len()];
    for held_out in 0..protocol.inner_folds {
        let part = |inside: bool| -> Vec<usize> {
            let of = |place: &usize| (fold_of[*place] == held_out) == inside;
            (0..training.len()).filter(of).map(|place| training[place]).collect()
        };
        let (test, rest) = (part(true), part(false));
        for (place, leader) in candidates.iter().enumerate() {
            if candidates[..place].iter().any(|other| other.has_same_models(leader)) {
                continue; // went with that one
            }
            ask(stop)?;
            let fold = data.fold(&rest, &test, &leader.options)?.shared();
            let equal = candidates.iter().zip(&mut right).filter(|(other, _)| other.has_same_models(leader));
            for (candidate, right) in equal {
                let found = predict_labels(&fold, &candidate.options, stop)?;
                *right += test.iter().zip(found).filter(|&(&item, found)| all[item] == found).count();
            }
        }
    }
    let most = right.iter().max().copied().unwrap_or(0);
    Ok(right.iter().position(|&right| right == most).unwrap_or(0))
}

/// The part that each labelled document is in.
fn split(
    labels: &[usize],
    protocol: &Protocol,
    names: &[String],
    rng: &mut ChaCha8Rng,
) -> Result<Vec<usize>, EvaluationError> {
    let count = protocol.parts(labels.len());
    let (mut fold, mut scratch) = (zeros(labels.len())?, zeros(labels.len())?);
    let made = if protocol.leave_one_out {
        folds(count, rng, &mut fold)
    } else {
        stratified_folds(labels, count, rng, &mut fold, &mut scratch)
    };
    made.map_err(|error| match error {
        ClassifyError::FewMembers { class, members, folds } => EvaluationError::FewMembers {
            label: names.get(class).cloned().unwrap_or_default(),
            members,
            folds,
        },
        error => EvaluationError::Classify(error),
    })?;
    Ok(fold)
}

fn confusion(classes: usize) -> Result<Confusion<Vec<u64>>, EvaluationError> {
    Ok(Confusion::new(classes, zeros(classes.saturating_mul(classes))?)?)
}
