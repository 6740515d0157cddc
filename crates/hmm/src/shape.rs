use countgrid_em::Table;
use countgrid_math::Real;

use crate::{HmmError, estep::RESULTS, recursions::BLOCK};

/// Numbers of hidden states `S` and of symbols `V`.
///
/// ```
/// use countgrid_hmm::{Shape, constant};
/// const SHAPE: Shape = constant!(Shape::new(4, 20));
/// static TABLES: [f32; SHAPE.hmm_len()] = [0.0; 4 + 16 + 80];
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::ShapeFields")
)]
pub struct Shape {
    states: usize,  // at least 1
    symbols: usize, // at least 1; tables and packed tables together are at most isize::MAX bytes
}

impl Shape {
    /// The shape of a model of so many states over so many symbols.
    ///
    /// # Errors
    /// [`HmmError::NoStates`], [`HmmError::NoSymbols`], [`HmmError::TooLarge`].
    pub const fn new(states: usize, symbols: usize) -> Result<Self, HmmError> {
        if states == 0 {
            return Err(HmmError::NoStates);
        }
        if symbols == 0 {
            return Err(HmmError::NoSymbols);
        }
        // Both packed transition tables, a block of rows and the tables themselves, at most 8 bytes an element;
        // a row is padded to 16 elements at most.
        let (states_, symbols_) = (states as u128 + 16, symbols as u128);
        if states as u128 >= 1 << 62 || symbols as u128 >= 1 << 62 {
            return Err(HmmError::TooLarge);
        }
        match states_.checked_mul(3 * states_ + symbols_ + 64) {
            Some(elements) if elements <= isize::MAX as u128 / 8 => Ok(Self { states, symbols }),
            _ => Err(HmmError::TooLarge),
        }
    }

    /// Number of hidden states `S`.
    #[must_use]
    pub const fn states(&self) -> usize {
        self.states
    }

    /// Size of the alphabet `V`.
    #[must_use]
    pub const fn symbols(&self) -> usize {
        self.symbols
    }

    /// Elements of a [`crate::Hmm`]'s buffer, and of the sums of [`crate::Statistics`]: `S + S² + V S`.
    #[must_use]
    pub const fn hmm_len(&self) -> usize {
        self.states * (1 + self.states + self.symbols)
    }

    /// Elements of the scratch of everything that looks at a sequence of up to `longest` symbols, whichever it is.
    /// `usize::MAX` for a sequence that no memory holds.
    #[must_use]
    pub const fn scratch_len<T: Real>(&self, longest: usize) -> usize {
        self.work_len::<T>(longest).saturating_add(2 * self.packed_len::<T>())
    }

    /// Elements of the scratch of an E-step that looks at `chunk` sequences of up to `longest` symbols together, for threads
    /// to share; no result depends on it. `usize::MAX` if no memory holds that.
    #[must_use]
    pub const fn chunk_scratch_len<T: Real>(&self, longest: usize, chunk: usize) -> usize {
        if chunk < 2 {
            return self.scratch_len::<T>(longest);
        }
        let sequences = self.sequence_len::<T>(longest).saturating_mul(chunk);
        sequences.saturating_add(2 * self.packed_len::<T>())
    }

    /// Elements in which the recursions work on a sequence, besides the packed tables.
    pub(crate) const fn work_len<T: Real>(&self, positions: usize) -> usize {
        let width = self.width::<T>();
        positions.saturating_mul(width + 1).saturating_add((BLOCK + 2) * width)
    }

    /// Elements for a sequence that is looked at together with others: also for what it adds to the sums.
    pub(crate) const fn sequence_len<T: Real>(&self, positions: usize) -> usize {
        let gammas = positions.saturating_mul(self.states);
        let pairs = positions.saturating_sub(1).div_ceil(BLOCK).saturating_mul(self.states * self.states);
        self.work_len::<T>(positions).saturating_add(gammas).saturating_add(pairs).saturating_add(RESULTS)
    }

    /// Elements of the scratch of [`crate::Hmm::log_likelihood`], of sequences of any length.
    #[must_use]
    pub const fn likelihood_scratch_len<T: Real>(&self) -> usize {
        self.packed_len::<T>() + 2 * self.width::<T>()
    }

    /// States, padded to whole rows of [`Real::LANES`].
    pub(crate) const fn width<T: Real>(&self) -> usize {
        self.states.next_multiple_of(T::LANES)
    }

    /// Elements of a packed transition table: an even number of padded rows.
    pub(crate) const fn packed_len<T: Real>(&self) -> usize {
        self.states.next_multiple_of(2) * self.width::<T>()
    }

    pub(crate) const fn layout(&self) -> [Table; 3] {
        [
            Table::new("start", 1, self.states),
            Table::new("trans", self.states, self.states),
            Table::new("emit", self.symbols, self.states),
        ]
    }
}
