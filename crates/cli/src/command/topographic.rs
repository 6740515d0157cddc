//! `countgrid map --model zip-gtm` and its like: documents to a page of points, pictures, a table and a model.

use std::path::Path;

use countgrid_gtm::EmissionModel;
use countgrid_map::{pictures::ScatterPlot, write_html};
use countgrid_text::TextOptions;
use serde_json::json;

use super::map::{DOCUMENTS, Files};
use crate::{
    args::{MapArgs, Place, Precision},
    corpus::{Input, Sample},
    failure::Failure,
    interrupt::Interrupt,
    model::{About, Stored},
    report::{Report, thousands},
    threads,
    topographic::{
        fit::{Fitted, fit},
        latent::Latent,
        model::to_file,
        name,
        page::Drawn,
        places::{place, separation, write},
    },
};

pub(crate) fn run(
    args: &MapArgs,
    emission_model: EmissionModel,
    files: &Files,
    text: TextOptions,
    report: &Report,
) -> Result<(), Failure> {
    let interrupt = Interrupt::install()?;
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => draw::<f32>(args, emission_model, files, text, report, &interrupt),
        Precision::F64 => draw::<f64>(args, emission_model, files, text, report, &interrupt),
    })
}

fn draw<T: Stored>(
    args: &MapArgs,
    emission_model: EmissionModel,
    files: &Files,
    text: TextOptions,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let latent = Latent::<T>::new(&args.topographic, args.fit.seed)?;
    let outputs: Vec<&Path> = files.all();
    let input = Input {
        path: args.path.as_deref(),
        read: &args.read,
        scaling: args.numbers.scaling()?,
        outputs: &outputs,
        sample: args.sample.map(|of_each| Sample { of_each, seed: args.fit.seed }),
        entries: true,
        stream: false,
        block_entries: args.fit.block_entries,
    };
    let corpus = input.select::<T>(&args.words, report)?;
    let bags = corpus.bags.gathered(|count| count)?; // a fit begins with the principal components of all
    let exposure = args.topographic.exposure.unwrap_or_default();
    let fitted =
        fit(&bags, corpus.tokens, emission_model, &latent, exposure, &args.fit, (report, interrupt))?;
    let Fitted { map, emissions, summary } = &fitted;

    let mut drawn = Drawn::new(&latent, map)?;
    let (frame, relief) = (drawn.frame, drawn.relief.clone());
    let places = place(emissions, &bags, |place, q| drawn.add(&corpus, place, q))?;
    let neighbours = args.topographic.neighbours.unwrap_or(1);
    let apart = separation(&places, &corpus.labels, (latent.space(), neighbours, args.fit.seed), report)?;

    let title = args.title.as_deref().unwrap_or(&corpus.name);
    let mut facts = vec![
        ("Documents", thousands(places.len())),
        ("Tokens", thousands(corpus.tokens.round())),
        ("Vocabulary", format!("{} words", thousands(corpus.vocabulary.len()))),
        ("Law of counts", name(emission_model).to_owned()),
        ("Latent space", latent.text()),
        ("Basis", latent.basis_text()),
        ("Exposure", exposure.name()),
        ("Iterations", format!("{} ({})", summary.iterations, summary.end_reason())),
        ("Log-likelihood", format!("{:.2} nats a document", summary.per_document)),
    ];
    if let Some(apart) = apart {
        facts.push((
            "Labels",
            format!("{}-NN {:.3}, silhouette {:.3}", apart.neighbours, apart.accuracy, apart.silhouette),
        ));
    }
    facts.push(("Seed", args.fit.seed.to_string()));
    facts.push(("Made by", concat!("countgrid ", env!("CARGO_PKG_VERSION")).to_owned()));
    let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let page = drawn.page(title, &corpus, (&latent, &fitted), facts, DOCUMENTS)?;
    if places.len() > DOCUMENTS {
        report.note(format_args!(
            "the page shows {} of the {} documents, evenly chosen; all of them were fitted",
            thousands(DOCUMENTS),
            thousands(places.len())
        ));
    }

    let at = |place: &crate::topographic::places::Place| match args.topographic.place.unwrap_or_default() {
        Place::Mean => place.mean,
        Place::Mode => place.mode,
    };
    let points = places.iter().enumerate().filter(|(_, place)| place.known()).map(|(n, place)| {
        let [row, column] = frame.place(at(place));
        ([column, frame.rows as f64 - row], corpus.labels.by_document.get(n).copied().flatten())
    });
    let scatter = ScatterPlot {
        title: title.to_owned(),
        sides: [frame.columns, frame.rows],
        relief: if args.topographic.magnification { relief } else { Vec::new() },
        points: points.collect(),
        labels: corpus.labels.names.clone(),
    };

    let about = About {
        title: title.to_owned(),
        vocabulary: corpus.vocabulary.clone(),
        text,
        scaling: corpus.scaling,
        // Nothing that two equal runs do not share, such as times and paths: equal runs give equal files.
        fit: json!({
            "documents": corpus.bags.len(), "tokens": corpus.tokens, "sample": args.sample,
            "min_count": args.words.min_count, "max_share": args.words.max_share,
            "max_words": args.words.max_words, "exposure": exposure.name(),
            "iterations": summary.iterations, "end": summary.end_reason(), "tolerance": args.fit.tolerance,
            "log_likelihood_per_document": summary.per_document, "bound_per_token": summary.per_token,
            "neighbours": apart.map(|apart| apart.neighbours),
            "accuracy": apart.map(|apart| apart.accuracy),
            "silhouette": apart.map(|apart| apart.silhouette), "seed": args.fit.seed,
        }),
    };
    let failed = |error| Failure::new(format_args!("the page: {error}"), "this is a bug worth a report");
    let (mut html, mut table) = (Vec::new(), Vec::new());
    write_html(&page, &mut html).map_err(failed)?;
    write(&mut table, &corpus, &places).map_err(|error| {
        Failure::new(format_args!("the table of points: {error}"), "this is a bug worth a report")
    })?;
    let drawn = |error| Failure::new(format_args!("the picture: {error}"), "this is a bug worth a report");
    let rendered = [
        (files.page.as_path(), html),
        (files.points.as_path(), table),
        (files.svg.as_path(), scatter.svg().map_err(drawn)?.into_bytes()),
        (files.png.as_path(), scatter.png().map_err(drawn)?),
    ];
    {
        let _whole = interrupt.writing();
        files.write(&rendered, &to_file(&about, &latent, map))?;
    }
    report.files_written(
        &outputs,
        json!({
            "documents": corpus.bags.len(), "tokens": corpus.tokens, "vocabulary": corpus.vocabulary.len(),
            "iterations": summary.iterations, "end": summary.end_reason(), "bound_per_token": summary.per_token,
            "log_likelihood_per_document": summary.per_document,
            "accuracy": apart.map(|apart| apart.accuracy), "silhouette": apart.map(|apart| apart.silhouette),
        }),
    );
    Ok(())
}
