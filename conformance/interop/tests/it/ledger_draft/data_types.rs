//! Extension data types, their fallbacks and fill values.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_interop::warnings;
use zarr_kit::spec::store::Store;
use zarr_kit::{
    Array, ArrayBuilder, ArrayOptions, Context, Error, FallbackPolicy, Format, Hierarchy, Mode, Selection,
    UndefinedFill, UsedFallback,
};

use super::support::{
    ENDIAN, array, array_document, context, get, get_json, hex, memory, message, one_chunk, open, set,
    with_array,
};

const DATETIME: &str = "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0";
const UNKNOWN: &str = "https://e.org/x/1";

fn extension(uri: &str, type_name: &str, fallback: Value) -> Value {
    json!({"extension": uri, "type": type_name, "fallback": fallback})
}

/// Creates an array `/a` of this type, with one chunk of these bytes.
fn with_chunk(data_type: Value, count: u64, bytes: &[u8]) -> Arc<dyn Store> {
    let store = with_array(&one_chunk(&[count], data_type, json!({})));
    set(&*store, "data/a/c0", bytes);
    store
}

fn allowing() -> Context {
    context().with_fallback(FallbackPolicy::Allow)
}

fn used(array: &Array) -> String {
    array.fallback().map_or_else(String::new, |fallback| fallback.used.clone())
}

/// Tests D3-DT-03.
#[test]
fn a_bool_may_be_any_byte_but_only_0_or_1_in_strict_mode() {
    let store = with_array(&one_chunk(&[3], "bool", json!({"fill_value": false})));
    set(&*store, "data/a/c0", &[0, 2, 1]);
    let lenient = array(&store, &context()).unwrap();
    assert_eq!(lenient.read_values::<bool>(&Selection::All).unwrap(), [false, true, true]);
    let strict = array(&store, &context().with_mode(Mode::Strict)).unwrap();
    let error = message(strict.read(&Selection::All));
    assert_eq!(error, "/a: byte 2 is neither false nor true");
    assert_eq!(message(strict.read_chunk(&[0])), error);
    assert_eq!(message(strict.read_many(&[Selection::All])), error);
    assert_eq!(strict.read_values::<bool>(&Selection::parse("2", &[3]).unwrap()).unwrap(), [true]);
    lenient.write_values(Selection::parse("0", &[3]).unwrap(), &[true]).unwrap();
    assert_eq!(get(&*store, "data/a/c0").unwrap(), [1, 1, 1]);
}

/// Tests D3-DTX-03, D3-DTX-04, D3-CONTRA-09.
#[test]
fn the_first_known_fallback_is_used() {
    let bytes: Vec<u8> = (0..16).collect();
    let open = |data_type: Value| array(&with_chunk(data_type, 1, &bytes), &allowing());
    let raw = open(extension(UNKNOWN, "y", json!(["quad128", "r128"]))).unwrap();
    assert_eq!((raw.data_type().name().as_ref(), used(&raw).as_str()), ("r128", "r128"));
    assert_eq!(raw.read(&Selection::All).unwrap().bytes(), bytes);
    let first = open(extension(UNKNOWN, "y", json!(["complex128", "r128"]))).unwrap();
    assert_eq!(used(&first), "complex128");
    let nested = extension(UNKNOWN, "y", json!([{"extension": "https://e.org/t/1", "type": "q"}, "r128"]));
    assert_eq!(used(&open(nested).unwrap()), "r128");
    // The extension is known, but its type is not.
    let bytes: Vec<u8> = (0..8).collect();
    let store = with_chunk(extension(DATETIME, "<M8[fortnight]", json!("int64")), 1, &bytes);
    assert_eq!(used(&array(&store, &allowing()).unwrap()), "int64");

    for unusable in [
        json!({"extension": UNKNOWN, "type": "y"}),
        extension(UNKNOWN, "y", json!(["unknown1", "unknown2"])),
        extension(UNKNOWN, "y", json!([])),
        extension(UNKNOWN, "y", json!(null)),
        extension(DATETIME, "<M8[fortnight]", json!("unknown1")),
    ] {
        let error = message(open(unusable.clone()));
        assert!(error.contains("`data_type`"), "{unusable}: {error}");
    }
    // A fallback is optional.
    let store = with_chunk(json!({"extension": DATETIME, "type": "<M8[s]"}), 1, &bytes);
    let known = array(&store, &context()).unwrap();
    assert_eq!((known.data_type().name().as_ref(), known.fallback()), ("numpy.datetime64[s]", None));
}

/// Tests D3-DTX-05, D3-EXT-04.
#[test]
fn a_fallback_is_never_used_silently() {
    let data_type = extension(UNKNOWN, "<M8[ns]", json!("int64"));
    let store = with_chunk(data_type.clone(), 1, &[1, 0, 0, 0, 0, 0, 0, 0]);
    let error = message(array(&store, &context()));
    assert!(error.contains(UNKNOWN) && error.contains("int64"), "{error}");

    for (policy, warns) in [(FallbackPolicy::Warn, true), (FallbackPolicy::Allow, false)] {
        let hierarchy = open(&store, &context().with_fallback(policy));
        let array = hierarchy.array("/a").unwrap();
        let UsedFallback { unknown, used, .. } = array.fallback().unwrap().clone();
        assert_eq!(used, "int64");
        assert_eq!(serde_json::from_str::<Value>(&unknown).unwrap(), data_type);
        assert_eq!(array.read_values::<i64>(&Selection::All).unwrap(), [1]);
        let warnings = warnings(&hierarchy);
        assert_eq!(
            warnings.iter().any(|warning| warning.contains(UNKNOWN) && warning.contains("int64")),
            warns
        );
        assert!(message(array.write_values::<i64>(&Selection::All, &[2])).contains("cannot be written"));
    }
    // A known type does not use its fallback, whatever the policy.
    let known = with_chunk(extension(DATETIME, "<M8[ns]", json!("int64")), 1, &[0; 8]);
    assert_eq!(array(&known, &allowing()).unwrap().fallback(), None);
}

/// Tests D3-DTX-02, D3-DTX-03.
#[test]
fn an_unknown_fallback_may_have_fallbacks() {
    let bytes: Vec<u8> = (0..8).collect();
    let open =
        |fallback: Value| array(&with_chunk(extension(UNKNOWN, "y", fallback), 1, &bytes), &allowing());
    let other = |fallback: Value| extension("https://e.org/other/2", "z", fallback);
    for (fallback, wanted) in [
        (json!([other(json!("int64")), "uint64"]), "int64"),
        (json!([other(json!([other(json!("float64")), "int64"])), "uint64"]), "float64"),
        (json!([other(json!(["quad128", other(json!([]))])), "r64"]), "r64"),
        (
            json!([other(json!("quad128")), extension(DATETIME, "<M8[s]", json!("int64"))]),
            "numpy.datetime64[s]",
        ),
        (json!([extension(DATETIME, "<M8[fortnight]", json!("uint64")), "r64"]), "uint64"),
        (other(json!(["quad128", "r64"])), "r64"),
    ] {
        let array = open(fallback.clone()).unwrap();
        assert_eq!(
            (array.data_type().name().as_ref(), used(&array).as_str()),
            (wanted, wanted),
            "{fallback}"
        );
        assert_eq!(array.read(&Selection::All).unwrap().bytes(), bytes, "{fallback}");
    }
    let error = message(open(json!([other(json!("quad128")), other(json!([]))])));
    assert!(error.contains(UNKNOWN) && error.contains("none of its fallbacks is known"), "{error}");
}

/// Tests D3-DTX-05.
#[test]
fn a_fallback_can_be_allowed_for_one_array() {
    let data_type = extension(UNKNOWN, "y", json!("int64"));
    let store = with_chunk(data_type, 1, &[1, 0, 0, 0, 0, 0, 0, 0]);
    let hierarchy = open(&store, &context());
    let path = hierarchy.path("/a").unwrap();
    let allow = ArrayOptions::new().fallback(FallbackPolicy::Allow);
    let mut array = hierarchy.array_with(&path, allow).unwrap();
    assert_eq!(used(&array), "int64");
    assert_eq!(array.read_values::<i64>(&Selection::All).unwrap(), [1]);
    array.set_attribute("unit", "s").unwrap();
    assert_eq!(used(&array), "int64", "the option remains in effect for the handle");
    let shown = format!("{array:?}");
    assert!(shown.contains("fallback: Some(") && shown.contains(UNKNOWN), "{shown}");
    // Other arrays of the hierarchy are not affected, and the option can also deny what the context allows.
    assert!(message(hierarchy.array("/a")).contains("only when asked for"));
    let hierarchy = open(&store, &allowing());
    assert!(hierarchy.array("/a").is_ok());
    assert!(hierarchy.array_with(&path, ArrayOptions::new().fallback(FallbackPolicy::Deny)).is_err());
}

#[test]
fn writing_through_a_fallback_is_opt_in_and_leaves_the_document_unchanged() {
    for endian in ["little", "big"] {
        let changes = json!({
            "data_type": extension(UNKNOWN, "y", json!(["quad128", "int16"])),
            "codecs": [{"type": ENDIAN, "configuration": {"endian": endian}}],
        });
        let store = with_array(&array_document(changes));
        let before = get(&*store, "meta/a.array.json").unwrap();
        let write = ArrayOptions::new().fallback(FallbackPolicy::Allow).write_fallback(true);
        let hierarchy = open(&store, &context());
        let path = hierarchy.path("/a").unwrap();
        let array = hierarchy.array_with(&path, write).unwrap();
        array.write_values::<i16>(&Selection::All, &[258, -2, 0, 0]).unwrap();
        let order =
            |bytes: [u8; 4]| if endian == "big" { bytes } else { [bytes[1], bytes[0], bytes[3], bytes[2]] };
        assert_eq!(get(&*store, "data/a/c0").unwrap(), order([1, 2, 0xff, 0xfe]));
        // The fill value of the real type is unknown, so chunks of zeros are stored.
        assert_eq!(get(&*store, "data/a/c1").unwrap(), [0; 4]);
        assert_eq!(get(&*store, "meta/a.array.json").unwrap(), before);

        let asked =
            |context: Context| array_of(&store, &context).write_values::<i16>(&Selection::All, &[1; 4]);
        assert!(message(asked(allowing())).contains("only when asked for"));
        asked(allowing().with_fallback_writing()).unwrap();
        let refusing = ArrayOptions::new().write_fallback(false);
        let hierarchy = open(&store, &allowing().with_fallback_writing());
        assert!(
            hierarchy
                .array_with(&path, refusing)
                .unwrap()
                .write_values::<i16>(&Selection::All, &[1; 4])
                .is_err()
        );
    }
}

#[test]
fn a_partial_write_to_a_missing_chunk_needs_a_known_fill_value() {
    let document =
        array_document(json!({"data_type": extension(UNKNOWN, "y", json!("int32")), "fill_value": "NaT"}));
    let store = with_array(&document);
    let array = array_of(&store, &allowing().with_fallback_writing());
    let part = Selection::parse("1:4", &[4]).unwrap();
    assert!(matches!(array.write_values::<i32>(&part, &[1, 2, 3]), Err(Error::UndefinedFillValue { .. })));
    let whole = Selection::parse("2:4", &[4]).unwrap();
    array.write_values::<i32>(&whole, &[0, 0]).unwrap();
    assert_eq!(get(&*store, "data/a/c1").unwrap(), [0; 8]);
    array.write_values::<i32>(&Selection::parse("3:4", &[4]).unwrap(), &[7]).unwrap();
    assert_eq!(array.read_values::<i32>(&whole).unwrap(), [0, 7]);
}

fn array_of(store: &Arc<dyn Store>, context: &Context) -> Array {
    array(store, context).unwrap()
}

/// Tests D3-DTX-07.
#[test]
fn fallbacks_come_from_the_builder_or_from_the_type() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    let builder = ArrayBuilder::new([2], "<M8[ns]").uncompressed();
    hierarchy.create_array("/default", &builder).unwrap();
    let document =
        |name: &str| get_json(&**hierarchy.store(), &format!("meta/{name}.array.json"))["data_type"].clone();
    assert_eq!(document("default"), extension(DATETIME, "<M8[ns]", json!(["int64"])));
    hierarchy.create_array("/chosen", &builder.clone().fallback("uint64").fallback("r64")).unwrap();
    assert_eq!(document("chosen"), extension(DATETIME, "<M8[ns]", json!(["uint64", "r64"])));
    assert!(hierarchy.array("/chosen").is_ok());
    assert!(hierarchy.create_array("/x", &builder.clone().fallback("quad128")).is_err());
    assert!(hierarchy.create_array("/x", &builder.fallback("int32")).is_err(), "four bytes for eight");
    assert!(hierarchy.create_array("/x", &ArrayBuilder::new([2], "int8").fallback("r8")).is_err());
    assert!(!hierarchy.exists("/x").unwrap());
}

/// Tests D3-DTX-09.
#[test]
fn a_fallback_has_the_size_of_its_type() {
    let open = |fallback: Value, context: &Context| {
        array(&with_chunk(extension(DATETIME, "<M8[ns]", fallback), 1, &[0; 8]), context)
    };
    for fallback in [json!("int64"), json!(["uint64", "r64"]), json!(["quad128", "int64"])] {
        assert!(open(fallback, &context()).is_ok());
    }
    for fallback in [json!("int32"), json!(["int64", "int32"])] {
        for context in [context(), allowing()] {
            let error = message(open(fallback.clone(), &context));
            assert!(error.contains("8 bytes") && error.contains("int32 has 4"), "{error}");
        }
    }
}

/// Tests D3-DTX-11.
#[test]
fn a_fallback_reads_the_fill_value_if_it_can() {
    let document = |fill: Value| {
        array_document(json!({
            "data_type": extension(UNKNOWN, "<M8[ns]", json!("int64")),
            "fill_value": fill,
        }))
    };
    let store = with_array(&document(json!(0)));
    let read = |store: &Arc<dyn Store>, context: &Context| {
        array(store, context).unwrap().read_values::<i64>(&Selection::All)
    };
    assert_eq!(read(&store, &allowing()).unwrap(), [0; 4]);
    assert_eq!(read(&with_array(&document(json!(-5))), &allowing()).unwrap(), [-5; 4]);

    let store = with_array(&document(json!("NaT")));
    let opened = array(&store, &allowing()).unwrap();
    assert!(opened.fill_is_undefined());
    assert!(matches!(read(&store, &allowing()), Err(Error::UndefinedFillValue { .. })));
    set(&*store, "data/a/c0", &hex("0100000000000000 0200000000000000"));
    let first = Selection::parse(":2", &[4]).unwrap();
    assert_eq!(opened.read_values::<i64>(&first).unwrap(), [1, 2]);
    assert!(matches!(read(&store, &allowing()), Err(Error::UndefinedFillValue { .. })));
}

/// The fallback has raw bits, and the number 5 is not a fill value of raw bits. The error names this number.
///
/// Tests D3-DTX-11.
#[test]
fn the_error_of_a_fill_value_outside_the_fallback_names_it() {
    let document = array_document(json!({
        "data_type": {"extension": UNKNOWN, "type": "int24", "fallback": "r24"},
        "fill_value": 5,
    }));
    let opened = array(&with_array(&document), &allowing()).unwrap();
    let error = message(opened.read(&Selection::All));
    assert!(
        error.contains("the array's fill value 5 belongs to the unknown data type")
            && error.contains("int24"),
        "{error}"
    );
    assert!(error.contains("not to its fallback r24") && !error.contains("null"), "{error}");
}

/// Tests D3-FILL-03.
#[test]
fn a_fill_value_of_null_is_undefined() {
    let store = with_array(&array_document(json!({"fill_value": null})));
    assert!(message(array(&store, &context().with_mode(Mode::Strict))).contains("`fill_value`"));
    for mode in [Mode::Lenient, Mode::Compatibility] {
        let context = context().with_mode(mode);
        let opened = array(&store, &context).unwrap();
        assert!(opened.fill_is_undefined());
        assert!(matches!(opened.read(&Selection::All), Err(Error::UndefinedFillValue { .. })));
        let zeros = array(&store, &context.with_undefined_fill(UndefinedFill::Zeros)).unwrap();
        assert_eq!(zeros.read_values::<i32>(&Selection::All).unwrap(), [0; 4]);
    }
    let mut opened = array(&store, &context()).unwrap();
    assert!(opened.resize(&[6]).is_err(), "null is never written");
    // Stored zeros can be read even if the fill value is undefined.
    let hierarchy = open(&store, &context());
    hierarchy.array("/a").unwrap().write_values::<i32>(&Selection::All, &[0; 4]).unwrap();
    assert_eq!(hierarchy.array("/a").unwrap().read_values::<i32>(&Selection::All).unwrap(), [0; 4]);
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    let null = ArrayBuilder::new([2], "int8").fill_value(zarr_kit::spec::Value::Null);
    assert!(matches!(hierarchy.create_array("/a", &null), Err(Error::NotInFormat { .. })));
}

/// Tests D3-FILL-21.
#[test]
fn a_default_fill_value_is_written() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    let cases = [
        ("int32", json!(0)),
        ("bool", json!(false)),
        ("float64", json!(0.0)),
        ("complex64", json!([0.0, 0.0])),
        ("r16", json!("0x0000")),
    ];
    for (data_type, fill) in cases {
        let path = format!("/{data_type}");
        hierarchy.create_array(&path, &ArrayBuilder::new([2], data_type)).unwrap();
        let document = get_json(&**hierarchy.store(), &format!("meta{path}.array.json"));
        assert_eq!(document["fill_value"], fill, "{data_type}");
    }
    let without = |fill: Option<Value>| {
        let mut document = array_document(json!({}));
        match fill {
            Some(fill) => document["fill_value"] = fill,
            None => drop(document.as_object_mut().unwrap().remove("fill_value")),
        }
        message(array(&with_array(&document), &context().with_mode(Mode::Strict)))
    };
    assert!(without(None).contains("fill_value") && without(Some(Value::Null)).contains("fill_value"));
}

/// Tests DX-ENDIAN-07.
#[test]
fn an_extension_type_may_specify_its_byte_order() {
    let document = |sign: &str, codecs: Value| {
        one_chunk(
            &[1],
            json!({"extension": DATETIME, "type": format!("{sign}M8[ns]")}),
            json!({"codecs": codecs}),
        )
    };
    let endian = |order: &str| json!([{"type": ENDIAN, "configuration": {"endian": order}}]);
    let little = "0201000000000000";
    let big = "0000000000000102";
    for (sign, codecs, wanted) in [
        ("<", json!([]), little),
        (">", json!([]), big),
        ("<", endian("big"), big),
        (">", endian("little"), little),
        (">", endian("big"), big),
    ] {
        let store = with_array(&document(sign, codecs.clone()));
        let array = array(&store, &context()).unwrap();
        array.write(&Selection::All, &258i64.to_ne_bytes()).unwrap();
        assert_eq!(get(&*store, "data/a/c0").unwrap(), hex(wanted), "{sign} {codecs}");
        assert_eq!(array.read(&Selection::All).unwrap().bytes(), 258i64.to_ne_bytes());
    }
    let gzip = json!([{"type": super::support::GZIP, "configuration": {"level": 0}}]);
    let store = with_array(&document(">", gzip));
    array(&store, &context()).unwrap().write(&Selection::All, &258i64.to_ne_bytes()).unwrap();
    let stored = get(&*store, "data/a/c0").unwrap();
    assert!(stored.windows(8).any(|window| window == hex(big)), "{stored:?}");
}

/// Tests D3-EXT-06.
#[test]
fn uris_are_compared_and_never_fetched() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let uri = format!("http://{}/x/1.0", listener.local_addr().unwrap());
    let entry = json!({"extension": uri, "must_understand": false});
    let document = array_document(json!({
        "data_type": extension(&uri, "y", json!("int32")),
        "codecs": [{"type": uri}],
        "extensions": [entry],
        "storage_transformers": [{"extension": uri, "type": "z"}],
    }));
    let store = with_array(&document);
    let mut entry_point = super::support::entry_point();
    entry_point["extensions"] = json!([entry]);
    super::support::set_json(&*store, "zarr.json", &entry_point);
    let Err(Error::NotUnderstood(error)) = array(&store, &allowing()) else { panic!("expected an error") };
    let problems = &error.problems;
    let places: Vec<&str> = problems.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(places, ["storage_transformers[0]", "codecs[0]"]);
    let error = listener.accept().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "a URI was fetched");
}
