//! Pages back from their files.

use std::io::Read;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Document, Field, FieldKind, MAX_TEXT_BYTES, Page, PageColumn, PageReadError, Region, RegionLevel, Space,
    Word,
};

/// What stands before the data of a page, and after it.
const MARKS: [&str; 2] = ["<script type=\"application/json\" id=\"data\">", "</script>"];

/// Reads a page that [`write_html`](crate::write_html) has written, to add to it or to look at what it shows.
///
/// Weights of words are then shares of the largest, heights of a relief shares of the highest, and probabilities in thousandths:
/// written again, the page has the same bytes, as long as this version wrote it.
///
/// # Errors
/// [`PageReadError`]; whole texts may have twice [`MAX_TEXT_BYTES`] at most.
///
/// ```
/// use countgrid_map::{Document, Page, read_html, write_html};
/// let document = Document { title: "A <day>".into(), posterior: vec![(0, 1.0)], ..Document::default() };
/// let page = Page { extents: [1, 2], window: [1, 1], documents: vec![document], ..Page::default() };
/// let mut html = Vec::new();
/// write_html(&page, &mut html)?;
/// assert_eq!(read_html(std::str::from_utf8(&html)?)?, page);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_html(html: &str) -> Result<Page, PageReadError> {
    let [before, after] = MARKS;
    let (_, rest) = html.split_once(before).ok_or(PageReadError::NoData)?;
    let (json, _) = rest.split_once(after).ok_or(PageReadError::NoData)?;
    let data: Data = serde_json::from_str(json).map_err(|error| PageReadError::Data(error.to_string()))?;
    let page = page(data)?;
    page.check()?;
    Ok(page)
}

/// The data by columns, as it is written.
#[derive(Deserialize)]
struct Data {
    title: String,
    extents: [usize; 2],
    window: [usize; 2],
    space: Option<String>,
    #[serde(rename = "sampledFrom")]
    sampled_from: Option<usize>,
    added: Option<usize>,
    labels: Vec<String>,
    facts: Vec<(String, String)>,
    words: Vec<String>,
    #[serde(rename = "wordCells")]
    word_cells: Vec<u32>,
    weights: Vec<f32>,
    #[serde(default)]
    regions: Vec<Regions>,
    titles: Vec<String>,
    snippets: Vec<String>,
    #[serde(default)]
    texts: Vec<String>,
    #[serde(rename = "documentLabels")]
    document_labels: Vec<i64>,
    #[serde(default)]
    columns: Vec<Column>,
    posteriors: Vec<Vec<u32>>,
    places: Option<Vec<Option<[f32; 2]>>>,
    #[serde(default)]
    relief: Vec<u8>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
    kind: String,
    #[serde(default)]
    names: Vec<String>,
    values: Vec<Value>,
}

#[derive(Deserialize)]
struct Regions {
    names: Vec<Vec<String>>,
    cells: Vec<u32>,
    parents: Vec<i64>,
    #[serde(rename = "ofCell")]
    of_cell: Vec<u32>,
}

/// A number that is negative where there is none.
fn index(number: i64) -> Option<u32> {
    u32::try_from(number).ok()
}

fn page(data: Data) -> Result<Page, PageReadError> {
    let count = data.titles.len();
    let same = |table: &'static str, expected: usize, found: usize| match expected == found {
        true => Ok(()),
        false => Err(PageReadError::Length { table, expected, found }),
    };
    same("snippets", count, data.snippets.len())?;
    same("documentLabels", count, data.document_labels.len())?;
    same("posteriors", count, data.posteriors.len())?;
    same("wordCells", data.words.len(), data.word_cells.len())?;
    same("weights", data.words.len(), data.weights.len())?;
    data.columns.iter().try_for_each(|column| same("values", count, column.values.len()))?;
    let mut texts = texts(&data.texts, count)?.into_iter();
    let places = data.places.unwrap_or_else(|| vec![None; count]);
    same("places", count, places.len())?;
    let kinds = data.columns.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
    let rows =
        data.titles.into_iter().zip(data.snippets).zip(data.document_labels).zip(data.posteriors).zip(places);
    let mut documents = Vec::with_capacity(count);
    for (n, ((((title, snippet), label), posterior), place)) in rows.enumerate() {
        let field =
            |(column, kind): (&Column, &FieldKind)| field(kind, column.values.get(n), n, &column.name);
        documents.push(Document {
            title,
            label: index(label),
            snippet,
            text: texts.next().unwrap_or_default(),
            fields: data.columns.iter().zip(&kinds).map(field).collect::<Result<_, _>>()?,
            posterior: posterior.chunks_exact(2).map(|pair| (pair[0], pair[1] as f32 / 1e3)).collect(),
            place,
        });
    }
    let columns = data.columns.into_iter().zip(kinds);
    let words = data.words.into_iter().zip(data.word_cells).zip(data.weights);
    Ok(Page {
        title: data.title,
        extents: data.extents,
        window: data.window,
        space: if data.space.as_deref() == Some("plane") { Space::Plane } else { Space::Torus },
        relief: data.relief.iter().map(|&height| f32::from(height)).collect(),
        words: words.map(|((text, cell), weight)| Word { text, cell, weight }).collect(),
        regions: data.regions.into_iter().map(level).collect::<Result<_, _>>()?,
        documents,
        sampled_from: data.sampled_from,
        added: data.added,
        labels: data.labels,
        columns: columns.map(|(Column { name, .. }, kind)| PageColumn { name, kind }).collect(),
        facts: data.facts,
    })
}

fn level(Regions { names, cells, parents, of_cell }: Regions) -> Result<RegionLevel, PageReadError> {
    if names.len() != cells.len() || names.len() != parents.len() {
        let found = cells.len().min(parents.len());
        return Err(PageReadError::Length { table: "regions", expected: names.len(), found });
    }
    let regions = names.into_iter().zip(cells).zip(parents);
    let regions = regions.map(|((words, cell), parent)| Region { words, cell, parent: index(parent) });
    Ok(RegionLevel { regions: regions.collect(), of_cell })
}

fn kind(column: &Column) -> Result<FieldKind, PageReadError> {
    match column.kind.as_str() {
        "number" => Ok(FieldKind::Numbers),
        "day" => Ok(FieldKind::Days),
        "category" => Ok(FieldKind::Categories(column.names.clone())),
        "text" => Ok(FieldKind::Texts),
        other => Err(PageReadError::Data(format!("column `{}` is of the kind `{other}`", column.name))),
    }
}

fn field(
    kind: &FieldKind,
    value: Option<&Value>,
    document: usize,
    column: &str,
) -> Result<Field, PageReadError> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Field::Empty) };
    let field = match kind {
        FieldKind::Numbers => value.as_f64().map(Field::Number),
        FieldKind::Days => value.as_i64().and_then(|day| i32::try_from(day).ok()).map(Field::Day),
        FieldKind::Categories(_) => value.as_i64().and_then(index).map(Field::Category),
        FieldKind::Texts => value.as_str().map(|text| Field::Text(text.to_owned())),
    };
    field.ok_or_else(|| PageReadError::Data(format!("column `{column}` of document {document} has {value}")))
}

/// The texts of the documents, none or one of each.
fn texts(chunks: &[String], count: usize) -> Result<Vec<String>, PageReadError> {
    if chunks.is_empty() {
        return Ok(Vec::new());
    }
    let damaged = |chunk: usize| PageReadError::Texts { chunk };
    let mut all = Vec::new();
    for (chunk, packed) in chunks.iter().enumerate() {
        let packed = unbase64(packed).ok_or(damaged(chunk))?;
        let room = (2 * MAX_TEXT_BYTES).saturating_sub(all.len()) as u64 + 1;
        GzDecoder::new(&packed[..]).take(room).read_to_end(&mut all).map_err(|_| damaged(chunk))?;
        if all.len() > 2 * MAX_TEXT_BYTES {
            return Err(damaged(chunk));
        }
    }
    let all = String::from_utf8(all).map_err(|_| damaged(0))?;
    // Each text has U+0000 after it.
    let texts: Vec<String> = all.strip_suffix('\0').unwrap_or(&all).split('\0').map(str::to_owned).collect();
    if texts.len() != count {
        return Err(PageReadError::Length { table: "texts", expected: count, found: texts.len() });
    }
    Ok(texts)
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.as_bytes().chunks(4) {
        let digits = four.iter().take_while(|&&byte| byte != b'=').count();
        if four.len() != 4 || digits < 2 {
            return None;
        }
        let mut bits = 0u32;
        for &byte in four {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' => 0, // ends the digits
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..digits]);
    }
    Some(bytes)
}
