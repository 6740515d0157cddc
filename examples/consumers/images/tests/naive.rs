//! Against the definition, pixel by pixel.

use countgrid_prefix::Border;
use images::{contrast, smooth};

const EXTENTS: [usize; 2] = [9, 13];

/// Pixels without a pattern, from 0 to 255.
fn pixels() -> Vec<u8> {
    (0..(EXTENTS[0] * EXTENTS[1]) as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// The pixel that is seen at a place along an axis of `n`.
fn seen(at: isize, n: usize, border: Border) -> Option<usize> {
    let (last, n) = (n as isize - 1, n as isize);
    let at = match border {
        _ if (0..n).contains(&at) => at,
        Border::Wrap => at.rem_euclid(n),
        Border::Replicate => at.clamp(0, last),
        Border::Reflect if at < 0 => -1 - at, // the end is repeated; the radius is below the extent
        Border::Reflect => 2 * n - 1 - at,
        Border::Mirror if at < 0 => -at,
        Border::Mirror => 2 * last - at,
        _ => return None,
    };
    Some(at as usize)
}

/// What the window of a pixel sees; `None` for what lies beyond the image.
fn window(y: usize, x: usize, radius: usize, border: Border) -> impl Iterator<Item = Option<usize>> {
    let reach = -(radius as isize)..=radius as isize;
    reach.clone().flat_map(move |dy| reach.clone().map(move |dx| (dy, dx))).map(move |(dy, dx)| {
        let y = seen(y as isize + dy, EXTENTS[0], border)?;
        Some(y * EXTENTS[1] + seen(x as isize + dx, EXTENTS[1], border)?)
    })
}

fn places() -> impl Iterator<Item = (usize, usize)> {
    (0..EXTENTS[0]).flat_map(|y| (0..EXTENTS[1]).map(move |x| (y, x)))
}

#[test]
fn means_of_bytes_are_those_of_the_definition() {
    let image = pixels();
    let borders =
        [Border::Wrap, Border::Zero, Border::Replicate, Border::Reflect, Border::Mirror, Border::Clip];
    for border in borders {
        for radius in [0, 1, 4] {
            let means = smooth(&image, EXTENTS, radius, border).unwrap();
            for ((y, x), mean) in places().zip(means) {
                let cells: Vec<_> = window(y, x, radius, border).collect();
                let sum: u32 = cells.iter().flatten().map(|&i| u32::from(image[i])).sum();
                let count = match border {
                    Border::Clip => cells.iter().flatten().count(),
                    _ => cells.len(),
                } as u32;
                // To the nearest, halves up.
                let expected = (2 * sum + count) / (2 * count);
                assert_eq!(u32::from(mean), expected, "{border:?}, radius {radius}, row {y}, column {x}");
            }
        }
    }
}

#[test]
fn contrast_is_that_of_the_definition() {
    let image: Vec<f32> = pixels().into_iter().map(|x| f32::from(x) / 8.0).collect();
    for radius in [1, 3] {
        let found = contrast(&image, EXTENTS, radius).unwrap();
        for ((y, x), found) in places().zip(found) {
            let cells: Vec<f64> =
                window(y, x, radius, Border::Clip).flatten().map(|i| f64::from(image[i])).collect();
            let mean = cells.iter().sum::<f64>() / cells.len() as f64;
            let variance = cells.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / cells.len() as f64;
            let expected = (f64::from(image[y * EXTENTS[1] + x]) - mean) / variance.sqrt();
            // Mean (at most 32) and variance are rounded to f32, the difference, root and quotient too. Standard deviations
            // are above 2, so that is (32 / 2 + 4 |expected|) · 2^-24, with |expected| below 5.
            assert!((f64::from(found) - expected).abs() < 40.0 * 2_f64.powi(-24), "row {y}, column {x}");
        }
    }
    assert!(contrast(&[7.0; 20], [4, 5], 2).unwrap().iter().all(|&x| x == 0.0));
}

#[test]
fn an_image_of_another_length_is_refused() {
    let error = smooth(&[0; 10], [3, 4], 1, Border::Wrap).unwrap_err();
    assert!(error.to_string().contains("10") && error.to_string().contains("12"), "{error}");
}
