use std::{borrow::Borrow, rc::Rc};

use countgrid_corpus::{BlockLimits, Blocks, WordOptions};
use countgrid_counts::CsrBuf;
use countgrid_estimators::{BagTotals, FittedGrid};

use crate::Error;

/// Bags of counts over one set of features, checked once.
///
/// ```
/// use countgrid_wasm::Corpus;
/// // Two bags over four features: the first has 3 of feature 0 and 1 of feature 2.
/// let corpus = Corpus::new(vec![0, 2, 3], vec![0, 2, 3], vec![3.0, 1.0, 5.0], 4)?;
/// assert_eq!((corpus.len(), corpus.tokens()), (2, 9.0));
///
/// let error = Corpus::new(vec![0, 2, 3], vec![0, 7, 3], vec![3.0, 1.0, 5.0], 4).unwrap_err();
/// assert_eq!(error.to_string(), "bag 0 has feature 7, needs to be below 4");
/// # Ok::<(), countgrid_wasm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Corpus {
    source: Rc<Source>, // shared with fits
    totals: BagTotals,
}

#[derive(Debug)]
enum Source {
    Rows(Blocks<f32>),
    Texts(Box<countgrid_corpus::Corpus<f32>>, WordOptions),
}

impl Borrow<Blocks<f32>> for Corpus {
    fn borrow(&self) -> &Blocks<f32> {
        match self.source.as_ref() {
            Source::Rows(bags) => bags,
            Source::Texts(corpus, _) => &corpus.bags,
        }
    }
}

impl Corpus {
    /// Compressed rows: bag `t` has the features `indices[offsets[t]..offsets[t + 1]]`, ascending and below
    /// `features`, and their counts, above zero, in the same places.
    ///
    /// # Errors
    /// As [`CsrBuf::from_parts`].
    pub fn new(
        offsets: Vec<u32>,
        indices: Vec<u32>,
        counts: Vec<f32>,
        features: usize,
    ) -> Result<Self, Error> {
        let mut starts = Vec::new();
        reserve(&mut starts, offsets.len())?;
        starts.extend(offsets.into_iter().map(|offset| offset as usize));
        Self::from_bags(&CsrBuf::from_parts(features, starts, indices, counts)?)
    }

    /// One bag, its features in any order.
    ///
    /// # Errors
    /// As [`CsrBuf::push_bag`]; if there are not as many counts as features.
    pub fn single(indices: &[u32], counts: &[f32], features: usize) -> Result<Self, Error> {
        if indices.len() != counts.len() {
            return Err(Error::new(format_args!(
                "`counts` has {} elements, needs {}: one for each of `indices`",
                counts.len(),
                indices.len()
            )));
        }
        let mut bags = CsrBuf::new(features)?;
        bags.push_bag(indices.iter().map(|&index| index as usize).zip(counts.iter().copied()))?;
        Self::from_bags(&bags)
    }

    fn from_bags(bags: &CsrBuf<f32>) -> Result<Self, Error> {
        let bags = Blocks::from_bags(bags, BlockLimits::in_memory())?;
        Ok(Self { totals: BagTotals::from_blocks(&bags)?, source: Rc::new(Source::Rows(bags)) })
    }

    pub(crate) fn from_texts(corpus: countgrid_corpus::Corpus<f32>, words: WordOptions) -> Self {
        Self { totals: BagTotals::from(&corpus), source: Rc::new(Source::Texts(Box::new(corpus), words)) }
    }

    /// The documents and their words, if it was made from texts.
    pub(crate) fn texts(&self) -> Option<(&countgrid_corpus::Corpus<f32>, &WordOptions)> {
        match self.source.as_ref() {
            Source::Rows(_) => None,
            Source::Texts(corpus, words) => Some((corpus, words)),
        }
    }

    /// Adds a description of the corpus to a grid that was fitted to it.
    pub(crate) fn describe(&self, grid: &mut FittedGrid<f32>) -> Result<(), Error> {
        match self.texts() {
            Some((corpus, words)) => Ok(grid.describe(&corpus.name, corpus, words)?),
            None => Ok(()),
        }
    }

    /// Numbers of bags, features and tokens.
    #[must_use]
    pub fn totals(&self) -> BagTotals {
        self.totals
    }

    /// Number of bags.
    #[must_use]
    pub fn len(&self) -> usize {
        self.totals.bags
    }

    /// Whether there is no bag.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of features.
    #[must_use]
    pub fn features(&self) -> usize {
        self.totals.features
    }

    /// The sum of all counts.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        self.totals.tokens
    }
}

/// Reserves memory for this many more elements, or an error instead of an abort.
pub(crate) fn reserve<T>(table: &mut Vec<T>, elements: usize) -> Result<(), Error> {
    table
        .try_reserve_exact(elements)
        .map_err(|_| Error::new(format_args!("no memory for {elements} elements")))
}
