//! Terms of free energies as features.

use countgrid_counts::Length;
use countgrid_em::FreeEnergy;
use countgrid_math::Real;

use crate::{
    FeatureError, ScoreError,
    error::{finite, same_length},
};

/// Free energy score (FESS) of a datum: the terms of its variational free energy under one model, in the model's order.
/// Returns the free energy, which they sum to, in nats.
///
/// `features`: [`FreeEnergy::term_count`] elements, written; `scratch`: at least [`FreeEnergy::scratch_len`].
///
/// ```
/// use countgrid_counts::Sequence;
/// use countgrid_em::FreeEnergy;
/// use countgrid_hmm::{Hmm, Shape};
/// use countgrid_scores::fess;
///
/// let hmm = Hmm::new(Shape::new(2, 2)?, [0.5, 0.5, 0.9, 0.1, 0.1, 0.9, 0.8, 0.2, 0.2, 0.8])?;
/// let sequence = Sequence::new(2, &[0_u8, 0, 1, 1])?;
/// let mut features = vec![0.0; hmm.term_count(&sequence)];
/// let mut scratch = vec![0.0; hmm.scratch_len(&sequence)];
/// let free_energy = fess(&hmm, &sequence, &mut features, &mut scratch)?;
/// assert!((features.iter().sum::<f64>() - free_energy).abs() < 1e-14);
/// let log_p = hmm.log_likelihood(&sequence, &mut scratch)?;
/// assert!((free_energy + log_p).abs() < 1e-14); // the posterior is exact
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// [`FeatureError::Model`]; [`ScoreError::Length`]; [`ScoreError::Entry`] for a term that is not finite.
/// # Source
/// Perina et al., Free energy score space, NIPS 2009, Eqs. 2 to 5. Terms have the sign with which they sum to the free
/// energy.
pub fn fess<X: ?Sized, M: FreeEnergy<X> + ?Sized>(
    model: &M,
    datum: &X,
    features: &mut [M::Scalar],
    scratch: &mut [M::Scalar],
) -> Result<M::Scalar, FeatureError<M::Error>> {
    score(model, datum, M::Scalar::from_f64(1.0), features, scratch, FeatureError::Model)
}

/// Length-normalised free energy score (nFESS) of a datum: [`fess`] over the datum's [`Length`], so that long and short data
/// have features of one scale. Returns the free energy per token or symbol, in nats, which the features sum to.
///
/// Features times length are those of [`fess`]. A datum of length 0 has no token to be averaged over: its features, which are
/// those of the prior alone, are left as they are.
///
/// As many features for every datum, whatever its length, has a model whose terms are: one of bags, or one of sequences with
/// terms summed over positions, such as `Terms` of `countgrid-hmm` with `Grouping::Summed`.
///
/// ```
/// use countgrid_counts::Sequence;
/// use countgrid_em::FreeEnergy;
/// use countgrid_hmm::{Grouping, Hmm, Posterior, Shape, Terms};
/// use countgrid_scores::nfess;
///
/// let hmm = Hmm::new(Shape::new(2, 2)?, [0.5, 0.5, 0.9, 0.1, 0.1, 0.9, 0.8, 0.2, 0.2, 0.8])?;
/// let model = Terms::new(&hmm, Posterior::Exact, Grouping::Summed);
/// let sequence = Sequence::new(2, &[0_u8, 0, 1, 1])?;
/// let mut features = [0.0; 3 * 2 + 2 * 2 * 2]; // of a sequence of any length
/// let mut scratch = vec![0.0; model.scratch_len(&sequence)];
/// let per_symbol = nfess(&model, &sequence, &mut features, &mut scratch)?;
/// let log_p = hmm.log_likelihood(&sequence, &mut scratch)?;
/// assert!((per_symbol + log_p / 4.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`fess`]; [`ScoreError::DatumLength`].
/// # Source
/// A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 2009, Sec. 4 and Table 1,
/// where the form has its name.
pub fn nfess<X: Length + ?Sized, M: FreeEnergy<X> + ?Sized>(
    model: &M,
    datum: &X,
    features: &mut [M::Scalar],
    scratch: &mut [M::Scalar],
) -> Result<M::Scalar, FeatureError<M::Error>> {
    let divisor = divisor(datum)?;
    score(model, datum, divisor, features, scratch, FeatureError::Model)
        .map(|free_energy| free_energy / divisor)
}

/// What a datum's terms are divided by: its length, or one if that is 0.
fn divisor<X: Length + ?Sized, T: Real>(datum: &X) -> Result<T, ScoreError> {
    let length = datum.length();
    if !(length >= 0.0 && length.is_finite()) {
        return Err(ScoreError::DatumLength);
    }
    Ok(if length > 0.0 { T::from_f64(length) } else { T::one() })
}

/// Writes the terms over `divisor`, and returns the free energy itself.
fn score<X: ?Sized, M: FreeEnergy<X> + ?Sized>(
    model: &M,
    datum: &X,
    divisor: M::Scalar,
    features: &mut [M::Scalar],
    scratch: &mut [M::Scalar],
    refused: impl Fn(M::Error) -> FeatureError<M::Error>,
) -> Result<M::Scalar, FeatureError<M::Error>> {
    same_length("features", model.term_count(datum), features.len())?;
    let (expected, found) = (model.scratch_len(datum), scratch.len());
    let scratch =
        scratch.get_mut(..expected).ok_or(ScoreError::Length { table: "scratch", expected, found })?;
    let free_energy = model.free_energy_terms(datum, features, scratch).map_err(refused)?;
    features.iter_mut().for_each(|x| *x /= divisor);
    finite("features", features)?;
    finite("free_energy", &[free_energy])?;
    Ok(free_energy)
}

/// One model per class, and the features of a datum under all of them, side by side:
/// `[terms under class 0 | terms under class 1 | ...]`.
///
/// The models may have different numbers of terms. A weight of -1 for the terms of one class and of +1 for those of
/// another makes the free energy test of the two, so a linear classifier on these features has the generative
/// classification among its rules.
///
/// ```
/// use countgrid_counts::Sequence;
/// use countgrid_hmm::{Chain, ChainShape};
/// use countgrid_scores::ClassModels;
///
/// let shape = ChainShape::new(2, 0)?; // independent symbols
/// let chains = [Chain::new(shape, [0.75, 0.25])?, Chain::new(shape, [0.25, 0.75])?];
/// let models = ClassModels::new(&chains)?;
/// let sequence = Sequence::new(2, &[0_u8, 1, 1])?;
///
/// let mut features = vec![0.0; models.feature_count(&sequence)];
/// let mut scratch = vec![0.0; models.scratch_len(&sequence)];
/// let mut free_energies = [0.0; 2];
/// let class = models.fess(&sequence, &mut features, &mut free_energies, &mut scratch)?;
/// assert_eq!(class, 1); // the second symbol is the frequent one
/// let ln = |p: f64| -p.ln();
/// let expected = [ln(0.75), ln(0.25), ln(0.25), /* class 1 */ ln(0.25), ln(0.75), ln(0.75)];
/// assert!(features.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-15));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Source
/// A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 2009, Eq. 7; Lemma 3.1
/// for the weights.
#[derive(Debug)]
pub struct ClassModels<'a, M> {
    models: &'a [M], // not empty
}

impl<M> Clone for ClassModels<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M> Copy for ClassModels<'_, M> {}

impl<'a, M> ClassModels<'a, M> {
    /// The model of class `c` is `models[c]`: models, or references to them.
    ///
    /// # Errors
    /// [`ScoreError::Empty`] if there is none.
    pub const fn new(models: &'a [M]) -> Result<Self, ScoreError> {
        if models.is_empty() {
            return Err(ScoreError::Empty { table: "models" });
        }
        Ok(Self { models })
    }

    /// The models, by class; at least one.
    #[must_use]
    pub const fn models(&self) -> &'a [M] {
        self.models
    }

    /// Features of a datum: the terms of all models. `usize::MAX` if they cannot be counted.
    pub fn feature_count<X: ?Sized>(&self, datum: &X) -> usize
    where
        M: FreeEnergy<X>,
    {
        self.models.iter().fold(0, |sum, model| sum.saturating_add(model.term_count(datum)))
    }

    /// Elements of scratch that a datum needs: those of the most demanding model.
    pub fn scratch_len<X: ?Sized>(&self, datum: &X) -> usize
    where
        M: FreeEnergy<X>,
    {
        self.models.iter().fold(0, |most, model| most.max(model.scratch_len(datum)))
    }

    /// [`fess`] under every model, side by side. Returns the class of the lowest free energy, the first of equals: the
    /// generative classification of classes that are equally frequent. `lowest` of `countgrid-classify` weighs the same
    /// free energies with other priors.
    ///
    /// `features`: [`ClassModels::feature_count`] elements, and `free_energies` `[class]`, in nats, are written; `scratch`:
    /// at least [`ClassModels::scratch_len`].
    ///
    /// # Errors
    /// [`FeatureError::ClassModel`]; [`ScoreError::Length`]; [`ScoreError::Entry`] for a term that is not finite.
    pub fn fess<X: ?Sized>(
        &self,
        datum: &X,
        features: &mut [M::Scalar],
        free_energies: &mut [M::Scalar],
        scratch: &mut [M::Scalar],
    ) -> Result<usize, FeatureError<M::Error>>
    where
        M: FreeEnergy<X>,
    {
        self.side_by_side(datum, M::Scalar::from_f64(1.0), features, free_energies, scratch)
    }

    /// [`nfess`] under every model, side by side; otherwise as [`ClassModels::fess`]. `free_energies` are those per token or
    /// symbol; the class is that of the lowest before they are divided.
    ///
    /// # Errors
    /// Those of [`ClassModels::fess`]; [`ScoreError::DatumLength`].
    pub fn nfess<X: Length + ?Sized>(
        &self,
        datum: &X,
        features: &mut [M::Scalar],
        free_energies: &mut [M::Scalar],
        scratch: &mut [M::Scalar],
    ) -> Result<usize, FeatureError<M::Error>>
    where
        M: FreeEnergy<X>,
    {
        self.side_by_side(datum, divisor(datum)?, features, free_energies, scratch)
    }

    fn side_by_side<X: ?Sized>(
        &self,
        datum: &X,
        divisor: M::Scalar,
        features: &mut [M::Scalar],
        free_energies: &mut [M::Scalar],
        scratch: &mut [M::Scalar],
    ) -> Result<usize, FeatureError<M::Error>>
    where
        M: FreeEnergy<X>,
    {
        same_length("free_energies", self.models.len(), free_energies.len())?;
        same_length("features", self.feature_count(datum), features.len())?;
        let (mut rest, mut lowest) = (features, None);
        for (class, (model, out)) in self.models.iter().zip(free_energies).enumerate() {
            let (own, others) = rest.split_at_mut(model.term_count(datum).min(rest.len()));
            rest = others;
            let refused = |error| FeatureError::ClassModel { class, error };
            let free_energy = score(model, datum, divisor, own, scratch, refused)?;
            if lowest.is_none_or(|(_, least)| free_energy < least) {
                lowest = Some((class, free_energy));
            }
            *out = free_energy / divisor;
        }
        Ok(lowest.map_or(0, |(class, _)| class))
    }
}
