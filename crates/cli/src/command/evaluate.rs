//! `countgrid evaluate`: measures of a model over documents.

use std::path::{Path, PathBuf};

use countgrid_corpus::{Corpus, CorpusOptions, read_all_word_sequences};
use countgrid_estimators::AnyModel;
use countgrid_evaluation::{EvaluationError, Mean, Measure, MeasureOptions, ModelMeasures, measure};
use countgrid_io::{check_outputs, check_writable, write_atomically};
use countgrid_map::group_digits;
use serde_json::{Map, Value, json};

use crate::{
    args::EvaluateArgs,
    collection::{Input, named_inputs, paths_to_json},
    failure::Failure,
    interrupt::Interrupt,
    model_file::load_with_checksum,
    report::Report,
    threads,
};

pub(crate) fn run(args: &EvaluateArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    let mut inputs = named_inputs(&args.paths, &args.read, None);
    inputs.push(args.model.clone());
    check_outputs(inputs, &args.output)?;
    args.output.as_deref().map_or(Ok(()), check_writable)?;
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    let options = args.measures.options();
    options.check().map_err(Failure::from)?;
    interrupt.stops("ending, without a result");
    let (model, checksum) = load_with_checksum(&args.model)?;
    let outputs: Vec<&Path> = args.output.iter().map(std::path::PathBuf::as_path).collect();
    let input = Input::new(&args.paths, &args.read, &outputs);
    let measured = threads::run(args.measures.threads, || {
        Documents::new(&model, input)?.measure(&args.model, &model, &options, interrupt, &report)
    })?;
    let mut text = String::new();
    let width = measured.measures.iter().map(|measure| measure.name.len()).max().unwrap_or(0);
    for Measure { name, value, .. } in &measured.measures {
        text.push_str(&format!("\n{name:width$} {}", shown(*value)));
    }
    let mut object = to_json(&measured);
    object["model"] = json!(args.model.to_string_lossy());
    object["checksum"] = json!(checksum);
    object["kind"] = json!(model.kind());
    object["data"] = paths_to_json(&args.paths);
    object["options"] = options_to_json(&options);
    report.event("measures", format_args!("{}{text}", about(&measured)), object.clone());
    if let Some(output) = &args.output {
        let _whole = interrupt.writing_results();
        write_json(output, &object)?;
    }
    Ok(())
}

/// Writes an object with a line for each field.
fn write_json(path: &Path, object: &Value) -> Result<(), Failure> {
    Ok(write_atomically(path, |out| {
        serde_json::to_writer_pretty(&mut *out, object)?;
        writeln!(out)
    })?)
}

/// Documents over the words of a model.
pub(crate) struct Documents {
    corpus: Corpus<f64>,
    texts: Option<countgrid_counts::SequencesBuf<u32>>,
}

impl Documents {
    /// Reads them as the model's own were read, once for counts and once for the order of words.
    pub(crate) fn new(model: &AnyModel, input: Input<'_>) -> Result<Self, Failure> {
        let paths = input.paths;
        // Read twice, and anew for each of several models.
        let is_pipe =
            |path: &&PathBuf| std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir());
        if let Some(path) = paths.iter().find(is_pipe) {
            return Err(Failure::new(
                format_args!("{}: is read more than once, and is no file or folder", path.display()),
                "write the documents to a file first",
            ));
        }
        let info = model.info();
        let options = CorpusOptions { scaling: info.scaling, keep_documents: false, ..input.options };
        let of_path = |error| Failure::from(error).of_files(paths);
        let corpus = Corpus::count_all(paths, &info.vocabulary, &info.text, &options).map_err(of_path)?;
        let texts =
            read_all_word_sequences(paths, &info.vocabulary, &info.text, &options).map_err(of_path)?;
        // The file may have changed in between.
        let texts = texts.filter(|texts| texts.as_view().len() == corpus.bags.len());
        Ok(Self { corpus, texts })
    }

    pub(crate) fn measure(
        &self,
        path: &Path,
        model: &AnyModel,
        options: &MeasureOptions,
        interrupt: &Interrupt,
        report: &Report,
    ) -> Result<ModelMeasures, Failure> {
        measure(model, &self.corpus, self.texts.as_ref(), options, interrupt.stop()).map_err(|error| {
            if matches!(error, EvaluationError::Stopped) {
                report.note("ended early, without a result");
                return Failure::Interrupted;
            }
            Failure::from(error).of_file(path)
        })
    }
}

/// What was looked at.
pub(crate) fn about(measured: &ModelMeasures) -> String {
    let unseen = match measured.unseen_words {
        0 => String::new(),
        n => format!("; the data have none of {} of their words", group_digits(n)),
    };
    format!(
        "of {} documents on the map and {} topics{unseen}",
        group_digits(measured.documents),
        group_digits(measured.topics)
    )
}

/// A value with its standard error, or why there is none.
pub(crate) fn shown(value: Result<Mean, &str>) -> String {
    match value {
        Ok(Mean { value, standard_error: Some(error) }) => format!("{value:>11.4} ± {error:.4}"),
        Ok(Mean { value, standard_error: None }) => format!("{value:>11.4}"),
        Err(reason) => format!("{:>11} ({reason})", "-"),
    }
}

/// A value of which JSON knows no infinity.
pub(crate) fn mean_to_json(mean: Mean) -> Value {
    json!({ "value": mean.value, "standard_error": mean.standard_error })
}

pub(crate) fn to_json(measured: &ModelMeasures) -> Value {
    let of = |measure: &Measure| {
        let value = match measure.value {
            Ok(mean) => mean_to_json(mean),
            Err(reason) => json!({ "value": null, "standard_error": null, "reason": reason }),
        };
        (measure.name.to_owned(), value)
    };
    let measures: Map<String, Value> = measured.measures.iter().map(of).collect();
    json!({
        "documents": measured.documents, "topics": measured.topics, "unseen_words": measured.unseen_words,
        "measures": measures,
    })
}

pub(crate) fn options_to_json(options: &MeasureOptions) -> Value {
    json!({
        "neighbours": options.neighbours, "metric": options.metric.name(), "top": options.top_words,
        "diversity_top": options.diversity_words, "max_topics": options.topics,
        "max_documents": options.documents, "seed": options.seed,
    })
}
