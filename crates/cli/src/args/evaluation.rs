//! Options of `crossval` and `sweep`.

use std::path::PathBuf;

use clap::Args;
use countgrid_corpus::WordOptions;
use countgrid_estimators::{HarmoniumKind, HmmOptions, LdaOptions};
use countgrid_evaluation::{
    ClassPrior, Classifier, EvaluationOptions, Features, Metric, ModelKind, Protocol, WordSelection,
};

use super::{
    COUNT, ConfigArgs, GridArgs, HarmoniumArgs, ReadArgs, ReportArgs, SIZE, ScaleArgs, WordArgs, at_most,
    choice,
};
use crate::{
    collection::{scaling, word_options},
    command::fit::grid_options,
    failure::Failure,
};

#[derive(Args, Clone, Debug)]
pub(crate) struct EvaluationArgs {
    /// Labelled documents: a folder with a subfolder for each label, or a CSV, TSV or JSONL file with a column of text
    /// (or columns of numbers) and one of labels; or several such, or a folder for each label
    #[arg(required = true, value_name = "PATH", value_parser = super::data_path())]
    pub(crate) paths: Vec<PathBuf>,
    /// How a label is predicted
    #[arg(long, default_value = "generative", value_parser = choice(&[
        ("generative", "A grid for each label; the one under which the document is most probable"),
        ("labels", "One grid, fitted without labels; the label that most of the documents around have"),
        ("nearest", "The nearest documents: on the torus, or by --features"),
        ("svm", "A support vector machine on how much features overlap (histogram intersection)"),
        ("svm-rbf", "A support vector machine with a Gaussian kernel on standardised features"),
        ("svm-linear", "A linear support vector machine on standardised features"),
    ], |name| name.parse::<Classifier>().ok()))]
    pub(crate) classifier: Classifier,
    /// How probable labels are before a document is seen, for --classifier generative
    #[arg(long, default_value = "data", value_parser = choice(&[
        ("data", "As frequent as among the training documents"),
        ("uniform", "All the same"),
    ], |name| name.parse::<ClassPrior>().ok()))]
    pub(crate) class_prior: ClassPrior,
    /// The model to fit
    #[arg(long, default_value = "grid", value_parser = choice(&[
        ("grid", "A counting grid"),
        ("mixture", "A mixture of distributions over words"),
        ("lda", "Latent Dirichlet allocation"),
        ("hmm", "A hidden Markov model of the letters of each text, in their order"),
        ("harmonium", "A harmonium of words, present or not, under normal topics"),
        ("rap", "The rate adapting Poisson model: counts of words under binomial topics"),
        ("lsi", "Latent semantic indexing: the truncated singular value decomposition of tf-idf"),
    ], |name| name.parse::<ModelKind>().ok()))]
    pub(crate) model: ModelKind,
    /// Topics of --model lda, harmonium and rap, components of --model mixture, dimensions of --model lsi
    #[arg(long, value_name = "N", default_value_t = EvaluationOptions::default().topics, value_parser = at_most(SIZE))]
    pub(crate) topics: usize,
    /// States of --model hmm
    #[arg(long, value_name = "N", default_value_t = HmmOptions::default().states, value_parser = at_most(SIZE))]
    pub(crate) states: usize,
    /// The features of a document for support vector machines and nearest neighbours [default: spread for svm, fess for
    /// svm-rbf and svm-linear, the position on the torus for nearest]
    #[arg(long, value_parser = choice(&[
        ("spread", "The posterior over window positions, spread over the cells of their windows; of one grid, fitted without labels"),
        ("posterior", "The posterior over window positions, components or topics, its mean for topics of harmoniums; of one \
                       model, fitted without labels"),
        ("samples", "Topics under each posterior sample of a harmonium, side by side: distances are those of the mean of V"),
        ("fess", "Free energy scores (by window position, component, topic, or position and state); of a model for each label, side \
                  by side"),
        ("nfess", "The same per token"),
        ("fess-words", "Free energy scores by word (in lda those of words by topic and word); of a model for each label, \
                        side by side"),
        ("fess-sources", "Free energy scores of a grid or mixture by the cell that each word comes from; of a model for \
                          each label, side by side"),
        ("fisher", "The gradient of the log-likelihood in the logarithms of the parameters; of a model for each label"),
        ("top", "The log-odds of two labels and their gradient in the same, of a model for each of the two"),
    ], |name| name.parse::<Features>().ok()))]
    pub(crate) features: Option<Features>,
    /// Take terms and gradients of one model, fitted without labels, rather than of one for each label
    #[arg(long)]
    pub(crate) one_model: bool,
    /// Parts that are held out in turn
    #[arg(long, value_name = "N", default_value_t = Protocol::default().folds, value_parser = at_most(COUNT))]
    pub(crate) folds: usize,
    /// Hold out one document at a time instead
    #[arg(long, conflicts_with_all = ["folds", "repeats"])]
    pub(crate) leave_one_out: bool,
    /// How far apart the features of two documents are, for --classifier nearest [default: divergence for proportions,
    /// euclidean for topics of harmoniums and lsi]
    #[arg(long, value_parser = choice(&[
        ("divergence", "Kullback-Leibler divergence of proportions"),
        ("euclidean", "Euclidean distance"),
        ("cosine", "One less the cosine of their angle"),
    ], |name| name.parse::<Metric>().ok()))]
    pub(crate) metric: Option<Metric>,
    #[command(flatten)]
    pub(crate) harmonium: HarmoniumArgs,
    /// Random splits into folds, each evaluated
    #[arg(long, value_name = "N", default_value_t = Protocol::default().repeats, value_parser = at_most(SIZE))]
    pub(crate) repeats: usize,
    /// Neighbours that vote, for --classifier nearest
    #[arg(long, value_name = "N", default_value_t = EvaluationOptions::default().neighbours, value_parser = at_most(COUNT))]
    pub(crate) neighbours: usize,
    /// Penalty C of support vector machines, for training documents inside the margin or on the wrong side
    #[arg(long, value_name = "C", default_value_t = EvaluationOptions::default().penalty)]
    pub(crate) penalty: f64,
    /// Parameter of the Gaussian kernel exp(-G d² / columns) of svm-rbf, with d the distance of standardised features
    #[arg(long, value_name = "G", default_value_t = EvaluationOptions::default().gamma)]
    pub(crate) gamma: f64,
    /// Which words are kept if there are more than --max-words, by the training part alone
    #[arg(long, default_value = "pairs", value_parser = choice(&[
        ("pairs", "Those that distinguish most pairs of documents (resolving power)"),
        ("variance", "Those whose counts vary most"),
        ("information", "Those with the largest mutual information with labels"),
        ("mrmr", "Those with large mutual information with labels and little with one another (mRMR)"),
    ], |name| name.parse::<WordSelection>().ok()))]
    pub(crate) select: WordSelection,
    /// Labels are numbers, estimated by the mean of those around on one grid; reports their correlation with the true ones
    #[arg(long)]
    pub(crate) numeric: bool,
    /// Values of an option to choose among, such as --try grid=8x8,16x16, or each with a window of its own, --try
    /// grid=64/4,16x16/4x4; with several --try, all combinations
    #[arg(long = "try", value_name = "OPTION=VALUE,...")]
    pub(crate) tries: Vec<String>,
    /// Folds of a training part by which crossval chooses
    #[arg(long, value_name = "N", default_value_t = Protocol::default().inner_folds, value_parser = at_most(COUNT))]
    pub(crate) inner_folds: usize,
    /// Write texts into CSV as they are; else one that a spreadsheet would take for a formula has a ' before it
    #[arg(long)]
    pub(crate) raw_csv: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) numbers: ScaleArgs,
    #[command(flatten)]
    pub(crate) words: WordArgs,
    #[command(flatten)]
    pub(crate) fit: GridArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

impl EvaluationArgs {
    /// How documents are held out.
    pub(crate) fn protocol(&self) -> Protocol {
        Protocol {
            folds: self.folds,
            leave_one_out: self.leave_one_out,
            repeats: self.repeats,
            inner_folds: self.inner_folds,
            seed: self.fit.seed,
        }
    }

    /// The options of the evaluation.
    pub(crate) fn options(&self) -> Result<EvaluationOptions, Failure> {
        let (lda, hmm) = (LdaOptions::default(), HmmOptions::default());
        let GridArgs { iterations, tolerance, seed, restarts, pseudocount, .. } = self.fit;
        let options = EvaluationOptions {
            classifier: self.classifier,
            class_prior: self.class_prior,
            model: self.model,
            features: self.features,
            one_model: self.one_model,
            metric: self.metric,
            neighbours: self.neighbours,
            penalty: self.penalty,
            gamma: self.gamma,
            words: word_options(&self.words)?,
            selection: self.select,
            tokens: scaling(&self.numbers)?.tokens,
            topics: self.topics,
            grid: grid_options(&self.fit)?,
            lda: LdaOptions {
                iterations,
                tolerance,
                seed,
                restarts,
                smoothing: pseudocount.unwrap_or(lda.smoothing),
                ..lda
            },
            hmm: HmmOptions {
                states: self.states,
                iterations,
                tolerance,
                seed,
                restarts,
                pseudocount: pseudocount.unwrap_or(hmm.pseudocount),
            },
            harmonium: self.harmonium.options(HarmoniumKind::Single, self.topics, &self.fit),
        };
        if self.numeric && (self.classifier != Classifier::Labels || !self.tries.is_empty()) {
            return Err(Failure::new(
                "--numeric labels are estimated by --classifier labels alone, and without --try",
                "add --classifier labels",
            ));
        }
        options.check()?;
        self.protocol().check()?;
        Ok(options)
    }

    /// The words of the data: every one, since which of them a model sees is decided in each fold.
    pub(crate) fn every_word(&self) -> Result<WordOptions, Failure> {
        Ok(word_options(&self.words)?.keep_all())
    }
}
