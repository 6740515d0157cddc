//! Generic operations on tables.

use countgrid_em::{Table, TableBuffer, Tables, TablesError, TablesExt, TablesMut, TablesMutExt, elements};
use proptest::prelude::*;

const LAYOUT: [Table; 3] = [Table::new("a", 2, 3), Table::new("none", 0, 9), Table::new("b", 1, 2)];
const LEN: usize = elements(&LAYOUT).unwrap();

fn tables<T: countgrid_math::Real>(buffer: [T; LEN]) -> TableBuffer<T, [Table; 3], [T; LEN]> {
    TableBuffer::new(LAYOUT, buffer).unwrap()
}

#[test]
fn tables_are_found_by_name_and_row() {
    let mut model = tables([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    assert_eq!(model.table("a"), Some(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0][..]));
    assert_eq!((model.table("none"), model.table("c")), (Some(&[][..]), None));
    assert_eq!((model.row("a", 1), model.row("b", 0)), (Some(&[3.0, 4.0, 5.0][..]), Some(&[6.0, 7.0][..])));
    assert_eq!((model.row("a", 2), model.row("a", usize::MAX), model.row("none", 0)), (None, None, None));
    let thin = TableBuffer::<f32, _, _>::new([Table::new("thin", 2, 0)], []).unwrap();
    assert_eq!((thin.row("thin", 1), thin.row("thin", 2)), (Some(&[][..]), None));
    let names: Vec<_> = model.tables().map(|(table, elements)| (table.name, elements.len())).collect();
    assert_eq!(names, [("a", 6), ("none", 0), ("b", 2)]);
    model.table_mut("b").unwrap().fill(-1.0);
    assert_eq!(model.buffer()[5..], [5.0, -1.0, -1.0]);
    assert!(model.table_mut("c").is_none());
    model.clear();
    assert_eq!(model.into_inner(), [0.0; LEN]);
}

#[test]
fn layouts_that_lie_are_found_out() {
    let huge = [Table::new("a", usize::MAX, 2)];
    assert_eq!(elements(&huge), None);
    assert_eq!(elements(&[Table::new("a", 1, usize::MAX), Table::new("b", 1, 1)]), None);
    assert_eq!(TableBuffer::new(huge, [0.0_f32; 2]).unwrap_err(), TablesError::TooLarge);
    assert_eq!(
        TableBuffer::new(LAYOUT, [0.0_f32; 7]).unwrap_err(),
        TablesError::Length { expected: 8, found: 7 }
    );

    /// An implementor that breaks the contract gets errors and `None`, not panics.
    struct Lies([Table; 2]);
    impl Tables for Lies {
        type Scalar = f32;
        fn layout(&self) -> &[Table] {
            &self.0
        }
        fn buffer(&self) -> &[f32] {
            &[1.0, 2.0, 3.0]
        }
    }
    let lies = Lies([Table::new("a", 1, 2), Table::new("b", 1, 2)]);
    assert_eq!(lies.check_layout(), Err(TablesError::Length { expected: 4, found: 3 }));
    assert_eq!((lies.table("b"), lies.row("b", 0), lies.tables().count()), (None, None, 1));
    let lies = Lies([Table::new("a", usize::MAX, 2), Table::new("b", 1, 2)]);
    assert_eq!(lies.check_layout(), Err(TablesError::TooLarge));
    assert_eq!((lies.table("a"), lies.table("b"), lies.row("a", usize::MAX - 1)), (None, None, None));
}

#[test]
fn only_tables_of_the_same_shape_are_merged_or_copied() {
    let mut sums = tables([1.0; LEN]);
    let turned = [Table::new("a", 3, 2), LAYOUT[1], LAYOUT[2]];
    let other = TableBuffer::new(turned, [1.0; LEN]).unwrap();
    let shape = TablesError::Shape { expected: LAYOUT[0], found: turned[0] };
    assert_eq!(sums.merge(&other), Err(shape));
    assert_eq!(shape.to_string(), "table `a` of 3 rows and 2 columns, needs `a` of 2 rows and 3 columns");
    let fewer = TableBuffer::<f32, _, _>::new(&LAYOUT[..2], [1.0; 6]).unwrap();
    assert_eq!(sums.copy_from(&fewer), Err(TablesError::Tables { expected: 3, found: 2 }));
    let renamed = TableBuffer::new([LAYOUT[0], LAYOUT[1], Table::new("c", 1, 2)], [1.0; LEN]).unwrap();
    assert!(sums.merge(&renamed).is_err());
    assert_eq!(sums.buffer(), [1.0; LEN]);
}

/// Tables of many elements are worked on in parts, each with the elements that belong to it.
#[test]
fn large_tables_go_element_by_element() {
    const MANY: usize = 50_000;
    let table = |x: &dyn Fn(usize) -> f64| {
        TableBuffer::new([Table::new("a", MANY, 1)], (0..MANY).map(x).collect::<Vec<f64>>()).unwrap()
    };
    let mut sums = table(&|at| at as f64);
    sums.merge(&table(&|at| (3 * at) as f64)).unwrap();
    assert!(sums.buffer().iter().enumerate().all(|(at, &x)| x == (4 * at) as f64));
    sums.scale(0.5);
    assert!(sums.buffer().iter().enumerate().all(|(at, &x)| x == (2 * at) as f64));
}

proptest! {
    #[test]
    fn merging_and_scaling_go_element_by_element(a: [f64; LEN], b: [f64; LEN], factor: f64) {
        let mut sums = tables(a);
        sums.merge(&tables(b)).unwrap();
        sums.scale(factor);
        for (at, sum) in sums.buffer().iter().enumerate() {
            prop_assert_eq!(sum.to_bits(), ((a[at] + b[at]) * factor).to_bits());
        }
    }

    #[test]
    fn copies_round_once(a: [f64; LEN], b: [f32; LEN]) {
        let mut single = tables([0.0_f32; LEN]);
        single.copy_from(&tables(a)).unwrap();
        prop_assert!(single.buffer().iter().zip(a).all(|(x, a)| x.to_bits() == (a as f32).to_bits()));
        let mut double = tables([0.0_f64; LEN]);
        double.copy_from(&tables(b)).unwrap();
        prop_assert!(double.buffer().iter().zip(b).all(|(x, b)| x.to_bits() == f64::from(b).to_bits()));
        single.copy_from(&tables(b)).unwrap();
        prop_assert!(single.buffer_mut().iter().zip(b).all(|(x, b)| x.to_bits() == b.to_bits()));
    }
}
