//! A folder of JSON files that are an object each.

use std::path::Path;
use std::sync::Arc;

use encoding_rs::Encoding;

use crate::columns::Named;
use crate::encoding::decode;
use crate::error::{Problem, ReadError};
use crate::folder::{Found, Listing, id_in_folder, labels};
use crate::item::Item;
use crate::jsonl::Objects;
use crate::name::LeftOut;
use crate::options::ReadOptions;
use crate::source::{Budget, HEAD, Source, read_bytes};

/// Whether a file begins as an object does, by its name and its first bytes; one that cannot be read does not.
pub(crate) fn is_object(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_json = name.strip_suffix(".gz").unwrap_or(&name).ends_with(".json");
    // A head of UTF-16 takes twice its bytes and a mark, and whole buffers of them are read.
    is_json
        && Source::open_text(path, &Budget::new(HEAD as u64 * 4)).is_ok_and(|source| {
            let head = source.head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&source.head);
            head.trim_ascii_start().first() == Some(&b'{')
        })
}

/// Hands over the document of each file, called by its path if it has no id, without a label if the objects have none;
/// returns what was found, and the columns. A file that is no such object is passed over, as a folder's are.
pub(crate) fn each<E: From<ReadError>>(
    folder: &Path,
    listing: Listing,
    budget: &Budget,
    options: &ReadOptions,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<(Found, Named), E> {
    let Listing { files, mut passed, .. } = listing;
    let mut objects = Objects::new(options);
    let (mut ids, mut own_labels, mut encodings) =
        (Vec::new(), Vec::new(), std::collections::BTreeMap::new());
    for path in files {
        let read = read_text(&path, budget, options.limits.record_bytes);
        let (text, encoding) = match read {
            Ok(read) => read,
            Err(error) => {
                passed.refused(error, options.strict)?;
                continue;
            }
        };
        let space = text.len() - text.trim_start().len();
        let line = 1 + text[..space].matches('\n').count() as u64;
        let id = id_in_folder(&path, folder);
        let mut stopped = None;
        let found =
            objects.document(text.trim(), line, &Arc::from(path.as_path()), Some(id.clone()), &mut |item| {
                if let Item::Document(document) = &item {
                    own_labels.push(document.label.clone());
                    ids.push(id.clone());
                }
                visit(item).map_err(|error| {
                    stopped = Some(error);
                    ReadError::new(&path, None, Problem::Empty) // which nobody sees
                })
            });
        match (found, stopped) {
            (_, Some(error)) => return Err(error),
            (Err(error), None) => passed.refused(error, options.strict)?,
            (Ok(()), None) if encoding != encoding_rs::UTF_8 => {
                *encodings.entry(encoding.name()).or_default() += 1;
            }
            (Ok(()), None) => {}
        }
    }
    let Some(columns) = objects.named().filter(|_| !ids.is_empty()) else {
        let first = passed.left_out.iter().find(|left| left.lost);
        let first = first.map(|LeftOut { path, why, .. }| (id_in_folder(path, folder), why.clone()));
        let problem = Problem::NoDocuments { skipped: passed.skipped.total(), first };
        return Err(ReadError::new(folder, None, problem).into());
    };
    passed.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    let has_labels = columns.iter().any(|(role, _)| *role == "label");
    let labels = if has_labels { own_labels } else { labels(&ids) };
    Ok((Found { labels, files: ids.len(), pages: 0, passed, encodings }, columns))
}

fn read_text(path: &Path, budget: &Budget, limit: usize) -> Result<(String, &'static Encoding), ReadError> {
    let bytes = read_bytes(Source::open(path, budget)?.reader(), path, limit)?;
    decode(bytes, None).map_err(|(problem, line)| ReadError::new(path, line, problem))
}
