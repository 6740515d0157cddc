use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    FONT, PictureError, backend, bitmap, drawing,
    marks::{COLOURS, INK, NAMED, Scale, UNLABELLED, draw_mark, shortened},
};
use crate::{Document, Page, group_digits, page::coverage_of};

/// Pixels of the map's longer side.
const SIDE: f64 = 960.0;
/// Rows or columns of coloured squares, at most: of larger grids several cells are one.
const SQUARES: usize = 128;
/// Words that are tried, and names of regions.
const WORDS: usize = 3000;
/// The narrowest map, by its longer side.
const NARROWEST: f64 = 0.25;

/// A page as a picture: regions coloured by label, documents, words and names of regions where they fit, and a legend.
///
/// ```
/// use countgrid_map::{Document, Page, Word, pictures::Sheet};
/// let page = Page {
///     title: "Sky".into(),
///     extents: [8, 8],
///     window: [2, 2],
///     words: vec![Word { text: "moon".into(), cell: 9, weight: 1.0 }],
///     documents: vec![Document { posterior: vec![(9, 1.0)], label: Some(0), ..Document::default() }],
///     labels: vec!["night".into()],
///     ..Page::default()
/// };
/// let svg = Sheet::new(&page)?.svg()?;
/// assert!(svg.contains("moon") && svg.contains("night (1)"));
/// # Ok::<(), countgrid_map::pictures::PictureError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sheet<'a> {
    page: &'a Page,
    size: [f64; 2], // pixels across and down
}

/// A text that is drawn: its middle, in pixels.
struct Line<'a> {
    text: &'a str,
    at: [f64; 2],
    size: f64,
    half: [f64; 2],
}

impl<'a> Sheet<'a> {
    /// The picture of a page.
    ///
    /// # Errors
    /// [`PictureError::Page`] for a page that is not in order.
    pub fn new(page: &'a Page) -> Result<Self, PictureError> {
        page.check().map_err(PictureError::Page)?;
        let [rows, columns] = page.extents.map(|extent| extent as f64);
        let size = if rows > columns {
            [SIDE * (columns / rows).max(NARROWEST), SIDE]
        } else {
            [SIDE, SIDE * (rows / columns).max(NARROWEST)]
        };
        Ok(Self { page, size })
    }

    /// The picture as an SVG document, its map 960 pixels wide or high.
    ///
    /// # Errors
    /// [`PictureError::Backend`].
    pub fn svg(&self) -> Result<String, PictureError> {
        drawing(self.pixels(Scale(1)), |area| self.draw(&area, Scale(1)))
    }

    /// The picture as a PNG file, of twice as many pixels.
    ///
    /// # Errors
    /// [`PictureError::Backend`].
    pub fn png(&self) -> Result<Vec<u8>, PictureError> {
        bitmap(self.pixels(Scale(2)), |area| self.draw(&area, Scale(2)))
    }

    fn pixels(&self, Scale(scale): Scale) -> (u32, u32) {
        let legend = if self.page.labels.is_empty() { 30 } else { 220 };
        let [across, down] = self.size.map(|side| side.round() as u32);
        (scale * (30 + across + legend), scale * (50 + down.max(300) + 30))
    }

    /// Where a place is, row and column in cells.
    fn onto(&self, [row, column]: [f64; 2]) -> [f64; 2] {
        let [rows, columns] = self.page.extents.map(|extent| extent as f64);
        [30.0 + column / columns * self.size[0], 50.0 + row / rows * self.size[1]]
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        scale: Scale,
    ) -> Result<(), PictureError> {
        area.fill(&WHITE).map_err(backend)?;
        let at = |[x, y]: [f64; 2]| (scale.pixels(x), scale.pixels(y));
        let font = |size: f64| (FONT, f64::from(scale.pixels(size))).into_font();
        area.draw(&Text::new(shortened(&self.page.title, 80), at([30.0, 18.0]), font(20.0).color(&INK)))
            .map_err(backend)?;
        for (corners, colour) in self.squares() {
            area.draw(&Rectangle::new(corners.map(at), colour.filled())).map_err(backend)?;
        }
        let frame = [[30.0, 50.0], [30.0 + self.size[0], 50.0 + self.size[1]]].map(at);
        area.draw(&Rectangle::new(frame, INK.mix(0.35).stroke_width(scale.0))).map_err(backend)?;
        let radius = (60.0 / (self.page.documents.len().max(1) as f64).sqrt()).clamp(1.0, 3.5);
        for (document, place) in self.places() {
            draw_mark(area, place, document.label, radius, scale).map_err(backend)?;
        }
        for (line, strength) in self.lines() {
            let [x, y] = line.at;
            if strength == 1.0 {
                let back =
                    [[x - line.half[0], y - line.half[1]], [x + line.half[0], y + line.half[1]]].map(at);
                area.draw(&Rectangle::new(back, WHITE.mix(0.65).filled())).map_err(backend)?;
            }
            let style = font(line.size).color(&INK.mix(strength)).pos(Pos::new(HPos::Center, VPos::Center));
            area.draw(&Text::new(line.text.to_owned(), at(line.at), style)).map_err(backend)?;
        }
        let entries = self.entries();
        let beside = |line: usize| [30.0 + self.size[0] + 24.0, 64.0 + 24.0 * line as f64];
        let style = font(15.0).color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        let shown = NAMED.min(((self.size[1].max(300.0) - 24.0) / 24.0) as usize);
        for (line, &(label, documents)) in entries.iter().take(shown).enumerate() {
            let [x, y] = beside(line);
            draw_mark(area, [x, y], Some(label), 5.5, scale).map_err(backend)?;
            let name = self.page.labels.get(label as usize).map_or("", String::as_str);
            let name = format!("{} ({})", shortened(name, 20), group_digits(documents));
            area.draw(&Text::new(name, at([x + 14.0, y]), style.clone())).map_err(backend)?;
        }
        if entries.len() > shown {
            let [x, y] = beside(shown);
            let more = format!("and {} more", group_digits(entries.len() - shown));
            area.draw(&Text::new(more, at([x + 14.0, y]), style)).map_err(backend)?;
        }
        area.present().map_err(backend)
    }

    /// Labels with their documents, the most frequent first.
    fn entries(&self) -> Vec<(u32, usize)> {
        let mut entries: Vec<(u32, usize)> = (0u32..).zip(self.page.labels.iter().map(|_| 0)).collect();
        for label in self.page.documents.iter().filter_map(|document| document.label) {
            entries.get_mut(label as usize).into_iter().for_each(|(_, documents)| *documents += 1);
        }
        entries.sort_by_key(|&(label, documents)| (std::cmp::Reverse(documents), label));
        entries
    }

    /// Squares of cells in the colours of the labels that live there, as strong as there are documents.
    fn squares(&self) -> Vec<([[f64; 2]; 2], RGBAColor)> {
        let [rows, columns] = self.page.extents;
        let step = [rows, columns].map(|extent| extent.div_ceil(SQUARES));
        let [down, across] = [rows.div_ceil(step[0]), columns.div_ceil(step[1])];
        let mut sums = vec![[0.0f64; 5]; down * across]; // colour and its weight, documents
        let labels = (0u32..).take(self.page.labels.len()).map(Some).chain([None]);
        for label in labels {
            let own = self.page.documents.iter().filter(|document| document.label == label);
            if own.clone().next().is_none() {
                continue;
            }
            let colour = label.map_or(UNLABELLED, |label| COLOURS[label as usize % COLOURS.len()]);
            let colour = [colour.0, colour.1, colour.2].map(f64::from);
            let mut masses = vec![0.0; down * across];
            for (cell, mass) in coverage_of(self.page.extents, self.page.window, own).into_iter().enumerate()
            {
                masses[cell / columns / step[0] * across + cell % columns / step[1]] += mass;
            }
            for (sum, mass) in sums.iter_mut().zip(masses) {
                let share = mass * mass;
                (0..3).for_each(|c| sum[c] += share * colour[c]);
                sum[3] += share;
                sum[4] += mass;
            }
        }
        let mean = sums.iter().map(|sum| sum[4]).sum::<f64>() / sums.len() as f64;
        let square = |(n, sum): (usize, &[f64; 5])| {
            let [row, column] = [n / across * step[0], n % across * step[1]];
            let end = [(row + step[0]).min(rows), (column + step[1]).min(columns)];
            let [r, g, b] = [0, 1, 2].map(|c| (sum[c] / sum[3]).round() as u8); // a mean of bytes
            let strength = 0.52 * sum[4] / (sum[4] + 0.8 * mean);
            let corners = [[row, column], end].map(|corner| self.onto(corner.map(|x| x as f64)));
            (sum[3] > 0.0).then(|| (corners, RGBColor(r, g, b).mix(strength)))
        };
        sums.iter().enumerate().filter_map(square).collect()
    }

    /// Documents with their places: their own, or in the middle of their likeliest window, where several form a sunflower.
    fn places(&self) -> impl Iterator<Item = (&'a Document, [f64; 2])> {
        let ([rows, columns], window) = (self.page.extents, self.page.window);
        let mut of_cell = vec![0u32; rows * columns];
        self.page.documents.iter().filter_map(move |document| {
            if let Some(place) = document.place {
                return Some((document, self.onto(place.map(f64::from))));
            }
            let best = document.posterior.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
            let cell = best.0 as usize;
            let n = of_cell[cell];
            of_cell[cell] += 1;
            let (angle, radius) = (f64::from(n) * 2.399_963, (0.06 * f64::from(n).sqrt()).min(0.46));
            let row = (cell / columns) as f64 + window[0] as f64 / 2.0 + radius * libm::sin(angle);
            let column = (cell % columns) as f64 + window[1] as f64 / 2.0 + radius * libm::cos(angle);
            let around = |x: f64, extent: usize| x - (x / extent as f64).floor() * extent as f64;
            Some((document, self.onto([around(row, rows), around(column, columns)])))
        })
    }

    /// Names of the largest regions and then words, the heaviest first, each where it fits; with how strong it is drawn. Words come
    /// first in the list, so that names lie over what is near.
    fn lines(&self) -> Vec<(Line<'a>, f64)> {
        let mut taken: Vec<(Line<'a>, f64)> = Vec::new();
        // What would be cut by an edge moves inside.
        let mut put = |mut line: Line<'a>, strength: f64| {
            for (axis, start) in [30.0, 50.0].into_iter().enumerate() {
                let (least, most) = (start + line.half[axis], start + self.size[axis] - line.half[axis]);
                if least > most {
                    return;
                }
                line.at[axis] = line.at[axis].clamp(least, most);
            }
            let apart = |(other, _): &(Line<'_>, f64)| {
                (0..2)
                    .any(|axis| (line.at[axis] - other.at[axis]).abs() >= line.half[axis] + other.half[axis])
            };
            if taken.iter().all(apart) {
                taken.push((line, strength));
            }
        };
        let middle = |cell: u32| {
            let columns = self.page.extents[1];
            self.onto([(cell as usize / columns) as f64 + 0.5, (cell as usize % columns) as f64 + 0.5])
        };
        for region in self.page.regions.first().iter().flat_map(|level| &level.regions) {
            let [x, y] = middle(region.cell);
            for (text, below) in region.words.iter().zip([0.0, 27.0]) {
                put(line(text, [x, y + below], 22.0), 1.0);
            }
        }
        let mut words: Vec<_> = self.page.words.iter().collect();
        words.sort_by(|a, b| {
            b.weight.total_cmp(&a.weight).then(a.cell.cmp(&b.cell)).then(a.text.cmp(&b.text))
        });
        let heaviest = words.first().map_or(1.0, |word| f64::from(word.weight).max(f64::MIN_POSITIVE));
        let mut seen = std::collections::BTreeSet::new();
        for word in words.into_iter().take(WORDS) {
            if seen.insert(&word.text) {
                // Documents are often in the middle of cells.
                let [x, y] = middle(word.cell);
                let at = [x, y - 0.24 * self.size[1] / self.page.extents[0] as f64];
                put(line(&word.text, at, 10.0 + 14.0 * f64::from(word.weight) / heaviest), 0.7);
            }
        }
        taken.reverse();
        taken
    }
}

/// A text with about the room it takes, which must not depend on what draws it.
fn line(text: &str, at: [f64; 2], size: f64) -> Line<'_> {
    let wide: f64 = text.chars().map(|c| if c.is_ascii() { 0.55 } else { 0.8 }).sum();
    Line { text, at, size, half: [0.5 * size * wide + 3.0, 0.55 * size + 1.0] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Region, RegionLevel, Space, Word, pictures::drawn::elements};

    fn page(extents: [usize; 2]) -> Page {
        let cells = extents[0] * extents[1];
        let words = ["moon & sun", "<b>tide</b>", "stone"].iter().zip([0, cells / 2, cells - 1]);
        Page {
            title: "a & b".into(),
            extents,
            window: extents.map(|extent| extent.min(2)),
            words: words
                .map(|(text, cell)| Word { text: (*text).into(), cell: cell as u32, weight: 1.0 })
                .collect(),
            documents: (0..50)
                .map(|n| Document {
                    posterior: vec![((n * 7 % cells) as u32, 1.0)],
                    label: (n % 3 < 2).then_some(n as u32 % 3),
                    ..Document::default()
                })
                .collect(),
            labels: vec!["one".into(), "two".into()],
            regions: vec![RegionLevel {
                regions: vec![Region {
                    words: vec!["night".into(), "sky".into()],
                    cell: (cells / 3) as u32,
                    parent: None,
                }],
                of_cell: vec![0; cells],
            }],
            ..Page::default()
        }
    }

    #[test]
    fn both_forms_show_labels_words_and_names() {
        let page = page([20, 24]);
        let sheet = Sheet::new(&page).unwrap();
        let svg = sheet.svg().unwrap();
        for text in ["a &amp; b", "one (17)", "two (17)", "night", "sky", "&lt;b&gt;tide&lt;/b&gt;"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(svg.matches("<circle").count(), 2 * (17 + 16 + 1)); // of one label, without one, and in the legend
        assert!(svg == Sheet::new(&page).unwrap().svg().unwrap());
        let png = sheet.png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let blue = pixels.chunks_exact(3).filter(|pixel| pixel[2] > pixel[0].saturating_add(30)).count();
        assert!(blue > 2000, "{blue}"); // the land of the first label
    }

    /// A document and a word of each of these cells, in windows of one cell; all labels are the first.
    fn page_of_cells(extents: [usize; 2], cells: &[u32]) -> Page {
        let document =
            |&cell: &u32| Document { posterior: vec![(cell, 0.5)], label: Some(0), ..Document::default() };
        Page {
            extents,
            window: [1, 1],
            documents: cells.iter().map(document).collect(),
            words: cells.iter().map(|&cell| Word { text: format!("w{cell}"), cell, weight: 1.0 }).collect(),
            labels: vec!["one".into()],
            ..Page::default()
        }
    }

    #[test]
    fn squares_are_as_strong_as_their_share_of_the_documents() {
        let squares = |cells: &[u32]| {
            let page = page_of_cells([3, 4], cells);
            Sheet::new(&page).unwrap().squares()
        };
        let found = squares(&[1, 6, 6]);
        // 960 by 720 pixels from (30, 50) on, of which each cell has 240 both ways.
        assert_eq!(found[0].0, [[270.0, 50.0], [510.0, 290.0]]);
        assert_eq!(found[1].0, [[510.0, 290.0], [750.0, 530.0]]);
        // The mean of twelve cells is a quarter of what one document gives.
        for ((_, colour), documents) in found.iter().zip([1.0, 2.0]) {
            let RGBColor(r, g, b) = COLOURS[0];
            assert_eq!(colour.rgb(), (r, g, b));
            assert!((colour.alpha() - 0.52 * documents / (documents + 0.8 * 3.0 / 12.0)).abs() < 1e-12);
        }
        // Twice the documents at the same places.
        for ((_, colour), (_, twice)) in found.iter().zip(squares(&[1, 6, 6, 1, 6, 6])) {
            assert!((colour.alpha() - twice.alpha()).abs() < 1e-12);
        }
    }

    /// Colours are mixed by the squares of how many documents each label has there.
    #[test]
    fn a_square_has_the_colour_of_the_label_that_lives_there() {
        let mut page = page_of_cells([3, 4], &[5, 5, 5, 6]);
        page.labels = (0..25).map(|n| n.to_string()).collect();
        let labels = [Some(2), Some(2), Some(3), Some(24)];
        page.documents.iter_mut().zip(labels).for_each(|(document, label)| document.label = label);
        let found = Sheet::new(&page).unwrap().squares();
        let mixed = |a: u8, b: u8| ((4.0 * f64::from(a) + f64::from(b)) / 5.0).round() as u8;
        let [a, b, again] = [COLOURS[2], COLOURS[3], COLOURS[0]];
        assert_eq!(found[0].1.rgb(), (mixed(a.0, b.0), mixed(a.1, b.1), mixed(a.2, b.2)));
        assert_eq!(found[1].1.rgb(), (again.0, again.1, again.2)); // as many labels as colours later
    }

    #[test]
    fn of_equally_likely_windows_the_first_has_the_document() {
        let mut page = page_of_cells([3, 4], &[1]);
        page.documents[0].posterior = vec![(6, 0.4), (1, 0.4), (9, 0.2)];
        let places: Vec<_> = Sheet::new(&page).unwrap().places().map(|(_, place)| place).collect();
        assert_eq!(places, [[630.0, 410.0]]);
    }

    #[test]
    fn places_are_where_their_share_of_the_map_is() {
        for (extents, size) in
            [([3, 4], [960.0, 720.0]), ([40, 30], [720.0, 960.0]), ([2, 100], [960.0, 240.0])]
        {
            let page = page_of_cells(extents, &[0]);
            let sheet = Sheet::new(&page).unwrap();
            assert_eq!(sheet.size, size);
            for [down, across] in [[0.0, 0.0], [1.0, 1.0], [0.5, 0.25], [0.125, 0.75]] {
                let place = [down * extents[0] as f64, across * extents[1] as f64];
                assert_eq!(
                    sheet.onto(place),
                    [30.0 + across * size[0], 50.0 + down * size[1]],
                    "{extents:?}"
                );
            }
        }
    }

    #[test]
    fn labels_are_named_by_the_number_of_their_documents() {
        let mut page = page_of_cells([3, 4], &[0, 1, 2, 3, 4, 5, 6]);
        page.labels = ["one", "two", "none", "three"].map(str::to_owned).to_vec();
        let labels = [Some(3), Some(1), None, Some(3), Some(0), Some(1), Some(3)];
        page.documents.iter_mut().zip(labels).for_each(|(document, label)| document.label = label);
        let sheet = Sheet::new(&page).unwrap();
        assert_eq!(sheet.entries(), [(3, 3), (1, 2), (0, 1), (2, 0)]);
    }

    #[test]
    fn a_word_stands_above_the_documents_of_its_cell() {
        let page = page_of_cells([3, 4], &[1, 6]);
        let sheet = Sheet::new(&page).unwrap();
        let places: Vec<_> = sheet.places().map(|(_, place)| place).collect();
        assert_eq!(places, [[390.0, 170.0], [630.0, 410.0]]);
        for (word, [x, y]) in page.words.iter().zip(places) {
            let (line, _) = sheet.lines().into_iter().find(|(line, _)| line.text == word.text).unwrap();
            assert_eq!(line.at[0], x);
            assert!((y - 120.0..y - 20.0).contains(&line.at[1]), "{:?} of a cell around {y}", line.at);
        }
    }

    #[test]
    fn everything_is_in_its_place() {
        // 960 by 720 pixels from (30, 50) on, of which each cell has 240 both ways.
        let mut page = page_of_cells([3, 4], &[1, 6]);
        page.title = "three by four".into();
        page.words.clear();
        let name = Region { words: vec!["night".into(), "sky".into()], cell: 10, parent: None };
        page.regions = vec![RegionLevel { regions: vec![name], of_cell: vec![0; 12] }];
        let svg = Sheet::new(&page).unwrap().svg().unwrap();
        assert_eq!(elements(&svg, "svg")[0].numbers(["width", "height"]), [1210.0, 800.0]);
        let rectangles = elements(&svg, "rect");
        assert_eq!(rectangles.len(), 1 + 2 + 1 + 2); // the paper, the squares, the frame, what is behind the names
        let corners = |at: usize| rectangles[at].numbers(["x", "y", "width", "height"]);
        assert_eq!([1, 2].map(corners), [[270.0, 50.0, 240.0, 240.0], [510.0, 290.0, 240.0, 240.0]]);
        assert_eq!(corners(3), [30.0, 50.0, 960.0, 720.0]);
        let circles: Vec<_> =
            elements(&svg, "circle").iter().map(|mark| mark.numbers(["cx", "cy"])).collect();
        let ([first, second], legend) = ([[390.0, 170.0], [630.0, 410.0]], [1014.0, 64.0]);
        assert_eq!(circles, [first, first, second, second, legend, legend]);
        let texts = elements(&svg, "text");
        let texts: Vec<_> = texts.iter().map(|text| (text.text, text.numbers(["x", "y"]))).collect();
        let legend = ("one (2)", [1028.0, 64.0]);
        let names = [("sky", [630.0, 677.0]), ("night", [630.0, 650.0])];
        assert_eq!(texts, [("three by four", [30.0, 18.0]), names[0], names[1], legend]);
        for (back, (text, [x, y])) in [4, 5].map(corners).into_iter().zip(names) {
            // The room that a text of this size takes, see `line`.
            let half = [0.5 * 22.0 * 0.55 * text.len() as f64 + 3.0, 0.55 * 22.0 + 1.0];
            let expected = [x - half[0], y - half[1], 2.0 * half[0], 2.0 * half[1]];
            assert!(back.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1.0), "{back:?} {expected:?}");
        }
        // Without labels there is no legend, and a low map leaves room for one.
        page.labels.clear();
        page.documents.iter_mut().for_each(|document| document.label = None);
        let svg = Sheet::new(&page).unwrap().svg().unwrap();
        assert_eq!(elements(&svg, "svg")[0].numbers(["width", "height"]), [1020.0, 800.0]);
        let low = page_of_cells([2, 100], &[0]);
        let low = Sheet::new(&low).unwrap();
        assert_eq!(elements(&low.svg().unwrap(), "svg")[0].numbers(["width", "height"]), [1210.0, 380.0]);
        let png = low.png().unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        assert_eq!(reader.info().size(), (2420, 760));
    }

    #[test]
    fn the_legend_has_as_many_lines_as_fit() {
        for (extents, fit) in [([2, 100], 11), ([3, 4], NAMED)] {
            for labels in [fit, fit + 1, fit + 40] {
                let mut page = page_of_cells(extents, &[0]);
                page.labels = (0..labels).map(|n| format!("label {n}")).collect();
                let svg = Sheet::new(&page).unwrap().svg().unwrap();
                let texts = elements(&svg, "text");
                let named = texts.iter().filter(|text| text.text.starts_with("label")).count();
                assert_eq!(named, fit);
                let last = texts.last().unwrap();
                match labels - fit {
                    0 => assert_eq!(last.text, format!("label {} (0)", fit - 1)),
                    more => {
                        assert_eq!(last.text, format!("and {more} more"));
                        assert_eq!(last.numbers(["x", "y"]), [1028.0, 64.0 + 24.0 * fit as f64]);
                    }
                }
            }
        }
    }

    #[test]
    fn many_documents_are_smaller_marks() {
        for (documents, radius) in [(1, 4.0), (295, 3.0), (900, 2.0), (3_600, 1.0), (10_000, 1.0)] {
            let page = page_of_cells([1, 1], &vec![0; documents]);
            let svg = Sheet::new(&page).unwrap().svg().unwrap();
            let marks = elements(&svg, "circle");
            let radii: Vec<_> = marks.iter().map(|mark| mark.number("r")).collect();
            assert_eq!(radii[1], radius, "{documents}");
            assert_eq!(radii[radii.len() - 1], 6.0, "of the legend");
        }
    }

    /// Documents of one cell form a sunflower around the middle of their window, which may lie across the edge; those with a place
    /// of their own are there.
    #[test]
    fn documents_of_one_cell_lie_around_its_middle() {
        let mut page = page_of_cells([6, 5], &[29; 200]); // the last cell
        page.window = [3, 2];
        page.documents[0].posterior = vec![(3, 0.2), (29, 0.5), (7, 0.3)];
        page.documents.push(Document { place: Some([1.5, 0.25]), ..Document::default() });
        let sheet = Sheet::new(&page).unwrap();
        let places: Vec<_> = sheet
            .places()
            .map(|(_, [x, y])| [(y - 50.0) / sheet.size[1] * 6.0, (x - 30.0) / sheet.size[0] * 5.0])
            .collect();
        let close = |a: [f64; 2], b: [f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        // Rows 5, 0 and 1, columns 4 and 0.
        assert!(close(places[0], [0.5, 0.0]), "{:?}", places[0]);
        for (n, &place) in places[..200].iter().enumerate() {
            let angle = 2.399_963 * n as f64;
            let radius = (0.06 * (n as f64).sqrt()).min(0.46);
            let place = [place[0], if place[1] > 2.5 { place[1] - 5.0 } else { place[1] }];
            assert!(close(place, [0.5 + radius * angle.sin(), radius * angle.cos()]), "{n}: {place:?}");
        }
        assert!(close(places[200], [1.5, 0.25]));
    }

    #[test]
    fn large_grids_have_squares_of_several_cells() {
        // 2 x 3 cells a square: 65 squares down and 101 across, the last of them narrower.
        let extents = [129, 301];
        let mut page = page_of_cells(extents, &[0, 302, 128 * 301 + 300]);
        page.labels = vec!["one".into()];
        let sheet = Sheet::new(&page).unwrap();
        let found = sheet.squares();
        let at = |row: usize, column: usize| sheet.onto([row as f64, column as f64]);
        let corners: Vec<_> = found.iter().map(|(corners, _)| *corners).collect();
        assert_eq!(corners, [[at(0, 0), at(2, 3)], [at(128, 300), at(129, 301)]]);
        // Two documents are in the first square, one in the last.
        let mean = 3.0 / (65.0 * 101.0);
        for ((_, colour), documents) in found.iter().zip([2.0, 1.0]) {
            assert!((colour.alpha() - 0.52 * documents / (documents + 0.8 * mean)).abs() < 1e-12);
        }
    }

    #[test]
    fn texts_keep_apart_and_within_the_map() {
        let words = |words: &[(&str, u32, f32)]| {
            let mut page = page_of_cells([12, 16], &[]);
            page.words =
                words.iter().map(|&(text, cell, weight)| Word { text: text.into(), cell, weight }).collect();
            page
        };
        // The heaviest word is drawn largest, and what is of half its weight halfway to the least size.
        let page = words(&[("light", 20, 1.0), ("heavy", 100, 4.0), ("half", 180, 2.0)]);
        let sheet = Sheet::new(&page).unwrap();
        let sizes: Vec<_> =
            sheet.lines().iter().map(|(line, strength)| (line.text, line.size, *strength)).collect();
        assert_eq!(sizes, [("light", 13.5, 0.7), ("half", 17.0, 0.7), ("heavy", 24.0, 0.7)]);
        // Of words in one cell the heaviest stays, and one that is there twice is drawn once.
        let page = words(&[("second", 100, 1.0), ("first", 100, 4.0), ("first", 20, 2.0)]);
        let texts: Vec<_> =
            Sheet::new(&page).unwrap().lines().into_iter().map(|(line, _)| line.text).collect();
        assert_eq!(texts, ["first"]);
        // At the edges they move inside: of all corners, and of a word wider than the map nothing.
        let wide = "w".repeat(400);
        let page = words(&[
            ("topleft", 0, 1.0),
            ("topright", 15, 1.0),
            ("bottomleft", 11 * 16, 1.0),
            (&wide, 100, 2.0),
        ]);
        let sheet = Sheet::new(&page).unwrap();
        let lines = sheet.lines();
        assert_eq!(lines.len(), 3);
        for (line, _) in &lines {
            for (axis, start) in [30.0, 50.0].into_iter().enumerate() {
                let (low, high) = (line.at[axis] - line.half[axis], line.at[axis] + line.half[axis]);
                assert!(low >= start - 1e-9 && high <= start + sheet.size[axis] + 1e-9, "{}", line.text);
            }
        }
        let left = lines.iter().find(|(line, _)| line.text == "topleft").unwrap();
        assert_eq!(left.0.at[0] - left.0.half[0], 30.0);
        // Two that touch are apart.
        let [one, two] = [line("aaaa", [100.0, 100.0], 20.0), line("aäa", [0.0, 0.0], 10.0)];
        assert_eq!(one.half, [0.5 * 20.0 * 2.2 + 3.0, 12.0]);
        assert!((two.half[0] - (0.5 * 10.0 * 1.9 + 3.0)).abs() < 1e-12 && two.half[1] == 6.5);
    }

    #[test]
    fn every_page_has_a_picture() {
        for extents in [[1, 1], [1, 300], [300, 1], [3, 400], [400, 400]] {
            let page = page(extents);
            assert!(Sheet::new(&page).unwrap().svg().unwrap().starts_with("<svg"), "{extents:?}");
        }
        let nothing = Page { extents: [4, 4], window: [2, 2], ..Page::default() };
        Sheet::new(&nothing).unwrap().png().unwrap();
        let mut points = page([5, 5]);
        (points.space, points.window) = (Space::Plane, [1, 1]);
        points.documents.iter_mut().for_each(|document| document.place = Some([5.0, 0.0]));
        Sheet::new(&points).unwrap().svg().unwrap();
        let wrong = Page::default();
        assert!(matches!(Sheet::new(&wrong), Err(PictureError::Page(_))));
    }
}
