//! Which language a text is in, and what follows from it.

use countgrid_text::{
    Counter, Language, Languages, StopWords, TextError, TextOptions, Tokenizer, Vocabulary, bags,
};

fn language(code: &str) -> Language {
    code.parse().unwrap()
}

fn in_language(code: &str) -> TextOptions {
    TextOptions { languages: Languages::Known(vec![language(code)]), ..TextOptions::default() }
}

fn tokens(text: &str, options: &TextOptions) -> Vec<String> {
    Tokenizer::new(options).unwrap().tokens(text).collect()
}

const GERMAN: &str = "Die Ameisen folgen der Spur, die andere Ameisen vor ihnen zum Futter gelegt haben.";
const FRENCH: &str =
    "Les fourmis suivent la piste que d'autres fourmis ont laissée sur le chemin de la nourriture.";
const RUSSIAN: &str = "Муравьи идут по следу, который другие муравьи оставили для них на пути к пище.";
const ENGLISH: &str =
    "The ants follow the trail that other ants have left before them on their way to the food.";

#[test]
fn languages_have_one_code_and_one_name() {
    let mut names: Vec<String> =
        Language::all().flat_map(|l| [l.code().to_owned(), l.name().to_lowercase()]).collect();
    names.sort();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    for language in Language::all() {
        assert_eq!(language.code().parse(), Ok(language));
        assert_eq!(format!("{language} {language:?}"), format!("{} {}", language.name(), language.code()));
        assert_eq!(language.name().to_uppercase().parse(), Ok(language));
    }
    assert_eq!("xx".parse::<Language>(), Err(TextError::Language));
    assert_eq!("".parse::<Language>(), Err(TextError::Language));
    let refused =
        Tokenizer::new(&TextOptions { languages: Languages::Known(vec![]), ..TextOptions::default() });
    assert_eq!(refused.map(drop), Err(TextError::Language));
}

/// Every list of the libraries is some language's, so that none is left unused.
#[test]
fn stop_words_of_every_list_and_stems_of_every_algorithm() {
    for code in
        stop_words::available_languages().iter().chain(&["az", "be", "kk", "ne", "sq", "ta", "tg", "uz"])
    {
        assert!(language(code).stop_words().count() > 20, "{code}");
    }
    assert_eq!(language("ak").stop_words().count(), 0);
    let stems = |code, token| {
        let options = TextOptions { stem: true, ..in_language(code) };
        Tokenizer::new(&options).unwrap().stem(language(code), token).into_owned()
    };
    // From the sample vocabularies of https://snowballstem.org.
    let samples = [
        ("da", "undersøgelse", "undersøg"),
        ("de", "aufeinanderfolgenden", "aufeinanderfolg"),
        ("es", "chicharrones", "chicharron"),
        ("fi", "edeltäjiinsä", "edeltäj"),
        ("fr", "continuellement", "continuel"),
        ("it", "abbandonata", "abbandon"),
        ("nl", "opglimpende", "opglimp"),
        ("no", "opning", "opning"),
        ("pt", "quilométricas", "quilométr"),
        ("ru", "падающих", "пада"),
        ("sv", "jaktkarlens", "jaktkarl"),
    ];
    for (code, token, stem) in samples {
        assert_eq!(stems(code, token), stem, "{code}");
    }
    assert_eq!(stems("pl", "mrówkami"), "mrówkami"); // no stemmer
}

#[test]
fn texts_tell_their_language() {
    let cases = [
        (GERMAN, "de"),
        (FRENCH, "fr"),
        (RUSSIAN, "ru"),
        (ENGLISH, "en"),
        ("我们的程序可以打开文件", "zh"),
        ("このプログラムはファイルを保存します", "ja"),
        ("이 프로그램은 파일을 저장합니다", "ko"),
        ("ภาษาไทย", "th"),
    ];
    for (text, code) in cases {
        assert_eq!(Language::detect(text).map(Language::code), Some(code), "{text}");
    }
    for short in ["", "Ameise", "42", "Müller Meier Schmidt", "https"] {
        assert_eq!(Language::detect(short), None, "{short}");
    }
    // So many letters are needed, though fewer would be compared as well.
    let text = "größere Städte führen häufig Brücken über Flüs";
    assert_eq!(text.chars().filter(|c| c.is_alphabetic()).count(), 40);
    assert_eq!(Language::detect(text).map(Language::code), Some("de"));
    assert_eq!(Language::detect(text.strip_suffix('s').unwrap()), None);
    // A character across the end of what is looked at.
    let long = "ä".repeat(5_000);
    let _ = Language::detect(&format!("x{long}"));
}

/// Where letters cannot tell, stop words do; a few of them do not.
#[test]
fn stop_words_tell_the_language() {
    let told = |text: &str| Tokenizer::new(&TextOptions::default()).unwrap().language(text).code();
    let names = "Przybyszewski Wójcik Kowalczyk Szczepański Wiśniewski Zieliński Krzyżanowski Jabłoński";
    let german =
        format!("{names}: er ist mit uns, und wir sind es nicht, aber auch ihr wart da, oder nicht?");
    assert_eq!(Language::detect(&german).map(Language::code), None);
    assert_eq!(told(&german), "de");
    assert_eq!(told("Ameisen und ihre Spur"), "en"); // two
    // Twice as many as of another language, in texts of too few letters to compare.
    let danish = "og jeg det er som mig havde hvad noget";
    for (text, own, code) in [(danish, 9, "en"), (&format!("{danish} sig"), 10, "da")] {
        let count = |code| {
            text.split(' ').filter(|word| language(code).stop_words().any(|other| other == *word)).count()
        };
        assert_eq!((count("da"), count("no")), (own, 5));
        assert_eq!(told(text), code, "{text}");
    }
    // Letters do not tell it against the stop words of English.
    let title = "Kommissionsmitteilung Europäischer Gemeinschaften, Wirtschaftspolitische Zusammenarbeit";
    let english = format!("The {title}");
    assert_eq!((Language::detect(&english).map(Language::code), told(title)), (Some("de"), "de"));
    assert_eq!(told(&english), "en");
    for text in [GERMAN, FRENCH, RUSSIAN, ENGLISH] {
        assert_eq!(Some(told(text)), Language::detect(text).map(Language::code), "{text}");
    }
}

#[test]
fn stop_words_are_those_of_each_text() {
    let options = TextOptions::default();
    assert_eq!(tokens(GERMAN, &options), ["ameisen", "folgen", "spur", "ameisen", "futter", "gelegt"]);
    let french = tokens(FRENCH, &options);
    assert!(["fourmis", "piste", "nourriture"].iter().all(|word| french.iter().any(|own| own == word)));
    assert!(
        !["les", "la", "que", "d'autres", "ont", "sur", "de"]
            .iter()
            .any(|word| french.iter().any(|own| own == word))
    );
    let all = TextOptions { stop_words: StopWords::None, ..options.clone() };
    assert!(tokens(GERMAN, &all).contains(&"die".to_owned()));
    let english = TextOptions { stop_words: StopWords::English, ..options };
    assert!(tokens(GERMAN, &english).contains(&"der".to_owned()));
}

#[test]
fn elisions_are_cut() {
    assert_eq!(
        tokens("L’objet d'une équipe qu'il n'aimait", &in_language("fr")),
        ["objet", "équipe", "aimait"]
    );
    assert_eq!(tokens("dell'arte e l'albero nell'acqua", &in_language("it")), ["arte", "albero", "acqua"]);
    assert_eq!(tokens("l'home d'aigua", &in_language("ca")), ["home", "aigua"]);
    assert_eq!(tokens("d'ith b'fhéidir m'athair", &in_language("ga")), ["ith", "fhéidir", "athair"]);
    assert_eq!(tokens("prud'homme", &in_language("fr")), ["prud'homme"]);
    assert_eq!(tokens("o'clock d'artagnan", &in_language("en")), ["o'clock", "d'artagnan"]);
}

#[cfg(feature = "segmenter")]
#[test]
fn text_without_spaces_is_cut_by_dictionaries() {
    assert_eq!(
        tokens("我们的程序可以打开文件并保存设置", &in_language("zh")),
        ["程序", "打开", "文件", "保存", "设置"]
    );
    assert_eq!(
        tokens("このドキュメントはファイルを保存します。", &in_language("ja")),
        ["ドキュメント", "ファイル", "保存"]
    );
    assert!(tokens("ภาษาไทยเป็นภาษาที่ใช้กัน", &in_language("th")).contains(&"ภาษา".to_owned()));
    for (code, text) in [("km", "ភាសាខ្មែរជាភាសា"), ("lo", "ພາສາລາວເປັນພາສາ"), ("my", "မြန်မာဘာသာစကား")]
    {
        assert!(tokens(text, &in_language(code)).len() > 1, "{code}");
    }
    let whole = TextOptions { segment: false, ..in_language("zh") };
    assert_eq!(tokens("程序", &whole), ["程", "序"]); // as in models of before
    // Longer than what is cut at a time, and what stands between is cut as ever.
    let long = "程序Hello world程序".repeat(3_000);
    assert_eq!(tokens(&long, &in_language("zh")).len(), 4 * 3_000);
    assert_eq!(tokens(&"程序".repeat(10_000), &in_language("zh")).concat().chars().count(), 20_000);
}

/// A model of a collection that dictionaries cut nothing of can be read without them.
#[cfg(feature = "segmenter")]
#[test]
fn dictionaries_are_needed_where_they_cut_a_text() {
    let needed = |texts: [&str; 2]| bags(texts, &TextOptions::default()).unwrap().options.segment;
    assert!(!needed(["red ants", "naïve Ameisen"]));
    assert!(needed(["我们的程序可以打开文件", "red ants"]));
}

#[test]
fn a_collection_is_in_the_languages_of_its_documents() {
    let texts: Vec<&str> =
        [[GERMAN; 3].as_slice(), &[ENGLISH; 2], &["der Ameisenhaufen"], &["of ants"], &["Haufen"]].concat();
    let options = TextOptions { max_share: 1.0, min_count: Some(1), ..TextOptions::default() };
    let words = bags(&texts, &options).unwrap();
    // Two of the short ones tell by their stop words, the third is as most are.
    assert_eq!(words.languages, [(language("de"), 5), (language("en"), 3)]);
    assert_eq!(words.options.languages, Languages::Known(vec![language("de"), language("en")]));
    for word in ["die", "der", "the", "of"] {
        assert!(!words.vocabulary.iter().any(|own| own == word), "{word}");
    }
    let tokenizer = Tokenizer::new(&words.options).unwrap();
    let vocabulary = Vocabulary::new(&words.vocabulary, &tokenizer);
    for (place, text) in texts.iter().enumerate() {
        assert!(words.bag(place).eq(vocabulary.count(text)));
    }
}

#[test]
fn a_rare_language_is_taken_for_a_mistake() {
    let texts: Vec<&str> = [[ENGLISH; 100].as_slice(), &[GERMAN]].concat();
    let words = bags(&texts, &TextOptions::default()).unwrap();
    assert_eq!(words.options.languages, Languages::english());
    assert_eq!(words.languages, [(Language::ENGLISH, 101)]);
    let words = bags(&texts[1..], &TextOptions::default()).unwrap();
    assert_eq!(words.languages, [(Language::ENGLISH, 99), (language("de"), 1)]);
}

#[test]
fn stems_of_two_languages_are_counted_as_they_were_read() {
    let texts = [GERMAN, ENGLISH, FRENCH, RUSSIAN, "die Wege der Ameise", "an ant of the ways", "fourmi"];
    let options = TextOptions {
        stem: true,
        max_share: 1.0,
        min_count: Some(1),
        stop_words: StopWords::None,
        ..TextOptions::default()
    };
    let words = bags(texts, &options).unwrap();
    assert_eq!(words.languages.len(), 4);
    let tokenizer = Tokenizer::new(&words.options).unwrap();
    let vocabulary = Vocabulary::new(&words.vocabulary, &tokenizer);
    let mut kept = 0;
    for (place, text) in texts.iter().enumerate() {
        let bag: Vec<_> = words.bag(place).collect();
        assert_eq!(bag, vocabulary.count(text), "{text}");
        kept += bag.iter().map(|&(_, count)| u64::from(count)).sum::<u64>();
    }
    assert_eq!(kept, words.summary.tokens);
}

#[test]
fn what_was_not_read_is_passed_over() {
    let mut words = Counter::new(&TextOptions::default()).unwrap().finish().unwrap();
    assert_eq!(words.add(7, &[(3, 1), (u32::MAX, 2)]), 0);
    let selected = words.select();
    assert_eq!(selected.bag(9, &[(0, 1)]).count(), 0);
}

/// Where one language holds nearly all of many titles, not every one is compared by its letters; another is found nevertheless.
#[test]
fn a_language_after_thousands_of_titles_is_found() {
    let english = "Understanding programming language semantics through operational reasoning";
    let french = "Méthodologie générale conception logicielle systèmes répartis hétérogènes";
    assert_eq!(Language::detect(english).map(Language::code), Some("en"));
    assert_eq!(Language::detect(french).map(Language::code), Some("fr"));
    let titles = |first: usize, second: usize| {
        std::iter::repeat_n(english, first).chain(std::iter::repeat_n(french, second))
    };
    let options = TextOptions { max_share: 1.0, ..TextOptions::default() };
    let of = |first, second| bags(titles(first, second), &options).unwrap();
    let both = of(5_000, 500);
    // Of the French ones a sixteenth tells until it is enough to compare each again; the others are as if too short to tell.
    let known = |bags: &countgrid_text::WordBags| match &bags.options.languages {
        Languages::Known(known) => known.iter().map(|language| language.code()).collect::<Vec<_>>(),
        _ => unreachable!("they are found"),
    };
    assert_eq!(known(&both), ["en", "fr"]);
    let of_french =
        both.languages.iter().find(|(language, _)| language.code() == "fr").map_or(0, |own| own.1);
    assert!((400..500).contains(&of_french), "{of_french}");
    // So many that each is compared, and so few that they are none of the collection's languages.
    assert_eq!(of(3_000, 500).languages, [(language("en"), 3_000), (language("fr"), 500)]);
    assert_eq!(known(&of(5_000, 20)), ["en"]);
}

/// The first that is compared after 4,096 titles counts for 16, as every sixteenth does; the others are as if too short to tell, which
/// a stop word may.
#[test]
fn one_title_in_sixteen_counts_for_so_many() {
    let english = "Understanding programming language semantics through operational reasoning";
    let french = "Méthodologie générale de conception logicielle, systèmes répartis hétérogènes";
    assert_eq!(Language::detect(french).map(Language::code), Some("fr"));
    let titles = |second| std::iter::repeat_n(english, 4_096).chain(std::iter::repeat_n(french, second));
    let of = |second| bags(titles(second), &TextOptions::default()).unwrap().languages;
    // The first, the 17th and the 33rd are compared: 48 of 4,129 are more than a hundredth, 32 are less.
    assert_eq!(of(33), [(language("en"), 4_096), (language("fr"), 33)]);
    assert_eq!(of(32), [(language("en"), 4_128)]);
}

/// Where several languages are frequent every later title may tell to be in one of them, and what others there are is seen in one of sixteen.
#[test]
fn titles_in_several_languages_are_told_and_counted() {
    let english = "Understanding programming language semantics through operational reasoning";
    let french = "Méthodologie générale conception logicielle systèmes répartis hétérogènes";
    let german = "Kommissionsmitteilung Europäischer Gemeinschaften, Wirtschaftspolitische Zusammenarbeit";
    let options = TextOptions { max_share: 1.0, ..TextOptions::default() };
    let of = |bags: &countgrid_text::WordBags, code| {
        bags.languages.iter().find(|(language, _)| language.code() == code).map_or(0, |own| own.1)
    };
    // Two languages from the beginning: all are told, though most are compared with the two alone.
    let titles = |n: usize| [english, french][n % 2];
    let two = bags((0..9_000).map(titles), &options).unwrap();
    assert_eq!(two.languages, [(language("en"), 4_500), (language("fr"), 4_500)]);
    // A third comes later: the one in sixteen tells, and then each does.
    let third = bags((0..9_000).map(|n| if n < 6_000 { titles(n) } else { german }), &options).unwrap();
    let (found, all) = (of(&third, "de"), 3_000);
    assert!((all - 16 * 8..all).contains(&found), "{found}");
    assert_eq!(
        (of(&third, "en") - (all - found), of(&third, "fr")),
        (3_000, 3_000),
        "the others count as English"
    );
    // So few of another that the collection is not in it.
    let few = bags((0..9_000).map(|n| if n % 150 == 7 { german } else { titles(n) }), &options).unwrap();
    assert_eq!(of(&few, "de"), 0);
    assert_eq!(of(&few, "en") + of(&few, "fr"), 9_000);
}
