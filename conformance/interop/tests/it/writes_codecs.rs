//! The engine writes with codecs, shards and permutations, other programs read, and the elements are compared
//! bit for bit.

use serde_json::{Value, json};
use zarr_interop::book::{Book, check_all, no_skip, value};
use zarr_interop::raw;
use zarr_interop::samples::NUMBERS;
use zarr_kit::{ArrayBuilder, Format, Selection};

const FORMATS: [Format; 3] = [Format::V2, Format::V3, Format::V3Draft];

/// Returns codecs: a name, the configuration, and the programs that cannot read it, each with the reason.
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
                not_there("tensorstore", "does not support checksums in v2")
            } else {
                no_skip()
            },
        ),
    ];
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"] {
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"] {
            let skip = match cname {
                "snappy" if format == Format::V3Draft => {
                    not_there("draft", "blosc of numcodecs lacks snappy")
                }
                "snappy" => {
                    json!({"zarr3": "blosc of numcodecs lacks snappy", "zarr2": "blosc of numcodecs lacks snappy"})
                }
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
        // In v2, `crc32c` is a filter, which tensorstore does not support.
        codecs.retain(|(name, ..)| *name != "crc32c");
    }
    if format == Format::V3Draft {
        codecs.retain(|(name, ..)| *name != "crc32c");
        for (.., skip) in codecs.iter_mut().filter(|(name, ..)| ["zstd", "zlib", "bz2"].contains(name)) {
            *skip = json!({"draft": "a codec without a name in the drafts, written with our own URI"});
        }
    }
    codecs
}

#[test]
fn other_programs_read_compressed_arrays() {
    for format in FORMATS {
        let mut book = Book::new(format);
        let mut store = book.store("codecs");
        for (number, (name, configuration, skip)) in codecs(format).into_iter().enumerate() {
            for (type_name, descriptor) in [("uint8", "|u1"), ("int32", "<i4"), ("float64", "<f8")] {
                let builder = ArrayBuilder::new([13, 11], type_name).chunks([6, 11]);
                let builder = builder.codec((name, value(&configuration)));
                store.whole(&format!("/{number}-{name}-{type_name}"), &builder, descriptor, &skip);
            }
        }
        check_all(&book);
    }
}

#[test]
fn other_programs_read_filters_of_v2() {
    let mut book = Book::new(Format::V2);
    let mut store = book.store("filters");
    let skip = json!({"tensorstore": "does not support filters"});
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
                    builder = builder.codec((*name, value(configuration)));
                }
                builder = match compressor {
                    Some(name) => builder.codec((name, value(&json!({"level": 1})))),
                    None => builder,
                };
                let path = format!(
                    "/{}-{number}-{}",
                    descriptor.replace(['<', '>'], ""),
                    compressor.unwrap_or("none")
                );
                store.array(&path, &builder, &json!(descriptor), &skip, |array| {
                    // The numbers are small, because `fixedscaleoffset` converts them to floats, which represent only
                    // small integers exactly.
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
fn other_programs_read_shards() {
    let mut book = Book::new(Format::V3);
    let mut store = book.store("shards");
    let shapes: [(&[u64], &[u64], &[u64]); 4] = [
        (&[7, 9], &[4, 6], &[2, 3]),
        (&[10], &[4], &[4]),
        (&[5, 4, 3], &[4, 4, 4], &[1, 2, 4]),
        (&[], &[], &[]),
    ];
    let zarr3_fails =
        json!({"zarr3": "checks that inner chunks divide the shard without applying the transpose"});
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
                    let builder = builder.codec(("sharding_indexed", value(&sharding)));
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
                        let builder = builder.codec(("transpose", value(&json!({"order": order}))));
                        let builder = builder.codec(("sharding_indexed", value(&sharding)));
                        let divides = shard.iter().zip(&turned).all(|(outer, inner)| outer % inner == 0);
                        let skip = if divides { no_skip() } else { zarr3_fails.clone() };
                        store.parts(&format!("{path}-turned"), &builder, "<i4", &skip);
                    }
                }
            }
        }
    }
    check_all(&book);
}

#[test]
fn other_programs_read_shards_of_every_type() {
    let mut book = Book::new(Format::V3);
    let mut store = book.store("shards-of-types");
    for (name, descriptor) in NUMBERS.iter().copied() {
        let builder = ArrayBuilder::new([7, 9], name).chunks([2, 3]).shards([4, 6]);
        store.parts(&format!("/type-{name}"), &builder, descriptor, &no_skip());
    }
    let text = json!({"tensorstore": "does not support text of variable length in shards"});
    let builder = ArrayBuilder::new([7, 9], "string").chunks([2, 3]).shards([4, 6]);
    store.whole("/string", &builder, "string", &text);
    store.parts("/string-parts", &builder, "string", &text);
    check_all(&book);
}

#[test]
fn other_programs_read_permutations() {
    let mut book = Book::new(Format::V3);
    let mut store = book.store("permutations");
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1], [0, 2, 1]] {
        for second in [None, Some([1, 2, 0])] {
            for codec in [None, Some("gzip")] {
                let mut builder = ArrayBuilder::new([5, 4, 3], "float32").chunks([2, 3, 2]).uncompressed();
                builder = builder.codec(("transpose", value(&json!({"order": order}))));
                if let Some(order) = second {
                    builder = builder.codec(("transpose", value(&json!({"order": order}))));
                }
                builder = builder.codec(("bytes", value(&json!({"endian": "big"}))));
                if let Some(codec) = codec {
                    builder = builder.codec((codec, value(&json!({"level": 1}))));
                }
                let path = format!("/{order:?}-{second:?}-{}", codec.unwrap_or("none"));
                store.parts(&path, &builder, "<f4", &no_skip());
            }
        }
    }
    check_all(&book);
}
