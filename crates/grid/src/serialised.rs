//! What validated types are read from, with the checks of their constructors.

use serde::Deserialize;

use countgrid_torus::Windows;

use crate::{GridError, Shape};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShapeFields<const D: usize> {
    windows: Windows<D>,
    features: usize,
}

impl<const D: usize> TryFrom<ShapeFields<D>> for Shape<D> {
    type Error = GridError;

    fn try_from(fields: ShapeFields<D>) -> Result<Self, GridError> {
        let ShapeFields { windows, features } = fields;
        Self::new(windows, features)
    }
}
