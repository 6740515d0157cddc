//! Every view against the plain definition, a list of maps, and every way to refuse slices.

use std::collections::BTreeMap;

use countgrid_counts::testing::{listed as read, nonzero, rows};
use countgrid_counts::{Bag, Bags, BagsError, BagsWithColumns, Csr, CsrBuf, Dense};
use proptest::prelude::*;

const FEATURES: usize = 7;

proptest! {
    #[test]
    fn columns_hold_the_same_counts(rows in rows(FEATURES, 0..6)) {
        let buf = CsrBuf::from_dense(FEATURES, &rows.concat()).unwrap();
        prop_assert_eq!(buf.column(0), None);
        let both = BagsWithColumns::new(buf.clone()).unwrap();
        prop_assert_eq!(read(&both), read(&buf));
        prop_assert_eq!((both.features(), both.len(), both.bags()), (FEATURES, rows.len(), &buf));
        for feature in 0..FEATURES {
            let (bags, counts) = both.column(feature).unwrap();
            let found: Vec<_> = bags.iter().map(|&bag| bag as usize).zip(counts.iter().copied()).collect();
            let column = rows.iter().map(|row| row[feature]).collect::<Vec<_>>();
            prop_assert_eq!(found, nonzero(&column));
        }
        prop_assert_eq!(both.column(FEATURES), None);
        prop_assert_eq!(both.column(usize::MAX), None);
    }

    #[test]
    fn all_storages_hold_the_same_bags(rows in rows(FEATURES, 0..6)) {
        let flat = rows.concat();
        let dense = Dense::new(FEATURES, &flat).unwrap();
        let buf = CsrBuf::from_dense(FEATURES, &flat).unwrap();
        let expected: Vec<_> = rows.iter().map(|row| nonzero(row)).collect();
        prop_assert_eq!(&read(&dense), &expected);
        prop_assert_eq!(&read(&buf), &expected);
        let csr = Csr::new(FEATURES, buf.offsets(), buf.indices(), buf.counts()).unwrap();
        prop_assert_eq!(&read(&csr), &expected);
        prop_assert_eq!(&read(&buf.as_view()), &expected);
        let features = [dense.features(), buf.features(), csr.features(), buf.as_view().features()];
        prop_assert_eq!(features, [FEATURES; 4]);
        for (t, row) in rows.iter().enumerate() {
            let bag = csr.bag(t).unwrap();
            prop_assert_eq!(read(&bag), vec![nonzero(row)]);
            prop_assert_eq!((bag.features(), bag.len()), (FEATURES, 1));
            prop_assert_eq!(bag.entries(0).len(), nonzero(row).len());
            prop_assert_eq!(dense.row(t).unwrap(), row.as_slice());
            // `fold` is written apart from `next`.
            prop_assert_eq!(dense.entries(t).fold(0, |n, _| n + 1), nonzero(row).len());
            prop_assert_eq!(csr.entries(t).fold(0, |n, (z, _)| n + z), nonzero(row).iter().map(|e| e.0).sum());
        }
        prop_assert!(csr.bag(rows.len()).is_none() && dense.row(rows.len()).is_none());
    }

    /// A reference is the set itself, what is split off and what stays make it up, and its parts are its tables.
    #[test]
    fn a_set_is_its_parts(rows in rows(FEATURES, 0..6), at in 0..8_usize) {
        let buf = CsrBuf::from_dense(FEATURES, &rows.concat()).unwrap();
        let both = BagsWithColumns::new(buf.clone()).unwrap();
        // Through a type parameter, or the method of the set itself is called.
        fn shape<B: Bags>(bags: B) -> (usize, usize, bool) { (bags.features(), bags.len(), bags.is_empty()) }
        fn column<B: Bags<Count = u8>>(bags: B, feature: usize) -> Option<(Vec<u32>, Vec<u8>)> {
            bags.column(feature).map(|(bags, counts)| (bags.to_vec(), counts.to_vec()))
        }
        prop_assert_eq!(shape(&buf), (FEATURES, rows.len(), rows.is_empty()));
        prop_assert_eq!(read(&&buf), read(&buf));
        prop_assert_eq!(column(&both, 3), both.column(3).map(|(bags, counts)| (bags.to_vec(), counts.to_vec())));

        let mut first = buf.clone();
        let second = first.split_off(at);
        let at = at.min(rows.len());
        prop_assert_eq!((first.features(), second.features()), (FEATURES, FEATURES));
        prop_assert_eq!(read(&first), read(&buf)[..at].to_vec());
        prop_assert_eq!(read(&second), read(&buf)[at..].to_vec());
        prop_assert_eq!((second.offsets().len(), second.offsets()[0]), (rows.len() - at + 1, 0));

        let (offsets, indices, counts) = (buf.offsets().to_vec(), buf.indices().to_vec(), buf.counts().to_vec());
        prop_assert_eq!(buf.into_parts(), (FEATURES, offsets, indices, counts));
    }

    #[test]
    fn totals_are_sums_of_rows(rows in rows(FEATURES, 0..6)) {
        let buf = CsrBuf::from_dense(FEATURES, &rows.concat()).unwrap();
        for (t, row) in rows.iter().enumerate() {
            prop_assert_eq!(buf.total(t), row.iter().map(|&c| u32::from(c)).sum::<u32>().into());
        }
        prop_assert_eq!(buf.tokens(), rows.concat().iter().map(|&c| u32::from(c)).sum::<u32>().into());
        prop_assert_eq!(buf.max_count(), rows.concat().iter().copied().max().unwrap_or(0).into());
        prop_assert_eq!(buf.nonzeros(), rows.concat().iter().filter(|&&c| c > 0).count());
    }

    #[test]
    fn a_slice_holds_its_range_and_nothing_else(rows in rows(FEATURES, 0..6), start in 0..8_usize, end in 0..8_usize) {
        let flat = rows.concat();
        let (dense, buf) = (Dense::new(FEATURES, &flat).unwrap(), CsrBuf::from_dense(FEATURES, &flat).unwrap());
        let expected = rows.get(start..end).map(|rows| rows.iter().map(|row| nonzero(row)).collect::<Vec<_>>());
        prop_assert_eq!(&dense.slice(start..end).map(|part| read(&part)), &expected);
        let part = buf.as_view().slice(start..end);
        prop_assert_eq!(&part.map(|part| read(&part)), &expected);
        if let Some(part) = part {
            prop_assert!(part.bag(part.len()).is_none());
            prop_assert_eq!(part.entries(part.len()).count(), 0);
            // A slice of a slice counts from the slice's own first bag.
            let tail = expected.unwrap().split_off(part.len() / 2);
            prop_assert_eq!(part.slice(part.len() / 2..part.len()).map(|tail| read(&tail)), Some(tail));
        }
    }

    #[test]
    fn a_builder_sorts_and_merges(
        bags in prop::collection::vec(prop::collection::vec((0..FEATURES, 0..20_u32), 0..30), 0..5)
    ) {
        let mut buf = CsrBuf::new(FEATURES).unwrap();
        for bag in &bags {
            buf.push_bag(bag.iter().copied()).unwrap();
        }
        for (t, bag) in bags.iter().enumerate() {
            let mut sums = BTreeMap::new();
            for &(z, count) in bag {
                *sums.entry(z).or_insert(0) += count;
            }
            sums.retain(|_, sum| *sum > 0);
            prop_assert!(buf.entries(t).eq(sums));
        }
    }

    #[test]
    fn transposing_twice_changes_nothing(rows in rows(FEATURES, 0..6)) {
        let buf = CsrBuf::from_dense(FEATURES, &rows.concat()).unwrap();
        let turned = buf.transpose().unwrap();
        prop_assert_eq!((turned.len(), turned.features()), (FEATURES, rows.len()));
        for z in 0..FEATURES {
            let column: Vec<_> = rows.iter().map(|row| row[z]).collect();
            prop_assert!(turned.entries(z).eq(nonzero(&column)));
        }
        prop_assert_eq!(turned.transpose().unwrap(), buf);
    }
}

#[test]
fn every_bad_sparse_slice_is_named() {
    let new = |offsets: &[usize], indices: &[u32], counts: &[f64]| {
        Csr::new(3, offsets, indices, counts).map(|_| ()).unwrap_err()
    };
    assert_eq!(new(&[], &[], &[]), BagsError::NoOffsets);
    assert_eq!(new(&[1, 1], &[0], &[1.0]), BagsError::FirstOffset { found: 1 });
    assert_eq!(new(&[0, 2], &[0], &[1.0]), BagsError::LastOffset { expected: 1, found: 2 });
    assert_eq!(new(&[0, 2, 1, 2], &[0, 1], &[1.0; 2]), BagsError::OffsetsFall { bag: 1 });
    assert_eq!(new(&[0, usize::MAX, 2], &[0, 1], &[1.0; 2]), BagsError::OffsetsFall { bag: 1 });
    let error = BagsError::Length { table: "counts", expected: 1, found: 2 };
    assert_eq!(new(&[0, 1], &[0], &[1.0; 2]), error);
    assert_eq!(new(&[0, 0, 1], &[3], &[1.0]), BagsError::Feature { bag: 1, feature: 3, features: 3 });
    assert_eq!(new(&[0, 2], &[1, 1], &[1.0; 2]), BagsError::Order { bag: 0, feature: 1 });
    assert_eq!(new(&[0, 2], &[2, 0], &[1.0; 2]), BagsError::Order { bag: 0, feature: 0 });
    for count in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(new(&[0, 1], &[2], &[count]), BagsError::Count { bag: 0, feature: 2 });
    }
    assert_eq!(new(&[0, 1], &[2], &[-0.0]), BagsError::Zero { bag: 0, feature: 2 });
    assert_eq!(
        Bag::new(3, &[0, 1], &[1]).unwrap_err(),
        BagsError::Length { table: "counts", expected: 2, found: 1 }
    );
    assert_eq!(
        Bag::new(3, &[0, 5], &[1, 1]).unwrap_err(),
        BagsError::Feature { bag: 0, feature: 5, features: 3 }
    );
    // No features at all: bags are possible, all of them empty.
    assert_eq!(Csr::<u8>::new(0, &[0, 0, 0], &[], &[]).unwrap().len(), 2);
}

#[test]
fn every_bad_dense_slice_is_named() {
    assert_eq!(Dense::<u8>::new(0, &[]).unwrap_err(), BagsError::NoFeatures);
    let error = BagsError::Length { table: "counts", expected: 3, found: 4 };
    assert_eq!(Dense::new(3, &[1, 2, 3, 4]).unwrap_err(), error);
    assert_eq!(Dense::new(2, &[0, 1, -1, 0]).unwrap_err(), BagsError::Count { bag: 1, feature: 0 });
    assert!(Dense::<u8>::new(usize::MAX, &[]).unwrap().slice(0..2).is_none());
}

#[test]
fn a_refused_bag_leaves_the_builder_as_it_was() {
    let mut buf = CsrBuf::new(3).unwrap();
    buf.push_bag([(1, 200_u8)]).unwrap();
    let before = buf.clone();
    assert_eq!(buf.push_bag([(0, 1), (2, 200), (2, 56)]), Err(BagsError::Overflow { bag: 1, feature: 2 }));
    assert_eq!(buf.push_bag([(0, 1), (3, 1)]), Err(BagsError::Feature { bag: 1, feature: 3, features: 3 }));
    assert_eq!(buf, before);
    let mut buf = CsrBuf::new(3).unwrap();
    assert_eq!(buf.push_bag([(0, f64::MAX), (0, f64::MAX)]), Err(BagsError::Overflow { bag: 0, feature: 0 }));
    assert_eq!(buf.push_bag([(2, -1.0)]), Err(BagsError::Count { bag: 0, feature: 2 }));
    assert_eq!(
        buf.push_bag([(usize::MAX, 1.0)]).map_err(|error| error.to_string()),
        Err(format!("bag 0 has feature {}, needs to be below 3", usize::MAX))
    );
    assert!(buf.is_empty());
}

#[test]
fn what_a_file_held_is_checked_before_it_is_owned() {
    let error = CsrBuf::from_parts(2, vec![0, 1], vec![2], vec![1_u8]).unwrap_err();
    assert_eq!(error, BagsError::Feature { bag: 0, feature: 2, features: 2 });
    let buf = CsrBuf::from_parts(3, vec![0, 1], vec![2], vec![1_u8]).unwrap();
    assert_eq!(buf, CsrBuf::from_bags(&buf.as_view()).unwrap());
    #[cfg(target_pointer_width = "64")]
    assert_eq!(
        CsrBuf::<u8>::new((1 << 32) + 1).unwrap_err(),
        BagsError::TooManyFeatures { features: (1 << 32) + 1 }
    );
}

#[test]
fn a_bag_out_of_range_is_empty() {
    let (csr, dense) = (Csr::new(1, &[0, 1], &[0], &[1]).unwrap(), Dense::new(1, &[1]).unwrap());
    let bag = csr.bag(0).unwrap();
    for t in [1, usize::MAX] {
        assert_eq!(csr.entries(t).count() + dense.entries(t).count() + bag.entries(t).count(), 0);
    }
}
