//! What the schedule of a fit is worth, and what the float type costs.
//!
//! Schedules: processor time of a coarse-to-fine fit until its bound passes that of plain batch EM after 34
//! iterations, against what plain EM took; and both bounds in the end. Float types: the bounds of the same plain fit
//! in `f32` and `f64`, from the same start.
//!
//! ```text
//! cargo run --release --manifest-path benches/Cargo.toml --bin to_bound -- [OPTIONS] [synthetic | NAME ...]
//!
//!   --data DIR          folder that holds NAME/ as `countgrid map` reads it (default: shared/data beside the clone)
//!   --only WHAT         schedules, precision
//!   --seeds N           random starts 1 to N (default 3)
//!   --iterations N      updates of the full grid (default 60)
//!   --reference N       iterations of plain EM whose bound is to be reached (default 34)
//!   --quick             small: one seed, 10 iterations, reference 5, a synthetic corpus of 1,000 bags
//! ```
//!
//! Without a NAME: synthetic, news-20-same, classic3, dblp (with --quick the first two). What is not there is
//! skipped with a line.
#![forbid(unsafe_code)]

mod data;
mod schedule;

use std::{error::Error, path::PathBuf};

use crate::{
    data::Data,
    schedule::{Fitted, Plan, fit, in_double},
};

const NAMES: [&str; 4] = ["synthetic", "news-20-same", "classic3", "dblp"];

struct Args {
    data: PathBuf,
    schedules: bool,
    precision: bool,
    seeds: u64,
    iterations: usize,
    reference: usize,
    quick: bool,
    names: Vec<String>,
}

impl Args {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut args = Self {
            data: [env!("CARGO_MANIFEST_DIR"), "..", "..", "shared", "data"].iter().collect(),
            schedules: true,
            precision: true,
            seeds: 3,
            iterations: 60,
            reference: 34,
            quick: false,
            names: Vec::new(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--data" => args.data = value()?.into(),
                "--seeds" => args.seeds = value()?.parse()?,
                "--iterations" => args.iterations = value()?.parse()?,
                "--reference" => args.reference = value()?.parse()?,
                "--quick" => (args.quick, args.seeds, args.iterations, args.reference) = (true, 1, 10, 5),
                "--only" => {
                    let what = value()?;
                    (args.schedules, args.precision) = (what == "schedules", what == "precision");
                    if !(args.schedules || args.precision) {
                        return Err("--only takes schedules or precision".into());
                    }
                }
                name if !name.starts_with('-') => args.names.push(name.to_owned()),
                _ => return Err(format!("no such option: {word}").into()),
            }
        }
        if args.reference > args.iterations {
            return Err("--reference lies beyond --iterations".into());
        }
        if args.names.is_empty() {
            let names = if args.quick { &NAMES[..2] } else { &NAMES[..] };
            args.names = names.iter().copied().map(str::to_owned).collect();
        }
        Ok(args)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::read()?;
    let (mut schedules, mut precisions) = (Vec::new(), Vec::new());
    for name in &args.names {
        let Some(data) = data::open(name, &args.data, args.quick)? else { continue };
        println!("{data}");
        for seed in 1..=args.seeds {
            let plan = Plan { seed, iterations: args.iterations, prune: true, rounded: false };
            let plain: Fitted<f32> = fit(&data, &[data.shape], plan)?;
            if args.schedules {
                let every = Plan { prune: false, iterations: args.reference, ..plan };
                let every = fit(&data, &[data.shape], every)?;
                let fine = fit(&data, &data.shape.schedule().collect::<Vec<_>>(), plan)?;
                schedules.push(schedule_row(&args, &data, seed, [&every, &plain, &fine]));
            }
            if args.precision {
                let double = |rounded| fit::<f64>(&data, &[data.shape], Plan { rounded, ..plan });
                precisions.push(precision_row(&data, seed, &plain, &double(false)?, &double(true)?)?);
            }
        }
    }
    if args.schedules {
        println!("\nCoarse-to-fine against plain batch EM, f32; bounds in nats a token");
        println!(
            "{:14} {:>4}  {:>10} {:>8} {:>8} {:>8} {:>6} {:>6}  {:>9} {:>9} {:>8} {:>9}",
            "data",
            "seed",
            format!("bound@{}", args.reference),
            "plain s",
            "pruned s",
            "fine s",
            "ratio",
            "pruned",
            format!("plain@{}", args.iterations),
            format!("fine@{}", args.iterations),
            "gain",
            "same CPU"
        );
        schedules.iter().for_each(|row| println!("{row}"));
        println!(
            "plain s: every window scored in every E-step; pruned s: the same bits, where bounds tell what matters"
        );
        println!(
            "fine s: until its full grid passes bound@{}; same CPU: its bound when plain EM ends",
            args.reference
        );
    }
    if args.precision {
        println!("\nf32 against f64, plain batch EM, {} iterations; bounds in nats a token", args.iterations);
        println!(
            "{:14} {:>4}  {:>11} {:>11} {:>9}  {:>13}  {:>15}",
            "data", "seed", "f32", "f64", "f32 - f64", "rounded start", "same parameters"
        );
        precisions.iter().for_each(|row| println!("{row}"));
        println!("rounded start: f64 whose start alone was rounded to f32, less f64");
        println!("same parameters: the bound of the f32 grid as f32 computes it, less as f64 computes it");
    }
    Ok(())
}

fn schedule_row(args: &Args, data: &Data, seed: u64, fits: [&Fitted<f32>; 3]) -> String {
    let [every, plain, fine] = fits;
    let target = plain.points[args.reference];
    let (plain_end, fine_end) = (plain.end(), fine.end());
    let reached = fine.points.iter().find(|point| point.bound >= target.bound);
    let every = every.end().cpu;
    let (seconds, [ratio, pruned]) =
        reached.map_or(("never".to_owned(), ["-", "-"].map(str::to_owned)), |point| {
            let times = |cpu: f64| format!("{:.2}", cpu / point.cpu);
            (format!("{:.2}", point.cpu), [times(every), times(target.cpu)])
        });
    let meanwhile = fine.points.iter().take_while(|point| point.cpu <= plain_end.cpu).last();
    format!(
        "{:14} {seed:>4}  {:>10.4} {every:>8.2} {:>8.2} {seconds:>8} {ratio:>6} {pruned:>6}  {:>9.4} {:>9.4} {:>+8.4} {:>9}",
        data.name,
        target.bound,
        target.cpu,
        plain_end.bound,
        fine_end.bound,
        fine_end.bound - plain_end.bound,
        meanwhile.map_or("-".to_owned(), |point| format!("{:.4}", point.bound)),
    )
}

fn precision_row(
    data: &Data,
    seed: u64,
    single: &Fitted<f32>,
    double: &Fitted<f64>,
    rounded: &Fitted<f64>,
) -> Result<String, Box<dyn Error>> {
    let (single_end, double_end) = (single.end().bound, double.end().bound);
    let same = single_end - in_double(data, &single.grid)?;
    Ok(format!(
        "{:14} {seed:>4}  {single_end:>11.6} {double_end:>11.6} {:>+9.1e}  {:>+13.1e}  {same:>+15.1e}",
        data.name,
        single_end - double_end,
        rounded.end().bound - double_end
    ))
}
