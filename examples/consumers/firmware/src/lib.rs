//! The posterior of a bag of counts on a small grid, all of it on the stack.
#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

use countgrid::counts::Bag;
use countgrid::grid::{Grid, LogHistograms, Shape, constant};

/// Six cells in a circle, windows of two, three features.
pub const SHAPE: Shape<1> = constant!(Shape::from_sides([6], [2], 3));

/// `pi` `[feature][cell]`, then the prior `[cell]`.
pub const TABLES: [f32; 24] = [
    0.8, 0.8, 0.1, 0.1, 0.1, 0.1, //
    0.1, 0.1, 0.8, 0.8, 0.2, 0.1, //
    0.1, 0.1, 0.1, 0.1, 0.7, 0.8, //
    0.125, 0.25, 0.125, 0.125, 0.25, 0.125,
];

/// Counts of some features.
pub const BAGS: [(&[u32], &[u16]); 4] = [(&[0], &[5]), (&[1, 2], &[2, 2]), (&[2], &[9]), (&[], &[])];

/// Writes the posterior `[window]` of a bag and returns the log evidence in nats.
///
/// # Errors
/// Features out of order or of range; counts that are not numbers.
pub fn place(
    (features, counts): (&[u32], &[u16]),
    posterior: &mut [f32; SHAPE.cells()],
) -> Result<f32, countgrid::Error> {
    let mut scratch = [0.0; SHAPE.scratch_len::<f32>(1)];
    let mut packed = [0.0; SHAPE.histograms_len::<f32>()];
    LogHistograms::pack(&Grid::new(SHAPE, TABLES)?, &mut packed, &mut scratch)?;
    let histograms = LogHistograms::new(SHAPE, packed.as_slice())?;
    Ok(histograms.posterior(&Bag::new(SHAPE.features(), features, counts)?, 0, posterior, &mut scratch)?)
}

/// Calls `line` with the bits of the evidence and of the posterior of every bag.
///
/// # Errors
/// As [`place`].
pub fn all(mut line: impl FnMut(u32, [u32; SHAPE.cells()])) -> Result<(), countgrid::Error> {
    for bag in BAGS {
        let mut posterior = [0.0; SHAPE.cells()];
        let evidence = place(bag, &mut posterior)?;
        line(evidence.to_bits(), posterior.map(f32::to_bits));
    }
    Ok(())
}
