//! Counts become scalars with one rounding, and overflow is noticed.

use countgrid_counts::Count;
use proptest::prelude::*;

proptest! {
    #[test] // 2^24 to 2^64: where f32 rounds, where f64 rounds, and where rounding twice differs
    fn integers_round_once(count: u64, shift in 0..40_u32) {
        let count = count >> shift;
        prop_assert_eq!(count.to_real::<f32>(), count as f32);
        prop_assert_eq!(count.to_real::<f64>(), count as f64);
        prop_assert_eq!((count as i64).to_real::<f32>(), count as i64 as f32);
    }
}

#[test]
fn rounding_twice_would_differ() {
    // Halfway between two f32 after a first rounding to f64, above it before.
    let count = (1_u64 << 60) + (1 << 36) + 1;
    assert_ne!(count as f32, count as f64 as f32);
    assert_eq!(count.to_real::<f32>(), count as f32);
    assert_eq!(0.1_f64.to_real::<f32>(), 0.1);
    assert_eq!(f64::MAX.to_real::<f32>(), f32::INFINITY);
}

#[test]
fn validity_zero_and_sums() {
    assert!(0_i8.is_valid() && !(-1_i8).is_valid() && u64::MAX.is_valid());
    assert!((-0.0_f32).is_valid() && f32::MAX.is_valid() && (-0.0_f64).is_zero());
    assert!(!f64::NAN.is_valid() && !f64::INFINITY.is_valid() && !f32::MIN.is_valid());
    assert_eq!(Count::checked_add(i64::MAX, 1), None);
    assert_eq!(Count::checked_add(f32::MAX, f32::MAX), None);
    assert_eq!(Count::checked_add(0.5_f32, 0.25), Some(0.75));
    assert!(usize::ZERO.is_zero() && f64::ZERO.is_zero());
}
