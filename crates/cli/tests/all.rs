//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod common;

mod adding;
mod bad_input;
mod boilerplate;
mod componential;
mod config;
mod crossval;
mod distributed;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod faults;
mod firmware;
mod grid_size;
mod guide;
mod harmonium;
#[cfg(unix)]
mod interrupt;
#[cfg(unix)]
mod kills;
mod limits;
mod main_job;
#[cfg(unix)]
mod malformed;
mod measures;
mod models;
mod near_duplicates;
mod options;
mod overwriting;
mod own_model;
mod pile;
mod readme;
mod real_data;
#[cfg(unix)]
mod resume;
mod same_bytes;
mod stream;
mod terminal;
mod topographic;
mod unused;
