//! To come.
#![no_std]
#![forbid(unsafe_code)]
