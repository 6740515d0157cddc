//! To come.
#![no_std]
#![forbid(unsafe_code)]

mod bags;
mod count;
pub use crate::{bags::Bags, count::Count};
