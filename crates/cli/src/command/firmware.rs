//! `countgrid firmware`: a model as constant tables.

use std::{fmt, fs, io, path::Path};

use countgrid_em::Tables;
use countgrid_grid::{Blob, Code, Grid, LogHistograms, QuantisedHistograms, Shape};
use countgrid_io::{check_writable, write_atomically};
use countgrid_math::Real;

use crate::{
    args::{FirmwareArgs, TableKind},
    failure::Failure,
    layout::{AXES, Layout},
    model::{AnyModel, Model, read},
};

pub(crate) fn run(args: &FirmwareArgs) -> Result<(), Failure> {
    match read(&args.model)? {
        AnyModel::F32(model) => firmware(args, &model),
        AnyModel::F64(model) => firmware(args, &model),
    }
}

/// A table and the same in a blob.
struct Export {
    item: &'static str, // the element type in Rust
    table: Vec<String>,
    what: &'static str,
    labels: Vec<f32>, // [label][cell]
    bytes: Vec<u8>,
}

fn firmware<T: Real>(args: &FirmwareArgs, model: &Model<T>) -> Result<(), Failure> {
    let (extents, window) = (&model.layout.grid.0, &model.layout.window.0);
    // A microcontroller has no use for leading axes of one cell.
    macro_rules! with_axes {
        ($($axes:literal)*) => {
            match extents.len() {
                $($axes => {
                    let axes = |sides: &[usize]| -> [usize; $axes] {
                        core::array::from_fn(|axis| sides.get(axis).copied().unwrap_or(1))
                    };
                    export(args, model, Shape::from_sides(axes(extents), axes(window), model.about.vocabulary.len())?)
                })*
                axes => Err(Failure::new(format_args!("a grid of {axes} axes"), "fit one of at most eight")),
            }
        };
    }
    write(args, model, &with_axes!(1 2 3 4 5 6 7 8)?)
}

fn export<T: Real, const D: usize>(
    args: &FirmwareArgs,
    model: &Model<T>,
    shape: Shape<D>,
) -> Result<Export, Failure> {
    let labels =
        model.labels.iter().flat_map(|labels| &labels.table).map(|&share| Real::to_f64(share) as f32);
    let labels: Vec<f32> = labels.collect();
    let planes = labels.len() / shape.cells();
    match args.table {
        TableKind::F32 => {
            // Lanes depend on the number of axes.
            let (pi, prior) = model.grid.tables();
            let tables: Vec<f32> = pi.iter().chain(prior).map(|x| Real::to_f64(*x) as f32).collect();
            let histograms = pack(&Grid::new(shape, tables)?)?;
            let table = histograms.buffer();
            let mut bytes = vec![0; Blob::f32_len(&shape, planes).ok_or_else(too_large)?];
            Blob::write_f32(&shape, table, &labels, &mut bytes)?;
            let number = |x: &f32| match x.is_finite() {
                true => format!("{x:?}"),
                false => "f32::NEG_INFINITY".to_owned(), // padding
            };
            let table = table.iter().map(number).collect();
            Ok(Export {
                item: "f32",
                table,
                what: "The buffer of a `LogHistograms<f32, _, D>`",
                labels,
                bytes,
            })
        }
        TableKind::Bits16 => {
            codes::<u16, _, D>(model, shape, labels, "The bytes of a `QuantisedHistograms<u16, _, D>`")
        }
        TableKind::Bits8 => {
            codes::<u8, _, D>(model, shape, labels, "The bytes of a `QuantisedHistograms<u8, _, D>`")
        }
    }
}

fn codes<C: Code, T: Real, const D: usize>(
    model: &Model<T>,
    shape: Shape<D>,
    labels: Vec<f32>,
    what: &'static str,
) -> Result<Export, Failure> {
    let (storage, mut scratch) = (vec![0u8; shape.quantised_len::<C>()], vec![T::zero(); shape.cells()]);
    // Codes lie in the order of cells, whatever the axes.
    let table = QuantisedHistograms::<C, _, AXES>::pack(&pack(&model.grid)?, storage, &mut scratch)?;
    let table = QuantisedHistograms::<C, _, D>::new(shape, table.bytes())?;
    let length = Blob::<D>::quantised_len::<C>(&shape, labels.len() / shape.cells());
    let mut bytes = vec![0; length.ok_or_else(too_large)?];
    Blob::write_quantised(&table, &labels, &mut bytes)?;
    let table = table.bytes().iter().map(u8::to_string).collect();
    Ok(Export { item: "u8", table, what, labels, bytes })
}

fn too_large() -> Failure {
    Failure::new("the table cannot be addressed", "fit a smaller grid")
}

fn pack<T: Real, S: AsRef<[T]>, const D: usize>(
    grid: &Grid<T, S, D>,
) -> Result<LogHistograms<T, Vec<T>, D>, Failure> {
    let shape = grid.shape();
    let mut scratch = vec![T::zero(); shape.plane_scratch_len()];
    Ok(LogHistograms::pack(grid, vec![T::zero(); shape.histograms_len::<T>()], &mut scratch)?)
}

/// Both files.
fn write<T>(args: &FirmwareArgs, model: &Model<T>, export: &Export) -> Result<(), Failure> {
    let folder = &args.output;
    let refuse = |error: io::Error| {
        Failure::new(format_args!("{}: {error}", folder.display()), "name another folder (--output)")
    };
    fs::create_dir_all(folder).map_err(refuse)?;
    let (module, blob) = (folder.join("model.rs"), folder.join("model.bin"));
    [&module, &blob].into_iter().try_for_each(check_writable)?;
    write_atomically(&blob, |out| out.write_all(&export.bytes))?;
    let labels = model.labels.as_ref().map(|labels| labels.names.as_slice()).unwrap_or_default();
    let text = Module {
        layout: &model.layout,
        vocabulary: &model.about.vocabulary,
        words: args.vocabulary,
        labels,
        export,
    }
    .to_string();
    write_atomically(&module, |out| out.write_all(text.as_bytes()))?;
    if !args.quiet {
        let report_size =
            |path: &Path, bytes: usize| eprintln!("wrote     {} ({bytes} bytes)", path.display());
        report_size(&module, text.len());
        report_size(&blob, export.bytes.len());
    }
    Ok(())
}

/// The Rust module.
struct Module<'a> {
    layout: &'a Layout,
    vocabulary: &'a [String],
    words: bool, // whether to write them too
    labels: &'a [String],
    export: &'a Export,
}

impl fmt::Display for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layout, vocabulary, export, .. } = self;
        let (extents, window) = (&layout.grid.0, &layout.window.0);
        let axes = extents.len();
        writeln!(f, "// Written by `countgrid firmware`; for `countgrid_grid`.")?;
        writeln!(f, "\n/// Cells along each axis.\npub const EXTENTS: [usize; {axes}] = {extents:?};")?;
        writeln!(
            f,
            "/// Cells of a window along each axis.\npub const WINDOW: [usize; {axes}] = {window:?};"
        )?;
        writeln!(f, "/// Number of features.\npub const FEATURES: usize = {};", vocabulary.len())?;
        writeln!(f, "\n/// {}.", export.what)?;
        // Numbers are written with as many digits as it takes to read them back; some are near a famous one.
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
        if self.words {
            names(f, "VOCABULARY", "The words, in the order of features", vocabulary)?;
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
