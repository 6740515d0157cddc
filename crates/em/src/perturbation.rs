//! Copies of a component: moving them apart, and finding them.

use countgrid_math::Real;

use crate::{Distributions, TablesMut, restart_seed};

/// A number in `[-1, 1)`, uniform, that depends on nothing but a seed and an index.
///
/// For [`Anneal::perturb`](crate::Anneal::perturb): an index for each parameter.
///
/// ```
/// use countgrid_em::noise;
/// let mean = (0..1000).map(|index| noise(7, index)).sum::<f64>() / 1000.0;
/// assert!(mean.abs() < 0.1); // a standard error of 0.018
/// ```
///
/// # Source
/// SplitMix64, as in [`restart_seed`].
#[must_use]
pub const fn noise(seed: u64, index: usize) -> f64 {
    let bits = restart_seed(seed, index.wrapping_add(1)) >> 11; // 53 of them
    bits as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Moves the entries of tables by a random share of themselves, `x (1 + size · u)` with `u` uniform in `[-1, 1)`, and brings what
/// was normalised back to the sum that it had: [`Anneal::perturb`](crate::Anneal::perturb) for models whose parameters are distributions.
///
/// `normalised` says for each table of the layout, in order, what is normalised in it; tables beyond stay as they are, and so do
/// those whose entries are not all in the buffer. Entries of 0 stay 0. `size` is meant to be within `[0, 1)`, which keeps the sign
/// of every entry.
///
/// ```
/// use countgrid_em::{Distributions, Table, TableBuffer, Tables, perturb_tables};
/// // Two components that are copies of each other, in columns.
/// let mut model = TableBuffer::new([Table::new("pi", 2, 2)], [0.75_f64, 0.75, 0.25, 0.25])?;
/// perturb_tables(&mut model, &[Distributions::Columns], 0.01, 42);
/// let &[a, b, c, d] = model.buffer() else { return Ok(()) };
/// assert!(a != b && (a - b).abs() < 0.02_f64);
/// assert!((a + c - 1.0).abs() < 1e-15 && (b + d - 1.0).abs() < 1e-15);
/// # Ok::<(), countgrid_em::TablesError>(())
/// ```
pub fn perturb_tables<M: TablesMut + ?Sized>(
    tables: &mut M,
    normalised: &[Distributions],
    size: f64,
    seed: u64,
) {
    let mut start = 0_usize;
    for (number, &normalised) in normalised.iter().enumerate() {
        let Some(table) = tables.layout().get(number).copied() else { return };
        let Some(end) = table.elements().and_then(|elements| start.checked_add(elements)) else { return };
        let Some(elements) = tables.buffer_mut().get_mut(start..end) else { return };
        // The noise of an entry depends on its place in the buffer alone.
        let moved = |at: usize, x: f64| x * (1.0 + size * noise(seed, start + at));
        match normalised {
            Distributions::Rows => {
                for row in 0..table.rows {
                    rescale(elements, (row * table.columns..).take(table.columns), moved);
                }
            }
            Distributions::Columns => {
                for column in 0..table.columns {
                    rescale(elements, (column..elements.len()).step_by(table.columns), moved);
                }
            }
            Distributions::None => {
                elements
                    .iter_mut()
                    .enumerate()
                    .for_each(|(at, x)| *x = T::<M>::from_f64(moved(at, x.to_f64())));
            }
        }
        start = end;
    }
}

type T<M> = <M as crate::Tables>::Scalar;

/// Changes some entries and gives them the sum that they had.
fn rescale<T: Real>(
    table: &mut [T],
    places: impl Iterator<Item = usize> + Clone,
    moved: impl Fn(usize, f64) -> f64,
) {
    let (mut before, mut after) = (0.0, 0.0);
    for at in places.clone() {
        let x = table[at].to_f64();
        before += x;
        after += moved(at, x);
    }
    let factor = before / after;
    if factor.is_finite() {
        places.for_each(|at| table[at] = T::from_f64(factor * moved(at, table[at].to_f64())));
    }
}

/// How many of a model's components coincide with one before them: [`Learn::coinciding_components`](crate::Learn::coinciding_components) of most models.
///
/// `parameters` gives those of a component, always as many: what tells components apart, without how often each is chosen (copies
/// may have shares of their own). Two coincide when no parameter differs by more than `ε^¼` of the largest of the component, with
/// the machine epsilon `ε` of the scalar: 1.2e-4 in double and 1.9e-2 in single precision. Near such a point the free energy is
/// even in the distance between two copies; where its second derivative vanishes, as it does for components that have taken on
/// the variance of the data, it grows with the fourth power. So within that distance no fit sees it fall.
///
/// ```
/// use countgrid_em::coinciding;
/// // Components in columns.
/// let pi = [0.5, 0.500_000_1, 0.1, 0.25, 0.25, 0.2, 0.25, 0.249_999_9, 0.7];
/// assert_eq!(coinciding(3, |k| pi[k..].iter().step_by(3).copied()), 1);
/// // Components in rows.
/// assert_eq!(coinciding(3, |k| pi[3 * k..3 * k + 3].iter().copied()), 0);
/// ```
#[must_use]
pub fn coinciding<T: Real, I: IntoIterator<Item = T>>(
    components: usize,
    parameters: impl Fn(usize) -> I,
) -> usize {
    let epsilon = T::epsilon().to_f64();
    let coincides = |&k: &usize| {
        let scale = parameters(k).into_iter().fold(0.0_f64, |most, x| most.max(x.to_f64().abs()));
        let near = |a: T, b: T| {
            let distance = (a.to_f64() - b.to_f64()) / scale;
            a == b || (distance * distance) * (distance * distance) <= epsilon // a NaN is not
        };
        (0..k).any(|before| parameters(before).into_iter().zip(parameters(k)).all(|(a, b)| near(a, b)))
    };
    (1..components).filter(coincides).count()
}
