//! The buffers with which a thread reads and writes chunks.

use zarr_spec::Buffer;

use crate::pipeline::Stages;

/// The buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Bytes from the store.
    pub(crate) encoded: Buffer,
    /// Intermediate results of decoding.
    pub(crate) stages: Stages,
    /// The value to store.
    pub(crate) value: Buffer,
    /// Elements to write, and intermediate results of encoding.
    pub(crate) written: Stages,
}

impl Scratch {
    /// Returns the capacity of all buffers in bytes.
    pub(crate) fn size(&self) -> u64 {
        let Self { encoded, stages, value, written } = self;
        (encoded.capacity() + value.capacity()) as u64 + stages.size() + written.size()
    }
}
