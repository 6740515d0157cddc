//! `countgrid fit`: documents to a model.

use std::path::Path;

use countgrid_counts::Bags;
use countgrid_io::{check_writable, save};
use countgrid_text::TextOptions;
use serde_json::json;

use crate::{
    args::{FitArgs, GridArgs, Precision, WordArgs},
    corpus::{Corpus, Source, text_options},
    failure::Failure,
    fit::{Ending, Fitted, fit},
    interrupt::Interrupt,
    layout::Layout,
    memory,
    model::{About, Stored, to_file},
    report::Report,
};

pub(crate) fn run(args: &FitArgs) -> Result<(), Failure> {
    let report = Report::new(args.say.quiet, args.say.json);
    check_writable(&args.output)?;
    let text = text_options(&args.words)?;
    let interrupt = Interrupt::install()?;
    let source = Source::read(Some(&args.path), &args.read, &[&args.output], &report)?;
    let corpus = source.select(&args.words, &report)?;
    let layout = Layout::choose(args.fit.grid.as_ref(), args.fit.window.as_ref(), corpus.placed())?;
    match args.fit.precision {
        Precision::F32 => fit_and_save::<f32>(args, &corpus, &layout, text, &report, &interrupt),
        Precision::F64 => fit_and_save::<f64>(args, &corpus, &layout, text, &report, &interrupt),
    }
}

fn fit_and_save<T: Stored>(
    args: &FitArgs,
    corpus: &Corpus,
    layout: &Layout,
    text: TextOptions,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let Fitted { grid, ending, .. } = fit::<T>(&corpus.bags, layout, &args.fit, report, interrupt)?;
    told(&ending, report);
    let about = about(&corpus.name, corpus, layout, text, &args.words, &args.fit, &ending);
    {
        let _whole = interrupt.writing();
        save(&args.output, &to_file(&about, &grid))?;
    }
    wrote(report, corpus, &ending, &[&args.output]);
    Ok(())
}

/// What goes into a model besides its numbers.
pub(crate) fn about(
    title: &str,
    corpus: &Corpus,
    layout: &Layout,
    text: TextOptions,
    words: &WordArgs,
    args: &GridArgs,
    ending: &Ending,
) -> About {
    // Nothing that two equal runs do not share, such as times and paths: equal runs give equal files.
    let fit = json!({
        "documents": corpus.entries.len(), "tokens": corpus.bags.tokens(),
        "min_count": words.min_count, "max_share": words.max_share, "max_words": words.max_words,
        "iterations": ending.iterations, "end": ending.why(), "bound_per_token": ending.bound_per_token,
        "pseudocount": ending.pseudocount, "seed": args.seed, "restarts": args.restarts,
        "restart": ending.restart, "learn_prior": args.learn_prior, "inner_passes": args.inner_passes,
        "schedule": args.schedule.name(), "tolerance": args.tolerance,
    });
    About {
        title: title.to_owned(),
        layout: layout.clone(),
        vocabulary: corpus.vocabulary.clone(),
        text,
        fit,
    }
}

/// Reports how a fit ended.
pub(crate) fn told(ending: &Ending, report: &Report) {
    report.event(
        "fitted",
        format_args!(
            "{} iterations ({}), bound per token {:.4}, {:.1} s",
            ending.iterations,
            ending.why(),
            ending.bound_per_token,
            report.seconds()
        ),
        json!({
            "iterations": ending.iterations, "end": ending.why(), "bound_per_token": ending.bound_per_token,
            "restart": ending.restart, "seconds": report.seconds(),
        }),
    );
}

/// Reports the files written; for programs, all that matters once more.
pub(crate) fn wrote(report: &Report, corpus: &Corpus, ending: &Ending, files: &[&Path]) {
    for file in files {
        let bytes = file.metadata().map_or(0, |about| about.len());
        report.event(
            "wrote",
            format_args!("{} ({})", file.display(), memory::size(bytes.into())),
            json!({ "file": file.to_string_lossy(), "bytes": bytes }),
        );
    }
    report.summary(json!({
        "documents": corpus.entries.len(), "tokens": corpus.bags.tokens(),
        "vocabulary": corpus.vocabulary.len(), "iterations": ending.iterations, "end": ending.why(),
        "bound_per_token": ending.bound_per_token, "seconds": report.seconds(),
        "files": files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
    }));
}
