use std::{
    collections::{BTreeMap, HashMap},
    sync::OnceLock,
};

use crate::{Language, Tokenizer, tokenizer::Forms};

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
    features: Vec<OnceLock<HashMap<String, u32>>>,
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

    /// The feature of every token of `text`, in their order; `None` for an unknown word.
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
        let Forms { forms, detected, .. } = self.tokenizer.forms(text);
        let language = self.tokenizer.choose(detected, forms.iter().map(|form| (form.as_str(), 1)));
        forms.into_iter().filter_map(move |form| {
            let word = self.tokenizer.word(language, &form)?;
            Some(self.feature_of_word(language, &word))
        })
    }

    /// The feature of a form in a language, if it is a word, and of the vocabulary.
    pub(crate) fn feature_of_form(&self, language: Language, form: &str) -> Option<u32> {
        self.feature_of_word(language, &self.tokenizer.word(language, form)?)
    }

    fn feature_of_word(&self, language: Language, word: &str) -> Option<u32> {
        let table = self.features.get(language.index()).or_else(|| self.features.first())?;
        let features = table.get_or_init(|| {
            let mut features = HashMap::with_capacity(self.words.len());
            for (feature, word) in (0..u32::MAX).zip(&self.words) {
                features.entry(self.tokenizer.stem(language, word).into_owned()).or_insert(feature);
            }
            features
        });
        features.get(self.tokenizer.stem(language, word).as_ref()).copied()
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
