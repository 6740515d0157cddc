use countgrid_counts::testing::{nonzero, rows};
use countgrid_counts::{Bags, CsrBuf, Dense};
use countgrid_grid::Options;
use countgrid_grid::testing::{CLOSE, distance, problem, rows as cells};
use countgrid_hmm::testing::{close, positive};
use countgrid_torus::testing::{naive_adjoint_sums, naive_window_sums};
use countgrid_torus::{Torus, Windows};
use properties::{document_frequencies, window_means};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whole numbers below 2^53 are summed exactly; the mean is one division.
    #[test]
    fn window_means_are_those_of_the_definition(windows: Windows<3>, seed: u32) {
        let table: Vec<f64> = (0..windows.torus().cells() as u32)
            .map(|i| f64::from(seed.wrapping_add(i).wrapping_mul(2_654_435_761) >> 20))
            .collect();
        let volume = windows.volume() as f64;
        let expected: Vec<f64> =
            naive_window_sums(&windows, &table).iter().map(|sum| sum / volume).collect();
        prop_assert_eq!(window_means(&windows, &table)?, expected);
        prop_assert!(window_means(&windows, &table[1..]).is_err());
    }

    /// `⟨S f, g⟩ = ⟨f, S' g⟩`, of whole numbers.
    #[test]
    fn sums_over_windows_have_their_adjoint(windows: Windows<2>, seed: u32) {
        let table = |salt: u32| -> Vec<u64> {
            let number = |i: u32| (seed ^ salt).wrapping_add(i).wrapping_mul(2_654_435_761) >> 20;
            (0..windows.torus().cells() as u32).map(|i| number(i).into()).collect()
        };
        let product = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<u64>();
        let (f, g) = (table(1), table(77));
        let forward = product(&naive_window_sums(&windows, &f), &g);
        prop_assert_eq!(forward, product(&f, &naive_adjoint_sums(&windows, &g)));
    }

    #[test]
    fn places_of_a_torus_are_numbered(torus: Torus<3>) {
        for cell in 0..torus.cells() {
            prop_assert_eq!(torus.cell_of(torus.coords_of(cell)), cell);
        }
    }

    #[test]
    fn a_feature_is_in_the_bags_that_count_it(rows in rows(7, 0..9)) {
        let flat = rows.concat();
        let expected: Vec<usize> =
            (0..7).map(|z| rows.iter().filter(|row| row[z] > 0).count()).collect();
        prop_assert_eq!(&document_frequencies(&Dense::new(7, &flat)?), &expected);
        prop_assert_eq!(&document_frequencies(&CsrBuf::from_dense(7, &flat)?), &expected);
    }

    #[test]
    fn turning_bags_twice_changes_nothing(bags: CsrBuf<u16>) {
        let again = bags.transpose()?.transpose()?;
        for bag in 0..bags.len() {
            prop_assert!(again.entries(bag).eq(bags.entries(bag)));
            let mut dense = vec![0; bags.features()];
            bags.entries(bag).for_each(|(feature, count)| dense[feature] = count);
            prop_assert_eq!(nonzero(&dense), bags.entries(bag).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_iteration_of_a_grid_is_that_of_the_definition(problem in problem::<2>(4)) {
        let (learner, objectives) = problem.fit::<f64>(Options { pseudocount: 0.5, ..Options::default() }, 2);
        let (once, _) = problem.fit::<f64>(Options { pseudocount: 0.5, ..Options::default() }, 1);
        prop_assert!(distance(&cells(&once), &problem.naive_iteration(0.5).0) <= CLOSE);
        prop_assert!(objectives.is_sorted_by(|a, b| b >= a || a - b <= CLOSE * a.abs().max(1.0)));
        prop_assert_eq!(cells(&learner).len(), problem.cells());
    }

    #[test]
    fn the_likelihood_of_a_strand_is_a_sum_over_paths(problem in positive(3, 6)) {
        let p = problem.enumerate().p;
        prop_assert!((problem.log_likelihood().exp() - p).abs() <= close::<f64>() * p);
    }
}
