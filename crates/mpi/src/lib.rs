#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::{fmt, io};

use countgrid_estimators::distributed::Communicator;
use mpi::{
    Threading,
    collective::{CommunicatorCollectives, Root, SystemOperation},
    environment::Universe,
    point_to_point::{Destination, Source},
    topology::{Communicator as _, Process, SimpleCommunicator},
};

/// Bytes of a message at most: MPI counts them in 31 bits. Longer ones are sent in several.
const MESSAGE: usize = 1 << 30;

/// All ranks of an MPI job. MPI ends with it.
///
/// It stays on the thread that made it. Where another rank is lost, or there is no memory for a message, MPI itself ends the job, and so
/// does a panic while this is there: the other ranks would wait.
pub struct MpiCommunicator {
    world: SimpleCommunicator,
    _universe: Universe,
}

impl fmt::Debug for MpiCommunicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, ranks) = (self.rank(), self.ranks());
        f.debug_struct("MpiCommunicator").field("rank", &rank).field("ranks", &ranks).finish()
    }
}

impl MpiCommunicator {
    /// Begins MPI, once in a process: of a program that `mpirun` did not start, with one rank.
    ///
    /// # Errors
    /// That it was begun before, or that this MPI allows no other threads.
    pub fn initialize() -> io::Result<Self> {
        let again =
            || io::Error::new(io::ErrorKind::AlreadyExists, "MPI can be initialised once in a process");
        let (universe, threads) = mpi::initialize_with_threading(Threading::Funneled).ok_or_else(again)?;
        if threads < Threading::Funneled {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this MPI allows no threads in a process",
            ));
        }
        Ok(Self { world: universe.world(), _universe: universe })
    }

    /// That of the crate `mpi`, for messages of a program's own.
    #[must_use]
    pub fn world(&self) -> &SimpleCommunicator {
        &self.world
    }

    fn process(&self, rank: usize) -> io::Result<Process<'_>> {
        match i32::try_from(rank) {
            Ok(number) if number < self.world.size() => Ok(self.world.process_at_rank(number)),
            _ => {
                let problem = format!("there is no rank {rank}: there are {}", self.ranks());
                Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
            }
        }
    }
}

impl Drop for MpiCommunicator {
    fn drop(&mut self) {
        // The end of MPI waits for the other ranks, which wait for this one.
        if std::thread::panicking() {
            self.world.abort(101)
        }
    }
}

impl Communicator for MpiCommunicator {
    fn rank(&self) -> usize {
        usize::try_from(self.world.rank()).unwrap_or(0)
    }

    fn ranks(&self) -> usize {
        usize::try_from(self.world.size()).unwrap_or(1)
    }

    fn send(&self, to: usize, bytes: &[u8]) -> io::Result<()> {
        let there = self.process(to)?;
        there.send(&(bytes.len() as u64));
        bytes.chunks(MESSAGE).for_each(|message| there.send(message));
        Ok(())
    }

    fn receive(&self, from: usize) -> io::Result<Vec<u8>> {
        let there = self.process(from)?;
        let (length, _status) = there.receive::<u64>();
        let mut bytes = zeros(length)?;
        bytes.chunks_mut(MESSAGE).for_each(|message| _ = there.receive_into(message));
        Ok(bytes)
    }

    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let there = self.process(root)?;
        let mut length = bytes.len() as u64;
        there.broadcast_into(&mut length);
        if self.rank() != root {
            *bytes = zeros(length)?;
        }
        bytes.chunks_mut(MESSAGE).for_each(|message| there.broadcast_into(message));
        Ok(())
    }

    fn maximum(&self, number: u64) -> io::Result<u64> {
        let mut largest = 0;
        self.world.all_reduce_into(&number, &mut largest, SystemOperation::max());
        Ok(largest)
    }
}

fn zeros(length: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    Ok(vec![0; length])
}
