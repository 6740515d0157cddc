//! Is the Bayesian harmonium better than maximum likelihood when documents are few? The synthetic experiment of section 5.1
//! of the Bayesian exponential family harmonium paper (BEFH), and a design in which the data say more.
//!
//!     cargo run --release -p countgrid-harmonium --example few_documents -- [DATA SETS] [ITERATIONS]
//!
//! `M = 100` binary words, `J = 10` topics, `N` = 25, 50, 100, 200 documents drawn exactly from a known model. How far off are
//! estimates of `V = W Wᵀ`: mean absolute and mean relative error, averages over data sets ± their standard error.
//! `docs/harmonium.md` discusses what came out.

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use countgrid_counts::{Bags, Dense};
use countgrid_em::{TablesMutExt, restart_seed};
use countgrid_harmonium::{
    Draws, Gradient, Guard, Harmonium, IsingModel, Noise, Prior, Rates, Shape, Sharing, Uniforms, add_gram,
    coupling_errors, couplings_from_gram, effective_sample_size, step_bound,
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

const WORDS: usize = 100;
const TOPICS: usize = 10;
const DOCUMENTS: [usize; 4] = [25, 50, 100, 200];

type Model = Harmonium<f32, Vec<f32>>;
type Random = Draws<ChaCha8Rng>;
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// `work` of every index below `length`, in their order, on all cores.
fn each<R: Send>(length: usize, work: impl Fn(usize) -> Outcome<R> + Sync) -> Outcome<Vec<R>> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= length {
                        break;
                    }
                    let done = work(index);
                    if let Ok(mut found) = found.lock() {
                        found.push((index, done));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().map_err(|_| "a thread panicked")?;
    found.sort_by_key(|&(index, _)| index);
    found.into_iter().map(|(_, done)| done).collect()
}

fn result(design: Design, documents: usize, index: usize, iterations: usize) -> Outcome<Findings> {
    let seed = restart_seed(1 + design as u64, index + 1);
    let problem = Problem::draw(design, documents, seed)?;
    let (estimates, effective) = problem.estimates(iterations, seed)?;
    let errors = estimates.iter().map(|estimate| coupling_errors(&problem.v, estimate));
    Ok(Findings { errors: errors.collect::<Result<_, _>>()?, on: problem.share_on(), effective })
}

/// How a data set comes about.
#[derive(Clone, Copy, PartialEq)]
enum Design {
    /// Entries of A up to 0.1, no biases: nearly every word is on.
    Published,
    /// Entries of A up to 0.06, biases `-½ V1`: every word is on half of the time.
    Centred,
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let data_sets = arguments.next().transpose()?.unwrap_or(10);
    let iterations = arguments.next().transpose()?.unwrap_or(2000);
    println!("{data_sets} data sets, {iterations} iterations; mae (mre), mean ± standard error");
    for (design, title) in
        [(Design::Published, "as published, α = 0"), (Design::Centred, "centred, α = -½ V1")]
    {
        println!("\n{title}\n{:38}{}", "estimate of V", DOCUMENTS.map(|n| format!("N={n:<21}")).concat());
        let results = each(data_sets * DOCUMENTS.len(), |problem| {
            result(design, DOCUMENTS[problem % DOCUMENTS.len()], problem, iterations)
        })?;
        let mut table = vec![[const { Vec::new() }; DOCUMENTS.len()]; ESTIMATES.len()];
        for (problem, result) in results.iter().enumerate() {
            for (row, &errors) in table.iter_mut().zip(&result.errors) {
                row[problem % DOCUMENTS.len()].push(errors);
            }
        }
        let on = results.iter().map(|result| result.on).sum::<f64>() / results.len() as f64;
        let mut effective: Vec<_> = results.iter().map(|result| result.effective).collect();
        for (name, row) in ESTIMATES.iter().zip(&table) {
            print!("{name:38}");
            row.iter().for_each(|errors| print!("{:23}", summary(errors)));
            println!();
        }
        effective.sort_by(f64::total_cmp);
        println!(
            "words are on {:.1} % of the time; effective samples of the mean coupling, Langevin σ=.1: median {:.0}",
            100.0 * on,
            effective.get(effective.len() / 2).copied().unwrap_or(f64::NAN)
        );
    }
    Ok(())
}

/// What one data set says: `(mae, mre)` of every estimate.
struct Findings {
    errors: Vec<(f64, f64)>,
    on: f64,
    effective: f64,
}

const ESTIMATES: [&str; 8] = [
    "0",
    "one constant",
    "CD-1, start N(0, .1²)",
    "CD-1, start N(0, .01²)",
    "Langevin, μ=0, σ=.1",
    "Langevin, μ=0, σ=1",
    "Langevin, empirical Bayes per word",
    "Langevin, empirical Bayes pooled",
];

fn summary(errors: &[(f64, f64)]) -> String {
    let n = errors.len() as f64;
    let mean = |x: &dyn Fn(&(f64, f64)) -> f64| errors.iter().map(x).sum::<f64>() / n;
    let (mae, mre) = (mean(&|e| e.0), mean(&|e| e.1));
    let spread = mean(&|e| (e.0 - mae) * (e.0 - mae));
    format!("{mae:.4}±{:.4} ({mre:.2})", (spread / (n - 1.0).max(1.0)).sqrt())
}

/// Documents, what they were drawn from, and what is known of it.
struct Problem {
    design: Design,
    v: Vec<f64>,
    alpha: Vec<f32>,
    counts: Vec<u8>,
}

impl Problem {
    fn draw(design: Design, documents: usize, seed: u64) -> Outcome<Self> {
        let mut random = Draws::new(ChaCha8Rng::seed_from_u64(seed));
        let largest = if design == Design::Published { 0.1 } else { 0.06 };
        let (v, w) = loop {
            let (v, w) = true_couplings(largest, &mut random)?;
            let off_diagonal = v.iter().enumerate().filter(|(at, _)| at / WORDS != at % WORDS);
            if off_diagonal.fold(0.0, |least, (_, &v)| f64::min(least, v)) >= 0.0 {
                break (v, w);
            }
        };
        let alpha = match design {
            Design::Published => vec![0.0; WORDS],
            Design::Centred => v.chunks_exact(WORDS).map(|row| -0.5 * row.iter().sum::<f64>()).collect(),
        };
        let tables = [alpha.clone(), w, vec![1.0; WORDS]].concat();
        let truth = Harmonium::new(Shape::words(WORDS, TOPICS)?, tables, &mut [])?;
        let ising = IsingModel::new(&truth, vec![0.0; IsingModel::<()>::len(WORDS)])?;
        let (mut counts, mut bounds) = (vec![0; documents * WORDS], vec![0.0; 3 * WORDS]);
        for (t, words) in counts.chunks_exact_mut(WORDS).enumerate() {
            let mut past = Uniforms::<ChaCha8Rng>::new(restart_seed(seed, t + 1));
            ising.draw(|time, u| past.fill(time, u), 1 << 16, words, &mut bounds)?;
        }
        Ok(Self { design, v, alpha: alpha.iter().map(|&a| a as f32).collect(), counts })
    }

    fn documents(&self) -> usize {
        self.counts.len() / WORDS
    }

    fn share_on(&self) -> f64 {
        self.counts.iter().map(|&x| f64::from(x)).sum::<f64>() / self.counts.len() as f64
    }

    /// One `V̂` a row of [`ESTIMATES`], and the effective samples of the mean coupling under the close prior.
    fn estimates(&self, iterations: usize, seed: u64) -> Outcome<(Vec<Vec<f64>>, f64)> {
        let mut random = Draws::new(ChaCha8Rng::seed_from_u64(restart_seed(seed, 99)));
        let mut chain = Chain::new(self)?;
        let constant = vec![self.one_constant(); WORDS * WORDS];
        let large = self.start(0.1, &mut random)?;
        let small = self.start(0.01, &mut random)?;
        let rough = chain.maximum_likelihood(large.clone(), iterations, &mut random)?;
        let fine = chain.maximum_likelihood(small, iterations, &mut random)?;
        let mut sample = |start: &Model, prior: Prior<f32, Vec<f32>>, learned: Option<Sharing>| {
            chain.langevin(start.clone(), prior, learned, iterations, &mut random)
        };
        let fixed = |deviation: f32| Prior::new(vec![0.0; WORDS], vec![deviation * deviation; WORDS]);
        let (close, trace) = sample(&large, fixed(0.1)?, None)?;
        let (vague, _) = sample(&large, fixed(1.0)?, None)?;
        let initial = |sharing| fixed(1.0)?.update(fine.w(), TOPICS, sharing, GUARD);
        let (per_word, _) = sample(&fine, initial(Sharing::PerRow)?, Some(Sharing::PerRow))?;
        let (pooled, _) = sample(&fine, initial(Sharing::Pooled)?, Some(Sharing::Pooled))?;
        let estimates = vec![
            vec![0.0; WORDS * WORDS],
            constant,
            gram(rough.w(), 1.0)?,
            gram(fine.w(), 1.0)?,
            close,
            vague,
            per_word,
            pooled,
        ];
        Ok((estimates, effective_sample_size(&trace)?))
    }

    /// The known biases, and couplings from `N(0, spread²)`.
    fn start(&self, spread: f32, random: &mut Random) -> Outcome<Model> {
        let model = Harmonium::allocate(Shape::words(WORDS, TOPICS)?, 1, spread, random)?;
        Ok(model.update(&mut [], |[alpha, ..]| alpha.copy_from_slice(&self.alpha))?)
    }

    /// The `v` with which `p(k) ∝ C(M, k) exp(½ v k² + α k)` of the number of words that are on has the data's mean
    /// (centred: the data's variance).
    fn one_constant(&self) -> f64 {
        let words = WORDS as f64;
        let number = |row: &[u8]| row.iter().map(|&x| f64::from(x)).sum::<f64>();
        let moment = |k: f64| match self.design {
            Design::Published => k,
            Design::Centred => (k - 0.5 * words) * (k - 0.5 * words),
        };
        let found = self.counts.chunks_exact(WORDS).map(|row| moment(number(row))).sum::<f64>()
            / self.documents() as f64;
        let expected = |v: f64| {
            let alpha = if self.design == Design::Published { 0.0 } else { -0.5 * v * words };
            let (mut log_choose, mut logs) = (0.0, Vec::new());
            for k in 0..=WORDS {
                let on = k as f64;
                logs.push(log_choose + 0.5 * v * on * on + alpha * on);
                log_choose += ((words - on) / (on + 1.0)).ln();
            }
            let total = countgrid_math::log_sum_exp(&logs);
            logs.iter().enumerate().map(|(k, log)| (log - total).exp() * moment(k as f64)).sum::<f64>()
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if expected(middle) < found { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// `W = U_J S_J^{1/2}` of the singular value decomposition of a matrix of uniform entries, and `V`, the rank-`J` truncation
/// of `(A Aᵀ)^{1/2}`.
fn true_couplings(largest: f64, random: &mut Random) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let a: Vec<f64> = (0..WORDS * WORDS).map(|_| largest * Noise::<f64>::uniform(random)).collect();
    let mut square = gram_of(&a, WORDS)?;
    let mut w = vec![0.0; WORDS * TOPICS];
    couplings_from_gram(&mut square, TOPICS, &mut w, &mut vec![0.0; WORDS * WORDS])?;
    // Columns have the length of a singular value; its root is wanted.
    for topic in 0..TOPICS {
        let length = w.iter().skip(topic).step_by(TOPICS).map(|x| x * x).sum::<f64>().sqrt();
        w.iter_mut().skip(topic).step_by(TOPICS).for_each(|x| *x /= length.sqrt());
    }
    Ok((gram_of(&w, TOPICS)?, w))
}

fn gram_of(w: &[f64], columns: usize) -> Outcome<Vec<f64>> {
    let mut v = vec![0.0; WORDS * WORDS];
    add_gram(w, columns, 1.0, &mut v)?;
    Ok(v)
}

fn gram(w: &[f32], weight: f64) -> Outcome<Vec<f64>> {
    let mut v = vec![0.0; WORDS * WORDS];
    add_gram(w, TOPICS, weight, &mut v)?;
    Ok(v)
}

const GUARD: Guard = Guard::Floor(1e-4);
/// Every so many iterations a sample is kept, and every so many kept ones the prior is learned from them.
const KEEP: usize = 10;
const LEARN: usize = 10;

/// Data, step and memory of everything that climbs or samples.
struct Chain<'a> {
    bags: Dense<'a, u8>,
    gradient: Gradient<f32, Vec<f32>>,
    gibbs: Vec<f32>,
    step: Vec<f32>,
}

impl<'a> Chain<'a> {
    fn new(problem: &'a Problem) -> Outcome<Self> {
        let shape = Shape::words(WORDS, TOPICS)?;
        Ok(Self {
            bags: Dense::new(WORDS, &problem.counts)?,
            gradient: Gradient::allocate(shape)?,
            gibbs: vec![0.0; shape.gibbs_scratch_len::<f32>()],
            step: vec![0.0; shape.step_scratch_len()],
        })
    }

    fn divergence(&mut self, model: &Model, random: &mut Random) -> Outcome<()> {
        self.gradient.clear();
        model.contrastive_divergence(&self.bags, &[], 1, &mut self.gradient, random, &mut self.gibbs)?;
        Ok(())
    }

    /// Gradient ascent with the steps that Langevin sampling takes without its noise.
    fn maximum_likelihood(&mut self, start: Model, iterations: usize, random: &mut Random) -> Outcome<Model> {
        let mut model = start;
        let epsilon = step_bound(self.bags.len(), WORDS, 1.0, 1.0)?;
        let rates = Rates { biases: 0.0, couplings: 0.5 * epsilon * epsilon };
        for _ in 0..iterations {
            self.divergence(&model, random)?;
            model.ascend(&self.gradient, rates, &mut self.step)?;
        }
        Ok(model)
    }

    /// `E[V]` over the second half of the chain, and the trace of the mean of `V` there.
    fn langevin(
        &mut self,
        start: Model,
        prior: Prior<f32, Vec<f32>>,
        learned: Option<Sharing>,
        iterations: usize,
        random: &mut Random,
    ) -> Outcome<(Vec<f64>, Vec<f64>)> {
        let (mut model, mut prior, mut kept) = (start, prior, Vec::new());
        let (mut v, mut trace) = (vec![0.0; WORDS * WORDS], Vec::new());
        for iteration in 0..iterations {
            let least = prior.variances().iter().fold(f32::MAX, |least, &v| least.min(v));
            let epsilon = step_bound(self.bags.len(), WORDS, 1.0, f64::from(least))?;
            self.divergence(&model, random)?;
            model.langevin(&self.gradient, &prior, epsilon, random, &mut self.step)?;
            if iteration % KEEP != 0 {
                continue;
            }
            if iteration >= iterations / 2 {
                add_gram(model.w(), TOPICS, 1.0, &mut v)?;
                let column = |topic| model.w().iter().skip(topic).step_by(TOPICS).sum::<f32>();
                trace.push((0..TOPICS).map(|topic| f64::from(column(topic)).powi(2)).sum::<f64>());
            }
            if let Some(sharing) = learned {
                kept.extend_from_slice(model.w());
                if kept.len() == LEARN * model.w().len() {
                    prior = prior.update(&kept, TOPICS, sharing, GUARD)?;
                    kept.clear();
                }
            }
        }
        v.iter_mut().for_each(|v| *v /= trace.len() as f64);
        Ok((v, trace))
    }
}
