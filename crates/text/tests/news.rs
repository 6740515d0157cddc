//! Usenet posts of three groups, where they are at hand.

use std::fs::File;
use std::io::{Read, Write};

use countgrid_text::{TextOptions, WordBags, bags};

#[test]
fn usenet_posts() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/news-20-same/news-20-same.tsv.gz");
    let Ok(file) = File::open(path) else {
        writeln!(std::io::stderr(), "usenet_posts: SKIPPED, no data set at ../shared/data/news-20-same")
            .unwrap();
        return;
    };
    let mut table = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut table).unwrap();
    let texts: Vec<String> = table
        .lines()
        .skip(1)
        .map(|line| line.splitn(4, '\t').skip(2).collect::<Vec<_>>().join("\n"))
        .collect();
    assert_eq!(texts.len(), 2_016);

    let read = bags(&texts, &TextOptions::default()).unwrap();
    let again = bags(&texts, &TextOptions::default()).unwrap();
    assert_eq!(read, again);
    writeln!(std::io::stderr(), "usenet_posts: {:?}, {} empty", read.summary, read.empty_bags().count())
        .unwrap();
    assert_eq!(read.vocabulary.len(), 5_000);
    assert!(read.empty_bags().count() < 20);
    for word in ["windows", "graphics", "motif", "3d", "server", "driver", "image"] {
        assert!(read.vocabulary.binary_search(&word.into()).is_ok(), "{word} is not in the vocabulary");
    }
    assert!(read.vocabulary.binary_search(&"the".into()).is_err());

    let stemmed = bags(&texts, &TextOptions { stem: true, ..TextOptions::default() }).unwrap();
    assert!(stemmed.summary.words < read.summary.words);
    let kept = |read: &WordBags| read.bags.counts().iter().map(|&n| u64::from(n)).sum::<u64>();
    assert!(kept(&stemmed) > kept(&read), "stems cover more of the text");
}
