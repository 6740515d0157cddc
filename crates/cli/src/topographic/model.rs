//! A fitted map as a file, and back.

use std::path::Path;

use countgrid_em::TablesExt;
use countgrid_gtm::{EmissionModel, Gtm, Priors, Shape};
use countgrid_io::{ModelFile, NamedTable, TableData};
use countgrid_math::Real;
use serde_json::{Value, json};

use super::{fit::Parameters, latent::Latent};
use crate::{
    failure::Failure,
    model::{About, Stored, json_of},
};

/// What the metadata of a file calls it.
pub(crate) const KIND: &str = "topographic map";

/// A map.
#[derive(Debug)]
pub(crate) struct Model<T> {
    pub(crate) about: About,
    pub(crate) latent: Latent<T>,
    pub(crate) map: Parameters<T>,
}

/// A map as a file has it.
#[derive(Debug)]
pub(crate) enum AnyModel {
    F32(Model<f32>),
    F64(Model<f64>),
}

/// The tables of a [`Gtm`] under their names, and `centres` `[axis, centre]` of the basis functions, with texts `kind`,
/// `version`, `title`, `vocabulary`, `text`, `numbers`, `fit` and `map`.
pub(crate) fn to_file<T: Stored>(about: &About, latent: &Latent<T>, map: &Parameters<T>) -> ModelFile {
    let mut file = ModelFile::default();
    let mut push = |name: &str, rows: usize, columns: usize, elements: &[T]| {
        let (name, shape) = (name.to_owned(), vec![rows, columns]);
        file.tables.push(NamedTable { name, shape, data: T::data(elements.to_vec()) });
    };
    for (table, elements) in map.tables().filter(|(_, elements)| !elements.is_empty()) {
        push(table.name, table.rows, table.columns, elements);
    }
    push("centres", 2, latent.centres.len() / 2, &latent.centres);
    about.write(KIND, &mut file);
    let shape = map.shape();
    let mut own = latent.to_json();
    own["law"] = shape.emission_model().name().into();
    own["general"] = shape.is_general().into();
    file.metadata.insert("map".to_owned(), own.to_string());
    file
}

/// Whether a file holds a map.
pub(crate) fn is_map(file: &ModelFile) -> bool {
    file.metadata.get("kind").is_some_and(|kind| kind == KIND)
}

/// Reads a map, whatever its scalar.
pub(crate) fn from_file(file: ModelFile, path: &Path) -> Result<AnyModel, Failure> {
    let foreign = |what: String| {
        Failure::new(
            format_args!("{}: no whole topographic map: {what}", path.display()),
            "name a file that `countgrid map --model zip-gtm`, or another map, has written",
        )
    };
    let single = file.table("weights").is_some_and(|weights| matches!(weights.data, TableData::F32(_)));
    let model = if single { read(file).map(AnyModel::F32) } else { read(file).map(AnyModel::F64) };
    model.map_err(foreign)
}

fn read<T: Stored>(mut file: ModelFile) -> Result<Model<T>, String> {
    let about = About::from_file(&file)?;
    let own = json_of(&file, "map")?;
    let emission_model = own.get("law").and_then(Value::as_str).and_then(EmissionModel::from_name);
    let emission_model = emission_model.ok_or("its text `map` names no law of counts")?;
    let general = own.get("general").and_then(Value::as_bool).unwrap_or(false);
    let mut take = |name: &str| {
        let place = file.tables.iter().position(|table| table.name == name);
        let table = place.map(|place| T::take(file.tables.swap_remove(place).data));
        table.ok_or_else(|| format!("it has no table `{name}`"))
    };
    let (points, basis) = (take("points")?, take("basis")?);
    let (count, centres) = (points.len() / 2, take("centres")?);
    let columns = basis.len().checked_div(count).unwrap_or(0);
    let latent = Latent::from_json(&own, points, centres).ok_or("its text `map` is no latent space")?;
    let refused = |error: countgrid_gtm::GtmError| error.to_string();
    if latent.functions().map_err(refused)?.columns() != columns {
        return Err("its tables `centres` and `basis` do not go together".to_owned());
    }
    let shape = Shape::new(emission_model, count, 2, columns, about.vocabulary.len())
        .map_err(refused)?
        .on(latent.space());
    let shape = if general { shape.general() } else { shape };
    let mut map = Gtm::allocate(shape, &latent.points, &basis, Priors::default()).map_err(refused)?;
    for name in ["weight_precision", "inflation_prior", "mixing", "precision", "weights", "inflation"] {
        if map.table(name).is_some_and(|table| !table.is_empty()) {
            map.set(name, &take(name)?).map_err(refused)?;
        }
    }
    let reference = take("reference")?.first().copied().unwrap_or_default();
    if reference > T::zero() {
        map.set_reference(reference).map_err(refused)?;
    }
    Ok(Model { about, latent, map })
}

/// For `countgrid info`.
pub(crate) fn about<T: Real>(model: &Model<T>, precision: &str) -> Value {
    let (about, shape) = (&model.about, model.map.shape());
    json!({
        "title": about.title, "model": KIND, "law": shape.emission_model().name(), "precision": precision,
        "points": model.latent.text(), "basis": model.latent.basis_text(),
        "vocabulary": about.vocabulary.len(), "fit": about.fit,
    })
}
