use countgrid_counts::{Bags, BagsError, CsrBuf};

use crate::{Counter, Language, Selected, Summary, TextError, TextOptions};

/// A collection as bags of words.
///
/// A document without a word of the vocabulary has an empty bag.
///
/// Example: [`bags`](crate::bags).
#[derive(Clone, Debug, PartialEq)]
pub struct WordBags {
    /// The words, sorted. With stemming, the commonest word of each stem.
    pub vocabulary: Vec<String>,
    /// One bag for each document; features are indices into the vocabulary, counts are tokens.
    pub bags: CsrBuf<u32>,
    /// What was read and what was left out.
    pub summary: Summary,
    /// The options with the languages that were found: a [`Tokenizer`](crate::Tokenizer) by them counts new documents in the
    /// same way.
    pub options: TextOptions,
    /// How many documents are in which language, the most first.
    pub languages: Vec<(Language, usize)>,
}

impl WordBags {
    /// Number of bags.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bags.len()
    }

    /// Whether there are no bags.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bags.is_empty()
    }

    /// One bag as `(feature, count)`, features ascending. A bag out of range has none.
    pub fn bag(&self, bag: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.bags.entries(bag).map(|(feature, count)| (feature as u32, count))
    }

    /// The bags without a word.
    pub fn empty_bags(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|&bag| self.bags.entries(bag).next().is_none())
    }
}

/// Words are numbered by `u32`.
const FORMS: usize = u32::MAX as usize;

/// Reads `documents` into bags over a vocabulary selected by `options`.
///
/// # Errors
/// [`TextError::MaxShare`], [`TextError::Ngrams`] and [`TextError::Letters`] for options; [`TextError::TooMany`] where a
/// `u32` does not suffice.
///
/// ```
/// use countgrid_text::{TextOptions, bags};
/// let options = TextOptions { max_share: 1.0, ..TextOptions::default() };
/// let words = bags(["red ants", "ants, ants"], &options)?;
/// assert_eq!((words.vocabulary.join(" "), words.bags.counts()), ("ants red".to_owned(), &[1, 1, 2][..]));
/// # Ok::<(), countgrid_text::TextError>(())
/// ```
pub fn bags<S: AsRef<str>>(
    documents: impl IntoIterator<Item = S>,
    options: &TextOptions,
) -> Result<WordBags, TextError> {
    let mut counter = Counter::new(options)?;
    let mut forms = CsrBuf::new(FORMS).map_err(too_many)?;
    for document in documents {
        let bag = counter.read(document.as_ref())?;
        forms.push_bag(bag.iter().map(|&(form, count)| (form as usize, count))).map_err(too_many)?;
    }
    let mut words = counter.finish()?;
    let row =
        |document| forms.entries(document).map(|(form, count)| (form as u32, count)).collect::<Vec<_>>();
    loop {
        (0..forms.len()).for_each(|document| _ = words.add(document, &row(document)));
        if !words.again() {
            break;
        }
    }
    let selected = words.select();
    let mut bags = CsrBuf::new(selected.vocabulary.len()).map_err(too_many)?;
    for document in 0..forms.len() {
        let row = row(document);
        let mut bag: Vec<_> =
            selected.bag(document, &row).map(|(feature, count)| (feature as usize, count)).collect();
        bag.sort_unstable();
        // Several forms of a word are one feature, with fewer tokens than were read.
        bag.dedup_by(|(feature, count), (kept, sum)| {
            let same = feature == kept;
            *sum = if same { sum.saturating_add(*count) } else { *sum };
            same
        });
        bags.push_bag(bag).map_err(too_many)?;
    }
    let Selected { vocabulary, summary, options, languages, .. } = selected;
    Ok(WordBags { vocabulary, bags, summary, options, languages })
}

/// Features are in range and counts above zero, so that only their sums can be refused.
fn too_many(error: BagsError) -> TextError {
    match error {
        BagsError::Overflow { bag, .. } => TextError::TooMany { document: bag },
        _ => TextError::TooMany { document: 0 },
    }
}
