use std::fmt::Debug;
use std::io::Write;
use std::path::Path;

use countgrid_counts::CsrBuf;

use super::FILE;
use crate::block_code::{decode, encode, least};
use crate::{BlockFile, BlockWriter, Scalar};

const FEATURES: usize = 1 << 32;

/// Any bytes as the bags of a block, and as a whole file of blocks; the first three say which scalars, how many bags and how many
/// entries.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn blocks(data: &[u8]) -> bool {
    let Some((&[scalar, bags, entries], bytes)) = data.split_first_chunk() else { return false };
    let numbers = [bags, entries].map(usize::from);
    match scalar % 3 {
        0 => block::<u32>(bytes, numbers),
        1 => block::<f32>(bytes, numbers),
        _ => block::<f64>(bytes, numbers),
    }
}

fn block<C: Scalar + PartialEq + Debug>(bytes: &[u8], [bags, entries]: [usize; 2]) -> bool {
    file::<C>(bytes);
    let (mut offsets, mut features, mut counts) = (vec![0], Vec::new(), Vec::<C>::new());
    if decode(bytes, [bags, entries], &mut offsets, &mut features, &mut counts).is_none() {
        return false;
    }
    assert_eq!([offsets.len(), features.len(), counts.len()], [bags + 1, entries, entries]);
    assert!(bytes.len() as u64 >= least(bags as u64, entries as u64), "memory is bounded by the file");
    let Ok(block) = CsrBuf::from_parts(FEATURES, offsets, features, counts) else { return false };
    let mut again = Vec::new();
    encode(&block, &mut again);
    let (mut offsets, mut features, mut counts) = (vec![0], Vec::new(), Vec::new());
    let read = decode(&again, [bags, entries], &mut offsets, &mut features, &mut counts);
    assert!(read.is_some() && again[0] <= bytes[0], "whole numbers are told");
    assert!(CsrBuf::from_parts(FEATURES, offsets, features, counts).is_ok_and(|found| found == block));
    let written = BlockWriter::temporary(FEATURES as u64).and_then(|mut writer| {
        writer.write(&block)?;
        writer.finish()
    });
    let (Ok(mut written), Ok(mut found)) = (written, CsrBuf::new(1)) else { panic!("a temporary file") };
    assert!(written.read(0, &mut found).is_ok() && found == block);
    true
}

/// Blocks of a file that says of itself what it likes.
fn file<C: Scalar>(bytes: &[u8]) {
    let (Ok(mut file), Ok(mut block)) = (tempfile::tempfile(), CsrBuf::<C>::new(1)) else { return };
    if file.write_all(bytes).is_err() {
        return;
    }
    match BlockFile::<C>::open(file, Path::new(FILE)) {
        Ok(mut file) => {
            assert!(file.bytes() == bytes.len() as u64 && file.len() < bytes.len());
            for index in 0..file.len() {
                let error = file.read(index, &mut block).err();
                assert!(error.is_none_or(|error| error.block() == Some(index)));
            }
        }
        Err(error) => assert!(error.to_string().contains("\nremedy: ")),
    }
}
