//! `countgrid-counts`: every event model.

use countgrid_counts::{Bags, Bernoulli, Estimate, Event, EventError, Gaussian, Multinomial, Poisson, Zip};
use countgrid_math::Real;

use crate::{
    bags::{BAGS, Data, FEATURES},
    report::{Digest, Failure, Report, Values, first, name},
};

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    events::<f32>(report)?;
    events::<f64>(report)
}

fn events<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let real = T::from_f64;
    fit(report, "Poisson", Poisson::new(real(1.7))?, |event, x, digest| {
        let exposed = event.with_exposure(T::from_f64(2.5))?;
        digest.add(&[event.rate(), event.ln_rate(), exposed.ln_density(x)]);
        Ok(())
    })?;
    fit(report, "zero-inflated Poisson", Zip::new(real(-0.3), real(2.2))?, |event, x, digest| {
        let exposed = event.with_exposure(T::from_f64(2.5))?;
        digest.add(&[
            event.eta(),
            event.rate(),
            event.ln_rate(),
            event.mean(),
            event.variance(),
            event.inflated(x),
        ]);
        digest.add(&[exposed.ln_density(x)]);
        Ok(())
    })?;
    fit(report, "Bernoulli", Bernoulli::from_logit(real(0.4))?, |event, _, digest| {
        digest.add(&[event.p(), event.logit()]);
        Ok(())
    })?;
    fit(report, "Gaussian", Gaussian::new(real(0.6), real(1.4))?, |event, _, digest| {
        digest.add(&[event.mean(), event.precision()]);
        Ok(())
    })?;
    multinomial::<T>(report)
}

/// Densities of counts, then estimates from them, thrice: for some distributions that is three EM steps.
fn fit<T: Real, L: Event<T, Scalar = T> + Estimate<Scalar = T>>(
    report: &mut Report<'_>,
    law_name: &str,
    mut event: L,
    describe: impl Fn(&L, T, &mut Digest) -> Result<(), EventError>,
) -> Result<(), Failure> {
    let mut values = Values(5);
    let counts: [T; 40] =
        core::array::from_fn(|t| T::from_f64(f64::from((values.bits() >> 20) * (t as u32 % 3))));
    let mut digest = Digest::new();
    for _ in 0..3 {
        let mut statistics = [T::zero(); 8];
        let statistics = first(&mut statistics, event.statistics_len())?;
        for &x in &counts {
            digest.add(&[event.ln_kernel(x), event.ln_base(x), event.ln_density(x)]);
            describe(&event, x, &mut digest)?;
            event.accumulate(x, values.next(), statistics)?;
        }
        digest.add(statistics);
        event.maximize(statistics)?;
    }
    report.digest(format_args!("{law_name} {}", name::<T>()), digest);
    Ok(())
}

fn multinomial<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let data = Data::new();
    let bags = data.bags()?;
    let mut event = Multinomial::new([T::one() / T::from_f64(FEATURES as f64); FEATURES])?;
    let (mut digest, mut values) = (Digest::new(), Values(17));
    for _ in 0..3 {
        let mut statistics = [T::from_f64(0.1); FEATURES];
        for bag in 0..BAGS {
            let entries = bags.entries(bag);
            digest.add(&[event.ln_kernel(entries.clone()), event.ln_base(entries.clone())]);
            digest.add(&[event.ln_density(entries.clone())]);
            event.accumulate(entries, values.next(), &mut statistics)?;
        }
        digest.add(&statistics);
        event.maximize(&statistics)?;
        digest.add(event.ln_p());
    }
    report.digest(format_args!("multinomial {}", name::<T>()), digest);
    Ok(())
}
