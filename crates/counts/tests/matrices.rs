//! Matrices of other libraries against dense rows of the same counts, and every way to refuse one.

use countgrid_counts::testing::{listed, rows};
use countgrid_counts::{Bags, BagsError, CountMatrix, Csr, CsrBuf, Dense, MatrixBags, SprsBags, Strided};
use nalgebra::{DMatrix, Matrix2};
use ndarray::{Array2, ShapeBuilder, array, s};
use proptest::prelude::*;
use sprs::{CsMat, CsMatI, SpIndex};

const FEATURES: usize = 5;

fn read<B: Bags>(bags: &B) -> Vec<Vec<(usize, B::Count)>> {
    assert_eq!(bags.entries(bags.len()).count() + bags.entries(usize::MAX).count(), 0);
    let listed = listed(bags);
    for (bag, entries) in listed.iter().enumerate() {
        let (least, most) = bags.entries(bag).size_hint();
        assert!(least <= entries.len() && most.is_none_or(|most| entries.len() <= most));
    }
    listed
}

fn sparse<I: SpIndex, P: SpIndex>(buf: &CsrBuf<u8>) -> CsMatI<u8, I, P> {
    let offsets = buf.offsets().iter().map(|&offset| P::from_usize(offset)).collect();
    let indices = buf.indices().iter().map(|&index| I::from_usize(index as usize)).collect();
    CsMatI::new((buf.len(), buf.features()), offsets, indices, buf.counts().to_vec())
}

proptest! {
    #[test]
    fn every_layout_holds_the_same_bags(rows in rows(FEATURES, 0..6), start in 0..7_usize, end in 0..7_usize) {
        let (flat, bags) = (rows.concat(), rows.len());
        let dense = Dense::new(FEATURES, &flat).unwrap();
        let buf = CsrBuf::from_dense(FEATURES, &flat).unwrap();
        let expected = read(&dense);

        let columns: Vec<_> = (0..FEATURES).flat_map(|z| rows.iter().map(move |row| row[z])).collect();
        let strided = Strided::new(&columns, [bags, FEATURES], [1, bags]).unwrap();
        prop_assert_eq!(&read(&MatrixBags::new(strided).unwrap()), &expected);

        let by_rows = Array2::from_shape_vec((bags, FEATURES), flat.clone()).unwrap();
        let by_columns = Array2::from_shape_vec((bags, FEATURES).f(), columns.clone()).unwrap();
        let mut wide = Array2::from_elem((2 * bags, FEATURES + 2), 255_u8);
        wide.slice_mut(s![..;2, 1..=FEATURES]).assign(&by_rows);
        prop_assert_eq!(&read(&MatrixBags::new(by_rows.view()).unwrap()), &expected);
        prop_assert_eq!(&read(&MatrixBags::new(&by_columns).unwrap()), &expected);
        prop_assert_eq!(&read(&MatrixBags::new(wide.slice(s![..;2, 1..=FEATURES])).unwrap()), &expected);
        let mut turned = read(&MatrixBags::new(by_columns.slice(s![..;-1, ..])).unwrap());
        turned.reverse();
        prop_assert_eq!(&turned, &expected);

        let matrix = DMatrix::from_column_slice(bags, FEATURES, &columns);
        let whole = matrix.clone().insert_row(0, 255).insert_column(0, 255);
        prop_assert_eq!(&read(&MatrixBags::new(whole.view((1, 1), (bags, FEATURES))).unwrap()), &expected);
        let matrix = MatrixBags::new(matrix).unwrap();
        prop_assert_eq!(&read(&matrix), &expected);

        prop_assert_eq!(&read(&SprsBags::new(sparse::<usize, usize>(&buf).view()).unwrap()), &expected);
        prop_assert_eq!(&read(&SprsBags::new(sparse::<u32, u32>(&buf).view()).unwrap()), &expected);
        prop_assert_eq!(&read(&SprsBags::new(sparse::<i16, u64>(&buf).view()).unwrap()), &expected);
        let matched = sparse::<u32, usize>(&buf);
        let borrowed = Csr::try_from(&matched).unwrap();
        prop_assert_eq!(&read(&borrowed), &expected);
        prop_assert_eq!(CsrBuf::from_bags(&borrowed).unwrap(), buf);

        // Parts, of the view and of the matrix.
        let part = expected.get(start..end);
        prop_assert_eq!(matrix.slice(start..end).map(|bags| read(&bags)), part.map(<[_]>::to_vec));
        if let Some(part) = part {
            prop_assert_eq!(&read(&SprsBags::new(matched.slice_outer(start..end)).unwrap()), part);
            let bags = matrix.slice(start..end).unwrap();
            prop_assert_eq!(bags.slice(part.len()..part.len()).map(|bags| bags.len()), Some(0));
            prop_assert!(bags.slice(0..part.len() + 1).is_none());
            let half = part.len() / 2;
            prop_assert_eq!(&read(&bags.slice(half..part.len()).unwrap()), &part[half..]);
        }
    }
}

#[test]
fn every_bad_matrix_is_named() {
    let error = |counts: &[u8], shape, strides| Strided::new(counts, shape, strides).map(|_| ()).unwrap_err();
    let length = |expected, found| BagsError::Length { table: "counts", expected, found };
    assert_eq!(error(&[0; 5], [2, 3], [3, 1]), length(6, 5));
    assert_eq!(error(&[0; 5], [2, 3], [1, 2]), length(6, 5));
    assert_eq!(error(&[0; 5], [2, 2], [usize::MAX, usize::MAX]), length(usize::MAX, 5));
    assert_eq!(error(&[0; 5], [3, 2], [usize::MAX, 1]), length(usize::MAX, 5));
    assert!(Strided::<u8>::new(&[], [0, usize::MAX], [1, 1]).is_ok());
    // One row for all bags is a layout too.
    let same = MatrixBags::new(Strided::new(&[0_u8, 3], [2, 2], [0, 1]).unwrap()).unwrap();
    assert_eq!(read(&same), [[(1, 3)], [(1, 3)]]);

    // Outside the matrix there is no count, also where the slice has one.
    let counts = [1_u8, 2, 3, 4, 5, 6];
    let strided = Strided::new(&counts, [2, 2], [3, 1]).unwrap();
    assert_eq!([(0, 1), (1, 1)].map(|(bag, feature)| strided.count(bag, feature)), [Some(2), Some(5)]);
    assert_eq!(
        [(0, 2), (0, 3), (2, 0), (1, usize::MAX)].map(|(bag, feature)| strided.count(bag, feature)),
        [None; 4]
    );

    for count in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = BagsError::Count { bag: 1, feature: 0 };
        assert_eq!(MatrixBags::new(array![[0.0, 1.0], [count, 1.0]]).unwrap_err(), refused);
        assert_eq!(MatrixBags::new(Matrix2::new(0.0, 1.0, count, 1.0)).unwrap_err(), refused);
        let sparse = CsMat::new((2, 1), vec![0, 0, 1], vec![0], vec![count]);
        assert_eq!(SprsBags::new(sparse.view()).unwrap_err(), refused);
    }

    struct Short;
    impl CountMatrix for Short {
        type Count = u8;
        fn bags(&self) -> usize {
            1
        }
        fn features(&self) -> usize {
            2
        }
        fn count(&self, _: usize, feature: usize) -> Option<u8> {
            (feature == 0).then_some(1)
        }
    }
    assert_eq!(MatrixBags::new(Short).map(|_| ()).unwrap_err(), length(2, 1));
}

#[test]
fn every_bad_sparse_matrix_is_named() {
    let matrix =
        |data: [u8; 3]| CsMatI::<u8, u32, usize>::new((3, 4), vec![0, 2, 2, 3], vec![1, 3, 0], data.to_vec());
    let columns = matrix([1; 3]).into_csc();
    assert_eq!(SprsBags::new(columns.view()).unwrap_err(), BagsError::StoredByColumns);
    assert_eq!(Csr::try_from(&columns).unwrap_err(), BagsError::StoredByColumns);
    assert_eq!(
        read(&SprsBags::new(columns.to_csr().view()).unwrap()),
        read(&SprsBags::new(matrix([1; 3]).view()).unwrap())
    );

    // Explicit zeros: skipped by the one, refused by the other.
    let zero = matrix([1, 0, 2]);
    assert_eq!(read(&SprsBags::new(zero.view()).unwrap()), [vec![(1, 1)], vec![], vec![(0, 2)]]);
    assert_eq!(SprsBags::new(zero.view()).unwrap().features(), 4);
    assert_eq!(Csr::try_from(&zero).unwrap_err(), BagsError::Zero { bag: 0, feature: 3 });

    let part = matrix([1; 3]);
    let part = part.slice_outer(2..3);
    assert_eq!(Csr::try_from(&part).unwrap_err(), BagsError::FirstOffset { found: 2 });
    assert_eq!(CsrBuf::from_bags(&SprsBags::new(part).unwrap()).unwrap().offsets(), [0, 1]);
}
