//! Texts with something around them: notebooks of Jupyter, and the front matter of Markdown.

use serde_json::Value;

use crate::error::Problem;

/// The text of a notebook: its cells of text and of code, without what was computed. None of what is no notebook.
pub(crate) fn notebook(text: &str) -> Option<Result<String, Problem>> {
    if !text.trim_start().starts_with('{') || !text.contains("\"nbformat\"") {
        return None;
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return Some(Err(Problem::Damaged { kind: "a notebook", what: error.to_string() })),
    };
    value.get("nbformat").filter(|version| version.is_u64())?;
    // Before version 4 the cells were in worksheets, and those of code had `input`.
    let sheets = value.get("worksheets").and_then(Value::as_array).into_iter().flatten();
    let cells = sheets.chain([&value]).filter_map(|of| of.get("cells")?.as_array()).flatten();
    let mut found = String::new();
    for cell in cells {
        let source = cell.get("source").or_else(|| cell.get("input"));
        match source {
            Some(Value::String(source)) => found.push_str(source),
            Some(Value::Array(lines)) => {
                lines.iter().filter_map(Value::as_str).for_each(|line| found.push_str(line))
            }
            _ => {}
        }
        found.push_str("\n\n");
    }
    Some(Ok(found))
}

/// Lines that front matter has at most.
const FRONT_MATTER: usize = 200;

/// The title in the front matter of a text, and what follows it: between a first line `---` and the next such line there are
/// keys with values, as in YAML. None of a text that has no such beginning.
pub(crate) fn front_matter(text: &str) -> Option<(Option<String>, &str)> {
    let mut rest = text.strip_prefix("---")?;
    rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut title = None;
    for _ in 0..FRONT_MATTER {
        let (line, after) = rest.split_once('\n')?;
        let line = line.trim_end();
        if matches!(line, "---" | "...") {
            return Some((title, after));
        }
        if !line.is_empty() && !line.starts_with([' ', '\t', '-', '#', ']', '}']) {
            let (key, value) = line.split_once(':')?;
            if key.eq_ignore_ascii_case("title") {
                let value = value.trim().trim_matches(['"', '\'']);
                title = Some(value.to_owned()).filter(|title| !title.is_empty());
            }
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{front_matter, notebook};

    #[test]
    fn cells_are_read_and_outputs_are_not() {
        let text = r##"{"cells": [{"cell_type": "markdown", "source": ["# Head\n", "text"]},
            {"cell_type": "code", "source": "x = 1", "outputs": [{"text": "no"}]}, {"cell_type": "raw"}, 7], "nbformat": 4}"##;
        let found = notebook(text).unwrap().unwrap();
        assert_eq!(found.split_whitespace().collect::<Vec<_>>(), ["#", "Head", "text", "x", "=", "1"]);
        let old = r#"{"worksheets": [{"cells": [{"input": ["a"]}, {"source": "b"}]}], "nbformat": 3}"#;
        assert_eq!(notebook(old).unwrap().unwrap().split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
        assert!(notebook("{\"nbformat\": 4, \"cells\": [").unwrap().is_err());
        assert!(notebook("{\"nbformat\": \"x\"}").is_none());
        assert!(notebook("a text about \"nbformat\"").is_none());
    }

    #[test]
    fn front_matter_gives_a_title() {
        let text = "---\ntitle: \"A: b\"\ntags:\n  - one\n- two\n\n# no\n---\nText\n";
        assert_eq!(front_matter(text), Some((Some("A: b".to_owned()), "Text\n")));
        assert_eq!(front_matter("---\r\na: 1\r\n...\r\nText"), Some((None, "Text")));
        for text in [
            "",
            "---",
            "---\nA sentence.\n---\n",
            "----\ntitle: a\n---\n",
            "---\ntitle: a\n",
            "--- a: b\n---\n",
        ] {
            assert_eq!(front_matter(text), None, "{text}");
        }
    }
}
