//! `jenkins_lookup3`: hashes written by other programs.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_jenkins_lookup3::JenkinsLookup3;
use zarr_conformance::hex;
use zarr_conformance::linked::{create, translate};
use zarr_spec::codec::Checksum;
use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Exact(9));
const OWN: &str = "https://zarr-kit.example/spec/codecs/jenkins-lookup3/1.0";
const NAMES: [(Format, &str); 3] =
    [(Format::V2, "jenkins_lookup3"), (Format::V3, "numcodecs.jenkins_lookup3"), (Format::V3Draft, OWN)];

fn hash(codec: &dyn Checksum, bytes: &[u8]) -> Vec<u8> {
    assert!(!codec.at_start());
    let mut checksum = vec![0; codec.size()];
    codec.checksum(bytes, &mut checksum).unwrap();
    checksum
}

/// The bytes are followed by their hashes according to numcodecs 0.17.1, with initial values 0 and 51966.
#[test]
fn appends_the_hashes_of_numcodecs() {
    let ramp: Vec<u8> = (0..=255).cycle().take(768).collect();
    let cases: [(&[u8], &str, &str); 8] = [
        (b"", "efbeadde", "ed89aede"),
        (&[7], "983a6fa4", "a4dac195"),
        (&ramp[..6], "9eee2952", "8e31cfa3"),
        (b"123456789", "969a5d84", "0daf8aba"),
        (&hex("d81f8b7603be86d00a55fb48"), "9b4611dc", "aac10829"),
        (&ramp[..13], "16689dbc", "3b761899"),
        (&ramp, "cf5ace9d", "7266d4ed"),
        (&[0xff; 2000], "2ba6441e", "db6cd983"),
    ];
    for (bytes, from_0, from_51966) in cases {
        for (format, name) in NAMES {
            for (configuration, wanted) in [
                ("", from_0),
                (r#"{"initval":0,"prefix":null}"#, from_0),
                (r#"{"initval":51966}"#, from_51966),
            ] {
                let codec = create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec;
                let Codec::Checksum(codec) = codec else { panic!("of another kind") };
                assert_eq!(hash(&*codec, bytes), hex(wanted), "{bytes:?}");
            }
        }
    }
}

/// The hash with prefix `ab` was written by numcodecs 0.17.1. All divisions into prefix and bytes give the same
/// hash.
#[test]
fn a_prefix_is_hashed_before_the_bytes() {
    assert_eq!(hash(&JenkinsLookup3::new(0, *b"ab"), b"123456789"), hex("79f8e8c1"));
    let bytes: Vec<u8> = (0..40).collect();
    let whole = hash(&JenkinsLookup3::default(), &bytes);
    for end in 0..=bytes.len() {
        assert_eq!(hash(&JenkinsLookup3::new(0, &bytes[..end]), &bytes[end..]), whole, "{end}");
    }
}

#[test]
fn invalid_configurations_are_refused() {
    for (format, name) in NAMES {
        for wrong in [
            r#"{"initval":-1}"#,
            r#"{"initval":4294967296}"#,
            r#"{"prefix":"ab"}"#,
            r#"{"prefix":[97]}"#,
            r#"{"location":"start"}"#,
            "[]",
        ] {
            let result = create(format, name, wrong, Mode::Strict, &BYTES);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
        for (to, other) in NAMES {
            let translated = translate(format, name, r#"{"initval":7}"#, &BYTES, to).unwrap();
            assert_eq!(translated, (Some(other), r#"{"initval":7,"prefix":null}"#.to_owned()));
        }
    }
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
}
