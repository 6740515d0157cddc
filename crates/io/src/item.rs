use std::{path::Path, sync::Arc};

use crate::document::Document;

/// What [`visit`](crate::visit) hands over, one after the other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A text, still to be counted.
    Document(Document),
    /// The words of a file of counts or the columns of a table of numbers, before the bags.
    Vocabulary(Vec<String>),
    /// What the next bag is called: one of a table of numbers, of an SVMlight file or of a matrix with barcodes. Others are called
    /// by their numbers, from 1.
    About {
        /// The id column, or the number of the record from 1.
        id: String,
        /// Its class, if the data has classes.
        label: Option<String>,
        /// The file that it is in.
        file: Arc<Path>,
        /// The line of the file on which it begins, from 1.
        line: u64,
    },
    /// The next bag of a file of counts or a table of numbers: its entries that are not zero, `(word, count)`, words
    /// ascending. Only those of a table may be negative.
    Bag(&'a [(u32, f64)]),
    /// The names of the columns that are none of text, title, label, id and counts, before the first document that has them; only if
    /// [`ReadOptions::other_columns`](crate::ReadOptions::other_columns) asks for them and there are any. Of a folder they are those of
    /// messages, before the first of them; documents before it have nothing in these columns.
    OtherColumns(Vec<String>),
    /// What the next document or bag has in these columns, as it stands there; empty where there is nothing.
    OtherFields(&'a [String]),
    /// The labels of a folder's documents, in their order and after the last: only then are they known.
    Labels(Vec<Option<String>>),
}
