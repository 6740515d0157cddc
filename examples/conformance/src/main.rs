//! Prints one digest of bits for each table of results, the same on every target. `README.md` says how to run it.
#![cfg_attr(not(any(unix, windows)), no_std, no_main)]
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))] // there the function that the host calls needs a name

mod bags;
mod components;
mod elementary;
mod em;
mod events;
mod fits;
mod harmonium;
mod inference;
mod maps;
mod readout;
mod report;
mod states;
mod topics;
mod windows;

#[cfg(target_os = "none")]
mod board;
#[cfg(any(unix, windows))]
mod host;
#[cfg(target_family = "wasm")]
mod wasm;

use report::{Failure, Report};

/// Reports some of the results.
type Results = fn(&mut Report<'_>) -> Result<(), Failure>;

/// All results. What the library learns to compute joins here, as one more function.
const RESULTS: &[Results] = &[
    elementary::all,
    windows::all,
    events::all,
    em::all,
    fits::all,
    inference::all,
    readout::all,
    components::all,
    states::all,
    topics::all,
    harmonium::all,
    maps::all,
];

/// Calls `line` with every line of output.
fn run(mut line: impl FnMut(core::fmt::Arguments<'_>)) -> Result<(), Failure> {
    let mut report = Report::new(&mut line);
    RESULTS.iter().try_for_each(|results| results(&mut report))
}

#[cfg(any(unix, windows))]
fn main() -> std::process::ExitCode {
    host::main()
}
