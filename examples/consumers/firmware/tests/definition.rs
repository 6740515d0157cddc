//! Against Bayes' rule on window means.

use firmware::{BAGS, SHAPE, TABLES, place};

#[test]
fn posteriors_are_those_of_the_definition() {
    let (cells, pi) = (SHAPE.cells(), |z: usize, i: usize| f64::from(TABLES[z * 6 + i % 6]));
    for bag in BAGS {
        let joint: Vec<f64> = (0..cells)
            .map(|k| {
                let prior = f64::from(TABLES[18 + k]);
                bag.0.iter().zip(bag.1).fold(prior, |p, (&z, &count)| {
                    p * ((pi(z as usize, k) + pi(z as usize, k + 1)) / 2.0).powi(count.into())
                })
            })
            .collect();
        let p: f64 = joint.iter().sum();
        let mut posterior = [0.0; SHAPE.cells()];
        let evidence = place(bag, &mut posterior).unwrap();
        // Scores of at most 9 ln 10 + 3 = 24 nats and fewer than 16 roundings: 24 · 16 · 2^-24 is 2.3e-5.
        assert!((f64::from(evidence) - p.ln()).abs() < 3e-5, "{evidence}, not {}", p.ln());
        for (q, joint) in posterior.iter().zip(&joint) {
            assert!((f64::from(*q) - joint / p).abs() < 6e-5, "{q}, not {}", joint / p);
        }
    }
}

#[test]
fn a_feature_out_of_range_is_refused() {
    let error = place((&[3], &[1]), &mut [0.0; SHAPE.cells()]).unwrap_err();
    assert!(error.to_string().contains('3'), "{error}");
}
