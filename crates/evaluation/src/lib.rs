//! How good a model is, on documents that were held out.
#![forbid(unsafe_code)]
