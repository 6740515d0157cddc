//! What is made of posteriors: tables of codes, labels, groups of terms, similarities and classifiers.

use countgrid_classify::{SupportVectors, SvmOptions, correlation, hellinger, kullback_leibler};
use countgrid_counts::Bag;
use countgrid_em::{FreeEnergy, Tables};
use countgrid_grid::{
    Code, Embedding, Grouping, LabelSums, LogHistograms, QuantisedHistograms, Readout, Shape, Sources, Terms,
    label_scratch_len,
};
use countgrid_math::Real;
use countgrid_scores::{Similarity, Standardizer, gram, spread_rows};

use crate::{
    bags::{BAGS, Data, FEATURES},
    fits::{Memory, SCRATCH, random},
    report::{Digest, Failure, Report, first, name},
};

const SIDES: [usize; 2] = [5, 6];
const CELLS: usize = 30;
const CLASSES: usize = 3;

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    cases::<f32>(report)?;
    cases::<f64>(report)
}

fn cases<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let shape = Shape::from_sides(SIDES, [2, 3], FEATURES)?;
    let (data, mut memory) = (Data::new(), Memory::<T>::new());
    let bags = data.bags()?;
    let (learner, _) = memory.learner(shape, Default::default(), random(9))?;
    let (grid, histograms) = learner.into_parts();
    let mut scratch = [T::zero(); SCRATCH];

    codes::<T, u8>(report, &histograms, &data, &mut scratch)?;
    codes::<T, u16>(report, &histograms, &data, &mut scratch)?;
    for grouping in [Grouping::Location, Grouping::Feature, Grouping::Each] {
        let model = Terms::new(&histograms, grouping);
        report.digest(format_args!("terms by {grouping:?}, {}", name::<T>()), terms(&model, &data)?);
    }
    let sources = Sources::new(&grid, &histograms)?;
    report.digest(format_args!("terms by source, {}", name::<T>()), terms(&sources, &data)?);

    // Bag t is of class t mod 3.
    let mut sums = LabelSums::new(shape, CLASSES, [T::zero(); (CLASSES + 1) * (CELLS + 1)])?;
    let (mut rows, mut labels, mut bag_of) = ([T::zero(); BAGS * CELLS], [0; BAGS], 0);
    let mut refused = None;
    let mut each = rows.chunks_exact_mut(CELLS);
    histograms.posteriors(&bags, &mut scratch, |bag, posterior| {
        refused = refused.or(sums.add_class(posterior, bag % CLASSES).err());
        posterior.write(each.next().unwrap_or_default());
        (labels[bag_of], bag_of) = (bag % CLASSES, bag_of + 1);
    })?;
    if refused.is_some() {
        return Err(Failure::here());
    }
    let scratch = first(&mut scratch, label_scratch_len(&shape))?;
    let embedding = Embedding::new(sums, scratch)?;
    for reading in [Readout::Window, Readout::Point] {
        let table = embedding.labels(reading, [T::zero(); CLASSES * CELLS], scratch)?;
        report.table(format_args!("labels by {reading:?}, {}", name::<T>()), table.buffer());
        let mut digest = Digest::new();
        for (bag, q) in rows.chunks_exact(CELLS).enumerate() {
            let mut y = [T::zero(); CLASSES];
            y[bag % CLASSES] = T::one();
            let mut read = [T::zero(); CLASSES];
            embedding.leave_one_out(q, &y, reading, &mut read, scratch)?;
            digest.add(&read);
        }
        report.digest(format_args!("leave one out by {reading:?}, {}", name::<T>()), digest);
    }

    spread_rows(shape.windows(), &mut rows, scratch)?;
    report.table(format_args!("spread posteriors, {}", name::<T>()), &rows);
    let mut matrix = [T::zero(); BAGS * BAGS];
    let gaussian = Similarity::Rbf { gamma: T::from_f64(7.0) };
    for similarity in [Similarity::Linear, gaussian, Similarity::Intersection] {
        gram(similarity, CELLS, &rows, &mut matrix)?;
        report.table(format_args!("{similarity:?}, {}", name::<T>()), &matrix);
    }
    let machines = SupportVectors::train(
        &matrix,
        &labels,
        CLASSES,
        &SvmOptions::default(),
        [T::zero(); (BAGS + 1) * CLASSES],
        &mut [T::zero(); BAGS],
    )?;
    let mut digest = Digest::new();
    for (_, coefficients, bias) in machines.machines() {
        digest.add(coefficients);
        digest.add(&[bias]);
    }
    report.digest(format_args!("support vectors, {}", name::<T>()), digest);
    let mut digest = Digest::new();
    for pair in rows.chunks_exact(2 * CELLS) {
        let (p, q) = pair.split_at(CELLS);
        digest.add(&[kullback_leibler(p, q)?, hellinger(p, q)?]);
        digest.add(&[correlation(p, q)?.unwrap_or(0.0)]);
    }
    report.digest(format_args!("distances, {}", name::<T>()), digest);
    let standard = Standardizer::fit(&rows, [T::zero(); 2 * CELLS])?;
    standard.apply(&mut rows)?;
    report.table(format_args!("standardised, {}", name::<T>()), &rows);
    Ok(())
}

/// A table of codes, and where it places bags.
fn codes<T: Real, C: Code>(
    report: &mut Report<'_>,
    histograms: &LogHistograms<T, impl AsRef<[T]>, 2>,
    data: &Data,
    scratch: &mut [T],
) -> Result<(), Failure> {
    let shape = *histograms.shape();
    let mut bytes = [0; 4096];
    let table = QuantisedHistograms::<C, _, 2>::pack(
        histograms,
        first(&mut bytes, shape.quantised_len::<C>())?,
        scratch,
    )?;
    let mut digest = Digest::new();
    digest.add_integers(table.bytes());
    let (mut q, mut sums) = ([0.0; CELLS], [C::Sum::default(); CELLS]);
    for bag in 0..BAGS {
        let bag = data.bag(bag)?;
        digest.add(&[table.posterior(&bag, 0, &mut q, &mut sums)?]);
        digest.add(&q);
        digest.add(&[table.error_bound(&bag, 0)?.total_variation]);
    }
    report.digest(format_args!("codes {}, from {}", name::<C>(), name::<T>()), digest);
    Ok(())
}

/// The score terms of any model of bags.
pub(crate) fn terms<T: Real, M>(model: &M, data: &Data) -> Result<Digest, Failure>
where
    M: for<'a> FreeEnergy<Bag<'a, u16>, Scalar = T>,
    Failure: for<'a> From<<M as FreeEnergy<Bag<'a, u16>>>::Error>,
{
    let (mut terms, mut scratch) = ([T::zero(); (FEATURES + 2) * CELLS], [T::zero(); SCRATCH]);
    let mut digest = Digest::new();
    for bag in 0..BAGS {
        let bag = data.bag(bag)?;
        let terms = first(&mut terms, model.term_count(&bag))?;
        let scratch = first(&mut scratch, model.scratch_len(&bag))?;
        digest.add(&[model.free_energy_terms(&bag, terms, scratch)?]);
        digest.add(terms);
    }
    Ok(digest)
}
