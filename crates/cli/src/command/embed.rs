//! `countgrid embed`: where documents lie, as CSV.

use std::io::{self, Write};

use countgrid_grid::Labels;
use countgrid_gtm::Emissions;
use countgrid_io::{BLOCK_ENTRIES, check_writable, write_atomically};
use countgrid_math::Real;

use crate::{
    args::EmbedArgs,
    corpus::{Corpus, Entry, Input},
    failure::Failure,
    harmonium,
    labels::Labelled,
    layout::AXES,
    model::{About, AnyModel, Loaded, Model, Stored, read_any},
    posteriors::{Mean, for_each_posterior, inference},
    report::Report,
    topographic::{
        model::{AnyModel as AnyMap, Model as Map},
        places,
    },
};

pub(crate) fn run(args: &EmbedArgs) -> Result<(), Failure> {
    if let Some(output) = &args.output {
        check_writable(output)?;
    }
    match read_any(&args.model)? {
        Loaded::Grid(_) | Loaded::Map(_) if args.features.features_from.is_some() => Err(Failure::new(
            "--features-from is for dual wings, and the model is a map",
            "leave --features-from out",
        )),
        Loaded::Grid(model) => match *model {
            AnyModel::F32(model) => embed(args, &model),
            AnyModel::F64(model) => embed(args, &model),
        },
        Loaded::Map(map) => match *map {
            AnyMap::F32(map) => embed_points(args, &map),
            AnyMap::F64(map) => embed_points(args, &map),
        },
        Loaded::Harmonium(model) => harmonium::embed(args, &model),
    }
}

/// The documents to place, over the words of a model.
pub(crate) fn documents<T: Stored>(args: &EmbedArgs, about: &About) -> Result<Corpus<T>, Failure> {
    // Standard output is for the table.
    let report = Report::new(true, false);
    let outputs: Vec<_> = args.output.iter().map(std::path::PathBuf::as_path).collect();
    let input = Input {
        path: Some(&args.path),
        read: &args.read,
        scaling: about.scaling,
        outputs: &outputs,
        sample: None,
        entries: true,
        stream: false,
        block_entries: BLOCK_ENTRIES,
    };
    input.count(&about.vocabulary, &about.text, &report)
}

/// Writes the table, and says how much of the documents is known.
pub(crate) fn finish<T>(
    args: &EmbedArgs,
    corpus: &Corpus<T>,
    known: f64,
    table: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    match &args.output {
        Some(output) => write_atomically(output, table)?,
        None => table(&mut io::BufWriter::new(io::stdout().lock())).map_err(Failure::output)?,
    }
    if !args.quiet {
        let tokens = corpus.entries.iter().fold(0.0, |tokens, entry| tokens + entry.tokens);
        let share = if tokens > 0.0 { 100.0 * known / tokens } else { 0.0 };
        eprintln!(
            "placed    {} of {} documents; {share:.1} % of their tokens are in the vocabulary",
            corpus.nonempty,
            corpus.entries.len()
        );
    }
    Ok(())
}

fn embed_points<T: Stored>(args: &EmbedArgs, model: &Map<T>) -> Result<(), Failure> {
    let corpus = documents::<T>(args, &model.about)?;
    let emissions = Emissions::allocate(&model.map)?;
    let places = places::place(&emissions, &corpus.bags.gathered(|count| count)?, |_, _| {})?;
    let known = places.iter().fold(0.0, |known, place| known + place.known_tokens);
    finish(args, &corpus, known, |out| places::write(out, &corpus, &places))
}

fn embed<T: Stored>(args: &EmbedArgs, model: &Model<T>) -> Result<(), Failure> {
    let corpus = documents::<T>(args, &model.about)?;
    let rows = rows(model, &corpus)?;
    let labels = model.labels.as_ref().map(|labels| labels.names.as_slice());
    let known = rows.iter().fold(0.0, |known, row| known + row.known_tokens);
    finish(args, &corpus, known, |out| write(out, model.layout.grid.0.len(), labels, &rows))
}

/// One document of the table.
struct Row<'a> {
    entry: &'a Entry,
    label: &'a str,
    known_tokens: f64,
    position: Option<Position>,
}

/// Where it lies.
struct Position {
    window: Vec<usize>,
    mean: Vec<Option<f64>>,
    probability: f64,
    /// Index and share of the label to expect, of equals the first, if the model knows labels.
    expected: Option<(usize, f64)>,
    log_evidence_per_token: f64,
}

fn rows<'a, T: Stored>(model: &Model<T>, corpus: &'a Corpus<T>) -> Result<Vec<Row<'a>>, Failure> {
    let layout = &model.layout;
    let torus = *model.grid.shape().windows().torus();
    let mut rows = Vec::with_capacity(corpus.entries.len());
    let labels = model.labels.as_ref().map(Labelled::labels).transpose()?;
    let mut shares = vec![T::zero(); labels.as_ref().map_or(0, Labels::targets)];
    for_each_posterior(&inference(&model.grid)?, &corpus.bags, |bag, known_tokens, posterior| {
        let Some(entry) = corpus.entries.get(bag) else { return };
        let mut best = (0, 0.0);
        let mut mean = Mean::default();
        posterior.for_each(|cell, q| {
            let q = q.to_f64();
            mean.add(&torus, cell, q);
            if q > best.1 {
                best = (cell, q);
            }
        });
        let extents = layout.grid.0.iter();
        let read = labels.as_ref().and_then(|labels| labels.read(posterior, &mut shares).ok());
        let position = (known_tokens > 0.0).then(|| Position {
            window: layout.coordinates(&torus, best.0),
            mean: (AXES - extents.len()..)
                .zip(extents)
                .map(|(axis, &extent)| mean.coordinate(axis, extent))
                .collect(),
            probability: best.1,
            expected: read.and_then(|()| largest(&shares)),
            log_evidence_per_token: posterior.log_evidence().to_f64() / known_tokens,
        });
        let label = corpus.labels.name(bag).unwrap_or_default();
        rows.push(Row { entry, label, known_tokens, position });
    })?;
    Ok(rows)
}

/// The largest and its index, of equals the first.
fn largest<T: Real>(shares: &[T]) -> Option<(usize, f64)> {
    let larger = |best: Option<(usize, f64)>, (index, share): (usize, f64)| match best {
        Some(best) if best.1 >= share => Some(best),
        _ => Some((index, share)),
    };
    shares.iter().map(|&share| Real::to_f64(share)).enumerate().fold(None, larger)
}

fn write(out: &mut dyn Write, axes: usize, labels: Option<&[String]>, rows: &[Row<'_>]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let mut names = Entry::COLUMNS.map(str::to_owned).to_vec();
    names.extend((0..axes).map(|axis| format!("x{axis}")));
    names.extend((0..axes).map(|axis| format!("mean{axis}")));
    names.extend(["probability", "log_evidence_per_token"].map(str::to_owned));
    if labels.is_some() {
        names.extend(["expected_label", "label_share"].map(str::to_owned));
    }
    csv.write_record(&names)?;
    for Row { entry, label, known_tokens, position } in rows {
        let mut fields = entry.fields(label, *known_tokens).to_vec();
        match position {
            None => fields.resize(names.len(), String::new()),
            Some(Position { window, mean, probability, expected, log_evidence_per_token }) => {
                fields.extend(window.iter().map(usize::to_string));
                fields
                    .extend(mean.iter().map(|mean| mean.map_or(String::new(), |mean| format!("{mean:.3}"))));
                fields.extend([format!("{probability:.6}"), format!("{log_evidence_per_token:.6}")]);
                if let (Some(labels), Some((label, share))) = (labels, expected) {
                    fields.extend([labels.get(*label).cloned().unwrap_or_default(), format!("{share:.6}")]);
                }
            }
        }
        csv.write_record(&fields)?;
    }
    csv.flush()
}
