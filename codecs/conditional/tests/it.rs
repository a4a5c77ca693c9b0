//! `conditional`: its header, and the choice of codecs.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_conditional as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::{array, hex, types};
use zarr_json::ParseOptions;
use zarr_spec::codec::{BytesToBytesCodec, Checksum};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, Creation, Format, Identifiers, Mode,
    Output, Reading, Registry, Representation, Size,
};

zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.runs"), &runs));
zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.reversed"), &reversed));
zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.sum"), &sum));
zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.binary"), &binary));

/// Run-length encoding: each run as its length and its byte.
#[derive(Debug)]
struct Runs;

impl BytesToBytesCodec for Runs {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        for run in decoded.chunk_by(|one, next| one == next).flat_map(|run| run.chunks(255)) {
            encoded.put(&[u8::try_from(run.len()).unwrap(), run[0]])?;
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        if !encoded.len().is_multiple_of(2) {
            return Err(CodecError::corrupt("a run without its byte"));
        }
        Ok(encoded.chunks(2).try_for_each(|run| decoded.put(&vec![run[1]; run[0].into()]))?)
    }
}

fn runs(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(Runs)))
}

/// Reverses the bytes.
#[derive(Debug)]
struct Reversed;

impl BytesToBytesCodec for Reversed {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(encoded.put(&decoded.iter().rev().copied().collect::<Vec<_>>())?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.encode(encoded, decoded)
    }
}

fn reversed(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(Reversed)))
}

/// The sum of all bytes.
#[derive(Debug)]
struct Sum;

impl Checksum for Sum {
    fn size(&self) -> usize {
        1
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> Result<(), CodecError> {
        checksum[0] = bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte));
        Ok(())
    }
}

fn sum(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::Checksum(Arc::new(Sum)))
}

fn binary(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::Binary(ByteOrder::Little))
}

fn conditional(configuration: &str) -> Result<Codec, CodecError> {
    created("conditional", configuration, &Representation::Bytes(Size::Unknown))
}

/// Creates the codec of a document from the plugins that this test links.
fn created(name: &str, configuration: &str, decoded: &Representation) -> Result<Codec, CodecError> {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.codecs().find(Format::V3, name, &reading).unwrap();
    let configuration = zarr_json::parse(configuration.as_bytes(), &ParseOptions::default()).unwrap().value;
    let creation = Creation::new(name, &configuration, Format::V3, &registry, &reading);
    (plugin.create)(&creation, decoded)
}

fn plain() -> ArrayRepresentation {
    array(&[8], types::UINT8)
}

/// Tests EX-CODEC-23.
#[test]
fn a_chunk_records_the_codecs_that_make_it_smaller() {
    let all = conditional(r#"{"codecs": ["test.reversed", "test.runs", "test.sum"]}"#).unwrap();
    for (decoded, encoded) in [
        // Checksums are always applied, other codecs if they save bytes.
        ("01 02 03 04 05 06 07 08", "04 01 02 03 04 05 06 07 08 24"),
        ("01 01 01 01 01 01 01 02", "07 01 02 07 01 0b"),
    ] {
        assert_eq!(encode(&all, &plain(), &hex(decoded)).unwrap(), hex(encoded));
        check_lossless(&all, &plain(), &hex(decoded)).unwrap();
        check_damaged(&all, &plain(), &hex(encoded), 8, 1000).unwrap();
    }
    // Another writer may set each bit separately.
    let wide = conditional(r#"{"codecs": ["test.reversed", "test.runs"], "header_bits": 16}"#).unwrap();
    for (encoded, decoded) in [
        ("00 00 08 02", "08 02"),
        ("01 00 08 02", "02 08"),
        ("02 00 02 02", "02 02"),
        ("03 00 01 08 01 02", "02 08"),
    ] {
        assert_eq!(decode(&wide, &plain(), &hex(encoded), 2).unwrap(), hex(decoded), "{encoded}");
    }
    assert_eq!(encode(&wide, &plain(), &[7; 8]).unwrap(), hex("03 00 08 07"));
}

/// Tests EX-CODEC-23.
#[test]
fn reserved_bits_and_truncated_headers_are_errors() {
    let two = conditional(r#"{"codecs": ["test.reversed", "test.runs"]}"#).unwrap();
    for (encoded, what) in
        [("", "too few for the header"), ("04 01", "bit 2"), ("83 01 01", "bit 7"), ("02 01", "a run")]
    {
        let error = decode(&two, &plain(), &hex(encoded), 8).unwrap_err();
        assert!(
            matches!(error, CodecError::Corrupt(_)) && error.to_string().contains(what),
            "{encoded}: {error}"
        );
    }
    let bomb: Vec<u8> = [vec![3], vec![255; 1000]].concat();
    assert!(matches!(decode(&two, &plain(), &bomb, 8), Err(CodecError::TooLarge(_))));
    let sum = conditional(r#"{"codecs": ["test.sum"]}"#).unwrap();
    assert!(matches!(decode(&sum, &plain(), &hex("01 05 06"), 8), Err(CodecError::Corrupt(_))));
}

/// Tests EX-CODEC-23.
#[test]
fn header_bits_are_whole_bytes_and_codecs_map_bytes_to_bytes() {
    for (configuration, what) in [
        (r#"{"codecs": [], "header_bits": 4}"#, "multiple of 8"),
        (r#"{"codecs": [], "header_bits": 12}"#, "multiple of 8"),
        (r#"{"codecs": [], "header_bits": 0}"#, "from 8"),
        (r#"{"codecs": [], "header_bits": 1000000}"#, "from 8"),
        (
            r#"{"codecs": ["test.sum","test.sum","test.sum","test.sum","test.sum","test.sum","test.sum","test.sum",
                "test.sum"], "header_bits": 8}"#,
            "from 16 to 65536 for 9 codecs",
        ),
        (r#"{"codecs": ["test.binary"]}"#, "expected a bytes-to-bytes codec"),
        (r#"{"codecs": ["test.runs", "shuffle"]}"#, "codec `shuffle` at position 1"),
        (r#"{"codecs": {}}"#, "codecs"),
        (r#"{}"#, "codecs"),
        (r#"{"codecs": [], "mask": 1}"#, "unknown member `mask`"),
    ] {
        let error = conditional(configuration).unwrap_err();
        assert!(error.to_string().contains(what), "{configuration}: {error}");
    }
}
