//! Documents on the exported grid.

use countgrid_counts::Bag;
use countgrid_grid::{Blob, Labels, LogHistograms, Shape, constant};

use crate::{error::Error, model, say};

const SHAPE: Shape<2> = constant!(Shape::from_sides(model::EXTENTS, model::WINDOW, model::FEATURES));

/// Words of some documents with their counts. A device would have ids; here a search finds them.
const DOCUMENTS: [&[(&str, u16)]; 4] = [
    &[("bake", 2), ("dough", 1), ("oven", 1)],
    &[("wind", 1), ("sail", 2), ("harbour", 1)],
    &[("galaxy", 1), ("stars", 1), ("light", 1)],
    &[],
];

/// Places every document, by the table in the module and by the blob.
pub(crate) fn all(blob: &[u8]) -> Result<(), Error> {
    let table = LogHistograms::new(SHAPE, model::TABLE.as_slice())?;
    let labels = Labels::new(SHAPE, model::LABELS.len(), model::LABEL_TABLE.as_slice())?;
    let blob = Blob::<2>::new(blob)?;
    let in_place = blob.log_histograms(&mut [])?; // no room for a copy: it has to be aligned
    say!("grid {:?}, window {:?}, {} words", model::EXTENTS, model::WINDOW, model::FEATURES);
    for (number, document) in DOCUMENTS.into_iter().enumerate() {
        let (mut features, mut counts, mut used) = ([0u32; 8], [0u16; 8], 0);
        for (z, word) in model::VOCABULARY.iter().enumerate() {
            let count = document.iter().find(|(known, _)| known == word).map(|&(_, count)| count);
            if let (Some(count), Some(to), Some(many)) = (count, features.get_mut(used), counts.get_mut(used))
            {
                (*to, *many, used) = (z as u32, count, used + 1);
            }
        }
        let (features, counts) =
            (features.get(..used).unwrap_or_default(), counts.get(..used).unwrap_or_default());
        let bag = Bag::new(model::FEATURES, features, counts)?;

        let (mut q, mut again) = ([0.0; SHAPE.cells()], [0.0; SHAPE.cells()]);
        let mut scratch = [0.0; SHAPE.posterior_scratch_len::<f32>(1)];
        let evidence = table.posterior(&bag, 0, &mut q, &mut scratch)?;
        let same = in_place.posterior(&bag, 0, &mut again, &mut scratch)?;
        if q != again || evidence != same {
            return Err(Error::Differ);
        }
        say!("document {}: {} known words, free energy {:.4}", number, used, 0.0 - evidence);
        for (cell, probability) in best::<3>(&q) {
            say!("  window at {:?}: {:.4}", SHAPE.windows().torus().coords_of(cell), probability);
        }
        let (mut shares, mut in_place) = ([0.0; model::LABELS.len()], [0.0; model::LABELS.len()]);
        labels.read(q.as_slice(), &mut shares)?;
        blob.read_labels(&q, &mut in_place)?;
        if shares != in_place {
            return Err(Error::Differ);
        }
        for (name, share) in model::LABELS.iter().zip(shares) {
            say!("  {}: {:.4}", name, share);
        }
    }
    Ok(())
}

/// The most probable windows, the best first, of equals the first.
fn best<const N: usize>(q: &[f32]) -> [(usize, f32); N] {
    let mut best = [(0, -1.0); N];
    for (cell, &probability) in q.iter().enumerate() {
        let mut next = (cell, probability);
        for place in &mut best {
            if next.1 > place.1 {
                core::mem::swap(place, &mut next);
            }
        }
    }
    best
}
