//! The commands, one module each; models that share a command have one too.

mod add;
pub(crate) mod compare;
pub(crate) mod crossval;
pub(crate) mod distributed;
pub(crate) mod embed;
pub(crate) mod evaluate;
pub(crate) mod firmware;
pub(crate) mod fit;
mod harmonium;
pub(crate) mod info;
pub(crate) mod manual;
pub(crate) mod map;
pub(crate) mod sweep;
mod topographic;
pub(crate) mod words;
