//! Bodies of the fuzz targets: they assert, and a stable test replays them.

use crate::{Language, StopWords, TextOptions, Tokenizer, Vocabulary, bags};

/// Any bytes as text: tokens keep their promises, and counting agrees with reading.
///
/// # Panics
/// If a promise is broken.
pub fn tokens(data: &[u8]) {
    let (flags, text) = data.split_first().map_or((0, data), |(&flags, text)| (flags, text));
    let text = String::from_utf8_lossy(text);
    let options = TextOptions {
        stop_words: if flags & 1 == 0 { StopWords::Auto } else { StopWords::None },
        keep_noise: flags & 8 != 0,
        phrases: flags & 16 != 0,
        stem: flags & 2 != 0,
        min_count: Some(1),
        max_share: 1.0,
        max_words: if flags & 4 == 0 { usize::MAX } else { 3 },
        ..TextOptions::default()
    };
    let Ok(tokenizer) = Tokenizer::new(&options) else { unreachable!("the options are fixed") };
    for token in tokenizer.tokens(&text) {
        assert!(token.chars().any(char::is_alphabetic), "{token:?} has no letter");
        assert!(token.chars().count() <= options.max_letters, "{token:?} is too long");
        assert!(!token.contains(char::is_control), "{token:?} has a control character");
        let _ = tokenizer.stem(Language::ENGLISH, &token);
    }
    let documents: Vec<&str> = text.split('\n').collect();
    let Ok(bags) = bags(&documents, &options) else { unreachable!("less than 4 GB") };
    assert_eq!(bags.len(), documents.len());
    assert!(bags.vocabulary.len() <= options.max_words);
    assert!(bags.vocabulary.is_sorted_by(|a, b| a < b), "sorted and distinct");
    let Ok(tokenizer) = Tokenizer::new(&bags.options) else {
        unreachable!("the options are those of before")
    };
    let read: usize = documents.iter().map(|document| tokenizer.tokens(document).count()).sum();
    assert_eq!(bags.summary.tokens, read as u64);
    let vocabulary = Vocabulary::new(&bags.vocabulary, &tokenizer);
    for (t, document) in documents.iter().enumerate() {
        assert!(bags.bag(t).eq(vocabulary.count(document)), "counting differs from reading");
    }
}
