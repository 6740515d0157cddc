//! `countgrid crossval`: how well labels of held-out documents are predicted.

use std::{collections::BTreeMap, io, ops::ControlFlow, path::Path, time::Instant};

use countgrid_classify::Confusion;
use countgrid_corpus::SequenceCorpus;
use countgrid_evaluation::{
    Candidate, CrossValidation, EvaluationError, EvaluationEvent, LabelledData, ModelKind, Regression,
    Scalar, cross_validate, regress,
};
use countgrid_io::{check_outputs, check_writable, write_atomically};
use countgrid_map::group_digits;
use serde_json::{Value, json};

use crate::{
    args::{CrossvalArgs, EvaluationArgs, Precision},
    candidates::{Choice, choices},
    collection::{Input, named_inputs, scaling},
    csv_table::CsvTable,
    failure::Failure,
    interrupt::Interrupt,
    report::Report,
    run_file::{Invocation, WorkedOut},
    threads,
};

pub(crate) fn run(
    args: &CrossvalArgs,
    invocation: &Invocation,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let (output, saved, args) =
        (args.output.as_deref(), args.saving.save_config.as_deref(), &args.evaluation);
    let mut inputs = named_inputs(&args.paths, &args.read, Some(&args.words));
    inputs.extend(args.config.config.clone());
    check_outputs(inputs, output.into_iter().chain(saved))?;
    output.into_iter().chain(saved).try_for_each(check_writable)?;
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    args.options()?;
    let choices = choices(args, &invocation.words, &report)?;
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => cross_validated::<f32>(args, output, &choices, &report, interrupt),
        Precision::F64 => cross_validated::<f64>(args, output, &choices, &report, interrupt),
    })?;
    if let Some(saved) = saved {
        let _whole = interrupt.writing_results();
        write_atomically(saved, |out| out.write_all(&invocation.to_toml(&WorkedOut::default())))?;
        report.event("wrote", saved.display(), json!({ "file": saved.to_string_lossy() }));
    }
    Ok(())
}

/// The labelled documents, over every word that there is.
pub(crate) fn labelled<T: Scalar>(
    args: &EvaluationArgs,
    outputs: &[&Path],
    report: &Report,
) -> Result<LabelledData<T>, Failure> {
    let mut input = Input::new(&args.paths, &args.read, outputs);
    input.options.words = args.every_word()?;
    // Counts are scaled once words are selected, in each fold.
    input.options.scaling.scale = scaling(&args.numbers)?.scale;
    let of_file = |error: EvaluationError| Failure::from(error).of_files(&args.paths);
    if args.model != ModelKind::Hmm {
        return LabelledData::new(input.read::<T>(report)?, None).map_err(of_file);
    }
    let [path] = args.paths.as_slice() else {
        return Err(Failure::new(
            "--model hmm reads sequences from one file, and several paths were named",
            "join them to one file",
        ));
    };
    let SequenceCorpus { corpus, sequences, alphabet } =
        SequenceCorpus::<T>::read(path, &input.options).map_err(|error| of_file(error.into()))?;
    let symbols = sequences.as_view().positions();
    report.event(
        "read",
        format_args!(
            "{}: {} sequences, {} symbols of the alphabet `{alphabet}`",
            path.display(),
            group_digits(corpus.documents.len()),
            group_digits(symbols)
        ),
        json!({
            "path": path.to_string_lossy(), "documents": corpus.documents.len(), "symbols": symbols,
        }),
    );
    LabelledData::new(corpus, Some(sequences)).map_err(of_file)
}

fn cross_validated<T: Scalar>(
    args: &EvaluationArgs,
    output: Option<&Path>,
    choices: &[Choice],
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let data = labelled::<T>(args, &output.into_iter().collect::<Vec<_>>(), report)?;
    if data.unlabelled() > 0 {
        report.note(format_args!("{} documents have no label and are left out", data.unlabelled()));
    }
    let started = Instant::now();
    interrupt.stops(
        "ending at the next block of documents, with the folds that are finished; \
         Ctrl-C again leaves at once, without a result",
    );
    let (stop, protocol) = (interrupt.stop(), args.protocol());
    if args.numeric {
        let result = regress(&data, &args.options()?, &protocol, |_| ControlFlow::Continue(()), stop)
            .map_err(|error| Failure::from(error).of_files(&args.paths))?;
        report_regression(&result, args, started.elapsed().as_secs_f64(), report);
        if let Some(output) = table_to_write(output, result.interrupted, result.estimates.is_empty(), report)
        {
            let _whole = interrupt.writing_results();
            write_atomically(output, |out| write_estimates((out, args.raw_csv), &data, &result))?;
        }
        return if result.interrupted { Err(Failure::Interrupted) } else { Ok(()) };
    }
    let candidates: Vec<Candidate> = choices.iter().map(|choice| choice.candidate.clone()).collect();
    let name = |candidate: usize| candidates.get(candidate).map_or("", |candidate| &candidate.name);
    let names = data.label_names();
    let result = cross_validate(
        &data,
        &candidates,
        &protocol,
        |event| {
            match *event {
                EvaluationEvent::Fold { repetition, fold, folds, candidate } if candidates.len() > 1 => {
                    report.event(
                        "fold",
                        format_args!("{} of {folds}: {}", fold + 1, name(candidate)),
                        json!({ "repeat": repetition + 1, "fold": fold + 1, "chosen": name(candidate) }),
                    )
                }
                EvaluationEvent::Repetition { repetition, accuracy, confusion } => report.event(
                    "repeat",
                    format_args!(
                        "{} of {}: accuracy {:.2} %",
                        repetition + 1,
                        args.repeats,
                        100.0 * accuracy
                    ),
                    json!({
                        "repeat": repetition + 1, "accuracy": accuracy, "confusion": rows(confusion, names),
                    }),
                ),
                _ => {}
            }
            ControlFlow::Continue(())
        },
        stop,
    )
    .map_err(|error| Failure::from(error).of_files(&args.paths))?;
    if result.interrupted {
        report.note("ended early: what follows is of the folds before");
    }
    report_accuracy(args, &candidates, &result, names, started.elapsed().as_secs_f64(), report);
    if let Some(output) = table_to_write(output, result.interrupted, result.predictions.is_empty(), report) {
        let _whole = interrupt.writing_results();
        write_atomically(output, |out| write((out, args.raw_csv), &data, &candidates, &result))?;
    }
    if result.interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}

/// The table, if one is to be written: a run that was interrupted writes what it has where nothing was before, and leaves
/// the table of an earlier run as it is.
fn table_to_write<'a>(
    output: Option<&'a Path>,
    interrupted: bool,
    empty: bool,
    report: &Report,
) -> Option<&'a Path> {
    let output = output?;
    if interrupted && (empty || output.is_file()) {
        report.note(format_args!("{} is not written", output.display()));
        return None;
    }
    Some(output)
}

/// The rows of a confusion matrix.
fn rows(confusion: &Confusion<Vec<u64>>, names: &[String]) -> Value {
    confusion.counts().chunks(names.len().max(1)).map(|row| json!(row)).collect()
}

fn report_regression(result: &Regression, args: &EvaluationArgs, seconds: f64, report: &Report) {
    if result.interrupted {
        report.note("ended early: nothing is told of the repetition that was under way");
        return;
    }
    let (r, r_error) = (result.correlations.mean(), result.correlations.standard_error());
    let shown = |x: Option<f64>| x.map_or("none".to_owned(), |x| format!("{x:.4}"));
    let Regression { rms_error, rms_error_of_mean, estimates, .. } = result;
    report.event(
        "correlation",
        format_args!(
            "{} (standard error {} over repetitions); root mean square error {rms_error:.4}, of the mean \
             {rms_error_of_mean:.4}; {} predictions, {seconds:.1} s, seed {}",
            shown(r),
            shown(r_error),
            estimates.len(),
            args.fit.seed
        ),
        json!({
            "correlation": r, "standard_error": r_error, "rms_error": rms_error,
            "rms_error_of_mean": rms_error_of_mean, "predictions": estimates.len(), "seconds": seconds,
            "seed": args.fit.seed, "folds": (!args.leave_one_out).then_some(args.folds), "repeats": args.repeats,
        }),
    );
}

fn report_accuracy(
    args: &EvaluationArgs,
    candidates: &[Candidate],
    result: &CrossValidation,
    names: &[String],
    seconds: f64,
    report: &Report,
) {
    let percent =
        |share: Option<f64>| share.map_or("none".to_owned(), |share| format!("{:.2}", 100.0 * share));
    let ((error, unit), all) = (result.standard_error(), &result.confusion);
    let over = unit.name();
    let mut table = format!(
        "{} % (standard error {} over {over}), {} predictions, {seconds:.1} s, seed {}",
        percent(all.accuracy()),
        percent(error),
        all.items(),
        args.fit.seed
    );
    // How often each candidate was chosen, of all documents that were held out.
    let mut chosen: BTreeMap<usize, usize> = BTreeMap::new();
    result.predictions.iter().for_each(|prediction| *chosen.entry(prediction.candidate).or_default() += 1);
    let name = |place: &usize| candidates.get(*place).map_or("", |candidate| &candidate.name);
    if candidates.len() > 1 {
        table.push_str("\ndocuments told by what was chosen in inner folds");
        chosen.iter().for_each(|(place, count)| table.push_str(&format!("\n{count:>7} {}", name(place))));
    }
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    table.push_str("\nlabel, and how often each label was found for it");
    for (name, row) in names.iter().zip(all.counts().chunks(names.len().max(1))) {
        table.push_str(&format!("\n{name:width$}"));
        row.iter().for_each(|count| table.push_str(&format!(" {count:>7}")));
    }
    report.event(
        "accuracy",
        table,
        json!({
            "accuracy": all.accuracy(), "standard_error": error, "over": over, "predictions": all.items(),
            "labels": names, "confusion": rows(all, names), "seconds": seconds, "seed": args.fit.seed,
            "classifier": args.classifier.name(), "model": args.model.name(),
            "features": args.features.map(|kind| kind.name()),
            "folds": (!args.leave_one_out).then_some(args.folds), "repeats": args.repeats,
            "neighbours": args.neighbours, "metric": args.metric.map(|metric| metric.name()),
            "penalty": args.penalty, "gamma": args.gamma, "select": args.select.name(),
            "interrupted": result.interrupted,
            "chosen": chosen.iter().map(|(place, count)| (name(place), *count)).collect::<BTreeMap<_, _>>(),
        }),
    );
}

fn write<T: Scalar>(
    (out, raw): (&mut dyn io::Write, bool),
    data: &LabelledData<T>,
    candidates: &[Candidate],
    result: &CrossValidation,
) -> io::Result<()> {
    let mut csv = CsvTable::new(out, raw);
    csv.write_record(["repeat", "fold", "id", "label", "found", "chosen"])?;
    let label = |label: usize| data.label_names().get(label).map_or("", String::as_str);
    for prediction in &result.predictions {
        let (repeat, fold) = ((prediction.repetition + 1).to_string(), (prediction.fold + 1).to_string());
        let chosen = candidates.get(prediction.candidate).map_or("", |candidate| &candidate.name);
        let (id, is, found) =
            (data.id(prediction.item), label(prediction.label), label(prediction.predicted));
        csv.write_record([repeat.as_str(), fold.as_str(), id, is, found, chosen])?;
    }
    csv.flush()
}

fn write_estimates<T: Scalar>(
    (out, raw): (&mut dyn io::Write, bool),
    data: &LabelledData<T>,
    result: &Regression,
) -> io::Result<()> {
    let mut csv = CsvTable::new(out, raw);
    csv.write_record(["repeat", "fold", "id", "value", "found"])?;
    for one in &result.estimates {
        let (repeat, fold) = ((one.repetition + 1).to_string(), (one.fold + 1).to_string());
        let (value, found) = (one.value.to_string(), one.estimated.to_string());
        csv.write_record([repeat.as_str(), &fold, data.id(one.item), &value, &found])?;
    }
    csv.flush()
}
