//! Which characters are symbols, and which number each has.

use std::fmt;

/// Symbols in order: the first has the number 0.
///
/// Upper and lower case of a letter from A to Z are the same symbol, unless the alphabet has both.
///
/// ```
/// use countgrid_io::Alphabet;
/// let alphabet = Alphabet::new("ACGT")?;
/// assert_eq!((alphabet.len(), alphabet.index('g'), alphabet.index('n')), (4, Some(2), None));
/// assert_eq!(Alphabet::new("aA")?.index('A'), Some(1));
/// # Ok::<(), countgrid_io::AlphabetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alphabet {
    symbols: Vec<char>,
    sorted: Vec<(char, u16)>, // as they are looked up
    folded: bool,             // looked up in lower case
}

/// Why characters are no alphabet.
///
/// Example: [`Alphabet`](crate::Alphabet).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AlphabetError {
    /// No symbol at all.
    Empty,
    /// A symbol that is there twice.
    Repeated(char),
    /// A blank, which is passed over wherever symbols are read.
    Blank,
    /// More than 65,536 symbols.
    TooMany,
}

impl fmt::Display for AlphabetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("an alphabet needs at least one symbol"),
            Self::Repeated(symbol) => write!(f, "the alphabet has `{}` twice", symbol.escape_default()),
            Self::Blank => f.write_str("a blank is no symbol: blanks are passed over"),
            Self::TooMany => f.write_str("an alphabet has at most 65536 symbols"),
        }
    }
}

impl std::error::Error for AlphabetError {}

impl Alphabet {
    /// The alphabet of these characters, in this order.
    ///
    /// # Errors
    /// [`AlphabetError`].
    pub fn new(symbols: &str) -> Result<Self, AlphabetError> {
        let symbols: Vec<char> = symbols.chars().collect();
        let both =
            |symbol: &char| symbol.is_ascii_uppercase() && symbols.contains(&symbol.to_ascii_lowercase());
        let folded = !symbols.iter().any(both);
        Self::from_symbols(symbols, folded)
    }

    pub(crate) fn from_symbols(symbols: Vec<char>, folded: bool) -> Result<Self, AlphabetError> {
        if symbols.is_empty() {
            return Err(AlphabetError::Empty);
        }
        if symbols.iter().any(|symbol| symbol.is_whitespace()) {
            return Err(AlphabetError::Blank);
        }
        let mut sorted = Vec::with_capacity(symbols.len());
        for (number, &symbol) in symbols.iter().enumerate() {
            let number = u16::try_from(number).map_err(|_| AlphabetError::TooMany)?;
            sorted.push((fold(symbol, folded), number));
        }
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(AlphabetError::Repeated(pair[0].0)),
            None => Ok(Self { symbols, sorted, folded }),
        }
    }

    /// Number of symbols.
    #[allow(clippy::len_without_is_empty, reason = "an alphabet is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// The symbols, in order.
    #[must_use]
    pub fn symbols(&self) -> &[char] {
        &self.symbols
    }

    /// The number of a symbol.
    #[must_use]
    pub fn index(&self, symbol: char) -> Option<u16> {
        let symbol = fold(symbol, self.folded);
        let at = self.sorted.binary_search_by_key(&symbol, |&(symbol, _)| symbol).ok()?;
        self.sorted.get(at).map(|&(_, number)| number)
    }
}

impl fmt::Display for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.symbols.iter().try_for_each(|symbol| write!(f, "{symbol}"))
    }
}

pub(crate) fn fold(symbol: char, folded: bool) -> char {
    if folded { symbol.to_ascii_lowercase() } else { symbol }
}
