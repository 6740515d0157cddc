//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod edges;
mod identities;
mod steps;
mod threads;
mod unlikely;
