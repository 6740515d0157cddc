use core::ops::{Add, Mul};

/// `Σ c_i x^i`, from the last coefficient down.
#[inline(always)]
pub(crate) fn horner<T, const N: usize>(x: T, coefficients: &[T; N]) -> T
where
    T: Copy + Default + Add<Output = T> + Mul<Output = T>,
{
    let (mut y, mut i) = (coefficients[N - 1], N - 1);
    while i > 0 {
        i -= 1;
        y = y * x + coefficients[i];
    }
    y
}
