//! Gibbs chains and what they draw from, by value.

use crate::common;

use common::*;
use countgrid_harmonium::{Chains, Draws, Harmonium, HarmoniumError as E, Noise, Shape};
use countgrid_math::Real;
use rand_chacha::rand_core::TryRng;

#[test]
fn chains_go_on_from_states_that_others_had() {
    let shape = Shape::dual_wing(3, 2, 1).unwrap();
    let model = random(shape, 0.5, 0.3, 2, 1); // sizes 1, 2, 1
    let states = [1.0, 2.0, 0.0, 0.5, -1.5, 0.0, 1.0, 1.0, 2.0, 0.25];
    let chains = Chains::at_states(&model, states.to_vec()).unwrap();
    assert_eq!((chains.count(), chains.states()), (2, &states[..]));
    assert_eq!(chains.state(1), (&[0.0, 1.0, 1.0][..], &[2.0, 0.25][..]));
    assert_eq!(chains.state(2), (&[][..], &[][..]));
    assert_eq!(Chains::<f64, _>::zeroed(shape, vec![0.0; 15]).unwrap().count(), 3);
    let refused = |states: &[f64]| Chains::at_states(&model, states.to_vec()).unwrap_err();
    let with = |at: usize, x: f64| {
        let mut states = states;
        states[at] = x;
        refused(&states)
    };
    assert_eq!(with(6, 3.0), E::Count { document: 1, word: 1 });
    assert_eq!(with(2, 0.5), E::Count { document: 0, word: 2 });
    assert_eq!(with(4, f64::NAN), E::NotFinite { table: "features", index: 1 });
    assert_eq!(with(9, f64::INFINITY), E::NotFinite { table: "features", index: 3 });
    assert_eq!(refused(&states[..9]), E::Length { table: "chains", expected: 5, found: 9 });
    assert_eq!(refused(&states[..4]), E::Length { table: "chains", expected: 0, found: 4 });
    assert_eq!(refused(&[]), E::Nothing { what: "chains" });
}

#[test]
fn the_second_of_a_pair_of_normal_numbers_is_kept() {
    let mut own = draws(1);
    assert_eq!(own.spare(), None);
    normal(&mut own);
    let spare = own.spare().unwrap();
    let mut resumed = Draws::resume(own.generator().clone(), own.spare());
    assert_eq!((normal(&mut own), own.spare()), (spare, None));
    assert_eq!(
        [(); 5].map(|()| normal(&mut resumed)),
        [spare, normal(&mut own), normal(&mut own), normal(&mut own), normal(&mut own)]
    );
}

/// These words, one after the other.
struct Words<'a>(&'a [u64]);
impl TryRng for Words<'_> {
    type Error = core::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.try_next_u64().map(|x| x as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let (first, rest) = self.0.split_first().expect("another word");
        self.0 = rest;
        Ok(*first)
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        unreachable!("numbers are made of words")
    }
}

#[test]
fn normal_numbers_are_of_pairs_inside_the_circle() {
    // Words of 0, 1/2, 5/8 and 3/4: x and y of -1, 0, 1/4 and 1/2.
    let [zero, half, five, six] = [0, 1 << 63, 5 << 61, 6 << 61];
    let square = 0.25_f64 * 0.25 + 0.5 * 0.5;
    let factor = (-2.0 * square.ln() / square).sqrt();
    // The centre, the circle itself, and beyond it are passed over.
    for before in [&[][..], &[half, half], &[zero, half], &[half, zero], &[zero, zero]] {
        let words = [before, &[five, six]].concat();
        let mut draws = Draws::new(Words(&words));
        let (x, y): (f64, f64) = (draws.normal(), draws.normal());
        assert!((x - 0.25 * factor).abs() < 1e-15 && (y - 0.5 * factor).abs() < 1e-15, "{x} {y}");
    }
}

/// The largest uniform number below one half, of 53 bits.
const BELOW_HALF: f64 = 0.5 - f64::EPSILON / 2.0;

/// Words of this probability without couplings, after one step.
fn words_of(size: f64, alpha: f64, uniform: f64) -> f64 {
    let shape = Shape::words(1, 1).unwrap();
    let model = Harmonium::new(shape, [alpha, 0.0, size], &mut []).unwrap();
    let mut chain = Chains::zeroed(shape, [0.0]).unwrap();
    chain.sweep(&model, 1, &mut Same::new(uniform, 0.0), &mut scratch(&shape)).unwrap();
    chain.states()[0]
}

#[test]
fn a_word_is_on_below_its_probability() {
    assert_eq!([0.0, 0.25, BELOW_HALF, 0.5, 0.75].map(|u| words_of(1.0, 0.0, u)), [1.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(words_of(1.0, -2000.0, 0.0), 0.0); // of no probability, never
    assert_eq!(words_of(1.0, 2000.0, 1.0_f64.next_down()), 1.0);
}

#[test]
fn a_topic_of_one_trial_is_on_below_its_probability() {
    // Without words the topic has probability 1/2; on, it multiplies the rate by e³.
    let shape = Shape::rate_adapting(1, 1).unwrap();
    let model = Harmonium::new(shape, [0.0, 3.0, 1.0, 0.0], &mut []).unwrap();
    for (uniform, topic) in [(0.25, 1.0_f64), (BELOW_HALF, 1.0), (0.5, 0.0), (0.75, 0.0)] {
        let mut chain = Chains::zeroed(shape, [0.0]).unwrap();
        chain.sweep(&model, 1, &mut Same::new(uniform, 0.0), &mut scratch(&shape)).unwrap();
        assert_eq!(chain.states()[0], poisson_quantile((3.0 * topic).exp(), uniform), "{uniform}");
    }
}

/// `P(X ≤ k)` for all `k`, by convolution of single trials.
fn binomial_sums(trials: usize, p: f64) -> Vec<f64> {
    let mut mass = vec![0.0; trials + 1];
    mass[0] = 1.0;
    for done in 0..trials {
        for k in (0..=done + 1).rev() {
            mass[k] = mass[k] * (1.0 - p) + if k > 0 { mass[k - 1] * p } else { 0.0 };
        }
    }
    mass.iter()
        .scan(0.0, |sum, m| {
            *sum += m;
            Some(*sum)
        })
        .collect()
}

#[test]
fn counts_of_words_are_quantiles() {
    for size in [2_usize, 3, 17, 512] {
        for p in [0.03, 0.3, 0.45, 0.6, 0.98] {
            let sums = binomial_sums(size, p);
            let alpha = (p / (1.0 - p)).ln();
            for u in (0..50).map(|k| 0.0101 + 0.02 * f64::from(k)) {
                let k = words_of(size as f64, alpha, u) as usize;
                // Of 512 sums each is good to some 1e-13.
                assert!(k == 0 || sums[k - 1] < 1.0 - u + 1e-11, "{size} {p} {u}: {k}");
                assert!(sums[k] > 1.0 - u - 1e-11, "{size} {p} {u}: {k}");
                // 512 trials a number, each by the same one here.
                let rest = words_of(100.0, alpha, u);
                if size == 512 {
                    assert_eq!(words_of(612.0, alpha, u), k as f64 + rest, "{p} {u}");
                }
            }
        }
    }
}

/// At the ends of the uniform numbers a sum of probabilities may round to either side of one.
#[test]
fn counts_of_words_stay_within_their_sizes() {
    for size in 2..200 {
        for alpha in [-3.0, -0.7, 0.1, 0.5, 1.0, 2.0, 3.3] {
            for uniform in [0.0, 1.0_f64.next_down()] {
                let count = words_of(f64::from(size), alpha, uniform);
                assert!((0.0..=f64::from(size)).contains(&count), "{size} {alpha} {uniform}: {count}");
            }
        }
    }
}

/// Fields are of four rows at a time: many of them, and some left over.
#[test]
fn many_words_each_have_their_own_field() {
    for words in [3, 4, 7, 8, 16 * f64::LANES + 3] {
        for topics in [1, 3] {
            let shape = Shape::words(words, topics).unwrap();
            let model = random(shape, 1.0, 0.5, 1, 9);
            let mut chains = Chains::zeroed(shape, vec![0.0; words * (f64::LANES + 1)]).unwrap();
            chains.sweep(&model, 1, &mut Same::new(0.4, 0.6), &mut scratch(&shape)).unwrap();
            // From no words topics are the noise.
            let rows = model.w().chunks_exact(topics).zip(model.alpha());
            let probabilities = rows.map(|(row, a)| sigmoid(a + row.iter().map(|w| 0.6 * w).sum::<f64>()));
            let expected: Vec<f64> = probabilities.map(|p| f64::from(u8::from(0.4 < p))).collect();
            for state in chains.states().chunks_exact(words) {
                assert_eq!(state, expected);
            }
        }
    }
}
