use countgrid_counts::CsrBuf;
use countgrid_map::{Document, Page, characteristic_words, coverage, truncate_text, write_html};
use countgrid_text::{TextOptions, Tokenizer, Vocabulary, WordBags, bags};

use crate::{Corpus, CountingGrid, Error, corpus::reserve};

/// Characters of a document's title, and of what a list shows besides.
const TITLE: usize = 60;
const SNIPPET: usize = 200;
/// Words that a cell shows at most, and windows of a document that the page keeps, as in the program.
const WORDS: usize = 8;
const WINDOWS: usize = 8;

/// Text as bags of words, by the rules of the program: see [`TextOptions`].
#[derive(Debug)]
pub struct Texts {
    tokenizer: Tokenizer,
    vocabulary: Vec<String>,
    corpus: Corpus,
    documents: Vec<(String, String)>, // title and snippet
}

impl Texts {
    /// The options of `countgrid fit`.
    pub fn default_options() -> TextOptions {
        TextOptions { max_words: 3_000, ..TextOptions::default() }
    }

    /// Reads documents and selects the vocabulary.
    ///
    /// # Errors
    /// Options that make no sense; documents of which no word is left.
    pub fn new(documents: &[impl AsRef<str>], options: &TextOptions) -> Result<Self, Error> {
        let tokenizer = Tokenizer::new(options)?;
        let WordBags { vocabulary, bags, .. } = bags(documents, options)?;
        if vocabulary.is_empty() {
            return Err(Error::new(match documents.len() {
                0 => "no document; paste some text, one document to a line or paragraph".to_owned(),
                n => format!(
                    "no word is left of {n} documents: a word needs to be in at least `minCount` of them and at most \
                     the share `maxShare`, and to be no stop word; take more documents, or other options"
                ),
            }));
        }
        let (features, offsets, indices, counts) = bags.into_parts();
        let counts = counts.into_iter().map(|count| count as f32).collect();
        let corpus = Corpus::from_bags(CsrBuf::from_parts(features, offsets, indices, counts)?);
        let documents = documents.iter().map(|document| shown(document.as_ref())).collect();
        Ok(Self { tokenizer, vocabulary, corpus, documents })
    }

    /// The words, sorted: feature `z` is word `z`.
    pub fn vocabulary(&self) -> &[String] {
        &self.vocabulary
    }

    /// The documents as bags over the vocabulary.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Other documents as bags over the same vocabulary; unknown words are left out.
    ///
    /// # Errors
    /// No memory.
    pub fn count(&self, documents: &[impl AsRef<str>]) -> Result<Corpus, Error> {
        let known = Vocabulary::new(&self.vocabulary, &self.tokenizer);
        let mut bags = CsrBuf::new(self.vocabulary.len())?;
        for document in documents {
            let bag = known.count(document.as_ref());
            bags.push_bag(bag.into_iter().map(|(word, count)| (word as usize, count as f32)))?;
        }
        Ok(Corpus::from_bags(bags))
    }

    /// The page of `countgrid map`: words where they live, and documents near every place, as one HTML file.
    ///
    /// # Errors
    /// A grid of more than two axes or over another vocabulary; no memory.
    pub fn page(&self, title: &str, grid: &CountingGrid) -> Result<String, Error> {
        let (Some(extents), Some(window)) = (sides(grid.extents()), sides(grid.window())) else {
            let axes = grid.extents().len();
            return Err(Error::new(format_args!(
                "a page shows a grid of one or two axes, this one has {axes}"
            )));
        };
        let mut documents = Vec::new();
        reserve(&mut documents, self.documents.len())?;
        let mut evidence = 0.0;
        let mut each = self.documents.iter();
        grid.for_each_posterior(&self.corpus, |_, tokens, posterior| {
            evidence += f64::from(posterior.log_evidence());
            let mut best = [(0, 0.0); WINDOWS];
            let found = if tokens > 0.0 { posterior.best(&mut best) } else { 0 };
            // A float's probability may be a rounding above 1.
            let posterior = best.iter().take(found).map(|&(cell, q)| (cell as u32, q.min(1.0))).collect();
            if let Some((title, snippet)) = each.next() {
                let (title, snippet) = (title.clone(), snippet.clone());
                documents.push(Document { title, snippet, posterior, ..Document::default() });
            }
        })?;
        let mass = coverage(extents, window, &documents)?;
        let words = characteristic_words(grid.pi(), grid.cells(), &self.vocabulary, Some(&mass), WORDS)?;
        let size = |sides: &[usize]| sides.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        let facts = [
            ("Documents", documents.len().to_string()),
            ("Tokens", self.corpus.tokens().to_string()),
            ("Vocabulary", format!("{} words", self.vocabulary.len())),
            ("Grid", size(grid.extents())),
            ("Window", size(grid.window())),
            ("Bound per token", format!("{:.4} nats", evidence / self.corpus.tokens())),
            ("Made by", concat!("countgrid ", env!("CARGO_PKG_VERSION")).to_owned()),
        ];
        let page = Page {
            title: title.to_owned(),
            extents,
            window,
            words,
            documents,
            labels: Vec::new(),
            facts: facts.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            ..Page::default()
        };
        let mut html = Vec::new();
        write_html(&page, &mut html)?;
        String::from_utf8(html).map_err(Error::new)
    }
}

/// A text without a title: how it begins, and how it goes on.
fn shown(text: &str) -> (String, String) {
    let title = truncate_text(text, TITLE);
    let rest: Vec<&str> =
        text.split_whitespace().skip(title.split_whitespace().count()).take(SNIPPET).collect();
    let snippet = if rest.is_empty() {
        String::new()
    } else {
        format!("…{}", truncate_text(&rest.join(" "), SNIPPET))
    };
    (title, snippet)
}

/// Rows and columns as a page has them: a ring is one row.
fn sides(of: &[usize]) -> Option<[usize; 2]> {
    match *of {
        [columns] => Some([1, columns]),
        [rows, columns] => Some([rows, columns]),
        _ => None,
    }
}
