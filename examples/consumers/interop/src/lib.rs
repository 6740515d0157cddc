//! Topics of counts that other libraries hold, and the topics as their matrices; nothing is copied on the way.

use countgrid::counts::Bags;
use countgrid::em::{EmOptions, TablesNalgebra, TablesNdarray, no_observer};
use countgrid::lda::{Lda, Learner, Options, Shape, Statistics};
use countgrid::math::AlignedVec;

/// A model that owns its tables.
pub type Topics = Lda<f64, AlignedVec<f64>>;

/// Topics of bags, from the start that `first` writes into the tables.
///
/// # Errors
/// No topics, or counts that a model refuses.
pub fn topics(
    bags: &impl Bags,
    first: impl FnOnce(&mut Topics),
    topics: usize,
) -> Result<Topics, Box<dyn std::error::Error>> {
    let shape = Shape::new(topics, bags.features())?;
    let mut model = Topics::uniform(shape, 0.5)?;
    first(&mut model);
    let mut learner = Learner::new(model, Options::default())?;
    let mut statistics = Statistics::allocate(shape, 16)?;
    EmOptions { iterations: 5, ..EmOptions::default() }.check()?.fit(
        &mut learner,
        bags,
        &mut statistics,
        no_observer,
    )?;
    Ok(learner.into_lda())
}

/// The table `beta` of a model, `[feature][topic]`, in nalgebra.
pub fn in_nalgebra(model: &Topics) -> Option<countgrid::em::TableView<'_, f64>> {
    model.matrix("beta")
}

/// The same in ndarray.
pub fn in_ndarray(model: &Topics) -> Option<ndarray::ArrayView2<'_, f64>> {
    model.array("beta")
}
