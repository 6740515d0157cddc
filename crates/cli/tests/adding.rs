//! Further documents on a map that exists.

use crate::common;

use std::fs;

use common::{csv, run, stdout};
use countgrid_map::{FieldKind, read_html};

const MAP: [&str; 6] = ["map", "made.csv", "-o", "map", "--grid", "8x8"];

#[test]
fn documents_are_added_without_moving_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    stdout(folder, &MAP);
    let new = "text,label,sent\nsail mast anchor wind zeppelin,boats,2021-03-05\nflour yeast oven butter,bread,2021-04-05\nzeppelin zeppelin,air,\n";
    fs::write(folder.join("new.csv"), new).unwrap();
    let printed = stdout(folder, &["map", "--add", "new.csv", "map/model.safetensors", "-o", "second"]);
    assert!(printed.contains("3 documents, 2 of them on the map; 72.7 % of their words"), "{printed}"); // 8 of 11
    let page = |name: &str| read_html(&fs::read_to_string(folder.join(name)).unwrap()).unwrap();
    let (before, after) = (page("map/map.html"), page("second/map.html"));
    assert_eq!(after.added, Some(before.documents.len()));
    assert_eq!(
        (&after.words, &after.regions, after.extents),
        (&before.words, &before.regions, before.extents)
    );
    assert_eq!(after.labels, [&before.labels[..], &["air".to_owned()]].concat());
    for (old, same) in before.documents.iter().zip(&after.documents) {
        assert_eq!((&same.title, &same.posterior, same.label), (&old.title, &old.posterior, old.label));
    }
    let names: Vec<&str> = after.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["sent", "added"]);
    assert_eq!(after.columns[1].kind, FieldKind::Categories(vec!["of the map".into(), "new".into()]));
    // Where `embed` puts them too.
    let places = stdout(folder, &["embed", "map/model.safetensors", "new.csv"]);
    assert_eq!(fs::read_to_string(folder.join("second/places.csv")).unwrap(), places);
    // The model is the same, so that more can be added.
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(bytes("map/model.safetensors") == bytes("second/model.safetensors"));
    fs::write(folder.join("more.csv"), "text\nplanet orbit galaxy\n").unwrap();
    stdout(folder, &["map", "--add", "more.csv", "second/model.safetensors", "-o", "third"]);
    let third = page("third/map.html");
    assert_eq!(
        (third.added, third.documents.len()),
        (Some(before.documents.len() + 3), before.documents.len() + 4)
    );
}

#[test]
fn what_cannot_be_added_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    stdout(folder, &MAP);
    let error = |arguments: &[&str]| {
        let output = run(folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    // No output is an input.
    let said = error(&["map", "--add", "made.csv", "map/model.safetensors", "-o", "map"]);
    assert!(
        said.contains("map.html") && said.contains("nothing that is read or written may be overwritten"),
        "{said}"
    );
    let said = error(&["map", "--add", "made.csv", "map/model.safetensors", "-o", "b", "--grid", "8x8"]);
    assert!(said.contains("--grid") && said.contains("cannot be used with"), "{said}");
    let said = error(&["map", "--add", "made.csv"]);
    assert!(said.contains("--add needs the model of a map"), "{said}");
    // The page of another run.
    stdout(folder, &["map", "made.csv", "-o", "other", "--seed", "2", "--grid", "8x8"]);
    fs::copy(folder.join("other/map.html"), folder.join("map/map.html")).unwrap();
    let said = error(&["map", "--add", "made.csv", "map/model.safetensors", "-o", "b"]);
    assert!(said.contains("page is that of another model"), "{said}");
    fs::write(folder.join("map/map.html"), "<p>no map</p>").unwrap();
    let said = error(&["map", "--add", "made.csv", "map/model.safetensors", "-o", "b"]);
    assert!(said.contains("map.html: there is no data of a map in it"), "{said}");
    assert!(!folder.join("b").exists());
    // Words that are not known are told of.
    stdout(folder, &MAP);
    fs::write(folder.join("strange.csv"), "text\nzeppelin airship\nballoon basket\n").unwrap();
    let output = run(folder, &["map", "--add", "strange.csv", "map/model.safetensors", "-o", "b"]);
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success() && said.contains("it tells little of these documents"), "{said}");
}

/// A model says which phrases it counts, so that new text is counted as the collection was, with `fit` and `embed`.
#[test]
fn phrases_of_a_model_are_found_in_new_text() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let row = |n: usize| match n % 2 {
        0 => format!("the hard drive of disk{} is full of blue file{}x\n", n % 5, n % 7),
        _ => format!("a drive by car{} lane{} and warm sun{}x\n", n % 5, n % 3, n % 7),
    };
    let texts: String = (0..60).map(row).collect();
    fs::write(folder.join("made.csv"), format!("text\n{texts}")).unwrap();
    let fit = ["map", "made.csv", "-o", "map", "--grid", "6x6", "--phrases", "auto"];
    stdout(folder, &fit);
    let file = fs::read(folder.join("map/model.safetensors")).unwrap();
    let text = String::from_utf8_lossy(&file);
    assert!(text.contains("hard drive") && text.contains(r#"phrases\":true"#));
    // The same places as those of the fit.
    let places = stdout(folder, &["embed", "map/model.safetensors", "made.csv"]);
    assert_eq!(fs::read_to_string(folder.join("map/places.csv")).unwrap(), places);
    fs::write(folder.join("new.csv"), "text\nhard drive\nhard and drive\n").unwrap();
    let rows = common::table(&stdout(folder, &["embed", "map/model.safetensors", "new.csv"]));
    assert_ne!(rows[0], rows[1]);
    let output = run(folder, &["map", "made.csv", "-o", "other", "--phrases", "some"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_document_is_placed_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    stdout(folder, &MAP);
    fs::write(folder.join("new.csv"), "id,title,text\nnew.html,Boats,Sail and mast. Anchor and wind.\n")
        .unwrap();
    fs::write(
        folder.join("new.html"),
        "<!DOCTYPE html><title>Boats</title><p>Sail and <b>mast</b>. <p>Anchor and wind.",
    )
    .unwrap();
    let places = |new: &str| stdout(folder, &["embed", "map/model.safetensors", new]);
    assert_eq!(places("new.html"), places("new.csv"));
    let printed = stdout(folder, &["map", "--add", "new.html", "map/model.safetensors", "-o", "second"]);
    assert!(printed.contains("1 documents, 1 of them on the map"), "{printed}");
}
