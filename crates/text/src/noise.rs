//! What is in texts and is no prose: mail headers, quoted lines, addresses, hosts, hashes.

use std::borrow::Cow;

/// Names of headers of mail and news, two of which at the head of a text make it a mail.
const HEADERS: [&str; 30] = [
    "approved",
    "archive-name",
    "cc",
    "content-transfer-encoding",
    "content-type",
    "date",
    "distribution",
    "expires",
    "followup-to",
    "from",
    "in-reply-to",
    "keywords",
    "lines",
    "message-id",
    "mime-version",
    "newsgroups",
    "nntp-posting-host",
    "organization",
    "originator",
    "path",
    "received",
    "references",
    "reply-to",
    "return-path",
    "sender",
    "subject",
    "summary",
    "to",
    "x-mailer",
    "xref",
];
/// Headers whose values are words of the author.
const PROSE: [&str; 3] = ["keywords", "subject", "summary"];
/// Lines of the longest head.
const HEAD: usize = 200;
/// Endings of hosts: general ones, and those of countries that are no common ending of a file or word.
const DOMAINS: [&str; 40] = [
    "com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "arpa", "bitnet", "uucp", "app", "dev",
    "au", "be", "br", "ca", "ch", "cn", "cz", "de", "dk", "es", "eu", "fi", "fr", "hu", "ie", "il", "jp",
    "kr", "nl", "nz", "pt", "ru", "se", "uk", "us", "za",
];

/// What is left in place of what is left out: space, but none that words of a phrase may have between them.
const GAP: char = '\u{c}';

/// A text without mail headers, quoted lines, a signature and addresses; what was left out leaves a form feed.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let body = head(text).map_or(Cow::Borrowed(text), Cow::Owned);
    let body = unquoted(&body).map_or(body, Cow::Owned);
    let body = unsigned(&body).map_or(body, Cow::Owned);
    without_addresses(&body).map_or(body, Cow::Owned)
}

/// The text of a mail without its headers, of which some are words; `None` if it begins with no headers.
fn head(text: &str) -> Option<String> {
    let mut known = 0;
    let mut prose = String::new();
    let mut in_prose = false;
    let mut rest = text.trim_start();
    for _ in 0..HEAD {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if line.trim().is_empty() {
            break;
        }
        if !line.starts_with([' ', '\t']) {
            // Not a header: the head has ended without an empty line.
            let Some((name, _)) = line.split_once(':').filter(|(name, _)| is_header_name(name)) else {
                break;
            };
            let name = name.to_ascii_lowercase();
            known += usize::from(HEADERS.contains(&name.as_str()));
            in_prose = PROSE.contains(&name.as_str());
        }
        if in_prose {
            prose.push_str(line.split_once(':').map_or(line, |(_, value)| value));
            prose.push('\n');
        }
        rest = after;
    }
    (known >= 2).then(|| prose + "\n" + rest)
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The text without quoted lines and the line that says whom they quote; `None` if there are none, or nothing else.
fn unquoted(text: &str) -> Option<String> {
    let is_quoted = |line: &&str| line.trim_start().starts_with('>');
    if !text.contains('>') || !text.lines().any(|line| is_quoted(&line)) {
        return None;
    }
    let mut own = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let names_author = line.trim_end().ends_with(':') && lines.peek().is_some_and(is_quoted);
        if !is_quoted(&line) && !names_author {
            own.push_str(line);
            own.push('\n');
        } else if own.ends_with('\n') {
            own.pop();
            own.extend([GAP, '\n']);
        }
    }
    own.contains(char::is_alphabetic).then_some(own)
}

/// Lines of the longest signature.
const SIGNATURE: usize = 16;

/// The text before the signature, which follows a line of `-- ` (RFC 3676, section 4.3); `None` if there is none, or nothing else.
fn unsigned(text: &str) -> Option<String> {
    let start = text.rmatch_indices("\n-- ").map(|(start, _)| start).find(|&start| {
        let rest = text.get(start + 4..).unwrap_or_default();
        rest.starts_with('\n') || rest.starts_with("\r\n")
    })?;
    let (own, signature) = text.split_at_checked(start)?;
    let few = signature.lines().take(SIGNATURE + 3).count() <= SIGNATURE + 2;
    (few && own.contains(char::is_alphabetic)).then(|| own.to_owned())
}

/// The text without `scheme://...`, `www....` and `name@host`; `None` if there are none.
fn without_addresses(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let before = |at: usize| at - bytes[..at].iter().rev().take_while(|byte| is_local(**byte)).count();
    let after = |at: usize| at + bytes[at..].iter().take_while(|byte| is_url(**byte)).count();
    let mut kept = String::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(place) = bytes[at..].iter().position(|byte| matches!(byte, b':' | b'@' | b'w' | b'W')) {
        let mark = at + place;
        at = mark + 1;
        let rest = &bytes[mark..];
        let is_start = mark == 0 || !bytes[mark - 1].is_ascii_alphanumeric();
        let range = if rest.starts_with(b"://") {
            (before(mark), after(mark))
        } else if rest[0] == b'@' && rest.get(1).is_some_and(u8::is_ascii_alphanumeric) && before(mark) < mark
        {
            (before(mark), mark + 1 + bytes[mark + 1..].iter().take_while(|byte| is_local(**byte)).count())
        } else if is_start && rest.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"www.")) {
            (mark, after(mark))
        } else {
            continue;
        };
        let (start, end) = (range.0.max(from), range.1);
        // Both ends are beside ASCII bytes, so between characters.
        kept.push_str(text.get(from..start).unwrap_or_default());
        kept.push(GAP);
        (from, at) = (end, end);
    }
    (from > 0).then(|| kept + text.get(from..).unwrap_or_default())
}

/// A byte of what stands before `@` or `://`.
fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._%+-!=".contains(&byte)
}

/// A byte of an address of a page.
fn is_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"<>\"'`()[]{}|".contains(&byte)
}

/// Whether a word, as it is written, is a host, a hash or encoded data.
pub(crate) fn is_noise(word: &str) -> bool {
    word.is_ascii() && (is_host(word) || is_code(word))
}

/// Names with a dot whose end is a domain, or two dots and an end of two letters: `cs.cmu.edu`, `bbc.co.uk`.
fn is_host(word: &str) -> bool {
    let Some((before, end)) = word.rsplit_once('.') else { return false };
    let end = end.to_ascii_lowercase();
    let is_country = end.len() == 2 && end.bytes().all(|byte| byte.is_ascii_alphabetic());
    before.len() > 1
        && (DOMAINS.contains(&end.as_str()) || (is_country && before.contains('.') && before.len() > 3))
}

/// Hexadecimal digits of at least 8 places, or at least 20 letters and digits of both cases: with two digits or more, since
/// words have none.
fn is_code(word: &str) -> bool {
    let count = |of: fn(&u8) -> bool| word.bytes().filter(of).count();
    let digits = count(u8::is_ascii_digit);
    let hexadecimal = word.len() >= 8 && count(u8::is_ascii_hexdigit) == word.len();
    let encoded = word.len() >= 20
        && count(u8::is_ascii_alphanumeric) == word.len()
        && count(u8::is_ascii_uppercase) > 0
        && count(u8::is_ascii_lowercase) > 0;
    digits >= 2 && (hexadecimal || encoded)
}
