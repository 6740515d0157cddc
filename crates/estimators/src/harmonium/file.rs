//! A harmonium as a file, and back.

use countgrid_em::Tables;
use countgrid_harmonium::{Harmonium, HarmoniumError};
use countgrid_io::{ModelFile, NamedTable, TableData};

use super::{FittedHarmonium, HarmoniumKind, Standardizer, fitted::check_parameters};
use crate::{EstimatorError, ModelFileError, ModelInfo, Stored, blocks::zeros, model_file::TableReader};

impl<T: Stored> FittedHarmonium<T> {
    /// What the text `kind` of a model file is.
    pub const KIND: &'static str = "harmonium";

    /// The tables of [`Harmonium`] under their names and, for a dual wing, `feature_means` and `feature_deviations`, with
    /// the texts of [`ModelInfo::write`], `law` (the kind of harmonium) and `features`.
    #[must_use]
    pub fn to_file(&self) -> ModelFile {
        let mut file = ModelFile::default();
        let mut rest = self.model().buffer();
        for table in self.model().layout() {
            let (own, after) = rest.split_at((table.rows * table.columns).min(rest.len()));
            rest = after;
            let shape = extents(table.rows, table.columns);
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
    pub fn from_file(file: ModelFile) -> Result<Self, EstimatorError> {
        let mut reader = TableReader::new(file, Self::KIND)?;
        let name = reader.file().metadata.get("law").ok_or(ModelFileError::NoText { name: "law" })?;
        let expected = "is not `harmonium`, `rap` or `dual-wing`";
        let kind = HarmoniumKind::from_name(name);
        let kind = kind.ok_or(ModelFileError::Text { name: "law", expected })?;
        let info = ModelInfo::read(reader.file())?;
        let words = info.vocabulary.len();
        let topics = *reader.shape("w")?.last().unwrap_or(&0);
        let refused = |problem: String| ModelFileError::Numbers { problem };
        let standardizer = match kind {
            HarmoniumKind::DualWing => {
                let names = reader.file().metadata.get("features");
                names.ok_or(ModelFileError::NoText { name: "features" })?;
                let expected = "is not a JSON array of names";
                let names = reader.file().strings("features");
                let names = names.ok_or(ModelFileError::Text { name: "features", expected })?;
                let means = reader.take::<f64>("feature_means", &[names.len()])?;
                let deviations = reader.take::<f64>("feature_deviations", &[names.len()])?;
                let found = Standardizer::new(names, means, deviations);
                let tables = "its tables `feature_means` and `feature_deviations`";
                Some(found.map_err(|error| refused(format!("{tables}: {error}")))?)
            }
            _ => None,
        };
        let features = standardizer.as_ref().map_or(0, |standardizer| standardizer.names().len());
        let shape = kind.shape(words, topics, features).map_err(|error| refused(error.to_string()))?;
        let mut tables = Vec::new();
        for (name, rows, columns) in layout(kind, words, topics, features) {
            let own = reader.take::<T>(name, &extents(rows, columns))?;
            if name != "sizes" {
                check_parameters(name, &own)?;
            }
            tables.extend(own);
        }
        let dual_wing = kind == HarmoniumKind::DualWing;
        reader.finish(if dual_wing { &["law", "features"] } else { &["law"] })?;
        let mut model = zeros::<T>(shape.model_len())?;
        if model.len() != tables.len() {
            return Err(HarmoniumError::ShapeMismatch.into());
        }
        model.copy_from_slice(&tables);
        let mut precision = zeros(shape.precision_len())?;
        let model = Harmonium::new(shape, model, &mut precision).map_err(|error| match error {
            HarmoniumError::Size { .. } => refused(format!("its table `sizes`: {error}")),
            error => refused(format!("its tables do not go together: {error}")),
        })?;
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

/// The shape of a table in a file: one row is a vector.
fn extents(rows: usize, columns: usize) -> Vec<usize> {
    if rows == 1 { vec![columns] } else { vec![rows, columns] }
}

/// Names, rows and columns of the tables of a harmonium, in their order.
fn layout(
    kind: HarmoniumKind,
    words: usize,
    topics: usize,
    features: usize,
) -> Vec<(&'static str, usize, usize)> {
    let (alpha, w) = (("alpha", 1, words), ("w", words, topics));
    match kind {
        HarmoniumKind::Single => vec![alpha, w, ("sizes", 1, words)],
        HarmoniumKind::RateAdapting => vec![alpha, w, ("sizes", 1, topics), ("beta", 1, topics)],
        HarmoniumKind::DualWing => vec![
            alpha,
            w,
            ("sizes", 1, words),
            ("beta", 1, features),
            ("variances", 1, features),
            ("u", features, topics),
        ],
    }
}
