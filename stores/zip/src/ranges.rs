//! Reading values of archives in other stores with few requests.

use std::ops::Range;

use bytes::Bytes;
use zarr_spec::store::{CompletedRequest, Contents, Request, Response, Responses, StoreResult, get_one};
use zarr_spec::{BoxError, Output};

use crate::directory::{Entry, Form};
use crate::stored::{MAX_PIECE, Piece, StoredArchive, Window};
use crate::{ZipStore, check_whole};

/// The offset in a value up to which a part is read together with the local header.
const NEAR: u64 = 64 << 10;

/// Reads a part of a value: with one request, or with two if the part is far from an unknown local header.
///
/// # Errors
///
/// If the archive cannot be read or is damaged.
pub(crate) fn read(
    zip: &ZipStore,
    archive: &StoredArchive,
    entry: &Entry,
    part: &Range<u64>,
    to: &mut Output<'_>,
) -> Result<Contents, BoxError> {
    if part.is_empty() {
        return Ok(Contents::Written);
    }
    if needs_header(entry, part) {
        entry.start(archive)?;
    }
    let needed = entry.needed(part);
    if entry.form() == Form::Stored && entry.known_start().is_some() {
        let before = to.written().len();
        let contents = archive.read_to(needed, to)?;
        match &contents {
            Contents::Written => check_whole(entry, part, &to.written()[before..])?,
            Contents::Shared(bytes) => check_whole(entry, part, bytes)?,
        }
        return Ok(contents);
    }
    let start = needed.start;
    let bytes = archive.fetch(start..needed.end.min(start + MAX_PIECE))?;
    let window = archive.window(Piece::new(start, bytes.clone()), entry.limit());
    if let Some(value) = without_copy(&window, entry, part, start, &bytes)? {
        return Ok(Contents::Shared(value));
    }
    zip.read(&window, entry, part, to)?;
    Ok(Contents::Written)
}

/// Returns a part of a stored value in `bytes`, which begin at `start` in the archive. `None` if the value is compressed,
/// or if the bytes end before the part does.
fn without_copy(
    window: &Window<'_>,
    entry: &Entry,
    part: &Range<u64>,
    start: u64,
    bytes: &Bytes,
) -> Result<Option<Bytes>, BoxError> {
    if entry.form() != Form::Stored {
        return Ok(None);
    }
    let before = (entry.start(window)? + part.start).checked_sub(start).map(usize::try_from).transpose()?;
    let size = usize::try_from(part.end - part.start)?;
    let place = before.and_then(|before| Some(before..before.checked_add(size)?));
    let Some(place) = place.filter(|place| place.end <= bytes.len()) else { return Ok(None) };
    let value = bytes.slice(place);
    check_whole(entry, part, &value)?;
    Ok(Some(value))
}

/// Returns whether the local header must be read first: it is unknown, and the part is far from it or large.
fn needs_header(entry: &Entry, part: &Range<u64>) -> bool {
    let is_far = part.start > NEAR || part.end > MAX_PIECE / 2;
    entry.known_start().is_none() && entry.form() == Form::Stored && is_far
}

/// A request for a part of an entry.
#[derive(Debug)]
struct Wanted<'a> {
    index: usize,
    request: Request,
    entry: &'a Entry,
    part: Range<u64>,
}

/// A range of the archive that answers a request.
#[derive(Debug)]
struct Ranged<'a> {
    wanted: Wanted<'a>,
    /// The offset of the range.
    start: u64,
    size: usize,
}

/// Completes requests with one batch of ranges, after a batch of local headers if some are far from their parts.
pub(crate) fn get_many<'a>(
    zip: &'a ZipStore,
    archive: &'a StoredArchive,
    requests: Vec<Request>,
    budget: usize,
) -> Responses<'a> {
    let mut done: Vec<CompletedRequest> = Vec::new();
    let mut found = Vec::new();
    for (index, request) in requests.into_iter().enumerate() {
        match zip.entries.find(&request.key) {
            None => done.push((index, Ok(None))),
            Some(entry) => match zip.part(&request.key, entry, request.options.range, request.limit) {
                Err(error) => done.push((index, Err(error))),
                Ok(part) => found.push(Wanted { index, request, entry, part }),
            },
        }
    }
    read_headers(archive, &found, budget);
    let mut ranged = Vec::new();
    let mut inner = Vec::new();
    let mut alone = Vec::new();
    for wanted in found {
        match range_of(archive, &wanted) {
            Some((asked, start, size)) => {
                inner.push(asked);
                ranged.push(Ranged { wanted, start, size });
            }
            None => alone.push(wanted),
        }
    }
    let ranged = archive.get_many(inner, budget).filter_map(move |(number, response)| {
        let ranged = ranged.get(number)?;
        let response = response.and_then(|response| finish(zip, archive, ranged, response));
        Some((ranged.wanted.index, response.map(Some)))
    });
    let alone = alone.into_iter().map(|wanted| (wanted.index, get_one(zip, &wanted.request)));
    Box::new(done.into_iter().chain(ranged).chain(alone))
}

/// Returns the request for a range that contains a part, with the offset and the size of the range. `None` if one range
/// is not enough or is too large.
fn range_of(archive: &StoredArchive, wanted: &Wanted<'_>) -> Option<(Request, u64, usize)> {
    let Wanted { entry, part, .. } = wanted;
    let needed = entry.needed(part);
    let is_exact = entry.form() == Form::Stored && entry.known_start().is_some();
    if part.is_empty() || needs_header(entry, part) || !is_exact && needed.end - needed.start > MAX_PIECE {
        return None;
    }
    let start = needed.start;
    let (request, size) = archive.request(needed).ok()?;
    // The caller computed its budget from the sizes that it expects. With the exact sizes, which may be larger, some of
    // its requests would wait for others.
    let expected = match wanted.request.expected_size {
        0 => size,
        expected => expected.min(size),
    };
    Some((request.with_expected_size(expected), start, size))
}

/// Reads local headers in one batch. Failures are reported when the values are read.
fn read_headers(archive: &StoredArchive, wanted: &[Wanted<'_>], budget: usize) {
    let far = wanted.iter().filter(|wanted| needs_header(wanted.entry, &wanted.part));
    let entries: Vec<&Entry> = far.map(|wanted| wanted.entry).collect();
    let request = |entry: &&Entry| Some(archive.request(entry.fixed_header()).ok()?.0);
    let requests: Vec<Request> = entries.iter().map_while(request).collect();
    if requests.is_empty() {
        return;
    }
    for (number, response) in archive.get_many(requests, budget) {
        if let (Some(entry), Ok(Some(Response { bytes, .. }))) = (entries.get(number), response) {
            let header = entry.fixed_header();
            let _read_again_if_wrong =
                entry.start(&archive.window(Piece::new(header.start, bytes), header.end));
        }
    }
}

/// Returns the response to a request from the range that contains it.
fn finish(
    zip: &ZipStore,
    archive: &StoredArchive,
    ranged: &Ranged<'_>,
    response: Option<Response>,
) -> StoreResult<Response> {
    let Ranged { wanted: Wanted { request, entry, part, .. }, start, size } = ranged;
    let failed = |error: BoxError| zip.failed(&request.key, error);
    let response = response.ok_or_else(|| failed("the archive was removed".into()))?;
    archive.check(response.size, response.version.as_ref()).map_err(failed)?;
    let bytes = response.bytes;
    if bytes.len() != *size {
        return Err(failed("the archive is truncated".into()));
    }
    let window = archive.window(Piece::new(*start, bytes.clone()), entry.limit());
    let value = match without_copy(&window, entry, part, *start, &bytes).map_err(failed)? {
        Some(value) => value,
        None => {
            let mut output = Output::at_most(request.limit);
            zip.read(&window, entry, part, &mut output).map_err(failed)?;
            output.into_written().into()
        }
    };
    Ok(Response::new(value, entry.size(), Some(zip.version_of(entry))))
}
