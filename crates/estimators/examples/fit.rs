//! Documents to a counting grid, as `countgrid fit PATH -o MODEL` does it: the files are the same, byte for byte.
//!
//! `cargo run --release -p countgrid-estimators --example fit -- PATH [MODEL]`

use std::{error::Error, ops::ControlFlow, path::PathBuf};

use countgrid_corpus::{Corpus, CorpusOptions};
use countgrid_estimators::{GridOptions, GridTraining, Train};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let path = arguments.next().ok_or("a file or folder of documents, and perhaps a file for the model")?;
    let model = arguments.next().unwrap_or_else(|| "model.safetensors".into());

    let reading = CorpusOptions {
        ignore: vec![model.clone()],
        keep_near_duplicates: false,
        ..CorpusOptions::default()
    };
    let mut corpus = Corpus::<f32>::read(path, &reading)?;
    let plan = GridOptions::default().plan(&mut corpus)?;

    let mut training = GridTraining::new(plan, &corpus.bags)?;
    training.run(|progress| {
        eprintln!("{:?} {:4.0} %", progress.extents, 100.0 * progress.share_done);
        ControlFlow::Continue(())
    })?;
    let mut grid = training.finish()?;
    grid.describe(&corpus.name, &corpus, &reading.words)?;
    grid.save(model)?;
    Ok(())
}
