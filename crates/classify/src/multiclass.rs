use core::marker::PhantomData;

use countgrid_math::{Real, dot};

use crate::{
    ClassifyError,
    error::same_length,
    smo::{Problem, SvmOptions},
};

/// C-support vector classification on a Gram matrix: a machine for each two classes, which vote.
///
/// Any positive semidefinite kernel serves: training sees only the matrix, and prediction only the similarities of
/// the new item to the training items.
///
/// Storage `[pair][item + 1]`: coefficients `y_i α_i` of the training items and the bias, for the pairs (0, 1), (0, 2),
/// ..., (1, 2), ... of classes.
///
/// ```
/// use countgrid_classify::{SupportVectors, SvmOptions};
///
/// // Points on a line, and the linear kernel.
/// let (x, labels) = ([-2.0f64, -1.0, 1.0, 3.0], [0, 0, 1, 1]);
/// let gram: Vec<f64> = x.iter().flat_map(|a| x.map(|b| a * b)).collect();
/// let storage = vec![0.0; SupportVectors::<f64, Vec<f64>>::len(2, 4).unwrap()];
/// let options = SvmOptions { penalty: 10.0, ..SvmOptions::default() };
/// let machine = SupportVectors::train(&gram, &labels, 2, &options, storage, &mut [0.0; 4])?;
/// let similar = |new: f64| x.map(|x| x * new);
/// assert_eq!(machine.predict(&similar(-0.1), &mut [0; 2])?, 0);
/// assert_eq!(machine.predict(&similar(0.1), &mut [0; 2])?, 1);
/// # Ok::<(), countgrid_classify::ClassifyError>(())
/// ```
///
/// # Source
/// C. Cortes & V. Vapnik, Support-vector networks, Machine Learning 20(3), 1995, pages 273 to 297; the solver is that of
/// R.-E. Fan, P.-H. Chen & C.-J. Lin, Working set selection using second order information for training support vector
/// machines, JMLR 6 (2005), pages 1889 to 1918.
#[derive(Clone, Copy, Debug)]
pub struct SupportVectors<T, S> {
    classes: usize,
    items: usize,
    storage: S, // of `len(classes, items)` elements
    converged: bool,
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>> SupportVectors<T, S> {
    /// Elements of the storage; `None` if they cannot be counted.
    #[must_use]
    pub const fn len(classes: usize, items: usize) -> Option<usize> {
        let pairs = match classes.checked_mul(classes.saturating_sub(1)) {
            Some(pairs) => pairs / 2,
            None => return None,
        };
        match items.checked_add(1) {
            Some(row) => row.checked_mul(pairs),
            None => None,
        }
    }

    /// Whether every machine met the tolerance within its steps.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// Coefficients `y_i α_i` `[item]` and the bias of each pair of classes, in order; positive is the first of the two.
    pub fn machines(&self) -> impl Iterator<Item = ((usize, usize), &[T], T)> {
        let rows = self.storage.as_ref().chunks_exact(self.items + 1);
        pairs(self.classes).zip(rows).filter_map(|(pair, row)| {
            let (bias, coefficients) = row.split_last()?;
            Some((pair, coefficients, *bias))
        })
    }

    /// The class of an item of which `similarities` `[training item]` are given: the one with most votes, of equals
    /// the first. `votes` `[class]` is scratch.
    ///
    /// # Errors
    /// [`ClassifyError::Length`]; [`ClassifyError::Entry`] for a similarity that is not finite.
    pub fn predict(&self, similarities: &[T], votes: &mut [usize]) -> Result<usize, ClassifyError> {
        same_length("similarities", self.items, similarities.len())?;
        same_length("votes", self.classes, votes.len())?;
        if let Some(index) = similarities.iter().position(|x| !x.is_finite()) {
            return Err(ClassifyError::Entry { table: "similarities", index });
        }
        votes.fill(0);
        for ((first, second), coefficients, bias) in self.machines() {
            let sum = dot(coefficients, similarities).unwrap_or(T::zero());
            let class = if sum + bias > T::zero() { first } else { second };
            if let Some(votes) = votes.get_mut(class) {
                *votes += 1;
            }
        }
        let mut best = 0;
        for class in 1..votes.len() {
            if votes[class] > votes[best] {
                best = class;
            }
        }
        Ok(best)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> SupportVectors<T, S> {
    /// Trains on a Gram matrix `[item][item]` of items with labels below `classes`.
    ///
    /// `storage` of [`SupportVectors::len`] elements, `scratch` of one for each item.
    ///
    /// # Errors
    /// [`ClassifyError::Length`], [`ClassifyError::TooFew`] for fewer than two classes, [`ClassifyError::NoSuchClass`],
    /// [`ClassifyError::FewMembers`] for a class without members, [`ClassifyError::Entry`] for a matrix that is not
    /// finite, [`ClassifyError::Option`].
    pub fn train(
        gram: &[T],
        labels: &[usize],
        classes: usize,
        options: &SvmOptions,
        mut storage: S,
        scratch: &mut [T],
    ) -> Result<Self, ClassifyError> {
        options.check()?;
        let items = labels.len();
        if classes < 2 {
            return Err(ClassifyError::TooFew { what: "classes", found: classes });
        }
        same_length("gram", items.saturating_mul(items), gram.len())?;
        same_length("storage", Self::len(classes, items).unwrap_or(usize::MAX), storage.as_ref().len())?;
        same_length("scratch", items, scratch.len())?;
        if let Some(&class) = labels.iter().find(|&&class| class >= classes) {
            return Err(ClassifyError::NoSuchClass { class, classes });
        }
        if let Some(class) = (0..classes).find(|class| !labels.contains(class)) {
            return Err(ClassifyError::FewMembers { class, members: 0, folds: 1 });
        }
        if let Some(index) = gram.iter().position(|x| !x.is_finite()) {
            return Err(ClassifyError::Entry { table: "gram", index });
        }
        let mut converged = true;
        for ((first, second), row) in pairs(classes).zip(storage.as_mut().chunks_exact_mut(items + 1)) {
            let side = |item: usize| match labels.get(item) {
                Some(&label) if label == first => Some(true),
                Some(&label) if label == second => Some(false),
                _ => None,
            };
            let problem = Problem {
                gram,
                items,
                side,
                penalty: T::from_f64(options.penalty),
                tolerance: T::from_f64(options.tolerance),
            };
            let (coefficients, bias) = row.split_at_mut(items);
            let steps = options.steps.saturating_mul(items);
            let solution = problem.solve(steps, coefficients, scratch);
            bias.iter_mut().for_each(|bias| *bias = solution.bias);
            converged &= solution.converged;
        }
        Ok(Self { classes, items, storage, converged, scalar: PhantomData })
    }
}

/// The pairs of classes, in order.
fn pairs(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |first| (first + 1..classes).map(move |second| (first, second)))
}
