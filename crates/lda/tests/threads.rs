//! Any number of threads gives the same bits; without the feature `rayon` this says little.

use countgrid_counts::CsrBuf;
use countgrid_em::{Fit, Learn, Tables};
use countgrid_lda::{Concentration, Lda, Learner, Options, Shape, Statistics};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

#[test]
fn threads_change_no_bit() {
    let shape = Shape::new(19, 300).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut bags = CsrBuf::new(300).unwrap();
    for _ in 0..200 {
        let words: Vec<_> = (0..40).map(|_| (rng.next_u32() as usize % 300, 1_u32)).collect();
        bags.push_bag(words).unwrap();
    }
    let fit = |threads: usize, chunk: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut lda = Lda::<f32, _>::uniform(shape, 0.1).unwrap();
            lda.randomize(&mut ChaCha8Rng::seed_from_u64(7));
            let options =
                Options { smoothing: 0.1, concentration: Concentration::Symmetric, ..Options::default() };
            let mut learner = Learner::new(lda, options).unwrap();
            let mut statistics = Statistics::allocate(shape, chunk).unwrap();
            let mut bits = Vec::new();
            for _ in 0..3 {
                countgrid_em::TablesMutExt::clear(&mut statistics);
                bits.push(learner.expectation(&bags, &mut statistics).unwrap().to_bits());
                learner.maximization(&mut statistics).unwrap();
            }
            bits.extend(learner.buffer().iter().map(|x| u64::from(x.to_bits())));
            bits
        })
    };
    let one = fit(1, 1);
    for (threads, chunk) in [(1, 64), (2, 7), (3, 64), (7, 500)] {
        assert!(fit(threads, chunk) == one, "{threads} threads, chunks of {chunk}");
    }
}
