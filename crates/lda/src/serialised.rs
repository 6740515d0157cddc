//! What validated types are read from, with the checks of their constructors.

use serde::Deserialize;

use crate::{LdaError, Shape};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShapeFields {
    topics: usize,
    features: usize,
}

impl TryFrom<ShapeFields> for Shape {
    type Error = LdaError;

    fn try_from(fields: ShapeFields) -> Result<Self, LdaError> {
        let ShapeFields { topics, features } = fields;
        Self::new(topics, features)
    }
}
