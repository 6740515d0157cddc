//! Options to choose among: `--try OPTION=VALUE,VALUE,...`.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches};
use countgrid_evaluation::Candidate;

use crate::{
    args::{Cli, Command, EvaluationArgs},
    failure::Failure,
    report::Report,
    unused::{Unused, unused},
};

/// Options that may be tried. What the data are, and how they are split, is not among them.
const OPTIONS: [&str; 30] = [
    "anneal",
    "class-prior",
    "classifier",
    "draws",
    "epochs",
    "features",
    "gamma",
    "grid",
    "inner-passes",
    "iterations",
    "max-share",
    "max-words",
    "method",
    "metric",
    "min-count",
    "model",
    "neighbours",
    "penalty",
    "prior",
    "pseudocount",
    "restarts",
    "schedule",
    "select",
    "states",
    "tokens",
    "tolerance",
    "topics",
    "window",
    "batch",
    "passes",
];

/// One choice for every option that is tried.
#[derive(Debug)]
pub(crate) struct Choice {
    /// What was chosen: option and value.
    pub(crate) chosen: Vec<(String, String)>,
    /// All options.
    pub(crate) args: EvaluationArgs,
    /// The same for the library, under a name: `grid=12x12 window=4x4`; nothing if nothing was to be chosen.
    pub(crate) candidate: Candidate,
    /// Options without effect, given or tried.
    unused: Vec<Unused>,
}

/// Every combination, the last option changing fastest; the options themselves if nothing is tried.
///
/// Each is parsed again from the command line with its values added, so errors have the words that
/// clap has for it.
pub(crate) fn choices(
    args: &EvaluationArgs,
    given: &[OsString],
    report: &Report,
) -> Result<Vec<Choice>, Failure> {
    let mut combinations: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for tried in &args.tries {
        let refuse = |problem: String| {
            let known = OPTIONS.join(", ");
            Failure::new(problem, format_args!("write --try OPTION=VALUE,VALUE with one of these: {known}"))
        };
        let Some((option, values)) = tried.split_once('=') else {
            return Err(refuse(format!("--try {tried} has no values")));
        };
        if !OPTIONS.contains(&option) {
            return Err(refuse(format!("--try {tried}: `{option}` cannot be tried")));
        }
        if combinations.iter().flatten().any(|(other, _)| other == option) {
            return Err(refuse(format!("--try {tried}: `{option}` is tried twice")));
        }
        let with = |combination: &Vec<(String, String)>, value: &str| {
            [combination.as_slice(), &[(option.to_owned(), value.to_owned())]].concat()
        };
        combinations = combinations
            .iter()
            .flat_map(|combination| values.split(',').map(|value| with(combination, value)))
            .collect();
    }
    let choices: Vec<Choice> =
        combinations.into_iter().map(|chosen| Choice::new(given, chosen)).collect::<Result<_, _>>()?;
    // What is given, or tried, should be used by a candidate.
    let by_none = |unused: &&Unused| {
        choices.iter().all(|choice| choice.unused.iter().any(|other| other.option == unused.option))
    };
    for unused in choices.iter().take(1).flat_map(|first| &first.unused).filter(by_none) {
        report.note(format_args!("{unused}: it has no effect"));
    }
    Ok(choices)
}

impl Choice {
    fn new(given: &[OsString], chosen: Vec<(String, String)>) -> Result<Self, Failure> {
        let end = given.iter().position(|word| word == "--").unwrap_or(given.len());
        let mut words = given.to_vec();
        let added = chosen.iter().flat_map(|(option, value)| match value.split_once('/') {
            // Windows of its own: those of a grid of one axis have one side, too.
            Some((grid, window)) if option == "grid" => {
                vec!["--grid".to_owned(), grid.to_owned(), "--window".to_owned(), window.to_owned()]
            }
            _ => vec![format!("--{option}"), value.clone()],
        });
        words.splice(end..end, added.map(OsString::from));
        let refuse = |problem: String| Failure::new(problem, "mend the values of --try");
        let mut program = Cli::command();
        let parsed = program.try_get_matches_from_mut(words).and_then(|matches| {
            let cli = Cli::from_arg_matches(&matches)?;
            Ok((cli, matches))
        });
        let (cli, matches) = parsed.map_err(|error| {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            refuse(format!("--try: {}", first.trim_start_matches("error: ")))
        })?;
        let of_command = |(name, given)| Some(unused(program.find_subcommand(name)?, given));
        let unused = matches.subcommand().and_then(of_command).unwrap_or_default();
        let args = match cli.command {
            Command::Crossval(args) => args.evaluation,
            Command::Sweep(args) => args.evaluation,
            _ => return Err(refuse("--try belongs to crossval and sweep".to_owned())),
        };
        let name: Vec<_> = chosen.iter().map(|(option, value)| format!("{option}={value}")).collect();
        let candidate = Candidate { name: name.join(" "), options: args.options()? };
        Ok(Self { chosen, args, candidate, unused })
    }
}
