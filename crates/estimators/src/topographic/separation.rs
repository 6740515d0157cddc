use countgrid_classify::{leave_one_out, silhouette};
use countgrid_corpus::LabelColumn;
use countgrid_gtm::Space;
use countgrid_math::{index_below, shuffle};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use super::TopographicPlace;
use crate::{EstimatorError, blocks::zeros};

/// The most documents that are compared: there is a distance for each pair.
pub const SEPARATION_DOCUMENTS: usize = 20_000;

/// The stream of random numbers for the order of documents; the first is that of samples of a corpus, the second of latent
/// points.
const STREAM: u64 = 2;

/// How well labels are separated, if that can be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Separation {
    /// What was found.
    Found(LabelSeparation),
    /// Fewer than two labels among the documents that have a position.
    TooFewLabels,
    /// More than [`SEPARATION_DOCUMENTS`] labelled documents.
    TooManyDocuments,
}

/// How well labels are separated.
///
/// Example: [`Separation`](crate::Separation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelSeparation {
    /// Documents with a position and a label.
    pub documents: usize,
    /// Neighbours that vote.
    pub neighbours: usize,
    /// Share of the documents whose nearest neighbours vote for their own label.
    pub accuracy: f64,
    /// Mean silhouette of the documents under their labels, from -1 to 1.
    pub silhouette: f64,
}

impl Separation {
    /// Accuracy of the nearest neighbours, leaving each document out, and the silhouette of labels, at posterior means.
    ///
    /// On a torus distances are chords: each axis is a circle. Documents come in a random order, by the seed, so that of
    /// equally near ones no label is first.
    ///
    /// ```
    /// use countgrid_corpus::LabelColumn;
    /// use countgrid_estimators::{Separation, TopographicPlace};
    /// use countgrid_gtm::Space;
    /// let at = |x: f64| TopographicPlace {
    ///     tokens: 1.0, mean: [x, 0.0], mode: [x, 0.0], probability: 1.0, log_likelihood: -1.0,
    /// };
    /// let labels = LabelColumn::from_labels(["a", "a", "b", "b"].map(|label| Some(label.to_owned())));
    /// let places = [at(0.0), at(0.1), at(0.9), at(1.0)];
    /// let Separation::Found(found) = Separation::from_places(&places, &labels, Space::Plane, 1, 1)? else { panic!() };
    /// assert_eq!((found.documents, found.accuracy), (4, 1.0));
    /// # Ok::<(), countgrid_estimators::EstimatorError>(())
    /// ```
    ///
    /// # Errors
    /// [`EstimatorError::Classify`] without neighbours, or for positions that are not finite.
    pub fn from_places(
        places: &[TopographicPlace],
        labels: &LabelColumn,
        space: Space,
        neighbours: usize,
        seed: u64,
    ) -> Result<Self, EstimatorError> {
        let label_of = |n: usize| labels.by_document.get(n).copied().flatten();
        let known = places.iter().enumerate().filter(|(_, place)| place.is_known());
        let mut labelled: Vec<(usize, [f64; 2])> =
            known.filter_map(|(n, place)| Some((label_of(n)? as usize, place.mean))).collect();
        let mut present = vec![false; labels.names.len()];
        for &(label, _) in &labelled {
            present.get_mut(label).into_iter().for_each(|present| *present = true);
        }
        if present.iter().filter(|&&some| some).count() < 2 {
            return Ok(Self::TooFewLabels);
        }
        if labelled.len() > SEPARATION_DOCUMENTS {
            return Ok(Self::TooManyDocuments);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(STREAM);
        shuffle(&mut labelled, |n| index_below(rng.next_u64(), n));
        let circle = |x: f64| {
            let angle = core::f64::consts::PI * x;
            [libm::cos(angle), libm::sin(angle)]
        };
        let points: Vec<f64> = match space {
            Space::Plane => labelled.iter().flat_map(|&(_, place)| place).collect(),
            Space::Torus => {
                labelled.iter().flat_map(|&(_, [x, y])| [circle(x), circle(y)]).flatten().collect()
            }
        };
        let axes = points.len() / labelled.len();
        let classes: Vec<usize> = labelled.iter().map(|&(label, _)| label).collect();
        let neighbours = neighbours.min(labelled.len() - 1);
        let (mut found, mut votes) = (vec![(0, 0.0); neighbours], vec![0; present.len()]);
        let mut distances = zeros::<f64>(present.len())?;
        Ok(Self::Found(LabelSeparation {
            documents: labelled.len(),
            neighbours,
            accuracy: leave_one_out(&points, axes, &classes, &mut found, &mut votes)?,
            silhouette: silhouette(&points, axes, &classes, &mut distances, &mut votes)?,
        }))
    }

    /// What was found, if anything.
    #[must_use]
    pub fn found(&self) -> Option<&LabelSeparation> {
        if let Self::Found(found) = self { Some(found) } else { None }
    }
}
