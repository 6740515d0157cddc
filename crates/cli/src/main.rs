//! `countgrid`: maps of collections of documents.
//!
//! Parses, calls, reports. What is computed is in the libraries; what to do about a mistake is in [`failure`].
#![forbid(unsafe_code)]

mod args;
mod candidates;
mod collection;
mod command;
mod config;
mod csv_table;
mod failure;
mod files;
mod interrupt;
mod model_file;
mod placement;
mod report;
mod run_file;
mod sides;
mod terminal;
mod threads;
mod training;
mod unused;

use std::process::ExitCode;

use countgrid_math::Level;

use crate::{args::Command, failure::Failure, interrupt::Interrupt, run_file::Invocation};

/// The instruction set that was asked for must be one that there is: a misspelt one would be ignored.
fn check_environment() -> Result<(), Failure> {
    const VARIABLE: &str = "COUNTGRID_SIMD";
    let Some(asked) = std::env::var_os(VARIABLE).filter(|asked| !asked.is_empty()) else { return Ok(()) };
    let known = Level::ALL.map(Level::name);
    if known.iter().any(|name| asked == *name) {
        return Ok(());
    }
    Err(Failure::new(
        format_args!("{VARIABLE}: `{}` is no instruction set that is known", asked.to_string_lossy()),
        format_args!("set it to one of {}, or unset it", known.join(", ")),
    ))
}

fn main() -> ExitCode {
    let parsed = Invocation::parse(std::env::args_os().collect());
    let (command, invocation) = match parsed.and_then(|parsed| check_environment().map(|()| parsed)) {
        Ok((cli, invocation)) => (cli.command, invocation),
        Err(failure) => {
            eprintln!("error: {}", terminal::escaped(failure));
            return ExitCode::from(2);
        }
    };
    let done = |interrupt: &Interrupt| match command {
        Command::Map(args) => command::map::run(&args, &invocation, interrupt),
        Command::Fit(args) => command::fit::run(&args, &invocation, interrupt),
        Command::Embed(args) => command::embed::run(&args, interrupt),
        Command::Words(args) => command::words::run(&args),
        Command::Firmware(args) => command::firmware::run(&args, interrupt),
        Command::Info(args) => command::info::run(&args),
        Command::Crossval(args) => command::crossval::run(&args, &invocation, interrupt),
        Command::Sweep(args) => command::sweep::run(&args, &invocation, interrupt),
        Command::Evaluate(args) => command::evaluate::run(&args, interrupt),
        Command::Compare(args) => command::compare::run(&args, interrupt),
        Command::Completions { shell } => command::manual::completions(shell),
        Command::Man { command } => command::manual::man(command.as_deref()),
        Command::Start(args) => command::distributed::start(&args, &invocation, interrupt),
        Command::Partial(args) => command::distributed::partial(&args, interrupt),
        Command::Merge(args) => command::distributed::merge(&args, interrupt),
        Command::Step(args) => command::distributed::step(&args, interrupt),
        Command::Finish(args) => command::distributed::finish(&args, interrupt),
    };
    match Interrupt::install().and_then(|interrupt| done(&interrupt)) {
        // The reader has closed standard output, which is not an error.
        Ok(()) | Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Interrupted) => ExitCode::from(interrupt::EXIT_CODE), // which the report has said
        Err(failure) => {
            eprintln!("error: {}", terminal::escaped(failure));
            ExitCode::from(2)
        }
    }
}
