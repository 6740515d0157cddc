use std::{fmt, str::FromStr};

use countgrid_harmonium::Shape;

use crate::{BagTotals, EstimatorError};

/// The kinds of harmoniums, by their units.
///
/// Example: [`HarmoniumOptions`](crate::HarmoniumOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum HarmoniumKind {
    /// Binomial words under normal topics.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "harmonium"))]
    Single,
    /// The rate adapting Poisson model: Poisson words under binomial topics.
    #[cfg_attr(feature = "serde", serde(rename = "rap"))]
    RateAdapting,
    /// Binomial words and normal features under the same normal topics.
    DualWing,
}

impl HarmoniumKind {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Single, Self::RateAdapting, Self::DualWing];

    /// What model files and options call it: `harmonium`, `rap`, `dual-wing`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "harmonium",
            Self::RateAdapting => "rap",
            Self::DualWing => "dual-wing",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn shape(self, words: usize, topics: usize, features: usize) -> Result<Shape, EstimatorError> {
        Ok(match self {
            Self::Single => Shape::words(words, topics)?,
            Self::RateAdapting => Shape::rate_adapting(words, topics)?,
            Self::DualWing => Shape::dual_wing(words, features, topics)?,
        })
    }
}

/// How a harmonium is fitted.
///
/// Example: [`HarmoniumOptions`](crate::HarmoniumOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum HarmoniumMethod {
    /// Maximum likelihood by contrastive divergence.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "cd"))]
    ContrastiveDivergence,
    /// Maximum likelihood with persistent Gibbs chains.
    Persistent,
    /// Langevin sampling of the posterior of the couplings, from where contrastive divergence ends.
    Langevin,
}

impl HarmoniumMethod {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::ContrastiveDivergence, Self::Persistent, Self::Langevin];

    /// What model files and options call it: `cd`, `persistent`, `langevin`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContrastiveDivergence => "cd",
            Self::Persistent => "persistent",
            Self::Langevin => "langevin",
        }
    }

    /// The method of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// Where the prior of the couplings comes from.
///
/// Example: [`HarmoniumOptions`](crate::HarmoniumOptions).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum CouplingPrior {
    /// Normal with mean 0 and this standard deviation, from 1e-6 to 1e6.
    Fixed(f64),
    /// A mean and a variance for each word, and feature, learned from samples.
    Empirical,
    /// One of each for all, learned from samples.
    EmpiricalPooled,
}

impl Default for CouplingPrior {
    fn default() -> Self {
        Self::Fixed(0.1)
    }
}

impl FromStr for CouplingPrior {
    type Err = HarmoniumOptionError;

    /// `empirical`, `empirical-pooled` or a standard deviation.
    fn from_str(text: &str) -> Result<Self, HarmoniumOptionError> {
        match text {
            "empirical" => Ok(Self::Empirical),
            "empirical-pooled" => Ok(Self::EmpiricalPooled),
            number => {
                let prior = Self::Fixed(number.parse().map_err(|_| HarmoniumOptionError::PriorDeviation)?);
                prior.check().map(|()| prior)
            }
        }
    }
}

impl fmt::Display for CouplingPrior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(deviation) => write!(f, "{deviation}"),
            Self::Empirical => f.write_str("empirical"),
            Self::EmpiricalPooled => f.write_str("empirical-pooled"),
        }
    }
}

impl CouplingPrior {
    /// The variance must not underflow.
    fn check(self) -> Result<(), HarmoniumOptionError> {
        match self {
            Self::Fixed(deviation) if !(1e-6..=1e6).contains(&deviation) => {
                Err(HarmoniumOptionError::PriorDeviation)
            }
            _ => Ok(()),
        }
    }
}

/// Why options of a harmonium were refused. Sizes are refused by the model itself
/// ([`countgrid_harmonium::HarmoniumError`]).
///
/// Example: [`HarmoniumOptions`](crate::HarmoniumOptions).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum HarmoniumOptionError {
    /// Gradients without a step of a Gibbs chain.
    NoGibbsSteps,
    /// Binomial units without a trial.
    NoTrials,
    /// No chain to sample.
    NoChains,
    /// Fewer Langevin steps than [`HarmoniumOptions::MIN_DRAWS`].
    TooFewDraws { draws: usize, least: usize },
    /// A prior for a method that samples no posterior.
    PriorWithoutSampling { method: HarmoniumMethod },
    /// Several chains for a method that samples no posterior.
    ChainsWithoutSampling { method: HarmoniumMethod },
    /// A step size that is not finite and above 0.
    StepSize { found: f64 },
    /// A standard deviation of the prior that is not from 1e-6 to 1e6.
    PriorDeviation,
}

impl fmt::Display for HarmoniumOptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGibbsSteps => f.write_str("0 steps move no Gibbs chain"),
            Self::NoTrials => f.write_str("0 trials leave no unit to be on"),
            Self::NoChains => f.write_str("0 chains sample nothing"),
            Self::TooFewDraws { draws, least } => {
                write!(f, "{draws} Langevin steps leave no sample to speak of, at least {least} are needed")
            }
            Self::PriorWithoutSampling { method } => {
                write!(f, "a prior is for posterior sampling, and the method {} has none", method.name())
            }
            Self::ChainsWithoutSampling { method } => write!(
                f,
                "several chains are for posterior sampling, and the method {} runs one",
                method.name()
            ),
            Self::StepSize { found } => {
                write!(f, "the step size {found} is not a finite number above 0")
            }
            Self::PriorDeviation => f.write_str(
                "a prior is a standard deviation from 1e-6 to 1e6 such as 0.1, `empirical` or `empirical-pooled`",
            ),
        }
    }
}

impl std::error::Error for HarmoniumOptionError {}

/// Options of a harmonium.
///
/// ```
/// use countgrid_estimators::{EstimatorError, HarmoniumMethod, HarmoniumOptionError, HarmoniumOptions};
/// let options = HarmoniumOptions { method: HarmoniumMethod::Langevin, chains: 2, ..HarmoniumOptions::default() };
/// options.validate()?;
/// let refused = HarmoniumOptions { method: HarmoniumMethod::Persistent, ..options }.validate();
/// assert!(matches!(
///     refused,
///     Err(EstimatorError::HarmoniumOption(HarmoniumOptionError::ChainsWithoutSampling { .. }))
/// ));
/// # Ok::<(), EstimatorError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct HarmoniumOptions {
    /// The kind of harmonium.
    pub kind: HarmoniumKind,
    /// Number of topics, at least 1.
    pub topics: usize,
    /// How it is fitted.
    pub method: HarmoniumMethod,
    /// Steps of a Gibbs chain before each gradient, the `l` of CD-`l`; at least 1.
    pub gibbs_steps: usize,
    /// Passes of contrastive divergence over all documents, in mini-batches.
    pub epochs: usize,
    /// Documents of a mini-batch of contrastive divergence, at least 1.
    pub batch: usize,
    /// Langevin steps of a chain, at least [`HarmoniumOptions::MIN_DRAWS`]; the second half are posterior samples.
    pub draws: usize,
    /// Langevin chains, each from a start of its own; at least 1, and 1 with another method.
    pub chains: usize,
    /// Prior of the couplings for [`HarmoniumMethod::Langevin`]; none with another method. By default
    /// [`CouplingPrior::default`], normal with standard deviation 0.1.
    pub prior: Option<CouplingPrior>,
    /// Step `ε` of the couplings: noise of standard deviation `ε`, and `ε²/2` times the gradient of all documents (that of a
    /// mini-batch is scaled up to all). By default a bound within which no direction is unstable.
    pub step_size: Option<f64>,
    /// Trials of the binomial units, which are words, or in the rate adapting model topics, from 1 to 2²⁰; larger counts of
    /// words are truncated to it.
    pub trials: u32,
    /// Variance of a feature of a dual wing given the topics, above 0; in the data it has variance 1.
    pub feature_variance: f64,
    /// Whether likelihoods of models that are small enough to be enumerated are computed for the trace, which takes time.
    pub exact_likelihood: bool,
    /// Seed of the random numbers: the same seed gives the same bits.
    pub seed: u64,
}

impl HarmoniumOptions {
    /// The fewest Langevin steps.
    pub const MIN_DRAWS: usize = 8;
}

impl Default for HarmoniumOptions {
    /// 8 topics over single words by CD-1, 100 epochs in mini-batches of 100; 1,000 draws of one chain if the method
    /// samples; one trial, the seed 1.
    fn default() -> Self {
        Self {
            kind: HarmoniumKind::default(),
            topics: 8,
            method: HarmoniumMethod::default(),
            gibbs_steps: 1,
            epochs: 100,
            batch: 100,
            draws: 1_000,
            chains: 1,
            prior: None,
            step_size: None,
            trials: 1,
            feature_variance: 0.5,
            exact_likelihood: false,
            seed: 1,
        }
    }
}

impl HarmoniumOptions {
    /// Checks the settings that do not depend on the data, before anything is read. The numbers of topics
    /// and trials and the variance of features are checked when they are used.
    ///
    /// # Errors
    /// [`EstimatorError::HarmoniumOption`]; [`EstimatorError::EmptyMiniBatch`].
    pub fn validate(&self) -> Result<(), EstimatorError> {
        use HarmoniumOptionError as Error;
        let (method, sampled) = (self.method, self.method == HarmoniumMethod::Langevin);
        let (draws, least) = (self.draws, Self::MIN_DRAWS);
        let refused = match self {
            Self { gibbs_steps: 0, .. } => Error::NoGibbsSteps,
            Self { trials: 0, .. } => Error::NoTrials,
            Self { chains: 0, .. } => Error::NoChains,
            _ if sampled && draws < least => Error::TooFewDraws { draws, least },
            Self { prior: Some(_), .. } if !sampled => Error::PriorWithoutSampling { method },
            Self { chains: 2.., .. } if !sampled => Error::ChainsWithoutSampling { method },
            Self { step_size: Some(step), .. } if !(*step > 0.0 && step.is_finite()) => {
                Error::StepSize { found: *step }
            }
            Self { batch: 0, .. } => return Err(EstimatorError::EmptyMiniBatch),
            _ => return Ok(self.prior.unwrap_or_default().check()?),
        };
        Err(refused.into())
    }

    /// The plan of a fit to documents of these totals.
    ///
    /// # Errors
    /// Those of [`HarmoniumOptions::validate`]; [`EstimatorError::NoDocuments`].
    pub fn check(&self, totals: BagTotals) -> Result<HarmoniumPlan, EstimatorError> {
        self.validate()?;
        if totals.bags == 0 {
            return Err(EstimatorError::NoDocuments);
        }
        Ok(HarmoniumPlan { options: self.clone(), totals })
    }
}

/// [`HarmoniumOptions`], checked.
#[derive(Clone, Debug, PartialEq)]
pub struct HarmoniumPlan {
    pub(super) options: HarmoniumOptions,
    pub(super) totals: BagTotals, // at least one document
}

impl HarmoniumPlan {
    /// The options.
    #[must_use]
    pub fn options(&self) -> &HarmoniumOptions {
        &self.options
    }

    /// Every option by name and as text, by which a checkpoint is identified.
    pub(super) fn option_texts(&self, scalar: &'static str) -> Vec<(&'static str, String)> {
        let options = &self.options;
        let prior = options.prior.unwrap_or_default();
        vec![
            ("scalar", scalar.to_owned()),
            ("kind", options.kind.name().to_owned()),
            ("topics", options.topics.to_string()),
            ("method", options.method.name().to_owned()),
            ("gibbs_steps", options.gibbs_steps.to_string()),
            ("epochs", options.epochs.to_string()),
            ("batch", options.batch.to_string()),
            ("draws", options.draws.to_string()),
            ("chains", options.chains.to_string()),
            ("prior", prior.to_string()),
            ("step_size", format!("{:?}", options.step_size)),
            ("trials", options.trials.to_string()),
            ("feature_variance", format!("{:?}", options.feature_variance)),
            ("exact_likelihood", options.exact_likelihood.to_string()),
            ("seed", options.seed.to_string()),
        ]
    }

    /// Langevin steps.
    pub(super) fn draws(&self) -> usize {
        if self.options.method == HarmoniumMethod::Langevin { self.options.draws } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priors_are_read_as_they_are_written() {
        for prior in [CouplingPrior::Fixed(0.1), CouplingPrior::Empirical, CouplingPrior::EmpiricalPooled] {
            assert_eq!(prior.to_string().parse(), Ok(prior));
        }
        for text in ["", "0", "1e-7", "-1", "NaN", "inf", "pooled"] {
            assert_eq!(text.parse::<CouplingPrior>(), Err(HarmoniumOptionError::PriorDeviation), "{text}");
        }
    }

    #[test]
    fn each_setting_that_makes_no_sense_is_refused() {
        use HarmoniumOptionError as Error;
        let default = HarmoniumOptions::default;
        let langevin = || HarmoniumOptions { method: HarmoniumMethod::Langevin, ..default() };
        let cd = HarmoniumMethod::ContrastiveDivergence;
        for (options, expected) in [
            (HarmoniumOptions { gibbs_steps: 0, ..default() }, Error::NoGibbsSteps),
            (HarmoniumOptions { trials: 0, ..default() }, Error::NoTrials),
            (HarmoniumOptions { chains: 0, ..langevin() }, Error::NoChains),
            (HarmoniumOptions { draws: 7, ..langevin() }, Error::TooFewDraws { draws: 7, least: 8 }),
            (
                HarmoniumOptions { prior: Some(CouplingPrior::Empirical), ..default() },
                Error::PriorWithoutSampling { method: cd },
            ),
            (HarmoniumOptions { chains: 2, ..default() }, Error::ChainsWithoutSampling { method: cd }),
            (HarmoniumOptions { step_size: Some(-1.0), ..default() }, Error::StepSize { found: -1.0 }),
            (HarmoniumOptions { step_size: Some(0.0), ..default() }, Error::StepSize { found: 0.0 }),
            (
                HarmoniumOptions { step_size: Some(f64::INFINITY), ..default() },
                Error::StepSize { found: f64::INFINITY },
            ),
            (
                HarmoniumOptions { prior: Some(CouplingPrior::Fixed(f64::NAN)), ..langevin() },
                Error::PriorDeviation,
            ),
        ] {
            let refused = options.validate();
            assert!(
                matches!(refused, Err(EstimatorError::HarmoniumOption(found)) if found == expected),
                "{refused:?}"
            );
        }
        let empty = HarmoniumOptions { batch: 0, ..default() }.validate();
        assert!(matches!(empty, Err(EstimatorError::EmptyMiniBatch)), "{empty:?}");
        assert!(HarmoniumOptions { draws: 0, ..default() }.validate().is_ok());
        assert!(langevin().validate().is_ok());
    }

    #[test]
    fn kinds_and_methods_have_the_names_that_they_are_found_by() {
        assert_eq!(HarmoniumKind::ALL.map(HarmoniumKind::name), ["harmonium", "rap", "dual-wing"]);
        assert_eq!(HarmoniumMethod::ALL.map(HarmoniumMethod::name), ["cd", "persistent", "langevin"]);
        assert!(HarmoniumKind::ALL.iter().all(|kind| HarmoniumKind::from_name(kind.name()) == Some(*kind)));
        assert!(HarmoniumMethod::ALL.iter().all(|own| HarmoniumMethod::from_name(own.name()) == Some(*own)));
        assert_eq!((HarmoniumKind::from_name("RAP"), HarmoniumMethod::from_name("")), (None, None));
    }

    /// A reader is told what was found, and what it should have been.
    #[test]
    fn refusals_say_what_was_found() {
        use HarmoniumOptionError as Error;
        let method = HarmoniumMethod::Persistent;
        for (error, parts) in [
            (Error::NoGibbsSteps, &["0 steps"][..]),
            (Error::NoTrials, &["0 trials"]),
            (Error::NoChains, &["0 chains"]),
            (Error::TooFewDraws { draws: 5, least: 8 }, &["5 Langevin steps", "at least 8"]),
            (Error::PriorWithoutSampling { method }, &["prior", "persistent"]),
            (Error::ChainsWithoutSampling { method }, &["chains", "persistent"]),
            (Error::StepSize { found: -0.5 }, &["step size -0.5"]),
            (Error::PriorDeviation, &["1e-6 to 1e6", "`empirical`", "`empirical-pooled`"]),
        ] {
            let text = error.to_string();
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
    }
}
