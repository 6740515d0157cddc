//! Golden files: both layouts, read into one form.
//!
//! One layout has `case`, arrays as `{"shape", "data"}` and `tolerance.f64`, `tolerance.f32` with `rtol` and
//! `atol`; the other has `name`, arrays as lists of lists and `tolerance` with `rel` and `abs`, for f64.

use std::{fmt, fs, path::Path};

use countgrid::math::Real;
use serde_json::Value;

/// Why a case failed or could not be run.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// An array in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    pub data: Vec<f64>,
}

/// `|x - y| <= abs + rel |y|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub rel: f64,
    pub abs: f64,
}

/// One file.
#[derive(Debug)]
pub struct Case(Value);

impl Case {
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let case = Self(serde_json::from_slice(&fs::read(path)?)?);
        match (case.0["schema"].as_u64(), case.0["kind"].as_str()) {
            (Some(1), Some(_)) => Ok(case),
            (schema, kind) => Err(Failure(format!("schema {schema:?}, kind {kind:?}: neither layout"))),
        }
    }

    pub fn kind(&self) -> &str {
        self.0["kind"].as_str().unwrap_or_default()
    }

    /// The allowance in `T`. Where a file has none for f32, `single` says what was derived for it.
    pub fn tolerance<T: Real>(&self, single: Tolerance) -> Result<Tolerance, Failure> {
        let tolerance = &self.0["tolerance"];
        let read = |table: &Value, rel: &str, abs: &str| {
            Some(Tolerance { rel: table[rel].as_f64()?, abs: table[abs].as_f64()? })
        };
        let float = if super::is_single::<T>() { "f32" } else { "f64" };
        read(&tolerance[float], "rtol", "atol")
            .or_else(|| if super::is_single::<T>() { Some(single) } else { read(tolerance, "rel", "abs") })
            .ok_or_else(|| Failure("no tolerance in either layout".into()))
    }

    /// The case in which `expected` is the table of that name within it.
    pub fn within(&self, name: &str) -> Self {
        let mut case = self.0.clone();
        case["expected"] = case["expected"][name].clone();
        Self(case)
    }

    pub fn input(&self, name: &str) -> Result<Array, Failure> {
        array(&self.0["inputs"][name]).ok_or_else(|| Failure(format!("inputs.{name}: no array")))
    }

    pub fn input_or_none(&self, name: &str) -> Result<Option<Array>, Failure> {
        if self.0["inputs"][name].is_null() { Ok(None) } else { self.input(name).map(Some) }
    }

    pub fn sizes<const D: usize>(&self, name: &str) -> Result<[usize; D], Failure> {
        let list = self.input(name)?.data.iter().map(|&x| x as usize).collect::<Vec<_>>();
        list.try_into().map_err(|_| Failure(format!("inputs.{name}: not {D} sizes")))
    }

    pub fn number(&self, name: &str, default: f64) -> f64 {
        self.0["inputs"][name].as_f64().unwrap_or(default)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.0["inputs"][name].as_bool().unwrap_or(false)
    }

    pub fn word(&self, name: &str) -> &str {
        self.0["inputs"][name].as_str().unwrap_or_default()
    }

    /// Number of axes of the torus.
    pub fn axes(&self) -> Result<usize, Failure> {
        Ok(self.input("E")?.data.len())
    }

    /// The names of what is expected, so that nothing expected goes unchecked.
    pub fn expected_names(&self) -> Vec<&str> {
        self.0["expected"]
            .as_object()
            .map(|table| table.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    /// `expected.name` where it is true or false.
    pub fn expected_flag(&self, name: &str) -> Option<bool> {
        self.0["expected"][name].as_bool()
    }

    /// Compares with `expected.name`, element by element.
    pub fn check<T: Real>(&self, name: &str, found: &[T], tolerance: Tolerance) -> Result<(), Failure> {
        let expected =
            array(&self.0["expected"][name]).ok_or_else(|| Failure(format!("expected.{name}: no array")))?;
        if expected.data.len() != found.len() {
            let (wanted, got) = (expected.data.len(), found.len());
            return Err(Failure(format!("{name}: {got} elements, expected {wanted}")));
        }
        for (index, (&x, &y)) in found.iter().zip(&expected.data).enumerate() {
            let (x, allowed) = (x.to_f64(), tolerance.abs + tolerance.rel * y.abs());
            if !((x - y).abs() <= allowed) {
                let shape = &expected.shape;
                return Err(Failure(format!(
                    "{name}[{index}] of shape {shape:?}: {x:e}, expected {y:e}, allowed {allowed:e}"
                )));
            }
        }
        Ok(())
    }
}

/// `{"shape", "data"}`, a number, or lists of lists.
fn array(value: &Value) -> Option<Array> {
    if let (Some(shape), Some(data)) = (value.get("shape"), value.get("data")) {
        let shape: Vec<usize> =
            shape.as_array()?.iter().map(|n| n.as_u64().map(|n| n as usize)).collect::<Option<_>>()?;
        let data: Vec<f64> = data.as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?;
        return (shape.iter().product::<usize>() == data.len()).then_some(Array { shape, data });
    }
    if let Some(number) = value.as_f64() {
        return Some(Array { shape: vec![], data: vec![number] });
    }
    let rows: Vec<Array> = value.as_array()?.iter().map(array).collect::<Option<_>>()?;
    let inner = rows.first().map(|row| row.shape.clone()).unwrap_or_default();
    if rows.iter().any(|row| row.shape != inner) {
        return None;
    }
    let shape = [rows.len()].into_iter().chain(inner).collect();
    Some(Array { shape, data: rows.into_iter().flat_map(|row| row.data).collect() })
}

#[test]
fn golden_layouts_are_both_read() {
    let shaped = serde_json::json!({"shape": [2, 1], "data": [1, 2.5]});
    let nested = serde_json::json!([[1], [2.5]]);
    assert_eq!(array(&shaped), array(&nested));
    assert_eq!(array(&serde_json::json!([[1], [2, 3]])), None);
    let case = |tolerance| Case(serde_json::json!({"tolerance": tolerance}));
    let single = Tolerance { rel: 3.0, abs: 4.0 };
    let both = case(serde_json::json!({"f64": {"rtol": 1, "atol": 2}, "f32": {"rtol": 5, "atol": 6}}));
    assert_eq!(both.tolerance::<f64>(single).unwrap(), Tolerance { rel: 1.0, abs: 2.0 });
    assert_eq!(both.tolerance::<f32>(single).unwrap(), Tolerance { rel: 5.0, abs: 6.0 });
    let one = case(serde_json::json!({"rel": 1, "abs": 2}));
    assert_eq!(one.tolerance::<f64>(single).unwrap(), Tolerance { rel: 1.0, abs: 2.0 });
    assert_eq!(one.tolerance::<f32>(single).unwrap(), single);
}
