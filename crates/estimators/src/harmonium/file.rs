//! A harmonium as a file, and back.

use countgrid_em::Tables;
use countgrid_harmonium::Harmonium;
use countgrid_io::{ModelFile, NamedTable, TableData};

use super::{FittedHarmonium, HarmoniumKind, Standardizer};
use crate::{EstimatorError, ModelFileError, ModelInfo, Stored, blocks::zeros, model_file::kind_of};

impl<T: Stored> FittedHarmonium<T> {
    /// What the text `kind` of a model file is.
    pub const KIND: &'static str = "harmonium";

    /// The tables of [`Harmonium`] under their names and, for a dual wing, `feature_means` and `feature_deviations`, with
    /// the texts of [`ModelInfo::write`], `law` (the kind of harmonium) and `features`.
    pub fn to_file(&self) -> ModelFile {
        let mut file = ModelFile::default();
        let mut rest = self.model().buffer();
        for table in self.model().layout() {
            let (own, after) = rest.split_at((table.rows * table.columns).min(rest.len()));
            rest = after;
            let shape = if table.rows == 1 { vec![table.columns] } else { vec![table.rows, table.columns] };
            let data = T::into_data(own.to_vec());
            file.tables.push(NamedTable { name: table.name.to_owned(), shape, data });
        }
        if let Some(standardizer) = self.standardizer() {
            let tables =
                [("feature_means", standardizer.means()), ("feature_deviations", standardizer.deviations())];
            for (name, values) in tables {
                let (name, shape, data) =
                    (name.to_owned(), vec![values.len()], TableData::F64(values.to_vec()));
                file.tables.push(NamedTable { name, shape, data });
            }
            file.set_strings("features", standardizer.names());
        }
        self.info.write(Self::KIND, &mut file);
        file.metadata.insert("law".to_owned(), self.kind().name().to_owned());
        file
    }

    /// What [`FittedHarmonium::to_file`] has made.
    ///
    /// # Errors
    /// [`EstimatorError::Model`] for a file of another kind or scalar, or whose tables do not match.
    pub fn from_file(mut file: ModelFile) -> Result<Self, EstimatorError> {
        let (expected, found) = (Self::KIND, kind_of(&file)?);
        if found != expected {
            return Err(ModelFileError::Kind { expected, found: found.to_owned() }.into());
        }
        let name = file.metadata.get("law").ok_or(ModelFileError::NoText { name: "law" })?;
        let expected = "is not `harmonium`, `rap` or `dual-wing`";
        let kind = HarmoniumKind::from_name(name);
        let kind = kind.ok_or(ModelFileError::Text { name: "law", expected })?;
        let info = ModelInfo::read(&file)?;
        let words = info.vocabulary.len();
        let names = file.strings("features").unwrap_or_default();
        let wrong = |expected| ModelFileError::Table { expected };
        let topics = match file.table("w").map(|w| w.shape.as_slice()) {
            Some(&[rows, topics]) if rows == words => topics,
            _ => return Err(wrong("its table `w` is not [words of the vocabulary, topics]").into()),
        };
        let mut take = |name: &str| {
            let place = file.tables.iter().position(|table| table.name == name);
            place.map(|place| file.tables.swap_remove(place).data)
        };
        let standardizer = match kind {
            HarmoniumKind::DualWing => {
                let found = match (take("feature_means"), take("feature_deviations")) {
                    (Some(TableData::F64(means)), Some(TableData::F64(deviations))) => {
                        Standardizer::new(names, means, deviations).ok()
                    }
                    _ => None,
                };
                Some(found.ok_or(wrong(
                    "its tables `feature_means` and `feature_deviations` are not those of `features`",
                ))?)
            }
            _ => None,
        };
        let features = standardizer.as_ref().map_or(0, |standardizer| standardizer.names().len());
        let refused = |problem: String| ModelFileError::Numbers { problem };
        let shape = kind.shape(words, topics, features).map_err(|error| refused(error.to_string()))?;
        let mut model = zeros::<T>(shape.model_len())?;
        let mut rest = model.as_mut_slice();
        for (name, len) in tables(kind, words, topics, features) {
            let own = take(name).and_then(T::from_data).filter(|own| own.len() == len);
            let own = own.ok_or_else(|| {
                refused(format!("its table `{name}` is not of {len} numbers like the others"))
            })?;
            let (table, after) = rest.split_at_mut(len);
            table.copy_from_slice(&own);
            rest = after;
        }
        let mut precision = zeros(shape.precision_len())?;
        let model =
            Harmonium::new(shape, model, &mut precision).map_err(|error| refused(error.to_string()))?;
        Self::new(info, kind, model, standardizer)
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
    /// [`EstimatorError::File`]; those of [`FittedHarmonium::from_file`].
    #[cfg(feature = "files")]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, EstimatorError> {
        Self::from_file(countgrid_io::load(path)?)
    }
}

/// Names and lengths of the tables of a harmonium, in their order.
fn tables(kind: HarmoniumKind, words: usize, topics: usize, features: usize) -> Vec<(&'static str, usize)> {
    let couplings = words * topics;
    match kind {
        HarmoniumKind::Single => vec![("alpha", words), ("w", couplings), ("sizes", words)],
        HarmoniumKind::RateAdapting => {
            vec![("alpha", words), ("w", couplings), ("sizes", topics), ("beta", topics)]
        }
        HarmoniumKind::DualWing => vec![
            ("alpha", words),
            ("w", couplings),
            ("sizes", words),
            ("beta", features),
            ("variances", features),
            ("u", features * topics),
        ],
    }
}
