//! What posterior samples of couplings are good for: `V`, alignment, prediction, and how far off they are.

use countgrid_counts::{Bags, Count};
use countgrid_math::{Real, sqrt};

use crate::{
    HarmoniumError,
    error::{same_length, take},
    linear::{eigen, procrustes},
    wide::Wide,
};

/// Adds `weight W Wᵀ` to `v` `[M][M]`, in f64: with weights `1/S`, `E[V]` over `S` samples. `w` `[M][J]`.
///
/// Example: [the crate's](crate).
///
/// # Errors
/// [`HarmoniumError::Length`].
pub fn add_gram<T: Real>(w: &[T], topics: usize, weight: f64, v: &mut [f64]) -> Result<(), HarmoniumError> {
    let words = rows("w", w, topics)?;
    same_length("v", words * words, v.len())?;
    for (own, v) in w.chunks_exact(topics).zip(v.chunks_exact_mut(words)) {
        for (other, v) in w.chunks_exact(topics).zip(v) {
            *v += weight * own.iter().zip(other).fold(0.0, |sum, (a, b)| sum + a.wide() * b.wide());
        }
    }
    Ok(())
}

fn rows<T>(table: &'static str, w: &[T], topics: usize) -> Result<usize, HarmoniumError> {
    if topics == 0 || w.is_empty() {
        return Err(HarmoniumError::Nothing { what: "couplings" });
    }
    same_length(table, w.len() / topics * topics, w.len())?;
    Ok(w.len() / topics)
}

/// Elements of scratch of [`align`].
///
/// Example: [`align`](crate::align).
#[must_use]
pub const fn align_scratch_len(topics: usize) -> usize {
    2 * topics * topics
}

/// The rotation `Q` `[J][J]` that brings a sample closest to a reference, `W Q ≈ W_ref`: `Q = U Aᵀ` of the singular value
/// decomposition `Wᵀ W_ref = U S Aᵀ`.
///
/// The distribution of words depends on `V` alone, so samples are determined up to rotations; average aligned ones.
/// `w`, `reference` `[M][J]`; `scratch`: [`align_scratch_len`] elements.
///
/// ```
/// use countgrid_harmonium::{align, align_scratch_len};
/// // Of two words and two topics; the sample has the topics of the reference exchanged.
/// let (sample, reference) = ([1.0f64, 2.0, 0.0, 3.0], [2.0, 1.0, 3.0, 0.0]);
/// let mut rotation = [0.0; 4];
/// align(&sample, &reference, 2, &mut rotation, &mut [0.0; align_scratch_len(2)])?;
/// assert!(rotation.iter().zip([0.0, 1.0, 1.0, 0.0]).all(|(q, expected)| (q - expected).abs() < 1e-12));
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
///
/// # Errors
/// [`HarmoniumError::Length`], [`HarmoniumError::Nothing`], [`HarmoniumError::NotFinite`], [`HarmoniumError::Scratch`].
/// # Source
/// Schönemann, A generalized solution of the orthogonal Procrustes problem, Psychometrika 1966.
pub fn align<T: Real>(
    w: &[T],
    reference: &[T],
    topics: usize,
    rotation: &mut [f64],
    scratch: &mut [f64],
) -> Result<(), HarmoniumError> {
    rows("w", w, topics)?;
    same_length("reference", w.len(), reference.len())?;
    same_length("rotation", topics * topics, rotation.len())?;
    for (table, elements) in [("w", w), ("reference", reference)] {
        if let Some(index) = elements.iter().position(|x| !x.is_finite()) {
            return Err(HarmoniumError::NotFinite { table, index });
        }
    }
    let (product, rest) = take(scratch, topics * topics)?;
    let (basis, _) = take(rest, topics * topics)?;
    product.fill(0.0);
    for (own, other) in w.chunks_exact(topics).zip(reference.chunks_exact(topics)) {
        for (a, row) in own.iter().zip(product.chunks_exact_mut(topics)) {
            row.iter_mut().zip(other).for_each(|(sum, b)| *sum += a.wide() * b.wide());
        }
    }
    procrustes(topics, product, basis, rotation);
    Ok(())
}

/// Adds `weight W Q` to `mean` `[M][J]`: the mean of aligned samples, from which `E[h | x] = meanᵀ x`. Without a
/// rotation `Q` is the identity.
///
/// ```
/// use countgrid_harmonium::add_rotated;
/// let mut mean = [0.0f64; 4];
/// add_rotated(&[1.0, 2.0, 0.0, 3.0], Some(&[0.0, 1.0, 1.0, 0.0]), 2, 0.5, &mut mean)?;
/// add_rotated(&[2.0, 1.0, 3.0, 0.0], None, 2, 0.5, &mut mean)?;
/// assert_eq!(mean, [2.0, 1.0, 3.0, 0.0]);
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
///
/// # Errors
/// [`HarmoniumError::Length`], [`HarmoniumError::Nothing`].
/// # Source
/// Eq. 22 of the Bayesian exponential family harmonium paper (BEFH), which averages without aligning.
pub fn add_rotated<T: Real>(
    w: &[T],
    rotation: Option<&[f64]>,
    topics: usize,
    weight: f64,
    mean: &mut [T],
) -> Result<(), HarmoniumError> {
    rows("w", w, topics)?;
    same_length("mean", w.len(), mean.len())?;
    if let Some(rotation) = rotation {
        same_length("rotation", topics * topics, rotation.len())?;
    }
    for (own, mean) in w.chunks_exact(topics).zip(mean.chunks_exact_mut(topics)) {
        for (j, mean) in mean.iter_mut().enumerate() {
            let turned = match rotation {
                None => own[j].wide(),
                Some(q) => own
                    .iter()
                    .zip(q.iter().skip(j).step_by(topics))
                    .fold(0.0, |sum, (w, q)| sum + w.wide() * q),
            };
            *mean += T::from_f64(weight * turned);
        }
    }
    Ok(())
}

/// `(x - y)ᵀ V (x - y)`, the squared distance of two documents in topic space, from `E[V]` alone; no alignment needed.
/// `scratch`: `M` elements.
///
/// ```
/// use countgrid_counts::Dense;
/// use countgrid_harmonium::{add_gram, distance_squared};
///
/// let mut v = [0.0; 4];
/// add_gram(&[1.0f64, 0.0], 1, 1.0, &mut v)?; // of two words only the first says anything
/// let bags = Dense::new(2, &[3.0f64, 1.0, 1.0, 9.0]).unwrap();
/// assert_eq!(distance_squared(&v, (&bags, 0), (&bags, 1), &mut [0.0; 2])?, 4.0);
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
///
/// # Errors
/// [`HarmoniumError::Words`], [`HarmoniumError::Length`], [`HarmoniumError::NoSuchDocument`], [`HarmoniumError::Scratch`].
pub fn distance_squared<A: Bags, B: Bags>(
    v: &[f64],
    (bags, document): (&A, usize),
    (others, other): (&B, usize),
    scratch: &mut [f64],
) -> Result<f64, HarmoniumError> {
    let words = bags.features();
    if words != others.features() {
        return Err(HarmoniumError::Words { expected: words, found: others.features() });
    }
    same_length("v", words.saturating_mul(words), v.len())?;
    for (document, documents) in [(document, bags.len()), (other, others.len())] {
        if document >= documents {
            return Err(HarmoniumError::NoSuchDocument { document, documents });
        }
    }
    let (d, _) = take(scratch, words)?;
    d.fill(0.0);
    bags.entries(document).for_each(|(word, count)| d[word] += count.to_real::<f64>());
    others.entries(other).for_each(|(word, count)| d[word] -= count.to_real::<f64>());
    let rows = d.iter().zip(v.chunks_exact(words)).filter(|(d, _)| **d != 0.0);
    Ok(rows.fold(0.0, |sum, (own, row)| sum + own * row.iter().zip(&*d).fold(0.0, |sum, (v, d)| sum + v * d)))
}

/// Couplings `w` `[M][J]` with the `J` largest eigenpairs of `V`, `W = U Λ^{1/2}`: coordinates of documents are `Wᵀx`, the
/// best for distances by `E[V]`.
///
/// `v` `[M][M]`, symmetric, is used up; `scratch`: `M²` elements. Jacobi rotations: for up to some hundreds of words.
/// Of each eigenvector the first element that is not zero is positive.
///
/// Example: [`empirical_bayes`](crate::empirical_bayes).
///
/// # Errors
/// [`HarmoniumError::Length`], [`HarmoniumError::Nothing`], [`HarmoniumError::NotFinite`], [`HarmoniumError::Scratch`].
pub fn couplings_from_gram<T: Real>(
    v: &mut [f64],
    topics: usize,
    w: &mut [T],
    scratch: &mut [f64],
) -> Result<(), HarmoniumError> {
    let words = rows("w", w, topics)?;
    same_length("v", words.saturating_mul(words), v.len())?;
    if let Some(index) = v.iter().position(|x| !x.is_finite()) {
        return Err(HarmoniumError::NotFinite { table: "v", index });
    }
    let (vectors, _) = take(scratch, words * words)?;
    eigen(words, v, vectors);
    for topic in 0..topics {
        // The largest eigenvalue left; one that is taken becomes -∞.
        let value = |k: usize| v[k * words + k];
        let best = (1..words).fold(0, |best, k| if value(k) > value(best) { k } else { best });
        let largest = value(best);
        v[best * words + best] = f64::NEG_INFINITY;
        let root = if largest > 0.0 { sqrt(largest) } else { 0.0 };
        let vector = &vectors[best * words..(best + 1) * words];
        let negative = vector.iter().find(|x| **x != 0.0).is_some_and(|x| *x < 0.0);
        let root = if negative { -root } else { root };
        for (row, x) in w.chunks_exact_mut(topics).zip(vector) {
            row[topic] = T::from_f64(root * x);
        }
    }
    Ok(())
}

/// Mean absolute error `mean |V - V̂|` and mean relative error `mean |V - V̂| / max(|V|, |V̂|)` with `0/0 = 0`. A NaN stays
/// one.
///
/// ```
/// use countgrid_harmonium::coupling_errors;
/// assert_eq!(coupling_errors(&[1.0, 0.0], &[0.5, 0.0])?, (0.25, 0.25));
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
///
/// # Errors
/// [`HarmoniumError::Length`], [`HarmoniumError::Nothing`].
/// # Source
/// Eqs. 29 and 30 of the Bayesian exponential family harmonium paper (BEFH).
pub fn coupling_errors(v: &[f64], estimate: &[f64]) -> Result<(f64, f64), HarmoniumError> {
    same_length("estimate", v.len(), estimate.len())?;
    if v.is_empty() {
        return Err(HarmoniumError::Nothing { what: "couplings" });
    }
    let (mut absolute, mut relative) = (0.0, 0.0);
    for (v, estimate) in v.iter().zip(estimate) {
        let error = (v - estimate).abs();
        absolute += error;
        if error != 0.0 {
            relative += error / v.abs().max(estimate.abs());
        }
    }
    let count = v.len() as f64;
    Ok((absolute / count, relative / count))
}
