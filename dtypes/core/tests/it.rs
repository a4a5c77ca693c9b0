//! Core data types: fill values with bytes from other sources, documents, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

#[path = "it/complex.rs"]
mod complex;
#[path = "it/document.rs"]
mod document;
#[path = "it/draft.rs"]
mod draft;
#[path = "it/float.rs"]
mod float;
#[path = "it/integer.rs"]
mod integer;
#[path = "it/raw.rs"]
mod raw;
#[path = "it/v2.rs"]
mod v2;
#[path = "it/vectors.rs"]
mod vectors;

use zarr_conformance::data_types::Subject;
use zarr_dtype_core as _;
use zarr_spec::{DataTypeError, Format, Mode, Registry};

/// Returns the data type that an array of `format` declares as `json`.
fn subject(format: Format, mode: Mode, json: &str) -> Result<Subject, DataTypeError> {
    Subject::new(&Registry::linked().unwrap(), format, mode, json)
}

/// Returns a type of v3, read strictly.
fn strict(name: &str) -> Subject {
    subject(Format::V3, Mode::Strict, &format!("\"{name}\"")).unwrap()
}

/// Returns a type of v3, read leniently.
fn lenient(name: &str) -> Subject {
    subject(Format::V3, Mode::Lenient, &format!("\"{name}\"")).unwrap()
}

/// Returns the bit pattern of a fill value, most significant digit first.
fn pattern(subject: &Subject, fill: &str) -> String {
    let mut bytes = subject.fill(fill).unwrap_or_else(|error| panic!("{fill}: {error}"));
    if cfg!(target_endian = "little") {
        bytes.reverse();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks that every fill value is refused.
fn refuses(subject: &Subject, fills: &[&str]) {
    for fill in fills {
        let result = subject.fill(fill);
        assert!(
            matches!(result, Err(DataTypeError::FillValue(_))),
            "{fill} for {}: {result:?}",
            subject.data_type.name()
        );
    }
}

/// Checks that every fill value is read with a warning.
fn warns(subject: &Subject, fills: &[(&str, &str)]) {
    for (fill, same_as) in fills {
        let (bytes, warnings) = subject.fill_and_warnings(fill).unwrap();
        assert_eq!(bytes, subject.fill(same_as).unwrap(), "{fill}");
        assert_eq!(warnings.len(), 1, "{fill}: {warnings:?}");
    }
}
