//! Documents that are added to a map that exists.

use crate::{
    Document, Field, FieldKind, MAX_DOCUMENTS, Page, PageColumn, PageError, evenly_spaced, group_digits,
};

/// The column that says which documents were added, and with which others.
const COLUMN: &str = "added";
/// What the documents are that the map was made of.
const FIRST: &str = "of the map";

impl Page {
    /// Adds documents to those of the page, which stay where they are, as do words and regions: their labels are indices into `labels`,
    /// their fields of `columns`. Labels and columns are those of the page where they have the same name and kind, and further ones
    /// otherwise; a column `added` says of each document with which it came: `name`, such as a file's. They are drawn larger than the
    /// others and with an edge ([`Page::added`]), which those of an earlier call then no longer are. Beyond [`MAX_DOCUMENTS`] documents are
    /// left out evenly.
    ///
    /// # Errors
    /// Every variant of [`PageError`]; the page is then as it was.
    ///
    /// ```
    /// use countgrid_map::{Document, Page};
    /// let place = |cell| Document { posterior: vec![(cell, 1.0)], ..Document::default() };
    /// let mut page = Page { extents: [1, 2], window: [1, 1], documents: vec![place(0)], ..Page::default() };
    /// page.add("news.csv", vec![Document { label: Some(0), ..place(1) }], &["sport".into()], &[])?;
    /// assert_eq!((page.added, page.documents.len(), page.labels[0].as_str()), (Some(1), 2, "sport"));
    /// assert_eq!(page.columns[0].name, "added");
    /// # Ok::<(), countgrid_map::PageError>(())
    /// ```
    pub fn add(
        &mut self,
        name: &str,
        documents: Vec<Document>,
        labels: &[String],
        columns: &[PageColumn],
    ) -> Result<(), PageError> {
        let mut page = self.clone();
        let found = documents.len();
        let documents = evenly_spaced(documents, MAX_DOCUMENTS);
        if documents.len() < found || page.sampled_from.is_some() {
            page.sampled_from = Some(page.sampled_from.unwrap_or(page.documents.len()) + found);
        }
        let of_label: Vec<u32> = labels.iter().map(|label| position(&mut page.labels, label)).collect();
        let places: Vec<(usize, Vec<u32>)> = columns.iter().map(|column| page.column(column)).collect();
        let added = PageColumn { name: COLUMN.into(), kind: FieldKind::Categories(vec![FIRST.into()]) };
        let (batch, of_first) = page.column(&added);
        let first = of_first.first().copied().unwrap_or_default();
        let batch_name = match &mut page.columns[batch].kind {
            FieldKind::Categories(names) => position(names, name),
            _ => 0,
        };
        let width = page.columns.len();
        for document in &mut page.documents {
            document.fields.resize(width, Field::Empty);
            if document.fields[batch] == Field::Empty {
                document.fields[batch] = Field::Category(first);
            }
        }
        page.added = Some(page.documents.len());
        for (number, mut document) in documents.into_iter().enumerate() {
            if let Some(label) = document.label {
                let known = of_label.get(label as usize).copied();
                let error = PageError::Label { document: number, label, labels: labels.len() };
                document.label = Some(known.ok_or(error)?);
            }
            let own = std::mem::take(&mut document.fields);
            if own.len() != columns.len() && !own.is_empty() {
                return Err(PageError::Fields {
                    document: number,
                    expected: columns.len(),
                    found: own.len(),
                });
            }
            document.fields = vec![Field::Empty; width];
            for (field, (place, names)) in own.into_iter().zip(&places) {
                document.fields[*place] = match field {
                    Field::Category(name) => {
                        let known = names.get(name as usize).copied();
                        Field::Category(known.ok_or(PageError::Field { document: number, column: *place })?)
                    }
                    other => other,
                };
            }
            document.fields[batch] = Field::Category(batch_name);
            page.documents.push(document);
        }
        page.facts.push(("Added".into(), format!("{} documents: {name}", group_digits(found))));
        page.check()?;
        *self = page;
        Ok(())
    }

    /// The place of a column of this name and kind, which is made if there is none, and which of its categories those of the column are.
    fn column(&mut self, column: &PageColumn) -> (usize, Vec<u32>) {
        let same = |own: &PageColumn| {
            own.name == column.name
                && std::mem::discriminant(&own.kind) == std::mem::discriminant(&column.kind)
        };
        let place = self.columns.iter().position(same).unwrap_or_else(|| {
            let kind = match &column.kind {
                FieldKind::Categories(_) => FieldKind::Categories(Vec::new()),
                kind => kind.clone(),
            };
            self.columns.push(PageColumn { name: column.name.clone(), kind });
            self.columns.len() - 1
        });
        let of = match (&mut self.columns[place].kind, &column.kind) {
            (FieldKind::Categories(own), FieldKind::Categories(names)) => {
                names.iter().map(|name| position(own, name)).collect()
            }
            _ => Vec::new(),
        };
        (place, of)
    }
}

/// The place of a name, which is added if it is not there.
fn position(names: &mut Vec<String>, name: &str) -> u32 {
    let place = names.iter().position(|own| own == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    u32::try_from(place).unwrap_or(u32::MAX)
}
