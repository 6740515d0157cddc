//! The texts and tables of a checkpoint.

use std::{collections::BTreeMap, fmt, str::FromStr};

use countgrid_em::{Progress as EmProgress, Table, Tables, TablesError, TablesExt, TablesMut};
use countgrid_io::{ModelFile, NamedTable};

use crate::{DataDigest, Stored};

/// What the text `kind` of a checkpoint is.
pub const CHECKPOINT_KIND: &str = "checkpoint of a training";

/// Why a training cannot be resumed from a file.
///
/// Example: [the crate's](crate).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum CheckpointError {
    /// The file is no checkpoint, but perhaps a model.
    NotACheckpoint,
    /// A checkpoint of another kind of model.
    Model { expected: &'static str, found: String },
    /// Written by another version of the library, whose results may differ in their last bits.
    Version { expected: &'static str, found: String },
    /// A checkpoint of a training with another value of an option.
    Option { name: &'static str, expected: String, found: String },
    /// A checkpoint of a training on other data.
    Data { name: &'static str, expected: String, found: String },
    /// A text that is missing or cannot be parsed.
    Text { name: String },
    /// A table that is missing, of another type, or of another shape.
    Table { name: String },
    /// Tables that do not match.
    Tables(TablesError),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotACheckpoint => f.write_str("not a checkpoint of a training"),
            Self::Model { expected, found } => {
                write!(f, "a checkpoint of a training of a {found}, needs to be of a {expected}")
            }
            Self::Version { expected, found } => {
                write!(f, "a checkpoint of version {found}, needs to be of version {expected}")
            }
            Self::Option { name, expected, found } => {
                write!(f, "a checkpoint of a training with {name} {found}, not {expected}")
            }
            Self::Data { name, expected, found } => {
                write!(
                    f,
                    "a checkpoint of a training on other data: their {name} was {found}, not {expected}"
                )
            }
            Self::Text { name } => write!(f, "the checkpoint has no text `{name}` that can be understood"),
            Self::Table { name } => {
                write!(f, "the checkpoint has no table `{name}` as this training needs it")
            }
            Self::Tables(error) => write!(f, "the checkpoint does not fit: {error}"),
        }
    }
}

impl std::error::Error for CheckpointError {}

/// The texts and tables of a checkpoint: what a training of any kind writes and reads.
#[derive(Debug, Default)]
pub(crate) struct Record {
    texts: BTreeMap<String, String>,
    tables: Vec<NamedTable>,
}

impl Record {
    /// The texts that identify a checkpoint.
    pub(crate) fn new(model: &str, options: &[(&'static str, String)], data: &DataDigest) -> Self {
        let mut record = Self::default();
        record.set("kind", CHECKPOINT_KIND);
        record.set("model", model);
        record.set("version", env!("CARGO_PKG_VERSION"));
        options.iter().for_each(|(name, text)| record.set(&format!("option.{name}"), text));
        data.texts().iter().for_each(|(name, text)| record.set(&format!("data.{name}"), text));
        record
    }

    /// A file, if the same texts identify it.
    ///
    /// # Errors
    /// The first text that differs.
    pub(crate) fn open(
        file: ModelFile,
        model: &'static str,
        options: &[(&'static str, String)],
        data: &DataDigest,
    ) -> Result<Self, CheckpointError> {
        let record = Self { texts: file.metadata, tables: file.tables };
        if record.text("kind").ok() != Some(CHECKPOINT_KIND) {
            return Err(CheckpointError::NotACheckpoint);
        }
        let found = record.text("model")?.to_owned();
        if found != model {
            return Err(CheckpointError::Model { expected: model, found });
        }
        let (expected, found) = (env!("CARGO_PKG_VERSION"), record.text("version")?.to_owned());
        if found != expected {
            return Err(CheckpointError::Version { expected, found });
        }
        for &(name, ref expected) in options {
            let (expected, found) = (expected.clone(), record.text(&format!("option.{name}"))?.to_owned());
            if found != expected {
                return Err(CheckpointError::Option { name, expected, found });
            }
        }
        for (name, expected) in data.texts() {
            let found = record.text(&format!("data.{name}"))?.to_owned();
            if found != expected {
                return Err(CheckpointError::Data { name, expected, found });
            }
        }
        Ok(record)
    }

    pub(crate) fn into_file(self) -> ModelFile {
        ModelFile { tables: self.tables, metadata: self.texts }
    }

    /// Sets a text. Numbers are written so that they are read back to the bit.
    pub(crate) fn set(&mut self, name: &str, text: impl ToString) {
        self.texts.insert(name.to_owned(), text.to_string());
    }

    pub(crate) fn set_number(&mut self, name: &str, x: f64) {
        self.set(name, format_args!("{x:?}"));
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, CheckpointError> {
        self.texts
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| CheckpointError::Text { name: name.to_owned() })
    }

    /// A text, parsed.
    pub(crate) fn get<X: FromStr>(&self, name: &str) -> Result<X, CheckpointError> {
        self.text(name)?.parse().map_err(|_| CheckpointError::Text { name: name.to_owned() })
    }

    /// Whether there is such a text.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    /// Adds all tables of a model or of statistics.
    pub(crate) fn insert_tables<M: Tables<Scalar: Stored>>(&mut self, prefix: &str, model: &M) {
        self.set(&format!("tables.{prefix}"), names(model));
        for (Table { name, rows, columns }, elements) in model.tables() {
            let name = format!("{prefix}.{name}");
            self.insert_table(name, vec![rows, columns], elements);
        }
    }

    /// Adds a table.
    pub(crate) fn insert_table<T: Stored>(&mut self, name: String, shape: Vec<usize>, elements: &[T]) {
        self.tables.push(NamedTable { name, shape, data: T::into_data(elements.to_vec()) });
    }

    /// Removes a table and returns its elements, of which there are this many if a number is given.
    pub(crate) fn take_table<T: Stored>(
        &mut self,
        name: &str,
        elements: Option<usize>,
    ) -> Result<Vec<T>, CheckpointError> {
        let refused = || CheckpointError::Table { name: name.to_owned() };
        let place = self.tables.iter().position(|table| table.name == name).ok_or_else(refused)?;
        let table = T::from_data(self.tables.swap_remove(place).data).ok_or_else(refused)?;
        if elements.is_some_and(|elements| elements != table.len()) { Err(refused()) } else { Ok(table) }
    }

    /// Removes all tables of a model and returns them one after the other in a buffer, by the names of a layout.
    pub(crate) fn take<T: Stored>(&mut self, prefix: &str) -> Result<(String, Vec<T>), CheckpointError> {
        let names = self.text(&format!("tables.{prefix}"))?.to_owned();
        let mut all = Vec::new();
        for name in names.split(' ') {
            all.extend(self.take_table::<T>(&format!("{prefix}.{name}"), None)?);
        }
        Ok((names, all))
    }

    /// Fills tables that have their shape already.
    pub(crate) fn fill<M: TablesMut<Scalar: Stored>>(
        &mut self,
        prefix: &str,
        model: &mut M,
    ) -> Result<(), CheckpointError> {
        let (names, elements) = self.take::<M::Scalar>(prefix)?;
        same_tables(prefix, model, &names)?;
        let (buffer, found) = (model.buffer_mut(), elements.len());
        if buffer.len() != found {
            return Err(CheckpointError::Tables(TablesError::Length { expected: buffer.len(), found }));
        }
        buffer.copy_from_slice(&elements);
        Ok(())
    }

    pub(crate) fn set_progress(&mut self, prefix: &str, at: &EmProgress) {
        self.set(&format!("{prefix}.iteration"), at.iteration);
        let numbers = [("beta", at.beta), ("free_energy", at.free_energy), ("objective", at.objective)];
        for (name, x) in numbers.into_iter().chain(at.change.map(|change| ("change", change))) {
            self.set_number(&format!("{prefix}.{name}"), x);
        }
    }

    pub(crate) fn progress(&self, prefix: &str) -> Result<Option<EmProgress>, CheckpointError> {
        let name = |name: &str| format!("{prefix}.{name}");
        if !self.has(&name("iteration")) {
            return Ok(None);
        }
        let change = if self.has(&name("change")) { Some(self.get(&name("change"))?) } else { None };
        let (iteration, beta) = (self.get(&name("iteration"))?, self.get(&name("beta"))?);
        let (free_energy, objective) = (self.get(&name("free_energy"))?, self.get(&name("objective"))?);
        Ok(Some(EmProgress::new(iteration, beta, free_energy, objective, change)))
    }
}

/// The names of tables, in order.
fn names<M: Tables>(model: &M) -> String {
    model.layout().iter().map(|table| table.name).collect::<Vec<_>>().join(" ")
}

/// Whether tables have these names.
pub(crate) fn same_tables<M: Tables>(prefix: &str, model: &M, found: &str) -> Result<(), CheckpointError> {
    if names(model) == found {
        Ok(())
    } else {
        Err(CheckpointError::Text { name: format!("tables.{prefix}") })
    }
}
