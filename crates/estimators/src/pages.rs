//! Fitted grids as pages to look at. Feature `pages`.

use countgrid_corpus::Corpus;
use countgrid_map::{Document, DocumentPosterior, GridFacts, GridMap, Page};
use countgrid_math::Real;
use serde_json::Value;

use crate::{EstimatorError, FittedGrid, Stored, format_sides};

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
        let (extents, window) = (self.layout().extents(), self.layout().window());
        let mut map = GridMap::new(extents, window)?;
        let layers = map.planes().layers;
        let mut mass = vec![0.0; layers];
        self.for_each_posterior(&corpus.bags, |bag, tokens, posterior| {
            let Some(info) = corpus.documents.get(bag) else { return };
            mass.fill(0.0);
            if layers > 1 {
                posterior.for_each(|cell, q| {
                    mass.get_mut(map.layer_of(cell)).into_iter().for_each(|sum| *sum += q.to_f64());
                });
            }
            let mut best = [(0, T::zero()); WINDOWS];
            let found = if tokens > 0.0 { posterior.best(&mut best) } else { 0 };
            let best: Vec<_> = best.iter().take(found).map(|&(cell, q)| (cell, Real::to_f64(q))).collect();
            let document = Document {
                title: info.title.clone(),
                label: corpus.labels.by_document.get(bag).copied().flatten(),
                snippet: info.snippet.clone(),
                text: info.text.clone(),
                ..Document::default()
            };
            map.push(document, DocumentPosterior { best: &best, layers: &mass });
        })?;
        let pi: Vec<f32> = self.grid().tables().0.iter().map(|&p| Real::to_f64(p) as f32).collect();
        let fact = |name: &str| self.info.fit.get(name);
        let (whole, end) = (|name| fact(name).and_then(Value::as_u64), fact("end").and_then(Value::as_str));
        let facts = GridFacts {
            tokens: corpus.tokens,
            grid: &format_sides(extents),
            window: &format_sides(window),
            iterations: whole("iterations").zip(end),
            bound_per_token: fact("bound_per_token").and_then(Value::as_f64),
            seed: whole("seed"),
        };
        let documents: Vec<_> = (0..layers).map(|layer| map.documents(layer).len()).collect();
        let mut pages = map.pages(&self.info.title, &pi, &corpus.vocabulary, &corpus.labels.names, &facts)?;
        let model = ("Model".to_owned(), self.to_file().checksum()?);
        pages.iter_mut().for_each(|page| page.facts.push(model.clone()));
        Ok(pages.into_iter().zip(documents).map(|(page, documents)| GridPage { page, documents }).collect())
    }
}
