//! Source code: its comments, and the names in it.
//!
//! A file is cut into comments, texts in quotes, numbers and names by the rules that its language shares with many others. Comments stay as they are, without
//! their signs; names are cut at underscores and where upper and lower case meet, since `readTable` and `read_table` are two words; words of the
//! language itself, texts in quotes and numbers are left out. So is a comment about rights, which is that of all files.

use std::collections::HashSet;
use std::path::Path;

/// How comments, texts and names are written.
struct Syntax {
    /// What begins a comment up to the end of the line.
    line: &'static [&'static str],
    /// What begins and ends a comment.
    block: &'static [[&'static str; 2]],
    /// What begins and ends a text that describes something, as comments do.
    described: &'static [&'static str],
    /// What begins and ends other texts, those of one line and those of several.
    quotes: &'static [char],
    long_quotes: &'static [char],
    /// Its own words.
    words: &'static str,
}

const C_WORDS: &str = "alignas alignof asm auto bool break case catch char class concept const constexpr const_cast continue decltype default define \
    delete do double dynamic_cast elif else endif enum explicit export extern false float for friend goto if ifdef ifndef include inline \
    int long mutable namespace new noexcept nullptr NULL operator pragma private protected public register reinterpret_cast requires \
    return short signed sizeof static static_assert static_cast struct switch template this throw true try typedef typeid typename \
    undef union unsigned using virtual void volatile wchar_t while";
const C: Syntax = Syntax {
    line: &["//"],
    block: &[["/*", "*/"]],
    described: &[],
    quotes: &['"', '\''],
    long_quotes: &[],
    words: C_WORDS,
};
const JAVA: Syntax = Syntax {
    words: "abstract as assert base bool boolean break byte case catch char class const constructor continue data decimal default \
        delegate do double else enum event extends extension false final finally float for foreach fun func get guard if implements \
        implicit import in init inner instanceof int interface internal is it lateinit let lock long namespace native new nil null object \
        open operator out override package params private protected protocol public readonly ref return sealed self set short static \
        strictfp string struct super suspend switch synchronized this throw throws trait transient true try typealias typeof using val \
        var virtual void volatile when where while with yield",
    ..C
};
const SCRIPT: Syntax = Syntax {
    long_quotes: &['`'],
    words: "abstract any as async await boolean break case catch class const constructor continue debugger declare default delete do \
        else enum export extends false finally for from function get if implements import in instanceof interface is keyof let \
        namespace never new null number of private protected public readonly require return set static string super switch this \
        throw true try type typeof undefined unknown var void while with yield",
    ..C
};
const GO: Syntax = Syntax {
    long_quotes: &['`'],
    words: "bool break byte case chan complex128 const continue default defer else error fallthrough false float32 float64 for func go \
        goto if import int int16 int32 int64 int8 interface iota map nil package range return rune select string struct switch true \
        type uint uint16 uint32 uint64 uint8 uintptr var",
    ..C
};
const RUST: Syntax = Syntax {
    quotes: &[], // one may begin a lifetime
    long_quotes: &['"'],
    words: "as async await bool box break char const continue crate dyn else enum extern f32 f64 false fn for i128 i16 i32 i64 i8 if impl \
        in isize let loop macro_rules match mod move mut pub ref return self Self static str struct super trait true type u128 u16 \
        u32 u64 u8 unsafe use usize where while",
    ..C
};
const PYTHON: Syntax = Syntax {
    line: &["#"],
    block: &[],
    described: &["\"\"\"", "'''"],
    quotes: &['"', '\''],
    long_quotes: &[],
    words: "False None True and as assert async await bool bytes case cls class continue break def del dict elif else except finally \
        float for from global if import in int is lambda list match nonlocal not or pass raise return self set str try tuple \
        while with yield",
};
const HASH: Syntax = Syntax {
    described: &[],
    words: "BEGIN END FALSE NA NULL TRUE alias and begin break case class def defined do done echo elif else elsif end ensure esac \
        export exit false fi for foreach function if in local module my next nil not or our package read redo repeat require rescue retry \
        return self set sh shift source sub super then true undef unless until use when while yield",
    ..PYTHON
};
const DASHES: Syntax = Syntax {
    line: &["--"],
    block: &[["/*", "*/"], ["--[[", "]]"], ["{-", "-}"]],
    described: &[],
    quotes: &['"', '\''],
    long_quotes: &[],
    words: "and as asc between by case class create data delete deriving desc distinct do drop else elseif end exists false for from \
        function group having if import in insert instance into is join key left let limit local module nil not null of on or order \
        outer qualified repeat return select set table then true type union until update values when where while with",
};

/// The syntax of a file of this name, if it is one of code.
fn syntax(path: &Path) -> Option<&'static Syntax> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let (stem, extension) = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    Some(match extension {
        "c" | "cc" | "cpp" | "cu" | "cxx" | "h" | "hh" | "hpp" | "hxx" | "ino" | "mm" => &C,
        "cs" | "dart" | "groovy" | "java" | "kt" | "kts" | "scala" | "swift" => &JAVA,
        "cjs" | "js" | "jsx" | "mjs" | "php" | "ts" | "tsx" => &SCRIPT,
        "go" => &GO,
        "rs" => &RUST,
        "py" | "pyi" | "pyx" => &PYTHON,
        "bash" | "jl" | "pl" | "pm" | "r" | "rb" | "sh" | "zsh" => &HASH,
        "hs" | "lua" | "sql" => &DASHES,
        _ => return None,
    })
}

/// The comments and names of a file of code, or none where it is no such file.
pub(crate) fn code(path: &Path, text: &str) -> Option<String> {
    let syntax = syntax(path)?;
    let words = syntax.words.split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
    let mut reading = Reading { syntax, words, rest: text, out: String::new(), in_names: false };
    while !reading.rest.is_empty() {
        reading.next();
    }
    Some(reading.out)
}

struct Reading<'a> {
    syntax: &'static Syntax,
    /// Words of the language, in small letters.
    words: HashSet<String>,
    rest: &'a str,
    out: String,
    /// Whether names were written last, and no line ended after them.
    in_names: bool,
}

impl<'a> Reading<'a> {
    /// Takes a comment, a text, a name, or else a character.
    fn next(&mut self) {
        let rest = self.rest;
        let begins = |sign: &&&str| rest.starts_with(**sign);
        // What begins both, a long and a short comment, is long.
        if let Some([begin, end]) = self.syntax.block.iter().find(|[begin, _]| rest.starts_with(begin)) {
            let comment = self.take_to(begin.len(), end);
            return self.comment(comment);
        }
        if let Some(sign) = self.syntax.line.iter().find(begins) {
            return self.comment_lines(sign);
        }
        if let Some(sign) = self.syntax.described.iter().find(begins) {
            let comment = self.take_to(sign.len(), sign);
            return self.comment(comment);
        }
        let Some(first) = rest.chars().next() else { return };
        let is_long = self.syntax.long_quotes.contains(&first);
        if is_long || self.syntax.quotes.contains(&first) {
            return self.quoted(first, is_long);
        }
        if first == '\'' {
            return self.character();
        }
        if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (name, after) = rest.split_at(length);
            self.rest = after;
            if self.is_raw(name) {
                return self.raw();
            }
            // The sign of a kind of text, as of `rb"..."`, is no name.
            let is_sign = name.len() <= 2 && after.starts_with(['"', '\'']);
            if !is_sign {
                self.name(name);
            }
            return;
        }
        // A number, with the letters in it.
        let length = if first.is_ascii_digit() {
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        self.rest = &rest[length..];
        if first == '\n' {
            self.end_names();
        }
    }

    /// What lies between the first so many bytes and the next `end`, or the end of the file, taken with both.
    fn take_to(&mut self, begin: usize, end: &str) -> &'a str {
        let inside = &self.rest[begin..];
        let (comment, after) = inside.split_once(end).unwrap_or((inside, ""));
        self.rest = after;
        comment
    }

    /// Comments of one line each on lines that follow each other are one.
    fn comment_lines(&mut self, sign: &str) {
        let mut comment = String::new();
        while let Some(inside) = self.rest.trim_start_matches([' ', '\t']).strip_prefix(sign) {
            let (line, after) = inside.split_once('\n').unwrap_or((inside, ""));
            comment.push_str(line);
            comment.push('\n');
            self.rest = after;
        }
        self.comment(&comment);
    }

    fn comment(&mut self, comment: &str) {
        self.end_names();
        let lower = comment.to_lowercase();
        if ["copyright", "spdx-license", "all rights reserved"].iter().any(|rights| lower.contains(rights)) {
            return;
        }
        // Signs before a line belong to the comment, and lines of signs say nothing.
        let lines = comment
            .lines()
            .map(|line| line.trim().trim_start_matches(['/', '!', '*', '#', '-', ';', '=']).trim());
        for line in lines.filter(|line| line.chars().any(char::is_alphanumeric)) {
            self.out.push_str(line);
            self.out.push('\n');
        }
    }

    /// Passes over a text in quotes, which ends with its line unless it may be long.
    fn quoted(&mut self, quote: char, is_long: bool) {
        let mut is_escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '\n' if !is_long => {
                    self.rest = &self.rest[at..];
                    return;
                }
                _ if c == quote => {
                    self.rest = &self.rest[at + c.len_utf8()..];
                    return;
                }
                _ => {}
            }
        }
        self.rest = "";
    }

    /// A character in quotes, or a quote that is none, as that of a lifetime of Rust.
    fn character(&mut self) {
        let mut after = self.rest.chars().skip(1);
        match (after.next(), after.next()) {
            (Some('\\'), _) => self.quoted('\'', false),
            (Some(c), Some('\'')) => self.rest = &self.rest[c.len_utf8() + 2..],
            _ => self.rest = &self.rest[1..],
        }
    }

    /// Whether a text follows in which nothing is escaped, as `r#"..."#` of Rust.
    fn is_raw(&self, name: &str) -> bool {
        let is_sign = self.syntax.quotes.is_empty() && matches!(name, "r" | "br" | "cr");
        is_sign && self.rest.trim_start_matches('#').starts_with('"')
    }

    fn raw(&mut self) {
        let signs = self.rest.len() - self.rest.trim_start_matches('#').len();
        let end = format!("\"{}", &self.rest[..signs]);
        self.take_to(signs + 1, &end);
    }

    fn name(&mut self, name: &str) {
        if self.words.contains(&name.to_ascii_lowercase()) {
            return;
        }
        for part in parts(name) {
            if self.in_names {
                self.out.push(' ');
            }
            self.out.push_str(part);
            self.in_names = true;
        }
    }

    fn end_names(&mut self) {
        if std::mem::take(&mut self.in_names) {
            self.out.push('\n');
        }
    }
}

/// The words of a name of two letters and more: `readHTTPHeader_2` has `read`, `HTTP` and `Header`.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphabetic()).flat_map(cased).filter(|part| part.chars().nth(1).is_some())
}

/// Cuts before a capital after a small letter, and before the last of several capitals that a small letter follows.
fn cased(name: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = name.char_indices().collect();
    let (mut parts, mut start) = (Vec::new(), 0);
    for (n, &(at, letter)) in letters.iter().enumerate().skip(1) {
        let before = letters[n - 1].1;
        let after = letters.get(n + 1).is_some_and(|(_, after)| after.is_lowercase());
        if letter.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && after) {
            parts.push(&name[start..at]);
            start = at;
        }
    }
    parts.push(&name[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> String {
        code(Path::new(name), text).unwrap()
    }

    #[test]
    fn names_are_cut_into_words() {
        let words = |name| parts(name).collect::<Vec<_>>();
        assert_eq!(words("readHTTPHeader_2"), ["read", "HTTP", "Header"]);
        assert_eq!(words("__init__"), ["init"]);
        assert_eq!(words("x1"), Vec::<&str>::new());
        assert_eq!(words("MAX_LENGTH"), ["MAX", "LENGTH"]);
        assert_eq!(words("größeÄndern"), ["größe", "Ändern"]);
    }

    #[test]
    fn comments_and_names_of_languages() {
        for (name, text, expected) in [
            (
                "a.rs",
                "//! Red ants\n//! walk.\nfn walk_home<'a>(ant: &'a Ant, n: u32) -> Home {\n    let x = \"fn no \\\" no\"; /* back * again */ n\n}\n",
                "Red ants\nwalk.\nwalk home ant Ant Home\nback * again\n",
            ),
            (
                "a.py",
                "#!/usr/bin/env python\n\"\"\"Red ants.\n\nThey walk.\n\"\"\"\ndef walk(self, antHill=None):  # home\n    return 'no # no' + 0x1f\n",
                "usr/bin/env python\nRed ants.\nThey walk.\nwalk ant Hill\nhome\n",
            ),
            (
                "a.JAVA",
                "/**\n * Red ants.\n */\npublic class AntHill {\n  char c = '\\'';\n  // ------\n  String home; }",
                "Red ants.\nAnt Hill\nhome\n",
            ),
            (
                "a.sql",
                "-- Red ants\nSELECT ant_id FROM ants WHERE name = 'no';\n",
                "Red ants\nant id ants name\n",
            ),
            ("a.c.gz", "/* Copyright 2026 A. Nobody */\nint main(void) { return 0; }", "main"),
            ("b.rs", "match c { '\"' => r#\"no \" no\"#, '\\'' => \"no\nno\", _ => end }", "end"),
            ("a.js", "const home = `no\nno`; // never", "home\nnever\n"),
            // Words that only the language itself has are left out too.
            ("a.ts", "export async function walk(): any { await home }", "walk home"),
            ("a.go", "func walk() { defer home() }", "walk home"),
            ("a.kt", "override fun walk() { val home = null }", "walk home"),
            ("a.sh", "if walk; then echo home; fi", "walk home"),
        ] {
            assert_eq!(read(name, text).trim_end(), expected.trim_end(), "{name}");
        }
        for name in ["a.txt", "a", ".c", "a.unknown", "c"] {
            assert!(code(Path::new(name), "int main").is_none(), "{name}");
        }
    }

    #[test]
    fn what_has_no_end_ends_with_the_file() {
        for text in
            ["/* red", "\"red", "'red", "`red", "// red", "r\"\"\"red", "{- red", "--[[ red", "'\\", "\"\\"]
        {
            for name in ["a.c", "a.rs", "a.py", "a.hs", "a.lua", "a.js", "a.go", "a.sh", "a.kt"] {
                assert!(read(name, text).len() <= text.len() + 1, "{name}: {text}");
            }
        }
    }

    #[test]
    fn texts_and_characters_end_where_they_do() {
        for (name, text, expected) in [
            // One of a single line ends with it at the latest.
            ("a.c", "char *a = \"no no\nred_ants();\n", "red ants\n"),
            ("a.c", "a = \"no \\\" no\" + 'n' + red;\n", "red\n"),
            ("a.js", "a = `no\nno` + red;\n", "red\n"),
            ("a.py", "a = 'no no\nred = 1\n", "red\n"),
            // A character of Rust may be an escape; a lifetime has no end.
            ("a.rs", "let a = '\\u{beef}'; red", "red\n"),
            ("a.rs", "let a = '\\''; red", "red\n"),
            ("a.rs", "ants: &'red str = 'ä'", "ants red\n"),
            // In a raw text nothing is escaped, and a quote without the signs does not end it.
            ("a.rs", "let a = r\"no \\\"; red", "red\n"),
            ("a.rs", "let a = br#\"no \" no\"#; red", "red\n"),
            ("a.rs", "let a = r##\"no \"# no\"##; red", "red\n"),
        ] {
            let found = read(name, text);
            assert_eq!(found.trim_end(), expected.trim_end(), "{text}");
        }
    }
}
