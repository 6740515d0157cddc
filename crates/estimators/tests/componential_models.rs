//! Fitted componential grids: descriptions, labels and places by definition.

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder, Corpus, CorpusOptions, LabelColumn};
use countgrid_estimators::{
    AXES, BagTotals, CircularMean, ComponentialOptions, ComponentialTraining, FittedComponential, GridLayout,
    GridOptions, GridStart, ModelInfo, Train,
};

fn blocks(bags: &[&[(usize, f64)]]) -> Blocks<f64> {
    let mut builder = BlocksBuilder::new(2, BlockLimits::in_memory()).unwrap();
    bags.iter().for_each(|bag| builder.push(bag.iter().copied()).unwrap());
    builder.finish().unwrap()
}

/// A grid of single cells along one axis, with so much of the first of two words at each.
fn two_words(first: &[f64]) -> FittedComponential<f64> {
    let cells = first.len();
    let info = ModelInfo::for_vocabulary(vec!["ant".into(), "bee".into()]);
    let layout = GridLayout::new(vec![cells], vec![1]).unwrap();
    let second = first.iter().map(|p| 1.0 - p);
    let tables: Vec<f64> = first.iter().copied().chain(second).chain(vec![1.0; cells]).collect();
    FittedComponential::new(info, layout, &tables, None).unwrap()
}

#[test]
fn it_is_described_by_its_corpus() {
    let texts = ["red ants follow trails", "ants and red trails", "blue sky", "a sky of blue dust", "dust"];
    let reading = CorpusOptions::default();
    let mut corpus = Corpus::<f32>::from_texts(&texts, &reading).unwrap();
    corpus.labels = LabelColumn {
        names: vec!["insects".into(), "air".into()],
        by_document: vec![Some(0), Some(0), Some(1), Some(1), None],
    };
    let grid = GridOptions {
        extents: Some(vec![8]),
        window: Some(vec![2]),
        start: Some(GridStart::Plain),
        iterations: 2,
        ..GridOptions::default()
    };
    let options = ComponentialOptions { grid, iterations: 2, ..ComponentialOptions::default() };
    let plan = options.check(BagTotals::from(&corpus)).unwrap();
    let mut fitted = ComponentialTraining::new(plan, &corpus.bags).unwrap().finish().unwrap();
    fitted.describe("a walk", &corpus, &reading.words).unwrap();
    assert_eq!((&fitted.info.title, &fitted.info.vocabulary), (&"a walk".to_owned(), &corpus.vocabulary));
    assert_eq!(fitted.labels().unwrap().names(), ["insects", "air"]);
}

#[test]
fn documents_without_tokens_have_no_place_for_their_labels() {
    let bags = blocks(&[&[(0, 30.0), (1, 10.0)], &[], &[(0, 5.0), (1, 20.0)], &[]]);
    let mut model = two_words(&[0.9, 0.6, 0.3, 0.1]);
    let mut embedded = |by_document: [Option<u32>; 4]| {
        let names = vec!["low".to_owned(), "high".to_owned()];
        model.embed_labels(&LabelColumn { names, by_document: by_document.to_vec() }, &bags).unwrap();
        model.labels().map(|labels| labels.table().to_vec())
    };
    assert_eq!(embedded([None, Some(0), None, Some(1)]), None);
    let with = embedded([Some(0), Some(1), Some(1), Some(1)]);
    let without = embedded([Some(0), None, Some(1), None]);
    assert!(with.is_some() && with == without);
}

/// Windows that are all alike have equal shares, of which the first counts.
#[test]
fn of_equal_windows_the_first_is_the_place() {
    let model = two_words(&[0.5; 4]);
    let bags = blocks(&[&[(0, 3.0), (1, 2.0)]]);
    model
        .for_each_inference(&bags, |_, _, found| assert!(found.shares.iter().all(|&q| q == found.shares[0])))
        .unwrap();
    let place = model.place(&bags).unwrap().remove(0).position.unwrap();
    assert_eq!((place.window, place.probability), (vec![0], 0.25));
}

/// Of many windows, each of which draws tokens.
#[test]
fn places_and_labels_count_every_window() {
    let cells = 64;
    let near = |cell: usize| 1.0 / (1.0 + (cell as f64 - 40.0).abs());
    let first: Vec<f64> = (0..cells).map(|cell| 0.1 + 0.8 * near(cell)).collect();
    let mut model = two_words(&first);
    let bags = blocks(&[&[(0, 30.0), (1, 2.0)], &[(0, 2.0), (1, 30.0)]]);
    let torus = *model.shape().windows().torus();
    let (mut means, mut best) = (Vec::new(), Vec::new());
    model
        .for_each_inference(&bags, |_, _, found| {
            assert!(found.shares.iter().all(|&share| share > 0.0));
            let mut mean = CircularMean::default();
            found.shares.iter().enumerate().for_each(|(cell, &share)| mean.add(&torus, cell, share));
            means.push(mean.coordinate(AXES - 1, cells));
            let larger = |best: usize, cell: usize| {
                if found.shares[cell] > found.shares[best] { cell } else { best }
            };
            best.push((0..cells).fold(0, larger));
        })
        .unwrap();
    assert_eq!(best[0], 40);
    for (place, (mean, best)) in model.place(&bags).unwrap().into_iter().zip(means.iter().zip(best)) {
        let position = place.position.unwrap();
        assert_eq!((position.mean, position.window), (vec![*mean], vec![best]));
    }
    // A label of the first bag has more of window 40 than that of the second.
    let names = vec!["near".to_owned(), "far".to_owned()];
    model.embed_labels(&LabelColumn { names, by_document: vec![Some(0), Some(1)] }, &bags).unwrap();
    let shares = model.labels().unwrap().table();
    assert!(shares[40] > 0.5 && shares[cells + 8] > 0.5);
}
