//! What the models other than grids do on a device, a function for each main operation. Tables and data are the caller's;
//! `None` is what was refused.

use countgrid_counts::{Bag, Sequence};
use countgrid_em::FreeEnergy;
use countgrid_gtm::{EmissionModel, Emissions, Inflation};
use countgrid_harmonium::Harmonium;
use countgrid_hmm::{Grouping, Hmm, Posterior, Terms};
use countgrid_lda::{Inference, Lda};
use countgrid_torus::constant;

pub const WORDS: usize = 500;
pub const TOPICS: usize = 8;
pub const POINTS: usize = 25;
pub const STATES: usize = 8;
pub const SYMBOLS: usize = 4;
/// Terms of a free energy by state and by pair of states.
pub const TERMS: usize = 3 * STATES + 2 * STATES * STATES;

pub const PATHS: countgrid_hmm::Shape = constant!(countgrid_hmm::Shape::new(STATES, SYMBOLS));
pub const MIXED: countgrid_lda::Shape = constant!(countgrid_lda::Shape::new(TOPICS, WORDS));
pub const PLANE: countgrid_gtm::Shape =
    constant!(countgrid_gtm::Shape::new(EmissionModel::Zip(Inflation::Document), POINTS, 2, 10, WORDS));
pub const WINGS: countgrid_harmonium::Shape = constant!(countgrid_harmonium::Shape::words(WORDS, TOPICS));

#[inline(never)]
pub fn hmm_posterior(table: &[f32], x: &[u8], gamma: &mut [f32], scratch: &mut [f32]) -> Option<f64> {
    Hmm::new(PATHS, table).ok()?.posterior(&Sequence::new(SYMBOLS, x).ok()?, gamma, scratch).ok()
}
#[inline(never)]
pub fn hmm_viterbi(table: &[f32], x: &[u8], path: &mut [usize], scratch: &mut [f32]) -> Option<f64> {
    Hmm::new(PATHS, table).ok()?.viterbi(&Sequence::new(SYMBOLS, x).ok()?, path, scratch).ok()
}
#[inline(never)]
pub fn hmm_terms(table: &[f32], x: &[u8], terms: &mut [f32], scratch: &mut [f32]) -> Option<f32> {
    let hmm = Hmm::new(PATHS, table).ok()?;
    let terms_of = Terms::new(&hmm, Posterior::Exact, Grouping::Summed);
    terms_of.free_energy_terms(&Sequence::new(SYMBOLS, x).ok()?, terms, scratch).ok()
}
#[inline(never)]
pub fn lda_posterior(
    table: &[f32],
    bag: &Bag<'_, u16>,
    theta: &mut [f32],
    scratch: &mut [f32],
) -> Option<f64> {
    let lda = Lda::new(MIXED, table).ok()?;
    let posterior = lda.posterior(bag, 0, Inference::default(), scratch).ok()?;
    posterior.proportions(theta).ok()?;
    Some(posterior.bound())
}
#[inline(never)]
pub fn gtm_posterior(table: &[f32], bag: &Bag<'_, u16>, q: &mut [f32], x: &mut [f32]) -> Option<f32> {
    let emissions = Emissions::new(PLANE, table).ok()?;
    let log_p = emissions.posterior(bag, 0, q, &mut []).ok()?;
    emissions.mean(q, x).ok()?;
    Some(log_p)
}
#[inline(never)]
pub fn harmonium_topics(table: &[f32], bag: &Bag<'_, u16>, topics: &mut [f32]) -> Option<()> {
    Harmonium::new(WINGS, table, &mut []).ok()?.topics_of_words(bag, 0, topics, &mut []).ok()
}
