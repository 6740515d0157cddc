use countgrid_io::{Document, truncate_text};

/// Characters of a document that a list shows.
const SNIPPET: usize = 200;
/// Words of a bag without text that a list shows.
pub(crate) const SNIPPET_WORDS: usize = 16;

/// A document without its words.
///
/// ```
/// use countgrid_corpus::DocumentInfo;
/// let ants = DocumentInfo { id: "7".to_owned(), title: "Ants".to_owned(), tokens: 12.0, ..DocumentInfo::default() };
/// assert_eq!(DocumentInfo::COLUMNS, ["id", "title", "label", "tokens", "known_tokens"]);
/// assert_eq!(ants.fields("insects", 10.5), ["7", "Ants", "insects", "12", "10.5"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentInfo {
    /// Its id in the data, or its number from 1.
    pub id: String,
    /// Its title for display.
    pub title: String,
    /// How the text begins; of a bag without text its most frequent words.
    pub snippet: String,
    /// The whole text, where [`CorpusOptions::keep_texts`](crate::CorpusOptions::keep_texts) has room for it; else empty.
    pub text: String,
    /// Its tokens: of a text words of any kind but stop words, of a bag the sum of its counts.
    pub tokens: f64,
}

impl DocumentInfo {
    /// The first columns of tables of documents.
    pub const COLUMNS: [&'static str; 5] = ["id", "title", "label", "tokens", "known_tokens"];

    /// The values of [`DocumentInfo::COLUMNS`], for a document with this label and this many tokens of the vocabulary.
    #[must_use]
    pub fn fields(&self, label: &str, known_tokens: f64) -> [String; 5] {
        let (tokens, known_tokens) = (self.tokens.to_string(), known_tokens.to_string());
        [self.id.clone(), self.title.clone(), label.to_owned(), tokens, known_tokens]
    }

    /// Of a text with so many tokens, which is kept whole if it is not longer than `room`.
    pub(crate) fn from_text(document: Document, tokens: f64, room: usize) -> Self {
        let snippet = truncate_text(&document.text, SNIPPET);
        let text = if document.text.len() <= room { document.text } else { String::new() };
        Self { id: document.id, title: document.title, snippet, text, tokens }
    }

    /// Of a bag that was counted before, under its id if it has one, else under its number.
    pub(crate) fn from_bag(id: Option<String>, place: usize, snippet: String, tokens: f64) -> Self {
        match id {
            Some(id) => Self { title: id.clone(), id, snippet, tokens, ..Self::default() },
            None => {
                let number = place.saturating_add(1);
                let title = format!("document {number}");
                Self { id: number.to_string(), title, snippet, tokens, ..Self::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bag_is_named_by_its_id_or_its_number() {
        let from_bag = |id: Option<&str>| {
            let found = DocumentInfo::from_bag(id.map(str::to_owned), 6, "ant, cow".to_owned(), 4.5);
            assert_eq!((found.snippet.as_str(), found.tokens, found.text.as_str()), ("ant, cow", 4.5, ""));
            [found.id, found.title]
        };
        assert_eq!(from_bag(Some("sample 3")), ["sample 3", "sample 3"]);
        assert_eq!(from_bag(None), ["7", "document 7"]);
    }
}
