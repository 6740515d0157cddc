//! The random models of `testing` exist, whatever their couplings, and have the sizes and deviations they were asked for.

use crate::common;

use common::*;
use countgrid_harmonium::Shape;

#[test]
fn couplings_of_any_size_give_a_model() {
    for couplings in [0.01, 0.3, 3.0, 100.0] {
        for seed in 0..20 {
            let shape = Shape::dual_wing(3, 2, 2).unwrap();
            let model = random(shape, 0.5, couplings, 2, seed); // checked as all models are
            assert_eq!(model.sizes(), [1.0, 2.0, 1.0]);
            assert!(model.u().iter().all(|u| *u != 0.0));
        }
    }
}

#[test]
fn small_couplings_are_as_they_were_drawn() {
    let model = random(Shape::dual_wing(50, 50, 4).unwrap(), 0.5, 0.01, 1, 1);
    for couplings in [model.w(), model.u()] {
        let n = couplings.len() as f64;
        let square = couplings.iter().map(|w| w * w).sum::<f64>() / n;
        close("variance", square, 1e-4, 1e-4 * (2.0 / n).sqrt());
    }
}
