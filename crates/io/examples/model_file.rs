//! Writes a model file, or reads one and prints what is in it: hosts of either byte order write the same bytes and read
//! each other's, which `examples/conformance/files` shows.
//!
//! ```sh
//! cargo run -p countgrid-io --example model_file -- write FILE
//! cargo run -p countgrid-io --example model_file -- read FILE
//! ```

use std::{env, error::Error};

use countgrid_io::{ModelFile, NamedTable, TableData, load, save};

fn main() -> Result<(), Box<dyn Error>> {
    let [what, path] = [1, 2].map(|n| env::args().nth(n).ok_or("usage: model_file write|read FILE"));
    let (what, path) = (what?, path?);
    match what.as_str() {
        "write" => save(path, &model())?,
        _ => {
            let found = load(path)?;
            for table in &found.tables {
                println!("{table:?}");
            }
            println!("{:?}", found.metadata);
            if found.tables != model().tables {
                return Err("these are not the tables that were written".into());
            }
        }
    }
    Ok(())
}

/// Tables of every element type, with values of many magnitudes, in the order of a file.
fn model() -> ModelFile {
    // Powers of two: what a platform calls a power differs.
    let values =
        |count: i32| (0..count).map(|n| f64::from(n - 9) / 3.0 * f64::from_bits((1000 + n as u64) << 52));
    let single = values(24).map(|x| x as f32).collect();
    let table = |name: &str, shape: Vec<usize>, data| NamedTable { name: name.to_owned(), shape, data };
    let mut model = ModelFile {
        tables: vec![
            table("capacity", vec![24], TableData::F64(values(24).collect())),
            table("pi", vec![2, 3, 4], TableData::F32(single)),
            table("window", vec![2], TableData::U32(vec![3, 1 << 30])),
        ],
        ..ModelFile::default()
    };
    model.set_strings("vocabulary", ["ant", "Ameise", "муравей"]);
    model
}
