//! Rotations and eigenpairs of couplings by hand, and where a threshold or a tie could spoil them.

use crate::common;

use common::{draws, normal};
use countgrid_harmonium::{
    HarmoniumError as E, add_gram, add_rotated, align, align_scratch_len, couplings_from_gram,
};
use proptest::prelude::*;

#[test]
fn a_rotated_sample_is_added_with_its_weight() {
    let (w, q) = ([1.0, 2.0, -3.0, 0.5], [0.6, -0.8, 0.8, 0.6]);
    let mut mean = [1.0_f64, 1.0, 2.0, 2.0];
    add_rotated(&w, Some(&q), 2, 0.5, &mut mean).unwrap();
    // W Q: 0.6 + 1.6, -0.8 + 1.2; -1.8 + 0.4, 2.4 + 0.3.
    for (found, expected) in mean.iter().zip([1.0 + 1.1, 1.0 + 0.2, 2.0 - 0.7, 2.0 + 1.35]) {
        assert!((found - expected).abs() < 1e-15 * 8.0, "{mean:?}");
    }
    let mut mean = [1.0_f64, 1.0, 2.0, 2.0];
    add_rotated(&w, None, 2, -2.0, &mut mean).unwrap();
    assert_eq!(mean, [-1.0, -3.0, 8.0, 1.0]);
    // The topics of a word in turn.
    let (turn, mut mean) = ([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0], [0.0; 3]);
    add_rotated(&[1.0, 2.0, 3.0], Some(&turn), 3, 1.0, &mut mean).unwrap();
    assert_eq!(mean, [3.0, 1.0, 2.0]);
    let length = |table, expected, found| Err(E::Length { table, expected, found });
    assert_eq!(add_rotated(&[1.0; 3], Some(&turn[..6]), 3, 1.0, &mut mean), length("rotation", 9, 6));
    let mut mean = [0.0; 4];
    assert_eq!(add_rotated(&w, None, 2, 1.0, &mut [0.0; 3]), length("mean", 4, 3));
    assert_eq!(add_rotated(&w, Some(&q[..3]), 2, 1.0, &mut mean), length("rotation", 4, 3));
    assert_eq!(add_rotated(&w[..3], None, 2, 1.0, &mut mean), length("w", 2, 3));
}

#[test]
fn couplings_of_no_words_or_topics_are_nothing() {
    let nothing = Err(E::Nothing { what: "couplings" });
    for (w, topics) in [(&[1.0, 2.0][..], 0), (&[], 1), (&[], 0)] {
        assert_eq!(add_gram(w, topics, 1.0, &mut []), nothing);
        assert_eq!(add_rotated(w, None, topics, 1.0, &mut []), nothing);
        assert_eq!(align(w, w, topics, &mut [], &mut []), nothing);
    }
}

fn rotation<const N: usize>(w: &[f64], reference: &[f64], topics: usize) -> [f64; N] {
    let mut q = [f64::NAN; N];
    align(w, reference, topics, &mut q, &mut vec![0.0; align_scratch_len(topics)]).unwrap();
    q
}

#[track_caller]
fn check_orthogonal(n: usize, q: &[f64]) {
    for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
        let found: f64 = (0..n).map(|i| q[n * i + a] * q[n * i + b]).sum();
        assert!((found - f64::from(u8::from(a == b))).abs() < 1e-13, "{q:?}");
    }
}

/// With a sample of unit rows the reference is `Wᵀ W_ref`; of a symmetric positive definite one the nearest rotation is none.
#[test]
fn nothing_is_turned_towards_a_positive_definite_product() {
    let unit = [1.0, 0.0, 0.0, 1.0];
    // Columns of one length; of very different ones, not orthogonal but for the last digits; along the axes.
    for reference in
        [[2.0, 1.0, 1.0, 2.0], [1.0, 1e-24, 0.0, 1e-10], [1e-10, 0.0, 1e-24, 1.0], [3.0, 0.0, 0.0, 2.0]]
    {
        let q: [f64; 4] = rotation(&unit, &reference, 2);
        assert!(q.iter().zip(unit).all(|(q, e)| (q - e).abs() < 1e-13), "{reference:?}: {q:?}");
    }
}

#[test]
fn directions_in_which_there_is_nothing_are_completed() {
    // Three topics, of which the reference uses the first, or none.
    let sample = [1.0, 2.0, 2.0, -0.5, 1.0, 0.25];
    let q: [f64; 9] = rotation(&sample, &[3.0, 0.0, 0.0, 0.0, 0.0, 0.0], 3);
    check_orthogonal(3, &q);
    // The first row of the sample is turned onto the first axis.
    assert!([1.0, 2.0, 2.0].iter().enumerate().all(|(i, w)| (q[3 * i] - w / 3.0).abs() < 1e-14), "{q:?}");
    check_orthogonal(3, &rotation::<9>(&sample, &[0.0; 6], 3));
    check_orthogonal(3, &rotation::<9>(&[0.0; 6], &[0.0; 6], 3));
}

proptest! {
    /// A rotation knows no unit of the couplings.
    #[test]
    fn alignment_is_the_same_at_every_scale(seed: u64, angle in -3.0..3.0_f64) {
        let mut noise = draws(seed);
        let reference: Vec<f64> = (0..10).map(|_| normal(&mut noise)).collect();
        let (sin, cos) = angle.sin_cos();
        for scale in [1e-60, 1e-12, 1e12, 1e60] {
            let turned: Vec<f64> = reference.chunks_exact(2)
                .flat_map(|w| [scale * (cos * w[0] - sin * w[1]), scale * (sin * w[0] + cos * w[1])]).collect();
            let q: [f64; 4] = rotation(&turned, &reference, 2);
            check_orthogonal(2, &q);
            for (found, expected) in q.iter().zip([cos, -sin, sin, cos]) {
                prop_assert!((found - expected).abs() < 1e-12, "{q:?}");
            }
        }
    }

    /// `V` of four words and three topics, of which the couplings come back but for a rotation.
    #[test]
    fn couplings_of_a_gram_matrix_begin_above_zero(seed: u64) {
        let mut noise = draws(seed);
        let own: Vec<f64> = (0..12).map(|_| normal(&mut noise)).collect();
        let (mut v, mut w) = ([0.0; 16], [0.0; 12]);
        add_gram(&own, 3, 1.0, &mut v).unwrap();
        couplings_from_gram(&mut v, 3, &mut w, &mut [0.0; 16]).unwrap();
        let mut before = f64::INFINITY;
        for topic in 0..3 {
            let column: Vec<f64> = (0..4).map(|i| w[3 * i + topic]).collect();
            prop_assert!(column.iter().find(|x| **x != 0.0).is_none_or(|x| *x > 0.0), "{w:?}");
            let square = column.iter().map(|x| x * x).sum::<f64>();
            prop_assert!(square <= before * (1.0 + 1e-12));
            before = square;
        }
    }
}

#[test]
fn couplings_of_gram_matrices_by_hand() {
    for scale in [1.0, 1e-40, 1e40] {
        let root = f64::sqrt(scale);
        let check = |topics: usize, v: &[f64], expected: &[f64]| {
            let mut scaled: Vec<f64> = v.iter().map(|v| v * scale).collect();
            let (mut w, mut vectors) = (vec![f64::NAN; expected.len()], vec![0.0; v.len()]);
            couplings_from_gram(&mut scaled, topics, &mut w, &mut vectors).unwrap();
            for (found, expected) in w.iter().zip(expected) {
                assert!((found - root * expected).abs() < 1e-14 * root * 8.0, "{v:?} {scale}: {w:?}");
            }
        };
        check(1, &[9.0], &[3.0]);
        check(2, &[9.0], &[3.0, 0.0]); // more topics than words
        // Eigenvalues 8 along (1, 1) and 2 along (1, -1).
        check(2, &[5.0, 3.0, 3.0, 5.0], &[2.0, 1.0, 2.0, -1.0]);
        check(2, &[5.0, -3.0, -3.0, 5.0], &[2.0, 1.0, -2.0, 1.0]);
        check(1, &[5.0, 3.0, 3.0, 5.0], &[2.0, 2.0]);
        // A word without couplings, before and after the others.
        check(2, &[5.0, 3.0, 0.0, 3.0, 5.0, 0.0, 0.0, 0.0, 0.0], &[2.0, 1.0, 2.0, -1.0, 0.0, 0.0]);
        check(2, &[0.0, 0.0, 0.0, 0.0, 5.0, 3.0, 0.0, 3.0, 5.0], &[0.0, 0.0, 2.0, 1.0, 2.0, -1.0]);
        check(2, &[0.0; 4], &[0.0; 4]);
    }
}
