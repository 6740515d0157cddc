//! Mutual information and mRMR against their definitions on small tables.

use countgrid_text::{Levels, variances};
use proptest::prelude::*;

type Bags = Vec<Vec<(usize, f64)>>;

/// Few features and items, so that all cases come up; values of any sign.
fn bags() -> impl Strategy<Value = (usize, Bags, Vec<usize>)> {
    (1usize..6, 1usize..12).prop_flat_map(|(features, items)| {
        let value = prop::sample::select(vec![0.0, 0.0, 1.0, 2.5, -3.0]);
        let row = prop::collection::vec(value, features);
        let bags = prop::collection::vec(row, items).prop_map(|rows| {
            let bag = |row: Vec<f64>| row.into_iter().enumerate().filter(|(_, x)| *x != 0.0).collect();
            rows.into_iter().map(bag).collect::<Bags>()
        });
        (Just(features), bags, prop::collection::vec(0usize..3, items))
    })
}

/// `H(x) + H(y) - H(x, y)` from frequencies: another formula than the library's.
fn information(x: &[usize], y: &[usize]) -> f64 {
    let entropy = |of: &dyn Fn(usize) -> (usize, usize)| {
        let all: Vec<_> = (0..x.len()).map(of).collect();
        let mut different = all.clone();
        different.sort_unstable();
        different.dedup();
        let share =
            |z: &(usize, usize)| all.iter().filter(|other| *other == z).count() as f64 / x.len() as f64;
        different.iter().map(|z| -share(z) * share(z).ln()).sum::<f64>()
    };
    entropy(&|i| (x[i], 0)) + entropy(&|i| (y[i], 0)) - entropy(&|i| (x[i], y[i]))
}

fn level(bags: &Bags, feature: usize, of: impl Fn(f64) -> usize) -> Vec<usize> {
    let value = |bag: &Vec<(usize, f64)>| bag.iter().find(|(z, _)| *z == feature).map_or(0.0, |&(_, x)| x);
    bags.iter().map(|bag| of(value(bag))).collect()
}

/// At most 3 x 3 terms, each of at most ln 12 and a few roundings.
const TOLERANCE: f64 = 9.0 * 2.5 * 8.0 * f64::EPSILON;

proptest! {
    #[test]
    fn presence_is_as_defined((features, bags, labels) in bags()) {
        let levels = Levels::presence(features, bags.clone());
        let found = levels.information(&labels);
        for (feature, found) in found.iter().enumerate() {
            let expected = information(&level(&bags, feature, |x| usize::from(x > 0.0)), &labels);
            prop_assert!((found - expected).abs() <= TOLERANCE, "{found} {expected}");
        }
    }

    #[test]
    fn deviations_are_as_defined((features, bags, labels) in bags()) {
        let found = Levels::deviations(features, &bags).information(&labels);
        let variances = variances(features, &bags);
        for (feature, found) in found.iter().enumerate() {
            let n = bags.len() as f64;
            let values: Vec<f64> = bags
                .iter()
                .map(|bag| bag.iter().find(|(z, _)| *z == feature).map_or(0.0, |&(_, x)| x))
                .collect();
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            prop_assert!((variances[feature] - variance).abs() <= 1e-13 * variance.max(1.0));
            let (level, edge) = deviations(&bags, feature);
            prop_assume!(!edge);
            let expected = information(&level, &labels);
            prop_assert!((found - expected).abs() <= TOLERANCE, "{found} {expected}");
        }
    }

    #[test]
    fn mrmr_of_presence_is_greedy((features, bags, labels) in bags(), count in 0usize..7) {
        let chosen = Levels::presence(features, bags.clone()).mrmr(&labels, count);
        let present = |feature| level(&bags, feature, |x| usize::from(x > 0.0));
        is_greedy(&chosen, count, &(0..features).map(present).collect::<Vec<_>>(), &labels)?;
    }

    #[test]
    fn mrmr_of_deviations_is_greedy((features, bags, labels) in bags(), count in 0usize..7) {
        let chosen = Levels::deviations(features, &bags).mrmr(&labels, count);
        let deviating = |feature| deviations(&bags, feature).0;
        prop_assume!((0..features).all(|feature| !deviations(&bags, feature).1));
        is_greedy(&chosen, count, &(0..features).map(deviating).collect::<Vec<_>>(), &labels)?;
    }
}

/// Levels below and above half a deviation from the mean, and whether a value is on the edge, where it may fall to either side by
/// a rounding.
fn deviations(bags: &Bags, feature: usize) -> (Vec<usize>, bool) {
    let value = |bag: &Vec<(usize, f64)>| bag.iter().find(|(z, _)| *z == feature).map_or(0.0, |&(_, x)| x);
    let (values, n) = (bags.iter().map(value).collect::<Vec<f64>>(), bags.len() as f64);
    let mean = values.iter().sum::<f64>() / n;
    let half = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt() / 2.0;
    let of = |&x: &f64| if x < mean - half { 1 } else { 2 * usize::from(x > mean + half) };
    let edge = values.iter().any(|x| ((x - mean).abs() - half).abs() <= 1e-9);
    (values.iter().map(of).collect(), edge)
}

/// Each choice has the largest difference among those left, up to rounding.
fn is_greedy(
    chosen: &[usize],
    count: usize,
    levels: &[Vec<usize>], // of each feature
    labels: &[usize],
) -> Result<(), TestCaseError> {
    prop_assert_eq!(chosen.len(), count.min(levels.len()));
    for n in 0..chosen.len() {
        let value = |feature: usize| {
            let redundancy: f64 =
                chosen[..n].iter().map(|&other| information(&levels[feature], &levels[other])).sum();
            information(&levels[feature], labels) - if n > 0 { redundancy / n as f64 } else { 0.0 }
        };
        let own = value(chosen[n]);
        for other in (0..levels.len()).filter(|other| !chosen[..=n].contains(other)) {
            prop_assert!(own >= value(other) - 2.0 * TOLERANCE);
        }
    }
    Ok(())
}

#[test]
fn items_without_labels_and_features_beyond_the_end_are_left_out() {
    let levels =
        Levels::presence(1, vec![vec![(0, 1.0), (1, 1.0), (5, 1.0)], vec![(0, 0.0)], vec![(0, 1.0)]]);
    assert!((levels.information(&[0, 1])[0] - 2f64.ln()).abs() <= TOLERANCE);
    assert_eq!(levels.information(&[]), [0.0]);
    assert_eq!(Levels::presence(0, Bags::new()).mrmr(&[], 3), [0usize; 0]);
    assert_eq!(variances(2, &[]), [0.0, 0.0]);
    assert_eq!(variances(1, &[vec![(1, 5.0)], vec![(0, 2.0)]]), [1.0]);
}

/// The mean is 0 and half a deviation 1, both without rounding.
#[test]
fn half_a_deviation_is_within() {
    let values = [-1.0, 1.0, 4.0, -2.0, -2.0, 2.0, -1.0, -1.0];
    let within_below_above = [0, 0, 2, 1, 1, 2, 0, 0];
    let levels = Levels::deviations(1, &values.map(|value| vec![(0, value)]));
    // The levels tell the labels, whose entropy it is: of shares of 1/2, 1/4 and 1/4.
    let found = levels.information(&within_below_above)[0];
    assert!((found - 1.5 * 2f64.ln()).abs() <= TOLERANCE, "{found}");
}

#[test]
fn of_equal_features_the_first_is_chosen() {
    let both = vec![(0, 1.0), (1, 1.0)];
    let levels = Levels::presence(3, [both.clone(), both, vec![(2, 1.0)], vec![]]);
    assert_eq!(levels.mrmr(&[0, 0, 1, 1], 1), [0]);
}
