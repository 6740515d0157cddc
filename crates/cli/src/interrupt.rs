//! Ctrl-C: once to end after the current iteration with the result so far, twice to exit at once.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use crate::failure::Failure;

/// Shared with the handler of the signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    fitting: AtomicBool, // there is something worth keeping
    requested: AtomicBool,
    writing: Mutex<()>, // held while files are replaced, so that none is left half done
}

impl Interrupt {
    /// Takes over the signal.
    pub(crate) fn install() -> Result<Self, Failure> {
        let interrupt = Self::default();
        let state = Arc::clone(&interrupt.0);
        ctrlc::set_handler(move || {
            if state.fitting.load(SeqCst) && !state.requested.swap(true, SeqCst) {
                eprintln!("\nending after this iteration; Ctrl-C again leaves at once, without a result");
            } else {
                let _until_written = state.writing.lock();
                std::process::exit(130);
            }
        })
        .map_err(|error| Failure::new(format_args!("no signal handler: {error}"), "try again"))?;
        Ok(interrupt)
    }

    /// From here on there is a result to keep.
    pub(crate) fn begin(&self) {
        self.0.fitting.store(true, SeqCst);
    }

    /// Whether to end.
    pub(crate) fn requested(&self) -> bool {
        self.0.requested.load(SeqCst)
    }

    /// Keeps the process alive until files are whole.
    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        self.0.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
