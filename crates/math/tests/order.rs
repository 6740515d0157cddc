//! Random orders: each as likely as any other, and the bits that they have always had.

use std::collections::BTreeMap;

use countgrid_math::{index_below, shuffle, shuffle_first};

/// SplitMix64 (Steele, Lea and Flood 2014).
fn words(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// Five standard deviations of 24,000 throws at `1 / outcomes`.
fn all_as_likely<K: Ord + std::fmt::Debug>(outcomes: usize, mut draw: impl FnMut() -> K) {
    let mut counts = BTreeMap::new();
    (0..24_000).for_each(|_| *counts.entry(draw()).or_insert(0.0) += 1.0);
    let mean = 24_000.0 / outcomes as f64;
    let allowed = 5.0 * (mean * (1.0 - 1.0 / outcomes as f64)).sqrt();
    assert_eq!(counts.len(), outcomes);
    assert!(counts.values().all(|n: &f64| (n - mean).abs() < allowed), "{counts:?}");
}

#[test]
fn every_order_is_as_likely() {
    let mut word = words(1);
    all_as_likely(24, || {
        let mut order = [0, 1, 2, 3];
        shuffle(&mut order, |n| index_below(word(), n));
        order
    });
}

#[test]
fn every_choice_is_as_likely() {
    let mut word = words(2);
    all_as_likely(12, || {
        let mut order = [0, 1, 2, 3];
        shuffle_first(&mut order, 2, |n| index_below(word(), n));
        [order[0], order[1]]
    });
}

#[test]
fn indices_asked_for() {
    let mut asked = Vec::new();
    let mut order = [0, 1, 2, 3];
    shuffle(&mut order, |n| {
        asked.push(n);
        0
    });
    assert_eq!((asked.as_slice(), order), (&[4, 3, 2][..], [1, 2, 3, 0]));
    asked.clear();
    shuffle_first(&mut order, 9, |n| {
        asked.push(n);
        usize::MAX // beyond the last is the last
    });
    assert_eq!((asked.as_slice(), order), (&[4, 3, 2, 1][..], [0, 1, 2, 3]));
    shuffle_first(&mut order, 0, |_| unreachable!());
    shuffle(&mut [0_u8; 1], |_| unreachable!());
    shuffle(&mut [0_u8; 0], |_| unreachable!());
    assert_eq!(index_below(u64::MAX, 0), 0);
    assert_eq!(index_below(u64::MAX, usize::MAX), usize::MAX - 1);
}
