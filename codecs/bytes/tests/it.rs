//! `bytes` and the draft's endian codec: bytes printed in the specifications, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_bytes as _;
use zarr_conformance::linked::{create, stored, translate};
use zarr_conformance::types::{self, Number};
use zarr_conformance::{array, hex};
use zarr_spec::codec::{ArrayToBytesCodec, BytesToBytesCodec};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecChain, CodecError, CodecPlugin, Format, Identifiers, Mode,
    Output, Reading, Registry, Representation, Size, json,
};

const DRAFT: &str = "https://purl.org/zarr/spec/codecs/endian/1.0";
const LITTLE: &str = r#"{"endian":"little"}"#;
const BIG: &str = r#"{"endian":"big"}"#;

fn representation(number: Number) -> Representation {
    Representation::Array(array(&[2, 2], number))
}

fn order(
    format: Format,
    name: &str,
    configuration: &str,
    mode: Mode,
    number: Number,
) -> Result<(ByteOrder, usize), CodecError> {
    let created = create(format, name, configuration, mode, &representation(number))?;
    match created.codec {
        Codec::Binary(order) => Ok((order, created.warnings.len())),
        other => panic!("{other:?} is not a byte order"),
    }
}

fn assert_misconfigured(result: Result<(ByteOrder, usize), CodecError>, what: &str) {
    assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{what}: {result:?}");
}

/// Encodes the elements `values`, in native bytes, with `codec` of `format`.
fn bytes(format: Format, codec: (&str, &str), number: Number, shape: &[u64], values: &[u8]) -> Vec<u8> {
    stored(format, &[codec], &array(shape, number), values).unwrap()
}

/// Tests V3-BYTES-01, V3-BYTES-02.
#[test]
fn endian_is_little_or_big_and_required_where_it_matters() {
    let one = 1i32.to_ne_bytes();
    let int32 = |configuration| bytes(Format::V3, ("bytes", configuration), types::INT32, &[1], &one);
    assert_eq!(int32(LITTLE), [1, 0, 0, 0]);
    assert_eq!(int32(BIG), [0, 0, 0, 1]);
    for wrong in [r#"{"endian":"native"}"#, r#"{"endian":"LITTLE"}"#, r#"{"endian":1}"#, r#"{"order":"C"}"#] {
        for mode in [Mode::Strict, Mode::Lenient, Mode::Compatibility] {
            assert_misconfigured(order(Format::V3, "bytes", wrong, mode, types::INT32), wrong);
        }
    }
    for missing in ["", "{}"] {
        assert_misconfigured(order(Format::V3, "bytes", missing, Mode::Strict, types::INT32), "strict");
        let lenient = order(Format::V3, "bytes", missing, Mode::Lenient, types::INT32).unwrap();
        assert_eq!(lenient, (ByteOrder::Little, 1));
        for number in [types::UINT8, types::INT8, types::BOOL, types::RAW3] {
            let single = order(Format::V3, "bytes", missing, Mode::Strict, number).unwrap();
            assert_eq!(single, (ByteOrder::Little, 0));
        }
    }
}

/// Tests V3-BYTES-03, V3-BYTES-05, V3-BYTES-06.
#[test]
fn elements_are_in_c_order_and_byte_order_applies_to_each_unit() {
    assert_eq!(bytes(Format::V3, ("bytes", ""), types::UINT8, &[2, 2], &[1, 2, 3, 4]), [1, 2, 3, 4]);
    let complex: Vec<u8> = [1f32, 2.0].iter().flat_map(|part| part.to_ne_bytes()).collect();
    let big = bytes(Format::V3, ("bytes", BIG), types::COMPLEX64, &[1], &complex);
    assert_eq!(big, hex("3f800000 40000000"));
    assert_eq!(bytes(Format::V3, ("bytes", BIG), types::RAW3, &[1], &[1, 2, 3]), [1, 2, 3]);
}

/// Tests V3-CODEC-03.
#[test]
fn only_elements_of_fixed_size_are_supported() {
    for number in [types::TEXT, types::VARIABLE_BYTES] {
        for configuration in ["", LITTLE] {
            let result = order(Format::V3, "bytes", configuration, Mode::Lenient, number);
            assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
        }
        let result = order(Format::V3Draft, DRAFT, BIG, Mode::Lenient, number);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
    assert!(order(Format::V3, "bytes", LITTLE, Mode::Lenient, types::FLOAT64).is_ok());
}

/// Tests V3-BYTES-08.
#[test]
fn the_name_endian_of_early_2023_is_a_warning_and_an_error_in_strict_mode() {
    let lenient = order(Format::V3, "endian", BIG, Mode::Lenient, types::INT16).unwrap();
    assert_eq!(lenient, (ByteOrder::Big, 1));
    assert_misconfigured(order(Format::V3, "endian", BIG, Mode::Strict, types::INT16), "strict");
    let (name, configuration) =
        translate(Format::V3, "endian", BIG, &representation(types::INT16), Format::V3).unwrap();
    assert_eq!((name, configuration.as_str()), (Some("bytes"), BIG));
}

/// Tests DX-ENDIAN-01.
#[test]
fn the_draft_always_requires_endian() {
    for (text, wanted) in [(LITTLE, ByteOrder::Little), (BIG, ByteOrder::Big)] {
        let found = order(Format::V3Draft, DRAFT, text, Mode::Strict, types::INT32).unwrap();
        assert_eq!(found, (wanted, 0));
    }
    for wrong in ["", "{}", r#"{"endian":"native"}"#, r#"{"endian":"BIG"}"#, r#"{"endian":">"}"#] {
        for number in [types::INT32, types::UINT8] {
            assert_misconfigured(order(Format::V3Draft, DRAFT, wrong, Mode::Lenient, number), wrong);
        }
    }
}

/// Tests DX-ENDIAN-02, DX-ENDIAN-03, DX-ENDIAN-04.
#[test]
fn the_endian_codec_swaps_units_and_little_is_the_default() {
    let one = 1i32.to_ne_bytes();
    assert_eq!(bytes(Format::V3Draft, (DRAFT, BIG), types::INT32, &[1], &one), hex("00000001"));
    let complex: Vec<u8> = [1f64, 2.0].iter().flat_map(|part| part.to_ne_bytes()).collect();
    assert_eq!(
        bytes(Format::V3Draft, (DRAFT, BIG), types::COMPLEX128, &[1], &complex),
        hex("3ff0000000000000 4000000000000000")
    );
    let without = stored(Format::V3Draft, &[], &array(&[1], types::INT32), &one).unwrap();
    assert_eq!(bytes(Format::V3Draft, (DRAFT, LITTLE), types::INT32, &[1], &one), without);
    for number in [types::UINT8, types::BOOL, types::RAW3] {
        let element = vec![1; number.size()];
        for configuration in [LITTLE, BIG] {
            let found = bytes(Format::V3Draft, (DRAFT, configuration), number, &[1], &element);
            assert_eq!(found, element);
        }
    }
}

/// Tests DX-ENDIAN-06.
#[test]
fn an_endian_codec_after_bytes_is_refused() {
    let twice = stored(
        Format::V3Draft,
        &[(DRAFT, LITTLE), (DRAFT, LITTLE)],
        &array(&[1], types::INT32),
        &1i32.to_ne_bytes(),
    );
    assert!(twice.unwrap_err().contains("expected an array"));
    let after_bytes =
        create(Format::V3Draft, DRAFT, LITTLE, Mode::Lenient, &Representation::Bytes(Size::Exact(4)));
    assert!(matches!(after_bytes, Err(CodecError::Unsupported(_))));
}

#[test]
fn translation_gives_each_format_its_configuration() {
    let int16 = representation(types::INT16);
    let uint8 = representation(types::UINT8);
    let to = |decoded, configuration, to| translate(Format::V3, "bytes", configuration, decoded, to);
    assert_eq!(to(&int16, BIG, Format::V3Draft).unwrap(), (Some(DRAFT), BIG.to_owned()));
    assert_eq!(to(&uint8, "", Format::V3Draft).unwrap(), (Some(DRAFT), LITTLE.to_owned()));
    assert_eq!(to(&uint8, BIG, Format::V3).unwrap(), (Some("bytes"), "{}".to_owned()));
    assert!(matches!(to(&int16, BIG, Format::V2), Err(CodecError::Unsupported(_))));
    let back = translate(Format::V3Draft, DRAFT, BIG, &int16, Format::V3).unwrap();
    assert_eq!(back, (Some("bytes"), BIG.to_owned()));
}

/// A codec that takes an array as well as bytes, and copies either.
#[derive(Debug)]
struct Copying;

impl BytesToBytesCodec for Copying {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(encoded.put(decoded)?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(decoded.put(encoded)?)
    }
}

impl ArrayToBytesCodec for Copying {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(array.size())
    }

    fn encode(
        &self,
        _array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(encoded.put(decoded)?)
    }

    fn decode(
        &self,
        _array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(decoded.put(encoded)?)
    }
}

/// Returns whether the last codec of a chain encodes bytes, or the error.
fn last_takes_bytes(codecs: &[&str]) -> Result<bool, String> {
    let mut registry = Registry::linked().unwrap();
    let of_array =
        CodecPlugin::new(Identifiers::name("of-array"), &|_, _| Ok(Codec::ArrayToBytes(Arc::new(Copying))));
    let of_both = CodecPlugin::new(Identifiers::name("of-both"), &|_, decoded| {
        Ok(match decoded {
            Representation::Array(_) => Codec::ArrayToBytes(Arc::new(Copying)),
            Representation::Bytes(_) => Codec::BytesToBytes(Arc::new(Copying)),
        })
    });
    registry.register(of_array).unwrap();
    registry.register(of_both).unwrap();
    let documents: Vec<_> = codecs
        .iter()
        .map(|name| match *name {
            "bytes" => ExtensionDocument::new("bytes", json!({"endian": "little"})),
            name => ExtensionDocument::new(name, json!({})),
        })
        .collect();
    let reading = Reading::new(Mode::Strict);
    let creation = ChainCreation::new(Format::V3, &registry, &reading);
    let chunk = array(&[2, 2], types::INT32);
    let chain = CodecChain::create(&creation, None, &documents, &chunk);
    let chain = chain.map_err(|error| error.to_string())?;
    Ok(matches!(chain.links().last().unwrap().codec, Codec::BytesToBytes(_)))
}

#[test]
fn a_codec_that_also_takes_arrays_gets_the_bytes() {
    assert_eq!(last_takes_bytes(&["of-both"]), Ok(false));
    assert_eq!(last_takes_bytes(&["bytes", "of-both"]), Ok(true));
    assert_eq!(last_takes_bytes(&["bytes", "of-both", "of-both"]), Ok(true));
    let error = last_takes_bytes(&["bytes", "of-array"]).unwrap_err();
    assert!(error.contains("expected an array, but the preceding codec produces bytes"), "{error}");
}
