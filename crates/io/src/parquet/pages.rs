//! The pages of a column, read, checked and decompressed within the limits before the library decodes their values.

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};

use crate::codec::{Codec, decompress, room};
use crate::error::Problem;
use crate::parquet::delta;
use crate::parquet::thrift::{Header, Kind, Wrong, header};
use crate::parquet::{KIND, damaged};
use crate::source::problem_of;

/// Bytes read at once in which to find the header of a page; the longest header, which may hold the least and the greatest value.
const HEAD: u64 = 1 << 12;
const LONGEST_HEAD: u64 = 1 << 22;

/// What the library hands back when reading ends.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Problem);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {}

/// The pages of a column of a row group.
pub(crate) struct Pages<R> {
    pub(crate) source: R,
    /// Where the next begins, and where they end.
    pub(crate) at: u64,
    pub(crate) end: u64,
    pub(crate) codec: Codec,
    /// Of a record.
    pub(crate) limit: usize,
    /// Bytes that pages of the file became, and what they may.
    pub(crate) used: Arc<AtomicU64>,
    pub(crate) most: u64,
    /// Values still to come, those that are missing included.
    pub(crate) values: u64,
    pub(crate) has_dictionary: bool,
    pub(crate) is_optional: bool,
    pub(crate) physical: Type,
    /// Bytes of a value of fixed length.
    pub(crate) width: usize,
}

impl<R: Read + Seek> Pages<R> {
    fn read(&mut self, at: u64, bytes: u64) -> Result<Vec<u8>, Problem> {
        let mut read = Vec::new();
        let sought = self.source.seek(SeekFrom::Start(at));
        let done = sought.and_then(|_| self.source.by_ref().take(bytes).read_to_end(&mut read));
        done.map_err(problem_of)?;
        Ok(read)
    }

    fn header(&mut self) -> Result<(Header, u64), Problem> {
        let left = self.end - self.at;
        let mut longest = HEAD;
        loop {
            let head = self.read(self.at, longest.min(left))?;
            match header(&head) {
                Ok((header, length)) => return Ok((header, length as u64)),
                Err(Wrong::Short) if longest < left.min(LONGEST_HEAD) => longest *= 16,
                Err(Wrong::Short) => return Err(damaged(&"the header of a page has no end")),
                Err(Wrong::Damaged(what)) => return Err(damaged(&what)),
            }
        }
    }

    /// The next page; none if all values are there.
    fn next_page(&mut self) -> Result<Option<Page>, Problem> {
        while self.values > 0 {
            if self.at >= self.end {
                return Err(damaged(&"a column has fewer values than rows"));
            }
            let (header, length) = self.header()?;
            self.at += length;
            let compressed = u64::try_from(header.compressed).ok().filter(|&size| size <= self.end - self.at);
            let compressed = compressed.ok_or_else(|| damaged(&"a page goes beyond its column"))?;
            let at = self.at;
            self.at += compressed;
            if header.kind == Kind::Other {
                continue;
            }
            let bytes = self.read(at, compressed)?;
            if (bytes.len() as u64) < compressed {
                return Err(damaged(&"it ends inside a page"));
            }
            if header.crc.is_some_and(|crc| crc != crc32fast::hash(&bytes)) {
                return Err(damaged(&"the checksum of a page is wrong"));
            }
            return self.page(&header, bytes).map(Some);
        }
        Ok(None)
    }

    /// What the bytes become.
    fn unpacked(&self, bytes: Vec<u8>, length: usize, is_compressed: bool) -> Result<Vec<u8>, Problem> {
        if length > room(bytes.len(), self.limit) {
            return Err(damaged(&"a page becomes far longer than it is"));
        }
        let before = self.used.fetch_add(length as u64, Ordering::Relaxed);
        if before.saturating_add(length as u64) > self.most {
            return Err(Problem::TooMuch { limit: self.most });
        }
        match if is_compressed { self.codec } else { Codec::None } {
            Codec::None if bytes.len() == length => Ok(bytes),
            codec => decompress(codec, &bytes, length, KIND),
        }
    }

    fn page(&mut self, header: &Header, bytes: Vec<u8>) -> Result<Page, Problem> {
        let length = usize::try_from(header.uncompressed).ok().filter(|&length| length <= i32::MAX as usize);
        let length = length.ok_or_else(|| damaged(&"a page claims no length"))?;
        let own = |field: usize| {
            u32::try_from(header.own[field]).map_err(|_| damaged(&"the header of a page lacks a number"))
        };
        let (num_values, second) = (own(1)?, own(2)?);
        match header.kind {
            Kind::Dictionary => {
                let buf = self.unpacked(bytes, length, true)?;
                // A value takes its bytes, and a string four for its length.
                let width = match self.physical {
                    Type::BOOLEAN => return Err(damaged(&"a dictionary of truth values")),
                    Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
                    Type::INT64 | Type::DOUBLE => 8,
                    Type::INT96 => 12,
                    Type::FIXED_LEN_BYTE_ARRAY => self.width,
                };
                if self.has_dictionary || u64::from(num_values) * width as u64 > buf.len() as u64 {
                    return Err(damaged(
                        &"a dictionary that is the second, or claims more values than it has",
                    ));
                }
                self.has_dictionary = true;
                let encoding = Encoding::PLAIN;
                if !matches!(second, 0 | 2) {
                    return Err(damaged(&"a dictionary of an unknown encoding"));
                }
                Ok(Page::DictionaryPage { buf: buf.into(), num_values, encoding, is_sorted: false })
            }
            Kind::Data => {
                let (definition, repetition) = (encoding(own(3)?)?, encoding(own(4)?)?);
                let mut buf = self.unpacked(bytes, length, true)?;
                let levels = match (self.is_optional, definition) {
                    (false, _) => 0,
                    (true, Encoding::RLE) => {
                        let length = buf.first_chunk().map(|length| u32::from_le_bytes(*length) as usize + 4);
                        length.filter(|&length| length <= buf.len()).ok_or_else(|| damaged(&CUT))?
                    }
                    // Bit-packed by old writers; a column that may lack values and has no structures has a bit for each.
                    (true, _) => (num_values as usize).div_ceil(8).min(buf.len()),
                };
                if definition != Encoding::RLE && self.is_optional && levels * 8 < num_values as usize {
                    return Err(damaged(&CUT));
                }
                let encoding = self.values(&mut buf, levels, second)?;
                self.count(num_values)?;
                Ok(Page::DataPage {
                    buf: buf.into(),
                    num_values,
                    encoding,
                    def_level_encoding: definition,
                    rep_level_encoding: repetition,
                    statistics: None,
                })
            }
            _ => {
                let (num_rows, code) = (own(3)?, own(4)?);
                let (def_levels_byte_len, rep_levels_byte_len) = (own(5)?, own(6)?);
                let levels = def_levels_byte_len as usize + rep_levels_byte_len as usize;
                if levels > length.min(bytes.len()) {
                    return Err(damaged(&CUT));
                }
                let mut buf = bytes[..levels].to_vec();
                // A page without values may have no compressed ones either.
                let rest = bytes[levels..].to_vec();
                let is_compressed = header.is_compressed && !rest.is_empty();
                buf.extend(self.unpacked(rest, length - levels, is_compressed)?);
                let encoding = self.values(&mut buf, levels, code)?;
                self.count(num_values)?;
                Ok(Page::DataPageV2 {
                    buf: buf.into(),
                    num_values,
                    encoding,
                    num_nulls: second,
                    num_rows,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    is_compressed: false,
                    statistics: None,
                })
            }
        }
    }

    fn count(&mut self, values: u32) -> Result<(), Problem> {
        let left = self.values.checked_sub(u64::from(values));
        self.values = left.ok_or_else(|| damaged(&"a column has more values than rows"))?;
        Ok(())
    }

    /// Checks the encoding of values behind the levels, and writes those anew that the library would not bound.
    fn values(&self, buf: &mut Vec<u8>, levels: usize, code: u32) -> Result<Encoding, Problem> {
        let encoding = encoding(code)?;
        match encoding {
            Encoding::RLE_DICTIONARY if !self.has_dictionary => {
                Err(damaged(&"a page of a dictionary that is not there"))
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY => {
                let width = match self.physical {
                    Type::BYTE_ARRAY => None,
                    Type::FIXED_LEN_BYTE_ARRAY => Some(self.width),
                    _ => return Err(damaged(&"a page of strings in a column of others")),
                };
                let shares = encoding == Encoding::DELTA_BYTE_ARRAY;
                // A page of a column in which nothing is there may be without bytes.
                if buf.len() > levels {
                    let values = delta::plain(&buf[levels..], shares, width, room(buf.len(), self.limit))?;
                    buf.truncate(levels);
                    buf.extend(values);
                }
                Ok(Encoding::PLAIN)
            }
            _ => Ok(encoding),
        }
    }
}

const CUT: &str = "a page ends inside its levels";

fn encoding(code: u32) -> Result<Encoding, Problem> {
    #[expect(deprecated, reason = "old files have it")]
    let packed = Encoding::BIT_PACKED;
    Ok(match code {
        0 => Encoding::PLAIN,
        2 | 8 => Encoding::RLE_DICTIONARY,
        3 => Encoding::RLE,
        4 => packed,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(damaged(&format_args!("encoding {code}, which is not known"))),
    })
}

impl<R: Read + Seek> Iterator for Pages<R> {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        let page = self.next_page().map_err(|problem| ParquetError::External(Box::new(Refused(problem))));
        page.transpose()
    }
}

impl<R: Read + Seek + Send> PageReader for Pages<R> {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        self.next().transpose()
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        Err(ParquetError::NYI("pages are taken one after the other".to_owned()))
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.get_next_page().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;
    use crate::parquet::thrift::number;

    /// The header of a page of this kind with the numbers of its own, and the bytes that it holds and that they become.
    fn head(kind: u8, own: &[u64], stored: usize, length: usize) -> Vec<u8> {
        let field = match kind {
            0 => 5,
            2 => 7,
            _ => 8,
        };
        let own: Vec<u8> = own.iter().flat_map(|&own| [vec![0x15], number(2 * own)].concat()).collect();
        let sizes = [length, stored].map(|size| [vec![0x15], number(2 * size as u64)].concat()).concat();
        [&[0x15, 2 * kind][..], &sizes, &[(field - 3) << 4 | 12], &own, &[0x00, 0x00]].concat()
    }

    /// A page whose bytes are not compressed.
    fn whole(kind: u8, own: &[u64], bytes: &[u8]) -> Vec<u8> {
        [&head(kind, own, bytes.len(), bytes.len())[..], bytes].concat()
    }

    /// Two plain values without levels.
    fn two() -> Vec<u8> {
        whole(0, &[2, 0, 3, 3], b"\x01\0\0\0a\x01\0\0\0b")
    }

    fn pages(bytes: Vec<u8>, values: u64) -> Pages<Cursor<Vec<u8>>> {
        Pages {
            at: 0,
            end: bytes.len() as u64,
            source: Cursor::new(bytes),
            codec: Codec::None,
            limit: 1000,
            used: Arc::default(),
            most: 1 << 30,
            values,
            has_dictionary: false,
            is_optional: false,
            physical: Type::BYTE_ARRAY,
            width: 0,
        }
    }

    fn first(mut pages: Pages<Cursor<Vec<u8>>>) -> Result<Page, String> {
        let page = pages.next_page().map_err(|problem| Refused(problem).to_string())?;
        page.ok_or_else(|| "no page".to_owned())
    }

    fn refused(pages: Pages<Cursor<Vec<u8>>>, why: &str) {
        let said = first(pages).unwrap_err();
        assert_eq!(said, format!("damaged Parquet: {why}"));
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn pages_come_until_all_values_are_there() {
        let mut three = pages([two(), two(), vec![7; 9]].concat(), 4);
        for _ in 0..2 {
            let page = three.next_page().unwrap().unwrap();
            assert_eq!((page.num_values(), page.encoding()), (2, Encoding::PLAIN));
            assert_eq!(&page.buffer()[..], b"\x01\0\0\0a\x01\0\0\0b");
        }
        assert!(three.next_page().unwrap().is_none());
        refused(pages(Vec::new(), 2), "a column has fewer values than rows");
        refused(pages(two(), 1), "a column has more values than rows");
    }

    #[test]
    fn a_page_lies_in_its_column_and_in_the_file() {
        // Another column follows, and something else comes before.
        let mut all = [vec![9; 40], two(), two()].concat();
        let at = |all: &[u8], end: usize| Pages { at: 40, end: end as u64, ..pages(all.to_vec(), 2) };
        let end = 40 + two().len();
        assert!(first(at(&all, end)).is_ok());
        refused(at(&all, end - 1), "a page goes beyond its column");
        refused(at(&all, 44), "the header of a page has no end");
        all.truncate(end - 1);
        refused(at(&all, end), "it ends inside a page");
    }

    #[test]
    fn a_header_may_be_long() {
        // The least value, of which the header tells, behind the numbers.
        for length in [5000, 100_000] {
            let mut page = head(0, &[2, 0, 3, 3], 10, 10);
            page.truncate(page.len() - 2);
            let about = [&[0x1c, 0x58][..], &number(length as u64), &vec![b'a'; length], &[0x00, 0x00, 0x00]];
            page.extend([&about.concat()[..], b"\x01\0\0\0a\x01\0\0\0b"].concat());
            assert_eq!(first(pages(page, 2)).unwrap().num_values(), 2, "{length}");
        }
        refused(pages(vec![0x18, 0xff, 0x7f], 2), "the header of a page has no end");
    }

    #[test]
    fn a_page_becomes_what_it_says_and_no_more_than_it_may() {
        let bytes = [&1000_u32.to_le_bytes()[..], &[b'a'; 1000]].concat();
        let stored = gzip(&bytes);
        let page = [&head(0, &[1, 0, 3, 3], stored.len(), bytes.len())[..], &stored].concat();
        let with = |limit, most| Pages { codec: Codec::Gzip, limit, most, ..pages(page.clone(), 1) };
        assert_eq!(first(with(2000, 1004)).unwrap().buffer(), &bytes);
        let said = first(with(2000, 1003)).unwrap_err();
        assert!(said.contains("more than 1003 bytes"), "{said}");
        // A hundred times as much, and the limit besides.
        let bytes = vec![0; 1 << 16];
        let stored = gzip(&bytes);
        let limit = bytes.len() - 100 * stored.len();
        let page = [&head(0, &[0, 0, 3, 3], stored.len(), bytes.len())[..], &stored].concat();
        let with = |limit| Pages { codec: Codec::Gzip, limit, ..pages(page.clone(), 1) };
        assert_eq!(first(with(limit)).unwrap().buffer(), &bytes);
        refused(with(limit - 1), "a page becomes far longer than it is");
        // Without compression it is what is there.
        let longer = [&head(0, &[1, 0, 3, 3], 5, 6)[..], b"\x01\0\0\0a"].concat();
        refused(pages(longer, 1), "compressed bytes that do not become the 6 that they should");
    }

    #[test]
    fn a_dictionary_has_its_values_and_is_the_only_one() {
        let dictionary = |values| whole(2, &[values, 0], b"\x01\0\0\0a\x01\0\0\0b");
        assert_eq!(first(pages(dictionary(2), 2)).unwrap().num_values(), 2);
        let wrong = "a dictionary that is the second, or claims more values than it has";
        refused(pages(dictionary(3), 2), wrong);
        refused(Pages { has_dictionary: true, ..pages(dictionary(2), 2) }, wrong);
        let page = whole(0, &[2, 8, 3, 3], b"\x01\x03\x01");
        assert!(first(Pages { has_dictionary: true, ..pages(page.clone(), 2) }).is_ok());
        refused(pages(page, 2), "a page of a dictionary that is not there");
    }

    #[test]
    fn levels_lie_before_the_values() {
        // A bit each, of old writers: as many as there are values.
        let packed = |values: u64, bytes: &[u8]| Pages {
            is_optional: true,
            ..pages(whole(0, &[values, 0, 4, 4], bytes), values)
        };
        assert!(first(packed(8, b"\0")).is_ok());
        assert!(first(packed(9, b"\0\0")).is_ok());
        refused(packed(9, b"\0"), CUT);
        refused(packed(17, b"\0\0"), CUT);
        // In the second version without compression, whatever the values are; levels of both kinds.
        let (levels, values) = ([2, 1, 7], b"\x01\0\0\0a");
        let stored = gzip(values);
        let head = head(3, &[1, 0, 1, 0, 2, 1], 3 + stored.len(), 3 + values.len());
        let page = [&head[..], &levels, &stored].concat();
        let page = first(Pages { codec: Codec::Gzip, is_optional: true, ..pages(page, 1) }).unwrap();
        assert_eq!(&page.buffer()[..], [&levels[..], values].concat());
    }

    #[test]
    fn strings_whose_lengths_are_differences_are_written_anew() {
        // Blocks of 128 in one part, two lengths, the first 1; all differences are zero.
        let lengths = [0x80, 0x01, 1, 2, 2, 0, 0];
        let page = whole(0, &[2, 6, 3, 3], &[&lengths[..], b"ab"].concat());
        let page = first(pages(page, 2)).unwrap();
        assert_eq!((&page.buffer()[..], page.encoding()), (&b"\x01\0\0\0a\x01\0\0\0b"[..], Encoding::PLAIN));
        // No value is there, and no byte.
        let none = first(pages(whole(0, &[2, 7, 3, 3], b""), 2)).unwrap();
        assert_eq!((none.buffer().len(), none.encoding()), (0, Encoding::PLAIN));
    }
}
