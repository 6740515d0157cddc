use countgrid_corpus::memory;
use countgrid_grid::Shape;
use countgrid_io::{ModelFile, NamedTable, TableData};

use super::{memory::plan, plan::grid_from};
use crate::{
    AXES, BagTotals, EstimatorError, FittedGrid, GridLabels, GridLayout, ModelFileError, ModelInfo, Stored,
    model_file::{GRID, TableReader},
};

impl<T: Stored> FittedGrid<T> {
    /// What the text `kind` of a model file is.
    pub const KIND: &'static str = GRID;

    /// The tables `pi` `[feature, extents...]`, `prior` `[extents...]`, `window` `[axes]` and, where documents have
    /// labels, `labels` `[label, extents...]`, with the texts of [`ModelInfo::write`] and `labels`.
    pub fn to_file(&self) -> ModelFile {
        let (pi, prior) = self.grid.tables();
        let extents = self.layout.extents().to_vec();
        let table = |name: &str, shape, data| NamedTable { name: name.to_owned(), shape, data };
        let mut file = ModelFile {
            tables: vec![
                table(
                    "pi",
                    [vec![self.shape().features()], extents.clone()].concat(),
                    T::into_data(pi.to_vec()),
                ),
                table("prior", extents.clone(), T::into_data(prior.to_vec())),
                window_table(&self.layout),
            ],
            ..ModelFile::default()
        };
        self.info.write(Self::KIND, &mut file);
        write_labels(self.labels.as_ref(), &extents, &mut file);
        file
    }

    /// What [`FittedGrid::to_file`] has made.
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
        tables.extend(reader.take::<T>("prior", extents)?);
        let problem = |problem| ModelFileError::Numbers { problem };
        let grid = grid_from(shape, &tables).map_err(|error| problem(error.to_string()))?;
        let labels = labels_of(&mut reader, shape, extents)?;
        reader.finish(&["labels"])?;
        Self::new(info, layout, grid, labels)
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
    /// [`EstimatorError::File`]; those of [`FittedGrid::from_file`].
    #[cfg(feature = "files")]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, EstimatorError> {
        Self::from_file(countgrid_io::load(path)?)
    }
}

/// The labels of a file, if it has any.
pub(crate) fn labels_of<T: Stored>(
    reader: &mut TableReader,
    shape: Shape<AXES>,
    extents: &[usize],
) -> Result<Option<GridLabels<T>>, ModelFileError> {
    let file = reader.file();
    match (file.metadata.contains_key("labels"), file.table("labels").is_some()) {
        (false, false) => Ok(None),
        (false, true) => Err(ModelFileError::NoText { name: "labels" }),
        (true, _) => {
            let expected = "is not a JSON array of labels";
            let names = file.strings("labels").ok_or(ModelFileError::Text { name: "labels", expected })?;
            let shares = reader.take::<T>("labels", &[&[names.len()], extents].concat())?;
            GridLabels::new(shape, names, shares)
                .map(Some)
                .map_err(|error| ModelFileError::Numbers { problem: format!("its table `labels`: {error}") })
        }
    }
}

/// Tables and texts of labels.
pub(crate) fn write_labels<T: Stored>(
    labels: Option<&GridLabels<T>>,
    extents: &[usize],
    file: &mut ModelFile,
) {
    let Some(labels) = labels else { return };
    let shape = [&[labels.names().len()], extents].concat();
    let data = T::into_data(labels.table().to_vec());
    file.tables.push(NamedTable { name: "labels".to_owned(), shape, data });
    file.set_strings("labels", labels.names());
}

/// The table `window`.
pub(crate) fn window_table(layout: &GridLayout) -> NamedTable {
    let sides = layout.window().iter().map(|&side| u32::try_from(side).unwrap_or(u32::MAX)).collect();
    NamedTable { name: "window".to_owned(), shape: vec![layout.window().len()], data: TableData::U32(sides) }
}

/// Everything but the numbers, checked against one another.
pub(crate) fn info_and_layout(reader: &mut TableReader) -> Result<(ModelInfo, GridLayout), ModelFileError> {
    let [features, extents @ ..] = reader.shape("pi")? else {
        return Err(ModelFileError::Table { expected: "its table `pi` has no axes" });
    };
    let (features, extents) = (*features, extents.to_vec());
    if !((1..=AXES).contains(&extents.len()) && extents.iter().all(|&extent| extent > 0)) {
        let expected = "its table `pi` is not [words, extents...] of one to eight axes with cells";
        return Err(ModelFileError::Table { expected });
    }
    let sides = match reader.take_data("window", &[extents.len()])? {
        TableData::U32(sides) if sides.iter().all(|&side| side > 0) => sides,
        _ => {
            return Err(ModelFileError::Table { expected: "its table `window` is not U32, each at least 1" });
        }
    };
    let info = reader.info(features)?;
    let sides = sides.iter().map(|&side| side as usize).collect();
    let layout = GridLayout::new(extents, sides).map_err(|error| ModelFileError::Numbers {
        problem: format!("its table `window` does not fit: {error}"),
    })?;
    Ok((info, layout))
}
