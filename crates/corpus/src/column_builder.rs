use std::{collections::HashMap, sync::Arc};

use crate::{
    Column, ColumnValues, CorpusError, Date, KeepColumns, MAX_CATEGORIES, MAX_COLUMN_BYTES,
    columns::{read_date, retain_drawn},
};

/// What a value takes besides its bytes, roughly, that is kept once for all documents that have it.
const VALUE_BYTES: usize = 96;
/// Bytes of a value that a person picks from a list.
const SHORT: usize = 80;

/// Takes fields document by document, and keeps columns as values of one kind, in a bounded number of bytes.
#[derive(Debug)]
pub(crate) struct ColumnsBuilder {
    columns: Vec<Candidate>,
    wanted: Option<Vec<String>>, // by name
    known: Vec<String>,          // all that there were so far, wanted or not
    expects_more: bool,          // whether names may come again
    places: Vec<Option<usize>>,  // of the columns among the present fields
    documents: usize,
    bytes: usize,
    limit: usize,
    left_out: Vec<String>,
}

/// A column as it has been so far.
#[derive(Debug)]
struct Candidate {
    name: String,
    typed: Typed,
    texts: Option<Texts>,
}

/// Values, as long as all were of one kind; those of the last documents may be missing because they are empty.
#[derive(Debug)]
enum Typed {
    Unknown,
    Numbers(Vec<Option<f64>>),
    Dates(Vec<Option<Date>>),
    Mixed,
}

/// Different values, and which of them each document has.
#[derive(Debug, Default)]
struct Texts {
    number_of: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    of: Vec<Option<u32>>,
    bytes: usize, // of the names
}

impl ColumnsBuilder {
    pub(crate) fn new(keep: &KeepColumns) -> Self {
        let wanted = match keep {
            KeepColumns::Named(names) => Some(names.clone()),
            _ => None,
        };
        Self {
            columns: Vec::new(),
            wanted,
            known: Vec::new(),
            expects_more: false,
            places: Vec::new(),
            documents: 0,
            bytes: 0,
            limit: MAX_COLUMN_BYTES,
            left_out: Vec::new(),
        }
    }

    /// Whether names may come more than once, so that a column that is wanted may come later.
    #[cfg(feature = "files")]
    pub(crate) fn expect_more(&mut self, more: bool) {
        self.expects_more = more;
    }

    /// Takes the names of all columns that the documents have that follow the first `before`.
    pub(crate) fn names(&mut self, names: Vec<String>, before: usize) -> Result<(), CorpusError> {
        for name in &names {
            if !self.known.contains(name) {
                self.known.push(name.clone());
            }
        }
        if !self.expects_more {
            self.all_found()?;
        }
        self.documents = before;
        self.places = vec![None; self.columns.len()];
        for (place, name) in names.into_iter().enumerate() {
            let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&name));
            // A name may be there twice: those are two columns.
            let mut free = self.columns.iter().zip(&mut self.places).filter(|(_, place)| place.is_none());
            if let Some((_, found)) = free.find(|(column, _)| column.name == name) {
                *found = Some(place);
            } else if is_wanted && !self.left_out.contains(&name) {
                self.places.push(Some(place));
                self.columns.push(Candidate { name, typed: Typed::Unknown, texts: Some(Texts::default()) });
            }
        }
        Ok(())
    }

    /// Whether there are all columns that are wanted.
    fn all_found(&self) -> Result<(), CorpusError> {
        match self.wanted.iter().flatten().find(|wanted| !self.known.contains(wanted)) {
            Some(name) => Err(CorpusError::NoSuchColumn { name: name.clone(), columns: self.known.clone() }),
            None => Ok(()),
        }
    }

    /// Adds a document; its fields come in the order of their names.
    pub(crate) fn push(&mut self, fields: &[String]) {
        for (candidate, &place) in self.columns.iter_mut().zip(&self.places) {
            let field = place.and_then(|place| fields.get(place)).filter(|field| !field.is_empty());
            let Some(field) = field else { continue };
            let before = candidate.bytes();
            candidate.push(self.documents, field);
            self.bytes = (self.bytes + candidate.bytes()).saturating_sub(before);
        }
        self.documents += 1;
        while self.bytes > self.limit {
            let sizes = self.columns.iter().map(Candidate::bytes).enumerate();
            let Some((largest, bytes)) = sizes.rev().max_by_key(|&(_, bytes)| bytes) else { break };
            let candidate = &mut self.columns[largest];
            let texts = candidate.texts.take();
            if texts.is_none() || matches!(candidate.typed, Typed::Mixed) {
                let gone = self.columns.remove(largest);
                self.places.remove(largest);
                self.left_out.push(gone.name);
                self.bytes -= bytes;
            } else {
                self.bytes = self.bytes + candidate.bytes() - bytes;
            }
        }
    }

    /// The columns of the documents that `drawn` has marked, and the names of those for which there was no room. A column without any
    /// value is left out.
    ///
    /// # Errors
    /// [`CorpusError::NoSuchColumn`] if columns were wanted and there are none.
    pub(crate) fn finish(
        self,
        documents: usize,
        drawn: Option<&[bool]>,
    ) -> Result<(Vec<Column>, Vec<String>), CorpusError> {
        self.all_found()?;
        let columns = self.columns.into_iter().filter_map(|Candidate { name, typed, texts }| {
            let values = match (typed, texts) {
                (Typed::Numbers(values), _) => ColumnValues::Numbers(whole(values, documents, drawn)?),
                (Typed::Dates(values), _) => ColumnValues::Dates(whole(values, documents, drawn)?),
                (_, Some(texts)) => texts.finish(documents, drawn)?,
                _ => return None,
            };
            Some(Column { name, values })
        });
        Ok((columns.collect(), self.left_out))
    }
}

/// With the empty fields at the end, of those that were drawn; none if there is no value.
fn whole<V: Clone>(
    mut values: Vec<Option<V>>,
    documents: usize,
    drawn: Option<&[bool]>,
) -> Option<Vec<Option<V>>> {
    values.resize(documents, None);
    drawn.into_iter().for_each(|drawn| retain_drawn(&mut values, drawn));
    values.iter().any(Option::is_some).then_some(values)
}

impl Candidate {
    fn bytes(&self) -> usize {
        let typed = match &self.typed {
            Typed::Numbers(values) => size_of_val(&values[..]),
            Typed::Dates(values) => size_of_val(&values[..]),
            Typed::Unknown | Typed::Mixed => 0,
        };
        typed + self.texts.as_ref().map_or(0, |texts| size_of_val(&texts.of[..]) + texts.bytes)
    }

    /// Adds a value that is not empty.
    fn push(&mut self, document: usize, field: &str) {
        if matches!(self.typed, Typed::Unknown) {
            self.typed = match (number(field), read_date(field)) {
                (Some(_), _) => Typed::Numbers(Vec::new()),
                (_, Some(_)) => Typed::Dates(Vec::new()),
                _ => Typed::Mixed,
            };
        }
        let same = match &mut self.typed {
            Typed::Numbers(values) => number(field).map(|value| put(values, document, value)),
            Typed::Dates(values) => read_date(field).map(|value| put(values, document, value)),
            Typed::Unknown | Typed::Mixed => None,
        };
        if same.is_none() {
            self.typed = Typed::Mixed; // frees its values at once
        }
        if let Some(texts) = &mut self.texts {
            texts.push(document, field);
        }
    }
}

fn number(field: &str) -> Option<f64> {
    field.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The value of a document after empty ones.
fn put<V: Clone>(values: &mut Vec<Option<V>>, document: usize, value: V) {
    values.resize(document, None);
    values.push(Some(value));
}

impl Texts {
    fn push(&mut self, document: usize, field: &str) {
        let number = match self.number_of.get(field) {
            Some(&number) => number,
            None => {
                let (name, number) = (Arc::<str>::from(field), self.names.len() as u32); // a name takes bytes, of which there are few
                self.names.push(Arc::clone(&name));
                self.number_of.insert(name, number);
                self.bytes += field.len() + VALUE_BYTES;
                number
            }
        };
        put(&mut self.of, document, number);
    }

    fn finish(self, documents: usize, drawn: Option<&[bool]>) -> Option<ColumnValues> {
        let Self { names, of, .. } = self;
        let mut of = whole(of, documents, drawn)?;
        // Of the documents that were drawn.
        let mut renumbered = vec![None; names.len()];
        let mut kept: Vec<String> = Vec::new();
        for number in of.iter_mut().flatten() {
            *number = *renumbered[*number as usize].get_or_insert_with(|| {
                kept.push(names[*number as usize].to_string());
                kept.len() as u32 - 1
            });
        }
        let filled = of.iter().flatten().count();
        let few = kept.len() <= MAX_CATEGORIES && 2 * kept.len() <= filled.max(2);
        if few && kept.iter().all(|name| name.len() <= SHORT) {
            return Some(ColumnValues::Categories { names: kept, of });
        }
        let text =
            |number: Option<u32>| number.map_or_else(String::new, |number| kept[number as usize].clone());
        Some(ColumnValues::Texts(of.into_iter().map(text).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(names: &[&str], rows: &[&[&str]], limit: usize) -> (Vec<Column>, Vec<String>) {
        let mut builder = ColumnsBuilder { limit, ..ColumnsBuilder::new(&KeepColumns::All) };
        builder.names(names.iter().map(ToString::to_string).collect(), 0).unwrap();
        for row in rows {
            builder.push(&row.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        builder.finish(rows.len(), None).unwrap()
    }

    #[test]
    fn columns_are_of_the_first_kind_that_fits_all() {
        let names = ["year", "day", "place", "none", "mixed", "late", "id"];
        let rows: [&[&str]; 4] = [
            &["2004", "2004-05-06", "here", "", "1", "", "a"],
            &["", "", "there", "", "2004-01-01", "", "b"],
            &["-1e3", "1999-12-31", "", "", "", "0001-01-01", "c"],
            &["inf", "2000-01-01", "here", "", "1", "", "d"],
        ];
        let day = |text: &str| text.parse::<Date>().ok();
        let texts = |texts: [&str; 3]| ColumnValues::Texts(texts.map(str::to_owned).to_vec());
        let expected = [
            ("year", ColumnValues::Numbers(vec![Some(2004.0), None, Some(-1000.0)])),
            ("day", ColumnValues::Dates(vec![day("2004-05-06"), None, day("1999-12-31")])),
            ("place", texts(["here", "there", ""])),
            ("mixed", texts(["1", "2004-01-01", ""])),
            ("late", ColumnValues::Dates(vec![None, None, day("0001-01-01")])),
            ("id", texts(["a", "b", "c"])),
        ];
        let expected: Vec<_> = expected.map(|(name, values)| Column { name: name.to_owned(), values }).into();
        assert_eq!(built(&names, &rows[..3], usize::MAX), (expected, Vec::new()));
        // One value of another kind, and one value for two documents.
        let (columns, _) = built(&names, &rows, usize::MAX);
        assert_eq!(
            columns[0].values,
            ColumnValues::Texts(["2004", "", "-1e3", "inf"].map(str::to_owned).to_vec())
        );
        let (columns, _) = built(&["place"], &[&["x"], &["y"], &["x"], &["y"]], usize::MAX);
        let names = ["x", "y"].map(str::to_owned).to_vec();
        let of = vec![Some(0), Some(1), Some(0), Some(1)];
        assert_eq!(columns[0].values, ColumnValues::Categories { names, of });
    }

    #[test]
    fn the_largest_column_gives_way() {
        let rows: Vec<Vec<String>> =
            (0..300).map(|n| vec![n.to_string(), ["a", "b"][n % 2].to_owned(), "w".repeat(n)]).collect();
        let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
        let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
        let names = ["number", "letter", "long"];
        let kinds = |limit| {
            let (columns, left_out) = built(&names, &rows, limit);
            (columns.into_iter().map(|column| column.name).collect::<Vec<_>>(), left_out)
        };
        assert_eq!(kinds(usize::MAX), (names.map(str::to_owned).to_vec(), Vec::new()));
        assert_eq!(kinds(20_000), (vec!["number".into(), "letter".into()], vec!["long".into()]));
        let (columns, left_out) = built(&names, &rows, 3_000);
        assert_eq!((columns.len(), left_out.len()), (1, 2), "{left_out:?}");
        assert!(matches!(columns[0].values, ColumnValues::Categories { .. }));
    }

    #[test]
    fn a_column_that_fills_the_room_is_kept() {
        let texts: Vec<String> = (0..50).map(|n| format!("{n} words")).collect();
        let mut builder = ColumnsBuilder::new(&KeepColumns::All);
        builder.names(vec!["text".into()], 0).unwrap();
        texts.iter().for_each(|text| builder.push(std::slice::from_ref(text)));
        let room = builder.bytes;
        let rows: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
        let rows: Vec<&[&str]> = rows.iter().map(|row| &row[..]).collect();
        let (columns, left_out) = built(&["text"], &rows, room);
        assert_eq!((columns.len(), left_out.len()), (1, 0));
        assert_eq!(built(&["text"], &rows, room - 1), (Vec::new(), vec!["text".to_owned()]));
    }

    #[test]
    fn a_value_is_a_category_if_it_stands_for_two_documents() {
        let is_categories = |rows: &[&[&str]]| {
            let (columns, _) = built(&["place"], rows, usize::MAX);
            matches!(columns[0].values, ColumnValues::Categories { .. })
        };
        let rows: [&[&str]; 6] = [&["x"], &["y"], &["z"], &["x"], &["y"], &["z"]];
        assert!(is_categories(&rows) && !is_categories(&rows[..5]));
        assert!(is_categories(&rows[..1]) && !is_categories(&rows[..2])); // of one document too
    }

    #[test]
    fn columns_that_were_named_are_there_or_missed() {
        let named = |names: &[&str]| KeepColumns::Named(names.iter().map(ToString::to_string).collect());
        let mut builder = ColumnsBuilder::new(&named(&["b"]));
        builder.names(vec!["a".into(), "b".into()], 0).unwrap();
        builder.push(&["1".into(), "2".into()]);
        let (columns, _) = builder.finish(1, None).unwrap();
        assert_eq!(columns, [Column { name: "b".into(), values: ColumnValues::Numbers(vec![Some(2.0)]) }]);
        let missed = ColumnsBuilder::new(&named(&["c"])).names(vec!["a".into()], 0).unwrap_err();
        assert_eq!(
            missed.to_string(),
            "there is no column `c` besides those of text, title, label and id; there are: `a`"
        );
        assert!(ColumnsBuilder::new(&named(&["c"])).finish(0, None).is_err());
    }

    #[test]
    fn a_value_takes_its_bytes_and_some_more() {
        let texts: Vec<String> = (10..60).map(|n| format!("{n} words!")).collect(); // of nine bytes each
        let rows: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
        let rows: Vec<&[&str]> = rows.iter().map(|row| &row[..]).collect();
        let room = 50 * (9 + VALUE_BYTES + size_of::<Option<u32>>());
        let kept = |limit| built(&["text"], &rows, limit).0.len();
        assert_eq!((kept(room), kept(room - 1)), (1, 0));
    }
}
