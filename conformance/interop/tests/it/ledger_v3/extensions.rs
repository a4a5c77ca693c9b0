//! `extensions.md`: unknown names, structures, and the rules for all extensions.

use serde_json::{Value, json};
use zarr_interop::warnings;
use zarr_kit::spec::host::registry::{CatalogueEntry, ExtensionPoint};
use zarr_kit::{ArrayBuilder, Context, Error, Problem, Registry, Selection};

use super::support::{Stored, all, hex, spec_value, to_hex};
use super::{chunks_of, gr, stored};

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn problems(stored: &Stored) -> Vec<Problem> {
    match stored.try_array() {
        Err(Error::NotUnderstood(error)) => error.problems,
        other => panic!("{other:?}"),
    }
}

/// Tests EX-RULE-01, EX-GRID-10, EX-GRID-11, EX-TYPE-13, EX-SEEN-06.
#[test]
fn the_error_of_an_unknown_name_contains_the_extension_point_and_the_name() {
    let refused = |members: Value, place: &str, point: &str, name: &str| {
        for stored in [stored(&members), stored(&members).strictly()] {
            let problems = problems(&stored);
            assert_eq!(problems[0].place, place, "{problems:?}");
            let unknown = &problems[0].missing[0];
            assert_eq!((unknown.point.to_string().as_str(), unknown.identifier.as_str()), (point, name));
            assert!(
                problems[0].reason.contains(&format!("{point} `{name}` is unknown")),
                "{}",
                problems[0].reason
            );
        }
    };
    for name in ["default_suffix", "prefix", "V2", "default.v2"] {
        refused(
            json!({"chunk_key_encoding": {"name": name}}),
            "chunk_key_encoding",
            "chunk key encoding",
            name,
        );
    }
    for name in ["default", "v2"] {
        assert!(stored(&json!({"chunk_key_encoding": {"name": name}})).strictly().try_array().is_ok());
    }
    let bare = stored(&json!({"chunk_key_encoding": {"name": "zarrs.default_suffix"}}));
    assert!(problems(&bare)[0].reason.contains("suffix"), "{:?}", problems(&bare));
    let suffix = json!({"name": "zarrs.default_suffix", "configuration": {"suffix": ".bin"}});
    assert!(stored(&json!({"chunk_key_encoding": suffix})).strictly().try_array().is_ok());
    let of_v2 = stored(&json!({"codecs": [{"name": "vlen-array"}]}));
    assert!(problems(&of_v2)[0].reason.contains("v3: `vlen-ndarray`"), "{:?}", problems(&of_v2));
    for name in ["zarrs.pcodec_v2", "zarrs.nope"] {
        refused(
            json!({"codecs": [little(), {"name": name, "configuration": {}}]}),
            "codecs[1]",
            "codec",
            name,
        );
        refused(json!({"codecs": [{"name": name}, little()]}), "codecs[0]", "codec", name);
    }
    for name in ["<V8", "|V8", "nope"] {
        refused(json!({"data_type": {"name": name, "configuration": {}}}), "data_type", "data type", name);
    }
    let grid = json!({"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [2]}});
    refused(json!({"chunk_grid": grid}), "chunk_grid", "chunk grid", "zarrs.regular_bounded");
}

/// Tests EX-GRID-09.
#[test]
fn the_error_of_a_grid_of_another_crate_names_its_feature() {
    let of_zarrs = "; crate zarrs 0.23.14 has it";
    for (name, provider) in [("rectilinear.bounded", ""), ("zarrs.regular_bounded", of_zarrs)] {
        let grid = json!({"name": name, "configuration": {"chunk_shape": [2]}});
        let stored = stored(&json!({"chunk_grid": grid}));
        assert_eq!(problems(&stored)[0].reason, format!("chunk grid `{name}` is unknown{provider}"));
        let mut registry = Registry::linked().unwrap();
        registry.add_catalogue_entry(CatalogueEntry::new(
            ExtensionPoint::ChunkGrid,
            &["rectilinear.bounded", "zarrs.regular_bounded"],
            "grid-example",
            "example",
        ));
        let known = Stored { context: Context::new(registry), ..stored };
        let wanted = "is not in this build; feature `grid-example` of crate `example` has it";
        assert_eq!(problems(&known)[0].reason, format!("chunk grid `{name}` {wanted}"));
    }
    assert!(stored(&json!({"chunk_grid": chunks_of(&[3])})).try_array().is_ok());
    let older = json!({"name": "rectangular", "configuration": {"chunk_shape": [[2, 2]]}});
    let older = stored(&json!({"shape": [4], "chunk_grid": older}));
    let array = older.array();
    assert_eq!(array.chunk_grid().grid_shape(), [2]);
    let warnings = warnings(array.hierarchy());
    assert!(
        warnings.iter().any(|warning| warning.contains("an older form; use `rectilinear`")),
        "{warnings:?}"
    );
    assert!(problems(&older.strictly())[0].reason.contains("an older form; use `rectilinear`"));
}

/// Python programs write such fill values. In a structure, the type of the field reads them.
#[test]
fn numbers_in_strings_are_read_as_fill_values_with_one_warning() {
    let fields = json!([{"name": "x", "data_type": "float32"}, {"name": "n", "data_type": "int16"}]);
    let structure = json!({"name": "struct", "configuration": {"fields": fields}});
    let time = json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}});
    for (data_type, fill_value) in [
        (json!("float32"), json!("1.5")),
        (json!("bfloat16"), json!("1.5")),
        (json!("float8_e4m3"), json!("1")),
        (json!("int4"), json!("-3")),
        (json!("complex64"), json!(["1.5", 2])),
        (time, json!("-5")),
        (structure, json!({"x": "1.5", "n": 2})),
    ] {
        let members = json!({"data_type": data_type, "fill_value": fill_value, "codecs": [little()]});
        let warnings = warnings(stored(&members).array().hierarchy());
        let of_strings = warnings.iter().filter(|warning| warning.contains("is a number in a string"));
        assert_eq!(of_strings.count(), 1, "{data_type}: {warnings:?}");
        let problems = problems(&stored(&members).strictly());
        let is_refused = |problem: &Problem| problem.reason.contains("is a number in a string");
        assert!(problems.iter().any(is_refused), "{data_type}: {problems:?}");
    }
}

/// Tests EX-RULE-03.
#[test]
fn attributes_are_never_extensions() {
    let attributes = json!({"anything": 1, "codecs": ["nope"], "must_understand": true, "zarr_format": 9});
    let array = stored(&json!({"attributes": attributes})).strictly().array();
    assert_eq!(array.attributes().len(), 4);
    assert!(warnings(array.hierarchy()).is_empty());
    let mut group = gr();
    group["attributes"] = attributes;
    let group = Stored::new().json("zarr.json", &group).strictly().open().group("/").unwrap();
    assert_eq!(group.attributes().len(), 4);
}

/// Tests EX-RULE-04.
#[test]
fn unknown_members_in_a_known_configuration_are_errors() {
    let zstd = json!({"name": "zstd", "configuration": {"level": 1, "x": 0}});
    let codecs = [
        zstd,
        json!({"name": "gzip", "configuration": {"level": 1, "x": 0}}),
        json!({"name": "crc32c", "configuration": {"x": 0}}),
        json!({"name": "blosc", "configuration": {
            "cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 4, "blocksize": 0, "x": 0,
        }}),
    ];
    for codec in codecs {
        let error = stored(&json!({"codecs": [little(), codec]})).strictly().error();
        assert!(error.contains("`codecs[1]`") && error.contains('x'), "{error}");
    }
    let extra = json!({"name": "bytes", "configuration": {"endian": "little", "x": 0}});
    assert!(stored(&json!({"codecs": [extra]})).strictly().error().contains("`codecs[0]`"));
    let encoding = json!({"name": "default", "configuration": {"separator": "/", "x": 0}});
    assert!(
        stored(&json!({"chunk_key_encoding": encoding})).strictly().error().contains("`chunk_key_encoding`")
    );
    let grid = json!({"name": "regular", "configuration": {"chunk_shape": [2], "x": 0}});
    assert!(stored(&json!({"chunk_grid": grid})).strictly().error().contains("`chunk_grid"));
    let closed = json!({"name": "zstd", "configuration": {"level": 1}});
    assert!(stored(&json!({"codecs": [little(), closed]})).strictly().try_array().is_ok());
}

/// Tests EX-SEEN-09.
#[test]
fn codecs_may_be_bare_names_but_are_written_as_objects() {
    let stored = stored(&json!({"data_type": "uint8", "codecs": ["bytes", "crc32c"]})).strictly();
    stored.array().write_values::<u8>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    let mut array = stored.array();
    let shape = array.shape().to_vec();
    array.resize(&shape).unwrap();
    assert_eq!(stored.document("zarr.json")["codecs"], json!([{"name": "bytes"}, {"name": "crc32c"}]));
    assert_eq!(all(&stored.array()), "01 02 03 04");
}

/// Tests EX-CODEC-14.
#[test]
fn the_chain_of_the_reshape_example_is_an_error() {
    let zstd = json!({"name": "zstd", "configuration": {"level": 1}});
    for stored in [
        stored(&json!({"codecs": [zstd, little()]})),
        stored(&json!({"codecs": [zstd, little()]})).strictly(),
    ] {
        assert!(stored.error().contains("`codecs"), "{}", stored.error());
    }
    let reshape = json!({"name": "reshape", "configuration": {"shape": [[0]]}});
    assert!(stored(&json!({"codecs": [reshape, zstd, little()]})).try_array().is_err());
    assert!(stored(&json!({"codecs": [little(), zstd]})).strictly().try_array().is_ok());
}

fn structure(name: &str, fields: Value) -> Value {
    json!({"name": name, "configuration": {"fields": fields}})
}

/// Returns the fields `x` (float32) and `y` (int16), in the form that the data type `name` uses.
fn fields(name: &str) -> Value {
    match name {
        "struct" => json!([{"name": "x", "data_type": "float32"}, {"name": "y", "data_type": "int16"}]),
        _ => json!([["x", "float32"], ["y", "int16"]]),
    }
}

fn structured(name: &str, codec: Value, fill: Value) -> Stored {
    let data_type = structure(name, fields(name));
    stored(&json!({"data_type": data_type, "shape": [2], "fill_value": fill, "codecs": [codec]}))
}

/// Tests EX-STRUCT-04, EX-STRUCT-08.
#[test]
fn struct_requires_a_byte_order_and_structured_does_not() {
    let fill = json!({"x": 1.0, "y": -2});
    let value = "0000803f 0100 00000040 0200";
    let big = "3f800000 0001 40000000 0002";
    for (endian, bytes) in [("little", value), ("big", big)] {
        let codec = json!({"name": "bytes", "configuration": {"endian": endian}});
        for name in ["struct", "structured"] {
            let stored = structured(name, codec.clone(), fill.clone()).strictly().with("c/0", hex(bytes));
            assert_eq!(all(&stored.array()), to_hex(&hex(value)), "{name} {endian}");
            let selection = Selection::parse("0", &[2]).unwrap();
            let elements = stored.array().read(&Selection::All).unwrap();
            stored.array().write(&selection, elements.element(1)).unwrap();
            let half = hex(bytes)[6..].repeat(2);
            assert_eq!(stored.value("c/0"), to_hex(&half), "{name} {endian}");
        }
        let empty = structured("struct", codec, fill.clone()).strictly();
        assert_eq!(all(&empty.array()), "00 00 80 3f fe ff 00 00 80 3f fe ff");
    }
    let unsaid = structured("struct", json!({"name": "bytes"}), fill.clone());
    assert!(unsaid.strictly().error().contains("lacks `endian`, the byte order"), "struct");
    let unsaid = structured("structured", json!({"name": "bytes"}), fill).strictly().with("c/0", hex(value));
    assert_eq!(all(&unsaid.array()), to_hex(&hex(value)));
    let warnings = warnings(unsaid.array().hierarchy());
    assert!(warnings.iter().any(|warning| warning.contains("little endian is assumed")), "{warnings:?}");
    // Fields of one byte do not need a byte order.
    let bytes =
        structure("struct", json!([{"name": "r", "data_type": "uint8"}, {"name": "g", "data_type": "bool"}]));
    let members = json!({"data_type": bytes, "fill_value": {"r": 1, "g": true}, "codecs": ["bytes"]});
    assert_eq!(all(&stored(&members).strictly().array()), "01 01 01 01 01 01 01 01");
}

/// Tests EX-STRUCT-11.
#[test]
fn codecs_of_variable_length_do_not_apply_to_structures() {
    let fill = json!({"x": 0.0, "y": 0});
    for codec in ["vlen-bytes", "vlen-utf8"] {
        for name in ["struct", "structured"] {
            let error = structured(name, json!({"name": codec}), fill.clone()).error();
            assert!(error.contains(&format!("`codecs[0]`: codec `{codec}`")), "{error}");
        }
    }
}

/// Tests EX-STRUCT-06, EX-STRUCT-12.
#[test]
fn both_forms_of_structures_are_read_and_one_is_written() {
    let value = "0000803f 0100 00000040 0200";
    // The forms that zarr-python 3.1.6 and 3.4.2 write; the older version does not specify a byte order.
    let old = structured("structured", json!({"name": "bytes"}), json!("AACAPwEA")).strictly();
    let new = structured("struct", little(), json!({"x": 1.0, "y": 1})).strictly();
    for stored in [&old, &new] {
        assert_eq!(all(&stored.array()), "00 00 80 3f 01 00 00 00 80 3f 01 00");
        stored.set("c/0", hex(value));
        assert_eq!(all(&stored.array()), to_hex(&hex(value)));
    }
    assert_eq!(old.array().data_type().name(), new.array().data_type().name());
    // New arrays use the new form, whichever form was requested.
    let created = Stored::new().json("zarr.json", &gr());
    for name in ["struct", "structured"] {
        let builder = ArrayBuilder::new([2], spec_value(&structure(name, fields(name))));
        created.open().create_array(name, &builder).unwrap();
        assert_eq!(
            created.document(&format!("{name}/zarr.json"))["data_type"],
            structure("struct", fields("struct"))
        );
    }
}

/// Tests EX-RULE-05.
#[test]
fn shards_compare_with_the_encoded_fill_value() {
    let index = json!({"chunk_shape": [2], "codecs": [little()], "index_codecs": [little()]});
    let shards = json!({"name": "sharding_indexed", "configuration": index});
    let codec = |name: &str, configuration: Value| json!({"name": name, "configuration": configuration});
    let map = json!({"encode": [["NaN", 0]], "decode": [[0, "NaN"]]});
    // Each row has codecs, a fill value, another element, and the stored bytes of an inner chunk that holds these two
    // elements.
    for (codecs, fill, element, inner) in [
        (
            json!([codec("scale_offset", json!({"offset": -10, "scale": 2})), shards]),
            json!(1.5),
            2.0f32,
            "0000b841 0000c041",
        ),
        (
            json!([codec("cast_value", json!({"data_type": "uint8", "scalar_map": map})), shards]),
            json!("NaN"),
            7.0,
            "00 07",
        ),
        (json!([codec("bitround", json!({"keepbits": 2})), shards]), json!(-0.75), 1.1, "000040bf 0000803f"),
        (
            json!([
                codec("scale_offset", json!({"offset": 3})),
                codec("cast_value", json!({"data_type": "int4"})),
                shards,
            ]),
            json!(-5),
            2.0,
            "f8 ff",
        ),
    ] {
        let members = json!({
            "shape": [6], "data_type": "float32", "chunk_grid": chunks_of(&[6]), "fill_value": fill, "codecs": codecs,
        });
        let stored = stored(&members).strictly();
        let array = stored.array();
        array.write_values::<f32>(&Selection::parse("3", &[6]).unwrap(), &[element]).unwrap();
        let size = hex(inner).len() as u64;
        let index = [[u64::MAX; 2], [0, size], [u64::MAX; 2]].concat().into_iter().flat_map(u64::to_le_bytes);
        let shard: Vec<u8> = hex(inner).into_iter().chain(index).collect();
        assert_eq!(stored.value("c/0"), to_hex(&shard), "{codecs}");
        // Missing elements read as the fill value of the array, bit for bit.
        let elements = array.read(&Selection::All).unwrap();
        for position in [0, 1, 2, 4, 5] {
            assert_eq!(elements.element(position), array.fill_value().bytes(), "{codecs}");
        }
        // Elements that encode to the fill value of the shard are not stored.
        array.write(Selection::parse("3", &[6]).unwrap(), array.fill_value().bytes()).unwrap();
        assert!(!stored.has("c/0"), "{codecs}");
    }
}

/// Tests EX-SEEN-07.
#[test]
fn older_uris_of_zarrs_are_read_but_not_written() {
    let registry = Registry::linked().unwrap();
    let reading = zarr_kit::spec::Reading::new(zarr_kit::Mode::Strict);
    let codecs = registry.codecs();
    for (kind, names) in [
        ("array_to_array", &["bitround", "fixedscaleoffset"][..]),
        ("array_to_bytes", &["pcodec", "vlen_bytes", "vlen_utf8", "zfp", "zfpy"]),
        ("bytes_to_bytes", &["bz2", "fletcher32", "shuffle", "zlib"]),
    ] {
        for name in names {
            let uri = format!("https://codec.zarrs.dev/{kind}/{name}");
            let plugin = codecs.find(zarr_kit::Format::V3, &uri, &reading).unwrap();
            let written = plugin.identifiers.any().trim_start_matches("numcodecs.").replace('-', "_");
            assert_eq!(written, *name, "{uri}");
            // The URI is only an alias, so the configuration is the same as with the codec's own name.
            assert!(!plugin.identifiers.any().contains(':'));
        }
    }
    let reordered = json!({"name": "https://codec.zarrs.dev/bytes_to_bytes/shuffle", "configuration": {"elementsize": 4}});
    let array =
        stored(&json!({"codecs": [little(), reordered]})).with("c/0", hex("0102 0000 0000 0000")).array();
    assert_eq!(array.read_values::<i32>(&Selection::parse("0:2", &[4]).unwrap()).unwrap(), [1, 2]);
}
