//! How far tables of f32, 16 and 8 bits are from f64 on documents that the model has not seen. In a folder beside the
//! data, with every fifth document held out:
//!
//! ```sh
//! gzip -dc news-20-same.tsv.gz | awk 'NR == 1 || NR % 5 != 0' >train.tsv
//! gzip -dc news-20-same.tsv.gz | awk 'NR > 1 && NR % 5 == 0' >test.tsv
//! countgrid fit train.tsv --grid 16x16 --window 4x4 --max-words 500 --precision f64
//! cargo run --release -p countgrid-cli --example quantised -- model.safetensors test.tsv
//! ```
//!
//! The label is the first column of a line, text the last; where the model knows labels, the share of documents whose
//! label is the expected one is printed too.

use std::{env, error::Error, fs};

use countgrid_counts::{Bag, Bags};
use countgrid_grid::{Code, ErrorBound, Grid, Labels, LogHistograms, QuantisedHistograms, Shape};
use countgrid_io::{TableData, load};
use countgrid_math::Real;
use countgrid_text::{TextOptions, Tokenizer, Vocabulary};

type Histograms<T> = LogHistograms<T, Vec<T>, 2>;
type BagPosterior = (Vec<f64>, f64);

fn main() -> Result<(), Box<dyn Error>> {
    let [model, test] = [1, 2].map(|n| env::args().nth(n).ok_or("usage: quantised MODEL TEST.tsv"));
    let model = load(model?)?;
    let words = model.strings("vocabulary").ok_or("no vocabulary")?;
    let (pi, window) = (model.table("pi").ok_or("no pi")?, model.table("window").ok_or("no window")?);
    let (TableData::F64(values), TableData::U32(sides), [features, height, width]) =
        (&pi.data, &window.data, &pi.shape[..])
    else {
        return Err("a model in f64 with two axes is needed".into());
    };
    let Some(TableData::F64(prior)) = model.table("prior").map(|prior| &prior.data) else {
        return Err("no prior in f64".into());
    };
    let shape = Shape::from_sides([*height, *width], [sides[0] as usize, sides[1] as usize], *features)?;
    let tables = [values.as_slice(), prior].concat();
    let exact = pack::<f64>(shape, &tables)?;
    let single = pack::<f32>(shape, &tables)?;
    let (sixteen, eight) = (codes::<u16>(&exact)?, codes::<u8>(&exact)?);

    let names = model.strings("labels").unwrap_or_default();
    let labels = match model.table("labels").map(|labels| &labels.data) {
        Some(TableData::F64(labels)) => Some(Labels::new(shape, names.len(), labels.as_slice())?),
        _ => None,
    };

    let tokenizer = Tokenizer::new(&TextOptions::default())?;
    let vocabulary = Vocabulary::new(&words, &tokenizer);
    let test = fs::read_to_string(test?)?;
    let mut tables = ["f64", "f32", "16 bits", "8 bits"].map(|name| (name, Differences::default()));
    for line in test.lines() {
        let counted = vocabulary.count(line.rsplit('\t').next().unwrap_or(""));
        let (features, counts): (Vec<u32>, Vec<u32>) = counted.into_iter().unzip();
        if features.is_empty() {
            continue;
        }
        let bag = Bag::new(words.len(), &features, &counts)?;
        let truth = numbers(&exact, &bag)?;
        let (exact, single) = ((truth.clone(), None), (numbers(&single, &bag)?, None));
        let found = [exact, single, code(&sixteen, &bag)?, code(&eight, &bag)?];
        for ((_, differences), (bag_posterior, bound)) in tables.iter_mut().zip(found) {
            differences.add(&truth, &bag_posterior, bound);
            if let Some(labels) = &labels {
                let mut shares = vec![0.0; names.len()];
                labels.read(bag_posterior.0.as_slice(), &mut shares)?;
                let label = line.split('\t').next();
                differences.labelled += usize::from(names.get(best(&shares)).map(String::as_str) == label);
            }
        }
    }
    println!("{} documents, {} cells, {} words", tables[0].1.bags, shape.cells(), words.len());
    println!(
        "| table | label told | same best cell | total variation, mean | largest | log evidence, mean difference | of the \
         bound at most |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, d) in &tables {
        let mean = |sum: f64| sum / d.bags as f64;
        println!(
            "| {name} | {:.2} % | {:.2} % | {:.1e} | {:.1e} | {:.1e} | {} |",
            100.0 * d.labelled as f64 / d.bags as f64,
            100.0 * d.same as f64 / d.bags as f64,
            mean(d.variation),
            d.largest,
            mean(d.evidence),
            if d.share > 0.0 { format!("{:.0} %", 100.0 * d.share) } else { String::new() }
        );
    }
    Ok(())
}

/// Sums over documents.
#[derive(Default)]
struct Differences {
    bags: usize,
    labelled: usize, // with the right label
    same: usize,
    variation: f64,
    largest: f64,
    evidence: f64, // of absolute differences
    share: f64,    // the largest part of its bound that a total variation takes
}

/// The first of the largest.
fn best(q: &[f64]) -> usize {
    (0..q.len()).fold(0, |best, k| if q[k] > q[best] { k } else { best })
}

impl Differences {
    fn add(&mut self, truth: &BagPosterior, bag_posterior: &BagPosterior, bound: Option<ErrorBound>) {
        let variation = 0.5 * truth.0.iter().zip(&bag_posterior.0).map(|(a, b)| (a - b).abs()).sum::<f64>();
        self.bags += 1;
        self.same += usize::from(best(&truth.0) == best(&bag_posterior.0));
        self.variation += variation;
        self.largest = self.largest.max(variation);
        self.evidence += (truth.1 - bag_posterior.1).abs();
        if let Some(bound) = bound {
            self.share = self.share.max(variation / bound.total_variation);
        }
    }
}

fn pack<T: Real>(shape: Shape<2>, tables: &[f64]) -> Result<Histograms<T>, Box<dyn Error>> {
    let grid = Grid::new(shape, tables.iter().map(|&x| T::from_f64(x)).collect::<Vec<_>>())?;
    let mut scratch = vec![T::zero(); shape.plane_scratch_len()];
    Ok(LogHistograms::pack(&grid, vec![T::zero(); shape.histograms_len::<T>()], &mut scratch)?)
}

fn codes<C: Code>(exact: &Histograms<f64>) -> Result<QuantisedHistograms<C, Vec<u8>, 2>, Box<dyn Error>> {
    let shape = exact.shape();
    let bytes = vec![0; shape.quantised_len::<C>()];
    Ok(QuantisedHistograms::pack(exact, bytes, &mut vec![0.0; shape.cells()])?)
}

fn numbers<T: Real>(table: &Histograms<T>, bag: &impl Bags) -> Result<BagPosterior, Box<dyn Error>> {
    let mut q = vec![T::zero(); table.shape().cells()];
    let mut scratch = vec![T::zero(); table.shape().posterior_scratch_len::<T>(1)];
    let evidence = table.posterior(bag, 0, &mut q, &mut scratch)?;
    Ok((q.iter().map(|&q| Real::to_f64(q)).collect(), Real::to_f64(evidence)))
}

fn code<C: Code>(
    table: &QuantisedHistograms<C, Vec<u8>, 2>,
    bag: &impl Bags,
) -> Result<(BagPosterior, Option<ErrorBound>), Box<dyn Error>> {
    let mut q = vec![0.0; table.shape().cells()];
    let mut sums = vec![C::Sum::default(); table.shape().quantised_scratch_len()];
    let evidence = table.posterior(bag, 0, &mut q, &mut sums)?;
    let bag_posterior = (q.into_iter().map(f64::from).collect(), evidence.into());
    Ok((bag_posterior, Some(table.error_bound(bag, 0)?)))
}
