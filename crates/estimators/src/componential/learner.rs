//! What is fitted at a stage: a counting grid, or the componential one that begins as it.

use countgrid_counts::Bags;
use countgrid_em::{Anneal, BlockStatistics, Fit, Learn, Table, Tables, TablesMut};
use countgrid_grid::{GridError, componential};
use countgrid_math::{AlignedVec, Real};

use crate::{AXES, BlockLearner};

type Grid<T> = countgrid_grid::Learner<T, AlignedVec<T>, AXES>;
type Componential<T> = componential::Learner<T, AlignedVec<T>, AXES>;

/// The model of a stage.
///
/// Example: [`ComponentialTraining`](crate::ComponentialTraining).
#[derive(Debug)]
pub enum ComponentialStage<T> {
    /// A counting grid, from coarse to fine.
    Grid(Box<Grid<T>>),
    /// The componential grid, the last.
    Componential(Box<Componential<T>>),
}

/// The sums of a stage.
///
/// Example: [`ComponentialTraining`](crate::ComponentialTraining).
#[derive(Debug)]
pub enum ComponentialStatistics<T> {
    /// Of a counting grid.
    Grid(countgrid_grid::Statistics<T, AlignedVec<T>, AXES>),
    /// Of the componential grid.
    Componential(componential::Statistics<T, AlignedVec<T>, AXES>),
}

/// A stage that is being fitted to bags in blocks.
pub type ComponentialLearner<T> = BlockLearner<ComponentialStage<T>>;
/// Its sums over blocks.
pub(super) type StageStatistics<T> = BlockStatistics<ComponentialStatistics<T>>;

impl<T: Real> Tables for ComponentialStage<T> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        match self {
            Self::Grid(learner) => learner.grid().layout(),
            Self::Componential(learner) => learner.grid().layout(),
        }
    }

    fn buffer(&self) -> &[T] {
        match self {
            Self::Grid(learner) => learner.grid().buffer(),
            Self::Componential(learner) => learner.grid().buffer(),
        }
    }
}

impl<T: Real> Tables for ComponentialStatistics<T> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        match self {
            Self::Grid(statistics) => statistics.layout(),
            Self::Componential(statistics) => statistics.layout(),
        }
    }

    fn buffer(&self) -> &[T] {
        match self {
            Self::Grid(statistics) => statistics.buffer(),
            Self::Componential(statistics) => statistics.buffer(),
        }
    }
}

impl<T: Real> TablesMut for ComponentialStatistics<T> {
    fn buffer_mut(&mut self) -> &mut [T] {
        match self {
            Self::Grid(statistics) => statistics.buffer_mut(),
            Self::Componential(statistics) => statistics.buffer_mut(),
        }
    }
}

impl<T: Real> Learn for ComponentialStage<T> {
    type Statistics = ComponentialStatistics<T>;
    type Error = GridError;

    /// # Errors
    /// [`GridError::ShapeMismatch`], also for statistics of another stage.
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), GridError> {
        match (self, statistics) {
            (Self::Grid(learner), ComponentialStatistics::Grid(sums)) => learner.maximization(sums),
            (Self::Componential(learner), ComponentialStatistics::Componential(sums)) => {
                learner.maximization(sums)
            }
            _ => Err(GridError::ShapeMismatch),
        }
    }

    fn penalty(&self) -> f64 {
        match self {
            Self::Grid(learner) => learner.penalty(),
            Self::Componential(learner) => learner.penalty(),
        }
    }

    fn coinciding_components(&self) -> Option<usize> {
        match self {
            Self::Grid(learner) => learner.coinciding_components(),
            Self::Componential(learner) => learner.coinciding_components(),
        }
    }
}

impl<T: Real, B: Bags> Fit<B> for ComponentialStage<T> {
    /// # Errors
    /// [`GridError::ShapeMismatch`] for statistics of another stage; those of the model.
    fn expectation(&self, bags: &B, statistics: &mut Self::Statistics) -> Result<f64, GridError> {
        match (self, statistics) {
            (Self::Grid(learner), ComponentialStatistics::Grid(sums)) => learner.expectation(bags, sums),
            (Self::Componential(learner), ComponentialStatistics::Componential(sums)) => {
                learner.expectation(bags, sums)
            }
            _ => Err(GridError::ShapeMismatch),
        }
    }
}

/// Of the counting grid; the inverse temperature of a componential grid is always one.
impl<T: Real> Anneal for ComponentialStage<T> {
    fn set_inverse_temperature(&mut self, beta: f64) {
        if let Self::Grid(learner) = self {
            learner.set_inverse_temperature(beta);
        }
    }

    fn perturb(&mut self, statistics: &mut Self::Statistics, size: f64, seed: u64) {
        if let (Self::Grid(learner), ComponentialStatistics::Grid(sums)) = (self, statistics) {
            learner.perturb(sums, size, seed);
        }
    }
}
