use crate::{Document, MAX_DOCUMENTS, Page, PageError, Space, characteristic_words, evenly_spaced, regions};

/// Cells have no counts of tokens; as many per document as a text of some length has.
const TOKENS: f64 = 100.0;

/// Words that a cell shows at most.
const WORDS: usize = 6;
/// Cells of a document that a page keeps.
const CELLS: usize = 8;

/// Documents as points of a plane that is divided into cells, as a page.
///
/// ```
/// use countgrid_map::{Document, PointMap, Space};
///
/// let mut map = PointMap::new([1, 2], Space::Plane);
/// let document = Document { title: "night".to_owned(), ..Document::default() };
/// map.push(document, &[0.25, 0.75], Some([0.5, 1.25]));
/// let shares = [0.9, 0.1, 0.1, 0.9]; // [word][cell]
/// let page = map.page("Sky", &shares, &["sun", "moon"], &[], Vec::new(), Vec::new())?;
/// assert_eq!(page.documents[0].posterior, [(1, 0.75), (0, 0.25)]);
/// # Ok::<(), countgrid_map::PageError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PointMap {
    extents: [usize; 2],
    space: Space,
    mass: Vec<f64>, // [cell], documents
    documents: Vec<Document>,
}

impl PointMap {
    /// An empty map of so many rows and columns.
    #[must_use]
    pub fn new(extents: [usize; 2], space: Space) -> Self {
        let cells = extents[0].saturating_mul(extents[1]).min(crate::MAX_CELLS);
        Self { extents, space, mass: vec![0.0; cells], documents: Vec::new() }
    }

    /// Adds the next document: its posterior `[cell]`, and where it is drawn, row and column in cells. One without a known
    /// word has no place, and is found by its title only.
    pub fn push(&mut self, document: Document, cells: &[f64], place: Option<[f32; 2]>) {
        let mut best = Vec::new();
        if place.is_some() {
            // A float's probability may be a rounding above 1.
            best.extend((0u32..).zip(cells.iter().map(|&q| (q as f32).min(1.0))).filter(|&(_, q)| q > 0.0));
            best.sort_by(|a: &(u32, f32), b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.truncate(CELLS);
            self.mass.iter_mut().zip(cells).for_each(|(sum, q)| *sum += q);
        }
        self.documents.push(Document { posterior: best, place, ..document });
    }

    /// The page, with the words that distinguish each cell most. `shares` `[feature][cell]` are what share of the tokens
    /// at the centre of a cell a feature has, `relief` is that of [`Page::relief`]. Documents beyond [`MAX_DOCUMENTS`] are
    /// left out evenly.
    ///
    /// # Errors
    /// Those of [`characteristic_words`].
    pub fn page(
        self,
        title: &str,
        shares: &[f32],
        vocabulary: &[impl AsRef<str>],
        labels: &[String],
        relief: Vec<f32>,
        facts: Vec<(String, String)>,
    ) -> Result<Page, PageError> {
        let tokens: Vec<f64> = self.mass.iter().map(|mass| TOKENS * mass).collect();
        let words = characteristic_words(shares, self.mass.len(), vocabulary, &tokens, WORDS)?;
        let sampled_from = (self.documents.len() > MAX_DOCUMENTS).then_some(self.documents.len());
        let documents = evenly_spaced(self.documents, MAX_DOCUMENTS);
        let regions = regions(shares, self.extents, self.space, vocabulary, &self.mass, tokens.iter().sum())?;
        Ok(Page {
            title: title.to_owned(),
            regions,
            extents: self.extents,
            window: [1, 1],
            space: self.space,
            relief,
            words,
            documents,
            sampled_from,
            added: None,
            labels: labels.to_vec(),
            facts,
            columns: Vec::new(),
        })
    }
}
