//! What every command writes and prints is the same for any number of threads, on every instruction set that there is, with
//! counts in memory or in a file.

use crate::common;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use common::{contents, countgrid, csv};

/// Columns of features, and sequences, for the same documents.
fn inputs(folder: &Path) {
    fs::write(folder.join("a.csv"), csv(',')).unwrap();
    let made = common::made();
    fs::write(folder.join("new.csv"), "text,label\nsail mast anchor wind,boats\nflour yeast oven,air\n")
        .unwrap();
    let features: String =
        made.iter().enumerate().map(|(n, m)| format!("{},{}.25,{}\n", m.id, n % 7, n * n % 11)).collect();
    fs::write(folder.join("f.csv"), format!("id,wobble,spin\n{features}")).unwrap();
    let letters =
        |n: usize| (0..30).map(|i| ["A", "C", "G", "T"][(n * i + i * i / 3 + n) % 4]).collect::<String>();
    let sequences: String = (0..40).map(|n| format!("{n},{},{}\n", ["p", "q"][n % 2], letters(n))).collect();
    fs::write(folder.join("q.csv"), format!("id,label,sequence\n{sequences}")).unwrap();
    let numbers: String = made
        .iter()
        .enumerate()
        .map(|(n, m)| {
            format!("{},{},{},{},{}\n", n % 5, m.text.len() % 7, n * n % 6, n % 3 * 2, n as f64 / 8.0)
        })
        .collect();
    fs::write(folder.join("n.csv"), format!("ant,bee,cat,dog,label\n{numbers}")).unwrap();
}

/// Commands that run one after the other in a folder; `THREADS` stands for the option of threads, and `STREAM`, of grids, for
/// that of counts in a file. Blocks are small, so that there are many; where they end is the same in every pass.
fn commands() -> Vec<String> {
    const GRID: &str = "--grid 8x8 --window 3x3 --iterations 6 --block-entries 64 THREADS STREAM";
    let mut all = vec![
        format!("fit a.csv -o grid.st {GRID}"),
        format!("fit a.csv -o grid64.st --precision f64 --learn-prior --restarts 2 {GRID}"),
        format!("fit a.csv -o batch.st --batch 20 --passes 2 {GRID}"),
        format!("fit a.csv -o anneal.st --anneal 0.2 --anneal-iterations 4 --schedule single {GRID}"),
        "fit a.csv -o cube.st --grid 4x4x4 --window 2x2x2 --iterations 4 --block-entries 64 THREADS STREAM"
            .to_owned(),
        format!("fit n.csv -o counts.st --tokens 20 {GRID}"),
        format!("map a.csv -o map {GRID}"),
        "map a.csv -o layers --grid 2x6x6 --window 1x2x2 --iterations 4 --block-entries 64 THREADS STREAM"
            .to_owned(),
        "embed grid.st a.csv -o grid.csv --quiet".to_owned(),
        "embed grid64.st a.csv -o grid64.csv --quiet".to_owned(),
        "words grid.st --at 1,2".to_owned(),
        "info grid.st".to_owned(),
        "evaluate grid.st a.csv -o measures.json --quiet THREADS".to_owned(),
        "compare grid.st grid64.st anneal.st a.csv -o compared --quiet THREADS".to_owned(),
        "firmware grid.st -o firmware --table 8 --vocabulary --quiet".to_owned(),
        format!("map a.csv -o phrases --phrases auto --precision f64 {GRID}"),
        "map --add new.csv map/model.safetensors -o added --quiet".to_owned(),
        format!("fit a.csv -o componential.st --model componential --componential-iterations 3 {GRID}"),
        "embed componential.st a.csv -o componential.csv --quiet".to_owned(),
        format!("map a.csv -o componential --model componential --componential-iterations 3 {GRID}"),
        format!("start a.csv -o parts --parts 1 --schedule single {GRID}"),
        "partial parts/state.safetensors parts/documents-0001.safetensors -o parts/sums --quiet THREADS"
            .to_owned(),
        "merge parts/sums -o parts/sum --quiet".to_owned(),
        "step parts/state.safetensors parts/sum -o parts/next --quiet".to_owned(),
        format!("crossval a.csv -o crossval.csv --folds 3 --raw-csv {GRID}"),
        format!("crossval n.csv -o numeric.csv --folds 3 --numeric --classifier labels {GRID}"),
    ];
    for model in
        ["zip-gtm", "zip-latent-gtm", "poisson-gtm", "bernoulli-gtm", "multinomial-gtm", "gaussian-gtm"]
    {
        let sizes = "--points 5x4 --basis-functions 3x3 --iterations 4 THREADS";
        all.push(format!("map a.csv -o {model} --model {model} {sizes}"));
        all.push(format!("embed {model}/model.safetensors a.csv -o {model}.csv --quiet"));
    }
    for (model, more) in [
        ("harmonium", ""),
        ("harmonium", "--method persistent"),
        ("harmonium", "--method langevin --chains 2 --draws 8"),
        ("rap", ""),
        ("dual-wing", "--features-from f.csv"),
    ] {
        let name = format!("{model}{}.st", more.split(' ').nth(1).unwrap_or_default().replace('.', "-"));
        all.push(format!("fit a.csv -o {name} --model {model} {more} --topics 3 --epochs 4 THREADS"));
        let features = if model == "dual-wing" { more } else { "" };
        all.push(format!("embed {name} a.csv -o {name}.csv --quiet {features}"));
    }
    for (model, more) in [
        ("mixture", "--topics 3 --iterations 5"),
        ("lda", "--topics 3 --iterations 5"),
        ("lda", "--topics 3 --iterations 5 --classifier svm --features posterior"),
        ("harmonium", "--topics 3 --epochs 4 --classifier svm-rbf --features posterior"),
        ("rap", "--topics 3 --epochs 4 --classifier nearest --features posterior"),
        ("lsi", "--topics 3 --classifier nearest --features posterior"),
        ("grid", "--grid 6x6 --window 2x2 --iterations 5 --classifier svm-rbf --features fess"),
        ("grid", "--grid 6x6 --window 2x2 --iterations 5 --classifier nearest --features posterior"),
        ("grid", "--grid 6x6 --window 2x2 --iterations 5 --try grid=4x4,6x6 --inner-folds 2"),
    ] {
        let number = all.len();
        all.push(format!("crossval a.csv -o t{number}.csv --folds 2 --model {model} {more} THREADS"));
    }
    all.push(
        "crossval q.csv -o hmm.csv --folds 2 --iterations 5 --model hmm --states 3 --restarts 2 THREADS"
            .to_owned(),
    );
    all.push(
        "sweep a.csv -o sweep --folds 2 --window 2x2 --iterations 4 --try grid=4x4,6x6 THREADS".to_owned(),
    );
    all
}

/// Without what differs from run to run: seconds and peak memory, in lines for people and in tables of sweeps.
fn without_times(name: &Path, bytes: Vec<u8>) -> Vec<u8> {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    match name.file_name().and_then(|name| name.to_str()) {
        Some("results.json") => {
            let lines = text(bytes);
            let kept: Vec<&str> = lines
                .lines()
                .filter(|line| {
                    !["seconds", "stream", "block-entries"]
                        .iter()
                        .any(|name| line.contains(&format!("\"{name}\"")))
                })
                .collect();
            kept.join("\n").into_bytes()
        }
        Some("results.csv") => {
            let rows = common::table(&text(bytes));
            let rows: Vec<_> = rows.into_iter().map(|mut row| (row.remove("seconds"), row).1).collect();
            format!("{rows:?}").into_bytes()
        }
        _ => bytes,
    }
}

/// Everything that the commands write and, of those that only print, print.
fn everything(threads: &str, stream: &str, level: Option<&str>) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    inputs(path);
    for (number, line) in commands().into_iter().enumerate() {
        let line = line.replace("THREADS", threads).replace("STREAM", stream);
        let args: Vec<&str> = line.split_whitespace().collect();
        let mut command = countgrid(path, &args);
        if let Some(level) = level {
            command.env("COUNTGRID_SIMD", level);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        if ["words", "info"].contains(&args[0]) {
            fs::write(path.join(format!("printed {number}")), output.stdout).unwrap();
        }
    }
    let relative = |file: PathBuf| file.strip_prefix(path).unwrap().to_path_buf();
    contents(path)
        .into_iter()
        .map(|(file, bytes)| (relative(file.clone()), without_times(&file, bytes)))
        .collect()
}

/// Instruction sets of this machine besides the best, which is taken by itself.
fn levels() -> Vec<&'static str> {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let mut levels = vec!["baseline"];
    levels.extend(has("avx2").then_some("avx2"));
    levels.extend(has("avx512f").then_some("avx512"));
    levels
}

const FILE: &str = "--stream";

#[test]
fn every_command_writes_the_same_bytes() {
    same_bytes(&[("--threads 3", FILE, None)]);
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn every_command_writes_the_same_bytes_whatever_the_threads_and_the_instruction_set() {
    // Threads, levels and blocks together, so that a few passes have each of all.
    let mut passes = vec![("--threads 2", "", None), ("--threads 7", "", None)];
    passes.extend(levels().into_iter().skip(1).map(|level| ("--threads 2", FILE, Some(level))));
    same_bytes(&passes);
}

fn same_bytes(passes: &[(&str, &str, Option<&str>)]) {
    let expected = everything("--threads 1", "", Some("baseline"));
    assert!(expected.len() > 90, "{} files", expected.len());
    for &(threads, stream, level) in passes {
        let found = everything(threads, stream, level);
        let what = format!("{threads} {stream} {}", level.unwrap_or("(the best instruction set)"));
        let differ =
            expected.iter().filter(|(name, bytes)| found.get(*name) != Some(bytes)).map(|(name, _)| name);
        let differ: Vec<_> = differ.collect();
        assert!(differ.is_empty() && found.len() == expected.len(), "{what}: {differ:?}");
        println!("{what}: the same {} files", found.len());
    }
}
