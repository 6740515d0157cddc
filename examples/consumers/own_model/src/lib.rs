//! A mixture of Gaussian distributions of one variable, fitted in all the ways that `countgrid-em` knows.

use countgrid_em::{
    Anneal, Annealing, Chunks, Distributions, EmOptions, Fit, FitError, Learn, Outcome, ParallelByBlocks,
    ParallelStatistics, Restarts, StepwiseOptions, Table, TableBuffer, Tables, TablesError, TablesExt,
    TablesMut, WithScratch, coinciding, no_observer, noise, perturb_tables,
};
use countgrid_math::{ln, softmax};

type Buffer = TableBuffer<f64, [Table; 3], Vec<f64>>;
/// Sums `[component]` of posteriors, of `q x` and of `q x²`; beside them a posterior.
pub type Sums = WithScratch<Buffer, Vec<f64>>;
/// Why a fit did not end.
pub type Refused = FitError<TablesError>;

/// No variance is below this.
const LEAST_VARIANCE: f64 = 1e-6;

/// Tables `weights`, `means` and `variances`, `[component]` each.
#[derive(Clone, Debug)]
pub struct Mixture {
    tables: Buffer,
    beta: f64, // inverse temperature
}

impl Mixture {
    /// Components that are all the standard normal distribution.
    ///
    /// # Errors
    /// None.
    pub fn new(components: usize) -> Result<Self, TablesError> {
        let layout = ["weights", "means", "variances"].map(|name| Table::new(name, 1, components));
        let weights = vec![1.0 / components as f64; components];
        let tables = [weights, vec![0.0; components], vec![1.0; components]].concat();
        Ok(Self { tables: TableBuffer::new(layout, tables)?, beta: 1.0 })
    }

    fn components(&self) -> usize {
        self.layout()[0].columns
    }

    /// Weights, means and variances.
    pub fn parts(&self) -> [&[f64]; 3] {
        ["weights", "means", "variances"].map(|name| self.table(name).unwrap_or_default())
    }

    /// A random start: means in `-reach..reach`, equal weights and variances.
    pub fn draw(&mut self, reach: f64, seed: u64) {
        let components = self.components();
        let (weights, rest) = self.buffer_mut().split_at_mut(components);
        let (means, variances) = rest.split_at_mut(components);
        weights.fill(1.0 / components as f64);
        means.iter_mut().enumerate().for_each(|(k, mean)| *mean = reach * noise(seed, k));
        variances.fill(reach * reach);
    }

    /// Statistics for a fit.
    ///
    /// # Errors
    /// None.
    pub fn statistics(&self) -> Result<Sums, TablesError> {
        let layout = ["q", "qx", "qxx"].map(|name| Table::new(name, 1, self.components()));
        let sums = TableBuffer::new(layout, vec![0.0; self.buffer().len()])?;
        Ok(WithScratch::new(sums, vec![0.0; self.components()]))
    }
}

impl Tables for Mixture {
    type Scalar = f64;
    fn layout(&self) -> &[Table] {
        self.tables.layout()
    }
    fn buffer(&self) -> &[f64] {
        self.tables.buffer()
    }
}
impl TablesMut for Mixture {
    fn buffer_mut(&mut self) -> &mut [f64] {
        self.tables.buffer_mut()
    }
}

impl Fit<[f64]> for Mixture {
    fn expectation(&self, batch: &[f64], statistics: &mut Sums) -> Result<f64, TablesError> {
        let ([weights, means, variances], components) = (self.parts(), self.components());
        let WithScratch { sums, scratch: q } = statistics;
        let mut free_energy = 0.0;
        for &x in batch {
            for (k, q) in q.iter_mut().enumerate() {
                let square = (x - means[k]).powi(2) / variances[k] + ln(std::f64::consts::TAU * variances[k]);
                *q = self.beta * (ln(weights[k]) - square / 2.0);
            }
            free_energy -= softmax(q) / self.beta;
            for (sums, power) in sums.buffer_mut().chunks_exact_mut(components).zip([1.0, x, x * x]) {
                sums.iter_mut().zip(&*q).for_each(|(sum, q)| *sum += q * power);
            }
        }
        Ok(free_energy)
    }
}

impl Learn for Mixture {
    type Statistics = Sums;
    type Error = TablesError;

    fn maximization(&mut self, statistics: &mut Sums) -> Result<(), TablesError> {
        let components = self.components();
        let total: f64 = statistics.buffer()[..components].iter().sum();
        let (sums, tables) = (statistics.buffer(), self.tables.buffer_mut());
        for k in 0..components {
            let [q, qx, qxx] = [0, 1, 2].map(|at| sums[at * components + k]);
            // A component that has lost its data stays where it is, with a share that does not matter.
            tables[k] = (q / total).max(f64::MIN_POSITIVE);
            if q > 0.0 {
                let mean = qx / q;
                tables[components + k] = mean;
                tables[2 * components + k] = (qxx / q - mean * mean).max(LEAST_VARIANCE);
            }
        }
        Ok(())
    }

    fn coinciding_components(&self) -> Option<usize> {
        let [_, means, variances] = self.parts();
        Some(coinciding(self.components(), |k| [means[k], variances[k]]))
    }
}

impl Anneal for Mixture {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.beta = beta;
    }
    fn perturb(&mut self, _: &mut Sums, size: f64, seed: u64) {
        let components = self.components();
        let layout = [Distributions::Rows, Distributions::None, Distributions::None];
        let (means, variances) = self.buffer()[components..].split_at(components);
        // A mean moves by a share of its standard deviation, not of itself.
        let moved: Vec<f64> = (means.iter().zip(variances).enumerate())
            .map(|(k, (mean, variance))| mean + size * variance.sqrt() * noise(seed, k))
            .collect();
        perturb_tables(&mut self.tables, &layout, size, seed);
        self.buffer_mut()[components..2 * components].copy_from_slice(&moved);
    }
}

fn options() -> EmOptions {
    EmOptions { tolerance: 1e-10, iterations: 500 }
}

type Fitted = Result<(Mixture, Outcome), Box<dyn std::error::Error>>;

/// The best of several starts.
///
/// # Errors
/// No starts.
pub fn best_of(starts: usize, components: usize, data: &[f64]) -> Fitted {
    let (mut model, plan) = (Mixture::new(components)?, options().check()?);
    let (mut statistics, mut room) = (model.statistics()?, vec![0.0; model.buffer().len()]);
    let best = Restarts::new(starts, 3)?.run(&mut model, &mut room, |model, restart| {
        model.draw(5.0, restart.seed);
        plan.fit(model, data, &mut statistics, no_observer)
    })?;
    Ok((model, best.outcome))
}

/// From components that are all alike, by annealing; `perturbation` is what parts them.
///
/// # Errors
/// A perturbation that is negative or not a number.
pub fn annealed(components: usize, data: &[f64], perturbation: f64) -> Fitted {
    let mut model = Mixture::new(components)?;
    let mut statistics = model.statistics()?;
    let schedule = Annealing::geometric(0.5, 10)?.with_perturbation(perturbation, 1)?;
    let outcome =
        options().check()?.fit_annealed(&mut model, data, &mut statistics, &schedule, no_observer)?;
    Ok((model, outcome))
}

/// In mini-batches, in at most 60 passes.
///
/// # Errors
/// Those of the options: none.
pub fn in_batches(mut model: Mixture, data: &[f64], size: usize) -> Fitted {
    let mut statistics = model.statistics()?;
    let batches = |_pass| data.chunks(size).map(|batch| (batch, batch.len() as f64 / data.len() as f64));
    let outcome = StepwiseOptions { passes: 60, ..StepwiseOptions::default() }.check()?.fit(
        &mut model,
        batches,
        &mut statistics,
        no_observer,
    )?;
    Ok((model, outcome))
}

/// On all threads of the pool that the caller is in.
///
/// # Errors
/// Those of the options: none.
pub fn on_threads(model: Mixture, data: &[f64]) -> Fitted {
    let mut statistics = ParallelStatistics::new(model.statistics()?);
    let mut model = ParallelByBlocks::new(model);
    let outcome = options().check()?.fit(&mut model, &Chunks::new(data), &mut statistics, no_observer)?;
    Ok((model.into_model(), outcome))
}
