//! A training with its progress on the terminal, stopped by Ctrl-C, and saved to checkpoints so that a run that was killed
//! can be resumed.

use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::{Duration, Instant},
};

use countgrid_estimators::{EstimatorError, Progress, Train, format_sides};
use countgrid_io::{ModelFile, load, save};

use crate::{failure::Failure, files::make_folder, interrupt::Interrupt, report::Report};

/// The file of checkpoints, and how often they are written.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    path: PathBuf,
    every: Duration,
    resume: bool,
    kept: AtomicBool, // that of a fit which was interrupted
}

impl Checkpoints {
    /// Beside a model: `model.safetensors.checkpoint`.
    pub(crate) fn beside(model: &Path, args: &crate::args::CheckpointArgs) -> Self {
        let every = Duration::try_from_secs_f64(args.checkpoint).unwrap_or(Duration::MAX);
        Self { path: Self::path_beside(model), every, resume: args.resume, kept: AtomicBool::new(false) }
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

    /// What resuming from the file was refused for.
    pub(crate) fn refused(&self, error: impl Display) -> Failure {
        Failure::new(
            format_args!("{}: {error}", self.path.display()),
            "resume with the same data and options, or leave --resume out to begin anew",
        )
    }

    /// Replaces the checkpoint. The folder of a map is made by the first.
    fn write(&self, file: &ModelFile, interrupt: &Interrupt) -> Result<(), Failure> {
        let _whole = interrupt.writing();
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make_folder(folder)?;
        }
        Ok(save(&self.path, file)?)
    }

    /// Whether the fit was interrupted, so that it may go on from the checkpoint.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(SeqCst)
    }

    /// Replaces the checkpoint by that of a fit which was interrupted, and which another run may finish.
    fn keep(&self, file: &ModelFile, interrupt: &Interrupt) -> Result<(), Failure> {
        self.kept.store(true, SeqCst);
        self.write(file, interrupt)
    }

    /// Ends a run that has written its files: removes the checkpoint, unless the fit was interrupted.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        if self.kept.load(SeqCst) {
            return Err(Failure::Interrupted);
        }
        let _not_there = fs::remove_file(&self.path);
        Ok(())
    }
}

/// Before the first iteration is evaluated.
const BEGINNING: &str = "interrupted before an iteration was finished; nothing is written";
/// The same of a fit that goes on from a checkpoint.
const RESUMED: &str = "interrupted; the checkpoint is as it was";
/// While there is a model worth keeping.
const FITTING: &str = "ending at the next block of documents, with the model so far; \
                       Ctrl-C again leaves at once, without a result";
/// While a model is drawn that was not written yet.
const DRAWING: &str = "interrupted; nothing is written";
/// The same where there is a checkpoint of it.
const KEPT: &str = "interrupted; no file but the checkpoint is written, from which --resume goes on";

/// Steps to the end, or to the next block of documents after an interrupt: then the stages that are left only refine, and a
/// checkpoint is kept, from which the fit can go on as if nothing had happened. `data` is where the documents are from.
pub(crate) fn run<M: Train>(
    mut training: M,
    data: Option<&Path>,
    checkpoints: &Checkpoints,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<M::Fitted, Failure> {
    // What a checkpoint holds, or what the counts are, may fail only later.
    let failed = |error: EstimatorError| match (checkpoints.resume, data) {
        (true, _) => checkpoints.refused(error),
        (false, Some(data)) => Failure::from(error).of_file(data),
        (false, None) => error.into(),
    };
    let (mut shown, mut last) = (None, None);
    let began = Instant::now();
    let mut written = began;
    training.set_stop(interrupt.stop());
    interrupt.leaves(if checkpoints.resume { RESUMED } else { BEGINNING });
    while !training.is_done() {
        match training.step() {
            Ok(at) if !checkpoints.kept.load(SeqCst) => {
                interrupt.stops(FITTING);
                shown.get_or_insert_with(|| report.progress(at.planned)).show(&at);
                last = Some(at);
            }
            Ok(_) => {}
            Err(EstimatorError::Stopped) => {
                shown = None;
                let written = checkpoints.keep(&training.checkpoint()?, interrupt);
                interrupt.leaves(if written.is_ok() { KEPT } else { DRAWING });
                report_stop(last.as_ref(), written, checkpoints, report);
                training.stop();
            }
            Err(error) => return Err(failed(error)),
        }
        if written.elapsed() >= checkpoints.every && !training.is_done() && !checkpoints.kept.load(SeqCst) {
            checkpoints.write(&training.checkpoint()?, interrupt)?;
            written = Instant::now();
        }
    }
    drop(shown);
    if !checkpoints.kept.load(SeqCst) {
        // What follows may take long, too, and is lost if it is interrupted: not more than an interval of checkpoints.
        let long = began.elapsed() >= checkpoints.every;
        if long {
            checkpoints.write(&training.checkpoint()?, interrupt)?;
        }
        interrupt.leaves(if long { KEPT } else { DRAWING });
    }
    training.finish().map_err(failed)
}

/// How far a fit has come that was interrupted.
fn report_stop(
    last: Option<&Progress>,
    written: Result<(), Failure>,
    checkpoints: &Checkpoints,
    report: &Report,
) {
    if let Some(at) = last {
        let level =
            if at.stages > 1 { format!(", level {} of {}", at.stage + 1, at.stages) } else { String::new() };
        let restart = if at.restarts > 1 {
            format!("start {} of {}, ", at.restart + 1, at.restarts)
        } else {
            String::new()
        };
        report.note(format_args!(
            "stopped after {} whole iterations ({restart}{}{level})",
            at.iteration,
            format_sides(&at.extents)
        ));
    }
    match written {
        Ok(()) => report
            .note(format_args!("the same command with --resume goes on from {}", checkpoints.path.display())),
        Err(failure) => report.note(format_args!("no checkpoint was written: {failure}")),
    }
}
