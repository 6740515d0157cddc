//! `pipeline FILE.csv`: prints the accuracy and a confusion matrix.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: pipeline FILE.csv")?;
    let report = pipeline::run(Path::new(&path), 4)?;
    println!("accuracy {:.3}, standard error {:.3}", report.accuracy, report.error);
    for (label, row) in report.labels.iter().zip(report.confusion.chunks(report.labels.len())) {
        println!("{label}: {row:?}");
    }
    Ok(())
}
