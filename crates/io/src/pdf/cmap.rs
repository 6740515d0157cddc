//! Tables from the codes of a font to characters (Adobe Technical Notes 5014 and 5411), as streams that look like programs.

use super::glyphs::letters;
use super::object::{Lexer, Object, Token};

/// Entries of a table: more than there are codes of two bytes.
const ENTRIES: usize = 1 << 17;

/// Characters of a code: a ligature has a few.
const CHARACTERS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct CMap {
    /// How many bytes codes have whose first byte is in a range.
    lengths: Vec<(u8, u8, usize)>,
    /// The first and the last code, their length, and the text of the first; the last unit of it counts up with the code.
    ranges: Vec<(u32, u32, Box<[u16]>)>,
}

fn code(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |code, &byte| code << 8 | u32::from(byte))
}

fn units(bytes: &[u8]) -> Box<[u16]> {
    match bytes {
        [byte] => [u16::from(*byte)].into(),
        bytes => bytes
            .chunks_exact(2)
            .take(CHARACTERS)
            .map(|unit| u16::from_be_bytes([unit[0], unit[1]]))
            .collect(),
    }
}

impl CMap {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let (mut map, mut lexer, mut operands) = (Self::default(), Lexer::of_contents(bytes), Vec::new());
        let mut parts = 0;
        while let Some(token) = lexer.token() {
            match token {
                Token::Object(object) => {
                    parts += lexer.parts;
                    if parts > ENTRIES {
                        operands.clear(); // the standard allows a hundred entries at a time
                    }
                    operands.push(object);
                    continue;
                }
                Token::Word(b"endcodespacerange") => {
                    for pair in operands.chunks_exact(2) {
                        let (Some(low), Some(high)) = (pair[0].string(), pair[1].string()) else { continue };
                        if let (Some(&first), Some(&last), 1..=4) = (low.first(), high.first(), low.len()) {
                            map.lengths.push((first, last, low.len()));
                        }
                    }
                    map.lengths.truncate(256);
                }
                Token::Word(b"endbfchar") => {
                    for pair in operands.chunks_exact(2) {
                        if let (Some(from), Some(to)) = (pair[0].string(), pair[1].string()) {
                            map.insert(code(from), code(from), units(to));
                        }
                    }
                }
                Token::Word(b"endbfrange") => {
                    for three in operands.chunks_exact(3) {
                        let (Some(low), Some(high)) = (three[0].string(), three[1].string()) else {
                            continue;
                        };
                        let (low, high) = (code(low), code(high));
                        match &three[2] {
                            Object::String(to) => map.insert(low, high, units(to)),
                            Object::Array(each) => {
                                for (code, to) in (low..=high).zip(each.iter()) {
                                    map.insert(code, code, units(to.string().unwrap_or_default()));
                                }
                            }
                            _ => {}
                        }
                    }
                }
                Token::Word(_) => {}
            }
            operands.clear();
            parts = 0;
        }
        map.ranges.sort_by_key(|&(low, ..)| low);
        map
    }

    fn insert(&mut self, low: u32, high: u32, units: Box<[u16]>) {
        if low <= high && !units.is_empty() && self.ranges.len() < ENTRIES {
            self.ranges.push((low, high, units));
        }
    }

    /// How large it is, in entries.
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// How many bytes the code has that begins so; none where the table does not say it.
    pub(super) fn length(&self, first: u8) -> Option<usize> {
        let range = self.lengths.iter().find(|(low, high, _)| (*low..=*high).contains(&first));
        range.map(|&(.., length)| length)
    }

    /// What a code stands for, if it is known.
    pub(super) fn text(&self, code: u32) -> Option<String> {
        let after = self.ranges.partition_point(|&(low, ..)| low <= code);
        let (low, _, units) = self.ranges[..after].last().filter(|(_, high, _)| code <= *high)?;
        let mut units = units.to_vec();
        let last = units.last_mut()?;
        *last = last.wrapping_add((code - low) as u16);
        Some(letters(&String::from_utf16_lossy(&units))).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_ranges() {
        let map = CMap::read(
            b"/CIDInit /ProcSet findresource begin 1 begincodespacerange <0000> <FFFF> endcodespacerange \
              2 beginbfrange <0000> <005E> <0020> <005F> <0061> [<00660066> <00660069> <FB03>] endbfrange \
              1 beginbfchar <3A51> <D840DC3E> endbfchar 1 beginbfchar <0100> <E001> endbfchar",
        );
        assert_eq!((map.length(7), map.len()), (Some(2), 6));
        let text = |code| map.text(code);
        assert_eq!(
            (text(0x21).as_deref(), text(0x5f).as_deref(), text(0x61).as_deref()),
            (Some("A"), Some("ff"), Some("ffi"))
        );
        assert_eq!((text(0x3a51).as_deref(), text(0x62), text(0x100)), (Some("\u{2003e}"), None, None));
    }

    #[test]
    fn ranges_that_claim_much_take_no_memory() {
        let map = CMap::read(b"begincodespacerange <> <> endcodespacerange beginbfrange <00000000> <ffffffff> <0041> <05> <01> <41> endbfrange");
        assert_eq!((map.len(), map.length(0)), (1, None));
        assert_eq!(map.text(u32::MAX).as_deref(), Some("@"));
    }
}
