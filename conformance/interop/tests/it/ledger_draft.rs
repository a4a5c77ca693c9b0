//! Rows of the draft's ledgers that need the whole framework: hierarchies in a store, and arrays that are
//! read and written. The tests store documents as text and compare the stored values byte for byte.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

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
