//! One function for each main operation, so that `measure` can read its code and stack from the linked program; and
//! how many instructions a posterior takes, on a grid of 16x16 cells and 500 features.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

#[path = "../models.rs"]
mod models;

use core::hint::black_box;

use cortex_m::peripheral::{SYST, syst::SystClkSource};
use cortex_m_semihosting::{debug, hprintln};
use countgrid_classify::{ClassifyError, SupportVectors, SvmOptions};
use countgrid_counts::{Bag, Bags, BagsError, Csr};
use countgrid_em::{Fit, FreeEnergy, Learn, TablesMutExt};
use countgrid_grid::{
    Code, Grid, GridError, Grouping, Labels, Learner, LogHistograms, Options, QuantisedHistograms, Shape,
    Statistics, Terms,
};
use countgrid_scores::{ScoreError, Similarity};
use countgrid_torus::{Torus, constant};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

const SHAPE: Shape<2> = constant!(Shape::from_sides([16, 16], [4, 4], 500));
const CELLS: usize = SHAPE.cells();
type Sums<'a> = Statistics<f32, &'a mut [f32], 2>;
type Model<'a> = Learner<f32, &'a mut [f32], 2>;

#[inline(never)]
fn torus_cell_at(torus: &Torus<2>, at: [isize; 2]) -> usize {
    torus.cell_at(at)
}
#[inline(never)]
fn math_exp_slice(x: &mut [f32]) {
    countgrid_math::exp_slice(x);
}
#[inline(never)]
fn math_softmax(x: &mut [f32]) -> f32 {
    countgrid_math::softmax(x)
}
#[inline(never)]
fn prefix_window_sums(plane: &[f32], sums: &mut [f32], scratch: &mut [f32]) -> bool {
    countgrid_prefix::window_sums(SHAPE.windows(), plane, sums, scratch).is_ok()
}
#[inline(never)]
fn counts_csr_new<'a>(
    offsets: &'a [usize],
    indices: &'a [u32],
    counts: &'a [u16],
) -> Result<Csr<'a, u16>, BagsError> {
    Csr::new(500, offsets, indices, counts)
}
#[inline(never)]
fn em_merge(sums: &mut [f32], others: &[f32]) -> bool {
    let table = [countgrid_em::Table { name: "sums", rows: 1, columns: CELLS }];
    let (Ok(mut a), Ok(b)) =
        (countgrid_em::TableBuffer::new(table, sums), countgrid_em::TableBuffer::new(table, others))
    else {
        return false;
    };
    a.merge(&b).is_ok()
}
#[inline(never)]
fn grid_new(table: &[f32]) -> Result<LogHistograms<f32, &[f32], 2>, GridError> {
    LogHistograms::new(SHAPE, table)
}
#[inline(never)]
fn grid_posterior_f32(
    table: &LogHistograms<f32, &[f32], 2>,
    bag: &Bag<'_, u16>,
    q: &mut [f32],
    scratch: &mut [f32],
) -> Result<f32, GridError> {
    table.posterior(bag, 0, q, scratch)
}
#[inline(never)]
fn grid_posterior_16(
    table: &QuantisedHistograms<u16, &[u8], 2>,
    bag: &Bag<'_, u16>,
    q: &mut [f32],
    scratch: &mut [u64],
) -> Result<f32, GridError> {
    table.posterior(bag, 0, q, scratch)
}
#[inline(never)]
fn grid_posterior_8(
    table: &QuantisedHistograms<u8, &[u8], 2>,
    bag: &Bag<'_, u16>,
    q: &mut [f32],
    scratch: &mut [u32],
) -> Result<f32, GridError> {
    table.posterior(bag, 0, q, scratch)
}
#[inline(never)]
fn grid_expectation<'a>(
    learner: &Model<'a>,
    bag: &Bag<'_, u16>,
    sums: &mut Sums<'a>,
) -> Result<f64, GridError> {
    learner.expectation(bag, sums)
}
#[inline(never)]
fn grid_maximization<'a>(learner: &mut Model<'a>, sums: &mut Sums<'a>) -> Result<(), GridError> {
    learner.maximization(sums)
}

#[inline(never)]
fn grid_terms(
    table: &LogHistograms<f32, &[f32], 2>,
    bag: &Bag<'_, u16>,
    terms: &mut [f32],
    scratch: &mut [f32],
) -> Result<f32, GridError> {
    Terms::new(table, Grouping::Location).free_energy_terms(bag, terms, scratch)
}
#[inline(never)]
fn grid_read_labels(table: &[f32], q: &[f32], read: &mut [f32]) -> Result<(), GridError> {
    Labels::new(SHAPE, read.len(), table)?.read(q, read)
}
#[inline(never)]
fn scores_gram(rows: &[f32], matrix: &mut [f32]) -> Result<(), ScoreError> {
    countgrid_scores::gram(Similarity::Intersection, CELLS, rows, matrix)
}
#[inline(never)]
fn scores_spread_rows(rows: &mut [f32], scratch: &mut [f32]) -> Result<(), ScoreError> {
    countgrid_scores::spread_rows(SHAPE.windows(), rows, scratch)
}
#[inline(never)]
fn classify_nearest(distances: &[f32]) -> Option<usize> {
    let mut found = [(0, 0.0); 3];
    countgrid_classify::nearest(distances.iter().copied().enumerate(), &mut found)
        .first()
        .map(|&(item, _)| item)
}
#[inline(never)]
fn classify_train<'a>(
    gram: &[f32],
    labels: &[usize],
    storage: &'a mut [f32],
    scratch: &mut [f32],
) -> Result<SupportVectors<f32, &'a mut [f32]>, ClassifyError> {
    SupportVectors::train(gram, labels, 2, &SvmOptions::default(), storage, scratch)
}
#[inline(never)]
fn classify_predict(
    machine: &SupportVectors<f32, &mut [f32]>,
    similarities: &[f32],
) -> Result<usize, ClassifyError> {
    machine.predict(similarities, &mut [0; 2])
}

/// Counts instructions: under `-icount shift=0` one takes a nanosecond, and SysTick counts at 25 MHz.
struct Counter(SYST);

impl Counter {
    const PER_TICK: u32 = 40;

    fn count(&mut self, work: impl FnOnce()) -> u32 {
        self.0.set_reload(0x00ff_ffff);
        self.0.clear_current();
        let before = SYST::get_current();
        work();
        before.wrapping_sub(SYST::get_current()) % (1 << 24) * Self::PER_TICK
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    let status = if measure().is_some() { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE };
    loop {
        debug::exit(status);
    }
}

fn codes<C: Code, const N: usize>(
    table: &LogHistograms<f32, &[f32], 2>,
    bytes: &mut [u8; N],
    plane: &mut [f32],
) -> Option<()> {
    QuantisedHistograms::<C, _, 2>::pack(table, bytes.as_mut_slice(), plane).ok()?;
    Some(())
}

fn measure() -> Option<()> {
    let mut syst = cortex_m::Peripherals::take()?.SYST;
    syst.set_clock_source(SystClkSource::Core);
    syst.set_reload(0x00ff_ffff);
    syst.enable_counter();
    let mut counter = Counter(syst);
    // A loop of two instructions shows that the counter counts them.
    let delay = |cycles| move || cortex_m::asm::delay(cycles);
    let loops = counter.count(delay(2_000_000)) - counter.count(delay(1_000_000));
    hprintln!("1000000 rounds of a loop of two instructions: {} instructions", loops);

    let mut pi = [0.0f32; SHAPE.grid_len()];
    let mut logs = [0.0; SHAPE.histograms_len::<f32>()];
    let mut scratch = [0.0; SHAPE.scratch_len::<f32>(1)];
    let mut grid = Grid::uniform_in(SHAPE, pi.as_mut_slice()).ok()?;
    grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
    LogHistograms::pack(&grid, logs.as_mut_slice(), &mut scratch).ok()?;
    let mut sixteen = [0; SHAPE.quantised_len::<u16>()];
    let mut eight = [0; SHAPE.quantised_len::<u8>()];
    let mut q = [0.0; CELLS];
    {
        let table = grid_new(black_box(&logs)).ok()?;
        codes::<u16, _>(&table, &mut sixteen, &mut scratch)?;
        codes::<u8, _>(&table, &mut eight, &mut scratch)?;
        let sixteen = QuantisedHistograms::<u16, _, 2>::new(SHAPE, sixteen.as_slice()).ok()?;
        let eight = QuantisedHistograms::<u8, _, 2>::new(SHAPE, eight.as_slice()).ok()?;
        // The table is flat: every window of every bag is scored.
        let features: [u32; 96] = core::array::from_fn(|n| 5 * n as u32 + 3);
        let counts: [u16; 96] = core::array::from_fn(|n| 1 + (n % 3) as u16);
        let mut of_size = |n: usize| -> Option<[u32; 3]> {
            let bag = Bag::new(500, features.get(..n)?, counts.get(..n)?).ok()?;
            let (mut wide, mut narrow) = ([0u64; CELLS], [0u32; CELLS]);
            let q = &mut q;
            Some([
                counter.count(|| _ = black_box(grid_posterior_f32(&table, &bag, q, &mut scratch))),
                counter.count(|| _ = black_box(grid_posterior_16(&sixteen, &bag, q, &mut wide))),
                counter.count(|| _ = black_box(grid_posterior_8(&eight, &bag, q, &mut narrow))),
            ])
        };
        let (small, large) = (of_size(32)?, of_size(96)?);
        let mut terms = [0.0; 3 * CELLS];
        let mut room = [0.0; 2048];
        let bag = Bag::new(500, &[3, 8], &[1u16, 2]).ok()?;
        black_box(grid_terms(&table, &bag, &mut terms, &mut room).ok()?);
        for ((kind, small), large) in ["f32", "16 bits", "8 bits"].into_iter().zip(small).zip(large) {
            let per = f64::from(large - small) / (64.0 * CELLS as f64);
            hprintln!(
                "{}: {} instructions for 32 features, {} for 96; {:.2} per feature and cell",
                kind,
                small,
                large,
                per
            );
        }
    }

    // The other operations, once each, so that they are linked.
    let offsets = [0, 2];
    let csr = counts_csr_new(black_box(&offsets), &[3, 8], &[1, 2]).ok()?;
    let bag = csr.bag(0)?;
    hprintln!("{} tokens", bag.tokens());
    let torus = Torus::new(black_box([16, 16])).ok()?;
    black_box(torus_cell_at(&torus, black_box([-1, 17])));
    math_exp_slice(&mut q);
    black_box(math_softmax(&mut q));
    black_box(prefix_window_sums(&black_box([0.5; CELLS]), &mut q, &mut scratch));
    black_box(em_merge(&mut q, &black_box([0.5; CELLS])));
    grid_read_labels(&black_box([0.5; 2 * CELLS]), &q, &mut [0.0; 2]).ok()?;
    let mut rows = black_box([0.25; 2 * CELLS]);
    scores_spread_rows(&mut rows, &mut scratch).ok()?;
    let mut matrix = [0.0; 4];
    scores_gram(&rows, &mut matrix).ok()?;
    black_box(classify_nearest(&q)?);
    let mut storage = [0.0; 3];
    let machine = classify_train(&matrix, &black_box([0, 1]), &mut storage, &mut [0.0; 2]).ok()?;
    black_box(classify_predict(&machine, &matrix[..2]).ok()?);
    let mut sums = [0.0; SHAPE.sums_len::<f32>()];
    let mut learner = Learner::new(grid, logs.as_mut_slice(), &mut scratch, Options::default()).ok()?;
    let mut statistics = Statistics::new(SHAPE, sums.as_mut_slice(), scratch.as_mut_slice()).ok()?;
    statistics.clear();
    black_box(grid_expectation(&learner, &bag, &mut statistics).ok()?);
    grid_maximization(&mut learner, &mut statistics).ok()?;
    others(&bag);
    Some(())
}

/// The other models, linked by a call that refuses its table.
fn others(bag: &Bag<'_, u16>) {
    static ZEROS: [f32; 32_768] = [0.0; 32_768];
    let (mut row, mut scratch) = ([0.0; models::TERMS], [0.0; 2048]);
    let (zeros, x) = (black_box(&ZEROS[..]), black_box([0, 3, 2]));
    let (paths, topics) = (&zeros[..models::PATHS.hmm_len()], &zeros[..models::MIXED.model_len()]);
    black_box(models::hmm_posterior(paths, &x, &mut row[..3 * models::STATES], &mut scratch));
    black_box(models::hmm_viterbi(paths, &x, &mut [0; 3], &mut scratch));
    black_box(models::hmm_terms(paths, &x, &mut row, &mut scratch));
    black_box(models::lda_posterior(topics, bag, &mut row[..models::TOPICS], &mut scratch));
    let (plane, wings) = (&zeros[..models::PLANE.emissions_len()], &zeros[..models::WINGS.model_len()]);
    black_box(models::gtm_posterior(plane, bag, &mut row[..models::POINTS], &mut [0.0; 2]));
    black_box(models::harmonium_topics(wings, bag, &mut row[..models::TOPICS]));
    hprintln!(
        "tables of f32 in flash and scratch in RAM, in bytes, of {} words or {} symbols:",
        models::WORDS,
        models::SYMBOLS
    );
    let sizes = [
        ("hmm", models::STATES, models::PATHS.hmm_len(), models::PATHS.scratch_len::<f32>(100)),
        ("lda", models::TOPICS, models::MIXED.model_len(), models::MIXED.posterior_scratch_len()),
        ("gtm", models::POINTS, models::PLANE.emissions_len(), models::PLANE.posterior_scratch_len()),
        ("harmonium", models::TOPICS, models::WINGS.model_len(), 0),
    ];
    for (model, states, table, scratch) in sizes {
        hprintln!("  {} of {}: {} and {}", model, states, 4 * table, 4 * scratch);
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    loop {
        debug::exit(debug::EXIT_FAILURE);
    }
}
