//! Extensions of a library work like extensions of a linked crate.

use std::process::Command;
use std::sync::Arc;

use zarr_plugin::host::Policy;
use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::extension::ExtensionPlace;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, Creation, FillValue, Format, Mode, Output, Reading,
    Registry, Representation, Size, Value, json,
};

use crate::built::{Installed, Manifest, XOR_C, in_c, in_rust};

/// The manifest of `tests/plugins/extensions.rs` with all its extensions.
pub(crate) const EXTENSIONS: Manifest<'static> = Manifest {
    name: "example-extensions",
    version: "1.2.0",
    major: 2,
    path: "libplugin.so",
    provides: "\
        [[provides]]\nkind = 'codec'\nuri = 'https://example.org/codecs/xor/1.0'\nname = 'example.xor'\nid = 'xor'\n\
        aliases = ['example.xor-old']\n\
        [[provides]]\nkind = 'codec'\nname = 'example.sum'\n\
        [[provides]]\nkind = 'codec'\nname = 'example.pack12'\n\
        [[provides]]\nkind = 'codec'\nname = 'example.narrow'\n\
        [[provides]]\nkind = 'codec'\nuri = 'https://example.org/panic/1.0'\nname = 'example.panic'\nid = 'example.panic'\n\
        [[provides]]\nkind = 'data_type'\nuri = 'https://example.org/panic/1.0'\nname = 'example.panic'\nid = 'example.panic'\n\
        [[provides]]\nkind = 'memory_layout'\nuri = 'https://example.org/panic/1.0'\nname = 'example.panic'\nid = 'example.panic'\n\
        [[provides]]\nkind = 'chunk_grid'\nuri = 'https://example.org/panic/1.0'\nname = 'example.panic'\nid = 'example.panic'\n\
        [[provides]]\nkind = 'chunk_key_encoding'\nuri = 'https://example.org/panic/1.0'\nname = 'example.panic'\nid = 'example.panic'\n\
        [[provides]]\nkind = 'metadata_encoding'\nuri = 'https://example.org/panic/1.0'\nname = 'example.panic'\nid = 'example.panic'\n\
        [[provides]]\nkind = 'storage_transformer'\nuri = 'https://example.org/panic/1.0'\nname = 'example.panic'\nid = 'example.panic'\n\
        [[provides]]\nkind = 'extension'\nuri = 'https://example.org/panic/1.0'\nname = 'example.panic'\nid = 'example.panic'\n\
        [[provides]]\nkind = 'store'\nname = 'example.panic'\naliases = ['panic:']\n\
        [[provides]]\nkind = 'data_type'\nname = 'example.uint12'\n\
        [[provides]]\nkind = 'memory_layout'\nuri = 'https://example.org/layouts/backwards/1.0'\n\
        name = 'example.backwards'\n\
        [[provides]]\nkind = 'chunk_grid'\nname = 'example.halves'\n\
        [[provides]]\nkind = 'chunk_key_encoding'\nname = 'example.dashes'\n\
        [[provides]]\nkind = 'metadata_encoding'\nuri = 'https://example.org/metadata/shouting/1.0'\n\
        [[provides]]\nkind = 'extension'\nuri = 'https://example.org/extensions/letters/1.0'\n",
};

/// Returns the folder of the library `tests/plugins/extensions.rs`, and a registry with only this library. The folder
/// may be deleted once an extension was created.
pub(crate) fn extensions() -> (Installed, Registry) {
    registered(in_rust(), &EXTENSIONS)
}

fn registered(library: &[u8], manifest: &Manifest<'_>) -> (Installed, Registry) {
    let installed = Installed::new(library, manifest);
    let mut registry = Registry::empty();
    assert_eq!(installed.loader(Policy::Any).register(&mut registry), []);
    (installed, registry)
}

fn array(registry: &Registry, shape: &[u64]) -> ArrayRepresentation {
    let reading = Reading::new(Mode::Strict);
    let document = DataTypeDocument::named("example.uint12");
    let (data_type, byte_order) = registry.data_type(Format::V3, &document, &reading).unwrap();
    ArrayRepresentation::new(shape.to_vec(), data_type, FillValue::zero(2)).with_byte_order(byte_order)
}

pub(crate) fn create_in(
    registry: &Registry,
    format: Format,
    name: &str,
    configuration: &Value,
    decoded: &Representation,
) -> Result<Codec, CodecError> {
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.codecs().find(format, name, &reading).unwrap();
    let creation = Creation::new(name, configuration, format, registry, &reading);
    (plugin.create)(&creation, decoded)
}

pub(crate) fn create(registry: &Registry, name: &str, configuration: &Value) -> Result<Codec, CodecError> {
    create_in(registry, Format::V3, name, configuration, &Representation::Bytes(Size::Unknown))
}

fn elements(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// The host does not distinguish a codec in Rust from a codec in C.
#[test]
fn codecs_in_rust_and_in_c_encode_and_decode() {
    for (library, manifest) in [(in_rust(), &EXTENSIONS), (&in_c(&[])[..], &XOR_C)] {
        let (_installed, registry) = registered(library, manifest);
        let Codec::BytesToBytes(codec) = create(&registry, "example.xor", &json!({"key": 3})).unwrap() else {
            panic!("unexpected kind of codec")
        };
        let decoded: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let mut encoded = Output::at_most(100_000);
        codec.encode(&decoded, &mut encoded).unwrap();
        let encoded = encoded.into_written();
        assert!(encoded.iter().zip(&decoded).all(|(encoded, decoded)| encoded ^ 3 == *decoded));
        // Decodes directly into a destination, after its first two bytes.
        let mut destination = vec![9; 100_002];
        let mut output = Output::to(&mut destination);
        output.put(&[1, 2]).unwrap();
        codec.decode(&encoded, &mut output).unwrap();
        assert!(destination[..2] == [1, 2] && destination[2..] == decoded);
        let nothing = codec.decode(&[], &mut Output::to(&mut []));
        assert!(nothing.is_ok(), "{nothing:?}");
    }
}

#[test]
fn output_above_the_limit_of_the_host_is_an_error() {
    for (library, manifest) in [(in_rust(), &EXTENSIONS), (&in_c(&[])[..], &XOR_C)] {
        let (_installed, registry) = registered(library, manifest);
        let Codec::BytesToBytes(codec) = create(&registry, "example.xor", &json!({"key": 3})).unwrap() else {
            panic!("unexpected kind of codec")
        };
        let error = codec.decode(&[0; 11], &mut Output::at_most(10)).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge(limit) if limit.limit == 10), "{error}");
    }
}

#[test]
fn configuration_errors_name_the_plugin_and_its_version() {
    let (_installed, registry) = extensions();
    let error = create(&registry, "example.xor", &json!({"key": 3, "more": 1})).unwrap_err();
    assert!(matches!(error, CodecError::InvalidConfiguration(_)));
    assert_eq!(
        error.to_string(),
        "invalid configuration: plugin example-extensions 1.2.0: unknown member `more` (expected key)"
    );
}

#[test]
fn a_loaded_codec_is_found_by_its_identifiers_of_all_formats() {
    let (_installed, registry) = extensions();
    let decoded = Representation::Bytes(Size::Exact(4));
    for (format, name) in [
        (Format::V2, "xor"),
        (Format::V3, "example.xor"),
        (Format::V3, "example.xor-old"),
        (Format::V3Draft, "https://example.org/codecs/xor/1.0"),
    ] {
        let codec = create_in(&registry, format, name, &json!({"key": 1}), &decoded).unwrap();
        let Codec::BytesToBytes(codec) = codec else { panic!("unexpected kind of codec") };
        assert_eq!(codec.encoded_size(Size::Exact(4)), Size::Exact(4));
    }
}

/// A checksum has its own kind of value, so that an engine verifies the bytes without copying them.
#[test]
fn a_loaded_checksum_is_a_checksum() {
    let (_installed, registry) = extensions();
    let Codec::Checksum(codec) = create(&registry, "example.sum", &Value::Null).unwrap() else {
        panic!("unexpected kind of codec")
    };
    assert_eq!((codec.size(), codec.at_start()), (1, false));
    let mut checksum = [0];
    codec.checksum(&[1, 2, 3], &mut checksum).unwrap();
    assert_eq!(checksum, [6]);
    let error = codec.checksum(&[1], &mut [0; 2]).unwrap_err().to_string();
    assert!(error.contains("expected 1 bytes for a checksum, but found 2"), "{error}");
}

#[test]
fn a_data_type_and_the_codec_that_packs_it_work_together() {
    let (_installed, registry) = extensions();
    let array = array(&registry, &[3]);
    assert_eq!(
        (array.data_type.name(), array.data_type.elements().size()),
        ("example.uint12".into(), Some(2))
    );
    let decoded = Representation::Array(array.clone());
    let codec = create_in(&registry, Format::V3, "example.pack12", &Value::Null, &decoded).unwrap();
    let Codec::ArrayToBytes(codec) = codec else { panic!("unexpected kind of codec") };
    assert_eq!(codec.encoded_size(&array).unwrap(), Size::Exact(5));
    let mut encoded = Output::at_most(100);
    codec.encode(&array, &elements(&[0x123, 0x456, 0x789]), &mut encoded).unwrap();
    assert_eq!(encoded.written(), [0x23, 0x61, 0x45, 0x89, 0x07]);
    let mut decoded = Output::exactly(6);
    codec.decode(&array, encoded.written(), &mut decoded).unwrap();
    assert_eq!(decoded.written(), elements(&[0x123, 0x456, 0x789]));
    let error = codec.decode(&array, &[1], &mut Output::exactly(6)).unwrap_err();
    assert_eq!(error.to_string(), "chunk is corrupt: plugin example-extensions 1.2.0: a byte is left over");
}

#[test]
fn a_loaded_data_type_behaves_like_a_linked_one() {
    let (_installed, registry) = extensions();
    let data_type = array(&registry, &[1]).data_type;
    let reading = Reading::new(Mode::Strict);
    let context = FillContext::new(Format::V3, &reading);
    let fill_value = data_type.fill_value(&json!(7), &context).unwrap();
    assert_eq!(fill_value.bytes(), elements(&[7]));
    let error = data_type.fill_value(&json!(4096), &context).unwrap_err().to_string();
    assert_eq!(error, "invalid fill value: plugin example-extensions 1.2.0: 4096 is not below 4096");
    let json = data_type.fill_value_json(&elements(&[9]), Format::V3, &ByteOrder::Little).unwrap();
    assert_eq!(json, json!(9));
    let document = data_type.document(Format::V3, &ByteOrder::Little).unwrap();
    assert_eq!(document, DataTypeDocument::named("example.uint12"));
    assert!(data_type.document(Format::V2, &ByteOrder::Little).is_err());
    assert_eq!(data_type.default_fill_value(), FillValue::zero(2));
    let mut text = String::new();
    data_type.print(&elements(&[4095]), &mut text).unwrap();
    assert_eq!(text, "4095");
    assert!(data_type.check(&elements(&[1, 4095])).is_ok());
    let error = data_type.check(&elements(&[1, 4096])).unwrap_err();
    assert_eq!(error.to_string(), "plugin example-extensions 1.2.0: 4096 is not below 4096");
}

/// The codec receives a data type of the host and returns a data type of its library.
#[test]
fn a_codec_can_return_another_data_type() {
    let (_installed, registry) = extensions();
    let of_two_bytes = array(&registry, &[2]).with_data_type(Arc::new(UInt16));
    let decoded = Representation::Array(of_two_bytes.clone());
    let codec = create_in(&registry, Format::V3, "example.narrow", &Value::Null, &decoded).unwrap();
    let Codec::ArrayToArray(codec) = codec else { panic!("unexpected kind of codec") };
    let encoded = codec.encoded(&of_two_bytes).unwrap();
    assert_eq!((encoded.data_type.name(), &encoded.shape[..]), ("example.uint12".into(), &[2][..]));
    assert_eq!(encoded.fill_value, FillValue::zero(2));
    let mut written = Output::exactly(4);
    codec.encode(&of_two_bytes, &elements(&[1, 2]), &mut written).unwrap();
    assert_eq!(written.written(), elements(&[1, 2]));
    let error = codec.encode(&of_two_bytes, &elements(&[1, 5000]), &mut Output::exactly(4)).unwrap_err();
    assert!(matches!(error, CodecError::Encode(_)), "{error}");
    let error = codec.encoded(&array(&registry, &[2])).unwrap_err();
    assert_eq!(error.to_string(), "plugin example-extensions 1.2.0: example.uint12 does not have two bytes");
}

/// A minimal unsigned integer type of two bytes.
#[derive(Debug)]
struct UInt16;

impl zarr_spec::DataType for UInt16 {
    fn name(&self) -> std::borrow::Cow<'_, str> {
        "uint16".into()
    }

    fn elements(&self) -> zarr_spec::Elements {
        zarr_spec::Elements::Fixed { size: 2, units: zarr_spec::Units::Uniform(2) }
    }

    fn kind(&self) -> Option<zarr_spec::data_type::Kind> {
        Some(zarr_spec::data_type::Kind::UInt)
    }

    fn document(&self, _: Format, _: &ByteOrder) -> Result<DataTypeDocument, zarr_spec::DataTypeError> {
        Ok(DataTypeDocument::named("uint16"))
    }

    fn fill_value(&self, _: &Value, _: &FillContext<'_>) -> Result<FillValue, zarr_spec::DataTypeError> {
        Ok(FillValue::zero(2))
    }

    fn fill_value_json(&self, _: &[u8], _: Format, _: &ByteOrder) -> Result<Value, zarr_spec::DataTypeError> {
        Ok(json!(0))
    }

    fn print(&self, _: &[u8], to: &mut dyn std::fmt::Write) -> std::fmt::Result {
        to.write_str("0")
    }
}

/// Returns the creation parameters of the remaining kinds.
fn creation<'a>(registry: &'a Registry, reading: &'a Reading, format: Format) -> Creation<'a> {
    Creation::new("", &Value::Null, format, registry, reading)
}

#[test]
fn a_memory_layout_is_returned_as_a_permutation() {
    let (_installed, registry) = extensions();
    let reading = Reading::new(Mode::Strict);
    let uri = "https://example.org/layouts/backwards/1.0";
    let plugin = registry.memory_layouts().find(Format::V3Draft, uri, &reading).unwrap();
    let layout = (plugin.create)(&creation(&registry, &reading, Format::V3Draft), 3).unwrap();
    assert!(matches!(&layout, Codec::Permutation(order) if order == &[2, 1, 0]), "{layout:?}");
}

#[test]
fn a_chunk_grid_computes_each_chunk_and_is_checked() {
    let (_installed, registry) = extensions();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.chunk_grids().find(Format::V3, "example.halves", &reading).unwrap();
    let creation = creation(&registry, &reading, Format::V3);
    let grid = (plugin.create)(&creation, &[5, 4]).unwrap();
    assert_eq!(
        (grid.grid_shape(), grid.chunk_shape(), grid.largest_chunk()),
        (&[2, 2][..], None, vec![3, 2])
    );
    assert_eq!(grid.chunk_range(0, 1).unwrap(), 3..5);
    assert_eq!((grid.chunk_of(0, 2).unwrap(), grid.chunk_of(0, 3).unwrap()), (0, 1));
    for error in [
        grid.chunk_range(0, 2).unwrap_err(),
        grid.chunk_range(2, 0).unwrap_err(),
        grid.chunk_of(1, 4).unwrap_err(),
    ] {
        assert!(matches!(error, zarr_spec::grid::GridError::OutOfBounds(_)), "{error}");
    }
    let padded = |padding: u64| {
        let configuration = json!({"padding": (padding)});
        (plugin.create)(&creation.with_configuration(&configuration), &[5, 4]).unwrap()
    };
    assert_eq!((grid.padding(0, 1).unwrap(), padded(1).padding(0, 0).unwrap()), (0, 0));
    assert_eq!(padded(1).padding(0, 1).unwrap(), 1);
    assert!(padded(1).padding(0, 2).is_err());
    assert!(padded(3).padding(0, 1).unwrap_err().to_string().contains("has a padding of 3"));
    // The second chunk would be empty, which is invalid.
    let odd = (plugin.create)(&creation, &[1]).unwrap();
    assert!(odd.chunk_range(0, 1).unwrap_err().to_string().contains("is 1 to 1"));
}

#[test]
fn a_chunk_key_encoding_writes_and_reads_keys() {
    let (_installed, registry) = extensions();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.chunk_key_encodings().find(Format::V3, "example.dashes", &reading).unwrap();
    let encoding = (plugin.create)(&creation(&registry, &reading, Format::V3)).unwrap();
    let mut key = "before/".to_owned();
    encoding.encode(&[1, 20, 300], &mut key);
    assert_eq!(key, "before/k1-20-300");
    let decode = |key, rank| encoding.decode(key, rank).map_err(|error| error.to_string());
    assert_eq!(decode("k1-20-300", 3), Ok(Some(vec![1, 20, 300])));
    assert_eq!((decode("k1-20", 3), decode("c/1", 1)), (Ok(None), Ok(None)));
    assert_eq!(decode("k", 0), Ok(Some(vec![])));
}

#[test]
fn a_metadata_encoding_round_trips_documents_and_reports_warnings() {
    let (_installed, registry) = extensions();
    let reading = Reading::new(Mode::Lenient);
    let uri = "https://example.org/metadata/shouting/1.0";
    let plugin = registry.metadata_encodings().find(Format::V3Draft, uri, &reading).unwrap();
    let encoding = (plugin.create)(&creation(&registry, &reading, Format::V3Draft)).unwrap();
    assert_eq!(encoding.key_suffix(), ".loud");
    let document = json!({"b": 1, "a": [null, true, "é"]});
    let bytes = encoding.encode(&document).unwrap();
    assert_eq!(bytes, r#"!{"b":1,"a":[null,true,"é"]}"#.as_bytes());
    assert_eq!(encoding.decode(&bytes, &reading).unwrap(), document);
    assert_eq!(reading.take_warnings(), ["it is loud"]);
    let error = encoding.decode(b"{}", &reading).unwrap_err().to_string();
    assert_eq!(error, "plugin example-extensions 1.2.0: there is no exclamation mark");
}

#[test]
fn a_generic_extension_provides_dimension_names() {
    let (_installed, registry) = extensions();
    let reading = Reading::new(Mode::Strict);
    let uri = "https://example.org/extensions/letters/1.0";
    let plugin = registry.extensions().find(Format::V3Draft, uri, &reading).unwrap();
    let creation = creation(&registry, &reading, Format::V3Draft);
    let extension = (plugin.create)(&creation, ExtensionPlace::Array(&[2, 3])).unwrap();
    assert_eq!(extension.dimension_names(), Some(&[Some("a".to_owned()), Some("b".to_owned())][..]));
    assert_eq!(extension.node_index(), None);
    let error = (plugin.create)(&creation, ExtensionPlace::EntryPoint).unwrap_err();
    assert_eq!(error.to_string(), "plugin example-extensions 1.2.0: letters are for arrays");
}

#[test]
fn many_threads_use_one_instance() {
    let (_installed, registry) = extensions();
    let Codec::BytesToBytes(codec) = create(&registry, "example.xor", &json!({"key": 3})).unwrap() else {
        panic!("unexpected kind of codec")
    };
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let codec = &codec;
            scope.spawn(move || {
                for _ in 0..200 {
                    let mut encoded = Output::at_most(1000);
                    codec.encode(&[thread; 1000], &mut encoded).unwrap();
                    assert!(encoded.written().iter().all(|byte| byte ^ 3 == thread));
                }
            });
        }
    });
}

/// The library describes what its crate passed to `register!`.
#[test]
fn an_open_library_returns_its_description_and_examples() {
    let installed = Installed::new(in_rust(), &EXTENSIONS);
    let loader = installed.loader(Policy::Any);
    let library = loader.open(&loader.candidates()[0]).unwrap();
    assert_eq!((library.abi(), library.license()), ((2, 4), "MIT"));
    assert!(library.build().starts_with("zarr-plugin "), "{}", library.build());
    let (_, identifiers, about) = library.items().next().unwrap();
    assert_eq!(identifiers.uri, Some("https://example.org/codecs/xor/1.0"));
    assert_eq!(about.summary, "Combines each byte with a key by exclusive or.");
    let example = about.examples[0];
    assert_eq!(example.document, r#"{"name":"example.xor","configuration":{"key":170}}"#);
    assert_eq!((example.format, example.loss), (Format::V3, zarr_spec::Loss::Nothing));
    let key = json!({"type": "integer", "minimum": 0, "maximum": 255});
    let schema = about.configuration_schema(Format::V3).unwrap();
    let properties = json!({"key": key});
    assert_eq!(
        schema,
        json!({"type": "object", "properties": properties, "required": ["key"], "additionalProperties": false})
    );
    assert_eq!(about.configuration_schema(Format::V2), None);
}

/// The symbol table for the dynamic loader has only the entry.
#[test]
fn a_library_built_in_rust_exports_only_the_entry() {
    let installed = Installed::new(in_rust(), &XOR_C);
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(installed.library()).output().unwrap();
    let symbols = String::from_utf8_lossy(&output.stdout);
    let names: Vec<_> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(names, ["zarr_plugin_v2"]);
}

/// Only one status of the header means damaged data.
#[test]
fn a_failure_of_a_plugin_is_not_reported_as_corrupt_data() {
    let both = |status: u8| {
        let (_installed, registry) = registered(&in_c(&[&format!("IN_RUN=return {status}")]), &XOR_C);
        let Codec::BytesToBytes(codec) = create(&registry, "example.xor", &json!({"key": 1})).unwrap() else {
            panic!("unexpected kind of codec");
        };
        let decoded = codec.decode(&[1], &mut Output::exactly(1)).unwrap_err();
        (decoded, codec.encode(&[1], &mut Output::exactly(1)).unwrap_err())
    };
    let is_fault = |error: &CodecError| match error {
        CodecError::Plugin { plugin, .. } => plugin == "plugin xor-c 1.2.0",
        _ => false,
    };
    let (corrupt, _) = both(2);
    assert!(matches!(corrupt, CodecError::Corrupt(_)), "{corrupt:?}");
    for (status, message) in [
        (5, "plugin xor-c 1.2.0 failed: it gives no reason"),
        (6, "plugin xor-c 1.2.0 failed: it was stopped: it gives no reason"),
        (7, "plugin xor-c 1.2.0 failed: it panicked: it gives no reason"),
        (8, "plugin xor-c 1.2.0 failed: it gives no reason"),
    ] {
        let (decoding, encoding) = both(status);
        assert!(is_fault(&decoding), "{status}: {decoding:?}");
        assert_eq!(decoding.to_string(), message);
        // Status 8 means that the elements cannot be encoded.
        assert_eq!(is_fault(&encoding), status != 8, "{status}: {encoding:?}");
    }
}
