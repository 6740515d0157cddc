//! Fisher scores and TOP features of sequence models: identities, and central differences.

use countgrid_counts::Sequence;
use countgrid_em::{ExpectedCounts, Table, Tables};
use countgrid_hmm::{Chain, ChainShape, Hmm, HmmError, Shape};
use countgrid_scores::{FeatureError, Form, ScoreError, fisher, top};
use proptest::prelude::*;

const FORMS: [Form; 3] = [Form::Raw, Form::Tangent, Form::Logit];

/// A model of `states` over three symbols, its entries from `seeds`, at least 0.1 / 13 each.
fn hmm(states: usize, seeds: &[f64]) -> Hmm<f64, Vec<f64>> {
    let shape = Shape::new(states, 3).unwrap();
    let mut tables: Vec<f64> = seeds[..shape.hmm_len()].to_vec();
    for distribution in distributions(states) {
        let sum: f64 = distribution.iter().map(|&at| tables[at]).sum();
        distribution.iter().for_each(|&at| tables[at] /= sum);
    }
    Hmm::new(shape, tables).unwrap()
}

/// Where the entries of each distribution stand in the buffer.
fn distributions(states: usize) -> Vec<Vec<usize>> {
    let rows = (0..=states).map(|row| (row * states..(row + 1) * states).collect());
    let emit = states + states * states;
    rows.chain((0..states).map(|state| (0..3).map(|v| emit + v * states + state).collect())).collect()
}

/// `log p` by the definition, of tables that need not be normalised.
fn log_p(states: usize, tables: &[f64], x: &[u8]) -> f64 {
    let (start, rest) = tables.split_at(states);
    let (trans, emit) = rest.split_at(states * states);
    let emit = |state: usize, x: u8| emit[usize::from(x) * states + state];
    let mut alpha: Vec<f64> = (0..states).map(|i| start[i] * emit(i, x[0])).collect();
    for &x in &x[1..] {
        let to = |j: usize| (0..states).map(|i| alpha[i] * trans[i * states + j]).sum::<f64>() * emit(j, x);
        alpha = (0..states).map(to).collect();
    }
    alpha.iter().sum::<f64>().ln()
}

fn score(model: &Hmm<f64, Vec<f64>>, x: &[u8], form: Form) -> (f64, Vec<f64>) {
    let (sequence, mut score) = (Sequence::new(3, x).unwrap(), vec![f64::NAN; model.buffer().len()]);
    let mut scratch = vec![f64::NAN; model.counts_scratch_len(&sequence)];
    (fisher(model, &sequence, form, &mut score, &mut scratch).unwrap(), score)
}

fn problem() -> impl Strategy<Value = (usize, Vec<f64>, Vec<u8>)> {
    (1usize..5, prop::collection::vec(0.1f64..1.0, 32), prop::collection::vec(0u8..3, 1..15))
}

proptest! {
    #[test]
    fn forms_hang_together((states, seeds, x) in problem()) {
        let model = hmm(states, &seeds);
        let theta = model.buffer();
        let [(log, raw), (_, tangent), (_, logit)] = FORMS.map(|form| score(&model, &x, form));
        prop_assert!((log - log_p(states, theta, &x)).abs() <= 1e-12);
        for distribution in distributions(states) {
            // Counts are at most 15, entries at least 1/130: derivatives at most 2000, exact to some hundred roundings.
            let sum = |f: &dyn Fn(usize) -> f64| distribution.iter().map(|&at| f(at)).sum::<f64>();
            prop_assert!(sum(&|at| theta[at] * tangent[at]).abs() <= 1e-11);
            prop_assert!(sum(&|at| logit[at]).abs() <= 1e-11);
            let total = sum(&|at| theta[at] * raw[at]);
            for &at in &distribution {
                prop_assert!((logit[at] - theta[at] * tangent[at]).abs() <= 1e-11);
                prop_assert!((raw[at] - total - tangent[at]).abs() <= 1e-9);
            }
        }
    }

    /// Each form is the gradient that it says it is. With the step `h` a central difference is off by `h²/6` third
    /// derivatives and by the roundings of two logarithms over `2h`: `1e-12 (15 / θ)³ / 3` and `1e-14 / 2e-6`.
    #[test]
    fn forms_are_gradients((states, seeds, x) in problem()) {
        let model = hmm(states, &seeds);
        let theta = model.buffer();
        for form in FORMS {
            let (_, found) = score(&model, &x, form);
            for distribution in distributions(states) {
                for &at in &distribution {
                    let moved = |h: f64| {
                        let mut tables = theta.to_vec();
                        match form {
                            Form::Raw | Form::Tangent => tables[at] += h,
                            Form::Logit => tables[at] *= h.exp(),
                        }
                        if form != Form::Raw {
                            let sum: f64 = distribution.iter().map(|&at| tables[at]).sum();
                            distribution.iter().for_each(|&at| tables[at] /= sum);
                        }
                        log_p(states, &tables, &x)
                    };
                    let h = 1e-6;
                    let slope = (moved(h) - moved(-h)) / (2.0 * h);
                    let allowed = 1e-7 + 1e-12 * (15.0 / theta[at]).powi(3) / 3.0;
                    prop_assert!((slope - found[at]).abs() <= allowed, "{form:?} {at}: {slope} {}", found[at]);
                }
            }
        }
    }

    /// `TOP[0]` flips sign and the two blocks swap with a sign when the models are swapped.
    #[test]
    fn top_turns_round((states, seeds, x) in problem(), others in 1usize..5, other_seeds in prop::collection::vec(0.1f64..1.0, 32), odds in -2.0f64..2.0) {
        let (plus, minus) = (hmm(states, &seeds), hmm(others, &other_seeds));
        let sequence = Sequence::new(3, &x).unwrap();
        let (own, other) = (plus.buffer().len(), minus.buffer().len());
        let mut scratch = vec![f64::NAN; plus.counts_scratch_len(&sequence).max(minus.counts_scratch_len(&sequence))];
        let (mut there, mut back) = (vec![0.0; 1 + own + other], vec![0.0; 1 + own + other]);
        let v = top(&plus, &minus, odds, &sequence, Form::Logit, &mut there, &mut scratch).unwrap();
        top(&minus, &plus, -odds, &sequence, Form::Logit, &mut back, &mut scratch).unwrap();
        prop_assert!(v == there[0] && (v + back[0]).abs() <= 1e-13);
        let (of_plus, of_minus) = (score(&plus, &x, Form::Logit), score(&minus, &x, Form::Logit));
        prop_assert!((v - (of_plus.0 - of_minus.0 + odds)).abs() <= 1e-13);
        prop_assert_eq!(&there[1..=own], &of_plus.1[..]);
        let negative = |x: &[f64]| x.iter().map(|x| -x).collect::<Vec<_>>();
        prop_assert_eq!(negative(&there[1 + own..]), of_minus.1);
        prop_assert_eq!(&back[1..=other], &negative(&there[1 + own..])[..]);
        prop_assert_eq!(negative(&back[1 + other..]), &there[1..=own]);
    }
}

#[test]
fn structural_zeros_have_no_derivative() {
    let model = Hmm::left_to_right_in(Shape::new(2, 3).unwrap(), vec![0.0; 12]).unwrap();
    for form in FORMS {
        let (_, score) = score(&model, &[0, 1, 2], form);
        assert!(score[1] == 0.0 && score[4] == 0.0 && score.iter().all(|x| x.is_finite()), "{score:?}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let chain = Chain::new(ChainShape::new(2, 0).unwrap(), [1.0f32, 0.0]).unwrap();
    let (mut score, impossible) = ([0.0; 2], Sequence::new(2, &[0u8, 1]).unwrap());
    let refused = fisher(&chain, &impossible, Form::Raw, &mut score, &mut []).unwrap_err();
    assert_eq!(refused, FeatureError::Model(HmmError::Impossible { sequence: 0, position: 1 }));
    let short = fisher(&chain, &impossible, Form::Raw, &mut score[..1], &mut []).unwrap_err();
    assert_eq!(short, FeatureError::Score(ScoreError::Length { table: "score", expected: 2, found: 1 }));
    let features = top(&chain, &chain, 0.0, &impossible, Form::Raw, &mut [0.0; 4], &mut []).unwrap_err();
    assert_eq!(
        features,
        FeatureError::Score(ScoreError::Length { table: "features", expected: 5, found: 4 })
    );
    // A derivative beyond the largest number of the type.
    let chain = Chain::new(ChainShape::new(2, 0).unwrap(), [1.0f32, 1e-45]).unwrap();
    let refused = fisher(&chain, &impossible, Form::Tangent, &mut score, &mut []).unwrap_err();
    assert_eq!(refused, FeatureError::Score(ScoreError::Entry { table: "score", row: 0, column: 1 }));
    assert!(fisher(&chain, &impossible, Form::Logit, &mut score, &mut []).is_ok());
}

#[test]
fn more_columns_than_a_block() {
    // 40 states, each with a distribution over two symbols in its column.
    let shape = Shape::new(40, 2).unwrap();
    let model = Hmm::uniform_in(shape, vec![0.0f64; shape.hmm_len()]).unwrap();
    let sequence = Sequence::new(2, &[0u8, 0, 1]).unwrap();
    let mut score = vec![0.0; shape.hmm_len()];
    let mut scratch = vec![0.0; model.counts_scratch_len(&sequence)];
    fisher(&model, &sequence, Form::Logit, &mut score, &mut scratch).unwrap();
    let [_, _, Table { rows: 2, columns: 40, .. }] = model.layout() else { panic!("another layout") };
    let (zero, one) = score[40 + 1600..].split_at(40);
    // Each state is visited 3/40 times; two of three symbols are 0, where half is expected.
    assert!(
        zero.iter().all(|x| (x - 0.5 / 40.0).abs() < 1e-15)
            && one.iter().all(|x| (x + 0.5 / 40.0).abs() < 1e-15)
    );
}
