//! Lines that are left out leave what would be counted without them.

use countgrid_text::{Counter, Languages, StopWords, TextOptions, Tokenizer, Vocabulary};
use proptest::prelude::*;

fn options() -> TextOptions {
    TextOptions { languages: Languages::english(), max_share: 1.0, ..TextOptions::default() }
}

#[test]
fn a_disclaimer_is_left_out_wherever_it_is() {
    let boilerplate = vec!["sent from my phone".to_owned(), "It’s  confidential".to_owned()];
    let tokenizer =
        Tokenizer::new(&TextOptions { boilerplate, stop_words: StopWords::None, ..options() }).unwrap();
    let tokens = |text: &str| tokenizer.tokens(text).collect::<Vec<_>>().join(" ");
    assert_eq!(tokens("Red ants\n\nSent from my Phone 7\r\n2 > it's confidential!\nblue"), "red ants blue");
    assert_eq!(tokens("Sent from my phone\nSent from my phone"), "");
    // As part of a line, and alone, it is a text.
    for text in ["sent from my phone", "red\nsent from my phone today", "red\nnot sent from my phone"] {
        assert_eq!(tokens(text), text.replace('\n', " "));
    }
    assert_eq!(tokens("\n 12 \nSent from my phone\n--\n"), "sent from my phone");
}

#[test]
fn sequences_have_no_lines() {
    let boilerplate = vec!["acgt".to_owned(), "ac cg gt".to_owned()];
    let sequences = TextOptions { ngrams: Some(2), boilerplate, ..options() };
    let tokenizer = Tokenizer::new(&sequences).unwrap();
    assert!(tokenizer.tokens("acgt\nac").eq(["ac", "cg", "gt", "ta", "ac"]));
    let mut counter = Counter::new(&sequences).unwrap();
    counter.read("acgt\nac").unwrap();
    assert_eq!(counter.lines().count(), 0);
}

/// Lines of few words, so that the same come again, with what is no word between them.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let word =
        prop::sample::select(vec!["red", "ants", "the", "of", "hard", "drive", "12", "it's", "-", "x.com"]);
    let line = prop::collection::vec(word, 0..4).prop_map(|words| words.join(" "));
    prop::collection::vec(line, 0..8)
}

/// The words of a line, stop words and all.
fn words_of(line: &str) -> String {
    let mut counter = Counter::new(&options()).unwrap();
    let mut words = Vec::new();
    counter.read_with(line, |word| words.push(word.to_owned())).unwrap();
    words.join(" ")
}

proptest! {
    #[test]
    fn lines_are_those_of_the_text(lines in lines()) {
        let mut counter = Counter::new(&options()).unwrap();
        counter.read(&lines.join("\n")).unwrap();
        let numbers: Vec<Vec<u32>> = counter.lines().map(<[u32]>::to_vec).collect();
        let words = counter.finish().unwrap();
        let texts = numbers.iter().map(|line| {
            line.iter().map(|&form| words.form(form).unwrap()).collect::<Vec<_>>().join(" ")
        });
        let expected = lines.iter().map(|line| words_of(line)).filter(|line| !line.is_empty());
        prop_assert_eq!(texts.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test] // also of phrases; a line that is left out is still the end of one
    fn texts_count_as_without_the_lines(
        lines in lines(),
        left_out in prop::collection::btree_set(prop::sample::select(vec!["red ants", "hard drive", "the", "it's hard"]), 0..4),
        phrases in any::<bool>(),
    ) {
        let plain = TextOptions { phrases, ..options() };
        let boilerplate = TextOptions { boilerplate: left_out.iter().map(ToString::to_string).collect(), ..plain.clone() };
        let with_words = lines.iter().filter(|line| !words_of(line).is_empty()).count();
        // A full stop ends a phrase.
        let kept: Vec<String> = lines.iter().map(|line| {
            let is_left_out = with_words > 1 && left_out.contains(words_of(line).as_str());
            if is_left_out { ".".to_owned() } else { line.clone() }
        }).collect();
        let vocabulary = ["ants", "drive", "hard", "red", "hard drive", "red ants"];
        let of = |options: &TextOptions, lines: &[String]| {
            let tokenizer = Tokenizer::new(options).unwrap();
            Vocabulary::new(&vocabulary, &tokenizer).features(&lines.join("\n")).collect::<Vec<_>>()
        };
        prop_assert_eq!(of(&boilerplate, &lines), of(&plain, &kept));
    }
}
