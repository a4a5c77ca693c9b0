//! The buffers with which a thread reads and writes chunks.

use zarr_spec::Buffer;

use crate::pipeline::Stages;

#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) encoded: Buffer,
    pub(crate) stages: Stages,
    pub(crate) value: Buffer,
    pub(crate) written: Stages,
}

impl Scratch {
    /// Returns the capacity of all buffers in bytes.
    pub(crate) fn size(&self) -> u64 {
        let Self { encoded, stages, value, written } = self;
        (encoded.capacity() + value.capacity()) as u64 + stages.size() + written.size()
    }
}
