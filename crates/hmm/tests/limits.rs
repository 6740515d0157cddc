//! The smallest numbers that count, and products of many of them.

use countgrid_counts::Sequence;
use countgrid_em::ExpectedCounts;
use countgrid_hmm::{Hmm, HmmError, Shape};
use countgrid_math::Real;

/// A transition at [`Real::FLOOR`] is possible, one below is not, in the likelihood and on the best path.
#[test]
fn transitions_below_the_floor_are_impossible() {
    fn check<T: Real>() {
        let (zero, one, floor) = (T::zero(), T::one(), T::FLOOR);
        for (p, possible) in [(floor, true), (floor * T::from_f64(0.5), false), (zero, false)] {
            let tables = [one, zero, one, p, p, one, one, zero, zero, one]; // a state emits its number
            let hmm = Hmm::new(Shape::new(2, 2).unwrap(), tables).unwrap();
            let (sequence, mut path) = (Sequence::new(2, &[0_u8, 1]).unwrap(), [0; 2]);
            let mut scratch = vec![zero; hmm.shape().scratch_len::<T>(2)];
            let log_p = hmm.log_likelihood(&sequence, &mut scratch).unwrap();
            let best = hmm.viterbi(&sequence, &mut path, &mut scratch);
            if possible {
                let expected = floor.to_f64().ln();
                assert!((log_p / expected - 1.0).abs() <= 4.0 * T::UNIT_ROUNDOFF.to_f64(), "{log_p}");
                assert!((best.unwrap() / expected - 1.0).abs() <= 4.0 * T::UNIT_ROUNDOFF.to_f64());
                assert_eq!(path, [0, 1]);
            } else {
                assert_eq!(log_p, f64::NEG_INFINITY);
                assert_eq!(best, Err(HmmError::Impossible { sequence: 0, position: 1 }));
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

/// With one state the likelihood is a product over symbols, of which a float holds the logarithm alone.
#[test]
fn a_product_of_tiny_probabilities() {
    // Symbols 1 to 4 have probabilities 1e-140 to 1e-290, of which two or three multiply to nothing.
    let emit = [1.0_f64, 1e-140, 1e-200, 1e-290, 1e-75];
    let hmm = Hmm::new(Shape::new(1, 5).unwrap(), [&[1.0, 1.0][..], &emit].concat()).unwrap();
    let mut scratch = vec![0.0; hmm.shape().likelihood_scratch_len::<f64>()];
    for x in [&[1_u8, 2][..], &[2, 1, 2], &[1, 1, 1, 1, 1], &[3, 4, 4, 4, 4, 4, 3, 0, 1], &[4; 40]] {
        let found = hmm.log_likelihood(&Sequence::new(5, x).unwrap(), &mut scratch).unwrap();
        let expected: f64 = x.iter().map(|&x| emit[usize::from(x)].ln()).sum();
        assert!((found / expected - 1.0).abs() <= 1e-14, "{x:?}: {found} {expected}");
    }
}

/// The smallest normal number is a probability, and what is below it is none.
#[test]
fn the_smallest_joint_probability() {
    fn check<T: Real>() {
        let (zero, one, least) = (T::zero(), T::one(), T::min_positive_value());
        for (p, expected) in
            [(least, Real::to_f64(least).ln()), (least * T::from_f64(0.5), f64::NEG_INFINITY)]
        {
            let tables = [one, p, one, zero, zero, one, one, zero, zero, one];
            let hmm = Hmm::new(Shape::new(2, 2).unwrap(), tables).unwrap();
            let mut scratch = vec![zero; hmm.shape().likelihood_scratch_len::<T>()];
            let found = hmm.log_likelihood(&Sequence::new(2, &[1_u8]).unwrap(), &mut scratch).unwrap();
            assert!(found == expected || (found / expected - 1.0).abs() <= 1e-6, "{found} {expected}");
        }
    }
    check::<f32>();
    check::<f64>();
}

/// A state lost at the last position, beside one that is not, has no part in pairs either.
#[test]
fn what_is_lost_at_the_end_is_in_no_pair() {
    let least = f64::MIN_POSITIVE;
    let tables = [
        [1.0, 0.0, 0.0], // start
        [0.0, 0.5, 0.5],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 1.0, 1.0], // emissions of symbol 0, of symbol 1
        [0.0, 4.0 * least, least],
    ];
    let hmm = Hmm::new(Shape::new(3, 2).unwrap(), tables.concat()).unwrap();
    let sequence = Sequence::new(2, &[0_u8, 1]).unwrap();
    let mut scratch = vec![0.0; hmm.shape().scratch_len::<f64>(2)];
    let (mut gamma, mut xi) = ([0.0; 6], [0.0; 9]);
    hmm.posterior_pairs(&sequence, &mut gamma, &mut xi, &mut scratch).unwrap();
    assert_eq!(gamma, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(xi, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

/// A state that is all but impossible for a block of positions and then proves to be the one: from the likely state, which
/// it never follows, it takes nothing, however large the ratio of the two.
#[test]
fn an_unlikely_state_that_was_right() {
    let tables = [1.0, 4e-38, 1.0, 0.0, 0.0, 1.0, 0.5, 0.5, 0.0, 0.5, 0.5, 0.0_f32];
    let hmm = Hmm::new(Shape::new(2, 3).unwrap(), tables).unwrap();
    let x: Vec<u8> = (0..40).map(|n| u8::from(n == 39)).collect();
    let sequence = Sequence::new(3, &x).unwrap();
    let mut counts = [f32::NAN; 12];
    let mut scratch = vec![f32::NAN; hmm.counts_scratch_len(&sequence)];
    hmm.expected_counts(&sequence, &mut counts, &mut scratch).unwrap();
    let expected = [0.0, 1.0, 0.0, 0.0, 0.0, 39.0, 0.0, 39.0, 0.0, 1.0, 0.0, 0.0];
    assert!(counts.iter().zip(expected).all(|(x, y)| (x - y).abs() <= 1e-4), "{counts:?}");
}

/// Of equals the path with the lower last state, then with the lower state before it, and so on.
#[test]
fn equal_paths() {
    let shape = Shape::new(3, 2).unwrap();
    let hmm = Hmm::uniform_in(shape, vec![0.0; shape.hmm_len()]).unwrap();
    let sequence = Sequence::new(2, &[0_u8, 1, 1, 0]).unwrap();
    let (mut path, mut scratch) = ([7; 4], vec![0.0; shape.scratch_len::<f64>(4)]);
    hmm.viterbi(&sequence, &mut path, &mut scratch).unwrap();
    assert_eq!(path, [0; 4]);
    // From state 0 nowhere but to 1 or 2, from these nowhere but to 0: of 0101, 0102, .., 0201, .. and 1010, .. the first.
    let moves = |from: usize, to: usize| (from == 0) != (to == 0);
    let hmm = Hmm::with_structure_in(shape, vec![0.0; shape.hmm_len()], |_| true, moves).unwrap();
    hmm.viterbi(&sequence, &mut path, &mut scratch).unwrap();
    assert_eq!(path, [1, 0, 1, 0]);
}
