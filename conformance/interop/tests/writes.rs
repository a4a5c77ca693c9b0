//! What the engine writes, read by other programs and compared bit for bit.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zarr_interop::environment::run_script;
use zarr_interop::samples::{ATTRIBUTES, GEOMETRIES, NAMES, items};
use zarr_interop::{Packages, Random, python, raw, reference};
use zarr_kit::spec::json as spec_json;
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Order, Selection, open_store};

const FORMATS: [Format; 3] = [Format::V2, Format::V3, Format::V3Draft];

const INTEGERS: &[(&str, &str)] = &[
    ("int8", "|i1"),
    ("uint8", "|u1"),
    ("int16", "<i2"),
    ("uint16", "<u2"),
    ("int32", "<i4"),
    ("uint32", "<u4"),
    ("int64", "<i8"),
    ("uint64", "<u8"),
];

const OTHERS: &[(&str, &str)] = &[
    ("bool", "|b1"),
    ("float16", "<f2"),
    ("float32", "<f4"),
    ("float64", "<f8"),
    ("complex64", "<c8"),
    ("complex128", "<c16"),
];

fn numbers() -> impl Iterator<Item = (&'static str, &'static str)> {
    INTEGERS.iter().chain(OTHERS).copied()
}

fn value(json: &Value) -> spec_json::Value {
    spec_json::to_value(json).unwrap()
}

fn attributes(json: &Value) -> spec_json::Object {
    value(json).as_object().unwrap().clone()
}

/// Hierarchies of one format in a folder, and what must be read from them.
struct Book {
    folder: tempfile::TempDir,
    context: Context,
    format: Format,
    cases: Vec<Value>,
    files: usize,
}

/// One hierarchy of a book.
struct Store<'b> {
    book: &'b mut Book,
    name: String,
    hierarchy: Hierarchy,
}

impl Book {
    fn new(format: Format) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("expected")).unwrap();
        Self { folder, context: Context::linked().unwrap(), format, cases: Vec::new(), files: 0 }
    }

    fn store(&mut self, name: &str) -> Store<'_> {
        let location = self.folder.path().join(name);
        let store = open_store(self.context.registry(), location.to_str().unwrap()).unwrap();
        let hierarchy = Hierarchy::create(store, &self.context, self.format).unwrap();
        let mut store = Store { hierarchy, name: name.to_owned(), book: self };
        store.group("/", &json!({}), None);
        store
    }

    /// Lets a program read all cases but those of which it is said that it cannot.
    fn check(&self, python: &Path, reader: &str) {
        let index = self.folder.path().join(format!("{reader}.json"));
        let cases = self.cases.iter().filter(|case| reader != "tensorstore" || case["node_type"] == "array");
        let mut cases: Vec<Value> = cases.cloned().collect();
        // zarr-python lists a group by opening what is in it.
        let unreadable = |case: &Value| !case["skip"][reader].is_null();
        let stores: Vec<Value> =
            cases.iter().filter(|case| unreadable(case)).map(|case| case["store"].clone()).collect();
        for case in
            cases.iter_mut().filter(|case| case["node_type"] == "group" && stores.contains(&case["store"]))
        {
            case["skip"] = json!({reader: "there are arrays in it that it cannot open"});
        }
        std::fs::write(&index, serde_json::to_vec(&cases).unwrap()).unwrap();
        let arguments = [index.as_os_str(), "--reader".as_ref(), reader.as_ref()];
        let (output, good) = run_script(python, "read_check.py", &arguments);
        println!("{reader}: {}", output.lines().last().unwrap_or_default());
        let shown =
            output.lines().take(30).map(|line| &line[..line.floor_char_boundary(400)]).collect::<Vec<_>>();
        assert!(good, "{reader} of {}:\n{}", self.format, shown.join("\n"));
        let skipped = cases.iter().filter(|case| unreadable(case)).count();
        let read = cases.len() - skipped;
        let wanted = format!("{read} read, {read} equal, 0 different, {skipped} refused");
        assert_eq!(output.trim().lines().last(), Some(wanted.as_str()), "{output}");
        assert!(read > 0 || reader == "tensorstore");
    }

    fn location(&self, store: &str) -> PathBuf {
        self.folder.path().join(store)
    }
}

impl Store<'_> {
    fn group(&mut self, path: &str, attributes: &Value, children: Option<&[&str]>) {
        self.hierarchy.create_group(path, self::attributes(attributes)).unwrap();
        self.case(
            json!({"node_type": "group", "path": path, "attributes": attributes, "children": children}),
        );
    }

    fn case(&mut self, case: Value) {
        let mut case = case;
        let path = case["path"].as_str().unwrap().to_owned();
        case["case"] = json!(format!("{}{path}", self.name));
        case["store"] = json!(self.name);
        case["format"] = json!(match self.book.format {
            Format::V2 => "v2",
            Format::V3 => "v3",
            Format::V3Draft => "v3-draft-b",
        });
        self.book.cases.push(case);
    }

    /// Creates an array, lets `write` fill it, and notes what it must hold then; `skip` says who cannot read it.
    fn array(
        &mut self,
        path: &str,
        builder: &ArrayBuilder,
        descriptor: &Value,
        skip: &Value,
        write: impl FnOnce(&Array) -> Vec<Vec<u8>>,
    ) {
        let array = self.hierarchy.create_array(path, builder);
        let array = array.unwrap_or_else(|error| panic!("{}{path}: {error}", self.name));
        let expected = write(&array);
        let file = format!("expected/{:04}.raw", self.book.files);
        self.book.files += 1;
        std::fs::write(self.book.folder.path().join(&file), expected.concat()).unwrap();
        let attributes = zarr_interop::cases::in_other_words(array.attributes()).unwrap();
        self.case(json!({
            "node_type": "array", "path": path, "shape": array.shape(), "dtype": descriptor, "raw": file,
            "skip": skip, "attributes": attributes,
        }));
    }

    /// A whole array of samples.
    fn whole(&mut self, path: &str, builder: &ArrayBuilder, descriptor: &str, skip: &Value) {
        self.array(path, builder, &json!(descriptor), skip, |array| {
            let count = array.shape().iter().product::<u64>();
            let items = items(descriptor, usize::try_from(count).unwrap(), count + 3);
            array.write(&Selection::All, &raw::to_write(&**array.data_type(), &items)).unwrap();
            items
        });
    }

    /// An array of which random parts are written, some of them twice, and others not at all.
    fn parts(&mut self, path: &str, builder: &ArrayBuilder, descriptor: &str, skip: &Value) {
        self.array(path, builder, &json!(descriptor), skip, |array| {
            let mut random = Random::new(path.len() as u64);
            let count = usize::try_from(array.shape().iter().product::<u64>()).unwrap();
            let mut expected = vec![raw::item(&**array.data_type(), array.fill_value().bytes()); count];
            for round in 0..4 {
                let selection = random.selection(array.shape(), false);
                let positions = reference::positions(&selection, array.shape());
                let items = items(descriptor, positions.len(), round);
                array.write(&selection, &raw::to_write(&**array.data_type(), &items)).unwrap();
                for (position, item) in positions.into_iter().zip(items) {
                    expected[position] = item;
                }
            }
            expected
        });
    }
}

fn no_skip() -> Value {
    json!({})
}

/// Every program that reads the format gets the book.
fn check_all(book: &Book) {
    let zarr3 = python(Packages::Zarr3);
    match book.format {
        Format::V3Draft => {
            let Some(zarr3) = zarr3 else { return };
            book.check(&zarr3, "draft");
        }
        Format::V3 | Format::V2 => {
            if let Some(zarr3) = &zarr3 {
                book.check(zarr3, "zarr3");
                book.check(zarr3, "tensorstore");
            }
            if book.format == Format::V2
                && let Some(zarr2) = python(Packages::Zarr2)
            {
                book.check(&zarr2, "zarr2");
            }
        }
    }
}

/// The type as the format wants it for a byte order, and the builder with what else says the order.
fn ordered(
    format: Format,
    name: &str,
    descriptor: &str,
    big: bool,
    shape: &[u64],
    chunk: &[u64],
) -> ArrayBuilder {
    let data_type = match format {
        Format::V2 => descriptor.replace('<', if big { ">" } else { "<" }),
        _ => name.to_owned(),
    };
    let builder = ArrayBuilder::new(shape, data_type.as_str()).chunks(chunk).uncompressed();
    match format {
        Format::V2 => builder,
        _ if descriptor.starts_with('|') => builder,
        _ => builder.codec("bytes", value(&json!({"endian": if big { "big" } else { "little" }}))),
    }
}

#[test]
fn numbers_of_every_type_and_order_are_read_by_others() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("numbers");
        for (name, descriptor) in numbers() {
            for big in [false, true] {
                for order in [Order::C, Order::F] {
                    let path = format!("/{name}-{}-{order:?}", if big { "big" } else { "little" });
                    let builder = ordered(format, name, descriptor, big, &[5, 7], &[2, 3]).order(order);
                    store.whole(&path, &builder, descriptor, &no_skip());
                    store.parts(&format!("{path}-parts"), &builder, descriptor, &no_skip());
                }
            }
        }
        check_all(&book);
    }
}

#[test]
fn arrays_of_every_shape_are_read_by_others() {
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

/// Codecs by any of their names, and why programs cannot read them.
fn codecs(format: Format) -> Vec<(&'static str, Value, Value)> {
    let not_there = |reader: &str, reason: &str| json!({reader: reason});
    let mut codecs = vec![
        ("gzip", json!({"level": 0}), no_skip()),
        ("gzip", json!({"level": 9}), no_skip()),
        ("zstd", json!({"level": -3, "checksum": false}), no_skip()),
        (
            "zstd",
            json!({"level": 5, "checksum": true}),
            if format == Format::V2 {
                not_there("tensorstore", "it has no checksums in v2")
            } else {
                no_skip()
            },
        ),
    ];
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"] {
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"] {
            let skip = match cname {
                "snappy" if format == Format::V3Draft => {
                    not_there("draft", "numcodecs has blosc without snappy")
                }
                "snappy" => json!({"zarr3": "numcodecs has blosc without snappy", "zarr2": "so here"}),
                _ => no_skip(),
            };
            let configuration =
                json!({"cname": cname, "clevel": 5, "shuffle": shuffle, "typesize": 4, "blocksize": 0});
            codecs.push(("blosc", configuration, skip));
        }
    }
    let foreign = match format {
        Format::V3 => json!({"tensorstore": "a codec of numcodecs"}),
        _ => no_skip(),
    };
    codecs.push(("crc32c", json!({}), no_skip()));
    if format != Format::V3Draft {
        let no_tensorstore = json!({"tensorstore": "not among its codecs"});
        codecs.push(("lz4", json!({"acceleration": 1}), no_tensorstore.clone()));
        codecs.push(("lzma", json!({"preset": 1}), no_tensorstore));
    }
    codecs.push(("zlib", json!({"level": 3}), foreign.clone()));
    codecs.push(("bz2", json!({"level": 3}), foreign));
    if format == Format::V2 {
        // These stand in the list of filters there, which tensorstore does not have.
        codecs.retain(|(name, ..)| *name != "crc32c");
    }
    if format == Format::V3Draft {
        codecs.retain(|(name, ..)| *name != "crc32c");
        for (.., skip) in codecs.iter_mut().filter(|(name, ..)| ["zstd", "zlib", "bz2"].contains(name)) {
            *skip = json!({"draft": "a codec that the drafts do not name: it has a URI of our own"});
        }
    }
    codecs
}

#[test]
fn compressed_arrays_are_read_by_others() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("codecs");
        for (number, (name, configuration, skip)) in codecs(format).into_iter().enumerate() {
            for (type_name, descriptor) in [("uint8", "|u1"), ("int32", "<i4"), ("float64", "<f8")] {
                let builder = ArrayBuilder::new([13, 11], type_name).chunks([6, 11]);
                let builder = builder.codec(name, value(&configuration));
                store.whole(&format!("/{number}-{name}-{type_name}"), &builder, descriptor, &skip);
            }
        }
        check_all(&book);
    }
}

#[test]
fn filters_of_v2_are_read_by_others() {
    let mut book = Book::new(Format::V2);
    let mut store = book.store("filters");
    let skip = json!({"tensorstore": "it has no filters"});
    for (descriptor, size) in [("<i4", 4), (">i2", 2), ("<u8", 8)] {
        let delta = ("delta", json!({"dtype": descriptor}));
        let shuffle = ("shuffle", json!({"elementsize": size}));
        let scaled =
            ("fixedscaleoffset", json!({"offset": 0, "scale": 1, "dtype": descriptor, "astype": descriptor}));
        let checksum = ("crc32c", json!({}));
        let chains = [
            vec![delta.clone()],
            vec![shuffle.clone()],
            vec![delta.clone(), shuffle],
            vec![scaled],
            vec![delta, checksum],
        ];
        for (number, chain) in chains.iter().enumerate() {
            for compressor in [None, Some("zlib")] {
                let mut builder = ArrayBuilder::new([9, 8], descriptor).chunks([4, 8]);
                for (name, configuration) in chain {
                    builder = builder.codec(*name, value(configuration));
                }
                builder = match compressor {
                    Some(name) => builder.codec(name, value(&json!({"level": 1}))),
                    None => builder,
                };
                let path = format!(
                    "/{}-{number}-{}",
                    descriptor.replace(['<', '>'], ""),
                    compressor.unwrap_or("none")
                );
                store.array(&path, &builder, &json!(descriptor), &skip, |array| {
                    // Small numbers: those that are scaled go through floats.
                    let items: Vec<Vec<u8>> =
                        (0..72u64).map(|number| (number / 3 % 50).to_le_bytes()[..size].to_vec()).collect();
                    array.write(&Selection::All, &raw::to_write(&**array.data_type(), &items)).unwrap();
                    items
                });
            }
        }
    }
    check_all(&book);
}

#[test]
fn shards_are_read_by_others() {
    let mut book = Book::new(Format::V3);
    let mut store = book.store("shards");
    let shapes: [(&[u64], &[u64], &[u64]); 4] = [
        (&[7, 9], &[4, 6], &[2, 3]),
        (&[10], &[4], &[4]),
        (&[5, 4, 3], &[4, 4, 4], &[1, 2, 4]),
        (&[], &[], &[]),
    ];
    let zarr3_fails =
        json!({"zarr3": "it refuses a permutation before shards whose chunk it does not divide unturned"});
    for (number, (shape, shard, inner)) in shapes.into_iter().enumerate() {
        for location in ["start", "end"] {
            for (word, index) in [
                (
                    "crc",
                    json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]),
                ),
                ("big", json!([{"name": "bytes", "configuration": {"endian": "big"}}])),
            ] {
                for (chain_word, chain) in [
                    ("plain", json!([{"name": "bytes", "configuration": {"endian": "big"}}])),
                    (
                        "gzip",
                        json!([{"name": "bytes", "configuration": {"endian": "little"}},
                        {"name": "gzip", "configuration": {"level": 1}}]),
                    ),
                ] {
                    let sharding = json!({
                        "chunk_shape": inner, "codecs": chain, "index_codecs": index, "index_location": location,
                    });
                    let builder = ArrayBuilder::new(shape, "int32").chunks(shard).fill_value(-5);
                    let builder = builder.codec("sharding_indexed", value(&sharding));
                    let path = format!("/{number}-{location}-{word}-{chain_word}");
                    store.whole(&path, &builder, "<i4", &no_skip());
                    store.parts(&format!("{path}-parts"), &builder, "<i4", &no_skip());
                    if !shape.is_empty() && chain_word == "plain" {
                        let order: Vec<usize> = (0..shape.len()).rev().collect();
                        let turned: Vec<u64> = inner.iter().rev().copied().collect();
                        let sharding = json!({
                            "chunk_shape": turned, "codecs": chain, "index_codecs": index, "index_location": location,
                        });
                        let builder = ArrayBuilder::new(shape, "int32").chunks(shard).fill_value(-5);
                        let builder = builder.codec("transpose", value(&json!({"order": order})));
                        let builder = builder.codec("sharding_indexed", value(&sharding));
                        let divides = shard.iter().zip(&turned).all(|(outer, inner)| outer % inner == 0);
                        let skip = if divides { no_skip() } else { zarr3_fails.clone() };
                        store.parts(&format!("{path}-turned"), &builder, "<i4", &skip);
                    }
                }
            }
        }
    }
    for (name, descriptor) in numbers() {
        let builder = ArrayBuilder::new([7, 9], name).chunks([2, 3]).shards([4, 6]);
        store.parts(&format!("/type-{name}"), &builder, descriptor, &no_skip());
    }
    let text = json!({"tensorstore": "it has no text of variable length in shards"});
    let builder = ArrayBuilder::new([7, 9], "string").chunks([2, 3]).shards([4, 6]);
    store.whole("/string", &builder, "string", &text);
    store.parts("/string-parts", &builder, "string", &text);
    check_all(&book);
}

#[test]
fn permutations_are_read_by_others() {
    let mut book = Book::new(Format::V3);
    let mut store = book.store("permutations");
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1], [0, 2, 1]] {
        for second in [None, Some([1, 2, 0])] {
            for codec in [None, Some("gzip")] {
                let mut builder = ArrayBuilder::new([5, 4, 3], "float32").chunks([2, 3, 2]).uncompressed();
                builder = builder.codec("transpose", value(&json!({"order": order})));
                if let Some(order) = second {
                    builder = builder.codec("transpose", value(&json!({"order": order})));
                }
                builder = builder.codec("bytes", value(&json!({"endian": "big"})));
                if let Some(codec) = codec {
                    builder = builder.codec(codec, value(&json!({"level": 1})));
                }
                let path = format!("/{order:?}-{second:?}-{}", codec.unwrap_or("none"));
                store.parts(&path, &builder, "<f4", &no_skip());
            }
        }
    }
    check_all(&book);
}

#[test]
fn fill_values_are_read_by_others() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("fills");
        let (infinity, nan) =
            if format == Format::V3Draft { ("+Infinity", "NaN") } else { ("Infinity", "NaN") };
        let zero = json!({"zarr2": "it reads -0.0 as 0.0"});
        let complex = json!({"zarr2": "it misreads NaN and Infinity in complex numbers"});
        let quiet = json!({"zarr3": "it makes signalling NaNs quiet"});
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
fn times_text_and_bytes_are_read_by_others() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("types");
        let no_tensorstore = json!({"tensorstore": "it does not have the type"});
        let no_rank_zero = json!({"tensorstore": "it does not have the type", "zarr3": "numcodecs refuses rank 0",
            "zarr2": "numcodecs refuses rank 0"});
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
                    let builder = builder.codec(codec, value(&json!({})));
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
fn structures_are_read_by_others() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("structures");
        let flat =
            json!([["a", "<i4"], ["b", if format == Format::V2 { ">f8" } else { "<f8" }], ["c", "|u1"]]);
        let nested = json!([["a", "<u2"], ["b", [["x", "<f4"], ["y", [["z", "|i1"], ["t", "|b1"]]]]]]);
        let sub = json!([["x", "<f4"], ["z", "<i2", [2, 2]]]);
        let no_tensorstore = json!({"tensorstore": "fields within fields, or none at all in v3"});
        for (name, dtype) in [("flat", &flat), ("nested", &nested), ("sub", &sub)] {
            if name == "sub" && format == Format::V3 {
                continue; // zarr-python refuses them.
            }
            let skip = match (name, format) {
                ("flat", Format::V2) => no_skip(),
                ("sub", Format::V2) => {
                    json!({"tensorstore": "fields within fields", "zarr3": "it refuses sub-arrays"})
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
fn groups_and_attributes_in_any_script_are_read_by_others() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let said: Value = serde_json::from_str(ATTRIBUTES).unwrap();
        // The older formats have names in ASCII alone.
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
        let mut array = store.hierarchy.array(&format!("/{}/array", names[0])).unwrap();
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
fn consolidated_metadata_are_read_by_others() {
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
        // The documents are not looked at any more: without this one, /a/b/two is only in the copy.
        let document = if format == Format::V2 { "a/b/two/.zarray" } else { "a/b/two/zarr.json" };
        check_all(&book);
        std::fs::remove_file(book.location("consolidated").join(document)).unwrap();
        book.cases.retain(|case| case["consolidated"] == true);
        let Some(zarr3) = python(Packages::Zarr3) else { return };
        book.check(&zarr3, "zarr3");
    }
}

#[test]
fn arrays_that_were_resized_and_appended_to_are_read_by_others() {
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
