//! Placing documents and adding them up.

use countgrid_em::parallel::{Rows, for_each, in_pool, threads};
use countgrid_math::{Real, axpy, scale, softmax};

use crate::{
    Emissions, GtmError, Source,
    general::{Cells, Features, add_statistics},
    shape::RESULTS,
    statistics::Sums,
};

/// An E-step over some documents.
pub(crate) struct EStep<'a, T, D> {
    pub(crate) emissions: Emissions<T, &'a [T]>,
    pub(crate) documents: &'a D,
    pub(crate) beta: T, // inverse temperature
}

/// What is known of a document that was placed, besides its responsibilities.
#[derive(Clone, Copy)]
struct Found<T> {
    free_energy: f64,
    exposure: T,
    squares: T, // Σ t²
}

impl<T: Real> Found<T> {
    /// Nothing loses a bit: three numbers of either type hold an f64 of this size.
    fn write(&self, results: &mut [T]) {
        let mut rest = self.free_energy;
        let mut next = || {
            let piece = T::from_f64(rest);
            rest -= piece.to_f64();
            piece
        };
        let pieces = [next(), next(), next(), self.exposure, self.squares];
        results.iter_mut().zip(pieces).for_each(|(result, x)| *result = x);
    }
    /// `None` of a document that was not placed, or whose free energy is beyond the range of `T`.
    fn read(results: &[T]) -> Option<Self> {
        let &[a, b, c, exposure, squares] = results else { return None };
        let free_energy = (c.to_f64() + b.to_f64()) + a.to_f64();
        if free_energy.is_finite() { Some(Self { free_energy, exposure, squares }) } else { None }
    }
}

impl<T: Real, D: Source<T>> EStep<'_, T, D> {
    /// Adds all documents and returns their free energy; at an error, those before.
    pub(crate) fn add_all(&self, sums: Sums<'_, T>) -> Result<f64, GtmError> {
        let shape = self.emissions.shape();
        let chunk = sums.scratch.len() / shape.chunk_scratch_len(2).div_ceil(2);
        if threads() > 1 && chunk > 1 && self.documents.documents() > 1 {
            return in_pool(|| self.add_in_chunks(sums, chunk));
        }
        let mut sums = sums;
        (0..self.documents.documents()).try_fold(0.0, |sum, n| Ok(sum + self.add(n, &mut sums)?))
    }

    /// Places one document and adds it; returns its free energy.
    fn add(&self, n: usize, sums: &mut Sums<'_, T>) -> Result<f64, GtmError> {
        let points = self.emissions.shape().points();
        let (r, scratch) = sums.scratch.split_at_mut(points);
        let (terms, etas) = scratch.split_at_mut(points);
        let found = self.infer(n, r, etas)?;
        let (counts, present, inflated) = (&mut *sums.counts, &mut *sums.present, &mut *sums.inflated);
        self.add_features(
            n,
            found.exposure,
            r,
            etas,
            Features { first: 0, counts, present, inflated, terms },
        )?;
        self.add_totals(n, found, r, sums.documents, sums.exposure, sums.profiles, sums.totals)?;
        Ok(found.free_energy)
    }

    /// The documents of a chunk are placed together; then each sum is added up by one thread, in the order of documents.
    fn add_in_chunks(&self, sums: Sums<'_, T>, capacity: usize) -> Result<f64, GtmError> {
        let mut sums = sums;
        let shape = *self.emissions.shape();
        let (points, features, count) = (shape.points(), shape.features(), self.documents.documents());
        let size = points + shape.posterior_scratch_len() + RESULTS;
        let (mut first, mut free_energy) = (0, 0.0);
        while first < count {
            let chunk = capacity.min(count - first);
            let (places, terms) = sums.scratch.split_at_mut(chunk * size);
            for_each(chunk, Rows::new(&mut *places, size), |place, scratch| {
                let (r, scratch) = scratch.elements.split_at_mut(points);
                let (results, etas) = scratch.split_at_mut(RESULTS);
                match self.infer(first + place, r, etas) {
                    Ok(found) => found.write(results),
                    Err(_) => results.fill(T::nan()),
                }
            });
            let placed = || {
                places.chunks_exact(size).map_while(|place| {
                    let (r, rest) = place.split_at_checked(points)?;
                    let (results, etas) = rest.split_at_checked(RESULTS)?;
                    Some((Found::read(results)?, r, etas))
                })
            };
            // Each part costs a look at all documents of the chunk, and has a row of terms.
            let rows = features.div_ceil((4 * threads()).min(chunk));
            let tables = (
                Rows::new(&mut *sums.counts, rows * points),
                Rows::new(&mut *sums.present, rows * points),
                (Rows::new(&mut *sums.inflated, rows * shape.trials()), Rows::new(terms, points)),
            );
            for_each(features.div_ceil(rows), tables, |part, (counts, present, (inflated, terms))| {
                for (n, (found, r, etas)) in (first..).zip(placed()) {
                    let features = Features {
                        first: part * rows,
                        counts: &mut *counts.elements,
                        present: &mut *present.elements,
                        inflated: &mut *inflated.elements,
                        terms: &mut *terms.elements,
                    };
                    let _ = self.add_features(n, found.exposure, r, etas, features); // its profile is known
                }
            });
            let mut next = first;
            for (found, r, _) in placed() {
                self.add_totals(next, found, r, sums.documents, sums.exposure, sums.profiles, sums.totals)?;
                free_energy += found.free_energy;
                next += 1;
            }
            if next < first + chunk {
                free_energy += self.add(next, &mut sums)?; // says what is wrong, if anything is
                next += 1;
            }
            first = next;
        }
        Ok(free_energy)
    }

    /// Writes responsibilities `r` `[point]` and leaves what [`Cells::known`] needs.
    fn infer(&self, n: usize, r: &mut [T], etas: &mut [T]) -> Result<Found<T>, GtmError> {
        let base = self.emissions.scores(self.documents, n, r, etas)?;
        scale(self.beta, r);
        let evidence = softmax(r).to_f64();
        let squares = self.documents.values(n).fold(T::zero(), |sum, (_, t)| sum + t * t);
        if !(evidence.is_finite() && base.is_finite() && squares.is_finite()) {
            return Err(GtmError::Overflow { document: n });
        }
        let exposure = self.emissions.exposure(self.documents, n)?;
        Ok(Found { free_energy: -evidence / self.beta.to_f64() - base, exposure, squares })
    }

    /// Adds a document to the tables that have rows of features.
    fn add_features(
        &self,
        n: usize,
        exposure: T,
        r: &[T],
        etas: &[T],
        mut features: Features<'_, T>,
    ) -> Result<(), GtmError> {
        let (shape, points) = (self.emissions.shape(), r.len());
        let Features { first, counts, present, .. } = &mut features;
        for (j, t) in self.documents.values(n) {
            let Some(j) = j.checked_sub(*first) else { continue };
            let place = j * points..(j + 1) * points;
            if let Some(row) = counts.get_mut(place.clone()) {
                let _ = axpy(t, r, row);
            }
            if !shape.is_general()
                && let Some(row) = present.get_mut(place)
            {
                let _ = axpy(T::one(), r, row);
            }
        }
        if shape.is_general() {
            let profile = self.emissions.profile(self.documents, n)?;
            let cells = Cells::known(&self.emissions, exposure, etas);
            add_statistics(&cells, self.documents.values(n), r, (profile, shape.trials()), features);
        }
        Ok(())
    }

    /// Adds a document to the other tables.
    #[allow(clippy::too_many_arguments, reason = "the tables")]
    fn add_totals(
        &self,
        n: usize,
        found: Found<T>,
        r: &[T],
        documents: &mut [T],
        exposure: &mut [T],
        profiles: &mut [T],
        totals: &mut [T],
    ) -> Result<(), GtmError> {
        let _ = axpy(T::one(), r, documents);
        let _ = axpy(found.exposure, r, exposure);
        if self.emissions.shape().is_general() {
            let profile = self.emissions.profile(self.documents, n)?;
            profiles.get_mut(profile).into_iter().for_each(|count| *count += T::one());
        }
        if let [documents, total] = totals {
            *documents += T::one();
            *total += found.squares;
        }
        Ok(())
    }
}
