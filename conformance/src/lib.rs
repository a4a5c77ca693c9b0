//! What plugins of the Zarr framework are tested with.
//!
//! A plugin crate has no other plugin to test itself with: [`types`] stands in for data types, and [`registry`]
//! knows those and whatever is added to it. [`suite`] holds every kind of plugin to its rules; [`codecs`] and [`stores`] are
//! for tests that hold a single one to some of them. With the feature `proptest`, `strategies` makes up chunks, documents and
//! selections.

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

/// An array of `shape` whose elements are `number`, with fill value zero.
#[must_use]
pub fn array(shape: &[u64], number: Number) -> ArrayRepresentation {
    ArrayRepresentation {
        shape: shape.to_vec(),
        fill_value: FillValue::zero(number.size()),
        data_type: std::sync::Arc::new(number),
        byte_order: ByteOrder::Little,
    }
}

/// Knows the numbers of [`types`] by their names in v2 (`i4`), in the draft and in v3 (`int32`).
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

/// Calls `with` with what a plugin is created from, for a configuration as JSON text; the empty text is none.
///
/// # Panics
///
/// If the text is no JSON.
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
    with(&Creation {
        format,
        identifier,
        configuration: &configuration,
        type_name: None,
        registry: &registry,
        reading: &reading,
    })
}

/// Elements of variable size as they lie in memory: where they end, from 0 on, and then the elements.
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

/// Elements in the machine's byte order, from the digits of those that are stored in another one. `unit` is how many bytes
/// of them are a number.
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

/// The bytes that hexadecimal digits stand for; white space between them is nothing.
///
/// # Panics
///
/// If there is anything else, or half a byte.
#[must_use]
#[expect(clippy::expect_used, reason = "the text is part of a test")]
pub fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "half a byte in {digits:?}");
    let value = |digit: u8| char::from(digit).to_digit(16).expect("a hexadecimal digit");
    let byte = |pair: &[u8]| u8::try_from(value(pair[0]) * 16 + value(pair[1])).expect("two digits");
    digits.chunks(2).map(byte).collect()
}
