//! `countgrid-em` without a model: schedules and seeds. What needs a model is in `fits`.

use countgrid_em::{Annealing, StepSize, StepwiseOptions, restart_seed};

use crate::report::{Digest, Failure, Report};

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    let mut digest = Digest::new();
    for schedule in [Annealing::geometric(0.1, 30)?, Annealing::linear(0.1, 30)?] {
        (0..=30).for_each(|iteration| digest.add(&[schedule.beta(iteration)]));
    }
    report.digest("annealing", digest);

    let mut digest = Digest::new();
    for exponent in [0.6, 0.7, 1.0] {
        let step_size = StepSize::Power { exponent, delay: 2.0 };
        let plan = StepwiseOptions { step_size, ..StepwiseOptions::default() }.check()?;
        (0..100).for_each(|step| digest.add(&[plan.step_size(step)]));
    }
    report.digest("step sizes", digest);

    let mut digest = Digest::new();
    (0..20).for_each(|index| digest.add_integer(restart_seed(42, index)));
    report.digest("seeds of restarts", digest);
    Ok(())
}
