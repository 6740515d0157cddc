//! Folders as people have them: other encodings, damaged files, documents of other kinds.

use crate::common;

use std::fs;

use common::{Made, contents, countgrid, csv, made, run, stdout, write_folder};
use countgrid_io::load;
use serde_json::Value;

#[test]
fn web_pages_give_the_words_of_their_texts() {
    let folder = tempfile::tempdir().unwrap();
    for Made { id, label, title, text } in made() {
        for (form, content) in [
            ("plain", format!("{title}\n\n{text}\n")),
            (
                "pages",
                format!(
                    "<!DOCTYPE html><html><head><title>{title}</title><style>.menu {{}}</style></head><body>\
                     <nav class=menu>imprint</nav><main><h1>{title}</h1><p>{}</p></main>\
                     <script>const tracking = '<p>tracking</p>';</script></body></html>",
                    text.trim().replace(' ', "</i> <i>")
                ),
            ),
        ] {
            fs::create_dir_all(folder.path().join(form).join(label)).unwrap();
            fs::write(folder.path().join(form).join(label).join(format!("{id}.txt")), content).unwrap();
        }
    }
    let model = |form: &str| {
        let printed =
            stdout(folder.path(), &["map", form, "--output", form, "--iterations", "5", "--title", "T"]);
        let model = load(folder.path().join(form).join("model.safetensors")).unwrap();
        (printed, model.strings("vocabulary").unwrap().to_vec(), model.table("pi").unwrap().clone())
    };
    let ((_, words, pi), (printed, of_pages, pi_of_pages)) = (model("plain"), model("pages"));
    assert!(printed.contains("90 of them HTML"), "{printed}");
    assert_eq!((words, pi), (of_pages, pi_of_pages));
}

#[test]
fn encodings_do_not_matter_and_what_cannot_be_read_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    write_folder(&plain);
    // A word with a letter beyond ASCII in each text.
    let texts: Vec<_> = contents(&plain).into_keys().filter(|path| path.is_file()).collect();
    assert_eq!(texts.len(), made().len());
    let mixed = folder.path().join("mixed");
    for (n, path) in texts.iter().enumerate() {
        let text = fs::read_to_string(path).unwrap() + ["\nKäse ", "\nBrötchen "][n % 2];
        fs::write(path, &text).unwrap();
        let to = mixed.join(path.strip_prefix(&plain).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let bytes = match n % 3 {
            0 => text.chars().map(|c| c as u8).collect(), // Latin-1
            1 => format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect(),
            _ => text.into_bytes(),
        };
        fs::write(to, bytes).unwrap();
    }
    let of = |text: &str| folder.path().join("mixed/boats").join(text);
    fs::write(of("=paper.pdf"), b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n").unwrap();
    fs::write(of("letter.docx"), b"PK\x03\x04\x14\0\x06\0").unwrap();
    fs::write(of("damaged.txt"), "Ruder, Mast, Käse und Brötchen ".bytes().chain([0xff]).collect::<Vec<_>>())
        .unwrap();
    fs::write(of("photo.jpg"), b"\xff\xd8\xff\xe0\0\x10JFIF").unwrap();
    fs::write(of("bomb.txt.gz"), b"\x1f\x8b\x08\0\0\0\0\0").unwrap();

    let map = |args: &[&str]| {
        stdout(folder.path(), &[&["map"], args, &["--iterations", "5", "--title", "T"]].concat())
    };
    map(&["plain", "--output", "of-plain"]);
    let printed = map(&["mixed", "--output", "of-mixed"]);
    for part in [
        "90 documents, 3 labels",
        "30 of them in UTF-16BE",
        "30 of them in windows-1252",
        "4 unreadable",
        "1 binary",
        "note      4 files or folders could not be read, such as ",
        "--strict stops there",
        "skipped.csv",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    // The same model, whatever the encodings.
    let tables = |name: &str| {
        let model = load(folder.path().join(name).join("model.safetensors")).unwrap();
        (model.strings("vocabulary").unwrap().to_vec(), model.table("pi").unwrap().clone())
    };
    let (vocabulary, _) = tables("of-mixed");
    assert!(vocabulary.contains(&"käse".to_owned()) && vocabulary.contains(&"brötchen".to_owned()));
    assert_eq!(tables("of-plain"), tables("of-mixed"));
    assert!(!folder.path().join("of-plain/skipped.csv").exists());
    let list = fs::read_to_string(folder.path().join("of-mixed/skipped.csv")).unwrap();
    assert_eq!(
        list,
        "path,why\n\
         boats/=paper.pdf,damaged PDF: it ends before the table of its objects\n\
         boats/bomb.txt.gz,the gzip stream ends too early\n\
         boats/damaged.txt,not UTF-8 at byte 33\n\
         boats/letter.docx,damaged ZIP: invalid Zip archive: Could not find EOCD\n\
         boats/photo.jpg,no text: it has control characters\n"
    );

    let refused = run(folder.path(), &["map", "mixed", "--strict", "--output", "strict"]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(
        message.contains("paper.pdf: damaged PDF: it ends before the table of its objects\nremedy: "),
        "{message}"
    );
    assert!(!folder.path().join("strict").exists());

    // The list of an earlier run is replaced once it is no longer true.
    for name in ["=paper.pdf", "letter.docx", "damaged.txt", "photo.jpg", "bomb.txt.gz"] {
        fs::remove_file(of(name)).unwrap();
    }
    let lines = map(&["mixed", "--output", "of-mixed", "--json"]);
    let read: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((read["unreadable"].as_u64(), read["encodings"]["UTF-16BE"].as_u64()), (Some(0), Some(30)));
    assert_eq!(fs::read_to_string(folder.path().join("of-mixed/skipped.csv")).unwrap(), "path,why\n");
}

#[cfg(unix)]
#[test]
fn a_dash_is_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let options = ["--iterations", "3", "--title", "T", "--quiet"];
    stdout(folder, &[&["map", "made.csv", "-o", "file"][..], &options].concat());
    let table = fs::File::open(folder.join("made.csv")).unwrap();
    let piped = countgrid(folder, &[&["map", "-", "-o", "pipe"][..], &options].concat())
        .stdin(table)
        .output()
        .unwrap();
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
    let tables = |name: &str| {
        let model = load(folder.join(name).join("model.safetensors")).unwrap();
        (model.strings("vocabulary").unwrap().to_vec(), model.table("pi").unwrap().clone())
    };
    assert_eq!(tables("file"), tables("pipe"));
    let table = fs::File::open(folder.join("made.csv")).unwrap();
    let embedded =
        countgrid(folder, &["embed", "file/model.safetensors", "-"]).stdin(table).output().unwrap();
    assert_eq!(
        String::from_utf8(embedded.stdout).unwrap(),
        fs::read_to_string(folder.join("file/places.csv")).unwrap()
    );
}

#[test]
fn several_paths_are_as_one_folder_that_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    for (n, text) in ["red ants eat", "blue ants walk", "red sky dust", "blue sky rain"].iter().enumerate() {
        let own = folder.path().join("data").join(["a", "b"][n % 2]);
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join(format!("{n}.txt")), text).unwrap();
    }
    std::fs::write(folder.path().join("data/a/x.jpg"), b"\xff\xd8\xff\xe0\0\x10JFIF").unwrap();
    let map = |paths: &[&str], output: &str| {
        let rest = ["--iterations", "5", "--title", "T", "-o", output];
        stdout(folder.path(), &[&["map"], paths, &rest].concat());
    };
    map(&["data"], "one");
    map(&["data/a", "data/b"], "two");
    for name in ["model.safetensors", "places.csv", "map.html"] {
        let [one, two] = ["one", "two"].map(|of| std::fs::read(folder.path().join(of).join(name)).unwrap());
        assert!(one == two, "{name}");
    }
    let skipped = std::fs::read_to_string(folder.path().join("two/skipped.csv")).unwrap();
    assert!(skipped.contains("data/a/x.jpg"), "{skipped}");
}
