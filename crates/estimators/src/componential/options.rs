use countgrid_em::EmOptions;
use countgrid_grid::{GridError, componential::Inference};

use crate::{EstimatorError, GridOptions};

/// How a componential counting grid is fitted to bags of counts: as a counting grid, from which its own iterations start.
///
/// Example: [`ComponentialTraining`](crate::ComponentialTraining).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ComponentialOptions {
    /// Of the counting grid: the size, the seed, the pseudocount and the passes of an M-step, which are those of both; the
    /// restarts, of which the best componential grid is kept. Without `extents` and `window` the size of
    /// [`GridLayout::choose`](crate::GridLayout::choose).
    pub grid: GridOptions,
    /// The most iterations of the componential grid.
    pub iterations: usize,
    /// `Σ alpha` of the Dirichlet distribution of a bag's proportions, in tokens, the same for all windows; where a learned
    /// one starts. From 1 to 20 serves texts well. Finite, above 0.
    pub concentration: f64,
    /// Whether it is learned.
    pub learn_concentration: bool,
    /// The most sweeps over a bag in an iteration, at least 1.
    pub sweeps: usize,
    /// A sweep is the last of a bag if it moved at most this share of the bag's tokens. Finite, not negative.
    pub sweep_tolerance: f64,
}

impl Default for ComponentialOptions {
    /// The defaults of [`GridOptions`], then 40 iterations with a concentration of 5 that stays.
    fn default() -> Self {
        let Inference { sweeps, tolerance: sweep_tolerance } = Inference::default();
        Self {
            grid: GridOptions::default(),
            iterations: 40,
            concentration: 5.0,
            learn_concentration: false,
            sweeps,
            sweep_tolerance,
        }
    }
}

impl ComponentialOptions {
    /// Checks everything that does not depend on data.
    ///
    /// # Errors
    /// Those of [`GridOptions::validate`]; [`EstimatorError::Option`] for the iterations; [`EstimatorError::Grid`] for the
    /// concentration, and for the sweeps.
    pub fn validate(&self) -> Result<(), EstimatorError> {
        self.grid.validate()?;
        EmOptions { iterations: self.iterations, tolerance: self.grid.tolerance }.check()?;
        if !(self.concentration > 0.0 && self.concentration.is_finite()) {
            return Err(GridError::Alpha { window: 0 }.into());
        }
        if self.sweeps == 0 {
            return Err(GridError::NoSweeps.into());
        }
        if !(self.sweep_tolerance >= 0.0 && self.sweep_tolerance.is_finite()) {
            return Err(GridError::Tolerance.into());
        }
        Ok(())
    }
}
