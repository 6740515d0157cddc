//! Tables as arrays of ndarray.

use ndarray::{ArrayView2, ArrayViewMut2};

use crate::{Table, Tables, TablesExt, TablesMut, TablesMutExt};

/// Tables as arrays of ndarray, `[row][column]`, without a copy; for every implementor of [`Tables`].
///
/// ```
/// use countgrid_em::{Table, TableBuffer, TablesNdarray, TablesNdarrayMut};
/// use ndarray::{array, s};
/// let layout = [Table::new("pi", 2, 3), Table::new("prior", 1, 3)];
/// let mut model = TableBuffer::new(layout, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
/// assert_eq!(model.array("pi"), Some(array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]].view()));
/// model.array_mut("prior").ok_or("no prior")?.fill(1.0 / 3.0);
/// assert_eq!(model.array("prior").ok_or("no prior")?.sum(), 1.0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub trait TablesNdarray: Tables {
    /// One table; `None` if there is none of this name.
    fn array(&self, name: &str) -> Option<ArrayView2<'_, Self::Scalar>> {
        ArrayView2::from_shape(shape(self.layout(), name)?, self.table(name)?).ok()
    }
    /// All tables with their elements, in order.
    fn arrays(&self) -> impl Iterator<Item = (Table, ArrayView2<'_, Self::Scalar>)> {
        self.tables().map_while(|(table, elements)| {
            let array = ArrayView2::from_shape((table.rows, table.columns), elements).ok()?;
            Some((table, array))
        })
    }
}

impl<M: Tables + ?Sized> TablesNdarray for M {}

/// Tables as arrays of ndarray that can be written; for every implementor of [`TablesMut`].
///
/// Example: [`TablesNdarray`](crate::TablesNdarray).
pub trait TablesNdarrayMut: TablesMut {
    /// One table, to be written; `None` if there is none of this name.
    fn array_mut(&mut self, name: &str) -> Option<ArrayViewMut2<'_, Self::Scalar>> {
        let shape = shape(self.layout(), name)?;
        ArrayViewMut2::from_shape(shape, self.table_mut(name)?).ok()
    }
}

impl<M: TablesMut + ?Sized> TablesNdarrayMut for M {}

fn shape(layout: &[Table], name: &str) -> Option<(usize, usize)> {
    layout.iter().find(|table| table.name == name).map(|table| (table.rows, table.columns))
}
