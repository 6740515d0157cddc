//! Options and commands that describe themselves, and those of words.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn countgrid(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_countgrid")).args(args).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn completions_and_manuals_name_every_command() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = countgrid(folder.path(), &["completions", shell]);
        let script = text(&output.stdout);
        assert!(
            output.status.success() && script.contains("crossval") && script.contains("max-words"),
            "{shell}"
        );
    }
    // A shell takes the script as it is.
    if let Ok(bash) = Command::new("bash").arg("--version").output()
        && bash.status.success()
    {
        let script = countgrid(folder.path(), &["completions", "bash"]).stdout;
        fs::write(folder.path().join("countgrid.bash"), script).unwrap();
        let complete = "source ./countgrid.bash && COMP_WORDS=(countgrid ma) COMP_CWORD=1 && _countgrid countgrid ma countgrid && \
                        echo \"${COMPREPLY[@]}\"";
        let output = Command::new("bash").args(["-c", complete]).current_dir(&folder).output().unwrap();
        assert_eq!(text(&output.stdout).trim(), "map man", "{}", text(&output.stderr));
    }
    let page = text(&countgrid(folder.path(), &["man"]).stdout);
    assert!(page.starts_with(".ie") && page.contains("crossval"), "{page}");
    let page = text(&countgrid(folder.path(), &["man", "map"]).stdout);
    assert!(page.contains(".TH countgrid\\-map") || page.contains(".TH countgrid-map"), "{page}");
    assert!(page.contains("max\\-words"));
    let refused = countgrid(folder.path(), &["man", "maps"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("there is no command `maps`") && text(&refused.stderr).contains("map")
    );
}

#[test]
fn languages_are_told_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let german = "Die Ameisen folgen der Spur, die andere Ameisen vor ihnen zum Futter gelegt haben.";
    let english = "The ants follow the trail that other ants have left before them on their way to the food.";
    let row = |n: usize| format!("{n},\"{}\"\n", if n.is_multiple_of(4) { english } else { german });
    fs::write(folder.path().join("a.csv"), format!("id,text\n{}", (0..12).map(row).collect::<String>()))
        .unwrap();
    let fit = [
        "fit",
        "a.csv",
        "--grid",
        "4x4",
        "--window",
        "2x2",
        "--iterations",
        "2",
        "--max-share",
        "1",
        "-o",
        "m",
    ];
    let output = countgrid(folder.path(), &fit);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("languages 9 German, 3 English\n"), "{}", text(&output.stdout));
    let places = text(&countgrid(folder.path(), &["embed", "m", "a.csv"]).stdout);
    let tokens = |line: usize| {
        places.lines().nth(line).unwrap().rsplit(',').skip(6).take(2).collect::<Vec<_>>().join(" ")
    };
    // The words of each that are no stop words of its language: Ameisen folgen Spur Ameisen Futter gelegt.
    assert_eq!((tokens(1), tokens(2)), ("7 7".to_owned(), "6 6".to_owned()), "{places}");
    let of = |language: &str| countgrid(folder.path(), &[&fit[..], &["--language", language]].concat());
    assert!(text(&of("en").stdout).contains("languages 12 English\n"));
    assert!(text(&of("german").stdout).contains("languages 12 German\n"));
    let refused = of("klingon");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("`klingon` is no language that is known"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn labels_by_level_are_of_folders() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), "id,text\n1,red ants\n2,blue ants\n3,red sky\n").unwrap();
    let refused = countgrid(folder.path(), &["fit", "a.csv", "--label-depth", "1", "-o", "m"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("has no folders to take labels from"),
        "{}",
        text(&refused.stderr)
    );
}
