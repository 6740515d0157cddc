//! A grid as constant tables: a Rust module, and the same in a blob.

use std::fmt;

use countgrid_em::Tables;
use countgrid_grid::{Blob, Code, Grid, LogHistograms, QuantisedHistograms, Shape};
use countgrid_math::Real;

use crate::{AXES, EstimatorError, FittedGrid, blocks::zeros};

/// How logarithms are kept.
///
/// Example: [`FittedGrid::from_grid`](crate::FittedGrid::from_grid).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableKind {
    /// As numbers of single precision.
    #[default]
    F32,
    /// As codes of 16 bits.
    Bits16,
    /// As codes of 8 bits.
    Bits8,
}

/// A grid exported for a microcontroller.
///
/// Example: [`FittedGrid::from_grid`](crate::FittedGrid::from_grid).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firmware {
    /// A Rust module with the tables as constants.
    pub module: String,
    /// The same tables as bytes, as [`countgrid_grid::Blob`] reads them.
    pub blob: Vec<u8>,
}

/// A table as Rust source and in a blob.
struct Export {
    item: &'static str, // the element type in Rust
    table: Vec<String>,
    what: &'static str,
    labels: Vec<f32>, // [label][cell]
    bytes: Vec<u8>,
}

/// What a grid is as a table, before it has a number of axes.
enum Elements {
    /// The parameters, one table after the other.
    F32(Vec<f32>),
    /// Codes of 16 bits.
    Bits16(Vec<u8>),
    /// Codes of 8 bits.
    Bits8(Vec<u8>),
}

impl<T: Real> FittedGrid<T> {
    /// The grid as constant tables, with the words of the vocabulary if asked for.
    ///
    /// # Errors
    /// [`EstimatorError::TableTooLarge`]; [`EstimatorError::Memory`].
    pub fn firmware(&self, kind: TableKind, vocabulary: bool) -> Result<Firmware, EstimatorError> {
        let elements = match kind {
            TableKind::F32 => {
                let (pi, prior) = self.grid().tables();
                Elements::F32(pi.iter().chain(prior).map(|x| Real::to_f64(*x) as f32).collect())
            }
            TableKind::Bits16 => Elements::Bits16(self.codes::<u16>()?),
            TableKind::Bits8 => Elements::Bits8(self.codes::<u8>()?),
        };
        let labels = self.labels().map(|labels| labels.table()).unwrap_or_default();
        let labels = labels.iter().map(|&share| Real::to_f64(share) as f32).collect();
        let (extents, window) = (self.layout().extents(), self.layout().window());
        let export = export(extents, window, self.shape().features(), elements, labels)?;
        let labels = self.labels().map(|labels| labels.names()).unwrap_or_default();
        let words = &self.info.vocabulary;
        let module = Module { extents, window, words, vocabulary, labels, export: &export }.to_string();
        Ok(Firmware { module, blob: export.bytes })
    }

    /// The bytes of its table of codes, which lie in the order of cells, whatever the axes.
    fn codes<C: Code>(&self) -> Result<Vec<u8>, EstimatorError> {
        let shape = self.shape();
        let (storage, mut scratch) = (vec![0u8; shape.quantised_len::<C>()], zeros(shape.cells())?);
        let packed = pack(self.grid())?;
        Ok(QuantisedHistograms::<C, _, AXES>::pack(&packed, storage, &mut scratch)?.bytes().to_vec())
    }
}

/// The table with as many axes as there are: a microcontroller has no use for leading axes of one cell. Not generic, so that
/// all numbers of axes are compiled once, with this crate.
fn export(
    extents: &[usize],
    window: &[usize],
    features: usize,
    elements: Elements,
    labels: Vec<f32>,
) -> Result<Export, EstimatorError> {
    macro_rules! with_axes {
        ($($axes:literal)*) => {
            match extents.len() {
                $($axes => {
                    let axes = |sides: &[usize]| -> [usize; $axes] {
                        core::array::from_fn(|axis| sides.get(axis).copied().unwrap_or(1))
                    };
                    export_axes(Shape::from_sides(axes(extents), axes(window), features)?, elements, labels)
                })*
                found => Err(EstimatorError::Axes { found }),
            }
        };
    }
    with_axes!(1 2 3 4 5 6 7 8)
}

fn export_axes<const D: usize>(
    shape: Shape<D>,
    elements: Elements,
    labels: Vec<f32>,
) -> Result<Export, EstimatorError> {
    match elements {
        Elements::F32(tables) => {
            // Lanes depend on the number of axes.
            let histograms = pack(&Grid::new(shape, tables)?)?;
            let table = histograms.buffer();
            let length = Blob::f32_len(&shape, labels.len() / shape.cells());
            let mut bytes = vec![0; length.ok_or(EstimatorError::TableTooLarge)?];
            Blob::write_f32(&shape, table, &labels, &mut bytes)?;
            let number = |x: &f32| match x.is_finite() {
                true => format!("{x:?}"),
                false => "f32::NEG_INFINITY".to_owned(), // padding
            };
            let table = table.iter().map(number).collect();
            let what = "The buffer of a `LogHistograms<f32, _, D>`";
            Ok(Export { item: "f32", table, what, labels, bytes })
        }
        Elements::Bits16(codes) => {
            export_codes::<u16, D>(shape, &codes, labels, "The bytes of a `QuantisedHistograms<u16, _, D>`")
        }
        Elements::Bits8(codes) => {
            export_codes::<u8, D>(shape, &codes, labels, "The bytes of a `QuantisedHistograms<u8, _, D>`")
        }
    }
}

fn export_codes<C: Code, const D: usize>(
    shape: Shape<D>,
    codes: &[u8],
    labels: Vec<f32>,
    what: &'static str,
) -> Result<Export, EstimatorError> {
    let table = QuantisedHistograms::<C, _, D>::new(shape, codes)?;
    let length = Blob::<D>::quantised_len::<C>(&shape, labels.len() / shape.cells());
    let mut bytes = vec![0; length.ok_or(EstimatorError::TableTooLarge)?];
    Blob::write_quantised(&table, &labels, &mut bytes)?;
    let table = codes.iter().map(u8::to_string).collect();
    Ok(Export { item: "u8", table, what, labels, bytes })
}

fn pack<T: Real, S: AsRef<[T]>, const D: usize>(
    grid: &Grid<T, S, D>,
) -> Result<LogHistograms<T, Vec<T>, D>, EstimatorError> {
    let shape = grid.shape();
    let mut scratch = zeros(shape.plane_scratch_len())?;
    Ok(LogHistograms::pack(grid, zeros(shape.histograms_len::<T>())?, &mut scratch)?)
}

/// The Rust module.
struct Module<'a> {
    extents: &'a [usize],
    window: &'a [usize],
    words: &'a [String],
    vocabulary: bool, // whether to write them too
    labels: &'a [String],
    export: &'a Export,
}

impl fmt::Display for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { extents, window, words, export, .. } = self;
        let axes = extents.len();
        writeln!(f, "// Written by `countgrid firmware`; for `countgrid_grid`.")?;
        writeln!(f, "\n/// Cells along each axis.\npub const EXTENTS: [usize; {axes}] = {extents:?};")?;
        writeln!(
            f,
            "/// Cells of a window along each axis.\npub const WINDOW: [usize; {axes}] = {window:?};"
        )?;
        writeln!(f, "/// Number of features.\npub const FEATURES: usize = {};", words.len())?;
        writeln!(f, "\n/// {}.", export.what)?;
        // Numbers are written with as many digits as it takes to read them back; some are near a mathematical constant.
        writeln!(f, "#[rustfmt::skip]")?;
        writeln!(
            f,
            "#[allow(clippy::approx_constant, clippy::excessive_precision, clippy::unreadable_literal)]"
        )?;
        writeln!(f, "pub static TABLE: [{}; {}] = [", export.item, export.table.len())?;
        for line in export.table.chunks(16) {
            writeln!(f, "    {},", line.join(", "))?;
        }
        writeln!(f, "];")?;
        if !self.labels.is_empty() {
            let cells = export.labels.len() / self.labels.len();
            names(f, "LABELS", "The labels, in order", self.labels)?;
            writeln!(f, "\n/// The table of a `Labels<f32, _, D>`, `[label][cell]`.\n#[rustfmt::skip]")?;
            writeln!(
                f,
                "#[allow(clippy::approx_constant, clippy::excessive_precision, clippy::unreadable_literal)]"
            )?;
            writeln!(f, "pub static LABEL_TABLE: [f32; {}] = [", export.labels.len())?;
            for line in export.labels.chunks(cells).flat_map(|plane| plane.chunks(16)) {
                let line: Vec<_> = line.iter().map(|share| format!("{share:?}")).collect();
                writeln!(f, "    {},", line.join(", "))?;
            }
            writeln!(f, "];")?;
        }
        if self.vocabulary {
            names(f, "VOCABULARY", "The words, in the order of features", words)?;
        }
        Ok(())
    }
}

fn names(f: &mut fmt::Formatter<'_>, name: &str, what: &str, names: &[String]) -> fmt::Result {
    writeln!(f, "\n/// {what}.\n#[rustfmt::skip]\npub static {name}: [&str; {}] = [", names.len())?;
    for line in names.chunks(8) {
        let line: Vec<_> = line.iter().map(|name| format!("{name:?}")).collect();
        writeln!(f, "    {},", line.join(", "))?;
    }
    writeln!(f, "];")
}
