use countgrid_math::Real;

/// A count as it is stored: any primitive integer, `f32` or `f64`.
pub trait Count: Copy + core::fmt::Debug + Send + Sync + 'static {
    /// The count as a model's scalar, rounded to nearest.
    fn to_real<T: Real>(self) -> T;
    /// Whether a bag may hold it: finite and not negative.
    fn is_valid(self) -> bool;
    /// Whether it is zero, so that a bag need not list it.
    fn is_zero(self) -> bool;
}
