//! Bodies of the fuzz targets, here so that a stable test can replay their inputs.

use core::array::from_fn;

use crate::{Torus, Windows};

/// Shapes, cells and offsets from raw bytes; asserts that conversions, translation, distance and mirror
/// agree. The first byte chooses the number of axes.
///
/// # Panics
/// When they do not.
pub fn torus(data: &[u8]) {
    let Some((&axes, data)) = data.split_first() else { return };
    let mut words = Words(data);
    match axes % 4 {
        0 => agree::<1>(&mut words),
        1 => agree::<2>(&mut words),
        2 => agree::<3>(&mut words),
        _ => agree::<5>(&mut words),
    }
}

/// Numbers from bytes: the first byte of each says how large it may be; zeros after the end.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }
    fn word(&mut self) -> u64 {
        match self.byte() {
            small @ 0..200 => u64::from(small % 20),
            200..240 => u64::from_le_bytes(from_fn(|_| self.byte())),
            edge => [1 << 31, 1 << 32, 1 << 62, 1 << 63, u64::MAX][usize::from(edge) % 5]
                .wrapping_add(u64::from(self.byte()))
                .wrapping_sub(128),
        }
    }
}

fn agree<const D: usize>(words: &mut Words<'_>) {
    let extents: [usize; D] = from_fn(|_| words.word() as usize);
    let sides: [usize; D] = from_fn(|_| words.word() as usize);
    let offset: [isize; D] = from_fn(|_| words.word() as isize);
    let (a, b) = (words.word() as usize, words.word() as usize);
    let cells = extents.iter().try_fold(1u128, |n, &e| n.checked_mul(e as u128));
    let Ok(torus) = Torus::new(extents) else {
        assert!(extents.contains(&0) || cells.is_none_or(|n| n > isize::MAX as u128));
        return;
    };
    assert_eq!(cells, Some(torus.cells() as u128));

    let coords: [usize; D] = from_fn(|d| (offset[d] as i128).rem_euclid(extents[d] as i128) as usize);
    assert_eq!(torus.coords_of(torus.cell_at(offset)), coords);
    assert_eq!(torus.cell_of(torus.coords_of(a)), a % torus.cells());
    let (moved_a, moved_b) = (torus.translate(a, offset), torus.translate(b, offset));
    assert_eq!(torus.distance_squared(moved_a, moved_b), torus.distance_squared(a, b));
    assert_eq!(torus.distance_squared(b, a), torus.distance_squared(a, b));
    assert!(torus.distance(a, b).is_finite());
    assert!(torus.neighbours(a).all(|next| torus.distance_squared(a, next) == 1));

    let Ok(windows) = Windows::new(torus, sides) else {
        assert!((0..D).any(|d| sides[d] == 0 || sides[d] > extents[d]));
        return;
    };
    assert_eq!(windows.contains(a, b), windows.contains(moved_a, moved_b));
    assert_eq!(windows.cells_of(a).len(), windows.volume());
    for (cell, start) in windows.cells_of(a).zip(windows.starts_over(b)).take(4096) {
        assert!(windows.contains(a, cell) && windows.contains(start, b));
    }
    if torus.cells() <= 4096 {
        let held = (0..torus.cells()).filter(|&cell| windows.contains(a, cell)).count();
        assert_eq!(held, windows.volume());
    }
}

#[cfg(test)]
mod tests {
    use super::torus;

    /// On inputs made to reach a corner each.
    #[test]
    fn seeds() {
        let seeds: [&[u8]; 8] = [
            b"",
            b"\x00",
            // One axis of 7, side 3, offset -1, cells 5 and 12.
            b"\x00\x07\x03\xd0\xff\xff\xff\xff\xff\xff\xff\xff\x05\x0c",
            // 4 x 5, a window of 2 x 5.
            b"\x01\x04\x05\x02\x05\x09\x0a\x03\x11",
            // An axis of isize::MAX cells and offsets at both ends of isize.
            b"\x01\x01\xf3\x7f\x01\x02\xf3\x80\xf3\x7f\xf4\x80\xf4\x7f",
            // Too many cells: 2^31 in each of three directions.
            b"\x02\xf0\x80\xf0\x80\xf0\x80",
            // Five axes of two, all windows the whole torus.
            b"\x03\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x01\x01\x01\x01\x01\x1f\x03",
            // A window that does not fit.
            b"\x02\x03\x03\x03\x03\x04\x03",
        ];
        seeds.into_iter().for_each(torus);
    }
}
