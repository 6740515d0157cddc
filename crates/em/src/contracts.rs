use countgrid_math::Real;

/// One named table inside a flat buffer: `rows` rows of `columns` elements, row-major.
///
/// Example: [`TableBuffer`](crate::TableBuffer).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// The documented name, such as `pi`.
    pub name: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
}

/// A model, or a statistics object, as a shape and one flat buffer.
///
/// The tables follow one another without gaps, in the order of [`Tables::layout`], and fill
/// [`Tables::buffer`]. Generic operations on them are in [`TablesExt`](crate::TablesExt).
///
/// ```
/// use countgrid_em::{Table, Tables, TablesExt};
///
/// /// Storage is the caller's: an array, a constant in flash, a `Vec`.
/// struct Rates<S> {
///     layout: [Table; 1],
///     rates: S,
/// }
/// impl<S: AsRef<[f32]>> Tables for Rates<S> {
///     type Scalar = f32;
///     fn layout(&self) -> &[Table] {
///         &self.layout
///     }
///     fn buffer(&self) -> &[f32] {
///         self.rates.as_ref()
///     }
/// }
/// static FLASH: [f32; 3] = [0.5, 1.0, 2.0];
/// let model = Rates { layout: [Table::new("rate", 1, 3)], rates: FLASH.as_slice() };
/// assert_eq!(model.table("rate"), Some(FLASH.as_slice()));
/// ```
pub trait Tables {
    /// Element type of the buffer.
    type Scalar: Real;
    /// The tables, in order.
    fn layout(&self) -> &[Table];
    /// All tables, one after the other.
    fn buffer(&self) -> &[Self::Scalar];
}

/// Tables that can be written.
///
/// Example: [`TablesMutExt`](crate::TablesMutExt).
pub trait TablesMut: Tables {
    /// All tables, one after the other.
    fn buffer_mut(&mut self) -> &mut [Self::Scalar];
}

impl<M: Tables + ?Sized> Tables for &mut M {
    type Scalar = M::Scalar;

    fn layout(&self) -> &[Table] {
        (**self).layout()
    }
    fn buffer(&self) -> &[M::Scalar] {
        (**self).buffer()
    }
}

impl<M: TablesMut + ?Sized> TablesMut for &mut M {
    fn buffer_mut(&mut self) -> &mut [M::Scalar] {
        (**self).buffer_mut()
    }
}

/// A model that is fitted by adding statistics over bags and updating parameters from them.
///
/// The batch is a parameter of the trait, so one model fits CSR, dense rows or single bags, and a
/// sequence model fits sequences. Statistics add up over batches in any split.
///
/// [`EmPlan::fit`](crate::EmPlan::fit) is the loop; this is one iteration written out:
///
/// ```
/// use countgrid_em::{Fit, TablesMutExt};
///
/// fn iteration<B, M: Fit<B>>(model: &mut M, parts: &[B], statistics: &mut M::Statistics) -> Result<f64, M::Error> {
///     statistics.clear();
///     let mut free_energy = 0.0;
///     for batch in parts {
///         free_energy += model.expectation(batch, statistics)?;
///     }
///     model.maximization(statistics)?;
///     Ok(free_energy)
/// }
/// ```
pub trait Fit<B: ?Sized>: Learn {
    /// E-step: adds the batch's statistics and returns its free energy, in nats, `-Σ_t log p(c_t)` for an
    /// exact posterior.
    ///
    /// # Errors
    /// A batch or statistics of another shape.
    fn expectation(&self, batch: &B, statistics: &mut Self::Statistics) -> Result<f64, Self::Error>;
}

/// The half of [`Fit`] that needs no data: statistics in, parameters out.
pub trait Learn {
    /// Sums over bags, with the scratch that the two steps need.
    type Statistics: TablesMut;
    /// The error for a batch that cannot be used, or for statistics of another shape.
    type Error;

    /// M-step: updates the parameters. The sums are left as they were; the scratch is used.
    ///
    /// # Errors
    /// Statistics of another shape.
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), Self::Error>;

    /// Negative log prior of the parameters, up to a constant, in nats. The loop lowers free energy plus
    /// penalty.
    fn penalty(&self) -> f64 {
        0.0
    }

    /// How many components coincide with one before them: components of a mixture, topics, states, each a copy that explains
    /// nothing which the other does not. `None` for a model that does not say, and for one that has no components.
    ///
    /// [`coinciding`](crate::coinciding) counts them in most models. A fit reports the number, see [`Outcome::coinciding`](crate::Outcome).
    fn coinciding_components(&self) -> Option<usize> {
        None
    }
}

/// A model whose variational free energy of a datum is a sum of named terms.
///
/// The datum is a parameter of the trait, as the batch of [`Fit`] is: models of bags take one `Bag` of `countgrid-counts`,
/// models of sequences one `Sequence`, a model of something else a type of its own. A reference to a model is a model too.
/// `countgrid-scores` makes features of the terms.
///
/// ```
/// use countgrid_em::FreeEnergy;
///
/// /// A mixture of two Poisson distributions with equal weights.
/// struct Two([f64; 2]);
/// impl FreeEnergy<f64> for Two {
///     type Scalar = f64;
///     type Error = &'static str;
///     fn term_count(&self, _: &f64) -> usize {
///         2 // posterior against prior; counts
///     }
///     fn scratch_len(&self, _: &f64) -> usize {
///         0
///     }
///     fn free_energy_terms(&self, x: &f64, terms: &mut [f64], _: &mut [f64]) -> Result<f64, &'static str> {
///         let [divergence, counts] = terms else { return Err("two terms") };
///         let ln_p = self.0.map(|rate| x * rate.ln() - rate);
///         let q = 1.0 / (1.0 + (ln_p[1] - ln_p[0]).exp());
///         *divergence = q * (2.0 * q).ln() + (1.0 - q) * (2.0 - 2.0 * q).ln();
///         *counts = -q * ln_p[0] - (1.0 - q) * ln_p[1];
///         Ok(*divergence + *counts)
///     }
/// }
/// let mut terms = [0.0; 2];
/// let free_energy = Two([1.0, 4.0]).free_energy_terms(&2.0, &mut terms, &mut [])?;
/// let evidence = 0.5 * (-1.0_f64).exp() + 0.5 * 16.0 * (-4.0_f64).exp();
/// assert!((free_energy + evidence.ln()).abs() < 1e-15); // the posterior is exact
/// # Ok::<(), &'static str>(())
/// ```
pub trait FreeEnergy<X: ?Sized> {
    /// The scalar of the terms.
    type Scalar: Real;
    /// What can be wrong with a datum or a slice.
    type Error;

    /// How many terms a datum has.
    fn term_count(&self, datum: &X) -> usize;
    /// Elements of scratch that [`FreeEnergy::free_energy_terms`] needs.
    fn scratch_len(&self, datum: &X) -> usize;
    /// Writes the terms and returns their sum, the free energy in nats.
    ///
    /// # Errors
    /// Slices of another length, a datum of another shape.
    fn free_energy_terms(
        &self,
        datum: &X,
        terms: &mut [Self::Scalar],
        scratch: &mut [Self::Scalar],
    ) -> Result<Self::Scalar, Self::Error>;
}

impl<X: ?Sized, M: FreeEnergy<X> + ?Sized> FreeEnergy<X> for &M {
    type Scalar = M::Scalar;
    type Error = M::Error;

    #[inline]
    fn term_count(&self, datum: &X) -> usize {
        (**self).term_count(datum)
    }
    #[inline]
    fn scratch_len(&self, datum: &X) -> usize {
        (**self).scratch_len(datum)
    }
    #[inline]
    fn free_energy_terms(
        &self,
        datum: &X,
        terms: &mut [Self::Scalar],
        scratch: &mut [Self::Scalar],
    ) -> Result<Self::Scalar, Self::Error> {
        (**self).free_energy_terms(datum, terms, scratch)
    }
}

/// Which entries of a table are normalised together.
///
/// Example: [`ExpectedCounts`](crate::ExpectedCounts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distributions {
    /// Every row is a distribution.
    Rows,
    /// Every column is: a feature-major table of distributions over features.
    Columns,
    /// None: the parameters are not distributions, and in place of expected counts there is the derivative of the
    /// log-likelihood.
    None,
}

/// A model whose parameters are distributions, with the expected counts of a datum: how often it is expected to have drawn
/// each entry.
///
/// If the posterior is exact, the expected count of an entry divided by the entry is the derivative of `log p(x)` with
/// respect to it, from which gradients follow in any coordinates. With a bound that the posterior maximises it is the
/// derivative of the bound.
///
/// ```
/// use countgrid_em::{Distributions, ExpectedCounts, Table, TableBuffer, Tables};
///
/// /// A die, thrown once.
/// struct Die(TableBuffer<f64, [Table; 1], [f64; 6]>);
/// impl Tables for Die {
///     type Scalar = f64;
///     fn layout(&self) -> &[Table] {
///         self.0.layout()
///     }
///     fn buffer(&self) -> &[f64] {
///         self.0.buffer()
///     }
/// }
/// impl ExpectedCounts<usize> for Die {
///     type Error = &'static str;
///     const DISTRIBUTIONS: &'static [Distributions] = &[Distributions::Rows];
///     fn counts_scratch_len(&self, _: &usize) -> usize {
///         0
///     }
///     fn expected_counts(&self, &face: &usize, counts: &mut [f64], _: &mut [f64]) -> Result<f64, &'static str> {
///         let p = self.buffer().get(face).ok_or("no such face")?;
///         counts.fill(0.0);
///         *counts.get_mut(face).ok_or("a count for every face")? = 1.0;
///         Ok(p.ln())
///     }
/// }
/// let die = Die(TableBuffer::new([Table::new("faces", 1, 6)], [0.1, 0.1, 0.1, 0.1, 0.1, 0.5])?);
/// let mut counts = [0.0; 6];
/// assert_eq!(die.expected_counts(&5, &mut counts, &mut [])?, 0.5_f64.ln());
/// assert_eq!(counts[5] / die.buffer()[5], 2.0); // d ln p / dp = 1 / p
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub trait ExpectedCounts<X: ?Sized>: Tables {
    /// What can be wrong with a datum or a slice.
    type Error;
    /// What is normalised in each table of the layout, in order.
    const DISTRIBUTIONS: &'static [Distributions];

    /// Elements of scratch that [`ExpectedCounts::expected_counts`] needs.
    fn counts_scratch_len(&self, datum: &X) -> usize;
    /// Writes the expected count of every entry, in the order of [`Tables::buffer`] and as long, and returns the
    /// log-likelihood of the datum, or its bound, in nats. An entry of zero has the count zero.
    ///
    /// # Errors
    /// Slices of another length, a datum of another shape or one that is impossible.
    fn expected_counts(
        &self,
        datum: &X,
        counts: &mut [Self::Scalar],
        scratch: &mut [Self::Scalar],
    ) -> Result<Self::Scalar, Self::Error>;
}

/// A model whose posterior can be tempered: `q ∝ p(x, s)^β`.
///
/// Called by [`EmPlan::fit_annealed`](crate::EmPlan::fit_annealed) before every E-step. How to choose a schedule is in
/// [`Annealing`](crate::Annealing).
///
/// ```
/// use core::convert::Infallible;
/// use countgrid_em::{Anneal, Distributions, Learn, Table, TableBuffer, Tables, perturb_tables};
///
/// type Columns = TableBuffer<f64, [Table; 1], [f64; 4]>;
/// /// Two distributions over two features, in columns.
/// struct Mixture { pi: Columns, beta: f64 }
/// impl Learn for Mixture {
/// #   type Statistics = Columns;
/// #   type Error = Infallible;
/// #   fn maximization(&mut self, _: &mut Columns) -> Result<(), Infallible> { Ok(()) }
///     // ...
/// }
/// impl Anneal for Mixture {
///     fn set_inverse_temperature(&mut self, beta: f64) {
///         self.beta = beta;
///     }
///     fn perturb(&mut self, _: &mut Self::Statistics, size: f64, seed: u64) {
///         perturb_tables(&mut self.pi, &[Distributions::Columns], size, seed);
///     }
/// }
/// impl Mixture {
///     /// `(p(z | first) / p(z | second))^β`
///     fn odds(&self, z: usize) -> f64 {
///         let pi = self.pi.buffer();
///         (self.beta * (pi[2 * z] / pi[2 * z + 1]).ln()).exp()
///     }
/// }
/// let pi = TableBuffer::new([Table::new("pi", 2, 2)], [0.75, 0.25, 0.25, 0.75])?;
/// let mut mixture = Mixture { pi, beta: 1.0 };
/// let exact = mixture.odds(0);
/// mixture.set_inverse_temperature(0.5);
/// assert!((mixture.odds(0) - exact.sqrt()).abs() < 1e-15);
/// # Ok::<(), countgrid_em::TablesError>(())
/// ```
pub trait Anneal: Learn {
    /// Sets `β`, in `(0, 1]`; 1 is the exact posterior.
    fn set_inverse_temperature(&mut self, beta: f64);

    /// Moves the parameters of each component a little and at random, so that components which have come to lie on one another
    /// can part when the temperature has fallen far enough.
    ///
    /// `size`, within `[0, 1)`, is relative to what a parameter is measured in: a probability or a rate to itself, a mean to the
    /// standard deviation of its component. All that is random follows from `seed`. The statistics are there for their scratch;
    /// their sums are cleared afterwards. By default nothing happens.
    ///
    /// # Source
    /// Rose, Deterministic annealing for clustering, compression, classification, regression, and related optimization problems,
    /// Proceedings of the IEEE 1998: copies of each codevector are perturbed whenever the temperature falls.
    fn perturb(&mut self, statistics: &mut Self::Statistics, size: f64, seed: u64) {
        let _ = (statistics, size, seed);
    }
}
