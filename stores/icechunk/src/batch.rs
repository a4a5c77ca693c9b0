//! Many parts of values in one call.

use std::collections::VecDeque;

use futures_util::{StreamExt as _, stream};
use zarr_spec::Key;
use zarr_spec::store::{
    CompletedRequest, Request, Response, Responses, Store, StoreError, StoreResult, get_each,
};

use crate::place::Place;
use crate::reading::{self, Located, VirtualPart, Wanted};
use crate::repository::Opened;
use crate::store::IcechunkStore;

/// The maximum number of requests whose locations are searched at the same time. They may wait for a manifest.
const SEARCHES: usize = 256;

/// The maximum number of virtual chunks that are read at the same time.
const VIRTUAL: usize = 32;

/// Answers requests for values in another store: it reads the files of all chunks in one call.
pub(crate) fn responses<'s>(
    store: &'s IcechunkStore,
    opened: Opened,
    requests: Vec<Request>,
    budget: usize,
) -> Responses<'s> {
    let Place::Store(files) = store.place() else { return get_each(store, requests) };
    let located = match store.run("reading", locate(store, &opened, &requests)) {
        Ok(located) => located,
        // The threads could not be started: each request has its own error.
        Err(_) => return get_each(store, requests),
    };
    let mut sorted = Sorted::default();
    for (number, (request, located)) in requests.into_iter().zip(located).enumerate() {
        sorted.add(number, request, located);
    }
    let Sorted { ready, stored, outside } = sorted;
    let (files_of, parts): (Vec<Request>, Vec<_>) = stored.into_iter().unzip();
    let read = files.get_many(files_of, budget).map(move |(at, response)| {
        let Expected { number, key, part } = &parts[at];
        let checked = response.and_then(|response| match response {
            Some(response) if response.bytes.len() as u64 == part.size => {
                Ok(Some(Response::new(response.bytes, part.whole, None)))
            }
            _ => Err(part.damaged(key)),
        });
        (*number, checked)
    });
    let outside = VirtualChunks { store, opened, left: outside.into(), ready: VecDeque::new(), budget };
    Box::new(ready.into_iter().chain(read).chain(outside))
}

/// Finds all parts. A request fails on its own.
async fn locate(
    store: &IcechunkStore,
    opened: &Opened,
    requests: &[Request],
) -> StoreResult<Vec<StoreResult<Option<Located>>>> {
    let search = |request: &Request| {
        let wanted = Wanted { range: request.options.range, limit: request.limit };
        let key = request.key.clone();
        async move { reading::locate(opened, store.waiting(), &key, wanted).await }
    };
    let searches: Vec<_> = requests.iter().map(search).collect();
    Ok(stream::iter(searches).buffered(SEARCHES).collect().await)
}

/// Requests by the place of their values.
#[derive(Default)]
struct Sorted {
    ready: Vec<CompletedRequest>,
    /// The requests for files of the repository.
    stored: Vec<(Request, Expected)>,
    outside: Vec<(usize, Key, VirtualPart)>,
}

/// The content that the file of a chunk must have.
struct Expected {
    number: usize,
    key: Key,
    part: reading::StoredPart,
}

impl Sorted {
    fn add(&mut self, number: usize, request: Request, located: StoreResult<Option<Located>>) {
        match located {
            Ok(Some(Located::Stored(part))) => match part.file() {
                Ok(file) => {
                    let mut options = request.options;
                    options.range = part.range();
                    options.for_update = false;
                    let of_file = Request::new(file, options, request.limit);
                    self.stored.push((of_file, Expected { number, key: request.key, part }));
                }
                Err(error) => self.ready.push((number, Err(error.into()))),
            },
            Ok(Some(Located::Virtual(part))) => self.outside.push((number, request.key, part)),
            Ok(Some(Located::Here(found))) => {
                self.ready.push((number, Ok(Some(Response::new(found.bytes, found.size, None)))));
            }
            Ok(None) => self.ready.push((number, Ok(None))),
            Err(error) => self.ready.push((number, Err(error))),
        }
    }
}

/// Reads virtual chunks in groups, whose size is limited by the budget.
struct VirtualChunks<'s> {
    store: &'s IcechunkStore,
    opened: Opened,
    left: VecDeque<(usize, Key, VirtualPart)>,
    ready: VecDeque<CompletedRequest>,
    budget: usize,
}

impl VirtualChunks<'_> {
    /// Removes the next group from the queue: at least one part.
    fn group(&mut self) -> Vec<(usize, Key, VirtualPart)> {
        let mut group = Vec::new();
        let mut size = 0_u64;
        while group.len() < VIRTUAL {
            let fits = |(.., part): &(usize, Key, VirtualPart)| {
                size.saturating_add(part.size()) <= self.budget as u64
            };
            let next = match group.is_empty() {
                true => self.left.pop_front(),
                false => self.left.pop_front_if(|next| fits(next)),
            };
            let Some(next) = next else { break };
            size = size.saturating_add(next.2.size());
            group.push(next);
        }
        group
    }
}

impl Iterator for VirtualChunks<'_> {
    type Item = CompletedRequest;

    fn next(&mut self) -> Option<CompletedRequest> {
        if self.ready.is_empty() && !self.left.is_empty() {
            let group = self.group();
            let numbers: Vec<usize> = group.iter().map(|(number, ..)| *number).collect();
            let opened = &self.opened;
            let read = group.into_iter().map(|(number, key, part)| async move {
                let found = reading::virtual_part(opened, &key, part).await;
                (number, found.map(|found| Some(Response::new(found.bytes, found.size, None))))
            });
            let all = async { Ok(stream::iter(read).buffer_unordered(VIRTUAL).collect::<Vec<_>>().await) };
            self.ready = match self.store.run("reading", all) {
                Ok(read) => read.into(),
                Err(error) => {
                    let what = error.to_string();
                    let location = self.store.location();
                    let failed = |number| (number, Err(StoreError::io("reading", &*location, &*what)));
                    numbers.into_iter().map(failed).collect()
                }
            };
        }
        self.ready.pop_front()
    }
}
