//! Rows of numbers from standard input to places on a map, one a line; what it took goes to standard error.
//!
//!     places LAW SIDE CENTRES ITERATIONS < rows > places
//!
//! LAW is `gaussian`, `poisson`, `zip` or another of the crate; the map has SIDE² latent points and CENTRES² RBFs as wide
//! as their spacing, with a constant, and starts from principal components.

use std::{env, error::Error, fs, io::Read, time::Instant};

use countgrid_counts::Dense;
use countgrid_em::{EmOptions, End, Fit, FitError, Learn, Outcome, no_observer};
use countgrid_gtm::{
    Basis, Documents, EmissionModel, Gtm, GtmError, Learner, Options, Priors, Reals, Shape, Source,
    Statistics, grid_points,
};
use countgrid_math::AlignedVec;

type Fallible<T> = Result<T, Box<dyn Error>>;
type Map = Learner<f64, AlignedVec<f64>, AlignedVec<f64>>;
type Sums = Statistics<f64, AlignedVec<f64>, AlignedVec<f64>>;

/// Seconds of processor time that this process has used, on Linux: clock ticks are hundredths.
fn processor_seconds() -> Option<f64> {
    let line = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?) / 100.0)
}

fn fit<D: Source<f64>>(mut map: Gtm<f64, AlignedVec<f64>>, rows: &D, iterations: usize) -> Fallible<Map>
where
    Map: Fit<D, Statistics = Sums> + Learn<Error = GtmError>,
{
    map.initialise_from(rows, 0.1)?;
    let mut statistics = Statistics::allocate(*map.shape())?;
    let mut learner = Map::allocate(map, Options::default())?;
    let plan = EmOptions { iterations, tolerance: 0.0 }.check()?;
    let (wall, processor) = (Instant::now(), processor_seconds());
    let outcome: Result<Outcome, FitError<GtmError>> =
        plan.fit(&mut learner, rows, &mut statistics, no_observer);
    let outcome = outcome?;
    let used = processor_seconds()
        .zip(processor)
        .map_or(wall.elapsed().as_secs_f64(), |(end, initialise)| end - initialise);
    assert_eq!(outcome.end, End::Limit);
    eprintln!(
        "{{\"seconds\": {}, \"iterations\": {}, \"free_energy\": {}}}",
        used, outcome.iterations, outcome.free_energy
    );
    Ok(learner)
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [emission_model, side, centres, iterations] = &arguments[..] else {
        return Err("places LAW SIDE CENTRES ITERATIONS < rows".into());
    };
    let emission_model = EmissionModel::from_name(emission_model).ok_or("no such emission model")?;
    let (side, centres, iterations): (usize, usize, usize) =
        (side.parse()?, centres.parse()?, iterations.parse()?);
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let width = text.lines().next().map_or(0, |line| line.split_whitespace().count());
    let values: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;

    let (mut points, mut middles) = (vec![0.0; 2 * side * side], vec![0.0; 2 * centres * centres]);
    grid_points(side, side, &mut points)?;
    grid_points(centres, centres, &mut middles)?;
    let basis = Basis::rbf(&middles, 2, 2.0 / (centres.max(2) - 1) as f64)?;
    let mut phi = vec![0.0; basis.columns() * side * side];
    basis.table(&points, &mut phi)?;
    let shape = Shape::new(emission_model, side * side, 2, basis.columns(), width)?;
    let map = Gtm::allocate(shape, &points, &phi, Priors::default())?;
    let reals = Reals::new(width, &values)?;
    let (mut q, mut place) = (vec![0.0; side * side], [0.0; 2]);
    let mut show = |learner: &Map, n: usize| -> Fallible<()> {
        if emission_model == EmissionModel::Gaussian {
            learner.emissions().posterior_of(&reals, n, &mut q, &mut [])?;
        } else {
            learner.emissions().posterior(&Dense::new(width, &values)?, n, &mut q, &mut [])?;
        }
        learner.emissions().mean(&q, &mut place)?;
        println!("{} {}", place[0], place[1]);
        Ok(())
    };
    let learner = if emission_model == EmissionModel::Gaussian {
        fit(map, &reals, iterations)?
    } else {
        fit(map, &Documents::new(Dense::new(width, &values)?), iterations)?
    };
    (0..reals.len()).try_for_each(|n| show(&learner, n))
}
