//! Writes many small hierarchies with the `zarrs` crate: `write-with-zarrs OUT_DIR`.
//!
//! Each folder below `OUT_DIR` is one hierarchy. Prints the version of the crate.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArraySubset};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::GroupBuilder;

type Done = Result<(), Box<dyn Error>>;

/// The names and sizes in bytes of all types with a fixed size.
const FIXED: &[(&str, u64)] = &[
    ("bool", 1),
    ("int2", 1),
    ("uint4", 1),
    ("int8", 1),
    ("uint8", 1),
    ("int16", 2),
    ("uint16", 2),
    ("int32", 4),
    ("uint32", 4),
    ("int64", 8),
    ("uint64", 8),
    ("bfloat16", 2),
    ("float16", 2),
    ("float32", 4),
    ("float64", 8),
    ("complex64", 8),
    ("complex128", 16),
    ("float8_e4m3", 1),
    ("r24", 3),
];

const WORDS: [&str; 5] = ["a", "", "é", "日本", "a longer word"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = arguments.as_slice() else {
        eprintln!("usage: write-with-zarrs OUT_DIR");
        return ExitCode::from(2);
    };
    match write(&Folder(Path::new(folder))) {
        Ok(()) => {
            println!("zarrs {}", zarrs::version::version_str());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Folder<'_>) -> Done {
    types(folder)?;
    other_types(folder)?;
    grids(folder)?;
    codecs(folder)?;
    filters(folder)?;
    shards(folder)?;
    fills(folder)?;
    groups(folder)?;
    second_format(folder)
}

/// The folder for the hierarchies.
struct Folder<'a>(&'a Path);

impl Folder<'_> {
    /// Creates an array without chunks at the root of a store.
    fn array(&self, name: &str, document: Value) -> Result<Array<FilesystemStore>, Box<dyn Error>> {
        let store = Arc::new(FilesystemStore::new(self.0.join(name))?);
        let metadata: ArrayMetadata = serde_json::from_value(document)?;
        let array =
            Array::new_with_metadata(store, "/", metadata).map_err(|error| format!("{name}: {error}"))?;
        array.store_metadata()?;
        Ok(array)
    }

    /// Creates an array of numbers of `size` bytes, with all its chunks.
    fn numbers(&self, name: &str, size: u64, document: Value) -> Done {
        let array = self.array(name, document)?;
        let all = array.subset_all();
        store(&array, &all, size).map_err(|error| format!("{name}: {error}").into())
    }

    /// Creates an array of five strings.
    fn words(&self, name: &str, codecs: Value) -> Done {
        let members = json!({"fill_value": "é", "codecs": codecs});
        let array = self.array(name, v3("string", &[5], &[3], members))?;
        Ok(array.store_array_subset(&array.subset_all(), &WORDS[..])?)
    }
}

/// Writes bytes of 0 and 1, which are valid in every type.
fn store(array: &Array<FilesystemStore>, subset: &ArraySubset, size: u64) -> Done {
    let bytes: Vec<u8> = (0..subset.num_elements() * size).map(|place| u8::from(place % 7 < 3)).collect();
    Ok(array.store_array_subset(subset, ArrayBytes::new_flen(bytes))?)
}

/// Returns a v3 document. `members` adds and replaces members.
fn v3(data_type: impl Into<Value>, shape: &[u64], chunks: &[u64], members: Value) -> Value {
    let document = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": data_type.into(),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [bytes()],
    });
    completed(document, members)
}

/// Returns a v2 document.
fn v2(data_type: &str, shape: &[u64], chunks: &[u64], members: Value) -> Value {
    let document = json!({
        "zarr_format": 2,
        "shape": shape,
        "chunks": chunks,
        "dtype": data_type,
        "compressor": null,
        "fill_value": 0,
        "order": "C",
        "filters": null,
    });
    completed(document, members)
}

fn completed(mut document: Value, members: Value) -> Value {
    if let (Value::Object(document), Value::Object(members)) = (&mut document, members) {
        document.extend(members);
    }
    document
}

fn named(name: &str, configuration: Value) -> Value {
    json!({"name": name, "configuration": configuration})
}

fn bytes() -> Value {
    named("bytes", json!({"endian": "little"}))
}

fn crc32c() -> Value {
    json!({"name": "crc32c"})
}

fn zstd() -> Value {
    named("zstd", json!({"level": 1, "checksum": false}))
}

fn types(folder: &Folder<'_>) -> Done {
    for (number, &(name, size)) in FIXED.iter().enumerate() {
        let endian = if number % 2 == 0 { "little" } else { "big" };
        let fill = match name {
            "bool" => json!(false),
            "complex64" | "complex128" => json!([0.0, "NaN"]),
            "r24" => json!([1, 2, 3]),
            _ => json!(0),
        };
        let codecs = json!([named("bytes", json!({"endian": endian}))]);
        let members = json!({"fill_value": fill, "codecs": codecs});
        folder.numbers(&format!("type-{name}"), size, v3(name, &[3], &[2], members))?;
    }
    for kind in ["datetime64", "timedelta64"] {
        let data_type = named(&format!("numpy.{kind}"), json!({"unit": "ms", "scale_factor": 10}));
        let members = json!({"fill_value": "NaT"});
        folder.numbers(&format!("type-{kind}"), 8, v3(data_type, &[3], &[2], members))?;
    }
    Ok(())
}

fn other_types(folder: &Folder<'_>) -> Done {
    let text = || json!({"name": "vlen-utf8"});
    folder.words("type-string", json!([text()]))?;
    folder.words("type-string-zstd", json!([text(), zstd()]))?;
    let array = folder.array(
        "type-bytes",
        v3("bytes", &[5], &[3], json!({"fill_value": [255, 0], "codecs": [{"name": "vlen-bytes"}]})),
    )?;
    let items: Vec<&[u8]> = WORDS.iter().map(|word| word.as_bytes()).collect();
    array.store_array_subset(&array.subset_all(), &items)?;
    let inner = json!({"mask_codecs": [{"name": "packbits"}], "data_codecs": [bytes()]});
    let codecs = json!([named("zarrs.optional", inner)]);
    let data_type = named("zarrs.optional", json!({"name": "int16", "configuration": {}}));
    let array = folder
        .array("type-optional", v3(data_type, &[5], &[3], json!({"fill_value": null, "codecs": codecs})))?;
    let items = vec![Some(1i16), None, Some(-3), None, Some(i16::MAX)];
    Ok(array.store_array_subset(&array.subset_all(), items)?)
}

fn grids(folder: &Folder<'_>) -> Done {
    let shapes: [(&[u64], &[u64], &str, &str); 5] = [
        (&[], &[], "default", "/"),
        (&[0], &[2], "default", "."),
        (&[3], &[10], "v2", "."),
        (&[5, 3], &[2, 2], "v2", "/"),
        (&[2, 1, 3, 2], &[1, 1, 2, 2], "default", "."),
    ];
    for (number, (shape, chunks, encoding, separator)) in shapes.into_iter().enumerate() {
        let members = json!({
            "fill_value": 7,
            "chunk_key_encoding": named(encoding, json!({"separator": separator})),
        });
        folder.numbers(&format!("shape-{number}"), 2, v3("int16", shape, chunks, members))?;
    }
    let members = json!({
        "dimension_names": ["y", null],
        "attributes": {"é": [1, null, {"": 0.5}]},
        "chunk_grid": named("rectilinear", json!({"kind": "inline", "chunk_shapes": [[[1, 2], 3], 2]})),
    });
    folder.numbers("grid-rectilinear", 1, v3("uint8", &[5, 3], &[], members))
}

fn codecs(folder: &Folder<'_>) -> Done {
    let mut compressors = vec![
        ("gzip".to_owned(), json!([named("gzip", json!({"level": 1}))])),
        ("zstd".to_owned(), json!([zstd()])),
        ("zstd-checksum".to_owned(), json!([named("zstd", json!({"level": 1, "checksum": true}))])),
        ("crc32c".to_owned(), json!([crc32c()])),
        ("crc32c-zstd".to_owned(), json!([crc32c(), zstd()])),
        ("zlib".to_owned(), json!([named("numcodecs.zlib", json!({"level": 1}))])),
        ("bz2".to_owned(), json!([named("numcodecs.bz2", json!({"level": 1}))])),
        ("adler32".to_owned(), json!([named("numcodecs.adler32", json!({"location": "end"}))])),
        ("fletcher32".to_owned(), json!([named("numcodecs.fletcher32", json!({}))])),
        ("shuffle".to_owned(), json!([named("numcodecs.shuffle", json!({"elementsize": 4}))])),
    ];
    let shuffles = ["noshuffle", "shuffle", "bitshuffle"];
    for (number, inner) in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"].into_iter().enumerate() {
        let shuffle = shuffles[number % shuffles.len()];
        let members = json!({"cname": inner, "clevel": 5, "shuffle": shuffle, "typesize": 4, "blocksize": 0});
        compressors.push((format!("blosc-{inner}"), json!([named("blosc", members)])));
    }
    for (name, chain) in compressors {
        let mut codecs = vec![bytes()];
        codecs.extend(chain.as_array().into_iter().flatten().cloned());
        folder.numbers(&format!("codec-{name}"), 4, v3("int32", &[12], &[8], json!({"codecs": codecs})))?;
    }
    Ok(())
}

fn filters(folder: &Folder<'_>) -> Done {
    for (name, order, shape) in
        [("transpose-2", json!([1, 0]), &[4, 3][..]), ("transpose-3", json!([2, 0, 1]), &[4, 3, 2])]
    {
        let codecs = json!([named("transpose", json!({"order": order})), bytes()]);
        folder.numbers(name, 2, v3("int16", shape, shape, json!({"codecs": codecs})))?;
    }
    let codecs = json!([named("reshape", json!({"shape": [[0, 1], -1]})), bytes()]);
    folder.numbers("reshape", 2, v3("int16", &[2, 3, 2], &[2, 3, 2], json!({"codecs": codecs})))?;
    let members = json!({"offset": 1, "scale": 4, "dtype": "<i4", "astype": "<i4"});
    let codecs = json!([named("numcodecs.fixedscaleoffset", members), bytes()]);
    folder.numbers("scaled", 4, v3("int32", &[12], &[8], json!({"codecs": codecs})))?;
    for (name, padding) in [("bool", "first_byte"), ("uint4", "last_byte"), ("int2", "none")] {
        let codecs = json!([named("packbits", json!({"padding_encoding": padding}))]);
        let fill = if name == "bool" { json!(true) } else { json!(1) };
        let members = json!({"fill_value": fill, "codecs": codecs});
        folder.numbers(&format!("packbits-{name}"), 1, v3(name, &[11], &[7], members))?;
    }
    Ok(())
}

fn shard(chunks: &[u64], codecs: Value, location: &str, index: Value) -> Value {
    let members =
        json!({"chunk_shape": chunks, "codecs": codecs, "index_codecs": index, "index_location": location});
    named("sharding_indexed", members)
}

fn shards(folder: &Folder<'_>) -> Done {
    let checked = || json!([bytes(), crc32c()]);
    for location in ["start", "end"] {
        for (name, inner, index) in [
            ("plain", json!([bytes()]), json!([bytes()])),
            ("zstd", json!([bytes(), zstd()]), checked()),
            ("crc32c", json!([bytes(), crc32c()]), checked()),
        ] {
            let codecs = json!([shard(&[2, 3], inner, location, index)]);
            let document = v3("int16", &[4, 4], &[4, 3], json!({"codecs": codecs}));
            folder.numbers(&format!("shard-{location}-{name}"), 2, document)?;
        }
        let innermost = shard(&[1, 2], json!([bytes()]), location, json!([bytes()]));
        let codecs = json!([shard(&[2, 2], json!([innermost]), location, checked())]);
        let document = v3("uint8", &[5, 4], &[4, 4], json!({"codecs": codecs}));
        folder.numbers(&format!("shard-{location}-nested"), 1, document)?;
        let codecs = json!([shard(&[2], json!([bytes()]), location, checked())]);
        let document = v3("float32", &[9], &[6], json!({"fill_value": 9.0, "codecs": codecs}));
        let holes = folder.array(&format!("shard-{location}-holes"), document)?;
        store(&holes, &ArraySubset::new_with_start_shape(vec![2], vec![2])?, 4)?;
    }
    let codecs = shard(&[1], json!([{"name": "vlen-utf8"}]), "end", checked());
    folder.words("shard-string", json!([codecs]))
}

fn fills(folder: &Folder<'_>) -> Done {
    let fills = [
        ("float32", 4, json!("NaN")),
        ("float64", 8, json!("0x7ff8000000000001")),
        ("float16", 2, json!("-Infinity")),
        ("int64", 8, json!(i64::MIN)),
        ("uint64", 8, json!(u64::MAX)),
        ("complex64", 8, json!([1.5, "NaN"])),
        ("bool", 1, json!(true)),
    ];
    for (data_type, size, fill) in fills {
        let members = json!({"fill_value": fill});
        let array = folder.array(&format!("fill-{data_type}"), v3(data_type, &[7], &[2], members))?;
        store(&array, &ArraySubset::new_with_start_shape(vec![2], vec![2])?, size)?;
    }
    Ok(())
}

fn groups(folder: &Folder<'_>) -> Done {
    let files = Arc::new(FilesystemStore::new(folder.0.join("groups"))?);
    for path in ["/", "/a", "/a/b"] {
        let mut group = GroupBuilder::new().build(Arc::clone(&files), path)?;
        group.attributes_mut().insert("path".to_owned(), json!([path, 0.1, null, {"é": true}]));
        group.store_metadata()?;
    }
    for path in ["/a/one", "/a/b/日本語"] {
        let metadata: ArrayMetadata = serde_json::from_value(v3("uint16", &[3], &[2], json!({})))?;
        let array = Array::new_with_metadata(Arc::clone(&files), path, metadata)?;
        array.store_metadata()?;
        store(&array, &array.subset_all(), 2)?;
    }
    Ok(())
}

fn second_format(folder: &Folder<'_>) -> Done {
    let types = [("|b1", 1), ("<i2", 2), (">u4", 4), ("<f8", 8), (">c8", 8)];
    for (number, (data_type, size)) in types.into_iter().enumerate() {
        let order = if number % 2 == 0 { "C" } else { "F" };
        let separator = if number % 2 == 0 { "." } else { "/" };
        let fill = if size == 1 { json!(false) } else { json!(0) };
        let fill = if data_type == ">c8" { json!([0.0, 1.0]) } else { fill };
        let members = json!({"order": order, "dimension_separator": separator, "fill_value": fill});
        folder.numbers(
            &format!("v2-type-{}", &data_type[1..]),
            size,
            v2(data_type, &[3, 2], &[2, 2], members),
        )?;
    }
    for name in ["zlib", "gzip", "bz2", "zstd"] {
        let members = json!({"compressor": {"id": name, "level": 1}});
        folder.numbers(&format!("v2-codec-{name}"), 4, v2("<i4", &[12], &[8], members))?;
    }
    let blosc = json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0});
    folder.numbers("v2-codec-blosc", 4, v2("<i4", &[12], &[8], json!({"compressor": blosc})))?;
    let members = json!({"filters": [{"id": "vlen-utf8"}], "fill_value": ""});
    let array = folder.array("v2-string", v2("|O", &[5], &[3], members))?;
    Ok(array.store_array_subset(&array.subset_all(), &WORDS[..])?)
}
