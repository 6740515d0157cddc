//! Gibbs chains, [`Real::LANES`] at a time, one in each lane of a vector: a row of couplings is read once for all of
//! them. What one chain gets does not depend on its neighbours, but for the order of the random numbers.

use countgrid_counts::{Bags, Count};
use countgrid_math::{Kernel, Real, dispatch, exp, sigmoid, sqrt};

use crate::{
    Harmonium, HarmoniumError, Noise, Shape,
    draw::{binomial, poisson},
    error::take,
};

/// The chains of one vector, in the caller's scratch.
pub(crate) struct Block<'a, T> {
    shape: Shape,
    chains: usize,            // at most LANES
    scale: T,                 // of the couplings, for annealing; 1 otherwise
    activations: &'a mut [T], // [lane][J]: Wᵀx + Uᵀz
    means: &'a mut [T],       // [lane][J]
    topics: &'a mut [T],      // [J][lane], a draw, scaled
    words: &'a mut [T],       // [M][lane]
    features: &'a mut [T],    // [C][lane]
}

impl<'a, T: Real> Block<'a, T> {
    /// `scratch`: at least [`Shape::gibbs_scratch_len`].
    pub(crate) fn new(shape: &Shape, scratch: &'a mut [T]) -> Result<Self, HarmoniumError> {
        let (scratch, _) = take(scratch, shape.gibbs_scratch_len::<T>())?;
        let (activations, rest) = take(scratch, T::LANES * shape.topics())?;
        let (means, rest) = take(rest, T::LANES * shape.topics())?;
        let (topics, rest) = take(rest, T::LANES * shape.topics())?;
        let (words, rest) = take(rest, T::LANES * shape.word_count())?;
        let (features, _) = take(rest, T::LANES * shape.features())?;
        topics.fill(T::zero()); // lanes without a chain are computed too
        Ok(Self { shape: *shape, chains: 0, scale: T::one(), activations, means, topics, words, features })
    }

    /// Couplings count `scale` times from now on.
    pub(crate) fn set_scale(&mut self, scale: T) {
        self.scale = scale;
    }

    /// `Wᵀx + Uᵀz` of one chain.
    pub(crate) fn activation(&self, lane: usize) -> &[T] {
        let topics = self.shape.topics();
        self.activations.get(lane * topics..(lane + 1) * topics).unwrap_or_default()
    }

    /// Starts chains at documents, whose activations alone are computed. They were checked.
    pub(crate) fn load<B: Bags, S: AsRef<[T]>>(
        &mut self,
        model: &Harmonium<T, S>,
        bags: &B,
        first: usize,
        features: &[T],
    ) {
        self.chains = bags.len().saturating_sub(first).min(T::LANES);
        let topics = self.shape.topics();
        for (lane, h) in self.activations.chunks_exact_mut(topics).take(self.chains).enumerate() {
            let row = model.features_of(features, first + lane);
            dispatch(Activation { model, bags, document: first + lane, features: row, h });
        }
    }

    /// Takes up chains from their states, `[chain][M + C]`.
    pub(crate) fn read<S: AsRef<[T]>>(&mut self, model: &Harmonium<T, S>, states: &[T]) {
        let (words, rows) = (self.shape.word_count(), self.shape.state_len());
        self.chains = (states.len() / rows).min(T::LANES);
        self.words.fill(T::zero());
        self.features.fill(T::zero());
        for (lane, state) in states.chunks_exact(rows).take(T::LANES).enumerate() {
            let (x, z) = state.split_at(words);
            self.words.iter_mut().skip(lane).step_by(T::LANES).zip(x).for_each(|(own, &x)| *own = x);
            self.features.iter_mut().skip(lane).step_by(T::LANES).zip(z).for_each(|(own, &z)| *own = z);
        }
        self.activate(model);
    }

    /// Puts the states back.
    pub(crate) fn write(&self, states: &mut [T]) {
        let (words, rows) = (self.shape.word_count(), self.shape.state_len());
        for (lane, state) in states.chunks_exact_mut(rows).take(self.chains).enumerate() {
            let (x, z) = state.split_at_mut(words);
            self.words.iter().skip(lane).step_by(T::LANES).zip(x).for_each(|(&own, x)| *x = own);
            self.features.iter().skip(lane).step_by(T::LANES).zip(z).for_each(|(&own, z)| *z = own);
        }
    }

    /// One full step: topics given the visible state, the visible state given topics, and its activations.
    ///
    /// Numbers are drawn chain by chain for topics, then word by word and feature by feature for all chains.
    pub(crate) fn step<S: AsRef<[T]>>(
        &mut self,
        model: &Harmonium<T, S>,
        noise: &mut impl Noise<T>,
    ) -> Result<(), HarmoniumError> {
        self.draw_topics(model, noise);
        self.draw_visible(model, noise)?;
        self.activate(model);
        Ok(())
    }

    fn draw_topics<S: AsRef<[T]>>(&mut self, model: &Harmonium<T, S>, noise: &mut impl Noise<T>) {
        let (topics, sizes) = (self.shape.topics(), model.parts().sizes);
        self.fill_means(model);
        for (lane, mean) in self.means.chunks_exact(topics).take(self.chains).enumerate() {
            let draws = self.topics.iter_mut().skip(lane).step_by(T::LANES);
            if model.is_rate_adapting() {
                for ((draw, &mean), &n) in draws.zip(mean).zip(sizes) {
                    *draw = binomial(n, mean / n, noise) * self.scale;
                }
            } else {
                draws.zip(mean).for_each(|(draw, &mean)| *draw = (mean + noise.normal()) * self.scale);
            }
        }
    }

    /// Starts chains anew at the distribution without couplings, where annealing begins.
    pub(crate) fn draw_uncoupled<S: AsRef<[T]>>(
        &mut self,
        model: &Harmonium<T, S>,
        chains: usize,
        noise: &mut impl Noise<T>,
    ) -> Result<(), HarmoniumError> {
        self.chains = chains.min(T::LANES);
        self.topics.fill(T::zero());
        self.draw_visible(model, noise)?;
        self.activate(model);
        Ok(())
    }

    fn draw_visible<S: AsRef<[T]>>(
        &mut self,
        model: &Harmonium<T, S>,
        noise: &mut impl Noise<T>,
    ) -> Result<(), HarmoniumError> {
        let (parts, width) = (model.parts(), self.shape.topics());
        let link = if model.is_rate_adapting() { Link::Rate } else { Link::Probability };
        let (topics, chains) = (&*self.topics, self.chains);
        dispatch(Fields { rows: parts.w, bias: parts.alpha, topics, width, link, out: self.words });
        let rows = self.words.chunks_exact_mut(T::LANES).map(|row| row.get_mut(..chains).unwrap_or_default());
        match link {
            Link::Rate => {
                for (word, row) in rows.enumerate() {
                    for x in row {
                        *x = poisson(*x, noise).ok_or(HarmoniumError::Rate { word })?;
                    }
                }
            }
            _ => {
                for (row, &n) in rows.zip(parts.sizes) {
                    if n == T::one() {
                        row.iter_mut()
                            .for_each(|x| *x = if noise.uniform() < *x { T::one() } else { T::zero() });
                    } else {
                        row.iter_mut().for_each(|x| *x = binomial(n, *x, noise));
                    }
                }
            }
        }
        let link = Link::Mean;
        dispatch(Fields { rows: parts.u, bias: parts.beta, topics, width, link, out: self.features });
        for (row, &s) in self.features.chunks_exact_mut(T::LANES).zip(parts.variances) {
            let deviation = sqrt(s);
            row.iter_mut().take(chains).for_each(|z| *z = s * *z + deviation * noise.normal());
        }
        Ok(())
    }

    /// `Wᵀx + Uᵀz` of every chain.
    fn activate<S: AsRef<[T]>>(&mut self, model: &Harmonium<T, S>) {
        let (parts, width, chains) = (model.parts(), self.shape.topics(), self.chains);
        self.activations.fill(T::zero());
        for (states, rows) in [(&*self.words, parts.w), (&*self.features, parts.u)] {
            dispatch(Gather { states, rows, width, chains, out: self.activations });
        }
    }

    fn fill_means<S: AsRef<[T]>>(&mut self, model: &Harmonium<T, S>) {
        let topics = self.shape.topics();
        self.means.copy_from_slice(self.activations);
        for mean in self.means.chunks_exact_mut(topics).take(self.chains) {
            model.to_means(self.scale, mean);
        }
    }

    /// Adds `weight` times `x`, `x hᵀ`, `z`, `z hᵀ` (or `h`) of the present states, with the means of topics for `h`.
    pub(crate) fn add_states<S: AsRef<[T]>>(
        &mut self,
        model: &Harmonium<T, S>,
        weight: T,
        sums: [&mut [T]; 4],
    ) {
        self.fill_means(model);
        let [alpha, w, beta, u] = sums;
        let (means, width, chains) = (&*self.means, self.shape.topics(), self.chains);
        dispatch(Scatter { states: self.words, means, width, chains, weight, bias: alpha, sums: w });
        if model.is_rate_adapting() {
            self.add_topics(weight, beta);
        } else {
            dispatch(Scatter { states: self.features, means, width, chains, weight, bias: beta, sums: u });
        }
    }

    /// The same of documents, as they were loaded.
    pub(crate) fn add_documents<B: Bags, S: AsRef<[T]>>(
        &mut self,
        model: &Harmonium<T, S>,
        bags: &B,
        first: usize,
        features: &[T],
        weight: T,
        sums: [&mut [T]; 4],
    ) {
        self.fill_means(model);
        let [alpha, w, beta, u] = sums;
        let width = self.shape.topics();
        for (lane, mean) in self.means.chunks_exact(width).take(self.chains).enumerate() {
            dispatch(ScatterBag {
                bags,
                document: first + lane,
                mean,
                weight,
                alpha: &mut *alpha,
                w: &mut *w,
            });
            let z = model.features_of(features, first + lane);
            for ((&z, bias), row) in z.iter().zip(&mut *beta).zip(u.chunks_exact_mut(width)) {
                *bias += weight * z;
                row.iter_mut().zip(mean).for_each(|(sum, &mean)| *sum += weight * z * mean);
            }
        }
        if model.is_rate_adapting() {
            self.add_topics(weight, beta);
        }
    }

    fn add_topics(&self, weight: T, beta: &mut [T]) {
        for mean in self.means.chunks_exact(self.shape.topics()).take(self.chains) {
            beta.iter_mut().zip(mean).for_each(|(sum, &mean)| *sum += weight * mean);
        }
    }
}

/// What becomes of a field `bias + row · h`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Mean,
    Probability,
    Rate,
}

/// Fields of all chains, four rows at a time, so that 4 × LANES sums stay in registers.
struct Fields<'a, T> {
    rows: &'a [T],   // [row][J]
    bias: &'a [T],   // [row]
    topics: &'a [T], // [J][lane]
    width: usize,
    link: Link,
    out: &'a mut [T], // [row][lane]
}

impl<T: Real> Kernel for Fields<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rows, bias, topics, width, link, out } = self;
        let lanes = T::LANES;
        let (out_blocks, out_rest) = out.split_at_mut(out.len() / (4 * lanes) * (4 * lanes));
        let done = out_blocks.len() / lanes;
        let (bias_blocks, bias_rest) = bias.split_at(done.min(bias.len()));
        let (row_blocks, row_rest) = rows.split_at((done * width).min(rows.len()));
        let blocks = row_blocks.chunks_exact(4 * width).zip(bias_blocks.chunks_exact(4));
        for (out, (rows, bias)) in out_blocks.chunks_exact_mut(4 * lanes).zip(blocks) {
            let mut sums = [T::lanes(); 4];
            for (sums, &bias) in sums.iter_mut().zip(bias) {
                sums.as_mut().fill(bias);
            }
            let (a, rest) = rows.split_at(width);
            let (b, rest) = rest.split_at(width);
            let (c, d) = rest.split_at(width);
            for ((((h, &a), &b), &c), &d) in topics.chunks_exact(lanes).zip(a).zip(b).zip(c).zip(d) {
                for (sums, w) in sums.iter_mut().zip([a, b, c, d]) {
                    for (sum, &h) in sums.as_mut().iter_mut().zip(h) {
                        *sum += w * h;
                    }
                }
            }
            for (out, sums) in out.chunks_exact_mut(lanes).zip(&sums) {
                out.copy_from_slice(sums.as_ref());
            }
        }
        let rest = row_rest.chunks_exact(width).zip(bias_rest);
        for (out, (row, &bias)) in out_rest.chunks_exact_mut(lanes).zip(rest) {
            out.fill(bias);
            for (h, &w) in topics.chunks_exact(lanes).zip(row) {
                for (sum, &h) in out.iter_mut().zip(h) {
                    *sum += w * h;
                }
            }
        }
        match link {
            Link::Mean => {}
            Link::Probability => out.iter_mut().for_each(|x| *x = sigmoid(*x)),
            Link::Rate => out.iter_mut().for_each(|x| *x = exp(*x)),
        }
    }
}

/// `out[lane] += Σ_i x_i row_i`; zeros, which are most, are passed over.
struct Gather<'a, T> {
    states: &'a [T], // [row][lane]
    rows: &'a [T],   // [row][J]
    width: usize,
    chains: usize,
    out: &'a mut [T], // [lane][J]
}

impl<T: Real> Kernel for Gather<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { states, rows, width, chains, out } = self;
        for (states, row) in states.chunks_exact(T::LANES).zip(rows.chunks_exact(width)) {
            for (&x, out) in states.iter().take(chains).zip(out.chunks_exact_mut(width)) {
                if x != T::zero() {
                    out.iter_mut().zip(row).for_each(|(sum, &w)| *sum += x * w);
                }
            }
        }
    }
}

/// `bias_i += weight x_i`, `sums_i += weight x_i mean[lane]`.
struct Scatter<'a, T> {
    states: &'a [T], // [row][lane]
    means: &'a [T],  // [lane][J]
    width: usize,
    chains: usize,
    weight: T,
    bias: &'a mut [T], // [row]
    sums: &'a mut [T], // [row][J]
}

impl<T: Real> Kernel for Scatter<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { states, means, width, chains, weight, bias, sums } = self;
        let rows = states.chunks_exact(T::LANES).zip(bias).zip(sums.chunks_exact_mut(width));
        for ((states, bias), sums) in rows {
            for (&x, mean) in states.iter().take(chains).zip(means.chunks_exact(width)) {
                if x != T::zero() {
                    let x = weight * x;
                    *bias += x;
                    sums.iter_mut().zip(mean).for_each(|(sum, &mean)| *sum += x * mean);
                }
            }
        }
    }
}

struct ScatterBag<'a, T, B> {
    bags: &'a B,
    document: usize,
    mean: &'a [T],
    weight: T,
    alpha: &'a mut [T],
    w: &'a mut [T],
}

impl<T: Real, B: Bags> Kernel for ScatterBag<'_, T, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { bags, document, mean, weight, alpha, w } = self;
        let width = mean.len();
        for (word, count) in bags.entries(document) {
            let x = weight * count.to_real::<T>();
            let Some(bias) = alpha.get_mut(word) else { continue };
            let Some(sums) = w.get_mut(word * width..(word + 1) * width) else { continue };
            *bias += x;
            sums.iter_mut().zip(mean).for_each(|(sum, &mean)| *sum += x * mean);
        }
    }
}

struct Activation<'a, T, S, B> {
    model: &'a Harmonium<T, S>,
    bags: &'a B,
    document: usize,
    features: &'a [T],
    h: &'a mut [T],
}

impl<T: Real, S: AsRef<[T]>, B: Bags> Kernel for Activation<'_, T, S, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.model.activation(self.bags, self.document, self.features, self.h);
    }
}
