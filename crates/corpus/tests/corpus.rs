//! From documents to bags: one reading, whatever is asked for.
#![cfg(feature = "files")]

use std::{fs, io::Write, path::Path};

use countgrid_corpus::{
    BlockLimits, ColumnValues, Corpus, CorpusError, CorpusKind, CorpusOptions, KeepColumns, LabelColumn,
    Sample, Scale, Scaling, SequenceCorpus, WordOptions,
};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_io::{Columns, DataSet, ReadOptions, read};
use proptest::prelude::*;

type Rows = Vec<Vec<(usize, f32)>>;

fn rows(corpus: &Corpus<f32>) -> Rows {
    let bags = corpus.bags.gather(|count| count).unwrap();
    (0..bags.len()).map(|bag| bags.entries(bag).collect()).collect()
}

/// Everything but where the bags are.
fn contents(corpus: &Corpus<f32>) -> impl PartialEq + std::fmt::Debug + use<> {
    let Corpus { documents, labels, columns, vocabulary, tokens, nonempty, words, .. } = corpus;
    let words = words.map(|words| (words.tokens, words.words, words.rare, words.common, words.surplus));
    let documents = documents.clone();
    (documents, labels.clone(), columns.clone(), vocabulary.clone(), *tokens, *nonempty, words, rows(corpus))
}

fn corpus(path: &Path, options: &CorpusOptions) -> Result<Corpus<f32>, CorpusError> {
    Corpus::read(path, options)
}

/// A file with this content in a folder that is there as long as the result.
fn file(name: &str, content: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

/// Labelled texts over few words, so that words repeat and stems have several forms.
fn table() -> impl Strategy<Value = String> {
    let words = [
        "ant",
        "ants",
        "bee",
        "bees",
        "running",
        "runs",
        "run",
        "red",
        "the",
        "sky",
        "hard drive",
        "hard drives",
    ];
    let text = prop::collection::vec(prop::sample::select(words.to_vec()), 0..9);
    let row = (prop::sample::select(vec!["a", "b", "c", ""]), text, 0u32..9, 1u32..28);
    prop::collection::vec(row, 1..14).prop_map(|rows| {
        let row = |(label, text, year, day): (&str, Vec<&str>, u32, u32)| {
            format!("{label},{},{},2001-02-{day:02}\n", text.join(" "), 2000 + year)
        };
        format!("label,text,year,day\n{}", rows.into_iter().map(row).collect::<String>())
    })
}

fn options() -> impl Strategy<Value = CorpusOptions> {
    let words = (any::<(bool, bool)>(), prop::option::of(1usize..3), 1usize..9);
    let words = words.prop_map(|((stem, phrases), least, most)| WordOptions {
        stem,
        phrases,
        min_count: least,
        max_share: Some(1.0),
        max_words: most,
        ..WordOptions::default()
    });
    let tokens = prop::option::of(prop::sample::select(vec![1.0, 7.5]));
    (words, tokens).prop_map(|(words, tokens)| CorpusOptions {
        words,
        scaling: Scaling { tokens, ..Scaling::default() },
        keep_columns: KeepColumns::All,
        blocks: BlockLimits::in_memory(),
        ..CorpusOptions::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// One reading with a sample gives what a reading of the drawn documents alone gives.
    #[test]
    fn a_sample_is_a_reading_of_what_was_drawn(
        table in table(), options in options(), per_label in 0usize..4, seed in 0u64..5,
    ) {
        let (_folder, path) = file("made.csv", &table);
        let (DataSet::Documents(documents), _) = read(&path, &ReadOptions::default()).unwrap() else {
            panic!("texts");
        };
        let sample = Sample { per_label, seed };
        let labels = LabelColumn::from_labels(documents.iter().map(|document| document.label.clone()));
        let drawn = sample.draw(&labels);
        let sampled = corpus(&path, &CorpusOptions { sample: Some(sample), keep_columns: KeepColumns::None, ..options.clone() });
        let documents = documents.into_iter().zip(&drawn).filter(|(_, drawn)| **drawn).map(|(document, _)| document);
        let expected = Corpus::<f32>::from_documents("made", documents, &options);
        match (sampled, expected) {
            (Ok(sampled), Ok(expected)) => {
                prop_assert_eq!(contents(&sampled), contents(&expected));
                prop_assert_eq!(sampled.sample, Some(sample));
            }
            (Err(CorpusError::NoWords { documents: a, .. }), Err(CorpusError::NoWords { documents: b, .. })) => {
                prop_assert_eq!(a, b);
            }
            (sampled, expected) => panic!("{sampled:?} {expected:?}"),
        }
    }

    #[test]
    fn blocks_and_files_change_nothing(
        table in table(), options in options(), entries in 1usize..20, bags in 1usize..5, streams in any::<bool>(),
        sample in prop::option::of((1usize..4).prop_map(|per_label| Sample { per_label, seed: 3 })),
    ) {
        let (_folder, path) = file("made.csv", &table);
        let options = CorpusOptions { sample, ..options };
        let memory = if streams { 0 } else { u128::MAX };
        let blocks = BlockLimits { memory, entries, bags };
        match (corpus(&path, &options), corpus(&path, &CorpusOptions { blocks, ..options.clone() })) {
            (Ok(one), Ok(other)) => {
                prop_assert_eq!(contents(&one), contents(&other));
                prop_assert_eq!(other.bags.file_bytes().is_some(), streams);
                prop_assert!(other.bags.blocks().iter().all(|block| block.len() <= bags));
                prop_assert_eq!(one.columns.len(), 2);
                prop_assert!(one.columns.iter().all(|column| column.values.len() == one.bags.len()));
            }
            (Err(one), Err(other)) => prop_assert_eq!(one.to_string(), other.to_string()),
            (one, other) => panic!("{one:?} {other:?}"),
        }
    }

    /// The same documents, counted against the vocabulary that was selected from them, are the same bags.
    #[test]
    fn counting_agrees_with_selecting(table in table(), options in options()) {
        let (_folder, path) = file("made.csv", &table);
        if let Ok(selected) = corpus(&path, &options) {
            let counted = Corpus::<f32>::count(&path, &selected.vocabulary, &selected.text, &options).unwrap();
            prop_assert_eq!(contents(&counted_as(selected.words, counted)), contents(&selected));
        }
    }
}

/// Phrases of a collection: the same in memory and in a file, and found again in the same texts.
#[test]
fn phrases_of_abstracts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/classic3/classic3.tsv.gz");
    if !path.exists() {
        let _ = writeln!(std::io::stderr(), "phrases_of_abstracts: SKIPPED, no file {}", path.display());
        return;
    }
    let words = WordOptions { phrases: true, ..WordOptions::default() };
    let options = CorpusOptions { words, blocks: BlockLimits::in_memory(), ..CorpusOptions::default() };
    let read = corpus(&path, &options).unwrap();
    for phrase in ["boundary layer", "heat transfer", "laminar boundary layer", "growth hormone"] {
        assert!(read.vocabulary.binary_search(&phrase.into()).is_ok(), "{phrase}");
    }
    let found = read.vocabulary.iter().filter(|word| word.contains(' ')).count();
    assert!((100..1_000).contains(&found), "{found}");
    let blocks = BlockLimits { bags: 100, ..BlockLimits::streaming() };
    let streamed = corpus(&path, &CorpusOptions { blocks, ..options.clone() }).unwrap();
    assert!(contents(&streamed) == contents(&read));
    let counted = Corpus::<f32>::count(&path, &read.vocabulary, &read.text, &options).unwrap();
    assert!(contents(&counted_as(read.words, counted)) == contents(&read));
}

/// What counting does not know.
fn counted_as(words: Option<countgrid_text::Summary>, corpus: Corpus<f32>) -> Corpus<f32> {
    Corpus { words, ..corpus }
}

#[test]
fn nothing_to_read_is_an_error() {
    let options = CorpusOptions::default();
    let refused = Corpus::<f32>::from_texts(&[] as &[&str], &options).unwrap_err();
    assert_eq!(refused.to_string(), "texts: no word is left of 0 documents");
    let refused = Corpus::<f32>::from_texts(&["the of and", ""], &options).unwrap_err();
    assert!(matches!(refused, CorpusError::NoWords { documents: 2, .. }));
    let (_folder, path) = file("made.csv", "");
    assert!(matches!(corpus(&path, &options), Err(CorpusError::Read(_))));
    assert!(matches!(corpus(Path::new("no such file"), &options), Err(CorpusError::Read(_))));
}

#[test]
fn one_document_is_a_corpus() {
    let options = CorpusOptions::default();
    let one = Corpus::<f64>::from_texts(&["Ants, ants and a bee"], &options).unwrap();
    assert_eq!((one.vocabulary.join(" "), one.tokens, one.nonempty), ("ants bee".to_owned(), 3.0, 1));
    let found = one.words.map(|words| (words.tokens, words.words, words.rare, words.common, words.surplus));
    assert_eq!((one.name.as_str(), found), ("texts", Some((3, 2, 0, 0, 0))));
    assert_eq!((one.labels.len(), one.labels.names.len(), one.kind), (1, 0, CorpusKind::Text));
    assert_eq!(
        (one.documents[0].id.as_str(), one.documents[0].title.as_str()),
        ("1", "Ants, ants and a bee")
    );
}

#[test]
fn documents_without_words_are_empty_bags() {
    let options = CorpusOptions::default();
    let some = Corpus::<f32>::from_texts(&["red ants", "", "of the"], &options).unwrap();
    assert_eq!(rows(&some), [vec![(0, 1.0), (1, 1.0)], vec![], vec![]]);
    assert_eq!((some.nonempty, some.documents.len()), (1, 3));
    let none = Corpus::<f32>::count_texts(&[""], &some.vocabulary, &some.text, &options).unwrap();
    assert_eq!((none.tokens, rows(&none)), (0.0, vec![vec![]]));
}

#[test]
fn negative_numbers_are_refused_unless_a_scale_says_what_they_mean() {
    let (_folder, path) = file("made.csv", "id,x,y\na,1,2\nb,3,-4\nc,5,0\n");
    let refused = corpus(&path, &CorpusOptions::default()).unwrap_err();
    assert!(
        matches!(&refused, CorpusError::NegativeNumber { bag: 1, feature, .. } if feature == "y"),
        "{refused}"
    );
    let place = format!("{}, line 3: the number under `y` is -4; ", path.display());
    assert!(refused.to_string().starts_with(&place), "{refused}");
    let text = countgrid_text::TextOptions::default();
    let words = ["x", "y"].map(str::to_owned);
    let refused = Corpus::<f32>::count(&path, &words, &text, &CorpusOptions::default()).unwrap_err();
    assert!(refused.to_string().starts_with(&place), "{refused}");
    let scaling = Scaling { scale: Scale::Shift, tokens: None };
    let shifted = corpus(&path, &CorpusOptions { scaling, ..CorpusOptions::default() }).unwrap();
    assert_eq!(rows(&shifted), [vec![(1, 1.0)], vec![(0, 7.0)], vec![(0, 5.0)]]);
    assert_eq!((shifted.kind, shifted.documents[1].id.as_str()), (CorpusKind::Counts, "b"));
    // Of a sample only what was drawn counts: one of three documents without a label.
    for seed in 0..20 {
        let sample = Some(Sample { per_label: 1, seed });
        let is_drawn =
            sample.map(|sample: Sample| sample.draw(&LabelColumn::from_labels([None, None, None])));
        match corpus(&path, &CorpusOptions { sample, ..CorpusOptions::default() }) {
            Ok(drawn) => {
                assert!(drawn.bags.len() == 1 && drawn.documents[0].id != "b");
                assert!(is_drawn.is_some_and(|drawn| !drawn[1]));
            }
            Err(error) => {
                assert!(matches!(error, CorpusError::NegativeNumber { bag: 1, .. }));
                assert!(is_drawn.is_some_and(|drawn| drawn[1]));
            }
        }
    }
}

#[test]
fn counts_that_are_too_large_are_refused() {
    let (_folder, path) = file("made.csv", "id,x,y\na,1,2\nb,3,1e39\n");
    let refused = corpus(&path, &CorpusOptions::default()).unwrap_err();
    assert_eq!(refused.to_string(), "the count of `y` in document 2 is too large for f32");
    let wide = Corpus::<f64>::read(&path, &CorpusOptions::default()).unwrap();
    assert_eq!(wide.tokens, 6.0 + 1e39);
    // A fraction that rounds to zero is left out, but its document has a word.
    let (_folder, path) = file("made.csv", "id,x,y\na,1e-60,0\nb,3,1\n");
    let small = corpus(&path, &CorpusOptions::default()).unwrap();
    assert_eq!((rows(&small), small.nonempty), (vec![vec![], vec![(0, 3.0), (1, 1.0)]], 2));
}

#[test]
fn a_sample_larger_than_its_groups_takes_everything() {
    let (_folder, path) = file("made.csv", "label,text\nx,red ants\n,blue ants\ny,red sky\n");
    let all = corpus(&path, &CorpusOptions::default()).unwrap();
    let sample = Some(Sample { per_label: 10, seed: 1 });
    let sampled = corpus(&path, &CorpusOptions { sample, ..CorpusOptions::default() }).unwrap();
    assert_eq!(contents(&sampled), contents(&all));
    let sample = Some(Sample { per_label: 0, seed: 1 });
    let none = corpus(&path, &CorpusOptions { sample, ..CorpusOptions::default() }).unwrap_err();
    assert!(matches!(none, CorpusError::NoWords { documents: 0, .. }));
}

#[test]
fn docword_files_have_neither_ids_nor_labels() {
    let (folder, path) = file("docword.made.txt", "3\n3\n3\n1 1 4\n1 3 1\n3 2 2\n");
    fs::write(folder.path().join("vocab.made.txt"), "ant\nbee\ncow\n").unwrap();
    let counts = corpus(&path, &CorpusOptions::default()).unwrap();
    assert_eq!(rows(&counts), [vec![(0, 4.0), (2, 1.0)], vec![], vec![(1, 2.0)]]);
    assert_eq!((counts.labels.len(), counts.labels.names.len(), counts.nonempty), (3, 0, 2));
    assert_eq!(counts.documents[2].title, "document 3");
    assert_eq!(counts.documents[0].snippet, "ant, cow");
    let sample = Some(Sample { per_label: 2, seed: 5 });
    let two = corpus(&path, &CorpusOptions { sample, ..CorpusOptions::default() }).unwrap();
    assert_eq!((two.bags.len(), two.documents.len(), two.labels.len()), (2, 2, 2));
}

#[test]
fn other_columns_are_kept_when_asked_for() {
    let lines = "{\"text\": \"red ants\", \"year\": 1999, \"on\": \"2001-01-01\", \"by\": \"me\"}\n\
                 {\"text\": \"red sky\", \"year\": null, \"on\": [], \"by\": 7}\n";
    let (_folder, path) = file("made.jsonl", lines);
    let options = CorpusOptions { keep_columns: KeepColumns::All, ..CorpusOptions::default() };
    let kept = corpus(&path, &options).unwrap();
    let names: Vec<_> = kept.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["by", "on", "year"]);
    assert_eq!(kept.columns[2].values, ColumnValues::Numbers(vec![Some(1999.0), None]));
    assert!(corpus(&path, &CorpusOptions::default()).unwrap().columns.is_empty());
    // Of a table of numbers, what is no number.
    let (_folder, path) = file("made.csv", "id,x,day,y\na,1,2001-01-01,2\nb,3,,1\n");
    let kept = corpus(&path, &options).unwrap();
    assert_eq!((kept.vocabulary.join(" "), kept.columns[0].name.as_str()), ("x y".to_owned(), "day"));
    assert_eq!(kept.columns[0].values.len(), 2);
}

#[test]
fn columns_are_those_that_are_named() {
    let rows = "red ants,blue bees,x,first,1,n7\nred sky,blue sky,y,first,2,n8\n";
    let (_folder, path) = file("made.csv", &format!("text,summary,kind,label,id,number\n{rows}"));
    let read = |columns| corpus(&path, &CorpusOptions { columns, ..CorpusOptions::default() }).unwrap();
    let found = read(Columns::default());
    assert_eq!((found.documents[1].id.as_str(), found.documents[1].snippet.as_str()), ("2", "red sky"));
    let [text, title, label, id] = ["summary", "text", "kind", "number"].map(|name| Some(name.to_owned()));
    let found = read(Columns { text, title, label, id });
    let of = |n: usize| [&found.documents[n].id, &found.documents[n].title, &found.documents[n].snippet];
    assert_eq!([of(0), of(1)], [["n7", "red ants", "blue bees"], ["n8", "red sky", "blue sky"]]);
    assert_eq!(found.labels.names, ["x", "y"]);
    let columns = Columns { text: Some("none".to_owned()), ..Columns::default() };
    assert!(corpus(&path, &CorpusOptions { columns, ..CorpusOptions::default() }).is_err());
}

#[test]
fn a_file_that_is_to_be_written_is_not_the_input() {
    let (folder, path) = file("made.csv", "text\nred ants\nblue sky\n");
    let options = CorpusOptions { ignore: vec![path.clone()], ..CorpusOptions::default() };
    assert!(matches!(corpus(&path, &options), Err(CorpusError::InputIsOutput { .. })));
    // In a folder it is passed over.
    fs::write(folder.path().join("a.txt"), "red ants").unwrap();
    fs::write(folder.path().join("b.txt"), "blue sky").unwrap();
    let folder = corpus(folder.path(), &options).unwrap();
    assert_eq!((folder.bags.len(), folder.source.map(|source| source.files)), (2, Some(2)));
}

#[test]
fn texts_are_kept_up_to_a_number_of_bytes() {
    let (_folder, path) = file("texts.csv", "text\nred ants\nblue ants and bees\nred bees\n");
    let texts = |keep_texts: usize| {
        let read = corpus(&path, &CorpusOptions { keep_texts, ..CorpusOptions::default() }).unwrap();
        read.documents.into_iter().map(|document| document.text).collect::<Vec<_>>()
    };
    assert_eq!(texts(0), ["", "", ""]);
    assert_eq!(texts(34), ["red ants", "blue ants and bees", "red bees"]);
    assert_eq!(texts(25), ["red ants", "", "red bees"]); // one that does not fit beside those before it
    assert_eq!(texts(16), ["red ants", "", "red bees"]); // one that does not fit is left out whole
}

#[test]
fn bags_need_a_word_for_each_feature() {
    let bags = CsrBuf::from_dense(2, &[1.0_f32, 0.0, 0.0, 0.0]).unwrap();
    let limits = BlockLimits::in_memory();
    let words = |n: usize| ["ant", "bee", "cow"][..n].iter().map(|&word| word.to_owned()).collect();
    let refused = Corpus::from_bags(bags.clone(), words(3), limits).unwrap_err();
    assert!(matches!(refused, CorpusError::Vocabulary { features: 2, words: 3 }));
    let corpus = Corpus::from_bags(bags, words(2), limits).unwrap();
    assert_eq!((corpus.nonempty, corpus.bags.len(), corpus.tokens), (1, 2, 1.0));
}

#[test]
fn sequences_are_counted_by_symbol() {
    let (_folder, path) = file("made.csv", "class,name,sequence\n+,one,TACta\n-,two,gtt\n");
    let set = SequenceCorpus::<f32>::read(&path, &CorpusOptions::default()).unwrap();
    assert_eq!(set.corpus.vocabulary, ["a", "c", "g", "t"]);
    assert_eq!(rows(&set.corpus), [vec![(0, 2.0), (1, 1.0), (3, 2.0)], vec![(2, 1.0), (3, 2.0)]]);
    assert_eq!((set.corpus.labels.name(1), set.corpus.kind), (Some("-"), CorpusKind::Sequences));
    assert_eq!(set.sequences.as_view().positions(), 8);
    assert_eq!((set.corpus.name.as_str(), set.corpus.nonempty), ("made", 2));
    let documents = set.corpus.documents.iter();
    let documents: Vec<_> =
        documents.map(|info| (info.id.as_str(), info.title.as_str(), info.tokens)).collect();
    assert_eq!(documents, [("1", "1", 5.0), ("2", "2", 3.0)]);
    // The columns may be said.
    let (_folder, path) = file("other.csv", "name,sequence,bases\none,aa,TACta\ntwo,cc,gtt\n");
    let [text, id] = ["bases", "name"].map(|column| Some(column.to_owned()));
    let options =
        CorpusOptions { columns: Columns { text, id, ..Columns::default() }, ..CorpusOptions::default() };
    let other = SequenceCorpus::<f32>::read(&path, &options).unwrap();
    assert_eq!(rows(&other.corpus), rows(&set.corpus));
    let ids = other.corpus.documents.iter().map(|info| (info.id.as_str(), info.title.as_str()));
    assert!(ids.eq([("one", "one"), ("two", "two")]));
}

#[test]
fn labels_are_folders_of_any_level() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in
        [("x/a/1.txt", "red ants"), ("x/b/2.txt", "blue ants"), ("y/a/3.txt", "red sky"), ("4.txt", "sky")]
    {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let labels = |label_depth| {
        let corpus =
            corpus(folder.path(), &CorpusOptions { label_depth, ..CorpusOptions::default() }).unwrap();
        let label = |n| corpus.labels.name(n).unwrap_or_default().to_owned();
        let mut labels: Vec<_> = corpus
            .documents
            .iter()
            .enumerate()
            .map(|(n, document)| (document.id.clone(), label(n)))
            .collect();
        labels.sort();
        labels.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
    };
    assert_eq!(labels(None), ["", "x", "x", "y"]);
    assert_eq!(labels(Some(1)), ["", "x", "x", "y"]);
    assert_eq!(labels(Some(2)), ["", "a", "b", "a"]);
    assert_eq!(labels(Some(3)), [""; 4]);
    assert_eq!(labels(Some(0)), [""; 4]);
    let (_folder, path) = file("a.csv", "label,text\nx,red ants\ny,blue ants\n");
    let refused = corpus(&path, &CorpusOptions { label_depth: Some(1), ..CorpusOptions::default() });
    assert!(matches!(refused, Err(CorpusError::LabelDepth { .. })), "{refused:?}");
}

#[test]
fn documents_are_counted_in_their_own_language() {
    let texts = [
        "Die Ameisen folgen der Spur, die andere Ameisen vor ihnen zum Futter gelegt haben.",
        "The ants follow the trail that other ants have left before them on their way to the food.",
        "der Futter",
        "Die Spur der Ameisen ist auf dem Weg nicht mehr zu sehen, weil es in der Nacht geregnet hat.",
    ];
    let options = CorpusOptions {
        words: WordOptions { max_share: Some(1.0), stem: true, ..WordOptions::default() },
        ..CorpusOptions::default()
    };
    let read = Corpus::<f32>::from_texts(&texts, &options).unwrap();
    let blocks = BlockLimits { bags: 2, ..BlockLimits::in_memory() };
    let in_blocks = Corpus::<f32>::from_texts(&texts, &CorpusOptions { blocks, ..options.clone() }).unwrap();
    assert_eq!(contents(&in_blocks), contents(&read));
    assert_eq!(in_blocks.languages, read.languages);
    let codes: Vec<_> = read.languages.iter().map(|&(language, count)| (language.code(), count)).collect();
    assert_eq!(codes, [("de", 3), ("en", 1)]);
    assert!(!read.vocabulary.iter().any(|word| ["der", "die", "the", "on"].contains(&word.as_str())));
    assert_eq!(read.documents[2].tokens, 1.0);
    let again = Corpus::<f32>::count_texts(&texts, &read.vocabulary, &read.text, &options).unwrap();
    assert_eq!(rows(&again), rows(&read));
    assert_eq!(again.documents, read.documents);
}

/// A row of a table with a text that is unlike all others but those of the same number.
fn row(id: usize, text: u8, edit: bool) -> String {
    let label = ["a", "b", ""][usize::from(text % 3)];
    let year = if text.is_multiple_of(4) { String::new() } else { (2000 + usize::from(text)).to_string() };
    let name = |n: u8| format!("{}{}", char::from(b'a' + text), char::from(b'a' + n).to_string().repeat(3));
    let mut words: Vec<String> = (0..26).chain(0..10).chain((0..26).rev()).map(name).collect();
    if edit {
        words[20] = "edited".to_owned();
    }
    format!("{id},{label},{year},{}\n", words.join(" "))
}

proptest! {
    #[test]
    fn what_near_duplicates_leave_is_what_would_be_read_without_them(
        texts in prop::collection::vec((0u8..6, any::<bool>()), 1..14),
        per_label in prop::option::of(1usize..6),
        options in options(),
    ) {
        let first = |n: usize| texts.iter().position(|(text, _)| *text == texts[n].0).unwrap();
        let words = WordOptions { min_count: Some(1), max_words: 50, ..options.words.clone() };
        let all = CorpusOptions { words, keep_columns: KeepColumns::All, ..options };
        let of = |kept: &dyn Fn(usize) -> bool, options: &CorpusOptions| {
            let rows = (0..texts.len()).filter(|&n| kept(n)).map(|n| row(n, texts[n].0, texts[n].1));
            let (_folder, path) = file("table.csv", &("id,label,year,text\n".to_owned() + &rows.collect::<String>()));
            corpus(&path, options).unwrap()
        };
        let distinct = CorpusOptions { keep_near_duplicates: false, ..all.clone() };
        let mut found = of(&|_| true, &distinct);
        let repeated: Vec<_> = (0..texts.len()).filter(|&n| first(n) < n).collect();
        prop_assert_eq!(found.near_duplicates.len(), repeated.len());
        for (own, &n) in found.near_duplicates.iter().zip(&repeated) {
            prop_assert_eq!(&own.id, &n.to_string());
            prop_assert_eq!(&found.documents[own.of].id, &first(n).to_string());
        }
        // For how many each stands, where any does.
        if !repeated.is_empty() {
            let column = found.columns.pop().unwrap();
            let expected = found.documents.iter().map(|document| {
                let stands_for = repeated.iter().filter(|&&n| first(n).to_string() == document.id).count();
                (stands_for > 0).then_some(stands_for as f64)
            });
            prop_assert_eq!(column.name, "near-duplicates");
            prop_assert_eq!(column.values, ColumnValues::Numbers(expected.collect()));
        }
        prop_assert_eq!(contents(&found), contents(&of(&|n| first(n) == n, &all)));
        // In a temporary file, and without documents.
        let blocks = BlockLimits { entries: 3, bags: 2, ..BlockLimits::streaming() };
        prop_assert_eq!(rows(&of(&|_| true, &CorpusOptions { blocks, ..distinct.clone() })), rows(&found));
        let bare = of(&|_| true, &CorpusOptions { keep_documents: false, ..distinct.clone() });
        prop_assert_eq!(rows(&bare), rows(&found));
        prop_assert!(bare.near_duplicates.iter().map(|own| own.of).eq(found.near_duplicates.iter().map(|own| own.of)));
        // Sequences are kept, and a sample has those that were drawn, each text once.
        let ngrams = WordOptions { ngrams: Some(2), ..WordOptions::default() };
        let sequences = of(&|_| true, &CorpusOptions { words: ngrams, ..distinct.clone() });
        prop_assert_eq!((sequences.bags.len(), sequences.near_duplicates.len()), (texts.len(), 0));
        let sample = per_label.map(|per_label| Sample { per_label, seed: 3 });
        let [sampled, drawn] = [&distinct, &all].map(|options| of(&|_| true, &CorpusOptions { sample, ..options.clone() }));
        let mut seen = std::collections::BTreeSet::new();
        let once = drawn.documents.iter().filter(|document| seen.insert(texts[document.id.parse::<usize>().unwrap()].0));
        prop_assert!(sampled.documents.iter().map(|document| &document.id).eq(once.map(|document| &document.id)));
        prop_assert_eq!(sampled.bags.len() + sampled.near_duplicates.len(), drawn.bags.len());
    }
}

#[test]
fn near_duplicates_of_public_collections() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    // Abstracts that were entered twice; titles, of which 201 are there more than once, are all kept.
    for (name, file, documents, repeated) in
        [("classic3", "classic3.tsv.gz", 2_725, 7), ("dblp", "dblp.tsv.gz", 38_221, 0)]
    {
        let path = data.join(name).join(file);
        if !path.exists() {
            // Not captured, unlike what `eprintln!` writes.
            let path = path.display();
            writeln!(std::io::stderr(), "near_duplicates_of_public_collections: SKIPPED, no {path}").unwrap();
            continue;
        }
        let found = corpus(&path, &CorpusOptions { keep_near_duplicates: false, ..CorpusOptions::default() })
            .unwrap();
        assert_eq!(
            (found.bags.len(), found.near_duplicates.len()),
            (documents - repeated, repeated),
            "{name}"
        );
    }
}
