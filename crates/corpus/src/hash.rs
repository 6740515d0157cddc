//! A hash that is the same on every machine, unlike that of the standard library.

/// FNV-1a with the mixing step of MurmurHash3.
pub(crate) fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mix(hash)
}

/// A bijection after which every bit of the result depends on the bits of the number.
pub(crate) fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}
