//! Bags and grids as the program `countgrid` makes them of a path.

use std::{error::Error, fmt, path::Path};

use countgrid_benches::Corpus;
use countgrid_counts::{Bags, CsrBuf};
use countgrid_grid::Shape;
use countgrid_io::{DataSet, ReadOptions, read};
use countgrid_text::TextOptions;
use countgrid_torus::{Torus, Windows};

/// Words that the program keeps.
const MAX_WORDS: usize = 3_000;

/// Bags, and the grid that suits them.
pub(crate) struct Data {
    pub(crate) name: String,
    pub(crate) bags: CsrBuf<u32>,
    pub(crate) tokens: f64,
    pub(crate) shape: Shape<2>,
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let windows = self.shape.windows();
        write!(
            f,
            "{}: {} bags, {} features, {} tokens; grid {:?}, window {:?}",
            self.name,
            self.bags.len(),
            self.bags.features(),
            self.tokens,
            windows.torus().extents(),
            windows.sides()
        )
    }
}

/// The data of that name; `None`, after a line that says so, if it is not there.
pub(crate) fn open(name: &str, folder: &Path, quick: bool) -> Result<Option<Data>, Box<dyn Error>> {
    if name == "synthetic" {
        let mut corpus = Corpus::standard();
        if quick {
            (corpus.bags, corpus.features) = (1_000, 500);
        }
        return with(name, corpus.draw(1), corpus.windows).map(Some);
    }
    let path = folder.join(name);
    if !path.exists() {
        println!("{name}: skipped, there is no {name} in the folder of --data");
        return Ok(None);
    }
    let (data, _) = read(&path, &ReadOptions::default())?;
    let DataSet::Documents(documents) = data else {
        return Err(format!("{name}: holds counts, needs texts").into());
    };
    let options = TextOptions { max_words: MAX_WORDS, ..TextOptions::default() };
    let words = countgrid_text::bags(documents.iter().map(|document| document.text.as_str()), &options)?;
    let bags = words.bags;
    let nonempty = bags.offsets().windows(2).filter(|bag| bag[0] < bag[1]).count();
    with(name, bags, windows(nonempty)?).map(Some)
}

fn with(name: &str, bags: CsrBuf<u32>, windows: Windows<2>) -> Result<Data, Box<dyn Error>> {
    let shape = Shape::new(windows, bags.features())?;
    Ok(Data { name: name.to_owned(), tokens: bags.tokens(), bags, shape })
}

/// About half as many cells as documents, and a window of a sixth of a side, as the program chooses by itself.
fn windows(documents: usize) -> Result<Windows<2>, Box<dyn Error>> {
    let side = (4.0 * ((documents as f64 / 2.0).sqrt() / 4.0).round()).clamp(8.0, 64.0);
    let window = (side / 6.0).round().clamp(2.0, 8.0);
    Ok(Windows::new(Torus::new([side as usize; 2])?, [window as usize; 2])?)
}
