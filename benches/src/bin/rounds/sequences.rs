//! A hidden Markov model over synthetic sequences.

use std::{error::Error, path::Path};

use countgrid_benches::{Seconds, arrays::save, timed};
use countgrid_counts::SequencesBuf;
use countgrid_em::{Fit, Learn, TablesMutExt};
use countgrid_hmm::{Hmm, Learner, Shape, Statistics};
use countgrid_math::AlignedVec;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Sequences of equal length, and a model to begin with.
pub(crate) struct Chains {
    data: SequencesBuf<u16>,
    start: Hmm<f64, AlignedVec<f64>>,
    sums: Statistics<f64, AlignedVec<f64>>,
}

impl Chains {
    /// `sequences=N length=N states=N symbols=N` after the seed.
    pub(crate) fn draw(seed: u64, words: &[&str]) -> Result<Self, Box<dyn Error>> {
        let [mut sequences, mut length, mut states, mut symbols] = [1_000, 1_000, 16, 32];
        for word in words {
            let (name, value) = word.split_once('=').ok_or("sizes are given as name=number")?;
            let value = value.parse()?;
            match name {
                "sequences" => sequences = value,
                "length" => length = value,
                "states" => states = value,
                "symbols" => symbols = value,
                _ => return Err("sizes are sequences, length, states and symbols".into()),
            }
        }
        let (shape, mut rng) = (Shape::new(states, symbols)?, ChaCha8Rng::seed_from_u64(seed));
        let mut data = SequencesBuf::new(symbols);
        for _ in 0..sequences {
            // Runs, so that there is something to find.
            let mut symbol = 0;
            let next = |_| {
                let word = rng.next_u64();
                if word % 4 == 0 {
                    symbol = (word >> 8) % symbols as u64;
                }
                symbol as u16
            };
            data.push((0..length).map(next))?;
        }
        let mut start = Hmm::uniform(shape)?;
        start.randomize(&mut rng);
        Ok(Self { data, start, sums: Statistics::allocate(shape, length)? })
    }

    pub(crate) fn positions(&self) -> usize {
        self.data.as_view().positions()
    }

    /// Writes `x.npy`, `lengths.npy` and the tables of the model, `emit.npy` as `[state][symbol]`.
    pub(crate) fn save(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        let (view, shape) = (self.data.as_view(), self.start.shape());
        let (states, symbols) = (shape.states(), shape.symbols());
        let x = view.iter().flat_map(|sequence| sequence.entries().iter().map(|&x| i64::from(x)));
        save(&folder.join("x.npy"), &[view.positions()], x)?;
        save(&folder.join("lengths.npy"), &[view.len()], view.iter().map(|sequence| sequence.len() as i64))?;
        let (start, trans, emit) = self.start.tables();
        save(&folder.join("start.npy"), &[states], start.iter().copied())?;
        save(&folder.join("trans.npy"), &[states, states], trans.iter().copied())?;
        let by_state = (0..states).flat_map(|state| emit.iter().skip(state).step_by(states).copied());
        save(&folder.join("emit.npy"), &[states, symbols], by_state)?;
        Ok(())
    }

    /// One iteration from the start, and the log-likelihood that it found.
    pub(crate) fn iteration(&mut self) -> Result<(f64, Seconds), Box<dyn Error>> {
        let (shape, view) = (*self.start.shape(), self.data.as_view());
        let copy = AlignedVec::from_slice(countgrid_em::Tables::buffer(&self.start))?;
        let mut learner = Learner::new(Hmm::new(shape, copy)?, 0.0)?;
        let (free_energy, seconds) = timed(|| {
            self.sums.clear();
            let free_energy = learner.expectation(&view, &mut self.sums)?;
            learner.maximization(&mut self.sums)?;
            Ok::<_, countgrid_hmm::HmmError>(free_energy)
        });
        Ok((-free_energy?, seconds))
    }
}
