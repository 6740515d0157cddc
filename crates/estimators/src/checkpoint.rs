//! A training between two steps as a file, and back.
//!
//! Tables: `learner.NAME` and `statistics.NAME` of the run under way and `best.NAME` of the best before, each as the
//! contract [`countgrid_em::Tables`] lays it out, `[rows, columns]`. Texts: `kind`, `model` and `version`; `option.NAME` and `data.NAME`,
//! by which a checkpoint is known; and `state.NAME`, where the training is. Numbers are written in full, as text.

use std::{borrow::Borrow, collections::BTreeMap, fmt, str::FromStr};

use countgrid_counts::{Bags, Csr};
use countgrid_em::{
    Best, End, Iterations, Outcome, Progress as EmProgress, Restart, Restarts, StepwiseFit, StepwiseState,
    Table, Tables, TablesError, TablesExt, TablesMut, restart_seed,
};
use countgrid_io::{ModelFile, NamedTable};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    Estimator, EstimatorError, InitialPhase, MiniBatchPass, Phase, Progress, Stored, Training,
    training::{Fit, Fitting, Pass, Run, State},
};

/// What the text `kind` of a checkpoint is.
pub const CHECKPOINT_KIND: &str = "checkpoint of a training";

/// Why a training does not go on from a file.
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
    /// A text that is not there, or that is not understood.
    Text { name: String },
    /// A table that is not there, of another type, or of another shape.
    Table { name: String },
    /// Tables that do not go together.
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

/// What a checkpoint knows data by: how many there are, over how many features, and a digest of every entry. Not
/// cryptographic: it tells one data set from another, not a forgery.
///
/// ```
/// use countgrid_counts::Csr;
/// use countgrid_estimators::DataDigest;
/// let digest = |counts: &[f32]| {
///     let mut digest = DataDigest::new(4);
///     digest.add_bags(&Csr::new(4, &[0, 2, 3], &[0, 3, 1], counts).unwrap());
///     digest
/// };
/// assert_eq!(digest(&[1.0, 2.0, 5.0]), digest(&[1.0, 2.0, 5.0]));
/// assert_ne!(digest(&[1.0, 2.0, 5.0]), digest(&[1.0, 2.0, 6.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataDigest {
    data: u64,
    features: u64,
    hash: u64,
}

impl DataDigest {
    /// That of no data yet, over so many features.
    pub fn new(features: usize) -> Self {
        Self { data: 0, features: features as u64, hash: 0 }
    }

    /// Adds one datum by the words that describe it.
    pub fn add(&mut self, words: impl IntoIterator<Item = u64>) {
        self.data += 1;
        self.mix(self.data);
        words.into_iter().for_each(|word| self.mix(word));
    }

    /// Adds every bag: features and counts.
    pub fn add_bags<C: Stored>(&mut self, bags: &Csr<'_, C>) {
        for bag in 0..bags.len() {
            let entries = bags.entries(bag);
            self.add(entries.flat_map(|(feature, count)| {
                [feature as u64, countgrid_math::Real::to_f64(count).to_bits()]
            }));
        }
    }

    /// SplitMix64's finaliser over all words so far.
    fn mix(&mut self, word: u64) {
        let z = (self.hash ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        self.hash = z ^ (z >> 31);
    }

    fn texts(&self) -> [(&'static str, String); 3] {
        let Self { data, features, hash } = self;
        [("number", data.to_string()), ("features", features.to_string()), ("digest", format!("{hash:016x}"))]
    }
}

/// The texts and tables of a checkpoint: what a training of any kind writes and reads.
#[derive(Debug, Default)]
pub(crate) struct Record {
    texts: BTreeMap<String, String>,
    tables: Vec<NamedTable>,
}

impl Record {
    /// The texts that a checkpoint is known by.
    pub(crate) fn new(model: &str, options: &[(&'static str, String)], data: &DataDigest) -> Self {
        let mut record = Self::default();
        record.set("kind", CHECKPOINT_KIND);
        record.set("model", model);
        record.set("version", env!("CARGO_PKG_VERSION"));
        options.iter().for_each(|(name, text)| record.set(&format!("option.{name}"), text));
        data.texts().iter().for_each(|(name, text)| record.set(&format!("data.{name}"), text));
        record
    }

    /// A file that is known by the same texts.
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

    /// Puts a text there. Numbers are written so that they are read back to the bit.
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

    /// A text as a number, or whatever it is.
    pub(crate) fn get<X: FromStr>(&self, name: &str) -> Result<X, CheckpointError> {
        self.text(name)?.parse().map_err(|_| CheckpointError::Text { name: name.to_owned() })
    }

    /// Whether there is such a text.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    /// Puts all tables of a model or of statistics there.
    pub(crate) fn put<M: Tables<Scalar: Stored>>(&mut self, prefix: &str, model: &M) {
        self.set(&format!("tables.{prefix}"), names(model));
        for (Table { name, rows, columns }, elements) in model.tables() {
            let name = format!("{prefix}.{name}");
            self.put_table(name, vec![rows, columns], elements);
        }
    }

    /// Puts one table there.
    pub(crate) fn put_table<T: Stored>(&mut self, name: String, shape: Vec<usize>, elements: &[T]) {
        self.tables.push(NamedTable { name, shape, data: T::into_data(elements.to_vec()) });
    }

    /// Takes a table of so many elements out; of any number if it is not given.
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

    /// Takes all tables of a model out, one after the other in a buffer, with the names that they were laid out by.
    pub(crate) fn take<T: Stored>(&mut self, prefix: &str) -> Result<(String, Vec<T>), CheckpointError> {
        let names = self.text(&format!("tables.{prefix}"))?.to_owned();
        let mut all = Vec::new();
        for name in names.split(' ') {
            all.extend(self.take_table::<T>(&format!("{prefix}.{name}"), None)?);
        }
        Ok((names, all))
    }

    /// Fills tables that are there already.
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

    fn put_progress(&mut self, prefix: &str, at: &EmProgress) {
        self.set(&format!("{prefix}.iteration"), at.iteration);
        let numbers = [("beta", at.beta), ("free_energy", at.free_energy), ("objective", at.objective)];
        for (name, x) in numbers.into_iter().chain(at.change.map(|change| ("change", change))) {
            self.set_number(&format!("{prefix}.{name}"), x);
        }
    }

    fn progress(&self, prefix: &str) -> Result<Option<EmProgress>, CheckpointError> {
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
fn same_tables<M: Tables>(prefix: &str, model: &M, found: &str) -> Result<(), CheckpointError> {
    if names(model) == found {
        Ok(())
    } else {
        Err(CheckpointError::Text { name: format!("tables.{prefix}") })
    }
}

/// The texts for the ends of a run and for phases.
const ENDS: [(End, &str); 3] =
    [(End::Converged, "converged"), (End::Limit, "limit"), (End::Stopped, "stopped")];
const PHASES: [(Phase, &str); 5] = [
    (Phase::Plain, "plain"),
    (Phase::Annealed, "annealed"),
    (Phase::Stepwise, "stepwise"),
    (Phase::ContrastiveDivergence, "contrastive divergence"),
    (Phase::Langevin, "langevin"),
];

fn text_of<X: Copy + PartialEq>(table: &[(X, &'static str)], x: X) -> &'static str {
    table.iter().find(|entry| entry.0 == x).map_or("", |entry| entry.1)
}

fn from_text<X: Copy>(
    table: &[(X, &'static str)],
    record: &Record,
    name: &str,
) -> Result<X, CheckpointError> {
    let text = record.text(name)?;
    let found = table.iter().find(|entry| entry.1 == text);
    found.map(|entry| entry.0).ok_or_else(|| CheckpointError::Text { name: name.to_owned() })
}

impl<E: Estimator, D: Borrow<E::Data>> Training<E, D> {
    fn known_by(&self) -> Result<DataDigest, EstimatorError> {
        if let Some(&digest) = self.digest.get() {
            return Ok(digest);
        }
        let digest = self.plan.digest(self.data.borrow())?;
        Ok(*self.digest.get_or_init(|| digest))
    }

    /// Goes on from a [checkpoint](Train::checkpoint), with the options and data that it was written with: every further
    /// step has the bits that it would have had.
    ///
    /// # Errors
    /// [`EstimatorError::Checkpoint`] says what differs, or what the file lacks; tables that are no parameters are refused
    /// as the model refuses them.
    pub fn resume(plan: E, data: D, file: ModelFile) -> Result<Self, EstimatorError> {
        let mut training = Self::new(plan, data)?;
        let digest = training.known_by()?;
        let mut record = Record::open(file, E::KIND, &training.plan.options(), &digest)?;
        let (seed, count, last_stage) = {
            let schedule = training.plan.schedule();
            (schedule.seed, schedule.restarts, schedule.stages.len().saturating_sub(1))
        };
        let best = match record.progress("state.best")? {
            None => None,
            Some(at) => {
                let index = record.get("state.best.restart")?;
                let end = from_text(&ENDS, &record, "state.best.end")?;
                training.best = Some(training.learner(&mut record, "best", last_stage)?.0);
                let restart = Restart { index, seed: restart_seed(seed, index) };
                Some(Best { restart, outcome: Outcome::new(&at, end) })
            }
        };
        let (begun, stopped) = (record.get("state.restarts")?, record.get("state.stopped")?);
        training.restarts = Restarts::resume(count, seed, begun, best, stopped)?;
        training.stopping = record.get("state.stopping")?;
        training.done = record.get("state.done")?;
        if record.has("state.run.stage") {
            training.run = Some(training.read_run(&mut record)?);
        }
        if record.has("state.last.phase") {
            training.last = Some(training.read_last(&record)?);
        }
        Ok(training)
    }

    /// A learner and empty statistics.
    fn learner(
        &self,
        record: &mut Record,
        prefix: &str,
        stage: usize,
    ) -> Result<(E::Learner, E::Statistics), EstimatorError> {
        let (names, parameters) = record.take::<E::Scalar>(prefix)?;
        let (learner, statistics) = self.plan.restore(self.data.borrow(), stage, &parameters)?;
        same_tables(prefix, self.plan.parameters(&learner), &names)?;
        Ok((learner, statistics))
    }

    fn read_run(&self, record: &mut Record) -> Result<Run<E>, EstimatorError> {
        let (index, stage) = (record.get("state.run.restart")?, record.get("state.run.stage")?);
        let restart = Restart { index, seed: restart_seed(self.plan.schedule().seed, index) };
        let mut rng = ChaCha8Rng::seed_from_u64(restart.seed);
        rng.set_word_pos(record.get("state.run.random_words")?);
        let refused = |name: &str| CheckpointError::Text { name: name.to_owned() };
        let stages = &self.plan.schedule().stages;
        let at = stages.get(stage).ok_or_else(|| refused("state.run.stage"))?;
        let state = match record.text("state.run.is")? {
            "begun" => State::Between(None),
            "between" => {
                let before = usize::checked_sub(stage, 1).ok_or_else(|| refused("state.run.stage"))?;
                State::Between(Some(Box::new(self.learner(record, "learner", before)?.0)))
            }
            is @ ("stepwise" | "iterations") => {
                let stepwise = is == "stepwise";
                let (learner, mut statistics) = self.learner(record, "learner", stage)?;
                record.fill("statistics", &mut statistics)?;
                let updates = record.get("state.run.updates")?;
                let phase = match (stepwise, &at.initial_phase) {
                    (false, _) => {
                        Fit::Iterations(Iterations::resume(at.em, record.progress("state.run.at")?))
                    }
                    (true, InitialPhase::Stepwise { plan, size, .. }) => {
                        let state = StepwiseState {
                            steps: updates,
                            pass: record.get("state.run.pass")?,
                            free_energy: record.get("state.run.free_energy")?,
                            share: record.get("state.run.share")?,
                            previous: record.progress("state.run.previous")?,
                        };
                        let pass = if record.has("state.run.pass_seed") {
                            let (seed, done) =
                                (record.get("state.run.pass_seed")?, record.get("state.run.pass_done")?);
                            let batches = E::Pass::begin(self.data.borrow(), *size, seed, done)?;
                            Some(Pass { seed, done, batches })
                        } else {
                            None
                        };
                        Fit::Stepwise { fit: StepwiseFit::resume(*plan, state), pass }
                    }
                    _ => return Err(refused("state.run.is").into()),
                };
                State::At(Box::new(Fitting { learner, statistics, updates, phase }))
            }
            _ => return Err(refused("state.run.is").into()),
        };
        Ok(Run { restart, rng, stage, state })
    }

    fn read_last(&self, record: &Record) -> Result<Progress, CheckpointError> {
        let schedule = self.plan.schedule();
        let (restart, stage): (usize, usize) =
            (record.get("state.last.restart")?, record.get("state.last.stage")?);
        let iteration: usize = record.get("state.last.iteration")?;
        let free_energy: f64 = record.get("state.last.free_energy")?;
        let extents = schedule.stages.get(stage).map(|stage| stage.extents.clone());
        Ok(Progress {
            restart,
            restarts: schedule.restarts,
            stage,
            stages: schedule.stages.len(),
            extents: extents.unwrap_or_default(),
            phase: from_text(&PHASES, record, "state.last.phase")?,
            iteration,
            beta: record.get("state.last.beta")?,
            done: schedule.updates_before(restart, stage).saturating_add(iteration),
            planned: schedule.updates(),
            free_energy: Some(free_energy),
            bound_per_token: Some(-free_energy / self.plan.tokens()),
            share_done: schedule.share_done(restart, stage, iteration),
            last: record.get("state.last.last")?,
        })
    }
}

/// The checkpoint of a training.
pub(crate) fn write<E: Estimator, D: Borrow<E::Data>>(
    training: &Training<E, D>,
) -> Result<ModelFile, EstimatorError> {
    if training.failed {
        return Err(EstimatorError::Failed);
    }
    let plan = &training.plan;
    let mut record = Record::new(E::KIND, &plan.options(), &training.known_by()?);
    record.set("state.restarts", training.restarts.begun());
    record.set("state.stopped", training.restarts.is_stopped());
    record.set("state.stopping", training.stopping);
    record.set("state.done", training.done);
    if let (Some(Best { restart, outcome, .. }), Some(learner)) = (training.restarts.best(), &training.best) {
        let Outcome { iterations, beta, free_energy, objective, end, .. } = outcome;
        record.put_progress("state.best", &EmProgress::new(iterations, beta, free_energy, objective, None));
        record.set("state.best.restart", restart.index);
        record.set("state.best.end", text_of(&ENDS, end));
        record.put("best", plan.parameters(learner));
    }
    if let Some(last) = &training.last {
        record.set("state.last.restart", last.restart);
        record.set("state.last.stage", last.stage);
        record.set("state.last.iteration", last.iteration);
        record.set("state.last.phase", text_of(&PHASES, last.phase));
        record.set_number("state.last.beta", last.beta);
        record.set_number("state.last.free_energy", last.free_energy.unwrap_or(0.0));
        record.set("state.last.last", last.last);
    }
    let Some(run) = &training.run else { return Ok(record.into_file()) };
    record.set("state.run.restart", run.restart.index);
    record.set("state.run.stage", run.stage);
    record.set("state.run.random_words", run.rng.get_word_pos());
    let is = match &run.state {
        State::Between(None) => "begun",
        State::Between(Some(learner)) => {
            record.put("learner", plan.parameters(learner));
            "between"
        }
        State::At(fitting) => {
            record.put("learner", plan.parameters(&fitting.learner));
            record.put("statistics", &fitting.statistics);
            record.set("state.run.updates", fitting.updates);
            match &fitting.phase {
                Fit::Iterations(iterations) => {
                    if let Some(at) = iterations.last() {
                        record.put_progress("state.run.at", &at);
                    }
                    "iterations"
                }
                Fit::Stepwise { fit, pass } => {
                    let StepwiseState { pass: number, free_energy, share, previous, .. } = fit.state();
                    record.set("state.run.pass", number);
                    record.set_number("state.run.free_energy", *free_energy);
                    record.set_number("state.run.share", *share);
                    if let Some(previous) = previous {
                        record.put_progress("state.run.previous", previous);
                    }
                    if let Some(pass) = pass {
                        record.set("state.run.pass_seed", pass.seed);
                        record.set("state.run.pass_done", pass.done);
                    }
                    "stepwise"
                }
            }
        }
    };
    record.set("state.run.is", is);
    Ok(record.into_file())
}
