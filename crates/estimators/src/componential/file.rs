use countgrid_corpus::memory;
use countgrid_io::{ModelFile, NamedTable};

use crate::{
    BagTotals, EstimatorError, FittedComponential, ModelFileError, Stored,
    grid::{info_and_layout, labels_of, memory::plan, window_table, write_labels},
    model_file::TableReader,
};

impl<T: Stored> FittedComponential<T> {
    /// The tables `pi` `[feature, extents...]`, `alpha` `[extents...]`, `window` `[axes]` and, where documents have labels,
    /// `labels` `[label, extents...]`, with the texts of [`ModelInfo::write`](crate::ModelInfo::write) and `labels`.
    #[must_use]
    pub fn to_file(&self) -> ModelFile {
        let (pi, alpha) = self.grid().tables();
        let extents = self.layout().extents().to_vec();
        let table = |name: &str, shape, values: &[T]| NamedTable {
            name: name.to_owned(),
            shape,
            data: T::into_data(values.to_vec()),
        };
        let mut file = ModelFile {
            tables: vec![
                table("pi", [vec![self.shape().features()], extents.clone()].concat(), pi),
                table("alpha", extents.clone(), alpha),
                window_table(self.layout()),
            ],
            ..ModelFile::default()
        };
        self.info.write(Self::KIND, &mut file);
        write_labels(self.labels(), &extents, &mut file);
        file
    }

    /// What [`FittedComponential::to_file`] has made.
    ///
    /// # Errors
    /// [`EstimatorError::Model`] for a file of another kind or scalar, or whose tables do not match;
    /// [`EstimatorError::GridMemory`].
    pub fn from_file(file: ModelFile) -> Result<Self, EstimatorError> {
        let mut reader = TableReader::new(file, Self::KIND)?;
        let (info, layout) = info_and_layout(&mut reader)?;
        let (features, extents) = (info.vocabulary.len(), layout.extents());
        let shape = plan::<T>(&layout, &BagTotals::of_none(features), 1, memory::available())?.shape;
        let mut tables = reader.take::<T>("pi", &[&[features], extents].concat())?;
        tables.extend(reader.take::<T>("alpha", extents)?);
        let labels = labels_of(&mut reader, shape, extents)?;
        reader.finish(&["labels"])?;
        Self::new(info, layout, &tables, labels).map_err(|error| match error {
            EstimatorError::Grid(error) => ModelFileError::Numbers { problem: error.to_string() }.into(),
            other => other,
        })
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
    /// [`EstimatorError::File`]; those of [`FittedComponential::from_file`].
    #[cfg(feature = "files")]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, EstimatorError> {
        Self::from_file(countgrid_io::load(path)?)
    }
}
