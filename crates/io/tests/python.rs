//! Python's safetensors package reads a model file. Says so and passes where that package is not installed;
//! the variable PYTHON names an interpreter that has it.

use std::io::Write;
use std::process::Command;

use countgrid_io::{ModelFile, NamedTable, TableData, save};

const SCRIPT: &str = "
import json, sys
import numpy as np
from safetensors import safe_open

with safe_open(sys.argv[1], framework='numpy') as model:
    pi = model.get_tensor('pi')
    assert pi.dtype == np.float32 and pi.shape == (2, 1, 2), (pi.dtype, pi.shape)
    assert pi.tolist() == [[[0.5, 0.25]], [[0.5, 0.75]]], pi
    prior = model.get_tensor('prior')
    assert prior.dtype == np.float64 and prior.tolist() == [0.1, 0.9], prior
    assert model.get_tensor('labels').dtype == np.uint32
    texts = model.metadata()
    assert json.loads(texts['vocabulary']) == ['ant', 'bee \\u00e9'], texts
    assert texts['format'] == '1', texts
";

#[test]
fn python_reads_a_model() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let known = Command::new(&python).args(["-c", "import safetensors, numpy"]).output();
    if !known.is_ok_and(|known| known.status.success()) {
        // The harness captures what the print macros write, but not this.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {python} has no safetensors package");
        return;
    }
    let table =
        |name: &str, shape: &[usize], data| NamedTable { name: name.into(), shape: shape.into(), data };
    let mut model = ModelFile {
        tables: vec![
            table("pi", &[2, 1, 2], TableData::F32(vec![0.5, 0.25, 0.5, 0.75])),
            table("prior", &[2], TableData::F64(vec![0.1, 0.9])),
            table("labels", &[3], TableData::U32(vec![0, 1, 2])),
        ],
        ..ModelFile::default()
    };
    model.set_strings("vocabulary", ["ant", "bee é"]);
    model.metadata.insert("format".into(), "1".into());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    save(&path, &model).unwrap();
    let ran = Command::new(&python).arg("-c").arg(SCRIPT).arg(&path).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
