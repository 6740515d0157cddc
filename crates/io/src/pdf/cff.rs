//! The encoding in a font program in the Compact Font Format (Adobe Technical Note 5176).

use super::font::ascii;
use super::glyphs::{letters, text_of};

/// Standard strings from 150 on, which are characters; before them are those of Adobe's standard encoding in their order.
const FURTHER: &str = "¹¬µ™Ð½±Þ¼÷¦°þ¾²®−ð×³©ÁÂÄÀÅÃÇÉÊËÈÍÎÏÌÑÓÔÖÒÕŠÚÛÜÙÝŸŽáâäàåãçéêëèíîïìñóôöòõšúûüùýÿž";

/// Standard strings; the font's own come after them.
const STRINGS: usize = 391;

fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

/// Where the parts of an index begin and end, and where it ends itself.
fn index(bytes: &[u8], at: usize) -> Option<(Vec<(usize, usize)>, usize)> {
    let count = number(bytes, at, 2)?;
    if count == 0 {
        return Some((Vec::new(), at + 2));
    }
    let size = number(bytes, at + 2, 1).filter(|size| (1..=4).contains(size))?;
    let base = at + 3 + (count + 1) * size - 1; // offsets count from 1
    let offset = |n: usize| base.checked_add(number(bytes, at + 3 + n * size, size)?);
    let parts: Option<Vec<_>> = (0..count).map(|n| Some((offset(n)?, offset(n + 1)?))).collect();
    Some((parts?, offset(count)?))
}

/// The operand of an operator in a dictionary: an integer.
fn operand(dict: &[u8], wanted: u8) -> Option<usize> {
    let (mut at, mut last) = (0, None);
    while let Some(&byte) = dict.get(at) {
        at += match byte {
            12 => 2,
            0..=21 if byte == wanted => return last,
            0..=21 => 1,
            28 => {
                last = number(dict, at + 1, 2);
                3
            }
            29 => {
                last = number(dict, at + 1, 4);
                5
            }
            30 => 2 + dict.get(at + 1..)?.iter().position(|byte| byte & 15 == 15 || byte >> 4 == 15)?,
            32..=246 => {
                last = usize::from(byte).checked_sub(139);
                1
            }
            247..=250 => {
                last = Some((usize::from(byte) - 247) * 256 + number(dict, at + 1, 1)? + 108);
                2
            }
            251..=254 => {
                last = None; // it is negative
                2
            }
            _ => 1,
        };
    }
    None
}

/// What codes stand for, by the encoding of the program itself. None if it has a predefined one or is damaged.
pub(super) fn encoding(program: &[u8]) -> Option<Vec<(u8, String)>> {
    let (_, at) = index(program, number(program, 2, 1)?)?;
    let (dicts, at) = index(program, at.min(program.len()))?;
    let (strings, _) = index(program, at.min(program.len()))?;
    let &(start, end) = dicts.first()?;
    let dict = program.get(start..end)?;
    let mut at = operand(dict, 16).filter(|&at| at > 1 && at < program.len())?;
    let charset = operand(dict, 15).unwrap_or(0).min(program.len());
    let format = number(program, at, 1)?;
    let count = number(program, at + 1, 1)?;
    at += 2;
    let mut codes = Vec::new(); // of glyphs from 1 on
    match format & 127 {
        0 => codes.extend_from_slice(program.get(at..at + count)?),
        1 => {
            for n in 0..count {
                let (first, more) = (number(program, at + 2 * n, 1)?, number(program, at + 2 * n + 1, 1)?);
                codes.extend((first..=first + more).filter_map(|code| u8::try_from(code).ok()));
            }
        }
        _ => return None,
    }
    codes.truncate(256); // more are not told apart, and cost time
    let mut names = Vec::with_capacity(codes.len());
    let (kind, mut at) = match charset {
        0 => (None, 0),
        1 | 2 => return None,
        at => (Some(number(program, at, 1)?), at + 1),
    };
    while names.len() < codes.len() {
        match kind {
            None => names.push(names.len() + 1),
            Some(0) => {
                names.push(number(program, at, 2)?);
                at += 2;
            }
            Some(kind @ (1 | 2)) => {
                let (first, more) = (number(program, at, 2)?, number(program, at + 2, kind)?);
                names.extend((first..=first + more).take(codes.len()));
                at += 2 + kind;
            }
            Some(_) => return None,
        }
    }
    let text = |name: usize| {
        let standard =
            || ascii().chain(super::font::STANDARD.chars().filter(|c| *c != ' ')).chain(FURTHER.chars());
        match name.checked_sub(STRINGS) {
            Some(own) => {
                let &(start, end) = strings.get(own)?;
                text_of(&String::from_utf8_lossy(program.get(start..end)?))
            }
            None => standard().nth(name.checked_sub(1)?).map(|c| letters(&String::from(c))),
        }
    };
    Some(codes.into_iter().zip(names).filter_map(|(code, name)| Some((code, text(name)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_names_its_glyphs() {
        // Header; names; a dictionary: charset at 33, encoding at 39; strings: `afii10017`.
        let mut program = vec![1, 0, 4, 1, 0, 1, 1, 1, 2, b'F', 0, 1, 1, 1, 5, 172, 15, 178, 16];
        program.extend([&[0, 1, 1, 1, 10][..], b"afii10017"].concat());
        program.extend([0, 0, 66, 1, 135, 0]); // `a` and the font's first string
        program.extend([0, 2, 7, 9]);
        let found = |program: &[u8]| encoding(program);
        assert_eq!(found(&program).unwrap(), [(7, "a".to_owned()), (9, "А".to_owned())]);
        for end in 0..program.len() {
            assert_eq!(found(&program[..end]), None, "{end}");
        }
        let standard =
            ascii().chain(super::super::font::STANDARD.chars().filter(|c| *c != ' ')).chain(FURTHER.chars());
        assert_eq!(standard.count(), 228);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_program_or_none(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            let program = [&[1, 0, 4, 1, 0, 1, 1, 1, 2, b'F', 0, 1, 1, 1, 5, 172, 15, 178, 16][..], &bytes].concat();
            assert!(encoding(&program).is_none_or(|codes| codes.len() <= 256));
        }
    }
}
