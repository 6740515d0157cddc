//! What errors say: each names what it is about, and the numbers that it was given.

use countgrid_em::Tables;
use countgrid_grid::{Blob, BlobError, Grid, GridError, Kind, LogHistograms, QuantisedHistograms, Shape};
use countgrid_torus::ShapeError;

#[test]
fn grid_errors_name_their_numbers() {
    let shape = ShapeError::EmptyAxis { axis: 1 };
    assert_eq!(GridError::Shape(shape).to_string(), shape.to_string());
    assert_eq!(GridError::from(shape), GridError::Shape(shape));
    for (error, parts) in [
        (GridError::NoFeatures, &["at least one feature"][..]),
        (GridError::TooLarge { cells: 17, features: 23 }, &["17 cells", "23 features"]),
        (GridError::Length { table: "sums", expected: 17, found: 23 }, &["`sums` has 23", "needs 17"]),
        (GridError::Probability { table: "pi", feature: 17, cell: 23 }, &["`pi`", "feature 17", "cell 23"]),
        (GridError::Bound { tile: 17, row: 23 }, &["row 23 of tile 17"]),
        (GridError::Padding { tile: 17 }, &["tile 17", "torus does not have"]),
        (GridError::Step { row: 17 }, &["row 17"]),
        (GridError::NotNormalised { table: "prior", cell: 17 }, &["`prior`", "cell 17"]),
        (GridError::Features { expected: 17, found: 23 }, &["bags have 23", "grid has 17"]),
        (GridError::ShapeMismatch, &["another shape"]),
        (GridError::Overflow { bag: 17 }, &["bag 17", "too large"]),
        (GridError::NoSuchBag { bag: 17, bags: 5 }, &["bag 17 of 5"]),
        (GridError::Pseudocount, &["pseudocount", "at least 0"]),
        (GridError::NoPasses, &["at least one inner pass"]),
        (GridError::PosteriorThreshold, &["threshold", "positive"]),
        (GridError::Noise, &["noise", "less than 1"]),
        (GridError::NoTargets, &["at least one target"]),
        (GridError::Target { target: 17 }, &["target 17"]),
        (GridError::Alpha { window: 17 }, &["`alpha` of window 17"]),
        (GridError::Gamma { window: 17 }, &["`gamma` of window 17"]),
        (GridError::Total { feature: 17 }, &["`totals` of feature 17"]),
        (GridError::Impossible { bag: 17, feature: 23 }, &["bag 17", "feature 23"]),
        (GridError::NoSweeps, &["at least one sweep"]),
        (GridError::Tolerance, &["tolerance", "at least 0"]),
        (GridError::Share, &["share", "at most 1"]),
        (GridError::NoSuchClass { class: 17, classes: 5 }, &["class 17 of 5"]),
    ] {
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{error:?}: {text}");
    }
}

/// `constant!` refuses a shape at compile time, with a text that knows no numbers.
#[test]
fn reasons_of_constants_are_those_of_their_errors() {
    let window = Shape::from_sides([2], [3], 1).unwrap_err();
    assert_eq!(window.constant_reason(), "a window is longer than its axis");
    let none = Shape::from_sides([2], [1], 0).unwrap_err();
    assert_eq!(none.constant_reason(), none.to_string());
    let large = Shape::from_sides([2], [1], usize::MAX).unwrap_err();
    assert!(matches!(large, GridError::TooLarge { cells: 2, .. }));
    assert_eq!(large.constant_reason(), "cells times features are more than can be addressed");
    assert_eq!(GridError::Noise.constant_reason(), "this is no shape");
}

#[test]
fn errors_of_exported_grids_name_their_numbers() {
    for (error, parts) in [
        (BlobError::Magic, &["`countgrd`"][..]),
        (BlobError::Version { expected: 17, found: 23 }, &["version 23", "needs 17"]),
        (BlobError::Axes { expected: 17, found: 23 }, &["23 axes, not 17"]),
        (BlobError::UnknownKind { found: 17 }, &["17 is no kind"]),
        (BlobError::Kind { found: Kind::U16 }, &["kind U16"]),
        (BlobError::Reserved { at: 17 }, &["byte 17"]),
        (BlobError::Length { expected: Some(17), found: 23 }, &["23 bytes, needs 17"]),
        (BlobError::Length { expected: None, found: 23 }, &["23 bytes", "more than can be addressed"]),
        (BlobError::Label { label: 17, cell: 23 }, &["label 17", "cell 23"]),
        (BlobError::NotInPlace { expected: 17, found: 23 }, &["17 numbers of room, not 23"]),
    ] {
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{error:?}: {text}");
    }
    let grid = GridError::NoSuchBag { bag: 17, bags: 5 };
    assert_eq!(BlobError::from(grid).to_string(), grid.to_string());
}

/// The header takes 32 bytes and 8 an axis, in whole cache lines.
#[test]
fn headers_are_whole_cache_lines() {
    fn header<const D: usize>() -> usize {
        let shape = Shape::from_sides([2; D], [1; D], 3).unwrap();
        let labels = 4 * 2 * shape.cells();
        let codes = Blob::quantised_len::<u16>(&shape, 2).unwrap() - shape.quantised_len::<u16>() - labels;
        let floats = Blob::f32_len(&shape, 2).unwrap() - 4 * shape.histograms_len::<f32>() - labels;
        assert_eq!(codes, floats);
        floats
    }
    let headers = [header::<1>(), header::<2>(), header::<3>(), header::<4>(), header::<5>(), header::<6>()];
    assert_eq!(headers, [64, 64, 64, 64, 128, 128]);
}

/// Exported grids are written into as many bytes as they have, with labels that fill planes, and read so.
#[test]
fn lengths_of_exported_grids_are_checked() {
    let shape = Shape::from_sides([3, 4], [2, 2], 3).unwrap();
    let grid = Grid::<f32, _, 2>::uniform(shape).unwrap();
    let packed = vec![0.0; shape.histograms_len::<f32>()];
    let mut scratch = vec![0.0; shape.plane_scratch_len()];
    let table = LogHistograms::pack(&grid, packed, &mut scratch).unwrap();
    let length = |table, expected, found| Err(GridError::Length { table, expected, found });
    let labels: Vec<f32> = (0..24).map(|at| at as f32 / 8.0).collect();
    let needed = Blob::f32_len(&shape, 2).unwrap();
    let write = |numbers: &[f32], labels: usize, bytes: usize| {
        Blob::write_f32(&shape, numbers, &vec![0.5; labels], &mut vec![0; bytes])
    };
    let numbers = table.buffer();
    assert_eq!(write(numbers, 24, needed), Ok(()));
    for found in [needed - 1, needed + 1] {
        assert_eq!(write(numbers, 24, found), length("out", needed, found));
    }
    assert_eq!(write(numbers, 25, needed), length("labels", 24, 25));
    assert_eq!(write(numbers, 12, needed), length("out", needed - 48, needed));
    let count = numbers.len();
    assert_eq!(write(&numbers[1..], 24, needed), length("log_histograms", count, count - 1));

    let codes = vec![0; shape.quantised_len::<u8>()];
    let codes = QuantisedHistograms::<u8, _, 2>::pack(&table, codes, &mut scratch).unwrap();
    let needed = Blob::quantised_len::<u8>(&shape, 2).unwrap();
    assert_eq!(needed, 64 + codes.bytes().len() + 4 * 24);
    let mut bytes = vec![0xff; needed];
    assert_eq!(Blob::write_quantised(&codes, &labels, &mut bytes[1..]), length("out", needed, needed - 1));
    Blob::write_quantised(&codes, &labels, &mut bytes).unwrap();
    let blob = Blob::<2>::new(&bytes).unwrap();
    assert_eq!((blob.kind(), blob.labels(), *blob.shape()), (Kind::U8, 2, shape));
    assert_eq!(blob.quantised::<u8>().unwrap().bytes(), codes.bytes());
    assert_eq!(blob.quantised::<u16>().unwrap_err(), BlobError::Kind { found: Kind::U8 });
    assert_eq!(blob.log_histograms(&mut []).unwrap_err(), BlobError::Kind { found: Kind::U8 });
    let (mut q, mut shares) = ([0.0; 12], [f32::NAN; 2]);
    (q[1], q[10]) = (0.25, 0.75);
    blob.read_labels(&q, &mut shares).unwrap();
    assert_eq!(shares, [0.25 * labels[1] + 0.75 * labels[10], 0.25 * labels[13] + 0.75 * labels[22]]);
    assert_eq!(blob.read_labels(&q[1..], &mut shares), length("q", 12, 11));
    assert_eq!(blob.read_labels(&q, &mut shares[1..]), length("shares", 2, 1));

    // More labels than bytes can be counted.
    assert_eq!(Blob::f32_len(&shape, usize::MAX), None);
    assert_eq!(Blob::f32_len(&shape, usize::MAX / 12), None);
    assert_eq!(Blob::quantised_len::<u16>(&shape, usize::MAX / 48), None);
    assert!(Blob::quantised_len::<u16>(&shape, usize::MAX / 48 - 100).is_some());
}
