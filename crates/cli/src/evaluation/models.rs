//! Any of the models, fitted to a part of the data.

use countgrid_counts::{Bags, SequencesBuf};
use countgrid_grid::Sources;

use crate::{
    args::{EvaluationArgs, Features, ModelKind},
    evaluation::{
        features::{self, Gradients, Rows},
        linear, lsi,
        paths::{self, Paths},
        topics::{self, Topics},
    },
    failure::Failure,
    fit::Fitted,
    harmonium::Learned,
    interrupt::Interrupt,
    model::Stored,
    store::{Builder, Plan, Store},
};

/// Documents as each model takes them.
pub(crate) struct Part<T> {
    pub(crate) bags: Store<T>,
    /// Of symbols, for models that know an order.
    pub(crate) sequences: Option<SequencesBuf<u16>>,
}

impl<T: Stored> Part<T> {
    pub(crate) fn len(&self) -> usize {
        self.bags.len()
    }

    /// Those that `keep` says, in their order.
    pub(crate) fn filter(&self, keep: impl Fn(usize) -> bool) -> Result<Self, Failure> {
        let mut builder = Builder::new(self.bags.features(), Plan::new(u128::MAX, usize::MAX))?;
        self.bags.each(false, |first, block| {
            for bag in (0..block.len()).filter(|bag| keep(first + bag)) {
                let entries: Vec<_> = block.entries(bag).collect();
                builder.push(&entries)?;
            }
            Ok::<_, Failure>(())
        })?;
        let sequences = match &self.sequences {
            Some(all) => {
                let mut own = SequencesBuf::new(all.as_view().symbols());
                for (_, sequence) in all.as_view().iter().enumerate().filter(|(place, _)| keep(*place)) {
                    own.push(sequence.entries().iter().copied())
                        .map_err(|error| Failure::new(error, "this is a bug worth a report"))?;
                }
                Some(own)
            }
            None => None,
        };
        Ok(Self { bags: builder.finish()?, sequences })
    }

    fn sequences(&self) -> Result<&SequencesBuf<u16>, Failure> {
        self.sequences
            .as_ref()
            .ok_or_else(|| Failure::new("there are no sequences", "this is a bug worth a report"))
    }
}

/// A fitted model.
pub(crate) enum Model<T> {
    Grid(Box<Fitted<T>>),
    Topics(Topics),
    Paths(Paths),
    Harmonium(Box<Learned<T>>),
    Lsi(lsi::Lsi),
}

impl<T: Stored> Model<T> {
    /// Fits to some documents, without a word.
    pub(crate) fn fitted(
        part: &Part<T>,
        args: &EvaluationArgs,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        Ok(match args.model {
            ModelKind::Grid | ModelKind::Mixture => {
                Self::Grid(Box::new(features::fitted(&part.bags, args, interrupt)?))
            }
            ModelKind::Lda => Self::Topics(topics::fitted(&part.bags, args)?),
            ModelKind::Harmonium | ModelKind::Rap => {
                Self::Harmonium(Box::new(linear::fitted(&part.bags, args, interrupt)?))
            }
            ModelKind::Lsi => Self::Lsi(lsi::fitted(&part.bags, args)?),
            ModelKind::Hmm => Self::Paths(paths::fitted(part.sequences()?, args)?),
        })
    }

    /// The free energy of each document: `-log p` with an exact posterior, else more.
    pub(crate) fn free_energies(&self, part: &Part<T>) -> Result<Vec<f64>, Failure> {
        match self {
            Self::Grid(model) => features::free_energies(&model.histograms, &part.bags),
            Self::Topics(model) => topics::free_energies(model, &part.bags),
            Self::Paths(model) => paths::free_energies(model, part.sequences()?),
            // Refused with the options.
            Self::Harmonium(_) | Self::Lsi(_) => {
                Err(Failure::new("the model has no free energy", "this is a bug worth a report"))
            }
        }
    }

    /// What the model says of each document.
    pub(crate) fn features(&self, kind: Features, part: &Part<T>) -> Result<Rows, Failure> {
        match (self, kind) {
            (Self::Grid(model), _) => features::features(kind, model, &part.bags),
            (Self::Topics(model), Features::Fisher) => {
                features::gradients(&Gradients::Fisher(model), &part.bags)
            }
            (Self::Topics(model), _) => topics::features(kind, model, &part.bags),
            (Self::Paths(model), Features::Fisher) => {
                paths::gradients(Gradients::Fisher(model), part.sequences()?)
            }
            (Self::Paths(model), _) => paths::features(kind, model, part.sequences()?),
            (Self::Harmonium(learned), _) => linear::features(kind, learned, &part.bags),
            (Self::Lsi(model), _) => lsi::features(model, &part.bags),
        }
    }

    /// Tangent vectors of the posterior log-odds of two models (Tsuda et al. 2002).
    pub(crate) fn tangents(models: [&Self; 2], log_odds: f64, part: &Part<T>) -> Result<Rows, Failure> {
        match models {
            [Self::Topics(plus), Self::Topics(minus)] => {
                features::gradients(&Gradients::Top { models: [plus, minus], log_odds }, &part.bags)
            }
            [Self::Grid(plus), Self::Grid(minus)] => {
                let [plus, minus] = [plus, minus].map(|model| Sources::new(&model.grid, &model.histograms));
                features::gradients(&Gradients::Top { models: [&plus?, &minus?], log_odds }, &part.bags)
            }
            [Self::Paths(plus), Self::Paths(minus)] => {
                paths::gradients(Gradients::Top { models: [plus, minus], log_odds }, part.sequences()?)
            }
            _ => Err(Failure::new("these models have no gradients", "this is a bug worth a report")),
        }
    }
}
