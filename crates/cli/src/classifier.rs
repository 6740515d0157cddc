//! Ways to tell the label of a document from a counting grid.

use countgrid_classify::{ClassifyError, SupportVectors, SvmOptions, lowest, nearest, vote};
use countgrid_counts::Bags;
use countgrid_scores::{Similarity, cross, gram, spread_rows, spread_scratch_len};

use crate::{
    args::{Classifier, CrossvalArgs},
    failure::Failure,
    fit::{Inference, fit},
    interrupt::Interrupt,
    labels::embed,
    layout::Layout,
    memory::zeros,
    model::Stored,
    place::place,
    report::Report,
    store::{Builder, Plan, Store},
};

/// Documents with labels to learn from, and documents whose labels are to be told.
pub(crate) struct Fold<T> {
    pub(crate) training: Store<T>,
    pub(crate) labels: Vec<usize>, // of the training documents, below `classes`
    pub(crate) test: Store<T>,
    pub(crate) classes: usize,
}

/// The label of each test document. One without a known word gets the most frequent label of the training documents,
/// of equals the first.
pub(crate) fn predict<T: Stored>(
    fold: &Fold<T>,
    args: &CrossvalArgs,
    interrupt: &Interrupt,
) -> Result<Vec<usize>, Failure> {
    let mut found = match args.classifier {
        Classifier::Generative => fold.generative(args, interrupt)?,
        Classifier::Labels => fold.labels_around(args, interrupt)?,
        Classifier::Nearest => fold.neighbours(args, interrupt)?,
        Classifier::Svm => fold.support_vectors(args, interrupt)?,
    };
    let mut frequency = vec![0usize; fold.classes];
    fold.labels.iter().for_each(|&label| frequency[label] += 1);
    let usual = (0..fold.classes).rev().max_by_key(|&class| frequency[class]).unwrap_or(0);
    fold.test.each(false, |first, block| {
        for bag in 0..block.len() {
            if !(block.total(bag) > 0.0) {
                found[first + bag] = usual;
            }
        }
        Ok::<_, Failure>(())
    })?;
    Ok(found)
}

/// Fits a grid to some documents, without a word.
fn fitted<T: Stored>(
    bags: &Store<T>,
    args: &CrossvalArgs,
    interrupt: &Interrupt,
) -> Result<Inference<T>, Failure> {
    let (mut tokens, mut placed) = (0.0, 0);
    bags.each(false, |_, block| {
        for bag in 0..block.len() {
            let total: f64 = block.total(bag);
            tokens += total;
            placed += usize::from(total > 0.0);
        }
        Ok::<_, Failure>(())
    })?;
    let layout = Layout::choose(args.fit.grid.as_ref(), args.fit.window.as_ref(), placed)?;
    Ok(fit::<T>(bags, tokens, &layout, &args.fit, &Report::new(true, false), interrupt)?.histograms)
}

fn bug(error: ClassifyError) -> Failure {
    Failure::new(error, "this is a bug worth a report")
}

impl<T: Stored> Fold<T> {
    /// A grid for each class; the class whose grid has the lowest free energy, `-log p(c)`.
    fn generative(&self, args: &CrossvalArgs, interrupt: &Interrupt) -> Result<Vec<usize>, Failure> {
        let mut free_energies = Vec::with_capacity(self.classes); // [class][document]
        for class in 0..self.classes {
            let own = self.of_class(class)?;
            let mut free_energy = vec![f64::INFINITY; self.test.len()];
            // A class may have none: its only documents are held out.
            if own.len() > 0 {
                place(&fitted(&own, args, interrupt)?, &self.test, |bag, _, posterior| {
                    free_energy[bag] = -posterior.log_evidence().to_f64();
                })?;
            }
            free_energies.push(free_energy);
        }
        let of = |bag: usize| free_energies.iter().map(|all| all[bag]).collect::<Vec<_>>();
        Ok((0..self.test.len()).map(|bag| lowest(&of(bag), &[]).unwrap_or(0)).collect())
    }

    fn of_class(&self, class: usize) -> Result<Store<T>, Failure> {
        let mut builder = Builder::new(self.training.features(), Plan::new(u128::MAX, usize::MAX))?;
        self.training.each(false, |first, block| {
            for bag in 0..block.len() {
                if self.labels.get(first + bag) == Some(&class) {
                    let entries: Vec<_> = block.entries(bag).collect();
                    builder.push(&entries)?;
                }
            }
            Ok::<_, Failure>(())
        })?;
        builder.finish()
    }

    /// One grid without labels; the label that is most expected where a document lies.
    fn labels_around(&self, args: &CrossvalArgs, interrupt: &Interrupt) -> Result<Vec<usize>, Failure> {
        let histograms = fitted(&self.training, args, interrupt)?;
        let label_of = |document: usize| self.labels.get(document).copied();
        let Some(labels) = embed(&histograms, &self.training, self.classes, label_of)? else {
            return Ok(vec![0; self.test.len()]);
        };
        let (mut found, mut shares) = (vec![0; self.test.len()], vec![0.0; self.classes]);
        let mut refused = None;
        place(&histograms, &self.test, |bag, _, posterior| {
            refused = refused.or(labels.read(posterior, &mut shares).err());
            // The largest share is the lowest negative one.
            shares.iter_mut().for_each(|share| *share = -*share);
            found[bag] = lowest(&shares, &[]).unwrap_or(0);
        })?;
        refused.map_or(Ok(found), |error| Err(error.into()))
    }

    /// One grid without labels; the label of the training documents whose windows start nearest on the torus.
    fn neighbours(&self, args: &CrossvalArgs, interrupt: &Interrupt) -> Result<Vec<usize>, Failure> {
        let histograms = fitted(&self.training, args, interrupt)?;
        let torus = *histograms.shape().windows().torus();
        let modes = |bags: &Store<T>| -> Result<Vec<Option<usize>>, Failure> {
            let mut modes = vec![None; bags.len()];
            place(&histograms, bags, |bag, tokens, posterior| {
                modes[bag] = (tokens > 0.0).then(|| posterior.mode());
            })?;
            Ok(modes)
        };
        let (training, mut near) = (modes(&self.training)?, vec![(0, 0); args.neighbours]);
        let mut votes = vec![0; self.classes];
        let mut label = |mode: Option<usize>| {
            let mode = mode?;
            let distance = |(item, other): (usize, &Option<usize>)| {
                Some((item, torus.distance_squared(mode, (*other)?)))
            };
            let found = nearest(training.iter().enumerate().filter_map(distance), &mut near);
            vote(found.iter().filter_map(|&(item, _)| self.labels.get(item).copied()), &mut votes)
        };
        Ok(modes(&self.test)?.into_iter().map(|mode| label(mode).unwrap_or(0)).collect())
    }

    /// One grid without labels; a support vector machine on the similarities of documents spread over their windows.
    fn support_vectors(&self, args: &CrossvalArgs, interrupt: &Interrupt) -> Result<Vec<usize>, Failure> {
        let histograms = fitted(&self.training, args, interrupt)?;
        let (training, test) = (spread(&histograms, &self.training)?, spread(&histograms, &self.test)?);
        let (items, cells) = (self.training.len(), histograms.shape().cells());
        // Classes of which all documents are held out cannot be found.
        let mut known: Vec<usize> = self.labels.clone();
        known.sort_unstable();
        known.dedup();
        let labels: Vec<usize> =
            self.labels.iter().filter_map(|label| known.binary_search(label).ok()).collect();
        let refused = |error| Failure::new(error, "this is a bug worth a report");
        let mut matrix = zeros(items.saturating_mul(items))?;
        gram(Similarity::Intersection, cells, &training, &mut matrix).map_err(refused)?;
        let length = SupportVectors::<f64, Vec<f64>>::len(known.len(), items).unwrap_or(usize::MAX);
        let options = SvmOptions { penalty: args.penalty, ..SvmOptions::default() };
        let machine = SupportVectors::train(
            &matrix,
            &labels,
            known.len(),
            &options,
            zeros(length)?,
            &mut zeros(items)?,
        )
        .map_err(|error| Failure::new(error, "take a --penalty above 0"))?;
        let (mut similar, mut votes) = (vec![0.0; items], vec![0; known.len()]);
        let one = |row: &[f64]| -> Result<usize, Failure> {
            cross(Similarity::Intersection, cells, row, &training, &mut similar).map_err(refused)?;
            let class = machine.predict(&similar, &mut votes).map_err(bug)?;
            Ok(known.get(class).copied().unwrap_or(0))
        };
        test.chunks_exact(cells).map(one).collect()
    }
}

/// Posteriors `[bag][cell]` spread over the cells of their windows.
fn spread<T: Stored>(histograms: &Inference<T>, bags: &Store<T>) -> Result<Vec<f64>, Failure> {
    let windows = histograms.shape().windows();
    let cells = windows.torus().cells();
    let mut rows = zeros(bags.len().saturating_mul(cells))?;
    place(histograms, bags, |bag, _, posterior| {
        posterior.for_each(|cell, q| rows[bag * cells + cell] = q.to_f64());
    })?;
    let mut scratch = zeros(spread_scratch_len(windows))?;
    spread_rows(windows, &mut rows, &mut scratch)
        .map_err(|error| Failure::new(error, "this is a bug worth a report"))?;
    Ok(rows)
}
