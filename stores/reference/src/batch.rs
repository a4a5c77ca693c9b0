//! Many requests in one call: each other store gets all requests for its files together.

use std::collections::BTreeMap;
use std::sync::Arc;

use zarr_spec::Key;
use zarr_spec::store::{CompletedRequest, Request, Response, Responses, StoreResult, shared_part};

use crate::targets::Target;
use crate::{Found, Part, ReferenceStore};

/// The requests for one other store.
#[derive(Debug, Default)]
struct Asked {
    requests: Vec<Request>,
    originals: Vec<Original>,
}

/// The caller's request, which a request to another store answers.
#[derive(Debug)]
struct Original {
    index: usize,
    key: Key,
    target: Arc<Target>,
    part: Part,
}

/// The answer to a request, or the request to another store.
#[derive(Debug)]
enum Answer {
    Missing,
    Here(Response),
    There { target: Arc<Target>, request: Request, part: Part },
}

/// Completes the requests. The other stores answer one after the other.
pub(crate) fn responses(store: &ReferenceStore, requests: Vec<Request>, budget: usize) -> Responses<'_> {
    let mut done: Vec<CompletedRequest> = Vec::new();
    let mut asked: BTreeMap<usize, Asked> = BTreeMap::new();
    for (index, request) in requests.into_iter().enumerate() {
        match answer(store, &request) {
            Err(error) => done.push((index, Err(error))),
            Ok(Answer::Missing) => done.push((index, Ok(None))),
            Ok(Answer::Here(response)) => done.push((index, Ok(Some(response)))),
            Ok(Answer::There { target, request: inner, part }) => {
                let asked = asked.entry(target.root).or_default();
                asked.requests.push(inner);
                asked.originals.push(Original { index, key: request.key, target, part });
            }
        }
    }
    let asked = asked.into_iter().flat_map(move |(root, asked)| ask(store, root, asked, budget));
    Box::new(done.into_iter().chain(asked))
}

fn answer(store: &ReferenceStore, request: &Request) -> StoreResult<Answer> {
    let Request { key, options, limit, .. } = request;
    let file = match store.find(key)? {
        None => return Ok(Answer::Missing),
        Some(Found::Inline(bytes)) => {
            let part = shared_part(key, &bytes, options.range, *limit)?;
            return Ok(Answer::Here(Response::new(part, bytes.len() as u64, None)));
        }
        Some(Found::File(file)) => file,
    };
    let target = store.target(key, &file)?;
    let mut inner = *options;
    inner.range = file.range(key, options.range, *limit)?;
    let request = Request::new(target.key.clone(), inner, *limit);
    Ok(Answer::There { target, request, part: file.part_of(options.range) })
}

/// Sends the requests for one store, and converts the responses as they arrive.
fn ask(store: &ReferenceStore, root: usize, asked: Asked, budget: usize) -> Responses<'_> {
    let Asked { requests, originals } = asked;
    let responses = store.allowed.store(root).get_many(requests, budget);
    Box::new(responses.filter_map(move |(number, found)| {
        let original = originals.get(number)?;
        Some((original.index, found.and_then(|found| converted(store, original, found))))
    }))
}

fn converted(
    store: &ReferenceStore,
    original: &Original,
    found: Option<Response>,
) -> StoreResult<Option<Response>> {
    let Original { key, target, part, .. } = original;
    let Some(mut response) = found else { return Err(store.missing(key, target)) };
    response.size = store.checked_size(key, *part, response.bytes.len() as u64, response.size)?;
    Ok(Some(response))
}
