//! How streams are compressed (ISO 32000-1, 7.4), but for pictures. No filter writes more than it is allowed.

use flate2::{Decompress, FlushDecompress, Status};

/// Why a stream was not decoded.
#[derive(Debug, PartialEq)]
pub(super) enum Bad {
    /// It is longer than allowed.
    TooLong,
    Damaged,
    /// A picture, or compressed in a way that is not known.
    Unknown,
}

/// How bytes were changed so that they compress better.
#[derive(Clone, Copy)]
pub(super) struct Predictor {
    pub(super) kind: usize,
    pub(super) colors: usize,
    pub(super) bits: usize,
    pub(super) columns: usize,
    /// Of LZW: whether codes become longer one code early.
    pub(super) is_early: bool,
}

/// Undoes one filter; what comes out has at most `limit` bytes.
pub(super) fn decode(filter: &[u8], data: &[u8], about: Predictor, limit: usize) -> Result<Vec<u8>, Bad> {
    match filter {
        b"FlateDecode" | b"Fl" => unpredict(inflate(data, limit)?, about),
        b"LZWDecode" | b"LZW" => unpredict(lzw(data, about.is_early, limit)?, about),
        b"ASCII85Decode" | b"A85" => ascii85(data, limit),
        b"ASCIIHexDecode" | b"AHx" => ascii_hex(data, limit),
        b"RunLengthDecode" | b"RL" => run_length(data, limit),
        _ => Err(Bad::Unknown),
    }
}

/// Deflate behind a header of two bytes. The checksum, which some programs write wrong, is not looked at.
fn inflate(data: &[u8], limit: usize) -> Result<Vec<u8>, Bad> {
    let mut rest = data.get(2..).ok_or(Bad::Damaged)?;
    let (mut stream, mut out) = (Decompress::new(false), Vec::new());
    loop {
        if out.len() > limit {
            return Err(Bad::TooLong);
        }
        out.reserve(rest.len().clamp(1 << 10, 1 << 16));
        let (read, written) = (stream.total_in(), out.len());
        let status =
            stream.decompress_vec(rest, &mut out, FlushDecompress::None).map_err(|_| Bad::Damaged)?;
        let read = (stream.total_in() - read) as usize;
        rest = &rest[read..];
        match status {
            Status::StreamEnd if out.len() > limit => return Err(Bad::TooLong),
            Status::StreamEnd => return Ok(out),
            _ if read == 0 && written == out.len() => return Err(Bad::Damaged), // it ends too early
            _ => {}
        }
    }
}

fn lzw(data: &[u8], is_early: bool, limit: usize) -> Result<Vec<u8>, Bad> {
    const CLEAR: usize = 256;
    let mut out: Vec<u8> = Vec::new();
    let mut table: Vec<(usize, usize)> = Vec::new(); // of codes from 258: where in what was written
    let (mut bits, mut held, mut width, mut last) = (0_u32, 0, 9, None::<(usize, usize)>);
    for &byte in data {
        bits = bits << 8 | u32::from(byte);
        held += 8;
        if held < width {
            continue;
        }
        held -= width;
        let code = (bits >> held) as usize & ((1 << width) - 1);
        bits &= (1 << held) - 1;
        let start = out.len();
        match code {
            CLEAR => {
                table.clear();
                (width, last) = (9, None);
                continue;
            }
            257 => return Ok(out),
            code if code < CLEAR => out.push(code as u8),
            code => {
                let known = table.get(code - 258).copied();
                // The code just being made: what was last written, and its first byte once more.
                let (from, to) = known.or(last.filter(|_| code - 258 == table.len())).ok_or(Bad::Damaged)?;
                if out.len() + (to - from) > limit {
                    return Err(Bad::TooLong);
                }
                out.extend_from_within(from..to);
                if known.is_none() {
                    out.push(out[from]);
                }
            }
        }
        if out.len() > limit {
            return Err(Bad::TooLong);
        }
        if let Some((from, to)) = last.filter(|_| table.len() < 4096 - 258) {
            table.push((from, to + 1)); // what follows it there is the first byte of this one
        }
        last = Some((start, out.len()));
        width = match table.len() + 258 + usize::from(is_early) {
            ..512 => 9,
            512..1024 => 10,
            1024..2048 => 11,
            _ => 12,
        };
    }
    Ok(out) // many end without saying so
}

fn ascii85(data: &[u8], limit: usize) -> Result<Vec<u8>, Bad> {
    let (mut out, mut group) = (Vec::new(), Vec::with_capacity(5));
    let flush = |group: &mut Vec<u8>, out: &mut Vec<u8>| {
        let digits = group.len();
        if digits == 0 {
            return Ok(());
        }
        group.resize(5, 84);
        let value = group.iter().fold(0_u64, |value, &digit| value * 85 + u64::from(digit));
        let bytes = u32::try_from(value).map_err(|_| Bad::Damaged)?.to_be_bytes();
        out.extend_from_slice(&bytes[..digits.saturating_sub(1)]);
        group.clear();
        if out.len() > limit { Err(Bad::TooLong) } else { Ok(()) }
    };
    for &byte in data {
        match byte {
            b'!'..=b'u' => {
                group.push(byte - b'!');
                if group.len() == 5 {
                    flush(&mut group, &mut out)?;
                }
            }
            b'z' if group.is_empty() => {
                out.extend_from_slice(&[0; 4]);
                if out.len() > limit {
                    return Err(Bad::TooLong);
                }
            }
            b'~' => break,
            byte if super::object::is_blank(byte) => {}
            _ => return Err(Bad::Damaged),
        }
    }
    flush(&mut group, &mut out)?;
    Ok(out)
}

fn ascii_hex(data: &[u8], limit: usize) -> Result<Vec<u8>, Bad> {
    if data.len() / 2 > limit {
        return Err(Bad::TooLong);
    }
    let mut digits = Vec::new();
    for &byte in data {
        match byte {
            b'>' => break,
            byte if super::object::is_blank(byte) => {}
            byte => digits.push(char::from(byte).to_digit(16).ok_or(Bad::Damaged)? as u8),
        }
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect())
}

fn run_length(data: &[u8], limit: usize) -> Result<Vec<u8>, Bad> {
    let (mut out, mut rest) = (Vec::new(), data);
    while let [length, after @ ..] = rest {
        match *length {
            128 => break,
            length @ ..128 => {
                let run = usize::from(length) + 1;
                out.extend_from_slice(after.get(..run).ok_or(Bad::Damaged)?);
                rest = &after[run..];
            }
            length => {
                let (&byte, after) = after.split_first().ok_or(Bad::Damaged)?;
                out.resize(out.len() + 257 - usize::from(length), byte);
                rest = after;
            }
        }
        if out.len() > limit {
            return Err(Bad::TooLong);
        }
    }
    Ok(out)
}

/// Undoes PNG's and TIFF's ways of writing differences, of rows of bytes each.
fn unpredict(mut data: Vec<u8>, about: Predictor) -> Result<Vec<u8>, Bad> {
    let Predictor { kind, colors, bits, columns, .. } = about;
    if kind < 2 {
        return Ok(data);
    }
    if !(1..=32).contains(&colors) || !matches!(bits, 1 | 2 | 4 | 8 | 16) || !(1..=1 << 24).contains(&columns)
    {
        return Err(Bad::Damaged);
    }
    let (row, step) = ((columns * colors * bits).div_ceil(8), (colors * bits).div_ceil(8));
    if kind == 2 {
        if bits != 8 {
            return Err(Bad::Unknown); // pictures only
        }
        for row in data.chunks_mut(row) {
            for at in step..row.len() {
                row[at] = row[at].wrapping_add(row[at - step]);
            }
        }
        return Ok(data);
    }
    // Each row has a byte in front that says how it was written.
    let mut out: Vec<u8> = Vec::with_capacity(data.len());
    for line in data.chunks(row + 1) {
        let (&kind, line) = line.split_first().ok_or(Bad::Damaged)?;
        let start = out.len();
        for (at, &byte) in line.iter().enumerate() {
            let left = if at < step { 0 } else { out[start + at - step] };
            let up = if start < row { 0 } else { out[start + at - row] };
            let corner = if start < row || at < step { 0 } else { out[start + at - row - step] };
            let guess = match kind {
                0 => 0,
                1 => left,
                2 => up,
                3 => (u16::from(left) + u16::from(up)).div_euclid(2) as u8,
                4 => paeth(left, up, corner),
                _ => return Err(Bad::Damaged),
            };
            out.push(byte.wrapping_add(guess));
        }
    }
    Ok(out)
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let guess = i16::from(left) + i16::from(up) - i16::from(corner);
    let off = |byte: u8| (guess - i16::from(byte)).abs();
    if off(left) <= off(up) && off(left) <= off(corner) {
        left
    } else if off(up) <= off(corner) {
        up
    } else {
        corner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::io::Write;

    const PLAIN: Predictor = Predictor { kind: 1, colors: 1, bits: 8, columns: 1, is_early: true };

    fn text(filter: &str, data: &[u8]) -> Vec<u8> {
        decode(filter.as_bytes(), data, PLAIN, 1 << 10).unwrap()
    }

    #[test]
    fn filters_of_the_standard() {
        assert_eq!(text("A85", b"87cURD]i,\"Ebo80~>"), b"Hello World!");
        assert_eq!(text("A85", b"z87c~>"), b"\0\0\0\0He");
        assert_eq!(text("AHx", b"48 65 6C6c 7>"), b"Hellp");
        assert_eq!(text("RL", b"\x02abc\xfed\x80zz"), b"abcddd");
        // ISO 32000-1, 7.4.4.2: 45 45 45 45 45 65 45 45 45 66.
        assert_eq!(text("LZW", b"\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01"), b"-----A---B");
        assert_eq!(decode(b"DCTDecode", b"", PLAIN, 9), Err(Bad::Unknown));
    }

    /// LZW as the standard describes it, with a table of byte strings.
    fn lzw_of(data: &[u8], is_early: bool) -> Vec<u8> {
        let mut bits: Vec<bool> = Vec::new();
        let mut put = |code: usize, codes: usize| {
            // Who reads knows an entry less.
            let width = match codes.saturating_sub(1) + 258 + usize::from(is_early) {
                ..512 => 9,
                512..1024 => 10,
                1024..2048 => 11,
                _ => 12,
            };
            bits.extend((0..width).rev().map(|bit| code >> bit & 1 == 1));
        };
        put(256, 0);
        let (mut known, mut codes, mut held) = (HashMap::<Vec<u8>, usize>::new(), 0, Vec::new());
        let code_of = |known: &HashMap<Vec<u8>, usize>, held: &[u8]| match held {
            [byte] => usize::from(*byte),
            _ => known[held],
        };
        for &byte in data {
            let longer = [&held[..], &[byte]].concat();
            if longer.len() == 1 || known.contains_key(&longer) {
                held = longer;
                continue;
            }
            put(code_of(&known, &held), codes);
            codes += 1;
            known.insert(longer, 258 + known.len());
            held = vec![byte];
            if known.len() == 4096 - 258 - 1 {
                put(256, codes);
                known.clear();
                codes = 0;
            }
        }
        if !held.is_empty() {
            put(code_of(&known, &held), codes);
            codes += 1;
        }
        put(257, codes);
        bits.chunks(8)
            .map(|bits| bits.iter().rev().fold(0, |byte, &bit| byte >> 1 | u8::from(bit) << 7))
            .collect()
    }

    #[test]
    fn differences_are_undone() {
        let about = |kind, colors, columns| Predictor { kind, colors, columns, ..PLAIN };
        assert_eq!(unpredict(vec![1, 1, 1, 5, 1, 1], about(2, 1, 3)).unwrap(), [1, 2, 3, 5, 6, 7]);
        let rows = [0, 1, 2, 1, 3, 4, 2, 1, 1, 3, 2, 2, 4, 1, 1];
        assert_eq!(unpredict(rows.to_vec(), about(12, 1, 2)).unwrap(), [1, 2, 3, 7, 4, 8, 4, 8, 5, 9]);
        assert!(unpredict(vec![9, 1], about(15, 1, 1)).is_err());
        assert!(unpredict(vec![0, 1], about(15, 0, 1)).is_err());
    }

    #[test]
    fn no_filter_writes_more_than_it_may() {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(&[b' '; 1 << 20]).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(decode(b"Fl", &packed, PLAIN, 1 << 20).unwrap().len(), 1 << 20);
        assert_eq!(decode(b"Fl", &packed, PLAIN, (1 << 20) - 1), Err(Bad::TooLong));
        assert_eq!(decode(b"Fl", &packed[..packed.len() / 2], PLAIN, 1 << 20), Err(Bad::Damaged));
        assert_eq!(decode(b"RL", &[129, b'a'].repeat(100), PLAIN, 1000), Err(Bad::TooLong));
        assert_eq!(decode(b"A85", &[b'z'; 100], PLAIN, 300), Err(Bad::TooLong));
    }

    #[test]
    fn a_limit_is_what_may_be_written() {
        let limit = |filter: &str, data: &[u8], limit| decode(filter.as_bytes(), data, PLAIN, limit);
        let mut empty = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        empty.write_all(b"").unwrap();
        assert_eq!(limit("Fl", &empty.finish().unwrap(), 0), Ok(Vec::new()));
        for (filter, data, out) in [
            ("A85", &b"87cUR87cUR"[..], &b"HellHell"[..]),
            ("A85", b"zz", &[0; 8]),
            ("AHx", b"414243", b"ABC"),
            ("RL", b"\x02abc", b"abc"),
            ("RL", b"\xfed", b"ddd"),
        ] {
            assert_eq!(limit(filter, data, out.len()).as_deref(), Ok(out), "{filter}");
            assert_eq!(limit(filter, data, out.len() - 1), Err(Bad::TooLong), "{filter}");
        }
    }

    #[test]
    fn what_no_filter_writes_is_damaged() {
        for (filter, data) in [
            ("A85", &b"87z~>"[..]),
            ("A85", b"87\x80~>"),
            ("A85", b"uuuuu"),
            ("AHx", b"4g>"),
            ("RL", b"\x02ab"),
            ("RL", b"\xfe"),
        ] {
            assert_eq!(decode(filter.as_bytes(), data, PLAIN, 99), Err(Bad::Damaged), "{filter} {data:?}");
        }
        assert_eq!(text("A85", b" 8\n7c UR~>"), b"Hell");
    }

    #[test]
    fn the_last_code_may_end_with_the_last_byte() {
        // Eight codes of nine bits.
        let bits: Vec<u8> = b"ABCDEFGH"
            .iter()
            .flat_map(|byte| (0..9).rev().map(move |bit| (u16::from(*byte) >> bit & 1) as u8))
            .collect();
        let bytes: Vec<u8> =
            bits.chunks(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | bit)).collect();
        assert_eq!(text("LZW", &bytes), b"ABCDEFGH");
    }

    #[test]
    fn shapes_that_no_rows_have_are_damaged() {
        let shape = |colors, bits, columns| {
            unpredict(vec![0; 8], Predictor { kind: 15, colors, bits, columns, ..PLAIN })
        };
        assert!(shape(1, 8, 1).is_ok());
        for (colors, bits, columns) in
            [(0, 8, 1), (33, 8, 1), (1, 3, 1), (1, 0, 1), (1, 8, 0), (1, 8, (1 << 24) + 1)]
        {
            assert_eq!(shape(colors, bits, columns), Err(Bad::Damaged), "{colors} {bits} {columns}");
        }
        assert_eq!(unpredict(vec![0; 8], Predictor { kind: 2, bits: 4, ..PLAIN }), Err(Bad::Unknown));
        // Two rows of two pixels, of two bytes each.
        let pixels = unpredict(
            vec![1, 2, 3, 4, 10, 20, 30, 40],
            Predictor { kind: 2, colors: 2, columns: 2, ..PLAIN },
        );
        assert_eq!(pixels.unwrap(), [1, 2, 4, 6, 10, 20, 40, 60]);
    }

    proptest::proptest! {
        /// The rows of PNG (its section 9), each written as its first byte says.
        #[test]
        fn rows_of_differences_are_undone(
            (colors, bits, columns, data) in (1_usize..4, proptest::sample::select(vec![4_usize, 8, 16]), 1_usize..5, proptest::collection::vec(0..40_u8, 0..60)),
            kinds in proptest::collection::vec(0..5_u8, 60),
        ) {
            let (row, step) = ((colors * bits * columns).div_ceil(8), (colors * bits).div_ceil(8));
            let rows: Vec<&[u8]> = data.chunks_exact(row).collect();
            // Bytes above the first row and to the left of the first pixel are 0.
            let byte = |line: usize, at: usize| if line == 0 || at < step { 0 } else { rows[line - 1][at - step] };
            let mut written = Vec::new();
            for (line, &kind) in (1..=rows.len()).zip(&kinds) {
                written.push(kind);
                for at in step..row + step {
                    let (left, up, corner) = (byte(line, at - step), byte(line - 1, at), byte(line - 1, at - step));
                    let expected = i32::from(left) + i32::from(up) - i32::from(corner);
                    let guess = match kind {
                        0 => 0,
                        1 => left,
                        2 => up,
                        3 => ((u32::from(left) + u32::from(up)) / 2) as u8,
                        _ => [left, up, corner].into_iter().min_by_key(|&byte| (expected - i32::from(byte)).abs()).unwrap(),
                    };
                    written.push(byte(line, at).wrapping_sub(guess));
                }
            }
            let about = Predictor { kind: 15, colors, bits, columns, ..PLAIN };
            proptest::prop_assert_eq!(unpredict(written, about).unwrap(), rows.concat());
        }

        /// Up to where the table is full and is begun again; one byte less than there is is too little.
        #[test]
        fn lzw_gives_what_was_packed(data in proptest::collection::vec(0..64_u8, 1..20_000), letters in 1..64_u8, is_early: bool) {
            let data: Vec<u8> = data.iter().map(|byte| byte % letters).collect();
            let (packed, about) = (lzw_of(&data, is_early), Predictor { is_early, ..PLAIN });
            proptest::prop_assert!(decode(b"LZW", &packed, about, data.len()).unwrap() == data);
            proptest::prop_assert_eq!(decode(b"LZW", &packed, about, data.len() - 1), Err(Bad::TooLong));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(data in proptest::collection::vec(proptest::num::u8::ANY, 0..80), kind in 0_usize..16, columns in 0_usize..9) {
            for filter in ["Fl", "LZW", "A85", "AHx", "RL"] {
                if let Ok(out) = decode(filter.as_bytes(), &data, Predictor { kind, columns, ..PLAIN }, 100) {
                    assert!(out.len() <= 100);
                }
            }
        }
    }
}
