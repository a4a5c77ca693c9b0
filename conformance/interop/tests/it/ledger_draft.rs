//! Rows of the draft's ledgers that take the whole framework: hierarchies in a store, and arrays that are read and
//! written. Documents are put into the store as text, and what is stored is compared byte for byte.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

mod chunks;
mod codecs;
mod conversion;
mod data_types;
mod erasing;
mod extensions;
mod generation_a;
mod nodes;
mod plugins;
mod sharding;
mod support;
mod tagging;
mod transformers;
