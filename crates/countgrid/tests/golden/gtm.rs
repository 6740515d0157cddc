//! Kinds `gtm_basis`, `gtm_baselines`, `zipgtm_estep`, `zipgtm_em`, `zipgtm_init`, `zipgtm_stress` and
//! `zip_regression`.

use countgrid::{
    classify::{leave_one_out, silhouette},
    counts::{Dense, Zip},
    em::{Fit, Learn, Tables, TablesExt},
    gtm::{
        Basis, Documents, EmissionModel, Gtm, Inflation, Learner, Options, Priors, Reals, Shape, Source,
        Statistics, grid_points, half_plane_centres, principal_scores,
    },
    math::{AlignedVec, Real, exp},
};

use crate::case::{Array, Case, Failure, Tolerance};

/// A score is a sum of some 50 terms of size 10 at most, u of each lost and again by each rounded table entry: 50 · 10 ·
/// 6e-8 = 3e-5 absolute in a score, hence relative in responsibilities and sums of them. Gradients are differences of
/// such sums, of size 20.
const SINGLE_E_STEP: Tolerance = Tolerance { rel: 1e-4, abs: 6e-4 };
/// After an EM iteration parameters carry the error of the sums (3e-5) times the condition number of their regression
/// (40 with a ridge of 0.05), and pass it on for ten iterations without amplifying it much: EM contracts.
const SINGLE_FIT: Tolerance = Tolerance { rel: 5e-3, abs: 5e-3 };
/// Two roundings of the arguments and two of the functions, at arguments up to 4.
const SINGLE_BASIS: Tolerance = Tolerance { rel: 2e-6, abs: 1e-6 };

type Map<T> = Learner<T, AlignedVec<T>, AlignedVec<f64>>;

fn cast<T: Real>(data: &[f64]) -> Vec<T> {
    data.iter().map(|&x| T::from_f64(x)).collect()
}

/// Rows to columns, `[rows][columns]` given.
fn transposed<T: Copy>(data: &[T], columns: usize) -> Vec<T> {
    (0..columns).flat_map(|column| data.iter().copied().skip(column).step_by(columns)).collect()
}

fn matrix(array: &Array) -> Result<[usize; 2], Failure> {
    array.shape[..].try_into().map_err(|_| Failure("not a matrix".into()))
}

pub fn basis<T: Real>(case: &Case) -> Result<(), Failure> {
    let tolerance = case.tolerance::<T>(SINGLE_BASIS)?;
    let size = |name| case.number(name, 0.0) as usize;
    let mut grid = vec![T::zero(); 2 * size("nx") * size("ny")];
    grid_points(size("nx"), size("ny"), &mut grid)?;
    let mut centres = vec![T::zero(); 2 * size("cx") * size("cy")];
    grid_points(size("cx"), size("cy"), &mut centres)?;
    let radii = case.input("sinh_radii")?.data;
    let mut half_plane = vec![T::zero(); 2 * size("sinh_angles") * radii.len()];
    half_plane_centres(size("sinh_angles"), &radii, &mut half_plane)?;
    let points = case.input("points")?;
    let points = transposed(&cast::<T>(&points.data), 2);
    let rows = |planes: &[T]| transposed(planes, planes.len() / 2);
    let table = |basis: Basis<'_, T>, points: &[T]| -> Result<Vec<T>, Failure> {
        let count = points.len() / 2;
        let mut phi = vec![T::zero(); basis.columns() * count];
        basis.table(points, &mut phi)?;
        Ok(transposed(&phi, count))
    };
    let rbf = Basis::rbf(&centres, 2, T::from_f64(case.number("width", 0.0)))?;
    let sinh = Basis::sinh(&half_plane, 2)?;
    for name in case.expected_names() {
        match name {
            "grid" => case.check(name, &rows(&grid), tolerance)?,
            "centres" => case.check(name, &rows(&centres), tolerance)?,
            "sinh_centres" => case.check(name, &rows(&half_plane), tolerance)?,
            "rbf_grid" => case.check(name, &table(rbf, &grid)?, tolerance)?,
            "rbf_points" => case.check(name, &table(rbf, &points)?, tolerance)?,
            "sinh_grid" => case.check(name, &table(sinh, &grid)?, tolerance)?,
            "sinh_points" => case.check(name, &table(sinh, &points)?, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

/// The map of a case, and what its documents are.
struct Start<T> {
    map: Gtm<T, AlignedVec<T>>,
    counts: Vec<T>,
    profiles: Option<Vec<usize>>,
    exposure: Option<Vec<T>>,
    documents: usize,
}

impl<T: Real> Start<T> {
    /// `general`: the path for exposures and covariates, which each document has its own row of.
    fn read(
        case: &Case,
        emission_model: EmissionModel,
        counts: &str,
        general: bool,
    ) -> Result<Self, Failure> {
        let (points, basis, counts) = (case.input("X")?, case.input("Phi")?, case.input(counts)?);
        let ([points_count, columns], [documents, features]) = (matrix(&basis)?, matrix(&counts)?);
        let mut shape = Shape::new(emission_model, points_count, 2, columns, features)?;
        let covariates = case.input_or_none("G")?;
        if general {
            shape = match &covariates {
                Some(g) => shape.with_profiles(documents, matrix(g)?[1])?,
                None => shape.general(),
            };
        }
        let x = transposed(&cast::<T>(&points.data), 2);
        let phi = transposed(&cast::<T>(&basis.data), columns);
        let mut map = Gtm::allocate(shape, &x, &phi, Priors::default())?;
        if let (Some(g), true) = (&covariates, general) {
            map.set_profiles(&transposed(&cast::<T>(&g.data), matrix(g)?[1]))?;
        }
        let mut set = |table: &'static str, name: &str| -> Result<(), Failure> {
            if let Some(array) = case.input_or_none(name)? {
                let columns = array.shape.last().copied().unwrap_or(1);
                let data = cast::<T>(&array.data);
                let turned = matches!(table, "weights" | "inflation");
                map.set(table, &if turned { transposed(&data, columns) } else { data })?;
            }
            Ok(())
        };
        set("weights", "W")?;
        set("mixing", "alpha")?;
        set("weight_precision", "prec_w")?;
        if emission_model == EmissionModel::Gaussian {
            set("precision", "beta")?;
        }
        if matches!(emission_model, EmissionModel::Zip(_)) {
            set("inflation", "Gamma")?;
            if let (Some(b), Some(g)) = (case.input_or_none("prec_gamma")?, case.input_or_none("gamma_mean")?)
            {
                map.set("inflation_prior", &cast::<T>(&[b.data, g.data].concat()))?;
            }
        }
        let profiles = (covariates.is_some() && general).then(|| (0..documents).collect());
        let exposure = case.input_or_none("exposure")?.map(|e| cast(&e.data));
        Ok(Self { map, counts: cast(&counts.data), profiles, exposure, documents })
    }

    fn map(&self) -> Result<Gtm<T, AlignedVec<T>>, Failure> {
        Ok(Gtm::new(*self.map.shape(), AlignedVec::from_slice(self.map.buffer())?)?)
    }

    fn features(&self) -> usize {
        self.map.shape().features()
    }

    fn documents(&self) -> Result<Documents<'_, Dense<'_, T>, T>, Failure>
    where
        T: countgrid::counts::Count,
    {
        let mut documents = Documents::new(Dense::new(self.features(), &self.counts)?);
        if let Some(exposure) = &self.exposure {
            documents = documents.with_exposure(exposure)?;
        }
        if let Some(profiles) = &self.profiles {
            documents = documents.with_profiles(profiles)?;
        }
        Ok(documents)
    }
}

/// Posteriors of documents: responsibilities and joints, `[document][point]`, means `[document][axis]` and modes.
struct Posteriors<T> {
    r: Vec<T>,
    joint: Vec<T>,
    mean: Vec<T>,
    mode: Vec<T>,
    log_likelihood: f64,
}

impl<T: Real> Posteriors<T> {
    fn new<D: Source<T>>(learner: &Map<T>, documents: &D, count: usize) -> Result<Self, Failure> {
        let (emissions, shape) = (learner.emissions(), *learner.map().shape());
        let mut scratch = vec![T::zero(); shape.posterior_scratch_len()];
        let mut posteriors =
            Self { r: vec![], joint: vec![], mean: vec![], mode: vec![], log_likelihood: 0.0 };
        for n in 0..count {
            let (mut q, mut x) = (vec![T::zero(); shape.points()], vec![T::zero(); shape.axes()]);
            emissions.log_joint(documents, n, &mut q, &mut scratch)?;
            posteriors.joint.extend(&q);
            posteriors.log_likelihood += emissions.posterior_of(documents, n, &mut q, &mut scratch)?.to_f64();
            posteriors.r.extend(&q);
            emissions.mean(&q, &mut x)?;
            posteriors.mean.extend(&x);
            emissions.point(emissions.mode(&q), &mut x)?;
            posteriors.mode.extend(&x);
        }
        Ok(posteriors)
    }
}

pub fn e_step<T: Real + countgrid::counts::Count>(case: &Case) -> Result<(), Failure> {
    let tolerance = case.tolerance::<T>(SINGLE_E_STEP)?;
    let start = Start::<T>::read(case, EmissionModel::Zip(Inflation::Document), "T", true)?;
    let documents = start.documents()?;
    let shape = *start.map.shape();
    let (points, features) = (shape.points(), shape.features());
    let learner = Map::<T>::allocate(start.map()?, Options::default())?;
    let posteriors = Posteriors::new(&learner, &documents, start.documents)?;
    let mut statistics = Statistics::allocate(shape)?;
    let free_energy = learner.expectation(&documents, &mut statistics)?;
    let (map, table) = (learner.map(), |name| statistics.table(name).unwrap_or_default());
    let log_mixing = map.mixing().iter().map(|&a| countgrid::math::ln(a)).collect::<Vec<_>>();
    let emission: Vec<T> = posteriors
        .joint
        .iter()
        .zip(log_mixing.iter().cycle())
        .map(|(&joint, &mixing)| joint - mixing)
        .collect();
    let [weights, basis, gamma, profiles] =
        ["weights", "basis", "inflation", "profiles"].map(|name| map.table(name).unwrap_or_default());
    let product = |w: &[T], table: &[T], width: usize, k: usize| {
        let column = table.iter().skip(k).step_by(width);
        w.iter().zip(column).fold(T::zero(), |sum, (&w, &phi)| sum + w * phi)
    };
    let f =
        |j: usize, k: usize| product(&weights[j * shape.columns()..][..shape.columns()], basis, points, k);
    let p = shape.covariates();
    let eta = |j: usize, n: usize| product(&gamma[j * p..][..p], profiles, shape.profiles(), n);
    let exposure = |n: usize| start.exposure.as_ref().map_or(T::one(), |e| e[n]);
    let mut z = Vec::new();
    for n in 0..start.documents {
        for k in 0..points {
            for j in 0..features {
                let emission_model = Zip::from_ln_rate(eta(j, n), f(j, k))?.with_exposure(exposure(n))?;
                z.push(emission_model.inflated(start.counts[n * features + j]));
            }
        }
    }
    // Φᵀ (A - B Λ), and Gᵀ (C - p), for every feature.
    let (a, b, c) = (table("counts"), table("present"), table("inflated"));
    let (mut of_weights, mut of_gamma) = (Vec::new(), Vec::new());
    for j in 0..features {
        for phi in basis.chunks_exact(points) {
            let terms = (0..points).map(|k| phi[k] * (a[j * points + k] - b[j * points + k] * exp(f(j, k))));
            of_weights.push(terms.fold(T::zero(), |sum, term| sum + term));
        }
        for g in profiles.chunks_exact(shape.profiles()) {
            let p = |n| countgrid::math::sigmoid(eta(j, n));
            let terms = (0..start.documents).map(|n| g[n] * (c[j * start.documents + n] - p(n)));
            of_gamma.push(terms.fold(T::zero(), |sum, term| sum + term));
        }
    }
    let of_mixing: Vec<T> =
        table("documents").iter().zip(map.mixing()).map(|(&n, &mixing)| n / mixing).collect();
    for name in case.expected_names() {
        match name {
            "log_emission" => case.check(name, &emission, tolerance)?,
            "R" => case.check(name, &posteriors.r, tolerance)?,
            "log_likelihood" => {
                case.check(name, &[-free_energy], tolerance)?;
                case.check(name, &[posteriors.log_likelihood], tolerance)?;
            }
            "Z" => case.check(name, &z, tolerance)?,
            "A" => case.check(name, &transposed(a, points), tolerance)?,
            "B" => case.check(name, &transposed(b, points), tolerance)?,
            "C" => case.check(name, &transposed(c, start.documents), tolerance)?,
            "grad_W" => case.check(name, &transposed(&of_weights, shape.columns()), tolerance)?,
            "grad_Gamma" => case.check(name, &transposed(&of_gamma, p), tolerance)?,
            "grad_alpha_unnormalised" => case.check(name, &of_mixing, tolerance)?,
            "posterior_mean" => case.check(name, &posteriors.mean, tolerance)?,
            "posterior_mode" => case.check(name, &posteriors.mode, tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

/// Scores are sums of some 6 terms of size 8400 = 1200 · 7 at most, off by that times u = 6e-8 for the rounded log
/// rate and again for each addition: 7 · 5e-4.
const SINGLE_STRESS: Tolerance = Tolerance { rel: 0.0, abs: 4e-3 };
/// In the one document that is not all at one point terms are 60 · 4.2 at most: 7 · 252 · 6e-8, relative.
const SINGLE_STRESS_R: Tolerance = Tolerance { rel: 1.1e-4, abs: 1.1e-4 };
/// `σ(a)` is `e^a` where it is not near 1, and `a` is between -88 and 0 where that is a normal number, rounded to
/// 88 · 6e-8 relative; below it is anything smaller.
const SINGLE_STRESS_Z: Tolerance = Tolerance { rel: 6e-6, abs: 1.2e-38 };

/// Log rates and logits as they are, by basis functions and covariates that each tell one point and one document. The
/// paths that know no covariates see one document at a time.
pub fn stress<T: Real + countgrid::counts::Count>(case: &Case) -> Result<(), Failure> {
    let tolerance = case.tolerance::<T>(SINGLE_STRESS)?;
    let (of_r, of_z) = (case.tolerance::<T>(SINGLE_STRESS_R)?, case.tolerance::<T>(SINGLE_STRESS_Z)?);
    let (log_rates, eta, t) = (case.input("loglam")?, case.input("eta")?, case.input("T")?);
    let ([points, features], [documents, _]) = (matrix(&log_rates)?, matrix(&t)?);
    let unit = |size: usize| -> Vec<T> {
        (0..size * size).map(|at| if at % (size + 1) == 0 { T::one() } else { T::zero() }).collect()
    };
    let weights = transposed(&cast::<T>(&log_rates.data), features);
    let mixing = cast::<T>(&case.input("alpha")?.data);
    let (counts, eta) = (cast::<T>(&t.data), cast::<T>(&eta.data));
    let map = |shape: Shape, gamma: &[T]| -> Result<Map<T>, Failure> {
        let mut map = Gtm::allocate(shape, &vec![T::zero(); points], &unit(points), Priors::default())?;
        if shape.covariates() > 1 {
            map.set_profiles(&unit(documents))?;
        }
        map.set("weights", &weights)?;
        map.set("mixing", &mixing)?;
        map.set("inflation", gamma)?;
        Ok(Map::<T>::allocate(map, Options::default())?)
    };
    let shape = |inflation| Shape::new(EmissionModel::Zip(inflation), points, 1, points, features);
    let alone = |n: usize| &eta[n * features..][..features];
    let learners = [
        vec![map(
            shape(Inflation::Document)?.with_profiles(documents, documents)?,
            &transposed(&eta, features),
        )?],
        (0..documents).map(|n| map(shape(Inflation::Document)?, alone(n))).collect::<Result<_, Failure>>()?,
        (0..documents)
            .map(|n| {
                let by_point: Vec<T> = alone(n).iter().flat_map(|&eta| vec![eta; points]).collect();
                map(shape(Inflation::Latent)?, &by_point)
            })
            .collect::<Result<_, Failure>>()?,
    ];
    let of_cells =
        (0..documents * points).flat_map(|at| (0..features).map(move |j| (at / points, at % points, j)));
    let z: Vec<T> = of_cells
        .map(|(n, k, j)| {
            let cell = Zip::from_ln_rate(eta[n * features + j], weights[j * points + k])?;
            Ok(cell.inflated(counts[n * features + j]))
        })
        .collect::<Result<_, Failure>>()?;
    for learners in &learners {
        let (mut joint, mut r, mut log_likelihood, mut free_energy) = (vec![], vec![], 0.0, 0.0);
        for (part, learner) in learners.iter().enumerate() {
            let own = documents / learners.len();
            let counts = &counts[part * own * features..][..own * features];
            let profiles: Vec<usize> = (0..own).collect();
            let mut bags = Documents::new(Dense::new(features, counts)?);
            if own > 1 {
                bags = bags.with_profiles(&profiles)?;
            }
            let posteriors = Posteriors::new(learner, &bags, own)?;
            joint.extend(posteriors.joint);
            r.extend(posteriors.r);
            log_likelihood += posteriors.log_likelihood;
            free_energy += learner.expectation(&bags, &mut Statistics::allocate(*learner.map().shape())?)?;
        }
        let of_mixing = mixing.iter().cycle();
        let emission: Vec<T> =
            joint.iter().zip(of_mixing).map(|(&joint, &alpha)| joint - countgrid::math::ln(alpha)).collect();
        for name in case.expected_names() {
            match name {
                "log_emission" => case.check(name, &emission, tolerance)?,
                "R" => case.check(name, &r, of_r)?,
                "log_likelihood" => {
                    case.check(name, &[log_likelihood], tolerance)?;
                    case.check(name, &[-free_energy], tolerance)?;
                }
                "Z" => case.check(name, &z, of_z)?,
                _ => return Err(Failure(format!("expected.{name}: no such result"))),
            }
        }
    }
    Ok(())
}

/// What a fit expects, by any name that the files use.
fn fit<T: Real, D: Source<T>>(
    case: &Case,
    start: &Start<T>,
    documents: &D,
    learn_mixing: bool,
) -> Result<(), Failure>
where
    Map<T>: Fit<D, Statistics = Statistics<T, AlignedVec<T>, AlignedVec<f64>>>
        + Learn<Error = countgrid::gtm::GtmError>,
{
    let tolerance = case.tolerance::<T>(SINGLE_FIT)?;
    let newton_steps = case.number("newton_steps", 1.0) as usize;
    let options = Options { newton_steps, learn_mixing, ..Options::default() };
    let mut learner = Map::<T>::allocate(start.map()?, options)?;
    let shape = *start.map.shape();
    let mut statistics = Statistics::allocate(shape)?;
    let (mut log_likelihood, mut penalised) = (Vec::new(), Vec::new());
    for iteration in 0..=case.number("iterations", 0.0) as usize {
        if iteration > 0 {
            learner.maximization(&mut statistics)?;
        }
        countgrid::em::TablesMutExt::clear(&mut statistics);
        let free_energy = learner.expectation(documents, &mut statistics)?;
        log_likelihood.push(-free_energy);
        penalised.push(-free_energy - learner.penalty());
    }
    let posteriors = Posteriors::new(&learner, documents, start.documents)?;
    let table = |name| learner.map().table(name).unwrap_or_default();
    let turned = |name, columns: usize| transposed(table(name), columns);
    for name in case.expected_names() {
        match name {
            "log_likelihood" => case.check(name, &log_likelihood, tolerance)?,
            "penalised" => case.check(name, &penalised, tolerance)?,
            "W" => case.check(name, &turned("weights", shape.columns()), tolerance)?,
            "Gamma" => {
                let columns = table("inflation").len() / shape.features();
                case.check(name, &turned("inflation", columns), tolerance)?;
            }
            "alpha" => case.check(name, table("mixing"), tolerance)?,
            "R" => case.check(name, &posteriors.r, tolerance)?,
            "posterior_mean" => case.check(name, &posteriors.mean, tolerance)?,
            "beta" => case.check(name, table("precision"), tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

pub fn em<T: Real + countgrid::counts::Count>(case: &Case) -> Result<(), Failure> {
    let emission_model = EmissionModel::Zip(match case.word("inflation") {
        "latent" => Inflation::Latent,
        _ => Inflation::Document,
    });
    let covariates = case.input_or_none("G")?.map_or(Ok(1), |g| matrix(&g).map(|shape| shape[1]))?;
    // Both paths, where there are two: the fast one takes neither covariates nor exposures.
    let fast = covariates == 1 && case.input_or_none("exposure")?.is_none();
    for general in [true, false] {
        if general || fast {
            let start = Start::<T>::read(case, emission_model, "T", general)?;
            fit(case, &start, &start.documents()?, case.flag("update_alpha"))?;
        }
    }
    Ok(())
}

pub fn baselines<T: Real + countgrid::counts::Count>(case: &Case) -> Result<(), Failure> {
    for name in case.expected_names() {
        let emission_model = EmissionModel::from_name(name)
            .ok_or_else(|| Failure(format!("expected.{name}: no such emission model")))?;
        let case = case.within(name);
        let run = |table: &str| Start::<T>::read(&case, emission_model, table, false);
        let outcome = if emission_model == EmissionModel::Gaussian {
            let start = run("Y")?;
            fit(&case, &start, &Reals::new(start.features(), &start.counts)?, false)
        } else {
            let start = run("T")?;
            fit(&case, &start, &start.documents()?, true)
        };
        outcome.map_err(|Failure(why)| Failure(format!("{name}: {why}")))?;
    }
    Ok(())
}

pub fn start<T: Real + countgrid::counts::Count>(case: &Case) -> Result<(), Failure> {
    let tolerance = case.tolerance::<T>(SINGLE_FIT)?;
    let mut start = Start::<T>::read(case, EmissionModel::Zip(Inflation::Document), "T", false)?;
    let counts = start.counts.clone();
    let bags = Dense::new(start.features(), &counts)?;
    let spread = case.number("spread", 0.0);
    let scores = principal_scores(&Documents::<_, T>::new(&bags), 2)?;
    start.map.initialise(&bags, spread)?;
    let map = &start.map;
    let table = |name| map.table(name).unwrap_or_default();
    let (documents, points) = (start.documents, map.shape().points());
    let r = map.initial_responsibilities(&scores, spread);
    // Places, and what their neighbours say.
    let planes = table("points");
    let place = |n: usize, axis: usize| -> f64 {
        (0..points).map(|k| r[n * points + k] * planes[axis * points + k].to_f64()).sum()
    };
    let places: Vec<f64> = (0..documents).flat_map(|n| [place(n, 0), place(n, 1)]).collect();
    let labels: Vec<usize> = (0..documents).map(|n| n % 3).collect();
    let neighbours = |k: usize| leave_one_out(&places, 2, &labels, &mut vec![(0, 0.0); k], &mut [0; 3]);
    for name in case.expected_names() {
        match name {
            "scores" => case.check(name, &transposed(&scores, documents), tolerance)?,
            "R" => case.check(name, &r, tolerance)?,
            "W" => case.check(name, &transposed(table("weights"), map.shape().columns()), tolerance)?,
            "Gamma" => case.check(name, table("inflation"), tolerance)?,
            "knn1" => case.check(name, &[neighbours(1)?], tolerance)?,
            "knn5" => case.check(name, &[neighbours(5)?], tolerance)?,
            "silhouette" => {
                let found = silhouette(&places, 2, &labels, &mut [0.0; 3], &mut [0; 3])?;
                case.check(name, &[found], tolerance)?;
            }
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}

/// One latent point, and the constant: regression. EM goes to its maximum, in steps of the share that is not missing.
pub fn regression<T: Real + countgrid::counts::Count>(case: &Case) -> Result<(), Failure> {
    let tolerance = case.tolerance::<T>(Tolerance { rel: 2e-3, abs: 2e-3 })?;
    let (t, g) = (case.input("t")?, case.input("G")?);
    let [documents, covariates] = matrix(&g)?;
    let shape = Shape::new(EmissionModel::Zip(Inflation::Document), 1, 1, 1, 1)?
        .with_profiles(documents, covariates)?;
    let none = Priors { weights: 0.0, constant: 0.0, inflation: 0.0, inflation_mean: 0.0 };
    let mut map = Gtm::allocate(shape, &[T::zero()], &[T::one()], none)?;
    map.set_profiles(&transposed(&cast::<T>(&g.data), covariates))?;
    let mut learner = Map::<T>::allocate(map, Options::default())?;
    let (counts, profiles) = (cast::<T>(&t.data), (0..documents).collect::<Vec<_>>());
    let bags = Documents::new(Dense::new(1, &counts)?).with_profiles(&profiles)?;
    let mut statistics = Statistics::allocate(shape)?;
    let mut free_energy = 0.0;
    for _ in 0..600 {
        countgrid::em::TablesMutExt::clear(&mut statistics);
        free_energy = learner.expectation(&bags, &mut statistics)?;
        learner.maximization(&mut statistics)?;
    }
    let table = |name| learner.map().table(name).unwrap_or_default();
    for name in case.expected_names() {
        match name {
            "w" => case.check(name, table("weights"), tolerance)?,
            "gamma" => case.check(name, table("inflation"), tolerance)?,
            "log_likelihood" => case.check(name, &[-free_energy], tolerance)?,
            _ => return Err(Failure(format!("expected.{name}: no such result"))),
        }
    }
    Ok(())
}
