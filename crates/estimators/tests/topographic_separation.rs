//! How well labels lie apart on a topographic map, at places that are known.

use countgrid_corpus::LabelColumn;
use countgrid_estimators::{
    EstimatorError, LabelSeparation, SEPARATION_DOCUMENTS, Separation, TopographicPlace,
};
use countgrid_gtm::Space;

fn at(mean: [f64; 2]) -> TopographicPlace {
    TopographicPlace { tokens: 1.0, mean, mode: mean, probability: 1.0, log_likelihood: -1.0 }
}

fn labels(names: impl IntoIterator<Item = &'static str>) -> LabelColumn {
    LabelColumn::from_labels(names.into_iter().map(|name| (!name.is_empty()).then(|| name.to_owned())))
}

fn found(
    places: &[TopographicPlace],
    labels: &LabelColumn,
    space: Space,
    neighbours: usize,
) -> LabelSeparation {
    *Separation::from_places(places, labels, space, neighbours, 1).unwrap().found().unwrap()
}

/// `a` on both sides of the seam, `b` around the middle: 0.2 within each, and 0.8 and 1 between them, around the torus.
#[test]
fn distances_on_a_torus_are_chords_of_its_circles() {
    let labels = labels(["a", "a", "b", "b"]);
    for across in [false, true] {
        let places = [-0.9, 0.9, -0.1, 0.1].map(|x| at(if across { [0.3, x] } else { [x, 0.3] }));
        let around = found(&places, &labels, Space::Torus, 1);
        assert_eq!((around.documents, around.accuracy), (4, 1.0));
        let chord = |distance: f64| 2.0 * (std::f64::consts::FRAC_PI_2 * distance).sin();
        let between = (chord(0.8) + chord(1.0)) / 2.0;
        let expected = (between - chord(0.2)) / between;
        // Angles, cosines and differences, of some roundings of numbers up to 2 each.
        assert!((around.silhouette - expected).abs() < 1e-14, "{} {expected}", around.silhouette);

        // On a plane both `a` are nearest to a `b`.
        let plane = found(&places, &labels, Space::Plane, 1);
        assert_eq!(plane.accuracy, 0.5);
        // An `a` is 1.8 from the other and 0.8 and 1 from those of `b`; a `b` is 0.2, and 0.8 and 1.
        let expected = ((0.9 - 1.8) / 1.8 + (0.9 - 0.2) / 0.9) / 2.0;
        assert!((plane.silhouette - expected).abs() < 1e-14, "{} {expected}", plane.silhouette);
    }
}

#[test]
fn no_more_vote_than_there_are_others() {
    let places = [0.0, 0.1, 0.9, 1.0, 0.5, 0.6].map(|x| at([x, 0.0]));
    // Those without a label, or without a token, are not compared.
    let mut places = places.to_vec();
    places[5].tokens = 0.0;
    let labels = labels(["a", "a", "b", "b", "", "b"]);
    for (asked, neighbours) in [(1, 1), (2, 2), (3, 3), (4, 3), (100, 3)] {
        let own = found(&places, &labels, Space::Plane, asked);
        assert_eq!((own.documents, own.neighbours), (4, neighbours));
        // Of three others two have the other label.
        assert_eq!(own.accuracy, if neighbours < 3 { 1.0 } else { 0.0 });
    }
    let none = Separation::from_places(&places, &labels, Space::Plane, 0, 1);
    assert!(matches!(none, Err(EstimatorError::Classify(_))), "{none:?}");
}

#[test]
fn so_many_documents_are_compared() {
    let places = |documents: usize| vec![at([0.0; 2]); documents];
    let labels = |documents: usize| labels((0..documents).map(|n| if n % 2 == 0 { "a" } else { "b" }));
    // Without a neighbour, so that those that may be compared are refused at once.
    let compared = |documents: usize| {
        Separation::from_places(&places(documents), &labels(documents), Space::Plane, 0, 1)
    };
    let most = compared(SEPARATION_DOCUMENTS);
    assert!(matches!(most, Err(EstimatorError::Classify(_))), "{most:?}");
    assert_eq!(compared(SEPARATION_DOCUMENTS + 1).unwrap(), Separation::TooManyDocuments);
    assert_eq!(compared(SEPARATION_DOCUMENTS + 7).unwrap(), Separation::TooManyDocuments);
}
