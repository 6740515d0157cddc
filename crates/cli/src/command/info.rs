//! `countgrid info`: what a model is.

use std::io::{self, Write};

use countgrid_math::Real;
use serde_json::{Value, json};

use super::words::{Use, top, uses};
use crate::{
    args::InfoArgs,
    failure::Failure,
    harmonium,
    model::{AnyModel, Loaded, Model, read_any},
    report::thousands,
    topographic::model::{AnyModel as AnyMap, about},
};

/// Places of the overview, at most.
const PLACES: usize = 16;
/// Labels that are named, at most.
const LABELS: usize = 10;
/// Words of each.
const WORDS: usize = 6;

pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    match read_any(&args.model)? {
        Loaded::Grid(model) => match *model {
            AnyModel::F32(model) => info(args, &model, "f32"),
            AnyModel::F64(model) => info(args, &model, "f64"),
        },
        Loaded::Harmonium(model) => harmonium::info(args, &model),
        Loaded::Map(map) => match *map {
            AnyMap::F32(map) => show(args, &about(&map, "f32")),
            AnyMap::F64(map) => show(args, &about(&map, "f64")),
        },
    }
}

/// An object as it is, or its fields in lines.
fn show(args: &InfoArgs, about: &Value) -> Result<(), Failure> {
    let mut text = if args.json { format!("{about}\n") } else { String::new() };
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let own = fields(about).into_iter().filter(|(name, _)| name != "fit");
    let of_fit = about.get("fit").map(fields).unwrap_or_default();
    for (name, value) in own.chain(of_fit).filter(|(_, value)| !args.json && !value.is_null()) {
        text.push_str(&format!("{:<28} {}\n", name.replace('_', " "), plain(&value)));
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)
}

/// How a model was fitted, a line for each thing that there is to say.
pub(crate) fn fit_lines(fit: &Value) -> String {
    let things = fit.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    things.map(|(name, value)| format!("{:<16} {}\n", name.replace('_', " "), plain(value))).collect()
}

/// A text without its quotes, another value as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn info<T: Real>(args: &InfoArgs, model: &Model<T>, precision: &str) -> Result<(), Failure> {
    let about = &model.about;
    let torus = *model.grid.shape().windows().torus();
    let places = lattice(&model.layout.grid.0);
    let signed = |place: &Vec<usize>| place.iter().map(|&x| x as isize).collect::<Vec<_>>();
    let windows: Vec<_> = places.iter().map(|place| model.layout.cell_at(&torus, &signed(place))).collect();
    let word = |u: Use| about.vocabulary.get(u.word).map_or("", String::as_str);
    let uses = uses(model, &windows)?;
    let words = uses
        .iter()
        .map(|uses| top(uses, WORDS, Use::divergence_term).into_iter().map(word).collect::<Vec<_>>());
    let overview: Vec<_> = places.iter().zip(words).collect();

    let labels = model.labels.as_ref().map(|labels| labels.names.as_slice()).unwrap_or_default();
    let mut out = io::stdout().lock();
    let written = if args.json {
        let overview: Vec<_> =
            overview.iter().map(|(at, words)| json!({ "at": at, "words": words })).collect();
        let object = json!({
            "title": about.title, "precision": precision, "grid": model.layout.grid.0,
            "window": model.layout.window.0, "vocabulary": about.vocabulary.len(), "labels": labels, "fit": about.fit,
            "words": overview,
        });
        writeln!(out, "{object}")
    } else {
        let mut text = format!("{}\n\n", about.title);
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name:<16} {value}\n"));
        line("grid", &model.layout.grid.to_string());
        line("window", &model.layout.window.to_string());
        line("vocabulary", &format!("{} words", thousands(about.vocabulary.len())));
        if !labels.is_empty() {
            let more =
                if labels.len() > LABELS { format!(", ... ({})", labels.len()) } else { String::new() };
            line("labels", &(labels[..labels.len().min(LABELS)].join(", ") + &more));
        }
        line("precision", precision);
        text.push_str(&fit_lines(&about.fit));
        text.push_str("\nwhat tells most about the windows that start at\n");
        for (at, words) in overview {
            let at = at.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            text.push_str(&format!("{at:<16} {}\n", words.join(" ")));
        }
        out.write_all(text.as_bytes())
    };
    written.and_then(|()| out.flush()).map_err(Failure::output)
}

/// Cells spread over the grid: as many along each axis, about [`PLACES`] altogether.
fn lattice(extents: &[usize]) -> Vec<Vec<usize>> {
    let long = extents.iter().filter(|&&extent| extent > 1).count().max(1);
    let steps =
        (1..=PLACES).rev().find(|n| n.checked_pow(long as u32).is_some_and(|n| n <= PLACES)).unwrap_or(1);
    let mut places = vec![Vec::new()];
    for &extent in extents {
        let along = steps.min(extent);
        places = places
            .iter()
            .flat_map(|place| {
                (0..along).map(|step| {
                    let mut place: Vec<usize> = place.clone();
                    place.push((step as u128 * extent as u128 / along as u128) as usize);
                    place
                })
            })
            .collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::lattice;

    #[test]
    fn a_lattice_covers_the_grid() {
        assert_eq!(lattice(&[32, 32]).len(), 16);
        assert_eq!(lattice(&[1, 40]).len(), 16);
        assert_eq!(lattice(&[12; 3]).len(), 8);
        assert_eq!(lattice(&[4; 8]).len(), 1);
        assert!(lattice(&[5, 3]).iter().all(|place| place[0] < 5 && place[1] < 3));
    }
}
