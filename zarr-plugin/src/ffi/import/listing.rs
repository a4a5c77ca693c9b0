//! Listings of stores of the other side of the ABI.

use std::ffi::c_void;

use zarr_spec::store::{Directory, StoreResult};
use zarr_spec::{Key, KeyError, Prefix};

use super::store::{ForeignStore, LISTING};
use crate::abi::{ListSink, Str};
use crate::ffi::{Failure, borrowed_text, lend, required};

/// The largest number of keys that are fetched with one call.
const MAX_PAGE: usize = 1024;

/// The keys below a prefix, fetched in pages. The first pages are small, since many callers take only one key.
pub(super) struct Listing<'s> {
    store: &'s ForeignStore,
    prefix: Prefix,
    this: *mut c_void,
    page: std::vec::IntoIter<Key>,
    page_size: usize,
    has_ended: bool,
}

// SAFETY: the ABI allows calls with a listing on any thread, one at a time.
unsafe impl Send for Listing<'_> {}

impl<'s> Listing<'s> {
    pub(super) fn begin(store: &'s ForeignStore, prefix: &Prefix) -> StoreResult<Self> {
        let mut this = std::ptr::null_mut();
        let called = call!(store.instance, begin_listing(lend(prefix.as_str().as_bytes()), &mut this));
        store.done(called, LISTING, prefix.as_str())?;
        let page = Vec::new().into_iter();
        Ok(Self { store, prefix: prefix.clone(), this, page, page_size: 1, has_ended: false })
    }

    /// Fetches the next keys. Returns no keys at the end of the listing.
    fn fetch(&mut self) -> StoreResult<Vec<Key>> {
        let Self { store, prefix, this, .. } = self;
        let mut received = Received::keys(prefix, self.page_size);
        self.page_size = (self.page_size * 2).min(MAX_PAGE);
        receive(store, &mut received, |sink| {
            store.instance.call(|vtable, _, err| {
                let next_keys = required(vtable.next_keys, "next_keys")?;
                // SAFETY: a function of the store, called with its listing and a sink for this call.
                Ok(unsafe { next_keys(*this, sink, err) })
            })
        })?;
        Ok(received.keys)
    }
}

impl Iterator for Listing<'_> {
    type Item = StoreResult<Key>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(key) = self.page.next() {
            return Some(Ok(key));
        }
        if self.has_ended {
            return None;
        }
        match self.fetch() {
            Ok(page) => {
                self.has_ended = page.is_empty();
                self.page = page.into_iter();
                self.page.next().map(Ok)
            }
            Err(error) => {
                self.has_ended = true;
                Some(Err(error))
            }
        }
    }
}

impl Drop for Listing<'_> {
    fn drop(&mut self) {
        if let Some(end) = self.store.instance.vtable.end_listing.filter(|_| !self.this.is_null()) {
            // SAFETY: the listing belongs to this value only.
            unsafe { end(self.this) };
        }
    }
}

/// Returns the keys and prefixes directly below `prefix`, from `list_dir` of the store.
pub(super) fn list_dir(store: &ForeignStore, prefix: &Prefix) -> StoreResult<Directory> {
    let mut received = Received { takes_prefixes: true, ..Received::keys(prefix, usize::MAX) };
    receive(store, &mut received, |sink| {
        call!(store.instance, list_dir(lend(prefix.as_str().as_bytes()), sink))
    })?;
    Ok(Directory::new(received.keys, received.prefixes))
}

/// The texts that a call adds to a sink.
struct Received<'p> {
    prefix: &'p Prefix,
    takes_prefixes: bool,
    /// The number of texts that are still accepted.
    remaining: usize,
    keys: Vec<Key>,
    prefixes: Vec<Prefix>,
    refused: Option<KeyError>,
}

impl<'p> Received<'p> {
    /// Accepts at most `limit` keys.
    fn keys(prefix: &'p Prefix, limit: usize) -> Self {
        Self {
            prefix,
            takes_prefixes: false,
            remaining: limit,
            keys: Vec::new(),
            prefixes: Vec::new(),
            refused: None,
        }
    }

    fn add(&mut self, is_prefix: bool, text: &str) -> Result<(), KeyError> {
        let what = if is_prefix { "prefix" } else { "key" };
        let refuse = |reason: String| KeyError::new(text.escape_debug().to_string(), what, reason);
        if !text.starts_with(self.prefix.as_str()) {
            return Err(refuse(format!("it does not begin with `{}`", self.prefix.as_str())));
        }
        self.remaining = self
            .remaining
            .checked_sub(1)
            .ok_or_else(|| refuse("the store added it after it was asked to stop".to_owned()))?;
        if is_prefix && self.takes_prefixes {
            self.prefixes.push(Prefix::new(text)?);
        } else {
            self.keys.push(Key::new(text)?);
        }
        Ok(())
    }
}

/// Calls a function of the store that adds keys to a sink.
fn receive(
    store: &ForeignStore,
    received: &mut Received<'_>,
    call: impl FnOnce(*mut ListSink) -> Result<(), Failure>,
) -> StoreResult<()> {
    let prefix = received.prefix;
    let mut sink = ListSink {
        struct_size: size_of::<ListSink>(),
        context: std::ptr::from_mut(received).cast(),
        add: Some(add),
    };
    let called = call(&raw mut sink);
    match received.refused.take() {
        Some(error) => Err(error.into()),
        None => store.done(called, LISTING, prefix.as_str()),
    }
}

/// Implements `add` of a sink.
unsafe extern "C" fn add(this: *mut ListSink, is_prefix: u32, text: Str) -> i32 {
    // SAFETY: the store calls `add` during the call that lends the sink, on one thread at a time; the context is a
    // `Received`.
    let (received, text) = unsafe { (&mut *(*this).context.cast::<Received<'_>>(), borrowed_text(text)) };
    let added = match text {
        Ok(text) => received.add(is_prefix != 0, text),
        Err(failure) => Err(KeyError::new("", "key", failure.message)),
    };
    if let Err(error) = added {
        received.refused.get_or_insert(error);
    }
    i32::from(received.refused.is_some() || received.remaining == 0)
}
