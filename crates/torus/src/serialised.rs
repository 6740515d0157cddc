//! What tori and windows are written as and read from, with the checks of their constructors.

use core::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ShapeError, Torus, Windows};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TorusFields<const D: usize> {
    extents: Axes<D>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowsFields<const D: usize> {
    extents: Axes<D>,
    sides: Axes<D>,
}

impl<const D: usize> From<Torus<D>> for TorusFields<D> {
    fn from(torus: Torus<D>) -> Self {
        Self { extents: Axes(torus.extents()) }
    }
}

impl<const D: usize> TryFrom<TorusFields<D>> for Torus<D> {
    type Error = ShapeError;

    fn try_from(fields: TorusFields<D>) -> Result<Self, ShapeError> {
        Self::new(fields.extents.0)
    }
}

impl<const D: usize> From<Windows<D>> for WindowsFields<D> {
    fn from(windows: Windows<D>) -> Self {
        Self { extents: Axes(windows.torus().extents()), sides: Axes(windows.sides()) }
    }
}

impl<const D: usize> TryFrom<WindowsFields<D>> for Windows<D> {
    type Error = ShapeError;

    fn try_from(fields: WindowsFields<D>) -> Result<Self, ShapeError> {
        Self::from_sides(fields.extents.0, fields.sides.0)
    }
}

/// A number for each axis: serde has arrays of some lengths only.
struct Axes<const D: usize>([usize; D]);

impl<const D: usize> Serialize for Axes<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(D)?;
        self.0.iter().try_for_each(|x| tuple.serialize_element(x))?;
        tuple.end()
    }
}

impl<'de, const D: usize> Deserialize<'de> for Axes<D> {
    fn deserialize<A: Deserializer<'de>>(deserializer: A) -> Result<Self, A::Error> {
        deserializer.deserialize_tuple(D, Elements::<D>)
    }
}

struct Elements<const D: usize>;

impl<'de, const D: usize> Visitor<'de> for Elements<D> {
    type Value = Axes<D>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number for each of {D} axes")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Axes<D>, A::Error> {
        let mut axes = [0; D];
        for (axis, x) in axes.iter_mut().enumerate() {
            *x = elements.next_element()?.ok_or_else(|| Error::invalid_length(axis, &self))?;
        }
        Ok(Axes(axes))
    }
}
