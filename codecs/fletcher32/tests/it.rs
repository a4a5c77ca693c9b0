//! `fletcher32`: checksums written by other programs.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_fletcher32 as _;
use zarr_conformance::hex;
use zarr_conformance::linked::{create, translate};
use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Exact(9));
const OWN: &str = "https://zarr-kit.example/spec/codecs/fletcher32/1.0";
const NAMES: [(Format, &str); 3] =
    [(Format::V2, "fletcher32"), (Format::V3, "numcodecs.fletcher32"), (Format::V3Draft, OWN)];

fn checksum(format: Format, name: &str, bytes: &[u8]) -> Vec<u8> {
    let codec = create(format, name, "", Mode::Strict, &BYTES).unwrap().codec;
    let Codec::Checksum(codec) = codec else { panic!("of another kind") };
    assert!(!codec.at_start());
    let mut checksum = vec![0; codec.size()];
    codec.checksum(bytes, &mut checksum).unwrap();
    checksum
}

/// The bytes are followed by their checksum according to numcodecs 0.17.1.
#[test]
fn appends_the_checksums_of_numcodecs() {
    let ramp: Vec<u8> = (0..=255).cycle().take(768).collect();
    let cases: [(&[u8], &str); 7] = [
        (&[7], "00070007"),
        (&[0, 1, 2, 3, 4, 5], "09060e08"),
        (&hex("d81f8b7603be86d00a55fb48"), "c2f36c7d"),
        (b"12345678", "d4d00a00"),
        (b"123456789", "d509df09"),
        (&ramp, "bf400060"),
        (&[0xff; 2000], "ffffffff"),
    ];
    for (bytes, wanted) in cases {
        for (format, name) in NAMES {
            assert_eq!(checksum(format, name, bytes), hex(wanted), "{bytes:?}");
        }
    }
    let alias = "https://codec.zarrs.dev/bytes_to_bytes/fletcher32";
    assert_eq!(checksum(Format::V3, alias, b"12345678"), hex("d4d00a00"));
}

/// numcodecs cannot encode an empty chunk. The sums of nothing are 0, like those of zeros.
#[test]
fn only_zeros_have_the_sum_zero() {
    for zeros in [0, 1, 2, 3, 719, 720, 721, 5000] {
        assert_eq!(checksum(Format::V2, "fletcher32", &vec![0; zeros]), [0; 4]);
    }
    for size in [2, 720, 722, 1440, 100_000] {
        assert_eq!(checksum(Format::V2, "fletcher32", &vec![0xff; size]), [0xff; 4], "{size}");
    }
}

#[test]
fn a_configuration_is_refused() {
    for (format, name) in NAMES {
        create(format, name, "{}", Mode::Strict, &BYTES).unwrap();
        for wrong in [r#"{"location":"start"}"#, r#"{"level":1}"#, "[]"] {
            let result = create(format, name, wrong, Mode::Strict, &BYTES);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
        for (to, other) in NAMES {
            let translated = translate(format, name, "", &BYTES, to).unwrap();
            assert_eq!(translated, (Some(other), "{}".to_owned()));
        }
    }
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
}
