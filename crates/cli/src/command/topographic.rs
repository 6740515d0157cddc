//! `countgrid map --model zip-gtm` and its like: documents to a page of points, pictures, a table and a model; and `embed` of
//! such a model.

use std::io::{self, Write};

use clap::ValueEnum;
use countgrid_corpus::{BlockLimits, Corpus, DocumentInfo};
use countgrid_estimators::{
    BagTotals, EstimatorError, Exposure, FitSummary, FittedTopographic, LabelSeparation, PageDocuments,
    Separation, Stored, TopographicOptions, TopographicPlace, TopographicPlan, format_sides,
};
use countgrid_gtm::{EmissionModel, Inflation, Space};
use countgrid_map::{
    MAX_DOCUMENTS, MAX_TEXT_BYTES, PointMap, group_digits, pictures::ScatterPlot, write_html,
};
use countgrid_math::Real;
use serde_json::json;

use crate::{
    args::{EmbedArgs, MapArgs, Place},
    collection::{Input, sample, scaling, word_options},
    csv_table::CsvTable,
    failure::{BUG, Failure},
    files::Files,
    interrupt::Interrupt,
    placement::{documents, finish},
    report::Report,
    run_file::{Invocation, WorkedOut},
    training::{self, Checkpoints},
};

pub(crate) fn run<T: Stored>(
    args: &MapArgs,
    emission_model: EmissionModel,
    (files, invocation): (&Files, &Invocation),
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let options = args.topographic.options(emission_model, &args.fit)?;
    options.validate()?;
    let outputs = files.all();
    let mut input = Input::new(&args.paths, &args.read, &outputs);
    input.options.words = word_options(&args.words)?;
    input.options.scaling = scaling(&args.numbers)?;
    input.keep(&args.keep);
    input.options.sample = sample(args.sample, args.fit.seed);
    input.options.keep_texts = MAX_TEXT_BYTES;
    input.options.keep_columns = args.columns.keep();
    input.options.blocks = BlockLimits { entries: args.fit.block_entries, ..BlockLimits::default() };
    let corpus = input.read::<T>(report)?;
    let checkpoints = Checkpoints::beside(&files.model, &args.checkpoints);
    let mut map = fit(&corpus, &options, &checkpoints, report, interrupt)?;

    let (frame, cell_of) = (map.frame(), map.cells_of_points());
    let extents = [frame.rows, frame.columns];
    let space = if frame.torus { countgrid_map::Space::Torus } else { countgrid_map::Space::Plane };
    let (mut page, mut places) = (PointMap::new(extents, space), Vec::with_capacity(corpus.bags.len()));
    let documents = PageDocuments::new(&corpus);
    map.for_each_posterior(&corpus.bags, |n, place, q| {
        let mut cells = vec![0.0; frame.cells()];
        cell_of.iter().zip(q).for_each(|(&cell, &q)| cells[cell] += Real::to_f64(q));
        if let Some(document) = documents.get(n) {
            let at = place.is_known().then(|| frame.place(place.mean).map(|x| x as f32));
            page.push(document, &cells, at);
        }
        places.push(place.clone());
    })?;
    let separation = separation(&places, &corpus, map.latent().space(), args, report)?;
    let title = args.title.as_deref().unwrap_or(&corpus.name).to_owned();
    map.describe(&title, &corpus, &input.options);
    map.set_separation(separation.as_ref());

    let relief = map.relative_log_magnification()?;
    let mut facts = facts(&corpus, &map, &options, separation.as_ref(), args.fit.seed);
    let model = map.to_file();
    facts.push(("Model".to_owned(), model.checksum().map_err(EstimatorError::from)?));
    let bug = |what: &'static str| {
        move |error: &dyn std::fmt::Display| Failure::new(format_args!("{what}: {error}"), BUG)
    };
    let (of_page, of_picture) = (bug("the page"), bug("the picture"));
    let mut page = page
        .page(&title, &map.feature_shares()?, &corpus.vocabulary, &corpus.labels.names, relief.clone(), facts)
        .map_err(|error| of_page(&error))?;
    page.columns = documents.columns();
    if places.len() > MAX_DOCUMENTS {
        report.note(format_args!(
            "the page shows {} of the {} documents, evenly chosen; all of them were fitted",
            group_digits(MAX_DOCUMENTS),
            group_digits(places.len())
        ));
    }
    let at = |place: &TopographicPlace| match args.topographic.place.unwrap_or_default() {
        Place::Mean => place.mean,
        Place::Mode => place.mode,
    };
    let points = places.iter().enumerate().filter(|(_, place)| place.is_known()).map(|(n, place)| {
        let [row, column] = frame.place(at(place));
        ([column, frame.rows as f64 - row], corpus.labels.by_document.get(n).copied().flatten())
    });
    let scatter = ScatterPlot {
        title,
        sides: [frame.columns, frame.rows],
        relief: if args.topographic.magnification { relief } else { Vec::new() },
        points: points.collect(),
        labels: corpus.labels.names.clone(),
    };
    let (mut html, mut table) = (Vec::new(), Vec::new());
    write_html(&page, &mut html).map_err(|error| of_page(&error))?;
    write((&mut table, args.raw_csv), &corpus, &places).map_err(|error| of_picture(&error))?;
    let mut rendered = vec![
        (files.page.as_path(), html),
        (files.points.as_path(), table),
        (files.svg.as_path(), scatter.svg().map_err(|error| of_picture(&error))?.into_bytes()),
        (files.png.as_path(), scatter.png().map_err(|error| of_picture(&error))?),
    ];
    let left_out = files.left_out(&corpus);
    let list = left_out.as_ref().map(|(path, _)| *path);
    rendered.extend(left_out);
    if let Some(path) = &files.run_file {
        rendered.push((path, invocation.to_toml(&worked_out(args, &options, &corpus.name))));
    }
    {
        let _whole = interrupt.writing_results();
        files.write(&rendered, &model)?;
    }
    let summary = map.summary();
    report.files_written(
        &[files.topographic_paths(), list.into_iter().chain(files.run_file.as_deref()).collect()].concat(),
        json!({
            "documents": corpus.bags.len(), "tokens": corpus.tokens, "vocabulary": corpus.vocabulary.len(),
            "iterations": summary.map(|summary| summary.iterations), "end": summary.map(FitSummary::end_reason),
            "bound_per_token": summary.map(|summary| summary.bound_per_token),
            "log_likelihood_per_document": summary.map(|summary| per_document(summary, &corpus)),
            "accuracy": separation.map(|found| found.accuracy), "silhouette": separation.map(|found| found.silhouette),
        }),
    );
    checkpoints.end()
}

/// What was not given and has no default that the command line knows.
fn worked_out(args: &MapArgs, options: &TopographicOptions, title: &str) -> WorkedOut {
    let own = &args.topographic;
    let place = own.place.unwrap_or_default().to_possible_value();
    let all = [
        ("points", own.points.is_some(), format_sides(&options.points)),
        ("latent", own.latent.is_some(), options.latent.name().to_owned()),
        ("basis", own.basis.is_some(), options.basis.name().to_owned()),
        ("basis-functions", own.basis_functions.is_some(), format_sides(&options.basis_functions)),
        ("exposure", own.exposure.is_some(), options.exposure.name().to_owned()),
        ("place", own.place.is_some(), place.map_or_else(String::new, |place| place.get_name().to_owned())),
        ("title", args.title.is_some(), title.to_owned()),
    ];
    let values = all.into_iter().filter(|(_, given, _)| !given).map(|(name, _, value)| (name, value));
    WorkedOut { values: values.collect(), ..WorkedOut::default() }
}

/// Log-likelihood of a document in nats, on average, if the map was evaluated.
fn per_document<T: Stored>(summary: &FitSummary, corpus: &Corpus<T>) -> Option<f64> {
    summary.free_energy.map(|free_energy| -free_energy / corpus.bags.len() as f64)
}

/// The display name of an emission model.
fn name(emission_model: EmissionModel) -> &'static str {
    match emission_model {
        EmissionModel::Zip(Inflation::Document) => "zero-inflated Poisson",
        EmissionModel::Zip(Inflation::Latent) => "zero-inflated Poisson, inflation by place",
        EmissionModel::Poisson => "Poisson",
        EmissionModel::Bernoulli => "Bernoulli",
        EmissionModel::Multinomial => "multinomial",
        EmissionModel::Gaussian => "Gaussian",
    }
}

/// The facts on the page of a map.
fn facts<T: Stored>(
    corpus: &Corpus<T>,
    map: &FittedTopographic<T>,
    options: &TopographicOptions,
    separation: Option<&LabelSeparation>,
    seed: u64,
) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Documents", group_digits(corpus.bags.len())),
        ("Tokens", group_digits(corpus.tokens.round())),
        ("Vocabulary", format!("{} words", group_digits(corpus.vocabulary.len()))),
        ("Law of counts", name(options.emission_model).to_owned()),
        ("Latent space", map.latent().describe_points()),
        ("Basis", map.latent().describe_basis()),
        ("Exposure", options.exposure.name().to_owned()),
    ];
    if let Some(summary) = map.summary() {
        facts.push(("Iterations", format!("{} ({})", summary.iterations, summary.end_reason())));
        if let Some(log_likelihood) = per_document(summary, corpus) {
            facts.push(("Log-likelihood", format!("{log_likelihood:.2} nats a document")));
        }
    }
    if let Some(found) = separation {
        let text =
            format!("{}-NN {:.3}, silhouette {:.3}", found.neighbours, found.accuracy, found.silhouette);
        facts.push(("Labels", text));
    }
    facts.push(("Seed", seed.to_string()));
    facts.push(("Made by", concat!("countgrid ", env!("CARGO_PKG_VERSION")).to_owned()));
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What is fitted.
fn report_latent<T: Stored>(plan: &TopographicPlan<T>, options: &TopographicOptions, report: &Report) {
    let latent = plan.latent();
    let exposure = if options.exposure == Exposure::Length { ", exposure by length" } else { "" };
    report.event(
        "map",
        format_args!(
            "{}; {}, {}{exposure}; seed {}",
            name(options.emission_model),
            latent.describe_points(),
            latent.describe_basis(),
            options.seed
        ),
        json!({
            "law": options.emission_model.name(), "points": latent.points().len() / 2, "latent": latent.to_json(),
            "exposure": options.exposure.name(), "seed": options.seed,
        }),
    );
}

fn fit<T: Stored>(
    corpus: &Corpus<T>,
    options: &TopographicOptions,
    checkpoints: &Checkpoints,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<FittedTopographic<T>, Failure> {
    let plan = options.check::<T>(BagTotals::from(corpus))?;
    report_latent(&plan, options, report);
    let bags = corpus.bags.gather(|count| count)?; // a fit begins with the principal components of all
    let data = corpus.source.as_ref().map(|source| source.path.as_path());
    let training = match checkpoints.load()? {
        Some(file) => plan.train(&bags, Some(file)).map_err(|error| checkpoints.refused(error))?,
        None => plan
            .train(&bags, None)
            .map_err(|error| data.iter().fold(Failure::from(error), |failure, path| failure.of_file(path)))?,
    };
    let map = training::run(training, data, checkpoints, report, interrupt)?;
    if let Some(summary) = map.summary() {
        let per_document = per_document(summary, corpus);
        report.event(
            "fitted",
            format_args!(
                "{} iterations ({}), {}, {:.1} s",
                summary.iterations,
                summary.end_reason(),
                per_document
                    .map_or("not evaluated".to_owned(), |x| format!("log-likelihood {x:.2} a document")),
                report.seconds()
            ),
            json!({
                "iterations": summary.iterations, "end": summary.end_reason(),
                "bound_per_token": summary.bound_per_token, "log_likelihood_per_document": per_document,
                "seconds": report.seconds(),
            }),
        );
    }
    Ok(map)
}

/// How well labels are separated, if that can be measured.
fn separation<T>(
    places: &[TopographicPlace],
    corpus: &Corpus<T>,
    space: Space,
    args: &MapArgs,
    report: &Report,
) -> Result<Option<LabelSeparation>, Failure> {
    let neighbours = args.topographic.neighbours.unwrap_or(1);
    let separation = Separation::from_places(places, &corpus.labels, space, neighbours, args.fit.seed)?;
    match separation {
        Separation::Found(found) => report.event(
            "apart",
            format_args!(
                "labels: {}-NN accuracy {:.3} leaving one out, silhouette {:.3}",
                found.neighbours, found.accuracy, found.silhouette
            ),
            json!({
                "neighbours": found.neighbours, "accuracy": found.accuracy, "silhouette": found.silhouette,
                "documents": found.documents,
            }),
        ),
        Separation::TooManyDocuments => report.note(format_args!(
            "how well labels lie apart is not told of more than {} documents",
            group_digits(countgrid_estimators::SEPARATION_DOCUMENTS)
        )),
        _ => {}
    }
    Ok(separation.found().copied())
}

/// The positions as CSV. A document without a known word has none.
fn write<T>(
    (out, raw): (&mut dyn Write, bool),
    corpus: &Corpus<T>,
    places: &[TopographicPlace],
) -> io::Result<()> {
    let mut csv = CsvTable::new(out, raw);
    csv.write_record(DocumentInfo::COLUMNS.iter().chain(&TopographicPlace::COLUMNS))?;
    for (n, (document, place)) in corpus.documents.iter().zip(places).enumerate() {
        let label = corpus.labels.name(n).unwrap_or_default();
        csv.write_record(document.fields(label, place.tokens).iter().chain(&place.fields()))?;
    }
    csv.flush()
}

/// `countgrid embed`: positions of documents on a map, as CSV.
pub(crate) fn embed<T: Stored>(
    args: &EmbedArgs,
    map: &FittedTopographic<T>,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let corpus = documents::<T>(args, &map.info)?;
    let places = map.place(&corpus.bags)?;
    let known = places.iter().fold(0.0, |known, place| known + place.tokens);
    finish(args, &corpus, known, interrupt, |out| write((out, args.raw_csv), &corpus, &places))
}

/// `countgrid info`: a description of a map.
pub(crate) fn describe<T: Stored>(map: &FittedTopographic<T>) -> serde_json::Value {
    json!({
        "title": map.info.title, "model": "topographic map", "law": map.shape().emission_model().name(),
        "precision": T::NAME, "points": map.latent().describe_points(), "basis": map.latent().describe_basis(),
        "vocabulary": map.info.vocabulary.len(), "fit": map.info.fit,
    })
}
