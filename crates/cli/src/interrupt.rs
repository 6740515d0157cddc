//! Ctrl-C: every phase of a run says at once what it does about it. Where there is a result worth keeping, the first sets the
//! flag that the libraries ask before every block of documents, and a second one leaves; elsewhere the first one does. Requests to
//! end and a terminal that is closed (SIGTERM, SIGHUP) are the same, and a signal that was ignored when the program began, as
//! `nohup` ignores SIGHUP, stays ignored.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use countgrid_em::Stop;

use crate::failure::Failure;

/// The exit code of a run that was ended by a signal, whether or not it has written what there was: 128 + SIGINT, as of
/// shells.
pub(crate) const EXIT_CODE: u8 = 130;

/// Shared with the handler of the signal.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<State>);

#[derive(Debug)]
struct State {
    stop: Stop,
    phase: Mutex<Phase>,
    writing: Mutex<()>, // held while files are replaced, so that none is left half done
}

/// What a signal does, and says.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing is lost, or nothing can be kept: the process ends.
    Leave(&'static str),
    /// There is something worth keeping: the flag is set that the libraries ask, and a second signal leaves.
    Stop(&'static str),
}

/// What there is to say where a run has written nothing yet.
const NOTHING: &str = "interrupted; nothing is written";

impl State {
    /// What a signal does.
    fn signal(&self) {
        let phase = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        match phase {
            Phase::Stop(message) if !self.stop.is_requested() => {
                eprintln!("\n{message}");
                self.stop.request();
            }
            Phase::Stop(_) => self.leave(NOTHING),
            Phase::Leave(message) => self.leave(message),
        }
    }

    fn leave(&self, message: &str) {
        let _until_written = match self.writing.try_lock() {
            Err(TryLockError::WouldBlock) => {
                eprintln!("\ninterrupted; the files that are being written are finished first");
                self.writing.lock().unwrap_or_else(PoisonError::into_inner)
            }
            free => {
                eprintln!("\n{message}");
                free.unwrap_or_else(|_| self.writing.lock().unwrap_or_else(PoisonError::into_inner))
            }
        };
        std::process::exit(EXIT_CODE.into());
    }
}

impl Interrupt {
    /// Takes over the signals that are not ignored. Until another phase begins they end the process.
    pub(crate) fn install() -> Result<Self, Failure> {
        let (stop, phase, writing) = (Stop::new(), Mutex::new(Phase::Leave(NOTHING)), Mutex::new(()));
        let interrupt = Self(Arc::new(State { stop, phase, writing }));
        listen(Arc::clone(&interrupt.0))
            .map_err(|error| Failure::new(format_args!("no signal handler: {error}"), "try again"))?;
        Ok(interrupt)
    }

    fn set(&self, phase: Phase) {
        *self.0.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// From here on a signal ends the work that asks [`Interrupt::stop`], and says this.
    pub(crate) fn stops(&self, message: &'static str) {
        self.set(Phase::Stop(message));
    }

    /// From here on a signal ends the process, and says this.
    pub(crate) fn leaves(&self, message: &'static str) {
        self.set(Phase::Leave(message));
    }

    /// The flag that a signal sets.
    pub(crate) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Keeps the process alive until files are whole.
    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        self.0.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for the results of a run, after which there is no more to say than that it is interrupted.
    pub(crate) fn writing_results(&self) -> MutexGuard<'_, ()> {
        let whole = self.writing();
        self.leaves("interrupted");
        whole
    }
}

/// Calls [`State::signal`] for each signal, on a thread of its own.
#[cfg(unix)]
fn listen(state: Arc<State>) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    let ignored = ignored();
    let heard = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored & 1 << (signal - 1) == 0);
    let mut signals = signal_hook::iterator::Signals::new(heard)?;
    // A limit on the size of files then is an error of what writes, as a full disk is, and no end of the process.
    let _read_by_nobody = signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        signals.forever().for_each(|_| state.signal());
    })?;
    Ok(())
}

/// The signals that this process was started to ignore, bit s - 1 of signal s. Where the system does not list them, none.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(not(unix))]
fn listen(state: Arc<State>) -> std::io::Result<()> {
    ctrlc::set_handler(move || state.signal()).map_err(std::io::Error::other)
}
