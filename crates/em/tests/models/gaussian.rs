//! A mixture of Gaussians in the plane, written as somebody outside the workspace would: for slices of points.

use core::convert::Infallible;

use countgrid_em::{
    Anneal, Fit, Learn, Table, TableBuffer, Tables, TablesMut, WithScratch, coinciding, noise,
};

pub(crate) type Point = [f64; 2];
type Sums = TableBuffer<f64, [Table; 3], Vec<f64>>;

/// `weights` `[component]`, `means` and `variances` `[component][axis]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gaussians {
    tables: Sums,
    components: usize,
    beta: f64,
}

fn layout(components: usize) -> [Table; 3] {
    [
        Table::new("weights", 1, components),
        Table::new("means", components, 2),
        Table::new("variances", components, 2),
    ]
}

impl Gaussians {
    /// Equal weights, unit variances of `scale²` and means that a seed draws within `±scale`.
    pub(crate) fn draw(components: usize, scale: f64, seed: u64) -> Self {
        let mut buffer = vec![scale * scale; 5 * components];
        buffer[..components].fill(1.0 / components as f64);
        (0..2 * components).for_each(|at| buffer[components + at] = scale * noise(seed, at));
        Self { tables: TableBuffer::new(layout(components), buffer).unwrap(), components, beta: 1.0 }
    }

    pub(crate) fn statistics(&self) -> WithScratch<Sums, Vec<f64>> {
        let sums = TableBuffer::new(layout(self.components), vec![0.0; 5 * self.components]).unwrap();
        WithScratch::new(sums, vec![0.0; self.components])
    }

    fn parts(&self) -> (&[f64], &[f64], &[f64]) {
        let (weights, rest) = self.tables.buffer().split_at(self.components);
        let (means, variances) = rest.split_at(2 * self.components);
        (weights, means, variances)
    }
}

impl Tables for Gaussians {
    type Scalar = f64;
    fn layout(&self) -> &[Table] {
        self.tables.layout()
    }
    fn buffer(&self) -> &[f64] {
        self.tables.buffer()
    }
}
impl TablesMut for Gaussians {
    fn buffer_mut(&mut self) -> &mut [f64] {
        self.tables.buffer_mut()
    }
}

impl Fit<[Point]> for Gaussians {
    fn expectation(&self, points: &[Point], statistics: &mut Self::Statistics) -> Result<f64, Infallible> {
        let WithScratch { sums, scratch: q } = statistics;
        let (weights, means, variances) = self.parts();
        let mut free_energy = 0.0;
        for x in points {
            for (k, q) in q.iter_mut().enumerate() {
                *q = weights[k].ln();
                for axis in 0..2 {
                    let (mean, variance) = (means[2 * k + axis], variances[2 * k + axis]);
                    *q -= 0.5
                        * ((x[axis] - mean).powi(2) / variance + (core::f64::consts::TAU * variance).ln());
                }
                *q *= self.beta;
            }
            free_energy -= countgrid_math::softmax(&mut q[..]) / self.beta;
            let (n, moments) = sums.buffer_mut().split_at_mut(q.len());
            let (first, second) = moments.split_at_mut(2 * q.len());
            for (k, &q) in q.iter().enumerate() {
                n[k] += q;
                for axis in 0..2 {
                    first[2 * k + axis] += q * x[axis];
                    second[2 * k + axis] += q * x[axis] * x[axis];
                }
            }
        }
        Ok(free_energy)
    }
}

impl Learn for Gaussians {
    type Statistics = WithScratch<Sums, Vec<f64>>;
    type Error = Infallible;

    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), Infallible> {
        let (n, moments) = statistics.buffer().split_at(self.components);
        let (first, second) = moments.split_at(2 * self.components);
        let total: f64 = n.iter().sum();
        let (weights, rest) = self.tables.buffer_mut().split_at_mut(self.components);
        let (means, variances) = rest.split_at_mut(2 * self.components);
        for (k, &n) in n.iter().enumerate() {
            weights[k] = n / total;
            for at in 2 * k..2 * k + 2 {
                means[at] = first[at] / n;
                variances[at] = (second[at] / n - means[at] * means[at]).max(1e-3);
            }
        }
        Ok(())
    }

    fn coinciding_components(&self) -> Option<usize> {
        let (_, means, variances) = self.parts();
        Some(coinciding(self.components, |k| {
            means[2 * k..2 * k + 2].iter().chain(&variances[2 * k..2 * k + 2]).copied()
        }))
    }
}

impl Anneal for Gaussians {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.beta = beta;
    }
    /// Means by a share of the standard deviation.
    fn perturb(&mut self, _: &mut Self::Statistics, size: f64, seed: u64) {
        let (_, rest) = self.tables.buffer_mut().split_at_mut(self.components);
        let (means, variances) = rest.split_at_mut(2 * self.components);
        for (at, (mean, variance)) in means.iter_mut().zip(variances).enumerate() {
            *mean += size * variance.sqrt() * noise(seed, at);
        }
    }
}

/// Points of three clusters, a third of the data each, with a standard deviation of 1 (the sum of twelve uniform numbers).
pub(crate) fn three_clusters(points: usize, seed: u64) -> Vec<Point> {
    const CENTRES: [Point; 3] = [[-5.0, -3.0], [5.0, -3.0], [0.0, 6.0]];
    (0..points)
        .map(|t| {
            let normal =
                |axis: usize| (0..12).map(|i| noise(seed, 24 * t + 12 * axis + i)).sum::<f64>() * 0.5;
            [0, 1].map(|axis| CENTRES[t % 3][axis] + normal(axis))
        })
        .collect()
}
