//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod bags;
mod boilerplate;
mod fuzzing;
mod languages;
mod news;
mod noise;
mod parts;
mod phrases;
mod relevance;
mod tokenizer;
