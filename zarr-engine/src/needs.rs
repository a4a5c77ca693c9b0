//! The memory that decoding and encoding a chunk takes. These functions only compute.
//!
//! Memory that codecs allocate themselves is unknown and does not count.

use zarr_spec::host::pipeline::{Pipeline, ShardPipeline, Step, Work};

use crate::pipeline::ENTRY;

/// Returns the size in bytes of the buffers for decoding, without the encoded value. Buffers of unknown size count as
/// `unknown` bytes. A chunk that is decoded directly to the output (`is_direct`) needs no buffer for its elements.
pub(crate) fn decoding(pipeline: &Pipeline, is_direct: bool, unknown: u64) -> u64 {
    let mut buffers = Alternating::default();
    let mut nested = 0;
    for (number, step) in pipeline.steps.iter().enumerate().rev() {
        if matches!(step.work, Work::Checksum(_)) {
            continue;
        }
        nested = nested.max(of_nested(step, unknown, |inner| decoding(inner, false, unknown)));
        if number > 0 || !is_direct {
            buffers.add(step.decoded_limit().unwrap_or(unknown));
        }
    }
    buffers.total().saturating_add(nested)
}

/// Returns the size in bytes of the buffers for encoding, including the elements and the encoded value.
pub(crate) fn encoding(pipeline: &Pipeline, unknown: u64) -> u64 {
    let mut buffers = Alternating::default();
    let mut nested = 0;
    buffers.add(pipeline.array.size().limit().unwrap_or(unknown));
    for (number, step) in pipeline.steps.iter().enumerate() {
        let encoded = match pipeline.steps.get(number + 1) {
            Some(next) => next.decoded_limit(),
            None => pipeline.encoded_size.limit(),
        };
        nested = nested.max(of_nested(step, unknown, |inner| encoding(inner, unknown)));
        buffers.add(encoded.unwrap_or(unknown));
    }
    buffers.total().saturating_add(nested)
}

/// Returns the maximum number of buffers of unknown size for decoding.
pub(crate) fn unknown_buffers(pipeline: &Pipeline) -> u64 {
    let of_step = |step: &Step| {
        let own = u64::from(step.decoded_limit().is_none());
        match &step.work {
            Work::Shard(shard) => own + unknown_buffers(&shard.inner),
            Work::Composite(..) => own * 3,
            _ => own,
        }
    };
    pipeline.steps.iter().map(of_step).sum()
}

/// Returns the size in bytes of all copies of a shard index: encoded, decoded, in native byte order, and cached.
pub(crate) fn of_index(shard: &ShardPipeline) -> u64 {
    let count = shard.grid_shape.iter().copied().fold(ENTRY as u64, u64::saturating_mul);
    shard.index_size.saturating_add(count.saturating_mul(3))
}

/// Returns the size in bytes of the buffers of the level below a step.
fn of_nested(step: &Step, unknown: u64, of_inner: impl FnOnce(&Pipeline) -> u64) -> u64 {
    match &step.work {
        Work::Shard(shard) => of_inner(&shard.inner).saturating_add(of_index(shard)),
        // The codec chains inside of a composite codec work on at most the same number of bytes.
        Work::Composite(..) => step.decoded_limit().unwrap_or(unknown).saturating_mul(2),
        _ => 0,
    }
}

/// Two buffers that are used alternately.
#[derive(Default)]
struct Alternating {
    sizes: [u64; 2],
    next: usize,
}

impl Alternating {
    fn add(&mut self, size: u64) {
        self.sizes[self.next] = self.sizes[self.next].max(size);
        self.next = 1 - self.next;
    }

    fn total(&self) -> u64 {
        self.sizes[0].saturating_add(self.sizes[1])
    }
}
