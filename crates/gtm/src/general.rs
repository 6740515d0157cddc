//! Zero-inflated counts cell by cell: exposures and covariates of documents, at `O(K D)` exponentials a document.

use countgrid_counts::Zip;
use countgrid_math::{Kernel, Real, axpy, dispatch, sigmoid, softplus, sum};

use crate::{EmissionModel, Emissions, Inflation};

/// What is known of every cell of one document.
pub(crate) struct Cells<'a, T> {
    ln_rates: &'a [T], // [feature][point]
    rates: &'a [T],
    etas: &'a [T], // [feature], or [feature][point] in the latent variant
    exposure: T,
    points: usize,
    latent: bool,
}

impl<'a, T: Real> Cells<'a, T> {
    /// `scratch`: at least `Shape::posterior_scratch_len` elements.
    pub(crate) fn new<S: AsRef<[T]>>(
        map: &'a Emissions<T, S>,
        exposure: T,
        profile: usize,
        scratch: &'a mut [T],
    ) -> Self {
        let shape = map.shape();
        let latent = shape.emission_model() == EmissionModel::Zip(Inflation::Latent);
        if !latent {
            let etas = scratch.get_mut(..shape.features()).unwrap_or_default();
            let gammas = map.part("inflation").chunks_exact(shape.covariates());
            for (eta, gamma) in etas.iter_mut().zip(gammas) {
                let row = map.part("profiles").iter().skip(profile).step_by(shape.profiles());
                *eta = gamma.iter().zip(row).fold(T::zero(), |eta, (&gamma, &g)| eta + gamma * g);
            }
        }
        Self::known(map, exposure, scratch)
    }

    /// Those of a document that [`Cells::new`] has seen, from the scratch that it left.
    pub(crate) fn known<S: AsRef<[T]>>(map: &'a Emissions<T, S>, exposure: T, scratch: &'a [T]) -> Self {
        let shape = map.shape();
        let points = shape.points();
        let latent = shape.emission_model() == EmissionModel::Zip(Inflation::Latent);
        let etas = if latent { map.part("inflation") } else { scratch };
        Self { ln_rates: map.part("slope"), rates: map.part("step"), etas, exposure, points, latent }
    }

    fn row<'t>(&self, table: &'t [T], j: usize) -> &'t [T] {
        table.get(j * self.points..(j + 1) * self.points).unwrap_or_default()
    }
    fn eta(&self, j: usize) -> Eta<'a, T> {
        if self.latent {
            Eta::Row(self.row(self.etas, j))
        } else {
            Eta::One(self.etas.get(j).copied().unwrap_or_default())
        }
    }
}

/// Adds `ln p(t_nj | k)` of all features, but for `-ln t!` and `t ln e`, to `scores` `[point]`.
pub(crate) fn add_zeros<T: Real>(
    cells: &Cells<'_, T>,
    values: impl Iterator<Item = (usize, T)>,
    scores: &mut [T],
) {
    let mut values = values.peekable();
    let (points, exposure) = (cells.points, cells.exposure);
    for j in 0..cells.rates.len() / points {
        let t = values.next_if(|&(feature, _)| feature == j).map_or(T::zero(), |(_, t)| t);
        let rates = cells.row(cells.rates, j);
        let eta = cells.eta(j);
        if t == T::zero() {
            dispatch(Zeros { rates, eta, exposure, scores });
            continue;
        }
        let _ = axpy(t, cells.row(cells.ln_rates, j), scores);
        let _ = axpy(-exposure, rates, scores);
        match eta {
            Eta::One(eta) => {
                let open = softplus(eta);
                scores.iter_mut().for_each(|score| *score -= open);
            }
            Eta::Row(eta) => scores.iter_mut().zip(eta).for_each(|(score, &eta)| *score -= softplus(eta)),
        }
    }
}

/// Rows of the tables of [`crate::Statistics`] from one feature on.
pub(crate) struct Features<'a, T> {
    pub(crate) first: usize,
    pub(crate) counts: &'a mut [T],   // [feature][point]
    pub(crate) present: &'a mut [T],  // [feature][point]
    pub(crate) inflated: &'a mut [T], // [feature][profile or point]
    pub(crate) terms: &'a mut [T],    // [point], scratch
}

/// Adds one document, at responsibilities `r` `[point]`, to `B` in `present` and to `C` in `inflated`, which is by profile,
/// or by point in the latent variant.
pub(crate) fn add_statistics<T: Real>(
    cells: &Cells<'_, T>,
    values: impl Iterator<Item = (usize, T)>,
    r: &[T],
    (profile, trials): (usize, usize), // of how many, or points
    features: Features<'_, T>,
) {
    let Features { first, present: effective, inflated, terms, .. } = features;
    let mut values = values.skip_while(|&(feature, _)| feature < first).peekable();
    let (points, exposure) = (cells.points, cells.exposure);
    let rows = effective.chunks_exact_mut(points).zip(inflated.chunks_exact_mut(trials.max(1)));
    for (j, (effective, inflated)) in (first..).zip(rows) {
        if values.next_if(|&(feature, _)| feature == j).is_some() {
            let _ = axpy(exposure, r, effective);
            continue;
        }
        dispatch(Shares {
            rates: cells.row(cells.rates, j),
            eta: cells.eta(j),
            exposure,
            r,
            effective,
            terms: &mut *terms,
        });
        if cells.latent {
            inflated.iter_mut().zip(&*terms).for_each(|(sum, &term)| *sum += term);
        } else if let Some(inflated) = inflated.get_mut(profile) {
            *inflated += sum(terms);
        }
    }
}

#[derive(Clone, Copy)]
enum Eta<'a, T> {
    One(T),
    Row(&'a [T]),
}

/// `score_k += ln p(0 | k)`.
struct Zeros<'a, T> {
    rates: &'a [T],
    eta: Eta<'a, T>,
    exposure: T,
    scores: &'a mut [T],
}

impl<T: Real> Kernel for Zeros<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rates, eta, exposure, scores } = self;
        match eta {
            Eta::One(eta) => {
                for (score, &rate) in scores.iter_mut().zip(rates) {
                    *score += Zip::ln_zero_of(eta, exposure * rate);
                }
            }
            Eta::Row(etas) => {
                for ((score, &rate), &eta) in scores.iter_mut().zip(rates).zip(etas) {
                    *score += Zip::ln_zero_of(eta, exposure * rate);
                }
            }
        }
    }
}

/// `B_k += r_k e (1 - z_k)` and `terms_k = r_k z_k` with `z = σ(η + e λ)`.
struct Shares<'a, T> {
    rates: &'a [T],
    eta: Eta<'a, T>,
    exposure: T,
    r: &'a [T],
    effective: &'a mut [T],
    terms: &'a mut [T],
}

impl<T: Real> Kernel for Shares<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rates, eta, exposure, r, effective, terms } = self;
        let rows = effective.iter_mut().zip(terms).zip(rates).zip(r);
        match eta {
            Eta::One(eta) => {
                for (((effective, term), &rate), &r) in rows {
                    let logit = eta + exposure * rate;
                    *effective += r * exposure * sigmoid(-logit); // 1 - z without cancellation
                    *term = r * sigmoid(logit);
                }
            }
            Eta::Row(etas) => {
                for ((((effective, term), &rate), &r), &eta) in rows.zip(etas) {
                    let logit = eta + exposure * rate;
                    *effective += r * exposure * sigmoid(-logit);
                    *term = r * sigmoid(logit);
                }
            }
        }
    }
}
