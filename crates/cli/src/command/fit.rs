//! `countgrid fit`: documents to a model.

use std::path::Path;

use countgrid_io::{check_writable, save};
use countgrid_text::TextOptions;
use serde_json::json;

use crate::{
    args::{FitArgs, GridArgs, Precision, WordArgs},
    corpus::{Corpus, Input, text_options},
    failure::Failure,
    fit::{FitSummary, Fitted, fit},
    harmonium,
    interrupt::Interrupt,
    labels::Labelled,
    layout::Layout,
    memory,
    model::{About, Stored, to_file},
    report::{Report, thousands},
    threads,
};

pub(crate) fn run(args: &FitArgs) -> Result<(), Failure> {
    if let Some(family) = args.model.family() {
        return harmonium::fit(args, family);
    }
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    check_writable(&args.output)?;
    let text = text_options(&args.words)?;
    args.fit.check()?;
    let interrupt = Interrupt::install()?;
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => fit_and_save::<f32>(args, text, &report, &interrupt),
        Precision::F64 => fit_and_save::<f64>(args, text, &report, &interrupt),
    })
}

/// The layout to fit. Counts that leave no room for it go to a file.
pub(crate) fn layout_of<T: Stored>(
    corpus: &mut Corpus<T>,
    args: &GridArgs,
    report: &Report,
) -> Result<Layout, Failure> {
    let layout = Layout::choose(args.grid.as_ref(), args.window.as_ref(), corpus.nonempty)?;
    if memory::plan::<T>(&layout, corpus.vocabulary.len(), args.restarts).is_err() {
        corpus.bags.spill()?;
    }
    if let Some(bytes) = corpus.bags.file_bytes() {
        report.event(
            "stream",
            format_args!(
                "{} counts in a temporary file of {}, {} blocks",
                thousands(corpus.bags.entries()),
                memory::size(bytes.into()),
                corpus.bags.blocks().len()
            ),
            json!({
                "entries": corpus.bags.entries(), "bytes": bytes, "blocks": corpus.bags.blocks().len(),
            }),
        );
    }
    Ok(layout)
}

fn fit_and_save<T: Stored>(
    args: &FitArgs,
    text: TextOptions,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let input = Input {
        path: Some(&args.path),
        read: &args.read,
        scaling: args.numbers.scaling()?,
        outputs: &[&args.output],
        entries: false,
        sample: None,
        stream: args.fit.stream,
        block_entries: args.fit.block_entries,
    };
    let mut corpus = input.select::<T>(&args.words, report)?;
    let layout = layout_of(&mut corpus, &args.fit, report)?;
    let Fitted { grid, histograms, summary } =
        fit::<T>(&corpus.bags, corpus.tokens, &layout, &args.fit, report, interrupt)?;
    report_fit(&summary, report);
    let labels = Labelled::embed(&histograms, &corpus, report)?;
    let about = about(&corpus.name, &corpus, text, &args.words, &args.fit, &summary);
    {
        let _whole = interrupt.writing();
        save(&args.output, &to_file(&about, &layout, &grid, labels.as_ref()))?;
    }
    report_files(report, &corpus, &summary, &[&args.output]);
    Ok(())
}

/// What goes into a model besides its numbers.
pub(crate) fn about<T: Stored>(
    title: &str,
    corpus: &Corpus<T>,
    text: TextOptions,
    words: &WordArgs,
    args: &GridArgs,
    summary: &FitSummary,
) -> About {
    // Nothing that two equal runs do not share, such as times and paths: equal runs give equal files.
    let fit = json!({
        "documents": corpus.bags.len(), "tokens": corpus.tokens,
        "min_count": words.min_count, "max_share": words.max_share, "max_words": words.max_words,
        "iterations": summary.iterations, "end": summary.end_reason(), "bound_per_token": summary.bound_per_token,
        "pseudocount": summary.pseudocount, "seed": args.seed, "restarts": args.restarts,
        "restart": summary.restart, "learn_prior": args.learn_prior, "inner_passes": args.inner_passes,
        "schedule": args.schedule.name(), "tolerance": args.tolerance, "anneal": args.anneal,
        "anneal_iterations": args.anneal.map(|_| args.annealing()), "batch": args.batch,
        "passes": args.batch.map(|_| args.mini_passes()),
    });
    About {
        title: title.to_owned(),
        vocabulary: corpus.vocabulary.clone(),
        text,
        scaling: corpus.scaling,
        fit,
    }
}

/// Reports how a fit ended.
pub(crate) fn report_fit(summary: &FitSummary, report: &Report) {
    report.event(
        "fitted",
        format_args!(
            "{} iterations ({}), bound per token {:.4}, {:.1} s",
            summary.iterations,
            summary.end_reason(),
            summary.bound_per_token,
            report.seconds()
        ),
        json!({
            "iterations": summary.iterations, "end": summary.end_reason(), "bound_per_token": summary.bound_per_token,
            "restart": summary.restart, "seconds": report.seconds(),
        }),
    );
}

/// Reports the files written; for programs, all that matters once more.
pub(crate) fn report_files<T: Stored>(
    report: &Report,
    corpus: &Corpus<T>,
    summary: &FitSummary,
    files: &[&Path],
) {
    report.files_written(
        files,
        json!({
            "documents": corpus.bags.len(), "tokens": corpus.tokens,
            "vocabulary": corpus.vocabulary.len(), "iterations": summary.iterations, "end": summary.end_reason(),
            "bound_per_token": summary.bound_per_token,
        }),
    );
}
