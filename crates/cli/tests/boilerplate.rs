//! Disclaimers below mails are no words of a map.

use crate::common;

use std::{fs, path::Path};

use common::{TOPICS, events, results, run, stdout, table, words_and_cells};
use countgrid_io::load;
use countgrid_map::read_html;
use serde_json::Value;

const SMALL: [&str; 7] = ["--grid", "6x6", "--window", "2x2", "--iterations", "5", "--max-share=1"];
const DISCLAIMER: &str = "This message is confidential.\nPlease consider the trees before printing";

/// Texts of two offices, thirty of each with words of their own; in `with` those of the first have a disclaimer.
fn write_texts(folder: &Path) {
    for pile in ["plain", "with"] {
        for (office, number) in
            ["north", "south"].into_iter().flat_map(|office| (0..30).map(move |n| (office, n)))
        {
            let mut state = 1 + number as u64 + office.len() as u64 + u64::from(office == "north") * 100;
            let mut words = Vec::new();
            for place in 0..40 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let topic: Vec<&str> = TOPICS[number % 3].1.split(' ').collect();
                words.push(topic[(state >> 33) as usize % 12]);
                if place == 20 {
                    words.push("\n");
                }
            }
            let end = if (pile, office) == ("with", "north") { DISCLAIMER } else { "" };
            let path = folder.join(pile).join(office);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(format!("{number:02}.txt")), format!("{}\n\n{end}\n", words.join(" ")))
                .unwrap();
        }
    }
}

#[test]
fn disclaimers_are_left_out_told_and_kept_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_texts(folder);
    let map = |data: &str, output: &str, args: &[&str]| {
        stdout(folder, &[&["map", data, "--output", output, "--title", "T"], &SMALL[..], args].concat())
    };
    let of = |output: &str, file: &str| fs::read_to_string(folder.join(output).join(file)).unwrap();
    let printed = map("with", "out", &[]);
    let expected =
        "2 lines left out that recur in most documents of with/north; --keep-boilerplate keeps them";
    assert!(printed.replace('\\', "/").contains(expected), "{printed}");
    assert_eq!(
        of("out", "skipped.csv").replace('\\', "/"),
        "path,why\nwith/north,line in 30 of 30 documents: please consider the trees before printing\n\
         with/north,line in 30 of 30 documents: this message is confidential\n"
    );
    // The page has whole texts.
    let page = of("out", "map.html");
    assert!(page.contains("2 lines that most documents of a source have"));
    let page = read_html(&page).unwrap();
    let whole = page.documents.iter().filter(|document| document.text.contains("Please consider the trees"));
    assert_eq!(whole.count(), 30);

    // The model is that of the texts without the lines, and has them: new documents leave them out too.
    assert!(
        !map("plain", "plain-out", &[]).contains("recur") && !folder.join("plain-out/skipped.csv").exists()
    );
    assert!(!of("plain-out", "map.html").contains("that most documents of a source have"));
    assert!(
        words_and_cells(&folder.join("out/model.safetensors"))
            == words_and_cells(&folder.join("plain-out/model.safetensors"))
    );
    let text = |output: &str| {
        let file = load(folder.join(output).join("model.safetensors")).unwrap();
        serde_json::from_str::<Value>(&file.metadata["text"]).unwrap()
    };
    assert_eq!(
        text("out")["boilerplate"],
        serde_json::json!(["please consider the trees before printing", "this message is confidential"])
    );
    assert_eq!(text("plain-out").get("boilerplate"), None);
    let embedded = |data: &str| {
        stdout(folder, &["embed", "out/model.safetensors", data, "-o", "places.csv"]);
        table(&fs::read_to_string(folder.join("places.csv")).unwrap())
    };
    let places = embedded("with");
    assert_eq!(places, embedded("plain"));
    assert_eq!(places, table(&of("out", "places.csv")));
    map_add(folder);

    // With any number of threads, and from a file.
    let expected: Vec<_> = results(&folder.join("out")).into_values().collect();
    for args in [&["--threads", "1"][..], &["--threads", "3", "--stream"]] {
        map("with", "other", args);
        assert!(results(&folder.join("other")).into_values().eq(expected.iter().cloned()), "{args:?}");
        fs::remove_dir_all(folder.join("other")).unwrap();
    }

    // The list is replaced once it is no longer true, and the choice is among the options.
    let printed = map("with", "out", &["--keep-boilerplate"]);
    assert!(!printed.contains("recur"), "{printed}");
    assert_eq!(of("out", "skipped.csv"), "path,why\n");
    assert!(of("out", "run.toml").contains("\nkeep-boilerplate = true\n"));
    assert!(of("plain-out", "run.toml").contains("\nkeep-boilerplate = false  # by default\n"));
    let words = load(folder.join("out/model.safetensors")).unwrap().strings("vocabulary").unwrap().to_vec();
    assert!(words.iter().any(|word| word == "confidential"));
    assert_eq!(text("out").get("boilerplate"), None);
}

/// Documents that are added leave the lines out.
fn map_add(folder: &Path) {
    let known = |data: &str| {
        let add = ["map", "out/model.safetensors", "--add", data, "-o", "added", "--json"];
        let printed = stdout(folder, &add);
        let added = events(&printed, "added").into_iter();
        added.map(|event| event["known_share"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(known("with"), [1.0]);
    let refused =
        run(folder, &["map", "out/model.safetensors", "--add", "with", "--keep-boilerplate", "-o", "x"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn each_command_says_whether_it_leaves_them_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_texts(folder);
    let left_out = |command: &[&str], args: &[&str]| {
        let printed = stdout(folder, &[command, &["with", "--json"], args].concat());
        let lines = events(&printed, "boilerplate").into_iter();
        lines.map(|event| event["lines"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    for command in [
        &["fit", "-o", "m"][..],
        &["start", "-o", "s"],
        &["map", "-o", "t", "--model", "poisson-gtm", "--iterations", "3"],
        &["fit", "-o", "h", "--model", "rap"],
    ] {
        let small = if command.contains(&"--model") { &[][..] } else { &SMALL };
        assert_eq!(left_out(command, small), [2], "{command:?}");
        assert!(left_out(command, &[small, &["--keep-boilerplate"]].concat()).is_empty(), "{command:?}");
    }
}
