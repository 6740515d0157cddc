use countgrid_math::Real;

mod sealed {
    pub trait Sealed {}
}

/// A count as it is stored: any primitive integer up to 64 bits, `f32` or `f64`.
///
/// ```
/// use countgrid_counts::Count;
/// assert_eq!(16_777_217_u64.to_real::<f32>(), 16_777_216.0); // to nearest, ties to even
/// assert!(!(-1_i32).is_valid() && !f64::NAN.is_valid());
/// assert_eq!(Count::checked_add(255_u8, 1), None);
/// ```
pub trait Count: sealed::Sealed + Copy + core::fmt::Debug + Send + Sync + 'static {
    /// No occurrence.
    const ZERO: Self;

    /// The count as a model's scalar, rounded to nearest. An `f64` beyond the range of `f32` becomes infinite.
    fn to_real<T: Real>(self) -> T;
    /// Whether a bag may hold it: finite and not negative.
    fn is_valid(self) -> bool;
    /// Whether it is zero, so that a bag need not list it.
    fn is_zero(self) -> bool;
    /// The sum, unless it leaves the range of the type.
    fn checked_add(self, other: Self) -> Option<Self>;
}

// `NumCast` makes one rounding: `u64 as f64 as f32` would make two. It never fails for these types.
macro_rules! integer {
    ($($t:ident)*) => {$(
        impl sealed::Sealed for $t {}
        impl Count for $t {
            const ZERO: Self = 0;

            #[inline]
            fn to_real<T: Real>(self) -> T {
                T::from(self).unwrap_or_else(T::infinity)
            }
            #[inline]
            #[allow(unused_comparisons, reason = "one body for signed and unsigned")]
            fn is_valid(self) -> bool {
                self >= 0
            }
            #[inline]
            fn is_zero(self) -> bool {
                self == 0
            }
            #[inline]
            fn checked_add(self, other: Self) -> Option<Self> {
                <$t>::checked_add(self, other)
            }
        }
    )*};
}
integer!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

macro_rules! float {
    ($($t:ident)*) => {$(
        impl sealed::Sealed for $t {}
        impl Count for $t {
            const ZERO: Self = 0.0;

            #[inline]
            fn to_real<T: Real>(self) -> T {
                T::from(self).unwrap_or_else(T::infinity)
            }
            #[inline]
            fn is_valid(self) -> bool {
                self >= 0.0 && self.is_finite()
            }
            #[inline]
            fn is_zero(self) -> bool {
                self == 0.0
            }
            #[inline]
            fn checked_add(self, other: Self) -> Option<Self> {
                Some(self + other).filter(|sum| sum.is_finite())
            }
        }
    )*};
}
float!(f32 f64);
