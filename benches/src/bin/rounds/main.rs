//! One side of a race: reads commands, a line each, and answers each with a line of JSON, so that another program
//! can time this side and its own in turns, in one run.
//!
//! | command | what it does |
//! |---|---|
//! | `draw SEED [bags=N] [features=N] [side=N] [window=N]` | draws the standard corpus, or one of other sizes |
//! | `dense SEED bags=N features=N [side=N] [window=N]` | draws bags of uniform counts, 0 to 10 |
//! | `read DIR FEATURES` | reads what `bags` writes |
//! | `bags DIR` | writes the bags as `indptr.npy`, `indices.npy`, `counts.npy` |
//! | `start SEED` | a random grid of `side` x `side` cells |
//! | `run N` | N iterations, with the log evidence per token before each |
//! | `bound` | the log evidence per token, in nats, of the present grid |
//! | `state DIR` | writes the grid as `pi.npy` and its `log_h.npy`, `[feature][cell]` |
//! | `time e_step`, `time e_step_full` | one E-step; `full` scores every window |
//! | `time m_step`, `time iteration` | one M-step on the sums of the present grid; both steps |
//! | `time fit SEED N` | N iterations from a random start, with everything that has to be set up |
//! | `time cd1 TOPICS` | an epoch of CD-1 of a harmonium on the bags, made binary, in batches of 100; begun if need be |
//! | `time window_sums`, `time window_sums_1d`, `time copy` | over `[feature][cell]`; the same bytes copied |
//! | `sums DIR` | writes the first rows of that table and of its sums: `table.npy`, `sums.npy` |
//! | `topics SEED K` | a random model of K topics |
//! | `topics run N` | N iterations of it, with the bound per token before each |
//! | `topics state DIR` | writes the expected counts of its topics, `[topic][feature]`, as `topics.npy` |
//! | `time topics` | one iteration of it, which is then taken back |
//! | `sequences SEED [sequences=N] [length=N] [states=N] [symbols=N]` | draws sequences and a hidden Markov model |
//! | `sequences_state DIR` | writes them as `x.npy`, `lengths.npy`, `start.npy`, `trans.npy`, `emit.npy` |
//! | `time baum_welch` | one iteration from that model |
//! | `bandwidth` | second-level cache: in sequence, and in the E-step's order |
//! | `memory` | the most memory this process has had, in bytes |
//! | `machine` | instruction set |
//!
//! `time` answers with `wall` and `cpu`, in seconds of one run.
#![forbid(unsafe_code)]

mod harmonium;
mod problem;
mod sequences;
mod session;
mod table;
mod topics;

use std::{
    error::Error,
    io::{self, BufRead, Write},
};

use serde_json::{Value, json};

use crate::session::Session;

fn main() -> Result<(), Box<dyn Error>> {
    let mut session = Session::default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = session.answer(&words).unwrap_or_else(|error| json!({ "error": error.to_string() }));
        say(&answer)?;
    }
    Ok(())
}

fn say(answer: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{answer}")?;
    out.flush()
}
