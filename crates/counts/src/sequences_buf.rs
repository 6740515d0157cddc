use alloc::{vec, vec::Vec};

use crate::{Sequences, SequencesError, Symbol, sequences::check};

/// Sequences of symbols, owned, built one at a time.
///
/// ```
/// use countgrid_counts::SequencesBuf;
/// let mut sequences = SequencesBuf::new(4);
/// sequences.push([0_u8, 3, 1])?;
/// sequences.push([2])?;
/// assert_eq!(sequences.as_view().positions(), 4);
/// assert!(sequences.push([4]).is_err() && sequences.as_view().len() == 2);
/// # Ok::<(), countgrid_counts::SequencesError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SequencesBuf<X> {
    symbols: usize,
    offsets: Vec<usize>,
    entries: Vec<X>,
}

impl<X: Symbol> SequencesBuf<X> {
    /// No sequences yet, over an alphabet of `symbols`.
    #[must_use]
    pub fn new(symbols: usize) -> Self {
        Self { symbols, offsets: vec![0], entries: Vec::new() }
    }

    /// Takes what a file held: `offsets` `[sequence + 1]` and `entries` `[position]`.
    ///
    /// # Errors
    /// Those of [`Sequences::new`].
    pub fn from_parts(symbols: usize, offsets: Vec<usize>, entries: Vec<X>) -> Result<Self, SequencesError> {
        Sequences::new(symbols, &offsets, &entries)?;
        Ok(Self { symbols, offsets, entries })
    }

    /// Adds a sequence.
    ///
    /// # Errors
    /// [`SequencesError::Empty`], [`SequencesError::Symbol`]; none is then added.
    pub fn push(&mut self, entries: impl IntoIterator<Item = X>) -> Result<(), SequencesError> {
        let (sequence, start) = (self.offsets.len() - 1, self.entries.len());
        self.entries.extend(entries);
        let own = self.entries.get(start..).unwrap_or_default();
        let checked = if own.is_empty() {
            Err(SequencesError::Empty { sequence })
        } else {
            check(sequence, self.symbols, own)
        };
        match checked {
            Ok(()) => self.offsets.push(self.entries.len()),
            Err(_) => self.entries.truncate(start),
        }
        checked
    }

    /// The view that models take.
    #[must_use]
    pub fn as_view(&self) -> Sequences<'_, X> {
        Sequences::from_trusted_parts(self.symbols, &self.offsets, &self.entries)
    }

    /// The alphabet's size and the two tables, given back.
    #[must_use]
    pub fn into_parts(self) -> (usize, Vec<usize>, Vec<X>) {
        (self.symbols, self.offsets, self.entries)
    }
}
