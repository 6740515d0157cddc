use std::ops::{ControlFlow, Range};
#[cfg(feature = "files")]
use std::{
    mem::take,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use countgrid_counts::{Bags, Count, Csr, CsrBuf};
use countgrid_em::BLOCK_BAGS;
use countgrid_io::{BLOCK_ENTRIES, Scalar};
#[cfg(feature = "files")]
use countgrid_io::{BlockFile, BlockWriter};

use crate::{CorpusError, memory};

/// A count that a block can hold: `u32`, `f32` or `f64`.
///
/// Example: [`Corpus::from_texts`](crate::Corpus::from_texts).
pub trait Storable: Count + Scalar + Visit {}
impl<C: Count + Scalar + Visit> Storable for C {}

mod visit {
    use super::{Blocks, CorpusError, Visitor};

    /// What is not generic, so that it is compiled with this crate and not with all that depend on it: a thread and its
    /// channels are much code.
    pub trait Visit: Sized {
        fn visit(
            blocks: &Blocks<Self>,
            read_ahead: bool,
            visit: &mut Visitor<'_, Self>,
        ) -> Result<(), CorpusError>;
    }

    macro_rules! compiled {
        ($($count:ty)*) => {$(
            impl Visit for $count {
                #[inline(never)]
                fn visit(
                    blocks: &Blocks<Self>,
                    read_ahead: bool,
                    visit: &mut Visitor<'_, Self>,
                ) -> Result<(), CorpusError> {
                    blocks.visit_blocks(read_ahead, visit)
                }
            }
        )*};
    }

    compiled!(u32 f32 f64);
}
use visit::Visit;

/// Where one block of bags ends and the next begins, and when blocks go to a temporary file.
///
/// Besides, a block ends before every multiple of [`countgrid_em::BLOCK_BAGS`] bags, so that none has bags of two leaves of the
/// tree in which statistics are added up.
///
/// ```
/// use countgrid_corpus::BlockLimits;
/// assert_eq!(BlockLimits::streaming().memory, 0);
/// assert_eq!(BlockLimits::default().entries, 1 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLimits {
    /// Bytes of memory that blocks may take before they go to a temporary file. Without the feature `files` they stay
    /// in memory. Default: half of what is free, the other half being for the tables of a model; no limit where the
    /// system does not tell.
    pub memory: u128,
    /// Entries of a block at most, unless it is a single bag; at most and by default 2²⁰.
    pub entries: usize,
    /// Bags of a block at most; at most and by default 2¹⁴.
    pub bags: usize,
}

impl BlockLimits {
    /// The default, but everything goes to a temporary file.
    #[must_use]
    pub fn streaming() -> Self {
        Self { memory: 0, ..Self::in_memory() }
    }

    /// The default, but everything stays in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { memory: u128::MAX, entries: BLOCK_ENTRIES, bags: BLOCK_BAGS }
    }
}

impl Default for BlockLimits {
    fn default() -> Self {
        let memory = memory::available().map_or(u128::MAX, |free| free / 2);
        Self { memory, ..Self::in_memory() }
    }
}

/// Takes bags one after the other and puts them into [`Blocks`].
///
/// ```
/// use countgrid_corpus::{BlockLimits, BlocksBuilder};
/// let mut builder = BlocksBuilder::new(4, BlockLimits { bags: 2, ..BlockLimits::default() })?;
/// builder.push([(0, 2.0_f32), (3, 1.0)])?;
/// builder.push([])?;
/// builder.push([(1, 1.0)])?;
/// let blocks = builder.finish()?;
/// assert_eq!((blocks.len(), blocks.entries(), blocks.blocks()), (3, 3, &[0..2, 2..3][..]));
/// # Ok::<(), countgrid_corpus::CorpusError>(())
/// ```
#[derive(Debug)]
pub struct BlocksBuilder<C> {
    limits: BlockLimits,
    features: usize,
    bags: usize,
    entries: u64,
    filled: Vec<Range<usize>>, // the bags of the blocks that are complete
    present: CsrBuf<C>,
    memory: u128, // bytes of `kept`
    kept: Vec<CsrBuf<C>>,
    #[cfg(feature = "files")]
    writer: Option<BlockWriter<C>>,
}

impl<C: Storable> BlocksBuilder<C> {
    /// No bags yet, over `features` features.
    ///
    /// # Errors
    /// More than 2³² features.
    pub fn new(features: usize, limits: BlockLimits) -> Result<Self, CorpusError> {
        let limits = BlockLimits {
            entries: limits.entries.clamp(1, BLOCK_ENTRIES),
            bags: limits.bags.clamp(1, BLOCK_BAGS),
            ..limits
        };
        Ok(Self {
            limits,
            features,
            bags: 0,
            entries: 0,
            filled: Vec::new(),
            present: CsrBuf::new(features)?,
            memory: 0,
            kept: Vec::new(),
            #[cfg(feature = "files")]
            writer: None,
        })
    }

    /// Number of bags added so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bags
    }

    /// Whether no bag was added yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bags == 0
    }

    /// Adds a bag as [`CsrBuf::push_bag`] does: entries `(feature, count)` in any order; counts of one feature are
    /// added up; zeros are dropped.
    ///
    /// # Errors
    /// A feature that is out of range, a count that is none, counts whose sum is none (no bag is then added); the
    /// temporary file cannot be written.
    pub fn push(&mut self, bag: impl IntoIterator<Item = (usize, C)>) -> Result<(), CorpusError> {
        let before = self.present.indices().len();
        self.present.push_bag(bag)?;
        let (bags, entries) = (self.present.len(), self.present.indices().len());
        let full = bags > self.limits.bags || entries > self.limits.entries;
        if bags > 1 && (full || self.bags.is_multiple_of(BLOCK_BAGS)) {
            let last = self.present.split_off(bags - 1);
            self.close(last)?;
        }
        self.bags += 1;
        self.entries += (entries - before) as u64;
        Ok(())
    }

    /// Puts the present block where the others are, and goes on with another.
    fn close(&mut self, next: CsrBuf<C>) -> Result<(), CorpusError> {
        let block = std::mem::replace(&mut self.present, next);
        let start = self.filled.last().map_or(0, |bags| bags.end);
        self.filled.push(start..start + block.len());
        self.memory += bytes(&block);
        #[cfg(feature = "files")]
        {
            if self.writer.is_none() && self.memory > self.limits.memory {
                let mut writer = BlockWriter::temporary(self.features as u64)?;
                take(&mut self.kept).into_iter().try_for_each(|block| writer.write(&block))?;
                self.writer = Some(writer);
            }
            if let Some(writer) = &mut self.writer {
                return Ok(writer.write(&block)?);
            }
        }
        self.kept.push(block);
        Ok(())
    }

    /// All bags that were added.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub fn finish(mut self) -> Result<Blocks<C>, CorpusError> {
        if !self.present.is_empty() {
            let none = CsrBuf::new(self.features)?;
            self.close(none)?;
        }
        let Self { features, bags, entries, filled, kept, .. } = self;
        #[cfg(feature = "files")]
        let backing = match self.writer {
            Some(writer) => Backing::File(Mutex::new(writer.finish()?)),
            None => Backing::Memory(kept),
        };
        #[cfg(not(feature = "files"))]
        let backing = Backing::Memory(kept);
        Ok(Blocks { features, bags, entries, blocks: filled, backing })
    }
}

/// Bags in blocks, in memory or, once they are too many for it, in a temporary file.
///
/// Where one block ends depends on the bags and on [`BlockLimits`]' numbers of entries and bags alone, and a fit meets
/// the bags block by block wherever they are. So a fit from a file is the same, to the last bit, as one from memory. A block
/// ends before each multiple of [`countgrid_em::BLOCK_BAGS`] bags, and earlier where it is full.
///
/// ```
/// use countgrid_corpus::{BlockLimits, BlocksBuilder, CorpusError};
/// use countgrid_counts::Bags;
/// let mut builder = BlocksBuilder::new(2, BlockLimits::streaming())?;
/// builder.push([(0, 3.0_f32), (1, 1.0)])?;
/// builder.push([(1, 2.0)])?;
/// let blocks = builder.finish()?;
/// let mut tokens = 0.0;
/// blocks.for_each_block(true, |_first, block| {
///     tokens += block.tokens();
///     Ok::<_, CorpusError>(())
/// })?;
/// assert_eq!(tokens, 6.0);
/// # Ok::<(), CorpusError>(())
/// ```
#[derive(Debug)]
pub struct Blocks<C> {
    features: usize,
    bags: usize,
    entries: u64,
    blocks: Vec<Range<usize>>, // the bags of each
    backing: Backing<C>,
}

#[derive(Debug)]
enum Backing<C> {
    Memory(Vec<CsrBuf<C>>),
    #[cfg(feature = "files")]
    File(Mutex<BlockFile<C>>),
}

/// What is called with the number of its first bag and the bags of a block.
type Visitor<'a, C> = dyn FnMut(usize, Csr<'_, C>) -> ControlFlow<()> + 'a;

impl<C: Storable> Blocks<C> {
    /// The bags of a data set, in memory or in a file as `limits` say.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    ///
    /// ```
    /// use countgrid_corpus::{BlockLimits, Blocks};
    /// use countgrid_counts::Dense;
    /// let blocks = Blocks::from_bags(&Dense::new(2, &[1.0_f32, 0.0, 2.0, 1.0]).unwrap(), BlockLimits::default())?;
    /// assert_eq!((blocks.len(), blocks.entries()), (2, 3));
    /// # Ok::<(), countgrid_corpus::CorpusError>(())
    /// ```
    pub fn from_bags<B: Bags<Count = C>>(bags: &B, limits: BlockLimits) -> Result<Self, CorpusError> {
        let mut builder = BlocksBuilder::new(bags.features(), limits)?;
        (0..bags.len()).try_for_each(|bag| builder.push(bags.entries(bag)))?;
        builder.finish()
    }

    /// Number of features.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of bags.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bags
    }

    /// Whether there is no bag at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bags == 0
    }

    /// Number of counts that are not zero.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The bags of each block, ascending, without gaps.
    #[must_use]
    pub fn blocks(&self) -> &[Range<usize>] {
        &self.blocks
    }

    /// Bytes of the temporary file, if there is one.
    #[must_use]
    pub fn file_bytes(&self) -> Option<u64> {
        match &self.backing {
            Backing::Memory(_) => None,
            #[cfg(feature = "files")]
            Backing::File(file) => Some(file.lock().unwrap_or_else(PoisonError::into_inner).bytes()),
        }
    }

    /// Puts the blocks into a temporary file, if they are not in one.
    ///
    /// # Errors
    /// The file cannot be written; the blocks are then lost.
    #[cfg(feature = "files")]
    pub fn spill(&mut self) -> Result<(), CorpusError> {
        if let Backing::Memory(blocks) = &mut self.backing {
            let mut writer = BlockWriter::temporary(self.features as u64)?;
            blocks.iter().try_for_each(|block| writer.write(block))?;
            self.backing = Backing::File(Mutex::new(writer.finish()?));
        }
        Ok(())
    }

    /// Calls `visit` with the number of its first bag and the bags of every block, in order.
    ///
    /// With `read_ahead` two blocks of a file are in memory at a time: the next one is read by a thread of its own
    /// while `visit` has the other. No `visit` may call a method of the same blocks.
    ///
    /// # Errors
    /// What `visit` returns, at once; the temporary file cannot be read.
    pub fn for_each_block<E: From<CorpusError>>(
        &self,
        read_ahead: bool,
        mut visit: impl FnMut(usize, Csr<'_, C>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut refused = None;
        C::visit(self, read_ahead, &mut |first, block| match visit(first, block) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                refused = Some(error);
                ControlFlow::Break(())
            }
        })?;
        refused.map_or(Ok(()), Err)
    }

    /// Visits every block in order, until `visit` breaks.
    fn visit_blocks(&self, read_ahead: bool, visit: &mut Visitor<'_, C>) -> Result<(), CorpusError> {
        let starts = self.blocks.iter().map(|bags| bags.start);
        match &self.backing {
            Backing::Memory(blocks) => {
                let _ = read_ahead;
                let _ended = starts.zip(blocks).try_for_each(|(first, block)| visit(first, block.as_view()));
            }
            #[cfg(feature = "files")]
            Backing::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                if read_ahead && self.blocks.len() > 1 {
                    return self.read_ahead(&mut file, visit);
                }
                let mut buffer = CsrBuf::new(self.features)?;
                for (index, first) in starts.enumerate() {
                    file.read(index, &mut buffer)?;
                    if visit(first, buffer.as_view()).is_break() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    #[cfg(feature = "files")]
    fn read_ahead(&self, file: &mut BlockFile<C>, visit: &mut Visitor<'_, C>) -> Result<(), CorpusError> {
        let none = || CsrBuf::new(self.features);
        let (give, empty) = mpsc::channel();
        let (hand, full) = mpsc::channel();
        [none()?, none()?].into_iter().for_each(|block| drop(give.send(block)));
        thread::scope(|scope| {
            // Ends with the last block, with one that cannot be read, or when nobody wants the next.
            scope.spawn(move || {
                for (index, mut block) in empty.into_iter().enumerate() {
                    let read = file.read(index, &mut block).map(|()| block);
                    let failed = read.is_err();
                    if hand.send(read).is_err() || failed {
                        break;
                    }
                }
            });
            // Owned here, so that it is gone, and the thread ends, when this returns.
            let mut give = Some(give);
            for (index, bags) in self.blocks.iter().enumerate() {
                let Ok(block) = full.recv() else { break };
                let block = block?;
                if visit(bags.start, block.as_view()).is_break() {
                    break;
                }
                if index + 2 >= self.blocks.len() {
                    give = None; // the reader has, or is reading, the last block
                }
                let _all_read = give.as_ref().map(|give| give.send(block));
            }
            Ok(())
        })
    }

    /// All bags in one piece, their counts changed by `count`.
    ///
    /// # Errors
    /// The temporary file cannot be read; `count` returns what is no count.
    ///
    /// ```
    /// use countgrid_corpus::{BlockLimits, Blocks};
    /// use countgrid_counts::{Bags, Dense};
    /// let bags = Dense::new(2, &[1_u32, 0, 2, 1]).unwrap();
    /// let halves = Blocks::from_bags(&bags, BlockLimits::default())?.gather(|count| f64::from(count) / 2.0)?;
    /// assert!(halves.entries(1).eq([(0, 1.0), (1, 0.5)]));
    /// # Ok::<(), countgrid_corpus::CorpusError>(())
    /// ```
    pub fn gather<D: Count>(&self, mut count: impl FnMut(C) -> D) -> Result<CsrBuf<D>, CorpusError> {
        let mut all = CsrBuf::new(self.features)?;
        self.for_each_block(true, |_, block| {
            (0..block.len()).try_for_each(|bag| {
                all.push_bag(block.entries(bag).map(|(feature, x)| (feature, count(x))))
                    .map_err(CorpusError::from)
            })
        })?;
        Ok(all)
    }

    /// As [`Blocks::for_each_block`], and memory is given back block by block.
    ///
    /// # Errors
    /// Those of [`Blocks::for_each_block`].
    pub fn consume<E: From<CorpusError>>(
        self,
        mut visit: impl FnMut(usize, Csr<'_, C>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.backing {
            Backing::Memory(blocks) => {
                let starts = self.blocks.iter().map(|bags| bags.start);
                starts.zip(blocks).try_for_each(|(first, block)| visit(first, block.as_view()))
            }
            #[cfg(feature = "files")]
            Backing::File(_) => self.for_each_block(true, visit),
        }
    }

    /// One block, which is read into `buffer` unless it is in memory; `None` if there is no such block.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    ///
    /// ```
    /// use countgrid_corpus::{BlockLimits, Blocks};
    /// use countgrid_counts::{Bags, CsrBuf, Dense};
    /// let bags = Dense::new(2, &[1_u32, 0, 2, 1]).unwrap();
    /// let blocks = Blocks::from_bags(&bags, BlockLimits { bags: 1, ..BlockLimits::default() })?;
    /// let mut buffer = CsrBuf::new(2)?;
    /// assert_eq!(blocks.load(1, &mut buffer)?.map(|block| block.total(0)), Some(3.0));
    /// assert!(blocks.load(2, &mut buffer)?.is_none());
    /// # Ok::<(), countgrid_corpus::CorpusError>(())
    /// ```
    pub fn load<'a>(
        &'a self,
        index: usize,
        buffer: &'a mut CsrBuf<C>,
    ) -> Result<Option<Csr<'a, C>>, CorpusError> {
        #[cfg(feature = "files")]
        if let Backing::File(file) = &self.backing {
            if index >= self.blocks.len() {
                return Ok(None);
            }
            file.lock().unwrap_or_else(PoisonError::into_inner).read(index, buffer)?;
        }
        Ok(self.loaded(index, Some(buffer)))
    }

    /// The block that was loaded last: `buffer` if blocks are in a file, else block `index`.
    pub fn loaded<'a>(&'a self, index: usize, buffer: Option<&'a CsrBuf<C>>) -> Option<Csr<'a, C>> {
        match &self.backing {
            Backing::Memory(blocks) => {
                let _ = buffer;
                blocks.get(index).map(CsrBuf::as_view)
            }
            #[cfg(feature = "files")]
            Backing::File(_) => buffer.map(CsrBuf::as_view),
        }
    }
}

/// Bytes that a block takes.
fn bytes<C: Storable>(block: &CsrBuf<C>) -> u128 {
    let entry = size_of::<u32>() + size_of::<C>();
    (size_of_val(block.offsets()) + block.indices().len() * entry) as u128
}

#[cfg(all(test, feature = "files"))]
pub(crate) mod tests {
    use super::*;

    /// The same bags in memory, and in a file from the first block on.
    pub(crate) fn both<C: Storable>(
        features: usize,
        bags: &[Vec<(usize, C)>],
        (entries, most): (usize, usize),
    ) -> [Blocks<C>; 2] {
        [u128::MAX, 0].map(|memory| {
            let mut builder =
                BlocksBuilder::new(features, BlockLimits { memory, entries, bags: most }).unwrap();
            bags.iter().for_each(|bag| builder.push(bag.iter().copied()).unwrap());
            builder.finish().unwrap()
        })
    }

    /// Bags of zero to six features of twenty.
    pub(crate) fn some(bags: usize) -> Vec<Vec<(usize, f32)>> {
        let bag = |t: usize| (0..t * 7 % 6).map(|n| (n * 3 + t % 5, (1 + (t + n) % 4) as f32)).collect();
        (0..bags).map(bag).collect()
    }

    /// The first bag of a block, and its bags.
    type Contents = (usize, Vec<Vec<(usize, f32)>>);

    fn contents(blocks: &Blocks<f32>, read_ahead: bool) -> Vec<Contents> {
        let mut all = Vec::new();
        blocks
            .for_each_block(read_ahead, |first, block| {
                all.push((first, (0..block.len()).map(|bag| block.entries(bag).collect()).collect()));
                Ok::<_, CorpusError>(())
            })
            .unwrap();
        all
    }

    #[test]
    fn blocks_are_the_same_in_memory_and_in_a_file() {
        for (count, full) in [(0, (10, 5)), (1, (10, 5)), (100, (10, 5)), (100, (1, 1)), (100, (1 << 20, 7))]
        {
            let bags = some(count);
            let [mut memory, file] = both(20, &bags, full);
            assert!(memory.file_bytes().is_none() && file.file_bytes().is_some() == (count > 0));
            let expected = contents(&memory, false);
            let flat: Vec<_> = expected.iter().flat_map(|(_, bags)| bags.clone()).collect();
            assert_eq!(flat, bags);
            for (first, block) in &expected {
                let entries: usize = block.iter().map(Vec::len).sum();
                assert!(block.len() <= full.1 && (entries <= full.0 || block.len() == 1));
                assert_eq!(block, &bags[*first..first + block.len()]);
                // It ends because the next bag did not fit.
                let next = bags.get(first + block.len());
                assert!(next.is_none_or(|next| block.len() == full.1 || entries + next.len() > full.0));
            }
            for read_ahead in [false, true] {
                assert_eq!(contents(&file, read_ahead), expected, "{count} {full:?} {read_ahead}");
            }
            let mut buffer = CsrBuf::new(20).unwrap();
            for (index, (_, bags)) in expected.iter().enumerate().rev() {
                let block = file.load(index, &mut buffer).unwrap().unwrap();
                assert!((0..block.len()).all(|bag| block.entries(bag).eq(bags[bag].iter().copied())));
            }
            for blocks in [&memory, &file] {
                assert!(blocks.load(expected.len(), &mut buffer).unwrap().is_none());
            }
            memory.spill().unwrap();
            assert_eq!((contents(&memory, true), memory.file_bytes().is_some()), (expected, true));
        }
    }

    #[test]
    fn blocks_go_to_a_file_once_there_is_no_room() {
        let mut builder = BlocksBuilder::new(20, BlockLimits { memory: 400, entries: 10, bags: 5 }).unwrap();
        let bags = some(100);
        for bag in &bags {
            builder.push(bag.iter().copied()).unwrap();
            assert!(builder.kept.iter().map(bytes).sum::<u128>() <= 400);
        }
        let blocks = builder.finish().unwrap();
        assert!(blocks.file_bytes().is_some());
        let flat: Vec<_> = contents(&blocks, true).into_iter().flat_map(|(_, bags)| bags).collect();
        assert_eq!(flat, bags);
    }

    #[test]
    fn no_block_has_bags_of_two_leaves() {
        let bags = vec![Vec::new(); 2 * BLOCK_BAGS + 3];
        let of = |most| both::<f32>(1, &bags, (BLOCK_ENTRIES, most)).map(|blocks| blocks.blocks().to_vec());
        let (one, two) = (BLOCK_BAGS, 2 * BLOCK_BAGS);
        for blocks in of(usize::MAX) {
            assert_eq!(blocks, [0..one, one..two, two..two + 3]);
        }
        for blocks in of(10_000) {
            assert_eq!(blocks, [0..10_000, 10_000..one, one..one + 10_000, one + 10_000..two, two..two + 3]);
        }
    }

    #[test]
    fn a_visitor_that_fails_ends_the_reading() {
        let [_, file] = both(20, &some(100), (10, 5));
        for read_ahead in [false, true] {
            let mut visits = 0;
            let ended = file.for_each_block(read_ahead, |first, _| {
                visits += 1;
                if first > 10 { Err(CorpusError::Vocabulary { features: 1, words: 2 }) } else { Ok(()) }
            });
            assert!(matches!(ended, Err(CorpusError::Vocabulary { .. })) && visits < 6);
        }
    }

    #[test]
    fn a_bag_that_is_refused_changes_nothing() {
        let mut builder = BlocksBuilder::new(2, BlockLimits { bags: 1, ..BlockLimits::in_memory() }).unwrap();
        builder.push([(1, 1.0_f32)]).unwrap();
        assert!(builder.push([(2, 1.0)]).is_err() && builder.push([(0, -1.0)]).is_err());
        builder.push([(0, 2.0), (0, 1.0), (1, 0.0)]).unwrap();
        let blocks = builder.finish().unwrap();
        assert_eq!((blocks.len(), blocks.entries(), blocks.blocks()), (2, 2, &[0..1, 1..2][..]));
        let all = blocks.gather(|count| count).unwrap();
        assert!(all.entries(0).eq([(1, 1.0)]) && all.entries(1).eq([(0, 3.0)]));
    }

    #[test]
    fn limits_say_where_blocks_are_and_how_large_they_are() {
        let in_memory = BlockLimits { memory: u128::MAX, entries: 1 << 20, bags: 1 << 14 };
        assert_eq!(BlockLimits::in_memory(), in_memory);
        assert_eq!(BlockLimits::streaming(), BlockLimits { memory: 0, ..in_memory });
        let default = BlockLimits::default();
        assert_eq!((default.entries, default.bags), (1 << 20, 1 << 14));
    }

    #[test]
    fn blocks_stay_in_memory_as_long_as_there_is_room() {
        let bags = some(100);
        let built = |memory| {
            let mut builder = BlocksBuilder::new(20, BlockLimits { memory, entries: 10, bags: 5 }).unwrap();
            bags.iter().for_each(|bag| builder.push(bag.iter().copied()).unwrap());
            builder.finish().unwrap()
        };
        let blocks = built(u128::MAX);
        // Of each bag where it ends, and of each block where it begins; of each entry a feature and a count.
        let places = (blocks.len() + blocks.blocks().len()) * size_of::<usize>();
        let room = places as u128 + u128::from(blocks.entries()) * 8;
        assert!(built(room).file_bytes().is_none() && built(room - 1).file_bytes().is_some());
    }

    #[test]
    fn what_has_no_bag_is_empty() {
        let mut builder = BlocksBuilder::<f32>::new(2, BlockLimits::in_memory()).unwrap();
        assert!(builder.is_empty() && builder.finish().unwrap().is_empty());
        builder = BlocksBuilder::new(2, BlockLimits::in_memory()).unwrap();
        builder.push([]).unwrap(); // a bag without entries is one
        assert!(!builder.is_empty() && !builder.finish().unwrap().is_empty());
    }
}
