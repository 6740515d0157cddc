//! Files inside ZIP and TAR files. Nothing is unpacked to disk, and memory holds one file of the limited length at a time.

use std::io::{self, BufRead, Read, Seek};

use zip::ZipArchive;

use crate::error::Problem;
use crate::source::problem_of;
use crate::zipped::refused;

/// How many times longer than itself an archive may become.
const GROWTH: u64 = 100;

/// Bytes of the longest name that is read.
const NAME: usize = 64 << 10;

/// A file in an archive.
pub(crate) struct Member {
    /// Its path, with `/`.
    pub(crate) name: String,
    /// Its bytes, or why it was not read.
    pub(crate) bytes: Result<Vec<u8>, Problem>,
}

/// Whether these bytes begin as a TAR file does.
pub(crate) fn is_tar(head: &[u8]) -> bool {
    head.get(..BLOCK).is_some_and(|block| {
        block.get(257..262) == Some(b"ustar") && block[0] != 0 && checksum(block) == number(&block[148..156])
    })
}

/// Hands over the files of a ZIP file of so many bytes, in the order of its directory.
pub(crate) fn each_in_zip<E: From<Problem>>(
    reader: impl Read + Seek,
    size: u64,
    limit: usize,
    mut each: impl FnMut(Member) -> Result<(), E>,
) -> Result<(), E> {
    let damaged = |error: &dyn std::fmt::Display| Problem::Damaged { kind: "ZIP", what: error.to_string() };
    let mut archive = ZipArchive::new(reader).map_err(|error| damaged(&error))?;
    let mut room = room(size, limit);
    for index in 0..archive.len() {
        let name = archive.name_for_index(index).unwrap_or_default().to_owned();
        if name.ends_with('/') {
            continue;
        }
        let bytes = match archive.by_index(index) {
            Ok(file) if file.is_symlink() => continue,
            Ok(file) if file.size() > limit as u64 => Err(Problem::TooLong { limit }),
            Ok(file) => {
                read_member(file, limit, &mut room).map_err(|error| damaged(&error)).and_then(|read| read)
            }
            Err(error) => Err(refused(error, "an encrypted file", |error| damaged(&error))),
        };
        each(Member { name, bytes })?;
        if room == 0 {
            return Err(too_large("ZIP").into());
        }
    }
    Ok(())
}

/// What an archive of so many bytes may become.
fn room(size: u64, limit: usize) -> u64 {
    size.saturating_mul(GROWTH).saturating_add(limit as u64)
}

fn too_large(kind: &'static str) -> Problem {
    Problem::Damaged { kind, what: format!("it becomes more than {GROWTH} times as long as it is") }
}

/// A file of at most `limit` bytes, taken from `room`.
fn read_member(file: impl Read, limit: usize, room: &mut u64) -> io::Result<Result<Vec<u8>, Problem>> {
    let mut bytes = Vec::new();
    let read = file.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes);
    *room = room.saturating_sub(bytes.len() as u64);
    read?;
    Ok(if bytes.len() > limit { Err(Problem::TooLong { limit }) } else { Ok(bytes) })
}

/// Bytes of a block of a TAR file.
const BLOCK: usize = 512;

/// Hands over the regular files of a TAR file that takes `size` bytes as it is stored, in their order: those of POSIX (ustar
/// and pax) and of GNU tar. Written here because it reads no more of a long name than [`NAME`] bytes, whatever its header
/// claims, and seeks nowhere.
pub(crate) fn each_in_tar<E: From<Problem>>(
    mut reader: impl BufRead,
    size: u64,
    limit: usize,
    mut each: impl FnMut(Member) -> Result<(), E>,
) -> Result<(), E> {
    let damaged = |what: String| Problem::Damaged { kind: "TAR", what };
    let mut room = room(size, limit);
    let (mut long_name, mut long_size) = (None, None);
    loop {
        let mut block = Vec::with_capacity(BLOCK);
        reader.by_ref().take(BLOCK as u64).read_to_end(&mut block).map_err(problem_of)?;
        if block.is_empty() || block.iter().all(|&byte| byte == 0) {
            // What compressed it has a checksum behind all that follows.
            let passed = io::copy(&mut reader.by_ref().take(room), &mut io::sink()).map_err(problem_of)?;
            return if passed < room { Ok(()) } else { Err(too_large("TAR").into()) };
        }
        if block.len() < BLOCK {
            return Err(damaged("it ends inside a header".to_owned()).into());
        }
        if checksum(&block) != number(&block[148..156]) {
            return Err(damaged("the checksum of a header is wrong".to_owned()).into());
        }
        let kind = block[156];
        let length = number(&block[124..136]).ok_or_else(|| damaged("a header has no length".to_owned()))?;
        let about_next = matches!(kind, b'x' | b'L');
        let length = if about_next { length } else { long_size.take().unwrap_or(length) };
        let padded = length.checked_next_multiple_of(BLOCK as u64);
        let padded = padded.ok_or_else(|| damaged(format!("a file claims {length} bytes")))?;
        let is_file = matches!(kind, b'0' | 0 | b'7');
        let most = if about_next { NAME } else { limit };
        let mut bytes = Vec::new();
        if (is_file || about_next) && length <= most as u64 {
            reader.by_ref().take(length).read_to_end(&mut bytes).map_err(problem_of)?;
        }
        let read = bytes.len() as u64;
        let left = padded - read;
        let passed =
            io::copy(&mut reader.by_ref().take(left.min(room)), &mut io::sink()).map_err(problem_of)?;
        room = room.saturating_sub(read + passed + BLOCK as u64);
        if room == 0 {
            return Err(too_large("TAR").into());
        }
        let whole = read + passed >= length;
        if about_next {
            match kind {
                b'L' => long_name = Some(text(&bytes)),
                _ => {
                    let found = |key| pax(&bytes, key);
                    long_name = found("path").map(str::to_owned).or(long_name);
                    long_size = found("size").and_then(|size| size.parse().ok());
                }
            }
        } else {
            let name = long_name.take().unwrap_or_else(|| short_name(&block));
            if is_file && !name.ends_with('/') {
                let bytes = if length > limit as u64 {
                    Err(Problem::TooLong { limit })
                } else if whole {
                    Ok(bytes)
                } else {
                    Err(damaged("it ends inside this file".to_owned()))
                };
                each(Member { name, bytes })?;
            }
        }
        if !whole {
            return Err(damaged("it ends too early".to_owned()).into());
        }
    }
}

/// The sum of a header's bytes, those of the sum itself taken as blanks.
fn checksum(block: &[u8]) -> Option<u64> {
    let bytes = block.iter().enumerate();
    Some(bytes.map(|(at, &byte)| if (148..156).contains(&at) { 32 } else { u64::from(byte) }).sum())
}

/// A number of a header: octal digits, or big-endian bytes after one of 128.
fn number(field: &[u8]) -> Option<u64> {
    if let [0x80, rest @ ..] = field {
        return rest.iter().try_fold(0u64, |sum, &byte| sum.checked_mul(256)?.checked_add(u64::from(byte)));
    }
    let digits = std::str::from_utf8(field).ok()?.trim_matches([' ', '\0']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// A text up to its zero byte.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn short_name(block: &[u8]) -> String {
    let (name, prefix) = (text(&block[..100]), text(&block[345..500]));
    let posix = block.get(257..263) == Some(b"ustar\0");
    if posix && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
}

/// The value of a key among records `length key=value\n`.
fn pax<'a>(records: &'a [u8], key: &str) -> Option<&'a str> {
    let mut rest = records;
    while let Some(blank) = rest.iter().position(|&byte| byte == b' ') {
        let length: usize = std::str::from_utf8(&rest[..blank]).ok()?.parse().ok()?;
        let record = rest.get(blank + 1..length)?;
        let record =
            std::str::from_utf8(record).ok().and_then(|record| record.trim_end_matches('\n').split_once('='));
        if let Some((_, value)) = record.filter(|(name, _)| *name == key) {
            return Some(value);
        }
        rest = rest.get(length..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header whose checksum is right.
    fn header(name: &str, magic: &str) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(b"00000000012");
        block[257..257 + magic.len()].copy_from_slice(magic.as_bytes());
        let sum = checksum(&block).unwrap();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        block
    }

    #[test]
    fn a_header_is_one_of_tar_by_its_magic_its_name_and_its_sum() {
        let whole = header("ants.txt", "ustar");
        assert!(is_tar(&whole) && is_tar(&[&whole[..], b"rest"].concat()));
        assert!(!is_tar(&whole[..BLOCK - 1]) && !is_tar(b""));
        assert!(!is_tar(&header("", "ustar"))); // the end of an archive is of zeros
        assert!(!is_tar(&header("ants.txt", "xstar")) && !is_tar(&header("ants.txt", "")));
        // No other byte can change without the sum, and the sum not without them.
        for at in (0..BLOCK).filter(|at| !(154..156).contains(at)) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(!is_tar(&damaged), "byte {at}");
        }
    }

    #[test]
    fn numbers_are_octal_or_binary() {
        for (field, found) in [
            (&b"0000644\0"[..], Some(0o644)),
            (b"  17 \0  ", Some(0o17)),
            (b"\0\0\0\0", Some(0)),
            (b"", Some(0)),
            (b"19", None),
            (b"-1", None),
            (b"\xff", None),
            (b"\x80\0\0\0\0\0\0\0\0\x01\x02", Some(258)),
            (b"\x80\xff\xff\xff\xff\xff\xff\xff\xff", Some(u64::MAX)),
            (b"\x80\x01\0\0\0\0\0\0\0\0", None),
        ] {
            assert_eq!(number(field), found, "{field:?}");
        }
    }

    /// A header whose checksum is right, of a file of so many bytes.
    fn header_of(kind: u8, name: &str, length: usize) -> Vec<u8> {
        let mut block = header(name, "ustar");
        block[124..135].copy_from_slice(format!("{length:011o}").as_bytes());
        block[156] = kind;
        with_sum(block)
    }

    fn with_sum(mut block: Vec<u8>) -> Vec<u8> {
        let sum = checksum(&block).unwrap();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        block
    }

    /// A header and the bytes after it, with zeros up to the end of a block.
    fn member(kind: u8, name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut member = [header_of(kind, name, bytes.len()), bytes.to_vec()].concat();
        member.resize(member.len().next_multiple_of(BLOCK), 0);
        member
    }

    /// The name of a file, and its bytes or what is wrong.
    type Found = (String, Result<Vec<u8>, String>);

    /// The files of an archive that takes `size` bytes, and how it ends.
    fn read(archive: &[u8], size: u64, limit: usize) -> (Vec<Found>, Result<(), String>) {
        let mut found = Vec::new();
        let ended = each_in_tar(archive, size, limit, |Member { name, bytes }| {
            found.push((name, bytes.map_err(|problem| problem.to_string())));
            Ok::<_, Problem>(())
        });
        (found, ended.map_err(|problem| problem.to_string()))
    }

    #[test]
    fn a_file_may_fill_its_blocks_and_the_limit() {
        let whole = vec![b'a'; BLOCK];
        let archive = [member(b'0', "a", &whole), member(b'0', "b", b"ants"), vec![0; 2 * BLOCK]].concat();
        let expected = vec![("a".to_owned(), Ok(whole)), ("b".to_owned(), Ok(b"ants".to_vec()))];
        assert_eq!(read(&archive, 1 << 20, BLOCK), (expected, Ok(())));
        let (found, ended) = read(&archive, 1 << 20, BLOCK - 1);
        assert_eq!(found[0].1, Err(Problem::TooLong { limit: BLOCK - 1 }.to_string()));
        assert_eq!((found[1].1.as_deref(), ended), (Ok(&b"ants"[..]), Ok(())));
    }

    #[test]
    fn what_is_no_regular_file_is_passed_over() {
        let archive = [
            member(b'2', "link", b""),
            member(b'5', "folder", b""),
            member(b'5', "folder/", b""),
            member(b'0', "old folder/", b""), // of the first version of the format
            member(b'0', "a", b"ants"),
        ];
        assert_eq!(
            read(&archive.concat(), 1 << 20, 99),
            (vec![("a".to_owned(), Ok(b"ants".to_vec()))], Ok(()))
        );
    }

    #[test]
    fn a_long_name_is_read_up_to_a_length() {
        let named = |length: usize| {
            let name = ["n".repeat(length).as_bytes(), b"\0"].concat();
            [member(b'L', "././@LongLink", &name), member(b'0', "short", b"ants")].concat()
        };
        let (found, _) = read(&named(NAME - 1), 1 << 20, 1 << 20);
        assert_eq!(found[0].0, "n".repeat(NAME - 1));
        let (found, _) = read(&named(NAME), 1 << 20, 1 << 20);
        assert_eq!((found[0].0.as_str(), &found[0].1), ("", &Ok(b"ants".to_vec())));
    }

    #[test]
    fn a_prefix_is_of_a_name_of_posix_alone() {
        let named = |magic: &str, prefix: &str| {
            let mut block = header("name", magic);
            block[345..345 + prefix.len()].copy_from_slice(prefix.as_bytes());
            short_name(&with_sum(block))
        };
        assert_eq!(named("ustar\0", "texts/ants"), "texts/ants/name");
        assert_eq!(named("ustar\0", ""), "name");
        // GNU tar keeps other things there.
        assert_eq!(named("ustar  ", "texts/ants"), "name");
        assert_eq!(named("ustar  ", ""), "name");
    }

    /// Headers, bytes and what fills their blocks count.
    #[test]
    fn an_archive_becomes_no_more_than_it_may() {
        let one = member(b'0', "a", b"a");
        assert_eq!(one.len(), 2 * BLOCK);
        let ants = vec![("a".to_owned(), Ok(b"a".to_vec()))];
        let grown = || Err(too_large("TAR").to_string());
        // 100 times as long as it is, and the limit of a file: so much it must stay below.
        assert_eq!(read(&one, 5, 2 * BLOCK - 500), (vec![], grown()));
        assert_eq!(read(&one, 5, 2 * BLOCK - 499), (ants.clone(), Ok(())));
        let two = [&one[..], &one[..]].concat();
        assert_eq!(read(&two, 5, 4 * BLOCK - 500), (ants.clone(), grown()));
        assert_eq!(read(&two, 5, 4 * BLOCK - 499), ([&ants[..], &ants[..]].concat(), Ok(())));
        // So do the zeros behind the last.
        let zeros = |blocks: usize| [&one[..], &vec![0; (1 + blocks) * BLOCK]].concat();
        assert_eq!(read(&zeros(2), 5, 4 * BLOCK - 499), (ants.clone(), Ok(())));
        assert_eq!(read(&zeros(2), 5, 4 * BLOCK - 500), (ants, grown()));
    }

    #[test]
    fn a_file_of_the_limit_is_whole() {
        let read = |bytes: &[u8]| {
            let mut room = 100;
            let read = read_member(bytes, 4, &mut room).unwrap();
            (read.map_err(|problem| problem.to_string()), room)
        };
        assert_eq!(read(b"ants"), (Ok(b"ants".to_vec()), 96));
        assert_eq!(read(b"ant"), (Ok(b"ant".to_vec()), 97));
        for long in [&b"ants "[..], b"ants walk."] {
            assert_eq!(read(long), (Err(Problem::TooLong { limit: 4 }.to_string()), 95)); // a byte more tells
        }
    }
}
