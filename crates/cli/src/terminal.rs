//! What is printed for a reader.

use std::{
    fmt::{Display, Write as _},
    io::{self, Write as _},
};

use serde_json::Value;

use crate::failure::Failure;

/// `text` with its control characters but ends of lines written as Rust does, `\u{1b}`: names of files, labels and words come
/// from elsewhere, and a terminal would obey them.
pub(crate) fn escaped(text: impl Display) -> String {
    let text = text.to_string();
    if !text.contains(|c: char| c.is_control() && c != '\n') {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() && c != '\n' {
            let _infallible = write!(escaped, "{}", c.escape_debug());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Prints `text` to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write(&escaped(text))
}

/// Prints one object on a line of standard output.
pub(crate) fn print_json(object: &Value) -> Result<(), Failure> {
    write(&format!("{object}\n"))
}

/// Writes what the program has by itself to standard output, tabs and all.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)
}
