//! The identities of the model, by enumeration, quadrature and differences.

use crate::common;

use common::*;
use countgrid_counts::{Bag, Bags, Dense};
use countgrid_em::FreeEnergy;
use countgrid_harmonium::{
    Document, Gradient, Grouping, Guard, Harmonium, Prior, Rates, Shape, Sharing, Step, Terms, add_gram,
    align, align_scratch_len, coupling_errors, couplings_from_gram, distance_squared, empirical_bayes,
};
use proptest::prelude::*;

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// `log E_{h ~ N(0, I)} Π (1 + exp(α + W h))^n` by the trapezoidal rule, which for entire functions under a Gaussian is
/// exact to `exp(-2 π² / step²)`: nothing at a step of 0.2.
fn quadrature(model: &Model) -> f64 {
    let topics = model.shape().topics();
    let reach = |j: usize| {
        let pull: f64 = model.w().chunks_exact(topics).zip(model.sizes()).map(|(w, n)| n * w[j].abs()).sum();
        ((pull + 9.0) / 0.2).ceil() as i64
    };
    let grid = |j: usize| (-reach(j)..=reach(j)).map(|k| k as f64 * 0.2);
    let log_term = |h: &[f64]| {
        let rows = model.w().chunks_exact(topics).zip(model.alpha()).zip(model.sizes());
        let fields =
            rows.map(|((row, a), n)| n * softplus(a + row.iter().zip(h).map(|(w, h)| w * h).sum::<f64>()));
        fields.sum::<f64>() - 0.5 * h.iter().map(|h| h * h + (2.0 * std::f64::consts::PI).ln()).sum::<f64>()
            + topics as f64 * 0.2_f64.ln()
    };
    let terms: Vec<f64> = match topics {
        1 => grid(0).map(|a| log_term(&[a])).collect(),
        _ => grid(0).flat_map(|a| grid(1).map(move |b| [a, b])).map(|h| log_term(&h)).collect(),
    };
    countgrid_math::log_sum_exp(&terms)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test] // sums of at most some 10^4 terms, each good to 1e-14: 1e-11 leaves room for their conditioning
    fn enumeration_is_quadrature(words in 1..5_usize, topics in 1..3_usize, size in 1..4_u32, seed: u64) {
        let model = random(Shape::words(words, topics).unwrap(), 1.0, 0.7, size, seed);
        let (enumerated, integrated) = (log_partition(&model), quadrature(&model));
        prop_assert!((enumerated - integrated).abs() < 1e-11 * (1.0 + enumerated.abs()), "{enumerated} {integrated}");
    }

    #[test] // central differences of step 1e-4: third derivatives of order 10 give 1e-7, roundings 1e-11
    fn expectations_are_the_gradient_of_log_z(words in 1..4_usize, topics in 1..4_usize, size in 1..3_u32, seed: u64) {
        for shape in kinds(words, topics) {
            let model = random(shape, 0.7, 0.25, size, seed);
            let expected = expectations(&model);
            for (table, expected) in expected.parts().into_iter().enumerate() {
                for (index, &expected) in expected.iter().enumerate() {
                    let step = |by| nudged(&model, table, index, by).map(|model| log_partition(&model)).unwrap();
                    let slope = (step(1e-4) - step(-1e-4)) / 2e-4;
                    prop_assert!((slope - expected).abs() < 2e-6 * (1.0 + expected.abs()),
                        "{shape:?} table {table} at {index}: {slope} {expected}");
                }
            }
        }
    }

    #[test] // the same differences, of log p(X | W) + log p(W)
    fn data_minus_model_minus_prior_is_the_gradient_of_the_posterior(seed: u64) {
        let shape = Shape::words(3, 2).unwrap();
        let model = random(shape, 0.7, 0.4, 1, seed);
        let counts = [1_u8, 0, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0];
        let bags = Dense::new(3, &counts).unwrap();
        let prior = Prior::new(vec![0.1, -0.2, 0.3], vec![0.5, 1.0, 0.25]).unwrap();
        let mut sums = Gradient::allocate(shape).unwrap();
        model.add_data(&bags, &[], 1.0, &mut sums, &mut scratch(&shape)).unwrap();
        let expected = expectations(&model);
        let value = |model: &Model| {
            model.log_posterior(&bags, &[], &prior, &mut [0.0; 2], &mut vec![0.0; shape.exact_scratch_len()]).unwrap()
        };
        for index in 0..6 {
            let (row, w) = (index / 2, model.w()[index]);
            let pull = (w - prior.means()[row]) / prior.variances()[row];
            let gradient = sums.parts()[1][index] - 4.0 * expected.parts()[1][index] - pull;
            let step = |by| value(&nudged(&model, 1, index, by).unwrap());
            let slope = (step(1e-4) - step(-1e-4)) / 2e-4;
            prop_assert!((slope - gradient).abs() < 5e-6 * (1.0 + gradient.abs()), "{slope} {gradient}");
        }
    }

    #[test]
    fn rotations_leave_the_likelihood_and_a_centred_prior(angle in -3.0..3.0_f64, seed: u64) {
        let shape = Shape::words(4, 2).unwrap();
        let model = random(shape, 1.0, 0.6, 3, seed);
        let (sin, cos) = angle.sin_cos();
        let turned = model.clone().update(&mut [], |[_, w, ..]| {
            w.chunks_exact_mut(2).for_each(|w| (w[0], w[1]) = (cos * w[0] - sin * w[1], sin * w[0] + cos * w[1]));
        }).unwrap();
        let counts = [1_u8, 0, 2, 0, 0, 1, 1, 1];
        let bags = Dense::new(4, &counts).unwrap();
        let likelihood = |model: &Model| model.log_likelihood(&bags, &[], log_partition(model), &mut [0.0; 2]).unwrap();
        let (a, b) = (likelihood(&model), likelihood(&turned));
        prop_assert!((a - b).abs() < 1e-12 * (1.0 + a.abs()));
        let log_prior = |model: &Model, mean| {
            Prior::new(vec![mean; 4], vec![0.3; 4]).unwrap().log_density(model).unwrap()
        };
        prop_assert!((log_prior(&model, 0.0) - log_prior(&turned, 0.0)).abs() < 1e-12);
        // With a mean it changes by μ/σ² times how far the sum of all couplings moves.
        let sum = |model: &Model| model.w().iter().sum::<f64>();
        let moved = 0.5 / 0.3 * (sum(&turned) - sum(&model));
        prop_assert!((log_prior(&turned, 0.5) - log_prior(&model, 0.5) - moved).abs() < 1e-11);
    }

    #[test]
    fn the_diagonal_of_v_is_a_bias_of_binary_words(seed: u64) {
        let shape = Shape::words(5, 2).unwrap();
        let model = random(shape, 1.0, 0.8, 1, seed);
        let mut v = vec![0.0; 25];
        add_gram(model.w(), 2, 1.0, &mut v).unwrap();
        model.for_each_state(&mut vec![0.0; shape.exact_scratch_len()], |x, log_p| {
            let mut moved = 0.0;
            for i in 0..5 {
                moved += x[i] * (model.alpha()[i] + 0.5 * v[i * 5 + i]);
                moved += (0..5).filter(|&l| l != i).map(|l| 0.5 * v[i * 5 + l] * x[i] * x[l]).sum::<f64>();
            }
            assert!((log_p - moved).abs() < 1e-12 * (1.0 + moved.abs()));
        }).unwrap();
    }

    // Given topics, words are Poisson with a rate of at most λ: beyond λ + 12 √λ + 30 of one there is less than e⁻⁵⁰ of any
    // state's sum, by Chernoff's bound e⁻λ (eλ / x)ˣ.
    #[test]
    fn rate_adapting_sums_over_words_as_over_topics(seed: u64) {
        let model = random(Shape::rate_adapting(2, 2).unwrap(), 0.5, 0.4, 2, seed);
        let most = |(w, alpha): (&[f64], &f64)| {
            (alpha + w.iter().zip(model.sizes()).map(|(w, n)| n * w.max(0.0)).sum::<f64>()).exp()
        };
        let rate = model.w().chunks_exact(2).zip(model.alpha()).map(most).fold(0.0, f64::max);
        prop_assume!(rate < 200.0); // 140,000 terms
        let end = (rate + 12.0 * rate.sqrt() + 30.0).ceil() as u16;
        let mut terms = Vec::new();
        for a in 0..end {
            for b in 0..end {
                let counts = [a, b];
                let bag = Dense::new(2, &counts).unwrap();
                terms.push(model.log_unnormalised(&bag, 0, &[], &mut [0.0; 2]).unwrap());
            }
        }
        let (x, h) = (countgrid_math::log_sum_exp(&terms), log_partition(&model));
        prop_assert!((x - h).abs() < 1e-10 * (1.0 + h.abs()), "{x} {h}");
    }

    #[test]
    fn without_couplings_of_features_the_dual_wing_factorises(seed: u64) {
        let shape = Shape::dual_wing(3, 2, 2).unwrap();
        let dual = random(shape, 1.0, 0.3, 2, seed).update(&mut [0.0; 4], |[.., u]| u.fill(0.0)).unwrap();
        let tables = [dual.alpha(), dual.w(), dual.sizes()].concat();
        let words = Harmonium::new(Shape::words(3, 2).unwrap(), tables, &mut []).unwrap();
        let features: f64 = dual.variances().iter().zip(dual.beta())
            .map(|(s, b)| 0.5 * (s * b * b + (2.0 * std::f64::consts::PI * s).ln())).sum();
        prop_assert!((log_partition(&dual) - log_partition(&words) - features).abs() < 1e-12 * 10.0);
    }

    #[test]
    fn topics_of_words_are_topics_at_the_expected_features(seed: u64) {
        // E[h | x] solves h = Wᵀx + Uᵀ E[z | h], E[z | h] = s (β + U h).
        let shape = Shape::dual_wing(3, 2, 2).unwrap();
        let model = random(shape, 1.0, 0.3, 1, seed);
        let bag = Bag::new(3, &[0, 2], &[1_u8, 1]).unwrap();
        let (mut h, mut again) = ([0.0; 2], [0.0; 2]);
        model.topics_of_words(&bag, 0, &mut h, &mut [0.0; 4]).unwrap();
        let z: Vec<f64> = (0..2).map(|c| {
            let u = &model.u()[2 * c..2 * c + 2];
            model.variances()[c] * (model.beta()[c] + u[0] * h[0] + u[1] * h[1])
        }).collect();
        model.topics(&bag, 0, &z, &mut again).unwrap();
        prop_assert!(h.iter().zip(again).all(|(a, b)| (a - b).abs() < 1e-11 * (1.0 + b.abs())));
    }

    #[test]
    fn terms_sum_to_the_negative_log_likelihood(seed: u64) {
        for shape in [Shape::words(3, 2).unwrap(), Shape::rate_adapting(3, 2).unwrap()] {
            let model = random(shape, 1.0, 0.4, 3, seed);
            let (log_z, bag) = (log_partition(&model), Bag::new(3, &[1, 2], &[1_u8, 2]).unwrap());
            let likelihood = model.log_likelihood(&bag, &[], log_z, &mut [0.0; 2]).unwrap();
            for grouping in [Grouping::Topic, Grouping::Word] {
                let terms = Terms::new(&model, grouping, log_z).unwrap();
                let mut values = vec![0.0; terms.term_count(&bag)];
                let sum = terms.free_energy_terms(&bag, &mut values, &mut [0.0; 2]).unwrap();
                prop_assert!((sum + likelihood).abs() < 1e-12 * (1.0 + sum.abs()));
            }
        }
    }

    #[test]
    fn terms_of_both_wings_sum_to_the_negative_log_likelihood(seed: u64) {
        let model = random(Shape::dual_wing(3, 2, 2).unwrap(), 1.0, 0.3, 3, seed);
        let (log_z, z) = (log_partition(&model), [0.75, -1.5]);
        let bag = Bag::new(3, &[1, 2], &[1_u8, 2]).unwrap();
        let document = Document::new(bag, &z).unwrap();
        let likelihood = model.log_likelihood(&bag, &z, log_z, &mut [0.0; 2]).unwrap();
        let mut groups = vec![];
        for (grouping, len) in [(Grouping::Topic, 1 + 1 + 2 + 1), (Grouping::Word, 3 + 2 + 2 + 1)] {
            let terms = Terms::new(&model, grouping, log_z).unwrap();
            prop_assert_eq!(terms.term_count(&document), len);
            let mut values = vec![0.0; len];
            let sum = terms.free_energy_terms(&document, &mut values, &mut [0.0; 2]).unwrap();
            prop_assert!((sum + likelihood).abs() < 1e-12 * (1.0 + sum.abs()));
            groups.push(values);
        }
        prop_assert!((groups[1][..3].iter().sum::<f64>() - groups[0][0]).abs() < 1e-12);
        prop_assert!((groups[1][3..5].iter().sum::<f64>() - groups[0][1]).abs() < 1e-12);
        prop_assert_eq!(&groups[1][5..], &groups[0][2..]);
    }

    #[test]
    fn distances_of_topics_are_distances_under_v(seed: u64) {
        let shape = Shape::words(4, 3).unwrap();
        let model = random(shape, 1.0, 0.6, 3, seed);
        let (x, y) = ([1_u8, 0, 3, 0], [0_u8, 1, 1, 0]);
        let (x, y) = (Dense::new(4, &x).unwrap(), Dense::new(4, &y).unwrap());
        let topics = |bags: &Dense<'_, u8>| {
            let mut h = [0.0; 3];
            model.topics(bags, 0, &[], &mut h).unwrap();
            h
        };
        let direct: f64 = topics(&x).iter().zip(topics(&y)).map(|(a, b)| (a - b) * (a - b)).sum();
        let mut v = vec![0.0; 16];
        add_gram(model.w(), 3, 1.0, &mut v).unwrap();
        let by_v = distance_squared(&v, (&x, 0), (&y, 0), &mut [0.0; 4]).unwrap();
        prop_assert!((direct - by_v).abs() < 1e-12 * (1.0 + direct));
        // Coordinates from the eigenpairs of V have V for their Gram matrix, hence the same distances.
        let (mut w, mut again, mut spoiled) = (vec![0.0; 12], vec![0.0; 16], v.clone());
        couplings_from_gram(&mut spoiled, 3, &mut w, &mut [0.0; 16]).unwrap();
        add_gram(&w, 3, 1.0, &mut again).unwrap();
        let (mae, mre) = coupling_errors(&v, &again).unwrap();
        prop_assert!(mae < 1e-13 * 10.0 && mre < 1e-9, "{mae} {mre}");
    }

    #[test]
    fn alignment_finds_a_rotation_that_was_applied(seed: u64, angle in -3.0..3.0_f64, rank in 1..3_usize) {
        let mut noise = draws(seed);
        let reference: Vec<f64> = (0..10).map(|i| if i % 2 < rank { normal(&mut noise) } else { 0.0 }).collect();
        let (sin, cos) = angle.sin_cos();
        let turned: Vec<f64> = reference.chunks_exact(2)
            .flat_map(|w| [cos * w[0] - sin * w[1], sin * w[0] + cos * w[1]]).collect();
        let mut q = [0.0; 4];
        align(&turned, &reference, 2, &mut q, &mut vec![0.0; align_scratch_len(2)]).unwrap();
        for (w, reference) in turned.chunks_exact(2).zip(reference.chunks_exact(2)) {
            for j in 0..2 {
                prop_assert!((w[0] * q[j] + w[1] * q[2 + j] - reference[j]).abs() < 1e-12);
            }
        }
        // Orthogonal, whatever the rank.
        for (i, j, expected) in [(0, 0, 1.0), (0, 1, 0.0), (1, 1, 1.0)] {
            prop_assert!((q[i] * q[j] + q[2 + i] * q[2 + j] - expected).abs() < 1e-13);
        }
    }

    /// Of three directions, none along an axis, the rows of the reference have one, two or all.
    #[test]
    fn alignment_is_a_rotation_whatever_directions_there_are(seed: u64, rank in 1..4_usize) {
        let mut noise = draws(seed);
        let mut turned = |mut rows: Vec<f64>| {
            for (a, b) in [(0, 1), (1, 2), (0, 2)] {
                let (sin, cos) = (3.0 * normal(&mut noise)).sin_cos();
                for row in rows.chunks_exact_mut(3) {
                    (row[a], row[b]) = (cos * row[a] - sin * row[b], sin * row[a] + cos * row[b]);
                }
            }
            rows
        };
        // Of different lengths, so that every direction is well determined.
        let rows = (0..3 * rank).map(|i| if i % 3 == i / 3 { 1.0 + (i % 3) as f64 } else { 0.0 }).collect();
        let reference = turned(rows);
        let sample = turned(reference.clone());
        let mut q = [0.0; 9];
        align(&sample, &reference, 3, &mut q, &mut vec![0.0; align_scratch_len(3)]).unwrap();
        for (w, reference) in sample.chunks_exact(3).zip(reference.chunks_exact(3)) {
            for j in 0..3 {
                let found: f64 = (0..3).map(|i| w[i] * q[3 * i + j]).sum();
                prop_assert!((found - reference[j]).abs() < 1e-12, "{found} {}", reference[j]);
            }
        }
        for (a, b) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)] {
            let found: f64 = (0..3).map(|i| q[3 * i + a] * q[3 * i + b]).sum();
            prop_assert!((found - f64::from(u8::from(a == b))).abs() < 1e-13, "{q:?}");
        }
    }

    #[test]
    fn empirical_bayes_is_stationary(seed: u64) {
        let mut noise = draws(seed);
        let samples: Vec<f64> = (0..4 * 3 * 2).map(|_| normal(&mut noise)).collect();
        for sharing in [Sharing::PerRow, Sharing::Pooled] {
            let (mut means, mut variances) = (vec![0.0; 3], vec![0.0; 3]);
            empirical_bayes(&samples, 2, sharing, Guard::Floor(0.0), &mut means, &mut variances).unwrap();
            let value = |mean: f64, variance: f64| {
                let prior = Prior::new(
                    means.iter().map(|m| m + mean).collect::<Vec<_>>(),
                    variances.iter().map(|v| v * (1.0 + variance)).collect(),
                ).unwrap();
                let models = samples.chunks_exact(6).map(|w| {
                    let tables = [&[0.0; 3], w, &[1.0; 3]].concat();
                    Harmonium::new(Shape::words(3, 2).unwrap(), tables, &mut []).unwrap()
                });
                models.map(|model| prior.log_density(&model).unwrap()).sum::<f64>()
            };
            // A maximum: both sides are lower; and level, to the cubic term of step 1e-3.
            let best = value(0.0, 0.0);
            for (mean, variance) in [(1e-3, 0.0), (0.0, 1e-3)] {
                let (up, down) = (value(mean, variance), value(-mean, -variance));
                prop_assert!(up < best && down < best && (up - down).abs() < 1e-5 * (1.0 + best.abs()));
            }
        }
    }
}

#[test]
fn samples_of_every_state_give_the_exact_ratio() {
    // Under W' = 0 and α = 0 all states are equally likely: each once is the distribution itself.
    let shape = Shape::words(4, 2).unwrap();
    let model = random(shape, 0.0, 0.8, 1, 3);
    let zero = model.clone().update(&mut [], |[_, w, ..]| w.fill(0.0)).unwrap();
    let states: Vec<u8> = (0..16_u8).flat_map(|state| (0..4).map(move |i| state >> i & 1)).collect();
    let states = Dense::new(4, &states).unwrap();
    let estimate = model.log_partition_ratio(&zero, &states, &mut [0.0; 16], &mut [0.0; 2]).unwrap();
    let exact = log_partition(&model) - log_partition(&zero);
    assert!((estimate - exact).abs() < 1e-13, "{estimate} {exact}");
}

#[test]
fn errors_of_couplings_are_bounded() {
    assert_eq!(coupling_errors(&[0.3, -0.2], &[0.3, -0.2]).unwrap(), (0.0, 0.0));
    assert_eq!(coupling_errors(&[1.0, -1.0], &[-1.0, 1.0]).unwrap().1, 2.0); // the most there is
    assert!(coupling_errors(&[1.0], &[f64::NAN]).unwrap().1.is_nan());
}

#[test]
fn a_move_out_of_the_positive_definite_region_is_refused() {
    let shape = Shape::dual_wing(2, 1, 1).unwrap();
    // alpha, w, sizes, beta, variances, u: exists for s u² < 1.
    let tables = |u: f64| vec![0.0, 0.0, 0.1, 0.2, 1.0, 1.0, 0.0, 1.0, u];
    assert!(Harmonium::new(shape, tables(0.999), &mut [0.0]).is_ok());
    let error = Harmonium::new(shape, tables(1.0), &mut [0.0]).unwrap_err();
    assert_eq!(error, countgrid_harmonium::HarmoniumError::NotPositiveDefinite);
    let mut model = Harmonium::new(shape, tables(0.9), &mut [0.0]).unwrap();
    let mut gradient = Gradient::allocate(shape).unwrap();
    gradient.parts_mut()[3][0] = 1.0;
    gradient.parts_mut()[1][0] = 1.0;
    let step = |model: &mut Model, by: f64| {
        model.ascend(
            &gradient,
            Rates { biases: 0.0, couplings: by },
            &mut vec![0.0; shape.step_scratch_len()],
        )
    };
    let before = model.clone();
    assert_eq!(step(&mut model, 0.2), Ok(Step::Refused));
    assert_eq!((model.w(), model.u()), (before.w(), before.u()));
    assert_eq!(step(&mut model, 0.05), Ok(Step::Taken));
    assert!((model.u()[0] - 0.95).abs() < 1e-15 && (model.w()[0] - 0.15).abs() < 1e-15);
}

#[test]
fn gradients_add_up_over_batches() {
    for shape in kinds(3, 2) {
        let model = random(shape, 0.5, 0.3, 2, 5);
        // 20 documents: more than one vector of lanes.
        let counts: Vec<u8> = (0..60).map(|i| (i * 7 % 5 == 0) as u8).collect();
        let z: Vec<f64> = (0..20 * shape.features()).map(|i| 0.1 * i as f64).collect();
        let sums = |cuts: &[usize]| {
            let mut sums = Gradient::allocate(shape).unwrap();
            for cut in cuts.windows(2) {
                let range = cut[0]..cut[1];
                let bags = Dense::new(3, &counts).unwrap().slice(range.clone()).unwrap();
                let z = &z[range.start * shape.features()..range.end * shape.features()];
                model.add_data(&bags, z, 1.0, &mut sums, &mut scratch(&shape)).unwrap();
            }
            countgrid_em::Tables::buffer(&sums).to_vec()
        };
        assert_eq!(sums(&[0, 20]), sums(&[0, 3, 20])); // the same additions in the same order
        // By the definition.
        let bags = Dense::new(3, &counts).unwrap();
        let mut direct = vec![0.0; 6];
        for t in 0..20 {
            let mut h = [0.0; 2];
            model.topics(&bags, t, &z[t * shape.features()..(t + 1) * shape.features()], &mut h).unwrap();
            for (i, x) in bags.entries(t) {
                (0..2).for_each(|j| direct[2 * i + j] += f64::from(x) * h[j]);
            }
        }
        let found = &sums(&[0, 20])[3..9];
        assert!(found.iter().zip(&direct).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {direct:?}");
    }
}
