//! `countgrid map --add`: further documents on a map that exists.

use std::path::{Path, PathBuf};

use countgrid_corpus::{Corpus, CorpusOptions};
use countgrid_estimators::{
    AddedDocuments, AnyModel, EstimatorError, GridLabels, GridLayout, GridPlacement, ModelInfo, Stored,
};
use countgrid_io::{Limits, ModelFile, read_text_file};
use countgrid_map::{MAX_TEXT_BYTES, Page, PageReadError, group_digits, read_html};
use serde_json::json;

use super::{embed::write_places, map::render};
use crate::{
    args::MapArgs,
    collection::{Input, named_inputs, report_corpus},
    failure::Failure,
    files::Files,
    interrupt::Interrupt,
    model_file::load,
    report::Report,
    run_file::{Invocation, WorkedOut},
};

/// Bytes of the largest page that is read.
const PAGE_BYTES: usize = 1 << 30;
/// With a smaller share of known words the map tells little of the documents.
const KNOWN: f64 = 0.5;

pub(super) fn run(
    args: &MapArgs,
    invocation: &Invocation,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let ([model], new) = (args.paths.as_slice(), args.add.as_slice()) else {
        return Err(Failure::new(
            "--add needs the model of a map, and only that",
            "countgrid map --add NEW model.safetensors",
        ));
    };
    let page = model.with_file_name("map.html");
    let mut inputs = named_inputs(new, &args.read, None);
    inputs.extend([model.to_owned(), page.clone()]);
    inputs.extend(args.config.config.clone());
    let files = Files::in_folder(&args.output, false, 1, &inputs, invocation.file_in(&args.output)?)?;
    let run = Run { args, new, page: &page, files: &files, invocation, report, interrupt };
    match &load(model)? {
        AnyModel::GridF32(grid) => run
            .add((&grid.info, grid.layout(), grid.labels(), grid.to_file()), |page, corpus| {
                Ok((grid.add_to_page(page, corpus, &corpus.name)?, grid.place(&corpus.bags)?))
            }),
        AnyModel::GridF64(grid) => run
            .add((&grid.info, grid.layout(), grid.labels(), grid.to_file()), |page, corpus| {
                Ok((grid.add_to_page(page, corpus, &corpus.name)?, grid.place(&corpus.bags)?))
            }),
        AnyModel::ComponentialF32(grid) => run
            .add((&grid.info, grid.layout(), grid.labels(), grid.to_file()), |page, corpus| {
                Ok((grid.add_to_page(page, corpus, &corpus.name)?, grid.place(&corpus.bags)?))
            }),
        AnyModel::ComponentialF64(grid) => run
            .add((&grid.info, grid.layout(), grid.labels(), grid.to_file()), |page, corpus| {
                Ok((grid.add_to_page(page, corpus, &corpus.name)?, grid.place(&corpus.bags)?))
            }),
        other => Err(Failure::new(
            format_args!("{}: is a {}, to which --add adds nothing", model.display(), other.kind()),
            "name the model of a map of a counting grid; `countgrid embed` places documents on other maps",
        )),
    }
}

struct Run<'a> {
    args: &'a MapArgs,
    new: &'a [PathBuf],
    page: &'a Path,
    files: &'a Files,
    invocation: &'a Invocation,
    report: &'a Report,
    interrupt: &'a Interrupt,
}

impl Run<'_> {
    /// Adds to the page of a grid, of which there are the parts that tables need, and its file.
    fn add<T: Stored>(
        &self,
        (info, layout, labels, model): (&ModelInfo, &GridLayout, Option<&GridLabels<T>>, ModelFile),
        add: impl FnOnce(&mut Page, &Corpus<T>) -> Result<(AddedDocuments, Vec<GridPlacement>), EstimatorError>,
    ) -> Result<(), Failure> {
        let Self { args, files, report, .. } = *self;
        let mut page = self.read_page()?;
        let input = Input::new(self.new, &args.read, &files.all());
        let options = CorpusOptions {
            scaling: info.scaling,
            keep_texts: MAX_TEXT_BYTES,
            keep_columns: args.columns.keep(),
            ..input.options
        };
        let corpus = Corpus::<T>::count_all(self.new, &info.vocabulary, &info.text, &options)
            .map_err(|error| Failure::from(error).of_files(self.new))?;
        report_corpus(&corpus, report);
        let (added, placements) = add(&mut page, &corpus).map_err(|error| match error {
            EstimatorError::OtherModel => Failure::new(
                format_args!("{}: {error}", self.page.display()),
                "name the model beside the map.html of the same run",
            ),
            error => error.into(),
        })?;
        let share = 100.0 * added.known_share;
        report.event(
            "added",
            format_args!(
                "{} documents, {} of them on the map; {share:.1} % of their words are words of the map",
                group_digits(added.documents),
                group_digits(added.placed)
            ),
            json!({ "documents": added.documents, "placed": added.placed, "known_share": added.known_share }),
        );
        if added.known_share < KNOWN {
            report.note("most of these words are not words of the map: it tells little of these documents");
        }
        let mut rendered = render(&page, [&files.page, &files.svg, &files.png])?;
        let mut places = Vec::new();
        let (axes, labels) = (layout.extents().len(), labels.map(GridLabels::names));
        write_places((&mut places, args.raw_csv), axes, labels, &corpus, &placements)
            .map_err(Failure::output)?;
        rendered.push((&files.places, places));
        let left_out = files.left_out(&corpus);
        let list = left_out.as_ref().map(|(path, _)| *path);
        rendered.extend(left_out);
        if let Some(path) = &files.run_file {
            rendered.push((path, self.invocation.to_toml(&WorkedOut::default())));
        }
        {
            let _whole = self.interrupt.writing_results();
            files.write(&rendered, &model)?;
        }
        report.files_written(
            &[files.grid_paths(), list.into_iter().chain(files.run_file.as_deref()).collect()].concat(),
            json!({ "documents": page.documents.len(), "added": added.documents }),
        );
        Ok(())
    }

    fn read_page(&self) -> Result<Page, Failure> {
        let limits = Limits { record_bytes: PAGE_BYTES, total_bytes: PAGE_BYTES as u64 };
        let html = read_text_file(self.page, &limits).map_err(|error| {
            Failure::new(
                format_args!("the page of the model: {error}"),
                "--add takes the map.html beside the model, as `countgrid map` has written both",
            )
        })?;
        read_html(&html).map_err(|error: PageReadError| {
            Failure::new(
                format_args!("{}: {error}", self.page.display()),
                "name the model of a map of this version of countgrid",
            )
        })
    }
}
