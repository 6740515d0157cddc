//! From documents in every form to a page and a model.

use crate::common;

use std::{fs, path::Path};

use common::{EACH, contents, csv, docword, gzip, jsonl, run, stdout, table, write_folder};
use countgrid_io::{TableData, load};
use serde_json::Value;

const FAST: [&str; 4] = ["--iterations", "10", "--seed", "7"];

fn map(folder: &Path, args: &[&str]) -> String {
    stdout(folder, &[&["map"], args, &FAST[..]].concat())
}

#[test]
fn a_folder_becomes_a_page_and_a_model() {
    let folder = tempfile::tempdir().unwrap();
    write_folder(&folder.path().join("texts"));
    let printed = map(folder.path(), &["texts", "--output", "out"]);
    for part in ["90 documents", "3 labels", "40 words", "10 iterations", "bound per token -", "map.html"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let written: Vec<_> = contents(&folder.path().join("out")).into_keys().collect();
    let files = ["map.html", "map.png", "map.svg", "model.safetensors", "places.csv", "run.toml"];
    assert_eq!(written, files.map(|name| folder.path().join("out").join(name)));

    let page = fs::read_to_string(folder.path().join("out/map.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for part in ["<title>texts", "bread", "telescope", "Of boats 3"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains(&folder.path().display().to_string()), "no path of this machine");

    let model = load(folder.path().join("out/model.safetensors")).unwrap();
    let words = model.strings("vocabulary").unwrap();
    assert!(words.contains(&"yeast".to_owned()));
    let pi = model.table("pi").unwrap();
    assert_eq!(pi.shape, [words.len(), 8, 8]); // 90 documents: the smallest grid
    let TableData::F32(entries) = &pi.data else { panic!("f32 unless asked for") };
    for cell in 0..64 {
        let sum: f32 = entries.iter().skip(cell).step_by(64).sum();
        assert!((sum - 1.0).abs() < words.len() as f32 * f32::EPSILON, "{sum}"); // a rounding an entry
    }
    assert_eq!(model.table("prior").unwrap().shape, [8, 8]);
    assert_eq!(model.table("window").unwrap().data, TableData::U32(vec![2, 2]));
}

#[test]
fn places_and_pictures_come_with_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("made.csv"), csv(',')).unwrap();
    map(path, &["made.csv", "-o", "out"]);
    let table = stdout(path, &["embed", "out/model.safetensors", "made.csv", "--quiet"]);
    assert!(fs::read_to_string(path.join("out/places.csv")).unwrap() == table, "as `embed` has them");
    assert_eq!(table.lines().count(), 3 * EACH + 1);
    let svg = fs::read_to_string(path.join("out/map.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("made"));
    for (topic, _) in common::TOPICS {
        assert!(svg.contains(&format!("{topic} ({EACH})")), "{topic}");
    }
    assert!(fs::read(path.join("out/map.png")).unwrap().starts_with(b"\x89PNG"));
}

/// The data that a page has, as JSON.
fn data_of(page: &str) -> Value {
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script").unwrap().0;
    serde_json::from_str(data).unwrap()
}

#[test]
fn every_column_reaches_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let made = csv(',');
    let mut lines = made.lines();
    let mut rows = format!("{},sent,pages,journal,url\n", lines.next().unwrap());
    for (n, line) in lines.enumerate() {
        let (day, pages) = (1 + n % 28, if n % 9 == 4 { String::new() } else { (n % 13).to_string() });
        rows += &format!(
            "{line},2021-03-{day:02},{pages},{},https://example.org/{n}\n",
            ["Acta", "Annals"][n % 2]
        );
    }
    fs::write(path.join("made.csv"), &rows).unwrap();
    let columns = |args: &[&str]| {
        map(path, &[&["made.csv", "-o", "out"], args].concat());
        data_of(&fs::read_to_string(path.join("out/map.html")).unwrap())["columns"].clone()
    };
    let names = |columns: &Value| -> Vec<String> {
        columns
            .as_array()
            .into_iter()
            .flatten()
            .map(|column| format!("{} {}", column["name"], column["kind"]))
            .collect()
    };
    let all = columns(&[]);
    let expected = [r#""sent" "day""#, r#""pages" "number""#, r#""journal" "category""#, r#""url" "text""#];
    assert_eq!(names(&all), expected);
    assert_eq!(
        (&all[0]["values"][1], &all[1]["values"][5], &all[1]["values"][4]),
        (&18_688.into(), &5.into(), &Value::Null)
    );
    assert_eq!((&all[2]["names"], &all[2]["values"][3]), (&serde_json::json!(["Acta", "Annals"]), &1.into()));
    assert_eq!(all[3]["values"][7], "https://example.org/7");
    assert!(columns(&["--columns", "none"]).is_null());
    assert_eq!(names(&columns(&["--columns", "journal, sent"])), [expected[0], expected[2]]);
    let refused = run(path, &["map", "made.csv", "-o", "out", "--columns", "jurnal"]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        message.contains("there is no column `jurnal`")
            && message.contains("`sent`, `pages`, `journal`, `url`"),
        "{message}"
    );
    // Of points too; and an id that is an address is a link.
    map_of_points(path);
    let points = data_of(&fs::read_to_string(path.join("points/map.html")).unwrap());
    assert_eq!(names(&points["columns"]), expected);
    fs::write(path.join("made.csv"), rows.replacen("id,", "key,", 1).replacen(",url\n", ",link\n", 1))
        .unwrap();
    let linked = columns(&["--id-column", "link", "--columns", "sent"]);
    assert_eq!(names(&linked), [r#""sent" "day""#, r#""link" "text""#]);
    assert_eq!(linked[1]["values"][2], "https://example.org/2");
}

fn map_of_points(folder: &Path) {
    let args = [
        "map",
        "made.csv",
        "-o",
        "points",
        "--model",
        "zip-gtm",
        "--points",
        "4x4",
        "--iterations",
        "3",
        "--quiet",
    ];
    stdout(folder, &args);
}

#[test]
fn every_form_of_a_collection_gives_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    write("made.csv", csv(',').as_bytes());
    write("made.tsv", csv('\t').as_bytes());
    write("made.jsonl", jsonl().as_bytes());
    write("gz/made.csv.gz", &gzip(csv(',').as_bytes()));
    write("renamed/made.csv", csv(',').replacen("id,label,title,text", "a,b,c,d", 1).as_bytes());
    let files = |input: &[&str]| {
        map(folder.path(), input);
        ["map.html", "model.safetensors"].map(|name| fs::read(folder.path().join(name)).unwrap())
    };
    let expected = files(&["made.csv"]);
    for input in ["made.tsv", "made.jsonl", "gz/made.csv.gz", "gz"] {
        let found = files(&[input, "--title", "made"]);
        assert!(found == expected, "{input}");
    }
    let columns = ["--id-column", "a", "--label-column", "b", "--title-column", "c", "--text-column", "d"];
    let found = files(&[&["renamed/made.csv"], &columns[..]].concat());
    assert!(found == expected, "named columns");
    assert!(files(&["made.csv", "--inner-passes", "2"]) != expected, "another fit");
}

#[test]
fn docword_counts_become_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let (counts, vocabulary) = docword();
    fs::write(folder.path().join("docword.made.txt.gz"), gzip(counts.as_bytes())).unwrap();
    fs::write(folder.path().join("vocab.made.txt"), &vocabulary).unwrap();
    let printed = map(folder.path(), &["docword.made.txt.gz"]);
    assert!(printed.contains("90 documents") && printed.contains("36 words, 1,800 tokens"), "{printed}");
    let page = fs::read_to_string(folder.path().join("map.html")).unwrap();
    assert!(page.contains("document 90"), "bags are called by their numbers");
    let words = load(folder.path().join("model.safetensors")).unwrap().strings("vocabulary").unwrap();
    assert_eq!(words, vocabulary.lines().collect::<Vec<_>>());

    // Another place for the vocabulary, and fewer words of it.
    fs::rename(folder.path().join("vocab.made.txt"), folder.path().join("words")).unwrap();
    let printed = map(folder.path(), &["docword.made.txt.gz", "--vocabulary", "words", "--max-words", "30"]);
    assert!(printed.contains("30 words"), "{printed}");
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    for precision in ["f32", "f64"] {
        let files = |out: &str| {
            let args = ["made.csv", "-o", out, "--precision", precision, "--restarts", "2", "--learn-prior"];
            map(folder.path(), &args);
            ["map.html", "model.safetensors", "map.svg", "map.png", "places.csv"]
                .map(|name| fs::read(folder.path().join(out).join(name)).unwrap())
        };
        assert!(files("first") == files("second"), "{precision}");
    }
}

#[test]
fn every_layer_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path());
    let layers = ["--grid", "3x4x4", "--window", "1x2x2"];
    let printed = map(folder.path(), &[&["."], &layers[..]].concat());
    let written: Vec<_> = printed.lines().filter(|line| line.starts_with("wrote")).collect();
    assert_eq!(written.len(), 3 * 3 + 3, "{printed}");
    let page = |layer: usize| fs::read_to_string(folder.path().join(format!("map-{layer}.html"))).unwrap();
    let pages = [1, 2, 3].map(page);
    // Each document is on one of the pages, and each word on one at least.
    for topic in common::TOPICS {
        for number in 1..EACH {
            let title = format!("\"Of {} {number}\"", topic.0);
            let on = pages.iter().filter(|page| page.contains(&title));
            assert_eq!(on.count(), 1, "{title}");
        }
        for word in topic.1.split(' ') {
            assert!(pages.iter().any(|page| page.contains(word)), "{word}");
        }
    }
    for (layer, page) in pages.iter().enumerate() {
        assert!(page.contains(&format!(", layer {} of 3", layer + 1)));
        assert!(page.contains("of 90"));
    }
    let model = load(folder.path().join("model.safetensors")).unwrap();
    assert_eq!(model.table("prior").unwrap().shape, [3, 4, 4]);
    assert!(!folder.path().join("map.html").exists());
    // They are not read as texts, whatever is fitted next.
    assert!(map(folder.path(), &["."]).contains("90 documents"));
}

#[test]
fn results_beside_a_table_do_not_hide_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let first = map(folder.path(), &["."]);
    let again = map(folder.path(), &["."]);
    assert_eq!(first.lines().next(), again.lines().next());
    assert!(first.contains("90 documents"), "{first}");
}

#[test]
fn results_beside_the_texts_are_not_read_as_texts() {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path());
    map(folder.path(), &["."]);
    let first = contents(folder.path());
    map(folder.path(), &["."]);
    assert!(contents(folder.path()) == first);
}

#[test]
fn without_a_path_the_doc_comments_of_crates_are_read() {
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("registry/src/index/ants-1.2.0/src");
    fs::create_dir_all(&source).unwrap();
    let comment = |n| {
        format!(
            "/// Item {n} is about ants: every ant follows the trail that ants before it have left on the \
                 ground, and leaves a trail of its own, so that short paths win over the long.\npub fn f{n}() {{}}\n"
        )
    };
    fs::write(source.join("lib.rs"), (0..9).map(comment).collect::<String>()).unwrap();
    let args = [&["map", "--max-share", "1"], &FAST[..]].concat();
    let output = common::countgrid(home.path(), &args).env("CARGO_HOME", home.path()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("9 documents"), "{printed}");
    assert!(fs::read_to_string(home.path().join("map.html")).unwrap().contains("ants"));
}

#[test]
fn json_is_an_object_per_line_and_quiet_is_silent() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let printed = map(folder.path(), &["made.csv", "--json"]);
    let events: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    for name in ["read", "text", "words", "grid", "fitted", "summary"] {
        assert_eq!(count(name), 1, "{name}: {printed}");
    }
    assert_eq!((count("iteration"), count("wrote")), (11, 6)); // the start, and ten updates
    let summary = events.last().unwrap();
    assert_eq!((&summary["event"], &summary["iterations"]), (&"summary".into(), &10.into()));
    assert_eq!(summary["documents"], 3 * EACH);
    assert!(summary["bound_per_token"].as_f64().unwrap() < 0.0);

    let output = run(folder.path(), &[&["map", "made.csv", "--quiet"], &FAST[..]].concat());
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn a_ring_is_a_map_too() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let printed = map(folder.path(), &["made.csv", "--grid", "24", "--window", "4"]);
    assert!(printed.contains("24, window 4"), "{printed}");
    assert_eq!(load(folder.path().join("model.safetensors")).unwrap().table("prior").unwrap().shape, [24]);
}

#[test]
fn who_stops_listening_stops_no_fit() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let mut command = common::countgrid(folder.path(), &[&["map", "made.csv"], &FAST[..]].concat());
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(folder.path().join("map.html").exists());
}

#[test]
fn texts_that_a_spreadsheet_would_compute_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let made = csv(',').replacen("bread-01", "=1+1", 1).replacen("bread-02", "-3", 1);
    fs::write(folder.path().join("made.csv"), made).unwrap();
    stdout(
        folder.path(),
        &["fit", "made.csv", "-o", "m.st", "--grid", "4x4", "--window", "2x2", "--iterations", "2"],
    );
    let ids = |args: &[&str]| -> Vec<String> {
        let embedded = stdout(folder.path(), &[&["embed", "m.st", "made.csv", "--quiet"], args].concat());
        table(&embedded).into_iter().take(3).map(|mut row| row.remove("id").unwrap()).collect()
    };
    assert_eq!(ids(&[]), ["bread-00", "'=1+1", "-3"]);
    assert_eq!(ids(&["--raw-csv"]), ["bread-00", "=1+1", "-3"]);
}
