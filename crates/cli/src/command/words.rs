//! `countgrid words`: what a place is about.

use std::io::{self, Write};

use countgrid_math::{AlignedVec, Real};
use serde_json::json;

use crate::{
    args::WordsArgs,
    failure::Failure,
    model::{AnyModel, Model, read},
};

pub(crate) fn run(args: &WordsArgs) -> Result<(), Failure> {
    match read(&args.model)? {
        AnyModel::F32(model) => words(args, &model),
        AnyModel::F64(model) => words(args, &model),
    }
}

/// A word in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Use {
    pub(crate) word: usize,
    pub(crate) probability: f64,
    /// How many times more probable than on the whole grid.
    pub(crate) lift: f64,
}

impl Use {
    /// What the word tells about the window: its term of the divergence of the window from the whole.
    pub(crate) fn divergence_term(&self) -> f64 {
        if self.lift > 0.0 { self.probability * libm::log(self.lift) } else { 0.0 }
    }
}

/// All words, in every one of the given windows: `[window][word]`.
pub(crate) fn uses<T: Real>(model: &Model<T>, windows: &[usize]) -> Result<Vec<Vec<Use>>, Failure> {
    let shape = model.grid.shape();
    let zeros = |elements| {
        AlignedVec::<T>::zeroed(elements).map_err(|error| Failure::new(error, "use a larger machine"))
    };
    let (mut h, mut scratch) = (zeros(shape.cells())?, zeros(shape.plane_scratch_len())?);
    let mut all = vec![Vec::with_capacity(shape.features()); windows.len()];
    for word in 0..shape.features() {
        model.grid.histogram(word, &mut h, &mut scratch)?;
        let mean = h.iter().map(|&h| h.to_f64()).sum::<f64>() / shape.cells() as f64;
        for (uses, &window) in all.iter_mut().zip(windows) {
            let probability = h.get(window).map_or(0.0, |&h| h.to_f64());
            let lift = if mean > 0.0 { probability / mean } else { 0.0 };
            uses.push(Use { word, probability, lift });
        }
    }
    Ok(all)
}

/// The `count` words with the largest key, of equals the first of the vocabulary.
pub(crate) fn top(uses: &[Use], count: usize, key: impl Fn(&Use) -> f64) -> Vec<Use> {
    let mut uses = uses.to_vec();
    uses.sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.word.cmp(&b.word)));
    uses.truncate(count);
    uses
}

fn words<T: Real>(args: &WordsArgs, model: &Model<T>) -> Result<(), Failure> {
    let (about, torus) = (&model.about, *model.grid.shape().windows().torus());
    let axes = model.layout.grid.0.len();
    if args.at.len() != axes {
        return Err(Failure::new(
            format_args!(
                "--at has {} coordinates, the grid {} has {axes} axes",
                args.at.len(),
                model.layout.grid
            ),
            "give one coordinate for each axis, joined by commas",
        ));
    }
    let window = model.layout.cell_at(&torus, &args.at);
    let place = model.layout.coordinates(&torus, window);
    let uses = uses(model, &[window])?.pop().unwrap_or_default();
    // Rare words have the most extreme lifts and say the least: those above an even share compete.
    let even = 1.0 / uses.len() as f64;
    let frequent: Vec<Use> = uses.iter().copied().filter(|u| u.probability >= even).collect();
    let (probable, lifted) = (top(&uses, args.top, |u| u.probability), top(&frequent, args.top, |u| u.lift));
    let name = |u: &Use| about.vocabulary.get(u.word).map_or("", String::as_str);

    let mut out = io::stdout().lock();
    let written = if args.json {
        let list = |list: &[Use]| -> Vec<_> {
            let object = |u: &Use| json!({ "word": name(u), "probability": u.probability, "lift": u.lift });
            list.iter().map(object).collect()
        };
        let object = json!({
            "at": place, "window": model.layout.window.0,
            "by_probability": list(&probable), "by_lift": list(&lifted),
        });
        writeln!(out, "{object}")
    } else {
        let at: Vec<_> = place.iter().map(usize::to_string).collect();
        let mut text = format!(
            "the window {} that starts at {} of {}; lift: times more probable than on the whole grid\n",
            model.layout.window,
            at.join(","),
            model.layout.grid
        );
        for (heading, list) in [("by probability", &probable), ("by lift", &lifted)] {
            text.push_str(&format!("\n{heading:<26} probability    lift\n"));
            for u in list {
                text.push_str(&format!("{:<26} {:>11.5} {:>7.2}\n", name(u), u.probability, u.lift));
            }
        }
        out.write_all(text.as_bytes())
    };
    written.and_then(|()| out.flush()).map_err(Failure::output)
}
