//! What validated types are read from, with the checks of their constructors.

use serde::Deserialize;

use crate::{HarmoniumError, Shape, Wings};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShapeFields {
    wings: Wings,
    words: usize,
    topics: usize,
    features: usize,
}

impl TryFrom<ShapeFields> for Shape {
    type Error = HarmoniumError;

    fn try_from(fields: ShapeFields) -> Result<Self, HarmoniumError> {
        let ShapeFields { wings, words, topics, features } = fields;
        match (wings, features) {
            (Wings::Normal, 0) => Self::words(words, topics),
            (Wings::Normal, _) => Self::dual_wing(words, features, topics),
            (Wings::RateAdapting, 0) => Self::rate_adapting(words, topics),
            (Wings::RateAdapting, _) => Err(HarmoniumError::Wings { needs: "normal" }),
        }
    }
}
