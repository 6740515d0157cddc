use std::path::PathBuf;

use crate::columns::Columns;
use crate::format::Format;
use crate::source::Limits;

/// How [`read`](crate::read) is to go about it; the default finds everything out by itself.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// What the path holds, where it is not to be guessed.
    pub format: Option<Format>,
    /// The columns of a table or of JSON lines.
    pub columns: Columns,
    /// The vocabulary of a file of counts, where it does not lie beside it.
    pub vocabulary: Option<PathBuf>,
    /// Files of a folder that are no data, such as what an earlier run left there. They need not exist.
    pub ignore: Vec<PathBuf>,
    /// Whether [`visit`](crate::visit) hands over the columns of a table or of JSON lines that have no role, too: see
    /// [`Item::OtherColumns`](crate::Item::OtherColumns). [`read`](crate::read) passes over them in any case.
    pub other_columns: bool,
    /// Whether a file of a folder that cannot be read, or is of a kind that is not read, is an error. Else it is passed over,
    /// and [`Summary::left_out`](crate::Summary::left_out) names it.
    pub strict: bool,
    /// When to give up.
    pub limits: Limits,
}
