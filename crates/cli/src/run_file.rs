//! run.toml: every option of a run with its value, to be taken back with `--config`.

use std::{
    any::TypeId,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use clap::{
    Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches, builder::ValueParser,
    parser::ValueSource,
};

use crate::{
    args::Cli,
    config::{Config, OF_COMMAND_LINE, is_flag, name_of, with_config},
    failure::Failure,
    report::Report,
    unused::{Unused, unused},
};

/// What the name of a file of options is beside a map.
pub(crate) const NAME: &str = "run.toml";
/// How such a file begins, so that no file of another program is replaced by one.
const BEGINNING: &str = "# Options of a run of countgrid";
/// Options of how a run reports and computes, which no result depends on.
const NOT_OF_RESULTS: [&str; 6] = ["quiet", "json", "threads", "stream", "checkpoint", "block-entries"];

/// Values that were worked out, by the names of their options.
#[derive(Debug, Default)]
pub(crate) struct WorkedOut {
    /// With these given the results are the same.
    pub(crate) values: Vec<(&'static str, String)>,
    /// With these they need not be, so that they are told, and worked out again.
    pub(crate) told: Vec<(&'static str, String)>,
}

/// A command line that was parsed, with the options of a file.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// The words, with those of the file.
    pub(crate) words: Vec<OsString>,
    command: Command,
    given: ArgMatches,
    config: Option<Config>,
    /// What the command line gives besides what is in the file, or otherwise.
    overrides: bool,
    unused: Vec<Unused>,
}

impl Invocation {
    /// Parses a command line. Ends the program if that cannot be done, as clap does.
    pub(crate) fn parse(words: Vec<OsString>) -> Result<(Cli, Self), Failure> {
        let (all, config) = with_config(words.clone())?;
        let mut program = Cli::command();
        let parsed = program.try_get_matches_from_mut(&all).and_then(|matches| {
            let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut program))?;
            Ok((cli, matches))
        });
        let (cli, matches) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                if let (Some(config), true) = (&config, error.use_stderr()) {
                    eprintln!(
                        "note: the options of {} count as if they were given",
                        crate::terminal::escaped(config.path.display())
                    );
                }
                error.exit()
            }
        };
        let (command, given) = match matches.subcommand() {
            Some((name, given)) => {
                (program.find_subcommand(name).cloned().unwrap_or_default(), given.clone())
            }
            None => (program, matches),
        };
        let unused = unused(&command, &given);
        if let Some(first) = unused.iter().find(|unused| unused.is_refused(&command)) {
            let has_it = |config: &&Config| config.values.iter().any(|(name, _)| name == first.option);
            return Err(match config.as_ref().filter(has_it) {
                Some(config) => Failure::from(first).of_file(&config.path),
                None => first.into(),
            });
        }
        let mut invocation = Self { words: all, command, given, config, overrides: false, unused };
        invocation.overrides = invocation.differs_from_config(&words);
        Ok((cli, invocation))
    }

    /// Tells of the options that are without effect, of a command that fits one model.
    pub(crate) fn tell_unused(&self, report: &Report) {
        self.unused.iter().for_each(|unused| report.note(format_args!("{unused}: it has no effect")));
    }

    /// The file of options, of which no other is made.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.config.as_ref().map(|config| config.path.as_path())
    }

    /// Whether the command line says otherwise than the file.
    fn differs_from_config(&self, words: &[OsString]) -> bool {
        let Some(config) = &self.config else { return false };
        let mut program =
            Cli::command().mut_subcommands(|command| command.mut_args(|arg| arg.required(false)));
        let Ok(matches) = program.try_get_matches_from_mut(words) else { return true };
        let Some((_, given)) = matches.subcommand() else { return true };
        self.recorded().any(|arg| {
            let id = arg.get_id().as_str();
            if given.value_source(id) != Some(ValueSource::CommandLine) {
                return false;
            }
            let name = name_of(arg);
            let there = config.values.iter().find(|(key, _)| *key == name).map(|(_, values)| values);
            let here = raw(&self.given, arg);
            !there.is_some_and(|there| {
                there.iter().map(OsStr::new).eq(here.iter().map(|value| value.as_os_str()))
            })
        })
    }

    /// Whether a file of options beside the results is the one that the options are from, and stays as it is.
    pub(crate) fn keeps(&self, path: &Path) -> bool {
        let place = |path: &Path| fs::canonicalize(path).ok();
        let same =
            self.config().is_some_and(|config| place(config).is_some_and(|file| place(path) == Some(file)));
        same && !self.overrides
    }

    /// The file of options to write in a folder: none if it is that the options are from. An error for a file of another
    /// program.
    pub(crate) fn file_in(&self, folder: &Path) -> Result<Option<PathBuf>, Failure> {
        let path = if folder == Path::new(".") { NAME.into() } else { folder.join(NAME) };
        if self.keeps(&path) {
            return Ok(None);
        }
        let is_config = self.config().is_some_and(|config| config == path);
        if !is_config
            && path.is_file()
            && !fs::read(&path).is_ok_and(|bytes| bytes.starts_with(BEGINNING.as_bytes()))
        {
            return Err(Failure::new(
                format_args!(
                    "{}: is there, and no file of options that countgrid has written",
                    path.display()
                ),
                "name another folder (--output), or move it",
            ));
        }
        Ok(Some(path))
    }

    /// The arguments that are choices of what is made. Where documents are added to a map, its model has made the others.
    fn recorded(&self) -> impl Iterator<Item = &Arg> {
        let add = self.command.get_arguments().find(|arg| arg.get_id() == "add");
        let add = add.filter(|_| self.given.value_source("add") == Some(ValueSource::CommandLine));
        let excluded = add.map_or_else(Vec::new, |add| self.command.get_arg_conflicts_with(add));
        self.command.get_arguments().filter(move |arg| {
            let name = name_of(arg);
            !OF_COMMAND_LINE.contains(&name.as_str())
                && !NOT_OF_RESULTS.contains(&name.as_str())
                && !excluded.iter().any(|other| other.get_id() == arg.get_id())
        })
    }

    /// The file: all options with their values, given or by default, or worked out.
    pub(crate) fn to_toml(&self, worked_out: &WorkedOut) -> Vec<u8> {
        let command = self.command.get_name();
        let mut text = format!(
            "{BEGINNING} {}. To repeat it: countgrid {command} --config FILE\n\
             # Paths are relative to the folder where the program runs. Options on the command line come before these.\n\
             command = \"{command}\"\n",
            env!("CARGO_PKG_VERSION")
        );
        let mut heading = "";
        let mut absent = Vec::new();
        for arg in self.recorded() {
            let name = name_of(arg);
            let own = worked_out
                .values
                .iter()
                .find(|(option, _)| *option == name)
                .map(|(_, value)| OsString::from(value));
            let by_default = self.given.value_source(arg.get_id().as_str()) != Some(ValueSource::CommandLine);
            let (values, why) = match own {
                Some(value) => (vec![value], "  # worked out"),
                None => (raw(&self.given, arg), if by_default { "  # by default" } else { "" }),
            };
            let told = worked_out.told.iter().find(|(option, _)| *option == name);
            if values.is_empty() && told.is_none() {
                absent.push(name);
                continue;
            }
            let next = arg.get_help_heading().unwrap_or("");
            if next != heading {
                text.push_str(&format!("\n# {next}\n"));
                heading = next;
            }
            if let Some((_, value)) = told {
                text.push_str(&format!(
                    "# {name} = {}  # worked out, and again from a file\n",
                    to_value(arg, &[value])
                ));
                continue;
            }
            let texts: Option<Vec<&str>> = values.iter().map(|value| value.to_str()).collect();
            match texts {
                Some(texts) => text.push_str(&format!("{name} = {}{why}\n", to_value(arg, &texts))),
                None => {
                    text.push_str(&format!("# {name} is no UTF-8, and to be given on the command line\n"))
                }
            }
        }
        if !absent.is_empty() {
            text.push_str(&format!("\n# Not given, and worked out or not used: {}\n", absent.join(", ")));
        }
        text.into_bytes()
    }
}

/// The values of an argument as they are on the command line; `true` or `false` of a flag.
fn raw(given: &ArgMatches, arg: &Arg) -> Vec<OsString> {
    let values = given.get_raw(arg.get_id().as_str()).into_iter().flatten();
    values.map(OsStr::to_owned).collect()
}

/// The values of an argument in TOML.
fn to_value(arg: &Arg, texts: &[&str]) -> String {
    let number = is_number(arg.get_value_parser());
    let one = |text: &str| if number && is_toml_number(text) { text.to_owned() } else { quoted(text) };
    match (arg.get_action(), texts) {
        _ if is_flag(arg) => texts.last().is_some_and(|text| *text == "true").to_string(),
        (ArgAction::Append, texts) => {
            format!("[{}]", texts.iter().map(|text| one(text)).collect::<Vec<_>>().join(", "))
        }
        (_, texts) => one(texts.last().copied().unwrap_or_default()),
    }
}

fn is_number(parser: &ValueParser) -> bool {
    let kind = parser.type_id();
    [TypeId::of::<usize>(), TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<f64>()]
        .into_iter()
        .any(|number| kind == number)
}

/// Whether a text is a number in TOML with the same digits, of those that every reader takes.
fn is_toml_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let whole = |text: &str| digits(text) && (text == "0" || !text.starts_with('0'));
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
    let exponent_is_fine = exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    exponent_is_fine
        && match unsigned.split_once('.') {
            Some((before, after)) => whole(before) && digits(after),
            None if exponent.is_some() => whole(unsigned),
            None => whole(unsigned) && text.parse::<i64>().is_ok(),
        }
}

/// A basic string: as in JSON, but for DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Options as they are given, with values of every kind.
    fn given() -> impl Strategy<Value = Vec<String>> {
        let flag = |name: &'static str| Just(vec![format!("--{name}")]);
        let text = |name: &'static str| {
            "[a-zA-Z0-9 \"\\\\'#=\\[\\]\u{7f}\u{1}\n\té-]{0,12}"
                .prop_map(move |text| vec![format!("--{name}={text}")])
        };
        let number = |name: &'static str, most: u64| {
            (0..=most).prop_map(move |n| vec![format!("--{name}"), n.to_string()])
        };
        let option = prop_oneof![
            flag("stem"),
            flag("strict"),
            flag("learn-prior"),
            flag("raw-csv"),
            text("title"),
            text("text-column"),
            text("columns"),
            number("seed", u64::MAX),
            number("sample", 1_000),
            any::<f64>().prop_map(|x| vec![format!("--tolerance={x:?}")]),
            any::<f64>().prop_map(|x| vec![format!("--pseudocount={x:e}")]),
            (1..99_u8, 1..99_u8).prop_map(|(x, y)| vec![format!("--grid={x}x{y}")]),
        ];
        prop::collection::vec(option, 0..8).prop_map(|options| {
            let mut names = Vec::new();
            let mut all = vec!["a b.csv".to_owned()];
            for option in options {
                let name = option[0].split('=').next().unwrap().to_owned();
                if !names.contains(&name) {
                    names.push(name);
                    all.extend(option);
                }
            }
            all
        })
    }

    /// The values of all options that a file has.
    fn values(invocation: &Invocation) -> Vec<(String, Vec<OsString>)> {
        invocation.recorded().map(|arg| (name_of(arg), raw(&invocation.given, arg))).collect()
    }

    fn parse(words: &[String]) -> Invocation {
        let words = ["countgrid", "map"].into_iter().map(str::to_owned).chain(words.iter().cloned());
        Invocation::parse(words.map(OsString::from).collect()).unwrap().1
    }

    proptest! {
        /// What is given comes back from the file, whatever the text.
        #[test]
        fn options_survive(words in given(), seed in any::<u64>()) {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("o.toml");
            let first = parse(&words);
            fs::write(&file, first.to_toml(&WorkedOut::default())).unwrap();
            let config = format!("--config={}", file.display());
            let again = parse(std::slice::from_ref(&config));
            prop_assert_eq!(values(&first), values(&again));
            prop_assert!(again.keeps(&file));
            // The command line comes first.
            let other = parse(&[config, "--seed".to_owned(), seed.to_string()]);
            let mut expected = values(&first);
            let own = expected.iter_mut().find(|(name, _)| name == "seed").unwrap();
            let same = own.1 == [OsString::from(seed.to_string())];
            own.1 = vec![seed.to_string().into()];
            prop_assert_eq!(values(&other), expected);
            prop_assert_eq!(other.keeps(&file), same);
        }
    }
}
