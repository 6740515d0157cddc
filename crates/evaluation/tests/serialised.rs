//! The protocol and what an evaluation reports, as JSON.

use core::fmt::Debug;

use countgrid_evaluation::{ErrorUnit, Estimate, Prediction, Protocol};
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
