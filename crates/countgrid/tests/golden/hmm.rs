//! Kinds `hmm_infer`, `hmm_fit`, `hmm_scores` and `markov_chain`.

use countgrid::{
    counts::{Sequence, Sequences},
    em::{Fit, FreeEnergy, Learn, Tables, TablesMutExt},
    hmm::{Chain, ChainShape, Grouping, Hmm, Learner, Posterior, Shape, Statistics, Terms},
    math::Real,
    scores::{Form, fess, fisher, nfess, top},
};

use crate::case::{Array, Case, Failure, Tolerance};

/// What the files of these kinds allow in f32.
const SINGLE: Tolerance = Tolerance { rel: 1e-3, abs: 1e-3 };

type Model<T> = Hmm<T, Vec<T>>;

fn zeros<T: Real>(len: usize) -> Vec<T> {
    vec![T::zero(); len]
}

fn convert<T: Real>(x: &[f64]) -> Vec<T> {
    x.iter().map(|&x| T::from_f64(x)).collect()
}

/// `[row][column]` of a table of so many columns, turned.
fn transpose<T: Copy>(x: &[T], columns: usize) -> Vec<T> {
    (0..columns).flat_map(|column| x.iter().skip(column).step_by(columns).copied()).collect()
}

fn symbols(case: &Case) -> Result<Vec<u8>, Failure> {
    Ok(case.input("x")?.data.iter().map(|&x| x as u8).collect())
}

fn offsets(case: &Case) -> Result<Vec<usize>, Failure> {
    let mut offsets = vec![0];
    for length in case.input("lengths")?.data {
        offsets.push(offsets[offsets.len() - 1] + length as usize);
    }
    Ok(offsets)
}

/// The model of the tables `start`, `trans` and `emit`, each with a suffix.
fn model<T: Real>(case: &Case, suffix: &str) -> Result<Model<T>, Failure> {
    let input = |name: &str| case.input(&format!("{name}{suffix}"));
    let Array { shape, data: emit } = input("emit")?;
    let [states, symbols] = shape[..] else { return Err(Failure("emit: not [S, V]".into())) };
    let tables = [input("start")?.data, input("trans")?.data, transpose(&emit, symbols)].concat();
    Ok(Hmm::new(Shape::new(states, symbols)?, convert(&tables))?)
}

pub fn infer<T: Real>(case: &Case) -> Result<(), Failure> {
    let (hmm, x, tolerance) = (model::<T>(case, "")?, symbols(case)?, case.tolerance::<T>(SINGLE)?);
    let (states, n) = (hmm.shape().states(), x.len());
    let sequence = Sequence::new(hmm.shape().symbols(), &x)?;
    let (mut gamma, mut xi) = (zeros(n * states), zeros((n - 1) * states * states));
    let mut scratch = zeros(hmm.shape().scratch_len::<T>(n));
    let log_p = hmm.posterior_pairs(&sequence, &mut gamma, &mut xi, &mut scratch)?;
    for name in case.expected_names() {
        match name {
            "log_likelihood" => case.check(name, &[log_p], tolerance)?,
            "gamma" => case.check(name, &gamma, tolerance)?,
            "xi" => case.check(name, &xi, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn fit<T: Real>(case: &Case) -> Result<(), Failure> {
    let (hmm, x, tolerance) = (model::<T>(case, "")?, symbols(case)?, case.tolerance::<T>(SINGLE)?);
    let (shape, offsets) = (*hmm.shape(), offsets(case)?);
    let data = Sequences::new(shape.symbols(), &offsets, &x)?;
    let mut learner = Learner::new(hmm, case.number("pseudocount", 0.0))?;
    let scratch = zeros(shape.scratch_len::<T>(data.longest()));
    let mut statistics = Statistics::new(shape, zeros(shape.hmm_len()), scratch)?;
    let mut trace = Vec::new();
    for _ in 0..case.number("iterations", 0.0) as usize {
        statistics.clear();
        trace.push(-learner.expectation(&data, &mut statistics)? - learner.penalty());
        learner.maximization(&mut statistics)?;
    }
    let (start, trans, emit) = learner.model().tables();
    for name in case.expected_names() {
        match name {
            "trace" => case.check(name, &trace, tolerance)?,
            "start" => case.check(name, start, tolerance)?,
            "trans" => case.check(name, trans, tolerance)?,
            "emit" => case.check(name, &transpose(emit, shape.states()), tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn scores<T: Real>(case: &Case) -> Result<(), Failure> {
    let (hmm, other, x) = (model::<T>(case, "")?, model::<T>(case, "2")?, symbols(case)?);
    let tolerance = case.tolerance::<T>(SINGLE)?;
    let sweeps = case.number("sweeps", 0.0) as usize;
    let sequence = Sequence::new(hmm.shape().symbols(), &x)?;
    let mut scratch = zeros(hmm.shape().scratch_len::<T>(x.len()));
    for name in case.expected_names() {
        let of_positions = |posterior| -> Result<Vec<T>, Failure> {
            let model = Terms::new(&hmm, posterior, Grouping::Position);
            let mut terms = zeros(model.term_count(&sequence));
            fess(&model, &sequence, &mut terms, &mut zeros(model.scratch_len(&sequence)))?;
            Ok(terms)
        };
        let per_symbol = |posterior| -> Result<Vec<T>, Failure> {
            let model = Terms::new(&hmm, posterior, Grouping::Summed);
            let mut terms = zeros(model.term_count(&sequence));
            nfess(&model, &sequence, &mut terms, &mut zeros(model.scratch_len(&sequence)))?;
            Ok(terms)
        };
        let score = |form| -> Result<Vec<T>, Failure> {
            let mut score = zeros(hmm.buffer().len());
            fisher(&hmm, &sequence, form, &mut score, &mut zeros(hmm.shape().scratch_len::<T>(x.len())))?;
            Ok(by_state(&hmm, &score))
        };
        let field = Posterior::MeanField { sweeps };
        let found = match name {
            "log_likelihood" => vec![T::from_f64(hmm.log_likelihood(&sequence, &mut scratch)?)],
            "fess_exact" => of_positions(Posterior::Exact)?,
            "nfess_exact" => per_symbol(Posterior::Exact)?,
            "fess_mean_field" => of_positions(field)?,
            "nfess_mean_field" => per_symbol(field)?,
            "mean_field_q" => {
                let mut q = zeros(x.len() * hmm.shape().states());
                hmm.mean_field(&sequence, sweeps, &mut q, &mut scratch)?;
                q
            }
            "fisher_raw" => score(Form::Raw)?,
            "fisher_tangent" => score(Form::Tangent)?,
            "fisher_logit" => score(Form::Logit)?,
            "top_tangent" => {
                let own = hmm.buffer().len();
                let mut features = zeros(1 + own + other.buffer().len());
                let zero = T::zero();
                let form = Form::Tangent;
                let v = top(&hmm, &other, zero, &sequence, form, &mut features, &mut scratch)?;
                let (of_hmm, of_other) = features[1..].split_at(own);
                [vec![v], by_state(&hmm, of_hmm), by_state(&other, of_other)].concat()
            }
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        };
        case.check(name, &found, tolerance)?;
    }
    Ok(())
}

/// A score with the emissions as `[state][symbol]`.
fn by_state<T: Real>(hmm: &Model<T>, score: &[T]) -> Vec<T> {
    let states = hmm.shape().states();
    let (first, emit) = score.split_at(states * (1 + states));
    [first, &transpose(emit, states)].concat()
}

pub fn chain<T: Real>(case: &Case) -> Result<(), Failure> {
    let (x, offsets, tolerance) = (symbols(case)?, offsets(case)?, case.tolerance::<T>(SINGLE)?);
    let shape = ChainShape::new(case.number("symbols", 0.0) as usize, 1)?;
    let data = Sequences::new(shape.symbols(), &offsets, &x)?;
    let chain = Chain::uniform_in(shape, zeros::<T>(shape.chain_len()))?;
    let mut counts = chain.statistics_in(zeros(shape.chain_len()))?;
    let mut learner = Learner::new(chain, case.number("pseudocount", 0.0))?;
    learner.expectation(&data, &mut counts)?;
    learner.maximization(&mut counts)?;
    let chain = learner.into_model();
    let log_p: Vec<f64> = data.iter().map(|x| chain.log_likelihood(&x)).collect::<Result<_, _>>()?;
    for name in case.expected_names() {
        match name {
            "start" => case.check(name, chain.tables().0, tolerance)?,
            "trans" => case.check(name, chain.tables().1, tolerance)?,
            "log_likelihood" => case.check(name, &log_p, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}
