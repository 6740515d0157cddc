//! The same counts in every library give the same bits, and views show what the model holds.

use countgrid::counts::{Bags, Csr, CsrBuf, Dense, MatrixBags, SprsBags};
use countgrid::em::{TablesNalgebraMut, TablesNdarrayMut};
use interop::{Topics, in_nalgebra, in_ndarray, topics};
use nalgebra::DMatrix;
use ndarray::{Array2, s};
use sprs::{CsMat, CsMatI, TriMat};

const BAGS: usize = 6;
const FEATURES: usize = 4;
const COUNTS: [u32; BAGS * FEATURES] =
    [5, 4, 0, 0, 6, 3, 1, 0, 0, 0, 4, 4, 1, 0, 5, 6, 0, 2, 0, 7, 3, 3, 0, 0];

/// Topics that differ, `[feature][topic]`: each column a distribution.
const START: [f64; FEATURES * 2] = [0.4, 0.1, 0.3, 0.2, 0.2, 0.3, 0.1, 0.4];

fn start(model: &mut Topics) {
    model.array_mut("beta").unwrap().iter_mut().zip(START).for_each(|(to, x)| *to = x);
}

fn fitted(bags: &impl Bags) -> Vec<u64> {
    let model = topics(bags, start, 2).unwrap();
    in_ndarray(&model).unwrap().iter().map(|x| x.to_bits()).collect()
}

fn sparse() -> CsMat<u32> {
    let mut triplets = TriMat::new((BAGS, FEATURES));
    for (at, &count) in COUNTS.iter().enumerate().filter(|(_, count)| **count > 0) {
        triplets.add_triplet(at / FEATURES, at % FEATURES, count);
    }
    triplets.to_csr()
}

#[test]
fn matrices_of_every_library_give_the_same_bits() {
    let expected = fitted(&Dense::new(FEATURES, &COUNTS).unwrap());
    assert_ne!(expected, START.map(f64::to_bits), "the fit moves the topics");

    let array = Array2::from_shape_vec((BAGS, FEATURES), COUNTS.to_vec()).unwrap();
    assert_eq!(fitted(&MatrixBags::new(array.view()).unwrap()), expected);
    // Stored by columns, with a row and a column that are not part of the view.
    let mut wide = Array2::from_elem((FEATURES + 1, BAGS + 1), 9);
    wide.slice_mut(s![1.., ..BAGS]).assign(&array.t());
    assert_eq!(fitted(&MatrixBags::new(wide.slice(s![1.., ..BAGS]).reversed_axes()).unwrap()), expected);

    let matrix = DMatrix::from_row_slice(BAGS, FEATURES, &COUNTS);
    assert_eq!(fitted(&MatrixBags::new(matrix.columns(0, FEATURES)).unwrap()), expected);

    let sparse = sparse();
    assert_eq!(fitted(&SprsBags::new(sparse.view()).unwrap()), expected);
    let narrow: CsMatI<u32, u32, usize> = sparse.to_other_types();
    assert_eq!(fitted(&Csr::try_from(&narrow).unwrap()), expected);
    assert_eq!(fitted(&CsrBuf::from_bags(&SprsBags::new(sparse.view()).unwrap()).unwrap()), expected);
    // Other counts are seen.
    assert_ne!(fitted(&MatrixBags::new(array.slice(s![1.., ..])).unwrap()), expected);
}

#[test]
fn a_matrix_stored_by_columns_is_refused() {
    let error = SprsBags::new(sparse().to_csc().view()).unwrap_err().to_string();
    assert!(error.contains("stored by rows"), "{error}");
    let error = MatrixBags::new(Array2::from_elem((2, 3), f64::NAN)).unwrap_err().to_string();
    assert!(error.contains("bag 0") && error.contains("feature 0"), "{error}");
}

#[test]
fn views_show_and_write_the_tables() {
    let mut model = topics(&Dense::new(FEATURES, &COUNTS).unwrap(), start, 2).unwrap();
    let (matrix, array) = (in_nalgebra(&model).unwrap(), in_ndarray(&model).unwrap());
    assert_eq!((matrix.shape(), array.dim()), ((FEATURES, 2), (FEATURES, 2)));
    assert!(array.indexed_iter().all(|((row, column), x)| matrix[(row, column)] == *x));
    // Topics are distributions: four numbers that are rounded to 2^-53 each.
    assert!(array.sum_axis(ndarray::Axis(0)).iter().all(|sum| (sum - 1.0).abs() < 1e-15));

    model.matrix_mut("beta").unwrap().fill(0.25);
    assert!(in_ndarray(&model).unwrap().iter().all(|&x| x == 0.25));
    assert!(model.array_mut("no such table").is_none());
}
