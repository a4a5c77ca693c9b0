//! Stores of the other side: those of a library that was loaded, and those that a host hands to a plugin.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::store::{
    Capabilities, ChunkCache, Contents, Directory, GetOptions, GetResult, Keys, Payload, ReadHints, Request,
    Responses, Store, StoreError, Version, directory, rewrite_values,
};
use zarr_spec::{ByteRange, Invalid, Key, KeyError, LimitExceeded, Output, Prefix, Value};

use super::batch::{Batch, Deliveries};
use super::{Imported, invalid};
use crate::abi::{self, Listing, PartialValue, StoreHandle, StoreVtable, Str};
use crate::ffi::export::store::{hand_over, range_shown};
use crate::ffi::output::lend_output;
use crate::ffi::{EMPTY, Failure, Instance, borrowed_text, lend, outcome, read, required, take_json};

impl Imported<StoreVtable> {
    /// Opens the store at a URL or path.
    pub(crate) fn open(&self, location: &str) -> Result<Arc<dyn Store>, StoreError> {
        self.made(location, "", None).map_err(|failure| self.error(&failure, location))
    }

    /// Opens the store that is described.
    pub(crate) fn describe(
        &self,
        description: &Value,
        given: Option<&Arc<dyn Store>>,
    ) -> Result<Arc<dyn Store>, StoreError> {
        let text = description.to_string();
        self.made("", &text, given).map_err(|failure| self.error(&failure, &text))
    }

    fn made(
        &self,
        location: &str,
        description: &str,
        given: Option<&Arc<dyn Store>>,
    ) -> Result<Arc<dyn Store>, Failure> {
        let open = required(self.vtable.open, "open")?;
        let mut this = std::ptr::null_mut();
        let mut err = EMPTY;
        // It belongs to the other side from the call on.
        let given = given.map(|given| hand_over(Arc::clone(given)));
        let given = given.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: a function of the library, called with its own context and with places that it may fill; what it made
        // belongs to this side.
        unsafe {
            let location = lend(location.as_bytes());
            let description = lend(description.as_bytes());
            let status = open(self.context, location, description, given, &mut this, &mut err);
            outcome(status, &mut err)?;
            owned(&StoreHandle { vtable: &self.vtable, this }, self.origin.clone())
        }
    }

    fn error(&self, failure: &Failure, place: &str) -> StoreError {
        let what = invalid(&self.origin, failure);
        match failure.status {
            abi::IO => StoreError::io("opening", place, what.to_string()),
            _ => what.into(),
        }
    }
}

/// Takes over a store of the other side, which `origin` says what it is.
///
/// # Safety
///
/// The handle is one that the other side gives away.
pub(crate) unsafe fn owned(handle: &StoreHandle, origin: Arc<str>) -> Result<Arc<dyn Store>, Failure> {
    // SAFETY: as this function asks.
    let instance = unsafe {
        let vtable = read(handle.vtable)?;
        Instance::new(vtable, handle.this, vtable.release)
    };
    let mut json = EMPTY;
    let called = instance.call(|vtable, this, err| {
        let describe = required(vtable.describe, "describe")?;
        // SAFETY: a function of the store, called with what it is and with a place that it may fill.
        Ok(unsafe { describe(this, &mut json, err) })
    });
    // SAFETY: it is as the call left it.
    let json = unsafe { take_json(&mut json) };
    let json = called.and(json)?;
    let (location, capabilities, hints) =
        described(&json).ok_or_else(|| Failure::broken(format!("it describes its store as {json}")))?;
    Ok(Arc::new(ForeignStore { instance, origin, location, capabilities, hints }))
}

fn described(json: &Value) -> Option<(String, Capabilities, ReadHints)> {
    let members = json.as_object()?;
    let can = |name: &str| members.get(name)?.as_bool();
    let number = |name: &str| members.get(name)?.as_u64();
    let mut capabilities = Capabilities::ALL;
    capabilities.readable = can("readable")?;
    capabilities.writeable = can("writeable")?;
    capabilities.listable = can("listable")?;
    capabilities.erasable = can("erasable")?;
    let concurrency = usize::try_from(number("concurrency")?).ok()?.min(MAX_CONCURRENCY);
    let hints = ReadHints::new(concurrency, number("join_gap")?.min(MAX_COALESCE_GAP));
    Some((members.get("location")?.as_str()?.to_owned(), capabilities, hints))
}

/// More requests in flight are believed of nobody.
const MAX_CONCURRENCY: usize = 4096;

/// Nor that more bytes are better read than left out.
const MAX_COALESCE_GAP: u64 = 64 << 20;

/// The longest version that is taken from the other side, in bytes.
const VERSION_ROOM: usize = 256;

/// A store of the other side.
#[derive(Debug)]
pub(super) struct ForeignStore {
    pub(super) instance: Instance<StoreVtable>,
    origin: Arc<str>,
    location: String,
    pub(super) capabilities: Capabilities,
    hints: ReadHints,
}

pub(super) fn get_flags(options: GetOptions) -> u32 {
    if options.may_cache { 0 } else { abi::GET_ONCE }
}

/// What is being done with a store, and what a store is that cannot do it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation(&'static str, &'static str);

pub(super) const READING: Operation = Operation("reading", "not readable");
const WRITING: Operation = Operation("writing", "not writeable");
const LISTING: Operation = Operation("listing", "not listable");
const ERASING: Operation = Operation("erasing", "not erasable");

/// What [`abi::Got`] has room in.
pub(super) struct GotRoom {
    got: abi::Got,
    version: [u8; VERSION_ROOM],
}

impl GotRoom {
    pub(super) const EMPTY: Self = Self {
        got: abi::Got {
            struct_size: size_of::<abi::Got>(),
            found: 0,
            reserved: 0,
            size: 0,
            version: std::ptr::null_mut(),
            version_room: VERSION_ROOM,
            version_len: 0,
        },
        version: [0; VERSION_ROOM],
    };

    /// Shows it to the other side for a call.
    pub(super) fn lend(&mut self) -> *mut abi::Got {
        self.got.version = self.version.as_mut_ptr();
        &raw mut self.got
    }

    /// What was found, of which `written` bytes are there.
    pub(super) fn found(
        &self,
        range: ByteRange,
        written: usize,
    ) -> Result<Option<(u64, Option<Version>)>, Failure> {
        let size = self.got.size;
        let part = if self.got.found == 0 { 0..0 } else { range.within(size) };
        if part.end - part.start != written as u64 {
            return Err(Failure::broken(format!(
                "it returned {written} bytes of a value of {size}, where there are {}",
                part.end - part.start
            )));
        }
        let version = self.version.get(..self.got.version_len).filter(|version| !version.is_empty());
        Ok((self.got.found != 0).then(|| (size, version.map(Version::new))))
    }
}

impl ForeignStore {
    fn can(&self, has: bool, Operation(_, quality): Operation) -> Result<(), StoreError> {
        if has { Ok(()) } else { Err(StoreError::NotSupported { store: self.location.clone(), quality }) }
    }

    pub(super) fn error(
        &self,
        failure: &Failure,
        Operation(operation, quality): Operation,
        place: &str,
        limit: usize,
    ) -> StoreError {
        let verb = if failure.status == abi::PANICKED { " panicked" } else { "" };
        let message = format!("{}{verb}: {}", self.origin, failure.message);
        match failure.status {
            abi::UNSUPPORTED => StoreError::NotSupported { store: self.location.clone(), quality },
            abi::BAD_CONFIGURATION => Invalid::new(message).into(),
            abi::LIMIT_EXCEEDED => {
                StoreError::TooLarge { key: place.to_owned(), source: LimitExceeded { limit } }
            }
            _ => StoreError::io(operation, place, message),
        }
    }

    /// Calls a function that changes or lists something.
    fn call(
        &self,
        operation: Operation,
        place: &str,
        call: impl FnOnce(&StoreVtable, *const c_void, *mut abi::Buf) -> Result<i32, Failure>,
    ) -> Result<(), StoreError> {
        self.instance.call(call).map_err(|failure| self.error(&failure, operation, place, 0))
    }

    /// What is listed with one function of the store.
    fn listed(
        &self,
        prefix: &Prefix,
        call: impl FnOnce(&StoreVtable, *const c_void, *mut Listing, *mut abi::Buf) -> Result<i32, Failure>,
    ) -> Result<Directory, StoreError> {
        let mut collected =
            Collected { below: prefix.as_str(), directory: Directory::default(), refused: None };
        let mut listing = Listing {
            struct_size: size_of::<Listing>(),
            context: (&raw mut collected).cast(),
            add: Some(add),
        };
        let called = self
            .call(LISTING, prefix.as_str(), |vtable, this, err| call(vtable, this, &raw mut listing, err));
        if let Some(error) = collected.refused {
            return Err(error.into());
        }
        called?;
        Ok(Directory::new(collected.directory.keys, collected.directory.prefixes))
    }
}

/// Where a listing goes.
struct Collected<'p> {
    below: &'p str,
    directory: Directory,
    refused: Option<KeyError>,
}

/// `add` of what is listed.
unsafe extern "C" fn add(this: *mut Listing, is_prefix: u32, text: Str) -> i32 {
    // SAFETY: the ABI has it called with what was lent, during the call and one at a time; the context is a `Collected`.
    let (collected, text) = unsafe { (&mut *(*this).context.cast::<Collected<'_>>(), borrowed_text(text)) };
    let refused = |text: &str, what, reason: &str| KeyError {
        text: text.escape_debug().to_string(),
        what,
        reason: reason.to_owned(),
    };
    let what = if is_prefix == 0 { "key" } else { "prefix" };
    let added = match text {
        Err(failure) => Err(refused("", what, &failure.message)),
        Ok(text) if !text.starts_with(collected.below) => {
            Err(refused(text, what, &format!("it does not begin with `{}`", collected.below)))
        }
        Ok(text) if is_prefix == 0 => Key::new(text).map(|key| collected.directory.keys.push(key)),
        Ok(text) => Prefix::new(text).map(|prefix| collected.directory.prefixes.push(prefix)),
    };
    match added {
        Ok(()) => 0,
        Err(error) => {
            collected.refused.get_or_insert(error);
            1
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for ForeignStore {
    fn location(&self) -> String {
        self.location.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn read_hints(&self) -> ReadHints {
        self.hints
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.can(self.capabilities.readable, READING)?;
        let limit = to.remaining();
        let mut room = GotRoom::EMPTY;
        let shown = range_shown(options.range);
        let got = room.lend();
        let called = lend_output(to, |output| {
            self.instance.call(|vtable, this, err| {
                let get = required(vtable.get, "get")?;
                // SAFETY: a function of the store, called with what it is and with memory that is lent to it.
                Ok(unsafe {
                    get(this, lend(key.as_str().as_bytes()), &shown, get_flags(options), output, got, err)
                })
            })
        });
        let found = called.and_then(|()| room.found(options.range, limit - to.remaining()));
        let found = found.map_err(|failure| self.error(&failure, READING, key.as_str(), limit))?;
        Ok(found.map(|(size, version)| GetResult::new(Contents::Written, size, version)))
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        match Batch::begin(self, &requests, budget) {
            Ok(Some(batch)) => {
                let most = requests.iter().map(|request| request.limit).max().unwrap_or(0);
                Box::new(Deliveries {
                    pending: (0..requests.len()).collect(),
                    requests,
                    batch,
                    most,
                    end: None,
                })
            }
            Ok(None) => Box::new(requests.into_iter().enumerate().map(|(number, request)| {
                let mut output = Output::at_most(request.limit);
                let got = self.get(&request.key, request.options, &mut output);
                (number, got.map(|got| got.map(|got| got.into_response(output))))
            })),
            Err(failure) => Box::new(requests.into_iter().enumerate().map(move |(number, request)| {
                (number, Err(self.error(&failure, READING, request.key.as_str(), request.limit)))
            })),
        }
    }

    /// Decoded chunks do not cross the boundary: a store around this one may cache them.
    fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
        None
    }

    fn caches_values(&self) -> bool {
        false
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.can(self.capabilities.writeable, WRITING)?;
        self.call(WRITING, key.as_str(), |vtable, this, err| {
            let set = required(vtable.set, "set")?;
            // SAFETY: a function of the store, called with what it is.
            Ok(unsafe { set(this, lend(key.as_str().as_bytes()), lend(&value), err) })
        })
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        self.can(self.capabilities.writeable, WRITING)?;
        let Some(set_partial_values) = self.instance.vtable.set_partial_values else {
            return rewrite_values(self, values);
        };
        let shown = |(key, offset, bytes): &(Key, u64, &[u8])| PartialValue {
            key: lend(key.as_str().as_bytes()),
            offset: *offset,
            bytes: lend(bytes),
        };
        let shown: Vec<PartialValue> = values.iter().map(shown).collect();
        let place = values.first().map_or("", |(key, ..)| key.as_str());
        self.call(WRITING, place, |_, this, err| {
            // SAFETY: a function of the store, called with what it is.
            Ok(unsafe { set_partial_values(this, shown.as_ptr(), shown.len(), err) })
        })
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.can(self.capabilities.erasable, ERASING)?;
        self.call(ERASING, key.as_str(), |vtable, this, err| {
            let erase = required(vtable.erase, "erase")?;
            // SAFETY: a function of the store, called with what it is.
            Ok(unsafe { erase(this, lend(key.as_str().as_bytes()), err) })
        })
    }

    fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
        self.can(self.capabilities.erasable, ERASING)?;
        let Some(erase_values) = self.instance.vtable.erase_values else {
            return keys.iter().try_for_each(|key| self.erase(key));
        };
        let shown: Vec<Str> = keys.iter().map(|key| lend(key.as_str().as_bytes())).collect();
        self.call(ERASING, keys.first().map_or("", Key::as_str), |_, this, err| {
            // SAFETY: a function of the store, called with what it is.
            Ok(unsafe { erase_values(this, shown.as_ptr(), shown.len(), err) })
        })
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        self.can(self.capabilities.erasable, ERASING)?;
        let Some(erase_prefix) = self.instance.vtable.erase_prefix else {
            let listed = self.list_prefix(prefix)?;
            return self.erase_values(&listed.collect::<Result<Vec<_>, _>>()?);
        };
        self.call(ERASING, prefix.as_str(), |_, this, err| {
            // SAFETY: a function of the store, called with what it is.
            Ok(unsafe { erase_prefix(this, lend(prefix.as_str().as_bytes()), err) })
        })
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.can(self.capabilities.listable, LISTING)?;
        let listed = self.listed(prefix, |vtable, this, listing, err| {
            let list_prefix = required(vtable.list_prefix, "list_prefix")?;
            // SAFETY: a function of the store, called with what it is and with what the listing goes to.
            Ok(unsafe { list_prefix(this, lend(prefix.as_str().as_bytes()), listing, err) })
        })?;
        Ok(Box::new(listed.keys.into_iter().map(Ok)))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        self.can(self.capabilities.listable, LISTING)?;
        let Some(list_dir) = self.instance.vtable.list_dir else {
            return directory(prefix, self.list_prefix(prefix)?);
        };
        self.listed(prefix, |_, this, listing, err| {
            // SAFETY: a function of the store, called with what it is and with what the listing goes to.
            Ok(unsafe { list_dir(this, lend(prefix.as_str().as_bytes()), listing, err) })
        })
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.can(self.capabilities.readable, READING)?;
        let mut bytes = 0;
        let mut found = 0;
        self.call(READING, key.as_str(), |vtable, this, err| {
            let size = required(vtable.size, "size")?;
            // SAFETY: a function of the store, called with what it is and with places that it may fill.
            Ok(unsafe { size(this, lend(key.as_str().as_bytes()), &mut bytes, &mut found, err) })
        })?;
        Ok((found != 0).then_some(bytes))
    }
}
