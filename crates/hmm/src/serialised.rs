//! What validated types are read from, with the checks of their constructors.

use serde::{Deserialize, Serialize};

use crate::{ChainShape, HmmError, Shape};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShapeFields {
    states: usize,
    symbols: usize,
}

impl TryFrom<ShapeFields> for Shape {
    type Error = HmmError;

    fn try_from(fields: ShapeFields) -> Result<Self, HmmError> {
        let ShapeFields { states, symbols } = fields;
        Self::new(states, symbols)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChainShapeFields {
    symbols: usize,
    order: usize,
}

impl TryFrom<ChainShapeFields> for ChainShape {
    type Error = HmmError;

    fn try_from(fields: ChainShapeFields) -> Result<Self, HmmError> {
        let ChainShapeFields { symbols, order } = fields;
        Self::new(symbols, order)
    }
}

impl From<ChainShape> for ChainShapeFields {
    fn from(shape: ChainShape) -> Self {
        Self { symbols: shape.symbols(), order: shape.order() }
    }
}
