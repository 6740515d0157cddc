//! JSON lines and arrays: documents are objects.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::columns::{Columns, Named, Roles, TEXT};
use crate::document::{Document, TITLE, collected, truncate_text};
use crate::error::{Problem, ReadError, excerpt};
use crate::item::Item;
use crate::options::ReadOptions;
use crate::records::Records;

/// Reads one JSON object per line, or an array of objects over any lines; `file` is its name in messages.
///
/// The keys of the first object decide which of them hold text, title, label and id; those that hold an array
/// or an object do not count. Every object must have the text, as a string; title, label and id may be strings,
/// numbers, `true`, `false`, `null` or absent. Where
/// a title is missing the text's first words serve, where an id is missing the number of the document.
///
/// # Errors
/// Each with its line: what is not JSON, not an object, has no text or a value of another kind; a column that
/// is not there or not known; text that is not UTF-8; a line or element beyond the default [`Limits`](crate::Limits); an array that does not end; and no
/// object at all.
///
/// ```
/// use countgrid_io::{Columns, read_json_lines};
/// let lines = "{\"id\": 3, \"body\": \"One.\"}\n{\"id\": 4, \"body\": \"Two.\", \"extra\": []}\n";
/// let documents = read_json_lines(lines.as_bytes(), "a.jsonl", &Columns::default())?;
/// assert_eq!((documents[1].id.as_str(), documents[1].text.as_str()), ("4", "Two."));
/// let array = "[{\"id\": 3, \"body\": \"One.\"},\n {\"id\": 4, \"body\": \"Two.\"}]";
/// assert_eq!(read_json_lines(array.as_bytes(), "a.jsonl", &Columns::default())?, documents);
/// # Ok::<(), countgrid_io::ReadError>(())
/// ```
pub fn read_json_lines(
    reader: impl BufRead,
    file: impl AsRef<Path>,
    columns: &Columns,
) -> Result<Vec<Document>, ReadError> {
    let file = Arc::from(file.as_ref());
    let options = ReadOptions { columns: columns.clone(), ..ReadOptions::default() };
    collected(|visit| {
        each(reader, &file, &options, &mut |item| match item {
            Item::Document(document) => visit(document),
            _ => Ok(()),
        })
    })
}

/// Hands over one document after the other; returns the columns they were read from.
pub(crate) fn each<E: From<ReadError>>(
    reader: impl BufRead,
    file: &Arc<Path>,
    options: &ReadOptions,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<Named, E> {
    let mut records = Records::new(reader, file, options.limits.record_bytes)?;
    let mut objects = Objects::new(options);
    while let Some((number, record)) = records.next()? {
        if !record.is_empty() {
            objects.document(record, number, file, None, visit)?;
        }
    }
    objects.named().ok_or_else(|| ReadError::new(file, None, Problem::Empty).into())
}

/// Makes documents of objects, by the keys of the first.
pub(crate) struct Objects<'a> {
    options: &'a ReadOptions,
    roles: Option<(Vec<String>, Roles, usize)>,
    others: Vec<usize>,
    fields: Vec<String>,
    documents: usize,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(options: &'a ReadOptions) -> Self {
        Self { options, roles: None, others: Vec::new(), fields: Vec::new(), documents: 0 }
    }

    /// Hands over the document of an object that begins on a line of a file. `id` is what it is called where it does not say
    /// it; else that is its number.
    pub(crate) fn document<E: From<ReadError>>(
        &mut self,
        record: &str,
        number: u64,
        file: &Arc<Path>,
        id: Option<String>,
        visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let refuse = |problem| ReadError::new(file, Some(number), problem);
        let object =
            object(record).map_err(|(lines, problem)| ReadError::new(file, Some(number + lines), problem))?;
        let (names, columns, in_text) = match &self.roles {
            Some(known) => known,
            None => {
                let plain = |value: &RawValue| !matches!(kind(value.get()), "an array" | "an object");
                let names: Vec<String> =
                    object.iter().filter(|(_, value)| plain(value)).map(|(name, _)| name.clone()).collect();
                let found = Roles::find(&names, &self.options.columns, TEXT).map_err(refuse)?;
                let in_text = found.text(&names).map_err(refuse)?;
                if self.options.other_columns {
                    self.others = found.others(names.len());
                }
                if !self.others.is_empty() {
                    visit(Item::OtherColumns(self.others.iter().map(|&i| names[i].clone()).collect()))?;
                }
                self.roles.insert((names, found, in_text))
            }
        };
        let text = text(&object, &names[*in_text]).map_err(refuse)?;
        let role = |role: Option<usize>| match role {
            Some(i) => scalar(&object, &names[i]).map_err(refuse),
            None => Ok(None),
        };
        let (own, title, label) = (role(columns.id)?, role(columns.title)?, role(columns.label)?);
        self.documents += 1;
        if !self.others.is_empty() {
            self.fields.clear();
            // A key may hold a list in another object; what is no value of a column counts as nothing.
            let field = |&i: &usize| scalar(&object, &names[i]).ok().flatten().unwrap_or_default();
            self.fields.extend(self.others.iter().map(field));
            visit(Item::OtherFields(&self.fields))?;
        }
        let document = Document {
            id: own.or(id).unwrap_or_else(|| self.documents.to_string()),
            title: title.unwrap_or_else(|| truncate_text(&text, TITLE)),
            label,
            text,
            file: Arc::clone(file),
            line: number,
        };
        visit(Item::Document(document))
    }

    /// The columns that documents were read from; none if there was no object.
    pub(crate) fn named(&self) -> Option<Named> {
        self.roles.as_ref().map(|(names, roles, _)| roles.listed(names))
    }
}

/// An object, its values unread; or what is wrong, so many lines after the first.
fn object(record: &str) -> Result<BTreeMap<String, &RawValue>, (u64, Problem)> {
    let lines = |error: &serde_json::Error| (error.line() as u64).saturating_sub(1);
    let refused = |error: serde_json::Error| (lines(&error), Problem::Json { what: json_problem(&error) });
    if !record.starts_with('{') {
        // A value of another kind, or nothing of JSON at all.
        return Err(match serde_json::from_str::<&RawValue>(record) {
            Ok(_) => (0, Problem::NotAnObject { found: excerpt(record) }),
            Err(error) => refused(error),
        });
    }
    serde_json::from_str(record).map_err(refused)
}

/// What the parser says, with the column.
fn json_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.replace(&format!(" at line {} column ", error.line()), " at column ")
}

fn text(object: &BTreeMap<String, &RawValue>, name: &str) -> Result<String, Problem> {
    let wrong = |found| Problem::NoText { column: name.to_owned(), found };
    let value = object.get(name).ok_or_else(|| wrong("no such key"))?.get();
    if !value.starts_with('"') {
        return Err(wrong(kind(value)));
    }
    serde_json::from_str(value).map_err(|error| Problem::Json { what: json_problem(&error) })
}

fn scalar(object: &BTreeMap<String, &RawValue>, name: &str) -> Result<Option<String>, Problem> {
    let Some(value) = object.get(name).map(|value| value.get()) else { return Ok(None) };
    let text = match kind(value) {
        "null" => return Ok(None),
        "a string" => {
            serde_json::from_str(value).map_err(|error| Problem::Json { what: json_problem(&error) })?
        }
        "a number" | "true or false" => value.to_owned(),
        found => return Err(Problem::NoText { column: name.to_owned(), found }),
    };
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// The kind of a JSON value, by its first character.
fn kind(value: &str) -> &'static str {
    match value.bytes().next() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'n') => "null",
        Some(b't' | b'f') => "true or false",
        _ => "a number",
    }
}
