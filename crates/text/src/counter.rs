use std::{
    collections::{BTreeMap, HashMap},
    mem::take,
};

use crate::{
    Language, Languages, Selection, StopWords, TextError, TextOptions, Tokenizer,
    language::Candidates,
    parts::Stem,
    phrases::{Part, Phrases, Search},
    tokenizer::Forms,
    vocabulary::Features,
};

/// What was read of a collection, and what was left out.
///
/// Example: [`Counter`](crate::Counter).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tokens read, stop words not counted; those of phrases are counted one by one.
    pub tokens: u64,
    /// Distinct words read (stems, with stemming), and phrases.
    pub words: usize,
    /// Words that are in too few documents.
    pub rare: usize,
    /// Words that are in too many.
    pub common: usize,
    /// Words beyond the largest vocabulary.
    pub surplus: usize,
}

/// Documents that are compared by their letters with all languages, as long as there are no more.
const COMPARED: u64 = 4_096;
/// Then one in so many is.
const ONE_IN: u64 = 16;

/// The language of a document that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum In<'a> {
    WhatIsTold,              // by it and those before
    Known(Option<Language>), // or that it does not tell
    OneOf(&'a [Language]),   // if its letters tell
}

/// A form that has not been looked at in a language, and one that is no word of it.
const UNSEEN: u32 = u32::MAX;
const NO_WORD: u32 = u32::MAX - 1;

/// Counts the words of documents that come one after the other: what [`crate::bags`] does, without the bags.
///
/// Each document becomes a bag of *forms*, words as they are written, stop words too, numbered from 0 by first appearance, for
/// the caller to keep. Once all are read, [`Counter::finish`] decides which languages the collection is in, and
/// [`WordCounts`] counts the words of the bags, so that [`WordCounts::select`] can select the vocabulary. With stemming several
/// forms are one word. Memory grows with the distinct forms, and by a few bytes with each document.
///
/// Where phrases are looked for ([`TextOptions::phrases`]) the bag of a document is a sequence, and documents are counted more
/// than once ([`WordCounts::again`]).
///
/// ```
/// use countgrid_text::{Counter, TextOptions};
/// let mut counter = Counter::new(&TextOptions { max_share: 1.0, ..TextOptions::default() })?;
/// let bags = [counter.read("A dog, two dogs, a dog")?.to_vec(), counter.read("Two cats")?.to_vec()];
/// assert_eq!(bags[0], [(0, 2), (1, 2), (2, 1), (3, 1)]); // a, dog, two, dogs
/// let mut words = counter.finish()?;
/// assert_eq!((words.add(0, &bags[0]), words.add(1, &bags[1])), (4, 2)); // "a" is a stop word
/// let selected = words.select();
/// assert_eq!(selected.vocabulary, ["cats", "dog", "dogs", "two"]);
/// assert!(selected.bag(0, &bags[0]).eq([(1, 2), (3, 1), (2, 1)]));
/// # Ok::<(), countgrid_text::TextError>(())
/// ```
#[derive(Debug)]
pub struct Counter {
    options: TextOptions,
    tokenizer: Tokenizer,
    forms: HashMap<String, u32>,     // their numbers
    detected: Vec<Option<Language>>, // of each document
    told: Told,
    unspaced: bool,        // whether some text without spaces was cut by dictionaries
    present: Vec<u32>,     // forms of the last document, one for each token
    line_ends: Vec<usize>, // of the last document: tokens up to the end of each line
    sorted: Vec<u32>,      // the same forms, ascending
    bag: Vec<(u32, u32)>,  // the last document
}

impl Counter {
    /// Nothing read yet.
    ///
    /// # Errors
    /// As [`Tokenizer::new`].
    pub fn new(options: &TextOptions) -> Result<Self, TextError> {
        Ok(Self {
            options: options.clone(),
            tokenizer: Tokenizer::new(options)?,
            forms: HashMap::new(),
            detected: Vec::new(),
            told: Told::default(),
            unspaced: false,
            present: Vec::new(),
            line_ends: Vec::new(),
            sorted: Vec::new(),
            bag: Vec::new(),
        })
    }

    /// Reads a document: `(form, tokens)`, forms ascending; with phrases `(place, form + 1)`, places ascending, one more than the
    /// last where the form may continue a phrase.
    ///
    /// # Errors
    /// [`TextError::TooMany`] where a `u32` does not suffice.
    pub fn read(&mut self, document: &str) -> Result<&[(u32, u32)], TextError> {
        self.read_with(document, |_| ())
    }

    /// As [`Counter::read`], and calls `visit` with every form in the order of the text, which bags do not have.
    ///
    /// # Errors
    /// As [`Counter::read`].
    ///
    /// ```
    /// use countgrid_text::{Counter, TextOptions};
    /// let (mut counter, mut forms) = (Counter::new(&TextOptions::default())?, Vec::new());
    /// let bag = counter.read_with("A dog, two dogs, a dog", |form| forms.push(form.to_owned()))?;
    /// assert_eq!((bag.len(), forms.join(" ")), (4, "a dog two dogs a dog".to_owned()));
    /// # Ok::<(), countgrid_text::TextError>(())
    /// ```
    pub fn read_with(&mut self, document: &str, visit: impl FnMut(&str)) -> Result<&[(u32, u32)], TextError> {
        self.read_in(document, In::WhatIsTold, visit)
    }

    /// As [`Counter::read_with`], for a document of which something is known.
    pub(crate) fn read_in(
        &mut self,
        document: &str,
        language: In<'_>,
        mut visit: impl FnMut(&str),
    ) -> Result<&[(u32, u32)], TextError> {
        let too_many = TextError::TooMany { document: self.detected.len() };
        self.present.clear();
        self.bag.clear();
        let mut documents = 1;
        let candidates = || match language {
            In::WhatIsTold => {
                let candidates;
                (candidates, documents) = self.told.next_by_letters(self.detected.len());
                candidates
            }
            In::OneOf(these) => Candidates::These(these.into()),
            In::Known(_) => Candidates::None,
        };
        let Forms { forms, joined, line_ends, detected, unspaced } =
            self.tokenizer.forms_among(document, candidates);
        let detected = if let In::Known(language) = language { language } else { detected };
        self.line_ends = line_ends;
        self.told.add(detected, documents);
        for form in forms {
            visit(&form);
            let next = u32::try_from(self.forms.len()).ok().filter(|&next| next < NO_WORD);
            let number = match self.forms.get(&form) {
                Some(&number) => number,
                None => *self.forms.entry(form).or_insert(next.ok_or(too_many)?),
            };
            self.present.push(number);
        }
        if self.tokenizer.has_phrases() {
            let mut next = 0u32;
            for (&form, joined) in self.present.iter().zip(joined) {
                let place = if joined { Some(next) } else { next.checked_add(1) };
                let place = place.filter(|&place| place < u32::MAX).ok_or(too_many)?;
                self.bag.push((place, form + 1));
                next = place + 1;
            }
        } else {
            self.sorted.clone_from(&self.present);
            self.sorted.sort_unstable();
            for same in self.sorted.chunk_by(|a, b| a == b) {
                self.bag.push((same[0], u32::try_from(same.len()).map_err(|_| too_many)?));
            }
        }
        self.detected.push(detected);
        self.unspaced |= unspaced;
        Ok(&self.bag)
    }

    /// The lines of the last document that have a word, each as its forms in their order; none with
    /// [`TextOptions::ngrams`].
    ///
    /// ```
    /// use countgrid_text::{Counter, TextOptions};
    /// let mut counter = Counter::new(&TextOptions::default())?;
    /// counter.read("Red ants\n\n-- 12 --\nSent by an ant")?;
    /// assert!(counter.lines().eq([&[0, 1][..], &[2, 3, 4, 5]]));
    /// assert_eq!(counter.finish()?.form(5), Some("ant"));
    /// # Ok::<(), countgrid_text::TextError>(())
    /// ```
    pub fn lines(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.line_ends.iter().copied());
        starts.zip(&self.line_ends).filter_map(|(start, &end)| self.present.get(start..end))
    }

    /// Once all documents are read: in which languages they are, by [`Languages`].
    ///
    /// # Errors
    /// As [`Tokenizer::new`].
    pub fn finish(self) -> Result<WordCounts, TextError> {
        let Self { options, forms, detected, told, unspaced, .. } = self;
        let options = settled(options, &told, detected.len(), unspaced);
        WordCounts::new(options, forms, detected)
    }

    /// As [`Counter::finish`], with the options as they are.
    pub(crate) fn finish_as_is(self) -> Result<WordCounts, TextError> {
        WordCounts::new(self.options, self.forms, self.detected)
    }
}

/// Options with what is known of a collection once all its documents are read.
pub(crate) fn settled(
    mut options: TextOptions,
    told: &Told,
    documents: usize,
    unspaced: bool,
) -> TextOptions {
    if options.languages == Languages::Auto {
        options.languages = Languages::Known(told.frequent(documents));
    }
    if options.stop_words == StopWords::Auto && options.languages == Languages::english() {
        options.stop_words = StopWords::English;
    }
    options.segment &= unspaced;
    options
}

/// The languages that the documents so far told, and with which of them the next are compared by their letters.
///
/// A comparison with all languages takes longer than all else that reads a title, and once thousands were compared it mostly finds
/// nothing new. Those that are not, for which others stand, can be in a language of the collection alone, and are as those
/// that do not tell where there is but one. Each decision depends on the documents before it alone, which are read one after the other.
#[derive(Debug, Default)]
pub(crate) struct Told {
    documents: BTreeMap<Language, u64>, // each that was compared with all, for itself and those it stands for
    by_letters: u64,                    // documents so far that only letters could tell the language of
}

impl Told {
    /// The languages that a document may be in whose language only its letters could tell, after `before` documents, and how many
    /// documents it stands for.
    pub(crate) fn next_by_letters(&mut self, before: usize) -> (Candidates<'static>, u64) {
        let number = self.by_letters;
        self.by_letters += 1;
        if number < COMPARED {
            return (Candidates::All, 1);
        }
        if number.is_multiple_of(ONE_IN) {
            return (Candidates::All, ONE_IN);
        }
        let frequent = self.frequent(before);
        let candidates =
            if frequent.len() > 1 { Candidates::These(frequent.into()) } else { Candidates::None };
        (candidates, 0)
    }

    /// A document that tells its language or does not, and stands for so many.
    pub(crate) fn add(&mut self, language: Option<Language>, documents: u64) {
        if let Some(language) = language {
            *self.documents.entry(language).or_default() += documents;
        }
    }

    /// The language of most of the documents that tell theirs, then the others of at least a hundredth of all documents.
    fn frequent(&self, documents: usize) -> Vec<Language> {
        let mut languages: Vec<_> = self.documents.iter().map(|(&language, &own)| (language, own)).collect();
        languages.sort_by_key(|&(language, own)| (core::cmp::Reverse(own), language));
        let is_frequent = |own: u64| own.saturating_mul(100) >= documents as u64;
        let kept = languages.iter().enumerate().filter(|&(place, &(_, own))| place == 0 || is_frequent(own));
        let kept: Vec<_> = kept.map(|(_, &(language, _))| language).collect();
        if kept.is_empty() { vec![Language::ENGLISH] } else { kept }
    }
}

/// Counts the words of documents that were read, in the languages that they are in.
///
/// Example: [`Counter`](crate::Counter).
#[derive(Debug)]
pub struct WordCounts {
    options: TextOptions, // with the languages
    tokenizer: Tokenizer,
    texts: Vec<String>,              // of the forms
    detected: Vec<Option<Language>>, // of each document
    languages: Vec<Language>,
    of_languages: Vec<InLanguage>,
    words: HashMap<(String, u32), u32>, // of a word and its stem: its number
    stems: HashMap<String, u32>,        // of a stem: its number
    uses: Vec<Uses>,                    // of each word
    spread: Vec<usize>,                 // documents that each stem is in
    documents: BTreeMap<Language, usize>,
    tokens: u64,
    adjacent: u64,    // pairs of words that may be of one phrase
    phrases: Phrases, // of stems, with numbers among the stems
    stems_of_phrases: HashMap<u32, Vec<u32>>,
    surfaces: HashMap<Vec<u32>, u32>, // of the words of a phrase: its number among the words
    search: Option<Search>,           // while documents are counted for their phrases
    present: Vec<u32>,                // stems of the last document
}

/// What forms are in one language.
#[derive(Clone, Debug)]
struct InLanguage {
    word: Vec<u32>, // of each form: its word, or `UNSEEN`, `NO_WORD`
}

impl InLanguage {
    fn new(forms: usize) -> Self {
        Self { word: vec![UNSEEN; forms] }
    }
}

/// How often a word was read, and the stem that it belongs to.
#[derive(Debug)]
struct Uses {
    tokens: u64,
    stem: u32,
    text: String, // if it may be part of a phrase
}

impl WordCounts {
    /// Nothing counted yet.
    fn new(
        options: TextOptions,
        forms: HashMap<String, u32>,
        detected: Vec<Option<Language>>,
    ) -> Result<Self, TextError> {
        let tokenizer = Tokenizer::new(&options)?;
        let languages = match &options.languages {
            Languages::Known(languages) => languages.clone(),
            Languages::Auto => Vec::new(),
        };
        let mut texts = vec![String::new(); forms.len()];
        forms.into_iter().for_each(|(form, number)| texts[number as usize] = form);
        let of_languages: Vec<_> = languages.iter().map(|_| InLanguage::new(texts.len())).collect();
        Ok(Self {
            options,
            tokenizer,
            texts,
            detected,
            languages,
            of_languages,
            words: HashMap::new(),
            stems: HashMap::new(),
            uses: Vec::new(),
            spread: Vec::new(),
            documents: BTreeMap::new(),
            tokens: 0,
            adjacent: 0,
            phrases: Phrases::default(),
            stems_of_phrases: HashMap::new(),
            surfaces: HashMap::new(),
            search: None,
            present: Vec::new(),
        })
    }

    /// What was counted without phrases: stems with their words, documents in each language, tokens.
    pub(crate) fn into_parts(self) -> (BTreeMap<String, Stem>, BTreeMap<Language, usize>, u64) {
        let Self { words, stems, uses, spread, documents, tokens, .. } = self;
        let mut names: Vec<(String, Stem)> = spread
            .into_iter()
            .map(|documents| (String::new(), Stem { documents, words: BTreeMap::new() }))
            .collect();
        stems.into_iter().for_each(|(stem, number)| names[number as usize].0 = stem);
        for ((word, stem), number) in words {
            names[stem as usize].1.words.insert(word, uses[number as usize].tokens);
        }
        (names.into_iter().collect(), documents, tokens)
    }

    /// The counts of documents that are not here.
    pub(crate) fn from_parts(
        options: &TextOptions,
        parts: BTreeMap<String, Stem>,
        documents: BTreeMap<Language, usize>,
        tokens: u64,
    ) -> Result<Self, TextError> {
        let mut counts = Self::new(options.clone(), HashMap::new(), Vec::new())?;
        let read = documents.values().try_fold(0usize, |sum, &own| sum.checked_add(own));
        let too_many = TextError::TooMany { document: read.unwrap_or(usize::MAX) };
        read.ok_or(too_many)?;
        for (stem, Stem { documents, words }) in parts {
            let number = u32::try_from(counts.spread.len()).map_err(|_| too_many)?;
            counts.spread.push(documents);
            counts.stems.insert(stem, number);
            for (word, tokens) in words {
                let place = u32::try_from(counts.uses.len()).map_err(|_| too_many)?;
                counts.uses.push(Uses { tokens, stem: number, text: String::new() });
                counts.words.insert((word, number), place);
            }
        }
        Ok(Self { documents, tokens, ..counts })
    }

    /// Counts a document, by its number in the order of reading and the bag that [`Counter::read`] has made of it; returns its
    /// tokens, stop words not counted. Forms and documents that were not read are passed over.
    pub fn add(&mut self, document: usize, bag: &[(u32, u32)]) -> u64 {
        let (place, language) = self.language(document, bag);
        self.present.clear();
        let tokens = match self.tokenizer.has_phrases() {
            true => self.add_sequence(place, language, bag),
            false => self.add_bag(place, language, bag),
        };
        if self.search.is_some() {
            return tokens;
        }
        self.tokens += tokens;
        self.present.sort_unstable();
        self.present.dedup();
        for &stem in &self.present {
            self.spread[stem as usize] += 1;
        }
        *self.documents.entry(language).or_default() += 1;
        tokens
    }

    /// A form by its number, if it was read.
    ///
    /// Example: [`Counter::lines`].
    #[must_use]
    pub fn form(&self, number: u32) -> Option<&str> {
        self.texts.get(number as usize).map(String::as_str)
    }

    fn add_bag(&mut self, place: usize, language: Language, bag: &[(u32, u32)]) -> u64 {
        let mut tokens = 0u64;
        for &(form, count) in bag {
            let Some(word) = self.word(place, language, form) else { continue };
            let uses = &mut self.uses[word as usize];
            uses.tokens += u64::from(count);
            self.present.push(uses.stem);
            tokens += u64::from(count);
        }
        tokens
    }

    fn add_sequence(&mut self, place: usize, language: Language, bag: &[(u32, u32)]) -> u64 {
        let (mut words, mut parts) = (Vec::with_capacity(bag.len()), Vec::with_capacity(bag.len()));
        for_each_form(bag, |form, joined| {
            let word = self.word(place, language, form);
            if let Some(word) = word {
                words.push(word);
                parts.push(Part { word: self.uses[word as usize].stem, joined });
            }
            word.is_some()
        });
        let tokens = words.len() as u64;
        if let Some(search) = &mut self.search {
            search.add(&self.phrases, &parts);
            return tokens;
        }
        self.adjacent += parts.iter().filter(|part| part.joined).count() as u64;
        let phrases = take(&mut self.phrases);
        phrases.cut(&parts, |range, phrase| {
            let Some(own) = words.get(range) else { return };
            let word = match (phrase, own) {
                (None, &[word, ..]) => Some(word),
                (Some(stem), _) => self.surface(stem, own),
                _ => None,
            };
            if let Some(uses) = word.and_then(|word| self.uses.get_mut(word as usize)) {
                uses.tokens += 1;
                self.present.push(uses.stem);
            }
        });
        self.phrases = phrases;
        tokens
    }

    /// The word that a phrase is as it is written here.
    fn surface(&mut self, stem: u32, words: &[u32]) -> Option<u32> {
        if let Some(&number) = self.surfaces.get(words) {
            return Some(number);
        }
        let number = u32::try_from(self.uses.len()).ok().filter(|&next| next < NO_WORD)?;
        let text = words.iter().map(|&word| self.uses[word as usize].text.as_str());
        let text = text.collect::<Vec<_>>().join(" ");
        self.uses.push(Uses { tokens: 0, stem, text: text.clone() });
        // Two words of one text have stems of two languages, so that they are no surfaces of one phrase.
        self.words.insert((text, stem), number);
        self.surfaces.insert(words.to_vec(), number);
        Some(number)
    }

    /// Once all documents were added: whether all of them are to be added again, in the same order, since phrases are looked for
    /// by several passes. Never without [`TextOptions::phrases`].
    ///
    /// ```
    /// use countgrid_text::{Counter, TextOptions};
    /// let options = TextOptions { phrases: true, max_share: 1.0, ..TextOptions::default() };
    /// let mut counter = Counter::new(&options)?;
    /// let texts = (0..40).map(|n| format!("Word{n} wants a hard drive, a drive as hard as {n}word."));
    /// let bags = texts.map(|text| Ok(counter.read(&text)?.to_vec())).collect::<Result<Vec<_>, _>>()?;
    /// let mut words = counter.finish()?;
    /// loop {
    ///     bags.iter().enumerate().for_each(|(document, bag)| _ = words.add(document, bag));
    ///     if !words.again() {
    ///         break;
    ///     }
    /// }
    /// let selected = words.select();
    /// assert_eq!(selected.vocabulary, ["drive", "hard", "hard drive", "wants"]);
    /// assert!(selected.bag(0, &bags[0]).eq([(3, 1), (2, 1), (0, 1), (1, 1)]));
    /// # Ok::<(), countgrid_text::TextError>(())
    /// ```
    pub fn again(&mut self) -> bool {
        if !self.tokenizer.has_phrases() {
            return false;
        }
        let Some(mut search) = self.search.take() else {
            if !self.stems_of_phrases.is_empty() || self.adjacent == 0 {
                return false;
            }
            let (least, _) = self.options.limits(self.documents.values().sum());
            self.search = Some(Search::new(&self.spread, least, take(&mut self.adjacent)));
            return true;
        };
        let (found, again) = search.next(self.stems_of_phrases.len());
        for pair in found {
            let Ok(number) = u32::try_from(self.spread.len()) else { break };
            let stems: Vec<u32> = pair
                .iter()
                .flat_map(|stem| self.stems_of_phrases.get(stem).cloned().unwrap_or_else(|| vec![*stem]))
                .collect();
            self.spread.push(0);
            self.phrases.insert(stems.iter().copied(), number);
            self.stems_of_phrases.insert(number, stems);
        }
        if again {
            self.search = Some(search);
            return true;
        }
        // Phrases are counted in place of their words, if there are any.
        if !self.phrases.is_empty() {
            self.uses.iter_mut().for_each(|uses| uses.tokens = 0);
            self.spread.fill(0);
            self.documents.clear();
            self.tokens = 0;
        }
        !self.phrases.is_empty()
    }

    /// The language of a document, and its place among those of the collection.
    fn language(&self, document: usize, bag: &[(u32, u32)]) -> (usize, Language) {
        choose(&self.tokenizer, &self.languages, &self.detected, &self.texts, document, bag)
    }

    /// The word that a form is in a language.
    fn word(&mut self, place: usize, language: Language, form: u32) -> Option<u32> {
        let known = self.of_languages.get(place)?.word.get(form as usize)?;
        match *known {
            NO_WORD => None,
            UNSEEN => {
                let word = self.new_word(language, form);
                self.of_languages[place].word[form as usize] = word.unwrap_or(NO_WORD);
                word
            }
            word => Some(word),
        }
    }

    fn new_word(&mut self, language: Language, form: u32) -> Option<u32> {
        let word = self.tokenizer.word(language, &self.texts[form as usize])?;
        // Fewer than 2³² of both, since there are no more forms in any language; one more than that in several is unlikely.
        let next = u32::try_from(self.spread.len()).ok()?;
        let stem = *self.stems.entry(self.tokenizer.stem(language, &word).into_owned()).or_insert(next);
        if stem == next {
            self.spread.push(0);
        }
        let next = u32::try_from(self.uses.len()).ok().filter(|&next| next < NO_WORD)?;
        let text = if self.tokenizer.has_phrases() { word.clone().into_owned() } else { String::new() };
        let number = *self.words.entry((word.into_owned(), stem)).or_insert(next);
        if number == next {
            self.uses.push(Uses { tokens: 0, stem, text });
        }
        Some(number)
    }

    /// Selects the vocabulary by the options.
    #[must_use]
    pub fn select(self) -> Selected {
        // The commonest word of each stem stands for it, of equals the first in order.
        let mut shown: Vec<(u64, String)> = vec![(0, String::new()); self.spread.len()];
        for ((word, stem), number) in self.words {
            let uses = &self.uses[number as usize];
            let best = &mut shown[stem as usize];
            if uses.tokens > best.0 || (uses.tokens == best.0 && word < best.1) {
                *best = (uses.tokens, word);
            }
        }
        // From here on words are in sorted order.
        let mut order: Vec<usize> = (0..shown.len()).filter(|&stem| self.spread[stem] > 0).collect();
        order.sort_unstable_by(|&a, &b| shown[a].1.cmp(&shown[b].1));
        // One word may be the commonest of the stems that it has in two languages.
        let mut spread: Vec<(usize, usize)> = Vec::with_capacity(order.len());
        for stem in order {
            match spread.last_mut().filter(|(last, _)| shown[*last].1 == shown[stem].1) {
                Some((_, documents)) => *documents = (*documents).max(self.spread[stem]),
                None => spread.push((stem, self.spread[stem])),
            }
        }
        let (order, spread): (Vec<usize>, Vec<usize>) = spread.into_iter().unzip();
        let documents = self.documents.values().sum();
        let Selection { kept, rare, common, surplus } = Selection::new(&spread, documents, &self.options);
        let vocabulary: Vec<String> = kept.iter().map(|&place| take(&mut shown[order[place]].1)).collect();

        // By the same rule as new documents are counted.
        let mut of_languages = Vec::with_capacity(self.languages.len());
        for (&language, InLanguage { word }) in self.languages.iter().zip(&self.of_languages) {
            let features = Features::new(&vocabulary, language, &self.tokenizer);
            let part_of = self.texts.iter().zip(word).map(|(form, &known)| {
                let word = self.tokenizer.word(language, form).filter(|_| known < NO_WORD)?;
                Some(features.part(&self.tokenizer.stem(language, &word)))
            });
            of_languages.push((part_of.collect::<Vec<_>>(), features));
        }
        let summary = Summary { tokens: self.tokens, words: order.len(), rare, common, surplus };
        let mut languages: Vec<_> = self.documents.into_iter().collect();
        languages.sort_by_key(|&(language, own)| (core::cmp::Reverse(own), language));
        Selected {
            vocabulary,
            summary,
            options: self.options,
            languages,
            tokenizer: self.tokenizer,
            known: self.languages,
            detected: self.detected,
            texts: self.texts,
            of_languages,
        }
    }
}

/// The language of a document, and its place among those of the collection.
fn choose(
    tokenizer: &Tokenizer,
    languages: &[Language],
    detected: &[Option<Language>],
    texts: &[String],
    document: usize,
    bag: &[(u32, u32)],
) -> (usize, Language) {
    let detected = detected.get(document).copied().flatten();
    let forms = bag.iter().filter_map(|&entry| {
        let (form, count) = if tokenizer.has_phrases() { (entry.1.checked_sub(1)?, 1) } else { entry };
        Some((texts.get(form as usize)?.as_str(), count))
    });
    let language = tokenizer.choose(detected, forms);
    (languages.iter().position(|&other| other == language).unwrap_or_default(), language)
}

/// The vocabulary of a collection that was counted.
///
/// Example: [`Counter`](crate::Counter).
#[derive(Debug)]
pub struct Selected {
    /// The words, sorted. With stemming, the commonest word of each stem.
    pub vocabulary: Vec<String>,
    /// What was read and what was left out.
    pub summary: Summary,
    /// The options of the text with the languages that were found: new documents are to be counted with them.
    pub options: TextOptions,
    /// How many of the documents that were counted are in which language, the most first.
    pub languages: Vec<(Language, usize)>,
    tokenizer: Tokenizer,
    known: Vec<Language>,
    detected: Vec<Option<Language>>,
    texts: Vec<String>,
    of_languages: Vec<(Vec<Option<u32>>, Features)>, // in each, of each form: the part that its word is
}

impl Selected {
    /// The bag of a document over the vocabulary, by its number and its bag of forms: `(feature, tokens)`, in the order of the
    /// forms, several of which may be one word; with phrases in that of the text, a token each.
    pub fn bag<'a>(
        &'a self,
        document: usize,
        bag: &'a [(u32, u32)],
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        let (place, _) = choose(&self.tokenizer, &self.known, &self.detected, &self.texts, document, bag);
        let mut found = Vec::with_capacity(bag.len());
        if let Some((part_of, features)) = self.of_languages.get(place) {
            let part = |form: u32| part_of.get(form as usize).copied().flatten();
            if self.tokenizer.has_phrases() {
                let mut parts = Vec::with_capacity(bag.len());
                for_each_form(bag, |form, joined| {
                    parts.extend(part(form).map(|word| Part { word, joined }));
                    part(form).is_some()
                });
                found.extend(features.of_parts(&parts).into_iter().flatten().map(|feature| (feature, 1)));
            } else {
                let feature = |&(form, count)| Some((features.of_part(part(form)?)?, count));
                found.extend(bag.iter().filter_map(feature));
            }
        }
        found.into_iter()
    }
}

/// Visits the forms of a sequence, each with whether it may continue a phrase: it follows one that is a word, by what the visitor
/// says, in the place after it.
fn for_each_form(bag: &[(u32, u32)], mut visit: impl FnMut(u32, bool) -> bool) {
    let mut after = None; // the place after the last word
    for &(place, form) in bag {
        let is_word = form.checked_sub(1).is_some_and(|form| visit(form, after == Some(place)));
        after = place.checked_add(1).filter(|_| is_word);
    }
}
