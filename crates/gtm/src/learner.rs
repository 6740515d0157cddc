use countgrid_counts::Bags;
use countgrid_em::{Anneal, Fit, Learn};
use countgrid_math::Real;

use crate::{Documents, Emissions, Gtm, GtmError, Reals, Shape, Source, Statistics, estep::EStep, mstep};

/// What an M-step does.
///
/// Example: [`Learner`](crate::Learner).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Options {
    /// At most so many damped Newton steps a column and iteration, at least 1 (default 2). EM needs no more than a
    /// gain from each, and the next E-step moves the target anyway.
    pub newton_steps: usize,
    /// Whether mixing weights are fitted (default yes).
    pub learn_mixing: bool,
    /// Whether the precision of a Gaussian map is (default yes).
    pub learn_precision: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { newton_steps: 2, learn_mixing: true, learn_precision: true }
    }
}

/// A map that is being fitted: parameters, the inference tables that follow from them, and what an M-step does.
///
/// Fitting goes through [`Fit`], for any [`Bags`], for [`Documents`] and for [`Reals`]. Free energy plus
/// [`Learn::penalty`] never rises by more than rounding.
///
/// ```
/// use countgrid_counts::Dense;
/// use countgrid_em::{EmOptions, no_observer};
/// use countgrid_gtm::{Basis, Gtm, Inflation, EmissionModel, Learner, Options, Priors, Shape, Statistics, grid_points};
///
/// let shape = Shape::new(EmissionModel::Zip(Inflation::Document), 9, 2, 5, 3)?;
/// let (mut points, mut centres, mut phi) = ([0.0_f64; 18], [0.0; 8], [0.0; 45]);
/// grid_points(3, 3, &mut points)?;
/// grid_points(2, 2, &mut centres)?;
/// Basis::rbf(&centres, 2, 1.0)?.table(&points, &mut phi)?;
/// let counts = [4_u8, 0, 1, 5, 1, 0, 0, 3, 3, 0, 6, 2];
/// let bags = Dense::new(3, &counts)?;
/// let mut map = Gtm::allocate(shape, &points, &phi, Priors::default())?;
/// map.initialise(&bags, 0.5)?;
/// let mut learner = Learner::allocate(map, Options::default())?;
/// let mut statistics = Statistics::allocate(shape)?;
/// let plan = EmOptions::default().check()?;
/// let outcome = plan.fit(&mut learner, &bags, &mut statistics, no_observer)?;
/// assert!(outcome.free_energy < 20.0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Learner<T, S, W> {
    map: Gtm<T, S>,
    emissions: Emissions<T, S>,
    options: Options,
    beta: T, // in (0, 1]
    workspace: core::marker::PhantomData<W>,
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, W: AsMut<[f64]>> Learner<T, S, W> {
    /// Starts from a map. `emissions`: [`Shape::emissions_len`] elements.
    ///
    /// # Errors
    /// [`GtmError::Length`]; [`GtmError::Setting`] for options without a Newton step.
    pub fn new(map: Gtm<T, S>, emissions: S, options: Options) -> Result<Self, GtmError> {
        if options.newton_steps == 0 {
            return Err(GtmError::Setting { name: "newton_steps" });
        }
        let emissions = Emissions::from_map(&map, emissions)?;
        Ok(Self { map, emissions, options, beta: T::one(), workspace: core::marker::PhantomData })
    }
    /// The parameters.
    pub fn map(&self) -> &Gtm<T, S> {
        &self.map
    }
    /// The inference tables of the present parameters.
    pub fn emissions(&self) -> &Emissions<T, S> {
        &self.emissions
    }
    /// Ends the fit.
    pub fn into_parts(self) -> (Gtm<T, S>, Emissions<T, S>) {
        (self.map, self.emissions)
    }
    /// Changes the parameters by hand, such as for a restart, and brings the inference tables up to date.
    ///
    /// # Errors
    /// What `change` returns; as [`Gtm::new`] for what it has left, and the learner should then not be used before
    /// another `update` succeeds.
    pub fn update(
        &mut self,
        change: impl FnOnce(&mut Gtm<T, S>) -> Result<(), GtmError>,
    ) -> Result<(), GtmError> {
        change(&mut self.map)?;
        self.map.check()?;
        self.emissions.refresh(&self.map);
        Ok(())
    }

    fn same_shape(&self, shape: &Shape) -> Result<(), GtmError> {
        if self.map.shape() == shape { Ok(()) } else { Err(GtmError::ShapeMismatch) }
    }

    fn step<D: Source<T>>(
        &self,
        documents: &D,
        statistics: &mut Statistics<T, S, W>,
    ) -> Result<f64, GtmError> {
        self.same_shape(statistics.shape())?;
        self.emissions.check_width(documents)?;
        let emissions = self.emissions.view();
        EStep { emissions, documents, beta: self.beta }.add_all(statistics.parts().0)
    }
}

#[cfg(feature = "alloc")]
impl<T: Real> Learner<T, countgrid_math::AlignedVec<T>, countgrid_math::AlignedVec<f64>> {
    /// Starts from a map, with inference tables that it allocates.
    ///
    /// # Errors
    /// [`GtmError::TooLarge`] if the allocator refuses; as [`Learner::new`].
    pub fn allocate(map: Gtm<T, countgrid_math::AlignedVec<T>>, options: Options) -> Result<Self, GtmError> {
        let emissions = crate::map::allocate(map.shape(), map.shape().emissions_len())?;
        Self::new(map, emissions, options)
    }
}

impl<T, S, W, B> Fit<B> for Learner<T, S, W>
where
    T: Real,
    S: AsRef<[T]> + AsMut<[T]>,
    W: AsMut<[f64]>,
    B: Bags,
{
    /// The posterior of every bag, `r_nk ∝ α_k p(t_n | k)`.
    ///
    /// # Errors
    /// [`GtmError::Features`], [`GtmError::ShapeMismatch`], [`GtmError::NoSuchProfile`], [`GtmError::Overflow`]; the
    /// sums are then those of the bags before the one in question.
    fn expectation(&self, bags: &B, statistics: &mut Self::Statistics) -> Result<f64, GtmError> {
        self.step(&Documents::<_, T>::new(bags), statistics)
    }
}

impl<T, S, W, B> Fit<Documents<'_, B, T>> for Learner<T, S, W>
where
    T: Real,
    S: AsRef<[T]> + AsMut<[T]>,
    W: AsMut<[f64]>,
    B: Bags,
{
    /// As for bags alone.
    ///
    /// # Errors
    /// Also [`GtmError::NeedsGeneral`] and [`GtmError::EmissionModel`].
    fn expectation(
        &self,
        documents: &Documents<'_, B, T>,
        statistics: &mut Self::Statistics,
    ) -> Result<f64, GtmError> {
        self.step(documents, statistics)
    }
}

impl<T, S, W> Fit<Reals<'_, T>> for Learner<T, S, W>
where
    T: Real,
    S: AsRef<[T]> + AsMut<[T]>,
    W: AsMut<[f64]>,
{
    /// As for bags.
    ///
    /// # Errors
    /// Also [`GtmError::EmissionModel`] unless the map is Gaussian.
    fn expectation(&self, rows: &Reals<'_, T>, statistics: &mut Self::Statistics) -> Result<f64, GtmError> {
        self.step(rows, statistics)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, W: AsMut<[f64]>> Learn for Learner<T, S, W> {
    type Statistics = Statistics<T, S, W>;
    type Error = GtmError;

    /// At most [`Options::newton_steps`] damped Newton steps for each column of `W`, then of `Γ`, then `α`. Without any
    /// document the map stays.
    ///
    /// # Errors
    /// [`GtmError::ShapeMismatch`].
    /// # Source
    /// Lambert 1992 for the regression of zero-inflated counts; Alvarez-Medina & Hidalgo-Silva 2006, Sec. 3, whose Eqs.
    /// 8 and 9 have other weights, of a truncated distribution, and a diagonal Hessian: they do not raise the
    /// likelihood.
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), GtmError> {
        self.same_shape(statistics.shape())?;
        if !(statistics.documents() > T::zero()) {
            return Ok(());
        }
        let (sums, workspace) = statistics.parts();
        mstep::update(&mut self.map, &sums, self.options, workspace);
        self.emissions.refresh(&self.map);
        Ok(())
    }

    /// `½ Σ b_w W² + ½ Σ b_γ (Γ - g)²`.
    fn penalty(&self) -> f64 {
        self.map.penalty()
    }
}

/// Nothing is perturbed, and no components are said to coincide: the points of a map are tied to one another by its basis
/// functions, so that neighbours are alike in a good fit and no point can leave another on its own. A map whose points have come
/// to lie on one another is begun anew, from principal components ([`Gtm::initialise`]).
impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, W: AsMut<[f64]>> Anneal for Learner<T, S, W> {
    /// `q ∝ exp(β s)`; anything but a number in `(0, 1)` means 1.
    fn set_inverse_temperature(&mut self, beta: f64) {
        let beta = T::from_f64(beta);
        self.beta = if beta > T::zero() && beta < T::one() { beta } else { T::one() };
    }
}
