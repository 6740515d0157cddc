use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use crate::{StopWords, TextError, TextOptions};

/// One text to its words.
///
/// Words are those of Unicode Standard Annex 29 in lower case, with straight apostrophes and without invisible
/// format characters; a possessive `'s` is cut off. A word counts if it has a letter, is neither too short nor
/// too long, and not a stop word.
///
/// ```
/// use countgrid_text::{TextOptions, Tokenizer};
///
/// let tokenizer = Tokenizer::new(&TextOptions::default())?;
/// let tokens: Vec<_> = tokenizer.tokens("It’s Élodie's 3D-model, 42 points: 猫").collect();
/// assert_eq!(tokens, ["élodie", "3d", "model", "points", "猫"]);
/// # Ok::<(), countgrid_text::TextError>(())
/// ```
pub struct Tokenizer {
    stop_words: HashSet<String>,
    stemmer: Option<Stemmer>,
    min_letters: usize,
    max_letters: usize,
    ngrams: Option<usize>, // at least 1
}

impl Tokenizer {
    /// The tokenizer that `options` describe.
    ///
    /// # Errors
    /// [`TextError::MaxShare`], [`TextError::Letters`].
    pub fn new(options: &TextOptions) -> Result<Self, TextError> {
        options.check()?;
        let stop_words = match &options.stop_words {
            StopWords::English => {
                stop_words::lookup("en").unwrap_or_default().iter().map(|word| normal_form(word)).collect()
            }
            StopWords::None => HashSet::new(),
            StopWords::List(words) => words.iter().map(|word| normal_form(word)).collect(),
        };
        Ok(Self {
            stop_words,
            stemmer: options.stem.then(|| Stemmer::create(Algorithm::English)),
            min_letters: options.min_letters,
            max_letters: options.max_letters,
            ngrams: options.ngrams,
        })
    }

    /// The words of `text` in their order, as they are written but for case: not stemmed. With
    /// [`TextOptions::ngrams`] its runs of letters.
    pub fn tokens<'a>(&'a self, text: &'a str) -> impl Iterator<Item = String> + 'a {
        let words = self.ngrams.is_none().then(|| text.unicode_words().filter_map(|word| self.token(word)));
        let runs = self.ngrams.map(|letters| runs(text, letters));
        words.into_iter().flatten().chain(runs.into_iter().flatten())
    }

    /// What a token is counted as: its stem if stemming is on, else itself.
    ///
    /// Words with letters outside ASCII are their own stem: English rules do not apply to them.
    #[must_use]
    pub fn stem<'a>(&self, token: &'a str) -> Cow<'a, str> {
        match &self.stemmer {
            Some(stemmer) if token.is_ascii() && self.ngrams.is_none() => stemmer.stem(token),
            _ => Cow::Borrowed(token),
        }
    }

    fn token(&self, word: &str) -> Option<String> {
        let mut token = normal_form(word);
        if self.stop_words.contains(&token) {
            return None; // before the cut, for "it's" and "he's"
        }
        if token.ends_with("'s") {
            token.truncate(token.len() - "'s".len());
            if self.stop_words.contains(&token) {
                return None;
            }
        }
        let letters = token.chars().count();
        let long_enough = letters >= self.min_letters || (letters == 1 && token.chars().all(is_ideograph));
        let wanted = long_enough && letters <= self.max_letters && token.chars().any(char::is_alphabetic);
        wanted.then_some(token)
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer")
            .field("stop_words", &self.stop_words.len())
            .field("stem", &self.stemmer.is_some())
            .field("min_letters", &self.min_letters)
            .field("max_letters", &self.max_letters)
            .finish()
    }
}

/// All runs of so many letters (at least 1), in lower case.
fn runs(text: &str, letters: usize) -> impl Iterator<Item = String> {
    let letters_of: Vec<char> =
        text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    let count = (letters_of.len() + 1).saturating_sub(letters);
    (0..count).map(move |from| letters_of[from..from + letters].iter().collect())
}

/// Lower case, straight apostrophes, no invisible format characters.
fn normal_form(word: &str) -> String {
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

/// Whether one character is a word by itself: Chinese is not written with spaces.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}
