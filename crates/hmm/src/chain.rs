//! Markov chains of any order: nothing is hidden.

use core::marker::PhantomData;

use countgrid_counts::{Sequence, Sequences, Symbol};
use countgrid_em::{
    Distributions, ExpectedCounts, Fit, FreeEnergy, Learn, Table, TableBuffer, Tables, TablesExt, TablesMut,
};
use countgrid_math::{Real, ln};

use crate::{
    HmmError, Learner,
    check::{non_negative, sums_to_one},
    error::same_length,
    learner::penalty,
};

/// Size of the alphabet `V` and order `m` of a chain: how many symbols the next one depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::ChainShapeFields", into = "crate::serialised::ChainShapeFields")
)]
pub struct ChainShape {
    symbols: usize,  // at least 1
    order: usize,    // at most 64
    contexts: usize, // V^m
    initial: usize,  // 1 + V + .. + V^(m-1); `(initial + contexts) V` elements are at most isize::MAX bytes
}

impl ChainShape {
    /// The shape of a chain of this order, at most 64.
    ///
    /// # Errors
    /// [`HmmError::NoSymbols`], [`HmmError::TooLarge`].
    pub const fn new(symbols: usize, order: usize) -> Result<Self, HmmError> {
        if symbols == 0 {
            return Err(HmmError::NoSymbols);
        }
        if order > 64 {
            return Err(HmmError::TooLarge);
        }
        let (mut contexts, mut initial, mut left) = (1_usize, 0_usize, order);
        while left > 0 {
            initial += contexts; // less than twice the contexts, or `order` of them
            contexts = match contexts.checked_mul(symbols) {
                Some(contexts) if contexts <= isize::MAX as usize / 64 => contexts,
                _ => return Err(HmmError::TooLarge),
            };
            left -= 1;
        }
        match (initial + contexts).checked_mul(symbols) {
            Some(elements) if elements <= isize::MAX as usize / 8 => {
                Ok(Self { symbols, order, contexts, initial })
            }
            _ => Err(HmmError::TooLarge),
        }
    }

    /// Size of the alphabet `V`.
    #[must_use]
    pub const fn symbols(&self) -> usize {
        self.symbols
    }

    /// Order `m`.
    #[must_use]
    pub const fn order(&self) -> usize {
        self.order
    }

    /// Elements of a [`Chain`]'s buffer: `(1 + V + .. + V^m) V`.
    #[must_use]
    pub const fn chain_len(&self) -> usize {
        (self.initial + self.contexts) * self.symbols
    }

    const fn layout(&self) -> [Table; 2] {
        [Table::new("initial", self.initial, self.symbols), Table::new("trans", self.contexts, self.symbols)]
    }

    /// The place in the buffer of the probability of each symbol of a sequence, in order.
    fn places<X: Symbol>(&self, x: &[X]) -> impl Iterator<Item = usize> {
        let (mut context, mut first, mut wide) = (0, 0, 1);
        x.iter().enumerate().map(move |(n, x)| {
            let place = (first + context) * self.symbols + x.index();
            context = (context * self.symbols + x.index()) % self.contexts;
            if n < self.order {
                first += wide;
                wide *= self.symbols;
            }
            place
        })
    }
}

/// A Markov chain of order `m`: tables `initial` `[context][symbol]`, for the first `m` symbols, and `trans`
/// `[context][symbol]`, one buffer. Rows are distributions.
///
/// A context is the symbols before, up to `m` of them, as a number in base `V`, the last symbol its last digit. The
/// rows of `initial` are those of no symbol before, of one, and so on to `m - 1`; of the first order it is the
/// distribution of the first symbol.
///
/// ```
/// use countgrid_counts::{Sequence, Sequences};
/// use countgrid_em::{Fit, Learn};
/// use countgrid_hmm::{Chain, ChainShape, Learner};
///
/// let shape = ChainShape::new(2, 1)?;
/// let mut learner = Learner::new(Chain::uniform_in(shape, [0.0; 6])?, 0.0)?;
/// let mut statistics = learner.model().statistics_in([0.0; 6])?;
/// learner.expectation(&Sequences::new(2, &[0, 4], &[0u8, 0, 1, 0])?, &mut statistics)?;
/// learner.maximization(&mut statistics)?; // nothing is hidden: this is the maximum
/// let chain = learner.into_model();
/// assert_eq!(chain.tables(), (&[1.0, 0.0][..], &[0.5, 0.5, 1.0, 0.0][..]));
/// assert_eq!(chain.log_likelihood(&Sequence::new(2, &[0u8, 1])?)?, 0.5_f64.ln());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chain<T, S> {
    shape: ChainShape,
    layout: [Table; 2],
    storage: S, // of length `shape.chain_len()`
    scalar: PhantomData<T>,
}

/// Counts of symbols after contexts, in the layout of a [`Chain`].
pub type ChainStatistics<T, S> = TableBuffer<T, [Table; 2], S>;

impl<T: Real, S: AsRef<[T]>> Chain<T, S> {
    /// A chain from its tables, `initial` and `trans`.
    ///
    /// # Errors
    /// [`HmmError::Length`], [`HmmError::Probability`], [`HmmError::NotNormalised`], as of [`crate::Hmm::new`].
    pub fn new(shape: ChainShape, storage: S) -> Result<Self, HmmError> {
        let chain = Self::unchecked(shape, storage)?;
        let (initial, trans) = chain.tables();
        for (table, entries) in [("initial", initial), ("trans", trans)] {
            non_negative(table, shape.symbols, entries)?;
            for (row, entries) in entries.chunks_exact(shape.symbols).enumerate() {
                sums_to_one(table, row, entries.iter())?;
            }
        }
        Ok(chain)
    }

    fn unchecked(shape: ChainShape, storage: S) -> Result<Self, HmmError> {
        same_length("chain", shape.chain_len(), storage.as_ref().len())?;
        Ok(Self { shape, layout: shape.layout(), storage, scalar: PhantomData })
    }

    /// The shape.
    pub fn shape(&self) -> &ChainShape {
        &self.shape
    }

    /// `initial` `[context][symbol]` and `trans` `[context][symbol]`.
    pub fn tables(&self) -> (&[T], &[T]) {
        self.storage.as_ref().split_at(self.shape.initial * self.shape.symbols)
    }

    /// Empty statistics in the caller's storage, as long as the chain's.
    ///
    /// # Errors
    /// [`HmmError::Length`].
    pub fn statistics_in<R: AsRef<[T]> + AsMut<[T]>>(
        &self,
        mut storage: R,
    ) -> Result<ChainStatistics<T, R>, HmmError> {
        let (expected, found) = (self.shape.chain_len(), storage.as_ref().len());
        storage.as_mut().fill(T::zero());
        let length = HmmError::Length { table: "sums", expected, found };
        TableBuffer::new(self.layout, storage).map_err(|_| length)
    }

    /// `log p(x)` in nats; `-∞` if the sequence is impossible. Summed in f64.
    ///
    /// # Errors
    /// [`HmmError::Symbols`].
    pub fn log_likelihood<X: Symbol>(&self, sequence: &Sequence<'_, X>) -> Result<f64, HmmError> {
        self.same_symbols(sequence.symbols())?;
        Ok(self.logs(sequence.entries()).fold(0.0, |sum, log| sum + log))
    }

    /// `log p` of each symbol given those before.
    fn logs<X: Symbol>(&self, x: &[X]) -> impl Iterator<Item = f64> {
        let table = self.storage.as_ref();
        self.shape.places(x).map(|place| ln(table[place].to_f64()))
    }

    fn same_symbols(&self, found: usize) -> Result<(), HmmError> {
        let expected = self.shape.symbols;
        if expected == found { Ok(()) } else { Err(HmmError::Symbols { expected, found }) }
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Chain<T, S> {
    /// The uniform chain in the given storage, which is overwritten.
    ///
    /// # Errors
    /// [`HmmError::Length`].
    pub fn uniform_in(shape: ChainShape, storage: S) -> Result<Self, HmmError> {
        let mut chain = Self::unchecked(shape, storage)?;
        chain.storage.as_mut().fill(T::one() / T::from_f64(shape.symbols as f64));
        Ok(chain)
    }
}

#[cfg(feature = "alloc")]
impl<T: Real> Chain<T, countgrid_math::AlignedVec<T>> {
    /// [`Chain::uniform_in`] in memory that it allocates.
    ///
    /// # Errors
    /// [`HmmError::TooLarge`] if the allocator refuses.
    pub fn uniform(shape: ChainShape) -> Result<Self, HmmError> {
        Self::uniform_in(shape, crate::hmm::allocate(shape.chain_len())?)
    }

    /// [`Chain::statistics_in`] in memory that it allocates.
    ///
    /// # Errors
    /// [`HmmError::TooLarge`] if the allocator refuses.
    pub fn statistics(&self) -> Result<ChainStatistics<T, countgrid_math::AlignedVec<T>>, HmmError> {
        self.statistics_in(crate::hmm::allocate(self.shape.chain_len())?)
    }
}

impl<T: Real, S: AsRef<[T]>> Tables for Chain<T, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Chain<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, X: Symbol> Fit<Sequences<'_, X>> for Learner<Chain<T, S>> {
    /// Counts.
    ///
    /// # Errors
    /// [`HmmError::Symbols`], [`HmmError::ShapeMismatch`]; [`HmmError::Impossible`], and the sums are then those of the
    /// sequences before.
    fn expectation(
        &self,
        sequences: &Sequences<'_, X>,
        statistics: &mut Self::Statistics,
    ) -> Result<f64, HmmError> {
        let chain = self.model();
        chain.check_shape(statistics).map_err(|_| HmmError::ShapeMismatch)?;
        chain.same_symbols(sequences.symbols())?;
        let mut free_energy = 0.0;
        for (t, sequence) in sequences.iter().enumerate() {
            let x = sequence.entries();
            for (position, log) in chain.logs(x).enumerate() {
                if !log.is_finite() {
                    return Err(HmmError::Impossible { sequence: t, position });
                }
                free_energy -= log;
            }
            let sums = statistics.buffer_mut();
            chain.shape.places(x).for_each(|place| sums[place] += T::one());
        }
        Ok(free_energy)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Learn for Learner<Chain<T, S>> {
    type Statistics = ChainStatistics<T, S>;
    type Error = HmmError;

    /// Counts, each with the pseudocount, normalised. After a context that never occurs, all symbols are alike.
    ///
    /// # Errors
    /// [`HmmError::ShapeMismatch`].
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), HmmError> {
        let a = T::from_f64(self.pseudocount());
        let chain = self.model_mut();
        chain.check_shape(statistics).map_err(|_| HmmError::ShapeMismatch)?;
        let symbols = chain.shape.symbols;
        let rows = chain.storage.as_mut().chunks_exact_mut(symbols);
        for (row, counts) in rows.zip(statistics.buffer().chunks_exact(symbols)) {
            let total = counts.iter().fold(T::zero(), |total, &count| total + (count + a));
            let usable = total > T::zero() && total.is_finite();
            for (p, &count) in row.iter_mut().zip(counts) {
                *p = if usable { (count + a) / total } else { T::one() / T::from_f64(symbols as f64) };
            }
        }
        Ok(())
    }

    fn penalty(&self) -> f64 {
        penalty(self.pseudocount(), self.model().buffer())
    }
}

/// A term for each symbol, `-log p` given those before: there is no entropy where nothing is hidden.
impl<T: Real, S: AsRef<[T]>, X: Symbol> FreeEnergy<Sequence<'_, X>> for Chain<T, S> {
    type Scalar = T;
    type Error = HmmError;

    fn term_count(&self, sequence: &Sequence<'_, X>) -> usize {
        sequence.len()
    }

    fn scratch_len(&self, _: &Sequence<'_, X>) -> usize {
        0
    }

    fn free_energy_terms(
        &self,
        sequence: &Sequence<'_, X>,
        terms: &mut [T],
        _: &mut [T],
    ) -> Result<T, HmmError> {
        self.same_symbols(sequence.symbols())?;
        same_length("terms", sequence.len(), terms.len())?;
        let mut free_energy = 0.0;
        for (position, (term, log)) in terms.iter_mut().zip(self.logs(sequence.entries())).enumerate() {
            if !log.is_finite() {
                return Err(HmmError::Impossible { sequence: 0, position });
            }
            *term = T::from_f64(-log);
            free_energy -= log;
        }
        Ok(T::from_f64(free_energy))
    }
}

/// How often each symbol follows each context.
impl<T: Real, S: AsRef<[T]>, X: Symbol> ExpectedCounts<Sequence<'_, X>> for Chain<T, S> {
    type Error = HmmError;
    const DISTRIBUTIONS: &'static [Distributions] = &[Distributions::Rows, Distributions::Rows];

    fn counts_scratch_len(&self, _: &Sequence<'_, X>) -> usize {
        0
    }

    fn expected_counts(
        &self,
        sequence: &Sequence<'_, X>,
        counts: &mut [T],
        _: &mut [T],
    ) -> Result<T, HmmError> {
        self.same_symbols(sequence.symbols())?;
        same_length("counts", self.shape.chain_len(), counts.len())?;
        let x = sequence.entries();
        if let Some(position) = self.logs(x).position(|log| !log.is_finite()) {
            return Err(HmmError::Impossible { sequence: 0, position });
        }
        counts.fill(T::zero());
        self.shape.places(x).for_each(|place| counts[place] += T::one());
        Ok(T::from_f64(self.log_likelihood(sequence)?))
    }
}
