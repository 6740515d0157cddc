//! Identities of counting grids: what must not matter does not, and limits are what they should be.

#![allow(clippy::needless_range_loop, reason = "indices are those of the mathematics")]

use crate::common::*;
use countgrid_counts::{CsrBuf, Dense};
use countgrid_em::{Fit, Learn, Tables, TablesMut};
use countgrid_grid::{Grid, Learner, Options, PosteriorThreshold, Shape, Statistics};
use countgrid_torus::{Torus, Windows};
use proptest::prelude::*;

type Outcome = Result<(), TestCaseError>;

in_every_dimension! {
    interleaved_chain_never_falls,
    many_inner_passes_reach_one_optimum,
    translation,
    axis_permutation,
    permuting_bags,
    permuting_features,
    repeating_every_bag,
    an_empty_bag,
    single_cells_are_a_mixture,
    whole_torus,
    axes_of_one_cell,
    absent_feature,
    chunks_and_storage,
}

/// `bound_e[0] <= bound_m[0] <= bound_e[1] <= ...` for any number of passes, with and without prior and
/// pseudocount.
fn interleaved_chain_never_falls<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let options = Options {
        inner_passes: 1 + seed as usize % 3,
        learn_prior: seed & 4 != 0,
        pseudocount: if seed & 8 != 0 { 0.1 } else { 0.0 },
        prior_pseudocount: if seed & 16 != 0 { 0.5 } else { 0.0 },
        ..Options::default()
    };
    let (_, chain) = p.fit::<f64>(options, 6);
    for pair in chain.windows(2) {
        prop_assert!(pair[1] >= pair[0] - CLOSE * pair[0].abs().max(1.0), "{chain:?}");
    }
    Ok(())
}

/// `L` is concave, so its gradient bounds how far from the optimum a grid is (the Frank-Wolfe gap):
/// `L* - L <= Σ_i max_z g_iz - Σ_iz pi_iz g_iz` with `g = n / pi`. Two starts must agree to within their gaps,
/// and the gaps must have closed to a part of what they were.
fn many_inner_passes_reach_one_optimum<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let (start, mut statistics) = (p.learner::<f64>(Options::default()), p.statistics(2));
    p.e_step(&start, &mut statistics).unwrap();
    let deep = Options { inner_passes: 200, ..Options::default() };
    let mut other = p.clone();
    for (i, row) in other.pi.iter_mut().enumerate() {
        row.rotate_left((seed as usize + i) % p.features);
    }
    let mut found = Vec::new();
    for problem in [&p, &other] {
        let mut learner = problem.learner::<f64>(deep);
        let before = gap(&p, &learner, &mut statistics);
        learner.maximization(&mut statistics).unwrap();
        let (after, value) = (gap(&p, &learner, &mut statistics), learner.bound(&statistics).unwrap());
        prop_assert!(after <= 0.2 * before + CLOSE * p.tokens().max(1.0), "{after} of {before}");
        found.push((value, after));
    }
    let [(a, gap_a), (b, gap_b)] = found[..] else { unreachable!() };
    let room = CLOSE * a.abs().max(1.0);
    prop_assert!(a - b <= gap_b + room && b - a <= gap_a + room, "{a} {b}");
    Ok(())
}

fn gap<const D: usize>(p: &Problem<D>, learner: &Model<f64, D>, statistics: &mut Sums<f64, D>) -> f64 {
    let (mut plane, mut most, mut mean) = (vec![0.0; p.cells()], vec![0.0f64; p.cells()], 0.0);
    for z in 0..p.features {
        learner.expected_tokens(statistics, z, &mut plane).unwrap();
        for ((most, n), pi) in most.iter_mut().zip(&plane).zip(learner.grid().plane(z)) {
            *most = most.max(if *n > 0.0 { n / pi } else { 0.0 });
            mean += n;
        }
    }
    most.iter().sum::<f64>() - mean
}

/// What a fit of three iterations gives: `pi`, prior, last posterior, bounds.
type Fitted = (Vec<Vec<f64>>, Vec<f64>, Vec<Vec<f64>>, Vec<f64>);

fn fitted<const D: usize>(p: &Problem<D>) -> Fitted {
    let options = Options {
        learn_prior: true,
        inner_passes: 2,
        posterior_threshold: PosteriorThreshold::Off,
        ..Options::default()
    };
    let (learner, chain) = p.fit::<f64>(options, 3);
    let (q, _) = p.place(&learner);
    (rows(&learner), prior(&learner), q, chain)
}

/// Three iterations from starts that differ by rounding: an iteration multiplies a difference of `pi` by at
/// most the tokens of a bag, 45, in the scores.
const THREE_TURNS: f64 = CLOSE * 45.0 * 45.0;

fn same(a: Fitted, b: Fitted) -> Outcome {
    prop_assert!(distance(&a.0, &b.0) <= THREE_TURNS, "pi");
    prop_assert!(row_distance(&a.1, &b.1) <= THREE_TURNS, "prior");
    prop_assert!(distance(&a.2, &b.2) <= THREE_TURNS, "q");
    for (a, b) in a.3.iter().zip(&b.3) {
        prop_assert!((a - b).abs() <= THREE_TURNS * a.abs().max(1.0), "bounds");
    }
    Ok(())
}

/// The same problem with cell `i` moved to `to(i)`, and a result moved likewise.
fn moved<const D: usize>(p: &Problem<D>, to: &[usize]) -> Problem<D> {
    let mut other = p.clone();
    for (from, &to) in to.iter().enumerate() {
        other.pi[to] = p.pi[from].clone();
        other.prior[to] = p.prior[from];
    }
    other
}

fn moved_result(result: Fitted, to: &[usize]) -> Fitted {
    let mut other = result.clone();
    for (from, &to) in to.iter().enumerate() {
        other.0[to] = result.0[from].clone();
        other.1[to] = result.1[from];
        for (q, old) in other.2.iter_mut().zip(&result.2) {
            q[to] = old[from];
        }
    }
    other
}

fn translation<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let torus = *p.windows().torus();
    let offset = core::array::from_fn(|d| (seed >> (8 * d)) as u8 as isize);
    let to: Vec<usize> = (0..p.cells()).map(|cell| torus.translate(cell, offset)).collect();
    same(fitted(&moved(&p, &to)), moved_result(fitted(&p), &to))
}

/// Axes in reverse order.
fn axis_permutation<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let mut other = p.clone();
    other.extents.reverse();
    other.sides.reverse();
    let (torus, turned) = (*p.windows().torus(), *other.windows().torus());
    let turn = |cell| {
        let mut x = torus.coords_of(cell);
        x.reverse();
        turned.cell_of(x)
    };
    let to: Vec<usize> = (0..p.cells()).map(turn).collect();
    let start = moved(&Problem { extents: other.extents, sides: other.sides, ..p.clone() }, &to);
    same(fitted(&start), moved_result(fitted(&p), &to))
}

fn permuting_bags<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let by = seed as usize % p.counts.len();
    let mut other = p.clone();
    other.counts.rotate_left(by);
    let mut expected = fitted(&p);
    expected.2.rotate_left(by);
    same(fitted(&other), expected)
}

fn permuting_features<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let by = seed as usize % p.features;
    let mut other = p.clone();
    other.counts.iter_mut().chain(&mut other.pi).for_each(|row| row.rotate_left(by));
    let mut expected = fitted(&p);
    expected.0.iter_mut().for_each(|row| row.rotate_left(by));
    same(fitted(&other), expected)
}

/// Leaves `pi` and `p` alone and doubles the bound.
fn repeating_every_bag<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let mut other = p.clone();
    other.counts.extend(p.counts.clone());
    let mut expected = fitted(&p);
    expected.2.extend(expected.2.clone());
    expected.3.iter_mut().for_each(|bound| *bound *= 2.0);
    same(fitted(&other), expected)
}

/// Leaves `pi` alone to the last bit, has the prior for its posterior, and adds 0 to the bound.
fn an_empty_bag<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let mut other = p.clone();
    let at = seed as usize % (p.counts.len() + 1);
    other.counts.insert(at, vec![0.0; p.features]);
    let options = Options::default();
    let ((learner, chain), (with, chain_with)) = (p.fit::<f64>(options, 2), other.fit::<f64>(options, 2));
    prop_assert_eq!(rows(&learner), rows(&with));
    for (a, b) in chain.iter().zip(&chain_with) {
        prop_assert!((a - b).abs() <= CLOSE * a.abs().max(1.0));
    }
    let (q, evidence) = other.place(&with);
    prop_assert!(row_distance(&q[at], &p.prior) <= CLOSE);
    prop_assert!(evidence[at].abs() <= CLOSE);
    Ok(())
}

/// `W = 1` with a learned prior is EM for a multinomial mixture: `q_tk ∝ w_k Π_z beta_kz^c_tz`,
/// `beta_kz ∝ Σ_t q_tk c_tz`, `w_k = mean_t q_tk`.
fn single_cells_are_a_mixture<const D: usize>(mut p: Problem<D>, _: u64) -> Outcome {
    p.sides = [1; D];
    let (learner, _) = p.fit::<f64>(
        Options { learn_prior: true, posterior_threshold: PosteriorThreshold::Off, ..Options::default() },
        2,
    );
    let (mut beta, mut weights) = (p.pi.clone(), p.prior.clone());
    for _ in 0..2 {
        let place = |c: &Vec<f64>| {
            let score = |k: usize| {
                let words = c.iter().zip(&beta[k]).map(|(c, b)| if *c > 0.0 { c * b.ln() } else { 0.0 });
                weights[k].ln() + words.sum::<f64>()
            };
            softmax(&(0..p.cells()).map(score).collect::<Vec<_>>())
        };
        let q: Vec<Vec<f64>> = p.counts.iter().map(place).collect();
        for k in 0..p.cells() {
            let n: Vec<f64> =
                (0..p.features).map(|z| q.iter().zip(&p.counts).map(|(q, c)| q[k] * c[z]).sum()).collect();
            if n.iter().sum::<f64>() > 0.0 {
                beta[k] = normalised(n);
            }
            weights[k] = q.iter().map(|q| q[k]).sum::<f64>() / q.len() as f64;
        }
    }
    prop_assert!(distance(&rows(&learner), &beta) <= THREE_TURNS);
    prop_assert!(row_distance(&prior(&learner), &weights) <= THREE_TURNS);
    Ok(())
}

/// `W = E`: all windows are the torus, so `q = p`; and from a constant grid one step gives the pooled
/// frequencies.
fn whole_torus<const D: usize>(mut p: Problem<D>, _: u64) -> Outcome {
    p.sides = p.extents;
    let h = p.naive_h();
    let learner = p.learner::<f64>(Options::default());
    let (q, _) = p.place(&learner);
    let mut plane = vec![0.0; p.cells()];
    let mut scratch = vec![0.0; p.shape().plane_scratch_len()];
    for z in 0..p.features {
        learner.grid().histogram(z, &mut plane, &mut scratch).unwrap();
        prop_assert!(plane.iter().all(|found| (found - h[0][z]).abs() <= CLOSE));
    }
    prop_assert!(q.iter().all(|q| row_distance(q, &p.prior) <= CLOSE));
    if p.tokens() > 0.0 {
        p.pi = vec![vec![1.0 / p.features as f64; p.features]; p.cells()];
        let pooled = (0..p.features).map(|z| p.counts.iter().map(|c| c[z]).sum()).collect();
        let pooled = vec![normalised(pooled); p.cells()];
        prop_assert!(distance(&rows(&p.fit::<f64>(Options::default(), 1).0), &pooled) <= CLOSE);
    }
    Ok(())
}

/// Axes of one cell in front of the others change no bit.
fn axes_of_one_cell<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let front =
        |axes: [usize; D]| core::array::from_fn::<_, 8, _>(|d| if d + D < 8 { 1 } else { axes[d + D - 8] });
    let windows = Windows::new(Torus::new(front(p.extents)).unwrap(), front(p.sides)).unwrap();
    let shape = Shape::new(windows, p.features).unwrap();
    let options = Options { learn_prior: true, ..Options::default() };
    let mut scratch = vec![0.0; shape.scratch_len::<f64>(2)];
    let packed = vec![0.0; shape.histograms_len::<f64>()];
    let grid = Grid::new(shape, p.tables::<f64>()).unwrap();
    let mut learner = Learner::new(grid, packed, &mut scratch, options).unwrap();
    let mut statistics = Statistics::new(shape, vec![0.0; shape.sums_len::<f64>()], scratch).unwrap();
    let (flat, mut chain) = (p.flat(), Vec::new());
    let bags = Dense::new(p.features, &flat).unwrap();
    for _ in 0..3 {
        statistics.clear();
        chain.push(-learner.expectation(&bags, &mut statistics).unwrap());
        learner.maximization(&mut statistics).unwrap();
        chain.push(learner.bound(&statistics).unwrap());
    }
    let (plain, expected) = p.fit::<f64>(options, 3);
    prop_assert_eq!(plain.grid().buffer(), learner.grid().buffer());
    prop_assert_eq!(expected, chain);
    Ok(())
}

/// A feature that no bag has is gone after one step, in every row with mass.
fn absent_feature<const D: usize>(mut p: Problem<D>, seed: u64) -> Outcome {
    let absent = seed as usize % p.features;
    p.counts.iter_mut().for_each(|c| c[absent] = 0.0);
    let (learner, mut statistics) = (p.learner::<f64>(Options::default()), p.statistics(1));
    p.e_step(&learner, &mut statistics).unwrap();
    let mut mass = vec![0.0; p.cells()];
    let mut plane = vec![0.0; p.cells()];
    for z in 0..p.features {
        learner.expected_tokens(&mut statistics, z, &mut plane).unwrap();
        mass.iter_mut().zip(&plane).for_each(|(mass, n)| *mass += n);
    }
    let before = rows(&learner);
    let (learner, _) = p.fit::<f64>(Options::default(), 1);
    for ((row, before), mass) in rows(&learner).iter().zip(before).zip(mass) {
        prop_assert_eq!(row[absent], if mass > 0.0 { 0.0 } else { before[absent] });
    }
    Ok(())
}

/// How many bags are placed together, how they are stored and how they are split into batches changes no bit
/// of the sums.
fn chunks_and_storage<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let (learner, flat) = (p.learner::<f32>(Options::default()), p.flat());
    let dense = Dense::new(p.features, &flat).unwrap();
    let mut csr = CsrBuf::<f64>::new(p.features).unwrap();
    for bag in &p.counts {
        csr.push_bag(bag.iter().copied().enumerate().filter(|(_, c)| *c > 0.0)).unwrap();
    }
    let mut sums = Vec::new();
    for chunk in [1, 2, 64] {
        let mut statistics = p.statistics::<f32>(chunk);
        learner.expectation(&dense, &mut statistics).unwrap();
        sums.push(statistics);
    }
    let mut statistics = p.statistics::<f32>(2);
    let (view, cut) = (csr.as_view(), seed as usize % (p.counts.len() + 1));
    learner.expectation(&view.slice(0..cut).unwrap(), &mut statistics).unwrap();
    learner.expectation(&view.slice(cut..p.counts.len()).unwrap(), &mut statistics).unwrap();
    sums.push(statistics);
    let counts = |s: &mut Sums<f32, D>| {
        let len = s.layout()[0].rows * s.layout()[0].columns;
        s.buffer_mut()[..len].to_vec()
    };
    let first = counts(&mut sums[0]);
    for other in &mut sums[1..] {
        prop_assert_eq!(&counts(other), &first);
    }
    Ok(())
}
