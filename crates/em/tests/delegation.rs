//! What wraps a model does what the model does; what wraps an error says what it says.

use core::error::Error;

use crate::models::{Mixture, MixtureSums};
use countgrid_counts::Dense;
use countgrid_em::testing::{Broken, Contract, Tolerance, check_terms_sum};
use countgrid_em::{
    Annealing, BlockError, BlockStatistics, ByBlocks, EmOptions, Fit, FreeEnergy, Learn, OptionError,
    ParallelByBlocks, ParallelStatistics, ReductionError, Tables, TablesError, no_observer,
};

const COUNTS: [u8; 24] = [6, 3, 0, 0, 0, 1, 5, 2, 4, 4, 1, 0, 0, 0, 3, 7, 5, 1, 0, 1, 1, 0, 6, 2];
const LEN: usize = 2 * (1 + 4);

fn mixture(seed: Option<u64>) -> Mixture<f64, Vec<f64>> {
    let mut model = Mixture::new(2, 4, vec![0.25; LEN]).unwrap();
    model.pseudocount = 0.5;
    if let Some(seed) = seed {
        model.draw(seed);
    }
    model
}

fn empty() -> MixtureSums<f64, Vec<f64>> {
    MixtureSums::new(2, 4, vec![0.0; LEN], vec![0.0; 2]).unwrap()
}

/// A collection of one block is that block: with penalty, temperature, perturbation and copies.
#[test]
fn one_block_is_fitted_as_the_model_itself_is() {
    let blocks = [Dense::new(4, &COUNTS).unwrap()];
    let plan = EmOptions { tolerance: 0.0, iterations: 6 }.check().unwrap();
    let schedule = Annealing::geometric(0.25, 4).unwrap();
    let mut ends = Vec::new();
    for schedule in [schedule, schedule.with_perturbation(0.2, 3).unwrap()] {
        let mut model = mixture(Some(5));
        let expected =
            plan.fit_annealed(&mut model, &blocks[0], &mut empty(), &schedule, no_observer).unwrap();
        assert!(expected.objective > expected.free_energy); // the penalty has its part
        let mut in_turn = ByBlocks::new(mixture(Some(5)));
        let mut sums = BlockStatistics::new(empty());
        let found = plan.fit_annealed(&mut in_turn, &blocks[..], &mut sums, &schedule, no_observer).unwrap();
        assert_eq!((found, in_turn.buffer()), (expected, model.buffer()));
        let mut on_threads = ParallelByBlocks::new(mixture(Some(5)));
        let mut sums = ParallelStatistics::new(empty());
        let found =
            plan.fit_annealed(&mut on_threads, &blocks[..], &mut sums, &schedule, no_observer).unwrap();
        assert_eq!((found, on_threads.buffer()), (expected, model.buffer()));
        assert_eq!([in_turn.penalty(), on_threads.penalty()], [model.penalty(); 2]);
        ends.push(model.buffer().to_vec());
    }
    assert_ne!(ends[0], ends[1]); // perturbation has its part
    // Components alike.
    assert_eq!(ByBlocks::new(mixture(None)).coinciding_components(), Some(1));
    assert_eq!(ParallelByBlocks::new(mixture(None)).coinciding_components(), Some(1));
}

#[test]
fn a_block_in_several_batches_has_the_sum_of_their_free_energies() {
    let model = mixture(Some(2));
    let batches: Vec<_> = COUNTS.chunks(8).map(|rows| Dense::new(4, rows).unwrap()).collect();
    let each: Vec<f64> =
        batches.iter().map(|batch| model.expectation(batch, &mut empty()).unwrap()).collect();
    let mut statistics = BlockStatistics::new(empty());
    let mut expectation = statistics.begin();
    for (block, batch) in [0, 0, 1].into_iter().zip(&batches) {
        expectation.add::<_, _, TablesError>(&model, block, batch).unwrap();
    }
    assert_eq!(expectation.finish().unwrap(), (each[0] + each[1]) + each[2]);
}

/// By reference a model has the same terms, in the same room.
#[test]
fn terms_by_reference() {
    let (model, bags) = (mixture(Some(2)), Dense::new(4, &COUNTS[..4]).unwrap());
    let by_reference = &&model;
    let tolerance = Tolerance::mixed(1e-13);
    let expected = check_terms_sum(&model, &bags, tolerance).unwrap();
    assert_eq!(check_terms_sum(by_reference, &bags, tolerance), Ok(expected));
    let lengths = |model: &dyn FreeEnergy<Dense<'_, u8>, Scalar = f64, Error = TablesError>| {
        (model.term_count(&bags), model.scratch_len(&bags))
    };
    assert_eq!(lengths(by_reference), lengths(&model));
}

/// Each setting that is refused is told apart.
#[test]
fn every_setting_has_a_text() {
    use OptionError::{Delay, Exponent, Passes, Perturbation, Restarts, StepSize, Temperature, Tolerance};
    let errors = [Tolerance, Temperature, Perturbation, Restarts, Exponent, Passes, Delay, StepSize]
        .map(|e| e.to_string());
    for (n, text) in errors.iter().enumerate() {
        assert!(text.len() > 10 && !errors[..n].contains(text), "{text}");
    }
}

/// Errors of blocks show those of the model, once, and what caused these.
#[test]
fn errors_of_blocks_and_contracts() {
    type Blocks = BlockError<BlockError<TablesError, TablesError>, TablesError>;
    let (inner, reduction) = (TablesError::TooLarge, ReductionError::Order { expected: 1, found: 2 });
    let own = BlockError::Read(inner);
    let errors: [(Blocks, String); 5] = [
        (BlockError::Expectation { block: 7, error: own }, format!("block 7: {inner}")),
        (BlockError::Maximization(own), inner.to_string()),
        (BlockError::Read(inner), inner.to_string()),
        (BlockError::Reduction(reduction), reduction.to_string()),
        (BlockError::Stopped { block: 3 }, "stopped before the end of block 3".to_string()),
    ];
    for (error, text) in errors {
        assert_eq!(error.to_string(), text);
        assert!(error.source().is_none());
    }
    #[derive(Debug)]
    struct Caused;
    impl core::fmt::Display for Caused {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str("no step")
        }
    }
    impl Error for Caused {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&TablesError::TooLarge)
        }
    }
    for error in [
        BlockError::Expectation { block: 0, error: Caused },
        BlockError::Maximization(Caused),
        BlockError::Read(Caused),
    ] {
        assert_eq!(error.source().map(ToString::to_string), Some(TablesError::TooLarge.to_string()));
    }

    let contract = Contract::Rises { iteration: 2, before: 1.5, after: 2.5 };
    assert_eq!(contract.to_string(), "iteration 2 changes the objective from 1.5 to 2.5");
    assert_eq!(Broken::<TablesError>::Contract(contract).to_string(), contract.to_string());
    assert_eq!(Broken::Model(inner).to_string(), inner.to_string());
}
