use core::marker::PhantomData;

use countgrid_math::{Real, sqrt};

use crate::{ClassifyError, error::same_length};

/// How often an item of one class was taken for one of another: `[truth][found]`.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        try_from = "crate::serialised::ConfusionFields<S>",
        bound(deserialize = "S: serde::Deserialize<'de> + AsRef<[u64]>")
    )
)]
pub struct Confusion<S> {
    pub(crate) classes: usize,
    pub(crate) counts: S, // of `classes²` elements
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Confusion<S> {
    /// An empty matrix in `counts`, `classes²` elements that are overwritten.
    ///
    /// # Errors
    /// [`ClassifyError::Length`].
    pub fn new(classes: usize, mut counts: S) -> Result<Self, ClassifyError> {
        same_length("counts", classes.saturating_mul(classes), counts.as_ref().len())?;
        counts.as_mut().fill(0);
        Ok(Self { classes, counts })
    }

    /// Counts an item.
    ///
    /// # Errors
    /// [`ClassifyError::NoSuchClass`].
    pub fn add(&mut self, truth: usize, found: usize) -> Result<(), ClassifyError> {
        let classes = self.classes;
        for class in [truth, found] {
            if class >= classes {
                return Err(ClassifyError::NoSuchClass { class, classes });
            }
        }
        if let Some(count) = self.counts.as_mut().get_mut(truth * classes + found) {
            *count += 1;
        }
        Ok(())
    }
}

impl<S: AsRef<[u64]>> Confusion<S> {
    /// The counts `[truth][found]`.
    pub fn counts(&self) -> &[u64] {
        self.counts.as_ref()
    }

    /// Items counted.
    pub fn items(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// Share of items whose class was found; `None` without items.
    pub fn accuracy(&self) -> Option<f64> {
        let right: u64 = self.counts().iter().step_by(self.classes + 1).sum();
        (self.items() > 0).then(|| right as f64 / self.items() as f64)
    }

    /// Standard error of the accuracy over independent items, `sqrt(p (1 - p) / n)`.
    pub fn standard_error(&self) -> Option<f64> {
        self.accuracy().map(|p| sqrt(p * (1.0 - p) / self.items() as f64))
    }
}

/// Mean and standard error of figures, such as the accuracies of repetitions; summed as they come.
///
/// ```
/// use countgrid_classify::Summary;
/// let mut accuracies = Summary::default();
/// [0.75, 0.875, 1.0].into_iter().for_each(|accuracy| accuracies.add(accuracy));
/// assert_eq!(accuracies.mean(), Some(0.875));
/// assert!((accuracies.standard_error().unwrap_or(0.0) - 0.125 / 3f64.sqrt()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::SummaryFields")
)]
pub struct Summary {
    pub(crate) count: f64,
    pub(crate) mean: f64,
    pub(crate) squares: f64, // Σ (x - mean)²
}

impl Summary {
    /// Adds a figure (Welford's update).
    pub fn add(&mut self, x: f64) {
        self.count += 1.0;
        let apart = x - self.mean;
        self.mean += apart / self.count;
        self.squares += apart * (x - self.mean);
    }

    /// `None` without figures.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then_some(self.mean)
    }

    /// Standard error of the mean, `sqrt(Σ (x - mean)² / (n (n - 1)))`; `None` with fewer than two figures.
    #[must_use]
    pub fn standard_error(&self) -> Option<f64> {
        (self.count > 1.0).then(|| sqrt(self.squares / (self.count * (self.count - 1.0))))
    }
}

/// Pearson's correlation of pairs; `None` with fewer than two, or if one side is constant.
///
/// ```
/// use countgrid_classify::correlation;
/// let found = correlation(&[1.0f64, 2.0, 3.0], &[2.0, 0.0, -2.0])?;
/// assert!(found.is_some_and(|r| (r + 1.0).abs() < 1e-15));
/// assert_eq!(correlation(&[1.0f64, 2.0, 3.0], &[7.0, 7.0, 7.0])?, None);
/// # Ok::<(), countgrid_classify::ClassifyError>(())
/// ```
///
/// # Errors
/// [`ClassifyError::Length`]; [`ClassifyError::Entry`] for an entry that is not finite.
pub fn correlation<T: Real>(x: &[T], y: &[T]) -> Result<Option<f64>, ClassifyError> {
    same_length("y", x.len(), y.len())?;
    for (table, values) in [("x", x), ("y", y)] {
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(ClassifyError::Entry { table, index });
        }
    }
    let (x, y) = (Centred::new(x), Centred::new(y));
    let (xx, yy) = (x.times(&x), y.times(&y));
    Ok((xx > 0.0 && yy > 0.0).then(|| x.times(&y) / (sqrt(xx) * sqrt(yy))))
}

/// Values less their mean, scaled so that squares stay in range.
struct Centred<'a, T> {
    values: &'a [T],
    mean: f64,
    scale: f64,
    scalar: PhantomData<T>,
}

impl<'a, T: Real> Centred<'a, T> {
    fn new(values: &'a [T]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().fold(0.0, |sum, &x| sum + Real::to_f64(x) / n);
        let most =
            values.iter().fold(0.0f64, |most, &x| most.max((Real::to_f64(x) / 2.0 - mean / 2.0).abs()));
        // What is left of a constant is the rounding of its mean.
        let constant = most <= n * f64::EPSILON * mean.abs();
        // Of numbers that are nearly zero the reciprocal is none.
        let scale = if constant { 0.0 } else { most.recip().min(f64::MAX) };
        Self { values, mean, scale, scalar: PhantomData }
    }

    fn at(&self, index: usize) -> f64 {
        // Half of what is apart is in range where the whole need not be.
        let apart = |x: T| (Real::to_f64(x) / 2.0 - self.mean / 2.0) * self.scale;
        self.values.get(index).map_or(0.0, |&x| apart(x))
    }

    fn times(&self, other: &Self) -> f64 {
        (0..self.values.len()).map(|index| self.at(index) * other.at(index)).sum()
    }
}
