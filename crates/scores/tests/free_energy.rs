//! Free energy scores: sums over all paths, one model and several side by side, lengths, and what is refused.

use countgrid_counts::{Length, Sequence};
use countgrid_em::FreeEnergy;
use countgrid_hmm::{Chain, ChainShape, Grouping, Hmm, HmmError, Posterior, Shape, Terms};
use countgrid_scores::{ClassModels, FeatureError, ScoreError, fess, nfess};
use proptest::prelude::*;

const SYMBOLS: usize = 3;

/// A model of `states`, its entries from `seeds`, none of them zero.
fn hmm(states: usize, seeds: &[f64]) -> Hmm<f64, Vec<f64>> {
    let shape = Shape::new(states, SYMBOLS).unwrap();
    let mut tables = seeds[..shape.hmm_len()].to_vec();
    let (chain, emit) = tables.split_at_mut(states + states * states);
    for row in chain.chunks_mut(states) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
    for state in 0..states {
        let sum: f64 = emit.iter().skip(state).step_by(states).sum();
        emit.iter_mut().skip(state).step_by(states).for_each(|p| *p /= sum);
    }
    Hmm::new(shape, tables).unwrap()
}

/// `p(x)` as the sum over all paths.
fn by_paths(hmm: &Hmm<f64, Vec<f64>>, x: &[u8]) -> f64 {
    let (start, trans, emit) = hmm.tables();
    let states = start.len();
    let of = |path: usize| {
        let (mut rest, mut before, mut p) = (path, None, 1.0);
        for &x in x {
            let s = rest % states;
            rest /= states;
            p *= before.map_or(start[s], |from: usize| trans[from * states + s]);
            p *= emit[usize::from(x) * states + s];
            before = Some(s);
        }
        p
    };
    (0..states.pow(x.len() as u32)).map(of).sum()
}

fn score_of<X: ?Sized, M: FreeEnergy<X>>(model: &M, datum: &X) -> (Vec<M::Scalar>, M::Scalar)
where
    M::Error: std::fmt::Debug,
{
    let zero = countgrid_math::Real::from_f64(0.0);
    let mut features = vec![zero; model.term_count(datum)];
    let free_energy = fess(model, datum, &mut features, &mut vec![zero; model.scratch_len(datum)]).unwrap();
    (features, free_energy)
}

fn seeds() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.1..1.0_f64, 3 + 9 + 9)
}

// Some hundred operations of values below a hundred, and sums of as many terms.
const CLOSE: f64 = 1e-12;

proptest! {
    #[test]
    fn terms_sum_to_the_free_energy_of_all_paths(seeds in seeds(), states in 1..4_usize, x in prop::collection::vec(0..3_u8, 1..6)) {
        let (hmm, sequence) = (hmm(states, &seeds), Sequence::new(SYMBOLS, &x).unwrap());
        let log_p = by_paths(&hmm, &x).ln();
        for grouping in [Grouping::Position, Grouping::Summed] {
            let (features, free_energy) = score_of(&Terms::new(&hmm, Posterior::Exact, grouping), &sequence);
            prop_assert!((free_energy + log_p).abs() < CLOSE);
            prop_assert!((features.iter().sum::<f64>() - free_energy).abs() < CLOSE);
        }
        let field = Terms::new(&hmm, Posterior::MeanField { sweeps: 3 }, Grouping::Summed);
        prop_assert!(score_of(&field, &sequence).1 >= -log_p - CLOSE); // a bound
    }

    #[test]
    fn length_normalised_times_length_is_the_score(seeds in seeds(), x in prop::collection::vec(0..3_u8, 1..20)) {
        let (hmm, sequence) = (hmm(2, &seeds), Sequence::new(SYMBOLS, &x).unwrap());
        let model = Terms::new(&hmm, Posterior::Exact, Grouping::Summed);
        let (features, free_energy) = score_of(&model, &sequence);
        let (mut normalised, mut scratch) = (features.clone(), vec![0.0; model.scratch_len(&sequence)]);
        let per_symbol = nfess(&model, &sequence, &mut normalised, &mut scratch).unwrap();
        let n = x.len() as f64;
        prop_assert!((per_symbol * n - free_energy).abs() <= CLOSE);
        for (&one, &all) in normalised.iter().zip(&features) {
            prop_assert!((one * n - all).abs() <= CLOSE * (1.0 + all.abs()));
        }
    }

    #[test]
    fn side_by_side_each_is_what_it_is_alone(a in seeds(), b in seeds(), x in prop::collection::vec(0..3_u8, 1..9)) {
        let models = [hmm(2, &a), hmm(3, &b), hmm(1, &a)]; // of as many shapes
        let sequence = Sequence::new(SYMBOLS, &x).unwrap();
        let alone: Vec<_> = models.iter().map(|model| score_of(model, &sequence)).collect();
        let classes = ClassModels::new(&models).unwrap();
        let count = classes.feature_count(&sequence);
        let mut scratch = vec![0.0; classes.scratch_len(&sequence)];
        let (mut features, mut free_energies) = (vec![0.0; count], [0.0; 3]);
        let class = classes.fess(&sequence, &mut features, &mut free_energies, &mut scratch).unwrap();
        prop_assert_eq!(&features, &alone.iter().flat_map(|(terms, _)| terms.clone()).collect::<Vec<_>>());
        prop_assert_eq!(free_energies.to_vec(), alone.iter().map(|(_, sum)| *sum).collect::<Vec<_>>());
        let likely = |model: &Hmm<f64, Vec<f64>>| by_paths(model, &x);
        prop_assert!(models.iter().all(|other| likely(other) <= likely(&models[class]) * (1.0 + CLOSE)));
        prop_assert!(free_energies.iter().all(|&other| free_energies[class] <= other));
        // Lemma 3.1: weights of -1 and +1 are the test of the free energies.
        let (first, second) = (alone[0].0.len(), alone[0].0.len() + alone[1].0.len());
        let test = features[first..second].iter().sum::<f64>() - features[..first].iter().sum::<f64>();
        prop_assert!((test - (free_energies[1] - free_energies[0])).abs() < CLOSE);

        let mut normalised = vec![0.0; count];
        let again = classes.nfess(&sequence, &mut normalised, &mut free_energies, &mut scratch).unwrap();
        prop_assert_eq!(again, class);
        let n = x.len() as f64;
        prop_assert_eq!(normalised, features.iter().map(|x| x / n).collect::<Vec<_>>());
        prop_assert_eq!(free_energies.to_vec(), alone.iter().map(|(_, sum)| sum / n).collect::<Vec<_>>());
        // References to models are models.
        let borrowed = [&models[0], &models[1], &models[2]];
        let mut found = vec![0.0; count];
        ClassModels::new(&borrowed).unwrap().fess(&sequence, &mut found, &mut free_energies, &mut scratch).unwrap();
        prop_assert_eq!(found, features);
    }
}

/// A datum of any length and any term.
struct Datum(f64, f32);
impl Length for Datum {
    fn length(&self) -> f64 {
        self.0
    }
}
struct One;
impl FreeEnergy<Datum> for One {
    type Scalar = f32;
    type Error = &'static str;
    fn term_count(&self, _: &Datum) -> usize {
        1
    }
    fn scratch_len(&self, _: &Datum) -> usize {
        2
    }
    fn free_energy_terms(
        &self,
        datum: &Datum,
        terms: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<f32, &'static str> {
        assert_eq!(scratch.len(), 2, "as long as asked for");
        terms.fill(datum.1);
        if datum.1 < 0.0 { Err("negative") } else { Ok(datum.1) }
    }
}

#[test]
fn lengths() {
    let nfess = |datum: Datum| {
        let mut features = [0.0];
        nfess(&One, &datum, &mut features, &mut [0.0; 3]).map(|per_token| (per_token, features[0]))
    };
    assert_eq!(nfess(Datum(4.0, 3.0)), Ok((0.75, 0.75)));
    assert_eq!(nfess(Datum(0.0, 3.0)), Ok((3.0, 3.0))); // nothing to be averaged over
    for length in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(nfess(Datum(length, 3.0)), Err(FeatureError::Score(ScoreError::DatumLength)));
    }
    // Not a length of f32: a feature that is infinite is refused.
    let entry = ScoreError::Entry { table: "features", row: 0, column: 0 };
    assert_eq!(nfess(Datum(1e-300, 3.0)), Err(FeatureError::Score(entry)));
    assert_eq!(nfess(Datum(1.0, -1.0)), Err(FeatureError::Model("negative")));
}

#[test]
fn what_does_not_fit_is_refused() {
    let length = |table, expected, found| FeatureError::Score(ScoreError::Length { table, expected, found });
    let datum = Datum(1.0, 2.0);
    assert_eq!(fess(&One, &datum, &mut [0.0; 2], &mut [0.0; 2]), Err(length("features", 1, 2)));
    assert_eq!(fess(&One, &datum, &mut [0.0], &mut [0.0]), Err(length("scratch", 2, 1)));
    let entry = ScoreError::Entry { table: "features", row: 0, column: 0 };
    let nan = fess(&One, &Datum(1.0, f32::NAN), &mut [0.0], &mut [0.0; 2]);
    assert_eq!(nan, Err(FeatureError::Score(entry)));

    assert_eq!(ClassModels::<One>::new(&[]).map(|_| ()), Err(ScoreError::Empty { table: "models" }));
    let classes = ClassModels::new(&[One, One]).unwrap();
    let mut scratch = [0.0; 2];
    assert_eq!(
        classes.fess(&datum, &mut [0.0; 3], &mut [0.0; 2], &mut scratch),
        Err(length("features", 2, 3))
    );
    let few = classes.fess(&datum, &mut [0.0; 2], &mut [0.0], &mut scratch);
    assert_eq!(few, Err(length("free_energies", 2, 1)));
    assert_eq!(classes.fess(&datum, &mut [0.0; 2], &mut [0.0; 2], &mut scratch), Ok(0)); // the first of equals

    // It says of which class the model refused: one that cannot make the sequence.
    let shape = ChainShape::new(2, 0).unwrap();
    let chains = [[0.5, 0.5], [1.0, 0.0]].map(|p| Chain::new(shape, p).unwrap());
    let sequence = Sequence::new(2, &[0_u8, 1]).unwrap();
    let error = ClassModels::new(&chains).unwrap().fess(&sequence, &mut [0.0; 4], &mut [0.0; 2], &mut []);
    let error = error.unwrap_err();
    let impossible = HmmError::Impossible { sequence: 0, position: 1 };
    assert_eq!(error, FeatureError::ClassModel { class: 1, error: impossible });
    assert!(error.to_string().starts_with("model of class 1: "));
}
