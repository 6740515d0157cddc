//! What maps of points have in common: marks of documents, and their colours.

use plotters::{coord::Shift, prelude::*};

/// Labels that a legend names, the most frequent first.
pub(super) const NAMED: usize = 24;
/// Colours of labels, those of the page on light paper: first eight that stay apart for colour-blind readers (Okabe and Ito 2008).
pub(super) const COLOURS: [RGBColor; 24] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x8f, 0x7a, 0x00),
    RGBColor(0x5c, 0x5c, 0x5c),
    RGBColor(0x6a, 0x3d, 0x9a),
    RGBColor(0xb2, 0x18, 0x2b),
    RGBColor(0x1a, 0x4d, 0x1a),
    RGBColor(0x8c, 0x51, 0x0a),
    RGBColor(0x00, 0xa6, 0xa6),
    RGBColor(0xf0, 0x32, 0xe6),
    RGBColor(0x0a, 0x24, 0x63),
    RGBColor(0x9a, 0xcd, 0x32),
    RGBColor(0xb7, 0x9c, 0xe8),
    RGBColor(0xff, 0xd9, 0x2f),
    RGBColor(0xff, 0xa0, 0x7a),
    RGBColor(0x7f, 0xe0, 0xc0),
    RGBColor(0x6b, 0x0f, 0x1a),
    RGBColor(0x4b, 0x5f, 0xe0),
    RGBColor(0xa0, 0x1a, 0x7d),
    RGBColor(0xbd, 0xbd, 0xbd),
];
pub(super) const UNLABELLED: RGBColor = RGBColor(0x7f, 0x8a, 0x99);
pub(super) const INK: RGBColor = RGBColor(0x1c, 0x1b, 0x19);

/// Pixels by a factor: a bitmap for print has several times those of a drawing.
#[derive(Clone, Copy)]
pub(super) struct Scale(pub(super) u32);

impl Scale {
    pub(super) fn pixels(self, pixels: f64) -> i32 {
        (pixels * f64::from(self.0)).round() as i32
    }
}

/// A circle, a square, a triangle or a diamond of about the same area, edged in white.
pub(super) fn draw_mark<B: DrawingBackend>(
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

/// The beginning of a text.
pub(super) fn shortened(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars().take(characters - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_page() {
        let script = include_str!("../page/paint.js");
        assert!(script.contains("(label + Math.floor(label / 8)) % 4"), "and their shapes");
        let list = script.split_once("light: [").unwrap().1.split_once(']').unwrap().0;
        let of_page: Vec<_> = list.split('"').filter(|text| text.starts_with('#')).collect();
        let own = COLOURS.map(|colour| format!("#{:02x}{:02x}{:02x}", colour.0, colour.1, colour.2));
        assert_eq!(of_page, own);
    }

    /// The numbers of an attribute.
    fn numbers(element: &str, name: &str) -> Vec<f64> {
        let value = element.split_once(&format!(" {name}=\"")).unwrap().1.split_once('"').unwrap().0;
        value.split([',', ' ']).filter(|text| !text.is_empty()).map(|text| text.parse().unwrap()).collect()
    }

    /// Middle and area of every form that is drawn, with its colour.
    fn forms(label: Option<u32>, radius: f64, scale: u32) -> Vec<([f64; 2], f64, String)> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, (2000, 2000)).into_drawing_area();
            draw_mark(&area, [200.0, 300.0], label, radius, Scale(scale)).unwrap();
            area.present().unwrap();
        }
        let colour = |element: &str| element.split_once("fill=\"").unwrap().1[..7].to_lowercase();
        let drawn = svg.lines().filter(|line| line.contains("<circle") || line.contains("<polygon"));
        drawn
            .map(|element| {
                if element.contains("<circle") {
                    let [x, y, r] = ["cx", "cy", "r"].map(|name| numbers(element, name)[0]);
                    return ([x, y], std::f64::consts::PI * r * r, colour(element));
                }
                let points = numbers(element, "points");
                let (points, _) = points.as_chunks::<2>();
                let (mut twice, mut middle) = (0.0, [0.0; 2]);
                for (place, [x, y]) in points.iter().enumerate() {
                    let [u, v] = points[(place + 1) % points.len()];
                    let cross = x * v - u * y;
                    twice += cross;
                    middle = [middle[0] + (x + u) * cross, middle[1] + (y + v) * cross];
                }
                (middle.map(|sum| sum / (3.0 * twice)), twice.abs() / 2.0, colour(element))
            })
            .collect()
    }

    #[test]
    fn marks_are_around_their_place_in_their_colour_and_edged() {
        let hex = |colour: RGBColor| format!("#{:02x}{:02x}{:02x}", colour.0, colour.1, colour.2);
        for (radius, scale) in [(60.0, 1), (60.0, 2), (150.0, 2)] {
            for label in (0..100).map(Some).chain([None]) {
                let found = forms(label, radius, scale);
                let colour = label.map_or(UNLABELLED, |label| COLOURS[label as usize % 24]);
                let [(_, white, edge), (middle, area, own)] = &found[..] else { panic!("{found:?}") };
                assert_eq!((edge, own), (&hex(WHITE), &hex(colour)), "{label:?}");
                let (radius, scale) = (radius * f64::from(scale), f64::from(scale));
                // About the area of a circle, a pixel more around it, and around the place but for that of a triangle, which
                // stands on it, and for the roundings to pixels.
                let circle = std::f64::consts::PI * radius * radius;
                assert!((area / circle - 1.0).abs() < 0.15, "{label:?}: {area} {circle}");
                let wider = (radius + 0.8 * scale).powi(2) / radius.powi(2);
                assert!((white / area / wider - 1.0).abs() < 0.04, "{label:?}: {white} {area}");
                let [x, y] = [middle[0] - 200.0 * scale, middle[1] - 300.0 * scale];
                assert!(x.abs() < 1.0 && y.abs() < 0.08 * radius, "{label:?}: {middle:?}");
            }
        }
    }

    #[test]
    fn labels_of_one_colour_differ_in_shape() {
        let shape = |label| forms(Some(label), 60.0, 1).last().unwrap().1.round();
        for label in 0..24 {
            let shapes: std::collections::BTreeSet<i64> =
                (0..4).map(|round| shape(label + 24 * round) as i64).collect();
            assert_eq!(shapes.len(), 4, "{label}");
        }
    }

    /// Circle, square, triangle, diamond, and from one eight of labels to the next one further; triangles stand on a side.
    #[test]
    fn shapes_follow_from_labels() {
        for label in 0..40_u32 {
            let mut svg = String::new();
            {
                let area = SVGBackend::with_string(&mut svg, (600, 600)).into_drawing_area();
                draw_mark(&area, [200.0, 300.0], Some(label), 100.0, Scale(1)).unwrap();
                area.present().unwrap();
            }
            let last =
                svg.lines().rfind(|line| line.contains("<circle") || line.contains("<polygon")).unwrap();
            let expected: &[f64] = match (label + label / 8) % 4 {
                0 => &[],
                1 => &[112.0, 212.0, 288.0, 212.0, 288.0, 388.0, 112.0, 388.0],
                2 => &[200.0, 160.0, 325.0, 380.0, 75.0, 380.0],
                _ => &[200.0, 170.0, 330.0, 300.0, 200.0, 430.0, 70.0, 300.0],
            };
            let found = if last.contains("<circle") { Vec::new() } else { numbers(last, "points") };
            assert_eq!(found, expected, "{label}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shortened("seven", 5), "seven");
        assert_eq!(shortened("eleven", 5), "elev…");
        assert_eq!(shortened("äöüß", 3), "äö…");
    }
}
