//! `countgrid start`, `partial`, `merge`, `step` and `finish`: a fit in parts, on as many machines as there are.

use std::path::{Path, PathBuf};

use countgrid_em::BLOCK_BAGS;
use countgrid_estimators::{
    CHECKPOINT_KIND, DistributedError, DistributedOptions, DistributedStart, EstimatorError, LeafDocuments,
    LeafSums, Stored, distributed, format_sides,
};
use countgrid_io::{ModelFile, StagedFiles, TableData, check_outputs, check_writable, load, save};
use countgrid_map::group_digits;
use serde_json::json;

use super::fit::GridModel;
use crate::{
    args::{FinishArgs, FitModel, MergeArgs, PartialArgs, Precision, StartArgs, StepArgs},
    collection::{Input, block_limits, named_inputs, scaling, word_options},
    failure::Failure,
    files::make_folder,
    interrupt::Interrupt,
    report::Report,
    run_file::{self, Invocation, WorkedOut},
    sides::GridSize,
    threads,
};

pub(crate) fn start(args: &StartArgs, invocation: &Invocation, interrupt: &Interrupt) -> Result<(), Failure> {
    if args.model.kind().is_some() {
        return Err(Failure::new(
            "harmoniums learn from one document after the other, and not in parts",
            "take --model grid or componential",
        ));
    }
    let options = GridModel::new(args.model == FitModel::Componential, &args.componential, &args.fit)?;
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    invocation.tell_unused(&report);
    let mut inputs = named_inputs(&args.paths, &args.read, Some(&args.words));
    inputs.extend(args.config.config.clone());
    let run_file = invocation.file_in(&args.output)?;
    let state = args.output.join("state.safetensors");
    let documents: Vec<_> = (1..=args.parts.max(1))
        .map(|part| args.output.join(format!("documents-{part:04}.safetensors")))
        .collect();
    check_outputs(inputs, documents.iter().chain([&state]).chain(&run_file))?;
    if !args.output.exists() {
        check_writable(&args.output)?; // as a name, which is as good as a folder's
    }
    threads::run(args.fit.threads, || {
        let (report, interrupt, options) = (&report, interrupt, (&options, invocation, run_file.as_deref()));
        match args.fit.precision {
            Precision::F32 => start_in::<f32>(args, options, &state, &documents, report, interrupt),
            Precision::F64 => start_in::<f64>(args, options, &state, &documents, report, interrupt),
        }
    })
}

fn start_in<T: Stored>(
    args: &StartArgs,
    (options, invocation, options_to_write): (&GridModel, &Invocation, Option<&Path>),
    state: &Path,
    documents: &[PathBuf],
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let beside = args.output.join(run_file::NAME);
    let outputs: Vec<&Path> =
        documents.iter().chain([&beside]).map(PathBuf::as_path).chain([state]).collect();
    let mut input = Input::new(&args.paths, &args.read, &outputs);
    input.options.words = word_options(&args.words)?;
    input.options.scaling = scaling(&args.numbers)?;
    input.keep(&args.keep);
    input.options.keep_documents = false;
    input.options.blocks = block_limits(args.fit.stream, args.fit.block_entries);
    let corpus = input.read::<T>(report)?;
    let from = DistributedStart::of_corpus(&corpus, &corpus.name, &input.options.words)?;
    let options = options.choose_size(args.fit.grid.as_ref(), &corpus, report, interrupt)?;
    let mut worked_out = WorkedOut::default();
    if args.fit.grid == Some(GridSize::Auto) {
        let sides = options.extents().map(|sides| ("grid", format_sides(sides)));
        worked_out.values.extend(sides);
    }
    let options = match options {
        GridModel::Plain(options) => DistributedOptions::Grid(options),
        GridModel::Componential(options) => DistributedOptions::Componential(options),
    };
    let first = distributed::start::<T>(&options, &from)?;
    let leaves = corpus.bags.len().div_ceil(BLOCK_BAGS);
    let each = leaves.div_ceil(documents.len());

    let _whole = interrupt.writing_results();
    make_folder(&args.output)?;
    let mut files = StagedFiles::new();
    let mut written: Vec<&Path> = Vec::new();
    LeafDocuments::split(&corpus.bags, &corpus.labels, each, |part| {
        let path = documents.get(written.len()).ok_or(EstimatorError::Failed)?;
        files.write_model(path, &part.to_file()?)?;
        written.push(path);
        Ok::<_, Failure>(())
    })?;
    if let Some(path) = options_to_write {
        files.write(path, |out| out.write_all(&invocation.to_toml(&worked_out)))?;
    }
    files.write_model(state, &first)?;
    files.publish()?;
    report.event(
        "start",
        format_args!("{} leaves of documents in {} files", group_digits(leaves), written.len()),
        json!({ "leaves": leaves, "parts": written.len() }),
    );
    written.push(state);
    written.extend(options_to_write);
    report.files_written(&written, json!({ "documents": corpus.bags.len(), "leaves": leaves }));
    Ok(())
}

pub(crate) fn partial(args: &PartialArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    check_outputs([&args.state, &args.documents], [&args.output])?;
    check_writable(&args.output)?;
    let (state, documents) = (load(&args.state)?, load(&args.documents)?);
    let sums = threads::run(args.threads, || {
        distributed::partial_sums(&state, documents)
            .map_err(|error| refused(error, &args.state, &args.documents))
    })?;
    write_sums(&args.output, &sums, &report, interrupt)
}

pub(crate) fn merge(args: &MergeArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    check_outputs(&args.sums, [&args.output])?;
    check_writable(&args.output)?;
    let Some((path, rest)) = args.sums.split_first() else { return Ok(()) };
    let first = load(path)?;
    let sums = match first.tables.first().map(|table| &table.data) {
        Some(TableData::F64(_)) => merged::<f64>(path, first, rest)?,
        _ => merged::<f32>(path, first, rest)?,
    };
    write_sums(&args.output, &sums, &report, interrupt)
}

fn merged<T: Stored>(path: &Path, first: ModelFile, rest: &[PathBuf]) -> Result<ModelFile, Failure> {
    let read = |file, path: &Path| {
        LeafSums::<T>::from_file(file).map_err(|error| Failure::from(error).of_file(path))
    };
    let mut sums = read(first, path)?;
    for path in rest {
        sums.merge(read(load(path)?, path)?).map_err(|error| Failure::from(error).of_file(path))?;
    }
    Ok(sums.to_file())
}

pub(crate) fn step(args: &StepArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    check_outputs([&args.state, &args.sums], [&args.output])?;
    check_writable(&args.output)?;
    let (state, sums) = (load(&args.state)?, load(&args.sums)?);
    let (next, at, done) = threads::run(args.threads, || {
        distributed::next_state(&state, sums).map_err(|error| refused(error, &args.state, &args.sums))
    })?;
    {
        let _whole = interrupt.writing_results();
        save(&args.output, &next)?;
    }
    let bound = at.bound_per_token.map_or(String::new(), |bound| format!(", bound per token {bound:.4}"));
    report.event(
        "step",
        format_args!(
            "start {} of {}, level {} of {}, {} updates{bound}; the training {}",
            at.restart + 1,
            at.restarts,
            at.stage + 1,
            at.stages,
            at.iteration,
            if done { "has ended" } else { "goes on" },
        ),
        json!({
            "restart": at.restart + 1, "stage": at.stage + 1, "iteration": at.iteration,
            "bound_per_token": at.bound_per_token, "done": done,
        }),
    );
    report.files_written(&[&args.output], json!({ "done": done }));
    Ok(())
}

pub(crate) fn finish(args: &FinishArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    check_outputs(args.documents.iter().chain([&args.state]), [&args.output])?;
    check_writable(&args.output)?;
    let state = load(&args.state)?;
    let model = threads::run(args.threads, || {
        let documents = args.documents.iter().map(|path| Ok(load(path)?));
        distributed::finish(&state, documents).map_err(|error| Failure::from(error).of_file(&args.state))
    })?;
    {
        let _whole = interrupt.writing_results();
        save(&args.output, &model)?;
    }
    report.files_written(&[&args.output], json!({}));
    Ok(())
}

fn write_sums(path: &Path, sums: &ModelFile, report: &Report, interrupt: &Interrupt) -> Result<(), Failure> {
    {
        let _whole = interrupt.writing_results();
        save(path, sums)?;
    }
    let nodes: Vec<_> = sums.tables.iter().map(|table| table.name.as_str()).collect();
    report.files_written(&[path], json!({ "nodes": nodes }));
    Ok(())
}

/// An error about a state, or about what was to go with it.
fn refused(error: EstimatorError, state: &Path, other: &Path) -> Failure {
    use DistributedError as E;
    let of_state = match &error {
        EstimatorError::Checkpoint(_) => true,
        EstimatorError::Distributed(E::Kind { expected, .. }) => *expected == CHECKPOINT_KIND,
        EstimatorError::Distributed(E::Text { name }) => name.starts_with("distributed."),
        EstimatorError::Distributed(E::Ended) => true,
        _ => false,
    };
    Failure::from(error).of_file(if of_state { state } else { other })
}
