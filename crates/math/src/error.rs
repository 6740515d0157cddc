/// Two slices that go element by element have different lengths.
///
/// Example: [`axpy`](crate::axpy).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LengthError {
    /// Length of the first slice.
    pub expected: usize,
    /// Length of the second.
    pub found: usize,
}

impl core::fmt::Display for LengthError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the first slice has {} elements, the second {}", self.expected, self.found)
    }
}

impl core::error::Error for LengthError {}

pub(crate) const fn same_length(expected: usize, found: usize) -> Result<(), LengthError> {
    if expected == found { Ok(()) } else { Err(LengthError { expected, found }) }
}
