//! Where the objects of a PDF file are (ISO 32000-1, 7.5). Each is read when it is asked for; what is kept is bounded.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::filter::{Bad, Predictor, decode};
use super::object::{Dict, Lexer, Object, Stream, Token};
use crate::error::Problem;

/// Objects of a document.
const OBJECTS: usize = 1 << 20;

/// References from one object to the next that are followed: more are a circle.
const STEPS: usize = 32;

/// How many times the limit of a text all work on a document may come to, in bytes decompressed and looked at.
const WORK: usize = 4;

/// Bytes at the end of a file among which it says where its table is.
const TAIL: usize = 4 << 10;

#[derive(Clone, Copy)]
enum Place {
    /// In the file, from this byte on.
    At(usize),
    /// In an object stream.
    In(u32),
}

/// Objects in a stream: its bytes, and where each begins.
struct Packed {
    bytes: Vec<u8>,
    starts: HashMap<u32, usize>,
}

/// A file, and what is known of it.
pub(super) struct File<'a> {
    bytes: &'a [u8],
    places: HashMap<u32, Place>,
    pub(super) trailer: Dict,
    limit: usize,
    left: usize, // of the work
    objects: HashMap<u32, Object>,
    packed: HashMap<u32, Rc<Packed>>,
    kept: usize,      // bytes that stand for these
    unpacking: usize, // object streams that are being read, for one may need another
    has_searched: bool,
}

pub(super) fn damaged(what: impl ToString) -> Problem {
    Problem::Damaged { kind: "PDF", what: what.to_string() }
}

impl<'a> File<'a> {
    /// Finds the objects of a file; each stream decompressed may have `limit` bytes.
    pub(super) fn open(bytes: &'a [u8], limit: usize) -> Result<Self, Problem> {
        let (trailer, left) = (Dict::new(), limit.saturating_mul(WORK).saturating_add(bytes.len()));
        let (places, objects, packed) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut file = Self {
            bytes,
            places,
            trailer,
            limit,
            left,
            objects,
            packed,
            kept: 0,
            unpacking: 0,
            has_searched: false,
        };
        let tail = bytes.len().saturating_sub(TAIL);
        let start = find_last(&bytes[tail..], b"startxref");
        let start = start.ok_or_else(|| damaged("it ends before the table of its objects"))?;
        let start = Lexer::new(bytes, tail + start + b"startxref".len()).unsigned();
        file.tables(start.unwrap_or(0))?;
        file.unless_encrypted()?;
        if file.root()?.is_none() && !file.has_searched {
            file.search()?;
        }
        Ok(file)
    }

    /// Looks for objects, unless that has been done; whether it was now.
    pub(super) fn search_again(&mut self) -> Result<bool, Problem> {
        let now = !self.has_searched;
        if now {
            self.search()?;
        }
        Ok(now)
    }

    fn unless_encrypted(&self) -> Result<(), Problem> {
        let encrypted = self.trailer.contains_key(&b"Encrypt"[..]);
        if encrypted { Err(Problem::Unsupported { kind: "an encrypted PDF" }) } else { Ok(()) }
    }

    /// Takes work off what may be done.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Problem> {
        self.left = self.left.checked_sub(bytes.max(1)).ok_or_else(|| self.too_much())?;
        Ok(())
    }

    fn too_much(&self) -> Problem {
        damaged(format_args!("there is more in it than {WORK} times {} bytes", self.limit))
    }

    /// The tables from the last one back to the first.
    fn tables(&mut self, start: usize) -> Result<(), Problem> {
        let (mut next, mut seen) = (vec![start], HashSet::new());
        while let Some(start) = next.pop() {
            if !seen.insert(start) || start >= self.bytes.len() {
                continue;
            }
            let mut lexer = Lexer::new(self.bytes, start);
            let found = match lexer.word(b"xref") {
                Some(()) => self.table(lexer)?,
                None => match self.object_at(start, None)? {
                    Some(Object::Stream(stream)) => self.table_stream(&stream)?,
                    _ => None,
                },
            };
            let Some(dict) = found else { continue };
            let at = |key: &str| dict.get(key.as_bytes()).and_then(Object::index);
            next.extend(at("Prev"));
            next.extend(at("XRefStm")); // before the previous one
            for (key, value) in dict.iter() {
                self.trailer.entry(Rc::clone(key)).or_insert_with(|| value.clone());
            }
        }
        Ok(())
    }

    /// A table of lines `offset generation n`; its trailer.
    fn table(&mut self, mut lexer: Lexer<'a>) -> Result<Option<Rc<Dict>>, Problem> {
        let start = lexer.at;
        while lexer.word(b"trailer").is_none() {
            let (Some(first), Some(count)) = (lexer.unsigned(), lexer.unsigned()) else { return Ok(None) };
            for number in (0..count).map(|n| first.saturating_add(n)) {
                let (Some(at), Some(_)) = (lexer.unsigned(), lexer.unsigned()) else { break };
                match lexer.token() {
                    Some(Token::Word(b"n")) => self.place(number, Place::At(at))?,
                    Some(Token::Word(b"f")) => {}
                    _ => return Ok(None),
                }
            }
        }
        let trailer = lexer.object();
        self.charge(lexer.at - start)?;
        Ok(trailer.and_then(|trailer| trailer.dict().cloned()))
    }

    /// A table that is a stream of numbers, of as many bytes each as `W` says.
    fn table_stream(&mut self, stream: &Stream) -> Result<Option<Rc<Dict>>, Problem> {
        let dict = Rc::clone(&stream.dict);
        let numbers = |key: &str| -> Vec<usize> {
            let array = dict.get(key.as_bytes()).and_then(Object::array);
            array.map(|array| array.iter().filter_map(Object::index).collect()).unwrap_or_default()
        };
        let widths = numbers("W");
        let &[kind, second, third] = &widths[..] else { return Ok(None) };
        let width = kind.saturating_add(second).saturating_add(third);
        if !(1..=24).contains(&width) || kind > 8 || second > 8 || third > 8 {
            return Ok(None);
        }
        let data = self.decoded(stream)?;
        let mut entries = data.chunks_exact(width);
        let mut ranges = numbers("Index");
        if ranges.is_empty() {
            ranges = vec![0, usize::MAX];
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0_usize, |sum, &byte| sum << 8 | usize::from(byte));
        for range in ranges.chunks_exact(2) {
            for (n, entry) in entries.by_ref().take(range[1]).enumerate() {
                let object = range[0].saturating_add(n);
                let (value, rest) = entry.split_at(kind);
                let value = if kind == 0 { 1 } else { number(value) };
                match (value, number(&rest[..second])) {
                    (1, at) => self.place(object, Place::At(at))?,
                    (2, stream) => {
                        if let Ok(stream) = u32::try_from(stream) {
                            self.place(object, Place::In(stream))?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(Some(dict))
    }

    /// Says where an object is, unless a later table said it.
    fn place(&mut self, number: usize, place: Place) -> Result<(), Problem> {
        let Ok(number) = u32::try_from(number) else { return Ok(()) };
        if self.places.len() >= OBJECTS {
            return Err(damaged(format_args!("it has more than {OBJECTS} objects")));
        }
        self.places.entry(number).or_insert(place);
        Ok(())
    }

    /// Looks for objects from the first byte to the last, where the tables are wrong. Of several of a number the last one counts.
    fn search(&mut self) -> Result<(), Problem> {
        self.has_searched = true;
        self.charge(self.bytes.len())?;
        (self.places, self.objects, self.packed, self.kept) =
            (HashMap::new(), HashMap::new(), HashMap::new(), 0);
        let (mut at, mut found) = (0, Vec::new());
        while let Some(next) =
            self.bytes.get(at..).and_then(|rest| rest.iter().position(|&byte| byte == b'o' || byte == b't'))
        {
            at += next + 1;
            let rest = &self.bytes[at - 1..];
            if rest.starts_with(b"obj") {
                found.extend(header_before(self.bytes, at - 1));
                if found.len() > OBJECTS {
                    return Err(damaged(format_args!("it has more than {OBJECTS} objects")));
                }
            } else if rest.starts_with(b"trailer") {
                let mut lexer = Lexer::new(self.bytes, at + 6);
                let trailer = lexer.object();
                self.charge(lexer.at - at)?;
                if let Some(trailer) = trailer.as_ref().and_then(Object::dict) {
                    self.trailer.extend(trailer.iter().map(|(key, value)| (Rc::clone(key), value.clone())));
                }
            }
        }
        self.unless_encrypted()?;
        for &(number, at) in found.iter().rev() {
            self.place(number, Place::At(at))?;
        }
        let (mut catalog, mut inside) = (None, Vec::new());
        for (number, at) in found {
            let Ok(number) = u32::try_from(number) else { continue };
            if !matches!(self.places.get(&number), Some(Place::At(place)) if *place == at) {
                continue;
            }
            let Some(object) = self.object_at(at, Some(number))? else { continue };
            let of_type = object.dict().and_then(|dict| dict.get(&b"Type"[..]).cloned());
            let Some(of_type) = of_type else { continue };
            if of_type.is("Catalog") {
                catalog = Some(number);
            } else if of_type.is("ObjStm") {
                let packed = self.packed(number)?;
                inside.extend(
                    packed.iter().flat_map(|packed| packed.starts.keys().map(|&object| (object, number))),
                );
                if inside.len() > OBJECTS {
                    return Err(damaged(format_args!("it has more than {OBJECTS} objects")));
                }
            } else if of_type.is("XRef") {
                for (key, value) in object.dict().iter().flat_map(|dict| dict.iter()) {
                    self.trailer.insert(Rc::clone(key), value.clone());
                }
            }
        }
        self.unless_encrypted()?;
        for (object, stream) in inside {
            self.place(object as usize, Place::In(stream))?;
        }
        if self.root()?.is_none() {
            self.trailer.extend(catalog.map(|number| (b"Root"[..].into(), Object::Reference(number))));
        }
        Ok(())
    }

    /// The catalog, if it is one.
    pub(super) fn root(&mut self) -> Result<Option<Rc<Dict>>, Problem> {
        let root = self.trailer.get(&b"Root"[..]).cloned().unwrap_or(Object::Null);
        let root = self.resolve(&root)?.dict().cloned();
        Ok(root.filter(|root| root.contains_key(&b"Pages"[..])))
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.places.contains_key(&number)
    }

    /// What a reference means; anything else is itself.
    pub(super) fn resolve(&mut self, object: &Object) -> Result<Object, Problem> {
        let mut object = object.clone();
        for _ in 0..STEPS {
            let Object::Reference(number) = object else { return Ok(object) };
            object = self.object(number)?;
        }
        Ok(Object::Null)
    }

    /// What a dictionary has under a key.
    pub(super) fn get(&mut self, dict: &Dict, key: &str) -> Result<Object, Problem> {
        match dict.get(key.as_bytes()) {
            Some(object) => self.resolve(&object.clone()),
            None => Ok(Object::Null),
        }
    }

    fn object(&mut self, number: u32) -> Result<Object, Problem> {
        if let Some(object) = self.objects.get(&number) {
            return Ok(object.clone());
        }
        let before = self.left;
        let object = match self.places.get(&number) {
            None => None,
            Some(&Place::At(at)) => match self.object_at(at, Some(number))? {
                None if !self.has_searched => {
                    self.search()?;
                    return self.object(number);
                }
                object => object,
            },
            Some(&Place::In(stream)) => match self.packed(stream)? {
                None => None,
                Some(packed) => match packed.starts.get(&number) {
                    None => None,
                    Some(&start) => {
                        let mut lexer = Lexer::new(&packed.bytes, start);
                        let object = lexer.object();
                        self.charge(lexer.at.saturating_sub(start))?;
                        object
                    }
                },
            },
        };
        let object = object.unwrap_or(Object::Null);
        self.keep(before - self.left);
        self.objects.insert(number, object.clone());
        Ok(object)
    }

    /// Makes room for something read from so many bytes.
    fn keep(&mut self, bytes: usize) {
        self.kept = self.kept.saturating_add(bytes + 64);
        if self.kept > 16 << 20 {
            (self.objects, self.packed, self.kept) = (HashMap::new(), HashMap::new(), 0);
        }
    }

    /// The object that begins at a byte, `7 0 obj`, if it has that number.
    fn object_at(&mut self, at: usize, number: Option<u32>) -> Result<Option<Object>, Problem> {
        let bytes = self.bytes;
        let mut lexer = Lexer::new(bytes, at);
        let mut header = || {
            let found = lexer.unsigned()?;
            lexer.unsigned()?;
            lexer.word(b"obj")?;
            number.is_none_or(|number| number as usize == found).then_some(())
        };
        let is_object = at < bytes.len() && header().is_some();
        self.charge(lexer.at - at)?;
        if !is_object {
            return Ok(None);
        }
        let object = lexer.object();
        self.charge(lexer.at - at)?;
        // What is no object is nothing, but it is there.
        let object = Some(object.unwrap_or(Object::Null));
        let Some(Object::Dict(dict)) = object else { return Ok(object) };
        if lexer.word(b"stream").is_none() {
            return Ok(Some(Object::Dict(dict)));
        }
        let start = lexer.at
            + match bytes.get(lexer.at..) {
                Some([b'\r', b'\n', ..]) => 2,
                Some([b'\r' | b'\n', ..]) => 1,
                _ => 0,
            };
        // A length that stands elsewhere is a number there, at a place in the file or in a stream that says its own length.
        let length = match dict.get(&b"Length"[..]) {
            Some(Object::Reference(number)) => match self.places.get(number) {
                Some(&Place::At(at)) => self.number_at(at),
                _ => None,
            },
            Some(length) => length.index(),
            None => None,
        };
        let end = length.and_then(|length| start.checked_add(length)).filter(|&end| end <= bytes.len());
        let is_end = |&end: &usize| Lexer::new(part(bytes, end), 0).word(b"endstream").is_some();
        let end = match end.filter(is_end) {
            Some(end) => end,
            None => {
                let end = find(&bytes[start.min(bytes.len())..], b"endstream");
                self.charge(end.unwrap_or(bytes.len()))?;
                match end {
                    Some(end) => start + end,
                    None => return Err(damaged("it ends inside a stream")),
                }
            }
        };
        Ok(Some(Object::Stream(Rc::new(Stream { dict, start, end }))))
    }

    fn number_at(&self, at: usize) -> Option<usize> {
        let mut lexer = Lexer::new(part(self.bytes, at), 0);
        lexer.unsigned()?;
        lexer.unsigned()?;
        lexer.word(b"obj")?;
        lexer.unsigned()
    }

    /// The objects in a stream.
    fn packed(&mut self, number: u32) -> Result<Option<Rc<Packed>>, Problem> {
        if let Some(packed) = self.packed.get(&number) {
            return Ok(Some(Rc::clone(packed)));
        }
        let Some(&Place::At(at)) = self.places.get(&number) else { return Ok(None) };
        let Some(Object::Stream(stream)) = self.object_at(at, Some(number))? else { return Ok(None) };
        if self.unpacking >= 4 {
            return Err(damaged("an object stream is inside itself"));
        }
        self.unpacking += 1;
        let bytes = self.decoded(&stream);
        self.unpacking -= 1;
        let bytes = bytes?;
        let count = |key: &str| stream.dict.get(key.as_bytes()).and_then(Object::index);
        let (Some(objects), Some(first)) = (count("N"), count("First")) else { return Ok(None) };
        let (mut lexer, mut starts) = (Lexer::new(&bytes, 0), HashMap::new());
        for _ in 0..objects.min(OBJECTS) {
            let (Some(object), Some(start)) = (lexer.unsigned(), lexer.unsigned()) else { break };
            let (object, start) = (u32::try_from(object), first.saturating_add(start));
            if let Some(object) = object.ok().filter(|_| start <= bytes.len()) {
                starts.insert(object, start);
            }
        }
        self.keep(bytes.len() + 32 * starts.len());
        let packed = Rc::new(Packed { bytes, starts });
        self.packed.insert(number, Rc::clone(&packed));
        Ok(Some(packed))
    }

    /// The bytes of a stream, as they were before they were compressed.
    pub(super) fn decoded(&mut self, stream: &Stream) -> Result<Vec<u8>, Problem> {
        let stored = self.bytes.get(stream.start..stream.end).unwrap_or_default();
        self.charge(stored.len() + 256)?;
        let (mut filters, mut abouts) =
            (self.list(&stream.dict, "Filter")?, self.list(&stream.dict, "DecodeParms")?);
        filters.truncate(8);
        abouts.resize(filters.len(), Object::Null);
        let mut data = None;
        for (filter, about) in filters.iter().zip(&abouts) {
            let about = self.predictor(about)?;
            let limit = self.limit.min(self.left);
            let out =
                decode(filter.name().unwrap_or_default(), data.as_deref().unwrap_or(stored), about, limit);
            let out = out.map_err(|bad| match bad {
                Bad::TooLong if limit < self.limit => self.too_much(),
                Bad::TooLong => damaged(format_args!("a stream becomes longer than {limit} bytes")),
                Bad::Damaged => damaged("a stream cannot be decompressed"),
                Bad::Unknown => damaged("a stream of text is compressed like a picture"),
            })?;
            self.charge(out.len())?;
            data = Some(out);
        }
        Ok(data.unwrap_or_else(|| stored.to_vec()))
    }

    /// What is one object or an array of them.
    fn list(&mut self, dict: &Dict, key: &str) -> Result<Vec<Object>, Problem> {
        match self.get(dict, key)? {
            Object::Null => Ok(Vec::new()),
            Object::Array(array) => array.iter().take(8).map(|object| self.resolve(object)).collect(),
            object => Ok(vec![object]),
        }
    }

    fn predictor(&mut self, about: &Object) -> Result<Predictor, Problem> {
        let empty = Rc::default();
        let about = about.dict().unwrap_or(&empty);
        let mut number =
            |key, default| -> Result<usize, Problem> { Ok(self.get(about, key)?.index().unwrap_or(default)) };
        Ok(Predictor {
            kind: number("Predictor", 1)?,
            colors: number("Colors", 1)?,
            bits: number("BitsPerComponent", 8)?,
            columns: number("Columns", 1)?,
            is_early: number("EarlyChange", 1)? != 0,
        })
    }
}

/// The number of the object whose header `7 0 obj` has its last word here, and where the header begins.
fn header_before(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut at = at;
    let mut back = |wanted: fn(u8) -> bool| {
        let end = at;
        while at > 0 && end - at < 20 && wanted(bytes[at - 1]) {
            at -= 1;
        }
        (end > at).then_some(at)
    };
    back(super::object::is_blank);
    back(|byte| byte.is_ascii_digit())?;
    back(super::object::is_blank)?;
    let start = back(|byte| byte.is_ascii_digit())?;
    Some((Lexer::new(bytes, start).unsigned()?, start))
}

/// A few bytes from one on.
fn part(bytes: &[u8], at: usize) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    &rest[..rest.len().min(64)]
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == what[0])?;
        if bytes[at..].starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
}

fn find_last(bytes: &[u8], what: &[u8]) -> Option<usize> {
    (0..bytes.len()).rev().find(|&at| bytes[at..].starts_with(what))
}
