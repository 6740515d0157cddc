//! Work on parts of tables, on as many threads as there are.
//!
//! With the feature `rayon` the threads are those of the Rayon pool that the caller is in; without it, or in a pool of one
//! thread, everything is done in turn. Whatever is written belongs to one part, and a part is worked on by one thread, in
//! order: no result depends on how many there are.
//!
//! ```
//! use countgrid_em::parallel::{Rows, for_each};
//!
//! // Sums of the rows of one table, written to the rows of another.
//! let (table, mut sums) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0; 2]);
//! for_each(2, Rows::new(&mut sums, 1), |row, sum| sum.elements[0] = table[3 * row..3 * row + 3].iter().sum());
//! assert_eq!(sums, [6.0, 15.0]);
//! ```

/// Exclusive access to consecutive items, which can be divided between two of them.
///
/// Implemented by [`Rows`], [`SharedRows`] and pairs and triples of what implements it, whose items are then those of all.
///
/// ```
/// use countgrid_em::parallel::{Rows, Split};
/// let (mut a, mut b) = ([1, 2, 3, 4], [5, 6]);
/// let (first, rest) = (Rows::new(&mut a, 2), Rows::new(&mut b, 1)).split(1);
/// assert_eq!((&*first.0.elements, &*first.1.elements), (&[1, 2][..], &[5][..]));
/// assert_eq!((&*rest.0.elements, &*rest.1.elements), (&[3, 4][..], &[6][..]));
/// ```
pub trait Split: Sized + Send {
    /// The first `items`, and the others.
    fn split(self, items: usize) -> (Self, Self);
}

/// A table that is written, whose items are rows.
///
/// A table that is too short gives rows that are: of no elements in the end, so that a table which a model does not have
/// may be an empty slice.
///
/// Example: [`SharedRows`].
#[derive(Debug)]
pub struct Rows<'a, T> {
    /// The rows, one after the other.
    pub elements: &'a mut [T],
    /// Elements of a row; the last may have fewer.
    pub row_len: usize,
}

impl<'a, T: Send> Rows<'a, T> {
    /// Rows of `row_len` elements.
    pub fn new(elements: &'a mut [T], row_len: usize) -> Self {
        Self { elements, row_len }
    }
}

impl<T: Send> Split for Rows<'_, T> {
    #[inline]
    fn split(self, items: usize) -> (Self, Self) {
        let Self { elements, row_len } = self;
        let middle = items.saturating_mul(row_len).min(elements.len());
        let (first, rest) = elements.split_at_mut(middle);
        (Self { elements: first, row_len }, Self { elements: rest, row_len })
    }
}

/// A table that is only read, whose items are rows, as in [`Rows`].
///
/// ```
/// use countgrid_em::parallel::{Rows, SharedRows, for_each};
/// let mut sums = [0; 2];
/// for_each(2, (SharedRows::new(&[1, 2, 3, 4], 2), Rows::new(&mut sums, 1)), |_, (row, sum)| {
///     sum.elements[0] = row.elements.iter().sum();
/// });
/// assert_eq!(sums, [3, 7]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SharedRows<'a, T> {
    /// The rows, one after the other.
    pub elements: &'a [T],
    /// Elements of a row; the last may have fewer.
    pub row_len: usize,
}

impl<'a, T: Sync> SharedRows<'a, T> {
    /// Rows of `row_len` elements.
    pub fn new(elements: &'a [T], row_len: usize) -> Self {
        Self { elements, row_len }
    }
}

impl<T: Sync> Split for SharedRows<'_, T> {
    #[inline]
    fn split(self, items: usize) -> (Self, Self) {
        let Self { elements, row_len } = self;
        let (first, rest) = elements.split_at(items.saturating_mul(row_len).min(elements.len()));
        (Self { elements: first, row_len }, Self { elements: rest, row_len })
    }
}

impl<A: Split, B: Split> Split for (A, B) {
    #[inline]
    fn split(self, items: usize) -> (Self, Self) {
        let (a, b) = (self.0.split(items), self.1.split(items));
        ((a.0, b.0), (a.1, b.1))
    }
}

impl<A: Split, B: Split, C: Split> Split for (A, B, C) {
    #[inline]
    fn split(self, items: usize) -> (Self, Self) {
        let (a, b, c) = (self.0.split(items), self.1.split(items), self.2.split(items));
        ((a.0, b.0, c.0), (a.1, b.1, c.1))
    }
}

/// Number of threads of the pool that the caller is in; 1 without the feature `rayon`.
///
/// ```
/// assert!(countgrid_em::parallel::threads() >= 1);
/// ```
#[inline]
#[must_use]
pub fn threads() -> usize {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    1
}

/// Into how many parts to divide work of which each part needs scratch, or reads all of the data: 1 in turn, else some for
/// each thread. Enough to keep all threads busy to the end, few enough for their scratch to stay in cache.
///
/// ```
/// use countgrid_em::parallel::{part_count, threads};
/// assert_eq!(part_count() == 1, threads() == 1);
/// ```
#[inline]
#[must_use]
pub fn part_count() -> usize {
    match threads() {
        1 => 1,
        threads => 8 * threads,
    }
}

/// Does work in which [`for_each`] is called again and again.
///
/// Called from outside the pool, each of these would put the caller to sleep and wake it up again, which takes longer than
/// much of the work; so the caller enters the pool once.
///
/// ```
/// use countgrid_em::parallel::{Rows, for_each, in_pool};
/// let mut table = [1, 2, 3];
/// in_pool(|| {
///     for _ in 0..10 {
///         for_each(3, Rows::new(&mut table, 1), |_, row| row.elements[0] *= 2);
///     }
/// });
/// assert_eq!(table, [1024, 2048, 3072]);
/// ```
pub fn in_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    #[cfg(feature = "rayon")]
    if threads() > 1 {
        let (mut work, mut result) = (Some(work), None);
        enter(&mut || result = work.take().map(|work| work()));
        return result.unwrap_or_else(|| unreachable!("the pool calls what it is given"));
    }
    work()
}

/// Calls `work` once, in the pool. Not generic, as [`join`] is not.
#[cfg(feature = "rayon")]
fn enter(work: &mut (dyn FnMut() + Send)) {
    rayon::scope(|_| work());
}

/// Calls `work(item, part)` for each of `items` items, with its part of `parts`.
///
/// ```
/// use countgrid_em::parallel::{Rows, for_each};
/// let (mut squares, mut cubes) = ([0; 4], [0; 4]);
/// let parts = (Rows::new(&mut squares, 1), Rows::new(&mut cubes, 1));
/// for_each(4, parts, |item, (square, cube)| {
///     square.elements[0] = item.pow(2);
///     cube.elements[0] = item.pow(3);
/// });
/// assert_eq!((squares, cubes), ([0, 1, 4, 9], [0, 1, 8, 27]));
/// ```
pub fn for_each<P: Split>(items: usize, parts: P, work: impl Fn(usize, P) + Sync) {
    #[cfg(feature = "rayon")]
    if threads() > 1 {
        // Not item by item: some take a microsecond, about what it costs to hand one to another thread.
        let few = (items / (2 * part_count())).max(1);
        divide(0, items, few, parts, &work);
        return;
    }
    sequentially(0, items, parts, &work);
}

#[cfg(feature = "rayon")]
fn divide<P: Split>(first: usize, items: usize, few: usize, parts: P, work: &(impl Fn(usize, P) + Sync)) {
    if items > few {
        let middle = items / 2;
        let (low, high) = parts.split(middle);
        let (mut low, mut high) = (Some(low), Some(high));
        join(
            &mut || {
                if let Some(low) = low.take() {
                    divide(first, middle, few, low, work);
                }
            },
            &mut || {
                if let Some(high) = high.take() {
                    divide(first + middle, items - middle, few, high, work);
                }
            },
        );
    } else {
        sequentially(first, items, parts, work);
    }
}

/// Does both, each of which is called once. Not generic, since what Rayon makes of a join is more code than most work is, and
/// every program would compile it for every kind of work.
#[cfg(feature = "rayon")]
fn join(low: &mut (dyn FnMut() + Send), high: &mut (dyn FnMut() + Send)) {
    rayon::join(low, high);
}

fn sequentially<P: Split>(first: usize, items: usize, mut parts: P, work: &impl Fn(usize, P)) {
    for item in first..first + items {
        let (part, rest) = parts.split(1);
        work(item, part);
        parts = rest;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;

    use super::*;

    #[test]
    fn every_item_has_its_own_parts() {
        let check = || {
            for items in [0, 1, 7, 1000] {
                let (mut a, mut b) = (vec![usize::MAX; 2 * items], vec![usize::MAX; items]);
                for_each(items, (Rows::new(&mut a, 2), Rows::new(&mut b, 1)), |item, (a, b)| {
                    assert_eq!((a.elements.len(), b.elements.len()), (2, 1));
                    a.elements.fill(item);
                    b.elements.fill(10 * item);
                });
                assert!(a.iter().enumerate().all(|(i, &x)| x == i / 2));
                assert!(b.iter().enumerate().all(|(i, &x)| x == 10 * i));
            }
        };
        check();
        #[cfg(feature = "rayon")]
        for threads in 1..4 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                assert_eq!(super::threads(), threads);
                check();
            });
        }
    }

    #[test]
    fn rows_that_there_are_not_are_empty() {
        let mut short = [0; 5];
        for_each(4, (Rows::new(&mut short, 2), Rows::new(&mut [0; 0], 3)), |item, (row, none)| {
            assert_eq!((row.elements.len(), none.elements.len()), ([2, 2, 1, 0][item], 0));
        });
    }
}
