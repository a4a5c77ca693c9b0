//! Numeric codecs, checksums, and objects of v2: the engine reads the data of other programs bit for bit, and
//! they read the engine's data.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use serde_json::{Value, json};
use zarr_interop::book::{Book, Store, check_all, no_skip, value};
use zarr_interop::reading::read_all;
use zarr_interop::{Packages, Writer, python, raw, samples};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Selection};

#[test]
fn reads_numeric_codecs_of_zarr_python_and_numcodecs() {
    read_all(Writer::Numeric, &Context::linked().unwrap());
}

/// Writes elements and reads them again, because codecs may be lossy.
fn rewritten(array: &Array, items: &[Vec<u8>]) -> Vec<Vec<u8>> {
    array.write(&Selection::All, &raw::to_write(&**array.data_type(), items)).unwrap();
    raw::items(&array.read(&Selection::All).unwrap())
}

/// Creates an array with these codecs, and fills it with samples or with small integers.
fn computed(store: &mut Store<'_>, name: &str, codecs: &[(&str, Value)], types: (&str, &str), skip: &Value) {
    let (data_type, descriptor) = types;
    let mut builder = ArrayBuilder::new([9, 8], data_type).chunks([4, 8]).uncompressed();
    for (codec, configuration) in codecs {
        builder = builder.codec((*codec, value(configuration)));
    }
    let any_bits = ["bitround", "packbits", "crc32", "adler32", "fletcher32", "jenkins", "pcodec", "base64"];
    let items = match any_bits.iter().any(|any| codecs[0].0.contains(any)) {
        true => samples::items(descriptor, 72, 5),
        false => (0..72).map(|number| small(descriptor, number)).collect(),
    };
    store.array(&format!("/{name}"), &builder, &json!(descriptor), skip, |array| rewritten(array, &items));
}

/// Returns a number that every codec here can encode.
fn small(descriptor: &str, number: u8) -> Vec<u8> {
    match descriptor {
        "<f4" => (f32::from(number) * 0.37 - 5.0).to_le_bytes().to_vec(),
        "<f8" => (f64::from(number) * 0.37 - 5.0).to_le_bytes().to_vec(),
        _ => {
            let mut item = u64::from(number).to_le_bytes().to_vec();
            item.truncate(descriptor[2..].parse().unwrap());
            item
        }
    }
}

/// Returns the readers that do not support a codec of numcodecs: tensorstore has no filters, and the
/// environment of zarr-python 2 lacks some libraries.
fn skip(codec: &str) -> Value {
    let mut skip = json!({"tensorstore": "not among its codecs"});
    if ["pcodec", "zfpy"].iter().any(|name| codec.contains(name)) {
        skip["zarr2"] = json!("the library is not installed");
    }
    skip
}

#[test]
fn numcodecs_reads_numeric_codecs_of_the_engine() {
    for format in [Format::V2, Format::V3] {
        let mut book = Book::new(format);
        let mut store = book.store("computed");
        let mut codecs = vec![
            ("quantize", json!({"digits": 2, "dtype": "<f4"}), ("float32", "<f4")),
            ("quantize", json!({"digits": 0, "dtype": "<f8"}), ("float64", "<f8")),
            ("astype", json!({"encode_dtype": "<i8", "decode_dtype": "<i4"}), ("int32", "<i4")),
            ("astype", json!({"encode_dtype": "|i1", "decode_dtype": "<f8"}), ("float64", "<f8")),
            ("numcodecs.packbits", json!({}), ("bool", "|b1")),
            ("delta", json!({"dtype": "<i4", "astype": "<i8"}), ("int32", "<i4")),
            (
                "fixedscaleoffset",
                json!({"offset": 1, "scale": 10, "dtype": "<f8", "astype": "<i2"}),
                ("float64", "<f8"),
            ),
            ("crc32", json!({"location": "end"}), ("int16", "<i2")),
            ("crc32", json!({"location": "start"}), ("int16", "<i2")),
            ("adler32", json!({"location": "end"}), ("int16", "<i2")),
            ("adler32", json!({}), ("int16", "<i2")),
            ("fletcher32", json!({}), ("uint8", "|u1")),
            ("jenkins_lookup3", json!({"initval": 3}), ("int32", "<i4")),
        ];
        if format == Format::V2 {
            // Only in v2: in v3, `bitround` is written with its registered name, which these programs do not support.
            for (bits, data_type, descriptor) in
                [(4, "float16", "<f2"), (9, "float32", "<f4"), (30, "float64", "<f8")]
            {
                codecs.push(("bitround", json!({"keepbits": bits}), (data_type, descriptor)));
            }
            let narrower = json!({"digits": 1, "dtype": "<f8", "astype": "<f4"});
            codecs.push(("quantize", narrower, ("float64", "<f8")));
            codecs.push(("base64", json!({}), ("float64", "<f8")));
        }
        for (data_type, descriptor) in
            [("int16", "<i2"), ("uint64", "<u8"), ("float16", "<f2"), ("float64", "<f8")]
        {
            for level in [0, 8, 12] {
                codecs.push(("pcodec", json!({"level": level}), (data_type, descriptor)));
            }
        }
        for (data_type, descriptor) in
            [("int32", "<i4"), ("int64", "<i8"), ("float32", "<f4"), ("float64", "<f8")]
        {
            for mode in
                [json!({"mode": 3, "precision": 12}), json!({"mode": 2, "rate": 14.0}), json!({"mode": 4})]
            {
                codecs.push(("zfpy", mode, (data_type, descriptor)));
            }
        }
        for (number, (codec, configuration, types)) in codecs.into_iter().enumerate() {
            let name = format!("{number}-{codec}-{}", types.0);
            computed(&mut store, &name, &[(codec, configuration)], types, &skip(codec));
        }
        check_all(&book);
    }
}

#[test]
fn zarr_python_reads_casts_of_the_engine() {
    let mut book = Book::new(Format::V3);
    let mut store = book.store("cast");
    let cast = |configuration: Value| ("cast_value", configuration);
    let scaled = ("scale_offset", json!({"offset": -10, "scale": 0.5}));
    let map = json!({"encode": [["NaN", -32768]], "decode": [[-32768, "NaN"]]});
    let mapped = json!({"data_type": "int16", "out_of_range": "clamp", "scalar_map": map});
    for (number, codecs) in [
        vec![cast(json!({"data_type": "int8", "out_of_range": "clamp"}))],
        vec![cast(json!({"data_type": "uint16", "out_of_range": "wrap", "rounding": "towards-zero"}))],
        vec![cast(json!({"data_type": "float16", "rounding": "towards-positive"}))],
        vec![cast(mapped)],
        vec![scaled.clone()],
        vec![scaled, cast(json!({"data_type": "int32"}))],
    ]
    .into_iter()
    .enumerate()
    {
        for types in [("float32", "<f4"), ("float64", "<f8")] {
            computed(&mut store, &format!("{number}-{}", types.0), &codecs, types, &skip("cast_value"));
        }
    }
    check_all(&book);
}

#[test]
fn other_programs_read_objects_of_v2() {
    let mut book = Book::new(Format::V2);
    let mut store = book.store("objects");
    let texts = ["", "a", "é", "日本", "a", ""];
    let json = ["null", "true", "-1", "0.5", "\"é\"", "[1,[2.5,\"x\"]]", "{\"ключ\":{\"b\":null}}"];
    let labels = json!({"labels": ["a", "é", "日本", ""], "dtype": "|O", "astype": "|u1"});
    for (codec, configuration, data_type, descriptor, items) in [
        ("categorize", labels, "string", "string", &texts[..]),
        ("json2", json!({}), "zarr-kit.json", "json", &json),
        ("msgpack2", json!({}), "zarr-kit.json", "json", &json),
    ] {
        let count = items.len() as u64;
        let builder =
            ArrayBuilder::new([count], data_type).chunks([count]).codec((codec, value(&configuration)));
        let items: Vec<Vec<u8>> = items
            .iter()
            .map(|item| [&u32::try_from(item.len()).unwrap().to_le_bytes()[..], item.as_bytes()].concat())
            .collect();
        store.array(&format!("/{codec}"), &builder, &json!(descriptor), &no_skip(), |array| {
            rewritten(array, &items)
        });
    }
    // zarr-python 3 does not have a type for objects of v2.
    let Some(zarr2) = python(Packages::Zarr2) else { return };
    book.check(&zarr2, "zarr2");
}
