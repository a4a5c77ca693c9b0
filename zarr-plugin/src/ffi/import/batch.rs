//! Requests to a store of the other side that are in flight.

use std::collections::BTreeSet;
use std::ffi::c_void;

use zarr_spec::store::{CompletedRequest, Request, Response};
use zarr_spec::{LimitExceeded, Output};

use super::store::{ForeignStore, GotRoom, READING, get_flags};
use crate::abi::StoreRequest;
use crate::ffi::export::store::range_shown;
use crate::ffi::output::lend_output;
use crate::ffi::{Failure, lend, required};

/// Requests that are on their way.
pub(super) struct Batch<'s> {
    store: &'s ForeignStore,
    this: *mut c_void,
}

// SAFETY: the ABI has functions of a batch called by any thread, one at a time.
unsafe impl Send for Batch<'_> {}

impl<'s> Batch<'s> {
    /// Sends the requests; `None` for a store that gets values one by one.
    pub(super) fn begin(
        store: &'s ForeignStore,
        requests: &[Request],
        budget: usize,
    ) -> Result<Option<Self>, Failure> {
        let vtable = &store.instance.vtable;
        let (Some(begin), Some(_), true) = (vtable.begin, vtable.next, store.capabilities.readable) else {
            return Ok(None);
        };
        let shown = |request: &Request| StoreRequest {
            key: lend(request.key.as_str().as_bytes()),
            range: range_shown(request.options.range),
            limit: request.limit,
            expected: request.expected_size,
            flags: get_flags(request.options),
            reserved: 0,
        };
        let shown: Vec<StoreRequest> = requests.iter().map(shown).collect();
        let mut this = std::ptr::null_mut();
        store.instance.call(|_, of, err| {
            // SAFETY: a function of the store, called with what it is and with a place that it may fill.
            Ok(unsafe { begin(of, shown.as_ptr(), shown.len(), budget, &mut this, err) })
        })?;
        Ok(Some(Self { store, this }))
    }

    /// Which request comes next, and what came of it in `output`.
    fn next(&mut self, output: &mut Output<'_>, room: &mut GotRoom) -> (usize, Result<(), Failure>) {
        let mut number = usize::MAX;
        let got = room.lend();
        let called = lend_output(output, |output| {
            self.store.instance.call(|vtable, _, err| {
                let next = required(vtable.next, "next")?;
                // SAFETY: a function of the store, called with its batch and with memory that is lent to it.
                Ok(unsafe { next(self.this, &mut number, output, got, err) })
            })
        });
        (number, called)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if let Some(end) = self.store.instance.vtable.end.filter(|_| !self.this.is_null()) {
            // SAFETY: the batch belongs to this value alone.
            unsafe { end(self.this) };
        }
    }
}

/// What comes of requests, each once, whatever the other side says.
pub(super) struct Deliveries<'s> {
    pub(super) batch: Batch<'s>,
    pub(super) requests: Vec<Request>,
    pub(super) pending: BTreeSet<usize>,
    /// The largest limit of a request.
    pub(super) most: usize,
    /// Why nothing more is to be had.
    pub(super) end: Option<Failure>,
}

impl Iterator for Deliveries<'_> {
    type Item = CompletedRequest;

    fn next(&mut self) -> Option<CompletedRequest> {
        let first = *self.pending.first()?;
        let mut output = Output::at_most(self.most);
        let mut room = GotRoom::EMPTY;
        let (number, called) = match self.end.clone() {
            Some(failure) => (first, Err(failure)),
            None => self.batch.next(&mut output, &mut room),
        };
        let (number, called) = match called {
            called if self.pending.contains(&number) => (number, called),
            called => {
                let says = format!("it delivered request {number} of {}", self.requests.len());
                let failure = called.err().unwrap_or_else(|| Failure::broken(says));
                self.end = Some(failure.clone());
                (first, Err(failure))
            }
        };
        self.pending.remove(&number);
        let request = self.requests.get(number)?;
        let fetched = called.and_then(|()| {
            let bytes = output.into_written();
            if bytes.len() > request.limit {
                return Err(LimitExceeded { limit: request.limit }.into());
            }
            let found = room.found(request.options.range, bytes.len())?;
            Ok(found.map(|(size, version)| Response::new(bytes.into(), size, version)))
        });
        let store = self.batch.store;
        let error = |failure: Failure| store.error(&failure, READING, request.key.as_str(), request.limit);
        Some((number, fetched.map_err(error)))
    }
}
