//! Work on rows of a table, on as many threads as there are. A row is written by one thread, in order: no result depends
//! on how many there are.

/// Into how many parts to cut a table of which each part costs a look at all documents.
pub(crate) fn shares() -> usize {
    #[cfg(feature = "rayon")]
    if rayon::current_num_threads() > 1 {
        return 4 * rayon::current_num_threads();
    }
    1
}

/// Calls `work(row, elements)` for each row of `size` elements, of which the last may have fewer.
pub(crate) fn each_row<T: Send>(table: &mut [T], size: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let size = size.max(1);
    #[cfg(feature = "rayon")]
    if rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        table.par_chunks_mut(size).enumerate().for_each(|(row, elements)| work(row, elements));
        return;
    }
    table.chunks_mut(size).enumerate().for_each(|(row, elements)| work(row, elements));
}
