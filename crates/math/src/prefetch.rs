/// Asks for the cache line of `slice[index]`, which is read or written soon.
///
/// It changes the speed and nothing else. On processors other than x86-64 it does nothing, and what lies beyond the end
/// of the slice may be asked for as well.
///
/// Processors find out by themselves what is read in sequence, and fetch ahead; but only so far, and not beyond a page. So
/// this pays where there is much to compute between one short sequence and the next.
///
/// ```
/// let table = [1.0_f32; 1024];
/// let mut total = 0.0;
/// for row in 0..64 {
///     countgrid_math::prefetch(&table, 16 * (row + 4));
///     total += countgrid_math::sum(&table[16 * row..16 * (row + 1)]);
/// }
/// assert_eq!(total, 1024.0);
/// ```
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: this reads nothing and never faults, whatever the address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(index).cast()) }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse", not(miri))))]
    let _ = (slice, index);
}
