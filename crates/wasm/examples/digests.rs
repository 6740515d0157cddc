//! Digests of what the library computes on this machine, for the same computation in WebAssembly to be compared with:
//! `examples/web/tests/module.test.mjs` repeats it, call by call. The argument is a file with one document to a line.

use std::{env, error::Error, fs};

use countgrid_corpus::WordOptions;
use countgrid_estimators::{GridOptions, GridSchedule};
use countgrid_wasm::{Corpus, CountingGrid, Fit, Texts};

/// FNV-1a over 32-bit words.
struct Digest(u32);

impl Digest {
    fn word(&mut self, word: u32) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0193);
    }

    fn from_words(words: impl IntoIterator<Item = u32>) -> Self {
        let mut digest = Self(0x811c_9dc5);
        words.into_iter().for_each(|word| digest.word(word));
        digest
    }

    fn floats(table: &[f32]) -> Self {
        Self::from_words(table.iter().map(|x| x.to_bits()))
    }
}

fn show(case: &str, what: &str, digest: Digest) {
    println!("{case} {what} {:08x}", digest.0);
}

/// Bags that lie in four groups of features, by a fixed rule.
fn bags(count: u32, features: u32) -> Result<Corpus, countgrid_wasm::Error> {
    let (mut offsets, mut indices, mut counts, mut state) = (vec![0], Vec::new(), Vec::new(), 1u32);
    for bag in 0..count {
        for feature in 0..features {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let near = feature % 4 == bag % 4;
            if state >> 28 < if near { 9 } else { 1 } {
                indices.push(feature);
                counts.push((1 + (state >> 20) % 5) as f32);
            }
        }
        offsets.push(indices.len() as u32);
    }
    Corpus::new(offsets, indices, counts, features as usize)
}

fn fitted(case: &str, corpus: &Corpus, options: &GridOptions) -> Result<CountingGrid, countgrid_wasm::Error> {
    let mut fit = Fit::new(corpus, options)?;
    let mut bounds = Digest::from_words([]);
    while !fit.is_done() {
        let bits = fit.step()?.to_bits();
        bounds.word(bits as u32);
        bounds.word((bits >> 32) as u32);
    }
    let grid = fit.finish()?;
    show(case, "bounds", bounds);
    show(case, "pi", Digest::floats(grid.pi()));
    show(case, "prior", Digest::floats(grid.prior()));
    show(case, "histograms", Digest::floats(&grid.histograms()?));
    let (posterior, evidence) = grid.posterior(&[2, 0], &[3.0, 1.0])?;
    show(case, "posterior", Digest::floats(&posterior));
    show(
        case,
        "evidence",
        Digest::from_words([evidence.to_bits() as u32, (evidence.to_bits() >> 32) as u32]),
    );
    show(case, "embedding", Digest::from_words(grid.embed(corpus)?));
    Ok(grid)
}

fn main() -> Result<(), Box<dyn Error>> {
    let sides = |sides: &[usize]| Some(sides.to_vec());
    let defaults = GridOptions::default();
    let ring = GridOptions { extents: sides(&[40]), window: sides(&[5]), ..defaults.clone() };
    fitted("ring", &bags(60, 30)?, &ring)?;
    let plane =
        GridOptions { extents: sides(&[24, 20]), window: sides(&[5, 4]), seed: 7, ..defaults.clone() };
    fitted("plane", &bags(200, 50)?, &plane)?;
    let solid = GridOptions {
        extents: sides(&[6, 5, 4]),
        window: sides(&[2]),
        iterations: 12,
        tolerance: 0.0,
        pseudocount: Some(0.25),
        learn_prior: true,
        inner_passes: 2,
        schedule: GridSchedule::Single,
        ..defaults.clone()
    };
    fitted("solid", &bags(50, 20)?, &solid)?;

    let file = env::args().nth(1).ok_or("needs a file with one document to a line")?;
    let text = fs::read_to_string(file)?;
    let documents: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let texts = Texts::new("sample", &documents, &WordOptions::default())?;
    let vocabulary = texts.vocabulary().join(" ");
    show("text", "vocabulary", Digest::from_words(vocabulary.bytes().map(u32::from)));
    let mut grid = fitted("text", texts.corpus(), &defaults)?;
    show("text", "page", Digest::from_words(texts.page("A map", &grid)?.bytes().map(u32::from)));
    show("text", "model", Digest::from_words(grid.model(None)?.into_iter().map(u32::from)));
    show("text", "new", Digest::from_words(grid.embed(&texts.count(&["salt and butter", "moon"])?)?));
    Ok(())
}
