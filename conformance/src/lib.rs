//! The conformance suite for Zarr plugins.
//!
//! [`suite`] tests every kind of plugin against the rules of its kind. [`codecs`], [`data_types`] and [`stores`] have
//! single checks for a plugin's own tests.
//!
//! A plugin crate does not depend on other plugins. [`types`] has the data types that its tests need, and
//! [`registry`] returns a registry with them. The feature `proptest` adds `strategies`, which generate chunks,
//! documents and selections.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod chains;
pub mod checksums;
mod child;
pub mod codecs;
pub mod data_types;
pub mod formats;
pub mod fuzz;
pub mod linked;
pub mod schema;
pub mod stores;
#[cfg(feature = "proptest")]
pub mod strategies;
pub mod suite;
pub mod types;

use zarr_spec::{
    ArrayRepresentation, ByteOrder, Creation, FillValue, Format, Mode, Reading, Registry, Value,
};

use types::Number;

/// Returns an array of `shape` whose elements are `number`, with fill value zero.
#[must_use]
pub fn array(shape: &[u64], number: Number) -> ArrayRepresentation {
    ArrayRepresentation::new(shape.to_vec(), std::sync::Arc::new(number), FillValue::zero(number.size()))
}

/// Returns a registry with the numbers of [`types`] under their names in v2 (`i4`), the draft and v3 (`int32`).
///
/// # Panics
///
/// Never: the names are all different.
#[must_use]
#[expect(clippy::expect_used, reason = "the names are all different")]
pub fn registry() -> Registry {
    let mut registry = Registry::empty();
    for &plugin in types::PLUGINS {
        registry.register(plugin).expect("the names are all different");
    }
    registry
}

/// Calls `with` with the input that creates a plugin. `configuration` is JSON text; an empty string means no
/// configuration.
///
/// # Panics
///
/// If the text is not JSON.
#[expect(clippy::expect_used, reason = "the text is part of a test")]
pub fn creation<R>(
    format: Format,
    identifier: &str,
    configuration: &str,
    mode: Mode,
    with: impl FnOnce(&Creation<'_>) -> R,
) -> R {
    let configuration = match configuration {
        "" => Value::Null,
        text => {
            zarr_json::parse(text.as_bytes(), &zarr_json::ParseOptions::default())
                .expect("the text is JSON")
                .value
        }
    };
    let registry = registry();
    let reading = Reading::new(mode);
    with(&Creation::new(identifier, &configuration, format, &registry, &reading))
}

/// Returns elements of variable size in their layout in memory: the offsets, starting with 0, followed by the bytes
/// of the elements.
#[must_use]
pub fn items<T: AsRef<[u8]>>(items: &[T]) -> Vec<u8> {
    let mut offsets = 0_u64.to_ne_bytes().to_vec();
    let mut payload = Vec::new();
    for item in items {
        payload.extend_from_slice(item.as_ref());
        offsets.extend_from_slice(&(payload.len() as u64).to_ne_bytes());
    }
    [offsets, payload].concat()
}

/// Returns elements in native byte order, given the hexadecimal digits of elements in the byte order `stored`. `unit`
/// is the size of a number in bytes.
///
/// # Panics
///
/// As [`hex`].
#[must_use]
pub fn native(digits: &str, unit: usize, stored: &ByteOrder) -> Vec<u8> {
    let mut elements = hex(digits);
    if (*stored == ByteOrder::Big) != cfg!(target_endian = "big") {
        elements.chunks_mut(unit).for_each(<[u8]>::reverse);
    }
    elements
}

/// Returns the bytes that hexadecimal digits stand for. White space is ignored.
///
/// # Panics
///
/// If the text contains another character, or an odd number of digits.
#[must_use]
#[expect(clippy::expect_used, reason = "the text is part of a test")]
pub fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "half a byte in {digits:?}");
    let value = |digit: u8| char::from(digit).to_digit(16).expect("a hexadecimal digit");
    let byte = |pair: &[u8]| u8::try_from(value(pair[0]) * 16 + value(pair[1])).expect("two digits");
    digits.chunks(2).map(byte).collect()
}
