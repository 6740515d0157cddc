//! `countgrid crossval`: how well labels are told, each time of documents that were held out.

use std::{io, time::Instant};

use countgrid_classify::{Confusion, Summary, folds, stratified_folds};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_io::{BLOCK_ENTRIES, check_writable, write_atomically};
use countgrid_text::{Selection, TextOptions};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde_json::{Value, json};

use crate::{
    args::{CrossvalArgs, Precision, WordArgs},
    classifier::{Fold, predict},
    corpus::{Corpus, Input, text_options},
    failure::Failure,
    interrupt::Interrupt,
    labels::Labelling,
    model::Stored,
    report::Report,
    store::{Builder, Plan, Store},
    threads,
};

pub(crate) fn run(args: &CrossvalArgs) -> Result<(), Failure> {
    let report = Report::new(args.say.quiet, args.say.json);
    if let Some(output) = &args.output {
        check_writable(output)?;
    }
    args.fit.check()?;
    args.check()?;
    let limits = text_options(&args.words)?;
    let interrupt = Interrupt::install()?;
    threads::run(args.fit.threads, || match args.fit.precision {
        Precision::F32 => cross_validate::<f32>(args, &limits, &report, &interrupt),
        Precision::F64 => cross_validate::<f64>(args, &limits, &report, &interrupt),
    })
}

/// Labelled documents, over all words that there are.
struct Data<T> {
    corpus: Corpus<T>,
    bags: CsrBuf<T>,
    items: Vec<(usize, usize)>, // documents that have a label, with its number
}

fn read<T: Stored>(args: &CrossvalArgs, report: &Report) -> Result<Data<T>, Failure> {
    let outputs: Vec<_> = args.output.iter().map(std::path::PathBuf::as_path).collect();
    let input = Input {
        path: Some(&args.path),
        read: &args.read,
        outputs: &outputs,
        entries: true,
        stream: false,
        block_entries: BLOCK_ENTRIES,
    };
    // Which words are kept is decided in each fold, from the documents that are not held out.
    let every = WordArgs {
        min_count: Some(1),
        max_share: Some(1.0),
        max_words: usize::MAX,
        stop_words: args.words.stop_words.clone(),
        stem: args.words.stem,
    };
    let corpus = input.select::<T>(&every, report)?;
    let refuse = |error| Failure::new(error, "this is a bug worth a report");
    let mut bags = CsrBuf::new(corpus.vocabulary.len()).map_err(refuse)?;
    corpus.bags.each(false, |_, block| {
        (0..block.len()).try_for_each(|bag| bags.push_bag(block.entries(bag)).map_err(refuse))
    })?;
    let labels = corpus.labels.of.iter().enumerate();
    let items: Vec<_> = labels.filter_map(|(item, label)| Some((item, (*label)? as usize))).collect();
    match corpus.labels.names.len() {
        0 | 1 => Err(Failure::new(
            format_args!("{}: {} labels; to tell labels takes two", corpus.name, corpus.labels.names.len()),
            "name the column with --label-column, or take a folder with a subfolder for each label",
        )),
        _ => Ok(Data { corpus, bags, items }),
    }
}

/// One prediction: repetition, fold, document, its class, the class that was found.
type Prediction = (usize, usize, usize, usize, usize);

fn cross_validate<T: Stored>(
    args: &CrossvalArgs,
    limits: &TextOptions,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let data = read::<T>(args, report)?;
    let names = &data.corpus.labels.names;
    let labels: Vec<usize> = data.items.iter().map(|&(_, label)| label).collect();
    let count = if args.leave_one_out { labels.len() } else { args.folds };
    let unlabelled = data.bags.len() - labels.len();
    if unlabelled > 0 {
        report.note(format_args!("{unlabelled} documents have no label and are left out"));
    }
    let (mut all, mut accuracies) = (confusion(names.len())?, Summary::default());
    let mut predictions: Vec<Prediction> = Vec::new();
    let began = Instant::now();
    interrupt.begin();
    'repetitions: for repetition in 0..args.repeats {
        let mut rng = ChaCha8Rng::seed_from_u64(args.fit.seed);
        rng.set_stream(repetition as u64 + 1);
        let fold_of = split(&labels, count, names, args.leave_one_out, &mut rng)?;
        let mut own = confusion(names.len())?;
        for held_out in 0..count {
            let (test, training): (Vec<_>, Vec<_>) =
                (0..labels.len()).partition(|&item| fold_of[item] == held_out);
            let fold = data.fold(&training, &test, limits)?;
            let found = predict(&fold, args, interrupt)?;
            if interrupt.asked() {
                report.note("ended early: what follows is of the folds before");
                break 'repetitions;
            }
            for (&item, found) in test.iter().zip(found) {
                for confusion in [&mut own, &mut all] {
                    confusion.add(labels[item], found).map_err(bug)?;
                }
                predictions.push((repetition, held_out, item, labels[item], found));
            }
        }
        if let Some(accuracy) = own.accuracy() {
            accuracies.add(accuracy);
            report.event(
                "repeat",
                format_args!("{} of {}: accuracy {:.2} %", repetition + 1, args.repeats, 100.0 * accuracy),
                json!({ "repeat": repetition + 1, "accuracy": accuracy, "confusion": rows(&own, names) }),
            );
        }
    }
    tell(args, &all, &accuracies, names, began.elapsed().as_secs_f64(), report);
    if let Some(output) = &args.output {
        let _whole = interrupt.writing();
        write_atomically(output, |out| write(out, &data, &predictions))?;
    }
    Ok(())
}

fn confusion(classes: usize) -> Result<Confusion<Vec<u64>>, Failure> {
    Confusion::new(classes, vec![0; classes * classes]).map_err(bug)
}

fn bug(error: countgrid_classify::ClassifyError) -> Failure {
    Failure::new(error, "this is a bug worth a report")
}

/// The fold of each labelled document.
fn split(
    labels: &[usize],
    count: usize,
    names: &[String],
    leave_one_out: bool,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<usize>, Failure> {
    let (mut fold, mut scratch) = (vec![0; labels.len()], vec![0; labels.len()]);
    let made = if leave_one_out {
        folds(count, rng, &mut fold)
    } else {
        stratified_folds(labels, count, rng, &mut fold, &mut scratch)
    };
    made.map_err(|error| match error {
        countgrid_classify::ClassifyError::FewMembers { class, members, folds } => Failure::new(
            format_args!(
                "label `{}` has {members} documents and there are {folds} folds",
                names.get(class).map_or("", String::as_str)
            ),
            "take fewer --folds, or --leave-one-out",
        ),
        error => Failure::new(error, "take --folds of at least 2 and at most the number of documents"),
    })?;
    Ok(fold)
}

impl<T: Stored> Data<T> {
    /// Training and held-out documents over the words that the training documents select.
    fn fold(&self, training: &[usize], test: &[usize], limits: &TextOptions) -> Result<Fold<T>, Failure> {
        let mut spread = vec![0; self.bags.features()];
        for (word, _) in training.iter().flat_map(|&item| self.bags.entries(self.items[item].0)) {
            spread[word] += 1;
        }
        let selection = Selection::of(&spread, training.len(), limits);
        if selection.kept.is_empty() {
            return Err(Failure::new(
                format_args!("no word is left of the {} documents of a training part", training.len()),
                "lower --min-count, raise --max-share or --max-words, or take fewer --folds",
            ));
        }
        let mut feature_of = vec![None; spread.len()];
        selection.kept.iter().enumerate().for_each(|(new, &old)| feature_of[old] = Some(new));
        let store = |items: &[usize]| self.store(items, &feature_of, selection.kept.len());
        let label = |items: &[usize]| items.iter().map(|&item| self.items[item].1).collect();
        Ok(Fold {
            training: store(training)?,
            labels: label(training),
            test: store(test)?,
            classes: self.corpus.labels.names.len(),
        })
    }

    fn store(
        &self,
        items: &[usize],
        feature_of: &[Option<usize>],
        features: usize,
    ) -> Result<Store<T>, Failure> {
        let mut builder = Builder::new(features, Plan::new(u128::MAX, BLOCK_ENTRIES))?;
        for &item in items {
            let entries = self.bags.entries(self.items[item].0);
            let mut bag: Vec<_> =
                entries.filter_map(|(word, count)| Some(((*feature_of.get(word)?)?, count))).collect();
            bag.sort_unstable_by_key(|&(feature, _)| feature);
            builder.push(&bag)?;
        }
        builder.finish()
    }
}

fn rows(confusion: &Confusion<Vec<u64>>, names: &[String]) -> Value {
    confusion.counts().chunks(names.len()).map(|row| json!(row)).collect()
}

fn tell(
    args: &CrossvalArgs,
    all: &Confusion<Vec<u64>>,
    accuracies: &Summary,
    names: &[String],
    seconds: f64,
    report: &Report,
) {
    let percent =
        |share: Option<f64>| share.map_or("none".to_owned(), |share| format!("{:.2}", 100.0 * share));
    // Over repetitions where there are some; over documents otherwise.
    let (error, over) = match accuracies.standard_error() {
        Some(error) => (Some(error), "repetitions"),
        None => (all.standard_error(), "documents"),
    };
    let mut table = format!(
        "{} % (standard error {} over {over}), {} predictions, {seconds:.1} s, seed {}",
        percent(all.accuracy()),
        percent(error),
        all.items(),
        args.fit.seed
    );
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    table.push_str("\nlabel, and how often each label was found for it");
    for (name, row) in names.iter().zip(all.counts().chunks(names.len())) {
        table.push_str(&format!("\n{name:width$}"));
        row.iter().for_each(|count| table.push_str(&format!(" {count:>7}")));
    }
    report.event(
        "accuracy",
        table,
        json!({
            "accuracy": all.accuracy(), "standard_error": error, "over": over, "predictions": all.items(),
            "labels": names, "confusion": rows(all, names), "seconds": seconds, "seed": args.fit.seed,
            "classifier": args.classifier.name(), "folds": (!args.leave_one_out).then_some(args.folds),
            "repeats": args.repeats, "neighbours": args.neighbours, "penalty": args.penalty,
        }),
    );
}

fn write<T>(out: &mut dyn io::Write, data: &Data<T>, predictions: &[Prediction]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["repeat", "fold", "id", "label", "found"])?;
    let Labelling { names, .. } = &data.corpus.labels;
    let name = |label: usize| names.get(label).map_or("", String::as_str);
    for &(repeat, fold, item, label, found) in predictions {
        let entry = data.items.get(item).and_then(|&(document, _)| data.corpus.entries.get(document));
        let id = entry.map_or("", |entry| entry.id.as_str());
        let (repeat, fold) = ((repeat + 1).to_string(), (fold + 1).to_string());
        csv.write_record([repeat.as_str(), fold.as_str(), id, name(label), name(found)])?;
    }
    csv.flush()
}
