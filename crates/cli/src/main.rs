//! `countgrid`: maps of collections of documents.
//!
//! Parses, calls, reports. What is computed is in the libraries; what to do about a mistake is in [`failure`].
#![forbid(unsafe_code)]

mod args;
mod candidates;
mod collection;
mod command;
mod failure;
mod files;
mod interrupt;
mod model_file;
mod placement;
mod report;
mod sides;
mod threads;
mod training;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    args::{Cli, Command},
    failure::Failure,
};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Map(args) => command::map::run(&args),
        Command::Fit(args) => command::fit::run(&args),
        Command::Embed(args) => command::embed::run(&args),
        Command::Words(args) => command::words::run(&args),
        Command::Firmware(args) => command::firmware::run(&args),
        Command::Info(args) => command::info::run(&args),
        Command::Crossval(args) => command::crossval::run(&args),
        Command::Sweep(args) => command::sweep::run(&args),
    };
    match done {
        // The reader has closed standard output, which is not an error.
        Ok(()) | Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(2)
        }
    }
}
