//! A counting grid fitted on the ranks of an MPI job, with the bytes that one process gives. What can be said is in `usage`.
//!
//! Every rank makes its own rows, each a function of its number; a program for real data reads them instead.

use std::{
    cell::Cell,
    error::Error,
    fmt::Display,
    io::{self, Write},
    ops::{ControlFlow, Range},
    path::PathBuf,
    process::ExitCode,
    str::FromStr,
    time::Instant,
};

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_estimators::{
    BagTotals, EstimatorError, GridOptions, GridStart, GridTraining, Progress, Train,
    distributed::{Communicator, RankTraining, agree, rows_of_ranks},
};
use countgrid_io::save;
use countgrid_mpi::MpiCommunicator;

const USAGE: &str = "mpirun -n RANKS mpi_fit MODEL [NAME VALUE]...
    --rows N --words N        how many rows are made, with three tokens each (100000, 12)
    --side N --window N       of the grid (8, 3)
    --iterations N            at most, at each level, after two that are annealed (2)
    --threads N               of each rank (1)
    --checkpoint FILE         is written after every step, and gone on from if it is there
    --alone yes               in this process, without MPI
    --stop STEP               all ranks end after this step, with a checkpoint
    --crash RANK,STEP         this rank ends after this step, as if it were killed
    --unreadable RANK         this rank cannot read its rows";

struct Arguments {
    model: PathBuf,
    rows: usize,
    words: usize,
    options: GridOptions,
    threads: usize,
    checkpoint: Option<PathBuf>,
    alone: bool,
    stop: Option<usize>,
    crash: Option<(usize, usize)>,
    unreadable: Option<usize>,
}

impl Arguments {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut arguments = std::env::args().skip(1);
        let model = arguments.next().ok_or(USAGE)?.into();
        let (mut side, mut window) = (8, 3);
        let annealed = Some(GridStart::Annealed { beta: 0.5, iterations: 2 });
        let mut read = Self {
            model,
            rows: 100_000,
            words: 12,
            options: GridOptions { iterations: 2, seed: 3, start: annealed, ..GridOptions::default() },
            threads: 1,
            checkpoint: None,
            alone: false,
            stop: None,
            crash: None,
            unreadable: None,
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or(USAGE)?;
            match name.as_str() {
                "--rows" => read.rows = number(&name, &value)?,
                "--words" => read.words = number(&name, &value)?,
                "--side" => side = number(&name, &value)?,
                "--window" => window = number(&name, &value)?,
                "--iterations" => read.options.iterations = number(&name, &value)?,
                "--threads" => read.threads = number(&name, &value)?,
                "--checkpoint" => read.checkpoint = Some(value.into()),
                "--alone" => read.alone = true,
                "--stop" => read.stop = Some(number(&name, &value)?),
                "--crash" => {
                    let (rank, step) = value.split_once(',').ok_or(USAGE)?;
                    read.crash = Some((number(&name, rank)?, number(&name, step)?));
                }
                "--unreadable" => read.unreadable = Some(number(&name, &value)?),
                _ => return Err(USAGE.into()),
            }
        }
        read.options.extents = Some(vec![side, side]);
        read.options.window = Some(vec![window, window]);
        Ok(read)
    }

    /// Rows of three tokens; 100,000 of them are seven leaves.
    fn bags(&self, rows: Range<usize>) -> Result<Blocks<f32>, EstimatorError> {
        let mut bags = BlocksBuilder::new(self.words, BlockLimits::default())?;
        let word = |token: usize| (token / 15 + token % 4 * (token % 4) * 7) % self.words.max(1);
        rows.into_iter()
            .try_for_each(|row| bags.push((row * 3..row * 3 + 3).map(|token| (word(token), 1.0))))?;
        Ok(bags.finish()?)
    }
}

fn number<X: FromStr<Err: Display>>(name: &str, value: &str) -> Result<X, String> {
    value.parse().map_err(|error| format!("{name} {value}: {error}\n{USAGE}"))
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a line as a whole, between those of other ranks.
fn say(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    // Of the pool that all threads share: MPI stays on this one.
    rayon::ThreadPoolBuilder::new().num_threads(arguments.threads).build_global()?;
    if arguments.alone { alone(&arguments) } else { on_ranks(&arguments) }
}

/// What the ranks have to agree with.
fn alone(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let bags = arguments.bags(0..arguments.rows)?;
    let plan = arguments.options.check::<f32>(BagTotals::from_blocks(&bags)?)?;
    let mut training = GridTraining::new(plan, &bags)?;
    training.run(|_progress| ControlFlow::Continue(()))?;
    training.finish()?.save(&arguments.model)?;
    Ok(())
}

fn on_ranks(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let communicator = Counted::new(MpiCommunicator::initialize()?);
    let rank = communicator.rank();
    let rows = rows_of_ranks(arguments.rows, communicator.ranks()).swap_remove(rank);
    let bags = match arguments.unreadable {
        Some(unreadable) if unreadable == rank => Err(format!("no rows {} to {}", rows.start, rows.end)),
        _ => arguments.bags(rows.clone()).map_err(|error| error.to_string()),
    };
    let bags = agree(&communicator, bags)?; // so that none waits for one that has left
    let kept = arguments.checkpoint.as_ref().filter(|path| rank == 0 && path.exists());
    let kept = agree(&communicator, kept.map(countgrid_io::load).transpose())?;
    let mut training =
        RankTraining::new(&communicator, bags, |totals| arguments.options.check::<f32>(totals), kept)?;

    let before = communicator.bytes();
    let (mut steps, begun) = (0, Instant::now());
    let flow = training.run(|training, progress| {
        steps += 1;
        if let Some(path) = arguments.checkpoint.as_ref().filter(|_| rank == 0) {
            save(path, &training.checkpoint()?)?; // an error here is one of all ranks
        }
        if rank == 0 {
            let Progress { extents, iteration, share_done, .. } = progress;
            say(&format!("{extents:?} iteration {iteration} {:.0} %", 100.0 * share_done));
        }
        if arguments.crash == Some((rank, steps)) {
            std::process::abort();
        }
        let stops = arguments.stop == Some(steps) && rank + 1 == training.communicator().ranks();
        Ok(if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    let seconds = begun.elapsed().as_secs_f64() / steps.max(1) as f64;
    let [sent, received, broadcast] = communicator.bytes();
    let of_step =
        [sent - before[0], received - before[1], broadcast - before[2]].map(|bytes| bytes / steps.max(1));
    say(&format!(
        "rank {rank}: {} rows, {steps} steps of {seconds:.3} s; bytes a step: {} sent, {} received, {} broadcast",
        rows.len(),
        of_step[0],
        of_step[1],
        of_step[2],
    ));
    if flow.is_break() {
        return Ok(());
    }
    let grid = training.finish()?;
    agree(&communicator, if rank == 0 { grid.save(&arguments.model) } else { Ok(()) })?;
    Ok(())
}

/// Counts the bytes of messages and broadcasts; those of [`Communicator::maximum`] are eight.
struct Counted<C> {
    communicator: C,
    bytes: [Cell<usize>; 3], // sent, received, broadcast
}

impl<C> Counted<C> {
    fn new(communicator: C) -> Self {
        Self { communicator, bytes: Default::default() }
    }

    fn bytes(&self) -> [usize; 3] {
        [0, 1, 2].map(|of| self.bytes[of].get())
    }

    fn add(&self, of: usize, bytes: usize) {
        self.bytes[of].set(self.bytes[of].get() + bytes);
    }
}

impl<C: Communicator> Communicator for Counted<C> {
    fn rank(&self) -> usize {
        self.communicator.rank()
    }
    fn ranks(&self) -> usize {
        self.communicator.ranks()
    }
    fn send(&self, to: usize, bytes: &[u8]) -> io::Result<()> {
        self.add(0, bytes.len());
        self.communicator.send(to, bytes)
    }
    fn receive(&self, from: usize) -> io::Result<Vec<u8>> {
        let bytes = self.communicator.receive(from)?;
        self.add(1, bytes.len());
        Ok(bytes)
    }
    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.communicator.broadcast(root, bytes)?;
        self.add(2, bytes.len());
        Ok(())
    }
    fn maximum(&self, number: u64) -> io::Result<u64> {
        self.communicator.maximum(number)
    }
}
