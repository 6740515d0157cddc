//! Tables as matrices of other libraries: the same elements in the same places.

use countgrid_em::{Table, TableBuffer, Tables};
#[cfg(feature = "nalgebra")]
use countgrid_em::{TablesNalgebra, TablesNalgebraMut};
#[cfg(feature = "ndarray")]
use countgrid_em::{TablesNdarray, TablesNdarrayMut};

const LAYOUT: [Table; 3] = [Table::new("a", 2, 3), Table::new("none", 0, 4), Table::new("b", 3, 1)];

fn tables() -> TableBuffer<f64, [Table; 3], [f64; 9]> {
    TableBuffer::new(LAYOUT, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).unwrap()
}

/// What a table holds by its definition, row after row.
fn expected(name: &str) -> Option<(usize, usize, Vec<f64>)> {
    Some(match name {
        "a" => (2, 3, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        "none" => (0, 4, vec![]),
        "b" => (3, 1, vec![6.0, 7.0, 8.0]),
        _ => return None,
    })
}

#[cfg(feature = "nalgebra")]
#[test]
fn matrices_of_nalgebra() {
    let mut model = tables();
    for name in ["a", "none", "b", "c"] {
        let found = model.matrix(name).map(|matrix| {
            let rows = matrix.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>());
            (matrix.nrows(), matrix.ncols(), rows.collect::<Vec<_>>())
        });
        assert_eq!(found, expected(name), "{name}");
    }
    let all: Vec<_> = model.matrices().map(|(table, matrix)| (table, matrix.shape())).collect();
    assert_eq!(all, LAYOUT.map(|table| (table, (table.rows, table.columns))));
    model.matrix_mut("a").unwrap()[(1, 0)] = -1.0;
    model.matrix_mut("b").unwrap().fill(0.5);
    assert!(model.matrix_mut("c").is_none());
    assert_eq!(model.buffer(), [0.0, 1.0, 2.0, -1.0, 4.0, 5.0, 0.5, 0.5, 0.5]);
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_ndarray() {
    let mut model = tables();
    for name in ["a", "none", "b", "c"] {
        let found =
            model.array(name).map(|array| (array.nrows(), array.ncols(), array.iter().copied().collect()));
        assert_eq!(found, expected(name), "{name}");
    }
    let all: Vec<_> = model.arrays().map(|(table, array)| (table, array.dim())).collect();
    assert_eq!(all, LAYOUT.map(|table| (table, (table.rows, table.columns))));
    model.array_mut("a").unwrap()[[1, 0]] = -1.0;
    model.array_mut("b").unwrap().fill(0.5);
    assert!(model.array_mut("c").is_none());
    assert_eq!(model.buffer(), [0.0, 1.0, 2.0, -1.0, 4.0, 5.0, 0.5, 0.5, 0.5]);
}
