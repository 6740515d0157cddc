//! A vocabulary that is selected in parts is that of the whole.

use countgrid_text::{
    Counter, Languages, PartLanguages, PartWords, Selected, StopWords, TextError, TextOptions,
};
use proptest::prelude::*;

const SENTENCES: [&str; 12] = [
    "Die Ameisen folgen der Spur, die andere Ameisen vor ihnen zum Futter gelegt haben.",
    "Les fourmis suivent la piste que d'autres fourmis ont laissée sur le chemin de la nourriture.",
    "Муравьи идут по следу, который другие муравьи оставили для них на пути к пище.",
    "The ants follow the trail that other ants have left before them on their way to the food.",
    "Following trails, an ant followed another's trail.",
    "Kommissionsmitteilung der Europäischen Gemeinschaft",
    "Institutional arrangements in developing countries",
    "Running runner runs; the gift is a Gift.",
    "hard drive",
    "猫と犬",
    "die",
    "",
];

/// On one machine.
fn whole(texts: &[String], options: &TextOptions) -> Selected {
    let mut counter = Counter::new(options).unwrap();
    let bags: Vec<_> = texts.iter().map(|text| counter.read(text).unwrap().to_vec()).collect();
    let mut words = counter.finish().unwrap();
    bags.iter().enumerate().for_each(|(document, bag)| _ = words.add(document, bag));
    words.select()
}

/// In parts that begin at these documents, the last counted first.
fn in_parts(texts: &[String], borders: &[usize], options: &TextOptions) -> Selected {
    let mut borders: Vec<usize> = borders.iter().map(|&border| border.min(texts.len())).collect();
    borders.extend([0, texts.len()]);
    borders.sort_unstable();
    let parts: Vec<&[String]> = borders.windows(2).map(|pair| &texts[pair[0]..pair[1]]).collect();
    let read: Vec<_> = parts.iter().map(|part| PartLanguages::read(part, options).unwrap()).collect();
    let settled = PartLanguages::settle(&read, options).unwrap();
    let mut words = PartWords::default();
    for (part, how) in parts.iter().zip(&settled).rev() {
        words.merge(PartWords::read(part, how).unwrap());
    }
    words.select(&settled[0]).unwrap()
}

fn assert_same(whole: &Selected, parts: &Selected) {
    assert_eq!(whole.vocabulary, parts.vocabulary);
    assert_eq!(whole.summary, parts.summary);
    assert_eq!(whole.options, parts.options);
    assert_eq!(whole.languages, parts.languages);
}

fn options() -> impl Strategy<Value = TextOptions> {
    let languages = prop_oneof![
        4 => Just(Languages::Auto),
        1 => Just(Languages::english()),
        1 => Just(Languages::Known(["de", "en", "fr"].map(|code| code.parse().unwrap()).to_vec())),
    ];
    let stop_words = prop_oneof![4 => Just(StopWords::Auto), 1 => Just(StopWords::None)];
    (languages, stop_words, any::<bool>(), 1..4_usize, 1..30_usize, prop::option::of(1..4_usize)).prop_map(
        |(languages, stop_words, stem, min_count, max_words, ngrams)| TextOptions {
            languages,
            stop_words,
            stem,
            min_count: Some(min_count),
            max_words,
            ngrams: ngrams.filter(|_| stem),
            ..TextOptions::default()
        },
    )
}

proptest! {
    #[test]
    fn parts_select_what_the_whole_selects(
        options in options(),
        documents in prop::collection::vec(prop::collection::vec(0..SENTENCES.len(), 0..4), 0..30),
        borders in prop::collection::vec(0..30_usize, 0..5),
    ) {
        let texts: Vec<String> = documents
            .iter()
            .map(|numbers| numbers.iter().map(|&number| SENTENCES[number]).collect::<Vec<_>>().join(" "))
            .collect();
        assert_same(&whole(&texts, &options), &in_parts(&texts, &borders, &options));
    }
}

/// One in a hundred documents of all parts together makes a language, and one in 101 does not.
#[test]
fn languages_are_told_by_all_documents_together() {
    let mut texts = vec![SENTENCES[3].to_owned(); 100];
    texts.push(SENTENCES[0].to_owned());
    for first in [0, 1] {
        let (texts, options) = (&texts[first..], TextOptions::default());
        let whole = whole(texts, &options);
        assert_eq!(whole.options.languages == Languages::english(), first == 0);
        for borders in [&[][..], &[50], &[99, 100]] {
            assert_same(&whole, &in_parts(texts, borders, &options));
        }
    }
}

/// Of thousands of titles in one language not all are compared by their letters: those that one machine passes over are passed over in parts, too.
#[test]
fn the_same_titles_are_passed_over() {
    let subjects = [
        "Institutional arrangements",
        "Agricultural productivity",
        "Environmental regulation",
        "Monetary integration",
    ];
    let rest = [
        "developing countries",
        "industrial economies",
        "metropolitan regions",
        "rural communities",
        "emerging markets",
    ];
    let mut texts: Vec<String> = (0..9_000)
        .map(|n| format!("{} {}, {} {n}", subjects[n % 4], rest[n / 4 % 5], rest[n / 20 % 5]))
        .collect();
    // From here on there are two languages, and all are compared again.
    for (n, text) in texts[6_000..7_500].iter_mut().enumerate() {
        *text = format!(
            "Kommissionsmitteilung Europäischer Gemeinschaften, Wirtschaftspolitische Zusammenarbeit {n}"
        );
    }
    let options = TextOptions { min_count: Some(1), max_share: 1.0, ..TextOptions::default() };
    let whole = whole(&texts, &options);
    assert!(whole.languages.len() > 1, "{:?}", whole.languages);
    for borders in [&[][..], &[1, 4_095, 4_096, 6_001], &[5_000, 8_999]] {
        assert_same(&whole, &in_parts(&texts, borders, &options));
    }
    // Had each part been by itself, others would have been passed over.
    let read = |texts: &[String]| PartLanguages::read(texts, &options).unwrap();
    let alone = PartLanguages::settle(&[read(&texts[5_000..])], &options).unwrap();
    let together = PartLanguages::settle(&[read(&texts[..5_000]), read(&texts[5_000..])], &options).unwrap();
    assert_ne!(alone[0], together[1]);
}

#[test]
fn what_does_not_go_in_parts_is_refused() {
    let options = TextOptions { phrases: true, ..TextOptions::default() };
    assert_eq!(PartLanguages::read(&["hard drive"], &options), Err(TextError::PhrasesInParts));
    // Sequences have none.
    let options = TextOptions { ngrams: Some(2), ..options };
    let read = [PartLanguages::read(&["ACGT", "GT"], &options).unwrap()];
    let settled = PartLanguages::settle(&read, &options).unwrap();
    let other = PartWords::read(&["ACGT"], &settled[0]);
    assert_eq!(other, Err(TextError::OtherDocuments { expected: 2, found: 1 }));
    let none = PartLanguages::settle(&[], &options).unwrap();
    assert!(none.is_empty());
}
