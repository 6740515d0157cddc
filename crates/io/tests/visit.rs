//! One document after the other: the same as all at once.

use std::fs;
use std::path::Path;

use countgrid_counts::CsrBuf;
use countgrid_io::{DataSet, Item, ReadError, ReadOptions, read, visit};

/// Puts together again what comes in pieces.
fn visited(path: &Path) -> Result<DataSet, ReadError> {
    let (mut documents, mut counts, mut bags) = (Vec::new(), None, 0);
    let summary = visit(path, &ReadOptions::default(), |item| {
        match item {
            Item::Document(document) => documents.push(document),
            Item::Labels(labels) => {
                assert_eq!(labels.len(), documents.len(), "labels come last");
                documents.iter_mut().zip(labels).for_each(|(document, label)| document.label = label);
            }
            Item::Vocabulary(words) => {
                assert!(counts.is_none(), "one vocabulary, before the bags");
                let bags = CsrBuf::new(words.len()).unwrap();
                let (names, labels) = (Vec::new(), Vec::new());
                counts = Some(countgrid_io::Counts { vocabulary: words, bags, names, labels });
            }
            Item::Bag(bag) => {
                let counts = counts.as_mut().unwrap();
                let bag = bag.iter().map(|&(word, count)| (word as usize, count));
                counts.bags.push_bag(bag).unwrap();
                bags += 1;
                counts.names.push(bags.to_string());
                counts.labels.push(None);
            }
            _ => unreachable!(),
        }
        Ok::<_, ReadError>(())
    })?;
    assert_eq!(summary.documents, documents.len() + bags);
    Ok(counts.map_or(DataSet::Documents(documents), DataSet::Counts))
}

fn write_all(folder: &Path) {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("a.csv", "id,label,text\n1,x,\"one, two\"\n2,,three\n3,y,four\n");
    write("a.tsv", "text\tlabel\none\tx\ntwo\tx\n");
    write("a.jsonl", "{\"text\": \"one\", \"label\": \"x\"}\n\n{\"text\": \"two\"}\n");
    write("docword.a.txt", "4\n3\n4\n3 1 2\n1 3 1\n1 1 4\n3 2 0\n");
    write("vocab.a.txt", "ant\nbee\ncow\n");
    write("texts/x/1.txt", "one");
    write("texts/x/2.txt", "two");
    write("texts/y/deep/1.txt", "three");
    write("texts/beside.txt", "four");
}

#[test]
fn one_after_the_other_is_the_same_as_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path());
    for name in ["a.csv", "a.tsv", "a.jsonl", "docword.a.txt", "texts"] {
        let path = folder.path().join(name);
        let (expected, _) = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(visited(&path).unwrap(), expected, "{name}");
    }
    let (DataSet::Documents(documents), summary) =
        read(folder.path().join("texts"), &ReadOptions::default()).unwrap()
    else {
        unreachable!()
    };
    let labels: Vec<_> = documents.iter().map(|document| document.label.as_deref()).collect();
    assert_eq!((labels, summary.labels), (vec![None, Some("x"), Some("x"), Some("y")], 2));
}

#[test]
fn a_visitor_that_has_enough_gets_no_more() {
    #[derive(Debug)]
    enum Ended {
        Enough,
        Read(#[allow(dead_code, reason = "to be printed")] ReadError),
    }
    impl From<ReadError> for Ended {
        fn from(error: ReadError) -> Self {
            Self::Read(error)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path());
    for name in ["a.csv", "a.tsv", "a.jsonl", "docword.a.txt", "texts"] {
        let mut items = 0;
        let ended = visit(folder.path().join(name), &ReadOptions::default(), |_| {
            items += 1;
            if items == 2 { Err(Ended::Enough) } else { Ok(()) }
        });
        assert!(matches!(ended, Err(Ended::Enough)) && items == 2, "{name}");
    }
}
