//! The page in real browsers, where there are such: opened with `#selftest` it tries itself and reports.

mod chromium;
mod firefox;
mod frames;
mod processes;

use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use countgrid_map::{
    Document, Field, FieldKind, Page, PageColumn, PageReadError, Region, RegionLevel, Space, Word, read_html,
    write_html,
};

use chromium::Chromium;
use firefox::Firefox;

const HOSTILE: &str = "</script><script>document.title='out'</script><img src=x onerror=\"document.body.remove()\"><!-- \
                       \u{2028}\u{2029} </title></style> &amp; \\u003c {{data}} ${1} `'\"";

/// More than the beginning that a list shows, in several scripts; of every seventh document there is none, and one is long and never
/// repeats itself.
fn whole_text(n: usize) -> String {
    let words = [
        "hard",
        "drive",
        "Insurance",
        "clipper",
        "chip",
        "don't",
        "été",
        "猫坐在垫子上",
        "https://example.org/a?b=c",
        "javascript:alert(1)",
    ];
    match n % 7 {
        6 => String::new(),
        _ if n == 11 => (0..700).map(|k| format!("n{k}")).collect::<Vec<_>>().join(" "),
        _ => (0..40 + n % 90)
            .map(|k| words[(n * k + k * k / 3) % words.len()])
            .collect::<Vec<_>>()
            .join([" ", ", ", "\n"][n % 3]),
    }
}

/// Two levels of bands, if there is room for them.
fn parts([rows, columns]: [usize; 2]) -> Vec<RegionLevel> {
    let cells = rows * columns;
    let bands = |count: usize, per: usize| RegionLevel {
        regions: (0..count)
            .map(|n| Region {
                words: [format!("band {n}"), HOSTILE.into()][..1 + usize::from(n == 0)].to_vec(),
                cell: ((2 * n + 1) * cells / (2 * count)) as u32,
                parent: (per > 1).then_some((n / per) as u32),
            })
            .collect(),
        of_cell: (0..cells).map(|cell| (cell * count / cells) as u32).collect(),
    };
    if cells < 24 { Vec::new() } else { vec![bands(4, 1), bands(12, 3)] }
}

/// A column of each kind, hostile ones among them, of a single value, and of the largest there are; some documents have nothing in them.
fn columns() -> Vec<PageColumn> {
    let named = |name: &str, kind| PageColumn { name: name.into(), kind };
    let places = (0..30).map(|n| if n == 3 { HOSTILE.into() } else { format!("place {n}") }).collect();
    vec![
        named("sent", FieldKind::Days),
        named("length", FieldKind::Numbers),
        named(HOSTILE, FieldKind::Categories(places)),
        named("see", FieldKind::Texts),
        named("one", FieldKind::Numbers),
        named("extreme", FieldKind::Numbers),
        named("beyond", FieldKind::Days),
    ]
}

fn fields(n: usize) -> Vec<Field> {
    let link = [
        "https://example.org/a?b=c",
        "javascript:alert(1)",
        " JavaScript:alert(1)",
        "data:text/html,x",
        HOSTILE,
        "//example.org",
        "http://example.org:99999/",
    ];
    let fields = vec![
        Field::Day(10_000 + (n * n % 4000) as i32),
        Field::Number(n as f64 * 0.37 - 5.0),
        Field::Category((n * n % 30) as u32),
        Field::Text(link[n % 7].into()),
        Field::Number(7.0),
        Field::Number([f64::MIN, f64::MAX, 0.0, -1e-300][n % 4]),
        Field::Day([i32::MIN, i32::MAX, 0][n % 3]),
    ];
    fields
        .into_iter()
        .enumerate()
        .map(|(k, field)| if (n + k) % 11 == 10 { Field::Empty } else { field })
        .collect()
}

/// Words and documents all over the torus, by a fixed rule.
fn page(extents: [usize; 2], window: [usize; 2], documents: usize, labels: usize) -> Page {
    let cells = extents[0] * extents[1];
    let text = |n: usize| format!("{}{}", ["sun", "moon", "tide", "stone", "Straße", "猫"][n % 6], n / 6);
    let place = |n: usize| (n * 7919 % cells) as u32;
    Page {
        title: "A page".into(),
        extents,
        window,
        words: (0..3 * cells.min(300))
            .map(|n| Word { text: text(n), cell: place(n), weight: 1.0 / (n + 1) as f32 })
            .collect(),
        documents: (0..documents)
            .map(|n| Document {
                title: format!("Document {n} on {}", text(n)),
                label: (labels > 0 && n % 5 != 4).then(|| (n % labels.max(1)) as u32),
                snippet: text(n + 1),
                posterior: vec![(place(n), 0.6), (place(n + 1), 0.4)],
                text: whole_text(n),
                fields: fields(n),
                ..Document::default()
            })
            .collect(),
        labels: (0..labels).map(|label| format!("label {label}")).collect(),
        columns: columns(),
        regions: parts(extents),
        facts: vec![("documents".into(), documents.to_string())],
        ..Page::default()
    }
}

/// Documents as points of a space, by a fixed rule.
fn points(space: Space, extents: [usize; 2], documents: usize, labels: usize) -> Page {
    let mut page = Page { space, ..page(extents, [1, 1], documents, labels) };
    page.relief = (0..extents[0] * extents[1]).map(|cell| (cell % 7) as f32).collect();
    for (n, document) in page.documents.iter_mut().enumerate() {
        let at = |extent: usize, step: f32| extent as f32 * (0.5 + n as f32 * step).fract();
        document.place = Some([at(extents[0], 0.618_034), at(extents[1], 0.754_878)]);
    }
    page
}

fn hostile() -> Page {
    let mut page = page([6, 7], [3, 3], 40, 3);
    page.title = HOSTILE.into();
    page.words[0].text = HOSTILE.into();
    page.labels[0] = HOSTILE.into();
    page.facts.push((HOSTILE.into(), HOSTILE.into()));
    for document in &mut page.documents {
        document.title = HOSTILE.into();
        document.snippet = HOSTILE.into();
        document.text = [HOSTILE, "\0", HOSTILE].concat();
    }
    page.documents[3].posterior.clear();
    page
}

#[test]
fn pages_come_back() {
    for page in [
        page([12, 16], [3, 4], 300, 3),
        page([1, 24], [1, 5], 80, 0),
        Page { added: Some(30), sampled_from: Some(70), ..hostile() },
        points(Space::Plane, [15, 18], 60, 3),
        Page { extents: [4, 4], window: [2, 2], ..Page::default() },
    ] {
        let html = |page: &Page| {
            let mut html = Vec::new();
            write_html(page, &mut html).unwrap();
            String::from_utf8(html).unwrap()
        };
        let written = html(&page);
        let read = read_html(&written).unwrap();
        assert_eq!(html(&read), written);
        let of_documents = |page: &Page| {
            let of = |document: &Document| {
                let ended = document.text.replace('\0', "\u{fffd}");
                (document.title.clone(), document.label, ended, document.snippet.clone())
            };
            page.documents.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(of_documents(&read), of_documents(&page));
        assert_eq!((&read.labels, &read.columns, &read.facts), (&page.labels, &page.columns, &page.facts));
        assert_eq!(
            (&read.regions, read.added, read.sampled_from),
            (&page.regions, page.added, page.sampled_from)
        );
        // Damaged ones are refused, and none ends the program.
        for at in
            (0..written.len()).step_by(written.len() / 40 + 1).filter(|&at| written.is_char_boundary(at))
        {
            let _refused_or_not = read_html(&written[..at]);
        }
        let data = written.find("{\"title\"").unwrap();
        for (old, new) in [
            ("\"posteriors\":[", "\"posteriors\":[[],"),
            ("\"extents\":[", "\"extents\":[9999999,"),
            ("\"labels\":", "\"labeIs\":"),
        ] {
            assert!(
                read_html(&(written[..data].to_owned() + &written[data..].replacen(old, new, 1))).is_err(),
                "{new}"
            );
        }
    }
    assert_eq!(read_html("<html></html>"), Err(PageReadError::NoData));
}

/// Pages of every kind, with names for files.
fn pages() -> Vec<(&'static str, Page)> {
    vec![
        ("torus", page([12, 16], [3, 4], 300, 3)),
        ("unlabelled", page([8, 8], [5, 5], 60, 0)),
        ("many-labels", page([9, 5], [9, 5], 90, 21)), // the window is the torus
        ("mixture", page([5, 6], [1, 1], 20, 2)),
        ("ring", page([1, 24], [1, 5], 80, 2)),
        ("line", page([24, 1], [5, 1], 80, 2)),
        ("one-cell", page([1, 1], [1, 1], 3, 1)),
        ("no-documents", page([6, 6], [2, 2], 0, 2)),
        ("nothing", Page { extents: [4, 4], window: [2, 2], ..Page::default() }),
        ("hostile", hostile()),
        ("points", points(Space::Plane, [15, 18], 600, 3)),
        ("points-on-a-torus", points(Space::Torus, [12, 12], 90, 2)),
        ("cells-of-a-plane", Page { space: Space::Plane, ..page([7, 9], [1, 1], 60, 2) }),
        ("a-line-of-points", points(Space::Plane, [1, 20], 30, 0)),
        ("a-point", points(Space::Plane, [1, 1], 1, 1)),
        ("added", Page { added: Some(250), ..page([12, 16], [3, 4], 300, 3) }),
        ("added-without-labels", Page { added: Some(0), ..page([8, 8], [5, 5], 60, 0) }),
        ("many", page([12, 16], [3, 4], 4_100, 3)), // so many that the index is made while the page is looked at
    ]
}

/// A folder with a file of each of these pages.
fn written(pages: &[(&str, Page)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, page) in pages {
        write_html(page, fs::File::create(file(&folder, name)).unwrap()).unwrap();
    }
    folder
}

/// The same, with `lists.js` at the end of their scripts, which their policy then allows by a nonce.
fn tested(pages: &[(&str, Page)]) -> tempfile::TempDir {
    let folder = written(pages);
    for (name, _) in pages {
        let whole = fs::read_to_string(file(&folder, name)).unwrap();
        let (head, script) = whole.rsplit_once("<script>").expect("the script is the last");
        let (policy, body) = head.split_once("script-src '").expect("a policy");
        let (_hash, body) = body.split_once('\'').expect("a hash");
        let script = script
            .replace("})();\n</script>", &[include_str!("browser/lists.js"), "})();\n</script>"].concat());
        let tested =
            [policy, "script-src 'nonce-tested'", body, "<script nonce=\"tested\">", &script].concat();
        fs::write(file(&folder, name), tested).unwrap();
    }
    folder
}

fn file(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    folder.path().join(name).with_extension("html")
}

/// The program that this variable names, none if it is empty, or the first of these names on the path; where there is none, that is said.
fn program(test: &str, variable: &str, names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut on_path =
        env::split_paths(&path).flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    let found = match env::var_os(variable) {
        Some(path) => Some(PathBuf::from(path)).filter(|path| !path.as_os_str().is_empty()),
        None => on_path.find(|file| file.is_file()),
    };
    if found.is_none() {
        writeln!(std::io::stderr(), "{test}: SKIPPED, no {} (set {variable} to its path)", names[0])
            .expect("errors are printed");
    }
    found
}

/// The report that the page has made of itself: of many checks and no failure, and of lists that were worked out in slices.
fn passed(browser: &str, name: &str, report: &str) {
    let found: serde_json::Value = serde_json::from_str(report).unwrap_or_default();
    let number = |name: &str| found[name].as_u64().unwrap_or(0);
    let (checks, slices, touched) = (number("checks"), number("slices"), number("touched"));
    assert!(found["failed"].as_array().is_some_and(Vec::is_empty), "{browser}, {name}: {report}");
    assert!(checks >= 30, "{browser}, {name}: only {checks} checks ran");
    assert!(
        name != "many" || (slices >= 10_000 && touched > 100),
        "{browser}, {name}: nothing is in slices: {report}"
    );
    let summary = format!("{checks} checks, {slices} slices of lists, of at most {touched} items");
    writeln!(std::io::stderr(), "{browser}, {name}: {summary}").expect("errors are printed");
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn pages_pass_their_selftest() {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    let Some(browser) = program("pages_pass_their_selftest", "CHROMIUM", &names) else { return };
    let pages = pages();
    let folder = tested(&pages);
    let profile = folder.path().join("profile");
    {
        let mut chromium = Chromium::start(&browser, &profile, [900, 700]);
        for (name, _) in &pages {
            passed("Chromium", name, &chromium.run(&file(&folder, name), "#selftest", &REPORT.promised()));
        }
    }
    for (end, embedded) in [("", false), ("?embed", true), ("?embed#q=sun", true)] {
        let whole = chromium::opened(&browser, &file(&folder, "torus"), end, &profile);
        assert_eq!(whole.contains("<body class=\"embed\">"), embedded, "{end}");
    }
}

/// Of so many documents that the index is made while the page is looked at.
#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn an_address_searches_many_documents() {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    let Some(browser) = program("an_address_searches_many_documents", "CHROMIUM", &names) else { return };
    let folder = written(&[("many", page([12, 16], [3, 4], 4_100, 3))]);
    let profile = folder.path().join("profile");
    let whole = chromium::opened(&browser, &file(&folder, "many"), "#q=clipper", &profile);
    assert!(
        whole.contains(" with “clipper”</h2>"),
        "{}",
        whole.split("id=\"heading\"").nth(1).unwrap_or(&whole)
    );
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn pages_pass_their_selftest_in_firefox() {
    let names = ["firefox", "firefox-esr"];
    let Some(browser) = program("pages_pass_their_selftest_in_firefox", "FIREFOX", &names) else { return };
    let pages = pages();
    let folder = tested(&pages);
    let mut firefox = Firefox::start(&browser, false);
    for (name, _) in &pages {
        firefox.open(&file(&folder, name), "#selftest");
        passed("Firefox", name, &firefox.run(&REPORT.called()));
    }
}

/// An element that the page writes once it is done.
struct Written(&'static str);

const REPORT: Written = Written("selftest");

impl Written {
    /// A script that calls its argument with the text.
    fn called(&self) -> String {
        let own = format!("document.querySelector('#{}')", self.0);
        format!(
            "const [done] = arguments, wait = () => {{ const own = {own}; if (own) done(own.textContent); else setTimeout(wait, 50); }};
             wait();"
        )
    }

    /// An expression that is a promise of the text.
    fn promised(&self) -> String {
        format!("new Promise((...arguments) => {{ {} }})", self.called())
    }
}

/// What a person does to see each part of the page; each leaves some time for what it starts.
const STATES: [(&str, &str, &str); 8] = [
    ("as it opens", "", ""),
    ("embedded", "?embed", ""),
    ("a search", "#q=sun", ""),
    ("a search that finds nothing", "#q=sunn", ""),
    ("a place", "#at=1,1", ""),
    ("a document", "", "document.querySelector('#list button')?.click();"),
    (
        "everything folded out",
        "",
        "for (const part of document.querySelectorAll('details')) part.open = true;",
    ),
    (
        "a comparison",
        "",
        "for (const part of document.querySelectorAll('details')) part.open = true;
         for (const [id, option] of [['labelA', 1], ['labelB', 2]]) {
           const select = document.getElementById(id);
           if (option < select.options.length) select.selectedIndex = option;
           select.dispatchEvent(new Event('change', { bubbles: true }));
         }",
    ),
];

/// The rules of axe-core on every part of the page, wide and light, narrow and dark: none is broken.
#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn pages_are_accessible() {
    let Some(browser) = program("pages_are_accessible", "FIREFOX", &["firefox", "firefox-esr"]) else {
        return;
    };
    let Some(axe) = env::var_os("AXE") else {
        writeln!(std::io::stderr(), "pages_are_accessible: SKIPPED, AXE does not name axe-core's axe.min.js")
            .unwrap();
        return;
    };
    let axe = fs::read_to_string(axe).expect("AXE is the file axe.min.js");
    let pages = pages();
    let folder = written(&pages);
    for (dark, size) in [(false, [1200, 800]), (true, [500, 900])] {
        let mut firefox = Firefox::start(&browser, dark);
        firefox.resize(size);
        for name in ["torus", "unlabelled", "many-labels", "nothing", "points", "added"] {
            for (state, end, action) in STATES {
                firefox.open(&file(&folder, name), end);
                let found = firefox.run(&[&axe, ";", action, AUDIT].concat());
                let (passes, broken) = found.split_once('\n').unwrap_or(("0", &found));
                let which = format!("{name}, {state}, {size:?}, dark {dark}");
                assert!(broken.is_empty(), "{which}: {broken}");
                assert!(passes.parse::<u32>().unwrap() >= 20, "{which}: only {passes} rules hold");
            }
        }
    }
}

const AUDIT: &str = ";
    const [done] = arguments;
    setTimeout(() => axe.run(document).then(
      ({ passes, violations }) => done([passes.length, ...violations.map(({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`)].join('\\n') + (violations.length ? '' : '\\n')),
      (error) => done(`0\\n${error}`)), 200);";
