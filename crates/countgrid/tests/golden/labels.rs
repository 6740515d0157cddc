//! Kinds `cg_labels`, what is read off posteriors under a fixed grid, and `cg_classifier`, a grid for each class.

use countgrid::{
    classify::{lowest, nearest, vote},
    counts::Dense,
    grid::{Embedding, Grid, LabelSums, LogHistograms, Readout, Shape, label_scratch_len, label_sums_len},
    math::Real,
    scores::{Similarity, gram, spread_rows, spread_scratch_len},
    torus::{Torus, Windows},
};

use crate::{
    case::{Case, Failure, Tolerance},
    windows::{by_axes, transpose, transpose_back},
};

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

    let mut spread = q.clone();
    spread_rows(&windows, &mut spread, &mut vec![T::zero(); spread_scratch_len(&windows)])?;
    let mut ssm = vec![T::zero(); bags * bags];
    gram(Similarity::Intersection, cells, &spread, &mut ssm)?;
    let volume = T::from_f64(windows.volume() as f64);
    let coverage: Vec<T> = spread.iter().map(|&g| g * volume).collect();
    let classes = case.number("classes", 0.0) as usize;
    let labels = case.input("labels")?.data;
    let class = |t: usize| -> Result<Vec<T>, Failure> {
        let label = labels[t] as usize;
        Ok((0..classes).map(|l| if l == label { T::one() } else { T::zero() }).collect())
    };
    let value = |t: usize| Ok(vec![T::from_f64(case.input("values")?.data[t])]);
    let torus = windows.torus();
    let torus_distances =
        || location.iter().flat_map(|&a| location.iter().map(move |&b| T::from_f64(torus.distance(a, b))));
    let coordinates = location.iter().flat_map(|&k| torus.coords_of(k)).map(|x| T::from_f64(x as f64));
    let train = case.number("train", 0.0) as usize;
    let neighbour = |test: usize| {
        let distances = (0..train).map(|t| (t, torus.distance_squared(location[t], location[test])));
        let mut found = [(0, 0)];
        let found = nearest(distances, &mut found);
        vote(found.iter().map(|&(t, _)| labels[t] as usize), &mut vec![0; classes])
    };
    let neighbours: Vec<T> =
        (train..bags).filter_map(neighbour).map(|label| T::from_f64(label as f64)).collect();
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
            "nearest_neighbour" => case.check(name, &neighbours, tolerance)?,
            "ssm" => case.check(name, &ssm, tolerance)?,
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
        let (window, point) = (loo(Readout::Window)?, loo(Readout::Point)?);
        Ok(Self { gamma: transpose_back(&planes, cells), window, point })
    }
}

pub fn classifier<T: Real>(case: &Case) -> Result<(), Failure> {
    by_axes!(case, classifier_of, T)
}

fn classifier_of<T: Real, const D: usize>(case: &Case) -> Result<(), Failure> {
    let windows = Windows::new(Torus::new(case.sizes::<D>("E")?)?, case.sizes::<D>("W")?)?;
    let (counts, pi, prior) = (case.input("counts")?, case.input("pi")?, case.input("prior")?);
    let [bags, features] = counts.shape[..] else { return Err(Failure("counts: not [T, Z]".into())) };
    let shape = Shape::new(windows, features)?;
    let tolerance = case.tolerance::<T>(Tolerance { rel: 1e-3, abs: 1e-3 })?;
    let data = Dense::new(features, &counts.data)?;
    let classes = pi.shape[0];
    let mut free_energy = vec![T::zero(); bags * classes];
    let tables = pi.data.chunks_exact(shape.cells() * features).zip(prior.data.chunks_exact(shape.cells()));
    for (class, (pi, prior)) in tables.enumerate() {
        let mut tables = transpose::<T>(pi, shape.cells())?;
        tables.extend(prior.iter().map(|&p| T::from_f64(p)));
        let mut scratch = vec![T::zero(); shape.scratch_len::<T>(1)];
        let packed = vec![T::zero(); shape.histograms_len::<T>()];
        let histograms = LogHistograms::pack(&Grid::new(shape, tables)?, packed, &mut scratch)?;
        histograms.posteriors(&data, &mut scratch, |bag, posterior| {
            free_energy[bag * classes + class] = -posterior.log_evidence();
        })?;
    }
    let predicted: Vec<T> = free_energy
        .chunks_exact(classes)
        .filter_map(|row| lowest(row, &[]))
        .map(|class| T::from_f64(class as f64))
        .collect();
    for name in case.expected_names() {
        match name {
            "free_energy" => case.check(name, &free_energy, tolerance)?,
            "predicted" => case.check(name, &predicted, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}
