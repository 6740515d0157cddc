//! Messages (EML) and mailboxes (MBOX): decoded text, with the headers that say who wrote it, when and on what.

use std::io::BufRead;

use mail_parser::{HeaderName, Message, MessageParser, MimeHeaders, PartType};

use crate::contained::contained;
use crate::error::Problem;
use crate::page::page;
use crate::source::problem_of;

/// Headers that a message has and few other texts begin with.
const HEADERS: [&str; 12] = [
    "cc",
    "content-type",
    "date",
    "delivered-to",
    "from",
    "message-id",
    "mime-version",
    "newsgroups",
    "received",
    "return-path",
    "subject",
    "to",
];

/// The further columns of messages.
pub(crate) const COLUMNS: [&str; 2] = ["from", "date"];

/// A message as it is read.
pub(crate) struct Mail {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    /// In the order of [`COLUMNS`]; empty where the message does not say it.
    pub(crate) fields: [String; COLUMNS.len()],
}

/// Whether these bytes begin as a message does: with headers alone, of which `From` and another are known.
pub(crate) fn is_mail(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let (mut from, mut known) = (false, 0);
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let whole = line.ends_with(b"\n");
        let line = line.trim_ascii_end();
        if line.is_empty() || !whole {
            break;
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") || line.starts_with(b">From ") {
            continue;
        }
        let Some(name) = line.iter().position(|&byte| byte == b':').and_then(|end| line.get(..end)) else {
            return false;
        };
        if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_graphic()) {
            return false;
        }
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        from |= name == "from";
        known += usize::from(HEADERS.contains(&name.as_str()));
    }
    from && known > 1
}

/// Whether these bytes begin as a mailbox does: with a line `From ...`, and then as a message.
pub(crate) fn is_mailbox(head: &[u8]) -> bool {
    let rest = head.strip_prefix(b"From ").and_then(|rest| {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        rest.get(end + 1..)
    });
    rest.is_some_and(is_mail)
}

/// A message: its words are those of its subject and of the parts that are text and are no attachments.
pub(crate) fn mail(bytes: &[u8]) -> Result<Mail, Problem> {
    let damaged = || Problem::Damaged { kind: "mail", what: "its headers cannot be read".to_owned() };
    let message = contained("mail", || MessageParser::default().parse(bytes).ok_or_else(damaged))?;
    if is_encrypted(&message) {
        return Err(Problem::Unsupported { kind: "an encrypted mail" });
    }
    let subject = message.subject().map(one_line).filter(|subject| !subject.is_empty());
    let header = |name: HeaderName<'static>| message.header(name).and_then(|value| value.as_text());
    let mut text = String::new();
    let prose =
        [subject.as_deref(), header(HeaderName::Keywords), header(HeaderName::Other("Summary".into()))];
    for line in prose.into_iter().flatten() {
        text.push_str(line);
        text.push_str("\n\n");
    }
    let mut some = false;
    for part in message.text_bodies() {
        let part = match &part.body {
            PartType::Text(text) => text.replace("\r\n", "\n"),
            PartType::Html(html) => page(html).1,
            _ => continue,
        };
        some |= !part.trim().is_empty();
        text.push_str(&part);
        text.push('\n');
    }
    if !some {
        text.clear(); // a subject alone is no document
    }
    let from = message.from().and_then(|from| from.first());
    let from = from.and_then(|from| from.name().or_else(|| from.address())).map(one_line);
    let date = message.date().filter(|date| date.is_valid()); // of the years 1900 to 3000
    let date = date.map(|date| {
        let (year, month, day) = (date.year, date.month, date.day);
        format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", date.hour, date.minute, date.second)
    });
    Ok(Mail { title: subject, text, fields: [from.unwrap_or_default(), date.unwrap_or_default()] })
}

/// A text on one line, without control characters.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_encrypted(message: &Message<'_>) -> bool {
    message.content_type().is_some_and(|kind| {
        let subtype = kind.subtype().unwrap_or_default().to_ascii_lowercase();
        let signed =
            kind.attribute("smime-type").is_some_and(|kind| kind.eq_ignore_ascii_case("signed-data"));
        subtype == "encrypted" || matches!(subtype.as_str(), "pkcs7-mime" | "x-pkcs7-mime") && !signed
    })
}

/// The next message of a mailbox.
pub(crate) struct Next {
    /// None if it is longer than the limit, and was passed over.
    pub(crate) bytes: Option<Vec<u8>>,
    /// The line on which it begins, from 1.
    pub(crate) line: u64,
}

/// Cuts a mailbox into messages, of which one at a time is in memory.
pub(crate) struct Mailbox<R> {
    reader: R,
    limit: usize,
    line: u64,   // lines begun
    open: bool,  // the line read last goes on: it is longer than the limit
    ended: bool, // the line `From ` of the next message has been read
}

impl<R: BufRead> Mailbox<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self { reader, limit, line: 0, open: false, ended: false }
    }

    /// The next message; a line that begins with `From ` after an empty one begins another, and `>From ` stands for `From `.
    pub(crate) fn next(&mut self) -> Result<Option<Next>, Problem> {
        let (mut bytes, mut line, mut whole) = (Vec::new(), Vec::new(), true);
        let (mut start, mut begun, mut blank) = (self.line, self.ended, true);
        self.ended = false;
        loop {
            line.clear();
            let most = (self.limit as u64).saturating_add(1);
            let read = std::io::Read::take(self.reader.by_ref(), most).read_until(b'\n', &mut line);
            if read.map_err(problem_of)? == 0 {
                break;
            }
            let first = !std::mem::replace(&mut self.open, !line.ends_with(b"\n"));
            self.line += u64::from(first);
            if first && blank && line.starts_with(b"From ") {
                if begun {
                    self.ended = true;
                    break;
                }
                (start, begun) = (self.line, true);
                continue;
            }
            blank = (first || blank) && line.trim_ascii().is_empty();
            whole &= bytes.len().saturating_add(line.len()) <= self.limit;
            if whole {
                let quoted = line.iter().take_while(|&&byte| byte == b'>').count();
                let from = line.get(quoted..).is_some_and(|rest| rest.starts_with(b"From "));
                bytes.extend_from_slice(&line[usize::from(quoted > 0 && from)..]);
            } else {
                bytes = Vec::new();
            }
        }
        Ok(begun.then(|| Next { bytes: whole.then_some(bytes), line: start }))
    }
}
