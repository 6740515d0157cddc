//! Kinds `lda_infer`, `lda_fit` and `lda_scores`.

use countgrid::{
    counts::{CsrBuf, Dense},
    em::{Fit, FreeEnergy, Learn, TablesMutExt},
    lda::{Grouping, Inference, Lda, Learner, Options, Posterior, Shape, Statistics, Terms},
    math::Real,
    scores::fess,
};

use crate::{
    case::{Case, Failure, Tolerance},
    windows::{transpose, transpose_back},
};

/// For files without an allowance in f32. Inference contracts: its fixed point carries a few hundred roundings of
/// `gamma`, 1e-5, over the smallest `1 - rate` of some tens of sweeps; entries of `beta` are quotients of such sums.
const SINGLE: Tolerance = Tolerance { rel: 1e-3, abs: 1e-3 };

/// A model of a case; `beta` is `[K, V]` there.
fn model<T: Real>(case: &Case, beta: &str, alpha: &str) -> Result<Lda<T, Vec<T>>, Failure> {
    let beta = case.input(beta)?;
    let [topics, features] = beta.shape[..] else { return Err(Failure("beta: not [K, V]".into())) };
    let mut tables = transpose::<T>(&beta.data, topics)?;
    tables.extend(case.input(alpha)?.data.iter().map(|&alpha| T::from_f64(alpha)));
    Ok(Lda::new(Shape::new(topics, features)?, tables)?)
}

/// So many sweeps, or fewer if one changes no bit.
fn inference(case: &Case) -> Inference {
    Inference { sweeps: case.number("sweeps", 0.0) as usize, tolerance: 0.0 }
}

pub fn infer<T: Real>(case: &Case) -> Result<(), Failure> {
    let lda = model::<T>(case, "beta", "alpha")?;
    let tolerance = case.tolerance::<T>(SINGLE)?;
    let (counts, shape) = (case.input("counts")?.data, *lda.shape());
    let bags = Dense::new(shape.features(), &counts)?;
    let mut scratch = vec![T::zero(); shape.posterior_scratch_len()];
    let (mut gamma, mut phis, mut elbo) = (Vec::new(), Vec::new(), Vec::new());
    for bag in 0..counts.len() / shape.features() {
        let posterior = lda.posterior(&bags, bag, inference(case), &mut scratch)?;
        gamma.extend_from_slice(posterior.gamma());
        elbo.push(posterior.bound());
        for feature in 0..shape.features() {
            let mut phi = vec![T::zero(); shape.topics()];
            posterior.phi(feature, &mut phi)?;
            phis.extend(phi);
        }
    }
    for name in case.expected_names() {
        match name {
            "gamma" => case.check(name, &gamma, tolerance)?,
            "phi" => case.check(name, &phis, tolerance)?,
            "elbo" => case.check(name, &elbo, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn fit<T: Real>(case: &Case) -> Result<(), Failure> {
    let lda = model::<T>(case, "beta0", "alpha")?;
    let tolerance = case.tolerance::<T>(SINGLE)?;
    let (counts, shape) = (case.input("counts")?.data, *lda.shape());
    let bags = Dense::new(shape.features(), &counts)?;
    let options =
        Options { inference: inference(case), smoothing: case.number("eta", 0.0), ..Options::default() };
    let mut learner = Learner::new(lda, options)?;
    let (sums, scratch) = (vec![T::zero(); shape.sums_len()], vec![T::zero(); shape.scratch_len(3)]);
    let mut statistics = Statistics::new(shape, sums, scratch)?;
    let (mut bound, mut gamma) = (Vec::new(), Vec::new());
    for _ in 0..case.number("iterations", 0.0) as usize {
        gamma.clear();
        let mut scratch = vec![T::zero(); shape.posterior_scratch_len()];
        for bag in 0..counts.len() / shape.features() {
            let posterior = learner.lda().posterior(&bags, bag, options.inference, &mut scratch)?;
            gamma.extend_from_slice(posterior.gamma());
        }
        statistics.clear();
        bound.push(-learner.expectation(&bags, &mut statistics)? - learner.penalty());
        learner.maximization(&mut statistics)?;
    }
    for name in case.expected_names() {
        match name {
            "bound" => case.check(name, &bound, tolerance)?,
            "beta" => case.check(name, &transpose_back(learner.lda().beta(), shape.topics()), tolerance)?,
            "gamma" => case.check(name, &gamma, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

/// `beta[K, V]` in one of three forms, then `alpha[K]`.
fn fisher<T: Real>(
    posterior: &Posterior<'_, T, Dense<'_, f64>>,
    lda: &Lda<T, Vec<T>>,
    form: &str,
) -> Result<Vec<T>, Failure> {
    let (topics, features) = (lda.shape().topics(), lda.shape().features());
    let (mut raw, mut counts) = (vec![T::zero(); topics * features], vec![T::zero(); topics * features]);
    posterior.beta_gradient(&mut raw)?;
    posterior.expected_counts(&mut counts)?;
    let mut alpha = vec![T::zero(); topics];
    posterior.alpha_gradient(&mut alpha)?;
    let (raw, counts) = (transpose_back(&raw, topics), transpose_back(&counts, topics));
    let beta = transpose_back(lda.beta(), topics);
    let mut scores = Vec::new();
    for ((raw, counts), beta) in raw.chunks(features).zip(counts.chunks(features)).zip(beta.chunks(features))
    {
        let tokens = countgrid::math::sum(counts);
        scores.extend(raw.iter().zip(counts).zip(beta).map(|((&raw, &count), &beta)| match form {
            "raw" => raw,
            "tangent" => raw - tokens,
            _ => count - beta * tokens,
        }));
    }
    scores.extend(alpha);
    Ok(scores)
}

pub fn scores<T: Real>(case: &Case) -> Result<(), Failure> {
    let [one, two] = [model::<T>(case, "beta", "alpha")?, model::<T>(case, "beta2", "alpha2")?];
    let tolerance = case.tolerance::<T>(SINGLE)?;
    let (counts, shape) = (case.input("counts")?.data, *one.shape());
    let bags = Dense::new(shape.features(), &counts)?;
    let sparse = CsrBuf::from_dense(shape.features(), &counts)?;
    let [mut scratch, mut scratch2] = [(); 2].map(|()| vec![T::zero(); shape.posterior_scratch_len()]);
    let posterior = one.posterior(&bags, 0, inference(case), &mut scratch)?;
    let posterior2 = two.posterior(&bags, 0, inference(case), &mut scratch2)?;
    let fess = |grouping| -> Result<Vec<T>, Failure> {
        let model = Terms::new(&one, inference(case), grouping);
        let document = sparse.as_view().bag(0).ok_or_else(|| Failure("no document".into()))?;
        let mut terms = vec![T::zero(); model.term_count(&document)];
        fess(&model, &document, &mut terms, &mut vec![T::zero(); model.scratch_len(&document)])?;
        Ok(terms)
    };
    for name in case.expected_names() {
        match name {
            "elbo" => case.check(name, &[posterior.bound()], tolerance)?,
            "fess_topic" => case.check(name, &fess(Grouping::Topic)?, tolerance)?,
            "fess_word" => case.check(name, &fess(Grouping::Word)?, tolerance)?,
            "fisher_raw" => case.check(name, &fisher(&posterior, &one, "raw")?, tolerance)?,
            "fisher_tangent" => case.check(name, &fisher(&posterior, &one, "tangent")?, tolerance)?,
            "fisher_logit" => case.check(name, &fisher(&posterior, &one, "logit")?, tolerance)?,
            "top_tangent" => {
                let mut top = vec![T::from_f64(posterior.bound() - posterior2.bound())];
                top.extend(fisher(&posterior, &one, "tangent")?);
                top.extend(fisher(&posterior2, &two, "tangent")?.into_iter().map(|x| -x));
                case.check(name, &top, tolerance)?;
            }
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}
