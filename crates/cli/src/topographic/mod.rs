//! Topographic maps: documents as points of a plane.

pub(crate) mod fit;
pub(crate) mod latent;
pub(crate) mod model;
pub(crate) mod page;
pub(crate) mod places;

use countgrid_gtm::{GtmError, Inflation, Law};

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
            GtmError::Law { what: "exposure" } => {
                "leave --exposure out, or take --model poisson-gtm, zip-gtm or zip-latent-gtm"
            }
            _ => "fit the model again; if that does not help, this is a bug worth a report",
        };
        Self::new(error, remedy)
    }
}

/// The law as people call it.
pub(crate) fn name(law: Law) -> &'static str {
    match law {
        Law::Zip(Inflation::Document) => "zero-inflated Poisson",
        Law::Zip(Inflation::Latent) => "zero-inflated Poisson, inflation by place",
        Law::Poisson => "Poisson",
        Law::Bernoulli => "Bernoulli",
        Law::Multinomial => "multinomial",
        Law::Gaussian => "Gaussian",
    }
}
