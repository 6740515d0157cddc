//! `countgrid info`: a description of a model.

use countgrid_estimators::{AnyModel, FittedGrid, Stored, WordUse, format_sides};
use countgrid_map::group_digits;
use serde_json::{Value, json};

use super::{harmonium, topographic};
use crate::{
    args::InfoArgs,
    failure::Failure,
    model_file::load_with_checksum,
    report::{fit_lines, plain},
    terminal,
};

/// The most windows of the overview.
const PLACES: usize = 16;
/// The most labels that are named.
const LABELS: usize = 10;
/// Words of each.
const WORDS: usize = 6;

pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let (model, checksum) = load_with_checksum(&args.model)?;
    match model {
        AnyModel::GridF32(grid) => info(args, &grid, &checksum),
        AnyModel::GridF64(grid) => info(args, &grid, &checksum),
        AnyModel::ComponentialF32(grid) => info(args, &grid.to_grid()?, &checksum),
        AnyModel::ComponentialF64(grid) => info(args, &grid.to_grid()?, &checksum),
        AnyModel::HarmoniumF32(model) => harmonium::info(args, &model, &checksum),
        AnyModel::HarmoniumF64(model) => harmonium::info(args, &model, &checksum),
        AnyModel::TopographicF32(map) => show(args, topographic::describe(&map), &checksum),
        AnyModel::TopographicF64(map) => show(args, topographic::describe(&map), &checksum),
        other => show(args, other_model(&other), &checksum),
    }
}

/// The description of a model that no command of this program writes.
fn other_model(model: &AnyModel) -> Value {
    let info = model.info();
    json!({ "title": info.title, "model": model.kind(), "vocabulary": info.vocabulary.len(), "fit": info.fit })
}

/// An object as it is, or its fields in lines.
fn show(args: &InfoArgs, mut about: Value, checksum: &str) -> Result<(), Failure> {
    about["checksum"] = checksum.into();
    let mut text = if args.json { format!("{about}\n") } else { String::new() };
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let own = fields(&about).into_iter().filter(|(name, _)| name != "fit");
    let of_fit = about.get("fit").map(fields).unwrap_or_default();
    for (name, value) in own.chain(of_fit).filter(|(_, value)| !args.json && !value.is_null()) {
        text.push_str(&format!("{:<28} {}\n", name.replace('_', " "), plain(&value)));
    }
    terminal::print(&text)
}

fn info<T: Stored>(args: &InfoArgs, grid: &FittedGrid<T>, checksum: &str) -> Result<(), Failure> {
    let (about, layout) = (&grid.info, grid.layout());
    let torus = *grid.shape().windows().torus();
    let places = grid.lattice(PLACES);
    let signed = |place: &Vec<usize>| place.iter().map(|&x| x as isize).collect::<Vec<_>>();
    let windows =
        places.iter().map(|place| layout.cell_at(&torus, &signed(place))).collect::<Result<Vec<_>, _>>()?;
    let uses = grid.word_uses(&windows)?;
    let words = uses.iter().map(|uses| {
        let top = WordUse::top(uses, WORDS, WordUse::divergence_term);
        top.into_iter().map(|word| grid.word(word.word)).collect::<Vec<_>>()
    });
    let overview: Vec<_> = places.iter().zip(words).collect();
    let labels = grid.labels().map_or(&[][..], |labels| labels.names());
    if args.json {
        let overview: Vec<_> =
            overview.iter().map(|(at, words)| json!({ "at": at, "words": words })).collect();
        let object = json!({
            "title": about.title, "precision": T::NAME, "grid": layout.extents(), "window": layout.window(),
            "vocabulary": about.vocabulary.len(), "labels": labels, "fit": about.fit, "words": overview,
            "checksum": checksum,
        });
        terminal::print_json(&object)
    } else {
        let mut text = format!("{}\n\n", about.title);
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name:<16} {value}\n"));
        line("grid", &format_sides(layout.extents()));
        line("window", &format_sides(layout.window()));
        line("vocabulary", &format!("{} words", group_digits(about.vocabulary.len())));
        if !labels.is_empty() {
            let more =
                if labels.len() > LABELS { format!(", ... ({})", labels.len()) } else { String::new() };
            line("labels", &(labels[..labels.len().min(LABELS)].join(", ") + &more));
        }
        line("precision", T::NAME);
        line("checksum", checksum);
        text.push_str(&fit_lines(&about.fit));
        text.push_str("\nwhat tells most about the windows that start at\n");
        for (at, words) in overview {
            let at = at.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            text.push_str(&format!("{at:<16} {}\n", words.join(" ")));
        }
        terminal::print(&text)
    }
}
