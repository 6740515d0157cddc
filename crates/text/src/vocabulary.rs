use std::{
    collections::{BTreeMap, HashMap},
    sync::OnceLock,
};

use crate::{
    Language, Tokenizer,
    phrases::{OTHER, Part, Phrases},
    tokenizer::Forms,
};

/// Words that are numbered already, to count new documents against.
///
/// ```
/// use countgrid_text::{TextOptions, Tokenizer, Vocabulary};
///
/// let tokenizer = Tokenizer::new(&TextOptions { stem: true, ..TextOptions::default() })?;
/// let vocabulary = Vocabulary::new(&["cats", "dog"], &tokenizer);
/// assert_eq!(vocabulary.count("A cat, two cats and a horse."), [(0, 2)]); // by stem; no dog, "horse" unknown
/// # Ok::<(), countgrid_text::TextError>(())
/// ```
#[derive(Debug)]
pub struct Vocabulary<'a> {
    tokenizer: &'a Tokenizer,
    words: Vec<String>,
    /// Of each language the features by stems, once it is met; without stemming one for all.
    features: Vec<OnceLock<Features>>,
}

/// The features of words and phrases, by their stems in one language.
#[derive(Debug, Default)]
pub(crate) struct Features {
    parts: HashMap<String, u32>, // of stems: their numbers
    of_part: Vec<Option<u32>>,   // the feature of each as a word by itself
    pub(crate) phrases: Phrases, // of such numbers, with their features
}

impl Features {
    pub(crate) fn new(words: &[String], language: Language, tokenizer: &Tokenizer) -> Self {
        let mut features = Self::default();
        for (feature, word) in (0..u32::MAX).zip(words) {
            let parts: Vec<&str> = match tokenizer.has_phrases() {
                true => word.split(' ').collect(),
                false => vec![word],
            };
            let numbers: Vec<u32> =
                parts.iter().map(|part| features.new_part(&tokenizer.stem(language, part))).collect();
            match numbers[..] {
                [part] => {
                    features.of_part[part as usize].get_or_insert(feature);
                }
                _ => features.phrases.insert(numbers, feature),
            }
        }
        features
    }

    fn new_part(&mut self, stem: &str) -> u32 {
        if let Some(&part) = self.parts.get(stem) {
            return part;
        }
        let part = self.of_part.len() as u32; // fewer than 2³² words have few words of phrases each
        self.of_part.push(None);
        self.parts.insert(stem.to_owned(), part);
        part
    }

    /// The number of a stem, or `OTHER`.
    pub(crate) fn part(&self, stem: &str) -> u32 {
        self.parts.get(stem).copied().unwrap_or(OTHER)
    }

    /// The feature of a stem by its number, as a word by itself.
    pub(crate) fn of_part(&self, part: u32) -> Option<u32> {
        self.of_part.get(part as usize).copied().flatten()
    }

    /// The feature of every phrase, and of every word that is in none.
    pub(crate) fn of_parts(&self, parts: &[Part]) -> Vec<Option<u32>> {
        let mut found = Vec::with_capacity(parts.len());
        self.phrases.cut(parts, |range, phrase| {
            found.push(phrase.or_else(|| self.of_part(parts.get(range.start)?.word)));
        });
        found
    }
}

impl<'a> Vocabulary<'a> {
    /// `words` as [`crate::WordBags::vocabulary`] lists them; use the tokenizer of
    /// [`WordBags::options`](crate::WordBags::options). Where two of them count as the same, the first has it. Words beyond 2³²
    /// are not found.
    pub fn new(words: &[impl AsRef<str>], tokenizer: &'a Tokenizer) -> Self {
        let words = words.iter().map(|word| word.as_ref().to_owned()).collect();
        let tables = if tokenizer.stems() { Language::COUNT } else { 1 };
        Self { tokenizer, words, features: (0..tables).map(|_| OnceLock::new()).collect() }
    }

    /// The feature of every token of `text`, in their order, a phrase of the vocabulary being one; `None` for an unknown word.
    ///
    /// ```
    /// use countgrid_text::{TextOptions, Tokenizer, Vocabulary};
    ///
    /// let tokenizer = Tokenizer::new(&TextOptions::default())?;
    /// let vocabulary = Vocabulary::new(&["cats", "dog"], &tokenizer);
    /// assert!(vocabulary.features("Dog, horse, cats.").eq([Some(1), None, Some(0)]));
    /// # Ok::<(), countgrid_text::TextError>(())
    /// ```
    pub fn features(&self, text: &str) -> impl Iterator<Item = Option<u32>> {
        let Forms { forms, joined, detected, .. } = self.tokenizer.forms(text);
        let language = self.tokenizer.choose(detected, forms.iter().map(|form| (form.as_str(), 1)));
        let table = self.features.get(language.index()).or_else(|| self.features.first());
        let features =
            table.map(|table| table.get_or_init(|| Features::new(&self.words, language, self.tokenizer)));
        let mut parts = Vec::with_capacity(forms.len());
        let mut before = false; // whether the form before is a word
        for (form, joined) in forms.iter().zip(joined) {
            let word = self.tokenizer.word(language, form);
            let joined = joined && before;
            before = word.is_some();
            if let (Some(word), Some(features)) = (word, features) {
                parts.push(Part { word: features.part(&self.tokenizer.stem(language, &word)), joined });
            }
        }
        features.map(|features| features.of_parts(&parts)).unwrap_or_default().into_iter()
    }

    /// The bag of `text`: `(feature, count)`, features ascending. Unknown words are left out; a count ends
    /// at `u32::MAX`.
    #[must_use]
    pub fn count(&self, text: &str) -> Vec<(u32, u32)> {
        let mut bag = BTreeMap::new();
        for feature in self.features(text).flatten() {
            let count: &mut u32 = bag.entry(feature).or_default();
            *count = count.saturating_add(1);
        }
        bag.into_iter().collect()
    }
}
