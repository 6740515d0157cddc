//! Bags too many for the memory, in a file of blocks.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use countgrid_counts::{Count, CsrBuf};

use crate::block_error::{BlockError, BlockProblem};

/// Entries of a block at most, unless a single bag has more: 8 MiB as `f32`, 12 MiB as `f64`, features included.
pub const BLOCK_ENTRIES: usize = 1 << 20;
/// Bags of a block at most.
pub const BLOCK_BAGS: usize = 1 << 17;

const MAGIC: [u8; 8] = *b"cgblocks";
const HEADER: u64 = 24; // magic, version, scalar, features
const BLOCK_HEADER: u64 = 24; // bags, entries, checksum
/// Bytes that are converted together. A multiple of eight.
const PIECE: usize = 1 << 16;

mod sealed {
    pub trait Sealed {}
}

/// A count as a block file stores it: `u32`, `f32` or `f64`, little-endian.
///
/// Example: [`BlockWriter`](crate::BlockWriter).
pub trait Scalar: sealed::Sealed + Count {
    /// What the file's header calls it.
    #[doc(hidden)]
    const TAG: u32;
    #[doc(hidden)]
    const BYTES: usize;
    #[doc(hidden)]
    fn put(self, bytes: &mut Vec<u8>);
    #[doc(hidden)]
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! scalar {
    ($($t:ident $tag:literal)*) => {$(
        impl sealed::Sealed for $t {}
        impl Scalar for $t {
            const TAG: u32 = $tag;
            const BYTES: usize = size_of::<$t>();
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                bytes.try_into().map_or($t::default(), $t::from_le_bytes)
            }
        }
    )*};
}
scalar!(u32 1 f32 2 f64 3);

/// Writes blocks one after the other; [`BlockWriter::finish`] makes a [`BlockFile`] of them.
///
/// | bytes | what, little-endian |
/// |---|---|
/// | 24 | the text `cgblocks`, version 1 (`u32`), scalar (`u32`: 1 `u32`, 2 `f32`, 3 `f64`), features (`u64`) |
/// | 24 a block | bags (`u64`), entries (`u64`), checksum of both and of what follows (`u64`) |
/// | | entries of each bag (`u32`), feature of each entry (`u32`), count of each entry (the scalar) |
///
/// ```
/// use countgrid_counts::{Bags, CsrBuf};
/// use countgrid_io::BlockWriter;
/// let mut writer = BlockWriter::temporary(5)?;
/// writer.write(&CsrBuf::from_parts(5, vec![0, 2, 2], vec![0, 4], vec![1.0_f32, 2.5])?)?; // the second bag is empty
/// writer.write(&CsrBuf::from_parts(5, vec![0, 1], vec![3], vec![7.0])?)?;
/// let mut file = writer.finish()?;
/// let mut block = CsrBuf::new(5)?;
/// file.read(1, &mut block)?;
/// assert!(file.len() == 2 && block.entries(0).eq([(3, 7.0)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BlockWriter<C> {
    path: PathBuf,
    file: BufWriter<File>,
    features: u64,
    starts: Vec<u64>, // of the blocks, and the end
    bytes: Vec<u8>,
    scalar: PhantomData<C>,
}

impl<C: Scalar> BlockWriter<C> {
    /// A file without a name in the system's folder for temporary files (`TMPDIR`); it is gone with the writer
    /// and the [`BlockFile`] made from it, however the program ends.
    ///
    /// # Errors
    /// The folder takes no file.
    #[cfg(feature = "files")]
    pub fn temporary(features: u64) -> Result<Self, BlockError> {
        let folder = std::env::temp_dir();
        match tempfile::tempfile_in(&folder) {
            Ok(file) => Self::new(file, &folder, features),
            Err(error) => Err(BlockError::new(&folder, None, BlockProblem::Io(error))),
        }
    }

    /// Blocks in a file that is empty and open for reading and writing; `path` is its name in messages.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: File, path: &Path, features: u64) -> Result<Self, BlockError> {
        let file = BufWriter::with_capacity(PIECE, file);
        let (path, starts) = (path.to_path_buf(), vec![HEADER]);
        let mut writer = Self { path, file, features, starts, bytes: Vec::new(), scalar: PhantomData };
        let mut header = MAGIC.to_vec();
        1u32.put(&mut header);
        C::TAG.put(&mut header);
        header.extend_from_slice(&features.to_le_bytes());
        let written = writer.file.write_all(&header);
        written.map_err(|error| writer.error(error))?;
        Ok(writer)
    }

    /// Adds a block.
    ///
    /// # Errors
    /// The disk is full or fails; more than [`BLOCK_BAGS`] bags, or more than [`BLOCK_ENTRIES`] entries in several bags.
    pub fn write(&mut self, bags: &CsrBuf<C>) -> Result<(), BlockError> {
        self.write_tables(bags.offsets(), bags.indices(), bags.counts())
    }

    /// Adds a block: `offsets` `[bag + 1]` from 0, never falling; `features` and `counts` `[entry]`.
    fn write_tables(&mut self, offsets: &[usize], features: &[u32], counts: &[C]) -> Result<(), BlockError> {
        let lengths = offsets.windows(2).map(|ends| ends[1].checked_sub(ends[0]));
        let lengths = lengths.map(|length| length.and_then(|length| u32::try_from(length).ok()));
        let lengths = lengths.collect::<Option<Vec<u32>>>();
        let ends = (offsets.first(), offsets.last().copied());
        let (bags, entries) = (offsets.len().saturating_sub(1), features.len());
        let sound = ends == (Some(&0), Some(entries)) && counts.len() == entries && is_small(bags, entries);
        let block = self.starts.len() - 1;
        let Some(lengths) = lengths.filter(|_| sound) else {
            let problem = BlockProblem::Size { bags: bags as u64, entries: entries as u64 };
            return Err(BlockError::new(&self.path, Some(block), problem));
        };
        let mut sum = Checksum::new(bags as u64, entries as u64);
        each_piece(&lengths, &mut self.bytes, |bytes| sum.add(bytes));
        each_piece(features, &mut self.bytes, |bytes| sum.add(bytes));
        each_piece(counts, &mut self.bytes, |bytes| sum.add(bytes));
        let mut written = Ok(());
        let mut put = |bytes: &[u8]| {
            if written.is_ok() {
                written = self.file.write_all(bytes);
            }
        };
        [bags as u64, entries as u64, sum.0].iter().for_each(|number| put(&number.to_le_bytes()));
        each_piece(&lengths, &mut self.bytes, &mut put);
        each_piece(features, &mut self.bytes, &mut put);
        each_piece(counts, &mut self.bytes, &mut put);
        written.map_err(|error| self.error(error))?;
        let start = self.starts.last().copied().unwrap_or(HEADER);
        self.starts.push(start + size::<C>(bags as u64, entries as u64));
        Ok(())
    }

    /// No more blocks: from here on they are read.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn finish(mut self) -> Result<BlockFile<C>, BlockError> {
        let flushed = self.file.flush();
        flushed.map_err(|error| self.error(error))?;
        let (file, _) = self.file.into_parts();
        let Self { path, features, starts, bytes, .. } = self;
        Ok(BlockFile { path, file, features, starts, bytes, scalar: PhantomData })
    }

    fn error(&self, error: io::Error) -> BlockError {
        BlockError::new(&self.path, Some(self.starts.len() - 1), BlockProblem::Io(error))
    }
}

/// Blocks of bags in a file, each to be read whenever it is needed.
///
/// What the file says of its lengths is compared with how long it is before anything is allocated; what a block
/// holds is compared with its checksum.
#[derive(Debug)]
pub struct BlockFile<C> {
    path: PathBuf,
    file: File,
    features: u64,
    starts: Vec<u64>, // of the blocks, and the end
    bytes: Vec<u8>,
    scalar: PhantomData<C>,
}

impl<C: Scalar> BlockFile<C> {
    /// A file that a [`BlockWriter`] has written; `path` is its name in messages. Reads no more than where the
    /// blocks start.
    ///
    /// # Errors
    /// The file cannot be read, has no blocks of this scalar, or ends inside a block.
    pub fn open(mut file: File, path: &Path) -> Result<Self, BlockError> {
        let refuse = |block, problem| BlockError::new(path, block, problem);
        let failed = |block| move |error| refuse(block, BlockProblem::Io(error));
        let length = file.metadata().map_err(failed(None))?.len();
        if length < HEADER {
            return Err(refuse(None, BlockProblem::Header));
        }
        let mut header = [0; HEADER as usize];
        file.rewind().and_then(|()| file.read_exact(&mut header)).map_err(failed(None))?;
        if header[..8] != MAGIC || u32::get(&header[8..12]) != 1 || u32::get(&header[12..16]) != C::TAG {
            return Err(refuse(None, BlockProblem::Header));
        }
        let features = number(&header[16..24]);
        if features > 1 << 32 {
            return Err(refuse(None, BlockProblem::Header));
        }
        let mut starts = vec![HEADER];
        let mut start = HEADER;
        while start < length {
            let block = Some(starts.len() - 1);
            let mut header = [0; BLOCK_HEADER as usize];
            if length - start < BLOCK_HEADER {
                return Err(refuse(block, BlockProblem::Truncated));
            }
            let read = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut header));
            read.map_err(failed(block))?;
            let (bags, entries) = (number(&header[..8]), number(&header[8..16]));
            start = end::<C>(start, length, bags, entries).map_err(|problem| refuse(block, problem))?;
            starts.push(start);
        }
        Ok(Self { path: path.to_path_buf(), file, features, starts, bytes: Vec::new(), scalar: PhantomData })
    }

    /// Number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
    /// Whether there is no block at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Number of features, above every feature of an entry.
    #[must_use]
    pub fn features(&self) -> u64 {
        self.features
    }
    /// Bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Reads a block into `block`, whose memory is used again; what it held, over whatever features, is gone.
    ///
    /// # Errors
    /// There is no such block; the file cannot be read or has become shorter; the block is damaged. `block` then
    /// holds no bag.
    pub fn read(&mut self, index: usize, block: &mut CsrBuf<C>) -> Result<(), BlockError> {
        let refuse = |problem| BlockError::new(&self.path, Some(index), problem);
        let features = usize::try_from(self.features).map_err(|_| refuse(BlockProblem::Header))?;
        let none = CsrBuf::new(features).map_err(|_| refuse(BlockProblem::Header))?;
        let (_, offsets, indices, counts) = std::mem::replace(block, none).into_parts();
        let read = self.read_block(index, features, (offsets, indices, counts));
        *block = read.map_err(|problem| BlockError::new(&self.path, Some(index), problem))?;
        Ok(())
    }

    fn read_block(
        &mut self,
        index: usize,
        features: usize,
        (mut offsets, mut indices, mut counts): (Vec<usize>, Vec<u32>, Vec<C>),
    ) -> Result<CsrBuf<C>, BlockProblem> {
        offsets.clear();
        indices.clear();
        counts.clear();
        let ends = (self.starts.get(index).copied(), self.starts.get(index.saturating_add(1)).copied());
        let (Some(start), Some(expected)) = ends else {
            return Err(BlockProblem::NoSuchBlock { blocks: self.len() });
        };
        let length = self.file.metadata()?.len();
        if length < expected {
            return Err(BlockProblem::Truncated);
        }
        self.file.seek(SeekFrom::Start(start))?;
        let mut header = [0; BLOCK_HEADER as usize];
        self.file.read_exact(&mut header)?;
        let (bags, entries) = (number(&header[..8]), number(&header[8..16]));
        if end::<C>(start, length, bags, entries)? != expected {
            return Err(BlockProblem::Damaged);
        }
        let mut sum = Checksum::new(bags, entries);
        let (bags, entries) = (bags as usize, entries as usize); // the file is as long as that
        let memory = |_| BlockProblem::Size { bags: bags as u64, entries: entries as u64 };
        offsets.try_reserve_exact(bags + 1).map_err(memory)?;
        indices.try_reserve_exact(entries).map_err(memory)?;
        counts.try_reserve_exact(entries).map_err(memory)?;
        let mut at = 0usize;
        offsets.push(0);
        pieces::<u32>(&mut self.file, bags, &mut self.bytes, &mut sum, |length| {
            at = at.saturating_add(length as usize);
            offsets.push(at);
        })?;
        pieces(&mut self.file, entries, &mut self.bytes, &mut sum, |feature| indices.push(feature))?;
        pieces(&mut self.file, entries, &mut self.bytes, &mut sum, |count| counts.push(count))?;
        if sum.0 != number(&header[16..]) {
            return Err(BlockProblem::Damaged);
        }
        CsrBuf::from_parts(features, offsets, indices, counts).map_err(|_| BlockProblem::Damaged)
    }
}

fn is_small(bags: usize, entries: usize) -> bool {
    bags <= BLOCK_BAGS && (entries <= BLOCK_ENTRIES || bags == 1)
}

/// Bytes of a block.
fn size<C: Scalar>(bags: u64, entries: u64) -> u64 {
    BLOCK_HEADER + 4 * bags + (4 + C::BYTES as u64) * entries
}

/// Where a block ends that starts at `start`, if that is inside the file.
fn end<C: Scalar>(start: u64, length: u64, bags: u64, entries: u64) -> Result<u64, BlockProblem> {
    let small = |(bags, entries)| is_small(bags, entries);
    let sizes = usize::try_from(bags).ok().zip(usize::try_from(entries).ok());
    if !sizes.is_some_and(small) || entries > u64::from(u32::MAX) {
        return Err(BlockProblem::Size { bags, entries });
    }
    match start.checked_add(size::<C>(bags, entries)) {
        Some(end) if end <= length => Ok(end),
        _ => Err(BlockProblem::Truncated),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Calls `put` with the bytes of a table, a piece at a time.
fn each_piece<C: Scalar>(table: &[C], bytes: &mut Vec<u8>, mut put: impl FnMut(&[u8])) {
    for piece in table.chunks(PIECE / C::BYTES) {
        bytes.clear();
        piece.iter().for_each(|element| element.put(bytes));
        put(bytes);
    }
}

/// Reads a table of so many elements, a piece at a time.
fn pieces<C: Scalar>(
    file: &mut File,
    elements: usize,
    bytes: &mut Vec<u8>,
    sum: &mut Checksum,
    mut push: impl FnMut(C),
) -> Result<(), BlockProblem> {
    let mut left = elements;
    while left > 0 {
        let some = left.min(PIECE / C::BYTES);
        bytes.resize(some * C::BYTES, 0);
        file.read_exact(bytes)?;
        sum.add(bytes);
        bytes.chunks_exact(C::BYTES).for_each(|element| push(C::get(element)));
        left -= some;
    }
    Ok(())
}

/// Eight bytes at a time, each step one-to-one in the bytes and in what came before: no change of eight bytes or
/// fewer in one place goes unnoticed, and of others one in 2^64.
struct Checksum(u64);

impl Checksum {
    fn new(bags: u64, entries: u64) -> Self {
        let mut sum = Self(number(&MAGIC)); // so that a block of zeros is none
        sum.add(&bags.to_le_bytes());
        sum.add(&entries.to_le_bytes());
        sum
    }

    fn add(&mut self, bytes: &[u8]) {
        let mut step =
            |word: u64| self.0 = (self.0.rotate_left(25) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let words = bytes.chunks_exact(8);
        let rest = words.remainder();
        words.for_each(|word| step(number(word)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            step(u64::from_le_bytes(last));
        }
    }
}

#[cfg(all(test, feature = "files"))]
mod tests {
    use super::*;

    fn refused(written: Result<(), BlockError>) -> BlockError {
        let error = written.unwrap_err();
        assert!(matches!(error.problem(), BlockProblem::Size { .. }), "{error}");
        error
    }

    #[test]
    fn tables_that_are_no_block_are_not_written() {
        let mut writer = BlockWriter::<f32>::temporary(50).unwrap();
        writer.write_tables(&[0, 1], &[1], &[1.0]).unwrap();
        for (offsets, features, counts) in [
            (&[][..], &[][..], &[][..]),
            (&[1, 1], &[0], &[1.0]),
            (&[0, 2], &[0], &[1.0]),
            (&[0, 2, 1], &[0], &[1.0]),
            (&[0, 1], &[0], &[1.0, 2.0]),
        ] {
            assert_eq!(refused(writer.write_tables(offsets, features, counts)).block(), Some(1));
        }
    }

    #[test]
    fn a_sound_checksum_does_not_make_bags() {
        for (features, counts) in [
            (vec![3, 3], vec![1.0, 1.0]),
            (vec![4, 3], vec![1.0, 1.0]),
            (vec![50], vec![1.0]),
            (vec![0], vec![0.0]),
            (vec![0], vec![f32::NAN]),
            (vec![0], vec![f32::INFINITY]),
            (vec![0], vec![-1.0]),
        ] {
            let mut writer = BlockWriter::<f32>::temporary(50).unwrap();
            writer.write_tables(&[0, features.len()], &features, &counts).unwrap();
            let mut found = CsrBuf::from_dense(2, &[1.0, 2.0]).unwrap();
            let error = writer.finish().unwrap().read(0, &mut found).unwrap_err();
            assert!(matches!(error.problem(), BlockProblem::Damaged), "{error}");
            assert_eq!(found, CsrBuf::new(50).unwrap());
        }
    }
}
