//! Maps of real abstracts: the objective after every iteration, and the two paths beside each other.

use std::{io::Write, path::PathBuf};

use countgrid_em::{Fit, Learn, TablesExt, TablesMutExt};
use countgrid_gtm::{
    Basis, EmissionModel, Gtm, Inflation, Learner, Options, Priors, Shape, Statistics, grid_points,
    half_plane_centres,
};
use countgrid_io::{DataSet, ReadOptions, read};
use countgrid_math::{AlignedVec, Real};
use countgrid_text::{TextOptions, WordBags, bags};

/// Every ninth abstract of three collections over 150 stems, or `None`, said aloud, where the data are not to be had.
fn abstracts() -> Option<WordBags> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/classic3/classic3.tsv.gz");
    if !path.is_file() {
        let _ = writeln!(
            std::io::stderr(),
            "real data: SKIPPED, no file ../shared/data/classic3/classic3.tsv.gz"
        );
        return None;
    }
    let (data, _) = read(&path, &ReadOptions::default()).expect("abstracts that can be read");
    let DataSet::Documents(documents) = data else { panic!("abstracts are documents") };
    let options = TextOptions { stem: true, max_share: 0.25, max_words: 150, ..TextOptions::default() };
    let texts = documents.iter().step_by(9).map(|document| document.text.as_str());
    Some(bags(texts, &options).expect("abstracts with words"))
}

/// Free energies plus penalties before every update and after the last.
fn chain<T: Real>(
    words: &WordBags,
    emission_model: EmissionModel,
    sinh: bool,
    general: bool,
    iterations: usize,
) -> Vec<f64> {
    let features = words.vocabulary.len();
    let bags = words.bags.as_view();
    let (mut points, mut centres) = (vec![T::zero(); 2 * 80], [T::zero(); 24]);
    grid_points(10, 8, &mut points).unwrap();
    let basis = if sinh {
        half_plane_centres(4, &[0.5, 1.0, 2.0], &mut centres).unwrap();
        Basis::sinh(&centres, 2).unwrap()
    } else {
        grid_points(4, 3, &mut centres).unwrap();
        Basis::rbf(&centres, 2, T::from_f64(0.8)).unwrap()
    };
    let mut phi = vec![T::zero(); basis.columns() * 80];
    basis.table(&points, &mut phi).unwrap();
    let mut shape = Shape::new(emission_model, 80, 2, basis.columns(), features).unwrap();
    if general {
        shape = shape.general();
    }
    let mut map = Gtm::allocate(shape, &points, &phi, Priors::default()).unwrap();
    map.initialise(&bags, 0.2).unwrap();
    let mut learner = Learner::<T, _, AlignedVec<f64>>::new(
        map,
        AlignedVec::zeroed(shape.emissions_len()).unwrap(),
        Options::default(),
    )
    .unwrap();
    let mut statistics = Statistics::allocate(shape).unwrap();
    let mut objective = Vec::new();
    for iteration in 0..=iterations {
        if iteration > 0 {
            learner.maximization(&mut statistics).unwrap();
        }
        statistics.clear();
        let free_energy: f64 = learner.expectation(&bags, &mut statistics).unwrap();
        objective.push(free_energy + learner.penalty());
    }
    assert!(learner.map().table("weights").unwrap().iter().all(|w| w.is_finite()));
    objective
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn objectives_never_rise_on_real_abstracts() {
    let Some(words) = abstracts() else { return };
    for emission_model in EmissionModel::ALL {
        for sinh in [false, true] {
            // Roundings of some 10,000 terms come to 1e-9 in f64 at the most. In f32 a table entry is rounded by 6e-8 of its size of about 10, and a
            // document of 30 entries has then an error of 2e-5 in some 60: 3e-7 of the objective, whatever the sign.
            let (double, single) = (
                chain::<f64>(&words, emission_model, sinh, false, 8),
                chain::<f32>(&words, emission_model, sinh, false, 8),
            );
            for (chain, room) in [(&double, 1e-9), (&single, 3e-7)] {
                for pair in chain.windows(2) {
                    assert!(pair[1] <= pair[0] + room * pair[0].abs(), "{emission_model:?} {sinh} {chain:?}");
                }
            }
            assert!(double[8] < double[0] - 0.01 * double[0].abs(), "{emission_model:?} {double:?}");
        }
    }
}

#[test]
fn both_paths_agree_on_real_abstracts() {
    let Some(words) = abstracts() else { return };
    for inflation in [Inflation::Document, Inflation::Latent] {
        let fast = chain::<f64>(&words, EmissionModel::Zip(inflation), false, false, 3);
        let general = chain::<f64>(&words, EmissionModel::Zip(inflation), false, true, 3);
        for (x, y) in fast.iter().zip(&general) {
            assert!((x - y).abs() <= 1e-10 * x.abs(), "{fast:?} {general:?}");
        }
    }
}
