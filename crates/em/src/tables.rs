//! Generic operations on tables.

use core::{fmt, ops::Range};

use countgrid_math::Real;

use crate::{
    Table, Tables, TablesMut,
    parallel::{Rows, for_each},
};

impl Table {
    /// A table of `rows` rows of `columns` elements.
    #[must_use]
    pub const fn new(name: &'static str, rows: usize, columns: usize) -> Self {
        Self { name, rows, columns }
    }
    /// Elements of the table; `None` if they cannot be counted.
    #[must_use]
    pub const fn elements(&self) -> Option<usize> {
        self.rows.checked_mul(self.columns)
    }
}

/// Elements of all tables of a layout, the length of the buffer; `None` if they cannot be counted.
///
/// ```
/// use countgrid_em::{Table, elements};
/// const SHAPE: [Table; 2] = [Table::new("pi", 3, 16), Table::new("prior", 1, 16)];
/// static PARAMETERS: [f32; elements(&SHAPE).unwrap()] = [0.0; 64];
/// ```
#[must_use]
pub const fn elements(layout: &[Table]) -> Option<usize> {
    let (mut sum, mut table) = (0_usize, 0);
    while table < layout.len() {
        sum = match layout[table].elements() {
            Some(elements) => match sum.checked_add(elements) {
                Some(sum) => sum,
                None => return None,
            },
            None => return None,
        };
        table += 1;
    }
    Some(sum)
}

/// [`Tables`] and [`TablesMut`] of a type whose tables are those of one of its fields: a model with options or scratch beside
/// it. After `for` come the type, the field and the field's type.
///
/// ```
/// use countgrid_em::{Table, TableBuffer, TablesExt, tables_of_field};
///
/// struct Smoothed<M> {
///     model: M,
///     pseudocount: f32,
/// }
/// tables_of_field!(impl[M] for Smoothed<M>, model: M);
///
/// let model = TableBuffer::new([Table::new("rate", 1, 2)], [0.5_f32, 2.0])?;
/// let smoothed = Smoothed { model, pseudocount: 0.1 };
/// assert_eq!(smoothed.table("rate"), Some([0.5, 2.0].as_slice()));
/// # let _ = smoothed.pseudocount;
/// # Ok::<(), countgrid_em::TablesError>(())
/// ```
#[macro_export]
macro_rules! tables_of_field {
    (impl[$($generics:tt)*] for $Type:ty, $field:tt: $Field:ty) => {
        impl<$($generics)*> $crate::Tables for $Type
        where
            $Field: $crate::Tables,
        {
            type Scalar = <$Field as $crate::Tables>::Scalar;

            fn layout(&self) -> &[$crate::Table] {
                $crate::Tables::layout(&self.$field)
            }
            fn buffer(&self) -> &[Self::Scalar] {
                $crate::Tables::buffer(&self.$field)
            }
        }

        impl<$($generics)*> $crate::TablesMut for $Type
        where
            $Field: $crate::TablesMut,
        {
            fn buffer_mut(&mut self) -> &mut [Self::Scalar] {
                $crate::TablesMut::buffer_mut(&mut self.$field)
            }
        }
    };
}

/// Why two sets of tables, or a layout and a buffer, do not match.
///
/// Example: [`perturb_tables`](crate::perturb_tables).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum TablesError {
    /// The layout has more elements than can be counted.
    TooLarge,
    /// The buffer does not hold what the layout says.
    Length { expected: usize, found: usize },
    /// Another number of tables.
    Tables { expected: usize, found: usize },
    /// A table of another name or shape.
    Shape { expected: Table, found: Table },
}

impl fmt::Display for TablesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooLarge => f.write_str("the tables have more elements than can be counted"),
            Self::Length { expected, found } => {
                write!(f, "the buffer has {found} elements, the tables need {expected}")
            }
            Self::Tables { expected, found } => write!(f, "{found} tables, needs {expected}"),
            Self::Shape { expected, found } => write!(
                f,
                "table `{}` of {} rows and {} columns, needs `{}` of {} rows and {} columns",
                found.name, found.rows, found.columns, expected.name, expected.rows, expected.columns
            ),
        }
    }
}

impl core::error::Error for TablesError {}

fn place(layout: &[Table], name: &str) -> Option<(Table, Range<usize>)> {
    let mut start = 0_usize;
    for table in layout {
        let end = start.checked_add(table.elements()?)?;
        if table.name == name {
            return Some((*table, start..end));
        }
        start = end;
    }
    None
}

/// Reading tables, for every implementor of [`Tables`].
///
/// ```
/// use countgrid_em::{Table, TableBuffer, TablesExt};
/// let layout = [Table::new("pi", 2, 3), Table::new("prior", 1, 3)];
/// let model = TableBuffer::new(layout, [0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
/// assert_eq!(model.table("prior"), Some(&[6.0, 7.0, 8.0][..]));
/// assert_eq!(model.row("pi", 1), Some(&[3.0, 4.0, 5.0][..]));
/// assert_eq!(model.row("pi", 2), None);
/// for (table, elements) in model.tables() {
///     assert_eq!(elements.len(), table.rows * table.columns);
/// }
/// # Ok::<(), countgrid_em::TablesError>(())
/// ```
pub trait TablesExt: Tables {
    /// The elements of a table, row-major; `None` if there is none of this name.
    fn table(&self, name: &str) -> Option<&[Self::Scalar]> {
        self.buffer().get(place(self.layout(), name)?.1)
    }
    /// One row of a table; `None` if there is none.
    fn row(&self, name: &str, row: usize) -> Option<&[Self::Scalar]> {
        let (table, range) = place(self.layout(), name)?;
        let start = table.columns.checked_mul(row)?;
        let end = start.checked_add(table.columns).filter(|_| row < table.rows)?;
        self.buffer().get(range)?.get(start..end)
    }
    /// All tables with their elements, in order.
    fn tables(&self) -> impl Iterator<Item = (Table, &[Self::Scalar])> {
        let mut rest = self.buffer();
        self.layout().iter().map_while(move |table| {
            let (elements, after) = rest.split_at_checked(table.elements()?)?;
            rest = after;
            Some((*table, elements))
        })
    }
    /// Whether the buffer holds what the layout says, no more and no less.
    ///
    /// # Errors
    /// [`TablesError::TooLarge`], [`TablesError::Length`].
    fn check_layout(&self) -> Result<(), TablesError> {
        let expected = elements(self.layout()).ok_or(TablesError::TooLarge)?;
        let found = self.buffer().len();
        if found == expected { Ok(()) } else { Err(TablesError::Length { expected, found }) }
    }
    /// Whether other tables have the same names and shapes in the same order, whatever their scalar.
    ///
    /// # Errors
    /// [`TablesError::Tables`], [`TablesError::Shape`], [`TablesError::Length`].
    fn check_shape<O: Tables + ?Sized>(&self, other: &O) -> Result<(), TablesError> {
        let (expected, found) = (self.layout(), other.layout());
        for (&expected, &found) in expected.iter().zip(found) {
            if expected != found {
                return Err(TablesError::Shape { expected, found });
            }
        }
        if expected.len() != found.len() {
            return Err(TablesError::Tables { expected: expected.len(), found: found.len() });
        }
        let (expected, found) = (self.buffer().len(), other.buffer().len());
        if expected == found { Ok(()) } else { Err(TablesError::Length { expected, found }) }
    }
}

impl<M: Tables + ?Sized> TablesExt for M {}

/// Writing tables, for every implementor of [`TablesMut`].
///
/// ```
/// use countgrid_em::{Table, TableBuffer, Tables, TablesMutExt};
/// let layout = [Table::new("counts", 1, 2)];
/// let mut total = TableBuffer::new(layout, [1.0_f64, 2.0])?;
/// let other = TableBuffer::new(layout, [0.25, 0.5])?;
/// total.merge(&other)?;
/// total.scale(4.0);
/// assert_eq!(total.buffer(), [5.0, 10.0]);
///
/// let mut single = TableBuffer::new(layout, [0.0_f32; 2])?;
/// single.copy_from(&total)?; // from any scalar
/// single.clear();
/// # Ok::<(), countgrid_em::TablesError>(())
/// ```
pub trait TablesMutExt: TablesMut {
    /// The elements of a table, row-major, to be written; `None` if there is none of this name.
    fn table_mut(&mut self, name: &str) -> Option<&mut [Self::Scalar]> {
        let range = place(self.layout(), name)?.1;
        self.buffer_mut().get_mut(range)
    }
    /// Sets every element to zero, before the first batch of an E-step.
    fn clear(&mut self) {
        in_parts(self.buffer_mut(), |_, part| part.fill(Default::default()));
    }
    /// Multiplies every element.
    fn scale(&mut self, factor: Self::Scalar) {
        in_parts(self.buffer_mut(), |_, part| part.iter_mut().for_each(|x| *x *= factor));
    }
    /// Adds the sums of another part of the data, element by element.
    ///
    /// # Errors
    /// Those of [`TablesExt::check_shape`]; nothing is then added.
    fn merge<O: Tables<Scalar = Self::Scalar> + ?Sized>(&mut self, other: &O) -> Result<(), TablesError> {
        self.check_shape(other)?;
        let others = other.buffer();
        in_parts(self.buffer_mut(), |first, part| {
            let others = others.get(first..).unwrap_or_default();
            part.iter_mut().zip(others).for_each(|(sum, &x)| *sum += x);
        });
        Ok(())
    }
    /// Copies other tables, rounding to nearest if they are of another scalar.
    ///
    /// # Errors
    /// Those of [`TablesExt::check_shape`]; nothing is then copied.
    fn copy_from<O: Tables + ?Sized>(&mut self, other: &O) -> Result<(), TablesError> {
        self.check_shape(other)?;
        for (copy, x) in self.buffer_mut().iter_mut().zip(other.buffer()) {
            *copy = Real::from_f64(x.to_f64()); // exact to f64, hence one rounding
        }
        Ok(())
    }
}

impl<M: TablesMut + ?Sized> TablesMutExt for M {}

/// Changes elements in parts, on as many threads as there are: one alone does not use all of the memory's bandwidth. The work is
/// called with the place of a part's first element.
fn in_parts<T: Send>(elements: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    const PART: usize = 1 << 14;
    for_each(elements.len().div_ceil(PART), Rows::new(elements, PART), |part, rows| {
        work(part * PART, rows.elements);
    });
}
