//! Tables as matrices of nalgebra.

use nalgebra::{Dyn, MatrixView, MatrixViewMut, U1};

use crate::{Table, Tables, TablesExt, TablesMut, TablesMutExt};

/// A table as a matrix of nalgebra: its rows are the table's, its storage is row-major.
pub type TableView<'a, T> = MatrixView<'a, T, Dyn, Dyn, Dyn, U1>;
/// A [`TableView`] that can be written.
pub type TableViewMut<'a, T> = MatrixViewMut<'a, T, Dyn, Dyn, Dyn, U1>;

/// Tables as matrices of nalgebra, without a copy; for every implementor of [`Tables`].
///
/// The stride from one row to the next is the number of columns, so no element is moved. With nalgebra's feature `alloc`
/// `into_owned` makes a `DMatrix`.
///
/// ```
/// use countgrid_em::{Table, TableBuffer, TablesNalgebra, TablesNalgebraMut};
/// use nalgebra::Matrix2x3;
/// let layout = [Table::new("pi", 2, 3), Table::new("prior", 1, 3)];
/// let mut model = TableBuffer::new(layout, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
/// assert_eq!(model.matrix("pi").ok_or("no pi")?, Matrix2x3::new(0.0, 1.0, 2.0, 3.0, 4.0, 5.0));
/// model.matrix_mut("prior").ok_or("no prior")?.fill(1.0 / 3.0);
/// assert_eq!(model.matrix("prior").ok_or("no prior")?.sum(), 1.0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub trait TablesNalgebra: Tables {
    /// One table; `None` if there is none of this name.
    fn matrix(&self, name: &str) -> Option<TableView<'_, Self::Scalar>> {
        let (table, elements) = self.tables().find(|(table, _)| table.name == name)?;
        view(table, elements)
    }
    /// All tables with their elements, in order.
    fn matrices(&self) -> impl Iterator<Item = (Table, TableView<'_, Self::Scalar>)> {
        self.tables().map_while(|(table, elements)| Some((table, view(table, elements)?)))
    }
}

impl<M: Tables + ?Sized> TablesNalgebra for M {}

/// Tables as matrices of nalgebra that can be written; for every implementor of [`TablesMut`].
///
/// Example: [`TablesNalgebra`](crate::TablesNalgebra).
pub trait TablesNalgebraMut: TablesMut {
    /// One table, to be written; `None` if there is none of this name.
    fn matrix_mut(&mut self, name: &str) -> Option<TableViewMut<'_, Self::Scalar>> {
        let table = *self.layout().iter().find(|table| table.name == name)?;
        let (rows, columns, stride) = dimensions(table)?;
        Some(MatrixViewMut::from_slice_with_strides_generic(self.table_mut(name)?, rows, columns, stride, U1))
    }
}

impl<M: TablesMut + ?Sized> TablesNalgebraMut for M {}

fn view<T: nalgebra::Scalar>(table: Table, elements: &[T]) -> Option<TableView<'_, T>> {
    let (rows, columns, stride) = dimensions(table)?;
    Some(MatrixView::from_slice_with_strides_generic(elements, rows, columns, stride, U1))
}

/// Rows, columns and stride of a table; `None` where nalgebra's own check of the length would overflow, which only tables
/// without elements come near.
fn dimensions(table: Table) -> Option<(Dyn, Dyn, Dyn)> {
    table.rows.checked_add(1)?.checked_mul(table.columns)?.checked_add(1)?;
    Some((Dyn(table.rows), Dyn(table.columns), Dyn(table.columns)))
}
