//! A training with its progress on the terminal, stopped by Ctrl-C, and saved to checkpoints so that a run that was killed
//! can be resumed.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use countgrid_estimators::{Progress, Train};
use countgrid_io::{ModelFile, load, save};

use crate::{failure::Failure, interrupt::Interrupt, report::Report};

/// The file of checkpoints, and how often they are written.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoints {
    path: PathBuf,
    every: Duration,
    resume: bool,
}

impl Checkpoints {
    /// Beside a model: `model.safetensors.checkpoint`.
    pub(crate) fn beside(model: &Path, args: &crate::args::CheckpointArgs) -> Self {
        let every = Duration::try_from_secs_f64(args.checkpoint).unwrap_or(Duration::MAX);
        Self { path: Self::path_beside(model), every, resume: args.resume }
    }

    /// Where the checkpoint of a training lies that ends in this model.
    pub(crate) fn path_beside(model: &Path) -> PathBuf {
        let mut name = model.as_os_str().to_owned();
        name.push(".checkpoint");
        name.into()
    }

    /// The file to go on from, if that was asked for.
    pub(crate) fn load(&self) -> Result<Option<ModelFile>, Failure> {
        if !self.resume {
            return Ok(None);
        }
        if !self.path.exists() {
            return Err(Failure::new(
                format_args!("{}: there is no checkpoint to resume", self.path.display()),
                "leave --resume out to begin anew, or name the same --output as the run that was cut off",
            ));
        }
        Ok(Some(load(&self.path)?))
    }

    /// Replaces the checkpoint. The folder of a map is made by the first.
    fn write(&self, file: &ModelFile) -> Result<(), Failure> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| {
                Failure::new(format_args!("{}: {error}", folder.display()), "name another folder (--output)")
            })?;
        }
        Ok(save(&self.path, file)?)
    }

    /// Removes the checkpoint of a run that is over.
    pub(crate) fn remove(&self) {
        let _not_there = fs::remove_file(&self.path);
    }
}

/// Steps to the end; after an interrupt the stages that are left only refine.
pub(crate) fn run<M: Train>(
    mut training: M,
    checkpoints: &Checkpoints,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<M::Fitted, Failure> {
    let mut shown = None;
    let mut written = Instant::now();
    interrupt.begin();
    while !training.is_done() {
        let at: Progress = training.step()?;
        shown.get_or_insert_with(|| report.progress(at.planned)).show(&at);
        if interrupt.requested() {
            training.stop();
        } else if written.elapsed() >= checkpoints.every && !training.is_done() {
            checkpoints.write(&training.checkpoint()?)?;
            written = Instant::now();
        }
    }
    drop(shown);
    Ok(training.finish()?)
}
