//! A mixture of three distributions, against what can be worked out by hand: features, shares of labels, firmware.

use countgrid_corpus::{BlockLimits, Blocks};
use countgrid_counts::CsrBuf;
use countgrid_em::Tables;
use countgrid_estimators::{
    FeatureKind, FeatureRows, FittedGrid, Gradients, GridLayout, ModelInfo, TableKind,
};
use countgrid_grid::{Grid, Shape};

const CELLS: usize = 3;
const WORDS: usize = 2;

/// A mixture of three distributions over two words.
fn mixture(pi: [[f64; CELLS]; WORDS]) -> FittedGrid<f64> {
    let info = ModelInfo::for_vocabulary(vec!["ant".into(), "bee".into()]);
    let tables = [&pi.concat()[..], &[0.5, 0.25, 0.25]].concat();
    FittedGrid::from_grid(info, &Grid::new(Shape::from_sides([CELLS], [1], WORDS).unwrap(), tables).unwrap())
        .unwrap()
}

const PI: [[f64; CELLS]; WORDS] = [[0.25, 0.5, 0.875], [0.75, 0.5, 0.125]];

const COUNTS: [[f64; WORDS]; 4] = [[3.0, 1.0], [0.0, 0.0], [0.0, 2.0], [1.0, 5.0]];

fn bags() -> Blocks<f64> {
    let bags = CsrBuf::from_dense(WORDS, &COUNTS.concat()).unwrap();
    Blocks::from_bags(&bags, BlockLimits::in_memory()).unwrap()
}

/// Joint probabilities of a bag and each component.
fn joint(pi: &[[f64; CELLS]; WORDS], counts: [f64; WORDS]) -> [f64; CELLS] {
    let prior = [0.5, 0.25, 0.25];
    std::array::from_fn(|cell| {
        prior[cell] * (0..WORDS).map(|word| pi[word][cell].powf(counts[word])).product::<f64>()
    })
}

/// The gradient of the log-likelihood in logarithms: of `pi` `[word][cell]`, then of the prior.
fn gradient(pi: &[[f64; CELLS]; WORDS], counts: [f64; WORDS]) -> Vec<f64> {
    let joint = joint(pi, counts);
    let total: f64 = joint.iter().sum();
    let tokens: f64 = counts.iter().sum();
    let of_word = |word: usize| {
        (0..CELLS).map(move |cell| joint[cell] / total * (counts[word] - tokens * pi[word][cell]))
    };
    let prior = [0.5, 0.25, 0.25];
    let of_prior = (0..CELLS).map(|cell| joint[cell] / total - prior[cell]);
    (0..WORDS).flat_map(of_word).chain(of_prior).collect()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        // Some tens of roundings of numbers below ten.
        assert!((found - expected).abs() < 1e-13, "{found} {expected}");
    }
}

#[test]
fn fisher_scores_of_a_mixture_are_those_by_hand() {
    let rows = mixture(PI).features(FeatureKind::Fisher, &bags()).unwrap();
    assert_eq!((rows.columns, rows.values.len()), (9, 4 * 9));
    for (bag, counts) in COUNTS.into_iter().enumerate() {
        close(rows.row(bag), &gradient(&PI, counts));
    }
    assert!(rows.row(0).iter().all(|&x| x.abs() > 1e-3)); // not that of zeros
}

#[test]
fn tangents_have_the_log_odds_and_both_gradients() {
    let other = [[0.5, 0.25, 0.125], [0.5, 0.75, 0.875]];
    let rows = FittedGrid::tangents([&mixture(PI), &mixture(other)], 0.5, &bags()).unwrap();
    assert_eq!(rows.columns, 19);
    for (bag, counts) in COUNTS.into_iter().enumerate() {
        let [plus, minus] = [&PI, &other].map(|pi| joint(pi, counts).iter().sum::<f64>().ln());
        let minus_gradient = gradient(&other, counts).into_iter().map(|x| -x);
        let expected: Vec<f64> =
            [plus - minus + 0.5].into_iter().chain(gradient(&PI, counts)).chain(minus_gradient).collect();
        close(rows.row(bag), &expected);
    }
}

#[test]
fn a_gradient_of_one_datum_is_written_to_its_row() {
    let grid = mixture(PI);
    let bags = CsrBuf::from_dense(WORDS, &COUNTS.concat()).unwrap();
    let bag = bags.as_view().bag(3).unwrap();
    let sources = countgrid_grid::Sources::new(grid.grid(), grid.histograms().unwrap()).unwrap();
    let gradients = Gradients::Fisher(&sources);
    let (mut rows, mut scratch) = gradients.rows(2, Some(&bag)).unwrap();
    assert_eq!((rows.columns, rows.values.as_slice()), (9, &[0.0; 18][..]));
    gradients.gradient(&bag, rows.row_mut(1), &mut scratch).unwrap();
    close(rows.row(1), &gradient(&PI, COUNTS[3]));
    assert_eq!(rows.row(0), [0.0; 9]);
    assert!(gradients.gradient(&bag, &mut [0.0; 8], &mut scratch).is_err());
}

#[test]
fn scores_of_each_token_are_divided_by_the_tokens() {
    let grid = mixture(PI);
    let [whole, each] =
        [FeatureKind::Fess, FeatureKind::Nfess].map(|kind| grid.features(kind, &bags()).unwrap());
    assert!(whole.columns > 0 && whole.columns == each.columns);
    let scores = grid.score(&bags()).unwrap();
    for (bag, counts) in COUNTS.into_iter().enumerate() {
        let tokens: f64 = counts.iter().sum();
        // Terms of a bag without tokens are those of the whole bag, and finite.
        let divisor = if tokens == 0.0 { 1.0 } else { tokens };
        let expected: Vec<f64> = whole.row(bag).iter().map(|x| x / divisor).collect();
        assert_eq!(each.row(bag), expected);
        assert!(expected.iter().all(|x| x.is_finite()));
        let total: f64 = whole.row(bag).iter().sum();
        assert!((total - scores[bag]).abs() < 1e-13, "{total} {}", scores[bag]);
    }
}

#[test]
fn features_of_several_models_lie_side_by_side() {
    let rows = |columns, values: &[f64]| FeatureRows { columns, values: values.to_vec() };
    let parts = [
        rows(2, &[1.0, 2.0, 3.0, 4.0]),
        rows(0, &[]),
        rows(1, &[5.0, 6.0]),
        rows(3, &[7.0, 8.0, 9.0, 10.0, 11.0, 12.0]),
    ];
    let all = FeatureRows::concatenate_columns(&parts, 2).unwrap();
    assert_eq!(all.columns, 6);
    assert_eq!(all.row(0), [1.0, 2.0, 5.0, 7.0, 8.0, 9.0]);
    assert_eq!(all.row(1), [3.0, 4.0, 6.0, 10.0, 11.0, 12.0]);
    assert!(all.row(2).is_empty());
    assert_eq!(FeatureRows::concatenate_columns(&[], 2).unwrap(), FeatureRows::default());
}

#[test]
fn documents_without_a_word_have_no_part_in_the_shares_of_labels() {
    let (grid, bags) = (mixture(PI), bags());
    let shares = |label_of: &dyn Fn(usize) -> Option<usize>| {
        let labels = grid.label_shares(&bags, 2, label_of).unwrap();
        labels.map(|labels| labels.buffer().to_vec())
    };
    let all = shares(&|bag| Some(bag % 2)).unwrap(); // the second has no word
    assert_eq!(all, shares(&|bag| (bag != 1).then_some(bag % 2)).unwrap());
    assert_eq!(all.len(), 2 * CELLS);
    for cell in 0..CELLS {
        assert!((all[cell] + all[CELLS + cell] - 1.0).abs() < 1e-13);
    }
    assert_eq!(shares(&|bag| (bag == 1).then_some(0)), None);
}

#[test]
fn lines_of_firmware_begin_with_each_label() {
    let shares = vec![0.25, 0.5, 0.125, 0.75, 0.5, 0.875];
    let grid = mixture(PI).with_labels(vec!["yes".into(), "no".into()], shares).unwrap();
    let module = grid.firmware(TableKind::Bits8, false).unwrap().module;
    let table = module.split("LABEL_TABLE: [f32; 6] = [\n").nth(1).unwrap();
    assert!(table.starts_with("    0.25, 0.5, 0.125,\n    0.75, 0.5, 0.875,\n];\n"), "{table}");
}

#[test]
fn a_layout_counts_its_cells() {
    let cells =
        |extents: &[usize]| GridLayout::new(extents.to_vec(), vec![1; extents.len()]).unwrap().cells();
    assert_eq!((cells(&[4, 6]), cells(&[7]), cells(&[2, 3, 5])), (24, 7, 30));
    assert_eq!(cells(&[usize::MAX, 2]), 2 * usize::MAX as u128);
    assert_eq!(cells(&[usize::MAX; 3]), u128::MAX);
    let said = |sides: &[usize]| countgrid_estimators::format_sides(sides);
    assert_eq!((said(&[3, 16, 16]), said(&[7]), said(&[])), ("3x16x16".into(), "7".into(), String::new()));
}
