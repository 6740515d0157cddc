//! `countgrid compare`: measures of several models over the same documents, side by side.

use std::{
    io,
    path::{Path, PathBuf},
};

use countgrid_estimators::{AnyModel, format_sides};
use countgrid_evaluation::{EvaluationError, Mean, ModelMeasures};
use countgrid_io::{StagedFiles, check_outputs};
use countgrid_map::pictures::{Curve, LineChart, Point};
use serde_json::{Map, Value, json};

use super::evaluate::{Documents, mean_to_json, options_to_json, shown, to_json};
use crate::{
    args::CompareArgs,
    collection::{Input, named_inputs},
    csv_table::CsvTable,
    failure::{BUG, Failure},
    files::{check_folder, make_folder},
    interrupt::Interrupt,
    model_file::load_with_checksum,
    report::Report,
    threads,
};

/// What a comparison writes.
const FILES: [&str; 4] = ["comparison.json", "comparison.csv", "comparison.svg", "comparison.png"];

/// What differs between fits with the same options and other seeds.
const OF_A_SEED: [&str; 15] = [
    "seed",
    "iterations",
    "end",
    "bound_per_token",
    "restart",
    "accuracy",
    "silhouette",
    "log_likelihood_per_document",
    "log_posterior",
    "accepted",
    "step_size",
    "prior_mean",
    "prior_deviation",
    "free_energy",
    "seconds",
];

/// Measures between 0 and 1, which are drawn.
const DRAWN: [&str; 6] =
    ["neighbour_labels", "neighbour_vote", "trustworthiness", "continuity", "diversity", "exclusivity"];

/// A model that was measured.
struct Compared {
    path: PathBuf,
    checksum: String,
    kind: &'static str,
    fit: String, // what models of a group have in common
    words: usize,
    measured: ModelMeasures,
}

/// Models that differ in their seed alone.
struct Group {
    models: Vec<usize>,
    measures: Vec<(&'static str, Result<Mean, &'static str>)>,
    stability: [Option<f64>; 2], // of neighbours, of topics: means over pairs
}

pub(crate) fn run(args: &CompareArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    let folder = args.output.as_path();
    let paths = std::slice::from_ref(&args.path);
    let mut inputs = named_inputs(paths, &args.read, None);
    inputs.extend(args.models.iter().cloned());
    let files = FILES.map(|name| folder.join(name));
    check_outputs(inputs, files.clone())?;
    let options = args.measures.options();
    options.check().map_err(Failure::from)?;
    check_folder(folder, &files)?;
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    interrupt.stops("ending, without a result");
    let outputs = files.each_ref().map(PathBuf::as_path);
    let compared = threads::run(args.measures.threads, || {
        let mut all = Vec::with_capacity(args.models.len());
        for path in &args.models {
            let (model, checksum) = load_with_checksum(path)?;
            let input = Input::new(paths, &args.read, &outputs);
            let documents = Documents::new(&model, input)?;
            let measured = documents.measure(path, &model, &options, interrupt, &report)?;
            report.event(
                "model",
                format_args!("{} {}: {}", all.len() + 1, path.display(), super::evaluate::about(&measured)),
                json!({ "model": path.to_string_lossy(), "number": all.len() + 1 }),
            );
            let (kind, fit, words) = (model.kind(), fit_of(&model), model.info().vocabulary.len());
            all.push(Compared { path: path.clone(), checksum, kind, fit, words, measured });
        }
        Ok(all)
    })?;
    let first = compared.first();
    if compared.iter().any(|model| Some(model.words) != first.map(|first| first.words)) {
        report.note("the models have different vocabularies: likelihoods of tokens do not compare");
    }
    let groups = groups(&compared, options.neighbours, interrupt)?;
    let object = json!({
        "data": args.path.to_string_lossy(), "options": options_to_json(&options),
        "models": compared.iter().map(model_to_json).collect::<Vec<_>>(),
        "groups": groups.iter().map(group_to_json).collect::<Vec<_>>(),
    });
    let table = table(&groups);
    report.event(
        "groups",
        named(&groups),
        json!({ "groups": groups.iter().map(numbers).collect::<Vec<_>>() }),
    );
    report.event("measures", &table, object.clone());
    let _whole = interrupt.writing_results();
    make_folder(folder)?;
    write(&files, args, &object, &compared, &groups)?;
    report.files_written(&outputs, json!({ "models": compared.len(), "groups": groups.len() }));
    Ok(())
}

/// All that a fit was asked for, but its seed.
fn fit_of(model: &AnyModel) -> String {
    let layout = match model {
        AnyModel::GridF32(grid) => Some(grid.layout()),
        AnyModel::GridF64(grid) => Some(grid.layout()),
        _ => None,
    };
    let sides = layout.map(|layout| [layout.extents(), layout.window()].map(format_sides));
    let points = match model {
        AnyModel::TopographicF32(map) => Some(map.latent().to_json()),
        AnyModel::TopographicF64(map) => Some(map.latent().to_json()),
        _ => None,
    };
    let mut fit = model.info().fit.clone();
    if let Some(fit) = fit.as_object_mut() {
        OF_A_SEED.iter().for_each(|name| drop(fit.remove(*name)));
    }
    json!({ "kind": model.kind(), "words": model.info().vocabulary, "sides": sides, "points": points, "fit": fit })
        .to_string()
}

/// Models of the same options together, in the order of their first.
fn groups(compared: &[Compared], neighbours: usize, interrupt: &Interrupt) -> Result<Vec<Group>, Failure> {
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (number, model) in compared.iter().enumerate() {
        let same = |group: &&mut Vec<usize>| {
            group.first().and_then(|&first| compared.get(first)).is_some_and(|first| first.fit == model.fit)
        };
        match members.iter_mut().find(same) {
            Some(group) => group.push(number),
            None => members.push(vec![number]),
        }
    }
    members
        .into_iter()
        .map(|models| {
            let own: Vec<&ModelMeasures> =
                models.iter().filter_map(|&number| Some(&compared.get(number)?.measured)).collect();
            let names = own.first().map(|model| model.measures.as_slice()).unwrap_or_default();
            let mean = |name: &str| match own.as_slice() {
                [one] => one.get(name).map_or(Err(""), |measure| measure.value),
                all => {
                    let values = all.iter().filter_map(|model| model.get(name));
                    let values: Result<Vec<f64>, _> =
                        values.map(|measure| measure.value.map(|mean| mean.value)).collect();
                    values.map(|values| Mean::of(&values))
                }
            };
            let measures = names.iter().map(|measure| (measure.name, mean(measure.name))).collect();
            let mut pairs = [Vec::new(), Vec::new()];
            for (number, a) in own.iter().enumerate() {
                for b in own.iter().skip(number + 1) {
                    let found =
                        a.stability(b, neighbours, interrupt.stop()).map_err(|error| match error {
                            EvaluationError::Stopped => Failure::Interrupted,
                            error => error.into(),
                        })?;
                    for (pairs, found) in pairs.iter_mut().zip([found.neighbours, found.topics]) {
                        pairs.extend(found.map(|mean| mean.value));
                    }
                }
            }
            let stability = pairs.map(|values| (!values.is_empty()).then(|| Mean::of(&values).value));
            Ok(Group { models, measures, stability })
        })
        .collect()
}

/// The numbers of the models of a group, from 1.
fn numbers(group: &Group) -> Vec<usize> {
    group.models.iter().map(|number| number + 1).collect()
}

fn named(groups: &[Group]) -> String {
    let of = |(number, group): (usize, &Group)| {
        let models: Vec<String> = numbers(group).iter().map(usize::to_string).collect();
        format!("{} of model {}", letter(number), models.join(", "))
    };
    let all: Vec<String> = groups.iter().enumerate().map(of).collect();
    format!("of the same options but for the seed: {}", all.join("; "))
}

/// `A`, `B`, and so on, then `27`.
fn letter(group: usize) -> String {
    match u8::try_from(group).ok().filter(|&group| group < 26) {
        Some(group) => char::from(b'A' + group).to_string(),
        None => (group + 1).to_string(),
    }
}

/// A row for each measure, a column for each group.
fn table(groups: &[Group]) -> String {
    let mut text = format!("{:28}", "");
    groups.iter().enumerate().for_each(|(number, _)| text.push_str(&format!("{:>22}", letter(number))));
    let names = groups.first().map(|group| group.measures.as_slice()).unwrap_or_default();
    for (row, (name, _)) in names.iter().enumerate() {
        text.push_str(&format!("\n{name:28}"));
        for group in groups {
            let value = group.measures.get(row).map_or(Err(""), |(_, value)| *value);
            let cell = value.map_or("-".to_owned(), |mean| shown(Ok(mean)));
            text.push_str(&format!("{:>22}", cell.trim()));
        }
    }
    for (row, name) in ["stability_neighbours", "stability_topics"].into_iter().enumerate() {
        text.push_str(&format!("\n{name:28}"));
        for group in groups {
            let value = group.stability.get(row).copied().flatten();
            text.push_str(&format!("{:>22}", value.map_or("-".to_owned(), |value| format!("{value:.4}"))));
        }
    }
    text
}

fn model_to_json(model: &Compared) -> Value {
    let mut object = to_json(&model.measured);
    object["model"] = json!(model.path.to_string_lossy());
    object["checksum"] = json!(model.checksum);
    object["kind"] = json!(model.kind);
    object
}

fn group_to_json(group: &Group) -> Value {
    let measures: Map<String, Value> = group
        .measures
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.map_or(Value::Null, mean_to_json)))
        .collect();
    let [neighbours, topics] = group.stability;
    json!({
        "models": numbers(group), "measures": measures,
        "stability": { "neighbours": neighbours, "topics": topics },
    })
}

fn write(
    files: &[PathBuf; 4],
    args: &CompareArgs,
    object: &Value,
    compared: &[Compared],
    groups: &[Group],
) -> Result<(), Failure> {
    let [json, csv, svg, png] = files;
    let mut staged = StagedFiles::new();
    staged.write(json, |out| {
        serde_json::to_writer_pretty(&mut *out, object)?;
        writeln!(out)
    })?;
    staged.write(csv, |out| write_csv((out, args.raw_csv), compared, groups))?;
    let chart = chart(&args.path, groups);
    let drawn = |error| Failure::new(format_args!("the picture: {error}"), BUG);
    let (drawing, picture) = (chart.svg().map_err(drawn)?, chart.png().map_err(drawn)?);
    staged.write(svg, |out| out.write_all(drawing.as_bytes()))?;
    staged.write(png, |out| out.write_all(&picture))?;
    Ok(staged.publish()?)
}

fn write_csv(
    (out, raw): (&mut dyn io::Write, bool),
    compared: &[Compared],
    groups: &[Group],
) -> io::Result<()> {
    let mut csv = CsvTable::new(out, raw);
    csv.write_record(["model", "group", "measure", "value", "standard_error", "reason"])?;
    for (group, own) in groups.iter().enumerate() {
        for model in own.models.iter().filter_map(|&number| compared.get(number)) {
            let (path, group) = (model.path.to_string_lossy().into_owned(), letter(group));
            for measure in &model.measured.measures {
                let [value, error, reason] = match measure.value {
                    Ok(Mean { value, standard_error }) => [
                        value.to_string(),
                        standard_error.map_or(String::new(), |error| error.to_string()),
                        String::new(),
                    ],
                    Err(reason) => [String::new(), String::new(), reason.to_owned()],
                };
                csv.write_record([path.as_str(), &group, measure.name, &value, &error, &reason])?;
            }
        }
    }
    csv.flush()
}

/// The measures between 0 and 1, in per cent, of each group.
fn chart(path: &Path, groups: &[Group]) -> LineChart {
    let curve = |name: &&str| {
        let points = groups.iter().enumerate().filter_map(|(number, group)| {
            let (_, value) = group.measures.iter().find(|(own, _)| own == name)?;
            let Mean { value, standard_error } = value.ok()?;
            let error = 100.0 * standard_error.unwrap_or(0.0);
            Some(Point { x: (number + 1) as f64, y: 100.0 * value, error })
        });
        Curve { name: name.replace('_', " "), points: points.collect() }
    };
    let names: Vec<String> = groups
        .iter()
        .enumerate()
        .take(26)
        .map(|(number, _)| format!("{} {}", number + 1, letter(number)))
        .collect();
    LineChart {
        title: path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        x_label: format!("models of the same options: {}", names.join(", ")),
        y_label: "in %, with standard errors".to_owned(),
        curves: DRAWN.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect(),
    }
}
