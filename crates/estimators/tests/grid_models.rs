//! Fitted grids: their features and places by definition, and files that are no grids.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_counts::Bags;
use countgrid_estimators::{
    AXES, BagTotals, CircularMean, EstimatorError, FeatureKind, FittedGrid, GridLayout, GridOptions,
    GridParameters, GridTraining, ModelFileError, ModelInfo, Train,
};
use countgrid_io::{ModelFile, NamedTable, TableData};
use countgrid_math::AlignedVec;
use countgrid_torus::Torus;

const WORDS: usize = 7;

/// Bags of three topics, the first empty, in blocks of so many.
fn bags(of_block: usize) -> Blocks<f64> {
    let limits = BlockLimits { bags: of_block, ..BlockLimits::in_memory() };
    let mut builder = BlocksBuilder::new(WORDS, limits).unwrap();
    for t in 0..40usize {
        let entries = (0..(t * 5) % 4).map(|n| ((t % 3 * 2 + n * t) % WORDS, (1 + (t + n) % 4) as f64));
        builder.push(entries).unwrap();
    }
    builder.finish().unwrap()
}

fn grid(extents: &[usize], window: &[usize]) -> FittedGrid<f64> {
    let bags = bags(1000);
    let options = GridOptions {
        extents: Some(extents.to_vec()),
        window: Some(window.to_vec()),
        learn_prior: true,
        iterations: 4,
        ..GridOptions::default()
    };
    let plan = options.check(BagTotals::from_blocks(&bags).unwrap()).unwrap();
    let mut training = GridTraining::new(plan, &bags).unwrap();
    training.run(|_| ControlFlow::Continue(())).unwrap();
    training.finish().unwrap()
}

/// The posterior of every bag over cells.
fn posteriors(grid: &FittedGrid<f64>, bags: &Blocks<f64>) -> Vec<Vec<f64>> {
    let mut rows = Vec::new();
    grid.for_each_posterior(bags, |bag, _, posterior| {
        assert_eq!(bag, rows.len());
        let mut row = vec![0.0; grid.shape().cells()];
        posterior.for_each(|cell, q| row[cell] = q);
        rows.push(row);
    })
    .unwrap();
    rows
}

#[test]
fn rows_of_posteriors_are_spread_over_their_windows() {
    let (grid, bags) = (grid(&[9], &[2]), bags(1000));
    let expected = posteriors(&grid, &bags);
    let plain = grid.features(FeatureKind::Posterior, &bags).unwrap();
    assert_eq!((plain.columns, &plain.values), (9, &expected.concat()));
    let spread = grid.features(FeatureKind::Spread, &bags).unwrap();
    assert_eq!((spread.columns, spread.values.len()), (9, 9 * 40));
    for (bag, q) in expected.iter().enumerate() {
        for cell in 0..9 {
            // Of the windows that begin at the cell and at the one before.
            let mean = (q[cell] + q[(cell + 8) % 9]) / 2.0;
            // Sums of probabilities, each rounded once for each of nine cells at most.
            assert!((spread.row(bag)[cell] - mean).abs() <= 9.0 * f64::EPSILON, "bag {bag}, cell {cell}");
        }
    }
}

/// Whatever they are taken by, terms add up to the free energy of a bag.
#[test]
fn terms_add_up_to_the_free_energy() {
    let (grid, bags) = (grid(&[6, 5], &[2, 3]), bags(1000));
    let scores = grid.score(&bags).unwrap();
    let tokens: Vec<f64> =
        bags.gather(|count| count).map(|bags| (0..40).map(|bag| bags.total(bag)).collect()).unwrap();
    let fess = grid.features(FeatureKind::Fess, &bags).unwrap();
    let words = grid.features(FeatureKind::FessWords, &bags).unwrap();
    let sources = grid.features(FeatureKind::FessSources, &bags).unwrap();
    assert_eq!(fess.columns, 3 * 30);
    for terms in [&fess, &words, &sources] {
        for (bag, score) in scores.iter().enumerate() {
            let (sum, size) =
                terms.row(bag).iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            // A rounding of each of some ten operations on a term, and one for each addition.
            let allowed = (10 + terms.columns) as f64 * f64::EPSILON * (size + score.abs() + 1.0);
            assert!((sum - score).abs() <= allowed, "bag {bag}: {sum}, {score}");
        }
    }
    let by_token = grid.features(FeatureKind::Nfess, &bags).unwrap();
    assert_eq!(by_token.columns, 3 * 30);
    for (bag, &tokens) in tokens.iter().enumerate() {
        let length = if tokens > 0.0 { tokens } else { 1.0 };
        assert!(by_token.row(bag).iter().zip(fess.row(bag)).all(|(own, term)| *own == term / length));
    }
}

/// In the logarithm of its prior the gradient of a bag is what the posterior has more of a window.
#[test]
fn gradients_are_what_a_bag_has_more_than_the_model() {
    let (grid, bags) = (grid(&[6, 5], &[2, 3]), bags(1000));
    let gradients = grid.features(FeatureKind::Fisher, &bags).unwrap();
    let (pi, prior) = grid.grid().tables();
    assert_eq!(gradients.columns, pi.len() + prior.len());
    for (bag, q) in posteriors(&grid, &bags).iter().enumerate() {
        for (cell, found) in gradients.row(bag)[pi.len()..].iter().enumerate() {
            // The posterior sums to one but for a rounding of each window.
            assert!((found - (q[cell] - prior[cell])).abs() <= 30.0 * f64::EPSILON, "bag {bag}, cell {cell}");
        }
    }
}

#[test]
fn tangents_are_log_odds_and_the_gradients_of_both_grids() {
    let (plus, minus, bags) = (grid(&[6, 5], &[2, 3]), grid(&[9], &[2]), bags(1000));
    let tangents = FittedGrid::tangents([&plus, &minus], 0.75, &bags).unwrap();
    let [own, other] = [&plus, &minus].map(|grid| grid.features(FeatureKind::Fisher, &bags).unwrap());
    let [p, q] = [&plus, &minus].map(|grid| grid.score(&bags).unwrap());
    assert_eq!(tangents.columns, 1 + own.columns + other.columns);
    for bag in 0..40 {
        let row = tangents.row(bag);
        // Scores are minus log-likelihoods; both are sums over words and windows.
        let odds = q[bag] - p[bag] + 0.75;
        assert!((row[0] - odds).abs() <= 50.0 * f64::EPSILON * (p[bag].abs() + q[bag].abs() + 1.0), "{bag}");
        let (first, second) = row[1..].split_at(own.columns);
        assert!(first == own.row(bag));
        assert!(second.iter().zip(other.row(bag)).all(|(found, x)| *found == -x));
    }
}

#[test]
fn bags_are_numbered_through_all_blocks() {
    let (grid, bags) = (grid(&[6, 5], &[2, 3]), bags(7));
    let mut expected = Vec::new();
    grid.for_each_posterior(&bags, |bag, tokens, posterior| expected.push((bag, tokens, posterior.mode())))
        .unwrap();
    let mut found = Vec::new();
    let work =
        |bag, tokens, posterior: &countgrid_grid::Posterior<'_, f64, AXES>| (bag, tokens, posterior.mode());
    grid.map_posteriors(&bags, work, |bag, of_bag| found.push((bag, of_bag))).unwrap();
    assert!(found.iter().map(|(bag, _)| *bag).eq(0..40));
    assert!(found.iter().map(|(_, of_bag)| *of_bag).eq(expected));
}

/// With one axis, with two and with three: means along each of them are those of the posterior, cell by cell.
#[test]
fn places_are_means_along_every_axis() {
    for (extents, window) in [(&[11][..], &[3][..]), (&[6, 5], &[2, 3]), (&[3, 4, 5], &[2, 2, 2])] {
        let (grid, bags) = (grid(extents, window), bags(7));
        let torus = *grid.shape().windows().torus();
        let mut expected = Vec::new();
        for q in posteriors(&grid, &bags) {
            let mut mean = CircularMean::default();
            q.iter().enumerate().for_each(|(cell, &q)| mean.add(&torus, cell, q));
            let axes = (AXES - extents.len()..).zip(extents);
            expected.push(axes.map(|(axis, &extent)| mean.coordinate(axis, extent)).collect::<Vec<_>>());
        }
        let places = grid.place(&bags).unwrap();
        assert_eq!(places.len(), 40);
        assert!(places[0].position.is_none());
        for (place, expected) in places.iter().zip(&expected) {
            if let Some(position) = &place.position {
                assert_eq!(&position.mean, expected, "{extents:?}");
            }
        }
    }
}

/// The means of single cells are these, in all quarters of the circle.
#[test]
fn the_mean_of_one_cell_is_that_cell() {
    for extent in [1, 2, 3, 4, 8, 10] {
        let mut extents = [1; AXES];
        extents[AXES - 1] = extent;
        let torus = Torus::new(extents).unwrap();
        for cell in 0..extent {
            let mut mean = CircularMean::default();
            mean.add(&torus, cell, 1.0);
            assert_eq!(mean.coordinate(AXES - 1, extent), Some(cell as f64), "of {extent}");
        }
    }
}

fn two_words() -> FittedGrid<f64> {
    let info = ModelInfo::for_vocabulary(vec!["ant".into(), "bee".into()]);
    let layout = GridLayout::new(vec![2], vec![1]).unwrap();
    let mut tables = AlignedVec::zeroed(6).unwrap();
    tables.copy_from_slice(&[0.9, 0.2, 0.1, 0.8, 0.5, 0.5]);
    let grid = GridParameters::new(layout.shape(2).unwrap(), tables).unwrap();
    FittedGrid::new(info, layout, grid, None).unwrap()
}

#[test]
fn labels_are_read_off_where_a_bag_lies() {
    let names = vec!["up".to_owned(), "down".to_owned()];
    let shares = vec![0.75, 0.25, 0.25, 0.75];
    let grid = two_words().with_labels(names.clone(), shares.clone()).unwrap();
    let labels = grid.labels().unwrap();
    assert_eq!((labels.names(), labels.table()), (&names[..], &shares[..]));
    let mut builder = BlocksBuilder::new(2, BlockLimits::in_memory()).unwrap();
    builder.push([(0, 200.0)]).unwrap();
    builder.push([(1, 200.0)]).unwrap();
    let places = grid.place(&builder.finish().unwrap()).unwrap();
    // Odds of 4.5 and of 8 to the power of 200 leave nothing of the other window.
    for (place, window, label) in [(&places[0], 0, 0), (&places[1], 1, 1)] {
        let position = place.position.as_ref().unwrap();
        assert_eq!((&position.window, position.label), (&vec![window], Some((label, 0.75))));
    }
}

/// The table that a file without a valid one is refused by.
fn refused_table(file: ModelFile) -> &'static str {
    match FittedGrid::<f64>::from_file(file).unwrap_err() {
        EstimatorError::Model(ModelFileError::Table { expected }) => expected,
        other => panic!("{other}"),
    }
}

fn table(name: &str, shape: &[usize], data: TableData) -> NamedTable {
    NamedTable { name: name.to_owned(), shape: shape.to_vec(), data }
}

#[test]
fn files_with_other_axes_are_refused_by_their_table() {
    let whole = two_words().to_file();
    assert!(FittedGrid::<f64>::from_file(whole.clone()).is_ok());
    // Without axes, with one too many, and with one that has no cells.
    for extents in [&[][..], &[1; AXES + 1], &[0], &[2, 0]] {
        let mut file = whole.clone();
        file.tables.retain(|table| table.name == "prior");
        let elements = extents.iter().product::<usize>();
        let shape = [&[2], extents].concat();
        file.tables.push(table("pi", &shape, TableData::F64(vec![0.5; 2 * elements])));
        let sides = TableData::U32(vec![1; extents.len()]);
        file.tables.push(table("window", &[extents.len()], sides));
        let reason = refused_table(file);
        assert!(reason.contains("`pi`"), "{extents:?}: {reason}");
    }
    for sides in [TableData::U32(vec![0]), TableData::F64(vec![1.0])] {
        let mut file = whole.clone();
        file.tables.retain(|table| table.name != "window");
        file.tables.push(table("window", &[1], sides));
        let reason = refused_table(file);
        assert!(reason.contains("`window`"), "{reason}");
    }
}
