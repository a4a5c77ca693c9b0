//! The engine writes, other programs read, and the elements are compared bit for bit.

use serde_json::{Value, json};
use zarr_interop::book::{Book, attributes, check_all, no_skip, value};
use zarr_interop::samples::{ATTRIBUTES, GEOMETRIES, NAMES, NUMBERS};
use zarr_interop::{Packages, Random, python, raw};
use zarr_kit::json as spec_json;
use zarr_kit::{ArrayBuilder, Format, Order, Selection};

const FORMATS: [Format; 3] = [Format::V2, Format::V3, Format::V3Draft];

/// Returns a builder for a type and byte order; v2 encodes the order in the type, the other formats in a
/// codec.
fn ordered(format: Format, name: &str, descriptor: &str, big: bool) -> ArrayBuilder {
    let data_type = match format {
        Format::V2 => descriptor.replace('<', if big { ">" } else { "<" }),
        _ => name.to_owned(),
    };
    let builder = ArrayBuilder::new([5, 7], data_type.as_str()).chunks([2, 3]).uncompressed();
    match format {
        Format::V2 => builder,
        _ if descriptor.starts_with('|') => builder,
        _ => builder.codec(("bytes", value(&json!({"endian": if big { "big" } else { "little" }})))),
    }
}

#[test]
fn other_programs_read_numbers_of_every_type_and_order() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("numbers");
        for (name, descriptor) in NUMBERS.iter().copied() {
            for big in [false, true] {
                for order in [Order::C, Order::F] {
                    let path = format!("/{name}-{}-{order:?}", if big { "big" } else { "little" });
                    let builder = ordered(format, name, descriptor, big).order(order);
                    store.whole(&path, &builder, descriptor, &no_skip());
                    store.parts(&format!("{path}-parts"), &builder, descriptor, &no_skip());
                }
            }
        }
        check_all(&book);
    }
}

#[test]
fn other_programs_read_arrays_of_every_shape() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("shapes");
        for (number, (shape, chunk)) in GEOMETRIES.iter().enumerate() {
            for (separator, word) in [("/", "slash"), (".", "dot")] {
                let encodings: &[Option<&str>] =
                    if format == Format::V3 { &[Some("default"), Some("v2")] } else { &[None] };
                for encoding in encodings {
                    let builder =
                        ArrayBuilder::new(*shape, "int16").chunks(*chunk).fill_value(7).uncompressed();
                    let builder = match encoding {
                        Some(name) => builder.chunk_key_encoding(value(
                            &json!({"name": name, "configuration": {"separator": separator}}),
                        )),
                        None => builder.separator(separator),
                    };
                    let path = format!("/{number}-{word}-{}", encoding.unwrap_or("none"));
                    store.whole(&path, &builder, "<i2", &no_skip());
                    store.parts(&format!("{path}-parts"), &builder, "<i2", &no_skip());
                    store.array(&format!("{path}-missing"), &builder, &json!("<i2"), &no_skip(), |array| {
                        let count = usize::try_from(array.shape().iter().product::<u64>()).unwrap();
                        vec![vec![7, 0]; count]
                    });
                }
            }
        }
        check_all(&book);
    }
}

#[test]
fn other_programs_read_fill_values() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("fills");
        let (infinity, nan) =
            if format == Format::V3Draft { ("+Infinity", "NaN") } else { ("Infinity", "NaN") };
        let zero = json!({"zarr2": "reads -0.0 as 0.0"});
        let complex = json!({"zarr2": "misreads NaN and Infinity in complex numbers"});
        let quiet = json!({"zarr3": "makes signalling NaNs quiet"});
        let mut table = vec![
            ("bool", "|b1", json!(true), no_skip()),
            ("int8", "|i1", json!(-128), no_skip()),
            ("uint16", "<u2", json!(65535), no_skip()),
            ("int64", "<i8", json!(i64::MIN), no_skip()),
            ("uint64", "<u8", json!(u64::MAX), no_skip()),
            ("float16", "<f2", json!(1.5), no_skip()),
            ("float32", "<f4", json!(0.1), no_skip()),
            ("float32", "<f4", json!(nan), no_skip()),
            ("float64", "<f8", json!(infinity), no_skip()),
            ("float64", "<f8", json!("-Infinity"), no_skip()),
            ("float64", "<f8", json!(f64::MAX), no_skip()),
            ("float64", "<f8", json!(5e-324), no_skip()),
            ("float64", "<f8", json!(-0.0), zero),
            ("complex64", "<c8", json!([1.5, -2.0]), no_skip()),
            ("complex128", "<c16", json!([nan, "-Infinity"]), complex),
        ];
        if format != Format::V2 {
            table.push(("float32", "<f4", json!("0x7fc00001"), no_skip()));
            table.push(("float64", "<f8", json!("0x7ff0000000000001"), quiet));
        }
        for (number, (name, descriptor, fill, skip)) in table.iter().enumerate() {
            let builder = ArrayBuilder::new([7], *name).chunks([2]).fill_value(value(fill));
            store.array(&format!("/{number}-{name}-missing"), &builder, &json!(descriptor), skip, |array| {
                vec![raw::item(&**array.data_type(), array.fill_value().bytes()); 7]
            });
            store.parts(&format!("/{number}-{name}-parts"), &builder, descriptor, skip);
        }
        if format == Format::V2 {
            let builder = ArrayBuilder::new([7], "int32").chunks([2]).fill_value(spec_json::Value::Null);
            store.whole("/null", &builder, "<i4", &no_skip());
        }
        check_all(&book);
    }
}

#[test]
fn other_programs_read_times_text_and_bytes() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("types");
        let no_tensorstore = json!({"tensorstore": "does not support the type"});
        let no_rank_zero = json!({"tensorstore": "does not support the type", "zarr3": "numcodecs does not support rank 0",
            "zarr2": "numcodecs does not support rank 0"});
        let mut types = vec![];
        for unit in ["Y", "D", "h", "ms", "ns", "as"] {
            types.push((json!(format!("<M8[{unit}]")), format!("<M8[{unit}]")));
            types.push((json!(format!(">m8[{unit}]")), format!("<m8[{unit}]")));
        }
        types.push((json!("|S5"), "|S5".to_owned()));
        types.push((json!("<U4"), "<U4".to_owned()));
        if format != Format::V3Draft {
            types.push((json!(">U3"), "<U3".to_owned()));
            types.push((json!("|V3"), "|V3".to_owned()));
        }
        for (number, (data_type, descriptor)) in types.iter().enumerate() {
            for (shape, chunk) in [(&[7][..], &[3][..]), (&[3, 4], &[2, 3]), (&[], &[])] {
                let builder = ArrayBuilder::new(shape, value(data_type)).chunks(chunk);
                store.whole(&format!("/{number}-{}", shape.len()), &builder, descriptor, &no_tensorstore);
            }
        }
        if format != Format::V3Draft {
            for (name, codec, descriptor) in
                [("string", "vlen-utf8", "string"), ("bytes", "vlen-bytes", "bytes")]
            {
                for (shape, chunk) in [(&[7][..], &[3][..]), (&[3, 4], &[2, 3]), (&[0], &[2]), (&[], &[])] {
                    let data_type = if format == Format::V2 { "|O" } else { name };
                    let builder = ArrayBuilder::new(shape, data_type).chunks(chunk);
                    let builder = builder.codec((codec, value(&json!({}))));
                    let skip = if shape.is_empty() { &no_rank_zero } else { &no_tensorstore };
                    store.whole(
                        &format!("/{name}-{}{}", shape.len(), shape.contains(&0)),
                        &builder,
                        descriptor,
                        skip,
                    );
                    store.parts(
                        &format!("/{name}-{}{}-parts", shape.len(), shape.contains(&0)),
                        &builder,
                        descriptor,
                        skip,
                    );
                }
            }
        }
        check_all(&book);
    }
}

#[test]
fn other_programs_read_structures() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("structures");
        let flat =
            json!([["a", "<i4"], ["b", if format == Format::V2 { ">f8" } else { "<f8" }], ["c", "|u1"]]);
        let nested = json!([["a", "<u2"], ["b", [["x", "<f4"], ["y", [["z", "|i1"], ["t", "|b1"]]]]]]);
        let sub = json!([["x", "<f4"], ["z", "<i2", [2, 2]]]);
        let no_tensorstore = json!({"tensorstore": "does not support nested fields, or structures in v3"});
        for (name, dtype) in [("flat", &flat), ("nested", &nested), ("sub", &sub)] {
            if name == "sub" && format == Format::V3 {
                continue; // zarr-python does not support them.
            }
            let skip = match (name, format) {
                ("flat", Format::V2) => no_skip(),
                ("sub", Format::V2) => {
                    json!({"tensorstore": "does not support nested fields", "zarr3": "does not support sub-arrays"})
                }
                _ => no_tensorstore.clone(),
            };
            for (shape, chunk) in [(&[7][..], &[3][..]), (&[3, 4], &[2, 3]), (&[], &[])] {
                let builder = ArrayBuilder::new(shape, value(dtype)).chunks(chunk);
                store.array(&format!("/{name}-{}", shape.len()), &builder, dtype, &skip, |array| {
                    let size = array.data_type().elements().size().unwrap();
                    let count = usize::try_from(array.shape().iter().product::<u64>()).unwrap();
                    let mut random = Random::new(9);
                    let mut element =
                        || (0..size).map(|_| random.number().to_le_bytes()[0] & 1).collect::<Vec<u8>>();
                    let elements: Vec<Vec<u8>> = (0..count).map(|_| element()).collect();
                    array.write(&Selection::All, &elements.concat()).unwrap();
                    elements.iter().map(|element| raw::item(&**array.data_type(), element)).collect()
                });
            }
        }
        check_all(&book);
    }
}

#[test]
fn other_programs_read_groups_and_attributes_in_any_script() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let said: Value = serde_json::from_str(ATTRIBUTES).unwrap();
        // Names are limited to ASCII in the older formats.
        let names: Vec<&str> = NAMES
            .iter()
            .copied()
            .filter(|name| format == Format::V3 || (name.is_ascii() && !name.contains(' ')))
            .collect();
        let mut store = book.store("tree");
        store.book.cases.pop();
        store.hierarchy.set_attributes("/", attributes(&said)).unwrap();
        store.case(json!({"node_type": "group", "path": "/", "attributes": said, "children": names}));
        for name in &names {
            store.group(&format!("/{name}"), &said, Some(&["array", "inner"]));
            store.group(&format!("/{name}/inner"), &json!({}), Some(&[name]));
            let builder = ArrayBuilder::new([3], "int32").chunks([2]);
            store.whole(
                &format!("/{name}/array"),
                &builder.clone().attributes(attributes(&said)),
                "<i4",
                &no_skip(),
            );
            store.whole(&format!("/{name}/inner/{name}"), &builder, "<i4", &no_skip());
        }
        let mut array = store.hierarchy.array(format!("/{}/array", names[0])).unwrap();
        array.set_attribute("more", "é").unwrap();
        let mut more = said.clone();
        more["more"] = json!("é");
        let path = format!("/{}/array", names[0]);
        let case = store.book.cases.iter_mut().find(|case| case["path"] == path.as_str()).unwrap();
        case["attributes"] = more;
        check_all(&book);
    }
}

#[test]
fn other_programs_read_consolidated_metadata() {
    for format in [Format::V2, Format::V3] {
        let mut book = Book::new(format);
        let said: Value = serde_json::from_str(ATTRIBUTES).unwrap();
        let mut store = book.store("consolidated");
        store.group("/a", &said, Some(&["b", "one"]));
        store.group("/a/b", &json!({"x": 1}), Some(&["two"]));
        let builder = ArrayBuilder::new([5], "float32").chunks([2]).fill_value("NaN");
        store.whole("/a/one", &builder.attributes(attributes(&json!({"é": "日本"}))), "<f4", &no_skip());
        store.whole("/a/b/two", &ArrayBuilder::new([3, 3], "uint16").chunks([2, 2]), "<u2", &no_skip());
        store.hierarchy.consolidate("/").unwrap();
        store.case(json!({
            "node_type": "group", "path": "/", "attributes": {}, "children": ["a"], "consolidated": true,
        }));
        // Readers of consolidated metadata do not need the documents: once this one is removed, only the
        // consolidated metadata describe /a/b/two.
        let document = if format == Format::V2 { "a/b/two/.zarray" } else { "a/b/two/zarr.json" };
        check_all(&book);
        std::fs::remove_file(book.location("consolidated").join(document)).unwrap();
        book.cases.retain(|case| case["consolidated"] == true);
        let Some(zarr3) = python(Packages::Zarr3) else { return };
        book.check(&zarr3, "zarr3");
    }
}

#[test]
fn other_programs_read_resized_and_appended_arrays() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("resized");
        let builder = ArrayBuilder::new([5, 4], "int32").chunks([2, 3]).fill_value(9);
        store.array("/array", &builder, &json!("<i4"), &no_skip(), |array| {
            array.write_values::<i32>(&Selection::All, &(0..20).collect::<Vec<_>>()).unwrap();
            vec![]
        });
        let mut array = store.hierarchy.array("/array").unwrap();
        array.resize(&[2, 4]).unwrap();
        array.append(0, &100i32.to_ne_bytes().repeat(4)).unwrap();
        array.resize(&[4, 4]).unwrap();
        let wanted: Vec<i32> = (0..8).chain([100; 4]).chain([9; 4]).collect();
        assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), wanted);
        let case = store.book.cases.last_mut().unwrap();
        case["shape"] = json!([4, 4]);
        let file = case["raw"].as_str().unwrap().to_owned();
        let bytes: Vec<u8> = wanted.into_iter().flat_map(i32::to_le_bytes).collect();
        std::fs::write(book.folder.path().join(file), bytes).unwrap();
        check_all(&book);
    }
}
