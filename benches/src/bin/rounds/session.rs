//! The state between two commands.

use std::{error::Error, path::Path};

use countgrid_benches::{
    Learning, Seconds, Sums,
    arrays::{save, save_bags},
    bandwidth::{Reading, in_order_of_rows, in_sequence},
    bound_per_token, iterate, options, peak_memory, random, start, timed,
};
use countgrid_counts::Bags;
use countgrid_em::{Fit, Learn, Tables};
use countgrid_grid::Learner;
use countgrid_math::{Real, ln_slice};
use serde_json::{Value, json};

use crate::{
    harmonium,
    problem::{Problem, dense, draw, read},
    sequences::Chains,
    table::Table,
    topics::Topics,
};

type Answer = Result<Value, Box<dyn Error>>;

const NO_BAGS: &str = "no bags: `draw` some first";
const NO_TOPICS: &str = "no topics: `topics SEED K` starts some";
const NO_SEQUENCES: &str = "no sequences: draw `sequences` first";
const NO_GRID: &str = "no grid: `start` one first";

#[derive(Default)]
pub(crate) struct Session {
    problem: Option<Problem>,
    fit: Option<Running>,
    table: Option<Table>,
    topics: Option<Topics>,
    chains: Option<Chains>,
    harmonium: Option<(usize, harmonium::Learning)>, // with its number of topics
}

/// A fit that goes on from command to command.
struct Running {
    learner: Learning<f32, 2>,
    sums: Sums<f32, 2>,
    prunes: bool,
    summed: bool, // whether `sums` are those of the present grid
}

impl Session {
    pub(crate) fn answer(&mut self, words: &[&str]) -> Answer {
        match *words {
            ["draw", seed, ref sizes @ ..] => self.take(draw(seed.parse()?, sizes)?),
            ["dense", seed, ref sizes @ ..] => self.take(dense(seed.parse()?, sizes)?),
            ["read", folder, features] => self.take(read(Path::new(folder), features.parse()?)?),
            ["bags", folder] => {
                save_bags(Path::new(folder), self.problem()?.bags.bags())?;
                Ok(json!({}))
            }
            ["start", seed] => {
                self.fit = None; // first, so that no two are in memory
                let Problem { shape, tokens, .. } = *self.problem()?;
                let (learner, sums) = start(shape, tokens, seed.parse()?)?;
                self.fit = Some(Running { learner, sums, prunes: true, summed: false });
                Ok(json!({}))
            }
            ["run", iterations] => self.run(iterations.parse()?),
            ["bound"] => {
                let (problem, fit) = self.both()?;
                fit.prune(problem, true)?;
                let bound = bound_per_token(&fit.learner, &mut fit.sums, &problem.bags)?;
                fit.summed = true;
                Ok(json!({ "bound": bound }))
            }
            ["state", folder] => self.save(Path::new(folder)),
            ["time", "e_step"] => self.e_step(true),
            ["time", "e_step_full"] => self.e_step(false),
            ["time", "m_step"] => self.m_step(),
            ["time", "iteration"] => self.iteration(),
            ["time", "fit", seed, iterations] => self.whole_fit(seed.parse()?, iterations.parse()?),
            ["time", "window_sums"] => Ok(times(self.table()?.window_sums())),
            ["time", "window_sums_1d"] => Ok(times(self.table()?.window_sums_1d())),
            ["time", "copy"] => Ok(times(self.table()?.copy())),
            ["time", "cd1", topics] => self.contrastive_divergence(topics.parse()?),
            ["sums", folder] => {
                self.table()?.save(Path::new(folder))?;
                Ok(json!({}))
            }
            ["topics", "run", iterations] => {
                let (problem, topics) = self.topics()?;
                let mut bounds = Vec::new();
                for _ in 0..iterations.parse()? {
                    bounds.push(topics.iterate(&problem.bags)?.0 / problem.tokens);
                }
                Ok(json!({ "bounds": bounds }))
            }
            ["topics", "state", folder] => {
                self.topics()?.1.save(Path::new(folder))?;
                Ok(json!({}))
            }
            ["topics", seed, topics] => {
                self.topics = None; // first, so that no two are in memory
                self.topics = Some(Topics::start(&self.problem()?.bags, seed.parse()?, topics.parse()?)?);
                Ok(json!({}))
            }
            ["time", "topics"] => {
                let (problem, topics) = self.topics()?;
                let (bound, Seconds { wall, cpu }) = topics.time(&problem.bags)?;
                Ok(json!({ "wall": wall, "cpu": cpu, "bound": bound / problem.tokens }))
            }
            ["bandwidth"] => self.bandwidth(),
            ["sequences", seed, ref sizes @ ..] => {
                let chains = Chains::draw(seed.parse()?, sizes)?;
                let answer = json!({ "positions": chains.positions() });
                self.chains = Some(chains);
                Ok(answer)
            }
            ["sequences_state", folder] => {
                self.chains.as_ref().ok_or(NO_SEQUENCES)?.save(Path::new(folder))?;
                Ok(json!({}))
            }
            ["time", "baum_welch"] => {
                let (log_likelihood, Seconds { wall, cpu }) =
                    self.chains.as_mut().ok_or(NO_SEQUENCES)?.iteration()?;
                Ok(json!({ "wall": wall, "cpu": cpu, "log_likelihood": log_likelihood }))
            }
            ["memory"] => Ok(json!({ "peak": peak_memory().ok_or("the system does not tell")? })),
            ["machine"] => Ok(json!({ "level": countgrid_math::level().name() })),
            _ => Err(format!("no such command: {}", words.join(" ")).into()),
        }
    }

    fn take(&mut self, problem: Problem) -> Answer {
        (self.fit, self.table, self.topics, self.harmonium) = (None, None, None, None);
        let answer = json!({
            "bags": problem.bags.len(), "features": problem.bags.features(), "cells": problem.shape.cells(),
            "nonzeros": problem.bags.bags().indices().len(), "tokens": problem.tokens,
            "extents": problem.shape.windows().torus().extents(), "window": problem.shape.windows().sides(),
            "pseudocount": options(&problem.shape, problem.tokens, true).pseudocount,
        });
        self.problem = Some(problem);
        Ok(answer)
    }

    fn problem(&self) -> Result<&Problem, Box<dyn Error>> {
        self.problem.as_ref().ok_or_else(|| NO_BAGS.into())
    }

    fn both(&mut self) -> Result<(&Problem, &mut Running), Box<dyn Error>> {
        let problem = self.problem.as_ref().ok_or(NO_BAGS)?;
        Ok((problem, self.fit.as_mut().ok_or(NO_GRID)?))
    }

    fn topics(&mut self) -> Result<(&Problem, &mut Topics), Box<dyn Error>> {
        let problem = self.problem.as_ref().ok_or(NO_BAGS)?;
        Ok((problem, self.topics.as_mut().ok_or(NO_TOPICS)?))
    }

    fn table(&mut self) -> Result<&mut Table, Box<dyn Error>> {
        let shape = self.problem()?.shape;
        if self.table.is_none() {
            self.table = Some(Table::new(*shape.windows(), shape.features())?);
        }
        self.table.as_mut().ok_or_else(|| NO_BAGS.into())
    }

    fn run(&mut self, iterations: usize) -> Answer {
        let (problem, fit) = self.both()?;
        fit.prune(problem, true)?;
        let (mut bounds, mut seconds) = (Vec::new(), Seconds::default());
        for _ in 0..iterations {
            let (free_energy, spent) = timed(|| iterate(&mut fit.learner, &mut fit.sums, &problem.bags));
            bounds.push(-free_energy? / problem.tokens);
            seconds += spent;
        }
        fit.summed = false;
        Ok(json!({ "bounds": bounds, "wall": seconds.wall, "cpu": seconds.cpu }))
    }

    fn e_step(&mut self, prunes: bool) -> Answer {
        let (problem, fit) = self.both()?;
        fit.prune(problem, prunes)?;
        fit.sums.clear(); // adding to sums costs the same whatever they hold
        let (free_energy, seconds) = timed(|| fit.learner.expectation(&problem.bags, &mut fit.sums));
        fit.summed = true;
        Ok(json!({
            "wall": seconds.wall, "cpu": seconds.cpu, "bound": -free_energy? / problem.tokens,
            "digest": digest(fit.sums.buffer()),
        }))
    }

    fn m_step(&mut self) -> Answer {
        let (problem, fit) = self.both()?;
        if !fit.summed {
            fit.sums.clear();
            fit.learner.expectation(&problem.bags, &mut fit.sums)?;
        }
        let (result, seconds) = timed(|| fit.learner.maximization(&mut fit.sums));
        fit.summed = false;
        result?;
        Ok(times(seconds))
    }

    fn iteration(&mut self) -> Answer {
        let (problem, fit) = self.both()?;
        fit.prune(problem, true)?;
        let (free_energy, seconds) = timed(|| iterate(&mut fit.learner, &mut fit.sums, &problem.bags));
        fit.summed = false;
        Ok(json!({ "wall": seconds.wall, "cpu": seconds.cpu, "bound": -free_energy? / problem.tokens }))
    }

    fn whole_fit(&mut self, seed: u64, iterations: usize) -> Answer {
        self.fit = None;
        let problem = self.problem()?;
        let (fitted, seconds) = timed(|| -> Result<_, Box<dyn Error>> {
            let (mut learner, mut sums) = start(problem.shape, problem.tokens, seed)?;
            for _ in 0..iterations {
                iterate(&mut learner, &mut sums, &problem.bags)?;
            }
            Ok((learner, sums))
        });
        let (learner, sums) = fitted?;
        let digest = digest(learner.grid().buffer());
        self.fit = Some(Running { learner, sums, prunes: true, summed: false });
        Ok(json!({ "wall": seconds.wall, "cpu": seconds.cpu, "digest": digest }))
    }

    fn contrastive_divergence(&mut self, topics: usize) -> Answer {
        if self.harmonium.as_ref().is_none_or(|(initial, _)| *initial != topics) {
            self.harmonium = Some((topics, harmonium::Learning::new(&self.problem()?.bags, topics)?));
        }
        let (_, learning) = self.harmonium.as_mut().ok_or(NO_BAGS)?;
        Ok(times(learning.epoch()?))
    }

    fn save(&mut self, folder: &Path) -> Answer {
        let (problem, fit) = self.both()?;
        let (shape, grid) = (&problem.shape, fit.learner.grid());
        let (cells, features) = (shape.cells(), shape.features());
        save(&folder.join("pi.npy"), &[features, cells], grid.tables().0.iter().copied())?;
        let mut log_h = vec![0.0; cells * features];
        let mut scratch = vec![0.0; shape.plane_scratch_len()];
        for (feature, plane) in log_h.chunks_exact_mut(cells).enumerate() {
            grid.histogram(feature, plane, &mut scratch)?;
            plane.iter_mut().for_each(|h| *h = h.max(<f32 as Real>::FLOOR));
            ln_slice(plane);
        }
        save(&folder.join("log_h.npy"), &[features, cells], log_h)?;
        Ok(json!({}))
    }

    fn bandwidth(&self) -> Answer {
        let problem = self.problem()?;
        let features = problem.shape.features();
        let rates = |reading: Reading| {
            let Seconds { wall, cpu } = reading.seconds;
            json!({ "wall": wall, "cpu": cpu, "gb_per_s": reading.bytes / cpu / 1e9 })
        };
        Ok(json!({
            "in_sequence": rates(in_sequence(features, 1 + 5_000_000_000 / (features * 128))?),
            "in_order_of_rows": rates(in_order_of_rows(problem.bags.bags(), features, problem.shape.cells())?),
        }))
    }
}

impl Running {
    /// Options are a learner's for life, so another setting needs another learner of the same grid.
    fn prune(&mut self, problem: &Problem, prunes: bool) -> Result<(), Box<dyn Error>> {
        if self.prunes != prunes {
            // Something small stands in for the learner, so that there are never two tables of its size.
            let small = countgrid_grid::Shape::new(*problem.shape.windows(), 1)?;
            let options = options(&problem.shape, problem.tokens, prunes);
            let (grid, _) =
                std::mem::replace(&mut self.learner, Learner::from_grid(random(small, 0)?, options)?)
                    .into_parts();
            self.learner = Learner::from_grid(grid, options)?;
            self.prunes = prunes;
        }
        Ok(())
    }
}

fn times(seconds: Seconds) -> Value {
    json!({ "wall": seconds.wall, "cpu": seconds.cpu })
}

/// A fingerprint of the bits of a table (FNV-1a).
fn digest(table: &[f32]) -> String {
    let hash =
        table.iter().flat_map(|x| x.to_bits().to_le_bytes()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("{hash:016x}")
}
