//! Work on parts of tables, on as many threads as there are.
//!
//! Everything written belongs to one part, and a part is worked on by one thread, in order: no result depends
//! on how many there are.

/// Exclusive access to consecutive items, to be cut between two of them.
pub(crate) trait Split: Sized + Send {
    /// The first `items`, and the others.
    fn split(self, items: usize) -> (Self, Self);
}

/// A table whose items are rows of `size` elements; of none if there is no table.
#[derive(Debug)]
pub(crate) struct Rows<'a, T> {
    pub(crate) table: &'a mut [T],
    pub(crate) size: usize,
}

impl<'a, T: Send> Rows<'a, T> {
    pub(crate) fn new(table: &'a mut [T], size: usize) -> Self {
        Self { table, size }
    }
}

impl<T: Send> Split for Rows<'_, T> {
    fn split(self, items: usize) -> (Self, Self) {
        let Self { table, size } = self;
        let middle = items.saturating_mul(size).min(table.len());
        let (first, rest) = table.split_at_mut(middle);
        (Self { table: first, size }, Self { table: rest, size })
    }
}

/// A table that is only read.
impl<T: Sync> Split for (&[T], usize) {
    fn split(self, items: usize) -> (Self, Self) {
        let (table, size) = self;
        let (first, rest) = table.split_at(items.saturating_mul(size).min(table.len()));
        ((first, size), (rest, size))
    }
}

impl<A: Split, B: Split> Split for (A, B) {
    fn split(self, items: usize) -> (Self, Self) {
        let (a, b) = (self.0.split(items), self.1.split(items));
        ((a.0, b.0), (a.1, b.1))
    }
}

impl<A: Split, B: Split, C: Split> Split for (A, B, C) {
    fn split(self, items: usize) -> (Self, Self) {
        let (a, b, c) = (self.0.split(items), self.1.split(items), self.2.split(items));
        ((a.0, b.0, c.0), (a.1, b.1, c.1))
    }
}

/// How many threads there are.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    1
}

/// Into how many parts to cut work that needs scratch for each: enough to keep all threads busy to the end, few
/// enough for their scratch to stay in cache.
pub(crate) fn shares() -> usize {
    match threads() {
        1 => 1,
        threads => 8 * threads,
    }
}

/// Does work in which [`each`] is called again and again. Called from outside the pool, each of these would put the
/// caller to sleep and wake it up again, which takes longer than much of the work; so the caller is taken in once.
pub(crate) fn in_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    #[cfg(feature = "rayon")]
    if threads() > 1 {
        return rayon::scope(|_| work());
    }
    work()
}

/// Calls `work(item, part)` for each of `items` items.
pub(crate) fn each<P: Split>(items: usize, parts: P, work: impl Fn(usize, P) + Sync) {
    #[cfg(feature = "rayon")]
    if threads() > 1 {
        // Not item by item: some take a microsecond, about what it costs to share one.
        let few = (items / (2 * shares())).max(1);
        spread(0, items, few, parts, &work);
        return;
    }
    sequentially(0, items, parts, &work);
}

#[cfg(feature = "rayon")]
fn spread<P: Split>(first: usize, items: usize, few: usize, parts: P, work: &(impl Fn(usize, P) + Sync)) {
    if items > few {
        let middle = items / 2;
        let (low, high) = parts.split(middle);
        rayon::join(
            || spread(first, middle, few, low, work),
            || spread(first + middle, items - middle, few, high, work),
        );
    } else {
        sequentially(first, items, parts, work);
    }
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
        let (mut a, mut b) = (vec![0; 14], vec![0; 7]);
        each(7, (Rows::new(&mut a, 2), Rows::new(&mut b, 1)), |item, (a, b)| {
            assert_eq!((a.table.len(), b.table.len()), (2, 1));
            a.table.fill(item);
            b.table.fill(10 * item);
        });
        assert!(a.iter().enumerate().all(|(i, &x)| x == i / 2));
        assert!(b.iter().enumerate().all(|(i, &x)| x == 10 * i));
    }
}
