//! A componential counting grid beside latent Dirichlet allocation with as many topics as it has cells: seconds of an
//! iteration on the same bags, with the same number of sweeps, in one run.
//!
//!     cargo run --release --bin componential -- TABLE [SIDE [WINDOW [SWEEPS [ITERATIONS [CONCENTRATION]]]]]
//!
//! TABLE is a table of documents as `countgrid-io` reads it; words with the defaults of `countgrid-text`.
//! Both fits are in f32, from random starts, on SIDE x SIDE cells or topics (24), windows of WINDOW x WINDOW (5), and make
//! SWEEPS sweeps a bag (20) without a test of convergence, ITERATIONS times (10). The grid's prior is worth CONCENTRATION
//! tokens (5), and so is the other's. Each bag starts afresh from the even gamma, and in the rows `warm` where its last
//! iteration ended. Lines are printed iteration by iteration; times are of the process.

use std::{env, error::Error};

use countgrid_benches::timed;
use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::{Fit, Learn, TablesMutExt};
use countgrid_grid::componential::{ComponentialGrid, Inference, Learner, Options, Statistics};
use countgrid_grid::{Shape, UpdateRule};
use countgrid_io::{DataSet, ReadOptions, read};
use countgrid_text::{TextOptions, bags};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Documents of a table as bags.
fn documents(path: &str) -> Result<CsrBuf<u32>, Box<dyn Error>> {
    let (DataSet::Documents(documents), _) = read(path, &ReadOptions::default())? else {
        return Err("documents are needed".into());
    };
    let words = bags(documents.iter().map(|document| document.text.as_str()), &TextOptions::default())?;
    Ok(words.bags)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let path = arguments.first().ok_or("a table of documents")?;
    let number = |place: usize, default: f64| -> Result<f64, Box<dyn Error>> {
        Ok(arguments.get(place).map_or(Ok(default), |text| text.parse())?)
    };
    let (side, window) = (number(1, 24.0)? as usize, number(2, 5.0)? as usize);
    let (sweeps, iterations) = (number(3, 20.0)? as usize, number(4, 10.0)? as usize);
    let concentration = number(5, 5.0)?;
    let bags = documents(path)?;
    let (features, cells) = (bags.features(), side * side);
    println!("{} bags, {features} features, {} nonzeros", bags.len(), bags.nonzeros());
    println!("{side} x {side} cells or topics, windows of {window} x {window}, {sweeps} sweeps");

    let inference = Inference { sweeps, tolerance: 0.0 };
    let shape = Shape::from_sides([side, side], [window, window], features)?;
    let options =
        Options { inference, pseudocount: 0.01, update_rule: UpdateRule::Exact, ..Options::default() };
    for warm in [false, true] {
        let mut grid = ComponentialGrid::<f32, _, 2>::uniform(shape, concentration)?;
        grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
        let mut gammas = vec![0.0; if warm { bags.len() * cells } else { 0 }];
        for (gamma, bag) in gammas.chunks_mut(cells).zip(0..) {
            gamma.fill(((concentration + bags.total(bag)) / cells as f64) as f32);
        }
        let mut learner = Learner::from_grid(grid, options)?;
        let mut statistics = Statistics::allocate(shape, 64)?;
        for iteration in 0..iterations {
            statistics.clear();
            let (free_energy, e_step) = timed(|| match warm {
                true => learner.expectation_from(&bags, &mut gammas, &mut statistics),
                false => learner.expectation(&bags, &mut statistics),
            });
            let (outcome, m_step) = timed(|| learner.maximization(&mut statistics));
            outcome?;
            let name = if warm { "componential, warm" } else { "componential" };
            println!(
                "{name} {iteration}: E-step {:.3} s, M-step {:.3} s, {:.4} nats a token",
                e_step.cpu,
                m_step.cpu,
                free_energy? / bags.tokens()
            );
        }
    }

    use countgrid_lda as lda;
    let inference = lda::Inference { sweeps, tolerance: 0.0 };
    let shape = lda::Shape::new(cells, features)?;
    let mut model = lda::Lda::<f32, _>::uniform(shape, concentration / cells as f64)?;
    model.randomize(&mut ChaCha8Rng::seed_from_u64(1));
    let options = lda::Options { inference, smoothing: 0.01, ..lda::Options::default() };
    let mut learner = lda::Learner::new(model, options)?;
    let mut statistics = lda::Statistics::allocate(shape, 64)?;
    for iteration in 0..iterations {
        statistics.clear();
        let (free_energy, e_step) = timed(|| learner.expectation(&bags, &mut statistics));
        let (outcome, m_step) = timed(|| learner.maximization(&mut statistics));
        outcome?;
        println!(
            "lda {iteration}: E-step {:.3} s, M-step {:.3} s, {:.4} nats a token",
            e_step.cpu,
            m_step.cpu,
            free_energy? / bags.tokens()
        );
    }
    Ok(())
}
