//! `run.toml` and `--config`: every option of a run is written, and taken back for the same bytes.

use std::{collections::BTreeMap, fs, path::Path};

use crate::common::{self, contents, csv, run, stdout};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), csv(',')).unwrap();
    folder
}

/// The lines of a file of options, by name, without comments.
fn options(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    let value = |value: &str| value.split("  # ").next().unwrap().to_owned();
    lines.map(|(name, text)| (name.to_owned(), value(text))).collect()
}

/// Runs that write into the folder `x`, and again from their file into `y`, give the same files.
fn same_again(path: &Path, args: &[&str], files: &[&str]) {
    stdout(path, &[args, &["-o", "x", "--quiet"]].concat());
    stdout(path, &[args[0], "--config", "x/run.toml", "-o", "y", "--quiet"]);
    for file in files {
        let [x, y] = ["x", "y"].map(|folder| fs::read(path.join(folder).join(file)).unwrap());
        assert!(x == y, "{args:?}: {file} differs");
    }
    let [mut x, mut y] = ["x", "y"].map(|folder| options(&path.join(folder).join("run.toml")));
    assert_eq!([x.remove("output"), y.remove("output")], [Some("\"x\"".into()), Some("\"y\"".into())]);
    assert_eq!(x, y, "{args:?}");
    ["x", "y"].iter().for_each(|folder| fs::remove_dir_all(path.join(folder)).unwrap());
}

#[test]
fn a_map_from_its_file_is_the_same() {
    let folder = folder();
    let grid = ["map.html", "map.svg", "map.png", "places.csv", "model.safetensors"];
    let points = ["map.html", "map.svg", "map.png", "points.csv", "model.safetensors"];
    for args in [
        "map a.csv",
        "map a.csv --iterations 2",
        "map a.csv --grid 40x40 --iterations 4",
        "map a.csv --grid 20x20 --iterations 4 --schedule single",
        "map a.csv --iterations 7 --seed 18446744073709551615 --precision f64",
        "map a.csv --grid 6x5 --anneal 0.3 --iterations 4",
        "map a.csv --anneal 1 --iterations 4 --title true --tolerance 1e-3",
        "map a.csv --batch 20 --iterations 4 --learn-prior --sample 20",
        "map a.csv --window 1 --iterations 6 --ngrams 2",
        "map a.csv --model componential --iterations 6 --componential-iterations 3",
    ] {
        same_again(folder.path(), &args.split(' ').collect::<Vec<_>>(), &grid);
    }
    for args in [
        "map a.csv --model zip-gtm --iterations 2",
        "map a.csv --model bernoulli-gtm --iterations 2 --place mode --basis sinh --latent random",
    ] {
        same_again(folder.path(), &args.split(' ').collect::<Vec<_>>(), &points);
    }
}

/// A map of more documents than two leaves have begins with mini-batches, as a fit does that is given them.
#[test]
fn a_map_of_many_documents_begins_with_mini_batches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut many = "text\n".to_owned();
    for n in 0..33_000 {
        many += &format!("ant{} bee{} cat{}\n", n % 7, n % 11, n / 3 % 13);
    }
    fs::write(path.join("many.csv"), many).unwrap();
    let map = ["map", "many.csv", "--grid", "6x6"];
    same_again(path, &map, &["map.html", "places.csv", "model.safetensors"]);
    stdout(path, &[&map[..], &["-o", "x", "--quiet"]].concat());
    let options = options(&path.join("x/run.toml"));
    let begun = ["batch", "passes", "iterations"].map(|name| options[name].as_str());
    assert_eq!(begun, ["1320", "6", "5"]);
    let fit = ["fit", "many.csv", "--grid", "6x6", "-o", "y", "--quiet"];
    let given = ["--batch", "1320", "--passes", "6", "--iterations", "5"];
    stdout(path, &[&fit[..], &given].concat());
    let [x, y] = ["x/model.safetensors", "y"].map(|file| fs::read(path.join(file)).unwrap());
    assert!(x == y, "the models differ");
    // Annealing that is asked for is done.
    stdout(path, &[&map[..], &["--anneal", "0.5", "-o", "z", "--quiet"]].concat());
    let stdout = stdout(path, &["info", "z/model.safetensors", "--json"]);
    let about: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((about["fit"]["anneal"].as_f64(), about["fit"]["batch"].as_u64()), (Some(0.5), None));
}

/// Documents that are added to a map have few options: the model has the others.
#[test]
fn documents_are_added_again_from_the_file() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("new.csv"), "title,text\nNew,sail mast anchor wind\n").unwrap();
    stdout(path, &["map", "a.csv", "-o", "map", "--grid", "8x8", "--quiet"]);
    let add = ["map", "--add", "new.csv", "map/model.safetensors", "--columns", "none"];
    same_again(path, &add, &["map.html", "map.svg", "map.png", "places.csv", "model.safetensors"]);
    stdout(path, &[&add[..], &["-o", "x"]].concat());
    let options = options(&path.join("x/run.toml"));
    assert_eq!(options["add"], "[\"new.csv\"]");
    assert!(!options.contains_key("grid") && !options.contains_key("seed"), "{options:?}");
}

/// What is worked out is written with its value, under the name of its option.
#[test]
fn what_is_worked_out_is_there() {
    let folder = folder();
    let path = folder.path();
    let printed = stdout(path, &["map", "a.csv", "-o", "x", "--seed", "7", "--json"]);
    let of_grid = printed.lines().find(|line| line.contains(r#""event":"grid""#)).unwrap();
    let of_grid: serde_json::Value = serde_json::from_str(of_grid).unwrap();
    let options = options(&path.join("x/run.toml"));
    let sides = |name: &str| {
        let sides = of_grid[name].as_array().unwrap();
        format!("\"{}\"", sides.iter().map(ToString::to_string).collect::<Vec<_>>().join("x"))
    };
    assert_eq!(options["grid"], sides("grid"));
    assert_eq!(options["window"], sides("window"));
    assert!(of_grid["memory"].as_u64() > Some(0), "{of_grid}");
    // That of coarser grids is another.
    let text = fs::read_to_string(path.join("x/run.toml")).unwrap();
    let pseudocount =
        format!("# pseudocount = {}  # worked out, and again from a file", of_grid["pseudocount"]);
    assert!(text.lines().any(|line| line == pseudocount), "{text}");
    let expected = [
        ("command", "\"map\""),
        ("paths", "[\"a.csv\"]"),
        ("seed", "7"),
        ("anneal", "0.2"), // 4 of 20 tokens
        ("anneal-iterations", "20"),
        ("iterations", "40"), // of 60
        ("stem", "false"),
        ("title", "\"a\""),
    ];
    for (name, value) in expected {
        assert_eq!(options[name], value, "{name}");
    }
    assert!(printed.lines().any(|line| line.contains(r#""file":"x/run.toml""#)), "{printed}");
    for absent in [
        "quiet",
        "json",
        "config",
        "resume",
        "help",
        "threads",
        "stream",
        "checkpoint",
        "block-entries",
        "label-column",
    ] {
        assert!(!options.contains_key(absent), "{absent}");
    }
}

/// Commands that write a single file write that of options if asked.
#[test]
fn single_files_have_one_if_asked() {
    let folder = folder();
    let path = folder.path();
    for args in
        ["--iterations 5", "--model harmonium --epochs 2 --topics 3", "--model componential --iterations 4"]
    {
        let args: Vec<_> = args.split(' ').collect();
        stdout(path, &[&["fit", "a.csv", "-o", "g.st", "--quiet"][..], &args].concat());
        assert!(!path.join("run.toml").exists());
        stdout(
            path,
            &[&["fit", "a.csv", "-o", "h.st", "--save-config", "h.toml", "--quiet"][..], &args].concat(),
        );
        stdout(path, &["fit", "--config", "h.toml", "-o", "i.st", "--quiet"]);
        let [g, h, i] = ["g.st", "h.st", "i.st"].map(|name| fs::read(path.join(name)).unwrap());
        assert!(g == h && g == i, "{args:?}");
    }
    let small = ["--folds", "2", "--grid", "4x4", "--window", "2x2", "--iterations", "2"];
    stdout(
        path,
        &[&["crossval", "a.csv", "-o", "p.csv", "--save-config", "c.toml", "--quiet"], &small[..]].concat(),
    );
    stdout(path, &["crossval", "--config", "c.toml", "-o", "q.csv", "--quiet"]);
    assert!(fs::read(path.join("p.csv")).unwrap() == fs::read(path.join("q.csv")).unwrap());
}

/// A sweep from its file is the same sweep, which has its results already, and `--try` counts from a file.
#[test]
fn sweeps_and_starts_have_one() {
    let folder = folder();
    let path = folder.path();
    let args =
        ["sweep", "a.csv", "--folds", "2", "--try", "grid=4x4,5x5", "--iterations", "2", "--window", "2"];
    stdout(path, &args);
    let before = fs::read(path.join("sweep/results.json")).unwrap();
    let printed = stdout(path, &["sweep", "--config", "sweep/run.toml"]);
    assert_eq!(printed.matches("computed before").count(), 2, "{printed}");
    assert!(fs::read(path.join("sweep/results.json")).unwrap() == before);

    stdout(path, &["start", "a.csv", "--grid", "4x4", "--iterations", "6", "-o", "t", "--quiet"]);
    stdout(path, &["start", "--config", "t/run.toml", "-o", "u", "--quiet"]);
    for file in ["state.safetensors", "documents-0001.safetensors"] {
        assert!(
            fs::read(path.join("t").join(file)).unwrap() == fs::read(path.join("u").join(file)).unwrap(),
            "{file}"
        );
    }
}

/// The command line comes before the file, also where it says what is the default, and for paths.
#[test]
fn the_command_line_comes_first() {
    let folder = folder();
    let path = folder.path();
    fs::write(
        path.join("o.toml"),
        "seed = 5\niterations = 3\ngrid = 6\nwindow = \"2x2\"\npaths = [\"no.csv\"]\nstem = true\n",
    )
    .unwrap();
    stdout(path, &["map", "a.csv", "--config", "o.toml", "--seed", "1", "--grid=5x5", "-o", "x", "--quiet"]);
    let found = options(&path.join("x/run.toml"));
    let expected =
        [("seed", "1"), ("iterations", "2"), ("grid", "\"5x5\""), ("paths", "[\"a.csv\"]"), ("stem", "true")];
    for (name, value) in expected {
        assert_eq!(found[name], value, "{name}"); // of three iterations one is for annealing
    }
    stdout(
        path,
        &[
            "map",
            "a.csv",
            "--stem",
            "--seed",
            "1",
            "--grid",
            "5x5",
            "--window",
            "2x2",
            "--iterations",
            "3",
            "-o",
            "y",
            "--quiet",
        ],
    );
    assert!(
        fs::read(path.join("x/model.safetensors")).unwrap()
            == fs::read(path.join("y/model.safetensors")).unwrap()
    );
}

/// The file of options is read, and so never written over: from a map's own the map is written again, and no other.
#[test]
fn the_file_stays() {
    let folder = folder();
    let path = folder.path();
    let quick = ["--iterations", "2", "--quiet"];
    stdout(path, &[&["map", "a.csv"], &quick[..]].concat());
    let before = contents(path);
    stdout(path, &["map", "--config", "run.toml", "--quiet"]);
    stdout(path, &["map", "--config", "run.toml", "--seed", "1", "-o", ".", "--quiet"]);
    assert!(contents(path) == before);
    for args in [
        &["map", "--config", "run.toml", "--seed", "2"][..],
        &["map", "--config", "run.toml", "--stem"],
        &["map", "--config", "./run.toml", "--no-such"],
        &["fit", "a.csv", "--config", "o.toml", "--save-config", "o.toml"],
        &["fit", "a.csv", "--save-config", "a.csv"],
        &["fit", "a.csv", "--save-config", "model.safetensors"],
        &["crossval", "a.csv", "--save-config", "a.csv"],
    ] {
        fs::write(path.join("o.toml"), "seed = 5\n").unwrap();
        let output = run(path, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        fs::remove_file(path.join("o.toml")).unwrap();
        assert!(contents(path) == before, "{args:?}");
    }
    // That of another program stays as well.
    fs::write(path.join("run.toml"), "[package]\n").unwrap();
    let output = run(path, &[&["map", "a.csv"], &quick[..]].concat());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("run.toml: is there, and no file of options") && message.contains("remedy: "),
        "{message}"
    );
    assert_eq!(fs::read_to_string(path.join("run.toml")).unwrap(), "[package]\n");
}

/// A map in the folder of its texts, which are not more for the file of options.
#[test]
fn a_folder_gets_its_own_map_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    common::write_folder(&path.join("texts"));
    stdout(path, &["map", "texts", "-o", "texts", "--iterations", "3", "--quiet"]);
    let before = contents(path);
    let printed = stdout(path, &["map", "--config", "texts/run.toml"]);
    assert!(printed.contains("90 files") && !printed.contains("passed over"), "{printed}");
    assert!(contents(path) == before);
    assert!(!path.join("texts/skipped.csv").exists());
}

/// What is wrong in a file is said with its name, its line, and what would be right.
#[test]
fn mistakes_are_named() {
    let folder = folder();
    let path = folder.path();
    let deep = format!("seed = {}{}", "[".repeat(5_000), "]".repeat(5_000));
    let long = format!("{} = 1", "x".repeat(100_000));
    let text = format!("grid = \"{}\"", "9".repeat(100_000));
    for (file, expected) in [
        ("\n\ngrdi = 5\n", "line 3: `countgrid map` has no option `grdi`\nremedy: did you mean `grid`?"),
        (
            "min_count = 5",
            "line 1: `countgrid map` has no option `min_count`\nremedy: did you mean `min-count`?",
        ),
        ("folds = 3", "line 1: `folds` is of `countgrid crossval`, `sweep`, not of `countgrid map`"),
        ("seed = 1\ntopics = 3", "line 2: `topics` is of `countgrid fit`, `crossval`, `sweep`, not of"),
        ("command = \"fit\"", "line 1: these are options of `fit`, and this is `map`"),
        ("command = 3", "line 1: `command` is no text, but a number"),
        ("seed = true", "line 1: `seed` is true or false\nremedy: write one text or number"),
        ("seed = \"abc\"", "line 1: `seed`: invalid value 'abc' for '--seed <N>': invalid digit"),
        ("seed = -1", "line 1: `seed`: invalid value '-1' for '--seed <N>'"),
        ("seed = 1.5", "line 1: `seed`: invalid value '1.5' for '--seed <N>'"),
        ("seed = 99999999999999999999999999", "line 1: `seed`: invalid value '99999999999999999999999999'"),
        (
            "iterations = 2_000_000_000",
            "line 1: `iterations`: invalid value '2000000000' for '--iterations <N>': it may be at most",
        ),
        ("seed = [1, 2]", "line 1: `seed` is a list"),
        ("seed = 1979-05-27", "line 1: `seed` is a date"),
        ("stem = 1", "line 1: `stem` is a number\nremedy: write stem = true or false"),
        (
            "model = \"lda\"",
            "line 1: `model`: invalid value 'lda' for '--model <MODEL>' [possible values: grid,",
        ),
        ("[grid]\nx = 1", "line 1: `grid` is a table"),
        ("grid.x = 1", "line 1: `grid` is a table"),
        ("[[a.b]]\n", "line 1: `countgrid map` has no option `a`"),
        ("paths = [[\"a\"]]", "line 1: `paths` is a list\nremedy: write a list of texts"),
        ("seed = 1\nstem = true\nseed = 2", "line 3: is no TOML: duplicate key"),
        ("seed = ", "line 1: is no TOML: "),
        ("config = \"a\"", "line 1: `config` is for the command line alone"),
        ("resume = true", "line 1: `resume` is for the command line alone"),
        ("\"--seed\" = 1", "line 1: `countgrid map` has no option `--seed`"),
        ("\"\" = 1", "line 1: `countgrid map` has no option ``"),
        ("\"seed=3\" = 1", "line 1: `countgrid map` has no option `seed=3`"),
        ("paths = [\"\"]", "line 1: `paths`: a value is required for '[PATH]...'"),
        (&deep, "line 1: is no TOML: "),
        (&long, "line 1: `countgrid map` has no option `xxx"),
        (&text, "line 1: `grid`: invalid value '999"),
        (&"#".repeat(2 << 20), "options cannot be read"),
        ("seed = 1\u{7f}", "line 1: is no TOML"),
        ("\u{0}", "options cannot be read: no text"),
        (
            "label-depth = 1\nlabel-column = \"label\"",
            "note: the options of o.toml count as if they were given\nerror: the argument",
        ),
    ] {
        fs::write(path.join("o.toml"), file).unwrap();
        let output = run(path, &["map", "a.csv", "--config", "o.toml", "-o", "x"]);
        let message = String::from_utf8(output.stderr).unwrap();
        let shown = file.get(..60).unwrap_or(file);
        assert_eq!(output.status.code(), Some(2), "{shown}: {message}");
        assert!(message.contains(expected), "{shown}: {message}");
        assert!(
            message.starts_with("note: ") || message.starts_with("error: o.toml: "),
            "{shown}: {message}"
        );
        assert!(message.len() < 1500, "{shown}: {} bytes", message.len());
        assert!(!path.join("x").exists());
    }
    let output = run(path, &["map", "a.csv", "--config", "none.toml"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("none.toml: options cannot be read: ") && message.contains("remedy: "),
        "{message}"
    );
}
