//! What validated types are read from, with the checks of their constructors.

use serde::Deserialize;

use crate::{ClassifyError, Confusion, Summary, error::same_length};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfusionFields<S> {
    classes: usize,
    counts: S,
}

impl<S: AsRef<[u64]>> TryFrom<ConfusionFields<S>> for Confusion<S> {
    type Error = ClassifyError;

    fn try_from(fields: ConfusionFields<S>) -> Result<Self, ClassifyError> {
        let ConfusionFields { classes, counts } = fields;
        same_length("counts", classes.saturating_mul(classes), counts.as_ref().len())?;
        // So that no sum of counts overflows.
        let items = counts.as_ref().iter().try_fold(0_u64, |items, &count| items.checked_add(count));
        items.ok_or(ClassifyError::Option { what: "the sum of counts" })?;
        Ok(Self { classes, counts })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SummaryFields {
    count: f64,
    mean: f64,
    squares: f64,
}

impl TryFrom<SummaryFields> for Summary {
    type Error = ClassifyError;

    fn try_from(fields: SummaryFields) -> Result<Self, ClassifyError> {
        let SummaryFields { count, mean, squares } = fields;
        if !(count >= 0.0 && count % 1.0 == 0.0 && count.is_finite()) {
            return Err(ClassifyError::Option { what: "the number of figures" });
        }
        for (index, value) in [mean, squares].into_iter().enumerate() {
            if !value.is_finite() {
                return Err(ClassifyError::Entry { table: "summary", index });
            }
        }
        if squares < 0.0 {
            return Err(ClassifyError::Option { what: "a sum of squares" });
        }
        Ok(Self { count, mean, squares })
    }
}
