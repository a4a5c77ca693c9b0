//! Stores of this side of the ABI for the other side: the stores of a library, and those that a host passes to a
//! plugin.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::store::{
    Condition, ConditionalWrite, Contents, GetOptions, GetResult, Keys, Request, Responses, Store,
    StoreError, StoreLock, StorePlugin, Version,
};
use zarr_spec::{ByteRange, Key, Output, Prefix, json};

use super::{destroy, held};
use crate::abi::{self, Buf, ListSink, PartialValue, StoreHandle, StoreRequest, StoreVtable, Str};
use crate::ffi::import::store::owned;
use crate::ffi::io_status::status_of;
use crate::ffi::output::write_output;
use crate::ffi::{Failure, borrowed, borrowed_items, borrowed_text, fill, lend, parse, put, read, required};

/// The functions through which the other side calls a store of this side. `this` is an `Arc<dyn Store>`, `context` a
/// [`StorePlugin`].
pub(crate) static STORES: StoreVtable = StoreVtable {
    struct_size: size_of::<StoreVtable>(),
    open: Some(open),
    release: Some(destroy::<Arc<dyn Store>>),
    describe: Some(describe),
    get: Some(get),
    size: Some(size),
    begin_batch: Some(begin_batch),
    next_response: Some(next_response),
    end_batch: Some(destroy::<Batch>),
    set: Some(set),
    set_partial_values: Some(set_partial_values),
    erase: Some(erase),
    erase_values: Some(erase_values),
    erase_prefix: Some(erase_prefix),
    begin_listing: Some(begin_listing),
    next_keys: Some(next_keys),
    end_listing: Some(destroy::<Listing>),
    list_dir: Some(list_dir),
    set_if: Some(set_if),
    erase_if: Some(erase_if),
    lock: Some(lock),
    unlock: Some(destroy::<StoreLock>),
    commit: Some(commit),
    array_document: Some(array_document),
};

/// Passes a store to the other side, which releases it.
pub(crate) fn hand_over(store: Arc<dyn Store>) -> StoreHandle {
    StoreHandle { vtable: &raw const STORES, this: Box::into_raw(Box::new(store)).cast() }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotSupported { .. } => Self::new(abi::UNSUPPORTED, error.to_string()),
            // The other side knows the key, so the message has only the reason.
            StoreError::Key(error) => Self::new(abi::INVALID_KEY, error.reason),
            StoreError::Invalid(error) => error.into(),
            StoreError::TooLarge { source, .. } => source.into(),
            // The other side adds the operation to the message.
            StoreError::Io { kind, place, source, .. } => {
                Self::new(status_of(kind), format!("`{place}`: {source}"))
            }
            other => Self::new(abi::INTERNAL, other.to_string()),
        }
    }
}

callbacks! {
    fn open(
        context: *const c_void,
        location: Str,
        description_json: Str,
        inside: *const StoreHandle,
        this: *mut *mut c_void,
    ) {
        // This library owns `inside` as soon as `open` is called, so the store is taken before anything can fail.
        let inside = match inside.is_null() {
            true => None,
            false => Some(owned(&inside.read(), "the host".into())?),
        };
        let plugin = &*context.cast::<StorePlugin>();
        let location = borrowed_text(location)?;
        let store = match location {
            "" => plugin.describe(&parse(borrowed(description_json))?, inside.as_ref())?,
            location => (plugin.open)(location)?,
        };
        this.write(hand_over(store).this);
        Ok(())
    }
}

/// Returns the store that `this` points to.
///
/// # Safety
///
/// [`hand_over`] made it, and it lives as long as `'a`.
unsafe fn store<'a>(this: *const c_void) -> &'a Arc<dyn Store> {
    // SAFETY: as this function requires.
    unsafe { held(this) }
}

/// Parses a key.
///
/// # Safety
///
/// The text is lent for this call.
unsafe fn key(text: Str) -> Result<Key, Failure> {
    // SAFETY: as this function requires.
    let text = unsafe { borrowed_text(text) }?;
    Key::new(text).map_err(|error| StoreError::from(error).into())
}

/// Parses a prefix.
///
/// # Safety
///
/// The text is lent for this call.
unsafe fn prefix(text: Str) -> Result<Prefix, Failure> {
    // SAFETY: as this function requires.
    let text = unsafe { borrowed_text(text) }?;
    Prefix::new(text).map_err(|error| Failure::new(abi::BAD_CONFIGURATION, error.to_string()))
}

callbacks! {
    fn describe(this: *const c_void, json: *mut Buf) {
        let store = store(this);
        let can = store.capabilities();
        let hints = store.read_hints();
        let described = json!({
            "location": (store.location()),
            "readable": (can.readable),
            "writeable": (can.writeable),
            "listable": (can.listable),
            "erasable": (can.erasable),
            "max_concurrency": (hints.max_concurrency as u64),
            "coalesce_gap": (hints.coalesce_gap),
            "caches_values": (store.caches_values()),
            "conditional_set": (can.conditional_set),
            "conditional_erase": (can.conditional_erase),
            "adapts_documents": (can.adapts_documents)
        });
        put(json, described.to_string().into_bytes());
        Ok(())
    }
}

pub(crate) fn range_shown(range: ByteRange) -> abi::ByteRange {
    let (kind, offset, size) = match range {
        ByteRange::Full => (abi::RANGE_FULL, 0, 0),
        ByteRange::Range { offset, size } => (abi::RANGE_PART, offset, size),
        ByteRange::From(offset) => (abi::RANGE_FROM, offset, 0),
        ByteRange::Last(size) => (abi::RANGE_LAST, 0, size),
    };
    abi::ByteRange { offset, size, kind, reserved: 0 }
}

pub(crate) fn range_of(shown: &abi::ByteRange) -> Result<ByteRange, Failure> {
    match shown.kind {
        abi::RANGE_FULL => Ok(ByteRange::Full),
        abi::RANGE_PART => Ok(ByteRange::Range { offset: shown.offset, size: shown.size }),
        abi::RANGE_FROM => Ok(ByteRange::From(shown.offset)),
        abi::RANGE_LAST => Ok(ByteRange::Last(shown.size)),
        other => Err(Failure::broken(format!("unknown kind {other} of byte range"))),
    }
}

fn options_of(range: &abi::ByteRange, flags: u32) -> Result<GetOptions, Failure> {
    let range = range_of(range)?;
    Ok(if flags & abi::GET_FOR_UPDATE != 0 {
        GetOptions::for_update(range)
    } else if flags & abi::GET_UNCACHED != 0 {
        GetOptions::uncached(range)
    } else {
        GetOptions::new(range)
    })
}

callbacks! {
    fn get(
        this: *const c_void,
        at: Str,
        range: *const abi::ByteRange,
        flags: u32,
        to: *mut abi::Output,
        result: *mut abi::GetResult,
    ) {
        let key = key(at)?;
        let options = options_of(&*range, flags)?;
        let mut found = None;
        write_output(to, |to| {
            found = store(this).get(&key, options, to)?;
            put_shared(found.as_ref(), to)
        })?;
        fill_result(found.as_ref(), result)
    }
}

/// Writes the bytes to `to` if the store returned them in its own memory instead of writing them.
fn put_shared(found: Option<&GetResult>, to: &mut Output<'_>) -> Result<(), Failure> {
    match found {
        Some(GetResult { contents: Contents::Shared(bytes), .. }) => Ok(to.put(bytes)?),
        _ => Ok(()),
    }
}

/// Fills `to` with the size and the version of a value, or with `found: 0`.
///
/// # Safety
///
/// The other side lends `to` for this call.
unsafe fn fill_result(found: Option<&GetResult>, to: *mut abi::GetResult) -> Result<(), Failure> {
    // SAFETY: as this function requires.
    let lent = unsafe { read(to) }?;
    let Some(found) = found else {
        // SAFETY: as this function requires.
        unsafe { fill(to, abi::GetResult { found: 0, ..lent }) };
        return Ok(());
    };
    let version = found.version.as_ref().map_or(&[][..], |version| version.bytes());
    let fits = version.len() <= lent.version_capacity && !lent.version.is_null();
    let version = if fits { version } else { &[] };
    // SAFETY: as this function requires; the version fits.
    unsafe {
        if !version.is_empty() {
            std::ptr::copy_nonoverlapping(version.as_ptr(), lent.version, version.len());
        }
        fill(to, abi::GetResult { found: 1, size: found.size, version_len: version.len(), ..lent });
    }
    Ok(())
}

callbacks! {
    fn size(this: *const c_void, at: Str, size: *mut u64, found: *mut u32) {
        if let Some(bytes) = store(this).size(&key(at)?)? {
            size.write(bytes);
            found.write(1);
        }
        Ok(())
    }
}

/// Requests in flight.
struct Batch {
    /// Borrows from `store`, so this member is declared first: it is dropped before the store.
    responses: Responses<'static>,
    count: usize,
    _store: Arc<dyn Store>,
}

callbacks! {
    fn begin_batch(
        this: *const c_void,
        requests: *const StoreRequest,
        n_requests: usize,
        budget: usize,
        batch: *mut *mut c_void,
    ) {
        let request = |shown: &StoreRequest| {
            let options = options_of(&shown.range, shown.flags)?;
            Ok(Request::new(key(shown.key)?, options, shown.limit).with_expected_size(shown.expected))
        };
        let requests = borrowed_items(requests, n_requests).iter().map(request);
        let requests: Vec<Request> = requests.collect::<Result<_, Failure>>()?;
        let store = Arc::clone(store(this));
        let responses = store.get_many(requests, budget);
        // SAFETY: the batch owns the store and drops it after the responses, which borrow from it. An `Arc`
        // does not move its content.
        let responses = std::mem::transmute::<Responses<'_>, Responses<'static>>(responses);
        batch
            .write(Box::into_raw(Box::new(Batch { responses, count: n_requests, _store: store })).cast());
        Ok(())
    }

    fn next_response(
        batch: *mut c_void,
        number: *mut usize,
        to: *mut abi::Output,
        result: *mut abi::GetResult,
    ) {
        // No other function is called with this batch at the same time.
        let batch = &mut *batch.cast::<Batch>();
        let Some((which, fetched)) = batch.responses.next() else {
            number.write(batch.count);
            return Ok(());
        };
        number.write(which);
        let found = fetched?.map(GetResult::from);
        write_output(to, |to| put_shared(found.as_ref(), to))?;
        fill_result(found.as_ref(), result)
    }

    fn set(this: *const c_void, at: Str, value: Str) {
        Ok(store(this).set(&key(at)?, borrowed(value).into())?)
    }

    fn set_partial_values(this: *const c_void, values: *const PartialValue, n_values: usize) {
        let value = |value: &PartialValue| Ok((key(value.key)?, value.offset, borrowed(value.bytes)));
        let values = borrowed_items(values, n_values).iter().map(value);
        let values: Vec<(Key, u64, &[u8])> = values.collect::<Result<_, Failure>>()?;
        Ok(store(this).set_partial_values(&values)?)
    }

    fn erase(this: *const c_void, at: Str) {
        Ok(store(this).erase(&key(at)?)?)
    }

    fn erase_values(this: *const c_void, keys: *const Str, n_keys: usize) {
        let keys = borrowed_items(keys, n_keys).iter().map(|&text| key(text));
        Ok(store(this).erase_values(&keys.collect::<Result<Vec<_>, _>>()?)?)
    }

    fn erase_prefix(this: *const c_void, below: Str) {
        Ok(store(this).erase_prefix(&prefix(below)?)?)
    }

    fn set_if(
        this: *const c_void,
        at: Str,
        value: Str,
        version: *const Str,
        result: *mut abi::GetResult,
        conflict: *mut u32,
    ) {
        let condition = match version.is_null() {
            true => Condition::Missing,
            false => Condition::Unchanged(Version::new(borrowed(version.read()))),
        };
        let value = borrowed(value);
        match store(this).set_if(&key(at)?, value.into(), &condition)? {
            ConditionalWrite::Conflict => conflict.write(1),
            ConditionalWrite::Done(version) => {
                let written = GetResult::new(Contents::Written, value.len() as u64, version);
                fill_result(Some(&written), result)?;
            }
        }
        Ok(())
    }

    fn erase_if(this: *const c_void, at: Str, version: Str, conflict: *mut u32) {
        if store(this).erase_if(&key(at)?, &Version::new(borrowed(version)))?.is_conflict() {
            conflict.write(1);
        }
        Ok(())
    }

    fn commit(this: *const c_void) {
        Ok(store(this).commit()?)
    }

    fn array_document(this: *const c_void, at: Str, document_json: Str, adapted: *mut Buf) {
        let document = parse(borrowed(document_json))?;
        if let Some(document) = store(this).array_document(&key(at)?, &document)? {
            put(adapted, document.to_string().into_bytes());
        }
        Ok(())
    }

    fn lock(this: *const c_void, at: Str, lock: *mut *mut c_void) {
        if let Some(held) = store(this).lock(&key(at)?)? {
            lock.write(Box::into_raw(Box::new(held)).cast());
        }
        Ok(())
    }
}

/// A listing in progress.
struct Listing {
    /// Borrows from `store`, so this member is declared first: it is dropped before the store.
    keys: Keys<'static>,
    _store: Arc<dyn Store>,
}

callbacks! {
    fn begin_listing(this: *const c_void, below: Str, listing: *mut *mut c_void) {
        let store = Arc::clone(store(this));
        let keys = store.list_prefix(&prefix(below)?).map_err(listing_failure)?;
        // SAFETY: the listing owns the store and drops it after the keys, which borrow from it. An `Arc` does
        // not move its content.
        let keys = std::mem::transmute::<Keys<'_>, Keys<'static>>(keys);
        listing.write(Box::into_raw(Box::new(Listing { keys, _store: store })).cast());
        Ok(())
    }

    fn next_keys(listing: *mut c_void, sink: *mut ListSink) {
        // No other function is called with this listing at the same time.
        let listing = &mut *listing.cast::<Listing>();
        let add = Add::to(sink)?;
        for key in &mut listing.keys {
            if add.stops_after(0, key.map_err(listing_failure)?.as_str()) {
                break;
            }
        }
        Ok(())
    }

    fn list_dir(this: *const c_void, below: Str, sink: *mut ListSink) {
        let directory = store(this).list_dir(&prefix(below)?).map_err(listing_failure)?;
        let add = Add::to(sink)?;
        let _is_stopped = directory.keys.iter().any(|key| add.stops_after(0, key.as_str()))
            || directory.prefixes.iter().any(|prefix| add.stops_after(1, prefix.as_str()));
        Ok(())
    }
}

/// Converts the error of a listing. The other side does not know the key of a [`StoreError::Key`].
fn listing_failure(error: StoreError) -> Failure {
    match error {
        StoreError::Key(error) => Failure::new(abi::INTERNAL, error.to_string()),
        error => error.into(),
    }
}

/// Passes keys and prefixes to a sink of the other side.
struct Add {
    sink: *mut ListSink,
    function: unsafe extern "C" fn(*mut ListSink, u32, Str) -> i32,
}

impl Add {
    /// Reads the function `add` of `sink`.
    ///
    /// # Safety
    ///
    /// The other side lends `sink` for longer than this value lives.
    unsafe fn to(sink: *mut ListSink) -> Result<Self, Failure> {
        // SAFETY: as this function requires.
        let function = required(unsafe { read(sink) }?.add, "add")?;
        Ok(Self { sink, function })
    }

    /// Adds a text. Returns whether the other side refuses further texts.
    fn stops_after(&self, is_prefix: u32, text: &str) -> bool {
        // SAFETY: `to` requires that the other side lends the sink, and the function is `add` of this sink.
        unsafe { (self.function)(self.sink, is_prefix, lend(text.as_bytes())) != 0 }
    }
}
