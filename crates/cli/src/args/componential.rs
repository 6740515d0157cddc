//! Options of componential grids.

use clap::Args;
use countgrid_estimators::{ComponentialOptions, GridOptions};

use super::{COUNT, at_most};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Componential grid")]
pub(crate) struct ComponentialArgs {
    /// Sum of the parameters of the Dirichlet distribution of a document's proportions of windows, in tokens; where a learned one
    /// starts [default: 5]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) concentration: Option<f64>,
    /// Learn it
    #[arg(long)]
    pub(crate) learn_concentration: bool,
    /// The most iterations of a componential grid, after those of the counting grid that it begins as [default: 40]
    #[arg(long, value_name = "N", value_parser = at_most(COUNT))]
    pub(crate) componential_iterations: Option<usize>,
}

impl ComponentialArgs {
    /// Of a grid that begins with these options.
    pub(crate) fn options(&self, grid: GridOptions) -> ComponentialOptions {
        let default = ComponentialOptions::default();
        ComponentialOptions {
            grid,
            iterations: self.componential_iterations.unwrap_or(default.iterations),
            concentration: self.concentration.unwrap_or(default.concentration),
            learn_concentration: self.learn_concentration,
            ..default
        }
    }
}
