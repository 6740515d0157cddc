//! Lengths that are encoded as differences, of pages of strings. Such a page is written anew as one of plain values: the library's decoder
//! makes room for as many as the page claims, and for each value that repeats the one before it.

use crate::error::Problem;
use crate::parquet::damaged;
use crate::parquet::thrift::{Walk, Wrong};

const CUT: &str = "a page ends before its values";

/// A page of strings, each after its length; as many as there are. `width` is that of all of them, which then have no length.
///
/// `most` limits the bytes of the page, and the number of values four times.
pub(crate) fn plain(
    data: &[u8],
    shares_prefixes: bool,
    width: Option<usize>,
    most: usize,
) -> Result<Vec<u8>, Problem> {
    let (prefixes, data) = if shares_prefixes { lengths(data, most / 4)? } else { (Vec::new(), data) };
    let (suffixes, mut data) = lengths(data, most / 4)?;
    if shares_prefixes && prefixes.len() != suffixes.len() {
        return Err(damaged(&"a page has other numbers of beginnings and of ends"));
    }
    let mut out: Vec<u8> = Vec::new();
    let mut last = 0..0; // where the value before is
    for (place, &own) in suffixes.iter().enumerate() {
        let shared = prefixes.get(place).copied().unwrap_or(0);
        let suffix = data.get(..own).ok_or_else(|| damaged(&CUT))?;
        data = &data[own..];
        if shared > last.len() {
            return Err(damaged(&"a value repeats more than the one before it has"));
        }
        let length = shared + own;
        if out.len().saturating_add(length).saturating_add(4) > most {
            return Err(damaged(&"a page becomes far longer than it is"));
        }
        match width {
            None => out.extend((length as u32).to_le_bytes()),
            Some(width) if width == length => {}
            Some(_) => return Err(damaged(&"a value is of another length than its type")),
        }
        let start = out.len();
        out.extend_from_within(last.start..last.start + shared);
        out.extend_from_slice(suffix);
        last = start..out.len();
    }
    Ok(out)
}

/// Lengths, and what lies behind them.
fn lengths(data: &[u8], most: usize) -> Result<(Vec<usize>, &[u8]), Problem> {
    let mut rest = data;
    let (block, parts, count, first) =
        taken(&mut rest, |walk| Ok((walk.number()?, walk.number()?, walk.number()?, walk.signed()?)))?;
    if count > most as u64 {
        return Err(damaged(&"a page claims far more values than it has bytes"));
    }
    let run = block.checked_div(parts).unwrap_or(0);
    if run == 0 || run % 32 != 0 || block % parts != 0 || block > 1 << 24 {
        return Err(damaged(&"blocks of lengths are of no size that is allowed"));
    }
    let mut found = Vec::new();
    let mut value = first;
    let mut take = |value: i64| -> Result<(), Problem> {
        let length = u32::try_from(value).ok().filter(|&length| length <= i32::MAX as u32);
        found.push(length.ok_or_else(|| damaged(&"a length is below zero"))? as usize);
        Ok(())
    };
    let mut left = count;
    if left > 0 {
        take(value)?;
        left -= 1;
    }
    while left > 0 {
        let least = taken(&mut rest, |walk| walk.signed())?;
        let widths = rest.get(..parts as usize).ok_or_else(|| damaged(&CUT))?;
        rest = &rest[widths.len()..];
        for &width in widths {
            if left == 0 {
                break; // what has no values has no bytes
            }
            if width > 64 {
                return Err(damaged(&"a length has more than 64 bits"));
            }
            let bytes = (run as usize / 8) * usize::from(width);
            let packed = rest.get(..bytes).ok_or_else(|| damaged(&CUT))?;
            rest = &rest[bytes..];
            for place in 0..run.min(left) as usize {
                value = value.wrapping_add(least).wrapping_add(bits(packed, place, usize::from(width)));
                take(value)?;
            }
            left -= run.min(left);
        }
    }
    Ok((found, rest))
}

/// The number of `width` bits at a place, the lowest bits first.
fn bits(packed: &[u8], place: usize, width: usize) -> i64 {
    let (start, end) = (place * width, (place + 1) * width);
    let bytes = &packed[start / 8..end.div_ceil(8)];
    let number = bytes.iter().rev().fold(0u128, |number, &byte| number << 8 | u128::from(byte));
    (number >> (start % 8) & ((1u128 << width) - 1)) as u64 as i64
}

/// What a number is read as, in as many bytes as it takes.
fn taken<T>(rest: &mut &[u8], read: impl FnOnce(&mut Walk<'_>) -> Result<T, Wrong>) -> Result<T, Problem> {
    let mut walk = Walk::new(rest);
    let number = read(&mut walk).map_err(|wrong| match wrong {
        Wrong::Short => damaged(&CUT),
        Wrong::Damaged(what) => damaged(&what),
    })?;
    *rest = walk.rest();
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet::thrift::number;

    /// Lengths in blocks of so many, of so many parts, the first of them this; `blocks` has what follows.
    fn head(block: u64, parts: u64, count: u64, first: u64, blocks: &[u8]) -> Vec<u8> {
        [&[block, parts, count, 2 * first].map(number).concat()[..], blocks].concat()
    }

    /// So many lengths that are all the same.
    fn same(count: u64, length: u64) -> Vec<u8> {
        head(128, 1, count, length, &[0, 0].repeat(count.saturating_sub(1).div_ceil(128) as usize))
    }

    fn says<T: std::fmt::Debug>(refused: Result<T, Problem>) -> String {
        refused.unwrap_err().to_string()
    }

    #[test]
    fn strings_are_written_after_their_lengths() {
        let page = [&same(2, 2)[..], b"anbe"].concat();
        assert_eq!(plain(&page, false, None, 100).unwrap(), b"\x02\0\0\0an\x02\0\0\0be");
        assert_eq!(plain(&page, false, Some(2), 100).unwrap(), b"anbe");
        let said = says(plain(&page, false, Some(3), 100));
        assert!(said.contains("a value is of another length than its type"), "{said}");
        // Beginnings of 0 and 1 letters, and the ends.
        let shared = [&head(128, 1, 2, 0, &[2, 0])[..], &same(2, 2), b"antt"].concat();
        assert_eq!(plain(&shared, true, Some(2), 100).map_err(|_| ()), Err(()));
        assert_eq!(plain(&shared, true, None, 100).unwrap(), b"\x02\0\0\0an\x03\0\0\0att");
    }

    #[test]
    fn a_page_has_as_many_values_and_bytes_as_it_may() {
        // Each of 25 empty values takes the four bytes of its length.
        assert_eq!(plain(&same(25, 0), false, None, 100).unwrap(), [0; 100]);
        let claims = "a page claims far more values than it has bytes";
        assert!(says(plain(&same(26, 0), false, None, 100)).contains(claims));
        let beginnings = [same(26, 0), same(1, 0)].concat();
        assert!(says(plain(&beginnings, true, None, 100)).contains(claims));
        let ends = [same(1, 0), same(26, 0)].concat();
        assert!(says(plain(&ends, true, None, 100)).contains(claims));
        let differ = [same(2, 0), same(1, 0)].concat();
        assert!(says(plain(&differ, true, None, 100)).contains("other numbers of beginnings and of ends"));
        let long = [&same(1, 97)[..], &[b'a'; 97]].concat();
        assert!(says(plain(&long, false, None, 100)).contains("a page becomes far longer than it is"));
    }

    #[test]
    fn blocks_are_of_sizes_that_are_allowed() {
        let of = |block, parts| lengths(&head(block, parts, 1, 3, &[]), 9).map(|(lengths, _)| lengths);
        for (block, parts) in [(32, 1), (64, 2), (128, 4), (1 << 24, 1)] {
            assert_eq!(of(block, parts).unwrap(), [3], "{block} {parts}");
        }
        for (block, parts) in [(128, 0), (0, 1), (40, 1), (16, 1), (65, 2), ((1 << 24) + 32, 1)] {
            let said = says(of(block, parts));
            assert!(
                said.contains("blocks of lengths are of no size that is allowed"),
                "{block} {parts}: {said}"
            );
        }
    }

    #[test]
    fn a_length_has_64_bits_at_most() {
        let wide = |width: u8| [&[0, width][..], &[3], &[0; 32 * 8 + 3]].concat();
        let page = |width| head(32, 1, 2, 5, &wide(width));
        let (page64, page65) = (page(64), page(65));
        let (found, rest) = lengths(&page64, 9).unwrap();
        assert_eq!((found, rest), (vec![5, 8], &[0; 4][..]));
        assert!(says(lengths(&page65, 9)).contains("a length has more than 64 bits"));
    }
}
