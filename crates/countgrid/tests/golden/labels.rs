//! Kind `cg_labels`: what is read off posteriors under a fixed grid.

use countgrid::{
    counts::Dense,
    grid::{Embedding, Grid, LabelSums, LogHistograms, Reading, Shape, label_scratch_len, label_sums_len},
    math::Real,
    prefix::{scratch_len, spread_sums},
    torus::{Torus, Windows},
};

use crate::{
    case::{Case, Failure, Tolerance},
    windows::{by_axes, transpose, transpose_back},
};

/// Results that no crate computes yet.
const LATER: [&str; 2] = ["nearest_neighbour", "ssm"];

pub fn labels<T: Real>(case: &Case) -> Result<(), Failure> {
    by_axes!(case, labels_of, T)
}

fn labels_of<T: Real, const D: usize>(case: &Case) -> Result<(), Failure> {
    let windows = Windows::new(Torus::new(case.sizes::<D>("E")?)?, case.sizes::<D>("W")?)?;
    let counts = case.input("counts")?;
    let [bags, features] = counts.shape[..] else { return Err(Failure("counts: not [T, Z]".into())) };
    let shape = Shape::new(windows, features)?;
    let cells = shape.cells();
    let tolerance = case.tolerance::<T>(Tolerance { rel: 1e-3, abs: 1e-3 })?;

    let mut tables = transpose::<T>(&case.input("pi")?.data, cells)?;
    tables.resize(shape.grid_len(), T::from_f64(1.0 / cells as f64));
    let mut scratch = vec![T::zero(); shape.scratch_len::<T>(1)];
    let packed = vec![T::zero(); shape.histograms_len::<T>()];
    let histograms = LogHistograms::pack(&Grid::new(shape, tables)?, packed, &mut scratch)?;
    let data = Dense::new(features, &counts.data)?;
    let (mut q, mut location) = (vec![T::zero(); bags * cells], Vec::new());
    let mut rows = q.chunks_exact_mut(cells);
    histograms.posteriors(&data, &mut scratch, |_, posterior| {
        posterior.write(rows.next().unwrap_or_default());
        location.push(posterior.mode());
    })?;

    let mut coverage = q.clone();
    let mut room = vec![T::zero(); scratch_len(&windows)];
    for (g, q) in coverage.chunks_exact_mut(cells).zip(q.chunks_exact(cells)) {
        spread_sums(&windows, q, g, &mut room)?;
    }
    let classes = case.number("classes", 0.0) as usize;
    let class = |t: usize| -> Result<Vec<T>, Failure> {
        let label = case.input("labels")?.data[t] as usize;
        Ok((0..classes).map(|l| if l == label { T::one() } else { T::zero() }).collect())
    };
    let value = |t: usize| Ok(vec![T::from_f64(case.input("values")?.data[t])]);
    let torus = windows.torus();
    let torus_distances =
        || location.iter().flat_map(|&a| location.iter().map(move |&b| T::from_f64(torus.distance(a, b))));
    let coordinates = location.iter().flat_map(|&k| torus.coords_of(k)).map(|x| T::from_f64(x as f64));
    let (classes, values) = (Read::all(&shape, &q, &class)?, Read::all(&shape, &q, &value)?);
    for name in case.expected_names() {
        match name {
            "q" => case.check(name, &q, tolerance)?,
            "coverage" => case.check(name, &coverage, tolerance)?,
            "embedding" => case.check(name, &classes.gamma, tolerance)?,
            "embedding_values" => case.check(name, &values.gamma, tolerance)?,
            "loo_window" => case.check(name, &classes.window, tolerance)?,
            "loo_point" => case.check(name, &classes.point, tolerance)?,
            "loo_values_window" => case.check(name, &values.window, tolerance)?,
            "location" => case.check(name, &coordinates.clone().collect::<Vec<_>>(), tolerance)?,
            "distance" => case.check(name, &torus_distances().collect::<Vec<_>>(), tolerance)?,
            name if LATER.contains(&name) => super::say(&format!("cg_labels: {name} is not computed yet")),
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

/// An embedding `[cell][target]`, and what every bag reads from the others, `[bag][target]`.
struct Read<T> {
    gamma: Vec<T>,
    window: Vec<T>,
    point: Vec<T>,
}

impl<T: Real> Read<T> {
    fn all<const D: usize>(
        shape: &Shape<D>,
        q: &[T],
        y: &impl Fn(usize) -> Result<Vec<T>, Failure>,
    ) -> Result<Self, Failure> {
        let (cells, targets) = (shape.cells(), y(0)?.len());
        let length = label_sums_len(shape, targets).ok_or_else(|| Failure("too many targets".into()))?;
        let mut sums = LabelSums::new(*shape, targets, vec![T::zero(); length])?;
        for (t, q) in q.chunks_exact(cells).enumerate() {
            sums.add(q, &y(t)?)?;
        }
        let mut scratch = vec![T::zero(); label_scratch_len(shape)];
        let embedding = Embedding::new(sums, &mut scratch)?;
        let mut planes = vec![T::zero(); targets * cells];
        for (target, plane) in planes.chunks_exact_mut(cells).enumerate() {
            embedding.gamma(target, plane)?;
        }
        let mut loo = |reading| -> Result<Vec<T>, Failure> {
            let mut all = Vec::new();
            for (t, q) in q.chunks_exact(cells).enumerate() {
                let mut read = vec![T::zero(); targets];
                embedding.leave_one_out(q, &y(t)?, reading, &mut read, &mut scratch)?;
                all.extend(read);
            }
            Ok(all)
        };
        let (window, point) = (loo(Reading::Window)?, loo(Reading::Point)?);
        Ok(Self { gamma: transpose_back(&planes, cells), window, point })
    }
}
