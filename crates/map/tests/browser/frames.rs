//! What drawing costs by the number of documents, for people to read: nothing is asserted of a time.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use countgrid_map::{Document, Field, FieldKind, Page, PageColumn, Space, Word, write_html};

use super::firefox::Firefox;
use super::{Written, chromium, parts, program};

const EXTENTS: [usize; 2] = [48, 64];

/// SplitMix64: the same page on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }

    /// Words by a law like Zipf's: half of them are of the first seventy.
    fn words(&mut self, n: usize) -> String {
        (0..n).map(|_| format!("w{}", (5_000f64.powf(self.next())) as usize)).collect::<Vec<_>>().join(" ")
    }
}

/// Documents all over a map, each with a title of 5 words, a text of 24 unless it is to have none, a day and one of 12 labels.
fn page(space: Space, documents: usize, texts: bool) -> Page {
    let mut random = Random(3);
    let cells = EXTENTS[0] * EXTENTS[1];
    let window = if space == Space::Plane { [1, 1] } else { [4, 4] };
    let documents = (0..documents).map(|_| {
        let place = [random.next() * EXTENTS[0] as f64, random.next() * EXTENTS[1] as f64];
        let cell = (place[0] as usize * EXTENTS[1] + place[1] as usize) as u32;
        Document {
            title: random.words(5),
            label: Some(random.below(12) as u32),
            snippet: if texts { random.words(8) } else { String::new() },
            text: if texts { random.words(24) } else { String::new() },
            fields: vec![Field::Day(10_000 + random.below(5_000) as i32)],
            posterior: vec![(cell, 0.7), ((cell + 1) % cells as u32, 0.3)],
            place: (space == Space::Plane).then_some(place.map(|x| x as f32)),
        }
    });
    Page {
        title: "Many documents".into(),
        extents: EXTENTS,
        window,
        space,
        documents: documents.collect(),
        words: (0..4 * cells)
            .map(|n| Word {
                text: format!("w{}", n % 4_999),
                cell: (n * 7919 % cells) as u32,
                weight: 1.0 / (n + 1) as f32,
            })
            .collect(),
        labels: (0..12).map(|label| format!("label {label}")).collect(),
        columns: vec![PageColumn { name: "sent".into(), kind: FieldKind::Days }],
        regions: parts(EXTENTS),
        ..Page::default()
    }
}

/// `FRAMES=1000,20000,100000 cargo test --release -p countgrid-map --test all -- --ignored --nocapture frames`
///
/// What ends in `.html` among the numbers is a page to be opened as it is, and `FRAMES_FOLDER` a folder where pages that are made stay: so
/// that one program measures pages of several versions in turn.
#[test]
#[ignore = "measures: FRAMES names numbers of documents"]
fn frames() {
    let mut out = std::io::stderr();
    let Some(sizes) = env::var("FRAMES").ok() else {
        return writeln!(out, "frames: SKIPPED, FRAMES names no numbers of documents").unwrap();
    };
    let own = tempfile::tempdir().unwrap();
    let folder = env::var_os("FRAMES_FOLDER").map_or_else(|| own.path().into(), PathBuf::from);
    for size in sizes.split(',').map(str::trim) {
        if size.ends_with(".html") {
            measure(Path::new(size), &own.path().join("profile"));
            continue;
        }
        let documents = size.parse().expect("FRAMES: numbers and pages with commas");
        for space in [Space::Torus, Space::Plane] {
            let page = page(space, documents, documents < 1_000_000);
            let file = folder.join(format!("{space:?}-{documents}.html"));
            write_html(&page, std::io::BufWriter::new(fs::File::create(&file).unwrap())).unwrap();
            measure(&file, &own.path().join("profile"));
        }
    }
}

/// Opens a page in each browser that there is, and prints what it has measured of itself.
fn measure(file: &Path, profile: &Path) {
    let mut out = std::io::stderr();
    let megabytes = fs::metadata(file).expect("FRAMES: a page that is there").len() as f64 / 1e6;
    writeln!(out, "{}: {megabytes:.1} MB", file.display()).unwrap();
    if let Some(browser) = program("frames", "CHROMIUM", &["chromium", "chromium-browser", "google-chrome"]) {
        let (report, resident) = chromium::frames(&browser, file, profile);
        writeln!(out, "  Chromium, at most {resident:.0} MB: {report}").unwrap();
    }
    if let Some(browser) = program("frames", "FIREFOX", &["firefox", "firefox-esr"]) {
        let mut firefox = Firefox::start(&browser, false);
        firefox.resize([1200, 800]);
        firefox.open(file, "#frames");
        let report = firefox.run(&Written("frames").called());
        writeln!(out, "  Firefox, at most {:.0} MB: {report}", firefox.largest()).unwrap();
    }
}
