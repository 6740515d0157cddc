use core::fmt;

/// Why data, settings or storage were refused.
///
/// Example: [`silhouette`](crate::silhouette).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum ClassifyError {
    /// A slice does not have the length that the others ask for.
    Length { table: &'static str, expected: usize, found: usize },
    /// A class that there is not.
    NoSuchClass { class: usize, classes: usize },
    /// Fewer than two classes, or folds.
    TooFew { what: &'static str, found: usize },
    /// A class with fewer members than folds: some training part would have none, or some fold.
    FewMembers { class: usize, members: usize, folds: usize },
    /// An entry that is not finite.
    Entry { table: &'static str, index: usize },
    /// A penalty, tolerance or number of steps that is not positive.
    Option { what: &'static str },
}

impl fmt::Display for ClassifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::NoSuchClass { class, classes } => {
                write!(f, "class {class} of {classes} (they are numbered from 0)")
            }
            Self::TooFew { what, found } => write!(f, "{found} {what}, needs at least two"),
            Self::FewMembers { class, members, folds } => {
                write!(f, "class {class} has {members} members, needs one in each of {folds} folds")
            }
            Self::Entry { table, index } => write!(f, "`{table}` is not finite at element {index}"),
            Self::Option { what } => write!(f, "{what} is a positive, finite number"),
        }
    }
}

impl core::error::Error for ClassifyError {}

/// Checks a slice that is meant to have one length.
pub(crate) fn same_length(table: &'static str, expected: usize, found: usize) -> Result<(), ClassifyError> {
    if expected == found { Ok(()) } else { Err(ClassifyError::Length { table, expected, found }) }
}
