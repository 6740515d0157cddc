//! The commands of the guide, `docs/guide`, on small made-up documents.

use crate::common;

use std::{fs, path::Path};

use common::{csv, stdout};

/// How commands begin that are not the program's.
const OTHERS: [&str; 2] = ["rustup ", "examples/"];

/// `papers.csv`, `new-papers.csv` and `letters.csv`.
fn write_data(folder: &Path) {
    let papers = csv(',');
    let few: Vec<&str> = papers.lines().take(6).collect();
    fs::write(folder.join("papers.csv"), &papers).unwrap();
    fs::write(folder.join("new-papers.csv"), few.join("\n") + "\n").unwrap();
    let mut letters = String::from("label,sequence\n");
    for shift in 0..12 {
        // As often each, in longer and in shorter runs.
        let text = |run: usize| (shift..shift + 24).map(|at| ['a', 'c'][at / run % 2]).collect::<String>();
        letters += &format!("slow,{}\nfast,{}\n", text(6), text(1));
    }
    fs::write(folder.join("letters.csv"), letters).unwrap();
}

/// The lines of the blocks of sh.
fn commands(page: &str) -> Vec<&str> {
    page.split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.strip_prefix("sh\n"))
        .flat_map(str::lines)
        .collect()
}

/// The commands of each page in a folder of its own.
#[test]
fn commands_of_the_guide_work() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut run = 0;
    for entry in fs::read_dir(guide).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let page = fs::read_to_string(&path).unwrap();
        let folder = tempfile::tempdir().unwrap();
        write_data(folder.path());
        for command in commands(&page) {
            let command = command.split('#').next().unwrap_or_default();
            if OTHERS.iter().any(|other| command.starts_with(other)) {
                continue;
            }
            let words: Vec<&str> = command.split_whitespace().collect();
            assert_eq!(words.first(), Some(&"countgrid"), "{}: {command}", path.display());
            stdout(folder.path(), &words[1..]);
            run += 1;
        }
    }
    assert!(run > 10, "{run} commands were found");
}
