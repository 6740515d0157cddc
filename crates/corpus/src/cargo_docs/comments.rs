//! The prose in the doc comments of a Rust source file.

/// The comment of one item or module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    /// The line of its first comment mark, from 1.
    pub(crate) line: u64,
    /// Its prose on one line.
    pub(crate) text: String,
}

/// The comments of a file, `///` and `//!`, in order. Fenced code, link targets and the headings that every
/// comment has are left out.
pub(crate) fn comments(source: &str) -> impl Iterator<Item = Comment> {
    let mut lines = source.lines().zip(1u64..).peekable();
    std::iter::from_fn(move || {
        loop {
            let (first, line) = lines.next()?;
            let Some((mark, body)) = comment(first) else { continue };
            let mut prose = Prose::default();
            prose.push(body);
            let more = |next: &(&str, u64)| comment(next.0).is_some_and(|(other, _)| other == mark);
            while let Some((next, _)) = lines.next_if(more) {
                prose.push(comment(next).map_or("", |(_, body)| body));
            }
            return Some(Comment { line, text: prose.text });
        }
    })
}

/// The mark of a doc comment line and what follows it.
fn comment(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    if let Some(body) = line.strip_prefix("//!") {
        return Some(("//!", body));
    }
    let body = line.strip_prefix("///")?;
    if body.starts_with('/') { None } else { Some(("///", body)) }
}

/// Markdown on its way to plain words.
#[derive(Default)]
struct Prose {
    text: String,
    fence: Option<char>,
}

impl Prose {
    fn push(&mut self, line: &str) {
        let line = line.trim();
        let mark = ['`', '~'].into_iter().find(|&mark| line.chars().take_while(|&c| c == mark).count() >= 3);
        match (self.fence, mark) {
            (None, Some(_)) => self.fence = mark,
            (Some(open), Some(close)) if open == close => self.fence = None,
            (Some(_), _) => {}
            (None, None) => self.push_prose(line),
        }
    }

    fn push_prose(&mut self, line: &str) {
        const HEADINGS: [&str; 8] =
            ["Example", "Examples", "Errors", "Panics", "Safety", "Arguments", "Returns", "Note"];
        let heading = line.trim_start_matches('#').trim_matches([' ', ':']);
        let target = line.starts_with('[') && line.contains("]: "); // of a link further up
        if target || line.starts_with('#') && HEADINGS.contains(&heading) {
            return;
        }
        for word in without_targets(heading).split_whitespace().filter(|word| !word.contains("://")) {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
    }
}

/// `[text](target)` and `[text][target]` as `text`, code without its backticks.
fn without_targets(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['[', ']', '`']) {
        plain.push_str(&rest[..at]);
        let bracket = rest[at..].starts_with(']');
        rest = &rest[at + 1..];
        if bracket {
            for (open, close) in [('(', ')'), ('[', ']')] {
                let target = rest.strip_prefix(open).and_then(|target| target.split_once(close));
                rest = target.map_or(rest, |(_, after)| after);
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(u64, String)> {
        comments(source).map(|comment| (comment.line, comment.text)).collect()
    }

    #[test]
    fn one_comment_per_item_or_module() {
        let source = "//! A module.\n//! Two lines.\n/// An item.\nfn f() {}\n    /// Another\n    ///\n    /// with a gap.\n";
        let expected = [(1, "A module. Two lines."), (3, "An item."), (5, "Another with a gap.")];
        assert_eq!(found(source), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn ordinary_comments_are_none() {
        assert_eq!(found("// A remark.\n//// A ruler.\nlet url = \"///\";\n"), []);
    }

    #[test]
    fn code_is_left_out() {
        let source = "/// Before.\n/// ```rust\n/// let x = 1;\n/// ~~~\n/// ```\n/// # Examples\n///\n/// ~~~~\n/// f();\n/// ~~~~\n/// After.";
        assert_eq!(found(source), [(1, "Before. After.".to_owned())]);
    }

    #[test]
    fn links_keep_their_words() {
        let source = "/// See [`push`](Vec::push), [the book][1], [`Vec`] and https://x.org.\n/// [1]: https://y.org\n/// ## On a[0]";
        assert_eq!(found(source), [(1, "See push, the book, Vec and On a0".to_owned())]);
        // Only a line that begins with a bracket and names a target is one.
        let source = "/// [`Vec`] grows.\n/// Then [1]: more.";
        assert_eq!(found(source), [(1, "Vec grows. Then 1: more.".to_owned())]);
    }
}
