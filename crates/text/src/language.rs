use core::{fmt, str::FromStr};
use std::{borrow::Cow, collections::HashMap, sync::OnceLock};

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::{Detector, Info, Lang, Script};

use crate::{TextError, segment::split_within, tokenizer::normal_form};

/// Bytes of a text by which its language is told: more of it tells no more.
const SAMPLE: usize = 4_000;
/// Letters that a text must have for frequencies of three letters to tell its language.
const LETTERS: usize = 40;
/// How certain the comparison with other languages must be, from 0 to 1.
const CONFIDENCE: f64 = 0.9;
/// Words of a text whose stop words are counted: about those of a sample.
const WORDS: usize = 600;
/// Stop words that a text must have to tell its language.
const STOP_WORDS: usize = 6;
/// One word in so many must be a stop word, as in sentences and not in lists of names.
const WORDS_A_STOP_WORD: usize = 5;
/// So many times as many stop words as of any other language: many are words of several.
const TIMES_THE_NEXT: usize = 2;

/// A natural language, by its code of ISO 639.
///
/// ```
/// use countgrid_text::Language;
/// let german: Language = "de".parse()?;
/// assert_eq!((german.code(), german.name(), german.to_string()), ("de", "German", "German".to_owned()));
/// assert_eq!("german".parse(), Ok(german));
/// assert_eq!(Language::detect("Die Ameisen folgen der Spur, die andere Ameisen vor ihnen zum Futter gelegt haben."), Some(german));
/// assert_eq!(Language::detect("Hm."), None);
/// # Ok::<(), countgrid_text::TextError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(u8); // the row of `LANGUAGES`

/// Code, English name, what finds it, what finds its stems.
type Row = (&'static str, &'static str, Option<Lang>, Option<Algorithm>);

/// Every language that can be detected, or has stop words or stems. The order breaks ties.
const LANGUAGES: [Row; 85] = [
    ("en", "English", Some(Lang::Eng), Some(Algorithm::English)),
    ("af", "Afrikaans", Some(Lang::Afr), None),
    ("ak", "Akan", Some(Lang::Aka), None),
    ("am", "Amharic", Some(Lang::Amh), None),
    ("ar", "Arabic", Some(Lang::Ara), Some(Algorithm::Arabic)),
    ("az", "Azerbaijani", Some(Lang::Aze), None),
    ("be", "Belarusian", Some(Lang::Bel), None),
    ("bg", "Bulgarian", Some(Lang::Bul), None),
    ("bn", "Bengali", Some(Lang::Ben), None),
    ("br", "Breton", None, None),
    ("ca", "Catalan", Some(Lang::Cat), None),
    ("cs", "Czech", Some(Lang::Ces), None),
    ("cy", "Welsh", Some(Lang::Cym), None),
    ("da", "Danish", Some(Lang::Dan), Some(Algorithm::Danish)),
    ("de", "German", Some(Lang::Deu), Some(Algorithm::German)),
    ("el", "Greek", Some(Lang::Ell), Some(Algorithm::Greek)),
    ("eo", "Esperanto", Some(Lang::Epo), None),
    ("es", "Spanish", Some(Lang::Spa), Some(Algorithm::Spanish)),
    ("et", "Estonian", Some(Lang::Est), None),
    ("eu", "Basque", None, None),
    ("fa", "Persian", Some(Lang::Pes), None),
    ("fi", "Finnish", Some(Lang::Fin), Some(Algorithm::Finnish)),
    ("fr", "French", Some(Lang::Fra), Some(Algorithm::French)),
    ("ga", "Irish", None, None),
    ("gl", "Galician", None, None),
    ("gu", "Gujarati", Some(Lang::Guj), None),
    ("ha", "Hausa", None, None),
    ("he", "Hebrew", Some(Lang::Heb), None),
    ("hi", "Hindi", Some(Lang::Hin), None),
    ("hr", "Croatian", Some(Lang::Hrv), None),
    ("hu", "Hungarian", Some(Lang::Hun), Some(Algorithm::Hungarian)),
    ("hy", "Armenian", Some(Lang::Hye), None),
    ("id", "Indonesian", Some(Lang::Ind), None),
    ("it", "Italian", Some(Lang::Ita), Some(Algorithm::Italian)),
    ("ja", "Japanese", Some(Lang::Jpn), None),
    ("jv", "Javanese", Some(Lang::Jav), None),
    ("ka", "Georgian", Some(Lang::Kat), None),
    ("kk", "Kazakh", None, None),
    ("km", "Khmer", Some(Lang::Khm), None),
    ("kn", "Kannada", Some(Lang::Kan), None),
    ("ko", "Korean", Some(Lang::Kor), None),
    ("ku", "Kurdish", None, None),
    ("la", "Latin", Some(Lang::Lat), None),
    ("lo", "Lao", None, None),
    ("lt", "Lithuanian", Some(Lang::Lit), None),
    ("lv", "Latvian", Some(Lang::Lav), None),
    ("mk", "Macedonian", Some(Lang::Mkd), None),
    ("ml", "Malayalam", Some(Lang::Mal), None),
    ("mr", "Marathi", Some(Lang::Mar), None),
    ("ms", "Malay", None, None),
    ("my", "Burmese", Some(Lang::Mya), None),
    ("ne", "Nepali", Some(Lang::Nep), None),
    ("nl", "Dutch", Some(Lang::Nld), Some(Algorithm::Dutch)),
    ("no", "Norwegian", Some(Lang::Nob), Some(Algorithm::Norwegian)),
    ("or", "Odia", Some(Lang::Ori), None),
    ("pa", "Punjabi", Some(Lang::Pan), None),
    ("pl", "Polish", Some(Lang::Pol), None),
    ("pt", "Portuguese", Some(Lang::Por), Some(Algorithm::Portuguese)),
    ("ro", "Romanian", Some(Lang::Ron), Some(Algorithm::Romanian)),
    ("ru", "Russian", Some(Lang::Rus), Some(Algorithm::Russian)),
    ("si", "Sinhala", Some(Lang::Sin), None),
    ("sk", "Slovak", Some(Lang::Slk), None),
    ("sl", "Slovenian", Some(Lang::Slv), None),
    ("sn", "Shona", Some(Lang::Sna), None),
    ("so", "Somali", None, None),
    ("sq", "Albanian", None, None),
    ("sr", "Serbian", Some(Lang::Srp), None),
    ("st", "Sotho", None, None),
    ("sv", "Swedish", Some(Lang::Swe), Some(Algorithm::Swedish)),
    ("sw", "Swahili", None, None),
    ("ta", "Tamil", Some(Lang::Tam), Some(Algorithm::Tamil)),
    ("te", "Telugu", Some(Lang::Tel), None),
    ("tg", "Tajik", None, None),
    ("th", "Thai", Some(Lang::Tha), None),
    ("tk", "Turkmen", Some(Lang::Tuk), None),
    ("tl", "Tagalog", Some(Lang::Tgl), None),
    ("tr", "Turkish", Some(Lang::Tur), Some(Algorithm::Turkish)),
    ("uk", "Ukrainian", Some(Lang::Ukr), None),
    ("ur", "Urdu", Some(Lang::Urd), None),
    ("uz", "Uzbek", Some(Lang::Uzb), None),
    ("vi", "Vietnamese", Some(Lang::Vie), None),
    ("yi", "Yiddish", Some(Lang::Yid), None),
    ("yo", "Yoruba", None, None),
    ("zh", "Chinese", Some(Lang::Cmn), None),
    ("zu", "Zulu", Some(Lang::Zul), None),
];

/// The languages that a text may be told to be in by frequencies of its letters.
pub(crate) enum Candidates<'a> {
    All,
    These(Cow<'a, [Language]>),
    None,
}

impl Language {
    /// English, which a text is taken for that does not tell.
    pub const ENGLISH: Self = Self(0);
    /// How many languages there are.
    pub(crate) const COUNT: usize = LANGUAGES.len();

    /// All languages that are known by name.
    pub fn all() -> impl Iterator<Item = Self> {
        (0u8..).take(Self::COUNT).map(Self)
    }

    fn row(self) -> &'static Row {
        &LANGUAGES[self.index()]
    }

    /// Its place among all languages.
    pub(crate) fn index(self) -> usize {
        usize::from(self.0) // rows of the table are the only values
    }

    /// Its code: two letters of ISO 639-1.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.row().0
    }

    /// Its English name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The language of a text, by its script and the frequencies of three letters; `None` if the text is too short to tell, or
    /// could as well be of another language. The first 4,000 bytes tell it.
    ///
    /// Example: [`Language`].
    #[must_use]
    pub fn detect(text: &str) -> Option<Self> {
        Self::detect_among(text, || Candidates::All)
    }

    /// As [`Language::detect`], but where only frequencies of letters could tell, a language of the candidates or none. The first
    /// of them, which a text that does not tell counts as, is compared with the others alone.
    pub(crate) fn detect_among<'a>(text: &str, candidates: impl FnOnce() -> Candidates<'a>) -> Option<Self> {
        let (sample, _) = split_within(text, SAMPLE);
        if is_told_by_script(whatlang::detect_script(sample)?) {
            return Self::of_letters(&whatlang::detect(sample)?);
        }
        if sample.chars().filter(|c| c.is_alphabetic()).take(LETTERS).count() < LETTERS {
            return None;
        }
        let is_sure = |info: &Info| info.confidence() >= CONFIDENCE;
        let all = || Self::of_letters(&whatlang::detect(sample).filter(is_sure)?);
        match candidates() {
            Candidates::All => all(),
            Candidates::These(these) => {
                // A language scores the same whatever it is compared with, and confidence falls with the score of the next best: what
                // is not told among a few is not told among all to be one of them, and few take a fraction of the time.
                let few = these.iter().filter_map(|language| language.row().2).collect();
                let info = Detector::with_allowlist(few).detect(sample).filter(is_sure)?;
                let found = Self::of_letters(&info)?;
                if these.first() == Some(&found) {
                    Some(found)
                } else {
                    all().filter(|language| these.contains(language))
                }
            }
            Candidates::None => None,
        }
    }

    fn of_letters(info: &Info) -> Option<Self> {
        Self::all().find(|language| language.row().2 == Some(info.lang()))
    }

    /// The language that words in normal form have enough stop words of, and clearly more than of any other. It takes less
    /// time than a comparison of letters, and can tell languages too that have stop words alone.
    pub(crate) fn of_stop_words(words: &[String]) -> Option<Self> {
        let words = &words[..words.len().min(WORDS)];
        let mut found = [0; Self::COUNT];
        for word in words {
            let mut languages = languages_of_stop_word(word);
            while languages != 0 {
                found[languages.trailing_zeros() as usize] += 1;
                languages &= languages - 1;
            }
        }
        let best = Self::all().max_by_key(|language| found[language.index()])?;
        let own = found[best.index()];
        let others = Self::all().filter(|&language| language != best);
        let next = others.map(|language| found[language.index()]).max().unwrap_or_default();
        let sure =
            own >= STOP_WORDS && own * WORDS_A_STOP_WORD >= words.len() && own >= next * TIMES_THE_NEXT;
        sure.then_some(best)
    }

    /// Its stop words, those of NLTK or of Stopwords ISO; none if there is no list.
    ///
    /// ```
    /// use countgrid_text::Language;
    /// assert_eq!(Language::ENGLISH.stop_words().count(), 198);
    /// assert!("fr".parse::<Language>()?.stop_words().any(|word| word == "cette"));
    /// # Ok::<(), countgrid_text::TextError>(())
    /// ```
    pub fn stop_words(self) -> impl Iterator<Item = &'static str> {
        let mut lines = include_str!("nltk.txt").lines().filter_map(|line| line.split_once(' '));
        let own = lines.find(|(code, _)| *code == self.code()).map_or("", |(_, words)| words);
        let others = stop_words::lookup(self.code()).filter(|_| own.is_empty()).unwrap_or_default();
        own.split(' ').filter(|word| !word.is_empty()).chain(others.iter().copied())
    }

    /// Whether a word in normal form is one of its stop words.
    pub(crate) fn has_stop_word(self, word: &str) -> bool {
        languages_of_stop_word(word) >> self.0 & 1 == 1
    }

    /// What finds the stems of its words.
    pub(crate) fn stemmer(self) -> Option<Stemmer> {
        self.row().3.map(Stemmer::create)
    }

    /// Articles and other short words that are written before a word, with an apostrophe.
    pub(crate) fn elisions(self) -> &'static [&'static str] {
        match self.code() {
            "fr" => &[
                "l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu",
                "presqu", "quelqu",
            ],
            "it" => &[
                "c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl",
                "negl", "sugl", "un", "m", "t", "s", "v", "d", "quest", "quell", "com", "dov", "anch",
                "bell", "sant",
            ],
            "ca" => &["d", "l", "m", "n", "s", "t"],
            "ga" => &["b", "d", "m"],
            _ => &[],
        }
    }
}

/// The languages that have a word in normal form among their stop words, a bit for each by its place.
fn languages_of_stop_word(word: &str) -> u128 {
    const { assert!(Language::COUNT <= 128) };
    static LISTS: OnceLock<HashMap<String, u128>> = OnceLock::new();
    let lists = LISTS.get_or_init(|| {
        let mut lists: HashMap<String, u128> = HashMap::new();
        for language in Language::all() {
            for word in language.stop_words() {
                *lists.entry(normal_form(word)).or_default() |= 1 << language.0;
            }
        }
        lists
    });
    lists.get(word).copied().unwrap_or_default()
}

/// Whether no other language that is known is written like this, in which case a few letters are enough.
fn is_told_by_script(script: Script) -> bool {
    !matches!(script, Script::Latin | Script::Cyrillic | Script::Arabic | Script::Devanagari | Script::Hebrew)
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Language {
    type Err = TextError;

    /// By its code or its English name, in any case.
    fn from_str(name: &str) -> Result<Self, TextError> {
        Self::all()
            .find(|language| {
                name.eq_ignore_ascii_case(language.code()) || name.eq_ignore_ascii_case(language.name())
            })
            .ok_or(TextError::Language)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Language {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Language {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::subsequence};

    use super::*;

    const SENTENCES: [&str; 7] = [
        "the growth of small towns beside great rivers was slow until trade came with ships",
        "die Entwicklung kleiner Ortschaften neben breiten Strömen blieb lange durch Hochwasser erschwert",
        "le développement des petites villes au bord du fleuve restait lent malgré un commerce actif",
        "el crecimiento de los pueblos cercanos al río fue lento hasta que llegaron barcos mercantes",
        "pertumbuhan kota kecil di tepi sungai besar berjalan lambat sampai perdagangan datang",
        "рост малых городов на берегах больших рек был медленным пока не пришла торговля",
        "розвиток невеликих міст уздовж великих річок залишався повільним доки не прийшла торгівля",
    ];

    proptest! {
        /// What is told among a few languages is what is told among all, if it is one of them and not the first.
        #[test]
        fn a_few_languages_tell_what_all_do(
            mut these in subsequence(vec!["en", "de", "fr", "es", "id", "jv", "la", "ru", "uk"], 0..9),
            numbers in vec((0..SENTENCES.len(), 0..14usize), 0..24),
            own in 0..SENTENCES.len(), share in 0.0..1.0, // of words of one language
        ) {
            these.reverse(); // whichever comes first
            let these: Vec<Language> = these.into_iter().map(|code| code.parse().unwrap()).collect();
            let most = (share * numbers.len() as f64) as usize;
            let words = numbers.iter().enumerate().map(|(place, &(sentence, word))| {
                let sentence = SENTENCES[if place < most { own } else { sentence }];
                sentence.split(' ').cycle().nth(word).unwrap()
            });
            let text = words.collect::<Vec<_>>().join(" ");
            let among = Language::detect_among(&text, || Candidates::These((&these[..]).into()));
            let told = Language::detect(&text).filter(|language| these.contains(language));
            // What may be the first candidate is not compared with other languages than the candidates.
            prop_assert!(among == told || (told.is_none() && among == these.first().copied()), "{} {:?}", text, told);
            prop_assert_eq!(Language::detect_among(&text, || Candidates::None), None);
        }
    }
}
