//! Instructions that the kernels take, counted by Callgrind: the same on a busy machine as on a quiet one.
//!
//! Needs `valgrind` and `cargo install gungraun-runner --version 0.20.0`. Counts are those of the release build
//! on x86-64 with AVX2, which Callgrind knows; on other machines they say nothing.
//!
//!     cargo bench --features instructions --bench instructions
//!
//! fails when a count passes the one in `instructions.txt` by more than [`GROWTH`], or is not there. The counts are
//! those of the compiler in the file's first line. When a difference is meant, or the compiler is another, write the
//! file anew, in `benches/`:
//!
//!     (rustc --version | sed 's/^/# /'
//!      cargo bench --features instructions --bench instructions -- --color=never | awk '
//!         /^instructions::/ { sub(":.*", "", $2); n = split($1, path, "::"); name = path[n] "/" $2 }
//!         /^ *Instructions:/ { sub("[|].*", "", $2); print name, $2 }') > instructions.txt.new
//!     mv instructions.txt.new instructions.txt

use std::hint::black_box;

use countgrid_benches::Corpus;
use countgrid_counts::CsrBuf;
use countgrid_em::{Fit, Learn};
use countgrid_grid::{Grid, Learner, Options, Shape, Statistics};
use countgrid_math::{AlignedVec, Level, Real, exp_slice, ln_slice, set_level};
use countgrid_prefix::{Axis, Direction, axes, scratch_len, sums_along};
use countgrid_torus::{Torus, Windows};
use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// In percent. Leaves room for what a change elsewhere does to inlining, while a pass over the data more, or a loop
/// that is no longer vectorised, is far above it.
const GROWTH: u64 = 5;

/// What [`GROWTH`] allows the benchmark of that name; nothing if it was never recorded.
fn at_most(name: &str) -> LibraryBenchmarkConfig {
    let recorded = include_str!("../instructions.txt")
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let count: u64 = recorded.map_or(0, |count| count.parse().expect("a name and a count"));
    let mut callgrind = Callgrind::with_args(["--cache-sim=no"]);
    callgrind.hard_limits([(EventKind::Ir, count + count * GROWTH / 100)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}

fn vectors() {
    assert_eq!(set_level(Level::Avx2), Level::Avx2, "the counts are for AVX2");
}

struct Planes {
    axes: Vec<Axis>,
    direction: Direction,
    table: Vec<f32>,
    sums: Vec<f32>,
    scratch: Vec<f32>,
}

impl Planes {
    fn sum(&mut self) {
        sums_along(&self.axes, self.direction, &self.table, &mut self.sums, &mut self.scratch)
            .expect("the lengths fit");
    }
}

/// Some 16 thousand elements.
fn planes<const D: usize>(extents: [usize; D], sides: [usize; D], direction: Direction) -> Planes {
    vectors();
    let windows = Torus::new(extents).and_then(|torus| Windows::new(torus, sides)).expect("windows fit");
    let cells = windows.torus().cells();
    let table: Vec<f32> = (0..16_384 / cells * cells).map(|i| (i % 97) as f32).collect();
    Planes {
        axes: axes(&windows).to_vec(),
        direction,
        sums: table.clone(),
        table,
        scratch: vec![0.0; scratch_len(&windows)],
    }
}

#[library_benchmark(setup = planes)]
#[bench::line_1024_by_25(args = ([1024], [25], Direction::Forward), config = at_most("windows/line_1024_by_25"))]
#[bench::line_400_by_9(args = ([400], [9], Direction::Forward), config = at_most("windows/line_400_by_9"))]
#[bench::plane_40_by_5(args = ([40; 2], [5; 2], Direction::Forward), config = at_most("windows/plane_40_by_5"))]
#[bench::plane_120_by_20(args = ([120; 2], [20; 2], Direction::Forward), config = at_most("windows/plane_120_by_20"))]
#[bench::cube_12_by_3(args = ([12; 3], [3; 3], Direction::Forward), config = at_most("windows/cube_12_by_3"))]
#[bench::five_axes_4_by_2(args = ([4; 5], [2; 5], Direction::Forward), config = at_most("windows/five_axes_4_by_2"))]
#[bench::spread_line_1024_by_25(args = ([1024], [25], Direction::Adjoint), config = at_most("windows/spread_line_1024_by_25"))]
#[bench::spread_plane_40_by_5(args = ([40; 2], [5; 2], Direction::Adjoint), config = at_most("windows/spread_plane_40_by_5"))]
#[bench::spread_plane_120_by_20(args = ([120; 2], [20; 2], Direction::Adjoint), config = at_most("windows/spread_plane_120_by_20"))]
#[bench::spread_cube_12_by_3(args = ([12; 3], [3; 3], Direction::Adjoint), config = at_most("windows/spread_cube_12_by_3"))]
fn windows(mut planes: Planes) -> Planes {
    black_box(&mut planes).sum();
    planes
}

/// 4,096 differences of log scores.
fn scores<T: Real>() -> Vec<T> {
    vectors();
    (0..4096).map(|i| T::from_f64(-40.0 * f64::from(i) / 4096.0)).collect()
}

/// As many probabilities.
fn probabilities<T: Real>() -> Vec<T> {
    vectors();
    (0..4096).map(|i| T::from_f64(1e-12 + f64::from(i) / 4096.0)).collect()
}

#[library_benchmark]
#[bench::f32(args = (), setup = scores::<f32>, config = at_most("exp/f32"))]
#[bench::f64(args = (), setup = scores::<f64>, config = at_most("exp/f64"))]
fn exp<T: Real>(mut x: Vec<T>) -> Vec<T> {
    exp_slice(black_box(&mut x));
    x
}

#[library_benchmark]
#[bench::f32(args = (), setup = probabilities::<f32>, config = at_most("ln/f32"))]
#[bench::f64(args = (), setup = probabilities::<f64>, config = at_most("ln/f64"))]
fn ln<T: Real>(mut x: Vec<T>) -> Vec<T> {
    ln_slice(black_box(&mut x));
    x
}

struct Problem<T: Real> {
    bags: CsrBuf<u32>,
    learner: Learner<T, AlignedVec<T>, 2>,
    sums: Statistics<T, AlignedVec<T>, 2>,
}

impl<T: Real> Problem<T> {
    fn expectation(&mut self) {
        self.sums.clear();
        self.learner.expectation(&self.bags, &mut self.sums).expect("the shapes agree");
    }

    fn maximization(&mut self) {
        self.learner.maximization(&mut self.sums).expect("the shapes agree");
    }
}

/// 200 bags over 300 features on 20 × 20 cells, windows of 5 × 5, after some iterations.
fn problem<T: Real>(iterations: usize) -> Problem<T> {
    vectors();
    let windows = Torus::new([20; 2]).and_then(|torus| Windows::new(torus, [5; 2])).expect("windows fit");
    let corpus = Corpus { bags: 200, features: 300, windows, ..Corpus::standard() };
    let shape = Shape::new(windows, corpus.features).expect("fits in memory");
    let mut grid = Grid::uniform(shape).expect("memory");
    grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
    let options = Options { pseudocount: 0.01, ..Options::default() };
    let learner = Learner::from_grid(grid, options).expect("the options are valid");
    let sums = Statistics::allocate(shape, 128).expect("memory");
    let mut problem = Problem { bags: corpus.draw(1), learner, sums };
    for _ in 0..iterations {
        problem.expectation();
        problem.maximization();
    }
    problem
}

/// The same, with an E-step done.
fn expected<T: Real>(iterations: usize) -> Problem<T> {
    let mut problem = problem(iterations);
    problem.expectation();
    problem
}

#[library_benchmark]
#[bench::early_f32(args = (0), setup = problem::<f32>, config = at_most("e_step/early_f32"))]
#[bench::late_f32(args = (20), setup = problem::<f32>, config = at_most("e_step/late_f32"))]
#[bench::late_f64(args = (20), setup = problem::<f64>, config = at_most("e_step/late_f64"))]
fn e_step<T: Real>(mut problem: Problem<T>) -> Problem<T> {
    black_box(&mut problem).expectation();
    problem
}

#[library_benchmark]
#[bench::early_f32(args = (0), setup = expected::<f32>, config = at_most("m_step/early_f32"))]
#[bench::late_f32(args = (20), setup = expected::<f32>, config = at_most("m_step/late_f32"))]
#[bench::late_f64(args = (20), setup = expected::<f64>, config = at_most("m_step/late_f64"))]
fn m_step<T: Real>(mut problem: Problem<T>) -> Problem<T> {
    black_box(&mut problem).maximization();
    problem
}

library_benchmark_group!(name = kernels; benchmarks = windows, exp, ln, e_step, m_step);

main!(library_benchmark_groups = kernels);
