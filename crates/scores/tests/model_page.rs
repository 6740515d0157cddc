//! The code of docs/model.md is the example, all of it and in its order: so what the page says is compiled, run and tested.

use std::{fs, path::Path};

fn lines<'a>(text: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    text.filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_page_has_the_code_of_the_example() {
    let read = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (page, example) = (read("../../docs/model.md"), read("examples/poisson_mixture.rs"));
    let blocks = page.split("```rust\n").skip(1).filter_map(|block| block.split("```").next());
    let on_page = lines(blocks.flat_map(str::lines));
    let in_example = lines(example.lines().filter(|line| !line.starts_with("//!")));
    for (place, (shown, compiled)) in on_page.iter().zip(&in_example).enumerate() {
        assert_eq!(shown, compiled, "line {place} of the code, blank ones left out");
    }
    assert_eq!(on_page.len(), in_example.len());
}

/// What the example prints of its fits.
#[test]
fn the_page_has_the_output_of_the_example() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model.md")).unwrap();
    let results = crate::poisson_mixture::run().unwrap();
    for outcome in results.outcomes.iter().chain([&results.merged]) {
        let printed = format!("objective {:.3}, {:?}, coinciding", outcome.objective, outcome.end);
        assert!(page.contains(&printed), "{printed}");
    }
    let ratio = results.merged.objective / results.outcomes[0].objective;
    assert_eq!(format!("{:.0}", 100.0 * (ratio - 1.0)), "30"); // "30 % higher"
}
