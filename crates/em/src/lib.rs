//! To come.
#![no_std]
#![forbid(unsafe_code)]

mod contracts;
pub use crate::contracts::{Anneal, Fit, FreeEnergy, Table, Tables, TablesMut};
