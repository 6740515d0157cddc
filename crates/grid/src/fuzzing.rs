//! Bodies of fuzz targets, kept here so that a test on stable can replay their inputs.

use alloc::{vec, vec::Vec};

use countgrid_counts::Dense;

use crate::{Blob, BlobError, GridError, Kind, QuantisedHistograms, Shape};

/// Any bytes as an exported grid: an error, or a grid that is written back as the same bytes, reads the same at any
/// address and computes the posterior of a bag. Returns whether they were a grid.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn blob(data: &[u8]) -> bool {
    let found = [one::<1>(data), one::<2>(data), one::<3>(data)];
    assert!(found.iter().filter(|found| **found).count() <= 1, "a grid has one number of axes");
    found.contains(&true)
}

fn one<const D: usize>(data: &[u8]) -> bool {
    let Ok(blob) = Blob::<D>::new(data) else { return false };
    let shape = *blob.shape();
    // The bytes are all there, so neither can be much larger than they are.
    assert!(shape.cells() <= data.len() && shape.features() <= data.len());
    let labels: Vec<f32> = blob.label_values().collect();
    let counts: Vec<u8> = (0..shape.features()).map(|z| (z % 3) as u8).collect();
    let Ok(bag) = Dense::new(shape.features(), &counts) else { return false };

    let mut q = vec![0.0f32; shape.cells()];
    let mut written = vec![0xff; data.len()];
    let evidence = match blob.kind() {
        Kind::F32 => {
            let mut spare = vec![0.0; shape.histograms_len::<f32>()];
            // One of these addresses is aligned, the others are not.
            let moved = [data, &[0; 4]].concat();
            let mut places = [0, 1, 2, 3].map(|_| Err(BlobError::Magic));
            for (offset, place) in places.iter_mut().enumerate() {
                let mut bytes = moved.clone();
                bytes.rotate_right(offset);
                let Some(Ok(blob)) = bytes.get(offset..offset + data.len()).map(Blob::<D>::new) else {
                    panic!("an address makes a difference")
                };
                *place = blob.log_histograms(&mut spare).map(|table| {
                    let mut scratch = vec![0.0; shape.posterior_scratch_len::<f32>(1)];
                    table.posterior(&bag, 0, &mut q, &mut scratch)
                });
            }
            assert!(places.iter().all(|place| *place == places[0]), "an address makes a difference");
            let Ok(table) = blob.log_histograms(&mut spare) else { return true };
            let again = Blob::write_f32(&shape, countgrid_em::Tables::buffer(&table), &labels, &mut written);
            assert!(again == Ok(()) && written == data);
            places[0].and_then(|evidence| Ok(evidence?))
        }
        Kind::U16 => codes(&blob.quantised::<u16>(), &bag, &labels, &mut q, &mut written),
        Kind::U8 => codes(&blob.quantised::<u8>(), &bag, &labels, &mut q, &mut written),
    };
    assert!(!matches!(evidence, Err(BlobError::Kind { .. } | BlobError::NotInPlace { .. })));
    if let Ok(evidence) = evidence {
        assert!(evidence.is_finite() && written == data);
        assert!(q.iter().all(|q| (0.0..=1.0).contains(q)));
        assert!((q.iter().map(|&q| f64::from(q)).sum::<f64>() - 1.0).abs() < 1e-3);
    }
    true
}

fn codes<C: crate::Code, const D: usize>(
    table: &Result<QuantisedHistograms<C, &[u8], D>, BlobError>,
    bag: &Dense<'_, u8>,
    labels: &[f32],
    q: &mut [f32],
    written: &mut [u8],
) -> Result<f32, BlobError> {
    let table = table.as_ref().map_err(|error| *error)?;
    Blob::write_quantised(table, labels, written)?;
    Ok(table.posterior(bag, 0, q, &mut vec![C::Sum::default(); q.len()])?)
}

/// The bytes of a small grid, to begin from.
///
/// # Errors
/// None, for the shapes that tests ask for.
pub fn blob_seed(kind: Kind) -> Result<Vec<u8>, GridError> {
    let shape = Shape::from_sides([2, 3], [2, 2], 2)?;
    let tables: Vec<f32> = [[0.25, 0.5, 0.75, 0.5, 0.125, 0.5], [0.75, 0.5, 0.25, 0.5, 0.875, 0.5]].concat();
    let grid = crate::Grid::new(shape, [tables, vec![1.0 / 6.0; 6]].concat())?;
    let mut scratch = vec![0.0; shape.plane_scratch_len()];
    let packed = vec![0.0; shape.histograms_len::<f32>()];
    let table = crate::LogHistograms::pack(&grid, packed, &mut scratch)?;
    let labels = [0.0, 0.25, 0.5, 0.75, 1.0, 0.0, 1.0, 0.75, 0.5, 0.25, 0.0, 1.0];
    let too_large = GridError::TooLarge { cells: 6, features: 2 };
    match kind {
        Kind::F32 => {
            let mut bytes = vec![0; Blob::f32_len(&shape, 2).ok_or(too_large)?];
            Blob::write_f32(&shape, countgrid_em::Tables::buffer(&table), &labels, &mut bytes)?;
            Ok(bytes)
        }
        Kind::U16 => coded::<u16>(&table, &labels, &mut scratch),
        Kind::U8 => coded::<u8>(&table, &labels, &mut scratch),
    }
}

fn coded<C: crate::Code>(
    table: &crate::LogHistograms<f32, Vec<f32>, 2>,
    labels: &[f32],
    scratch: &mut [f32],
) -> Result<Vec<u8>, GridError> {
    let shape = table.shape();
    let too_large = GridError::TooLarge { cells: shape.cells(), features: shape.features() };
    let codes = vec![0; shape.quantised_len::<C>()];
    let table = QuantisedHistograms::<C, _, 2>::pack(table, codes, scratch)?;
    let mut bytes = vec![0; Blob::<2>::quantised_len::<C>(shape, 2).ok_or(too_large)?];
    Blob::write_quantised(&table, labels, &mut bytes)?;
    Ok(bytes)
}
