//! What a word is.

use countgrid_text::{Language, StopWords, TextError, TextOptions, Tokenizer, Vocabulary};

fn tokens(text: &str, options: &TextOptions) -> Vec<String> {
    Tokenizer::new(options).unwrap().tokens(text).collect()
}

fn all_words() -> TextOptions {
    TextOptions { stop_words: StopWords::None, segment: false, ..TextOptions::default() }
}

#[test]
fn words_are_those_of_unicode() {
    let cases = [
        ("", &[][..]),
        (" \t\n.,;!? --- ___ 1234 3.14", &[]),
        ("Hello, WORLD!", &["hello", "world"]),
        ("x11 and 3D", &["x11", "and", "3d"]),
        ("e-mail re-read", &["mail", "re", "read"]),
        ("ÜBER Straße ΟΔΟΣ", &["über", "straße", "οδος"]), // to_lowercase knows ß
        ("İstanbul", &["i\u{307}stanbul"]),
        ("naïve nai\u{308}ve", &["naïve", "nai\u{308}ve"]), // not composed: two spellings
        ("привет мир", &["привет", "мир"]),
        ("猫が好き", &["猫", "好"]), // ideographs are words, single kana are not
        ("שלום עולם", &["שלום", "עולם"]),
        ("co\u{ad}operate \u{202e}evil\u{202c}", &["cooperate", "evil"]),
        ("👩‍👩‍👧 emoji 🎉", &["emoji"]),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|word| word.to_lowercase()).collect();
        assert_eq!(tokens(text, &all_words()), expected, "{text:?}");
    }
}

#[test]
fn apostrophes_are_one_character_and_possessives_are_cut() {
    assert_eq!(tokens("don't don\u{2019}t DON\u{ff07}T", &all_words())[..2], ["don't", "don't"]);
    assert_eq!(tokens("Darwin's Darwin\u{2019}s darwin", &all_words()), ["darwin"; 3]);
    assert_eq!(tokens("x's", &all_words()), [""; 0]); // too short after the cut
}

#[test]
fn stop_words_match_in_the_same_form() {
    let english = TextOptions::default();
    assert_eq!(tokens("THE cat isn\u{2019}t what it's; you've she\u{2019}ll", &english), ["cat"]);
    let mine = TextOptions {
        stop_words: StopWords::List(vec!["Cat".into(), "don\u{2019}t".into(), "ÉCOLE".into()]),
        ..TextOptions::default()
    };
    assert_eq!(tokens("the CAT's cat don't école", &mine), ["the"]);
}

#[test]
fn length_is_in_characters() {
    let options = TextOptions { min_letters: 3, max_letters: 4, ..all_words() };
    assert_eq!(
        tokens("ab abc abcd abcde éé ééé éééé ééééé 猫", &options),
        ["abc", "abcd", "ééé", "éééé", "猫"]
    );
}

#[test]
fn options_are_checked() {
    let new = |options: TextOptions| Tokenizer::new(&options).map(|_| ());
    for found in [0.0, -0.5, 1.1, f64::INFINITY] {
        let refused = new(TextOptions { max_share: found, ..TextOptions::default() });
        assert_eq!(refused, Err(TextError::MaxShare { found }));
    }
    assert!(new(TextOptions { max_share: f64::NAN, ..TextOptions::default() }).is_err());
    let refused = new(TextOptions { min_letters: 3, max_letters: 2, ..TextOptions::default() });
    assert_eq!(refused, Err(TextError::Letters { min: 3, max: 2 }));
    assert!(new(TextOptions { min_letters: 0, max_letters: 0, ..TextOptions::default() }).is_err());
    assert_eq!(
        tokens("ab abc abcd", &TextOptions { min_letters: 3, max_letters: 3, ..all_words() }),
        ["abc"]
    );
}

#[test]
fn errors_name_what_was_refused() {
    let cases = [
        (TextError::MaxShare { found: 2.5 }, &["share", "2.5"][..]),
        (TextError::Letters { min: 31, max: 7 }, &["31", "7"]),
        (TextError::Ngrams, &["n-grams"]),
        (TextError::Language, &["language"]),
        (TextError::Segmenter, &["`segmenter`"]),
        (TextError::TooMany { document: 41 }, &["41"]),
        (TextError::PhrasesInParts, &["phrases"]),
        (TextError::OtherDocuments { expected: 52, found: 63 }, &["52", "63"]),
    ];
    for (error, words) in cases {
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}

#[test]
fn stems_are_porter2() {
    let tokenizer = Tokenizer::new(&TextOptions { stem: true, ..TextOptions::default() }).unwrap();
    // From the sample vocabulary of https://snowballstem.org/algorithms/english/stemmer.html
    let sample = [
        ("consign", "consign"),
        ("consigned", "consign"),
        ("consistency", "consist"),
        ("consolation", "consol"),
        ("knightly", "knight"),
        ("knavish", "knavish"),
        ("knots", "knot"),
        ("skies", "sky"),
        ("kneeling", "kneel"),
        ("écoles", "écoles"),
    ];
    for (word, stem) in sample {
        assert_eq!(tokenizer.stem(Language::ENGLISH, word), stem);
    }
    let plain = Tokenizer::new(&TextOptions::default()).unwrap();
    assert_eq!(plain.stem(Language::ENGLISH, "consigned"), "consigned");
}

#[test]
fn counting_knows_the_vocabulary_alone() {
    let tokenizer = Tokenizer::new(&TextOptions::default()).unwrap();
    let vocabulary = Vocabulary::new(&["dog", "cat", "dog"], &tokenizer);
    assert_eq!(vocabulary.count("Dog cat bird the dog"), [(0, 2), (1, 1)]);
    assert_eq!(vocabulary.count(""), []);
    assert!(vocabulary.features("Dog cat bird the dog").eq([Some(0), Some(1), None, Some(0)]));
    assert_eq!(vocabulary.features("").count(), 0);
}

#[test]
fn sequences_are_runs_of_letters() {
    let tokenizer =
        |letters| Tokenizer::new(&TextOptions { ngrams: Some(letters), ..TextOptions::default() }).unwrap();
    let runs = |letters, text: &'static str| tokenizer(letters).tokens(text).collect::<Vec<_>>();
    assert_eq!(runs(3, "acG\n TT"), ["acg", "cgt", "gtt"]);
    assert_eq!(runs(1, "ab"), ["a", "b"]);
    assert_eq!(runs(3, "ac"), [""; 0]);
    assert_eq!(runs(usize::MAX, "ac"), [""; 0]);
    assert_eq!(runs(2, "the"), ["th", "he"]); // no stop words
    let refused = Tokenizer::new(&TextOptions { ngrams: Some(0), ..TextOptions::default() }).unwrap_err();
    assert_eq!(refused, TextError::Ngrams);
}
