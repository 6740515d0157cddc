use countgrid_math::Real;

/// The nearest candidates, nearest first; of equally near ones the first comes first. Returns as many as `found` has
/// room for, or as there are.
///
/// A candidate is an index and its distance, of any kind that is compared: of a torus the squared distance
/// serves. One whose distance is NaN is never near.
///
/// ```
/// use countgrid_classify::nearest;
/// let mut found = [(0, 0.0); 2];
/// assert_eq!(nearest([3.0, 1.0, 4.0, 1.0].into_iter().enumerate(), &mut found), [(1, 1.0), (3, 1.0)]);
/// ```
pub fn nearest<T: PartialOrd + Copy>(
    candidates: impl IntoIterator<Item = (usize, T)>,
    found: &mut [(usize, T)],
) -> &[(usize, T)] {
    let mut count = 0;
    for (index, distance) in candidates {
        if distance.partial_cmp(&distance).is_none() {
            continue;
        }
        let near = found.get(..count).unwrap_or_default();
        let place = near.partition_point(|(_, other)| *other <= distance);
        count = found.len().min(count + 1);
        if let Some(tail) = found.get_mut(place..count).filter(|tail| !tail.is_empty()) {
            tail.rotate_right(1);
            tail[0] = (index, distance);
        }
    }
    found.get(..count).unwrap_or_default()
}

/// The label that most of the nearest have; of equally frequent ones that of the nearest member. `None` without any.
///
/// `labels` nearest first; `votes` `[class]` is scratch. Labels beyond it have no vote.
///
/// Example: [the crate's](crate).
pub fn vote(labels: impl Iterator<Item = usize> + Clone, votes: &mut [usize]) -> Option<usize> {
    votes.fill(0);
    for label in labels.clone() {
        if let Some(votes) = votes.get_mut(label) {
            *votes += 1;
        }
    }
    let most = votes.iter().copied().max()?; // without a vote no label has an entry at all
    labels.into_iter().find(|&label| votes.get(label) == Some(&most))
}

/// Generative classification: the class with the lowest free energy less the log of its prior, of equals the first.
/// `None` without classes, or if all are NaN.
///
/// `free_energies` `[class]`, nats, of one datum under the model of each class; `log_prior` `[class]` or empty for
/// equal priors.
///
/// ```
/// use countgrid_classify::lowest;
/// let free_energies = [10.0f64, 9.5, f64::NAN];
/// assert_eq!(lowest(&free_energies, &[]), Some(1));
/// assert_eq!(lowest(&free_energies, &[-0.1, -2.3, -5.0]), Some(0)); // the first class is far more frequent
/// ```
///
/// # Source
/// Perina, Jojic, Castellani, Bicego & Murino, Embedding bags of features in hyper-dimensional grids: the counting grid
/// model, Sec. III-C, where the largest bound wins.
pub fn lowest<T: Real>(free_energies: &[T], log_prior: &[T]) -> Option<usize> {
    let mut best: Option<(usize, T)> = None;
    for (class, &free_energy) in free_energies.iter().enumerate() {
        let cost = free_energy - log_prior.get(class).copied().unwrap_or(T::zero());
        if cost.is_nan() || best.is_some_and(|(_, least)| least <= cost) {
            continue;
        }
        best = Some((class, cost));
    }
    best.map(|(class, _)| class)
}
