//! Reads a subset of one chunk: the index of its codec, then the ranges that contain the requested elements.

use std::ops::Range;

use zarr_spec::codec::EncodedRanges;
use zarr_spec::host::pipeline::Pipeline;
use zarr_spec::store::{GetOptions, GetResult, Request, Response, Version};
use zarr_spec::{ByteRange, Bytes, CodecError};

use super::decode::exact_size;
use super::part::{PartError, SubsetPart};
use super::requests::RequestedChunk;
use crate::error::Error;
use crate::pipeline::StepError;
use crate::stored::StoredArray;

pub(super) enum SubsetRead {
    Done,
    /// The chunk must be read as a whole: its parts are not smaller, or it has changed meanwhile.
    Whole,
    Missing,
}

#[derive(Default)]
struct Index {
    bytes: Bytes,
    state: Option<State>,
}

#[derive(PartialEq, Eq)]
struct State {
    size: u64,
    version: Option<Version>,
}

impl StoredArray {
    pub(super) fn read_subset(
        &self,
        chunk: &RequestedChunk<'_, '_>,
        pipeline: &Pipeline,
        part: &SubsetPart<'_>,
    ) -> Result<SubsetRead, Error> {
        let error = |source: CodecError| self.step_error(chunk.index, pipeline, source);
        let Some(index) = self.codec_index(chunk.index, pipeline, part)? else {
            return Ok(SubsetRead::Missing);
        };
        let gap = self.resolved.store.read_hints().coalesce_gap;
        let ranges = part.ranges(&index.bytes, gap).map_err(error)?;
        let fetched = ranges.iter().map(|range| range.end - range.start).fold(0, u64::saturating_add);
        let size = index.state.as_ref().map(|state| state.size).or(exact_size(pipeline));
        let needs_nothing = ranges.is_empty() && index.state.is_none();
        if needs_nothing || size.is_some_and(|size| fetched.saturating_add(gap) >= size) {
            return Ok(SubsetRead::Whole);
        }
        let need = fetched.saturating_add(part.decoded_size as u64);
        self.check_need(chunk.index, need)?;
        self.budget().with_scratch(need, |scratch| {
            let responses = self.fetch_ranges(chunk.index, &ranges)?;
            if index.state.is_none() && responses.iter().all(Option::is_none) {
                return Ok(SubsetRead::Missing);
            }
            let Some(bytes) = of_one_state(responses, index.state.as_ref(), size) else {
                return Ok(SubsetRead::Whole);
            };
            let parts = ranges.iter().zip(&bytes).map(|(range, bytes)| (range.start, &**bytes)).collect();
            let encoded = EncodedRanges::new(&index.bytes, parts);
            let decoded = part.decode(pipeline, &encoded, chunk.requests, &mut scratch.stages);
            decoded.map_err(|error| self.part_error(chunk.index, pipeline, error))?;
            Ok(SubsetRead::Done)
        })
    }

    pub(super) fn part_error(&self, chunk: &[u64], pipeline: &Pipeline, error: PartError) -> Error {
        match error {
            PartError::Codec(source) => self.step_error(chunk, pipeline, source),
            PartError::Place(error) => error,
        }
    }

    /// Returns the error of the only codec of a chunk.
    pub(super) fn step_error(&self, chunk: &[u64], pipeline: &Pipeline, source: CodecError) -> Error {
        let codec = pipeline.steps.first().map(|step| step.name.clone());
        self.chunk_error(chunk, StepError { codec, inner: None, source })
    }

    /// Fetches the index of a codec, if it has one; `None` if the chunk is missing.
    fn codec_index(
        &self,
        chunk: &[u64],
        pipeline: &Pipeline,
        part: &SubsetPart<'_>,
    ) -> Result<Option<Index>, Error> {
        let range = part.codec.index_range(part.array);
        let range = range.map_err(|error| self.step_error(chunk, pipeline, error))?;
        let Some(range) = range else { return Ok(Some(Index::default())) };
        let limit = self.value_limit(match range {
            ByteRange::Range { size, .. } | ByteRange::Last(size) => Some(size),
            ByteRange::Full | ByteRange::From(_) => None,
        });
        self.budget().with_scratch(limit as u64, |scratch| {
            let mut output = scratch.encoded.output(limit);
            let Some(got) = self.get_once(chunk, range, &mut output)? else { return Ok(None) };
            let bytes = Bytes::copy_from_slice(got.bytes(&output));
            let GetResult { size, version, .. } = got;
            Ok(Some(Index { bytes, state: Some(State { size, version }) }))
        })
    }

    /// Fetches ranges of the value of a chunk in one call.
    fn fetch_ranges(&self, chunk: &[u64], ranges: &[Range<u64>]) -> Result<Vec<Option<Response>>, Error> {
        self.context().check_cancelled()?;
        let key = self.key(chunk)?;
        let request = |range: &Range<u64>| {
            let size = range.end - range.start;
            let range = ByteRange::Range { offset: range.start, size };
            Request::new(key.clone(), GetOptions::uncached(range), self.value_limit(Some(size)))
        };
        let mut responses: Vec<_> = ranges.iter().map(|_| None).collect();
        for (number, response) in self.limited_responses(ranges.iter().map(request).collect(), usize::MAX) {
            let response = self.checked_response(chunk, response)?;
            if let Some(place) = responses.get_mut(number) {
                *place = response;
            }
        }
        Ok(responses)
    }
}

/// Returns the bytes of all responses; `None` unless they come from one state of the value. If the state of the index
/// or the expected size is known, the responses must match it.
fn of_one_state(
    responses: Vec<Option<Response>>,
    of_index: Option<&State>,
    expected: Option<u64>,
) -> Option<Vec<Bytes>> {
    let mut all = Vec::with_capacity(responses.len());
    let mut first = None;
    for response in responses {
        let Response { bytes, size, version, .. } = response?;
        let state = State { size, version };
        if of_index.is_some_and(|index| *index != state) || expected.is_some_and(|size| size != state.size) {
            return None;
        }
        if first.as_ref().is_some_and(|first| *first != state) {
            return None;
        }
        first = Some(state);
        all.push(bytes);
    }
    Some(all)
}
