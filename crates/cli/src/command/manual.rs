//! `countgrid completions` and `countgrid man`: what the definition of the command line gives by itself.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{
    args::Cli,
    failure::{BUG, Failure},
    terminal,
};

pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "countgrid", &mut script);
    terminal::write(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(command: Option<&str>) -> Result<(), Failure> {
    let program = Cli::command();
    let page = match command {
        None => program,
        Some(name) => {
            let known =
                || program.get_subcommands().map(clap::Command::get_name).collect::<Vec<_>>().join(", ");
            let found = program.find_subcommand(name).cloned();
            found
                .ok_or_else(|| {
                    Failure::new(
                        format_args!("there is no command `{name}`"),
                        format_args!("take one of {}", known()),
                    )
                })?
                .display_name(format!("countgrid-{name}"))
        }
    };
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(page).render(&mut text);
    rendered.map_err(|error| Failure::new(format_args!("the manual: {error}"), BUG))?;
    terminal::write(&String::from_utf8_lossy(&text))
}
