//! Checks of the contracts, for tests of models: whether statistics add up, the objective falls, terms sum to the free energy,
//! expected counts are gradients.
//!
//! Each check runs a model on data that the test provides and returns what it found broken. How far two numbers may be apart
//! is a [`Tolerance`], for which a test has its reasons.
//!
//! ```
//! use core::convert::Infallible;
//! use countgrid_em::testing::{Broken, Contract, Tolerance, check_additivity, check_objective_falls, check_tables};
//! use countgrid_em::{Fit, Learn, Table, TableBuffer, Tables, TablesMut};
//!
//! struct Poisson(f64);
//! impl Fit<[f64]> for Poisson {
//!     fn expectation(&self, batch: &[f64], sums: &mut Self::Statistics) -> Result<f64, Infallible> {
//!         let (n, tokens) = (batch.len() as f64, batch.iter().sum::<f64>());
//!         sums.buffer_mut()[0] += n;
//!         sums.buffer_mut()[1] += tokens;
//!         Ok(self.0 * n - tokens * self.0.ln())
//!     }
//! }
//! impl Learn for Poisson {
//!     type Statistics = TableBuffer<f64, [Table; 1], [f64; 2]>;
//!     type Error = Infallible;
//!     fn maximization(&mut self, sums: &mut Self::Statistics) -> Result<(), Infallible> {
//!         self.0 = sums.buffer()[1] / sums.buffer()[0];
//!         Ok(())
//!     }
//! }
//!
//! let mut sums = TableBuffer::new([Table::new("sums", 1, 2)], [0.0; 2])?;
//! let tolerance = Tolerance::relative(1e-15); // some roundings
//! check_tables(&sums)?;
//! let (all, parts) = ([2.0, 3.0, 7.0], [&[2.0][..], &[3.0, 7.0]]);
//! check_additivity(&Poisson(1.0), &all[..], parts, &mut sums, tolerance)?;
//! assert_eq!(check_objective_falls(&mut Poisson(1.0), &all[..], &mut sums, 3, tolerance)?.len(), 4);
//!
//! // Half of the data are lost.
//! let broken = check_additivity(&Poisson(1.0), &all[..], [&[2.0][..]], &mut sums, tolerance).unwrap_err();
//! assert!(matches!(broken, Broken::Contract(Contract::FreeEnergyOfParts { .. })));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{vec, vec::Vec};
use core::fmt;

use countgrid_math::{Real, exp};

use crate::{Distributions, ExpectedCounts, Fit, FreeEnergy, Tables, TablesError, TablesExt, TablesMutExt};

/// What a model breaks.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum Contract {
    /// The layout and the buffer do not go together.
    Layout(TablesError),
    /// Two tables have one name.
    Name { table: &'static str },
    /// The free energies of parts do not sum to that of all.
    FreeEnergyOfParts { parts: f64, whole: f64 },
    /// An element of the statistics of parts does not sum to that of all.
    StatisticsOfParts { element: usize, parts: f64, whole: f64 },
    /// The objective, free energy plus penalty, rises from one iteration to the next, or is not a number.
    Rises { iteration: usize, before: f64, after: f64 },
    /// The terms do not sum to the free energy that comes with them.
    Terms { sum: f64, free_energy: f64 },
    /// A second call gives other values: the terms depend on what scratch or output held.
    Scratch { term: usize, first: f64, second: f64 },
    /// There are not as many descriptions of distributions as tables.
    Distributions { expected: usize, found: usize },
    /// The log-likelihood that comes with expected counts is another.
    LogLikelihood { expected: f64, found: f64 },
    /// The expected count of an entry is not the derivative of the log-likelihood in it.
    Gradient { element: usize, derivative: f64, expected: f64 },
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Layout(error) => error.fmt(f),
            Self::Name { table } => write!(f, "two tables have the name `{table}`"),
            Self::FreeEnergyOfParts { parts, whole } => {
                write!(f, "the free energies of parts sum to {parts}, that of all is {whole}")
            }
            Self::StatisticsOfParts { element, parts, whole } => {
                write!(f, "element {element} of the statistics is {parts} over parts, {whole} over all")
            }
            Self::Rises { iteration, before, after } => {
                write!(f, "iteration {iteration} changes the objective from {before} to {after}")
            }
            Self::Terms { sum, free_energy } => {
                write!(f, "the terms sum to {sum}, the free energy is {free_energy}")
            }
            Self::Scratch { term, first, second } => {
                write!(f, "term {term} is {first}, and {second} with other scratch")
            }
            Self::Distributions { expected, found } => {
                write!(f, "{found} tables are said to hold distributions or none, there are {expected}")
            }
            Self::LogLikelihood { expected, found } => {
                write!(f, "the log-likelihood is {found} with expected counts, {expected} by itself")
            }
            Self::Gradient { element, derivative, expected } => {
                write!(f, "entry {element}: the derivative is {derivative}, by expected counts {expected}")
            }
        }
    }
}

impl core::error::Error for Contract {}

/// Why a check did not pass.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Broken<E> {
    /// The model returned an error.
    Model(E),
    /// The model breaks a contract.
    Contract(Contract),
}

impl<E: fmt::Display> fmt::Display for Broken<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::Contract(contract) => contract.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Broken<E> {}

impl<E> From<Contract> for Broken<E> {
    fn from(contract: Contract) -> Self {
        Self::Contract(contract)
    }
}

/// How far apart two numbers `a` and `b` may be: `absolute + relative · max(|a|, |b|)`.
///
/// ```
/// use countgrid_em::testing::Tolerance;
/// assert!(Tolerance::relative(1e-3).allows(1000.0, 1001.0) && !Tolerance::absolute(1e-3).allows(1000.0, 1001.0));
/// assert!(Tolerance::EXACT.allows(0.5, 0.5) && !Tolerance::absolute(9.0).allows(f64::NAN, f64::NAN));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// For numbers near 0.
    pub absolute: f64,
    /// A share of the larger number.
    pub relative: f64,
}

impl Tolerance {
    /// Equal numbers only.
    pub const EXACT: Self = Self { absolute: 0.0, relative: 0.0 };

    /// No more than this, whatever the numbers are.
    #[must_use]
    pub const fn absolute(absolute: f64) -> Self {
        Self { absolute, relative: 0.0 }
    }
    /// A share of the larger number; two numbers of which one is 0 have to be equal.
    #[must_use]
    pub const fn relative(relative: f64) -> Self {
        Self { absolute: 0.0, relative }
    }
    /// The share of the larger number, plus as much: for sums that may be 0 of terms that are about 1.
    #[must_use]
    pub const fn mixed(share: f64) -> Self {
        Self { absolute: share, relative: share }
    }
    /// Whether two numbers are near enough; not so of a NaN or an infinity.
    #[must_use]
    pub fn allows(&self, a: f64, b: f64) -> bool {
        let difference = (a - b).abs();
        difference.is_finite() && difference <= self.absolute + self.relative * a.abs().max(b.abs())
    }
}

/// The buffer holds what the layout says, and names are unique.
///
/// Example: [`testing`](crate::testing).
///
/// # Errors
/// [`Contract::Layout`], [`Contract::Name`].
pub fn check_tables<M: Tables + ?Sized>(tables: &M) -> Result<(), Contract> {
    tables.check_layout().map_err(Contract::Layout)?;
    let layout = tables.layout();
    let repeated = layout
        .iter()
        .enumerate()
        .find(|(at, table)| layout.iter().take(*at).any(|one| one.name == table.name));
    match repeated {
        Some((_, table)) => Err(Contract::Name { table: table.name }),
        None => Ok(()),
    }
}

/// Statistics and free energy of all data are the sums over parts.
///
/// The statistics are cleared, and hold those of the parts in the end.
///
/// Example: [`testing`](crate::testing).
///
/// # Errors
/// [`Contract::FreeEnergyOfParts`], [`Contract::StatisticsOfParts`]; [`Broken::Model`].
pub fn check_additivity<'a, B: ?Sized + 'a, M: Fit<B>>(
    model: &M,
    whole: &B,
    parts: impl IntoIterator<Item = &'a B>,
    statistics: &mut M::Statistics,
    tolerance: Tolerance,
) -> Result<(), Broken<M::Error>> {
    statistics.clear();
    let all = model.expectation(whole, statistics).map_err(Broken::Model)?;
    let expected: Vec<f64> = statistics.buffer().iter().map(|x| x.to_f64()).collect();
    statistics.clear();
    let mut sum = 0.0;
    for part in parts {
        sum += model.expectation(part, statistics).map_err(Broken::Model)?;
    }
    if !tolerance.allows(sum, all) {
        return Err(Contract::FreeEnergyOfParts { parts: sum, whole: all }.into());
    }
    for (element, (x, &whole)) in statistics.buffer().iter().zip(&expected).enumerate() {
        if !tolerance.allows(x.to_f64(), whole) {
            return Err(Contract::StatisticsOfParts { element, parts: x.to_f64(), whole }.into());
        }
    }
    Ok(())
}

/// Free energy plus penalty never rises over some iterations; returns it before the first and after each.
///
/// Example: [`testing`](crate::testing).
///
/// # Errors
/// [`Contract::Rises`]; [`Broken::Model`].
pub fn check_objective_falls<B: ?Sized, M: Fit<B>>(
    model: &mut M,
    batch: &B,
    statistics: &mut M::Statistics,
    iterations: usize,
    tolerance: Tolerance,
) -> Result<Vec<f64>, Broken<M::Error>> {
    let mut objectives = Vec::new();
    for iteration in 0..=iterations {
        statistics.clear();
        let after = model.expectation(batch, statistics).map_err(Broken::Model)? + model.penalty();
        let before = objectives.last().copied().unwrap_or(after);
        if !(after <= before || tolerance.allows(after, before)) {
            return Err(Contract::Rises { iteration, before, after }.into());
        }
        objectives.push(after);
        if iteration < iterations {
            model.maximization(statistics).map_err(Broken::Model)?;
        }
    }
    Ok(objectives)
}

/// The terms of a datum sum to its free energy, whatever terms and scratch held before; returns the free energy.
///
/// ```
/// # use countgrid_em::FreeEnergy;
/// # struct Poisson(f64);
/// # impl FreeEnergy<f64> for Poisson {
/// #     type Scalar = f64;
/// #     type Error = core::convert::Infallible;
/// #     fn term_count(&self, _: &f64) -> usize { 2 }
/// #     fn scratch_len(&self, _: &f64) -> usize { 0 }
/// #     fn free_energy_terms(&self, x: &f64, terms: &mut [f64], _: &mut [f64]) -> Result<f64, Self::Error> {
/// #         terms.copy_from_slice(&[self.0, -x * self.0.ln()]);
/// #         Ok(self.0 - x * self.0.ln())
/// #     }
/// # }
/// use countgrid_em::testing::{Tolerance, check_terms_sum};
///
/// // A Poisson distribution, whose terms are its rate and what the count contributes.
/// let free_energy = check_terms_sum(&Poisson(2.0), &3.0, Tolerance::relative(1e-15))?;
/// assert_eq!(free_energy, 2.0 - 3.0 * 2.0_f64.ln());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// [`Contract::Terms`], [`Contract::Scratch`]; [`Broken::Model`].
pub fn check_terms_sum<X: ?Sized, M: FreeEnergy<X>>(
    model: &M,
    datum: &X,
    tolerance: Tolerance,
) -> Result<f64, Broken<M::Error>> {
    let (count, scratch_len) = (model.term_count(datum), model.scratch_len(datum));
    let evaluate = |garbage: f64| {
        let garbage = M::Scalar::from_f64(garbage);
        let (mut terms, mut scratch) = (vec![garbage; count], vec![garbage; scratch_len]);
        let free_energy = model.free_energy_terms(datum, &mut terms, &mut scratch).map_err(Broken::Model)?;
        let terms: Vec<f64> = terms.iter().map(|x| x.to_f64()).collect();
        Ok::<_, Broken<M::Error>>((free_energy.to_f64(), terms))
    };
    let ((free_energy, terms), (_, again)) = (evaluate(f64::NAN)?, evaluate(-7.0)?);
    let sum = terms.iter().sum();
    if !tolerance.allows(sum, free_energy) {
        return Err(Contract::Terms { sum, free_energy }.into());
    }
    for (term, (&first, &second)) in terms.iter().zip(&again).enumerate() {
        if first.to_bits() != second.to_bits() {
            return Err(Contract::Scratch { term, first, second }.into());
        }
    }
    Ok(free_energy)
}

/// Expected counts are the gradient of the log-likelihood, by central differences with a step.
///
/// `log_likelihood` is that of the datum with other parameters, in the order of the buffer: by the definition, or of a model
/// made of them. An entry `θ_i` of a distribution is multiplied by `e^±h` and its distribution
/// normalised again, so the derivative is `n_i - θ_i Σ_j n_j`; an entry of no distribution is moved by `±h`. Entries of zero
/// are left out. A central difference is off by `h²/6` third derivatives and by the roundings of two log-likelihoods over
/// `2h`: the tolerance has to leave room for both.
///
/// Of a die, whose faces are drawn with the probabilities in its table:
///
/// ```
/// # use countgrid_em::{Distributions, ExpectedCounts, Table, TableBuffer, Tables};
/// # struct Die(TableBuffer<f64, [Table; 1], [f64; 3]>);
/// # impl Tables for Die {
/// #     type Scalar = f64;
/// #     fn layout(&self) -> &[Table] { self.0.layout() }
/// #     fn buffer(&self) -> &[f64] { self.0.buffer() }
/// # }
/// # impl ExpectedCounts<usize> for Die {
/// #     type Error = core::convert::Infallible;
/// #     const DISTRIBUTIONS: &'static [Distributions] = &[Distributions::Rows];
/// #     fn counts_scratch_len(&self, _: &usize) -> usize { 0 }
/// #     fn expected_counts(&self, &face: &usize, counts: &mut [f64], _: &mut [f64]) -> Result<f64, Self::Error> {
/// #         counts.fill(0.0);
/// #         counts[face] = 1.0;
/// #         Ok(self.buffer()[face].ln())
/// #     }
/// # }
/// use countgrid_em::testing::{Tolerance, check_expected_counts_gradient};
///
/// let die = Die(TableBuffer::new([Table::new("faces", 1, 3)], [0.25, 0.25, 0.5])?);
/// check_expected_counts_gradient(&die, |table| table[2].ln(), &2, 1e-5, Tolerance::relative(1e-8))?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// [`Contract::Gradient`], [`Contract::LogLikelihood`], [`Contract::Distributions`], [`Contract::Layout`]; [`Broken::Model`].
pub fn check_expected_counts_gradient<X: ?Sized, M: ExpectedCounts<X>>(
    model: &M,
    log_likelihood: impl Fn(&[f64]) -> f64,
    datum: &X,
    step: f64,
    tolerance: Tolerance,
) -> Result<(), Broken<M::Error>> {
    check_tables(model)?;
    let layout = model.layout();
    if M::DISTRIBUTIONS.len() != layout.len() {
        return Err(Contract::Distributions { expected: layout.len(), found: M::DISTRIBUTIONS.len() }.into());
    }
    let parameters: Vec<f64> = model.buffer().iter().map(|x| x.to_f64()).collect();
    let nan = M::Scalar::from_f64(f64::NAN);
    let (mut counts, mut scratch) =
        (vec![nan; model.buffer().len()], vec![nan; model.counts_scratch_len(datum)]);
    let own = model.expected_counts(datum, &mut counts, &mut scratch).map_err(Broken::Model)?.to_f64();
    let counts: Vec<f64> = counts.iter().map(|x| x.to_f64()).collect();
    let defined = log_likelihood(&parameters);
    if !tolerance.allows(own, defined) {
        return Err(Contract::LogLikelihood { expected: defined, found: own }.into());
    }
    let mut start = 0;
    for (table, kind) in layout.iter().zip(M::DISTRIBUTIONS) {
        for place in 0..table.rows * table.columns {
            let (element, (row, column)) = (start + place, (place / table.columns, place % table.columns));
            // The entries that are normalised with this one.
            let together: Vec<usize> = match kind {
                Distributions::Rows => {
                    (0..table.columns).map(|column| start + row * table.columns + column).collect()
                }
                Distributions::Columns => {
                    (0..table.rows).map(|row| start + row * table.columns + column).collect()
                }
                Distributions::None => Vec::new(),
            };
            let theta = parameters[element];
            if theta == 0.0 {
                continue;
            }
            let moved = |h: f64| {
                let mut moved = parameters.clone();
                if together.is_empty() {
                    moved[element] += h;
                } else {
                    moved[element] *= exp(h);
                    let sum: f64 = together.iter().map(|&at| moved[at]).sum();
                    together.iter().for_each(|&at| moved[at] /= sum);
                }
                log_likelihood(&moved)
            };
            let derivative = (moved(step) - moved(-step)) / (2.0 * step);
            let expected = counts[element] - theta * together.iter().map(|&at| counts[at]).sum::<f64>();
            if !tolerance.allows(derivative, expected) {
                return Err(Contract::Gradient { element, derivative, expected }.into());
            }
        }
        start += table.rows * table.columns;
    }
    Ok(())
}
