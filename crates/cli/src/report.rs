//! The output of a run: lines for people, JSON for programs, or nothing.

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
    path::Path,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use countgrid_corpus::memory::{format_bytes, peak};
use countgrid_estimators::{Phase, format_sides};

use crate::terminal::escaped;

/// Where and how a run reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Lines on standard output, progress on standard error.
    Text,
    /// One JSON object per line on standard output.
    Json,
    /// Nothing but errors.
    Quiet,
}

/// Reports events. A closed standard output does not stop a fit.
#[derive(Debug)]
pub(crate) struct Report {
    output: Output,
    started: Instant,
    out: io::Stdout,
}

impl Report {
    pub(crate) fn new(quiet: bool, json: bool) -> Self {
        let output = match (json, quiet) {
            (true, _) => Output::Json,
            (false, true) => Output::Quiet,
            (false, false) => Output::Text,
        };
        Self { output, started: Instant::now(), out: io::stdout() }
    }

    /// Since the run began.
    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// One event: its name and a text for people, the fields of an object for programs.
    pub(crate) fn event(&self, name: &str, text: impl Display, fields: Value) {
        match self.output {
            Output::Text => {
                let text = text.to_string().replace('\n', "\n          ");
                self.line(&escaped(format_args!("{name:<9} {text}")));
            }
            Output::Json => self.object(name, fields),
            Output::Quiet => {}
        }
    }

    /// A warning.
    pub(crate) fn note(&self, text: impl Display) {
        match self.output {
            Output::Text => self.line(&escaped(format_args!("note      {text}"))),
            Output::Json => self.object("note", json!({ "text": text.to_string() })),
            Output::Quiet => {}
        }
    }

    /// The files written; then the last line for programs, with these fields and what all runs have, since people have
    /// read it all.
    pub(crate) fn files_written(&self, files: &[&Path], mut fields: Value) {
        for file in files {
            let bytes = file.metadata().map_or(0, |about| about.len());
            self.event(
                "wrote",
                format_args!("{} ({})", file.display(), format_bytes(bytes.into())),
                json!({ "file": file.to_string_lossy(), "bytes": bytes }),
            );
        }
        if self.output == Output::Json {
            fields["seconds"] = self.seconds().into();
            fields["peak_memory"] = peak().and_then(|bytes| u64::try_from(bytes).ok()).into();
            fields["files"] = files.iter().map(|file| file.to_string_lossy()).collect();
            self.object("summary", fields);
        }
    }

    /// Begins to show the progress of a fit.
    pub(crate) fn progress(&self, iterations: usize) -> Progress<'_> {
        let bar = (self.output == Output::Text && io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("fit       {bar:16} {pos}/{len}  {msg}");
            ProgressBar::new(iterations as u64)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress { report: self, bar, started: Instant::now() }
    }

    fn object(&self, name: &str, mut fields: Value) {
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("event".to_owned(), name.into());
        }
        self.line(&fields.to_string());
    }

    fn line(&self, line: &str) {
        let mut out = self.out.lock();
        let _closed = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

/// A bar where standard error is a terminal, else a line every ten iterations.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    report: &'a Report,
    bar: Option<ProgressBar>,
    started: Instant,
}

impl Progress<'_> {
    /// Shows where the fit is; on a bar within 80 columns.
    pub(crate) fn show(&self, at: &countgrid_estimators::Progress) {
        let left = self.left(at.share_done);
        let (restart, restarts, iteration) = (at.restart + 1, at.restarts, at.iteration);
        let sides = format_sides(&at.extents);
        let (model, unit) = match at.phase {
            Phase::ContrastiveDivergence => (format!("{sides} topics"), "epoch"),
            Phase::Langevin => (format!("{sides} topics"), "Langevin step"),
            _ => (format!("grid {sides}"), "iteration"),
        };
        let restart_of = if restarts > 1 { format!("restart {restart}/{restarts}, ") } else { String::new() };
        // A harmonium has no bound.
        let bound =
            at.bound_per_token.map(|bound| format!(", bound per token {bound:.4}")).unwrap_or_default();
        let left_text = left.map(|left| format!(", {} left", duration(left))).unwrap_or_default();
        match (&self.bar, self.report.output) {
            (Some(bar), _) => {
                bar.set_position(at.done as u64);
                bar.set_message(format!("{restart_of}{model}{bound}{left_text}"));
            }
            (None, Output::Text) if iteration % 10 == 0 || at.last => {
                eprintln!("fit       {restart_of}{model}, {unit} {iteration}{bound}{left_text}");
            }
            (None, Output::Json) => self.report.object(
                "iteration",
                json!({
                    "restart": restart, "grid": sides, "iteration": iteration,
                    "bound_per_token": at.bound_per_token, "seconds": self.report.seconds(),
                    "seconds_left": left.map(|left| left.as_secs_f64()),
                }),
            ),
            _ => {}
        }
    }

    /// Time left if the rest of the work takes as long as so far.
    fn left(&self, share: f64) -> Option<Duration> {
        let left = self.started.elapsed().as_secs_f64() * (1.0 - share) / share;
        Duration::try_from_secs_f64(left).ok().filter(|_| share > 0.0)
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `42 s`, `3 min 5 s`, `2 h 10 min`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// How a model was fitted, a line for each thing that there is to say.
pub(crate) fn fit_lines(fit: &Value) -> String {
    let things = fit.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    things.map(|(name, value)| format!("{:<16} {}\n", name.replace('_', " "), plain(value))).collect()
}

/// A text without its quotes, another value as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people() {
        for (seconds, text) in [(0, "0 s"), (59, "59 s"), (185, "3 min 5 s"), (7_800, "2 h 10 min")] {
            assert_eq!(duration(Duration::from_secs(seconds)), text);
        }
    }
}
