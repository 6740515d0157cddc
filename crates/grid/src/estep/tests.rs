//! How chunks find their blocks, and in how much scratch.

extern crate std;
use std::{vec, vec::Vec};

use countgrid_counts::{BagsWithColumns, CsrBuf, Dense};
use countgrid_torus::{Torus, Windows};

use super::*;
use crate::{Grid, LogHistograms, Shape};

/// Each of 256 cells in a circle has a feature of its own, and windows are single cells.
#[test]
fn only_tiles_that_may_be_alive_are_scored() {
    let (cells, tiles) = (256, 16);
    let shape = Shape::new(Windows::new(Torus::new([cells]).unwrap(), [1]).unwrap(), cells).unwrap();
    let entry = |z: usize, k: usize| if z == k { 0.5f32 } else { 0.5 / (cells - 1) as f32 };
    let mut tables: Vec<f32> = (0..cells * cells).map(|i| entry(i / cells, i % cells)).collect();
    tables.extend(vec![1.0 / cells as f32; cells]);
    let grid = Grid::new(shape, tables).unwrap();
    let mut scratch = vec![0.0; shape.scratch_len::<f32>(cells)];
    let packed = vec![0.0; shape.histograms_len::<f32>()];
    let histograms = LogHistograms::pack(&grid, packed, &mut scratch).unwrap();
    let counts: Vec<u8> = (0..cells * cells).map(|i| 9 * u8::from(i / cells == i % cells)).collect();
    let bags = Dense::new(cells, &counts).unwrap();

    let tempering = Tempering::new(1.0, PosteriorThreshold::Rounding, cells);
    for prune in [true, false] {
        let mut sparsity = SparsityEstimate::SHARP;
        let source = histograms.source(&bags, 0);
        let chunk = Chunk::new(source, cells, tempering, prune, &mut sparsity, &mut scratch);
        assert!(chunk.bags == cells || !prune, "room for all");
        assert_eq!(chunk.blocks.len(), chunk.bags); // one tile each
        assert!(sparsity.is_sharp(tiles, 1) || !prune);
        assert_eq!(chunk.spare.is_empty(), !prune, "bounds are not asked for");
        for bag in 0..chunk.bags {
            let mut blocks = chunk.bag_blocks(bag);
            for tile in 0..tiles {
                assert_eq!(blocks.alive(tile).is_some(), tile == bag / 16);
            }
        }
    }

    let mut sparsity = SparsityEstimate::FLAT;
    let source = histograms.source(&bags, 0);
    let chunk = Chunk::new(source, cells, tempering, true, &mut sparsity, &mut scratch);
    assert_eq!(chunk.blocks.len(), tiles * chunk.bags); // all of them
    assert_eq!(chunk.bags, PROBE); // a sample
    assert_eq!(sparsity, SparsityEstimate(1.5)); // and has learned better: half as many again as are alive
    assert!(sparsity.is_sharp(tiles, 1));
    for bag in 0..chunk.bags {
        let mut blocks = chunk.bag_blocks(bag);
        for tile in 0..tiles {
            assert_eq!(blocks.alive(tile).is_some(), tile == bag / 16);
        }
    }
}

/// Bags that are alive in several tiles of 16, asked for in any order of tiles.
#[test]
fn the_blocks_of_a_bag_are_the_same_with_an_index_and_by_search() {
    let (cells, tiles, features) = (256, 16, 20);
    let shape = Shape::new(Windows::new(Torus::new([cells]).unwrap(), [1]).unwrap(), features).unwrap();
    let weight = |i: usize| (1 + (i % cells / 16 * 7 + i / cells * 11) % 13) as f32;
    let mut tables: Vec<f32> = (0..cells * features).map(weight).collect();
    for cell in 0..cells {
        let sum: f32 = tables.iter().skip(cell).step_by(cells).sum();
        tables.iter_mut().skip(cell).step_by(cells).for_each(|entry| *entry /= sum);
    }
    tables.extend(vec![1.0 / cells as f32; cells]);
    let grid = Grid::new(shape, tables).unwrap();
    let mut scratch = vec![0.0; shape.scratch_len::<f32>(64)];
    let packed = vec![0.0; shape.histograms_len::<f32>()];
    let histograms = LogHistograms::pack(&grid, packed, &mut scratch).unwrap();
    let counts: Vec<u8> = (0..60 * features).map(|i| ((i * i + i / features) % 17) as u8).collect();
    let bags = Dense::new(features, &counts).unwrap();

    let tempering = Tempering::new(1.0, PosteriorThreshold::Rounding, cells);
    let mut sparsity = SparsityEstimate::SHARP;
    let source = histograms.source(&bags, 0);
    let mut chunk = Chunk::new(source, 60, tempering, true, &mut sparsity, &mut scratch);
    let found = |chunk: &Chunk<'_, f32>| -> Vec<Vec<f32>> {
        let mut found = Vec::new();
        for bag in 0..chunk.bags {
            let mut blocks = chunk.bag_blocks(bag);
            // Up, down, and by sevens around.
            let order = (0..tiles).chain((0..tiles).rev()).chain((0..tiles).map(|tile| tile * 7 % tiles));
            found.extend(order.map(|tile| blocks.alive(tile).unwrap_or_default().to_vec()));
        }
        found
    };
    let searched = found(&chunk);
    let alive = searched.iter().filter(|block| !block.is_empty()).count();
    assert!(
        3 * 2 * chunk.bags < alive && alive < 3 * tiles / 2 * chunk.bags,
        "several each, not most: {alive}"
    );
    chunk.index_by_bag();
    for bag in 0..chunk.bags {
        let (of, blocks) = chunk.by_bag.as_ref().and_then(|by_bag| by_bag.of(bag)).unwrap();
        let pairs = of.iter().zip(blocks).map(|(&tile, &block)| (whole(tile), whole(block)));
        assert!(pairs.eq((0..tiles).filter_map(|tile| Some((tile, chunk.block(tile, bag)?)))));
    }
    assert!(found(&chunk) == searched);

    // Where every bag has a block in every tile.
    let mut scratch = vec![0.0; shape.scratch_len::<f32>(64)];
    let mut sparsity = SparsityEstimate::FLAT;
    let all = Chunk::new(source, 60, tempering, true, &mut sparsity, &mut scratch);
    assert!(all.starts.is_none() && all.bags > 1 && tiles > QUAD);
    assert!(found(&all) == searched[..all.bags * 3 * tiles]);
}

/// Scratch for one bag, an sparsity estimate on sharp posteriors, and a bag that is alive everywhere.
#[test]
fn a_flat_bag_has_room_where_sharp_ones_were_expected() {
    for cells in [64, 80, 160, 1600, 1031 * 16] {
        let shape = Shape::new(Windows::new(Torus::new([cells]).unwrap(), [1]).unwrap(), 2).unwrap();
        let grid = Grid::<f32, _, 1>::uniform(shape).unwrap();
        let mut scratch = vec![0.0; shape.scratch_len::<f32>(1)];
        let packed = vec![0.0; shape.histograms_len::<f32>()];
        let histograms = LogHistograms::pack(&grid, packed, &mut scratch).unwrap();
        let bags = Dense::new(2, &[1u8; 100]).unwrap();
        let tempering = Tempering::new(1.0, PosteriorThreshold::Rounding, cells);
        let chunks = if cells > 1600 { &[1][..] } else { &[1, 2, 3, 40] };
        for &chunk in chunks {
            let mut scratch = vec![0.0; shape.posterior_scratch_len::<f32>(chunk)];
            for prune in [true, false] {
                let (mut sparsity, source) = (SparsityEstimate::SHARP, histograms.source(&bags, 0));
                let chunk = Chunk::new(source, 50, tempering, prune, &mut sparsity, &mut scratch);
                assert_eq!(chunk.blocks.len(), chunk.bags * cells / 16);
            }
        }
    }
}

/// A circle of single cells whose distributions are all equal, over two features.
fn flat_circle(cells: usize) -> LogHistograms<f32, Vec<f32>, 1> {
    let shape = Shape::from_sides([cells], [1], 2).unwrap();
    let grid = Grid::<f32, _, 1>::uniform(shape).unwrap();
    let mut scratch = vec![0.0; shape.plane_scratch_len()];
    LogHistograms::pack(&grid, vec![0.0; shape.histograms_len::<f32>()], &mut scratch).unwrap()
}

#[test]
fn scratch_of_so_many_bags_serves_so_many_that_are_alive_everywhere() {
    for cells in [1, 16, 40, 48] {
        let (histograms, counts) = (flat_circle(cells), [1u8; 160]);
        let bags = Dense::new(2, &counts).unwrap();
        let tempering = Tempering::new(1.0, PosteriorThreshold::Rounding, cells);
        for most in [1, 2, 3, 40, 70] {
            let mut scratch = vec![0.0; histograms.shape().posterior_scratch_len::<f32>(most)];
            let mut sparsity = SparsityEstimate::FLAT;
            let source = histograms.source(&bags, 0);
            let chunk = Chunk::new(source, most, tempering, true, &mut sparsity, &mut scratch);
            assert_eq!((chunk.bags, chunk.blocks.len()), (most, most * cells.div_ceil(16)));
        }
    }
}

/// Where most bags are alive everywhere, a bag takes in each tile a row of scores with peak and moment, and best, mass and
/// moment of its own; and chunks are of one size.
#[test]
fn scratch_holds_as_many_bags_as_there_is_room_for() {
    let (histograms, counts) = (flat_circle(48), [1u8; 2000]);
    let bags = Dense::new(2, &counts).unwrap();
    let tempering = Tempering::new(1.0, PosteriorThreshold::Rounding, 48);
    let (padding, bag) = (2 * 16, 3 + 3 * (16 + 2));
    for (room, most, expected) in [
        (padding + 7 * bag, 1000, 7),
        (padding + 7 * bag - 1, 1000, 6),
        (padding + 9 * bag - 1, 1000, 8),
        (padding + 9 * bag, 10, 5), // twice five rather than nine and one
    ] {
        let mut scratch = vec![0.0; room];
        let (mut sparsity, source) = (SparsityEstimate::FLAT, histograms.source(&bags, 0));
        let chunk = Chunk::new(source, most, tempering, true, &mut sparsity, &mut scratch);
        assert_eq!((chunk.bags, chunk.blocks.len()), (expected, 3 * expected), "{room}");
    }
}

/// Two alignments; a start for each tile; and for each bag marks, top, best, mass and moment, the scores of its top, and
/// in each tile a row of scores with peak, moment and owner.
#[test]
fn scratch_is_the_sum_of_its_parts() {
    assert_eq!(scratch_len::<f32>(10, 3), 2 * 16 + 10 + 3 * (10 + 4 + 16 + 10 * (16 + 3)));
    assert_eq!(scratch_len::<f64>(10, 3), 2 * 8 + 10 + 3 * (10 + 4 + 8 + 10 * (8 + 3)));
}

#[test]
fn bags_fit_as_many_as_expected_and_always_one() {
    let padding = PADDING * f32::LANES;
    let fitting = |scratch, bag, blocks, tiles| Chunk::<f32>::fitting(padding + scratch, bag, blocks, tiles);
    assert_eq!(fitting(1000, 10, 40, 5), 20); // each with its blocks
    assert_eq!(fitting(1000, 10, 10, 48), 8); // what one that is alive in 48 tiles leaves is 88
    assert_eq!(fitting(100, 10, 40, 5), 1); // 5 are left
    assert_eq!(fitting(1 << 40, 1, 1, 1 << 23), 2); // blocks have numbers up to 2^24
}

#[test]
fn groups_hold_all_tiles() {
    assert_eq!(Groups::one(7).slots(), 7);
    #[cfg(feature = "rayon")]
    for (threads, tiles, count, slots) in [(1, 7, 1, 8), (2, 16, 2, 16), (3, 16, 3, 18), (7, 5, 3, 6)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let groups = pool.install(|| Groups::new(tiles));
        assert_eq!((groups.count, groups.slots()), (count, slots), "{threads} threads, {tiles} tiles");
    }
}

/// Without bounds, each of two groups of tiles has room for as many blocks as the other one needs.
#[cfg(feature = "rayon")]
#[test]
fn groups_have_equal_room() {
    let (cells, tiles) = (256, 16);
    let shape = Shape::from_sides([cells], [1], tiles).unwrap();
    let entry = |z: usize, cell: usize| if z == cell / 16 { 0.7f32 } else { 0.02 };
    let mut tables: Vec<f32> = (0..cells * tiles).map(|i| entry(i / cells, i % cells)).collect();
    tables.extend(vec![1.0 / cells as f32; cells]);
    let mut scratch = vec![0.0; shape.scratch_len::<f32>(300)];
    let packed = vec![0.0; shape.histograms_len::<f32>()];
    let histograms = LogHistograms::pack(&Grid::new(shape, tables).unwrap(), packed, &mut scratch).unwrap();
    // Bag by bag all tokens are of one tile's feature.
    let of: [usize; 20] = core::array::from_fn(|bag| bag * 3 % 11);
    let counts: Vec<u8> = (0..of.len() * tiles).map(|i| 50 * u8::from(of[i / tiles] == i % tiles)).collect();
    let bags = Dense::new(tiles, &counts).unwrap();
    // All tiles are equally bad until the bag's own, and worse than that.
    let passes = |group: usize, tile: usize| if tile / 8 == group { tile % 8 + 1 } else { 8 };
    let used = [0, 1].map(|group| of.iter().map(|&tile| passes(group, tile)).sum::<usize>());
    let tempering = Tempering::new(1.0, PosteriorThreshold::Rounding, cells);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let (mut sparsity, source) = (SparsityEstimate::SHARP, histograms.source(&bags, 0));
        let chunk = Chunk::new(source, of.len(), tempering, false, &mut sparsity, &mut scratch);
        assert_eq!((chunk.bags, chunk.blocks.len()), (of.len(), of.len()));
        assert_ne!(used[0], used[1]);
        assert_eq!(sparsity, SparsityEstimate((2 * used[0].max(used[1])) as f32 / of.len() as f32));
    });
}

#[test]
fn an_estimate_chooses_among_three_ways() {
    assert_eq!([8.0, 8.1].map(|blocks| SparsityEstimate(blocks).is_flat(16)), [false, true]); // more than half
    // 0.7 of 90 tiles are 63, and keeping account costs 3.
    assert_eq!(
        [59.9, 60.0, 60.1].map(|blocks| SparsityEstimate(blocks).is_sharp(100, 10)),
        [true, false, false]
    );
    // A quarter more, and never none.
    assert_eq!([0.0, 1.5, 8.0, 10.0].map(|blocks| SparsityEstimate(blocks).blocks()), [1, 2, 11, 13]);
}

/// Counts are added up feature by feature where bags have columns, are many, and are alive in more than a third of all
/// tiles.
#[test]
fn counts_go_by_feature_where_that_pays() {
    let (cells, tiles, features) = (64, 4, 4);
    let shape = Shape::from_sides([cells], [1], features).unwrap();
    // Of bags of one feature those of the first are alive in four tiles, those of the second in two, of the third in one.
    let row = |tile: usize| match tile {
        0 => [0.4f32, 0.25, 0.25, 0.1],
        1 => [0.4, 0.25, 0.01, 0.34],
        _ => [0.4, 0.01, 0.01, 0.58],
    };
    let mut tables: Vec<f32> = (0..cells * features).map(|i| row(i % cells / 16)[i / cells]).collect();
    tables.extend(vec![1.0 / cells as f32; cells]);
    let mut scratch = vec![0.0; shape.scratch_len::<f32>(200)];
    let packed = vec![0.0; shape.histograms_len::<f32>()];
    let histograms = LogHistograms::pack(&Grid::new(shape, tables).unwrap(), packed, &mut scratch).unwrap();
    let tempering = Tempering::new(1.0, PosteriorThreshold::Rounding, cells);
    let sums_len = shape.counts_len::<f32>();
    let mut counted = |feature: usize, count: usize, most: usize, columns: bool| {
        let mut bags = CsrBuf::<u32>::new(features).unwrap();
        (0..count).for_each(|bag| bags.push_bag([(feature, 100 + bag as u32 % 3)]).unwrap());
        let both = BagsWithColumns::new(bags.clone()).unwrap();
        let (mut sparsity, mut sums) = (SparsityEstimate(4.0), vec![0.0; sums_len]);
        let spans = if columns {
            let source = histograms.source(&both, 0);
            let chunk = Chunk::new(source, most, tempering, true, &mut sparsity, &mut scratch);
            assert_eq!((chunk.bags, chunk.blocks.len()), (most, tiles * most));
            let spans = chunk.spans.len();
            chunk.accumulate(source, &mut sums);
            spans
        } else {
            let source = histograms.source(&bags, 0);
            let chunk = Chunk::new(source, most, tempering, true, &mut sparsity, &mut scratch);
            let spans = chunk.spans.len();
            chunk.accumulate(source, &mut sums);
            spans
        };
        assert_eq!(sparsity, SparsityEstimate(1.5 * [4.0, 2.0, 1.0][feature]));
        (spans, sums)
    };
    for (feature, spans) in [(0, 2 * features), (1, 2 * features), (2, 0)] {
        let by_feature = counted(feature, 65, 65, true);
        assert_eq!(by_feature.0, spans, "{feature}: where few are alive, by bag");
        assert_eq!(by_feature, (spans, counted(feature, 65, 65, false).1), "the same bits");
    }
    assert_eq!(counted(0, 65, 64, true).0, 0, "few bags");
    assert_eq!(counted(0, 65, 65, false).0, 0, "no columns");
}

/// The index needs room that marks no longer take: of a single bag that is alive everywhere they leave too little.
#[test]
fn without_room_for_an_index_blocks_are_searched_for() {
    let histograms = flat_circle(160);
    let counts = [1u8; 2];
    let bags = Dense::new(2, &counts).unwrap();
    let tempering = Tempering::new(1.0, PosteriorThreshold::Rounding, 160);
    let mut scratch = vec![0.0; histograms.shape().posterior_scratch_len::<f32>(1)];
    let (mut sparsity, source) = (SparsityEstimate::SHARP, histograms.source(&bags, 0));
    let mut chunk = Chunk::new(source, 1, tempering, true, &mut sparsity, &mut scratch);
    assert_eq!((chunk.blocks.len(), chunk.spare.len()), (10, 10));
    chunk.index_by_bag();
    assert!(chunk.by_bag.is_none());
    let mut blocks = chunk.bag_blocks(0);
    assert!((0..10).all(|tile| blocks.alive(tile).is_some()));
}

/// A score counts if it is within the threshold of the best one after both were multiplied by `β`.
#[test]
fn a_threshold_is_of_tempered_scores() {
    let tempering = Tempering::new(0.5f64, PosteriorThreshold::Nats(2.0), 1);
    assert_eq!([-3.5, -4.0, -4.5].map(|score| tempering.is_alive(score, 0.0)), [true, true, false]);
    assert_eq!([6.0, 5.5].map(|score| tempering.is_alive(score, 10.0)), [true, false]);
    let off = Tempering::new(1.0f64, PosteriorThreshold::Off, 1);
    assert!(off.is_alive(-1e300, 0.0) && !off.is_alive(f64::NEG_INFINITY, 0.0), "padding never counts");
    let rounding = Tempering::new(1.0f64, PosteriorThreshold::Rounding, 8);
    assert_eq!(rounding.threshold(), ln(8.0) - ln(f64::UNIT_ROUNDOFF));
}

#[test]
fn blocks_begin_with_a_cache_line() {
    let mut scratch = vec![0.0f32; 64];
    for offset in 0..16 {
        let all = &mut scratch[offset..];
        let (length, mut rest) = (all.len(), all);
        align(&mut rest);
        assert_eq!(rest.as_ptr().align_offset(64), 0);
        assert!(length - rest.len() < 16, "no more than a line is left out");
    }
}
