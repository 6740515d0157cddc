//! Any number of threads, and of sequences together, gives the same bits.

use countgrid_counts::Sequences;
use countgrid_em::{Fit, Learn, Tables, TablesMutExt};
use countgrid_hmm::{Hmm, HmmError, Learner, Shape, Statistics};
use countgrid_math::Real;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

fn on<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn threads_change_no_bit<T: Real>(states: usize, symbols: usize, count: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut entries, mut offsets) = (Vec::new(), vec![0]);
    for t in 0..count {
        // Around the ends of blocks of 32 positions, and of one symbol.
        let len = [1, 31, 32, 33, 34, 64, 65, 100][t % 8] + rng.next_u32() as usize % 3;
        entries.extend((0..len).map(|_| (rng.next_u32() as usize % symbols) as u16));
        offsets.push(entries.len());
    }
    let sequences = Sequences::new(symbols, &offsets, &entries).unwrap();
    let shape = Shape::new(states, symbols).unwrap();
    let fit = |threads: usize, chunk: usize| {
        on(threads, || {
            let mut hmm = Hmm::<T, _>::uniform(shape).unwrap();
            hmm.randomize(&mut ChaCha8Rng::seed_from_u64(7));
            let mut learner = Learner::new(hmm, 0.1).unwrap();
            let mut statistics = Statistics::with_chunk(shape, sequences.longest(), chunk).unwrap();
            let mut bits = Vec::new();
            for _ in 0..3 {
                statistics.clear();
                bits.push(learner.expectation(&sequences, &mut statistics).unwrap().to_bits());
                bits.extend(statistics.buffer().iter().map(|&x| Real::to_f64(x).to_bits()));
                learner.maximization(&mut statistics).unwrap();
            }
            bits
        })
    };
    let one = fit(1, 1);
    for (threads, chunk) in [(1, 9), (2, 1), (2, 2), (2, 7), (3, 5), (3, 100)] {
        assert!(fit(threads, chunk) == one, "{states} states: {threads} threads, chunks of {chunk}");
    }
}

#[test]
fn sums_have_the_same_bits() {
    for (states, symbols) in [(1, 1), (2, 5), (5, 3), (13, 40), (33, 7)] {
        threads_change_no_bit::<f32>(states, symbols, 40);
        threads_change_no_bit::<f64>(states, symbols, 40);
    }
}

#[test]
fn an_error_leaves_the_sequences_before() {
    // State 0 emits 0 and is left for state 1, which emits 1.
    let tables = vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0];
    let hmm = || Hmm::new(Shape::new(2, 2).unwrap(), tables.clone()).unwrap();
    let data = [0_u8, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 0, 1];
    let sequences = Sequences::new(2, &[0, 3, 5, 9, 12, 14], &data).unwrap();
    let shape = *hmm().shape();
    for (threads, chunk) in [(1, 1), (2, 1), (2, 2), (2, 3), (2, 5)] {
        let (error, sums) = on(threads, || {
            let scratch = vec![0.0; shape.chunk_scratch_len::<f64>(4, chunk)];
            let mut sums = Statistics::<f64, _>::new(shape, vec![0.0; 10], scratch).unwrap();
            let learner = Learner::new(hmm(), 0.0).unwrap();
            (learner.expectation(&sequences, &mut sums).unwrap_err(), sums.buffer().to_vec())
        });
        assert_eq!(error, HmmError::Impossible { sequence: 3, position: 2 }, "chunks of {chunk}");
        // start, trans, emit of three sequences of 3, 2 and 4 symbols.
        assert_eq!(sums, [3.0, 0.0, 0.0, 3.0, 0.0, 3.0, 3.0, 0.0, 0.0, 6.0], "chunks of {chunk}");
    }
}

/// Also where there is none before.
#[test]
fn the_first_sequence_is_impossible() {
    let tables = vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0];
    let learner = Learner::new(Hmm::new(Shape::new(2, 2).unwrap(), tables).unwrap(), 0.0).unwrap();
    let sequences = Sequences::new(2, &[0, 2, 4, 6], &[1_u8, 1, 0, 1, 0, 1]).unwrap();
    for chunk in [1, 2, 3] {
        let shape = *learner.model().shape();
        let scratch = vec![0.0; shape.chunk_scratch_len::<f64>(2, chunk)];
        let mut sums = Statistics::<f64, _>::new(shape, vec![0.0; 10], scratch).unwrap();
        let error = on(2, || learner.expectation(&sequences, &mut sums).unwrap_err());
        assert_eq!(error, HmmError::Impossible { sequence: 0, position: 0 });
        assert_eq!(sums.buffer(), [0.0; 10]);
    }
}
