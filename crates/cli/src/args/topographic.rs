//! Options of topographic maps.

use clap::{Args, ValueEnum};
use countgrid_estimators::{BasisKind, Exposure, LatentKind, TopographicOptions};
use countgrid_gtm::EmissionModel;
use countgrid_map::{MAX_CELLS, group_digits};

use super::{COUNT, GridArgs, at_most, choice};
use crate::{failure::Failure, sides::Sides};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Topographic maps")]
pub(crate) struct TopographicArgs {
    /// Latent points along each axis [default: 18x15]
    #[arg(long, value_name = "SIDES")]
    pub(crate) points: Option<Sides>,
    /// How latent points are arranged [default: grid]
    #[arg(long, value_parser = choice(&[
        ("grid", "On a regular grid"),
        ("random", "Drawn from a Gaussian by --seed"),
        ("torus", "On a regular grid on a torus"),
    ], LatentKind::from_name))]
    pub(crate) latent: Option<LatentKind>,
    /// The basis functions [default: rbf]
    #[arg(long, value_parser = choice(&[
        ("rbf", "Gaussian radial basis functions"),
        ("sinh", "Hyperbolic sines"),
    ], BasisKind::from_name))]
    pub(crate) basis: Option<BasisKind>,
    /// Basis functions besides the constant: RBFs along each axis, or directions and radii of sinh functions [default:
    /// 5x5]
    #[arg(long, value_name = "SIDES")]
    pub(crate) basis_functions: Option<Sides>,
    /// Width of RBFs, where the plane reaches from -1 to 1 [default: two spacings of their centres]
    #[arg(long, value_name = "WIDTH")]
    pub(crate) width: Option<f64>,
    /// The exposure that rates are proportional to, for Poisson and zero-inflated counts; with it zero-inflated maps take
    /// several times as long [default: none]
    #[arg(long, value_parser = choice(&[
        ("none", "None: rates are those of a whole document"),
        ("length", "The length of the document"),
    ], Exposure::from_name))]
    pub(crate) exposure: Option<Exposure>,
    /// Neighbours that vote for a label, for the report on how well labels are separated [default: 1]
    #[arg(long, value_name = "N", value_parser = at_most(COUNT))]
    pub(crate) neighbours: Option<usize>,
    /// Positions of documents in map.svg and map.png: posterior mean or mode; the page has both [default: mean]
    #[arg(long, value_enum)]
    pub(crate) place: Option<Place>,
    /// Shade map.svg and map.png by magnification factors; the page can do so by itself
    #[arg(long)]
    pub(crate) magnification: bool,
}

/// The position of a document by its posterior.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    #[default]
    Mean,
    Mode,
}

impl TopographicArgs {
    /// The options of a map with this emission model.
    pub(crate) fn options(
        &self,
        emission_model: EmissionModel,
        fit: &GridArgs,
    ) -> Result<TopographicOptions, Failure> {
        if self.neighbours == Some(0) {
            return Err(Failure::new(
                "--neighbours 0 leaves no neighbour to vote",
                "take --neighbours of at least 1",
            ));
        }
        let default = TopographicOptions::default();
        let options = TopographicOptions {
            emission_model,
            points: pair("--points", self.points.as_ref(), default.points)?,
            latent: self.latent.unwrap_or(default.latent),
            basis: self.basis.unwrap_or(default.basis),
            basis_functions: pair(
                "--basis-functions",
                self.basis_functions.as_ref(),
                default.basis_functions,
            )?,
            width: self.width,
            exposure: self.exposure.unwrap_or(default.exposure),
            iterations: fit.iterations,
            tolerance: fit.tolerance,
            seed: fit.seed,
            ..default
        };
        options.validate()?;
        Ok(options)
    }
}

/// Two sides.
fn pair(option: &str, sides: Option<&Sides>, defaults: [usize; 2]) -> Result<[usize; 2], Failure> {
    let Some(sides) = sides else { return Ok(defaults) };
    let &[x, y] = sides.0.as_slice() else {
        return Err(Failure::new(
            format_args!("{option} {sides} has {} sides, a plane has two", sides.0.len()),
            format_args!("take two sides, such as {option} {}x{}", defaults[0], defaults[1]),
        ));
    };
    match x.checked_mul(y) {
        Some(points) if points <= MAX_CELLS => Ok([x, y]),
        _ => Err(Failure::new(
            format_args!("{option} {sides} are more than {}", group_digits(MAX_CELLS)),
            "take fewer",
        )),
    }
}
