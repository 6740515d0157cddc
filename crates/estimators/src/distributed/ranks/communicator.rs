//! What ranks need of whatever connects them.

use std::{fmt::Display, io};

use crate::{DistributedError, EstimatorError};

/// Processes that compute together, each of which has a number, its rank: what a [`RankTraining`](super::RankTraining) needs of MPI, or
/// of whatever else connects them. The crate `countgrid-mpi` has that of MPI.
///
/// All ranks call [`Communicator::broadcast`] and [`Communicator::maximum`] in the same order. What one rank sends to another arrives
/// whole and in order.
pub trait Communicator {
    /// The number of this process, from 0 on.
    fn rank(&self) -> usize;

    /// How many there are, at least 1.
    fn ranks(&self) -> usize;

    /// Sends bytes to another rank; may wait until they are received there.
    ///
    /// # Errors
    /// That they cannot be sent.
    fn send(&self, to: usize, bytes: &[u8]) -> io::Result<()>;

    /// Waits for the next bytes that another rank sends to this one.
    ///
    /// # Errors
    /// That there will be none.
    fn receive(&self, from: usize) -> io::Result<Vec<u8>>;

    /// Gives the bytes of the rank `root` to all ranks.
    ///
    /// # Errors
    /// That other ranks cannot be reached.
    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> io::Result<()>;

    /// The largest of the numbers of all ranks.
    ///
    /// # Errors
    /// That other ranks cannot be reached.
    fn maximum(&self, number: u64) -> io::Result<u64>;
}

impl<C: Communicator + ?Sized> Communicator for &C {
    fn rank(&self) -> usize {
        (**self).rank()
    }
    fn ranks(&self) -> usize {
        (**self).ranks()
    }
    fn send(&self, to: usize, bytes: &[u8]) -> io::Result<()> {
        (**self).send(to, bytes)
    }
    fn receive(&self, from: usize) -> io::Result<Vec<u8>> {
        (**self).receive(from)
    }
    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        (**self).broadcast(root, bytes)
    }
    fn maximum(&self, number: u64) -> io::Result<u64> {
        (**self).maximum(number)
    }
}

pub(super) fn unreachable(error: io::Error) -> EstimatorError {
    DistributedError::Communication { problem: error.to_string() }.into()
}

/// This result, if that of every rank is one; else the error of the lowest rank that has one, on all of them. All ranks call it: so none
/// waits for another that cannot read its data, or write a file, and has left.
///
/// ```
/// use countgrid_estimators::distributed::{Communicator, ThreadRank, agree};
/// let threads = ThreadRank::group(2).into_iter().map(|communicator| {
///     let text = ["17", "many"][communicator.rank()];
///     std::thread::spawn(move || agree(&communicator, text.parse::<usize>()).map_err(|error| error.to_string()))
/// });
/// for thread in threads.collect::<Vec<_>>() {
///     assert_eq!(thread.join().expect("a thread that ends").unwrap_err(), "rank 1: invalid digit found in string");
/// }
/// ```
///
/// # Errors
/// [`DistributedError::Rank`], [`DistributedError::Communication`].
pub fn agree<X, E: Display>(
    communicator: &impl Communicator,
    result: Result<X, E>,
) -> Result<X, EstimatorError> {
    let ranks = communicator.ranks();
    let own = if result.is_err() { ranks.saturating_sub(communicator.rank()) } else { 0 };
    let largest = communicator.maximum(own as u64).map_err(unreachable)?;
    let result = match (largest, result) {
        (0, Ok(value)) => return Ok(value),
        (_, result) => result,
    };
    let rank = ranks.saturating_sub(usize::try_from(largest).unwrap_or(0)); // the lowest that failed
    let mut reason = result.err().map(|error| error.to_string().into_bytes()).unwrap_or_default();
    communicator.broadcast(rank, &mut reason).map_err(unreachable)?;
    let reason = String::from_utf8_lossy(&reason).into_owned();
    Err(DistributedError::Rank { rank, reason }.into())
}
