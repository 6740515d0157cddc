//! `countgrid firmware`: a model as constant tables.

use std::path::Path;

use countgrid_estimators::{FittedGrid, Stored, TableKind as Table};
use countgrid_io::{StagedFiles, check_outputs};

use crate::{
    args::{FirmwareArgs, TableKind},
    failure::Failure,
    files::{check_folder, make_folder},
    interrupt::Interrupt,
    model_file::{Grid, load_grid},
};

pub(crate) fn run(args: &FirmwareArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    match load_grid(&args.model)? {
        Grid::F32(grid) => firmware(args, &grid, interrupt),
        Grid::F64(grid) => firmware(args, &grid, interrupt),
    }
}

/// Both files.
fn firmware<T: Stored>(
    args: &FirmwareArgs,
    grid: &FittedGrid<T>,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let kind = match args.table {
        TableKind::F32 => Table::F32,
        TableKind::Bits16 => Table::Bits16,
        TableKind::Bits8 => Table::Bits8,
    };
    let firmware = grid.firmware(kind, args.vocabulary)?;
    let folder = &args.output;
    let (module, blob) = (folder.join("model.rs"), folder.join("model.bin"));
    check_outputs([&args.model], [&module, &blob])?;
    check_folder(folder, [&module, &blob])?;
    make_folder(folder)?;
    let _whole = interrupt.writing_results();
    let mut files = StagedFiles::new();
    files.write(&blob, |out| out.write_all(&firmware.blob))?;
    files.write(&module, |out| out.write_all(firmware.module.as_bytes()))?;
    files.publish()?;
    if !args.quiet {
        let report_size =
            |path: &Path, bytes: usize| eprintln!("wrote     {} ({bytes} bytes)", path.display());
        report_size(&module, firmware.module.len());
        report_size(&blob, firmware.blob.len());
    }
    Ok(())
}
