//! All tests of the crate in one program, so that what they instantiate is compiled once.

#[allow(dead_code, reason = "its `main` is for who runs it")]
#[path = "../examples/poisson_mixture.rs"]
mod poisson_mixture;

mod free_energy;
mod gradient;
mod model_of_ones_own;
mod model_page;
mod scores;
