//! `base64`: text written by other programs.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_base64::Base64;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::UINT8;
use zarr_conformance::{array, hex};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{Codec, CodecError, Format, Mode, Output, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Exact(9));
const OWN: &str = "https://zarr-kit.example/spec/codecs/base64/1.0";
const NAMES: [(Format, &str); 3] =
    [(Format::V2, "base64"), (Format::V3, "numcodecs.base64"), (Format::V3Draft, OWN)];

fn codec(format: Format, name: &str) -> Codec {
    create(format, name, "", Mode::Strict, &BYTES).unwrap().codec
}

/// Written by numcodecs 0.17.1; the last example is int32 0 to 5.
///
/// Tests V2-CODEC-18.
#[test]
fn reads_and_writes_the_text_of_numcodecs() {
    let chunk = array(&[1], UINT8);
    for (bytes, text) in [
        ("", ""),
        ("07", "Bw=="),
        ("000102030405", "AAECAwQF"),
        ("d81f8b7603be86d00a55fb48", "2B+LdgO+htAKVftI"),
        ("000000000100000002000000030000000400000005000000", "AAAAAAEAAAACAAAAAwAAAAQAAAAFAAAA"),
    ] {
        let bytes = hex(bytes);
        for (format, name) in NAMES {
            let codec = codec(format, name);
            assert_eq!(encode(&codec, &chunk, &bytes).unwrap(), text.as_bytes());
            assert_eq!(decode(&codec, &chunk, text.as_bytes(), bytes.len()).unwrap(), bytes);
            check_lossless(&codec, &chunk, &bytes).unwrap();
            check_damaged(&codec, &chunk, text.as_bytes(), 100, 1000).unwrap();
        }
    }
}

#[test]
fn text_with_other_characters_or_without_padding_is_corrupt() {
    for wrong in
        ["A", "AA", "AAA", "AAA=A", "Bw=", "Bw", "B===", "====", "Bx==", "AAEC\n", "AA-_", "AAE\u{e9}"]
    {
        let error = Base64.decode(wrong.as_bytes(), &mut Output::at_most(100)).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{wrong}: {error}");
    }
    let error = Base64.decode(b"AAECAwQF", &mut Output::at_most(5)).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
    let error = Base64.encode(b"AAEC", &mut Output::at_most(7)).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
}

#[test]
fn the_encoded_size_is_known() {
    for (decoded, encoded) in [(0, 0), (1, 4), (3, 4), (4, 8), (24, 32)] {
        assert_eq!(Base64.encoded_size(Size::Exact(decoded)), Size::Exact(encoded));
        assert_eq!(Base64.encoded_size(Size::AtMost(decoded)), Size::AtMost(encoded));
    }
    assert_eq!(Base64.encoded_size(Size::Exact(u64::MAX)), Size::Unknown);
    assert_eq!(Base64.encoded_size(Size::Unknown), Size::Unknown);
}

#[test]
fn a_configuration_is_refused() {
    for (format, name) in NAMES {
        for wrong in [r#"{"level":1}"#, "[]"] {
            let result = create(format, name, wrong, Mode::Strict, &BYTES);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
        for (to, other) in NAMES {
            assert_eq!(translate(format, name, "{}", &BYTES, to).unwrap(), (Some(other), "{}".to_owned()));
        }
    }
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
}
