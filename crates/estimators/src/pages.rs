//! Fitted grids as pages to look at. Feature `pages`.

use countgrid_corpus::{ColumnValues, Corpus, DocumentInfo};
use countgrid_grid::{Posterior, WindowPosterior};
use countgrid_io::ModelFile;
use countgrid_map::{
    Document, DocumentPosterior, Field, FieldKind, GridFacts, GridMap, Page, PageColumn, PageError, Planes,
    group_digits,
};
use countgrid_math::Real;
use serde_json::Value;

use crate::{
    AXES, BagInference, EstimatorError, FittedComponential, FittedGrid, GridLayout, GridPlacement, ModelInfo,
    Stored, blocks::zeros, format_sides, grid::PositionReader,
};

/// The fact of a page that has the checksum of its model.
const MODEL: &str = "Model";

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

/// Documents of a corpus as pages show them, without their places, and the columns that pages have of them.
///
/// ```
/// use countgrid_corpus::{Corpus, CorpusOptions};
/// use countgrid_estimators::PageDocuments;
/// let corpus = Corpus::<f32>::from_texts(&["red ants", "blue ants"], &CorpusOptions::default())?;
/// let documents = PageDocuments::new(&corpus);
/// assert_eq!(documents.get(1).map(|document| document.title), Some("blue ants".to_owned()));
/// assert!(documents.get(2).is_none() && documents.columns().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PageDocuments<'a, T> {
    corpus: &'a Corpus<T>,
    links: bool, // whether ids are addresses of the web
}

impl<'a, T> PageDocuments<'a, T> {
    /// Those of a corpus that has kept its documents.
    #[must_use]
    pub fn new(corpus: &'a Corpus<T>) -> Self {
        let link = |info: &DocumentInfo| info.id.starts_with("https://") || info.id.starts_with("http://");
        Self { corpus, links: corpus.documents.iter().any(link) }
    }

    /// The other columns of the data, and that of ids if some of them are addresses of the web.
    #[must_use]
    pub fn columns(&self) -> Vec<PageColumn> {
        let named = self.corpus.source.iter().flat_map(|source| &source.columns);
        let id = named.filter(|(role, _)| *role == "id").map(|(_, name)| name.clone()).next();
        let id = self
            .links
            .then(|| PageColumn { name: id.unwrap_or_else(|| "id".into()), kind: FieldKind::Texts });
        let others = self.corpus.columns.iter().map(|column| PageColumn {
            name: column.name.clone(),
            kind: match &column.values {
                ColumnValues::Numbers(_) => FieldKind::Numbers,
                ColumnValues::Dates(_) => FieldKind::Days,
                ColumnValues::Categories { names, .. } => FieldKind::Categories(names.clone()),
                _ => FieldKind::Texts,
            },
        });
        others.chain(id).collect()
    }

    /// The document of a bag.
    #[must_use]
    pub fn get(&self, bag: usize) -> Option<Document> {
        let info = self.corpus.documents.get(bag)?;
        let field = |values: &ColumnValues| match values {
            ColumnValues::Numbers(values) => {
                values.get(bag).copied().flatten().map_or(Field::Empty, Field::Number)
            }
            ColumnValues::Dates(values) => values
                .get(bag)
                .copied()
                .flatten()
                .map_or(Field::Empty, |date| Field::Day(date.days_since_1970())),
            ColumnValues::Categories { of, .. } => {
                of.get(bag).copied().flatten().map_or(Field::Empty, Field::Category)
            }
            ColumnValues::Texts(values) => text(values.get(bag)),
            _ => Field::Empty,
        };
        let id = self.links.then(|| text(Some(&info.id)));
        Some(Document {
            title: info.title.clone(),
            label: self.corpus.labels.by_document.get(bag).copied().flatten(),
            snippet: info.snippet.clone(),
            text: info.text.clone(),
            fields: self.corpus.columns.iter().map(|column| field(&column.values)).chain(id).collect(),
            ..Document::default()
        })
    }
}

fn text(text: Option<&String>) -> Field {
    text.filter(|text| !text.is_empty()).map_or(Field::Empty, |text| Field::Text(text.clone()))
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
        self.add_documents(&mut pages, corpus, |_, _, _| (), |()| ())?;
        pages.finish(&self.info, self.grid().tables().0, &self.to_file())
    }

    /// The same, and the positions of all documents as of [`FittedGrid::place`], from posteriors that are worked out once for both.
    ///
    /// ```
    /// use countgrid_corpus::{Corpus, CorpusOptions};
    /// use countgrid_estimators::{GridOptions, GridTraining, Train};
    /// let texts = ["red ants", "blue ants", "red sky"];
    /// let mut corpus = Corpus::<f32>::from_texts(&texts, &CorpusOptions::default())?;
    /// let plan = GridOptions::default().plan(&mut corpus)?;
    /// let grid = GridTraining::new(plan, &corpus.bags)?.finish()?;
    /// let (pages, places) = grid.pages_and_places(&corpus)?;
    /// assert_eq!((pages.len(), pages[0].documents), (1, 3));
    /// assert_eq!(places, grid.place(&corpus.bags)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`FittedGrid::pages`].
    pub fn pages_and_places(
        &self,
        corpus: &Corpus<T>,
    ) -> Result<(Vec<GridPage>, Vec<GridPlacement>), EstimatorError> {
        let mut pages = PageBuilder::new(self.layout(), corpus)?;
        let reader = PositionReader::new(self.layout(), self.shape(), self.labels())?;
        let mut places = Vec::with_capacity(corpus.bags.len());
        let place = |tokens, posterior: &Posterior<'_, T, AXES>, best| reader.place(tokens, posterior, best);
        self.add_documents(&mut pages, corpus, place, |place| places.push(place))?;
        let pages = pages.finish(&self.info, self.grid().tables().0, &self.to_file())?;
        Ok((pages, places))
    }
}

/// What was added to a page.
///
/// Example: [`FittedGrid::add_to_page`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AddedDocuments {
    /// Documents.
    pub documents: usize,
    /// Those of them that have a known word, and so a place.
    pub placed: usize,
    /// Share of their tokens that are words of the model; 0 if they have none.
    pub known_share: f64,
}

impl<T: Stored> FittedGrid<T> {
    /// Adds the documents of a corpus, which was counted over the words of this model, to its page, as [`Page::add`] does: everything
    /// that is there stays where it is.
    ///
    /// # Errors
    /// [`EstimatorError::OtherModel`] if the page is that of another model, by the checksum among its facts; [`EstimatorError::Page`] for a
    /// grid of layers or one that has no page; those of [`FittedGrid::for_each_posterior`].
    ///
    /// ```
    /// use countgrid_corpus::{Corpus, CorpusOptions};
    /// use countgrid_estimators::{GridOptions, GridTraining, Train};
    /// let options = CorpusOptions::default();
    /// let mut corpus = Corpus::<f32>::from_texts(&["red ants", "blue ants", "red sky"], &options)?;
    /// let plan = GridOptions::default().plan(&mut corpus)?;
    /// let mut training = GridTraining::new(plan, &corpus.bags)?;
    /// training.run(|_| std::ops::ControlFlow::Continue(()))?;
    /// let mut grid = training.finish()?;
    /// grid.describe("old", &corpus, &options.words)?;
    /// let mut page = grid.pages(&corpus)?.remove(0).page;
    /// let info = &grid.info;
    /// let new = Corpus::count_texts(&["blue sky", "green sea"], &info.vocabulary, &info.text, &options)?;
    /// let added = grid.add_to_page(&mut page, &new, "new")?;
    /// assert_eq!((added.documents, added.placed, added.known_share), (2, 1, 0.5));
    /// assert_eq!((page.documents.len(), page.added), (5, Some(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_to_page(
        &self,
        page: &mut Page,
        corpus: &Corpus<T>,
        name: &str,
    ) -> Result<AddedDocuments, EstimatorError> {
        let mut pages = PageBuilder::new(self.layout(), corpus)?;
        let mut known = 0.0;
        self.add_documents(&mut pages, corpus, |tokens, _, _| tokens, |tokens| known += tokens)?;
        pages.add_to(page, name, known, &self.to_file())
    }

    /// Adds the documents with their best windows; `read` is given the tokens of each, its posterior and the best of its windows,
    /// and `seen`, in the order of documents, what it returns.
    fn add_documents<R: Send>(
        &self,
        pages: &mut PageBuilder<'_, T>,
        corpus: &Corpus<T>,
        read: impl Fn(f64, &Posterior<'_, T, AXES>, (usize, T)) -> R + Sync,
        mut seen: impl FnMut(R),
    ) -> Result<(), EstimatorError> {
        let planes = *pages.map.planes();
        let best = |_, tokens: f64, posterior: &Posterior<'_, T, AXES>| {
            let mut best = [(0, T::zero()); WINDOWS];
            let found = if tokens > 0.0 { posterior.best(&mut best) } else { 0 };
            (read(tokens, posterior, best[0]), best, found, layer_mass(&planes, posterior))
        };
        self.map_posteriors(&corpus.bags, best, |bag, (what, best, found, mass)| {
            seen(what);
            pages.add(bag, &best[..found], &mass);
        })
    }
}

impl<T: Stored> FittedComponential<T> {
    /// Adds the documents of a corpus to the page of this model, as [`FittedGrid::add_to_page`] does.
    ///
    /// # Errors
    /// Those of [`FittedGrid::add_to_page`] and [`FittedComponential::for_each_inference`].
    pub fn add_to_page(
        &self,
        page: &mut Page,
        corpus: &Corpus<T>,
        name: &str,
    ) -> Result<AddedDocuments, EstimatorError> {
        let mut known = 0.0;
        let pages = self.page_documents(corpus, |tokens, _| known += tokens)?;
        pages.add_to(page, name, known, &self.to_file())
    }

    /// The pages as those of [`FittedGrid::pages`]: a document is drawn where it is expected to draw most of its tokens from, and lies
    /// in all the windows that it draws from.
    ///
    /// # Errors
    /// [`EstimatorError::Page`] for a grid that cannot be shown on a page; those of
    /// [`FittedComponential::for_each_inference`].
    pub fn pages(&self, corpus: &Corpus<T>) -> Result<Vec<GridPage>, EstimatorError> {
        let pages = self.page_documents(corpus, |_, _| ())?;
        pages.finish(&self.info, self.grid().tables().0, &self.to_file())
    }

    /// The same, and the positions of all documents as of [`FittedComponential::place`], inferred once for both.
    ///
    /// # Errors
    /// Those of [`FittedComponential::pages`].
    pub fn pages_and_places(
        &self,
        corpus: &Corpus<T>,
    ) -> Result<(Vec<GridPage>, Vec<GridPlacement>), EstimatorError> {
        let reader = PositionReader::new(self.layout(), self.shape(), self.labels())?;
        let (mut places, mut row) = (Vec::with_capacity(corpus.bags.len()), zeros(reader.slots().len())?);
        let pages =
            self.page_documents(corpus, |tokens, found| places.push(reader.infer(tokens, found, &mut row)))?;
        let pages = pages.finish(&self.info, self.grid().tables().0, &self.to_file())?;
        Ok((pages, places))
    }

    /// The documents of a page, each with the windows that it draws most from; `seen` is told the tokens of each and what is
    /// inferred of it.
    fn page_documents<'a>(
        &'a self,
        corpus: &'a Corpus<T>,
        mut seen: impl FnMut(f64, &BagInference<'_, T>),
    ) -> Result<PageBuilder<'a, T>, EstimatorError> {
        let mut pages = PageBuilder::new(self.layout(), corpus)?;
        let mut order: Vec<usize> = Vec::new();
        self.for_each_inference(&corpus.bags, |bag, tokens, found| {
            seen(tokens, &found);
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
            let mass = layer_mass(pages.map.planes(), found.shares);
            pages.add(bag, &best, &mass);
        })?;
        Ok(pages)
    }
}

/// How probable each layer is; empty if there is but one.
fn layer_mass<T: Real>(planes: &Planes, posterior: &(impl WindowPosterior<T> + ?Sized)) -> Vec<f64> {
    if planes.layers <= 1 {
        return Vec::new();
    }
    let mut mass = vec![0.0; planes.layers];
    posterior.for_each(|cell, q| {
        mass.get_mut(planes.layer_of(cell)).into_iter().for_each(|sum| *sum += Real::to_f64(q));
    });
    mass
}

/// Documents of the pages of a grid.
struct PageBuilder<'a, T> {
    corpus: &'a Corpus<T>,
    documents: PageDocuments<'a, T>,
    extents: &'a [usize],
    window: &'a [usize],
    map: GridMap,
}

impl<'a, T: Stored> PageBuilder<'a, T> {
    fn new(layout: &'a GridLayout, corpus: &'a Corpus<T>) -> Result<Self, EstimatorError> {
        let (extents, window) = (layout.extents(), layout.window());
        let map = GridMap::new(extents, window)?;
        Ok(Self { corpus, documents: PageDocuments::new(corpus), extents, window, map })
    }

    /// Adds a bag with its best windows and the [`layer_mass`] of its posterior, if it is a document.
    fn add(&mut self, bag: usize, best: &[(usize, T)], layers: &[f64]) {
        let Some(document) = self.documents.get(bag) else { return };
        let best: Vec<_> = best.iter().map(|&(cell, q)| (cell, Real::to_f64(q))).collect();
        self.map.push(document, DocumentPosterior { best: &best, layers });
    }

    /// Adds the documents to a page of the model in the file; `known` of their tokens are words of the model.
    fn add_to(
        self,
        page: &mut Page,
        name: &str,
        known: f64,
        file: &ModelFile,
    ) -> Result<AddedDocuments, EstimatorError> {
        let checksum = file.checksum()?;
        if !page.facts.contains(&(MODEL.to_owned(), checksum)) {
            return Err(EstimatorError::OtherModel);
        }
        let layers = self.map.planes().layers;
        if layers > 1 {
            return Err(PageError::Layers { limit: 1, found: layers }.into());
        }
        let documents = self.map.documents(0).to_vec();
        let tokens: f64 = self.corpus.documents.iter().map(|document| document.tokens).sum();
        let added = AddedDocuments {
            documents: documents.len(),
            placed: documents.iter().filter(|document| !document.posterior.is_empty()).count(),
            known_share: if tokens > 0.0 { known / tokens } else { 0.0 },
        };
        page.add(name, documents, &self.corpus.labels.names, &self.documents.columns())?;
        let share = format!("{:.1} % of the words of {name} are words of the map", 100.0 * added.known_share);
        page.facts.push(("Known".to_owned(), share));
        Ok(added)
    }

    fn finish(self, info: &ModelInfo, pi: &[T], file: &ModelFile) -> Result<Vec<GridPage>, EstimatorError> {
        let Self { corpus, documents: shown, extents, window, map } = self;
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
        let documents: Vec<_> = (0..map.planes().layers).map(|layer| map.documents(layer).len()).collect();
        let mut pages = map.pages(&info.title, &pi, &corpus.vocabulary, &corpus.labels.names, &facts)?;
        let model = (MODEL.to_owned(), file.checksum()?);
        let columns = shown.columns();
        let lines = corpus.boilerplate.len();
        for page in &mut pages {
            if lines > 0 {
                let line = if lines == 1 { "line" } else { "lines" };
                let fact = format!("{} {line} that most documents of a source have", group_digits(lines));
                page.facts.push(("Left out".to_owned(), fact));
            }
            page.facts.push(model.clone());
            page.columns.clone_from(&columns);
        }
        Ok(pages.into_iter().zip(documents).map(|(page, documents)| GridPage { page, documents }).collect())
    }
}
