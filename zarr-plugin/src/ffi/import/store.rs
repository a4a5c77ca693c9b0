//! Stores of the other side of the ABI: the stores of a loaded library, and those that a host passes to a plugin.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::store::{
    Capabilities, ChunkCache, Condition, ConditionalWrite, Contents, Directory, GetOptions, GetResult, Keys,
    Payload, ReadHints, Request, Responses, Store, StoreError, StoreLock, StoreResult, Version, directory,
    erase_listed, get_each, rewrite_values,
};
use zarr_spec::{ByteRange, Invalid, Key, KeyError, LimitExceeded, Output, Prefix, Value};

use super::batch::{Batch, Deliveries};
use super::listing::{Listing, list_dir};
use super::{Imported, invalid, said_by};
use crate::abi::{self, PartialValue, StoreHandle, StoreVtable, Str};
use crate::ffi::export::store::{hand_over, range_shown};
use crate::ffi::io_status::kind_of;
use crate::ffi::output::lend_output;
use crate::ffi::{EMPTY, Failure, Instance, lend, outcome, parse, read, required};

impl Imported<StoreVtable> {
    /// Opens the store at a URL or path.
    pub(crate) fn open(&self, location: &str) -> StoreResult<Arc<dyn Store>> {
        self.made(location, "", None).map_err(|failure| self.error(&failure, location))
    }

    /// Opens the store at a URL or path, or of `description`, which contains it. Returns `None` if the library requires
    /// that the host opens this location.
    pub(crate) fn open_unless_host_does(
        &self,
        location: &str,
        description: Option<&Value>,
    ) -> StoreResult<Option<Arc<dyn Store>>> {
        let text = description.map(Value::to_string);
        let made = match &text {
            Some(text) => self.made("", text, None),
            None => self.made(location, "", None),
        };
        match made {
            Err(failure) if failure.status == abi::UNSUPPORTED => Ok(None),
            made => made.map(Some).map_err(|failure| self.error(&failure, location)),
        }
    }

    /// Opens the store of a description.
    pub(crate) fn describe(
        &self,
        description: &Value,
        given: Option<&Arc<dyn Store>>,
    ) -> StoreResult<Arc<dyn Store>> {
        self.describe_at(description, given, &description.to_string())
    }

    /// Opens the store of a description. `place` is its location in messages.
    pub(crate) fn describe_at(
        &self,
        description: &Value,
        given: Option<&Arc<dyn Store>>,
        place: &str,
    ) -> StoreResult<Arc<dyn Store>> {
        let made = self.made("", &description.to_string(), given);
        made.map_err(|failure| self.error(&failure, place))
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
        // The other side owns the store as soon as `open` is called.
        let given = given.map(|given| hand_over(Arc::clone(given)));
        let given = given.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: a function of the library, called with its own context and memory for its results. This side
        // owns the store that it returns.
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
        match kind_of(failure.status) {
            Some(kind) => StoreError::io("opening", place, what.to_string()).with_kind(kind),
            None => what.into(),
        }
    }
}

/// Takes ownership of a store of the other side. `origin` names the other side in messages.
///
/// # Safety
///
/// The other side passes the ownership of the handle.
pub(crate) unsafe fn owned(handle: &StoreHandle, origin: Arc<str>) -> Result<Arc<dyn Store>, Failure> {
    // SAFETY: as this function requires.
    let instance = unsafe {
        let vtable = read(handle.vtable)?;
        Instance::new(vtable, handle.this, vtable.release)
    };
    let json = parse(&fetch!(instance, describe())?)?;
    let mut description = Description::parse(&json)
        .ok_or_else(|| Failure::broken(format!("it returned the invalid description {json} of a store")))?;
    description.capabilities.conditional_set &= instance.vtable.set_if.is_some();
    description.capabilities.conditional_erase &= instance.vtable.erase_if.is_some();
    description.capabilities.adapts_documents &= instance.vtable.array_document.is_some();
    Ok(Arc::new(ForeignStore { instance, origin, description }))
}

/// The description that `describe` of a store returns.
#[derive(Debug)]
pub(super) struct Description {
    location: String,
    pub(super) capabilities: Capabilities,
    hints: ReadHints,
    caches_values: bool,
}

impl Description {
    fn parse(json: &Value) -> Option<Self> {
        let members = json.as_object()?;
        let flag = |name: &str| members.get(name)?.as_bool();
        let number = |name: &str| members.get(name)?.as_u64();
        let mut capabilities = Capabilities::ALL;
        capabilities.readable = flag("readable")?;
        capabilities.writeable = flag("writeable")?;
        capabilities.listable = flag("listable")?;
        capabilities.erasable = flag("erasable")?;
        // Libraries for an older ABI than 2.2 do not declare these capabilities.
        capabilities.conditional_set = flag("conditional_set").unwrap_or(false);
        capabilities.conditional_erase = flag("conditional_erase").unwrap_or(false);
        capabilities.adapts_documents = flag("adapts_documents").unwrap_or(false);
        let concurrency = usize::try_from(number("max_concurrency")?).ok()?.min(MAX_CONCURRENCY);
        let hints = ReadHints::new(concurrency, number("coalesce_gap")?.min(MAX_COALESCE_GAP));
        let location = members.get("location")?.as_str()?.to_owned();
        Some(Self { location, capabilities, hints, caches_values: flag("caches_values")? })
    }
}

/// The largest number of concurrent requests that is accepted from the other side.
const MAX_CONCURRENCY: usize = 4096;

/// The largest gap between byte ranges that is accepted from the other side, in bytes.
const MAX_COALESCE_GAP: u64 = 64 << 20;

/// The longest version that is accepted from the other side, in bytes.
const MAX_VERSION: usize = 256;

/// A store of the other side of the ABI.
#[derive(Debug)]
pub(super) struct ForeignStore {
    pub(super) instance: Instance<StoreVtable>,
    origin: Arc<str>,
    pub(super) description: Description,
}

pub(super) fn lend_key(key: &Key) -> Str {
    lend(key.as_str().as_bytes())
}

pub(super) fn get_flags(options: GetOptions) -> u32 {
    let uncached = if options.may_cache { 0 } else { abi::GET_UNCACHED };
    uncached | if options.for_update { abi::GET_FOR_UPDATE } else { 0 }
}

/// The name of an operation in messages, and the description of a store that does not support it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation(&'static str, &'static str);

pub(super) const READING: Operation = Operation("reading", "not readable");
const WRITING: Operation = Operation("writing", "not writeable");
pub(super) const LISTING: Operation = Operation("listing", "not listable");
const ERASING: Operation = Operation("erasing", "not erasable");
const WRITING_IF: Operation = Operation("writing", "not conditional");
const ERASING_IF: Operation = Operation("erasing", "not conditional");
const COMMITTING: Operation = Operation("committing", "not writeable");
const LOCKING: Operation = Operation("locking", "not lockable");

/// Memory for [`abi::GetResult`].
pub(super) struct ResultMemory {
    result: abi::GetResult,
    version: [u8; MAX_VERSION],
}

impl ResultMemory {
    pub(super) const EMPTY: Self = Self {
        result: abi::GetResult {
            struct_size: size_of::<abi::GetResult>(),
            found: 0,
            reserved: 0,
            size: 0,
            version: std::ptr::null_mut(),
            version_capacity: MAX_VERSION,
            version_len: 0,
        },
        version: [0; MAX_VERSION],
    };

    /// Lends the memory to the other side for a call.
    pub(super) fn lend(&mut self) -> *mut abi::GetResult {
        self.result.version = self.version.as_mut_ptr();
        &raw mut self.result
    }

    /// Returns the size and the version of the value. Fails if `written`, the number of bytes that the call wrote, is
    /// not the number of bytes of the value in `range`.
    pub(super) fn found(
        &self,
        range: ByteRange,
        written: usize,
    ) -> Result<Option<(u64, Option<Version>)>, Failure> {
        let size = self.result.size;
        let part = if self.result.found == 0 { 0..0 } else { range.within(size) };
        let expected = part.end - part.start;
        if expected != written as u64 {
            return Err(Failure::broken(format!(
                "it returned {written} bytes of a value of {size} bytes, expected {expected}"
            )));
        }
        Ok((self.result.found != 0).then(|| (size, self.version())))
    }

    /// Returns the version that the call has written.
    fn version(&self) -> Option<Version> {
        let version = self.version.get(..self.result.version_len).filter(|version| !version.is_empty());
        version.map(Version::new)
    }
}

/// A lock in a store of the other side of the ABI.
struct ForeignLock {
    held: *mut c_void,
    unlock: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: the ABI allows any thread to release a lock, and this side only releases it.
unsafe impl Send for ForeignLock {}
// SAFETY: a shared reference to a `ForeignLock` gives access to nothing.
unsafe impl Sync for ForeignLock {}

impl Drop for ForeignLock {
    fn drop(&mut self) {
        // SAFETY: a function of the store, called once with a lock that it returned.
        unsafe { (self.unlock)(self.held) }
    }
}

impl ForeignStore {
    fn check(&self, is_supported: bool, operation: Operation) -> StoreResult<()> {
        if is_supported { Ok(()) } else { Err(self.not_supported(operation)) }
    }

    fn not_supported(&self, operation: Operation) -> StoreError {
        StoreError::NotSupported { store: self.location(), quality: operation.1 }
    }

    /// Returns the error of a failed call. `limit` is the number of bytes that the caller accepts.
    pub(super) fn error(
        &self,
        failure: &Failure,
        operation: Operation,
        place: &str,
        limit: usize,
    ) -> StoreError {
        let message = said_by(&self.origin, failure);
        let place = place.to_owned();
        match failure.status {
            abi::UNSUPPORTED => self.not_supported(operation),
            abi::INVALID_KEY => KeyError::new(place, "key", message).into(),
            abi::BAD_CONFIGURATION => Invalid::new(message).into(),
            abi::LIMIT_EXCEEDED => StoreError::TooLarge { key: place, source: LimitExceeded { limit } },
            status => {
                StoreError::io(operation.0, place, message).with_kind(kind_of(status).unwrap_or_default())
            }
        }
    }

    /// Returns the result of a call that does not return bytes.
    pub(super) fn done(
        &self,
        called: Result<(), Failure>,
        operation: Operation,
        place: &str,
    ) -> StoreResult<()> {
        called.map_err(|failure| self.error(&failure, operation, place, 0))
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for ForeignStore {
    fn location(&self) -> String {
        self.description.location.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.description.capabilities
    }

    fn read_hints(&self) -> ReadHints {
        self.description.hints
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        self.check(self.description.capabilities.readable, READING)?;
        let limit = to.remaining();
        let mut memory = ResultMemory::EMPTY;
        let shown = range_shown(options.range);
        let flags = get_flags(options);
        let result = memory.lend();
        let called =
            lend_output(to, |output| call!(self.instance, get(lend_key(key), &shown, flags, output, result)));
        let found = called.and_then(|()| memory.found(options.range, limit - to.remaining()));
        let found = found.and_then(|found| match found {
            Some((_, None)) if options.for_update && self.description.capabilities.conditional_set => {
                Err(Failure::broken("it returned no version of a value that is read for an update"))
            }
            found => Ok(found),
        });
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
            Ok(None) => get_each(self, requests),
            Err(failure) => Box::new(requests.into_iter().enumerate().map(move |(number, request)| {
                (number, Err(self.error(&failure, READING, request.key.as_str(), request.limit)))
            })),
        }
    }

    /// Returns `None`: a host and a plugin do not share decoded chunks. A store that wraps this one may cache them.
    fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
        None
    }

    fn caches_values(&self) -> bool {
        self.description.caches_values
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        self.check(self.description.capabilities.writeable, WRITING)?;
        self.done(call!(self.instance, set(lend_key(key), lend(&value))), WRITING, key.as_str())
    }

    fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
        self.check(self.description.capabilities.conditional_set, WRITING_IF)?;
        let version = match condition {
            Condition::Missing => None,
            Condition::Unchanged(version) => Some(lend(version.bytes())),
        };
        let version = version.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let mut memory = ResultMemory::EMPTY;
        let result = memory.lend();
        let mut conflict = 0;
        let called =
            call!(self.instance, set_if(lend_key(key), lend(&value), version, result, &mut conflict));
        self.done(called, WRITING_IF, key.as_str())?;
        Ok(match conflict {
            0 => ConditionalWrite::Done(memory.version()),
            _ => ConditionalWrite::Conflict,
        })
    }

    fn lock(&self, key: &Key) -> StoreResult<Option<StoreLock>> {
        let Some(unlock) = self.instance.vtable.unlock.filter(|_| self.instance.vtable.lock.is_some()) else {
            return Ok(None);
        };
        let mut held = std::ptr::null_mut();
        self.done(call!(self.instance, lock(lend_key(key), &mut held)), LOCKING, key.as_str())?;
        Ok((!held.is_null()).then(|| Box::new(ForeignLock { held, unlock }) as StoreLock))
    }

    fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        self.check(self.description.capabilities.conditional_erase, ERASING_IF)?;
        let mut conflict = 0;
        let called = call!(self.instance, erase_if(lend_key(key), lend(version.bytes()), &mut conflict));
        self.done(called, ERASING_IF, key.as_str())?;
        Ok(if conflict == 0 { ConditionalWrite::Done(None) } else { ConditionalWrite::Conflict })
    }

    fn array_document(&self, key: &Key, document: &Value) -> StoreResult<Option<Value>> {
        if !self.description.capabilities.adapts_documents {
            return Ok(None);
        }
        let document = document.to_string();
        let adapted = fetch!(self.instance, array_document(lend_key(key), lend(document.as_bytes())));
        let adapted = adapted.and_then(|adapted| match &adapted[..] {
            [] => Ok(None),
            adapted => parse(adapted).map(Some),
        });
        adapted.map_err(|failure| self.error(&failure, WRITING, key.as_str(), 0))
    }

    fn commit(&self) -> StoreResult<()> {
        if self.instance.vtable.commit.is_none() {
            return Ok(());
        }
        self.done(call!(self.instance, commit()), COMMITTING, &self.description.location)
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
        self.check(self.description.capabilities.writeable, WRITING)?;
        if self.instance.vtable.set_partial_values.is_none() {
            return rewrite_values(self, values);
        }
        let shown = |(key, offset, bytes): &(Key, u64, &[u8])| PartialValue {
            key: lend_key(key),
            offset: *offset,
            bytes: lend(bytes),
        };
        let shown: Vec<PartialValue> = values.iter().map(shown).collect();
        let place = values.first().map_or("", |(key, ..)| key.as_str());
        self.done(call!(self.instance, set_partial_values(shown.as_ptr(), shown.len())), WRITING, place)
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.check(self.description.capabilities.erasable, ERASING)?;
        self.done(call!(self.instance, erase(lend_key(key))), ERASING, key.as_str())
    }

    fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
        self.check(self.description.capabilities.erasable, ERASING)?;
        if self.instance.vtable.erase_values.is_none() {
            return keys.iter().try_for_each(|key| self.erase(key));
        }
        let shown: Vec<Str> = keys.iter().map(lend_key).collect();
        let called = call!(self.instance, erase_values(shown.as_ptr(), shown.len()));
        self.done(called, ERASING, keys.first().map_or("", Key::as_str))
    }

    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        self.check(self.description.capabilities.erasable, ERASING)?;
        if self.instance.vtable.erase_prefix.is_none() {
            return erase_listed(self, prefix);
        }
        let called = call!(self.instance, erase_prefix(lend(prefix.as_str().as_bytes())));
        self.done(called, ERASING, prefix.as_str())
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        self.check(self.description.capabilities.listable, LISTING)?;
        Ok(Box::new(Listing::begin(self, prefix)?))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        self.check(self.description.capabilities.listable, LISTING)?;
        match self.instance.vtable.list_dir {
            Some(_) => list_dir(self, prefix),
            None => directory(prefix, self.list_prefix(prefix)?),
        }
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        self.check(self.description.capabilities.readable, READING)?;
        if self.instance.vtable.size.is_none() {
            let nothing = ByteRange::Range { offset: 0, size: 0 };
            let found = self.get(key, GetOptions::uncached(nothing), &mut Output::at_most(0))?;
            return Ok(found.map(|found| found.size));
        }
        let mut bytes = 0;
        let mut found = 0;
        let called = call!(self.instance, size(lend_key(key), &mut bytes, &mut found));
        self.done(called, READING, key.as_str())?;
        Ok((found != 0).then_some(bytes))
    }
}
