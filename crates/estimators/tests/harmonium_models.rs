//! Fitted harmoniums that are made by hand, and their files.

use countgrid_estimators::{
    EstimatorError, FittedHarmonium, HarmoniumKind, ModelFileError, ModelInfo, Standardizer, TopicWords,
};
use countgrid_harmonium::{Harmonium, Shape};
use countgrid_io::TableData;

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A harmonium of two topics with these couplings of words.
fn single(w: &[f64]) -> FittedHarmonium<f64> {
    let words = w.len() / 2;
    let tables = [vec![0.0; words], w.to_vec(), vec![1.0; words]].concat();
    let model = Harmonium::new(Shape::words(words, 2).unwrap(), tables, &mut []).unwrap();
    FittedHarmonium::new(ModelInfo::default(), HarmoniumKind::Single, model, None).unwrap()
}

/// Four words and two features under two topics.
fn dual_wing() -> FittedHarmonium<f64> {
    let w = [0.5, -1.0, -0.25, -3.0, 0.0, 0.125, 2.0, 0.0];
    let (beta, variances, u) = ([0.0, 0.0], [0.5, 0.5], [0.1, -0.4, -0.2, 0.0]);
    let tables = [&[0.0; 4][..], &w, &[1.0; 4], &beta, &variances, &u].concat();
    let shape = Shape::dual_wing(4, 2, 2).unwrap();
    let model = Harmonium::new(shape, tables, &mut vec![0.0; shape.precision_len()]).unwrap();
    let standardizer = Standardizer::new(texts(&["size", "hue"]), vec![0.0; 2], vec![1.0; 2]).unwrap();
    let info = ModelInfo { vocabulary: texts(&["a", "b", "c", "d"]), ..ModelInfo::default() };
    FittedHarmonium::new(info, HarmoniumKind::DualWing, model, Some(standardizer)).unwrap()
}

#[test]
fn effective_topics_are_the_axes_that_couplings_span() {
    // Orthogonal and as large; orthogonal, of squares 4 and 1; of one direction; none.
    assert_eq!(single(&[1.0, 0.0, 0.0, -1.0]).effective_topics(), 2.0);
    assert_eq!(single(&[2.0, 0.0, 0.0, 1.0]).effective_topics(), 25.0 / 17.0);
    assert_eq!(single(&[1.0, -2.0, 0.5, -1.0]).effective_topics(), 1.0);
    assert_eq!(single(&[0.0; 4]).effective_topics(), 0.0);
    // Products of 1, 2 and, of one topic with the other, 1.
    assert_eq!(single(&[1.0, 1.0, 0.0, 1.0]).effective_topics(), 9.0 / 7.0);
    // Features count as words do: squares of 4.3625, 10.175625 and a product of -(0.5 - 0.75 + 0.04).
    let (first, second, product) = (4.3125 + 0.05, 10.015625 + 0.16, -0.5 + 0.75 - 0.04_f64);
    let expected =
        (first + second) * (first + second) / (first * first + second * second + 2.0 * product * product);
    assert!((dual_wing().effective_topics() - expected).abs() < 1e-14);
}

#[test]
fn words_of_topics_are_those_with_the_largest_couplings() {
    let model = dual_wing();
    let words =
        |positive: &[&'static str], negative: &[&'static str], more: [&[&'static str]; 2]| TopicWords {
            positive: positive.to_vec(),
            negative: negative.to_vec(),
            positive_features: more[0].to_vec(),
            negative_features: more[1].to_vec(),
        };
    // A coupling of zero is of no sign.
    let all =
        [words(&["d", "a"], &["b"], [&["size"], &["hue"]]), words(&["c"], &["b", "a"], [&[], &["size"]])];
    assert_eq!(model.topic_words(10), all);
    let one = [words(&["d"], &["b"], [&["size"], &["hue"]]), words(&["c"], &["b"], [&[], &["size"]])];
    assert_eq!(model.topic_words(1), one);
    assert_eq!(model.topic_words(0), [TopicWords::default(), TopicWords::default()]);
    assert_eq!(
        single(&[1.0, -2.0, 0.5, -1.0]).topic_words(3),
        [TopicWords::default(), TopicWords::default()]
    );
}

#[test]
fn a_number_out_of_range_is_told_by_its_table() {
    let whole = dual_wing().to_file();
    FittedHarmonium::<f64>::from_file(whole.clone()).unwrap();
    for table in 0..whole.tables.len() {
        for wrong in [f64::NAN, 2e9, -2e9] {
            let mut file = whole.clone();
            let name = file.tables[table].name.clone();
            let TableData::F64(numbers) = &mut file.tables[table].data else { panic!("{name}") };
            numbers[1] = wrong;
            let refused = match FittedHarmonium::<f64>::from_file(file) {
                Err(EstimatorError::Model(ModelFileError::Numbers { problem })) => problem,
                // Means are at most 1e18 deviations.
                Ok(_) if name == "feature_means" && wrong.is_finite() => continue,
                Ok(_) if name == "feature_deviations" && wrong > 0.0 => continue,
                other => panic!("{name}, {wrong}: {other:?}"),
            };
            let range = match name.as_str() {
                "alpha" | "w" | "beta" | "u" => "-1e9 to 1e9",
                "variances" => "1e-9 to 1e9",
                _ => "",
            };
            assert!(refused.contains(&format!("`{name}`")) && refused.contains(range), "{name}: {refused}");
            assert_eq!(
                refused.contains(&format!("holds {wrong:e}, its element 1")),
                !range.is_empty(),
                "{refused}"
            );
        }
    }
}
