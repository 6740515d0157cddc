//! Bags too many for the memory, in a file of blocks.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use countgrid_counts::{Bags, Count, CsrBuf};

use crate::block_code::{decode, encode, least};
use crate::block_error::{BlockError, BlockProblem};

/// Entries of a block at most, unless a single bag has more: in memory 8 MiB as `f32`, 12 MiB as `f64`, features included.
pub const BLOCK_ENTRIES: usize = 1 << 20;
/// Bags of a block at most.
pub const BLOCK_BAGS: usize = 1 << 17;

const MAGIC: [u8; 8] = *b"cgblocks";
const HEADER: u64 = 24; // magic, version, scalar, features
const BLOCK_HEADER: u64 = 32; // bags, entries, bytes, checksum
const VERSION: u32 = 2;

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
    /// A whole number of at least 1 that this is equal to.
    #[doc(hidden)]
    fn whole(self) -> Option<u64>;
    /// The scalar that is equal to a whole number.
    #[doc(hidden)]
    fn from_whole(number: u64) -> Option<Self>;
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
            fn whole(self) -> Option<u64> {
                let number = self as u64;
                (number > 0 && number as Self == self).then_some(number)
            }
            fn from_whole(number: u64) -> Option<Self> {
                let scalar = number as Self;
                (scalar as u64 == number).then_some(scalar)
            }
        }
    )*};
}
scalar!(u32 1 f32 2 f64 3);

/// Writes blocks one after the other; [`BlockWriter::finish`] makes a [`BlockFile`] of them.
///
/// | bytes | what, little-endian |
/// |---|---|
/// | 24 | the text `cgblocks`, version 2 (`u32`), scalar (`u32`: 1 `u32`, 2 `f32`, 3 `f64`), features (`u64`) |
/// | 32 a block | bags, entries, bytes that follow, checksum of these three and of the bytes (`u64` each) |
/// | | 0 if every count is a whole number, else 1 |
/// | | for each bag the number of its entries, then for each entry its feature less those up to the one before, and its count |
///
/// Numbers of the bags have seven bits in a byte, the lowest first, and the eighth bit in all bytes but their last. Where every count is a
/// whole number, that of a feature is doubled, one is added to it if the count is more than 1, and then the count less 2 follows; elsewhere
/// counts are scalars. So a word that is once in a text takes a byte or two, where it takes 8 or 12 in memory.
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
        let file = BufWriter::new(file);
        let (path, starts) = (path.to_path_buf(), vec![HEADER]);
        let mut writer = Self { path, file, features, starts, bytes: Vec::new(), scalar: PhantomData };
        let mut header = MAGIC.to_vec();
        VERSION.put(&mut header);
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
        let (number, entries) = (bags.len(), bags.indices().len());
        if !is_small(number, entries) {
            let problem = BlockProblem::Size { bags: number as u64, entries: entries as u64 };
            return Err(BlockError::new(&self.path, Some(self.starts.len() - 1), problem));
        }
        self.bytes.clear();
        encode(bags, &mut self.bytes);
        let numbers = [number as u64, entries as u64, self.bytes.len() as u64];
        self.write_bytes(numbers).map_err(|error| self.error(error))?;
        let start = self.starts.last().copied().unwrap_or(HEADER);
        self.starts.push(start + BLOCK_HEADER + numbers[2]);
        Ok(())
    }

    /// Bags, entries and bytes of a block, its checksum and the bytes.
    fn write_bytes(&mut self, numbers: [u64; 3]) -> io::Result<()> {
        let sum = checksum(numbers, &self.bytes);
        numbers.iter().chain([&sum]).try_for_each(|number| self.file.write_all(&number.to_le_bytes()))?;
        self.file.write_all(&self.bytes)
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
        if header[..8] != MAGIC || u32::get(&header[8..12]) != VERSION || u32::get(&header[12..16]) != C::TAG
        {
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
            start = end(start, length, numbers(&header)).map_err(|problem| refuse(block, problem))?;
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
        let numbers = numbers(&header);
        if end(start, length, numbers)? != expected {
            return Err(BlockProblem::Damaged);
        }
        let memory = |_| BlockProblem::Size { bags: numbers[0], entries: numbers[1] };
        let [bags, entries, bytes] = numbers.map(|number| number as usize); // no more than the file has bytes
        self.bytes.clear();
        self.bytes.try_reserve_exact(bytes).map_err(memory)?;
        offsets.try_reserve_exact(bags + 1).map_err(memory)?;
        indices.try_reserve_exact(entries).map_err(memory)?;
        counts.try_reserve_exact(entries).map_err(memory)?;
        (&mut self.file).take(numbers[2]).read_to_end(&mut self.bytes)?;
        if self.bytes.len() < bytes {
            return Err(BlockProblem::Truncated);
        }
        if checksum(numbers, &self.bytes) != number(&header[24..]) {
            return Err(BlockProblem::Damaged);
        }
        offsets.push(0);
        decode(&self.bytes, [bags, entries], &mut offsets, &mut indices, &mut counts)
            .ok_or(BlockProblem::Damaged)?;
        CsrBuf::from_parts(features, offsets, indices, counts).map_err(|_| BlockProblem::Damaged)
    }
}

fn is_small(bags: usize, entries: usize) -> bool {
    bags <= BLOCK_BAGS && (entries <= BLOCK_ENTRIES || bags == 1)
}

/// Bags, entries and bytes of a block, from its header.
fn numbers(header: &[u8; BLOCK_HEADER as usize]) -> [u64; 3] {
    [0, 8, 16].map(|at| number(&header[at..at + 8]))
}

/// Where a block ends that starts at `start`, if that is inside the file.
fn end(start: u64, length: u64, [bags, entries, bytes]: [u64; 3]) -> Result<u64, BlockProblem> {
    let small = |(bags, entries)| is_small(bags, entries);
    let sizes = usize::try_from(bags).ok().zip(usize::try_from(entries).ok());
    if !sizes.is_some_and(small) || entries > u64::from(u32::MAX) || bytes < least(bags, entries) {
        return Err(BlockProblem::Size { bags, entries });
    }
    match start.checked_add(BLOCK_HEADER).and_then(|start| start.checked_add(bytes)) {
        Some(end) if end <= length && usize::try_from(bytes).is_ok() => Ok(end),
        _ => Err(BlockProblem::Truncated),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Eight bytes at a time, each step one-to-one in the bytes and in what came before: no change of eight bytes or
/// fewer in one place goes unnoticed, and of others one in 2^64.
fn checksum(numbers: [u64; 3], bytes: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| (sum.rotate_left(25) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let words = bytes.chunks_exact(8);
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    let sum = numbers.into_iter().fold(number(&MAGIC), step); // so that a block of zeros is none
    step(words.map(number).fold(sum, step), number(&last))
}

#[cfg(all(test, feature = "files"))]
mod tests {
    use super::*;

    #[test]
    fn a_sound_checksum_does_not_make_bags() {
        let one = |count: f32| [&[1, 1, 3][..], &count.to_le_bytes()].concat();
        for (bags, entries, bytes) in [
            (1, 1, one(0.0)),
            (1, 1, one(f32::NAN)),
            (1, 1, one(f32::INFINITY)),
            (1, 1, one(-1.0)),
            (1, 1, vec![0, 1, 2 * 50]),    // feature 50
            (1, 2, vec![0, 2, 2 * 49, 0]), // features 49 and 50
            (2, 1, vec![0, 1, 0]),         // a bag is missing
            (1, 1, vec![0, 1, 0, 0]),      // a byte more
            (0, 0, vec![0, 0]),
        ] {
            let mut writer = BlockWriter::<f32>::temporary(50).unwrap();
            writer.bytes.clone_from(&bytes);
            let numbers = [bags, entries, bytes.len() as u64];
            writer.write_bytes(numbers).unwrap();
            writer.starts.push(HEADER + BLOCK_HEADER + numbers[2]);
            let mut found = CsrBuf::from_dense(2, &[1.0, 2.0]).unwrap();
            let error = writer.finish().unwrap().read(0, &mut found).unwrap_err();
            let is_short = numbers[2] < least(bags, entries);
            assert!(matches!(error.problem(), BlockProblem::Damaged) || is_short, "{error}");
            assert_eq!(found, CsrBuf::new(50).unwrap());
        }
    }

    #[test]
    fn whole_numbers_are_told_from_others() {
        assert_eq!([0, 1, u32::MAX].map(u32::whole), [None, Some(1), Some((1 << 32) - 1)]);
        assert_eq!([0.0, 0.5, 1.0, 1.5, 7.0].map(f32::whole), [None, None, Some(1), None, Some(7)]);
        assert_eq!([4e15, 4e15 + 0.5, 1e300].map(f64::whole), [Some(4_000_000_000_000_000), None, None]);
        assert_eq!([1 << 24, (1 << 24) + 1].map(f32::from_whole), [Some(16_777_216.0), None]);
        assert_eq!([(1 << 32) - 1, 1 << 32].map(u32::from_whole), [Some(u32::MAX), None]);
    }
}
