//! Files of blocks: what is written comes back, and nothing else does.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use countgrid_counts::{Bags, CsrBuf};
use countgrid_io::{BLOCK_BAGS, BLOCK_ENTRIES, BlockFile, BlockProblem, BlockWriter, Scalar};
use proptest::prelude::*;

const FEATURES: u64 = 50;

fn none<C: Scalar>() -> CsrBuf<C> {
    CsrBuf::new(FEATURES as usize).unwrap()
}

fn block<C: Scalar>(bags: Vec<Vec<(u32, C)>>) -> CsrBuf<C> {
    let mut block = none();
    for bag in bags {
        block.push_bag(bag.into_iter().map(|(feature, count)| (feature as usize, count))).unwrap();
    }
    block
}

/// A file that is still there once the writer is gone.
fn write<C: Scalar>(blocks: &[CsrBuf<C>]) -> (tempfile::NamedTempFile, BlockFile<C>) {
    let named = tempfile::NamedTempFile::new().unwrap();
    let mut writer = BlockWriter::new(named.reopen().unwrap(), Path::new("counts"), FEATURES).unwrap();
    blocks.iter().for_each(|block| writer.write(block).unwrap());
    let file = writer.finish().unwrap();
    (named, file)
}

fn reopen<C: Scalar>(bytes: &[u8]) -> Result<BlockFile<C>, countgrid_io::BlockError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    BlockFile::open(file, Path::new("counts"))
}

fn bags<C: Scalar + std::fmt::Debug>(
    count: impl Strategy<Value = C> + Clone + 'static,
) -> impl Strategy<Value = Vec<CsrBuf<C>>> {
    let bag = prop::collection::btree_set(0..FEATURES as u32, 0..8).prop_flat_map(move |features| {
        let counts = prop::collection::vec(count.clone(), features.len());
        counts.prop_map(move |counts| features.iter().copied().zip(counts).collect::<Vec<_>>())
    });
    let blocks = prop::collection::vec(prop::collection::vec(bag, 0..6), 0..5);
    blocks.prop_map(|blocks| blocks.into_iter().map(block).collect())
}

fn comes_back<C: Scalar + PartialEq + std::fmt::Debug>(blocks: &[CsrBuf<C>]) {
    let (named, mut first) = write(blocks);
    let mut again = BlockFile::<C>::open(named.reopen().unwrap(), named.path()).unwrap();
    assert_eq!((first.len(), again.len(), again.features()), (blocks.len(), blocks.len(), FEATURES));
    assert_eq!((first.bytes(), again.bytes()), (named.as_file().metadata().unwrap().len(), first.bytes()));
    let mut found = none();
    for file in [&mut first, &mut again] {
        for (index, expected) in blocks.iter().enumerate().rev() {
            file.read(index, &mut found).unwrap();
            assert_eq!(&found, expected);
        }
        let error = file.read(blocks.len(), &mut found).unwrap_err();
        assert!(matches!(error.problem(), BlockProblem::NoSuchBlock { .. }), "{error}");
        assert_eq!(found, none());
    }
}

proptest! {
    #[test]
    fn blocks_of_integers_come_back(blocks in bags(1u32..)) {
        comes_back(&blocks);
    }
    #[test]
    fn blocks_of_single_floats_come_back(blocks in bags(1e-30f32..1e30)) {
        comes_back(&blocks);
    }
    #[test]
    fn blocks_of_double_floats_come_back(blocks in bags(1e-300f64..1e300)) {
        comes_back(&blocks);
    }

    #[test]
    fn blocks_of_whole_numbers_as_floats_come_back(blocks in bags((0u32..=64, any::<u64>()).prop_map(|(length, bits)| {
        bits.checked_shr(64 - length).unwrap_or(0).max(1) as f64
    }))) {
        comes_back(&blocks);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), valid in any::<bool>()) {
        let mut all = std::fs::read(write::<f32>(&[]).0.path()).unwrap();
        if !valid {
            all.clear();
        }
        all.extend_from_slice(&bytes);
        if let Ok(mut file) = reopen::<f32>(&all) {
            let mut block = none();
            for index in 0..file.len() {
                let _refused = file.read(index, &mut block);
            }
        }
    }
}

/// Three blocks of equally many bytes.
fn three() -> Vec<CsrBuf<f32>> {
    three_with(1.5)
}

/// They have this count, so that counts are written as whole numbers or as what they are.
fn three_with(some: f32) -> Vec<CsrBuf<f32>> {
    let one = |count| block(vec![vec![(3, count), (7, 2.0)], vec![], vec![(49, some)]]);
    vec![one(4.0), one(2.0), one(3.0)]
}

#[test]
fn a_file_cut_short_anywhere_is_refused_with_the_block() {
    [1.5, 5.0].map(three_with).iter().for_each(|blocks| cut_short(blocks));
}

fn cut_short(blocks: &[CsrBuf<f32>]) {
    let bytes = std::fs::read(write(blocks).0.path()).unwrap();
    let size = (bytes.len() - 24) / 3;
    for length in 0..bytes.len() {
        // Cut before it is opened.
        match reopen::<f32>(&bytes[..length]) {
            Ok(file) => assert_eq!(24 + file.len() * size, length, "whole blocks are a file"),
            Err(error) => {
                let expected = (length >= 24).then(|| (length - 24) / size);
                assert_eq!(error.block(), expected, "{length}: {error}");
                let named = expected.map_or(String::new(), |block| format!(", block {block}"));
                let text = error.to_string();
                assert!(text.contains(&format!("{named}: ")) && text.contains("remedy: "), "{text}");
            }
        }
        // Cut while it is open.
        let (named, mut file) = write(blocks);
        named.as_file().set_len(length as u64).unwrap();
        let mut found = none();
        for (index, block) in blocks.iter().enumerate() {
            match file.read(index, &mut found) {
                Ok(()) => assert!(length >= 24 + (index + 1) * size && &found == block),
                Err(error) => {
                    assert!(length < 24 + (index + 1) * size, "{error}");
                    assert!(matches!(error.problem(), BlockProblem::Truncated), "{error}");
                    assert_eq!((error.block(), &found), (Some(index), &none()));
                }
            }
        }
    }
}

#[test]
fn a_change_of_any_bit_is_noticed() {
    [1.5, 5.0].map(three_with).iter().for_each(|blocks| change(blocks));
}

fn change(blocks: &[CsrBuf<f32>]) {
    let bytes = std::fs::read(write(blocks).0.path()).unwrap();
    let size = (bytes.len() - 24) / 3;
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let mut file = match reopen::<f32>(&changed) {
            Ok(file) => file,
            Err(error) => {
                // The header, or lengths that do not fit into the file: then this block, or what seems to follow.
                let changed = (bit / 8).checked_sub(24).map(|byte| byte / size);
                assert!(error.block() >= changed && error.block().is_some() == changed.is_some(), "{error}");
                continue;
            }
        };
        let mut found = none();
        let failed: Vec<usize> = (0..3).filter(|&index| file.read(index, &mut found).is_err()).collect();
        if bit / 8 < 24 {
            // The number of features: fewer than an entry needs, or more, which does no harm.
            assert!(file.features() != FEATURES && (failed.is_empty() || failed == [0, 1, 2]), "{bit}");
        } else {
            assert!(failed.contains(&((bit / 8 - 24) / size)), "{bit}: {failed:?}");
        }
    }
}

#[test]
fn what_a_header_claims_is_not_allocated() {
    let bytes = std::fs::read(write::<f32>(&[]).0.path()).unwrap();
    let numbers = [0, 1, 2, 1 << 17, (1 << 17) + 1, 1 << 20, 1 << 40, u64::MAX / 8, u64::MAX];
    for bags in numbers {
        for entries in numbers {
            for size in [numbers.as_slice(), &[bags.saturating_add(entries)]].concat() {
                let mut lying = bytes.clone();
                let header = [bags, entries, size, 0];
                header.iter().for_each(|number| lying.extend_from_slice(&number.to_le_bytes()));
                lying.push(0);
                match reopen::<f32>(&lying) {
                    Err(error) => {
                        assert_eq!(error.block(), Some(0));
                        let named =
                            matches!(error.problem(), BlockProblem::Truncated | BlockProblem::Size { .. });
                        assert!(named, "{error}");
                    }
                    Ok(mut file) => {
                        assert_eq!((bags, entries, size), (0, 0, 1));
                        assert!(file.read(0, &mut none()).is_err(), "the checksum is wrong");
                    }
                }
            }
        }
    }
}

#[test]
fn a_block_that_is_too_large_is_not_written() {
    let mut writer = BlockWriter::<f32>::temporary(FEATURES).unwrap();
    let one = block(vec![vec![(1, 1.0)]]);
    writer.write(&one).unwrap();
    let mut many = none();
    (0..=BLOCK_BAGS).for_each(|_| many.push_bag([]).unwrap());
    let error = writer.write(&many).unwrap_err();
    assert!(matches!(error.problem(), BlockProblem::Size { .. }) && error.block() == Some(1), "{error}");
    let long = |bags: usize| {
        let mut long = CsrBuf::new(BLOCK_ENTRIES + 1).unwrap();
        (1..bags).for_each(|_| long.push_bag([(0, 1.0)]).unwrap());
        long.push_bag((0..=BLOCK_ENTRIES).map(|feature| (feature, 1.0))).unwrap();
        long
    };
    assert!(writer.write(&long(2)).is_err());
    // What was refused has left no trace, and a single bag may be as long as it is.
    let mut wide = BlockWriter::<f32>::temporary(BLOCK_ENTRIES as u64 + 1).unwrap();
    wide.write(&long(1)).unwrap();
    let (mut wide, mut file, mut found) = (wide.finish().unwrap(), writer.finish().unwrap(), none());
    wide.read(0, &mut found).unwrap();
    assert!(found == long(1) && file.len() == 1);
    file.read(0, &mut found).unwrap();
    assert_eq!((found.features(), &found), (FEATURES as usize, &one));
}

#[test]
fn another_scalar_is_refused() {
    let (named, _) = write(&three());
    let open = || File::open(named.path()).unwrap();
    assert!(BlockFile::<f32>::open(open(), named.path()).is_ok());
    let error = BlockFile::<f64>::open(open(), named.path()).unwrap_err();
    assert!(matches!(error.problem(), BlockProblem::Header) && error.block().is_none(), "{error}");
    assert!(BlockFile::<u32>::open(open(), named.path()).is_err());
}

#[test]
fn a_file_without_blocks_is_empty() {
    let file = write::<f32>(&[]).1;
    assert!(file.is_empty());
    assert_eq!((file.len(), file.bytes()), (0, 24));
    let file = write(&three()).1;
    assert!(!file.is_empty() && file.len() == 3);
}

/// A disk that takes no more is told with the block that was not written.
#[test]
fn what_is_not_written_is_told_with_its_block() {
    let named = tempfile::NamedTempFile::new().unwrap();
    let read_only = || File::open(named.path()).unwrap();
    let writer = BlockWriter::<f32>::new(read_only(), Path::new("counts"), FEATURES).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(matches!(error.problem(), BlockProblem::Io(_)) && error.block() == Some(0), "{error}");
    let mut writer = BlockWriter::new(read_only(), Path::new("counts"), FEATURES).unwrap();
    three().iter().for_each(|block| writer.write(block).unwrap()); // so little is kept until the end
    let error = writer.finish().unwrap_err();
    assert!(matches!(error.problem(), BlockProblem::Io(_)) && error.block() == Some(3), "{error}");
}

#[test]
fn features_are_numbers_of_32_bits() {
    let bytes = std::fs::read(write::<f32>(&[]).0.path()).unwrap();
    let with = |features: u64| [&bytes[..16], &features.to_le_bytes()].concat();
    assert_eq!(reopen::<f32>(&with(1 << 32)).unwrap().features(), 1 << 32);
    for features in [(1 << 32) + 1, u64::MAX] {
        let error = reopen::<f32>(&with(features)).unwrap_err();
        assert!(matches!(error.problem(), BlockProblem::Header) && error.block().is_none(), "{error}");
    }
}

#[test]
fn a_file_that_ends_inside_a_block_is_cut() {
    let bytes = std::fs::read(write(&three()).0.path()).unwrap();
    let size = (bytes.len() - 24) / 3;
    for length in (25..bytes.len()).filter(|length| (length - 24) % size != 0) {
        let error = reopen::<f32>(&bytes[..length]).unwrap_err();
        assert!(matches!(error.problem(), BlockProblem::Truncated), "{length}: {error}");
    }
    // A single bag may have as many entries as there are features, which are more than there are bytes; none has more.
    for (entries, is_size) in [(u64::from(u32::MAX), false), (1 << 32, true)] {
        let mut lying = bytes[..24].to_vec();
        let header = [1, entries, entries + 2, 0];
        header.iter().for_each(|number: &u64| lying.extend_from_slice(&number.to_le_bytes()));
        let error = reopen::<f32>(&lying).unwrap_err();
        assert_eq!(matches!(error.problem(), BlockProblem::Size { .. }), is_size, "{error}");
        assert_eq!(matches!(error.problem(), BlockProblem::Truncated), !is_size, "{error}");
    }
}
