use crate::{PageError, Region, RegionLevel};

/// The largest grid that a page shows.
pub const MAX_CELLS: usize = 1 << 20;

/// Bytes of whole texts that a page should have at most, all together: it becomes larger by about half of them, and a browser holds
/// them and an index of their words.
pub const MAX_TEXT_BYTES: usize = 1 << 26;

/// How the cells of a map hang together.
///
/// Example: [`PointMap`](crate::PointMap).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Space {
    /// Left meets right, top meets bottom.
    #[default]
    Torus,
    /// A sheet with edges.
    Plane,
}

/// Everything that a page shows, as plain data.
///
/// Example: [`write_html`](crate::write_html).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Heading of the page; without one it says "Map".
    pub title: String,
    /// Rows and columns of the map; on a torus `[1, n]` is a ring.
    pub extents: [usize; 2],
    /// Rows and columns of a document's window.
    pub window: [usize; 2],
    /// Whether it has edges.
    pub space: Space,
    /// A height of each cell, row-major, finite and not negative, to be shown as a background on demand, such as the
    /// logarithm of a magnification factor; empty if there is none. The unit does not matter.
    pub relief: Vec<f32>,
    /// The words to show, several per cell; [`crate::characteristic_words`] chooses them.
    pub words: Vec<Word>,
    /// Regions with names, from the largest to the smallest ([`crate::regions`]); none or several levels.
    pub regions: Vec<RegionLevel>,
    /// The documents, in any order; ties in lists are broken by it.
    pub documents: Vec<Document>,
    /// How many documents there are, if the page has only some of them.
    pub sampled_from: Option<usize>,
    /// The first document that was added to the map of those before it; from it on documents are drawn larger and with a dark edge.
    pub added: Option<usize>,
    /// Names of the labels.
    pub labels: Vec<String>,
    /// Further columns of the documents, by which the page filters and colours them.
    pub columns: Vec<PageColumn>,
    /// What was fitted and how, as name and value.
    pub facts: Vec<(String, String)>,
}

/// A word and where it stands.
///
/// Example: [`write_html`](crate::write_html).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Word {
    /// The word.
    pub text: String,
    /// Its cell, row-major.
    pub cell: u32,
    /// What its size grows with, finite and not negative; the unit does not matter.
    pub weight: f32,
}

/// A column of the documents.
///
/// Example: [`Field`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageColumn {
    /// Its name.
    pub name: String,
    /// What its fields are.
    pub kind: FieldKind,
}

/// What the fields of a column are; each may also be [`Field::Empty`].
///
/// Example: [`Field`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// [`Field::Number`]: a range is chosen of them.
    Numbers,
    /// [`Field::Day`]: a range is chosen of them, which can move through time.
    Days,
    /// [`Field::Category`] of these names.
    Categories(Vec<String>),
    /// [`Field::Text`]: read beside the document, as a link if it is an address of the web.
    Texts,
}

/// What a document has in a column.
///
/// ```
/// use countgrid_map::{Document, Field, FieldKind, Page, PageColumn};
/// let page = Page {
///     extents: [1, 1],
///     window: [1, 1],
///     columns: vec![
///         PageColumn { name: "year".into(), kind: FieldKind::Numbers },
///         PageColumn { name: "from".into(), kind: FieldKind::Categories(vec!["Ghent".into()]) },
///     ],
///     documents: vec![Document { fields: vec![Field::Number(1999.0), Field::Category(0)], ..Document::default() }],
///     ..Page::default()
/// };
/// assert_eq!(page.check(), Ok(()));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Field {
    /// Nothing.
    #[default]
    Empty,
    /// A finite number.
    Number(f64),
    /// A day, in days since 1970-01-01.
    Day(i32),
    /// Which of the column's categories.
    Category(u32),
    /// Any text.
    Text(String),
}

/// A document and where it stands.
///
/// Example: [`PointMap`](crate::PointMap).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// Index into [`Page::labels`].
    pub label: Option<u32>,
    /// The text to show in lists: a few lines.
    pub snippet: String,
    /// The whole text, to be searched and read; empty if there is none, and then the title and the snippet are what is searched.
    /// In the page texts are compressed.
    pub text: String,
    /// What it has in each of [`Page::columns`]; none stands for nothing in any.
    pub fields: Vec<Field>,
    /// The largest entries of its posterior: window start, row-major, and probability. Four or eight are
    /// enough; each costs about eight bytes of the page. Without any the document is found by its title only.
    pub posterior: Vec<(u32, f32)>,
    /// Where it is drawn as a point, row and column in cells from the top left corner: `[0.5, 0.5]` is the centre of the
    /// first cell. Without it, at its likeliest window.
    pub place: Option<[f32; 2]>,
}

impl Page {
    /// Whether everything is in range.
    ///
    /// # Errors
    /// Every variant of [`PageError`].
    pub fn check(&self) -> Result<(), PageError> {
        let cells = check_grid(self.extents, self.window)?;
        if !self.relief.is_empty() && self.relief.len() != cells {
            return Err(PageError::Length { table: "relief", expected: cells, found: self.relief.len() });
        }
        if let Some(index) = self.relief.iter().position(|height| !(*height >= 0.0 && height.is_finite())) {
            return Err(PageError::Value { table: "relief", index });
        }
        if let Some(first) = self.added.filter(|&first| first > self.documents.len()) {
            return Err(PageError::Added { first, documents: self.documents.len() });
        }
        for (word, Word { cell, weight, .. }) in self.words.iter().enumerate() {
            if usize::try_from(*cell).map_or(true, |cell| cell >= cells) {
                return Err(PageError::WordCell { word, cell: *cell, cells });
            }
            if !(*weight >= 0.0 && weight.is_finite()) {
                return Err(PageError::WordWeight { word });
            }
        }
        for level in &self.regions {
            let regions = level.regions.len();
            if level.of_cell.len() != cells {
                return Err(PageError::Length {
                    table: "of_cell",
                    expected: cells,
                    found: level.of_cell.len(),
                });
            }
            let out = |&region: &u32| usize::try_from(region).map_or(true, |region| region >= regions);
            if let Some(index) = level.of_cell.iter().position(out) {
                return Err(PageError::Value { table: "of_cell", index });
            }
            let out = |region: &Region| usize::try_from(region.cell).map_or(true, |cell| cell >= cells);
            if let Some(index) = level.regions.iter().position(out) {
                return Err(PageError::Value { table: "regions", index });
            }
        }
        let within = |x: f32, extent: usize| x >= 0.0 && f64::from(x) <= extent as f64;
        for (document, Document { label, posterior, place, fields, .. }) in self.documents.iter().enumerate()
        {
            let labels = self.labels.len();
            if let Some(label) = label.filter(|&label| usize::try_from(label).is_ok_and(|l| l >= labels)) {
                return Err(PageError::Label { document, label, labels });
            }
            check_posterior(document, posterior, cells)?;
            check_fields(document, fields, &self.columns)?;
            let [rows, columns] = self.extents;
            if place.is_some_and(|[row, column]| !(within(row, rows) && within(column, columns))) {
                return Err(PageError::Place { document });
            }
        }
        Ok(())
    }
}

/// How many documents are over each cell, in expectation: every document's posterior spread evenly over its
/// windows. `[cell]`; sums to the posterior mass that the documents list.
///
/// # Errors
/// As [`Page::check`].
///
/// ```
/// use countgrid_map::{Document, coverage};
///
/// let document = Document { posterior: vec![(3, 1.0)], ..Document::default() };
/// assert_eq!(coverage([1, 4], [1, 2], &[document])?, [0.5, 0.0, 0.0, 0.5]); // windows wrap
/// # Ok::<(), countgrid_map::PageError>(())
/// ```
pub fn coverage(
    extents: [usize; 2],
    window: [usize; 2],
    documents: &[Document],
) -> Result<Vec<f64>, PageError> {
    let cells = check_grid(extents, window)?;
    for (document, Document { posterior, .. }) in documents.iter().enumerate() {
        check_posterior(document, posterior, cells)?;
    }
    Ok(coverage_of(extents, window, documents.iter()))
}

/// The same of documents that have been checked.
pub(crate) fn coverage_of<'a>(
    extents: [usize; 2],
    window: [usize; 2],
    documents: impl Iterator<Item = &'a Document>,
) -> Vec<f64> {
    let cells = extents[0] * extents[1];
    let mut starts = vec![0.0; cells];
    for (cell, q) in documents.flat_map(|document| document.posterior.iter().copied()) {
        starts[cell as usize] += f64::from(q);
    }
    let [rows, columns] = extents;
    let place = |row: usize, column: usize| row % rows * columns + column % columns;
    let mut wide = vec![0.0; cells];
    let mut spread = vec![0.0; cells];
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let here = starts[place(row, column)] / window[1] as f64;
        (0..window[1]).for_each(|o| wide[place(row, column + o)] += here);
    }
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let here = wide[place(row, column)] / window[0] as f64;
        (0..window[0]).for_each(|o| spread[place(row + o, column)] += here);
    }
    spread
}

/// The first words of a text, blanks made even and an ellipsis where more would follow: for [`Document::snippet`], or as
/// a title where there is none.
///
/// ```
/// use countgrid_map::truncate_text;
/// assert_eq!(truncate_text(" The cat\nsat on the mat.", 12), "The cat sat…");
/// assert_eq!(truncate_text("猫坐在垫子上", 3), "猫坐在…");
/// ```
#[must_use]
pub fn truncate_text(text: &str, characters: usize) -> String {
    let mut short = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        used += word.chars().count() + 1;
        if used > characters {
            if short.is_empty() {
                short.extend(word.chars().take(characters)); // perhaps a script without blanks
            }
            short.push('…');
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
    }
    short
}

fn check_posterior(document: usize, posterior: &[(u32, f32)], cells: usize) -> Result<(), PageError> {
    for &(cell, q) in posterior {
        if usize::try_from(cell).map_or(true, |cell| cell >= cells) {
            return Err(PageError::DocumentCell { document, cell, cells });
        }
        if !(0.0..=1.0).contains(&q) {
            return Err(PageError::Posterior { document });
        }
    }
    Ok(())
}

fn check_fields(document: usize, fields: &[Field], columns: &[PageColumn]) -> Result<(), PageError> {
    if !fields.is_empty() && fields.len() != columns.len() {
        return Err(PageError::Fields { document, expected: columns.len(), found: fields.len() });
    }
    for (column, (field, PageColumn { kind, .. })) in fields.iter().zip(columns).enumerate() {
        let fits = match (field, kind) {
            (Field::Empty, _) | (Field::Day(_), FieldKind::Days) | (Field::Text(_), FieldKind::Texts) => true,
            (Field::Number(number), FieldKind::Numbers) => number.is_finite(),
            (Field::Category(n), FieldKind::Categories(names)) => {
                usize::try_from(*n).is_ok_and(|n| n < names.len())
            }
            _ => false,
        };
        if !fits {
            return Err(PageError::Field { document, column });
        }
    }
    Ok(())
}

fn check_grid(extents: [usize; 2], window: [usize; 2]) -> Result<usize, PageError> {
    for axis in 0..2 {
        let (side, extent) = (window[axis], extents[axis]);
        if extent == 0 {
            return Err(PageError::EmptyAxis { axis });
        }
        if !(1..=extent).contains(&side) {
            return Err(PageError::Window { axis, side, extent });
        }
    }
    match extents[0].checked_mul(extents[1]) {
        Some(cells) if cells <= MAX_CELLS => Ok(cells),
        _ => Err(PageError::TooManyCells { limit: MAX_CELLS }),
    }
}
