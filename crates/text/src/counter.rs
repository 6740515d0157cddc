use std::{collections::HashMap, mem::take};

use crate::{Selection, TextError, TextOptions, Tokenizer};

/// What was read of a collection, and what was left out.
///
/// Example: [`Counter`](crate::Counter).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tokens read, stop words not counted.
    pub tokens: u64,
    /// Tokens of the vocabulary: the sum of all counts.
    pub kept_tokens: u64,
    /// Distinct words read (stems, with stemming).
    pub words: usize,
    /// Words that are in too few documents.
    pub rare: usize,
    /// Words that are in too many.
    pub common: usize,
    /// Words beyond the largest vocabulary.
    pub surplus: usize,
}

/// Counts the words of documents that come one after the other: what [`crate::bags`] does, without the bags.
///
/// Each document becomes a bag of *forms*, words as they are written, numbered from 0 by first appearance, for the
/// caller to keep; once all are read, [`Counter::select`] returns which forms are words of the vocabulary. With
/// stemming several forms are one word. Memory grows with the distinct forms.
///
/// ```
/// use countgrid_text::{Counter, TextOptions};
/// let mut counter = Counter::new(&TextOptions { max_share: 1.0, ..TextOptions::default() })?;
/// assert_eq!(counter.read("A dog, two dogs, a dog")?, [(0, 2), (1, 1), (2, 1)]); // dog, two, dogs
/// assert_eq!(counter.read("Two cats")?, [(1, 1), (3, 1)]);
/// let selected = counter.select();
/// assert_eq!(selected.vocabulary, ["cats", "dog", "dogs", "two"]);
/// assert_eq!(selected.feature_of, [Some(1), Some(3), Some(2), Some(0)]);
/// # Ok::<(), countgrid_text::TextError>(())
/// ```
#[derive(Debug)]
pub struct Counter {
    options: TextOptions,
    tokenizer: Tokenizer,
    forms: Forms,
    documents: usize,
    present: Vec<u32>,    // forms of the last document, one for each token; then its stems
    bag: Vec<(u32, u32)>, // the last document
}

/// Words as they are written, and their stems.
#[derive(Debug, Default)]
struct Forms {
    numbers: HashMap<String, u32>, // of a token as written: its number
    uses: Vec<Uses>,               // of each form
    stems: HashMap<String, u32>,   // of a stem: its number
    spread: Vec<usize>,            // documents that each stem is in
}

impl Forms {
    /// The number of a form, which it gets if it has none; `None` where a `u32` does not suffice.
    fn number(&mut self, form: &str, tokenizer: &Tokenizer) -> Option<u32> {
        if let Some(&number) = self.numbers.get(form) {
            return Some(number);
        }
        let number = u32::try_from(self.uses.len()).ok()?;
        let next = u32::try_from(self.spread.len()).ok()?;
        let stem = *self.stems.entry(tokenizer.stem(form).into_owned()).or_insert(next);
        if stem == next {
            self.spread.push(0);
        }
        self.uses.push(Uses { tokens: 0, stem });
        self.numbers.insert(form.to_owned(), number);
        Some(number)
    }
}

/// How often a form was read, and the stem that it belongs to.
#[derive(Clone, Copy, Debug)]
struct Uses {
    tokens: u64,
    stem: u32,
}

/// The vocabulary of a collection that was counted.
///
/// Example: [`Counter`](crate::Counter).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// The words, sorted. With stemming, the commonest word of each stem.
    pub vocabulary: Vec<String>,
    /// The feature, an index into the vocabulary, of each form that stays.
    pub feature_of: Vec<Option<u32>>,
    /// What was read and what was left out.
    pub summary: Summary,
}

impl Counter {
    /// Nothing read yet.
    ///
    /// # Errors
    /// [`TextError::MaxShare`], [`TextError::Ngrams`] and [`TextError::Letters`].
    pub fn new(options: &TextOptions) -> Result<Self, TextError> {
        Ok(Self {
            options: options.clone(),
            tokenizer: Tokenizer::new(options)?,
            forms: Forms::default(),
            documents: 0,
            present: Vec::new(),
            bag: Vec::new(),
        })
    }

    /// Counts a document: `(form, tokens)`, forms ascending, stop words not counted.
    ///
    /// # Errors
    /// [`TextError::TooMany`] where a `u32` does not suffice.
    pub fn read(&mut self, document: &str) -> Result<&[(u32, u32)], TextError> {
        let too_many = TextError::TooMany { document: self.documents };
        self.present.clear();
        self.bag.clear();
        for token in self.tokenizer.tokens(document) {
            self.present.push(self.forms.number(&token, &self.tokenizer).ok_or(too_many)?);
        }
        self.present.sort_unstable();
        for same in self.present.chunk_by(|a, b| a == b) {
            self.bag.push((same[0], u32::try_from(same.len()).map_err(|_| too_many)?));
        }
        let bag = take(&mut self.bag);
        self.add(bag.iter().copied());
        self.bag = bag;
        Ok(&self.bag)
    }

    /// Forgets which documents were read, but not the numbers of their forms: to count some of them again with
    /// [`Counter::add`], so that the vocabulary is selected by those alone.
    ///
    /// ```
    /// use countgrid_text::{Counter, TextOptions};
    /// let mut counter = Counter::new(&TextOptions { max_share: 1.0, ..TextOptions::default() })?;
    /// let bags = [counter.read("dogs and cats")?.to_vec(), counter.read("one dog")?.to_vec()];
    /// counter.clear();
    /// counter.add(bags[1].iter().copied());
    /// let selected = counter.select();
    /// assert_eq!((selected.vocabulary, selected.summary.words), (vec!["dog".to_owned(), "one".to_owned()], 2));
    /// # Ok::<(), countgrid_text::TextError>(())
    /// ```
    pub fn clear(&mut self) {
        self.forms.uses.iter_mut().for_each(|uses| uses.tokens = 0);
        self.forms.spread.fill(0);
        self.documents = 0;
    }

    /// Counts a document that [`Counter::read`] has made a bag of. Forms that it has not numbered are passed over.
    pub fn add(&mut self, bag: impl IntoIterator<Item = (u32, u32)>) {
        self.present.clear();
        for (form, count) in bag {
            if let Some(uses) = self.forms.uses.get_mut(form as usize) {
                uses.tokens += u64::from(count);
                self.present.push(uses.stem);
            }
        }
        self.present.sort_unstable();
        self.present.dedup();
        for &stem in &self.present {
            self.forms.spread[stem as usize] += 1;
        }
        self.documents += 1;
    }

    /// Adds the documents that another counter with the same options has read, elsewhere or meanwhile: the vocabulary is then that
    /// of all documents, in whatever parts and in whatever order they are put together. Forms that are new here get the next
    /// numbers; returns the number, here, of each form of the other.
    ///
    /// ```
    /// use countgrid_text::{Counter, TextOptions};
    /// let options = TextOptions { max_share: 1.0, ..TextOptions::default() };
    /// let [mut here, mut elsewhere] = [Counter::new(&options)?, Counter::new(&options)?];
    /// here.read("A dog, two dogs")?;
    /// elsewhere.read("Two cats, a dog")?;
    /// assert_eq!(here.merge(&elsewhere)?, [1, 3, 0]); // two, cats, dog
    /// let selected = here.select();
    /// assert_eq!(selected.vocabulary, ["cats", "dog", "dogs", "two"]);
    /// assert_eq!(selected.summary.tokens, 6);
    /// # Ok::<(), countgrid_text::TextError>(())
    /// ```
    ///
    /// # Errors
    /// [`TextError::TooMany`] where a `u32` does not suffice to number the forms.
    pub fn merge(&mut self, other: &Self) -> Result<Vec<u32>, TextError> {
        let too_many = TextError::TooMany { document: self.documents };
        let mut forms: Vec<(&String, u32)> =
            other.forms.numbers.iter().map(|(form, &number)| (form, number)).collect();
        forms.sort_unstable_by_key(|&(_, number)| number);
        let mut numbers = Vec::with_capacity(forms.len());
        let mut counted = vec![false; other.forms.spread.len()]; // stems of the other
        for (form, number) in forms {
            let here = self.forms.number(form, &self.tokenizer).ok_or(too_many)?;
            let Uses { tokens, stem } = other.forms.uses[number as usize];
            let uses = &mut self.forms.uses[here as usize];
            uses.tokens += tokens;
            if !std::mem::replace(&mut counted[stem as usize], true) {
                self.forms.spread[uses.stem as usize] += other.forms.spread[stem as usize];
            }
            numbers.push(here);
        }
        self.documents += other.documents;
        Ok(numbers)
    }

    /// Selects the vocabulary by the options.
    #[must_use]
    pub fn select(self) -> Selected {
        // The commonest form of each stem stands for it, of equals the first in order.
        let mut shown: Vec<(u64, String)> = vec![(0, String::new()); self.forms.spread.len()];
        let mut tokens = vec![0u64; self.forms.spread.len()];
        for (form, number) in self.forms.numbers {
            let uses = &self.forms.uses[number as usize];
            let best = &mut shown[uses.stem as usize];
            tokens[uses.stem as usize] += uses.tokens;
            if uses.tokens > best.0 || (uses.tokens == best.0 && form < best.1) {
                *best = (uses.tokens, form);
            }
        }
        // From here on words are in sorted order; every form belongs to one stem, so they are distinct.
        let mut order: Vec<usize> = (0..shown.len()).filter(|&stem| self.forms.spread[stem] > 0).collect();
        order.sort_unstable_by(|&a, &b| shown[a].1.cmp(&shown[b].1));
        let spread: Vec<usize> = order.iter().map(|&stem| self.forms.spread[stem]).collect();
        let Selection { kept, rare, common, surplus } =
            Selection::new(&spread, self.documents, &self.options);

        let mut feature_of_stem = vec![None; shown.len()];
        let mut vocabulary = Vec::with_capacity(kept.len());
        let mut kept_tokens = 0;
        for (&place, feature) in kept.iter().zip(0u32..) {
            let stem = order[place];
            feature_of_stem[stem] = Some(feature);
            vocabulary.push(take(&mut shown[stem].1));
            kept_tokens += tokens[stem];
        }
        let feature_of = self.forms.uses.iter().map(|uses| feature_of_stem[uses.stem as usize]).collect();
        let words = order.len();
        let summary = Summary { tokens: tokens.iter().sum(), kept_tokens, words, rare, common, surplus };
        Selected { vocabulary, feature_of, summary }
    }
}
