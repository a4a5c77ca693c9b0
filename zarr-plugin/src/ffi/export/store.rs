//! Stores as the other side sees them: those that a library has, and those that a host hands to a storage transformer.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::store::{Contents, GetOptions, GetResult, Request, Responses, Store, StoreError, StorePlugin};
use zarr_spec::{ByteRange, Key, Output, Prefix, json};

use crate::abi::{self, Buf, Listing, PartialValue, StoreHandle, StoreRequest, StoreVtable, Str};
use crate::ffi::import::store::owned;
use crate::ffi::output::write_output;
use crate::ffi::{
    Failure, borrowed, borrowed_items, borrowed_text, contained, fill, lend, parse, put, read, required,
};

/// The functions of a store of this side. `this` is an `Arc<dyn Store>`, `context` a [`StorePlugin`].
pub(crate) static STORES: StoreVtable = StoreVtable {
    struct_size: size_of::<StoreVtable>(),
    open: Some(open),
    release: Some(release),
    describe: Some(describe),
    get: Some(get),
    size: Some(size),
    begin: Some(begin),
    next: Some(next),
    end: Some(end),
    set: Some(set),
    set_partial_values: Some(set_partial_values),
    erase: Some(erase),
    erase_values: Some(erase_values),
    erase_prefix: Some(erase_prefix),
    list_prefix: Some(list_prefix),
    list_dir: Some(list_dir),
};

/// Gives a store to the other side, which releases it.
pub(crate) fn hand_over(store: Arc<dyn Store>) -> StoreHandle {
    StoreHandle { vtable: &raw const STORES, this: Box::into_raw(Box::new(store)).cast() }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotSupported { .. } => Self::new(abi::UNSUPPORTED, error.to_string()),
            StoreError::Key(error) => Self::new(abi::BAD_CONFIGURATION, error.to_string()),
            StoreError::Invalid(error) => error.into(),
            StoreError::TooLarge { source, .. } => source.into(),
            // The other side says what was being done.
            StoreError::Io { place, source, .. } => Self::new(abi::IO, format!("`{place}`: {source}")),
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
        // The store in `inside` belongs to this library from now on.
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

unsafe extern "C" fn release(this: *mut c_void) {
    // SAFETY: `hand_over` has made it, and the other side is done with it.
    let store = unsafe { Box::from_raw(this.cast::<Arc<dyn Store>>()) };
    contained(|| drop(store));
}

/// What `this` is.
///
/// # Safety
///
/// It is of [`hand_over`], and lives as long as `'a`.
unsafe fn store<'a>(this: *const c_void) -> &'a Arc<dyn Store> {
    // SAFETY: as this function asks.
    unsafe { &*this.cast::<Arc<dyn Store>>() }
}

/// # Safety
///
/// The text is lent for this call.
unsafe fn key(text: Str) -> Result<Key, Failure> {
    // SAFETY: as this function asks.
    let text = unsafe { borrowed_text(text) }?;
    Key::new(text).map_err(|error| StoreError::from(error).into())
}

/// # Safety
///
/// The text is lent for this call.
unsafe fn prefix(text: Str) -> Result<Prefix, Failure> {
    // SAFETY: as this function asks.
    let text = unsafe { borrowed_text(text) }?;
    Prefix::new(text).map_err(|error| StoreError::from(error).into())
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
            "concurrency": (hints.max_concurrency as u64),
            "join_gap": (hints.coalesce_gap)
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

fn range_of(shown: &abi::ByteRange) -> Result<ByteRange, Failure> {
    match shown.kind {
        abi::RANGE_FULL => Ok(ByteRange::Full),
        abi::RANGE_PART => Ok(ByteRange::Range { offset: shown.offset, size: shown.size }),
        abi::RANGE_FROM => Ok(ByteRange::From(shown.offset)),
        abi::RANGE_LAST => Ok(ByteRange::Last(shown.size)),
        other => Err(Failure::broken(format!("kind {other} of byte range is none"))),
    }
}

fn options_of(range: &abi::ByteRange, flags: u32) -> Result<GetOptions, Failure> {
    let range = range_of(range)?;
    Ok(match flags & abi::GET_ONCE {
        0 => GetOptions::new(range),
        _ => GetOptions::uncached(range),
    })
}

callbacks! {
    fn get(
        this: *const c_void,
        at: Str,
        range: *const abi::ByteRange,
        flags: u32,
        to: *mut abi::Output,
        got: *mut abi::Got,
    ) {
        let key = key(at)?;
        let options = options_of(&*range, flags)?;
        let mut found = None;
        write_output(to, |to| {
            found = store(this).get(&key, options, to)?;
            put_shared(found.as_ref(), to)
        })?;
        fill_got(found.as_ref(), got)
    }
}

/// Writes the bytes that a store shares.
fn put_shared(found: Option<&GetResult>, to: &mut Output<'_>) -> Result<(), Failure> {
    match found {
        Some(GetResult { contents: Contents::Shared(bytes), .. }) => Ok(to.put(bytes)?),
        _ => Ok(()),
    }
}

/// Says what was found, besides its bytes.
///
/// # Safety
///
/// `to` is what the other side lends for this call.
unsafe fn fill_got(found: Option<&GetResult>, to: *mut abi::Got) -> Result<(), Failure> {
    // SAFETY: as this function asks.
    let room = unsafe { read(to) }?;
    let Some(found) = found else {
        // SAFETY: as this function asks.
        unsafe { fill(to, abi::Got { found: 0, ..room }) };
        return Ok(());
    };
    let version = found.version.as_ref().map_or(&[][..], |version| version.bytes());
    let fits = version.len() <= room.version_room && !room.version.is_null();
    let version = if fits { version } else { &[] };
    // SAFETY: as this function asks; there is room for so many bytes.
    unsafe {
        if !version.is_empty() {
            std::ptr::copy_nonoverlapping(version.as_ptr(), room.version, version.len());
        }
        fill(to, abi::Got { found: 1, size: found.size, version_len: version.len(), ..room });
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

/// Requests that are on their way.
struct Batch {
    /// Borrows from `store`: dropped first.
    responses: Responses<'static>,
    count: usize,
    _store: Arc<dyn Store>,
}

callbacks! {
    fn begin(
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
        // SAFETY: the store is kept beside what borrows from it, and dropped after that; an `Arc` does not move what it
        // holds.
        let responses = std::mem::transmute::<Responses<'_>, Responses<'static>>(responses);
        batch
            .write(Box::into_raw(Box::new(Batch { responses, count: n_requests, _store: store })).cast());
        Ok(())
    }

    fn next(batch: *mut c_void, number: *mut usize, to: *mut abi::Output, got: *mut abi::Got) {
        // The host does not call other functions of this batch meanwhile.
        let batch = &mut *batch.cast::<Batch>();
        let Some((which, fetched)) = batch.responses.next() else {
            number.write(batch.count);
            return Ok(());
        };
        number.write(which);
        let found = fetched?.map(GetResult::from);
        write_output(to, |to| put_shared(found.as_ref(), to))?;
        fill_got(found.as_ref(), got)
    }
}

unsafe extern "C" fn end(batch: *mut c_void) {
    // SAFETY: `begin` has made it, and the other side is done with it.
    let batch = unsafe { Box::from_raw(batch.cast::<Batch>()) };
    contained(|| drop(batch));
}

callbacks! {
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

    fn list_prefix(this: *const c_void, below: Str, keys: *mut Listing) {
        for key in store(this).list_prefix(&prefix(below)?)? {
            add(keys, 0, std::iter::once(key?.as_str()))?;
        }
        Ok(())
    }

    fn list_dir(this: *const c_void, below: Str, found: *mut Listing) {
        let directory = store(this).list_dir(&prefix(below)?)?;
        add(found, 0, directory.keys.iter().map(Key::as_str))?;
        add(found, 1, directory.prefixes.iter().map(Prefix::as_str))
    }
}

/// Tells the other side what was listed.
///
/// # Safety
///
/// `to` is what the other side lends for this call.
unsafe fn add<'a>(
    to: *mut Listing,
    is_prefix: u32,
    mut texts: impl Iterator<Item = &'a str>,
) -> Result<(), Failure> {
    // SAFETY: as this function asks.
    let add = required(unsafe { read(to) }?.add, "add")?;
    // SAFETY: the function that comes with the listing.
    let refused = |text: &str| unsafe { add(to, is_prefix, lend(text.as_bytes())) } != 0;
    match texts.any(refused) {
        true => Err(Failure::new(abi::CANCELLED, "the other side wants no more of the listing")),
        false => Ok(()),
    }
}
