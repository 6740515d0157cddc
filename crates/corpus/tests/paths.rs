//! What options say of paths: columns, files that are passed over, errors, and the order of words.
#![cfg(feature = "files")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use countgrid_corpus::{
    ColumnValues, Corpus, CorpusError, CorpusOptions, KeepColumns, LabelColumn, Sample, Scale, Scaling,
    WordOptions, read_all_word_sequences, read_word_sequences,
};
use countgrid_counts::{Bags, SequencesBuf};
use countgrid_io::Columns;
use countgrid_text::{Languages, StopWords, TextOptions};
use proptest::prelude::*;

/// A folder with these files, and their paths.
fn files<const N: usize>(contents: [(&str, &str); N]) -> (tempfile::TempDir, [PathBuf; N]) {
    let folder = tempfile::tempdir().unwrap();
    let paths = contents.map(|(name, content)| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    });
    (folder, paths)
}

fn rows(corpus: &Corpus<f32>) -> Vec<Vec<(usize, f32)>> {
    let bags = corpus.bags.gather(|count| count).unwrap();
    (0..bags.len()).map(|bag| bags.entries(bag).collect()).collect()
}

fn keep(columns: KeepColumns) -> CorpusOptions {
    CorpusOptions { keep_columns: columns, ..CorpusOptions::default() }
}

fn named(name: &str) -> CorpusOptions {
    keep(KeepColumns::Named(vec![name.to_owned()]))
}

/// The columns of the paths as one data set, which are the same if its vocabulary is selected and if it is known.
fn columns(paths: &[PathBuf], options: &CorpusOptions) -> Result<Vec<(String, ColumnValues)>, CorpusError> {
    let known = ["ants", "x"].map(str::to_owned);
    let read = Corpus::<f32>::read_all(paths, options);
    let counted = Corpus::<f32>::count_all(paths, &known, &TextOptions::default(), options);
    match (read, counted) {
        (Ok(read), Ok(counted)) => {
            assert_eq!(read.columns, counted.columns);
            Ok(read.columns.into_iter().map(|column| (column.name, column.values)).collect())
        }
        (Err(read), Err(counted)) => {
            assert_eq!(read.to_string(), counted.to_string());
            Err(read)
        }
        (read, counted) => panic!("{read:?} {counted:?}"),
    }
}

#[test]
fn a_column_may_come_with_a_later_path() {
    let (_folder, paths) = files([
        ("a.csv", "text\nred ants\nblue ants\n"),
        ("b.csv", "text,year\nred sky,\nblue sky,\n"),
        ("c.csv", "text,year\nred bees,2004\n"),
    ]);
    let year = |values: &[Option<f64>]| ("year".to_owned(), ColumnValues::Numbers(values.to_vec()));
    let expected = [year(&[None, None, None, None, Some(2004.0)])];
    assert_eq!(columns(&paths, &named("year")).unwrap(), expected);
    assert_eq!(columns(&paths, &keep(KeepColumns::All)).unwrap(), expected);
    // Also where the first has others.
    let (_folder, others) =
        files([("a.csv", "text,place\nred ants,wood\n"), ("b.csv", "text,year\nblue ants,2004\n")]);
    assert_eq!(columns(&others, &named("year")).unwrap(), [year(&[None, Some(2004.0)])]);
    let missed = columns(&paths, &named("month")).unwrap_err();
    assert!(matches!(&missed, CorpusError::NoSuchColumn { name, .. } if name == "month"), "{missed}");
    let missed = columns(&paths[..1], &named("year")).unwrap_err();
    assert!(
        matches!(&missed, CorpusError::NoSuchColumn { name, columns } if name == "year" && columns.is_empty())
    );
}

#[test]
fn columns_of_several_paths_are_one_by_their_names() {
    let (_folder, paths) = files([
        ("a.csv", "text,year,place\nred ants,1999,here\n"),
        ("b.csv", "text,place,month,year\nred sky,there,7,2004\nblue sky,here,,\n"),
    ]);
    let found = columns(&paths, &keep(KeepColumns::All)).unwrap();
    let numbers = |values: [Option<f64>; 3]| ColumnValues::Numbers(values.to_vec());
    let expected = [
        ("year", numbers([Some(1999.0), Some(2004.0), None])),
        ("place", ColumnValues::Texts(["here", "there", "here"].map(str::to_owned).to_vec())),
        ("month", numbers([None, Some(7.0), None])),
    ];
    assert_eq!(found, expected.map(|(name, values)| (name.to_owned(), values)));
}

#[test]
fn what_is_wrong_first_is_what_is_told() {
    // A column that is not there, then a negative number, then a record without its last field.
    let (folder, [path]) = files([("a.csv", "")]);
    let mut bytes = b"id,day,x,y\na,2001-01-01,-1,2\n".to_vec();
    bytes.extend((0..5_000).flat_map(|id| format!("n{id},2001-01-01,3,4\n").into_bytes()));
    bytes.extend(b"z,,1\n");
    fs::write(&path, bytes).unwrap();
    let missed = columns(std::slice::from_ref(&path), &named("year")).unwrap_err();
    assert!(matches!(missed, CorpusError::NoSuchColumn { .. }), "{missed}");
    let read = |scale| {
        let scaling = Scaling { scale, tokens: None };
        Corpus::<f32>::read(&path, &CorpusOptions { scaling, ..CorpusOptions::default() }).unwrap_err()
    };
    let refused = read(Scale::None);
    assert!(matches!(refused, CorpusError::NegativeNumber { bag: 0, .. }), "{refused}");
    let refused = read(Scale::Shift);
    assert!(matches!(refused, CorpusError::Read(_)), "{refused}");
    drop(folder);
}

#[test]
fn the_vocabulary_of_counts_may_be_elsewhere() {
    let (_folder, [counts, words]) =
        files([("docword.a.txt", "2\n2\n2\n1 1 4\n2 2 1\n"), ("words", "ant\nbee\n")]);
    let options = CorpusOptions { vocabulary: Some(words), ..CorpusOptions::default() };
    let corpus = Corpus::<f32>::read(&counts, &options).unwrap();
    assert_eq!(corpus.vocabulary, ["ant", "bee"]);
    // A text that its model may meet is English: there was none to detect a language from.
    let text = &corpus.text;
    assert_eq!((&text.languages, &text.stop_words), (&Languages::english(), &StopWords::English));
    assert!(text.keep_noise && corpus.words.is_none());
}

#[test]
fn files_of_a_folder_are_passed_over_or_refused() {
    let (folder, paths) = files([("a.txt", "red ants"), ("b.txt", "blue ants"), ("c.txt", "written ants")]);
    let ignored = CorpusOptions { ignore: vec![paths[2].clone()], ..CorpusOptions::default() };
    let read = |options: &CorpusOptions| Corpus::<f32>::read(folder.path(), options);
    assert!(read(&CorpusOptions::default()).unwrap().vocabulary.contains(&"written".to_owned()));
    let corpus = read(&ignored).unwrap();
    assert_eq!((corpus.bags.len(), corpus.vocabulary.contains(&"written".to_owned())), (2, false));
    fs::write(&paths[2], b"\xc3\xa4\xc3\xb6\nna\xefve\n").unwrap(); // nearly UTF-8
    let corpus = read(&CorpusOptions::default()).unwrap();
    let left_out = corpus.source.map(|source| source.left_out.len());
    assert_eq!((corpus.bags.len(), left_out), (2, Some(1)));
    let refused = read(&CorpusOptions { strict: true, ..CorpusOptions::default() }).unwrap_err();
    assert!(matches!(&refused, CorpusError::Read(error) if error.file() == paths[2]), "{refused}");
}

fn symbols(found: Option<SequencesBuf<u32>>) -> Option<Vec<Vec<u32>>> {
    let found = found?;
    let view = found.as_view();
    Some((0..view.len()).map(|n| view.get(n).unwrap().entries().to_vec()).collect())
}

#[test]
fn words_are_numbers_in_their_order() {
    let (_folder, [a, b, counts]) = files([
        ("a.csv", "title,text\nBees,red bees and red ants\nNone,\n"),
        ("b.csv", "title,text\nAnts,Ants follow ants\n"),
        ("c.csv", "id,x,y\na,1,2\nb,3,4\n"),
    ]);
    let words = ["ants", "red"].map(str::to_owned);
    let (text, options) = (TextOptions::default(), CorpusOptions::default());
    let of = |path: &Path| symbols(read_word_sequences(path, &words, &text, &options).unwrap());
    // A word that is not known is a symbol of its own, also of a text without any.
    let [first, second] = [vec![vec![1, 2, 1, 0], vec![2]], vec![vec![0, 2, 0]]];
    assert_eq!((of(&a), of(&b)), (Some(first.clone()), Some(second.clone())));
    assert_eq!(of(&counts), None);
    let both = read_all_word_sequences(&[&a, &b], &words, &text, &options).unwrap();
    assert_eq!(both.as_ref().map(|found| found.as_view().symbols()), Some(3));
    assert_eq!(symbols(both), Some([first, second].concat()));
    let missing = read_word_sequences(a.with_extension("none"), &words, &text, &options);
    assert!(matches!(missing, Err(CorpusError::Read(_))));
}

#[test]
fn new_documents_have_the_options_they_were_counted_with() {
    let words = ["ants", "red"].map(str::to_owned);
    let text = TextOptions { keep_noise: true, languages: Languages::english(), ..TextOptions::default() };
    let scaling = Scaling { scale: Scale::Shift, tokens: Some(6.0) };
    let options = CorpusOptions { scaling, ..CorpusOptions::default() };
    let counted = Corpus::<f32>::count_texts(&["red ants and red bees"], &words, &text, &options).unwrap();
    assert_eq!((&counted.text, counted.scaling), (&text, scaling));
    assert_eq!(rows(&counted), [[(0, 2.0), (1, 4.0)]]);
    // And the name that is given.
    assert_eq!(counted.name, "texts");
    let none = || Vec::<countgrid_io::Document>::new();
    let counted = Corpus::<f32>::count_documents("new", none(), &words, &text, &options).unwrap();
    assert_eq!((counted.name.as_str(), counted.bags.len()), ("new", 0));
    let refused = Corpus::<f32>::from_documents("none", none(), &options).unwrap_err();
    assert!(matches!(&refused, CorpusError::NoWords { path, .. } if path == Path::new("none")), "{refused}");
}

/// A table of counts with labels.
fn counts() -> impl Strategy<Value = Vec<(&'static str, [u8; 5])>> {
    let row =
        (prop::sample::select(vec!["a", "b", ""]), prop::array::uniform5(prop_oneof![Just(0u8), 1u8..4]));
    prop::collection::vec(row, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Of counts too a sample is what a reading of the drawn documents alone gives.
    #[test]
    fn a_sample_of_counts_is_a_reading_of_what_was_drawn(
        counts in counts(), per_label in 1usize..4, seed in 0u64..5,
        min_count in 1usize..4, share in prop::sample::select(vec![0.4, 0.5, 1.0]), max_words in 1usize..6,
    ) {
        let labels = LabelColumn::from_labels(
            counts.iter().map(|(label, _)| (!label.is_empty()).then(|| (*label).to_owned())),
        );
        let sample = Sample { per_label, seed };
        let drawn = sample.draw(&labels);
        let table = |is_taken: &dyn Fn(usize) -> bool| {
            let row = |(id, (label, x)): (usize, &(&str, [u8; 5]))| {
                format!("d{id},{label},{},{},{},{},{}\n", x[0], x[1], x[2], x[3], x[4])
            };
            let rows = counts.iter().enumerate().filter(|(id, _)| is_taken(*id)).map(row);
            format!("id,label,v,w,x,y,z\n{}", rows.collect::<String>())
        };
        let (_folder, [all, some]) =
            files([("all.csv", &table(&|_| true)), ("some.csv", &table(&|id| drawn[id]))]);
        let words = WordOptions { min_count: Some(min_count), max_share: Some(share), max_words, ..WordOptions::default() };
        let options = CorpusOptions { words, ..CorpusOptions::default() };
        let sampled = Corpus::<f32>::read(&all, &CorpusOptions { sample: Some(sample), ..options.clone() });
        match (sampled, Corpus::<f32>::read(&some, &options)) {
            (Ok(sampled), Ok(expected)) => {
                prop_assert_eq!(&sampled.documents, &expected.documents);
                prop_assert_eq!(&sampled.vocabulary, &expected.vocabulary);
                prop_assert_eq!(&sampled.labels, &expected.labels);
                prop_assert_eq!(rows(&sampled), rows(&expected));
            }
            (Err(CorpusError::NoWords { documents: a, .. }), Err(CorpusError::NoWords { documents: b, .. })) => {
                prop_assert_eq!(a, b);
            }
            (sampled, expected) => panic!("{sampled:?} {expected:?}"),
        }
    }
}

#[test]
fn an_option_that_is_not_used_for_what_was_read_is_refused() {
    let (folder, [texts, counts, docword, words]) = files([
        ("texts.csv", "text,label\nred ants,x\nblue ants,y\n"),
        ("counts.csv", "ant,bee,label\n1,2,x\n3,0,y\n"),
        ("docword.a.txt", "2\n2\n2\n1 1 3\n2 2 1\n"),
        ("vocab.a.txt", "ants\nbees\n"),
    ]);
    let plain = folder.path().join("plain");
    fs::create_dir(&plain).unwrap();
    fs::write(plain.join("a.txt"), "red ants").unwrap();
    let scaled = CorpusOptions {
        scaling: Scaling { scale: Scale::Log(1.0), tokens: None },
        ..CorpusOptions::default()
    };
    let phrases = CorpusOptions {
        words: WordOptions { phrases: true, ..WordOptions::default() },
        ..CorpusOptions::default()
    };
    let vocabulary = CorpusOptions { vocabulary: Some(words), ..CorpusOptions::default() };
    let columns = |columns: [Option<&str>; 4]| {
        let [text, title, label, id] = columns.map(|name| name.map(str::to_owned));
        CorpusOptions { columns: Columns { text, title, label, id }, ..CorpusOptions::default() }
    };
    let read = |path: &Path, options: &CorpusOptions| Corpus::<f32>::read(path, options);
    for (path, options, message) in [
        (&texts, &scaled, "texts, and `scaling.scale` is for numbers"),
        (&plain, &scaled, "texts, and `scaling.scale` is for numbers"),
        (&counts, &phrases, "counts, and `words.phrases` is for texts"),
        (&docword, &phrases, "counts, and `words.phrases` is for texts"),
        (&texts, &vocabulary, "CSV, and `vocabulary` is for files of counts"),
        (&counts, &vocabulary, "CSV, and `vocabulary` is for files of counts"),
        (&docword, &columns([Some("text"), None, None, None]), "docword counts, and `columns.text` is for"),
        (&docword, &columns([None, Some("label"), None, None]), "docword counts, and `columns.title` is for"),
        (&docword, &columns([None, None, Some("label"), None]), "docword counts, and `columns.label` is for"),
        (&docword, &columns([None, None, None, Some("label")]), "docword counts, and `columns.id` is for"),
        (&plain, &columns([None, None, Some("label"), None]), "folder of text files, and `columns.label` is"),
    ] {
        let error = read(path, options).unwrap_err();
        assert!(matches!(error, CorpusError::Unused { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(message) && error.contains(path.to_str().unwrap()), "{error}");
    }
    // Of several paths one has to have it.
    let both = [&plain, &texts];
    let labelled = columns([None, None, Some("label"), None]);
    assert_eq!(Corpus::<f32>::read_all(&both, &labelled).unwrap().labels.names.len(), 2);
    // What is used is used.
    for (path, options) in [
        (&counts, &scaled),
        (&docword, &scaled),
        (&texts, &phrases),
        (&docword, &vocabulary),
        (&counts, &labelled),
        (&texts, &labelled),
    ] {
        read(path, options).unwrap();
    }
}
