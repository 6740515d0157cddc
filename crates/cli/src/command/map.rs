//! `countgrid map`: documents to a page and a model.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use countgrid_io::{check_writable, save, write_atomically};
use countgrid_map::{Document, MAX_CELLS, Page, characteristic_words, coverage, write_html};
use countgrid_text::TextOptions;

use super::{
    fit::{about, layout_of, told, wrote},
    topographic,
};
use crate::{
    args::{MapArgs, Precision},
    corpus::{Corpus, Input, Sample, text_options},
    failure::Failure,
    fit::{Fitted, fit},
    interrupt::Interrupt,
    labels::Labelled,
    layout::Layout,
    model::{Stored, to_file},
    place::place,
    report::{Report, thousands},
    threads,
};

/// Words that a cell shows at most.
const WORDS: usize = 8;
/// Windows of a document that the page keeps.
const WINDOWS: usize = 8;
/// Documents that the page lists at most: it holds about half a kilobyte of each.
pub(crate) const DOCUMENTS: usize = 20_000;

pub(crate) fn run(args: &MapArgs) -> Result<(), Failure> {
    let report = Report::new(args.say.quiet, args.say.json);
    args.check()?;
    let files = Files::in_folder(&args.output, args.model.law().is_some())?;
    let text = text_options(&args.words)?;
    if let Some(grid) = &args.fit.grid {
        if Layout::rows_and_columns(grid).is_none() {
            return Err(Failure::new(
                format_args!("a page shows a grid of one or two axes, {grid} has {}", grid.0.len()),
                "take --grid with one or two sides, or `countgrid fit` and then `embed` and `words`",
            ));
        }
        if grid
            .0
            .iter()
            .try_fold(1usize, |cells, &side| cells.checked_mul(side))
            .is_none_or(|n| n > MAX_CELLS)
        {
            return Err(Failure::new(
                format_args!("a page shows at most {} cells, {grid} has more", thousands(MAX_CELLS)),
                "take a smaller --grid",
            ));
        }
    }
    args.fit.check()?;
    if let Some(law) = args.model.law() {
        return topographic::run(args, law, &files, text, &report);
    }
    let interrupt = Interrupt::install()?;
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => draw::<f32>(args, &files, text, &report, &interrupt),
        Precision::F64 => draw::<f64>(args, &files, text, &report, &interrupt),
    })
}

/// What is written: a page and a model; of topographic maps also a table and two pictures.
pub(crate) struct Files {
    folder: PathBuf,
    pub(crate) page: PathBuf,
    pub(crate) model: PathBuf,
    pub(crate) points: PathBuf,
    pub(crate) svg: PathBuf,
    pub(crate) png: PathBuf,
}

impl Files {
    /// The files in a folder that is there, or that can be made.
    fn in_folder(folder: &Path, topographic: bool) -> Result<Self, Failure> {
        // `./map.html` is nothing but longer.
        let file = |name: &str| if folder == Path::new(".") { name.into() } else { folder.join(name) };
        let [page, model, points, svg, png] =
            ["map.html", "model.safetensors", "points.csv", "map.svg", "map.png"].map(file);
        let files = Self { folder: folder.to_owned(), page, model, points, svg, png };
        if folder.exists() {
            let written = if topographic { files.all() } else { files.of_grids() };
            written.into_iter().try_for_each(check_writable)?;
        } else {
            check_writable(folder)?; // as a name, which is as good as a folder's
        }
        Ok(files)
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<&Path> {
        let Self { page, model, points, svg, png, .. } = self;
        [page, model, points, svg, png].map(PathBuf::as_path).to_vec()
    }

    /// Those that a grid has.
    fn of_grids(&self) -> Vec<&Path> {
        vec![&self.page, &self.model]
    }

    /// All or none: a file gets its name once those after it, and last the model, have been written.
    pub(crate) fn write(
        &self,
        rendered: &[(&Path, Vec<u8>)],
        model: &countgrid_io::ModelFile,
    ) -> Result<(), Failure> {
        let made = !self.folder.exists();
        if made {
            fs::create_dir(&self.folder).map_err(|error| {
                Failure::new(
                    format_args!("{}: {error}", self.folder.display()),
                    "name another folder (--output)",
                )
            })?;
        }
        let written = self.write_all(rendered, model);
        if written.is_err() && made {
            let _not_empty = fs::remove_dir(&self.folder);
        }
        written
    }

    fn write_all(
        &self,
        rendered: &[(&Path, Vec<u8>)],
        model: &countgrid_io::ModelFile,
    ) -> Result<(), Failure> {
        let Some(((path, bytes), others)) = rendered.split_first() else {
            return Ok(save(&self.model, model)?);
        };
        let mut refused = None;
        let written = write_atomically(path, |out| {
            out.write_all(bytes)?;
            self.write_all(others, model).map_err(|failure| {
                refused = Some(failure);
                io::Error::other("another file was not written")
            })
        });
        match refused {
            Some(refused) => Err(refused),
            None => Ok(written?),
        }
    }
}

fn draw<T: Stored>(
    args: &MapArgs,
    files: &Files,
    text: TextOptions,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let outputs = &files.all(); // also those that another model has left
    let sample = args.sample.map(|of_each| Sample { of_each, seed: args.fit.seed });
    let (path, stream, block_entries) = (args.path.as_deref(), args.fit.stream, args.fit.block_entries);
    let (read, scaling) = (&args.read, args.numbers.scaling()?);
    let input = Input { path, read, scaling, outputs, sample, entries: true, stream, block_entries };
    let mut corpus = input.select::<T>(&args.words, report)?;
    let layout = &layout_of(&mut corpus, &args.fit, report)?;
    let corpus = &corpus;
    let fitted = fit::<T>(&corpus.bags, corpus.tokens, layout, &args.fit, report, interrupt)?;
    told(&fitted.ending, report);
    let title = args.title.as_deref().unwrap_or(&corpus.name);
    let about = about(title, corpus, text, &args.words, &args.fit, &fitted.ending);
    let labels = Labelled::embed(&fitted.histograms, corpus, report)?;
    let page = page(title, corpus, layout, &fitted, args.fit.seed, report)?;
    let mut html = Vec::new();
    write_html(&page, &mut html)
        .map_err(|error| Failure::new(format_args!("the page: {error}"), "this is a bug worth a report"))?;
    {
        let _whole = interrupt.writing();
        files.write(&[(&files.page, html)], &to_file(&about, layout, &fitted.grid, labels.as_ref()))?;
    }
    wrote(report, corpus, &fitted.ending, &[&files.page, &files.model]);
    Ok(())
}

/// The page of a fitted grid.
fn page<T: Stored>(
    title: &str,
    corpus: &Corpus<T>,
    layout: &Layout,
    fitted: &Fitted<T>,
    seed: u64,
    report: &Report,
) -> Result<Page, Failure> {
    let sides = (Layout::rows_and_columns(&layout.grid), Layout::rows_and_columns(&layout.window));
    let (Some(extents), Some(window)) = sides else {
        return Err(Failure::new("a page needs one or two axes", "take another --grid"));
    };
    let mut documents = Vec::with_capacity(corpus.entries.len());
    place(&fitted.histograms, &corpus.bags, |bag, tokens, posterior| {
        let mut best = [(0, T::zero()); WINDOWS];
        let found = if tokens > 0.0 { posterior.best(&mut best) } else { 0 };
        // A float's probability may be a rounding above 1.
        let probability = |q: T| (q.to_f64() as f32).min(1.0);
        let posterior = best.iter().take(found).map(|&(cell, q)| (cell as u32, probability(q))).collect();
        let Some(entry) = corpus.entries.get(bag) else { return };
        documents.push(Document {
            title: entry.title.clone(),
            label: corpus.labels.of.get(bag).copied().flatten(),
            snippet: entry.snippet.clone(),
            posterior,
            place: None,
        });
    })?;
    let bug = |error| Failure::new(format_args!("the page: {error}"), "this is a bug worth a report");
    let mass = coverage(extents, window, &documents).map_err(bug)?;
    let pi: Vec<f32> = fitted.grid.tables().0.iter().map(|&p| p.to_f64() as f32).collect();
    let cells = fitted.grid.shape().cells();
    let words = characteristic_words(&pi, cells, &corpus.vocabulary, Some(&mass), WORDS).map_err(bug)?;

    let all = documents.len();
    if all > DOCUMENTS {
        documents = thinned(documents, DOCUMENTS);
        report.note(format_args!(
            "the page lists {} of the {} documents, evenly chosen; all of them were fitted",
            thousands(DOCUMENTS),
            thousands(all)
        ));
    }
    let listed = match all {
        all if all > DOCUMENTS => format!("{}, of which {} are listed", thousands(all), thousands(DOCUMENTS)),
        all => thousands(all),
    };
    let ending = &fitted.ending;
    let facts = [
        ("Documents", listed),
        ("Tokens", thousands(corpus.tokens.round())),
        ("Vocabulary", format!("{} words", thousands(corpus.vocabulary.len()))),
        ("Grid", layout.grid.to_string()),
        ("Window", layout.window.to_string()),
        ("Iterations", format!("{} ({})", ending.iterations, ending.why())),
        ("Bound per token", format!("{:.4} nats", ending.bound_per_token)),
        ("Seed", seed.to_string()),
        ("Made by", concat!("countgrid ", env!("CARGO_PKG_VERSION")).to_owned()),
    ];
    Ok(Page {
        title: title.to_owned(),
        extents,
        window,
        words,
        documents,
        labels: corpus.labels.names.clone(),
        facts: facts.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        ..Page::default()
    })
}

/// So many of them, evenly spaced.
pub(crate) fn thinned<D>(all: Vec<D>, count: usize) -> Vec<D> {
    let total = all.len();
    let chosen = |place: usize| place * count / total != (place + 1) * count / total;
    all.into_iter().enumerate().filter(|&(place, _)| chosen(place)).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_is_even_and_exact() {
        assert_eq!(thinned((0..10).collect(), 5), [1, 3, 5, 7, 9]);
        assert_eq!(thinned((0..38_221).collect::<Vec<_>>(), 20_000).len(), 20_000);
    }
}
