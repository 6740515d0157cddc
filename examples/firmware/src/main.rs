//! Places documents on an exported grid, then fits a grid, a topographic map and a harmonium from scratch and infers with
//! each, and with a hidden Markov model. The same program runs on a Cortex-M4F, without an allocator, and on this machine;
//! `run` compares what they print.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]

mod bags;
#[cfg(target_os = "none")]
mod board;
mod error;
mod fit;
mod map;
mod place;
mod states;
mod topics;

/// Prints a line: on the board to the debugger.
macro_rules! say {
    ($($line:tt)*) => {{
        #[cfg(target_os = "none")]
        cortex_m_semihosting::hprintln!($($line)*);
        #[cfg(not(target_os = "none"))]
        println!($($line)*);
    }};
}
pub(crate) use say;

/// The model, as `countgrid firmware model/model.safetensors --vocabulary -o model` has written it.
mod model {
    include!("../model/model.rs");
}

/// The same in one piece, aligned so that its numbers are read in place.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);
static BLOB: &Aligned<[u8]> = &Aligned(*include_bytes!("../model/model.bin"));

/// Everything; what is refused is said.
fn run() -> bool {
    let done = place::all(&BLOB.0).and_then(|()| fit::all()).and_then(|()| states::all());
    match done.and_then(|()| map::all()).and_then(|()| topics::all()) {
        Ok(()) => true,
        Err(error) => {
            say!("refused: {}", error);
            false
        }
    }
}

#[cfg(not(target_os = "none"))]
fn main() -> std::process::ExitCode {
    if run() { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
