//! Gradients of the log-likelihood as features, from expected counts.

use countgrid_em::{Distributions, ExpectedCounts, Table};
use countgrid_math::Real;

use crate::{
    FeatureError, ScoreError,
    error::{finite, same_length},
};

/// In which coordinates the derivatives are taken. `m_j` is the expected count of an entry `θ_j` of a distribution.
///
/// | form | value | gradient of |
/// |---|---|---|
/// | `Raw` | `m_j / θ_j` | `log p` with the entries of `θ` taken as free numbers |
/// | `Tangent` | `m_j / θ_j - Σ_k m_k` | `log p` of the renormalised `θ / Σ θ` |
/// | `Logit` | `m_j - θ_j Σ_k m_k` | `log p` with `θ = softmax(η)`, in `η` |
///
/// `Σ_j θ_j tangent_j = 0`, `Σ_j logit_j = 0` and `logit_j = θ_j tangent_j`. `Logit` stays finite where `θ` vanishes,
/// the others grow without limit. An entry that is zero is structure, not a parameter: its derivative is zero in every
/// form.
///
/// Example: [`fisher`](crate::fisher).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Entries as free numbers.
    Raw,
    /// Along the simplex; the form of Jaakkola and Haussler.
    Tangent,
    /// In the logarithms of the entries.
    #[default]
    Logit,
}

/// The Fisher score of a datum: the gradient of its log-likelihood in the model's parameters, in the order of the
/// model's buffer and as long. Returns the log-likelihood, or the bound, that it is the gradient of.
///
/// Elements under [`Distributions::None`] are written as the model returns them, in every form.
///
/// `scratch`: at least [`ExpectedCounts::counts_scratch_len`].
///
/// ```
/// use countgrid_counts::Sequence;
/// use countgrid_em::ExpectedCounts;
/// use countgrid_hmm::{Chain, ChainShape};
/// use countgrid_scores::{Form, fisher};
///
/// let chain = Chain::new(ChainShape::new(2, 0)?, [0.25, 0.75])?; // independent symbols
/// let mut score = [0.0; 2];
/// let log_p = fisher(&chain, &Sequence::new(2, &[0u8, 0, 1, 1])?, Form::Tangent, &mut score, &mut [])?;
/// assert_eq!(score, [2.0 / 0.25 - 4.0, 2.0 / 0.75 - 4.0]);
/// assert!((log_p - (0.0625_f64 * 0.5625).ln()).abs() < 1e-15);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// [`FeatureError::Model`]; [`ScoreError::Length`]; [`ScoreError::Entry`] for a derivative that is not finite.
/// # Source
/// T. Jaakkola & D. Haussler, Exploiting generative models in discriminative classifiers, NIPS 11 (1998).
pub fn fisher<X: ?Sized, M: ExpectedCounts<X>>(
    model: &M,
    datum: &X,
    form: Form,
    score: &mut [M::Scalar],
    scratch: &mut [M::Scalar],
) -> Result<M::Scalar, FeatureError<M::Error>> {
    let theta = model.buffer();
    same_length("score", theta.len(), score.len())?;
    same_length("distributions", model.layout().len(), M::DISTRIBUTIONS.len())?;
    let log_p = model.expected_counts(datum, score, scratch).map_err(FeatureError::Model)?;
    differentiate(form, model.layout(), M::DISTRIBUTIONS, theta, score)?;
    Ok(log_p)
}

/// Turns expected counts into derivatives, table by table.
fn differentiate<T: Real>(
    form: Form,
    layout: &[Table],
    distributions: &[Distributions],
    mut theta: &[T],
    score: &mut [T],
) -> Result<(), ScoreError> {
    let mut rest = &mut *score;
    for (table, distributions) in layout.iter().zip(distributions) {
        let elements = table.elements().unwrap_or(usize::MAX).min(theta.len());
        let (own, others) = theta.split_at(elements);
        let (counts, after) = rest.split_at_mut(elements.min(rest.len()));
        let columns = table.columns.max(1);
        match distributions {
            Distributions::Rows => {
                for (theta, m) in own.chunks(columns).zip(counts.chunks_mut(columns)) {
                    let total = m.iter().fold(T::zero(), |sum, &m| sum + m);
                    theta.iter().zip(m).for_each(|(&theta, m)| *m = derivative(form, theta, *m, total));
                }
            }
            Distributions::Columns => gradient_of_columns(form, columns, own, counts),
            Distributions::None => {}
        }
        (theta, rest) = (others, after);
    }
    finite("score", score)
}

/// Columns whose sums are held together.
const BLOCK: usize = 16;

/// A block of columns at a time, row by row.
fn gradient_of_columns<T: Real>(form: Form, columns: usize, theta: &[T], counts: &mut [T]) {
    for first in (0..columns).step_by(BLOCK) {
        let block = |row| row * columns + first..row * columns + columns.min(first + BLOCK);
        let rows = theta.len() / columns;
        let mut totals = [T::zero(); BLOCK];
        for row in 0..rows {
            let m = counts.get(block(row)).unwrap_or_default();
            totals.iter_mut().zip(m).for_each(|(total, &m)| *total += m);
        }
        for row in 0..rows {
            let (theta, m) =
                (theta.get(block(row)).unwrap_or_default(), counts.get_mut(block(row)).unwrap_or_default());
            for ((m, &theta), &total) in m.iter_mut().zip(theta).zip(&totals) {
                *m = derivative(form, theta, *m, total);
            }
        }
    }
}

#[inline]
fn derivative<T: Real>(form: Form, theta: T, m: T, total: T) -> T {
    if theta == T::zero() {
        return T::zero();
    }
    match form {
        Form::Raw => m / theta,
        Form::Tangent => m / theta - total,
        Form::Logit => m - theta * total,
    }
}

/// Tangent vectors of posterior log-odds: `[v, score under plus, -score under minus]` with the log-odds
/// `v = log p(x | plus) - log p(x | minus) + log_odds`, which is returned too.
///
/// The models may have other shapes; `features` has one element and both models' buffers, `scratch` what the more
/// demanding model needs. The derivative in `log_odds`, that of the classes themselves, is 1 for every datum and left
/// out.
///
/// # Errors
/// As [`fisher`].
/// # Source
/// Tsuda, Kawanabe, Rätsch, Sonnenburg & Müller, A new discriminative kernel from probabilistic models, Neural
/// Computation 14(10), 2002.
pub fn top<X: ?Sized, M: ExpectedCounts<X>, N>(
    plus: &M,
    minus: &N,
    log_odds: M::Scalar,
    datum: &X,
    form: Form,
    features: &mut [M::Scalar],
    scratch: &mut [M::Scalar],
) -> Result<M::Scalar, FeatureError<M::Error>>
where
    N: ExpectedCounts<X, Error = M::Error, Scalar = M::Scalar>,
{
    let expected = plus.buffer().len().saturating_add(minus.buffer().len()).saturating_add(1);
    same_length("features", expected, features.len())?;
    let Some((v, scores)) = features.split_first_mut() else {
        return Err(ScoreError::Length { table: "features", expected, found: 0 }.into());
    };
    let (own, other) = scores.split_at_mut(plus.buffer().len());
    let log_p = fisher(plus, datum, form, own, scratch)?;
    *v = log_p - fisher(minus, datum, form, other, scratch)? + log_odds;
    other.iter_mut().for_each(|x| *x = -*x);
    Ok(*v)
}
