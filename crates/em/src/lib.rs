//! Expectation maximisation over any model: tables, fitting, free energy.
//!
//! Three contracts, and the generic code that is written against them.
//!
//! - **Tables**: a model or a statistics object is a layout and one flat buffer. [`Tables`], [`TablesMut`]; look
//!   up, clear, scale, merge, copy with [`TablesExt`], [`TablesMutExt`]; [`TableBuffer`] is such tables
//!   without a model.
//! - **Fitting**: [`Fit`] is an E-step that adds statistics and an M-step that reads them. [`EmPlan::fit`] is the
//!   loop, with [annealing](EmPlan::fit_annealed) and seeded [`Restarts`], and [`Iterations`] the same one step at a
//!   time; for mini-batches there are [`StepwisePlan::fit`], [`StepwiseFit`] and [`Stepwise`]. All take the model, the data,
//!   the statistics, what is special about the fit, and the observer last. [`WithScratch`] puts scratch beside statistics,
//!   [`coinciding`] and [`perturb_tables`] help components that annealing has merged. [`parallel`] shares work on tables
//!   among threads.
//! - **Free energy**: [`FreeEnergy`], the named terms of a datum; and [`ExpectedCounts`], from which gradients are computed.
//!
//! ```
//! use core::convert::Infallible;
//! use countgrid_em::{EmOptions, Fit, Learn, Table, TableBuffer, Tables, TablesMut, no_observer};
//!
//! struct Poisson { rate: f64 }
//!
//! impl Fit<[f64]> for Poisson {
//!     fn expectation(&self, batch: &[f64], sums: &mut Self::Statistics) -> Result<f64, Infallible> {
//!         let tokens: f64 = batch.iter().sum();
//!         sums.buffer_mut()[0] += batch.len() as f64;
//!         sums.buffer_mut()[1] += tokens;
//!         Ok(self.rate * batch.len() as f64 - tokens * self.rate.ln())
//!     }
//! }
//! impl Learn for Poisson {
//!     type Statistics = TableBuffer<f64, [Table; 1], [f64; 2]>;
//!     type Error = Infallible;
//!     fn maximization(&mut self, sums: &mut Self::Statistics) -> Result<(), Infallible> {
//!         self.rate = sums.buffer()[1] / sums.buffer()[0];
//!         Ok(())
//!     }
//! }
//!
//! let mut sums = TableBuffer::new([Table::new("sums", 1, 2)], [0.0; 2])?;
//! let mut model = Poisson { rate: 1.0 };
//! EmOptions::default().check()?.fit(&mut model, &[2.0, 3.0][..], &mut sums, no_observer)?;
//! assert_eq!(model.rate, 2.5);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Many blocks, many machines
//!
//! With the feature `alloc`, statistics of blocks of bags ([`BLOCK_BAGS`]) are added up in one fixed binary tree:
//! [`expectation_by_blocks`] and [`BlockExpectation`] for blocks that are read one after the other, [`ByBlocks`] for the
//! loops above, [`Reduction`], [`PartialSum`] and [`merge_parts`] where some were computed elsewhere. A [`Stop`] ends them before
//! the next block. The sums of a
//! collection then do not depend on where each block was computed.
//!
//! [`ParallelByBlocks`] computes blocks on threads, in all of the loops and for any model: one that is fitted to a slice, as above, is
//! then fitted to [`Chunks`] of it.
//!
//! [docs/model.md](https://github.com/countgrid/countgrid/blob/main/docs/model.md) goes from an empty
//! file to a mixture that is fitted in every way and gives features.
//!
//! # Features
//!
//! * `std` (default): implies `alloc`, and is passed on to the crates below.
//! * `alloc`: the reduction over blocks, which owns tables. Nothing else allocates.
//! * `ndarray`, `nalgebra`: tables as matrices of these libraries, without a copy (`TablesNdarray`,
//!   `TablesNalgebra`).
//! * `testing`: checks of the contracts, for tests of models.
//! * `rayon`: [`parallel`] and [`ParallelByBlocks`] use all threads of the pool that they are called in, and there is
//!   `expectation_of_blocks_in_parallel`. No result depends on it.
//! * `serde`: options, plans, schedules, outcomes and states are read and written. What a constructor checks is checked when
//!   it is read.
//!
//! On a Cortex-M4F: code and stack of the main operations are in
//! [docs/microcontroller.md](https://github.com/countgrid/countgrid/blob/main/docs/microcontroller.md).
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-em/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "rayon")]
extern crate std;

#[cfg(feature = "alloc")]
mod block_source;
#[cfg(feature = "alloc")]
mod blocks;
mod buffer;
#[cfg(feature = "alloc")]
mod by_blocks;
mod contracts;
mod fit;
mod iterations;
mod options;
pub mod parallel;
#[cfg(feature = "rayon")]
mod parallel_blocks;
#[cfg(feature = "alloc")]
mod parallel_by_blocks;
mod perturbation;
#[cfg(feature = "alloc")]
mod reduction;
mod restarts;
#[cfg(feature = "serde")]
mod serialised;
mod stepwise;
#[cfg(feature = "alloc")]
mod stop;
mod tables;
#[cfg(feature = "nalgebra")]
mod tables_nalgebra;
#[cfg(feature = "ndarray")]
mod tables_ndarray;
#[cfg(feature = "testing")]
pub mod testing;
mod with_scratch;

#[cfg(feature = "rayon")]
pub use crate::parallel_blocks::expectation_of_blocks_in_parallel;
#[cfg(feature = "nalgebra")]
pub use crate::tables_nalgebra::{TableView, TableViewMut, TablesNalgebra, TablesNalgebraMut};
#[cfg(feature = "ndarray")]
pub use crate::tables_ndarray::{TablesNdarray, TablesNdarrayMut};
#[cfg(feature = "alloc")]
pub use crate::{
    block_source::{BlockSource, Chunks},
    blocks::{BlockError, BlockExpectation, BlockStatistics, expectation_by_blocks},
    by_blocks::ByBlocks,
    parallel_by_blocks::{ParallelByBlocks, ParallelStatistics},
    reduction::{BLOCK_BAGS, PartialSum, Reduction, ReductionError, merge_parts},
    stop::Stop,
};
pub use crate::{
    buffer::TableBuffer,
    contracts::{Anneal, Distributions, ExpectedCounts, Fit, FreeEnergy, Learn, Table, Tables, TablesMut},
    fit::{End, FitError, Outcome, Progress, no_observer},
    iterations::Iterations,
    options::{Annealing, EmOptions, EmPlan, OptionError},
    perturbation::{coinciding, noise, perturb_tables},
    restarts::{Best, Restart, Restarts, restart_seed},
    stepwise::{StepSize, Stepwise, StepwiseFit, StepwiseOptions, StepwisePlan, StepwiseState},
    tables::{TablesError, TablesExt, TablesMutExt, elements},
    with_scratch::WithScratch,
};
