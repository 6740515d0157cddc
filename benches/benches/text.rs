//! Text to words, and a whole collection to bags of words. Unit of work: a byte of text.

use std::{fmt::Write, hint::black_box};

use countgrid_benches::Corpus;
use countgrid_counts::Bags;
use countgrid_text::{Language, TextOptions, Tokenizer, bags};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const DOCUMENTS: usize = 1_000;

/// Documents of words made of letters alone, ten to a sentence.
fn documents() -> Vec<String> {
    let corpus = Corpus { bags: DOCUMENTS, ..Corpus::standard() }.draw(1);
    let word = |mut feature: usize| {
        let mut word = String::from("w");
        while feature > 0 {
            word.push(char::from(b'a' + (feature % 26) as u8));
            feature /= 26;
        }
        word
    };
    let document = |bag: usize| {
        let mut text = String::new();
        for (place, (feature, count)) in corpus.entries(bag).enumerate() {
            let end = if place % 10 == 9 { ". " } else { " " };
            (0..count)
                .for_each(|_| write!(text, "{}{end}", word(feature)).expect("a string takes everything"));
        }
        text
    };
    (0..corpus.len()).map(document).collect()
}

fn text(criterion: &mut Criterion) {
    let documents = documents();
    let texts = || documents.iter().map(String::as_str);
    let mut group = criterion.benchmark_group("text");
    group.throughput(Throughput::Bytes(texts().map(str::len).sum::<usize>() as u64));
    for stem in [false, true] {
        let name = if stem { "stemmed" } else { "plain" };
        let options = TextOptions { stem, ..TextOptions::default() };
        let tokenizer = Tokenizer::new(&options).expect("the options are valid");
        group.bench_function(format!("tokens/{name}"), |bencher| {
            let words = |text| {
                tokenizer
                    .tokens(text)
                    .map(|token| tokenizer.stem(Language::ENGLISH, &token).len())
                    .sum::<usize>()
            };
            bencher.iter(|| black_box(texts()).map(words).sum::<usize>());
        });
        group.bench_function(format!("bags/{name}"), |bencher| {
            bencher.iter(|| bags(black_box(texts()), &options));
        });
    }
}

criterion_group!(benches, text);
criterion_main!(benches);
