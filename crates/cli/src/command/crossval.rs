//! `countgrid crossval`: how well labels are told, each time of documents that were held out.

use std::{collections::BTreeMap, io, path::Path, time::Instant};

use countgrid_io::{check_writable, write_atomically};
use serde_json::json;

use crate::{
    args::{CrossvalArgs, EvaluationArgs, Precision},
    evaluation::{Candidate, Data, Estimate, Trial, candidates, regression, rows, trial},
    failure::Failure,
    interrupt::Interrupt,
    model::Stored,
    report::Report,
    threads,
};

pub(crate) fn run(args: &CrossvalArgs) -> Result<(), Failure> {
    if let Some(output) = &args.output {
        check_writable(output)?;
    }
    let (output, args) = (args.output.as_deref(), &args.evaluation);
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    args.fit.check()?;
    args.check()?;
    let candidates = candidates(args)?;
    let interrupt = Interrupt::install()?;
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => cross_validate::<f32>(args, output, &candidates, &report, &interrupt),
        Precision::F64 => cross_validate::<f64>(args, output, &candidates, &report, &interrupt),
    })
}

fn cross_validate<T: Stored>(
    args: &EvaluationArgs,
    output: Option<&Path>,
    candidates: &[Candidate],
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let data = Data::<T>::read(args, &output.into_iter().collect::<Vec<_>>(), report)?;
    if data.unlabelled() > 0 {
        report.note(format_args!("{} documents have no label and are left out", data.unlabelled()));
    }
    let began = Instant::now();
    interrupt.begin();
    if args.numeric {
        let estimates = regression(&data, args, report, interrupt)?;
        if let Some(output) = output {
            let _whole = interrupt.writing();
            write_atomically(output, |out| write_estimates(out, &data, &estimates))?;
        }
        return Ok(());
    }
    let done = trial(&data, candidates, args, report, interrupt)?;
    report_accuracy(args, candidates, &done, data.names(), began.elapsed().as_secs_f64(), report);
    if let Some(output) = output {
        let _whole = interrupt.writing();
        write_atomically(output, |out| write(out, &data, candidates, &done))?;
    }
    Ok(())
}

fn report_accuracy(
    args: &EvaluationArgs,
    candidates: &[Candidate],
    done: &Trial,
    names: &[String],
    seconds: f64,
    report: &Report,
) {
    let percent =
        |share: Option<f64>| share.map_or("none".to_owned(), |share| format!("{:.2}", 100.0 * share));
    let ((error, over), all) = (done.standard_error(), &done.confusion);
    let mut table = format!(
        "{} % (standard error {} over {over}), {} predictions, {seconds:.1} s, seed {}",
        percent(all.accuracy()),
        percent(error),
        all.items(),
        args.fit.seed
    );
    // How often each candidate was chosen, of all documents that were held out.
    let mut chosen: BTreeMap<usize, usize> = BTreeMap::new();
    done.predictions.iter().for_each(|prediction| *chosen.entry(prediction.candidate).or_default() += 1);
    let name = |place: &usize| candidates.get(*place).map(Candidate::name).unwrap_or_default();
    if candidates.len() > 1 {
        table.push_str("\ndocuments told by what was chosen in inner folds");
        chosen.iter().for_each(|(place, count)| table.push_str(&format!("\n{count:>7} {}", name(place))));
    }
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    table.push_str("\nlabel, and how often each label was found for it");
    for (name, row) in names.iter().zip(all.counts().chunks(names.len())) {
        table.push_str(&format!("\n{name:width$}"));
        row.iter().for_each(|count| table.push_str(&format!(" {count:>7}")));
    }
    report.event(
        "accuracy",
        table,
        json!({
            "accuracy": all.accuracy(), "standard_error": error, "over": over, "predictions": all.items(),
            "labels": names, "confusion": rows(all, names), "seconds": seconds, "seed": args.fit.seed,
            "classifier": args.classifier.name(), "model": args.model.name(), "features": args.features.map(|kind| kind.name()),
            "folds": (!args.leave_one_out).then_some(args.folds), "repeats": args.repeats,
            "neighbours": args.neighbours, "metric": args.metric.map(|metric| metric.name()), "penalty": args.penalty, "gamma": args.gamma,
            "select": args.select.name(), "interrupted": done.interrupted,
            "chosen": chosen.iter().map(|(place, count)| (name(place), *count)).collect::<BTreeMap<_, _>>(),
        }),
    );
}

fn write<T: Stored>(
    out: &mut dyn io::Write,
    data: &Data<T>,
    candidates: &[Candidate],
    done: &Trial,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["repeat", "fold", "id", "label", "found", "chosen"])?;
    let label = |label: usize| data.names().get(label).map_or("", String::as_str);
    for prediction in &done.predictions {
        let (repeat, fold) = ((prediction.repetition + 1).to_string(), (prediction.fold + 1).to_string());
        let chosen = candidates.get(prediction.candidate).map(Candidate::name).unwrap_or_default();
        let (id, is, found) = (data.id(prediction.item), label(prediction.label), label(prediction.found));
        csv.write_record([repeat.as_str(), fold.as_str(), id, is, found, chosen.as_str()])?;
    }
    csv.flush()
}

fn write_estimates<T: Stored>(
    out: &mut dyn io::Write,
    data: &Data<T>,
    estimates: &[Estimate],
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["repeat", "fold", "id", "value", "found"])?;
    for one in estimates {
        let (repeat, fold) = ((one.repetition + 1).to_string(), (one.fold + 1).to_string());
        let (value, found) = (one.value.to_string(), one.found.to_string());
        csv.write_record([
            repeat.as_str(),
            fold.as_str(),
            data.id(one.item),
            value.as_str(),
            found.as_str(),
        ])?;
    }
    csv.flush()
}
