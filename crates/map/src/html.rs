use std::fmt::Write as _;
use std::io::Write;

use flate2::{Compression, write::GzEncoder};
#[cfg(feature = "rayon")]
use rayon::prelude::*;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{Document, Field, FieldKind, Page, PageColumn, RegionLevel, Space, Word, WriteError};

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// In order of use; together they are one script.
const SCRIPTS: [&str; 22] = [
    include_str!("page/torus.js"),
    include_str!("page/parts.js"),
    include_str!("page/space.js"),
    include_str!("page/atlas.js"),
    include_str!("page/columns.js"),
    include_str!("page/view.js"),
    include_str!("page/words.js"),
    include_str!("page/regions.js"),
    include_str!("page/paint.js"),
    include_str!("page/lettering.js"),
    include_str!("page/many.js"),
    include_str!("page/texts.js"),
    include_str!("page/search.js"),
    include_str!("page/panel.js"),
    include_str!("page/filters.js"),
    include_str!("page/lasso.js"),
    include_str!("page/compare.js"),
    include_str!("page/svg.js"),
    include_str!("page/take.js"),
    include_str!("page/input.js"),
    include_str!("page/frames.js"),
    include_str!("page/selftest.js"),
];

/// Writes the page as one HTML file that needs nothing else: no request leaves it, and its content security
/// policy allows its own script and style and nothing more. The same page gives the same bytes.
///
/// Text is data wherever it stands: no title, word, label or snippet can end the element that holds it.
///
/// # Errors
/// [`WriteError::Page`] if the page is not in order, before anything is written; [`WriteError::Io`].
///
/// ```
/// use countgrid_map::{Document, Page, Word, write_html};
///
/// let page = Page {
///     title: "Two words".into(),
///     extents: [8, 8],
///     window: [3, 3],
///     words: vec![
///         Word { text: "sun".into(), cell: 10, weight: 2.0 },
///         Word { text: "moon".into(), cell: 46, weight: 1.0 },
///     ],
///     documents: vec![Document {
///         title: "A day".into(),
///         posterior: vec![(9, 0.75), (10, 0.25)],
///         ..Document::default()
///     }],
///     ..Page::default()
/// };
/// let mut html = Vec::new();
/// write_html(&page, &mut html)?;
/// assert!(html.starts_with(b"<!doctype html>"));
/// # Ok::<(), countgrid_map::WriteError>(())
/// ```
pub fn write_html(page: &Page, mut out: impl Write) -> Result<(), WriteError> {
    page.check()?;
    let script = script();
    let mut parts = TEMPLATE.split("{{");
    out.write_all(parts.next().unwrap_or_default().as_bytes())?;
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        match name {
            "title" => out.write_all(escape_text(title(page)).as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "style-hash" => out.write_all(integrity(STYLE).as_bytes())?,
            "script" => out.write_all(script.as_bytes())?,
            "script-hash" => out.write_all(integrity(&script).as_bytes())?,
            "data" => out.write_all(data(page)?.as_bytes())?,
            _ => {}
        }
        out.write_all(rest.as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// What the page is called in the browser, as in its heading.
fn title(page: &Page) -> &str {
    if page.title.trim().is_empty() { "Map" } else { &page.title }
}

fn script() -> String {
    let mut script = String::from("\"use strict\";\n(() => {\n");
    SCRIPTS.iter().for_each(|part| script.push_str(part));
    script.push_str("})();\n");
    script
}

/// The page's data by columns: names once, not once per document.
#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    extents: [usize; 2],
    window: [usize; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    space: Option<&'static str>,
    #[serde(rename = "sampledFrom", skip_serializing_if = "Option::is_none")]
    sampled_from: Option<usize>,
    /// The first document that was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<usize>,
    labels: &'a [String],
    facts: &'a [(String, String)],
    words: Vec<&'a str>,
    #[serde(rename = "wordCells")]
    word_cells: Vec<u32>,
    weights: Vec<f32>,
    /// By level: names and cells of regions, and the region of each cell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    regions: Vec<Regions<'a>>,
    titles: Vec<&'a str>,
    snippets: Vec<&'a str>,
    /// Whole texts, [`CHUNK`] bytes of them at a time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<String>,
    #[serde(rename = "documentLabels")]
    document_labels: Vec<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    columns: Vec<Column<'a>>,
    /// Cell, thousandths, cell, thousandths, ...
    posteriors: Vec<Vec<u32>>,
    /// Row and column, in cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<Vec<Option<[f64; 2]>>>,
    /// Shares of the highest, in 255ths.
    #[serde(skip_serializing_if = "Option::is_none")]
    relief: Option<Vec<u8>>,
}

/// By document; `null` where there is nothing.
#[derive(Serialize)]
struct Column<'a> {
    name: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'a [String]>,
    values: Vec<Value<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Empty(()),
    Number(f64),
    Whole(i64),
    Text(&'a str),
}

/// The fields of a column: whole numbers without a point, whatever they are stored in.
fn column<'a>(documents: &'a [Document], place: usize, column: &'a PageColumn) -> Column<'a> {
    let value = |document: &'a Document| match document.fields.get(place).unwrap_or(&Field::Empty) {
        Field::Empty => Value::Empty(()),
        Field::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => Value::Whole(*number as i64),
        Field::Number(number) => Value::Number(*number),
        Field::Day(day) => Value::Whole(i64::from(*day)),
        Field::Category(name) => Value::Whole(i64::from(*name)),
        Field::Text(text) => Value::Text(text),
    };
    let (kind, names) = match &column.kind {
        FieldKind::Numbers => ("number", None),
        FieldKind::Days => ("day", None),
        FieldKind::Categories(names) => ("category", Some(&names[..])),
        FieldKind::Texts => ("text", None),
    };
    Column { name: &column.name, kind, names, values: documents.iter().map(value).collect() }
}

#[derive(Serialize)]
struct Regions<'a> {
    names: Vec<&'a [String]>,
    cells: Vec<u32>,
    parents: Vec<i64>,
    #[serde(rename = "ofCell")]
    of_cell: &'a [u32],
}

fn data(page: &Page) -> Result<String, WriteError> {
    let thousandths = |&(cell, q): &(u32, f32)| {
        let q = (q * 1000.0).round() as u32; // `check` has seen that q lies in [0, 1]
        (q > 0).then_some([cell, q])
    };
    let each_word = || page.words.iter();
    let each = || page.documents.iter();
    // A thousandth of a cell is less than a pixel.
    let place = |place: [f32; 2]| place.map(|x| (f64::from(x) * 1e3).round() / 1e3);
    let pointed = page.documents.iter().any(|document| document.place.is_some());
    let data = Data {
        title: &page.title,
        extents: page.extents,
        window: page.window,
        space: (page.space == Space::Plane).then_some("plane"),
        sampled_from: page.sampled_from,
        added: page.added,
        labels: &page.labels,
        facts: &page.facts,
        words: each_word().map(|Word { text, .. }| text.as_str()).collect(),
        word_cells: each_word().map(|word| word.cell).collect(),
        weights: weights(&page.words),
        regions: page
            .regions
            .iter()
            .map(|RegionLevel { regions, of_cell }| Regions {
                names: regions.iter().map(|region| &region.words[..]).collect(),
                cells: regions.iter().map(|region| region.cell).collect(),
                parents: regions.iter().map(|region| region.parent.map_or(-1, i64::from)).collect(),
                of_cell,
            })
            .collect(),
        titles: each().map(|Document { title, .. }| title.as_str()).collect(),
        snippets: each().map(|document| document.snippet.as_str()).collect(),
        texts: texts(&page.documents)?,
        document_labels: each().map(|document| document.label.map_or(-1, i64::from)).collect(),
        columns: page.columns.iter().enumerate().map(|(n, own)| column(&page.documents, n, own)).collect(),
        posteriors: each()
            .map(|document| document.posterior.iter().filter_map(thousandths).flatten().collect())
            .collect(),
        places: pointed.then(|| each().map(|document| document.place.map(place)).collect()),
        relief: (!page.relief.is_empty()).then(|| relief(&page.relief)),
    };
    let json = serde_json::to_string(&data).map_err(std::io::Error::from)?;
    Ok(escape_json(&json))
}

/// Bytes of texts that are compressed together, at least: a browser unpacks them one after the other and stays at hand.
const CHUNK: usize = 1 << 18;

/// The texts of the documents, each with U+0000 after it, by gzip and in base 64; none if no document has one. The same texts give
/// the same bytes: no time and no name is in the header.
fn texts(documents: &[Document]) -> std::io::Result<Vec<String>> {
    if documents.iter().all(|document| document.text.is_empty()) {
        return Ok(Vec::new());
    }
    // The character that ends a text is not in it.
    const REPLACEMENT: char = '\u{fffd}';
    let mut bytes = 0;
    let chunks = documents.split_inclusive(|document| {
        bytes += document.text.len() + 2 * document.text.matches('\0').count() + 1; // three bytes for one
        let is_last = bytes >= CHUNK;
        bytes *= usize::from(!is_last);
        is_last
    });
    let pack = |documents: &[Document]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        let mut chunk = String::new();
        for document in documents {
            document.text.chars().for_each(|c| chunk.push(if c == '\0' { REPLACEMENT } else { c }));
            chunk.push('\0');
        }
        packed.write_all(chunk.as_bytes())?;
        Ok(base64(&packed.finish()?))
    };
    #[cfg(feature = "rayon")]
    return chunks.collect::<Vec<_>>().into_par_iter().map(pack).collect();
    #[cfg(not(feature = "rayon"))]
    chunks.map(pack).collect()
}

/// Weights as shares of the largest, in four digits: the unit does not matter, the bytes do.
fn weights(words: &[Word]) -> Vec<f32> {
    let largest = words.iter().fold(0.0f32, |largest, word| largest.max(word.weight));
    let share = |word: &Word| if largest > 0.0 { word.weight / largest } else { 1.0 };
    words.iter().map(|word| (share(word) * 1e4).round() / 1e4).collect()
}

/// Heights as shares of the highest, in 255ths.
fn relief(heights: &[f32]) -> Vec<u8> {
    let highest = heights.iter().fold(0.0f32, |highest, &height| highest.max(height));
    let share = |height: f32| if highest > 0.0 { height / highest } else { 0.0 };
    heights.iter().map(|&height| (share(height) * 255.0).round() as u8).collect() // within 0 and 1
}

/// JSON that is inert inside `<script>`: the characters that begin markup, and the two line ends that JSON
/// allows and older scripts do not, are written as escapes. They can only stand inside strings.
fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(c)); // a String takes all
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Text between tags.
fn escape_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// What a content security policy calls an inline script or style: `sha256-` and the hash in base 64.
fn integrity(source: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(source.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for bytes in bytes.chunks(3) {
        let bits =
            bytes.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - bytes.len()));
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            text.push(if digit <= bytes.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}
