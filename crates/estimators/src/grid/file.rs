use countgrid_corpus::memory;
use countgrid_io::{ModelFile, NamedTable, TableData};

use super::{memory::plan, plan::grid_from};
use crate::{
    AXES, EstimatorError, FittedGrid, GridLabels, GridLayout, ModelFileError, ModelInfo, Stored,
    model_file::{GRID, kind_of},
};

impl<T: Stored> FittedGrid<T> {
    /// What the text `kind` of a model file is.
    pub const KIND: &'static str = GRID;

    /// The tables `pi` `[feature, extents...]`, `prior` `[extents...]`, `window` `[axes]` and, where documents have
    /// labels, `labels` `[label, extents...]`, with the texts of [`ModelInfo::write`] and `labels`.
    pub fn to_file(&self) -> ModelFile {
        let (pi, prior) = self.grid.tables();
        let extents = self.layout.extents().to_vec();
        let sides =
            self.layout.window().iter().map(|&side| u32::try_from(side).unwrap_or(u32::MAX)).collect();
        let table = |name: &str, shape, data| NamedTable { name: name.to_owned(), shape, data };
        let mut file = ModelFile {
            tables: vec![
                table(
                    "pi",
                    [vec![self.shape().features()], extents.clone()].concat(),
                    T::into_data(pi.to_vec()),
                ),
                table("prior", extents.clone(), T::into_data(prior.to_vec())),
                table("window", vec![extents.len()], TableData::U32(sides)),
            ],
            ..ModelFile::default()
        };
        self.info.write(Self::KIND, &mut file);
        if let Some(labels) = &self.labels {
            let shape = [vec![labels.names().len()], extents].concat();
            file.tables.push(table("labels", shape, T::into_data(labels.table().to_vec())));
            file.set_strings("labels", labels.names());
        }
        file
    }

    /// What [`FittedGrid::to_file`] has made.
    ///
    /// # Errors
    /// [`EstimatorError::Model`] for a file of another kind or scalar, or whose tables do not match;
    /// [`EstimatorError::GridMemory`].
    pub fn from_file(mut file: ModelFile) -> Result<Self, EstimatorError> {
        let (info, layout) = info_and_layout(&file)?;
        let wrong = |expected| ModelFileError::Table { expected };
        let (shape, _) = plan::<T>(&layout, info.vocabulary.len(), 1, 0, memory::available())?;
        let names = file.strings("labels").unwrap_or_default();
        let mut take = |name: &str| {
            let place = file.tables.iter().position(|table| table.name == name);
            place.map(|place| file.tables.swap_remove(place).data)
        };
        let types = "the tables `pi` and `prior` are both F32 or both F64, as they are wanted";
        let numbers = |data: Option<TableData>| data.and_then(T::from_data);
        let (Some(mut tables), Some(prior)) = (numbers(take("pi")), numbers(take("prior"))) else {
            return Err(wrong(types).into());
        };
        tables.extend(prior);
        if tables.len() != shape.grid_len() {
            return Err(wrong("the tables do not have the size that their shapes say").into());
        }
        let grid = grid_from(shape, &tables)
            .map_err(|error| ModelFileError::Numbers { problem: error.to_string() })?;
        let labels = take("labels").map(|labels| {
            // A file of another scalar has no table of this one.
            GridLabels::new(shape, names, T::from_data(labels).unwrap_or_default()).map_err(|_| {
                wrong(
                    "its table `labels` is not [labels, extents...] of finite numbers like `pi`, named by its text",
                )
            })
        });
        Self::new(info, layout, grid, labels.transpose()?)
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

/// Everything but the numbers, checked against one another.
fn info_and_layout(file: &ModelFile) -> Result<(ModelInfo, GridLayout), ModelFileError> {
    let (expected, found) = (FittedGrid::<f32>::KIND, kind_of(file)?);
    if found != expected {
        return Err(ModelFileError::Kind { expected, found: found.to_owned() });
    }
    let table = |name| file.table(name).ok_or(ModelFileError::NoTable { name });
    let (pi, prior, window) = (table("pi")?, table("prior")?, table("window")?);
    let [features, extents @ ..] = pi.shape.as_slice() else {
        return Err(ModelFileError::Table { expected: "its table `pi` has no axes" });
    };
    let TableData::U32(sides) = &window.data else {
        return Err(ModelFileError::Table { expected: "its table `window` is not U32" });
    };
    let positive = extents.iter().all(|&extent| extent > 0) && sides.iter().all(|&side| side > 0);
    if !((1..=AXES).contains(&extents.len()) && prior.shape == extents && positive) {
        return Err(ModelFileError::Table {
            expected: "its tables `pi` and `prior` have other shapes than [words, extents...], [extents...]",
        });
    }
    let info = ModelInfo::read(file)?;
    info.check(*features)?;
    let sides = sides.iter().map(|&side| side as usize).collect();
    let layout = GridLayout::new(extents.to_vec(), sides)
        .map_err(|_| ModelFileError::Table { expected: "its window does not fit into its grid" })?;
    Ok((info, layout))
}
