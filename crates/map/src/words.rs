use crate::{PageError, Word};

/// Which words are drawn where: the most characteristic ones of each cell, and every word where it is most
/// characteristic.
///
/// `pi` `[feature][cell]` are the distributions of the cells, `vocabulary` `[feature]` the words, `mass` `[cell]`
/// how much text each cell holds (such as [`coverage`](crate::coverage); equal for all if not given). A word `z`
/// scores at cell `i`
///
/// ```text
/// mass_i pi_iz ln(pi_iz / m_z),     m_z = Σ_i mass_i pi_iz / Σ_i mass_i,
/// ```
///
/// its term of the divergence of the cell from the whole: large for what is frequent here and less so elsewhere,
/// small where there is little text. The weight is the square root of the score, as the area of letters grows
/// with the square of their size.
///
/// Each cell gets its `per_cell` best words of positive score, each word stands at least at its best cell;
/// the result is in order of cells, then falling weight, then feature.
///
/// # Errors
/// [`PageError::Length`], [`PageError::Value`].
///
/// ```
/// use countgrid_map::characteristic_words;
///
/// let pi = [0.9, 0.1, 0.1, 0.9]; // two words on two cells
/// let words = characteristic_words(&pi, 2, &["sun", "moon"], None, 1)?;
/// assert_eq!((words[0].text.as_str(), words[0].cell), ("sun", 0));
/// assert_eq!((words[1].text.as_str(), words[1].cell), ("moon", 1));
/// # Ok::<(), countgrid_map::PageError>(())
/// ```
pub fn characteristic_words(
    pi: &[f32],
    cells: usize,
    vocabulary: &[impl AsRef<str>],
    mass: Option<&[f64]>,
    per_cell: usize,
) -> Result<Vec<Word>, PageError> {
    check(pi, cells, vocabulary.len(), mass)?;
    if cells == 0 {
        return Ok(Vec::new());
    }
    let mass_at = |cell: usize| mass.and_then(|mass| mass.get(cell)).copied().unwrap_or(1.0);
    let total: f64 = (0..cells).map(mass_at).sum();
    let mut best: Vec<Vec<Candidate>> = vec![Vec::new(); cells]; // of each cell, by falling score
    let mut peaks = Vec::with_capacity(vocabulary.len()); // of each word: its best cell
    for (feature, plane) in pi.chunks_exact(cells).enumerate() {
        let tokens = |(cell, &p): (usize, &f32)| mass_at(cell) * f64::from(p);
        let mean = plane.iter().enumerate().map(tokens).sum::<f64>() / total;
        let mut peak: Option<(usize, Candidate)> = None;
        for (cell, p) in plane.iter().enumerate() {
            let ratio = f64::from(*p) / mean;
            if !(ratio > 1.0) {
                continue; // scores nothing; also 0/0, where the word or all text is nowhere
            }
            let candidate = Candidate { score: tokens((cell, p)) * libm::log(ratio), feature };
            if !(candidate.score > 0.0 && candidate.score.is_finite()) {
                continue; // no text here, or more than there is
            }
            if peak.is_none_or(|(_, peak)| candidate.score > peak.score) {
                peak = Some((cell, candidate));
            }
            keep(&mut best[cell], candidate, per_cell);
        }
        peaks.extend(peak);
    }
    for (cell, candidate) in peaks {
        if !best[cell].iter().any(|other| other.feature == candidate.feature) {
            best[cell].push(candidate);
        }
    }
    let mut words = Vec::with_capacity(best.iter().map(Vec::len).sum());
    for (cell, mut candidates) in (0u32..).zip(best) {
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.feature.cmp(&b.feature)));
        words.extend(candidates.into_iter().filter_map(|Candidate { score, feature }| {
            let text = vocabulary.get(feature)?.as_ref().to_owned();
            Some(Word { text, cell, weight: libm::sqrt(score).min(f64::from(f32::MAX)) as f32 })
        }));
    }
    Ok(words)
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f64, // positive, finite
    feature: usize,
}

/// Inserts a candidate into a list of at most `limit`, by falling score; features come ascending.
fn keep(best: &mut Vec<Candidate>, candidate: Candidate, limit: usize) {
    let place = best.partition_point(|other| other.score >= candidate.score);
    if place < limit {
        best.truncate(limit - 1);
        best.insert(place, candidate);
    }
}

pub(crate) fn check(
    pi: &[f32],
    cells: usize,
    features: usize,
    mass: Option<&[f64]>,
) -> Result<(), PageError> {
    let expected = features.saturating_mul(cells);
    if pi.len() != expected {
        return Err(PageError::Length { table: "pi", expected, found: pi.len() });
    }
    if let Some(index) = pi.iter().position(|p| !(*p >= 0.0 && p.is_finite())) {
        return Err(PageError::Value { table: "pi", index });
    }
    let Some(mass) = mass else { return Ok(()) };
    if mass.len() != cells {
        return Err(PageError::Length { table: "mass", expected: cells, found: mass.len() });
    }
    match mass.iter().position(|mass| !(*mass >= 0.0 && mass.is_finite())) {
        Some(index) => Err(PageError::Value { table: "mass", index }),
        None => Ok(()),
    }
}
