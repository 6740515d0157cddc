//! Text in any encoding as UTF-8.
//!
//! A byte order mark decides, then whether the bytes are UTF-8, then what a page or message says of itself, then a guess by
//! the frequencies of characters. Bytes with control characters are no text.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, DecoderResult, Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::error::Problem;
#[cfg(all(feature = "files", not(any(feature = "office", feature = "archives"))))]
use crate::source::ZIP;
use crate::source::{HEAD, Stop};

/// Bytes from the first that is not ASCII on, by which a stream's encoding is guessed.
const SAMPLE: u64 = 64 << 10;

/// Bytes decoded at a time.
const DECODED: usize = 8 << 10;

/// A whole text without a byte order mark, and the encoding that it was in; or what is wrong, and on which line. `declared` is what it says of itself, which
/// counts where it is not UTF-8.
#[cfg_attr(not(feature = "files"), allow(dead_code, reason = "only files of folders are read as a whole"))]
pub(crate) fn decode(
    bytes: Vec<u8>,
    declared: Option<&'static Encoding>,
) -> Result<(String, &'static Encoding), (Problem, Option<u64>)> {
    let whole = |encoding: &'static Encoding, bytes: &[u8]| match encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
    {
        Some(text) => Ok((text.into_owned(), encoding)),
        None => Err((Problem::Undecodable { encoding: encoding.name() }, None)),
    };
    let marked = Encoding::for_bom(&bytes);
    if let Some((encoding, mark)) = marked.filter(|(encoding, _)| *encoding != UTF_8) {
        return whole(encoding, &bytes[mark..]);
    }
    if let Some(encoding) = wide(&bytes).filter(|_| marked.is_none()) {
        return whole(encoding, &bytes);
    }
    if bytes.contains(&0) {
        return Err((Problem::Binary, None));
    }
    let bytes = match String::from_utf8(bytes) {
        // Seven bits, with escapes between the character sets.
        Ok(text) if marked.is_none() && text.contains("\u{1b}$") => match guess(text.as_bytes()) {
            encoding if encoding == ISO_2022_JP => return whole(encoding, text.as_bytes()),
            _ => return Ok((text, UTF_8)),
        },
        Ok(text) => {
            return Ok((text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text), UTF_8));
        }
        Err(error) => error.into_bytes(),
    };
    if marked.is_some() || mostly_utf8(&bytes, true) {
        let byte = std::str::from_utf8(&bytes).err().map_or(0, |error| error.valid_up_to());
        let line = 1 + bytes[..byte].iter().filter(|&&byte| byte == b'\n').count() as u64;
        return Err((Problem::NotUtf8 { byte: byte as u64 }, Some(line)));
    }
    if bytes.iter().copied().any(is_control) {
        return Err((Problem::Binary, None));
    }
    whole(
        declared
            .filter(|encoding| !is_utf(encoding))
            .unwrap_or_else(|| guess(&bytes[Encoding::ascii_valid_up_to(&bytes)..])),
        &bytes,
    )
}

/// Refuses what is no text by its first bytes.
#[cfg(feature = "files")]
pub(crate) fn check_head(head: &[u8]) -> Result<(), Problem> {
    let known = [
        #[cfg(not(feature = "pdf"))]
        (&b"%PDF-"[..], "PDF, for which the feature `pdf` is needed"),
        #[cfg(not(any(feature = "office", feature = "archives")))]
        (
            ZIP,
            "a ZIP archive, for which the feature `archives` is needed, or `office` for a DOCX, ODT or EPUB",
        ),
        (&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], "a document of an old Office program"),
    ];
    if let Some((_, kind)) = known.iter().find(|(start, _)| head.starts_with(start)) {
        return Err(Problem::Unsupported { kind });
    }
    let text = !head.contains(&0) || Encoding::for_bom(head).is_some() || wide(head).is_some();
    if text { Ok(()) } else { Err(Problem::Binary) }
}

/// Whether a file begins as a web page does: with its document type or its first elements, after comments.
#[cfg(feature = "files")]
pub(crate) fn is_page(head: &[u8]) -> bool {
    let wide = Encoding::for_bom(head).map(|(encoding, _)| encoding).or_else(|| wide(head));
    let text = wide.unwrap_or(UTF_8).decode(head).0.to_ascii_lowercase();
    let mut text = text.trim_start();
    loop {
        let end = match text {
            text if text.starts_with("<!--") => "-->",
            text if text.starts_with("<?xml") => "?>",
            _ => break,
        };
        match text.split_once(end) {
            Some((_, rest)) => text = rest.trim_start(),
            None => break,
        }
    }
    let begins = |tag: &str| {
        let rest = text.strip_prefix(tag);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c == '>' || c.is_ascii_whitespace()))
    };
    ["<!doctype html", "<html", "<head", "<body"].into_iter().any(begins)
}

/// The encoding that a page names in its first bytes.
#[cfg(feature = "files")]
pub(crate) fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let (_, rest) = head.split_once("charset=").or_else(|| head.split_once("encoding="))?;
    let name = rest.trim_start_matches(['"', '\'']).split(['"', '\'', ' ', ';', '/', '>', '?']).next()?;
    Encoding::for_label(name.as_bytes())
}

/// UTF-8 and UTF-16, which are told by their bytes.
fn is_utf(encoding: &'static Encoding) -> bool {
    [UTF_8, UTF_16LE, UTF_16BE].contains(&encoding)
}

/// Bytes that no encoding of text has but for escapes.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// UTF-16 without a byte order mark, where most characters are of the first 256: every second byte is zero.
fn wide(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(HEAD) & !1];
    let zeros = |from: usize| head.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), head.len() / 2);
    match () {
        () if even == 0 && odd * 4 > pairs * 3 && pairs > 1 => Some(UTF_16LE),
        () if odd == 0 && even * 4 > pairs * 3 && pairs > 1 => Some(UTF_16BE),
        () => None,
    }
}

/// Whether what is no UTF-8 is damaged UTF-8 rather than another encoding: most of what is not ASCII is valid. Of a part of
/// a text the last character may be cut off.
fn mostly_utf8(bytes: &[u8], whole: bool) -> bool {
    let (mut valid, mut invalid, mut at) = (0usize, 0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        at += chunk.valid().len() + chunk.invalid().len();
        invalid += usize::from(!chunk.invalid().is_empty() && (whole || at < bytes.len()));
    }
    invalid == 0 || valid > invalid
}

/// A few characters tell the frequencies of none: single letters or marks among ASCII are then taken for Western ones, as in
/// an English text with a "naïve" in it.
const FEW: usize = 8;

fn guess(bytes: &[u8]) -> &'static Encoding {
    let plain = |at: Option<&u8>| at.is_none_or(u8::is_ascii);
    let western = |byte: u8| {
        matches!(byte, 0x80 | 0x85 | 0x91..=0x97 | 0x99 | 0xa0 | 0xa3 | 0xa7 | 0xa9 | 0xab | 0xb0 | 0xbb)
            || byte >= 0xc0 && !matches!(byte, 0xd7 | 0xf7)
    };
    let others = bytes.iter().enumerate().filter(|(_, byte)| !byte.is_ascii());
    let mut others = others.take(FEW + 1).peekable();
    let some = others.peek().is_some();
    let alone = |(at, &byte): (usize, &u8)| {
        western(byte) && plain(bytes.get(at + 1)) && plain(at.checked_sub(1).and_then(|at| bytes.get(at)))
    };
    let counted = others.map(alone).collect::<Vec<_>>();
    if some && counted.len() <= FEW && counted.into_iter().all(|alone| alone) {
        return WINDOWS_1252;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Reads a stream as UTF-8, without the byte order mark of UTF-16. What is not UTF-8 is passed on as it is where other parts
/// of the same sample are.
pub(crate) struct Transcoder<R> {
    inner: R,
    state: State,
    sample: io::Cursor<Vec<u8>>,  // read, and not yet passed on
    decoded: io::Cursor<Vec<u8>>, // and not yet passed on: a caller's buffer may be too small for a character
    found: Rc<Cell<&'static Encoding>>,
}

enum State {
    Ascii, // so far
    Utf8,
    Decoding(Box<Decoder>),
    Done,
}

impl<R: BufRead> Transcoder<R> {
    /// `head` are bytes that `inner` begins with.
    pub(crate) fn new(inner: R, head: &[u8], found: Rc<Cell<&'static Encoding>>) -> Self {
        let marked = Encoding::for_bom(head).map(|(encoding, _)| encoding).or_else(|| wide(head));
        let state = match marked {
            Some(encoding) if encoding != UTF_8 => {
                found.set(encoding);
                State::Decoding(Box::new(encoding.new_decoder_with_bom_removal()))
            }
            Some(_) => State::Utf8,
            None => State::Ascii,
        };
        Self { inner, state, sample: io::Cursor::default(), decoded: io::Cursor::default(), found }
    }
}

impl<R: BufRead> Read for Transcoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let read = self.decoded.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            match &mut self.state {
                State::Done => return Ok(0),
                State::Ascii => {
                    let input = self.inner.fill_buf()?;
                    let ascii = Encoding::ascii_valid_up_to(input).min(buffer.len());
                    if ascii > 0 || input.is_empty() {
                        buffer[..ascii].copy_from_slice(&input[..ascii]);
                        self.inner.consume(ascii);
                        return Ok(ascii);
                    }
                    let sample = self.sample.get_mut();
                    self.inner.by_ref().take(SAMPLE).read_to_end(sample)?;
                    let whole = (sample.len() as u64) < SAMPLE;
                    self.state = if mostly_utf8(sample, whole) {
                        State::Utf8
                    } else {
                        let encoding = guess(sample);
                        self.found.set(encoding);
                        State::Decoding(Box::new(encoding.new_decoder_without_bom_handling()))
                    };
                }
                State::Utf8 => {
                    let read = self.sample.read(buffer)?;
                    return if read > 0 { Ok(read) } else { self.inner.read(buffer) };
                }
                State::Decoding(decoder) => {
                    let sampled = !self.sample.fill_buf()?.is_empty();
                    let input = if sampled { self.sample.fill_buf()? } else { self.inner.fill_buf()? };
                    let last = input.is_empty();
                    let mut room = vec![0; DECODED];
                    let (result, read, written) =
                        decoder.decode_to_utf8_without_replacement(input, &mut room, last);
                    if sampled {
                        self.sample.consume(read)
                    } else {
                        self.inner.consume(read)
                    };
                    if let DecoderResult::Malformed(..) = result {
                        return Err(io::Error::other(Stop::Undecodable(self.found.get().name())));
                    }
                    if last && result == DecoderResult::InputEmpty {
                        self.state = State::Done;
                    }
                    room.truncate(written);
                    self.decoded = io::Cursor::new(room);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{GBK, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251};

    const GERMAN: &str =
        "Über die Größe der Fläche wird später noch zu sprechen sein, so häufig und für alle.";
    const RUSSIAN: &str =
        "Широкая электрификация южных губерний даст мощный толчок подъёму сельского хозяйства.";
    const JAPANESE: &str = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。";
    const CHINESE: &str =
        "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。";

    /// One text in several encodings.
    fn cases() -> Vec<(&'static str, &'static Encoding, Vec<u8>)> {
        let mut cases = Vec::new();
        for (text, encoding) in [
            (GERMAN, WINDOWS_1252),
            ("It’s a naïve “idea” – so be it.", WINDOWS_1252),
            (RUSSIAN, WINDOWS_1251),
            (JAPANESE, SHIFT_JIS),
            (JAPANESE, ISO_2022_JP),
            (CHINESE, GBK),
        ] {
            let (bytes, _, lossy) = encoding.encode(text);
            assert!(!lossy, "{}", encoding.name());
            cases.push((text, encoding, bytes.into_owned()));
        }
        assert_eq!(guess(b"").name(), "windows-1252");
        for text in [GERMAN, RUSSIAN, JAPANESE] {
            cases.push((text, UTF_8, text.as_bytes().to_vec()));
            cases.push((text, UTF_8, ["\u{feff}", text].concat().into_bytes()));
            let marked: Vec<u16> = "\u{feff}".encode_utf16().chain(text.encode_utf16()).collect();
            cases.push((text, UTF_16LE, marked.iter().flat_map(|unit| unit.to_le_bytes()).collect()));
            cases.push((text, UTF_16BE, marked.iter().flat_map(|unit| unit.to_be_bytes()).collect()));
        }
        cases.push((GERMAN, UTF_16LE, GERMAN.encode_utf16().flat_map(u16::to_le_bytes).collect()));
        cases.push((GERMAN, UTF_16BE, GERMAN.encode_utf16().flat_map(u16::to_be_bytes).collect()));
        cases
    }

    #[test]
    fn encodings_are_found() {
        for (text, encoding, bytes) in cases() {
            let (found, by) = decode(bytes, None).unwrap();
            assert_eq!((found.as_str(), by.name()), (text, encoding.name()));
        }
    }

    #[test]
    fn a_stream_is_read_like_a_whole_text() {
        // In any pieces, and after any number of ASCII characters.
        for (text, encoding, bytes) in cases().into_iter().filter(|(_, encoding, _)| *encoding != ISO_2022_JP)
        {
            for capacity in [1, 7, 100_000] {
                let found = Rc::new(Cell::new(UTF_8));
                let inner = io::BufReader::with_capacity(capacity, bytes.as_slice());
                let mut read = String::new();
                let mut stream = io::BufReader::new(Transcoder::new(
                    inner,
                    &bytes[..bytes.len().min(HEAD)],
                    found.clone(),
                ));
                stream.read_to_string(&mut read).unwrap();
                let read = read.strip_prefix('\u{feff}').unwrap_or(&read);
                assert_eq!((read, found.get().name()), (text, encoding.name()));
            }
        }
        let late = [b"x".repeat(200_000), WINDOWS_1252.encode(GERMAN).0.into_owned()].concat();
        let found = Rc::new(Cell::new(UTF_8));
        let mut read = String::new();
        let stream = Transcoder::new(late.as_slice(), &late[..HEAD], found.clone());
        io::BufReader::new(stream).read_to_string(&mut read).unwrap();
        assert!(read.ends_with(GERMAN) && read.len() == 200_000 + GERMAN.len());
        assert_eq!(found.get(), WINDOWS_1252);
    }

    #[test]
    fn one_mark_is_taken() {
        for (bytes, text) in [
            (&b"\xff\xfe\xff\xfea\0"[..], "\u{feff}a"),
            (b"\xfe\xff\xfe\xff\0a", "\u{feff}a"),
            (b"\xef\xbb\xbf\xef\xbb\xbfa", "\u{feff}a"),
        ] {
            let (whole, encoding) = decode(bytes.to_vec(), None).unwrap();
            let mut read = String::new();
            Transcoder::new(bytes, bytes, Rc::new(Cell::new(UTF_8))).read_to_string(&mut read).unwrap();
            assert_eq!(whole, text);
            // The mark of UTF-8 is left to the reader of lines.
            let read = read.strip_prefix('\u{feff}').filter(|_| encoding == UTF_8).unwrap_or(&read);
            assert_eq!(read, text);
        }
    }

    #[test]
    fn what_is_declared_is_believed_unless_bytes_tell_otherwise() {
        let read = |bytes: &[u8], declared| decode(bytes.to_vec(), Some(declared)).unwrap();
        assert_eq!(read(b"\xe4", WINDOWS_1251), ("д".into(), WINDOWS_1251)); // "ä" of a German
        assert_eq!(read("д".as_bytes(), WINDOWS_1251), ("д".into(), UTF_8));
        assert_eq!(read(&WINDOWS_1252.encode(GERMAN).0, UTF_8), (GERMAN.into(), WINDOWS_1252));
    }

    #[test]
    fn a_mark_goes_before_escapes() {
        let (text, encoding) = decode("\u{feff}ö\u{1b}$".into(), None).unwrap();
        assert_eq!((text.as_str(), encoding.name()), ("ö\u{1b}$", "UTF-8"));
    }

    #[test]
    fn what_is_no_text_is_told_from_damage() {
        let refused = |bytes: &[u8]| decode(bytes.to_vec(), None).unwrap_err().0;
        assert!(matches!(refused(b"\x89PNG\r\n\x1a\n\xff\x01"), Problem::Binary));
        assert!(matches!(refused(b"ab\0cd"), Problem::Binary));
        let damaged = [GERMAN.as_bytes(), b"\xff", GERMAN.as_bytes()].concat();
        assert!(matches!(refused(&damaged), Problem::NotUtf8 { byte } if byte == GERMAN.len() as u64));
        // A surrogate without its partner.
        assert!(matches!(refused(b"\xff\xfea\0\0\xd8b\0"), Problem::Undecodable { encoding: "UTF-16LE" }));
    }

    #[test]
    fn wide_characters_are_told_by_their_zeros() {
        let of = |bytes: &[u8]| wide(bytes).map(Encoding::name);
        assert_eq!(of(b"a\0n\0t\0s\0"), Some("UTF-16LE"));
        assert_eq!(of(b"\0a\0n\0t\0s"), Some("UTF-16BE"));
        // One character is too few, and three of four are not yet most of them; four of five are.
        for bytes in [&b"a\0"[..], b"\0a", b"", b"a", b"a\0n\0t\0ss", b"\0a\0n\0tss"] {
            assert_eq!(of(bytes), None, "{bytes:?}");
        }
        assert_eq!(of(b"a\0n\0t\0s\0ss"), Some("UTF-16LE"));
        assert_eq!(of(b"\0a\0n\0t\0sss"), Some("UTF-16BE"));
        // Half of many are no more than half.
        assert_eq!(of(&b"a\0bc".repeat(20)), None);
        assert_eq!(of(&b"\0abc".repeat(20)), None);
        assert_eq!(of(b"\0\0a\0n\0t\0s\0"), None);
    }

    #[test]
    fn damaged_utf8_is_mostly_valid() {
        for (bytes, whole, expected) in [
            (&b""[..], true, true),
            (b"ants", true, true),
            ("äöü".as_bytes(), true, true),
            (b"\xff", true, false),
            (b"\xc3\xa4\xff", true, false), // as many as not
            (b"\xc3\xa4\xff\xc3\xa4", true, true),
            // Of a part the last character may be cut off, and no other.
            (b"\xc3", true, false),
            (b"\xc3", false, true),
            (b"ants \xc3", false, true),
            (b"\xffants", false, false),
            (b"ants \xc3 ants", false, false),
            (b"\xff \xc3", false, false),
        ] {
            assert_eq!(mostly_utf8(bytes, whole), expected, "{bytes:?}");
        }
    }

    /// A sample that ends inside a character is one of UTF-8, if nothing else is wrong.
    #[test]
    fn a_sample_may_end_anywhere() {
        let text = ["é", &"x".repeat(SAMPLE as usize - 3), "é ants"].concat();
        let found = Rc::new(Cell::new(UTF_8));
        let mut read = String::new();
        Transcoder::new(text.as_bytes(), b"", found.clone()).read_to_string(&mut read).unwrap();
        assert!(read == text && found.get() == UTF_8);
    }

    #[cfg(feature = "files")]
    #[test]
    fn heads_of_what_is_no_text_are_refused() {
        let old = check_head(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0").unwrap_err();
        assert!(matches!(old, Problem::Unsupported { kind: "a document of an old Office program" }), "{old}");
        assert!(matches!(check_head(b"ants\0"), Err(Problem::Binary)));
        let marked: Vec<u8> = "\u{feff}吾輩は猫\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(marked.contains(&0) && wide(&marked).is_none());
        let plain: Vec<u8> = "Red ants\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for head in [&b""[..], b"ants", &marked, &plain] {
            assert!(check_head(head).is_ok(), "{head:?}");
        }
    }

    #[cfg(feature = "files")]
    #[test]
    fn pages_are_told_by_their_first_element() {
        for head in [
            "<!DOCTYPE html>",
            "<html lang='de'>",
            " \n<HEAD>",
            "<body\n>",
            "<?xml version='1.0'?>\n<html>",
            "<!-- saved --><?xml version='1.0'?><!-- by hand -->\n<html>",
        ] {
            assert!(is_page(head.as_bytes()), "{head}");
            let wide: Vec<u8> = head.encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert!(is_page(&wide), "{head}");
        }
        for head in [
            "",
            "<",
            "<b>Red ants</b>",
            "<htmlx>",
            "<header>",
            "<html",
            "Red ants --> <html>",
            "Red ants ?> <html>",
            "<!-- saved <html>",
            "<?xml version='1.0' <html>",
        ] {
            assert!(!is_page(head.as_bytes()), "{head}");
        }
    }

    #[cfg(feature = "files")]
    #[test]
    fn a_page_names_its_encoding() {
        for (head, name) in [
            ("<meta charset=\"windows-1251\">", Some("windows-1251")),
            ("<meta charset=Shift_JIS/>", Some("Shift_JIS")),
            ("<META HTTP-EQUIV=... CONTENT='text/html; CHARSET=gbk'>", Some("GBK")),
            ("<?xml version=\"1.0\" encoding='iso-8859-5'?>", Some("ISO-8859-5")),
            ("<meta charset=\"ants\">", None),
            ("<html>", None),
        ] {
            assert_eq!(declared(head.as_bytes()).map(Encoding::name), name, "{head}");
        }
    }

    /// Few letters that stand alone are Western ones; letters beside each other, marks that Western texts have not, and more of
    /// them are told by their frequencies.
    #[test]
    fn a_few_letters_alone_tell_no_frequencies() {
        let guessed = |text: &str, encoding: &'static Encoding| guess(&encoding.encode(text).0).name();
        assert_eq!(guessed("pět děti věc čas řeka můj tělo město", WINDOWS_1250), "windows-1252");
        assert_eq!(guessed("pět děti věc čas řeka můj tělo město věk", WINDOWS_1250), "windows-1250");
        for text in ["už", "že", "ž"] {
            assert_eq!(guessed(text, WINDOWS_1250), "windows-1250", "{text}");
        }
        for text in ["вы", "ты", "их", "Мы"] {
            assert_eq!(guessed(text, WINDOWS_1251), "windows-1251", "{text}");
        }
    }
}
