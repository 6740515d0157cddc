use countgrid_counts::Bags;
use countgrid_em::{
    Fit, Learn, coinciding,
    parallel::{Rows, for_each, threads},
};
use countgrid_math::{Kernel, Real, dispatch, sum_ln_floored, symmetric_dirichlet};

use crate::{
    Concentration, Lda, LdaError, Options, Statistics,
    infer::{AddCounts, Document, Inferred, Source},
};

/// A model that is fitted: parameters, and what the two steps do.
///
/// Fitting goes through [`Fit`], for any [`Bags`]: an E-step adds a batch to [`Statistics`] and returns minus its bound;
/// an M-step moves the topics, and `alpha` if it is learned. Every document's inference starts afresh, from
/// `gamma_k = alpha_k + N / K`, so that nothing is kept of a document. Free energy plus [`Learn::penalty`] then
/// falls as a rule, but a document may come to another optimum of its own bound than in the iteration before, or stop at
/// another distance from it. [`Learner::expectation_from`] starts where the last E-step ended: with that, no iteration
/// raises it by more than rounding.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug)]
pub struct Learner<T, S> {
    lda: Lda<T, S>,
    options: Options,
}

/// Where inference starts.
enum Start<'a, T> {
    Even,
    At(&'a mut [T]), // [document][topic], replaced by where it ended
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Learner<T, S> {
    /// Starts from a model.
    ///
    /// # Errors
    /// [`LdaError::NoSweeps`], [`LdaError::Tolerance`], [`LdaError::Smoothing`].
    pub fn new(lda: Lda<T, S>, options: Options) -> Result<Self, LdaError> {
        let options = options.check()?;
        // A topic's pseudo-tokens must stay far from overflow in this float type too.
        if options.smoothing * lda.shape().features() as f64 > T::max_value().to_f64() / 8.0 {
            return Err(LdaError::Smoothing);
        }
        Ok(Self { lda, options })
    }

    /// The parameters.
    pub fn lda(&self) -> &Lda<T, S> {
        &self.lda
    }

    /// The parameters, such as to draw another start.
    pub fn lda_mut(&mut self) -> &mut Lda<T, S> {
        &mut self.lda
    }

    /// What the two steps do.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Ends the fit.
    pub fn into_lda(self) -> Lda<T, S> {
        self.lda
    }

    /// An E-step that starts each document from `gammas` `[document][topic]` and leaves there what it found: the one
    /// that never loses what an earlier one gained. A first `gamma` may be anything positive; [`crate::Posterior::gamma`]
    /// gives a good one.
    ///
    /// # Errors
    /// [`LdaError::Length`]; [`LdaError::Gamma`]; those of [`Fit::expectation`].
    pub fn expectation_from<B: Bags>(
        &self,
        bags: &B,
        gammas: &mut [T],
        statistics: &mut Statistics<T, S>,
    ) -> Result<f64, LdaError> {
        let topics = self.lda.shape().topics();
        crate::error::same_length("gammas", bags.len().saturating_mul(topics), gammas.len())?;
        if let Some(topic) = gammas.chunks_exact(topics).find_map(crate::lda::parameters_out_of_range) {
            return Err(LdaError::Gamma { topic });
        }
        self.add(bags, Start::At(gammas), statistics)
    }

    fn add<B: Bags>(
        &self,
        bags: &B,
        mut start: Start<'_, T>,
        statistics: &mut Statistics<T, S>,
    ) -> Result<f64, LdaError> {
        let shape = *self.lda.shape();
        if shape != *statistics.shape() {
            return Err(LdaError::ShapeMismatch);
        }
        self.lda.same_features(bags)?;
        let (topics, size, ln_normaliser) =
            (shape.topics(), shape.posterior_scratch_len(), self.lda.ln_normaliser());
        let ((beta, alpha), inference) = (self.lda.tables(), self.options.inference);
        let source = |bag| Source { beta, alpha, bags, bag };
        let (counts, totals, scratch) = statistics.parts_mut();
        let capacity = (scratch.len() / size).max(1);
        let most_tokens =
            T::max_value().to_f64() / 8.0 - totals.last().map_or(0.0, |&tokens| tokens.to_f64());
        let parts = if threads() > 1 { 4 * threads() } else { 1 }; // of the counts
        // In f64 and document by document, so that no sum depends on how they are divided into chunks.
        let [mut free_energy, mut log_theta, mut tokens] = [0.0; 3];
        let (mut first, mut outcome) = (0, Ok(()));
        while first < bags.len() {
            let chunk = capacity.min(bags.len() - first);
            let places = scratch.get_mut(..chunk * size).unwrap_or_default();
            if let Start::At(gammas) = &start {
                for (place, gamma) in
                    places.chunks_exact_mut(size).zip(gammas.chunks_exact(topics).skip(first))
                {
                    Document::new(&shape, place).gamma.copy_from_slice(gamma);
                }
            }
            let even = matches!(start, Start::Even);
            for_each(chunk, Rows::new(&mut *places, size), |place, scratch| {
                let scratch = scratch.elements;
                let (source, mut document) = (source(first + place), Document::new(&shape, scratch));
                if even {
                    source.start(document.gamma);
                }
                let found = source.infer(inference, ln_normaliser, &mut document);
                found.write(document.results);
            });
            let mut sums = [free_energy, log_theta, tokens];
            for (place, scratch) in places.chunks_exact_mut(size).enumerate() {
                let [bound, logs, _] = Inferred::read(Document::new(&shape, scratch).results);
                sums = [sums[0] - bound, sums[1] + logs, sums[2] + bags.total(first + place)];
                // No expected count exceeds the tokens, so none overflows in the M-step.
                if !(bound.is_finite() && logs.is_finite() && sums[2] <= most_tokens) {
                    outcome = Err(LdaError::Overflow { bag: first + place });
                    break;
                }
            }
            if outcome.is_err() {
                break;
            }
            [free_energy, log_theta, tokens] = sums;
            if let Start::At(gammas) = &mut start {
                for (place, gamma) in
                    places.chunks_exact_mut(size).zip(gammas.chunks_exact_mut(topics).skip(first))
                {
                    gamma.copy_from_slice(Document::new(&shape, place).gamma);
                }
            }
            // Each part costs a look at all documents of the chunk.
            let features = shape.features().div_ceil(parts);
            let (places, row) = (&*places, shape.row_len());
            let rows = Rows::new(&mut *counts, features * topics);
            for_each(shape.features().div_ceil(features), rows, |part, sums| {
                let table = sums.elements;
                for (place, scratch) in places.chunks_exact(size).enumerate() {
                    let logs = scratch.get(row..row + topics).unwrap_or_default();
                    let shares = scratch.get(2 * row..2 * row + topics).unwrap_or_default();
                    let (source, first) = (source(first + place), part * features);
                    dispatch(AddCounts { source, logs, shares, first, table: &mut *table });
                }
            });
            first += chunk;
        }
        for (total, sum) in totals.iter_mut().zip([log_theta, first as f64, tokens]) {
            *total += T::from_f64(sum);
        }
        outcome?;
        Ok(free_energy)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, B: Bags> Fit<B> for Learner<T, S> {
    /// Infers every document (Blei et al. 2003, Fig. 6), from the even start. Minus the sum of the bounds, in nats.
    ///
    /// # Errors
    /// [`LdaError::Features`], [`LdaError::ShapeMismatch`], [`LdaError::Overflow`]; the sums are then those of the
    /// documents before the chunk that holds the one in question.
    fn expectation(&self, bags: &B, statistics: &mut Self::Statistics) -> Result<f64, LdaError> {
        self.add(bags, Start::Even, statistics)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Learn for Learner<T, S> {
    type Statistics = Statistics<T, S>;
    type Error = LdaError;

    /// `beta_wk ∝ Σ_d c_dw phi_dwk + eta` (Blei et al. 2003, Eq. 9), and `alpha` if it is learned. A topic without any
    /// mass keeps its distribution; an entry below [`Real::FLOOR`] becomes zero, and stays so.
    ///
    /// # Errors
    /// [`LdaError::ShapeMismatch`].
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), LdaError> {
        let (shape, eta) = (*self.lda.shape(), T::from_f64(self.options.smoothing));
        if shape != *statistics.shape() {
            return Err(LdaError::ShapeMismatch);
        }
        let (documents, log_theta) = (statistics.documents().to_f64(), statistics.log_theta().to_f64());
        let (counts, _, scratch) = statistics.parts_mut();
        let (beta, alpha) = self.lda.tables_mut();
        dispatch(Normalise { beta, counts, eta, topics: shape.topics(), scratch });
        if self.options.concentration == Concentration::Symmetric && documents > 0.0 {
            let topics = shape.topics() as f64;
            let start = alpha.iter().fold(0.0, |sum, &x| sum + x.to_f64()) / topics;
            alpha.fill(T::from_f64(symmetric_dirichlet(
                shape.topics(),
                log_theta / documents / topics,
                start,
            )));
        }
        Ok(())
    }

    /// `-eta Σ ln beta_wk`.
    fn penalty(&self) -> f64 {
        let eta = self.options.smoothing;
        if eta > 0.0 { -eta * sum_ln_floored(self.lda.beta()) } else { 0.0 }
    }

    /// Topics whose distributions over features coincide.
    fn coinciding_components(&self) -> Option<usize> {
        let (beta, topics) = (self.lda.beta(), self.lda.shape().topics());
        Some(coinciding(topics, |k| beta.get(k..).unwrap_or_default().iter().step_by(topics).copied()))
    }
}

// Parameters as tables, so that `Restarts::run` of `countgrid-em` keeps the best.
countgrid_em::tables_of_field!(impl[T: Real, S] for Learner<T, S>, lda: Lda<T, S>);

/// Column sums are collected in blocks of so many features, so that an entry of a sum over `V` features meets at most
/// `BLOCK + V / BLOCK` roundings and not `V`.
const BLOCK: usize = 64;

/// `beta_wk <- (counts_wk + eta) / Σ_w (counts_wk + eta)`.
struct Normalise<'a, T> {
    beta: &'a mut [T],
    counts: &'a [T],
    eta: T,
    topics: usize,
    scratch: &'a mut [T], // at least two rows
}

impl<T: Real> Kernel for Normalise<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { beta, counts, eta, topics, scratch } = self;
        let (total, rest) = scratch.split_at_mut(topics.min(scratch.len()));
        let partial = rest.get_mut(..topics).unwrap_or_default();
        total.fill(T::zero());
        for block in counts.chunks(BLOCK * topics) {
            partial.fill(T::zero());
            for row in block.chunks_exact(topics) {
                partial.iter_mut().zip(row).for_each(|(sum, &count)| *sum += count + eta);
            }
            total.iter_mut().zip(&*partial).for_each(|(total, &sum)| *total += sum);
        }
        for (row, counts) in beta.chunks_exact_mut(topics).zip(counts.chunks_exact(topics)) {
            for ((p, &count), &total) in row.iter_mut().zip(counts).zip(&*total) {
                let share = (count + eta) / total;
                let share = if share < T::FLOOR { T::zero() } else { share };
                *p = if total > T::zero() { share } else { *p };
            }
        }
    }
}
