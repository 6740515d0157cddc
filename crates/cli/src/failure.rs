//! What ends a run early: one message that says what is wrong, where, and what to do about it.

use std::{fmt, io};

use countgrid_grid::GridError;

/// Why a command gave up.
#[derive(Debug)]
pub(crate) enum Failure {
    /// For people to read; the last line is the remedy.
    Message(String),
    /// Standard output was closed by its reader, as `head` does.
    Closed,
}

impl Failure {
    /// What is wrong, and the remedy.
    pub(crate) fn new(problem: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Self::Message(format!("{problem}\nremedy: {remedy}"))
    }

    /// The same once more.
    pub(crate) fn duplicate(&self) -> Self {
        match self {
            Self::Message(message) => Self::Message(message.clone()),
            Self::Closed => Self::Closed,
        }
    }

    /// Standard output does not take what it is given.
    pub(crate) fn output(error: io::Error) -> Self {
        // The writer of tables wraps what its output says.
        let wrapped = error.get_ref().and_then(|error| error.downcast_ref::<csv::Error>());
        let kind = match wrapped.map(csv::Error::kind) {
            Some(csv::ErrorKind::Io(error)) => error.kind(),
            _ => error.kind(),
        };
        match kind {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => {
                Self::new(format_args!("standard output: {error}"), "make room, or name a file with --output")
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(message) => f.write_str(message),
            Self::Closed => f.write_str("standard output was closed"),
        }
    }
}

// These say where and what to do by themselves.
macro_rules! as_it_is {
    ($($error:ty)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Message(error.to_string())
            }
        }
    )*};
}
as_it_is!(countgrid_io::BlockError countgrid_io::ModelError countgrid_io::ReadError countgrid_io::WriteError);

impl From<GridError> for Failure {
    fn from(error: GridError) -> Self {
        let remedy = match error {
            GridError::TooLarge { .. } => "take a smaller --grid or fewer words (--max-words)",
            GridError::Shape(_) => "take another --grid or --window",
            GridError::Pseudocount => "take a number from 0 to some hundreds, such as --pseudocount 0.001",
            GridError::NoPasses => "take --inner-passes of at least 1",
            GridError::Overflow { .. } => "scale the counts down, or take --precision f64",
            _ => "fit the model again; if that does not help, this is a bug worth a report",
        };
        Self::new(error, remedy)
    }
}
