//! Traces, effective sample sizes, R-hat and step bounds, by hand and by their definitions.

use countgrid_harmonium::{HarmoniumError, Trace, effective_sample_size, r_hat, step_bound};
use proptest::prelude::*;

#[test]
fn a_trace_holds_its_steps_column_by_column() {
    let nothing = Trace::new(&[], [0.0; 4]).unwrap_err();
    assert_eq!(nothing, HarmoniumError::Nothing { what: "columns" });
    let mut trace = Trace::new(&["a", "b", "c"], vec![0.0; 8]).unwrap(); // room for two steps, and two elements more
    assert_eq!((trace.steps(), trace.to_string()), (0, "a,b,c\n".into()));
    assert!(!trace.push(&[1.0, 2.0]) && !trace.push(&[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(trace.steps(), 0);
    assert!(trace.push(&[1.0, 2.5, -3.0]));
    assert_eq!((trace.steps(), trace.column(1).collect::<Vec<_>>()), (1, vec![2.5]));
    assert!(trace.push(&[4.0, 5.0, 6.0]) && !trace.push(&[7.0, 8.0, 9.0]));
    let columns = [0, 1, 2, 3, 9].map(|column| trace.column(column).collect::<Vec<_>>());
    assert_eq!(columns, [vec![1.0, 4.0], vec![2.5, 5.0], vec![-3.0, 6.0], vec![], vec![]]);
    assert_eq!((trace.steps(), trace.to_string()), (2, "a,b,c\n1,2.5,-3\n4,5,6\n".into()));
}

#[test]
fn effective_sample_sizes_by_hand() {
    // Autocovariances 5, 1.25, -1.5 and -2.25, over 4: the second pair is below zero.
    let found = effective_sample_size(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    assert!((found - 4.0 * 5.0 / (2.0 * 6.25 - 5.0)).abs() < 1e-14, "{found}");
    assert_eq!(effective_sample_size(&[2.0; 5]).unwrap(), 5.0);
    // Every other step undoes the one before: worth more than independent draws, which is not said.
    let back_and_forth: Vec<f64> = (0..8).map(|t| if t % 2 == 0 { 1.0 } else { -1.0 }).collect();
    assert_eq!(effective_sample_size(&back_and_forth).unwrap(), 8.0);
    // Twelve times 32, 17, 1, -1, -2, 3, ...: the second pair is zero, where the sum ends.
    let level = [2.0, 3.0, 1.0, 0.0, -1.0, 0.0, 2.0, 0.0, -2.0, -1.0, -2.0, -2.0];
    let found = effective_sample_size(&level).unwrap();
    assert!((found - 12.0 * 32.0 / (2.0 * 49.0 - 32.0)).abs() < 1e-14 * 6.0, "{found}");
    let short = HarmoniumError::Nothing { what: "four values of a trace" };
    assert_eq!(effective_sample_size(&[0.0; 3]), Err(short));
    let broken = effective_sample_size(&[0.0, 1.0, f64::NAN, 0.0]);
    assert_eq!(broken, Err(HarmoniumError::NotFinite { table: "trace", index: 2 }));
}

/// `n / (-1 + 2 Σ Γ_k)` with `Γ_k = ρ_2k + ρ_2k+1` while above zero, from the table of all autocorrelations.
fn by_geyer(trace: &[f64]) -> f64 {
    let n = trace.len();
    let mean = trace.iter().sum::<f64>() / n as f64;
    let covariance = |lag: usize| (lag..n).map(|t| (trace[t] - mean) * (trace[t - lag] - mean)).sum::<f64>();
    let rho: Vec<f64> = (0..n).map(|lag| covariance(lag) / covariance(0)).collect();
    let pairs = rho.chunks_exact(2).map(|pair| pair[0] + pair[1]).take_while(|&pair| pair > 0.0);
    (n as f64 / (2.0 * pairs.sum::<f64>() - 1.0).max(1.0 / n as f64)).clamp(1.0, n as f64)
}

/// Between and within halves of chains, one chain after the other.
fn by_gelman(chains: &[Vec<f64>]) -> f64 {
    let half = chains[0].len() / 2;
    let mut halves = Vec::new();
    for chain in chains {
        halves.push(chain[..half].to_vec());
        halves.push(chain[chain.len() - half..].to_vec());
    }
    let (m, n) = (halves.len() as f64, half as f64);
    let means: Vec<f64> = halves.iter().map(|half| half.iter().sum::<f64>() / n).collect();
    let grand = means.iter().sum::<f64>() / m;
    let b = n * means.iter().map(|mean| (mean - grand).powi(2)).sum::<f64>() / (m - 1.0);
    let variance =
        |(half, mean): (&Vec<f64>, &f64)| half.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let w = halves.iter().zip(&means).map(variance).sum::<f64>() / m;
    (((n - 1.0) / n * w + b / n) / w).sqrt()
}

proptest! {
    #[test]
    fn effective_sample_sizes_are_geyers(
        jumps in prop::collection::vec(-1.0..1.0_f64, 4..60),
        keep in 0.0..1.0_f64,
    ) {
        let mut at = 0.0;
        let trace: Vec<f64> = jumps.iter().map(|jump| { at = keep * at + jump; at }).collect();
        let (found, expected) = (effective_sample_size(&trace).unwrap(), by_geyer(&trace));
        // A pair of no size to speak of may be on either side of zero in one of the two.
        prop_assert!((found - expected).abs() <= 1e-9 * expected, "{} {}", found, expected);
    }

    #[test]
    fn r_hat_is_of_halves_of_chains(
        steps in 4usize..12,
        values in prop::collection::vec(-3.0..3.0_f64, 36),
        apart in 0.0..5.0_f64,
    ) {
        let chains: Vec<Vec<f64>> = values
            .chunks_exact(steps)
            .enumerate()
            .map(|(n, chain)| chain.iter().map(|x| x + apart * n as f64).collect())
            .collect();
        let found = r_hat(&chains.concat(), steps).unwrap();
        let expected = by_gelman(&chains);
        prop_assert!((found - expected).abs() < 1e-12 * expected.max(1.0), "{} {}", found, expected);
    }
}

#[test]
fn r_hat_by_hand_and_what_it_refuses() {
    // Halves of means 1/2, 1/2, 17/2, 17/2 and variances 1/2.
    let found = r_hat(&[0.0, 1.0, 0.0, 1.0, 9.0, 8.0, 9.0, 8.0], 4).unwrap();
    assert!((found - (0.5 + 64.0 * 2.0 / 3.0 / (2.0 * 0.5_f64)).sqrt()).abs() < 1e-14, "{found}");
    assert_eq!(r_hat(&[3.0; 8], 4), Ok(1.0));
    assert_eq!(r_hat(&[3.0, 3.0, 3.0, 3.0, 4.0, 4.0, 4.0, 4.0], 4), Ok(f64::INFINITY));
    let few = HarmoniumError::Nothing { what: "four values of a trace" };
    assert_eq!(r_hat(&[0.0; 6], 3), Err(few));
    assert_eq!(r_hat(&[0.0; 3], 4), Err(few));
    let length = |expected, found| HarmoniumError::Length { table: "traces", expected, found };
    assert_eq!(r_hat(&[0.0; 9], 4), Err(length(8, 9)));
    assert_eq!(r_hat(&[0.0; 4], 5), Err(length(0, 4))); // no chain
}

/// Means are good to 2⁻²⁷ at 10⁸, and sums around them as good as squares of a unit.
#[test]
fn r_hat_knows_no_offset() {
    let near = [0.0, 1.0, 3.0, 1.0, 0.0, 2.0, 4.0, 1.0, 2.0, 2.0, 5.0, 3.0, 1.0, 1.0, 0.0, 2.0, 3.0, 2.0];
    let (near, far) = (r_hat(&near, 6).unwrap(), r_hat(&near.map(|x| x + 1e8), 6).unwrap());
    assert!(near > 1.1 && (near - far).abs() < 1e-7, "{near} {far}");
}

#[test]
fn step_bounds_by_hand_and_what_they_refuse() {
    let found = step_bound(4, 9, 2.0, 0.5).unwrap();
    assert!((found - 2.0 / 146.0_f64.sqrt()).abs() < 1e-15, "{found}");
    assert_eq!(step_bound(4, 4, 1.0, f64::INFINITY), Ok(0.5));
    let setting = |name| Err(HarmoniumError::Setting { name });
    assert_eq!(step_bound(4, 9, 2.0, 0.0), setting("variance"));
    assert_eq!(step_bound(4, 9, 2.0, f64::NAN), setting("variance"));
    for size in [0.5, f64::INFINITY, f64::NAN] {
        assert_eq!(step_bound(4, 9, size, 0.5), setting("size"));
    }
    assert!(step_bound(4, 9, 1.0, 0.5).is_ok());
}
