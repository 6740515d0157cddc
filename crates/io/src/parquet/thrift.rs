//! What the metadata of a Parquet file claims, walked before the library makes room for it; and the headers of pages. It is
//! in the compact protocol of Thrift.

/// Why it cannot be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It ends too early.
    Short,
    Damaged(&'static str),
}

type Walked<T> = Result<T, Wrong>;

/// Structures in structures, of the metadata and of the schema.
const DEPTH: usize = 64;

/// Bytes that a description of a column of a row group takes at least: of its type, its codec, its sizes and its places.
const COLUMN: usize = 16;

/// Bytes of an element of a list of other structures.
const ELEMENT: usize = 3;

// Types of fields.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn byte(&mut self) -> Walked<u8> {
        let byte = *self.bytes.get(self.at).ok_or(Wrong::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn pass(&mut self, bytes: u64) -> Walked<()> {
        let end = usize::try_from(bytes).ok().and_then(|bytes| self.at.checked_add(bytes));
        self.at = end.filter(|&end| end <= self.bytes.len()).ok_or(Wrong::Short)?;
        Ok(())
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// A number of seven bits a byte, the lowest first.
    pub(crate) fn number(&mut self) -> Walked<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Wrong::Damaged("a number has no end"))
    }

    /// The same with the sign in the lowest bit.
    pub(crate) fn signed(&mut self) -> Walked<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Calls `each` with the number and type of each field of a structure; it takes the value.
    fn fields(&mut self, mut each: impl FnMut(&mut Self, i64, u8) -> Walked<()>) -> Walked<()> {
        let mut field = 0;
        loop {
            let byte = self.byte()?;
            let kind = byte & 15;
            if kind == 0 {
                return Ok(());
            }
            // As the library reads it.
            let full = byte >> 4 == 0;
            field = if full { i64::from(self.signed()? as i16) } else { field + i64::from(byte >> 4) };
            each(self, field, kind)?;
        }
    }

    /// The length and the type of the elements of a list.
    fn list(&mut self) -> Walked<(u64, u8)> {
        let byte = self.byte()?;
        let length = if byte >> 4 == 15 { self.number()? } else { u64::from(byte >> 4) };
        if length > (self.bytes.len() - self.at) as u64 {
            return Err(Wrong::Short);
        }
        Ok((length, byte & 15))
    }

    /// Calls `each` at each structure of a list, which together have so many bytes each.
    fn structs(&mut self, least: usize, mut each: impl FnMut(&mut Self) -> Walked<()>) -> Walked<()> {
        let (length, kind) = self.list()?;
        if length > 0 && kind != STRUCT {
            return Err(Wrong::Damaged("a list of its metadata is of another type"));
        }
        let start = self.at;
        for _ in 0..length {
            each(self)?;
        }
        if ((self.at - start) as u64) < length.saturating_mul(least as u64) {
            return Err(Wrong::Damaged("its metadata claims more than it holds"));
        }
        Ok(())
    }

    /// Passes over a value; `depth` is how deep it may be.
    fn skip(&mut self, kind: u8, depth: usize) -> Walked<()> {
        let depth = depth.checked_sub(1).ok_or(Wrong::Damaged("its metadata is nested too deeply"))?;
        match kind {
            TRUE | FALSE => Ok(()),
            3 => self.pass(1),
            4..=6 => self.number().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.number()?;
                self.pass(length)
            }
            LIST | 10 => {
                let at = self.at;
                let (length, kind) = self.list()?;
                if kind == STRUCT {
                    self.at = at;
                    return self.structs(ELEMENT, |walk| walk.skip(STRUCT, depth));
                }
                // A truth value takes a byte here.
                (0..length).try_for_each(|_| self.skip(if kind <= FALSE { 3 } else { kind }, depth))
            }
            STRUCT => self.fields(|walk, _, kind| walk.skip(kind, depth)),
            _ => Err(Wrong::Damaged("its metadata has a field of no type")),
        }
    }
}

/// Walks through the metadata of a file: everything is there, and neither lists nor the schema claim more than that.
pub(crate) fn check_metadata(bytes: &[u8]) -> Walked<()> {
    const TYPE: Wrong = Wrong::Damaged("a field of its metadata is of another type");
    let mut children = Vec::new();
    Walk::new(bytes).fields(|walk, field, kind| match (field, kind) {
        (2, LIST) if children.is_empty() => walk.structs(ELEMENT, |walk| {
            let mut own = 0;
            walk.fields(|walk, field, kind| match (field, kind) {
                (5, I32) => walk.signed().map(|number| own = number as i32),
                (5, _) => Err(TYPE),
                _ => walk.skip(kind, DEPTH),
            })?;
            children.push(own);
            Ok(())
        }),
        (4, LIST) => walk.structs(COLUMN, |walk| {
            walk.fields(|walk, field, kind| match (field, kind) {
                (1, LIST) => walk.structs(COLUMN, |walk| walk.skip(STRUCT, DEPTH)),
                (1, _) => Err(TYPE),
                _ => walk.skip(kind, DEPTH),
            })
        }),
        (2 | 4, _) => Err(TYPE),
        _ => walk.skip(kind, DEPTH),
    })?;
    // Each element is followed by its children.
    let mut open: Vec<u64> = Vec::new();
    for &own in &children {
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        let own = u64::try_from(own).unwrap_or(0);
        if own > children.len() as u64 {
            return Err(Wrong::Damaged("its schema claims more columns than it has"));
        }
        if own > 0 {
            open.push(own);
        }
        if open.len() > DEPTH {
            return Err(Wrong::Damaged("its schema is nested too deeply"));
        }
    }
    Ok(())
}

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    /// Of the second version: its levels lie before its values, uncompressed.
    DataV2,
    Dictionary,
    Other,
}

/// The header of a page. Numbers that it does not give are -1.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) uncompressed: i64,
    pub(crate) compressed: i64,
    pub(crate) crc: Option<u32>,
    /// The fields of its own kind by their numbers, 0 unused.
    pub(crate) own: [i64; 8],
    /// Whether values of a page of the second version are compressed.
    pub(crate) is_compressed: bool,
}

/// The header of the page that begins here, and how long it is.
pub(crate) fn header(bytes: &[u8]) -> Walked<(Header, usize)> {
    let mut walk = Walk::new(bytes);
    let (mut kind, mut sizes, mut crc, mut is_compressed) = (-1, [-1; 2], None, true);
    let mut owns = [[-1i64; 8]; 3];
    walk.fields(|walk, field, found| match (field, found) {
        (1, I32) => walk.signed().map(|number| kind = number),
        (2, I32) => walk.signed().map(|number| sizes[0] = number),
        (3, I32) => walk.signed().map(|number| sizes[1] = number),
        (4, I32) => walk.signed().map(|number| crc = Some(number as u32)),
        (5 | 7 | 8, STRUCT) => {
            let own = &mut owns[match field {
                5 => 0,
                7 => 1,
                _ => 2,
            }];
            walk.fields(|walk, number, found| match (usize::try_from(number), found) {
                (Ok(number @ 1..8), I32) => walk.signed().map(|value| own[number] = value),
                (Ok(7), TRUE | FALSE) if field == 8 => {
                    is_compressed = found == TRUE;
                    Ok(())
                }
                _ => walk.skip(found, DEPTH),
            })
        }
        _ => walk.skip(found, DEPTH),
    })?;
    let (kind, own) = match kind {
        0 => (Kind::Data, owns[0]),
        2 => (Kind::Dictionary, owns[1]),
        3 => (Kind::DataV2, owns[2]),
        _ => (Kind::Other, [-1; 8]),
    };
    let [uncompressed, compressed] = sizes;
    Ok((Header { kind, uncompressed, compressed, crc, own, is_compressed }, walk.at))
}

/// The bytes of a number, as [`Walk::number`] reads them.
#[cfg(test)]
pub(super) fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_refused() {
        let short = Err(Wrong::Short);
        // Nothing, a list of 2^63 row groups, a name of 2^63 bytes.
        assert_eq!(check_metadata(b""), short);
        let large = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
        assert_eq!(check_metadata(&[b"\x49\xfc", &large[..]].concat()), short);
        assert_eq!(check_metadata(&[b"\x68", &large[..]].concat()), short);
        // Structures in structures, and as elements of a schema.
        assert_eq!(
            check_metadata(&[0x1c; 1 << 20]),
            Err(Wrong::Damaged("its metadata is nested too deeply"))
        );
        let element = [0x55, 0x02, 0x00]; // field 5: 1
        let deep = [&b"\x29\xfc\x64"[..], &element.repeat(100), b"\x00"].concat();
        assert_eq!(check_metadata(&deep), Err(Wrong::Damaged("its schema is nested too deeply")));
        let wide = [&b"\x29\x1c"[..], &[0x55, 0xc8, 0x01, 0x00], b"\x00"].concat(); // 100 children
        assert_eq!(check_metadata(&wide), Err(Wrong::Damaged("its schema claims more columns than it has")));
        // Many empty structures.
        let empty = [&b"\x49\xfc\x64"[..], &[0; 100], b"\x00"].concat();
        assert_eq!(check_metadata(&empty), Err(Wrong::Damaged("its metadata claims more than it holds")));
        assert_eq!(check_metadata(b"\x00"), Ok(()));
    }

    const TYPE: Walked<()> = Err(Wrong::Damaged("a field of its metadata is of another type"));
    const MORE: Walked<()> = Err(Wrong::Damaged("its metadata claims more than it holds"));

    #[test]
    fn lists_are_of_their_type_and_no_longer_than_what_is_left() {
        // Row groups: none of numbers, one of them; three, of which none is there; one that takes a byte, at the end and behind a name.
        assert_eq!(check_metadata(&[0x49, 0x05, 0x00]), Ok(()));
        let other = Err(Wrong::Damaged("a list of its metadata is of another type"));
        assert_eq!(check_metadata(&[0x49, 0x15, 0x00, 0x00]), other);
        assert_eq!(check_metadata(&[0x49, 0x35]), Err(Wrong::Short));
        assert_eq!(check_metadata(&[0x49, 0x1c, 0x00]), MORE);
        let name = [&[0x18, 100][..], &[b'a'; 100]].concat();
        assert_eq!(check_metadata(&[&name[..], &[0x39, 0x1c, 0x00, 0x00]].concat()), MORE);
        // A number of eight bytes.
        assert_eq!(check_metadata(&[0x17, 1, 2, 3, 4, 5, 6, 7, 8, 0x00]), Ok(()));
    }

    #[test]
    fn what_the_library_takes_for_lists_and_numbers_is_that() {
        for field in [2, 4] {
            assert_eq!(check_metadata(&[field << 4 | I32, 0x02, 0x00]), TYPE);
        }
        let element = [0x55, 0x00, 0x00]; // field 5: 0
        let schema = [&[0x29, 0x1c][..], &element].concat();
        assert_eq!(check_metadata(&[&schema[..], &[0x00]].concat()), Ok(()));
        // A second schema, with its number in full.
        assert_eq!(check_metadata(&[&schema[..], &[0x09, 0x04, 0x1c], &element, &[0x00]].concat()), TYPE);
        assert_eq!(check_metadata(&[0x29, 0x1c, 0x56, 0x02, 0x00, 0x00]), TYPE);
        let group = [&[0x49, 0x1c, 0x18, 13][..], &[b'a'; 13], &[0x00, 0x00]].concat();
        assert_eq!(check_metadata(&group), TYPE);
    }

    /// What is said to a schema whose elements have so many children each.
    fn schema(children: &[u8]) -> Walked<()> {
        let element =
            |own: u8| if own < 64 { vec![0x55, 2 * own, 0x00] } else { vec![0x55, 2 * own, 0x01, 0x00] };
        let elements: Vec<u8> = children.iter().flat_map(|&own| element(own)).collect();
        check_metadata(
            &[&[0x29, 0xfc, 0x80 | children.len() as u8, children.len() as u8 >> 7], &elements[..], &[0x00]]
                .concat(),
        )
    }

    #[test]
    fn a_schema_is_as_deep_as_its_children_are_in_each_other() {
        let deepest = [&[1; DEPTH][..], &[0]].concat();
        assert_eq!(schema(&deepest), Ok(()));
        let deeper = [&[1; DEPTH + 1][..], &[0]].concat();
        assert_eq!(schema(&deeper), Err(Wrong::Damaged("its schema is nested too deeply")));
        // Seventy structures beside each other.
        let beside = [&[70][..], &[1, 0].repeat(70)[..]].concat();
        assert_eq!(schema(&beside), Ok(()));
    }

    #[test]
    fn what_a_header_lacks_is_none() {
        let found = |bytes: &[u8]| header(bytes).unwrap().0;
        let empty = found(&[0x00]);
        assert_eq!(
            (empty.kind, empty.own, empty.crc, empty.is_compressed),
            (Kind::Other, [-1; 8], None, true)
        );
        let data = found(&[0x15, 0x00, 0x00]);
        assert_eq!((data.kind, data.own), (Kind::Data, [-1; 8]));
        assert_eq!((data.uncompressed, data.compressed), (-1, -1));
        // With its number in full, a checksum, and a truth value that another kind of page has.
        let full = found(&[I32, 0x02, 0x00, 0x35, 0x0a, 0x1c, 0x15, 0x06, 0x62, 0x00, 0x00]);
        assert_eq!((full.kind, full.crc, full.own[1], full.is_compressed), (Kind::Data, Some(5), 3, true));
    }

    #[test]
    fn a_header_has_its_numbers() {
        let bytes = [
            0x15, 0x06, 0x15, 0x40, 0x15, 0x20, 0x5c, // a page of the second version, 32 bytes of 16
            0x15, 0x08, 0x15, 0x02, 0x15, 0x08, 0x15, 0x00, 0x15, 0x04, 0x15, 0x00, 0x12, 0x00, 0x00, 9,
        ];
        let (found, length) = header(&bytes).unwrap();
        assert_eq!((found.kind, found.uncompressed, found.compressed), (Kind::DataV2, 32, 16));
        assert_eq!((&found.own[1..7], found.is_compressed), (&[4, 1, 4, 0, 2, 0][..], false));
        assert_eq!((length, found.crc), (bytes.len() - 1, None));
        for end in 0..length {
            assert!(matches!(header(&bytes[..end]), Err(Wrong::Short)), "{end}");
        }
    }
}
