use countgrid_corpus::{BlockLimits, CorpusError, CorpusOptions, WordOptions};
use countgrid_estimators::GridPage;
use countgrid_map::write_html;

use crate::{Corpus, CountingGrid, Error};

/// Text as bags of words, by the rules of the program: [`countgrid_corpus::Corpus`] with its documents.
#[derive(Debug)]
pub struct Texts(Corpus);

impl Texts {
    /// The title of texts that have none.
    pub const TITLE: &str = "texts";

    /// Reads documents and selects the vocabulary; `title` is their title.
    ///
    /// # Errors
    /// Invalid options; documents of which no word is left.
    pub fn new(title: &str, documents: &[impl AsRef<str>], words: &WordOptions) -> Result<Self, Error> {
        let options = CorpusOptions { words: words.clone(), ..options() };
        let corpus = countgrid_corpus::Corpus::from_texts(documents, &options).map_err(|error| match error {
            CorpusError::NoWords { documents: 0, .. } => {
                Error::new("no document; paste some text, one document to a line or paragraph")
            }
            CorpusError::NoWords { documents, .. } => Error::new(format_args!(
                "no word is left of {documents} documents: a word needs to be in at least `minCount` of them and at \
                 most the share `maxShare`, and to be no stop word; take more documents, or other options"
            )),
            error => error.into(),
        })?;
        let corpus = countgrid_corpus::Corpus { name: title.to_owned(), ..corpus };
        Ok(Self(Corpus::from_texts(corpus, words.clone())))
    }

    /// The words, sorted: feature `z` is word `z`.
    #[must_use]
    pub fn vocabulary(&self) -> &[String] {
        self.0.texts().map_or(&[], |(corpus, _)| &corpus.vocabulary)
    }

    /// The documents as bags over the vocabulary.
    #[must_use]
    pub fn corpus(&self) -> &Corpus {
        &self.0
    }

    /// Other documents as bags over the same vocabulary; unknown words are left out.
    ///
    /// # Errors
    /// No memory.
    pub fn count(&self, documents: &[impl AsRef<str>]) -> Result<Corpus, Error> {
        let Some((known, words)) = self.0.texts() else { return Ok(self.0.clone()) };
        let options = CorpusOptions { keep_documents: false, ..options() };
        let corpus =
            countgrid_corpus::Corpus::count_texts(documents, &known.vocabulary, &known.text, &options)?;
        let corpus = countgrid_corpus::Corpus { name: known.name.clone(), ..corpus };
        Ok(Corpus::from_texts(corpus, words.clone()))
    }

    /// The page of `countgrid map`: words at their cells, and documents near every cell, as one HTML file.
    ///
    /// # Errors
    /// A grid of more than two axes or over another vocabulary; no memory.
    pub fn page(&self, title: &str, grid: &CountingGrid) -> Result<String, Error> {
        let pages = self.0.texts().map(|(corpus, _)| grid.fitted().pages(corpus)).transpose()?;
        let Ok([GridPage { mut page, .. }]) = <[_; 1]>::try_from(pages.unwrap_or_default()) else {
            return Err(Error::new("a page shows a grid of one or two axes, this one has layers"));
        };
        page.title = title.to_owned();
        let mut html = Vec::new();
        write_html(&page, &mut html)?;
        String::from_utf8(html).map_err(Error::new)
    }
}

fn options() -> CorpusOptions {
    CorpusOptions {
        blocks: BlockLimits::in_memory(),
        keep_texts: countgrid_map::MAX_TEXT_BYTES,
        ..CorpusOptions::default()
    }
}
