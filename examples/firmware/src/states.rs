//! A hidden Markov model in flash: where a strand of DNA changes from one composition to another.

use countgrid_counts::Sequence;
use countgrid_hmm::{Grouping, Hmm, Posterior, Shape, Terms, constant};
use countgrid_scores::nfess;

use crate::{error::Error, say};

const STATES: usize = 2;
const SHAPE: Shape = constant!(Shape::new(STATES, 4));
/// `start`, `trans` `[from][to]`, `emit` `[symbol][state]`; symbols are A, C, G, T, and state 1 is rich in G and C.
static TABLES: [f32; SHAPE.hmm_len()] = [
    0.5, 0.5, //
    0.9, 0.1, 0.1, 0.9, //
    0.4, 0.1, 0.1, 0.4, 0.1, 0.4, 0.4, 0.1,
];
const LENGTH: usize = 12;
/// ATTATAGCGGCC
static STRAND: [u8; LENGTH] = [0, 3, 3, 0, 3, 0, 2, 1, 2, 2, 1, 1];

/// Prints the posterior of state 1 at every position, and the terms of the free energy per symbol (nFESS).
pub(crate) fn all() -> Result<(), Error> {
    let hmm = Hmm::new(SHAPE, TABLES.as_slice())?;
    let strand = Sequence::new(4, &STRAND)?;
    let mut scratch = [0.0; SHAPE.scratch_len::<f32>(LENGTH)];
    let mut gamma = [0.0; LENGTH * STATES];
    let log_p = hmm.posterior(&strand, &mut gamma, &mut scratch)?;
    say!("strand of {} symbols: log-likelihood {:.4}", LENGTH, log_p);
    for (position, states) in gamma.chunks_exact(STATES).enumerate() {
        say!("  position {}: {:.4} in state 1", position, states.last().copied().unwrap_or_default());
    }
    let mut terms = [0.0; 3 * STATES + 2 * STATES * STATES];
    let per_symbol =
        nfess(&Terms::new(&hmm, Posterior::Exact, Grouping::Summed), &strand, &mut terms, &mut scratch)?;
    say!("  free energy per symbol {:.4}: {:.4?}", per_symbol, terms);
    Ok(())
}
