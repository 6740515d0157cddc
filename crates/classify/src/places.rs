//! How well the classes of items lie apart in a space of a few axes, such as a map.

use countgrid_math::{Real, sqrt};

use crate::{ClassifyError, error::same_length, nearest, vote};

/// Accuracy of the nearest neighbours, leaving each item out: the share of items whose label the `found.len()` nearest
/// others agree on. Of equally near ones the first counts, of equally frequent labels that of the nearest.
///
/// `points` `[item][axis]`, with Euclidean distance; `labels` `[item]`; `found` `[neighbour]` and `votes` `[class]` are
/// scratch.
///
/// # Errors
/// [`ClassifyError::Length`], [`ClassifyError::Entry`], [`ClassifyError::NoSuchClass`]; [`ClassifyError::TooFew`] for
/// fewer than two items or no neighbour.
///
/// ```
/// use countgrid_classify::leave_one_out;
/// let (points, labels) = ([0.0, 1.0, 9.0, 8.0, 2.5], [0, 0, 1, 1, 1]); // on a line
/// assert_eq!(leave_one_out(&points, 1, &labels, &mut [(0, 0.0)], &mut [0; 2])?, 0.8);
/// # Ok::<(), countgrid_classify::ClassifyError>(())
/// ```
pub fn leave_one_out<T: Real>(
    points: &[T],
    axes: usize,
    labels: &[usize],
    found: &mut [(usize, T)],
    votes: &mut [usize],
) -> Result<f64, ClassifyError> {
    check(points, axes, labels, votes.len())?;
    if found.is_empty() {
        return Err(ClassifyError::TooFew { what: "neighbours", found: 0 });
    }
    let mut right = 0_usize;
    for (item, &label) in labels.iter().enumerate() {
        let others = (0..labels.len()).filter(|&other| other != item);
        let near = nearest(others.map(|other| (other, squared_distance(points, axes, item, other))), found);
        let predicted = vote(near.iter().filter_map(|&(other, _)| labels.get(other).copied()), votes);
        right += usize::from(predicted == Some(label));
    }
    Ok(right as f64 / labels.len() as f64)
}

/// Mean silhouette of the classes, from -1 (mixed up) to 1 (far apart): `(b - a) / max(a, b)` of an item whose mean
/// distance is `a` to the others of its class and `b` to those of the nearest other class; 0 for the only one of a
/// class. Euclidean distance.
///
/// `points` `[item][axis]`, `labels` `[item]`; `sums` `[class]` and `members` `[class]` are scratch.
///
/// # Errors
/// [`ClassifyError::Length`], [`ClassifyError::Entry`], [`ClassifyError::NoSuchClass`]; [`ClassifyError::TooFew`] for
/// items of fewer than two classes.
/// # Source
/// P. Rousseeuw, Silhouettes: a graphical aid to the interpretation and validation of cluster analysis, Journal of
/// Computational and Applied Mathematics 20, 1987, pages 53 to 65.
///
/// ```
/// use countgrid_classify::silhouette;
/// let found = silhouette(&[0.0_f64, 1.0, 9.0, 10.0], 1, &[0, 0, 1, 1], &mut [0.0; 2], &mut [0; 2])?;
/// assert!((found - (8.5 / 9.5 + 7.5 / 8.5) / 2.0).abs() < 1e-15);
/// # Ok::<(), countgrid_classify::ClassifyError>(())
/// ```
pub fn silhouette<T: Real>(
    points: &[T],
    axes: usize,
    labels: &[usize],
    sums: &mut [f64],
    members: &mut [usize],
) -> Result<f64, ClassifyError> {
    same_length("members", sums.len(), members.len())?;
    check(points, axes, labels, sums.len())?;
    members.fill(0);
    labels.iter().filter_map(|&label| members.get_mut(label).map(|members| *members += 1)).for_each(drop);
    let classes = members.iter().filter(|&&members| members > 0).count();
    if classes < 2 {
        return Err(ClassifyError::TooFew { what: "classes", found: classes });
    }
    let mut total = 0.0;
    for (item, &label) in labels.iter().enumerate() {
        sums.fill(0.0);
        for (other, &other_label) in labels.iter().enumerate() {
            if let Some(sum) = sums.get_mut(other_label) {
                *sum += sqrt(squared_distance(points, axes, item, other).to_f64());
            }
        }
        let (mut own, mut nearest) = (0.0, f64::INFINITY);
        let mut alone = false;
        for (class, (&sum, &members)) in sums.iter().zip(&*members).enumerate() {
            if class == label {
                alone = members == 1;
                own = sum / (members.max(2) - 1) as f64;
            } else if members > 0 {
                nearest = nearest.min(sum / members as f64);
            }
        }
        let larger = own.max(nearest);
        total += if alone || larger == 0.0 { 0.0 } else { (nearest - own) / larger };
    }
    Ok(total / labels.len() as f64)
}

fn check<T: Real>(points: &[T], axes: usize, labels: &[usize], classes: usize) -> Result<(), ClassifyError> {
    same_length("points", labels.len().saturating_mul(axes), points.len())?;
    if labels.len() < 2 {
        return Err(ClassifyError::TooFew { what: "items", found: labels.len() });
    }
    if let Some(&class) = labels.iter().find(|&&class| class >= classes) {
        return Err(ClassifyError::NoSuchClass { class, classes });
    }
    match points.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(ClassifyError::Entry { table: "points", index }),
        None => Ok(()),
    }
}

fn squared_distance<T: Real>(points: &[T], axes: usize, a: usize, b: usize) -> T {
    let of = |item: usize| points.get(item * axes..(item + 1) * axes).unwrap_or_default();
    of(a).iter().zip(of(b)).fold(T::zero(), |sum, (&x, &y)| sum + (x - y) * (x - y))
}
