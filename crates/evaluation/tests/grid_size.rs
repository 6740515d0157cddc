//! The chosen size of a grid, against fits made one by one.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder, memory};
use countgrid_em::Stop;
use countgrid_estimators::{BagTotals, EstimatorError, GridLayout, GridOptions, Train};
use countgrid_evaluation::{EvaluationError, choose_grid, document_completion};

/// Documents of so many topics with ten words each, of twelve tokens.
fn documents(topics: usize, number: usize) -> Vec<Vec<(usize, f32)>> {
    let mut state = 1_u64;
    let mut draw = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let document = |n: usize| {
        let mut counts = vec![0.0_f32; 10 * topics];
        (0..12).for_each(|_| counts[n * 7 % topics * 10 + draw(10)] += 1.0);
        counts.into_iter().enumerate().filter(|(_, count)| *count > 0.0).collect()
    };
    (0..number).map(document).collect()
}

fn blocks<T: countgrid_corpus::Storable>(
    features: usize,
    documents: impl IntoIterator<Item = Vec<(usize, T)>>,
    limits: BlockLimits,
) -> Blocks<T> {
    let mut builder = BlocksBuilder::new(features, limits).unwrap();
    documents.into_iter().for_each(|document| builder.push(document).unwrap());
    builder.finish().unwrap()
}

#[test]
fn the_size_is_that_of_the_best_of_fits_made_one_by_one() {
    let options = GridOptions { iterations: 8, ..GridOptions::default() };
    for topics in [2, 30] {
        let all = documents(topics, 200);
        let features = 10 * topics;
        let bags = blocks(features, all.clone(), BlockLimits::in_memory());
        let mut told = Vec::new();
        let choice = choose_grid(&options, &bags, |tried| told.push(tried.clone()), &Stop::new()).unwrap();
        assert_eq!(told, choice.tried);

        let of_fifth = |held: bool| all.iter().enumerate().filter(move |(n, _)| (n % 5 == 0) == held);
        let training =
            blocks(features, of_fifth(false).map(|(_, document)| document.clone()), BlockLimits::in_memory());
        let wide =
            |document: &[(usize, f32)]| document.iter().map(|&(word, n)| (word, f64::from(n))).collect();
        let held = blocks(features, of_fifth(true).map(|(_, own)| wide(own)), BlockLimits::in_memory());
        let likelihood = |layout: &GridLayout| {
            let own = GridOptions { extents: Some(layout.extents().to_vec()), ..options.clone() };
            let plan = own.check::<f32>(BagTotals::from_blocks(&training).unwrap()).unwrap();
            let mut fit = plan.train(&training, None).unwrap();
            fit.run(|_| ControlFlow::Continue(())).unwrap();
            document_completion(&fit.finish().unwrap(), &held, options.seed, &Stop::new()).unwrap().unwrap()
        };
        let mut best: Option<(f64, usize)> = None;
        for tried in &choice.tried {
            assert_eq!(likelihood(&tried.layout), tried.held_out, "{:?}", tried.layout);
            let (value, side) = (tried.held_out.per_token.value, tried.layout.extents()[0]);
            if best.is_none_or(|(known, smallest)| value > known || (value == known && side < smallest)) {
                best = Some((value, side));
            }
        }
        assert_eq!(choice.layout.extents(), [best.unwrap().1; 2]);
        // The default comes first, and its neighbour that was not worse, or both of them, are there.
        let sides: Vec<usize> = choice.tried.iter().map(|tried| tried.layout.extents()[0]).collect();
        assert_eq!(sides[..2], [12, 17], "{sides:?}");

        // The same from a file.
        let streamed = blocks(features, all, BlockLimits::streaming());
        assert_eq!(choose_grid(&options, &streamed, |_| {}, &Stop::new()).unwrap(), choice);
    }
}

#[test]
fn axes_are_those_of_the_window_and_what_cannot_be_tried_is_not() {
    let bags = blocks(60, documents(6, 100), BlockLimits::in_memory());
    let options = GridOptions { iterations: 2, ..GridOptions::default() };
    let of = |window: &[usize], bags: &Blocks<f32>| {
        let options = GridOptions { window: Some(window.to_vec()), ..options.clone() };
        choose_grid(&options, bags, |_| {}, &Stop::new())
    };
    let choice = of(&[2, 2, 2], &bags).unwrap();
    assert_eq!((choice.layout.extents().len(), choice.layout.window()), (3, &[2, 2, 2][..]));
    // 8 cells are the default for so many documents: a window of 7 fits into no smaller grid.
    let choice = of(&[7], &bags).unwrap();
    assert!(choice.tried.iter().all(|tried| tried.layout.extents() >= &[8, 8][..]));
    assert!(matches!(of(&[9], &bags), Err(EvaluationError::Estimator(_))));

    // One word, of which no grid knows more: of equal sizes the smallest, and the window of 7 fits into none below the default.
    let plain = blocks(1, vec![vec![(0, 4.0)]; 100], BlockLimits::in_memory());
    let choice = of(&[7], &plain).unwrap();
    let sides: Vec<usize> = choice.tried.iter().map(|tried| tried.layout.extents()[0]).collect();
    assert_eq!((&sides[..], choice.layout.extents()), (&[8, 11][..], &[8, 8][..]));
    // No grid of so many words fits into memory, which is said of the default size: where it is known how much memory there is.
    if memory::available().is_some_and(|free| free < 1 << 37) {
        let wide = blocks(1 << 31, documents(1, 100), BlockLimits::in_memory());
        let refused = choose_grid(&options, &wide, |_| {}, &Stop::new());
        let by_memory = match &refused {
            Err(EvaluationError::Estimator(EstimatorError::GridMemory { extents, .. })) => *extents == [8, 8],
            _ => false,
        };
        assert!(by_memory, "{refused:?}");
    }

    // Documents of one token have no halves.
    let single = blocks(3, (0..30).map(|n| vec![(n % 3, 1.0_f32)]), BlockLimits::in_memory());
    let choice = choose_grid(&options, &single, |_| {}, &Stop::new()).unwrap();
    assert!(choice.tried.is_empty());
    assert_eq!(choice.layout, GridLayout::choose(None, None, 30).unwrap());
    let parts = blocks(3, (0..30).map(|n| vec![(n % 3, 1.5_f32)]), BlockLimits::in_memory());
    let refused = choose_grid(&options, &parts, |_| {}, &Stop::new());
    assert!(matches!(refused, Err(EvaluationError::TokenCount { document: 0, word: 0, count: 1.5 })));

    let stop = Stop::new();
    stop.request();
    assert!(matches!(choose_grid(&options, &bags, |_| {}, &stop), Err(EvaluationError::Stopped)));
    let none = blocks(3, Vec::<Vec<(usize, f32)>>::new(), BlockLimits::in_memory());
    assert!(matches!(choose_grid(&options, &none, |_| {}, &Stop::new()), Err(EvaluationError::Estimator(_))));
}
