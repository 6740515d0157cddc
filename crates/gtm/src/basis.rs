//! Latent points and basis functions.

use countgrid_math::{Real, exp, exp_m1, ln, sqrt};
use rand_core::Rng;

use crate::{GtmError, Space, error::same_length};

/// Points of a regular grid on `[-1, 1]²`, `[axis][point]`; point `y nx + x`, so the first axis is the fastest.
/// A single column (row) of points is at 0.
///
/// Example: [`Learner`](crate::Learner).
///
/// # Errors
/// [`GtmError::Length`] unless `points` has `2 nx ny` elements.
pub fn grid_points<T: Real>(nx: usize, ny: usize, points: &mut [T]) -> Result<(), GtmError> {
    let place = |i: usize, n: usize| {
        if n > 1 { -1.0 + 2.0 * i as f64 / (n - 1) as f64 } else { 0.0 }
    };
    fill(nx, ny, points, place)
}

/// Points of a regular grid on the torus `[-1, 1)²`: the last of a row is as far from the first as from the one
/// before.
///
/// ```
/// use countgrid_gtm::torus_points;
/// let mut points = [0.0f64; 8]; // the first axis of all points, then the second
/// torus_points(4, 1, &mut points)?;
/// assert_eq!(points, [-1.0, -0.5, 0.0, 0.5, -1.0, -1.0, -1.0, -1.0]);
/// # Ok::<(), countgrid_gtm::GtmError>(())
/// ```
///
/// # Errors
/// [`GtmError::Length`] unless `points` has `2 nx ny` elements.
pub fn torus_points<T: Real>(nx: usize, ny: usize, points: &mut [T]) -> Result<(), GtmError> {
    fill(nx, ny, points, |i, n| -1.0 + 2.0 * i as f64 / n as f64)
}

fn fill<T: Real>(
    nx: usize,
    ny: usize,
    points: &mut [T],
    place: impl Fn(usize, usize) -> f64,
) -> Result<(), GtmError> {
    let count = nx.saturating_mul(ny);
    same_length("points", count.saturating_mul(2), points.len())?;
    let (xs, ys) = points.split_at_mut(count);
    for (at, (x, y)) in xs.iter_mut().zip(ys).enumerate() {
        (*x, *y) = (T::from_f64(place(at % nx, nx)), T::from_f64(place(at / nx, ny)));
    }
    Ok(())
}

/// Points drawn from a Gaussian of standard deviation `spread`, each coordinate drawn again until it is within
/// `clip` deviations (a sinh of a far point is large): rejection by Marsaglia's polar method.
///
/// ```
/// use countgrid_gtm::gaussian_points;
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let mut points = [0.0f64; 200];
/// gaussian_points(0.5, 2.0, &mut ChaCha8Rng::seed_from_u64(1), &mut points)?;
/// assert!(points.iter().all(|x| x.abs() <= 1.0));
/// # Ok::<(), countgrid_gtm::GtmError>(())
/// ```
///
/// # Errors
/// [`GtmError::Setting`] unless `spread` is finite and above zero and `clip` is above 0.1.
pub fn gaussian_points<T: Real>(
    spread: f64,
    clip: f64,
    rng: &mut impl Rng,
    points: &mut [T],
) -> Result<(), GtmError> {
    if !(spread > 0.0 && spread.is_finite()) {
        return Err(GtmError::Setting { name: "spread" });
    }
    if !(clip > 0.1) {
        return Err(GtmError::Setting { name: "clip" });
    }
    for x in points {
        *x = loop {
            let mut unit = || (rng.next_u64() >> 11) as f64 * (2.0 / (1_u64 << 53) as f64) - 1.0;
            let (u, v) = (unit(), unit());
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let z = u * sqrt(-2.0 * ln(s) / s);
                if z.abs() <= clip {
                    break T::from_f64(z * spread);
                }
            }
        };
    }
    Ok(())
}

/// Centres for [`Basis::sinh`] in a half plane, `[axis][centre]`: for each radius, `angles` of them at `π i / angles`.
///
/// A centre and its opposite give one basis function, up to sign.
///
/// ```
/// use countgrid_gtm::half_plane_centres;
/// let mut centres = [0.0f64; 8];
/// half_plane_centres(2, &[1.0, 2.0], &mut centres)?;
/// let expected = [1.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 2.0];
/// assert!(centres.iter().zip(expected).all(|(x, expected)| (x - expected).abs() < 1e-15));
/// # Ok::<(), countgrid_gtm::GtmError>(())
/// ```
///
/// # Errors
/// [`GtmError::Length`] unless `centres` has `2 angles` elements for each radius.
pub fn half_plane_centres<T: Real>(angles: usize, radii: &[f64], centres: &mut [T]) -> Result<(), GtmError> {
    let count = angles.saturating_mul(radii.len());
    same_length("centres", count.saturating_mul(2), centres.len())?;
    let (xs, ys) = centres.split_at_mut(count);
    let places = radii.iter().flat_map(|&radius| (0..angles).map(move |i| (radius, i)));
    for ((x, y), (radius, i)) in xs.iter_mut().zip(ys).zip(places) {
        let (cos, sin) = cos_sin(i as f64 / angles as f64);
        (*x, *y) = (T::from_f64(radius * cos), T::from_f64(radius * sin));
    }
    Ok(())
}

/// Cosine and sine of `π q` for `q` in `[0, 1)`: Taylor series of at most `π / 4`, whose first term left out is below
/// 1e-19, and the symmetries.
fn cos_sin(q: f64) -> (f64, f64) {
    let series = |angle: f64, first: u32| {
        let (mut term, mut sum) = (if first == 0 { 1.0 } else { angle }, 0.0);
        for n in 0..10 {
            sum += term;
            let at = f64::from(2 * n + first);
            term *= -angle * angle / ((at + 1.0) * (at + 2.0));
        }
        sum
    };
    let (folded, sign) = if q > 0.5 { (1.0 - q, -1.0) } else { (q, 1.0) };
    let (swapped, folded) = if folded > 0.25 { (true, 0.5 - folded) } else { (false, folded) };
    let (cos, sin) = (series(core::f64::consts::PI * folded, 0), series(core::f64::consts::PI * folded, 1));
    if swapped { (sign * sin, cos) } else { (sign * cos, sin) }
}

/// Basis functions around centres, `φ_m(x)`, and a constant as the last.
///
/// ```
/// use countgrid_gtm::Basis;
/// let basis = Basis::sinh(&[1.0, 0.0, 0.0, 1.0], 2)?; // centres (1, 0) and (0, 1)
/// let mut row = [0.0_f64; 3];
/// basis.row(&[0.5, -0.5], &mut row)?;
/// assert!((row[0] - 0.5_f64.sinh()).abs() < 1e-15 && row[1] == -row[0] && row[2] == 1.0);
/// # Ok::<(), countgrid_gtm::GtmError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a, T> {
    centres: &'a [T], // [axis][centre], finite, at least one axis
    axes: usize,
    form: Form<T>,
}

#[derive(Clone, Copy, Debug)]
enum Form<T> {
    Rbf { width: T, space: Space },
    Sinh,
}

/// The far side of a torus is this many periods away at most: of width 1 it then adds `e^-12.5` at most.
const IMAGES: i32 = 2;

impl<'a, T: Real> Basis<'a, T> {
    /// `φ_m(x) = exp(-‖x - μ_m‖² / 2 s²)` with `width` `s`, usually one to two spacings of the centres.
    ///
    /// # Errors
    /// [`GtmError::Length`] unless `centres` has whole rows, [`GtmError::NotFinite`], [`GtmError::Setting`].
    pub fn rbf(centres: &'a [T], axes: usize, width: T) -> Result<Self, GtmError> {
        Self::checked(centres, axes, width, Form::Rbf { width, space: Space::Plane })
    }
    /// [`Basis::rbf`] on the torus of period 2: the product over axes of sums over the images of a centre.
    ///
    /// # Errors
    /// Those of [`Basis::rbf`]; [`GtmError::Setting`] also for a width above 1.
    pub fn rbf_on_torus(centres: &'a [T], axes: usize, width: T) -> Result<Self, GtmError> {
        if !(width <= T::one()) {
            return Err(GtmError::Setting { name: "width" });
        }
        Self::checked(centres, axes, width, Form::Rbf { width, space: Space::Torus })
    }
    /// `φ_m(x) = sinh(x·μ_m)`.
    ///
    /// # Errors
    /// [`GtmError::Length`], [`GtmError::NotFinite`].
    /// # Source
    /// Alvarez-Medina & Hidalgo-Silva 2006, Eq. 4.
    pub fn sinh(centres: &'a [T], axes: usize) -> Result<Self, GtmError> {
        Self::checked(centres, axes, T::one(), Form::Sinh)
    }

    fn checked(centres: &'a [T], axes: usize, width: T, form: Form<T>) -> Result<Self, GtmError> {
        if axes == 0 {
            return Err(GtmError::Empty { size: "latent dimensions" });
        }
        let expected = centres.len() / axes * axes;
        same_length("centres", expected, centres.len())?;
        if let Some(at) = centres.iter().position(|x| !x.is_finite()) {
            let row = (expected / axes).max(1);
            return Err(GtmError::NotFinite { table: "centres", row: at / row, column: at % row });
        }
        let narrow = T::one() / (width * width + width * width);
        if !(width > T::zero() && width.is_finite() && narrow.is_finite()) {
            return Err(GtmError::Setting { name: "width" });
        }
        Ok(Self { centres, axes, form })
    }

    /// Latent dimensions.
    pub fn axes(&self) -> usize {
        self.axes
    }
    /// `M`: the centres and the constant.
    pub fn columns(&self) -> usize {
        self.centres.len() / self.axes + 1
    }

    /// The basis functions at `x` `[axis]`, written to `row` `[column]`.
    ///
    /// # Errors
    /// [`GtmError::Length`].
    pub fn row(&self, x: &[T], row: &mut [T]) -> Result<(), GtmError> {
        same_length("x", self.axes, x.len())?;
        same_length("row", self.columns(), row.len())?;
        self.each(
            |axis| x.get(axis).copied().unwrap_or_default(),
            |column, value, _| {
                if let Some(row) = row.get_mut(column) {
                    *row = value;
                }
            },
        );
        Ok(())
    }

    /// `∂φ_m / ∂x_a` at `x` `[axis]`, written to `gradients` `[axis][column]`.
    ///
    /// # Errors
    /// [`GtmError::Length`].
    pub fn gradients(&self, x: &[T], gradients: &mut [T]) -> Result<(), GtmError> {
        same_length("x", self.axes, x.len())?;
        same_length("gradients", self.axes * self.columns(), gradients.len())?;
        let columns = self.columns();
        self.each(
            |axis| x.get(axis).copied().unwrap_or_default(),
            |column, value, centre| {
                for axis in 0..self.axes {
                    let x = x.get(axis).copied().unwrap_or_default();
                    let derivative = match centre {
                        Some(m) => self.derivative(axis, x, m, value),
                        None => T::zero(),
                    };
                    if let Some(gradient) = gradients.get_mut(axis * columns + column) {
                        *gradient = derivative;
                    }
                }
            },
        );
        Ok(())
    }

    /// The basis functions at all `points` `[axis][point]`, written to `table` `[column][point]`.
    ///
    /// # Errors
    /// [`GtmError::Length`]; [`GtmError::NotFinite`] if one overflows, as a sinh of a far point does.
    pub fn table(&self, points: &[T], table: &mut [T]) -> Result<(), GtmError> {
        let count = points.len() / self.axes;
        same_length("points", count * self.axes, points.len())?;
        same_length("table", count * self.columns(), table.len())?;
        for point in 0..count {
            let x = |axis: usize| points.get(axis * count + point).copied().unwrap_or_default();
            self.each(x, |column, value, _| {
                if let Some(entry) = table.get_mut(column * count + point) {
                    *entry = value;
                }
            });
        }
        match table.iter().position(|x| !x.is_finite()) {
            Some(at) => Err(GtmError::NotFinite { table: "basis", row: at / count, column: at % count }),
            None => Ok(()),
        }
    }

    fn centre(&self, axis: usize, m: usize) -> T {
        self.centres.get(axis * (self.columns() - 1) + m).copied().unwrap_or_default()
    }

    /// Hands over column, value and centre of every basis function.
    fn each(&self, x: impl Fn(usize) -> T, mut take: impl FnMut(usize, T, Option<usize>)) {
        for m in 0..self.columns() - 1 {
            let terms = (0..self.axes).map(|axis| (x(axis), self.centre(axis, m)));
            let value = match self.form {
                Form::Sinh => sinh(terms.fold(T::zero(), |sum, (x, centre)| sum + x * centre)),
                Form::Rbf { width, space: Space::Plane } => {
                    let square = |sum, (x, centre): (T, T)| sum + (x - centre) * (x - centre);
                    exp(-terms.fold(T::zero(), square) / (width * width + width * width))
                }
                Form::Rbf { width, space: Space::Torus } => {
                    terms.fold(T::one(), |product, (x, centre)| product * images(x - centre, width).0)
                }
            };
            take(m, value, Some(m));
        }
        take(self.columns() - 1, T::one(), None);
    }

    fn derivative(&self, axis: usize, x: T, m: usize, value: T) -> T {
        let centre = self.centre(axis, m);
        match self.form {
            // cosh = sqrt(1 + sinh²)
            Form::Sinh => centre * sqrt(T::one() + value * value),
            Form::Rbf { width, space: Space::Plane } => (centre - x) / (width * width) * value,
            Form::Rbf { width, space: Space::Torus } => {
                let (sum, slope) = images(x - centre, width);
                if sum > T::zero() { value / sum * slope } else { T::zero() }
            }
        }
    }
}

/// `Σ_i exp(-(d + 2 i)² / 2 s²)` over the images of a centre, and its derivative in `d`.
fn images<T: Real>(d: T, width: T) -> (T, T) {
    // The nearest image is within one half period.
    let d = wrapped(d);
    let (mut sum, mut slope) = (T::zero(), T::zero());
    for i in -IMAGES..=IMAGES {
        let at = (d + T::from_f64(2.0 * f64::from(i))) / width;
        let value = exp(-at * at / T::from_f64(2.0));
        sum += value;
        slope -= value * at / width;
    }
    (sum, slope)
}

/// A difference of two positions on a circle of period 2, within `[-1, 1]`.
pub(crate) fn wrapped<T: Real>(d: T) -> T {
    let two = T::from_f64(2.0);
    d - two * (d / two).round()
}

fn sinh<T: Real>(x: T) -> T {
    let e = exp_m1(x.abs());
    // (e^x - e^-x) / 2 with e = e^x - 1; without the quotient where e is infinite.
    let half = T::from_f64(0.5);
    let size = if e.is_finite() { half * (e + e / (e + T::one())) } else { e };
    if x < T::zero() { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // half an ulp of an angle up to π is 2.2e-16, for either, and as much for the roundings of each result
    fn cosines_and_sines() {
        for i in 0..1000 {
            let q = f64::from(i) / 1000.0;
            let (cos, sin) = cos_sin(q);
            let angle = core::f64::consts::PI * q;
            assert!((cos - angle.cos()).abs() < 9e-16 && (sin - angle.sin()).abs() < 9e-16, "{q}");
        }
    }
}
