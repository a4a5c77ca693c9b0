//! `crc32` against checksums that the specifications print and other programs wrote.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use zarr_codec_crc32 as _;
use zarr_conformance::hex;
use zarr_conformance::linked::{create, translate};
use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Exact(9));
const OWN: &str = "https://zarr-kit.example/spec/codecs/crc32/1.0";
const NAMES: [(Format, &str); 3] =
    [(Format::V2, "crc32"), (Format::V3, "numcodecs.crc32"), (Format::V3Draft, OWN)];

/// The stored form: the bytes, and the checksum on its side of them.
fn stored(format: Format, name: &str, configuration: &str, bytes: &[u8]) -> Vec<u8> {
    let codec = create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec;
    let Codec::Checksum(codec) = codec else { panic!("of another kind") };
    let mut checksum = vec![0; codec.size()];
    codec.checksum(bytes, &mut checksum);
    if codec.at_start() { [&checksum[..], bytes].concat() } else { [bytes, &checksum].concat() }
}

/// Bytes, and what numcodecs 0.17.1 wrote for them.
const WRITTEN: &[(&str, &str)] = &[
    ("", "00000000"),
    ("07", "2e7a664c07"),
    ("000102030405", "4acfeb30000102030405"),
    ("d81f8b7603be86d00a55fb48", "b0bb6bb4d81f8b7603be86d00a55fb48"),
    ("313233343536373839", "2639f4cb313233343536373839"),
];

#[test]
fn checksums_of_numcodecs_are_written_on_either_side() {
    for (bytes, at_start) in WRITTEN {
        let (bytes, at_start) = (hex(bytes), hex(at_start));
        let at_end = [&bytes[..], &at_start[..4]].concat();
        for (format, name) in NAMES {
            for default in ["", "{}", r#"{"location":"start"}"#] {
                assert_eq!(stored(format, name, default, &bytes), at_start);
            }
            assert_eq!(stored(format, name, r#"{"location":"end"}"#, &bytes), at_end);
        }
    }
    assert_eq!(stored(Format::V2, "crc32", "", &[0xff; 2000])[..4], hex("af2656cb"));
}

#[test]
fn no_other_configuration_is_read() {
    for (format, name) in NAMES {
        for wrong in [r#"{"location":"middle"}"#, r#"{"location":1}"#, r#"{"level":1}"#, "[]"] {
            let result = create(format, name, wrong, Mode::Strict, &BYTES);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
}

#[test]
fn all_formats_have_the_location() {
    for (from, name) in NAMES {
        for (to, other) in NAMES {
            for location in [r#"{"location":"start"}"#, r#"{"location":"end"}"#] {
                let translated = translate(from, name, location, &BYTES, to).unwrap();
                assert_eq!(translated, (Some(other), location.to_owned()));
            }
            assert_eq!(translate(from, name, "", &BYTES, to).unwrap().1, r#"{"location":"start"}"#);
        }
    }
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
}
