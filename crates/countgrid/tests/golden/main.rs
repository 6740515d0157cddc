//! Every golden vector of a folder, in f64 and f32: `cargo test --workspace --test golden`.
//!
//! The folder is the environment variable `GOLDEN_DIR`, relative to the workspace's root, or else
//! `../shared/golden`, and then its absence is only reported. A file of a kind that is not implemented yet is
//! counted and named; a file of an implemented kind that cannot be run is a failure.

#![allow(unreachable_pub, reason = "modules of one test program")]

mod case;
mod componential;
mod grid;
mod gtm;
mod harmonium;
mod hmm;
mod labels;
mod lda;
mod windows;

use std::{collections::BTreeMap, env, fs, io::Write, path::PathBuf};

use case::{Case, Failure};
use countgrid::math::Real;

/// Runs one case in one float type.
type Run = fn(&Case) -> Result<(), Failure>;

/// The kinds that are implemented.
const KINDS: &[(&str, Run, Run)] = &[
    ("window_sums", windows::sums::<f64>, windows::sums::<f32>),
    ("torus_distance", windows::distance::<f64>, windows::distance::<f32>),
    ("cg_e_step", grid::e_step::<f64>, grid::e_step::<f32>),
    ("cg_fit", grid::fit::<f64>, grid::fit::<f32>),
    ("cg_fit_factored", grid::fit::<f64>, grid::fit::<f32>),
    ("mixture_fit", grid::mixture::<f64>, grid::mixture::<f32>),
    ("cg_classifier", labels::classifier::<f64>, labels::classifier::<f32>),
    ("grid_scores", grid::scores::<f64>, grid::scores::<f32>),
    ("ccg_infer", componential::infer::<f64>, componential::infer::<f32>),
    ("ccg_fit", componential::fit::<f64>, componential::fit::<f32>),
    ("gtm_basis", gtm::basis::<f64>, gtm::basis::<f32>),
    ("gtm_baselines", gtm::baselines::<f64>, gtm::baselines::<f32>),
    ("zip_regression", gtm::regression::<f64>, gtm::regression::<f32>),
    ("zipgtm_em", gtm::em::<f64>, gtm::em::<f32>),
    ("zipgtm_estep", gtm::e_step::<f64>, gtm::e_step::<f32>),
    ("zipgtm_init", gtm::start::<f64>, gtm::start::<f32>),
    ("zipgtm_stress", gtm::stress::<f64>, gtm::stress::<f32>),
    ("hmm_infer", hmm::infer::<f64>, hmm::infer::<f32>),
    ("hmm_fit", hmm::fit::<f64>, hmm::fit::<f32>),
    ("hmm_scores", hmm::scores::<f64>, hmm::scores::<f32>),
    ("markov_chain", hmm::chain::<f64>, hmm::chain::<f32>),
    ("lda_infer", lda::infer::<f64>, lda::infer::<f32>),
    ("lda_fit", lda::fit::<f64>, lda::fit::<f32>),
    ("lda_scores", lda::scores::<f64>, lda::scores::<f32>),
    ("cg_labels", labels::labels::<f64>, labels::labels::<f32>),
    ("efh_exact", harmonium::exact::<f64>, harmonium::exact::<f32>),
    ("efh_langevin", harmonium::langevin::<f64>, harmonium::langevin::<f32>),
    ("efh_empirical_bayes", harmonium::bayes::<f64>, harmonium::bayes::<f32>),
    ("efh_cftp", harmonium::cftp::<f64>, harmonium::cftp::<f32>),
    ("efh_dwh", harmonium::dual_wing::<f64>, harmonium::dual_wing::<f32>),
    ("efh_rap", harmonium::rate_adapting::<f64>, harmonium::rate_adapting::<f32>),
    ("efh_mh", harmonium::metropolis::<f64>, harmonium::metropolis::<f32>),
];

/// A line that the test harness does not capture.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "golden: {line}");
}

fn folder() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    match env::var_os("GOLDEN_DIR") {
        Some(folder) => Some(root.join(folder)),
        None => Some(root.join("../shared/golden")).filter(|folder| folder.is_dir()),
    }
}

#[test]
fn golden_vectors() {
    let Some(folder) = folder() else {
        say("SKIPPED, no folder ../shared/golden; name one with GOLDEN_DIR");
        return;
    };
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder's entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();

    let (mut ran, mut later, mut failures) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for file in &files {
        let case = match Case::read(file) {
            Ok(case) => case,
            Err(failure) => {
                failures.push(format!("{}: {failure}", file.display()));
                continue;
            }
        };
        let Some((kind, double, single)) = KINDS.iter().find(|(kind, ..)| *kind == case.kind()) else {
            *later.entry(case.kind().to_owned()).or_insert(0) += 1;
            continue;
        };
        *ran.entry(*kind).or_insert(0) += 1;
        for (float, run) in [("f64", double), ("f32", single)] {
            if let Err(failure) = run(&case) {
                failures.push(format!("{} in {float}: {failure}", file.display()));
            }
        }
    }
    for (kind, cases) in &ran {
        say(&format!("{kind}: {cases} cases, each in f64 and f32"));
    }
    for (kind, cases) in &later {
        say(&format!("{kind}: {cases} cases of a kind that is not implemented yet"));
    }
    let (total, files) = (ran.values().sum::<usize>(), files.len());
    say(&format!("ran {total} cases of {files} files, {} failures", failures.len()));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(total > 0, "no case of an implemented kind in {}", folder.display());
}

/// Whether a case of float type `T` is a case in single precision.
fn is_single<T: Real>() -> bool {
    size_of::<T>() == 4
}
