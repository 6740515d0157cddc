//! How many threads compute.

use rayon::ThreadPoolBuilder;

use crate::failure::Failure;

/// Runs `work` on this many threads, by default one for each core. Models split what they compute so that the number
/// changes no bit of it.
pub(crate) fn run<R: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<R, Failure> + Send,
) -> Result<R, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build(); // 0: as many as there are cores
    pool.map_err(|error| Failure::new(format_args!("no threads: {error}"), "take fewer --threads"))?
        .install(work)
}
