//! A grid in one piece of bytes, for flash.

use core::fmt;

use crate::{Code, GridError, LogHistograms, QuantisedHistograms, Shape, error::same_length};

/// How a table is kept.
///
/// Example: [`Blob`](crate::Blob).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// [`LogHistograms`] of `f32`.
    F32,
    /// [`QuantisedHistograms`] of `u16`.
    U16,
    /// [`QuantisedHistograms`] of `u8`.
    U8,
}

impl Kind {
    const fn number(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::U16 => 1,
            Self::U8 => 2,
        }
    }

    /// Bytes of a table.
    const fn bytes<const D: usize>(self, shape: &Shape<D>) -> usize {
        match self {
            Self::F32 => 4 * shape.histograms_len::<f32>(), // shapes leave room for eight
            Self::U16 => shape.quantised_len::<u16>(),
            Self::U8 => shape.quantised_len::<u8>(),
        }
    }
}

/// Why bytes are not a grid, or not the kind that was asked for.
///
/// Example: [`Blob`](crate::Blob).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum BlobError {
    /// Bytes that do not begin as a grid does.
    Magic,
    /// A version of the format that this reader does not know.
    Version { expected: u32, found: u32 },
    /// Another number of axes.
    Axes { expected: usize, found: usize },
    /// No kind of table.
    UnknownKind { found: u32 },
    /// A table of another kind than was asked for.
    Kind { found: Kind },
    /// Bytes of the header that are reserved and not zero.
    Reserved { at: usize },
    /// Fewer or more bytes than the header states, or more than can be addressed.
    Length { expected: Option<usize>, found: usize },
    /// A label's value that is not finite.
    Label { label: usize, cell: usize },
    /// Numbers that cannot be read where they are, at this address or on this machine, and no room for a copy.
    NotInPlace { expected: usize, found: usize },
    /// The grid's own error.
    Grid(GridError),
}

impl fmt::Display for BlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Magic => f.write_str("no exported grid: the bytes do not begin with `countgrd`"),
            Self::Version { expected, found } => {
                write!(f, "an exported grid of version {found}, needs {expected}: export the model again")
            }
            Self::Axes { expected, found } => write!(f, "the grid has {found} axes, not {expected}"),
            Self::UnknownKind { found } => write!(f, "{found} is no kind of table: 0, 1 and 2 are"),
            Self::Kind { found } => write!(f, "the table is of kind {found:?}, which was not asked for"),
            Self::Reserved { at } => write!(f, "byte {at} of the header is not zero"),
            Self::Length { expected: Some(expected), found } => write!(f, "{found} bytes, needs {expected}"),
            Self::Length { expected: None, found } => {
                write!(f, "{found} bytes, and the header declares more than can be addressed")
            }
            Self::Label { label, cell } => write!(f, "label {label} is not finite at cell {cell}"),
            Self::NotInPlace { expected, found } => write!(
                f,
                "not aligned to 4 bytes, or a big-endian machine: a copy needs {expected} numbers of room, not {found}"
            ),
            Self::Grid(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for BlobError {}

impl From<GridError> for BlobError {
    fn from(error: GridError) -> Self {
        Self::Grid(error)
    }
}

/// A grid as `countgrid firmware` writes it into one file: borrowed bytes, read where they are.
///
/// All numbers are little-endian:
///
/// | bytes | what |
/// |---|---|
/// | 0 to 7 | `countgrd` |
/// | 8 to 11 | version, `u32`: 1 |
/// | 12 to 15 | kind of the table, `u32`: 0 for `f32`, 1 for 16 bits, 2 for 8 bits |
/// | 16 to 19 | number of axes `D`, `u32` |
/// | 20 to 23 | number of features, `u32` |
/// | 24 to 27 | number of labels, `u32`; 0 for none |
/// | 28 to 31 | zero |
/// | 32 on | `D` extents, then `D` sides of a window, `u32` each, and zeros up to a multiple of 64 |
/// | then | the table: [`LogHistograms`] in `f32`, or [`QuantisedHistograms`] |
/// | then | `labels` `[label][cell]`, `f32`: what each label has at each window |
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_grid::{Blob, Grid, LogHistograms, Shape};
///
/// let shape = Shape::from_sides([4], [2], 3)?;
/// let pi = [0.8f32, 0.1, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.25, 0.25, 0.25, 0.25];
/// let mut scratch = vec![0.0; shape.scratch_len::<f32>(1)];
/// let mut packed = vec![0.0; shape.histograms_len::<f32>()];
/// LogHistograms::pack(&Grid::new(shape, pi)?, packed.as_mut_slice(), &mut scratch)?;
/// let labels = [0.0, 0.0, 1.0, 1.0]; // one label, which the last two windows have
/// let mut bytes = vec![0; Blob::f32_len(&shape, 1).ok_or("too large")?];
/// Blob::write_f32(&shape, &packed, &labels, &mut bytes)?;
///
/// let blob = Blob::<1>::new(&bytes)?; // on a microcontroller: include_bytes!, aligned
/// let mut copy = vec![0.0; blob.shape().histograms_len::<f32>()]; // only used if the address is odd
/// let histograms = blob.log_histograms(&mut copy)?;
/// let (mut q, mut share) = ([0.0; 4], [0.0]);
/// histograms.posterior(&Bag::new(3, &[2], &[9u16])?, 0, &mut q, &mut scratch)?;
/// blob.read_labels(&q, &mut share)?;
/// assert!(share[0] > 0.9);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Blob<'a, const D: usize> {
    shape: Shape<D>,
    kind: Kind,
    table: &'a [u8],       // of length `kind.bytes(shape)`
    labels: &'a [[u8; 4]], // [label][cell], finite
}

/// What the bytes begin with.
const MAGIC: &[u8; 8] = b"countgrd";
const VERSION: u32 = 1;
/// Bytes before the extents.
const FIXED: usize = 32;

/// Bytes before the table: a multiple of 64, so that rows of an aligned table are cache lines.
const fn header_len(axes: usize) -> usize {
    (FIXED + 8 * axes).next_multiple_of(64)
}

/// Bytes of labels.
fn labels_len<const D: usize>(shape: &Shape<D>, labels: usize) -> Option<usize> {
    labels.checked_mul(shape.cells())?.checked_mul(4)
}

/// Bytes of everything.
fn total_len<const D: usize>(kind: Kind, shape: &Shape<D>, labels: usize) -> Option<usize> {
    header_len(D).checked_add(kind.bytes(shape))?.checked_add(labels_len(shape, labels)?)
}

impl<'a, const D: usize> Blob<'a, D> {
    /// Takes bytes as one of the `write` functions wrote them. The table is checked when it is asked for.
    ///
    /// # Errors
    /// Any [`BlobError`] but `Kind` and `NotInPlace`. What the header claims is compared with the bytes there are
    /// before anything is read.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BlobError> {
        let short = BlobError::Length { expected: Some(header_len(D)), found: bytes.len() };
        if !bytes.starts_with(MAGIC) {
            return Err(BlobError::Magic);
        }
        let numbers = bytes.as_chunks::<4>().0;
        let number = |at: usize| numbers.get(at / 4).map(|&bytes| u32::from_le_bytes(bytes)).ok_or(short);
        let version = number(8)?;
        if version != VERSION {
            return Err(BlobError::Version { expected: VERSION, found: version });
        }
        let kind = match number(12)? {
            0 => Kind::F32,
            1 => Kind::U16,
            2 => Kind::U8,
            found => return Err(BlobError::UnknownKind { found }),
        };
        let axes = number(16)? as usize;
        if axes != D {
            return Err(BlobError::Axes { expected: D, found: axes });
        }
        let (features, labels) = (number(20)? as usize, number(24)? as usize);
        let (header, rest) = bytes.split_at_checked(header_len(D)).ok_or(short)?;
        let zeros = (28..FIXED).chain(FIXED + 8 * D..header_len(D));
        if let Some(at) = zeros.into_iter().find(|&at| header.get(at) != Some(&0)) {
            return Err(BlobError::Reserved { at });
        }
        let (mut extents, mut sides) = ([0; D], [0; D]);
        for (axis, (extent, side)) in extents.iter_mut().zip(&mut sides).enumerate() {
            *extent = number(FIXED + 4 * axis)? as usize;
            *side = number(FIXED + 4 * (D + axis))? as usize;
        }
        let shape = Shape::from_sides(extents, sides, features)?;
        let length = BlobError::Length { expected: total_len(kind, &shape, labels), found: bytes.len() };
        if total_len(kind, &shape, labels) != Some(bytes.len()) {
            return Err(length);
        }
        let (table, labels) = rest.split_at_checked(kind.bytes(&shape)).ok_or(length)?;
        let labels = labels.as_chunks().0;
        if let Some(entry) = labels.iter().position(|&value| !f32::from_le_bytes(value).is_finite()) {
            let cells = shape.cells().max(1);
            return Err(BlobError::Label { label: entry / cells, cell: entry % cells });
        }
        Ok(Self { shape, kind, table, labels })
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> &Shape<D> {
        &self.shape
    }

    /// How the table is kept.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of labels.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.labels.len() / self.shape.cells().max(1)
    }

    #[cfg(feature = "fuzzing")]
    pub(crate) fn label_values(&self) -> impl Iterator<Item = f32> {
        self.labels.iter().map(|&value| f32::from_le_bytes(value))
    }

    /// The table in `f32`: the bytes themselves where they are aligned to 4 and the machine is little-endian, else a
    /// copy in `spare` of [`Shape::histograms_len`] numbers. Where the first is certain, `spare` may be empty.
    ///
    /// # Errors
    /// [`BlobError::Kind`], [`BlobError::NotInPlace`]; what [`LogHistograms::new`] refuses.
    pub fn log_histograms<'b>(
        &self,
        spare: &'b mut [f32],
    ) -> Result<LogHistograms<f32, &'b [f32], D>, BlobError>
    where
        'a: 'b,
    {
        if self.kind != Kind::F32 {
            return Err(BlobError::Kind { found: self.kind });
        }
        let in_place =
            if cfg!(target_endian = "little") { bytemuck::try_cast_slice(self.table).ok() } else { None };
        let table = match in_place {
            Some(table) => table,
            None => {
                let (numbers, found) = (self.table.as_chunks().0, spare.len());
                let not_in_place = BlobError::NotInPlace { expected: numbers.len(), found };
                let copy = spare.get_mut(..numbers.len()).ok_or(not_in_place)?;
                copy.iter_mut().zip(numbers).for_each(|(x, &bytes)| *x = f32::from_le_bytes(bytes));
                copy
            }
        };
        Ok(LogHistograms::new(self.shape, table)?)
    }

    /// The table of codes, where it is.
    ///
    /// # Errors
    /// [`BlobError::Kind`]; what [`QuantisedHistograms::new`] refuses.
    pub fn quantised<C: Code>(&self) -> Result<QuantisedHistograms<C, &'a [u8], D>, BlobError> {
        if self.kind != C::KIND {
            return Err(BlobError::Kind { found: self.kind });
        }
        Ok(QuantisedHistograms::new(self.shape, self.table)?)
    }

    /// What each label has under a posterior `q` `[cell]`: `Σ_k q_k labels_lk`, written to `shares` `[label]`.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn read_labels(&self, q: &[f32], shares: &mut [f32]) -> Result<(), GridError> {
        same_length("q", self.shape.cells(), q.len())?;
        same_length("shares", self.labels(), shares.len())?;
        for (share, plane) in shares.iter_mut().zip(self.labels.chunks_exact(q.len().max(1))) {
            *share = q.iter().zip(plane).fold(0.0, |sum, (q, &label)| sum + q * f32::from_le_bytes(label));
        }
        Ok(())
    }

    /// Bytes of a grid with a table in `f32`; `None` if they cannot be addressed.
    #[must_use]
    pub fn f32_len(shape: &Shape<D>, labels: usize) -> Option<usize> {
        total_len(Kind::F32, shape, labels)
    }

    /// Bytes of a grid with a table of codes; `None` if they cannot be addressed.
    #[must_use]
    pub fn quantised_len<C: Code>(shape: &Shape<D>, labels: usize) -> Option<usize> {
        total_len(C::KIND, shape, labels)
    }

    /// Writes a grid with the buffer of a [`LogHistograms`] and labels `[label][cell]`, which may be empty.
    ///
    /// # Errors
    /// [`GridError::Length`] unless `out` has [`Blob::f32_len`] bytes and labels fill planes.
    pub fn write_f32(
        shape: &Shape<D>,
        table: &[f32],
        labels: &[f32],
        out: &mut [u8],
    ) -> Result<(), GridError> {
        same_length("log_histograms", shape.histograms_len::<f32>(), table.len())?;
        let place = Self::write(Kind::F32, shape, labels, out)?;
        place.as_chunks_mut().0.iter_mut().zip(table).for_each(|(bytes, x)| *bytes = x.to_le_bytes());
        Ok(())
    }

    /// Writes a grid with a table of codes and labels `[label][cell]`, which may be empty.
    ///
    /// # Errors
    /// [`GridError::Length`] unless `out` has [`Blob::quantised_len`] bytes and labels fill planes.
    pub fn write_quantised<C: Code, S: AsRef<[u8]>>(
        table: &QuantisedHistograms<C, S, D>,
        labels: &[f32],
        out: &mut [u8],
    ) -> Result<(), GridError> {
        let place = Self::write(C::KIND, table.shape(), labels, out)?;
        place.iter_mut().zip(table.bytes()).for_each(|(to, &from)| *to = from);
        Ok(())
    }

    /// Writes header and labels; returns where the table goes.
    fn write<'b>(
        kind: Kind,
        shape: &Shape<D>,
        labels: &[f32],
        out: &'b mut [u8],
    ) -> Result<&'b mut [u8], GridError> {
        let (count, found) = (labels.len() / shape.cells().max(1), out.len());
        same_length("labels", count * shape.cells(), labels.len())?;
        let too_large = GridError::TooLarge { cells: shape.cells(), features: shape.features() };
        let expected = total_len(kind, shape, count).ok_or(too_large)?;
        same_length("out", expected, found)?;
        let length = GridError::Length { table: "out", expected, found };
        let (header, rest) = out.split_at_mut_checked(header_len(D)).ok_or(length)?;
        let (table, place) = rest.split_at_mut_checked(kind.bytes(shape)).ok_or(length)?;
        header.fill(0);
        let (extents, sides) = (shape.windows().torus().extents(), shape.windows().sides());
        let sizes = [VERSION, kind.number()].map(|number| number as usize);
        let sizes = sizes.into_iter().chain([D, shape.features(), count, 0]).chain(extents).chain(sides);
        let (magic, numbers) = header.split_at_mut_checked(MAGIC.len()).ok_or(length)?;
        magic.iter_mut().zip(MAGIC).for_each(|(to, &from)| *to = from);
        for (bytes, size) in numbers.as_chunks_mut().0.iter_mut().zip(sizes) {
            *bytes = u32::try_from(size).map_err(|_| too_large)?.to_le_bytes();
        }
        place.as_chunks_mut().0.iter_mut().zip(labels).for_each(|(bytes, x)| *bytes = x.to_le_bytes());
        Ok(table)
    }
}
