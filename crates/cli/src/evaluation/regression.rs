//! Labels that are numbers: the mean of those around, held out.

use std::time::Instant;

use countgrid_classify::{Summary, correlation, folds};
use countgrid_grid::{Embedding, LabelSums, Readout, label_scratch_len, label_sums_len};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde_json::json;

use crate::{
    args::EvaluationArgs,
    evaluation::{
        data::{Data, Fold},
        features::fitted,
    },
    failure::Failure,
    interrupt::Interrupt,
    memory::zeros,
    model::Stored,
    posteriors::for_each_posterior,
    report::Report,
};

/// What was told of one document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) repetition: usize,
    pub(crate) fold: usize,
    pub(crate) item: usize,
    pub(crate) value: f64,
    pub(crate) found: f64,
}

/// Holds out one fold after the other and reports how the values that are told correlate with those that are true.
pub(crate) fn regression<T: Stored>(
    data: &Data<T>,
    args: &EvaluationArgs,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<Vec<Estimate>, Failure> {
    let of_label = values(data)?;
    let labels = data.labels();
    let truth: Vec<f64> = labels.iter().map(|&label| of_label[label]).collect();
    let count = if args.leave_one_out { truth.len() } else { args.folds };
    let (mut all, mut correlations) = (Vec::new(), Summary::default());
    let began = Instant::now();
    for repetition in 0..args.repeats {
        let mut rng = ChaCha8Rng::seed_from_u64(args.fit.seed);
        rng.set_stream(repetition as u64 + 1);
        let mut fold_of = vec![0; truth.len()];
        folds(count, &mut rng, &mut fold_of).map_err(|error| {
            Failure::new(error, "take --folds of at least 2 and at most the number of documents")
        })?;
        let mut found = vec![0.0; truth.len()];
        for held_out in 0..count {
            let (test, training): (Vec<_>, Vec<_>) =
                (0..truth.len()).partition(|&item| fold_of[item] == held_out);
            let fold = data.fold(&training, &test, args)?;
            let estimates = estimate_values(&fold, &of_label, args, interrupt)?;
            if interrupt.requested() {
                report.note("ended early: nothing is told of the repetition that was under way");
                return Ok(all);
            }
            for (&item, estimate) in test.iter().zip(estimates) {
                found[item] = estimate;
                let value = truth[item];
                all.push(Estimate { repetition, fold: held_out, item, value, found: estimate });
            }
        }
        let internal_error = |error| Failure::new(error, "this is a bug worth a report");
        if let Some(r) = correlation(&truth, &found).map_err(internal_error)? {
            correlations.add(r);
        }
    }
    let squares = |of: &dyn Fn(&Estimate) -> f64| {
        (all.iter().map(|estimate| of(estimate) * of(estimate)).sum::<f64>() / all.len().max(1) as f64).sqrt()
    };
    let error = squares(&|estimate| estimate.found - estimate.value);
    let mean = truth.iter().sum::<f64>() / truth.len().max(1) as f64;
    let spread = squares(&|estimate| estimate.value - mean);
    let (r, r_error) = (correlations.mean(), correlations.standard_error());
    let shown = |x: Option<f64>| x.map_or("none".to_owned(), |x| format!("{x:.4}"));
    report.event(
        "correlation",
        format_args!(
            "{} (standard error {} over repetitions); root mean square error {error:.4}, of the mean {spread:.4}; {} \
             predictions, {:.1} s, seed {}",
            shown(r),
            shown(r_error),
            all.len(),
            began.elapsed().as_secs_f64(),
            args.fit.seed
        ),
        json!({
            "correlation": r, "standard_error": r_error, "rms_error": error, "rms_error_of_mean": spread,
            "predictions": all.len(), "seconds": began.elapsed().as_secs_f64(), "seed": args.fit.seed,
            "folds": (!args.leave_one_out).then_some(args.folds), "repeats": args.repeats,
        }),
    );
    Ok(all)
}

/// The number that each label is.
fn values<T: Stored>(data: &Data<T>) -> Result<Vec<f64>, Failure> {
    let value = |name: &String| {
        name.trim().parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
            Failure::new(
                format_args!("label `{name}` is no number"),
                "mend it, name another column with --label-column, or leave --numeric out",
            )
        })
    };
    data.names().iter().map(value).collect()
}

/// One grid without labels; of each test document the mean of the training documents' values where it lies. One without
/// a known word gets their mean.
///
/// Perina et al. (journal), Eqs. 9 and 10, for a real target.
fn estimate_values<T: Stored>(
    fold: &Fold<T>,
    of_label: &[f64],
    args: &EvaluationArgs,
    interrupt: &Interrupt,
) -> Result<Vec<f64>, Failure> {
    let histograms = fitted(&fold.training.bags, args, interrupt)?.histograms;
    let shape = *histograms.shape();
    let length = label_sums_len(&shape, 1).unwrap_or(usize::MAX);
    let mut sums = LabelSums::new(shape, 1, zeros::<f64>(length)?)?;
    let mean =
        fold.labels.iter().map(|&label| of_label[label]).sum::<f64>() / fold.labels.len().max(1) as f64;
    let mut refused = None;
    for_each_posterior(&histograms, &fold.training.bags, |bag, tokens, posterior| {
        if let Some(&label) = fold.labels.get(bag).filter(|_| tokens > 0.0) {
            refused = refused.or(sums.add(posterior, &[of_label[label]]).err());
        }
    })?;
    let mut scratch = zeros(label_scratch_len(&shape))?;
    let embedding = Embedding::new(sums, &mut scratch)?;
    let labels = embedding.labels(Readout::Window, zeros(shape.cells())?, &mut scratch)?;
    let (mut found, mut read) = (vec![mean; fold.test.len()], [0.0]);
    for_each_posterior(&histograms, &fold.test.bags, |bag, tokens, posterior| {
        if tokens > 0.0 {
            refused = refused.or(labels.read(posterior, &mut read).err());
            found[bag] = read[0];
        }
    })?;
    refused.map_or(Ok(found), |error| Err(error.into()))
}
