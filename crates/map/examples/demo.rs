//! Writes a page over made-up topics: `cargo run -p countgrid-map --example demo [FILE]`.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use countgrid_map::{Document, Page, characteristic_words, coverage, write_html};

const TOPICS: [(&str, &str); 3] = [
    (
        "astronomy",
        "star planet orbit galaxy telescope comet moon nebula solar eclipse mars venus jupiter saturn meteor \
         asteroid gravity cosmos light spectrum dust ring crater launch rocket satellite mission pulsar quasar \
         supernova redshift horizon radio dish mirror lens observatory sky night dawn",
    ),
    (
        "cooking",
        "bread flour yeast oven butter sugar salt pepper garlic onion tomato basil olive oil vinegar lemon sauce \
         soup stew roast grill knife pan kettle dough crust cheese cream egg milk honey cinnamon rice noodle \
         broth herb spice plate dinner recipe",
    ),
    (
        "sailing",
        "boat sail mast anchor harbour wind tide wave rope knot rudder keel deck hull compass chart buoy \
         lighthouse current gale storm crew captain port starboard bow stern mooring jib spinnaker reef swell \
         channel coast island voyage regatta dinghy marina helm",
    ),
];
const EXTENTS: [usize; 2] = [24, 24];
const WINDOW: [usize; 2] = [4, 4];

/// A small portable generator (SplitMix64): the same page on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal, variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// Squared distance on the torus.
fn squared(a: [f64; 2], b: [f64; 2]) -> f64 {
    (0..2)
        .map(|axis| {
            let extent = EXTENTS[axis] as f64;
            let away = (a[axis] - b[axis]).rem_euclid(extent);
            away.min(extent - away).powi(2)
        })
        .sum()
}

fn cell_at(place: [f64; 2]) -> usize {
    let along = |axis: usize| place[axis].rem_euclid(EXTENTS[axis] as f64) as usize % EXTENTS[axis];
    along(0) * EXTENTS[1] + along(1)
}

/// The demo's page: each topic has its region, each word its place in it, each document its few words.
fn demo() -> Result<Page, Box<dyn Error>> {
    let mut random = Random(7);
    let cells = EXTENTS[0] * EXTENTS[1];
    let centres = [[1.0, 3.0], [9.0, 14.0], [18.0, 21.0]]; // the first across the corner
    let (mut vocabulary, mut places) = (Vec::new(), Vec::new());
    for (topic, (_, words)) in TOPICS.iter().enumerate() {
        for word in words.split_whitespace() {
            vocabulary.push(word);
            places.push(centres[topic].map(|x| x + 3.2 * random.normal()));
        }
    }
    let centre_of = |cell: usize| [(cell / EXTENTS[1]) as f64 + 0.5, (cell % EXTENTS[1]) as f64 + 0.5];
    let mut pi: Vec<f32> = Vec::new();
    for &place in &places {
        let scale = 0.5 + 1.5 * random.next();
        pi.extend(
            (0..cells).map(|cell| (scale * (-squared(place, centre_of(cell)) / 6.0).exp() + 2e-3) as f32),
        );
    }
    for cell in 0..cells {
        let total: f32 = pi.iter().skip(cell).step_by(cells).sum();
        pi.iter_mut().skip(cell).step_by(cells).for_each(|p| *p /= total);
    }

    let mut documents = Vec::new();
    for n in 0..2_000 {
        let topic = n % TOPICS.len();
        let place = centres[topic].map(|x| x + 3.0 * random.normal());
        let mut near: Vec<usize> = (0..vocabulary.len()).collect();
        let noise: Vec<f64> = near.iter().map(|_| 12.0 * random.next()).collect();
        let key = |&word: &usize| squared(place, places[word]) + noise[word];
        near.sort_by(|a, b| key(a).total_cmp(&key(b)));
        let chosen: Vec<&str> = near.iter().take(14).map(|&word| vocabulary[word]).collect();
        let q = 0.5 + 0.4 * random.next();
        let start = |shift: f64| cell_at([place[0] - 2.0 + shift, place[1] - 2.0]) as u32;
        documents.push(Document {
            title: format!("On {}, {} and {}", chosen[0], chosen[1], chosen[2]),
            label: Some(topic as u32),
            snippet: format!("Notes about {}.", chosen[3..].join(", ")),
            posterior: vec![(start(0.0), q as f32), (start(1.0), (1.0 - q) as f32)],
            ..Document::default()
        });
    }
    let tokens: Vec<f64> = coverage(EXTENTS, WINDOW, &documents)?.iter().map(|mass| 14.0 * mass).collect();
    Ok(Page {
        title: "Stars, bread and boats".into(),
        extents: EXTENTS,
        window: WINDOW,
        words: characteristic_words(&pi, cells, &vocabulary, &tokens, 6)?,
        documents,
        labels: TOPICS.iter().map(|(name, _)| (*name).into()).collect(),
        facts: vec![
            ("Grid".into(), "24 × 24, window 4 × 4".into()),
            ("Documents".into(), "made up, from three topics".into()),
        ],
        ..Page::default()
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "demo.html".into());
    write_html(&demo()?, BufWriter::new(File::create(&path)?))?;
    println!("wrote {path}");
    Ok(())
}
