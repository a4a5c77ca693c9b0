//! Batches of requests to a store of the other side of the ABI.

use std::collections::BTreeSet;
use std::ffi::c_void;

use zarr_spec::store::{CompletedRequest, Request, Response};
use zarr_spec::{LimitExceeded, Output};

use super::store::{ForeignStore, READING, ResultMemory, get_flags, lend_key};
use crate::abi::StoreRequest;
use crate::ffi::export::store::range_shown;
use crate::ffi::output::lend_output;
use crate::ffi::{Failure, required};

/// Requests in flight.
pub(super) struct Batch<'s> {
    store: &'s ForeignStore,
    this: *mut c_void,
}

// SAFETY: the ABI allows calls with a batch on any thread, one at a time.
unsafe impl Send for Batch<'_> {}

impl<'s> Batch<'s> {
    /// Sends the requests. Returns `None` for a store without batches.
    pub(super) fn begin(
        store: &'s ForeignStore,
        requests: &[Request],
        budget: usize,
    ) -> Result<Option<Self>, Failure> {
        let vtable = &store.instance.vtable;
        let has_batches = vtable.begin_batch.is_some() && vtable.next_response.is_some();
        if !has_batches || !store.description.capabilities.readable {
            return Ok(None);
        }
        let shown = |request: &Request| StoreRequest {
            key: lend_key(&request.key),
            range: range_shown(request.options.range),
            limit: request.limit,
            expected: request.expected_size,
            flags: get_flags(request.options),
            reserved: 0,
        };
        let shown: Vec<StoreRequest> = requests.iter().map(shown).collect();
        let mut this = std::ptr::null_mut();
        call!(store.instance, begin_batch(shown.as_ptr(), shown.len(), budget, &mut this))?;
        Ok(Some(Self { store, this }))
    }

    /// Returns the index of the request that completes next. Its bytes are in `output`.
    fn next(&mut self, output: &mut Output<'_>, memory: &mut ResultMemory) -> (usize, Result<(), Failure>) {
        let mut number = usize::MAX;
        let result = memory.lend();
        let called = lend_output(output, |output| {
            self.store.instance.call(|vtable, _, err| {
                let next = required(vtable.next_response, "next_response")?;
                // SAFETY: a function of the store, called with its batch and memory for its results.
                Ok(unsafe { next(self.this, &mut number, output, result, err) })
            })
        });
        (number, called)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if let Some(end) = self.store.instance.vtable.end_batch.filter(|_| !self.this.is_null()) {
            // SAFETY: the batch belongs to this value only.
            unsafe { end(self.this) };
        }
    }
}

/// The responses to requests. Each request completes once, whatever the other side returns.
pub(super) struct Deliveries<'s> {
    pub(super) batch: Batch<'s>,
    pub(super) requests: Vec<Request>,
    pub(super) pending: BTreeSet<usize>,
    /// The largest limit of a request.
    pub(super) most: usize,
    /// The failure that ended the batch.
    pub(super) end: Option<Failure>,
}

impl Iterator for Deliveries<'_> {
    type Item = CompletedRequest;

    fn next(&mut self) -> Option<CompletedRequest> {
        let first = *self.pending.first()?;
        let mut output = Output::at_most(self.most);
        let mut memory = ResultMemory::EMPTY;
        let (number, called) = match self.end.clone() {
            Some(failure) => (first, Err(failure)),
            None => self.batch.next(&mut output, &mut memory),
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
            let found = memory.found(request.options.range, bytes.len())?;
            Ok(found.map(|(size, version)| Response::new(bytes.into(), size, version)))
        });
        let store = self.batch.store;
        let error = |failure: Failure| store.error(&failure, READING, request.key.as_str(), request.limit);
        Some((number, fetched.map_err(error)))
    }
}
