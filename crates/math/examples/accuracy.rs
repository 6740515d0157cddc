//! The error of every unary `f32` function at every one of the 2³² inputs: a table for `ACCURACY.md`.
//!
//! `cargo run --release -p countgrid-math --example accuracy [FUNCTION...]`, some twenty minutes of CPU time.

use std::time::Instant;

#[path = "../tests/reference/mod.rs"]
mod reference;
use reference::{Errors, FUNCTIONS, Function, Reference, error};

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    println!("| function | largest error, ulp | at | not correctly rounded |");
    println!("|---|---|---|---|");
    let mut failed = false;
    for (name, function, reference) in FUNCTIONS {
        if chosen.is_empty() || chosen.iter().any(|c| c == name) {
            let start = Instant::now();
            let errors = every_input(function, reference);
            let share = 100.0 * errors.misrounded as f64 / 2f64.powi(32);
            println!("| `{name}` | {:.3} | {:e} | {share:.3} % |", errors.worst, errors.at);
            eprintln!(
                "{name}: {:.0} s, {} special results differ",
                start.elapsed().as_secs_f64(),
                errors.special
            );
            failed |= errors.special > 0;
        }
    }
    assert!(!failed, "an infinite or NaN result is not where it should be");
}

fn every_input(function: Function, reference: Reference) -> Errors {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let part = |thread: u64| {
        let mut errors = Errors::default();
        for bits in (thread << 32) / threads..((thread + 1) << 32) / threads {
            let x = f32::from_bits(bits as u32);
            errors += error(x, function(x), reference(f64::from(x)));
        }
        errors
    };
    let mut all = Errors::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        workers.into_iter().for_each(|worker| all += worker.join().expect("a worker ends"));
    });
    all
}
