//! Regions: parts of the map that hang together, one level inside the other, with names of their own.

use std::collections::BTreeSet;

use countgrid_map::{PageError, RegionLevel, Space, regions};
use proptest::prelude::*;

const WORDS: [&str; 9] = ["sun", "moon", "tide", "stone", "river", "ice", "cat", "dog", "bird"];

fn neighbours(cell: usize, [rows, columns]: [usize; 2], space: Space) -> Vec<usize> {
    let (row, column) = (cell / columns, cell % columns);
    let mut found = Vec::new();
    for (down, across) in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
        let (r, c) = (row as isize + down, column as isize + across);
        let (wide, tall) = (columns as isize, rows as isize);
        if space == Space::Torus || ((0..tall).contains(&r) && (0..wide).contains(&c)) {
            found.push((r.rem_euclid(tall) * wide + c.rem_euclid(wide)) as usize);
        }
    }
    found
}

fn hangs_together(level: &RegionLevel, region: u32, extents: [usize; 2], space: Space) -> bool {
    let own: BTreeSet<usize> =
        (0..level.of_cell.len()).filter(|&cell| level.of_cell[cell] == region).collect();
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<usize> = own.first().copied().into_iter().collect();
    while let Some(cell) = waiting.pop() {
        if own.contains(&cell) && reached.insert(cell) {
            waiting.extend(neighbours(cell, extents, space));
        }
    }
    reached == own
}

proptest! {
    #[test]
    fn levels_are_partitions_of_connected_regions(
        extents in [1_usize..14, 1_usize..14],
        plane: bool,
        numbers in prop::collection::vec(0_u8..20, 14 * 14 * 10),
        empty: bool,
    ) {
        let space = if plane { Space::Plane } else { Space::Torus };
        let cells = extents[0] * extents[1];
        let mut shares: Vec<f32> = numbers[..cells * WORDS.len()].iter().map(|&x| f32::from(x)).collect();
        for cell in 0..cells {
            let sum: f32 = (0..WORDS.len()).map(|z| shares[z * cells + cell]).sum();
            (0..WORDS.len()).for_each(|z| shares[z * cells + cell] /= sum.max(1.0));
        }
        let mass: Vec<f64> =
            numbers[14 * 14 * 9..][..cells].iter().map(|&x| if empty { 0.0 } else { f64::from(x / 4) }).collect();
        let levels = regions(&shares, extents, space, &WORDS, &mass, 500.0).unwrap();
        prop_assert_eq!(&levels, &regions(&shares, extents, space, &WORDS, &mass, 500.0).unwrap());
        prop_assert_eq!(levels.is_empty(), cells < 2 || mass.iter().all(|&mass| mass == 0.0));
        for (n, level) in levels.iter().enumerate() {
            let used: BTreeSet<u32> = level.of_cell.iter().copied().collect();
            prop_assert_eq!(used, (0..level.regions.len() as u32).collect::<BTreeSet<_>>());
            prop_assert!(level.regions.len() == [8, 30, 120][n] || (n == 0 && cells < 16 && level.regions.len() == cells / 2));
            for (region, own) in level.regions.iter().enumerate() {
                prop_assert!(hangs_together(level, region as u32, extents, space));
                prop_assert_eq!(level.of_cell[own.cell as usize], region as u32, "its name stands in it");
                prop_assert_eq!(own.parent.is_some(), n > 0);
                if let Some(parent) = own.parent {
                    let inside = (0..cells).filter(|&cell| level.of_cell[cell] == region as u32);
                    prop_assert!(inside.map(|cell| levels[n - 1].of_cell[cell]).all(|above| above == parent));
                    let above = &levels[n - 1].regions[parent as usize].words;
                    prop_assert!(own.words.iter().all(|word| !above.contains(word)));
                }
                for other in &level.regions[..region] {
                    prop_assert!(other.parent != own.parent || own.words.iter().all(|word| !other.words.contains(word)));
                }
                prop_assert!(own.words.len() <= 3);
            }
        }
    }
}

/// Four quarters of a torus, each with a word of its own and one that all have.
#[test]
fn quarters_are_found_and_named() {
    let (side, cells) = (12, 144);
    let quarter = |cell: usize| 2 * (cell / side / 6) + cell % side / 6;
    let mut shares = vec![0.0_f32; 5 * cells];
    for cell in 0..cells {
        shares[quarter(cell) * cells + cell] = 0.5;
        shares[4 * cells + cell] = 0.5;
    }
    let words = ["north", "south", "east", "west", "common"];
    let levels = regions(&shares, [side, side], Space::Torus, &words, &vec![1.0; cells], 1e5).unwrap();
    assert_eq!(levels[0].regions.len(), 8); // each quarter is two
    for (cell, &region) in levels[0].of_cell.iter().enumerate() {
        let name = &levels[0].regions[region as usize].words;
        assert!(name.is_empty() || name == &[words[quarter(cell)]], "{cell}: {name:?}");
    }
    let named: BTreeSet<&str> =
        levels[0].regions.iter().flat_map(|region| &region.words).map(String::as_str).collect();
    assert_eq!(named, words[..4].iter().copied().collect());
}

/// Of the forms of a word the most significant is enough.
#[test]
fn a_name_has_one_form_of_a_word() {
    let words = ["car", "cars", "library", "libraries", "science", "scientific", "engine"];
    let mut shares = vec![0.0_f32; words.len() * 4];
    for z in 0..words.len() {
        let here = if [0, 1, 6].contains(&z) { 0..2 } else { 2..4 };
        here.for_each(|cell| shares[4 * z + cell] = (10 - z) as f32 / 40.0);
    }
    let levels = regions(&shares, [1, 4], Space::Plane, &words, &[5.0; 4], 4000.0).unwrap();
    let names: Vec<&[String]> = levels[0].regions.iter().map(|region| &region.words[..]).collect();
    assert_eq!(names, [&["car", "engine"][..], &["library", "science", "scientific"]]);
}

#[test]
fn what_is_no_table_is_refused() {
    let refused = |shares: &[f32], mass: &[f64]| {
        regions(shares, [1, 2], Space::Torus, &["sun"], mass, 10.0).unwrap_err()
    };
    assert_eq!(refused(&[1.0], &[1.0; 2]), PageError::Length { table: "pi", expected: 2, found: 1 });
    assert_eq!(refused(&[1.0, f32::NAN], &[1.0; 2]), PageError::Value { table: "pi", index: 1 });
    assert_eq!(refused(&[1.0; 2], &[1.0; 3]), PageError::Length { table: "mass", expected: 2, found: 3 });
}
