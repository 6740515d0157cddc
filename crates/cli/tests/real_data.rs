//! Posts of three newsgroups, if they are there.

use crate::common;

use std::{io::Write, path::Path};

use common::{separation, stdout, table};

#[test]
fn three_newsgroups_separate() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/news-20-same");
    if !data.exists() {
        // Not captured, unlike what `eprintln!` writes.
        writeln!(std::io::stderr(), "three_newsgroups_separate: SKIPPED, no {}", data.display()).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = data.to_str().unwrap();
    let small = ["--grid", "16x16", "--window", "4x4", "--max-words", "800", "--iterations", "15"];
    let printed = stdout(folder.path(), &[&["map", data], &small[..]].concat());
    assert!(printed.contains("2016 documents") && printed.contains("3 labels"), "{printed}");
    let rows = table(&stdout(folder.path(), &["embed", "model.safetensors", data, "--quiet"]));
    assert_eq!(rows.len(), 2016);
    // Chance is 0.34. Fits of other seeds reach 0.65 to 0.75.
    let right = separation(&rows, [16, 16]);
    writeln!(std::io::stderr(), "three_newsgroups_separate: {right:.3} of the posts lie among their group")
        .unwrap();
    assert!(right > 0.6, "{right}");
}
