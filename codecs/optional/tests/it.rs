//! `zarrs.optional`: chunks written by zarrs, and damaged ones.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_codec_optional as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::types::{BOOL, INT32, Number, TEXT, UINT8, UINT16};
use zarr_conformance::{creation, hex, items};
use zarr_plugin_kit::items as variable;
use zarr_spec::codec::{ArrayToBytesCodec, BytesToBytesCodec};
use zarr_spec::data_type::{DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, Creation, DataType, DataTypeError,
    Elements, FillValue, Format, Identifiers, Invalid, Mode, Output, Registry, Representation, Size, Value,
};

const URI: &str = "https://zarr-kit.example/spec/codecs/optional/1.0";

/// Stands in for the data type, since plugins do not depend on each other.
#[derive(Debug)]
struct OptionalType(Arc<dyn DataType>);

impl DataType for OptionalType {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("maybe")
    }

    fn elements(&self) -> Elements {
        Elements::Variable
    }

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn document(&self, _format: Format, _order: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        Ok(DataTypeDocument::named("maybe"))
    }

    fn fill_value(&self, _json: &Value, _context: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        Ok(self.default_fill_value())
    }

    fn fill_value_json(
        &self,
        _element: &[u8],
        _format: Format,
        _order: &ByteOrder,
    ) -> Result<Value, DataTypeError> {
        Ok(Value::Null)
    }

    fn print(&self, _element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        to.write_str("maybe")
    }

    fn check(&self, element: &[u8]) -> Result<(), Invalid> {
        match (element, self.0.elements().size()) {
            ([], _) | ([1, ..], None) => Ok(()),
            ([1, present @ ..], Some(size)) if present.len() == size => Ok(()),
            _ => Err(Invalid::new("it may not be")),
        }
    }

    fn optional(&self) -> Option<&Arc<dyn DataType>> {
        Some(&self.0)
    }
}

/// Stands in for `vlen-utf8`.
#[derive(Debug)]
struct Texts;

impl ArrayToBytesCodec for Texts {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        variable::check_type(array, "string")?;
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        variable::encode(array, decoded, encoded, |_| Ok(()))
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        variable::decode(array, encoded, decoded, |_| Ok(()))
    }
}

/// Stands in for a compressor.
#[derive(Debug)]
struct WithoutTrailingZeros;

impl BytesToBytesCodec for WithoutTrailingZeros {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        let len = decoded.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        Ok(encoded.put(&decoded[..len])?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(decoded.put(encoded)?)
    }
}

fn registry() -> Registry {
    let mut registry = zarr_conformance::registry();
    for plugin in Registry::linked().unwrap().codecs().iter() {
        registry.register(*plugin).unwrap();
    }
    let named = |name, uri| Identifiers::name(name).with_uri(uri);
    registry
        .register(CodecPlugin::new(named("bytes", "e:bytes/1.0"), &|_: &Creation<'_>, _: &Representation| {
            Ok(Codec::Binary(ByteOrder::Little))
        }))
        .unwrap();
    registry
        .register(CodecPlugin::new(Identifiers::name("big"), &|_: &Creation<'_>, _: &Representation| {
            Ok(Codec::Binary(ByteOrder::Big))
        }))
        .unwrap();
    registry
        .register(CodecPlugin::new(
            named("vlen-utf8", "e:texts/1.0"),
            &|_: &Creation<'_>, _: &Representation| Ok(Codec::ArrayToBytes(Arc::new(Texts))),
        ))
        .unwrap();
    registry
        .register(CodecPlugin::new(named("gzip", "e:gzip/1.0"), &|_: &Creation<'_>, _: &Representation| {
            Ok(Codec::BytesToBytes(Arc::new(WithoutTrailingZeros)))
        }))
        .unwrap();
    registry
}

fn optional_type(number: Number) -> Arc<dyn DataType> {
    Arc::new(OptionalType(Arc::new(number)))
}

fn chunk(shape: &[u64], data_type: Arc<dyn DataType>) -> ArrayRepresentation {
    let fill_value = data_type.default_fill_value();
    ArrayRepresentation::new(shape.to_vec(), data_type, fill_value)
}

fn created(configuration: &str, chunk: &ArrayRepresentation) -> Result<Codec, CodecError> {
    in_format(Format::V3, "zarrs.optional", configuration, chunk)
}

fn in_format(
    format: Format,
    identifier: &str,
    configuration: &str,
    chunk: &ArrayRepresentation,
) -> Result<Codec, CodecError> {
    in_mode(Mode::Strict, format, identifier, configuration, chunk)
}

fn in_mode(
    mode: Mode,
    format: Format,
    identifier: &str,
    configuration: &str,
    chunk: &ArrayRepresentation,
) -> Result<Codec, CodecError> {
    let registry = registry();
    creation(format, identifier, configuration, mode, |creation| {
        let creation = creation.with_registry(&registry);
        let plugin = registry.codecs().find(format, identifier, creation.reading).unwrap();
        (plugin.create)(&creation, &Representation::Array(chunk.clone()))
    })
}

fn with(mask: &str, data: &str) -> String {
    format!(r#"{{"mask_codecs":{mask},"data_codecs":{data}}}"#)
}

const PLAIN: &str = r#"["bytes"]"#;
const BIG: &str = r#"["big"]"#;

/// Returns a present element.
fn present(inner: &[u8]) -> Vec<u8> {
    [&[1], inner].concat()
}

fn assert_encodes(codec: &Codec, chunk: &ArrayRepresentation, elements: &[Vec<u8>], encoded: &str) {
    let decoded = items(elements);
    let encoded = hex(encoded);
    assert_eq!(encode(codec, chunk, &decoded).unwrap(), encoded);
    assert_eq!(decode(codec, chunk, &encoded, decoded.len()).unwrap(), decoded);
    check_lossless(codec, chunk, &decoded).unwrap();
    check_damaged(codec, chunk, &encoded, 1 << 10, 2000).unwrap();
}

/// Written by zarrs 0.23.14 as `Option<i32>`, with `bytes` for the mask and for the elements, in big endian.
///
/// Tests EX-SEEN-06.
#[test]
fn a_chunk_is_two_sizes_the_mask_and_the_present_elements() {
    let chunk = chunk(&[3], optional_type(INT32));
    let codec = created(&with(PLAIN, BIG), &chunk).unwrap();
    let element = |value: i32| present(&value.to_ne_bytes());
    let missing = Vec::new;
    for (elements, encoded) in [
        ([element(1), missing(), element(-2)], "0300000000000000 0800000000000000 010001 00000001 fffffffe"),
        ([element(7), missing(), missing()], "0300000000000000 0400000000000000 010000 00000007"),
        ([missing(), missing(), missing()], "0300000000000000 0000000000000000 000000"),
    ] {
        assert_encodes(&codec, &chunk, &elements, encoded);
    }
}

/// Written by zarrs 0.23.14 as `Option<Option<u16>>` and as `Option<String>`, with `bytes` for the masks.
#[test]
fn inner_types_can_be_optional_or_of_variable_size() {
    let nested = chunk(&[3], Arc::new(OptionalType(optional_type(UINT16))));
    let inner = format!(r#"[{{"name":"zarrs.optional","configuration":{}}}]"#, with(PLAIN, PLAIN));
    let codec = created(&with(PLAIN, &inner), &nested).unwrap();
    let elements = [Vec::new(), present(&[]), present(&present(&258_u16.to_ne_bytes()))];
    let encoded = "0300000000000000 1400000000000000 000101 0200000000000000 0200000000000000 0001 0201";
    assert_encodes(&codec, &nested, &elements, encoded);

    let texts = chunk(&[3], optional_type(TEXT));
    let codec = created(&with(PLAIN, r#"["vlen-utf8"]"#), &texts).unwrap();
    let elements = [present("h\u{e9}llo".as_bytes()), Vec::new(), present(b"")];
    let encoded = "0300000000000000 1200000000000000 010001 02000000 06000000 68c3a96c6c6f 00000000";
    assert_encodes(&codec, &texts, &elements, encoded);
}

#[test]
fn inner_codecs_can_compress() {
    let chunk = chunk(&[2, 3], optional_type(UINT8));
    let codec = created(&with(r#"["bytes","gzip"]"#, r#"["bytes","gzip"]"#), &chunk).unwrap();
    let elements = [present(&[5]), present(&[0]), Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    let decoded = items(&elements);
    let encoded = hex("0200000000000000 0100000000000000 0101 05");
    assert_eq!(encode(&codec, &chunk, &decoded).unwrap(), encoded);
    // The stand-in removes zeros and does not restore them.
    let error = decode(&codec, &chunk, &encoded, 1 << 10).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
}

/// A strict reader accepts only 0 and 1 in a mask, as in any array of `bool`; other readers accept all bytes.
#[test]
fn every_nonzero_byte_of_the_mask_is_true() {
    let chunk = chunk(&[3], optional_type(UINT8));
    let codec = |mode| in_mode(mode, Format::V3, "zarrs.optional", &with(PLAIN, PLAIN), &chunk).unwrap();
    let encoded = hex("0300000000000000 0200000000000000 ff0002 0708");
    let expected = items(&[present(&[7]), Vec::new(), present(&[8])]);
    assert_eq!(decode(&codec(Mode::Lenient), &chunk, &encoded, 1 << 10).unwrap(), expected);
    let error = decode(&codec(Mode::Strict), &chunk, &encoded, 1 << 10).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
}

#[test]
fn inconsistent_chunks_are_corrupt() {
    let chunk = chunk(&[3], optional_type(UINT8));
    let codec = created(&with(PLAIN, PLAIN), &chunk).unwrap();
    for (encoded, what) in [
        ("", "0 bytes are too few for a header"),
        ("0300000000000000 02000000000000", "15 bytes are too few for a header"),
        (
            "0300000000000000 0200000000000000 010001 07",
            "a mask of 3 bytes and elements of 2 bytes do not add up to the remaining 4",
        ),
        ("0300000000000000 0200000000000000 010001 0708 09", "do not add up to the remaining 6 bytes"),
        ("0600000000000000 0000000000000000 010001 0708", "a mask of 6 bytes"),
        ("ffffffffffffffff 0600000000000000 010001 0708", "a mask of 18446744073709551615 bytes"),
        ("0300000000000000 ffffffffffffffff 010001 0708", "elements of 18446744073709551615"),
        // The mask must have as many elements as the chunk, and the data as many as are present in the mask.
        ("0200000000000000 0300000000000000 0101 070809", "2 bytes"),
        ("0300000000000000 0100000000000000 010001 07", "1 bytes"),
        ("0300000000000000 0300000000000000 010001 070809", "3 bytes"),
        (
            "0300000000000000 0100000000000000 000000 07",
            "all elements are missing, but 1 bytes of elements follow",
        ),
    ] {
        let error = decode(&codec, &chunk, &hex(encoded), 1 << 10).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{encoded}: {error:?}");
        assert!(error.to_string().contains(what), "{encoded}: {error}");
    }
}

#[test]
fn decoding_respects_the_limit() {
    let huge = chunk(&[1 << 40], optional_type(UINT8));
    let codec = created(&with(PLAIN, PLAIN), &huge).unwrap();
    let encoded = hex("0300000000000000 0000000000000000 000000");
    let error = decode(&codec, &huge, &encoded, 1 << 20).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
    let larger = chunk(&[u64::MAX, 2], optional_type(UINT8));
    assert!(matches!(created(&with(PLAIN, PLAIN), &larger), Err(CodecError::Unsupported(_))));
}

#[test]
fn invalid_elements_cannot_be_encoded() {
    let chunk = chunk(&[2], optional_type(UINT8));
    let codec = created(&with(PLAIN, PLAIN), &chunk).unwrap();
    for wrong in [items(&[vec![1], vec![]]), items(&[vec![2, 0], vec![]]), items(&[vec![1, 1]]), Vec::new()] {
        let error = encode(&codec, &chunk, &wrong).unwrap_err();
        assert!(matches!(error, CodecError::Encode(_)), "{error}");
    }
}

#[test]
fn both_lists_must_contain_an_array_to_bytes_codec() {
    let chunk_of = |data_type| chunk(&[2], data_type);
    let optional = chunk_of(optional_type(UINT8));
    for (configuration, what) in [
        ("{}", "mask_codecs"),
        (r#"{"mask_codecs":["bytes"]}"#, "data_codecs"),
        (r#"{"mask_codecs":["bytes"],"data_codecs":"bytes"}"#, "data_codecs"),
        (r#"{"mask_codecs":["bytes"],"data_codecs":["bytes"],"x":1}"#, "unknown member `x`"),
        (r#"{"mask_codecs":[],"data_codecs":["bytes"]}"#, "turns the array into bytes"),
        (r#"{"mask_codecs":["bytes"],"data_codecs":["gzip"]}"#, "turns the array into bytes"),
        (r#"{"mask_codecs":["bytes"],"data_codecs":["vlen-utf8"]}"#, "not `uint8`"),
        (r#"{"mask_codecs":["bytes"],"data_codecs":["other"]}"#, "codec `other` is unknown"),
    ] {
        let error = created(configuration, &optional).unwrap_err().to_string();
        assert!(error.contains(what), "{configuration}: {error}");
    }
    let error = created(&with(PLAIN, PLAIN), &chunk_of(Arc::new(UINT8))).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("found `uint8`"), "{error}");
    let bytes = creation(Format::V3, "zarrs.optional", "", Mode::Strict, |creation| {
        let plugin = *Registry::linked().unwrap().codecs().iter().next().unwrap();
        let configuration = zarr_json::parse(with(PLAIN, PLAIN).as_bytes(), &Default::default()).unwrap();
        let creation = creation.with_configuration(&configuration.value);
        (plugin.create)(&creation, &Representation::Bytes(Size::Exact(2))).unwrap_err()
    });
    assert!(matches!(bytes, CodecError::Unsupported(_)), "{bytes}");
}

#[test]
fn both_lists_are_translated_to_each_format() {
    let optional = Representation::Array(chunk(&[2], optional_type(BOOL)));
    let registry = registry();
    let v3 = r#"{"mask_codecs":[{"name":"bytes"}],"data_codecs":[{"name":"bytes"},{"name":"gzip","configuration":{"level":1}}]}"#;
    let draft = r#"{"mask_codecs":[{"type":"e:bytes/1.0"}],"data_codecs":[{"type":"e:bytes/1.0"},{"type":"e:gzip/1.0","configuration":{"level":1}}]}"#;
    for (from, identifier, text) in [(Format::V3, "zarrs.optional", v3), (Format::V3Draft, URI, draft)] {
        for (to, expected) in [(Format::V3, v3), (Format::V3Draft, draft)] {
            creation(from, identifier, text, Mode::Strict, |creation| {
                let creation = creation.with_registry(&registry);
                let plugin = registry.codecs().find(from, identifier, creation.reading).unwrap();
                let members = plugin.translate(&creation, &optional, to).unwrap();
                assert_eq!(Value::Object(members).to_string(), expected);
            });
        }
    }
    let error =
        in_format(Format::V3Draft, URI, v3, &chunk(&[2], optional_type(BOOL))).unwrap_err().to_string();
    assert!(error.contains("mask_codecs[0]"), "{error}");
    creation(Format::V3, "zarrs.optional", &with(PLAIN, BIG), Mode::Strict, |creation| {
        let creation = creation.with_registry(&registry);
        let plugin = registry.codecs().find(Format::V3, "zarrs.optional", creation.reading).unwrap();
        let error = plugin.translate(&creation, &optional, Format::V3Draft).unwrap_err().to_string();
        assert!(error.contains("no identifier for codec `big`"), "{error}");
    });
}
