//! Contiguous parts of a map, each with a name: the cells of a map merged until few parts are left.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::{PageError, Space, significance::LogOdds};

/// Levels of regions that a page has, from the largest to the smallest: so many regions, if the map has enough cells.
const LEVELS: [usize; 3] = [8, 30, 120];
/// Shares that are looked at, at most: half a gigabyte, and as much again while regions are merged.
pub(crate) const MAX_SHARES: usize = 1 << 27;
/// Words of a name, at most.
const WORDS: usize = 3;
/// Words of a name that stand out less than this share of the first one are left out.
const LEAST: f64 = 0.3;

/// A part of a map, of a level of the tree of [`regions`].
///
/// Example: [`regions`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// Its most distinctive words, up to three, the first one the most.
    pub words: Vec<String>,
    /// The cell where its name stands: of its cells the one nearest to their middle.
    pub cell: u32,
    /// The region of the level above that has it; the first level has none.
    pub parent: Option<u32>,
}

/// The regions of one level: every cell is in one of them.
///
/// Example: [`regions`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionLevel {
    /// The regions.
    pub regions: Vec<Region>,
    /// The region of each cell, `[cell]`.
    pub of_cell: Vec<u32>,
}

/// Merges neighbouring cells into regions, at most 8, 30 and 120 of them, one level inside the other, and names each.
///
/// `shares` `[feature][cell]` say how frequent the words of `vocabulary` `[feature]` are where a document of a cell stands (of a
/// counting grid, in its window); `mass` `[cell]` how many documents do, and `tokens` how many words those have in all.
///
/// Regions are merged as Ward's method does, next neighbours alone (on a torus around it): always the two for which
/// `m n / (m + n) |a - b|²` is least, where `m` and `n` are the documents of both, and `a` and `b` the means over their documents
/// of the square roots of shares, so that distances are Hellinger's. Cells without documents go to the neighbour that is most
/// alike. Of equal costs the cells that come first are merged first, so regions follow from the numbers alone.
///
/// A name has the words whose log-odds against the rest of the map, and on lower levels against the rest of the region above too,
/// are most significant: `z = ln(odds ratio) / sqrt(1 / y + 1 / y' + 0.1)`, where `y` and `y'` are the counts of the word inside and
/// outside, each with its share of one token more per word of the vocabulary, as a prior; of the 0.1
/// [`characteristic_words`](crate::characteristic_words) tells. No two regions of one region above share
/// a word of their names, nor has a name one of the region above,
/// or two forms of one word (`car` and `cars`).
///
/// There are none on a map of one cell, without documents, or of more than 2²⁷ shares.
///
/// # Source
/// Ward, Hierarchical grouping to optimize an objective function, JASA 58 (1963); Monroe, Colaresi & Quinn, Fightin' words,
/// Political Analysis 16 (2008), Eqs. 16 to 22.
///
/// # Errors
/// [`PageError::Length`], [`PageError::Value`].
///
/// ```
/// use countgrid_map::{Space, regions};
/// // Four cells in a row: sun, sun, moon, moon; not around.
/// let shares = [0.9, 0.9, 0.1, 0.1, /**/ 0.1, 0.1, 0.9, 0.9];
/// let levels = regions(&shares, [1, 4], Space::Plane, &["sun", "moon"], &[1.0; 4], 400.0)?;
/// // So small a map has one region for every two cells on its only level.
/// assert_eq!(levels.len(), 1);
/// assert_eq!(levels[0].of_cell, [0, 0, 1, 1]);
/// assert_eq!(levels[0].regions[1].words, ["moon"]);
/// # Ok::<(), countgrid_map::PageError>(())
/// ```
pub fn regions(
    shares: &[f32],
    extents: [usize; 2],
    space: Space,
    vocabulary: &[impl AsRef<str>],
    mass: &[f64],
    tokens: f64,
) -> Result<Vec<RegionLevel>, PageError> {
    let cells = extents[0].saturating_mul(extents[1]);
    crate::words::check(shares, cells, vocabulary.len(), mass)?;
    let documents: f64 = mass.iter().sum();
    if cells < 2
        || shares.len() > MAX_SHARES
        || vocabulary.is_empty()
        || !(documents > 0.0 && documents.is_finite())
    {
        return Ok(Vec::new());
    }
    let wanted: Vec<usize> = LEVELS.into_iter().filter(|&count| 2 * count <= cells).collect();
    let wanted = if wanted.is_empty() { vec![cells / 2] } else { wanted };
    let merges = merges(shares, extents, space, mass, documents);
    let mut levels: Vec<RegionLevel> = Vec::with_capacity(wanted.len());
    for count in wanted {
        let of_cell = cut(&merges, cells, count);
        let found = of_cell.iter().max().map_or(0, |&last| last as usize + 1);
        let regions = (0..found as u32).map(|region| Region {
            cell: middle(&of_cell, region, extents, space, mass),
            parent: levels.last().and_then(|above| {
                let cell = of_cell.iter().position(|&own| own == region)?;
                above.of_cell.get(cell).copied()
            }),
            words: Vec::new(),
        });
        levels.push(RegionLevel { regions: regions.collect(), of_cell });
    }
    name(&mut levels, shares, vocabulary, mass, tokens.max(documents) / documents);
    Ok(levels)
}

/// The cells next to a cell: around a torus, within the edges of a plane.
fn neighbours(cell: usize, [rows, columns]: [usize; 2], space: Space) -> impl Iterator<Item = usize> {
    let (row, column) = (cell / columns, cell % columns);
    let step = move |at: usize, by: isize, extent: usize| match (space, at.checked_add_signed(by)) {
        (_, Some(next)) if next < extent => Some(next),
        (Space::Plane, _) => None,
        (Space::Torus, next) => Some(next.map_or(extent - 1, |_| 0)),
    };
    let down = [-1, 1].map(|by| step(row, by, rows).map(|row| row * columns + column));
    let across = [-1, 1].map(|by| step(column, by, columns).map(|column| row * columns + column));
    down.into_iter().chain(across).flatten().filter(move |&other| other != cell)
}

/// Two parts that can be merged, and what it costs. The heap has the cheapest on top, of equals the first.
struct Pair {
    cost: f64,
    parts: [usize; 2],
    versions: [u32; 2], // of the parts when the cost was found
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then_with(|| other.parts.cmp(&self.parts))
    }
}
impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Pair {}

/// All merges in their order, until one part is left: each of the first into the second, which are cells that stand for parts.
fn merges(
    shares: &[f32],
    extents: [usize; 2],
    space: Space,
    mass: &[f64],
    documents: f64,
) -> Vec<[usize; 2]> {
    let (cells, features) = (mass.len(), shares.len() / mass.len().max(1));
    // Square roots of shares by cell. An empty cell counts for a little, so that it goes where it is most alike.
    let mut roots = vec![0.0_f32; shares.len()];
    for (feature, plane) in shares.chunks_exact(cells).enumerate() {
        for (cell, share) in plane.iter().enumerate() {
            roots[cell * features + feature] = share.sqrt();
        }
    }
    let least = 1e-3 * documents / cells as f64;
    let mut weight: Vec<f64> = mass.iter().map(|mass| mass.max(least)).collect();
    let mut next: Vec<Vec<usize>> = (0..cells)
        .map(|cell| {
            let mut all: Vec<usize> = neighbours(cell, extents, space).collect();
            all.sort_unstable();
            all.dedup();
            all
        })
        .collect();
    let mut version = vec![0_u32; cells]; // raised by every merge; that of a part which is no more is the largest
    let cost = |roots: &[f32], weight: &[f64], [a, b]: [usize; 2]| {
        let of = |cell: usize| &roots[cell * features..(cell + 1) * features];
        let apart =
            of(a).iter().zip(of(b)).fold(0.0, |sum, (x, y)| sum + f64::from(x - y) * f64::from(x - y));
        weight[a] * weight[b] / (weight[a] + weight[b]) * apart
    };
    let mut heap = BinaryHeap::new();
    for (a, around) in next.iter().enumerate() {
        for &b in around.iter().filter(|&&b| a < b) {
            heap.push(Pair { cost: cost(&roots, &weight, [a, b]), parts: [a, b], versions: [0; 2] });
        }
    }
    let mut merges = Vec::with_capacity(cells);
    while let Some(Pair { parts: [a, b], versions, .. }) = heap.pop() {
        if [version[a], version[b]] != versions {
            continue; // one of them has changed since
        }
        merges.push([b, a]);
        let total = weight[a] + weight[b];
        let (share_a, share_b) = ((weight[a] / total) as f32, (weight[b] / total) as f32);
        for feature in 0..features {
            roots[a * features + feature] =
                share_a * roots[a * features + feature] + share_b * roots[b * features + feature];
        }
        weight[a] = total;
        (version[a], version[b]) = (version[a] + 1, u32::MAX);
        let gone = std::mem::take(&mut next[b]);
        let mut around = std::mem::take(&mut next[a]);
        around.extend(gone);
        around.sort_unstable();
        around.dedup();
        around.retain(|&other| other != a && other != b);
        for &other in &around {
            next[other].retain(|&part| part != a && part != b);
            next[other].push(a);
            let parts = [a.min(other), a.max(other)];
            let versions = parts.map(|part| version[part]);
            heap.push(Pair { cost: cost(&roots, &weight, parts), parts, versions });
        }
        next[a] = around;
    }
    merges
}

/// The parts that are left when there are so many, numbered by their first cells.
fn cut(merges: &[[usize; 2]], cells: usize, count: usize) -> Vec<u32> {
    let mut into: Vec<usize> = (0..cells).collect();
    for &[gone, kept] in merges.iter().take(cells.saturating_sub(count)) {
        into[gone] = kept;
    }
    let mut number = vec![None; cells];
    let mut found = 0;
    (0..cells)
        .map(|cell| {
            let mut root = cell;
            while into[root] != root {
                root = into[root];
            }
            *number[root].get_or_insert_with(|| {
                found += 1;
                found - 1
            })
        })
        .collect()
}

/// The cell of a region that is nearest to the others, by documents: where the sum of squared distances is least, around a torus
/// the shorter way. Of equals the first.
fn middle(of_cell: &[u32], region: u32, [rows, columns]: [usize; 2], space: Space, mass: &[f64]) -> u32 {
    let along = |a: usize, b: usize, extent: usize| {
        let apart = a.abs_diff(b);
        let apart = if space == Space::Torus { apart.min(extent - apart) } else { apart } as f64;
        apart * apart
    };
    // By rows and columns apart: the sum for a cell is that of its row and that of its column.
    let (mut in_row, mut in_column) = (vec![0.0; rows], vec![0.0; columns]);
    let own = || of_cell.iter().enumerate().filter(|&(_, &other)| other == region).map(|(cell, _)| cell);
    for cell in own() {
        let weight = mass[cell] + 1e-9;
        in_row[cell / columns] += weight;
        in_column[cell % columns] += weight;
    }
    let far = |at: usize, sums: &[f64]| -> f64 {
        sums.iter().enumerate().map(|(other, weight)| weight * along(at, other, sums.len())).sum()
    };
    let rows: Vec<f64> = (0..rows).map(|row| far(row, &in_row)).collect();
    let columns_far: Vec<f64> = (0..columns).map(|column| far(column, &in_column)).collect();
    let cost = |&cell: &usize| rows[cell / columns] + columns_far[cell % columns];
    own().min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(0) as u32
}

/// Whether two words are forms of one, as `car` and `cars` or `library` and `libraries`: they begin with the same three letters or
/// more, up to the last of the shorter one.
fn alike(a: &str, b: &str) -> bool {
    let common = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    common >= 3 && common + 1 >= a.chars().count().min(b.chars().count())
}

/// Names the regions of all levels, from the largest; within a level those with more documents first.
fn name(
    levels: &mut [RegionLevel],
    shares: &[f32],
    vocabulary: &[impl AsRef<str>],
    mass: &[f64],
    length: f64,
) {
    let features = vocabulary.len();
    let odds = LogOdds { features: features as f64 };
    let mut above: Option<(Vec<Vec<usize>>, Vec<f64>)> = None; // names of the level before as features, and its counts
    for level in levels {
        let count = level.regions.len();
        let (mut tokens, mut documents) = (vec![0.0; count * features], vec![0.0; count]); // [region][feature]
        for (cell, &region) in level.of_cell.iter().enumerate() {
            documents[region as usize] += mass[cell];
        }
        for (feature, plane) in shares.chunks_exact(mass.len()).enumerate() {
            for (cell, &share) in plane.iter().enumerate() {
                tokens[level.of_cell[cell] as usize * features + feature] +=
                    length * mass[cell] * f64::from(share);
            }
        }
        let mut whole = vec![0.0; features];
        tokens
            .chunks_exact(features)
            .for_each(|row| whole.iter_mut().zip(row).for_each(|(sum, x)| *sum += x));
        let all: f64 = whole.iter().sum();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&a, &b| documents[b].total_cmp(&documents[a]).then(a.cmp(&b)));
        let mut names: Vec<Vec<usize>> = vec![Vec::new(); count];
        for region in order {
            let own = &tokens[region * features..(region + 1) * features];
            let inside: f64 = own.iter().sum();
            let parent = level.regions[region].parent.map(|parent| parent as usize);
            let around = above.as_ref().zip(parent).map(|((names, tokens), parent)| {
                (&names[parent][..], &tokens[parent * features..(parent + 1) * features])
            });
            let parent_total: f64 = around.map_or(0.0, |(_, row)| row.iter().sum());
            let significance = |feature: usize| {
                let prior = features as f64 * whole[feature] / all; // without tokens NaN: no word is significant
                let here = [own[feature], inside];
                let on_map = odds.significance(here, [whole[feature], all], prior);
                match around {
                    Some((_, row)) if parent_total - inside > 0.5 * length => {
                        on_map.min(odds.significance(here, [row[feature], parent_total], prior))
                    }
                    _ => on_map,
                }
            };
            // Words of the names of the region above, and of those of its other regions.
            let taken = |feature: usize| {
                let beside = |other: &usize| level.regions[*other].parent.map(|p| p as usize) == parent;
                around.is_some_and(|(name, _)| name.contains(&feature))
                    || (0..count).filter(beside).any(|other| names[other].contains(&feature))
            };
            let is_word = |feature: usize| {
                let word = vocabulary[feature].as_ref();
                word.chars().filter(|c| c.is_alphabetic()).count() >= if word.is_ascii() { 3 } else { 1 }
            };
            let mut best: Vec<(f64, usize)> = (0..features)
                .filter(|&feature| is_word(feature) && own[feature] > 0.0)
                .map(|feature| (significance(feature), feature))
                .filter(|&(z, _)| z > 1.96)
                .collect();
            best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let least = best.first().map_or(0.0, |first| LEAST * first.0);
            let mut chosen: Vec<usize> = Vec::with_capacity(WORDS);
            for &(_, feature) in best.iter().filter(|&&(z, feature)| z >= least && !taken(feature)) {
                let word = vocabulary[feature].as_ref();
                if chosen.len() < WORDS
                    && !chosen.iter().any(|&other| alike(word, vocabulary[other].as_ref()))
                {
                    chosen.push(feature);
                }
            }
            names[region] = chosen;
        }
        for (region, name) in level.regions.iter_mut().zip(&names) {
            region.words = name.iter().map(|&feature| vocabulary[feature].as_ref().to_owned()).collect();
        }
        above = Some((names, tokens));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_pair_is_on_top_and_of_equals_the_first() {
        let pair = |cost, parts| Pair { cost, parts, versions: [0; 2] };
        let all = [pair(2.0, [0, 1]), pair(1.0, [3, 4]), pair(1.0, [2, 7]), pair(1.0, [2, 5])];
        assert!(all[1] == pair(1.0, [3, 4]) && all[1] != all[2] && all[0] != pair(1.0, [0, 1]));
        let mut heap = BinaryHeap::from(all);
        let order: Vec<[usize; 2]> = std::iter::from_fn(|| heap.pop()).map(|pair| pair.parts).collect();
        assert_eq!(order, [[2, 5], [2, 7], [3, 4], [0, 1]]);
    }
}
