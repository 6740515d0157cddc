//! Topographic maps: documents as points of a plane.

pub(crate) mod fit;
pub(crate) mod latent;
pub(crate) mod model;
pub(crate) mod page;
pub(crate) mod places;

use countgrid_gtm::{EmissionModel, GtmError, Inflation};

use crate::failure::Failure;

impl From<GtmError> for Failure {
    fn from(error: GtmError) -> Self {
        let remedy = match error {
            GtmError::TooLarge { .. } => "take fewer --points or fewer words (--max-words)",
            GtmError::Overflow { .. } => "scale the counts down, or take --precision f64",
            GtmError::Setting { name: "width" } => {
                "take a --width above 0, and of at most 1 on a torus, such as 0.5"
            }
            GtmError::NotFinite { table: "basis", .. } => "take fewer --points or another --basis",
            GtmError::EmissionModel { what: "exposure" } => {
                "leave --exposure out, or take --model poisson-gtm, zip-gtm or zip-latent-gtm"
            }
            _ => "fit the model again; if that does not help, this is a bug worth a report",
        };
        Self::new(error, remedy)
    }
}

/// The display name of an emission model.
pub(crate) fn name(emission_model: EmissionModel) -> &'static str {
    match emission_model {
        EmissionModel::Zip(Inflation::Document) => "zero-inflated Poisson",
        EmissionModel::Zip(Inflation::Latent) => "zero-inflated Poisson, inflation by place",
        EmissionModel::Poisson => "Poisson",
        EmissionModel::Bernoulli => "Bernoulli",
        EmissionModel::Multinomial => "multinomial",
        EmissionModel::Gaussian => "Gaussian",
    }
}
