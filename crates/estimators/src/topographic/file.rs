use countgrid_em::TablesExt;
use countgrid_gtm::{EmissionModel, Gtm, GtmError, Priors, Shape};
use countgrid_io::{ModelFile, NamedTable};
use serde_json::Value;

use super::{FittedTopographic, LatentSpace};
use crate::{
    EstimatorError, ModelFileError, ModelInfo, Stored,
    model_file::{TableReader, check_range, json_of},
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
    pub fn from_file(file: ModelFile) -> Result<Self, EstimatorError> {
        let mut reader = TableReader::new(file, Self::KIND)?;
        let own = json_of(reader.file(), "map")?;
        let text = |expected| ModelFileError::Text { name: "map", expected };
        let emission_model = own.get("law").and_then(Value::as_str).and_then(EmissionModel::from_name);
        let emission_model = emission_model.ok_or(text("names no emission model"))?;
        let general = own.get("general").and_then(Value::as_bool);
        let general = general.ok_or(text("does not say whether it is `general`"))?;
        let [columns, count] = reader.matrix("basis")?;
        let [_, functions] = reader.matrix("centres")?;
        let points = reader.take::<T>("points", &[2, count])?;
        let centres = reader.take::<T>("centres", &[2, functions])?;
        let basis = reader.take::<T>("basis", &[columns, count])?;
        for (name, elements) in [("points", &points), ("centres", &centres), ("basis", &basis)] {
            check_range(name, elements, -COORDINATES..=COORDINATES)?;
        }
        let latent = LatentSpace::from_json(&own, points, centres).ok_or(text("is no latent space"))?;
        let refused = |error: GtmError| ModelFileError::Numbers { problem: error.to_string() };
        if latent.functions().map_err(refused)?.columns() != columns {
            let expected = "its tables `centres` and `basis` do not go together";
            return Err(ModelFileError::Table { expected }.into());
        }
        let info = ModelInfo::read(reader.file())?;
        let shape = Shape::new(emission_model, count, 2, columns, info.vocabulary.len())
            .map_err(refused)?
            .on(latent.space());
        let shape = if general { shape.general() } else { shape };
        let mut map = Gtm::allocate(shape, latent.points(), &basis, Priors::default()).map_err(refused)?;
        let layout: Vec<_> = map.tables().map(|(table, _)| table).collect();
        for table in layout.iter().filter(|table| table.rows * table.columns > 0) {
            let name = table.name;
            if ["points", "basis"].contains(&name) {
                continue; // taken before
            }
            let elements = reader.take::<T>(name, &[table.rows, table.columns])?;
            let named = |error: GtmError| refused_table(name, &error);
            match name {
                // Without covariates of documents.
                "profiles" => check_range(name, &elements, 1.0..=1.0)?,
                "reference" => {
                    let [reference] = elements[..] else {
                        return Err(named(GtmError::Setting { name }).into());
                    };
                    if reference != T::zero() {
                        check_range(name, &elements, LEAST_TOKENS..=MOST_TOKENS)?;
                        map.set_reference(reference).map_err(named)?;
                    }
                }
                _ => map.set(name, &elements).map_err(named)?,
            }
        }
        reader.finish(&["map"])?;
        let fitted = Self::new(info, latent, map)?;
        // Now, so that no document is blamed for weights whose rates are not finite.
        fitted.emissions().map_err(|error| match error {
            EstimatorError::Gtm(error) => refused_table("weights", &error).into(),
            error => error,
        })?;
        Ok(fitted)
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

/// The largest coordinate, and value of a basis function; those of ours are far below.
const COORDINATES: f64 = 1e6;
/// The least and the largest mean length of documents, so that no exposure overflows.
const LEAST_TOKENS: f64 = 1e-9;
const MOST_TOKENS: f64 = 1e15;

fn refused_table(name: &str, error: &GtmError) -> ModelFileError {
    ModelFileError::Numbers { problem: format!("its table `{name}`: {error}") }
}
