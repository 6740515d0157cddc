//! Every instruction set gives the same bits as a plain loop in the documented order.

use std::sync::{Mutex, PoisonError};

use countgrid_math::*;
use proptest::prelude::*;

/// The level belongs to the process; one test at a time may change it.
static LEVEL: Mutex<()> = Mutex::new(());

fn same_on_every_level<R: PartialEq + std::fmt::Debug>(run: impl Fn() -> R) -> R {
    let _guard = LEVEL.lock().unwrap_or_else(PoisonError::into_inner);
    set_level(Level::Baseline);
    let baseline = run();
    for level in Level::ALL {
        set_level(level);
        assert_eq!(run(), baseline, "{level}");
    }
    baseline
}

/// The documented order of a reduction, written down plainly.
fn folded<T: Real>(terms: impl Iterator<Item = T>, start: T, combine: impl Fn(T, T) -> T) -> T {
    let mut lanes = vec![start; T::LANES];
    for (i, term) in terms.enumerate() {
        lanes[i % T::LANES] = combine(lanes[i % T::LANES], term);
    }
    while lanes.len() > 1 {
        let half = lanes.len() / 2;
        lanes = (0..half).map(|i| combine(lanes[i], lanes[i + half])).collect();
    }
    lanes[0]
}

macro_rules! levels {
    ($module:ident, $float:ident) => {
        mod $module {
            use super::*;

            /// The bits; NaN is one value, its payload is not promised.
            fn bits(x: &[$float]) -> Vec<u64> {
                x.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits().into() }).collect()
            }

            fn in_place(x: &[$float], kernel: impl Fn(&mut [$float])) -> Vec<u64> {
                same_on_every_level(|| {
                    let mut x = x.to_vec();
                    kernel(&mut x);
                    bits(&x)
                })
            }

            fn add(a: $float, b: $float) -> $float {
                a + b
            }

            /// `Σ ln max(x, floor)`, powers of two apart.
            fn sum_of_logarithms(x: &[$float]) -> f64 {
                const LANES: usize = <$float as Real>::LANES;
                let third: $float = 1.0 / 3.0;
                let mut total = 0.0;
                for rows in x.chunks(32 * LANES) {
                    let (mut products, mut powers) = ([1.0; LANES], [0.0; LANES]);
                    for (i, &x) in rows.iter().enumerate() {
                        let (mut m, mut k) = (if x < $float::FLOOR { $float::FLOOR } else { x }, 0.0);
                        while m.is_finite() && m >= 4.0 * third {
                            (m, k) = (m / 2.0, k + 1.0);
                        }
                        while m < 2.0 * third {
                            (m, k) = (m * 2.0, k - 1.0);
                        }
                        products[i % LANES] *= m;
                        powers[i % LANES] += k;
                    }
                    let [powers, logs] = [powers, products.map(ln)].map(|x| f64::from(folded(x.into_iter(), 0.0, add)));
                    total += powers * std::f64::consts::LN_2 + logs;
                }
                total
            }

            fn numbers() -> impl Strategy<Value = Vec<$float>> {
                prop_oneof![
                    prop::collection::vec(-100.0..100.0 as $float, 0..150),
                    prop::collection::vec(0.0..1.0 as $float, 500..1500),
                    prop::collection::vec(prop::num::$float::ANY, 0..150),
                ]
            }

            proptest! {
                #[test]
                fn elements(x in numbers(), a in prop::num::$float::ANY) {
                    let each = |f: fn($float) -> $float| bits(&x.iter().map(|&x| f(x)).collect::<Vec<_>>());
                    prop_assert_eq!(in_place(&x, exp_slice), each(exp));
                    prop_assert_eq!(in_place(&x, ln_slice), each(ln));
                    in_place(&x, digamma_slice); // there is no other body to compare with
                    prop_assert_eq!(in_place(&x, |x| scale(a, x)), bits(&x.iter().map(|x| x * a).collect::<Vec<_>>()));
                    let expected: Vec<_> = x.iter().map(|x| x + a * x).collect();
                    prop_assert_eq!(in_place(&x, |y| axpy(a, &x, y).unwrap()), bits(&expected));
                }

                #[test]
                fn eight_sums_meet_in_pairs_of_neighbours(x in prop::array::uniform8(-100.0..100.0 as $float)) {
                    let mut sums = x.to_vec();
                    while sums.len() > 1 {
                        sums = sums.chunks(2).map(|pair| pair[0] + pair[1]).collect();
                    }
                    prop_assert_eq!(bits(&[sum_of_eight(x)]), bits(&sums));
                }

                #[test]
                fn reductions(x in numbers()) {
                    let y: Vec<$float> = x.iter().rev().copied().collect();
                    let run = |f: &dyn Fn() -> $float| same_on_every_level(|| bits(&[f()]));
                    prop_assert_eq!(run(&|| sum(&x)), bits(&[folded(x.iter().copied(), 0.0, add)]));
                    let products = x.iter().zip(&y).map(|(x, y)| x * y);
                    prop_assert_eq!(run(&|| dot(&x, &y).unwrap()), bits(&[folded(products, 0.0, add)]));
                    let entropies = x.iter().map(|&x| if x == 0.0 { 0.0 } else { x * ln(x) });
                    prop_assert_eq!(run(&|| sum_xlogx(&x)), bits(&[folded(entropies, 0.0, add)]));
                    let sizes: Vec<_> = x.iter().map(|x| x.abs()).collect();
                    let wide = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
                    let found = same_on_every_level(|| wide(sum_ln_floored(&sizes)));
                    prop_assert_eq!(found, wide(sum_of_logarithms(&sizes)));
                    let larger = |a: $float, b: $float| if b > a || b.is_nan() { b } else { a };
                    let largest = folded(x.iter().copied(), -$float::INFINITY, larger);
                    prop_assert_eq!(run(&|| max(&x)), bits(&[largest]));
                    let exps = x.iter().map(|&x| if x == largest { 1.0 } else { exp(x - largest) });
                    let expected = if largest == -$float::INFINITY { largest } else {
                        largest + ln(folded(exps, 0.0, add))
                    };
                    prop_assert_eq!(run(&|| log_sum_exp(&x)), bits(&[expected]));
                    let returned = same_on_every_level(|| bits(&[softmax(&mut x.clone())]));
                    prop_assert_eq!(returned, bits(&[expected]));
                    in_place(&x, |x| { softmax(x); });
                    in_place(&x, |x| { softmax_with_threshold(x, 20.0); });
                }
            }
        }
    };
}
levels!(single, f32);
levels!(double, f64);

#[cfg(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx2")))]
mod choice {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_level_in_force_is_one_the_machine_has() {
        let _guard = LEVEL.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(set_level(Level::Baseline), Level::Baseline);
        assert_eq!(level().name(), "baseline");
        for asked in Level::ALL {
            assert_eq!(set_level(asked), asked.min(best()));
            assert_eq!(level(), asked.min(best()));
        }
    }

    #[test]
    fn the_environment_lowers_the_level() {
        let known = Level::ALL.map(|level| (level.name(), level.min(best())));
        for (asked, expected) in known.into_iter().chain([("", best()), ("avx1024", best())]) {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["choice::print_the_level", "--exact", "--ignored", "--nocapture"])
                .env("COUNTGRID_SIMD", asked)
                .output()
                .unwrap();
            let output = String::from_utf8_lossy(&child.stdout);
            assert!(output.contains(&format!("level: {expected}")), "{output}");
        }
    }

    fn best() -> Level {
        use std::arch::is_x86_feature_detected as has;
        if !has!("avx2") {
            Level::Baseline
        } else if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
            Level::Avx512
        } else {
            Level::Avx2
        }
    }

    #[test]
    #[ignore = "run by the test above, in a process of its own"]
    fn print_the_level() {
        println!("level: {}", level());
    }
}
