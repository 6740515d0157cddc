use crate::LdaError;

/// When the posterior of a document is good enough.
///
/// Inference starts from `gamma_k = alpha_k + N / K`, independent of earlier results, and ends when a sweep has changed
/// `gamma` by at most `tolerance` tokens a topic on average: the start, the test and the defaults of scikit-learn and
/// of the program of Hoffman et al. 2010.
///
/// Example: [`Terms`](crate::Terms).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Inference {
    /// At most so many sweeps, at least 1.
    pub sweeps: usize,
    /// Mean absolute change of `gamma_k` in a sweep, in tokens. With 0 a sweep is the last only when it changes nothing.
    pub tolerance: f64,
}

impl Inference {
    /// As good as the float type gets, within 10,000 sweeps: for derivatives, which are right at a converged posterior
    /// only.
    pub const CONVERGED: Self = Self { sweeps: 10_000, tolerance: 1e-14 };

    pub(crate) fn check(self) -> Result<Self, LdaError> {
        if self.sweeps == 0 {
            return Err(LdaError::NoSweeps);
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(LdaError::Tolerance);
        }
        Ok(self)
    }
}

impl Default for Inference {
    fn default() -> Self {
        Self { sweeps: 100, tolerance: 1e-3 }
    }
}

/// What an M-step does with the Dirichlet parameter.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Concentration {
    /// `alpha` stays as it is, symmetric or not.
    #[default]
    Fixed,
    /// One value for all topics, from 1e-6 to 1e4, by Newton's method in its logarithm.
    Symmetric,
}

/// What the two steps do. Checked when a [`crate::Learner`] takes it.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Options {
    /// When a document's posterior is good enough.
    pub inference: Inference,
    /// Pseudo-tokens `eta` of every feature in every topic: a Dirichlet prior of parameter `1 + eta` on each topic.
    pub smoothing: f64,
    /// Whether `alpha` is learned.
    pub concentration: Concentration,
}

impl Options {
    pub(crate) fn check(self) -> Result<Self, LdaError> {
        self.inference.check()?;
        if !(self.smoothing >= 0.0 && self.smoothing.is_finite()) {
            return Err(LdaError::Smoothing);
        }
        Ok(self)
    }
}
