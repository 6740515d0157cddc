//! A model of one's own: a mixture of Poissons, written with the contracts of `countgrid-em` alone. They give it the fitting
//! loop, restarts, annealing, mini-batches and threads, and the features of `countgrid-scores`. `docs/model.md` of the repository
//! goes through this file from top to bottom.
//!
//! The data are weeks of two bakeries: how many of five things were sold in a morning. Each bakery has its own two kinds of
//! mornings. One mixture per bakery tells which of them a morning was at.
//!
//! ```sh
//! cargo run --release -p countgrid-scores --example poisson_mixture
//! ```

use core::fmt;
use std::error::Error;

use countgrid_counts::{Bag, Bags, Count, Csr, CsrBuf};
use countgrid_em::{
    Anneal, Annealing, Distributions, EmOptions, EmPlan, ExpectedCounts, Fit, FreeEnergy, Learn, Outcome,
    ParallelByBlocks, ParallelStatistics, Restarts, StepwiseOptions, Table, TableBuffer, Tables, TablesError,
    TablesExt, TablesMut, WithScratch, coinciding, no_observer, noise, perturb_tables,
};
use countgrid_math::{ln, ln_gamma, softmax};
use countgrid_scores::{ClassModels, Form, fisher};

type Buffer = TableBuffer<f64, [Table; 2], Vec<f64>>;

/// Tables `weights` `[component]` and `rates` `[feature][component]`: a bag is of component `k` with probability `w_k`, and
/// then has `c_z ~ Poisson(λ_zk)` of every feature, independently.
#[derive(Clone)]
pub(crate) struct PoissonMixture {
    tables: Buffer,
    components: usize,
    beta: f64, // inverse temperature
}

impl PoissonMixture {
    /// Components that are all alike; [`PoissonMixture::draw`] tells them apart.
    pub(crate) fn new(components: usize, features: usize) -> Result<Self, Refused> {
        let layout = [Table::new("weights", 1, components), Table::new("rates", features, components)];
        let mut tables = vec![1.0; components + features * components];
        tables[..components].fill(1.0 / components as f64);
        Ok(Self { tables: TableBuffer::new(layout, tables)?, components, beta: 1.0 })
    }

    /// A random start: equal weights, rates from half to one and a half times `rate`.
    pub(crate) fn draw(&mut self, rate: f64, seed: u64) {
        let components = self.components;
        let (weights, rates) = self.tables.buffer_mut().split_at_mut(components);
        weights.fill(1.0 / components as f64);
        rates.iter_mut().enumerate().for_each(|(at, x)| *x = rate * (1.0 + 0.5 * noise(seed, at)));
    }

    /// Expected bags `[component]` and expected tokens `[feature][component]`, in the tables of the model; beside them a
    /// posterior `[component]` as scratch.
    pub(crate) fn statistics(&self) -> Result<WithScratch<Buffer, Vec<f64>>, Refused> {
        let sums = TableBuffer::new([self.layout()[0], self.layout()[1]], vec![0.0; self.buffer().len()])?;
        Ok(WithScratch::new(sums, vec![0.0; self.components]))
    }
}

/// What the model refuses.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "field names say what they hold")]
pub(crate) enum Refused {
    /// Tables of another shape.
    Tables(TablesError),
    /// Bags over another number of features.
    Features { expected: usize, found: usize },
    /// A slice of another length.
    Length { expected: usize, found: usize },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tables(error) => error.fmt(f),
            Self::Features { expected, found } => write!(f, "bags of {found} features, needs {expected}"),
            Self::Length { expected, found } => write!(f, "a slice of {found} elements, needs {expected}"),
        }
    }
}
impl Error for Refused {}
impl From<TablesError> for Refused {
    fn from(error: TablesError) -> Self {
        Self::Tables(error)
    }
}

fn expect(expected: usize, found: usize) -> Result<(), Refused> {
    if expected == found { Ok(()) } else { Err(Refused::Length { expected, found }) }
}

impl Tables for PoissonMixture {
    type Scalar = f64;
    fn layout(&self) -> &[Table] {
        self.tables.layout()
    }
    fn buffer(&self) -> &[f64] {
        self.tables.buffer()
    }
}
impl TablesMut for PoissonMixture {
    fn buffer_mut(&mut self) -> &mut [f64] {
        self.tables.buffer_mut()
    }
}
/// Prior of the rates, `λ^SHAPE exp(-RATE λ)` up to a constant: no rate becomes 0.
const SHAPE: f64 = 0.1;
const RATE: f64 = 0.1;

impl PoissonMixture {
    fn features(&self) -> usize {
        self.layout()[1].rows
    }

    /// Writes `ln w_k + ln p(c | k)` of a bag.
    fn log_joint<B: Bags>(&self, bags: &B, bag: usize, joint: &mut [f64]) {
        let (weights, rates) = self.buffer().split_at(self.components);
        joint.iter_mut().zip(weights).for_each(|(x, &w)| *x = ln(w));
        for rates in rates.chunks_exact(self.components) {
            joint.iter_mut().zip(rates).for_each(|(x, &rate)| *x -= rate);
        }
        for (feature, count) in bags.entries(bag) {
            let (c, rates) = (count.to_real::<f64>(), &rates[feature * self.components..]);
            joint.iter_mut().zip(rates).for_each(|(x, &rate)| *x += c * ln(rate) - ln_gamma(c + 1.0));
        }
    }

    fn check(&self, features: usize) -> Result<(), Refused> {
        let expected = self.features();
        if expected == features { Ok(()) } else { Err(Refused::Features { expected, found: features }) }
    }
}

/// Bags of any storage.
impl<B: Bags> Fit<B> for PoissonMixture {
    fn expectation(&self, bags: &B, statistics: &mut Self::Statistics) -> Result<f64, Refused> {
        self.check_shape(statistics)?;
        self.check(bags.features())?;
        let WithScratch { sums, scratch: q } = statistics;
        let (of_bags, of_tokens) = sums.buffer_mut().split_at_mut(self.components);
        let mut free_energy = 0.0;
        for bag in 0..bags.len() {
            self.log_joint(bags, bag, q);
            q.iter_mut().for_each(|x| *x *= self.beta);
            free_energy -= softmax(q) / self.beta;
            of_bags.iter_mut().zip(&*q).for_each(|(sum, &q)| *sum += q);
            for (feature, count) in bags.entries(bag) {
                let (c, sums) = (count.to_real::<f64>(), &mut of_tokens[feature * self.components..]);
                sums.iter_mut().zip(&*q).for_each(|(sum, &q)| *sum += q * c);
            }
        }
        Ok(free_energy)
    }
}

impl Learn for PoissonMixture {
    type Statistics = WithScratch<Buffer, Vec<f64>>;
    type Error = Refused;

    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), Refused> {
        self.check_shape(statistics)?;
        let (of_bags, of_tokens) = statistics.buffer().split_at(self.components);
        let (weights, rates) = self.tables.buffer_mut().split_at_mut(self.components);
        let total: f64 = of_bags.iter().sum();
        // A component that has lost its bags keeps a share that does not matter.
        weights.iter_mut().zip(of_bags).for_each(|(w, &bags)| *w = (bags / total).max(f64::MIN_POSITIVE));
        for (rates, tokens) in
            rates.chunks_exact_mut(weights.len()).zip(of_tokens.chunks_exact(weights.len()))
        {
            for ((rate, &tokens), &bags) in rates.iter_mut().zip(tokens).zip(of_bags) {
                *rate = (tokens + SHAPE) / (bags + RATE);
            }
        }
        Ok(())
    }

    fn penalty(&self) -> f64 {
        let rates = &self.buffer()[self.components..];
        rates.iter().map(|&rate| RATE * rate - SHAPE * ln(rate)).sum()
    }

    /// Copies have the same rates; their weights may differ.
    fn coinciding_components(&self) -> Option<usize> {
        let (components, rates) = (self.components, &self.buffer()[self.components..]);
        Some(coinciding(components, |k| rates[k..].iter().step_by(components).copied()))
    }
}

/// Until nothing moves, for a comparison of optima.
fn plan() -> Result<EmPlan, Box<dyn Error>> {
    Ok(EmOptions { tolerance: 1e-9, iterations: 500 }.check()?)
}

/// Fits two components from one start.
pub(crate) fn plain(data: &Csr<'_, u32>, seed: u64) -> Result<(PoissonMixture, Outcome), Box<dyn Error>> {
    let mut model = PoissonMixture::new(2, data.features())?;
    let mut statistics = model.statistics()?;
    model.draw(5.0, seed);
    let outcome = plan()?.fit(&mut model, data, &mut statistics, no_observer)?;
    Ok((model, outcome))
}

/// The best of five starts.
pub(crate) fn best_of_five(data: &Csr<'_, u32>) -> Result<(PoissonMixture, Outcome), Box<dyn Error>> {
    let (mut model, plan) = (PoissonMixture::new(2, data.features())?, plan()?);
    let (mut statistics, mut room) = (model.statistics()?, vec![0.0; model.buffer().len()]);
    let best = Restarts::new(5, 7)?.run(&mut model, &mut room, |model, restart| {
        model.draw(5.0, restart.seed);
        plan.fit(model, data, &mut statistics, no_observer)
    })?;
    Ok((model, best.outcome))
}

impl Anneal for PoissonMixture {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.beta = beta;
    }
    fn perturb(&mut self, _: &mut Self::Statistics, size: f64, seed: u64) {
        perturb_tables(&mut self.tables, &[Distributions::Rows, Distributions::None], size, seed);
    }
}

/// From components that are all alike, with flat posteriors that sharpen.
pub(crate) fn annealed(
    data: &Csr<'_, u32>,
    perturbation: f64,
) -> Result<(PoissonMixture, Outcome), Box<dyn Error>> {
    let mut model = PoissonMixture::new(2, data.features())?;
    let mut statistics = model.statistics()?;
    let schedule = Annealing::geometric(0.1, 20)?.with_perturbation(perturbation, 42)?;
    let outcome = plan()?.fit_annealed(&mut model, data, &mut statistics, &schedule, no_observer)?;
    Ok((model, outcome))
}

/// In mini-batches of 30 bags; the objective of the whole data in the end.
pub(crate) fn stepwise(data: &Csr<'_, u32>, seed: u64) -> Result<(PoissonMixture, Outcome), Box<dyn Error>> {
    let mut model = PoissonMixture::new(2, data.features())?;
    let mut statistics = model.statistics()?;
    model.draw(5.0, seed);
    let batches = |_pass| batches(data, 30).map(|batch| (batch, batch.len() as f64 / data.len() as f64));
    StepwiseOptions::default().check()?.fit(&mut model, batches, &mut statistics, no_observer)?;
    let judge = EmOptions { iterations: 0, ..EmOptions::default() }.check()?;
    let outcome = judge.fit(&mut model, data, &mut statistics, no_observer)?;
    Ok((model, outcome))
}

/// Bags by `size`, in their order.
fn batches<'a>(data: &Csr<'a, u32>, size: usize) -> impl Iterator<Item = Csr<'a, u32>> {
    (0..data.len()).step_by(size).filter_map(move |at| data.slice(at..data.len().min(at + size)))
}

/// On all threads of the pool that the caller is in: the same bits with any number of them.
pub(crate) fn on_threads(
    data: &Csr<'_, u32>,
    seed: u64,
) -> Result<(PoissonMixture, Outcome), Box<dyn Error>> {
    let mut model = PoissonMixture::new(2, data.features())?;
    model.draw(5.0, seed);
    let mut statistics = ParallelStatistics::new(model.statistics()?);
    let (mut model, blocks) = (ParallelByBlocks::new(model), batches(data, 30).collect::<Vec<_>>());
    let outcome = plan()?.fit(&mut model, &blocks, &mut statistics, no_observer)?;
    Ok((model.into_model(), outcome))
}

/// By component: `q_k ln q_k`, `-q_k ln w_k` and `-q_k ln p(c | k)`, `[3][component]`, with the exact posterior `q`.
impl<C: Count> FreeEnergy<Bag<'_, C>> for PoissonMixture {
    type Scalar = f64;
    type Error = Refused;

    fn term_count(&self, _: &Bag<'_, C>) -> usize {
        3 * self.components
    }
    fn scratch_len(&self, _: &Bag<'_, C>) -> usize {
        self.components
    }
    fn free_energy_terms(&self, bag: &Bag<'_, C>, terms: &mut [f64], q: &mut [f64]) -> Result<f64, Refused> {
        self.check(bag.features())?;
        expect(3 * self.components, terms.len())?;
        expect(self.components, q.len())?;
        let (entropy, rest) = terms.split_at_mut(self.components);
        let (prior, counts) = rest.split_at_mut(self.components);
        self.log_joint(bag, 0, counts);
        q.copy_from_slice(counts);
        let log_evidence = softmax(q);
        let blocks = entropy.iter_mut().zip(prior).zip(counts);
        for ((((entropy, prior), counts), &q), &w) in blocks.zip(&*q).zip(self.buffer()) {
            if q > 0.0 {
                (*entropy, *prior, *counts) = (q * ln(q), -q * ln(w), -q * (*counts - ln(w)));
            } else {
                (*entropy, *prior, *counts) = (0.0, 0.0, 0.0);
            }
        }
        Ok(-log_evidence)
    }
}

/// Shares of new mornings that the lower free energy places at the right bakery, and the features of one of them.
pub(crate) fn features(models: &[PoissonMixture; 2]) -> Result<(f64, Vec<f64>), Box<dyn Error>> {
    let classes = ClassModels::new(models)?;
    let empty = Bag::<u32>::empty(5); // every bag has as many features
    let mut features = vec![0.0; classes.feature_count(&empty)];
    let mut scratch = vec![0.0; classes.scratch_len(&empty)];
    let (mut right, mut free_energies) = (0, [0.0; 2]);
    for (bakery, seed) in [(0, 3), (1, 4)] {
        let held_out = mornings(bakery, 100, seed)?;
        for t in 0..held_out.len() {
            let morning = held_out.as_view().bag(t).unwrap_or(empty);
            let lowest = classes.fess(&morning, &mut features, &mut free_energies, &mut scratch)?;
            right += usize::from(lowest == bakery);
        }
    }
    Ok((right as f64 / 200.0, features))
}

/// `q_k` for the weights; for the rates, which are no distributions, the derivative `q_k (c_z / λ_zk - 1)`.
impl<C: Count> ExpectedCounts<Bag<'_, C>> for PoissonMixture {
    type Error = Refused;
    const DISTRIBUTIONS: &'static [Distributions] = &[Distributions::Rows, Distributions::None];

    fn counts_scratch_len(&self, _: &Bag<'_, C>) -> usize {
        0
    }
    fn expected_counts(&self, bag: &Bag<'_, C>, counts: &mut [f64], _: &mut [f64]) -> Result<f64, Refused> {
        self.check(bag.features())?;
        expect(self.buffer().len(), counts.len())?;
        let (q, gradient) = counts.split_at_mut(self.components);
        self.log_joint(bag, 0, q);
        let log_evidence = softmax(q);
        gradient
            .chunks_exact_mut(self.components)
            .for_each(|row| row.iter_mut().zip(&*q).for_each(|(x, &q)| *x = -q));
        let rates = &self.buffer()[self.components..];
        for (feature, count) in bag.entries(0) {
            let row = feature * self.components..(feature + 1) * self.components;
            for ((x, &rate), &q) in gradient[row.clone()].iter_mut().zip(&rates[row]).zip(&*q) {
                *x += q * count.to_real::<f64>() / rate;
            }
        }
        Ok(log_evidence)
    }
}

/// Numbers in `[0, 1)`, the same everywhere: SplitMix64.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut restart = 0;
    move || {
        restart += 1;
        (countgrid_em::restart_seed(seed, restart) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Things that a morning sells on average: bread, rolls, croissants, cake, coffee. A weekday and a Sunday of each bakery.
const SOLD: [[[f64; 5]; 2]; 2] = [
    [[12.0, 6.0, 1.0, 0.5, 2.0], [3.0, 15.0, 4.0, 6.0, 2.0]],
    [[4.0, 3.0, 6.0, 1.0, 14.0], [1.0, 2.0, 12.0, 8.0, 6.0]],
];

/// Mornings at a bakery, two of seven of them Sundays.
pub(crate) fn mornings(bakery: usize, count: usize, seed: u64) -> Result<CsrBuf<u32>, Box<dyn Error>> {
    let (mut random, mut bags) = (random(seed), CsrBuf::new(5)?);
    for _ in 0..count {
        let kind = usize::from(random() < 2.0 / 7.0);
        // As many exponential waiting times as go into one morning.
        let mut poisson = |rate: f64| {
            let (mut sold, mut left) = (0_u32, rate + ln(1.0 - random()));
            while left > 0.0 {
                (sold, left) = (sold + 1, left + ln(1.0 - random()));
            }
            sold
        };
        let sold: Vec<_> =
            SOLD[bakery][kind].iter().enumerate().map(|(thing, &rate)| (thing, poisson(rate))).collect();
        bags.push_bag(sold)?;
    }
    Ok(bags)
}

/// What came out, for tests to look at.
pub(crate) struct Results {
    /// How the fits of the first bakery ended: plain, best of five, annealed with perturbation, stepwise, on threads.
    pub(crate) outcomes: [Outcome; 5],
    /// Annealed without perturbation.
    pub(crate) merged: Outcome,
    /// The best model of each bakery.
    pub(crate) models: [PoissonMixture; 2],
    /// Share of new mornings that the lower free energy places at the right bakery.
    pub(crate) accuracy: f64,
}

/// Fits in every way that the contracts give, scores new mornings, and prints what comes out.
pub(crate) fn run() -> Result<Results, Box<dyn Error>> {
    let training = [mornings(0, 210, 1)?, mornings(1, 210, 2)?];
    let (first, second) = (training[0].as_view(), training[1].as_view());
    let (one, best) = best_of_five(&first)?;
    let (two, _) = best_of_five(&second)?;
    let ways = ["plain", "best of five", "annealed, perturbed", "mini-batches", "threads"];
    let outcomes = [
        plain(&first, 0)?.1,
        best,
        annealed(&first, 0.05)?.1,
        stepwise(&first, 0)?.1,
        on_threads(&first, 0)?.1,
    ];
    let merged = annealed(&first, 0.0)?.1;
    for (way, outcome) in ways.iter().zip(&outcomes).chain([(&"annealed", &merged)]) {
        let Outcome { objective, end, coinciding, .. } = outcome;
        println!("{way:20} objective {objective:.3}, {end:?}, coinciding {coinciding:?}");
    }

    let models = [one, two];
    for (bakery, model) in models.iter().enumerate() {
        println!("bakery {bakery}: weights {:.2?}", model.table("weights").unwrap_or_default());
        let things = ["bread", "rolls", "croissants", "cake", "coffee"];
        for (thing, rates) in things.iter().zip(model.buffer()[2..].chunks(2)) {
            println!("  {thing:10} {rates:5.1?}");
        }
    }
    let (accuracy, features) = features(&models)?;
    println!(
        "{:.1} % of 200 mornings at the right bakery; features of the last {features:.2?}",
        100.0 * accuracy
    );

    let mut score = vec![0.0; models[0].buffer().len()];
    let morning = first.bag(0).unwrap_or(Bag::empty(5));
    fisher(&models[0], &morning, Form::Logit, &mut score, &mut [])?;
    println!("Fisher score of a morning: {score:.3?}");
    Ok(Results { outcomes, merged, models, accuracy })
}

fn main() -> Result<(), Box<dyn Error>> {
    let Results { outcomes, merged, models, accuracy } = run()?;
    assert!(outcomes.iter().all(|outcome| outcome.coinciding == Some(0)) && merged.coinciding == Some(1));
    assert!(models.len() == 2 && accuracy > 0.5);
    Ok(())
}
