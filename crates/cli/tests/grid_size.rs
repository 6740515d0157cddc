//! `--grid auto`: the size that documents which are held out are most probable under.

use std::fs;

use crate::common::{csv, events, run, stdout};

#[test]
fn the_best_size_of_those_tried_is_taken_and_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("a.csv"), csv(',')).unwrap();
    for model in ["grid", "componential"] {
        let auto = ["--grid", "auto", "--iterations", "4", "--model", model, "--json"];
        let printed = stdout(path, &[&["map", "a.csv", "-o", "x"], &auto[..]].concat());
        let tried = events(&printed, "size");
        assert!(tried.len() > 1, "{printed}");
        let value = |event: &serde_json::Value| event["completion_log_likelihood"].as_f64().unwrap();
        let best = tried.iter().max_by(|a, b| value(a).total_cmp(&value(b))).unwrap();
        let grid = &events(&printed, "grid")[0];
        assert_eq!((&best["grid"], &best["window"]), (&grid["grid"], &grid["window"]));

        // What was chosen is in the file of options, and leads to the same map.
        let sides: Vec<String> = best["grid"].as_array().unwrap().iter().map(ToString::to_string).collect();
        let options = fs::read_to_string(path.join("x/run.toml")).unwrap();
        assert!(options.contains(&format!("\ngrid = \"{}\"  # worked out\n", sides.join("x"))), "{options}");
        stdout(path, &["map", "--config", "x/run.toml", "-o", "y", "--quiet"]);
        for file in ["model.safetensors", "map.html"] {
            assert_eq!(
                fs::read(path.join("x").join(file)).unwrap(),
                fs::read(path.join("y").join(file)).unwrap()
            );
        }
        // `fit` and fits in parts choose alike.
        let printed = stdout(path, &[&["fit", "a.csv", "-o", "f.st"], &auto[..]].concat());
        assert_eq!(events(&printed, "size"), tried);
        let printed = stdout(path, &[&["start", "a.csv", "-o", "parts"], &auto[..]].concat());
        assert_eq!(events(&printed, "size"), tried);
        let options = fs::read_to_string(path.join("parts/run.toml")).unwrap();
        assert!(options.contains(&format!("\ngrid = \"{}\"  # worked out\n", sides.join("x"))), "{options}");
    }
}

#[test]
fn where_no_size_is_chosen_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("a.csv"), csv(',')).unwrap();
    fs::write(path.join("one.csv"), "text\nsalt\nrope\nsalt\nrope\n").unwrap();
    for (args, message) in [
        ("crossval a.csv --grid auto", "--grid auto is of fit, map and start"),
        ("sweep a.csv -o s --try grid=auto,8x8", "--grid auto is of fit, map and start"),
        ("map a.csv -o x --model zip-gtm --grid auto", "--grid is of counting grids"),
        ("fit a.csv -o x.st --grid automatic", "or take `auto`"),
        ("fit a.csv -o x.st --grid auto --tokens 12.5", "leave --grid auto out"),
    ] {
        let output = run(path, &args.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(message), "{args}: {said}");
    }
    let said = run(path, &["fit", "one.csv", "-o", "x.st", "--grid", "auto", "--min-count", "1"]);
    let said = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
    assert!(said.contains("no document has two words"), "{said}");
}
