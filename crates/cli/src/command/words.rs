//! `countgrid words`: the top words of a window.

use countgrid_estimators::{FittedGrid, Stored, WordUse, format_sides};
use serde_json::json;

use crate::{
    args::WordsArgs,
    failure::Failure,
    model_file::{Grid, load_windows},
    terminal,
};

pub(crate) fn run(args: &WordsArgs) -> Result<(), Failure> {
    match load_windows(&args.model)? {
        Grid::F32(grid) => words(args, &grid),
        Grid::F64(grid) => words(args, &grid),
    }
}

fn words<T: Stored>(args: &WordsArgs, grid: &FittedGrid<T>) -> Result<(), Failure> {
    let (layout, torus) = (grid.layout(), grid.shape().windows().torus());
    let (extents, window) = (format_sides(layout.extents()), format_sides(layout.window()));
    let cell = layout.cell_at(torus, &args.at)?;
    let place = layout.coordinates(torus, cell);
    let uses = grid.word_uses(&[cell])?.pop().unwrap_or_default();
    let probable = WordUse::top(&uses, args.top, |word| word.probability);
    let lifted = WordUse::top(&WordUse::frequent(&uses), args.top, |word| word.lift);

    if args.json {
        let list = |list: &[WordUse]| -> Vec<_> {
            let object = |u: &WordUse| json!({ "word": grid.word(u.word), "probability": u.probability, "lift": u.lift });
            list.iter().map(object).collect()
        };
        let object = json!({
            "at": place, "window": layout.window(), "by_probability": list(&probable), "by_lift": list(&lifted),
        });
        terminal::print_json(&object)
    } else {
        let at: Vec<_> = place.iter().map(usize::to_string).collect();
        let mut text = format!(
            "the window {window} that starts at {} of {extents}; lift: times more probable than on the whole grid\n",
            at.join(",")
        );
        for (heading, list) in [("by probability", &probable), ("by lift", &lifted)] {
            text.push_str(&format!("\n{heading:<26} probability    lift\n"));
            for u in list {
                text.push_str(&format!(
                    "{:<26} {:>11.5} {:>7.2}\n",
                    grid.word(u.word),
                    u.probability,
                    u.lift
                ));
            }
        }
        terminal::print(&text)
    }
}
