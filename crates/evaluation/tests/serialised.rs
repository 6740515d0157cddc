//! The protocol and what an evaluation reports, as JSON.

use core::fmt::Debug;

use countgrid_evaluation::{
    Candidate, Classifier, CrossValidation, ErrorUnit, Estimate, EvaluationOptions, ModelKind, Prediction,
    Protocol, Regression,
};
use serde_json::{from_str, to_string};

fn round_trips<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + Debug>(value: &T, json: &str) {
    assert_eq!(to_string(value).unwrap(), json);
    assert_eq!(from_str::<T>(json).unwrap(), *value);
}

#[test]
fn reports_are_written_and_read() {
    let prediction = Prediction { repetition: 0, fold: 1, item: 2, label: 3, predicted: 4, candidate: 5 };
    round_trips(&prediction, r#"{"repetition":0,"fold":1,"item":2,"label":3,"predicted":4,"candidate":5}"#);
    let estimate = Estimate { repetition: 0, fold: 1, item: 2, value: 0.5, estimated: -1.25 };
    round_trips(&estimate, r#"{"repetition":0,"fold":1,"item":2,"value":0.5,"estimated":-1.25}"#);
    round_trips(&ErrorUnit::Repetitions, r#""repetitions""#);
}

#[test]
fn a_protocol_says_what_it_changes() {
    let protocol = Protocol { repeats: 3, ..Protocol::default() };
    assert_eq!(from_str::<Protocol>(r#"{"repeats":3}"#).unwrap(), protocol);
    assert_eq!(from_str::<Protocol>(&to_string(&protocol).unwrap()).unwrap(), protocol);
    assert!(from_str::<Protocol>(r#"{"repeat":3}"#).is_err());
}

#[test]
fn options_are_written_with_the_names_of_reports() {
    let options = EvaluationOptions {
        model: ModelKind::Lda,
        classifier: Classifier::SvmRbf,
        ..EvaluationOptions::default()
    };
    let candidate = Candidate { name: "a".to_owned(), options };
    let json = to_string(&candidate).unwrap();
    for named in [r#""classifier":"svm-rbf""#, r#""class_prior":"data""#, r#""model":"lda""#] {
        assert!(json.contains(named), "{json}");
    }
    assert_eq!(from_str::<Candidate>(&json).unwrap(), candidate);
    let short =
        r#"{"name":"a","options":{"model":"lda","classifier":"svm-rbf","words":{"stop_words":"auto"}}}"#;
    assert_eq!(from_str::<Candidate>(short).unwrap(), candidate);
    let unknown = short.replace("svm-rbf", "svm-tree");
    assert!(from_str::<Candidate>(&unknown).unwrap_err().to_string().contains("svm-rbf"));
}

#[test]
fn results_are_read_with_checks() {
    let json = r#"{"confusion":{"classes":2,"counts":[3,1,0,4]},"accuracies":{"count":2.0,"mean":0.875,"squares":0.5},"predictions":[],"interrupted":false}"#;
    let read: CrossValidation = from_str(json).unwrap();
    assert_eq!(to_string(&read).unwrap(), json);
    assert_eq!(read.confusion.accuracy(), Some(7.0 / 8.0));
    assert_eq!(read.standard_error(), (Some(0.5), ErrorUnit::Repetitions));
    for (right, wrong) in [
        (r#""classes":2"#, r#""classes":3"#),
        ("[3,1,0,4]", "[3,1,18446744073709551615,4]"),
        (r#""count":2.0"#, r#""count":1.5"#),
        (r#""squares":0.5"#, r#""squares":-0.5"#),
    ] {
        assert!(json.contains(right));
        from_str::<CrossValidation>(&json.replace(right, wrong)).unwrap_err();
    }

    let regression = Regression { rms_error: 0.25, ..Regression::default() };
    let read: Regression = from_str(&to_string(&regression).unwrap()).unwrap();
    assert_eq!(format!("{read:?}"), format!("{regression:?}"));
}
