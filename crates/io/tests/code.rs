//! Source code in a folder.

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use common::{documents, folder};

#[test]
fn code_is_read_as_its_comments_and_names() {
    let folder = folder(&[
        ("src/home.rs", b"//! The way home.\n\nfn walkHome(ant: &Ant) -> bool { true }\n".as_slice()),
        ("src/empty.c", b"int main(void) { return 0; }"),
        ("src/nothing.py", b"for x in 1, 2: pass"),
        ("notes.txt", b"for x in code: # a text"),
    ]);
    let (found, summary) = documents(folder.path());
    let texts: Vec<_> = found
        .iter()
        .map(|document| (document.id.as_str(), document.title.as_str(), document.text.trim_end()))
        .collect();
    assert_eq!(
        texts,
        [
            ("notes.txt", "for x in code: # a text", "for x in code: # a text"),
            ("src/empty.c", "empty.c", "main"),
            ("src/home.rs", "home.rs", "The way home.\nwalk Home ant Ant"),
        ]
    );
    assert_eq!(summary.skipped.empty, 1);
}

const SCRIPT: &str = r##"
import collections, json, os, re, shutil, sys, sysconfig, tokenize

RESERVED = set("""false none true and as assert async await bool bytes case cls class continue break def del dict elif else except
    finally float for from global if import in int is lambda list match nonlocal not or pass raise return self set str try tuple while
    with yield""".split())
source, count = sysconfig.get_path("stdlib"), 0

def words(text):
    return [w.lower() for w in re.findall(r"[^\W\d_]{2,}", text)]

def parts(name):
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return words(name)

def comments(path):
    with open(path, "rb") as lines:
        tokens = [t for t in tokenize.tokenize(lines.readline)]
    groups, found = [], collections.Counter()
    for t in tokens:
        if t.type == tokenize.NAME:
            found.update(w for w in parts(t.string) if t.string.lower() not in RESERVED)
        elif t.type == tokenize.STRING and re.match(r"[a-zA-Z]{0,2}('''|\"\"\")", t.string):
            groups.append([t.start[0], t.end[0], re.sub(r"^[a-zA-Z]{0,2}", "", t.string)])
        elif t.type == tokenize.COMMENT:
            alone = not t.line[:t.start[1]].strip()
            if alone and groups and groups[-1][1] == t.start[0] - 1 and groups[-1][2].startswith("#"):
                groups[-1][1:] = t.end[0], groups[-1][2] + "\n" + t.string
            else:
                groups.append([t.start[0], t.end[0], t.string])
    for *_, text in groups:
        if not re.search("copyright|spdx-license|all rights reserved", text, re.I):
            found.update(words(text))
    return found

for name in sorted(os.listdir(source)):
    path = os.path.join(source, name)
    # Of names and comments in ASCII, without what only the parser of Python can tell.
    if not name.endswith(".py") or not open(path, "rb").read().isascii():
        continue
    shutil.copy(path, sys.argv[1])
    print(json.dumps([name, comments(path)]))
"##;

/// The words of Python's own library are those that its own tokenizer finds. Says so and passes where there is no Python.
#[test]
fn python_finds_the_same_words() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let Ok(ran) = Command::new(&python).args(["-c", SCRIPT]).arg(folder.path()).output() else {
        _ = writeln!(std::io::stderr(), "SKIPPED: no {python}");
        return;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let (found, _) = documents(folder.path());
    let texts: BTreeMap<_, _> =
        found.iter().map(|document| (document.id.as_str(), document.text.as_str())).collect();
    let mut files = 0;
    for line in String::from_utf8(ran.stdout).unwrap().lines() {
        let (name, expected): (String, BTreeMap<String, usize>) = serde_json::from_str(line).unwrap();
        let mut own = BTreeMap::<String, usize>::new();
        let text = texts.get(name.as_str()).copied().unwrap_or_default();
        for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1) {
            *own.entry(word.to_lowercase()).or_default() += 1;
        }
        assert_eq!(own, expected, "{name}");
        files += 1;
    }
    assert!(files > 100, "{files}");
    assert!(!Path::new("none").exists() && fs::read_dir(folder.path()).unwrap().count() >= files);
}
