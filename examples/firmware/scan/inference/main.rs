//! Everything that inference is: a grid's tables of three kinds, from statics and from a file, and those of the other
//! models, checked and used. `no-panic` links it and looks for a way to panic, of which there is none; with the feature
//! `panics` there is one.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

#[path = "../models.rs"]
mod models;

use core::hint::black_box;

use countgrid_counts::{Bag, Bags};
use countgrid_grid::{Blob, BlobError, Code, LogHistograms, QuantisedHistograms, Shape, constant};

#[allow(dead_code, reason = "words are not asked for")]
mod model {
    include!("../../model/model.rs");
}

const SHAPE: Shape<2> = constant!(Shape::from_sides(model::EXTENTS, model::WINDOW, model::FEATURES));
const CELLS: usize = SHAPE.cells();
static BLOB: &[u8] = include_bytes!("../../model/model.bin");
static CODES: [u8; SHAPE.quantised_len::<u16>()] = [0; SHAPE.quantised_len::<u16>()];

#[cortex_m_rt::entry]
fn main() -> ! {
    loop {
        // The compiler knows nothing of any input.
        let (features, counts) = (black_box([1u32, 5, 6]), black_box([1u16, 2, 3]));
        let bag = Bag::new(black_box(model::FEATURES), &features, &counts);
        if let Ok(bag) = bag {
            let evidence = [
                numbers(&bag, black_box(model::TABLE.as_slice())),
                codes::<u8, _>(&bag, black_box(&CODES)),
                codes::<u16, _>(&bag, black_box(&CODES)),
                file(&bag, black_box(BLOB)),
            ];
            black_box(evidence.map(|evidence| evidence.unwrap_or(0.0)));
            black_box(others(&bag, black_box(&[0, 3, 2])));
        }
        #[cfg(feature = "panics")]
        black_box(features[black_box(2)]);
    }
}

fn numbers<B: Bags>(bag: &B, table: &[f32]) -> Result<f32, BlobError> {
    let mut scratch = [0.0; SHAPE.posterior_scratch_len::<f32>(1)];
    let mut q = [0.0; CELLS];
    let table = LogHistograms::new(SHAPE, table)?;
    let evidence = table.posterior(bag, black_box(0), &mut q, &mut scratch)?;
    black_box(q);
    Ok(evidence)
}

fn codes<C: Code, B: Bags>(bag: &B, bytes: &[u8]) -> Result<f32, BlobError> {
    let mut scratch = [C::Sum::default(); SHAPE.quantised_scratch_len()];
    let mut q = [0.0; CELLS];
    let table = QuantisedHistograms::<C, _, 2>::new(SHAPE, bytes)?;
    let evidence = table.posterior(bag, black_box(0), &mut q, &mut scratch)?;
    black_box(q);
    Ok(evidence)
}

/// A table of any kind, at any address, of a shape that is not known.
fn file<B: Bags>(bag: &B, bytes: &[u8]) -> Result<f32, BlobError> {
    let blob = Blob::<2>::new(bytes)?;
    let (mut q, mut scratch, mut copy) = ([0.0; CELLS], [0.0; 4096], [0.0; 4096]);
    let evidence = match (blob.quantised::<u8>(), blob.quantised::<u16>()) {
        (Ok(table), _) => table.posterior(bag, black_box(0), &mut q, &mut [0; CELLS])?,
        (_, Ok(table)) => table.posterior(bag, black_box(0), &mut q, &mut [0; CELLS])?,
        _ => blob.log_histograms(&mut copy)?.posterior(bag, black_box(0), &mut q, &mut scratch)?,
    };
    let mut shares = [0.0; 4];
    blob.read_labels(&q, black_box(&mut shares))?;
    black_box((q, shares));
    Ok(evidence)
}

/// The other models, by tables that are nothing but zeros as far as the compiler does not know.
fn others(bag: &Bag<'_, u16>, x: &[u8]) -> Option<f32> {
    static ZEROS: [f32; 32_768] = [0.0; 32_768];
    let table = |len: usize| black_box(&ZEROS).get(..len).map(black_box);
    let (mut scratch, mut row) = ([0.0; 2048], [0.0; models::TERMS]);
    let paths = table(models::PATHS.hmm_len())?;
    let gamma = row.get_mut(..x.len() * models::STATES)?;
    let mut sum = models::hmm_posterior(paths, x, gamma, &mut scratch)? as f32;
    sum += models::hmm_viterbi(paths, x, black_box(&mut [0; 3]), &mut scratch)? as f32;
    sum += models::hmm_terms(paths, x, black_box(&mut row), &mut scratch)?;
    let topics = row.get_mut(..models::TOPICS)?;
    sum += models::lda_posterior(table(models::MIXED.model_len())?, bag, topics, &mut scratch)? as f32;
    models::harmonium_topics(table(models::WINGS.model_len())?, bag, topics)?;
    let q = row.get_mut(..models::POINTS)?;
    sum += models::gtm_posterior(table(models::PLANE.emissions_len())?, bag, q, &mut [0.0; 2])?;
    black_box(row);
    Some(sum)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        black_box(info.location()); // keeps the names of what leads here
    }
}
