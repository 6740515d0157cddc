use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    coord::Shift,
    prelude::*,
};

use super::{FONT, PictureError, backend, bitmap, drawing};

const SIZE: (u32, u32) = (960, 600);
/// Nothing beyond is drawn: ticks of an axis are computed in f64, and some of them are products of two values.
const LARGEST: f64 = 1e30;

/// A measured value.
///
/// Example: [`pictures`](crate::pictures).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Along the logarithmic axis, above 0.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Its standard error; 0 if there is none.
    pub error: f64,
}

/// Points that belong together, in their order.
///
/// Example: [`pictures`](crate::pictures).
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What the legend calls them.
    pub name: String,
    /// Joined by a line, each with a bar from `y - error` to `y + error`.
    pub points: Vec<Point>,
}

/// Curves over a logarithmic axis, 960 by 600 pixels. The [module](super) has an example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// Above the curves.
    pub title: String,
    /// What the logarithmic axis shows, with its unit.
    pub x_label: String,
    /// What the other axis shows, with its unit.
    pub y_label: String,
    /// In the order of the legend; of none only the axes are drawn.
    pub curves: Vec<Curve>,
}

impl LineChart {
    /// The chart as an SVG document.
    ///
    /// # Errors
    /// [`PictureError::CurvePoint`], [`PictureError::Backend`].
    pub fn svg(&self) -> Result<String, PictureError> {
        drawing(SIZE, |area| self.draw(&area))
    }

    /// The chart as a PNG file.
    ///
    /// # Errors
    /// [`PictureError::CurvePoint`], [`PictureError::Backend`].
    pub fn png(&self) -> Result<Vec<u8>, PictureError> {
        bitmap(SIZE, |area| self.draw(&area))
    }

    fn check(&self) -> Result<(), PictureError> {
        for (curve, Curve { points, .. }) in self.curves.iter().enumerate() {
            let drawn = |point: &Point| {
                (1.0 / LARGEST..=LARGEST).contains(&point.x)
                    && (-LARGEST..=LARGEST).contains(&point.y)
                    && (0.0..=LARGEST).contains(&point.error)
            };
            if let Some(point) = points.iter().position(|point| !drawn(point)) {
                return Err(PictureError::CurvePoint { curve, point });
            }
        }
        Ok(())
    }

    /// The least and the largest of the points, with a little room.
    fn range(&self, of: impl Fn(&Point) -> (f64, f64), room: impl Fn(f64, f64) -> (f64, f64)) -> (f64, f64) {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let (least, most) = points.map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |all, (least, most)| {
            (all.0.min(least), all.1.max(most))
        });
        if least <= most { room(least, most) } else { (1.0, 2.0) }
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), PictureError> {
        self.check()?;
        area.fill(&WHITE).map_err(backend)?;
        let x = self.range(|point| (point.x, point.x), |least, most| (least / 1.2, most * 1.2));
        let y = self.range(
            |point| (point.y - point.error, point.y + point.error),
            |least, most| {
                // Also where 0.5 is lost in rounding.
                let room = ((most - least) * 0.05).max(0.5).max(1e-6 * most.abs());
                (least - room, most + room)
            },
        );
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, 22))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(64)
            .build_cartesian_2d((x.0..x.1).log_scale(), y.0..y.1)
            .map_err(backend)?;
        chart
            .configure_mesh()
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .axis_desc_style((FONT, 16))
            .label_style((FONT, 14))
            .light_line_style(TRANSPARENT)
            .draw()
            .map_err(backend)?;
        for (number, curve) in self.curves.iter().enumerate() {
            let colour = Palette99::pick(number).to_rgba();
            let line = curve.points.iter().map(|point| (point.x, point.y));
            chart
                .draw_series(LineSeries::new(line, colour.stroke_width(2)))
                .map_err(backend)?
                .label(&curve.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
            let bars = curve.points.iter().map(|point| {
                let (low, high) = (point.y - point.error, point.y + point.error);
                ErrorBar::new_vertical(point.x, low, point.y, high, colour.filled(), 8)
            });
            chart.draw_series(bars).map_err(backend)?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .label_font((FONT, 14))
            .background_style(WHITE.mix(0.8))
            .draw()
            .map_err(backend)?;
        area.present().map_err(backend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::drawn::{Element, elements};

    fn drawing_of(points: &[(f64, f64, f64)]) -> String {
        let points = points.iter().map(|&(x, y, error)| Point { x, y, error }).collect();
        chart(vec![Curve { name: "c".into(), points }]).svg().unwrap()
    }

    /// Pixels of the points of a single curve, the only line of its width that is not black.
    fn pixels(points: &[(f64, f64, f64)]) -> Vec<[f64; 2]> {
        let svg = drawing_of(points);
        let lines = elements(&svg, "polyline");
        let is_curve =
            |line: &&Element<'_>| line.get("stroke") != "#000000" && line.get("stroke-width") == "2";
        let curve = lines.iter().find(is_curve).unwrap();
        let numbers: Vec<f64> =
            curve.get("points").split([' ', ',']).filter_map(|x| x.parse().ok()).collect();
        numbers.chunks_exact(2).map(|at| [at[0], at[1]]).collect()
    }

    /// Across by the logarithm, with a fifth more at both ends; down with a twentieth of the range, but half a unit at least.
    #[test]
    fn axes_leave_room_around_the_points() {
        let near = |a: f64, b: f64| (a - b).abs() <= 2.0; // each is rounded to a pixel
        // From 80 on, 864 pixels wide.
        let found = pixels(&[(1.0, 0.0, 0.0), (10.0, 50.0, 0.0), (100.0, 100.0, 0.0)]);
        let share = |x: f64| (x * 1.2).ln() / (100.0f64 * 1.44).ln();
        for (at, x) in found.iter().zip([1.0, 10.0, 100.0]) {
            assert!(near(at[0], 80.0 + 864.0 * share(x)), "{found:?}");
        }
        let down = |found: &[[f64; 2]]| found[0][1] - found[found.len() - 1][1];
        let height = down(&found) * 1.1; // of the plot: the range and a twentieth at both ends
        assert!(near(down(&found), 2.0 * (found[0][1] - found[1][1])));
        assert!((400.0..520.0).contains(&height), "{height}");
        // The room below the lowest point is that above the highest.
        assert!(near(found[0][1] + 0.05 * height / 1.1, 600.0 - 16.0 - 48.0), "{found:?}");
        for (low, high, errors, room) in [
            (0.0, 4.0, [0.0, 0.0], 0.5),
            (80.0, 85.0, [0.0, 0.0], 0.5),
            (0.0, 60.0, [20.0, 20.0], 5.0),
            (-300.0, 100.0, [0.0, 0.0], 20.0),
        ] {
            let found = pixels(&[(1.0, low, errors[0]), (2.0, high, errors[1])]);
            let range = high - low + errors[0] + errors[1];
            let expected = height * (high - low) / (range + 2.0 * room);
            assert!(near(down(&found), expected), "{low} to {high}: {found:?}, {expected}");
        }
    }

    /// Half a unit is nothing beside large numbers: a millionth of them is left.
    #[test]
    fn large_numbers_have_room_around_them() {
        let found = pixels(&[(1.0, 1e9, 0.0), (2.0, 1e9 + 1.0, 0.0), (3.0, 1e9 + 100.0, 0.0)]);
        let [low, next, high] = [found[0][1], found[1][1], found[2][1]];
        assert!((low - next).abs() <= 1.0 && low - high > 10.0 && low - high < 40.0, "{found:?}");
    }

    /// A piece of line before each name.
    #[test]
    fn the_legend_shows_the_lines_of_curves() {
        let svg = drawing_of(&[(1.0, 0.0, 0.0), (10.0, 50.0, 0.0)]);
        let lines = elements(&svg, "polyline");
        let is_short = |line: &&Element<'_>| {
            let numbers: Vec<f64> =
                line.get("points").split([' ', ',']).filter_map(|x| x.parse().ok()).collect();
            matches!(numbers[..], [x, y, end, level] if end - x == 20.0 && y == level)
        };
        assert_eq!(lines.iter().filter(is_short).count(), 1, "{svg}");
    }

    #[test]
    fn errors_are_as_long_as_they_are() {
        let points = [(1.0, 0.0, 0.0), (2.0, 50.0, 25.0), (4.0, 100.0, 0.0)];
        let (svg, at) = (drawing_of(&points), pixels(&points));
        let ([x, y], quarter) = (at[1], (at[0][1] - at[2][1]) / 4.0);
        // A vertical line through the point, a quarter of the range up and down; each end is rounded to a pixel.
        let is_bar = |line: &Element<'_>| {
            let [x1, y1, x2, y2] = line.numbers(["x1", "y1", "x2", "y2"]);
            let expected = [x, y - quarter, x, y + quarter];
            [x1, y1.min(y2), x2, y1.max(y2)].iter().zip(expected).all(|(a, b)| (a - b).abs() <= 2.0)
        };
        assert!(elements(&svg, "line").iter().any(is_bar), "{svg}");
    }

    fn chart(curves: Vec<Curve>) -> LineChart {
        let [x_label, y_label] = ["capacity", "accuracy"].map(str::to_owned);
        LineChart { title: "a & b".into(), x_label, y_label, curves }
    }

    #[test]
    fn both_forms_show_the_curves() {
        let points = vec![Point { x: 4.0, y: 80.0, error: 1.0 }, Point { x: 16.0, y: 85.0, error: 0.0 }];
        let shown = chart(vec![Curve { name: "2 axes".into(), points }]);
        let svg = shown.svg().unwrap();
        assert!(svg.contains("2 axes") && svg.contains("capacity") && svg.contains("a &amp; b"));
        let png = shown.png().unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        // Text and lines: many pixels are not white.
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert!(pixels.iter().filter(|&&byte| byte < 128).count() > 1000);
    }

    #[test]
    fn nothing_and_a_single_point_are_no_panic() {
        chart(Vec::new()).png().unwrap();
        let alone = Curve { name: "one".into(), points: vec![Point { x: 1.0, y: 50.0, error: 0.0 }] };
        assert!(chart(vec![alone]).svg().is_ok());
    }
    #[test]
    fn extreme_points_are_drawn_and_others_refused() {
        let with = |x, y, error| {
            let near = Point { x: 1.0, y: 1.0, error: 0.0 };
            chart(vec![Curve { name: String::new(), points: vec![near, Point { x, y, error }] }]).svg()
        };
        for (x, y) in [(1e-30, -1e30), (1e30, 1e30), (1.0, 1e30), (1.0 + 1e-15, 1.0)] {
            with(x, y, 0.0).unwrap();
            with(x, y, 1e30).unwrap();
        }
        chart(vec![Curve { name: String::new(), points: vec![Point { x: 1e30, y: -1e30, error: 0.0 }] }])
            .svg()
            .unwrap();
        let refused = Err(PictureError::CurvePoint { curve: 0, point: 1 });
        for (x, y, error) in [
            (0.0, 1.0, 0.0),
            (-1.0, 1.0, 0.0),
            (f64::INFINITY, 1.0, 0.0),
            (1.0, f64::NAN, 0.0),
            (1.0, 2e30, 0.0),
            (1.0, 1.0, -1.0),
            (1.0, 1.0, f64::NAN),
        ] {
            assert_eq!(with(x, y, error), refused, "{x} {y} {error}");
        }
    }
}
