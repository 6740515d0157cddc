//! Fits a topographic map to bags, and tells of it meanwhile.

use std::ops::ControlFlow;

use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::{EmOptions, End, FitError, Outcome};
use countgrid_gtm::{EmissionModel, Emissions, Gtm, GtmError, Learner, Options, Priors, Shape, Statistics};
use countgrid_math::AlignedVec;
use serde_json::json;

use super::{latent::Latent, name};
use crate::{
    args::{Exposure, GridArgs},
    failure::Failure,
    fit::{check_tokens, end_reason},
    interrupt::Interrupt,
    model::Stored,
    report::{Report, Step},
};

/// The parameters, with memory of their own.
pub(crate) type Parameters<T> = Gtm<T, AlignedVec<T>>;
/// All that placing documents needs.
pub(crate) type Inference<T> = Emissions<T, AlignedVec<T>>;

/// How far from its principal components a document begins, in latent units; and Newton steps of an iteration. Both as
/// in the measurements of docs/topographic.md.
const SPREAD: f64 = 0.3;
const NEWTON_STEPS: usize = 3;

/// A fitted map.
#[derive(Debug)]
pub(crate) struct Fitted<T> {
    pub(crate) map: Parameters<T>,
    pub(crate) emissions: Inference<T>,
    pub(crate) summary: FitSummary,
}

/// How a fit ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FitSummary {
    pub(crate) iterations: usize,
    /// In nats.
    pub(crate) per_document: f64,
    pub(crate) per_token: f64,
    pub(crate) end: End,
}

impl FitSummary {
    /// Why it ended, in a word.
    pub(crate) fn end_reason(&self) -> &'static str {
        end_reason(self.end)
    }
}

/// Fits a map with the given emission model to bags of so many tokens.
pub(crate) fn fit<T: Stored>(
    bags: &CsrBuf<T>,
    tokens: f64,
    emission_model: EmissionModel,
    latent: &Latent<T>,
    exposure: Exposure,
    args: &GridArgs,
    (report, interrupt): (&Report, &Interrupt),
) -> Result<Fitted<T>, Failure> {
    check_tokens(tokens)?;
    let bags = bags.as_view();
    let (basis, points) = (latent.functions()?, latent.points.len() / 2);
    let exposed = exposure == Exposure::Length;
    let shape = Shape::new(emission_model, points, 2, basis.columns(), bags.features())?.on(latent.space());
    let shape = if exposed { shape.general() } else { shape };
    let mut phi = vec![T::zero(); basis.columns() * points];
    basis.table(&latent.points, &mut phi)?;
    let mut map = Gtm::allocate(shape, &latent.points, &phi, Priors::default())?;
    if exposed {
        map.set_reference(T::from_f64(tokens / bags.len() as f64))?;
    }
    report.event(
        "map",
        format_args!(
            "{}; {}, {}{}; seed {}",
            name(emission_model),
            latent.text(),
            latent.basis_text(),
            if exposed { ", exposure by length" } else { "" },
            args.seed
        ),
        json!({
            "law": emission_model.name(), "points": points, "latent": latent.to_json(), "exposure": exposure.name(),
            "seed": args.seed,
        }),
    );
    let plan = EmOptions { iterations: args.iterations, tolerance: args.tolerance };
    let plan = plan.check().map_err(|error| Failure::new(error, "take a --tolerance such as 1e-5"))?;
    map.initialise(&bags, SPREAD)?;
    let mut learner = Learner::allocate(map, Options { newton_steps: NEWTON_STEPS, ..Options::default() })?;
    let mut statistics = Statistics::allocate(shape)?;
    let progress = report.progress(args.iterations);
    interrupt.begin();
    let outcome: Result<Outcome, FitError<GtmError>> =
        plan.fit(&mut learner, &bags, &mut statistics, |_, at| {
            let done = at.iteration;
            progress.show(&Step {
                restart: (1, 1),
                grid: latent.sides.map(|side| side.to_string()).join("x"),
                iteration: done,
                done,
                bound_per_token: -at.free_energy / tokens,
                share: done as f64 / args.iterations.max(1) as f64,
                last: done == args.iterations,
            });
            if interrupt.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    drop(progress);
    let outcome = outcome.map_err(|error| match error {
        FitError::Model(error) => error.into(),
        error => Failure::new(error, "take --precision f64"),
    })?;
    let summary = FitSummary {
        iterations: outcome.iterations,
        per_document: -outcome.free_energy / bags.len() as f64,
        per_token: -outcome.free_energy / tokens,
        end: outcome.end,
    };
    report.event(
        "fitted",
        format_args!(
            "{} iterations ({}), log-likelihood {:.2} a document, {:.1} s",
            summary.iterations,
            summary.end_reason(),
            summary.per_document,
            report.seconds()
        ),
        json!({
            "iterations": summary.iterations, "end": summary.end_reason(), "bound_per_token": summary.per_token,
            "log_likelihood_per_document": summary.per_document, "seconds": report.seconds(),
        }),
    );
    let (map, emissions) = learner.into_parts();
    Ok(Fitted { map, emissions, summary })
}
