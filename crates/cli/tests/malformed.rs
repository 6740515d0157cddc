//! Malformed inputs of every kind, made by a seed: refused with a message that names the file, or finite results.
//!
//! `CAMPAIGN_CASES` and `CAMPAIGN_SEED` set how many and from which seed; `CAMPAIGN_SHOW=1` prints every kind of message too:
//!
//!     CAMPAIGN_CASES=3000 CAMPAIGN_SEED=7 cargo test -p countgrid-cli --test all malformed:: -- --ignored --nocapture

use crate::common;

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{contents, countgrid, gzip, made, setting, stdout};
use countgrid_io::{ModelFile, TableData};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Address space of a run, in KiB. Reading is bounded by what is read: the largest case has some tens of megabytes.
const MEMORY: u64 = 3 << 20;
/// A run that takes longer hangs: others take less than a second.
const HANGS: Duration = Duration::from_secs(300);
/// The longest message: names of files, a dozen names of columns of at most 40 characters, and a remedy.
const MESSAGE: usize = 3000;

const GRID: [&str; 9] =
    ["--grid", "3x3", "--window", "2x2", "--iterations", "2", "--threads", "1", "--quiet"];

/// A file that is damaged, and commands that read it.
struct Subject {
    name: &'static str,
    /// Relative to the folder, as it is given to the program.
    file: &'static str,
    /// A name of which one must be in a message: of the file, or of another that it does not go with.
    named: &'static [&'static str],
    whole: Vec<u8>,
    commands: Vec<Vec<&'static str>>,
    /// Tables of numbers under a checksum.
    tables: bool,
}

fn few() -> impl Iterator<Item = common::Made> {
    made().into_iter().step_by(7)
}

fn lines<'a>(header: &str, rows: impl Iterator<Item = Vec<String>> + 'a, separator: &'a str) -> Vec<u8> {
    let rows: Vec<String> = rows.map(|fields| fields.join(separator) + "\n").collect();
    (header.replace(',', separator) + "\n" + &rows.concat()).into_bytes()
}

fn words(text: &str) -> String {
    text.split_whitespace().take(9).collect::<Vec<_>>().join(" ")
}

/// Valid files of every form, with the models, checkpoints and results that the program makes of them.
fn subjects(folder: &Path) -> Vec<Subject> {
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    let row = |m: common::Made| {
        vec![m.id, m.label.to_owned(), format!("\"{}\"", m.title.replace('"', "")), words(&m.text)]
    };
    let csv = lines("id,label,title,text", few().map(row), ",");
    let tsv = lines("id,label,title,text", few().map(row), "\t");
    let jsonl: String = few()
        .map(|m| {
            serde_json::json!({ "id": m.id, "label": m.label, "title": m.title, "text": words(&m.text) })
                .to_string()
                + "\n"
        })
        .collect();
    let number = |n: usize, w: usize| (n * (w + 2) % 5).to_string();
    let table = (0..12).map(|n| {
        let counts = (0..6).map(|w| number(n, w));
        [format!("d{n}"), ["p", "q"][n % 2].to_owned()].into_iter().chain(counts).collect()
    });
    let numbers = lines("id,label,ant,bee,cat,dog,elk,fox", table, ",");
    let entries: Vec<String> = (0..12)
        .flat_map(|n| (0..6).map(move |w| (n, w, n * (w + 2) % 5)))
        .filter(|entry| entry.2 > 0)
        .map(|(n, w, count)| format!("{} {} {count}\n", n + 1, w + 1))
        .collect();
    let docword = format!("12\n6\n{}\n{}", entries.len(), entries.concat());
    let vocabulary = "ant\nbee\ncat\ndog\nelk\nfox\n";
    let letters =
        |n: usize| (0..12).map(|i| ["A", "C", "G", "T"][(n * i + i / 3 + n) % 4]).collect::<String>();
    let sequences = lines(
        "id,label,sequence",
        (0..12).map(|n| vec![n.to_string(), ["p", "q"][n % 2].into(), letters(n)]),
        ",",
    );
    let features = lines(
        "id,wobble,spin",
        few().enumerate().map(|(n, m)| vec![m.id, format!("{}.5", n % 4), format!("{}", n * n % 7)]),
        ",",
    );
    let stop_words = "the\nof\nflour\nsail\n";
    let text = few().next().unwrap().text;

    write("a.csv", &csv);
    write("a.tsv", &tsv);
    write("a.jsonl", jsonl.as_bytes());
    write("n.csv", &numbers);
    write("docword.d.txt", docword.as_bytes());
    write("vocab.d.txt", vocabulary.as_bytes());
    write("q.csv", &sequences);
    write("f.csv", &features);
    write("s.txt", stop_words.as_bytes());
    for m in few() {
        fs::create_dir_all(folder.join("texts").join(m.label)).unwrap();
        write(&format!("texts/{}/{}.txt", m.label, m.id), words(&m.text).as_bytes());
    }

    let fit = |input: &'static str| [&["fit", input, "-o", "out"], &GRID[..]].concat();
    let map = |input: &'static str| [&["map", input, "-o", "maps"], &GRID[..]].concat();
    let points: [&str; 13] = [
        "-o",
        "maps",
        "--model",
        "zip-gtm",
        "--points",
        "3x3",
        "--basis-functions",
        "2x2",
        "--iterations",
        "2",
        "--threads",
        "1",
        "--quiet",
    ];
    let crossval =
        |input: &'static str| [&["crossval", input, "-o", "out", "--folds", "2"], &GRID[..]].concat();
    let harmonium = ["-o", "out", "--topics", "2", "--epochs", "2", "--threads", "1", "--quiet"];
    let dual =
        [&["fit", "a.csv", "--model", "dual-wing", "--features-from", "f.csv"], &harmonium[..]].concat();
    let embed =
        |model: &'static str, input: &'static str| vec!["embed", model, input, "-o", "out", "--quiet"];
    let sweep: [&str; 7] = ["sweep", "a.csv", "-o", "swept", "--try", "grid=3x3,4x4", "--folds"];
    let sweep =
        [&sweep[..], &["2", "--window", "2x2", "--iterations", "2", "--threads", "1", "--quiet"]].concat();

    // Models, a checkpoint of each kind of fit, and results, by the program itself.
    let good = |args: &[&'static str], model: &'static str| {
        let args: Vec<&str> = args.iter().map(|&arg| if arg == "out" { model } else { arg }).collect();
        stdout(folder, &args);
    };
    good(&fit("a.csv"), "grid.st");
    good(&fit("docword.d.txt"), "counts.st");
    good(&dual, "dual.st");
    stdout(folder, &[&["map", "a.csv"], &points[..]].concat());
    fs::copy(folder.join("maps/model.safetensors"), folder.join("points.st")).unwrap();
    stdout(folder, &sweep);
    let long_fit = vec![
        "fit",
        "a.csv",
        "-o",
        "out",
        "--grid",
        "3x3",
        "--window",
        "2x2",
        "--iterations",
        "900",
        "--tolerance",
        "0",
        "--threads",
        "1",
        "--quiet",
    ];
    let long_harmonium = vec![
        "fit",
        "a.csv",
        "-o",
        "out",
        "--model",
        "harmonium",
        "--topics",
        "2",
        "--epochs",
        "900",
        "--threads",
        "1",
        "--quiet",
    ];
    let long_map =
        [&["map", "a.csv"], &points[..9], &["900", "--tolerance", "0", "--threads", "1", "--quiet"]].concat();
    let checkpoint = |args: &[&'static str], file: &str| {
        let args = [args, &["--checkpoint", "0"]].concat();
        let mut child = countgrid(folder, &args).stdout(Stdio::null()).spawn().unwrap();
        let path = folder.join(file);
        let bytes = loop {
            if let Ok(bytes) = fs::read(&path) {
                break bytes;
            }
            assert!(child.try_wait().unwrap().is_none(), "{args:?}: no checkpoint");
        };
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_file(path).unwrap();
        bytes
    };
    let checkpoints = [
        ("checkpoint of a grid", "out.checkpoint", long_fit),
        ("checkpoint of a harmonium", "out.checkpoint", long_harmonium),
        ("checkpoint of a map", "maps/model.safetensors.checkpoint", long_map),
    ];

    let subject = |name, file, named, whole: Vec<u8>, commands| Subject {
        name,
        file,
        named,
        whole,
        commands,
        tables: false,
    };
    let of_texts = |input: &'static str| {
        vec![
            fit(input),
            map(input),
            embed("grid.st", input),
            crossval(input),
            [&["map", input], &points[..]].concat(),
            [&["fit", input, "--model", "rap"], &harmonium[..]].concat(),
            [&fit(input)[..], &["--stream", "--block-entries", "16"]].concat(),
        ]
    };
    let of_counts = |input: &'static str| {
        vec![
            fit(input),
            map(input),
            embed("counts.st", input),
            [&["map", input], &points[..]].concat(),
            [&["fit", input, "--model", "rap"], &harmonium[..]].concat(),
            [&fit(input)[..], &["--stream", "--block-entries", "16"]].concat(),
            [&fit(input)[..], &["--precision", "f64", "--tokens", "30"]].concat(),
        ]
    };
    let mut all = vec![
        subject("CSV", "a.csv", &["a.csv"], csv, of_texts("a.csv")),
        subject("TSV", "a.tsv", &["a.tsv"], tsv, of_texts("a.tsv")),
        subject("JSON lines", "a.jsonl", &["a.jsonl"], jsonl.into_bytes(), of_texts("a.jsonl")),
        subject(
            "folder",
            "texts/bread/bread-07.txt",
            &["texts"],
            words(&text).into_bytes(),
            of_texts("texts"),
        ),
        subject("table of counts", "n.csv", &["n.csv"], numbers, of_counts("n.csv")),
        subject(
            "docword",
            "docword.d.txt",
            &["docword.d.txt", "vocab.d.txt"],
            docword.into_bytes(),
            of_counts("docword.d.txt"),
        ),
        subject(
            "vocabulary",
            "vocab.d.txt",
            &["docword.d.txt", "vocab.d.txt"],
            vocabulary.as_bytes().to_vec(),
            of_counts("docword.d.txt"),
        ),
        subject(
            "sequences",
            "q.csv",
            &["q.csv"],
            sequences,
            vec![
                vec![
                    "crossval",
                    "q.csv",
                    "-o",
                    "out",
                    "--folds",
                    "2",
                    "--model",
                    "hmm",
                    "--states",
                    "2",
                    "--iterations",
                    "2",
                    "--threads",
                    "1",
                    "--quiet",
                ],
                [&fit("q.csv")[..], &["--ngrams", "2", "--text-column", "sequence"]].concat(),
            ],
        ),
        subject(
            "stop words",
            "s.txt",
            &["s.txt"],
            stop_words.as_bytes().to_vec(),
            vec![[&fit("a.csv")[..], &["--stop-words", "s.txt"]].concat()],
        ),
        subject(
            "features",
            "f.csv",
            &["f.csv"],
            features,
            vec![dual.clone(), [&embed("dual.st", "a.csv")[..], &["--features-from", "f.csv"]].concat()],
        ),
        subject(
            "results",
            "swept/results.json",
            &["results.json"],
            fs::read(folder.join("swept/results.json")).unwrap(),
            vec![sweep.clone()],
        ),
    ];
    for (name, file) in
        [("model of a grid", "grid.st"), ("model of a map", "points.st"), ("model of a harmonium", "dual.st")]
    {
        let mut commands = vec![embed(file, "a.csv"), vec!["info", file, "--json"]];
        match file {
            "grid.st" => commands.extend([
                vec!["words", file, "--at", "1,1", "--json"],
                vec!["firmware", file, "-o", "boards", "--quiet"],
            ]),
            "dual.st" => commands[0].extend(["--features-from", "f.csv"]),
            _ => {}
        }
        all.push(Subject {
            tables: true,
            ..subject(name, file, vec![file].leak(), fs::read(folder.join(file)).unwrap(), commands)
        });
    }
    for (name, file, args) in checkpoints {
        let whole = checkpoint(&args, file);
        let commands = vec![[&args[..], &["--resume"]].concat()];
        all.push(Subject { tables: true, ..subject(name, file, vec![file].leak(), whole, commands) });
    }
    all
}

const DAMAGES: [&str; 30] = [
    "bit changed",
    "cut short",
    "piece removed",
    "piece repeated",
    "bytes changed",
    "NUL",
    "not UTF-8",
    "byte order mark",
    "ends of lines",
    "empty",
    "long field",
    "quote",
    "separator",
    "line removed",
    "line twice",
    "lines exchanged",
    "number",
    "number in the header",
    "two numbers",
    "JSON",
    "nested deeply",
    "control characters",
    "another format",
    "gzip, sound",
    "gzip, bit changed",
    "gzip, cut short",
    "gzip, bytes after it",
    "gzip of gzip",
    "gzip of a long line",
    "gzip of many lines",
];

const NUMBERS: [&str; 24] = [
    "-1",
    "0",
    "-0",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "1e308",
    "1e38",
    "1e-400",
    "4e-324",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "4294967296",
    "2147483648",
    "99999999999999999999999999",
    "0x10",
    "",
    "1.5",
    "1,5",
    "+7",
    "١٢",
];

/// Where numbers are: digits, with points between them.
fn numbers(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let digit = byte.is_ascii_digit() || *byte == b'.';
        match found.last_mut() {
            Some((_, end)) if digit && *end == at => *end += 1,
            _ if byte.is_ascii_digit() => found.push((at, at + 1)),
            _ => {}
        }
    }
    found
}

/// The bytes with the damage of that number.
fn damaged(subject: &Subject, damage: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut below = |n: usize| (rng.next_u64() % n.max(1) as u64) as usize;
    let mut bytes = subject.whole.clone();
    let at = below(bytes.len());
    let insert =
        |bytes: &mut Vec<u8>, at: usize, what: &[u8]| drop(bytes.splice(at..at, what.iter().copied()));
    let by_line =
        |bytes: &[u8]| bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let replace = |bytes: &mut Vec<u8>, most: usize, number: &str, place: usize| {
        let found: Vec<_> = numbers(bytes).into_iter().take(most).collect();
        if !found.is_empty() {
            let (from, to) = found[place % found.len()];
            drop(bytes.splice(from..to, number.bytes()));
        }
    };
    match DAMAGES[damage] {
        "bit changed" => bytes[at] ^= 1 << below(8),
        "cut short" => bytes.truncate(at),
        "piece removed" => drop(bytes.drain(at..(at + 1 + below(20)).min(subject.whole.len()))),
        "piece repeated" => {
            let end = (at + 1 + below(60)).min(bytes.len());
            let (piece, to) = (bytes[at..end].to_vec(), below(bytes.len()));
            insert(&mut bytes, to, &piece);
        }
        "bytes changed" => {
            bytes[at..].iter_mut().take(1 + below(8)).for_each(|byte| *byte = below(256) as u8)
        }
        "NUL" => insert(&mut bytes, at, &[0; 3][..1 + below(3)]),
        "not UTF-8" => {
            const WRONG: [&[u8]; 5] = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"];
            insert(&mut bytes, at, WRONG[below(5)]);
        }
        "byte order mark" => match below(4) {
            0 => insert(&mut bytes, 0, b"\xef\xbb\xbf"),
            1 => insert(&mut bytes, at, b"\xef\xbb\xbf"),
            2 => insert(&mut bytes, 0, b"\xff\xfe"),
            _ => bytes = [0xfe, 0xff].into_iter().chain(bytes.iter().flat_map(|&byte| [0, byte])).collect(),
        },
        "ends of lines" => {
            let end: &[u8] = [&b"\r\n"[..], b"\r", b"", b"\n\n", b"\n \t\n", b"\n\r"][below(6)];
            let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
            bytes = lines.join(end);
        }
        "empty" => {
            bytes = [&b""[..], b"\n", b" \n\n", b"\xef\xbb\xbf", b"\"", b"{}", b"[]", b"0\n0\n0\n"][below(8)]
                .to_vec()
        }
        "long field" => {
            let letter: &[u8] = [&b"y"[..], b"7", b"\"", b",", b"y ", b"\x1b[2J"][below(6)];
            insert(&mut bytes, at, &letter.repeat(1 << below(20)));
        }
        "quote" => insert(&mut bytes, at, [&b"\""[..], b",\"", b"\"\"", b"\"\n", b"'", b"\\\""][below(6)]),
        "separator" => {
            insert(&mut bytes, at, [&b","[..], b"\t", b";", b" ", b"\n", b",,,,,,", b"|"][below(7)])
        }
        "line removed" | "line twice" | "lines exchanged" => {
            let mut lines = by_line(&bytes);
            let (one, two) = (below(lines.len()), below(lines.len()));
            match DAMAGES[damage] {
                "line removed" => drop(lines.remove(one)),
                "line twice" => lines.insert(two, lines[one].clone()),
                _ => lines.swap(one, two),
            }
            bytes = lines.concat();
        }
        "number" => replace(&mut bytes, usize::MAX, NUMBERS[below(24)], below(1 << 20)),
        "number in the header" => replace(&mut bytes, 3, NUMBERS[below(24)], below(3)),
        "two numbers" => {
            replace(&mut bytes, usize::MAX, NUMBERS[below(24)], below(1 << 20));
            replace(&mut bytes, usize::MAX, NUMBERS[below(24)], below(1 << 20));
        }
        "JSON" => {
            let pieces: [&[u8]; 9] =
                [b"{", b"}", b"[", b"]", b":", b"null", b"{\"text\":\"x\"}", b"\\u0000", b"\\ud800"];
            insert(&mut bytes, at, pieces[below(9)]);
        }
        "nested deeply" => {
            let piece: &[u8] = [&b"["[..], b"{\"text\":", b"(", b"{\"a\":["][below(4)];
            let line = by_line(&bytes).into_iter().take(below(5)).map(|line| line.len()).sum();
            insert(&mut bytes, line, &piece.repeat(100_000));
        }
        "control characters" => {
            const PIECES: [&str; 6] =
                ["\u{1b}]0;title\u{7}", "\u{202e}", "\u{0}\u{1}\u{2}", "\u{2028}", "\u{85}", "\u{b}\u{c}"];
            insert(&mut bytes, at, PIECES[below(6)].as_bytes());
        }
        "another format" => {
            let pieces: [&[u8]; 6] = [
                b"{\"text\": \"one\"}\n",
                b"id,text\n1,one\n",
                b"3\n2\n1\n1 1 1\n",
                b">one\nACGT\n",
                b"PK\x03\x04",
                b"%%MatrixMarket\n2 2 1\n",
            ];
            let piece = pieces[below(6)];
            bytes = if below(2) == 0 { [piece, &bytes[..]].concat() } else { [&bytes[..], piece].concat() };
        }
        "gzip, sound" => bytes = gzip(&bytes),
        "gzip, bit changed" => {
            bytes = gzip(&bytes);
            let at = 2 + below(bytes.len() - 2);
            bytes[at] ^= 1 << below(8);
        }
        "gzip, cut short" => {
            bytes = gzip(&bytes);
            bytes.truncate(2 + below(bytes.len() - 2));
        }
        "gzip, bytes after it" => {
            let more: Vec<u8> = (0..1 + below(20)).map(|_| below(256) as u8).collect();
            bytes = [gzip(&bytes), [more, gzip(b"\n"), vec![0; 9]][below(3)].clone()].concat();
        }
        "gzip of gzip" => bytes = gzip(&gzip(&bytes)),
        "gzip of a long line" => bytes = gzip(&[&bytes[..], &b"y".repeat((65 + below(40)) << 20)].concat()),
        _ => {
            let line: &[u8] =
                [&b"\n"[..], b"1 1 1\n", b",\n", b"{\"text\":\"a b\"}\n", b"\"\n", b"a\tb\n"][below(6)];
            bytes = gzip(&[&bytes[..], &line.repeat((8 << 20) / line.len())].concat());
        }
    }
    bytes
}

/// A table or a text changed under a checksum that is right.
fn changed(whole: &[u8], rng: &mut ChaCha8Rng) -> (String, Vec<u8>) {
    const CHANGED: [f64; 13] = [
        -1.0,
        0.0,
        2.0,
        1e-45,
        1e9,
        -1e9,
        3e38,
        1e300,
        f64::INFINITY,
        f64::NAN,
        4_294_967_295.0,
        1e-300,
        0.5,
    ];
    let mut file = ModelFile::from_bytes(whole).unwrap();
    let mut below = |n: usize| (rng.next_u64() % n.max(1) as u64) as usize;
    let keys: Vec<String> = file.metadata.keys().cloned().collect();
    let (table, key) = (below(file.tables.len()), keys[below(keys.len())].clone());
    let what = match below(6) {
        0 | 1 => {
            let number = CHANGED[below(13)];
            let table = &mut file.tables[table];
            let at = below(table.data.len());
            if !table.data.is_empty() {
                match &mut table.data {
                    TableData::F32(data) => data[at] = number as f32,
                    TableData::F64(data) => data[at] = number,
                    TableData::U32(data) => data[at] = number as u32,
                }
            }
            format!("{}[{at}] = {number}", table.name)
        }
        2 => format!("without {}", file.tables.remove(table).name),
        3 => {
            file.metadata.remove(&key);
            format!("without {key}")
        }
        4 => {
            let number = NUMBERS[below(NUMBERS.len())];
            let text = file.metadata.get_mut(&key).unwrap();
            let found = numbers(text.as_bytes());
            if let Some(&(from, to)) = found.get(below(found.len())) {
                text.replace_range(from..to, number);
            }
            format!("{key} with {number}")
        }
        _ => {
            let text = file.metadata.get_mut(&key).unwrap();
            let mut letters: Vec<char> = text.chars().collect();
            let at = below(letters.len());
            match letters.get_mut(at) {
                Some(letter) => *letter = ['0', '9', '-', '"', '{', ']', 'e', ','][below(8)],
                None => letters.push('0'),
            }
            *text = letters.into_iter().collect();
            format!("{key} changed")
        }
    };
    // What can be written is what is read back: a NaN and a file without tables are refused here.
    (what, file.to_bytes().unwrap_or_default())
}

/// Runs the program with bounds on memory and time; `None` if it hangs.
fn bounded(folder: &Path, args: &[&str]) -> Option<Output> {
    let mut child = Command::new("bash")
        .args([
            "-c",
            &format!("ulimit -v {MEMORY}; ulimit -c 0; exec \"$@\""),
            "bash",
            env!("CARGO_BIN_EXE_countgrid"),
        ])
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Both streams at once: neither is waited for while the other is full.
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let drain = move |stream: &mut dyn Read| {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    };
    let printed = std::thread::spawn(move || drain(&mut out));
    let said = std::thread::spawn(move || drain(&mut err));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > HANGS {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        sleep(Duration::from_millis(1));
    };
    Some(Output { status, stdout: printed.join().unwrap(), stderr: said.join().unwrap() })
}

/// What is in a model or table that is no finite number.
fn not_finite(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    if let Ok(file) = ModelFile::from_bytes(&bytes) {
        let wrong = file.tables.iter().find(|table| match &table.data {
            TableData::F32(data) => data.iter().any(|x| !x.is_finite()),
            TableData::F64(data) => data.iter().any(|x| !x.is_finite()),
            TableData::U32(_) => false,
        });
        return wrong.map(|table| format!("`{}` of {}", table.name, path.display()));
    }
    let text = String::from_utf8_lossy(&bytes);
    let last = |line: &str| line.split(',').skip(5).any(|field| ["NaN", "inf", "-inf"].contains(&field));
    text.lines().find(|line| last(line)).map(str::to_owned)
}

/// What is wrong with a run, or in short how it ended.
fn verdict(
    folder: &Path,
    subject: &Subject,
    output: Option<&Output>,
    unchanged: bool,
) -> Result<String, String> {
    let Some(output) = output else { return Err("it hangs".to_owned()) };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let start: String = said.chars().take(2000).collect();
    if let Some(signal) = output.status.signal() {
        return Err(format!("ended by signal {signal}: {start}"));
    }
    match output.status.code() {
        Some(0) => {
            let written = ["out", "maps/model.safetensors", "maps/points.csv"];
            match written.iter().find_map(|name| not_finite(&folder.join(name))) {
                Some(wrong) => Err(format!("accepted, and not finite: {wrong}")),
                None => Ok(String::new()),
            }
        }
        Some(2) => {
            let wrong = [
                (!said.starts_with("error: "), "no message"),
                (!said.contains("remedy: "), "no remedy"),
                (
                    said.contains("panicked") || said.contains("a fault of countgrid"),
                    "a fault of the program",
                ),
                (said.len() > MESSAGE, "a message without bound"),
                (said.contains(|c: char| c.is_control() && c != '\n'), "control characters in a message"),
                (!subject.named.iter().any(|name| said.contains(name)), "the file is not named"),
                (!unchanged, "refused, and files have changed"),
            ];
            match wrong.iter().find(|wrong| wrong.0) {
                Some((_, wrong)) => Err(format!("{wrong}: {start}")),
                None => Ok(said),
            }
        }
        code => Err(format!("exit status {code:?}: {start}")),
    }
}

/// A message without what differs from case to case.
fn shape(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let mut shape = String::new();
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '`' => quoted = !quoted,
            _ if quoted => {}
            '0'..='9' if shape.ends_with('#') => {}
            '0'..='9' => shape.push('#'),
            _ => shape.push(c),
        }
    }
    shape
}

fn campaign(cases: u64, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let subjects = subjects(folder);
    // Whole files are accepted by every command: what is refused later is so for its damage.
    for subject in &subjects {
        for args in &subject.commands {
            fs::write(folder.join(subject.file), &subject.whole).unwrap();
            stdout(folder, args);
        }
        fs::write(folder.join(subject.file), &subject.whole).unwrap();
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut accepted, mut refused, mut with_line) = (BTreeMap::new(), BTreeMap::new(), 0);
    let mut shapes: BTreeMap<String, u64> = BTreeMap::new();
    let mut faults = Vec::new();
    // Each subject has all damages once in as many rounds; another start for each, so that few cases have all of both.
    for case in 0..cases as usize {
        let (which, round) = (case % subjects.len(), case / subjects.len());
        let subject = &subjects[which];
        let damage = (round + 7 * which + seed as usize) % DAMAGES.len();
        let (kind, bytes) = if subject.tables && case % 2 == 0 {
            let (what, bytes) = changed(&subject.whole, &mut rng);
            (format!("checksum right, {what}"), bytes)
        } else {
            (DAMAGES[damage].to_owned(), damaged(subject, damage, &mut rng))
        };
        let args = &subject.commands[round % subject.commands.len()];
        for (name, bytes) in [("out", &b"from last time"[..]), (subject.file, &bytes)] {
            fs::write(folder.join(name), bytes).unwrap();
        }
        let before = contents(folder);
        let output = bounded(folder, args);
        let unchanged = contents(folder) == before;
        let kind = kind.split(", ").next().unwrap().to_owned();
        match verdict(folder, subject, output.as_ref(), unchanged) {
            Ok(message) if message.is_empty() => *accepted.entry((subject.name, kind)).or_insert(0u64) += 1,
            Ok(message) => {
                with_line += u64::from(message.contains(", line "));
                *refused.entry((subject.name, kind)).or_insert(0u64) += 1;
                *shapes.entry(shape(&message)).or_default() += 1;
            }
            Err(fault) => {
                let kept = std::env::temp_dir().join(format!("malformed-{seed}-{case}"));
                fs::write(&kept, &bytes).unwrap();
                faults.push(format!(
                    "case {case} of seed {seed}, {}, {kind}, {args:?}: {fault}\n  kept as {}",
                    subject.name,
                    kept.display()
                ));
            }
        }
        fs::write(folder.join(subject.file), &subject.whole).unwrap();
    }
    let total = |counts: &BTreeMap<(&str, String), u64>| counts.values().sum::<u64>();
    println!(
        "malformed inputs, seed {seed}: {cases} tried, {} accepted, {} refused ({with_line} with a line), {} wrong",
        total(&accepted),
        total(&refused),
        faults.len()
    );
    let mut kinds: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (column, counts) in [&accepted, &refused].into_iter().enumerate() {
        for ((subject, kind), count) in counts {
            kinds.entry(subject).or_default()[column] += count;
            kinds.entry(kind).or_default()[column] += count;
        }
    }
    for (kind, [accepted, refused]) in kinds {
        println!("{kind:28} {accepted:5} accepted {refused:5} refused");
    }
    if setting("CAMPAIGN_SHOW", 0) > 0 {
        shapes.iter().for_each(|(shape, count)| println!("{count:5} {shape}"));
    }
    assert!(faults.is_empty(), "{} of {cases}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn some_malformed_inputs_are_refused_or_give_what_is_finite() {
    campaign(20, 2);
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn malformed_inputs_are_refused_or_give_what_is_finite() {
    campaign(setting("CAMPAIGN_CASES", 102), setting("CAMPAIGN_SEED", 1));
}
