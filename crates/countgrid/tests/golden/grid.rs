//! Kinds `cg_e_step`, `cg_fit`, `cg_fit_factored`, `mixture_fit` and `grid_scores`.

use countgrid::{
    counts::{CsrBuf, Dense},
    em::{Fit, FreeEnergy, Learn},
    grid::{
        Grid, GridError, Grouping, Learner, LogHistograms, Options, PosteriorThreshold, Shape, Sources,
        Statistics, Terms, UpdateRule,
    },
    math::Real,
    scores::fess,
    torus::{Torus, Windows},
};

use crate::{
    case::{Case, Failure, Tolerance},
    windows::{by_axes, transpose, transpose_back},
};

/// What the other files of these kinds allow in f32; measured there with twenty times to spare.
const SINGLE_E_STEP: Tolerance = Tolerance { rel: 2e-4, abs: 2e-5 };
const SINGLE_FIT: Tolerance = Tolerance { rel: 5e-4, abs: 5e-4 };

/// The shape of a case, its counts and its starting grid as the buffer of a [`Grid`].
struct Start<T, const D: usize> {
    shape: Shape<D>,
    counts: Vec<f64>,
    bags: usize,
    tables: Vec<T>,
}

impl<T: Real, const D: usize> Start<T, D> {
    fn read(case: &Case, pi: &str) -> Result<Self, Failure> {
        let windows = Windows::new(Torus::new(case.sizes::<D>("E")?)?, case.sizes::<D>("W")?)?;
        let counts = case.input("counts")?;
        let [bags, features] = counts.shape[..] else { return Err(Failure("counts: not [T, Z]".into())) };
        let shape = Shape::new(windows, features)?;
        let mut tables = transpose::<T>(&case.input(pi)?.data, shape.cells())?;
        let prior = case.input_or_none("prior")?.or(case.input_or_none("p")?);
        match prior {
            Some(prior) => tables.extend(prior.data.iter().map(|&p| T::from_f64(p))),
            None => tables.resize(shape.grid_len(), T::from_f64(1.0 / shape.cells() as f64)),
        }
        Ok(Self { shape, counts: counts.data, bags, tables })
    }

    fn learner(&self, options: Options) -> Result<Learner<T, Vec<T>, D>, GridError> {
        let grid = Grid::new(self.shape, self.tables.clone())?;
        let mut scratch = vec![T::zero(); self.shape.plane_scratch_len()];
        Learner::new(grid, vec![T::zero(); self.shape.histograms_len::<T>()], &mut scratch, options)
    }

    /// With a scratch for `chunk` bags at once, which must make no difference.
    fn statistics(&self, chunk: usize) -> Result<Statistics<T, Vec<T>, D>, GridError> {
        let sums = vec![T::zero(); self.shape.sums_len::<T>()];
        Statistics::new(self.shape, sums, vec![T::zero(); self.shape.scratch_len::<T>(chunk)])
    }

    /// Posteriors `[bag][cell]` and log evidence of every bag.
    fn place(&self, learner: &Learner<T, Vec<T>, D>) -> Result<(Vec<T>, Vec<T>), Failure> {
        let (cells, mut evidence) = (self.shape.cells(), Vec::new());
        let mut q = vec![T::zero(); cells * self.bags];
        let mut scratch = vec![T::zero(); self.shape.posterior_scratch_len::<T>(1)];
        let bags = Dense::new(self.shape.features(), &self.counts)?;
        for (t, q) in q.chunks_exact_mut(cells).enumerate() {
            evidence.push(learner.histograms().posterior(&bags, t, q, &mut scratch)?);
        }
        Ok((q, evidence))
    }
}

pub fn e_step<T: Real>(case: &Case) -> Result<(), Failure> {
    by_axes!(case, e_step_of, T)
}

fn e_step_of<T: Real, const D: usize>(case: &Case) -> Result<(), Failure> {
    let start = Start::<T, D>::read(case, "pi")?;
    let tolerance = case.tolerance::<T>(SINGLE_E_STEP)?;
    let learner = start.learner(Options::default())?;
    let mut statistics = start.statistics(2)?;
    let bags = Dense::new(start.shape.features(), &start.counts)?;
    learner.expectation(&bags, &mut statistics)?;

    let cells = start.shape.cells();
    let (mut h, mut window, mut source) = (Vec::new(), Vec::new(), Vec::new());
    let mut scratch = vec![T::zero(); start.shape.plane_scratch_len()];
    for feature in 0..start.shape.features() {
        let mut plane = vec![T::zero(); cells];
        learner.grid().histogram(feature, &mut plane, &mut scratch)?;
        h.extend_from_slice(&plane);
        statistics.window_counts(feature, &mut plane)?;
        window.extend_from_slice(&plane);
        learner.expected_tokens(&mut statistics, feature, &mut plane)?;
        source.extend_from_slice(&plane);
    }
    let (q, evidence) = start.place(&learner)?;
    for name in case.expected_names() {
        match name {
            "h" => case.check(name, &transpose_back(&h, cells), tolerance)?,
            "q" => case.check(name, &q, tolerance)?,
            "log_evidence" => case.check(name, &evidence, tolerance)?,
            "window_counts" => case.check(name, &transpose_back(&window, cells), tolerance)?,
            "source_counts" => case.check(name, &transpose_back(&source, cells), tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn fit<T: Real>(case: &Case) -> Result<(), Failure> {
    by_axes!(case, fit_of, T)
}

fn fit_of<T: Real, const D: usize>(case: &Case) -> Result<(), Failure> {
    let start = Start::<T, D>::read(case, "pi0")?;
    let tolerance = case.tolerance::<T>(SINGLE_FIT)?;
    let update_rule = match case.word("rule") {
        "" if case.kind() == "cg_fit" => UpdateRule::Exact,
        "exact" => UpdateRule::Exact,
        "" | "factored" => UpdateRule::Factored,
        update_rule => {
            return Err(Failure(format!("inputs.rule: `{update_rule}` is neither exact nor factored")));
        }
    };
    let mut learner = start.learner(Options {
        inner_passes: case.number("inner", 1.0) as usize,
        update_rule,
        learn_prior: case.flag("learn_prior"),
        pseudocount: case.number("pseudocount", 0.0),
        // The vectors follow the smallest masses: a cell that is visited with 1e-12 of a bag moves there.
        posterior_threshold: PosteriorThreshold::Off,
        ..Options::default()
    })?;
    let bags = Dense::new(start.shape.features(), &start.counts)?;
    let mut statistics = start.statistics(3)?;
    let (mut bound_e, mut bound_m, mut q) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..case.number("iterations", 0.0) as usize {
        (q, _) = start.place(&learner)?;
        statistics.clear();
        let free_energy = learner.expectation(&bags, &mut statistics)?;
        bound_e.push(-free_energy - learner.penalty());
        learner.maximization(&mut statistics)?;
        bound_m.push(learner.bound(&statistics)? - learner.penalty());
    }
    let (_, evidence) = start.place(&learner)?;
    let (pi, prior) = learner.grid().tables();
    for name in case.expected_names() {
        match name {
            // The bounds are f64 in either case; what is in single precision is what they were computed from.
            "bound_e" => case.check(name, &bound_e, tolerance)?,
            "bound_m" => case.check(name, &bound_m, tolerance)?,
            "pi" => case.check(name, &transpose_back(pi, start.shape.cells()), tolerance)?,
            "prior" => case.check(name, prior, tolerance)?,
            "q" => case.check(name, &q, tolerance)?,
            "final_log_evidence" => case.check(name, &evidence, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

/// A mixture is a grid on a circle whose windows have one cell: components are cells, weights the prior.
pub fn mixture<T: Real>(case: &Case) -> Result<(), Failure> {
    let (counts, beta) = (case.input("counts")?, case.input("beta0")?);
    let ([bags, features], [components, _]) = (&counts.shape[..], &beta.shape[..]) else {
        return Err(Failure("counts: not [T, Z], or beta0: not [K, Z]".into()));
    };
    let shape = Shape::new(Windows::new(Torus::new([*components])?, [1])?, *features)?;
    let mut tables = transpose::<T>(&beta.data, *components)?;
    tables.resize(shape.grid_len(), T::from_f64(1.0 / *components as f64));
    let tolerance = case.tolerance::<T>(SINGLE_FIT)?;
    let start = Start { shape, counts: counts.data.clone(), bags: *bags, tables };
    let mut learner = start.learner(Options {
        learn_prior: case.flag("learn_weights"),
        pseudocount: case.number("pseudocount", 0.0),
        posterior_threshold: PosteriorThreshold::Off,
        ..Options::default()
    })?;
    let data = Dense::new(*features, &start.counts)?;
    let mut statistics = start.statistics(3)?;
    let (mut bound, mut q) = (Vec::new(), Vec::new());
    for _ in 0..case.number("iterations", 0.0) as usize {
        (q, _) = start.place(&learner)?;
        statistics.clear();
        bound.push(-learner.expectation(&data, &mut statistics)? - learner.penalty());
        learner.maximization(&mut statistics)?;
    }
    let (beta, weights) = learner.grid().tables();
    for name in case.expected_names() {
        match name {
            "bound" => case.check(name, &bound, tolerance)?,
            "beta" => case.check(name, &transpose_back(beta, *components), tolerance)?,
            "weights" => case.check(name, weights, tolerance)?,
            "q" => case.check(name, &q, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn scores<T: Real>(case: &Case) -> Result<(), Failure> {
    by_axes!(case, scores_of, T)
}

/// The terms, and the free energy.
fn free_energy_score<X, M>(model: &M, datum: &X) -> Result<(Vec<M::Scalar>, M::Scalar), Failure>
where
    M: FreeEnergy<X, Error = GridError>,
{
    let (zero, mut terms) = (M::Scalar::from_f64(0.0), vec![]);
    terms.resize(model.term_count(datum), zero);
    let sum = fess(model, datum, &mut terms, &mut vec![zero; model.scratch_len(datum)])?;
    Ok((terms, sum))
}

fn scores_of<T: Real, const D: usize>(case: &Case) -> Result<(), Failure> {
    let start = Start::<T, D>::read(case, "pi")?;
    let tolerance = case.tolerance::<T>(SINGLE_FIT)?;
    let single = Shape::new(
        Windows::new(*start.shape.windows().torus(), [1; D])?, // the mixture
        start.shape.features(),
    )?;
    let terms = |shape: Shape<D>, grouping| -> Result<(Vec<T>, Vec<T>), Failure> {
        let grid = Grid::new(shape, start.tables.clone())?;
        let mut scratch = vec![T::zero(); shape.plane_scratch_len()];
        let packed = vec![T::zero(); shape.histograms_len::<T>()];
        let histograms = LogHistograms::pack(&grid, packed, &mut scratch)?;
        let data = CsrBuf::from_dense(shape.features(), &start.counts)?;
        let (mut all, mut free_energy) = (Vec::new(), Vec::new());
        for t in 0..start.bags {
            let bag = data.as_view().bag(t).ok_or_else(|| Failure("no such bag".into()))?;
            let (terms, sum) = match grouping {
                Some(grouping) => free_energy_score(&Terms::new(&histograms, grouping), &bag)?,
                None => free_energy_score(&Sources::new(&grid, &histograms)?, &bag)?,
            };
            free_energy.push(sum);
            all.extend(terms);
        }
        Ok((all, free_energy))
    };
    for name in case.expected_names() {
        let (shape, grouping) = match name {
            "free_energy" | "fess_location" => (start.shape, Some(Grouping::Location)),
            "fess_feature" => (start.shape, Some(Grouping::Feature)),
            "fess_source" => (start.shape, None),
            "mixture_fess_component" => (single, Some(Grouping::Location)),
            "mixture_fess_word" => (single, Some(Grouping::Each)),
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        };
        let (all, free_energy) = terms(shape, grouping)?;
        case.check(name, if name == "free_energy" { &free_energy } else { &all }, tolerance)?;
    }
    Ok(())
}
