//! Options that the model, the classifier or the method of a run does not use: what is given without effect is told, or refused.

use std::fmt;

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

use crate::{config::name_of, failure::Failure};

/// Options that are used with some values of another option alone.
#[derive(Debug)]
struct Group {
    options: &'static [&'static str],
    by: &'static str,
    /// In lists, each of some that go together.
    values: &'static [&'static [&'static str]],
    /// What has these values.
    what: &'static str,
}

const TOPOGRAPHIC: &[&str] =
    &["zip-gtm", "zip-latent-gtm", "poisson-gtm", "bernoulli-gtm", "multinomial-gtm", "gaussian-gtm"];
/// All but those of [`TOPOGRAPHIC`] and `hmm`.
const OTHERS: &[&str] = &["grid", "componential", "mixture", "lda", "lsi", "harmonium", "rap", "dual-wing"];
const WITH_STARTS: &[&str] = &["grid", "componential", "mixture", "lda", "hmm"];
const HARMONIUMS: &[&str] = &["harmonium", "rap", "dual-wing"];

/// Of each option those values of others that it is used with. A group is of a command that has such an option and one of the
/// values: an option may have the name of another command's. What is in no group is always used.
const GROUPS: &[Group] = &[
    Group {
        options: &["grid", "window", "learn-prior", "stream"],
        by: "model",
        values: &[&["grid", "componential"]],
        what: "counting grids",
    },
    Group {
        options: &["inner-passes", "schedule", "anneal", "anneal-iterations", "passes"],
        by: "model",
        values: &[&["grid", "componential", "mixture"]],
        what: "counting grids",
    },
    Group {
        options: &["batch"],
        by: "model",
        values: &[&["grid", "componential", "mixture", "harmonium", "rap", "dual-wing"]],
        what: "counting grids and harmoniums",
    },
    Group {
        options: &["restarts"],
        by: "model",
        values: &[WITH_STARTS],
        what: "models that may be fitted from several starts",
    },
    Group {
        options: &["pseudocount"],
        by: "model",
        values: &[WITH_STARTS],
        what: "models with pseudocounts",
    },
    Group {
        options: &["iterations", "tolerance"],
        by: "model",
        values: &[WITH_STARTS, TOPOGRAPHIC],
        what: "models that are fitted by EM",
    },
    Group {
        options: &["concentration", "learn-concentration", "componential-iterations"],
        by: "model",
        values: &[&["componential"]],
        what: "componential grids",
    },
    Group {
        options: &[
            "points",
            "latent",
            "basis",
            "basis-functions",
            "width",
            "exposure",
            "neighbours",
            "place",
            "magnification",
        ],
        by: "model",
        values: &[TOPOGRAPHIC],
        what: "topographic maps",
    },
    Group {
        options: &["topics"],
        by: "model",
        values: &[&["harmonium", "rap", "dual-wing", "mixture", "lda", "lsi"]],
        what: "models with topics",
    },
    Group {
        options: &[
            "scale",
            "min-count",
            "max-share",
            "max-words",
            "language",
            "stop-words",
            "keep-noise",
            "stem",
            "phrases",
            "ngrams",
            "select",
        ],
        by: "model",
        values: &[OTHERS, TOPOGRAPHIC],
        what: "bags of words",
    },
    Group { options: &["states"], by: "model", values: &[&["hmm"]], what: "hidden Markov models" },
    Group {
        options: &["method", "steps", "epochs", "draws", "chains", "prior", "step-size", "trials", "trace"],
        by: "model",
        values: &[HARMONIUMS],
        what: "harmoniums",
    },
    Group {
        options: &["features-from", "feature-columns", "feature-variance"],
        by: "model",
        values: &[&["dual-wing"]],
        what: "dual wings",
    },
    Group { options: &["draws"], by: "method", values: &[&["langevin"]], what: "Langevin sampling" },
    Group {
        options: &["features", "one-model"],
        by: "classifier",
        values: &[&["nearest", "svm", "svm-rbf", "svm-linear"]],
        what: "nearest neighbours and support vector machines",
    },
    Group {
        options: &["neighbours", "metric"],
        by: "classifier",
        values: &[&["nearest"]],
        what: "nearest neighbours",
    },
    Group {
        options: &["penalty"],
        by: "classifier",
        values: &[&["svm", "svm-rbf", "svm-linear"]],
        what: "support vector machines",
    },
    Group {
        options: &["gamma"],
        by: "classifier",
        values: &[&["svm-rbf"]],
        what: "support vector machines with a Gaussian kernel",
    },
];

/// Who gives one of these has forgotten `--model`, and would miss a file, or have another model than was meant.
const REFUSED: [&str; 6] = [
    "trace",
    "features-from",
    "feature-columns",
    "concentration",
    "learn-concentration",
    "componential-iterations",
];

impl Group {
    fn has(&self, value: &str) -> bool {
        self.values.iter().any(|list| list.contains(&value))
    }
}

/// An option that was given without effect.
#[derive(Clone, Debug)]
pub(crate) struct Unused {
    /// Its name.
    pub(crate) option: &'static str,
    group: &'static Group,
    value: String,
    /// Of those with which it is used, what the command has.
    others: Vec<String>,
}

/// The options that were given without effect, in a file of options or by itself.
pub(crate) fn unused(command: &Command, given: &ArgMatches) -> Vec<Unused> {
    let arg = |name: &str| command.get_arguments().find(|arg| name_of(arg) == name);
    let is_given = |arg: &Arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let mut found = Vec::new();
    for group in GROUPS {
        let Some(by) = arg(group.by) else { continue };
        let names = by.get_possible_values().into_iter().map(|value| value.get_name().to_owned());
        let others: Vec<String> = names.filter(|name| group.has(name)).collect();
        let value = given.get_raw(by.get_id().as_str()).and_then(Iterator::last);
        let value = value.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
        if others.is_empty() || others.contains(&value) {
            continue;
        }
        for &option in group.options.iter().filter(|option| arg(option).is_some_and(is_given)) {
            found.push(Unused { option, group, value: value.clone(), others: others.clone() });
        }
    }
    found
}

impl Unused {
    /// Whether it is refused: some are, and all of a map, which is of one model. Others are told, so that models can be compared by commands
    /// that differ in `--model` alone.
    pub(crate) fn is_refused(&self, command: &Command) -> bool {
        command.get_name() == "map" || REFUSED.contains(&self.option)
    }
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { option, group: Group { by, what, .. }, value, .. } = self;
        write!(f, "--{option} is of {what}, and --{by} {value} is none")
    }
}

impl From<&Unused> for Failure {
    fn from(unused: &Unused) -> Self {
        let Unused { option, group: Group { by, .. }, others, .. } = unused;
        Self::new(unused, format_args!("leave --{option} out, or take --{by} {}", others.join(" or ")))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    /// A name that is misspelt would never be refused.
    #[test]
    fn every_name_of_a_group_is_that_of_an_option_or_a_value() {
        let program = Cli::command();
        let args = |name: &'static str| {
            program.get_subcommands().flat_map(Command::get_arguments).filter(move |arg| name_of(arg) == name)
        };
        for group in GROUPS {
            for option in group.options {
                assert!(args(option).next().is_some(), "no command has --{option}");
            }
            let values: Vec<String> = args(group.by)
                .flat_map(Arg::get_possible_values)
                .map(|value| value.get_name().to_owned())
                .collect();
            for value in group.values.concat() {
                assert!(values.iter().any(|known| known == value), "--{} is never {value}", group.by);
            }
        }
    }
}
