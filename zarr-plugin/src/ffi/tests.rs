//! Both sides of the ABI in one program: calls the exports of `export_plugins!` as if they were in a library.
//!
//! No library is opened, so Miri can run these tests: `cargo +nightly miri test -p zarr-plugin --features host --lib`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

mod grids;
mod hostile;
mod plugins;
mod stores;
mod subsets;

use std::sync::Arc;

use zarr_spec::codec::RunChain;
use zarr_spec::data_type::FillContext;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecChain, CodecError, CodecResult, Creation, DataType,
    DataTypeError, Elements, FillValue, Format, Mode, Output, Reading, Registry, Representation, Size, Units,
    Value, json,
};

use super::library::{Functions, entered};

/// Returns the functions of the library for a name.
fn functions(name: &str) -> Functions {
    // SAFETY: the entry of this program, which is never unloaded.
    let contents = unsafe { entered(entry) }.unwrap();
    assert_eq!((contents.name, contents.abi), ("library", (2, 4)));
    let (.., functions) = contents.items.into_iter().find(|(known, ..)| known.name == Some(name)).unwrap();
    functions
}

/// A codec that has no function `encode` can only decode.
#[test]
fn a_library_lists_the_codecs_that_only_decode() {
    // SAFETY: the entry of this program, which is never unloaded.
    let contents = unsafe { entered(entry) }.unwrap();
    let items = contents.items.iter().filter(|(_, about, _)| about.decodes_only);
    assert_eq!(items.map(|(identifiers, ..)| identifiers.any()).collect::<Vec<_>>(), ["test.minus"]);
    let decoded = Representation::Bytes(Size::Unknown);
    let Ok(Codec::BytesToBytes(codec)) = codec("test.minus", &Value::Null, &decoded) else {
        panic!("unexpected kind of codec")
    };
    let mut output = Output::at_most(2);
    codec.decode(&[2, 3], &mut output).unwrap();
    assert_eq!(output.written(), [1, 2]);
    assert!(matches!(codec.encode(&[1], &mut output), Err(CodecError::Unsupported(_))));
}

/// Does the same as the function that `export_plugins!` generates, under another name.
unsafe extern "C" fn entry(
    host: *const crate::abi::Host,
    out: *mut *const crate::abi::Plugin,
    err: *mut crate::abi::Buf,
) -> i32 {
    // SAFETY: this function asks the same of its caller.
    unsafe { crate::publish(["library", "1.2.3", "MIT"], host, out, err) }
}

/// Runs `body` with an entry of a v3 document that is read leniently, and returns its result and the warnings.
fn creating<R>(configuration: &Value, body: impl FnOnce(&Creation<'_>) -> R) -> (R, Vec<String>) {
    let registry = plugins::host();
    let reading = Reading::new(Mode::Lenient);
    let made = body(&Creation::new("as in the document", configuration, Format::V3, &registry, &reading));
    (made, reading.take_warnings())
}

fn codec(name: &str, configuration: &Value, decoded: &Representation) -> Result<Codec, CodecError> {
    let Functions::Codec(imported) = functions(name) else { panic!("{name} has an unexpected kind") };
    creating(configuration, |creation| imported.create_codec(creation, decoded)).0
}

fn data_type(name: &str) -> (Arc<dyn DataType>, ByteOrder) {
    let Functions::DataType(imported) = functions(name) else { panic!("{name} has an unexpected kind") };
    creating(&Value::Null, |creation| imported.create(creation)).0.unwrap()
}

fn words(count: u64) -> ArrayRepresentation {
    let data_type = plugins::word();
    let fill_value = FillValue::zero(2);
    ArrayRepresentation::new(vec![count], data_type, fill_value)
}

/// Runs chains of bytes-to-bytes codecs after [`Codec::Binary`] in native byte order.
struct OfBytes;

impl RunChain for OfBytes {
    fn encode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> CodecResult {
        assert_eq!(array.size(), Size::Exact(decoded.len() as u64));
        let bytes = chain.links().iter().try_fold(decoded.to_vec(), |bytes, link| match &link.codec {
            Codec::BytesToBytes(codec) => {
                let mut output = Output::at_most(usize::MAX);
                codec.encode(&bytes, &mut output).map(|()| output.into_written())
            }
            _ => Ok(bytes),
        });
        Ok(encoded.put(&bytes?)?)
    }

    fn decode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> CodecResult {
        let bytes =
            chain.links().iter().rev().try_fold(encoded.to_vec(), |bytes, link| match &link.codec {
                Codec::BytesToBytes(codec) => {
                    let mut output = Output::at_most(usize::MAX);
                    codec.decode(&bytes, &mut output).map(|()| output.into_written())
                }
                _ => Ok(bytes),
            })?;
        match array.size() {
            Size::Exact(size) if size == bytes.len() as u64 => Ok(decoded.put(&bytes)?),
            size => Err(CodecError::corrupt(format!("{} bytes are not {size:?}", bytes.len()))),
        }
    }
}

/// Covers fields, their types (one is a type of the host), padding, sub-arrays, mixed byte orders and fallbacks.
#[test]
fn a_structured_type_describes_its_fields() {
    let (pair, order) = data_type("test.pair");
    assert_eq!(order, ByteOrder::Mixed([true, false].into()));
    let fields = pair.fields().unwrap();
    let shown: Vec<_> = fields
        .iter()
        .map(|field| (&*field.name, field.data_type.name(), &*field.shape, field.offset))
        .collect();
    assert_eq!(shown, [("", "byte".into(), &[][..], 0), ("words", "host.word".into(), &[2, 1], 1)]);
    assert_eq!(fields[1].data_type.elements(), Elements::Fixed { size: 2, units: Units::Uniform(2) });
    assert!(pair.optional().is_none() && fields[0].data_type.fields().is_none());
    assert!(
        matches!(pair.elements(), Elements::Fixed { size: 5, units: Units::Fields(units) } if units.len() == 2)
    );
    assert_eq!(pair.default_fill_value(), FillValue::zero(5));
    let document = pair.document(Format::V3, &order).unwrap();
    assert_eq!(document.json, json!("test.pair Mixed([true, false])"));
    let fallback: Vec<_> = document.fallback.iter().map(|document| &*document.identifier).collect();
    assert_eq!(fallback, ["first choice", "second choice"]);
    assert!(pair.may_omit_byte_order() && !fields[0].data_type.may_omit_byte_order());
}

#[test]
fn an_optional_type_describes_the_type_of_its_elements() {
    let (maybe, _) = data_type("test.maybe");
    assert_eq!(maybe.elements(), Elements::Variable);
    let inside = maybe.optional().unwrap();
    assert_eq!((inside.name(), inside.fields().unwrap().len()), ("test.pair".into(), 2));
}

#[test]
fn elements_of_size_zero_are_not_of_variable_size() {
    let (nothing, _) = data_type("test.nothing");
    assert_eq!(nothing.elements().size(), Some(0));
    // The codec receives elements of size 0, not of variable size: otherwise it would not return this error.
    let array = words(3).with_data_type(nothing).with_fill_value(FillValue::zero(0));
    let shown = codec("test.inside", &Value::Null, &Representation::Array(array.clone()));
    let Codec::ArrayToArray(codec) = shown.unwrap() else { panic!("unexpected kind of codec") };
    assert_eq!(codec.encoded(&array).unwrap_err().to_string(), "plugin library 1.2.3: nothing is missing");
}

#[test]
fn elements_are_parsed_printed_checked_and_settled_through_the_abi() {
    let (pair, order) = data_type("test.pair");
    let reading = Reading::new(Mode::Lenient);
    let context = FillContext::new(Format::V3, &reading).with_byte_order(&order);
    let fill_value = pair.fill_value(&json!([1, 2, 3, 4, 5]), &context).unwrap();
    assert_eq!(
        (fill_value.bytes(), &*reading.take_warnings()),
        (&[1, 2, 3, 4, 5][..], &["bytes are read as they are".to_owned()][..])
    );
    let error = pair.fill_value(&json!([1]), &context).unwrap_err();
    assert!(matches!(&error, DataTypeError::InvalidConfiguration(_)), "{error}");
    assert!(matches!(pair.fill_value(&json!(1), &context), Err(DataTypeError::FillValue(_))));
    assert_eq!(pair.fill_value_json(&[1, 2, 3, 4, 5], Format::V3, &order).unwrap(), json!([1, 2, 3, 4, 5]));
    let mut text = String::new();
    pair.print(&[1, 2, 3, 4, 5], &mut text).unwrap();
    assert_eq!(text, "[1, 2, 3, 4, 5]");
    assert_eq!(pair.check(&[0xff]).unwrap_err().to_string(), "plugin library 1.2.3: there is an 0xff");
    assert!(pair.settles());
    for (mode, settled) in [(Mode::Lenient, 0), (Mode::Strict, 1)] {
        let mut elements = [7, 0xff];
        pair.settle(&mut elements, mode).unwrap();
        assert_eq!(elements, [7, settled]);
    }
}

/// The type is passed to the library, which returns it as one of its types with the host's type inside.
#[test]
fn a_type_inside_another_makes_the_round_trip() {
    let (maybe, byte_order) = data_type("test.maybe");
    let array =
        words(3).with_data_type(maybe).with_fill_value(FillValue::zero(0)).with_byte_order(byte_order);
    let codec = codec("test.inside", &Value::Null, &Representation::Array(array.clone())).unwrap();
    let Codec::ArrayToArray(codec) = codec else { panic!("unexpected kind of codec") };
    let encoded = codec.encoded(&array).unwrap();
    assert_eq!(encoded.data_type.name(), "test.pair");
    assert_eq!(encoded.data_type.fields().unwrap()[1].data_type.name(), "host.word");
    assert_eq!(
        (&*encoded.shape, encoded.fill_value.bytes().len(), &encoded.byte_order),
        (&[3][..], 5, &array.byte_order)
    );
}

#[test]
fn a_byte_order_for_each_field_is_a_value() {
    let codec = codec("test.mixed", &Value::Null, &Representation::Array(words(1))).unwrap();
    assert!(matches!(codec, Codec::Binary(ByteOrder::Mixed(flags)) if *flags == [true, false]));
}

#[test]
fn only_a_range_is_decoded_and_size_bounds_are_passed_on() {
    let codec = codec("test.part", &Value::Null, &Representation::Bytes(Size::Unknown)).unwrap();
    let Codec::BytesToBytes(codec) = codec else { panic!("unexpected kind of codec") };
    for (decoded, encoded) in [
        (Size::Exact(7), Size::AtMost(7)),
        (Size::AtMost(u64::MAX), Size::AtMost(u64::MAX)),
        (Size::Unknown, Size::Unknown),
    ] {
        assert_eq!(codec.encoded_size(decoded), encoded);
    }
    let mut output = Output::at_most(9);
    output.put(&[9]).unwrap();
    codec.decode_range(&[1, 2, 3, 4], 1..3, &mut output).unwrap();
    assert_eq!(output.written(), [9, 0xee, 2, 3, 0xee]);
    let error = codec.decode_range(&[1], 0..2, &mut Output::at_most(9)).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
    let error = codec.decode_range(&[1; 9], 0..2, &mut Output::at_most(3)).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(limit) if limit.limit == 3), "{error}");
}

#[test]
fn a_checksum_is_computed_without_copying_the_bytes() {
    let made = |configuration| match codec("test.sum", &configuration, &Representation::Bytes(Size::Unknown))
    {
        Ok(Codec::Checksum(checksum)) => checksum,
        other => panic!("{other:?}"),
    };
    let checksum = made(Value::Null);
    assert_eq!((checksum.size(), checksum.at_start()), (1, true));
    let mut sum = [0];
    checksum.checksum(&[1, 2], &mut sum).unwrap();
    assert_eq!(sum, [3]);
    let error = made(json!({"fails": true})).checksum(&[1], &mut sum).unwrap_err();
    assert_eq!(error.to_string(), "chunk is corrupt: plugin library 1.2.3: it fails");
}

/// The library creates its chain from codecs of the host, and the host runs an equal chain.
#[test]
fn a_host_runs_the_chains_of_a_codec() {
    let array = words(2);
    let configuration = json!({"codecs": ["host.raw", "host.plus"]});
    let made = codec("test.counted", &configuration, &Representation::Array(array.clone())).unwrap();
    let Codec::Composite(codec) = made else { panic!("unexpected kind of codec") };
    let names: Vec<_> = codec.chains()[0].links().iter().map(|link| link.name().to_owned()).collect();
    assert_eq!(names, ["host.raw", "host.plus"]);
    let mut encoded = Output::at_most(9);
    codec.encode(&array, &[1, 2, 3, 4], &mut encoded, &mut OfBytes).unwrap();
    assert_eq!(encoded.written(), [2, 2, 3, 4, 5]);
    let mut decoded = Output::exactly(4);
    codec.decode(&array, encoded.written(), &mut decoded, &mut OfBytes).unwrap();
    assert_eq!(decoded.written(), [1, 2, 3, 4]);
    // Errors and limits of the chain are passed on.
    let error = codec.decode(&array, &[1, 2, 3, 4, 5], &mut Output::at_most(9), &mut OfBytes).unwrap_err();
    assert_eq!(error.to_string(), "chunk is corrupt: plugin library 1.2.3: 4 bytes are not Exact(2)");
    let error = codec.encode(&array, &[1, 2, 3, 4], &mut Output::at_most(3), &mut OfBytes).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(limit) if limit.limit == 3), "{error}");
}

#[test]
fn a_shard_is_a_value_with_chains_of_the_host() {
    let configuration = json!({"codecs": ["host.raw", "host.plus"], "index_codecs": ["host.raw"]});
    let made = codec("test.shard", &configuration, &Representation::Array(words(6))).unwrap();
    let Codec::Shard(shard) = made else { panic!("unexpected kind of codec") };
    assert_eq!((&*shard.inner_shape, shard.index_at_start), (&[2][..], true));
    assert_eq!((shard.inner_codecs.links().len(), shard.index_codecs.links().len()), (2, 1));
    let shape_of = |chain: &CodecChain| match &chain.links()[0].decoded {
        Representation::Array(array) => array.shape.clone(),
        Representation::Bytes(size) => panic!("{size:?}"),
    };
    assert_eq!((shape_of(&shard.inner_codecs), shape_of(&shard.index_codecs)), (vec![2], vec![3, 2]));
}

#[test]
fn a_codec_that_neither_side_has_is_unknown() {
    let configuration = json!({"codecs": ["host.raw", "missing.codec"]});
    let error = codec("test.counted", &configuration, &Representation::Array(words(2))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plugin library 1.2.3: codec `missing.codec` at position 1: codec `missing.codec` is unknown"
    );
}

#[test]
fn a_codec_that_only_the_host_has_is_translated_there() {
    let Functions::Codec(imported) = functions("test.counted") else { panic!("unexpected kind") };
    let decoded = Representation::Array(words(2));
    let translated =
        |format| creating(&Value::Null, |creation| imported.translate(creation, &decoded, format)).0;
    assert_eq!(Value::Object(translated(Format::V3).unwrap()), json!({"codec": "host.plus"}));
    let error = translated(Format::V2).unwrap_err().to_string();
    assert!(error.contains("no identifier for codec `host.plus`"), "{error}");
}

/// A registry that a plugin retains does not use the host after the call.
#[test]
fn a_retained_registry_fails_after_the_call() {
    let host = plugins::host();
    let kept = super::lookup::show_registry(&host, |lookup| {
        // SAFETY: `lookup` is valid during this call.
        unsafe { super::lookup::with_lookup(lookup, &Registry::empty(), |registry| Ok(registry.clone())) }
    });
    let reading = Reading::new(Mode::Strict);
    let document = zarr_spec::data_type::DataTypeDocument::named("host.word");
    let error = kept.unwrap().data_type(Format::V3, &document, &reading).unwrap_err().to_string();
    assert_eq!(error, "extensions cannot be looked up after the call has ended");
}
