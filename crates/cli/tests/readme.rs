//! The commands of this crate's readme, on the documents that it shows.

use std::fs;
use std::process::Command;

/// What stands in the first block of a language of which `which` holds.
fn block<'a>(readme: &'a str, language: &str, which: impl Fn(&str) -> bool) -> &'a str {
    readme
        .split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'))
        .find(|(name, text)| *name == language && which(text))
        .unwrap_or_else(|| panic!("a block of {language}"))
        .1
}

#[test]
fn commands_of_the_readme_work() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("papers.jsonl"), block(&readme, "json", |_| true)).unwrap();
    let commands = block(&readme, "sh", |text| text.starts_with("countgrid "));
    assert_eq!(commands.lines().count(), 4);
    for command in commands.lines() {
        let words = command.split('#').next().unwrap_or_default().split_whitespace();
        let output = Command::new(env!("CARGO_BIN_EXE_countgrid"))
            .args(words.skip(1))
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    for file in ["map.html", "model.safetensors", "places.csv"] {
        assert!(fs::metadata(folder.path().join(file)).unwrap().len() > 0, "{file}");
    }
}
