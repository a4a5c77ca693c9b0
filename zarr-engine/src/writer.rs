//! Writes elements: plan, gather, encode, store.
//!
//! The plan tells which chunks the elements belong to. Each chunk is a job: its elements are gathered, encoded and stored
//! under the lock of the chunk. A chunk of which only a part is written is fetched and decoded first.

mod chunk;
mod shard;
mod source;
mod spread;

pub(crate) use source::Source;
