//! A harmonium as a file, and back.

use countgrid_em::Tables;
use countgrid_harmonium::Harmonium;
use countgrid_io::{ModelFile, NamedTable, TableData};

use super::{
    features::Standardizer,
    learn::{HarmoniumFamily, Trained},
};
use crate::{
    memory::zeros,
    model::{About, Stored},
};

/// What the metadata of a file calls it.
const KIND: &str = "harmonium";

/// A harmonium with what is needed to place documents.
pub(crate) struct Model<T> {
    pub(crate) about: About,
    pub(crate) family: HarmoniumFamily,
    pub(crate) harmonium: Trained<T>,
    /// Of the features of a dual wing.
    pub(crate) standard: Option<Standardizer>,
}

/// A harmonium as a file has it.
pub(crate) enum AnyModel {
    F32(Box<Model<f32>>),
    F64(Box<Model<f64>>),
}

/// Whether a file says that it is one.
pub(crate) fn is_harmonium(file: &ModelFile) -> bool {
    file.metadata.get("kind").is_some_and(|kind| kind == KIND)
}

impl<T: Stored> Model<T> {
    /// The tables of [`Harmonium`] under their names and, for a dual wing, `feature_means` and `feature_deviations`; texts
    /// `kind`, `version`, `family`, `title`, `vocabulary`, `features`, `text`, `numbers` and `fit`.
    pub(crate) fn to_file(&self) -> ModelFile {
        let mut file = ModelFile::default();
        let mut rest = self.harmonium.buffer();
        for table in self.harmonium.layout() {
            let (own, after) = rest.split_at((table.rows * table.columns).min(rest.len()));
            rest = after;
            let shape = if table.rows == 1 { vec![table.columns] } else { vec![table.rows, table.columns] };
            file.tables.push(NamedTable { name: table.name.to_owned(), shape, data: T::data(own.to_vec()) });
        }
        if let Some(standard) = &self.standard {
            for (name, values) in
                [("feature_means", &standard.means), ("feature_deviations", &standard.deviations)]
            {
                let shape = vec![values.len()];
                file.tables.push(NamedTable {
                    name: name.to_owned(),
                    shape,
                    data: TableData::F64(values.clone()),
                });
            }
            file.set_strings("features", &standard.names);
        }
        self.about.write(KIND, &mut file);
        file.metadata.insert("law".to_owned(), self.family.name().to_owned());
        file
    }

    fn from_file(file: &mut ModelFile) -> Result<Self, String> {
        let family = [HarmoniumFamily::Words, HarmoniumFamily::RateAdapting, HarmoniumFamily::DualWing];
        let name = file.metadata.get("law").ok_or("it has no text `law`")?;
        let family = family.into_iter().find(|family| family.name() == name);
        let family = family.ok_or_else(|| format!("its text `law` is `{name}`"))?;
        let about = About::from_file(file)?;
        let words = about.vocabulary.len();
        let names = file.strings("features").unwrap_or_default();
        let topics = match file.table("w").map(|w| w.shape.as_slice()) {
            Some(&[rows, topics]) if rows == words => topics,
            _ => return Err("its table `w` is not [words of the vocabulary, topics]".to_owned()),
        };
        let mut take = |name: &str| {
            let place = file.tables.iter().position(|table| table.name == name);
            place.map(|place| file.tables.swap_remove(place).data)
        };
        let standard = match family {
            HarmoniumFamily::DualWing => match (take("feature_means"), take("feature_deviations")) {
                (Some(TableData::F64(means)), Some(TableData::F64(deviations)))
                    if means.len() == names.len()
                        && deviations.len() == names.len()
                        && means.iter().all(|x| x.is_finite())
                        && deviations.iter().all(|x| *x > 0.0 && x.is_finite()) =>
                {
                    Some(Standardizer { names, means, deviations })
                }
                _ => {
                    return Err(
                        "its tables `feature_means` and `feature_deviations` are not those of `features`"
                            .into(),
                    );
                }
            },
            _ => None,
        };
        let features = standard.as_ref().map_or(0, |standard| standard.names.len());
        let shape = family.shape(words, topics, features).map_err(|error| error.to_string())?;
        let scratch = |error: crate::failure::Failure| error.to_string();
        let mut model = zeros::<T>(shape.model_len()).map_err(scratch)?;
        let mut rest = model.as_mut_slice();
        for (name, len) in tables(family, words, topics, features) {
            let own = take(name).map(T::take).filter(|own| own.len() == len);
            let own =
                own.ok_or_else(|| format!("its table `{name}` is not of {len} numbers like the others"))?;
            let (table, after) = rest.split_at_mut(len);
            table.copy_from_slice(&own);
            rest = after;
        }
        let mut precision = zeros(shape.precision_len()).map_err(scratch)?;
        let harmonium = Harmonium::new(shape, model, &mut precision).map_err(|error| error.to_string())?;
        Ok(Self { about, family, harmonium, standard })
    }
}

/// Names and lengths of the tables of a harmonium, in their order.
fn tables(
    family: HarmoniumFamily,
    words: usize,
    topics: usize,
    features: usize,
) -> Vec<(&'static str, usize)> {
    let couplings = words * topics;
    match family {
        HarmoniumFamily::Words => vec![("alpha", words), ("w", couplings), ("sizes", words)],
        HarmoniumFamily::RateAdapting => {
            vec![("alpha", words), ("w", couplings), ("sizes", topics), ("beta", topics)]
        }
        HarmoniumFamily::DualWing => vec![
            ("alpha", words),
            ("w", couplings),
            ("sizes", words),
            ("beta", features),
            ("variances", features),
            ("u", features * topics),
        ],
    }
}

/// A harmonium of a file, or what is wrong with it.
pub(crate) fn from_file(mut file: ModelFile) -> Result<AnyModel, String> {
    match file.table("w").map(|w| &w.data) {
        Some(TableData::F32(_)) => Ok(AnyModel::F32(Box::new(Model::from_file(&mut file)?))),
        Some(TableData::F64(_)) => Ok(AnyModel::F64(Box::new(Model::from_file(&mut file)?))),
        _ => Err("it has no table `w` of F32 or F64".to_owned()),
    }
}
