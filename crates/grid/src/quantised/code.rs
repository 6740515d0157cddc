//! The two widths of a code.

use core::fmt::Debug;

/// Bytes of a row: the lanes of a tile, or two parameters.
pub(super) const ROW: usize = 8;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
}

/// How [`crate::QuantisedHistograms`] keeps a logarithm: `u8` or `u16`.
pub trait Code: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// What scores are added up in: `u32` for `u8`, `u64` for `u16`. Scratch is made of these.
    type Sum: Copy + Ord + Default + Debug + Send + Sync + 'static;
    /// The largest code.
    const MOST: u32;
    /// Windows of a tile.
    const LANES: usize;

    /// What a file calls it.
    #[doc(hidden)]
    const KIND: crate::Kind;
    /// What weights add up to at most.
    #[doc(hidden)]
    const WEIGHTS: u64;
    /// The power of two that is not below it.
    #[doc(hidden)]
    const BITS: i32;
    /// Sums of a tile.
    #[doc(hidden)]
    type Lanes: AsRef<[Self::Sum]> + AsMut<[Self::Sum]> + Copy;
    /// Sums of zero.
    #[doc(hidden)]
    fn lanes() -> Self::Lanes;
    /// `sums += weight · codes`, lane by lane.
    #[doc(hidden)]
    fn add(sums: &mut Self::Lanes, weight: u32, codes: &[u8; ROW]);
    /// Writes one code.
    #[doc(hidden)]
    fn put(row: &mut [u8; ROW], lane: usize, code: u32);
    /// The nearest number.
    #[doc(hidden)]
    fn to_f32(sum: Self::Sum) -> f32;
    /// The last sum that is not above a number, as far as there is one.
    #[doc(hidden)]
    fn limit(most: f32) -> Self::Sum;
    /// How far a sum is above the least, if that is within a limit.
    #[doc(hidden)]
    fn above(sum: Self::Sum, least: Self::Sum, limit: Self::Sum) -> Option<f32>;
}

macro_rules! code {
    ($code:ident, $kind:ident, $lanes:expr, $sum:ident, $weights:expr, $bits:expr) => {
        impl Code for $code {
            type Sum = $sum;
            type Lanes = [$sum; $lanes];
            const MOST: u32 = $code::MAX as u32;
            const LANES: usize = $lanes;
            const KIND: crate::Kind = crate::Kind::$kind;
            const WEIGHTS: u64 = $weights;
            const BITS: i32 = $bits;

            #[inline(always)]
            fn lanes() -> Self::Lanes {
                [0; $lanes]
            }
            #[inline(always)]
            fn add(sums: &mut Self::Lanes, weight: u32, codes: &[u8; ROW]) {
                for (sum, &code) in sums.iter_mut().zip(codes.as_chunks().0) {
                    *sum += $sum::from(weight) * $sum::from($code::from_le_bytes(code));
                }
            }
            fn put(row: &mut [u8; ROW], lane: usize, code: u32) {
                if let Some(bytes) = row.as_chunks_mut().0.get_mut(lane) {
                    *bytes = (code as $code).to_le_bytes();
                }
            }
            #[inline(always)]
            fn to_f32(sum: $sum) -> f32 {
                sum as f32
            }
            #[inline(always)]
            fn limit(most: f32) -> $sum {
                most as $sum
            }
            #[inline(always)]
            fn above(sum: $sum, least: $sum, limit: $sum) -> Option<f32> {
                let above = sum - least;
                (above <= limit).then_some(above as f32)
            }
        }
    };
}
// Weights times the largest code: 2^24 · 255 < 2^32, and 2^32 · 65535 < 2^48. A weight is a u32.
code!(u8, U8, 8, u32, 1 << 24, 24);
code!(u16, U16, 4, u64, u32::MAX as u64, 32);
