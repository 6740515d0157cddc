//! Documents to bags of counts: columns, labels, vocabulary selection, scaling, blocks in memory or on disk.
#![forbid(unsafe_code)]
