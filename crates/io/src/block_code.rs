//! Bags as the bytes of a block: gaps between features, and counts, each in as few bytes as its size needs.
//!
//! The first byte says how counts are written: [`WHOLE`] if all are whole numbers, else [`SCALARS`]. Then comes, for each bag, the
//! number of its entries, and for each entry the number of features passed over since the entry before, or since feature 0.
//! With [`WHOLE`] that number is doubled and one is added if the count is more than 1, and then the count less 2 follows; with
//! [`SCALARS`] the count always follows as it is. Numbers have seven bits in a byte, the lowest first, and the eighth bit in all
//! bytes but their last.

use countgrid_counts::{Bags, CsrBuf};

use crate::blocks::Scalar;

/// Every count is a whole number.
const WHOLE: u8 = 0;
/// Some are not, and all are written as the scalars that they are.
const SCALARS: u8 = 1;

/// Writes bags behind what `bytes` has.
pub(crate) fn encode<C: Scalar>(bags: &CsrBuf<C>, bytes: &mut Vec<u8>) {
    let whole = bags.counts().iter().all(|count| count.whole().is_some());
    bytes.push(if whole { WHOLE } else { SCALARS });
    for bag in 0..bags.len() {
        put(bags.entries(bag).count() as u64, bytes);
        let mut next = 0;
        for (feature, count) in bags.entries(bag) {
            let gap = feature as u64 - next;
            next = feature as u64 + 1;
            match count.whole() {
                Some(1) if whole => put(gap << 1, bytes),
                Some(count) if whole => {
                    put(gap << 1 | 1, bytes);
                    put(count - 2, bytes);
                }
                _ => {
                    put(gap, bytes);
                    count.put(bytes);
                }
            }
        }
    }
}

/// The bags that `bytes` are of, in tables that are empty, but for the 0 at which offsets begin, and have memory for them: the ends of
/// bags, features and counts.
///
/// None if they are not of so many bags and entries, or go on after them. Features ascend in every bag; whether they and
/// the counts are what they may be is for the reader to check.
pub(crate) fn decode<C: Scalar>(
    bytes: &[u8],
    [bags, entries]: [usize; 2],
    offsets: &mut Vec<usize>,
    features: &mut Vec<u32>,
    counts: &mut Vec<C>,
) -> Option<()> {
    let (&form, rest) = bytes.split_first()?;
    let numbers = [bags, entries];
    match form {
        WHOLE => decode_as::<C, true>(rest, numbers, offsets, features, counts),
        SCALARS => decode_as::<C, false>(rest, numbers, offsets, features, counts),
        _ => None,
    }
}

fn decode_as<C: Scalar, const ARE_WHOLE: bool>(
    mut rest: &[u8],
    [bags, entries]: [usize; 2],
    offsets: &mut Vec<usize>,
    features: &mut Vec<u32>,
    counts: &mut Vec<C>,
) -> Option<()> {
    for _ in 0..bags {
        let length = take(&mut rest)?;
        if length > (entries - features.len()) as u64 {
            return None;
        }
        let mut next = 0;
        for _ in 0..length {
            let code = take(&mut rest)?;
            let (gap, count) = if !ARE_WHOLE {
                (code, scalar(&mut rest)?)
            } else if code & 1 == 0 {
                (code >> 1, C::from_whole(1)?)
            } else {
                (code >> 1, C::from_whole(take(&mut rest)?.checked_add(2)?)?)
            };
            let feature = u32::try_from(gap.checked_add(next)?).ok()?;
            next = u64::from(feature) + 1;
            features.push(feature);
            counts.push(count);
        }
        offsets.push(features.len());
    }
    (features.len() == entries && rest.is_empty()).then_some(())
}

/// The fewest bytes that so many bags and entries may have.
pub(crate) fn least(bags: u64, entries: u64) -> u64 {
    bags.saturating_add(entries).saturating_add(1)
}

fn put(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The next number; none if there is none that ends, or it has more than 64 bits.
#[inline]
fn take(bytes: &mut &[u8]) -> Option<u64> {
    // Most have a byte or two, which of them is as good as random: so no branch.
    if let &[low, high, ..] = *bytes
        && low & high < 0x80
    {
        let two = low >> 7;
        *bytes = &bytes[1 + usize::from(two)..];
        return Some(u64::from(low & 0x7f) | ((u64::from(high) << 7) * u64::from(two)));
    }
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        let placed = bits << shift;
        if placed >> shift != bits {
            return None;
        }
        number |= placed;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
        if shift >= u64::BITS {
            return None;
        }
    }
}

fn scalar<C: Scalar>(bytes: &mut &[u8]) -> Option<C> {
    let (count, rest) = bytes.split_at_checked(C::BYTES)?;
    *bytes = rest;
    Some(C::get(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[bag][entry]`: feature and count.
    type Entries = Vec<Vec<(usize, f64)>>;

    fn bags(entries: &Entries) -> CsrBuf<f64> {
        let mut bags = CsrBuf::new(1 << 32).unwrap();
        entries.iter().for_each(|bag| bags.push_bag(bag.iter().copied()).unwrap());
        bags
    }

    fn decoded(bytes: &[u8], numbers: [usize; 2]) -> Option<(Vec<usize>, Vec<u32>, Vec<f64>)> {
        let (mut offsets, mut features, mut counts) = (vec![0], Vec::new(), Vec::new());
        decode(bytes, numbers, &mut offsets, &mut features, &mut counts)?;
        Some((offsets, features, counts))
    }

    #[test]
    fn bytes_are_those_of_the_definition() {
        let last = u32::MAX as usize;
        for (entries, expected) in [
            (vec![], vec![WHOLE]),
            (vec![vec![], vec![]], vec![WHOLE, 0, 0]),
            (vec![vec![(0, 1.0), (1, 1.0), (64, 1.0), (129, 1.0)]], vec![WHOLE, 4, 0, 0, 124, 0x80, 1]),
            (vec![vec![(3, 2.0), (4, 129.0), (5, 130.0)]], vec![WHOLE, 3, 7, 0, 1, 127, 1, 0x80, 1]),
            (vec![vec![], vec![(last, 1.0)]], vec![WHOLE, 0, 1, 0xfe, 0xff, 0xff, 0xff, 0x1f]),
            (vec![vec![(last - 1, 1.0), (last, 1.0)]], vec![WHOLE, 2, 0xfc, 0xff, 0xff, 0xff, 0x1f, 0]),
            (
                vec![vec![(1, 1.0), (130, 0.5)]],
                vec![SCALARS, 2, 1, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x80, 1, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f],
            ),
        ] {
            let (bags, mut bytes) = (bags(&entries), vec![]);
            encode(&bags, &mut bytes);
            assert_eq!(bytes, expected, "{entries:?}");
            let numbers = [entries.len(), bags.indices().len()];
            let tables = (bags.offsets().to_vec(), bags.indices().to_vec(), bags.counts().to_vec());
            assert_eq!(decoded(&bytes, numbers), Some(tables));
            assert!(bytes.len() as u64 >= least(numbers[0] as u64, numbers[1] as u64));
            // Cut anywhere, gone on with, or of other numbers of bags or entries.
            for length in 0..bytes.len() {
                assert_eq!(decoded(&bytes[..length], numbers), None, "{length} of {bytes:?}");
            }
            assert_eq!(decoded(&[&bytes[..], &[0]].concat(), numbers), None);
            for (index, change) in [(0, 1), (0, usize::MAX), (1, 1), (1, usize::MAX)] {
                let mut others = numbers;
                others[index] = others[index].wrapping_add(change);
                if others[index] < usize::MAX {
                    assert_eq!(decoded(&bytes, others), None, "{others:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let nine = [0xff; 9];
        let read = |bytes: &[u8]| {
            let mut rest = bytes;
            take(&mut rest).map(|number| (number, rest.len()))
        };
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX] {
            let mut bytes = vec![];
            put(number, &mut bytes);
            assert_eq!(bytes.len() as u32, (u64::BITS - number.leading_zeros()).div_ceil(7).max(1));
            bytes.push(9);
            assert_eq!(read(&bytes), Some((number, 1)));
        }
        assert_eq!(read(&[&nine[..], &[1]].concat()), Some((u64::MAX, 0)));
        assert_eq!(read(&[&nine[..], &[2]].concat()), None); // 65 bits
        assert_eq!(read(&[&nine[..], &[0x81, 0]].concat()), None); // eleven bytes
        assert_eq!(read(&nine), None);
        // Another form; a feature of 33 bits, at once or after others; a count that is no `f64`, or beyond any.
        assert_eq!(decoded(&[2, 1, 0], [1, 1]), None);
        assert_eq!(decoded(&[2], [0, 0]), None);
        assert_eq!(decoded(&[WHOLE, 1, 0x80, 0x80, 0x80, 0x80, 0x20], [1, 1]), None);
        assert_eq!(decoded(&[WHOLE, 2, 0xfe, 0xff, 0xff, 0xff, 0x1f, 0], [1, 2]), None);
        assert_eq!(decoded(&[&[SCALARS, 1][..], &nine, &[1], &[0; 8]].concat(), [1, 1]), None);
        assert_eq!(decoded(&[&[WHOLE, 1, 1][..], &nine[..7], &[0x7f]].concat(), [1, 1]), None); // 2^56 + 1
        assert_eq!(decoded(&[&[WHOLE, 1, 1][..], &nine, &[1]].concat(), [1, 1]), None); // 2^64 + 1
    }
}
