//! Neighbours, folds and metrics against their definitions.

use countgrid_classify::{
    ClassifyError, Confusion, Summary, correlation, folds, hellinger, kullback_leibler, leave_one_out,
    lowest, nearest, silhouette, stratified_folds, vote,
};
use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

fn distribution() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![1 => Just(0.0), 3 => 0.01f64..1.0], 6).prop_map(|mut p| {
        p[0] += 0.1;
        let sum: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= sum);
        p
    })
}

proptest! {
    #[test]
    fn the_nearest_are_the_first_of_a_stable_sort(
        distances in prop::collection::vec(prop_oneof![9 => (0u8..5).prop_map(f64::from), 1 => Just(f64::NAN)], 0..20),
        k in 0usize..8,
    ) {
        let mut sorted: Vec<_> = distances.iter().copied().enumerate().filter(|(_, d)| !d.is_nan()).collect();
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        sorted.truncate(k);
        let mut found = vec![(usize::MAX, -1.0); k];
        prop_assert_eq!(nearest(distances.into_iter().enumerate(), &mut found), &sorted[..]);
    }

    #[test]
    fn a_vote_is_for_a_most_frequent_label_and_of_those_the_nearest(labels in prop::collection::vec(0usize..5, 0..9)) {
        let count = |label: usize| labels.iter().filter(|&&other| other == label).count();
        let most = labels.iter().map(|&label| count(label)).max();
        let expected = labels.iter().copied().find(|&label| Some(count(label)) == most);
        prop_assert_eq!(vote(labels.iter().copied(), &mut [9; 5]), expected);
    }

    #[test]
    fn folds_are_even_and_follow_from_the_seed(items in 2usize..60, of in 2usize..8, seed: u64) {
        let make = |seed| {
            let mut fold = vec![usize::MAX; items];
            folds(of, &mut ChaCha8Rng::seed_from_u64(seed), &mut fold).map(|()| fold)
        };
        if items < of {
            prop_assert_eq!(make(seed), Err(ClassifyError::TooFew { what: "items for each fold", found: 0 }));
        } else {
            let fold = make(seed).unwrap();
            prop_assert_eq!(&fold, &make(seed).unwrap());
            for f in 0..of {
                let size = fold.iter().filter(|&&other| other == f).count();
                prop_assert!(size == items / of || size == items.div_ceil(of));
            }
        }
    }

    #[test]
    fn stratified_folds_spread_each_class(
        labels in prop::collection::vec(0usize..3, 6..60), of in 2usize..5, seed: u64,
    ) {
        let (mut fold, mut scratch) = (vec![usize::MAX; labels.len()], vec![0; labels.len()]);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let made = stratified_folds(&labels, of, &mut rng, &mut fold, &mut scratch);
        let members = |class: usize| labels.iter().filter(|&&label| label == class).count();
        if let Some(class) = (0..3).find(|&class| (1..of).contains(&members(class))) {
            let few = ClassifyError::FewMembers { class, members: members(class), folds: of };
            prop_assert_eq!(made, Err(few));
            return Ok(());
        }
        prop_assert_eq!(made, Ok(()));
        for f in 0..of {
            let size = |class: Option<usize>| {
                let items = fold.iter().zip(&labels);
                items.filter(|&(&fold, &label)| fold == f && class.is_none_or(|class| class == label)).count()
            };
            for (size, all) in (0..3).map(|c| (size(Some(c)), members(c))).chain([(size(None), labels.len())]) {
                prop_assert!(size == all / of || size == all.div_ceil(of), "{size} of {all}");
            }
        }
    }

    #[test]
    fn divergences_are_zero_at_home_and_positive_away(p in distribution(), q in distribution()) {
        prop_assert_eq!(kullback_leibler(&p, &p).unwrap(), 0.0);
        prop_assert_eq!(hellinger(&p, &p).unwrap(), 0.0);
        let naive: f64 = p.iter().zip(&q).map(|(p, q)| if *p > 0.0 { p * (p / q).ln() } else { 0.0 }).sum();
        let found = kullback_leibler(&p, &q).unwrap();
        // Six terms, each with two logarithms below 7.
        prop_assert!(found == naive || (found - naive).abs() <= 100.0 * f64::EPSILON);
        prop_assert!(found >= -100.0 * f64::EPSILON);
        let h = hellinger(&p, &q).unwrap();
        prop_assert!((0.0..=1.0 + 8.0 * f64::EPSILON).contains(&h));
        prop_assert_eq!(h, hellinger(&q, &p).unwrap());
    }

    #[test]
    fn correlation_ignores_scale_and_place(
        pairs in prop::collection::vec((-5.0f64..5.0, -5.0f64..5.0), 3..20), scale in 0.1f64..10.0, shift in -9.0f64..9.0,
    ) {
        let (x, y): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let n = x.len() as f64;
        let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
        let sum = |a: &[f64], ma: f64, b: &[f64], mb: f64| -> f64 {
            a.iter().zip(b).map(|(a, b)| (a - ma) * (b - mb)).sum()
        };
        let (xx, yy) = (sum(&x, mx, &x, mx), sum(&y, my, &y, my));
        prop_assume!(xx > 1e-3 && yy > 1e-3);
        let naive = sum(&x, mx, &y, my) / (xx * yy).sqrt();
        let found = correlation(&x, &y).unwrap().unwrap();
        // Rounding of the means, 20 * 5 * eps, over deviations of sqrt(1e-3 / 20).
        let allowed = 1e3 * 20.0 * 100.0 * f64::EPSILON;
        prop_assert!((found - naive).abs() <= allowed);
        let moved: Vec<_> = y.iter().map(|y| -scale * y + shift).collect();
        prop_assert!((correlation(&x, &moved).unwrap().unwrap() + found).abs() <= 100.0 * allowed);
        prop_assert!((correlation(&x, &x).unwrap().unwrap() - 1.0).abs() <= allowed);
    }
}

#[test]
fn correlations_that_are_none() {
    assert_eq!(correlation::<f64>(&[], &[]), Ok(None));
    assert_eq!(correlation(&[1.0], &[2.0]), Ok(None));
    assert_eq!(correlation(&[0.1, 0.1, 0.1], &[1.0, 2.0, 3.0]), Ok(None));
    assert_eq!(correlation(&[1.0, 2.0, 3.0], &[0.5, 0.5, 0.5]), Ok(None));
    assert_eq!(correlation(&[f64::MAX, -f64::MAX], &[f64::MAX, -f64::MAX]), Ok(Some(1.0)));
    // Deviations from the mean that are above the largest number, and such that their reciprocals are. Products of numbers of
    // 51 bits and of four, that of the smallest number.
    for (far, allowed) in [(f64::MAX, 1e-15), (1e-310, 1e-13), (4.0 * 5e-324, 0.5)] {
        let (x, y) = ([far, -far, -far], [-far, far, far]);
        assert!((correlation(&x, &x).unwrap().unwrap() - 1.0).abs() <= allowed, "{far:e}");
        assert!((correlation(&x, &y).unwrap().unwrap() + 1.0).abs() <= allowed, "{far:e}");
    }
    let entry = ClassifyError::Entry { table: "y", index: 1 };
    assert_eq!(correlation(&[1.0, 2.0], &[1.0, f64::NAN]), Err(entry));
    let length = ClassifyError::Length { table: "y", expected: 2, found: 1 };
    assert_eq!(correlation(&[1.0, 2.0], &[1.0]), Err(length));
}

/// Sums of whole numbers, rounded nowhere: `n Σxy - Σx Σy` and the like.
#[test]
fn correlations_of_whole_numbers_are_those_of_their_sums() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for n in 2..40_i64 {
        let mut draw = |_| (rng.next_u64() % 201) as i64 - 100;
        let (x, y): (Vec<i64>, Vec<i64>) = ((0..n).map(&mut draw).collect(), (0..n).map(draw).collect());
        let centred = |a: &[i64], b: &[i64]| {
            let products: i64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            (n * products - a.iter().sum::<i64>() * b.iter().sum::<i64>()) as f64
        };
        let (xx, yy, xy) = (centred(&x, &x), centred(&y, &y), centred(&x, &y));
        let expected = (xx > 0.0 && yy > 0.0).then(|| xy / (xx.sqrt() * yy.sqrt()));
        let floats = |values: &[i64]| values.iter().map(|&value| value as f64).collect::<Vec<_>>();
        let found = correlation(&floats(&x), &floats(&y)).unwrap();
        assert_eq!(found.is_some(), expected.is_some(), "{x:?} {y:?}");
        let Some((found, expected)) = found.zip(expected) else { continue };
        // A deviation is wrong by the rounding of the mean, at most n + 2 roundings of what is below 100, and by its own:
        // as a vector by sqrt(n) times that, relative to a length of at least sqrt(1/2), that of whole numbers that differ.
        let allowed = 4.0 * (2.0 * n as f64).sqrt() * 100.0 * (n + 3) as f64 * f64::EPSILON;
        assert!((found - expected).abs() <= allowed, "{found} {expected}: {x:?} {y:?}");
    }
}

/// Points, labels and classes; some coincide, some classes are empty and some have one member.
fn labelled_points(axes: usize) -> impl Strategy<Value = (Vec<f64>, Vec<usize>)> {
    (2usize..14).prop_flat_map(move |items| {
        let coordinate = prop_oneof![1 => (-2i32..3).prop_map(f64::from), 1 => -5.0f64..5.0];
        (prop::collection::vec(coordinate, items * axes), prop::collection::vec(0usize..4, items))
    })
}

/// By lists of points, as the definitions are written.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

proptest! {
    #[test]
    fn silhouettes_are_those_of_the_definition((axes, (points, labels)) in (1usize..4).prop_flat_map(|axes| (Just(axes), labelled_points(axes)))) {
        let items: Vec<(&[f64], usize)> = points.chunks(axes).zip(labels.iter().copied()).collect();
        let mut distinct = labels.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let found = silhouette(&points, axes, &labels, &mut [-1.0; 4], &mut [9; 4]);
        if distinct.len() < 2 {
            prop_assert_eq!(found, Err(ClassifyError::TooFew { what: "classes", found: distinct.len() }));
            return Ok(());
        }
        let mut each = Vec::new();
        for (i, &(point, label)) in items.iter().enumerate() {
            let to = |class: usize| {
                let others = items.iter().enumerate().filter(|&(j, other)| j != i && other.1 == class);
                let far: Vec<f64> = others.map(|(_, other)| distance(point, other.0)).collect();
                (far.iter().sum::<f64>() / far.len() as f64, far.len())
            };
            let (own, others) = to(label);
            let nearest = distinct.iter().filter(|&&class| class != label).map(|&class| to(class).0).fold(f64::INFINITY, f64::min);
            each.push(if others == 0 || own.max(nearest) == 0.0 { 0.0 } else { (nearest - own) / own.max(nearest) });
        }
        let expected = each.iter().sum::<f64>() / each.len() as f64;
        // Both add the same distances, of which each, and each of at most 14 + 14 partial sums, is rounded: relative errors of
        // no more than 40 eps in `own` and `nearest`, thus 160 eps in a share of at most 1.
        prop_assert!((found.unwrap() - expected).abs() <= 160.0 * f64::EPSILON, "{expected}");
    }

    #[test]
    fn leaving_one_out_is_a_vote_of_the_nearest_others(
        (axes, (points, labels)) in (1usize..4).prop_flat_map(|axes| (Just(axes), labelled_points(axes))), k in 1usize..6,
    ) {
        // Whole numbers: squares and their sums are exact, so that what is equally near is so on both sides.
        let points: Vec<f64> = points.iter().map(|x| x.round()).collect();
        let items: Vec<&[f64]> = points.chunks(axes).collect();
        let mut right = 0;
        for (i, &label) in labels.iter().enumerate() {
            let mut others: Vec<usize> = (0..items.len()).filter(|&j| j != i).collect();
            others.sort_by(|&a, &b| distance(items[i], items[a]).total_cmp(&distance(items[i], items[b])));
            others.truncate(k);
            let votes = |class: usize| others.iter().filter(|&&j| labels[j] == class).count();
            let most = (0..4).map(votes).max().unwrap();
            let winner = others.iter().map(|&j| labels[j]).find(|&class| votes(class) == most).unwrap();
            right += usize::from(winner == label);
        }
        let found = leave_one_out(&points, axes, &labels, &mut vec![(0, 0.0); k], &mut [0; 4]).unwrap();
        prop_assert_eq!(found, right as f64 / labels.len() as f64);
    }
}

#[test]
fn the_lowest_free_energy_wins() {
    assert_eq!(lowest(&[3.0, 1.0, 1.0], &[]), Some(1));
    assert_eq!(lowest(&[3.0, 1.0, f64::NAN], &[-0.1, -5.0, 0.0]), Some(0));
    assert_eq!(lowest::<f64>(&[], &[]), None);
    assert_eq!(lowest(&[f64::NAN], &[]), None);
    assert_eq!(lowest(&[f64::INFINITY, f64::INFINITY], &[]), Some(0));
}

#[test]
fn accuracies_have_their_standard_errors() {
    let mut confusion = Confusion::new(3, [7; 9]).unwrap();
    assert_eq!((confusion.accuracy(), confusion.standard_error()), (None, None));
    for (truth, found) in [(0, 0), (0, 2), (1, 1), (2, 2)] {
        confusion.add(truth, found).unwrap();
    }
    assert_eq!(confusion.counts(), [1, 0, 1, 0, 1, 0, 0, 0, 1]);
    assert_eq!(confusion.accuracy(), Some(0.75));
    assert_eq!(confusion.standard_error(), Some((0.75f64 * 0.25 / 4.0).sqrt()));
    assert_eq!(confusion.add(0, 3), Err(ClassifyError::NoSuchClass { class: 3, classes: 3 }));
    assert!(Confusion::new(3, [0; 8]).is_err());

    let mut summary = Summary::default();
    assert_eq!((summary.mean(), summary.standard_error()), (None, None));
    summary.add(4.0);
    assert_eq!((summary.mean(), summary.standard_error()), (Some(4.0), None));
    [2.0, 4.0, 6.0].into_iter().for_each(|x| summary.add(x));
    assert_eq!(summary.mean(), Some(4.0));
    assert_eq!(summary.standard_error(), Some((8.0f64 / 12.0).sqrt()));
}

proptest! {
    /// H² = 1 - Σ √(p q) of distributions; both sides round once or twice an element, and so do the sums to 1.
    #[test]
    fn the_hellinger_distance_is_that_of_the_affinity(p in distribution(), q in distribution()) {
        let n = p.len().min(q.len());
        let normalised = |x: &[f64]| -> Vec<f64> { x[..n].iter().map(|y| y / x[..n].iter().sum::<f64>()).collect() };
        let (p, q) = (normalised(&p), normalised(&q));
        if p.iter().chain(&q).all(|x| x.is_finite()) {
            let affinity: f64 = p.iter().zip(&q).map(|(p, q)| (p * q).sqrt()).sum();
            let found = hellinger(&p, &q).unwrap();
            prop_assert!((found * found - (1.0 - affinity)).abs() <= 8.0 * (n + 1) as f64 * f64::EPSILON);
        }
    }
}

#[test]
fn silhouettes_of_bad_input_are_refused() {
    let silhouette = |points: &[f64], labels: &[usize], classes: usize| {
        silhouette(points, 1, labels, &mut vec![0.0; classes], &mut vec![0; classes]).err()
    };
    let length = ClassifyError::Length { table: "points", expected: 2, found: 3 };
    assert_eq!(silhouette(&[1.0, 2.0, 3.0], &[0, 1], 2), Some(length));
    assert_eq!(silhouette(&[1.0], &[0], 2), Some(ClassifyError::TooFew { what: "items", found: 1 }));
    assert_eq!(
        silhouette(&[1.0, 2.0], &[0, 2], 2),
        Some(ClassifyError::NoSuchClass { class: 2, classes: 2 })
    );
    assert_eq!(
        silhouette(&[1.0, 2.0], &[1, 1], 2),
        Some(ClassifyError::TooFew { what: "classes", found: 1 })
    );
    let entry = ClassifyError::Entry { table: "points", index: 1 };
    assert_eq!(silhouette(&[1.0, f64::NAN], &[0, 1], 2), Some(entry));
}

#[test]
fn summaries_that_no_figures_have_are_not_read() {
    let read = |text: &str| serde_json::from_str::<Summary>(text).map_err(|error| error.to_string());
    for figures in [&[][..], &[4.0], &[2.0, 4.0, 7.5]] {
        let mut summary = Summary::default();
        figures.iter().for_each(|&x| summary.add(x));
        assert_eq!(read(&serde_json::to_string(&summary).unwrap()), Ok(summary));
    }
    for (text, reason) in [
        (r#"{"count": -1.0, "mean": 0.0, "squares": 0.0}"#, "the number of figures"),
        (r#"{"count": 2.5, "mean": 0.0, "squares": 0.0}"#, "the number of figures"),
        (r#"{"count": 2.0, "mean": 0.0, "squares": -1.0}"#, "a sum of squares"),
    ] {
        assert_eq!(
            read(text).err().map(|found| found.contains(reason)),
            Some(true),
            "{text}: {:?}",
            read(text)
        );
    }
}

#[test]
fn messages_say_what_was_wrong_and_where() {
    for (error, message) in [
        (ClassifyError::Length { table: "votes", expected: 3, found: 2 }, "`votes` has 2 elements, needs 3"),
        (ClassifyError::NoSuchClass { class: 4, classes: 3 }, "class 4 of 3 (they are numbered from 0)"),
        (ClassifyError::TooFew { what: "classes", found: 1 }, "1 classes, needs at least two"),
        (
            ClassifyError::FewMembers { class: 2, members: 1, folds: 5 },
            "class 2 has 1 members, needs one in each of 5 folds",
        ),
        (ClassifyError::Entry { table: "gram", index: 7 }, "`gram` is not finite at element 7"),
        (ClassifyError::Option { what: "a penalty" }, "a penalty is a positive, finite number"),
    ] {
        assert_eq!(error.to_string(), message);
    }
}
