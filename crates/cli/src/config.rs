//! `--config FILE`: options of a command from a file like run.toml, as if they were given, unless the command line gives them.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use clap::{
    Arg, ArgAction, ArgMatches, Command, CommandFactory,
    error::{ContextKind, ContextValue},
    parser::ValueSource,
};
use countgrid_io::{Limits, read_text_file, truncate_text};
use toml::de::{DeTable, DeValue};

use crate::{args::Cli, failure::Failure};

/// Bytes of the largest file of options.
const FILE_BYTES: usize = 1 << 20;
/// Letters of a name or of a message about a value that are shown.
const SHOWN: usize = 300;
/// Letters of a value that are shown.
const LONG: usize = 80;
/// Options of one run alone, which no file has.
pub(crate) const OF_COMMAND_LINE: [&str; 5] = ["config", "save-config", "resume", "help", "version"];

/// The name of an option in a file: that on the command line, or that of what is given without one.
pub(crate) fn name_of(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().as_str().replace('_', "-"), str::to_owned)
}

/// Whether an option is on or off, and has no value.
pub(crate) fn is_flag(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// A file of options that was read.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) path: PathBuf,
    /// Names with their values; that of a flag is `true` or `false`.
    pub(crate) values: Vec<(String, Vec<String>)>,
}

/// The command line with the options of the file that `--config` names, and that file; as it is if there is none.
pub(crate) fn with_config(words: Vec<OsString>) -> Result<(Vec<OsString>, Option<Config>), Failure> {
    let mut program = Cli::command().mut_subcommands(optional);
    // What is wrong is said where the words are parsed.
    let Ok(given) = program.try_get_matches_from_mut(&words) else { return Ok((words, None)) };
    let Some((name, given)) = given.subcommand() else { return Ok((words, None)) };
    let Ok(Some(path)) = given.try_get_one::<PathBuf>("config") else { return Ok((words, None)) };
    let Some(command) = program.find_subcommand(name) else { return Ok((words, None)) };
    let reader = Reader { path, command };
    let text = read_text_file(path, &Limits { record_bytes: FILE_BYTES, total_bytes: FILE_BYTES as u64 })
        .map_err(|error| {
            Failure::new(
                format_args!("{}: options cannot be read: {}", path.display(), error.problem()),
                "--config takes a file as `countgrid` writes it: run.toml, beside a map",
            )
        })?;
    let values = reader.read(&text)?;
    let config = Config { path: path.clone(), values };
    Ok((join(words, command, given, &config), Some(config)))
}

/// A command of which no argument is missing.
fn optional(command: Command) -> Command {
    command.mut_args(|arg| arg.required(false))
}

/// Puts the values of a file between the words of the command line: options after the command, the rest at the end.
fn join(mut words: Vec<OsString>, command: &Command, given: &ArgMatches, config: &Config) -> Vec<OsString> {
    let mut options = Vec::new();
    let mut rest = Vec::new();
    for (name, values) in &config.values {
        let Some(arg) = command.get_arguments().find(|arg| name_of(arg) == *name) else { continue };
        // A value by default is not given, and so excludes no other option.
        let is_default = || {
            arg.get_default_values().iter().map(|value| value.as_os_str()).eq(values.iter().map(OsStr::new))
        };
        if given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine) || is_default() {
            continue;
        }
        match (is_flag(arg), arg.is_positional()) {
            (true, _) if values.iter().any(|value| value == "true") => {
                options.push(format!("--{name}").into())
            }
            (true, _) => {}
            (false, true) => rest.extend(values.iter().map(OsString::from)),
            (false, false) => {
                options.extend(values.iter().map(|value| OsString::from(format!("--{name}={value}"))))
            }
        }
    }
    if !rest.is_empty() {
        if !words.iter().any(|word| word == "--") {
            words.push("--".into());
        }
        words.append(&mut rest);
    }
    let after_command = words.len().min(2);
    words.splice(after_command..after_command, options);
    words
}

/// Reads a file of options for a command, all of whose arguments may be missing.
struct Reader<'a> {
    path: &'a Path,
    command: &'a Command,
}

impl Reader<'_> {
    fn read(&self, text: &str) -> Result<Vec<(String, Vec<String>)>, Failure> {
        let line_at = |at: usize| 1 + text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count();
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_at(span.start));
            self.refuse(
                line,
                format_args!("is no TOML: {}", truncate_text(error.message(), SHOWN)),
                "write lines such as `seed = 7`, `grid = \"12x12\"` or `stem = true`",
            )
        })?;
        let mut values = Vec::new();
        for (key, value) in table.get_ref() {
            let (name, line) = (key.get_ref().as_ref(), line_at(key.span().start));
            if name == "command" {
                self.check_command(line, value.get_ref())?;
                continue;
            }
            let arg = self.argument(line, name)?;
            values.push((name.to_owned(), self.values(line, name, arg, value.get_ref())?));
        }
        Ok(values)
    }

    /// What is wrong in a line.
    fn refuse(
        &self,
        line: usize,
        problem: impl std::fmt::Display,
        remedy: impl std::fmt::Display,
    ) -> Failure {
        Failure::new(format_args!("{}: line {line}: {problem}", self.path.display()), remedy)
    }

    fn check_command(&self, line: usize, value: &DeValue<'_>) -> Result<(), Failure> {
        let here = self.command.get_name();
        match value.as_str() {
            Some(there) if there == here => Ok(()),
            Some(there) => Err(self.refuse(
                line,
                format_args!("these are options of `{}`, and this is `{here}`", truncate_text(there, SHOWN)),
                format_args!("name a file of `countgrid {here}`, or run the other command"),
            )),
            None => Err(self.refuse(
                line,
                format_args!("`command` is no text, but {}", kind(value)),
                format_args!("write command = \"{here}\", or leave it out"),
            )),
        }
    }

    /// The argument of this name.
    fn argument(&self, line: usize, name: &str) -> Result<&Arg, Failure> {
        let here = self.command.get_name();
        if OF_COMMAND_LINE.contains(&name) {
            return Err(self.refuse(
                line,
                format_args!("`{name}` is for the command line alone"),
                "leave it out",
            ));
        }
        if let Some(arg) = self.command.get_arguments().find(|arg| name_of(arg) == name) {
            return Ok(arg);
        }
        let program = Cli::command();
        let others: Vec<&str> = program
            .get_subcommands()
            .filter(|other| other.get_arguments().any(|arg| name_of(arg) == name))
            .map(Command::get_name)
            .collect();
        let problem = match others.as_slice() {
            [] => format!("`countgrid {here}` has no option `{}`", truncate_text(name, SHOWN)),
            others => {
                format!("`{name}` is of `countgrid {}`, not of `countgrid {here}`", others.join("`, `"))
            }
        };
        let remedy = match self.nearest(name) {
            Some(nearest) if others.is_empty() => {
                format!("did you mean `{nearest}`? `countgrid {here} --help` has all names")
            }
            _ => format!("leave it out; `countgrid {here} --help` has all names"),
        };
        Err(self.refuse(line, problem, remedy))
    }

    /// The name most like this one, if one is.
    fn nearest(&self, name: &str) -> Option<String> {
        let name = name.replace('_', "-");
        if self.command.get_arguments().any(|arg| name_of(arg) == name) {
            return Some(name);
        }
        if name.len() > 40 || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
            return None;
        }
        let words = [self.command.get_name().to_owned(), format!("--{name}")];
        let error = self.command.clone().try_get_matches_from(words).err()?;
        match error.get(ContextKind::SuggestedArg)? {
            ContextValue::String(nearest) => Some(nearest.trim_start_matches('-').to_owned()),
            _ => None,
        }
    }

    /// The texts of a value, each of which its option takes.
    fn values(
        &self,
        line: usize,
        name: &str,
        arg: &Arg,
        value: &DeValue<'_>,
    ) -> Result<Vec<String>, Failure> {
        let wrong = |found: &DeValue<'_>, remedy: &str| {
            Err(self.refuse(line, format_args!("`{name}` is {}", kind(found)), remedy))
        };
        if is_flag(arg) {
            return match value {
                DeValue::Boolean(on) => Ok(vec![on.to_string()]),
                other => wrong(other, &format!("write {name} = true or false")),
            };
        }
        let several = matches!(arg.get_action(), ArgAction::Append);
        let items: Vec<&DeValue<'_>> = match value {
            DeValue::Array(items) if several => items.iter().map(|item| item.get_ref()).collect(),
            one => vec![one],
        };
        let mut texts = Vec::new();
        for item in items {
            let Some(text) = scalar(item) else {
                let example = if several {
                    "write a list of texts, such as [\"a\", \"b\"]"
                } else {
                    "write one text or number"
                };
                return wrong(
                    item,
                    &format!("{example}; `countgrid {} --help` has what it takes", self.command.get_name()),
                );
            };
            self.parse(line, name, arg, &text)?;
            texts.push(text);
        }
        Ok(texts)
    }

    /// Has the option itself parse a value, alone.
    fn parse(&self, line: usize, name: &str, arg: &Arg, text: &str) -> Result<(), Failure> {
        let command = self.command.get_name().to_owned();
        let words = match arg.is_positional() {
            true => vec![command, "--".to_owned(), text.to_owned()],
            false => vec![command, format!("--{name}={text}")],
        };
        let Err(error) = self.command.clone().try_get_matches_from(words) else { return Ok(()) };
        let message = error.render().to_string();
        let end = message.find("\n\nFor more information").unwrap_or(message.len());
        let message = message.get(..end).unwrap_or_default().trim_start_matches("error: ");
        let beginning: String = text.chars().take(LONG).collect();
        let message = if beginning.len() < text.len() {
            message.replace(text, &(beginning + "…"))
        } else {
            message.to_owned()
        };
        Err(self.refuse(
            line,
            format_args!("`{name}`: {}", truncate_text(&message, SHOWN)),
            format_args!("`countgrid {} --help` has what it takes", self.command.get_name()),
        ))
    }
}

/// A value with its article, for messages.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A text or a number as on the command line; none of anything else.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => {
            Some(number.as_str().trim_start_matches('+').to_owned())
        }
        DeValue::Integer(number) => {
            u128::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}
