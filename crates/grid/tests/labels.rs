//! Label embedding against the definition, and its identities.

use countgrid_counts::Dense;
use countgrid_grid::{
    Embedding, Grid, GridError, LabelSums, Labels, LogHistograms, Readout, Shape, WindowPosterior,
    label_scratch_len, label_sums_len,
};
use countgrid_torus::{Torus, Windows};
use proptest::prelude::*;

/// Bags that lie somewhere, `q` `[bag][cell]`, with targets `y` `[bag][target]`.
#[derive(Clone, Debug)]
struct LabelledBags {
    shape: Shape<2>,
    q: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
}

type Sums = LabelSums<f64, Vec<f64>, 2>;
type OnCells = Embedding<f64, Vec<f64>, 2>;

fn labelled() -> impl Strategy<Value = LabelledBags> {
    let axes = prop::array::uniform2((1usize..6, any::<prop::sample::Index>()));
    (axes, 2usize..6, 1usize..4).prop_flat_map(|(axes, bags, targets)| {
        let (extents, sides) = (axes.map(|(e, _)| e), axes.map(|(e, side)| 1 + side.index(e)));
        let shape = Shape::new(Windows::new(Torus::new(extents).unwrap(), sides).unwrap(), 1).unwrap();
        // Most windows get nothing, so that some cells are covered by one bag alone or by none.
        let q = prop_oneof![3 => Just(0.0), 1 => 0.01f64..1.0];
        let q = (prop::collection::vec(q, shape.cells()), any::<prop::sample::Index>()).prop_map(
            |(mut q, one)| {
                let at = one.index(q.len());
                q[at] += 0.5;
                let sum: f64 = q.iter().sum();
                q.iter_mut().for_each(|q| *q /= sum);
                q
            },
        );
        let y = prop::collection::vec(-3.0f64..3.0, targets);
        (prop::collection::vec(q, bags), prop::collection::vec(y, bags))
            .prop_map(move |(q, y)| LabelledBags { shape, q, y })
    })
}

impl LabelledBags {
    fn embedding(&self, without: Option<usize>) -> OnCells {
        let targets = self.y[0].len();
        let mut sums =
            Sums::new(self.shape, targets, vec![f64::NAN; label_sums_len(&self.shape, targets).unwrap()])
                .unwrap();
        for t in (0..self.q.len()).filter(|&t| Some(t) != without) {
            sums.add(self.q[t].as_slice(), &self.y[t]).unwrap();
        }
        Embedding::new(sums, &mut self.scratch()).unwrap()
    }

    fn scratch(&self) -> Vec<f64> {
        vec![f64::NAN; label_scratch_len(&self.shape)]
    }

    /// `g_ti`, by the definition.
    fn coverage(&self, t: usize) -> Vec<f64> {
        let windows = self.shape.windows();
        let mut g = vec![0.0; self.shape.cells()];
        for (k, q) in self.q[t].iter().enumerate() {
            windows.cells_of(k).for_each(|i| g[i] += q);
        }
        g
    }

    /// What bag `t` reads when `gamma` `[cell]` is the embedding.
    fn read(&self, t: usize, gamma: &[f64], reading: Readout) -> f64 {
        let volume = self.shape.windows().volume() as f64;
        let dot = |weights: &[f64]| weights.iter().zip(gamma).map(|(w, g)| w * g).sum::<f64>();
        match reading {
            Readout::Window => dot(&self.coverage(t)) / volume,
            Readout::Point => dot(&self.q[t]),
        }
    }
}

/// Fifty additions and products of numbers below 3, at most 25 windows to a cell.
const ROUNDING: f64 = 3.0 * 100.0 * f64::EPSILON;

proptest! {
    #[test]
    fn the_embedding_is_the_mean_target_of_the_bags_at_a_cell(labelled in labelled()) {
        let (embedding, cells) = (labelled.embedding(None), labelled.shape.cells());
        let g: Vec<Vec<f64>> = (0..labelled.q.len()).map(|t| labelled.coverage(t)).collect();
        for target in 0..embedding.targets() {
            let mut gamma = vec![0.0; cells];
            embedding.gamma(target, &mut gamma).unwrap();
            for (i, gamma) in gamma.iter().enumerate() {
                let mass: f64 = g.iter().map(|g| g[i]).sum();
                let sum: f64 = g.iter().zip(&labelled.y).map(|(g, y)| g[i] * y[target]).sum();
                let mean = labelled.y.iter().map(|y| y[target]).sum::<f64>() / labelled.y.len() as f64;
                let expected = if mass > 0.0 { sum / mass } else { mean };
                prop_assert!((gamma - expected).abs() <= ROUNDING, "{gamma} {expected}");
            }
        }
    }

    #[test]
    fn a_table_reads_what_the_definition_reads(labelled in labelled()) {
        let embedding = labelled.embedding(None);
        let (targets, cells) = (embedding.targets(), labelled.shape.cells());
        for reading in [Readout::Window, Readout::Point] {
            let labels = embedding.labels(reading, vec![0.0; targets * cells], &mut labelled.scratch()).unwrap();
            let mut read = vec![f64::NAN; targets];
            for t in 0..labelled.q.len() {
                labels.read(labelled.q[t].as_slice(), &mut read).unwrap();
                for (target, read) in read.iter().enumerate() {
                    let mut gamma = vec![0.0; cells];
                    embedding.gamma(target, &mut gamma).unwrap();
                    prop_assert!((read - labelled.read(t, &gamma, reading)).abs() <= ROUNDING);
                }
            }
        }
    }

    #[test]
    fn leaving_one_out_is_an_embedding_without_it(labelled in labelled()) {
        let whole = labelled.embedding(None);
        let (targets, cells) = (whole.targets(), labelled.shape.cells());
        for t in 0..labelled.q.len() {
            let others = labelled.embedding(Some(t));
            let (own, mut all) = (labelled.coverage(t), vec![0.0; cells]);
            (0..labelled.q.len()).for_each(|t| all.iter_mut().zip(labelled.coverage(t)).for_each(|(a, g)| *a += g));
            // Subtraction costs the share of the others; all of q is above 0.01 / 26, so it is no smaller than that
            // over the five bags' masses.
            let share = own.iter().zip(&all).map(|(g, all)| (all - g) / all).filter(|&share| share > 1e-12);
            let least = share.fold(1.0, f64::min);
            for reading in [Readout::Window, Readout::Point] {
                let mut read = vec![f64::NAN; targets];
                whole
                    .leave_one_out(labelled.q[t].as_slice(), &labelled.y[t], reading, &mut read, &mut labelled.scratch())
                    .unwrap();
                for (target, read) in read.iter().enumerate() {
                    let mut gamma = vec![0.0; cells];
                    others.gamma(target, &mut gamma).unwrap();
                    let expected = labelled.read(t, &gamma, reading);
                    prop_assert!((read - expected).abs() <= ROUNDING / least, "{read} {expected} {least}");
                }
            }
        }
    }

    #[test]
    fn classes_read_as_probabilities_and_one_class_as_one(labelled in labelled(), classes in 1usize..4) {
        let shape = labelled.shape;
        let mut sums = Sums::new(shape, classes, vec![0.0; label_sums_len(&shape, classes).unwrap()]).unwrap();
        for (t, q) in labelled.q.iter().enumerate() {
            sums.add_class(q.as_slice(), t % classes).unwrap();
        }
        let embedding = Embedding::new(sums, &mut labelled.scratch()).unwrap();
        let labels =
            embedding.labels(Readout::Window, vec![0.0; classes * shape.cells()], &mut labelled.scratch()).unwrap();
        let mut read = vec![0.0; classes];
        for q in &labelled.q {
            labels.read(q.as_slice(), &mut read).unwrap();
            prop_assert!(read.iter().all(|&p| (0.0..=1.0 + ROUNDING).contains(&p)));
            prop_assert!((read.iter().sum::<f64>() - 1.0).abs() <= ROUNDING);
        }
    }
}

#[test]
fn bad_input_is_refused() {
    let shape = Shape::new(Windows::new(Torus::new([4]).unwrap(), [2]).unwrap(), 1).unwrap();
    let len = label_sums_len(&shape, 2).unwrap();
    assert_eq!(len, 15);
    assert_eq!(label_sums_len(&shape, usize::MAX), None);
    let sums = |len| LabelSums::<f64, _, 1>::new(shape, 2, vec![0.0; len]);
    let length = GridError::Length { table: "label sums", expected: 15, found: 14 };
    assert_eq!(sums(14).err(), Some(length));
    assert_eq!(LabelSums::<f64, _, 1>::new(shape, 0, vec![0.0; 5]).err(), Some(GridError::NoTargets));
    let mut some = sums(len).unwrap();
    let q = [1.0f64, 0.0, 0.0, 0.0];
    assert_eq!(some.add(&q[..], &[1.0]).err(), Some(GridError::Length { table: "y", expected: 2, found: 1 }));
    assert_eq!(some.add(&q[..], &[1.0, f64::NAN]).err(), Some(GridError::Target { target: 1 }));
    let class = GridError::NoSuchClass { class: 2, classes: 2 };
    assert_eq!(some.add_class(&q[..], 2).err(), Some(class));
    // Nothing was added by any of them.
    let mut scratch = vec![0.0; label_scratch_len(&shape)];
    assert_eq!(Embedding::new(some.clone(), &mut scratch).err(), Some(GridError::NoTargets));

    some.add_class(&q[..], 1).unwrap();
    let short = label_scratch_len(&shape) - 1;
    let refused = Embedding::new(some.clone(), &mut scratch[..short]).err();
    assert_eq!(refused, Some(GridError::Length { table: "scratch", expected: short + 1, found: short }));
    let embedding = Embedding::new(some, &mut scratch).unwrap();
    assert_eq!(embedding.gamma(2, &mut [0.0; 4]).err(), Some(class));
    let mut read = [0.0; 2];
    let alone = embedding.leave_one_out(&q[..], &[0.0, 1.0], Readout::Window, &mut read, &mut scratch);
    assert_eq!(alone, Err(GridError::NoTargets));
    let not_finite = Labels::<f64, _, 1>::new(shape, 2, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, f64::INFINITY, 0.0]);
    assert_eq!(not_finite.err(), Some(GridError::Target { target: 1 }));
}

/// Lengths are checked by what they are of, and a slice of probabilities is a posterior of its positive entries.
#[test]
fn lengths_are_checked_and_zeros_left_out() {
    let q = [0.25f32, 0.0, 0.75, 0.0];
    let mut visited = Vec::new();
    WindowPosterior::for_each(&q[..], |cell, q: f32| visited.push((cell, q)));
    assert_eq!(visited, [(0, 0.25), (2, 0.75)]);

    let shape = Shape::from_sides([4], [2], 1).unwrap();
    let mut sums = LabelSums::new(shape, 3, vec![0.0f64; label_sums_len(&shape, 3).unwrap()]).unwrap();
    sums.add(&q[..], &[1.0, -2.0, 0.5]).unwrap();
    sums.add(&[0.0f64, 1.0, 0.0, 0.0][..], &[0.0, 4.0, 0.5]).unwrap();
    sums.add_class(&[0.0f64, 0.0, 0.0, 1.0][..], 2).unwrap();
    // Mass, three targets, totals.
    let rows =
        [[0.25, 1.0, 0.75, 1.0], [0.25, 0.0, 0.75, 0.0], [-0.5, 4.0, -1.5, 0.0], [0.125, 0.5, 0.375, 1.0]];
    assert_eq!(countgrid_em::Tables::buffer(&sums), [rows.concat(), vec![3.0, 1.0, 2.0, 2.0]].concat());

    let mut scratch = vec![0.0; label_scratch_len(&shape)];
    assert_eq!(scratch.len(), 2 * 4 + countgrid_prefix::scratch_len(shape.windows()));
    let embedding = Embedding::new(sums, &mut scratch).unwrap();
    assert_eq!(embedding.targets(), 3);
    // A window covers its own cell and the next: cell 0 is in windows 3 and 0.
    let mut gamma = [0.0; 4];
    embedding.gamma(1, &mut gamma).unwrap();
    assert_eq!(gamma, [-0.5 / 1.25, 3.5 / 1.25, 2.5 / 1.75, -1.5 / 1.75]);
    let length = |table, expected, found| Err(GridError::Length { table, expected, found });
    assert_eq!(embedding.gamma(1, &mut gamma[1..]), length("gamma", 4, 3));
    let table = |found: usize, scratch: &mut [f64]| {
        embedding.labels(Readout::Point, vec![0.0; found], scratch).map(|_| ())
    };
    assert_eq!(table(11, &mut scratch), length("labels", 12, 11));
    let needed = scratch.len();
    assert_eq!(table(12, &mut scratch[1..]), length("scratch", needed, needed - 1));
    let labels = embedding.labels(Readout::Point, vec![0.0; 12], &mut scratch).unwrap();
    assert_eq!(labels.targets(), 3);
    let mut read = [f64::NAN; 3];
    labels.read(&q[..], &mut read).unwrap();
    let expected = 0.25 * gamma[0] + 0.75 * gamma[2];
    assert!((read[1] - expected).abs() <= 4.0 * f64::EPSILON * expected.abs().max(1.0));
    assert_eq!(labels.read(&q[..], &mut read[1..]), length("read", 3, 2));
    let y = [1.0, -2.0, 0.5];
    let mut leave =
        |y: &[f64], read: &mut [f64]| embedding.leave_one_out(&q[..], y, Readout::Point, read, &mut scratch);
    assert_eq!(leave(&y[1..], &mut read), length("y", 3, 2));
    assert_eq!(leave(&y, &mut read[1..]), length("read", 3, 2));
    leave(&y, &mut read).unwrap();
    // Of the others, cell 0 is in window 3 alone and cell 2 in window 1 alone.
    assert_eq!(read, [0.0, 3.0, 0.25 + 0.75 * 0.5]);
    assert_eq!(Labels::<f64, _, 1>::new(shape, 0, vec![]).err(), Some(GridError::NoTargets));
    assert_eq!(Labels::<f64, _, 1>::new(shape, 3, vec![0.0; 13]).map(|_| ()), length("labels", 12, 13));
}

/// A posterior is a row of its probabilities.
#[test]
fn posteriors_are_read_as_rows_are() {
    let bags = Dense::new(2, &[2u8, 1]).unwrap();
    let shape = Shape::from_sides([4], [2], 2).unwrap();
    let pi = [0.9, 0.5, 0.2, 0.4, 0.1, 0.5, 0.8, 0.6, 0.1, 0.2, 0.3, 0.4];
    let mut room = vec![0.0; shape.plane_scratch_len()];
    let grid = Grid::new(shape, pi).unwrap();
    let histograms = LogHistograms::pack(&grid, vec![0.0; shape.histograms_len::<f64>()], &mut room).unwrap();
    let mut room = vec![0.0; shape.posterior_scratch_len::<f64>(1)];
    histograms
        .posteriors(&bags, &mut room, |_, posterior| {
            let (mut row, mut visited) = ([0.0; 4], [0.0; 4]);
            posterior.write(&mut row);
            WindowPosterior::for_each(posterior, |cell, q: f64| visited[cell] = q);
            assert_eq!(visited, row);
            assert!((row.iter().sum::<f64>() - 1.0).abs() <= 4.0 * f64::EPSILON);
        })
        .unwrap();
}
