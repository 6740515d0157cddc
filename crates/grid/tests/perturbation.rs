//! Perturbation between temperatures, and components that coincide.

use countgrid_counts::Dense;
use countgrid_em::{Anneal, Annealing, EmOptions, End, Fit, Learn, Tables, no_observer};
use countgrid_grid::{Grid, Learner, Options, Shape, Statistics};
use countgrid_math::AlignedVec;
use countgrid_torus::{Torus, Windows};

type Owned<const D: usize> = Learner<f64, AlignedVec<f64>, D>;

fn shape<const D: usize>(extents: [usize; D], sides: [usize; D]) -> Shape<D> {
    Shape::new(Windows::new(Torus::new(extents).unwrap(), sides).unwrap(), 4).unwrap()
}

/// All cells alike.
fn flat<const D: usize>(shape: Shape<D>) -> Owned<D> {
    Learner::from_grid(Grid::uniform(shape).unwrap(), Options::default()).unwrap()
}

fn perturbed_tables_are_consistent<const D: usize>(shape: Shape<D>) {
    let (mut learner, mut statistics) = (flat(shape), Statistics::allocate(shape, 1).unwrap());
    learner.perturb(&mut statistics, 0.1, 5);
    let (cells, pi) = (shape.cells(), learner.grid().buffer());
    for cell in 0..cells {
        let entries: Vec<_> = (0..4).map(|z| pi[z * cells + cell]).collect();
        // Four products and a quotient each: within 8 roundings.
        assert!((entries.iter().sum::<f64>() - 1.0).abs() <= 8.0 * f64::EPSILON);
        assert!(entries.iter().any(|x| *x != 0.25) && entries.iter().all(|x| (x - 0.25).abs() < 0.25 * 0.25));
    }
    assert!(pi[4 * cells..].iter().all(|&p| p == 1.0 / cells as f64), "the prior is as it was");
    // The inference table is that of the perturbed grid.
    let copy = Grid::new(shape, AlignedVec::from_slice(pi).unwrap()).unwrap();
    let fresh = Learner::from_grid(copy, Options::default()).unwrap();
    let counts = [3_u8, 0, 1, 2, 0, 5, 5, 0];
    let bags = Dense::new(4, &counts).unwrap();
    let mut other = Statistics::allocate(shape, 1).unwrap();
    statistics.clear();
    assert_eq!(learner.expectation(&bags, &mut statistics), fresh.expectation(&bags, &mut other));
    assert_eq!(statistics.buffer(), other.buffer());
}

#[test]
fn perturbed_grids_are_grids() {
    perturbed_tables_are_consistent(shape([3, 5], [2, 2]));
    perturbed_tables_are_consistent(shape([7], [1]));
}

#[test]
fn statistics_of_another_shape_perturb_nothing() {
    let (mut learner, mut statistics) =
        (flat(shape([6], [2])), Statistics::allocate(shape([5], [2]), 1).unwrap());
    let before = learner.grid().buffer().to_vec();
    learner.perturb(&mut statistics, 0.1, 5);
    assert_eq!(learner.grid().buffer(), before);
}

#[test]
fn a_flat_mixture_stays_flat_and_says_so_unless_it_is_perturbed() {
    let counts = [9_u8, 0, 1, 0, 8, 1, 0, 0, 0, 9, 0, 2, 0, 1, 7, 9, 1, 0, 8, 8];
    let (shape, bags) = (shape([3], [1]), Dense::new(4, &counts).unwrap());
    let plan = EmOptions { tolerance: 1e-9, iterations: 300 }.check().unwrap();
    let schedule = Annealing::geometric(0.1, 20).unwrap();
    let fit = |schedule: Annealing| {
        let (mut learner, mut statistics) = (flat(shape), Statistics::allocate(shape, 1).unwrap());
        plan.fit_annealed(&mut learner, &bags, &mut statistics, &schedule, no_observer).unwrap()
    };
    let merged = fit(schedule);
    assert_eq!((merged.end, merged.coinciding), (End::Converged, Some(2)));
    let parted = fit(schedule.with_perturbation(0.05, 3).unwrap());
    assert_eq!((parted.end, parted.coinciding), (End::Converged, Some(0)));
    assert!(parted.objective < merged.objective - 10.0, "{parted:?} {merged:?}");
    // Windows of several cells share them: no number means anything.
    assert_eq!(flat(self::shape([3], [2])).coinciding_components(), None);
}
