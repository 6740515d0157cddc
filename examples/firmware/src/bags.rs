//! Documents of three kinds, which models are fitted to on the device.

use countgrid_counts::{BagsError, Csr};

pub(crate) const FEATURES: usize = 16;
pub(crate) const BAGS: usize = 9;

/// Three documents of each kind; the kinds have words 0 to 5, 5 to 10 and 10 to 15.
pub(crate) fn bags() -> Result<Csr<'static, u16>, BagsError> {
    static OFFSETS: [usize; BAGS + 1] = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36];
    static WORDS: [u32; 36] = [
        0, 1, 2, 5, 0, 2, 3, 4, 1, 3, 4, 5, // the first kind
        5, 6, 7, 10, 6, 7, 8, 9, 5, 8, 9, 10, // the second
        10, 11, 12, 15, 11, 12, 13, 14, 10, 13, 14, 15, // the third
    ];
    static COUNTS: [u16; 36] = [
        4, 3, 2, 1, 3, 5, 1, 2, 2, 4, 3, 1, //
        1, 4, 3, 1, 5, 2, 2, 3, 1, 4, 3, 2, //
        2, 3, 4, 1, 4, 1, 3, 2, 1, 2, 5, 3,
    ];
    Csr::new(FEATURES, &OFFSETS, &WORDS, &COUNTS)
}
