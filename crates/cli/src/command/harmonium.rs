//! `countgrid fit`, `embed` and `info` for harmoniums.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use countgrid_corpus::{Corpus, DocumentInfo};
use countgrid_counts::Bags;
use countgrid_estimators::{
    BagTotals, EstimatorError, FeatureError, FeatureRows, FeatureTable, FittedHarmonium, HarmoniumData,
    HarmoniumKind, HarmoniumMethod, Stored, TraceRecord,
};
use countgrid_io::{StagedFiles, check_outputs, check_writable, truncate_text};
use countgrid_map::group_digits;
use serde_json::json;

use crate::{
    args::{EmbedArgs, FeatureArgs, FitArgs, InfoArgs, Precision},
    collection::{Input, named_inputs, scaling, word_options},
    csv_table::CsvTable,
    failure::Failure,
    interrupt::Interrupt,
    placement::{documents, finish},
    report::{Report, fit_lines},
    run_file::{Invocation, WorkedOut},
    terminal, threads,
    training::{self, Checkpoints},
};

/// Words that are shown of a topic, of either sign.
const WORDS: usize = 6;
/// Topics that span fewer axes are nearly one.
const ONE_AXIS: f64 = 1.5;
/// Langevin steps that are few for posterior samples.
const FEW_DRAWS: usize = 400;

/// `countgrid fit --model harmonium`, `rap` or `dual-wing`.
pub(crate) fn fit(
    args: &FitArgs,
    kind: HarmoniumKind,
    invocation: &Invocation,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    invocation.tell_unused(&report);
    let mut inputs = named_inputs(&args.paths, &args.read, Some(&args.words));
    inputs.extend(args.features.features_from.iter().chain(&args.config.config).cloned());
    let checkpoint = Checkpoints::path_beside(&args.output);
    check_outputs(
        inputs,
        [&args.output, &checkpoint].into_iter().chain(&args.tracing.trace).chain(&args.saving.save_config),
    )?;
    outputs(args).into_iter().try_for_each(check_writable)?;
    if kind == HarmoniumKind::DualWing && args.features.features_from.is_none() {
        return Err(Failure::new(
            "--model dual-wing has words and features, and no features were named",
            "add --features-from TABLE, which may be the table with the texts, and --feature-columns NAME,...",
        ));
    }
    let mut options = args.harmonium.options(kind, args.topics, &args.fit);
    options.feature_variance = args.tracing.feature_variance;
    options.exact_likelihood = args.tracing.trace.is_some();
    options.validate()?;
    if options.method == HarmoniumMethod::Langevin && options.draws < FEW_DRAWS {
        report.note(format_args!("--draws {} is few; see what is said of effective samples", options.draws));
    }
    args.fit.check()?;
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => fit_and_save::<f32>((args, invocation), &options, &report, interrupt),
        Precision::F64 => fit_and_save::<f64>((args, invocation), &options, &report, interrupt),
    })
}

/// What is written.
fn outputs(args: &FitArgs) -> Vec<&Path> {
    let others = args.tracing.trace.iter().chain(&args.saving.save_config);
    [&args.output].into_iter().chain(others).map(PathBuf::as_path).collect()
}

fn fit_and_save<T: Stored>(
    (args, invocation): (&FitArgs, &Invocation),
    options: &countgrid_estimators::HarmoniumOptions,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let outputs = outputs(args);
    let mut input = Input::new(&args.paths, &args.read, &outputs);
    input.options.words = word_options(&args.words)?;
    input.options.scaling = scaling(&args.numbers)?;
    input.keep(&args.keep);
    input.options.keep_documents = options.kind == HarmoniumKind::DualWing;
    let corpus = input.read::<T>(report)?;
    let features = match options.kind {
        HarmoniumKind::DualWing => {
            let table = feature_table(
                &args.features,
                &args.features.feature_columns,
                args.read.id_column.as_deref(),
            )?;
            Some(table.for_documents(corpus.documents.iter().map(|document| &document.id))?)
        }
        _ => None,
    };
    let plan = options.check(BagTotals::from(&corpus))?;
    let data = HarmoniumData::new(&plan, &corpus.bags, features.as_ref())
        .map_err(|error| of_features(error, &args.features, |_| None))?;
    let checkpoints = Checkpoints::beside(&args.output, &args.checkpoints);
    let training = match checkpoints.load()? {
        Some(file) => plan.train(&data, Some(file)).map_err(|error| checkpoints.refused(error))?,
        None => plan.train(&data, None).map_err(|error| Failure::from(error).of_files(&args.paths))?,
    };
    let mut model =
        training::run(training, args.paths.first().map(PathBuf::as_path), &checkpoints, report, interrupt)?;
    report_training(&model, options, report);
    model.info.describe(&corpus.name, &corpus, &input.options.words);
    {
        let _whole = interrupt.writing_results();
        let mut files = StagedFiles::new();
        files.write_model(&args.output, &model.to_file())?;
        if let Some(trace) = &args.tracing.trace {
            files.write(trace, |out| write_traces(out, model.traces()))?;
        }
        if let Some(path) = &args.saving.save_config {
            files.write(path, |out| out.write_all(&invocation.to_toml(&worked_out(args, options))))?;
        }
        files.publish()?;
    }
    report.files_written(
        &outputs,
        json!({
            "documents": corpus.bags.len(), "vocabulary": corpus.vocabulary.len(), "topics": options.topics,
            "fit": model.info.fit,
        }),
    );
    checkpoints.end()
}

/// What was not given and has no default that the command line knows.
fn worked_out(args: &FitArgs, options: &countgrid_estimators::HarmoniumOptions) -> WorkedOut {
    let batch = args.fit.batch.is_none().then(|| ("batch", options.batch.to_string()));
    WorkedOut { values: batch.into_iter().collect(), ..WorkedOut::default() }
}

/// The table with the features of documents.
fn feature_table(args: &FeatureArgs, columns: &[String], id: Option<&str>) -> Result<FeatureTable, Failure> {
    let path = args
        .features_from
        .as_deref()
        .ok_or_else(|| Failure::new("no table of features was named", "add --features-from TABLE"))?;
    Ok(FeatureTable::read(path, columns, id)?)
}

/// The traces of all chains as CSV.
fn write_traces(out: &mut dyn Write, chains: &[Vec<TraceRecord>]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(TraceRecord::COLUMNS)?;
    for (chain, records) in chains.iter().enumerate() {
        records.iter().try_for_each(|record| csv.write_record(record.fields(chain)))?;
    }
    csv.flush()
}

/// Reports how learning went.
fn report_training<T: Stored>(
    model: &FittedHarmonium<T>,
    options: &countgrid_estimators::HarmoniumOptions,
    report: &Report,
) {
    let Some(summary) = model.summary() else { return };
    let last = model.traces().first().and_then(|trace| trace.last());
    let mut text = format!("{} topics, {}", options.topics, options.method.name());
    if let Some(last) = last {
        text += &format!("; mean of V {:.5}, its trace {:.3}", last.mean_v, last.trace_v);
        if let Some(log) = last.log_posterior {
            let name = if summary.prior.is_some() { "log posterior" } else { "log likelihood" };
            text += &format!(", {name} {log:.2}");
        }
    }
    text += &format!("; step {:.3e}, {:.1} s", summary.step_size, report.seconds());
    let acceptance = summary.acceptance;
    if acceptance.accepted < acceptance.proposed {
        text += &format!(
            "\n{} of {} steps led out of the models that have a normaliser, and were not taken",
            acceptance.proposed - acceptance.accepted,
            acceptance.proposed
        );
    }
    let axes = model.effective_topics();
    if options.topics > 1 && axes < ONE_AXIS {
        report.note(format_args!(
            "the {} topics are nearly one axis ({axes:.2} of them effective): one topic says as much{}",
            options.topics,
            if options.kind == HarmoniumKind::RateAdapting {
                ", and --model harmonium may say more"
            } else {
                ""
            }
        ));
    }
    let mut mixed = Vec::new();
    if let Some(prior) = summary.prior {
        text += &format!(
            "\n{} posterior samples of {} chains kept; prior with mean {:.4}, standard deviation {:.4}",
            summary.samples, summary.chains, prior.mean, prior.deviation
        );
        for mixing in model.mixing() {
            text += &format!(
                "\n{}: {:.0} effective samples of {}, R-hat {:.3}",
                mixing.quantity, mixing.effective, mixing.steps, mixing.r_hat
            );
            mixed.push(json!({
                "quantity": mixing.quantity, "effective": mixing.effective, "steps": mixing.steps,
                "r_hat": mixing.r_hat,
            }));
        }
    }
    report.event(
        "fitted",
        text,
        json!({
            "effective_topics": axes, "step_size": summary.step_size, "accepted": acceptance.rate(), "samples": summary.samples, "mixing": mixed,
            "mean_v": last.map(|last| last.mean_v), "trace_v": last.map(|last| last.trace_v),
            "mismatch": last.map(|last| last.mismatch), "seconds": report.seconds(),
        }),
    );
}

/// An error of values of features, with the table that they are from, and the document.
fn of_features(error: EstimatorError, args: &FeatureArgs, id: impl Fn(usize) -> Option<String>) -> Failure {
    let (EstimatorError::Features(of_values), Some(table)) = (&error, &args.features_from) else {
        return error.into();
    };
    let place = match of_values {
        FeatureError::OutOfRange { document, .. } => {
            id(*document).map_or(String::new(), |id| format!(", id `{}`", truncate_text(&id, 40)))
        }
        FeatureError::Deviation { .. } | FeatureError::Mean { .. } => String::new(),
        _ => return error.into(),
    };
    match error.into() {
        Failure::Message(message) => Failure::Message(format!("{}{place}: {message}", table.display())),
        other => other,
    }
}

/// `countgrid embed`: expected topics of documents, as CSV.
pub(crate) fn embed<T: Stored>(
    args: &EmbedArgs,
    model: &FittedHarmonium<T>,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let corpus = documents::<T>(args, &model.info)?;
    let features = match (model.standardizer(), &args.features.features_from) {
        (Some(standardizer), Some(_)) => {
            let table = feature_table(&args.features, standardizer.names(), args.read.id_column.as_deref())?;
            Some(table.for_documents(corpus.documents.iter().map(|document| &document.id))?)
        }
        (None, Some(_)) => {
            return Err(Failure::new("the model has no features", "leave --features-from out"));
        }
        _ => None,
    };
    let id = |document: usize| corpus.documents.get(document).map(|document| document.id.clone());
    let topics = model
        .transform(&corpus.bags, features.as_ref())
        .map_err(|error| of_features(error, &args.features, id))?;
    let mut known: Vec<f64> = Vec::with_capacity(corpus.documents.len());
    corpus.bags.for_each_block(true, |_, block| {
        known.extend((0..block.len()).map(|bag| block.total(bag)));
        Ok::<_, countgrid_corpus::CorpusError>(())
    })?;
    let write = |out: &mut dyn Write| write((out, args.raw_csv), (&corpus, &known), &topics);
    finish(args, &corpus, known.iter().sum(), interrupt, write)
}

fn write<T: Stored>(
    (out, raw): (&mut dyn Write, bool),
    (corpus, known): (&Corpus<T>, &[f64]),
    topics: &FeatureRows,
) -> io::Result<()> {
    let mut csv = CsvTable::new(out, raw);
    let mut names = DocumentInfo::COLUMNS.map(str::to_owned).to_vec();
    names.extend((0..topics.columns).map(|topic| format!("h{topic}")));
    csv.write_record(&names)?;
    for (bag, (document, known)) in corpus.documents.iter().zip(known).enumerate() {
        let mut fields = document.fields(corpus.labels.name(bag).unwrap_or_default(), *known).to_vec();
        fields.extend(topics.row(bag).iter().map(|h| format!("{h:.6}")));
        csv.write_record(&fields)?;
    }
    csv.flush()
}

/// `countgrid info`: a description of a harmonium.
pub(crate) fn info<T: Stored>(
    args: &InfoArgs,
    model: &FittedHarmonium<T>,
    checksum: &str,
) -> Result<(), Failure> {
    let names = model.standardizer().map_or(&[][..], |standardizer| standardizer.names());
    let (info, kind) = (&model.info, model.kind().name());
    let topics = model.topic_words(WORDS);
    if args.json {
        let topics: Vec<_> = topics
            .iter()
            .map(|words| {
                json!({
                    "more": words.positive, "less": words.negative, "more_features": words.positive_features,
                    "less_features": words.negative_features,
                })
            })
            .collect();
        let object = json!({
            "title": info.title, "model": kind, "precision": T::NAME, "vocabulary": info.vocabulary.len(),
            "features": names, "fit": info.fit, "topics": topics, "checksum": checksum,
        });
        terminal::print_json(&object)
    } else {
        let mut text = format!("{}\n\n", info.title);
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name:<16} {value}\n"));
        line("model", kind);
        line("topics", &model.shape().topics().to_string());
        line("vocabulary", &format!("{} words", group_digits(info.vocabulary.len())));
        if !names.is_empty() {
            line("features", &names.join(", "));
        }
        line("precision", T::NAME);
        line("checksum", checksum);
        text.push_str(&fit_lines(&info.fit));
        text.push_str("\ntopics, and what there is more and less of with them\n");
        for (topic, words) in topics.iter().enumerate() {
            let more = [words.positive.as_slice(), &words.positive_features].concat().join(" ");
            let less = [words.negative.as_slice(), &words.negative_features].concat().join(" ");
            text.push_str(&format!("h{topic:<15} + {more}\n{:16} - {less}\n", ""));
        }
        terminal::print(&text)
    }
}
