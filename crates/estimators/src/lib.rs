//! A model with its options, its training and its file.
#![forbid(unsafe_code)]
