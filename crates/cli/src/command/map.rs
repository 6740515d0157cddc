//! `countgrid map`: documents to a page and a model.

use std::path::Path;

use countgrid_estimators::{GridPage, Stored};
use countgrid_map::{
    FEW_DOCUMENTS, GridMap, MAX_LAYERS, MAX_TEXT_BYTES, Page, PageError, group_digits, pictures::Sheet,
    write_html,
};

use super::{
    add,
    embed::write_places,
    fit::{GridModel, fit, report_files},
    topographic,
};
use crate::{
    args::{MapArgs, MapModel, Precision},
    collection::{Input, block_limits, named_inputs, sample, scaling, word_options},
    failure::{BUG, Failure},
    files::Files,
    interrupt::Interrupt,
    report::Report,
    run_file::Invocation,
    sides::GridSize,
    threads,
    training::Checkpoints,
};

pub(crate) fn run(args: &MapArgs, invocation: &Invocation, interrupt: &Interrupt) -> Result<(), Failure> {
    let report = Report::new(args.reporting.quiet, args.reporting.json);
    if !args.add.is_empty() {
        return add::run(args, invocation, &report, interrupt);
    }
    args.check()?;
    let options = GridModel::new(args.model == MapModel::Componential, &args.componential, &args.fit)?;
    let mut layers = 1;
    if let Some(grid) = args.fit.grid.as_ref().and_then(GridSize::given) {
        let window = args.fit.window.as_ref().map_or(&[][..], |window| &window.0);
        layers = GridMap::new(&grid.0, window).map_err(|error| page_failure(error, grid))?.planes().layers;
    }
    let mut inputs = named_inputs(&args.paths, &args.read, Some(&args.words));
    inputs.extend(args.config.config.clone());
    let topographic = args.model.emission_model().is_some();
    let files =
        Files::in_folder(&args.output, topographic, layers, &inputs, invocation.file_in(&args.output)?)?;
    let writes = (&files, invocation);
    threads::run(args.fit.threads, || match (args.fit.precision, args.model.emission_model()) {
        (Precision::F32, Some(model)) => topographic::run::<f32>(args, model, writes, &report, interrupt),
        (Precision::F64, Some(model)) => topographic::run::<f64>(args, model, writes, &report, interrupt),
        (Precision::F32, None) => draw::<f32>(args, &options, writes, &report, interrupt),
        (Precision::F64, None) => draw::<f64>(args, &options, writes, &report, interrupt),
    })
}

/// The error for a grid that cannot be shown on a page.
fn page_failure(error: PageError, grid: &crate::sides::Sides) -> Failure {
    match error {
        PageError::Layers { found, .. } => Failure::new(
            format_args!("a map has {MAX_LAYERS} layers at most, and {grid} has {found}"),
            "take --grid with fewer on the first axis",
        ),
        PageError::TooManyCells { limit } => Failure::new(
            format_args!("a page shows at most {} cells, {grid} has more", group_digits(limit)),
            "take a smaller --grid",
        ),
        _ => Failure::new(
            format_args!("a page shows a grid of one or two axes, {grid} has {}", grid.0.len()),
            "take --grid with one or two sides; or layers, three sides and windows of one cell along the first, \
             such as --grid 3x16x16 --window 1x4x4; or `countgrid fit` and then `embed` and `words`",
        ),
    }
}

fn draw<T: Stored>(
    args: &MapArgs,
    options: &GridModel,
    (files, invocation): (&Files, &Invocation),
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    // Also those that another model has left.
    let mut input = Input::new(&args.paths, &args.read, &files.all());
    input.options.words = word_options(&args.words)?;
    input.options.scaling = scaling(&args.numbers)?;
    input.keep(&args.keep);
    input.options.sample = sample(args.sample, args.fit.seed);
    input.options.keep_texts = MAX_TEXT_BYTES;
    input.options.keep_columns = args.columns.keep();
    input.options.blocks = block_limits(args.fit.stream, args.fit.block_entries);
    let mut corpus = input.read::<T>(report)?;
    let checkpoints = Checkpoints::beside(&files.model, &args.checkpoints);
    let options = options.choose_size(args.fit.grid.as_ref(), &corpus, report, interrupt)?;
    let options = &options.for_map(&corpus);
    let chosen = (options, &input.options.words);
    let grid = fit(&mut corpus, args.title.as_deref(), chosen, &checkpoints, report, interrupt)?;
    let (pages, positions) = grid.pages_and_places(&corpus)?;
    if corpus.documents.len() < FEW_DOCUMENTS {
        let documents = corpus.documents.len();
        report.note(format_args!("too few documents for a map ({documents}): where they lie tells little"));
    }
    let mut rendered = Vec::with_capacity(pages.len());
    for (paths, GridPage { page, documents }) in files.views().into_iter().zip(&pages) {
        if page.documents.len() < *documents {
            report.note(format_args!(
                "the page of {} lists {} of its {} documents, evenly chosen; all of them were fitted",
                page.title,
                group_digits(page.documents.len()),
                group_digits(*documents)
            ));
        }
        rendered.extend(render(page, paths)?);
    }
    let mut places = Vec::new();
    let axes = grid.layout().extents().len();
    write_places((&mut places, args.raw_csv), axes, grid.label_names(), &corpus, &positions)
        .map_err(Failure::output)?;
    rendered.push((&files.places, places));
    let left_out = files.left_out(&corpus);
    let list = left_out.as_ref().map(|(path, _)| *path);
    rendered.extend(left_out);
    if let Some(path) = &files.run_file {
        let mut worked_out = grid.worked_out(options, &args.fit, &checkpoints);
        worked_out.values.push(("title", args.title.as_ref().unwrap_or(&corpus.name).clone()));
        rendered.push((path, invocation.to_toml(&worked_out)));
    }
    {
        let _whole = interrupt.writing_results();
        files.write(&rendered, &grid.to_file())?;
    }
    report_files(
        report,
        &corpus,
        &grid,
        &[files.grid_paths(), list.into_iter().chain(files.run_file.as_deref()).collect()].concat(),
    );
    checkpoints.end()
}

/// A page, and the same as SVG and PNG, as the files of these names.
pub(super) fn render<'a>(
    page: &Page,
    [path, svg, png]: [&'a Path; 3],
) -> Result<Vec<(&'a Path, Vec<u8>)>, Failure> {
    let mut html = Vec::new();
    write_html(page, &mut html).map_err(|error| Failure::new(format_args!("the page: {error}"), BUG))?;
    let of_picture = |error| Failure::new(format_args!("the picture: {error}"), BUG);
    let sheet = Sheet::new(page).map_err(of_picture)?;
    let (svg_bytes, png_bytes) = (sheet.svg().map_err(of_picture)?, sheet.png().map_err(of_picture)?);
    Ok(vec![(path, html), (svg, svg_bytes.into_bytes()), (png, png_bytes)])
}
