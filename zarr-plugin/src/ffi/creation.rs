//! The input of the functions that create extensions.

use std::ffi::c_void;

use zarr_spec::{Creation, Format, Mode, Reading, Registry, Resolve, Value};

use super::lookup::{show_registry, with_lookup};
use super::{Failure, borrowed, borrowed_text, contained, lend, parse, read};
use crate::abi;

/// Returns the number of a format.
#[must_use]
pub fn format_number(format: Format) -> u32 {
    match format {
        Format::V2 => abi::FORMAT_V2,
        Format::V3Draft => abi::FORMAT_V3_DRAFT,
        Format::V3 => abi::FORMAT_V3,
    }
}

pub(crate) fn format_of(number: u32) -> Result<Format, Failure> {
    match number {
        abi::FORMAT_V2 => Ok(Format::V2),
        abi::FORMAT_V3_DRAFT => Ok(Format::V3Draft),
        abi::FORMAT_V3 => Ok(Format::V3),
        _ => Err(Failure::new(abi::UNSUPPORTED, format!("unknown format {number}"))),
    }
}

/// Returns the number of a reading mode.
#[must_use]
pub fn mode_number(mode: Mode) -> u32 {
    match mode {
        Mode::Strict => abi::MODE_STRICT,
        Mode::Lenient => abi::MODE_LENIENT,
        Mode::Compatibility => abi::MODE_COMPATIBILITY,
    }
}

/// Converts the number of a mode. An unknown mode is strict, which accepts the least.
pub(crate) fn mode_of(number: u32) -> Mode {
    match number {
        abi::MODE_LENIENT => Mode::Lenient,
        abi::MODE_COMPATIBILITY => Mode::Compatibility,
        _ => Mode::Strict,
    }
}

/// Lends `creation` and its registry to the other side during `call`.
pub(crate) fn show_creation<R>(creation: &Creation<'_>, call: impl FnOnce(*const abi::Creation) -> R) -> R {
    show_registry(creation.registry, |lookup| show(creation, lookup, call))
}

/// Lends `creation` to the other side during `call`, without its registry.
pub(crate) fn show_entry<R>(creation: &Creation<'_>, call: impl FnOnce(*const abi::Creation) -> R) -> R {
    show(creation, std::ptr::null(), call)
}

/// Lends the reading mode, without an entry to create.
pub(crate) fn show_reading<R>(
    format: Format,
    reading: &Reading,
    call: impl FnOnce(*const abi::Creation) -> R,
) -> R {
    let registry = &Registry::empty();
    let identifier = "";
    let configuration = &Value::Null;
    show_entry(&Creation::new(identifier, configuration, format, registry, reading), call)
}

fn show<R>(
    creation: &Creation<'_>,
    lookup: *const abi::Lookup,
    call: impl FnOnce(*const abi::Creation) -> R,
) -> R {
    let configuration = creation.configuration.to_string();
    let type_name = creation.type_name.unwrap_or(&Value::Null).to_string();
    let shown = abi::Creation {
        struct_size: size_of::<abi::Creation>(),
        format: format_number(creation.format),
        mode: mode_number(creation.reading.mode()),
        identifier: lend(creation.identifier.as_bytes()),
        configuration_json: lend(configuration.as_bytes()),
        type_name_json: lend(type_name.as_bytes()),
        document_size: creation.reading.document_size(),
        warn: Some(warn),
        warn_context: std::ptr::from_ref(creation.reading).cast_mut().cast(),
        lookup,
    };
    call(&shown)
}

/// Implements `warn` of a creation that [`show_creation`] lends.
unsafe extern "C" fn warn(context: *mut c_void, message: abi::Str) {
    contained(|| {
        // SAFETY: the other side calls `warn` during the call that lends the `Reading`, to which the context points.
        let (reading, message) = unsafe { (&*context.cast::<Reading>(), borrowed(message)) };
        reading.warn(String::from_utf8_lossy(message));
    });
}

/// Runs `body` with the creation that the other side lends, and reports warnings to the other side. Extensions that
/// `registry` does not have are looked up in the other side.
///
/// # Safety
///
/// The other side lends `shown` for this call.
pub(crate) unsafe fn with_creation<R>(
    shown: *const abi::Creation,
    registry: &Registry,
    body: impl FnOnce(&Creation<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: as this function requires.
    unsafe { with_lookup(read(shown)?.lookup, registry, |registry| with_entry(shown, registry, body)) }
}

/// Runs `body` like [`with_creation`], without lookups in the other side.
///
/// # Safety
///
/// The other side lends `shown` for this call.
pub(crate) unsafe fn with_entry<R>(
    shown: *const abi::Creation,
    registry: &dyn Resolve,
    body: impl FnOnce(&Creation<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: as this function requires.
    let shown = unsafe { read(shown) }?;
    // SAFETY: the texts live as long as the call.
    let (identifier, configuration, type_name) = unsafe {
        (
            borrowed_text(shown.identifier)?,
            or_null(borrowed(shown.configuration_json))?,
            or_null(borrowed(shown.type_name_json))?,
        )
    };
    let reading = Reading::new(mode_of(shown.mode)).with_document_size(shown.document_size);
    let result = body(
        &Creation::new(identifier, &configuration, format_of(shown.format)?, registry, &reading)
            .with_type_name((!type_name.is_null()).then_some(&type_name)),
    );
    if let Some(warn) = shown.warn {
        for warning in reading.take_warnings() {
            // SAFETY: a function of the other side, called with its context during the call.
            unsafe { warn(shown.warn_context, lend(warning.as_bytes())) };
        }
    }
    result
}

/// Parses JSON. An empty text is `null`.
fn or_null(json: &[u8]) -> Result<Value, Failure> {
    if json.is_empty() { Ok(Value::Null) } else { parse(json) }
}
