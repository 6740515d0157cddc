//! Models from their files; errors name the file.

use std::path::Path;

use countgrid_estimators::{AnyModel, EstimatorError, FittedGrid};
use countgrid_io::{ModelFile, load as load_file};

use crate::failure::Failure;

/// A counting grid of either scalar.
pub(crate) enum Grid {
    F32(Box<FittedGrid<f32>>),
    F64(Box<FittedGrid<f64>>),
}

/// Reads a model of any kind.
pub(crate) fn load(path: &Path) -> Result<AnyModel, Failure> {
    Ok(load_with_checksum(path)?.0)
}

/// Reads a model of any kind, and its checksum, which the page of the same run has too.
pub(crate) fn load_with_checksum(path: &Path) -> Result<(AnyModel, String), Failure> {
    let file = load_file(path)?;
    let checksum = file.checksum().map_err(EstimatorError::from)?;
    let model = from_file(path, file)?;
    Ok((model, checksum))
}

fn from_file(path: &Path, file: ModelFile) -> Result<AnyModel, Failure> {
    let kind = file.metadata.get("kind").cloned().unwrap_or_default();
    AnyModel::from_file(file).map_err(|error| {
        let EstimatorError::Model(error) = error else { return error.into() };
        let (wrong, writer) = match kind.as_str() {
            "topographic map" => {
                ("no whole topographic map", "`countgrid map --model zip-gtm`, or another map,")
            }
            "harmonium" => ("no model of a harmonium", "`countgrid fit`"),
            _ => ("no model of a counting grid", "`countgrid map` or `countgrid fit`"),
        };
        Failure::new(
            format_args!("{}: {wrong}: {error}", path.display()),
            format_args!("name a file that {writer} has written"),
        )
    })
}

/// Reads a grid whose windows have words: of a componential one, the counting grid with the same cells.
pub(crate) fn load_windows(path: &Path) -> Result<Grid, Failure> {
    match load(path)? {
        AnyModel::ComponentialF32(grid) => Ok(Grid::F32(Box::new(grid.to_grid()?))),
        AnyModel::ComponentialF64(grid) => Ok(Grid::F64(Box::new(grid.to_grid()?))),
        other => counting_grid(path, other),
    }
}

/// Reads a counting grid.
pub(crate) fn load_grid(path: &Path) -> Result<Grid, Failure> {
    counting_grid(path, load(path)?)
}

fn counting_grid(path: &Path, model: AnyModel) -> Result<Grid, Failure> {
    match model {
        AnyModel::GridF32(grid) => Ok(Grid::F32(grid)),
        AnyModel::GridF64(grid) => Ok(Grid::F64(grid)),
        AnyModel::HarmoniumF32(_) | AnyModel::HarmoniumF64(_) => Err(Failure::new(
            format_args!("{}: is a harmonium, and has no places on a grid", path.display()),
            "name a file that `countgrid map` or `countgrid fit --model grid` has written; `info` and `embed` know both",
        )),
        other => Err(Failure::new(
            format_args!("{}: is a {}, not a counting grid", path.display(), other.kind()),
            "`countgrid info` and `countgrid embed` take it; name a model of a grid",
        )),
    }
}
