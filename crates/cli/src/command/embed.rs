//! `countgrid embed`: positions of documents, as CSV.

use std::io::{self, Write};

use countgrid_corpus::{Blocks, Corpus, DocumentInfo};
use countgrid_estimators::{
    AnyModel, EstimatorError, GridLabels, GridLayout, GridPlacement, ModelInfo, Stored,
};
use countgrid_io::{check_outputs, check_writable};

use super::{harmonium, topographic};
use crate::{
    args::EmbedArgs,
    collection::named_inputs,
    csv_table::CsvTable,
    failure::Failure,
    interrupt::Interrupt,
    model_file::load,
    placement::{documents, finish},
};

pub(crate) fn run(args: &EmbedArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    let mut inputs = named_inputs(&args.paths, &args.read, None);
    inputs.extend([Some(args.model.clone()), args.features.features_from.clone()].into_iter().flatten());
    check_outputs(inputs, &args.output)?;
    if let Some(output) = &args.output {
        check_writable(output)?;
    }
    let model = load(&args.model)?;
    if args.features.features_from.is_some()
        && !matches!(model, AnyModel::HarmoniumF32(_) | AnyModel::HarmoniumF64(_))
    {
        return Err(Failure::new(
            "--features-from is for dual wings, and the model is a map",
            "leave --features-from out",
        ));
    }
    match &model {
        AnyModel::GridF32(grid) => {
            embed(args, (&grid.info, grid.layout(), grid.labels()), |bags| grid.place(bags), interrupt)
        }
        AnyModel::GridF64(grid) => {
            embed(args, (&grid.info, grid.layout(), grid.labels()), |bags| grid.place(bags), interrupt)
        }
        AnyModel::ComponentialF32(grid) => {
            embed(args, (&grid.info, grid.layout(), grid.labels()), |bags| grid.place(bags), interrupt)
        }
        AnyModel::ComponentialF64(grid) => {
            embed(args, (&grid.info, grid.layout(), grid.labels()), |bags| grid.place(bags), interrupt)
        }
        AnyModel::TopographicF32(map) => topographic::embed(args, map, interrupt),
        AnyModel::TopographicF64(map) => topographic::embed(args, map, interrupt),
        AnyModel::HarmoniumF32(harmonium) => harmonium::embed(args, harmonium, interrupt),
        AnyModel::HarmoniumF64(harmonium) => harmonium::embed(args, harmonium, interrupt),
        other => Err(Failure::new(
            format_args!("{}: is a {}, which `embed` does not know", args.model.display(), other.kind()),
            "name a model that `countgrid map` or `countgrid fit` has written",
        )),
    }
}

/// Of a grid by its parts, and what places documents on it.
fn embed<T: Stored>(
    args: &EmbedArgs,
    (info, layout, labels): (&ModelInfo, &GridLayout, Option<&GridLabels<T>>),
    place: impl FnOnce(&Blocks<T>) -> Result<Vec<GridPlacement>, EstimatorError>,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let corpus = documents::<T>(args, info)?;
    let placements = place(&corpus.bags)?;
    let known = placements.iter().fold(0.0, |known, placement| known + placement.tokens);
    let labels = labels.map(GridLabels::names);
    let axes = layout.extents().len();
    let write = |out: &mut dyn Write| write_places((out, args.raw_csv), axes, labels, &corpus, &placements);
    finish(args, &corpus, known, interrupt, write)
}

/// The table of places: what documents are, where their likeliest window starts, the mean, and how likely it is.
pub(super) fn write_places<T>(
    (out, raw): (&mut dyn Write, bool),
    axes: usize,
    labels: Option<&[String]>,
    corpus: &Corpus<T>,
    placements: &[GridPlacement],
) -> io::Result<()> {
    let mut csv = CsvTable::new(out, raw);
    let mut names = DocumentInfo::COLUMNS.map(str::to_owned).to_vec();
    names.extend((0..axes).map(|axis| format!("x{axis}")));
    names.extend((0..axes).map(|axis| format!("mean{axis}")));
    names.extend(["probability", "log_evidence_per_token"].map(str::to_owned));
    if labels.is_some() {
        names.extend(["expected_label", "label_share"].map(str::to_owned));
    }
    csv.write_record(&names)?;
    for (n, (document, GridPlacement { tokens, position })) in
        corpus.documents.iter().zip(placements).enumerate()
    {
        let mut fields = document.fields(corpus.labels.name(n).unwrap_or_default(), *tokens).to_vec();
        match position {
            None => fields.resize(names.len(), String::new()),
            Some(at) => {
                fields.extend(at.window.iter().map(usize::to_string));
                fields.extend(
                    at.mean.iter().map(|mean| mean.map_or(String::new(), |mean| format!("{mean:.3}"))),
                );
                let per_token = at.log_evidence / tokens;
                fields.extend([format!("{:.6}", at.probability), format!("{per_token:.6}")]);
                if let (Some(labels), Some((label, share))) = (labels, at.label) {
                    fields.extend([labels.get(label).cloned().unwrap_or_default(), format!("{share:.6}")]);
                }
            }
        }
        csv.write_record(&fields)?;
    }
    csv.flush()
}
