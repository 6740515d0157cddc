//! Tables of codes: how they are made, what they promise, and what they refuse.

use crate::common::{Problem, row_distance, softmax};
use countgrid_counts::{Bag, Bags, Dense};
use countgrid_grid::{Code, Grid, GridError, LogHistograms, QuantisedHistograms, Shape};
use countgrid_math::Real;
use proptest::prelude::*;

fn histograms<T: Real, const D: usize>(p: &Problem<D>) -> LogHistograms<T, Vec<T>, D> {
    let shape = p.shape();
    let grid = Grid::new(shape, p.tables::<T>()).unwrap();
    let mut scratch = vec![T::zero(); shape.plane_scratch_len()];
    LogHistograms::pack(&grid, vec![T::zero(); shape.histograms_len::<T>()], &mut scratch).unwrap()
}

fn quantised<C: Code, T: Real, const D: usize>(
    histograms: &LogHistograms<T, Vec<T>, D>,
) -> QuantisedHistograms<C, Vec<u8>, D> {
    let shape = *histograms.shape();
    // Whatever the storage held, every byte is written.
    let bytes = vec![0xa5; shape.quantised_len::<C>()];
    let table = QuantisedHistograms::<C, _, D>::pack(histograms, bytes, &mut vec![T::zero(); shape.cells()]);
    QuantisedHistograms::new(shape, table.unwrap().bytes().to_vec()).unwrap()
}

fn place<C: Code, B: Bags, const D: usize>(
    table: &QuantisedHistograms<C, Vec<u8>, D>,
    bags: &B,
    t: usize,
) -> Result<(Vec<f64>, f64), GridError> {
    let shape = table.shape();
    let mut q = vec![f32::NAN; shape.cells()];
    let mut sums = vec![C::Sum::default(); shape.quantised_scratch_len()];
    let evidence = table.posterior(bags, t, &mut q, &mut sums)?;
    Ok((q.into_iter().map(f64::from).collect(), f64::from(evidence)))
}

/// Reference, step and codes of a row.
type Row = (f64, f64, Vec<u32>);

/// The table by its definition: reference, step and codes `[cell]` of a row.
fn row<C: Code, const D: usize>(table: &QuantisedHistograms<C, Vec<u8>, D>, row: usize) -> Row {
    let (bytes, rows, cells) = (table.bytes(), table.shape().features() + 1, table.shape().cells());
    let float = |at: usize| f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let width = 8 / C::LANES;
    let code = |cell: usize| {
        let at = 8 * (rows + cell / C::LANES * rows + row) + cell % C::LANES * width;
        bytes[at..at + width].iter().rev().fold(0, |code, &byte| (code << 8) + u32::from(byte))
    };
    (float(8 * row), float(8 * row + 4), (0..cells).map(code).collect())
}

/// What f64 posteriors and evidence are off by themselves: see [`common::CLOSE`].
const CLOSE: f64 = crate::common::CLOSE;

/// Against [`LogHistograms`] in f64 and against the definition, each within what is promised.
fn keeps_its_bounds<C: Code, const D: usize>(p: &Problem<D>, most: f64) -> Result<(), TestCaseError> {
    let exact = histograms::<f64, D>(p);
    let table = quantised::<C, _, D>(&exact);
    let flat = p.flat();
    let bags = Dense::new(p.features, &flat).unwrap();
    let mut scratch = vec![0.0; p.shape().posterior_scratch_len::<f64>(1)];
    let rows: Vec<_> = (0..=p.features).map(|z| row(&table, z)).collect();
    for (t, counts) in p.counts.iter().enumerate() {
        let bound = table.error_bound(&bags, t).unwrap();
        prop_assert!(bound.total_variation < most, "vacuous: {bound:?}");
        let (q, evidence) = place(&table, &bags, t).unwrap();
        let mut exact_q = vec![0.0; p.cells()];
        let exact_evidence = exact.posterior(&bags, t, &mut exact_q, &mut scratch).unwrap();
        let variation = 0.5 * q.iter().zip(&exact_q).map(|(q, exact)| (q - exact).abs()).sum::<f64>();
        prop_assert!(variation <= bound.total_variation + CLOSE, "{variation} {bound:?}");
        let away = (evidence - exact_evidence).abs();
        prop_assert!(away <= bound.log_evidence + CLOSE * exact_evidence.abs(), "{away} {bound:?}");

        // From the codes, only weights and floats are rounded: the bound without its half steps.
        let weighted = |term: &dyn Fn(&Row) -> f64| {
            term(&rows[0]) + counts.iter().zip(&rows[1..]).map(|(c, row)| c * term(row)).sum::<f64>()
        };
        let steps = weighted(&|row| row.1);
        let scores: Vec<_> =
            (0..p.cells()).map(|k| weighted(&|row| row.0 - row.1 * f64::from(row.2[k]))).collect();
        let rest = bound.score - steps / 2.0 * (1.0 + 1.0 / 1024.0);
        let more = bound.total_variation - (bound.score / 2.0).tanh();
        let off = row_distance(&q, &softmax(&scores));
        prop_assert!(off <= (rest / 2.0).tanh() + more + CLOSE, "{off} {rest} {more}");
        let off = (crate::common::log_sum_exp(&scores) - evidence).abs();
        prop_assert!(off <= bound.log_evidence - bound.score + rest + CLOSE, "{off} {rest}");
    }
    Ok(())
}

/// At most 45 tokens of logarithms between log 0.01 and 0 (entries from 0.05 to 1, of at most five features), and a
/// prior between log 0.001 and 0: `S` is at most `46 · 7 / M`, and half of its half 0.32 with 8 bits, 0.0013 with 16.
fn eight_bits<const D: usize>(p: Problem<D>, _: u64) -> Result<(), TestCaseError> {
    keeps_its_bounds::<u8, D>(&p, 0.35)
}
fn sixteen_bits<const D: usize>(p: Problem<D>, _: u64) -> Result<(), TestCaseError> {
    keeps_its_bounds::<u16, D>(&p, 0.002)
}
in_every_dimension!(eight_bits, sixteen_bits);

const RING: Shape<1> = match Shape::from_sides([2], [1], 2) {
    Ok(shape) => shape,
    Err(_) => panic!(),
};

fn ring<C: Code>() -> QuantisedHistograms<C, Vec<u8>, 1> {
    let grid = Grid::new(RING, vec![0.25f64, 0.5, 0.75, 0.5, 0.5, 0.5]).unwrap();
    let packed = vec![0.0; RING.histograms_len::<f64>()];
    let histograms = LogHistograms::pack(&grid, packed, &mut [0.0; 64]).unwrap();
    quantised(&histograms)
}

#[test]
fn bytes_are_as_documented() {
    let [two, three] = [2.0f64, 1.5].map(f64::ln);
    let parameters = |most: f64| {
        [[0.5f64.ln(), 0.0], [0.5f64.ln(), two / most], [0.75f64.ln(), three / most]]
            .concat()
            .into_iter()
            .flat_map(|x| (x as f32).to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let codes = [0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0];
    assert_eq!(ring::<u8>().bytes(), [parameters(255.0), codes.to_vec()].concat());
    let codes = [0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0];
    assert_eq!(ring::<u16>().bytes(), [parameters(65535.0), codes.to_vec()].concat());
}

/// `q = softmax(log 0.25^c, log 0.5^c)`: what is coded at the ends of a range is exact but for weights.
#[test]
fn two_windows_by_hand() {
    for count in 1..30u8 {
        let bag = Bag::new(2, &[0], core::slice::from_ref(&count)).unwrap();
        let exact = 1.0 / (1.0 + 2.0f64.powi(count.into()));
        for (q, evidence) in [place(&ring::<u8>(), &bag, 0).unwrap(), place(&ring::<u16>(), &bag, 0).unwrap()]
        {
            // A weight is off by 2^-23 of itself at most, a score by that share of at most 21 nats.
            assert!((q[0] / exact - 1.0).abs() < 1e-5 || exact < 1e-7, "{count}: {} {exact}", q[0]);
            let log_evidence = (0.5 * (0.25f64.powi(count.into()) + 0.5f64.powi(count.into()))).ln();
            assert!((evidence - log_evidence).abs() < 1e-5, "{count}: {evidence} {log_evidence}");
        }
    }
}

/// The documented sum, term by term, for grids and bags of any size.
fn bounds_are_the_documented_sums<C: Code>(weights: u64) {
    let cells = 40;
    let shape = Shape::from_sides([cells], [1], 3).unwrap();
    let first = |cell: usize| 0.01 + 0.02 * cell as f64;
    let entries = (0..3 * cells).map(|at| match at / cells {
        0 => first(at % cells),
        1 => (1.0 - first(at % cells)) * 0.25,
        _ => (1.0 - first(at % cells)) * 0.75,
    });
    let prior = (0..cells).map(|cell| (2.0 + (cell % 3) as f64) / 119.0);
    let grid = Grid::new(shape, entries.chain(prior).collect::<Vec<f64>>()).unwrap();
    let packed = vec![0.0; shape.histograms_len::<f64>()];
    let mut scratch = vec![0.0; shape.plane_scratch_len()];
    let table = quantised::<C, _, 1>(&LogHistograms::pack(&grid, packed, &mut scratch).unwrap());
    let most = f64::from(C::MOST);
    for counts in [[0u16, 0, 0], [1, 0, 0], [3, 2, 0], [700, 40, 9000]] {
        let bags = Dense::new(3, &counts).unwrap();
        let rows: Vec<_> = (0..=3)
            .map(|at| (if at == 0 { 1.0 } else { f64::from(counts[at - 1]) }, row(&table, at)))
            .filter(|&(count, _)| count > 0.0)
            .collect();
        let steps: f64 = rows.iter().map(|(count, row)| count * row.1).sum();
        let references: f64 = rows.iter().map(|(count, row)| count * row.0.abs()).sum();
        // Weights are as large as they may be together.
        let weigh =
            |f: i32| rows.iter().map(|(count, row)| (count * row.1 * 2f64.powi(f)) as u64).sum::<u64>();
        let f = (-126..=126).rev().find(|&f| weigh(f) <= weights).unwrap();
        let u = 2f64.powi(-24);
        let threshold = (cells as f64).ln() - u.ln();
        let expected = (steps / 2.0
            + most * rows.len() as f64 * 2f64.powi(-f)
            + most * steps * 3.0 * u
            + u * (threshold + 2.0))
            * (1.0 + 2f64.powi(-10));
        let bound = table.error_bound(&bags, 0).unwrap();
        // The threshold is rounded to f32, and counts times steps to f64.
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * u * threshold + 1e-12 * b;
        assert!(close(bound.score, expected), "{counts:?}: {bound:?} {expected}");
        let sum = (cells as f64 / 16.0 + 9.0) * u;
        let variation = (expected / 2.0).tanh() + sum;
        assert!(close(bound.total_variation, variation), "{counts:?}: {bound:?} {variation}");
        let evidence = expected + sum + 4.0 * u * (references + most * steps + (cells as f64).ln());
        assert!(close(bound.log_evidence, evidence), "{counts:?}: {bound:?} {evidence}");
    }
}

#[test]
fn bounds_are_as_documented() {
    bounds_are_the_documented_sums::<u8>(1 << 24);
    bounds_are_the_documented_sums::<u16>(u32::MAX.into());
}

/// Of references as different as 200 million and 5 none is lost: all windows are alike, and the evidence is their sum.
#[test]
fn references_add_up_without_loss() {
    const FEATURES: usize = 65;
    let shape = Shape::from_sides([2], [1], FEATURES).unwrap();
    let share = |z: usize| if z == 0 { 0.5 } else { 0.5 / 64.0 };
    let tables = (0..2 * FEATURES).map(|at| share(at / 2)).chain([0.5; 2]);
    let grid = Grid::new(shape, tables.collect::<Vec<f64>>()).unwrap();
    let packed = vec![0.0; shape.histograms_len::<f64>()];
    let mut scratch = vec![0.0; shape.plane_scratch_len()];
    let histograms = LogHistograms::pack(&grid, packed, &mut scratch).unwrap();
    let table = quantised::<u8, _, 1>(&histograms);
    let mut counts = [1u32; FEATURES];
    counts[0] = 1 << 28; // each of the others is less than half an ulp of its product
    let bags = Dense::new(FEATURES, &counts).unwrap();
    let (q, evidence) = place(&table, &bags, 0).unwrap();
    assert_eq!(q, [0.5, 0.5]);
    // Products are rounded to f32, sums are not: the prior's of two windows cancels against their number.
    let product = |z: usize| f64::from((f64::from(counts[z]) * row(&table, z + 1).0) as f32);
    let others = (1..FEATURES).map(product).sum::<f64>();
    let expected = product(0) + others;
    let apart = f64::from(f32::EPSILON) * expected.abs();
    assert!(others.abs() > 8.0 * apart, "together they are several");
    assert!((evidence - expected).abs() <= apart, "{evidence} {expected}");
}

fn scratch_is_minimal<C: Code>() {
    let (table, bag) = (ring::<C>(), Bag::new(2, &[1], &[3u8]).unwrap());
    let mut sums = [C::Sum::default(); 3];
    let needed = RING.quantised_scratch_len();
    let length = |table, expected, found| Err(GridError::Length { table, expected, found });
    let mut q = [0.0; 2];
    assert_eq!(table.posterior(&bag, 0, &mut q, &mut sums[..needed - 1]), length("scratch", 2, 1));
    let exactly = table.posterior(&bag, 0, &mut q, &mut sums[..needed]).unwrap();
    assert_eq!(table.posterior(&bag, 0, &mut q, &mut sums), Ok(exactly));
    assert_eq!(table.posterior(&bag, 0, &mut q[..1], &mut sums), length("q", 2, 1));
    assert_eq!(table.posterior(&bag, 0, &mut [0.0; 3], &mut sums), length("q", 2, 3));

    let bytes = table.bytes().to_vec();
    let short = &bytes[1..];
    let error = QuantisedHistograms::<C, _, 1>::new(RING, short).unwrap_err();
    assert_eq!(Err::<f32, _>(error), length("codes", 48, 47));
    let grid = Grid::new(RING, vec![0.25f32, 0.5, 0.75, 0.5, 0.5, 0.5]).unwrap();
    let packed = vec![0.0; RING.histograms_len::<f32>()];
    let histograms = LogHistograms::pack(&grid, packed, &mut [0.0; 64]).unwrap();
    let pack = |bytes, scratch: usize| {
        let storage = vec![0; bytes];
        QuantisedHistograms::<C, _, 1>::pack(&histograms, storage, &mut vec![0.0; scratch]).map(|_| 0.0)
    };
    assert_eq!(pack(48, 1), length("scratch", 2, 1));
    assert_eq!(pack(49, 2), length("codes", 48, 49));
    assert_eq!(pack(48, 2), Ok(0.0));
}

#[test]
fn lengths_are_exact() {
    scratch_is_minimal::<u8>();
    scratch_is_minimal::<u16>();
}

#[test]
fn what_is_refused() {
    let table = ring::<u8>();
    let place = |bag: Bag<'_, f32>, t| place(&table, &bag, t).map(|_| ());
    assert_eq!(
        place(Bag::new(3, &[2], &[1.0]).unwrap(), 0),
        Err(GridError::Features { expected: 2, found: 3 })
    );
    assert_eq!(place(Bag::new(2, &[0], &[1.0]).unwrap(), 1), Err(GridError::NoSuchBag { bag: 1, bags: 1 }));
    // Scores are finite, evidence is not.
    let overflow = Err(GridError::Overflow { bag: 0 });
    assert_eq!(place(Bag::new(2, &[0, 1], &[f32::MAX; 2]).unwrap(), 0), overflow);
    for (at, value, error) in [
        (8, f32::NAN, GridError::Probability { table: "references", feature: 0, cell: 0 }),
        (16, 0.1, GridError::Probability { table: "references", feature: 1, cell: 0 }),
        (16, f32::NEG_INFINITY, GridError::Probability { table: "references", feature: 1, cell: 0 }),
        (12, -1.0, GridError::Step { row: 1 }),
        (4, f32::INFINITY, GridError::Step { row: 0 }),
        (20, f32::NAN, GridError::Step { row: 2 }),
    ] {
        let mut bytes = table.bytes().to_vec();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        assert_eq!(QuantisedHistograms::<u8, _, 1>::new(RING, bytes).unwrap_err(), error);
    }
    // A table that nobody packs, but `LogHistograms` reads.
    let mut logs = vec![0.0f32; RING.histograms_len::<f32>()];
    logs[RING.cells()..f32::LANES].fill(f32::NEG_INFINITY); // padding has no prior
    logs[f32::LANES] = f32::NEG_INFINITY;
    let logs = LogHistograms::<f32, _, 1>::new(RING, logs).unwrap();
    let error = QuantisedHistograms::<u8, _, 1>::pack(&logs, vec![0; 48], &mut [0.0; 2]).unwrap_err();
    assert_eq!(error, GridError::Probability { table: "log_histograms", feature: 0, cell: 0 });
}

/// Any bytes and any counts: an error, or a distribution.
fn anything<C: Code>(mut bytes: Vec<u8>, counts: [f32; 3], plausible: bool) -> Result<(), TestCaseError> {
    let shape = Shape::from_sides([3, 4], [2, 2], 3).unwrap();
    bytes.resize(shape.quantised_len::<C>(), 0x77);
    if plausible {
        // Parameters as they might be, codes as they come.
        for parameters in bytes[..32].chunks_exact_mut(8) {
            parameters[3] |= 0x80;
            parameters[7] &= 0x7f;
        }
    }
    let Ok(table) = QuantisedHistograms::<C, _, 2>::new(shape, bytes) else { return Ok(()) };
    let bags = Dense::new(3, &counts).unwrap();
    if let Ok((q, evidence)) = place(&table, &bags, 0) {
        prop_assert!(q.iter().all(|q| (0.0..=1.0).contains(q)), "{q:?}");
        // Twelve roundings of parts, twelve of the sum.
        prop_assert!((q.iter().sum::<f64>() - 1.0).abs() < 24.0 * f64::from(f32::EPSILON), "{q:?}");
        prop_assert!(evidence.is_finite());
        let bound = table.error_bound(&bags, 0).unwrap();
        prop_assert!(bound.score >= 0.0 && (0.0..=1.1).contains(&bound.total_variation), "{bound:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_an_error_or_a_table(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        counts in prop::array::uniform3(prop_oneof![
            Just(0.0f32),
            (1u8..100).prop_map(f32::from),
            (0u32..0x7f80_0000).prop_map(f32::from_bits),
        ]),
        plausible in any::<bool>(),
    ) {
        anything::<u8>(bytes.clone(), counts, plausible)?;
        anything::<u16>(bytes, counts, plausible)?;
    }

    /// Bytes have no alignment.
    #[test]
    fn any_address_serves(p in crate::common::problem::<2>(5), offset in 0usize..8) {
        let table = quantised::<u16, _, 2>(&histograms::<f32, 2>(&p));
        let moved = [vec![0; offset], table.bytes().to_vec()].concat();
        let there = QuantisedHistograms::<u16, _, 2>::new(p.shape(), &moved[offset..]).unwrap();
        let (flat, mut sums) = (p.flat(), vec![0; p.cells()]);
        let (mut a, mut b) = (vec![0.0; p.cells()], vec![0.0; p.cells()]);
        let bags = Dense::new(p.features, &flat).unwrap();
        prop_assert_eq!(table.posterior(&bags, 0, &mut a, &mut sums), there.posterior(&bags, 0, &mut b, &mut sums));
        prop_assert_eq!(a, b);
    }
}
