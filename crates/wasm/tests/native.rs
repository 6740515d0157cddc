//! The types behind the JavaScript ones: whatever they are given, they answer or refuse, and what they answer is that of
//! the libraries below.

use countgrid_corpus::WordOptions;
use countgrid_counts::{Bags, Csr};
use countgrid_em::{Annealing, EmOptions, no_observer, restart_seed};
use countgrid_estimators::{AXES, AnyModel, GridOptions, GridSchedule};
use countgrid_grid::{Grid, Learner, Options, Shape, Statistics};
use countgrid_io::ModelFile;
use countgrid_torus::{Torus, Windows};
use countgrid_wasm::{Corpus, CountingGrid, Fit, Texts};
use proptest::prelude::*;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

fn any_count() -> impl Strategy<Value = f32> {
    prop_oneof![8 => (1..9u8).prop_map(f32::from), 1 => any::<f32>()]
}

/// Rows that may be in order, and may be anything.
fn any_rows() -> impl Strategy<Value = (Vec<u32>, Vec<u32>, Vec<f32>, usize)> {
    let row = prop::collection::btree_map(0..6u32, any_count(), 0..5);
    let orderly = prop::collection::vec(row, 0..6).prop_map(|rows| {
        let (mut offsets, mut indices, mut counts) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            indices.extend(row.keys());
            counts.extend(row.values());
            offsets.push(indices.len() as u32);
        }
        (offsets, indices, counts, 6)
    });
    let anything = (
        prop::collection::vec(prop_oneof![0..8u32, any::<u32>()], 0..6),
        prop::collection::vec(prop_oneof![0..8u32, any::<u32>()], 0..6),
        prop::collection::vec(any_count(), 0..6),
        prop_oneof![0..8usize, any::<u32>().prop_map(|n| n as usize)],
    );
    prop_oneof![3 => orderly, 1 => anything]
}

fn any_sides() -> impl Strategy<Value = Vec<usize>> {
    let side = prop_oneof![8 => 1..7usize, 1 => Just(0), 1 => any::<usize>()];
    prop_oneof![9 => prop::collection::vec(side.clone(), 1..4), 1 => prop::collection::vec(side, 0..10)]
}

fn any_options() -> impl Strategy<Value = GridOptions> {
    let numbers = (0..4usize, prop_oneof![Just(0.0), Just(1e-5), any::<f64>()], any::<u64>(), 0..3usize);
    let rest = (
        prop::option::of(any_sides()),
        prop::option::of(any_sides()),
        prop::option::of(prop_oneof![0.0..2.0, any::<f64>()]),
    );
    (rest, numbers, any::<[bool; 2]>()).prop_map(|((extents, window, pseudocount), numbers, flags)| {
        let (iterations, tolerance, seed, inner_passes) = numbers;
        let [learn_prior, single] = flags;
        let window = window.map(|window| match &extents {
            // Where it is not wild it often fits.
            Some(extents) if window.len() != extents.len() => {
                extents.iter().map(|&n| n.div_ceil(2)).collect()
            }
            _ => window,
        });
        GridOptions {
            extents,
            window,
            iterations,
            tolerance,
            seed,
            pseudocount,
            learn_prior,
            inner_passes,
            schedule: if single { GridSchedule::Single } else { GridSchedule::CoarseToFine },
            ..GridOptions::default()
        }
    })
}

proptest! {
    #[test]
    fn everything_is_fitted_or_refused((offsets, indices, counts, features) in any_rows(), options in any_options()) {
        let Ok(corpus) = Corpus::new(offsets, indices, counts, features) else { return Ok(()) };
        let Ok(mut fit) = Fit::new(&corpus, &options) else { return Ok(()) };
        let mut share = 0.0;
        while !fit.is_done() {
            let Ok(bound) = fit.step() else {
                prop_assert!(fit.step().is_err() && fit.finish().is_err());
                return Ok(());
            };
            prop_assert!(bound.is_finite() && fit.share() >= share && fit.share() <= 1.0);
            share = fit.share();
        }
        let grid = fit.finish().unwrap();
        prop_assert!(grid.pi().iter().all(|p| *p >= 0.0 && p.is_finite()));
        if let Ok(places) = grid.embed(&corpus) {
            prop_assert!(places.len() == corpus.len() && places.iter().all(|&cell| (cell as usize) < grid.cells()));
        }
        // Its own tables are a grid.
        let again = CountingGrid::new(grid.pi(), Some(grid.prior()), grid.extents(), grid.window()).unwrap();
        prop_assert_eq!(again.histograms().unwrap(), grid.histograms().unwrap());
    }

    #[test]
    fn tables_are_a_grid_or_refused(
        pi in prop::collection::vec(prop_oneof![Just(1.0f32), Just(0.5), any::<f32>()], 0..9),
        prior in prop::option::of(prop::collection::vec(prop_oneof![Just(0.5f32), any::<f32>()], 0..4)),
        (extents, window) in (any_sides(), any_sides()),
    ) {
        if let Ok(grid) = CountingGrid::new(&pi, prior.as_deref(), &extents, &window) {
            prop_assert_eq!(grid.pi().len(), grid.cells() * grid.features());
        }
    }

    #[test]
    fn posteriors_are_finite_or_refused(
        indices in prop::collection::vec(prop_oneof![0..4u32, any::<u32>()], 0..5),
        counts in prop::collection::vec(any_count(), 0..5),
    ) {
        let pi = [0.5f32, 0.25, 0.1, 0.25, 0.25, 0.2, 0.25, 0.25, 0.3, 0.0, 0.25, 0.4];
        let grid = CountingGrid::new(&pi, None, &[3], &[2]).unwrap();
        if let Ok((posterior, evidence)) = grid.posterior(&indices, &counts) {
            let sum: f64 = posterior.iter().map(|&q| f64::from(q)).sum();
            prop_assert!(evidence.is_finite() && (sum - 1.0).abs() < 3.0 * f64::from(f32::EPSILON));
        }
    }

    #[test]
    fn any_text_is_mapped_or_refused(documents in prop::collection::vec("\\PC{0,40}|([a-e]{2,3} ){0,9}", 0..8)) {
        let Ok(texts) = Texts::new("any", &documents, &WordOptions::default()) else { return Ok(()) };
        let options = GridOptions { iterations: 2, ..GridOptions::default() };
        let mut fit = Fit::new(texts.corpus(), &options).unwrap();
        fit.step().unwrap();
        let mut grid = fit.finish().unwrap();
        let page = texts.page(&documents.concat(), &grid).unwrap();
        let model = grid.model(None).unwrap();
        prop_assert_eq!(ModelFile::from_bytes(&model).unwrap().to_bytes().unwrap(), model);
        prop_assert!(page.ends_with("</html>\n"));
        prop_assert_eq!(texts.count(&documents).unwrap().tokens(), texts.corpus().tokens());
    }
}

/// Sixty bags over 24 features in three groups, as compressed rows.
fn rows() -> (Vec<u32>, Vec<u32>, Vec<f32>) {
    let (mut offsets, mut indices, mut counts) = (vec![0], Vec::new(), Vec::new());
    for bag in 0..60u32 {
        for feature in (0..24).filter(|feature| feature % 3 == bag % 3 && feature % 7 != bag % 7) {
            indices.push(feature);
            counts.push((1 + (feature + bag) % 4) as f32);
        }
        offsets.push(indices.len() as u32);
    }
    (offsets, indices, counts)
}

fn corpus() -> Corpus {
    let (offsets, indices, counts) = rows();
    Corpus::new(offsets, indices, counts, 24).unwrap()
}

/// The same, written down with the libraries below in two dimensions and with other scratch.
#[test]
fn a_fit_is_that_of_the_libraries_below() {
    let corpus = corpus();
    let options = GridOptions {
        extents: Some(vec![12, 16]),
        window: Some(vec![3, 4]),
        seed: 5,
        ..GridOptions::default()
    };
    let mut fit = Fit::new(&corpus, &options).unwrap();
    while !fit.is_done() {
        fit.step().unwrap();
    }
    let bound = fit.bound_per_token().unwrap();
    let page = fit.finish().unwrap();

    let (offsets, indices, counts) = rows();
    let offsets: Vec<usize> = offsets.into_iter().map(|offset| offset as usize).collect();
    let bags = Csr::new(24, &offsets, &indices, &counts).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(restart_seed(5, 0));
    let mut coarse = None;
    for (extents, iterations) in [([6, 8], 10), ([12, 16], 40)] {
        let shape = Shape::new(Windows::new(Torus::new(extents).unwrap(), [3, 4]).unwrap(), 24).unwrap();
        let mut grid = Grid::<f32, _, 2>::uniform(shape).unwrap();
        match &coarse {
            None => grid.randomize(&mut rng),
            Some(coarse) => grid.refine(coarse, 0.15, &mut rng).unwrap(),
        }
        let options = Options {
            pseudocount: (0.02 * bags.tokens() / (shape.cells() as f64 * 24.0)).max(0.01),
            prior_pseudocount: 0.02 * 60.0 / shape.cells() as f64,
            ..Options::default()
        };
        let mut learner = Learner::from_grid(grid, options).unwrap();
        let mut statistics = Statistics::allocate(shape, 3).unwrap();
        let plan = EmOptions { iterations, tolerance: 1e-5 }.check().unwrap();
        let annealing = Annealing::geometric(4.0 * 60.0 / bags.tokens(), 20).unwrap();
        let outcome = match &coarse {
            None => plan.fit(&mut learner, &bags, &mut statistics, no_observer),
            Some(_) => plan.fit_annealed(&mut learner, &bags, &mut statistics, &annealing, no_observer),
        }
        .unwrap();
        let (fitted, _) = learner.into_parts();
        if extents == [12, 16] {
            assert_eq!((page.pi(), page.prior()), fitted.tables());
            assert_eq!(bound, -outcome.free_energy / bags.tokens());
        }
        coarse = Some(fitted);
    }
}

/// The type that the program opens model files with.
#[test]
fn a_model_is_opened_again() {
    let texts = ["red ants follow trails", "trails of blue ants", "red sky, red dust", "blue sky"];
    let texts = Texts::new("ants and skies", &texts, &WordOptions::default()).unwrap();
    let mut grid = Fit::new(texts.corpus(), &GridOptions::default()).unwrap().finish().unwrap();
    let open = |bytes: &[u8]| AnyModel::from_file(ModelFile::from_bytes(bytes).unwrap()).unwrap();
    let AnyModel::GridF32(model) = open(&grid.model(None).unwrap()) else { panic!("another kind") };
    assert_eq!(
        (model.info.title.as_str(), model.info.vocabulary.as_slice()),
        ("ants and skies", texts.vocabulary())
    );
    assert_eq!(model.grid().tables(), (grid.pi(), grid.prior()));
    assert_eq!(open(&grid.model(Some("skies")).unwrap()).info().title, "skies");

    let mut wordless = Fit::new(&corpus(), &GridOptions::default()).unwrap().finish().unwrap();
    assert!(wordless.model(None).unwrap_err().to_string().contains("a model has words"));
}

#[test]
fn a_fit_goes_on_from_a_checkpoint_to_the_same_bits() {
    let (corpus, options) = (corpus(), GridOptions { extents: Some(vec![12, 16]), ..GridOptions::default() });
    let mut fit = Fit::new(&corpus, &options).unwrap();
    (0..14).for_each(|_| assert!(fit.step().unwrap().is_finite()));
    let checkpoint = fit.checkpoint().unwrap();
    let mut resumed = Fit::resume(&corpus, &options, &checkpoint).unwrap();
    while !fit.is_done() {
        assert_eq!(resumed.step().unwrap(), fit.step().unwrap());
    }
    let (resumed, fitted) = (resumed.finish().unwrap(), fit.finish().unwrap());
    assert_eq!((resumed.pi(), resumed.prior()), (fitted.pi(), fitted.prior()));

    let other = GridOptions { seed: 2, ..options };
    let refused = Fit::resume(&corpus, &other, &checkpoint).unwrap_err().to_string();
    assert!(refused.contains("a checkpoint of a training with seed 1, not 2"), "{refused}");
    assert!(Fit::resume(&corpus, &other, &checkpoint[1..]).is_err());
}

#[test]
fn what_a_page_has_no_memory_for_is_refused_with_numbers() {
    let corpus = Corpus::new(vec![0, 1], vec![0], vec![1.0], 300).unwrap();
    let refused = |extents: &[usize], window: &[usize]| {
        let options = GridOptions {
            extents: Some(extents.to_vec()),
            window: Some(window.to_vec()),
            ..GridOptions::default()
        };
        Fit::new(&corpus, &options).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let limit = "of memory, and 1.1 GB are free";
    assert!(refused(&[(1 << 20) + 1], &[1]).contains(limit));
    assert!(refused(&[1024, 1024], &[2]).contains(limit));
    // Tiles of sixteen are filled by one cell each.
    assert!(refused(&[1 << 19, 1], &[1, 1]).contains(limit));
    assert!(refused(&[usize::MAX; AXES], &[1]).contains(limit));
    assert!(refused(&[2; AXES + 1], &[1]).contains("9 axes, at least 1 and at most 8 are possible"));
    assert_eq!(refused(&[256, 256], &[2]), "", "this one fits");
    let wide = Corpus::new(vec![0, 1], vec![0], vec![1.0], u32::MAX as usize).unwrap();
    assert!(Fit::new(&wide, &GridOptions::default()).unwrap_err().to_string().contains(limit));
}
