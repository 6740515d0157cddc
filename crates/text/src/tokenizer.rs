use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;

use rust_stemmers::Stemmer;

use crate::{
    Language, Languages, StopWords, TextError, TextOptions,
    language::Candidates,
    noise::{clean, is_noise},
    segment::{is_hiragana, is_ideograph, is_unspaced, words},
};

/// Characters that a word may lose to an elision and a possessive.
const CUT: usize = 16;

/// One text to its words.
///
/// Words are those of Unicode Standard Annex 29 in lower case, with straight apostrophes and without invisible
/// format characters; text without spaces is cut by dictionaries ([`TextOptions::segment`]). A possessive `'s` is cut off, and
/// in French, Italian, Catalan and Irish what is elided before a word (`l'objet`). A word counts if it has a letter, is neither
/// too short nor too long, and not a stop word of the text's language.
///
/// ```
/// use countgrid_text::{TextOptions, Tokenizer};
///
/// let tokenizer = Tokenizer::new(&TextOptions::default())?;
/// let tokens: Vec<_> = tokenizer.tokens("It’s Élodie's 3D-model, 42 points: 猫").collect();
/// assert_eq!(tokens, ["élodie", "3d", "model", "points", "猫"]);
/// let french = "L'objet de ce projet est d'écrire un programme qui n'a besoin que de l'essentiel.";
/// assert!(tokenizer.tokens(french).eq(["objet", "projet", "écrire", "programme", "besoin", "essentiel"]));
/// # Ok::<(), countgrid_text::TextError>(())
/// ```
pub struct Tokenizer {
    languages: Languages,
    stop_words: StopWords,
    list: HashSet<String>,                    // the caller's stop words
    stemmers: Vec<OnceLock<Option<Stemmer>>>, // of each language, once it is met
    stem: bool,
    segment: bool,
    keep_noise: bool,
    phrases: bool,
    boilerplate: HashSet<String>, // words of lines, with spaces between them
    min_letters: usize,
    max_letters: usize,
    ngrams: Option<usize>, // at least 1
}

impl Tokenizer {
    /// The tokenizer that `options` describe. Languages that are to be detected may be any.
    ///
    /// # Errors
    /// [`TextError::MaxShare`], [`TextError::Letters`], [`TextError::Ngrams`], [`TextError::Language`],
    /// [`TextError::Segmenter`].
    pub fn new(options: &TextOptions) -> Result<Self, TextError> {
        options.check()?;
        let list = match &options.stop_words {
            StopWords::List(words) => words.iter().map(|word| normal_form(word)).collect(),
            _ => HashSet::new(),
        };
        Ok(Self {
            languages: options.languages.clone(),
            stop_words: options.stop_words.clone(),
            list,
            stemmers: (0..Language::COUNT).map(|_| OnceLock::new()).collect(),
            stem: options.stem,
            segment: options.segment,
            keep_noise: options.keep_noise,
            phrases: options.phrases,
            boilerplate: options.boilerplate.iter().map(|line| line_of(line.split_whitespace())).collect(),
            min_letters: options.min_letters,
            max_letters: options.max_letters,
            ngrams: options.ngrams,
        })
    }

    /// The words of `text` in their order, as they are written but for case: not stemmed. With
    /// [`TextOptions::ngrams`] its runs of letters.
    pub fn tokens(&self, text: &str) -> impl Iterator<Item = String> {
        let Forms { forms, detected, .. } = self.forms(text);
        let language = self.choose(detected, forms.iter().map(|form| (form.as_str(), 1)));
        forms.into_iter().filter_map(move |form| self.word(language, &form).map(Cow::into_owned))
    }

    /// The language that a text is taken for, by which its words are told.
    ///
    /// ```
    /// use countgrid_text::{Language, Languages, TextOptions, Tokenizer};
    ///
    /// let languages = Languages::Known(vec!["en".parse()?, "de".parse()?]);
    /// let tokenizer = Tokenizer::new(&TextOptions { languages, ..TextOptions::default() })?;
    /// assert_eq!(tokenizer.language("Spur der Ameisen").code(), "de"); // by its stop word
    /// assert_eq!(tokenizer.language("Ameisen").code(), "en");
    /// # Ok::<(), countgrid_text::TextError>(())
    /// ```
    #[must_use]
    pub fn language(&self, text: &str) -> Language {
        let Forms { forms, detected, .. } = self.forms(text);
        self.choose(detected, forms.iter().map(|form| (form.as_str(), 1)))
    }

    /// What a token of a text in this language is counted as: its stem if stemming is on, else itself.
    ///
    /// English words with letters outside ASCII are their own stem: its rules do not apply to them.
    #[must_use]
    pub fn stem<'a>(&self, language: Language, token: &'a str) -> Cow<'a, str> {
        let foreign = language == Language::ENGLISH && !token.is_ascii();
        if !self.stem || self.ngrams.is_some() || foreign {
            return Cow::Borrowed(token);
        }
        match self.stemmers[language.index()].get_or_init(|| language.stemmer()) {
            Some(stemmer) => stemmer.stem(token),
            None => Cow::Borrowed(token),
        }
    }

    /// Whether words are counted by their stems, which depend on the language.
    pub(crate) fn stems(&self) -> bool {
        self.stem && self.ngrams.is_none()
    }

    /// Whether adjacent words may be one word.
    pub(crate) fn has_phrases(&self) -> bool {
        self.phrases && self.ngrams.is_none()
    }

    /// A text up to where its language matters.
    pub(crate) fn forms(&self, text: &str) -> Forms {
        self.forms_among(text, || Candidates::All)
    }

    /// As [`Tokenizer::forms`]; where only letters could tell the language, it is one of the candidates or none.
    pub(crate) fn forms_among<'a>(&self, text: &str, candidates: impl FnOnce() -> Candidates<'a>) -> Forms {
        if let Some(letters) = self.ngrams {
            let forms: Vec<String> = runs(text, letters).collect();
            let joined = vec![false; forms.len()];
            return Forms { forms, joined, line_ends: Vec::new(), detected: None, unspaced: false };
        }
        let text = if self.keep_noise { Cow::Borrowed(text) } else { clean(text) };
        let most = self.max_letters.saturating_add(CUT);
        let (mut forms, mut joined, mut line_ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = None; // of the word before, if it counts
        let mut line = 0; // where the line of the word before ends
        for word in words(&text, self.segment) {
            let start = word.as_ptr().addr() - text.as_ptr().addr();
            let before = end.take().and_then(|end| text.get(end..start));
            if start >= line {
                end_line(&mut line_ends, forms.len());
                let rest = text.get(start..).unwrap_or_default();
                line = rest.find('\n').map_or(text.len(), |length| start + length);
            }
            if !self.keep_noise && is_noise(word) {
                continue;
            }
            let form = normal_form(word);
            if form.contains(char::is_alphabetic) && form.chars().count() <= most {
                forms.push(form);
                joined.push(before.is_some_and(is_joint));
                end = Some(start + word.len());
            }
        }
        end_line(&mut line_ends, forms.len());
        let unspaced = text.contains(is_unspaced);
        let detected = match &self.languages {
            Languages::Known(one) if one.len() == 1 => None,
            _ => {
                // Text without spaces is told by its script; its words depend on whether dictionaries cut it.
                let by_words = if unspaced { None } else { Language::of_stop_words(&forms) };
                by_words.or_else(|| {
                    Language::detect_among(&text, candidates)
                        .filter(|&language| is_plausible(language, &forms))
                })
            }
        };
        let mut found = Forms { forms, joined, line_ends, detected, unspaced: self.segment && unspaced };
        if !self.boilerplate.is_empty() {
            found.leave_out(|line| self.boilerplate.contains(&line_of(line.iter().map(String::as_str))));
        }
        found
    }

    /// The language of a text with these forms, each so often, in which it was detected or none.
    pub(crate) fn choose<'a>(
        &self,
        detected: Option<Language>,
        forms: impl Iterator<Item = (&'a str, u32)> + Clone,
    ) -> Language {
        let known = match &self.languages {
            Languages::Auto => return detected.unwrap_or(Language::ENGLISH),
            Languages::Known(known) => known,
        };
        if let Some(language) = detected.filter(|language| known.contains(language)) {
            return language;
        }
        let mut best = (0, known.first().copied().unwrap_or(Language::ENGLISH));
        for &language in known.iter().filter(|_| known.len() > 1) {
            let own = forms.clone().filter(|(form, _)| language.has_stop_word(form));
            let tokens = own.fold(0u64, |sum, (_, count)| sum.saturating_add(count.into()));
            if tokens > best.0 {
                best = (tokens, language);
            }
        }
        best.1
    }

    /// The word that a form of a text in this language is, if it counts.
    pub(crate) fn word<'a>(&self, language: Language, form: &'a str) -> Option<Cow<'a, str>> {
        if self.ngrams.is_some() {
            return Some(Cow::Borrowed(form));
        }
        if self.is_stop_word(language, form) {
            return None; // before the cut, for "it's" and "he's"
        }
        let mut token = form;
        if let Some((before, after)) = form.split_once('\'')
            && language.elisions().contains(&before)
        {
            token = after;
        }
        let token = token.strip_suffix("'s").unwrap_or(token);
        if token.len() < form.len() && self.is_stop_word(language, token) {
            return None;
        }
        let letters = token.chars().count();
        let long_enough = letters >= self.min_letters || (letters == 1 && token.chars().all(is_ideograph));
        let wanted = long_enough && letters <= self.max_letters && token.contains(char::is_alphabetic);
        wanted.then_some(Cow::Borrowed(token))
    }

    fn is_stop_word(&self, language: Language, token: &str) -> bool {
        match self.stop_words {
            StopWords::Auto => {
                language.has_stop_word(token) || (language.code() == "ja" && token.chars().all(is_hiragana))
            }
            StopWords::English => Language::ENGLISH.has_stop_word(token),
            StopWords::None => false,
            StopWords::List(_) => self.list.contains(token),
        }
    }
}

/// Whether a text does not have more stop words of English: lists of names look like any language.
fn is_plausible(language: Language, forms: &[String]) -> bool {
    let stop_words = |language: Language| forms.iter().filter(|form| language.has_stop_word(form)).count();
    language == Language::ENGLISH || stop_words(language) >= stop_words(Language::ENGLISH)
}

/// A text up to where its language matters.
pub(crate) struct Forms {
    /// Its words in normal form, stop words and all.
    pub(crate) forms: Vec<String>,
    /// Whether each follows the one before it in the same phrase, if they are one.
    pub(crate) joined: Vec<bool>,
    /// How many forms there are up to the end of each line that has any; none of n-grams.
    pub(crate) line_ends: Vec<usize>,
    /// The language that was detected.
    pub(crate) detected: Option<Language>,
    /// Whether it has text without spaces that was cut by dictionaries.
    pub(crate) unspaced: bool,
}

impl Forms {
    /// Leaves out lines, unless there is one alone.
    fn leave_out(&mut self, is_left_out: impl Fn(&[String]) -> bool) {
        if self.line_ends.len() < 2 {
            return;
        }
        let (mut forms, mut joined, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let (mut start, mut after) = (0, false); // whether the line before was left out
        for &end in &self.line_ends {
            let (Some(own), Some(own_joined)) = (self.forms.get_mut(start..end), self.joined.get(start..end))
            else {
                break;
            };
            start = end;
            let before = std::mem::replace(&mut after, is_left_out(own));
            if !after {
                let first = joined.len();
                forms.extend(own.iter_mut().map(std::mem::take));
                joined.extend(own_joined);
                joined[first] &= !before; // no line is empty
                ends.push(forms.len());
            }
        }
        (self.forms, self.joined, self.line_ends) = (forms, joined, ends);
    }
}

/// Marks the end of a line after so many forms, if there is one since the line before.
fn end_line(ends: &mut Vec<usize>, forms: usize) {
    if ends.last().copied().unwrap_or_default() < forms {
        ends.push(forms);
    }
}

/// A line as it is known: its words in normal form, with spaces between them.
fn line_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(normal_form).collect::<Vec<_>>().join(" ")
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer")
            .field("languages", &self.languages)
            .field("stem", &self.stem)
            .field("min_letters", &self.min_letters)
            .field("max_letters", &self.max_letters)
            .finish()
    }
}

/// Whether two words with this between them may be a phrase: a hyphen, or space with one end of a line at most.
fn is_joint(between: &str) -> bool {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{a0}');
    let is_hyphen = matches!(between, "-" | "\u{2010}" | "\u{2011}");
    is_hyphen || (!between.is_empty() && between.chars().all(is_space) && between.matches('\n').count() < 2)
}

/// All runs of so many letters (at least 1), in lower case.
fn runs(text: &str, letters: usize) -> impl Iterator<Item = String> {
    let letters_of: Vec<char> =
        text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    let count = (letters_of.len() + 1).saturating_sub(letters);
    (0..count).map(move |from| letters_of[from..from + letters].iter().collect())
}

/// Lower case, straight apostrophes, no invisible format characters.
pub(crate) fn normal_form(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let visible: String = word
        .chars()
        .filter(|&c| !is_format(c))
        .map(|c| if matches!(c, '\u{2018}' | '\u{2019}' | '\u{ff07}') { '\'' } else { c })
        .collect();
    visible.to_lowercase()
}

/// Soft hyphens, marks of direction and the like: they would make two words of what reads as one, or turn a
/// page around. The joiners U+200C and U+200D are part of how some languages are spelled. A control character
/// belongs to a word when a combining mark follows it.
fn is_format(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
