//! Whether a fit has room, before anything is allocated for it.

use countgrid_grid::Shape;
use countgrid_math::Real;

use crate::{
    failure::Failure,
    layout::{AXES, Layout},
};

/// Documents that are placed together if there is room: enough that reading the table is shared.
const CHUNK: usize = 1024;

/// So many zeros.
pub(crate) fn zeros<T: Real>(elements: usize) -> Result<Vec<T>, Failure> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(elements).map_err(|_| {
        Failure::new(
            format_args!("{elements} numbers do not fit into memory"),
            "take fewer documents or labels, or a smaller --grid",
        )
    })?;
    zeros.resize(elements, T::zero());
    Ok(zeros)
}

/// The shape of a grid, and how many documents to place together.
///
/// A fit holds three tables of cells by words (the grid, the logarithms of its windows, their expected counts),
/// one more for the best of several restarts, and a chunk of documents by cells.
pub(crate) fn plan<T: Real>(
    layout: &Layout,
    features: usize,
    restarts: usize,
) -> Result<(Shape<AXES>, usize), Failure> {
    plan_within::<T>(layout, features, restarts, available())
}

fn plan_within<T: Real>(
    layout: &Layout,
    features: usize,
    restarts: usize,
    available: Option<u128>,
) -> Result<(Shape<AXES>, usize), Failure> {
    let bytes = size_of::<T>() as u128;
    let copies = if restarts > 1 { 2 } else { 1 };
    let too_large = |needed: u128| {
        let have = available.map_or(String::new(), |have| format!(", and {} are free", size(have)));
        let precision = if bytes > 4 { ", or --precision f32" } else { "" };
        Failure::new(
            format_args!(
                "a grid of {} with {features} words needs {} of memory{have}",
                layout.grid,
                size(needed)
            ),
            format_args!("take a smaller --grid, or fewer words (--max-words){precision}"),
        )
    };
    let Ok(shape) = layout.shape(features) else {
        let table = layout.cells().saturating_mul(features as u128 + 1);
        return Err(too_large(table.saturating_mul((2 + copies) * bytes)));
    };
    // A shape that was accepted can be counted in `usize`; its tables together perhaps cannot.
    let tables = shape.grid_len() as u128 * copies
        + shape.histograms_len::<T>() as u128
        + shape.sums_len::<T>() as u128;
    let needed = |chunk| (tables + shape.scratch_len::<T>(chunk) as u128) * bytes;
    let Some(available) = available else { return Ok((shape, CHUNK)) };
    match (1..=CHUNK).rev().find(|&chunk| needed(chunk) <= available) {
        Some(chunk) => Ok((shape, chunk)),
        None => Err(too_large(needed(1))),
    }
}

/// Bytes that can be had without swapping, where the system tells.
pub(crate) fn available() -> Option<u128> {
    parse(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The most bytes that this process has had in memory so far, where the system tells.
pub(crate) fn peak() -> Option<u128> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

fn parse(table: &str, name: &str) -> Option<u128> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u128 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Bytes for people: `3.2 GB`.
pub(crate) fn size(bytes: u128) -> String {
    let mut size = bytes as f64;
    for unit in ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"] {
        if size < 1000.0 {
            let digits = usize::from(size < 100.0 && unit != "bytes");
            return format!("{size:.digits$} {unit}");
        }
        size /= 1000.0;
    }
    format!("{size:.3e} ZB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Sides;

    fn layout(sides: &[usize]) -> Layout {
        Layout { grid: Sides(sides.to_vec()), window: Sides(vec![1; sides.len()]) }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_numbers() {
        let cells_by_words = 32 * 32 * 1001 * 4 * 3;
        let (_, chunk) = plan_within::<f32>(&layout(&[32, 32]), 1000, 1, Some(1 << 30)).unwrap();
        assert_eq!(chunk, CHUNK);
        // Between the scratch of one document and that of all.
        let shape = layout(&[32, 32]).shape(1000).unwrap();
        let some = 4 * shape.scratch_len::<f32>(CHUNK / 2) as u128;
        let (_, chunk) =
            plan_within::<f32>(&layout(&[32, 32]), 1000, 1, Some(cells_by_words + some)).unwrap();
        assert!((1..CHUNK).contains(&chunk));
        let refused = plan_within::<f32>(&layout(&[32, 32]), 1000, 1, Some(cells_by_words)).unwrap_err();
        assert!(refused.to_string().contains("12.3 MB"), "{refused}");
        assert!(plan_within::<f64>(&layout(&[32, 32]), 1000, 1, Some(cells_by_words * 3 / 2)).is_err());
        for huge in [vec![1_000_000; 2], vec![usize::MAX; 8], vec![1 << 31; 2]] {
            assert!(plan_within::<f32>(&layout(&huge), 1000, 1, Some(1 << 40)).is_err());
        }
        assert!(plan_within::<f32>(&layout(&[usize::MAX; 8]), 1000, 1, None).is_err());
    }

    #[test]
    fn sizes_for_people() {
        for (bytes, text) in
            [(0, "0 bytes"), (999, "999 bytes"), (1_200, "1.2 kB"), (48_000_000_000_000, "48.0 TB")]
        {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn meminfo() {
        let parse = |table| parse(table, "MemAvailable:");
        assert_eq!(parse("MemTotal: 10 kB\nMemAvailable:    3 kB\n"), Some(3072));
        assert_eq!(parse("MemAvailable: lots\n"), None);
    }
}
