//! `countgrid fit`, `embed` and `info` for harmoniums.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use countgrid_counts::Bags;
use countgrid_io::{BLOCK_ENTRIES, check_writable, save, write_atomically};
use serde_json::{Value, json};

use super::{
    FeatureArgs,
    args::Method,
    features::{self, Standardizer},
    file::{AnyModel, Model},
    learn::{Data, HarmoniumFamily, Learned, Settings, learn, prepare_counts, refused, wide},
    trace,
};
use crate::{
    args::{EmbedArgs, FitArgs, InfoArgs, Precision},
    command::{
        embed::{documents, finish},
        info::fit_lines,
    },
    corpus::{Corpus, Entry, Input, text_options},
    failure::Failure,
    interrupt::Interrupt,
    memory,
    model::{About, Stored},
    report::{Report, thousands},
    threads,
};

/// Words that are told of a topic, of either sign.
const WORDS: usize = 6;

/// `countgrid fit --model harmonium`, `rap` or `dual-wing`.
pub(crate) fn fit(args: &FitArgs, family: HarmoniumFamily) -> Result<(), Failure> {
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    check_writable(&args.output)?;
    if let Some(trace) = &args.tracing.trace {
        check_writable(trace)?;
    }
    args.harmonium.check()?;
    match (family, &args.features.features_from) {
        (HarmoniumFamily::DualWing, None) => {
            return Err(Failure::new(
                "--model dual-wing has words and features, and no features were named",
                "add --features-from TABLE, which may be the table with the texts, and --feature-columns NAME,...",
            ));
        }
        (HarmoniumFamily::Words | HarmoniumFamily::RateAdapting, Some(_)) => {
            return Err(Failure::new(
                format_args!("--features-from is for dual wings, and --model {} has one wing", family.name()),
                "add --model dual-wing, or leave --features-from out",
            ));
        }
        _ => {}
    }
    if args.harmonium.method == Method::Langevin && args.harmonium.draws < 400 {
        report.note(format_args!(
            "--draws {} is few; see what is said of effective samples",
            args.harmonium.draws
        ));
    }
    args.fit.check()?;
    let interrupt = Interrupt::install()?;
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => fit_and_save::<f32>(args, family, &report, &interrupt),
        Precision::F64 => fit_and_save::<f64>(args, family, &report, &interrupt),
    })
}

fn fit_and_save<T: Stored>(
    args: &FitArgs,
    family: HarmoniumFamily,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let outputs: Vec<_> = [Some(&args.output), args.tracing.trace.as_ref()]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    let input = Input {
        path: Some(&args.path),
        read: &args.read,
        scaling: args.numbers.scaling()?,
        outputs: &outputs,
        entries: family == HarmoniumFamily::DualWing,
        stream: false,
        block_entries: BLOCK_ENTRIES,
        sample: None,
    };
    let corpus = input.select::<T>(&args.words, report)?;
    let harmonium = &args.harmonium;
    let bags = prepare_counts(&corpus.bags, family, harmonium.trials)?;
    let (standard, values) = match family {
        HarmoniumFamily::DualWing => {
            let ids = args.read.id_column.as_deref();
            let (names, mut values) = feature_values(&args.features, ids, &[], &corpus.entries)?;
            let standard = Standardizer::fit(names, &values)?;
            standard.apply(&mut values);
            (Some(standard), values)
        }
        _ => (None, Vec::new()),
    };
    let data = Data { bags, features: values.into_iter().map(T::from_f64).collect() };
    let settings = Settings {
        family,
        topics: args.topics,
        args: harmonium,
        batch: args.fit.batch.unwrap_or(BATCH),
        seed: args.fit.seed,
        feature_variance: args.tracing.feature_variance,
        record_trace: args.tracing.trace.is_some(),
    };
    interrupt.begin();
    let learned = learn(&data, &settings, interrupt)?;
    let training_facts = report_training(&learned, args, report);
    let mut fit = json!({
        "documents": data.bags.len(), "tokens": corpus.tokens, "min_count": args.words.min_count,
        "max_share": args.words.max_share, "max_words": args.words.max_words,
        "method": harmonium.method.name(), "steps": harmonium.steps, "epochs": harmonium.epochs,
        "batch": settings.batch, "trials": harmonium.trials, "seed": settings.seed,
    });
    for (key, value) in training_facts {
        fit[key] = value;
    }
    let about = About {
        title: corpus.name.clone(),
        vocabulary: corpus.vocabulary.clone(),
        text: text_options(&args.words)?,
        scaling: corpus.scaling,
        fit,
    };
    let model = Model { about, family, harmonium: learned.model, standard };
    {
        let _whole = interrupt.writing();
        save(&args.output, &model.to_file())?;
        if let Some(trace) = &args.tracing.trace {
            write_atomically(trace, |out| trace::write(out, &learned.traces))?;
        }
    }
    report.files_written(
        &outputs,
        json!({
            "documents": data.bags.len(), "vocabulary": model.about.vocabulary.len(), "topics": args.topics,
            "fit": model.about.fit,
        }),
    );
    Ok(())
}

/// Documents of a mini-batch, by itself.
pub(crate) const BATCH: usize = 100;

fn feature_values(
    args: &FeatureArgs,
    id_column: Option<&str>,
    wanted: &[String],
    entries: &[Entry],
) -> Result<(Vec<String>, Vec<f64>), Failure> {
    let path = args
        .features_from
        .as_deref()
        .ok_or_else(|| Failure::new("no table of features was named", "add --features-from TABLE"))?;
    features::read(path, args, id_column, wanted, entries)
}

/// Reports how learning went; what of it belongs into the model.
fn report_training<T: Stored>(
    learned: &Learned<T>,
    args: &FitArgs,
    report: &Report,
) -> Vec<(&'static str, Value)> {
    let Learned { traces, acceptance, step, prior, samples, .. } = learned;
    let mut about = vec![("step_size", json!(step))];
    let last = traces.first().and_then(|trace| trace.last());
    let mut text = format!("{} topics, {}", args.topics, args.harmonium.method.name());
    if let Some(last) = last {
        text += &format!("; mean of V {:.5}, its trace {:.3}", last.mean_v, last.trace_v);
        if let Some(log) = last.log_posterior {
            let name = if prior.is_some() { "log posterior" } else { "log likelihood" };
            text += &format!(", {name} {log:.2}");
            about.push(("log_posterior", json!(log)));
        }
    }
    text += &format!("; step {step:.3e}, {:.1} s", report.seconds());
    if acceptance.accepted < acceptance.proposed {
        text += &format!(
            "\n{} of {} steps led out of the models that have a normaliser, and were not taken",
            acceptance.proposed - acceptance.accepted,
            acceptance.proposed
        );
    }
    let mut mixed = Vec::new();
    if let Some((mean, deviation)) = prior {
        text += &format!(
            "\n{} posterior samples of {} chains kept; prior with mean {mean:.4}, standard deviation {deviation:.4}",
            samples.len(),
            traces.len()
        );
        let of = args.harmonium.prior.map_or("0.1".to_owned(), |prior| prior.to_string());
        about.extend([
            ("draws", json!(args.harmonium.draws)),
            ("chains", json!(traces.len())),
            ("samples", json!(samples.len())),
            ("prior", json!(of)),
            ("prior_mean", json!(mean)),
            ("prior_deviation", json!(deviation)),
        ]);
        for mixing in trace::mixing(traces) {
            text += &format!(
                "\n{}: {:.0} effective samples of {}, R-hat {:.3}",
                mixing.name, mixing.effective, mixing.steps, mixing.r_hat
            );
            mixed.push(mixing.json());
        }
    }
    report.event(
        "fitted",
        text,
        json!({
            "step_size": step, "accepted": acceptance.rate(), "samples": samples.len(), "mixing": mixed,
            "mean_v": last.map(|last| last.mean_v), "trace_v": last.map(|last| last.trace_v),
            "mismatch": last.map(|last| last.mismatch), "seconds": report.seconds(),
        }),
    );
    about.push(("accepted", json!(acceptance.rate())));
    about
}

/// `countgrid embed`: expected topics of documents, as CSV.
pub(crate) fn embed(args: &EmbedArgs, model: &AnyModel) -> Result<(), Failure> {
    match model {
        AnyModel::F32(model) => embed_any(args, model),
        AnyModel::F64(model) => embed_any(args, model),
    }
}

fn embed_any<T: Stored>(args: &EmbedArgs, model: &Model<T>) -> Result<(), Failure> {
    let corpus = documents::<T>(args, &model.about)?;
    let (means, known) = (topics(args, model, &corpus)?, known(&corpus)?);
    finish(args, &corpus, known.iter().sum(), |out| {
        write(out, model.harmonium.shape().topics(), (&corpus, &known), &means)
    })
}

/// Tokens of the vocabulary in each document.
fn known<T: Stored>(corpus: &Corpus<T>) -> Result<Vec<f64>, Failure> {
    let mut known = Vec::with_capacity(corpus.entries.len());
    corpus.bags.each(false, |_, block| {
        known.extend((0..block.len()).map(|bag| block.total(bag)));
        Ok::<_, Failure>(())
    })?;
    Ok(known)
}

/// Expected topics `[document][topic]`: given words, and where they are named features too.
fn topics<T: Stored>(args: &EmbedArgs, model: &Model<T>, corpus: &Corpus<T>) -> Result<Vec<T>, Failure> {
    let shape = *model.harmonium.shape();
    let trials = model.harmonium.sizes().first().map_or(1.0, wide) as u32;
    let bags = prepare_counts(&corpus.bags, model.family, trials)?;
    let values = match (&model.standard, &args.features.features_from) {
        (Some(standard), Some(_)) => {
            let ids = args.read.id_column.as_deref();
            let (_, mut values) = feature_values(&args.features, ids, &standard.names, &corpus.entries)?;
            standard.apply(&mut values);
            Some(values.into_iter().map(T::from_f64).collect::<Vec<_>>())
        }
        (None, Some(_)) => {
            return Err(Failure::new("the model has no features", "leave --features-from out"));
        }
        _ => None,
    };
    let mut means = memory::zeros(bags.len().saturating_mul(shape.topics()))?;
    let mut precision = memory::zeros(shape.precision_len())?;
    for (document, h) in means.chunks_exact_mut(shape.topics()).enumerate() {
        match &values {
            Some(values) => {
                let own = values.get(document * shape.features()..(document + 1) * shape.features());
                model.harmonium.topics(&bags, document, own.unwrap_or_default(), h)
            }
            None => model.harmonium.topics_of_words(&bags, document, h, &mut precision),
        }
        .map_err(refused)?;
    }
    Ok(means)
}

fn write<T: Stored>(
    out: &mut dyn Write,
    topics: usize,
    (corpus, known): (&Corpus<T>, &[f64]),
    means: &[T],
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let mut names = Entry::COLUMNS.map(str::to_owned).to_vec();
    names.extend((0..topics).map(|topic| format!("h{topic}")));
    csv.write_record(&names)?;
    let rows = corpus.entries.iter().zip(known).zip(means.chunks_exact(topics));
    for (bag, ((entry, known), h)) in rows.enumerate() {
        let mut fields = entry.fields(corpus.labels.name(bag).unwrap_or_default(), *known).to_vec();
        fields.extend(h.iter().map(|h| format!("{:.6}", wide(h))));
        csv.write_record(&fields)?;
    }
    csv.flush()
}

/// `countgrid info`: what a harmonium is.
pub(crate) fn info(args: &InfoArgs, model: &AnyModel) -> Result<(), Failure> {
    match model {
        AnyModel::F32(model) => info_any(args, model, "f32"),
        AnyModel::F64(model) => info_any(args, model, "f64"),
    }
}

fn info_any<T: Stored>(args: &InfoArgs, model: &Model<T>, precision: &str) -> Result<(), Failure> {
    let shape = *model.harmonium.shape();
    let names: &[String] = model.standard.as_ref().map_or(&[], |standard| &standard.names);
    let of_topic = |couplings: &[T], names: &[String], topic: usize| -> [Vec<String>; 2] {
        let mut all: Vec<(f64, &String)> =
            couplings.iter().skip(topic).step_by(shape.topics()).map(wide).zip(names).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let top = |sign: f64, all: &mut dyn Iterator<Item = &(f64, &String)>| {
            let own = all.take(WORDS).filter(|(w, _)| sign * w > 0.0);
            own.map(|(_, name)| (*name).clone()).collect()
        };
        [top(1.0, &mut all.iter()), top(-1.0, &mut all.iter().rev())]
    };
    let topics: Vec<_> = (0..shape.topics())
        .map(|topic| {
            let words = of_topic(model.harmonium.w(), &model.about.vocabulary, topic);
            (words, of_topic(model.harmonium.u(), names, topic))
        })
        .collect();
    let mut out = io::stdout().lock();
    let written = if args.json {
        let topics: Vec<_> = topics
            .iter()
            .map(|([more, less], [features, against])| {
                json!({ "more": more, "less": less, "more_features": features, "less_features": against })
            })
            .collect();
        let object = json!({
            "title": model.about.title, "model": model.family.name(), "precision": precision,
            "vocabulary": model.about.vocabulary.len(), "features": names, "fit": model.about.fit, "topics": topics,
        });
        writeln!(out, "{object}")
    } else {
        let mut text = format!("{}\n\n", model.about.title);
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name:<16} {value}\n"));
        line("model", model.family.name());
        line("topics", &shape.topics().to_string());
        line("vocabulary", &format!("{} words", thousands(model.about.vocabulary.len())));
        if !names.is_empty() {
            line("features", &names.join(", "));
        }
        line("precision", precision);
        text.push_str(&fit_lines(&model.about.fit));
        text.push_str("\ntopics, and what there is more and less of with them\n");
        for (topic, ([more, less], [features, against])) in topics.iter().enumerate() {
            let more = [more.as_slice(), features].concat().join(" ");
            let less = [less.as_slice(), against].concat().join(" ");
            text.push_str(&format!("h{topic:<15} + {more}\n{:16} - {less}\n", ""));
        }
        out.write_all(text.as_bytes())
    };
    written.and_then(|()| out.flush()).map_err(Failure::output)
}
