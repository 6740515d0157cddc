//! The body of the fuzz target on inputs that once reached, or were made to reach, a corner.
#![cfg(feature = "fuzzing")]

use countgrid_torus::fuzzing::torus;

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
