use countgrid_math::Real;

/// Elements of a table, owned or borrowed, in f64.
pub(crate) trait Wide {
    fn wide(&self) -> f64;
}

impl<T: Real> Wide for T {
    #[inline(always)]
    fn wide(&self) -> f64 {
        Real::to_f64(*self)
    }
}
