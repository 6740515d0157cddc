//! Where documents are on a map, and how well their labels lie apart there.

use std::io::{self, Write};

use countgrid_classify::{leave_one_out, silhouette};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_gtm::Space;
use countgrid_math::Real;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use serde_json::json;

use super::fit::Inference;
use crate::{
    corpus::{Corpus, Entry},
    failure::Failure,
    labels::Labelling,
    model::Stored,
    report::{Report, thousands},
};

/// Documents whose distances are taken at most: there are as many as pairs.
const COMPARED: usize = 20_000;

/// Where a document is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) known_tokens: f64,
    pub(crate) mean: [f64; 2],
    pub(crate) mode: [f64; 2],
    /// Of the mode.
    pub(crate) probability: f64,
    /// `ln p(t)`, in nats.
    pub(crate) log_likelihood: f64,
}

impl Place {
    /// Whether the document has a word of the vocabulary.
    pub(crate) fn known(&self) -> bool {
        self.known_tokens > 0.0
    }
}

/// Places all documents; `visit` sees each posterior `[point]`.
pub(crate) fn place<T: Stored>(
    emissions: &Inference<T>,
    bags: &CsrBuf<T>,
    mut visit: impl FnMut(&Place, &[T]),
) -> Result<Vec<Place>, Failure> {
    let (shape, bags) = (*emissions.shape(), bags.as_view());
    let (mut q, mut scratch) =
        (vec![T::zero(); shape.points()], vec![T::zero(); shape.posterior_scratch_len()]);
    let mut places = Vec::with_capacity(bags.len());
    for n in 0..bags.len() {
        let log_likelihood = emissions.posterior(&bags, n, &mut q, &mut scratch)?.to_f64();
        let (mut mean, mut mode, k) = ([T::zero(); 2], [T::zero(); 2], emissions.mode(&q));
        emissions.mean(&q, &mut mean)?;
        emissions.point(k, &mut mode)?;
        let place = Place {
            known_tokens: bags.total(n),
            mean: mean.map(Real::to_f64),
            mode: mode.map(Real::to_f64),
            probability: q.get(k).map_or(0.0, |&q| Real::to_f64(q)),
            log_likelihood,
        };
        visit(&place, &q);
        places.push(place);
    }
    Ok(places)
}

/// How well labels lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Separation {
    pub(crate) neighbours: usize,
    pub(crate) accuracy: f64,
    pub(crate) silhouette: f64,
}

/// Accuracy of the nearest neighbours, leaving each document out, and the silhouette of labels, at posterior means; none
/// without two labels. On a torus distances are chords: each axis is a circle.
///
/// Documents come in a random order, by the seed, so that of equally near ones no label is first.
pub(crate) fn separation(
    places: &[Place],
    labels: &Labelling,
    (space, neighbours, seed): (Space, usize, u64),
    report: &Report,
) -> Result<Option<Separation>, Failure> {
    let label_of = |n: usize| labels.by_document.get(n).copied().flatten();
    let known = places.iter().enumerate().filter(|(_, place)| place.known());
    let mut labelled: Vec<(usize, [f64; 2])> =
        known.filter_map(|(n, place)| Some((label_of(n)? as usize, place.mean))).collect();
    let mut present = vec![false; labels.names.len()];
    labelled.iter().for_each(|&(label, _)| present[label] = true);
    if present.iter().filter(|&&some| some).count() < 2 {
        return Ok(None);
    }
    if labelled.len() > COMPARED {
        report.note(format_args!(
            "how well labels lie apart is not told of more than {} documents",
            thousands(COMPARED)
        ));
        return Ok(None);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(2);
    for last in (1..labelled.len()).rev() {
        let below = last as u128 + 1;
        labelled.swap(last, ((u128::from(rng.next_u64()) * below) >> 64) as usize);
    }
    let circle = |x: f64| {
        let angle = core::f64::consts::PI * x;
        [libm::cos(angle), libm::sin(angle)]
    };
    let points: Vec<f64> = match space {
        Space::Plane => labelled.iter().flat_map(|&(_, place)| place).collect(),
        Space::Torus => labelled.iter().flat_map(|&(_, [x, y])| [circle(x), circle(y)]).flatten().collect(),
    };
    let axes = points.len() / labelled.len();
    let classes: Vec<usize> = labelled.iter().map(|&(label, _)| label).collect();
    let neighbours = neighbours.min(labelled.len() - 1);
    let (mut found, mut votes) = (vec![(0, 0.0); neighbours], vec![0; present.len()]);
    let internal_error = |error| Failure::new(error, "this is a bug worth a report");
    let separation = Separation {
        neighbours,
        accuracy: leave_one_out(&points, axes, &classes, &mut found, &mut votes).map_err(internal_error)?,
        silhouette: silhouette(&points, axes, &classes, &mut vec![0.0; present.len()], &mut votes)
            .map_err(internal_error)?,
    };
    report.event(
        "apart",
        format_args!(
            "labels: {}-NN accuracy {:.3} leaving one out, silhouette {:.3}",
            separation.neighbours, separation.accuracy, separation.silhouette
        ),
        json!({
            "neighbours": separation.neighbours, "accuracy": separation.accuracy,
            "silhouette": separation.silhouette, "documents": labelled.len(),
        }),
    );
    Ok(Some(separation))
}

/// The places as CSV. A document without a known word has none.
pub(crate) fn write<T>(out: &mut dyn Write, corpus: &Corpus<T>, places: &[Place]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let own = ["mean0", "mean1", "mode0", "mode1", "probability", "log_likelihood"];
    csv.write_record(Entry::COLUMNS.iter().chain(&own))?;
    for (n, (entry, place)) in corpus.entries.iter().zip(places).enumerate() {
        let label = corpus.labels.name(n).unwrap_or_default();
        let mut fields = entry.fields(label, place.known_tokens).to_vec();
        let numbers = [place.mean, place.mode, [place.probability, place.log_likelihood]].concat();
        fields.extend(numbers.iter().map(|x| if place.known() { format!("{x:.6}") } else { String::new() }));
        csv.write_record(&fields)?;
    }
    csv.flush()
}
