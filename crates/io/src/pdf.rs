//! The text of a PDF document (ISO 32000-1).
//!
//! Written here because no parser that builds with the oldest compiler we promise keeps its memory within bounds: what streams
//! and objects become is limited for the document as a whole, nothing recurses deeper than a constant, and pictures are not decoded.

mod cff;
mod cmap;
mod file;
mod filter;
mod font;
mod glyphs;
mod object;
mod text;

use std::collections::HashSet;
use std::rc::Rc;

use encoding_rs::{UTF_8, UTF_16BE, WINDOWS_1252};

use self::file::{File, damaged};
use self::object::{Dict, Object};
use self::text::Writer;
use crate::error::Problem;

/// What a file begins with.
pub(crate) const HEAD: &[u8] = b"%PDF-";

/// Pages that inherit from pages that inherit.
const DEEPEST: usize = 64;

/// A document's title, if it says one, and its text, of `limit` bytes at most.
///
/// Lines of the page end a line; a word that is divided between two is joined. The order is that in which the pages are
/// written, which nearly always is that of reading, in columns too.
pub(crate) fn pdf(bytes: &[u8], limit: usize) -> Result<(Option<String>, String), Problem> {
    let mut file = File::open(bytes, limit)?;
    let mut pages = pages(&mut file)?;
    if pages.is_empty() && file.search_again()? {
        pages = self::pages(&mut file)?;
    }
    if pages.is_empty() {
        return Err(damaged("it has no pages"));
    }
    let mut writer = Writer::new(limit);
    for (page, resources) in pages {
        let Object::Dict(page) = file.resolve(&Object::Reference(page))? else { continue };
        let resources = file.resolve(&resources)?;
        let (contents, none) = (file.get(&page, "Contents")?, Rc::default());
        writer.page(&mut file, &contents, resources.dict().unwrap_or(&none))?;
    }
    let text = writer.text.trim();
    if writer.unknown > writer.known {
        return Err(Problem::Unsupported { kind: "a PDF whose fonts do not say which characters they show" });
    }
    if text.is_empty() && writer.pictures > 0 {
        return Err(Problem::Unsupported { kind: "a PDF without text (its pages are pictures)" });
    }
    let text = text.to_owned();
    Ok((title(&mut file)?, text))
}

/// The pages in their order, each once, with their resources, which they may have from what they belong to.
fn pages(file: &mut File<'_>) -> Result<Vec<(u32, Object)>, Problem> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let root = file.root()?;
    let mut open: Vec<(Object, Object, usize)> = root
        .and_then(|root| root.get(&b"Pages"[..]).cloned())
        .map(|pages| (pages, Object::Null, 0))
        .into_iter()
        .collect();
    while let Some((node, resources, depth)) = open.pop() {
        let Object::Reference(number) = node else { continue };
        let object = file.resolve(&node)?;
        let Some(dict) = object.dict() else { continue };
        let resources = dict.get(&b"Resources"[..]).cloned().unwrap_or(resources);
        match file.get(dict, "Kids")? {
            Object::Array(kids) if depth < DEEPEST => {
                for kid in kids.iter().rev() {
                    // However often a page is named, it is read once.
                    if let Object::Reference(number) = kid
                        && file.has(*number)
                        && seen.insert(*number)
                    {
                        open.push((kid.clone(), resources.clone(), depth + 1));
                    }
                }
            }
            Object::Array(_) => return Err(damaged("its pages are too deep in each other")),
            _ => found.push((number, resources)),
        }
    }
    Ok(found)
}

/// The title of the document's information, if somebody gave it one: not the name of a file, as some programs do.
fn title(file: &mut File<'_>) -> Result<Option<String>, Problem> {
    let info = file.trailer.get(&b"Info"[..]).cloned().unwrap_or(Object::Null);
    let info = file.resolve(&info)?;
    let none = Rc::<Dict>::default();
    let title = file.get(info.dict().unwrap_or(&none), "Title")?;
    Ok(title.string().and_then(sensible_title))
}

/// Titles that programs invent, in lower case: how they begin, and how they end.
const NO_TITLES: [&str; 6] = [
    "untitled",
    "microsoft word - ",
    "microsoft powerpoint - ",
    "powerpoint presentation",
    "print",
    "about:blank",
];
const NAMES_OF_FILES: [&str; 14] = [
    ".doc", ".docx", ".dvi", ".htm", ".html", ".indd", ".odt", ".pdf", ".ppt", ".pptx", ".ps", ".rtf",
    ".tex", ".txt",
];

/// Characters of a title that is shown.
const TITLE: usize = 300;

fn sensible_title(bytes: &[u8]) -> Option<String> {
    let (text, _) = match bytes {
        [0xfe, 0xff, rest @ ..] => UTF_16BE.decode_without_bom_handling(rest),
        [0xef, 0xbb, 0xbf, rest @ ..] => UTF_8.decode_without_bom_handling(rest),
        bytes => WINDOWS_1252.decode_without_bom_handling(bytes),
    };
    let title = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let title = title.collect::<Vec<_>>().join(" ");
    let small = title.to_lowercase();
    let invented = NO_TITLES.iter().any(|start| match start.strip_suffix(' ') {
        Some(_) => small.starts_with(start),
        None => small == *start,
    });
    let is_title = title.chars().any(char::is_alphabetic)
        && !title.contains('\u{fffd}')
        && title.chars().count() <= TITLE
        && !invented
        && !NAMES_OF_FILES.iter().any(|end| small.ends_with(end));
    is_title.then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_those_that_somebody_gave() {
        let title = |bytes: &[u8]| sensible_title(bytes);
        assert_eq!(title(b" Red\nants ").as_deref(), Some("Red ants"));
        assert_eq!(title(b"\xfe\xff\x04\x14\x04\x3e\x04\x3c").as_deref(), Some("Дом"));
        assert_eq!(title(b"\xef\xbb\xbfGr\xc3\xb6\xc3\x9fe").as_deref(), Some("Größe"));
        for bytes in [
            &b""[..],
            b"untitled",
            b"Microsoft Word - a.doc",
            b"paper.dvi",
            b"12-3",
            b"\xfe\xff\xd8\x00",
            &[b'a'; 301],
        ] {
            assert_eq!(title(bytes), None, "{bytes:?}");
        }
    }
}
