//! The text of a web page: what is read on it, without what steers or adorns it.

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// Elements without text of the page.
const SKIPPED: [&str; 14] = [
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "select",
    "button", "nav", "footer", "form",
];

/// Elements that stand within a line; all others end it.
const INLINE: [&str; 28] = [
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img", "ins",
    "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "u", "var", "wbr",
];

/// A page's title, if it has one, and its main text: that of its elements `main` and `article`, or of all.
pub(crate) fn page(html: &str) -> (Option<String>, String) {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true); // what is in a script is no element
    let mut page = Page::default();
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token; // a text in memory is always read
        match token {
            Token::StartTag(tag) => page.open(&String::from_utf8_lossy(&tag.name), tag.self_closing),
            Token::EndTag(tag) => page.close(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => page.push(&String::from_utf8_lossy(&text)),
            _ => {}
        }
    }
    let title = page.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = if page.main.trim().is_empty() { page.all } else { page.main };
    (Some(title).filter(|title| !title.is_empty()), text.trim().to_owned())
}

#[derive(Default)]
struct Page {
    title: String,
    all: String,
    main: String,
    in_title: bool,
    mains: usize,                     // elements of main text that are open
    skipped: Option<(String, usize)>, // the outermost that is skipped, and how many of its name are open
}

impl Page {
    fn open(&mut self, name: &str, self_closing: bool) {
        match &mut self.skipped {
            Some((skipped, depth)) => *depth += usize::from(skipped == name && !self_closing),
            None if SKIPPED.contains(&name) && !self_closing => self.skipped = Some((name.to_owned(), 1)),
            None => {
                self.in_title = name == "title";
                self.mains += usize::from(matches!(name, "main" | "article") && !self_closing);
                self.end_line(name);
            }
        }
    }

    fn close(&mut self, name: &str) {
        match &mut self.skipped {
            Some((skipped, depth)) if skipped == name => {
                *depth -= 1;
                if *depth == 0 {
                    self.skipped = None;
                    self.end_line(name);
                }
            }
            // What is never closed ends with the page.
            Some(_) if matches!(name, "body" | "html") => self.skipped = None,
            Some(_) => {}
            None => {
                self.in_title = false;
                self.end_line(name);
                self.mains = self.mains.saturating_sub(usize::from(matches!(name, "main" | "article")));
            }
        }
    }

    fn push(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
        } else if self.skipped.is_none() {
            self.all.push_str(text);
            if self.mains > 0 {
                self.main.push_str(text);
            }
        }
    }

    fn end_line(&mut self, name: &str) {
        if !INLINE.contains(&name) {
            self.push("\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::page;

    fn words(html: &str) -> Vec<String> {
        page(html).1.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_read_on_a_page() {
        let html = "<!DOCTYPE html><html><head><meta charset=utf-8><title>Caf&eacute;\n &amp; more</title>\
                    <style>p { color: red }</style><script>if (a < b) document.write('<p>no</p>')</script></head>\
                    <body><nav><ul><li><a href=/>Home</a></ul></nav><p>One&nbsp;<b>w</b>ord<p>two<br>three\
                    <!-- four --><table><tr><td>five<td>six</table><footer>Imprint</footer></body></html>";
        let (title, _) = page(html);
        assert_eq!(title.as_deref(), Some("Café & more"));
        assert_eq!(words(html), ["One", "word", "two", "three", "five", "six"]);
        let main = "<p>menu</p><main><h1>Title</h1><article>text</article> more</main><p>advertisement</p>";
        assert_eq!(words(main), ["Title", "text", "more"]);
        assert_eq!(words("<svg><svg>a</svg>b</svg>c<main></main>"), ["c"]);
        assert_eq!(words("<p>a<nav>b<p>c</body></html>"), ["a"]);
    }

    #[test]
    fn what_is_skipped_ends_with_its_own_end_or_with_the_page() {
        assert_eq!(words("<nav>a<b>b</b>c<nav>d</nav>e</p>f</nav>g"), ["g"]);
        for end in ["</body>", "</html>"] {
            assert_eq!(words(&format!("<p>a<nav>b<p>c{end} d")), ["a", "d"]);
        }
    }

    #[test]
    fn broken_pages_end() {
        for html in [
            "",
            "<",
            "<p",
            "<title>never closed",
            "<script>never closed",
            "</p></main></nav>x",
            "&#x110000;",
            "&bogus;",
        ] {
            page(html);
        }
        // Depth costs no stack.
        assert_eq!(words(&("<div>".repeat(200_000) + "deep")), ["deep"]);
        assert_eq!(words(&("<nav>".repeat(200_000) + "menu")), Vec::<String>::new());
    }
}
