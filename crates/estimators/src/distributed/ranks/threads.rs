//! Ranks that are threads.

use std::{
    io,
    sync::mpsc::{Receiver, RecvError, SendError, SyncSender, sync_channel},
};

use super::Communicator;

/// A rank of a group of threads of one process: a program that is written for ranks runs alone, and is tested.
///
/// Sending waits for whoever receives. With a rank that has ended it is an error.
///
/// ```
/// use countgrid_estimators::distributed::{Communicator, ThreadRank};
/// let threads = ThreadRank::group(3).into_iter().map(|communicator| {
///     std::thread::spawn(move || communicator.maximum(communicator.rank() as u64 * 5))
/// });
/// for thread in threads.collect::<Vec<_>>() {
///     assert_eq!(thread.join().expect("a thread that ends").ok(), Some(10));
/// }
/// ```
#[derive(Debug)]
pub struct ThreadRank {
    rank: usize,
    to: Vec<SyncSender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl ThreadRank {
    /// So many ranks, one for each thread.
    #[must_use]
    pub fn group(ranks: usize) -> Vec<Self> {
        let mut group: Vec<Self> =
            (0..ranks).map(|rank| Self { rank, to: Vec::new(), from: Vec::new() }).collect();
        for from in 0..ranks {
            for to in 0..ranks {
                let (sender, receiver) = sync_channel(0);
                if let Some(rank) = group.get_mut(from) {
                    rank.to.push(sender);
                }
                if let Some(rank) = group.get_mut(to) {
                    rank.from.push(receiver);
                }
            }
        }
        group
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.to.len()).filter(|&rank| rank != self.rank)
    }
}

impl Communicator for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn send(&self, to: usize, bytes: &[u8]) -> io::Result<()> {
        let there = self.to.get(to).filter(|_| to != self.rank).ok_or_else(|| gone(to))?;
        there.send(bytes.to_vec()).map_err(|SendError(_)| gone(to))
    }

    fn receive(&self, from: usize) -> io::Result<Vec<u8>> {
        let there = self.from.get(from).filter(|_| from != self.rank).ok_or_else(|| gone(from))?;
        there.recv().map_err(|RecvError| gone(from))
    }

    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        if self.rank == root {
            return self.others().try_for_each(|rank| self.send(rank, bytes));
        }
        *bytes = self.receive(root)?;
        Ok(())
    }

    fn maximum(&self, number: u64) -> io::Result<u64> {
        let mut largest = number;
        if self.rank == 0 {
            for rank in self.others() {
                let bytes = self.receive(rank)?;
                largest = largest.max(u64::from_le_bytes(bytes.try_into().map_err(|_| gone(rank))?));
            }
        } else {
            self.send(0, &number.to_le_bytes())?;
        }
        let mut bytes = largest.to_le_bytes().to_vec();
        self.broadcast(0, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| gone(0))?))
    }
}

fn gone(rank: usize) -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, format!("rank {rank} is not there"))
}
