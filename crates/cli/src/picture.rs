//! Curves, and points of a plane, as a picture, SVG or PNG.

mod scatter;

use std::{io, sync::Once};

use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    coord::Shift,
    prelude::*,
    style::{FontStyle, register_font},
};

pub(crate) use scatter::Scatter;

const SIZE: (u32, u32) = (960, 600);
/// The font of both forms; viewers of the SVG without it take another.
const FONT: &str = "Ubuntu";

/// Makes the font known.
fn register() {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        // Refused only for what is no font.
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
}

/// What is drawn as a PNG file.
fn bitmap(
    size: (u32, u32),
    draw: impl FnOnce(DrawingArea<BitMapBackend<'_>, Shift>) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut pixels = vec![255; size.0 as usize * size.1 as usize * 3];
    draw(BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area())?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(file)
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Its standard error; 0 if there is none.
    pub(crate) error: f64,
}

/// Points that belong together, in their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// Curves over a logarithmic axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Picture {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) curves: Vec<Curve>,
}

impl Picture {
    pub(crate) fn svg(&self) -> io::Result<String> {
        let mut text = String::new();
        self.draw(SVGBackend::with_string(&mut text, SIZE).into_drawing_area())?;
        Ok(text)
    }

    pub(crate) fn png(&self) -> io::Result<Vec<u8>> {
        bitmap(SIZE, |area| self.draw(area))
    }

    /// The least and the largest of the points, with a little room.
    fn range(&self, of: impl Fn(&Point) -> (f64, f64), room: impl Fn(f64, f64) -> (f64, f64)) -> (f64, f64) {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let (least, most) = points.map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |all, (least, most)| {
            (all.0.min(least), all.1.max(most))
        });
        if least.is_finite() && most.is_finite() { room(least, most) } else { (1.0, 2.0) }
    }

    fn draw<B: DrawingBackend>(&self, area: DrawingArea<B, Shift>) -> io::Result<()> {
        register();
        let failed = |error: String| io::Error::other(error);
        let drawing_error = |error: DrawingAreaErrorKind<B::ErrorType>| failed(error.to_string());
        area.fill(&WHITE).map_err(drawing_error)?;
        let x = self.range(|point| (point.x, point.x), |least, most| (least / 1.2, most * 1.2));
        let y = self.range(
            |point| (point.y - point.error, point.y + point.error),
            |least, most| {
                let room = ((most - least) * 0.05).max(0.5);
                (least - room, most + room)
            },
        );
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, (FONT, 22))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(64)
            .build_cartesian_2d((x.0..x.1).log_scale(), y.0..y.1)
            .map_err(drawing_error)?;
        chart
            .configure_mesh()
            .x_desc(&self.x)
            .y_desc(&self.y)
            .axis_desc_style((FONT, 16))
            .label_style((FONT, 14))
            .light_line_style(TRANSPARENT)
            .draw()
            .map_err(drawing_error)?;
        for (number, curve) in self.curves.iter().enumerate() {
            let colour = Palette99::pick(number).to_rgba();
            let line = curve.points.iter().map(|point| (point.x, point.y));
            chart
                .draw_series(LineSeries::new(line, colour.stroke_width(2)))
                .map_err(drawing_error)?
                .label(&curve.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
            let bars = curve.points.iter().map(|point| {
                let (low, high) = (point.y - point.error, point.y + point.error);
                ErrorBar::new_vertical(point.x, low, point.y, high, colour.filled(), 8)
            });
            chart.draw_series(bars).map_err(drawing_error)?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .label_font((FONT, 14))
            .background_style(WHITE.mix(0.8))
            .draw()
            .map_err(drawing_error)?;
        area.present().map_err(drawing_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(curves: Vec<Curve>) -> Picture {
        Picture { title: "a & b".into(), x: "capacity".into(), y: "accuracy".into(), curves }
    }

    #[test]
    fn both_forms_show_the_curves() {
        let points = vec![Point { x: 4.0, y: 80.0, error: 1.0 }, Point { x: 16.0, y: 85.0, error: 0.0 }];
        let shown = picture(vec![Curve { name: "2 axes".into(), points }]);
        let svg = shown.svg().unwrap();
        assert!(svg.contains("2 axes") && svg.contains("capacity") && svg.contains("a &amp; b"));
        let png = shown.png().unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        // Text and lines: many pixels are not white.
        let mut reader = png::Decoder::new(io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert!(pixels.iter().filter(|&&byte| byte < 128).count() > 1000);
    }

    #[test]
    fn nothing_and_a_single_point_are_no_panic() {
        picture(Vec::new()).png().unwrap();
        let alone = Curve { name: "one".into(), points: vec![Point { x: 1.0, y: 50.0, error: 0.0 }] };
        assert!(picture(vec![alone]).svg().is_ok());
    }
}
