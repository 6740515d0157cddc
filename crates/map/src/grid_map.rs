use crate::{
    Document, MAX_CELLS, Page, PageError, Space, Word, coverage,
    fragments::fragments,
    regions,
    regions::MAX_SHARES,
    words::{Choice, check},
};

/// Words that a cell shows at most.
const WORDS: usize = 8;
/// Windows of a document that a page keeps.
const WINDOWS: usize = 8;

/// Layers that a grid may have to be shown, a page for each.
pub const MAX_LAYERS: usize = 9;
/// Documents that the pages of a map list at most, all together; of more they have a sample, evenly spaced, and say so.
///
/// A page holds about half a kilobyte of each without its text, and half of its text ([`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES) is for
/// that). For less, give a map fewer documents, as [`evenly_spaced`] does, and set [`Page::sampled_from`].
pub const MAX_DOCUMENTS: usize = 100_000;

/// With fewer documents a page says that their places tell little.
pub const FEW_DOCUMENTS: usize = 20;

/// The planes that pages show of a counting grid, one after the other in its cells.
///
/// ```
/// use countgrid_map::Planes;
/// let ring = Planes::new(&[40], &[5]).unwrap();
/// assert_eq!((ring.layers, ring.extents, ring.window), (1, [1, 40], [1, 5]));
/// let layers = Planes::new(&[3, 8, 9], &[1, 2, 2]).unwrap();
/// assert_eq!((layers.layers, layers.layer_of(8 * 9 - 1), layers.layer_of(8 * 9)), (3, 0, 1));
/// assert_eq!(Planes::new(&[3, 8, 9], &[2, 2, 2]), None); // no page shows three axes
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    /// How many there are.
    pub layers: usize,
    /// Rows and columns of each: a ring is one row.
    pub extents: [usize; 2],
    /// Rows and columns of a window.
    pub window: [usize; 2],
}

impl Planes {
    /// A grid of one or two axes is one plane; one of three is layers if windows have one cell along the first axis, so that
    /// each document is in one of them. None otherwise. A window of one side has that side along all axes; without a
    /// window its sides are given as 1.
    #[must_use]
    pub fn new(extents: &[usize], window: &[usize]) -> Option<Self> {
        let side = |axis: usize| window.get(axis).or(window.last()).copied().unwrap_or(1);
        match *extents {
            [columns] => Some(Self { layers: 1, extents: [1, columns], window: [1, side(0)] }),
            [rows, columns] => Some(Self { layers: 1, extents: [rows, columns], window: [side(0), side(1)] }),
            [layers, rows, columns] if matches!(window, [1, _, _] | [1]) => {
                Some(Self { layers, extents: [rows, columns], window: [side(1), side(2)] })
            }
            _ => None,
        }
    }

    /// The layer of a cell of the grid.
    #[must_use]
    pub fn layer_of(&self, cell: usize) -> usize {
        cell.checked_div(self.plane()).unwrap_or(0)
    }

    /// Cells of a plane, or `usize::MAX` if there are more than can be counted.
    fn plane(&self) -> usize {
        self.extents[0].saturating_mul(self.extents[1])
    }
}

/// Which window positions a document has a part of, and how much: its posterior, as far as a page needs it.
///
/// Example: [`GridMap`](crate::GridMap).
#[derive(Clone, Copy, Debug)]
pub struct DocumentPosterior<'a> {
    /// The likeliest cells that windows start at, by falling probability; more than eight are left out. None for a
    /// document without a known word.
    pub best: &'a [(usize, f64)],
    /// The probability of each layer; needed if there are several.
    pub layers: &'a [f64],
}

/// What was fitted, for the facts of a page.
///
/// Example: [`GridMap`](crate::GridMap).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridFacts<'a> {
    /// Tokens of the vocabulary.
    pub tokens: f64,
    /// Cells along each axis, such as `32x32`.
    pub grid: &'a str,
    /// Cells of a window along each axis.
    pub window: &'a str,
    /// Updates of the full grid, and why the fit ended, in a few words; where it is known.
    pub iterations: Option<(u64, &'a str)>,
    /// Log evidence of all documents per token, in nats, where it is known.
    pub bound_per_token: Option<f64>,
    /// Start of the random numbers, where it is known.
    pub seed: Option<u64>,
}

/// A collection on a counting grid, as one page or as one of each layer.
///
/// ```
/// use countgrid_map::{Document, DocumentPosterior, GridFacts, GridMap};
///
/// let mut map = GridMap::new(&[1, 2], &[1, 1])?;
/// for (title, cell) in [("weather", 0), ("night", 1)] {
///     let document = Document { title: title.to_owned(), ..Document::default() };
///     map.push(document, DocumentPosterior { best: &[(cell, 1.0)], layers: &[] });
/// }
/// let facts = GridFacts {
///     tokens: 12.0, grid: "1x2", window: "1x1", iterations: Some((5, "converged")), bound_per_token: None, seed: None,
/// };
/// let pi = [0.9, 0.1, 0.1, 0.9]; // [word][cell]
/// let pages = map.pages("Sky", &pi, &["sun", "moon"], &[], &facts)?;
/// assert_eq!((pages.len(), pages[0].words[0].text.as_str()), (1, "sun"));
/// # Ok::<(), countgrid_map::PageError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GridMap {
    planes: Planes,
    documents: Vec<Vec<Document>>, // [layer]
}

impl GridMap {
    /// An empty map of a grid.
    ///
    /// # Errors
    /// [`PageError::Axes`], [`PageError::Layers`], [`PageError::TooManyCells`].
    pub fn new(extents: &[usize], window: &[usize]) -> Result<Self, PageError> {
        let planes = Planes::new(extents, window).ok_or(PageError::Axes { axes: extents.len() })?;
        if planes.layers > MAX_LAYERS {
            return Err(PageError::Layers { limit: MAX_LAYERS, found: planes.layers });
        }
        if planes.plane().saturating_mul(planes.layers) > MAX_CELLS {
            return Err(PageError::TooManyCells { limit: MAX_CELLS });
        }
        Ok(Self { planes, documents: vec![Vec::new(); planes.layers] })
    }

    /// The planes that are shown.
    #[must_use]
    pub fn planes(&self) -> &Planes {
        &self.planes
    }

    /// The documents of a layer so far; none if there is no such layer.
    pub fn documents(&self, layer: usize) -> &[Document] {
        self.documents.get(layer).map_or(&[], Vec::as_slice)
    }

    /// Adds the next document, on the layer where it is likeliest, of equals the first. Its own
    /// [`Document::posterior`] is replaced.
    pub fn push(&mut self, document: Document, posterior: DocumentPosterior<'_>) {
        let (layers, plane) = (self.planes.layers, self.planes.plane());
        let mass = |layer: usize| posterior.layers.get(layer).copied().unwrap_or(0.0);
        let layer = (0..layers).rev().max_by(|&a, &b| mass(a).total_cmp(&mass(b))).unwrap_or(0);
        let here = posterior.best.iter().take(WINDOWS).filter(|(cell, _)| cell / plane == layer);
        // A float's probability may be a rounding above 1.
        let here = here.map(|&(cell, q)| ((cell % plane) as u32, (q as f32).min(1.0)));
        let document = Document { posterior: here.collect(), ..document };
        if let Some(documents) = self.documents.get_mut(layer) {
            documents.push(document);
        }
    }

    /// The words that are drawn, with the cells of all layers one after the other. Documents have `length` tokens each.
    fn words(&self, pi: &[f32], vocabulary: &[impl AsRef<str>], length: f64) -> Result<Vec<Word>, PageError> {
        let Planes { layers, extents, window } = self.planes;
        let (plane, area) = (self.planes.plane(), (window[0] * window[1]) as f64);
        let mut around = Vec::with_capacity(layers * plane); // tokens of the documents whose windows cover a cell
        let mut starts = vec![0.0; layers * plane]; // of those whose windows start at one
        for (layer, documents) in self.documents.iter().enumerate() {
            around.extend(coverage(extents, window, documents)?.iter().map(|mass| mass * area * length));
            for &(cell, q) in documents.iter().flat_map(|document| &document.posterior) {
                starts[layer * plane + cell as usize] += f64::from(q) * length;
            }
        }
        check(pi, layers * plane, vocabulary.len(), &around)?;
        let total = starts.iter().sum();
        let mut choice = Choice::new(vocabulary.len(), &around, total, WORDS);
        let mut counts = vec![0.0; layers * plane];
        let undrawn = fragments(vocabulary, self.documents.iter().flatten());
        for (feature, shares) in pi.chunks_exact((layers * plane).max(1)).enumerate() {
            if undrawn.get(feature) == Some(&true) {
                continue;
            }
            counts.iter_mut().zip(shares).for_each(|(count, &share)| *count = f64::from(share) / area);
            let mut whole = 0.0;
            for (counts, starts) in counts.chunks_exact_mut(plane).zip(starts.chunks_exact(plane)) {
                window_sums(counts, extents, window, Windows::Ahead);
                counts.iter_mut().zip(starts).for_each(|(count, tokens)| *count *= tokens);
                whole += counts.iter().sum::<f64>();
                window_sums(counts, extents, window, Windows::Over);
            }
            choice.add(feature, shares, &counts, whole);
        }
        Ok(choice.words(vocabulary))
    }

    /// The page, or one of each layer, with the words of each cell that the documents whose windows cover it use significantly more
    /// often than others of all layers do, by the rule of [`characteristic_words`](crate::characteristic_words), but none of two letters
    /// from a to z that the documents mostly write without a capital: `et`, not `OS`. `pi` `[feature][cell]` are the distributions of
    /// the grid's cells, `vocabulary` `[feature]` their words. Documents beyond [`MAX_DOCUMENTS`] are left out evenly, and a fact reports it.
    ///
    /// # Errors
    /// Every variant of [`PageError`].
    pub fn pages(
        self,
        title: &str,
        pi: &[f32],
        vocabulary: &[impl AsRef<str>],
        labels: &[String],
        facts: &GridFacts<'_>,
    ) -> Result<Vec<Page>, PageError> {
        let Planes { layers, extents, window } = self.planes;
        let plane = self.planes.plane();
        let all: usize = self.documents.iter().map(Vec::len).sum();
        let words = self.words(pi, vocabulary, facts.tokens / all.max(1) as f64)?;
        let most = MAX_DOCUMENTS / layers;
        let page = |(layer, mut documents): (usize, Vec<Document>)| -> Result<Page, PageError> {
            let total = documents.len();
            let (title, mut listed) = match layers {
                1 => (title.to_owned(), group_digits(total)),
                _ => (
                    format!("{title}, layer {} of {layers}", layer + 1),
                    format!("{} of {}", group_digits(total), group_digits(all)),
                ),
            };
            if total > most {
                documents = evenly_spaced(documents, most);
                listed.push_str(&format!(", of which {} are listed", group_digits(most)));
            }
            let first = layer * plane;
            let regions = match plane.saturating_mul(vocabulary.len()) {
                0..=MAX_SHARES => {
                    let shares = windows(pi, layers * plane, first, extents, window);
                    let mut centred = vec![0.0; plane];
                    for document in &documents {
                        let weight = total as f64 / documents.len() as f64;
                        for &(cell, q) in &document.posterior {
                            centred[centre(cell as usize, extents, window)] += weight * f64::from(q);
                        }
                    }
                    let here_tokens = facts.tokens * total as f64 / all.max(1) as f64;
                    regions(&shares, extents, Space::Torus, vocabulary, &centred, here_tokens)?
                }
                _ => Vec::new(),
            };
            let here = words.iter().filter(|word| (first..first + plane).contains(&(word.cell as usize)));
            let words = here.map(|word| Word { cell: word.cell - first as u32, ..word.clone() }).collect();
            let few = "too few for a map: where they lie tells little; all of it rests on a handful of texts"
                .to_owned();
            let facts = [
                ("Documents", Some(listed)),
                ("These documents are", (all < FEW_DOCUMENTS).then_some(few)),
                ("Tokens", Some(group_digits(facts.tokens.round()))),
                ("Vocabulary", Some(format!("{} words", group_digits(vocabulary.len())))),
                ("Grid", Some(facts.grid.to_owned())),
                ("Window", Some(facts.window.to_owned())),
                ("Iterations", facts.iterations.map(|(iterations, end)| format!("{iterations} ({end})"))),
                ("Bound per token", facts.bound_per_token.map(|bound| format!("{bound:.4} nats"))),
                ("Seed", facts.seed.map(|seed| seed.to_string())),
                ("Made by", Some(concat!("countgrid ", env!("CARGO_PKG_VERSION")).to_owned())),
            ];
            let sampled_from = (total > most).then_some(total);
            let facts =
                facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
            let labels = labels.to_vec();
            Ok(Page {
                title,
                extents,
                window,
                words,
                regions,
                documents,
                sampled_from,
                labels,
                facts,
                ..Page::default()
            })
        };
        self.documents.into_iter().enumerate().map(page).collect()
    }
}

/// The cell in the middle of the window that starts at a cell.
fn centre(start: usize, [rows, columns]: [usize; 2], window: [usize; 2]) -> usize {
    let (row, column) = (start / columns + window[0] / 2, start % columns + window[1] / 2);
    row % rows * columns + column % columns
}

/// Which windows a cell has to do with.
#[derive(Clone, Copy)]
enum Windows {
    /// The one that starts at it.
    Ahead,
    /// All that cover it.
    Over,
}

/// Sums over windows of a plane around the torus, in place: over the cells of the window that starts at each, or over the windows
/// that cover it, by the cells where they start.
fn window_sums(plane: &mut [f64], [rows, columns]: [usize; 2], window: [usize; 2], of: Windows) {
    let mut line = Vec::new(); // of cells, and once more the first of them
    let mut sums = vec![0.0; rows.max(columns)];
    let mut along = |plane: &mut [f64], first: usize, step: usize, extent: usize, side: usize| {
        let from = match of {
            Windows::Ahead => 0,
            Windows::Over => extent - (side - 1) % extent,
        };
        let at = |cell: usize| first + cell * step;
        line.clear();
        line.extend((0..extent + side).map(|ahead| plane[at((from + ahead) % extent)]));
        sums.fill(0.0);
        let sums = &mut sums[..extent];
        for offset in 0..side {
            sums.iter_mut().zip(&line[offset..]).for_each(|(sum, &x)| *sum += x);
        }
        for (cell, &sum) in sums.iter().enumerate() {
            plane[at(cell)] = sum;
        }
    };
    if window[1] > 1 {
        (0..rows).for_each(|row| along(plane, row * columns, 1, columns, window[1]));
    }
    if window[0] > 1 {
        (0..columns).for_each(|column| along(plane, column, columns, rows, window[0]));
    }
}

/// The words of the windows of a layer, `[feature][cell]`, by the cell in their middle: means of the distributions of their cells,
/// which begin at `first` of `cells`.
fn windows(pi: &[f32], cells: usize, first: usize, extents: [usize; 2], window: [usize; 2]) -> Vec<f32> {
    let plane = extents[0] * extents[1];
    let mut shares = vec![0.0; pi.len() / cells.max(1) * plane];
    let mut sums = vec![0.0; plane];
    for (all, shares) in pi.chunks_exact(cells.max(1)).zip(shares.chunks_exact_mut(plane.max(1))) {
        sums.iter_mut().zip(&all[first..]).for_each(|(sum, &p)| *sum = f64::from(p));
        window_sums(&mut sums, extents, window, Windows::Ahead);
        for (cell, sum) in sums.iter().enumerate() {
            shares[centre(cell, extents, window)] = (sum / (window[0] * window[1]) as f64) as f32;
        }
    }
    shares
}

/// That many of all, evenly spaced; all if there are not more.
///
/// ```
/// use countgrid_map::evenly_spaced;
/// assert_eq!(evenly_spaced((0..10).collect(), 5), [1, 3, 5, 7, 9]);
/// ```
#[must_use]
pub fn evenly_spaced<D>(all: Vec<D>, count: usize) -> Vec<D> {
    let (total, count) = (all.len() as u128, count.min(all.len()) as u128);
    let chosen = |place: usize| {
        let place = place as u128;
        place * count / total != (place + 1) * count / total
    };
    all.into_iter().enumerate().filter(|&(place, _)| chosen(place)).map(|(_, one)| one).collect()
}

/// A number with a comma between groups of three digits before the point, for people: `198,332`.
///
/// ```
/// use countgrid_map::group_digits;
///
/// assert_eq!(group_digits(1_234_567), "1,234,567");
/// assert_eq!([group_digits(-123), group_digits(-1234.5678)], ["-123", "-1,234.5678"]);
/// ```
pub fn group_digits(number: impl std::fmt::Display) -> String {
    let number = number.to_string();
    let start = number.bytes().take_while(|byte| !byte.is_ascii_digit()).count();
    let end = start + number.bytes().skip(start).take_while(u8::is_ascii_digit).count();
    let mut text = String::with_capacity(number.len() + number.len() / 3);
    for (place, character) in number.char_indices() {
        if place > start && place < end && (end - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_left_out_evenly() {
        assert_eq!(evenly_spaced((0..38_221).collect::<Vec<_>>(), 20_000).len(), 20_000);
        assert_eq!(evenly_spaced(vec![1, 2], 5), [1, 2]);
        assert!(evenly_spaced(Vec::<u8>::new(), 5).is_empty());
        assert_eq!(evenly_spaced((0..10).collect(), 4), [2, 4, 7, 9]);
        assert_eq!(evenly_spaced((0..10).collect(), 1), [9]);
    }

    #[test]
    fn digits_are_in_groups_of_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(group_digits(number), text);
        }
        for (number, text) in [(-123.0, "-123"), (1234.5, "1,234.5"), (-1_234_567.125, "-1,234,567.125")] {
            assert_eq!(group_digits(number), text);
        }
    }

    #[test]
    fn a_document_is_on_its_likeliest_layer() {
        let mut map = GridMap::new(&[2, 1, 3], &[1, 1, 1]).unwrap();
        let mut push = |best: &[(usize, f64)], layers: &[f64]| {
            map.push(Document::default(), DocumentPosterior { best, layers });
        };
        push(&[(4, 0.4), (0, 0.3), (1, 0.3)], &[0.6, 0.4]);
        push(&[(5, 1.0 + 1e-9)], &[0.0, 1.0]);
        push(&[], &[0.5, 0.5]); // without a known word: the first
        let layers: Vec<Vec<_>> =
            map.documents.iter().map(|all| all.iter().map(|d| d.posterior.clone()).collect()).collect();
        assert_eq!(layers, [vec![vec![(0, 0.3), (1, 0.3)], vec![]], vec![vec![(2, 1.0)]]]);
    }

    #[test]
    fn what_no_page_shows_is_refused() {
        let refused = |extents: &[usize], window: &[usize]| GridMap::new(extents, window).unwrap_err();
        assert_eq!(refused(&[2; 4], &[1; 4]), PageError::Axes { axes: 4 });
        assert_eq!(refused(&[10, 2, 2], &[1, 1, 1]), PageError::Layers { limit: MAX_LAYERS, found: 10 });
        assert_eq!(refused(&[usize::MAX; 2], &[1; 2]), PageError::TooManyCells { limit: MAX_CELLS });
        assert!(GridMap::new(&[0, 4], &[1, 1]).is_ok());
        assert_eq!(Planes::new(&[0, 4], &[1, 1]).unwrap().layer_of(3), 0);
    }
}
