use core::{fmt, ops::Range};

mod sealed {
    pub trait Sealed {}
}

/// A symbol as it is stored: `u8`, `u16`, `u32` or `usize`, numbered from 0.
///
/// ```
/// use countgrid_counts::Symbol;
/// assert_eq!(7_u16.index(), 7);
/// assert_eq!(u8::try_index(300), None);
/// ```
pub trait Symbol: sealed::Sealed + Copy + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Which symbol of the alphabet it is.
    fn index(self) -> usize;
    /// The symbol of this number, if the type can hold it.
    fn try_index(index: usize) -> Option<Self>;
}

macro_rules! symbol {
    ($($t:ident)*) => {$(
        impl sealed::Sealed for $t {}
        impl Symbol for $t {
            #[inline(always)]
            fn index(self) -> usize {
                self as usize
            }
            #[inline]
            fn try_index(index: usize) -> Option<Self> {
                Self::try_from(index).ok()
            }
        }
    )*};
}
symbol!(u8 u16 usize);

// Where `usize` has 16 bits a `u32` may be beyond it, and then beyond every alphabet too.
impl sealed::Sealed for u32 {}
impl Symbol for u32 {
    #[inline(always)]
    fn index(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }
    #[inline]
    fn try_index(index: usize) -> Option<Self> {
        Self::try_from(index).ok()
    }
}

/// Why slices are not sequences of symbols.
///
/// ```
/// use countgrid_counts::{Sequences, SequencesError};
/// let error = Sequences::new(4, &[0, 3], &[0_u8, 3, 4]).unwrap_err();
/// assert_eq!(error, SequencesError::Symbol { sequence: 0, position: 2, symbol: 4, symbols: 4 });
/// assert_eq!(error.to_string(), "sequence 0 has symbol 4 at position 2, needs to be below 4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum SequencesError {
    /// `offsets` is empty; `T` sequences need `T + 1` of them.
    NoOffsets,
    /// `offsets[0] != 0`.
    FirstOffset { found: usize },
    /// The last offset is not the number of entries.
    LastOffset { expected: usize, found: usize },
    /// `offsets[sequence + 1] <= offsets[sequence]`: a sequence has at least one symbol.
    Empty { sequence: usize },
    /// `symbol >= symbols`.
    Symbol { sequence: usize, position: usize, symbol: usize, symbols: usize },
}

impl fmt::Display for SequencesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoOffsets => f.write_str("no offsets; `sequences + 1` of them are needed"),
            Self::FirstOffset { found } => write!(f, "the first offset is {found}, needs to be 0"),
            Self::LastOffset { expected, found } => {
                write!(f, "the last offset is {found}, needs to be the number of entries, {expected}")
            }
            Self::Empty { sequence } => write!(f, "sequence {sequence} has no symbol, needs at least one"),
            Self::Symbol { sequence, position, symbol, symbols } => write!(
                f,
                "sequence {sequence} has symbol {symbol} at position {position}, needs to be below {symbols}"
            ),
        }
    }
}

impl core::error::Error for SequencesError {}

/// Sequences of symbols of one alphabet, of any lengths but 0, borrowed and validated once.
///
/// Sequence `t` is `entries[offsets[t]..offsets[t + 1]]`. A view of part of the sequences, [`Sequences::slice`], costs
/// nothing.
///
/// ```
/// use countgrid_counts::Sequences;
/// let sequences = Sequences::new(4, &[0, 3, 5], &[0_u8, 3, 1, 2, 2])?;
/// assert_eq!((sequences.len(), sequences.longest()), (2, 3));
/// assert_eq!(sequences.get(1).map(|sequence| sequence.entries()), Some(&[2, 2][..]));
/// # Ok::<(), countgrid_counts::SequencesError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sequences<'a, X> {
    symbols: usize,
    offsets: &'a [usize], // not empty; ascend strictly; the last is at most entries.len()
    entries: &'a [X],     // below `symbols`
}

impl<'a, X: Symbol> Sequences<'a, X> {
    /// Sequences over an alphabet of `symbols`; `offsets` `[sequence + 1]`, `entries` `[position]`.
    ///
    /// # Errors
    /// [`SequencesError`] unless offsets start at 0, ascend strictly and end at the number of entries, and entries are
    /// below `symbols`.
    pub fn new(symbols: usize, offsets: &'a [usize], entries: &'a [X]) -> Result<Self, SequencesError> {
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Err(SequencesError::NoOffsets);
        };
        if first != 0 {
            return Err(SequencesError::FirstOffset { found: first });
        }
        if last != entries.len() {
            return Err(SequencesError::LastOffset { expected: entries.len(), found: last });
        }
        let ends = offsets.iter().zip(offsets.iter().skip(1));
        if let Some(sequence) = ends.clone().position(|(start, end)| end <= start) {
            return Err(SequencesError::Empty { sequence });
        }
        for (sequence, (&start, &end)) in ends.enumerate() {
            check(sequence, symbols, entries.get(start..end).unwrap_or_default())?;
        }
        Ok(Self { symbols, offsets, entries })
    }

    /// Size of the alphabet.
    #[inline]
    #[must_use]
    pub fn symbols(&self) -> usize {
        self.symbols
    }
    /// Number of sequences.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
    /// Whether there are no sequences.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// One sequence; `None` out of range.
    #[inline]
    #[must_use]
    pub fn get(&self, sequence: usize) -> Option<Sequence<'a, X>> {
        let &[start, end, ..] = self.offsets.get(sequence..)? else { return None };
        Some(Sequence { symbols: self.symbols, entries: self.entries.get(start..end)? })
    }
    /// All sequences, in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Sequence<'a, X>> + Clone + use<'a, X> {
        let Self { symbols, offsets, entries } = *self;
        let ends = offsets.iter().zip(offsets.iter().skip(1));
        // The ranges are good by construction; `get` only keeps a panic out of the code.
        ends.map(move |(&start, &end)| Sequence {
            symbols,
            entries: entries.get(start..end).unwrap_or_default(),
        })
    }
    /// The sequences of a range, such as a mini-batch or a fold; `None` out of range.
    #[inline]
    #[must_use]
    pub fn slice(&self, sequences: Range<usize>) -> Option<Self> {
        let offsets = self.offsets.get(sequences.start..)?;
        let offsets = offsets.get(..=sequences.end.checked_sub(sequences.start)?)?;
        Some(Self { offsets, ..*self })
    }
    /// Length of the longest sequence: what scratch is made for. 0 if there is none.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.iter().map(|sequence| sequence.len()).max().unwrap_or(0)
    }
    /// Symbols of all sequences together.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.iter().map(|sequence| sequence.len()).sum()
    }

    /// What [`SequencesBuf`](crate::SequencesBuf) has checked entry by entry.
    #[cfg(feature = "alloc")]
    pub(crate) fn from_trusted_parts(symbols: usize, offsets: &'a [usize], entries: &'a [X]) -> Self {
        Self { symbols, offsets, entries }
    }
}

/// One sequence of symbols, borrowed; never empty.
///
/// ```
/// use countgrid_counts::Sequence;
/// let sequence = Sequence::new(2, &[0_u8, 1, 1])?;
/// assert_eq!((sequence.symbols(), sequence.len()), (2, 3));
/// # Ok::<(), countgrid_counts::SequencesError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a, X> {
    symbols: usize,
    entries: &'a [X], // not empty, below `symbols`
}

impl<'a, X: Symbol> Sequence<'a, X> {
    /// A sequence over an alphabet of `symbols`.
    ///
    /// # Errors
    /// [`SequencesError::Empty`], [`SequencesError::Symbol`].
    pub fn new(symbols: usize, entries: &'a [X]) -> Result<Self, SequencesError> {
        if entries.is_empty() {
            return Err(SequencesError::Empty { sequence: 0 });
        }
        check(0, symbols, entries)?;
        Ok(Self { symbols, entries })
    }
    /// Size of the alphabet.
    #[inline]
    #[must_use]
    pub fn symbols(&self) -> usize {
        self.symbols
    }
    /// The symbols in order.
    #[inline]
    #[must_use]
    pub fn entries(&self) -> &'a [X] {
        self.entries
    }
    /// Number of symbols `N`, at least 1.
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "a sequence is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

pub(crate) fn check<X: Symbol>(sequence: usize, symbols: usize, entries: &[X]) -> Result<(), SequencesError> {
    match entries.iter().position(|entry| entry.index() >= symbols) {
        Some(position) => {
            let symbol = entries.get(position).map_or(0, |entry| entry.index());
            Err(SequencesError::Symbol { sequence, position, symbol, symbols })
        }
        None => Ok(()),
    }
}
