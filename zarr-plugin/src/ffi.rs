//! Both sides of the C ABI. All `unsafe` code of this crate is in this module.
//!
//! Each side trusts the other to follow the header: pointers have the documented targets, and functions access
//! only the memory that they are given. It does not trust numbers: lengths are checked against the lent memory,
//! and a struct is read no further than its declared size.

#![expect(unsafe_code, reason = "this module implements the C ABI")]
#![cfg_attr(
    not(all(feature = "host", target_os = "linux")),
    allow(dead_code, reason = "one half is used only by programs that load plugins")
)]

/// Defines functions of the ABI. Each returns a status; a failure or a panic also leaves a message in `err`,
/// the last parameter of each.
///
/// # Safety
///
/// The caller follows the header: every pointer is valid for this call and has the documented size, and lent
/// memory lives as long as the call and is not written by others. This library created `this` and it is not
/// released. This library passed `context` to the caller together with the function.
macro_rules! callbacks {
    ($($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$attribute])*
        $visibility unsafe extern "C" fn $name($($argument: $type,)* err: *mut $crate::abi::Buf) -> i32 {
            // SAFETY: the contract of `callbacks`.
            unsafe { $crate::ffi::guarded(err, || $body) }
        }
    )*};
}

pub(crate) mod array;
pub(crate) mod byte_order;
pub(crate) mod creation;
pub(crate) mod description;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod io_status;
pub(crate) mod lookup;
pub(crate) mod output;
pub(crate) mod publish;

#[cfg(all(feature = "host", target_os = "linux"))]
pub(crate) mod library;
#[cfg(all(feature = "host", target_os = "linux"))]
pub(crate) mod system;
#[cfg(all(test, feature = "host", target_os = "linux"))]
mod tests;

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use zarr_json::{Limits, ParseOptions};
use zarr_spec::Value;

pub(crate) use crate::failure::Failure;

use crate::abi::{self, Buf, Str};

/// The longest text or document that is accepted from the other side, in bytes.
const MAX_TEXT: usize = 64 << 20;

/// The direction of a codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Encode,
    Decode,
}

/// Runs the body of a callback. A panic or a failure becomes a status and a text in `err`.
///
/// # Safety
///
/// `err` is NULL or writable, and holds nothing that has to be released.
pub(crate) unsafe fn guarded(err: *mut Buf, body: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return abi::OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let failure = Failure::new(abi::PANICKED, text.unwrap_or("panicked").to_owned());
            // The payload of the panic may panic when it is dropped.
            std::mem::forget(panic);
            failure
        }
    };
    // SAFETY: as this function requires.
    unsafe { put(err, failure.message.into_bytes()) };
    if failure.status == Failure::BROKEN { abi::INTERNAL } else { failure.status }
}

/// Runs code that must not unwind and cannot report a failure.
pub(crate) fn contained(body: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
        std::mem::forget(panic);
    }
}

/// Fills `to`, unless it is NULL.
///
/// # Safety
///
/// `to` is NULL or writable, and holds nothing that has to be released.
pub(crate) unsafe fn put(to: *mut Buf, bytes: Vec<u8>) {
    if !to.is_null() {
        // SAFETY: `to` is not NULL, so it is writable.
        unsafe { to.write(lend_out(bytes)) };
    }
}

/// An empty buffer.
pub(crate) const EMPTY: Buf =
    Buf { ptr: std::ptr::null_mut(), len: 0, owner: std::ptr::null_mut(), release: None };

fn lend_out(bytes: Vec<u8>) -> Buf {
    let owner = Box::into_raw(Box::new(bytes));
    // SAFETY: `owner` comes from `Box::into_raw`, and no other code uses it yet.
    let bytes = unsafe { &mut *owner };
    Buf { ptr: bytes.as_mut_ptr(), len: bytes.len(), owner: owner.cast(), release: Some(release) }
}

/// Frees a buffer of [`lend_out`].
unsafe extern "C" fn release(this: *mut Buf) {
    // SAFETY: the other side calls `release` once, with a buffer that `lend_out` filled.
    unsafe {
        drop(Box::from_raw((*this).owner.cast::<Vec<u8>>()));
        (*this).owner = std::ptr::null_mut();
        (*this).release = None;
    }
}

/// Copies a buffer that the other side filled, and releases it.
///
/// # Safety
///
/// The other side filled `from`, or it is [`EMPTY`].
pub(crate) unsafe fn take(from: &mut Buf) -> Result<Vec<u8>, Failure> {
    let taken = if from.len > MAX_TEXT {
        Err(Failure::broken(format!("it returned a text of {} bytes", from.len)))
    } else if from.ptr.is_null() {
        match from.len {
            0 => Ok(Vec::new()),
            len => Err(Failure::broken(format!("it returned {len} bytes at NULL"))),
        }
    } else {
        // SAFETY: the other side filled `len` bytes, and `len` is at most `MAX_TEXT`.
        Ok(unsafe { std::slice::from_raw_parts(from.ptr, from.len) }.to_vec())
    };
    if let Some(release) = from.release {
        // SAFETY: the other side filled `from`, and it is not used again.
        unsafe { release(from) };
    }
    *from = EMPTY;
    taken
}

/// Copies and releases a buffer like [`take`], and parses it as JSON.
///
/// # Safety
///
/// As [`take`].
pub(crate) unsafe fn take_json(from: &mut Buf) -> Result<Value, Failure> {
    // SAFETY: as this function requires.
    parse(&unsafe { take(from) }?)
}

pub(crate) fn as_text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::broken("it returned a text that is not UTF-8"))
}

/// Parses JSON of the other side of the ABI, which may contain bare NaN and infinities.
///
/// # Errors
///
/// [`Failure::BROKEN`] if it is not JSON, or too long.
pub fn parse(bytes: &[u8]) -> Result<Value, Failure> {
    let options =
        ParseOptions { limits: Limits { bytes: MAX_TEXT, ..Limits::default() }, bare_non_finite: true };
    match zarr_json::parse(bytes, &options) {
        Ok(parsed) => Ok(parsed.value),
        Err(error) => Err(Failure::broken(format!("invalid JSON from the other side: {error}"))),
    }
}

/// Converts the status of a call to a result. The message of a failure is the text in `err`.
///
/// # Safety
///
/// The call filled `err`.
pub(crate) unsafe fn outcome(status: i32, err: &mut Buf) -> Result<(), Failure> {
    // The text must be released even if the call succeeded.
    // SAFETY: as this function requires.
    let text = unsafe { take(err) }.map(|text| String::from_utf8_lossy(&text).into_owned());
    if status == abi::OK {
        return Ok(());
    }
    let text = match text {
        Ok(text) => text,
        Err(failure) => return Err(Failure::broken(failure.message)),
    };
    let status = if status == Failure::BROKEN { abi::INTERNAL } else { status };
    Err(Failure::new(status, if text.is_empty() { "it gives no reason".to_owned() } else { text }))
}

pub(crate) fn lend(bytes: &[u8]) -> Str {
    Str { ptr: bytes.as_ptr(), len: bytes.len() }
}

/// Returns bytes that the other side lends.
///
/// # Safety
///
/// The bytes live as long as `'a`.
pub(crate) unsafe fn borrowed<'a>(text: Str) -> &'a [u8] {
    if text.ptr.is_null() || text.len == 0 {
        return &[];
    }
    // SAFETY: as this function requires.
    unsafe { std::slice::from_raw_parts(text.ptr, text.len) }
}

/// Returns a text that the other side lends.
///
/// # Safety
///
/// As [`borrowed`].
pub(crate) unsafe fn borrowed_text<'a>(text: Str) -> Result<&'a str, Failure> {
    // SAFETY: as this function requires.
    std::str::from_utf8(unsafe { borrowed(text) })
        .map_err(|_| Failure::broken("a text from the other side is not UTF-8"))
}

/// Returns `len` items that the other side lends.
///
/// # Safety
///
/// As [`borrowed`].
pub(crate) unsafe fn borrowed_items<'a, T>(items: *const T, len: usize) -> &'a [T] {
    if items.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: as this function requires.
    unsafe { std::slice::from_raw_parts(items, len) }
}

/// A struct of the ABI that begins with its size.
///
/// # Safety
///
/// The struct is `repr(C)`, its first member is `struct_size: usize`, and all zeros are a valid value.
pub(crate) unsafe trait Growing: Copy {}

macro_rules! sized {
    ($($name:ident),*) => {$(
        // SAFETY: the struct is `repr(C)`, begins with `struct_size`, and has only integers, pointers and optional
        // functions.
        unsafe impl Growing for abi::$name {}
    )*};
}

sized!(
    Output,
    Array,
    Creation,
    Lookup,
    Representation,
    Call,
    Chains,
    CodecInstance,
    EncodedSubset,
    CodecVtable,
    DataTypeVtable,
    ChunkGridVtable,
    ChunkKeyEncodingVtable,
    MetadataEncodingVtable,
    ExtensionVtable,
    StorageTransformerVtable,
    GetResult,
    ListSink,
    StoreVtable,
    Item,
    Plugin,
    Host
);

/// Reads a struct of the other side. Members beyond its declared size are zero.
///
/// # Safety
///
/// `from` is NULL, or points to memory whose size in bytes is the first member.
pub(crate) unsafe fn read<T: Growing>(from: *const T) -> Result<T, Failure> {
    if from.is_null() {
        return Err(Failure::broken("a struct is NULL"));
    }
    // SAFETY: the first member is always there.
    let size = unsafe { from.cast::<usize>().read() };
    if size < size_of::<usize>() {
        return Err(Failure::broken(format!("the declared size of a struct is {size} bytes")));
    }
    let mut read = MaybeUninit::<T>::zeroed();
    // SAFETY: both structs have the copied number of bytes. Members are integers, pointers and optional functions, for
    // which zeros are valid.
    unsafe {
        std::ptr::copy_nonoverlapping(
            from.cast::<u8>(),
            read.as_mut_ptr().cast::<u8>(),
            size.min(size_of::<T>()),
        );
        Ok(read.assume_init())
    }
}

/// Fills a struct of the other side up to its declared size.
///
/// # Safety
///
/// `to` points to memory whose size in bytes is the first member.
pub(crate) unsafe fn fill<T: Growing>(to: *mut T, with: T) {
    let head = size_of::<usize>();
    // SAFETY: both structs have the copied number of bytes. The declared size is not overwritten.
    unsafe {
        let size = to.cast::<usize>().read().min(size_of::<T>()).max(head);
        let from = (&raw const with).cast::<u8>();
        std::ptr::copy_nonoverlapping(from.add(head), to.cast::<u8>().add(head), size - head);
    }
}

/// An object of the other side of the ABI, and its functions.
#[derive(Debug)]
pub(crate) struct Instance<V> {
    pub(crate) vtable: V,
    this: *mut c_void,
    destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    panicked: AtomicBool,
}

// SAFETY: the ABI allows several threads to call functions of `this` at the same time, and any thread to call
// `destroy`.
unsafe impl<V: Send> Send for Instance<V> {}
// SAFETY: as for `Send`.
unsafe impl<V: Sync> Sync for Instance<V> {}

impl<V> Instance<V> {
    /// Takes ownership of `this`.
    ///
    /// # Safety
    ///
    /// The plugin of `vtable` created `this`, and no other owner destroys it.
    pub(crate) unsafe fn new(
        vtable: V,
        this: *mut c_void,
        destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> Self {
        Self { vtable, this, destroy, panicked: AtomicBool::new(false) }
    }

    /// Calls a function of the object, unless an earlier call panicked.
    pub(crate) fn call(
        &self,
        call: impl FnOnce(&V, *const c_void, *mut Buf) -> Result<i32, Failure>,
    ) -> Result<(), Failure> {
        if self.panicked.load(Ordering::Relaxed) {
            return Err(Failure::new(abi::PANICKED, "it panicked before and is not used again"));
        }
        let mut err = EMPTY;
        let status = call(&self.vtable, self.this, &mut err)?;
        if status == abi::PANICKED {
            self.panicked.store(true, Ordering::Relaxed);
        }
        // SAFETY: the call filled `err`.
        unsafe { outcome(status, &mut err) }
    }
}

impl<V> Drop for Instance<V> {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy.filter(|_| !self.this.is_null()) {
            // SAFETY: this instance owns `this`, as `new` requires.
            unsafe { destroy(self.this) };
        }
    }
}

/// Returns a function, or a failure if it is missing.
pub(crate) fn required<F>(function: Option<F>, name: &str) -> Result<F, Failure> {
    function.ok_or_else(|| Failure::broken(format!("it has no function `{name}`")))
}
