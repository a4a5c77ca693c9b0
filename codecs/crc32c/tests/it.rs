//! `crc32c`: checksums printed in specifications or written by other programs.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_crc32c as _;
use zarr_conformance::hex;
use zarr_conformance::linked::{create, translate};
use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Exact(9));
const OWN: &str = "https://zarr-kit.example/spec/codecs/crc32c/1.0";

/// Returns the stored form: the bytes with their checksum before or after them.
fn stored(format: Format, name: &str, configuration: &str, bytes: &[u8]) -> Vec<u8> {
    let codec = create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec;
    let Codec::Checksum(codec) = codec else { panic!("of another kind") };
    let mut checksum = vec![0; codec.size()];
    codec.checksum(bytes, &mut checksum).unwrap();
    if codec.at_start() { [&checksum[..], bytes].concat() } else { [bytes, &checksum].concat() }
}

fn v3(bytes: &[u8]) -> Vec<u8> {
    stored(Format::V3, "crc32c", "", bytes)
}

/// Tests V3-CRC-01.
#[test]
fn v3_does_not_have_a_configuration() {
    for configuration in ["", "{}"] {
        let created = create(Format::V3, "crc32c", configuration, Mode::Strict, &BYTES).unwrap();
        assert!(created.warnings.is_empty());
    }
    for configuration in [r#"{"x":1}"#, r#"{"location":"end"}"#, "[]"] {
        let result = create(Format::V3, "crc32c", configuration, Mode::Lenient, &BYTES);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{configuration}: {result:?}");
    }
}

/// Tests V3-CRC-02.
#[test]
fn the_checksum_is_crc_32c_in_little_endian() {
    let printed: [(&[u8], &str); 4] = [
        (b"123456789", "839206e3"),
        (b"", "00000000"),
        (&[0xff; 64], "664ecd2f"),
        (&[0, 3, 1, 4, 2, 5], "2ee6364e"),
    ];
    for (bytes, checksum) in printed {
        assert_eq!(v3(bytes), [bytes, &hex(checksum)].concat());
    }
    let big_endian = hex("e3069283");
    let of_zlib = hex("2639f4cb");
    assert!(!v3(b"123456789").ends_with(&big_endian) && !v3(b"123456789").ends_with(&of_zlib));
}

/// Bytes, and the output of numcodecs 0.17.1 with `location` start.
const START: &[(&str, &str)] = &[
    ("", "00000000"),
    ("07", "ba37b78607"),
    ("000102030405", "14850941000102030405"),
    ("d81f8b7603be86d00a55fb48", "3b95afe7d81f8b7603be86d00a55fb48"),
];

/// Tests EX-SEEN-04.
#[test]
fn numcodecs_can_put_the_checksum_first_but_appends_it_by_default() {
    for (bytes, at_start) in START {
        let bytes = hex(bytes);
        let at_start = hex(at_start);
        let at_end = [&bytes[..], &at_start[..4]].concat();
        for (format, name) in
            [(Format::V2, "crc32c"), (Format::V3, "numcodecs.crc32c"), (Format::V3Draft, OWN)]
        {
            assert_eq!(stored(format, name, r#"{"location":"start"}"#, &bytes), at_start);
            assert_eq!(stored(format, name, r#"{"location":"end"}"#, &bytes), at_end);
            assert_eq!(stored(format, name, "", &bytes), at_end);
            let wrong = create(format, name, r#"{"location":"middle"}"#, Mode::Lenient, &BYTES);
            assert!(matches!(wrong, Err(CodecError::InvalidConfiguration(_))), "{wrong:?}");
        }
    }
}

#[test]
fn a_checksum_before_the_bytes_cannot_be_expressed_in_v3() {
    let to = |configuration, to| translate(Format::V2, "crc32c", configuration, &BYTES, to);
    assert_eq!(to("", Format::V3).unwrap(), (Some("crc32c"), "{}".to_owned()));
    assert_eq!(to("", Format::V2).unwrap(), (Some("crc32c"), r#"{"location":"end"}"#.to_owned()));
    let start = r#"{"location":"start"}"#;
    assert_eq!(to(start, Format::V3Draft).unwrap(), (Some(OWN), start.to_owned()));
    assert!(matches!(to(start, Format::V3), Err(CodecError::Unsupported(_))));
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
}
