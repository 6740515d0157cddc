//! Three collections of abstracts on a plane: how well their classes lie apart under every emission model, and what the
//! maps say of documents that they have not seen.
//!
//!     cargo run --release -p countgrid-gtm --example collections -- [DRAWS [PATH [FIRST]]]
//!
//! A draw is 200 documents of each collection, shuffled, by its seed, of which the first is FIRST (1); English stop words are left out, words stemmed, and
//! the 329 stems of highest resolving power in at most a quarter of the documents kept. A map has 18 x 15 latent points
//! and 25 basis functions with a constant, starts from principal components and is fitted for 25 iterations. Accuracy is
//! that of the nearest neighbour of each document's posterior mean, leaving it out. The log-likelihood is per document, of
//! 100 others of each collection.

use std::{env, error::Error, path::PathBuf, time::Instant};

use countgrid_classify::{Summary, leave_one_out, silhouette};
use countgrid_counts::{Bags, Csr, CsrBuf};
use countgrid_em::{EmOptions, no_observer};
use countgrid_gtm::{
    Basis, Documents, EmissionModel, Gtm, Inflation, Learner, Options, Priors, Shape, Statistics,
    gaussian_points, grid_points, half_plane_centres, principal_scores,
};
use countgrid_io::{DataSet, ReadOptions, read};
use countgrid_math::shuffle;
use countgrid_text::{TextOptions, Tokenizer, Vocabulary, bags};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

const OF_EACH: usize = 200;
const HELD_OUT: usize = 100;
const TERMS: usize = 329;
const SIDES: [usize; 2] = [18, 15];
const ITERATIONS: usize = 25;
const SPREAD: f64 = 0.3;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// A latent space: points and basis functions at them.
#[derive(Clone, Copy, PartialEq)]
enum Latent {
    GridRbf,
    GridSinh,
    RandomSinh,
}

impl Latent {
    const ALL: [Self; 3] = [Self::GridRbf, Self::GridSinh, Self::RandomSinh];

    fn name(self) -> &'static str {
        ["grid, RBF", "grid, sinh", "random, sinh"][self as usize]
    }

    fn tables(self) -> Fallible<(Vec<f64>, Vec<f64>)> {
        let mut points = vec![0.0; 2 * SIDES[0] * SIDES[1]];
        match self {
            Self::RandomSinh => {
                gaussian_points(0.55, 2.5, &mut ChaCha8Rng::seed_from_u64(1), &mut points)?;
            }
            _ => grid_points(SIDES[0], SIDES[1], &mut points)?,
        }
        let mut centres = [0.0; 50];
        let basis = if self == Self::GridRbf {
            grid_points(5, 5, &mut centres)?;
            Basis::rbf(&centres, 2, 1.0)?
        } else {
            half_plane_centres(5, &[0.125, 0.25, 0.375, 0.5, 0.625], &mut centres)?;
            Basis::sinh(&centres, 2)?
        };
        let mut phi = vec![0.0; basis.columns() * points.len() / 2];
        basis.table(&points, &mut phi)?;
        Ok((points, phi))
    }
}

/// The documents of a draw, and others with the same terms.
struct Draw {
    bags: CsrBuf<u32>,
    labels: Vec<usize>,
    others: CsrBuf<u32>,
}

impl Draw {
    fn new(texts: &[(usize, String)], seed: u64) -> Fallible<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut chosen, mut others) = (Vec::new(), Vec::new());
        for class in 0..3 {
            let mut own: Vec<usize> = (0..texts.len()).filter(|&n| texts[n].0 == class).collect();
            shuffle(&mut own, |n| (rng.next_u64() % n as u64) as usize);
            chosen.extend(own.drain(..OF_EACH));
            others.extend(own.drain(..HELD_OUT));
        }
        shuffle(&mut chosen, |n| (rng.next_u64() % n as u64) as usize); // so that ties favour no class
        let options = TextOptions { stem: true, max_share: 0.25, max_words: TERMS, ..TextOptions::default() };
        let words = bags(chosen.iter().map(|&n| texts[n].1.as_str()), &options)?;
        let tokenizer = Tokenizer::new(&words.options)?;
        let vocabulary = Vocabulary::new(&words.vocabulary, &tokenizer);
        let (mut here, mut there) =
            (CsrBuf::new(words.vocabulary.len())?, CsrBuf::new(words.vocabulary.len())?);
        for bag in 0..words.len() {
            here.push_bag(words.bag(bag).map(|(term, count)| (term as usize, count)))?;
        }
        for &n in &others {
            there.push_bag(
                vocabulary.count(&texts[n].1).into_iter().map(|(term, count)| (term as usize, count)),
            )?;
        }
        Ok(Self { bags: here, labels: chosen.iter().map(|&n| texts[n].0).collect(), others: there })
    }

    fn separation(&self, places: &[f64]) -> Fallible<[f64; 2]> {
        let accuracy = leave_one_out(places, 2, &self.labels, &mut [(0, 0.0)], &mut [0; 3])?;
        Ok([accuracy, silhouette(places, 2, &self.labels, &mut [0.0; 3], &mut [0; 3])?])
    }
}

/// What a row of the table sums up.
#[derive(Default)]
struct Row {
    accuracy: Summary,
    silhouette: Summary,
    fitted: Summary,
    held_out: Summary,
    seconds: Summary,
}

fn fit(
    draw: &Draw,
    emission_model: EmissionModel,
    latent: Latent,
    exposed: bool,
    row: &mut Row,
) -> Fallible<()> {
    let (points, phi) = latent.tables()?;
    let (bags, others) = (draw.bags.as_view(), draw.others.as_view());
    let count = points.len() / 2;
    let shape = Shape::new(emission_model, count, 2, phi.len() / count, bags.features())?;
    let mut map = Gtm::allocate(shape, &points, &phi, Priors::default())?;
    if exposed {
        map.set_reference(bags.tokens() / bags.len() as f64)?;
    }
    map.initialise(&bags, SPREAD)?;
    let mut learner = Learner::allocate(map, Options { newton_steps: 3, ..Options::default() })?;
    let mut statistics = Statistics::allocate(shape)?;
    let plan = EmOptions { iterations: ITERATIONS, tolerance: 0.0 }.check()?;
    let started = Instant::now();
    let outcome = plan.fit(&mut learner, &bags, &mut statistics, no_observer)?;
    row.seconds.add(started.elapsed().as_secs_f64() / ITERATIONS as f64);
    let place = |bags: &Csr<'_, u32>| -> Fallible<(Vec<f64>, f64)> {
        let (mut places, mut evidence) = (vec![0.0; 2 * bags.len()], 0.0);
        let mut q = vec![0.0; count];
        for (n, place) in places.chunks_exact_mut(2).enumerate() {
            evidence += learner.emissions().posterior(bags, n, &mut q, &mut [])?;
            learner.emissions().mean(&q, place)?;
        }
        Ok((places, evidence / bags.len() as f64))
    };
    let [accuracy, silhouette] = draw.separation(&place(&bags)?.0)?;
    row.accuracy.add(accuracy);
    row.silhouette.add(silhouette);
    row.fitted.add(-outcome.free_energy / bags.len() as f64);
    row.held_out.add(place(&others)?.1);
    Ok(())
}

fn start(draw: &Draw, row: &mut Row) -> Fallible<()> {
    let (points, phi) = Latent::GridRbf.tables()?;
    let bags = draw.bags.as_view();
    let count = points.len() / 2;
    let shape = Shape::new(EmissionModel::Poisson, count, 2, phi.len() / count, bags.features())?;
    let map = Gtm::allocate(shape, &points, &phi, Priors::default())?;
    let scores = principal_scores(&Documents::<_, f64>::new(&bags), 2)?;
    let r = map.initial_responsibilities(&scores, SPREAD);
    let coordinate = |r: &[f64], axis: usize| -> f64 {
        r.iter().zip(&points[axis * count..][..count]).map(|(r, x)| r * x).sum()
    };
    let places: Vec<f64> = r.chunks_exact(count).flat_map(|r| [coordinate(r, 0), coordinate(r, 1)]).collect();
    let [accuracy, silhouette] = draw.separation(&places)?;
    row.accuracy.add(accuracy);
    row.silhouette.add(silhouette);
    Ok(())
}

fn show(name: &str, latent: &str, row: &Row) {
    let deviation = |summary: &Summary, draws: f64| summary.standard_error().unwrap_or(0.0) * draws.sqrt();
    let draws = env::args().nth(1).and_then(|draws| draws.parse().ok()).unwrap_or(6.0);
    let figure = |summary: &Summary, digits: usize| match summary.mean() {
        Some(mean) => format!("{mean:.digits$} ({:.digits$})", deviation(summary, draws)),
        None => "".into(),
    };
    println!(
        "| {name} | {latent} | {} | {} | {} | {} | {} |",
        figure(&row.accuracy, 3),
        figure(&row.silhouette, 3),
        figure(&row.fitted, 2),
        figure(&row.held_out, 2),
        row.seconds.mean().map_or(String::new(), |s| format!("{:.0}", 1e3 * s)),
    );
}

fn main() -> Fallible<()> {
    let mut arguments = env::args().skip(1);
    let draws = arguments.next().map_or(Ok(6), |draws| draws.parse::<u64>())?;
    let path = arguments.next().map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/classic3/classic3.tsv.gz"),
        PathBuf::from,
    );
    let first = arguments.next().map_or(Ok(1), |first| first.parse::<u64>())?;
    let (DataSet::Documents(documents), _) = read(&path, &ReadOptions::default())? else {
        return Err("no documents".into());
    };
    let class = |label: &Option<String>| {
        ["MED", "CISI", "CRAN"].iter().position(|name| label.as_deref() == Some(name))
    };
    // A title that the text does not begin with belongs to it: the first words of it stand for a missing one.
    let whole = |title: &str, text: String| {
        let title = title.trim_end_matches('…');
        if text.starts_with(title) { text } else { format!("{title} {text}") }
    };
    let texts: Vec<(usize, String)> = documents
        .into_iter()
        .filter_map(|document| Some((class(&document.label)?, whole(&document.title, document.text))))
        .collect();
    let draws: Vec<Draw> =
        (first..first + draws).map(|seed| Draw::new(&texts, seed)).collect::<Fallible<_>>()?;

    println!("| law | latent space | 1-NN | silhouette | ln p, fitted | ln p, held out | ms an iteration |");
    println!("|---|---|---|---|---|---|---|");
    let mut row = Row::default();
    draws.iter().try_for_each(|draw| start(draw, &mut row))?;
    show("(start)", "grid", &row);
    let zip = EmissionModel::Zip(Inflation::Document);
    let emission_models = [
        ("zero-inflated Poisson", zip, false),
        ("zero-inflated Poisson, latent", EmissionModel::Zip(Inflation::Latent), false),
        ("Poisson", EmissionModel::Poisson, false),
        ("Poisson, length exposure", EmissionModel::Poisson, true),
        ("Bernoulli", EmissionModel::Bernoulli, false),
        ("multinomial", EmissionModel::Multinomial, false),
        ("Gaussian", EmissionModel::Gaussian, false),
    ];
    for (name, emission_model, exposed) in emission_models {
        for latent in Latent::ALL {
            if latent == Latent::RandomSinh && emission_model != zip {
                continue;
            }
            let mut row = Row::default();
            draws.iter().try_for_each(|draw| fit(draw, emission_model, latent, exposed, &mut row))?;
            show(name, latent.name(), &row);
        }
    }
    Ok(())
}
