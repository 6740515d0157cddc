use crate::{Bag, Bags, Count, Sequence, Symbol};

/// How long a datum is: the tokens of a bag, the symbols of a sequence. What is given per token is divided by it.
///
/// ```
/// use countgrid_counts::{Bag, Length, Sequence};
/// assert_eq!(Bag::new(9, &[2, 7], &[1.5, 3.0])?.length(), 4.5);
/// assert_eq!(Sequence::new(2, &[0_u8, 1, 1])?.length(), 3.0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub trait Length {
    /// The length, not negative; 0 of a datum with nothing in it.
    fn length(&self) -> f64;
}

impl<D: Length + ?Sized> Length for &D {
    fn length(&self) -> f64 {
        (**self).length()
    }
}

/// Tokens, `Σ_z c_z`.
impl<C: Count> Length for Bag<'_, C> {
    fn length(&self) -> f64 {
        self.total(0)
    }
}

/// Symbols.
impl<X: Symbol> Length for Sequence<'_, X> {
    fn length(&self) -> f64 {
        self.len() as f64
    }
}
