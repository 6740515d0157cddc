use std::{fmt, str::FromStr};

use crate::OptionError;

macro_rules! named {
    ($(#[$about:meta])* $kind:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum $kind {
            $($(#[$doc])* #[cfg_attr(feature = "serde", serde(rename = $name))] $variant,)+
        }

        impl $kind {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in tables and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $kind {
            type Err = OptionError;

            fn from_str(name: &str) -> Result<Self, OptionError> {
                let found = Self::ALL.iter().copied().find(|kind| kind.name() == name);
                found.ok_or(OptionError::Name { option: stringify!($kind), known: &[$($name),+] })
            }
        }
    };
}

pub(crate) use named;

named! {
    /// How the label of a document is predicted.
    ///
    /// Example: [`EvaluationOptions`](crate::EvaluationOptions).
    Classifier {
        /// A model for each label; the one under which the document is most probable (journal paper, Section
        /// III-C).
        Generative = "generative",
        /// One grid, fitted without labels; the label that most of the documents around a position have (Jojic &
        /// Perina 2011, Eqs. 9 and 10).
        Labels = "labels",
        /// The nearest documents: on the torus (journal paper, Eq. 12), or by features.
        Nearest = "nearest",
        /// A support vector machine on how much features overlap: histogram intersection (journal paper, Eq. 13).
        Svm = "svm",
        /// A support vector machine with a Gaussian kernel on standardised features.
        SvmRbf = "svm-rbf",
        /// A linear support vector machine on standardised features.
        SvmLinear = "svm-linear",
    }
}

named! {
    /// How probable labels are before a document is seen, for [`Classifier::Generative`].
    ///
    /// Example: [`EvaluationOptions`](crate::EvaluationOptions).
    ClassPrior {
        /// As frequent as among the training documents.
        Data = "data",
        /// All the same.
        Uniform = "uniform",
    }
}

named! {
    /// What is fitted to documents.
    ///
    /// Example: [`EvaluationOptions`](crate::EvaluationOptions).
    ModelKind {
        /// A counting grid.
        Grid = "grid",
        /// A mixture of distributions over words.
        Mixture = "mixture",
        /// Latent Dirichlet allocation.
        Lda = "lda",
        /// A hidden Markov model of the letters of each text, in their order.
        Hmm = "hmm",
        /// A harmonium of words, present or not, under normal topics.
        Harmonium = "harmonium",
        /// The rate adapting Poisson model: counts of words under binomial topics.
        Rap = "rap",
        /// Latent semantic indexing: the truncated singular value decomposition of tf-idf.
        Lsi = "lsi",
    }
}

named! {
    /// How far apart features are.
    ///
    /// Example: [`EvaluationOptions`](crate::EvaluationOptions).
    Metric {
        /// Kullback-Leibler divergence of proportions.
        Divergence = "divergence",
        /// Euclidean distance.
        Euclidean = "euclidean",
        /// One less the cosine of their angle.
        Cosine = "cosine",
    }
}

named! {
    /// The features of a document under a fitted model.
    ///
    /// Example: [`EvaluationOptions`](crate::EvaluationOptions).
    Features {
        /// The posterior over window positions, spread over the cells of their windows; of one grid, fitted without labels.
        Spread = "spread",
        /// The posterior over window positions, components or topics, its mean for topics of harmoniums; of one model, fitted
        /// without labels.
        Posterior = "posterior",
        /// Topics under each posterior sample of a harmonium, side by side: distances are those of the mean of `V`.
        Samples = "samples",
        /// Free energy scores by window position, component, topic, or position and state; of a model for each label, side by
        /// side (Perina et al. 2009, Eq. 7).
        Fess = "fess",
        /// The same per token.
        Nfess = "nfess",
        /// Free energy scores by word (in LDA by topic and word); of a model for each label, side by side.
        FessWords = "fess-words",
        /// Free energy scores of a grid or mixture by the cell that each word comes from; of a model for each label, side by
        /// side.
        FessSources = "fess-sources",
        /// The gradient of the log-likelihood in the logarithms of the parameters; of a model for each label.
        Fisher = "fisher",
        /// The log-odds of two labels and their gradient in the same, of a model for each of the two.
        Top = "top",
    }
}

named! {
    /// Which words are kept if there are more than the limit, by the training part alone.
    ///
    /// Example: [`EvaluationOptions`](crate::EvaluationOptions).
    WordSelection {
        /// Those that distinguish most pairs of documents (resolving power).
        Pairs = "pairs",
        /// Those whose counts vary most.
        Variance = "variance",
        /// Those with the largest mutual information with labels.
        Information = "information",
        /// Those with large mutual information with labels and little with one another (mRMR).
        Mrmr = "mrmr",
    }
}

impl ModelKind {
    /// Whether documents have coordinates that may be negative, rather than proportions.
    #[must_use]
    pub fn is_linear(self) -> bool {
        matches!(self, Self::Harmonium | Self::Rap | Self::Lsi)
    }

    /// Whether documents have positions on a torus.
    #[must_use]
    pub fn is_grid(self) -> bool {
        matches!(self, Self::Grid | Self::Mixture)
    }
}

impl Features {
    /// Whether there is a model for each class.
    #[must_use]
    pub fn per_class(self) -> bool {
        matches!(
            self,
            Self::Fess | Self::Nfess | Self::FessWords | Self::FessSources | Self::Fisher | Self::Top
        )
    }
}

impl Classifier {
    /// The features that it takes by default; `None` for classifiers that use the model itself.
    #[must_use]
    pub fn default_features(self) -> Option<Features> {
        match self {
            Self::Generative | Self::Labels | Self::Nearest => None,
            Self::Svm => Some(Features::Spread),
            Self::SvmRbf | Self::SvmLinear => Some(Features::Fess),
        }
    }
}
