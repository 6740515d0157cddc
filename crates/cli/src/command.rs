//! The commands, one module each.

pub(crate) mod crossval;
pub(crate) mod embed;
pub(crate) mod firmware;
pub(crate) mod fit;
pub(crate) mod info;
pub(crate) mod map;
pub(crate) mod sweep;
pub(crate) mod topographic;
pub(crate) mod words;
