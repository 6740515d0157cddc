//! Each check of a contract finds the model that breaks it.

use core::convert::Infallible;

use countgrid_em::testing::{
    Broken, Contract, Tolerance, check_additivity, check_expected_counts_gradient, check_objective_falls,
    check_tables, check_terms_sum,
};
use countgrid_em::{
    Distributions, ExpectedCounts, Fit, FreeEnergy, Learn, Table, TableBuffer, Tables, TablesError, TablesMut,
};

const CLOSE: Tolerance = Tolerance::mixed(1e-9);

type Buffer = TableBuffer<f64, [Table; 1], [f64; 2]>;

/// What is wrong with a model.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The first batch sets statistics instead of adding them.
    Sets,
    /// Each batch costs a nat more.
    Offset,
    /// The M-step goes away from the optimum.
    Away,
    /// Not a number after the M-step.
    Nan,
}

/// A coin: the share of heads. The datum is whether each throw is heads.
struct Coin {
    heads: f64,
    fault: Fault,
}

impl Fit<[bool]> for Coin {
    fn expectation(&self, batch: &[bool], sums: &mut Buffer) -> Result<f64, Infallible> {
        let heads = batch.iter().filter(|&&head| head).count() as f64;
        let tails = batch.len() as f64 - heads;
        if self.fault == Fault::Sets {
            sums.buffer_mut().fill(0.0);
        }
        sums.buffer_mut()[0] += heads;
        sums.buffer_mut()[1] += tails;
        let offset = if self.fault == Fault::Offset { 1.0 } else { 0.0 };
        Ok(offset - heads * self.heads.ln() - tails * (1.0 - self.heads).ln())
    }
}
impl Learn for Coin {
    type Statistics = Buffer;
    type Error = Infallible;
    fn maximization(&mut self, sums: &mut Buffer) -> Result<(), Infallible> {
        let share = sums.buffer()[0] / (sums.buffer()[0] + sums.buffer()[1]);
        self.heads = match self.fault {
            Fault::Away => self.heads / 2.0,
            Fault::Nan => f64::NAN,
            _ => share,
        };
        Ok(())
    }
}

const THROWS: [bool; 6] = [true, true, false, true, true, false];

fn sums() -> Buffer {
    TableBuffer::new([Table::new("throws", 1, 2)], [0.0; 2]).unwrap()
}

fn additivity(fault: Fault, parts: [&[bool]; 2]) -> Result<(), Broken<Infallible>> {
    check_additivity(&Coin { heads: 0.25, fault }, &THROWS[..], parts, &mut sums(), CLOSE)
}

#[test]
fn statistics_that_do_not_add_up() {
    let (first, second) = THROWS.split_at(2);
    assert_eq!(additivity(Fault::None, [first, second]), Ok(()));
    let contract = |fault, parts| match additivity(fault, parts) {
        Err(Broken::Contract(contract)) => contract,
        other => panic!("{other:?}"),
    };
    let element = Contract::StatisticsOfParts { element: 0, parts: 2.0, whole: 4.0 };
    assert_eq!(contract(Fault::Sets, [first, second]), element);
    assert!(matches!(contract(Fault::Offset, [first, second]), Contract::FreeEnergyOfParts { .. }));
    assert!(matches!(contract(Fault::None, [first, first]), Contract::FreeEnergyOfParts { .. }));
}

#[test]
fn an_objective_that_rises() {
    let check =
        |fault| check_objective_falls(&mut Coin { heads: 0.25, fault }, &THROWS[..], &mut sums(), 3, CLOSE);
    let objectives = check(Fault::None).unwrap();
    assert!(objectives.len() == 4 && objectives[1] < objectives[0] && objectives[3] == objectives[1]);
    for fault in [Fault::Away, Fault::Nan] {
        let broken = check(fault).unwrap_err();
        assert!(matches!(broken, Broken::Contract(Contract::Rises { iteration: 1, .. })), "{broken}");
    }
}

/// Terms 1 and 2, with an error in the sum or what scratch held in a term.
struct Terms {
    off: f64,
    reads_scratch: bool,
}

impl FreeEnergy<()> for Terms {
    type Scalar = f64;
    type Error = Infallible;
    fn term_count(&self, (): &()) -> usize {
        2
    }
    fn scratch_len(&self, (): &()) -> usize {
        1
    }
    fn free_energy_terms(&self, (): &(), terms: &mut [f64], scratch: &mut [f64]) -> Result<f64, Infallible> {
        terms.copy_from_slice(&[1.0, 2.0]);
        if self.reads_scratch && scratch[0] < 0.0 {
            terms[1] += 1e-12;
        }
        Ok(3.0 + self.off)
    }
}

#[test]
fn terms_that_do_not_sum() {
    let check = |off, reads_scratch| check_terms_sum(&Terms { off, reads_scratch }, &(), CLOSE);
    assert_eq!(check(0.0, false), Ok(3.0));
    let terms = Contract::Terms { sum: 3.0, free_energy: 3.5 };
    assert_eq!(check(0.5, false), Err(Broken::Contract(terms)));
    let nan = check(f64::NAN, false).unwrap_err();
    assert!(matches!(nan, Broken::Contract(Contract::Terms { .. })));
    let scratch = check(0.0, true).unwrap_err();
    assert!(matches!(scratch, Broken::Contract(Contract::Scratch { term: 1, .. })), "{scratch}");
}

/// Two dice of three faces, in a row or a column each, with a rate beside them.
struct Die<const COLUMNS: bool> {
    tables: TableBuffer<f64, [Table; 2], [f64; 7]>,
    factor: f64,
    off: f64,
}

impl<const COLUMNS: bool> Die<COLUMNS> {
    fn new([[a, b, c], [d, e, f]]: [[f64; 3]; 2], factor: f64, off: f64) -> Self {
        let (table, [a, b, c, d, e, f]) = match COLUMNS {
            true => (Table::new("faces", 3, 2), [a, d, b, e, c, f]),
            false => (Table::new("faces", 2, 3), [a, b, c, d, e, f]),
        };
        let tables = TableBuffer::new([table, Table::new("rate", 1, 1)], [a, b, c, d, e, f, 2.0]).unwrap();
        Self { tables, factor, off }
    }
}

impl<const COLUMNS: bool> Tables for Die<COLUMNS> {
    type Scalar = f64;
    fn layout(&self) -> &[Table] {
        self.tables.layout()
    }
    fn buffer(&self) -> &[f64] {
        self.tables.buffer()
    }
}

/// `log p = ln θ_face - rate`.
fn log_p(tables: &[f64], face: usize) -> f64 {
    tables[face].ln() - tables[6]
}

impl<const COLUMNS: bool> ExpectedCounts<usize> for Die<COLUMNS> {
    type Error = Infallible;
    const DISTRIBUTIONS: &'static [Distributions] =
        &[if COLUMNS { Distributions::Columns } else { Distributions::Rows }, Distributions::None];
    fn counts_scratch_len(&self, _: &usize) -> usize {
        0
    }
    fn expected_counts(&self, &face: &usize, counts: &mut [f64], _: &mut [f64]) -> Result<f64, Infallible> {
        counts.fill(0.0);
        counts[face] = self.factor;
        counts[6] = -1.0;
        Ok(log_p(self.buffer(), face) + self.off)
    }
}

#[test]
fn counts_that_are_no_gradient() {
    fn check<const COLUMNS: bool>(factor: f64, off: f64, face: usize) -> Result<(), Broken<Infallible>> {
        let die = Die::<COLUMNS>::new([[0.2, 0.5, 0.3], [0.1, 0.3, 0.6]], factor, off);
        let tolerance = Tolerance::absolute(1e-8); // the step's square, and 1e-15 / 1e-5
        check_expected_counts_gradient(&die, |tables| log_p(tables, face), &face, 1e-5, tolerance)
    }
    for face in 0..6 {
        assert_eq!(check::<true>(1.0, 0.0, face), Ok(()));
        assert_eq!(check::<false>(1.0, 0.0, face), Ok(()));
        let broken = [check::<true>(1.1, 0.0, face), check::<false>(0.9, 0.0, face)];
        for broken in broken {
            assert!(matches!(broken, Err(Broken::Contract(Contract::Gradient { .. }))));
        }
        let broken = check::<true>(1.0, 0.5, face);
        assert!(matches!(broken, Err(Broken::Contract(Contract::LogLikelihood { .. }))));
    }
}

#[test]
fn layouts_that_are_none() {
    struct Loose(Vec<Table>, Vec<f64>);
    impl Tables for Loose {
        type Scalar = f64;
        fn layout(&self) -> &[Table] {
            &self.0
        }
        fn buffer(&self) -> &[f64] {
            &self.1
        }
    }
    let table = |name| Table::new(name, 1, 2);
    assert_eq!(check_tables(&Loose(vec![table("a"), table("b")], vec![0.0; 4])), Ok(()));
    let twice = check_tables(&Loose(vec![table("a"), table("b"), table("a")], vec![0.0; 6]));
    assert_eq!(twice, Err(Contract::Name { table: "a" }));
    let length = TablesError::Length { expected: 4, found: 3 };
    let short = check_tables(&Loose(vec![table("a"), table("b")], vec![0.0; 3]));
    assert_eq!(short, Err(Contract::Layout(length)));
}

#[test]
fn nothing_is_near_what_is_not_finite() {
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    for tolerance in [Tolerance::absolute(1e300), Tolerance::relative(0.5), Tolerance::mixed(0.5)] {
        for (a, b) in
            [(infinity, 1.0), (-infinity, 1.0), (infinity, -infinity), (infinity, infinity), (nan, 1.0)]
        {
            assert!(!tolerance.allows(a, b) && !tolerance.allows(b, a), "{tolerance:?}: {a} and {b}");
        }
        assert!(tolerance.allows(3.0, 2.5));
    }
}
