//! Optional elements and the crate `zarrs`, the only other program that supports them: the engine and `zarrs` read each
//! other's data.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use zarr_kit::convert::convert_metadata;
use zarr_kit::spec::{ByteOrder, Value};
use zarr_kit::{
    Array, ArrayBuilder, Context, Error, Format, Hierarchy, Registry, Selection, json, open_store,
};
use zarrs::array::{ElementOwned, IntoArrayBytes};
use zarrs::filesystem::FilesystemStore;

const PACKBITS: &str = r#"{"name":"packbits"}"#;
const BYTES: &str = r#"{"name":"bytes"}"#;
const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
const BIG: &str = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
const ZSTD: &str = r#"{"name":"zstd","configuration":{"level":3,"checksum":true}}"#;

/// Returns the data type of optional elements.
fn optional(inner: &str) -> String {
    format!(r#"{{"name":"zarrs.optional","configuration":{inner}}}"#)
}

fn named(name: &str) -> String {
    format!(r#"{{"name":"{name}","configuration":{{}}}}"#)
}

/// Returns the codec `zarrs.optional` with these codecs for the mask and for the data.
fn codec(mask: &str, data: &str) -> String {
    let configuration = format!(r#"{{"mask_codecs":[{mask}],"data_codecs":[{data}]}}"#);
    format!(r#"{{"name":"zarrs.optional","configuration":{configuration}}}"#)
}

/// The members of an array document that concern its elements.
struct Members<'a> {
    shape: &'a [u64],
    chunk_shape: &'a [u64],
    data_type: String,
    fill_value: &'a str,
    codecs: String,
}

impl Members<'_> {
    /// Writes a group with an array.
    fn write(&self, folder: &Path) {
        let Self { shape, chunk_shape, data_type, fill_value, codecs } = self;
        let array = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":{shape:?},"data_type":{data_type},
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunk_shape:?}}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill_value},"codecs":[{codecs}]}}"#
        );
        let group = r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;
        std::fs::create_dir_all(folder.join("array")).unwrap();
        std::fs::write(folder.join("zarr.json"), group).unwrap();
        std::fs::write(folder.join("array/zarr.json"), array).unwrap();
    }

    /// Writes `elements` with zarrs and reads them with the engine, and vice versa. Returns the chunks by their
    /// indices; without compression, both programs store the same bytes.
    fn both_ways<T>(&self, elements: &[T], expected: &str) -> BTreeMap<String, Vec<u8>>
    where
        T: ElementOwned + Clone + Debug + PartialEq,
        for<'e> &'e [T]: IntoArrayBytes<'e>,
    {
        let their_folder = tempfile::tempdir().unwrap();
        let our_folder = tempfile::tempdir().unwrap();
        self.write(their_folder.path());
        let array = theirs(their_folder.path());
        array.store_array_subset(&array.subset_all(), elements).unwrap();
        let read = ours(their_folder.path());
        assert_eq!(as_json(&read), expected, "{}", self.codecs);

        self.write(our_folder.path());
        let bytes = read.read(&Selection::All).unwrap().bytes().to_vec();
        ours(our_folder.path()).write(&Selection::All, &bytes).unwrap();
        let array = theirs(our_folder.path());
        let again: Vec<T> = array.retrieve_array_subset(&array.subset_all()).unwrap();
        assert_eq!(again, elements, "{}", self.codecs);

        let their_chunks = chunks(their_folder.path());
        let our_chunks = chunks(our_folder.path());
        if self.codecs.contains("zstd") {
            assert!(their_chunks.keys().eq(our_chunks.keys()));
        } else {
            assert_eq!(their_chunks, our_chunks, "{}", self.codecs);
        }
        their_chunks
    }
}

fn ours(folder: &Path) -> Array {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    Hierarchy::open(store, &context).unwrap().array("/array").unwrap()
}

fn theirs(folder: &Path) -> zarrs::array::Array<FilesystemStore> {
    zarrs::array::Array::open(Arc::new(FilesystemStore::new(folder).unwrap()), "/array").unwrap()
}

/// Returns the elements in the form of fill values.
fn as_json(array: &Array) -> String {
    let elements = array.read(&Selection::All).unwrap();
    let one = |element| array.data_type().fill_value_json(element, Format::V3, &ByteOrder::Little).unwrap();
    elements.iter().map(one).collect::<Value>().to_string()
}

/// Returns the stored chunks by their indices, separated by dots.
fn chunks(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let start = folder.join("array/c");
    let mut found = BTreeMap::new();
    let mut folders = vec![start.clone()];
    while let Some(inside) = folders.pop() {
        for entry in std::fs::read_dir(inside).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let names = path.strip_prefix(&start).unwrap();
                let names: Vec<_> = names.iter().map(|name| name.to_str().unwrap()).collect();
                found.insert(names.join("."), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Tests EX-SEEN-06, EX-TYPE-13.
#[test]
fn both_programs_store_the_same_bytes() {
    let elements = [Some(1), None, Some(-2), None, None, None, Some(7)];
    let expected = "[[1],null,[-2],null,null,null,[7]]";
    for codecs in [codec(PACKBITS, LITTLE), codec(BYTES, BIG)] {
        for (fill_value, stored) in [("null", ["0", "2"].as_slice()), ("[5]", &["0", "1", "2"])] {
            let members = Members {
                shape: &[7],
                chunk_shape: &[3],
                data_type: optional(&named("int32")),
                fill_value,
                codecs: codecs.clone(),
            };
            let chunks = members.both_ways(&elements, expected);
            assert!(chunks.keys().eq(stored), "{fill_value}: {chunks:?}");
        }
    }
}

#[test]
fn elements_of_every_kind_can_be_optional() {
    let members = |data_type, fill_value, codecs| Members {
        shape: &[5],
        chunk_shape: &[3],
        data_type,
        fill_value,
        codecs,
    };
    let text = |text: &str| Some(text.to_owned());
    members(optional(&named("string")), r#"["x"]"#, codec(BYTES, r#"{"name":"vlen-utf8"}"#)).both_ways(
        &[text("h\u{e9}llo"), None, text(""), text("b"), None],
        "[[\"h\u{e9}llo\"],null,[\"\"],[\"b\"],null]",
    );
    let nested = optional(&optional(&named("uint16")));
    members(nested, "[null]", codec(BYTES, &codec(BYTES, LITTLE))).both_ways(
        &[None, Some(None), Some(Some(258_u16)), Some(None), Some(Some(3))],
        "[null,[null],[[258]],[null],[[3]]]",
    );
    let deep = optional(&optional(&optional(&named("string"))));
    let codecs = codec(PACKBITS, &codec(PACKBITS, &codec(PACKBITS, r#"{"name":"vlen-utf8"}"#)));
    members(deep, "null", codecs).both_ways(
        &[None, Some(None), Some(Some(None)), Some(Some(text("a"))), Some(Some(text("")))],
        r#"[null,[null],[[null]],[[["a"]]],[[[""]]]]"#,
    );
    members(optional(&named("bool")), "[true]", codec(PACKBITS, PACKBITS))
        .both_ways(&[Some(true), None, Some(false), None, Some(true)], "[[true],null,[false],null,[true]]");
    members(optional(&named("float64")), r#"["-Infinity"]"#, codec(PACKBITS, LITTLE)).both_ways(
        &[Some(0.5), Some(f64::NEG_INFINITY), None, None, None],
        r#"[[0.5],["-Infinity"],null,null,null]"#,
    );
}

#[test]
fn other_codecs_can_surround_it_and_encode_its_parts() {
    let elements = [Some(1), None, Some(3), None, None, Some(6), Some(7), Some(8), None];
    for codecs in [
        codec(&format!(r#"{{"name":"transpose","configuration":{{"order":[1,0]}}}},{BYTES}"#), LITTLE),
        codec(&format!("{PACKBITS},{ZSTD}"), &format!(r#"{LITTLE},{ZSTD},{{"name":"crc32c"}}"#)),
        format!("{},{ZSTD}", codec(PACKBITS, LITTLE)),
    ] {
        let data_type = optional(&named("int32"));
        let members = Members { shape: &[3, 3], chunk_shape: &[2, 2], data_type, fill_value: "null", codecs };
        members.both_ways(&elements, "[[1],null,[3],null,null,[6],[7],[8],null]");
    }
}

/// Creates an array of optional `int32` in memory, with codecs before and inside `zarrs.optional`, and
/// perhaps with shards.
fn created(format: Format, shards: Option<[u64; 2]>) -> Array {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), "memory:").unwrap();
    let int32 = json!({"name": "int32", "configuration": {}});
    let data_type = json!({"name": "zarrs.optional", "configuration": int32});
    let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let codec = json!({"mask_codecs": [{"name": "packbits"}, {"name": "crc32c"}], "data_codecs": [big]});
    let builder = ArrayBuilder::new([4, 5], data_type)
        .chunks([2, 3])
        .codec(("transpose", json!({"order": [1, 0]})))
        .codec(("zarrs.optional", codec));
    let builder = shards.into_iter().fold(builder, ArrayBuilder::shards);
    Hierarchy::create(store, &context, format).unwrap().create_array("/a", &builder).unwrap()
}

#[test]
fn parts_of_chunks_are_written_and_read() {
    for (format, shards) in [(Format::V3, None), (Format::V3, Some([4, 6])), (Format::V3Draft, None)] {
        let array = created(format, shards);
        let select = |text: &str| Selection::parse(text, array.shape()).unwrap();
        let mut elements = vec![Vec::new(); 20];
        for (position, value) in [(0, 5_i32), (7, -1), (19, 70_000), (7, 8)] {
            let place = select(&format!("{},{}", position / 5, position % 5));
            elements[position] = [&[1][..], &value.to_ne_bytes()].concat();
            array.write_values(&place, &[&elements[position][..]]).unwrap();
            assert!(array.read(&Selection::All).unwrap().iter().eq(elements.iter().map(Vec::as_slice)));
        }
        let read = array.read(select("1,::2")).unwrap();
        assert!(read.strings().unwrap_err().to_string().contains("may be missing"));
        assert_eq!([0, 1, 2].map(|position| read.print(position).unwrap()), ["null", "8", "null"]);
        let wrong = array.write_values(select("0,0"), &[&[1, 0]]).unwrap_err();
        assert!(matches!(wrong, Error::Chunk { .. }), "{wrong:?}");
        assert!(wrong.to_string().contains("element 0: 1 bytes are not an element of int32"), "{wrong}");
        // A chunk whose elements are all missing again is not stored.
        array.write_values(&Selection::All, &vec![Vec::<u8>::new(); 20]).unwrap();
        assert_eq!(array.read_encoded_chunk(&[0, 0]).unwrap(), None);
    }
}

#[test]
fn damaged_chunks_are_errors_that_name_the_codecs() {
    let array = created(Format::V3, None);
    let element = [&[1][..], &5_i32.to_ne_bytes()].concat();
    array.write_values(&Selection::All, &vec![element; 20]).unwrap();
    let intact = array.read_encoded_chunk(&[0, 0]).unwrap().unwrap().to_vec();
    assert_eq!(intact.len(), 16 + 1 + 4 + 6 * 4);
    let refused = |chunk: &[u8]| {
        array.write_encoded_chunk(&[0, 0], chunk).unwrap();
        let error = array.read(&Selection::All).unwrap_err();
        assert!(
            matches!(&error, Error::Chunk(error) if error.codec.as_deref() == Some("zarrs.optional")),
            "{error:?}"
        );
        error.to_string()
    };
    for size in 0..intact.len() {
        refused(&intact[..size]);
    }
    for place in 0..21 {
        let mut flipped = intact.clone();
        flipped[place] ^= 0x10;
        let error = refused(&flipped);
        assert!(
            error.contains(if place < 16 { "do not add up to the" } else { "codec `crc32c`" }),
            "{place}: {error}"
        );
    }
}

#[test]
fn conversion_between_the_draft_and_v3_is_lossless() {
    let registry = Registry::linked().unwrap();
    for (from, to) in [(Format::V3, Format::V3Draft), (Format::V3Draft, Format::V3)] {
        let source = created(from, None);
        let target = created(to, None);
        let converted = convert_metadata(source.metadata(), to, &registry).unwrap();
        assert_eq!(converted.codecs, target.metadata().codecs);
        assert_eq!(converted.data_type, target.metadata().data_type);
        assert_eq!(converted.fill_value, target.metadata().fill_value);
    }
    let refused = convert_metadata(created(Format::V3, None).metadata(), Format::V2, &registry).unwrap_err();
    assert!(refused.to_string().contains("v2"), "{refused}");
}

#[test]
fn other_codecs_cannot_encode_optional_elements() {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), "memory:").unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let data_type = created(Format::V3, None).metadata().data_type.json.clone();
    for codec in [None, Some("bytes"), Some("vlen-utf8"), Some("packbits")] {
        let builder = ArrayBuilder::new([4], data_type.clone());
        let builder = codec.into_iter().fold(builder, |builder, codec| builder.codec(codec));
        let error = hierarchy.create_array("/a", &builder).unwrap_err().to_string();
        assert!(error.contains("zarrs.optional{int32}"), "{codec:?}: {error}");
    }
}
