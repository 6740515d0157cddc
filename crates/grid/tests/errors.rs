//! What errors say: each names what it is about, and the numbers that it was given.

use countgrid_grid::{Blob, BlobError, GridError, Kind, Shape};
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
