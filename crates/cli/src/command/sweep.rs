//! `countgrid sweep`: a cross-validation for each of several options, and a picture of them.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{ArgAction, CommandFactory};
use countgrid_evaluation::{Scalar, cross_validate};
use countgrid_io::{StagedFiles, check_outputs};
use countgrid_map::pictures::{Curve, LineChart, Point};
use serde_json::{Map, Value, json};

use super::crossval::labelled;
use crate::{
    args::{Cli, EvaluationArgs, Precision, SweepArgs},
    candidates::{Choice, choices},
    collection::{named_inputs, paths_to_json},
    csv_table::CsvTable,
    failure::{BUG, Failure},
    files::{check_folder, make_folder},
    interrupt::Interrupt,
    report::{Report, plain},
    run_file::{self, Invocation, WorkedOut},
    sides::GridSize,
    threads,
};

/// What a sweep writes.
const FILES: [&str; 4] = ["results.json", "results.csv", "accuracy.svg", "accuracy.png"];

pub(crate) fn run(args: &SweepArgs, invocation: &Invocation, interrupt: &Interrupt) -> Result<(), Failure> {
    let (folder, args) = (args.output.as_path(), &args.evaluation);
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    args.options()?;
    if args.numeric {
        return Err(Failure::new("a sweep compares accuracies, and --numeric has none", "take crossval"));
    }
    let choices = choices(args, &invocation.words, &report)?;
    let mut inputs = named_inputs(&args.paths, &args.read, Some(&args.words));
    inputs.extend(args.config.config.clone());
    let run_file = invocation.file_in(folder)?;
    check_outputs(inputs, FILES.map(|name| folder.join(name)).iter().chain(&run_file))?;
    check_folder(folder, FILES.map(|name| folder.join(name)).iter().chain(&run_file))?;
    let run_file = run_file.map(|path| (path, invocation.to_toml(&WorkedOut::default())));
    let (words, run_file) = (invocation.words.as_slice(), run_file.as_ref());
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => sweep::<f32>(args, (folder, run_file, words), &choices, &report, interrupt),
        Precision::F64 => sweep::<f64>(args, (folder, run_file, words), &choices, &report, interrupt),
    })
}

/// The path and the bytes of the file of options.
type RunFile = (PathBuf, Vec<u8>);
/// A result, as results.json has it: an object with the options tried and what came out.
type Row = Map<String, Value>;

fn sweep<T: Scalar>(
    args: &EvaluationArgs,
    (folder, run_file, words): (&Path, Option<&RunFile>, &[OsString]),
    choices: &[Choice],
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let file = folder.join("results.json");
    let written: Vec<PathBuf> = FILES.iter().chain([&run_file::NAME]).map(|name| folder.join(name)).collect();
    let data = labelled::<T>(args, &written.iter().map(PathBuf::as_path).collect::<Vec<_>>(), report)?;
    let protocol = protocol(words)?;
    let before = known(&file, &protocol)?;
    let mut results: Vec<Row> = Vec::new();
    let mut interrupted = false;
    for (number, choice) in choices.iter().enumerate() {
        let (candidate, own) = (&choice.candidate, &choice.args);
        let same = |row: &&Row| row.get("options").and_then(Value::as_str) == Some(&candidate.name);
        let (row, found) = match before.iter().find(same) {
            Some(row) => (row.clone(), "computed before"),
            None => {
                let began = Instant::now();
                interrupt.stops(
                    "ending at the next block of documents; what is finished is in results.json; \
                     Ctrl-C again leaves at once",
                );
                let only = std::slice::from_ref(candidate);
                let (protocol, stop) = (own.protocol(), interrupt.stop());
                let done = cross_validate(&data, only, &protocol, |_| ControlFlow::Continue(()), stop)
                    .map_err(|error| Failure::from(error).of_files(&args.paths))?;
                if done.interrupted {
                    report.note("ended early; the same command goes on from here");
                    interrupted = true;
                    break;
                }
                let (error, unit) = done.standard_error();
                let mut row: Row = choice.chosen.iter().map(|(o, v)| (o.clone(), json!(v))).collect();
                row.insert("options".to_owned(), json!(candidate.name));
                row.insert("accuracy".to_owned(), json!(done.confusion.accuracy()));
                row.insert("standard_error".to_owned(), json!(error));
                row.insert("over".to_owned(), json!(unit.name()));
                row.insert("predictions".to_owned(), json!(done.confusion.items()));
                row.insert("seconds".to_owned(), json!(began.elapsed().as_secs_f64()));
                let grid = own.fit.grid.as_ref().and_then(GridSize::given);
                if let (Some(grid), Some(window)) = (grid, &own.fit.window) {
                    let cells = |sides: &[usize]| sides.iter().map(|&side| side as f64).product::<f64>();
                    row.insert("axes".to_owned(), json!(grid.0.len()));
                    row.insert("capacity".to_owned(), json!(cells(&grid.0) / cells(&window.0)));
                }
                (row, "")
            }
        };
        let percent = |key: &str| {
            row.get(key).and_then(Value::as_f64).map_or("none".to_owned(), |x| format!("{:.2}", 100.0 * x))
        };
        report.event(
            "result",
            format_args!(
                "{} of {}: {} {} % (standard error {}) {found}",
                number + 1,
                choices.len(),
                candidate.name,
                percent("accuracy"),
                percent("standard_error"),
            ),
            Value::Object(row.clone()),
        );
        results.push(row);
        let _whole = interrupt.writing();
        // With what earlier runs have found for those to come, in case that this one is interrupted.
        let later = choices.iter().skip(number + 1).filter_map(|choice| {
            let name = &choice.candidate.name;
            before.iter().find(|row| row.get("options").and_then(Value::as_str) == Some(name))
        });
        let all: Vec<Row> = results.iter().chain(later).cloned().collect();
        write((folder, run_file), args, &protocol, &all)?;
    }
    let paths = FILES.map(|name| folder.join(name));
    for path in paths.iter().chain(run_file.map(|(path, _)| path)) {
        if path.exists() {
            report.event("wrote", path.display(), json!({ "file": path.to_string_lossy() }));
        }
    }
    if interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}

/// What must be the same for two results to be compared: all options by name, as they were given or by default, except
/// those that are tried, those of reporting and those that change no result. Numbers are numbers, flags are true or false;
/// an option that was not given and has no default is left out.
fn protocol(words: &[OsString]) -> Result<Map<String, Value>, Failure> {
    let again = |error: &dyn std::fmt::Display| Failure::new(error, BUG); // this command line was parsed before
    let mut program = Cli::command();
    let matches = program.try_get_matches_from_mut(words).map_err(|error| again(&error))?;
    let sweep = matches.subcommand_matches("sweep").zip(program.find_subcommand("sweep"));
    let (given, command) = sweep.ok_or_else(|| again(&"this is no sweep"))?;
    let mut options = Map::new();
    for option in command.get_arguments() {
        let name = option.get_long().unwrap_or("path");
        let value = match option.get_action() {
            _ if ["try", "output", "quiet", "json", "threads", "raw-csv", "config"].contains(&name) => {
                continue;
            }
            ArgAction::SetTrue => given.get_flag(option.get_id().as_str()).into(),
            ArgAction::Set => match given.get_raw(option.get_id().as_str()).and_then(Iterator::last) {
                Some(text) => number_or_text(&text.to_string_lossy()),
                None => continue,
            },
            // The paths; one of them is as it was before there could be several.
            ArgAction::Append => {
                let texts = given.get_raw(option.get_id().as_str()).into_iter().flatten();
                let texts: Vec<_> = texts.map(|text| text.to_string_lossy()).collect();
                if let [text] = &texts[..] { Value::from(text.as_ref()) } else { texts.into_iter().collect() }
            }
            _ => continue, // help
        };
        options.insert(name.to_owned(), value);
    }
    Ok(options)
}

fn number_or_text(text: &str) -> Value {
    serde_json::from_str(text).ok().filter(Value::is_number).unwrap_or_else(|| text.into())
}

/// What differs between the options of an earlier sweep and these: `folds is 3 there and 4 here`.
fn difference(there: &Map<String, Value>, here: &Map<String, Value>) -> Option<String> {
    let same = |a: &Value, b: &Value| a == b || a.is_number() && a.as_f64() == b.as_f64();
    let names: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
    let differs = names.into_iter().filter(|&name| match (there.get(name), here.get(name)) {
        (Some(a), Some(b)) => !same(a, b),
        _ => true,
    });
    let text =
        |options: &Map<String, Value>, name: &String| options.get(name).map_or("not given".to_owned(), plain);
    let each =
        differs.map(|name| format!("{name} is {} there and {} here", text(there, name), text(here, name)));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// Results of an earlier run with the same options; an error if the file is of another.
fn known(file: &Path, protocol: &Map<String, Value>) -> Result<Vec<Row>, Failure> {
    let refuse = |problem: String| {
        Failure::new(
            format_args!("{}: {problem}", file.display()),
            "name another folder (--output), or remove it",
        )
    };
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(refuse(error.to_string())),
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    let Some(there) = value.get("protocol").and_then(Value::as_object) else {
        return Err(refuse(
            "its `protocol` is not an object of options, as this program writes it".to_owned(),
        ));
    };
    if let Some(difference) = difference(there, protocol) {
        return Err(refuse(format!("holds results of another sweep, with other options: {difference}")));
    }
    let results = value.get("results").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut rows = Vec::new();
    for (number, result) in (1..).zip(results) {
        let Value::Object(row) = result else { return Err(refuse(format!("result {number} is no object"))) };
        if let Some((key, expected)) = invalid(&row) {
            return Err(refuse(format!("`{key}` of result {number} is not {expected}")));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// What an earlier result is known by, and is drawn with, if it is not valid, and what would be.
fn invalid(row: &Row) -> Option<(&'static str, &'static str)> {
    if row.get("options").and_then(Value::as_str).is_none() {
        return Some(("options", "a text"));
    }
    let wrong = |key: &str, least: f64, most: f64| match row.get(key) {
        None | Some(Value::Null) => false,
        Some(value) => !value.as_f64().is_some_and(|x| (least..=most).contains(&x)),
    };
    [
        ("axes", 1.0, 8.0, "a number of axes, from 1 to 8"),
        ("capacity", 1.0, 1e30, "a number from 1 to 1e30"),
        ("accuracy", 0.0, 1.0, "a number from 0 to 1"),
        ("standard_error", 0.0, 1e6, "a number from 0 to 1e6"),
    ]
    .into_iter()
    .find_map(|(key, least, most, expected)| wrong(key, least, most).then_some((key, expected)))
}

fn write(
    (folder, run_file): (&Path, Option<&RunFile>),
    args: &EvaluationArgs,
    protocol: &Map<String, Value>,
    results: &[Row],
) -> Result<(), Failure> {
    let all = json!({ "protocol": protocol, "data": paths_to_json(&args.paths), "seed": args.fit.seed, "results": results });
    make_folder(folder)?;
    let mut files = StagedFiles::new();
    files.write(folder.join("results.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, &all)?;
        writeln!(out)
    })?;
    let columns: Vec<&String> = results.first().map(|row| row.keys().collect()).unwrap_or_default();
    files.write(folder.join("results.csv"), |out| {
        let mut csv = CsvTable::new(out, args.raw_csv);
        csv.write_record(columns.iter().map(|name| name.as_str()))?;
        for row in results {
            csv.write_record(columns.iter().map(|name| match row.get(*name) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None => String::new(),
                Some(value) => value.to_string(),
            }))?;
        }
        csv.flush()
    })?;
    let chart = chart(args, results);
    // None where no grids are compared.
    if !chart.curves.is_empty() {
        let drawn = |error| Failure::new(format_args!("the picture: {error}"), BUG);
        let (svg, png) = (chart.svg().map_err(drawn)?, chart.png().map_err(drawn)?);
        files.write(folder.join("accuracy.svg"), |out| out.write_all(svg.as_bytes()))?;
        files.write(folder.join("accuracy.png"), |out| out.write_all(&png))?;
    }
    if let Some((path, bytes)) = run_file {
        files.write(path, |out| out.write_all(bytes))?;
    }
    Ok(files.publish()?)
}

/// Accuracy against capacity, a line for each number of axes, and for each of the other options that are tried.
fn chart(args: &EvaluationArgs, results: &[Row]) -> LineChart {
    let mut curves: Vec<Curve> = Vec::new();
    for row in results {
        let number = |key: &str| row.get(key).and_then(Value::as_f64);
        let (Some(axes), Some(x), Some(y)) = (number("axes"), number("capacity"), number("accuracy")) else {
            continue;
        };
        let others: Vec<_> = args
            .tries
            .iter()
            .filter_map(|tried| tried.split_once('=').map(|(option, _)| option))
            .filter(|option| !["grid", "window"].contains(option))
            .filter_map(|option| Some(format!(", {option} {}", row.get(option)?.as_str()?)))
            .collect();
        let name = format!("{axes} {}{}", if axes == 1.0 { "axis" } else { "axes" }, others.concat());
        let point = Point { x, y: 100.0 * y, error: 100.0 * number("standard_error").unwrap_or(0.0) };
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { name, points: vec![point] }),
        }
    }
    curves.iter_mut().for_each(|curve| curve.points.sort_by(|a, b| a.x.total_cmp(&b.x)));
    LineChart {
        title: args
            .paths
            .first()
            .and_then(|path| path.file_name())
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        x_label: "capacity: cells over cells of a window".to_owned(),
        y_label: "accuracy in %, with its standard error".to_owned(),
        curves,
    }
}
