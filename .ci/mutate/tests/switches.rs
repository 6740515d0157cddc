//! Each switch does what its mutant does that is made in the text and compiled alone.
//!
//! `data/fixture.json` has what `cargo mutants --list --json` says of `fixture.rs`: genre, start, end, replacement and name.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io::Write};

const FIXTURE: &str = include_str!("data/fixture.rs");

/// Compiles a program, or tells that it is refused.
fn compile(source: &Path, arguments: &[&str]) -> Option<PathBuf> {
    let program = source.with_extension("");
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
    command
        .args(["--edition=2024", "--cap-lints=warn", "--crate-name=fixture", "-o"])
        .arg(&program)
        .arg(source)
        .args(arguments);
    command.stderr(Stdio::null()).status().unwrap().success().then_some(program)
}

/// What a program says and whether it ended well.
fn said(program: &Path, variable: &str, value: &str) -> (String, bool) {
    let output = Command::new(program).env(variable, value).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

/// The text as cargo-mutants changes it.
fn changed(mutant: &Value) -> String {
    let at = |place: &Value| {
        let [line, column] = [0, 1].map(|which| place[which].as_u64().unwrap() as usize - 1);
        let before: usize = FIXTURE.split_inclusive('\n').take(line).map(str::len).sum();
        before + column // the fixture is plain ASCII
    };
    let (start, end) = (at(&mutant[1]), at(&mutant[2]));
    format!("{} {} {}", &FIXTURE[..start], mutant[3].as_str().unwrap(), &FIXTURE[end..])
}

#[test]
fn each_does_what_its_mutant_does() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let list: Value = serde_json::from_str(include_str!("data/fixture.json")).unwrap();
    fs::write(folder.join("plain.rs"), FIXTURE).unwrap();
    let plain = said(&compile(&folder.join("plain.rs"), &[]).unwrap(), "NONE", "");

    // One by one: what does not compile is not asked for.
    let (mut mutants, mut alone) = (Vec::new(), Vec::new());
    for mutant in list.as_array().unwrap() {
        let source = folder.join("alone.rs");
        fs::write(&source, changed(mutant)).unwrap();
        if let Some(program) = compile(&source, &[]) {
            alone.push(said(&program, "NONE", ""));
            mutants.push(mutant);
        }
    }
    let genres: BTreeSet<_> = mutants.iter().map(|mutant| mutant[0].as_str().unwrap()).collect();
    assert_eq!(genres.len(), 6, "{genres:?}");

    // Together, into a folder that is not there yet, as that of a crate all of whose files have mutants.
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::create_dir_all(&from).unwrap();
    fs::write(from.join("fixture.rs"), FIXTURE).unwrap();
    let pair = |place: &Value| json!({"line": place[0], "column": place[1]});
    let asked: Vec<_> = mutants
        .iter()
        .map(|mutant| {
            let span = json!({"start": pair(&mutant[1]), "end": pair(&mutant[2])});
            json!({"file": "fixture.rs", "genre": mutant[0], "span": span, "replacement": mutant[3]})
        })
        .collect();
    let mut tool = Command::new(env!("CARGO_BIN_EXE_mutate"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let task = json!({"from": from, "to": to, "mutants": asked});
    tool.stdin.take().unwrap().write_all(task.to_string().as_bytes()).unwrap();
    let answers: Vec<Value> = serde_json::from_slice(&tool.wait_with_output().unwrap().stdout).unwrap();
    let library = folder.join("libmutant_switch.rlib");
    let built = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--edition=2024", "--crate-type=rlib", "--crate-name=mutant_switch", "-o"])
        .arg(&library)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/switch/src/lib.rs"))
        .env("RUSTC_BOOTSTRAP", "mutant_switch")
        .status();
    assert!(built.unwrap().success());
    let library = format!("--extern=mutant_switch={}", library.display());
    let program =
        compile(&to.join("fixture.rs"), &[&library]).expect("the fixture does not compile with its switches");

    assert_eq!(said(&program, "NONE", ""), plain);
    let file = folder.join("reached");
    let _ = fs::remove_file(&file);
    assert_eq!(said(&program, "COUNTGRID_MUTANTS_REACHED", file.to_str().unwrap()), plain);
    let bytes = fs::read(&file).unwrap();
    let numbers: BTreeSet<_> =
        bytes.as_chunks().0.iter().map(|bytes| u64::from(u32::from_le_bytes(*bytes))).collect();

    let (mut without, mut same) = (BTreeSet::new(), Vec::new());
    for ((mutant, answer), alone) in mutants.iter().zip(&answers).zip(&alone) {
        let name = mutant[4].as_str().unwrap();
        let Some(number) = answer["number"].as_u64() else {
            without.insert((answer["reason"].as_str().unwrap(), name.split(':').next().unwrap()));
            continue;
        };
        let switched = said(&program, "COUNTGRID_MUTANT", &number.to_string());
        if answer["const_fn"] == json!(true) {
            assert_ne!(switched, plain, "{name}"); // the constant that is computed with it stays what it was
        } else {
            assert_eq!(&switched, alone, "{name}");
        }
        same.extend((switched == plain).then_some(name));
        assert!(numbers.contains(&number), "{name} is not reached");
    }
    assert!(
        same.is_empty(),
        "these mutants of the fixture change nothing that it says, and show nothing: {same:#?}"
    );
    let line = |of: &str| (FIXTURE.lines().position(|line| line.contains(of)).unwrap() + 1).to_string();
    let expected = [("in a constant", line("2 * 3")), ("returns `impl`", line("0..most"))];
    assert_eq!(without, expected.iter().map(|(reason, line)| (*reason, line.as_str())).collect());
}
