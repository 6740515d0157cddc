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
