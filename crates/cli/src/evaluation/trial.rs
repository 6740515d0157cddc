//! Folds that are held out in turn, and the choice among candidates inside of each.

use countgrid_classify::{ClassifyError, Confusion, Summary, folds, stratified_folds};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde_json::{Value, json};

use crate::{
    args::EvaluationArgs,
    evaluation::{Candidate, Data, classifier::predict},
    failure::Failure,
    interrupt::Interrupt,
    model::Stored,
    report::Report,
};

/// What was told of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prediction {
    pub(crate) repetition: usize,
    pub(crate) fold: usize,
    pub(crate) item: usize,
    pub(crate) label: usize,
    pub(crate) found: usize,
    /// Which candidate told it.
    pub(crate) candidate: usize,
}

/// How a cross-validation came out.
#[derive(Debug)]
pub(crate) struct Trial {
    /// Of all repetitions together.
    pub(crate) confusion: Confusion<Vec<u64>>,
    /// Over repetitions.
    pub(crate) accuracies: Summary,
    pub(crate) predictions: Vec<Prediction>,
    /// Whether it was ended early.
    pub(crate) interrupted: bool,
}

impl Trial {
    /// The standard error of the accuracy, and over what it is taken: over repetitions where there are some, over
    /// documents otherwise.
    pub(crate) fn standard_error(&self) -> (Option<f64>, &'static str) {
        match self.accuracies.standard_error() {
            Some(error) => (Some(error), "repetitions"),
            None => (self.confusion.standard_error(), "documents"),
        }
    }
}

/// Holds out one fold after the other, `args.repeats` times over. Of several candidates the one is taken in each fold
/// that tells most labels in `args.inner_folds` folds of the training part alone, of equals the first.
pub(crate) fn trial<T: Stored>(
    data: &Data<T>,
    candidates: &[Candidate],
    args: &EvaluationArgs,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<Trial, Failure> {
    let (labels, names) = (data.labels(), data.names());
    let count = if args.leave_one_out { labels.len() } else { args.folds };
    let mut trial = Trial {
        confusion: confusion(names.len())?,
        accuracies: Summary::default(),
        predictions: Vec::new(),
        interrupted: false,
    };
    for repetition in 0..args.repeats {
        let mut rng = ChaCha8Rng::seed_from_u64(args.fit.seed);
        rng.set_stream(repetition as u64 + 1);
        let fold_of = split(&labels, count, names, args.leave_one_out, &mut rng)?;
        let mut own = confusion(names.len())?;
        for held_out in 0..count {
            let (test, training): (Vec<_>, Vec<_>) =
                (0..labels.len()).partition(|&item| fold_of[item] == held_out);
            let chosen = match candidates.len() {
                0 | 1 => Some(0),
                _ => choose(data, candidates, args, &training, interrupt)?,
            };
            let choice = match chosen.and_then(|chosen| Some((chosen, candidates.get(chosen)?))) {
                Some((chosen, candidate)) => {
                    let fold = data.fold(&training, &test, &candidate.args)?;
                    Some((chosen, candidate, predict(&fold, &candidate.args, interrupt)?))
                }
                None => None,
            };
            let Some((chosen, candidate, found)) = choice.filter(|_| !interrupt.requested()) else {
                report.note("ended early: what follows is of the folds before");
                trial.interrupted = true;
                return Ok(trial);
            };
            for (&item, found) in test.iter().zip(found) {
                for confusion in [&mut own, &mut trial.confusion] {
                    confusion.add(labels[item], found).map_err(internal_error)?;
                }
                trial.predictions.push(Prediction {
                    repetition,
                    fold: held_out,
                    item,
                    label: labels[item],
                    found,
                    candidate: chosen,
                });
            }
            if candidates.len() > 1 {
                report.event(
                    "fold",
                    format_args!("{} of {count}: {}", held_out + 1, candidate.name()),
                    json!({ "repeat": repetition + 1, "fold": held_out + 1, "chosen": candidate.name() }),
                );
            }
        }
        if let Some(accuracy) = own.accuracy() {
            trial.accuracies.add(accuracy);
            report.event(
                "repeat",
                format_args!("{} of {}: accuracy {:.2} %", repetition + 1, args.repeats, 100.0 * accuracy),
                json!({ "repeat": repetition + 1, "accuracy": accuracy, "confusion": rows(&own, names) }),
            );
        }
    }
    Ok(trial)
}

/// The candidate that tells most labels inside a training part; none if it was interrupted.
fn choose<T: Stored>(
    data: &Data<T>,
    candidates: &[Candidate],
    args: &EvaluationArgs,
    training: &[usize],
    interrupt: &Interrupt,
) -> Result<Option<usize>, Failure> {
    let all = data.labels();
    let labels: Vec<usize> = training.iter().map(|&item| all[item]).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(args.fit.seed);
    let (mut fold_of, mut scratch) = (vec![0; labels.len()], vec![0; labels.len()]);
    // A class of fewer members than folds is spread as evenly as it goes.
    if stratified_folds(&labels, args.inner_folds, &mut rng, &mut fold_of, &mut scratch).is_err() {
        folds(args.inner_folds, &mut rng, &mut fold_of)
            .map_err(|error| Failure::new(error, "take fewer --inner-folds"))?;
    }
    let mut right = vec![0usize; candidates.len()];
    for held_out in 0..args.inner_folds {
        let part = |inside: bool| -> Vec<usize> {
            let of = |place: &usize| (fold_of[*place] == held_out) == inside;
            (0..training.len()).filter(of).map(|place| training[place]).collect()
        };
        let (test, rest) = (part(true), part(false));
        for (place, leader) in candidates.iter().enumerate() {
            let early = leader.early();
            if candidates[..place].iter().any(|other| other.early() == early) {
                continue; // went with that one
            }
            let fold = data.fold(&rest, &test, &leader.args)?;
            let equal = candidates.iter().zip(&mut right).filter(|(other, _)| other.early() == early);
            for (candidate, right) in equal {
                let found = predict(&fold, &candidate.args, interrupt)?;
                if interrupt.requested() {
                    return Ok(None);
                }
                *right += test.iter().zip(found).filter(|&(&item, found)| all[item] == found).count();
            }
        }
    }
    let most = right.iter().max().copied().unwrap_or(0);
    Ok(right.iter().position(|&right| right == most))
}

/// The fold of each labelled document.
fn split(
    labels: &[usize],
    count: usize,
    names: &[String],
    leave_one_out: bool,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<usize>, Failure> {
    let (mut fold, mut scratch) = (vec![0; labels.len()], vec![0; labels.len()]);
    let made = if leave_one_out {
        folds(count, rng, &mut fold)
    } else {
        stratified_folds(labels, count, rng, &mut fold, &mut scratch)
    };
    made.map_err(|error| match error {
        ClassifyError::FewMembers { class, members, folds } => Failure::new(
            format_args!(
                "label `{}` has {members} documents and there are {folds} folds",
                names.get(class).map_or("", String::as_str)
            ),
            "take fewer --folds, or --leave-one-out",
        ),
        error => Failure::new(error, "take --folds of at least 2 and at most the number of documents"),
    })?;
    Ok(fold)
}

fn confusion(classes: usize) -> Result<Confusion<Vec<u64>>, Failure> {
    Confusion::new(classes, vec![0; classes * classes]).map_err(internal_error)
}

fn internal_error(error: ClassifyError) -> Failure {
    Failure::new(error, "this is a bug worth a report")
}

/// The rows of a confusion matrix.
pub(crate) fn rows(confusion: &Confusion<Vec<u64>>, names: &[String]) -> Value {
    confusion.counts().chunks(names.len()).map(|row| json!(row)).collect()
}
