//! Neighbourhoods of documents on a map: their labels, and how well they are those of the counts.

use std::{fmt, str::FromStr};

use countgrid_corpus::{Blocks, Storable};
use countgrid_counts::Bags;
use countgrid_math::sqrt;

use crate::{EvaluationError, OptionError, Stop, completion::Mean, kinds::named, pieces::ask, zeros};

named! {
    /// How far apart the counts of two documents are.
    ///
    /// Example: [`neighbourhoods`](crate::neighbourhoods).
    CountMetric {
        /// One less the cosine of their angle; 1 from a document without counts.
        Cosine = "cosine",
        /// The Hellinger distance of their shares of words.
        Hellinger = "hellinger",
        /// The Euclidean distance of their counts.
        Euclidean = "euclidean",
    }
}

/// Items with a distance between each two.
///
/// Example: [`neighbourhoods`](crate::neighbourhoods).
pub trait Distances {
    /// Number of items.
    fn items(&self) -> usize;

    /// The distances of an item, below [`Distances::items`], to all, `[item]`; of any monotone scale.
    fn distances_from(&self, item: usize, distances: &mut [f64]);
}

/// Points of a plane or another flat space, or of a torus.
///
/// ```
/// use countgrid_evaluation::{Distances, MapPoints};
/// let on_torus = MapPoints::on_torus(vec![10.0], vec![9.5, 0.5, 4.0])?;
/// let mut squares = [0.0; 3];
/// on_torus.distances_from(0, &mut squares);
/// assert_eq!(squares, [0.0, 1.0, 20.25]); // around the torus
/// assert!(MapPoints::on_torus(vec![0.0], vec![9.5]).is_err());
/// # Ok::<(), countgrid_evaluation::EvaluationError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MapPoints {
    axes: usize,
    sides: Option<Vec<f64>>, // of a torus
    points: Vec<f64>,        // [item][axis], finite
}

impl MapPoints {
    /// Points `[item][axis]` with Euclidean distance.
    ///
    /// # Errors
    /// [`EvaluationError::Positions`] without axes, for a table that does not have them for each item, and for what is not finite.
    pub fn in_plane(axes: usize, points: Vec<f64>) -> Result<Self, EvaluationError> {
        if axes == 0 || !points.len().is_multiple_of(axes) {
            let problem = "points do not have a coordinate for each axis";
            return Err(EvaluationError::Positions { problem, index: points.len() });
        }
        if let Some(index) = points.iter().position(|x| !x.is_finite()) {
            return Err(EvaluationError::Positions { problem: "a coordinate is not finite", index });
        }
        Ok(Self { axes, sides: None, points })
    }

    /// The same on a torus with these sides: the shortest Euclidean distance around it. Coordinates wrap.
    ///
    /// # Errors
    /// Those of [`MapPoints::in_plane`]; [`EvaluationError::Positions`] for a side that is not a finite number above 0.
    pub fn on_torus(sides: Vec<f64>, points: Vec<f64>) -> Result<Self, EvaluationError> {
        if let Some(index) = sides.iter().position(|side| !(*side > 0.0 && side.is_finite())) {
            return Err(EvaluationError::Positions { problem: "a side is no finite number above 0", index });
        }
        let mut all = Self::in_plane(sides.len(), points)?;
        for point in all.points.chunks_exact_mut(all.axes) {
            point.iter_mut().zip(&sides).for_each(|(x, side)| *x = x.rem_euclid(*side));
        }
        Ok(Self { sides: Some(sides), ..all })
    }
}

impl Distances for MapPoints {
    fn items(&self) -> usize {
        self.points.len() / self.axes
    }

    /// Squared.
    fn distances_from(&self, item: usize, distances: &mut [f64]) {
        let own = self.points.get(item * self.axes..(item + 1) * self.axes).unwrap_or_default();
        for (distance, other) in distances.iter_mut().zip(self.points.chunks_exact(self.axes)) {
            let apart = own.iter().zip(other).map(|(x, y)| (x - y).abs());
            *distance = match &self.sides {
                None => apart.map(|apart| apart * apart).sum(),
                Some(sides) => apart
                    .zip(sides)
                    .map(|(apart, side)| {
                        let apart = apart.min((side - apart).abs());
                        apart * apart
                    })
                    .sum(),
            };
        }
    }
}

/// Counts of documents, of which only those that are not zero are kept.
///
/// Example: [`neighbourhoods`](crate::neighbourhoods).
#[derive(Clone, Debug)]
pub struct SparseRows {
    metric: CountMetric,
    ends: Vec<usize>,                 // of each row in `entries`
    entries: Vec<(u32, f64)>,         // scaled for the metric
    squares: Vec<f64>,                // of each row
    by_feature: Vec<Vec<(u32, f64)>>, // the same entries: rows of each feature
}

impl SparseRows {
    /// The documents for which `keep` is true, in their order.
    ///
    /// # Errors
    /// [`EvaluationError::Corpus`] if counts cannot be read.
    pub fn new<C: Storable>(
        bags: &Blocks<C>,
        metric: CountMetric,
        keep: impl Fn(usize) -> bool,
    ) -> Result<Self, EvaluationError> {
        let mut rows = Self {
            metric,
            ends: Vec::new(),
            entries: Vec::new(),
            squares: Vec::new(),
            by_feature: vec![Vec::new(); bags.features()],
        };
        bags.for_each_block(false, |first, block| {
            for bag in (0..block.len()).filter(|bag| keep(first + bag)) {
                let total = block.total(bag);
                let row = rows.ends.len() as u32; // documents are fewer than 2³²
                let scaled = |count: f64| match metric {
                    CountMetric::Hellinger => sqrt(count / total),
                    _ => count,
                };
                let own: Vec<(usize, f64)> =
                    block.entries(bag).map(|(word, count)| (word, scaled(count.to_real()))).collect();
                let square = own.iter().map(|(_, x)| x * x).sum::<f64>();
                let length = if metric == CountMetric::Cosine && square > 0.0 { sqrt(square) } else { 1.0 };
                for (word, x) in own {
                    rows.entries.push((word as u32, x / length));
                    if let Some(feature) = rows.by_feature.get_mut(word) {
                        feature.push((row, x / length));
                    }
                }
                rows.squares.push(square);
                rows.ends.push(rows.entries.len());
            }
            Ok::<_, EvaluationError>(())
        })?;
        Ok(rows)
    }

    fn row(&self, item: usize) -> &[(u32, f64)] {
        let start = item.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(item).copied().unwrap_or(start);
        self.entries.get(start..end).unwrap_or_default()
    }
}

impl Distances for SparseRows {
    fn items(&self) -> usize {
        self.ends.len()
    }

    /// Those of cosine and Hellinger as they are, but for the square of the latter; Euclidean ones squared.
    fn distances_from(&self, item: usize, distances: &mut [f64]) {
        distances.fill(0.0);
        for &(word, x) in self.row(item) {
            for &(row, y) in self.by_feature.get(word as usize).map_or(&[][..], Vec::as_slice) {
                if let Some(dot) = distances.get_mut(row as usize) {
                    *dot += x * y;
                }
            }
        }
        let own = self.squares.get(item).copied().unwrap_or(0.0);
        for (distance, square) in distances.iter_mut().zip(&self.squares) {
            *distance = match self.metric {
                CountMetric::Cosine | CountMetric::Hellinger => 1.0 - *distance,
                CountMetric::Euclidean => own + square - 2.0 * *distance,
            };
        }
    }
}

/// How much the neighbourhoods of two spaces agree.
///
/// Example: [`neighbourhoods`](crate::neighbourhoods).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbourhoods {
    /// Share of the nearest neighbours in the one space that are also among the nearest in the other.
    pub kept: Mean,
    /// 1 less a penalty for neighbours on the map that are far apart in the original space, by their rank there.
    pub trustworthiness: f64,
    /// 1 less a penalty for neighbours in the original space that are far apart on the map, by their rank there.
    pub continuity: f64,
}

/// How well the nearest neighbours of items on a map are those in their original space, and the other way around. Of equally
/// near items the first is nearer. Trustworthiness is that of scikit-learn; continuity is the same with the spaces swapped.
/// Two maps of the same items can be compared too, by [`Neighbourhoods::kept`].
///
/// Memory for a few numbers per item, time of two sorts of all items for each.
///
/// # Errors
/// [`EvaluationError::Items`]; [`EvaluationError::Neighbours`] unless neighbours are at least 1 and fewer than half of the
/// items; [`EvaluationError::Memory`]; [`EvaluationError::Stopped`].
///
/// # Source
/// J. Venna & S. Kaski, Neighborhood preservation in nonlinear projection methods: an experimental study, ICANN 2001.
///
/// ```
/// use countgrid_evaluation::{MapPoints, Stop, neighbourhoods};
/// let original = MapPoints::in_plane(1, vec![0.0, 1.0, 2.1, 3.3, 4.6])?;
/// let stretched = MapPoints::in_plane(1, vec![0.0, 2.0, 4.2, 6.6, 9.2])?;
/// let found = neighbourhoods(&original, &stretched, 2, &Stop::new())?;
/// assert_eq!((found.trustworthiness, found.continuity, found.kept.value), (1.0, 1.0, 1.0));
/// # Ok::<(), countgrid_evaluation::EvaluationError>(())
/// ```
pub fn neighbourhoods(
    original: &impl Distances,
    map: &impl Distances,
    neighbours: usize,
    stop: &Stop,
) -> Result<Neighbourhoods, EvaluationError> {
    let items = original.items();
    if map.items() != items {
        return Err(EvaluationError::Items { expected: items, found: map.items() });
    }
    if neighbours == 0 || neighbours.saturating_mul(2) >= items {
        return Err(EvaluationError::Neighbours { neighbours, items });
    }
    let mut sides = [Side::new(items)?, Side::new(items)?];
    // Sums of whole numbers, exact in any order.
    let (mut penalties, mut kept) = ([0_u128; 2], Vec::with_capacity(items));
    for item in 0..items {
        ask(stop)?;
        let [first, second] = &mut sides;
        original.distances_from(item, &mut first.distances);
        map.distances_from(item, &mut second.distances);
        first.rank(item);
        second.rank(item);
        let beyond = |of: &Side, ranks: &Side| -> u128 {
            let near = of.order.iter().take(neighbours).filter_map(|&other| ranks.ranks.get(other));
            near.map(|&rank| (rank + 1).saturating_sub(neighbours) as u128).sum()
        };
        penalties[0] += beyond(second, first);
        penalties[1] += beyond(first, second);
        let near = second.order.iter().take(neighbours);
        let both = near.filter(|&&other| first.ranks.get(other).is_some_and(|&rank| rank < neighbours));
        kept.push(both.count() as f64 / neighbours as f64);
    }
    let (n, k) = (items as f64, neighbours as f64);
    let share = |penalty: u128| 1.0 - penalty as f64 * (2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0)));
    Ok(Neighbourhoods {
        kept: Mean::of(&kept),
        trustworthiness: share(penalties[0]),
        continuity: share(penalties[1]),
    })
}

/// The order of all items by their distance to one.
struct Side {
    distances: Vec<f64>,
    order: Vec<usize>, // all others, nearest first
    ranks: Vec<usize>, // the place of each in `order`
}

impl Side {
    fn new(items: usize) -> Result<Self, EvaluationError> {
        Ok(Self { distances: zeros(items)?, order: Vec::with_capacity(items), ranks: zeros(items)? })
    }

    fn rank(&mut self, item: usize) {
        let Self { distances, order, ranks } = self;
        order.clear();
        order.extend((0..distances.len()).filter(|&other| other != item));
        let of = |other: usize| distances.get(other).copied().unwrap_or(f64::INFINITY);
        order.sort_unstable_by(|&a, &b| of(a).total_cmp(&of(b)).then(a.cmp(&b)));
        for (rank, &other) in order.iter().enumerate() {
            if let Some(own) = ranks.get_mut(other) {
                *own = rank;
            }
        }
    }
}

/// How far the labels of items agree with those of their nearest neighbours.
///
/// Example: [`label_agreement`](crate::label_agreement).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelAgreement {
    /// The mean share of its nearest neighbours that have the label of an item.
    pub share: Mean,
    /// The share of items whose label is the most frequent among their nearest neighbours.
    pub vote: Mean,
}

/// Agreement of the labels of the nearest neighbours, leaving each item out.
///
/// Ties are averaged, so that no result depends on the order of items: of several items that are as near as the last
/// neighbour, each counts with the share of the places that are left for them; where several labels have the most votes, an
/// item with one of them counts as that share of an item. If there are fewer others than `neighbours`, all are taken.
///
/// `labels` `[item]`, any numbers.
///
/// # Errors
/// [`EvaluationError::Items`]; [`EvaluationError::Neighbours`] without neighbours or for fewer than two items;
/// [`EvaluationError::Memory`]; [`EvaluationError::Stopped`].
///
/// ```
/// use countgrid_evaluation::{MapPoints, Stop, label_agreement};
/// // The others are as near to the point in the middle: one of two places each, and as many votes for each label.
/// let points = MapPoints::in_plane(1, vec![0.0, 1.0, 2.0])?;
/// let found = label_agreement(&points, &[0, 0, 1], 1, &Stop::new())?;
/// assert_eq!(found.share.value, (1.0 + 0.5 + 0.0) / 3.0);
/// assert_eq!(found.vote.value, (1.0 + 0.5 + 0.0) / 3.0);
/// # Ok::<(), countgrid_evaluation::EvaluationError>(())
/// ```
pub fn label_agreement(
    map: &impl Distances,
    labels: &[usize],
    neighbours: usize,
    stop: &Stop,
) -> Result<LabelAgreement, EvaluationError> {
    let items = map.items();
    if labels.len() != items {
        return Err(EvaluationError::Items { expected: items, found: labels.len() });
    }
    if neighbours == 0 || items < 2 {
        return Err(EvaluationError::Neighbours { neighbours, items });
    }
    let neighbours = neighbours.min(items - 1);
    let mut distances = zeros::<f64>(items)?;
    let mut order: Vec<(f64, usize)> = Vec::with_capacity(items);
    let (mut shares, mut votes) = (Vec::with_capacity(items), Vec::with_capacity(items));
    for (item, &own) in labels.iter().enumerate() {
        ask(stop)?;
        map.distances_from(item, &mut distances);
        order.clear();
        let others = distances.iter().zip(labels).enumerate().filter(|&(other, _)| other != item);
        order.extend(others.map(|(_, (&distance, &label))| (distance, label)));
        order.select_nth_unstable_by(neighbours - 1, |a, b| a.0.total_cmp(&b.0));
        let last = order.get(neighbours - 1).map_or(f64::INFINITY, |&(distance, _)| distance);
        let nearer = order.iter().filter(|&&(distance, _)| distance < last).count();
        let ties = order.iter().filter(|&&(distance, _)| distance == last).count();
        let weight = (neighbours - nearer) as f64 / ties.max(1) as f64;
        // Whole counts first: a sum of weights would depend on the order.
        let mut counts: Vec<(usize, [usize; 2])> = Vec::new();
        for &(distance, label) in order.iter().filter(|&&(distance, _)| distance <= last) {
            let which = usize::from(distance == last);
            match counts.iter_mut().find(|(of, _)| *of == label) {
                Some((_, count)) => count[which] += 1,
                None => counts.push((label, [usize::from(which == 0), which])),
            }
        }
        let votes_of = |&(_, [near, tied]): &(usize, [usize; 2])| near as f64 + weight * tied as f64;
        let for_own = counts.iter().find(|(label, _)| *label == own).map_or(0.0, votes_of);
        let most = counts.iter().map(votes_of).fold(0.0, f64::max);
        let winners = counts.iter().filter(|count| votes_of(count) == most).count();
        shares.push(for_own / neighbours as f64);
        votes.push(if for_own == most { 1.0 / winners as f64 } else { 0.0 });
    }
    Ok(LabelAgreement { share: Mean::of(&shares), vote: Mean::of(&votes) })
}
