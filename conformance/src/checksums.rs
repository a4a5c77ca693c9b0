//! Checks of the numcodecs checksums whose `location` places the checksum before or after the bytes.

#![expect(clippy::unwrap_used, reason = "a failure fails the calling test")]

use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

use crate::hex;
use crate::linked::{create, translate};

const BYTES: Representation = Representation::Bytes(Size::Exact(9));

/// Returns the stored form: the bytes with the checksum before or after them.
///
/// # Panics
///
/// If no such checksum exists.
#[must_use]
pub fn stored(format: Format, name: &str, configuration: &str, bytes: &[u8]) -> Vec<u8> {
    let codec = create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec;
    let Codec::Checksum(codec) = codec else { panic!("`{name}` is of another kind") };
    let mut checksum = vec![0; codec.size()];
    codec.checksum(bytes, &mut checksum).unwrap();
    if codec.at_start() { [&checksum[..], bytes].concat() } else { [bytes, &checksum].concat() }
}

/// Checks the stored form of several byte strings. Each pair of `written` has hexadecimal digits: the bytes, and the
/// stored form with a checksum of four bytes at the start.
///
/// # Panics
///
/// If the codec writes another stored form at the start or at the end.
pub fn check_written(names: &[(Format, &str)], written: &[(&str, &str)]) {
    for (bytes, at_start) in written {
        let bytes = hex(bytes);
        let at_start = hex(at_start);
        let at_end = [&bytes[..], &at_start[..4]].concat();
        for &(format, name) in names {
            for default in ["", "{}", r#"{"location":"start"}"#] {
                assert_eq!(stored(format, name, default, &bytes), at_start, "{name}");
            }
            assert_eq!(stored(format, name, r#"{"location":"end"}"#, &bytes), at_end, "{name}");
        }
    }
}

/// Checks that `location` is the only configuration member and that it translates between all formats.
///
/// # Panics
///
/// If the codec accepts an invalid configuration or translates one incorrectly.
pub fn check_configurations(names: &[(Format, &str)]) {
    for &(from, name) in names {
        for wrong in [r#"{"location":"middle"}"#, r#"{"location":1}"#, r#"{"level":1}"#, "[]"] {
            let result = create(from, name, wrong, Mode::Strict, &BYTES);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
        for &(to, other) in names {
            for location in [r#"{"location":"start"}"#, r#"{"location":"end"}"#] {
                let translated = translate(from, name, location, &BYTES, to).unwrap();
                assert_eq!(translated, (Some(other), location.to_owned()));
            }
            assert_eq!(translate(from, name, "", &BYTES, to).unwrap().1, r#"{"location":"start"}"#);
        }
    }
}
