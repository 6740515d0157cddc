//! Bags in blocks, in memory or, once they are too many for it, in a temporary file.
//!
//! Where one block ends depends on the bags alone, and a fit meets the bags block by block wherever they are. So a
//! fit from a file is the same, to the last bit, as one from memory.

use std::{
    mem::take,
    ops::Range,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use countgrid_counts::{Bags, BagsError, Count, Csr, CsrBuf};
use countgrid_io::{BLOCK_BAGS, BLOCK_ENTRIES, BlockFile, BlockWriter, Scalar};

use crate::failure::Failure;

/// A count that a block can hold.
pub(crate) trait Storable: Count + Scalar {}
impl<C: Count + Scalar> Storable for C {}

/// Where bags go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Bytes of memory that blocks may take before they go to a file.
    pub(crate) room: u128,
    /// Entries of a block at most, unless it is a single bag.
    pub(crate) entries: usize,
    /// Bags of a block at most.
    pub(crate) bags: usize,
}

impl Plan {
    /// Blocks of so many entries.
    pub(crate) fn new(room: u128, entries: usize) -> Self {
        Self { room, entries: entries.clamp(1, BLOCK_ENTRIES), bags: BLOCK_BAGS }
    }
}

/// Takes bags, one after the other.
#[derive(Debug)]
pub(crate) struct Builder<C> {
    plan: Plan,
    features: usize,
    bags: usize,
    entries: u64,
    filled: Vec<Range<usize>>, // the bags of the blocks that are done with
    present: CsrBuf<C>,
    used: u128, // bytes of `kept`
    kept: Vec<CsrBuf<C>>,
    writer: Option<BlockWriter<C>>,
}

impl<C: Storable> Builder<C> {
    /// No bags yet, over so many features.
    pub(crate) fn new(features: usize, plan: Plan) -> Result<Self, Failure> {
        Ok(Self {
            plan,
            features,
            bags: 0,
            entries: 0,
            filled: Vec::new(),
            present: CsrBuf::new(features).map_err(foreign)?,
            used: 0,
            kept: Vec::new(),
            writer: None,
        })
    }

    /// Bags added so far.
    pub(crate) fn len(&self) -> usize {
        self.bags
    }

    /// Adds a bag: features ascending, no zeros.
    pub(crate) fn push(&mut self, bag: &[(usize, C)]) -> Result<(), Failure> {
        let (bags, entries) = (self.present.len(), self.present.indices().len());
        if bags > 0 && (bags >= self.plan.bags || entries + bag.len() > self.plan.entries) {
            self.close()?;
        }
        self.present.push_bag(bag.iter().copied()).map_err(foreign)?;
        self.bags += 1;
        self.entries += bag.len() as u64;
        Ok(())
    }

    /// Puts the present block where the others are.
    fn close(&mut self) -> Result<(), Failure> {
        let block = std::mem::replace(&mut self.present, CsrBuf::new(self.features).map_err(foreign)?);
        self.filled.push(self.bags - block.len()..self.bags);
        self.used += bytes(&block);
        if self.writer.is_none() && self.used > self.plan.room {
            let mut writer = BlockWriter::temporary(self.features as u64)?;
            take(&mut self.kept).into_iter().try_for_each(|block| write(&mut writer, &block))?;
            self.writer = Some(writer);
        }
        match &mut self.writer {
            Some(writer) => {
                write(writer, &block)?;
                let (_, mut offsets, mut features, mut counts) = block.into_parts();
                offsets.truncate(1);
                features.clear();
                counts.clear();
                self.present =
                    CsrBuf::from_parts(self.features, offsets, features, counts).map_err(foreign)?;
            }
            None => self.kept.push(block),
        }
        Ok(())
    }

    /// All bags that were added.
    pub(crate) fn finish(mut self) -> Result<Store<C>, Failure> {
        if self.present.len() > 0 {
            self.close()?;
        }
        let backing = match self.writer {
            Some(writer) => Backing::File(Mutex::new(writer.finish()?)),
            None => Backing::Memory(self.kept),
        };
        let Self { features, bags, entries, filled, .. } = self;
        Ok(Store { features, bags, entries, blocks: filled, backing })
    }
}

/// Bags in blocks.
#[derive(Debug)]
pub(crate) struct Store<C> {
    features: usize,
    bags: usize,
    entries: u64,
    blocks: Vec<Range<usize>>, // the bags of each
    backing: Backing<C>,
}

#[derive(Debug)]
enum Backing<C> {
    Memory(Vec<CsrBuf<C>>),
    File(Mutex<BlockFile<C>>),
}

impl<C: Storable> Store<C> {
    /// Number of features.
    pub(crate) fn features(&self) -> usize {
        self.features
    }
    /// Number of bags.
    pub(crate) fn len(&self) -> usize {
        self.bags
    }
    /// Counts that are not zero.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }
    /// The bags of each block.
    pub(crate) fn blocks(&self) -> &[Range<usize>] {
        &self.blocks
    }
    /// Bytes of the temporary file, if there is one.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        match &self.backing {
            Backing::Memory(_) => None,
            Backing::File(file) => Some(file.lock().unwrap_or_else(PoisonError::into_inner).bytes()),
        }
    }

    /// Puts the blocks into a file, if they are not in one.
    pub(crate) fn spill(&mut self) -> Result<(), Failure> {
        if let Backing::Memory(blocks) = &mut self.backing {
            let mut writer = BlockWriter::temporary(self.features as u64)?;
            take(blocks).into_iter().try_for_each(|block| write(&mut writer, &block))?;
            self.backing = Backing::File(Mutex::new(writer.finish()?));
        }
        Ok(())
    }

    /// Calls `visit` with every block in order, and the number of its first bag. Of a file two blocks are in memory
    /// at a time: the next is read by a thread of its own, unless `alone`.
    pub(crate) fn each<E: From<Failure>>(
        &self,
        alone: bool,
        mut visit: impl FnMut(usize, Csr<'_, C>) -> Result<(), E>,
    ) -> Result<(), E> {
        let starts = self.blocks.iter().map(|bags| bags.start);
        let file = match &self.backing {
            Backing::Memory(blocks) => {
                return starts.zip(blocks).try_for_each(|(first, block)| visit(first, block.as_view()));
            }
            Backing::File(file) => file,
        };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let none = || CsrBuf::new(self.features).map_err(foreign);
        let mut one = none()?;
        if alone || self.blocks.len() < 2 {
            return starts.enumerate().try_for_each(|(index, first)| {
                one = fill(&mut file, self.features, index, take_parts(&mut one)?)?;
                visit(first, one.as_view())
            });
        }
        let (give, empty) = mpsc::channel();
        let (hand, full) = mpsc::channel();
        [one, none()?].into_iter().for_each(|block| drop(give.send(block)));
        thread::scope(|scope| {
            let (file, features) = (&mut *file, self.features);
            // Ends with the last block, with one that cannot be read, or when nobody wants the next.
            scope.spawn(move || {
                for (index, mut block) in empty.into_iter().enumerate() {
                    let read = take_parts(&mut block).and_then(|block| fill(file, features, index, block));
                    let failed = read.is_err();
                    if hand.send(read).is_err() || failed {
                        break;
                    }
                }
            });
            // Owned here, so that it is gone, and the thread ends, when this returns.
            let mut give = Some(give);
            for (index, first) in starts.enumerate() {
                let Ok(block) = full.recv() else { break };
                let block = block?;
                visit(first, block.as_view())?;
                if index + 2 >= self.blocks.len() {
                    give = None; // the reader has, or is reading, the last block
                }
                let _all_read = give.as_ref().map(|give| give.send(block));
            }
            Ok(())
        })
    }

    /// All bags in one piece, their counts changed by `count`.
    pub(crate) fn gathered<D: Count>(&self, mut count: impl FnMut(C) -> D) -> Result<CsrBuf<D>, Failure> {
        let mut all = CsrBuf::new(self.features).map_err(foreign)?;
        self.each(false, |_, block| {
            (0..block.len()).try_for_each(|bag| {
                all.push_bag(block.entries(bag).map(|(word, x)| (word, count(x)))).map_err(foreign)
            })
        })?;
        Ok(all)
    }

    /// As [`Store::each`], and memory is given back block by block.
    pub(crate) fn consume(
        self,
        mut visit: impl FnMut(Csr<'_, C>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self.backing {
            Backing::Memory(blocks) => blocks.into_iter().try_for_each(|block| visit(block.as_view())),
            Backing::File(_) => self.each(false, |_, block| visit(block)),
        }
    }

    /// One block, which is read into `buffer` unless it is in memory; `None` if there is no such block.
    pub(crate) fn load<'a>(
        &'a self,
        index: usize,
        buffer: &'a mut CsrBuf<C>,
    ) -> Result<Option<Csr<'a, C>>, Failure> {
        if let Backing::File(file) = &self.backing {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            *buffer = fill(&mut file, self.features, index, take_parts(buffer)?)?;
        }
        Ok(self.loaded(index, Some(buffer)))
    }

    /// The block that was loaded last.
    pub(crate) fn loaded<'a>(&'a self, index: usize, buffer: Option<&'a CsrBuf<C>>) -> Option<Csr<'a, C>> {
        match &self.backing {
            Backing::Memory(blocks) => blocks.get(index).map(CsrBuf::as_view),
            Backing::File(_) => buffer.map(CsrBuf::as_view),
        }
    }
}

/// Reads a block into memory that another had.
fn fill<C: Storable>(
    file: &mut BlockFile<C>,
    features: usize,
    index: usize,
    mut block: CsrBuf<C>,
) -> Result<CsrBuf<C>, Failure> {
    debug_assert_eq!(file.features(), features as u64);
    file.read(index, &mut block)?;
    Ok(block)
}

/// The memory of bags that are done with.
fn take_parts<C: Storable>(bags: &mut CsrBuf<C>) -> Result<CsrBuf<C>, Failure> {
    let none = CsrBuf::new(bags.features()).map_err(foreign)?;
    Ok(std::mem::replace(bags, none))
}

fn write<C: Storable>(writer: &mut BlockWriter<C>, block: &CsrBuf<C>) -> Result<(), Failure> {
    Ok(writer.write(block)?)
}

/// Bytes that a block takes.
fn bytes<C>(block: &CsrBuf<C>) -> u128
where
    C: Storable,
{
    let entry = size_of::<u32>() + size_of::<C>();
    (size_of_val(block.offsets()) + block.indices().len() * entry) as u128
}

/// Counts that were checked on reading are refused by nobody after that.
pub(crate) fn foreign(error: BagsError) -> Failure {
    Failure::new(error, "this is a bug worth a report")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The same bags in memory, and in a file from the first block on.
    pub(crate) fn both<C: Storable>(
        features: usize,
        bags: &[Vec<(usize, C)>],
        (entries, most): (usize, usize),
    ) -> [Store<C>; 2] {
        [u128::MAX, 0].map(|room| {
            let mut builder = Builder::new(features, Plan { room, entries, bags: most }).unwrap();
            bags.iter().for_each(|bag| builder.push(bag).unwrap());
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

    fn contents(store: &Store<f32>, alone: bool) -> Vec<Contents> {
        let mut all = Vec::new();
        store
            .each(alone, |first, block| {
                all.push((first, (0..block.len()).map(|bag| block.entries(bag).collect()).collect()));
                Ok::<_, Failure>(())
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
            let expected = contents(&memory, true);
            let flat: Vec<_> = expected.iter().flat_map(|(_, bags)| bags.clone()).collect();
            assert_eq!(flat, bags);
            for (first, block) in &expected {
                let entries: usize = block.iter().map(Vec::len).sum();
                assert!(block.len() <= full.1 && (entries <= full.0 || block.len() == 1));
                assert_eq!(block, &bags[*first..first + block.len()]);
            }
            for alone in [true, false] {
                assert_eq!(contents(&file, alone), expected, "{count} {full:?} {alone}");
            }
            let mut buffer = CsrBuf::new(20).unwrap();
            for (index, (_, bags)) in expected.iter().enumerate().rev() {
                let block = file.load(index, &mut buffer).unwrap().unwrap();
                assert!((0..block.len()).all(|bag| block.entries(bag).eq(bags[bag].iter().copied())));
            }
            memory.spill().unwrap();
            assert_eq!((contents(&memory, false), memory.file_bytes().is_some()), (expected, true));
        }
    }

    #[test]
    fn blocks_go_to_a_file_once_there_is_no_room() {
        let mut builder = Builder::new(20, Plan { room: 400, entries: 10, bags: 5 }).unwrap();
        let bags = some(100);
        for bag in &bags {
            builder.push(bag).unwrap();
            assert!(builder.kept.iter().map(bytes).sum::<u128>() <= 400);
        }
        let store = builder.finish().unwrap();
        assert!(store.file_bytes().is_some());
        let flat: Vec<_> = contents(&store, false).into_iter().flat_map(|(_, bags)| bags).collect();
        assert_eq!(flat, bags);
    }

    #[test]
    fn a_visitor_that_fails_ends_the_reading() {
        let [_, file] = both(20, &some(100), (10, 5));
        for alone in [true, false] {
            let mut visits = 0;
            let ended = file.each(alone, |first, _| {
                visits += 1;
                if first > 10 { Err(Failure::new("enough", "none")) } else { Ok(()) }
            });
            assert!(ended.unwrap_err().to_string().contains("enough") && visits < 6);
        }
    }
}
