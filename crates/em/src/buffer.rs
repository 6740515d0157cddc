use core::marker::PhantomData;

use countgrid_math::Real;

use crate::{Table, Tables, TablesError, TablesMut, elements};

/// Tables without a model: a layout and a buffer, both the caller's storage.
///
/// For statistics without scratch, for tables read from a file, for a saved copy. `L` holds the tables (an
/// array, a `&'static` slice, a `Vec`), `S` the elements.
///
/// ```
/// use countgrid_em::{Table, TableBuffer, TablesError, TablesExt};
/// const LAYOUT: &[Table] = &[Table::new("rate", 1, 2)];
/// static FLASH: [f32; 2] = [0.5, 2.0];
/// let model = TableBuffer::new(LAYOUT, FLASH.as_slice())?;
/// assert_eq!(model.table("rate"), Some(&[0.5, 2.0][..]));
/// let error = TableBuffer::new(LAYOUT, [0.0_f32; 3]).unwrap_err();
/// assert_eq!(error, TablesError::Length { expected: 2, found: 3 });
/// # Ok::<(), TablesError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableBuffer<T, L, S> {
    layout: L,
    buffer: S, // as long as the layout says
    scalar: PhantomData<T>,
}

impl<T: Real, L: AsRef<[Table]>, S: AsRef<[T]>> TableBuffer<T, L, S> {
    /// Tables over a buffer.
    ///
    /// # Errors
    /// [`TablesError::TooLarge`]; [`TablesError::Length`] unless the buffer is as long as the layout says.
    pub fn new(layout: L, buffer: S) -> Result<Self, TablesError> {
        let expected = elements(layout.as_ref()).ok_or(TablesError::TooLarge)?;
        let found = buffer.as_ref().len();
        if found != expected {
            return Err(TablesError::Length { expected, found });
        }
        Ok(Self { layout, buffer, scalar: PhantomData })
    }
    /// The buffer, given back.
    pub fn into_inner(self) -> S {
        self.buffer
    }
}

impl<T: Real, L: AsRef<[Table]>, S: AsRef<[T]>> Tables for TableBuffer<T, L, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        self.layout.as_ref()
    }
    fn buffer(&self) -> &[T] {
        self.buffer.as_ref()
    }
}

impl<T: Real, L: AsRef<[Table]>, S: AsRef<[T]> + AsMut<[T]>> TablesMut for TableBuffer<T, L, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.buffer.as_mut()
    }
}
