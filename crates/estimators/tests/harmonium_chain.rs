//! What a chain of a harmonium's training does in a step, computed anew from its parameters before and after it.

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_counts::Bags;
use countgrid_estimators::{
    BagTotals, CouplingPrior, FeatureValues, HarmoniumData, HarmoniumKind, HarmoniumMethod, HarmoniumOptions,
    HarmoniumParameters, HarmoniumTraining, Phase, TraceRecord, Train,
};

type Training = HarmoniumTraining<f64, HarmoniumData<f64>>;

/// So many bags over so many words, with counts from 1 to 3; bag `t` has the word `t % words`, and some others.
fn blocks(bags: usize, words: usize) -> Blocks<f64> {
    let mut builder = BlocksBuilder::new(words, BlockLimits::in_memory()).unwrap();
    for t in 0..bags {
        let own = (0..words).filter(|word| *word == t % words || (t * t + 3 * word) % 5 < 2);
        builder.push(own.map(|word| (word, (1 + (t + word) % 3) as f64))).unwrap();
    }
    builder.finish().unwrap()
}

fn features(bags: usize) -> FeatureValues {
    let values = (0..bags).flat_map(|t| [(t % 3) as f64, ((t * 7) % 11) as f64]).collect();
    FeatureValues { names: vec!["a".into(), "b".into()], values }
}

fn training(blocks: &Blocks<f64>, options: &HarmoniumOptions) -> Training {
    let plan = options.check(BagTotals::from_blocks(blocks).unwrap()).unwrap();
    let own = (options.kind == HarmoniumKind::DualWing).then(|| features(blocks.len()));
    let data = HarmoniumData::new(&plan, blocks, own.as_ref()).unwrap();
    HarmoniumTraining::new(plan, data).unwrap()
}

fn parameters(training: &Training) -> Vec<HarmoniumParameters<f64>> {
    training.parameters().cloned().collect()
}

fn last(training: &Training, chain: usize) -> TraceRecord {
    *training.traces().nth(chain).unwrap().last().unwrap()
}

/// Options of brief trainings by every kind and method: three epochs of three mini-batches of four documents, and for
/// Langevin sampling two chains with eight steps.
fn brief() -> Vec<HarmoniumOptions> {
    let of = |kind, method| {
        let (topics, epochs, batch, draws, step_size) = (2, 3, 4, 8, Some(0.1));
        let chains = if method == HarmoniumMethod::Langevin { 2 } else { 1 };
        let default = HarmoniumOptions::default();
        HarmoniumOptions { kind, method, topics, epochs, batch, draws, chains, step_size, ..default }
    };
    HarmoniumKind::ALL
        .into_iter()
        .flat_map(|kind| HarmoniumMethod::ALL.map(|method| of(kind, method)))
        .collect()
}

#[test]
fn a_trace_tells_of_the_parameters_after_each_step() {
    const WORDS: usize = 6;
    let blocks = blocks(12, WORDS);
    for options in brief() {
        let mut training = training(&blocks, &options);
        let mut steps = 0;
        while !training.is_done() {
            let before = parameters(&training);
            training.step().unwrap();
            steps += 1;
            let ascends = steps <= options.epochs;
            for (chain, (before, after)) in before.iter().zip(training.parameters()).enumerate() {
                let record = last(&training, chain);
                let (phase, step) = match ascends {
                    true => (Phase::ContrastiveDivergence, steps),
                    false => (Phase::Langevin, steps - options.epochs),
                };
                assert_eq!((record.phase, record.step), (phase, step));
                let fields = record.fields(chain);
                let expected = [(chain + 1).to_string(), if ascends { "climb" } else { "langevin" }.into()];
                assert_eq!(fields[..2], expected);

                let v = |i: usize, k: usize| {
                    (0..2).map(|j| after.w()[i * 2 + j] * after.w()[k * 2 + j]).sum::<f64>()
                };
                let all = (0..WORDS).flat_map(|i| (0..WORDS).map(move |k| (i, k)));
                let mean = all.map(|(i, k)| v(i, k)).sum::<f64>() / (WORDS * WORDS) as f64;
                let trace = (0..WORDS).map(|i| v(i, i)).sum::<f64>();
                // Sums of tens of numbers that the trace bounds.
                assert!((record.mean_v - mean).abs() < 1e-13 * trace, "{record:?}: {mean}");
                assert!((record.trace_v - trace).abs() < 1e-13 * trace, "{record:?}: {trace}");

                // Biases moved by ε²/2 times the mismatch, where ε² of a batch is scaled to all documents.
                let scale = if ascends { 12.0 / 4.0 } else { 1.0 };
                let rate = 0.5 * 0.1 * 0.1 * scale;
                let moved = before.alpha().iter().zip(after.alpha()).map(|(a, b)| (b - a).abs()).sum::<f64>();
                // Three roundings for each of six biases below 8, of less than 1e-15 each.
                assert!((record.mismatch * 12.0 * rate - moved).abs() < 2e-14, "{record:?}: {moved}");
                assert!(moved > 1e-4);
                assert_eq!(record.accepted, 1.0, "{options:?}");
            }
            let proposed = if ascends { 3 * steps } else { 3 * options.epochs + steps - options.epochs };
            let all = training.acceptance();
            assert_eq!((all.proposed, all.accepted), ((proposed * options.chains) as u64, all.proposed));
        }
    }
}

/// All vectors of so many whole numbers up to `most`.
fn states(len: usize, most: u32) -> Vec<Vec<f64>> {
    (0..len).fold(vec![vec![]], |shorter, _| {
        let longer = |state: &Vec<f64>, x| [state.as_slice(), &[f64::from(x)]].concat();
        shorter.iter().flat_map(|state| (0..=most).map(move |x| longer(state, x))).collect()
    })
}

fn log_factorial(x: f64) -> f64 {
    (1..=x as u32).map(|k| f64::from(k).ln()).sum()
}

fn log_choose(n: f64, x: f64) -> f64 {
    log_factorial(n) - log_factorial(x) - log_factorial(n - x)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Log-likelihood of documents, by the definitions of the models.
fn log_likelihood(
    model: &HarmoniumParameters<f64>,
    kind: HarmoniumKind,
    trials: u32,
    rows: &[Vec<f64>],
) -> f64 {
    let (words, topics, n) = (model.alpha().len(), model.shape().topics(), f64::from(trials));
    let into = |x: &[f64], j: usize| (0..words).map(|i| x[i] * model.w()[i * topics + j]).sum::<f64>();
    let log_sum = |logs: Vec<f64>| logs.iter().map(|log| log.exp()).sum::<f64>().ln();
    let rate_adapting = kind == HarmoniumKind::RateAdapting;
    let unnormalised = |x: &[f64]| {
        let base = dot(model.alpha(), x);
        if rate_adapting {
            let over = |j: usize| n * (1.0 + (model.beta()[j] + into(x, j)).exp()).ln();
            base - x.iter().map(|&x| log_factorial(x)).sum::<f64>() + (0..topics).map(over).sum::<f64>()
        } else {
            let squares = (0..topics).map(|j| into(x, j).powi(2)).sum::<f64>();
            base + x.iter().map(|&x| log_choose(n, x)).sum::<f64>() + 0.5 * squares
        }
    };
    let partition = if rate_adapting {
        // Sums over Poisson words are exponential functions of their rates.
        let of = |h: &Vec<f64>| {
            let row = |i: usize| &model.w()[i * topics..(i + 1) * topics];
            let rates = (0..words).map(|i| (model.alpha()[i] + dot(row(i), h)).exp()).sum::<f64>();
            h.iter().map(|&h| log_choose(n, h)).sum::<f64>() + dot(model.beta(), h) + rates
        };
        log_sum(states(topics, trials).iter().map(of).collect())
    } else {
        log_sum(states(words, trials).iter().map(|x| unnormalised(x)).collect())
    };
    rows.iter().map(|x| unnormalised(x) - partition).sum()
}

#[test]
fn a_trace_has_the_log_densities_of_small_models() {
    let (words, deviation) = (4, 0.3);
    let blocks = blocks(12, words);
    let gathered = blocks.gather(|count| count).unwrap();
    for options in brief().into_iter().filter(|options| options.kind != HarmoniumKind::DualWing) {
        for trials in [1, 2] {
            let sampled = options.method == HarmoniumMethod::Langevin;
            let prior = sampled.then_some(CouplingPrior::Fixed(deviation));
            let options = HarmoniumOptions { trials, prior, exact_likelihood: true, ..options.clone() };
            let poisson = options.kind == HarmoniumKind::RateAdapting;
            let mut rows = vec![vec![0.0; words]; 12];
            for (t, row) in rows.iter_mut().enumerate() {
                for (word, x) in gathered.entries(t) {
                    row[word] = if poisson { x } else { f64::from(trials).min(x) };
                }
            }
            let mut training = training(&blocks, &options);
            while !training.is_done() {
                training.step().unwrap();
                for (chain, model) in training.parameters().enumerate() {
                    let record = last(&training, chain);
                    let density = |w: f64| {
                        let variance = deviation * deviation;
                        -0.5 * (w * w / variance + (2.0 * std::f64::consts::PI * variance).ln())
                    };
                    let log_prior = model.w().iter().map(|&w| density(w)).sum::<f64>();
                    let expected = (record.phase == Phase::Langevin).then_some(log_prior);
                    assert_eq!(record.log_prior.is_some(), expected.is_some());
                    if let Some(found) = record.log_prior {
                        assert!((found - log_prior).abs() < 1e-12, "{found} and not {log_prior}");
                    }
                    let expected =
                        log_likelihood(model, options.kind, trials, &rows) + expected.unwrap_or(0.0);
                    // Some hundred nats, of a sum of 81 exponentials at most.
                    let found = record.log_posterior.unwrap();
                    assert!((found - expected).abs() < 1e-10, "{found} and not {expected}: {options:?}");
                }
            }
        }
    }
}

#[test]
fn likelihoods_are_enumerated_over_4096_states_and_no_more() {
    let (single, poisson) = (HarmoniumKind::Single, HarmoniumKind::RateAdapting);
    // States are those of the words, or of the topics of the rate adapting model.
    for (kind, words, topics, trials, asked, expected) in [
        (single, 12, 2, 1, true, true),
        (single, 13, 2, 1, true, false),
        (single, 4, 13, 7, true, true),
        (single, 4, 2, 8, true, false),
        (single, 2, 2, 1, false, false),
        (poisson, 13, 12, 1, true, true),
        (poisson, 2, 13, 1, true, false),
        (poisson, 2, 4, 7, true, true),
        (poisson, 2, 4, 8, true, false),
    ] {
        let default = HarmoniumOptions::default();
        let options =
            HarmoniumOptions { kind, topics, trials, epochs: 1, exact_likelihood: asked, ..default };
        let mut training = training(&blocks(2, words), &options);
        training.step().unwrap();
        let found = last(&training, 0).log_posterior;
        assert_eq!(found.is_some(), expected, "{kind:?}: {words} words, {topics} topics, {trials} trials");
    }
}

/// The chains of persistent learning stand for as many documents as a batch has, also the last, smaller one: two words, of which
/// every document has one and none has the other, are there in the chains nearly as often.
#[test]
fn persistent_chains_weigh_as_much_as_a_batch() {
    const SEEDS: u64 = 40;
    let mut builder = BlocksBuilder::new(2, BlockLimits::in_memory()).unwrap();
    (0..25).for_each(|_| builder.push([(0, 1.0)]).unwrap());
    let blocks = builder.finish().unwrap();
    let mut missed = 0.0;
    for seed in 1..=SEEDS {
        let method = HarmoniumMethod::Persistent;
        let (topics, epochs, batch, step_size) = (1, 1, 10, Some(1e-3));
        let default = HarmoniumOptions::default();
        let options = HarmoniumOptions { method, topics, epochs, batch, step_size, seed, ..default };
        let mut training = training(&blocks, &options);
        training.step().unwrap();
        missed += last(&training, 0).mismatch * 25.0 / SEEDS as f64;
    }
    // Biases begin at probabilities of 25.5/26 and 0.5/26, so that of 25 documents chains miss each word 0.5 times, with a
    // variance of 20 + 10/4 times 0.019. The mean over seeds is 1 with a standard deviation of 0.15.
    assert!((0.25..1.75).contains(&missed), "{missed}");
}

/// Mean and variance, at least 1e-4, of so many couplings.
fn moments(couplings: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = couplings.clone().count() as f64;
    let mean = couplings.clone().sum::<f64>() / count;
    (mean, (couplings.map(|w| (w - mean).powi(2)).sum::<f64>() / count).max(1e-4))
}

#[test]
fn a_prior_is_learned_from_every_tenth_draw_of_a_hundred() {
    let blocks = blocks(12, 4);
    for (prior, kind, topics) in [
        (CouplingPrior::Empirical, HarmoniumKind::Single, 3),
        (CouplingPrior::EmpiricalPooled, HarmoniumKind::Single, 2),
        (CouplingPrior::Empirical, HarmoniumKind::DualWing, 2),
        (CouplingPrior::EmpiricalPooled, HarmoniumKind::DualWing, 2),
    ] {
        let method = HarmoniumMethod::Langevin;
        let (epochs, draws, prior, step_size) = (40, 104, Some(prior), None);
        let default = HarmoniumOptions::default();
        let options = HarmoniumOptions { kind, method, topics, epochs, draws, prior, step_size, ..default };
        let mut training = training(&blocks, &options);
        (0..epochs).for_each(|_| drop(training.step().unwrap()));
        let rows_of = |model: &HarmoniumParameters<f64>| -> Vec<Vec<f64>> {
            [model.w(), model.u()].concat().chunks(topics).map(<[f64]>::to_vec).collect()
        };
        // Of samples `[sample][row][topic]` a mean and a variance for each row.
        let learned = |samples: &[Vec<Vec<f64>>]| -> Vec<(f64, f64)> {
            (0..samples[0].len())
                .map(|row| match prior {
                    Some(CouplingPrior::Empirical) => {
                        moments(samples.iter().flat_map(|sample| &sample[row]).copied())
                    }
                    _ => moments(samples.iter().flatten().flatten().copied()),
                })
                .collect()
        };
        let mut expected = learned(&[rows_of(training.parameters().next().unwrap())]);
        let (first, mut kept) = (expected.clone(), Vec::new());
        for draw in 0..draws {
            training.step().unwrap();
            let rows = rows_of(training.parameters().next().unwrap());
            if draw % 10 == 0 {
                kept.push(rows.clone());
            }
            if draw == 90 {
                expected = learned(&kept);
                assert!(expected.iter().zip(&first).all(|(now, before)| now.0 != before.0));
                assert!(expected.iter().any(|(_, variance)| *variance > 1e-4));
            }
            let mut log_density = 0.0;
            for (row, (mean, variance)) in rows.iter().zip(&expected) {
                let constant = (2.0 * std::f64::consts::PI * variance).ln();
                row.iter().for_each(|w| log_density -= 0.5 * ((w - mean).powi(2) / variance + constant));
            }
            let found = last(&training, 0).log_prior.unwrap();
            // Some tens of terms, of tens of nats each.
            assert!((found - log_density).abs() < 1e-10, "{draw}: {found} and not {log_density}");
        }
        let summary = training.finish().unwrap().summary().copied().unwrap().prior.unwrap();
        let rows = expected.len() as f64;
        let mean = expected.iter().map(|(mean, _)| mean).sum::<f64>() / rows;
        let deviation = expected.iter().map(|(_, variance)| variance.sqrt()).sum::<f64>() / rows;
        assert!((summary.mean - mean).abs() < 1e-13, "{summary:?}: {mean}");
        assert!((summary.deviation - deviation).abs() < 1e-13, "{summary:?}: {deviation}");
    }
}
