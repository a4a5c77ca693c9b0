//! Reads uncompressed chunks: directly to the output if they are contiguous there, otherwise in slabs that stay in the
//! CPU cache.

use zarr_spec::host::pipeline::Pipeline;
use zarr_spec::store::{Contents, GetResult};
use zarr_spec::{Buffer, ByteRange, Output};

use super::output::{ChunkRequest, OutputState};
use crate::error::Error;
use crate::pipeline::StepError;
use crate::plan::{Run, StridedBox};
use crate::stored::{StoredArray, is_too_large};

/// The size of a slab in bytes. It fits into the second-level cache.
const SLAB: usize = 512 << 10;

struct RawChunk<'r, 'a> {
    array: &'r StoredArray,
    chunk: &'r [u64],
    pipeline: &'r Pipeline,
    request: ChunkRequest<'r, 'a>,
    strided_box: &'r StridedBox,
    /// The size of the chunk in bytes.
    expected: u64,
}

/// The rows along the dimension that varies slowest in the stored chunk.
struct Rows {
    dimension: usize,
    run: Run,
    /// The size of a row in bytes.
    size: usize,
    step: usize,
}

impl Rows {
    fn per_slab(&self) -> usize {
        (SLAB / self.size.max(1)).max(1)
    }

    /// Returns the size of a slab in bytes.
    fn slab_size(&self) -> usize {
        self.size.saturating_mul(self.per_slab())
    }

    fn are_all(&self, expected: u64) -> bool {
        self.step == 1 && (self.run.count as u64).checked_mul(self.size as u64) == Some(expected)
    }
}

impl StoredArray {
    pub(super) fn read_raw(
        &self,
        chunk: &[u64],
        pipeline: &Pipeline,
        request: ChunkRequest<'_, '_>,
        strided_box: &StridedBox,
    ) -> Result<(), Error> {
        let expected = pipeline.array.size().limit().unwrap_or(0);
        let raw = RawChunk { array: self, chunk, pipeline, request, strided_box, expected };
        if let Some(destination) = request.slice(pipeline)? {
            return raw.read_directly(destination);
        }
        let rows = raw.rows();
        let need = rows.as_ref().map_or(expected, |rows| expected.min(rows.slab_size() as u64));
        self.check_need(chunk, need)?;
        self.budget().with_scratch(need, |scratch| match rows {
            Some(rows) => raw.read_slabs(&rows, &mut scratch.encoded),
            None => raw.read_whole(&mut scratch.encoded, OutputState::Fresh),
        })
    }
}

impl RawChunk<'_, '_> {
    fn read_directly(&self, destination: &mut [u8]) -> Result<(), Error> {
        let size = destination.len();
        let mut output = Output::to(destination);
        let got = self.array.get_once(self.chunk, ByteRange::Full, &mut output);
        let rest = output.remaining();
        match got {
            Ok(None) => self.array.fill(self.chunk, &[self.request], OutputState::Fresh),
            Ok(Some(got)) if got.size != self.expected => Err(self.wrong(got.size)),
            Ok(Some(GetResult { contents: Contents::Written, .. })) if rest == 0 => Ok(()),
            Ok(Some(GetResult { contents: Contents::Shared(bytes), .. })) if bytes.len() == size => {
                self.request.copy(self.pipeline, &bytes, 0, self.strided_box)
            }
            Ok(Some(_)) => Err(self.wrong((size - rest) as u64)),
            Err(error) if is_too_large(&error) => {
                let size = self.array.resolved.store.size(&self.array.key(self.chunk)?)?;
                // The value has the right size, so the error is about the limit for all values.
                if size == Some(self.expected) {
                    return Err(error);
                }
                Err(self.wrong(size.unwrap_or(self.expected.saturating_add(1))))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the rows to read slab by slab; `None` if they are in reverse order, or there is only one.
    fn rows(&self) -> Option<Rows> {
        let shape = &self.pipeline.array.shape;
        let strides = &self.pipeline.layout.strides;
        let longer = (0..shape.len()).filter(|&dimension| shape[dimension] > 1);
        let dimension = longer.max_by_key(|&dimension| strides[dimension])?;
        let run = self.strided_box.runs()[dimension];
        let step = usize::try_from(run.step).ok().filter(|&step| step > 0)?;
        let element = self.pipeline.array.data_type.elements().size()?;
        Some(Rows { dimension, run, size: strides[dimension].checked_mul(element)?, step })
    }

    fn read_slabs(&self, rows: &Rows, buffer: &mut Buffer) -> Result<(), Error> {
        let rows_per_slab = rows.per_slab();
        if rows.are_all(self.expected) && rows.run.count <= rows_per_slab {
            return self.read_whole(buffer, OutputState::Fresh);
        }
        let mut version = None;
        let mut done = 0;
        while done < rows.run.count {
            let count = rows_per_slab.div_ceil(rows.step).min(rows.run.count - done);
            let first = rows.run.start + (done * rows.step) as u64;
            let size = ((count - 1) * rows.step + 1) * rows.size;
            let range = ByteRange::Range { offset: first * rows.size as u64, size: size as u64 };
            let mut output = buffer.output(size);
            let Some(got) = self.array.get_once(self.chunk, range, &mut output)? else {
                let state = if done == 0 { OutputState::Fresh } else { OutputState::Written };
                return self.array.fill(self.chunk, &[self.request], state);
            };
            let bytes = got.bytes(&output);
            if got.size != self.expected || bytes.len() != size {
                return Err(self.wrong(got.size));
            }
            if done > 0 && version != got.version {
                // The chunk was replaced meanwhile, and its parts must not come from two states of it.
                return self.read_whole(buffer, OutputState::Written);
            }
            self.copy_slab(rows, bytes, Run { start: first, count, out: rows.run.out + done, ..rows.run })?;
            version = got.version;
            done += count;
        }
        Ok(())
    }

    fn copy_slab(&self, rows: &Rows, bytes: &[u8], run: Run) -> Result<(), Error> {
        let mut part = self.strided_box.clone();
        part.set_run(rows.dimension, run);
        let skipped = usize::try_from(run.start).unwrap_or(usize::MAX).saturating_mul(rows.size);
        self.request.copy(self.pipeline, bytes, skipped, &part)
    }

    fn read_whole(&self, buffer: &mut Buffer, state: OutputState) -> Result<(), Error> {
        let mut output = buffer.output(self.array.value_limit(Some(self.expected)));
        let Some(got) = self.array.get_once(self.chunk, ByteRange::Full, &mut output)? else {
            return self.array.fill(self.chunk, &[self.request], state);
        };
        let bytes = got.bytes(&output);
        if got.size != self.expected || bytes.len() as u64 != self.expected {
            return Err(self.wrong(got.size));
        }
        self.request.copy(self.pipeline, bytes, 0, self.strided_box)
    }

    fn wrong(&self, size: u64) -> Error {
        let shape = &self.pipeline.array.shape;
        let expected = self.expected;
        let what = format!("it has {size} bytes, but a chunk of shape {shape:?} has {expected}");
        self.array.chunk_error(self.chunk, StepError::chunk(what))
    }
}
