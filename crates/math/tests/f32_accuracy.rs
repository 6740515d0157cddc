//! A sample of `examples/accuracy.rs`: every 4099th `f32`, a prime, so that all exponents and signs occur and the
//! low bits vary.

mod reference;
use reference::{Errors, FUNCTIONS, error};

/// Largest error of each function over all inputs, in ulp, from `ACCURACY.md`, rounded up.
const BOUNDS: [(&str, f64); 10] = [
    ("exp", 0.77),
    ("exp_m1", 1.03),
    ("ln", 0.87),
    ("ln_1p", 0.87),
    ("sigmoid", 2.41),
    ("softplus", 1.56),
    ("sqrt", 0.5),
    ("ln_gamma", 0.501),
    ("digamma", 0.501),
    ("trigamma", 0.501),
];

#[test]
fn no_f32_function_is_less_accurate_than_documented() {
    for ((name, function, reference), (bound_of, bound)) in FUNCTIONS.into_iter().zip(BOUNDS) {
        assert_eq!(name, bound_of);
        let mut errors = Errors::default();
        for bits in (0..=u32::MAX).step_by(4099) {
            let x = f32::from_bits(bits);
            errors += error(x, function(x), reference(f64::from(x)));
        }
        println!("{name}: {:.3} ulp at {:e}", errors.worst, errors.at);
        assert_eq!(errors.special, 0, "{name}: NaN or infinity in the wrong place");
        assert!(errors.worst <= bound, "{name}: {} ulp at {:e}", errors.worst, errors.at);
    }
}
