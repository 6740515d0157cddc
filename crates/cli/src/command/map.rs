//! `countgrid map`: documents to a page and a model.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use countgrid_io::{check_writable, save, write_atomically};
use countgrid_map::{
    Document, MAX_CELLS, Page, Word, characteristic_words, coverage, evenly_spaced, write_html,
};
use countgrid_text::TextOptions;

use super::{
    fit::{about, layout_of, report_files, report_fit},
    topographic,
};
use crate::{
    args::{MapArgs, Precision},
    corpus::{Corpus, Input, Sample, text_options},
    failure::Failure,
    fit::{Fitted, fit},
    interrupt::Interrupt,
    labels::Labelled,
    layout::{Layout, Planes},
    model::{Stored, to_file},
    posteriors::for_each_posterior,
    report::{Report, thousands},
    threads,
};

/// Words that a cell shows at most.
const WORDS: usize = 8;
/// Windows of a document that the page keeps.
const WINDOWS: usize = 8;
/// Layers that a map has at most.
const LAYERS: usize = 9;
/// Documents that the page lists at most: it holds about half a kilobyte of each.
pub(crate) const DOCUMENTS: usize = 20_000;

pub(crate) fn run(args: &MapArgs) -> Result<(), Failure> {
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    args.check()?;
    let text = text_options(&args.words)?;
    let mut layers = 1;
    if let Some(grid) = &args.fit.grid {
        layers = match Planes::from_sides(grid, args.fit.window.as_ref()) {
            Some(planes) if planes.layers <= LAYERS => planes.layers,
            Some(planes) => {
                return Err(Failure::new(
                    format_args!("a map has {LAYERS} layers at most, and {grid} has {}", planes.layers),
                    "take --grid with fewer on the first axis",
                ));
            }
            None => {
                return Err(Failure::new(
                    format_args!("a page shows a grid of one or two axes, {grid} has {}", grid.0.len()),
                    "take --grid with one or two sides; or layers, three sides and windows of one cell along the first, \
                     such as --grid 3x16x16 --window 1x4x4; or `countgrid fit` and then `embed` and `words`",
                ));
            }
        };
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
    let files = Files::in_folder(&args.output, args.model.emission_model().is_some(), layers)?;
    if let Some(emission_model) = args.model.emission_model() {
        return topographic::run(args, emission_model, &files, text, &report);
    }
    let interrupt = Interrupt::install()?;
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => draw::<f32>(args, &files, text, &report, &interrupt),
        Precision::F64 => draw::<f64>(args, &files, text, &report, &interrupt),
    })
}

/// What is written: a page, or one of each layer, and a model; of topographic maps also a table and two pictures.
pub(crate) struct Files {
    folder: PathBuf,
    pub(crate) page: PathBuf,
    layers: Vec<PathBuf>, // pages of layers, also of those that there are not
    used: usize,          // how many layers there are
    pub(crate) model: PathBuf,
    pub(crate) points: PathBuf,
    pub(crate) svg: PathBuf,
    pub(crate) png: PathBuf,
}

impl Files {
    /// The files in a folder that is there, or that can be made.
    fn in_folder(folder: &Path, topographic: bool, used: usize) -> Result<Self, Failure> {
        // `./map.html` is nothing but longer.
        let file = |name: &str| if folder == Path::new(".") { name.into() } else { folder.join(name) };
        let [page, model, points, svg, png] =
            ["map.html", "model.safetensors", "points.csv", "map.svg", "map.png"].map(file);
        let layers = (1..=LAYERS).map(|layer| file(&format!("map-{layer}.html"))).collect();
        let files = Self { folder: folder.to_owned(), page, layers, used, model, points, svg, png };
        if folder.exists() {
            let written = if topographic {
                files.topographic_paths()
            } else {
                [files.pages(), vec![&files.model]].concat()
            };
            written.into_iter().try_for_each(check_writable)?;
        } else {
            check_writable(folder)?; // as a name, which is as good as a folder's
        }
        Ok(files)
    }

    /// All that a map may have written.
    pub(crate) fn all(&self) -> Vec<&Path> {
        self.topographic_paths().into_iter().chain(self.layers.iter().map(PathBuf::as_path)).collect()
    }

    fn topographic_paths(&self) -> Vec<&Path> {
        let Self { page, model, points, svg, png, .. } = self;
        [page, model, points, svg, png].map(PathBuf::as_path).to_vec()
    }

    /// The page of a grid, or those of its layers.
    fn pages(&self) -> Vec<&Path> {
        match self.used {
            1 => vec![&self.page],
            used => self.layers.iter().take(used).map(PathBuf::as_path).collect(),
        }
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
    report_fit(&fitted.summary, report);
    let title = args.title.as_deref().unwrap_or(&corpus.name);
    let about = about(title, corpus, text, &args.words, &args.fit, &fitted.summary);
    let labels = Labelled::embed(&fitted.histograms, corpus, report)?;
    let pages = pages(title, corpus, layout, &fitted, args.fit.seed, report)?;
    let mut rendered = Vec::with_capacity(pages.len());
    for (path, page) in files.pages().into_iter().zip(&pages) {
        let mut html = Vec::new();
        write_html(page, &mut html).map_err(|error| {
            Failure::new(format_args!("the page: {error}"), "this is a bug worth a report")
        })?;
        rendered.push((path, html));
    }
    {
        let _whole = interrupt.writing();
        files.write(&rendered, &to_file(&about, layout, &fitted.grid, labels.as_ref()))?;
    }
    report_files(report, corpus, &fitted.summary, &[files.pages(), vec![&files.model]].concat());
    Ok(())
}

/// The page of a fitted grid, or one of each layer: its documents are those that are likelier there than in another.
fn pages<T: Stored>(
    title: &str,
    corpus: &Corpus<T>,
    layout: &Layout,
    fitted: &Fitted<T>,
    seed: u64,
    report: &Report,
) -> Result<Vec<Page>, Failure> {
    let Some(Planes { layers, extents, window }) = layout.planes() else {
        return Err(Failure::new("a page needs one or two axes", "take another --grid"));
    };
    let plane = extents[0] * extents[1];
    let mut documents: Vec<Vec<Document>> = vec![Vec::new(); layers]; // [layer]
    for_each_posterior(&fitted.histograms, &corpus.bags, |bag, tokens, posterior| {
        // A float's probability may be a rounding above 1.
        let probability = |q: T| (q.to_f64() as f32).min(1.0);
        let mut layer = 0;
        if layers > 1 {
            let mut mass = vec![0.0; layers];
            posterior.for_each(|cell, q| mass[cell / plane] += q.to_f64());
            layer = (0..layers).rev().max_by(|&a, &b| mass[a].total_cmp(&mass[b])).unwrap_or(0);
        }
        let mut best = [(0, T::zero()); WINDOWS];
        let found = if tokens > 0.0 { posterior.best(&mut best) } else { 0 };
        let here = best.iter().take(found).filter(|(cell, _)| cell / plane == layer);
        let posterior = here.map(|&(cell, q)| ((cell % plane) as u32, probability(q))).collect();
        let Some(entry) = corpus.entries.get(bag) else { return };
        documents[layer].push(Document {
            title: entry.title.clone(),
            label: corpus.labels.by_document.get(bag).copied().flatten(),
            snippet: entry.snippet.clone(),
            posterior,
            place: None,
        });
    })?;
    let internal_error =
        |error| Failure::new(format_args!("the page: {error}"), "this is a bug worth a report");
    let mut mass = Vec::with_capacity(layers * plane);
    for documents in &documents {
        mass.extend(coverage(extents, window, documents).map_err(internal_error)?);
    }
    let pi: Vec<f32> = fitted.grid.tables().0.iter().map(|&p| p.to_f64() as f32).collect();
    let cells = fitted.grid.shape().cells();
    // Of all layers together, so that what sets a layer apart is shown in it.
    let words =
        characteristic_words(&pi, cells, &corpus.vocabulary, Some(&mass), WORDS).map_err(internal_error)?;
    let (most, mut all) = (DOCUMENTS / layers, Vec::with_capacity(layers));
    for (layer, mut documents) in documents.into_iter().enumerate() {
        let title = match layers {
            1 => title.to_owned(),
            _ => format!("{title}, layer {} of {layers}", layer + 1),
        };
        let total = documents.len();
        let mut listed = match layers {
            1 => thousands(total),
            _ => format!("{} of {}", thousands(total), thousands(corpus.entries.len())),
        };
        if total > most {
            documents = evenly_spaced(documents, most);
            report.note(format_args!(
                "the page of {title} lists {} of its {} documents, evenly chosen; all of them were fitted",
                thousands(most),
                thousands(total)
            ));
            listed.push_str(&format!(", of which {} are listed", thousands(most)));
        }
        let first = layer * plane;
        let here = words.iter().filter(|word| (first..first + plane).contains(&(word.cell as usize)));
        let words = here.map(|word| Word { cell: word.cell - first as u32, ..word.clone() }).collect();
        let summary = &fitted.summary;
        let facts = [
            ("Documents", listed),
            ("Tokens", thousands(corpus.tokens.round())),
            ("Vocabulary", format!("{} words", thousands(corpus.vocabulary.len()))),
            ("Grid", layout.grid.to_string()),
            ("Window", layout.window.to_string()),
            ("Iterations", format!("{} ({})", summary.iterations, summary.end_reason())),
            ("Bound per token", format!("{:.4} nats", summary.bound_per_token)),
            ("Seed", seed.to_string()),
            ("Made by", concat!("countgrid ", env!("CARGO_PKG_VERSION")).to_owned()),
        ];
        all.push(Page {
            title,
            extents,
            window,
            words,
            documents,
            labels: corpus.labels.names.clone(),
            facts: facts.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            ..Page::default()
        });
    }
    Ok(all)
}
