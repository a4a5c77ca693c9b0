//! Decompression of deflated values.

use std::ops::Range;

use flate2::{Decompress, FlushDecompress, Status};
use rawzip::ReaderAt;
use zarr_spec::{BoxError, Output};

use crate::Damage;

/// Number of stored bytes that are read at a time, and of inflated bytes that are discarded at a time.
const PIECE: usize = 64 << 10;

/// Number of inflated bytes to reserve memory for at a time.
const STEP: u64 = 1 << 20;

/// The state and scratch buffers of one thread.
#[derive(Debug)]
pub(crate) struct Inflater {
    stream: Decompress,
    encoded: Box<[u8]>,
    skipped: Box<[u8]>,
}

impl Inflater {
    pub(crate) fn new() -> Self {
        Self {
            stream: Decompress::new(false),
            encoded: vec![0; PIECE].into_boxed_slice(),
            skipped: vec![0; PIECE].into_boxed_slice(),
        }
    }

    /// Writes the bytes `part` of a value of `size` bytes to `to`, which has space for them. Does not check
    /// the bytes after `part`, unless `part` ends at the end of the value.
    ///
    /// # Errors
    ///
    /// If the stored bytes cannot be read or do not inflate to `size` bytes.
    pub(crate) fn inflate(
        &mut self,
        source: &impl ReaderAt,
        mut encoded: Range<u64>,
        size: u64,
        part: &Range<u64>,
        to: &mut Output<'_>,
    ) -> Result<(), BoxError> {
        self.stream.reset(false);
        let mut unread = 0..0;
        loop {
            if unread.is_empty() {
                let more = usize::try_from(encoded.end - encoded.start).unwrap_or(PIECE).min(PIECE);
                source.read_exact_at(&mut self.encoded[..more], encoded.start)?;
                encoded.start += more as u64;
                unread = 0..more;
            }
            let done = self.stream.total_out();
            let before = self.stream.total_in();
            let is_wanted = part.contains(&done);
            let target = if is_wanted {
                let more = usize::try_from(STEP.min(part.end - done))?;
                &mut to.spare(more)?[..more]
            } else {
                let more = part.start.saturating_sub(done);
                // After the last byte, one more byte may be written, so that a value that is too long is noticed.
                let more = if done == size { 1 } else { usize::try_from(more).unwrap_or(PIECE).min(PIECE) };
                &mut self.skipped[..more]
            };
            let status = self
                .stream
                .decompress(&self.encoded[unread.clone()], target, FlushDecompress::None)
                .map_err(|error| Damage(error.to_string()))?;
            let came = self.stream.total_out() - done;
            let read = self.stream.total_in() - before;
            unread.start += usize::try_from(read)?;
            let now = done + came;
            if is_wanted {
                to.advance(usize::try_from(came)?);
            }
            if now > size || status == Status::StreamEnd && now < size {
                let what = format!("it does not inflate to the {size} bytes that the archive declares");
                return Err(Damage(what).into());
            }
            if status == Status::StreamEnd || now == part.end && part.end < size {
                return Ok(());
            }
            if came == 0 && read == 0 && encoded.is_empty() {
                return Err(Damage("its deflated bytes are truncated".to_owned()).into());
            }
        }
    }
}
