//! Fitted grids as pages to look at. Feature `pages`.

use countgrid_corpus::Corpus;
use countgrid_grid::WindowPosterior;
use countgrid_io::ModelFile;
use countgrid_map::{Document, DocumentPosterior, GridFacts, GridMap, Page};
use countgrid_math::Real;
use serde_json::Value;

use crate::{EstimatorError, FittedComponential, FittedGrid, GridLayout, ModelInfo, Stored, format_sides};

/// Windows of a document that are looked up.
const WINDOWS: usize = 8;

/// A page, and how many documents it is of.
///
/// Example: [the crate's](crate).
#[derive(Clone, Debug)]
pub struct GridPage {
    /// The page.
    pub page: Page,
    /// Documents of the page, those too that it does not list because they are too many.
    pub documents: usize,
}

impl<T: Stored> FittedGrid<T> {
    /// The page of a grid of one or two axes, or one of each layer, with the documents of the corpus that it was fitted to.
    /// Heading and facts are those of [`FittedGrid::info`]; the last fact is the checksum of the model's file
    /// ([`countgrid_io::ModelFile::checksum`]), by which page and model are told to be of one run.
    ///
    /// # Errors
    /// [`EstimatorError::Page`] for a grid that cannot be shown on a page; those of [`FittedGrid::for_each_posterior`].
    pub fn pages(&self, corpus: &Corpus<T>) -> Result<Vec<GridPage>, EstimatorError> {
        let mut pages = PageBuilder::new(self.layout(), corpus)?;
        self.for_each_posterior(&corpus.bags, |bag, tokens, posterior| {
            let mut best = [(0, T::zero()); WINDOWS];
            let found = if tokens > 0.0 { posterior.best(&mut best) } else { 0 };
            pages.add(bag, &best[..found], posterior);
        })?;
        pages.finish(&self.info, self.grid().tables().0, &self.to_file())
    }
}

impl<T: Stored> FittedComponential<T> {
    /// The pages as those of [`FittedGrid::pages`]: a document is drawn where it is expected to draw most of its tokens from, and lies
    /// in all the windows that it draws from.
    ///
    /// # Errors
    /// [`EstimatorError::Page`] for a grid that cannot be shown on a page; those of
    /// [`FittedComponential::for_each_inference`].
    pub fn pages(&self, corpus: &Corpus<T>) -> Result<Vec<GridPage>, EstimatorError> {
        let mut pages = PageBuilder::new(self.layout(), corpus)?;
        let mut order: Vec<usize> = Vec::new();
        self.for_each_inference(&corpus.bags, |bag, tokens, found| {
            order.clear();
            if tokens > 0.0 {
                order.extend((0..found.shares.len()).filter(|&cell| found.shares[cell] > T::zero()));
                let more = |&a: &usize, &b: &usize| {
                    Real::to_f64(found.shares[b]).total_cmp(&Real::to_f64(found.shares[a])).then(a.cmp(&b))
                };
                if order.len() > WINDOWS {
                    order.select_nth_unstable_by(WINDOWS, more);
                    order.truncate(WINDOWS);
                }
                order.sort_unstable_by(more);
            }
            let best: Vec<_> = order.iter().map(|&cell| (cell, found.shares[cell])).collect();
            pages.add(bag, &best, found.shares);
        })?;
        pages.finish(&self.info, self.grid().tables().0, &self.to_file())
    }
}

/// Documents of the pages of a grid.
struct PageBuilder<'a, T> {
    corpus: &'a Corpus<T>,
    extents: &'a [usize],
    window: &'a [usize],
    map: GridMap,
    mass: Vec<f64>, // of each layer
}

impl<'a, T: Stored> PageBuilder<'a, T> {
    fn new(layout: &'a GridLayout, corpus: &'a Corpus<T>) -> Result<Self, EstimatorError> {
        let (extents, window) = (layout.extents(), layout.window());
        let map = GridMap::new(extents, window)?;
        let mass = vec![0.0; map.planes().layers];
        Ok(Self { corpus, extents, window, map, mass })
    }

    /// Adds a bag with its best windows, if it is a document.
    fn add(&mut self, bag: usize, best: &[(usize, T)], posterior: &(impl WindowPosterior<T> + ?Sized)) {
        let Some(info) = self.corpus.documents.get(bag) else { return };
        self.mass.fill(0.0);
        if self.mass.len() > 1 {
            let (map, mass) = (&self.map, &mut self.mass);
            posterior.for_each(|cell, q| {
                mass.get_mut(map.layer_of(cell)).into_iter().for_each(|sum| *sum += Real::to_f64(q));
            });
        }
        let best: Vec<_> = best.iter().map(|&(cell, q)| (cell, Real::to_f64(q))).collect();
        let document = Document {
            title: info.title.clone(),
            label: self.corpus.labels.by_document.get(bag).copied().flatten(),
            snippet: info.snippet.clone(),
            text: info.text.clone(),
            ..Document::default()
        };
        self.map.push(document, DocumentPosterior { best: &best, layers: &self.mass });
    }

    fn finish(self, info: &ModelInfo, pi: &[T], file: &ModelFile) -> Result<Vec<GridPage>, EstimatorError> {
        let Self { corpus, extents, window, map, mass } = self;
        let pi: Vec<f32> = pi.iter().map(|&p| Real::to_f64(p) as f32).collect();
        let fact = |name: &str| info.fit.get(name);
        let (whole, end) = (|name| fact(name).and_then(Value::as_u64), fact("end").and_then(Value::as_str));
        let facts = GridFacts {
            tokens: corpus.tokens,
            grid: &format_sides(extents),
            window: &format_sides(window),
            iterations: whole("iterations").zip(end),
            bound_per_token: fact("bound_per_token").and_then(Value::as_f64),
            seed: whole("seed"),
        };
        let documents: Vec<_> = (0..mass.len()).map(|layer| map.documents(layer).len()).collect();
        let mut pages = map.pages(&info.title, &pi, &corpus.vocabulary, &corpus.labels.names, &facts)?;
        let model = ("Model".to_owned(), file.checksum()?);
        pages.iter_mut().for_each(|page| page.facts.push(model.clone()));
        Ok(pages.into_iter().zip(documents).map(|(page, documents)| GridPage { page, documents }).collect())
    }
}
