//! A vocabulary of documents that are read in parts, on several machines: the same that one machine selects.
//!
//! Of each document's language two things depend on the others: which the collection is in, and, of many that only letters could tell,
//! which are compared ([`Languages::Auto`]). So parts are read twice: for the language of each document by itself, and, once those
//! of all parts were gone through in order, for their words. What is counted is added up, in any order.

use std::collections::BTreeMap;

use crate::{
    Counter, Language, Selected, TextError, TextOptions, Tokenizer,
    counter::{In, Told, WordCounts, settled},
    language::Candidates,
    tokenizer::Forms,
};

/// The language of each document of a part, by itself.
///
/// ```
/// use countgrid_text::{PartLanguages, PartWords, TextOptions, bags};
/// let texts = ["Red ants follow trails.", "Trails of red ants", "Red sky, red dust", "A sky of dust"];
/// let options = TextOptions { max_share: 1.0, ..TextOptions::default() };
/// let parts = [&texts[..3], &texts[3..]]; // each of them where it lies
/// let read = parts.map(|part| PartLanguages::read(part, &options)).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let settled = PartLanguages::settle(&read, &options)?; // in one place
/// let mut words = PartWords::default();
/// for (part, how) in parts.into_iter().zip(&settled).rev() { // each where it lies, in any order
///     words.merge(PartWords::read(part, how)?);
/// }
/// assert_eq!(words.select(&settled[0])?.vocabulary, bags(&texts, &options)?.vocabulary);
/// # Ok::<(), countgrid_text::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PartLanguages {
    documents: Vec<(Option<Language>, bool)>, // and whether only letters could tell it
    unspaced: bool,                           // whether some text without spaces was cut by dictionaries
}

impl PartLanguages {
    /// Reads documents, in their order.
    ///
    /// # Errors
    /// As [`Tokenizer::new`]; [`TextError::PhrasesInParts`], for they are looked for by passes over all documents.
    pub fn read(documents: &[impl AsRef<str>], options: &TextOptions) -> Result<Self, TextError> {
        let tokenizer = Tokenizer::new(options)?;
        if tokenizer.has_phrases() {
            return Err(TextError::PhrasesInParts);
        }
        let mut part = Self::default();
        for document in documents {
            let mut by_letters = false;
            let candidates = || {
                by_letters = true;
                Candidates::All
            };
            let Forms { detected, unspaced, .. } = tokenizer.forms_among(document.as_ref(), candidates);
            part.documents.push((detected, by_letters));
            part.unspaced |= unspaced;
        }
        Ok(part)
    }

    /// How the documents of each part are to be counted; `parts` are all there are, in the order of their documents.
    ///
    /// # Errors
    /// As [`Tokenizer::new`].
    pub fn settle(parts: &[Self], options: &TextOptions) -> Result<Vec<PartOptions>, TextError> {
        let (mut told, mut before) = (Told::default(), 0);
        let mut languages = Vec::with_capacity(parts.len());
        for part in parts {
            let mut candidates: Vec<Vec<Language>> = Vec::new();
            let of_part = part.documents.iter().map(|&(language, by_letters)| {
                let (among, documents) = match by_letters {
                    true => told.next_by_letters(before),
                    false => (Candidates::All, 1),
                };
                before += 1;
                match among {
                    Candidates::All => {
                        told.add(language, documents);
                        PartLanguage::Known(language)
                    }
                    Candidates::These(these) => {
                        if candidates.last().is_none_or(|last| *last != *these) {
                            candidates.push(these.into_owned());
                        }
                        PartLanguage::OneOf(candidates.len() - 1)
                    }
                    Candidates::None => PartLanguage::Known(None),
                }
            });
            let of_part = of_part.collect();
            languages.push((of_part, candidates));
        }
        let unspaced = parts.iter().any(|part| part.unspaced);
        let options = settled(options.clone(), &told, before, unspaced);
        Tokenizer::new(&options)?;
        Ok(languages
            .into_iter()
            .map(|(languages, candidates)| PartOptions { options: options.clone(), languages, candidates })
            .collect())
    }
}

/// How the documents of a part are to be counted: by options with the languages of the collection, and each in its language.
///
/// Example: [`PartLanguages`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PartOptions {
    options: TextOptions,
    languages: Vec<PartLanguage>,
    candidates: Vec<Vec<Language>>,
}

/// The language of a document of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum PartLanguage {
    Known(Option<Language>), // or that it does not tell
    OneOf(usize),            // of the candidates with this number, if its letters tell
}

/// The words of documents by their stems, which are the words themselves without stemming: how often each was read, and how
/// many documents each stem is in.
///
/// Example: [`PartLanguages`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PartWords {
    stems: BTreeMap<String, Stem>,
    documents: BTreeMap<Language, usize>, // in each language
    tokens: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Stem {
    pub(crate) documents: usize,
    pub(crate) words: BTreeMap<String, u64>, // tokens of each
}

impl PartWords {
    /// Counts the words of a part, whose documents are those that [`PartLanguages::read`] had, in the same order.
    ///
    /// # Errors
    /// [`TextError::OtherDocuments`] if there are more or fewer of them; as [`Counter::read`].
    pub fn read(documents: &[impl AsRef<str>], part: &PartOptions) -> Result<Self, TextError> {
        let (expected, found) = (part.languages.len(), documents.len());
        if expected != found {
            return Err(TextError::OtherDocuments { expected, found });
        }
        let mut counter = Counter::new(&part.options)?;
        let bags = documents.iter().zip(&part.languages).map(|(document, &language)| {
            let language = match language {
                PartLanguage::Known(language) => In::Known(language),
                PartLanguage::OneOf(number) => {
                    In::OneOf(part.candidates.get(number).map_or(&[], Vec::as_slice))
                }
            };
            Ok(counter.read_in(document.as_ref(), language, |_| ())?.to_vec())
        });
        let bags = bags.collect::<Result<Vec<_>, TextError>>()?;
        let mut counts = counter.finish_as_is()?;
        bags.iter().enumerate().for_each(|(document, bag)| _ = counts.add(document, bag));
        let (stems, documents, tokens) = counts.into_parts();
        Ok(Self { stems, documents, tokens })
    }

    /// Adds what was counted in other documents.
    pub fn merge(&mut self, other: Self) {
        for (stem, Stem { documents, words }) in other.stems {
            let own = self.stems.entry(stem).or_default();
            own.documents = own.documents.saturating_add(documents);
            for (word, tokens) in words {
                let own = own.words.entry(word).or_default();
                *own = own.saturating_add(tokens);
            }
        }
        for (language, documents) in other.documents {
            let own = self.documents.entry(language).or_default();
            *own = own.saturating_add(documents);
        }
        self.tokens = self.tokens.saturating_add(other.tokens);
    }

    /// Selects the vocabulary, once all parts are in; `part` is how any of them was counted. Documents are counted by a
    /// [`Vocabulary`](crate::Vocabulary), since [`Selected::bag`] knows none of them.
    ///
    /// # Errors
    /// [`TextError::TooMany`] where a `u32` does not suffice for the words.
    pub fn select(self, part: &PartOptions) -> Result<Selected, TextError> {
        let Self { stems, documents, tokens } = self;
        Ok(WordCounts::from_parts(&part.options, stems, documents, tokens)?.select())
    }
}
