//! Sequences of two classes told apart, leave one out: by the likelihood under a model of each class, and by a support
//! vector machine on features of these models. Models, standardisation and kernel are fitted anew without the sequence
//! that is left out, and `C` and the kernel's width are chosen by folds of the other sequences.
//!
//!     cargo run --release -p countgrid-hmm --example promoters -- promoters.csv [states] [seeds] [pseudocount]
//!
//! It reads any file of labelled sequences of one length: a table with the columns `class` and `sequence`.

use std::error::Error;

use countgrid_classify::{SupportVectors, SvmOptions, stratified_folds};
use countgrid_counts::{Sequence, Sequences, SequencesBuf};
use countgrid_em::{EmOptions, FreeEnergy, Restarts, Tables, no_observer};
use countgrid_hmm::{Grouping, Hmm, Learner, Posterior, Shape, Statistics, Terms};
use countgrid_io::{SequenceOptions, read_sequences};
use countgrid_math::{AlignedVec, exp};
use countgrid_scores::{Form, Similarity, Standardizer, cross, fisher, gram, top};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

type Model = Hmm<f64, AlignedVec<f64>>;
type Fallible<T> = Result<T, Box<dyn Error>>;

const RESTARTS: usize = 5;
const ITERATIONS: usize = 100;
const PENALTIES: [f64; 4] = [0.1, 1.0, 10.0, 100.0];
/// In units of one over the number of columns.
const WIDTHS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];

/// What a sequence becomes.
const FEATURES: [&str; 5] = ["FESS", "nFESS", "FESS, mean field", "Fisher (logit)", "TOP (tangent)"];

struct Data {
    symbols: usize,
    sequences: Vec<Vec<u16>>,
    labels: Vec<usize>,
    pseudocount: f64,
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let path = arguments.get(1).ok_or("name a table of sequences")?;
    let number = |at: usize, default| arguments.get(at).map_or(Ok(default), |n| n.parse::<usize>());
    let (states, seeds) = (number(2, 4)?, number(3, 1)?);
    let pseudocount = arguments.get(4).map_or(Ok(1.0), |a| a.parse())?;
    let set = read_sequences(path, &SequenceOptions::default())?;
    let mut classes: Vec<_> = set.labels.iter().flatten().collect();
    classes.sort();
    classes.dedup();
    let [first, _] = classes[..] else { return Err("two classes are needed".into()) };
    let labels = set.labels.iter().map(|label| usize::from(label.as_ref() != Some(first))).collect();
    let view = set.sequences.as_view();
    let sequences = (0..view.len()).filter_map(|t| Some(view.get(t)?.entries().to_vec())).collect();
    let data = Data { symbols: set.alphabet.len(), sequences, labels, pseudocount };
    println!(
        "{} sequences over {} symbols, {states} states a class, pseudocount {pseudocount}",
        data.labels.len(),
        data.symbols
    );

    for seed in 0..seeds as u64 {
        let (by_likelihood, by_features) = leave_one_out(&data, states, seed)?;
        let accuracy = |right: usize| 100.0 * right as f64 / data.labels.len() as f64;
        println!("seed {seed}: likelihood {:.2} %", accuracy(by_likelihood));
        for (name, right) in FEATURES.iter().zip(by_features) {
            println!("seed {seed}: {name} + RBF SVM {:.2} %", accuracy(right));
        }
    }
    Ok(())
}

/// How many sequences are put into their class: by likelihood, and by each kind of features.
fn leave_one_out(data: &Data, states: usize, seed: u64) -> Fallible<(usize, [usize; FEATURES.len()])> {
    let (mut by_likelihood, mut by_features) = (0, [0; FEATURES.len()]);
    for left_out in 0..data.labels.len() {
        let training: Vec<usize> = (0..data.labels.len()).filter(|&t| t != left_out).collect();
        let models = [fit(data, &training, 0, states, seed)?, fit(data, &training, 1, states, seed)?];
        let (sequence, truth) = (&data.sequences[left_out], data.labels[left_out]);
        let log_p = |class: usize| {
            let hmm = &models[class];
            let mut scratch = vec![0.0; hmm.shape().likelihood_scratch_len::<f64>()];
            hmm.log_likelihood(&Sequence::new(data.symbols, sequence)?, &mut scratch)
                .map_err(Box::<dyn Error>::from)
        };
        by_likelihood += usize::from((log_p(1)? > log_p(0)?) == (truth == 1));
        for (kind, right) in by_features.iter_mut().enumerate() {
            let mut rows = Vec::new();
            for &t in training.iter().chain([&left_out]) {
                rows.extend(features(&models, &Sequence::new(data.symbols, &data.sequences[t])?, kind)?);
            }
            let labels: Vec<usize> = training.iter().map(|&t| data.labels[t]).collect();
            let columns = rows.len() / (labels.len() + 1);
            let new = rows.split_off(labels.len() * columns);
            let (penalty, width) = chosen(&rows, &labels, columns, seed)?;
            let distances = Distances::new(rows, new, columns)?;
            *right += usize::from(distances.predicted(&labels, penalty, width)?[0] == truth);
        }
    }
    Ok((by_likelihood, by_features))
}

/// The model of a class, from the training sequences of it: the best of several random starts.
fn fit(data: &Data, training: &[usize], class: usize, states: usize, seed: u64) -> Fallible<Model> {
    let mut own = SequencesBuf::new(data.symbols);
    for &t in training.iter().filter(|&&t| data.labels[t] == class) {
        own.push(data.sequences[t].iter().copied())?;
    }
    let (own, shape): (Sequences<'_, u16>, _) = (own.as_view(), Shape::new(states, data.symbols)?);
    let mut learner = Learner::new(Hmm::uniform(shape)?, data.pseudocount)?;
    let mut statistics = Statistics::allocate(shape, own.longest())?;
    let plan = EmOptions { tolerance: 1e-5, iterations: ITERATIONS }.check()?;
    let mut best = vec![0.0; shape.hmm_len()];
    Restarts::new(RESTARTS, 2 * seed + class as u64)?.run(&mut learner, &mut best, |learner, restart| {
        learner.model_mut().randomize(&mut ChaCha8Rng::seed_from_u64(restart.seed));
        plan.fit(learner, &own, &mut statistics, no_observer)
    })?;
    Ok(learner.into_model())
}

fn features(models: &[Model; 2], sequence: &Sequence<'_, u16>, kind: usize) -> Fallible<Vec<f64>> {
    let [minus, plus] = models;
    let mut scratch = vec![0.0; plus.shape().scratch_len::<f64>(sequence.len())];
    let (posterior, grouping) = match kind {
        0 => (Posterior::Exact, Grouping::Position),
        1 => (Posterior::Exact, Grouping::Summed),
        2 => (Posterior::MeanField { sweeps: 20 }, Grouping::Position),
        3 => {
            let mut row = vec![0.0; minus.buffer().len() + plus.buffer().len()];
            let (first, second) = row.split_at_mut(minus.buffer().len());
            fisher(minus, sequence, Form::Logit, first, &mut scratch)?;
            fisher(plus, sequence, Form::Logit, second, &mut scratch)?;
            return Ok(row);
        }
        _ => {
            let mut row = vec![0.0; 1 + minus.buffer().len() + plus.buffer().len()];
            top(plus, minus, 0.0, sequence, Form::Tangent, &mut row, &mut scratch)?;
            return Ok(row);
        }
    };
    let mut row = Vec::new();
    for hmm in models {
        let terms = Terms::new(hmm, posterior, grouping);
        let mut own = vec![0.0; terms.term_count(sequence)];
        terms.free_energy_terms(sequence, &mut own, &mut scratch)?;
        row.extend(own);
    }
    Ok(row)
}

/// `C` and width that put most training sequences right in five folds of them, the models being given.
fn chosen(rows: &[f64], labels: &[usize], columns: usize, seed: u64) -> Fallible<(f64, f64)> {
    let (mut fold, mut scratch) = (vec![0; labels.len()], vec![0; labels.len()]);
    stratified_folds(labels, 5, &mut ChaCha8Rng::seed_from_u64(seed), &mut fold, &mut scratch)?;
    let mut right = [[0; WIDTHS.len()]; PENALTIES.len()];
    for held_out in 0..5 {
        let part = |held: bool| -> (Vec<f64>, Vec<usize>) {
            let items: Vec<usize> = (0..labels.len()).filter(|&t| (fold[t] == held_out) == held).collect();
            let rows = items.iter().flat_map(|t| rows[t * columns..(t + 1) * columns].iter().copied());
            (rows.collect(), items.iter().map(|&t| labels[t]).collect())
        };
        let ((training, own), (test, truths)) = (part(false), part(true));
        let distances = Distances::new(training, test, columns)?;
        for (&penalty, right) in PENALTIES.iter().zip(&mut right) {
            for (&width, right) in WIDTHS.iter().zip(right) {
                let found = distances.predicted(&own, penalty, width)?;
                *right += found.iter().zip(&truths).filter(|(found, truth)| found == truth).count();
            }
        }
    }
    // The first of the best: the smallest penalty, then the widest kernel.
    let most = right.as_flattened().iter().max().copied().unwrap_or(0);
    let best = right.as_flattened().iter().position(|&right| right == most).unwrap_or(0);
    Ok((PENALTIES[best / WIDTHS.len()], WIDTHS[best % WIDTHS.len()]))
}

/// Squared distances of standardised rows, per column: kernels of all widths are made of them.
struct Distances {
    training: Vec<f64>, // [training row][training row]
    new: Vec<f64>,      // [new row][training row]
}

impl Distances {
    fn new(mut training: Vec<f64>, mut new: Vec<f64>, columns: usize) -> Fallible<Self> {
        let standard = Standardizer::fit(&training, vec![0.0; 2 * columns])?;
        standard.apply(&mut training)?;
        standard.apply(&mut new)?;
        let items = training.len() / columns;
        let (mut square, mut others) = (vec![0.0; items * items], vec![0.0; items * new.len() / columns]);
        gram(Similarity::Linear, columns, &training, &mut square)?;
        cross(Similarity::Linear, columns, &new, &training, &mut others)?;
        let norms: Vec<f64> = square.iter().step_by(items + 1).copied().collect();
        let new_norms: Vec<f64> = new.chunks(columns).map(|row| row.iter().map(|x| x * x).sum()).collect();
        for (table, row_norms) in [(&mut square, &norms), (&mut others, &new_norms)] {
            for (row, norm) in table.chunks_mut(items).zip(row_norms) {
                for (x, other) in row.iter_mut().zip(&norms) {
                    *x = (norm + other - 2.0 * *x).max(0.0) / columns as f64;
                }
            }
        }
        Ok(Self { training: square, new: others })
    }

    /// Classes of the new rows by a support vector machine that is trained on the others.
    fn predicted(&self, labels: &[usize], penalty: f64, width: f64) -> Fallible<Vec<usize>> {
        let kernel = |table: &[f64]| table.iter().map(|&distance| exp(-width * distance)).collect::<Vec<_>>();
        let storage = vec![0.0; SupportVectors::<f64, Vec<f64>>::len(2, labels.len()).ok_or("too many")?];
        let options = SvmOptions { penalty, ..SvmOptions::default() };
        let mut scratch = vec![0.0; labels.len()];
        let matrix = kernel(&self.training);
        let machine = SupportVectors::train(&matrix, labels, 2, &options, storage, &mut scratch)?;
        let similar = kernel(&self.new);
        similar.chunks(labels.len()).map(|row| Ok(machine.predict(row, &mut [0; 2])?)).collect()
    }
}
