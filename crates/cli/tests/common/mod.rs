//! Runs the real program on data of its own.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
};

pub(crate) const TOPICS: [(&str, &str); 3] = [
    ("bread", "flour yeast oven butter sugar salt pepper garlic onion tomato basil olive"),
    ("boats", "sail mast anchor harbour wind tide wave rope knot rudder keel deck"),
    ("stars", "planet orbit galaxy telescope comet moon nebula eclipse mars venus meteor crater"),
];
/// Documents of each topic.
pub(crate) const EACH: usize = 30;

/// A made-up document.
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) label: &'static str,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Documents of three topics, the same on every run; sorted by label, then number.
pub(crate) fn made() -> Vec<Made> {
    let mut state = 1u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut all = Vec::new();
    for (topic, &(label, words)) in TOPICS.iter().enumerate() {
        let (words, others): (Vec<_>, Vec<_>) =
            (words.split(' ').collect(), TOPICS[(topic + 1) % 3].1.split(' ').collect::<Vec<_>>());
        // The first of each topic is mended below, so that titles need quoting.
        for number in 0..EACH {
            let mut text = String::new();
            for _ in 0..20 {
                let word = if next(10) == 0 { others[next(others.len())] } else { words[next(words.len())] };
                text.push_str(word);
                text.push(' ');
            }
            let title = if number == 0 {
                format!("Of {label}, \"the first\"")
            } else {
                format!("Of {label} {number}")
            };
            all.push(Made { id: format!("{label}-{number:02}"), label, title, text });
        }
    }
    all
}

pub(crate) fn csv(separator: char) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut lines = vec![["id", "label", "title", "text"].join(&separator.to_string())];
    for Made { id, label, title, text } in made() {
        let title = if separator == '\t' { title } else { quoted(&title) };
        lines.push([id, label.to_owned(), title, text].join(&separator.to_string()));
    }
    lines.join("\n") + "\n"
}

pub(crate) fn jsonl() -> String {
    let object = |Made { id, label, title, text }: Made| {
        serde_json::json!({ "id": id, "label": label, "title": title, "text": text }).to_string()
    };
    made().into_iter().map(object).collect::<Vec<_>>().join("\n") + "\n"
}

/// A docword file and its vocabulary.
pub(crate) fn docword() -> (String, String) {
    let mut vocabulary: Vec<&str> = TOPICS.iter().flat_map(|(_, words)| words.split(' ')).collect();
    vocabulary.sort_unstable();
    let mut entries = Vec::new();
    for (document, Made { text, .. }) in made().iter().enumerate() {
        let mut bag: BTreeMap<usize, usize> = BTreeMap::new();
        for word in text.split_whitespace() {
            *bag.entry(vocabulary.binary_search(&word).unwrap()).or_default() += 1;
        }
        entries.extend(bag.iter().map(|(word, count)| format!("{} {} {count}", document + 1, word + 1)));
    }
    let header = format!("{}\n{}\n{}\n", 3 * EACH, vocabulary.len(), entries.len());
    (header + &entries.join("\n") + "\n", vocabulary.join("\n") + "\n")
}

/// Text files in a folder for each label.
pub(crate) fn write_folder(folder: &Path) {
    for Made { id, label, title, text } in made() {
        fs::create_dir_all(folder.join(label)).unwrap();
        fs::write(folder.join(label).join(format!("{id}.txt")), format!("{title}\n\n{text}\n")).unwrap();
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The program, run in a folder.
pub(crate) fn countgrid(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countgrid"));
    command.current_dir(folder).args(args);
    command
}

pub(crate) fn run(folder: &Path, args: &[&str]) -> Output {
    countgrid(folder, args).output().unwrap()
}

/// Standard output of a run that succeeds.
pub(crate) fn stdout(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{args:?}: {printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// Every file and folder below, with the contents of files.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
            all.insert(path, Vec::new());
        } else {
            let bytes = fs::read(&path).unwrap();
            all.insert(path, bytes);
        }
    }
    all
}

/// The same of a map, without its options, among which is the folder.
pub(crate) fn results(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = contents(folder);
    assert!(all.remove(&folder.join("run.toml")).is_some());
    all
}

/// The rows of a CSV file by column name.
pub(crate) fn table(csv: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(csv.as_bytes()).deserialize().map(Result::unwrap).collect()
}

/// Share of documents whose label is that of most of their neighbours, each weighted by distance on the torus.
pub(crate) fn separation(rows: &[BTreeMap<String, String>], extents: [i64; 2]) -> f64 {
    let nonempty: Vec<_> = rows.iter().filter(|row| !row["x0"].is_empty()).collect();
    let at = |row: &BTreeMap<String, String>| -> [i64; 2] { ["x0", "x1"].map(|x| row[x].parse().unwrap()) };
    let right = nonempty.iter().enumerate().filter(|&(number, row)| {
        let mut votes: BTreeMap<&str, f64> = BTreeMap::new();
        for (other, neighbour) in nonempty.iter().enumerate() {
            let (a, b) = (at(row), at(neighbour));
            let squared: i64 = (0..2)
                .map(|d| (a[d] - b[d]).rem_euclid(extents[d]))
                .zip(extents)
                .map(|(away, extent)| away.min(extent - away).pow(2))
                .sum();
            if other != number {
                *votes.entry(&neighbour["label"]).or_default() += (-squared as f64 / 4.0).exp();
            }
        }
        votes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).is_some_and(|(label, _)| label == row["label"])
    });
    right.count() as f64 / nonempty.len() as f64
}

/// What a run with `--json` printed of one kind.
pub(crate) fn events(printed: &str, kind: &str) -> Vec<serde_json::Value> {
    let all = printed.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    all.filter(|event| event["event"] == kind).collect()
}

/// The words and the distributions of a grid's model.
pub(crate) fn words_and_cells(model: &Path) -> impl PartialEq + use<> {
    let model = countgrid_io::load(model).unwrap();
    (model.strings("vocabulary").unwrap().to_vec(), model.table("pi").unwrap().clone())
}

/// A number that an environment variable gives, or this one: how long and from which seed a campaign runs.
pub(crate) fn setting(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| {
        text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a whole number"))
    })
}
