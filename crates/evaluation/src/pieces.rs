//! Work on all documents of a part, some at a time, with a question in between whether to stop.

use std::ops::Range;

use countgrid_em::Stop;
use countgrid_estimators::{EstimatorError, FeatureRows};
use countgrid_scores::{ScoreError, Similarity, cross};

use crate::{EvaluationError, Features, Part, Scalar, models::FittedModel};

/// Documents between two questions.
pub(crate) const PIECE: usize = 256;

/// An error if the flag is set.
pub(crate) fn ask(stop: &Stop) -> Result<(), EvaluationError> {
    if stop.is_requested() { Err(EvaluationError::Stopped) } else { Ok(()) }
}

/// Calls `work` with the number of its first document and every piece of a part, in order; once for a part without documents.
pub(crate) fn for_each_piece<T: Scalar>(
    part: &Part<T>,
    stop: &Stop,
    mut work: impl FnMut(usize, &Part<T>) -> Result<(), EvaluationError>,
) -> Result<(), EvaluationError> {
    if part.len() <= PIECE {
        ask(stop)?;
        return work(0, part);
    }
    for first in (0..part.len()).step_by(PIECE) {
        ask(stop)?;
        let own: Range<usize> = first..first.saturating_add(PIECE);
        work(first, &part.filter(|document| own.contains(&document))?)?;
    }
    Ok(())
}

/// [`FittedModel::free_energies`].
pub(crate) fn free_energies<T: Scalar>(
    model: &FittedModel<T>,
    part: &Part<T>,
    stop: &Stop,
) -> Result<Vec<f64>, EvaluationError> {
    let mut all = Vec::with_capacity(part.len());
    for_each_piece(part, stop, |_, piece| {
        all.extend(model.free_energies(piece)?);
        Ok(())
    })?;
    Ok(all)
}

/// [`FittedModel::features`].
pub(crate) fn features<T: Scalar>(
    model: &FittedModel<T>,
    kind: Features,
    part: &Part<T>,
    stop: &Stop,
) -> Result<FeatureRows, EvaluationError> {
    rows(part, stop, |part| model.features(kind, part))
}

/// [`FittedModel::tangents`].
pub(crate) fn tangents<T: Scalar>(
    models: [&FittedModel<T>; 2],
    log_odds: f64,
    part: &Part<T>,
    stop: &Stop,
) -> Result<FeatureRows, EvaluationError> {
    rows(part, stop, |part| FittedModel::tangents(models, log_odds, part))
}

/// The rows of all documents, each of which depends on its document alone.
fn rows<T: Scalar>(
    part: &Part<T>,
    stop: &Stop,
    of: impl Fn(&Part<T>) -> Result<FeatureRows, EvaluationError>,
) -> Result<FeatureRows, EvaluationError> {
    let mut all = FeatureRows::default();
    let mut lengths_differ = false;
    for_each_piece(part, stop, |first, piece| {
        let own = match of(piece) {
            Err(EvaluationError::Estimator(EstimatorError::SequenceLength { .. })) => {
                lengths_differ = true;
                return Ok(());
            }
            own => own?,
        };
        lengths_differ |= first > 0 && own.columns != all.columns;
        all.columns = own.columns;
        all.values.try_reserve(own.values.len()).map_err(|_| EvaluationError::Memory {
            elements: all.values.len().saturating_add(own.values.len()),
        })?;
        all.values.extend(own.values);
        Ok(())
    })?;
    // The error that names the sequence among all.
    if lengths_differ { of(part) } else { Ok(all) }
}

/// [`countgrid_scores::gram`], to the same bits, row by row.
pub(crate) fn gram(
    similarity: Similarity<f64>,
    columns: usize,
    x: &[f64],
    matrix: &mut [f64],
    stop: &Stop,
) -> Result<(), EvaluationError> {
    if columns == 0 {
        return Ok(countgrid_scores::gram(similarity, columns, x, matrix)?);
    }
    let rows = x.len() / columns;
    for (row, a) in x.chunks_exact(columns).enumerate() {
        ask(stop)?;
        let (above, own) = matrix.split_at_mut(row * rows);
        let known = own.get_mut(..=row).unwrap_or_default();
        let others = x.get(..(row + 1) * columns).unwrap_or_default();
        cross(similarity, columns, a, others, known).map_err(|error| in_row(error, row))?;
        for (column, &value) in known.iter().take(row).enumerate() {
            if let Some(entry) = above.get_mut(column * rows + row) {
                *entry = value;
            }
        }
    }
    Ok(())
}

/// [`cross`] row by row.
pub(crate) fn cross_rows(
    similarity: Similarity<f64>,
    columns: usize,
    x: &[f64],
    y: &[f64],
    matrix: &mut [f64],
    stop: &Stop,
) -> Result<(), EvaluationError> {
    if columns == 0 || y.is_empty() {
        return Ok(cross(similarity, columns, x, y, matrix)?);
    }
    let rows = x.chunks_exact(columns).zip(matrix.chunks_exact_mut(y.len() / columns));
    for (row, (a, out)) in rows.enumerate() {
        ask(stop)?;
        cross(similarity, columns, a, y, out).map_err(|error| in_row(error, row))?;
    }
    Ok(())
}

/// An error of a table of one row, which is this one of all.
fn in_row(error: ScoreError, row: usize) -> ScoreError {
    match error {
        ScoreError::Entry { table, column, .. } => ScoreError::Entry { table, row, column },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use countgrid_corpus::{BlockLimits, BlocksBuilder};
    use countgrid_counts::SequencesBuf;
    use countgrid_estimators::HmmOptions;

    use super::*;
    use crate::{EvaluationOptions, ModelKind};

    const DOCUMENTS: usize = 2 * PIECE + 50;

    fn part(documents: usize) -> Part<f32> {
        let mut builder = BlocksBuilder::new(8, BlockLimits::in_memory()).unwrap();
        let mut sequences = SequencesBuf::new(3);
        for t in 0..documents {
            let entries =
                (0..1 + t * 7 % 5).map(|n| ((t % 4 * 2 + n * (t + 1)) % 8, (1 + (t + n) % 4) as f32));
            builder.push(entries).unwrap();
            sequences.push((0..6).map(|n| ((n * t + t / 5) % 3) as u16)).unwrap();
        }
        Part { bags: builder.finish().unwrap(), sequences: Some(sequences) }
    }

    fn small(model: ModelKind) -> EvaluationOptions {
        let mut options = EvaluationOptions { model, topics: 3, ..EvaluationOptions::default() };
        (options.grid.extents, options.grid.window) = (Some(vec![4, 4]), Some(vec![2, 2]));
        (options.grid.iterations, options.lda.iterations, options.harmonium.epochs) = (2, 2, 2);
        options.hmm = HmmOptions { states: 2, iterations: 2, ..HmmOptions::default() };
        options
    }

    #[test]
    fn no_piece_comes_after_a_stop() {
        let part = part(DOCUMENTS);
        for last in 0..3 {
            let (stop, mut firsts) = (Stop::new(), Vec::new());
            let done = for_each_piece(&part, &stop, |first, piece| {
                assert_eq!(piece.len(), PIECE.min(DOCUMENTS - first));
                firsts.push(first);
                if firsts.len() == last + 1 {
                    stop.request();
                }
                Ok(())
            });
            assert_eq!(firsts.len(), last + 1);
            assert_eq!(matches!(done, Err(EvaluationError::Stopped)), last < 2, "{done:?}");
        }
        let stop = Stop::new();
        stop.request();
        for documents in [0, 1, DOCUMENTS] {
            let done = for_each_piece(&part.filter(|t| t < documents).unwrap(), &stop, |_, _| panic!());
            assert!(matches!(done, Err(EvaluationError::Stopped)));
        }
    }

    #[test]
    fn pieces_have_the_bits_of_the_whole() {
        let (part, never) = (part(DOCUMENTS), Stop::new());
        for &kind in ModelKind::ALL {
            let model = FittedModel::fit(&part, &small(kind), &never).unwrap();
            if let Ok(whole) = model.free_energies(&part) {
                assert_eq!(free_energies(&model, &part, &never).unwrap(), whole, "{kind}");
            }
            let mut known = 0;
            for &features in Features::ALL {
                let Ok(whole) = model.features(features, &part) else { continue };
                known += 1;
                let rows = super::features(&model, features, &part, &never).unwrap();
                assert!(rows == whole, "{features} of {kind}");
            }
            assert!(known > 0, "{kind}");
            if let Ok(whole) = FittedModel::tangents([&model, &model], 0.5, &part) {
                assert!(tangents([&model, &model], 0.5, &part, &never).unwrap() == whole, "{kind}");
            }
        }
    }

    /// All documents together again only where an error is to be named among all.
    #[test]
    fn every_piece_is_computed_once() {
        let (part, never) = (part(DOCUMENTS), Stop::new());
        let lengths = RefCell::new(Vec::new());
        let row = |piece: &Part<f32>, columns: usize| {
            lengths.borrow_mut().push(piece.len());
            Ok(FeatureRows::zeros(piece.len(), columns)?)
        };
        assert_eq!(rows(&part, &never, |piece| row(piece, 3)).unwrap().values, vec![0.0; 3 * DOCUMENTS]);
        assert_eq!(lengths.take(), [PIECE, PIECE, 50]);
        let found = rows(&part, &never, |piece| row(piece, if piece.len() == 50 { 2 } else { 3 })).unwrap();
        assert_eq!((found.columns, lengths.take()), (3, vec![PIECE, PIECE, 50, DOCUMENTS]));
    }

    #[test]
    fn sequences_of_other_lengths_are_named_among_all() {
        let never = Stop::new();
        for odd in [3, PIECE + 7] {
            let mut part = part(PIECE + 20);
            let mut sequences = SequencesBuf::new(3);
            // All of the second piece, or one of the first.
            for t in 0..part.len() {
                let length = if t == odd || odd >= PIECE && t >= PIECE { 5 } else { 6 };
                sequences.push((0..length).map(|n| ((n * t + t / 5) % 3) as u16)).unwrap();
            }
            part.sequences = Some(sequences);
            let model = FittedModel::fit(&part, &small(ModelKind::Hmm), &never).unwrap();
            let expected = model.features(Features::Fess, &part).unwrap_err().to_string();
            let found = features(&model, Features::Fess, &part, &never).unwrap_err().to_string();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn similarities_row_by_row_have_the_same_bits_and_stop() {
        let (columns, rows) = (11, 9);
        let x: Vec<f64> = (0..columns * rows).map(|n| ((n * 37) % 101) as f64 / 7.0).collect();
        let (never, stop) = (Stop::new(), Stop::new());
        stop.request();
        for similarity in [Similarity::Linear, Similarity::Intersection, Similarity::SquaredDistance] {
            let (mut found, mut whole) = (vec![0.0; rows * rows], vec![0.0; rows * rows]);
            gram(similarity, columns, &x, &mut found, &never).unwrap();
            countgrid_scores::gram(similarity, columns, &x, &mut whole).unwrap();
            assert_eq!(found, whole);
            cross_rows(similarity, columns, &x, &x, &mut found, &never).unwrap();
            cross(similarity, columns, &x, &x, &mut whole).unwrap();
            assert_eq!(found, whole);
            let untouched = found.clone();
            let refused = gram(similarity, columns, &x, &mut found, &stop);
            assert!(matches!(refused, Err(EvaluationError::Stopped)));
            let refused = cross_rows(similarity, columns, &x, &x, &mut found, &stop);
            assert!(matches!(refused, Err(EvaluationError::Stopped)));
            assert_eq!(found, untouched);
        }
        for (columns, y) in [(0, &[][..]), (2, &[]), (2, &[1.0, 2.0])] {
            let [mut found, mut whole] = [vec![9.0; y.len() / 2], vec![9.0; y.len() / 2]];
            let x = &[3.0, 4.0][..columns];
            let expected = cross(Similarity::Linear, columns, x, y, &mut whole);
            let refused = cross_rows(Similarity::Linear, columns, x, y, &mut found, &never);
            assert_eq!(refused.map_err(|e| e.to_string()), expected.map_err(|e| e.to_string()));
            assert_eq!(found, whole);
        }
        let nan = [vec![0.5; columns], vec![f64::NAN; columns]].concat();
        let refused = gram(Similarity::Linear, columns, &nan, &mut [0.0; 4], &never).unwrap_err();
        let expected = countgrid_scores::gram(Similarity::Linear, columns, &nan, &mut [0.0; 4]).unwrap_err();
        assert_eq!(refused.to_string(), expected.to_string());
    }
}
