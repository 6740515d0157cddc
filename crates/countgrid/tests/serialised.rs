//! Shapes, options and states as JSON: what is written is read again, and nothing invalid is made by reading.

use core::fmt::Debug;

use countgrid::torus::{Torus, Windows};
use countgrid::{em, grid, gtm, harmonium, hmm, lda};
use serde_json::{from_str, to_string};

macro_rules! round_trips {
    ($($value:expr => $json:expr),* $(,)?) => {$({
        let (value, json) = ($value, $json);
        assert_eq!(to_string(&value).unwrap(), json);
        same(&value, from_str(json).unwrap());
    })*};
}

fn same<T: PartialEq + Debug>(expected: &T, found: T) {
    assert_eq!(*expected, found);
}

fn refused<T: serde::de::DeserializeOwned + Debug>(json: &str, reason: &str) {
    let error = from_str::<T>(json).unwrap_err().to_string();
    assert!(error.contains(reason), "{json}: {error}");
}

#[test]
fn shapes() {
    let windows = Windows::from_sides([4, 5], [2, 3]).unwrap();
    let map = gtm::Shape::new(gtm::EmissionModel::Zip(gtm::Inflation::Document), 9, 2, 5, 30).unwrap();
    round_trips! {
        Torus::new([4, 5, 6]).unwrap() => r#"{"extents":[4,5,6]}"#,
        windows => r#"{"extents":[4,5],"sides":[2,3]}"#,
        grid::Shape::new(windows, 7).unwrap() => r#"{"windows":{"extents":[4,5],"sides":[2,3]},"features":7}"#,
        lda::Shape::new(3, 7).unwrap() => r#"{"topics":3,"features":7}"#,
        hmm::Shape::new(3, 7).unwrap() => r#"{"states":3,"symbols":7}"#,
        hmm::ChainShape::new(4, 2).unwrap() => r#"{"symbols":4,"order":2}"#,
        harmonium::Shape::words(9, 2).unwrap() => r#"{"wings":"normal","words":9,"topics":2,"features":0}"#,
        harmonium::Shape::dual_wing(9, 4, 2).unwrap() => r#"{"wings":"normal","words":9,"topics":2,"features":4}"#,
        harmonium::Shape::rate_adapting(9, 2).unwrap() =>
            r#"{"wings":"rate-adapting","words":9,"topics":2,"features":0}"#,
        map => r#"{"emission_model":"zip","space":"plane","points":9,"axes":2,"columns":5,"features":30,"profiles":1,"covariates":1,"general":false}"#,
    }
    for shape in [
        map.general().on(gtm::Space::Torus),
        map.with_profiles(4, 3).unwrap(),
        map.with_profiles(1, 1).unwrap(),
        gtm::Shape::new(gtm::EmissionModel::Gaussian, 9, 2, 5, 30).unwrap(),
    ] {
        same(&shape, from_str(&to_string(&shape).unwrap()).unwrap());
    }
}

#[test]
fn no_invalid_shape() {
    refused::<Torus<2>>(r#"{"extents":[4,0]}"#, "axis 1");
    refused::<Torus<2>>(r#"{"extents":[4]}"#, "a number for each of 2 axes");
    refused::<Torus<2>>(r#"{"extents":[4,5,6]}"#, "");
    refused::<Torus<2>>(r#"{"extents":[4,5],"cells":7}"#, "unknown field");
    refused::<Torus<2>>(r#"{"extents":[4294967296,4294967296]}"#, "cells");
    refused::<Windows<2>>(r#"{"extents":[4,5],"sides":[2,6]}"#, "axis 1");
    refused::<grid::Shape<1>>(r#"{"windows":{"extents":[4],"sides":[5]},"features":7}"#, "axis 0");
    refused::<grid::Shape<1>>(r#"{"windows":{"extents":[4],"sides":[2]},"features":0}"#, "feature");
    refused::<lda::Shape>(r#"{"topics":0,"features":7}"#, "topic");
    refused::<hmm::Shape>(r#"{"states":3,"symbols":0}"#, "symbol");
    refused::<hmm::ChainShape>(r#"{"symbols":3,"order":65}"#, "");
    refused::<hmm::ChainShape>(r#"{"symbols":3,"order":2,"contexts":1}"#, "unknown field");
    refused::<harmonium::Shape>(r#"{"wings":"normal","words":0,"topics":2,"features":0}"#, "words");
    refused::<harmonium::Shape>(r#"{"wings":"rate-adapting","words":9,"topics":2,"features":1}"#, "normal");
    let map = |model: &str, points: u8, profiles: u8, general: bool| {
        let json = r#""space":"plane","axes":2,"columns":5,"features":30,"covariates":1"#;
        format!(
            r#"{{"emission_model":{model},"points":{points},"profiles":{profiles},"general":{general},{json}}}"#
        )
    };
    from_str::<gtm::Shape>(&map(r#""poisson""#, 9, 1, false)).unwrap();
    refused::<gtm::Shape>(&map(r#""gauss""#, 9, 1, false), "zip zip-latent poisson");
    refused::<gtm::Shape>(&map(r#""poisson""#, 0, 1, false), "points");
    refused::<gtm::Shape>(&map(r#""poisson""#, 9, 2, false), "covariates");
    refused::<gtm::Shape>(&map(r#""poisson""#, 9, 0, false), "");
    // What only a zero-inflated map has another path for is not kept of others.
    assert!(!from_str::<gtm::Shape>(&map(r#""poisson""#, 9, 1, true)).unwrap().is_general());
}

#[test]
fn options() {
    let stepwise = em::StepwiseOptions { step_size: em::StepSize::Constant(0.5), ..Default::default() };
    round_trips! {
        em::EmOptions::default() => r#"{"tolerance":0.00001,"iterations":70}"#,
        em::EmOptions::default().check().unwrap() => r#"{"tolerance":0.00001,"iterations":70}"#,
        stepwise => r#"{"step_size":{"constant":0.5},"passes":10,"tolerance":0.00001}"#,
        stepwise.check().unwrap() => r#"{"step_size":{"constant":0.5},"passes":10,"tolerance":0.00001}"#,
        em::Annealing::geometric(0.25, 4).unwrap() => r#"{"start":0.25,"iterations":4,"geometric":true,"perturbation":0.0,"seed":0}"#,
        em::Annealing::linear(0.25, 4).unwrap().with_perturbation(0.125, 7).unwrap() =>
            r#"{"start":0.25,"iterations":4,"geometric":false,"perturbation":0.125,"seed":7}"#,
        lda::Options::default().inference => r#"{"sweeps":100,"tolerance":0.001}"#,
        gtm::Options::default() => r#"{"newton_steps":2,"learn_mixing":true,"learn_precision":true}"#,
        hmm::Posterior::MeanField { sweeps: 3 } => r#"{"mean-field":{"sweeps":3}}"#,
    }
    let options = grid::Options {
        posterior_threshold: grid::PosteriorThreshold::Nats(12.5),
        update_rule: grid::UpdateRule::Factored,
        ..Default::default()
    };
    same(&options, from_str(&to_string(&options).unwrap()).unwrap());
    // A file says what it changes.
    let found: grid::Options =
        from_str(r#"{"update_rule":"factored","posterior_threshold":{"nats":12.5}}"#).unwrap();
    assert_eq!(found, options);
    same(&lda::Options::default(), from_str("{}").unwrap());
    same(&gtm::Priors::default(), from_str("{}").unwrap());
    refused::<grid::Options>(r#"{"pseudo_count":1}"#, "unknown field `pseudo_count`");

    refused::<em::EmPlan>(r#"{"tolerance":-1}"#, "tolerance");
    refused::<em::StepwisePlan>(r#"{"passes":0}"#, "pass");
    refused::<em::StepwisePlan>(r#"{"step_size":{"power":{"exponent":0.5,"delay":2}}}"#, "exponent");
    let plain = em::Annealing::linear(0.25, 4).unwrap();
    same(&plain, from_str(r#"{"start":0.25,"iterations":4,"geometric":false}"#).unwrap());
    let perturbed = r#"{"start":0.25,"iterations":4,"geometric":true,"perturbation":1,"seed":7}"#;
    refused::<em::Annealing>(perturbed, "perturbation");
    refused::<em::Annealing>(r#"{"start":0,"iterations":4,"geometric":true}"#, "inverse temperature");
}

#[test]
fn states() {
    let progress = em::Progress::new(3, 1.0, -2.5, -2.25, Some(-0.1));
    let outcome = em::Outcome::new(&progress, em::End::Converged);
    let state =
        em::StepwiseState { steps: 7, pass: 1, free_energy: 0.1, share: 0.25, previous: Some(progress) };
    let mut restarts = em::Restarts::new(3, 42).unwrap();
    assert!(restarts.next_restart().is_some() && restarts.keep(&outcome));
    round_trips! {
        progress => r#"{"iteration":3,"beta":1.0,"free_energy":-2.5,"objective":-2.25,"change":-0.1}"#,
        outcome => r#"{"iterations":3,"beta":1.0,"free_energy":-2.5,"objective":-2.25,"end":"converged","coinciding":null}"#,
        harmonium::Acceptance { proposed: 5, accepted: 2 } => r#"{"proposed":5,"accepted":2}"#,
    }
    same(&state, from_str(&to_string(&state).unwrap()).unwrap());
    let read: em::Restarts = from_str(&to_string(&restarts).unwrap()).unwrap();
    assert_eq!(read, restarts);
    refused::<em::Restarts>(
        r#"{"count":0,"seed":1,"next":0,"best":null,"stopped":false}"#,
        "at least one run",
    );
}
