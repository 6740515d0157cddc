//! A request to end work that is under way.

#[cfg(not(target_has_atomic = "ptr"))]
use alloc::rc::Rc as Shared; // of a machine with one core
#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc as Shared;
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// A flag by which work is asked to end early, from another thread or the handler of a signal. Clones are the same flag.
///
/// Work that takes long asks it before every block of data ([`BlockStatistics::set_stop`](crate::BlockStatistics::set_stop)), and
/// ends with an error that says so ([`BlockError::Stopped`](crate::BlockError)). An observer ends a fit between iterations; this
/// ends it within one.
///
/// ```
/// use countgrid_em::Stop;
/// let stop = Stop::new();
/// let handler = stop.clone();
/// assert!(!stop.is_requested());
/// handler.request();
/// assert!(stop.is_requested());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Shared<AtomicBool>);

impl Stop {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// Asks all work that has this flag to end.
    pub fn request(&self) {
        self.0.store(true, SeqCst);
    }
    /// Whether work is to end.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.load(SeqCst)
    }
}
