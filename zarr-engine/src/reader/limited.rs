//! Responses of a far store within the limit of concurrent requests.

use std::sync::Arc;

use zarr_spec::store::{CompletedRequest, Request, Responses, Store};

use crate::request_limit::{RequestLimit, RequestPermit};
use crate::stored::StoredArray;

/// If the operation has as many permits as the store benefits from, a group has this number of requests per permit. At
/// the end of a group fewer requests are in flight, so large groups are faster. But permits are only returned at the
/// end of a group, and other operations wait for them.
const PER_PERMIT: usize = 16;

/// Responses to requests that are sent in groups.
struct LimitedResponses<'a> {
    store: &'a Arc<dyn Store>,
    limit: &'a RequestLimit,
    /// The limit of bytes in flight.
    in_flight: usize,
    /// Requests that are not sent yet.
    rest: std::vec::IntoIter<Request>,
    /// The number of requests that were sent in earlier groups.
    done: usize,
    group: Option<Group<'a>>,
}

/// Requests that are sent by one call.
struct Group<'a> {
    responses: Responses<'a>,
    permit: RequestPermit<'a>,
    len: usize,
}

impl StoredArray {
    /// Sends requests, with at most `in_flight` bytes in flight, within the limit of requests of the context.
    pub(super) fn limited_responses(&self, requests: Vec<Request>, in_flight: usize) -> Responses<'_> {
        let store = &self.resolved.store;
        let limit = &*self.context().requests;
        if !limit.is_limited() {
            return store.get_many(requests, in_flight);
        }
        let rest = requests.into_iter();
        Box::new(LimitedResponses { store, limit, in_flight, rest, done: 0, group: None })
    }
}

impl<'a> LimitedResponses<'a> {
    /// Sends the next group of requests.
    fn next_group(&mut self) -> Group<'a> {
        let useful = self.store.read_hints().max_concurrency.max(1);
        let permit = self.limit.acquire(useful.min(self.rest.len()));
        // With all useful permits, the group is larger than their number: the store itself limits how many requests of
        // one call are in flight.
        let most = if permit.count() < useful { permit.count() } else { useful.saturating_mul(PER_PERMIT) };
        let requests: Vec<_> = self.rest.by_ref().take(most).collect();
        let len = requests.len();
        let responses = permit.call(|| self.store.get_many(requests, self.in_flight));
        Group { responses, permit, len }
    }
}

impl Iterator for LimitedResponses<'_> {
    type Item = CompletedRequest;

    fn next(&mut self) -> Option<CompletedRequest> {
        loop {
            if let Some(Group { responses, permit, len }) = &mut self.group {
                if let Some((number, response)) = permit.call(|| responses.next()) {
                    // A number that no request of the group has is an error of the store.
                    let number = if number < *len { self.done + number } else { usize::MAX };
                    return Some((number, response));
                }
                self.done += *len;
                self.group = None;
            }
            if self.rest.len() == 0 {
                return None;
            }
            self.group = Some(self.next_group());
        }
    }
}
