//! Regions against their definition: all pairs of neighbouring parts are looked at before each merge, and names are chosen region by
//! region.

use std::collections::BTreeSet;

use countgrid_map::{Region, RegionLevel, Space, regions};

/// Nine words of topics with forms of them, two that are too short for a name, and one of a script without long words.
const WORDS: [&str; 12] =
    ["river", "rivers", "stone", "tide", "moon", "sun", "ice", "catch", "bird", "ab", "x1y2", "猫"];

struct Map {
    extents: [usize; 2],
    space: Space,
    shares: Vec<f32>, // [feature][cell]
    mass: Vec<f64>,
    tokens: f64,
}

struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1_u64 << 31) as f64
    }
}

/// How far apart two rows or columns are.
fn along(a: usize, b: usize, extent: usize, space: Space) -> f64 {
    let apart = a.abs_diff(b);
    (if space == Space::Torus { apart.min(extent - apart) } else { apart }) as f64
}

impl Map {
    /// Each word is frequent around one place, or two; a third of the cells have no documents.
    fn drawn(extents: [usize; 2], space: Space, length: f64, seed: u64) -> Self {
        let mut draws = Draws(seed);
        for _ in 0..5 {
            draws.unit(); // the first few depend little on the seed
        }
        let cells = extents[0] * extents[1];
        let mut shares = vec![0.0; WORDS.len() * cells];
        for row in shares.chunks_exact_mut(cells) {
            for _ in 0..2 {
                let centre = extents.map(|extent| (draws.unit() * extent as f64).floor() as usize);
                let (wide, most) = (0.5 + 4.0 * draws.unit(), draws.unit());
                for (cell, share) in row.iter_mut().enumerate() {
                    let at = [cell / extents[1], cell % extents[1]];
                    let apart: f64 =
                        (0..2).map(|axis| along(at[axis], centre[axis], extents[axis], space).powi(2)).sum();
                    *share += most * (-apart / (2.0 * wide * wide)).exp() + 0.02 * draws.unit();
                }
            }
        }
        for cell in 0..cells {
            let sum: f64 = shares.iter().skip(cell).step_by(cells).sum();
            shares.iter_mut().skip(cell).step_by(cells).for_each(|share| *share /= sum);
        }
        // Eighths of documents, where several cells have a part of each.
        let part = if seed.is_multiple_of(2) { 1.0 } else { 0.125 };
        let mass: Vec<f64> = (0..cells).map(|_| part * (draws.unit() * 6.0 - 2.0).max(0.0).ceil()).collect();
        let tokens = length * mass.iter().sum::<f64>();
        Self { extents, space, shares: shares.into_iter().map(|x| x as f32).collect(), mass, tokens }
    }

    fn apart(&self, a: usize, b: usize, axis: usize) -> f64 {
        let extent = self.extents[axis];
        let at = |cell: usize| if axis == 0 { cell / self.extents[1] } else { cell % self.extents[1] };
        along(at(a), at(b), extent, self.space)
    }

    fn are_neighbours(&self, a: usize, b: usize) -> bool {
        self.apart(a, b, 0) + self.apart(a, b, 1) == 1.0
    }

    /// The parts of each number that is asked for, as the first cell of the part of each cell.
    fn parts(&self, wanted: &[usize]) -> Vec<Vec<usize>> {
        let cells = self.mass.len();
        let documents: f64 = self.mass.iter().sum();
        // A cell without documents counts for a thousandth of the mean.
        let least = 1e-3 * documents / cells as f64;
        let mut weights: Vec<f64> = self.mass.iter().map(|mass| mass.max(least)).collect();
        let mut means: Vec<Vec<f64>> = (0..cells)
            .map(|cell| self.shares.iter().skip(cell).step_by(cells).map(|&x| f64::from(x).sqrt()).collect())
            .collect();
        let mut first: Vec<usize> = (0..cells).collect();
        let mut pairs: BTreeSet<[usize; 2]> = (0..cells)
            .flat_map(|b| (0..b).map(move |a| [a, b]))
            .filter(|&[a, b]| self.are_neighbours(a, b))
            .collect();
        let mut found = vec![Vec::new(); wanted.len()];
        for left in (1..=cells).rev() {
            if let Some(level) = wanted.iter().position(|&count| count == left) {
                found[level] = first.clone();
            }
            let cost = |&[a, b]: &[usize; 2]| {
                let apart: f64 = means[a].iter().zip(&means[b]).map(|(x, y)| (x - y).powi(2)).sum();
                weights[a] * weights[b] / (weights[a] + weights[b]) * apart
            };
            let Some(&[a, b]) = pairs.iter().min_by(|x, y| cost(x).total_cmp(&cost(y))) else { break };
            let total = weights[a] + weights[b];
            means[a] = means[a]
                .iter()
                .zip(&means[b])
                .map(|(x, y)| (weights[a] * x + weights[b] * y) / total)
                .collect();
            weights[a] = total;
            first.iter_mut().filter(|part| **part == b).for_each(|part| *part = a);
            let renamed = |part: usize| if part == b { a } else { part };
            pairs = pairs
                .into_iter()
                .map(|[x, y]| [renamed(x).min(renamed(y)), renamed(x).max(renamed(y))])
                .filter(|[x, y]| x != y)
                .collect();
        }
        found
    }

    /// How far a cell is from the documents of a region, the region's cells alike where it has none.
    fn distance(&self, of_cell: &[u32], region: u32, cell: usize) -> f64 {
        let own = (0..of_cell.len()).filter(|&other| of_cell[other] == region);
        own.map(|other| {
            let squares = [0, 1].map(|axis| self.apart(cell, other, axis).powi(2));
            (self.mass[other] + 1e-9) * (squares[0] + squares[1])
        })
        .sum()
    }

    /// Names as they are documented, level by level.
    fn names(&self, levels: &[RegionLevel]) -> Vec<Vec<Vec<&'static str>>> {
        let (cells, features) = (self.mass.len(), WORDS.len() as f64);
        let documents: f64 = self.mass.iter().sum();
        let length = self.tokens.max(documents) / documents;
        let count = |level: &RegionLevel, region: u32, feature: usize| -> f64 {
            let own = (0..cells).filter(|&cell| level.of_cell[cell] == region);
            own.map(|cell| length * self.mass[cell] * f64::from(self.shares[feature * cells + cell])).sum()
        };
        let row = |level: &RegionLevel, region: u32| -> Vec<f64> {
            (0..WORDS.len()).map(|feature| count(level, region, feature)).collect()
        };
        let mut all: Vec<Vec<Vec<&str>>> = Vec::new();
        for (n, level) in levels.iter().enumerate() {
            let rows: Vec<Vec<f64>> =
                (0..level.regions.len() as u32).map(|region| row(level, region)).collect();
            let whole: Vec<f64> = (0..WORDS.len()).map(|f| rows.iter().map(|row| row[f]).sum()).collect();
            let size = |region: usize| -> f64 {
                let own = (0..cells).filter(|&cell| level.of_cell[cell] as usize == region);
                own.map(|cell| self.mass[cell]).sum()
            };
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.sort_by(|&a, &b| size(b).total_cmp(&size(a))); // stable
            let mut names: Vec<Vec<&str>> = vec![Vec::new(); rows.len()];
            for region in order {
                let own = &rows[region];
                let sum = |row: &[f64]| row.iter().sum::<f64>();
                let parent = level.regions[region].parent;
                let above = parent.map(|parent| row(&levels[n - 1], parent));
                let z = |feature: usize, outside: &[f64]| {
                    let prior = features * whole[feature] / sum(&whole);
                    let (y, rest) =
                        (own[feature] + prior, (outside[feature] - own[feature]).max(0.0) + prior);
                    let others = sum(own) + features - y;
                    let others_rest = sum(outside) - sum(own) + features - rest;
                    ((y / others).ln() - (rest / others_rest).ln()) / (1.0 / y + 1.0 / rest + 0.1).sqrt()
                };
                let significance = |feature: usize| match &above {
                    // Half a document at least beside it.
                    Some(above) if sum(above) - sum(own) > 0.5 * length => {
                        z(feature, &whole).min(z(feature, above))
                    }
                    _ => z(feature, &whole),
                };
                let is_word = |feature: usize| !["ab", "x1y2"].contains(&WORDS[feature]);
                let mut best: Vec<(f64, usize)> = (0..WORDS.len())
                    .filter(|&feature| is_word(feature))
                    .map(|feature| (significance(feature), feature))
                    .filter(|&(z, _)| z > 1.96)
                    .collect();
                best.sort_by(|a, b| b.0.total_cmp(&a.0));
                let mut taken: Vec<&str> =
                    parent.map_or_else(Vec::new, |parent| all[n - 1][parent as usize].clone());
                for (other, name) in names.iter().enumerate() {
                    if level.regions[other].parent == parent {
                        taken.extend(name);
                    }
                }
                let least = best.first().map_or(0.0, |first| 0.3 * first.0);
                let mut name: Vec<&str> = Vec::new();
                for &(z, feature) in &best {
                    let word = WORDS[feature];
                    let has_form = name.iter().any(|other| ["river", "rivers"].contains(other))
                        && ["river", "rivers"].contains(&word);
                    if z >= least && !taken.contains(&word) && !has_form && name.len() < 3 {
                        name.push(word);
                    }
                }
                names[region] = name;
            }
            all.push(names);
        }
        all
    }

    fn found(&self) -> Vec<RegionLevel> {
        regions(&self.shares, self.extents, self.space, &WORDS, &self.mass, self.tokens).unwrap()
    }
}

fn maps() -> Vec<Map> {
    let mut all = Vec::new();
    for (n, (extents, space)) in [
        ([3, 4], Space::Torus),
        ([3, 5], Space::Plane),
        ([4, 4], Space::Plane),
        ([6, 5], Space::Torus),
        ([1, 30], Space::Torus),
        ([30, 1], Space::Plane),
        ([8, 8], Space::Torus),
        ([9, 7], Space::Plane),
        ([16, 15], Space::Torus),
        ([15, 17], Space::Plane),
    ]
    .into_iter()
    .enumerate()
    {
        for (m, length) in [0.5, 15.0, 600.0, 20_000.0].into_iter().enumerate() {
            all.push(Map::drawn(extents, space, length, (4 * n + m) as u64));
        }
    }
    all
}

#[test]
fn parts_are_merged_where_it_costs_least() {
    for map in maps() {
        let (levels, cells) = (map.found(), map.mass.len());
        let mut wanted: Vec<usize> = [8, 30, 120].into_iter().filter(|&count| 2 * count <= cells).collect();
        if wanted.is_empty() {
            wanted.push(cells / 2);
        }
        let expected = map.parts(&wanted);
        assert_eq!(levels.len(), wanted.len());
        for (n, (level, first)) in levels.iter().zip(&expected).enumerate() {
            let mut firsts = first.clone();
            firsts.sort_unstable();
            firsts.dedup();
            let of_cell: Vec<u32> =
                first.iter().map(|cell| firsts.binary_search(cell).unwrap() as u32).collect();
            assert_eq!(level.of_cell, of_cell, "{:?} {:?} {}", map.extents, map.space, wanted[n]);
            assert_eq!(level.regions.len(), wanted[n]);
            for (region, Region { cell, parent, .. }) in level.regions.iter().enumerate() {
                assert_eq!(*parent, n.checked_sub(1).map(|above| levels[above].of_cell[firsts[region]]));
                let own = (0..cells).filter(|&cell| of_cell[cell] as usize == region);
                let distance = |cell: usize| map.distance(&of_cell, region as u32, cell);
                let least = own.map(distance).fold(f64::INFINITY, f64::min);
                // Equal but for the rounding of sums over rows and columns.
                assert!(distance(*cell as usize) <= least * (1.0 + 1e-12), "{:?} {region}", map.extents);
            }
        }
    }
}

#[test]
fn names_are_the_words_that_stand_out_most() {
    let (mut words, mut nameless) = (0, 0);
    for map in maps() {
        let levels = map.found();
        let expected = map.names(&levels);
        for (level, expected) in levels.iter().zip(&expected) {
            for (region, name) in level.regions.iter().zip(expected) {
                assert_eq!(&region.words, name, "{:?} {:?} {}", map.extents, map.space, map.tokens);
                words += name.len();
                nameless += usize::from(name.is_empty());
            }
        }
    }
    assert!(words > 200 && nameless > 200, "{words} words, {nameless} without a name");
}

/// A region without a document lies in the middle of its cells.
#[test]
fn a_region_without_documents_has_a_middle() {
    // Ten cells in a row: one with documents at either end; those between are all alike, and unlike the ends.
    let mut shares = vec![0.0_f32; 20];
    for cell in 0..10 {
        shares[if cell == 0 || cell == 9 { cell } else { 10 + cell }] = 1.0;
    }
    let mut mass = vec![0.0; 10];
    (mass[0], mass[9]) = (1e6, 1e6);
    let levels = regions(&shares, [1, 10], Space::Plane, &["sun", "moon"], &mass, 1e7).unwrap();
    let level = &levels[0];
    assert_eq!(level.regions.len(), 5);
    for (region, own) in level.regions.iter().enumerate() {
        let cells: Vec<usize> = (0..10).filter(|&cell| level.of_cell[cell] as usize == region).collect();
        if cells.iter().all(|&cell| mass[cell] == 0.0) {
            assert_eq!(own.cell as usize, cells[(cells.len() - 1) / 2], "{cells:?}");
        }
    }
}

/// Eight equal cells are merged, and of two pairs that cost the same the one whose first cell comes first.
#[test]
fn of_equal_costs_the_cells_that_come_first_are_merged_first() {
    let words = ["sun", "moon", "tide", "stone", "river", "ice", "catch", "bird", "tree"];
    let mut shares = vec![0.0_f32; words.len() * 16];
    let mut set = |cell: usize, word: usize, share: f32| shares[word * 16 + cell] = share;
    for (whole, half, word) in [(0, 4, 0), (1, 2, 2)] {
        set(whole, word, 1.0);
        set(half, word, 0.5);
        set(half, word + 1, 0.5);
    }
    [3, 5, 6, 7].into_iter().zip(4..8).for_each(|(cell, word)| set(cell, word, 1.0));
    (8..16).for_each(|cell| set(cell, 8, 1.0));
    let levels = regions(&shares, [4, 4], Space::Plane, &words, &[1.0; 16], 900.0).unwrap();
    assert_eq!(levels[0].of_cell, [0, 1, 2, 3, 0, 4, 5, 6, 7, 7, 7, 7, 7, 7, 7, 7]);
}

/// Nine cells that are nearly alike, with documents, and seven without, unlike their neighbours: these count for a thousandth of a
/// mean cell, so that it costs less to merge the nine.
#[test]
fn cells_without_documents_count_for_a_little() {
    let mut shares = vec![0.0_f32; 4 * 16];
    for cell in 0..16 {
        if cell < 9 {
            let more = if cell % 2 == 0 { 0.004 } else { -0.004 };
            (shares[cell], shares[16 + cell]) = (0.6 + more, 0.4 - more);
        } else {
            shares[(2 + cell % 2) * 16 + cell] = 1.0;
        }
    }
    let mass: Vec<f64> = (0..16).map(|cell| if cell < 9 { 1.0 } else { 0.0 }).collect();
    let words = ["sun", "moon", "tide", "stone"];
    let levels = regions(&shares, [1, 16], Space::Plane, &words, &mass, 900.0).unwrap();
    assert_eq!(levels[0].of_cell, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn what_has_no_regions_has_none() {
    let of = |cells: usize, mass: f64| {
        regions(&vec![1.0; cells], [1, cells], Space::Torus, &["sun"], &vec![mass; cells], 9.0).unwrap().len()
    };
    assert_eq!((of(1, 1.0), of(2, 1.0), of(2, 0.0), of(3, 1.0), of(15, 1.0)), (0, 1, 0, 1, 1));
    assert_eq!((of(59, 1.0), of(60, 1.0), of(239, 1.0), of(240, 1.0)), (1, 2, 2, 3));
    // Masses whose sum is not finite.
    assert_eq!(of(2, f64::MAX), 0);
    let none: [&str; 0] = [];
    assert_eq!(regions(&[], [1, 9], Space::Torus, &none, &[1.0; 9], 9.0).unwrap(), []);
}
