//! The posterior samples of a harmonium's training: which are kept, which are refused, and their mean.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_em::Tables;
use countgrid_estimators::{
    BagTotals, CouplingPrior, FeatureValues, HarmoniumData, HarmoniumKind, HarmoniumMethod, HarmoniumOptions,
    HarmoniumParameters, HarmoniumTraining, Train,
};

/// Six bags of four words.
fn blocks() -> Blocks<f64> {
    let mut builder = BlocksBuilder::new(4, BlockLimits::in_memory()).unwrap();
    for bag in [&[0, 1][..], &[0], &[1, 2], &[2, 3], &[3], &[0, 3]] {
        builder.push(bag.iter().map(|&word| (word, 1.0))).unwrap();
    }
    builder.finish().unwrap()
}

fn langevin(kind: HarmoniumKind, topics: usize, draws: usize) -> HarmoniumOptions {
    let method = HarmoniumMethod::Langevin;
    HarmoniumOptions { kind, method, topics, draws, epochs: 2, ..HarmoniumOptions::default() }
}

fn training(options: &HarmoniumOptions) -> HarmoniumTraining<f64, HarmoniumData<f64>> {
    let blocks = blocks();
    let plan = options.check(BagTotals::from_blocks(&blocks).unwrap()).unwrap();
    let values = vec![1.0, -2.0, 0.5, 4.0, -1.0, 0.0];
    let features = FeatureValues { names: vec!["size".into()], values };
    let own = (options.kind == HarmoniumKind::DualWing).then_some(&features);
    let data = HarmoniumData::new(&plan, &blocks, own).unwrap();
    HarmoniumTraining::new(plan, data).unwrap()
}

/// About fifty samples are kept, evenly spread over the second half.
#[test]
fn samples_are_spread_over_the_second_half() {
    for (draws, kept) in [
        (9, (4..9).collect::<Vec<_>>()),
        (98, (49..98).collect()),
        // Every second of 101, every third of 151.
        (202, (101..202).step_by(2).collect()),
        (302, (151..302).step_by(3).collect()),
    ] {
        let options = langevin(HarmoniumKind::Single, 1, draws);
        let mut training = training(&options);
        (0..options.epochs).for_each(|_| drop(training.step().unwrap()));
        let mut all = Vec::new();
        while !training.is_done() {
            training.step().unwrap();
            all.push(training.parameters().next().unwrap().clone());
        }
        assert_eq!(all.len(), draws);
        let model = training.finish().unwrap();
        assert_eq!(model.samples().len(), kept.len());
        assert_eq!(model.summary().unwrap().samples, kept.len());
        for (found, &draw) in model.samples().iter().zip(&kept) {
            assert_eq!(found.buffer(), all[draw].buffer(), "{draw} of {draws}");
        }
    }
}

/// Samples of one topic differ from their rotations by a sign, and are averaged with that by which they are closest to the first;
/// those of a rate adapting model have no rotations, and are those of the first chain alone.
#[test]
fn a_model_is_the_mean_of_its_samples() {
    let mut flipped = 0;
    for (kind, topics, seed) in HarmoniumKind::ALL.into_iter().flat_map(|kind| {
        (1..=3).map(move |seed| (kind, if kind == HarmoniumKind::RateAdapting { 2 } else { 1 }, seed))
    }) {
        let options = HarmoniumOptions { chains: 2, seed, ..langevin(kind, topics, 8) };
        let mut training = training(&options);
        training.run(|_| ControlFlow::Continue(())).unwrap();
        let model = training.finish().unwrap();
        assert_eq!((model.samples().len(), model.summary().unwrap().samples), (8, 8));
        let averaged = if kind == HarmoniumKind::RateAdapting { 4 } else { 8 };
        let samples = &model.samples()[..averaged];
        let couplings = |sample: &HarmoniumParameters<f64>| [sample.w(), sample.u()].concat();
        let sign = |sample: &HarmoniumParameters<f64>| {
            let product =
                couplings(sample).iter().zip(couplings(&samples[0])).map(|(a, b)| a * b).sum::<f64>();
            if kind == HarmoniumKind::RateAdapting { 1.0 } else { product.signum() }
        };
        flipped += samples.iter().filter(|sample| sign(sample) < 0.0).count();
        let mean = |of: &dyn Fn(&HarmoniumParameters<f64>) -> Vec<f64>| -> Vec<f64> {
            let sum = |at: usize| samples.iter().map(|sample| of(sample)[at]).sum::<f64>();
            (0..of(&samples[0]).len()).map(|at| sum(at) / averaged as f64).collect()
        };
        let turned = |sample: &HarmoniumParameters<f64>| -> Vec<f64> {
            couplings(sample).iter().map(|w| sign(sample) * w).collect()
        };
        for (table, found, expected) in [
            ("alpha", model.model().alpha().to_vec(), mean(&|sample| sample.alpha().to_vec())),
            ("beta", model.model().beta().to_vec(), mean(&|sample| sample.beta().to_vec())),
            ("couplings", couplings(model.model()), mean(&turned)),
        ] {
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                // Eight numbers of a few units.
                assert!((found - expected).abs() < 1e-14, "{kind:?}, {table}: {found} and not {expected}");
            }
        }
    }
    assert!(flipped > 0, "no sample was on the other side");
}

/// Long steps lead a dual wing out of the models that have a normaliser: those are refused, and counted.
#[test]
fn refused_steps_are_counted_and_move_no_coupling() {
    let prior = Some(CouplingPrior::Fixed(2.0));
    let (step_size, chains, epochs) = (Some(0.8), 3, 0);
    let options =
        HarmoniumOptions { prior, step_size, chains, epochs, ..langevin(HarmoniumKind::DualWing, 1, 40) };
    let mut training = training(&options);
    let mut accepted = 0;
    for draw in 1..=40 {
        let before: Vec<Vec<f64>> =
            training.parameters().map(|model| [model.w(), model.u()].concat()).collect();
        training.step().unwrap();
        for ((before, after), trace) in before.iter().zip(training.parameters()).zip(training.traces()) {
            let moved = *before != [after.w(), after.u()].concat();
            assert_eq!(trace.last().unwrap().accepted, if moved { 1.0 } else { 0.0 });
            accepted += u64::from(moved);
        }
        let all = training.acceptance();
        assert_eq!((all.proposed, all.accepted), (3 * draw, accepted));
    }
    assert!((10..110).contains(&accepted), "{accepted} of 120");
    assert_eq!(training.finish().unwrap().summary().unwrap().acceptance.accepted, accepted);
}
