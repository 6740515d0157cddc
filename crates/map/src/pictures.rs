//! Charts, maps of points and pages as pictures for papers, SVG or PNG. Feature `pictures`.
//!
//! A picture is plain data, drawn by [`LineChart::svg`], [`LineChart::png`], [`ScatterPlot::svg`] or [`ScatterPlot::png`]; a [`Sheet`] is a page as a picture. The
//! same data give the same bytes on every machine: the font comes with the crate.
//!
//! ```
//! use countgrid_map::pictures::{Curve, LineChart, Point};
//!
//! let points = vec![Point { x: 4.0, y: 80.0, error: 1.0 }, Point { x: 16.0, y: 85.0, error: 0.5 }];
//! let chart = LineChart {
//!     title: "abstracts".into(),
//!     x_label: "capacity".into(),
//!     y_label: "accuracy in %".into(),
//!     curves: vec![Curve { name: "2 axes".into(), points }],
//! };
//! assert!(chart.svg()?.starts_with("<svg"));
//! assert!(chart.png()?.starts_with(b"\x89PNG"));
//! # Ok::<(), countgrid_map::pictures::PictureError>(())
//! ```

mod chart;
#[cfg(test)]
mod drawn;
mod error;
mod marks;
mod scatter;
mod sheet;

use std::{fmt, sync::Once};

use plotters::{
    coord::Shift,
    prelude::*,
    style::{FontStyle, register_font},
};

pub use self::{
    chart::{Curve, LineChart, Point},
    error::PictureError,
    scatter::ScatterPlot,
    sheet::Sheet,
};

/// The font of both forms; viewers of the SVG without it take another.
const FONT: &str = "Ubuntu";

/// Makes the font known.
fn register() {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        // Refused only for data that is not a font.
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
}

/// What is drawn as an SVG document.
fn drawing(
    size: (u32, u32),
    draw: impl FnOnce(DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), PictureError>,
) -> Result<String, PictureError> {
    register();
    let mut text = String::new();
    draw(SVGBackend::with_string(&mut text, size).into_drawing_area())?;
    Ok(if text.chars().all(is_xml) {
        text
    } else {
        text.chars().map(|c| if is_xml(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
    })
}

/// Whether a character may be in an XML document, by its production 2, `Char`. Others, such as U+0000, cannot be escaped
/// either.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// What is drawn as a PNG file.
fn bitmap(
    size: (u32, u32),
    draw: impl FnOnce(DrawingArea<BitMapBackend<'_>, Shift>) -> Result<(), PictureError>,
) -> Result<Vec<u8>, PictureError> {
    register();
    let mut pixels = vec![255; size.0 as usize * size.1 as usize * 3];
    draw(BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area())?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().map_err(backend)?.write_image_data(&pixels).map_err(backend)?;
    Ok(file)
}

/// An error of the libraries that draw and encode.
fn backend(error: impl fmt::Display) -> PictureError {
    PictureError::Backend { message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::{LineChart, ScatterPlot};

    #[test]
    fn characters_that_xml_does_not_have_are_replaced() {
        let title = "a\0b\u{1b}c\u{ffff}d & é".to_owned();
        let chart = LineChart { title: title.clone(), ..LineChart::default() }.svg().unwrap();
        let scatter = ScatterPlot { title, sides: [1, 1], ..ScatterPlot::default() }.svg().unwrap();
        for svg in [chart, scatter] {
            assert!(svg.contains("a\u{fffd}b\u{fffd}c\u{fffd}d &amp; é"), "{svg}");
            assert!(svg.chars().all(|c| c >= ' ' && c != '\u{ffff}' || c == '\n' || c == '\r' || c == '\t'));
        }
    }

    #[test]
    fn marks_are_as_high_as_they_are_wide() {
        let points = (0..4).map(|label| ([1.0 + f64::from(label), 2.0], Some(label))).collect();
        let labels = ["circle", "square", "triangle", "diamond"].map(String::from).to_vec();
        let svg = ScatterPlot { sides: [5, 5], points, labels, ..ScatterPlot::default() }.svg().unwrap();
        let polygons = svg.split("<polygon").skip(1).map(|rest| {
            let points = rest.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
            let numbers: Vec<i32> = points.split([' ', ',']).filter_map(|x| x.parse().ok()).collect();
            [0, 1].map(|axis| {
                let along = || numbers.iter().skip(axis).step_by(2);
                along().max().unwrap() - along().min().unwrap()
            })
        });
        let sizes: Vec<[i32; 2]> = polygons.collect();
        // Of three labels a mark and the one of the legend, each with its white edge.
        assert_eq!(sizes.len(), 12);
        assert!(sizes.iter().all(|[wide, high]| *high > 6 && (wide - high).abs() <= 2), "{sizes:?}");
    }
}
