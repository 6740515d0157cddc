//! Grids to begin with: what is drawn, in which order, and what a finer grid takes from a coarser one.

use countgrid_grid::{Grid, Shape};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

const FEATURES: usize = 3;

fn shape(cells: usize) -> Shape<1> {
    Shape::from_sides([cells], [2.min(cells)], FEATURES).unwrap()
}

/// Uniform in `[0, 1)`, as documented: the upper 53 bits of a word.
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / 2.0f64.powi(53)
}

/// Entries `[feature][cell]` before and after they are normalised, drawn for sixteen cells at a time, feature by feature.
fn columns(cells: usize, mut draw: impl FnMut(usize, usize) -> f64) -> Vec<f64> {
    let mut entries = vec![0.0; FEATURES * cells];
    for first in (0..cells).step_by(16) {
        for z in 0..FEATURES {
            (first..cells.min(first + 16)).for_each(|cell| entries[z * cells + cell] = draw(z, cell));
        }
    }
    let sum = |cell: usize| entries.iter().skip(cell).step_by(cells).sum::<f64>();
    let sums: Vec<f64> = (0..cells).map(sum).collect();
    entries.iter().zip(sums.iter().cycle()).map(|(entry, sum)| entry / sum).collect()
}

fn close(found: &Grid<f64, impl AsRef<[f64]>, 1>, expected: &[f64]) -> bool {
    let planes = expected.chunks_exact(found.shape().cells()).enumerate();
    // Two roundings of an entry, three of its sum, one of the quotient.
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 8.0 * f64::EPSILON * b;
    planes.into_iter().all(|(z, plane)| found.plane(z).iter().zip(plane).all(near))
}

#[test]
fn random_entries_are_one_and_a_uniform_number() {
    for cells in [1, 5, 16, 17, 40] {
        let mut grid = Grid::<f64, _, 1>::uniform(shape(cells)).unwrap();
        grid.randomize(&mut ChaCha8Rng::seed_from_u64(3));
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        assert!(close(&grid, &columns(cells, |_, _| 1.0 + unit(&mut rng))), "{cells} cells");
        assert!(grid.prior().iter().all(|&p| p == 1.0 / cells as f64));
    }
}

#[test]
fn finer_entries_are_coarse_ones_with_noise() {
    for (coarse_cells, cells) in [(1, 1), (3, 7), (12, 24), (20, 40), (40, 9)] {
        let mut coarse = Grid::<f64, _, 1>::uniform(shape(coarse_cells)).unwrap();
        coarse.randomize(&mut ChaCha8Rng::seed_from_u64(4));
        for noise in [0.0, 0.15, 0.9] {
            let mut fine = Grid::<f64, _, 1>::uniform(shape(cells)).unwrap();
            fine.refine(&coarse, noise, &mut ChaCha8Rng::seed_from_u64(5)).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let expected = columns(cells, |z, cell| {
                coarse.plane(z)[cell * coarse_cells / cells] * (1.0 + noise * (2.0 * unit(&mut rng) - 1.0))
            });
            assert!(close(&fine, &expected), "{coarse_cells} to {cells} cells, {noise}");
        }
    }
}

/// A cell has its share of the prior of the coarse cell that it lies in.
#[test]
fn priors_are_shared_out() {
    let refined = |prior: &[f64], cells: usize| {
        let planes = vec![1.0 / FEATURES as f64; FEATURES * prior.len()];
        let coarse = Grid::new(shape(prior.len()), [planes, prior.to_vec()].concat()).unwrap();
        let mut fine = Grid::<f64, _, 1>::uniform(shape(cells)).unwrap();
        fine.refine(&coarse, 0.1, &mut ChaCha8Rng::seed_from_u64(6)).unwrap();
        fine.prior().to_vec()
    };
    assert_eq!(refined(&[0.75, 0.25], 4), [0.375, 0.375, 0.125, 0.125]);
    assert_eq!(refined(&[0.5, 0.25, 0.0, 0.25], 2), [1.0, 0.0], "cells 0 and 2");
    assert_eq!(refined(&[0.0, 0.5, 0.0, 0.5], 2), [0.5, 0.5], "where all is in cells that are skipped");
}
