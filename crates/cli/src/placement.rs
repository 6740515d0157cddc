//! Documents over the words of a model, and the table of their positions.

use std::io::{self, Write};

use countgrid_corpus::{Corpus, CorpusOptions};
use countgrid_estimators::{ModelInfo, Stored};
use countgrid_io::write_atomically;

use crate::{args::EmbedArgs, collection::Input, failure::Failure, interrupt::Interrupt};

/// The documents to place, over the words of a model.
pub(crate) fn documents<T: Stored>(args: &EmbedArgs, info: &ModelInfo) -> Result<Corpus<T>, Failure> {
    let outputs: Vec<_> = args.output.iter().map(std::path::PathBuf::as_path).collect();
    let input = Input::new(&args.paths, &args.read, &outputs);
    let options = CorpusOptions { scaling: info.scaling, ..input.options };
    Corpus::count_all(&args.paths, &info.vocabulary, &info.text, &options)
        .map_err(|error| Failure::from(error).of_files(&args.paths))
}

/// Writes the table, and reports how much of the documents is known.
pub(crate) fn finish<T>(
    args: &EmbedArgs,
    corpus: &Corpus<T>,
    known: f64,
    interrupt: &Interrupt,
    table: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    match &args.output {
        Some(output) => {
            let _whole = interrupt.writing_results();
            write_atomically(output, table)?;
        }
        None => table(&mut io::BufWriter::new(io::stdout().lock())).map_err(Failure::output)?,
    }
    if !args.quiet {
        let tokens = corpus.documents.iter().fold(0.0, |tokens, document| tokens + document.tokens);
        let share = if tokens > 0.0 { 100.0 * known / tokens } else { 0.0 };
        eprintln!(
            "placed    {} of {} documents; {share:.1} % of their tokens are in the vocabulary",
            corpus.nonempty,
            corpus.documents.len()
        );
    }
    Ok(())
}
