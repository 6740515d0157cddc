//! What validated types are read from, with the checks of their constructors.

use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{EmissionModel, GtmError, Shape, Space};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShapeFields {
    emission_model: EmissionModel,
    space: Space,
    points: usize,
    axes: usize,
    columns: usize,
    features: usize,
    profiles: usize,
    covariates: usize,
    general: bool,
}

impl TryFrom<ShapeFields> for Shape {
    type Error = GtmError;

    fn try_from(fields: ShapeFields) -> Result<Self, GtmError> {
        let ShapeFields {
            emission_model,
            space,
            points,
            axes,
            columns,
            features,
            profiles,
            covariates,
            general,
        } = fields;
        let shape = Self::new(emission_model, points, axes, columns, features)?.on(space);
        let shape = if (profiles, covariates) == (1, 1) {
            shape
        } else {
            shape.with_profiles(profiles, covariates)?
        };
        Ok(if general { shape.general() } else { shape })
    }
}

/// By the name that it has in model files.
impl Serialize for EmissionModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for EmissionModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Name)
    }
}

struct Name;

impl Visitor<'_> for Name {
    type Value = EmissionModel;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an emission model:")?;
        EmissionModel::ALL.iter().try_for_each(|model| write!(f, " {}", model.name()))
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<EmissionModel, E> {
        EmissionModel::from_name(name)
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(name), &self))
    }
}
