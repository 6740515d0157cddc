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

    /// A program whose dictionary says where these are, one after the other at its end.
    fn program(names: &[u8], strings: &[u8], codes: &[u8], charset: &[u8]) -> Vec<u8> {
        let dict = names.len() + 4;
        let [from, at] =
            [0, codes.len()].map(|more| ((dict + 13 + strings.len() + more) as u16).to_be_bytes());
        let about = [0, 1, 1, 1, 9, 28, at[0], at[1], 15, 28, from[0], from[1], 16];
        [&[1, 0, 4, 1][..], names, &about, strings, codes, charset].concat()
    }

    const NAMES: &[u8] = &[0, 1, 1, 1, 2, b'F'];
    const NONE: &[u8] = &[0, 0];

    fn texts(program: &[u8]) -> Vec<(u8, String)> {
        encoding(program).unwrap()
    }

    fn expected(all: &[(u8, &str)]) -> Vec<(u8, String)> {
        all.iter().map(|&(code, text)| (code, text.to_owned())).collect()
    }

    #[test]
    fn operands_are_integers_of_any_size() {
        let of = |dict: &[u8]| operand(dict, 16);
        assert_eq!(of(&[139, 16]), Some(0));
        assert_eq!(of(&[246, 16]), Some(107));
        assert_eq!(of(&[32, 16]), None); // -107
        assert_eq!(of(&[247, 0, 16]), Some(108));
        assert_eq!(of(&[249, 7, 16]), Some(2 * 256 + 7 + 108));
        assert_eq!(of(&[250, 255, 16]), Some(1131));
        assert_eq!(of(&[28, 3, 5, 16]), Some(3 * 256 + 5));
        assert_eq!(of(&[29, 0, 1, 0, 2, 16]), Some(65_538));
        // The last operand is the operator's, whatever stands before it.
        assert_eq!(of(&[150, 15, 160, 28, 1, 2, 16]), Some(258));
        assert_eq!(of(&[150, 15, 160, 29, 0, 0, 1, 2, 16, 139, 16]), Some(258));
        assert_eq!(of(&[150, 249, 16, 16]), Some(2 * 256 + 16 + 108));
        // A negative number is no place, and its second byte no operator.
        assert_eq!(of(&[150, 251, 16, 16]), None);
        assert_eq!(of(&[150, 254, 0, 16]), None);
        // The second byte of an operator of two is none of its own.
        assert_eq!(of(&[150, 12, 16, 160, 16]), Some(21));
        // Real numbers end with a nibble of 15, whichever half of a byte it is; they leave the operand before them.
        assert_eq!(of(&[150, 30, 16, 0x1f, 16]), Some(11));
        assert_eq!(of(&[150, 30, 0xa1, 16, 0x10, 0xff, 15, 160, 16]), Some(21));
        assert_eq!(of(&[150, 30, 16, 0xf0, 16]), Some(11));
        assert_eq!(of(&[150, 30, 16, 16]), None);
        assert_eq!(of(&[150, 15]), None);
    }

    #[test]
    fn standard_strings_have_their_numbers() {
        let names = program(NAMES, NONE, &[0, 4, 6, 7, 8, 9], &[0, 0, 34, 0, 96, 0, 109, 0, 111]);
        assert_eq!(texts(&names), expected(&[(6, "A"), (7, "¡"), (8, "fi"), (9, "–")]));
    }

    #[test]
    fn parts_of_an_index_have_offsets_of_its_size() {
        let two = [0, 2, 2, 0, 1, 0, 3, 0, 4, b'a', b'b', b'c', 9];
        assert_eq!(index(&two, 0), Some((vec![(9, 11), (11, 12)], 12)));
        assert_eq!(index(&[&[7, 7][..], NONE, &[9]].concat(), 2), Some((Vec::new(), 4)));
        assert_eq!(index(&[0, 1, 5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, b'a'], 0), None);
        // A font without a name, and one whose strings need two bytes to be found.
        let long = [0, 2, 2, 0, 1, 0, 2, 0, 11, b'b', b'a', b'f', b'i', b'i', b'1', b'0', b'0', b'1', b'7'];
        let (codes, charset) = ([0, 2, 65, 66], [0, 1, 135, 1, 136]);
        for names in [NONE, NAMES] {
            let found = texts(&program(names, &long, &codes, &charset));
            assert_eq!(found, expected(&[(65, "b"), (66, "А")]));
        }
    }

    #[test]
    fn codes_and_names_come_alone_or_in_ranges() {
        let codes = [1, 2, 65, 2, 200, 1];
        let letters = [(65, "A"), (66, "B"), (67, "C"), (200, "a"), (201, "b")];
        for charset in [
            &[0, 0, 34, 0, 35, 0, 36, 0, 66, 0, 67][..],
            &[1, 0, 34, 2, 0, 66, 1],
            &[2, 0, 34, 0, 2, 0, 66, 0, 1],
        ] {
            let program = program(NAMES, NONE, &codes, charset);
            assert_eq!(texts(&program), expected(&letters), "{charset:?}");
            assert_eq!(encoding(&program[..program.len() - 1]), None, "{charset:?}");
        }
        // More names than codes, and a range of codes beyond the last of all.
        let program = |codes: &[u8], charset: &[u8]| program(NAMES, NONE, codes, charset);
        assert_eq!(texts(&program(&[0, 1, 7], &[1, 0, 34, 255])), expected(&[(7, "A")]));
        let end = texts(&program(&[1, 1, 254, 9], &[1, 0, 34, 255]));
        assert_eq!(end, expected(&[(254, "A"), (255, "B")]));
        assert_eq!(encoding(&program(&[2, 1, 7], &[0, 0, 34])), None);
        assert_eq!(encoding(&program(&[0, 1, 7], &[3, 0, 34])), None);
    }

    #[test]
    fn glyphs_are_in_the_order_of_standard_strings_if_nothing_else_is_said() {
        // The dictionary says no charset, or the first of those that programs have in common; the second is not read.
        let program = |charset: u8| {
            [&[1, 0, 4, 1][..], NAMES, &[0, 1, 1, 1, 5, 139 + charset, 15, 139 + 21, 16, 0, 0, 0, 3, 7, 8, 9]]
                .concat()
        };
        assert_eq!(program(0)[19..], [0, 0, 0, 3, 7, 8, 9]);
        assert_eq!(texts(&program(0)), expected(&[(7, " "), (8, "!"), (9, "\"")]));
        assert_eq!(encoding(&program(1)), None);
        assert_eq!(encoding(&program(2)), None);
    }

    #[test]
    fn encodings_that_programs_have_in_common_are_not_of_this_one() {
        for common in [0, 1] {
            let dict = [0, 1, 1, 1, 5, 139, 15, 139 + common, 16];
            assert_eq!(encoding(&[&[1, 0, 4, 1][..], NAMES, &dict, NONE].concat()), None, "{common}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_program_or_none(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            let program = [&[1, 0, 4, 1, 0, 1, 1, 1, 2, b'F', 0, 1, 1, 1, 5, 172, 15, 178, 16][..], &bytes].concat();
            assert!(encoding(&program).is_none_or(|codes| codes.len() <= 256));
        }
    }
}
