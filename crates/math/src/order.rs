/// A random index below `n`, from a word of which all 2⁶⁴ values are equally likely: `⌊word · n / 2⁶⁴⌋`, and 0 if `n` is 0.
///
/// One index is more likely than another by 2⁻⁶⁴ at most.
///
/// ```
/// use countgrid_math::index_below;
/// assert_eq!([0, 1 << 63, u64::MAX].map(|word| index_below(word, 10)), [0, 5, 9]);
/// ```
#[must_use]
pub const fn index_below(word: u64, n: usize) -> usize {
    ((word as u128 * n as u128) >> 64) as usize
}

/// Puts items in a random order, each as likely as any other if `below(n)` draws each index below `n` equally often.
///
/// `below` is asked once for each `n` from the number of items down to 2. What it returns beyond `n - 1` counts as that.
///
/// # Source
/// Fisher and Yates 1938, in the form of Durstenfeld 1964, algorithm 235.
///
/// ```
/// use countgrid_math::{index_below, shuffle};
/// let mut words = [u64::MAX / 3, 0, u64::MAX].into_iter().cycle(); // a random number generator, say
/// let mut order = ['a', 'b', 'c', 'd'];
/// shuffle(&mut order, |n| index_below(words.next().unwrap_or(0), n));
/// assert_eq!(order, ['c', 'd', 'a', 'b']);
/// ```
pub fn shuffle<X>(items: &mut [X], mut below: impl FnMut(usize) -> usize) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last + 1).min(last));
    }
}

/// Puts a random choice of `count` items first, in a random order, each such choice and order as likely as any other; all
/// items if there are fewer.
///
/// `below` as for [`shuffle`], asked once for each place that is filled, for as many as are left.
///
/// ```
/// use countgrid_math::{index_below, shuffle_first};
/// let mut words = [u64::MAX / 2, 0].into_iter().cycle();
/// let mut items = ['a', 'b', 'c', 'd'];
/// shuffle_first(&mut items, 2, |n| index_below(words.next().unwrap_or(0), n));
/// assert_eq!(items, ['b', 'a', 'c', 'd']);
/// ```
pub fn shuffle_first<X>(items: &mut [X], count: usize, mut below: impl FnMut(usize) -> usize) {
    for place in 0..count.min(items.len()) {
        let left = items.len() - place;
        items.swap(place, place + below(left).min(left - 1));
    }
}
