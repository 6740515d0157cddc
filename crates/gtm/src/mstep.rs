//! The M-step: a regression for every feature, the columns independent of one another.

use countgrid_math::{Kernel, Real, dispatch, exp, ln, sigmoid};

use crate::{
    EmissionModel, Gtm, Inflation, Options,
    emissions::combine,
    newton::{Design, Gram, Ridge, Scratch, Target, back_substitute, factorize, maximize},
    shape::ROWS,
    statistics::Sums,
};

/// The workspace in parts. Rows are as long as the longest regression.
struct Room<'a> {
    basis: &'a [f64],    // [column][point]
    profiles: &'a [f64], // [covariate][profile]
    rows: [&'a mut [f64]; ROWS],
    hessian: &'a mut [f64],
    step: &'a mut [f64],
    weights: &'a mut [f64],
    gamma: &'a mut [f64],
}

impl<'a> Room<'a> {
    fn new<T: Real, S: AsRef<[T]>>(map: &Gtm<T, S>, workspace: &'a mut [f64]) -> Self {
        let mut rest = workspace;
        let mut take = |length: usize| {
            let (part, after) = core::mem::take(&mut rest).split_at_mut(length);
            rest = after;
            part
        };
        let mut copy = |table: &[T]| {
            let part = take(table.len());
            part.iter_mut().zip(table).for_each(|(copy, &x)| *copy = x.to_f64());
            &*part
        };
        let (basis, profiles) = (copy(map.part("basis")), copy(map.part("profiles")));
        let (rows, widest) = (map.shape().rows(), map.shape().widest());
        Self {
            basis,
            profiles,
            rows: core::array::from_fn(|_| take(rows)),
            hessian: take(widest * widest),
            step: take(widest),
            weights: take(widest),
            gamma: take(widest),
        }
    }
}

/// Fits everything that the options allow to the sums.
pub(crate) fn update<T: Real, S: AsRef<[T]> + AsMut<[T]>>(
    map: &mut Gtm<T, S>,
    sums: &Sums<'_, T>,
    options: Options,
    workspace: &mut [f64],
) {
    let room = Room::new(map, workspace);
    match map.shape().emission_model() {
        EmissionModel::Gaussian => gaussian(map, sums, options, room),
        EmissionModel::Multinomial => multinomial(map, sums, options, room),
        _ => columns(map, sums, options, room),
    }
    if options.learn_mixing {
        let total = sums.documents.iter().fold(0.0, |sum, &n| sum + n.to_f64());
        for (mixing, &n) in map.part_mut("mixing").iter_mut().zip(&*sums.documents) {
            *mixing = T::from_f64(n.to_f64() / total);
        }
    }
}

fn read<T: Real>(row: &mut [f64], table: &[T]) {
    row.iter_mut().zip(table).for_each(|(copy, &x)| *copy = x.to_f64());
}
fn write<T: Real>(table: &mut [T], row: &[f64]) {
    // What leaves the range of `T` is left as it was.
    if row.iter().all(|&x| T::from_f64(x).is_finite()) {
        table.iter_mut().zip(row).for_each(|(x, &copy)| *x = T::from_f64(copy));
    }
}
fn row<T>(table: &[T], j: usize, width: usize) -> &[T] {
    table.get(j * width..(j + 1) * width).unwrap_or_default()
}
fn row_mut<T>(table: &mut [T], j: usize, width: usize) -> &mut [T] {
    table.get_mut(j * width..(j + 1) * width).unwrap_or_default()
}

/// Scratch for a regression of `rows` rows and `columns` coefficients.
fn scratch<'a>(
    lines: &'a mut [&mut [f64]; 6],
    hessian: &'a mut [f64],
    step: &'a mut [f64],
    rows: usize,
    columns: usize,
) -> Scratch<'a> {
    let [predictor, direction, trial, score, curvature, terms] =
        lines.each_mut().map(|line| line.get_mut(..rows).unwrap_or_default());
    let hessian = hessian.get_mut(..columns * columns).unwrap_or_default();
    let step = step.get_mut(..columns).unwrap_or_default();
    Scratch { predictor, direction, trial, score, curvature, terms, hessian, step }
}

/// Zero-inflated, Poisson and Bernoulli maps: feature by feature.
fn columns<T: Real, S: AsRef<[T]> + AsMut<[T]>>(
    map: &mut Gtm<T, S>,
    sums: &Sums<'_, T>,
    options: Options,
    room: Room<'_>,
) {
    let Room { basis, profiles, rows, hessian, step, weights, gamma } = room;
    let [first, second, third, fourth, mut lines @ ..] = rows;
    let shape = *map.shape();
    let (points, columns, width) = (shape.points(), shape.columns(), shape.inflation_columns());
    let latent = shape.emission_model() == EmissionModel::Zip(Inflation::Latent);
    let (w, gamma) = (&mut weights[..columns], &mut gamma[..width]);
    let steps = options.newton_steps;
    for j in 0..shape.features() {
        read(w, row(map.part("weights"), j, columns));
        read(gamma, row(map.part("inflation"), j, width));
        let present = row(sums.present, j, points);
        let on_points = Design { table: basis, rows: points };
        let (mut first, mut second) = (&mut first[..points], &mut second[..points]);
        let mut trials = scratch(&mut lines, hessian, step, points, columns);
        if shape.emission_model() == EmissionModel::Bernoulli {
            read(first, present);
            read(second, sums.documents);
            let target = Target::Trials { s: first, n: second };
            let ridge = Ridge { precision: map.part("weight_precision"), mean: &[] };
            maximize(on_points, target, ridge, steps, w, &mut trials);
            write(row_mut(map.part_mut("weights"), j, columns), w);
            continue;
        }
        // The inflated share of each point, or of each profile: successes of the second regression.
        let inflated = if latent || !shape.is_general() { points } else { shape.profiles() };
        let (third, fourth) = (&mut third[..inflated], &mut fourth[..shape.rows()]);
        match (shape.emission_model().is_zip(), shape.is_general()) {
            (false, _) => read(second, sums.exposure),
            (true, true) => {
                read(second, present);
                read(third, row(sums.inflated, j, inflated));
            }
            (true, false) => {
                // B = P + (1 - z)(n - P) and z (n - P), where P are the documents that have the term and z is that
                // of the parameters which the E-step saw.
                let intercept = profiles.first().copied().unwrap_or(1.0);
                let fixed = gamma.first().map_or(0.0, |gamma| gamma * intercept);
                combine(w, basis, second);
                if latent {
                    combine(gamma, basis, third);
                } else {
                    third.fill(fixed);
                }
                read(first, present);
                read(&mut fourth[..points], sums.documents);
                dispatch(Inflate { present: first, documents: fourth, second, third });
            }
        }
        read(first, row(sums.counts, j, points));
        let zero = &mut fourth[..points];
        zero.fill(0.0);
        let target = Target::Counts { a: first, b: second, c: zero };
        let ridge = Ridge { precision: map.part("weight_precision"), mean: &[] };
        maximize(on_points, target, ridge, steps, w, &mut trials);
        write(row_mut(map.part_mut("weights"), j, columns), w);
        if !shape.emission_model().is_zip() {
            continue;
        }
        let (precision, mean) = map.inflation_prior();
        let ridge = Ridge { precision, mean };
        if latent {
            read(second, sums.documents);
            let target = Target::Trials { s: third, n: second };
            maximize(on_points, target, ridge, steps, gamma, &mut trials);
        } else {
            let design = Design { table: profiles, rows: shape.profiles() };
            let mut trials = scratch(&mut lines, hessian, step, design.rows, width);
            if shape.is_general() {
                second = &mut fourth[..design.rows];
                read(second, sums.profiles);
                first = third;
            } else {
                // One regression on one row: all documents.
                let (all, total) = (countgrid_math::sum(third), sums.documents.iter().map(|&n| n.to_f64()));
                let total = total.fold(0.0, |sum, n| sum + n);
                (first, second) = (&mut first[..1], &mut second[..1]);
                (first[0], second[0]) = (all, total);
            }
            let target = Target::Trials { s: first, n: second };
            maximize(design, target, ridge, steps, gamma, &mut trials);
        }
        write(row_mut(map.part_mut("inflation"), j, width), gamma);
    }
}

/// From `f` in `second` and `η` in `third`: `B` in `second` and the inflated in `third`.
struct Inflate<'a> {
    present: &'a [f64],
    documents: &'a [f64],
    second: &'a mut [f64],
    third: &'a mut [f64],
}

impl Kernel for Inflate<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.second.iter_mut().zip(self.third).zip(self.present.iter().zip(self.documents));
        for ((second, third), (&present, &documents)) in rows {
            let absent = if documents > present { documents - present } else { 0.0 };
            let logit = *third + exp(*second);
            *second = present + sigmoid(-logit) * absent;
            *third = sigmoid(logit) * absent;
        }
    }
}

/// Multinomial maps by the Poisson device: for the offsets `c_k = ln N_k - lse_j f_kj` of the present weights the Poisson
/// objective is the multinomial one up to a constant; a step for every feature, then new offsets.
fn multinomial<T: Real, S: AsRef<[T]> + AsMut<[T]>>(
    map: &mut Gtm<T, S>,
    sums: &Sums<'_, T>,
    options: Options,
    room: Room<'_>,
) {
    let Room { basis, rows, hessian, step, weights, .. } = room;
    let [first, second, third, fourth, mut lines @ ..] = rows;
    let (shape, points, columns) = (*map.shape(), map.shape().points(), map.shape().columns());
    let (first, tokens) = (&mut first[..points], &mut second[..points]);
    let (offsets, highest) = (&mut third[..points], &mut fourth[..points]);
    let w = &mut weights[..columns];
    tokens.fill(0.0);
    for counts in sums.counts.chunks_exact(points) {
        tokens.iter_mut().zip(counts).for_each(|(sum, &t)| *sum += t.to_f64());
    }
    for _ in 0..options.newton_steps {
        highest.fill(f64::NEG_INFINITY);
        for j in 0..shape.features() {
            read(w, row(map.part("weights"), j, columns));
            combine(w, basis, first);
            highest.iter_mut().zip(&*first).for_each(|(highest, &f)| *highest = highest.max(f));
        }
        offsets.fill(0.0);
        for j in 0..shape.features() {
            read(w, row(map.part("weights"), j, columns));
            combine(w, basis, first);
            for ((sum, &f), &highest) in offsets.iter_mut().zip(&*first).zip(&*highest) {
                *sum += exp(f - highest);
            }
        }
        for (offset, &highest) in offsets.iter_mut().zip(&*highest) {
            *offset = -(highest + ln(*offset));
        }
        for j in 0..shape.features() {
            read(w, row(map.part("weights"), j, columns));
            read(first, row(sums.counts, j, points));
            let target = Target::Counts { a: first, b: tokens, c: offsets };
            let ridge = Ridge { precision: map.part("weight_precision"), mean: &[] };
            let mut trials = scratch(&mut lines, hessian, step, points, columns);
            maximize(Design { table: basis, rows: points }, target, ridge, 1, w, &mut trials);
            write(row_mut(map.part_mut("weights"), j, columns), w);
        }
    }
}

/// Gaussian maps: `(Φᵀ diag(n) Φ + diag(b_w) / β) W = Φᵀ Rᵀ T` with the old `β`, one matrix for all features; then
/// `1/β = Σ r_nk ‖t_n - f_k‖² / (N D)`.
fn gaussian<T: Real, S: AsRef<[T]> + AsMut<[T]>>(
    map: &mut Gtm<T, S>,
    sums: &Sums<'_, T>,
    options: Options,
    room: Room<'_>,
) {
    let Room { basis, rows, hessian, weights, .. } = room;
    let [first, second, third, ..] = rows;
    let (shape, points, columns) = (*map.shape(), map.shape().points(), map.shape().columns());
    let (first, n, f) = (&mut first[..points], &mut second[..points], &mut third[..points]);
    let (hessian, w) = (&mut hessian[..columns * columns], &mut weights[..columns]);
    let design = Design { table: basis, rows: points };
    read(n, sums.documents);
    dispatch(Gram { design, weights: n, scaled: f, gram: hessian });
    let beta = map.precision().to_f64();
    for (diagonal, &b) in hessian.iter_mut().step_by(columns + 1).zip(map.part("weight_precision")) {
        *diagonal += b.to_f64() / beta;
    }
    if factorize(hessian, columns).is_none() {
        return;
    }
    let [documents, squares] = [0, 1].map(|i| sums.totals.get(i).map_or(0.0, |&x| x.to_f64()));
    let mut distance = squares;
    for j in 0..shape.features() {
        read(first, row(sums.counts, j, points));
        for (w, phi) in w.iter_mut().zip(basis.chunks_exact(points)) {
            *w = countgrid_math::dot(phi, first).unwrap_or_default();
        }
        if back_substitute(hessian, w).is_some() {
            write(row_mut(map.part_mut("weights"), j, columns), w);
        }
        read(w, row(map.part("weights"), j, columns));
        combine(w, basis, f);
        for ((&a, &n), &f) in first.iter().zip(&*n).zip(&*f) {
            distance += f * (n * f - 2.0 * a);
        }
    }
    // Documents that all lie on the map would make β infinite. Scores are differences of terms of the size of β times
    // squares, so at the cube root of u they are still good to u^(2/3) a number.
    let least = exp(ln(T::UNIT_ROUNDOFF.to_f64()) / 3.0);
    let distance = distance.max(least * squares);
    let beta = T::from_f64(documents * shape.features() as f64 / distance);
    if options.learn_precision && beta > T::zero() && beta.is_finite() {
        map.part_mut("precision").fill(beta);
    }
}
