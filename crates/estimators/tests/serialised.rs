//! Options as JSON: every one is written and read again, a file says what it changes, and a typing error is no default.

use core::fmt::Debug;

use countgrid_em::{End, Outcome, Restarts};
use countgrid_estimators::{
    BasisKind, ComponentialOptions, Exposure, FitSummary, GridOptions, GridSchedule, GridStart,
    HarmoniumKind, HarmoniumMethod, HarmoniumOptions, HmmOptions, LatentKind, LdaOptions, TopographicOptions,
};
use countgrid_gtm::EmissionModel;
use serde_json::{from_str, to_string};

fn round_trips<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + Debug>(value: &T) {
    assert_eq!(from_str::<T>(&to_string(value).unwrap()).unwrap(), *value);
}

#[test]
fn options_are_written_and_read() {
    round_trips(&GridOptions::default());
    round_trips(&ComponentialOptions::default());
    round_trips(&LdaOptions::default());
    round_trips(&HmmOptions::default());
    round_trips(&TopographicOptions::default());
    round_trips(&HarmoniumOptions::default());
    let options = GridOptions {
        extents: Some(vec![12, 12]),
        schedule: GridSchedule::Single,
        start: Some(GridStart::Annealed { beta: 0.1, iterations: 15 }),
        memory: Some(u128::MAX),
        ..GridOptions::default()
    };
    round_trips(&options);
    let file = format!(
        r#"{{"extents":[12,12],"schedule":"single","start":{{"annealed":{{"beta":0.1,"iterations":15}}}},"memory":{}}}"#,
        u128::MAX
    );
    assert_eq!(from_str::<GridOptions>(&file).unwrap(), options);
    let found: TopographicOptions =
        from_str(r#"{"exposure":"length","emission_model":"multinomial"}"#).unwrap();
    assert_eq!(found.exposure, Exposure::Length);
    let found: HarmoniumOptions = from_str(r#"{"kind":"rap","topics":9}"#).unwrap();
    assert_eq!((found.kind, found.topics), (HarmoniumKind::RateAdapting, 9));
}

#[test]
fn the_names_are_those_of_model_files() {
    fn same(value: &impl serde::Serialize, name: &str) {
        assert_eq!(from_str::<String>(&to_string(value).unwrap()).unwrap(), name);
    }
    HarmoniumKind::ALL.iter().for_each(|kind| same(kind, kind.name()));
    HarmoniumMethod::ALL.iter().for_each(|method| same(method, method.name()));
    LatentKind::ALL.iter().for_each(|kind| same(kind, kind.name()));
    BasisKind::ALL.iter().for_each(|kind| same(kind, kind.name()));
    Exposure::ALL.iter().for_each(|exposure| same(exposure, exposure.name()));
    EmissionModel::ALL.iter().for_each(|model| same(model, model.name()));
    [GridSchedule::CoarseToFine, GridSchedule::Single]
        .iter()
        .for_each(|schedule| same(schedule, schedule.name()));
}

#[test]
fn what_is_not_an_option_is_named() {
    let error = from_str::<GridOptions>(r#"{"extent":[12,12]}"#).unwrap_err().to_string();
    assert!(error.contains("unknown field `extent`"), "{error}");
    let error = from_str::<LdaOptions>(r#"{"topics":-1}"#).unwrap_err().to_string();
    assert!(error.contains("-1"), "{error}");
}

#[test]
fn a_summary_is_written_and_read() {
    let mut restarts = Restarts::new(1, 7).unwrap();
    let progress = countgrid_em::Progress::new(4, 1.0, 100.0, 100.0, None);
    let outcome = Outcome::new(&progress, End::Limit);
    assert!(restarts.next_restart().is_some() && restarts.keep(&outcome));
    let best = restarts.best().unwrap();
    round_trips(&FitSummary::new(&best, 50.0));
}
