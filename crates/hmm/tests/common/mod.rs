//! Random problems and naive references: those of `countgrid_hmm::testing`.
#![allow(unused_imports, unreachable_pub, reason = "every test file includes this module and uses a part")]

pub use countgrid_hmm::testing::*;
