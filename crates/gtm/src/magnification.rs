//! How much the map stretches its plane.

use countgrid_math::Real;

use crate::{
    Basis, EmissionModel, Gtm, GtmError, Inflation, Shape,
    emission_model::information,
    error::{long_enough, same_length},
    newton::factorize,
};

/// `f64`s of scratch that [`Gtm::magnification`] needs.
///
/// Example: [`Gtm::magnification`](crate::Gtm::magnification).
#[must_use]
pub const fn magnification_scratch_len(shape: &Shape) -> usize {
    shape.axes() * (shape.axes() + 3)
}

impl<T: Real, S: AsRef<[T]>> Gtm<T, S> {
    /// The magnification factor at a point of the plane: how much an area there is stretched where distances are
    /// measured by how well documents can be distinguished, `sqrt det g` with the metric
    /// `g_ab = Σ_j I_j ∂f_j/∂x_a ∂f_j/∂x_b` and the Fisher information `I_j` of a count about `f_j`, at inflation held
    /// fixed. Ridges of it are borders between groups.
    ///
    /// `basis` is that of the map; `row` are its functions at the place and `gradients` their derivatives, from
    /// [`Basis::row`] and [`Basis::gradients`]; `scratch`: at least [`magnification_scratch_len`]. Covariates of
    /// documents are those of the first profile, exposure is 1, and of a multinomial map the metric is that of one
    /// token.
    ///
    /// ```
    /// use countgrid_gtm::{Basis, EmissionModel, Gtm, Priors, Shape, grid_points, magnification_scratch_len};
    /// use countgrid_em::TablesMutExt;
    ///
    /// let shape = Shape::new(EmissionModel::Poisson, 9, 2, 5, 2)?;
    /// let (mut points, mut centres, mut phi) = ([0.0; 18], [0.0; 8], [0.0; 45]);
    /// grid_points(3, 3, &mut points)?;
    /// grid_points(2, 2, &mut centres)?;
    /// let basis = Basis::rbf(&centres, 2, 1.0)?;
    /// basis.table(&points, &mut phi)?;
    /// let mut map = Gtm::new_in(shape, &points, &phi, Priors::default(), vec![0.0; shape.map_len()])?;
    /// map.set("weights", &[0.5, -1.0, 2.0, 0.0, 1.0, -0.5, 1.5, 0.5, -2.0, 1.0]).unwrap();
    ///
    /// let (mut row, mut gradients) = ([0.0; 5], [0.0; 10]);
    /// basis.row(&[0.0, 0.0], &mut row)?;
    /// basis.gradients(&[0.0, 0.0], &mut gradients)?;
    /// let mut scratch = vec![0.0; magnification_scratch_len(&shape)];
    /// assert!(map.magnification(&row, &gradients, &mut scratch)? > 0.0);
    /// # Ok::<(), countgrid_gtm::GtmError>(())
    /// ```
    ///
    /// # Errors
    /// [`GtmError::Length`]; [`GtmError::Setting`] where rates are not finite.
    /// # Source
    /// C. Bishop, M. Svensén & C. Williams, Magnification factors for the GTM algorithm, Proc. IEE Fifth International
    /// Conference on Artificial Neural Networks, 1997; with the information of the emission model as in Kabán &
    /// Girolami 2001.
    pub fn magnification(&self, row: &[T], gradients: &[T], scratch: &mut [f64]) -> Result<f64, GtmError> {
        let (shape, axes) = (*self.shape(), self.shape().axes());
        same_length("row", shape.columns(), row.len())?;
        same_length("gradients", shape.columns() * axes, gradients.len())?;
        long_enough("scratch", magnification_scratch_len(&shape), scratch.len())?;
        let (metric, rest) = scratch.split_at_mut(axes * axes);
        let (slopes, rest) = rest.split_at_mut(axes);
        let (means, _) = rest.split_at_mut(axes);
        metric.fill(0.0);
        means.fill(0.0);
        let product = |weights: &[T], phi: &[T]| {
            weights.iter().zip(phi).fold(0.0, |sum, (&w, &phi)| sum + w.to_f64() * phi.to_f64())
        };
        let width = shape.inflation_columns().max(1);
        let weights = || self.part("weights").chunks_exact(shape.columns());
        // The total of a multinomial's unnormalised probabilities, beside the highest.
        let highest = weights().map(|w| product(w, row)).fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for (j, w) in weights().enumerate() {
            let f = product(w, row);
            let gamma = self.part("inflation").chunks_exact(width).nth(j).unwrap_or_default();
            let eta = match shape.emission_model() {
                EmissionModel::Zip(Inflation::Latent) => product(gamma, row),
                _ => gamma
                    .iter()
                    .zip(self.part("profiles").iter().step_by(shape.profiles()))
                    .fold(0.0, |sum, (&gamma, &g)| sum + gamma.to_f64() * g.to_f64()),
            };
            let weight = match shape.emission_model() {
                EmissionModel::Multinomial => countgrid_math::exp(f - highest),
                emission_model => information(emission_model, f, eta, self.precision().to_f64())
                    .map_err(|_| GtmError::Setting { name: "rates" })?,
            };
            total += weight;
            for (slope, gradient) in slopes.iter_mut().zip(gradients.chunks_exact(shape.columns())) {
                *slope = product(w, gradient);
            }
            for (a, (row, mean)) in metric.chunks_exact_mut(axes).zip(&mut *means).enumerate() {
                let slope = slopes.get(a).copied().unwrap_or_default();
                *mean += weight * slope;
                row.iter_mut().zip(&*slopes).for_each(|(g, &other)| *g += weight * slope * other);
            }
        }
        if shape.emission_model() == EmissionModel::Multinomial {
            for (a, row) in metric.chunks_exact_mut(axes).enumerate() {
                let mean = means.get(a).copied().unwrap_or_default() / total;
                for (g, &other) in row.iter_mut().zip(&*means) {
                    *g = *g / total - mean * other / total;
                }
            }
        }
        // sqrt det of L Lᵀ is the product of the diagonal of L; a dropped axis is one that nothing depends on.
        if factorize(metric, axes).is_none() {
            return Err(GtmError::Setting { name: "rates" });
        }
        let diagonal = metric.iter().step_by(axes + 1);
        Ok(diagonal.fold(1.0, |product, &x| if x.is_finite() { product * x } else { 0.0 }))
    }

    /// [`Gtm::magnification`] at the place `x` `[axis]` under `basis`. `rows`: at least `(1 + L) M` elements.
    ///
    /// # Errors
    /// Those of [`Gtm::magnification`].
    pub fn magnification_at(
        &self,
        basis: &Basis<'_, T>,
        x: &[T],
        rows: &mut [T],
        scratch: &mut [f64],
    ) -> Result<f64, GtmError> {
        let (columns, axes) = (self.shape().columns(), self.shape().axes());
        long_enough("rows", columns * (1 + axes), rows.len())?;
        let (row, rest) = rows.split_at_mut(columns);
        let gradients = rest.get_mut(..columns * axes).unwrap_or_default();
        basis.row(x, row)?;
        basis.gradients(x, gradients)?;
        self.magnification(row, gradients, scratch)
    }
}
