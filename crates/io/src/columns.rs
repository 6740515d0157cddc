use crate::error::Problem;

/// Which columns hold what, where their names are not to be guessed.
///
/// A name must be that of a column, or differ from it in case alone. A role left `None` goes to the column
/// with a name that is usual for it, if there is one. Without a column of text the columns of numbers are counts.
///
/// Example: [`read_json_lines`](crate::read_json_lines).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The text: else `text`, `body`, `content`, `abstract`, `definition`, `description`, ...
    pub text: Option<String>,
    /// The title: else `title`, `subject`, `headline`, `name`, `word`, ...
    pub title: Option<String>,
    /// The label: else `label`, `class`, `category`, `target`, `topic`, ...
    pub label: Option<String>,
    /// The id: else `id`, `key`, `url`, `link`, `name`, ...
    pub id: Option<String>,
}

// The most telling names first; a column has one role, given in the order text, title, label, id.
pub(crate) const TEXT: &str = "text body content contents abstract document doc full_text fulltext definition description \
                    sentence sentences paragraph passage article review comment message post tweet summary quote \
                    question sequence";

/// The names of a column of sequences.
pub(crate) const SEQUENCE: &str = "sequence seq residues bases dna rna protein symbols";
const TITLE: &str = "title subject headline heading caption name word term";
const LABEL: &str =
    "label labels class category categories target topic group newsgroup genre section sentiment tag";
const ID: &str = "id doc_id docid document_id uid uuid guid key url uri link doi path file filename name";

/// Words of the longest name of a column that is taken for one.
const NAME_WORDS: usize = 3;

/// Roles with the names of their columns.
pub(crate) type Named = Vec<(&'static str, String)>;

/// The columns that were found, as indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) text: Option<usize>,
    pub(crate) title: Option<usize>,
    pub(crate) label: Option<usize>,
    pub(crate) id: Option<usize>,
}

impl Roles {
    /// Gives each role its column; `known` are usual names of the text's.
    pub(crate) fn find(names: &[String], wanted: &Columns, known: &str) -> Result<Self, Problem> {
        let named = |role: &'static str, name: &Option<String>| match name {
            None => Ok(None),
            Some(name) => position(names, name).map(Some).ok_or_else(|| Problem::NoSuchColumn {
                role,
                name: name.clone(),
                columns: names.to_vec(),
            }),
        };
        let text = named("text", &wanted.text)?;
        let title = named("title", &wanted.title)?;
        let label = named("label", &wanted.label)?;
        let id = named("id", &wanted.id)?;

        let plain: Vec<String> = names.iter().map(|name| plain(name)).collect();
        let mut taken: Vec<usize> = [text, title, label, id].into_iter().flatten().collect();
        let mut known_column = |found: Option<usize>, known: &str, same: fn(&str, &str) -> bool| {
            let free = |name| (0..plain.len()).find(|i| !taken.contains(i) && same(&plain[*i], name));
            let found = found.or_else(|| known.split(' ').find_map(free));
            taken.extend(found);
            found
        };
        let exact = |column: &str, name: &str| column == name;
        let text = known_column(text, known, exact).or_else(|| known_column(None, known, ends_with));
        let title = known_column(title, TITLE, exact);
        let label = known_column(label, LABEL, exact);
        let id = known_column(id, ID, exact);
        Ok(Self { text, title, label, id })
    }

    /// The column of text, which documents must have.
    pub(crate) fn text(&self, names: &[String]) -> Result<usize, Problem> {
        self.text.ok_or_else(|| Problem::NoTextColumn { columns: names.to_vec() })
    }

    /// The columns that hold a number in the first record and have no role: counts, where no column holds text.
    pub(crate) fn numbers<'a>(
        &self,
        names: &[String],
        field: impl Fn(usize) -> &'a str,
    ) -> Result<Vec<usize>, Problem> {
        let roles = [self.title, self.label, self.id];
        let is_number = |&column: &usize| field(column).trim().parse::<f64>().is_ok_and(f64::is_finite);
        let found: Vec<usize> = (0..names.len())
            .filter(|column| !roles.contains(&Some(*column)))
            .filter(is_number)
            .take(u32::MAX as usize)
            .collect();
        if found.len() < 2 { Err(Problem::NoTextColumn { columns: names.to_vec() }) } else { Ok(found) }
    }

    /// Whether the first record holds numbers alone, besides its title, label and id, and at least two: then a column that is
    /// called `text` is one of counts like the others.
    pub(crate) fn only_numbers<'a>(&self, names: &[String], field: impl Fn(usize) -> &'a str) -> bool {
        let free = Self { text: None, ..*self };
        let columns = free.others(names.len()).len();
        free.numbers(names, field).is_ok_and(|numbers| numbers.len() == columns)
    }

    /// The columns that have no role.
    pub(crate) fn others(&self, columns: usize) -> Vec<usize> {
        let roles = [self.text, self.title, self.label, self.id];
        (0..columns).filter(|column| !roles.contains(&Some(*column))).collect()
    }

    /// The columns in use, by role.
    pub(crate) fn listed(&self, names: &[String]) -> Named {
        let roles = [("text", self.text), ("title", self.title), ("label", self.label), ("id", self.id)];
        let named = |(role, i): (_, Option<usize>)| Some((role, names.get(i?)?.clone()));
        roles.into_iter().filter_map(named).collect()
    }
}

/// `review_text`, `short_description`; more words are hardly a name.
fn ends_with(column: &str, name: &str) -> bool {
    let mut words = column.rsplit('_');
    words.next() == Some(name) && words.count() < NAME_WORDS
}

/// Whether these look like the names of columns, not like a sentence with commas.
pub(crate) fn look_like_names(names: &[String]) -> bool {
    names.iter().all(|name| {
        (1..=NAME_WORDS).contains(&plain(name).split('_').filter(|word| !word.is_empty()).count())
    })
}

/// The column of that name, or else the one that differs from it in case alone.
fn position(names: &[String], name: &str) -> Option<usize> {
    let same = |other: &String| other.trim() == name.trim();
    let lower = name.trim().to_lowercase();
    names
        .iter()
        .position(same)
        .or_else(|| names.iter().position(|other| other.trim().to_lowercase() == lower))
}

/// A column name as it is compared: lower case, words joined by `_`.
fn plain(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}
