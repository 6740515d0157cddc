//! The files of a distributed training: they lead to the model of one machine, and what does not go together is refused.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, LabelColumn};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::BLOCK_BAGS;
use countgrid_estimators::{
    BagTotals, ComponentialOptions, ComponentialTraining, DistributedError, DistributedOptions,
    DistributedStart, EstimatorError, GridOptions, GridSchedule, GridStart, GridTraining, LeafDocuments,
    LeafSums, ModelInfo, Progress, Stored, Train,
    distributed::{finish, next_state, partial_sums, start},
    leaf_digests,
};
use countgrid_io::{ModelFile, NamedTable, TableData};

use crate::data::{FEATURES, blocks, three_topics};

/// Some blocks to a leaf; sums of quarters do not depend on where blocks end.
fn bags<T: Stored>(count: usize) -> Blocks<T> {
    let limits = BlockLimits { entries: 9000, ..BlockLimits::in_memory() };
    blocks(FEATURES, limits, 0..count, |t| three_topics(t, 0.25))
}

/// Three labels, and every fifth document without one.
fn labels(count: usize) -> LabelColumn {
    LabelColumn {
        names: ["low", "middle", "high"].map(str::to_owned).to_vec(),
        by_document: (0..count).map(|t| (t % 5 != 1).then_some((t * t % 3) as u32)).collect(),
    }
}

fn info() -> ModelInfo {
    let info = ModelInfo::for_vocabulary((0..FEATURES).map(|word| format!("word{word}")).collect());
    ModelInfo { title: "made".to_owned(), fit: serde_json::json!({ "min_count": 2 }), ..info }
}

fn grid_options() -> GridOptions {
    GridOptions {
        extents: Some(vec![4, 3]),
        window: Some(vec![2, 2]),
        schedule: GridSchedule::Single,
        iterations: 2,
        tolerance: 0.0,
        start: Some(GridStart::Plain),
        ..GridOptions::default()
    }
}

/// Through the bytes of a file.
fn carried(file: ModelFile) -> ModelFile {
    ModelFile::from_bytes(&file.to_bytes().unwrap()).unwrap()
}

/// The files of all documents, in parts of so many leaves.
fn documents<T: Stored>(bags: &Blocks<T>, labels: &LabelColumn, leaves: usize) -> Vec<ModelFile> {
    let mut files = Vec::new();
    LeafDocuments::split(bags, labels, leaves, |part| {
        files.push(carried(part.to_file()?));
        Ok::<_, EstimatorError>(())
    })
    .unwrap();
    files
}

fn begun<T: Stored>(options: &DistributedOptions, bags: &Blocks<T>, labels: &LabelColumn) -> ModelFile {
    let (totals, digests) = (BagTotals::from_blocks(bags).unwrap(), leaf_digests(bags).unwrap());
    let from = DistributedStart { totals, digests, info: info(), labels: labels.names.clone() };
    carried(start::<T>(options, &from).unwrap())
}

/// The state after the next iteration, by files that go round; the sums of the last part come first.
fn iterated<T: Stored>(state: &ModelFile, documents: &[ModelFile]) -> (ModelFile, Progress, bool) {
    let mut all: Option<LeafSums<T>> = None;
    for own in documents.iter().rev() {
        let sums = LeafSums::from_file(carried(partial_sums(state, own.clone()).unwrap())).unwrap();
        match &mut all {
            Some(all) => all.merge(sums).unwrap(),
            None => all = Some(sums),
        }
    }
    next_state(state, carried(all.unwrap().to_file())).unwrap()
}

/// The model by files.
fn by_files<T: Stored>(
    options: &DistributedOptions,
    bags: &Blocks<T>,
    labels: &LabelColumn,
    leaves: usize,
) -> ModelFile {
    let documents = documents(bags, labels, leaves);
    let mut state = begun(options, bags, labels);
    loop {
        let (next, progress, done) = iterated::<T>(&state, &documents);
        assert!(progress.free_energy.is_some());
        state = carried(next);
        if done {
            break;
        }
        let early = finish(&state, documents.iter().cloned().map(Ok)).unwrap_err();
        assert!(matches!(early, EstimatorError::Distributed(DistributedError::NotEnded)), "{early}");
    }
    finish(&state, documents.into_iter().map(Ok)).unwrap()
}

/// What one machine has, with its description and labels.
macro_rules! on_one_machine {
    ($training:ident, $options:expr, $bags:expr, $labels:expr) => {{
        let plan = $options.check(BagTotals::from_blocks($bags).unwrap()).unwrap();
        let mut training = $training::new(plan, $bags).unwrap();
        training.run(|_| ControlFlow::Continue(())).unwrap();
        let mut fitted = training.finish().unwrap();
        let mut fit = std::mem::take(&mut fitted.info.fit);
        fit["min_count"] = 2.into();
        fitted.info = ModelInfo { fit, ..info() };
        if !$labels.names.is_empty() {
            fitted.embed_labels($labels, $bags).unwrap();
        }
        fitted.to_file()
    }};
}

#[test]
fn files_lead_to_the_model_of_one_machine() {
    let count = 2 * BLOCK_BAGS + 300;
    let (bags, labels) = (bags::<f32>(count), labels(count));
    let options = grid_options();
    let expected = on_one_machine!(GridTraining, options, &bags, &labels);
    let distributed = DistributedOptions::Grid(options);
    for leaves in [1, 2, usize::MAX] {
        assert!(by_files(&distributed, &bags, &labels, leaves) == expected, "{leaves} leaves in a part");
    }
}

#[test]
fn every_kind_and_precision_goes_by_files() {
    fn compare<T: Stored>(labels: &LabelColumn) {
        let bags = bags::<T>(200);
        let grid = grid_options();
        let expected = on_one_machine!(GridTraining, grid, &bags, labels);
        assert!(by_files(&DistributedOptions::Grid(grid), &bags, labels, 1) == expected);
        let options =
            ComponentialOptions { grid: grid_options(), iterations: 2, ..ComponentialOptions::default() };
        let expected = on_one_machine!(ComponentialTraining, options, &bags, labels);
        assert!(by_files(&DistributedOptions::Componential(options), &bags, labels, 1) == expected);
    }
    for labels in [LabelColumn::default(), labels(200)] {
        compare::<f32>(&labels);
        compare::<f64>(&labels);
    }
}

#[test]
fn parts_have_the_bags_of_their_leaves_and_their_labels() {
    let count = 2 * BLOCK_BAGS + 300;
    let (bags, labels) = (bags::<f64>(count), labels(count));
    let all = bags.gather(|count| count).unwrap();
    for (leaves, starts) in [(0, vec![0, 1, 2]), (1, vec![0, 1, 2]), (2, vec![0, 2]), (3, vec![0])] {
        let mut found = Vec::new();
        LeafDocuments::split(&bags, &labels, leaves, |part| {
            found.push(part.first_leaf());
            let first = part.first_leaf() * BLOCK_BAGS;
            let own = part.bags()?.gather(|count| count)?;
            assert_eq!(
                own,
                CsrBuf::from_bags(&all.as_view().slice(first..first + own.len()).unwrap()).unwrap()
            );
            let mut file = part.to_file()?;
            let numbers = numbers_of(&mut file, "labels");
            let expected = labels.by_document[first..first + own.len()].iter();
            assert!(numbers.iter().copied().eq(expected.map(|label| label.unwrap_or(u32::MAX))));
            Ok::<_, EstimatorError>(())
        })
        .unwrap();
        assert_eq!(found, starts);
    }
    // An error ends it, and is handed on as it is.
    let mut visited = 0;
    let error = LeafDocuments::split(&bags, &labels, 1, |_| {
        visited += 1;
        Err::<(), _>(EstimatorError::EmptyMiniBatch)
    });
    assert!(matches!(error, Err(EstimatorError::EmptyMiniBatch)));
    assert_eq!(visited, 1);
    // Without labels there is no table of them.
    for file in documents(&bags, &LabelColumn::default(), 1) {
        assert_eq!(file.tables.len(), 3);
    }
}

fn data_of<'a>(file: &'a mut ModelFile, name: &str) -> &'a mut TableData {
    &mut file.tables.iter_mut().find(|table| table.name == name).unwrap().data
}

fn numbers_of<'a>(file: &'a mut ModelFile, name: &str) -> &'a mut Vec<u32> {
    match data_of(file, name) {
        TableData::U32(numbers) => numbers,
        other => panic!("{other:?}"),
    }
}

fn refused<X: std::fmt::Debug>(found: Result<X, EstimatorError>) -> DistributedError {
    match found {
        Err(EstimatorError::Distributed(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_that_are_damaged_are_refused() {
    let (bags, labels) = (bags::<f32>(40), labels(40));
    let whole = documents(&bags, &labels, 1).remove(0);
    let read = |file: ModelFile| LeafDocuments::<f32>::from_file(file);
    assert!(read(whole.clone()).is_ok());
    let table = |name: &str| DistributedError::Table { name: name.to_owned() };
    for name in ["offsets", "features", "counts"] {
        let mut file = whole.clone();
        file.tables.retain(|table| table.name != name);
        assert_eq!(refused(read(file)), table(name));
        let mut file = whole.clone();
        *data_of(&mut file, name) = TableData::F64(vec![1.0]);
        assert_eq!(refused(read(file)), table(name));
    }
    let mut file = whole.clone();
    numbers_of(&mut file, "labels").pop();
    assert_eq!(refused(read(file)), table("labels"));
    let mut file = whole.clone();
    file.tables.push(NamedTable { name: "more".to_owned(), shape: vec![1], data: TableData::U32(vec![1]) });
    assert_eq!(refused(read(file)), table("more"));
    for name in ["first_leaf", "number_of_features"] {
        for text in ["", "-1", "x"] {
            let mut file = whole.clone();
            file.metadata.insert(name.to_owned(), text.to_owned());
            assert_eq!(refused(read(file)), DistributedError::Text { name: name.to_owned() });
        }
    }
    let mut file = whole.clone();
    numbers_of(&mut file, "features")[0] = FEATURES as u32;
    assert!(matches!(refused(read(file)), DistributedError::Bags { .. }));
    let empty = ModelFile {
        tables: [
            ("offsets", TableData::U32(vec![0])),
            ("features", TableData::U32(vec![])),
            ("counts", TableData::F32(vec![])),
        ]
        .map(|(name, data)| NamedTable { name: name.to_owned(), shape: vec![data.len()], data })
        .into(),
        metadata: whole.metadata.clone(),
    };
    assert_eq!(refused(read(empty)), DistributedError::Nothing);

    let state = begun(&DistributedOptions::Grid(grid_options()), &bags, &labels);
    let sums = partial_sums(&state, whole.clone()).unwrap();
    let kind = |found: DistributedError, expected: &str| match found {
        DistributedError::Kind { expected: own, .. } => assert_eq!(own, expected),
        other => panic!("{other:?}"),
    };
    kind(refused(read(sums.clone())), LeafDocuments::<f32>::KIND);
    kind(refused(LeafSums::<f32>::from_file(whole.clone())), LeafSums::<f32>::KIND);
    kind(refused(partial_sums(&whole, whole.clone())), countgrid_estimators::CHECKPOINT_KIND);
    let read = |file: ModelFile| LeafSums::<f32>::from_file(file);
    assert_eq!(read(sums.clone()).unwrap().to_file(), sums);
    for name in ["state", "free_energy.0.1"] {
        let mut file = sums.clone();
        file.metadata.remove(name);
        assert_eq!(refused(read(file)), DistributedError::Text { name: name.to_owned() });
    }
    for name in ["leaves.0", "leaves.x.1", "leaves.0.x", "nodes.0.1"] {
        let mut file = sums.clone();
        file.tables[0].name = name.to_owned();
        assert_eq!(refused(read(file)), table(name));
    }
    for name in ["0.3", "1.2"] {
        let mut file = sums.clone();
        file.tables[0].name = format!("leaves.{name}");
        file.metadata.insert(format!("free_energy.{name}"), "1.0".to_owned());
        assert_eq!(refused(read(file)), table(&format!("leaves.{name}")), "no node of the tree");
    }
    let mut file = sums.clone();
    file.tables.clear();
    assert_eq!(refused(read(file)), DistributedError::Nothing);
    for name in ["distributed.options", "distributed.totals", "distributed.leaves"] {
        let mut file = state.clone();
        file.metadata.remove(name);
        assert_eq!(
            refused(partial_sums(&file, whole.clone())),
            DistributedError::Text { name: name.to_owned() }
        );
    }
    let mut file = state;
    file.set_strings("distributed.leaves", ["00", "11"]);
    let name = "distributed.leaves".to_owned();
    assert_eq!(refused(partial_sums(&file, whole)), DistributedError::Text { name });
}

/// Whether a machine reads ahead decides no result, and is for each machine of a training to know.
#[test]
fn a_state_is_the_same_whichever_machine_it_is_made_on() {
    let state = |read_ahead, componential| {
        let grid = GridOptions { read_ahead, ..grid_options() };
        let options = match componential {
            true => DistributedOptions::Componential(ComponentialOptions {
                grid,
                ..ComponentialOptions::default()
            }),
            false => DistributedOptions::Grid(grid),
        };
        let (bags, labels) = (bags::<f32>(300), labels(300));
        begun(&options, &bags, &labels).to_bytes().unwrap()
    };
    for componential in [false, true] {
        assert!(state(true, componential) == state(false, componential));
    }
}

#[test]
fn files_of_other_trainings_are_refused() {
    let count = 2 * BLOCK_BAGS + 300;
    let (all, labels) = (bags::<f32>(count), labels(count));
    let options = DistributedOptions::Grid(grid_options());
    let state = begun(&options, &all, &labels);
    let parts = documents(&all, &labels, 1);
    let sums: Vec<LeafSums<f32>> = parts
        .iter()
        .map(|part| LeafSums::from_file(partial_sums(&state, part.clone()).unwrap()).unwrap())
        .collect();
    // Documents of other leaves, or of none.
    let mut moved = parts[0].clone();
    moved.metadata.insert("first_leaf".to_owned(), "1".to_owned());
    assert_eq!(refused(partial_sums(&state, moved.clone())), DistributedError::Documents { leaf: 1 });
    moved.metadata.insert("first_leaf".to_owned(), "3".to_owned());
    assert_eq!(refused(partial_sums(&state, moved)), DistributedError::NoLeaf { leaf: 3, leaves: 3 });
    // Sums that are missing, there twice, or under another state.
    let merged = |of: &[usize]| {
        let mut merged = sums[of[0]].clone();
        of[1..].iter().try_for_each(|&part| merged.merge(sums[part].clone())).map(|()| merged)
    };
    for (of, leaf) in [(&[0, 1][..], 2), (&[2, 0], 1), (&[1, 2], 0)] {
        let found = next_state(&state, merged(of).unwrap().to_file());
        assert_eq!(refused(found), DistributedError::Missing { leaf, leaves: 3 });
    }
    assert_eq!(refused(merged(&[0, 1, 1])), DistributedError::Twice { leaf: 1 });
    let (next, ..) = next_state(&state, merged(&[2, 0, 1]).unwrap().to_file()).unwrap();
    let under_next = partial_sums(&next, parts[0].clone()).unwrap();
    assert!(matches!(refused(next_state(&state, under_next.clone())), DistributedError::State { .. }));
    let mut mixed = merged(&[1, 2]).unwrap();
    let before = mixed.clone();
    let under_next = LeafSums::from_file(under_next).unwrap();
    assert!(matches!(refused(mixed.merge(under_next)), DistributedError::State { .. }));
    assert_eq!(mixed, before);
    // Of a training that has ended: labels that are not all there, in order, and known.
    let (mut ended, mut done) = (next, false);
    while !done {
        (ended, _, done) = iterated::<f32>(&ended, &parts);
    }
    assert_eq!(refused(partial_sums(&ended, parts[0].clone())), DistributedError::Ended);
    let finished = |parts: &[&ModelFile]| finish(&ended, parts.iter().map(|&part| Ok(part.clone())));
    assert!(finished(&[&parts[0], &parts[1], &parts[2]]).is_ok());
    let found = refused(finished(&[&parts[0], &parts[1]]));
    assert_eq!(found, DistributedError::Missing { leaf: 2, leaves: 3 });
    assert_eq!(refused(finished(&[&parts[1]])), DistributedError::Documents { leaf: 1 });
    assert_eq!(refused(finished(&[&parts[0], &parts[2]])), DistributedError::Documents { leaf: 2 });
    let mut unknown = parts[0].clone();
    numbers_of(&mut unknown, "labels")[7] = 3;
    let name = "labels".to_owned();
    assert_eq!(refused(finished(&[&unknown, &parts[1], &parts[2]])), DistributedError::Table { name });
    // As many digests as leaves, and no mini-batches.
    let (totals, digests) = (BagTotals::from_blocks(&all).unwrap(), leaf_digests(&all).unwrap());
    assert_eq!(digests.len(), 3);
    let short = DistributedStart { totals, digests: digests[..2].to_vec(), info: info(), labels: vec![] };
    let name = "distributed.leaves".to_owned();
    assert_eq!(refused(start::<f32>(&options, &short)), DistributedError::Text { name });
    let batches =
        GridOptions { start: Some(GridStart::MiniBatches { size: 50, passes: 1 }), ..grid_options() };
    let whole = DistributedStart { digests, ..short };
    assert_eq!(
        refused(start::<f32>(&DistributedOptions::Grid(batches), &whole)),
        DistributedError::MiniBatches
    );
}
