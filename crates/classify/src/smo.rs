//! Two classes: sequential minimal optimisation of the dual of C-support vector classification.
//!
//! ```text
//! min ½ Σ_ij α_i α_j y_i y_j K_ij - Σ_i α_i    over 0 ≤ α_i ≤ C, Σ_i y_i α_i = 0
//! ```
//!
//! Two multipliers at a time, chosen by second order information: Fan, Chen & Lin, JMLR 6 (2005), Eqs. 6 to 8 and
//! Algorithm 2.

use countgrid_math::Real;

use crate::ClassifyError;

/// How a support vector machine is trained.
///
/// Example: [`SupportVectors`](crate::SupportVectors).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvmOptions {
    /// What a training item on the wrong side of its margin costs, `C`.
    pub penalty: f64,
    /// How far the optimality conditions may be violated, in units of the decision value.
    pub tolerance: f64,
    /// Pairs optimised, at most, per item of the training set.
    pub steps: usize,
}

impl Default for SvmOptions {
    fn default() -> Self {
        Self { penalty: 1.0, tolerance: 1e-3, steps: 10_000 }
    }
}

impl SvmOptions {
    pub(crate) fn check(&self) -> Result<(), ClassifyError> {
        for (what, value) in [("a penalty", self.penalty), ("a tolerance", self.tolerance)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(ClassifyError::Option { what });
            }
        }
        if self.steps == 0 { Err(ClassifyError::Option { what: "a number of steps" }) } else { Ok(()) }
    }
}

/// One problem: the items of two classes among all items of a Gram matrix.
pub(crate) struct Problem<'a, T, F> {
    pub(crate) gram: &'a [T], // [item][item]
    pub(crate) items: usize,
    /// The side of an item: positive, negative, or none for one of another class.
    pub(crate) side: F,
    pub(crate) penalty: T,
    pub(crate) tolerance: T,
}

/// What a training ended with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solution<T> {
    /// Added to the sum of a decision value.
    pub(crate) bias: T,
    pub(crate) converged: bool,
}

impl<T: Real, F: Fn(usize) -> Option<bool>> Problem<'_, T, F> {
    fn kernel(&self, i: usize, j: usize) -> T {
        self.gram.get(i * self.items + j).copied().unwrap_or(T::zero())
    }

    /// Whether `y_i α_i` may still grow, or shrink.
    fn may_move(&self, up: bool, positive: bool, coefficient: T) -> bool {
        let alpha = coefficient.abs();
        if up == positive { alpha < self.penalty } else { alpha > T::zero() }
    }

    /// Writes `y_i α_i` of all items, zero for those of other classes. `errors` is scratch: `y_i - Σ_j y_j α_j K_ij`,
    /// the negated, signed gradient.
    pub(crate) fn solve(&self, steps: usize, coefficients: &mut [T], errors: &mut [T]) -> Solution<T> {
        coefficients.fill(T::zero());
        for (i, error) in errors.iter_mut().enumerate() {
            *error = match (self.side)(i) {
                Some(true) => T::one(),
                Some(false) => -T::one(),
                None => T::zero(),
            };
        }
        let mut converged = false;
        for _ in 0..steps {
            let Some((i, j)) = self.working_set(coefficients, errors) else {
                converged = true;
                break;
            };
            self.update(i, j, coefficients, errors);
        }
        Solution { bias: self.bias(coefficients, errors), converged }
    }

    /// The most violating item that may grow, and the one that may shrink with which the dual falls most; `None` within
    /// the tolerance.
    fn working_set(&self, coefficients: &[T], errors: &[T]) -> Option<(usize, usize)> {
        let sided = || {
            let items = coefficients.iter().zip(errors).enumerate();
            items.filter_map(|(i, (&c, &error))| (self.side)(i).map(|positive| (i, positive, c, error)))
        };
        let mut first: Option<(usize, T)> = None;
        for (i, positive, coefficient, error) in sided() {
            if self.may_move(true, positive, coefficient) && first.is_none_or(|(_, most)| error > most) {
                first = Some((i, error));
            }
        }
        let (i, most) = first?;
        let (mut least, mut second): (_, Option<(usize, T)>) = (most, None);
        for (j, positive, coefficient, error) in sided() {
            if !self.may_move(false, positive, coefficient) {
                continue;
            }
            least = if error < least { error } else { least };
            let violation = most - error;
            if violation > T::zero() {
                let gain = violation * violation / self.curvature(i, j);
                if second.is_none_or(|(_, best)| gain > best) {
                    second = Some((j, gain));
                }
            }
        }
        second.filter(|_| most - least > self.tolerance).map(|(j, _)| (i, j))
    }

    /// `K_ii + K_jj - 2 K_ij`, kept positive.
    fn curvature(&self, i: usize, j: usize) -> T {
        let two = T::one() + T::one();
        let curvature = self.kernel(i, i) + self.kernel(j, j) - two * self.kernel(i, j);
        let least = T::from_f64(1e-12);
        if curvature > least { curvature } else { least }
    }

    /// Moves `y_i α_i` up and `y_j α_j` down by as much.
    fn update(&self, i: usize, j: usize, coefficients: &mut [T], errors: &mut [T]) {
        let room = |at: usize, up: bool, coefficient: T| match (self.side)(at) {
            Some(positive) if positive == up => self.penalty - coefficient.abs(),
            Some(_) => coefficient.abs(),
            None => T::zero(),
        };
        let (Some(&a), Some(&b)) = (coefficients.get(i), coefficients.get(j)) else { return };
        let (Some(&error_i), Some(&error_j)) = (errors.get(i), errors.get(j)) else { return };
        let step = (error_i - error_j) / self.curvature(i, j);
        let (up, down) = (room(i, true, a), room(j, false, b));
        let most = if up < down { up } else { down };
        let step = if step < most { step } else { most };
        // At a bound exactly at it, so that the item is found to be there.
        let moved = |at: usize, up: bool, room: T, coefficient: T| {
            let bound = match (self.side)(at) {
                Some(true) if up => self.penalty,
                Some(false) if !up => -self.penalty,
                _ => T::zero(),
            };
            match (step >= room, up) {
                (true, _) => bound,
                (false, true) => coefficient + step,
                (false, false) => coefficient - step,
            }
        };
        coefficients[i] = moved(i, true, up, a);
        coefficients[j] = moved(j, false, down, b);
        let (change_i, change_j) = (coefficients[i] - a, coefficients[j] - b);
        let row = |at: usize| self.gram.get(at * self.items..(at + 1) * self.items).unwrap_or_default();
        for ((error, &k_i), &k_j) in errors.iter_mut().zip(row(i)).zip(row(j)) {
            *error += -(change_i * k_i + change_j * k_j);
        }
    }

    /// The mean error of the items within their bounds; without any, the middle of what the others allow.
    fn bias(&self, coefficients: &[T], errors: &[T]) -> T {
        let (mut sum, mut free) = (T::zero(), T::zero());
        let (mut low, mut high) = (T::neg_infinity(), T::infinity());
        for (i, (&coefficient, &error)) in coefficients.iter().zip(errors).enumerate() {
            let Some(positive) = (self.side)(i) else { continue };
            let (up, down) =
                (self.may_move(true, positive, coefficient), self.may_move(false, positive, coefficient));
            if up && down {
                (sum, free) = (sum + error, free + T::one());
            } else if up {
                low = if error > low { error } else { low };
            } else {
                high = if error < high { error } else { high };
            }
        }
        if free > T::zero() {
            return sum / free;
        }
        match (low.is_finite(), high.is_finite()) {
            (true, true) => (low + high) / (T::one() + T::one()),
            (true, false) => low,
            (false, true) => high,
            (false, false) => T::zero(),
        }
    }
}
