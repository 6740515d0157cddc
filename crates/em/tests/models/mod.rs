//! Two small models, with storage of any kind: a multinomial mixture over bags and a Markov chain over
//! sequences.
#![allow(dead_code, reason = "each test file uses its part")]

use countgrid_counts::{Bags, Count};
use countgrid_em::{
    Anneal, Distributions, Fit, FreeEnergy, Learn, Table, TableBuffer, Tables, TablesError, TablesExt,
    TablesMut, coinciding, perturb_tables,
};
use countgrid_math::{Real, ln, softmax};

/// `weights` `[component]`, `beta` `[feature][component]`: the mathematics' `w_k` and `β_kz`.
pub(crate) struct Mixture<T, S> {
    pub(crate) tables: TableBuffer<T, [Table; 2], S>,
    pub(crate) pseudocount: f64,
    inverse_temperature: T,
    components: usize,
}

/// Expected bags and tokens, in the shape of the model, and scores `[component]` as scratch.
#[derive(Clone)]
pub(crate) struct MixtureSums<T, S> {
    pub(crate) tables: TableBuffer<T, [Table; 2], S>,
    scores: S,
}

pub(crate) const fn layout(components: usize, features: usize) -> [Table; 2] {
    [Table::new("weights", 1, components), Table::new("beta", features, components)]
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Mixture<T, S> {
    pub(crate) fn new(components: usize, features: usize, buffer: S) -> Result<Self, TablesError> {
        let tables = TableBuffer::new(layout(components, features), buffer)?;
        Ok(Self { tables, pseudocount: 0.0, inverse_temperature: T::one(), components })
    }

    /// A start from a seed: every row of weights within a factor of two.
    pub(crate) fn draw(&mut self, seed: u64) {
        let mut state = seed;
        for x in self.tables.buffer_mut() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *x = T::from_f64(1.0 + (state >> 11) as f64 / (1_u64 << 53) as f64);
        }
        normalise(self.tables.buffer_mut(), self.components, T::zero());
    }

    fn scores<B: Bags>(&self, bags: &B, t: usize, scores: &mut [T]) {
        let (weights, beta) = self.tables.buffer().split_at(self.components);
        scores.copy_from_slice(weights);
        scores.iter_mut().for_each(|x| *x = ln(x.max(T::FLOOR)));
        for (z, count) in bags.entries(t) {
            for (score, &beta) in scores.iter_mut().zip(&beta[z * self.components..]) {
                *score += count.to_real::<T>() * ln(beta.max(T::FLOOR));
            }
        }
    }
}

/// Weights to one, and every component's column of `beta` to one.
fn normalise<T: Real>(buffer: &mut [T], components: usize, pseudocount: T) {
    let (weights, beta) = buffer.split_at_mut(components);
    let total: T = weights.iter().fold(T::zero(), |sum, &x| sum + x);
    weights.iter_mut().for_each(|x| *x /= total);
    for k in 0..components {
        let column = || (k..beta.len()).step_by(components);
        let total = column().fold(T::zero(), |sum, at| sum + beta[at] + pseudocount);
        for at in column().filter(|_| total > T::zero()) {
            beta[at] = (beta[at] + pseudocount) / total;
        }
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> MixtureSums<T, S> {
    pub(crate) fn new(components: usize, features: usize, buffer: S, scores: S) -> Result<Self, TablesError> {
        Ok(Self { tables: TableBuffer::new(layout(components, features), buffer)?, scores })
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Tables for MixtureSums<T, S> {
    type Scalar = T;
    fn layout(&self) -> &[Table] {
        self.tables.layout()
    }
    fn buffer(&self) -> &[T] {
        self.tables.buffer()
    }
}
impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for MixtureSums<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.tables.buffer_mut()
    }
}
impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Tables for Mixture<T, S> {
    type Scalar = T;
    fn layout(&self) -> &[Table] {
        self.tables.layout()
    }
    fn buffer(&self) -> &[T] {
        self.tables.buffer()
    }
}
impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Mixture<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.tables.buffer_mut()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, B: Bags> Fit<B> for Mixture<T, S> {
    fn expectation(&self, bags: &B, sums: &mut Self::Statistics) -> Result<f64, TablesError> {
        self.tables.check_shape(&sums.tables)?;
        let found = bags.features() * self.components + self.components;
        if found != self.tables.buffer().len() {
            return Err(TablesError::Length { expected: self.tables.buffer().len(), found });
        }
        let mut free_energy = 0.0;
        for t in 0..bags.len() {
            let q = sums.scores.as_mut();
            self.scores(bags, t, q);
            q.iter_mut().for_each(|x| *x *= self.inverse_temperature);
            free_energy -= softmax(q).to_f64() / self.inverse_temperature.to_f64();
            let (weights, beta) = sums.tables.buffer_mut().split_at_mut(self.components);
            weights.iter_mut().zip(&*q).for_each(|(sum, &q)| *sum += q);
            for (z, count) in bags.entries(t) {
                for (sum, &q) in beta[z * self.components..].iter_mut().zip(&*q) {
                    *sum += q * count.to_real::<T>();
                }
            }
        }
        Ok(free_energy)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Learn for Mixture<T, S> {
    type Statistics = MixtureSums<T, S>;
    type Error = TablesError;

    fn maximization(&mut self, sums: &mut Self::Statistics) -> Result<(), TablesError> {
        self.tables.check_shape(&sums.tables)?;
        self.tables.buffer_mut().copy_from_slice(sums.tables.buffer());
        normalise(self.tables.buffer_mut(), self.components, T::from_f64(self.pseudocount));
        Ok(())
    }

    fn penalty(&self) -> f64 {
        let beta = self.tables.buffer().iter().skip(self.components);
        -self.pseudocount * beta.map(|&x| ln(x.max(T::FLOOR)).to_f64()).sum::<f64>()
    }

    fn coinciding_components(&self) -> Option<usize> {
        let beta = &self.tables.buffer()[self.components..];
        Some(coinciding(self.components, |k| beta[k..].iter().step_by(self.components).copied()))
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Anneal for Mixture<T, S> {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.inverse_temperature = T::from_f64(beta);
    }
    fn perturb(&mut self, _: &mut Self::Statistics, size: f64, seed: u64) {
        perturb_tables(&mut self.tables, &[Distributions::Rows, Distributions::Columns], size, seed);
    }
}

/// Terms of the first bag: `Σ q ln q`, `-Σ q ln w`, `-Σ q Σ c ln β`.
impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, B: Bags> FreeEnergy<B> for Mixture<T, S> {
    type Scalar = T;
    type Error = TablesError;

    fn term_count(&self, _: &B) -> usize {
        3
    }
    fn scratch_len(&self, _: &B) -> usize {
        2 * self.components
    }
    fn free_energy_terms(&self, bag: &B, terms: &mut [T], scratch: &mut [T]) -> Result<T, TablesError> {
        let (expected, found) = (2 * self.components, scratch.len());
        if expected != found || terms.len() != 3 {
            return Err(TablesError::Length { expected, found });
        }
        let (q, scores) = scratch.split_at_mut(self.components);
        self.scores(bag, 0, scores);
        q.copy_from_slice(scores);
        softmax(q);
        terms.fill(T::zero());
        for ((&q, &score), &weight) in q.iter().zip(&*scores).zip(self.tables.buffer()) {
            terms[0] += if q > T::zero() { q * ln(q) } else { q };
            terms[1] -= q * ln(weight.max(T::FLOOR));
            terms[2] -= q * (score - ln(weight.max(T::FLOOR)));
        }
        Ok(terms[0] + terms[1] + terms[2])
    }
}

/// `initial` `[state]`, `transition` `[from][to]`. Nothing is hidden, so one update is the maximum.
pub(crate) struct Chain<T, S> {
    pub(crate) tables: TableBuffer<T, [Table; 2], S>,
    states: usize,
}

pub(crate) const fn chain_layout(states: usize) -> [Table; 2] {
    [Table::new("initial", 1, states), Table::new("transition", states, states)]
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Chain<T, S> {
    pub(crate) fn new(states: usize, buffer: S) -> Result<Self, TablesError> {
        let mut tables = TableBuffer::new(chain_layout(states), buffer)?;
        tables.buffer_mut().fill(T::from_f64(1.0 / states as f64));
        Ok(Self { tables, states })
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, D: AsRef<[u8]>> Fit<[D]> for Chain<T, S> {
    fn expectation(&self, sequences: &[D], sums: &mut Self::Statistics) -> Result<f64, TablesError> {
        self.tables.check_shape(sums)?;
        let mut free_energy = 0.0;
        for sequence in sequences.iter().map(AsRef::as_ref) {
            let mut row = 0; // the initial distribution comes before the rows of transitions
            for &state in sequence {
                let at = row * self.states + usize::from(state);
                free_energy -= ln(self.tables.buffer()[at].max(T::FLOOR)).to_f64();
                sums.buffer_mut()[at] += T::one();
                row = 1 + usize::from(state);
            }
        }
        Ok(free_energy)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Learn for Chain<T, S> {
    type Statistics = TableBuffer<T, [Table; 2], S>;
    type Error = TablesError;

    fn maximization(&mut self, sums: &mut Self::Statistics) -> Result<(), TablesError> {
        self.tables.check_shape(sums)?;
        let rows = self.tables.buffer_mut().chunks_exact_mut(self.states);
        for (row, sums) in rows.zip(sums.buffer().chunks_exact(self.states)) {
            let total = sums.iter().fold(T::zero(), |total, &x| total + x);
            if total > T::zero() {
                row.iter_mut().zip(sums).for_each(|(p, &sum)| *p = sum / total);
            }
        }
        Ok(())
    }
}
