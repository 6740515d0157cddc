//! All measures of a fitted model that make sense for its kind.

use std::collections::HashMap;

use countgrid_corpus::{Blocks, Corpus, Storable};
use countgrid_counts::{Bags, SequencesBuf};
use countgrid_estimators::{
    AnyModel, FittedComponential, FittedGrid, FittedHarmonium, FittedLda, FittedTopographic, GridPlacement,
    LatentKind, Stored,
};
use countgrid_math::{index_below, shuffle_first};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::{
    Coherence, CountMetric, EvaluationError, HeldOut, MapPoints, Mean, OptionError, Predictive, SparseRows,
    Stop, WordDistributions, best_match, coherence, document_completion, held_out_bound, label_agreement,
    neighbourhoods, pieces::ask, topic_diversity,
};

/// The stream of random numbers that draws documents; those of document completion are numbered from 0.
const STREAM: u64 = u64::MAX;

/// Options of [`measure`].
///
/// Example: [`measure`](crate::measure).
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureOptions {
    /// Nearest neighbours on maps.
    pub neighbours: usize,
    /// How far apart documents are, by their counts.
    pub metric: CountMetric,
    /// Top words of a topic, for coherence and exclusivity.
    pub top_words: usize,
    /// Top words of a topic, for diversity.
    pub diversity_words: usize,
    /// The most windows of a grid, or cells of a topographic map, that are taken as topics.
    pub topics: usize,
    /// The most documents whose neighbourhoods on a map are compared, which takes the square of their number.
    pub documents: usize,
    /// Of the documents that are drawn, and of the tokens that are held out.
    pub seed: u64,
}

impl Default for MeasureOptions {
    /// 15 neighbours by the cosine of counts, 10 top words (25 for diversity) of at most 100 topics, 5,000 documents.
    fn default() -> Self {
        Self {
            neighbours: 15,
            metric: CountMetric::Cosine,
            top_words: 10,
            diversity_words: 25,
            topics: 100,
            documents: 5_000,
            seed: 1,
        }
    }
}

impl MeasureOptions {
    /// Checks that there is something to measure.
    ///
    /// # Errors
    /// [`OptionError::NoNeighbours`], [`OptionError::NoTopics`], [`OptionError::FewTopWords`].
    pub fn check(&self) -> Result<(), OptionError> {
        match *self {
            Self { neighbours: 0, .. } => Err(OptionError::NoNeighbours),
            Self { topics: 0, .. } => Err(OptionError::NoTopics),
            Self { top_words: words @ (0 | 1), .. } => Err(OptionError::FewTopWords { words }),
            Self { diversity_words: words @ 0, .. } => Err(OptionError::FewTopWords { words }),
            _ => Ok(()),
        }
    }
}

/// A measure of a model.
///
/// Example: [`measure`](crate::measure).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Its name in tables, such as `trustworthiness`.
    pub name: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
    /// Its value, or why the model, or the data, has none.
    pub value: Result<Mean, &'static str>,
}

/// What was measured of a model.
///
/// Example: [`measure`](crate::measure).
#[derive(Clone, Debug)]
pub struct ModelMeasures {
    /// Every measure, also those that the model does not have.
    pub measures: Vec<Measure>,
    /// Documents that neighbourhoods were compared of: those with a position.
    pub documents: usize,
    /// Topics, windows or cells whose words were looked at.
    pub topics: usize,
    /// Top words that the data do not have, left out of coherence.
    pub unseen_words: usize,
    places: Option<Places>,
    distributions: Option<WordDistributions>,
    vocabulary: Vec<String>,
}

/// How well two fits agree.
///
/// Example: [`measure`](crate::measure).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stability {
    /// The share of the nearest neighbours of a document on the one map that are among the nearest on the other; `None` if one is
    /// no map, or has too few of the other's documents.
    pub neighbours: Option<Mean>,
    /// The mean cosine of topics that belong together ([`best_match`]); `None` if one has no distributions over words. Words
    /// that one of them does not know have the probability 0 there.
    pub topics: Option<Mean>,
}

/// Positions of documents.
#[derive(Clone, Debug)]
struct Places {
    documents: Vec<usize>, // ascending
    sides: Option<Vec<f64>>,
    axes: usize,
    points: Vec<f64>, // [place in `documents`][axis]
}

impl Places {
    fn points(&self, keep: impl Fn(usize) -> bool) -> Result<MapPoints, EvaluationError> {
        let own = self.documents.iter().zip(self.points.chunks_exact(self.axes.max(1)));
        let points =
            own.filter(|&(&document, _)| keep(document)).flat_map(|(_, point)| point).copied().collect();
        match &self.sides {
            Some(sides) => MapPoints::on_torus(sides.clone(), points),
            None => MapPoints::in_plane(self.axes, points),
        }
    }
}

impl ModelMeasures {
    /// A measure by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// How well this fit agrees with another one that was measured over the same documents.
    ///
    /// # Errors
    /// [`EvaluationError::Memory`], [`EvaluationError::Stopped`].
    pub fn stability(
        &self,
        other: &Self,
        neighbours: usize,
        stop: &Stop,
    ) -> Result<Stability, EvaluationError> {
        let kept = match (&self.places, &other.places) {
            (Some(a), Some(b)) => {
                let both = |document: usize| {
                    [a, b].iter().all(|places| places.documents.binary_search(&document).is_ok())
                };
                match neighbourhoods(&a.points(both)?, &b.points(both)?, neighbours, stop) {
                    Ok(found) => Some(found.kept),
                    Err(EvaluationError::Neighbours { .. }) => None,
                    Err(error) => return Err(error),
                }
            }
            _ => None,
        };
        let topics = match (&self.distributions, &other.distributions) {
            (Some(a), Some(b)) if self.vocabulary == other.vocabulary => best_match(a, b)?,
            (Some(a), Some(b)) => {
                let mut place: HashMap<&str, usize> = HashMap::new();
                for word in self.vocabulary.iter().chain(&other.vocabulary) {
                    let next = place.len();
                    place.entry(word).or_insert(next);
                }
                let over_all = |topics: &WordDistributions, vocabulary: &[String]| {
                    let mut all = crate::zeros::<f64>(topics.topics().saturating_mul(place.len()))?;
                    for (to, from) in all.chunks_exact_mut(place.len().max(1)).zip(topics.rows()) {
                        for (word, &p) in vocabulary.iter().zip(from) {
                            if let Some(to) = place.get(word.as_str()).and_then(|&place| to.get_mut(place)) {
                                *to = p;
                            }
                        }
                    }
                    WordDistributions::new(place.len(), all)
                };
                best_match(&over_all(a, &self.vocabulary)?, &over_all(b, &other.vocabulary)?)?
            }
            _ => None,
        };
        Ok(Stability { neighbours: kept, topics })
    }
}

/// What a model has that can be measured; the texts say why it has not.
struct Parts {
    places: Result<Places, &'static str>,
    distributions: Result<WordDistributions, &'static str>,
    /// Top words of topics, if there are no distributions.
    top_words: Option<Vec<Vec<usize>>>,
    completion: Result<HeldOut, &'static str>,
    bound: Result<HeldOut, &'static str>,
}

/// Every measure of a model over documents: `corpus` has their counts over the words of the model ([`Corpus::count`]), `texts` their words
/// in order over the same vocabulary ([`countgrid_corpus::read_word_sequences`]), without which coherence in windows
/// cannot be measured.
///
/// Documents lie on a grid at the circular mean of their posterior, or, where it has none, at the most probable window;
/// on a topographic map at the mean. The topics of a grid are windows that do not overlap, evenly spaced; those of a topographic map cells, evenly
/// spaced; those of a harmonium the words with the largest couplings. Measures that the kind of model or the data do
/// not have say why.
///
/// ```
/// use countgrid_corpus::{BlockLimits, Corpus};
/// use countgrid_counts::CsrBuf;
/// use countgrid_estimators::{AnyModel, FittedLda, ModelInfo};
/// use countgrid_evaluation::{MeasureOptions, Stop, measure};
/// use countgrid_lda::{Lda, Shape};
///
/// let words = ["ant", "bee", "cat"].map(str::to_owned).to_vec();
/// let topics = Lda::new(Shape::new(2, 3)?, vec![0.7, 0.1, 0.2, 0.1, 0.1, 0.8, 0.5, 0.5])?;
/// let model = AnyModel::Lda(Box::new(FittedLda::from_lda(ModelInfo::for_vocabulary(words.clone()), &topics)?));
/// let counts = CsrBuf::from_dense(3, &[4.0, 2.0, 0.0, 0.0, 1.0, 5.0, 1.0, 1.0, 1.0])?;
/// let corpus = Corpus::from_bags(counts, words, BlockLimits::in_memory())?;
/// let found = measure(&model, &corpus, None, &MeasureOptions { top_words: 2, ..MeasureOptions::default() }, &Stop::new())?;
/// for measure in &found.measures {
///     println!("{}: {:?}", measure.name, measure.value);
/// }
/// assert_eq!(found.get("trustworthiness").unwrap().value, Err("topics are no map"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`MeasureOptions::check`]; errors of inference; [`EvaluationError::NoMeasures`] for a hidden Markov model; [`EvaluationError::Words`] for a
/// corpus or texts over other words; [`EvaluationError::Stopped`].
pub fn measure(
    model: &AnyModel,
    corpus: &Corpus<f64>,
    texts: Option<&SequencesBuf<u32>>,
    options: &MeasureOptions,
    stop: &Stop,
) -> Result<ModelMeasures, EvaluationError> {
    options.check()?;
    let vocabulary = &model.info().vocabulary;
    let expected = vocabulary.len();
    if corpus.bags.features() != expected {
        return Err(EvaluationError::Words { expected, found: corpus.bags.features() });
    }
    if let Some(texts) = texts.filter(|texts| texts.as_view().symbols() != expected + 1) {
        return Err(EvaluationError::Words { expected: expected + 1, found: texts.as_view().symbols() });
    }
    let bags = &corpus.bags;
    let Parts { places, distributions, top_words, completion, bound } = match model {
        AnyModel::GridF32(grid) => of_grid(grid, bags, options, stop)?,
        AnyModel::GridF64(grid) => of_grid(grid, bags, options, stop)?,
        AnyModel::ComponentialF32(model) => of_componential(model, bags, options, stop)?,
        AnyModel::ComponentialF64(model) => of_componential(model, bags, options, stop)?,
        AnyModel::Lda(lda) => of_lda(lda, bags, options, stop)?,
        AnyModel::TopographicF32(map) => of_topographic(map, bags, options, stop)?,
        AnyModel::TopographicF64(map) => of_topographic(map, bags, options, stop)?,
        AnyModel::HarmoniumF32(model) => of_harmonium(model, options),
        AnyModel::HarmoniumF64(model) => of_harmonium(model, options),
        other => return Err(EvaluationError::NoMeasures { kind: other.kind() }),
    };
    let mut measures = Vec::new();
    let mut add = |name, more_is_better, value| measures.push(Measure { name, more_is_better, value });
    let none = |value: Option<Mean>, reason| value.ok_or(reason);

    let [share, vote, trustworthiness, continuity] = match &places {
        Ok(places) => of_places(places, corpus, options, stop)?,
        Err(reason) => [Err(*reason); 4],
    };
    add("neighbour_labels", true, share);
    add("neighbour_vote", true, vote);
    add("trustworthiness", true, trustworthiness);
    add("continuity", true, continuity);

    let top = |count: usize| match (&distributions, &top_words) {
        (Ok(topics), _) => Some(topics.top_words(count)),
        (_, Some(words)) => {
            Some(words.iter().map(|words| words.iter().take(count).copied().collect()).collect())
        }
        _ => None,
    };
    let (mut topics, mut unseen_words) = (0, 0);
    match top(options.top_words) {
        Some(words) => {
            topics = words.len();
            for &kind in Coherence::ALL {
                let found = match (texts, kind.window()) {
                    (Some(texts), _) => coherence(kind, &words, texts.as_view(), stop)?,
                    (None, None) => coherence(kind, &words, in_any_order(bags)?.as_view(), stop)?,
                    (None, Some(_)) => {
                        add(kind.name(), true, Err("the data are counts, without an order of words"));
                        continue;
                    }
                };
                unseen_words = found.iter().map(|topic| topic.unseen).sum();
                let values: Vec<f64> = found.iter().filter_map(|topic| topic.value).collect();
                let value = (!values.is_empty()).then(|| Mean::of(&values));
                add(kind.name(), true, none(value, "the data have too few of the top words"));
            }
        }
        None => {
            let reason = distributions.as_ref().err().copied().unwrap_or("it has no topics");
            Coherence::ALL.iter().for_each(|kind| add(kind.name(), true, Err(reason)));
        }
    }
    let diversity = top(options.diversity_words).and_then(|words| topic_diversity(&words));
    let diversity = diversity.map(|value| Mean { value, standard_error: None });
    add("diversity", true, none(diversity, "it has no topics"));
    add(
        "exclusivity",
        true,
        match &distributions {
            Ok(topics) => none(topics.exclusivity(options.top_words), "it has no topics"),
            Err(reason) => Err(*reason),
        },
    );
    add("completion_log_likelihood", true, completion.map(|found| found.per_token));
    let perplexity = completion.map(|found| {
        let value = found.perplexity();
        // Of a function of the mean, to first order.
        Mean { value, standard_error: found.per_token.standard_error.map(|error| error * value) }
    });
    add("perplexity", false, perplexity);
    add("bound_per_token", true, bound.map(|found| found.per_token));
    Ok(ModelMeasures {
        measures,
        documents: places.as_ref().map_or(0, |places| places.documents.len()),
        topics,
        unseen_words,
        places: places.ok(),
        distributions: distributions.ok(),
        vocabulary: vocabulary.clone(),
    })
}

/// The words of each document, each once.
fn in_any_order(bags: &Blocks<f64>) -> Result<SequencesBuf<u32>, EvaluationError> {
    let mut all = SequencesBuf::new(bags.features().saturating_add(1));
    bags.for_each_block(false, |_, block| {
        for bag in 0..block.len() {
            let mut words: Vec<u32> = block.entries(bag).map(|(word, _)| word as u32).collect();
            if words.is_empty() {
                words.push(bags.features() as u32);
            }
            all.push(words)?;
        }
        Ok::<_, EvaluationError>(())
    })?;
    Ok(all)
}

/// The documents whose neighbourhoods are compared, ascending: those of a seed do not depend on the model.
fn drawn(documents: usize, options: &MeasureOptions) -> Vec<usize> {
    let mut all: Vec<usize> = (0..documents).collect();
    if documents > options.documents {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        rng.set_stream(STREAM);
        shuffle_first(&mut all, options.documents, |n| index_below(rng.next_u64(), n));
        all.truncate(options.documents);
        all.sort_unstable();
    }
    all
}

type Values = [Result<Mean, &'static str>; 4];

fn of_places(
    places: &Places,
    corpus: &Corpus<f64>,
    options: &MeasureOptions,
    stop: &Stop,
) -> Result<Values, EvaluationError> {
    let label_of = |document: usize| corpus.labels.by_document.get(document).copied().flatten();
    let labelled = |document: usize| label_of(document).is_some();
    let labels: Vec<usize> =
        places.documents.iter().filter_map(|&document| Some(label_of(document)? as usize)).collect();
    let [share, vote] = if labels.iter().any(|label| Some(label) != labels.first()) {
        let found = label_agreement(&places.points(labelled)?, &labels, options.neighbours, stop)?;
        [Ok(found.share), Ok(found.vote)]
    } else {
        [Err("the documents have fewer than two labels"); 2]
    };
    let known = |document: usize| places.documents.binary_search(&document).is_ok();
    let rows = SparseRows::new(&corpus.bags, options.metric, known)?;
    let [trust, continuity] =
        match neighbourhoods(&rows, &places.points(|_| true)?, options.neighbours, stop) {
            Ok(found) => [found.trustworthiness, found.continuity]
                .map(|value| Ok(Mean { value, standard_error: None })),
            Err(EvaluationError::Neighbours { .. }) => {
                [Err("there are too few documents for so many neighbours"); 2]
            }
            Err(error) => return Err(error),
        };
    Ok([share, vote, trust, continuity])
}

fn completed(
    model: &impl Predictive,
    bags: &Blocks<f64>,
    seed: u64,
    stop: &Stop,
) -> Result<Result<HeldOut, &'static str>, EvaluationError> {
    match document_completion(model, bags, seed, stop) {
        Ok(found) => Ok(found.ok_or("no document has two known tokens")),
        Err(EvaluationError::TokenCount { .. }) => Ok(Err("counts are not whole, or too large")),
        Err(error) => Err(error),
    }
}

fn bound<C: Storable>(
    free_energies: &[f64],
    bags: &Blocks<C>,
) -> Result<Result<HeldOut, &'static str>, EvaluationError> {
    Ok(held_out_bound(free_energies, bags)?.ok_or("no document has a known token"))
}

fn of_grid<T: Stored>(
    grid: &FittedGrid<T>,
    bags: &Blocks<f64>,
    options: &MeasureOptions,
    stop: &Stop,
) -> Result<Parts, EvaluationError> {
    ask(stop)?;
    let placements = grid.place(bags)?;
    of_windows(grid, &placements, grid, bags, options, stop)
}

fn of_componential<T: Stored>(
    model: &FittedComponential<T>,
    bags: &Blocks<f64>,
    options: &MeasureOptions,
    stop: &Stop,
) -> Result<Parts, EvaluationError> {
    ask(stop)?;
    let placements = model.place(bags)?;
    of_windows(&model.to_grid()?, &placements, model, bags, options, stop)
}

/// Of a grid with its windows, where documents lie on it, and what predicts their words.
fn of_windows<T: Stored>(
    grid: &FittedGrid<T>,
    placements: &[GridPlacement],
    model: &impl Predictive,
    bags: &Blocks<f64>,
    options: &MeasureOptions,
    stop: &Stop,
) -> Result<Parts, EvaluationError> {
    let layout = grid.layout();
    let places = if layout.window().iter().all(|&side| side == 1) {
        Err("components of a mixture have no neighbours")
    } else {
        let (mut documents, mut points) = (Vec::new(), Vec::new());
        for document in drawn(bags.len(), options) {
            let Some(at) = placements.get(document).and_then(|placement| placement.position.as_ref()) else {
                continue;
            };
            documents.push(document);
            points.extend(at.mean.iter().zip(&at.window).map(|(mean, &cell)| mean.unwrap_or(cell as f64)));
        }
        let sides: Vec<f64> = layout.extents().iter().map(|&extent| extent as f64).collect();
        Ok(Places { documents, axes: sides.len(), sides: Some(sides), points })
    };
    let free_energies: Vec<f64> = placements
        .iter()
        .map(|placement| placement.position.as_ref().map_or(0.0, |position| -position.log_evidence))
        .collect();
    ask(stop)?;
    let tiles = layout.extents().iter().zip(layout.window()).map(|(&extent, &side)| (extent / side).max(1));
    let tiles = tiles.fold(1_usize, usize::saturating_mul);
    let torus = *grid.shape().windows().torus();
    let lattice = grid.lattice(tiles.min(options.topics));
    let cells = lattice.iter().map(|place| {
        let place: Vec<isize> = place.iter().map(|&x| x as isize).collect();
        layout.cell_at(&torus, &place)
    });
    let uses = grid.word_uses(&cells.collect::<Result<Vec<_>, _>>()?)?;
    let probabilities = uses.iter().flatten().map(|word| word.probability).collect();
    Ok(Parts {
        places,
        distributions: Ok(WordDistributions::new(grid.shape().features(), probabilities)?),
        top_words: None,
        completion: completed(model, bags, options.seed, stop)?,
        bound: bound(&free_energies, bags)?,
    })
}

fn of_lda(
    lda: &FittedLda,
    bags: &Blocks<f64>,
    options: &MeasureOptions,
    stop: &Stop,
) -> Result<Parts, EvaluationError> {
    let (topics, words) = (lda.lda().shape().topics(), lda.lda().shape().features());
    let beta = lda.lda().beta();
    let column = |topic: usize| beta.iter().skip(topic).step_by(topics).copied();
    let probabilities = (0..topics).flat_map(column).collect();
    let completion = completed(lda, bags, options.seed, stop)?;
    ask(stop)?;
    Ok(Parts {
        places: Err("topics are no map"),
        distributions: Ok(WordDistributions::new(words, probabilities)?),
        top_words: None,
        completion,
        bound: bound(&lda.score(bags)?, bags)?,
    })
}

fn of_topographic<T: Stored>(
    map: &FittedTopographic<T>,
    bags: &Blocks<f64>,
    options: &MeasureOptions,
    stop: &Stop,
) -> Result<Parts, EvaluationError> {
    ask(stop)?;
    let all = map.place(bags)?;
    ask(stop)?;
    let documents: Vec<usize> = drawn(bags.len(), options)
        .into_iter()
        .filter(|&document| all.get(document).is_some_and(|place| place.is_known()))
        .collect();
    let points = documents.iter().filter_map(|&document| Some(all.get(document)?.mean)).flatten().collect();
    let sides = (map.latent().kind() == LatentKind::Torus).then(|| vec![2.0; 2]);
    let free_energies: Vec<f64> =
        all.iter().map(|place| if place.is_known() { -place.log_likelihood } else { 0.0 }).collect();
    let shares = map.feature_shares()?;
    let cells = map.frame().cells();
    let count = cells.min(options.topics);
    let mut probabilities = Vec::with_capacity(count.saturating_mul(map.shape().features()));
    for topic in 0..count {
        let cell = topic * cells / count;
        probabilities.extend(shares.iter().skip(cell).step_by(cells).map(|&share| f64::from(share)));
    }
    Ok(Parts {
        places: Ok(Places { documents, axes: 2, sides, points }),
        distributions: Ok(WordDistributions::new(map.shape().features(), probabilities)?),
        top_words: None,
        completion: Err("a topographic map is not a distribution over tokens"),
        bound: bound(&free_energies, bags)?,
    })
}

fn of_harmonium<T: Stored>(model: &FittedHarmonium<T>, options: &MeasureOptions) -> Parts {
    let topics = model.shape().topics();
    let count = options.top_words.max(options.diversity_words);
    let top = |topic: usize| {
        let mut words: Vec<(f64, usize)> =
            model.model().w().iter().skip(topic).step_by(topics).map(|&w| w.to_f64()).zip(0..).collect();
        words.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        words.truncate(count);
        words.into_iter().map(|(_, word)| word).collect()
    };
    Parts {
        places: Err("topics are no map"),
        distributions: Err("topics of a harmonium are no distributions over words"),
        top_words: Some((0..topics).map(top).collect()),
        completion: Err("a harmonium is not a distribution over tokens"),
        bound: Err("a harmonium has no bound"),
    }
}
