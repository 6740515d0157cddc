use countgrid_math::Real;

/// One named table inside a flat buffer: `rows` rows of `columns` elements, row-major.
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
/// [`Tables::buffer`].
pub trait Tables {
    /// Element type of the buffer.
    type Scalar: Real;
    /// The tables, in order.
    fn layout(&self) -> &[Table];
    /// All tables, one after the other.
    fn buffer(&self) -> &[Self::Scalar];
}

/// Tables that can be written.
pub trait TablesMut: Tables {
    /// All tables, one after the other.
    fn buffer_mut(&mut self) -> &mut [Self::Scalar];
}

/// A model that is fitted by adding statistics over bags and updating parameters from them.
///
/// The batch is a parameter of the trait, so one model fits CSR, dense rows or single bags, and a
/// sequence model fits sequences. Statistics add up over batches in any split.
pub trait Fit<B: ?Sized> {
    /// Sums over bags, with the scratch that the two steps need.
    type Statistics: TablesMut;
    /// What can be wrong with a batch or with statistics of another shape.
    type Error;

    /// E-step: adds the batch's statistics and returns its free energy, in nats, `-Σ_t log p(c_t)` for an
    /// exact posterior.
    ///
    /// # Errors
    /// A batch or statistics of another shape.
    fn expectation(&self, batch: &B, statistics: &mut Self::Statistics) -> Result<f64, Self::Error>;

    /// M-step: updates the parameters. The sums are left as they were; the scratch is used.
    ///
    /// # Errors
    /// Statistics of another shape.
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), Self::Error>;

    /// Negative log prior of the parameters, up to a constant, in nats. The loop watches free energy plus
    /// penalty.
    fn penalty(&self) -> f64 {
        0.0
    }
}

/// A model whose variational free energy of a datum falls apart into named terms.
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

/// A model whose E-step can be flattened: `q ∝ p(x, s)^β`.
pub trait Anneal {
    /// Sets `β`, in `(0, 1]`; 1 is the exact posterior.
    fn set_inverse_temperature(&mut self, beta: f64);
}
