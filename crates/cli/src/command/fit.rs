//! `countgrid fit`: documents to a model.

use std::path::{Path, PathBuf};

use countgrid_corpus::{Blocks, Corpus, WordOptions};
use countgrid_estimators::{
    BagTotals, BoxedTraining, ComponentialOptions, EstimatorError, FitSummary, FittedComponential,
    FittedGrid, GridLabels, GridLayout, GridOptions, GridPage, GridPlacement, GridSchedule, GridStart,
    Stored, format_sides,
};
use countgrid_evaluation::{EvaluationError, TriedGrid, choose_grid};
use countgrid_io::{ModelFile, StagedFiles, check_outputs, check_writable};
use countgrid_map::group_digits;
use serde_json::json;

use super::harmonium;
use crate::{
    args::{ComponentialArgs, FitArgs, FitModel, GridArgs, Precision, Schedule},
    collection::{Input, block_limits, named_inputs, scaling, word_options},
    failure::Failure,
    interrupt::Interrupt,
    report::Report,
    run_file::{Invocation, WorkedOut},
    sides::GridSize,
    threads,
    training::{self, Checkpoints},
};

pub(crate) fn run(args: &FitArgs, invocation: &Invocation, interrupt: &Interrupt) -> Result<(), Failure> {
    if let Some(kind) = args.model.kind() {
        return harmonium::fit(args, kind, invocation, interrupt);
    }
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    invocation.tell_unused(&report);
    let mut inputs = named_inputs(&args.paths, &args.read, Some(&args.words));
    inputs.extend(args.config.config.clone());
    let (checkpoint, saved) = (Checkpoints::path_beside(&args.output), &args.saving.save_config);
    check_outputs(inputs, [&args.output, &checkpoint].into_iter().chain(saved))?;
    [&args.output].into_iter().chain(saved).try_for_each(check_writable)?;
    let options = GridModel::new(args.model == FitModel::Componential, &args.componential, &args.fit)?;
    let checkpoints = Checkpoints::beside(&args.output, &args.checkpoints);
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => fit_and_save::<f32>((args, invocation), &options, &checkpoints, &report, interrupt),
        Precision::F64 => fit_and_save::<f64>((args, invocation), &options, &checkpoints, &report, interrupt),
    })
}

fn fit_and_save<T: Stored>(
    (args, invocation): (&FitArgs, &Invocation),
    options: &GridModel,
    checkpoints: &Checkpoints,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let outputs: Vec<&Path> =
        [&args.output].into_iter().chain(&args.saving.save_config).map(PathBuf::as_path).collect();
    let mut input = Input::new(&args.paths, &args.read, &outputs);
    input.options.words = word_options(&args.words)?;
    input.options.scaling = scaling(&args.numbers)?;
    input.keep(&args.keep);
    input.options.keep_documents = false;
    input.options.blocks = block_limits(args.fit.stream, args.fit.block_entries);
    let mut corpus = input.read::<T>(report)?;
    let options = &options.choose_size(args.fit.grid.as_ref(), &corpus, report, interrupt)?;
    let grid = fit(&mut corpus, None, (options, &input.options.words), checkpoints, report, interrupt)?;
    {
        let _whole = interrupt.writing_results();
        let mut files = StagedFiles::new();
        if let Some(path) = &args.saving.save_config {
            let worked_out = grid.worked_out(options, &args.fit, checkpoints);
            files.write(path, |out| out.write_all(&invocation.to_toml(&worked_out)))?;
        }
        files.write_model(&args.output, &grid.to_file())?;
        files.publish()?;
    }
    report_files(report, &corpus, &grid, &outputs);
    checkpoints.end()
}

/// The options of a counting grid, or of a componential one.
#[derive(Clone, Debug)]
pub(crate) enum GridModel {
    Plain(GridOptions),
    Componential(ComponentialOptions),
}

impl GridModel {
    pub(crate) fn new(componential: bool, own: &ComponentialArgs, grid: &GridArgs) -> Result<Self, Failure> {
        let grid = options_but_size(grid)?;
        if !componential {
            return Ok(Self::Plain(grid));
        }
        let options = own.options(grid);
        options.validate()?;
        Ok(Self::Componential(options))
    }

    /// The same for a map, which begins with mini-batches if documents are many.
    pub(crate) fn for_map<T: Stored>(mut self, corpus: &Corpus<T>) -> Self {
        let grid = self.grid_mut();
        *grid = grid.clone().for_many(&BagTotals::from(corpus));
        self
    }

    /// Those of the grid, or of the one that a componential grid begins as.
    fn grid(&self) -> &GridOptions {
        match self {
            Self::Plain(options) => options,
            Self::Componential(options) => &options.grid,
        }
    }

    fn grid_mut(&mut self) -> &mut GridOptions {
        match self {
            Self::Plain(options) => options,
            Self::Componential(options) => &mut options.grid,
        }
    }

    /// The same with the size of the grid chosen, if that is to be: the componential grid has that of the plain one that it begins as.
    pub(crate) fn choose_size<T: Stored>(
        &self,
        size: Option<&GridSize>,
        corpus: &Corpus<T>,
        report: &Report,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let mut chosen = self.clone();
        if size == Some(&GridSize::Auto) {
            let options = chosen.grid_mut();
            interrupt.leaves("interrupted while the size of the grid was chosen; nothing is written");
            let each = |tried: &TriedGrid| report_size(tried, report);
            let choice =
                choose_grid(options, &corpus.bags, each, interrupt.stop()).map_err(|error| match error {
                    EvaluationError::Stopped => Failure::Interrupted,
                    error => corpus
                        .source
                        .iter()
                        .fold(error.into(), |failure: Failure, source| failure.of_file(&source.path)),
                })?;
            if choice.tried.is_empty() {
                report.note("no document has two words, so that --grid auto takes the default size");
            }
            options.extents = Some(choice.layout.extents().to_vec());
        }
        Ok(chosen)
    }

    /// Cells along each axis, where they are given or chosen.
    pub(crate) fn extents(&self) -> Option<&[usize]> {
        self.grid().extents.as_deref()
    }

    fn seed(&self) -> u64 {
        self.grid().seed
    }
}

/// A counting grid that was fitted, or a componential one.
pub(crate) enum FittedGridModel<T> {
    Plain(FittedGrid<T>),
    Componential(FittedComponential<T>),
}

impl<T: Stored> FittedGridModel<T> {
    pub(crate) fn summary(&self) -> Option<&FitSummary> {
        match self {
            Self::Plain(grid) => grid.summary(),
            Self::Componential(grid) => grid.summary(),
        }
    }

    fn describe(
        &mut self,
        title: &str,
        corpus: &Corpus<T>,
        words: &WordOptions,
    ) -> Result<(), EstimatorError> {
        match self {
            Self::Plain(grid) => grid.describe(title, corpus, words),
            Self::Componential(grid) => grid.describe(title, corpus, words),
        }
    }

    pub(crate) fn layout(&self) -> &GridLayout {
        match self {
            Self::Plain(grid) => grid.layout(),
            Self::Componential(grid) => grid.layout(),
        }
    }

    /// Options that were worked out, by name: with these values given the fit is the same. Annealing that is not given
    /// takes its iterations of the others; one that is has them before. A fit that may go on is one with options as they were.
    pub(crate) fn worked_out(
        &self,
        options: &GridModel,
        given: &GridArgs,
        checkpoints: &Checkpoints,
    ) -> WorkedOut {
        let fit = match self {
            Self::Plain(grid) => &grid.info.fit,
            Self::Componential(grid) => &grid.info.fit,
        };
        let number = |name: &str| fit.get(name).filter(|value| value.is_number()).cloned();
        let (mut all, mut told) = (Vec::new(), Vec::new());
        if given.grid.as_ref().and_then(GridSize::given).is_none() {
            all.push(("grid", format_sides(self.layout().extents())));
        }
        if given.window.is_none() {
            all.push(("window", format_sides(self.layout().window())));
        }
        if let (None, Some(pseudocount)) = (given.pseudocount, number("pseudocount")) {
            // That of the full grid; the coarser ones have others.
            let values = if given.schedule == Schedule::Single { &mut all } else { &mut told };
            values.push(("pseudocount", pseudocount.to_string()));
        }
        let by_default = given.anneal.is_none() && given.batch.is_none() && !checkpoints.is_kept();
        let GridOptions { start, iterations, .. } = options.grid();
        if by_default && let Some(GridStart::MiniBatches { size, passes }) = start {
            all.push(("batch", size.to_string()));
            all.push(("passes", passes.to_string()));
            all.push(("iterations", iterations.to_string()));
        } else if by_default {
            let annealing = number("anneal").zip(number("anneal_iterations"));
            let taken = annealing.as_ref().and_then(|(_, iterations)| iterations.as_u64()).unwrap_or(0);
            match annealing {
                Some((beta, iterations)) => {
                    all.push(("anneal", beta.to_string()));
                    all.push(("anneal-iterations", iterations.to_string()));
                }
                None => all.push(("anneal", "1".to_owned())),
            }
            if taken > 0 {
                let left = given.iterations.saturating_sub(usize::try_from(taken).unwrap_or(0));
                all.push(("iterations", left.to_string()));
            }
        }
        let of_start = [
            (
                "anneal-iterations",
                given.anneal.is_some() && given.anneal_iterations.is_none(),
                "anneal_iterations",
            ),
            ("passes", given.batch.is_some() && given.passes.is_none(), "passes"),
        ];
        for (option, is_missing, name) in of_start {
            all.extend(number(name).filter(|_| is_missing).map(|value| (option, value.to_string())));
        }
        if let GridModel::Componential(options) = options {
            all.push(("concentration", options.concentration.to_string()));
            all.push(("componential-iterations", options.iterations.to_string()));
        }
        WorkedOut { values: all, told }
    }

    pub(crate) fn label_names(&self) -> Option<&[String]> {
        match self {
            Self::Plain(grid) => grid.labels().map(GridLabels::names),
            Self::Componential(grid) => grid.labels().map(GridLabels::names),
        }
    }

    pub(crate) fn to_file(&self) -> ModelFile {
        match self {
            Self::Plain(grid) => grid.to_file(),
            Self::Componential(grid) => grid.to_file(),
        }
    }

    pub(crate) fn pages_and_places(
        &self,
        corpus: &Corpus<T>,
    ) -> Result<(Vec<GridPage>, Vec<GridPlacement>), EstimatorError> {
        match self {
            Self::Plain(grid) => grid.pages_and_places(corpus),
            Self::Componential(grid) => grid.pages_and_places(corpus),
        }
    }
}

/// A grid with its labels, fitted to a corpus. Counts that leave no room for it go to a file.
pub(crate) fn fit<T: Stored>(
    corpus: &mut Corpus<T>,
    title: Option<&str>,
    (model, words): (&GridModel, &WordOptions),
    checkpoints: &Checkpoints,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<FittedGridModel<T>, Failure> {
    let seed = model.seed();
    let mut grid = match model {
        GridModel::Plain(options) => {
            let plan = options.plan(corpus)?;
            let memory = plan.memory().saturating_add(plan.checkpoint_memory());
            report_plan(corpus, plan.layout(), (plan.pseudocount(), memory), seed, report);
            FittedGridModel::Plain(train(
                |bags, file| plan.train(bags, file),
                corpus,
                checkpoints,
                report,
                interrupt,
            )?)
        }
        GridModel::Componential(options) => {
            let plan = options.plan(corpus)?;
            let memory = plan.memory().saturating_add(plan.checkpoint_memory());
            report_plan(corpus, plan.layout(), (plan.pseudocount(), memory), seed, report);
            FittedGridModel::Componential(train(
                |bags, file| plan.train(bags, file),
                corpus,
                checkpoints,
                report,
                interrupt,
            )?)
        }
    };
    if let Some(summary) = grid.summary() {
        report_fit(summary, report);
    }
    if corpus.labels.names.len() > corpus.vocabulary.len() {
        // As large as the grid itself: rather a title than a class.
        report.note(format_args!(
            "the model leaves out labels: there are {}, more than words",
            group_digits(corpus.labels.names.len())
        ));
    }
    grid.describe(title.unwrap_or(&corpus.name), corpus, words)?;
    Ok(grid)
}

/// Reports what is fitted and what memory that takes, and where its counts are.
fn report_plan<T: Stored>(
    corpus: &Corpus<T>,
    layout: &GridLayout,
    (pseudocount, memory): (f64, u128),
    seed: u64,
    report: &Report,
) {
    if let Some(bytes) = corpus.bags.file_bytes() {
        let (entries, blocks) = (corpus.bags.entries(), corpus.bags.blocks().len());
        report.event(
            "stream",
            format_args!(
                "{} counts in a temporary file of {}, {blocks} blocks",
                group_digits(entries),
                countgrid_corpus::memory::format_bytes(bytes.into()),
            ),
            json!({ "entries": entries, "bytes": bytes, "blocks": blocks }),
        );
    }
    report.event(
        "grid",
        format_args!(
            "{}, window {}; pseudocount {pseudocount:.3e}, seed {seed}; {} of memory",
            countgrid_estimators::format_sides(layout.extents()),
            countgrid_estimators::format_sides(layout.window()),
            countgrid_corpus::memory::format_bytes(memory),
        ),
        json!({
            "grid": layout.extents(), "window": layout.window(), "pseudocount": pseudocount, "seed": seed,
            "memory": u64::try_from(memory).unwrap_or(u64::MAX),
        }),
    );
}

/// Fits to a corpus, from a checkpoint if that was asked for.
fn train<'a, T, F>(
    begin: impl FnOnce(&'a Blocks<T>, Option<ModelFile>) -> Result<BoxedTraining<'a, F>, EstimatorError>,
    corpus: &'a Corpus<T>,
    checkpoints: &Checkpoints,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<F, Failure> {
    let data = corpus.source.as_ref().map(|source| source.path.as_path());
    let training = match checkpoints.load()? {
        Some(file) => begin(&corpus.bags, Some(file)).map_err(|error| checkpoints.refused(error))?,
        None => begin(&corpus.bags, None)
            .map_err(|error| data.iter().fold(Failure::from(error), |failure, path| failure.of_file(path)))?,
    };
    training::run(training, data, checkpoints, report, interrupt)
}

/// Reports a size that was tried.
fn report_size(tried: &TriedGrid, report: &Report) {
    let TriedGrid { layout, held_out } = tried;
    let error = held_out.per_token.standard_error.map_or(String::new(), |error| format!(" ± {error:.4}"));
    report.event(
        "size",
        format_args!(
            "{}, window {}: {:.4}{error} nats per token of {} documents held out",
            format_sides(layout.extents()),
            format_sides(layout.window()),
            held_out.per_token.value,
            group_digits(held_out.documents)
        ),
        json!({
            "grid": layout.extents(), "window": layout.window(), "documents": held_out.documents, "tokens": held_out.tokens,
            "completion_log_likelihood": held_out.per_token.value, "standard_error": held_out.per_token.standard_error,
        }),
    );
}

/// The options of a grid that were asked for, of a command that takes its size as it is given.
pub(crate) fn grid_options(args: &GridArgs) -> Result<GridOptions, Failure> {
    if args.grid == Some(GridSize::Auto) {
        return Err(Failure::new(
            "--grid auto is of fit, map and start",
            "give sides; to compare several: --try grid=8x8,12x12 of crossval and sweep",
        ));
    }
    options_but_size(args)
}

/// The same, with no size where it is yet to be chosen.
fn options_but_size(args: &GridArgs) -> Result<GridOptions, Failure> {
    args.check()?;
    let start = match (args.anneal, args.batch) {
        (Some(1.0), _) => Some(GridStart::Plain),
        (Some(beta), _) => Some(GridStart::Annealed {
            beta,
            iterations: args.anneal_iterations.unwrap_or(GridStart::ANNEALING_ITERATIONS),
        }),
        (None, Some(size)) => {
            Some(GridStart::MiniBatches { size, passes: args.passes.unwrap_or(GridStart::PASSES) })
        }
        (None, None) => None,
    };
    let schedule = match args.schedule {
        Schedule::CoarseToFine => GridSchedule::CoarseToFine,
        Schedule::Single => GridSchedule::Single,
    };
    let options = GridOptions {
        extents: args.grid.as_ref().and_then(GridSize::given).map(|sides| sides.0.clone()),
        window: args.window.as_ref().map(|sides| sides.0.clone()),
        iterations: args.iterations,
        tolerance: args.tolerance,
        seed: args.seed,
        restarts: args.restarts,
        pseudocount: args.pseudocount,
        learn_prior: args.learn_prior,
        inner_passes: args.inner_passes,
        schedule,
        start,
        memory: None,
        read_ahead: args.threads != Some(1),
    };
    options.validate()?;
    Ok(options)
}

/// Reports how a fit ended: with iterations at the full size.
fn report_fit(summary: &FitSummary, report: &Report) {
    let iterations = match (summary.iterations, summary.bound_per_token) {
        (0, None) => "no iteration at this size".to_owned(),
        (iterations, _) => format!("{iterations} iterations"),
    };
    let bound =
        summary.bound_per_token.map_or("not evaluated".to_owned(), |x| format!("bound per token {x:.4}"));
    report.event(
        "fitted",
        format_args!("{iterations} ({}), {bound}, {:.1} s", summary.end_reason(), report.seconds()),
        json!({
            "iterations": summary.iterations, "end": summary.end_reason(), "bound_per_token": summary.bound_per_token,
            "restart": summary.restart + 1, "seconds": report.seconds(),
        }),
    );
}

/// Reports the files written; for programs, all that matters once more.
pub(crate) fn report_files<T: Stored>(
    report: &Report,
    corpus: &Corpus<T>,
    grid: &FittedGridModel<T>,
    files: &[&Path],
) {
    let summary = grid.summary();
    report.files_written(
        files,
        json!({
            "documents": corpus.bags.len(), "near_duplicates": corpus.near_duplicates.len(), "tokens": corpus.tokens,
            "vocabulary": corpus.vocabulary.len(), "iterations": summary.map(|summary| summary.iterations), "end": summary.map(FitSummary::end_reason),
            "bound_per_token": summary.map(|summary| summary.bound_per_token),
        }),
    );
}
