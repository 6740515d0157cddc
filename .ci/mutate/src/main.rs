//! Writes the sources of a crate with all their mutants, each behind a switch of `mutant_switch`, into a copy of its tree.
//!
//! Reads from standard input `{"from": FOLDER, "to": FOLDER, "mutants": [...]}`, mutants as `cargo mutants --list --json` gives them.
//! Writes for each mutant, in their order, either `{"number", "const_fn", "file", "change": [START, END], "site": [START, END]}`, with
//! places in bytes of what it has written, or `{"reason"}`, which says why there is no switch.

mod places;
mod rewrite;

use places::{Place, byte_at, places};
use proc_macro2::LineColumn;
use rewrite::{Change, changed, rewrite};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::ops::Range;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let input: Value = serde_json::from_reader(std::io::stdin())?;
    let folder = |name: &str| input[name].as_str().map(Path::new).ok_or(format!("`{name}` is no folder"));
    let (from, to) = (folder("from")?, folder("to")?);
    let mutants = input["mutants"].as_array().ok_or("`mutants` is no list")?;
    let mut files = BTreeMap::<&str, Vec<(usize, &Value)>>::new();
    for (index, mutant) in mutants.iter().enumerate() {
        files
            .entry(mutant["file"].as_str().ok_or("a mutant without its file")?)
            .or_default()
            .push((index, mutant));
    }
    let (mut answers, mut next) = (vec![Value::Null; mutants.len()], 1);
    for (file, mutants) in files {
        let text = std::fs::read_to_string(from.join(file))?;
        let new =
            switched(&text, &mutants, &mut next, &mut answers).map_err(|error| format!("{file}: {error}"))?;
        for (index, _) in mutants {
            if answers[index]["reason"].is_null() {
                answers[index]["file"] = json!(file);
            }
        }
        let path = to.join(file);
        std::fs::create_dir_all(path.parent().unwrap_or(to))?; // every file of a folder may have mutants
        std::fs::write(path, new)?;
    }
    serde_json::to_writer(std::io::stdout(), &answers)?;
    Ok(())
}

/// The text with its mutants, each with its index, and the answer for each.
fn switched(
    text: &str,
    mutants: &[(usize, &Value)],
    next: &mut u32,
    answers: &mut [Value],
) -> Result<String, Box<dyn Error>> {
    let places = places(&syn::parse_file(text)?);
    let mut changes = Vec::new();
    for &(index, mutant) in mutants {
        let out = bytes(text, &mutant["span"]).ok_or("a mutant outside of its file")?;
        let genre = mutant["genre"].as_str().unwrap_or_default();
        let replacement = mutant["replacement"].as_str().ok_or("a mutant without a replacement")?;
        match places.get(&(genre, out.start)) {
            None => answers[index] = json!({"reason": "not found"}),
            Some(Err(reason)) => answers[index] = json!({"reason": reason}),
            Some(Ok(Place { form, range, const_fn })) => {
                let change = Change { index, form: *form, range: range.clone(), out, replacement };
                if *form == places::Form::Value
                    && syn::parse_str::<syn::Expr>(&changed(text, &change)).is_err()
                {
                    answers[index] = json!({"reason": "does not parse"});
                } else {
                    answers[index] = json!({"const_fn": const_fn});
                    changes.push(change);
                }
            }
        }
    }
    let (new, written) = rewrite(text, changes, next);
    for place in written {
        answers[place.index]["number"] = json!(place.number);
        answers[place.index]["change"] = json!([place.change.start, place.change.end]);
        answers[place.index]["site"] = json!([place.site.start, place.site.end]);
    }
    Ok(new)
}

fn bytes(text: &str, span: &Value) -> Option<Range<usize>> {
    let byte = |end: &str| {
        let number = |name: &str| span[end][name].as_u64().map(|number| number as usize);
        byte_at(text, LineColumn { line: number("line")?, column: number("column")? })
    };
    Some(byte("start")?..byte("end")?)
}
