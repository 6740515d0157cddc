//! What must hold of latent Dirichlet allocation, and the definitions written down plainly.

#![allow(clippy::needless_range_loop, reason = "indices are those of the mathematics")]

use countgrid_counts::{Bag, Bags, Csr, CsrBuf, Dense};
use countgrid_em::testing::{Tolerance, check_terms_sum};
use countgrid_em::{ExpectedCounts, Fit, FreeEnergy, Learn, StepSize, StepwiseOptions, Tables, TablesMutExt};
use countgrid_lda::testing::*;
use countgrid_lda::{Concentration, Grouping, Inference, Lda, Learner, Options, Shape, Statistics, Terms};
use countgrid_math::{Real, digamma, ln_gamma};
use proptest::prelude::*;

/// Some sweeps of at most 7 features and 5 topics with gamma below 60: a sweep makes some thirty roundings of a
/// relative 1.1e-16 each in `gamma`, and `digamma` below `gamma = 0.05` multiplies an absolute error by up to 400.
/// The contraction never amplifies them by more than the number of sweeps.
const CLOSE: f64 = 1e-10;

fn scratch<T: Real>(shape: &Shape) -> Vec<T> {
    vec![T::zero(); shape.posterior_scratch_len()]
}

fn sweeps(sweeps: usize) -> Inference {
    Inference { sweeps, tolerance: 0.0 }
}

fn statistics<T: Real>(shape: &Shape, chunk: usize) -> Statistics<T, Vec<T>> {
    Statistics::new(*shape, vec![T::zero(); shape.sums_len()], vec![T::zero(); shape.scratch_len(chunk)])
        .unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= CLOSE * b.abs().max(1.0)
}

proptest! {
    /// `gamma`, `phi` and bound are those of the definitions; `Σ gamma = Σ alpha + N`, `phi` sums to one.
    #[test]
    fn inference_is_the_definition(p in problem(), n in 1..12_usize) {
        let (lda, bags, mut room) = (p.lda::<f64>(), p.bags(), scratch(&p.shape()));
        for d in 0..p.counts.len() {
            let posterior = lda.posterior(&bags, d, sweeps(n), &mut room).unwrap();
            let (gamma, phi) = p.infer(d, n);
            prop_assert!(posterior.gamma().iter().zip(&gamma).all(|(&a, &b)| near(a, b)));
            prop_assert!(near(posterior.bound(), p.elbo(d, &gamma, &phi)), "{} {}", posterior.bound(), p.elbo(d, &gamma, &phi));
            for w in 0..p.features() {
                let mut found = vec![0.0; p.topics()];
                posterior.phi(w, &mut found).unwrap();
                prop_assert!(near(found.iter().sum(), 1.0));
                prop_assert!(found.iter().zip(&phi[w]).all(|(&a, &b)| near(a, b)));
            }
            let total = p.alpha.iter().sum::<f64>() + p.tokens(d);
            prop_assert!(near(posterior.gamma().iter().sum(), total));
            let mut proportions = vec![0.0; p.topics()];
            posterior.proportions(&mut proportions).unwrap();
            prop_assert!(proportions.iter().zip(&gamma).all(|(&a, &b)| near(a, b / total)));
        }
    }

    /// The bound rises from sweep to sweep; an empty document has `gamma = alpha` and bound 0.
    #[test]
    fn the_bound_rises(p in problem()) {
        let (lda, bags, mut room) = (p.lda::<f64>(), p.bags(), scratch(&p.shape()));
        for d in 0..p.counts.len() {
            let mut last = f64::NEG_INFINITY;
            for n in 1..10 {
                let bound = lda.posterior(&bags, d, sweeps(n), &mut room).unwrap().bound();
                prop_assert!(bound >= last - CLOSE);
                last = bound;
            }
            prop_assert!(last <= CLOSE);
        }
        let posterior = lda.posterior(&bags, p.counts.len() - 1, Inference::default(), &mut room).unwrap();
        prop_assert_eq!(posterior.gamma(), lda.alpha());
        prop_assert!(posterior.bound().abs() <= CLOSE && posterior.has_converged());
    }

    /// Inference ends with the first sweep that changes `gamma` by at most the tolerance a topic on average, or with the
    /// last allowed.
    #[test]
    fn inference_ends_as_said(p in problem(), tolerance in 1e-4..1.0_f64, most in 1..20_usize) {
        let (lda, bags, mut room) = (p.lda::<f64>(), p.bags(), scratch(&p.shape()));
        for d in 0..p.counts.len() {
            let (mut last, mut expected) = (p.infer(d, 0).0, None);
            for sweep in 1..=most {
                let gamma = p.infer(d, sweep).0;
                let change = gamma.iter().zip(&last).map(|(a, b)| (a - b).abs()).sum::<f64>() / p.topics() as f64;
                prop_assume!((change - tolerance).abs() > CLOSE); // else a rounding decides
                if change <= tolerance {
                    expected = Some(sweep);
                    break;
                }
                last = gamma;
            }
            let posterior = lda.posterior(&bags, d, Inference { sweeps: most, tolerance }, &mut room).unwrap();
            prop_assert_eq!((posterior.sweeps(), posterior.has_converged()), (expected.unwrap_or(most), expected.is_some()));
        }
    }

    /// The bound as written down has its maxima at Eqs. 6 and 7: no other `phi` is better for a `gamma`, no other `gamma`
    /// for a `phi`.
    #[test]
    fn sweeps_maximise_the_bound(p in problem(), factors in prop::collection::vec(0.3..3.0_f64, 5), n in 1..5_usize) {
        for d in 0..p.counts.len() {
            let (gamma, phi) = p.infer(d, n);
            let other: Vec<f64> = gamma.iter().zip(&factors).map(|(gamma, factor)| gamma * factor).collect();
            let best = p.elbo(d, &gamma, &phi);
            prop_assert!(p.elbo(d, &other, &phi) <= best + CLOSE * best.abs().max(1.0));
            let best = p.elbo(d, &other, &p.phi(&other));
            prop_assert!(p.elbo(d, &other, &phi) <= best + CLOSE * best.abs().max(1.0));
        }
    }

    /// One topic is a unigram model, and its bound is exact.
    #[test]
    fn one_topic_is_the_unigram_model(mut p in problem()) {
        p.alpha.truncate(1);
        p.beta.truncate(1);
        let (lda, bags, mut room) = (p.lda::<f64>(), p.bags(), scratch(&p.shape()));
        for d in 0..p.counts.len() {
            let likelihood = (0..p.features()).map(|w| f64::from(p.counts[d][w]) * p.beta[0][w].ln()).sum();
            let posterior = lda.posterior(&bags, d, Inference::default(), &mut room).unwrap();
            prop_assert!(near(posterior.bound(), likelihood));
        }
    }

    /// Never above `ln p(c)`, which is a sum over all assignments of tokens to topics.
    #[test]
    fn the_bound_is_one(mut p in problem()) {
        p.alpha.truncate(3);
        p.beta.truncate(3);
        for counts in &mut p.counts {
            let mut left = 6; // at most 3^6 assignments
            for c in counts.iter_mut() {
                *c = (*c).min(left);
                left -= *c;
            }
        }
        let (lda, bags, mut room) = (p.lda::<f64>(), p.bags(), scratch(&p.shape()));
        for d in 0..p.counts.len() {
            let tokens: Vec<usize> =
                (0..p.features()).flat_map(|w| std::iter::repeat_n(w, p.counts[d][w] as usize)).collect();
            let (k, a) = (p.topics(), p.alpha.iter().sum::<f64>());
            let mut evidence = 0.0;
            for assignment in 0..k.pow(tokens.len() as u32) {
                let (mut rest, mut n, mut joint) = (assignment, vec![0.0; k], 1.0);
                for &w in &tokens {
                    n[rest % k] += 1.0;
                    joint *= p.beta[rest % k][w];
                    rest /= k;
                }
                let ratios: f64 = (0..k).map(|j| ln_gamma(p.alpha[j] + n[j]) - ln_gamma(p.alpha[j])).sum();
                evidence += joint * (ln_gamma(a) - ln_gamma(a + tokens.len() as f64) + ratios).exp();
            }
            let posterior = lda.posterior(&bags, d, Inference::CONVERGED, &mut room).unwrap();
            prop_assert!(posterior.bound() <= evidence.ln() + CLOSE);
        }
    }

    /// Permuting topics permutes everything; permuting features nothing but `beta`.
    #[test]
    fn relabelling(p in problem(), turn in 0..5_usize) {
        let mut other = p.clone();
        other.alpha.rotate_left(turn % p.topics());
        other.beta.rotate_left(turn % p.topics());
        let by = turn % p.features();
        other.beta.iter_mut().for_each(|topic| topic.rotate_left(by));
        other.counts.iter_mut().for_each(|counts| counts.rotate_left(by));
        let (mut room, mut other_room) = (scratch(&p.shape()), scratch(&p.shape()));
        let (lda, bags) = (p.lda::<f64>(), p.bags());
        let (other_lda, other_bags) = (other.lda::<f64>(), other.bags());
        for d in 0..p.counts.len() {
            let a = lda.posterior(&bags, d, sweeps(7), &mut room).unwrap();
            let b = other_lda.posterior(&other_bags, d, sweeps(7), &mut other_room).unwrap();
            prop_assert!(near(a.bound(), b.bound()));
            let mut gamma = a.gamma().to_vec();
            gamma.rotate_left(turn % p.topics());
            prop_assert!(gamma.iter().zip(b.gamma()).all(|(&a, &b)| near(a, b)));
        }
    }

    /// Both groupings sum to minus the bound, and by word sums to by topic.
    #[test]
    fn terms_sum_to_the_free_energy(p in problem(), n in 1..20_usize) {
        let (lda, bags) = (p.lda::<f64>(), p.bags());
        let [topic, word] = [Grouping::Topic, Grouping::Word].map(|grouping| Terms::new(&lda, sweeps(n), grouping));
        for d in 0..p.counts.len() {
            let bag: Bag<'_, u32> = bags.as_view().bag(d).unwrap();
            let (mut by_topic, mut by_word) = (vec![0.0; topic.term_count(&bag)], vec![0.0; word.term_count(&bag)]);
            let mut room = vec![0.0; word.scratch_len(&bag)];
            let free_energy = topic.free_energy_terms(&bag, &mut by_topic, &mut room).unwrap();
            for terms in [&topic, &word] {
                prop_assert_eq!(check_terms_sum(terms, &bag, Tolerance::mixed(CLOSE)), Ok(free_energy));
            }
            prop_assert_eq!(word.free_energy_terms(&bag, &mut by_word, &mut room).unwrap(), free_energy);
            let (k, v) = (p.topics(), p.features());
            for j in 0..k {
                prop_assert!(near(by_word[2 * k + j * v..2 * k + (j + 1) * v].iter().sum(), by_topic[2 * k + j]));
            }
            prop_assert_eq!(&by_word[..2 * k], &by_topic[..2 * k]);
            prop_assert_eq!(&by_word[2 * k + k * v..], &by_topic[3 * k..]);
        }
    }

    /// The derivatives of the bound, re-optimised, by central differences.
    #[test]
    fn derivatives_of_the_optimised_bound(p in problem(), pick in any::<prop::sample::Index>()) {
        let (shape, bags) = (p.shape(), p.bags());
        let (lda, mut room) = (p.lda::<f64>(), scratch(&shape));
        let d = pick.index(p.counts.len());
        let posterior = lda.posterior(&bags, d, Inference::CONVERGED, &mut room).unwrap();
        prop_assume!(posterior.has_converged());
        let gamma = posterior.gamma().to_vec();
        let (mut beta, mut alpha) = (vec![0.0; p.topics() * p.features()], vec![0.0; p.topics()]);
        let mut counts = beta.clone();
        posterior.beta_gradient(&mut beta).unwrap();
        posterior.alpha_gradient(&mut alpha).unwrap();
        posterior.expected_counts(&mut counts).unwrap();
        for ((&raw, &count), &p) in beta.iter().zip(&counts).zip(lda.beta()) {
            prop_assert!(near(raw, count / p));
        }
        // What Fisher scores are made of is the same, of a document alone.
        let (bound, entries): (f64, Vec<_>) = (posterior.bound(), bags.entries(d).collect());
        let (features, tokens): (Vec<u32>, Vec<_>) = entries.into_iter().map(|(z, c)| (z as u32, c)).unzip();
        let bag = Bag::new(p.features(), &features, &tokens).unwrap();
        let mut all = vec![0.0; shape.model_len()];
        let mut own = vec![0.0; lda.counts_scratch_len(&bag)];
        let found = lda.expected_counts(&bag, &mut all, &mut own).unwrap();
        prop_assert!(near(found, bound));
        prop_assert!(all.iter().zip(counts.iter().chain(&alpha)).all(|(&a, &b)| near(a, b)));
        // The bound is smooth on the scale of an entry; a step of 1e-4 of it leaves 1e-8 of the third derivative's part
        // and 1e-16 |bound| / 1e-4 of rounding. From the same optimum, which moves by as little.
        let mut tables = lda.buffer().to_vec();
        let gradient = beta.iter().chain(&alpha);
        for (place, &expected) in gradient.enumerate() {
            let (x, step) = (tables[place], 1e-4 * tables[place]);
            let mut bound = |x: f64| {
                tables[place] = x;
                // Entries as free numbers: within 1e-3 of a distribution, which `new` allows.
                let lda = Lda::new(shape, &tables[..]).unwrap();
                let mut room = scratch(&shape);
                lda.posterior_from(&bags, d, Inference::CONVERGED, Some(&gamma), &mut room).unwrap().bound()
            };
            let mut slope = |step: f64| (bound(x + step) - bound(x - step)) / (2.0 * step);
            let (rough, slope) = (slope(step), slope(0.5 * step));
            bound(x);
            // Where two optima are about to part, as with equal topics, the third derivative has no limit: the steps differ by
            // three times the error of the smaller.
            let error = 1e-6 * p.tokens(d).max(1.0) + (rough - slope).abs() * x;
            prop_assert!((slope - expected).abs() * x <= error, "{place}: {slope} {expected}");
        }
    }

    /// Minus free energy less penalty never falls with warm starts, whatever is learned.
    #[test]
    fn em_is_monotone_from_where_it_was(p in problem(), eta in prop_oneof![Just(0.0), 0.01..1.0_f64], learn in any::<bool>(), n in 1..4_usize) {
        let concentration = if learn { Concentration::Symmetric } else { Concentration::Fixed };
        let mut p = p;
        if learn {
            p.alpha.fill(0.7); // symmetric from the beginning: an M-step starts there
        }
        let options = Options { inference: sweeps(n), smoothing: eta, concentration };
        let (bags, shape) = (p.bags(), p.shape());
        let mut learner = Learner::new(p.lda::<f64>(), options).unwrap();
        let mut statistics = statistics(&shape, 2);
        let mut gammas = vec![1.0; p.counts.len() * p.topics()];
        let mut last = f64::INFINITY;
        for _ in 0..12 {
            statistics.clear();
            let objective = learner.expectation_from(&bags, &mut gammas, &mut statistics).unwrap() + learner.penalty();
            // alpha may rise to 1e4: ln Γ(5e4) is 5e5, to 2.5 ulp, some twelve times a document.
            let noise = if learn { 2e-9 * p.counts.len() as f64 } else { 0.0 };
            prop_assert!(objective <= last + noise + CLOSE * objective.abs().max(1.0), "{last} to {objective}");
            last = objective;
            learner.maximization(&mut statistics).unwrap();
            learner.lda().check().unwrap();
        }
    }

    /// An E-step is the sum of what is inferred of each document; the M-step what it says.
    #[test]
    fn steps_are_the_definition(p in problem(), eta in 0.0..1.0_f64) {
        let options = Options { inference: sweeps(5), smoothing: eta, ..Options::default() };
        let (bags, shape) = (p.bags(), p.shape());
        let mut learner = Learner::new(p.lda::<f64>(), options).unwrap();
        let mut statistics = statistics(&shape, 2);
        let free_energy = learner.expectation(&bags, &mut statistics).unwrap();
        let (mut counts, mut bound, mut log_theta) = (vec![vec![0.0; p.features()]; p.topics()], 0.0, 0.0);
        for d in 0..p.counts.len() {
            let (gamma, phi) = p.infer(d, 5);
            bound += p.elbo(d, &gamma, &phi);
            let total = digamma(gamma.iter().sum::<f64>());
            log_theta += gamma.iter().map(|&gamma| digamma(gamma) - total).sum::<f64>();
            for k in 0..p.topics() {
                for w in 0..p.features() {
                    counts[k][w] += f64::from(p.counts[d][w]) * phi[w][k];
                }
            }
        }
        prop_assert!(near(-free_energy, bound));
        prop_assert!(near(statistics.log_theta(), log_theta));
        prop_assert_eq!(statistics.documents(), p.counts.len() as f64);
        prop_assert_eq!(statistics.tokens(), bags.tokens());
        learner.maximization(&mut statistics).unwrap();
        for k in 0..p.topics() {
            let total: f64 = counts[k].iter().map(|c| c + eta).sum();
            for w in 0..p.features() {
                let expected = if total > 0.0 { (counts[k][w] + eta) / total } else { p.beta[k][w] };
                prop_assert!(near(statistics.counts()[w * p.topics() + k], counts[k][w]));
                prop_assert!(near(learner.lda().row(w)[k], expected));
            }
        }
    }

    /// However bags are stored, cut into chunks and batches: the same bits of counts and, but for the sum over
    /// batches, of the free energy.
    #[test]
    fn chunks_storage_and_batches(p in problem(), chunk in 1..5_usize, more in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
        let (bags, shape) = (p.bags(), p.shape());
        let learner = Learner::new(p.lda::<f32>(), Options::default()).unwrap();
        let run = |mut statistics: Statistics<f32, Vec<f32>>, free_energy: f64| {
            let counts = statistics.counts().to_vec();
            statistics.clear();
            (counts, free_energy)
        };
        let mut one = statistics(&shape, 1);
        let expected = learner.expectation(&bags, &mut one).unwrap();
        let expected = run(one, expected);
        // Scratch of any length, also that of some documents and a part of another.
        let len = shape.scratch_len(chunk) + more.index(shape.posterior_scratch_len());
        let mut other = Statistics::new(shape, vec![0.0; shape.sums_len()], vec![0.0; len]).unwrap();
        let dense = p.counts.concat();
        let found = learner.expectation(&Dense::new(p.features(), &dense).unwrap(), &mut other).unwrap();
        prop_assert_eq!(run(other, found), expected.clone());
        let mut parts = statistics(&shape, chunk);
        let (view, middle): (Csr<'_, u32>, _) = (bags.as_view(), cut.index(p.counts.len()));
        let first = learner.expectation(&view.slice(0..middle).unwrap(), &mut parts).unwrap();
        let rest = learner.expectation(&view.slice(middle..p.counts.len()).unwrap(), &mut parts).unwrap();
        let found = run(parts, first + rest);
        prop_assert_eq!(found.0, expected.0);
        prop_assert!(near(found.1, expected.1));
    }

    /// In f32 what f64 gives: see the golden vectors for the size of the error.
    #[test]
    fn single_precision(p in problem()) {
        let (bags, shape) = (p.bags(), p.shape());
        let (single, double) = (p.lda::<f32>(), p.lda::<f64>());
        let (mut a, mut b) = (scratch(&shape), scratch(&shape));
        for d in 0..p.counts.len() {
            let x = single.posterior(&bags, d, sweeps(10), &mut a).unwrap();
            let y = double.posterior(&bags, d, sweeps(10), &mut b).unwrap();
            // 2^29 times the roundings of f64.
            prop_assert!((x.bound() - y.bound()).abs() <= 1e-4 * y.bound().abs().max(1.0));
        }
    }
}

/// Words that only unlikely topics have go by logarithms: with `alpha` so small that `exp(ψ(alpha))` is zero, a topic
/// begins with nothing and still gets its words.
#[test]
fn words_of_unlikely_topics() {
    fn check<T: Real>(alpha: f64) {
        let shape = Shape::new(2, 3).unwrap();
        let tables = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, alpha, alpha].map(T::from_f64);
        let lda = Lda::new(shape, tables).unwrap();
        let bag = Bag::new(3, &[0, 1], &[1e6, 1e-3]).unwrap();
        let start = [T::from_f64(1e6), T::from_f64(alpha)];
        let mut room = vec![T::zero(); shape.posterior_scratch_len()];
        let posterior = lda.posterior_from(&bag, 0, sweeps(1), Some(&start), &mut room).unwrap();
        assert!((posterior.gamma()[1].to_f64() / (alpha + 1e-3) - 1.0).abs() < 1e-6);
        let mut phi = [T::zero(); 2];
        posterior.phi(1, &mut phi).unwrap();
        assert_eq!(phi, [T::zero(), T::one()]);
        // A word that no topic has counts as one that all have with a probability of the floor.
        let bag = Bag::new(3, &[2], &[2.0]).unwrap();
        let posterior = lda.posterior(&bag, 0, Inference::default(), &mut room).unwrap();
        assert!(posterior.bound() <= 2.0 * T::FLOOR.to_f64().ln());
        let model = Terms::new(&lda, Inference::default(), Grouping::Topic);
        let (mut terms, mut room) =
            (vec![T::zero(); model.term_count(&bag)], vec![T::zero(); model.scratch_len(&bag)]);
        let free_energy = model.free_energy_terms(&bag, &mut terms, &mut room).unwrap().to_f64();
        let words: f64 = terms[4..6].iter().map(|&x| x.to_f64()).sum();
        assert!((words / T::FLOOR.to_f64().ln() + 2.0).abs() < 8.0 * T::UNIT_ROUNDOFF.to_f64());
        let sum: f64 = terms.iter().map(|&x| x.to_f64()).sum();
        let size: f64 = terms.iter().map(|&x| x.to_f64().abs()).sum();
        assert!((sum - free_energy).abs() < 100.0 * T::UNIT_ROUNDOFF.to_f64() * size);
    }
    check::<f32>(1e-3);
    check::<f64>(1e-4);
}

/// Mini-batches learn the same topics: on data of two kinds of documents each topic ends with the words of one kind.
#[test]
fn stepwise_fits() {
    let mut bags = CsrBuf::new(6).unwrap();
    for t in 0..60_usize {
        let from = 3 * (t % 2);
        bags.push_bag([(from, 4_u32), (from + 1, 2), (from + 2, 3 + (t % 3) as u32)]).unwrap();
    }
    let shape = Shape::new(2, 6).unwrap();
    let mut lda = Lda::<f64, _>::uniform(shape, 0.1).unwrap();
    lda.randomize(&mut <rand_chacha::ChaCha8Rng as rand_chacha::rand_core::SeedableRng>::seed_from_u64(3));
    let mut learner = Learner::new(lda, Options { smoothing: 0.01, ..Options::default() }).unwrap();
    let mut statistics = Statistics::allocate(shape, 4).unwrap();
    let step_size = StepSize::Power { exponent: 0.7, delay: 2.0 };
    let plan = StepwiseOptions { step_size, passes: 20, ..StepwiseOptions::default() }.check().unwrap();
    let view = bags.as_view();
    let batches = |_| (0..6).map(|b| (view.slice(10 * b..10 * (b + 1)).unwrap(), 1.0 / 6.0));
    plan.fit(&mut learner, batches, &mut statistics, countgrid_em::no_observer).unwrap();
    let first = usize::from(learner.lda().row(0)[1] > learner.lda().row(0)[0]);
    // Ten documents of a batch have five of a kind, which have 4, 2 and on average 3.8 to 4.2 of its words: whatever the
    // weights of the batches, a word's share is that of a mixture of them, but for what the other topic has of it.
    let shares = [(4.0 / 10.2, 4.0 / 9.8), (2.0 / 10.2, 2.0 / 9.8), (3.8 / 9.8, 4.2 / 10.2)];
    for w in 0..6 {
        let row = learner.lda().row(w);
        let own = row[if w < 3 { first } else { 1 - first }];
        let (least, most) = shares[w % 3];
        assert!(row.iter().sum::<f64>() - own < 0.01, "{row:?}");
        assert!((least - 0.01..=most + 0.01).contains(&own), "{row:?}");
    }
}
