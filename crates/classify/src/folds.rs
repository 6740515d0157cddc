use countgrid_math::{index_below, shuffle};
use rand_core::Rng;

use crate::{ClassifyError, error::same_length};

/// Puts items into folds of sizes that differ by one at most, at random: `fold` `[item]` is written.
///
/// With as many folds as items this is leave one out.
///
/// ```
/// use countgrid_classify::folds;
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let mut fold = [0; 10];
/// folds(3, &mut ChaCha8Rng::seed_from_u64(1), &mut fold)?;
/// assert_eq!([0, 1, 2].map(|k| fold.iter().filter(|&&fold| fold == k).count()), [4, 3, 3]);
/// # Ok::<(), countgrid_classify::ClassifyError>(())
/// ```
///
/// # Errors
/// [`ClassifyError::TooFew`] for fewer than two folds, or fewer items than folds.
pub fn folds(folds: usize, rng: &mut impl Rng, fold: &mut [usize]) -> Result<(), ClassifyError> {
    enough(folds, fold.len())?;
    fold.iter_mut().enumerate().for_each(|(item, fold)| *fold = item % folds);
    shuffle(fold, |n| index_below(rng.next_u64(), n));
    Ok(())
}

/// Puts items into folds so that each class is spread evenly: its members in two folds differ by one at most, and so
/// do the sizes of folds. `fold` `[item]` is written, `scratch` `[item]` used.
///
/// Example: [the crate's](crate).
///
/// # Errors
/// [`ClassifyError::Length`], [`ClassifyError::TooFew`]; [`ClassifyError::FewMembers`] for a class with fewer members
/// than folds.
pub fn stratified_folds(
    labels: &[usize],
    folds: usize,
    rng: &mut impl Rng,
    fold: &mut [usize],
    scratch: &mut [usize],
) -> Result<(), ClassifyError> {
    same_length("fold", labels.len(), fold.len())?;
    same_length("scratch", labels.len(), scratch.len())?;
    enough(folds, labels.len())?;
    // Items class by class; indices break ties, so the order does not depend on the sorting algorithm.
    scratch.iter_mut().enumerate().for_each(|(place, item)| *item = place);
    scratch.sort_unstable_by_key(|&item| (labels.get(item), item));
    for class in scratch.chunk_by_mut(|&a, &b| labels.get(a) == labels.get(b)) {
        if class.len() < folds {
            let label = class.first().and_then(|&item| labels.get(item)).copied().unwrap_or_default();
            return Err(ClassifyError::FewMembers { class: label, members: class.len(), folds });
        }
        shuffle(class, |n| index_below(rng.next_u64(), n));
    }
    // Dealt out class after class, each going on where the one before ended, so that the sizes of folds are even.
    for (place, &item) in scratch.iter().enumerate() {
        if let Some(fold) = fold.get_mut(item) {
            *fold = place % folds;
        }
    }
    Ok(())
}

fn enough(folds: usize, items: usize) -> Result<(), ClassifyError> {
    if folds < 2 {
        return Err(ClassifyError::TooFew { what: "folds", found: folds });
    }
    if items < folds {
        return Err(ClassifyError::TooFew { what: "items for each fold", found: items / folds });
    }
    Ok(())
}
