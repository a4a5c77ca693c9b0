//! The catalogue of all features, including disabled ones, so that errors can name the feature for an
//! identifier.

use zarr_spec::host::registry::{CatalogueEntry, ExtensionPoint, KnownIdentifiers};
use zarr_spec::inventory;

use ExtensionPoint::{
    ChunkGrid, ChunkKeyEncoding, Codec, DataType, GenericExtension, MemoryLayout, MetadataEncoding,
    StorageTransformer, Store,
};

/// All identifiers of every plugin of this workspace, and the feature that provides them.
pub const CATALOGUE: &[CatalogueEntry] = &[
    entry(
        Codec,
        "codec-adler32",
        &["https://zarr-kit.example/spec/codecs/adler32/1.0", "numcodecs.adler32", "adler32"],
    ),
    entry(
        Codec,
        "codec-astype",
        &["https://zarr-kit.example/spec/codecs/astype/1.0", "numcodecs.astype", "astype"],
    ),
    entry(
        Codec,
        "codec-base64",
        &["https://zarr-kit.example/spec/codecs/base64/1.0", "numcodecs.base64", "base64"],
    ),
    entry(
        Codec,
        "codec-bitround",
        &[
            "https://zarr-kit.example/spec/codecs/bitround/1.0",
            "bitround",
            "numcodecs.bitround",
            "https://codec.zarrs.dev/array_to_array/bitround",
        ],
    ),
    entry(Codec, "codec-bitshuffle", &["numcodecs.imagecodecs_bitshuffle", "imagecodecs_bitshuffle"]),
    entry(
        Codec,
        "codec-blosc",
        &[
            "https://purl.org/zarr/spec/codecs/blosc/1.0",
            "blosc",
            "numcodecs.blosc",
            "https://purl.org/zarr/spec/codec/blosc/1.0",
            "https://purl.org/zarr/spec/codec/blosc",
        ],
    ),
    entry(Codec, "codec-blosc2", &["imagecodecs_blosc2", "numcodecs.imagecodecs_blosc2"]),
    entry(Codec, "codec-brotli", &["imagecodecs_brotli", "numcodecs.imagecodecs_brotli"]),
    entry(Codec, "codec-bytes", &["https://purl.org/zarr/spec/codecs/endian/1.0", "bytes", "endian"]),
    entry(
        Codec,
        "codec-bz2",
        &[
            "https://zarr-kit.example/spec/codecs/bz2/1.0",
            "numcodecs.bz2",
            "bz2",
            "https://purl.org/zarr/spec/codec/bz2/1.0",
            "https://codec.zarrs.dev/bytes_to_bytes/bz2",
            "imagecodecs_bz2",
            "numcodecs.imagecodecs_bz2",
        ],
    ),
    entry(Codec, "codec-cast-value", &["https://zarr-kit.example/spec/codecs/cast-value/1.0", "cast_value"]),
    entry(
        Codec,
        "codec-categorize",
        &["https://zarr-kit.example/spec/codecs/categorize/1.0", "numcodecs.categorize", "categorize"],
    ),
    entry(Codec, "codec-conditional", &["conditional"]),
    entry(
        Codec,
        "codec-crc32",
        &["https://zarr-kit.example/spec/codecs/crc32/1.0", "numcodecs.crc32", "crc32"],
    ),
    entry(
        Codec,
        "codec-crc32c",
        &["https://zarr-kit.example/spec/codecs/crc32c/1.0", "crc32c", "numcodecs.crc32c"],
    ),
    entry(
        Codec,
        "codec-delta",
        &["https://zarr-kit.example/spec/codecs/delta/1.0", "numcodecs.delta", "delta"],
    ),
    entry(Codec, "codec-fill-hdf-strings", &["fill_hdf_strings"]),
    entry(
        Codec,
        "codec-fixedscaleoffset",
        &[
            "https://zarr-kit.example/spec/codecs/fixedscaleoffset/1.0",
            "numcodecs.fixedscaleoffset",
            "fixedscaleoffset",
            "https://codec.zarrs.dev/array_to_array/fixedscaleoffset",
        ],
    ),
    entry(
        Codec,
        "codec-fletcher32",
        &[
            "https://zarr-kit.example/spec/codecs/fletcher32/1.0",
            "numcodecs.fletcher32",
            "fletcher32",
            "https://codec.zarrs.dev/bytes_to_bytes/fletcher32",
        ],
    ),
    entry(Codec, "codec-floatpred", &["imagecodecs_floatpred", "numcodecs.imagecodecs_floatpred"]),
    entry(Codec, "codec-gdeflate", &["zarrs.gdeflate", "https://codec.zarrs.dev/bytes_to_bytes/gdeflate"]),
    entry(Codec, "codec-gribberish", &["gribberish", "grib", "numcodecs.grib", "gribscan.rawgrib"]),
    entry(
        Codec,
        "codec-gzip",
        &[
            "https://purl.org/zarr/spec/codecs/gzip/1.0",
            "gzip",
            "https://purl.org/zarr/spec/codec/gzip/1.0",
            "https://purl.org/zarr/spec/codec/gzip",
            "numcodecs.gzip",
        ],
    ),
    entry(Codec, "codec-imagecodecs-delta", &["imagecodecs_delta", "numcodecs.imagecodecs_delta"]),
    entry(Codec, "codec-imagecodecs-packbits", &["imagecodecs_packbits", "numcodecs.imagecodecs_packbits"]),
    entry(
        Codec,
        "codec-jenkins-lookup3",
        &[
            "https://zarr-kit.example/spec/codecs/jenkins-lookup3/1.0",
            "numcodecs.jenkins_lookup3",
            "jenkins_lookup3",
        ],
    ),
    entry(Codec, "codec-jpeg", &["imagecodecs_jpeg", "numcodecs.imagecodecs_jpeg"]),
    entry(Codec, "codec-jpeg2k", &["imagecodecs_jpeg2k", "numcodecs.imagecodecs_jpeg2k"]),
    entry(Codec, "codec-jpegls", &["imagecodecs_jpegls", "numcodecs.imagecodecs_jpegls"]),
    entry(Codec, "codec-jpegxl", &["imagecodecs_jpegxl", "numcodecs.imagecodecs_jpegxl"]),
    entry(
        Codec,
        "codec-json2",
        &["https://zarr-kit.example/spec/codecs/json2/1.0", "numcodecs.json2", "json2"],
    ),
    entry(Codec, "codec-lerc", &["imagecodecs_lerc", "numcodecs.imagecodecs_lerc"]),
    entry(
        Codec,
        "codec-lz4",
        &[
            "https://zarr-kit.example/spec/codecs/lz4/1.0",
            "numcodecs.lz4",
            "lz4",
            "https://purl.org/zarr/spec/codec/lz4/1.0",
            "imagecodecs_lz4",
            "numcodecs.imagecodecs_lz4",
        ],
    ),
    entry(Codec, "codec-lz4h5", &["imagecodecs_lz4h5", "numcodecs.imagecodecs_lz4h5"]),
    entry(Codec, "codec-lzf", &["imagecodecs_lzf", "numcodecs.imagecodecs_lzf"]),
    entry(
        Codec,
        "codec-lzma",
        &[
            "https://zarr-kit.example/spec/codecs/lzma/1.0",
            "numcodecs.lzma",
            "lzma",
            "https://purl.org/zarr/spec/codec/lzma/1.0",
            "imagecodecs_lzma",
            "numcodecs.imagecodecs_lzma",
        ],
    ),
    entry(Codec, "codec-lzw", &["imagecodecs_lzw", "numcodecs.imagecodecs_lzw"]),
    entry(
        Codec,
        "codec-msgpack2",
        &["https://zarr-kit.example/spec/codecs/msgpack2/1.0", "numcodecs.msgpack2", "msgpack2"],
    ),
    entry(Codec, "codec-n5-default", &["n5_default"]),
    entry(Codec, "codec-n5-lz4", &["n5.lz4"]),
    entry(
        Codec,
        "codec-optional",
        &["https://zarr-kit.example/spec/codecs/optional/1.0", "zarrs.optional", "optional"],
    ),
    entry(
        Codec,
        "codec-packbits",
        &[
            "https://zarr-kit.example/spec/codecs/packbits/1.0",
            "packbits",
            "https://zarr-kit.example/spec/codecs/numcodecs.packbits/1.0",
            "numcodecs.packbits",
        ],
    ),
    entry(
        Codec,
        "codec-pcodec",
        &[
            "https://zarr-kit.example/spec/codecs/pcodec/1.0",
            "numcodecs.pcodec",
            "pcodec",
            "https://codec.zarrs.dev/array_to_bytes/pcodec",
        ],
    ),
    entry(Codec, "codec-pickle", &["pickle"]),
    entry(Codec, "codec-png", &["imagecodecs_png", "numcodecs.imagecodecs_png"]),
    entry(
        Codec,
        "codec-quantize",
        &["https://zarr-kit.example/spec/codecs/quantize/1.0", "numcodecs.quantize", "quantize"],
    ),
    entry(Codec, "codec-record-member", &["record_member"]),
    entry(Codec, "codec-reshape", &["reshape"]),
    entry(
        Codec,
        "codec-scale-offset",
        &["https://zarr-kit.example/spec/codecs/scale-offset/1.0", "scale_offset"],
    ),
    entry(Codec, "codec-sharding-indexed", &["sharding_indexed"]),
    entry(
        Codec,
        "codec-shuffle",
        &[
            "https://zarr-kit.example/spec/codecs/shuffle/1.0",
            "numcodecs.shuffle",
            "shuffle",
            "https://codec.zarrs.dev/bytes_to_bytes/shuffle",
        ],
    ),
    entry(Codec, "codec-snappy", &["imagecodecs_snappy", "numcodecs.imagecodecs_snappy"]),
    entry(Codec, "codec-squeeze", &["zarrs.squeeze", "https://codec.zarrs.dev/array_to_array/squeeze"]),
    entry(
        Codec,
        "codec-szip",
        &["imagecodecs_szip", "numcodecs.imagecodecs_szip", "imagecodecs_aec", "numcodecs.imagecodecs_aec"],
    ),
    entry(Codec, "codec-transpose", &["https://purl.org/zarr/spec/codecs/transpose/1.0", "transpose"]),
    entry(Codec, "codec-vlen", &["zarrs.vlen", "https://codec.zarrs.dev/array_to_bytes/vlen"]),
    entry(
        Codec,
        "codec-vlen-bytes",
        &[
            "https://zarr-kit.example/spec/codecs/vlen-bytes/1.0",
            "vlen-bytes",
            "https://codec.zarrs.dev/array_to_bytes/vlen_bytes",
        ],
    ),
    entry(Codec, "codec-vlen-ndarray", &["vlen-ndarray", "vlen-array"]),
    entry(
        Codec,
        "codec-vlen-utf8",
        &[
            "https://zarr-kit.example/spec/codecs/vlen-utf8/1.0",
            "vlen-utf8",
            "https://codec.zarrs.dev/array_to_bytes/vlen_utf8",
        ],
    ),
    entry(Codec, "codec-vlen-v2", &["zarrs.vlen_v2", "https://codec.zarrs.dev/array_to_bytes/vlen_v2"]),
    entry(Codec, "codec-wavpack", &["wavpack", "imagecodecs_wavpack", "numcodecs.imagecodecs_wavpack"]),
    entry(Codec, "codec-webp", &["imagecodecs_webp", "numcodecs.imagecodecs_webp"]),
    entry(
        Codec,
        "codec-zfp",
        &[
            "https://zarr-kit.example/spec/codecs/zfp/1.0",
            "zfp",
            "https://codec.zarrs.dev/array_to_bytes/zfp",
            "https://zarr-kit.example/spec/codecs/zfpy/1.0",
            "numcodecs.zfpy",
            "zfpy",
            "https://codec.zarrs.dev/array_to_bytes/zfpy",
        ],
    ),
    entry(
        Codec,
        "codec-zlib",
        &[
            "https://zarr-kit.example/spec/codecs/zlib/1.0",
            "numcodecs.zlib",
            "zlib",
            "https://purl.org/zarr/spec/codec/zlib/1.0",
            "https://codec.zarrs.dev/bytes_to_bytes/zlib",
            "imagecodecs_zlib",
            "numcodecs.imagecodecs_zlib",
            "imagecodecs_zlibng",
            "numcodecs.imagecodecs_zlibng",
            "imagecodecs_deflate",
            "numcodecs.imagecodecs_deflate",
        ],
    ),
    entry(
        Codec,
        "codec-zstd",
        &[
            "https://zarr-kit.example/spec/codecs/zstd/1.0",
            "zstd",
            "numcodecs.zstd",
            "https://purl.org/zarr/spec/codec/zstd/1.0",
            "imagecodecs_zstd",
            "numcodecs.imagecodecs_zstd",
        ],
    ),
    entry(DataType, "dtype-bfloat16", &["https://zarr-kit.example/spec/data-types/bfloat16/1.0", "bfloat16"]),
    entry(
        DataType,
        "dtype-bytes",
        &[
            "https://zarr-kit.example/spec/data-types/bytes/1.0",
            "bytes",
            "O/vlen-bytes",
            "variable_length_bytes",
            "binary",
        ],
    ),
    entry(
        DataType,
        "dtype-core",
        &[
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "float32",
            "float64",
            "complex_float32",
            "complex64",
            "complex_float64",
            "complex128",
            "r*",
            "b1",
            "c16",
            "c8",
            "f2",
            "f4",
            "f8",
            "i1",
            "i2",
            "i4",
            "i8",
            "u1",
            "u2",
            "u4",
            "u8",
            "https://purl.org/zarr/spec/extensions/data-types/complex/1.0",
            "https://zarr-specs.readthedocs.io/en/core-protocol-v3.0-dev/protocol/extensions/complex-dtypes/v1.0.html",
        ],
    ),
    entry(
        DataType,
        "dtype-datetime",
        &[
            "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0",
            "numpy.datetime64",
            "M8",
            "https://purl.org/zarr/spec/extensions/datetime-dtypes/1.0",
            "https://zarr-specs.readthedocs.io/en/latest/extensions/data-types/datetime/v1.0.html",
            "numpy.timedelta64",
            "m8",
        ],
    ),
    entry(
        DataType,
        "dtype-fixed-length",
        &[
            "fixed_length_utf32",
            "U",
            "TODO: unicode array protocol URL",
            "raw_bytes",
            "V",
            "https://purl.org/zarr/spec/extensions/data-types/string/1.0",
            "null_terminated_bytes",
            "S",
            "TODO: bytestring array protocol URL",
        ],
    ),
    entry(
        DataType,
        "dtype-json",
        &[
            "https://zarr-kit.example/spec/data-types/json/1.0",
            "zarr-kit.json",
            "O/json2",
            "O/msgpack2",
            "O/pickle",
        ],
    ),
    entry(
        DataType,
        "dtype-optional",
        &["https://zarr-kit.example/spec/data-types/optional/1.0", "zarrs.optional", "optional"],
    ),
    entry(
        DataType,
        "dtype-small-float",
        &[
            "complex_bfloat16",
            "complex_float16",
            "complex_float4_e2m1fn",
            "complex_float6_e2m3fn",
            "complex_float6_e3m2fn",
            "complex_float8_e3m4",
            "complex_float8_e4m3",
            "complex_float8_e4m3b11fnuz",
            "complex_float8_e4m3fn",
            "complex_float8_e4m3fnuz",
            "complex_float8_e5m2",
            "complex_float8_e5m2fnuz",
            "complex_float8_e8m0fnu",
            "float4_e2m1fn",
            "float6_e2m3fn",
            "float6_e3m2fn",
            "float8_e3m4",
            "float8_e4m3",
            "float8_e4m3b11fnuz",
            "float8_e4m3fn",
            "float8_e4m3fnuz",
            "float8_e5m2",
            "float8_e5m2fnuz",
            "float8_e8m0fnu",
            "https://zarr-kit.example/spec/data-types/small-float/1.0",
        ],
    ),
    entry(
        DataType,
        "dtype-string",
        &[
            "https://zarr-kit.example/spec/data-types/string/1.0",
            "string",
            "O/vlen-utf8",
            "O/categorize",
            "O/fill_hdf_strings",
        ],
    ),
    entry(
        DataType,
        "dtype-struct",
        &[
            "https://purl.org/zarr/spec/extensions/data-types/struct/1.0",
            "struct",
            "structured",
            "TODO: structured array protocol URL",
        ],
    ),
    entry(
        DataType,
        "dtype-sub-byte",
        &["https://zarr-kit.example/spec/data-types/sub-byte/1.0", "int2", "int4", "uint2", "uint4"],
    ),
    entry(DataType, "dtype-vlen-ndarray", &["vlen-ndarray", "O/vlen-array"]),
    entry(
        GenericExtension,
        "extension-dimension-names",
        &["https://zarr-kit.example/spec/extensions/dimension-names/1.0"],
    ),
    entry(
        GenericExtension,
        "extension-node-index",
        &["https://zarr-kit.example/spec/extensions/node-index/1.0"],
    ),
    entry(ChunkGrid, "grid-origin", &["https://zarr-kit.example/spec/grids/origin/1.0"]),
    entry(
        ChunkGrid,
        "grid-rectilinear",
        &["https://zarr-kit.example/spec/grids/rectilinear/1.0", "rectilinear", "rectangular"],
    ),
    entry(ChunkGrid, "grid-regular", &["regular"]),
    entry(ChunkKeyEncoding, "key-encoding-default", &["default"]),
    entry(ChunkKeyEncoding, "key-encoding-default-suffix", &["zarrs.default_suffix"]),
    entry(ChunkKeyEncoding, "key-encoding-fanout", &["fanout"]),
    entry(ChunkKeyEncoding, "key-encoding-suffix", &["suffix"]),
    entry(ChunkKeyEncoding, "key-encoding-template", &["template"]),
    entry(ChunkKeyEncoding, "key-encoding-v2", &["v2"]),
    entry(MemoryLayout, "layout-c", &["C"]),
    entry(MemoryLayout, "layout-f", &["F"]),
    entry(MemoryLayout, "layout-morton", &["https://zarr-kit.example/spec/layouts/morton/1.0"]),
    entry(
        MetadataEncoding,
        "metadata-encoding-cbor",
        &["https://zarr-kit.example/spec/metadata-encodings/cbor/1.0", "cbor"],
    ),
    entry(MetadataEncoding, "metadata-encoding-json", &["json"]),
    entry(
        MetadataEncoding,
        "metadata-encoding-msgpack",
        &["https://zarr-kit.example/spec/metadata-encodings/msgpack/1.0", "msgpack"],
    ),
    entry(Store, "store-filesystem", &["filesystem", ":", "file:"]),
    entry(Store, "store-lmdb", &["lmdb", "lmdb:"]),
    entry(Store, "store-memory", &["memory", "memory:"]),
    entry(Store, "store-n5", &["n5", "n5:"]),
    entry(
        Store,
        "store-object-store",
        &[
            "s3", "s3:", "s3a:", "gs", "gs:", "gcs:", "az", "az:", "azure:", "abfs:", "abfss:", "http",
            "http:", "https:",
        ],
    ),
    entry(Store, "store-overlay", &["overlay", "overlay:"]),
    entry(Store, "store-redb", &["redb", "redb:"]),
    entry(Store, "store-reference", &["reference", "reference:"]),
    entry(Store, "store-zip", &["zip", "zip:"]),
    entry(Store, "transformer-cache", &["cache"]),
    entry(Store, "transformer-prefix", &["prefix"]),
    entry(Store, "transformer-read-only", &["read-only"]),
    entry(
        StorageTransformer,
        "transformer-sharding",
        &[
            "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
            "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0",
            "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
            "http://purl.org/zarr/spec/storage-transformers/sharding/1.0",
        ],
    ),
    entry(Store, "transformer-statistics", &["statistics"]),
];

const fn entry(
    point: ExtensionPoint,
    feature: &'static str,
    identifiers: &'static [&'static str],
) -> CatalogueEntry {
    CatalogueEntry::new(point, identifiers, feature, "zarr-kit")
}

/// Submits each position of the table separately, because `inventory` takes single values.
macro_rules! submit {
    ($($place:literal)*) => {$(
        inventory::submit! { CATALOGUE[$place] }
    )*};
}

submit! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 }

// `conformance/interop/python/known_identifiers.py` prints the table.
inventory::submit! { KnownIdentifiers::new(include_str!("known.tsv")) }

// Stores of this project that are not features, because they are built on their own.
inventory::submit! {
    KnownIdentifiers::new(
        "store\ticechunk\tthe plugin `icechunk` (crate zarr-store-icechunk)\n\
         store\ticechunk:\tthe plugin `icechunk` (crate zarr-store-icechunk)",
    )
}
