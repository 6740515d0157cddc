//! Words as they are written: those of Unicode Standard Annex 29, and of dictionaries where there are no spaces.

use unicode_segmentation::UnicodeSegmentation;

/// Bytes of a text without spaces that are cut at a time: memory is a multiple of them.
#[cfg(feature = "segmenter")]
const RUN: usize = 4_096;

/// The words of `text`; of runs without spaces those of dictionaries, if asked for.
pub(crate) fn words(text: &str, segment: bool) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while segment && let Some(start) = rest.find(is_unspaced) {
        let (plain, from) = rest.split_at(start);
        let (run, after) = from.split_at(from.find(|c| !is_unspaced(c)).unwrap_or(from.len()));
        words.extend(plain.unicode_words());
        dictionary_words(run, &mut words);
        rest = after;
    }
    words.extend(rest.unicode_words());
    words
}

#[cfg(feature = "segmenter")]
fn dictionary_words<'a>(mut run: &'a str, words: &mut Vec<&'a str>) {
    use icu_segmenter::{WordSegmenter, options::WordBreakInvariantOptions};
    let segmenter = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
    while !run.is_empty() {
        let (part, rest) = split_within(run, RUN);
        let mut start = 0;
        for end in segmenter.segment_str(part) {
            words.extend(part.get(start..end).filter(|word| !word.is_empty()));
            start = end;
        }
        run = rest;
    }
}

#[cfg(not(feature = "segmenter"))]
fn dictionary_words<'a>(run: &'a str, words: &mut Vec<&'a str>) {
    words.extend(run.unicode_words());
}

/// The longest start of a text that has so many bytes at most, and the rest. With at least 4 bytes no start is empty.
pub(crate) fn split_within(text: &str, bytes: usize) -> (&str, &str) {
    let end = (0..=bytes.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text.split_at(end.unwrap_or_default())
}

/// Whether a character is of a script that is written without spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    is_ideograph(c)
        || matches!(c, '\u{e00}'..='\u{eff}' // Thai, Lao
            | '\u{1000}'..='\u{109f}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' // Burmese
            | '\u{1780}'..='\u{17ff}' | '\u{19e0}'..='\u{19ff}' // Khmer
            | '\u{3005}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}') // Japanese
}

/// Whether one character is a word by itself: Chinese is not written with spaces.
pub(crate) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The letters of particles and endings in Japanese.
pub(crate) fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{309f}' | '\u{30fc}')
}
