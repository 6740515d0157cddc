use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    FONT, PictureError, backend, bitmap, drawing,
    marks::{INK, NAMED, Scale, draw_mark, shortened},
};
use crate::{MAX_CELLS, group_digits};

/// Points on a sheet of cells, a mark for each label, and a legend with the most frequent labels.
///
/// Documents on a plane, such as a topographic map: cells are its latent points, the relief is how far the map is
/// stretched there.
///
/// ```
/// use countgrid_map::pictures::{PictureError, ScatterPlot};
///
/// let mut plot = ScatterPlot {
///     title: "two documents".into(),
///     sides: [3, 2],
///     relief: vec![0.0, 0.1, 0.2, 0.1, 0.0, 0.4],
///     points: vec![([0.5, 0.5], Some(0)), ([2.5, 1.5], None)],
///     labels: vec!["abstracts".into()],
/// };
/// assert!(plot.svg()?.contains("abstracts (1)"));
/// plot.points[1].0 = [2.5, 3.0];
/// assert_eq!(plot.png(), Err(PictureError::Place { point: 1 }));
/// # Ok::<(), PictureError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScatterPlot {
    /// Above the sheet; 60 characters of it are shown.
    pub title: String,
    /// Cells across and up, at least one each way. The sheet is drawn as a square all the same.
    pub sides: [usize; 2],
    /// A height of each cell, at least 0, row-major from the top left; or empty. The highest is darkest.
    pub relief: Vec<f32>,
    /// Positions, across and up from the bottom left corner in cells, and numbers of labels; drawn in this order.
    pub points: Vec<([f64; 2], Option<u32>)>,
    /// The names of the labels.
    pub labels: Vec<String>,
}

impl ScatterPlot {
    /// The plot as an SVG document, 720 pixels high.
    ///
    /// # Errors
    /// Every variant of [`PictureError`] but [`PictureError::CurvePoint`].
    pub fn svg(&self) -> Result<String, PictureError> {
        self.check()?;
        let scale = Scale(1);
        drawing(self.size(scale), |area| self.draw(&area, scale))
    }

    /// The plot as a PNG file for print, 2160 pixels high.
    ///
    /// # Errors
    /// Every variant of [`PictureError`] but [`PictureError::CurvePoint`].
    pub fn png(&self) -> Result<Vec<u8>, PictureError> {
        self.check()?;
        let scale = Scale(3);
        bitmap(self.size(scale), |area| self.draw(&area, scale))
    }

    fn check(&self) -> Result<(), PictureError> {
        if let Some(axis) = self.sides.iter().position(|&side| side == 0) {
            return Err(PictureError::EmptyAxis { axis });
        }
        let cells = self.sides[0].checked_mul(self.sides[1]).filter(|&cells| cells <= MAX_CELLS);
        let expected = cells.ok_or(PictureError::TooManyCells { limit: MAX_CELLS })?;
        let found = self.relief.len();
        if found != 0 && found != expected {
            return Err(PictureError::Relief { expected, found });
        }
        if let Some(cell) = self.relief.iter().position(|&height| !(height >= 0.0 && height.is_finite())) {
            return Err(PictureError::Height { cell });
        }
        let labels = self.labels.len();
        for (point, &(place, label)) in self.points.iter().enumerate() {
            if !place.iter().zip(self.sides).all(|(&x, side)| x >= 0.0 && x <= side as f64) {
                return Err(PictureError::Place { point });
            }
            if let Some(label) = label.filter(|&label| label as usize >= labels) {
                return Err(PictureError::Label { point, label, labels });
            }
        }
        Ok(())
    }

    /// The plane is drawn as a square; the legend stands beside it.
    fn size(&self, Scale(scale): Scale) -> (u32, u32) {
        (scale * if self.entries().is_empty() { 700 } else { 880 }, scale * 720)
    }

    /// Labels with their documents, the most frequent first.
    fn entries(&self) -> Vec<(u32, usize)> {
        let mut entries: Vec<(u32, usize)> = (0u32..).zip(self.labels.iter().map(|_| 0)).collect();
        for label in self.points.iter().filter_map(|(_, label)| *label) {
            entries.get_mut(label as usize).into_iter().for_each(|(_, documents)| *documents += 1);
        }
        entries.sort_by_key(|&(label, documents)| (std::cmp::Reverse(documents), label));
        entries
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        scale: Scale,
    ) -> Result<(), PictureError> {
        area.fill(&WHITE).map_err(backend)?;
        let at = |[x, y]: [f64; 2]| (scale.pixels(x), scale.pixels(y));
        let text = |size: f64| (FONT, f64::from(scale.pixels(size))).into_font().color(&INK);
        let beside = |size: f64| text(size).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(shortened(&self.title, 60), at([30.0, 18.0]), text(20.0))).map_err(backend)?;
        // The plane: 640 pixels each way.
        let (left, top, side) = (30.0, 50.0, 640.0);
        let [across, up] = self.sides.map(|side| side as f64);
        let onto = |[x, y]: [f64; 2]| [left + x / across * side, top + (1.0 - y / up) * side];
        let highest = self.relief.iter().fold(0.0f32, |highest, &height| highest.max(height));
        for (cell, &height) in self.relief.iter().enumerate().filter(|_| highest > 0.0) {
            let (row, column) = ((cell / self.sides[0]) as f64, (cell % self.sides[0]) as f64);
            let corners = [[column, up - row], [column + 1.0, up - row - 1.0]].map(onto).map(at);
            let shade = INK.mix(0.45 * f64::from(height / highest));
            area.draw(&Rectangle::new(corners, shade.filled())).map_err(backend)?;
        }
        let frame = [[0.0, up], [across, 0.0]].map(onto).map(at);
        let edge = INK.mix(0.35).stroke_width(scale.0);
        area.draw(&Rectangle::new(frame, edge)).map_err(backend)?;
        // In print as on the page, many documents are smaller marks.
        let radius = (95.0 / (self.points.len().max(1) as f64).sqrt()).clamp(1.8, 5.0);
        for &(place, label) in &self.points {
            draw_mark(area, onto(place), label, radius, scale).map_err(backend)?;
        }
        let entries = self.entries();
        for (line, &(label, documents)) in entries.iter().take(NAMED).enumerate() {
            let y = top + 14.0 + 24.0 * line as f64;
            draw_mark(area, [left + side + 24.0, y], Some(label), 5.5, scale).map_err(backend)?;
            let name = self.labels.get(label as usize).map_or("", String::as_str);
            let name = format!("{} ({})", shortened(name, 14), group_digits(documents));
            area.draw(&Text::new(name, at([left + side + 38.0, y]), beside(15.0))).map_err(backend)?;
        }
        if entries.len() > NAMED {
            let y = top + 14.0 + 24.0 * NAMED as f64;
            let more = format!("and {} more", group_digits(entries.len() - NAMED));
            area.draw(&Text::new(more, at([left + side + 38.0, y]), beside(15.0))).map_err(backend)?;
        }
        area.present().map_err(backend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::drawn::{Element, elements};

    /// Everything is in a square of 640 pixels from (30, 50) on: heights from the top left, points from the bottom left; the legend
    /// stands beside it.
    #[test]
    fn everything_is_in_its_place() {
        let mut plot = ScatterPlot {
            title: "four by two".into(),
            sides: [4, 2],
            relief: vec![0.5, 1.0, 2.0, 4.0, 0.25, 0.5, 3.0, 1.0],
            points: vec![
                ([0.0, 0.0], Some(0)),
                ([4.0, 2.0], Some(1)),
                ([1.0, 1.5], None),
                ([4.0, 0.5], Some(1)),
            ],
            labels: vec!["one".into(), "two".into()],
        };
        let svg = plot.svg().unwrap();
        assert_eq!(elements(&svg, "svg")[0].numbers(["width", "height"]), [880.0, 720.0]);
        let rectangles = elements(&svg, "rect");
        assert_eq!(rectangles.len(), 1 + 8 + 1); // the paper, the cells, the frame
        for (cell, (rectangle, height)) in rectangles[1..9].iter().zip(&plot.relief).enumerate() {
            let (row, column) = ((cell / 4) as f64, (cell % 4) as f64);
            let place = [30.0 + 160.0 * column, 50.0 + 320.0 * row, 160.0, 320.0];
            assert_eq!(rectangle.numbers(["x", "y", "width", "height"]), place, "{cell}");
            assert!((rectangle.number("opacity") - 0.45 * f64::from(*height) / 4.0).abs() < 1e-6, "{cell}");
        }
        assert_eq!(rectangles[9].numbers(["x", "y", "width", "height"]), [30.0, 50.0, 640.0, 640.0]);
        // Circles are of the first label and of none, squares of the second; each has a white edge.
        let at = |circle: &Element<'_>| circle.numbers(["cx", "cy"]);
        let circles: Vec<_> = elements(&svg, "circle").iter().map(at).collect();
        let (first, unlabelled, legend) = ([30.0, 690.0], [190.0, 210.0], [694.0, 88.0]);
        assert_eq!(circles, [first, first, unlabelled, unlabelled, legend, legend]);
        let squares: Vec<_> = elements(&svg, "polygon").iter().map(Element::middle).collect();
        let (second, fourth, legend) = ([670.0, 50.0], [670.0, 530.0], [694.0, 64.0]);
        assert_eq!(squares, [second, second, fourth, fourth, legend, legend]);
        let texts = elements(&svg, "text");
        let texts: Vec<_> = texts.iter().map(|text| (text.text, text.numbers(["x", "y"]))).collect();
        // The more frequent label comes first.
        let legend = [("two (2)", [708.0, 64.0]), ("one (1)", [708.0, 88.0])];
        assert_eq!(texts, [vec![("four by two", [30.0, 18.0])], legend.to_vec()].concat());

        // Without labels no room is left for them, and heights that are all zero are not drawn.
        plot.labels.clear();
        plot.points.clear();
        plot.relief.fill(0.0);
        let svg = plot.svg().unwrap();
        assert_eq!(elements(&svg, "svg")[0].numbers(["width", "height"]), [700.0, 720.0]);
        assert_eq!(elements(&svg, "rect").len(), 2);
        let png = plot.png().unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        assert_eq!(reader.info().size(), (2100, 2160));
    }

    /// Many points have smaller marks, and of many labels those are named that fit.
    #[test]
    fn many_points_and_labels_fit() {
        for (points, radius) in [(1, 5.0), (361, 5.0), (900, 3.0), (10_000, 2.0)] {
            let points = vec![([0.5, 0.5], None); points];
            let svg = ScatterPlot { sides: [1, 1], points, ..ScatterPlot::default() }.svg().unwrap();
            let marks = elements(&svg, "circle");
            assert!(marks.iter().skip(1).step_by(2).all(|mark| mark.number("r") == radius), "{radius}");
            assert!(marks.iter().step_by(2).all(|mark| mark.number("r") > radius || radius == 2.0));
        }
        for (labels, last) in [(24, "23 (0)"), (25, "and 1 more"), (1_100, "and 1,076 more")] {
            let labels = (0..labels).map(|n| n.to_string()).collect();
            let svg = ScatterPlot { sides: [1, 1], labels, ..ScatterPlot::default() }.svg().unwrap();
            let texts = elements(&svg, "text");
            assert_eq!(texts.last().unwrap().text, last);
            let line = if last.starts_with("and") { 24.0 } else { 23.0 };
            assert_eq!(texts.last().unwrap().numbers(["x", "y"]), [708.0, 64.0 + 24.0 * line]);
        }
    }

    fn plot() -> ScatterPlot {
        let points = (0..100).map(|n| ([f64::from(n % 10), f64::from(n / 10)], Some(n as u32 % 3))).collect();
        ScatterPlot {
            title: "a & b".into(),
            sides: [10, 10],
            relief: (0..100).map(|n| n as f32).collect(),
            points,
            labels: ["one", "two", "three"].map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn both_forms_show_the_points() {
        let svg = plot().svg().unwrap();
        assert!(svg.contains("a &amp; b") && svg.contains("one (34)") && svg.contains("three (33)"));
        // A hundred marks and three of the legend, each with an edge: circles, squares, triangles.
        assert_eq!(svg.matches("<circle").count(), 2 * (34 + 1));
        assert_eq!(svg.matches("<polygon").count(), 2 * (66 + 2));
        let png = plot().png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let blue = pixels.chunks_exact(3).filter(|pixel| pixel[2] > pixel[0].saturating_add(60)).count();
        assert!(blue > 34 * 60, "{blue}"); // of a mark of 5 x 3 pixels' radius
    }

    #[test]
    fn nothing_and_too_much_are_no_panic() {
        ScatterPlot { sides: [1, 1], ..ScatterPlot::default() }.png().unwrap();
        let many = ScatterPlot {
            labels: (0..100).map(|n| format!("a label of some length, {n}")).collect(),
            relief: vec![0.0],
            sides: [1, 1],
            points: vec![([0.5, 0.5], None)],
            ..ScatterPlot::default()
        };
        assert!(many.svg().unwrap().contains("and 76 more"));
    }
    #[test]
    fn what_is_not_on_the_sheet_is_refused() {
        let refused = |change: fn(&mut ScatterPlot)| {
            let mut plot = plot();
            change(&mut plot);
            let error = plot.svg().unwrap_err();
            assert_eq!(plot.png(), Err(error.clone()));
            error
        };
        assert_eq!(refused(|plot| plot.sides = [10, 0]), PictureError::EmptyAxis { axis: 1 });
        let limit = MAX_CELLS;
        assert_eq!(refused(|plot| plot.sides = [usize::MAX; 2]), PictureError::TooManyCells { limit });
        let (expected, found) = (100, 99);
        assert_eq!(refused(|plot| plot.relief.truncate(99)), PictureError::Relief { expected, found });
        for height in [f32::NAN, f32::INFINITY, -1.0] {
            let mut plot = plot();
            plot.relief[3] = height;
            assert_eq!(plot.svg(), Err(PictureError::Height { cell: 3 }), "{height}");
        }
        for place in [[-0.1, 0.0], [0.0, 10.1], [f64::NAN, 0.0], [0.0, f64::INFINITY]] {
            let mut plot = plot();
            plot.points[7].0 = place;
            assert_eq!(plot.svg(), Err(PictureError::Place { point: 7 }));
        }
        let (label, labels) = (3, 3);
        assert_eq!(
            refused(|plot| plot.points[2].1 = Some(3)),
            PictureError::Label { point: 2, label, labels }
        );
    }
}
