use std::collections::{BTreeMap, HashMap};

use crate::Tokenizer;

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
    features: HashMap<String, u32>,
}

impl<'a> Vocabulary<'a> {
    /// `words` as [`crate::WordBags::vocabulary`] lists them; use the tokenizer they were read with. Where two
    /// of them count as the same, the first has it. Words beyond 2³² are not found.
    pub fn new(words: &[impl AsRef<str>], tokenizer: &'a Tokenizer) -> Self {
        let mut features = HashMap::with_capacity(words.len());
        for (feature, word) in (0..u32::MAX).zip(words) {
            features.entry(tokenizer.stem(word.as_ref()).into_owned()).or_insert(feature);
        }
        Self { tokenizer, features }
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
    pub fn features<'b>(&'b self, text: &'b str) -> impl Iterator<Item = Option<u32>> + 'b {
        let tokens = self.tokenizer.tokens(text);
        tokens.map(|token| self.features.get(self.tokenizer.stem(&token).as_ref()).copied())
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
