//! Models, features, classifiers and estimates of documents that are held out, against their definitions.

mod choice;
mod classifiers;
mod made;
mod models;
mod values;
