//! Where the functions end: zeros, infinities, NaN, the subnormal range, the empty slice.

use countgrid_math::*;

macro_rules! special_values {
    ($module:ident, $float:ident, exp of $lowest:literal is the least) => {
        mod $module {
            use super::*;
            use core::$float::consts::LN_2;

            const INF: $float = $float::INFINITY;
            const NAN: $float = $float::NAN;
            const LEAST: $float = $float::from_bits(1);

            /// Equal bits, NaN being one value; so -0 differs from 0.
            #[track_caller]
            fn same(found: $float, expected: $float) {
                let equal = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                assert!(equal, "{found:e}, expected {expected:e}");
            }

            #[test]
            fn exponentials() {
                for (x, y) in [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (LEAST, 1.0)] {
                    same(exp(x), y);
                }
                same(exp($lowest), LEAST);
                same(exp($lowest - 1.0), 0.0);
                same(exp($float::MAX), INF);
                same(exp(-$float::MAX), 0.0);
                for (x, y) in [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (NAN, NAN)] {
                    same(exp_m1(x), y);
                }
                same(exp_m1(LEAST), LEAST);
                same(exp_m1(-LEAST), -LEAST);
                same(exp_m1($float::MAX), INF);
            }

            #[test]
            fn logarithms() {
                for (x, y) in [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-INF, NAN), (NAN, NAN)] {
                    same(ln(x), y);
                }
                same(ln(-LEAST), NAN);
                let least_exponent = ($float::MAX_EXP + $float::MANTISSA_DIGITS as i32 - 3) as $float;
                same(ln(LEAST), -least_exponent * LN_2);
                for (x, y) in [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (NAN, NAN), (-1.5, NAN)] {
                    same(ln_1p(x), y);
                }
                same(ln_1p(LEAST), LEAST);
                same(ln_1p(-LEAST), -LEAST);
                same(ln_1p(-INF), NAN);
                same(ln_1p($float::MAX), ln($float::MAX));
            }

            #[test]
            fn logistics() {
                for (x, y) in [(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN), ($lowest, LEAST)] {
                    same(sigmoid(x), y);
                }
                for (x, y) in [(0.0, LN_2), (INF, INF), (-INF, 0.0), (NAN, NAN), ($lowest, LEAST)] {
                    same(softplus(x), y);
                }
                same(softplus($float::MAX), $float::MAX);
            }

            #[test]
            fn gammas() {
                for (x, y) in
                    [(0.0, INF), (-0.0, INF), (1.0, 0.0), (2.0, 0.0), (INF, INF), (-1.5, NAN), (NAN, NAN)]
                {
                    assert_eq!(ln_gamma(x).to_bits() << 1, y.to_bits() << 1, "{x}"); // 0 has no sign here
                }
                for (x, y) in [(0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN)] {
                    same(digamma(x), y);
                }
                for (x, y) in [(0.0, INF), (-0.0, INF), (INF, 0.0), (-1.0, NAN), (-INF, NAN), (NAN, NAN)] {
                    same(trigamma(x), y);
                }
                same(ln_gamma($float::MAX), INF);
                same(digamma(LEAST), -INF);
                same(trigamma(LEAST), INF);
                same(ln_gamma(LEAST), -ln(LEAST));
                same(digamma($float::MAX), ln($float::MAX));
            }

            #[test]
            fn roots() {
                for (x, y) in [(0.0, 0.0), (-0.0, -0.0), (4.0, 2.0), (INF, INF), (-1.0, NAN), (NAN, NAN)] {
                    same(sqrt(x), y);
                }
            }

            #[test]
            fn slices() {
                same(sum::<$float>(&[]), 0.0);
                same(max::<$float>(&[]), -INF);
                same(sum_xlogx::<$float>(&[]), 0.0);
                same(sum_xlogx::<$float>(&[0.0, 1.0]), 0.0);
                same(sum_xlogx::<$float>(&[-0.5]), NAN);
                assert_eq!(sum_ln_floored::<$float>(&[]), 0.0);
                for low in [0.0, -1.0, -INF, <$float as countgrid_math::Real>::FLOOR] {
                    let expected = f64::from(<$float as countgrid_math::Real>::FLOOR).ln();
                    let u = f64::from(<$float as countgrid_math::Real>::UNIT_ROUNDOFF);
                    let allowed = 4.0 * u + 3.0 * f64::EPSILON / 2.0 * expected.abs(); // as documented, of one number
                    assert!((sum_ln_floored(&[low]) - expected).abs() <= allowed);
                }
                assert!(sum_ln_floored(&[1.0, NAN]).is_nan());
                assert!(sum_ln_floored(&[NAN, INF]).is_nan());
                assert_eq!(sum_ln_floored(&[0.5, INF, 0.0]), f64::INFINITY);
                assert_eq!(dot::<$float>(&[], &[]), Ok(0.0));
                assert_eq!(dot::<$float>(&[1.0], &[]), Err(LengthError { expected: 1, found: 0 }));
                let mut y = [1.0 as $float];
                assert_eq!(axpy(1.0, &[1.0, 1.0], &mut y), Err(LengthError { expected: 2, found: 1 }));
                same(y[0], 1.0);
                // A NaN at any place, in the chunks and in the rest, is not lost.
                for at in 0..70 {
                    let mut x = [1.0 as $float; 70];
                    x[at] = NAN;
                    same(max(&x), NAN);
                    same(sum(&x), NAN);
                    same(log_sum_exp(&x), NAN);
                    same(softmax(&mut x), NAN);
                    assert!(x.iter().all(|x| x.is_nan()));
                }
            }

            #[test]
            fn softmaxes() {
                for (x, expected, total) in [
                    ([-INF, -INF], [0.0, 0.0], -INF),
                    ([-INF, 3.0], [0.0, 1.0], 3.0),
                    ([INF, 3.0], [1.0, 0.0], INF),
                    ([INF, INF], [0.5, 0.5], INF),
                    ([$float::MAX, -$float::MAX], [1.0, 0.0], $float::MAX),
                ] {
                    let mut q = x;
                    same(log_sum_exp(&x), total);
                    same(softmax(&mut q), total);
                    assert_eq!(q, expected, "{x:?}");
                }
                same(softmax::<$float>(&mut []), -INF);
                same(log_sum_exp::<$float>(&[]), -INF);
                for (cut, expected) in
                    [(1.0, [0.5, 0.5, 0.0]), (0.0, [0.5, 0.5, 0.0]), (-1.0, [0.5, 0.5, 0.0])]
                {
                    let mut q = [7.0, 7.0, 5.5];
                    same(softmax_with_threshold(&mut q, cut), 7.0 + LN_2);
                    assert_eq!(q, expected);
                }
                for cut in [NAN, INF, 1.5] {
                    let (mut q, mut uncut) = ([7.0, 7.0, 5.5], [7.0, 7.0, 5.5]);
                    same(softmax_with_threshold(&mut q, cut), softmax(&mut uncut));
                    assert_eq!(q, uncut);
                }
            }
        }
    };
}
special_values!(single, f32, exp of -103.5 is the least);
special_values!(double, f64, exp of -745.0 is the least);

/// Errors say how many, levels their names.
#[test]
fn texts() {
    assert_eq!(Level::ALL.map(|level| level.to_string()), ["baseline", "avx2", "avx512"]);
    let error = axpy(1.0, &[1.0_f32; 3], &mut [0.0; 2]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains('3') && text.contains('2'), "{text}");
    #[cfg(feature = "alloc")]
    assert!(AllocationError { elements: 17 }.to_string().contains("17 elements"));
}
