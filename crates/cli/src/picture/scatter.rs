//! Points of a plane, a mark for each label.

use std::io;

use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{FONT, bitmap, register};
use crate::report::thousands;

/// Labels that the legend names, the most frequent first.
const NAMED: usize = 24;
/// Colours that stay apart for colour-blind readers (Okabe and Ito 2008), as on the page.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x8f, 0x7a, 0x00),
    RGBColor(0x5c, 0x5c, 0x5c),
];
const UNLABELLED: RGBColor = RGBColor(0x7f, 0x8a, 0x99);
const INK: RGBColor = RGBColor(0x1c, 0x1b, 0x19);

/// Points on a sheet of cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scatter {
    pub(crate) title: String,
    /// Cells across and up.
    pub(crate) sides: [usize; 2],
    /// A height of each cell, row-major from the top left; or none.
    pub(crate) relief: Vec<f32>,
    /// From the bottom left, in cells; and the number of the label.
    pub(crate) points: Vec<([f64; 2], Option<u32>)>,
    pub(crate) labels: Vec<String>,
}

/// Pixels by a factor: a bitmap for print has several times those of a drawing.
#[derive(Clone, Copy)]
struct Scale(u32);

impl Scale {
    fn pixels(self, pixels: f64) -> i32 {
        (pixels * f64::from(self.0)).round() as i32
    }
}

impl Scatter {
    pub(crate) fn svg(&self) -> io::Result<String> {
        let mut text = String::new();
        let scale = Scale(1);
        self.draw(SVGBackend::with_string(&mut text, self.size(scale)).into_drawing_area(), scale)?;
        Ok(text)
    }

    pub(crate) fn png(&self) -> io::Result<Vec<u8>> {
        let scale = Scale(3);
        bitmap(self.size(scale), |area| self.draw(area, scale))
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

    fn draw<B: DrawingBackend>(&self, area: DrawingArea<B, Shift>, scale: Scale) -> io::Result<()> {
        register();
        let drawing_error = |error: DrawingAreaErrorKind<B::ErrorType>| io::Error::other(error.to_string());
        area.fill(&WHITE).map_err(drawing_error)?;
        let at = |[x, y]: [f64; 2]| (scale.pixels(x), scale.pixels(y));
        let text = |size: f64| (FONT, f64::from(scale.pixels(size))).into_font().color(&INK);
        let beside = |size: f64| text(size).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(shortened(&self.title, 60), at([30.0, 18.0]), text(20.0)))
            .map_err(drawing_error)?;
        // The plane: 640 pixels each way.
        let (left, top, side) = (30.0, 50.0, 640.0);
        let [across, up] = self.sides.map(|side| side.max(1) as f64);
        let onto = |[x, y]: [f64; 2]| [left + x / across * side, top + (1.0 - y / up) * side];
        let highest = self.relief.iter().fold(0.0f32, |highest, &height| highest.max(height));
        for (cell, &height) in self.relief.iter().enumerate().filter(|_| highest > 0.0) {
            let (row, column) = ((cell / self.sides[0]) as f64, (cell % self.sides[0]) as f64);
            let corners = [[column, up - row], [column + 1.0, up - row - 1.0]].map(onto).map(at);
            let shade = INK.mix(0.45 * f64::from(height / highest));
            area.draw(&Rectangle::new(corners, shade.filled())).map_err(drawing_error)?;
        }
        let frame = [[0.0, up], [across, 0.0]].map(onto).map(at);
        let edge = INK.mix(0.35).stroke_width(scale.0);
        area.draw(&Rectangle::new(frame, edge)).map_err(drawing_error)?;
        // In print as on the page, many documents are smaller marks.
        let radius = (95.0 / (self.points.len().max(1) as f64).sqrt()).clamp(1.8, 5.0);
        for &(place, label) in &self.points {
            self.mark(&area, onto(place), label, radius, scale).map_err(drawing_error)?;
        }
        let entries = self.entries();
        for (line, &(label, documents)) in entries.iter().take(NAMED).enumerate() {
            let y = top + 14.0 + 24.0 * line as f64;
            self.mark(&area, [left + side + 24.0, y], Some(label), 5.5, scale).map_err(drawing_error)?;
            let name = self.labels.get(label as usize).map_or("", String::as_str);
            let name = format!("{} ({})", shortened(name, 14), thousands(documents));
            area.draw(&Text::new(name, at([left + side + 38.0, y]), beside(15.0))).map_err(drawing_error)?;
        }
        if entries.len() > NAMED {
            let y = top + 14.0 + 24.0 * NAMED as f64;
            let more = format!("and {} more", thousands(entries.len() - NAMED));
            area.draw(&Text::new(more, at([left + side + 38.0, y]), beside(15.0))).map_err(drawing_error)?;
        }
        area.present().map_err(drawing_error)
    }

    /// A circle, a square, a triangle or a diamond of about the same area, edged in white.
    fn mark<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        [x, y]: [f64; 2],
        label: Option<u32>,
        radius: f64,
        scale: Scale,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let (colour, shape) = match label {
            Some(label) => (COLOURS[label as usize % COLOURS.len()], (label + label / 8) % 4),
            None => (UNLABELLED, 0),
        };
        let around = |offsets: &[(f64, f64)], r: f64| -> Vec<(i32, i32)> {
            offsets.iter().map(|&(a, b)| (scale.pixels(x + a * r), scale.pixels(y + b * r))).collect()
        };
        for (r, style) in [(radius + 0.8, WHITE.mix(0.9).filled()), (radius, colour.mix(0.9).filled())] {
            let corners: &[(f64, f64)] = match shape {
                1 => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
                2 => &[(0.0, -1.4), (1.25, 0.8), (-1.25, 0.8)],
                3 => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
                _ => {
                    area.draw(&Circle::new((scale.pixels(x), scale.pixels(y)), scale.pixels(r), style))?;
                    continue;
                }
            };
            area.draw(&Polygon::new(around(corners, r), style))?;
        }
        Ok(())
    }
}

/// The beginning of a text.
fn shortened(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars().take(characters - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scatter() -> Scatter {
        let points = (0..100).map(|n| ([f64::from(n % 10), f64::from(n / 10)], Some(n as u32 % 3))).collect();
        Scatter {
            title: "a & b".into(),
            sides: [10, 10],
            relief: (0..100).map(|n| n as f32).collect(),
            points,
            labels: ["one", "two", "three"].map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn both_forms_show_the_points() {
        let svg = scatter().svg().unwrap();
        assert!(svg.contains("a &amp; b") && svg.contains("one (34)") && svg.contains("three (33)"));
        // A hundred marks and three of the legend, each with an edge: circles, squares, triangles.
        assert_eq!(svg.matches("<circle").count(), 2 * (34 + 1));
        assert_eq!(svg.matches("<polygon").count(), 2 * (66 + 2));
        let png = scatter().png().unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let blue = pixels.chunks_exact(3).filter(|pixel| pixel[2] > pixel[0].saturating_add(60)).count();
        assert!(blue > 34 * 60, "{blue}"); // of a mark of 5 x 3 pixels' radius
    }

    #[test]
    fn nothing_and_too_much_are_no_panic() {
        Scatter::default().png().unwrap();
        let many = Scatter {
            labels: (0..100).map(|n| format!("a label of some length, {n}")).collect(),
            relief: vec![0.0],
            sides: [1, 1],
            points: vec![([0.5, 0.5], None)],
            ..Scatter::default()
        };
        assert!(many.svg().unwrap().contains("and 76 more"));
    }
}
