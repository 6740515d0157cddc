//! A fitted map as a page.

use countgrid_em::TablesExt;
use countgrid_gtm::{EmissionModel, GtmError, Inflation, magnification_scratch_len};
use countgrid_map::{Document, Page, Space, characteristic_words, evenly_spaced};
use countgrid_math::{Real, exp, ln, sigmoid};

use super::{
    fit::{Fitted, Parameters},
    latent::{Frame, Latent},
    places::Place,
};
use crate::{corpus::Corpus, failure::Failure, model::Stored};

/// Words that a cell shows at most.
const WORDS: usize = 6;
/// Cells of a document that the page keeps.
const CELLS: usize = 8;

/// Everything about a map that is shown by cells.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) frame: Frame,
    cell_of: Vec<usize>, // [point]
    mass: Vec<f64>,      // [cell], documents
    documents: Vec<Document>,
    /// `[cell]`, logarithms of magnification factors above the lowest.
    pub(crate) relief: Vec<f32>,
}

impl Drawn {
    pub(crate) fn new<T: Stored>(latent: &Latent<T>, map: &Parameters<T>) -> Result<Self, Failure> {
        let frame = latent.frame();
        let (xs, ys) = latent.points.split_at(latent.points.len() / 2);
        let cell_of = xs.iter().zip(ys).map(|(&x, &y)| frame.cell([x.to_f64(), y.to_f64()])).collect();
        let cells = frame.rows * frame.columns;
        let relief = relief(latent, map, frame)?;
        Ok(Self { frame, cell_of, mass: vec![0.0; cells], documents: Vec::new(), relief })
    }

    /// Adds the next document, with its posterior `[point]`.
    pub(crate) fn add<T: Stored>(&mut self, corpus: &Corpus<T>, place: &Place, q: &[T]) {
        let number = self.documents.len();
        let Some(entry) = corpus.entries.get(number) else { return };
        let mut cells = vec![0.0; self.mass.len()];
        self.cell_of.iter().zip(q).for_each(|(&cell, &q)| cells[cell] += q.to_f64());
        let known = place.known();
        let mut best: Vec<(u32, f32)> = (0u32..).zip(cells.iter().map(|&q| (q as f32).min(1.0))).collect();
        best.retain(|&(_, q)| known && q > 0.0);
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        best.truncate(CELLS);
        if known {
            self.mass.iter_mut().zip(&cells).for_each(|(sum, q)| *sum += q);
        }
        self.documents.push(Document {
            title: entry.title.clone(),
            label: corpus.labels.by_document.get(number).copied().flatten(),
            snippet: entry.snippet.clone(),
            posterior: best,
            place: known.then(|| self.frame.place(place.mean).map(|x| x as f32)),
        });
    }

    /// The page, with the words that tell most about each cell.
    pub(crate) fn page<T: Stored>(
        mut self,
        title: &str,
        corpus: &Corpus<T>,
        (latent, fitted): (&Latent<T>, &Fitted<T>),
        facts: Vec<(String, String)>,
        most: usize,
    ) -> Result<Page, Failure> {
        let internal_error =
            |error| Failure::new(format_args!("the page: {error}"), "this is a bug worth a report");
        let pi = shares(latent, &fitted.map, self.frame)?;
        let words = characteristic_words(&pi, self.mass.len(), &corpus.vocabulary, Some(&self.mass), WORDS)
            .map_err(internal_error)?;
        if self.documents.len() > most {
            self.documents = evenly_spaced(self.documents, most);
        }
        Ok(Page {
            title: title.to_owned(),
            extents: [self.frame.rows, self.frame.columns],
            window: [1, 1],
            space: if self.frame.torus { Space::Torus } else { Space::Plane },
            relief: self.relief,
            words,
            documents: self.documents,
            labels: corpus.labels.names.clone(),
            facts,
        })
    }
}

/// Basis functions at the centre of a cell.
fn at<T: Real>(latent: &Latent<T>, frame: Frame, cell: usize, row: &mut [T]) -> Result<(), GtmError> {
    latent.functions()?.row(&frame.centre(cell).map(T::from_f64), row)
}

/// What share of the tokens at the centre of each cell a feature has, `[feature][cell]`; of a Bernoulli map what share of
/// its different words.
fn shares<T: Stored>(latent: &Latent<T>, map: &Parameters<T>, frame: Frame) -> Result<Vec<f32>, GtmError> {
    let (shape, cells) = (map.shape(), frame.rows * frame.columns);
    let columns = shape.columns();
    let mut phi = vec![T::zero(); cells * columns]; // [cell][column]
    for (cell, row) in phi.chunks_exact_mut(columns).enumerate() {
        at(latent, frame, cell, row)?;
    }
    let product = |weights: &[T], phi: &[T]| {
        weights.iter().zip(phi).fold(0.0, |sum: f64, (&w, &phi)| sum + w.to_f64() * phi.to_f64())
    };
    let inflation = map.table("inflation").unwrap_or_default();
    let width = inflation.len() / shape.features();
    let mut expected = vec![0.0; shape.features() * cells];
    for (j, row) in expected.chunks_exact_mut(cells).enumerate() {
        let weights = map.row("weights", j).unwrap_or_default();
        let gamma = inflation.get(j * width..(j + 1) * width).unwrap_or_default();
        for (expected, phi) in row.iter_mut().zip(phi.chunks_exact(columns)) {
            let f = product(weights, phi);
            *expected = match shape.emission_model() {
                EmissionModel::Zip(Inflation::Latent) => exp(f) * sigmoid(-product(gamma, phi)),
                EmissionModel::Zip(Inflation::Document) => {
                    exp(f) * sigmoid(-gamma.first().map_or(0.0, |&gamma| gamma.to_f64()))
                }
                EmissionModel::Poisson => exp(f),
                EmissionModel::Bernoulli => sigmoid(f),
                EmissionModel::Multinomial => f,
                EmissionModel::Gaussian => f.max(0.0),
            };
        }
    }
    let planes = || expected.chunks_exact(cells);
    if shape.emission_model() == EmissionModel::Multinomial {
        let mut highest = vec![f64::NEG_INFINITY; cells];
        planes().for_each(|row| highest.iter_mut().zip(row).for_each(|(most, &f)| *most = most.max(f)));
        for row in expected.chunks_exact_mut(cells) {
            row.iter_mut().zip(&highest).for_each(|(f, most)| *f = exp(*f - most));
        }
    }
    let mut totals = vec![0.0; cells];
    for row in expected.chunks_exact(cells) {
        totals.iter_mut().zip(row).for_each(|(total, &x)| *total += x);
    }
    let share = |(x, total): (&f64, &f64)| {
        let share = (x / total) as f32;
        if share.is_finite() { share } else { 0.0 } // a cell without any rate, or beyond all
    };
    Ok(expected.chunks_exact(cells).flat_map(|row| row.iter().zip(&totals).map(share)).collect())
}

/// Logarithms of magnification factors above the lowest, at the centres of cells; none if there is no factor but zero.
fn relief<T: Stored>(latent: &Latent<T>, map: &Parameters<T>, frame: Frame) -> Result<Vec<f32>, GtmError> {
    let shape = map.shape();
    let basis = latent.functions()?;
    let mut rows = vec![T::zero(); 3 * shape.columns()];
    let mut scratch = vec![0.0; magnification_scratch_len(shape)];
    let factors = (0..frame.rows * frame.columns)
        .map(|cell| {
            let x = frame.centre(cell).map(T::from_f64);
            map.magnification_at(&basis, &x, &mut rows, &mut scratch)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let positive = factors.iter().copied().filter(|&factor| factor > 0.0 && factor.is_finite());
    let least = positive.fold(f64::INFINITY, f64::min);
    if !least.is_finite() {
        return Ok(Vec::new());
    }
    let height =
        |&factor: &f64| if factor > 0.0 { ln(factor.min(f64::MAX) / least).max(0.0) as f32 } else { 0.0 };
    Ok(factors.iter().map(height).collect())
}
