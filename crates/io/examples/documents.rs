//! How many documents a path has, how many words, and what was left out.
//!
//! ```sh
//! cargo run -p countgrid-io --all-features --example documents -- PATH
//! ```

use std::{env, error::Error};

use countgrid_io::{Item, ReadError, ReadOptions, visit};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("usage: documents PATH")?;
    let (mut documents, mut words) = (0_usize, 0_usize);
    let summary = visit(path, &ReadOptions::default(), |item| {
        match item {
            Item::Document(document) => {
                documents += 1;
                words += document.text.split_whitespace().count();
            }
            Item::Bag(_) => documents += 1,
            _ => {}
        }
        Ok::<_, ReadError>(())
    })?;
    println!("{documents} documents, {words} words; {summary}");
    for left in summary.left_out {
        println!("{}: {}", left.path.display(), left.why);
    }
    Ok(())
}
