use countgrid_em::TablesExt;
use countgrid_gtm::{EmissionModel, Gtm, GtmError, Priors, Shape};
use countgrid_io::{ModelFile, NamedTable};
use serde_json::Value;

use super::{FittedTopographic, LatentSpace};
use crate::{
    EstimatorError, ModelFileError, ModelInfo, Stored,
    model_file::{json_of, kind_of},
};

impl<T: Stored> FittedTopographic<T> {
    /// What the text `kind` of a model file is.
    pub const KIND: &'static str = "topographic map";

    /// The tables of a [`Gtm`] under their names, and `centres` `[axis, centre]` of the basis functions, with the texts of
    /// [`ModelInfo::write`] and `map`.
    pub fn to_file(&self) -> ModelFile {
        let mut file = ModelFile::default();
        let mut push = |name: &str, rows: usize, columns: usize, elements: &[T]| {
            let (name, shape) = (name.to_owned(), vec![rows, columns]);
            file.tables.push(NamedTable { name, shape, data: T::into_data(elements.to_vec()) });
        };
        for (table, elements) in self.map().tables().filter(|(_, elements)| !elements.is_empty()) {
            push(table.name, table.rows, table.columns, elements);
        }
        let centres = self.latent().centres();
        push("centres", 2, centres.len() / 2, centres);
        self.info.write(Self::KIND, &mut file);
        let mut own = self.latent().to_json();
        own["law"] = self.shape().emission_model().name().into();
        own["general"] = self.shape().is_general().into();
        file.metadata.insert("map".to_owned(), own.to_string());
        file
    }

    /// What [`FittedTopographic::to_file`] has made.
    ///
    /// # Errors
    /// [`EstimatorError::Model`] for a file of another kind or scalar, or whose tables do not match.
    pub fn from_file(mut file: ModelFile) -> Result<Self, EstimatorError> {
        let (expected, found) = (Self::KIND, kind_of(&file)?);
        if found != expected {
            return Err(ModelFileError::Kind { expected, found: found.to_owned() }.into());
        }
        let info = ModelInfo::read(&file)?;
        let own = json_of(&file, "map")?;
        let text = |expected| ModelFileError::Text { name: "map", expected };
        let emission_model = own.get("law").and_then(Value::as_str).and_then(EmissionModel::from_name);
        let emission_model = emission_model.ok_or(text("names no emission model"))?;
        let general = own.get("general").and_then(Value::as_bool).unwrap_or(false);
        let mut take = |name: &'static str| {
            let place = file.tables.iter().position(|table| table.name == name);
            let table = place.map(|place| T::from_data(file.tables.swap_remove(place).data));
            let expected = "its tables are all F32 or all F64, as they are wanted";
            table.ok_or(ModelFileError::NoTable { name })?.ok_or(ModelFileError::Table { expected })
        };
        let (points, basis) = (take("points")?, take("basis")?);
        let (count, centres) = (points.len() / 2, take("centres")?);
        let columns = basis.len().checked_div(count).unwrap_or(0);
        let latent = LatentSpace::from_json(&own, points, centres).ok_or(text("is no latent space"))?;
        let refused = |error: GtmError| ModelFileError::Numbers { problem: error.to_string() };
        if latent.functions().map_err(refused)?.columns() != columns {
            let expected = "its tables `centres` and `basis` do not go together";
            return Err(ModelFileError::Table { expected }.into());
        }
        let shape = Shape::new(emission_model, count, 2, columns, info.vocabulary.len())
            .map_err(refused)?
            .on(latent.space());
        let shape = if general { shape.general() } else { shape };
        let mut map = Gtm::allocate(shape, latent.points(), &basis, Priors::default()).map_err(refused)?;
        for name in ["weight_precision", "inflation_prior", "mixing", "precision", "weights", "inflation"] {
            if map.table(name).is_some_and(|table| !table.is_empty()) {
                map.set(name, &take(name)?).map_err(refused)?;
            }
        }
        let reference = take("reference")?.first().copied().unwrap_or_default();
        if reference > T::zero() {
            map.set_reference(reference).map_err(refused)?;
        }
        Self::new(info, latent, map)
    }

    /// Writes it to a file, as a whole or not at all.
    ///
    /// # Errors
    /// [`EstimatorError::File`]. The previous file is then untouched.
    #[cfg(feature = "files")]
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<(), EstimatorError> {
        Ok(countgrid_io::save(path, &self.to_file())?)
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// [`EstimatorError::File`]; those of [`FittedTopographic::from_file`].
    #[cfg(feature = "files")]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, EstimatorError> {
        Self::from_file(countgrid_io::load(path)?)
    }
}
