/// Statistics with scratch beside them: what an E-step or an M-step needs room for, but nobody adds up.
///
/// As [`Tables`](crate::Tables) it is the sums alone: clearing, scaling and merging leave the scratch as it is, and a copy that
/// is written down has none. Both fields are public, so that a step borrows one beside the other.
///
/// ```
/// use core::convert::Infallible;
/// use countgrid_em::{Fit, Learn, Table, TableBuffer, TablesError, TablesMut, WithScratch};
///
/// /// A mixture whose E-step needs a posterior `[component]`.
/// struct Mixture {
///     rates: Vec<f64>,
/// }
/// type Sums = TableBuffer<f64, [Table; 1], Vec<f64>>;
///
/// impl Mixture {
///     fn statistics(&self) -> Result<WithScratch<Sums, Vec<f64>>, TablesError> {
///         let components = self.rates.len();
///         let sums = TableBuffer::new([Table::new("sums", 2, components)], vec![0.0; 2 * components])?;
///         Ok(WithScratch::new(sums, vec![0.0; components]))
///     }
/// }
/// impl Fit<[f64]> for Mixture {
///     fn expectation(&self, counts: &[f64], statistics: &mut Self::Statistics) -> Result<f64, Infallible> {
///         let WithScratch { sums, scratch: q } = statistics;
///         let (weights, tokens) = sums.buffer_mut().split_at_mut(q.len());
///         let mut free_energy = 0.0;
///         for x in counts {
///             q.iter_mut().zip(&self.rates).for_each(|(q, rate)| *q = (x * rate.ln() - rate).exp());
///             let evidence: f64 = q.iter().sum();
///             for ((weight, tokens), q) in weights.iter_mut().zip(&mut *tokens).zip(&*q) {
///                 *weight += q / evidence;
///                 *tokens += q / evidence * x;
///             }
///             free_energy -= evidence.ln();
///         }
///         Ok(free_energy)
///     }
/// }
/// # impl Learn for Mixture {
/// #     type Statistics = WithScratch<Sums, Vec<f64>>;
/// #     type Error = Infallible;
/// #     fn maximization(&mut self, _: &mut Self::Statistics) -> Result<(), Infallible> {
/// #         Ok(())
/// #     }
/// # }
/// let model = Mixture { rates: vec![1.0, 4.0] };
/// let mut statistics = model.statistics()?;
/// model.expectation(&[0.0, 5.0, 4.0], &mut statistics)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WithScratch<S, W> {
    /// Sums over data.
    pub sums: S,
    /// Whatever the two steps need besides; it belongs to the step that runs.
    pub scratch: W,
}

impl<S, W> WithScratch<S, W> {
    /// Sums, and scratch beside them.
    pub const fn new(sums: S, scratch: W) -> Self {
        Self { sums, scratch }
    }
}

crate::tables_of_field!(impl[S, W] for WithScratch<S, W>, sums: S);
