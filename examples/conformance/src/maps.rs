//! `countgrid-gtm`: fits of every emission model, placing, terms of the free energy, magnification.

use countgrid_counts::Csr;
use countgrid_em::{EmOptions, FreeEnergy, Tables, no_observer};
use countgrid_gtm::{
    Basis, Documents, EmissionModel, Emissions, Gtm, Inflation, Learner, Options, Priors, Shape, Space,
    Statistics, gaussian_points, grid_points, half_plane_centres, torus_points,
};
use countgrid_math::Real;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    bags::{BAGS, Data, FEATURES},
    report::{Digest, Failure, Report, Values, first, name},
};

const POINTS: usize = 12;
const COLUMNS: usize = 5;
const PROFILES: usize = 3;
const ROOM: usize = 1024;
const WORK: usize = 512;
const METRIC: usize = 10; // of two axes

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    cases::<f32>(report)?;
    cases::<f64>(report)
}

fn cases<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let data = Data::new();
    let bags = data.bags()?;
    let (mut points, mut centres) = ([T::zero(); 2 * POINTS], [T::zero(); 2 * (COLUMNS - 1)]);
    grid_points(4, 3, &mut points)?;
    grid_points(2, 2, &mut centres)?;
    let basis = Basis::rbf(&centres, 2, T::one())?;
    for emission_model in EmissionModel::ALL {
        let shape = Shape::new(emission_model, POINTS, 2, COLUMNS, FEATURES)?;
        fitted(report, emission_model.name(), shape, &points, &basis, &Documents::new(bags))?;
    }

    let (mut exposure, mut profiles) = ([T::one(); BAGS], [0; BAGS]);
    let mut values = Values(12);
    for (bag, (exposure, profile)) in exposure.iter_mut().zip(&mut profiles).enumerate() {
        (*exposure, *profile) = (*exposure + values.next(), bag % PROFILES);
    }
    let zip = Shape::new(EmissionModel::Zip(Inflation::Document), POINTS, 2, COLUMNS, FEATURES)?;
    let known = Documents::new(bags).with_exposure(&exposure)?.with_profiles(&profiles)?;
    fitted(report, "zip, covariates", zip.with_profiles(PROFILES, 2)?, &points, &basis, &known)?;

    torus_points(4, 3, &mut points)?;
    torus_points(2, 2, &mut centres)?;
    let basis = Basis::rbf_on_torus(&centres, 2, T::from_f64(0.75))?;
    fitted(report, "zip, torus", zip.on(Space::Torus), &points, &basis, &Documents::new(bags))?;

    gaussian_points(0.5, 2.5, &mut ChaCha8Rng::seed_from_u64(13), &mut points)?;
    half_plane_centres(2, &[0.5, 1.0], &mut centres)?;
    let basis = Basis::sinh(&centres, 2)?;
    fitted(report, "zip, random points and sinh", zip, &points, &basis, &Documents::new(bags))
}

fn fitted<T: Real>(
    report: &mut Report<'_>,
    what: &str,
    shape: Shape,
    points: &[T],
    basis: &Basis<'_, T>,
    documents: &Documents<'_, Csr<'_, u16>, T>,
) -> Result<(), Failure> {
    let [mut tables, mut emissions, mut sums, mut scratch] = [[T::zero(); ROOM]; 4];
    let (mut work, mut phi) = ([0.0; WORK], [T::zero(); POINTS * COLUMNS]);
    basis.table(points, &mut phi)?;
    let mut map = Gtm::new_in(shape, points, &phi, Priors::default(), first(&mut tables, shape.map_len())?)?;
    let (mut weights, mut values) = ([T::zero(); FEATURES * COLUMNS], Values(14));
    values.fill(&mut weights);
    map.set("weights", &weights)?;
    let mut covariates = [T::one(); 2 * PROFILES]; // the intercept and one more
    if shape.profiles() > 1 {
        values.fill(first(&mut covariates, PROFILES)?);
        map.set_profiles(&covariates)?;
    }
    let tables = first(&mut emissions, shape.emissions_len())?;
    let mut learner = Learner::new(map, tables, Options::default())?;
    let own = first(&mut scratch, shape.scratch_len())?;
    let work = first(&mut work, shape.workspace_len())?;
    let mut statistics = Statistics::new(shape, first(&mut sums, shape.sums_len())?, own, work)?;
    let plan = EmOptions { iterations: 4, ..EmOptions::default() }.check()?;
    let outcome = plan.fit(&mut learner, documents, &mut statistics, no_observer)?;
    report.tables(format_args!("map, {what} {}", name::<T>()), learner.map());
    report.tables(format_args!("sums of a map, {what} {}", name::<T>()), &statistics);

    let emissions = Emissions::new(shape, learner.emissions().buffer())?; // as flash holds it
    let (mut digest, mut room) = (Digest::new(), [T::zero(); FEATURES]);
    digest.add(&[outcome.objective]);
    let (mut q, mut x, mut terms) = ([T::zero(); POINTS], [T::zero(); 2], [T::zero(); 3 * POINTS]);
    for bag in 0..BAGS {
        digest.add(&[emissions.posterior_of(documents, bag, &mut q, &mut room)?]);
        emissions.mean(&q, &mut x)?;
        digest.add(&q);
        digest.add(&x);
        digest.add_integer(emissions.mode(&q) as u64);
    }
    if !shape.is_general() {
        let bag = Data::new();
        digest.add(&[emissions.free_energy_terms(&bag.bag(5)?, &mut terms, &mut room)?]);
        digest.add(&terms);
    }
    let (mut rows, mut metric) = ([T::zero(); 3 * COLUMNS], [0.0; METRIC]);
    let here = [T::from_f64(0.25), T::from_f64(-0.5)];
    digest.add(&[learner.map().magnification_at(basis, &here, &mut rows, &mut metric)?]);
    report.digest(format_args!("places on a map, {what} {}", name::<T>()), digest);
    Ok(())
}
