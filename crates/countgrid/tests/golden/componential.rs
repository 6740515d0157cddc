//! Kinds `ccg_infer` and `ccg_fit`.

use countgrid::{
    counts::Dense,
    em::{Fit, Learn, TablesMutExt},
    grid::Shape,
    grid::componential::{
        ComponentialGrid, Inference, Learner, Options, Statistics, WindowMeans, means_len,
        posterior_scratch_len, scratch_len, sums_len,
    },
    math::Real,
};

use crate::{
    case::{Case, Failure, Tolerance},
    windows::{transpose, transpose_back},
};

/// For files without an allowance in f32; see `lda`.
const SINGLE: Tolerance = Tolerance { rel: 1e-3, abs: 1e-3 };

/// One function for each number of axes.
macro_rules! in_its_dimension {
    ($case:expr, $run:ident) => {
        match $case.input("E")?.data.len() {
            1 => $run::<T, 1>($case),
            2 => $run::<T, 2>($case),
            3 => $run::<T, 3>($case),
            axes => Err(Failure(format!("{axes} axes"))),
        }
    };
}

pub fn infer<T: Real>(case: &Case) -> Result<(), Failure> {
    in_its_dimension!(case, infer_in)
}

pub fn fit<T: Real>(case: &Case) -> Result<(), Failure> {
    in_its_dimension!(case, fit_in)
}

/// A model of a case; `pi` is `[P, Z]` there.
fn model<T: Real, const D: usize>(case: &Case, pi: &str) -> Result<ComponentialGrid<T, Vec<T>, D>, Failure> {
    let pi = case.input(pi)?;
    let [cells, features] = pi.shape[..] else { return Err(Failure("pi: not [P, Z]".into())) };
    let mut tables = transpose::<T>(&pi.data, cells)?;
    tables.extend(case.input("alpha")?.data.iter().map(|&alpha| T::from_f64(alpha)));
    let shape = Shape::from_sides(case.sizes::<D>("E")?, case.sizes::<D>("W")?, features)?;
    Ok(ComponentialGrid::new(shape, tables)?)
}

/// So many sweeps, or fewer if one changes nothing.
fn inference(case: &Case) -> Inference {
    Inference { sweeps: case.number("sweeps", 0.0) as usize, tolerance: 0.0 }
}

fn learner<T: Real, const D: usize>(
    grid: ComponentialGrid<T, Vec<T>, D>,
    options: Options,
) -> Result<Learner<T, Vec<T>, D>, Failure> {
    let shape = *grid.shape();
    let means = vec![T::zero(); means_len::<T, D>(&shape)];
    Ok(Learner::new(grid, means, &mut vec![T::zero(); shape.plane_scratch_len()], options)?)
}

fn statistics<T: Real, const D: usize>(shape: Shape<D>) -> Result<Statistics<T, Vec<T>, D>, Failure> {
    let (sums, scratch) = (sums_len::<T, D>(&shape), scratch_len::<T, D>(&shape, 3));
    Ok(Statistics::new(shape, vec![T::zero(); sums], vec![T::zero(); scratch])?)
}

fn infer_in<T: Real, const D: usize>(case: &Case) -> Result<(), Failure> {
    let grid = model::<T, D>(case, "pi")?;
    let (tolerance, shape) = (case.tolerance::<T>(SINGLE)?, *grid.shape());
    let counts = case.input("counts")?.data;
    let bags = Dense::new(shape.features(), &counts)?;
    let (mut gammas, mut tokens, mut elbo) = (Vec::new(), Vec::new(), Vec::new());
    let packed = vec![T::zero(); means_len::<T, D>(&shape)];
    let means = WindowMeans::pack(&grid, packed, &mut vec![T::zero(); shape.plane_scratch_len()])?;
    let mut scratch = vec![T::zero(); posterior_scratch_len::<T, D>(&shape)];
    let mut plane = vec![T::zero(); shape.cells()];
    for bag in 0..counts.len() / shape.features() {
        let posterior = means.posterior(&bags, bag, inference(case), &mut scratch)?;
        elbo.push(posterior.bound());
        posterior.gamma(&mut plane)?;
        gammas.extend_from_slice(&plane);
        posterior.expected_tokens(&mut plane)?;
        tokens.extend_from_slice(&plane);
    }
    let learner = learner(grid, Options { inference: inference(case), ..Options::default() })?;
    let mut statistics = statistics(shape)?;
    let free_energy = learner.expectation(&bags, &mut statistics)?;
    if (free_energy + elbo.iter().sum::<f64>()).abs() > 1e-9 * free_energy.abs() {
        return Err(Failure(format!("free energy {free_energy}, bounds {elbo:?}")));
    }
    let mut counts = Vec::new();
    for feature in 0..shape.features() {
        statistics.window_counts(feature, &mut plane)?;
        counts.extend_from_slice(&plane);
    }
    for name in case.expected_names() {
        match name {
            "gamma" => case.check(name, &gammas, tolerance)?,
            "elbo" => case.check(name, &elbo, tolerance)?,
            "expected_tokens" => case.check(name, &tokens, tolerance)?,
            "window_counts" => case.check(name, &transpose_back(&counts, shape.cells()), tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

fn fit_in<T: Real, const D: usize>(case: &Case) -> Result<(), Failure> {
    let grid = model::<T, D>(case, "pi0")?;
    let (tolerance, shape) = (case.tolerance::<T>(SINGLE)?, *grid.shape());
    let counts = case.input("counts")?.data;
    let bags = Dense::new(shape.features(), &counts)?;
    let options = Options {
        inference: inference(case),
        inner_passes: case.number("inner", 1.0) as usize,
        pseudocount: case.number("pseudocount", 0.0),
        ..Options::default()
    };
    // The first E-step starts at alpha + tokens / P, warm or not.
    let start = |gammas: &mut Vec<T>, alpha: &[T]| {
        gammas.clear();
        for bag in counts.chunks(shape.features()) {
            let even = bag.iter().sum::<f64>() / shape.cells() as f64;
            gammas.extend(alpha.iter().map(|&alpha| alpha + T::from_f64(even)));
        }
    };
    let mut learner = learner(grid, options)?;
    let mut statistics = statistics(shape)?;
    let (mut bound, mut gammas) = (Vec::new(), Vec::new());
    for iteration in 0..case.number("iterations", 0.0) as usize {
        if iteration == 0 || !case.flag("warm") {
            start(&mut gammas, learner.grid().alpha());
        }
        statistics.clear();
        let free_energy = learner.expectation_from(&bags, &mut gammas, &mut statistics)?;
        bound.push(-free_energy - learner.penalty());
        learner.maximization(&mut statistics)?;
    }
    for name in case.expected_names() {
        match name {
            "bound" => case.check(name, &bound, tolerance)?,
            "pi" => {
                let (pi, _) = learner.grid().tables();
                case.check(name, &transpose_back(pi, shape.cells()), tolerance)?;
            }
            "gamma" => case.check(name, &gammas, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}
