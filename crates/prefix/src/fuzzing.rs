//! Bodies of the fuzz targets, here so that a stable test can replay their inputs.

use core::array::from_fn;
use core::num::Wrapping;

use countgrid_torus::{Torus, Windows};

use crate::{BoxSums, adjoint_window_sums, inclusive_in_place, scratch_len, window_sums as sums};

/// The most cells of a table; the tables live on the stack.
const CELLS: usize = 1024;
type Byte = Wrapping<u8>;

/// A shape, a window and two tables from raw bytes; asserts the definition, adjointness and mirror of
/// window sums, and box sums. The first byte chooses the number of axes. Arithmetic is modulo 256, where
/// the identities are exact.
///
/// # Panics
/// When they do not hold.
pub fn window_sums(data: &[u8]) {
    let Some((&axes, data)) = data.split_first() else { return };
    match axes % 4 {
        0 => agree::<1>(data),
        1 => agree::<2>(data),
        2 => agree::<3>(data),
        _ => agree::<5>(data),
    }
}

/// Extents and sides are a byte each, in 1 ..= 64; then come the values, over and over again.
fn agree<const D: usize>(data: &[u8]) {
    let Some((shape, values)) = data.split_at_checked(2 * D) else { return };
    let extents: [usize; D] = from_fn(|d| usize::from(shape[d]) % 64 + 1);
    let sides: [usize; D] = from_fn(|d| usize::from(shape[D + d]) % extents[d] + 1);
    let Ok(torus) = Torus::new(extents) else { return };
    let Ok(windows) = Windows::new(torus, sides) else { return };
    let cells = torus.cells();
    if cells > CELLS || values.is_empty() {
        return;
    }
    let value = |i: usize| Wrapping(values[i % values.len()].wrapping_mul(i as u8 | 1));
    let (f, g): ([Byte; CELLS], [Byte; CELLS]) = (from_fn(value), from_fn(|i| value(i + 7 * cells)));
    let (f, g) = (&f[..cells], &g[..cells]);
    let mut scratch = [Wrapping(171); 5 * CELLS]; // a plane, and two unrolled rings of less than two each
    let scratch = &mut scratch[..scratch_len(&windows)];
    let (mut sums_f, mut spread_g, mut other) = ([f[0]; CELLS], [f[0]; CELLS], [f[0]; CELLS]);
    let (sums_f, spread_g, other) = (&mut sums_f[..cells], &mut spread_g[..cells], &mut other[..cells]);
    assert_eq!(sums(&windows, f, sums_f, scratch), Ok(()));
    assert_eq!(adjoint_window_sums(&windows, g, spread_g, scratch), Ok(()));

    for k in 0..cells.min(64) {
        assert_eq!(sums_f[k], windows.cells_of(k).map(|i| f[i]).sum());
        assert_eq!(spread_g[k], windows.starts_over(k).map(|i| g[i]).sum());
    }
    let dot = |f: &[Byte], g: &[Byte]| f.iter().zip(g).map(|(f, g)| f * g).sum::<Byte>();
    assert_eq!(dot(g, sums_f), dot(spread_g, f));
    let mut reversed = [f[0]; CELLS];
    let reversed = &mut reversed[..cells];
    reversed.iter_mut().zip(g.iter().rev()).for_each(|(to, from)| *to = *from);
    assert_eq!(sums(&windows, reversed, other, scratch), Ok(()));
    assert!(other.iter().rev().eq(spread_g.iter()));

    other.copy_from_slice(f);
    assert_eq!(inclusive_in_place(&torus, other), Ok(()));
    let Ok(boxes) = BoxSums::new(torus, other) else { return };
    for (start, &sum) in sums_f.iter().enumerate() {
        let low = torus.coords_of(start);
        let high: [usize; D] = from_fn(|d| low[d] + sides[d]);
        if (0..D).all(|d| high[d] <= extents[d]) {
            assert_eq!(boxes.sum(low, high), sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::window_sums;

    /// On inputs that reach every kernel.
    #[test]
    fn seeds() {
        let seeds: [&[u8]; 10] = [
            b"",
            b"\x00\x3f",
            b"\x00\x3f\x18 sixty-four cells, side 25: doubling",
            b"\x00\x3f\x3f the whole line of sixty-four, three doublings of doublings",
            b"\x00\x27\x04 a line of forty, side 5: chunks and a seam",
            b"\x00\x06\x06 a line of seven, one cell at a time",
            b"\x01\x1f\x1f\x04\x0a 32 x 32, sides 5 and 11: both kinds in one table",
            b"\x02\x06\x07\x08\x02\x00\x07 7 x 8 x 9, sides 3, 1 and 8",
            b"\x03\x02\x03\x01\x03\x02\x01\x02\x00\x03\x01 five axes",
            b"\x02\x67\x05\x03\x30\x03\x06\x02\x01\x80\x01\xff\x07", // a long side, its rings unrolled
        ];
        seeds.into_iter().for_each(window_sums);
    }
}
