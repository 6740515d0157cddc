//! Replays the fuzz bodies on the seeds and on many inputs made from them.

use std::fs;
use std::path::Path;

use countgrid_io::fuzzing;

/// The seeds of a target, by name; those that begin with `ok` must be accepted, the others refused.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seeds").join(target);
    let mut seeds: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect();
    seeds.sort();
    seeds
}

/// Runs a body on the seeds of its name, then on mixtures of them, from a xorshift generator.
fn replay(target: &str, body: fn(&[u8]) -> bool, mixtures: usize) {
    let seeds = seeds(target);
    for (name, seed) in &seeds {
        assert_eq!(body(seed), name.starts_with("ok"), "{target}/{name}");
    }
    assert!(seeds.iter().any(|(name, _)| name.starts_with("ok")));
    assert!(seeds.iter().any(|(name, _)| !name.starts_with("ok")));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below.max(1)
    };
    let mut accepted = 0;
    for _ in 0..mixtures {
        let (one, two) = (&seeds[next(seeds.len())].1, &seeds[next(seeds.len())].1);
        let mut data = one.clone();
        match next(4) {
            0 => data.truncate(next(one.len() + 1)),
            1 => {
                data.splice(next(one.len() + 1).., two[next(two.len() + 1)..].iter().copied()).for_each(drop)
            }
            _ => {}
        }
        for _ in 0..next(4) {
            if !data.is_empty() {
                let at = next(data.len());
                data[at] = [b'"', b'\n', b',', b'\t', b'0', b'9', b'{', 0x80, next(256) as u8][next(9)];
            }
        }
        accepted += usize::from(body(&data));
    }
    assert!((1..mixtures).contains(&accepted), "{target}: {accepted} of {mixtures} accepted");
}

#[test]
fn table() {
    replay("table", fuzzing::table, 20_000);
}

#[test]
fn encoding() {
    replay("encoding", fuzzing::encoding, 20_000);
}

#[cfg(feature = "html")]
#[test]
fn page() {
    replay("page", fuzzing::page, 20_000);
}

#[cfg(feature = "mail")]
#[test]
fn mail() {
    replay("mail", fuzzing::mail, 20_000);
}

#[cfg(feature = "archives")]
#[test]
fn archive() {
    replay("archive", fuzzing::archive, 5_000);
}

#[cfg(feature = "office")]
#[test]
fn office() {
    replay("office", fuzzing::office, 2_000);
}

#[cfg(feature = "pdf")]
#[test]
fn pdf() {
    replay("pdf", fuzzing::pdf, 5_000);
}

#[test]
fn jsonl() {
    replay("jsonl", fuzzing::jsonl, 20_000);
}

#[cfg(feature = "files")]
#[test]
fn rtf() {
    replay("rtf", fuzzing::rtf, 20_000);
}

#[test]
fn sequences() {
    replay("sequences", fuzzing::sequences, 20_000);
}

#[test]
fn docword() {
    replay("docword", fuzzing::docword, 20_000);
}

#[test]
fn matrix_market() {
    replay("matrix_market", fuzzing::matrix_market, 20_000);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet() {
    replay("parquet", fuzzing::parquet, 20_000);
}

#[cfg(feature = "arrow")]
#[test]
fn arrow() {
    replay("arrow", fuzzing::arrow, 20_000);
}

#[cfg(feature = "npz")]
#[test]
fn npz() {
    replay("npz", fuzzing::npz, 20_000);
}

#[cfg(feature = "office")]
#[test]
fn workbook() {
    replay("workbook", fuzzing::workbook, 20_000);
}

#[cfg(feature = "files")]
#[test]
fn code() {
    replay("code", fuzzing::code, 20_000);
}

#[test]
fn svmlight() {
    replay("svmlight", fuzzing::svmlight, 20_000);
}

#[cfg(feature = "files")]
#[test]
fn blocks() {
    replay("blocks", fuzzing::blocks, 20_000);
}

#[test]
fn gzip() {
    replay("gzip", fuzzing::gzip, 2_000);
}

#[test]
fn model() {
    replay("model", fuzzing::model, 20_000);
}
