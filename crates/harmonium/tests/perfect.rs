//! Ising models of Bernoulli words, by value.

use crate::common;

use common::*;
use countgrid_harmonium::{Harmonium, HarmoniumError as E, IsingModel, Shape};
use countgrid_math::{ln, ln_1p};

#[test]
fn an_ising_model_has_couplings_and_fields() {
    assert_eq!([1, 2, 3].map(IsingModel::<()>::len), [2, 6, 12]);
    let model = random(Shape::words(3, 1).unwrap(), 0.5, 0.5, 1, 1);
    for (len, expected) in [(12, Ok(())), (11, Err(11)), (13, Err(13)), (27, Err(27))] {
        let found = IsingModel::new(&model, vec![0.0; len]).map(|_| ());
        assert_eq!(found, expected.map_err(|found| E::Length { table: "couplings", expected: 12, found }));
    }
    // Features have no place in it.
    let dual = random(Shape::dual_wing(2, 1, 1).unwrap(), 0.1, 0.1, 1, 1);
    let refused = IsingModel::new(&dual, vec![0.0; 6]).map(|_| ());
    assert_eq!(refused, Err(E::Wings { needs: "a single wing of normal topics" }));
    assert_eq!(
        dual.naive_log_partition(&[0.0], &mut [0.0]),
        Err(E::Wings { needs: "a single wing of normal topics" })
    );
}

#[test]
fn a_sweep_of_other_lengths_does_nothing() {
    let model = random(Shape::words(3, 1).unwrap(), 0.5, 0.5, 1, 1);
    let ising = IsingModel::new(&model, vec![0.0; 12]).unwrap();
    let lengths = [2, 3, 4];
    for (u, low, high) in
        lengths.into_iter().flat_map(|u| lengths.map(|low| lengths.map(|high| (u, low, high)))).flatten()
    {
        let (mut below, mut above) = (vec![7.0; low], vec![8.0; high]);
        ising.sweep(&vec![0.5; u], &mut below, &mut above);
        let untouched = below.iter().all(|&x| x == 7.0) && above.iter().all(|&x| x == 8.0);
        assert_eq!(untouched, (u, low, high) != (3, 3, 3), "{u} {low} {high}");
    }
}

/// On if `log(u / (1 - u))` is below the field, and not at it.
#[test]
fn a_word_at_its_threshold_is_off() {
    for u in [0.2, 0.5, 0.9] {
        let field: f64 = ln(u) - ln_1p(-u);
        for (alpha, on) in [(field.next_down(), 0.0), (field, 0.0), (field.next_up(), 1.0)] {
            let model = Harmonium::new(Shape::words(1, 1).unwrap(), [alpha, 0.0, 1.0], &mut []).unwrap();
            let ising = IsingModel::new(&model, [0.0; 2]).unwrap();
            let (mut low, mut high) = ([0.0], [1.0]);
            ising.sweep(&[u], &mut low, &mut high);
            assert_eq!((low, high), ([on], [on]), "{u}");
        }
    }
}
