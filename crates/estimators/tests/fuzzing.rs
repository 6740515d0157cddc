//! Replays the fuzz body on its seeds and on many inputs made from them.

use std::fs;
use std::path::Path;

use countgrid_estimators::fuzzing;

/// Seeds have no checksum, so that what is changed in them is not refused for that alone.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/any_model");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut seeds: Vec<_> =
        entries.map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect();
    seeds.sort();
    seeds
}

#[test]
fn any_model() {
    let seeds = seeds();
    for (name, seed) in &seeds {
        assert!(fuzzing::any_model(seed), "{name}");
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below.max(1)
    };
    let (mut accepted, inputs) = (0, 4_000);
    for _ in 0..inputs {
        let mut data = seeds[next(seeds.len())].1.clone();
        for _ in 0..1 + next(3) {
            let at = next(data.len());
            data[at] = [0, 0x7f, 0xff, 0x80, next(256) as u8][next(5)];
        }
        accepted += usize::from(fuzzing::any_model(&data));
    }
    assert!((1..inputs).contains(&accepted), "{accepted} of {inputs} accepted");
}
